"""Random games, the same moves played by python-chess and by a Board."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import chess
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.position.board import Board

LONGEST_GAME = 250
Pairs = Iterator[tuple[chess.Board, Board]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Plain Python warns, on any thread, where 64-bit arithmetic wraps on purpose."""
    if not COMPILED:
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning"))


def _interesting(board: chess.Board, generator: random.Random) -> chess.Move:
    """A random move; captures into the rarer kinds of moves are more likely than by chance."""
    moves = list(board.legal_moves)
    rare = [move for move in moves if move.promotion or board.is_castling(move)]
    rare += [move for move in moves if board.is_en_passant(move)]
    return generator.choice(rare if rare and generator.random() < 0.5 else moves)


@pytest.fixture
def random_games() -> Callable[[int, int], Pairs]:
    """Call with a seed and a number of positions; every other game starts from Chess960."""

    def play(seed: int, positions: int) -> Pairs:
        generator = random.Random(seed)
        game = 0
        while positions > 0:
            game += 1
            reference = chess.Board()
            if game % 2:
                reference = chess.Board.from_chess960_pos(generator.randrange(960))
            ours = Board(reference.fen(), chess960=reference.chess960)
            while positions > 0 and reference.ply() < LONGEST_GAME:
                yield reference, ours
                positions -= 1
                if not any(reference.legal_moves):
                    break
                move = _interesting(reference, generator)
                ours.push(reference.uci(move))
                reference.push(move)

    return play
