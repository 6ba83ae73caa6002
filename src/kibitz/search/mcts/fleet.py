"""Many independent searches in step: one batch holds leaves of all of them.

    boards -> **Fleet** -> one evaluator call for a leaf of every game -> a tree for every board

What self-play with a batched evaluator wants: every game has its own tree and random generator,
and a search never has to look at a position twice to fill a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kibitz.encoding.leaves import Leaves, leaves_of, part_of
from kibitz.errors import InputError
from kibitz.evaluator.batched import (
    BatchedEvaluator,
    Evaluations,
    evaluated,
    refuse_not_finite,
)
from kibitz.kernel.records import as_record, one_record
from kibitz.position.board import Board
from kibitz.search.mcts.batched import Batch
from kibitz.search.mcts.playout.gather import back_up_batch, cancel, gather
from kibitz.search.mcts.playout.leaf import adjusted
from kibitz.search.mcts.playout.playout import NO_ROOM
from kibitz.search.mcts.playout.root import expand_root, mix_noise, plan_gumbel, set_root_value
from kibitz.search.mcts.rules.from_settings import to_behaviour, to_rule
from kibitz.search.mcts.rules.parameters import Gumbel
from kibitz.search.mcts.tree.context import CONTROL, PAST, ContextMemory
from kibitz.search.mcts.tree.nodes import BATCHES, EXPANDED, TreeMemory, clear
from kibitz.search.mcts.tree.reuse import Line, keep_subtree, make_room
from kibitz.search.params import Settings


class Ship:
    """One game's tree, context and random generator."""

    def __init__(self, megabytes: float, seed: int) -> None:
        self.memory, self.context, self.line = TreeMemory(megabytes), ContextMemory(seed), Line()
        self.generator = np.random.default_rng(seed)
        self.control: Any = one_record(CONTROL)
        self.rows = (0, 0)  # of the batch, filled for this game

    @property
    def visits(self) -> int:
        """Visits of the root."""
        return int(self.memory.edges[0]["visits"])

    @property
    def is_open(self) -> bool:
        """Whether the root has moves to search."""
        return bool(self.memory.nodes[0]["state"] == EXPANDED)


class Fleet:
    """A fixed number of searches that share one evaluator and their settings."""

    def __init__(
        self,
        evaluator: BatchedEvaluator,
        settings: Settings,
        games: int,
        *,
        leaves_each: int = 1,
        megabytes_each: float = 2.0,
    ) -> None:
        self.evaluator, self.settings, self.leaves_each = evaluator, settings, leaves_each
        self.rule = to_rule(settings)
        self._rule = as_record(self.rule)
        self._behaviour = as_record(to_behaviour(settings)._replace(shared=BATCHES, expand_at=1))
        self.ships = [Ship(megabytes_each, settings.seed + 7919 * game) for game in range(games)]
        self._batch = Batch(games * leaves_each, evaluator.sees.history)

    def search(self, boards: Sequence[Board], nodes: int) -> list[TreeMemory]:
        """Give every board's root `nodes` visits, those of kept trees included; the trees.

        A board that continues the one searched in the same place keeps its subtree. Games that
        are over keep an unexpanded root.
        """
        if len(boards) != len(self.ships):
            raise InputError("boards", value=len(boards), fix=f"expected {len(self.ships)}")
        self._open([*zip(self.ships, boards, strict=True)])
        for ship in self.ships:
            if ship.is_open:
                ship.control.budget = max(0, nodes - ship.visits)
                self._stir(ship)
        waiting = [ship for ship in self.ships if ship.is_open]
        while waiting := [ship for ship in waiting if ship.visits < nodes]:
            self._step(waiting, nodes)
        return [ship.memory for ship in self.ships]

    def _open(self, pairs: list[tuple[Ship, Board]]) -> None:
        """Keep subtrees, and evaluate all fresh roots in one batch."""
        fresh = []
        for ship, board in pairs:
            plies = ship.line.extension(board)
            kept = plies is not None and not isinstance(self.rule, Gumbel)
            kept = kept and keep_subtree(ship.memory, board, plies or 0)
            if not kept:
                clear(ship.memory.record)
            ship.context.set_line(board.positions())
            ship.line.remember(board)
            if not kept and board.outcome() is None:
                fresh.append(ship)
        if fresh:
            lines = [ship.context.line[PAST - ship.context.past : PAST + 1] for ship in fresh]
            games = [line.view(np.recarray) for line in lines]
            leaves = leaves_of(games, self.evaluator.sees.history)
            out = evaluated(self.evaluator, leaves)
            refuse_not_finite(self.evaluator.name, *out)
            self._expand_roots(fresh, leaves, out)

    def _expand_roots(self, ships: list[Ship], leaves: Leaves, out: Evaluations) -> None:
        for row, ship in enumerate(ships):
            start, end = int(leaves.offsets[row]), int(leaves.offsets[row + 1])
            context, count = ship.context.record, end - start
            context.moves[:count], context.logits[:count] = (
                leaves.moves[start:end],
                out.logits[start:end],
            )
            value = float(out.wdl[row, 0] - out.wdl[row, 2])
            value = adjusted(self._behaviour, leaves.positions[row, 0], value)
            set_root_value(ship.memory.record, value, float(out.wdl[row, 1]))
            expand_root(ship.memory.record, context, self._behaviour, count)

    def _stir(self, ship: Ship) -> None:
        """Noise and plans, each game with its own generator."""
        settings = self.settings
        mix_noise(ship.memory, settings, ship.generator)
        if isinstance(self.rule, Gumbel):
            plan_gumbel(ship.memory, self.rule, int(ship.control.budget), ship.generator)

    def _step(self, waiting: list[Ship], nodes: int) -> None:
        """One batch: leaves of every waiting game, their evaluation, and what follows."""
        batch, row = self._batch, 0
        batch.paths.record.collided = batch.paths.record.capacity  # games do not share collisions
        full: list[Ship] = []
        for ship in waiting:
            row = self._gather(ship, row, nodes - ship.visits, full)
        batch.filled = row
        if row:
            self.evaluator.evaluate(part_of(batch.leaves, 0, row), batch.filled_out())
            refuse_not_finite(self.evaluator.name, *batch.filled_out())
        full += [ship for ship in waiting if not self._back_up(ship)]
        for ship in full:
            make_room(ship.memory)

    def _gather(self, ship: Ship, row: int, playouts: int, full: list[Ship]) -> int:
        """Fill the ship's share of the batch; the next free row."""
        last, _, outcome = gather(
            self._rule,
            ship.memory.record,
            ship.context.record,
            self._behaviour,
            ship.context.line.view(np.recarray),
            ship.context.past,
            self._batch.paths.record,
            self._batch.leaves,
            row,
            row + min(self.leaves_each, playouts),
            playouts,
            ship.control,
        )
        ship.rows = (row, int(last))
        if outcome == NO_ROOM:
            full.append(ship)
        return int(last)

    def _back_up(self, ship: Ship) -> bool:
        """Settle the ship's rows; False if its tree is full, the rest then taken back."""
        first, last = ship.rows
        tree, context, paths = ship.memory.record, ship.context.record, self._batch.paths.record
        out, leaves = self._batch.out, self._batch.leaves
        done = back_up_batch(
            tree, context, self._behaviour, paths, leaves, out.wdl, out.logits, first, last
        )
        if done < last:
            cancel(tree, context, paths, done, last)
        return bool(done == last)
