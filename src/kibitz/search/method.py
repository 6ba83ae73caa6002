"""Opening a search of the kind that settings ask for, and loading its kernels before it is needed.

There are three kinds: the tree search (mcts/searcher.py), alpha-beta (alphabeta/searcher.py) and
best-first search in batches (bestfirst/searcher.py). All derive from BaseSearcher (searcher.py), as
another one would that is opened here. Importing this module is cheap: kernels and the rules of
chess are loaded when a search is opened.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from kibitz.search.limits import Limits
from kibitz.search.mcts.rules.parameters import names_of, to_rule
from kibitz.search.params import Settings
from kibitz.search.presets import resolved

if TYPE_CHECKING:
    from kibitz.nets.load import Evaluator
    from kibitz.search.searcher import BaseSearcher


def open_search(evaluator: Evaluator, settings: Settings) -> BaseSearcher:
    """A search of the kind that the settings ask for; alpha-beta takes no batches."""
    from kibitz.nets.evaluators.inline import InlineEvaluator

    settings = resolved(settings, batched=not isinstance(evaluator, InlineEvaluator))
    if settings.search == "bestfirst":
        from kibitz.search.bestfirst.searcher import BestFirst

        return BestFirst(evaluator, settings)
    if settings.search == "alphabeta" and isinstance(evaluator, InlineEvaluator):
        from kibitz.search.alphabeta.searcher import AlphaBeta

        return AlphaBeta(evaluator, settings)
    from kibitz.search.mcts.searcher import Searcher

    return Searcher(evaluator, settings)


def variant_of(settings: Settings, *, batched: bool = False) -> tuple[str, ...]:
    """Which compiled search the settings ask for; refuses settings that make none."""
    rule, search = names_of(to_rule(settings)), resolved(settings, batched=batched).search
    return rule if search == "mcts" else (search,)


# What a game may need on any move: a tree that is cut back to a line, a proof.
# The move before the search has rules compiled here while a second process compiles playouts.
WARM_GAMES = (
    ("8/6kp/8/8/8/8/P7/K7 b - - 0 1", "g7h8"),
    ("5r1k/6pp/8/6N1/8/8/8/K7 b - - 0 1", "f8g8"),
)
WARM_NODES = 24


def warm(evaluator: Evaluator, settings: Settings) -> None:
    """Load or compile the kernels of a search before its clock runs, by small searches."""
    from kibitz.jit.helper import compile_later
    from kibitz.nets.evaluators.inline import InlineEvaluator
    from kibitz.position.board import Board
    from kibitz.search.mate import new_memory, search_mate

    compile_later(search_mate, *new_memory())  # no clock runs where mates are tried
    kind = resolved(settings, batched=not isinstance(evaluator, InlineEvaluator))
    small = kind.with_(hash=1, threads=1, syzygy_path="", bestfirst_file="", minibatch_size=4)
    with closing(open_search(evaluator, small)) as search:
        for fen, move in WARM_GAMES:
            board, limits = Board(fen, [move]), Limits(nodes=WARM_NODES)
            search.new_game()
            first = search.search(board, limits)
            if first.move is not None and first.ponder is not None:
                board.push(first.move)
                board.push(first.ponder)
                search.search(board, limits)  # on what is kept of the tree
        search.search(Board(), Limits(nodes=2))
