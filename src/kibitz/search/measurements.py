"""Which entry of the research log stands behind the default of an option, by its heading.

The table of options in docs/uci.md has its date beside each option. What is not here is usual in
the field, or its authors' constant, and was not measured with Kibitz.
"""

from __future__ import annotations

# The heading of an entry, date and question -> the options that it measured, as named in Python.
ENTRIES: dict[tuple[str, str], tuple[str, ...]] = {
    (
        "2026-11-25",
        "which search is better at few nodes, and what may the Gumbel rule's defaults be?",
    ): (*("search", "gumbel_considered", "gumbel_noise", "gumbel_value_scale"),),
    (
        "2026-11-23",
        "are CPuct, PolicyTemperature and FpuValue of the tree search tuned"
        " as well as they can be?",
    ): (*("cpuct", "fpu_value"),),
    ("2026-11-21", "which constants of PUCT suit the trained network?"): ("policy_temperature",),
    ("2026-11-21", "what of other tree searches helps ours?"): (
        *("variance_scaling", "share_values", "gini_scaling", "root_policy_temperature"),
        *("widening", "log_visits"),
    ),
    ("2026-11-22", "how are mates shown at their exact length, and does FasterMate help?"): (
        *("faster_mate", "search_proven"),
    ),
    ("2026-11-21", "what do the switches of the search do for finding mates?"): (
        *("prove", "linear", "elimination", "selective_backup"),
        *("draw_sibling", "clear_losses", "value_average"),
    ),
    ("2026-11-25", "what do table, order, quiescence and batches of Batch-First cost and save?"): (
        *("bestfirst_batch", "bestfirst_quiet", "bestfirst_ordering"),
    ),
    ("2026-11-21", "does our clock use its time?"): ("time_manager",),
    ("2026-11-25", "what is a score of +1.00 worth?"): ("score_type",),
}
MEASURED = {name: date for (date, _), names in ENTRIES.items() for name in names}
