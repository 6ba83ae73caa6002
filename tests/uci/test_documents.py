"""What the documents promise about the engine is so: the README's lines, the table of options."""

import doctest
from pathlib import Path

import kibitz.engine.engine
import kibitz.engine.options
import kibitz.uci.protocol
import kibitz.uci.proxy
from kibitz import Board
from kibitz.search.options import ENTRIES, OPTIONS
from kibitz.uci.options import TABLE_MARK, option_table

PROJECT = Path(__file__).parents[2]


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
