"""PGN into shards: counts and evaluations as python-chess has them, bad games named."""

from __future__ import annotations

import gzip
import io
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest
import zstandard

from kibitz.cli import main
from kibitz.data.importing import KnownGames, pieces_of, read_piece
from kibitz.data.labels.labels import LabelModel, score_of_value
from kibitz.data.pgn import read_pgn
from kibitz.data.shard import Game, games_of, read
from kibitz.data.store import shards_in
from kibitz.position.moves import CASTLING
from kibitz.position.pgn import BadGame, read_main_lines
from kibitz.position.regular import MainLine

MODEL = LabelModel()
TORTURE = Path(__file__).parents[3] / "shared" / "data" / "torture"

GAMES = """[Event "Evaluated"]
[White "A"]
[Black "B"]
[Result "0-1"]

{ [%eval 0.18] } 1. f3 { [%eval -0.9] [%clk 0:03:00] } 1... e5 { [%eval -0.7,22] } 2. g4
{ [%eval #-1] Oh } 2... Qh4# 0-1

[Event "Broken"]
[Result "1-0"]

1. e4 e5 2. Ke3 1-0

[Event "Evaluated to the end"]
[Result "*"]

1. e4 { [%eval 0.3] } 1... e5 { [%eval 0.31] } *

[Event "Passing"]
[Result "*"]

1. e4 -- 2. e5 *

[Event "No moves"]
[Result "1-0"]
[Termination "time forfeit"]

1-0

[Event "Freestyle"]
[SetUp "1"]
[FEN "rkrbbqnn/pppppppp/8/8/8/8/PPPPPPPP/RKRBBQNN w CAca - 0 1"]
[Variant "Chess960"]
[Result "1/2-1/2"]
[Termination "Adjudication"]

1. e4 {+0.25/12 0.1s} e5 {-0.31/10} 2. Bf3 {+M5/9} Bf6 {-M4/8 2s} 3. Qe2 {0.60} Qe7 {wv=-0.41,}
4. Nh3 Ng6 5. d3 d6 6. Bd2 Nh4 7. O-O {d=20, wv=1.50, mb=+0} 1/2-1/2
"""


def read_text(text: str) -> tuple[list[Game], list[BadGame]]:
    bad: list[BadGame] = []
    return list(read_pgn(io.StringIO(text), MODEL, "some.pgn", bad.append)), bad


def white_scores(game: Game) -> list[float]:
    """Evaluations in pawns and White's view, two digits, from the values."""
    board = chess.Board(game.start)
    signs = [1 if (board.turn == (index % 2 == 0)) else -1 for index in range(len(game.plies))]
    return [
        round(sign * score_of_value(ply.value, MODEL) / 100, 2) if math.isfinite(ply.value) else 0
        for sign, ply in zip(signs, game.plies, strict=True)
    ]


def test_games_and_what_is_wrong_with_others() -> None:
    games, bad = read_text(GAMES)
    assert [len(game.plies) for game in games] == [4, 3, 0, 13]
    assert [game.result for game in games] == [-1, 2, 1, 0]
    assert [game.end for game in games] == ["checkmate", "unknown", "time forfeit", "adjudication"]
    assert games[0].source == {
        "kind": "pgn", "file": "some.pgn", "white": "A", "black": "B", "event": "Evaluated",
        "labels": MODEL._asdict(),
    }  # fmt: skip
    assert games[3].plies[-1].move >> 12 == CASTLING
    assert [one.number for one in bad] == [2, 4]
    assert "Ke3" in str(bad[0])
    assert "passes after 1 plies" in str(bad[1])


def test_lichess_evaluations_are_of_the_next_position() -> None:
    games, _ = read_text(GAMES)
    assert white_scores(games[0]) == pytest.approx([0.18, -0.9, -0.7, -math.inf])
    assert games[0].plies[3].value == 1  # Black mates
    # Judged after the last move: a ply without a move.
    assert white_scores(games[1]) == pytest.approx([0, 0.3, 0.31])
    assert [ply.move != 0 for ply in games[1].plies] == [True, True, False]


def test_engines_evaluate_before_they_move() -> None:
    games, _ = read_text(GAMES)
    assert white_scores(games[3]) == pytest.approx(
        [0.25, 0.31, math.inf, math.inf, 0.6, -0.41, *[0] * 6, 1.5], abs=0.01
    )


def test_copies_of_a_game_share_their_seed() -> None:
    games, _ = read_text(GAMES + "\n" + GAMES.replace('"A"', '"Somebody else"'))
    seeds = [game.seed for game in games]
    assert seeds[:4] == seeds[4:]
    assert len(set(seeds[:4])) == 4


def test_a_game_of_thousands_of_plies() -> None:
    board, game = chess.Board(), chess.pgn.Game()
    node: chess.pgn.GameNode = game
    shuffle = ["g1f3", "g8f6", "f3g1", "f6g8"]
    for ply in range(4000):
        move = chess.Move.from_uci(shuffle[ply % 4])
        node = node.add_variation(move)
        board.push(move)
    (read_back,), bad = read_text(str(game))
    assert (len(read_back.plies), bad) == (4000, [])


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "one.pgn").write_text(GAMES)
    (folder / "two.pgn.zst").write_bytes(zstandard.compress(GAMES.encode()))
    (folder / "notes.txt").write_text("1. e4")
    expected = {"games": 6, "positions": 40, "shards": 2, "skipped": 4, "empty": 2, "copies": 3}
    expected["refused"] = 0
    for workers in (1, 2):
        out = tmp_path / f"out{workers}"
        words = ["data", "import", str(folder), "-o", str(out), "--workers", str(workers)]
        assert main([*words, "--json"]) == 0
        shown = capsys.readouterr()
        assert json.loads(shown.out) == {**expected, "output": str(out)}
        assert "one.pgn: game 2 (line 9) skipped" in shown.err
        files = [path.name for path in shards_in(out)]
        assert [name[:-15] for name in files] == ["one-00001", "two-00001"]
        assert len([game for path in shards_in(out) for game in games_of(read(path))]) == 6
    monkeypatch.setattr("sys.stdin", io.StringIO(GAMES))
    assert main(["data", "import", "-", "-o", str(tmp_path / "std"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 3
    assert main(["data", "import", "-", "--bogus", "-o", str(tmp_path / "std")]) == 2
    assert "no such option: '--bogus'" in capsys.readouterr().err
    assert main(["data", "import", str(folder / "notes.txt"), "-o", str(tmp_path / "x")]) == 2
    assert main(["data", "import", str(tmp_path / "out1"), "-o", str(tmp_path / "x")]) == 2
    assert main(["data", "import", str(tmp_path / "missing.pgn"), "-o", str(tmp_path / "x")]) == 2


def test_files_that_hold_nothing_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.pgn").write_text("")
    noise = random.Random(1).randbytes
    cut = gzip.compress(
        "\n".join(f"{GAMES}\n{{{noise(200).hex()}}}\n" for _ in range(200)).encode()
    )
    (tmp_path / "cut.pgn.gz").write_bytes(cut[: len(cut) // 2])
    words = ["data", "import", str(tmp_path / "empty.pgn"), "-o", str(tmp_path / "out"), "--json"]
    assert main(words) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["refused"] == 1
    assert "empty.pgn: no game in it" in shown.err
    assert "nothing was imported" in shown.err
    assert main([*words[:2], str(tmp_path), *words[3:]]) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["refused"] == 2
    assert json.loads(shown.out)["games"] > 50
    assert "the rest of a file skipped: cannot decompress" in shown.err


TRICKY = """[Event "Comments"]

1. e4 { an open { brace

[Event "in a comment"]

goes on } ; and {this one does not open
1... e5 *

% { escaped

[Event "After"]

[White "{"]

1. d4 *
"""


def test_cuts_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "some.pgn"
    path.write_text((GAMES + "\n\n" + TRICKY + "\n") * 3)
    whole = read_piece(next(pieces_of([path])), MODEL)
    pieces = list(pieces_of([path], 1))
    assert len(pieces) == 24
    assert "".join(piece.text for piece in pieces) == path.read_text()
    parts = [read_piece(piece, MODEL) for piece in pieces]
    assert sum(part.games for part in parts) == whole.games == 24
    assert sum(part.empty for part in parts) == whole.empty == 3
    found = [game for part in parts for game in games_of(part.shard)]
    assert list(map(repr, found)) == list(map(repr, games_of(whole.shard)))
    before = 0
    bad: list[str] = []
    for part in parts:
        bad += part.described(before).bad
        before += part.games
    assert tuple(bad) == whole.described(0).bad
    assert "game 20 (line" in bad[-1]


@pytest.mark.skipif(not TORTURE.is_dir(), reason="the collection of PGN files is not here")
@pytest.mark.parametrize("folder", ["fastchess", "notnil", "corentings", "chessjs"])
def test_counts_are_those_of_python_chess(folder: str) -> None:
    for path in sorted((TORTURE / folder).rglob("*.pgn")):
        bad: list[BadGame] = []
        ours = list(read_pgn(path, MODEL, path.name, bad.append))
        good = broken = plies = 0
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            while (game := chess.pgn.read_game(file)) is not None:
                broken += bool(game.errors)
                good += not game.errors
                plies += 0 if game.errors else len(list(game.mainline_moves()))
        found = sum(1 for game in ours for ply in game.plies if ply.move)
        assert (len(ours), len(bad), found) == (good, broken, plies), path


def test_regular_games_are_read_as_python_chess_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(map(played, range(24)))
    assert all(isinstance(game, MainLine) for game in read_main_lines(io.StringIO(text)))
    texts = (text, *spoilt(text, random.Random(2)))
    ours = [read_text(each) for each in texts]
    monkeypatch.setattr("kibitz.position.pgn.regular", lambda _: None)  # all by python-chess
    for each, (games, bad) in zip(texts, ours, strict=True):
        theirs, refused = read_text(each)
        assert [str(one) for one in bad] == [str(one) for one in refused]
        assert list(map(repr, games)) == list(map(repr, theirs))


def played(seed: int) -> str:
    """A random game as python-chess writes it: many promotions, doubtful origins, comments."""
    generator = random.Random(seed)
    board = chess.Board.from_chess960_pos(generator.randrange(960)) if seed % 3 else chess.Board()
    game = chess.pgn.Game.from_board(board)
    node: chess.pgn.GameNode = game
    while not board.is_game_over() and board.ply() < 160:
        moves = [*board.legal_moves]
        rare = [one for one in moves if one.promotion or board.is_castling(one)]
        node = node.add_variation(generator.choice(rare or moves))
        node.comment = generator.choice(["", "", "[%eval 0.3]", "[%clk 0:01:00]", "+1.00/12 2s"])
        node.nags = {generator.randrange(1, 8)} if generator.random() < 0.1 else set()
        board.push(node.move)
    game.headers["Result"] = generator.choice(["*", board.result()])
    return f"{game}\n\n"


def spoilt(text: str, generator: random.Random) -> Iterator[str]:
    """The text with a mistake in every second game, one kind of mistake after the other."""
    for kind in (
        ("(", ")", "{", "}", ";", "\n", "\n\n", "$3", "%", "0000", "1-0", "--", "x", "=Q", "1e4"),
        ("N", "R", "K", "a", "h", "3", "O-O"),
        ("", " "),
    ):
        games = text.split("[Event ")
        for index in range(1, len(games), 2):
            at = generator.randrange(len(games[index]) * 2 // 3, len(games[index]))
            games[index] = games[index][:at] + generator.choice(kind) + games[index][at + 1 :]
        yield "[Event ".join(games)


def test_copies_are_counted_over_all_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def game(moves: str) -> str:
        return f'[Event "a"]\n[Result "1-0"]\n\n{moves} 1-0\n\n'

    (tmp_path / "a.pgn").write_text(game("1. e4") + game("1. d4") + game("1. e4"))
    (tmp_path / "b.pgn").write_text(game("1. d4") + game("1. c4"))
    words = ["data", "import", str(tmp_path), "-o", str(tmp_path / "out"), "--json"]
    for plies, workers in ((1, 1), (1000, 2)):
        assert main([*words, "--plies", str(plies), "--workers", str(workers)]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["games"], found["copies"]) == (5, 2)


def test_copies_are_those_of_a_set() -> None:
    generator, seen, known = random.Random(1), KnownGames(), set[int]()
    for _ in range(60):
        seeds = [generator.randrange(3000) for _ in range(generator.randrange(80))]
        new = len({*seeds} - known)
        known |= {*seeds}
        assert seen.copies(np.array(seeds, np.uint64)) == len(seeds) - new


def test_a_cut_variation_is_named_by_its_line_in_a_piece(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "games.pgn"
    path.write_text('[Event "a"]\n\n1. e4 e5 *\n\n[Event "b"]\n\n1. e4 (1. d4 Kd4) e5 *\n')
    for piece in pieces_of([path], 1):
        assert read_piece(piece, MODEL).games == 1
    (told,) = [line for line in capsys.readouterr().err.splitlines() if "cut" in line]
    assert "line 5: a variation is cut: 1... Kd4" in told
