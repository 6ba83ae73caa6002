"""`kibitz selfplay`: games of a network against itself, into shards."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.cli.output import EXIT_STOPPED, At, JsonFlag, NetworkFlag, at_least, emit
from kibitz.core.files import open_read, write_bytes
from kibitz.core.log import Bar, graceful_stop, progress, say
from kibitz.core.places import Place
from kibitz.core.settings import load_table
from kibitz.data.pgn import tree_of
from kibitz.data.shard import games_of
from kibitz.engine.options import AUTODISCOVER, chosen
from kibitz.nets.discover import named
from kibitz.zero.selfplay.config import PRESETS, SelfPlay, preset_changes
from kibitz.zero.selfplay.play import GameSummary, about_games, as_shard, play

SEED, GAMES = 1, 100


def selfplay(
    folder: Annotated[At, Parameter(help="Folder for the shards.")],
    *,
    network: NetworkFlag = AUTODISCOVER,
    games: Annotated[int, Parameter(help="Games, those already in the folder included.")] = GAMES,
    preset: Annotated[str, Parameter(help=f"Settings: {', '.join(PRESETS)}.")] = "kibitz",
    setting: Annotated[
        tuple[str, ...], Parameter(name=["--set"], help="As KEY=VALUE; may be repeated.")
    ] = (),
    option: Annotated[
        tuple[str, ...], Parameter(help="Of the search, as NAME=VALUE; may be repeated.")
    ] = (),
    seed: Annotated[int, Parameter(help="The same seed plays the same games.")] = SEED,
    generation: Annotated[int, Parameter(help="Number of the network, for the shards.")] = 0,
    first: Annotated[int, Parameter(help="Number of the first game.")] = 0,
    pgn: Annotated[At | None, Parameter(help="Write games to this PGN, too.")] = None,
    every: Annotated[int, Parameter(help="... one of so many.")] = 100,
    json: JsonFlag = False,
) -> int:
    """Play games of a network against itself, with the searches that teach the next one.

    Goes on where it was stopped: games that are in the folder are not played again. The settings
    are those of the table [selfplay] of the settings file.
    """
    at_least(1, games=games, every=every)
    at_least(0, seed=seed, generation=generation, first=first)
    settings = load_table(SelfPlay, "selfplay", setting, preset_changes(preset))
    settings = replace(settings, options=settings.options + option).validated()
    for line in settings.idle():
        say(line)
    where = chosen(network)
    show = _Show(pgn, every, about_games(where, settings, seed, generation))
    with graceful_stop() as stop, progress("games", total=games) as show.bar:
        report = play(
            where,
            settings,
            folder,
            games=games,
            seed=seed,
            generation=generation,
            first=first,
            stop=stop,
            on_game=show.on_game,
        )
    show.write()
    facts = {"network": named(where), "preset": preset, **report.facts(), "output": str(folder)}
    emit(facts, as_json=json)
    return EXIT_STOPPED if report.stopped else 0


class _Show:
    """What goes on, and the games for a PGN."""

    def __init__(self, pgn: Place | None, every: int, about: dict[str, Any]) -> None:
        self.bar: Bar | None = None
        self._pgn, self._every, self._about = pgn, every, about
        self._texts: dict[int, str] = {}
        self._began = time.monotonic()
        self._games = self._plies = self._draws = self._repeated = self._white = 0

    def on_game(self, game: GameSummary) -> None:
        """Count a game and show it."""
        self._games += 1
        self._plies += game.plies
        self._white += game.result == 1
        self._draws += game.result == 0
        self._repeated += game.repeated
        seconds = max(time.monotonic() - self._began, 1e-9)
        if self.bar is not None:
            losses = self._games - self._white - self._draws
            self.bar.describe(
                f"{self._games / seconds:,.1f} games/s, {self._plies / seconds:,.0f} moves/s, "
                f"length {self._plies / self._games:.0f}, "
                f"+{self._white} ={self._draws} -{losses}, {self._repeated} repeated"
            )
            self.bar.advance()
        if self._pgn is not None and game.number % self._every == 0:
            (record,) = games_of(as_shard([game.game], self._about))
            self._texts[game.number] = f"{tree_of(record, game.number + 1)}\n\n"

    def write(self) -> None:
        """Add the games to the PGN, in order."""
        if self._pgn is None or not self._texts:
            return
        before = b""
        if self._pgn.exists():
            with open_read(self._pgn) as file:
                before = file.read()
        texts = "".join(text for _, text in sorted(self._texts.items()))
        write_bytes(self._pgn, before + texts.encode())
