"""The options of the search, a row for each from Hash to SyzygyPath, and the settings of them.

The settings file, UCI and the tuner fill in `Settings`; method.py has presets of it, and
rules/parameters.py makes rules.

A row says UCI name, default, range, step for tuning, and what the parameter does. Names follow lc0
and Stockfish where they have one. Values are in [-1, 1] for the side to move unless a row says
"in [0, 1]"; times are milliseconds. Which entry of the log stands behind a default that was
measured is in tests/uci/test_documents.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from kibitz.core.errors import ConfigError, did_you_mean
from kibitz.core.options import (
    EVERYWHERE,
    Need,
    Option,
    Value,
    Where,
    check,
    find,
    number,
    options_of,
    read,
    setting,
)
from kibitz.search.alphabeta.constants import NAMES, Constants
from kibitz.search.mcts.rules.parameters import OFF, Expectimax, Puct, RuleName, names_with

# --- where an option has an effect ----------------------------------------------------------------
#
# Where an option has an effect: by rule, by the way a search is run, by other options.
#
# Warnings, the pages of options and `python -m research.ablations options` all read it.


# How a search is run, and how that is said.
DRIVERS = {
    "inline": "with one thread",
    "threads": "with several threads",
    "batched": "with a network that is asked in batches",
}


# What the other kinds of search heed; all other options are the tree search's.
_ALL_KINDS = frozenset(
    {"search", "threads", "hash", "multipv", "move_overhead", "time_manager", "score_type"}
    | {"temperature", "seed"}
    | {"syzygy_path", "syzygy_limit", "syzygy_rule50", "syzygy_fastest"}
)
HEEDED = {
    "alphabeta": _ALL_KINDS | {"syzygy_depth", "syzygy_share", *NAMES},
    "bestfirst": _ALL_KINDS
    | {"bestfirst_batch", "bestfirst_quiet", "bestfirst_ordering", "bestfirst_file"},
}


# --- by rule --------------------------------------------------------------------------------------

EXPLORING = Where(names_with(lambda rule: rule.weighs_priors))
CHOOSING = Where(names_with(lambda rule: rule.plays_most_visited))
FREEZING = Where(names_with(lambda rule: rule.may_freeze))
ONLY_PUCT = Where(("puct", "expectimax"))  # AlphaZero's rule always counts the parent's visit
MAY_PROVE = Where(names_with(lambda rule: rule.proves))
PUCT = Where(names_with(lambda rule: rule.numbers in (Puct, Expectimax)))
SBLE = Where(("sble",))
GUMBEL = Where(("gumbel",))
CONTEMPT = Where(("contempt",))

# --- by driver ------------------------------------------------------------------------------------

INLINE = Where(drivers=("inline", "threads"))
BATCHED = Where(drivers=("batched",))
TOGETHER = Where(drivers=("threads", "batched"))  # where visits are pending
VIRTUAL = EXPLORING._replace(drivers=TOGETHER.drivers)


# --- by other options -----------------------------------------------------------------------------


def with_one_of(*names: str, values: tuple[str, ...] = (), where: Where = EVERYWHERE) -> Where:
    """Searches with another option switched on, one of `names`."""
    return where._replace(need=Need(names, values))


VALUED = ("reduction", "absolute")  # ways to value untried moves that have a number

BESTFIRST = with_one_of("search", values=("bestfirst",))
OWN_ROOT = with_one_of("root_cpuct_own", where=EXPLORING)
FPU = with_one_of("fpu", values=VALUED, where=PUCT)
ROOT_FPU = with_one_of("root_fpu", values=VALUED, where=PUCT)
LOG_VISITS = with_one_of("log_visits", where=PUCT)
LINEAR = with_one_of("linear", where=SBLE)
ELIMINATION = with_one_of("elimination", where=SBLE)
SELECTIVE = with_one_of("selective_backup", where=SBLE)
NOISE = with_one_of("noise_epsilon")
MOVING = with_one_of("value_average", values=("moving",))
PROVING = with_one_of("prove", where=MAY_PROVE)
MATES = with_one_of(
    "prove", where=Where(names_with(lambda rule: rule.weighs_priors and rule.proves))
)
PROVED_REPLIES = with_one_of("prove", where=CONTEMPT)
SLOW_START = with_one_of("slow_start_nodes", where=BATCHED)
TABLES = with_one_of("syzygy_path")
LCB = with_one_of("move_choice", values=("lcb",), where=CHOOSING)
WARM = with_one_of("temperature", where=CHOOSING)
DECAY = with_one_of("temp_decay_moves", where=CHOOSING)
LATER = with_one_of("temp_cutoff_move", "temp_decay_moves", where=CHOOSING)
DRAWN = with_one_of("temperature", "temp_endgame", where=CHOOSING)
DIVERSITY = with_one_of("diversity_temperature", where=CHOOSING)
MINIMAX = with_one_of("minimax", where=CHOOSING)


# --- the options ----------------------------------------------------------------------------------


SearchName: TypeAlias = Literal["auto", "mcts", "alphabeta", "bestfirst"]


@dataclass(frozen=True)
class Settings(Constants):
    """The options of a search, checked on construction; change it with `with_` or `parse`.

    The numbers of alpha-beta (alphabeta/constants.py) are among them, hidden.
    """

    # --- resources and limits
    threads: int = number("Threads", 1, 1, 512, 0, "search threads", INLINE, visibility="always")
    hash: int = number(
        "Hash", 256, 1, 1 << 17, 0, "memory of the search tree in MiB", visibility="always"
    )
    multipv: int = number("MultiPV", 1, 1, 500, 0, "lines to report", visibility="always")
    move_overhead: int = number(
        "Move Overhead", 50, 0, 30_000, 0, "ms lost outside the search", visibility="always"
    )
    time_manager: Literal["budget", "chesscoach", "dlchess", "dlchess-percent"] = setting(
        "budget", "who divides the clock's time among the moves", uci="TimeManager"
    )
    minibatch_size: int = number(
        "MinibatchSize", 32, 1, 4096, 0, "leaves evaluated at once", BATCHED
    )
    seed: int = number(
        "Seed", 0, 0, 2**63 - 1, 0, "of all that is random; one thread repeats itself"
    )

    search: SearchName = setting(
        "auto",
        "tree search, alpha-beta or best-first",
        uci="Search",
        visibility="always",
    )

    # --- selection
    search_rule: RuleName = setting("puct", "how moves are selected", uci="SearchRule")
    cpuct: float = number(
        "CPuct", 1.745, 0, 100, 0.1, "weight of priors; azero, sble: in [0, 1]", EXPLORING
    )
    cpuct_base: float = number(
        "CPuctBase", 38_739, 1, 1e9, 4_000, "visits at which CPuct grows", EXPLORING
    )
    cpuct_factor: float = number(
        "CPuctFactor", 3.894, 0, 1000, 0.3, "how fast CPuct grows", EXPLORING
    )
    root_cpuct_own: bool = setting(
        False, "use the next three at the root", uci="RootHasOwnCPuctParams", where=EXPLORING
    )
    root_cpuct: float = number("CPuctAtRoot", 1.745, 0, 100, 0.1, "CPuct at the root", OWN_ROOT)
    root_cpuct_base: float = number(
        "CPuctBaseAtRoot", 38_739, 1, 1e9, 4_000, "its base there", OWN_ROOT
    )
    root_cpuct_factor: float = number(
        "CPuctFactorAtRoot", 3.894, 0, 1000, 0.3, "its growth there", OWN_ROOT
    )
    fpu: Literal["reduction", "absolute", "loss", "win"] = setting(
        "reduction", "how untried moves are valued", uci="FpuStrategy", where=PUCT
    )
    fpu_value: float = number(
        "FpuValue", 0.33, -100, 100, 0.05, "reduction, or absolute value", FPU
    )
    root_fpu: Literal["same", "reduction", "absolute", "loss", "win"] = setting(
        "same", "at the root", uci="FpuStrategyAtRoot", where=PUCT
    )
    root_fpu_value: float = number(
        "FpuValueAtRoot", 1, -100, 100, 0.1, "FpuValue at the root", ROOT_FPU
    )
    count_parent: bool = setting(
        False, "a node's own visit counts in sqrt(N)", uci="CountParentVisit", where=ONLY_PUCT
    )
    virtual_loss: float = number(
        "VirtualLoss", 0, 0, 10, 0.1, "how much of a loss a pending visit is", VIRTUAL
    )
    log_visits: float = number(
        "LogVisits", 0, 0, 5, 0.1, "CPuct grows by this * ln(1 + N / base)", PUCT
    )
    log_base: float = number("LogVisitsBase", 4_727, 1, 1e9, 500, "base of LogVisits", LOG_VISITS)
    variance_scaling: float = number(
        "VarianceScaling", 0.5, 0, 1, 0.1, "share of CPuct led by the spread of values", PUCT
    )
    gini_scaling: float = number(
        "GiniScaling", 0, 0, 1, 0.1, "share of CPuct led by the spread of priors", PUCT
    )
    widening: float = number(
        "ProgressiveWidening", 0, 0, 100, 0.5, "this * sqrt(1 + N) candidates; 0: all", PUCT
    )
    faster_mate: float = number(
        "FasterMate", 0, 0, 10, 0.2, "incentive for proved, above all short mates", MATES
    )

    # --- SBLE-PUCT; its constants are in [0, 1]
    linear: bool = setting(
        True, "sble: the linear exploration term", uci="LinearExploration", where=SBLE
    )
    linear_rate: float = number("LinearExplorationRate", 3_590, 1e-3, 1e9, 300, "its rate", LINEAR)
    linear_delay: float = number(
        "LinearExplorationDelay", 1_050_000, 0, 1e12, 1e5, "its delay", LINEAR
    )
    elimination: bool = setting(
        True, "sble: fewer moves explored as time runs out", uci="Elimination", where=SBLE
    )
    elimination_exponent: int = number(
        "EliminationBaseExponent", 10, 1, 16, 1, "2^this moves explored at first", ELIMINATION
    )
    selective_backup: bool = setting(
        True, "sble: explored values are not backed", uci="SelectiveBackup", where=SBLE
    )
    backup_threshold: float = number(
        "BackupThreshold", 0.02, 0, 10, 0.005, "score a believed choice may lack", SELECTIVE
    )

    # --- Gumbel
    gumbel_considered: int = number(
        "GumbelConsidered", 4, 1, 256, 2, "root moves that get visits", GUMBEL
    )
    gumbel_noise: float = number(
        "GumbelNoise", 0, 0, 10, 0.1, "1 samples root moves, 0 takes the likeliest", GUMBEL
    )
    gumbel_value_scale: float = number(
        "GumbelValueScale", 1, 0, 100, 0.05, "weight of values", GUMBEL
    )
    gumbel_visit_offset: float = number(
        "GumbelVisitOffset", 50, 0, 1e6, 5, "added to visits", GUMBEL
    )

    # --- search-contempt
    sc_limit: int = number(
        "ScLimit", OFF, 1, OFF, 0, "visits at which replies freeze; 1e9 is off", FREEZING
    )
    sc_temperature: float = number(
        "ScTemperature", 1, 0.01, 100, 0.1, "of the frozen replies", CONTEMPT
    )
    sc_negative: bool = setting(
        False, "freeze our own choices instead", uci="ScNegative", where=CONTEMPT
    )
    sc_admit: bool = setting(
        False, "replies untried at freezing stay possible", uci="ScAdmit", where=CONTEMPT
    )
    sc_prefer_proven: bool = setting(
        True, "proved replies go before sampled ones", uci="ScPreferProven", where=PROVED_REPLIES
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
        "DirichletNoiseAlpha", 0.3, 1e-4, 1e7, 0.03, "its concentration", NOISE
    )
    noise_scaled: bool = setting(
        False,
        "concentration is DirichletNoiseAlpha * 361 / moves",
        uci="DirichletNoiseScaled",
        where=NOISE,
    )

    # --- values and proofs
    expand_at: int = number("ExpandAt", 2, 1, 2, 0, "visit at which a node gets its moves", INLINE)
    share_values: bool = setting(
        False,
        "leaves known from elsewhere in the tree begin with their value there",
        uci="ShareValues",
    )
    value_average: Literal["mean", "moving"] = setting(
        "mean", "how the values of a move are averaged", uci="ValueAverage"
    )
    average_build: float = number(
        "MovingAverageBuild", 0.8, 0.01, 1, 0.05, "pace of the average", MOVING
    )
    average_cap: float = number(
        "MovingAverageCap", 25e6, 1, 1e12, 1e6, "samples it looks back on", MOVING
    )
    prove: bool = setting(
        True, "mates and other certain results climb the tree", uci="MateProving", where=MAY_PROVE
    )
    search_proven: bool = setting(
        False, "look for shorter mates in proved moves", uci="SearchProven", where=PROVING
    )
    clear_losses: bool = setting(
        False, "proved losses lose their priors", uci="LossPriorClearing", where=PROVING
    )
    draw_sibling: bool = setting(
        False, "a drawn first visit does not hide its untried siblings", uci="DrawSiblingFpu"
    )
    rule50_scaling: float = number(
        "Rule50Scaling", 0, 0, 1, 0.1, "how far values shrink as the 50-move rule comes nearer"
    )
    slow_start_nodes: int = number(
        "SlowStartNodes", 0, 0, 10**6, 128, "root visits before all threads join", TOGETHER
    )
    slow_start_parallelism: int = number(
        "SlowStartParallelism", 32, 1, 4096, 8, "batch until then", SLOW_START
    )

    # --- best-first search
    bestfirst_batch: int = number(
        "BestFirstBatch", 64, 1, 8192, 0, "nodes expanded at once", BESTFIRST
    )
    bestfirst_quiet: int = number(
        "BestFirstQuiescence", 6, 0, 32, 0, "most plies of quiescence", BESTFIRST
    )
    bestfirst_ordering: bool = setting(
        True, "moves in the network's order", uci="BestFirstOrdering", where=BESTFIRST
    )
    bestfirst_file: str = setting(
        "",
        "bins and zero shift, by kibitz net calibrate; none: rough ones",
        uci="BestFirstFile",
        where=BESTFIRST,
        names_files=True,
    )

    # --- tablebases
    syzygy_path: str = setting(
        "",
        "folders of Syzygy tables, : between them (; on Windows)",
        uci="SyzygyPath",
        visibility="always",
        names_files=True,
    )
    syzygy_limit: int = number("SyzygyProbeLimit", 7, 0, 7, 0, "most pieces to probe with", TABLES)
    syzygy_depth: int = number("SyzygyProbeDepth", 1, 1, 100, 0, "least depth to probe at", TABLES)
    syzygy_rule50: bool = setting(
        True, "wins the 50-move rule spoils are draws", uci="Syzygy50MoveRule", where=TABLES
    )
    syzygy_fastest: bool = setting(
        True, "among winning moves take the shortest", uci="SyzygyFastPlay", where=TABLES
    )
    syzygy_share: float = number(
        "SyzygyShare", 0.1, 0, 1, 0, "most of the time spent on probes", TABLES
    )

    # --- the final move
    move_choice: Literal["visits", "lcb"] = setting(
        "visits",
        "most visits, or highest lower bound of the value",
        uci="MoveChoice",
        where=CHOOSING,
    )
    lcb_deviations: float = number("LcbDeviations", 5, 0, 100, 0.5, "width of that bound", LCB)
    lcb_visits: float = number("LcbVisits", 0.15, 0, 1, 0.05, "least share of the most visits", LCB)
    temperature: float = number(
        "Temperature", 0, 0, 100, 0.1, "of the final choice by visits", CHOOSING
    )
    temp_decay_moves: int = number("TempDecayMoves", 0, 0, 640, 5, "moves until it is 0", WARM)
    temp_decay_delay_moves: int = number(
        "TempDecayDelayMoves", 0, 0, 100, 5, "moves before decay", DECAY
    )
    temp_cutoff_move: int = number(
        "TempCutoffMove", 0, 0, 1000, 5, "first move with TempEndgame", CHOOSING
    )
    temp_endgame: float = number("TempEndgame", 0, 0, 100, 0.1, "temperature from there on", LATER)
    temp_visit_offset: float = number(
        "TempVisitOffset", 0, -1000, 1000, 0.5, "added to visits", DRAWN
    )
    temp_value_cutoff: float = number(
        "TempValueCutoff", 100, 0, 100, 2, "worse by this % to win: never chosen", DRAWN
    )
    sampling_plies: int = number(
        "SamplingPlies", 0, 0, 10_000, 2, "plies chosen in proportion to visits", CHOOSING
    )
    diversity_temperature: float = number(
        "MoveDiversityTemperature", 0, 0, 100, 0.2, "among near equals; 0: off", CHOOSING
    )
    diversity_delta: float = number(
        "MoveDiversityValueDelta", 0.0089, 0, 1, 0.001, "what near equals may lack", DIVERSITY
    )
    diversity_plies: int = number(
        "MoveDiversityPlies", 4, 0, 512, 1, "plies with diversity", DIVERSITY
    )
    minimax: bool = setting(
        False, "choose by minimax over visited moves", uci="EndgameMinimax", where=CHOOSING
    )
    minimax_material: int = number(
        "EndgameMinimaxMaterial", 6_080, 0, 15_258, 500, "most material for that", MINIMAX
    )
    minimax_visits: int = number(
        "MinimaxVisitsRecurse", 3_258, 1, 10**6, 300, "least to go on", MINIMAX
    )
    minimax_ignore: float = number(
        "MinimaxVisitsIgnore", 0.14, 0, 1, 0.02, "share too small", MINIMAX
    )

    # --- output
    score_type: Literal["WDL_mu", "centipawn", "centipawn_2019"] = setting(
        "WDL_mu", "what a centipawn is", uci="ScoreType"
    )

    def __post_init__(self) -> None:
        check(self)

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
        return {row.name: values[row.name] for row in OPTIONS if values[row.name] != row.default}

    def parse(self, options: Mapping[str, str]) -> Settings:
        """A copy with values read from texts, by UCI names in any case, or names in Python."""
        changes = {}
        for name, written in options.items():
            option = option_of(name)
            changes[option.name] = read(option, written)
        return self.with_(**changes)


OPTIONS: tuple[Option, ...] = options_of(Settings)


def option_of(name: str) -> Option:
    """The option with that name: in UCI, in any case, or in Python."""
    option = find(OPTIONS, name)
    if option is None:
        fix = did_you_mean(name, [each.uci for each in OPTIONS])
        raise ConfigError("no such option", value=name, fix=fix)
    return option
