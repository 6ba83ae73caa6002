"""Trees grown by hand, so that tests of what is read from a tree need no search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.jit.records import as_record
from kibitz.position.fen import parse_fen
from kibitz.position.notation import parse_uci, relative
from kibitz.position.play import play
from kibitz.position.state import new_positions
from kibitz.search.mcts.rules.parameters import Behaviour
from kibitz.search.mcts.tree.context import ContextMemory
from kibitz.search.mcts.tree.memory import new_node, reserve_edges
from kibitz.search.mcts.tree.nodes import EXPANDED, LEAF, TreeMemory, clear_edge, quantise_prior


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Plain Python warns where 64-bit arithmetic wraps on purpose."""
    if not COMPILED:
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning"))


ALONE = as_record(Behaviour())


class Reply(NamedTuple):
    """A move to plant: UCI, visits, value for the player who makes it, prior, proof, draws."""

    uci: str
    visits: int = 0
    value: float = 0.0
    prior: float = 0.1
    proof: int = 0
    draw: float = 0.0
    square: float = 0.0


class HandmadeTree:
    """A tree, its root's position, and the position and node of every line planted."""

    def __init__(self, fen: str, visits: int = 0, value: float = 0.0) -> None:
        self.memory, self._context = TreeMemory(1), ContextMemory(0).record
        self.position = parse_fen(fen)
        self.nodes: dict[str, tuple[int, np.record]] = {"": (0, self.position)}
        self.edges: dict[str, int] = {"": 0}
        self.memory.edges[0]["visits"] = visits
        self.memory.edges[0]["value"] = -value
        self.memory.nodes[0]["raw"] = value

    def plant(self, line: str, replies: Sequence[Reply]) -> HandmadeTree:
        """Expand the node at the end of a line of moves, in UCI, with the given replies."""
        node, position = self.nodes[line]
        first = int(reserve_edges(self.memory.record, self._context, ALONE, node, len(replies)))
        self.memory.nodes[node]["first"] = first
        self.memory.nodes[node]["count"] = len(replies)
        self.memory.nodes[node]["tried"] = sum(reply.visits > 0 for reply in replies)
        self.memory.nodes[node]["state"] = EXPANDED
        for edge, reply in enumerate(replies, start=first):
            self._plant(edge, f"{line} {reply.uci}".strip(), position, reply)
        return self

    def _plant(self, edge: int, line: str, position: np.record, reply: Reply) -> None:
        memory = self.memory
        code = relative(position, parse_uci(position, reply.uci))
        clear_edge(memory.record, edge, int(code), int(quantise_prior(reply.prior)))
        self.edges[line] = edge
        memory.edges[edge]["visits"], memory.edges[edge]["value"] = reply.visits, reply.value
        memory.cold[edge]["proof"] = reply.proof
        if not reply.visits:
            return
        node = int(new_node(memory.record, self._context, ALONE, edge))
        memory.cold[edge]["child"] = node
        record = memory.nodes[node]
        record["draw"], record["square"] = reply.draw, reply.square
        record["raw"], record["state"] = -reply.value, LEAF
        after = new_positions(1)[0]
        play(position, after, code)
        self.nodes[line] = node, after


@pytest.fixture
def handmade() -> Callable[..., Any]:
    """`handmade(fen, visits, value)` is a tree to plant replies in."""

    def make(fen: str, visits: int = 0, value: float = 0.0) -> HandmadeTree:
        return HandmadeTree(fen, visits, value)

    return make


@pytest.fixture
def reply() -> type[Reply]:
    """The class of a move to plant."""
    return Reply
