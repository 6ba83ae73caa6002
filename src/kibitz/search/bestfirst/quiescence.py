"""Quiescence: where the plies end, captures that lose nothing and answers to checks go on.

The side to move may be content with its evaluation, unless it is in check.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.bits import bit, signed
from kibitz.kernel.compile import kernel
from kibitz.position.exchange import exchange_value
from kibitz.position.moves import (
    CASTLING,
    EN_PASSANT,
    PROMOTION,
    destination_of,
    generate,
    kind_of,
)
from kibitz.position.squares import EMPTY
from kibitz.position.state import checkers
from kibitz.search.bestfirst.bins import push
from kibitz.search.bestfirst.finish import finish, is_cut
from kibitz.search.bestfirst.nodes import PRESSING, add_move, node_at, position_at
from kibitz.search.bestfirst.table import remember

TO_QUEEN = PROMOTION + 3


@kernel
def stand_pat(nodes: np.record, place: int, static: int) -> None:
    """Give a node without plies left its evaluation, and try captures if they may do better."""
    node = node_at(nodes, place)
    if -node.depth >= nodes.quiet_plies:
        finish(nodes, place, static)
        remember(nodes, place)
        return
    node.best = max(node.best, static)
    if is_cut(node):
        finish(nodes, place, node.best)
        remember(nodes, place)
    else:
        open_captures(nodes, place)


@kernel
def open_captures(nodes: np.record, place: int) -> None:
    """List the captures, or in check all moves; a node without any is finished."""
    node, position = node_at(nodes, place), position_at(nodes, place)
    in_check = checkers(position) != EMPTY
    count = generate(position, nodes.moves)
    for index in range(count):
        move = signed(nodes.moves[index])
        if in_check or _is_forcing(position, move):
            gain = exchange_value(position, move)
            if in_check or gain >= 0:
                add_move(nodes, place, move, float(gain))
    if node.listed == 0:
        finish(nodes, place, node.best)
        remember(nodes, place)
        return
    node.children_left = node.listed
    push(nodes, place, PRESSING)


@kernel
def _is_forcing(position: np.record, move: int) -> bool:
    """Whether a move captures, or makes a queen."""
    kind = kind_of(move)
    if kind == CASTLING:
        return False
    if kind in (EN_PASSANT, TO_QUEEN):
        return True
    return kind < PROMOTION and (position.their & bit(destination_of(move))) != EMPTY
