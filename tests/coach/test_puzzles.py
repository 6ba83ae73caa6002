"""Puzzles found, kept through interruptions, written, read, solved; the oracle is python-chess."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import chess
import chess.pgn
import msgspec
import pytest

from kibitz.cli import main
from kibitz.coach.human import EASIEST, RATING, easiest_first, rating_of
from kibitz.coach.puzzles.find import GAP, Collection, GamePuzzles, Hunt, Seeker, is_only
from kibitz.coach.puzzles.formats import Format, Puzzle, key_of, read_puzzles, write_puzzles
from kibitz.coach.puzzles.solve import Session
from kibitz.comment.judge import value_of
from kibitz.core.errors import DamagedFileError, InputError
from kibitz.engine.levels import People
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.search.report import Report, Score

# Smothered mate: 1...Kh8 2 Qg8+ Rxg8 3 Nf7#; all else draws or loses.
MATE = "r4rk1/6pp/7N/8/2Q5/8/1q6/7K b - - 0 1"
MIRRORED = "7k/1Q6/8/2q5/8/7n/6PP/R4RK1 w - - 0 1"
QUIET = "4k3/pppp4/8/8/8/8/PPPP4/4K3 w - - 0 1"
ADVANTAGE = Score("cp", 60)
FLAGS = ["--network", "material", "--nodes", "2000", "--shallow", "5"]


def pgn(*games: tuple[str, str]) -> str:
    """Games of one move each."""
    return "\n".join(
        f'[Event "{number}"]\n[SetUp "1"]\n[FEN "{fen}"]\n\n{moves} *\n'
        for number, (fen, moves) in enumerate(games)
    )


PLANTED = pgn(
    (QUIET, "1. Kd1 Kd8 2. Ke1 Ke8"),
    (MATE, "1... Kh8"),
    (MATE, "1... Kh8"),  # the same game
    (MATE, "1... Kh8 2. Nf7+"),  # the same position
    (MIRRORED, "1. Kh1"),  # and with the colours exchanged
    (MATE, "1... Kf7"),  # no move
)


def find(folder: Path, *more: str, games: str = PLANTED, output: str = "out.csv") -> int:
    (folder / "games.pgn").write_text(games)
    return main(
        ["puzzle", "find", str(folder / "games.pgn"), "-o", str(folder / output), *FLAGS, *more]
    )


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_planted_mate_is_found_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert find(tmp_path, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["games"], told["bad_games"], told["games_twice"]) == (4, 1, 1)
    assert (told["proved"], told["puzzles"], told["duplicates"]) == (3, 1, 2)
    (row,) = rows(tmp_path / "out.csv")
    board = chess.Board(row["FEN"])
    for text in row["Moves"].split():
        board.push_uci(text)  # raises if it is illegal
    assert board.is_checkmate()
    assert row["Moves"].split()[:2] == ["g8h8", "c4g8"]
    assert {"mate", "mateIn2", "short", "smotheredMate"} <= {*row["Themes"].split()}
    assert int(row["Rating"]) > 0
    before = (tmp_path / "out.csv").read_bytes()
    assert find(tmp_path) == 0  # nothing is left to do
    assert (tmp_path / "out.csv").read_bytes() == before
    capsys.readouterr()
    assert find(tmp_path, "--moves", "3", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["puzzles"], told["written"], rows(tmp_path / "out.csv")) == (1, 0, [])
    assert find(tmp_path, "--moves", "2") == 0  # the journal still has it
    assert (tmp_path / "out.csv").read_bytes() == before
    assert find(tmp_path, "--moves", "0") == 2


def test_a_puzzle_goes_on_while_the_others_are_worse_by_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1...Kh8 2 Qg8+ Rxg8 3 Nf7#, where another second move would keep some advantage."""
    seeker = Seeker(Hunt(nodes=2000, shallow=5, network="material"))
    prove = seeker._prove

    def kept(board: Board, moves: tuple[str, ...]) -> Report:
        report = prove(board, moves)
        if not moves or not board.moves[1:]:
            return report
        return replace(report, lines=(report.best._replace(score=ADVANTAGE),))

    monkeypatch.setattr(seeker, "_prove", kept)
    assert 0 < value_of(ADVANTAGE) < 1 - GAP
    assert not is_only(1.0, value_of(ADVANTAGE), later=False)
    try:
        board = Board(MATE)
        board.push("Kh8")
        solution = seeker._solution(board.copy(history=False), board.parse("Qg8+"))
    finally:
        seeker.close()
    assert [str(move) for move in solution.moves] == ["c4g8", "f8g8", "h6f7"]


def test_an_interrupted_run_comes_to_the_same(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        folder.mkdir()
    games = pgn((MATE, "1... Kh8"), (QUIET, "1. Kd1"), (QUIET, "1. Ke2"))
    assert find(whole, games=games) == 0
    assert find(cut, "--limit", "2", games=games) == 0
    journal = cut / "out.csv.journal"
    journal.write_bytes(journal.read_bytes()[:-20])  # killed in the middle of a line
    (cut / "out.csv").unlink()
    assert find(cut, games=games) == 0
    assert (cut / "out.csv").read_bytes() == (whole / "out.csv").read_bytes()
    assert len(journal.read_bytes().splitlines()) == 4


def test_a_changed_journal_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert find(tmp_path, games=pgn((QUIET, "1. Kd1"))) == 0
    assert find(tmp_path, "--finder", "contempt") == 2
    assert "finder was 'plain'" in capsys.readouterr().err
    journal = tmp_path / "out.csv.journal"
    journal.write_bytes(journal.read_bytes().replace(b'"positions":1', b'"positions":2'))
    with pytest.raises(DamagedFileError, match="line 2"):
        raise_on(tmp_path)


def test_no_file_of_the_user_is_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.pgn").write_text(PLANTED)
    for output, shallow, named in (
        ("games.pgn", "5", "is a file of games"),
        ("mine.pgn", "5", "no search here has written"),
        ("", "5", "is a folder"),
        ("new.csv", "3000", "--shallow: 3000"),
    ):
        (tmp_path / "games.pgn").write_text(PLANTED)
        words = [str(tmp_path / "games.pgn"), "-o", str(tmp_path / output), "--shallow", shallow]
        assert main(["puzzle", "find", *words, "--format", "pgn"]) == 2
        assert named in capsys.readouterr().err
    assert (tmp_path / "games.pgn").read_text() == PLANTED
    assert {path.name for path in tmp_path.iterdir()} == {"games.pgn", "mine.pgn"}
    assert main(["puzzle", "find", "-o", str(tmp_path / "new.csv")]) == 2
    words = [str(tmp_path / "games.pgn"), "-o", str(tmp_path / "new.csv"), "--nodes", "9" * 12]
    assert main(["puzzle", "find", *words]) == 2
    assert "--nodes" in capsys.readouterr().err


def raise_on(folder: Path) -> None:
    """The same as the command line, but with the error itself."""
    Collection(folder / "out.csv", Hunt(nodes=2000, shallow=5, network="material"))


def test_the_contempt_finder_composes_what_its_opponent_believes(tmp_path: Path) -> None:
    """White to move has only 1 Nh6+, after which the game itself goes on otherwise."""
    games = pgn(("r4rk1/5Npp/8/8/2Q5/8/1q6/7K b - - 0 1", "1... h6 2. Nxh6+"))
    assert find(tmp_path, "--finder", "contempt", "--sc-limit", "8", games=games) == 0
    for row in rows(tmp_path / "out.csv"):
        board = chess.Board(row["FEN"])
        for text in row["Moves"].split():
            board.push_uci(text)


# --- difficulty -----------------------------------------------------------------------------------

# Of Lichess (CC0), by their players' rating.
RATED = (
    (588, "6Qk/p1p3pp/4N3/1p6/2q1r1n1/2B5/PP4PP/3R1R1K b - - 0 28", "h8g8 f1f8", "mate"),
    (1492, "5rk1/1p3ppp/pq3b2/8/8/1P1Q1N2/P4PPP/3R2K1 w - - 2 27", "d3d6 f8d8 d6d8 f6d8", ""),
    (2560, "2kr3r/pp3p2/4p2p/1N1p2p1/3Q4/1P1P4/2q2PPP/5RK1 b - - 1 20", "b7b6 d4a1 a7a5 f1c1", ""),
)


def of_lichess(rating: int, before: str, moves: str, theme: str) -> Puzzle:
    last, *line = moves.split()
    fen = Board(before, [last]).fen()
    themes = (theme,) if theme else ()
    return Puzzle(
        fen=fen, moves=tuple(line), before=before, last=last, themes=themes, rating=rating
    )


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_what_fewer_people_play_is_harder(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two checks that mate; 1100 and 1900 differ by as much as they lie around the share."""

    def shares(_: People, board: Board, rating: int) -> dict[Move, float]:
        odds = max(min(share, 0.99), 0.01) / (1 - max(min(share, 0.99), 0.01))
        odds *= {1100: 0.5, 1500: 1.0, 1900: 2.0}[rating] if 0 < share < 1 else 1.0
        return dict.fromkeys(board.legal_moves, share if share in (0, 1) else odds / (1 + odds))

    monkeypatch.setattr(People, "shares", shares)
    bits = {0.0: -math.log2(99), 0.2: -2.0, 0.5: 0.0, 1.0: math.log2(99)}[share]
    base, moves, odds, mate, checks = RATING
    rating = base + 2 * moves + 2 * bits * odds + mate + checks
    assert rating_of(EXAMPLE, People()) == round(max(rating, EASIEST))


def test_the_networks_of_people_put_puzzles_of_lichess_in_order() -> None:
    puzzles = [msgspec.structs.replace(of_lichess(*row), rating=0) for row in reversed(RATED)]
    ordered = easiest_first(puzzles)
    assert [puzzle.before for puzzle in ordered] == [before for _, before, *_ in RATED]
    kept = msgspec.structs.replace(puzzles[0], rating=100)
    assert easiest_first([puzzles[1], kept])[0] == kept


def test_puzzles_are_written_the_easiest_first_and_of_two_moves_at_least(tmp_path: Path) -> None:
    hunt = Hunt(nodes=2000, shallow=5, network="material")
    easy, middle, hard = (of_lichess(*row) for row in RATED)
    with closing(Collection(tmp_path / "out.csv", hunt)) as collection:
        for key, puzzle in zip("abc", (middle, hard, easy), strict=True):
            collection._journal.add(GamePuzzles(key=key, puzzles=(puzzle,)))
    for flags, puzzles in (([], [middle, hard]), (["--moves", "1"], [easy, middle, hard])):
        assert find(tmp_path, *flags, games=pgn((QUIET, "1. Kd1"))) == 0
        written = [int(row["Rating"]) for row in rows(tmp_path / "out.csv")]
        assert written == [puzzle.rating for puzzle in puzzles]


# --- files ----------------------------------------------------------------------------------------

EXAMPLE = Puzzle(
    fen="r4r1k/6pp/7N/8/2Q5/8/1q6/7K w - - 1 2",
    moves=("c4g8", "f8g8", "h6f7"),
    before=MATE,
    last="g8h8",
    score="mate 2",
    rating=1500,
    nodes=200,
    themes=("mate", "mateIn2", "short"),
    game="games.pgn:1#2",
    opening="King's Pawn Game",
    name="0123abcd",
)
BLACKS = msgspec.structs.replace(
    EXAMPLE, fen="", moves=("c5g1", "f1g1", "h3f2"), before=MIRRORED, last="g1h1"
)


@pytest.mark.parametrize("form", ["csv", "epd", "pgn"])
def test_a_puzzle_survives_every_format(form: Format, tmp_path: Path) -> None:
    path = tmp_path / f"one.{form}"
    write_puzzles(path, [EXAMPLE], form)
    (read,) = read_puzzles(path)
    names = ("fen", "moves", "before", "last", "rating", "themes", "game", "name")
    assert [getattr(read, name) for name in names] == [getattr(EXAMPLE, name) for name in names]


def test_others_read_what_is_written(tmp_path: Path) -> None:
    write_puzzles(tmp_path / "one.pgn", [EXAMPLE], "pgn")
    with (tmp_path / "one.pgn").open() as file:
        game = chess.pgn.read_game(file)
    assert game is not None
    assert game.end().board().is_checkmate()
    write_puzzles(tmp_path / "one.epd", [EXAMPLE], "epd")
    board = chess.Board()
    found = board.set_epd((tmp_path / "one.epd").read_text().strip())
    assert found["bm"] == [chess.Move.from_uci("c4g8")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PuzzleId,FEN\nx,y\n", "no such column"),
        (f"PuzzleId,FEN,Moves\nx,{MATE},g8h8 c4g8 f8g8\n", "no solution"),
        (f"PuzzleId,FEN,Moves\nx,{MATE},g8h8 a1h8\n", "line 2: illegal move"),
        ("PuzzleId,FEN,Moves\n", "no puzzle in"),
        (f"PuzzleId,FEN,Moves\nx,{MATE}\n", "line 2: 2 columns, and no Moves; expected PuzzleId"),
        (f"FEN,Moves,Rating\n{MATE},,9,8\n", "line 2: 4 columns, and no Moves; expected FEN"),
        ("PuzzleId,FEN,Moves\n\n1\n", "line 3: 1 columns, and no FEN"),
    ],
)
def test_wrong_files_are_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_puzzles(path)


def test_the_colour_makes_no_other_position() -> None:
    assert key_of(Board(MATE)) == key_of(Board(MIRRORED))
    assert key_of(Board(MATE)) != key_of(Board(QUIET))


# --- solving --------------------------------------------------------------------------------------


def solve(script: Iterable[str], *puzzles: Puzzle) -> list[str]:
    told: list[str] = []
    Session(script, lambda board: told.append(board.fen()), told.append).run(puzzles)
    return told


def test_solving_by_script() -> None:
    told = solve(["Qg8", "h6f7"], EXAMPLE)
    assert told[1] == "black played 1...Kh8"
    assert "Right. black answers 2...Rxg8" in told
    assert told[-1] == "1 of 1 puzzles: 1 solved, 0 with help, 0 not"


def test_wrong_moves_and_hints_are_help() -> None:
    told = solve(["hint", "hint", "hint", "Qb4", "Zz9", "c4g8", "Nf7#"], EXAMPLE)
    assert "A queen moves" in told
    assert "Play Qg8+" in told
    assert "Qb4 is not it; try again, or: hint, solution" in told
    assert told[-1] == "1 of 1 puzzles: 0 solved, 1 with help, 0 not"


def test_giving_up_and_leaving() -> None:
    told = solve(["solution", "quit"], EXAMPLE, EXAMPLE)
    assert "The solution is 2.Qg8+ Rxg8 3.Nf7#" in told
    assert told[-1] == "1 of 2 puzzles: 0 solved, 0 with help, 1 not"
    assert solve([], EXAMPLE)[-1].startswith("0 of 1 puzzles")


def test_the_command_fits_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io

    write_puzzles(tmp_path / "one.csv", [EXAMPLE], "csv")
    monkeypatch.setattr("sys.stdin", io.StringIO("help\nQg8\nNf7#\n"))
    assert main(["puzzle", "solve", str(tmp_path / "one.csv")]) == 0
    shown = capsys.readouterr().out
    assert "8 r . . . . r[.|k]" in shown
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert main(["puzzle", "solve", str(tmp_path / "none.csv")]) == 2
    write_puzzles(tmp_path / "black.csv", [BLACKS], "csv")
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    assert main(["puzzle", "solve", str(tmp_path / "black.csv")]) == 0
    assert "  h g f e d c b a" in capsys.readouterr().out
    easier = msgspec.structs.replace(BLACKS, rating=900, name="easier")
    write_puzzles(tmp_path / "two.csv", [EXAMPLE, easier], "csv")
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    assert main(["puzzle", "solve", str(tmp_path / "two.csv"), "--easiest-first"]) == 0
    assert "Puzzle 1 of 2 (easier, rating 900)" in capsys.readouterr().out
    for flags, named in ((["--theme", "shorts"], "'short'"), (["--start", "2"], "give at most 1")):
        assert main(["puzzle", "solve", str(tmp_path / "one.csv"), *flags]) == 2
        assert named in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [bytes(range(256)) * 20, b"", b"\x7fELF\0\0\n\n", b"no chess\n"]
)
def test_a_file_without_a_game_is_refused_and_leaves_no_file(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "some.pgn").write_bytes(content)
    out = tmp_path / "puzzles.csv"
    assert main(["puzzle", "find", str(tmp_path / "some.pgn"), "-o", str(out), *FLAGS]) == 2
    assert "no game could be read" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["some.pgn"]
