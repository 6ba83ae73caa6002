"""Where an option has an effect: by rule, by the way a search is run, by other options.

Warnings, the pages of options and `python -m research.ablations options` all read it.
"""

from __future__ import annotations

from kibitz.core.options import EVERYWHERE, Need, Where
from kibitz.search.mcts.rules.parameters import Puct, names_with

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
    "alphabeta": _ALL_KINDS | {"syzygy_depth", "syzygy_share"},
    "bestfirst": _ALL_KINDS
    | {"bestfirst_batch", "bestfirst_quiet", "bestfirst_ordering", "bestfirst_file"},
}


# --- by rule --------------------------------------------------------------------------------------

EXPLORING = Where(names_with(lambda rule: rule.weighs_priors))
CHOOSING = Where(names_with(lambda rule: rule.plays_most_visited))
FREEZING = Where(names_with(lambda rule: rule.may_freeze))
ONLY_PUCT = Where(("puct",))  # AlphaZero's rule always counts the parent's visit
PUCT = Where(names_with(lambda rule: rule.numbers is Puct))
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
PROVING = with_one_of("prove")
MATES = with_one_of("prove", where=EXPLORING)
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
