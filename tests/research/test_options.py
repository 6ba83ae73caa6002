"""Every option changes a search, or is declared to have no effect: for each rule and driver."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kibitz.jit.compile import COMPILED
from kibitz.nets.evaluators.inline import inline_evaluator
from kibitz.search.method import why_without_effect, without_effect
from kibitz.search.options import DRIVERS, OPTIONS, Settings
from research.ablations.options import (
    FAILED,
    KINDS,
    PROBES,
    TABLE_MARK,
    TREE_OPTIONS,
    Row,
    base_of,
    observed,
    page_table,
    table,
    try_options,
)
from tests.search.hashed import HASHED

SYZYGY = Path(__file__).parents[1] / "fixtures" / "syzygy"


def test_every_option_is_tried() -> None:
    assert set(PROBES) | {"search_rule"} == {row.name for row in TREE_OPTIONS}


@pytest.mark.skipif(not COMPILED, reason="thousands of searches")
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind != "puct")) for kind in KINDS]
)
def test_every_option_changes_a_search_or_says_that_it_does_not(kind: str) -> None:
    rows = [*try_options(inline_evaluator(HASHED), (kind,), tables=str(SYZYGY))]
    assert [row for row in rows if row.outcome in FAILED] == []
    outcomes = Counter(row.outcome for row in rows)
    assert len(rows) == len(DRIVERS) * len(TREE_OPTIONS)
    assert min(outcomes["changes"], outcomes["no effect"]) > 40
    assert outcomes["not tried"] == 0
    assert {row.option for row in rows if row.outcome == "refused"} <= {"ScLimit"}


@pytest.mark.skipif(not COMPILED, reason="many searches")
def test_what_is_missing_without_another_option_is_missing_indeed() -> None:
    evaluator, base = inline_evaluator(HASHED), base_of("puct", "inline")
    tried = 0
    for parameter in OPTIONS:
        probe = PROBES.get(parameter.name)
        if probe is None or not parameter.where.need.names:
            continue
        changed = base.with_(**{parameter.name: probe.value})
        if why_without_effect(parameter, changed, batched=False):
            plain = probe._replace(given={})
            before = observed(evaluator, base, plain, "inline")
            assert observed(evaluator, changed, plain, "inline") == before, parameter.uci
            tried += 1
    assert tried > 10


def test_the_page_shows_what_the_rows_say() -> None:
    # After a change: python -m research.ablations.options research/README.md
    page = Path(__file__).parents[2] / "research" / "README.md"
    assert page.read_text(encoding="utf-8").split(TABLE_MARK)[1] == page_table()


def test_without_tables_their_options_are_not_tried() -> None:
    syzygy = tuple(row for row in OPTIONS if row.uci.startswith("Syzygy"))
    rows = [*try_options(inline_evaluator(HASHED), ("puct",), syzygy)]
    assert {row.outcome for row in rows} == {"not tried"}


def test_the_table_shows_drivers_by_rule() -> None:
    rows = [
        Row("CPuct", "puct", "inline", "changes", "tree"),
        Row("CPuct", "puct", "batched", "changes", "tree"),
        Row("CPuct", "gumbel", "inline", "no effect", "with SearchRule gumbel"),
        Row("CPuct", "sble", "inline", "silent", ""),
        Row("CPuct", "azero", "threads", "not tried", ""),
    ]
    cells = dict(zip(("option", *KINDS), table(rows)[0], strict=True))
    assert cells["option"] == "CPuct"
    assert [cells[kind] for kind in ("puct", "azero", "sble", "gumbel")] == ["1b", "?", "!", "-"]


@pytest.mark.parametrize(
    ("changes", "batched", "line"),
    [
        ({"search_rule": "sble", "fpu": "win"}, False, "FpuStrategy .* with SearchRule sble"),
        ({"bestfirst_batch": 8}, False, "BestFirstBatch .* without Search bestfirst"),
        ({"search": "bestfirst", "cpuct": 3.0}, True, "CPuct .* with Search bestfirst"),
        ({"search": "alphabeta"}, True, "Search .* with a network that is asked in batches"),
        ({"search": "alphabeta", "cpuct": 3.0}, False, "CPuct .* with Search alphabeta"),
        ({"threads": 4}, True, "Threads .* with a network that is asked in batches"),
        ({"minibatch_size": 8}, False, "MinibatchSize .* with one thread"),
        ({"threads": 2, "minibatch_size": 8}, False, "MinibatchSize .* with several threads"),
        ({"sc_negative": True}, False, "ScNegative .* without ScLimit"),
        ({"root_cpuct": 3.0}, False, "CPuctAtRoot .* without RootHasOwnCPuctParams"),
        ({"average_cap": 5.0}, False, "MovingAverageCap .* without ValueAverage moving"),
        ({"temp_endgame": 1.0}, False, "TempEndgame .* without TempCutoffMove or TempDecayMoves"),
    ],
)
def test_options_without_effect_are_named(
    changes: dict[str, object], batched: bool, line: str
) -> None:
    settings = Settings().with_(**changes)  # type: ignore[arg-type]
    (found,) = without_effect(settings, Settings(), batched=batched)
    assert found == line.replace(".*", "has no effect")
