"""Settings of learning from nothing, and what follows from them for one generation.

Imports no torch: the settings file is checked where torch need not be installed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from kibitz.arena.match.elo import Sprt
from kibitz.core.errors import ConfigError
from kibitz.core.files import Location
from kibitz.core.options import check, setting
from kibitz.core.settings import file_values, load
from kibitz.nets.models.sizes import parse
from kibitz.search.mcts.rules.parameters import OFF
from kibitz.train.config import (
    DataSettings,
    DistillSettings,
    LossWeights,
    OptimiserSettings,
    RunSettings,
    Schedule,
    TrainingSettings,
)
from kibitz.zero.selfplay.config import SelfPlay

STARTS = ("uniform", "random", "material")
WINDOW_SLOPE = 0.4  # KataGo's: of each new position, when the window begins to grow
STEPS_OF_WARMUP = 20
LAST_RATE = 0.1  # of a training's rate, at its end
WIDER_TRUST = 0.5  # share of the last network in the targets of a wider one's first training
MOST_VALIDATED = 8_192  # positions

# What each of several processes of a run says for itself: its machine, and when it ends.
OF_A_PROCESS = (
    *("learn.cores", "learn.device", "learn.hours", "learn.total_games", "learn.generations"),
    *("selfplay.workers", "selfplay.cache", "selfplay.syzygy"),
)

# Where learning from nothing differs from what the tables say themselves, by who plays the games; a
# file goes before it.
KIND, USUAL_KIND = "selfplay.kind=", "alphabeta"
USUAL = {
    "alphabeta": (
        "optimiser.weight_decay=0.01",
        "selfplay.kind=alphabeta",
        "selfplay.nodes=250",
        "selfplay.random_plies=[8, 9]",
        "selfplay.first_value=0.9",
        "selfplay.resign=0.95",
        "selfplay.chess960=0.05",
        "selfplay.group=100",
        "selfplay.most_plies=300",
    ),
    "mcts": (
        "learn.start=uniform",
        "learn.games=2000",
        "learn.network=sparse-64x32-threats",
        "learn.grow=[]",
        "learn.window_growth=0.75",
        "learn.reuse=1.5",
        "learn.batch=1024",
        "learn.rate=0.002",
        "learn.policy_share=1",
        "learn.result_share=0.5",
        "learn.result_fade=6",
        "learn.gate_bounds=[]",
        "learn.rate_every=4",
        "learn.opponents=['random', 'greedy', 'material']",
        "learn.rating_games=40",
        "learn.rating_search=mcts",
        "learn.rating_nodes=100",
        "learn.doubling=0",
        "learn.most_playouts=32000",
        "optimiser.weight_decay=0.01",
        "selfplay.playouts=16",
        "selfplay.group=100",
        "selfplay.most_plies=300",
    ),
}


@dataclass(frozen=True)
class Learn:
    """The cycle: how much is played, trained and rated in each generation."""

    # --- play
    start: str = setting(
        "random",
        "plays generation 0: uniform (all is level), random (weights), material (pieces are"
        " counted), or the file of a float network, which is trained on",
    )
    games: int = setting(4000, "games of each generation", low=1)
    group: int = setting(200, "games that a process plays before it looks up, games at most", low=1)
    evaluations: int = setting(
        0, "instead of games: playouts of each generation, in whole groups", low=0
    )
    ahead: float = setting(
        4.0, "most games of a generation, times games, while others train", low=1
    )
    cores: int = setting(0, "processors used; 0: all", low=0)
    device: str = setting("cpu", "where networks are trained: cpu, cuda, or auto")
    seed: int = setting(0, "of games, weights, order and matches", low=0)

    # --- train
    network: str = setting("sparse-64x32-tactics", "size of the first network")
    grow: tuple[str, ...] = setting(
        ("6:sparse-128x32-tactics", "10:sparse-256x64-tactics"),
        "wider networks, as generation:size",
    )
    window: int = setting(500_000, "positions of the first window; it grows with all", low=1)
    window_growth: float = setting(
        0.9, "power of all positions that it grows with; 0: never, 1: as fast", low=0, high=1
    )
    reuse: float = setting(3.0, "times that a new position is shown, on average", low=0.01)
    batch: int = setting(4096, "positions in a batch", low=1)
    rate: float = setting(3e-3, "learning rate of the first generation", low=0)
    rate_decay: float = setting(0.98, "of the rate, each generation", low=0.01, high=1)
    rate_lowest: float = setting(3e-4, "below this it does not decay", low=0)
    trust: float = setting(
        0.1, "share of the last network in the targets of policy and value", low=0, high=0.9
    )
    policy_share: float = setting(
        0.25,
        "share of the positions that teach the policy, too: its moves cost most",
        low=0,
        high=1,
    )
    result_share: float = setting(0.1, "of the game's result in the value target", low=0, high=1)
    result_fade: int = setting(
        2, "generations in which that share falls from 1; searches know nothing yet", low=0
    )
    validation: float = setting(0.02, "share of games held out", low=0, high=0.9)
    growth_reuse: float = setting(
        2.0, "times that a wider network sees the window, the last one teaching", low=0.01
    )

    # --- gate
    gate: float = setting(0.0, "score against the last network to replace it", low=0, high=1)
    gate_bounds: tuple[float, ...] = setting(
        (0.0, 50.0), "instead: of an SPRT against it, in normalised Elo; []: no test"
    )
    gate_games: int = setting(200, "most games of that match, an even number", low=2)

    # --- rate
    rate_every: int = setting(3, "generations between rating matches", low=1)
    opponents: tuple[str, ...] = setting(
        ("random", "greedy", "material", "kibitz-zero"),
        "players as in kibitz match, each met until it is beaten",
    )
    earlier: tuple[int, ...] = setting(
        (1, 4), "generations back, in rated ones, of earlier networks to be met", low=1
    )
    rating_games: int = setting(100, "games against each, an even number", low=2)
    rating_search: Literal["mcts", "alphabeta"] = setting(
        "alphabeta", "search of all who search and do not say theirs"
    )
    rating_nodes: int = setting(3000, "nodes for each move of a network", low=1)
    rating_plies: int = setting(6, "random plies at the start of a rating game", low=0)
    beaten: float = setting(0.95, "score from which one is met no more", low=0.5, high=1)
    anchor: str = setting("greedy", "the opponent whose rating is known")
    anchor_elo: float = setting(0.0, "its rating")

    # --- control
    ratio: float = setting(
        0.0, "decided games for each draw, kept by moving selfplay.sc_limit; 0: off", low=0
    )
    ratio_power: float = setting(
        0.8, "the ratio falls with sc_limit to this power; larger: smaller steps", low=0.05
    )
    doubling: int = setting(40_000, "games until playouts, or nodes, double; 0: never", low=0)
    most_playouts: int = setting(1_000, "they do not double beyond this", low=1)

    # --- until
    hours: float = setting(0.0, "hours of each start; 0: no end", low=0)
    total_games: int = setting(0, "games of the whole run; 0: no end", low=0)
    generations: int = setting(0, "networks to train; 0: no end", low=0)

    def __post_init__(self) -> None:
        check(self)
        if self.start not in STARTS and not self.is_taught:
            fix = f"give {', '.join(STARTS)}, or the .safetensors of a float network"
            raise ConfigError("learn.start", value=self.start, fix=fix)
        for name in ("rating_games", "gate_games"):
            if getattr(self, name) % 2:
                fix = "give an even number; openings come in pairs"
                raise ConfigError(f"learn.{name}", value=getattr(self, name), fix=fix)
        self.gate_test()
        if self.opponents and self.anchor not in self.opponents:
            fix = f"give one of learn.opponents: {', '.join(self.opponents)}"
            raise ConfigError("learn.anchor is no opponent", value=self.anchor, fix=fix)
        for size in (self.network, *(size for _, size in self.growth)):
            if parse(size).family != "sparse":
                fix = "give a sparse one, like sparse-64x32-threats"
                raise ConfigError("learn.network: not for learning here", value=size, fix=fix)

    @property
    def is_taught(self) -> bool:
        """Whether generation 0 is a network that has learned already."""
        return self.start.endswith(".safetensors")

    @property
    def group_games(self) -> int:
        """Games of a group: no more than a generation has.

        >>> [Learn(games=games, group=200).group_games for games in (16, 1000)]
        [16, 200]
        """
        return self.group if self.evaluations else min(self.group, self.games)

    def gate_test(self) -> Sprt | None:
        """The test by which a generation replaces the last one; None without bounds."""
        return Sprt.between(self.gate_bounds, "learn.gate_bounds") if self.gate_bounds else None

    @property
    def growth(self) -> list[tuple[int, str]]:
        """Generations in which a wider network begins, and its size, in order."""
        growth: list[tuple[int, str]] = []
        for text in self.grow:
            generation, colon, size = text.partition(":")
            if not colon or not generation.isdecimal() or int(generation) < 2:
                fix = "write 20:sparse-128x64-threats, generations from 2"
                raise ConfigError("learn.grow", value=text, fix=fix)
            if int(generation) in dict(growth):
                raise ConfigError("learn.grow", value=text, fix="give one size for a generation")
            growth.append((int(generation), size))
        return sorted(growth)

    def size_of(self, generation: int) -> str:
        """The size of a generation's network; of 0 the name of what learning starts from."""
        if not generation:
            return Path(self.start).stem
        begun = [size for first, size in self.growth if first <= generation]
        return begun[-1] if begun else self.network

    def window_of(self, positions: int) -> int:
        """Positions that are learned from, of so many there are in all, by KataGo's formula.

        >>> Learn(window=1000, window_growth=0.5).window_of(4000)
        1800
        """
        if positions <= self.window or not self.window_growth:
            return min(positions, self.window)
        grown = math.pow(positions / self.window, self.window_growth) - 1.0
        slope = WINDOW_SLOPE / self.window_growth
        return min(positions, round(self.window * (1.0 + slope * grown)))

    def rate_of(self, generation: int) -> float:
        """The learning rate of a generation's training; a wider network begins anew."""
        since = max([1, *(first for first, _ in self.growth if first <= generation)])
        decayed = self.rate * math.pow(self.rate_decay, generation - since)
        return max(decayed, min(self.rate, self.rate_lowest))

    def result_share_of(self, generation: int) -> float:
        """The share of results in the value target of a generation's training."""
        if self.is_taught or generation > self.result_fade:
            return self.result_share
        part = (generation - 1) / self.result_fade
        return 1.0 - part * (1.0 - self.result_share)

    def training(
        self, generation: int, size: int, fresh: int, cores: int, last: str, last_size: str
    ) -> TrainingSettings:
        """The settings of a generation's training but for tables and places of their own.

        `size` is the window's, `fresh` how many positions of it are new, `last` the float network
        of the generation before, empty where there is none. Where another size is wanted than that
        one has, a new network begins, and the last one teaches it.
        """
        grows = bool(last) and self.size_of(generation) != last_size
        shown = self.growth_reuse * size if grows else self.reuse * fresh
        batch = max(1, min(self.batch, size // 2))  # some are held out
        steps = max(1, math.ceil(shown / batch))
        rate = self.rate_of(generation)
        share = WIDER_TRUST if grows else self.trust
        teacher = last if share else ""
        return TrainingSettings(
            run=RunSettings(
                network=self.size_of(generation) if grows or not last else last,
                batch=batch,
                steps=steps,
                seed=self.seed + generation,
                device=self.device,
                threads=cores,
                log=max(1, steps // 8),
                validate=0,
                keep=1,
                best=False,
                tensorboard=False,
            ),
            data=DataSettings(
                newest=size,
                validation=self.validation,
                validation_positions=MOST_VALIDATED,
                played=False,
                result_share=self.result_share_of(generation),
                policy_share=self.policy_share,
            ),
            schedule=Schedule(
                shape="cosine",
                rate=rate,
                lowest=LAST_RATE * rate,
                warmup=min(STEPS_OF_WARMUP, steps // 2),
            ),
            distill=DistillSettings(
                temperature=1.0, policy_share=share, value_share=share, teacher=teacher
            ),
        )


@dataclass(frozen=True)
class LearnSettings:
    """The tables of a run's settings file."""

    learn: Learn = field(default_factory=Learn)
    selfplay: SelfPlay = field(default_factory=SelfPlay)
    optimiser: OptimiserSettings = field(default_factory=OptimiserSettings)
    loss: LossWeights = field(default_factory=LossWeights)

    def __post_init__(self) -> None:
        if self.learn.ratio and self.selfplay.sc_limit == OFF:
            fix = "give the limit to begin with, selfplay.rule=puct and selfplay.trees=2"
            what = "learn.ratio moves selfplay.sc_limit, which is off"
            raise ConfigError(what, value=self.learn.ratio, fix=fix)


def refuse_others(run: LearnSettings, own: LearnSettings, fix: str) -> None:
    """Refuse settings of a process that are not the run's; some are a process's own."""
    for table in fields(LearnSettings):
        there, here = getattr(run, table.name), getattr(own, table.name)
        for key in (option.name for option in fields(there)):
            old, new = getattr(there, key), getattr(here, key)
            if old != new and f"{table.name}.{key}" not in OF_A_PROCESS:
                what = f"{table.name}.{key} is {old!r} in this run"
                raise ConfigError(what, value=new, fix=fix)


def from_file(path: Location | None, overrides: Sequence[str] = ()) -> LearnSettings:
    """The settings of a run: those that are usual for it, the file's, then the overrides."""
    tables = file_values(LearnSettings, path, partial=True) if path is not None else {}
    kinds = [text.split("=")[1].strip() for text in overrides if text.startswith(KIND)]
    kind = [USUAL_KIND, *tables.get("selfplay", {}).get("kind", "").split(), *kinds][-1]
    usual = [
        text
        for text in USUAL.get(kind, ())  # what is no kind is refused where it is read
        if text.partition("=")[0].split(".")[1] not in tables.get(text.partition(".")[0], {})
    ]
    return load(LearnSettings, path, overrides=[*usual, *overrides], partial=True)
