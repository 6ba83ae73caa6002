"""Best-first search against alpha-beta in plain Python, and what engines ask of a search."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from kibitz.nets.encodings.leaves import Leaves, random_leaves
from kibitz.nets.evaluators.batched import Evaluations, InlineBatch, Pair, evaluated, values_of
from kibitz.nets.evaluators.cache import CachedEvaluator, PredictionCache
from kibitz.nets.evaluators.inline import Material, Uniform, inline_evaluator
from kibitz.position.board import Board
from kibitz.position.exchange import exchange_value
from kibitz.position.fen import START
from kibitz.position.notation import relative
from kibitz.search.bestfirst.expand import list_moves
from kibitz.search.bestfirst.nodes import MATE
from kibitz.search.bestfirst.searcher import BestFirst, bisect
from kibitz.search.bestfirst.worker import (
    Calibration,
    Worker,
    calibrate,
    move_scores,
    read_calibration,
    roles_of,
    rough_calibration,
    write_calibration,
)
from kibitz.search.limits import Limits, Signals
from kibitz.search.options import Settings
from kibitz.search.report import Report

MATERIAL = InlineBatch(inline_evaluator(Material()))
UNIFORM = InlineBatch(inline_evaluator(Uniform()))
CALIBRATION = Calibration(-3.0, 0.0, np.linspace(3.0, 0.0, 50))
MIDDLEGAME = "r1bqkb1r/pp3ppp/2np1n2/4p3/2B1P3/2N2N2/PP3PPP/R1BQ1RK1 w kq - 0 8"
POSITIONS = (
    MIDDLEGAME,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",  # en passant
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",  # promotions
    "8/8/8/8/5k2/8/5r2/6K1 w - - 97 90",  # a capture, or mate before the 50 moves are over
    "7k/5Q2/8/8/8/2b5/K7/8 b - - 99 80",
)
QUIET = 3
MATES = (  # position, plies of the shortest mate
    ("6rk/6pp/8/6N1/8/8/8/K7 w - - 0 1", 1),
    ("6k1/8/8/8/8/8/R7/1R4K1 w - - 0 1", 3),
    ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 3),
    ("8/8/8/8/8/6k1/1r6/r5K1 w - - 0 1", 0),
)


# --- alpha-beta in plain Python -------------------------------------------------------------------


def points(board: chess.Board) -> int:
    """What the material is worth to the side to move."""
    values = {chess.PAWN: 100, chess.KNIGHT: 310, chess.BISHOP: 330, chess.ROOK: 500}
    values |= {chess.QUEEN: 950, chess.KING: 0}
    total = sum(
        values[piece.piece_type] * (1 if piece.color == board.turn else -1)
        for piece in board.piece_map().values()
    )
    value = math.tanh(total / 400)
    win, loss = np.float32(0.5 * (1 + value)), np.float32(0.5 * (1 - value))
    return math.floor(10_000 * (float(win) - float(loss)) + 0.5)


def is_draw(board: chess.Board, ply: int) -> bool:
    """Whether the game is drawn, one repetition after the root being enough."""
    if board.halfmove_clock >= 100 or board.is_insufficient_material():
        return True
    earlier, same = board.copy(), 0
    key, back = earlier._transposition_key(), 0
    while earlier.move_stack and earlier.halfmove_clock > 0:
        earlier.pop()
        back += 1
        if earlier._transposition_key() == key:
            same += 1
            if back < ply:
                return True
    return same >= 2


def is_forcing(board: chess.Board, move: chess.Move) -> bool:
    """Whether a capture or a new queen loses nothing by exchanges."""
    if move.promotion not in (None, chess.QUEEN):
        return False
    if not board.is_capture(move) and move.promotion is None:
        return False
    ours = Board.from_chess(chess.Board(board.fen()))
    code = relative(ours.position, ours.parse(move.uci()))
    return int(exchange_value(ours.position, code)) >= 0


def negamax(
    board: chess.Board, depth: int, quiet: int, alpha: int = -MATE, beta: int = MATE, ply: int = 0
) -> int:
    """The value of a position with so many plies, and so many of quiescence."""
    moves = list(board.legal_moves)
    if not moves:
        return ply - MATE if board.is_check() else 0
    if ply and is_draw(board, ply):
        return 0
    best = -MATE
    if depth <= 0:
        if -depth >= quiet:
            return points(board)
        if not board.is_check():
            best = points(board)
            moves = [move for move in moves if is_forcing(board, move)]
    for move in moves:
        if best >= beta:
            break
        board.push(move)
        lowest = max(alpha, best)
        best = max(best, -negamax(board, depth - 1, quiet, -beta, -lowest, ply + 1))
        board.pop()
    return best


# --- the worker -----------------------------------------------------------------------------------


def new_worker(rows: int = 16, quiet: int = 0, **options: bool) -> Worker:
    options = {"asynchronous": False, **options}
    return Worker(MATERIAL, CALIBRATION, 4, rows, quiet_plies=quiet, **options)


def solve(worker: Worker, board: Board, depth: int) -> int:
    """The value of a position by iterations of passes."""
    worker.memory.clear_table()
    worker.set_root(board.positions(), None)
    places, value = list(range(len(worker.codes))), 0
    for plies in range(1, depth + 1):

        def run(bound: int, plies: int = plies) -> int | None:
            return worker.zero_window(bound, plies, places, lambda: False, 1 << 60)

        found = bisect(run, value)
        assert found is not None
        value = found
    return value


@pytest.mark.parametrize("fen", POSITIONS)
@pytest.mark.parametrize("tabled", [False, True])
def test_values_are_those_of_alpha_beta(fen: str, tabled: bool) -> None:
    depth = 2 if fen in POSITIONS[:2] else 3
    wanted = negamax(chess.Board(fen), depth, 0)
    assert solve(new_worker(tabled=tabled), Board(fen), depth) == wanted


@pytest.mark.parametrize("fen", POSITIONS[:4])
def test_values_with_quiescence_are_those_of_alpha_beta(fen: str) -> None:
    wanted = negamax(chess.Board(fen), 1, QUIET)
    assert solve(new_worker(quiet=QUIET, tabled=False), Board(fen), 1) == wanted


def test_chess960_castling_and_repetitions_before_the_root() -> None:
    fen = "1r2k1r1/8/8/8/8/8/8/1R2K1R1 w GBgb - 0 1"
    worker = new_worker(tabled=False)
    assert solve(worker, Board(fen, chess960=True), 2) == negamax(
        chess.Board(fen, chess960=True), 2, 0
    )
    board, other = (
        Board("7k/8/8/8/8/8/q7/6QK w - - 0 1"),
        chess.Board("7k/8/8/8/8/8/q7/6QK w - - 0 1"),
    )
    for move in ("g1b1", "a2g8", "b1g1", "g8a2", "g1b1", "a2g8", "b1g1"):
        board.push(move)
        other.push_uci(move)
    assert solve(worker, board, 2) == negamax(other, 2, 0)


def test_a_draw_takes_100_plies_not_50() -> None:
    """The original counted half-moves as moves."""
    queen = "7k/8/8/8/8/8/Q7/K7 w - - {} 80"
    worker = new_worker()
    assert solve(worker, Board(queen.format(60)), 2) > 9_000
    assert solve(worker, Board(queen.format(99)), 2) == 0


def test_the_table_and_known_order_save_nodes_and_staging_saves_questions() -> None:
    counts, asked = {}, {}
    for tabled in (False, True):
        worker = new_worker(tabled=tabled)
        solve(worker, Board(POSITIONS[2]), 4)
        counts[tabled], asked[tabled] = int(worker.record.created), worker.moves.evaluated
        assert (worker.record.cut > 0) == tabled
        assert 0 < worker.taken <= worker.steps * worker.rows
    assert counts[True] < counts[False]
    assert asked[True] < asked[False]


class Guide:
    """Scores moves by the material that is left after the best capture; values by material."""

    name, sees = "guide", MATERIAL.sees

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        MATERIAL.evaluate(leaves, out)
        positions = leaves.positions.view(np.recarray)
        for row in range(len(leaves.known)):
            for at in range(int(leaves.offsets[row]), int(leaves.offsets[row + 1])):
                gain = exchange_value(positions[row, 0], leaves.moves[at])
                out.logits[at] = float(gain) / 100


def test_a_network_that_knows_good_moves_saves_nodes() -> None:
    counts = []
    for ordered in (True, False):
        worker = Worker(
            Guide(), CALIBRATION, 4, 8, quiet_plies=0, ordered=ordered, asynchronous=False
        )
        solve(worker, Board(POSITIONS[1]), 2)
        counts.append(int(worker.record.created))
        assert ordered or worker.moves.evaluated == 0
    assert counts[0] < counts[1]


class Waiting:
    """Values positions only after the moves of the same step have been listed."""

    name, sees = "waiting", MATERIAL.sees

    def __init__(self) -> None:
        self.listed, self.changed, self.in_time = 0, threading.Condition(), True
        self.worker: Worker | None = None

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        worker = self.worker
        if worker is not None:
            with self.changed:
                step = worker.steps
                self.in_time &= self.changed.wait_for(lambda: self.listed >= step, timeout=60)
        MATERIAL.evaluate(leaves, out)


def test_moves_are_listed_while_positions_are_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    values = Waiting()
    worker = Worker(Pair(values, UNIFORM), CALIBRATION, 4, 16, quiet_plies=0)

    def told(*arguments: Any) -> None:
        list_moves(*arguments)
        with values.changed:
            values.listed = worker.steps
            values.changed.notify_all()

    monkeypatch.setattr("kibitz.search.bestfirst.worker.list_moves", told)
    worker.set_root(Board().positions(), None)
    values.worker = worker
    places = list(range(len(worker.codes)))
    assert worker.zero_window(0, 2, places, lambda: False, 1 << 60) is not None
    assert values.in_time
    assert worker.values.evaluated > 0
    worker.close()


def test_a_pair_is_asked_by_halves_and_shares_a_cache() -> None:
    pair, leaves = Pair(MATERIAL, Guide()), random_leaves(20)
    assert roles_of(pair) == (pair.value, pair.policy)
    both = evaluated(pair, leaves)
    roles = roles_of(CachedEvaluator(pair, PredictionCache(1 << 20)))
    for _ in range(2):  # the second time from the cache
        assert np.allclose(evaluated(roles.values, leaves).wdl, both.wdl, atol=1e-3)
        kept = Pair(MATERIAL, roles.moves)
        wanted, found = (np.exp(move_scores(one, leaves)) for one in (pair, kept))
        assert np.allclose(found, wanted, atol=0.01)


# --- calibration ----------------------------------------------------------------------------------


def test_calibration_makes_draws_even_and_bins_alike(tmp_path: Path) -> None:
    leaves, draws = random_leaves(60), random_leaves(40, seed=2)
    found = calibrate(Pair(MATERIAL, Guide()), leaves, draws)
    scores = move_scores(Pair(MATERIAL, Guide()), leaves)
    distances = np.abs(scores - scores.mean())
    assert found.mean == pytest.approx(scores.mean())
    wanted = np.percentile(distances, np.arange(5000) * 0.02)[::-1]
    assert np.allclose(found.boundaries, wanted)
    values = 10_000 * values_of(evaluated(MATERIAL, draws).wdl)
    assert abs(float(np.mean(values - found.shift))) < 0.01
    file = tmp_path / "bins.json"
    write_calibration(file, found)
    again = read_calibration(file)
    assert again[:2] == found[:2]
    assert np.array_equal(again.boundaries, found.boundaries)
    assert again.network == found.network == f"{MATERIAL.name} with {Guide.name}"


def test_the_shift_is_taken_from_every_evaluation() -> None:
    shifted = Calibration(-3.0, 250.0, CALIBRATION.boundaries)
    worker = Worker(UNIFORM, shifted, 4, 16, quiet_plies=0, asynchronous=False)
    assert solve(worker, Board(), 1) == 250  # the opponent's view of it


# --- the search that engines see ------------------------------------------------------------------


@pytest.fixture(scope="module")
def search() -> Iterator[BestFirst]:
    settings = Settings().with_(hash=8, multipv=2)
    found = BestFirst(inline_evaluator(Material()), settings)
    yield found
    found.close()


@pytest.mark.parametrize(("fen", "plies"), MATES)
def test_mates_have_their_distance(search: BestFirst, fen: str, plies: int) -> None:
    search.new_game()
    result = search.search(Board(fen), Limits(depth=5))
    assert str(result.report.best.score) == f"mate {(plies + 1) // 2}"
    assert len(result.report.best.moves) == plies
    board = Board(fen)
    for move in result.report.best.moves:
        board.push(move)
    assert board.is_check()
    assert not board.legal_moves


def test_a_reply_that_repeats_the_game_is_seen_past_the_table(search: BestFirst) -> None:
    game = Board("8/8/8/5k2/3K4/8/8/7R w - - 0 1")
    for _ in range(2):
        for move in ("h1h2", "f5g5", "h2h1", "g5f5")[: 2 if game.ply else 4]:
            game.push(move)
    search.new_game()
    only = Limits(depth=4, searchmoves=("h2h1",))
    fresh = search.search(game.copy(history=False), only).report  # fills the table
    assert fresh.best.value > 0.2
    repeated = search.search(game, only).report
    assert repeated.best.value == 0


def test_who_is_mated_holds_out(search: BestFirst) -> None:
    search.new_game()
    result = search.search(Board("7k/8/5K2/8/8/8/8/6Q1 b - - 0 1"), Limits(depth=4))
    assert str(result.report.best.score) == "mate -1"


def test_go_mate_is_exact(search: BestFirst) -> None:
    fen = "6k1/8/8/8/8/8/R7/1R4K1 w - - 0 1"
    found = search.search(Board(fen), Limits(mate=2)).report
    assert str(found.best.score) == "mate 2"
    assert found.no_mate == 0
    none = search.search(Board(fen), Limits(mate=1))
    assert none.report.no_mate == 1
    assert none.move is not None


def test_limits_reports_and_two_lines(search: BestFirst) -> None:
    reports: list[Report] = []
    search.new_game()
    by_nodes = search.search(Board(MIDDLEGAME), Limits(nodes=1500))
    assert by_nodes.report.nodes == 1500
    search.new_game()
    by_depth = search.search(Board(MIDDLEGAME), Limits(depth=2), reports.append)
    report = by_depth.report
    assert report.depth == 2
    assert [one.depth for one in reports[-3:]] == [1, 2, 2]
    first, second = report.lines
    assert first.value >= second.value
    assert first.moves[0] != second.moves[0]
    assert sum(row.visits for row in report.moves) == report.nodes
    assert {row.move for row in report.moves} == set(Board(MIDDLEGAME).legal_moves)
    assert any("passes" in note and "batches" in note for note in report.notes)


def test_a_cut_iteration_leaves_no_score_beside_another_line(search: BestFirst) -> None:
    mated = 0
    for nodes in range(1000, 12_000, 500):
        search.new_game()
        board = Board("4R3/8/7R/8/8/4K3/6k1/8 b - - 0 1")
        line = search.search(board, Limits(nodes=nodes)).report.best
        for move in line.moves:
            board.push(move)
        ends = board.is_check() and not board.legal_moves
        assert line.score.kind == "mate" or not ends
        mated += line.score.kind == "mate"
    assert mated


def test_a_temperature_draws_the_move_and_a_mate_is_played() -> None:
    for seed, settings in ((0, {}), (1, {"temperature": 1.0})):
        drawn = Settings().with_(hash=8, seed=seed, **settings)
        with BestFirst(inline_evaluator(Material()), drawn) as found:
            moves = {found.search(Board(MIDDLEGAME), Limits(nodes=200)).move for _ in range(12)}
            assert (len(moves) > 2) == bool(settings)
            mate = found.search(Board(MATES[0][0]), Limits(depth=5))
            assert mate.move == mate.report.best.moves[0]


FREE_QUEEN = "r1b1kbnr/pppp1ppp/2n5/4p1q1/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 0 4"


@pytest.mark.slow
def test_a_temperature_leaves_no_queen_on_the_board() -> None:
    """The move is drawn by its value, not by the nodes that it took to refute it."""
    for nodes in (500, 3000, 8000):
        settings = Settings(hash=8, seed=1, temperature=1.0)
        with BestFirst(inline_evaluator(Material()), settings) as found:
            moves = [found.search(Board(FREE_QUEEN), Limits(nodes=nodes)).move for _ in range(20)]
        assert [str(move) for move in moves].count("f3g5") >= 18


def test_the_lines_found_before_a_limit_count_and_stand_in_order() -> None:
    with BestFirst(inline_evaluator(Material()), Settings(hash=8, multipv=40)) as found:
        for nodes in range(100, 3000, 100):
            lines = found.search(Board(FREE_QUEEN), Limits(nodes=nodes)).report.lines
            values = [line.value for line in lines]
            assert values == sorted(values, reverse=True), nodes
            assert nodes < 300 or str(lines[0].moves[0]) == "f3g5", nodes


def test_searches_repeat_themselves(search: BestFirst) -> None:
    found = []
    for _ in range(2):
        search.new_game()
        report = search.search(Board(MIDDLEGAME), Limits(nodes=3000)).report
        found.append((report.lines, report.moves, report.depth))
    assert found[0] == found[1]


def test_only_the_asked_moves_are_searched_and_stop_leaves_a_legal_one(search: BestFirst) -> None:
    asked = ("a2a3", "h2h3")
    result = search.search(Board(START), Limits(depth=2, searchmoves=asked))
    assert {str(row.move) for row in result.report.moves} == set(asked)
    stopped = Signals()
    stopped.stop.set()
    result = search.search(Board(START), Limits(infinite=True), signals=stopped)
    assert result.move in Board(START).legal_moves
    over = search.search(Board("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), Limits(depth=2))
    assert over.move is None
    assert str(over.report.best.score) == "cp 0"


def test_settings_that_need_memory_need_a_new_search(search: BestFirst) -> None:
    assert search.update_settings(search.settings.with_(move_overhead=60))
    assert not search.update_settings(search.settings.with_(bestfirst_quiet=2))


def test_rough_bins_are_there_without_a_file() -> None:
    assert len(rough_calibration(MATERIAL).boundaries) == 5000
