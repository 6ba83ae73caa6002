"""Loading, or compiling, the kernels of a search before its clock runs; evaluator -> **warm**."""

from __future__ import annotations

from kibitz.evaluator.batched import BatchedEvaluator
from kibitz.evaluator.inline import InlineEvaluator
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.params import Settings

# What a game may need on any move: a tree that is cut back to a line, a proof, a mate.
POSITIONS = ("7k/7p/8/8/8/8/P7/K7 w - - 0 1", "6rk/6pp/8/6N1/8/8/8/K7 w - - 0 1")
NODES = 24


def warm(evaluator: InlineEvaluator | BatchedEvaluator, settings: Settings) -> None:
    """Let a searcher whose dice nobody misses do all that one with these settings may do."""
    small = settings.with_(hash=1, threads=1, syzygy_path="", minibatch_size=4)
    with Searcher(evaluator, small) as searcher:
        for fen in POSITIONS:
            board, limits = Board(fen), Limits(nodes=NODES)
            searcher.search(board, Limits(mate=2))
            searcher.new_game()
            first = searcher.search(board, limits)
            if first.move is not None and first.ponder is not None:
                board.push(first.move)
                board.push(first.ponder)
                searcher.search(board, limits)  # on what is kept of the tree
        searcher.search(Board(), Limits(nodes=2))
