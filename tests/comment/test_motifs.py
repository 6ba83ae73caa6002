"""Motifs on positions where a player sees them, and on look-alikes where they are not."""

import chess
import pytest

from kibitz.comment import force
from kibitz.comment.claims import tactical
from kibitz.comment.claims.claim import Claim
from kibitz.comment.claims.motifs import motifs
from kibitz.comment.claims.positional import Seventh, changes
from kibitz.comment.facts import Scene, unit
from kibitz.comment.select.rank import LEVELS
from kibitz.comment.words.speaker import Speaker


def found(fen: str, *line: str) -> list[Claim]:
    board = chess.Board(fen)
    after = board.copy()
    moves = [after.push_san(san) for san in line]
    return motifs(Scene(board, moves[0], tuple(moves[1:])))


CASES: list[tuple[type[Claim], str, list[str]]] = [
    (tactical.Fork, "r3k3/8/8/3N4/8/8/8/4K3 w - - 0 1", ["Nc7+"]),
    (tactical.Pins, "4k3/8/2n5/8/8/8/8/4KB2 w - - 0 1", ["Bb5"]),
    (tactical.Skewers, "q7/8/8/3k4/8/8/8/4KB2 w - - 0 1", ["Bg2+", "Ke5", "Bxa8"]),
    (tactical.Discovers, "4k3/8/8/8/4N3/8/8/4RK2 w - - 0 1", ["Ng5+"]),
    (tactical.DoubleCheck, "4k3/8/8/8/4N3/8/8/4RK2 w - - 0 1", ["Nf6+"]),
    (tactical.RemovesGuard, "6k1/8/5n2/3r4/8/2B5/8/3RK3 w - - 0 1", ["Bxf6", "Kf7", "Rxd5"]),
    (tactical.Promotes, "8/P7/8/8/8/8/8/k1K5 w - - 0 1", ["a8=Q+"]),
    (tactical.TakesLoose, "4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1", ["Rxd5"]),
]


@pytest.mark.parametrize(("kind", "fen", "line"), CASES)
def test_a_motif_is_found(kind: type[Claim], fen: str, line: list[str]) -> None:
    assert kind in {type(claim) for claim in found(fen, *line)}


def test_a_mate_has_the_name_of_its_pattern() -> None:
    back = found("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "Ra8#")
    smothered = found("6rk/6pp/8/6N1/8/8/8/6K1 w - - 0 1", "Nf7#")
    assert tactical.Mates("back rank") in back
    assert tactical.Mates("smothered") in smothered


def test_an_attack_on_guarded_pieces_of_the_same_worth_is_no_fork() -> None:
    claims = found("4k3/2n1p3/1p1n4/8/3N4/8/8/4K3 w - - 0 1", "Nb5")
    assert not [claim for claim in claims if isinstance(claim, tactical.Fork)]


def test_what_is_won_by_force() -> None:
    fork = chess.Board("r3k3/8/8/3N4/8/8/8/4K3 w - - 0 1")
    assert force.gain(fork, chess.Move.from_uci("d5c7")) == 500
    guarded = chess.Board("4k3/8/2p5/3p4/8/8/8/3RK3 w - - 0 1")
    assert force.gain(guarded, chess.Move.from_uci("d1d5")) == -400
    assert force.best(fork) == chess.Move.from_uci("d5c7")


def test_a_rook_comes_to_the_seventh_rank_once() -> None:
    board = chess.Board("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1")
    kinds = []
    for text in ("a1a7", "h7h6", "a7b7"):
        move = chess.Move.from_uci(text)
        kinds.append({type(claim) for claim in changes(Scene(board.copy(), move, ()))})
        board.push(move)
    assert [Seventh in found for found in kinds] == [True, False, False]


@pytest.mark.parametrize(
    ("fen", "move", "text"),
    [
        # Paris 1858: the rook that mates also attacks the knight on b8.
        (
            "1n2kb1r/p4ppp/4q3/4p1B1/4P3/8/PPP2PPP/2KR4 w k - 0 17",
            "Rd8#",
            "the bishop on g5",
        ),
        ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "Ra8#", "back-rank mate"),
        ("6rk/6pp/8/6N1/8/8/8/6K1 w - - 0 1", "Nf7#", "smothered mate"),
        ("3qkb2/3p1p2/8/8/4N3/8/8/4R1K1 w - - 0 1", "Nf6#", "mate by double check"),
    ],
)
def test_a_move_that_mates_is_called_mate_and_nothing_else(fen: str, move: str, text: str) -> None:
    board = chess.Board(fen)
    for level in LEVELS:
        comment = Speaker(level).comment(Scene(board, board.parse_san(move), ()))
        assert text in comment.text
        assert {type(claim) for claim in comment.claims} <= {tactical.Mates}


def test_a_pin_that_was_there_is_no_pin_of_the_move() -> None:
    board = chess.Board("4k3/8/2n5/1B6/8/8/8/4K3 w - - 0 1")
    pin = tactical.Pins(unit(board, chess.C6), unit(board, chess.E8), unit(board, chess.B5))
    assert not pin.proved(Scene(board, chess.Move.from_uci("e1d1"), ()))
    board.set_board_fen("4k3/3p4/2n5/8/8/8/8/4KB2")  # the pawn stands between knight and king
    assert not pin.proved(Scene(board, chess.Move.from_uci("f1b5"), ()))
    board.remove_piece_at(chess.D7)
    assert pin.proved(Scene(board, chess.Move.from_uci("f1b5"), ()))


@pytest.mark.parametrize(("move", "traps"), [("b2b3", True), ("h2h3", False)])
def test_a_piece_that_was_trapped_is_not_trapped_by_the_move(move: str, traps: bool) -> None:
    """The bishop has taken on a2: b3 shuts it in; once b3 is played another move does nothing."""
    pawn = "8/bPP4P" if traps else "1P6/b1P4P"
    board = chess.Board(f"6k1/8/8/8/8/{pawn}/R1K5 w - - 0 1")
    claim = tactical.Traps(unit(board, chess.A2))
    assert claim.proved(Scene(board, chess.Move.from_uci(move), ())) is traps
