"""Which entry of the research log stands behind the default of an option, by its question.

The table of options in docs/uci.md has it beside each option. What is not here is usual in the
field, or its authors' constant, and was not measured with Kibitz.
"""

from __future__ import annotations

# The question that heads an entry -> the options, by their names in Python, that it measured.
ENTRIES: dict[str, tuple[str, ...]] = {
    "which search is better at few nodes, and what may the Gumbel rule's defaults be?": (
        *("search", "gumbel_considered", "gumbel_noise", "gumbel_value_scale"),
    ),
    "are CPuct, PolicyTemperature and FpuValue of the tree search tuned as well as they can be?": (
        *("cpuct", "fpu_value"),
    ),
    "which constants of PUCT suit the trained network?": ("policy_temperature",),
    "what of other tree searches helps ours?": (
        *("variance_scaling", "share_values", "gini_scaling", "root_policy_temperature"),
        *("widening", "log_visits"),
    ),
    "how are mates shown at their exact length, and does FasterMate help?": (
        *("faster_mate", "search_proven"),
    ),
    "what do the switches of the search do for finding mates?": (
        *("prove", "linear", "elimination", "selective_backup"),
        *("draw_sibling", "clear_losses", "value_average"),
    ),
    "what do table, order, quiescence and batches of Batch-First cost and save?": (
        *("bestfirst_batch", "bestfirst_quiet", "bestfirst_ordering"),
    ),
    "does our clock use its time?": ("time_manager",),
    "what is a score of +1.00 worth?": ("score_type",),
}
MEASURED = {name: question for question, names in ENTRIES.items() for name in names}
