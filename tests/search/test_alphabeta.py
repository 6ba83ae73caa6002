"""Alpha-beta against plain minimax, mates by trying all moves, and what every search promises."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from kibitz import Board, Engine
from kibitz.apps.web.watch import row_of
from kibitz.arena.bench.search import alphabeta_signature
from kibitz.jit.compile import COMPILED
from kibitz.jit.records import one_record
from kibitz.nets.evaluators.inline import Material, inline_evaluator
from kibitz.position.attacks import square_name
from kibitz.position.moves import MAX_MOVES, NO_MOVE, origin_of
from kibitz.position.notation import legal_codes
from kibitz.search.alphabeta.constants import FADE_PLIES, MOST_CERTAIN, ODDS_SCALE
from kibitz.search.alphabeta.order import (
    GOOD_CAPTURE,
    TT_MOVE,
    UNDERPROMOTION,
    continuation_index,
    generate_moves,
    next_move,
    note_attacks,
    pick_best,
    quiet_score,
    reward_by_eval,
)
from kibitz.search.alphabeta.searcher import AlphaBeta, proof_of
from kibitz.search.alphabeta.table import new_table
from kibitz.search.alphabeta.thread import (
    FRAME,
    FRAMES_BEFORE,
    MATE,
    NO_CONTINUATION,
    NO_EVAL,
    TABLE,
    ThreadMemory,
)
from kibitz.search.limits import Limits, Signals
from kibitz.search.mate import MateSearch
from kibitz.search.options import Settings
from kibitz.search.proof import TABLEBASE
from kibitz.search.report import Report
from kibitz.uci.format import verbose_lines

pytestmark = pytest.mark.skipif(not COMPILED, reason="too slow as plain Python")

SIGNATURE = "3fb94a1b"  # of `kibitz bench search`
# The page's columns, in the order of engine.js.
KEYS = [
    "uci",
    "san",
    "visits",
    "pending",
    "prior",
    "value",
    "draw",
    "deviation",
    "bonus",
    "score",
    "raw",
    "proof",
]
EVALUATOR = inline_evaluator(Material())
SMALL = Settings(hash=1)
SHARP = (  # a later line of several comes out better than the first
    "3q1rk1/4bp1p/1n2P2Q/3p1p2/6r1/Pp2R2N/1B4PP/7K w - - 0 1",
    "rnbqkb1r/pppp1ppp/8/4P3/6n1/7P/PPPNPPP1/R1BQKBNR b KQkq - 0 1",
    "b2b1r1k/3R1ppp/4qP2/4p1PQ/4P3/5B2/4N1K1/8 w - - 0 1",
)
LOSING = (  # the reply that is looked at first is mated sooner than the best one
    "Q7/8/5pp1/6k1/6p1/6K1/8/8 b - - 0 1",
    "kr6/1p2p3/1K6/6p1/7p/8/5nr1/1Q6 b - - 0 1",
    "B2B4/8/p4N2/1pP5/1k1N1p2/1P2b3/K1n1P3/8 b - - 0 1",
    "4r1n1/1r5p/p1R3pN/2Ppk1K1/3p1Np1/3P2R1/P2B1p2/3q1B1b b - - 0 1",
    "8/5p2/3N4/2Pp1P2/BBpk1Pp1/2p2pP1/2p2K2/2N5 b - - 0 1",
)
WORTH = {1: 100, 2: 310, 3: 330, 4: 500, 5: 950}


@pytest.fixture(scope="module")
def full() -> Iterator[AlphaBeta]:
    with AlphaBeta(EVALUATOR, SMALL) as search:
        yield search


# --- plain minimax --------------------------------------------------------------------------------


def evaluation(board: chess.Board) -> int:
    """What the kernels make of material, less as the 50-move rule comes nearer."""
    counts = {
        piece: len(board.pieces(piece, board.turn)) - len(board.pieces(piece, not board.turn))
        for piece in WORTH
    }
    value = math.tanh(sum(WORTH[piece] * count for piece, count in counts.items()) / 400.0)
    value = min(max(value, -MOST_CERTAIN), MOST_CERTAIN)
    raw = int(ODDS_SCALE * math.log((1 + value) / (1 - value)))
    return raw * (FADE_PLIES - min(board.halfmove_clock, 100)) // FADE_PLIES


def is_draw(board: chess.Board, ply: int) -> bool:
    """The house's rule: once is enough after the root, else a position must occur three times."""
    if board.is_insufficient_material():
        return True
    if board.halfmove_clock >= 100 and not board.is_checkmate():
        return True
    past, key, distances = board.copy(), board._transposition_key(), []
    for distance in range(1, len(board.move_stack) + 1):
        past.pop()
        if past._transposition_key() == key:
            distances.append(distance)
    return any(distance < ply for distance in distances) or len(distances) > 1


def minimax(board: chess.Board, depth: int, ply: int = 0) -> int:
    """The exact score of a position, by trying everything."""
    if ply and is_draw(board, ply):
        return 0
    if depth == 0:
        return evaluation(board)
    best = -MATE - 1
    for move in board.legal_moves:
        board.push(move)
        best = max(best, -minimax(board, depth - 1, ply + 1))
        board.pop()
    if best < -MATE:
        return ply - MATE if board.is_check() else 0
    return best


POSITIONS = [
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", "", 2),
    ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", "", 3),
    ("8/P5k1/8/8/8/8/6pp/1K6 b - - 0 1", "", 4),
    ("6k1/5ppp/8/8/8/8/5PPP/3RR1K1 w - - 98 80", "", 3),  # mate before the 50-move rule
    ("k7/8/1K6/8/8/8/8/7R w - - 96 80", "", 4),
    ("7k/8/5K2/6Q1/8/8/8/8 b - - 0 1", "", 4),  # stalemates and mates
    ("8/8/8/8/5k2/8/r6q/K7 w - - 0 1", "", 3),
    ("4k3/8/8/3pP3/8/8/8/4K2R w K d6 0 1", "", 3),
]
# Rook and king go to and fro: what occurred twice is a draw when it comes once more.
TO_AND_FRO = ("6k1/8/8/8/8/r7/8/4K2R w - - 10 40", "e1f1 g8g7 f1e1 g7g8 e1f1 g8g7 f1e1", 4)


@pytest.mark.parametrize(
    ("fen", "moves", "depth"), [*POSITIONS, pytest.param(*TO_AND_FRO, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("parts", [0, TABLE])
def test_equal_to_plain_minimax(fen: str, moves: str, depth: int, parts: int) -> None:
    board, oracle = Board(fen, moves.split()), chess.Board(fen)
    for move in moves.split():
        oracle.push_uci(move)
    with AlphaBeta(EVALUATOR, SMALL, parts) as search:
        search.search(board, Limits(depth=depth))
        assert int(search.workers[0].roots["previous_score"][0]) == minimax(oracle, depth)


def test_lines_lead_to_their_scores() -> None:
    board = Board(POSITIONS[0][0])
    with AlphaBeta(EVALUATOR, SMALL.with_(multipv=3), parts=0) as search:
        report = search.search(board, Limits(depth=3)).report
        for line, root in zip(report.lines, search.workers[0].roots, strict=False):
            end = board.copy()
            for move in line.moves:
                end.push(move)
            assert len(line.moves) == 3
            assert -evaluation(end.to_chess()) == int(root["previous_score"])
        values = [line.value for line in report.lines]
        assert values == sorted(values, reverse=True)


# --- mates ----------------------------------------------------------------------------------------

MATES = [
    "6rk/6pp/8/6N1/8/8/8/K7 w - - 0 1",
    "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
    "2k5/8/2K5/8/8/8/8/5R2 w - - 0 1",
    "8/8/8/8/8/1k6/7q/K7 b - - 0 1",
    "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1",  # Morphy's mate in two
]


@pytest.mark.parametrize("fen", MATES)
def test_mates_have_their_exact_length(full: AlphaBeta, fen: str) -> None:
    board = Board(fen)
    tried = MateSearch(board, [int(code) for code in codes_of(board)])
    assert tried.deepen(9, 10**7, lambda: False)
    full.new_game()
    report = full.search(board, Limits(depth=24)).report
    assert tried.mate is not None
    assert report.root.proof == tried.mate.plies
    end = board.copy()
    for move in report.best.moves:
        end.push(move)
    assert end.outcome() is not None
    assert len(report.best.moves) == tried.mate.plies


def codes_of(board: Board) -> list[int]:
    codes: list[int] = legal_codes(board.position).tolist()
    return codes


def test_go_mate(full: AlphaBeta) -> None:
    board = Board(MATES[-1])
    full.new_game()
    assert str(full.search(board, Limits(mate=2)).report.best.score) == "mate 2"
    full.new_game()
    assert full.search(board, Limits(mate=1)).report.no_mate == 1


def test_proofs_of_scores() -> None:
    assert [proof_of(score) for score in (0, MATE - 1, MATE - 3, 2 - MATE)] == [0, 1, 3, -2]


# --- what every search promises -------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [1, 2, 255, 256, 257, 5_000])
def test_the_limit_of_nodes_is_exact(full: AlphaBeta, nodes: int) -> None:
    full.new_game()
    result = full.search(Board(), Limits(nodes=nodes))
    assert result.report.nodes == nodes
    assert abs(result.report.best.value) < 0.5
    assert result.move in Board().legal_moves


def test_one_thread_repeats_itself(full: AlphaBeta) -> None:
    found = []
    for _ in range(2):
        full.new_game()
        report = full.search(Board(POSITIONS[0][0]), Limits(nodes=20_000)).report
        found.append([(row.code, row.visits, row.value) for row in report.moves])
    assert found[0] == found[1]


def test_the_signature_of_the_search() -> None:
    """A change that is meant to leave the search as it is keeps it; another one says so here."""
    assert alphabeta_signature() == SIGNATURE


@pytest.mark.parametrize("count", [1, 15, 16, 17, 64, 218])
def test_the_best_move_is_picked_and_of_equal_ones_the_first(count: int) -> None:
    generator = np.random.default_rng(count)
    frame, moves = one_record(FRAME), generator.permutation(MAX_MOVES)
    scores = generator.choice([TT_MOVE, GOOD_CAPTURE, 7, 0, -3, UNDERPROMOTION], MAX_MOVES)
    frame.moves[:], frame.scores[:] = moves, scores
    left = [*zip(scores[:count].tolist(), moves.tolist(), strict=False)]
    for index in range(count):
        best = max(range(len(left)), key=lambda place: left[place][0])
        assert pick_best(frame, index, count) == left[best][1]
        assert (frame.scores[index], frame.moves[index]) == left[best]
        left[best] = left[0]
        del left[0]
    assert np.array_equal(frame.moves[count:], moves[count:])


def at_root(fen: str) -> tuple[ThreadMemory, Any, Any]:
    """The memory of a thread that begins with a position, that position, and its frame."""
    memory = ThreadMemory(new_table(1))
    board = Board(fen)
    memory.set_line(board.positions(), legal_codes(board.position).tolist(), complete=True)
    frame = memory.frames.view(np.recarray)[FRAMES_BEFORE]
    note_attacks(frame, board.position)
    return memory, board.position, frame


@pytest.mark.parametrize(
    ("fen", "first"),
    [
        ("3rr1k1/5ppp/8/8/3Q4/8/5PPP/6K1 w - - 0 1", "d4"),  # a queen, which a rook attacks
        ("3qr1k1/5ppp/8/8/3Q4/8/5PPP/6K1 w - - 0 1", None),  # not its like
        ("1b4k1/p4ppp/8/4R3/8/8/5PPP/6K1 w - - 0 1", "e5"),  # a rook, which a bishop attacks
        ("1q4k1/p4ppp/8/4R3/8/8/5PPP/6K1 w - - 0 1", None),
        ("6k1/2p2ppp/3p4/4N3/8/8/5PPP/6K1 w - - 0 1", "e5"),  # a knight, which a pawn attacks
        ("6k1/2p2ppp/3b4/4N3/8/8/5PPP/6K1 w - - 0 1", None),
    ],
)
def test_what_lesser_pieces_attack_moves_early(fen: str, first: str | None) -> None:
    memory, position, frame = at_root(fen)
    count = generate_moves(frame, position, NO_MOVE)
    order = [next_move(memory.record, frame, position, 0, index, count) for index in range(count)]
    quiet = [
        (square_name(origin_of(move)), int(frame.scores[index]))
        for index, move in enumerate(order)
        if abs(int(frame.scores[index])) < GOOD_CAPTURE // 2
    ]
    assert (quiet[0] if quiet[0][1] > 0 else (None, 0))[0] == first
    left = [score for square, score in quiet if square == first and score > 0]
    assert len(left) > 2 or first is None


def test_a_quiet_move_gains_by_the_evaluation_of_what_it_leads_to() -> None:
    memory, position, frame = at_root("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1")
    record, below = memory.record, memory.frames.view(np.recarray)[FRAMES_BEFORE + 1]
    move = next(
        code for code in legal_codes(position).tolist() if square_name(origin_of(code)) == "d1"
    )
    index = continuation_index(position, move)
    frame.move, frame.continuation_index, frame.static_eval = move, index, 20

    def history(after: int) -> int:
        memory.forget()
        below.static_eval = after
        reward_by_eval(record, 1)
        return int(quiet_score(record, position, 0, move, index))

    assert history(-50) > 0 > history(30)  # 30 better for the mover, 50 worse
    assert history(-20) == 0
    assert history(-500) == history(-5_000)  # so much at most
    frame.static_eval = NO_EVAL  # in check
    assert history(-50) == 0
    frame.static_eval, frame.continuation_index = 20, NO_CONTINUATION  # a null move
    assert history(-50) == 0


@pytest.mark.parametrize(("best", "percent"), [(100, 70), (50, 130), (0, 190)])
def test_a_move_in_doubt_is_worth_more_time(full: AlphaBeta, best: int, percent: float) -> None:
    full.search(Board(), Limits(depth=1))
    worker = full.workers[0]
    worker.roots["nodes"] = 0
    worker.roots["nodes"][:2] = best, 100 - best
    assert full.time_for(worker) == percent


def test_two_threads_keep_the_limit() -> None:
    with AlphaBeta(EVALUATOR, SMALL.with_(threads=2)) as search:
        assert search.search(Board(), Limits(nodes=30_000)).report.nodes <= 30_000
        assert search.search(Board(), Limits(depth=7)).report.depth >= 7


@pytest.mark.parametrize("limits", [Limits(depth=5), Limits(depth=6), Limits(nodes=6_000)])
def test_lines_are_sorted_and_the_first_is_played(limits: Limits) -> None:
    with AlphaBeta(EVALUATOR, SMALL.with_(multipv=4)) as search:
        for fen in SHARP:
            search.new_game()
            result = search.search(Board(fen), limits)
            values = [line.value for line in result.report.lines[:4]]
            assert values == sorted(values, reverse=True)
            scores = [line.score.amount for line in result.report.lines]
            assert scores == sorted(scores, reverse=True)
            assert result.move == result.report.lines[0].moves[0]


def test_no_line_counts_a_piece_as_won_that_a_late_reply_saves() -> None:
    board = Board("r1b1kbnr/pppp1ppp/2n5/4p1q1/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 0 4")
    with AlphaBeta(EVALUATOR, SMALL.with_(multipv=5)) as search:
        for depth in range(2, 8):
            search.new_game()
            first, *others = search.search(board, Limits(depth=depth)).report.lines
            assert str(first.moves[0]) == "f3g5"  # takes the queen, which may go away
            assert max(line.score.amount for line in others) < 50


def test_a_cut_iteration_leaves_no_score_beside_another_line() -> None:
    board = Board("rn1q1b1r/pppkpnp1/3p1p2/1N4Pp/3P2bP/8/PPPQPP2/R3KBNR w KQ - 1 9")
    with Engine("kibitz-256x256", search="alphabeta", hash=1, multipv=3) as engine:
        for nodes in range(300, 1500, 50):
            engine.new_game()
            values = [line.value for line in engine.play(board, nodes=nodes).report.lines]
            assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("lines", [1, 2, 60])
def test_a_cut_iteration_claims_no_mate_while_a_reply_is_untried(
    lines: int,
) -> None:
    claimed = 0
    with AlphaBeta(EVALUATOR, SMALL.with_(multipv=lines)) as search:
        for fen in LOSING:
            board = Board(fen)
            longest = plies_to_mate(board)
            for nodes in range(20, 800, 20):
                search.new_game()
                result = search.search(board, Limits(nodes=nodes))
                best = result.report.best
                assert best.moves[0] == result.move
                if best.score.kind == "mate":
                    assert longest <= -2 * best.score.amount, (fen, nodes, best)
                    claimed += 1
    assert claimed > 10


def plies_to_mate(board: Board) -> int:
    """Until the side to move is mated with the best defence; a thousand if it takes more than 8."""
    longest = 0
    for move in board.legal_moves:
        after = board.copy()
        after.push(move)
        tried = MateSearch(after, codes_of(after))
        assert tried.deepen(7, 10**7, lambda: False)
        longest = max(longest, tried.mate.plies + 1 if tried.mate else 1_000)
    return longest


def test_hash_is_exact() -> None:
    with AlphaBeta(EVALUATOR, Settings(hash=3)) as search:
        assert search.entries.nbytes == 3 << 20


@pytest.mark.parametrize("number", [0, 518, 959])
def test_games_of_chess960_are_legal(full: AlphaBeta, number: int) -> None:
    board = Board.start960(number)
    full.new_game()
    while board.outcome(claim=True) is None and board.ply < 60:
        result = full.search(board, Limits(nodes=300))
        line = board.copy()
        for move in result.report.best.moves:
            line.push(move)  # raises if it is not legal
        assert result.move is not None
        board.push(result.move)


def test_only_the_moves_asked_for(full: AlphaBeta) -> None:
    found = full.search(Board(), Limits(nodes=500, searchmoves=("a2a3", "Nh3")))
    assert {row.move.uci() for row in found.report.moves} == {"a2a3", "g1h3"}
    assert found.move is not None


def test_games_that_are_over(full: AlphaBeta) -> None:
    mated = full.search(Board("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"), Limits(nodes=10))
    assert (mated.move, str(mated.report.best.score)) == (None, "mate 0")
    stalemate = full.search(Board("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), Limits(nodes=10))
    assert (stalemate.move, str(stalemate.report.best.score)) == (None, "cp 0")


def test_a_stop_before_it_begins(full: AlphaBeta) -> None:
    signals = Signals()
    signals.stop.set()
    result = full.search(Board(), Limits(infinite=True), signals=signals)
    assert result.move in Board().legal_moves
    hanging = Board("3q1rk1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1")
    result = full.search(hanging, Limits(infinite=True), signals=signals)
    assert str(result.move) == "d1d8"
    assert result.report.depth >= 1


def test_a_temperature_draws_moves_by_their_scores() -> None:
    board, settings = Board(), SMALL.with_(temperature=5.0)
    found = set()
    for seed in range(4):
        with AlphaBeta(EVALUATOR, settings.with_(seed=seed)) as search:
            found.add(search.search(board, Limits(depth=3)).move)
    assert len(found) > 1
    with AlphaBeta(EVALUATOR, settings) as search:
        mate = search.search(Board(MATES[0]), Limits(depth=2))
        assert str(mate.report.best.score) == "mate 1"
        assert mate.move == mate.report.best.moves[0]


def test_pondering_goes_on_until_the_expected_move_comes() -> None:
    with Engine("material", search="alphabeta", hash=1) as engine:
        search = engine.begin(Board(), Limits(wtime=1, btime=1, ponder=True))

        def listen(report: Report) -> None:
            if report.depth >= 5:
                search.ponderhit()

        assert search.run(listen).report.depth >= 5


# --- tablebases -----------------------------------------------------------------------------------

SYZYGY = Path(__file__).parents[1] / "fixtures" / "syzygy"


def test_tables_decide_a_root_that_they_know() -> None:
    settings = SMALL.with_(syzygy_path=str(SYZYGY))
    with AlphaBeta(EVALUATOR, settings) as search:
        board = Board("8/8/8/8/8/2k5/4P3/4K3 w - - 0 1")
        result = search.search(board, Limits(nodes=1_000))
        assert result.report.tbhits > 0
        assert result.report.nodes == 0
        assert result.report.root.proof == TABLEBASE
        limits = Limits(nodes=1_000, mate=1)
        assert search.search(board, limits).report.no_mate == 1


def test_tables_answer_inside_the_search() -> None:
    board = Board("8/8/8/8/8/2k5/3pP3/4K3 w - - 0 1")  # four men, one of which can be taken
    settings = SMALL.with_(syzygy_path=str(SYZYGY), syzygy_share=1.0)
    with AlphaBeta(EVALUATOR, settings) as search:
        assert search.search(board, Limits(nodes=200_000)).report.tbhits > 0


def test_an_engine_plays_by_it() -> None:
    reports: list[Report] = []
    with Engine("material", search="alphabeta", hash=1, cpuct=2.0) as engine:
        found = engine.begin(Board(), Limits(depth=4)).run(reports.append)
        assert found.report.depth == 4
        assert reports[-1] == found.report
        assert engine.problems == ["CPuct has no effect with Search alphabeta"]
        engine.configure(search="mcts")
        assert engine.play(Board(), nodes=10).report.nodes == 10


def test_moves_without_a_score_show_none_in_lines_and_on_the_page() -> None:
    board = Board()
    with AlphaBeta(EVALUATOR, SMALL) as search:
        report = search.search(board, Limits(depth=4)).report
    without = [row for row in report.moves if not row.scored]
    assert 0 < len(without) < len(report.moves)
    lines = verbose_lines(report)
    for row in without:
        [line] = [line for line in lines if line.startswith(f"{row.move.uci()} ")]
        assert "(WL:  -.-----) (D: -.---)" in line
        cells = row_of(board, row)
        assert {cells[KEYS.index(key)] for key in ("value", "draw", "score")} == {None}
    assert None not in row_of(board, report.moves[0])[: KEYS.index("score") + 1]
