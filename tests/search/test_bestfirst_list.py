"""The node list on random trees that know no chess: bins, table, passes, what goes up the list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.core.errors import InputError
from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.search.bestfirst.nodes import (
    CHUNK_MOVES,
    NONE,
    PRESSING,
    USED,
    ListMemory,
    add_move,
    best_move_left,
    is_dead,
    new_child,
    new_node,
    node_at,
    position_at,
    release,
    take_move,
)
from kibitz.search.bestfirst.searcher import bisect
from kibitz.search.bestfirst.table import (
    answered,
    bin_of,
    find,
    finish,
    pop,
    push,
    remember,
    select,
)

BOUNDARIES = np.array([4.0, 2.5, 1.0, 0.5, 0.0])
MEMORY = ListMemory(1, BOUNDARIES)
WIDTH = 40  # positions at every ply: different ways lead to the same one
MODULUS = 1_000_003


class Game(NamedTuple):
    """A random game: positions are numbers, moves are 1 and up."""

    seed: int
    branching: int
    depth: int

    def moves(self, ply: int, state: int) -> int:
        return 1 + self._random(ply, state, 1) % self.branching

    def after(self, ply: int, state: int, move: int) -> int:
        return self._random(ply, state, 10 + move) % WIDTH

    def value(self, ply: int, state: int) -> int:
        return self._random(ply, state, 2) % 41 - 20

    def _random(self, *numbers: int) -> int:
        word = self.seed
        for number in numbers:
            word = (word * 7_919 + number * 104_729 + 12_345) % MODULUS
        return word * word % MODULUS // 7

    def values(self) -> np.ndarray:
        """The values of all positions by plain minimax, int64 [plies, WIDTH]."""
        found = np.zeros((self.depth + 1, WIDTH), np.int64)
        for ply in range(self.depth, -1, -1):
            for state in range(WIDTH):
                moves = range(1, self.moves(ply, state) + 1)
                below = [
                    -found[ply + 1, self.after(ply, state, move)]
                    for move in moves
                    if ply < self.depth
                ]
                found[ply, state] = max(below, default=self.value(ply, state))
        return found

    def minimax(self) -> int:
        return int(self.values()[0, 0])


class Tables(NamedTuple):
    """A game as arrays for kernels, by ply and state."""

    moves: np.ndarray  # int64 [plies, WIDTH]
    after: np.ndarray  # int64 [plies, WIDTH, moves]
    values: np.ndarray  # int64 [plies, WIDTH]
    scores: np.ndarray  # float32 [plies, WIDTH, moves]


def tables_of(game: Game, ordered: bool) -> Tables:
    shape = (game.depth + 1, WIDTH)
    wide = (*shape, game.branching + 1)
    found = Tables(
        np.zeros(shape, np.int64),
        np.zeros(wide, np.int64),
        np.zeros(shape, np.int64),
        np.zeros(wide, np.float32),
    )
    known = game.values()
    for ply, state in np.ndindex(shape):
        found.moves[ply, state] = game.moves(ply, state)
        found.values[ply, state] = game.value(ply, state)
        for move in range(1, game.branching + 1):
            found.after[ply, state, move] = after = game.after(ply, state, move)
            if ordered and ply < game.depth:
                found.scores[ply, state, move] = -known[ply + 1, after] / 4
    return found


@kernel
def open_node(nodes: np.record, place: int, tables: Tables, state: int) -> None:
    """List the moves of a node and put it into a bin."""
    node = node_at(nodes, place)
    count = tables.moves[node.ply, state]
    for move in range(1, count + 1):
        add_move(nodes, place, move, tables.scores[node.ply, state, move])
    node.children_left = count
    push(nodes, place, best_move_left(nodes, place)[2])


@kernel
def run_pass(
    nodes: np.record, tables: Tables, separator: int, depth: int, taken: np.ndarray, rows: int
) -> int:
    """One zero-window pass in a clear list; the value of the root as far as it is known."""
    root = new_node(nodes, NONE, separator, depth, 0)
    position_at(nodes, root).key = np.uint64(0)
    open_node(nodes, root, tables, 0)
    while not nodes.done:
        count = select(nodes, taken, rows)
        for row in range(count):
            parent = signed(taken[row])
            if not is_dead(nodes, parent):
                visit(nodes, tables, parent)
            if best_move_left(nodes, parent)[2] > USED and not is_dead(nodes, parent):
                push(nodes, parent, best_move_left(nodes, parent)[2])
            release(nodes, parent)
    return signed(node_at(nodes, root).best)


@kernel
def visit(nodes: np.record, tables: Tables, parent: int) -> None:
    """Make the next child of a node."""
    move = take_move(nodes, parent)
    child = new_child(nodes, parent, move)
    node = node_at(nodes, child)
    above = signed(position_at(nodes, parent).key % np.uint64(WIDTH))
    state = tables.after[node.ply - 1, above, move]
    # The key's upper half says where the table keeps a position, its remainder which one it is.
    number = signed(node.ply) * WIDTH + state
    position_at(nodes, child).key = np.uint64(number + (number * WIDTH << 45))
    known = find(nodes, position_at(nodes, child).key)
    if known != NONE and answered(nodes, child, known):
        finish(nodes, child, node.best)
    elif node.depth == 0:
        finish(nodes, child, tables.values[node.ply, state])
        remember(nodes, child)
    else:
        open_node(nodes, child, tables, state)
    release(nodes, child)


def solve(game: Game, rows: int, tabled: bool = True, ordered: bool = True) -> tuple[int, int]:
    """The value of a game by passes, and how many nodes they made."""
    tables, taken, record = tables_of(game, ordered), np.zeros(rows, np.int32), MEMORY.record
    MEMORY.clear_table()
    record.centre, record.tabled, record.generation, record.created = 0.25, tabled, 1, 0

    def run(bound: int) -> int:
        MEMORY.clear_list()
        return int(run_pass(record, tables, 2 * bound - 1, game.depth, taken, rows))

    value = bisect(run, 0)
    assert value is not None
    return value, int(record.created)


GAMES = st.builds(Game, st.integers(0, 10**6), st.integers(1, 14), st.integers(1, 5))


@given(GAMES, st.integers(1, 40), st.booleans())
def test_passes_agree_with_plain_minimax(game: Game, rows: int, tabled: bool) -> None:
    assert solve(game, rows, tabled)[0] == game.minimax()


def test_the_table_and_the_order_of_moves_save_nodes() -> None:
    games = [Game(seed, 6, 5) for seed in range(20)]
    both = sum(solve(game, 4)[1] for game in games)
    assert both < sum(solve(game, 4, tabled=False)[1] for game in games)
    assert both < sum(solve(game, 4, ordered=False)[1] for game in games)


def test_all_memory_comes_back() -> None:
    game = Game(3, 12, 4)
    assert CHUNK_MOVES < 12  # nodes have chains of chunks
    solve(game, 16)
    record = MEMORY.record
    while (place := int(pop(record))) != NONE:
        release(record, place)
    release(record, 0)  # which the pass holds
    assert (record.live_nodes, record.live_chunks) == (0, 0)
    again = record.used_nodes
    tables, taken = tables_of(game, True), np.zeros(16, np.int32)
    record.done = record.lowest = 0
    run_pass(record, tables, 1, game.depth, taken, 16)
    assert record.used_nodes <= max(again, record.live_nodes)


def test_short_memory_changes_no_value() -> None:
    game = Game(11, 10, 5)
    record, size = MEMORY.record, int(MEMORY.record.nodes_size)
    try:
        record.nodes_size = 90  # fewer than the list would like
        assert solve(game, 32, tabled=False)[0] == game.minimax()
    finally:
        record.nodes_size = size


@given(st.lists(st.floats(-6, 6, width=32), min_size=1, max_size=30))
def test_a_bin_is_found_as_digitize_does_and_the_last_one_goes_first(scores: list[float]) -> None:
    record = MEMORY.record
    MEMORY.clear_list()
    record.centre = 0.25
    numbers = np.digitize(np.abs(np.array(scores) - 0.25), BOUNDARIES).tolist()
    assert [int(bin_of(record, score)) for score in scores] == numbers
    record.created = 0
    for score in scores:
        push(record, int(new_node(record, NONE, 1, 1, 0)), score)
    order = [int(pop(record)) for _ in scores]
    last_first = reversed(range(len(scores)))
    assert order == sorted(last_first, key=lambda place: numbers[place])
    assert int(pop(record)) == NONE
    assert int(bin_of(record, PRESSING)) == 0


def test_the_deeper_entry_wins() -> None:
    record = MEMORY.record
    MEMORY.clear_list()
    MEMORY.clear_table()
    record.tabled = record.generation = 1
    root = int(new_node(record, NONE, 1, 9, 0))

    def told(depth: int, best: int) -> tuple[int, int, int]:
        child = int(new_child(record, root, 1))
        node = MEMORY.nodes[child]
        node["depth"], node["best"] = depth, best
        MEMORY.positions[child]["key"] = 77
        remember(record, child)
        entry = MEMORY.entries[int(find(record, np.uint64(77)))]
        return int(entry["depth"]), int(entry["lower"]), int(entry["upper"])

    assert told(3, 50)[:2] == (3, 50)  # above the separator: at least
    assert told(2, 90)[:2] == (3, 50)
    assert told(3, 60)[:2] == (3, 60)  # as deep: the tighter bound
    assert told(4, -30)[0] == 4
    assert told(4, -30)[2] == -30  # below it: at most


def test_boundaries_that_do_not_descend_are_refused() -> None:
    with pytest.raises(InputError, match="descend"):
        ListMemory(1, np.array([0.0, 1.0]))


@given(st.integers(-29_990, 29_990), st.integers(-10_000, 10_000), st.data())
def test_bisection_converges(value: int, guess: int, data: st.DataObject) -> None:
    passes = 0

    def run(bound: int) -> int:
        """A bound of the value as far from it as fail-soft ones may be."""
        nonlocal passes
        passes += 1
        if value >= bound:
            return data.draw(st.integers(bound, value))
        return data.draw(st.integers(value, bound - 1))

    assert bisect(run, guess) == value
    assert passes <= 120
