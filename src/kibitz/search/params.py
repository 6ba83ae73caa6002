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
    threads: int = whole("Threads", 1, 1, 512, 0, "search threads", visibility="always")
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
    minibatch_size: int = whole("MinibatchSize", 32, 1, 4096, 0, "leaves evaluated at once")
    seed: int = whole("Seed", 0, 0, 2**63 - 1, 0, "seed of all dice; one thread repeats itself")

    # --- selection
    search_rule: Literal["puct", "azero", "sble", "gumbel"] = choice(
        "SearchRule", ("puct", "azero", "sble", "gumbel"), "how moves are selected"
    )
    cpuct: float = number("CPuct", 1.745, 0, 100, 0.1, "weight of priors; in [0, 1] in azero, sble")
    cpuct_base: float = number("CPuctBase", 38_739, 1, 1e9, 4_000, "visits at which CPuct grows")
    cpuct_factor: float = number("CPuctFactor", 3.894, 0, 1000, 0.3, "how fast CPuct grows")
    root_cpuct_own: bool = switch("RootHasOwnCPuctParams", False, "use the next three at the root")
    root_cpuct: float = number("CPuctAtRoot", 1.745, 0, 100, 0.1, "CPuct at the root")
    root_cpuct_base: float = number("CPuctBaseAtRoot", 38_739, 1, 1e9, 4_000, "its base there")
    root_cpuct_factor: float = number("CPuctFactorAtRoot", 3.894, 0, 1000, 0.3, "its growth there")
    fpu: Literal["reduction", "absolute", "loss", "win"] = choice(
        "FpuStrategy", ("reduction", "absolute", "loss", "win"), "how untried moves are valued"
    )
    fpu_value: float = number("FpuValue", 0.33, -100, 100, 0.05, "reduction, or absolute value")
    root_fpu: Literal["same", "reduction", "absolute", "loss", "win"] = choice(
        "FpuStrategyAtRoot", ("same", "reduction", "absolute", "loss", "win"), "at the root"
    )
    root_fpu_value: float = number("FpuValueAtRoot", 1, -100, 100, 0.1, "FpuValue at the root")
    count_parent: bool = switch("CountParentVisit", False, "a node's own visit counts in sqrt(N)")
    virtual_loss: float = number(
        "VirtualLoss", 0, 0, 10, 0.1, "how much of a loss a visit on its way is"
    )
    log_visits: float = number("LogVisits", 0, 0, 5, 0.1, "CPuct grows by this * ln(1 + N / base)")
    log_base: float = number("LogVisitsBase", 4_727, 1, 1e9, 500, "base of LogVisits")
    variance_scaling: float = number(
        "VarianceScaling", 0.5, 0, 1, 0.1, "share of CPuct that follows the spread of values"
    )
    gini_scaling: float = number(
        "GiniScaling", 0, 0, 1, 0.1, "share of CPuct that follows the spread of priors"
    )
    widening: float = number(
        "ProgressiveWidening", 0, 0, 100, 0.5, "candidates = this * sqrt(1 + N); 0: all moves"
    )
    faster_mate: float = number(
        "FasterMate", 0, 0, 10, 0.2, "incentive for proved mates, more for shorter ones"
    )

    # --- SBLE-PUCT; its constants are in [0, 1]
    linear: bool = switch("LinearExploration", True, "sble: the linear exploration term")
    linear_rate: float = number("LinearExplorationRate", 3_590, 1e-3, 1e9, 300, "its rate")
    linear_delay: float = number("LinearExplorationDelay", 1_050_000, 0, 1e12, 1e5, "its delay")
    elimination: bool = switch("Elimination", True, "sble: fewer moves explored as time runs out")
    elimination_exponent: int = whole(
        "EliminationBaseExponent", 10, 1, 16, 1, "sble: 2^this moves are explored at first"
    )
    selective_backup: bool = switch("SelectiveBackup", True, "sble: explored values are not backed")
    backup_threshold: float = number(
        "BackupThreshold", 0.02, 0, 10, 0.005, "sble: score that a believed choice may lack"
    )

    # --- Gumbel
    gumbel_considered: int = whole("GumbelConsidered", 16, 1, 256, 2, "root moves sampled")
    gumbel_noise: float = number(
        "GumbelNoise", 1, 0, 10, 0.1, "scale of the noise: 1 samples moves, 0 takes the likeliest"
    )
    gumbel_value_scale: float = number("GumbelValueScale", 0.5, 0, 100, 0.05, "weight of values")
    gumbel_visit_offset: float = number("GumbelVisitOffset", 50, 0, 1e6, 5, "added to visits")

    # --- search-contempt
    sc_limit: int = whole(
        "ScLimit", OFF, 1, OFF, 0, "visits at which the opponent's replies freeze; 1e9 is off"
    )
    sc_temperature: float = number("ScTemperature", 1, 0.01, 100, 0.1, "of the frozen replies")
    sc_negative: bool = switch("ScNegative", False, "freeze our own choices instead")
    sc_admit: bool = switch("ScAdmit", False, "replies untried at freezing stay possible")
    sc_prefer_proven: bool = switch("ScPreferProven", True, "proved replies go before sampled ones")

    # --- priors and noise
    policy_temperature: float = number("PolicyTemperature", 1.4, 0.01, 100, 0.05, "of the priors")
    root_policy_temperature: float = number(
        "RootPolicyTemperature", 0, 0, 100, 0.05, "of the root's priors; 0: as elsewhere"
    )
    noise_epsilon: float = number(
        "DirichletNoiseEpsilon", 0, 0, 1, 0.05, "share of noise in the root's priors"
    )
    noise_alpha: float = number("DirichletNoiseAlpha", 0.3, 1e-4, 1e7, 0.03, "its concentration")
    noise_scaled: bool = switch(
        "DirichletNoiseScaled", False, "concentration is DirichletNoiseAlpha * 361 / moves"
    )

    # --- values and proofs
    expand_at: int = whole("ExpandAt", 2, 1, 2, 0, "visit at which a node gets its moves")
    share_values: bool = switch(
        "ShareValues", False, "leaves known from elsewhere in the tree begin with their value there"
    )
    value_average: Literal["mean", "moving"] = choice(
        "ValueAverage", ("mean", "moving"), "how the values of a move are averaged"
    )
    average_build: float = number("MovingAverageBuild", 0.8, 0.01, 1, 0.05, "pace of the average")
    average_cap: float = number("MovingAverageCap", 25e6, 1, 1e12, 1e6, "samples it looks back on")
    prove: bool = switch("MateProving", True, "mates and other certain results climb the tree")
    search_proven: bool = switch("SearchProven", False, "look for shorter mates in proved moves")
    clear_losses: bool = switch("LossPriorClearing", False, "proved losses lose their priors")
    draw_sibling: bool = switch(
        "DrawSiblingFpu", False, "a drawn first visit does not hide its untried siblings"
    )
    rule50_scaling: float = number(
        "Rule50Scaling", 0, 0, 1, 0.1, "how far values shrink as the 50-move rule comes nearer"
    )
    slow_start_nodes: int = whole(
        "SlowStartNodes", 0, 0, 10**6, 128, "visits of the root until all threads join in"
    )
    slow_start_parallelism: int = whole("SlowStartParallelism", 32, 1, 4096, 8, "batch until then")

    # --- tablebases
    syzygy_path: str = text(
        "SyzygyPath", "", "folders of Syzygy tables", visibility="always", names_files=True
    )
    syzygy_limit: int = whole("SyzygyProbeLimit", 7, 0, 7, 0, "most pieces to probe with")
    syzygy_depth: int = whole("SyzygyProbeDepth", 1, 1, 100, 0, "least depth to probe at")
    syzygy_rule50: bool = switch("Syzygy50MoveRule", True, "wins the 50-move rule spoils are draws")
    syzygy_fastest: bool = switch("SyzygyFastPlay", True, "among winning moves take the shortest")
    syzygy_share: float = number("SyzygyShare", 0.1, 0, 1, 0, "most of the time spent on probes")

    # --- the final move
    move_choice: Literal["visits", "lcb"] = choice(
        "MoveChoice", ("visits", "lcb"), "most visits, or highest lower bound of the value"
    )
    lcb_deviations: float = number("LcbDeviations", 5, 0, 100, 0.5, "width of that bound")
    lcb_visits: float = number("LcbVisits", 0.15, 0, 1, 0.05, "least share of the most visits")
    temperature: float = number("Temperature", 0, 0, 100, 0.1, "of the final choice by visits")
    temp_decay_moves: int = whole("TempDecayMoves", 0, 0, 640, 5, "moves until it is 0")
    temp_decay_delay_moves: int = whole("TempDecayDelayMoves", 0, 0, 100, 5, "moves before decay")
    temp_cutoff_move: int = whole("TempCutoffMove", 0, 0, 1000, 5, "first move with TempEndgame")
    temp_endgame: float = number("TempEndgame", 0, 0, 100, 0.1, "temperature from there on")
    temp_visit_offset: float = number("TempVisitOffset", 0, -1000, 1000, 0.5, "added to visits")
    temp_value_cutoff: float = number(
        "TempValueCutoff", 100, 0, 100, 2, "worse by this % of win probability: never chosen"
    )
    sampling_plies: int = whole(
        "SamplingPlies", 0, 0, 10_000, 2, "plies of a game chosen in proportion to visits"
    )
    diversity_temperature: float = number(
        "MoveDiversityTemperature", 0, 0, 100, 0.2, "of the choice among near equals; 0: off"
    )
    diversity_delta: float = number(
        "MoveDiversityValueDelta", 0.0089, 0, 1, 0.001, "what near equals may lack, in [0, 1]"
    )
    diversity_plies: int = whole("MoveDiversityPlies", 4, 0, 512, 1, "plies with diversity")
    minimax: bool = switch("EndgameMinimax", False, "choose by minimax over visited moves")
    minimax_material: int = whole(
        "EndgameMinimaxMaterial", 6_080, 0, 15_258, 500, "most material at which that is done"
    )
    minimax_visits: int = whole("MinimaxVisitsRecurse", 3_258, 1, 10**6, 300, "least to go on")
    minimax_ignore: float = number("MinimaxVisitsIgnore", 0.14, 0, 1, 0.02, "share too small")

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
