"""Settings by name, and what a search makes of settings: the rule it follows and how it behaves.

    Settings -> **Rule, Behaviour** -> records for the kernels

Presets take over what the other systems' authors published, so far as we have the switch.
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

from kibitz.errors import ConfigError, did_you_mean
from kibitz.search.mcts.rules.parameters import (
    FPU_ABSOLUTE,
    FPU_LOSS,
    FPU_REDUCTION,
    FPU_WIN,
    Behaviour,
    Contempt,
    Exploration,
    FirstPlay,
    Gumbel,
    Puct,
    Rule,
    Sble,
    looks_by_prior,
)
from kibitz.search.parameter import Parameter
from kibitz.search.params import OFF, PARAMETERS, Settings, parameter_of
from kibitz.search.where import CONTEMPT, DRIVERS, Need

RuleName: TypeAlias = Literal["puct", "azero", "sble", "gumbel"]

FPU_KINDS: dict[str, int] = {
    "reduction": FPU_REDUCTION,
    "absolute": FPU_ABSOLUTE,
    "loss": FPU_LOSS,
    "win": FPU_WIN,
}
HALF_TO_FULL = 2.0  # from scores in [0, 1] to [-1, 1]
UNREACHABLE = math.inf  # a threshold that switches a term off


# --- rules ----------------------------------------------------------------------------------------


def to_rule(settings: Settings) -> Rule:
    """The rule that settings describe, wearing search-contempt if ScLimit is not off."""
    rule = _bare_rule(settings)
    if settings.sc_limit == OFF:
        return rule
    if isinstance(rule, Gumbel):
        fix = "use SearchRule puct, azero or sble"
        raise ConfigError("ScLimit: no frozen replies with SearchRule gumbel", fix=fix)
    return Contempt(
        inner=rule,
        limit=settings.sc_limit,
        parity=0 if settings.sc_negative else 1,
        temperature=settings.sc_temperature,
        admit=int(settings.sc_admit),
        prefer_proven=int(settings.sc_prefer_proven),
    )


def _bare_rule(settings: Settings) -> Puct | Sble | Gumbel:
    if settings.search_rule == "sble":
        return _sble(settings)
    if settings.search_rule == "gumbel":
        return _gumbel(settings)
    return _azero(settings) if settings.search_rule == "azero" else _puct(settings)


def _exploration(settings: Settings, root: bool, scale: float, offset: float) -> Exploration:
    init, base, factor = settings.cpuct, settings.cpuct_base, settings.cpuct_factor
    if root and settings.root_cpuct_own:
        init, base = settings.root_cpuct, settings.root_cpuct_base
        factor = settings.root_cpuct_factor
    return Exploration(scale * init, base, scale * factor, offset)


def _first_play(settings: Settings, root: bool) -> FirstPlay:
    if root and settings.root_fpu != "same":
        return FirstPlay(FPU_KINDS[settings.root_fpu], settings.root_fpu_value)
    return FirstPlay(FPU_KINDS[settings.fpu], settings.fpu_value)


def _puct(settings: Settings, scale: float = 1.0, offset: float = 0.0) -> Puct:
    return Puct(
        exploration=_exploration(settings, False, scale, offset),
        root_exploration=_exploration(settings, True, scale, offset),
        first_play=_first_play(settings, False),
        root_first_play=_first_play(settings, True),
        virtual_loss=settings.virtual_loss,
        count_parent=int(settings.count_parent),
        log_visits=settings.log_visits,
        log_base=settings.log_base,
        variance=settings.variance_scaling,
        gini=settings.gini_scaling,
        widening=settings.widening,
        faster_mate=settings.faster_mate,
    )


def _azero(settings: Settings) -> Puct:
    """PUCT as AlphaZero writes it: constants for scores in [0, 1], 1 added inside the logarithm."""
    return _puct(settings, HALF_TO_FULL, 1.0)._replace(count_parent=1)


def _sble(settings: Settings) -> Sble:
    return Sble(
        exploration=_exploration(settings, False, 1.0, 1.0),
        root_exploration=_exploration(settings, True, 1.0, 1.0),
        linear_rate=settings.linear_rate,
        linear_delay=settings.linear_delay if settings.linear else UNREACHABLE,
        elimination_exponent=float(settings.elimination_exponent) if settings.elimination else 0.0,
        backup_threshold=settings.backup_threshold if settings.selective_backup else UNREACHABLE,
        virtual_loss=settings.virtual_loss,
        faster_mate=settings.faster_mate,
    )


def _gumbel(settings: Settings) -> Gumbel:
    return Gumbel(
        value_scale=settings.gumbel_value_scale,
        visit_offset=settings.gumbel_visit_offset,
        considered=settings.gumbel_considered,
        noise=settings.gumbel_noise,
    )


# Other rules count visits exactly: replies to be frozen, playouts as the Gumbel rule plans them.
ACCUMULATE_FROM = 1024


def to_behaviour(settings: Settings) -> Behaviour:
    """What holds for every rule."""
    moving = settings.value_average == "moving"
    mean = Behaviour()
    return Behaviour(
        policy_temperature=settings.policy_temperature,
        root_policy_temperature=settings.root_policy_temperature or settings.policy_temperature,
        by_prior=int(looks_by_prior(to_rule(settings))),
        expand_at=settings.expand_at,
        build=settings.average_build if moving else mean.build,
        cap=settings.average_cap if moving else mean.cap,
        prove=int(settings.prove),
        descend_proven=int(settings.search_proven),
        clear_losses=int(settings.clear_losses),
        draw_sibling=int(settings.draw_sibling),
        rule50_scaling=settings.rule50_scaling,
        share_values=int(settings.share_values),
        accumulate_from=ACCUMULATE_FROM
        if isinstance(to_rule(settings), Puct | Sble)
        else mean.accumulate_from,
    )


def noise_alpha(settings: Settings) -> float:
    """Concentration of the root's noise as root.py takes it: negative if scaled by the moves."""
    return -settings.noise_alpha if settings.noise_scaled else settings.noise_alpha


# --- options without effect -----------------------------------------------------------------------


def why_without_effect(parameter: Parameter, settings: Settings, *, batched: bool) -> str:
    """Why an option changes nothing with these settings; empty if it does change something."""
    driver = "batched" if batched else "threads" if settings.threads > 1 else "inline"
    rules, drivers, need = parameter.where
    if drivers and driver not in drivers:
        return DRIVERS[driver]
    if rules == CONTEMPT.rules and settings.sc_limit == OFF:
        return "without ScLimit"
    if rules and rules != CONTEMPT.rules and settings.search_rule not in rules:
        return f"with SearchRule {settings.search_rule}"
    values = [getattr(settings, name) for name in need.names]
    if need.names and not any(value in need.words if need.words else value for value in values):
        return f"without {asked_for(need)}"
    return ""


def asked_for(need: Need) -> str:
    """What an option needs beside itself, in words."""
    names = " or ".join(parameter_of(name).uci for name in need.names)
    return f"{names} {' or '.join(need.words)}" if need.words else names


def without_effect(settings: Settings, base: Settings, *, batched: bool) -> list[str]:
    """A line for each option that differs from `base` and changes nothing."""
    changed = [
        parameter
        for parameter in PARAMETERS
        if getattr(settings, parameter.name) != getattr(base, parameter.name)
    ]
    reasons = [why_without_effect(parameter, settings, batched=batched) for parameter in changed]
    return [
        f"{parameter.uci} has no effect {reason}"
        for parameter, reason in zip(changed, reasons, strict=True)
        if reason
    ]


# --- presets --------------------------------------------------------------------------------------

_PLAIN: dict[str, Any] = {"policy_temperature": 1.0, "variance_scaling": 0.0}
_CHESSCOACH_AZERO: dict[str, Any] = {
    **_PLAIN,
    "cpuct": 2.35,
    "cpuct_base": 185_000.0,
    "cpuct_factor": 1.0,
    "fpu": "loss",
    "root_fpu": "win",
    "virtual_loss": 0.1,
    "faster_mate": 1.0,
}
_RULES: dict[str, dict[str, Any]] = {
    "puct": {},
    "azero": {
        **_PLAIN,
        "cpuct": 1.25,
        "cpuct_base": 19_652.0,
        "cpuct_factor": 1.0,
        "fpu": "loss",
    },
    "sble": _CHESSCOACH_AZERO,
    # Its policy below the root needs every node's own priors.
    "gumbel": {**_PLAIN, "expand_at": 1},
}
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "alphazero": {
        **_RULES["azero"],
        "search_rule": "azero",
        "expand_at": 1,
        "prove": False,
        "noise_alpha": 0.3,
    },
    "chesscoach": {
        **_RULES["sble"],
        "search_rule": "sble",
        "expand_at": 1,
        "value_average": "moving",
        "clear_losses": True,
        "draw_sibling": True,
        "rule50_scaling": 1.0,
        "slow_start_nodes": 1024,
        "slow_start_parallelism": 32,
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
        "noise_alpha": 0.03,
        "noise_scaled": True,
        "time_manager": "dlchess",
        "score_type": "centipawn_2019",
    },
}


def preset(name: str) -> Settings:
    """Settings by name: ours, or those another system plays with."""
    if name not in PRESETS:
        raise ConfigError("no such preset", value=name, fix=did_you_mean(name, PRESETS))
    return Settings(**PRESETS[name])


def changes_of(name: str, rule: str) -> dict[str, Any]:
    """What a preset, and a rule if one is named, change of the settings."""
    if rule and rule not in _RULES:
        raise ConfigError("no such rule", value=rule, fix=did_you_mean(rule, _RULES))
    preset(name)
    constants = {**_RULES[rule], "search_rule": rule} if rule else {}
    return {**PRESETS[name], **constants}


def with_rule(settings: Settings, rule: RuleName) -> Settings:
    """The settings with another rule and the constants its authors gave it."""
    return settings.with_(**{**_RULES[rule], "search_rule": rule})
