"""What an experiment is: a plan of settings, and what the games that it needs have shown.

A kind of experiment is a class derived from Plan, in balance.py or contests.py. Its fields are the
keys of the plan file.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from kibitz.arena.match.game import Control, Rules, Terms
from kibitz.arena.match.journal import Results
from kibitz.arena.match.runner import Setup
from kibitz.arena.match.spec import parse_player, parse_players
from kibitz.core.errors import ConfigError
from kibitz.core.files import write_bytes
from kibitz.core.log import plain
from kibitz.core.options import setting
from kibitz.core.provenance import described
from kibitz.data.openings import Opening, chosen_openings, odds_starts
from kibitz.train.curve import Panel, draw
from research.contempt.cells import Cell, MatchCell, Session
from research.contempt.counts import HasMoves

Json: TypeAlias = dict[str, Any]
MOST_GAMES = 1_000_000


@dataclass(frozen=True)
class Tau:
    """How moves are drawn by their visits: the paper's low temperature, moves as lc0 has them."""

    temperature: float = setting(0.7, "at first; 0: always the best move", low=0, high=100)
    delay: int = setting(0, "moves before it falls", low=0, high=100)
    decay: int = setting(5, "moves in which it falls to 0", low=0, high=640)
    end: float = setting(0.1, "lowest temperature", low=0, high=100)
    visit_offset: float = setting(0.0, "added to visits", low=-1000, high=1000)

    def options(self) -> tuple[str, ...]:
        """As options of a player."""
        given = {
            "Temperature": self.temperature,
            "TempDecayDelayMoves": self.delay,
            "TempDecayMoves": self.decay,
            "TempEndgame": self.end,
            "TempVisitOffset": self.visit_offset,
        }
        return tuple(f"{name}={value}" for name, value in given.items() if value)

    def of_selfplay(self) -> Json:
        """As settings of self-play, which count plies."""
        return {
            "temperature": self.temperature,
            "temperature_plies": 2 * self.delay,
            "temperature_decay": 2 * self.decay,
            "temperature_end": self.end,
            "visit_offset": self.visit_offset,
        }


@dataclass(frozen=True)
class HighTau(Tau):
    """The paper's high temperature."""

    temperature: float = setting(0.9, "at first; 0: always the best move", low=0, high=100)
    delay: int = setting(20, "moves before it falls", low=0, high=100)
    decay: int = setting(60, "moves in which it falls to 0", low=0, high=640)
    end: float = setting(0.6, "lowest temperature", low=0, high=100)
    visit_offset: float = setting(-0.8, "added to visits", low=-1000, high=1000)


TAU_1, TAU_2 = Tau(), HighTau()


@dataclass(frozen=True)
class Findings:
    """What an experiment shows: a table, the same rows for programs, a figure."""

    headings: tuple[str, ...]
    rows: list[tuple[object, ...]]
    facts: list[Json]
    panels: list[Panel]
    legend: list[tuple[str, str]]
    more: Json = field(default_factory=dict)  # beside the rows
    lines: list[str] = field(default_factory=list)  # below the table


@dataclass(frozen=True)
class Plan(ABC):
    """What all experiments have in common."""

    name: ClassVar[str]
    about: ClassVar[str]  # the question

    network: str = setting("shipped", "what plays: a network or evaluator as kibitz match has it")
    options: tuple[str, ...] = setting((), "of all our players, as NAME=VALUE")
    games: int = setting(100, "of each cell, an even number", low=2, high=MOST_GAMES)
    openings: str = setting("", "file of openings; usually none, see the table's last lines")
    most_moves: int = setting(0, "then a game is drawn; 0: never", low=0)
    seed: int = setting(1, "of openings and choices", low=0, high=10**9)
    workers: int = setting(1, "games at the same time", low=1, high=256)

    def __post_init__(self) -> None:
        if self.games % 2:
            raise ConfigError("games", value=self.games, fix="give an even number")
        for name, listed in vars(self).items():
            if isinstance(listed, tuple) and name != "options":
                _check_list(name, listed)

    @abstractmethod
    def cells(self) -> Sequence[Cell[HasMoves]]:
        """All that is to be played, as far as it is known beforehand."""

    @abstractmethod
    def find(self, session: Session) -> Findings:
        """Play the cells, or take what is there of them, and say what they show."""

    @property
    @abstractmethod
    def circumstances(self) -> Json:
        """Limits and opponents, in words."""

    def starts(self, games: int) -> list[Opening]:  # noqa: ARG002 - others need it
        """Where games begin without a file of openings."""
        return [Opening()]

    def player(self, *options: str) -> str:
        """Our player with the options of all players and its own."""
        return ",".join((self.network, *self.options, *options))

    def match(
        self,
        name: str,
        players: Sequence[str],
        control: Control,
        games: int = 0,
        odds: str = "",
        starts: Sequence[Opening] = (),
    ) -> MatchCell:
        """A match of the plan, at odds if a piece is named; from `starts`, but for a file's."""
        games = games or self.games
        if self.openings:
            openings = chosen_openings(Path(self.openings), None, games, self.seed)
        elif starts:
            openings = [*starts]
        elif odds:
            openings = [Opening(fen) for fen in odds_starts(odds)[::2]]  # White lacks it
        else:
            openings = self.starts(games)
        setup = Setup(
            players=parse_players([*players]),
            control=control,
            openings=openings,
            rounds=games // 2,
            seed=self.seed,
            terms=Terms(Rules(max_moves=self.most_moves)),
            concurrency=self.workers,
            source=self.openings,
            odds=bool(odds),
        )
        return MatchCell(name, setup)

    def described(self) -> Json:
        """What a table, a figure and JSON say of how the games were played."""
        facts = self.circumstances
        return {
            "network": parse_player(self.network).network or self.network,
            **facts,
            "start": self.openings or facts.get("start", "initial position"),
            "seed": self.seed,
        }

    def settings(self) -> Json:
        """All keys of the plan."""
        return asdict(self)


def _check_list(name: str, listed: tuple[object, ...]) -> None:
    """Refuse a list that asks for nothing, or for the same games twice."""
    if not listed:
        raise ConfigError(f"{name}: an empty list", fix="name one at least")
    for value, times in Counter(listed).items():
        if times > 1:
            raise ConfigError(name, value=value, fix=f"name it once, not {times} times")


# --- results --------------------------------------------------------------------------------------


def with_forfeits(plan: Plan, session: Session, findings: Findings) -> Findings:
    """Findings that also say which games a crash, a hang, an illegal or late move has decided."""
    listed: list[Json] = []
    for cell in plan.cells():
        if isinstance(cell, MatchCell):
            games = Results({game.number: game for game in cell.there(session.folder)})
            for place, spec in enumerate(cell.setup.players):
                if counts := games.forfeits(place):
                    listed.append({"cell": cell.name, "player": spec.name, "games": dict(counts)})
    lines = [
        f"{row['cell']}: forfeits of {row['player']}: "
        + ", ".join(f"{times} x {reason}" for reason, times in row["games"].items())
        for row in listed
    ]
    more = {**findings.more, "forfeits": listed} if listed else findings.more
    return replace(findings, more=more, lines=[*findings.lines, *lines])


def caption(plan: Plan, command: str, findings: Findings) -> list[str]:
    """What stands below a table and a figure; who plays stands in them."""
    facts = [f"{name}: {value}" for name, value in plan.described().items() if name != "givers"]
    stopped = findings.more.get("stopped")
    early = [f"stopped before its end: {stopped} are counted"] if stopped else []
    return [*early, "; ".join(facts), command]


def result(plan: Plan, command: str, findings: Findings) -> Json:
    """All that was found, for programs."""
    return {
        "experiment": plan.name,
        **plan.described(),
        "command": command,
        "plan": plan.settings(),
        "rows": findings.facts,
        **findings.more,
    }


def keep(folder: Path, plan: Plan, command: str, findings: Findings) -> None:
    """Write the figure and the JSON of an experiment."""
    description = described(result(plan, command, findings))
    content = json.dumps(plain(description), indent=1, allow_nan=False)
    write_bytes(folder / f"{plan.name}.json", f"{content}\n".encode())
    figure = draw(findings.panels, findings.legend, caption(plan, command, findings))
    write_bytes(folder / f"{plan.name}.svg", figure.encode())
