"""Whole games: what is written, in which order, and what becomes of games that are none."""

import doctest
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import chess.pgn
import pytest

import kibitz
import kibitz.comment.engine
from kibitz.cli import main
from kibitz.comment import searches
from kibitz.comment.analyse import CLEAR, _look_back, evaluations_along
from kibitz.comment.analysis import LONGEST_LOOK
from kibitz.comment.annotate import Style, Words, annotate, comment_on
from kibitz.comment.batch import annotate_file
from kibitz.comment.claims.claim import step
from kibitz.comment.claims.grades import Grade
from kibitz.comment.facts import Scene
from kibitz.comment.judge import (
    MARKS,
    Evaluation,
    Label,
    key_moments,
    label,
    score_of,
    value_of,
)
from kibitz.comment.marks import forget, grade_in, put_mark
from kibitz.comment.report.page import shown
from kibitz.comment.searches import Effort, Searches
from kibitz.comment.words.speaker import Comment, Speaker
from kibitz.comment.words.story import figures_in
from kibitz.core.errors import InputError
from kibitz.core.log import Stop
from kibitz.engine import Engine
from kibitz.position.board import Board
from kibitz.position.pgn import parse_game, read_games
from kibitz.search.limits import Limits
from kibitz.search.report import Score
from tests.comment.checker import RULES, everything, statements

pytestmark = pytest.mark.usefixtures("short_looks")

LABELS = {text: mark for mark, text in MARKS.items()}
STYLE = Style(limits=Limits(nodes=300))
# The knight takes a poisoned pawn: 4...Qg5 attacks it and g2 at once.
TRAP = """[Event "?"]
[Result "0-1"]

1. e4 { [%clk 0:05:00] } e5 2. Nf3 Nc6 3. Bc4 Nd4 4. Nxe5 Qg5 5. Nxf7 Qxg2
6. Rf1 Qxe4+ 7. Be2 Nf3# 0-1
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine("material", hash=16, multipv=2) as engine:
        yield engine


def test_a_game_gets_marks_values_lines_and_a_story(engine: Engine) -> None:
    game = parse_game(TRAP)
    done = annotate(game, engine, STYLE)
    nodes = list(game.tree.mainline())
    assert len(nodes) == 14
    assert "mated on move 7" in game.tree.comment
    assert "Accuracy" in game.tree.comment
    assert all(node.eval() is not None for node in nodes)
    marked = figures_in(parse_game(str(game)).tree)
    assert marked is not None  # the marks say all of it
    assert marked[1:] == done.figures[1:]
    assert marked.values == pytest.approx(done.figures.values)
    assert "[%clk 0:05:00]" in nodes[0].comment
    assert any(node.nags & {2, 4, 6} for node in nodes)
    assert any(len(node.variations) > 1 for node in [game.tree, *nodes])
    assert sum(bool(one.text) for one in done.comments) >= 3


def test_what_is_said_is_true_to_an_independent_reader(engine: Engine) -> None:
    game = parse_game(TRAP)
    annotate(game, engine, Style("beginner", limits=Limits(nodes=300)))
    said = [
        (kind, rule(at, clause), sentence)
        for node in everything(game.tree)
        for sentence, at, clause in statements(node)
        for kind, form, rule in RULES
        if form.search(clause)
    ]
    assert len(said) > 5
    assert [one for one in said if not one[1]] == []


def test_nothing_is_said_twice(engine: Engine) -> None:
    once = str(annotate(parse_game(TRAP), engine, STYLE).game)
    assert str(annotate(parse_game(once), engine, STYLE).game) == once


def test_another_run_takes_out_its_own_words_only(engine: Engine) -> None:
    theirs = TRAP.replace(
        "3. Bc4 Nd4", '3. Bc4 { A "quiet"\n\nmove [%csl Gc4] } 3... Nd4 $146 (3... Bc5 4. c3)'
    )
    game = parse_game(theirs.replace('[Result "0-1"]', '[Annotator "A. Master"]\n[Result "0-1"]'))
    annotate(game, engine, Style("beginner", limits=Limits(nodes=100)))
    assert game.tags["Annotator"].startswith("A. Master; kibitz (material, beginner, both,")
    again = parse_game(str(game))
    annotate(again, engine, Style("expert", limits=Limits(nodes=50)))
    fresh = parse_game(theirs)
    annotate(fresh, engine, Style("expert", limits=Limits(nodes=50)))
    assert str(again).replace("A. Master; ", "") == str(fresh)
    assert 'A "quiet" move [%csl Gc4] [%eval' in str(again)
    forget(again.tree)
    bare, before = parse_game(str(again)).tree, parse_game(theirs).tree
    assert [one.san() for one in bare.mainline()] == [one.san() for one in before.mainline()]
    assert bare.variations[0].variations[0].variations[0].variations[0].variations[0].nags == set()
    assert str(bare.end().game()).count("%") == 2  # the clock and the square


def test_praise_is_marked_and_taken_out_again() -> None:
    game = parse_game(TRAP.replace("4. Nxe5", "4. Nxe5 $1"))
    grades = [Grade.BOOK, Grade.GREAT, Grade.GREAT]
    nodes = list(game.tree.mainline())[5:8]
    for node, grade in zip(nodes, grades, strict=True):
        named = put_mark(node, Label.NONE, grade)
        node.comment = f"[%eval 0.1] {named}"
    assert [grade_in(node) for node in nodes] == [Grade.BOOK, None, Grade.GREAT]
    assert [node.nags for node in nodes] == [set(), {1}, {1}]  # the second is somebody else's
    game.tree.headers["Annotator"] = "kibitz (material, club, both, nodes 1)"
    forget(game.tree)
    assert [node.nags for node in nodes] == [set(), {1}, set()]
    assert [node.comment for node in nodes] == [""] * 3
    assert put_mark(nodes[1], Label.BLUNDER, Grade.MISS) == "[%grade miss]"
    assert nodes[1].nags == {4}


def test_a_game_of_the_book_is_named_as_such(engine: Engine) -> None:
    game = annotate(parse_game(TRAP), engine, STYLE).game
    grades = [grade_in(node) for node in game.tree.mainline()]
    assert grades[:4] == [Grade.BOOK] * 4
    assert "grade" not in shown(game.tree.variations[0].comment)


def test_key_moments_alone(engine: Engine) -> None:
    style = Style(moments="key", limits=Limits(nodes=300))
    done = annotate(parse_game(TRAP), engine, style)
    keys = key_moments(done.figures.values, done.figures.labels)
    spoken = [ply for ply, comment in enumerate(done.comments) if comment.text]
    assert keys
    assert {*spoken} <= {*keys}


def test_one_side_is_left_alone(engine: Engine) -> None:
    done = annotate(parse_game(TRAP), engine, Style(sides="black", limits=Limits(nodes=300)))
    assert not any(comment.text for comment in done.comments[::2])


# A queen up, White makes moves of its queen until the first position is there a third time.
REPEATED = """[Result "1/2-1/2"]
[SetUp "1"]
[FEN "6k1/5ppp/8/8/8/8/5PPP/3Q2K1 w - - 0 30"]

30. Qe2 Kf8 31. Qd1 Kg8 32. Qe2 Kf8 33. Qd1 """


@pytest.mark.parametrize(("last", "drawn"), [("Kg8", True), ("Ke7", False)])
def test_a_third_occurrence_is_a_draw_that_a_bad_move_allowed(
    engine: Engine, last: str, drawn: bool
) -> None:
    game = parse_game(f"{REPEATED}{last} 1/2-1/2")
    done = annotate(game, engine, STYLE)
    assert (done.figures.values[-1] == 0.0) is drawn
    assert done.figures.labels[6] is Label.BLUNDER  # it was there to be had
    assert "by repetition" in done.comments[6].text
    assert ("A draw by repetition" in game.tree.comment) is drawn


def test_a_queen_that_is_left_standing_is_named(engine: Engine) -> None:
    fen = '[SetUp "1"]\n[FEN "8/8/8/q7/1k1K4/8/8/8 b - - 1 44"]'
    game = parse_game(f"{fen}\n\n44... Qd5+ 45. Ke3 Kc3 0-1")
    done = annotate(game, engine, STYLE)
    assert "45.Kxd5" in done.comments[1].text  # though kings alone are left after it


@pytest.mark.parametrize(
    ("fen", "move", "blamed"),
    [
        ("7k/8/5K2/8/8/8/8/4Q2R b - - 1 60", "60... Kg8", False),
        ("7k/8/6K1/8/8/p7/8/4Q3 b - - 1 60", "60... a2", True),  # or Kg8, which is mated as well
    ],
)
def test_the_only_legal_move_is_not_blamed_for_a_mate(
    engine: Engine, fen: str, move: str, blamed: bool
) -> None:
    game = parse_game(f'[SetUp "1"]\n[FEN "{fen}"]\n\n{move} 1-0')
    (comment,) = annotate(game, engine, STYLE).comments
    assert ("mate" in comment.text or "#" in comment.text) is blamed


def test_a_move_is_commented_on_without_a_search(engine: Engine) -> None:
    board = Board("r3k3/8/8/3N4/8/8/8/4K3 w - - 0 1")
    text = comment_on(engine, board, "Nc7+")
    assert "the king" in text
    assert "the rook on a8" in text


def test_a_level_that_is_none_is_named(engine: Engine) -> None:
    with pytest.raises(InputError, match="did you mean 'beginner'"):
        comment_on(engine, Board(), "e4", "beginer")  # type: ignore[arg-type]


def test_a_mate_that_was_missed_is_called_one(engine: Engine) -> None:
    board = Board("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1")
    text = comment_on(engine, board, "Kg2", limits=Limits(nodes=300))
    assert "1.Ra8#" in text
    assert "mate" in text


class Recorder(Speaker):
    """Keeps, of every move, its mark and all there is to say of it to who has been told nothing."""

    full: ClassVar[list[tuple[str, str]]] = []

    def comment(self, scene: Scene) -> Comment:
        """What is said in the game."""
        assert scene.had is not None
        assert scene.has is not None
        self.full.append((MARKS[label(scene.had, scene.has)], Speaker().comment(scene).text))
        return super().comment(scene)


def test_comment_says_of_a_game_s_moves_what_annotate_knows_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same analysis and the same choice; annotate leaves out what was said before.

    Where it has nothing to say, how the game should go on is said if that is asked, and of an
    opening its name, beside what little there is.
    """
    source, limits = tmp_path / "game.pgn", ["--nodes", "200", "--network", "material"]
    source.write_text(TRAP)
    Recorder.full.clear()
    style = Style(limits=Limits(nodes=200), words=Words("recorded", Recorder))
    with Engine("material", search="alphabeta", hash=16, multipv=2) as engine:
        game = annotate(parse_game(TRAP), engine, style).game
    nodes = list(game.tree.mainline())
    said = Recorder.full[-len(nodes) :]  # before, some searches may have been missing
    assert len(said) == len(nodes) == 14
    for node, (mark, text) in list(zip(nodes, said, strict=True))[::2]:
        move = step(node.parent.board(), node.move).text
        words = ["comment", "--game", str(source), "--move", move, *limits, "--json"]
        assert main(words) == 0
        facts = json.loads(capsys.readouterr().out)
        told, named, _ = facts["comment"].partition(" and enters the ")
        assert facts["mark"] == mark
        assert told
        if text and named:  # how a sentence begins depends on what else is said
            assert told.partition(" ")[2] == text.partition(" ")[2].removesuffix(".")
        elif text:
            assert told == text
        assert {*node.nags} == ({int(LABELS[mark])} if mark else set())
        lost = facts["score"]["loss"]
        assert (lost >= 0.05) is bool(mark) or "mate" in str(facts["score"])
        after, written = facts["score"]["after"], node.eval()
        assert written is not None
        score = written.pov(not node.turn())
        assert after.get("cp", score.score()) == score.score()
    taken = (
        "3r2k1/5ppp/8/3n4/8/1B6/5PPP/4R1K1 w - - 0 1"  # why it is not taken back is a claim, too
    )
    assert main(["comment", "--fen", taken, "--move", "Bxd5", *limits, "--json"]) == 0
    assert "NotRetaken" in {
        claim["kind"] for claim in json.loads(capsys.readouterr().out)["claims"]
    }
    bare = ["comment", "--fen", nodes[8].parent.board().fen(), "--move", "Nxf7", *limits, "--json"]
    assert main(["comment", "--game", str(source), "--move", "5.Ke2", *limits]) == 2
    assert "no such move in the game: '5.Ke2'" in capsys.readouterr().err
    assert main(bare) == 0
    assert json.loads(capsys.readouterr().out)["mark"] == said[8][0] != ""


def test_what_is_seen_does_not_depend_on_how_many_engines_look() -> None:
    texts = []
    for count in (1, 3):
        with ExitStack() as stack:
            engines = [
                stack.enter_context(Engine("material", search="alphabeta", hash=16, multipv=2))
                for _ in range(count)
            ]
            done = annotate(parse_game(TRAP), engines[0], STYLE, more=engines[1:])
            texts.append(str(done.game))
    assert texts[0] == texts[1]


def test_a_mistake_does_not_change_how_the_game_stood_at_its_start() -> None:
    """A shallow search sees nothing of a loss to come; that makes no earlier move worse."""
    board, moves = chess.Board(), ["a2a3", "a7a6", "a3a4", "a6a5"]
    made = [chess.Move.from_uci(move) for move in moves]
    boards = [board.copy(stack=False)]
    for move in made:
        board.push(move)
        boards.append(board.copy())
    other = chess.Move.from_uci("h2h3")

    class Fake(Searches):
        def see(self, board: chess.Board, limits: Limits) -> Evaluation:
            assert limits.nodes
            short = limits.nodes < LONGEST_LOOK * 100
            value = -0.6 if board.fen() == boards[-1].fen() and short else 0.0
            best = other if board.turn else chess.Move.from_uci("h7h6")
            line = (best,) if best in board.legal_moves else ()
            return Evaluation(Score("cp", round(300 * value)), value, line, second=value)

    with Engine("material", hash=16) as engine:
        views = evaluations_along(boards, made, Fake(engine), Effort(Limits(nodes=100)))
    assert [view.value for view in views] == [0.0, 0.0, 0.0, 0.0, -0.6]


def view_of(value: float, line: tuple[chess.Move, ...]) -> Evaluation:
    score = score_of(value)
    return Evaluation(score, value_of(score), line, second=value)


@pytest.mark.parametrize(
    ("short", "expected", "tried", "value", "mark"),
    [
        # Before a2a3, which leaves nothing: by a short look, by a long one, after the best move.
        (0.11, 0.24, 0.24, 0.24, Label.MISTAKE),  # looked at again
        (0.07, 0.24, 0.24, 0.07, Label.NONE),  # not bad at first sight
        (0.24, 0.24, 0.18, 0.21, Label.MISTAKE),  # by the mean of both looks, as Lichess has it
        (0.24, 0.24, 0.14, 0.14, Label.INACCURACY),  # the mean is no mistake: the lower
        (0.24, 0.24, 0.40, 0.24, Label.MISTAKE),  # what is seen later makes nothing worse
        (0.18, 0.18, 0.06, 0.06, Label.NONE),
    ],
)
def test_what_a_bad_move_had_is_seen_by_several_looks(
    short: float, expected: float, tried: float, value: float, mark: Label
) -> None:
    board, made, best = chess.Board(), chess.Move.from_uci("a2a3"), chess.Move.from_uci("e2e4")
    after, better = board.copy(), board.copy()
    after.push(made)
    better.push(best)

    class Fake(Searches):
        def see(self, board: chess.Board, limits: Limits) -> Evaluation:
            if board.fen() == after.fen():
                return view_of(0.0, (chess.Move.from_uci("h7h6"),))
            if board.fen() == better.fen():
                return view_of(-tried, (chess.Move.from_uci("h7h6"),))
            return view_of(short if limits.nodes == 100 else expected, (best,))

    with Engine("material", hash=16) as engine:
        effort = Effort(Limits(nodes=100))
        views = evaluations_along([board, after], [made], Fake(engine), effort)
    assert views[0].value == pytest.approx(value, abs=0.002)
    assert views[0].value == pytest.approx(value_of(views[0].score))  # as a PGN says it
    assert label(*views) is mark


@pytest.mark.parametrize(
    ("seen", "longest", "mark"),
    [
        (0.24, 0.24, Label.MISTAKE),
        (0.24, 0.12, Label.INACCURACY),
        (0.6, 0.6, Label.BLUNDER),  # which no longest look is made for
    ],
)
def test_a_mark_has_to_hold_by_the_longest_looks(seen: float, longest: float, mark: Label) -> None:
    boards, made = opening_of("a2a3")
    best, nothing = chess.Move.from_uci("e2e4"), chess.Move.from_uci("h7h6")

    class Fake(Searches):
        def see(self, board: chess.Board, limits: Limits) -> Evaluation:
            if board.fen() == boards[1].fen():
                return view_of(0.0, (nothing,))
            long = (limits.nodes or 0) >= LONGEST_LOOK * 100
            assert not (long and seen >= CLEAR)
            value = longest if long else seen
            return view_of(value if board.turn else -value, (best if board.turn else nothing,))

    with Engine("material", hash=16) as engine:
        views = evaluations_along(boards, made, Fake(engine), Effort(Limits(nodes=100)))
    assert label(*views) is mark
    assert views[0].value == pytest.approx(longest, abs=0.002)


def test_nodes_are_for_each_line() -> None:
    one, two = (Effort(Limits(nodes=20_000)).deep(5, lines) for lines in (1, 2))
    assert (one.nodes, one.lines) == (100_000, 1)
    assert (two.nodes, two.lines) == (200_000, None)  # as many as the engine has
    timed = Effort(Limits(movetime=10)).deep(5)
    assert (timed.movetime, timed.lines) == (100, 1)


def test_a_quick_analysis_confirms_words_and_not_marks_by_large_searches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(searches, "DEEP", 20_000)  # smaller in other tests
    quick, usual = Effort(Limits(nodes=500)), Effort(Limits(nodes=20_000))
    assert (quick.marking(15).nodes, usual.marking(15).nodes) == (7_500, 300_000)
    assert (quick.deep(5).nodes, usual.deep(5).nodes) == (100_000, 100_000)


def opening_of(*moves: str) -> tuple[list[chess.Board], list[chess.Move]]:
    """The positions of some moves from the first one on, and the moves."""
    made = [*map(chess.Move.from_uci, moves)]
    boards = [chess.Board()]
    for move in made:
        boards.append(boards[-1].copy())
        boards[-1].push(move)
    return boards, made


def test_a_long_look_that_the_expected_move_refutes_is_corrected() -> None:
    boards, made = opening_of("a2a3", "h7h6")
    best, nothing = chess.Move.from_uci("e2e4"), chess.Move.from_uci("g8f6")

    class Fake(Searches):
        def see(self, board: chess.Board, limits: Limits) -> Evaluation:
            if board.fen() == boards[2].fen():
                return view_of(-0.7, (chess.Move.from_uci("a3a4"),))
            if board.fen() == boards[1].fen():  # by a short look, by longer ones
                return view_of(0.5 if limits.nodes == 100 else 0.0, (made[1],))
            return view_of(0.0, (best if board.turn else nothing,))

    with Engine("material", hash=16) as engine:
        views = evaluations_along(boards, made, Fake(engine), Effort(Limits(nodes=100)))
    assert [round(view.value, 1) for view in views] == [0.0, 0.7, -0.7]


def test_a_long_look_that_an_unexpected_answer_refutes_is_corrected_too() -> None:
    """And what else there was before the move is looked for: it is the move that is bad."""
    boards, made = opening_of("a2a3", "h7h6")
    best, nothing = chess.Move.from_uci("e2e4"), chess.Move.from_uci("g8f6")

    class Fake(Searches):
        def see(self, board: chess.Board, limits: Limits) -> Evaluation:
            if board.fen() == boards[2].fen():
                return view_of(-0.7, (chess.Move.from_uci("a3a4"),))
            if board.fen() == boards[1].fen():  # by shorter looks, by the longest
                return view_of(0.5 if (limits.nodes or 0) < 5 * searches.DEEP else -0.3, (nothing,))
            return view_of(0.0, (best if board.turn else nothing,))

    with Engine("material", hash=16) as engine:
        views = evaluations_along(boards, made, Fake(engine), Effort(Limits(nodes=100)))
    assert [round(view.value, 1) for view in views] == [0.0, 0.7, -0.7]
    assert views[0].line[:1] == (best,)
    assert label(*views[:2]) is Label.BLUNDER


@pytest.mark.parametrize(("best", "bad"), [("a2a3", False), ("e2e4", True)])
def test_the_move_that_a_long_look_expected_is_no_mistake(best: str, bad: bool) -> None:
    made = chess.Move.from_uci("a2a3")
    before = view_of(0.68, (chess.Move.from_uci(best),))
    views = [before, view_of(-0.41, (chess.Move.from_uci("g8f6"),))]
    _look_back(views, [made], settled={0})
    assert bool(label(*views)) is bad
    assert (views[0] == before) is bad


def test_a_file_goes_on_where_it_was_stopped(engine: Engine, tmp_path: Path) -> None:
    source, output = tmp_path / "games.pgn", tmp_path / "out.pgn"
    broken = '[Event "?"]\n[Variant "Atomic"]\n\n1. e4 e5 *\n'
    source.write_text(f"{TRAP}\n{broken}\n{TRAP}\n")
    style = Style(limits=Limits(nodes=50))
    next(annotate_file(source, output, engine, style, Stop()))
    whole = output.read_text()
    for torn in (whole[: len(whole) // 2], whole[: whole.index("\n\n") + 2]):
        output.write_text(whole + torn)  # killed in the middle of a write
        assert len(list(annotate_file(source, output, engine, style, Stop()))) == 2
        assert len(list(read_games(output))) == 2
    complete = output.read_text()
    assert len(list(annotate_file(source, output, engine, style, Stop()))) == 2
    assert output.read_text() == complete
    with pytest.raises(InputError, match="made in another way"):
        list(annotate_file(source, output, engine, Style("expert"), Stop()))


def test_two_runs_do_not_write_into_one_file(engine: Engine, tmp_path: Path) -> None:
    source, output, style = tmp_path / "games.pgn", tmp_path / "out.pgn", STYLE
    source.write_text(f"{TRAP}\n{TRAP}\n")
    first = annotate_file(source, output, engine, style, Stop())
    next(first)
    written = output.read_bytes()
    words = ["annotate", str(source), "-o", str(output), "--network", "material", "--nodes", "300"]
    other = subprocess.run(
        [sys.executable, "-m", "kibitz", *words], capture_output=True, text=True, check=False
    )
    assert other.returncode != 0
    assert "another process annotates into this file" in other.stderr
    assert str(output) in other.stderr
    assert output.read_bytes() == written
    assert len(list(first)) == 1  # the one that has the file goes on
    assert len(list(read_games(output))) == 2


def test_a_fault_in_one_game_costs_no_other(
    engine: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, output = tmp_path / "games.pgn", tmp_path / "out.pgn"
    source.write_text(f'[Event "short"]\n\n1. e4 *\n\n{TRAP}\n')

    def fails(tree: chess.pgn.Game, *_: object) -> str:
        if tree.headers["Event"] == "short":
            raise IndexError("no such ply")
        return "A story."

    monkeypatch.setattr("kibitz.comment.annotate.story_of", fails)
    style = Style(limits=Limits(nodes=50))
    first, second = annotate_file(source, output, engine, style, Stop())
    assert not first.tree.comment
    assert all(not node.comment for node in first.tree.mainline())
    assert "A story." in second.tree.comment
    assert len(list(read_games(output))) == 2
    assert "game 1 is left as it is" in capsys.readouterr().err
    assert main(["annotate", str(source), "--network", "material", "--nodes", "50"]) == 1
    assert "1 left without comments" in capsys.readouterr().err


def test_a_page_of_something_else_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, page = tmp_path / "games.pgn", tmp_path / "mine.html"
    source.write_text(TRAP)
    page.write_text("<title>Mine</title>")
    command = ["annotate", str(source), "--nodes", "50", "--html", str(page)]
    assert main(command) == 2
    assert "would replace another file" in capsys.readouterr().err
    assert page.read_text() == "<title>Mine</title>"
    page.unlink()
    assert [main(command), main(command)] == [0, 0]  # its own page is written anew


@pytest.mark.parametrize("content", [b"a shopping list\n", b"b\xffn\n", TRAP.encode()])
def test_a_file_of_something_else_is_left_alone(
    engine: Engine, tmp_path: Path, content: bytes
) -> None:
    source, output = tmp_path / "games.pgn", tmp_path / "mine.txt"
    source.write_text(TRAP)
    output.write_bytes(content)
    with pytest.raises(InputError, match="made in another way"):
        list(annotate_file(source, output, engine, STYLE, Stop()))
    assert output.read_bytes() == content
    with pytest.raises(InputError, match="the output is the input"):
        list(annotate_file(source, source, engine, STYLE, Stop()))
    with pytest.raises(InputError, match="not written packed"):
        list(annotate_file(source, tmp_path / "out.pgn.gz", engine, STYLE, Stop()))
    with pytest.raises(InputError, match="no such folder for the output"):
        list(annotate_file(source, tmp_path / "no" / "out.pgn", engine, STYLE, Stop()))
    with pytest.raises(InputError, match="the output is a folder"):
        list(annotate_file(source, tmp_path, engine, STYLE, Stop()))


def test_a_file_without_games_is_refused(engine: Engine, tmp_path: Path) -> None:
    source = tmp_path / "empty.pgn"
    source.write_text("")
    with pytest.raises(InputError, match="no game to annotate"):
        list(annotate_file(source, None, engine, STYLE, Stop()))


def test_all_files_of_a_folder_are_annotated(engine: Engine, tmp_path: Path) -> None:
    output, style = tmp_path / "all.pgn", Style(limits=Limits(nodes=50))
    (tmp_path / "deep").mkdir()
    for number, name in enumerate(("b.pgn", "a.PGN", "deep/c.pgn", "notes.txt")):
        (tmp_path / name).write_text(f'[Event "{number}"]\n\n1. e4 e5 *\n')
    for _ in range(2):  # the output lies in the folder and is none of its games
        games = list(annotate_file(tmp_path, output, engine, style, Stop()))
        assert sorted(game.tags["Event"] for game in games) == ["0", "1", "2"]
    assert len(list(read_games(output))) == 3
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no PGN file in the folder"):
        list(annotate_file(tmp_path / "empty", None, engine, style, Stop()))


def test_a_text_is_annotated_from_python() -> None:
    assert doctest.testmod(kibitz.comment.engine).failed == 0
    with Engine("material") as engine:
        both = kibitz.annotate("1. e4 e5 *\n\n1. d4 *\n", engine=engine, limits=Limits(nodes=50))
        assert engine.play(Board(), nodes=20).move is not None  # it was not closed
    assert both.count("[Annotator ") == 2


@pytest.mark.parametrize(
    ("pgn", "level", "told"),
    [
        ("1. e4 e5 2. Ke4 *", "club", "game 1"),
        ("", "club", "no game in it"),
        ("1. e4 *", "novice", "no such level"),
    ],
)
def test_a_text_that_cannot_be_annotated_is_refused(pgn: str, level: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        kibitz.annotate(pgn, level=level)
