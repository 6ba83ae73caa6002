"""Draws that depend on the path: repetitions and the 50-move rule, before and after re-rooting."""

from __future__ import annotations

import chess
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.position.board import Board
from kibitz.search.mcts.playout.leaf import classify
from kibitz.search.mcts.rules.parameters import Behaviour, Puct
from kibitz.search.mcts.tree.context import ContextMemory
from kibitz.search.mcts.tree.memory import compact
from kibitz.search.mcts.tree.nodes import EXPANDED, LEAF, NONE, PATH_DRAW, TERMINAL
from kibitz.search.proof import DRAW, UNPROVED
from tests.search.compiled import Compiled
from tests.search.hashed import HASHED
from tests.search.oracle import identities, repeats

KNIGHTS = "g1f3 g8f6 f3g1 f6g8"
ROOKS = "8/5k2/8/8/R7/8/1K6/7r w - - 8 40"
PLAYOUTS = 1_500 if COMPILED else 60


def classified(fen: str, game: str, line: str) -> tuple[int, int]:
    """State and proof of the leaf at the end of a line that begins after a game."""
    whole = Board(fen, f"{game} {line}".split())
    context, depth = ContextMemory(1), len(line.split())
    positions = whole.positions()
    root = len(positions) - 1 - depth
    context.set_line(positions[: root + 1])
    context.positions[: depth + 1] = positions[root:]
    for ply in range(depth):
        context.record.keys[root + ply] = positions["key"][root + ply]
    state, proof = classify(context.record, depth)
    return int(state), int(proof)


@pytest.mark.parametrize(
    ("game", "line", "drawn"),
    [
        ("", KNIGHTS, False),  # back at the root: seen once, but not below it
        ("", f"{KNIGHTS} g1f3", True),  # a position from below the root comes again
        ("", "e2e4 " + "e7e5 " + KNIGHTS, True),
        (KNIGHTS, KNIGHTS, True),  # the root itself for the third time
        (KNIGHTS, "g1f3", False),  # second time, the first before the root
        (f"{KNIGHTS} {KNIGHTS}", "g1f3", True),  # third time
        (f"{KNIGHTS} e2e4", f"e7e5 {KNIGHTS}", True),
        ("e2e4 e7e5", KNIGHTS, False),
        (f"e2e4 e7e5 {KNIGHTS}", "g1f3 g8f6 f3g1", False),
        (f"e2e4 e7e5 {KNIGHTS}", KNIGHTS, True),
        # Castling rights are lost on the way: not the same position.
        ("g1f3 g8f6 g2g3 g7g6 f1g2 f8g7", "h1g1 h8g8 g1h1 g8h8", False),
    ],
)
def test_a_repetition_below_the_root_is_a_draw_a_threefold_anywhere(
    game: str, line: str, drawn: bool
) -> None:
    expected = (PATH_DRAW if drawn else LEAF, UNPROVED)
    assert classified(chess.STARTING_FEN, game, line) == expected


@pytest.mark.parametrize(
    ("fen", "line", "expected"),
    [
        ("8/5k2/8/8/R7/8/1K6/7r w - - 98 80", "a4a5", (LEAF, UNPROVED)),
        ("8/5k2/8/8/R7/8/1K6/7r w - - 99 80", "a4a5", (PATH_DRAW, UNPROVED)),
        ("6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - 99 80", "b1b8", (TERMINAL, 1)),  # mate comes first
        ("8/8/8/8/8/5k2/5p2/5K2 b - - 99 80", "f3e3", (PATH_DRAW, UNPROVED)),
        ("8/8/8/8/6k1/8/5p2/5K2 b - - 99 80", "g4f3", (TERMINAL, DRAW)),  # stalemate
        ("8/8/4k3/8/8/4K3/3r4/8 w - - 99 80", "e3d2", (TERMINAL, DRAW)),  # bare kings
    ],
)
def test_fifty_moves(fen: str, line: str, expected: tuple[int, int]) -> None:
    assert classified(fen, "", line) == expected


def check_path_draws(compiled: Compiled, board: chess.Board) -> int:
    """Every node drawn by its path is drawn seen from this root, and no other is; how many are."""
    memory, drawn = compiled.memory, 0
    for line, edge in compiled.edges():
        child = int(memory.cold["child"][edge])
        if child == NONE or memory.nodes["state"][child] == TERMINAL:
            continue
        after, moves = board.copy(), line.split()
        for move in moves:
            after.push_uci(move)
        expected = after.halfmove_clock >= 100 or repeats(identities(after), len(moves))
        is_drawn = memory.nodes["state"][child] == PATH_DRAW
        assert is_drawn == expected, line
        assert memory.cold["proof"][edge] in (UNPROVED, DRAW) or not is_drawn
        drawn += is_drawn
    return drawn


def test_no_stale_draws_after_rerooting() -> None:
    """What was a repetition below the old root may be the first one below the new root."""
    game = "b2c2 f7e7 c2b2 e7f7"
    board = chess.Board(ROOKS)
    for move in game.split():
        board.push_uci(move)
    compiled = Compiled(board, Puct(), Behaviour(), HASHED, megabytes=8)
    compiled.run(PLAYOUTS)
    assert check_path_draws(compiled, board) > 0 or not COMPILED
    for _ in range(3):
        visits = compiled.root_visits()
        edge = compiled.block(0)[visits.index(max(visits))]
        node = int(compiled.memory.cold["child"][edge])
        if compiled.memory.nodes["state"][node] != EXPANDED:
            break
        board.push_uci(next(line for line, place in compiled.edges() if place == edge))
        compact(compiled.memory.record, node, 0)
        compiled.stand_at(board)
        assert check_path_draws(compiled, board) == 0
        compiled.run(PLAYOUTS)
        assert check_path_draws(compiled, board) > 0 or not COMPILED
