"""Every claim has a move of which it is true, and one that looks alike and of which it is false."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import chess
import pytest

from kibitz.comment import claims
from kibitz.comment.analysis import Analysis
from kibitz.comment.claims import cover, endings, grades, ideas
from kibitz.comment.claims import faults as fault
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import positional as changed
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import Claim, Judged, Step, net
from kibitz.comment.claims.features import Feature
from kibitz.comment.claims.grades import Grade
from kibitz.comment.claims.lines import aftermath, outcomes, outlook
from kibitz.comment.claims.lines.point import WinsBy
from kibitz.comment.claims.sacrifices import GivesUp
from kibitz.comment.claims.tempo import Triangle
from kibitz.comment.facts import Scene, Unit, captured_by, exposure
from kibitz.comment.judge import Evaluation, Label
from kibitz.comment.select.rank import LEVELS, Level, Memory, is_confirmed, kind_of
from kibitz.comment.select.reasons import reasons
from kibitz.comment.select.selection import select
from kibitz.comment.words.speaker import Speaker
from kibitz.search.report import Score
from tests.comment.looks import judged_by, seen_by

TABLES = Path(__file__).parent.parent / "fixtures" / "syzygy"
ANALYSIS = judged_by(TABLES)
LETTERS = dict(zip("PNBRQK", range(1, 7), strict=True))


def unit(text: str) -> Unit:
    """A piece on its square, a small letter for Black's: Nd5, pe7."""
    return Unit(LETTERS[text[0].upper()], chess.parse_square(text[1:]), text[0].isupper())


def seen(value: float, *moves: str, mate: int = 0, second: float | None = None) -> Evaluation:
    """What a search has seen, for the side to move."""
    line = tuple(map(chess.Move.from_uci, moves))
    chances = max(-0.99, min(0.99, value))
    score = Score("mate", mate) if mate else Score("cp", round(543 * math.atanh(chances)))
    return Evaluation(score, value, line, second)


def scene(
    fen: str, line: str, had: Evaluation | None = None, has: Evaluation | None = None
) -> Scene:
    """A move and those after it; moves in brackets were made before."""
    board, last, took = chess.Board(fen), None, None
    earlier, _, line = line.rpartition(") ")
    for san in earlier[1:].split():
        last = board.parse_san(san)
        took = captured_by(board, last)
        board.push(last)
    after = board.copy()
    moves = [after.push_san(san) for san in line.split()]
    kind = took.kind if took else None
    return Scene(board, moves[0], tuple(moves[1:]), ANALYSIS, last, kind, had, has)


def step(move: str) -> Step:
    """A move; how it is written proves nothing."""
    return Step(chess.Move.from_uci(move), move)


TWO_TRADES = "r3k2r/1pq2ppp/p1pb1nb1/2npp1B1/P6N/1N1P2P1/1PPQPPBP/R4RK1 w kq - 2 12"
TWICE = "Nxc5 Bxc5 Bxf6 gxf6 b4 Bd4 c3 Ba7 Bh3 h6"
TRAPPED, LOOSE = "6k1/8/8/8/8/8/bPP4P/R1K5 w - - 0 1", "4k3/8/8/3q4/8/8/3R4/4K3 w - - 0 1"
GUARDED = "4k3/8/8/r3N3/8/8/8/4R1K1 w - - 0 1"
HUNG, EN_PRISE = "4k3/8/8/r3N3/8/8/8/4K3 w - - 0 1", "4k3/8/2p5/8/8/2N5/8/4K3 w - - 0 1"
KNIGHTS, BACK_RANK = "4k3/2n5/8/8/8/2N5/8/4K3 w - - 0 1", "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
PARIS = "4kb1r/p2n1ppp/4q3/4p1B1/4P3/1Q6/PPP2PPP/2KR4 w k - 0 16"
PROP = "7r/p7/b7/4kp1p/2pp4/3n2P1/PP1R1P2/1R3BK1 w - - 0 1"
MARCH = "8/r7/7P/4kp2/P1Rp4/5K2/5P2/8 b - - 0 1"
SHUT = "r4k1r/1p3p1p/p2p2p1/3PbqB1/Q7/8/PP3PPP/R4RK1 w - - 0 1"
LAST_QUEENS = "8/6pk/1p5p/3q1p2/1P3P2/2Q4P/6PK/8 w - - 0 1"
LAST_ROOKS = "8/prk2p2/2p3p1/2Pp2K1/3P1P2/5P2/8/1R6 w - - 0 1"
OPPOSITE = "8/pb3p1k/1p3Bpp/2p5/2P2QP1/5q2/7P/4K3 w - - 0 1"
SHOT = "r2qk2r/p2nb1pp/1p3p1n/2pPp3/2P5/3PB3/PP1N2PP/R2QKB1R w KQkq - 0 13"
PASSED, RUNS = "4k3/8/2p5/3P4/8/8/8/4K3 w - - 0 1", "4k3/8/8/3P4/8/8/8/4K3 w - - 0 1"
SHELTER = "5rk1/5ppp/8/8/8/6q1/5PPP/3Q1RK1 w - - 0 1"
OUT_AND_BACK = "rnbqkb1r/pppppppp/5n2/8/3P1B2/2N5/PPP1PPPP/R2QKBNR w KQkq - 3 2"
CORNER = "r2qkbnr/pp3ppp/4p3/3pN3/6Q1/2N4P/PP2KPP1/n1B4R w kq - 0 12"
TO_CORNER = "Qa4+ Ke7 Qb4+ Qd6 Qxb7+ Ke8"
INTO_PIN = "4r1k1/3p4/8/8/8/3B4/8/4Q1K1 w - - 0 1"
TWO_FOR_ROOK = "r1bq1rk1/pppp1ppp/2n5/2b1p3/P1B1P1n1/2PP1N2/1P3PPP/RNBQ1RK1 b - - 2 7"
SPENT = "4k3/5p2/6n1/8/8/8/8/4K1R1 w - - 0 1"
COME_OUT = "rnbqkbnr/ppp2ppp/3p4/4p3/3PP3/8/PPP2PPP/RNBQKBNR b KQkq - 0 2"
FOOL = "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 2"
DISCOVERS = "4k3/8/8/8/4N3/8/8/4RK2 w - - 0 1"
BISHOP = "4k3/8/2n5/8/8/8/8/4KB2 w - - 0 1"
ROOKS = "1r5r/1R3pk1/4R3/5P2/2p5/2Pn1K2/7p/7N w - - 4 38"
QUEENS = "6k1/p6p/2p3pB/3q4/3b4/P4QP1/1r5P/5R1K w - - 0 28"
CHECKS = "7Q/4k1p1/p7/4r3/8/3q1b2/1P3PPP/R4RK1 w - - 0 39"
PAWN = "8/8/8/6p1/5N2/3p3P/5kP1/3K4 b - - 0 56"
DRAWN = "8/8/5k2/5pnp/8/5NKP/6P1/8 w - - 12 67"
AWAY = "R7/8/P7/2Kn4/4k3/8/8/1r6 w - - 1 75"
THROUGH = "1r5k/2Q3p1/4p1P1/1r5p/7q/1R6/2P5/1K4R1 w - - 0 35"
GIVEN = "8/8/8/8/2r3NP/2B2p1K/1P2k3/8 b - - 5 59"
ROOK = "8/8/4k3/8/8/n7/8/R3K3 w - - 0 1"

BESIDE = "8/8/1p1r3R/2kp4/3r2P1/P1N4P/1PK5/8 w - - 4 44"
FORKS, BARE = "r3k3/8/8/8/3N4/8/8/4K3 w - - 0 1", "r4rk1/5pp1/7p/8/8/3BB3/3Q1PPP/6K1 w - - 0 1"
PERPETUAL, RIGHTS = "7k/5Q2/8/8/8/8/1q6/7K w - - 0 1", "r3k2r/8/8/8/8/8/4Q3/4K2R w kq - 0 1"
MATED = seen_by(lambda _board, _times: seen(-1.0, mate=-7))
OPERA = "rn2kb1r/p3qppp/2p2n2/1p2p1B1/2B1P3/1QN5/PPP2PPP/R3K2R w KQkq - 0 1"
BACK = seen_by(
    lambda board, _times: seen(0.6, *(["c4b5"] if str(board.piece_at(chess.B5)) == "p" else []))
)


def where_legal(move: str, value: float = 0.0) -> Analysis:
    """An analysis whose looks expect a move, and nothing where it is not possible."""
    return seen_by(
        lambda board, _: seen(
            value, *([move] if chess.Move.from_uci(move) in board.legal_moves else [])
        )
    )


LONG_DIAGONAL = "r2qkbnr/pp1b1ppp/2n1p3/2Pp4/8/1P2PN2/PBP2PPP/RN1QKB1R b KQkq - 0 6"
QUIET, SCHOLAR = "4k3/8/8/3n4/8/8/R7/4K3 w - - 0 1", "4k3/8/4p3/3p4/8/2N5/8/4K3 w - - 0 1"
SMOTHERS, WON, WORSE = "Qb8+ Nxb8 Rd8#", seen(-0.9), seen(-0.4)
GAMBLES = "3rkb1r/p2nqppp/5n2/1B2p1B1/4P3/1Q6/PPP2PPP/2KR3R w k - 3 13"
HEAVY = "3R4/5pk1/6p1/8/P7/2q5/5Q2/7K w - - 0 39"
GAMBLE = "Rxd7 Rxd7 Rd1 Qe6 Bxd7+ Qxd7 Rxd7 Kxd7 Qb7+"
LEVEL = seen_by(lambda _board, _times: seen(0.0))
NATURAL = "r4r1k/ppq3pp/2n5/1N2R2n/8/1Q3N2/PP3PPK/R7 b - - 4 18"
POISONED = "r2r2k1/pb3ppp/1pp1q3/8/4P3/2Q2N2/PP3PPP/2R1R1K1 w - - 0 18"
FAHRNI = "2k5/8/p1P5/P2K4/8/8/8/8 w - - 0 1"
RETURNS = seen_by(
    lambda board, _: (
        seen(0.9, "c4d4", "b8c8", "d4d5") if board.king(False) == chess.B8 else seen(0.9)
    )
)
RETI = "7K/8/k1P5/7p/8/8/8/8 w - - 0 1"
OFFERED = "6k1/5ppp/8/8/4N3/8/5PPP/3Q2K1 w - - 0 1"
STOPPED = "r2q1rk1/pppp1ppp/2n2n2/8/3PP3/2N2N2/PPP2PPP/R2Q1RK1 w - - 0 1"
BREAKS = seen_by(lambda board, _: seen(-0.5 if board.turn else 0.5, "d7d5"))
RA1 = seen_by(lambda _board, _times: seen(0.5, "c1a1"))
RETAKES = seen_by(lambda _board, _times: seen(0.5, "f3e5"))
TAKES = seen_by(lambda _board, _times: seen(0.5, "b5c7"))

FORKED, FORKER = "r3k3/7p/8/8/3N4/8/8/4K3 b - - 0 1", "r3k3/7p/8/8/3N4/8/8/4K3 w - - 0 1"
LATER_FORK = tactic.Fork(unit("Nc7"), (unit("ke8"), unit("ra8")))
HUNTED = "r2qkb1r/5ppp/p1bppn2/1p2P3/8/1BN5/PPP1QPPP/R1B1K2R b KQkq - 0 11"
LEVER = "6k1/p7/8/3p4/4P3/8/8/6K1 w - - 0 1"
SETTLES = "3k4/p6p/8/8/4P3/2N5/PP3PPP/4K3 w - - 0 1"
DOUBLED = "4k3/pp6/q7/8/8/3Q4/5PPP/6K1 w - - 0 1"
BISHOPS = "3rk3/ppp1bppp/5n2/8/6b1/5N2/PPP1BPPP/2B1K3 w - - 0 1"
ENTERS = "6k1/pp5p/2p5/8/8/8/5PPP/R5K1 w - - 0 1"
DRIVEN = "4k3/6pp/8/8/8/q7/8/3Q2K1 w - - 0 1"

# The claim, a move of which it is true, and moves that look alike, of which it is not.
Figures = tuple[Claim, Scene, list[Scene]]


def beats_next(move: str, then: float, had: float = 0.5) -> Scene:
    """A knight's move beside another one, after which the game stands otherwise."""
    made = scene(KNIGHTS, move, replace(seen(had, "c3d5"), other=seen(0.1, "c3b5")))

    def at(board: chess.Board, _: int) -> Evaluation:
        return seen(-then, "e8d7") if board.piece_at(chess.B5) else seen(had, "c3d5")

    return replace(made, analysis=seen_by(at))


def after_others(answer: str, second: str = "e1d2") -> Scene:
    """The queen leaves d5; after the second best move the long look expects an answer."""
    fen = "6k1/2n5/8/3Q4/8/8/8/4K3 w - - 0 1"
    look = seen(0.9, answer, "d2c3", "g8f7", "c3d4")
    made = scene(fen, "Qd8+ Kg7 Qxc7+", seen(0.9, "d5d8"), seen(-0.9, "g8g7", "d8c7"))
    had = replace(seen(0.9, "d5d8"), other=seen(-0.5, second))

    def at(board: chess.Board, _: int) -> Evaluation:
        return look if board.piece_at(chess.C7) and board.piece_at(chess.D5) else seen(0.0)

    return replace(made, had=had, analysis=seen_by(at))


def planned(fen: str, gain: float = 0.6, reply: str = "Kd7") -> Scene:
    """The knight goes to b5; a long look finds that it goes on to c7 if Black passes."""
    look = seen(gain, "b5c7", "e8d7", "c7a8")
    analysis = seen_by(lambda board, _: look if board.turn else seen(-gain, "e8d7", "c7a8"))
    return replace(scene(fen, f"Nb5 {reply}", has=seen(0.0, "e8d7")), analysis=analysis)


UNGUARDED = "5r2/pp3pk1/2p1p1p1/4n1N1/P2R4/5BP1/2P3P1/6K1 b - - 2 31"
RUNNER = "6rk/4n1pp/q2pPp2/4p2N/1p2P1Q1/7P/6P1/2R4K b - - 5 30"
DOWN = "8/2pR4/pp4p1/4k2p/4P2r/P1P2K2/1P6/8 b - - 1 42"

HELD_FORK = "bk1r4/p4p1p/2qp2rb/P1p1p3/5n2/2P1NN2/1B2BPPP/R1BQ2RK w - - 7 23"

CASES: list[Figures] = [
    # The fork's knight can be taken; Black's pieces are guarded.
    (
        tactic.Fork(unit("Nc7"), (unit("ke8"), unit("ra8"))),
        scene("r3k3/8/8/3N4/8/8/8/4K3 w - - 0 1", "Nc7+"),
        [scene("r2bk3/8/8/3N4/8/8/8/4K3 w - - 0 1", "Nc7+")],
    ),
    # The queen takes the rook on d8 if the pawn takes; from b1 she does not. Or it does take.
    (
        tactic.Fork(unit("Ne5"), (unit("qc6"), unit("rg6"))),
        scene(HELD_FORK, "Nxe5 Qe8 Nxg6 hxg6"),
        [
            scene(HELD_FORK.replace("B2BPPP/R1BQ2RK", "B2BPPP/RQB3RK"), "Nxe5 Qe8 Nxg6 hxg6"),
            scene(HELD_FORK, "Nxe5 dxe5 Qxd8+ Qc8"),
        ],
    ),
    # A pawn stands between, or the same queen had pinned the bishop from another square.
    (
        tactic.Pins(unit("nc6"), unit("ke8"), unit("Bb5")),
        scene(BISHOP, "Bb5"),
        [scene("4k3/3p4/2n5/8/8/8/8/4KB2 w - - 0 1", "Bb5")],
    ),
    (
        tactic.Pins(unit("bf8"), unit("kg8"), unit("Qe8")),
        scene("5bk1/8/8/4Q3/8/8/8/6K1 w - - 0 1", "Qe8"),
        [scene("1Q3bk1/8/8/8/8/8/8/6K1 w - - 0 1", "Qe8")],
    ),
    # A queen before a queen offers a trade.
    (
        tactic.Pins(unit("re5"), unit("ke8"), unit("Qe2")),
        scene("4k3/8/8/4r3/8/8/8/3Q2K1 w - - 0 1", "Qe2"),
        [scene("4k3/8/8/4q3/8/8/8/3Q2K1 w - - 0 1", "Qe2")],
    ),
    # The queen pins the knight from behind the bishop.
    (
        tactic.Pins(unit("Nd2"), unit("Kc1"), unit("be3")),
        scene("6k1/8/1b6/8/7q/8/3N4/2K5 b - - 0 1", "Be3"),
        [scene("6k1/8/1b6/8/5q2/8/3N4/2K5 b - - 0 1", "Be3")],
    ),
    # A pawn shuts the line of the rook.
    (
        tactic.UsesPin(unit("pg7"), unit("kg8"), unit("Rg1"), unit("Nh6")),
        scene("6k1/6pp/8/5N2/8/8/8/6RK w - - 0 1", "Nh6+"),
        [scene("6k1/6pp/8/5N2/6P1/8/8/6RK w - - 0 1", "Nh6+")],
    ),
    # A rook guards what stands behind, which is worth no more than the bishop.
    (
        tactic.Skewers(unit("Bg2"), unit("kd5"), unit("na8")),
        scene("n7/8/8/3k4/8/8/8/4KB2 w - - 0 1", "Bg2+"),
        [scene("n1r5/8/8/3k4/8/8/8/4KB2 w - - 0 1", "Bg2+")],
    ),
    (
        tactic.Discovers(unit("Re1"), unit("ke8")),
        scene(DISCOVERS, "Ng5+"),
        [scene("4k3/8/4p3/8/4N3/8/8/4RK2 w - - 0 1", "Ng5")],
    ),
    (
        tactic.DoubleCheck(unit("Nf6"), unit("Re1")),
        scene(DISCOVERS, "Nf6+"),
        [scene(DISCOVERS, "Ng5+")],
    ),
    # It stays out; it takes back; a check is met; it is the endgame; it need not go back.
    (
        fault.GoesBack(unit("Nc3"), "2...d6 3.Nc3"),
        scene(OUT_AND_BACK, "Nb5 d6 Nc3"),
        [
            scene(OUT_AND_BACK, "Nb5 d6 Nf3"),
            scene(OUT_AND_BACK.replace("5n2/8/3", "8/8/n2"), "Nb5 Nc3 Nxc3"),
            scene("6k1/5ppp/8/8/8/2N5/5PPP/6K1 w - - 0 2", "Nb5 f6 Nc3"),
            replace(scene(OUT_AND_BACK, "Nb5 d6 Nc3"), analysis=where_legal("e2e3")),
        ],
    ),
    # It had to go; it took something on its way; another piece comes back.
    (
        fault.GoesBack(unit("bc8")),
        scene(COME_OUT, "(Bd7 a3) Bc8"),
        [
            scene(COME_OUT, "(Bg4 h3) Bc8"),
            scene(COME_OUT.replace("8/PPP", "7B/PPP"), "(Bxh3 a3) Bc8"),
            scene(COME_OUT, "(Nd7 a3) Nb8"),
            scene(COME_OUT, "(Bd7 a3 Nf6 b3 Be6 c3) Bd7"),
        ],
    ),
    # It takes as much; it is not taken there; the better move keeps no more.
    (
        fault.GivesTooMuch((4,), (2,)),
        scene(SPENT, "Rxg6 fxg6 Kf2 Kf7", had=seen(0.2, "e1f2")),
        [
            scene(SPENT.replace("n", "r"), "Rxg6 fxg6 Kf2 Kf7", had=seen(0.2, "e1f2")),
            scene(SPENT, "Rxg6 Kf8 Kf2 Ke7", had=seen(0.2, "e1f2")),
            scene(SPENT, "Rxg6 fxg6 Kf2 Kf7", had=seen(0.2, "g1g6", "f7g6", "e1f2", "e8f7")),
        ],
    ),
    # The rook takes no pawn with it, or is not taken.
    (
        fault.GivesTooMuch((3, 2), (4, 1)),
        scene(TWO_FOR_ROOK, "Nxf2 Rxf2 Bxf2+ Kxf2 d6", had=seen(0.2, "c5b6")),
        [
            scene(TWO_FOR_ROOK, "Nxf2 Rxf2 d6 d4 Bb6", had=seen(0.2, "c5b6")),
        ],
    ),
    # It was attacked before; the pawn is taken; another square; something stands there.
    (
        changed.TakesSquare(unit("nb8"), chess.C6),
        scene("1n2k3/8/8/8/1P6/8/8/4K3 w - - 0 1", "b5"),
        [
            scene("1n2k3/8/8/3P4/1P6/8/8/4K3 w - - 0 1", "b5"),
            scene("1n2k3/8/p7/8/1P6/8/8/4K3 w - - 0 1", "b5"),
            scene("1n2k3/8/8/8/P7/8/8/4K3 w - - 0 1", "a5"),
            scene("1n2k3/8/2p5/8/1P6/8/8/4K3 w - - 0 1", "b5"),
        ],
    ),
    # Three of four minor pieces are out; it takes something; it was out before.
    (
        fault.EarlyQueen(),
        scene("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2", "Qh5"),
        [
            scene("r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/2N2N2/PPPP1PPP/R1BQK2R w KQkq - 6 4", "Qe2"),
            scene("rnbqkbnr/ppp1pppp/8/3P4/8/8/PPPP1PPP/RNBQKBNR b KQkq - 0 2", "Qxd5"),
            scene("rnb1kbnr/ppp1pppp/8/3q4/8/2N5/PPPP1PPP/R1BQKBNR b KQkq - 1 3", "Qa5"),
        ],
    ),
    # The bishop is at home; nothing is missing before the king.
    (
        fault.CastlesInto(3),
        scene("2kr3r/ppp2p1p/3b1q2/8/7n/2NP4/PPP1BP1P/R1BQK2R w KQ - 0 1", "O-O"),
        [
            scene("2kr1b1r/ppp2p1p/5q2/8/7n/2NP4/PPP1BP1P/R1BQK2R w KQ - 0 1", "O-O"),
            scene("2kr3r/ppp2p1p/3b1q2/8/7n/2NP4/PPP1BPPP/R1BQK2R w KQ - 0 1", "O-O"),
        ],
    ),
    # Another move is clearly the best; what is taken so is no loss.
    (
        ideas.Fails(
            Step(chess.Move.from_uci("c6e5"), "18...Nxe5"),
            Step(chess.Move.from_uci("b5c7"), "19.Nxc7"),
        ),
        replace(scene(NATURAL, "Qb8", seen(0.7, "c7b8"), seen(-0.7)), analysis=TAKES),
        [
            replace(scene(NATURAL, "Qb8", seen(0.7, "c7d7"), seen(-0.6)), analysis=TAKES),
            replace(scene(NATURAL, "Qb8", seen(0.7, "c7b8"), seen(-0.7)), analysis=LEVEL),
            replace(scene(NATURAL, "Qb8", seen(0.7, "c7b8"), seen(-0.7)), analysis=RETAKES),
        ],
    ),
    # To pass would let a pawn be forked, or nothing gains; the rook does not stop it.
    (
        ideas.Forestalls(Step(chess.Move.from_uci("d7d5"), "1...d5")),
        replace(scene(STOPPED, "d5", seen(0.0, "d4d5")), analysis=BREAKS),
        [
            replace(scene(STOPPED, "d5", seen(0.0, "d4d5")), analysis=LEVEL),
            replace(scene(STOPPED, "h3", seen(0.0, "h2h3")), analysis=BREAKS),
        ],
    ),
    # The line goes elsewhere, or the game is not won.
    (
        Triangle("1...Kb8 2.Kd4 Kc8 3.Kd5"),
        replace(scene(FAHRNI, "Kc4", seen(0.9, "d5c4")), analysis=RETURNS),
        [
            replace(scene(FAHRNI, "Kc4", seen(0.9, "d5c4")), analysis=LEVEL),
            replace(scene(FAHRNI, "Kc4", seen(0.3, "d5c4")), analysis=RETURNS),
        ],
    ),
    # It keeps to its file, or another move is as good.
    (
        changed.NearsBoth(unit("ph5"), unit("Pc6")),
        scene(RETI, "Kg7", replace(seen(0.0, "h8g7"), other=seen(-0.9, "h8h7"))),
        [
            scene(RETI, "Kh7", replace(seen(0.0, "h8h7"), other=seen(-0.9, "h8g7"))),
            scene(RETI, "Kg7", replace(seen(0.0, "h8g7"), other=seen(0.0, "h8h7"))),
        ],
    ),
    # Nothing takes it, or it is traded.
    (
        outcomes.Offers(
            unit("Nf6"),
            Step(chess.Move.from_uci("g7f6"), "1...gxf6"),
            Step(chess.Move.from_uci("d1g4"), "2.Qg4+"),
        ),
        replace(scene(OFFERED, "Nf6+"), analysis=seen_by(lambda *_: seen(0.3, "d1g4"))),
        [
            replace(
                scene(OFFERED.replace("5ppp", "5p1p"), "Nf6+"),
                analysis=seen_by(lambda *_: seen(0.3, "d1g4")),
            ),
            replace(
                scene(OFFERED.replace("/8/8/4N3", "/5n2/8/4N3"), "Nxf6+"),
                analysis=seen_by(lambda *_: seen(0.3, "d1g4")),
            ),
        ],
    ),
    # The pawn is not on the rook's file, or the bishop guards the corner.
    (
        endings.WrongBishop(white=True),
        scene("6k1/8/7p/6P1/7P/3B2K1/8/8 w - - 0 1", "gxh6"),
        [
            scene("6k1/8/7p/6P1/7P/3B2K1/8/8 w - - 0 1", "g6"),
            scene("6k1/8/7p/6P1/7P/4B1K1/8/8 w - - 0 1", "gxh6"),
        ],
    ),
    # The search sees nothing; the pawn has moved.
    (
        ideas.Poisons(
            unit("Pa2"),
            Step(chess.Move.from_uci("e6a2"), "18...Qxa2"),
            Step(chess.Move.from_uci("c1a1"), "19.Ra1"),
        ),
        replace(scene(POISONED, "Nd4", has=seen(0.0)), analysis=RA1),
        [
            replace(scene(POISONED, "Nd4", has=seen(0.0)), analysis=LEVEL),
            replace(scene(POISONED, "a3", has=seen(0.0)), analysis=RA1),
        ],
    ),
    # The king has a square.
    (
        merit.ThreatensMate(2),
        scene("3r2k1/5ppp/8/8/8/8/R4PPP/4R1K1 w - - 0 1", "Rae2"),
        [scene("3r2k1/5pp1/7p/8/8/8/R4PPP/4R1K1 w - - 0 1", "Rae2")],
    ),
    # Without the pawn the move is stalemate, and a threat cannot be carried out.
    (
        merit.Threatens(Step(chess.Move.from_uci("f4h6"), "2.Qh6#"), None),
        scene("5Q2/p7/8/8/5r2/8/5K2/7k w - - 0 1", "Qxf4"),
        [scene("5Q2/8/8/8/5r2/8/5K2/7k w - - 0 1", "Qxf4")],
    ),
    (
        grades.WalksInto(
            "Elephant Trap",
            "6...Nxd5 7.Bxd8 Bb4+ 8.Qd2 Bxd2+ 9.Kxd2 Kxd8",
            (chess.KNIGHT,),
            (chess.PAWN,),
        ),
        scene("r1bqkb1r/pppn1ppp/5n2/3p2B1/3P4/2N5/PP2PPPP/R2QKBNR w KQkq - 0 6", "Nxd5"),
        [
            scene("r1bqkb1r/pppn1ppp/5n2/3p2B1/3P4/2N1P3/PP3PPP/R2QKBNR w KQkq - 0 6", "Nxd5"),
            scene("r1bqkb1r/pppn1ppp/5n2/3p2B1/3P4/2N5/PP2PPPP/R2QKBNR w KQkq - 0 6", "e3"),
        ],
    ),
    (
        grades.Springs("Fool's Mate", white=False),
        scene("rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2", "Qh4#"),
        [scene("rnbqkbnr/pppp1ppp/8/4p3/6P1/5P1P/PPPPP3/RNBQKBNR b KQkq - 0 2", "Qh4#")],
    ),
    # White is worse anyway, or the king has a square.
    (
        fault.Stalemates(),
        scene("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", "Qf7", seen(0.9, "f1f7")),
        [
            scene("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", "Qf7", seen(-0.9, "f1f7")),
            scene("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", "Qe1", seen(0.9, "f1e1")),
        ],
    ),
    # The knight goes between, and nothing is taken; the king takes, or does not.
    (
        tactic.Deflects(unit("ke4"), chess.D5, unit("nd5"), False),
        scene(AWAY, "Re8+ Kf5 Kxd5"),
        [scene(AWAY, "Re8+ Ne7 Rxe7+"), scene(AWAY, "Re8+ Kf5 Kc6")],
    ),
    (
        tactic.Attracts(unit("kf6"), chess.G5, step("h3h4")),
        scene(DRAWN, "Nxg5 Kxg5 h4+"),
        [scene(DRAWN, "Nxg5 Ke5 h4")],
    ),
    # A bishop guards the pawn, too.
    (
        tactic.RemovesGuard(unit("Nf4"), unit("Pg2")),
        scene(PAWN, "gxf4 h4 Kxg2"),
        [scene(PAWN.replace("3K4", "3K3B"), "gxf4 h4 Kg3")],
    ),
    # The king steps between its rooks, or it does not.
    (
        tactic.Interferes(unit("rh8"), chess.F8, unit("rb8")),
        scene(ROOKS, "Rg6+ Kf8 Rxb8+"),
        [
            scene(ROOKS, "Rg6+ Kh7 Rxb8"),
            scene(ROOKS, "Re1 Kf8 Rxb8+"),  # which nothing forces
        ],
    ),
    (
        tactic.Intermezzo(chess.F3),
        scene(CHECKS, "(gxf3) Rg5+ Kh1 Qxf3#"),
        [scene(CHECKS, "(gxf3) Rg5+ Kh1 Qd5")],
    ),
    # A pawn stands on the line, too.
    (
        tactic.XRay(unit("Rb3"), unit("rb5"), chess.B8),
        scene(THROUGH, "Qxb8+ Rxb8 Rxb8+"),
        [scene(THROUGH.replace("4p1P1", "1p2p1P1"), "Qxb8+ Qd8")],
    ),
    (
        tactic.Clears(unit("Rf1"), chess.F3),
        scene(QUEENS, "Qxd5+ cxd5 Rf8#"),
        [scene(QUEENS, "Qxd5+ cxd5 Rb1")],
    ),
    # The bishop is shut in; it was so before.
    (
        tactic.Traps(unit("ba2")),
        scene(TRAPPED, "b3"),
        [scene(TRAPPED.replace("8/bPP4P", "1P6/b1P4P"), "h3")],
    ),
    (
        tactic.TakesLoose(unit("nd5")),
        scene("4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1", "Rxd5"),
        [
            scene("4k3/8/4p3/3n4/8/8/8/3RK3 w - - 0 1", "Rxd5"),
            scene("4k3/8/1n6/3P4/8/8/8/3RK3 b - - 0 1", "(Nxd5) Rxd5"),  # takes back
        ],
    ),
    (
        tactic.Sacrifices(unit("rg4"), 2),
        scene(GIVEN, "Rxg4 Kxg4 f2"),
        [scene(GIVEN, "Rxg4 Kh2 f2")],
    ),
    (
        tactic.Mates("back rank"),
        scene(BACK_RANK, "Ra8#"),
        [scene(BACK_RANK.replace("5ppp", "5pp1"), "Ra8+")],
    ),
    (
        tactic.Promotes(chess.QUEEN),
        scene("8/P7/8/8/8/8/8/k1K5 w - - 0 1", "a8=Q+"),
        [scene("8/P7/8/8/8/8/8/k1K5 w - - 0 1", "a8=N")],
    ),
    (
        tactic.EnPassant(),
        scene("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2", "exd6"),
        [scene("4k3/8/3p4/4P3/8/8/8/4K3 w - - 0 2", "exd6")],
    ),
    # A pawn takes back, so the queen is won for the rook; a queen that was lost before is not.
    (
        merit.Wins((5,), ()),
        scene(LOOSE, "Rxd5"),
        [scene("4k3/8/4p3/3q4/8/8/3R4/4K3 w - - 0 1", "Rxd5")],
    ),
    (
        merit.Nets((2,), ()),
        scene(ROOK, "Rxa3 Kd5 Kd2 Kc4 Ke3 Kb4 Ra8"),
        [scene(ROOK, "Rxa3 Kd5 Kd2 Kc4 Rb3 Kxb3 Kd3")],
    ),
    (
        merit.Verdict(1),
        scene("4k3/8/8/8/8/8/4r3/R3K3 w - - 0 1", "Kxe2"),
        [scene("8/8/8/8/4p3/3k4/3N4/3K4 w - - 0 1", "Nxe4")],
    ),
    (
        merit.MateIn(1),
        scene("7k/8/8/8/8/8/RR6/7K w - - 0 1", "Ra7"),
        [scene("7k/8/8/6b1/8/8/RR6/7K w - - 0 1", "Ra7")],
    ),
    # The pawn guards the knight; the rook could be taken before, but for the check.
    (
        merit.Threatens(step("d1d5"), unit("nd5")),
        scene("4k3/8/8/3n4/8/8/8/R3K3 w - - 0 1", "Rd1"),
        [scene("4k3/8/4p3/3n4/8/8/8/R3K3 w - - 0 1", "Rd1")],
    ),
    (
        merit.Threatens(step("d1d8"), unit("rd8")),
        scene("3r3k/8/8/8/8/8/8/5RK1 w - - 0 1", "Rd1"),
        [scene("3r3k/8/8/8/8/8/4n3/3R2K1 w - - 0 1", "Kf2")],
    ),
    # The king guards the knight; a check puts off its loss by a move, or the mate.
    (
        merit.Parries(step("a3c3"), unit("Nc3")),
        scene("4k3/8/8/8/8/r1N5/8/4K3 w - - 0 1", "Kd2"),
        [scene("4k3/8/8/8/8/r1N5/7R/4K3 w - - 0 1", "Rh8+ Kd7")],
    ),
    (
        merit.Parries(step("d3d1"), None),
        scene("6k1/5ppp/8/8/8/3q4/1Q3PPP/6K1 w - - 0 1", "h3"),
        [scene("5k2/5ppp/8/8/8/3q4/1Q3PPP/6K1 w - - 0 1", "Qb8+ Ke7")],
    ),
    (
        merit.OnlyMove(False),
        scene(LOOSE, "Rxd5", seen(0.0, "d2d5", second=-0.5)),
        [scene(LOOSE, "Rxd5", seen(0.0, "d2d5", second=-0.01))],
    ),
    # The knight is traded, and only a pawn is lost.
    (
        fault.EnPrise(unit("Nd5"), step("c6d5")),
        scene(EN_PRISE, "Nd5 cxd5"),
        [scene("4k3/8/2b5/8/4P3/2N5/8/4K3 w - - 0 1", "Nd5 Bxd5")],
    ),
    # The bishop is taken, and the knight that the king guarded goes in return.
    (
        fault.EnPrise(unit("Bh7"), step("g8h7")),
        scene("r2q2k1/2pb1npp/p7/8/8/2NB3P/PP4P1/R5K1 w - - 0 1", "Bxh7 Kxh7"),
        [scene("r2q2k1/2pb1npp/p7/3Q4/8/2NB3P/PP4P1/R5K1 w - - 0 1", "Bxh7 Kxh7")],
    ),
    (
        fault.EnPrise(unit("nd4"), step("b3d4")),
        scene("4k3/8/2n5/8/8/1N6/8/3QK3 b - - 0 1", "Nd4 Nxd4"),
        [scene("4k3/8/2n5/4p3/8/1N6/8/3QK3 b - - 0 1", "Nd4 Nxd4")],
    ),
    (
        fault.Abandons(unit("Rd1"), unit("Ne5"), step("a5e5")),
        scene(GUARDED, "Rd1 Rxe5"),
        [scene("4k3/8/8/r3N3/5P2/8/8/4R1K1 w - - 0 1", "Rd1 Rxe5")],
    ),
    # The rook can go away from the corner.
    (
        fault.Abandons(unit("bc5"), unit("pg7"), step("b2g7"), (tactic.Traps(unit("rh8")),)),
        scene(LONG_DIAGONAL, "Bxc5 Bxg7"),
        [scene(LONG_DIAGONAL.replace("kbnr", "kb1r").replace("2n1p3", "2n1p2n"), "Bxc5 Bxg7")],
    ),
    # The rook that is forked stands elsewhere.
    (
        fault.Abandons(
            unit("pf6"),
            unit("pe6"),
            step("g5e6"),
            (tactic.Fork(unit("Ne6"), (unit("kg7"), unit("rf8"))),),
        ),
        scene(UNGUARDED, "f6 Nxe6+"),
        [scene(UNGUARDED.replace("5r2", "r7"), "f6 Nxe6+")],
    ),
    # The bishop was not in the way, or what is taken is guarded well enough.
    (
        cover.Unblocks(unit("rd8"), unit("Qd1")),
        scene("3r2k1/8/8/8/8/8/3B4/3Q2K1 w - - 0 1", "Bg5 Rxd1+"),
        [
            scene("3r2k1/8/8/8/8/8/4B3/3Q2K1 w - - 0 1", "Bg4 Rxd1+"),
            scene("3r2k1/8/8/8/8/8/3B4/3RQ1K1 w - - 0 1", "Bg5 Rxd1"),
        ],
    ),
    # The bishop guards the knight itself, or goes elsewhere.
    (
        cover.Shuts(unit("Be3"), unit("Re1"), unit("Ne5")),
        scene("4k3/8/8/r3N3/8/8/3B4/4R1K1 w - - 0 1", "Be3 Rxe5"),
        [
            scene("4k3/8/8/r3N3/8/8/3B4/4R1K1 w - - 0 1", "Bf4 Rxe5"),
            scene("4k3/8/8/r3N3/8/8/3B4/4R1K1 w - - 0 1", "Bb4 Rxe5"),
        ],
    ),
    # It is not taken, or still guarded.
    (
        cover.Unguards(unit("Rb1"), unit("Ne5")),
        scene(GUARDED, "Rb1 Kd8 Kf2 Rxe5"),
        [scene(GUARDED, "Rb1 Kd8 Kf2 Ra4"), scene(GUARDED, "Re2 Kd8 Kf2 Rxe5")],
    ),
    # Nothing pins the knight, or another piece takes back.
    (
        cover.PinnedGuard(unit("Ne3"), unit("Pd5")),
        scene("3qr1k1/8/8/3P4/8/4N3/7P/4K3 w - - 0 1", "h3 Qxd5"),
        [
            scene("3q1rk1/8/8/3P4/8/4N3/7P/4K3 w - - 0 1", "h3 Qxd5"),
            scene("3qr1k1/8/8/3P4/8/4N3/6BP/4K3 w - - 0 1", "h3 Qxd5"),
        ],
    ),
    # It goes elsewhere, takes something, or another piece has moved.
    (
        cover.UnguardsSquare(unit("pf5"), chess.E6),
        scene("4k3/5p2/8/8/3N4/8/8/4K3 b - - 0 1", "f5 Ne6"),
        [
            scene("4k3/5p2/8/8/3N4/8/8/4K3 b - - 0 1", "f5 Nc6"),
            scene("4k3/5p2/4b3/8/3N4/8/8/4K3 b - - 0 1", "f5 Nxe6"),
            scene("4k3/5p2/8/8/3N4/8/8/4K3 b - - 0 1", "Kd7 Ne6"),
            scene("4k3/8/8/4N3/2b5/8/8/4K3 b - - 0 1", "Bd5 Nd3"),
            scene("4k3/8/8/4N3/2b5/8/8/4K3 b - - 0 1", "Bd3 Nxd3"),
        ],
    ),
    # The king goes where it could have gone before; the queen guards the square from afar, too.
    (
        cover.UnguardsSquare(unit("qd6"), chess.G1),
        scene("6k1/8/8/8/8/8/5KPq/8 b - - 0 1", "Qd6 Kg1"),
        [
            scene("6k1/8/8/8/8/8/5KPq/8 b - - 0 1", "Qd6 Ke2"),
            scene("6k1/8/8/8/8/6q1/6PK/8 b - - 0 1", "Qd6+ Kg1"),
            scene("6k1/8/8/8/8/8/5KPq/8 b - - 0 1", "Kg7 Ke2"),
        ],
    ),
    # It goes two steps, or the king is elsewhere, or the knight.
    (
        cover.TakesOwnSquare(unit("ng8"), chess.F6),
        scene("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", "f6"),
        [
            scene("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", "f5"),
            scene("rnbq1bnr/ppppkppp/4p3/8/4P3/8/PPPP1PPP/RNBQKBNR b KQ - 0 1", "f6"),
            scene("rnbqkb1r/pppppppp/8/5n2/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", "f6"),
        ],
    ),
    # It goes elsewhere, goes on at once, or the rook had little room before.
    (
        cover.ShutsInOwn(unit("Ra1")),
        scene(SHUT, "Bc1 Kg7 h3"),
        [
            scene(SHUT, "Be3 Kg7 h3"),
            scene(SHUT, "Bc1 Kg7 Bf4"),
            scene(SHUT.replace("R4RK1", "R1N2RK1"), "Bd2 Kg7 h3"),
        ],
    ),
    # It comes from the edge, attacks something, or goes on.
    (
        cover.GoesToEdge(unit("Nh1")),
        scene("4k3/8/8/8/8/6N1/8/4K3 w - - 0 1", "Nh1 Kd7"),
        [
            scene("4k3/8/8/8/8/6N1/8/4K3 w - - 0 1", "Nf5 Kd7"),
            scene("4k3/8/8/8/8/6N1/5p2/K7 w - - 0 1", "Nh1 Kd7"),
            scene("4k3/8/8/8/8/6N1/8/4K3 w - - 0 1", "Nh1 Kd7 Nf2 Kc7"),
        ],
    ),
    # It goes on; nothing stands behind it; it is traded.
    (
        cover.IntoPin(unit("Be4"), unit("Qe1")),
        scene(INTO_PIN, "Be4 d5 Kf2 dxe4 Kg1"),
        [
            scene(INTO_PIN, "Be4 d5 Bxd5+ Kf8 Qxe8+ Kxe8"),
            scene(INTO_PIN.replace("4Q1", "3Q2"), "Be4 d5 Kf2 dxe4 Kg1"),
            scene(INTO_PIN, "Be4 Kf7 Kf2 Rxe4 Qxe4 Kf8"),
        ],
    ),
    # The pawn stays, or the knight did not stand before it.
    (
        cover.LiftsBlockade(unit("Nf4"), unit("pd4")),
        scene("4k3/8/8/8/3p4/3N4/8/4K3 w - - 0 1", "Nf4 d3"),
        [
            scene("4k3/8/8/8/3p4/3N4/8/4K3 w - - 0 1", "Nf4 Kd7"),
            scene("4k3/8/8/8/3p4/8/4N3/4K3 w - - 0 1", "Nf4 d3"),
        ],
    ),
    # The pawn before the king stays, or the other side has no queen, or no rook comes.
    (
        cover.OpensOwnKing(0, unit("ra8")),
        scene("r2q2k1/8/8/8/8/1p6/PPP5/1K6 w - - 0 1", "axb3 Qd7"),
        [
            scene("r2q2k1/8/8/8/8/1p6/PPP5/1K6 w - - 0 1", "cxb3 Qd7"),
            scene("r5k1/8/8/8/8/1p6/PPP5/1K6 w - - 0 1", "axb3 Kg7"),
            scene("r2q2k1/8/8/8/8/1p6/PPP4P/4K3 w - - 0 1", "axb3 Qd7"),
            scene("3q1rk1/8/8/8/8/1p6/PPP5/1K6 w - - 0 1", "axb3 Qd7"),
        ],
    ),
    # The check is none, or the piece is simply taken back.
    (
        cover.NotRetaken(step("g7h6"), step("d1h5")),
        scene(SHOT, "Bxh6 O-O"),
        [
            scene(SHOT.replace("1p3p1n", "1p5n").replace("nb1pp", "nbppp"), "Bxh6 O-O"),
            scene(SHOT, "Bxh6 gxh6"),
        ],
    ),
    # The look after the recapture sees it lose, or the line takes back.
    (
        cover.RetakingFails(unit("pb5"), step("c6b5"), step("c4b5")),
        replace(scene(OPERA, "Nxb5 Qb4+ Qxb4 Bxb4+ c3", seen(0.5, "c3b5")), analysis=BACK),
        [
            replace(scene(OPERA, "Nxb5 Qb4+ Qxb4 Bxb4+ c3", seen(0.9, "c3b5")), analysis=BACK),
            replace(scene(OPERA, "Nxb5 cxb5 Bxb5+", seen(0.5, "c3b5")), analysis=BACK),
        ],
    ),
    # A pawn guards the knight besides, or what is attacked is no guard.
    (
        cover.Undermines(unit("pc4"), unit("nd3")),
        scene(PROP, "b3"),
        [scene(PROP.replace("2pp4", "2ppp3"), "b3"), scene(PROP, "f3")],
    ),
    (
        cover.Covers(unit("Pe4")),
        scene("4k3/8/8/8/4P3/8/8/3QK3 w - - 0 1", "Qd3"),
        [scene("4k3/8/8/8/4P3/8/8/3QK3 w - - 0 1", "Qd2")],
    ),
    # The long look holds it, or it was lost before; rooks stay on.
    (
        fault.LosesEnding(step("c7b7")),
        replace(scene(LAST_ROOKS, "Rxb7+ Kxb7", seen(0.0)), analysis=seen_by(lambda *_: WON)),
        [
            scene(LAST_ROOKS, "Rxb7+ Kxb7", seen(0.0)),
            replace(scene(LAST_ROOKS, "Rxb7+ Kxb7", seen(-0.9)), analysis=seen_by(lambda *_: WON)),
            replace(scene(LAST_ROOKS, "Rb4 Kb8", seen(0.0)), analysis=seen_by(lambda *_: WON)),
        ],
    ),
    # It is lost, or was as bad before; queens that are traded are taken back.
    (
        fault.LosesEnding(step("c7b7"), worse=True),
        replace(scene(LAST_ROOKS, "Rxb7+ Kxb7", seen(0.0)), analysis=seen_by(lambda *_: WORSE)),
        [
            replace(scene(LAST_ROOKS, "Rxb7+ Kxb7", seen(0.0)), analysis=seen_by(lambda *_: WON)),
            replace(
                scene(LAST_ROOKS, "Rxb7+ Kxb7", seen(-0.4)), analysis=seen_by(lambda *_: WORSE)
            ),
        ],
    ),
    (
        fault.LosesEnding(step("d5e5"), worse=True),
        replace(
            scene(LAST_QUEENS, "Qe5 Qxe5 fxe5", seen(0.0)), analysis=seen_by(lambda *_: seen(0.4))
        ),
        [
            replace(
                scene(LAST_QUEENS, "Qe5 Qxe5 fxe5", seen(0.0)), analysis=seen_by(lambda *_: WORSE)
            ),
            replace(scene(LAST_QUEENS, "Qe5 Qd2", seen(0.0)), analysis=seen_by(lambda *_: WORSE)),
        ],
    ),
    # The long look has another answer, or sees the reply gain something.
    (
        outlook.Meets(step("e8d7"), step("a2d2")),
        replace(scene(QUIET, "Ra1", seen(0.2)), analysis=seen_by(lambda *_: seen(0.3, "a2d2"))),
        [
            replace(scene(QUIET, "Ra1", seen(0.2)), analysis=seen_by(lambda *_: seen(0.3, "a2a1"))),
            replace(
                scene(QUIET, "Ra1", seen(0.2)), analysis=seen_by(lambda *_: seen(-0.3, "a2d2"))
            ),
        ],
    ),
    # It is taken back.
    (
        aftermath.PicksUp(unit("qd5"), (), "", sure=True),
        scene(LOOSE, "Rxd5 Ke7 Kd2 Ke6"),
        [scene("4k3/8/4p3/3q4/8/8/3R4/4K3 w - - 0 1", "Rxd5 exd5 Kd2 Kd7")],
    ),
    # A check comes first: the king had threatened the rook, and takes it as it gets out of check.
    (
        fault.Overlooks(step("a5e5")),
        scene(HUNG, "Kd1 Rxe5"),
        [scene("4k3/8/2p5/r3N3/8/8/8/3QK3 w - - 0 1", "Qd5 Rxd5")],
    ),
    (
        fault.Overlooks(step("c1d2")),
        scene("4k3/8/5b2/8/8/8/3r4/2K5 b - - 0 1", "Bh8 Kxd2"),
        [scene("4k3/8/5b2/8/8/8/3r4/2K5 b - - 0 1", "Bb2+ Kxd2")],
    ),
    (fault.AllowsMate(1, step("d8h4")), scene(FOOL, "g4"), [scene(FOOL, "g3")]),
    # More than the search for mates can try at once; from f1 the king gets away.
    (
        fault.AllowsMate(5, step("b1f5")),
        scene("5rk1/3RQpp1/7p/3N4/8/6P1/5PKP/1q2n3 w - - 14 39", "Kh3 Qf5+"),
        [scene("5rk1/3RQpp1/7p/3N4/8/6P1/5PKP/1q2n3 w - - 14 39", "Kf1 Nf3+")],
    ),
    (
        fault.Allows(step("c6d5"), (merit.Wins((2,), ()),)),
        scene(EN_PRISE, "Nd5 cxd5", has=seen(0.5, "c6d5")),
        [
            scene(EN_PRISE, "Nd5 Kd7", has=seen(0.5, "e8d7")),
            scene(EN_PRISE.replace("8/2N5", "4P3/2N5"), "Nd5 cxd5", has=seen(0.5, "c6d5")),
        ],
    ),
    # The second move of the line is the fork; it is not there where the first move is another one.
    (
        fault.Allows(step("d4b5"), (LATER_FORK,), plies=2),
        scene(FORKED, "h6 Nb5 h5 Nc7+ Kd8 Nxa8 h4", has=seen(0.5, "d4b5", "h6h5", "b5c7")),
        [
            scene(FORKED, "h6 Nb5 Kd8 Nd4 h5", has=seen(0.5, "d4b5", "e8d8", "b5d4")),
            scene(FORKED, "h6 Nb5", has=seen(0.5, "d4b5")),
        ],
    ),
    (
        fault.Better(step("d4b5"), (LATER_FORK,), plies=2),
        scene(FORKER, "Kd1", seen(0.5, "d4b5", "h7h6", "b5c7", "e8d8"), seen(0.0, "h7h6")),
        [
            scene(FORKER, "Kd1", seen(0.5, "d4b5", "e8d8", "b5d4", "d8d7"), seen(0.0, "h7h6")),
            scene(FORKER, "Kd1", seen(0.5, "d4b5"), seen(0.0, "h7h6")),
        ],
    ),
    (
        WinsBy((LATER_FORK,), "1...h6 2.Nb5 h5 3.Nc7+"),
        scene(FORKER, "Kd1 h6 Nb5 h5 Nc7+ Kd8 Nxa8"),
        [
            scene(FORKER, "Kd1 h6 Nb5 Kd7 Nc7 Kxc7"),
            scene(FORKER, "Kd1 h6 Nb5"),
        ],
    ),
    (
        fault.Prevents(step("a4a1")),
        scene("4k3/8/8/8/r7/8/8/R3K3 w - - 0 1", "Ra3"),
        [scene("4k3/8/8/8/r7/8/8/R3K3 w - - 0 1", move) for move in ("Rb1", "Rxa4")],
    ),
    (
        fault.AvoidsLoss(),
        scene(HUNG, "Nd3 Kd7 Kd2 Kd6"),
        [scene(HUNG, "Kd1 Rxe5 Kc2 Kd7")],
    ),
    (
        fault.Better(step("c3b5"), ()),
        scene(EN_PRISE, "Nd5 cxd5", seen(0.5, "c3b5", "e8d7"), seen(0.0, "c6d5")),
        [
            scene(EN_PRISE, "Nd5 cxd5", seen(0.5, "c3b5", "e8d7"), seen(-0.5, "c6d5")),
            scene(EN_PRISE, "Nd5 cxd5", seen(0.5, "c3a4", "e8d7"), seen(0.0, "c6d5")),
        ],
    ),
    (
        fault.MissesMate(1, step("a1a8")),
        scene(BACK_RANK, "Kg2"),
        [scene(BACK_RANK.replace("5ppp", "5pp1"), "Kg2")],
    ),
    (
        fault.Turns(2, 0),
        scene(KNIGHTS, "Nd5", seen(0.8, "c3b5"), seen(0.0, "c7d5")),
        [
            scene(KNIGHTS, "Nd5", seen(0.8, "c3b5"), seen(0.1, "c7d5")),
            scene(KNIGHTS, "Nd5", seen(0.4, "c3b5"), seen(0.0, "c7d5")),
        ],
    ),
    (
        fault.Keeps(0),
        scene(KNIGHTS, "Nd5", seen(0.0, "c3b5")),
        [scene(KNIGHTS, "Nd5", seen(0.4, "c3b5"))],
    ),
    # It was passed before; a pawn still holds it.
    (
        changed.PassedPawn(unit("Pc6")),
        scene(PASSED, "dxc6"),
        [scene(PASSED.replace("4k3/8", "4k3/1p6"), "dxc6")],
    ),
    (
        changed.PassedPawn(unit("Pd6")),
        scene("4k3/8/3p4/4P3/8/8/8/4K3 w - - 0 1", "exd6"),
        [scene(RUNS, "d6")],
    ),
    (
        changed.PassedPawnAdvances(unit("Pd6")),
        scene(RUNS, "d6"),
        [scene(RUNS.replace("4k3/8", "4k3/2p5"), "d6")],
    ),
    # Another pawn is beside it; it was alone before.
    (
        changed.IsolatedPawn(unit("Pd4")),
        scene("4k3/8/8/1p6/2PP4/8/8/4K3 b - - 0 1", "bxc4"),
        [
            scene("4k3/8/8/1p6/2PP4/4P3/8/4K3 b - - 0 1", "bxc4"),
            scene("4k3/8/8/8/3P4/8/8/4K3 b - - 0 1", "Kd7"),
        ],
    ),
    (
        changed.DoubledPawns(True, 2),
        scene("4k3/8/8/8/8/2b5/2PP4/4K3 w - - 0 1", "dxc3"),
        [scene("4k3/8/8/8/8/2b5/3P4/4K3 w - - 0 1", "dxc3")],
    ),
    (
        changed.TakesFile(unit("Rd1"), True),
        scene("4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "Rd1"),
        [
            scene("4k3/3p4/8/8/8/8/8/R3K3 w - - 0 1", "Rd1"),
            scene("3rk3/8/8/8/8/8/8/R3K3 w - - 0 1", "Rd1"),
        ],
    ),
    (
        changed.Seventh(unit("Ra7")),
        scene(BACK_RANK, "Ra7"),
        [scene("8/8/5k2/8/8/8/8/R5K1 w - - 0 1", "Ra7")],
    ),
    (
        changed.Outpost(unit("Nd5")),
        scene("4k3/8/8/8/4P3/2N5/8/4K3 w - - 0 1", "Nd5"),
        [scene("4k3/2p5/8/8/4P3/2N5/8/4K3 w - - 0 1", "Nd5")],
    ),
    (
        changed.BishopPair(True),
        scene("2b1kb2/3N4/8/8/8/8/8/2B1KB2 w - - 0 1", "Nxf8"),
        [scene("4kb2/3N4/8/8/8/8/8/2B1KB2 w - - 0 1", "Nxf8")],
    ),
    (
        changed.LosesCastling(True),
        scene("r3k2r/8/8/8/8/8/8/R2QK2R w KQkq - 0 1", "Kd2"),
        [
            scene("r3k2r/8/8/8/8/8/8/R2QK2R w KQkq - 0 1", "O-O"),
            scene("4k3/8/8/8/8/8/8/R2QK2r w Q - 0 1", "Kd2"),  # the king has to move
        ],
    ),
    (
        changed.OppositeCastling(),
        scene("2kr4/8/8/8/8/8/8/3QK2R w K - 0 1", "O-O"),
        [scene("6k1/8/8/8/8/8/8/3QK2R w K - 0 1", "O-O")],
    ),
    (
        changed.QueensLeave(),
        scene("3Qk3/8/8/8/8/8/8/4K3 b - - 0 1", "Kxd8"),
        [scene("3Qk3/8/8/8/8/8/8/Q3K3 b - - 0 1", "Kxd8")],
    ),
    (
        changed.PawnEnding(),
        scene("3Rk3/p7/8/8/8/8/P7/4K3 b - - 0 1", "Kxd8"),
        [scene("3Rk3/p7/8/8/8/8/P7/4K2N b - - 0 1", "Kxd8")],
    ),
    (
        changed.PawnEnding(drawn=True),
        replace(scene("3Rk3/8/8/8/8/8/P7/4K3 b - - 0 1", "Kxd8"), analysis=LEVEL),
        [
            replace(scene("3Rk3/8/8/8/8/8/P7/4K3 b - - 0 1", "Kxd8"), analysis=MATED),
            replace(scene("3Rk3/p7/8/8/8/8/P7/4K3 b - - 0 1", "Kxd8"), analysis=LEVEL),
        ],
    ),
    (
        changed.OppositeBishops(),
        scene("2b1k3/8/8/8/8/3n4/2P5/2B1K3 w - - 0 1", "cxd3"),
        [scene("2b1k3/8/8/8/8/3n4/2P5/4KB2 w - - 0 1", "cxd3")],
    ),
    # A pawn that had gone far ahead stood before the king no more.
    (
        changed.OpensKing(True, 7),
        scene(SHELTER, "hxg3"),
        [scene(SHELTER, "fxg3"), scene("3q4/8/8/6k1/7P/8/8/Q5K1 b - - 0 1", "Kxh4")],
    ),
    (
        outlook.Continues("1...Kd7 2.Kd2 Kd6"),
        scene(KNIGHTS, "Ke2 Kd7 Kd2 Kd6", has=seen(0.0, "e8d7", "e2d2", "d7d6")),
        [
            scene(KNIGHTS, "Ke2 Kd7 Kd2 Ke6", has=seen(0.0, "e8d7", "e2d2", "d7e6")),
            scene(KNIGHTS, "Ke2 Kd7 Kd2 Kd6"),
        ],
    ),
    (
        outlook.Leaves(0),
        scene(KNIGHTS, "Ke2", has=seen(0.0, "e8d7")),
        [
            scene(KNIGHTS, "Ke2", has=seen(0.4, "e8d7")),
            scene(RUNS, "Ke2", has=seen(0.0, "e8d7")),
        ],
    ),
    (
        # The other move is not so bad, or another one was made.
        outlook.BeatsNext(step("c3b5"), 0),
        beats_next("Nd5", then=0.0),
        [
            beats_next("Ke2", then=0.0),
            beats_next("Nd5", then=0.0, had=0.12),
            beats_next("Nd5", then=0.4),
            beats_next("Nd5", then=-0.4),
        ],
    ),
    # Another answer is expected, or the queen can be kept.
    (
        outlook.NextFails(
            Step(chess.Move.from_uci("e1d2"), "1.Kd2"),
            Step(chess.Move.from_uci("c7d5"), "1...Nxd5"),
            (aftermath.PicksUp(unit("Qd5"), (), ""),),
        ),
        after_others("c7d5"),
        [after_others("g8f8"), after_others("c7d5", second="e1f2")],
    ),
    # Nothing is gained by it, no rook stands there, or a check comes first.
    (
        outlook.Intends(step("b5c7"), (LATER_FORK,)),
        planned(FORKS),
        [
            planned(FORKS, 0.1),
            planned("4k2r/8/8/8/3N4/8/8/4K3 w - - 0 1"),
            planned(FORKS, reply="Ra1+"),
        ],
    ),
    (
        outlook.Scored(-230),
        scene(KNIGHTS, "Ke2", has=seen(0.4, "e8d7")),
        [scene(KNIGHTS, "Ke2", has=seen(-0.4, "e8d7"))],
    ),
    (
        outlook.Marked(Label.BLUNDER),
        scene(KNIGHTS, "Ke2", seen(0.4, "e1d2"), seen(0.0, "e8d7")),
        [scene(KNIGHTS, "Ke2", seen(0.2, "e1d2"), seen(0.0, "e8d7"))],
    ),
    # The pawn takes it.
    (
        outlook.Develops(unit("Ba6")),
        scene("4k3/8/8/8/8/8/8/4KB2 w - - 0 1", "Ba6"),
        [scene("4k3/1p6/8/8/8/8/8/4KB2 w - - 0 1", "Ba6")],
    ),
    (
        outlook.NearsGoal(unit("Pd6"), 2),
        scene(RUNS, "d6"),
        [scene(RUNS.replace("4k3/8", "4k3/2p5"), "d6")],
    ),
    (
        outlook.Names("French Defense"),
        scene(chess.STARTING_FEN, "(e4) e6"),
        [scene(chess.STARTING_FEN, "(e4) e5")],
    ),
    # Either rook mates.
    (
        outlook.OnlyMate(),
        scene(BACK_RANK, "Ra8#"),
        [scene(BACK_RANK.replace("R5K1", "RR4K1"), "Ra8#")],
    ),
    # A queen covers g7, on which no pawn stands.
    (
        outlook.NoEscape((chess.F7, chess.G7, chess.H7), (chess.F8, chess.H8)),
        scene(BACK_RANK, "Ra8#"),
        [scene("6k1/5p1p/8/8/3Q4/8/8/R5K1 w - - 0 1", "Ra8#"), scene(BACK_RANK, "Ra7")],
    ),
    (
        GivesUp(unit("Qb8"), (5,), (), "mate", 1, line="16...Nxb8 17.Rd8#"),
        scene(PARIS, "Qb8+ Nxb8 Rd8#", seen(0.4, "b3b8"), seen(-1.0, "d7b8", mate=-1)),
        [scene(PARIS, "Qb8+ Nxb8 Rd8#", seen(0.4, "b3b8"), seen(0.9, "d7b8"))],
    ),
    # The knight forks, and the rook falls two moves later; a bishop guards it.
    (
        outcomes.ComesOut((4,), (), "1...Kf8 2.Nc7 Kg7 3.Nxa8"),
        scene(FORKS, "Nb5 Kf8 Nc7 Kg7 Nxa8 Kf6"),
        [scene(FORKS.replace("3N4", "3Nb3"), "Nb5 Kf8 Nc7 Kg7 Nxa8 Bxa8")],
    ),
    (
        outcomes.ComesOut((4,), (), "1...Kf8 2.Nc7 Kg7 3.Nxa8", main=True),
        scene(FORKS, "Nb5 Kf8 Nc7 Kg7 Nxa8 Kf6"),
        [scene(FORKS.replace("3N4", "3Nb3"), "Nb5 Kf8 Nc7 Kg7 Nxa8 Bxa8")],
    ),
    # The longer look agrees, or sees no mate.
    (
        outcomes.MatesLater(7),
        replace(scene(BACK_RANK, "Kf2", has=seen(-1.0, mate=-8)), analysis=MATED),
        [
            replace(scene(BACK_RANK, "Kf2", has=seen(-1.0, mate=-8)), analysis=LEVEL),
            replace(scene(BACK_RANK, "Kf2", has=seen(-0.9)), analysis=MATED),
        ],
    ),
    # The king on h8 has to go back and forth; the last check comes from another square.
    (
        outlook.Draws("check", "1...Kh7 2.Qf7+ Kh8 3.Qf8+ Kh7"),
        scene(PERPETUAL, "Qf8+ Kh7 Qf7+ Kh8 Qf8+ Kh7"),
        [scene(PERPETUAL, "Qf8+ Kh7 Qf7+ Kh8 Qe8+ Kh7")],
    ),
    # The rook has to leave the bishop every time; kings that go to and fro force nothing.
    (
        outlook.Draws("repetition", "1...Rd8 2.Bg5 Rf8 3.Bh6 Rd8"),
        scene("5r2/k7/8/6B1/8/8/8/K7 w - - 0 1", "Bh6 Rd8 Bg5 Rf8 Bh6 Rd8"),
        [scene("5r2/k7/8/6B1/8/8/8/K7 w - - 0 1", "Kb1 Kb7 Ka1 Ka7 Kb1 Kb7")],
    ),
    # A check is missing.
    (
        outlook.Draws("main", "1...Kg8 2.Qd7 Kh8 3.Qd8+ Kh7 4.Qd7+ Kh8 5.Qd8+ Kh7"),
        scene(PERPETUAL, "Qe7 Kg8 Qd7 Kh8 Qd8+ Kh7 Qd7+ Kh8 Qd8+ Kh7"),
        [scene(PERPETUAL, "Qe7 Kg8 Qd7 Kh8 Qd8+ Kh7 Qd1 Kh8 Qd8+ Kh7")],
    ),
    (
        outlook.Draws("stalemate"),
        scene("5k2/5P2/4K3/8/8/8/8/8 w - - 0 1", "Kf6"),
        [scene("5k2/5P2/4K3/8/8/8/8/8 w - - 0 1", "Ke5")],
    ),
    # Bishop and queen attack beside the bare king, or the queen alone.
    (
        outcomes.OpensUp("1...gxh6 2.Qxh6"),
        scene(BARE, "Bxh6 gxh6 Qxh6 f6 h3 Ra7 h4 Rfa8"),
        [scene(BARE, "Bxh6 gxh6 Qxh6 f6 Be2 Ra7 h4 Rfa8"), scene(BARE, "h3 Ra7 h4 Rfa8")],
    ),
    # The king may take the rook, whatever comes of it.
    (
        aftermath.PicksUp(unit("rd6"), (), "44...Ka6 45.Rxd6"),
        scene(BESIDE.replace("2kp4", "k2p4"), "b4+ Ka6 Rxd6 Kb7 Rd7+ Kc6"),
        [scene(BESIDE, "b4+ Kc6 Rxd6+ Kb7 Nxd5 b5 g5 Rh4 Kd3")],
    ),
    # The king comes too late, or takes the pawn next.
    (
        outcomes.Runs(unit("Pb7")),
        scene("8/6k1/1P6/8/8/8/8/4K3 w - - 0 1", "b7 Kf7 Kd2 Ke7 Kd3"),
        [scene("4k3/8/1P6/8/8/8/8/4K3 w - - 0 1", "b7 Kd7 Kd2 Kc7 Kc3")],
    ),
    # It castles, or might have before the check; only a rook moves.
    (
        outcomes.Uncastles("1...Kf7"),
        scene(RIGHTS, "Qe4+ Kf7 Qf3+ Ke7 Kd2 Rhb8"),
        [
            scene(RIGHTS, "Qd3 O-O Kd2 Rab8"),
            scene(RIGHTS, "Qd3 Rab8 Qe4+ Kf7 Qf3+ Ke7 Kd2 Rhd8"),
            scene(RIGHTS.replace("kq", "-"), "Qe4+ Kf7"),
            scene(RIGHTS.replace("kq", "q"), "Qd3 Rab8 Kd2 Rf8"),
        ],
    ),
    # The queens go, or stay; or nobody is winning.
    (
        outcomes.TradesQueens("39...Qxd4 40.Rxd4"),
        scene(HEAVY, "Qd4+ Qxd4 Rxd4 Kf6", seen(0.8)),
        [scene(HEAVY, "Qg2 Kh6 Qh2+ Kg7", seen(0.8)), scene(HEAVY, "Qd4+ Qxd4 Rxd4", seen(0.2))],
    ),
    # The own king is the more open one, or the other.
    (
        outcomes.TradesQueens("1...Qe7 2.Qxe7+ Kxe7", "king"),
        scene("3qk3/pppp1ppp/8/8/8/8/P6P/3QK3 w - - 0 1", "Qe2+ Qe7 Qxe7+ Kxe7 Kd2 d5 Kd3"),
        [scene("3qk3/p6p/8/8/8/8/PPPP1PPP/3QK3 w - - 0 1", "Qe2+ Qe7 Qxe7+ Kxe7 Kd1 Kd7 h3")],
    ),
    # Who is better has no need of it; bishops on the same colour, or rooks, which leave the king.
    (
        outcomes.TradesQueens("1...Bxf3", "bishops"),
        scene(OPPOSITE, "Qxf3 Bxf3 Kd2 Kg8 Kc3 Kh7", seen(-0.3)),
        [
            scene(OPPOSITE, "Qxf3 Bxf3 Kd2 Kg8 Kc3 Kh7", seen(0.3)),
            scene(OPPOSITE.replace("3Bpp", "2B1pp"), "Qxf3 Bxf3 Kd2 Kg8 Kc3 Kh7", seen(-0.3)),
            scene(OPPOSITE.replace("4K3", "R3K3"), "Qxf3 Bxf3 Kd2 Kg8 Kc3 Kh7", seen(-0.3)),
        ],
    ),
    (
        aftermath.PicksUp(unit("Pe4"), (), "43.Ke2 Rxe4+", main=True),
        scene(DOWN, "Rf4+ Ke2 Rxe4+ Kd3 Rf4"),
        [scene(DOWN, "Rf4+ Ke2 Rf8 Kd3 Rf4")],
    ),
    # The king turns away from it, or the rook takes it.
    (
        endings.StopsPassed(unit("Ph6"), "2.Ke2 Kg5 3.Kd3 Kxh6"),
        scene(MARCH, "Kf6 Ke2 Kg5 Kd3 Kxh6 Kxd4"),
        [
            scene(MARCH, "Kf6 Ke2 Kg5 Kd3 Kg4 Kxd4"),
            scene(MARCH, "Kf6 Ke2 Rh7 Kd3 Rxh6 Kxd4"),
        ],
    ),
    # The check is none, so that it is lost if it is taken back.
    (
        aftermath.Takes(unit("nh6")),
        scene(SHOT, "Bxh6 O-O"),
        [scene(SHOT.replace("1p3p1n", "1p5n").replace("nb1pp", "nbppp"), "Bxh6 O-O")],
    ),
    # Nothing is taken; the rook is lost for another pawn. A knight is traded.
    (
        aftermath.PicksUp(unit("Pe4"), (), "43.Ke2 Rxe4+"),
        scene(DOWN, "Rf4+ Ke2 Rxe4+ Kd3 Rf4"),
        [
            scene(DOWN, "Rf4+ Ke2 Rf8 Kd3 Rf4"),
            scene(DOWN, "Rh3+ Kg2 Rxc3 bxc3 Kxe4 Kg3"),
        ],
    ),
    # A pawn falls on the way; the rook is left where it is; the queen falls on the way.
    (
        aftermath.PicksUp(unit("ra8"), (), "12...Ke7 13.Qb4+ Qd6 14.Qxb7+ Ke8 15.Qxa8+"),
        scene(CORNER, f"{TO_CORNER} Qxa8+ Ke7 Qxa7+"),
        [
            scene(CORNER, f"{TO_CORNER} Qa6 Kd8 Qb7"),
            scene(CORNER, f"{TO_CORNER} Nc6 Qd7 Qxa8+ Qd8 Nxd8"),
        ],
    ),
    (
        aftermath.PicksUp(unit("qd5"), (3,), ""),
        scene("4k3/8/4p3/3q4/8/5B2/8/4K3 w - - 0 1", "Bxd5 exd5 Kd2 Kd7"),
        [scene("4k3/8/4p3/3n4/8/5B2/8/4K3 w - - 0 1", "Bxd5 exd5 Kd2 Kd7")],
    ),
    # A rook is taken for it elsewhere.
    (
        aftermath.PicksUp(unit("qd5"), (), ""),
        scene("4k3/8/b7/3q4/8/2N5/8/4K2R w - - 0 1", "Nxd5 Bb5 Kf2 Kd7 Ke3"),
        [scene("4k3/8/8/3q4/8/2N5/6b1/4K2R w - - 0 1", "Nxd5 Bxh1 Kf2 Kd7 Ke3")],
    ),
    (
        aftermath.Takes(unit("qd5")),
        scene(LOOSE, "Rxd5 Ke7"),
        [
            scene("4k3/8/4p3/3q4/8/8/3R4/4K3 w - - 0 1", "Rxd5 exd5"),
            scene("4k3/8/8/3q4/3P4/8/3R4/4K3 b - - 0 1", "(Qxd4) Rxd4 Ke7"),
        ],
    ),
    # A knight is taken back, or a bishop falls for it.
    (
        aftermath.Takes(unit("ne4")),
        scene("6k1/8/8/8/4P3/2n2P2/8/6K1 b - - 0 1", "(Nxe4) fxe4 Kg7"),
        [
            scene("6k1/8/8/8/4N3/2n2P2/8/6K1 b - - 0 1", "(Nxe4) fxe4 Kg7"),
            scene("6k1/8/8/8/R3n3/5p2/4B3/5K2 w - - 0 1", "Rxe4 fxe2+ Kxe2"),
        ],
    ),
    # What it becomes is taken.
    (
        aftermath.Queens("1...Kg7 2.a8=Q"),
        scene("7k/8/P7/8/8/8/8/4K3 w - - 0 1", "a7 Kg7 a8=Q Kf6 Ke2"),
        [
            scene("7k/8/P7/8/8/8/r7/4K3 w - - 0 1", "a7 Kg7 a8=Q Rxa8 Ke2"),
            scene("7k/8/P7/8/8/8/8/4K3 w - - 0 1", "a7 Kg7 Ke2 Kf6 Ke3"),
        ],
    ),
    # The queen comes to where it is attacked, takes something as it goes, or stays.
    (
        aftermath.GainsTime(unit("Rc1"), "31.Kh2 b2"),
        scene(RUNNER, "b3 Kh2 b2 Rb1 Qa1"),
        [
            scene(HUNTED, "dxe5 Qxe5 Bd6 Qg5 O-O O-O Qc7 Qh4 b4"),
            scene(HUNTED, "dxe5 Qxe5 Bd6 Qxe6+ fxe6 Bxe6 Qe7"),
            scene(HUNTED, "dxe5 Qxe5 Be7 O-O O-O Rd1 Qb6"),
        ],
    ),
    # It was passed before, is attacked in the end, or queens are on.
    (
        aftermath.LeavesPassed(unit("Pd5"), "1...Kf7 2.Kf2 Ke7 3.exd5"),
        scene(LEVER, "Kf1 Kf7 Kf2 Ke7 exd5 Kf6 Ke3 a5 Kd4"),
        [
            scene(LEVER.replace("3p4", "8"), "Kf1 Kf7 Kf2 Ke7 e5 Ke6 Ke3 a5"),
            scene(LEVER, "Kf1 Kf7 Kf2 Ke7 exd5 Kd6 Ke3 a5"),
            scene(LEVER.replace("6K1", "1q3QK1"), "Kh2 Kg7 Qg1+ Kf7 exd5 Kf6 Kh3 a5"),
        ],
    ),
    # There is nothing to aim at, or the rook goes away again.
    (
        aftermath.Invades(chess.D7, "1...h6 2.Rd7"),
        scene(ENTERS, "Rd1 h6 Rd7 b6 h3 a5 g3"),
        [
            scene("8/8/ppp2k1p/6p1/8/8/5PPP/R5K1 w - - 0 1", "Rd1 h5 Rd7 b5 h3 a5 g3"),
            scene(ENTERS, "Rd1 h6 Rd7 b6 Rd1 a5 g3"),
        ],
    ),
    # A pawn can drive the knight away, it goes back by itself, or the outpost was there.
    (
        aftermath.Settles(chess.D6, "1...h6 2.Ne4 a6 3.Nd6"),
        scene(SETTLES, "e5 h6 Ne4 a6 Nd6 a5 f4 h5 g3"),
        [
            scene(SETTLES.replace("p6p", "p1p4p"), "e5 h6 Ne4 a6 Nd6 a5 f4 h5 g3"),
            scene(SETTLES, "e5 h6 Ne4 a6 Nd6 a5 Ne4 h5 g3"),
            scene(SETTLES.replace("8/4P3", "4P3/8"), "Kd2 h6 Ne4 a6 Nd6 a5 f4 h5 g3"),
        ],
    ),
    # It costs two pawns, or a knight may take back.
    (
        aftermath.Doubles(5, "12...Bxc5 13.Bxf6 gxf6"),
        scene(TWO_TRADES, TWICE),
        [
            scene(TWO_TRADES.replace("2np", "2pp"), TWICE),
            scene(TWO_TRADES.replace("1pq2", "1pqn1"), TWICE),
        ],
    ),
    # A piece takes back, or there is no other pawn on the file.
    (
        aftermath.Doubles(0, "1...bxa6"),
        scene(DOUBLED, "Qxa6 bxa6 Kf1 Kd7 Ke2 Kd6 Kd3"),
        [
            scene(DOUBLED.replace("4k3", "r3k3"), "Qxa6 Rd8 Qxb7 Kf8 Kf1 Kg8"),
            scene(DOUBLED.replace("pp6", "1p6"), "Qxa6 bxa6 Kf1 Kd7 Ke2 Kd6 Kd3"),
        ],
    ),
    # One of them is taken later, but it is taken at once.
    (
        aftermath.Doubles(0, "1...bxa6"),
        scene(DOUBLED.replace("6K1", "R5K1"), "Qxa6 bxa6 Kf1 Kd7 Rxa6 Kc7 Rxa7+"),
        [scene(DOUBLED.replace("6K1", "R5K1"), "Qxa6 bxa6 Rxa6 Kd7 Rxa7+ Kd6 Kf1")],
    ),
    (
        changed.TakesSquare(unit("Ra2"), chess.A1),
        scene("4r1k1/8/8/8/8/7K/R7/8 b - - 0 1", "Re1"),
        [
            scene("4r1k1/8/8/8/8/7K/R7/8 b - - 0 1", "Re2"),
            scene("4r1k1/8/8/8/8/7K/R2Q4/8 b - - 0 1", "Re1"),
        ],
    ),
    # The bishop stays, or there was only one before.
    (
        aftermath.GetsBishops("1...Bxf3 2.Bxf3"),
        scene(BISHOPS, "h3 Bxf3 Bxf3 c6 c3 h6 b3"),
        [
            scene(BISHOPS, "h3 Bh5 c3 c6 b3 h6"),
            scene(BISHOPS.replace("1bppp", "2ppp"), "h3 Bxf3 Bxf3 c6 c3 h6 b3"),
        ],
    ),
    # The king steps back.
    (
        aftermath.DrivesOut(chess.C6, "1...Kd7 2.Qd1+ Kc6"),
        scene(DRIVEN, "Qe2+ Kd7 Qd1+ Kc6 Kh1 h6 Kg1 g6"),
        [scene(DRIVEN, "Qe2+ Kd7 Qd1+ Ke8 Kh1 h6 Kg1 g6")],
    ),
    (
        aftermath.Castles("1...Rb8 2.O-O"),
        scene("r3k3/8/8/8/8/8/5PPP/4KB1R w K - 0 1", "Bd3 Rb8 O-O"),
        [
            scene("r3k3/8/8/8/8/8/5PPP/4KB1R w K - 0 1", "Bd3 Rb8 Kd2"),
            scene("r3k3/8/8/8/8/3B4/5PPP/4K2R w K - 0 1", "Be2 Rb8 O-O"),  # at once, too
        ],
    ),
    (
        outcomes.TakesBack(unit("pd5")),
        scene("4k3/8/4p3/3p4/8/2N5/8/4K3 w - - 0 1", "(Nxd5) exd5"),
        [scene("4k3/8/4p3/3p4/8/2N5/8/4K3 w - - 0 1", "(Nxd5) e5")],
    ),
    # The knight has to go, or stays.
    (
        outcomes.HitsAgain(unit("Nd5")),
        scene("4k3/2p5/8/8/8/2N5/8/4K3 w - - 0 1", "(Nd5) c6 Nc3"),
        [scene("4k3/2p5/8/8/8/2N5/8/4K3 w - - 0 1", "(Nd5) c6 Ke2")],
    ),
    # Other moves win, too; a pawn is promoted; what is given comes back with the next move.
    (
        grades.Graded(Grade.BRILLIANT),
        scene(PARIS, SMOTHERS, seen(0.4, "b3b8", second=-0.2), seen(-1.0, "d7b8", mate=-1)),
        [
            scene(PARIS, SMOTHERS, seen(0.9, "b3b8", second=0.7), seen(-1.0, "d7b8", mate=-1)),
            scene("8/P7/8/8/8/8/8/k1K5 w - - 0 1", "a8=Q+", seen(0.4, "a7a8q", second=-0.9), WON),
            scene(SCHOLAR, "(Nxd5) exd5", seen(0.0, "e6d5", second=-0.9), seen(0.0)),
        ],
    ),
    # Another move is nearly as good; it takes what hangs; it takes back; it is a mistake.
    (
        grades.Graded(Grade.GREAT),
        scene(QUIET, "Rd2", seen(0.1, "a2d2", second=-0.4), seen(-0.1)),
        [
            scene(QUIET, "Rd2", seen(0.1, "a2d2", second=0.0), seen(-0.1)),
            scene(LOOSE, "Rxd5", seen(0.1, "d2d5", second=-0.4), seen(-0.1)),
            scene(SCHOLAR, "(Nxd5) exd5", seen(0.0, "e6d5", second=-0.9), seen(0.0)),
            scene(QUIET, "Rd2", seen(0.5, "a2d2", second=-0.4), seen(0.1)),
            replace(
                scene(QUIET, "Rd2", seen(0.1, "a2d2", second=-0.4), seen(-0.1)), analysis=LEVEL
            ),
        ],
    ),
    # The exchange is given, and something else was a little better, or much.
    (
        grades.Graded(Grade.INTERESTING),
        scene(GAMBLES, GAMBLE, seen(0.45, "b3b7"), seen(-0.4, "d8d7")),
        [
            scene(GAMBLES, GAMBLE, seen(0.4, "d1d7"), seen(-0.4, "d8d7")),
            scene(GAMBLES, GAMBLE, seen(0.6, "b3b7"), seen(-0.4, "d8d7")),
        ],
    ),
    (
        grades.Graded(Grade.BOOK),
        scene(chess.STARTING_FEN, "e4", seen(0.1, "e2e4"), seen(-0.1)),
        [
            scene(QUIET, "Rd2", seen(0.1, "a2d2"), seen(-0.1)),
            scene(
                "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2",
                "Qh4#",
                seen(1.0, "d8h4"),
                seen(-1.0),
            ),
        ],
    ),
    (
        grades.Graded(Grade.FORCED),
        scene("4k3/8/8/8/8/8/5P1P/r5K1 w - - 0 1", "Kg2"),
        [scene("4k3/8/8/8/8/8/5P2/r5K1 w - - 0 1", "Kg2")],
    ),
    # The gift is kept, in part; or the game was won before.
    (
        grades.Graded(Grade.MISS),
        replace(scene(QUIET, "Rb2", seen(0.5, "a2d2"), seen(0.0)), was=seen(0.0)),
        [
            replace(scene(QUIET, "Rb2", seen(0.7, "a2d2"), seen(-0.4)), was=seen(0.0)),
            replace(scene(QUIET, "Rb2", seen(0.5, "a2d2"), seen(0.0)), was=seen(-0.5)),
            scene(QUIET, "Rb2", seen(0.5, "a2d2"), seen(0.0)),
        ],
    ),
    (
        grades.OnlyGood(2),
        scene(QUIET, "Rd2", seen(0.7, "a2d2", second=0.2), seen(-0.7)),
        [
            scene(QUIET, "Rd2", seen(0.7, "a2d2", second=0.6), seen(-0.7)),
            scene(QUIET, "Rd2", seen(0.05, "a2d2", second=-0.4), seen(-0.05)),
        ],
    ),
    # It turns out to win.
    (
        grades.OnlyGood(0),
        scene(QUIET, "Rd2", seen(0.05, "a2d2", second=-0.4), seen(-0.05)),
        [scene(QUIET, "Rd2", seen(0.05, "a2d2", second=-0.4), seen(-0.7))],
    ),
]


def claims_there_are() -> Iterator[type[Claim]]:
    """All classes of claims; a feature's proof is its finder's, which has a table of its own."""
    for module in pkgutil.iter_modules(claims.__path__):
        importlib.import_module(f"{claims.__name__}.{module.name}")
    waiting = [Claim]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            is_ours = kind.__module__.startswith(claims.__name__)
            sorts = (Feature, Judged, outcomes.LineEnd, grades.OfTrap)  # which others are kinds of
            if kind not in sorts and is_ours:
                yield kind


@pytest.mark.parametrize("kind", [*dict.fromkeys(claims_there_are())])
def test_each_claim_has_a_true_and_a_false_case(kind: type[Claim]) -> None:
    cases = [false for claim, _, false in CASES if type(claim) is kind]
    assert cases
    assert any(cases)


@pytest.mark.parametrize(("claim", "true", "false"), CASES, ids=lambda one: type(one).__name__)
def test_a_claim_is_proved_of_its_move_and_of_no_other(
    claim: Claim, true: Scene, false: list[Scene]
) -> None:
    assert claim.proved(true)
    assert [look_alike.before.fen() for look_alike in false if claim.proved(look_alike)] == []


def test_a_perpetual_check_after_a_quiet_move_is_of_the_main_line_too() -> None:
    fen = "1Q1rk2r/5ppp/p2Bp3/1p1p4/8/2q5/3N1PPP/5RK1 w k - 2 27"
    made = scene(fen, "Qb6 Qxd2 Qc6+ Rd7 Qc8+ Rd8 Qc6+")
    assert [claim.how for claim in outlook.drawn(made)] == ["check", "main"]
    assert not outlook.drawn(scene(fen, "Qb6 Qxd2 Qc6+ Rd7 Bf4 Qxf4"))


@pytest.mark.parametrize(
    ("line", "how"),
    [
        ("Qf8+ Kh7 Qf7+ Kh8 Qf8+ Kh7", "check"),
        ("Qe7 Kg8 Qd7 Kh8 Qd8+ Kh7 Qd7+ Kh8 Qd8+ Kh7", "main"),
        ("Qf8+ Kh7 Qf7+ Kh6 Qf6+ Kh5 Qf5+ Kh4 Qf4+ Kh3 Qf3+ Kh4 Qf4+ Kh3", "main"),
        ("Qe7 Kg8 Qd7 Kh8 Qd8+ Kh7 Qd1 Kh8 Qd8+ Kh7", ""),  # a check is missing
    ],
)
def test_a_perpetual_check_begins_at_once(line: str, how: str) -> None:
    """Where quiet moves come first the other side need not let the checks happen, nor far away."""
    found = [claim.how for claim in outlook.drawn(scene(PERPETUAL, line))]
    assert found[:1] == [how][: bool(how)]


def test_a_position_that_is_there_for_the_third_time_draws() -> None:
    board = chess.Board("8/r7/7k/8/8/K7/R7/8 w - - 0 1")
    for move in ["Kb3", "Rb7+", "Ka3"]:
        board.push_san(move)
    third = Scene(board, board.parse_san("Ra7+"), ())
    assert outlook.drawn(third) == []
    for move in ["Ra7+", "Kb3", "Rb7+", "Ka3"]:
        board.push_san(move)
    third = Scene(board, board.parse_san("Ra7+"), ())
    assert outlook.drawn(third) == [outlook.Draws("repetition")]


def test_a_king_is_no_decoy_that_is_mated_wherever_it_goes() -> None:
    fen = "1r4k1/p4rb1/3pp3/2p5/4P3/PpPP4/BP4q1/1K4RR b - - 1 25"
    made = scene(fen, "bxa2+ Kxa2 Qxb2#")
    assert not tactic.Attracts(unit("Kb1"), chess.A2, step("g2b2")).proved(made)


def test_double_check_takes_two() -> None:
    rook = unit("Re1")
    assert not tactic.DoubleCheck(rook, rook).proved(scene(DISCOVERS, "Ng5+"))


@pytest.mark.parametrize(
    ("moves", "won"), [("dxe4", ((5,), (1,))), ("dxe4 Kf2 Kh8", None), ("Kh8 Kf2 Kg8", ((5,), ()))]
)
def test_what_was_lost_before_quiet_moves_is_no_part_of_an_exchange(
    moves: str, won: tuple[tuple[int, ...], tuple[int, ...]] | None
) -> None:
    board = chess.Board("6k1/2q5/8/3p4/4P3/8/8/2R3K1 b - - 0 1")
    for san in moves.split():
        board.push_san(san)
    assert merit.exchanged(Scene(board, chess.Move.from_uci("c1c7"), ())) == won


def test_queens_are_traded_for_a_king_that_is_clearly_the_more_open_one() -> None:
    trade = "Nxc6 bxc6 Bxc5 dxc5 Qxd8+ Kxd8 Nc3 Nf6"
    shut = "r1bqk1nr/ppp2ppp/2np4/2b5/3NP3/4B3/PPP2PPP/RN1QKB1R w KQkq - 0 6"
    assert not outcomes.without_queens(scene(shut, trade))  # one pawn more is missing
    (claim,) = outcomes.without_queens(scene(shut.replace("PPP2PPP", "PPP3PP"), trade))
    assert claim.why == "king"


def test_a_king_on_the_last_ranks_has_no_shelter() -> None:
    for square in (chess.E6, chess.E7, chess.E8):
        board = chess.Board(None)
        board.set_piece_at(square, chess.Piece(chess.KING, True))
        board.set_piece_at(square ^ 56, chess.Piece(chess.KING, False))
        assert [exposure(board, white) for white in (True, False)] == [5, 5]


@pytest.mark.parametrize(("answer", "kept"), [("d5c3", True), ("e1e2", False), ("d5b6", False)])
def test_a_piece_is_hit_again_where_it_has_to_go(answer: str, kept: bool) -> None:
    """It may stay where it is, or take something."""
    hit = scene("4k3/2p5/1p6/8/8/2N5/8/4K3 w - - 0 1", "(Nd5) c6 Nc3")
    again = outcomes.HitsAgain(unit("Nd5"))
    assert again.proved(hit)
    assert again.is_kept(replace(hit, analysis=where_legal(answer))) is kept


@pytest.mark.parametrize(
    ("line", "told"),
    [("Rh1 Ka7 Rxh7+ Kb6 Kb2 Kb5", True), ("Rg5 h5 Rxh5 Kb7 Kb2 Kc7", False)],
)
def test_a_pawn_that_comes_to_where_it_is_taken_is_no_gain(line: str, told: bool) -> None:
    assert bool(outcomes.outcome(scene("k7/7p/8/8/8/8/8/K5R1 w - - 0 1", line))) is told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Rg2 Kb8 Rh2 Ka8 Rxh7 Kb8 Rg7 Ka8", True),
        ("Rg2 Kb8 Rg1 Ka8 Rg2 Kb8 Rh2 Ka8 Rxh7 Kb8 Rg7", False),
    ],
)
def test_a_pawn_that_falls_much_later_is_no_gain_of_the_move(line: str, told: bool) -> None:
    assert bool(outcomes.outcome(scene("k7/7p/8/8/8/8/8/K5R1 w - - 0 1", line))) is told


@pytest.mark.parametrize("level", LEVELS)
def test_that_a_better_move_stops_the_mate_is_said_first_and_once(level: Level) -> None:
    fen = "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 3 3"
    had, has = seen(0.0, "g7g6", "h5d1", "g8f6", "b1c3"), seen(1.0, "h5f7", mate=1)
    chosen = select(scene(fen, "Nf6 Qxf7#", had, has), Memory(), level)
    (better,) = (claim for claim in chosen.claims if isinstance(claim, fault.Better))
    assert [type(claim) for claim in better.why] in ([fault.Prevents], [merit.Parries])


def test_what_both_moves_do_is_no_reason_for_the_better_one() -> None:
    fen = "4k3/8/8/8/3r4/2P1P3/8/4K3 w - - 0 1"
    made = scene(fen, "cxd4", seen(0.5, "e3d4"), seen(0.0, "e8d7"))
    other = scene(fen, "Kf2", seen(0.5, "e3d4"), seen(0.0, "e8d7"))
    better = [select(one, Memory(), "club").better for one in (made, other)]
    assert [tactic.TakesLoose(unit("rd4")) in claims for claims in better] == [False, True]


@pytest.mark.parametrize(("move", "named"), [("Qb1", False), ("Kf1", True)])
def test_that_an_attacked_piece_goes_away_is_no_reason_where_it_went_elsewhere(
    move: str, named: bool
) -> None:
    fen = "2rqk2r/pb1nnpb1/1p2p1pp/3pP3/3P2P1/N2BBN2/PPQ2P1P/R3K2R w KQk - 1 13"
    made = scene(fen, move, seen(0.3, "c2e2"), seen(0.1, "a7a6"))
    better = select(made, Memory(), "club").better
    assert any(getattr(claim, "name", "") == "steps_away" for claim in better) is named


def test_nothing_slight_is_the_answer_to_a_move_that_costs_much() -> None:
    fen = "r3kb1r/1b1n2pp/p2pN3/1p1N4/5P1q/4B3/PPP3PP/R2Q3K w kq - 2 16"
    made = scene(fen, "f5 Rc8", seen(0.15, "d1f3"), seen(0.1, "a8c8"))
    found = (reasons(made.other, "club", 3), select(made, Memory(), "club").reply)
    assert ["TakesFile" in map(kind_of, claims) for claims in found] == [True, False]


def test_moves_that_are_repeated_where_a_side_is_better_are_no_draw() -> None:
    behind = PERPETUAL.replace("8/1q6", "1n6/1q6")
    checks = scene(behind, "Qf8+ Kh7 Qf7+ Kh8 Qf8+ Kh7")
    told = [ideas.rescues(replace(checks, has=seen(value))) for value in (0.0, -0.6, 0.6)]
    assert [bool(claims) for claims in told] == [True, False, False]


def test_to_win_back_what_was_taken_is_no_gain() -> None:
    fen = "r2qr1k1/pp1bb1p1/n6p/3n1p2/7B/P1NQ1N1P/1PB2PP1/R4RK1 w - - 0 18"
    back = scene(fen, "(Nxd5) Bxh4 Nxh4 Qxh4 b4 Rad8 Rad1 Kh8 Qc3 Bc8")
    assert outcomes.outcome(back) == []


def test_a_threat_that_has_become_a_fork_is_no_old_one() -> None:
    fen = "rn1q1rk1/ppp2ppp/1b6/8/3P4/2P2BP1/P3PP1P/R1BQ1RK1 b - - 0 12"
    made = scene(fen, "Na6 Bxb7 Rb8 Bxa6", seen(-0.4, "b8c6"), seen(0.8, "f3b7", "a8b8", "b7a6"))
    fork = tactic.Fork(unit("Bb7"), (unit("ra8"), unit("na6")))
    reply = Step(chess.Move.from_uci("f3b7"), "13.Bxb7")
    assert fault.Overlooks(reply) in fault.faults(made, ())
    assert fault.faults(made, (fork,)) == [fault.Allows(reply, (fork,))]


def test_a_knight_for_a_bishop_is_no_gain() -> None:
    fen = "6k1/1p3ppp/2n5/4p3/B7/5N2/5PPP/6K1 w - - 0 1"
    line = scene(fen, "Bxc6 bxc6 Nxe5 f6 Nd3 Kf7 Kf1 Ke7", has=seen(-0.5))
    assert outcomes.outcome(line) == [outcomes.ComesOut((1,), (), "1...bxc6 2.Nxe5")]


def test_two_knights_for_two_bishops_are_no_gain() -> None:
    fen = "r1b1kb1r/pp1n1ppp/1qn1p3/1BppP3/3P1P2/2N1B3/PPP3PP/R2QK1NR b KQkq - 2 8"
    line = scene(fen, "cxd4 Bxc6 dxe3 Bxd7+ Bxd7 Nge2 h5 Qd3 Bc5 h3 h4")
    assert {(claim.won, claim.lost) for claim in outcomes.outcome(line)} == {((chess.PAWN,), ())}


def test_what_a_line_leaves_has_to_come_at_each_choice() -> None:
    claim, made, _ = next(case for case in CASES if isinstance(case[0], aftermath.Settles))
    moves = [str(move) for move in (made.move, *made.follow)]
    plies = {board.fen(): ply for ply, board in enumerate(made.boards)}

    def told(at: int, *other: str) -> bool:
        def look(board: chess.Board, _: int) -> Evaluation:
            ply = plies.get(board.fen(), len(moves))
            return seen(0.0, *(other if ply == at else moves[ply:]))

        return is_confirmed(claim, replace(made, analysis=seen_by(look)))

    assert told(-1)
    assert not told(1, "d8c8", "c3a4", "c8c7", "a4c3", "c7c8", "c3a4")


def test_a_piece_is_named_that_falls_at_each_choice() -> None:
    """Where Black may lose the bishop in place of the rook, the line does not win a rook."""
    made = scene("r3k1nb/8/6N1/2p4P/1P1N4/8/8/4K3 w - - 0 1", "Nb5 Kf7 Nc7 Kg7 Nxa8")
    claim = outcomes.ComesOut((4,), (), "1...Kf7 2.Nc7 Kg7")
    ends = ("e8f7", "b5c7", "f7g7", "c7a8", "g7f6", "b4c5")

    def told(*later: str) -> bool:
        lines = dict(zip([board.fen() for board in made.boards[1:4:2]], (ends, later), strict=True))
        looks = seen_by(lambda board, _: seen(-0.9, *lines.get(board.fen(), ())))
        return claim.is_kept(replace(made, analysis=looks))

    assert told("f7g7", "c7a8", "g7f6", "b4c5")
    assert not told("a8a2", "g6h8", "f7e7", "b4c5")


def test_what_a_line_wins_is_said_where_a_long_look_keeps_it() -> None:
    line = "Nb5 Kf8 Nc7 Kg7 Nxa8 Kf6 bxc5 Ke7"
    made = scene("r3k3/8/8/2p5/1P1N4/8/8/4K3 w - - 0 1", line, has=seen(-0.9))
    claim = outcomes.ComesOut((4, 1), (), "1...Kf8 2.Nc7 Kg7 3.Nxa8 Kf6 4.bxc5")

    def told(*answer: str) -> bool:
        def look(board: chess.Board, _times: int) -> Evaluation:
            answers = dict(zip(choices, (answer, later, ("g7f6", "b4c5")), strict=True))
            return seen(-0.5, *answers.get(board.fen(), ()))

        return is_confirmed(claim, replace(made, analysis=seen_by(look)))

    choices = [board.fen() for board in made.boards[1:6:2]]
    later: tuple[str, ...] = ("f8g7", "c7a8", "g7f6", "b4c5")
    assert told("e8f8", "b5c7", "f8g7", "c7a8", "g7f6", "b4c5")
    assert told("e8f8", "b5c7", "f8g7", "c7a8", "c5c4", "a8b6")  # it may cost a pawn
    assert not told("e8d7", "b5c3", "a8h8", "e1e2", "h8h3", "c3d5")
    later = ("a8a2", "b4c5", "a2a5", "c5c6")  # the rook need not be lost
    assert not told("e8f8", "b5c7", "f8g7", "c7a8", "g7f6", "b4c5")
    assert outcomes.outcome(made) == [claim]


@pytest.mark.parametrize(("earlier", "back"), [("Be5 Ke2 Bxh2 Kd1 Bg1", True), ("Be5", False)])
def test_what_makes_up_for_a_recent_loss_wins_back(earlier: str, back: bool) -> None:
    board = chess.Board("r3k2b/8/8/8/3N4/8/7R/4K3 b - - 0 1")
    for san in earlier.split():
        board.push_san(san)
    after = board.copy()
    moves = [after.push_san(san) for san in ["Nb5", "Kf8", "Nc7", "Kg7", "Nxa8", "Kf6"]]
    made = Scene(board, moves[0], tuple(moves[1:]))
    told = outcomes.outcome(made)
    assert [(claim.back, claim.won) for claim in told] == [(back, (4,))]
    text = Speaker().sentence_of(made, told[0])
    assert ("wins back a rook" in text) is back


def test_a_move_to_the_square_of_another_is_no_way_to_prevent_it() -> None:
    claim = fault.Prevents(step("d7d5"))
    assert not claim.proved(scene("4k3/3p4/8/8/3P4/8/8/4K3 w - - 0 1", "d5"))
    assert claim.proved(scene("4k3/3p4/8/8/5B2/8/8/4K3 w - - 0 1", "Bd6"))


@pytest.mark.parametrize(("move", "was_threatened"), [("Ke2", False), ("Kc1", True)])
def test_what_gives_check_only_now_was_not_threatened(move: str, was_threatened: bool) -> None:
    made = scene("4k3/8/8/r3N3/8/8/8/3K4 w - - 0 1", f"{move} Rxe5")
    assert fault.Overlooks(step("a5e5")).proved(made) is was_threatened


@pytest.mark.parametrize(("line", "lost"), [("Nxc4", True), ("Kd7", False)])
def test_a_pawn_that_is_traded_is_not_lost(line: str, lost: bool) -> None:
    """The knight could take it in the end, and does so in one of the lines."""
    made = scene("4k3/8/1n6/3p4/8/1P6/2P5/4K3 w - - 0 1", f"c4 dxc4 bxc4 {line} Ke2")
    assert fault.EnPrise(unit("Pc4"), step("d5c4")).proved(made) is lost


def test_a_gain_is_counted_where_no_exchange_is_under_way() -> None:
    fen = "4r1k1/1pp1rppp/p1nqb3/8/5B2/3P1NP1/PPP2P1P/R2QR1K1 b - - 2 14"
    line = "(Bg4) Bxd6 Rxe1+ Qxe1 Rxe1+ Rxe1 Bxf3 Bxc7 h6 Re3 Bd5"
    lines = [claim.line for claim in outcomes.outcome(scene(fen, line))]
    assert "15...Rxe1+" not in lines


@pytest.mark.parametrize(("second", "lured"), [(0.3, True), (0.45, False)])
def test_a_guard_is_lured_where_no_other_answer_is_as_good(second: float, lured: bool) -> None:
    made = scene(AWAY, "Re8+ Kf5 Kxd5", has=seen(0.5, "e4f5", second=second))
    assert tactic.Deflects(unit("ke4"), chess.D5, unit("nd5"), False).proved(made) is lured


@pytest.mark.parametrize(("other", "kept"), [(0.3, True), (0.05, False)])
def test_a_perpetual_that_begins_quietly_leaves_no_choice(other: float, kept: bool) -> None:
    """The queen goes to f8 by f3 without a check; what is seen of other answers decides."""
    fen = "7k/6pp/8/8/8/8/5Q2/K6q w - - 0 1"
    made = scene(fen, "Ka2 h6 Qf8+ Kh7 Qf5+ Kh8 Qf8+ Kh7")
    claim = outlook.Draws("check")
    answer = replace(seen(0.0, "h7h6"), other=seen(-other, "g7g5"))
    looks = seen_by(lambda board, _: answer if board == made.after else seen(0.0))
    assert claim.is_kept(replace(made, analysis=looks)) is kept
    assert outlook.Draws("stalemate").is_kept(replace(made, analysis=looks))


def test_of_minor_pieces_the_kind_that_is_taken_is_what_is_won() -> None:
    theirs, own = Counter({chess.KNIGHT: 1, chess.BISHOP: 1}), Counter({chess.KNIGHT: 1})
    assert net(theirs, own, unit("Ng5")) == {chess.KNIGHT: 1}
    assert net(theirs, own, unit("Bg5")) == net(theirs, own, None) == {chess.BISHOP: 1}
    assert net(Counter({chess.BISHOP: 1}), Counter(), unit("Ng5")) == {chess.BISHOP: 1}
    made = scene("6k1/8/8/2b5/4N3/8/8/6K1 w - - 0 1", "Nxc5")
    assert net(Counter({chess.PAWN: 1}), Counter(), made.captured) == {chess.PAWN: 1}
