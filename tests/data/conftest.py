"""Random games with random searches, as Python objects."""

from __future__ import annotations

import math
import random

import pytest

from kibitz.data.shard import Game, Ply
from kibitz.jit.compile import COMPILED
from kibitz.position.board import Board
from kibitz.position.notation import legal_codes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Plain Python warns, on any thread, where 64-bit arithmetic wraps on purpose."""
    if not COMPILED:
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning"))


def random_ply(board: Board, generator: random.Random, *, last: bool) -> Ply:
    """A move and a search of the position on the board; what is unknown differs from ply to ply."""
    codes = legal_codes(board.position).tolist()
    visited = generator.sample(codes, generator.randrange(len(codes) + 1))
    unknown = float("nan")
    move = 0 if last else generator.choice(codes)
    value = generator.choice((unknown, generator.randint(-64, 64) / 64))
    draw = generator.choice((unknown, generator.randint(0, 64) / 64))
    return Ply(
        move=move,
        value=value,
        draw=draw if math.isnan(value) else min(draw, 1 - abs(value)),
        root_value=generator.choice((unknown, generator.randint(-64, 64) / 64)),
        flags=generator.randrange(4),
        visits=tuple((code, generator.randint(1, 2**32 - 1)) for code in visited),
    )


def random_game(generator: random.Random, longest: int = 30) -> Game:
    """A game from an ordinary or Chess960 start, perhaps without moves."""
    board = Board() if generator.random() < 0.5 else Board.start960(generator.randrange(960))
    start, plies = board.fen(shredder=True), []
    length = generator.randrange(longest)
    for ply in range(length):
        if board.outcome() is not None:
            break
        made = random_ply(board, generator, last=ply == length - 1 and generator.random() < 0.3)
        plies.append(made)
        if made.move:
            board.push(next(m for m in board.legal_moves if _seen(board, m.code) == made.move))
    return Game(
        plies=tuple(plies),
        start=start,
        result=generator.choice((-1, 0, 1, 2)),
        end=generator.choice(("unknown", "checkmate", "adjudicated")),
        source={"kind": "test", "network": generator.choice(("one", "two"))},
        seed=generator.randrange(2**64),
    )


def _seen(board: Board, code: int) -> int:
    return code ^ (56 | 56 << 6) if board.turn == "black" else code


@pytest.fixture
def games() -> list[Game]:
    """Some games, a few without moves."""
    generator = random.Random(5)
    return [random_game(generator) for _ in range(12)]
