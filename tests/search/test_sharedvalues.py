"""Positions reached by several orders of moves share what they are worth."""

from __future__ import annotations

import chess
import numpy as np

from kibitz.jit.compile import COMPILED
from kibitz.position.board import Board
from kibitz.search.mcts.playout.leaf import LATEST, recall
from kibitz.search.mcts.rules.parameters import Behaviour, Puct
from kibitz.search.mcts.tree.nodes import clear
from tests.search.compiled import Compiled
from tests.search.hashed import HASHED

SHARING = Behaviour(share_values=1, prove=0)
ROOKS = "8/5k2/8/8/R7/8/1K6/7r w - - {clock} 80"


def position_after(board: chess.Board, moves: str) -> np.record:
    after = board.copy()
    for move in moves.split():
        after.push_uci(move)
    found: np.record = Board.from_chess(after).positions()[-1]
    return found


def test_a_transposition_begins_with_what_is_known() -> None:
    """Nodes of one position reached later hold the average of the earlier ones as their own."""
    board = chess.Board()
    compiled = Compiled(board, Puct(), SHARING, HASHED, megabytes=16.0)
    alone = Compiled(board, Puct(), Behaviour(prove=0), HASHED, megabytes=16.0)
    for one in (compiled, alone):
        one.run(4_000 if COMPILED else 200)
    raws = [
        len(set(one.memory.nodes["raw"][: int(one.memory.record.nodes_used)].tolist()))
        for one in (alone, compiled)
    ]
    assert raws[0] < raws[1] or not COMPILED  # averages are more varied than the evaluator's words


def test_what_is_recalled_is_the_last_average() -> None:
    board = chess.Board()
    compiled = Compiled(board, Puct(), SHARING, HASHED, megabytes=16.0)
    compiled.run(300 if COMPILED else 60)
    seen = 0
    for path, edge in compiled.edges():
        if len(path.split()) > 1:
            continue
        position = position_after(board, path)
        known, value, _draw = recall(compiled.memory.record, position)
        seen += bool(known)
        assert not known or abs(value + compiled.memory.edges["value"][edge]) < 1e-4
    assert seen > 5
    clear(compiled.memory.record)
    assert not recall(compiled.memory.record, position_after(board, "e2e4"))[0]


def test_late_clocks_share_nothing() -> None:
    board = chess.Board(ROOKS.format(clock=LATEST))
    compiled = Compiled(board, Puct(), SHARING, HASHED)
    compiled.run(12)  # no rook is taken yet
    assert not np.any(compiled.memory.shared["entry"])
