"""What the documents promise about the engine is so: the README's lines, the table of options."""

import doctest
from pathlib import Path

import kibitz.engine.engine
import kibitz.engine.options
import kibitz.uci.protocol
import kibitz.uci.proxy
from kibitz import Board
from kibitz.search.options import OPTIONS
from kibitz.uci.options import TABLE_MARK, option_table

PROJECT = Path(__file__).parents[2]


# Which entry of the log stands behind a default. What is not here is usual in the field, or its
# authors' constant, and was not measured with Kibitz.
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


def test_the_table_of_options_is_the_engines() -> None:
    # After a change: python -m kibitz.uci.options docs/uci.md
    written = (PROJECT / "docs" / "uci.md").read_text(encoding="utf-8")
    assert written.split(TABLE_MARK)[1].strip() == option_table().strip()


def test_each_measured_default_has_its_entry_in_the_log() -> None:
    logs = [path.read_text(encoding="utf-8") for path in (PROJECT / "research/log").glob("2*.md")]
    heads = {line[3:] for text in logs for line in text.splitlines() if line.startswith("## ")}
    assert {f"{date}: {question}" for date, question in ENTRIES} <= heads
    names = [name for measured in ENTRIES.values() for name in measured]
    assert len(names) == len(set(names))
    assert set(names) <= {option.name for option in OPTIONS}


def test_the_readme_runs() -> None:
    result = doctest.testfile(str(PROJECT / "README.md"), module_relative=False)
    assert result.attempted >= 4
    assert result.failed == 0


def test_examples_in_docstrings_run() -> None:
    modules = [kibitz.engine.engine, kibitz.engine.options, kibitz.uci.protocol, kibitz.uci.proxy]
    for module in modules:
        result = doctest.testmod(module, extraglobs={"Board": Board})
        assert result.attempted > 0
        assert result.failed == 0
