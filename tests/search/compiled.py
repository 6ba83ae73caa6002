"""The compiled search by hand, without threads, limits and reports: a tree, a context, playouts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import chess
import numpy as np

from kibitz.jit.records import as_record, one_record
from kibitz.nets.evaluators.inline import inline_evaluator
from kibitz.position.board import Board
from kibitz.position.moves import FLIP_MOVE
from kibitz.position.notation import Move
from kibitz.search.mcts.playout.playout import playouts
from kibitz.search.mcts.playout.root import evaluate_root, expand_root
from kibitz.search.mcts.rules.parameters import Behaviour, Rule, looks_by_prior
from kibitz.search.mcts.tree.context import CONTROL, ContextMemory
from kibitz.search.mcts.tree.nodes import EXPANDED, NONE, TreeMemory, edges_of
from kibitz.search.proof import DRAW, bounded, is_settled


class Compiled:
    """One tree, one context, and what the kernels need besides."""

    def __init__(
        self,
        board: chess.Board,
        rule: Rule,
        behaviour: Behaviour,
        evaluator: Any,
        seed: int = 1,
        megabytes: float = 2.0,
    ) -> None:
        self.memory, self.context = TreeMemory(megabytes), ContextMemory(seed)
        behaviour = behaviour._replace(by_prior=int(looks_by_prior(rule)))
        self.rule, self.behaviour = as_record(rule), as_record(behaviour)
        self.evaluator = inline_evaluator(evaluator)
        self.scratch = self.evaluator.new_scratch()
        self.control = one_record(CONTROL)
        self.stand_at(board)
        self.open_root()

    def stand_at(self, board: chess.Board) -> None:
        """Let searches start from here."""
        self.context.set_line(Board.from_chess(board).positions())

    def open_root(self) -> None:
        """Evaluate the root and give it its moves."""
        common = (self.behaviour, self.evaluator.record, self.scratch.record)
        count = evaluate_root(self.memory.record, self.context.record, *common)
        if self.memory.nodes[0]["state"] != EXPANDED:
            assert expand_root(self.memory.record, self.context.record, self.behaviour, count)

    def run(self, count: int, context: ContextMemory | None = None) -> int:
        """Play out `count` times, which are the budget of the move; the outcome."""
        self.control.tickets = self.control.budget = count
        self.control.full = self.control.stop = 0
        return self.work(context or self.context)

    def work(self, context: ContextMemory) -> int:
        """Use up the tickets that are there."""
        return int(
            playouts(
                self.rule,
                self.memory.record,
                context.record,
                self.behaviour,
                self.evaluator.record,
                self.scratch.record,
                self.control,
            )
        )

    # --- looking at the tree ------------------------------------------------------------------

    def block(self, node: int) -> range:
        """Places of the edges of a node."""
        record = self.memory.nodes[node]
        if record["state"] != EXPANDED:
            return range(0)
        edges = int(edges_of(self.memory.record, node))  # the other moves have never been looked at
        return range(int(record["first"]), int(record["first"]) + edges)

    def edges(self, node: int = 0, path: str = "") -> Iterator[tuple[str, int]]:
        """Every visited edge below a node, with the moves that lead to it."""
        memory, black = self.memory, bool(self.context.positions["side"][0])
        flip = FLIP_MOVE if (len(path.split()) + black) % 2 else 0
        for edge in self.block(node):
            if memory.edges["visits"][edge] == 0:
                continue
            move = Move(int(memory.cold["move"][edge]) ^ flip)
            here = f"{path} {move}".strip()
            yield here, edge
            child = int(memory.cold["child"][edge])
            if child != NONE:
                yield from self.edges(child, here)

    def proof(self, edge: int) -> tuple[int, int] | None:
        """Value and plies of what is proved about an edge."""
        proof = int(self.memory.cold["proof"][edge])
        if not is_settled(proof):
            return None
        return (0, 0) if proof == DRAW else (int(np.sign(proof)), abs(proof))

    def bounds(self, edge: int) -> tuple[float, float]:
        """The least and the most that an edge may be worth."""
        proof = int(self.memory.cold["proof"][edge])
        return float(bounded(proof, -1.0)), float(bounded(proof, 1.0))

    def root_visits(self) -> list[int]:
        """Visits of the root's moves, in order of prior."""
        return [int(self.memory.edges["visits"][edge]) for edge in self.block(0)]
