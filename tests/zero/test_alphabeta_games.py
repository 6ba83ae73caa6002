"""Games by alpha-beta, read independently: by python-chess and the format of docs/data.md."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import chess.syzygy
import numpy as np
import pytest
import safetensors.numpy
import zstandard

from kibitz.core.errors import ConfigError
from kibitz.core.places import place
from kibitz.data.batches.batch import make, recipe
from kibitz.data.batches.window import Source, Window
from kibitz.jit.compile import COMPILED
from kibitz.nets.files import read_card
from kibitz.nets.models.make import create, export
from kibitz.zero.selfplay.config import SelfPlay, preset
from kibitz.zero.selfplay.play import play

pytestmark = pytest.mark.skipif(not COMPILED, reason="plays thousands of moves")

SHARED = Path(__file__).parents[3] / "shared"
RANDOM_MOVE, NOT_A_VALUE = 1, 4
DRAWN = {"stalemate", "insufficient material", "fifty moves", "threefold repetition"}


def settings(**changes: Any) -> SelfPlay:
    fields = {"nodes": 60, "most_plies": 120, "group": 4, "workers": 1}
    return SelfPlay(**{**vars(preset("alphabeta")), **fields, **changes})


def network(folder: Path) -> str:
    path = folder / "random.safetensors"
    if not path.exists():
        create("sparse-8x8-threats", path, seed=3)
    return str(path)


def played(folder: Path, games: int = 8, **changes: Any) -> dict[str, bytes]:
    """The files of a run."""
    play(network(folder.parent), settings(**changes), str(folder), games=games, seed=7)
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.shard"))}


def arrays_of(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A shard by the documented format alone."""
    unpacked = zstandard.ZstdDecompressor().decompressobj().decompress(content)
    length = int.from_bytes(unpacked[:8], "little")
    header = json.loads(json.loads(unpacked[8 : 8 + length])["__metadata__"]["header"])
    return safetensors.numpy.load(unpacked), header


def board_of(start: np.ndarray) -> chess.Board:
    """A start position of a shard, uint64 [4]."""
    occupied, low, high, state = (int(word) for word in start)
    black, codes, board = state >> 40 & 1, low | high << 64, chess.Board(None, chess960=True)
    rooks = []
    for square in chess.scan_forward(occupied):
        code, codes = codes & 15, codes >> 4
        square ^= 56 * black
        own = not code & 8
        colour = own != bool(black)
        if code & 7 == 6:
            rooks.append(square)
        kind = chess.ROOK if code & 7 == 6 else (code & 7) + 1
        board.set_piece_at(square, chess.Piece(kind, colour))
    board.turn, board.castling_rights = not black, sum(1 << square for square in rooks)
    board.halfmove_clock, board.fullmove_number = state & 0xFFFF, (state >> 16 & 0xFFFF) // 2 + 1
    if (square := state >> 32 & 0xFF) < 64:
        board.ep_square = square ^ 56 * black
    return board


def move_of(board: chess.Board, word: int) -> chess.Move:
    """A move of a shard: six bits from, six to, four of its kind, in the view of who makes it."""
    flip = 0 if board.turn else 56
    origin, target, kind = word & 63 ^ flip, word >> 6 & 63 ^ flip, word >> 12
    promotion = (
        None if kind < 4 else (chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)[kind & 3]
    )
    return chess.Move(origin, target, promotion)


Played = tuple[chess.Board, list[tuple[int, float, int]], int, str]


def games_of(content: bytes) -> Iterator[Played]:
    """Start, plies (move, value, flags), result and end of each game."""
    arrays, header = arrays_of(content)
    columns = (arrays[name].tolist() for name in ("moves", "values", "flags"))
    plies = list(zip(*columns, strict=True))
    for game, result in enumerate(arrays["results"].tolist()):
        first, last = arrays["offsets"][game : game + 2]
        yield (
            board_of(arrays["starts"][game]),
            plies[first:last],
            result,
            header["ends"][arrays["ends"][game]],
        )


@pytest.mark.parametrize("changes", [{}, {"chess960": 1.0}, {"odds": "queen", "first_value": 1.0}])
def test_games_are_legal_and_what_is_learnt_is_what_is_said(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    seen: Counter[str] = Counter()
    for content in played(tmp_path / "games", 40, **changes).values():
        for board, plies, result, end in games_of(content):
            assert board.is_valid()
            seen[end] += 1
            for word, value, flags in plies:
                move = move_of(board, word)
                assert board.is_legal(move), (board.fen(), move)
                noisy = board.is_check() or board.is_capture(move) or move.promotion is not None
                seen["noisy"] += noisy
                assert bool(flags & NOT_A_VALUE) == (noisy or abs(value) == 1.0)
                assert -1 <= value <= 1
                board.push(move)
            outcome = board.outcome(claim_draw=True)
            if end == "checkmate":
                assert board.is_checkmate()
                assert result == (-1 if board.turn else 1)
            elif end in DRAWN:
                assert outcome is not None
                assert (outcome.winner, result) == (None, 0)
            else:
                assert end in ("ply limit", "resigned")
                assert end == "resigned" or (result, len(plies)) == (0, 120)
    assert seen["noisy"] > 50
    assert seen["checkmate"] > 0


def test_a_share_of_moves_is_random_and_teaches_no_policy(tmp_path: Path) -> None:
    """The values of the positions before them are learnt, and those of noisy ones if asked for."""
    shares = []
    changes = {"random_share": (0.1, 0.5), "noisy": True, "resign": 0.0}
    for content in played(tmp_path / "games", 20, **changes).values():
        for board, plies, *_ in games_of(content):
            for word, value, flags in plies:
                move = move_of(board, word)
                assert board.is_legal(move), (board.fen(), move)
                assert bool(flags & NOT_A_VALUE) == (abs(value) == 1.0)
                board.push(move)
            shares.append(sum(bool(flags & RANDOM_MOVE) for *_, flags in plies) / len(plies))
    assert 0.2 < sum(shares) / len(shares) < 0.4
    assert max(shares) - min(shares) > 0.2
    content = next(iter(played(tmp_path / "none", 4).values()))
    assert not any(flags & RANDOM_MOVE for _, plies, *_ in games_of(content) for *_, flags in plies)


def test_a_games_number_and_the_seed_decide_it(tmp_path: Path) -> None:
    """Whatever is played beside it: two threads, another beginning, in two runs."""
    whole = played(tmp_path / "one")
    assert len(whole) == 2
    assert played(tmp_path / "two", workers=2) == whole
    played(tmp_path / "three", games=4)
    assert played(tmp_path / "three") == whole
    other = played(tmp_path / "other", nodes=61)
    assert other.keys() != whole.keys()
    starts = {
        tuple(start) for content in whole.values() for start in arrays_of(content)[0]["starts"]
    }
    assert len(starts) == 8


def test_a_first_value_beyond_the_limit_is_another_start(tmp_path: Path) -> None:
    values = {}
    for limit in (1.0, 0.1):
        changes = settings(first_value=limit, most_plies=2)
        play("material", changes, str(tmp_path / f"{limit}"), games=40, seed=7)
        contents = [path.read_bytes() for path in (tmp_path / f"{limit}").glob("*.shard")]
        firsts = [plies[0][1] for content in contents for _, plies, *_ in games_of(content)]
        values[limit] = max(map(abs, firsts))
        assert len(firsts) == 40
    assert values[1.0] > 0.1 >= values[0.1]
    with pytest.raises(ConfigError, match="raise selfplay"):
        changes = settings(first_value=0.1, odds="queen", random_plies=(0, 0))
        play("material", changes, str(tmp_path / "none"), games=1, seed=7)


def test_nothing_of_the_tree_search_has_an_effect() -> None:
    assert settings().idle() == []
    idle = settings(playouts=99, noise=0.5).idle()
    assert [line.split()[0] for line in idle] == ["selfplay.playouts", "selfplay.noise"]
    assert SelfPlay(nodes=5).idle() == ["selfplay.nodes has no effect: with kind mcts"]
    assert "nodes" not in SelfPlay().of_games()
    assert "playouts" not in settings().of_games()


def test_folders_without_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="syzygy"):
        played(tmp_path / "games", syzygy=str(tmp_path / "nothing"))


def test_networks_that_are_asked_in_batches_are_refused(tmp_path: Path) -> None:
    create("plain-1x8", tmp_path / "plain.safetensors", seed=1)
    export(tmp_path / "plain.safetensors", tmp_path / "plain.onnx")
    with pytest.raises(ConfigError, match="inside the search"):
        play(
            str(tmp_path / "plain.safetensors"),
            settings(),
            str(tmp_path / "games"),
            games=1,
            seed=1,
        )


TABLES = SHARED / "data" / "syzygy" / "3-4-men"


@pytest.mark.skipif(not TABLES.is_dir(), reason="no tablebases here")
def test_tablebases_end_games(tmp_path: Path) -> None:
    book = tmp_path / "endings.epd"
    book.write_text("4k3/8/8/3p4/3P4/8/4P3/4K3 w - -\n8/2k5/8/1p2r3/2P5/8/3R4/2K5 b - -\n")
    changes = {"openings": str(book), "random_plies": (0, 3), "most_plies": 200, "resign": 0.0}
    contents = played(tmp_path / "games", 24, syzygy=str(TABLES), **changes)
    with chess.syzygy.open_tablebase(str(TABLES)) as tables:
        ended = 0
        for content in contents.values():
            for board, plies, result, end in games_of(content):
                for word, *_ in plies:
                    board.push(move_of(board, word))
                if end == "adjudicated: tablebase":
                    wdl = tables.probe_wdl(board) * (1 if board.turn else -1)
                    assert result == (wdl > 1) - (wdl < -1)
                    ended += 1
    assert ended > 3


def test_what_is_not_a_value_still_teaches_its_move(tmp_path: Path) -> None:
    played(tmp_path / "games", 8)
    window = Window((Source(place(tmp_path / "games")),))
    samples = window.chunk(0, 0).samples
    card = read_card(network(tmp_path))
    rows = np.arange(len(samples.game))
    batch = make(samples, rows, recipe(card, result_share=0.5))
    noisy = samples.flags & NOT_A_VALUE != 0
    assert 0 < noisy.sum() < len(noisy)
    assert (batch.value_weight == ~noisy).all()
    assert (batch.search_weight == ~noisy).all()
    assert batch.policy_weight.all()
