"""Whether a tree belongs to the game: told by what positions are, not by the bytes between."""

from __future__ import annotations

import numpy as np
import pytest

from kibitz.position.board import Board
from kibitz.position.state import POSITION
from kibitz.search.mcts.tree.memory import Line


def _with_padding(board: Board, filling: int) -> np.ndarray:
    """The board's positions with other bytes where no field is."""
    raw = np.full((len(board.positions()), POSITION.itemsize), filling, dtype=np.uint8)
    records = raw.reshape(-1).view(POSITION)
    for name in POSITION.names or ():
        records[name] = board.positions()[name]
    return records


def test_a_game_is_known_whatever_lies_between_the_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    board, line = Board(), Line()
    before, after = _with_padding(board, 0xAA), _with_padding(board, 0x55)
    assert before.tobytes() != after.tobytes()
    monkeypatch.setattr(board, "positions", lambda: before)
    line.remember(board)
    monkeypatch.setattr(board, "positions", lambda: after)
    assert line.extension(board) == 0


def test_a_line_goes_on_or_is_another() -> None:
    board, line = Board(), Line()
    assert line.extension(board) is None
    line.remember(board)
    board.push("e2e4")
    board.push("e7e5")
    assert line.extension(board) == 2
    line.remember(board)
    assert line.extension(Board()) is None
