"""Random games, played by python-chess and by the kernels side by side."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import chess
import numpy as np
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.position.fen import chess960_fen, parse_fen
from kibitz.position.moves import MAX_MOVES, generate, kind_of
from kibitz.position.play import play
from kibitz.position.state import new_positions

if not COMPILED:
    np.seterr(over="ignore")  # plain Python warns where 64-bit arithmetic wraps on purpose

PROMOTING = "1n2k1n1/P1P3P1/8/8/8/8/p1p3p1/1N2K1N1 w - - 3 40"
BOTH_CASTLE = "r3k2r/pppq1ppp/2np1n2/2b1p3/2B1P3/2NP1N2/PPPQ1PPP/R3K2R w KQkq - 4 8"
EN_PASSANT = "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3"
BLACK_TO_MOVE = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 b - - 5 10"
# Rooks that castle from the inside and a king on b1: what only Chess960 has.
STRANGE_CASTLING = "1k2r1r1/pppppppp/8/8/8/8/PPPPPPPP/RKR4B w ACe - 0 1"
STARTS = (chess.STARTING_FEN, PROMOTING, BOTH_CASTLE, EN_PASSANT, BLACK_TO_MOVE, STRANGE_CASTLING)


class Game(NamedTuple):
    """The same positions twice, oldest first."""

    boards: list[chess.Board]  # each with its moves; castling moves are "king takes rook"
    positions: np.ndarray  # POSITION [n]


def kernel_move(position: np.record, move: chess.Move) -> int:
    """The kernels' form of a legal move."""
    flip = 56 * int(position.side)
    found = np.zeros(MAX_MOVES, dtype=np.uint16)
    for candidate in found[: generate(position, found)].tolist():
        promotion = kind_of(candidate) - 2 if kind_of(candidate) >= 4 else None
        squares = (candidate & 63, candidate >> 6 & 63)
        if (*squares, promotion) == (
            move.from_square ^ flip,
            move.to_square ^ flip,
            move.promotion,
        ):
            return int(candidate)
    raise AssertionError(f"{move} is not among the kernels' moves")


def follow(fen: str, moves: Sequence[chess.Move]) -> Game:
    """Play the moves on both boards."""
    board = chess.Board(fen, chess960=True)
    boards = [board.copy()]
    positions = new_positions(len(moves) + 1)
    positions[0] = parse_fen(fen)
    for ply, move in enumerate(moves):
        play(positions[ply], positions[ply + 1], kernel_move(positions[ply], move))
        board.push(move)
        boards.append(board.copy())
    return Game(boards, positions)


def random_game(fen: str, length: int, seed: int) -> Game:
    """Random moves, every third time back where the piece came from, so that positions repeat."""
    chance = random.Random(seed)
    board = chess.Board(fen, chess960=True)
    moves: list[chess.Move] = []
    while len(moves) < length and any(board.legal_moves):
        move = chance.choice(list(board.legal_moves))
        if len(moves) > 1 and chance.random() < 0.4:
            back = chess.Move(moves[-2].to_square, moves[-2].from_square)
            move = back if back in board.legal_moves and not board.is_castling(back) else move
        board.push(move)
        moves.append(move)
    return follow(fen, moves)


@pytest.fixture(scope="session")
def games() -> list[Game]:
    """Games of many lengths from ordinary, Chess960 and set-up positions."""
    chance = random.Random(7)
    starts = [*STARTS * 3, *(chess960_fen(chance.randrange(960)) for _ in range(12))]
    return [random_game(fen, chance.randrange(60), seed) for seed, fen in enumerate(starts)]


@pytest.fixture(scope="session")
def many_positions() -> list[np.ndarray]:
    """More than ten thousand positions, as games of the kernels (POSITION [n])."""
    chance = random.Random(8)
    starts = [*STARTS * 10, *(chess960_fen(number) for number in range(0, 960, 10))]
    return [
        random_game(fen, 40 + chance.randrange(80), 99 + i).positions
        for i, fen in enumerate(starts)
    ]
