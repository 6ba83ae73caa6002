"""Plain features on positions that show them, and on look-alikes that do not."""

import chess
import pytest

from kibitz.comment.claims.features import ASKED_FINDERS, FINDERS, Finder
from kibitz.comment.claims.plain import PLAIN_FINDERS
from kibitz.comment.claims.sacrifices import desperado
from kibitz.comment.claims.structure import PAWN_FINDERS, PIECE_FINDERS
from kibitz.comment.claims.tempo import opposition
from kibitz.comment.facts import Scene, captured_by


def scene(fen: str, *line: str) -> Scene:
    """A move and those after it; moves in brackets were made before."""
    board, last, took = chess.Board(fen), None, None
    for san in line:
        if san.startswith("("):
            last = board.parse_san(san.strip("()"))
            took = captured_by(board, last)
            board.push(last)
    after = board.copy()
    moves = [after.push_san(san) for san in line if not san.startswith("(")]
    kind = took.kind if took else None
    return Scene(board, moves[0], tuple(moves[1:]), last=last, last_took=kind)


def names(fen: str, *line: str) -> set[str]:
    one = scene(fen, *line)
    finders = (*FINDERS, *ASKED_FINDERS, *PLAIN_FINDERS, *PAWN_FINDERS, *PIECE_FINDERS, opposition)
    return {found.name for find in finders for found in find(one)}


OPENING = "rnbqkbnr/pppp1ppp/4p3/8/8/5N2/PPPPPPPP/RNBQKB1R"
OPENING_OUT = "r1bqkbnr/pppp1ppp/2n1p3/8/8/5N2/PPPPPPPP/RNBQKB1R"
CASES: list[tuple[str, str, list[str]]] = [
    ("battery", "5rk1/5ppp/8/8/8/3B4/8/2Q3K1 w - - 0 1", ["Qb1"]),
    ("doubled_rooks", "6k1/5ppp/8/8/8/3R4/5PPP/R5K1 w - - 0 1", ["Rad1"]),
    ("connected_rooks", "6k1/pppppppp/2n5/2nq4/8/5N2/PPP2PPP/R3QRK1 w - - 0 1", ["Qe2"]),
    ("blockade", "6k1/8/8/8/8/3p4/8/2B3K1 w - - 0 1", ["Bd2"]),
    ("blocks_isolated", "6k1/pp3ppp/8/3p4/8/1N6/PP3PPP/6K1 w - - 0 1", ["Nd4"]),
    ("behind_passed", "6k1/8/8/P7/8/8/7P/3R2K1 w - - 0 1", ["Ra1"]),
    ("chases", "3qk3/8/8/8/3N4/8/8/4K3 w - - 0 1", ["Nc6", "Qd6"]),
    ("chases", "4k3/8/2n5/1p6/2P5/8/8/4K3 w - - 0 1", ["cxb5", "Nd4"]),
    ("strikes", "4k3/3p4/2p5/3p4/8/2P5/4P3/4K3 w - - 0 1", ["c4"]),
    ("backward", "4k3/4p3/3p4/8/2P1P3/8/8/4K3 b - - 0 1", ["e5"]),
    ("hanging_pawns", "4k3/5p2/8/8/2P5/3P4/5P2/4K3 w - - 0 1", ["d4", "Ke7", "Ke2"]),
    ("opens_file", "3rk3/8/8/3p4/4P3/8/8/3RK3 w - - 0 1", ["exd5", "Kf8", "Rd3"]),
    ("escape_square", "3r2k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", ["h3"]),
    ("king_to_centre", "4k3/5ppp/8/8/8/8/5PPP/5K2 w - - 0 1", ["Ke2"]),
    ("opposition", "8/3k4/8/4P3/2K5/8/8/8 w - - 0 1", ["Kd5"]),
    ("keeps_from", "rnbqkb1r/1p2pppp/p2p1n2/8/3NP3/2N5/PPP2PPP/R1BQKB1R w KQkq - 0 6", ["a4"]),
    (
        "keeps_from",
        "r1bq1rk1/ppp2ppp/2np1n2/2b1p3/2B1P3/2PP1N2/PP3PPP/RNBQ1RK1 w - - 2 7",
        ["h3"],
    ),
    (
        "trades_cover",
        "r1bq1rk1/pp2ppbp/2np1npB/8/3NP3/2N2P2/PPPQ2PP/R3KB1R w KQ - 0 1",
        ["Bxg7", "Kxg7", "O-O-O"],
    ),
    (
        "trades_cover",
        "r2q1rk1/pp2ppbp/3p1np1/8/3PP3/2N1B3/PP1Q1PPP/R4RK1 w - - 0 1",
        ["Bh6", "Qd7"],
    ),
    ("attacks_loose", "4k3/1p6/8/8/8/8/8/3BK3 w - - 0 1", ["Bf3", "Ke7"]),
    ("attacks_two", "4k3/8/8/n1n5/8/8/1P6/4K3 w - - 0 1", ["b4", "Ke7"]),
    ("outnumbers", "4k3/8/1n6/4N3/2n5/8/8/3RK3 w - - 0 1", ["Rc1", "Ke7"]),
    ("shuts_off", "2B5/4P1k1/8/3P4/8/8/4r1PK/8 w - - 0 1", ["Be6", "Kf6", "e8=Q"]),
    ("presses", "3qk3/8/5n2/6B1/8/7R/8/4K3 w - - 0 1", ["Rf3"]),
    # The rook stands behind its own queen on the file.
    ("presses", "3qk3/6p1/5n2/6B1/8/5Q2/8/4K2R w - - 0 1", ["Rf1"]),
    ("guards", "4k3/8/8/3n4/8/4P3/8/3BK3 w - - 0 1", ["Ke2"]),
    ("steps_away", "4k3/8/8/3p4/4N3/8/8/4K3 w - - 0 1", ["Nc3"]),
    ("steps_away", "4k3/8/2n5/8/3Q4/8/8/4K3 w - - 0 1", ["Qd3"]),
    ("guards", "4k3/8/2n5/8/3B4/8/5K2/8 w - - 0 1", ["Ke3"]),
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
    ("development", f"{OPENING} w KQkq - 0 2", ["Nc3"]),
    ("last_minor", "rnbqkbnr/pppppppp/8/8/8/2N1BN2/PPPP1PPP/R2QKB1R w KQkq - 0 1", ["Bd3"]),
    ("bars_castling", "rnbqk2r/pp3ppp/2p1pn2/8/2BP4/2P2N2/P4PPP/R1BQ1RK1 w kq - 0 1", ["Ba3"]),
    ("trades_ahead", "3r2k1/5ppp/8/8/8/8/PPP2PPP/3RR1K1 b - - 0 1", ["(Rxd1)", "Rxd1"]),
    ("connected_passed", "4k3/8/8/1p6/P1P5/8/8/4K3 w - - 0 1", ["axb5", "Kd7", "Kd2"]),
    ("heads_for", "4k3/p7/8/8/4P3/5N2/8/4K3 w - - 0 1", ["Nh4", "Ke7", "Nf5"]),
    ("backs_up", "4k3/8/1n6/8/3P4/8/8/4KB2 w - - 0 1", ["Bg2", "Kd7", "d5"]),
    ("makes_way", "2b1k3/1p6/8/8/8/8/1P6/2B1K3 w - - 0 1", ["b3", "Ke7", "Bb2"]),
    (
        "reaches_ending",
        "3r2k1/6pp/5p2/4n3/8/5N2/5PPP/3R2K1 w - - 0 1",
        ["(Nxe5)", "fxe5", "Kf1", "Kf7"],
    ),
    ("repeats", chess.STARTING_FEN, ["(Nf3)", "(Nf6)", "(Ng1)", "Ng8"]),
    ("fifty_moves", "4k3/8/8/8/8/8/8/R3K3 w - - 59 60", ["Ra2"]),
    ("imbalance", "4q1k1/8/8/8/8/8/3r4/3R1RK1 w - - 0 1", ["Rxd2", "Qe5", "Rfd1"]),
    ("bad_bishop", "4k3/1p6/8/3p1p2/1P1P1P2/8/8/2B1K3 b - - 0 1", ["b5"]),
    # What a move plainly does.
    ("meets_check", "4k3/8/8/8/4r3/8/8/4K3 w - - 0 1", ["Kd2"]),
    ("castles", "4k3/8/8/8/8/8/8/4K2R w K - 0 1", ["O-O"]),
    ("trades_evenly", "4k3/3p4/2n5/8/3N4/8/8/4K3 w - - 0 1", ["Nxc6", "dxc6"]),
    ("trades_evenly", "4k3/3p4/2n5/1B6/8/8/8/4K3 w - - 0 1", ["Bxc6", "dxc6"]),
    ("expects_trade", "3qk3/8/8/8/8/8/Q7/3RK3 w - - 0 1", ["Qd5", "Qxd5", "Rxd5"]),
    ("hits", "4k3/3p4/2n5/8/8/8/8/4KB2 w - - 0 1", ["Bb5"]),
    ("hits", "4k3/8/8/4p3/8/6P1/5P2/4K3 w - - 0 1", ["f4"]),
    ("shuns_trade", "4k3/3p4/2n5/1B6/8/P7/8/4K3 b - - 0 1", ["Nd8"]),
    ("readies_castling", "4k3/8/8/8/8/8/4B3/4KB1R w K - 0 1", ["Bg2", "Ke7", "O-O"]),
    ("goes_on", "4k3/p7/8/8/8/5N2/8/4K3 w - - 0 1", ["Nh4", "a6", "Nf5"]),
    ("goes_on", "4k3/p7/8/8/8/8/P7/4K3 w - - 0 1", ["a4", "Ke7", "a5"]),
    ("pushes_outside", "8/5pp1/3k3p/8/P3K3/6PP/5P2/8 w - - 0 1", ["a5"]),
    (
        "readies_minority",
        "r1bqrnk1/pp2bppp/2p2n2/3p2B1/3P4/2NBPN2/PPQ2PPP/R4RK1 w - - 8 11",
        ["Rab1"],
    ),
    ("faces", "3qk3/3p4/8/8/8/8/8/R3K3 w - - 0 1", ["Rd1"]),
    ("supports", "4k3/8/2b5/8/4P3/8/8/3QK3 w - - 0 1", ["Qe2"]),
    ("lets_out", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", ["g3"]),
    ("checks", "4k3/8/8/8/8/8/8/R3K3 w - - 0 1", ["Ra8+"]),
    ("takes_place", "4k3/8/8/8/8/8/2P5/R3K3 w - - 0 1", ["Rc1"]),
    ("walks_up", "4k3/8/8/8/8/8/8/R3K3 w - - 0 1", ["Kf2"]),
    ("advances", "4k3/8/8/8/8/P7/8/4K3 w - - 0 1", ["a4"]),
]


@pytest.mark.parametrize(("name", "fen", "line"), CASES)
def test_a_feature_is_found(name: str, fen: str, line: list[str]) -> None:
    assert name in names(fen, *line)


LOOK_ALIKES: list[tuple[str, str, list[str]]] = [
    ("battery", "5rk1/5ppp/8/8/2P5/3B4/8/2Q3K1 w - - 0 1", ["Qd2"]),
    ("doubled_rooks", "6k1/5ppp/8/8/3P4/3R4/5PPP/R5K1 w - - 0 1", ["Rad1"]),
    ("behind_passed", "6k1/p7/8/P7/8/8/7P/3R2K1 w - - 0 1", ["Ra1"]),
    ("escape_square", "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", ["h3"]),
    ("king_to_centre", "q3k3/5ppp/8/8/8/8/5PPP/5K2 w - - 0 1", ["Ke2"]),
    ("king_to_centre", "4k3/5ppp/8/8/8/7K/5P1P/8 w - - 0 1", ["Kg2"]),  # which is no nearer
    ("king_to_centre", "4k3/5ppp/8/8/8/8/5P1P/5K2 w - - 0 1", ["Kg2"]),
    ("opposition", "3k4/8/8/4P3/8/2K5/8/8 w - - 0 1", ["Kd4"]),
    # A knight guards b5; the bishop's way is barred, or it would attack nothing.
    ("keeps_from", "r1bqkb1r/1p1npppp/p1np4/8/3NP3/2N5/PPP2PPP/R1BQKB1R w KQkq - 0 6", ["f4"]),
    (
        "keeps_from",
        "r1bq1rk1/pppn1ppp/2np4/2b1p3/2B1P3/2PP1N2/PP3PPP/RNBQ1RK1 w - - 2 7",
        ["h3"],
    ),
    (
        "keeps_from",
        "r1bq1rk1/ppp2ppp/2np1n2/2b1p3/2B1P3/2PP4/PP1N1PPP/RNQ2RK1 w - - 2 7",
        ["h3"],
    ),
    # The pawn stands on g7's own colour, or the king is not there.
    (
        "trades_cover",
        "r1bq1rk1/pp2ppbp/2np1n1B/6p1/3NP3/2N2P2/PPPQ2PP/R3KB1R w KQ - 0 1",
        ["Bxg7", "Kxg7", "O-O-O"],
    ),
    (
        "trades_cover",
        "r1bqk2r/pp2ppbp/2np1npB/8/3NP3/2N2P2/PPPQ2PP/R3KB1R w KQkq - 0 1",
        ["Bxg7", "Rg8", "O-O-O"],
    ),
    (  # where the bishop is lost
        "trades_cover",
        "r2q1rk1/pp2ppbp/3p1np1/8/3PP3/2N1B3/PP3PPP/R2Q1RK1 w - - 0 1",
        ["Bh6", "Bxh6"],
    ),
    ("opposition", "3k4/3P4/4K3/8/8/8/8/8 w - - 0 1", ["Kd6"]),  # stalemate
    ("opposition", "8/8/8/8/8/1k1p4/3K4/8 b - - 0 1", ["Kb2"]),  # and the pawn falls
    ("backward", "4k3/4p3/3p4/8/2P1P3/8/8/4K3 b - - 0 1", ["e6"]),
    ("attacks_loose", "4k3/1p6/2p5/8/8/8/8/3BK3 w - - 0 1", ["Bf3"]),
    ("attacks_two", "4k3/8/8/n1p5/8/8/1P6/4K3 w - - 0 1", ["b4", "Ke7"]),
    ("outnumbers", "4k3/8/1n6/1p2N3/2n5/8/8/3RK3 w - - 0 1", ["Rc1", "Ke7"]),
    # Another pawn is taken for this one; the pawn that attacks is taken in passing.
    ("outnumbers", "6k1/1pp3b1/8/2b1n3/2P5/8/3N2B1/1N5K b - - 0 1", ["Bd6", "Nc3"]),
    ("outnumbers", "6k1/1p6/8/P7/2P5/1P6/8/6K1 b - - 0 1", ["b5", "axb6"]),
    # A pawn guards the knight enough; it is not pinned.
    ("presses", "3qk3/6p1/5n2/6B1/8/7R/8/4K3 w - - 0 1", ["Rf3"]),
    ("presses", "2q1k3/8/5n2/6B1/8/7R/8/4K3 w - - 0 1", ["Rf3"]),
    ("guards", "4k3/8/8/8/8/4P3/8/3BK3 w - - 0 1", ["Ke2"]),
    ("steps_away", "4k3/8/8/8/4N3/8/8/4K3 w - - 0 1", ["Nc3"]),
    # What attacks the queen, or the bishop, is pinned to its king and cannot take.
    ("steps_away", "4k3/8/2n5/1B6/3Q4/8/8/4K3 w - - 0 1", ["Qd3"]),
    ("guards", "4k3/8/2n5/1B6/3B4/8/5K2/8 w - - 0 1", ["Ke3"]),
    ("offers_trade", "3qk3/8/8/8/8/8/8/2Q1K3 w - - 0 1", ["Qa1"]),
    ("gains_space", "4k3/3p4/8/8/3PP3/8/8/4K3 w - - 0 1", ["e5"]),
    # The bishop is between the rooks; the pawn is not passed; the knight is taken.
    ("connected_rooks", "6k1/pppppppp/2n5/2nq4/8/5N2/PPP2PPP/R2BQRK1 w - - 0 1", ["Qe2"]),
    ("blockade", "6k1/8/8/8/8/3p4/2P5/2B3K1 w - - 0 1", ["Bd2"]),
    # It has a neighbour; an own pawn is on its file; the knight can be taken, or is at the edge.
    ("blocks_isolated", "6k1/pp3ppp/4N3/3p4/8/8/PP3PPP/6K1 w - - 0 1", ["Nd8"]),
    ("blocks_isolated", "6k1/pp3ppp/8/3p4/8/4n3/PP3PPP/6K1 b - - 0 1", ["Nd1"]),
    ("blocks_isolated", "6k1/p1p2ppp/8/3p4/8/1N6/PP3PPP/6K1 w - - 0 1", ["Nd4"]),
    ("blocks_isolated", "6k1/pp3ppp/8/3p4/8/1N6/PP1P1PPP/6K1 w - - 0 1", ["Nd4"]),
    ("blocks_isolated", "6k1/pp3ppp/5b2/3p4/8/1N6/PP3PPP/6K1 w - - 0 1", ["Nd4"]),
    ("chases", "3qk3/1p6/8/8/3N4/8/8/4K3 w - - 0 1", ["Nc6", "bxc6"]),
    ("chases", "3qk3/8/2p5/8/3N4/8/8/4K3 w - - 0 1", ["Nxc6", "Qd6"]),
    # Nothing guards the pawn; there is a third one beside the two; a pawn stays on the file.
    ("strikes", "4k3/8/8/3p4/8/2P5/4P3/4K3 w - - 0 1", ["c4"]),
    ("hanging_pawns", "4k3/5p2/8/8/2P5/3P4/1P3P2/4K3 w - - 0 1", ["d4", "Ke7", "Ke2"]),
    ("opens_file", "3rk3/4p3/8/3p4/4P3/8/8/3RK3 w - - 0 1", ["exd5", "Kf8", "Rd3"]),
    # It is promoted.
    ("opens_file", "r5k1/3P4/8/8/8/8/8/3RK3 w - - 0 1", ["d8=Q+", "Rxd8", "Rxd8+"]),
    ("centralises", "4k3/8/8/4p3/8/5N2/8/4K3 w - - 0 1", ["Nd4", "exd4", "Kd2"]),
    ("fianchetto", "4k3/8/8/8/8/6P1/8/4KB2 w - - 0 1", ["Bh3"]),
    ("unpins", "4k3/8/8/8/1b6/2N5/8/4K3 w - - 0 1", ["Kd2"]),
    ("closes_in", "r2q1rk1/pp3ppp/8/8/8/8/PP3PPP/R2Q2K1 w - - 0 1", ["Qh5", "a6", "a3"]),
    # Black has one out, too; the other knight is at home; material is even after the trade.
    (
        "development",
        f"{OPENING_OUT} w KQkq - 0 2",
        ["Nc3"],
    ),
    ("last_minor", "rnbqkbnr/pppppppp/8/8/8/2N1B3/PPPP1PPP/R2QKBNR w KQkq - 0 1", ["Bd3"]),
    ("bars_castling", "rnbqk2r/pp2bppp/2p1pn2/8/2BP4/2P2N2/P4PPP/R1BQ1RK1 w kq - 0 1", ["Ba3"]),
    ("trades_ahead", "2rr2k1/ppp2ppp/8/8/8/8/PPP2PPP/3RR1K1 b - - 0 1", ["(Rxd1)", "Rxd1"]),
    ("connected_passed", "4k3/p7/8/1p6/P1P5/8/8/4K3 w - - 0 1", ["axb5", "Kd7", "Kd2"]),
    ("heads_for", "4k3/p5p1/8/8/4P3/5N2/8/4K3 w - - 0 1", ["Nh4", "Ke7", "Nf5+"]),
    ("backs_up", "4k3/8/1n6/8/3P4/8/8/4KB2 w - - 0 1", ["Bd3", "Kd7", "d5"]),
    # The bishop goes another way; a second rook is left.
    ("makes_way", "2b1k3/1p6/8/8/8/8/1P6/2B1K3 w - - 0 1", ["b3", "Ke7", "Bd2"]),
    (
        "reaches_ending",
        "r2r2k1/6pp/5p2/4n3/8/5N2/5PPP/R2R2K1 w - - 0 1",
        ["(Nxe5)", "fxe5", "Kf1", "Kf7"],
    ),
    ("repeats", chess.STARTING_FEN, ["(Nf3)", "(Nf6)", "(Ng1)", "Nh5"]),
    # Which is taken, or the pawn is.
    ("shuts_off", "2B5/4P1k1/8/8/8/8/4r1PK/8 w - - 0 1", ["Be6", "Kf6", "e8=Q"]),
    ("shuts_off", "2B5/4P3/5k2/3P4/8/8/4r1PK/8 w - - 0 1", ["Be6", "Kxe7", "Kh3"]),
    ("fifty_moves", "4k3/8/8/8/8/8/8/R3K3 w - - 58 60", ["Ra2"]),
    ("imbalance", "r3q1k1/8/8/8/8/8/3n4/3R1RK1 w - - 0 1", ["Rxd2", "Qe5", "Rfd1"]),
    ("bad_bishop", "4k3/1p6/8/3p1p2/1P1P1P2/8/8/4KB2 b - - 0 1", ["b5"]),
    # What a move does not even plainly do.
    ("meets_check", "4k3/8/8/8/3r4/8/8/4K3 w - - 0 1", ["Ke2"]),
    ("castles", "4k3/8/8/8/8/8/8/5K1R w - - 0 1", ["Kg1"]),
    ("trades_evenly", "4k3/3p4/2r5/8/3N4/8/8/4K3 w - - 0 1", ["Nxc6", "dxc6"]),
    ("trades_evenly", "4k3/3p4/2n5/8/3N4/8/8/4K3 w - - 0 1", ["Nxc6", "d6"]),
    ("expects_trade", "3qk3/8/8/8/8/8/Q7/3RK3 w - - 0 1", ["Qd5", "Ke7", "Qxd8+"]),
    # It was attacked before; a pawn guards the pawn; it is taken.
    ("hits", "4k3/3p4/2n5/8/B7/8/8/4K3 w - - 0 1", ["Bb5"]),
    ("hits", "4k3/3p4/2p5/8/8/8/8/4KB2 w - - 0 1", ["Bb5"]),
    ("hits", "4k3/3p4/p1n5/8/8/8/8/4KB2 w - - 0 1", ["Bb5", "axb5"]),
    ("expects_trade", "4k3/8/5n2/8/4N3/2P5/8/1Q2K3 w - - 0 1", ["Qb2", "Nxe4", "Qe2"]),
    ("expects_trade", "4k3/8/5n2/8/4N3/2P5/8/1Q2K3 w - - 0 1", ["Qc2", "Nxe4", "Qxe4+"]),
    ("shuns_trade", "5k2/8/2n5/1B6/8/P7/8/4K3 b - - 0 1", ["Nd8"]),
    ("shuns_trade", "4k3/3p4/2n5/1R6/8/P7/8/4K3 b - - 0 1", ["Nd8"]),
    ("readies_castling", "4k3/8/8/8/8/8/4B3/4K2R w K - 0 1", ["Bf3", "Ke7", "O-O"]),
    ("goes_on", "4k3/p7/8/8/8/5N2/8/4K3 w - - 0 1", ["Nh4", "a6", "Nf3"]),
    ("goes_on", "4k3/p7/8/8/8/5N2/8/4K3 w - - 0 1", ["Nh4", "a6", "Ke2"]),
    ("pushes_outside", "8/1p3pp1/3k3p/8/P3K3/6PP/5P2/8 w - - 0 1", ["a5"]),
    (
        "readies_minority",
        "r1bqrnk1/pp2bppp/5n2/2pp2B1/3P4/2PBPN2/PPQ2PPP/R4RK1 w - - 8 11",
        ["Rab1"],
    ),
    ("faces", "2q1k3/3p4/8/8/8/8/8/R3K3 w - - 0 1", ["Rd1"]),
    ("supports", "4k3/8/8/8/4P3/8/8/3QK3 w - - 0 1", ["Qe2"]),
    ("lets_out", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", ["f3"]),
    ("checks", "4k3/8/8/8/8/8/8/R3K3 w - - 0 1", ["Ra7"]),
    ("takes_place", "4k3/8/8/8/8/8/2P5/R3K3 w - - 0 1", ["Ra2"]),
    ("walks_up", "4k3/8/8/8/8/8/5K2/R7 w - - 0 1", ["Ke1"]),
    ("advances", "4k3/8/8/8/8/8/P7/4K3 w - - 0 1", ["a3"]),
    ("advances", "4k3/8/8/1p6/8/P7/8/4K3 w - - 0 1", ["a4"]),
]


@pytest.mark.parametrize(("name", "fen", "line"), LOOK_ALIKES)
def test_a_look_alike_is_none(name: str, fen: str, line: list[str]) -> None:
    assert name not in names(fen, *line)


FOUND = [*FINDERS, *ASKED_FINDERS, *PLAIN_FINDERS, *PAWN_FINDERS, *PIECE_FINDERS]


@pytest.mark.parametrize("find", FOUND)
def test_each_feature_has_a_true_and_a_false_case(find: Finder) -> None:
    for table in (CASES, LOOK_ALIKES):
        assert find.__name__ in {name for name, _, _ in table}


def test_a_knight_does_not_head_for_where_it_came_from() -> None:
    fen = "4k3/p7/8/8/4P3/5N2/8/4K3 w - - 0 1"
    line = ("Nh4", "Ke7", "Nf5")
    assert "heads_for" in names(fen, *line)
    assert "heads_for" not in names(fen.replace("8/4P3/5N2", "5N2/4P3/8"), *line)


def test_a_guard_is_not_missed_where_it_makes_no_difference() -> None:
    fen = "4k3/8/3q4/8/8/4N3/8/4K3 w - - 0 1"
    assert "attacks_loose" not in names(fen, "Nf5", "Qe5+")
    assert "attacks_loose" in names(fen.replace("q", "b"), "Nf5", "Bc5")


def test_a_queen_that_takes_back_may_attack_two_pawns() -> None:
    """What is guarded once by a piece, and attacked twice, is not guarded well."""
    fen = "2k4r/ppprqppp/3b1n2/4n3/4P3/5N1P/PPPB1PP1/RN1QR1K1 w - - 0 14"
    assert "attacks_two" in names(fen, "(Nxe5)", "Qxe5", "Qf3", "Re8")
    assert "attacks_two" not in names(fen, "(Bc3)", "Nxf3+", "Qxf3", "Re8")


@pytest.mark.parametrize(("last", "lost"), [("h6", True), ("Nxb5", False)])
def test_a_queen_that_is_traded_does_not_sell_itself(last: str, lost: bool) -> None:
    fen = "2kr3r/n1qb1ppp/1p1P1n2/pQ2p3/1p1pP3/3P1NNP/P2BBPP1/2R1K2R b K - 0 18"
    assert bool([*desperado(scene(fen, "Qxc1+", "Bxc1", last))]) is lost
