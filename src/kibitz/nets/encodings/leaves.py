"""The batch of positions an evaluator is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.nets.encodings.features import exchange_colours
from kibitz.position.fen import START, parse_fen
from kibitz.position.moves import MAX_MOVES, generate
from kibitz.position.play import play
from kibitz.position.state import copy_position, new_positions

LONGEST_GAME = 120  # plies; random games of up to this length have 30 moves a position on average


MOST_HISTORY = 8  # plies that any encoding looks at, the leaf itself included


class Leaves(NamedTuple):
    """B positions to evaluate, each with up to H positions of its game and its legal moves.

    Every record is in the view of its own side to move. Columns from `known` on are undefined.
    """

    positions: np.ndarray  # POSITION [B, H]: column 0 the leaf, k the position k plies ago
    known: np.ndarray  # int64 [B]: how many columns hold positions, at least 1
    repetitions: np.ndarray  # uint8 [B, H]: how often each had occurred earlier in the game
    moves: np.ndarray  # uint16 [M]: legal moves of all leaves, in the view of the side to move
    offsets: np.ndarray  # int64 [B + 1]: leaf b owns moves[offsets[b]] to moves[offsets[b + 1] - 1]


def new_leaves(batch: int, history: int = 1, moves: int | None = None) -> Leaves:
    """Return room for a batch; without `moves`, for the most moves there can be."""
    return Leaves(
        positions=new_positions(batch * history).reshape(batch, history),
        known=np.ones(batch, dtype=np.int64),
        repetitions=np.zeros((batch, history), dtype=np.uint8),
        moves=np.zeros(MAX_MOVES * batch if moves is None else moves, dtype=np.uint16),
        offsets=np.zeros(batch + 1, dtype=np.int64),
    )


def leaves_of(games: Sequence[np.ndarray], history: int = MOST_HISTORY) -> Leaves:
    """Return a batch of the last position of each game.

    A game is its positions in order, POSITION [n], oldest first; repetitions are counted
    among those given. `moves` has exactly the length it needs.
    """
    leaves = new_leaves(len(games), history)
    for row, game in enumerate(games):
        put_leaf(leaves, row, game, len(game) - 1)
    return leaves._replace(moves=leaves.moves[: leaves.offsets[-1]].copy())


def part_of(leaves: Leaves, first: int, last: int) -> Leaves:
    """The leaves from `first` to before `last`, as views; only the offsets are new."""
    start, end = leaves.offsets[first], leaves.offsets[last]
    return Leaves(
        leaves.positions[first:last],
        leaves.known[first:last],
        leaves.repetitions[first:last],
        leaves.moves[start:end],
        leaves.offsets[first : last + 1] - start,
    )


def swap_colours(leaves: Leaves) -> Leaves:
    """Return the batch as if White and Black had changed places, for networks of one colour only.

    Moves and values are for the side to move and stay as they are. Layouts in which the side to
    move is always "own" and its colour appears nowhere see no difference.
    """
    swapped = leaves._replace(positions=leaves.positions.copy())
    _exchange_all(swapped)
    return swapped


@kernel
def earlier_occurrences(game: np.ndarray, ply: int) -> int:
    """How often the position game[ply] has occurred before; game is POSITION [n]."""
    occurrences = 0
    distance = 4
    reach = min(ply, signed(game[ply].rule50))
    while distance <= reach:
        occurrences += game[ply - distance].key == game[ply].key
        distance += 2
    return occurrences


@kernel
def put_leaf(leaves: Leaves, row: int, game: np.ndarray, ply: int) -> None:
    """Write game[ply] (POSITION [n], oldest first), its history and its moves to one row.

    Rows are filled in order: the moves follow those of the row before.
    """
    count = min(leaves.positions.shape[1], ply + 1)
    for back in range(count):
        copy_position(game[ply - back], leaves.positions[row, back])
        leaves.repetitions[row, back] = min(earlier_occurrences(game, ply - back), 255)
    leaves.known[row] = count
    start = leaves.offsets[row]
    leaves.offsets[row + 1] = start + generate(game[ply], leaves.moves[start:])


@kernel
def _exchange_all(leaves: Leaves) -> None:
    for row in range(leaves.known.shape[0]):
        for back in range(min(leaves.known[row], leaves.positions.shape[1])):
            position = leaves.positions[row, back]
            exchange_colours(position, position)


def random_leaves(batch: int, seed: int = 1) -> Leaves:
    """Return the last positions of random games, with their history."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(LONGEST_GAME, size=batch)
    return leaves_of([_random_game(int(length), generator) for length in lengths])


def _random_game(length: int, generator: np.random.Generator) -> np.ndarray:
    positions = new_positions(length + 1)
    positions[0] = parse_fen(START)
    moves = np.zeros(MAX_MOVES, dtype=np.uint16)
    for ply in range(length):
        count = generate(positions[ply], moves)
        if count == 0:
            return positions[: ply + 1]
        play(positions[ply], positions[ply + 1], int(moves[generator.integers(count)]))
    return positions
