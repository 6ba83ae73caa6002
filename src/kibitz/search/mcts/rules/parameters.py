"""Selection rules as bundles of numbers, one NamedTuple class for each, and the table of rules.

A rule's class picks its scoring kernel at compile time; its fields are plain numbers. Values and
constants are for scores in [-1, 1] unless a field says otherwise. `RULES` has an entry for each
name of the option SearchRule: all that the rest of Kibitz asks about a rule without compiling it.
"""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from kibitz.core.errors import ConfigError

RuleName: TypeAlias = Literal["puct", "azero", "sble", "gumbel", "expectimax"]
RULE_NAMES: tuple[RuleName, ...] = get_args(RuleName)
Settings: TypeAlias = Any  # of search/options.py, whose options take the names of rules from here

OFF = 1_000_000_000  # ScLimit that no search reaches

# How an unvisited move is valued.
FPU_LOSS, FPU_WIN, FPU_ABSOLUTE, FPU_REDUCTION = range(4)


class Exploration(NamedTuple):
    """Weight of the priors: c(N) = init + factor * ln((N + base_visits + offset) / base_visits)."""

    init: float = 1.745
    base_visits: float = 38_739.0
    factor: float = 3.894
    offset: float = 0.0  # ChessCoach adds 1 inside the logarithm


class FirstPlay(NamedTuple):
    """Value of moves not tried yet."""

    kind: int = FPU_REDUCTION
    value: float = 0.33  # the absolute value, or the reduction per root of the tried prior mass


class Puct(NamedTuple):
    """Q + c(N) P sqrt(N) / (1 + n): AlphaZero's rule in lc0's form, with switches."""

    exploration: Exploration = Exploration()
    root_exploration: Exploration = Exploration()
    first_play: FirstPlay = FirstPlay()
    root_first_play: FirstPlay = FirstPlay()
    virtual_loss: float = 0.0  # a pending visit counts as this much of a lost one
    count_parent: int = 0  # 1: N under the root includes the node's own first visit
    log_visits: float = 0.0  # further growth of c with ln(1 + N / log_base)
    log_base: float = 4_727.0
    variance: float = 0.0  # share of c scaled by the node's standard deviation of values
    gini: float = 0.0  # share of c scaled by how spread out the priors are
    widening: float = 0.0  # candidates = widening * (1 + N)^(1/2); 0: all moves
    faster_mate: float = 0.0  # bonus 2^-n times this for a proved mate in n moves


class Sble(NamedTuple):
    """ChessCoach's SBLE-PUCT: a linear exploration term for the moves not yet eliminated.

    Its constants are for scores in [0, 1]; the kernel converts.
    """

    exploration: Exploration = Exploration(2.35, 185_000.0, 1.0, 1.0)
    root_exploration: Exploration = Exploration(2.35, 185_000.0, 1.0, 1.0)
    linear_rate: float = 3_590.0
    linear_delay: float = 1_050_000.0
    elimination_exponent: float = 10.0
    backup_threshold: float = 0.02  # a choice this far below the best is visited, not believed
    virtual_loss: float = 0.1
    faster_mate: float = 1.0


class Gumbel(NamedTuple):
    """Gumbel root search with sequential halving; inside, visits follow the completed-Q policy."""

    value_scale: float = 1.0  # c_scale: weight of values, which are taken as shares of a win
    visit_offset: float = 50.0  # c_visit
    considered: int = 4  # root moves that enter sequential halving
    noise: float = 0.0  # scale of the noise that chooses them; 0 takes the likeliest


class Expectimax(NamedTuple):
    """Own moves by PUCT; the opponent's as often as his policy says, so his nodes are means."""

    inner: Puct = Puct()


class Contempt(NamedTuple):
    """Search-contempt: below a limit of visits the opponent searches, beyond it he repeats himself.

    At the opponent's nodes the visits of the replies are frozen when they add up to `limit`; from
    then on replies are sampled from the frozen distribution.
    """

    inner: Puct | Sble = Puct()
    limit: int = OFF
    parity: int = 1  # plies from the root modulo 2 at which nodes freeze; 0 is negative contempt
    temperature: float = 1.0  # of the frozen distribution
    admit: int = 0  # 1: replies unvisited at freezing keep a weight of their prior
    prefer_proven: int = 1  # 1: a reply proved to win is always chosen, one proved to lose never


class Forced(NamedTuple):
    """Forced playouts: a tried move of the root is due sqrt(share * prior * visits) of them."""

    inner: Puct = Puct()
    share: float = 2.0
    prune: int = 1  # 1: playouts that were only forced are no part of the policy to learn


Unwrapped: TypeAlias = Puct | Sble | Gumbel | Expectimax
Rule: TypeAlias = Unwrapped | Contempt | Forced


def names_of(rule: Rule) -> tuple[str, ...]:
    """The classes of a rule and of the one it wraps, by which its kernels are chosen."""
    return (type(rule).__name__, type(innermost(rule)).__name__)


def innermost(rule: Rule) -> Unwrapped:
    """The rule under a wrapper."""
    return rule.inner if isinstance(rule, Contempt | Forced) else rule


# --- what is asked about a rule -------------------------------------------------------------------


class Scoring(NamedTuple):
    """What a rule computes; it stands in the rule's own file."""

    # Kernel (rule, tree, context, via, node, depth) -> an edge of `node`, which edge `via` leads
    # to, `depth` plies below the root, or BLOCKED; and whether the choice may be believed.
    select: Callable[..., tuple[int, int]]
    # For reports, in Python, of the node below an edge (0: the root):
    # (rule, edge, visits) -> by what a move's prior / (1 + visits) is multiplied, and
    exploration: Callable[[Any, int, float], float]
    # (rule, memory of the tree, edge, node) -> what an unvisited move is taken to be worth.
    untried: Callable[[Any, Any, int, int], float]


def _never(_: Any) -> bool:
    return False


@dataclass(frozen=True)
class Entry:
    """A rule as the rest of Kibitz knows it; what is left out holds of every rule."""

    numbers: type[Unwrapped]
    scoring: str  # where it is, as module:name; importing it compiles
    from_settings: Callable[[Settings], Unwrapped]
    # Settings its authors chose, and those of searches whose results are learned from.
    constants: Mapping[str, Any] = field(default_factory=dict)
    for_targets: Mapping[str, Any] = field(default_factory=dict)
    weighs_priors: bool = False  # it heeds CPuct and what belongs to it
    plays_most_visited: bool = True  # if not, its own formula chooses the move
    may_freeze: bool = False  # search-contempt may wrap it
    may_force: bool = False  # self-play may force playouts at its root
    proves: bool = True  # mates and other certain results may climb the tree
    sums_visits: bool = False  # threads may add up visits before they tell the tree
    # Whether of the moves not tried yet it only ever looks at the likeliest.
    by_prior: Callable[[Any], bool] = _never
    in_bench: bool = False  # `kibitz bench search` measures it, and the signature has it


def entry_of(rule: Rule) -> Entry:
    """The entry of a rule, or of the one it wraps."""
    return next(entry for entry in RULES.values() if entry.numbers is type(innermost(rule)))


def scoring_of(entry: Entry) -> Scoring:
    """What a rule computes."""
    scoring: Scoring = pkgutil.resolve_name(entry.scoring)
    return scoring


def looks_by_prior(rule: Rule) -> bool:
    """Whether of the moves not tried yet the rule only ever looks at the likeliest."""
    return rule is innermost(rule) and entry_of(rule).by_prior(rule)


# --- from settings --------------------------------------------------------------------------------
#
# What a search makes of settings: the rule it follows, and what holds for every rule.


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
    name, entry = settings.search_rule, RULES[settings.search_rule]
    rule = entry.from_settings(settings)
    if settings.sc_limit == OFF:
        return rule
    if not entry.may_freeze:
        fix = f"use SearchRule {alternatives(names_with(lambda entry: entry.may_freeze))}"
        raise ConfigError(f"ScLimit: no frozen replies with SearchRule {name}", fix=fix)
    inner: Any = rule
    return Contempt(
        inner=inner,
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


def _expectimax(settings: Settings) -> Expectimax:
    return Expectimax(_puct(settings))


# --- the table ------------------------------------------------------------------------------------

_PLAIN: dict[str, Any] = {"policy_temperature": 1.0, "variance_scaling": 0.0}
_PUCT = Entry(
    numbers=Puct,
    scoring="kibitz.search.mcts.rules.puct:PUCT",
    from_settings=_puct,
    weighs_priors=True,
    may_freeze=True,
    may_force=True,
    sums_visits=True,
    by_prior=lambda rule: bool(rule.gini == 0.0),
    in_bench=True,
)
_AZERO = replace(
    _PUCT,
    from_settings=_azero,
    constants={
        **_PLAIN,
        "cpuct": 1.25,
        "cpuct_base": 19_652.0,
        "cpuct_factor": 1.0,
        "fpu": "loss",
    },
    in_bench=False,
)
_SBLE = Entry(
    numbers=Sble,
    scoring="kibitz.search.mcts.rules.sble:SBLE",
    from_settings=_sble,
    constants={
        **_PLAIN,
        "cpuct": 2.35,
        "cpuct_base": 185_000.0,
        "cpuct_factor": 1.0,
        "fpu": "loss",
        "root_fpu": "win",
        "virtual_loss": 0.1,
        "faster_mate": 1.0,
    },
    weighs_priors=True,
    may_freeze=True,
    sums_visits=True,
    by_prior=lambda _: True,
    in_bench=True,
)
_GUMBEL = Entry(
    numbers=Gumbel,
    scoring="kibitz.search.mcts.rules.gumbel:GUMBEL",
    from_settings=_gumbel,
    constants=_PLAIN,
    # The defaults choose moves; targets want noise that samples them, and many values.
    for_targets={"gumbel_noise": 1.0, "gumbel_considered": 16, "gumbel_value_scale": 0.5},
    plays_most_visited=False,
    in_bench=True,
)
RULES: dict[RuleName, Entry] = {
    "puct": _PUCT,
    "azero": _AZERO,
    "sble": _SBLE,
    "gumbel": _GUMBEL,
    # A reply that mates counts as often as it is played.
    "expectimax": Entry(
        Expectimax,
        "kibitz.search.mcts.rules.expectimax:EXPECTIMAX",
        _expectimax,
        weighs_priors=True,
        proves=False,
    ),
}


def names_with(holds: Callable[[Entry], bool]) -> tuple[RuleName, ...]:
    """Names of the rules of which something holds."""
    return tuple(name for name, entry in RULES.items() if holds(entry))


def alternatives(names: tuple[str, ...]) -> str:
    """Names in words: a, b or c."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


# --- behaviour ------------------------------------------------------------------------------------
#
# What holds for every rule of the tree search: expansion, backup and proofs, as numbers.


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
        prove=int(settings.prove and entry_of(rule).proves),
        descend_proven=int(settings.search_proven),
        clear_losses=int(settings.clear_losses),
        draw_sibling=int(settings.draw_sibling),
        rule50_scaling=settings.rule50_scaling,
        share_values=int(settings.share_values),
        accumulate_from=ACCUMULATE_FROM if sums_visits else default.accumulate_from,
    )
