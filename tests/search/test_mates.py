"""Shortest mates against brute force, searches with nothing left to learn, and depth as work."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import chess
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.nets.evaluators.batched import InlineBatch
from kibitz.nets.evaluators.inline import Material, inline_evaluator
from kibitz.position.board import Board
from kibitz.position.notation import legal_codes, relative
from kibitz.search.limits import Limits, depth_of, visits_of
from kibitz.search.mate import MateSearch, may_check
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.options import Settings
from kibitz.search.report import Report, Score
from kibitz.search.searcher import with_whole_mates
from tests.search.test_proofs import mates_within

# A mate in two which the tree, alone, takes 90 000 visits to find, and one in four before that.
HIDDEN = "2brrb2/8/p7/7Q/1p1kpPp1/1P1pN1K1/3P4/8 w - - 0 1"
# The tree proves a mate in three first; the shorter one begins with a quiet move.
ENDGAMES = (
    "8/8/8/8/8/2k5/1q6/K7 w - - 0 1",
    "7k/8/5K2/8/8/8/8/6Q1 w - - 0 1",
    "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1",
    "6k1/8/8/8/8/8/R7/1R4K1 w - - 0 1",
    "6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1",
    "k7/8/1K6/8/8/8/8/7R w - - 0 1",
    "8/8/8/8/8/5k2/7p/5K1R b - - 0 1",
)


def never() -> bool:
    return False


def mate_search(board: Board) -> MateSearch:
    return MateSearch(board, legal_codes(board.position).tolist())


def shortest(board: chess.Board, plies: int) -> int | None:
    """Plies of the shortest mate, by trying everything with python-chess."""
    return next((n for n in range(1, plies + 1, 2) if mates_within(board, n)), None)


def positions() -> Iterator[str]:
    """Endgames, and what random moves make of a middlegame in which kings are in the open."""
    yield from ENDGAMES
    generator = random.Random(5)
    for _ in range(40):
        board = chess.Board("r3k3/8/8/3Q4/3q4/8/8/R3K3 w Qq - 0 1")
        for _ in range(generator.randrange(1, 9)):
            if board.is_game_over():
                break
            board.push(generator.choice(list(board.legal_moves)))
        if not board.is_game_over():
            yield board.fen()


@pytest.mark.skipif(not COMPILED, reason="takes too many positions")
@pytest.mark.parametrize("fen", list(positions()))
def test_the_shortest_mate_is_what_brute_force_finds(fen: str) -> None:
    board, expected = Board(fen), shortest(chess.Board(fen), 3)
    search = mate_search(board)
    assert search.deepen(3, 10**9, never)
    assert (search.mate and search.mate.plies) == expected
    if expected is None:
        assert search.excluded == 4
        return
    line = search.line(10**9, never)
    assert len(line) == expected
    for move in line:
        board.push(move)
    assert board.to_chess().is_checkmate()


@pytest.mark.parametrize("fen", [*ENDGAMES, HIDDEN, "4k3/2P1P3/8/8/8/8/8/R3K2R w KQ - 0 1"])
def test_moves_that_may_check_are_all_that_do(fen: str) -> None:
    board, special = Board(fen), 0
    for move in board.legal_moves:
        after = chess.Board(fen)
        after.push(chess.Move.from_uci(move.uci()))
        may = bool(may_check(board.position, relative(board.position, move)))
        castles = after.fullmove_number and chess.Board(fen).is_castling(after.peek())
        special += castles
        assert may == after.is_check() or castles
    assert special in (0, 2)


def test_a_mate_search_goes_on_where_it_was_ended() -> None:
    whole, pieces = mate_search(Board(HIDDEN)), mate_search(Board(HIDDEN))
    assert whole.deepen(3, 10**6, never)
    rounds = 1
    while not pieces.deepen(3, 7, never):
        rounds += 1
    assert rounds > 5
    assert pieces.mate == whole.mate
    assert pieces.nodes == whole.nodes


def test_moves_that_are_not_searched_do_not_mate() -> None:
    board = Board("6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1")
    mating = int(relative(board.position, board.parse("b1b8")))
    search = MateSearch(board, set(legal_codes(board.position).tolist()) - {mating})
    assert search.deepen(1, 10**6, never)
    assert search.mate is None


def test_the_fifty_move_rule_spoils_a_mate() -> None:
    """Two rooks mate in two; with 99 plies gone only a mate at once counts."""
    for rule50, mate in ((0, 3), (97, 3), (98, None), (99, None)):
        search = mate_search(Board(f"6k1/8/8/8/8/8/R7/1R4K1 w - - {rule50} 90"))
        assert search.deepen(3, 10**6, never)
        assert (search.mate and search.mate.plies) == mate


# --- searches -------------------------------------------------------------------------------------


@pytest.fixture(params=["one thread", "two threads", "batches"])
def searcher(request: pytest.FixtureRequest) -> Iterator[Searcher]:
    """A searcher with each kind of driver."""
    if request.param == "two threads" and not COMPILED:
        pytest.skip("in plain Python the operations are not atomic")
    material = inline_evaluator(Material())
    evaluator = InlineBatch(material) if request.param == "batches" else material
    threads = 2 if request.param == "two threads" else 1
    settings = Settings(hash=16, threads=threads, minibatch_size=8)
    with Searcher(evaluator, settings) as made:
        yield made


@pytest.mark.skipif(not COMPILED, reason="takes too many playouts")
def test_go_mate_finds_the_shortest_mate(searcher: Searcher) -> None:
    result = searcher.search(Board(HIDDEN), Limits(mate=2))
    assert str(result.report.best.score) == "mate 2"
    assert str(result.move) == "h5a5"
    assert len(result.report.best.moves) == 3
    assert result.report.nodes < 20_000
    again = searcher.search(Board(HIDDEN), Limits(nodes=1_000))
    assert again.report.best.moves == result.report.best.moves


@pytest.mark.skipif(not COMPILED, reason="takes too many playouts")
@pytest.mark.parametrize(("fen", "moves"), [(HIDDEN, 1), (chess.STARTING_FEN, 3)])
def test_go_mate_ends_where_there_is_none(searcher: Searcher, fen: str, moves: int) -> None:
    result = searcher.search(Board(fen), Limits(mate=moves))
    assert result.move is not None
    assert result.report.no_mate == moves
    assert result.report.best.score.kind == "cp"


def test_go_mate_ends_where_the_side_to_move_is_lost(searcher: Searcher) -> None:
    report = searcher.search(Board("7k/R7/8/8/8/8/1R6/6K1 b - - 0 1"), Limits(mate=50)).report
    assert str(report.best.score) == "mate -1"


@pytest.mark.skipif(not COMPILED, reason="takes too many playouts")
def test_a_proved_mate_is_shortened(searcher: Searcher) -> None:
    """The tree proves a longer mate first; with nodes left, the one in two is found and shown."""
    report = searcher.search(Board(HIDDEN), Limits(nodes=400_000)).report
    assert report.nodes < 400_000
    assert str(report.best.score) == "mate 2"


@pytest.mark.skipif(not COMPILED, reason="takes too many playouts")
@pytest.mark.parametrize(
    ("fen", "moves"),
    [
        ("8/8/1r6/K3P3/6Pr/4q1k1/8/8 w - - 0 1", 2),  # the tree proves that it takes three
        ("4R3/8/7R/8/8/4K3/6k1/8 b - - 0 1", 2),
        ("R7/8/5R2/8/3K4/8/8/2k5 b - - 0 1", 3),
    ],
)
def test_a_proved_loss_is_shortened(searcher: Searcher, fen: str, moves: int) -> None:
    """It takes no longer than it must, and the line ends in mate; so does the kept tree's."""
    if moves > 2 and searcher.batched:
        pytest.skip("the longer one takes batches half a minute")
    for _ in range(2):
        board = Board(fen)
        best = searcher.search(board, Limits(nodes=2_000_000)).report.best
        assert str(best.score) == f"mate -{moves}"
        assert len(best.moves) == 2 * moves
        for move in best.moves:
            board.push(move)
        assert board.is_check()
        assert not board.legal_moves


@pytest.mark.parametrize("limits", [Limits(infinite=True), Limits(ponder=True, infinite=True)])
def test_a_settled_root_is_not_searched_on(searcher: Searcher, limits: Limits) -> None:
    """An infinite search ends by itself; the engine keeps its answer back until `stop`."""
    fen = "6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1"
    first = searcher.search(Board(fen), limits).report
    assert str(first.best.score) == "mate 1"
    again = searcher.search(Board(fen), limits).report
    assert str(again.best.score) == "mate 1"
    assert again.nodes == 0


def test_a_root_where_every_move_is_drawn_by_the_clock_is_settled(searcher: Searcher) -> None:
    report = searcher.search(
        Board("8/8/8/8/8/1k6/6r1/K7 b - - 99 90"), Limits(infinite=True)
    ).report
    assert str(report.best.score) in ("cp 0", "mate 1")


# --- depth ----------------------------------------------------------------------------------------


def test_every_depth_is_more_work_and_is_what_is_printed(searcher: Searcher) -> None:
    nodes = []
    for depth in range(1, 11):
        searcher.new_game()
        report = searcher.search(Board(), Limits(depth=depth)).report
        assert report.depth == depth
        nodes.append(report.nodes)
    assert nodes == sorted(set(nodes))
    assert nodes == [visits_of(depth) for depth in range(1, 11)]


def test_depth_and_visits_are_each_others_inverse() -> None:
    for depth in range(1, 60):
        assert depth_of(visits_of(depth)) == depth
        assert depth == 1 or depth_of(visits_of(depth) - 1) == depth - 1
    assert visits_of(1) < 100 < visits_of(30) < 10**8
    assert depth_of(0) == 1


def test_depth_ends_a_search_with_nodes_that_would_go_on() -> None:
    with Searcher(inline_evaluator(Material()), Settings(hash=4)) as searcher:
        assert searcher.search(Board(), Limits(depth=4, nodes=10**6)).report.nodes == visits_of(4)
        searcher.new_game()
        assert searcher.search(Board(), Limits(depth=9, nodes=50)).report.nodes == 50


@pytest.mark.skipif(not COMPILED, reason="takes too many playouts")
def test_no_line_that_is_shown_is_longer_than_its_mate(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even while the longest defence is looked for, with a report at every look."""
    monkeypatch.setattr("kibitz.search.searcher.REPORT_MS", 0.0)
    reports: list[Report] = []
    board = Board("8/p7/rp1N4/kp6/1p5r/1P4QK/1P5p/7R w - - 0 1")
    searcher.search(board, Limits(mate=2), reports.append)
    shown = [report.best for report in reports if report.best.score.kind == "mate"]
    assert shown
    assert max(len(line.moves) for line in shown) == 3


@pytest.mark.skipif(not COMPILED, reason="takes too many playouts")
def test_a_line_that_stops_before_its_mate_is_shown_to_the_end(searcher: Searcher) -> None:
    board = Board("8/p7/rp1N4/kp6/1p5r/1P4QK/1P5p/7R w - - 0 1")  # mate in two
    searcher.new_game()
    report = searcher.search(board, Limits(mate=2)).report
    assert [len(line.moves) for line in report.lines[:1]] == [3]
    for kept in (1, 2, 3):
        cut = report.best._replace(moves=report.best.moves[:kept])
        assert cut.lacks == 3 - kept
        found = with_whole_mates(board, replace(report, lines=(cut, *report.lines[1:])))
        assert found.best.lacks == 0
        end = board.copy()
        for move in found.best.moves:
            end.push(move)
        assert end.is_check()
        assert not end.legal_moves
    wrong = report.best._replace(moves=report.best.moves[:1], score=Score("mate", 3))
    assert with_whole_mates(board, replace(report, lines=(wrong,))).best == wrong
