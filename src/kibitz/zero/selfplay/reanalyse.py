"""Stored games are searched again, and get the policies (and values) that the search finds.

The positions stay what they were. So a stronger network, or another rule of search, teaches from
games that exist already.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from kibitz.core.places import Place
from kibitz.core.workers import in_processes
from kibitz.data.shard import NOT_A_POLICY, SUFFIX, Game, Ply, Shard, games_of, provenance, shard_of
from kibitz.data.store import Store, add, concatenate, cut
from kibitz.nets.discover import at_work, files_of
from kibitz.nets.load import Evaluator, load_evaluator
from kibitz.position.board import Board
from kibitz.position.fen import castles960
from kibitz.position.moves import NO_MOVE
from kibitz.position.notation import absolute
from kibitz.search.limits import Limits
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.options import Settings
from kibitz.zero.selfplay.targets import policy_target, searched_value

PIECE = 1_000  # plies that a process searches at a time
SEED_MASK = (1 << 31) - 1


@dataclass(frozen=True)
class Reanalysis:
    """How positions are searched. A game's random numbers come from its seed and the settings'."""

    network: str
    settings: Settings
    nodes: int
    values: bool = False  # whether the search's values replace those of the shard

    @property
    def about(self) -> dict[str, Any]:
        """What the new shards say about where their policies come from."""
        default = Settings()
        changed = {
            name: value
            for name, value in msgspec.to_builtins(self.settings).items()
            if value != getattr(default, name)
        }
        whole = {
            "network": Path(self.network).name,
            "nodes": self.nodes,
            "values": self.values,
            "settings": changed,
        }
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(whole))
        return {"reanalysis": plain}


class Analyst:
    """One process's part of the work; the evaluator is loaded when the first piece comes."""

    def __init__(self, reanalysis: Reanalysis) -> None:
        self._reanalysis = reanalysis
        self._evaluator: Evaluator | None = None

    def __call__(self, shard: Shard) -> Shard:
        """The games, searched again."""
        if self._evaluator is None:
            self._evaluator = load_evaluator(at_work(self._reanalysis.network))
        return shard_of([self._game(game, self._evaluator) for game in games_of(shard)])

    def _game(self, game: Game, evaluator: Evaluator) -> Game:
        settings = self._reanalysis.settings
        seed = (settings.seed + game.seed) & SEED_MASK
        board = Board(game.start)
        board.chess960 = castles960(board.position)
        plies = []
        with Searcher(evaluator, settings.with_(seed=seed)) as searcher:
            for ply in game.plies:
                plies.append(self._ply(ply, board, searcher))
                if ply.move != NO_MOVE:
                    board.push(absolute(board.position, ply.move))
        source = game.source | self._reanalysis.about
        return replace(game, plies=tuple(plies), source=source)

    def _ply(self, ply: Ply, board: Board, searcher: Searcher) -> Ply:
        """A fresh search of the position; where the game is over, there is nothing to learn."""
        searcher.new_game()
        searcher.search_tree(board, Limits(nodes=self._reanalysis.nodes))
        visits = policy_target(searcher.memory, searcher.rule)
        if not visits:
            return replace(ply, visits=(), flags=ply.flags | NOT_A_POLICY)
        searched = replace(ply, visits=visits, flags=ply.flags & ~NOT_A_POLICY)
        if not self._reanalysis.values:
            return searched
        value, draw = searched_value(searcher.memory.record)
        raw = float(searcher.memory.nodes[0]["raw"])
        return replace(searched, value=value, draw=draw, root_value=raw)


def reanalyse(
    store: Store, output: Place, reanalysis: Reanalysis, workers: int
) -> Generator[tuple[Place, int, bool]]:
    """Search all games of the shards again: (shard, plies, whether it is now complete).

    Every shard becomes one in `output`. What is there already is not searched again, so that a run
    that was stopped goes on where it was, at a loss of no more than one shard. Damaged shards are
    left out, as the store counts.
    """
    done = _done(output, reanalysis)
    analyst, needs = Analyst(reanalysis), files_of(reanalysis.network)
    for path in [path for path in store.paths if path.stem in done]:
        yield path, 0, True
    for path, shard in store.named(path for path in store.paths if path.stem not in done):
        pieces = []
        work = in_processes(analyst, cut([shard], PIECE), workers, in_order=True, needs=needs)
        for piece in work:
            pieces.append(piece)
            yield path, piece.plies, False
        whole = concatenate(pieces)
        made = provenance("data reanalyse") | {"of": path.stem} | reanalysis.about
        header = msgspec.structs.replace(whole.header, provenance=made)
        add(output, whole._replace(header=header), path.stem)
        yield path, 0, True


def _done(output: Place, reanalysis: Reanalysis) -> set[str]:
    """Names of the shards that are in the folder already, made in the same way."""
    if not output.is_dir():
        return set()
    there = Store(list(output.glob(f"*{SUFFIX}")))
    headers = [header.provenance for _, header in there.headers()]
    wanted = reanalysis.about["reanalysis"]
    return {
        str(header["of"])
        for header in headers
        if header.get("reanalysis") == wanted and "of" in header
    }
