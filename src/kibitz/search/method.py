"""Opening a search of the kind that settings ask for, and loading its kernels before it is needed.

There are three kinds: the tree search (mcts/searcher.py), alpha-beta (alphabeta/searcher.py) and
best-first search in batches (bestfirst/searcher.py). All derive from BaseSearcher (searcher.py), as
another one would that is opened here. Importing this module is cheap: kernels and the rules of
chess are loaded when a search is opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kibitz.core.errors import ConfigError, did_you_mean
from kibitz.core.options import Need, Option
from kibitz.search.limits import Limits
from kibitz.search.mcts.rules.parameters import OFF, RULES, names_of, to_rule
from kibitz.search.options import CONTEMPT, DRIVERS, HEEDED, OPTIONS, Settings, option_of

if TYPE_CHECKING:
    from kibitz.nets.load import Evaluator
    from kibitz.search.searcher import BaseSearcher


def open_search(evaluator: Evaluator, settings: Settings) -> BaseSearcher:
    """A search of the kind that the settings ask for; alpha-beta takes no batches."""
    from kibitz.nets.evaluators.inline import InlineEvaluator

    settings = resolved(settings, batched=not isinstance(evaluator, InlineEvaluator))
    if settings.search == "bestfirst":
        from kibitz.search.bestfirst.searcher import BestFirst

        return BestFirst(evaluator, settings)
    if settings.search == "alphabeta" and isinstance(evaluator, InlineEvaluator):
        from kibitz.search.alphabeta.searcher import AlphaBeta

        return AlphaBeta(evaluator, settings)
    from kibitz.search.mcts.searcher import Searcher

    return Searcher(evaluator, settings)


def variant_of(settings: Settings, *, batched: bool = False) -> tuple[str, ...]:
    """Which compiled search the settings ask for; refuses settings that make none."""
    rule, search = names_of(to_rule(settings)), resolved(settings, batched=batched).search
    return rule if search == "mcts" else (search,)


# What a game may need on any move: a tree that is cut back to a line, a proof.
# The move before the search has rules compiled here while a second process compiles playouts.
WARM_GAMES = (
    ("8/6kp/8/8/8/8/P7/K7 b - - 0 1", "g7h8"),
    ("5r1k/6pp/8/6N1/8/8/8/K7 b - - 0 1", "f8g8"),
)
WARM_NODES = 24


def warm(evaluator: Evaluator, settings: Settings) -> None:
    """Load or compile the kernels of a search before its clock runs, by small searches."""
    from kibitz.jit.helper import compile_later
    from kibitz.nets.evaluators.inline import InlineEvaluator
    from kibitz.position.board import Board
    from kibitz.search.mate import new_memory, search_mate

    mates = new_memory()
    compile_later(search_mate, *mates)  # which is needed last, to show a mate to its end
    kind = resolved(settings, batched=not isinstance(evaluator, InlineEvaluator))
    small = kind.with_(hash=1, threads=1, syzygy_path="", bestfirst_file="", minibatch_size=4)
    with closing(open_search(evaluator, small)) as search:
        for fen, move in WARM_GAMES:
            board, limits = Board(fen, [move]), Limits(nodes=WARM_NODES)
            search.new_game()
            first = search.search(board, limits)
            if first.move is not None and first.ponder is not None:
                board.push(first.move)
                board.push(first.ponder)
                search.search(board, limits)  # on what is kept of the tree
        search.search(Board(), Limits(nodes=2))
    Board().repetitions()  # which a report of a draw asks for
    search_mate(*mates)  # of no move, with no budget


# --- presets --------------------------------------------------------------------------------------
#
# Settings by name, and which options change nothing.
#
# Presets take over what the other systems' authors published, so far as we have the switch.


# --- the kind of search --------------------------------------------------------------------------


FEW_NODES = 4_000  # up to which the tree search is the stronger player (docs/search.md)


@lru_cache(maxsize=16)  # it looks at every option, and each move of a game asks for the same
def resolved(settings: Settings, *, batched: bool, nodes: int | None = None) -> Settings:
    """The settings with `auto` replaced by a kind of search, for so many nodes if that is known.

    It is alpha-beta, the stronger player, where the network is computed inside the search; the tree
    search if that is not so, if few nodes are asked, or if an option is changed, with effect, that
    it alone heeds.
    """
    if settings.search != "auto":
        return settings
    if nodes is not None and nodes <= FEW_NODES:
        return settings.with_(search="mcts")
    heeded = HEEDED["alphabeta"]
    changed = [
        option
        for option in OPTIONS
        if not _is_default(option, settings) and option.name not in heeded
    ]
    if batched or changed:
        tree = settings.with_(search="mcts")
        if batched or not all(
            why_without_effect(option, tree, batched=False) for option in changed
        ):
            return tree
    return settings.with_(search="alphabeta")


def _is_default(option: Option, settings: Settings) -> bool:
    return bool(getattr(settings, option.name) == option.default)


# --- options without effect -----------------------------------------------------------------------


def why_without_effect(option: Option, settings: Settings, *, batched: bool) -> str:
    """Why an option changes nothing with these settings; empty if it does change something."""
    driver = "batched" if batched else "threads" if settings.threads > 1 else "inline"
    rules, drivers, need = option.where
    chosen, settings = settings.search, resolved(settings, batched=batched)
    if settings.search == "alphabeta" and batched and option.name == "search":
        return DRIVERS[driver]
    if settings.search == "bestfirst" or (settings.search == "alphabeta" and not batched):
        if option.name in HEEDED[settings.search]:
            return ""
        if chosen != "auto":  # the tree search would play, but for the reason that follows
            return f"with Search {settings.search}"
    if drivers and driver not in drivers:
        return DRIVERS[driver]
    if rules == CONTEMPT.rules and settings.sc_limit == OFF:
        return "without ScLimit"
    if rules and rules != CONTEMPT.rules and settings.search_rule not in rules:
        return f"with SearchRule {settings.search_rule}"
    values = [getattr(settings, name) for name in need.names]
    if need.names and not any(value in need.values if need.values else value for value in values):
        return f"without {asked_for(need)}"
    return ""


def asked_for(need: Need) -> str:
    """What an option needs beside itself, in words."""
    names = " or ".join(option_of(name).uci for name in need.names)
    return f"{names} {' or '.join(need.values)}" if need.values else names


def without_effect(settings: Settings, base: Settings, *, batched: bool) -> list[str]:
    """A line for each option that differs from `base` and changes nothing."""
    changed = [
        option for option in OPTIONS if getattr(settings, option.name) != getattr(base, option.name)
    ]
    reasons = [why_without_effect(option, settings, batched=batched) for option in changed]
    return [
        f"{option.uci} has no effect {reason}"
        for option, reason in zip(changed, reasons, strict=True)
        if reason
    ]


# --- presets --------------------------------------------------------------------------------------

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "alphazero": {
        **RULES["azero"].constants,
        "search_rule": "azero",
        "expand_at": 1,
        "prove": False,
        "noise_alpha": 0.3,
    },
    "chesscoach": {
        **RULES["sble"].constants,
        "search_rule": "sble",
        "expand_at": 1,
        "value_average": "moving",
        "search_proven": True,
        "clear_losses": True,
        "draw_sibling": True,
        "rule50_scaling": 1.0,
        "slow_start_nodes": 1024,
        "slow_start_parallelism": 32,
        "minibatch_size": 256,
        "minimax": True,
        "diversity_temperature": 2.52,
        "time_manager": "chesscoach",
        "score_type": "centipawn_2019",
        "syzygy_fastest": False,
    },
    "lc0": {
        "policy_temperature": 1.359,
        "variance_scaling": 0.0,
        "expand_at": 1,
        "move_overhead": 200,
        "score_type": "WDL_mu",
        "syzygy_fastest": False,
    },
    "dlchess": {
        "policy_temperature": 1.359,
        "variance_scaling": 0.0,
        "count_parent": True,
        "expand_at": 1,
        "prove": False,
        "minibatch_size": 1,
        "noise_alpha": 0.03,
        "noise_scaled": True,
        "time_manager": "dlchess",
        "score_type": "centipawn_2019",
    },
    "batchfirst": {
        "search": "bestfirst",
        "bestfirst_batch": 5000,
        "bestfirst_quiet": 0,
        "score_type": "centipawn_2019",
    },
}


def preset(name: str) -> Settings:
    """Settings by name: ours, or those another system plays with."""
    if name not in PRESETS:
        raise ConfigError("no such preset", value=name, fix=did_you_mean(name, PRESETS))
    return Settings(**PRESETS[name])


def for_targets(settings: Settings, given: Iterable[str]) -> Settings:
    """Settings of a search that makes targets; what was `given`, by names in Python, stays."""
    kept, targets = {*given, *settings.changed()}, RULES[settings.search_rule].for_targets
    return settings.with_(**{name: v for name, v in targets.items() if name not in kept})


def changes_of(name: str, rule: str) -> dict[str, Any]:
    """What a preset, and a rule if one is named, change of the settings."""
    entries = [entry for rule_name, entry in RULES.items() if rule_name == rule]
    if rule and not entries:
        raise ConfigError("no such rule", value=rule, fix=did_you_mean(rule, RULES))
    preset(name)
    constants = {**entries[0].constants, "search_rule": rule, "search": "mcts"} if entries else {}
    return {**PRESETS[name], **constants}
