"""How games against itself are played: one table of settings, and the systems' own by name.

The table `[selfplay]` of the settings file. What it says of the search goes on top of one of the
presets of `kibitz search`; docs/selfplay.md has the table with what each system used. What learning
from nothing sets otherwise is `USUAL` in zero/config.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from kibitz.core.errors import ConfigError, InputError, did_you_mean
from kibitz.core.options import checked, options_of, setting
from kibitz.search.mcts.rules.parameters import (
    OFF,
    RULES,
    Forced,
    Puct,
    Rule,
    RuleName,
    alternatives,
    names_with,
    to_rule,
)
from kibitz.search.method import PRESETS as SEARCHES
from kibitz.search.method import changes_of, for_targets
from kibitz.search.options import Settings, option_of

MOST_GUMBEL = 4096  # playouts the Gumbel rule can plan
MEGABYTE = 1 << 20
BYTES_A_NODE = 1_600  # of alpha-beta's table: 16 bytes for each of the last hundred moves' nodes
BYTES_A_PLAYOUT = 1_600  # of a tree: a node, and edges for its 40 moves
LEAST_BYTES = 160_000
OF_THE_RUN = ("workers", "group", "rows", "cache")  # settings that change no game
OF_ALPHA_BETA = ("nodes", "most_nodes", "first_value", "random_share", "noisy", "syzygy")
UNSAID_WHERE_OFF = ("random_share", "noisy")  # so that games from before them go on
OF_TREE_SEARCH = (
    *("search", "rule", "options", "playouts", "reuse", "trees", "sc_limit"),
    *("noise", "noise_alpha", "noise_scaled"),
    *("temperature", "temperature_plies", "temperature_decay", "temperature_end"),
    *("visit_offset", "value_cutoff"),
    *("full", "fast_playouts", "forced", "prune", "kl_gain", "kl_interval"),
)
FORCING = f"use rule {alternatives(names_with(lambda rule: rule.may_force))}"
Odds = Literal["none", "pawn", "knight", "bishop", "rook", "queen"]


@dataclass(frozen=True)
class SelfPlay:
    """The settings of games against itself; by default ours, for few playouts."""

    kind: Literal["mcts", "alphabeta"] = setting(
        "mcts", "tree search, whose visits are a policy to learn, or alpha-beta at fixed nodes"
    )

    # --- alpha-beta
    nodes: int = setting(1000, "for each move; no iteration begins after", low=1, high=10**9)
    most_nodes: float = setting(4.0, "times nodes: there an iteration is given up", low=1, high=1e6)
    first_value: float = setting(1.0, "a first value beyond it: another start", low=0, high=1)
    random_share: tuple[float, ...] = setting(
        (0.0, 0.0), "of random moves later on: least, most; drawn per game", low=0, high=1
    )
    noisy: bool = setting(False, "learn values in check and before captures, too")
    syzygy: str = setting("", "folders of tablebases that end games")

    # --- tree search
    search: str = setting("default", "preset of the search: default, alphazero, lc0, ...")
    rule: Literal["preset", RuleName] = setting(
        "gumbel", "how moves are selected; preset: as the search's preset does"
    )
    options: tuple[str, ...] = setting((), "of the search, as NAME=VALUE")
    playouts: int = setting(16, "for each move, beyond the root's evaluation", low=1, high=10**6)
    reuse: bool = setting(False, "keep the part of the tree that the game reaches")
    trees: Literal[1, 2] = setting(1, "2: one for each side, as search-contempt needs")
    sc_limit: int = setting(OFF, "search-contempt: visits that freeze replies", low=1, high=OFF)
    hash: float = setting(0.0, "MiB of each tree; 0: what the playouts need", low=0, high=1 << 17)

    # --- noise at the root, of all rules; the Gumbel rule has noise of its own
    noise: float = setting(0.0, "share of Dirichlet noise in the root's priors", low=0, high=1)
    noise_alpha: float = setting(0.3, "its concentration", low=1e-4, high=1e7)
    noise_scaled: bool = setting(False, "concentration is noise_alpha * 361 / moves")

    # --- choice of the move; the Gumbel rule chooses by its own formula
    temperature: float = setting(1.0, "of the choice by visits; 0: the best", low=0, high=100)
    temperature_plies: int = setting(30, "plies at that temperature", low=0, high=100_000)
    temperature_decay: int = setting(0, "plies in which it falls to 0", low=0, high=100_000)
    temperature_end: float = setting(0.0, "lowest temperature, and the last", low=0, high=100)
    visit_offset: float = setting(0.0, "added to visits before the choice", low=-1000, high=1000)
    value_cutoff: float = setting(1.0, "worse by this share of a win: never", low=0, high=1)

    # --- where games begin
    openings: str = setting("", "file of PGN, EPD or lines of moves to start from")
    random_plies: tuple[int, ...] = setting((0, 0), "at the start: least, most", low=0, high=100)
    chess960: float = setting(0.0, "share of games from Chess960 starts", low=0, high=1)
    odds: Odds = setting("none", "what one side, by turns, begins without")

    # --- how games end
    most_plies: int = setting(512, "then it is a draw", low=1, high=20_000)
    resign: float = setting(0.0, "resign when worth less than minus this; 0: never", low=0, high=1)
    resign_plies: int = setting(4, "own moves in a row that say so", low=1, high=1000)
    played_out: float = setting(0.1, "share of games without resignation", low=0, high=1)
    draw: float = setting(0.0, "drawn when all values are within this; 0: never", low=0, high=1)
    draw_plies: int = setting(16, "plies in a row that say so", low=1, high=1000)
    draw_from: int = setting(80, "first ply of which that may be said", low=0, high=20_000)

    # --- economy
    full: float = setting(1.0, "share of moves with all playouts, to learn from", low=0, high=1)
    fast_playouts: int = setting(8, "for the other moves, without noise", low=1, high=10**6)
    forced: float = setting(0.0, "k: sqrt(k P N) playouts for tried root moves", low=0, high=100)
    prune: bool = setting(True, "take forced playouts out of the policy to learn")
    kl_gain: float = setting(0.0, "stop below this KL gain a playout; 0: off", low=0, high=1)
    kl_interval: int = setting(100, "playouts between two looks at it", low=1, high=10**6)

    # --- the run
    workers: int = setting(0, "threads that play; 0: one a processor", low=0, high=1024)
    group: int = setting(64, "games in a shard", low=1, high=60_000)
    rows: int = setting(64, "games in step, where networks are asked in batches", low=1, high=4096)
    cache: int = setting(64, "MiB of their evaluations kept; 0: none", low=0, high=1 << 16)

    def __post_init__(self) -> None:
        for option in options_of(type(self)):
            value = checked(option, getattr(self, option.name), f"selfplay.{option.name}")
            object.__setattr__(self, option.name, value)

    def validated(self) -> SelfPlay:
        """Itself, unless something in it cannot work: then an error that says so."""
        search = self.searching()
        gumbel = search.search_rule == "gumbel"
        if self.kind == "alphabeta":
            self._refuse_odds()
            return self
        contempt = search.sc_limit != OFF
        refuse = (
            (gumbel and self.reuse, "reuse", "the Gumbel rule plans fresh trees only: rule=puct"),
            (gumbel and self.forced > 0, "forced", "the Gumbel rule plans its visits: rule=puct"),
            (gumbel and self.kl_gain > 0, "kl_gain", "the Gumbel rule plans all visits: rule=puct"),
            (gumbel and self.playouts > MOST_GUMBEL, "playouts", f"at most {MOST_GUMBEL}"),
            (
                contempt and self.trees == 1,
                "trees",
                "ScLimit freezes one side's replies: a tree for each side, trees=2",
            ),
            (contempt and self.forced > 0, "forced", "not with search-contempt"),
            (not RULES[search.search_rule].may_force and self.forced > 0, "forced", FORCING),
            (
                search.search not in ("auto", "mcts"),
                "Search",
                "targets come from the tree search: leave it out",
            ),
            (search.threads != 1, "Threads", "games run side by side: one thread a search"),
        )
        for wrong, name, fix in refuse:
            if wrong:
                value = getattr(self, name, getattr(search, name.lower(), ""))
                raise ConfigError(f"selfplay: {name}", value=value, fix=fix)
        self._refuse_odds()
        return self

    def _refuse_odds(self) -> None:
        for name in ("random_plies", "random_share"):
            pair = getattr(self, name)
            if len(pair) != 2 or pair[0] > pair[1]:
                fix = "give the least and the most"
                raise ConfigError(f"selfplay: {name}", value=pair, fix=fix)
        if self.chess960 and self.odds != "none":
            raise ConfigError("selfplay: odds", value=self.odds, fix="or chess960, not both")

    def searching(self) -> Settings:
        """The settings of the search; noise and temperature are those of this table."""
        if self.search not in SEARCHES:
            fix = did_you_mean(self.search, SEARCHES)
            raise ConfigError("selfplay: no such search preset", value=self.search, fix=fix)
        rule = "" if self.rule == "preset" else self.rule
        settings = Settings().with_(**changes_of(self.search, rule), sc_limit=self.sc_limit)
        pairs = [text.partition("=") for text in self.options]
        for name, equals, value in pairs:
            if not equals:
                raise InputError("selfplay: options", value=name, fix="write NAME=VALUE")
            if rule and option_of(name.strip()).name == "search_rule" and value.strip() != rule:
                beside = f"{name.strip()}={value.strip()} beside rule={rule}"
                raise ConfigError("selfplay: two rules", value=beside, fix="say it by rule only")
        options = {name.strip(): value for name, _, value in pairs}
        return for_targets(settings.parse(options), (option_of(name).name for name in options))

    def rule_of_search(self) -> Rule:
        """The rule that selects moves, with forced playouts if they are wanted."""
        rule = to_rule(self.searching())
        if self.forced and isinstance(rule, Puct):
            return Forced(rule, self.forced, int(self.prune))
        return rule

    def megabytes(self) -> float:
        """Memory of a tree, or of alpha-beta's table: for the nodes of some moves."""
        if self.kind == "alphabeta":
            return self.hash or max(1, round(self.nodes * BYTES_A_NODE / MEGABYTE))
        kept = 2 if self.reuse else 1
        needed = LEAST_BYTES + kept * BYTES_A_PLAYOUT * max(self.playouts, self.fast_playouts)
        return self.hash or needed / MEGABYTE

    def idle(self) -> list[str]:
        """A line for each setting that was changed and has no effect beside the others."""
        gumbel = self.searching().search_rule == "gumbel"
        tree = self.kind == "mcts"
        by_visits = [
            option.name for option in fields(self) if option.name.startswith("temperature")
        ]
        by_visits += ["visit_offset", "value_cutoff"]
        needs = {
            **dict.fromkeys(OF_ALPHA_BETA, (not tree, "with kind mcts")),
            **dict.fromkeys(by_visits, (not gumbel, "rule gumbel chooses by its own formula")),
            "noise_alpha": (self.noise > 0, "without noise"),
            "noise_scaled": (self.noise > 0, "without noise"),
            "resign_plies": (self.resign > 0, "without resign"),
            "played_out": (self.resign > 0, "without resign"),
            "draw_plies": (self.draw > 0, "without draw"),
            "draw_from": (self.draw > 0, "without draw"),
            "fast_playouts": (self.full < 1, "without full below 1"),
            "prune": (self.forced > 0, "without forced"),
            "kl_interval": (self.kl_gain > 0, "without kl_gain"),
        }
        if not tree:
            needs |= dict.fromkeys(OF_TREE_SEARCH, (tree, "with kind alphabeta"))
        default = SelfPlay()
        return [
            f"selfplay.{name} has no effect: {why}"
            for name, (works, why) in needs.items()
            if not works and getattr(self, name) != getattr(default, name)
        ]

    def of_games(self) -> dict[str, Any]:
        """What decides how games go, by names, without what belongs to the run: for shards."""
        others = OF_ALPHA_BETA if self.kind == "mcts" else OF_TREE_SEARCH
        left_out = {*OF_THE_RUN, *others}
        left_out |= {
            name for name in UNSAID_WHERE_OFF if getattr(self, name) == getattr(SelfPlay(), name)
        }
        names = [option.name for option in fields(self) if option.name not in left_out]
        return {name: getattr(self, name) for name in names}


LATE = "ExpandAt=2"  # the same visits as with moves at a node's first visit, and sooner
_ALPHAZERO: dict[str, Any] = {
    "search": "alphazero",
    "rule": "preset",
    "options": (LATE,),
    "playouts": 800,
    "reuse": True,
    "noise": 0.25,
    "group": 16,
}
PRESETS: dict[str, dict[str, Any]] = {
    "kibitz": {},
    # What engines that learn from their own alpha-beta games have in common.
    "alphabeta": {
        "kind": "alphabeta",
        "random_plies": (8, 9),
        "first_value": 0.9,
        "resign": 0.8,
        "most_plies": 400,
    },
    "azero": _ALPHAZERO,
    "chesscoach": _ALPHAZERO | {"search": "chesscoach"},
    "dlchess": _ALPHAZERO
    | {
        "search": "dlchess",
        "options": (LATE, "CPuct=1.2", "CPuctFactor=0", "FpuValue=0", "PolicyTemperature=1"),
        "reuse": False,
        "noise_alpha": 0.03,
        "noise_scaled": True,
        "temperature_plies": 10_000,
        "most_plies": 256,
    },
    # The training-like settings of the search-contempt paper's PUCT games.
    "lc0": _ALPHAZERO
    | {
        "search": "lc0",
        "options": (
            LATE,
            "CPuct=1.2",
            "CPuctAtRoot=2.0",
            "RootHasOwnCPuctParams=true",
            "FpuValue=0.49",
            "FpuStrategyAtRoot=absolute",
            "FpuValueAtRoot=1.0",
            "PolicyTemperature=1.45",
        ),
        "noise": 0.1,
        "noise_alpha": 0.12,
        "temperature": 0.9,
        "temperature_plies": 40,
        "temperature_decay": 120,
        "temperature_end": 0.6,
        "visit_offset": -0.8,
        "most_plies": 450,
    },
}


def preset_changes(name: str) -> dict[str, Any]:
    """What a preset changes of the settings."""
    if name not in PRESETS:
        raise ConfigError("no such preset", value=name, fix=did_you_mean(name, PRESETS))
    return PRESETS[name]


def preset(name: str) -> SelfPlay:
    """Settings by name: ours, or those another system played with."""
    return replace(SelfPlay(), **preset_changes(name))


# --- search-contempt under control ----------------------------------------------------------------

LARGEST_STEP = 3.0  # factor by which the limit changes from one set of games to the next


def next_sc_limit(limit: int, decided: int, drawn: int, wanted: float, power: float) -> int:
    """The visits at which replies freeze that bring decided games for each draw near a number.

    The ratio falls with the limit, about to the power that is given. Half a game more on either
    side keeps the ratio of few games finite.
    """
    ratio = (0.5 + decided) / (0.5 + drawn)
    factor = math.pow(ratio / wanted, 1.0 / power)
    factor = max(1.0 / LARGEST_STEP, min(LARGEST_STEP, factor))
    return max(1, min(OFF, round(limit * factor)))
