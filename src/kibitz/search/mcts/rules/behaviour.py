"""What holds for every rule of the tree search: expansion, backup and proofs, as numbers."""

from __future__ import annotations

from typing import NamedTuple

from kibitz.search.mcts.rules.parameters import entry_of, innermost, looks_by_prior, to_rule
from kibitz.search.params import Settings


class Behaviour(NamedTuple):
    """What holds for every rule: expansion, backup and proofs."""

    policy_temperature: float = 1.0
    root_policy_temperature: float = 1.0
    by_prior: int = 0  # 1: the rule looks at tried moves and the likeliest other one, no others
    expand_at: int = 2  # visits after which a node gets its moves; 1 or 2
    build: float = 1.0  # moving average: step 1 / clamp(build * weight, 1, cap)
    cap: float = 1e18
    prove: int = 1  # mates, stalemates and tablebase results climb the tree
    descend_proven: int = 0  # 1: keep searching for shorter mates below proved moves
    clear_losses: int = 0  # 1: a move proved lost gets a thousandth of its prior
    draw_sibling: int = 0  # 1: after a drawn first visit untried siblings are worth the root
    rule50_scaling: float = 0.0  # 1: ChessCoach's shrinking of values towards a draw
    share_values: int = 0  # 1: a leaf known from elsewhere in the tree begins with its value there
    accumulate_from: int = 1 << 40  # visits of a move from which threads accumulate locally
    shared: int = 0  # who else is in the tree: NOBODY, BATCHES not finished yet, other THREADS


# Other rules count visits exactly: replies to be frozen, playouts as the Gumbel rule plans them.
ACCUMULATE_FROM = 1024


def to_behaviour(settings: Settings) -> Behaviour:
    """What holds for every rule."""
    rule, default = to_rule(settings), Behaviour()
    moving = settings.value_average == "moving"
    sums_visits = rule is innermost(rule) and entry_of(rule).sums_visits
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
        accumulate_from=ACCUMULATE_FROM if sums_visits else default.accumulate_from,
    )
