"""The parameter table of the search: one row for each, and the settings made of it.

    defaults, TOML, UCI, tuner -> **Settings** -> presets.to_rule, presets.to_behaviour

A row says UCI name, default, range, step for tuning, and what the parameter does. Names follow lc0
and Stockfish where they have one. Values are in [-1, 1] for the side to move unless a row says
"in [0, 1]"; times are milliseconds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kibitz.errors import ConfigError, did_you_mean
from kibitz.search import where as on
from kibitz.search.parameter import (
    Parameter,
    UciOption,
    Value,
    checked,
    choice,
    number,
    parameters_of,
    read,
    switch,
    text,
    uci_option,
    whole,
)

OFF = 1_000_000_000  # ScLimit that no search reaches


@dataclass(frozen=True)
class Settings:
    """What a search is told, checked on construction; change it with `with_` or `parse`."""

    # --- resources and limits
    threads: int = whole(
        "Threads", 1, 1, 512, 0, "search threads", visibility="always", where=on.INLINE
    )
    hash: int = whole(
        "Hash", 256, 1, 1 << 17, 0, "memory of the search tree in MiB", visibility="always"
    )
    multipv: int = whole("MultiPV", 1, 1, 500, 0, "lines to report", visibility="always")
    move_overhead: int = whole(
        "Move Overhead", 50, 0, 30_000, 0, "ms lost outside the search", visibility="always"
    )
    time_manager: Literal["budget", "chesscoach", "dlchess", "dlchess-percent"] = choice(
        "TimeManager",
        ("budget", "chesscoach", "dlchess", "dlchess-percent"),
        "who divides the clock's time among the moves",
    )
    minibatch_size: int = whole(
        "MinibatchSize", 32, 1, 4096, 0, "leaves evaluated at once", where=on.BATCHED
    )
    seed: int = whole("Seed", 0, 0, 2**63 - 1, 0, "seed of all dice; one thread repeats itself")

    # --- selection
    search_rule: Literal["puct", "azero", "sble", "gumbel"] = choice(
        "SearchRule", ("puct", "azero", "sble", "gumbel"), "how moves are selected"
    )
    cpuct: float = number(
        "CPuct", 1.745, 0, 100, 0.1, "weight of priors; azero, sble: in [0, 1]", where=on.NO_GUMBEL
    )
    cpuct_base: float = number(
        "CPuctBase", 38_739, 1, 1e9, 4_000, "visits at which CPuct grows", where=on.NO_GUMBEL
    )
    cpuct_factor: float = number(
        "CPuctFactor", 3.894, 0, 1000, 0.3, "how fast CPuct grows", where=on.NO_GUMBEL
    )
    root_cpuct_own: bool = switch(
        "RootHasOwnCPuctParams", False, "use the next three at the root", where=on.NO_GUMBEL
    )
    root_cpuct: float = number(
        "CPuctAtRoot", 1.745, 0, 100, 0.1, "CPuct at the root", where=on.OWN_ROOT
    )
    root_cpuct_base: float = number(
        "CPuctBaseAtRoot", 38_739, 1, 1e9, 4_000, "its base there", where=on.OWN_ROOT
    )
    root_cpuct_factor: float = number(
        "CPuctFactorAtRoot", 3.894, 0, 1000, 0.3, "its growth there", where=on.OWN_ROOT
    )
    fpu: Literal["reduction", "absolute", "loss", "win"] = choice(
        "FpuStrategy",
        ("reduction", "absolute", "loss", "win"),
        "how untried moves are valued",
        where=on.PUCT,
    )
    fpu_value: float = number(
        "FpuValue", 0.33, -100, 100, 0.05, "reduction, or absolute value", where=on.FPU
    )
    root_fpu: Literal["same", "reduction", "absolute", "loss", "win"] = choice(
        "FpuStrategyAtRoot",
        ("same", "reduction", "absolute", "loss", "win"),
        "at the root",
        where=on.PUCT,
    )
    root_fpu_value: float = number(
        "FpuValueAtRoot", 1, -100, 100, 0.1, "FpuValue at the root", where=on.ROOT_FPU
    )
    count_parent: bool = switch(
        "CountParentVisit", False, "a node's own visit counts in sqrt(N)", where=on.ONLY_PUCT
    )
    virtual_loss: float = number(
        "VirtualLoss", 0, 0, 10, 0.1, "how much of a loss a visit on its way is", where=on.VIRTUAL
    )
    log_visits: float = number(
        "LogVisits", 0, 0, 5, 0.1, "CPuct grows by this * ln(1 + N / base)", where=on.PUCT
    )
    log_base: float = number(
        "LogVisitsBase", 4_727, 1, 1e9, 500, "base of LogVisits", where=on.LOG_VISITS
    )
    variance_scaling: float = number(
        "VarianceScaling",
        0.5,
        0,
        1,
        0.1,
        "share of CPuct led by the spread of values",
        where=on.PUCT,
    )
    gini_scaling: float = number(
        "GiniScaling", 0, 0, 1, 0.1, "share of CPuct led by the spread of priors", where=on.PUCT
    )
    widening: float = number(
        "ProgressiveWidening",
        0,
        0,
        100,
        0.5,
        "this * sqrt(1 + N) candidates; 0: all",
        where=on.PUCT,
    )
    faster_mate: float = number(
        "FasterMate", 0, 0, 10, 0.2, "incentive for proved, above all short mates", where=on.MATES
    )

    # --- SBLE-PUCT; its constants are in [0, 1]
    linear: bool = switch(
        "LinearExploration", True, "sble: the linear exploration term", where=on.SBLE
    )
    linear_rate: float = number(
        "LinearExplorationRate", 3_590, 1e-3, 1e9, 300, "its rate", where=on.LINEAR
    )
    linear_delay: float = number(
        "LinearExplorationDelay", 1_050_000, 0, 1e12, 1e5, "its delay", where=on.LINEAR
    )
    elimination: bool = switch(
        "Elimination", True, "sble: fewer moves explored as time runs out", where=on.SBLE
    )
    elimination_exponent: int = whole(
        "EliminationBaseExponent",
        10,
        1,
        16,
        1,
        "2^this moves explored at first",
        where=on.ELIMINATION,
    )
    selective_backup: bool = switch(
        "SelectiveBackup", True, "sble: explored values are not backed", where=on.SBLE
    )
    backup_threshold: float = number(
        "BackupThreshold",
        0.02,
        0,
        10,
        0.005,
        "score a believed choice may lack",
        where=on.SELECTIVE,
    )

    # --- Gumbel
    gumbel_considered: int = whole(
        "GumbelConsidered", 16, 1, 256, 2, "root moves sampled", where=on.GUMBEL
    )
    gumbel_noise: float = number(
        "GumbelNoise", 1, 0, 10, 0.1, "1 samples root moves, 0 takes the likeliest", where=on.GUMBEL
    )
    gumbel_value_scale: float = number(
        "GumbelValueScale", 0.5, 0, 100, 0.05, "weight of values", where=on.GUMBEL
    )
    gumbel_visit_offset: float = number(
        "GumbelVisitOffset", 50, 0, 1e6, 5, "added to visits", where=on.GUMBEL
    )

    # --- search-contempt
    sc_limit: int = whole(
        "ScLimit", OFF, 1, OFF, 0, "visits at which replies freeze; 1e9 is off", where=on.NO_GUMBEL
    )
    sc_temperature: float = number(
        "ScTemperature", 1, 0.01, 100, 0.1, "of the frozen replies", where=on.CONTEMPT
    )
    sc_negative: bool = switch(
        "ScNegative", False, "freeze our own choices instead", where=on.CONTEMPT
    )
    sc_admit: bool = switch(
        "ScAdmit", False, "replies untried at freezing stay possible", where=on.CONTEMPT
    )
    sc_prefer_proven: bool = switch(
        "ScPreferProven", True, "proved replies go before sampled ones", where=on.PROVED_REPLIES
    )

    # --- priors and noise
    policy_temperature: float = number("PolicyTemperature", 1.4, 0.01, 100, 0.05, "of the priors")
    root_policy_temperature: float = number(
        "RootPolicyTemperature", 0, 0, 100, 0.05, "of the root's priors; 0: as elsewhere"
    )
    noise_epsilon: float = number(
        "DirichletNoiseEpsilon", 0, 0, 1, 0.05, "share of noise in the root's priors"
    )
    noise_alpha: float = number(
        "DirichletNoiseAlpha", 0.3, 1e-4, 1e7, 0.03, "its concentration", where=on.NOISE
    )
    noise_scaled: bool = switch(
        "DirichletNoiseScaled",
        False,
        "concentration is DirichletNoiseAlpha * 361 / moves",
        where=on.NOISE,
    )

    # --- values and proofs
    expand_at: int = whole(
        "ExpandAt", 2, 1, 2, 0, "visit at which a node gets its moves", where=on.INLINE
    )
    share_values: bool = switch(
        "ShareValues", False, "leaves known from elsewhere in the tree begin with their value there"
    )
    value_average: Literal["mean", "moving"] = choice(
        "ValueAverage", ("mean", "moving"), "how the values of a move are averaged"
    )
    average_build: float = number(
        "MovingAverageBuild", 0.8, 0.01, 1, 0.05, "pace of the average", where=on.MOVING
    )
    average_cap: float = number(
        "MovingAverageCap", 25e6, 1, 1e12, 1e6, "samples it looks back on", where=on.MOVING
    )
    prove: bool = switch("MateProving", True, "mates and other certain results climb the tree")
    search_proven: bool = switch(
        "SearchProven", False, "look for shorter mates in proved moves", where=on.PROVING
    )
    clear_losses: bool = switch(
        "LossPriorClearing", False, "proved losses lose their priors", where=on.PROVING
    )
    draw_sibling: bool = switch(
        "DrawSiblingFpu", False, "a drawn first visit does not hide its untried siblings"
    )
    rule50_scaling: float = number(
        "Rule50Scaling", 0, 0, 1, 0.1, "how far values shrink as the 50-move rule comes nearer"
    )
    slow_start_nodes: int = whole(
        "SlowStartNodes", 0, 0, 10**6, 128, "root visits before all threads join", where=on.TOGETHER
    )
    slow_start_parallelism: int = whole(
        "SlowStartParallelism", 32, 1, 4096, 8, "batch until then", where=on.SLOW_START
    )

    # --- tablebases
    syzygy_path: str = text(
        "SyzygyPath", "", "folders of Syzygy tables", visibility="always", names_files=True
    )
    syzygy_limit: int = whole(
        "SyzygyProbeLimit", 7, 0, 7, 0, "most pieces to probe with", where=on.TABLES
    )
    syzygy_depth: int = whole(
        "SyzygyProbeDepth", 1, 1, 100, 0, "least depth to probe at", where=on.TABLES
    )
    syzygy_rule50: bool = switch(
        "Syzygy50MoveRule", True, "wins the 50-move rule spoils are draws", where=on.TABLES
    )
    syzygy_fastest: bool = switch(
        "SyzygyFastPlay", True, "among winning moves take the shortest", where=on.TABLES
    )
    syzygy_share: float = number(
        "SyzygyShare", 0.1, 0, 1, 0, "most of the time spent on probes", where=on.TABLES
    )

    # --- the final move
    move_choice: Literal["visits", "lcb"] = choice(
        "MoveChoice",
        ("visits", "lcb"),
        "most visits, or highest lower bound of the value",
        where=on.NO_GUMBEL,
    )
    lcb_deviations: float = number(
        "LcbDeviations", 5, 0, 100, 0.5, "width of that bound", where=on.LCB
    )
    lcb_visits: float = number(
        "LcbVisits", 0.15, 0, 1, 0.05, "least share of the most visits", where=on.LCB
    )
    temperature: float = number(
        "Temperature", 0, 0, 100, 0.1, "of the final choice by visits", where=on.NO_GUMBEL
    )
    temp_decay_moves: int = whole(
        "TempDecayMoves", 0, 0, 640, 5, "moves until it is 0", where=on.WARM
    )
    temp_decay_delay_moves: int = whole(
        "TempDecayDelayMoves", 0, 0, 100, 5, "moves before decay", where=on.DECAY
    )
    temp_cutoff_move: int = whole(
        "TempCutoffMove", 0, 0, 1000, 5, "first move with TempEndgame", where=on.NO_GUMBEL
    )
    temp_endgame: float = number(
        "TempEndgame", 0, 0, 100, 0.1, "temperature from there on", where=on.LATER
    )
    temp_visit_offset: float = number(
        "TempVisitOffset", 0, -1000, 1000, 0.5, "added to visits", where=on.DRAWN
    )
    temp_value_cutoff: float = number(
        "TempValueCutoff", 100, 0, 100, 2, "worse by this % to win: never chosen", where=on.DRAWN
    )
    sampling_plies: int = whole(
        "SamplingPlies", 0, 0, 10_000, 2, "plies chosen in proportion to visits", where=on.NO_GUMBEL
    )
    diversity_temperature: float = number(
        "MoveDiversityTemperature", 0, 0, 100, 0.2, "among near equals; 0: off", where=on.NO_GUMBEL
    )
    diversity_delta: float = number(
        "MoveDiversityValueDelta",
        0.0089,
        0,
        1,
        0.001,
        "what near equals may lack",
        where=on.DIVERSITY,
    )
    diversity_plies: int = whole(
        "MoveDiversityPlies", 4, 0, 512, 1, "plies with diversity", where=on.DIVERSITY
    )
    minimax: bool = switch(
        "EndgameMinimax", False, "choose by minimax over visited moves", where=on.NO_GUMBEL
    )
    minimax_material: int = whole(
        "EndgameMinimaxMaterial", 6_080, 0, 15_258, 500, "most material for that", where=on.MINIMAX
    )
    minimax_visits: int = whole(
        "MinimaxVisitsRecurse", 3_258, 1, 10**6, 300, "least to go on", where=on.MINIMAX
    )
    minimax_ignore: float = number(
        "MinimaxVisitsIgnore", 0.14, 0, 1, 0.02, "share too small", where=on.MINIMAX
    )

    # --- output
    score_type: Literal["WDL_mu", "centipawn", "centipawn_2019"] = choice(
        "ScoreType", ("WDL_mu", "centipawn", "centipawn_2019"), "what a centipawn is"
    )

    def __post_init__(self) -> None:
        for parameter in parameters_of(type(self)):
            value = checked(parameter, getattr(self, parameter.name))
            object.__setattr__(self, parameter.name, value)

    def with_(self, **changes: Value) -> Settings:
        """A copy with some values changed, by their names in Python."""
        names = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in names:
                raise ConfigError("no such parameter", value=name, fix=did_you_mean(name, names))
        arguments: dict[str, Any] = dict(changes)
        return dataclasses.replace(self, **arguments)

    def changed(self) -> dict[str, Value]:
        """The values that are not the defaults, by their names in Python."""
        values = dataclasses.asdict(self)
        return {row.name: values[row.name] for row in PARAMETERS if values[row.name] != row.default}

    def parse(self, options: Mapping[str, str]) -> Settings:
        """A copy with values read from texts, by UCI names in any case, or names in Python."""
        changes = {}
        for name, written in options.items():
            parameter = parameter_of(name)
            changes[parameter.name] = read(parameter, written)
        return self.with_(**changes)


PARAMETERS: tuple[Parameter, ...] = parameters_of(Settings)
_BY_NAME = {parameter.name: parameter for parameter in PARAMETERS} | {
    parameter.uci.casefold(): parameter for parameter in PARAMETERS
}


def parameter_of(name: str) -> Parameter:
    """The row with that name: in UCI, in any case, or in Python."""
    found = _BY_NAME.get(name.strip().casefold())
    if found is None:
        known = [parameter.uci for parameter in PARAMETERS]
        raise ConfigError("no such option", value=name, fix=did_you_mean(name, known))
    return found


def uci_options() -> tuple[UciOption, ...]:
    """All parameters as UCI options, in the order of the table."""
    return tuple(uci_option(parameter) for parameter in PARAMETERS)
