"""Games with inline evaluators: one kernel plays a stretch of a game, search and all."""

from __future__ import annotations

import numpy as np

from kibitz.kernel.compile import kernel
from kibitz.search.mcts.playout.playout import DONE, NO_ROOM, playouts
from kibitz.search.mcts.playout.root import evaluate_root, expand_root
from kibitz.selfplay.moves import (
    FRESH,
    OVER,
    begin_move,
    finish_move,
    playouts_left,
    prepare,
    stop_if_calm,
)


@kernel
def _search(
    terms: np.record,
    rule: np.record,
    game: np.record,
    tree: np.record,
    context: np.record,
    behaviour: np.record,
    evaluator: np.record,
    scratch: np.record,
    control: np.record,
) -> int:
    """Play out until the search of this move is done, or NO_ROOM is left in the tree."""
    while True:
        left = playouts_left(game, tree)
        if left == 0:
            return DONE
        size = min(left, terms.kl_interval) if terms.kl_gain > 0.0 else left
        control.tickets = size
        control.later = left - size
        control.budget = left
        control.stop = 0
        control.full = 0
        if playouts(rule, tree, context, behaviour, evaluator, scratch, control) == NO_ROOM:
            return NO_ROOM
        if terms.kl_gain > 0.0:
            stop_if_calm(terms, game, tree)


@kernel
def play_on(
    terms: np.record,
    rule: np.record,
    game: np.record,
    tree: np.record,
    context: np.record,
    behaviour: np.record,
    evaluator: np.record,
    scratch: np.record,
    control: np.record,
    moves: int,
) -> int:
    """Play at most `moves` moves of a game: DONE, or NO_ROOM if the tree must be made smaller.

    Called again it goes on where it was, in the middle of a search, too.
    """
    for _ in range(moves):
        if game.searching == 0:
            begun = begin_move(terms, game, tree, context)
            if begun == OVER:
                return DONE
            if begun == FRESH:
                count = evaluate_root(tree, context, behaviour, evaluator, scratch)
                expand_root(tree, context, behaviour, count)
            prepare(terms, rule, game, tree, context)
        common = (behaviour, evaluator, scratch, control)
        if _search(terms, rule, game, tree, context, *common) == NO_ROOM:
            return NO_ROOM
        finish_move(terms, rule, game, tree, context)
    return DONE
