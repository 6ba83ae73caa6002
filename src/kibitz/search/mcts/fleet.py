"""Many independent searches in step: one batch holds leaves of all of them.

    boards -> **Fleet** -> one evaluator call for a leaf of every game -> a tree for every board

Self-play with a batched evaluator uses it: every game has its own tree and random generator, and
no search has to choose worse moves to fill a batch.
"""

from __future__ import annotations

from collections.abc import Sequence

from kibitz.errors import InputError
from kibitz.evaluator.batched import BatchedEvaluator
from kibitz.evaluator.inline import InlineEvaluator
from kibitz.position.board import Board
from kibitz.search.mcts.driver import Driver
from kibitz.search.mcts.playout.root import prepare_root
from kibitz.search.mcts.rules.from_settings import to_behaviour, to_rule
from kibitz.search.mcts.rules.parameters import Gumbel
from kibitz.search.mcts.tree.nodes import TreeMemory, clear
from kibitz.search.mcts.tree.reuse import Line, keep_subtree
from kibitz.search.mcts.treesearch import SEED_STEP, TreeSearch
from kibitz.search.params import Settings


class Game(TreeSearch):
    """The search of one game of a fleet: a tree and the line it belongs to."""

    def __init__(self, megabytes: float, seed: int) -> None:
        super().__init__(TreeMemory(megabytes), seed)
        self.line = Line()


class Fleet:
    """A fixed number of searches that share one evaluator and their settings."""

    def __init__(
        self,
        evaluator: InlineEvaluator | BatchedEvaluator,
        settings: Settings,
        games: int,
        *,
        leaves_each: int = 1,
        megabytes_each: float = 2.0,
    ) -> None:
        self.settings, self.rule = settings, to_rule(settings)
        seeds = [settings.seed + SEED_STEP * game for game in range(games)]
        self.games = [Game(megabytes_each, seed) for seed in seeds]
        behaviour = to_behaviour(settings)
        self._driver = Driver(self.games, evaluator, self.rule, behaviour, leaves_each, in_flight=1)

    def search(self, boards: Sequence[Board], nodes: int) -> list[TreeMemory]:
        """Give every board's root `nodes` visits, those of kept trees included; the trees.

        A board that continues the one searched in the same place keeps its subtree. Games that
        are over keep an unexpanded root; a search ends early when its root is proved.
        """
        if len(boards) != len(self.games):
            raise InputError("boards", value=len(boards), fix=f"expected {len(self.games)}")
        settings, pairs = self.settings, zip(self.games, boards, strict=True)
        self._driver.open_roots([game for game, board in pairs if self._is_fresh(game, board)])
        playouts = [max(0, nodes - game.visits) if game.is_open else 0 for game in self.games]
        for game, count in zip(self.games, playouts, strict=True):
            if game.is_open:
                context = game.contexts[0].record
                prepare_root(game.memory, context, self.rule, settings, count)
        self._driver.run(playouts)
        return [game.memory for game in self.games]

    def _is_fresh(self, game: Game, board: Board) -> bool:
        """Keep the subtree of a game that goes on; whether its root is to be opened instead."""
        plies = game.line.extension(board)
        kept = plies is not None and not isinstance(self.rule, Gumbel)
        kept = kept and keep_subtree(game.memory, board, plies or 0)
        if not kept:
            clear(game.memory.record)
        game.set_root(board.positions())
        game.line.remember(board)
        return not kept and board.outcome() is None
