"""Plain features on positions that show them, and on look-alikes that do not."""

import chess
import pytest

from kibitz.comment.claims.activity import FINDERS as ACTIVITY_FINDERS
from kibitz.comment.claims.features import FINDERS
from kibitz.comment.claims.structure import FINDERS as PAWN_FINDERS
from kibitz.comment.facts import Scene
from kibitz.comment.prover import Prover


@pytest.fixture(scope="module")
def prover() -> Prover:
    return Prover()


def scene(prover: Prover, fen: str, *line: str) -> Scene:
    board = chess.Board(fen)
    after = board.copy()
    moves = [after.push_san(san) for san in line]
    return Scene(board, moves[0], tuple(moves[1:]), prover)


def names(prover: Prover, fen: str, *line: str) -> set[str]:
    one = scene(prover, fen, *line)
    finders = (*FINDERS, *PAWN_FINDERS, *ACTIVITY_FINDERS)
    return {found.name for find in finders for found in find(one)}


CASES: list[tuple[str, str, list[str]]] = [
    ("battery", "5rk1/5ppp/8/8/8/3B4/8/2Q3K1 w - - 0 1", ["Qb1"]),
    ("doubled_rooks", "6k1/5ppp/8/8/8/3R4/5PPP/R5K1 w - - 0 1", ["Rad1"]),
    ("connected_rooks", "6k1/pppppppp/2n5/2nq4/8/5N2/PPP2PPP/R3QRK1 w - - 0 1", ["Qe2"]),
    ("blockade", "6k1/8/8/8/8/3p4/8/2B3K1 w - - 0 1", ["Bd2"]),
    ("behind_passed", "6k1/8/8/P7/8/8/7P/3R2K1 w - - 0 1", ["Ra1"]),
    ("chases", "3qk3/8/8/8/3N4/8/8/4K3 w - - 0 1", ["Nc6", "Qd6"]),
    ("strikes", "4k3/3p4/2p5/3p4/8/2P5/4P3/4K3 w - - 0 1", ["c4"]),
    ("backward", "4k3/4p3/3p4/8/2P1P3/8/8/4K3 b - - 0 1", ["e5"]),
    ("hanging_pawns", "4k3/5p2/8/8/2P5/3P4/5P2/4K3 w - - 0 1", ["d4", "Ke7", "Ke2"]),
    ("opens_file", "3rk3/8/8/3p4/4P3/8/8/3RK3 w - - 0 1", ["exd5", "Kf8", "Rd3"]),
    ("escape_square", "3r2k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", ["h3"]),
    ("king_to_centre", "4k3/5ppp/8/8/8/8/5PPP/5K2 w - - 0 1", ["Ke2"]),
    ("opposition", "8/3k4/8/4P3/2K5/8/8/8 w - - 0 1", ["Kd5"]),
    ("attacks_loose", "4k3/1p6/8/8/8/8/8/3BK3 w - - 0 1", ["Bf3", "Ke7"]),
    ("guards", "4k3/8/8/3n4/8/4P3/8/3BK3 w - - 0 1", ["Ke2"]),
    ("steps_away", "4k3/8/8/3p4/4N3/8/8/4K3 w - - 0 1", ["Nc3"]),
    ("offers_trade", "3qk3/8/8/8/8/2P5/8/2Q1K3 w - - 0 1", ["Qd2"]),
    ("centralises", "4k3/8/8/8/8/5N2/8/4K3 w - - 0 1", ["Nd4", "Ke7", "Kd2", "Kd6"]),
    ("fianchetto", "4k3/8/8/8/8/6P1/8/4KB2 w - - 0 1", ["Bg2"]),
    (
        "gains_space",
        "r1bqkbnr/pppn1ppp/4p3/3p4/3PP3/8/PPP2PPP/RNBQKBNR w KQkq - 0 1",
        ["e5", "c5", "c3", "Ne7"],
    ),
    ("unpins", "4k3/8/8/8/1b6/2N5/8/4K3 w - - 0 1", ["Kf2"]),
    (
        "closes_in",
        "r2q1rk1/pp3ppp/8/8/8/3B2R1/PP3PPP/R2Q2K1 w - - 0 1",
        ["Qh5", "a6", "a3", "b6"],
    ),
]


@pytest.mark.parametrize(("name", "fen", "line"), CASES)
def test_a_feature_is_found(prover: Prover, name: str, fen: str, line: list[str]) -> None:
    assert name in names(prover, fen, *line)


@pytest.mark.parametrize(
    ("name", "fen", "move"),
    [
        ("battery", "5rk1/5ppp/8/8/2P5/3B4/8/2Q3K1 w - - 0 1", "Qd2"),
        ("doubled_rooks", "6k1/5ppp/8/8/3P4/3R4/5PPP/R5K1 w - - 0 1", "Rad1"),
        ("behind_passed", "6k1/p7/8/P7/8/8/7P/3R2K1 w - - 0 1", "Ra1"),
        ("escape_square", "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "h3"),
        ("king_to_centre", "q3k3/5ppp/8/8/8/8/5PPP/5K2 w - - 0 1", "Ke2"),
        ("opposition", "3k4/8/8/4P3/8/2K5/8/8 w - - 0 1", "Kd4"),
        ("backward", "4k3/4p3/3p4/8/2P1P3/8/8/4K3 b - - 0 1", "e6"),
        ("attacks_loose", "4k3/1p6/2p5/8/8/8/8/3BK3 w - - 0 1", "Bf3"),
        ("guards", "4k3/8/8/8/8/4P3/8/3BK3 w - - 0 1", "Ke2"),
        ("steps_away", "4k3/8/8/8/4N3/8/8/4K3 w - - 0 1", "Nc3"),
        ("offers_trade", "3qk3/8/8/8/8/8/8/2Q1K3 w - - 0 1", "Qa1"),
        ("gains_space", "4k3/3p4/8/8/3PP3/8/8/4K3 w - - 0 1", "e5"),
    ],
)
def test_a_look_alike_is_none(prover: Prover, name: str, fen: str, move: str) -> None:
    assert name not in names(prover, fen, move)


def test_a_knight_does_not_head_for_where_it_came_from(prover: Prover) -> None:
    fen = "4k3/p7/8/8/4P3/5N2/8/4K3 w - - 0 1"
    line = ("Nh4", "Ke7", "Nf5")
    assert "heads_for" in names(prover, fen, *line)
    assert "heads_for" not in names(prover, fen.replace("8/4P3/5N2", "5N2/4P3/8"), *line)


def test_a_guard_is_not_missed_where_it_makes_no_difference(prover: Prover) -> None:
    fen = "4k3/8/3q4/8/8/4N3/8/4K3 w - - 0 1"
    assert "attacks_loose" not in names(prover, fen, "Nf5", "Qe5+")
    assert "attacks_loose" in names(prover, fen.replace("q", "b"), "Nf5", "Bc5")
