"""Reports: principal variations, scores from proofs, the end of the game, lc0's lines."""

from __future__ import annotations

import doctest
import math
import re
from typing import Any

import chess
import pytest

import kibitz.uci.format as uci_format
from kibitz.nets.evaluators.inline import Material, inline_evaluator
from kibitz.position.board import Board
from kibitz.position.fen import START
from kibitz.search.limits import Limits
from kibitz.search.mcts.answer import make_report
from kibitz.search.mcts.rules.parameters import Contempt, Exploration, Gumbel, Puct, Rule, Sble
from kibitz.search.mcts.statistics import moves_below
from kibitz.search.method import open_search
from kibitz.search.options import SearchName, Settings
from kibitz.search.proof import TABLEBASE
from kibitz.search.report import Score, Totals, Wdl
from kibitz.uci.format import policy_index, verbose_lines

BLACK_TO_MOVE = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"


def sicilian(handmade: Any, reply: Any) -> Any:
    tree = handmade(BLACK_TO_MOVE, 101, value=-0.1)
    tree.plant("", [reply("c7c5", 60, -0.05, 0.4, draw=0.5), reply("e7e5", 40, -0.2, 0.3)])
    tree.plant("c7c5", [reply("b1c3", 20, 0.1), reply("g1f3", 30, 0.05), reply("d2d4")])
    tree.plant("c7c5 g1f3", [reply("d7d6", 10, 0.0), reply("b8c6", 10, 0.1)])
    return tree


def report_on(tree: Any, rule: Rule | None = None, **others: Any) -> Any:
    totals = Totals(nodes=100, milliseconds=50, depth=3, seldepth=7, tbhits=2)
    return make_report(tree.memory, tree.position, rule or Puct(), Settings(**others), totals)


def names(line: Any) -> list[str]:
    return [str(move) for move in line.moves]


def test_counts(handmade: Any, reply: Any) -> None:
    report = report_on(sicilian(handmade, reply))
    assert (report.depth, report.seldepth, report.nodes, report.tbhits) == (3, 7, 100, 2)
    assert (report.nps, report.milliseconds) == (2000, 50)
    assert 0 <= report.hashfull <= 1000
    assert report.root.visits == 101
    assert report.root.value == pytest.approx(-0.1)


def test_lines_follow_visits_then_values(handmade: Any, reply: Any) -> None:
    report = report_on(sicilian(handmade, reply), multipv=5)
    assert [names(line) for line in report.lines] == [["c7c5", "g1f3", "b8c6"], ["e7e5"]]
    assert [line.number for line in report.lines] == [1, 2]
    assert report.best.score.amount == -40
    assert report.best.wdl == Wdl(57, 712, 231)
    assert len(report_on(sicilian(handmade, reply)).lines) == 1


def test_moves_of_sble_show_the_weight_and_the_untried_value_that_hold_at_their_node(
    handmade: Any, reply: Any
) -> None:
    tree = sicilian(handmade, reply)
    rule = Sble(Exploration(1.0, 1e9, 0.0), Exploration(3.0, 1e9, 0.0))
    root = moves_below(tree.memory, tree.position, rule)
    assert root[0].bonus == pytest.approx(2 * 3.0 * math.sqrt(101) * root[0].prior / 61)
    below = moves_below(tree.memory, tree.position, rule, root[0].edge)
    tried = next(row for row in below if row.visits == 30)
    assert tried.bonus == pytest.approx(2 * 1.0 * math.sqrt(60) * tried.prior / 31)
    assert next(row.value for row in below if not row.visits) == -1.0
    tree.memory.nodes["fpu"][tree.memory.cold["child"][root[0].edge]] = 0.25
    below = moves_below(tree.memory, tree.position, rule, root[0].edge)
    assert next(row.value for row in below if not row.visits) == pytest.approx(0.25)


def test_where_all_visited_moves_are_lost_the_line_begins_with_another(
    handmade: Any, reply: Any
) -> None:
    tree = handmade(BLACK_TO_MOVE, 3, value=-1.0)
    lost = reply("c7c5", 2, -1.0, 0.6, proof=-4)
    tree.plant("", [lost, reply("e7e5", prior=0.1), reply("d7d5", prior=0.3)])
    lines = report_on(tree, multipv=3).lines
    assert [names(line)[0] for line in lines] == ["d7d5", "c7c5"]
    assert [line.number for line in lines] == [1, 2]
    assert [names(line) for line in report_on(tree).lines] == [["d7d5"]]


def test_lines_are_legal(handmade: Any, reply: Any) -> None:
    line = report_on(sicilian(handmade, reply)).best
    board = chess.Board(BLACK_TO_MOVE)
    for move in names(line):
        board.push_uci(move)


def test_rows_are_in_order_and_complete(handmade: Any, reply: Any) -> None:
    tree = handmade(START, 11).plant("", [reply("e2e4", prior=0.2), reply("d2d4", 10, 0.3, 0.4)])
    first, second = report_on(tree).moves
    assert (str(first.move), first.visits, first.value) == ("d2d4", 10, pytest.approx(0.3))
    assert first.prior == pytest.approx(0.4, abs=1e-4)
    assert first.raw == pytest.approx(0.3)
    assert (str(second.move), second.visits, second.raw) == ("e2e4", 0, None)
    assert first.score == pytest.approx(first.value + first.bonus)


def test_exploration_of_puct_by_hand(handmade: Any, reply: Any) -> None:
    tree = handmade(START, 11).plant("", [reply("e2e4", 10, 0.3, 0.4)])
    (row,) = moves_below(tree.memory, tree.position, Puct())
    assert row.bonus == pytest.approx(1.7461 * 10**0.5 * 0.4 / 11, rel=1e-3)


@pytest.mark.parametrize("rule", [Puct(), Sble(), Gumbel(), Contempt(limit=5)])
def test_every_rule_can_be_reported_on(handmade: Any, reply: Any, rule: Rule) -> None:
    report = report_on(sicilian(handmade, reply), rule)
    assert len(report.moves) == 2
    assert (report.moves[0].bonus > 0) == (not isinstance(rule, Gumbel))


# --- proofs and the end of the game ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("proof", "score", "wdl"),
    [
        (1, Score("mate", 1), Wdl(1000, 0, 0)),
        (5, Score("mate", 3), Wdl(1000, 0, 0)),
        (-4, Score("mate", -2), Wdl(0, 0, 1000)),
        (TABLEBASE, Score("cp", 20_000), Wdl(1000, 0, 0)),
        (20_000, Score("cp", 0), Wdl(0, 1000, 0)),
    ],
)
def test_scores_of_proofs(handmade: Any, reply: Any, proof: int, score: Score, wdl: Wdl) -> None:
    tree = handmade(START, 2).plant("", [reply("e2e4", 1, 0.3, proof=proof)])
    assert (report_on(tree).best.score, report_on(tree).best.wdl) == (score, wdl)


def test_the_proved_move_is_the_best_line(handmade: Any, reply: Any) -> None:
    tree = handmade(START, 99).plant(
        "", [reply("e2e4", 90, 0.3), reply("d2d4", 5, 0.3, proof=7), reply("c2c4", 1, proof=3)]
    )
    report = report_on(tree, multipv=3)
    assert [str(line.score) for line in report.lines[:2]] == ["mate 2", "mate 4"]
    assert report.lines[2].score.kind == "cp"


OVER = {
    "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1": (Score("mate", 0), Wdl(0, 0, 1000)),
    "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1": (Score("cp", 0), Wdl(0, 1000, 0)),
    "7k/8/6K1/8/8/8/8/8 w - - 0 1": (Score("cp", 0), Wdl(0, 1000, 0)),  # nothing to mate with
    "7k/8/6K1/8/8/8/8/R7 w - - 150 90": (Score("cp", 0), Wdl(0, 1000, 0)),
}


@pytest.mark.parametrize("name", ["mcts", "alphabeta", "bestfirst"])
def test_a_game_that_is_over_is_not_searched(name: SearchName) -> None:
    material = inline_evaluator(Material())
    with open_search(material, Settings(search=name, hash=1)) as search:
        for fen, (score, wdl) in OVER.items():
            assert chess.Board(fen).outcome() is not None
            result = search.search(Board(fen), Limits(nodes=50))
            best = result.report.best
            assert (best.score, best.wdl, best.moves, result.move) == (score, wdl, (), None)
            assert (result.report.nodes, result.report.notes) == (0, ())


@pytest.mark.parametrize("name", ["mcts", "alphabeta", "bestfirst"])
@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/8/8/1k6/7Q/3K4 w - - 99 100",  # every move is the hundredth without progress
        "4k3/8/8/8/8/8/4r3/4K3 w - - 0 1",  # the only move leaves bare kings
    ],
)
def test_a_line_that_ends_in_a_draw_has_no_wins_and_losses(name: SearchName, fen: str) -> None:
    with open_search(inline_evaluator(Material()), Settings(search=name, hash=1)) as search:
        best = search.search(Board(fen), Limits(nodes=500)).report.best
    assert (best.score, best.wdl) == (Score("cp", 0), Wdl(0, 1000, 0))


def test_a_root_without_visits_shows_the_likeliest_move(handmade: Any, reply: Any) -> None:
    tree = handmade(START, 1, value=0.2)
    tree.plant("", [reply("e2e4", prior=0.2), reply("d2d4", prior=0.3)])
    best = report_on(tree, score_type="centipawn_2019").best
    assert names(best) == ["d2d4"]
    assert best.score == Score("cp", round(111.714640912 * math.tan(0.31241)))


# --- lc0's lines ----------------------------------------------------------------------------------

LC0_LINE = re.compile(
    r"(?P<move>[a-h][1-8][a-h][1-8][qrbn]?|node) +\( *(?P<index>\d+) *\) N: +(?P<visits>\d+) "
    r"\(\+ ?(?P<pending>\d+)\) \(P: +(?P<prior>[\d.]+)%\) \(WL: +(?P<wl>[-\d.]+)\) "
    r"\(D: (?P<draw>[-\d.]+)\) \(M: +(?P<m>[-\d.]+)\) \(Q: +(?P<q>[-\d.]+)\) "
    r"(\(U: (?P<u>[\d.]+)\) \(S: +(?P<s>[-\d.]+)\) )?\(V: +(?P<v>[-\d.]+)\) (\(T\) )?"
)


def test_lc0s_lines_letter_by_letter(handmade: Any, reply: Any) -> None:
    tree = handmade(START, 11, value=0.012).plant(
        "", [reply("e2e4", 10, 0.01234, 0.25, draw=0.123), reply("g1f3", prior=0.1)]
    )
    unvisited, visited, node = verbose_lines(report_on(tree))
    assert visited.startswith(
        "e2e4  (322 ) N:      10 (+ 0) (P: 25.00%) (WL:  0.01234) (D: 0.123) (M:  0.0) "
        "(Q:  0.01234) (U: 0.12"
    )
    assert visited.endswith("(V:  0.0123) ")
    assert unvisited.startswith(
        "g1f3  (159 ) N:       0 (+ 0) (P: 10.00%) (WL:  -.-----) (D: -.---) (M:  -.-) (Q: "
    )
    assert unvisited.endswith("(V:  -.----) ")
    assert node == (
        "node  (   2) N:      11 (+ 0) (P: 25.00%) (WL:  0.01200) (D: 0.000) (M:  0.0) "
        "(Q:  0.01200) (V:  0.0120) "
    )


def test_every_line_has_lc0s_form(handmade: Any, reply: Any) -> None:
    lines = verbose_lines(report_on(sicilian(handmade, reply)))
    found = [LC0_LINE.fullmatch(line) for line in lines]
    assert all(found)
    assert [match["move"] for match in found if match] == ["e7e5", "c7c5", "node"]
    wins = [match for match in found if match and match["u"]]
    for match in wins:
        assert float(match["s"]) == pytest.approx(float(match["q"]) + float(match["u"]), abs=2e-5)


@pytest.mark.parametrize(
    ("fen", "move", "index"),
    [
        (START, "e2e4", 322),
        (BLACK_TO_MOVE, "e7e5", 322),  # seen from the side to move
        (START, "g1f3", 159),
        ("7k/P7/8/8/8/8/8/K7 w - - 0 1", "a7a8q", 1792),
        ("7k/P7/8/8/8/8/8/K7 w - - 0 1", "a7a8b", 1794),
        ("6nk/7P/8/8/8/8/8/K7 w - - 0 1", "h7g8b", 1854),
        ("5k2/7P/8/8/8/8/8/K7 w - - 0 1", "h7h8b", 1857),
    ],
)
def test_lc0s_numbers_of_moves(fen: str, move: str, index: int) -> None:
    board = Board(fen)
    codes = {board.uci(legal): legal.code for legal in board.legal_moves}
    flip = 56 | 56 << 6 if board.turn == "black" else 0
    assert policy_index(codes[move] ^ flip) == index


def test_knights_are_promoted_to_without_a_letter() -> None:
    board = Board("7k/P7/8/8/8/8/8/K7 w - - 0 1")
    knight = board.parse("a7a8n")
    assert policy_index(knight.code) < 1792
    assert len({policy_index(move.code) for move in board.legal_moves}) == len(board.legal_moves)


def test_examples_in_the_docstrings() -> None:
    assert doctest.testmod(uci_format).failed == 0
