"""PGN: everything a game may hold, read and written and read again; what is broken is named."""

from __future__ import annotations

import io
import random
import re
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import chess.pgn
import pytest

from kibitz.apps.web.positions import tree_of
from kibitz.coach.puzzles.find import task_of
from kibitz.comment.decoder.corpus import Table, digest, examples_of
from kibitz.comment.marks import forget
from kibitz.comment.report.page import described
from kibitz.core.errors import FileError, NotationError
from kibitz.data.pgn import read_scores
from kibitz.position.board import Board
from kibitz.position.pgn import (
    BadGame,
    Game,
    eval_of,
    game_of,
    main_turns,
    parse_game,
    read_games,
    read_main_lines,
    text_of,
    write_games,
)
from kibitz.position.reading import pieces_of
from kibitz.position.regular import MainLine

TORTURE = Path(__file__).parents[3] / "shared" / "data" / "torture"

ANNOTATED = """[Event "A \\"quoted\\" match"]
[Site "Zürich"]
[Date "1953.08.29"]
[Round "1"]
[White "Najdorf, Miguel"]
[Black "Bronstein"]
[Result "1/2-1/2"]

{ Before the game } 1. e4 $1 { [%eval 0.24,18] [%clk 0:03:00] King's pawn } 1... e5 $2 $146
( 1... c5 { Sicilian } 2. Nf3 ( 2. Nc3 Nc6 ( 2... d6 3. f4 ) 3. g3 ) 2... d6 )
2. Nf3 -- ( 2... Nc6 3. Bb5 a6 $6 ) 3. O-O-O?! { never }
"""

COMPLETE = """[Event "Casual"]
[Result "1/2-1/2"]

{ Before } 1. e4 $1 { [%eval 0.24,18] [%clk 0:03:00] King's
pawn

after an empty line } 1... e5 $2 $146 ( 1... c5 { Sicilian } 2. Nf3 ( 2. Nc3 Nc6 ( 2... d6 3. f4 )
3. g3 ) 2... d6 ) 2. Nf3 -- ( 2... Nc6 3. Bb5 a6 $6 ) 3. Bc4 ; rest of the line is a comment
-- 4. O-O! Nf6 1/2-1/2
"""

CHESS960 = """[Event "Freestyle"]
[SetUp "1"]
[FEN "rkrbbqnn/pppppppp/8/8/8/8/PPPPPPPP/RKRBBQNN w CAca - 0 1"]
[Variant "Chess960"]
[Result "*"]

1. e4 e5 2. d3 d6 3. Be2 Be7 4. Bd2 Bd7 *
"""


def test_everything_in_one_game() -> None:
    game = parse_game(COMPLETE)
    assert game.result == "1/2-1/2"
    assert [move.uci() for move in game.moves] == [
        *("e2e4", "e7e5", "g1f3", "0000", "f1c4", "0000", "e1g1", "g8f6")
    ]
    first = game.tree.next()
    assert first is not None
    assert first.nags == {1}
    assert "[%clk 0:03:00]" in first.comment
    assert "after an empty line" in first.comment
    assert game.tree.comment == "Before"
    assert [child.san() for child in first.variations] == ["e5", "c5"]
    assert first.variations[0].nags == {2, 146}
    nested = first.variations[1].variations[1].variations[1]
    assert (nested.san(), nested.variations[0].san()) == ("d6", "f4")
    assert game.board().turn == "white"


@pytest.mark.parametrize(("knight", "bishop"), [("N", "B"), ("S", "L")])  # English and German
def test_comments_behind_semicolons_are_kept(knight: str, bishop: str) -> None:
    text = f"""; of the file
[Event "a; b"]

{{ a; b }} 1. e4 ; king's pawn }} [%clk 0:03:00]
; a line of its own
e5 ( 1... c5 ; Sicilian
2. {knight}f3 ;
) 2. {knight}f3 {{ not one ; of these }} ; (
% ; nor this
2... {knight}c6 3. {bishop}b5; last"""
    game = parse_game(text)
    comments = [game.tree.comment, *(node.comment for node in game.tree.mainline())]
    first = "king's pawn  [%clk 0:03:00] a line of its own"
    assert comments == ["a; b", first, "", "not one ; of these (", "", "last"]
    first_move = game.tree.variations[0]
    assert first_move.variations[1].comment == "Sicilian"
    assert [node.comment for node in parse_game(str(game)).tree.mainline()] == comments[1:]


@pytest.mark.parametrize("text", [COMPLETE, CHESS960])
def test_written_and_read_again(text: str) -> None:
    once = parse_game(text)
    again = parse_game(str(once))
    assert str(again) == str(once)
    assert again.tags == once.tags
    assert again.moves == once.moves
    # python-chess drops what is behind a semicolon.
    braces = text.replace("; rest of the line is a comment", "{ rest of the line is a comment }")
    assert str(chess.pgn.read_game(io.StringIO(str(once)))) == str(
        chess.pgn.read_game(io.StringIO(braces))
    )


def test_chess960_games() -> None:
    game = parse_game(CHESS960)
    assert game.start.chess960
    assert game.start.fen().split()[2] == "KQkq"
    played = Board("rk3r2/pppppppp/8/8/8/8/PPPPPPPP/RK3R2 w FAfa - 0 1", chess960=True)
    played.push("O-O")
    played.push("O-O-O")
    written = game_of(played, {"White": "A", "Black": "B"})
    again = parse_game(str(written))
    assert again.board() == played
    assert again.moves == played.moves
    assert again.tags["Variant"] == "Chess960"
    assert again.tags["White"] == "A"


def test_results_of_finished_games() -> None:
    mated = game_of(Board(moves=["f3", "e5", "g4", "Qh4"]))
    assert (mated.result, str(mated).split()[-1]) == ("0-1", "0-1")
    assert game_of(Board()).result == "*"


def test_bad_games_are_named_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    bad_fen = '[FEN "8/8/8/8/8/8/8/8 x - - 0 1"]\n[SetUp "1"]\n\n1. e4 *\n'
    no_kings = '[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]\n[SetUp "1"]\n\n1. e4 *\n'
    variant = '[Variant "Seirawan"]\n\n1. e4 *\n'
    atomic = '[Variant "Atomic"]\n\n1. e4 *\n'
    in_check = '[White "?"]\n\n1. e4 d5 2. Bb5+ -- *\n'
    crash = '[White "?"]\n\n( 1. e4 ) 1. d4 ) ( ( e4 *\n'
    parts = [COMPLETE, ANNOTATED, bad_fen, no_kings, variant, atomic, in_check, crash, "hello\n"]
    path.write_text("\n".join([*parts, CHESS960]), encoding="utf-8")
    bad: list[BadGame] = []
    games = list(read_games(path, bad.append))
    assert [game.number for game in games][:1] == [1]
    assert games[-1].tags["Event"] == "Freestyle"
    reasons = {one.number: one.reason for one in bad}
    assert "3. O-O-O is not a legal move" in reasons[2]
    assert "expected 'w' or 'b'" in reasons[3]
    assert "exactly one king" in reasons[4]
    assert "unsupported variant: Seirawan" in reasons[5]
    assert "'Atomic' is not played here" in reasons[6]
    assert "cannot pass in check" in reasons[7]
    assert reasons[8] == "its moves cannot be read"
    assert {one.source for one in bad} == {str(path)}
    assert str(bad[0]).startswith(f"{path}: game 2 (line {COMPLETE.count(chr(10)) + 2}) skipped: ")


def test_a_move_to_no_square_is_not_passed_over() -> None:
    """python-chess leaves out what looks like no move to it, and reads on."""
    bad: list[BadGame] = []
    text = '1. e4 e5 2. Qxh9 *\n\n[Event "b"]\n\n1. d4 {to b10; c9} d5 ; or e9\n2. c4 $13 *\n'
    games = [*read_games(io.StringIO(text), bad.append)]
    assert [one.reason for one in bad] == ["2. Qxh9 is not a move in algebraic notation"]
    assert [len(game.moves) for game in games] == [3]


def test_a_comment_without_an_end_costs_its_own_game_alone() -> None:
    bad: list[BadGame] = []
    first = '[Event "a"]\n\n1. e4 {no end\n\nand more 1... e5 *\n\n'
    text = f'{first}[Event "b"]\n[Site "?"]\n\n1. d4 {{end}} d5 *\n\n[Event "c"]\n\n1. c4 *\n'
    games = [*read_games(io.StringIO(text), bad.append)]
    assert [(one.number, one.line) for one in bad] == [(1, 1)]
    assert "does not end before the next game" in bad[0].reason
    found = [(game.tags["Event"], game.number, game.line, len(game.moves)) for game in games]
    assert found == [("b", 2, 7, 2), ("c", 3, 12, 1)]
    last = [*read_games(io.StringIO(f'{first}[Event "b"]\n\n1. d4 *\n'), bad.append)]
    assert [game.tags["Event"] for game in last] == ["b"]
    spoken = '[Event "a"]\n\n1. e4 {one\n\n[Event "in a comment"]\n\nends} e5 *\n'
    assert [len(game.moves) for game in read_games(io.StringIO(spoken), bad.append)] == [2]
    assert len(bad) == 2


def test_bad_games_are_said_by_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.pgn"
    path.write_text("1. e5 *\n")
    assert list(read_games(path)) == []
    assert capsys.readouterr().out == ""


def test_text_that_is_no_game() -> None:
    for text in ("", "\n\n  \n", "hello world\n"):
        with pytest.raises(NotationError, match="PGN: "):
            parse_game(text)
    with pytest.raises(FileError, match="no such file"):
        next(read_games("/nonexistent/games.pgn"))


@pytest.mark.parametrize("break_", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_encodings_and_line_ends(tmp_path: Path, break_: str, encoding: str) -> None:
    path = tmp_path / "games.pgn"
    text = '[Site "Zürich"]\n[White "Müller"]\n\n1. e4 { schön } e5 *\n\n1. d4 *\n'
    path.write_bytes(text.replace("\n", break_).encode(encoding))
    games = list(read_games(path))
    assert [len(game.moves) for game in games] == [2, 1]
    assert (games[0].tags["Site"], games[0].tags["White"]) == ("Zürich", "Müller")
    node = games[0].tree.next()
    assert node is not None
    assert node.comment == "schön"


def test_files_are_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.pgn"
    games = [parse_game(COMPLETE), parse_game(CHESS960), game_of(Board(moves=["e4", "c5"]))]
    assert write_games(path, games) == 3
    assert [str(game) for game in read_games(path)] == [str(game) for game in games]
    with path.open(encoding="utf-8") as file:
        for game in games:
            assert str(chess.pgn.read_game(file)) == str(game.tree)


def test_tags_cannot_break_out_of_their_line() -> None:
    tree = chess.pgn.Game()
    tree.headers["White"] = 'A\n[Result "1-0"]'
    again = parse_game(text_of(tree))
    assert again.result == "*"
    assert again.tags["White"] == 'A [Result "1-0"]'


@pytest.mark.parametrize("text", ['A "quoted" name', "C:\\games", '\\"', 'ends in "', "ends in \\"])
def test_quotes_and_backslashes_in_tags_are_escaped(text: str) -> None:
    """By the standard a quote in a tag is written after a backslash, as is a backslash."""
    game = parse_game("1. e4 *")
    game.tree.headers["Event"] = text
    written = "".join("\\" + letter if letter in '"\\' else letter for letter in text)
    assert str(game).startswith(f'[Event "{written}"]\n')
    assert parse_game(str(game)).tags["Event"] == text


@pytest.mark.parametrize("start", ["$4 $10", "$10 { Said } $4"])
def test_marks_before_the_first_move_are_kept(start: str) -> None:
    game = parse_game(f'[Event "Marked"]\n\n{start} 1. e4 $1 *')
    assert game.tree.nags == {4, 10}
    comment = " { Said }" if "Said" in start else ""
    assert str(game).endswith(f"\n\n$4 $10{comment} 1. e4 $1 *")
    assert parse_game(str(game)).tree.nags == {4, 10}


def test_the_longest_variations_do_not_exhaust_the_stack() -> None:
    deep = "1. e4 " + "( 1. d4 " * 300 + ") " * 300 + "e5 *"
    assert len(parse_game(deep).moves) == 2
    long = " ".join(["Nf3 Nf6 Ng1 Ng8"] * 2000)
    assert len(parse_game(f"{long} *").moves) == 8000


@pytest.mark.slow
@pytest.mark.skipif(
    not TORTURE.is_dir(), reason="the collection of games is not beside the checkout"
)
@pytest.mark.parametrize("path", sorted(TORTURE.rglob("*.pgn")), ids=lambda path: path.name)
def test_torture(path: Path) -> None:
    bad: list[BadGame] = []
    for game in read_games(path, bad.append):
        assert isinstance(game, Game)
        assert Board.from_chess(game.tree.end().board()).moves == game.moves
        again = parse_game(str(game))
        assert (str(again), again.tags) == (str(game), game.tags)
    assert all(one.reason for one in bad)


@pytest.mark.parametrize(
    "end", ["2. Nf", "2.Nf", "2. e", "2. ex", "2. N", "2. Qx", "1-", "1/2-", "O-"]
)
@pytest.mark.parametrize("reader", [read_games, read_main_lines])
def test_a_file_that_is_cut_in_a_move_ends_in_no_complete_game(reader: Any, end: str) -> None:
    bad: list[BadGame] = []
    head = '[Event "a"]\n[Result "1-0"]\n\n1. e4 e5 '
    assert list(reader(io.StringIO(head + end), bad.append)) == []
    assert "ends in the middle of a move" in bad[0].reason
    assert list(reader(io.StringIO(f"{head}{end}\n"), bad.append)) == []
    for whole in (
        "2. Nf3",
        "2. Nf3 1-0",
        "2. Nf3 *",
        "2. Nf3 N 1/2-1/2",
        "2. Nf3 $1",
        "2. Nf3 +-",
        "2.Nf3",
        "2. f4 exf4",
    ):
        assert len(list(reader(io.StringIO(head + whole), bad.append))) == 1


GAME_OF_LETTERS = (
    "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. Qe2 Kf8 *"
)


@pytest.mark.parametrize(
    ("letters", "notation"),
    [
        ("KQRBN", ""),
        ("KDTLS", "German"),
        ("RDTFC", "French"),
        ("RDTAC", "Spanish or Italian"),
        ("RDTBC", "Portuguese"),
        ("KDTLP", "Dutch"),
        ("KHWGS", "Polish"),
        ("\u041a\u0424\u041b\u0421N", "Russian"),
        ("♔♕♖♗♘", "figurine"),
        ("♚♛♜♝♞", "figurine"),
    ],
)
def test_letters_of_other_languages(letters: str, notation: str) -> None:
    text = GAME_OF_LETTERS.translate(dict(zip(map(ord, "KQRBN"), letters, strict=True)))
    if notation == "Russian":  # the king has two letters, and the knight the first of them
        text = text.replace("\u041a", "\u041a\u0440").replace("N", "\u041a")
    text = f'[Event "Sf3 Kc5"]\n\n{text.replace("5.", "{Sf3 Dd5} 5.")}\n'
    game = parse_game(text)
    assert game.notation == notation
    assert game.moves == parse_game(GAME_OF_LETTERS).moves
    assert game.tags["Event"] == "Sf3 Kc5"
    assert "{ Sf3 Dd5 }" in str(game)
    bad: list[BadGame] = []
    (read,) = read_main_lines(io.StringIO(text), bad.append)
    assert (len(read.moves), bad) == (16, [])


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("1. e4 e5 2. \u2658 f3 \u265e\u00a0c6 *", "e4 e5 Nf3 Nc6"),
        ("1. e4 e5 2. Sf3N Sc6D *", "e4 e5 Nf3 Nc6"),
        ("1. e4 e5 2. Nf3N Nc6 *", "e4 e5 Nf3 Nc6"),
        ("1. e4 d5 2. e5 f5 3. exf6e.p. Sxf6 *", "e4 d5 e5 f5 exf6 Nxf6"),
        ("C20 1. e4 e5 B33 {E4} *", "e4 e5"),
    ],
)
def test_signs_and_spaces_that_books_print_are_no_part_of_a_move(text: str, moves: str) -> None:
    assert parse_game(text).moves == parse_game(moves).moves


def test_promotions_in_another_language() -> None:
    start = '[SetUp "1"]\n[FEN "7k/P7/8/8/8/8/7p/K7 w - - 0 1"]\n\n'
    for text in ("1. a8D+ Kg7 2. Dd5", "1. a8=D+ Kg7 2. Dd5", "1. a8(D)+ Kg7 2. D:d5"):
        game = parse_game(f"{start}{text} h1T+ *")
        assert [str(move) for move in game.moves] == ["a7a8q", "h8g7", "a8d5", "h2h1r"]
        assert game.notation == "German"  # the first of those that read the same moves


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1. e4 e5 2. Xf3 Nc6 *", "2. Xf3 is not a move in algebraic notation"),
        ("1. e4 e5 2. Sf3 Nc6 *", "2. Sf3 is not a move in algebraic notation"),
        ("1. e4 e5 2. Sf3 Sc6 3. Sxe7 *", "3. Nxe7 is not a legal move (in German notation)"),
        ("1. E4 E5 2. Nf3 Nc6 *", "1. E4 is not a move in algebraic notation"),
        ("1. e4 e5 2. nF3 *", "2. nF3 is not a move in algebraic notation"),
        ("1. P-K4 P-K4 *", "1. P-K4 is not a move in algebraic notation"),
        ("1. \u04354 e5 *", "is not a move in algebraic notation"),
        ("1. e4 e5 2. Nf6 *", "2. Nf6 is not a legal move"),
        ("1. e4 f6 2. Qh5+ d5 *", "2... d5 is not a legal move: Black is in check"),
        ("1. e4 e5 2. N f3 Nc6 *", "2. N f3 is not a move in algebraic notation"),
        ("1. e4 e5 2. B c4 Sc6 *", "2. B c4 is not a move in algebraic notation"),
        ("1. Nf3 e5 2. Nc3 d6 3. Nc3e4 f6 4. Ng5 *", "can be the move of more than one piece"),
    ],
)
def test_what_fits_no_notation_is_an_error_at_its_move(text: str, reason: str) -> None:
    with pytest.raises(NotationError, match=re.escape(reason)):
        parse_game(f'[Event "?"]\n\n{text}')


def test_letters_that_fit_two_languages_with_different_moves_are_no_guess() -> None:
    """S is a knight in German and a bishop in Czech; V and J would tell."""
    start = '[SetUp "1"]\n[FEN "4k3/8/8/8/8/8/8/2B1KN2 w - - 0 1"]\n\n'
    with pytest.raises(NotationError, match="as Polish and as Czech, with different"):
        parse_game(f"{start}1. Se3 *")


def test_a_part_of_a_game_comes_with_what_is_wrong_behind_it() -> None:
    text = (
        '[Event "a"]\n\n1. e4 e5 (1... c5 2. Nc6) 2. Nf3 Nd5 *\n\n[Event "b"]\n\n'
        "1. d4 d5 2. Kd5 a6 *\n"
        '\n[Event "c"]\n\n1. d4 d5 2. Qxh9 a6 *\n'
    )
    bad: list[BadGame] = []
    assert [*read_games(io.StringIO(text), bad.append)] == []
    assert [(one.reason, one.move) for one in bad] == [
        ("2... Nd5 is not a legal move", "2... Nd5"),
        ("2. Kd5 is not a legal move", "2. Kd5"),
        ("2. Qxh9 is not a move in algebraic notation", "2. Qxh9"),
    ]
    parts = [one.tree for one in bad if one.tree is not None]
    assert [sum(1 for _ in tree.mainline()) for tree in parts] == [3, 2, 2]


def read_to_the_end(text: str) -> None:
    """Read all games of a text, whatever is wrong with them."""
    list(read_games(io.StringIO(text), lambda _: None))


def write_again(text: str) -> None:
    """Read a game and make all that is made of one: reports, the page's tree, PGN, examples."""
    game = parse_game(text)
    forget(game.tree)
    described(game.tree, game.tags)
    tree_of(game)
    list(read_scores(io.StringIO(text), "text", lambda _: None))
    list(examples_of(game, Table()))
    task_of(game, "text")
    digest(game)


def steps(text: str, work: Callable[[str], None] = read_to_the_end) -> int:
    """Lines of Python that work on a text runs, and letters that it joins and searches."""
    count = 0

    def on_event(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += 1
        if event == "call":  # copies of lines, lists of moves and comments are work, too
            for value in frame.f_locals.values():
                if isinstance(value, (str, list)):
                    count += len(value) // 100
        return on_event

    sys.settrace(on_event)
    try:
        work(text)
    finally:
        sys.settrace(None)
    return count


@pytest.mark.parametrize(
    ("head", "part"),
    [
        ("1. e4 {", "[%"),
        ("1. e4 ", "{a} "),
        ("1. e4 ", "{a}\n"),
        ("1. e4 {\n\n", '[Event "a"]\n\nx\n\n'),
        ("1. e4 {\n\n", '[Event "a"]\n[Site "?"]\n\n1. e4 {\n\n'),
        ("1. e4 ", "(1. d4) "),
        ("1. e4 ", "(1. d4 "),
        ("", "1. Nf3 Nf6 2. Ng1 Ng8\n"),
        ("", "1. Nf3 (1. e4) Nf6 (1... e5) 2. Ng1 (2. e4) Ng8 (2... e5)\n"),
        ("1. e4 ", "Sf3 "),
        ("[", "a "),
        ("", '[A "'),
        ("1. e4 ", "Qxh9 "),
        ("1. e4 ", "(d4(e4"),
        ("1. e4 ", "$7 $300 "),
        ("1. e4 {", "[%eval #"),
        ("1. e4 {[%clk ", "1:"),
        ('[A "', '"]'),
        ('[FEN "', "K"),
        ("", '[A "x"]\n'),
    ],
)
def test_games_are_read_in_linear_time(head: str, part: str) -> None:
    steps(head + 2 * part)  # what is read once
    sizes = [steps(head + part * number) for number in (100, 200, 400)]
    assert sizes[2] - sizes[1] <= 2.3 * (sizes[1] - sizes[0]) + 200


@pytest.mark.parametrize(
    ("head", "part"),
    [
        ("1. e4 e5 ", "2. Nf3 {[%eval 0.2] [%csl Ge4]} Nf6 $1 {[%eval #3]} 3. Ng1 Ng8 "),
        pytest.param(
            *("1. e4 e5 ", "2. Nf3 Nf6 (2... Nc6 {[%eval 1]}) 3. Ng1 Ng8 "), marks=pytest.mark.slow
        ),
        ("1. e4 e5 2. Nf3 ", "(2. Nc3 {[%eval 0.1]}) "),
        ("1. e4 e5 (1... c5 ", "2. Nf3 {[%eval 0.2] words} Nf6 3. Ng1 Ng8 "),
        ("{[%eval 0.2]} 1. e4 ", "{[%eval 0.2] [%cal Ge2e4]} "),
    ],
)
def test_what_is_made_of_a_game_takes_linear_time(head: str, part: str) -> None:
    """python-chess goes back to the start of a game for what it says of a move."""
    end = ") *" if "(" in head else "*"
    texts = [
        f'[Annotator "kibitz (material, club, both, nodes 9)"]\n\n{head}{part * number}{end}'
        for number in (20, 40, 80)
    ]
    steps(texts[0], write_again)  # what is read once
    sizes = [steps(text, write_again) for text in texts]
    assert sizes[2] - sizes[1] <= 2.2 * (sizes[1] - sizes[0]) + 200


def test_numbers_without_end_are_no_evaluations() -> None:
    digits = "9" * 5000
    comments = (
        *(
            f"[%eval #{digits}]",
            f"[%eval #-{digits}]",
            f"[%eval 0.1,{digits}]",
            f"[%eval {digits}]",
        ),
        *(f"[%clk {digits}:00:00]", f"[%emt {digits}:00:00]", f"[%csl G{digits}]", f"+M{digits}/9"),
        *(f"[%cal Ge2e4,{digits}]", f"{digits}", f"wv={digits}.5", f"{digits}/{digits}"),
    )
    for comment in comments:
        text = f'[Event "?"]\n\n{{{comment}}} 1. e4 {{{comment}}} e5 {{{comment}}} *'
        write_again(text)
    game = parse_game('[Event "?"]\n\n1. e4 {[%eval #-3]} e5 {[%eval #0]} 2. Nf3 {[%eval -0.25]} *')
    scores = [eval_of(node, turn) for node, turn in main_turns(game.tree)]
    assert scores == [game.tree.eval(), *(node.eval() for node in game.tree.mainline())]


def test_marks_of_no_standard_and_depths_of_no_person_are_refused_or_left_out() -> None:
    marked = parse_game("1. e4 $1 $255 $256 $99999999999999999999 *").tree
    assert [node.nags for node in marked.mainline()] == [{1, 255}]
    with pytest.raises(NotationError, match="thousands of digits"):
        parse_game(f"1. e4 ${'9' * 5000} *")
    nested = "1. e4 " + "(1. d4 (1. e4 " * 500 + ")" * 1000 + " e5 *"
    assert parse_game(nested).board().moves
    deeper = "1. e4 " + "(1. d4 (1. e4 " * 501 + ")" * 1002 + " e5 2. d4 *"
    bad: list[BadGame] = []
    assert not [*read_games(io.StringIO(deeper), bad.append)]
    assert bad[0].reason == "a variation within 1000 others"
    assert bad[0].tree is not None
    assert (
        bad[0].tree.end().board().fen().split()[0]
        == "rnbqkbnr/pppp1ppp/8/4p3/3PP3/8/PPP2PPP/RNBQKBNR"
    )


def test_after_a_bad_variation_the_game_goes_on_from_its_own_position() -> None:
    """python-chess goes on from the variation's: dxe5 would be a move of Black after 1. e4."""
    text = "1. e4 (1. d4 e5 2. Kd4) (1. c4 (1. f4 Ke2) Ke5) d5 2. exd5 1-0"
    bad: list[BadGame] = []
    (game,) = read_games(io.StringIO(f'[Event "?"]\n\n{text}'), bad.append)
    assert not bad
    assert game.cut == "2. Kd4 is not a legal move"
    assert [move.uci() for move in game.moves] == ["e2e4", "d7d5", "e4d5"]
    assert game.result == "1-0"
    assert [line.uci() for line in game.tree.variations] == ["e2e4", "d2d4", "c2c4", "f2f4"]
    text = "1. e4 (1. d4 e5 2. Kd4) dxe5 *"
    assert not [*read_games(io.StringIO(f'[Event "?"]\n\n{text}'), bad.append)]
    assert bad[0].tree is not None
    assert [move.uci() for move in bad[0].tree.mainline_moves()] == ["e2e4"]


def test_a_bad_variation_is_cut_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        '[Event "a"]\n\n1. e4 e5 2. Sf3 (2. Lc4 Sc6 (2... Kd4) 3. Dh5 Ke3 4. a3) Sc6 0-1\n\n'
        '[Event "b"]\n\n1. e4 (1. d4 d5) e5 *\n'
    )
    first, second = read_games(io.StringIO(text), lambda bad: pytest.fail(str(bad)))
    (told,) = [line for line in capsys.readouterr().err.splitlines() if "cut" in line]
    assert "game 1 (line 1): a variation is cut: 2... Kd4 is not a legal move" in told
    assert str(first).endswith("1. e4 e5 2. Nf3 ( 2. Bc4 Nc6 3. Qh5 ) 2... Nc6 0-1")
    assert (first.notation, first.result, second.cut) == ("German", "0-1", "")


def test_a_result_within_a_variation_ends_it_alone() -> None:
    game = parse_game("1. e4 e5 (1... c5 2. Nf3 1-0 2... d6) 2. Nf3 (2. f4 *) Nc6 1/2-1/2")
    assert str(game).endswith("1. e4 e5 ( 1... c5 2. Nf3 ) 2. Nf3 ( 2. f4 ) 2... Nc6 1/2-1/2")
    assert not game.cut


def test_long_lines_are_cut_between_comments_alone() -> None:
    line = "{a} e4 ;" * 10 + "{b ;} e5 % [x " * 2000
    pieces = pieces_of(line, inside=False)
    assert pieces == [line]  # all of it is a comment to the end of the line
    line = "a ;} " + "{b ;} e5 % [x " * 2000 + "{"
    pieces = pieces_of(line, inside=True)
    assert len(pieces) > 5
    first, *others, last = pieces  # a space is added at every cut, on both sides
    assert first[:-1] + "".join(piece[1:-1] for piece in others) + last[1:] == line
    assert max(map(len, pieces)) < 5000
    assert all(piece.count("{") == piece.count("}") for piece in pieces[1:-1])


@pytest.mark.parametrize("comment", ["[%eval 0.17] [%clk 0:03:00]", "long " * 1000 + "end"])
@pytest.mark.parametrize("space", [" ", ""])
def test_a_game_on_one_long_line_is_one_game(comment: str, space: str) -> None:
    """As Lichess writes its games, with a comment behind every move."""
    moves = ["Nf3", "Nf6", "Ng1", "Ng8"] * 50

    def refuse(bad: BadGame) -> None:
        pytest.fail(str(bad))

    words = (f"{move} {{ {comment} }}{space}" for move in moves)
    (game,) = read_games(io.StringIO(f'[Event "long"]\n\n{"".join(words)} 1-0\n'), refuse)
    assert len(game.moves) == len(moves)
    assert game.result == "1-0"
    assert all(node.comment == comment for node in game.tree.mainline())


BEFORE_PROMOTING = '[SetUp "1"]\n[FEN "6k1/2P3r1/8/8/8/8/8/K7 w - - 0 30"]\n\n'


@pytest.mark.parametrize("queen", ["c8=Q", "c8Q", "c8=(Q)", "c8(Q)", "c8=Q+", "c8=♕"])
def test_a_promotion_at_the_end_of_a_variation_does_not_swallow_its_end(queen: str) -> None:
    """Servers' variations are cut after some plies, wherever that is; 19 games of 1 000 have it."""
    text = f"{BEFORE_PROMOTING}30. Ka2 Rg6 (30... Rd7 31. {queen}) 31. {queen} Kf7 *"
    game = parse_game(text)
    assert not game.cut
    assert [move.uci() for move in game.tree.mainline_moves()] == ["a1a2", "g7g6", "c7c8q", "g8f7"]
    (_, other) = game.tree.variations[0].variations
    assert [move.uci() for move in other.mainline_moves()] == ["c7c8q"]


@pytest.mark.parametrize("seed", range(20))
def test_main_lines_are_those_of_python_chess(seed: int) -> None:
    """Random games with variations that end anywhere."""
    numbers = random.Random(seed)
    game = chess.pgn.Game()
    game.setup(chess.Board("4k3/PPP5/8/8/8/8/ppp5/4K2R w K - 0 1") if seed % 2 else chess.Board())
    node: chess.pgn.GameNode = game
    for _ in range(40):
        moves = [*node.board().legal_moves]
        if not moves:
            break
        other = node.add_variation(numbers.choice(moves))
        node = node.variations[0]
        for _ in range(numbers.randrange(4)):
            if other is node or not any(other.board().legal_moves):
                break
            other = other.add_variation(numbers.choice([*other.board().legal_moves]))
        if numbers.random() < 0.5 and any(node.board().legal_moves):
            side = node.add_main_variation(numbers.choice([*node.board().legal_moves]))
            node.add_variation(numbers.choice([*node.board().legal_moves]))
            node = side
    text = str(game)
    read = parse_game(text)
    assert not read.cut
    assert str(read.tree) == text


@pytest.mark.parametrize(
    ("moves", "first"),
    [
        ("1. e4 (1. d4 d5 2. c4 1-0", "d4"),
        ("1. e4 e5 (1... c5 2. Nf3 (2. c3 Nf6) 2. Nf3 *", "c5"),
        ("1. e4 (1. d4 d5 (1... Nf6 2. c4) 1... e5 2. Nf3", "d4"),
    ],
)
def test_a_variation_that_is_never_closed_is_a_fault(moves: str, first: str) -> None:
    bad: list[BadGame] = []
    games = list(read_games(io.StringIO(f'{moves}\n\n[Event "b"]\n\n1. c4 *\n'), bad.append))
    assert [game.tree.end().ply() for game in games] == [1]
    assert [f"begins with {first} is never closed" in str(fault) for fault in bad] == [True]


GLUED = """\
[White "a"]
[Result "1-0"]

1. e4 {a comment
[White "in a comment"]
ends} e5 (1... c5
2. Nf3) 2. Nf3 1-0
[White "b"]
[Result "0-1"]
1. d4 d5 0-1
{between the games}
[White "c"]

1. c4 *
"""


@pytest.mark.parametrize("read", [read_games, read_main_lines])
def test_tags_begin_a_game_without_an_empty_line(
    read: Callable[..., Iterator[Game | MainLine]],
) -> None:
    bad: list[BadGame] = []
    games = list(read(io.StringIO(GLUED), bad.append))
    tags = [game.tree.headers if isinstance(game, Game) else game.tags for game in games]
    assert [names["White"] for names in tags] == ["a", "b", "c"]
    assert not bad


def test_no_tag_of_glued_games_is_lost_where_one_is_bad() -> None:
    bad: list[BadGame] = []
    text = GLUED.replace("1. d4 d5", "1. d4 d9")
    games = list(read_games(io.StringIO(text), bad.append))
    assert [game.tree.headers["White"] for game in games] == ["a", "c"]
    assert [(fault.number, fault.line) for fault in bad] == [(2, 8)]


@pytest.mark.parametrize("read", [read_games, read_main_lines])
def test_a_strange_tag_among_others_does_not_hold_up_the_reader(
    read: Callable[..., Iterator[Game | MainLine]],
) -> None:
    """It is read as moves, after which the next tag begins a game."""
    text = '[White "a"]\n[Result"0-1"]\n[Black "b"]\n\n1. c4 *\n\n[White "c"]\n\n1. d4 *\n'
    games = list(islice(read(io.StringIO(text), [].append), 9))
    tags = [game.tree.headers if isinstance(game, Game) else game.tags for game in games]
    assert [(names["White"], names.get("Black")) for names in tags][1:] == [("?", "b"), ("c", "?")]


@pytest.mark.parametrize(
    ("tag", "end", "two"),
    [
        ("1-0", "0-1", True),
        ("1/2-1/2", "1-0 {0-1} ; 0-1", True),
        ("1-0", "1-0 {0-1}", False),
        ("1-0", "*", False),
        ("*", "1-0", False),
        ("1-0", "", False),
    ],
)
def test_two_results_are_named_and_the_tag_counts(
    tag: str, end: str, two: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    (game,) = read_games(io.StringIO(f'[Result "{tag}"]\n\n1. e4 e5 {end}\n'))
    assert game.result == (tag if tag != "*" else "1-0")
    named = f"game 1 (line 1): two results, {tag} in the tag, {end[:3]} behind the moves"
    assert (named in capsys.readouterr().err) == two
