"""What a search makes of settings: the rule it follows, and what holds for every rule."""

from __future__ import annotations

import math
from collections.abc import Callable

from kibitz.core.errors import ConfigError
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
from kibitz.search.params import OFF, Settings

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
    """The rule that settings describe, wrapped in search-contempt if ScLimit is not off."""
    rule = RULES[settings.search_rule](settings)
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


RULES: dict[str, Callable[[Settings], Puct | Sble | Gumbel]] = {
    "puct": _puct,
    "azero": _azero,
    "sble": _sble,
    "gumbel": _gumbel,
}

# Other rules count visits exactly: replies to be frozen, playouts as the Gumbel rule plans them.
ACCUMULATE_FROM = 1024


def to_behaviour(settings: Settings) -> Behaviour:
    """What holds for every rule."""
    rule, default = to_rule(settings), Behaviour()
    moving = settings.value_average == "moving"
    shares_sums = isinstance(rule, Puct | Sble)
    return Behaviour(
        policy_temperature=settings.policy_temperature,
        root_policy_temperature=settings.root_policy_temperature or settings.policy_temperature,
        by_prior=int(looks_by_prior(rule)),
        expand_at=settings.expand_at,
        build=settings.average_build if moving else default.build,
        cap=settings.average_cap if moving else default.cap,
        prove=int(settings.prove),
        descend_proven=int(settings.search_proven),
        clear_losses=int(settings.clear_losses),
        draw_sibling=int(settings.draw_sibling),
        rule50_scaling=settings.rule50_scaling,
        share_values=int(settings.share_values),
        accumulate_from=ACCUMULATE_FROM if shares_sums else default.accumulate_from,
    )
