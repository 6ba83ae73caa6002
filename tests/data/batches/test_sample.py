"""Replayed shards against python-chess, which plays the same games from the same moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import chess
import numpy as np
import pytest

from kibitz.cli import main
from kibitz.core.errors import DamagedFileError
from kibitz.data.batches.sample import (
    check_rules,
    games_in,
    joined,
    of_games,
    replay,
    taught_by_play,
    teaching,
)
from kibitz.data.shard import Shard, packed_starts, write
from kibitz.position import fen
from kibitz.position.packed import unpack_position
from kibitz.position.state import new_positions
from tests.data.batches.makers import random_shard


class Row(NamedTuple):
    """What python-chess knows of a ply."""

    ply: int  # of the shard
    game: int
    since: int
    board: chess.Board
    before: int  # earlier occurrences


def fen_of(packed: np.record) -> str:
    position = new_positions(1)[0]
    unpack_position(packed, position)
    return fen.fen_of(position, shredder=True)


def chess_move(board: chess.Board, move: int) -> chess.Move:
    """The move of a shard as python-chess has it; Chess960 boards castle as king takes rook."""
    flip = 0 if board.turn else 56
    promotion = [None] * 4 + [chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN]
    return chess.Move(move & 63 ^ flip, move >> 6 & 63 ^ flip, promotion[move >> 12])


def rows_by_python(shard: Shard) -> Iterator[Row]:
    for game in range(shard.games):
        board = chess.Board(fen_of(packed_starts(shard)[game]), chess960=True)
        seen: dict[str, int] = {}
        for ply in range(shard.offsets[game], shard.offsets[game + 1]):
            key = " ".join(board.fen(en_passant="legal").split()[:4])
            if any(board.legal_moves):
                yield Row(ply, game, ply - shard.offsets[game], board.copy(), seen.get(key, 0))
            if board.halfmove_clock == 0:
                seen = {}
            seen[key] = seen.get(key, 0) + 1
            if shard.moves[ply]:
                move = chess_move(board, int(shard.moves[ply]))
                assert move in board.legal_moves
                board.push(move)


def test_every_row_is_what_python_chess_plays(shard: Shard) -> None:
    samples = replay(shard)
    rows = list(rows_by_python(shard))
    assert len(samples.game) == len(rows) < shard.plies + 1
    assert any(row.before > 1 for row in rows)
    for at, row in enumerate(rows):
        expected = chess.Board(fen_of(samples.positions[at]), chess960=True)
        assert expected.fen(en_passant="legal") == row.board.fen(en_passant="legal")
        assert int(samples.positions["state"][at]) >> 48 & 255 == row.before
        assert (samples.game[at], samples.since_start[at]) == (row.game, row.since)
        last = at + int(samples.until_end[at])
        assert rows[last].game == row.game
        assert last + 1 == len(rows) or rows[last + 1].game > row.game
        result = int(shard.results[row.game])
        turned = result if result == 2 or row.board.turn else -result
        assert samples.results[at] == turned
        assert samples.played[at] == shard.moves[row.ply]
        for name in ("values", "draws", "root_values", "flags"):
            np.testing.assert_equal(getattr(samples, name)[at], getattr(shard, name)[row.ply])


def test_targets_are_shares_of_the_visits(shard: Shard) -> None:
    samples = replay(shard)
    for at, row in enumerate(rows_by_python(shard)):
        first, last = samples.target_offsets[at], samples.target_offsets[at + 1]
        start, end = shard.visit_offsets[row.ply], shard.visit_offsets[row.ply + 1]
        if shard.flags[row.ply] & 2 or start == end:
            assert first == last
            continue
        assert np.array_equal(samples.target_moves[first:last], shard.visit_moves[start:end])
        counts = shard.visit_counts[start:end]
        np.testing.assert_allclose(samples.target_weights[first:last], counts / counts.sum())


def test_a_last_position_without_moves_is_left_out() -> None:
    shard = random_shard(1, 1, starts=("7k/5Q2/6K1/8/8/8/8/8 w - - 0 1",))
    mate = 53 | 54 << 6  # Qg7
    shard = shard._replace(
        values=np.repeat(shard.values, 2),
        draws=np.repeat(shard.draws, 2),
        flags=np.repeat(shard.flags, 2),
        root_values=np.full(2, np.nan, np.float32),
        moves=np.array([mate, 0], dtype=np.uint16),
        offsets=np.array([0, 2]),
        visit_offsets=np.zeros(3, dtype=np.int64),
        visit_moves=np.zeros(0, np.uint16),
        visit_counts=np.zeros(0, np.uint32),
    )
    assert len(replay(shard).game) == 1


def changed(shard: Shard, name: str, at: int, value: int) -> Shard:
    array = getattr(shard, name).copy()
    array[at] = value
    return shard._replace(**{name: array})


def test_what_cannot_be_played_is_refused_by_name(shard: Shard) -> None:
    game = 7
    ply = int(shard.offsets[game]) + 1
    assert shard.offsets[game + 1] > ply + 1
    illegal = changed(shard, "moves", ply, 4 | 60 << 6)
    with pytest.raises(DamagedFileError, match=r"an illegal move in game 7, ply 1: 'x\.shard'"):
        replay(illegal, "x.shard")
    taught = [p for p in range(shard.plies) if not shard.flags[p] & 2]
    taught = [p for p in taught if shard.visit_offsets[p] < shard.visit_offsets[p + 1]]
    visit = int(shard.visit_offsets[taught[5]])
    with pytest.raises(DamagedFileError, match="visits of an illegal move"):
        replay(changed(shard, "visit_moves", visit, 9))
    starts = shard.starts.copy()
    starts[3, 1:3] = 0  # thirty-two pawns
    with pytest.raises(DamagedFileError, match="start position that cannot be played on in game 3"):
        replay(shard._replace(starts=starts))


def test_what_training_would_refuse_is_not_called_sound(
    shard: Shard, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    possible = np.minimum(shard.draws, 1 - np.abs(shard.values))
    shard = shard._replace(draws=possible.astype(np.float32))
    game = 7
    ply = int(shard.offsets[game]) + 1
    visits = slice(*shard.visit_offsets[ply : ply + 2])
    assert visits.stop - visits.start > 1
    twice = shard.visit_moves.copy()
    twice[visits.start + 1] = twice[visits.start]
    never = shard.visit_counts.copy()
    never[visits] = 0
    contrary = changed(changed(shard, "values", ply, 1), "draws", ply, 1)
    for wrong, told in (
        (changed(shard, "moves", ply, 4 | 60 << 6), "an illegal move"),
        (shard._replace(visit_moves=twice), "visits of a move counted twice"),
        (shard._replace(visit_counts=never), "visits that are all 0"),
        (contrary, "a value and a draw that cannot both be"),
    ):
        write(tmp_path / "x.shard", wrong)
        for words in (["verify"], ["inspect"], ["export", "-o", str(tmp_path / "out.pgn")]):
            assert main(["data", *words, str(tmp_path / "x.shard"), "--json"]) == 1
            shown = capsys.readouterr().err.replace("\n", " ")
            assert f"{told} in game 7, ply 1" in shown
    check_rules(shard, "x.shard")


def test_joined_samples_are_one_after_the_other(shard: Shard) -> None:
    parts = [replay(shard), replay(random_shard(5, 10, seed=1)), replay(shard)]
    whole = joined(parts)
    first = 0
    games = 0
    for part in parts:
        rows = slice(first, first + len(part.game))
        assert np.array_equal(whole.positions[rows], part.positions)
        assert np.array_equal(whole.game[rows], part.game + games)
        start = whole.target_offsets[first]
        assert np.array_equal(
            whole.target_offsets[first : rows.stop + 1] - start, part.target_offsets
        )
        assert np.array_equal(
            whole.target_moves[start : start + len(part.target_moves)], part.target_moves
        )
        first = rows.stop
        games += games_in(part)
    assert len(whole.game) == first


def test_chosen_games_keep_their_rows(shard: Shard) -> None:
    samples = replay(shard)
    chosen = of_games(samples, np.array([2, 5, 11]))
    rows = np.isin(samples.game, (2, 5, 11))
    assert np.array_equal(chosen.positions, samples.positions[rows])
    assert chosen.game.tolist() == [{2: 0, 5: 1, 11: 2}[game] for game in samples.game[rows]]
    for at, row in enumerate(np.flatnonzero(rows)):
        mine = slice(*chosen.target_offsets[at : at + 2])
        theirs = slice(*samples.target_offsets[row : row + 2])
        assert np.array_equal(chosen.target_weights[mine], samples.target_weights[theirs])


def test_rows_without_anything_to_teach(shard: Shard) -> None:
    samples = replay(shard)
    useful = teaching(samples)
    assert 0 < useful.sum() < len(useful)
    for at in range(len(useful)):
        policy = samples.target_offsets[at + 1] > samples.target_offsets[at]
        known = policy or not np.isnan(samples.values[at]) or samples.results[at] != 2
        assert useful[at] == known


def test_moves_made_teach_where_no_search_did() -> None:
    shard = random_shard(12, 15, seed=4)
    samples = replay(shard)
    taught = taught_by_play(samples)
    for row in range(len(samples.game)):
        before = slice(samples.target_offsets[row], samples.target_offsets[row + 1])
        after = slice(taught.target_offsets[row], taught.target_offsets[row + 1])
        moves, weights = taught.target_moves[after], taught.target_weights[after]
        if before.stop > before.start:
            assert moves.tolist() == samples.target_moves[before].tolist()
            assert weights.tolist() == samples.target_weights[before].tolist()
        elif samples.played[row] and not samples.flags[row]:
            assert moves.tolist() == [samples.played[row]]
            assert weights.tolist() == [1.0]
        else:
            assert len(moves) == 0
    counts = np.diff(samples.target_offsets), np.diff(taught.target_offsets)
    assert (counts[0] == 0).any()
    assert (counts[1] > counts[0]).any()
    assert (counts[1] == 0).any()
