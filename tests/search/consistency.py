"""What holds in every tree between playouts, whatever was done to it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kibitz.search.mcts.statistics import packed_moves_of
from kibitz.search.mcts.tree.nodes import (
    BUSY,
    EXPANDED,
    HEADER_MOVE,
    LEAF,
    NONE,
    PATH_DRAW,
    TERMINAL,
    TreeMemory,
    block_of,
    edges_of,
)


def check_tree(memory: TreeMemory, crowded: bool = False) -> None:
    """Every edge leads somewhere and back, and nothing is lost or on its way.

    Of several threads one that had to wait for long has visited a node's next move and not counted
    it as tried.
    """
    tree = memory.record
    assert tree.faults == 0
    assert 1 <= tree.nodes_used <= len(memory.nodes)
    assert 1 <= tree.edges_used <= len(memory.edges)
    owners = check_blocks(memory)
    assert pending(memory) == 0
    nodes = used_nodes(memory)
    assert sum(check_node(memory, node, owners, crowded) for node in nodes) == len(owners)


def pending(memory: TreeMemory) -> int:
    """Visits on their way, and locks that nobody has let go."""
    total = int(memory.edges["pending"][0])
    for node in used_nodes(memory):
        if memory.nodes["state"][node] == EXPANDED:
            first = int(memory.nodes["first"][node])
            end = first + int(edges_of(memory.record, node))
            total += int(memory.edges["pending"][first - 1 : end].sum())
    return total


def used_nodes(memory: TreeMemory) -> list[int]:
    """The nodes that a move leads to; threads may have taken some more for themselves."""
    parents = memory.nodes["parent_edge"][: memory.record.nodes_used]
    return [0, *np.flatnonzero(parents).tolist()]


def check_blocks(memory: TreeMemory) -> dict[int, int]:
    """The blocks of edges follow one another without gaps; the first edge of each, by owner."""
    owners: dict[int, int] = {}
    header, used = 1, int(memory.record.edges_used)
    while header < used:
        assert memory.cold["move"][header] == HEADER_MOVE
        owner, count = int(memory.cold["child"][header]), int(memory.edges["visits"][header])
        if owner == BUSY:  # taken by a thread, and not used
            header += count + 1
            continue
        assert owner < memory.record.nodes_used
        assert owner not in owners
        owners[owner] = header + 1
        made = slice(header + 1, header + 1 + int(edges_of(memory.record, owner)))
        assert not np.any(memory.cold["move"][made] == HEADER_MOVE)
        assert np.all(memory.cold["child"][made] < memory.record.nodes_used)
        header += count + 1
    assert header == used
    return owners


def check_node(memory: TreeMemory, node: int, owners: dict[int, int], crowded: bool) -> bool:
    """A node, the edge into it and its block know each other; whether it has a block."""
    record = memory.nodes[node]
    above = int(record["parent_edge"])
    assert int(memory.cold["child"][above]) == node
    assert (above == 0) == (node == 0)
    assert record["state"] in (LEAF, EXPANDED, TERMINAL, PATH_DRAW)
    if record["state"] != EXPANDED:
        assert (record["first"], record["count"]) == (NONE, 0)
        return False
    first, count = int(record["first"]), int(record["count"])
    assert owners[node] == first
    assert count == memory.edges["visits"][first - 1]
    made, words = block_of(memory, node), packed_moves_of(memory, node)
    assert made.stop - made.start + len(words) == count
    visits, cold = memory.edges["visits"][made], memory.cold["child"][made]
    assert np.all(cold[visits == 0] == NONE)
    codes = [*memory.cold["move"][made].tolist(), *(code for code, _ in words)]
    assert len(set(codes)) == count
    if node:
        opened = int(record["tried"])
        assert np.all(visits[opened + crowded :] == 0)
        untried = memory.edges["prior"][made][opened:].tolist() + [prior for _, prior in words]
        assert all(first >= second for first, second in pairwise(untried))
    else:
        assert not words
    return True


def check_sums(memory: TreeMemory) -> None:
    """Every visit of a node but its first went on to one of its moves.

    True where nothing is proved and no subtree was given back.
    """
    for node in used_nodes(memory):
        record = memory.nodes[node]
        if record["state"] == EXPANDED:
            below = int(memory.edges["visits"][block_of(memory, node)].sum())
            assert memory.edges["visits"][record["parent_edge"]] == 1 + below
            assert memory.nodes["excluded"][node] <= below
