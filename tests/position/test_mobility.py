"""Whether there is a legal move, against python-chess in positions with hardly any."""

from __future__ import annotations

import random

import chess
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.position.fen import parse_fen
from kibitz.position.outcome import has_legal_move


def _cramped(generator: random.Random) -> chess.Board | None:
    """A king with little help among many attackers, or None where nothing legal came out."""
    board = chess.Board(None)
    squares = generator.sample(range(64), 14)
    board.set_piece_at(squares.pop(), chess.Piece(chess.KING, chess.WHITE))
    board.set_piece_at(squares.pop(), chess.Piece(chess.KING, chess.BLACK))
    for _ in range(generator.randint(0, 3)):
        board.set_piece_at(squares.pop(), chess.Piece(generator.choice([1, 1, 2, 3, 4, 5]), True))
    for _ in range(generator.randint(1, 8)):
        board.set_piece_at(squares.pop(), chess.Piece(generator.choice([1, 2, 3, 4, 5, 5]), False))
    return board if board.is_valid() else None


@pytest.mark.parametrize("seed", range(4))
def test_as_python_chess_sees_it(seed: int) -> None:
    generator, wanted = random.Random(seed), 400 if COMPILED else 40
    seen = {True: 0, False: 0}
    while min(seen.values()) < wanted // 10 or sum(seen.values()) < wanted:
        board = _cramped(generator)
        if board is None:
            continue
        expected = any(board.legal_moves)
        assert bool(has_legal_move(parse_fen(board.fen()))) == expected, board.fen()
        seen[expected] += 1


@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/8/1k6/8/p1p5/K1r5 w - - 0 1",  # the king takes, or nothing
        "7k/8/8/8/8/2q5/8/K1R5 w - - 0 1",  # in check, the rook may not stay pinned
        "8/8/8/3pP3/k7/8/8/7K w - d6 0 1",  # en passant
        "r3k2r/8/8/8/8/8/8/4K2R w K - 0 1",
        "k7/8/8/8/7b/6P1/8/4K3 w - - 0 1",  # a pawn pinned along the line it may take on
        "3rkr2/8/8/8/8/4r3/3P1P2/4K3 w - - 0 1",
    ],
)
def test_pins_checks_and_special_moves(fen: str) -> None:
    assert bool(has_legal_move(parse_fen(fen))) == any(chess.Board(fen).legal_moves)


def test_castling_may_be_the_only_move() -> None:
    fen = "5r1k/8/8/8/8/8/PP4p1/1R1K2n1 w B - 0 1"
    board = chess.Board(fen, chess960=True)
    assert bool(has_legal_move(parse_fen(fen))) == any(board.legal_moves)
