"""The rules against python-chess, an independent oracle: every fact of every position of games."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import chess
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.position.board import Board, Termination
from kibitz.position.exchange import (
    attacked_by_rank,
    exchange_at_least,
    exchange_value,
    threat_maps,
)
from kibitz.position.fen import parse_fen
from kibitz.position.moves import pins
from kibitz.position.notation import legal_sans, relative, squares_of
from kibitz.position.play import gives_check, play, play_null
from kibitz.position.state import compute_key, gives_away_king, new_positions, own_king

RandomGames = Callable[[int, int], Iterator[tuple[chess.Board, Board]]]
FEW = 600 if COMPILED else 40


def check_everything(reference: chess.Board, ours: Board) -> None:
    check_moves(reference, ours)
    check_text(reference, ours)
    check_attacks(reference, ours)
    check_outcome(reference, ours)


def check_moves(reference: chess.Board, ours: Board) -> None:
    by_text = {ours.uci(move): move for move in ours.legal_moves}
    assert set(by_text) == {reference.uci(move) for move in reference.legal_moves}
    sans = dict(zip(legal_sans(ours.position), ours.legal_moves, strict=True))
    assert set(sans) == {reference.san(move) for move in reference.legal_moves}
    for move in reference.legal_moves:
        ours_move = by_text[reference.uci(move)]
        assert sans[reference.san(move)] == ours_move
        code = relative(ours.position, ours_move)
        assert gives_check(ours.position, code) == reference.gives_check(move)
        check_exchange(ours, code)
    if sans:  # parsing is slow, one of each position will do
        san = max(sans, key=len)
        assert ours.parse(san) == sans[san]


def check_exchange(ours: Board, move: Any) -> None:
    value = exchange_value(ours.position, move)
    for least in (value - 1, value, value + 1, -100, 0, 100):
        assert exchange_at_least(ours.position, move, least) == (value >= least)


def check_text(reference: chess.Board, ours: Board) -> None:
    assert ours.fen() == reference.fen(en_passant="legal")
    assert ours.fen(shredder=True) == reference.shredder_fen(en_passant="legal")
    for fen in (reference.fen(en_passant="fen"), ours.fen(shredder=True)):
        assert parse_fen(fen).item() == ours.position.item()
    assert ours.key == int(compute_key(ours.position))


def check_attacks(reference: chess.Board, ours: Board) -> None:
    position, turn = ours.position, reference.turn
    assert ours.is_check() == reference.is_check()
    assert ours.checkers() == list(reference.checkers())
    assert not gives_away_king(position)
    by_us, by_them = (squares_of(position, int(board)) for board in threat_maps(position))
    assert by_us == [square for square in chess.SQUARES if reference.is_attacked_by(turn, square)]
    by_other = [square for square in chess.SQUARES if reference.is_attacked_by(not turn, square)]
    assert by_them == by_other
    ranks = [squares_of(position, int(board)) for board in attacked_by_rank(position)]
    for number, kinds in enumerate(([1], [1, 2, 3], [1, 2, 3, 4], chess.PIECE_TYPES)):
        men = [man for kind in kinds for man in reference.pieces(kind, not turn)]
        attacked = {square for man in men for square in reference.attacks(man)}
        assert ranks[number] == sorted(attacked)
    straight, diagonal = pins(position, own_king(position))
    pinned = squares_of(position, int((straight | diagonal) & position.own))
    own = [square for square in chess.SQUARES if reference.color_at(square) == turn]
    assert pinned == [square for square in own if reference.is_pinned(turn, square)]


def check_outcome(reference: chess.Board, ours: Board) -> None:
    expected, found = reference.outcome(), ours.outcome()
    assert (expected is None) == (found is None)
    if expected is not None and found is not None:
        assert found.result == expected.result()
        # A stalemate on a board that nobody can win is called the one or the other.
        if found.termination is not Termination.STALEMATE:
            assert found.termination.name.replace("_", "") == _name(expected.termination)
    claimable = reference.halfmove_clock >= 100 or reference.is_repetition(3)
    assert (ours.outcome(claim=True) is not None) == (claimable or expected is not None)
    assert ours.repetitions() >= 3 or not reference.is_repetition(3)


def _name(termination: chess.Termination) -> str:
    names = {"SEVENTYFIVE_MOVES": "SEVENTYFIVEMOVES"}
    return names.get(termination.name, termination.name.replace("_", ""))


def test_random_games(random_games: RandomGames) -> None:
    for reference, ours in random_games(1, FEW):
        check_everything(reference, ours)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_random_games(random_games: RandomGames, seed: int) -> None:
    for reference, ours in random_games(seed, 10_000):
        check_everything(reference, ours)


def test_conversion_both_ways(random_games: RandomGames) -> None:
    for reference, ours in random_games(12, FEW // 4):
        back = ours.to_chess()
        assert back.fen() == reference.fen()
        assert [back.uci(move) for move in back.move_stack] == [
            ours.uci(move) for move in ours.moves
        ]
        if reference.ply() % 20 == 0:
            again = Board.from_chess(reference)
            assert (again, again.moves) == (ours, ours.moves)


def test_mirror_is_python_chess_mirror(random_games: RandomGames) -> None:
    for reference, ours in random_games(13, FEW // 4):
        if reference.ply() % 8 == 0:
            mirrored, expected = ours.mirror(), reference.mirror()
            assert mirrored.fen().split()[:5] == expected.fen(en_passant="legal").split()[:5]
            assert mirrored.key == int(compute_key(mirrored.position))
            assert mirrored.mirror() == ours
            assert len(mirrored.moves) == len(ours.moves)


def test_incremental_keys_over_null_moves(random_games: RandomGames) -> None:
    after = new_positions(1)[0]
    for reference, ours in random_games(14, FEW // 2):
        if not reference.is_check():
            play_null(ours.position, after)
            assert int(after.key) == int(compute_key(after))
            twin = reference.copy(stack=False)
            twin.push(chess.Move.null())
            assert sum(1 for _ in twin.legal_moves) == len(Board(twin.fen()).legal_moves)


def test_a_position_is_not_changed_by_a_move_from_it(random_games: RandomGames) -> None:
    after = new_positions(1)[0]
    for _, ours in random_games(15, FEW // 8):
        before = ours.position.item()
        for move in ours.legal_moves:
            play(ours.position, after, relative(ours.position, move))
            assert int(after.key) == int(compute_key(after))
        assert ours.position.item() == before
