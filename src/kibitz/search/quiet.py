"""What a leaf is worth once winning captures are made: evaluator -> **quiet value** -> the leaf.

A network judges a position at rest best. So captures that win material by exchange, and queenings,
are tried for a few plies, each side free to stop where it stands, and the value is that of the
best line. These positions are not kept in the tree.
"""

from __future__ import annotations

import numpy as np

from kibitz.evaluator.inline import value_of
from kibitz.jit import kernel
from kibitz.position.bits import signed
from kibitz.position.exchange import exchange_value
from kibitz.position.moves import EN_PASSANT, PROMOTION, destination_of, generate, kind_of
from kibitz.position.play import play
from kibitz.position.squares import ONE
from kibitz.search.walk import QUIET_MOVES, position_at

QUEENING = PROMOTION + 3
MOVE_BITS = 16
MOVE_MASK = (1 << MOVE_BITS) - 1


@kernel
def list_winning(walk: np.record, position: np.record, first: int) -> int:
    """Write winning captures to walk.captures[first:], the best first; returns where they end.

    Each is 2^16 times what it wins in centipawns, plus the move.
    """
    count = generate(position, walk.moves)
    entries, last = walk.captures, first
    for index in range(count):
        move = signed(walk.moves[index])
        kind = kind_of(move)
        taking = (position.their >> np.uint64(destination_of(move))) & ONE
        if not taking and kind != EN_PASSANT and kind != QUEENING:
            continue
        gain = exchange_value(position, move, walk.gains)
        if gain <= 0 or last - first == QUIET_MOVES:
            continue
        entry = gain << MOVE_BITS | move
        place = last
        while place > first and entries[place - 1] < entry:
            entries[place] = entries[place - 1]
            place -= 1
        entries[place] = entry
        last += 1
    return last


@kernel
def stand(walk: np.record, depth: int, ply: int, plies: int, standing: float) -> None:
    """Begin with a position `ply` plies below the leaf at `depth`; it may stay as it is."""
    first = ply * QUIET_MOVES
    walk.quiet_best[ply] = standing
    walk.quiet_next[ply] = walk.quiet_last[ply] = first
    if ply < plies and standing < walk.quiet_enough[ply]:
        walk.quiet_last[ply] = list_winning(walk, position_at(walk, depth + ply), first)


@kernel
def quiet_value(
    evaluator: np.record, scratch: np.record, walk: np.record, depth: int, plies: int
) -> tuple[float, float]:
    """Value for the side to move at ply `depth`, and probability of a draw.

    Alpha-beta over winning captures, `plies` deep, each position as good at least as it stands.
    """
    standing, draw = value_of(evaluator, scratch, position_at(walk, depth))
    if plies == 0:
        return standing, draw
    best, enough = walk.quiet_best, walk.quiet_enough
    enough[0] = 1.0
    stand(walk, depth, 0, plies, standing)
    ply = 0
    while True:
        at = walk.quiet_next[ply]
        if at < walk.quiet_last[ply] and best[ply] < enough[ply]:
            walk.quiet_next[ply] = at + 1
            here = depth + ply
            play(
                position_at(walk, here), position_at(walk, here + 1), walk.captures[at] & MOVE_MASK
            )
            enough[ply + 1] = -best[ply]
            ply += 1
            theirs, _ = value_of(evaluator, scratch, position_at(walk, here + 1))
            stand(walk, depth, ply, plies, theirs)
        elif ply > 0:
            ply -= 1
            best[ply] = max(best[ply], -best[ply + 1])
        else:
            break
    return best[0], min(draw, 1.0 - abs(best[0]))
