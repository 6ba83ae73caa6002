"""`python -m research.ablations`: what the switches and options of the search are worth."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from kibitz.arena.match.elo import Tally, of_games
from kibitz.cli.learn.train import torch_needed
from kibitz.cli.output import EXIT_STOPPED, JsonFlag, NetworkFlag, at_least, columns, emit
from kibitz.core.errors import InputError, did_you_mean
from kibitz.core.log import graceful_stop, progress, say
from kibitz.engine.options import AUTODISCOVER, chosen
from kibitz.nets.discover import named
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.nets.load import load_evaluator
from research.ablations import options
from research.ablations.mates import LADDER, Row, ablate, read_problems, variants
from research.command import carry_out

app = App(
    name="ablations",
    help="Searches and trainings with and without a part.",
    result_action="return_value",
)


@app.command(name="mates")
def mates_command(
    suite: Annotated[Path, Parameter(help="EPD file of mates (bm #n or dm n).")],
    *,
    limit: Annotated[int, Parameter(help="So many positions, spread over the file.")] = 100,
    nodes: Annotated[int, Parameter(help="The last rung of the ladder of nodes.")] = LADDER[-1],
    network: NetworkFlag = "material",
    ask: Annotated[bool, Parameter(help="Ask for the mate, as `go mate n` does.")] = False,
    variant: Annotated[tuple[str, ...], Parameter(help="Only these variants.")] = (),
    json: JsonFlag = False,
) -> int:
    """Solve mates with switches of the search on and off: share solved, nodes to solve."""
    table = variants()
    for name in variant:
        if name not in table:
            raise InputError("no such variant", value=name, fix=did_you_mean(name, table))
    ladder = (*(rung for rung in LADDER if rung < nodes), nodes)
    if limit < 1 or nodes < LADDER[0]:
        raise InputError("--limit at least 1, --nodes at least 100", value=(limit, nodes))
    what = chosen(network)
    evaluator = load_evaluator(what)
    if not isinstance(evaluator, InlineEvaluator):
        raise InputError("not an inline evaluator", value=network, fix="give a sparse network")
    problems = read_problems(suite, limit)
    names = variant or tuple(table)
    with progress("ablate", total=len(names)) as bar, graceful_stop() as stop:
        rows = list(bar.over(ablate(problems, evaluator, names, ladder, ask=ask), stop))
    _print(named(what), rows, len(problems), ladder, json)
    if len(rows) < len(names):
        say("stopped before every variant had its turn")
        return EXIT_STOPPED
    return 0


@app.command(name="options")
def options_command(
    *,
    network: NetworkFlag = AUTODISCOVER,
    syzygy: Annotated[str, Parameter(help="Folder of three-men tables, for their options.")] = "",
    json: JsonFlag = False,
) -> int:
    """Try every option of the search with every rule: where it changes a search, where it cannot.

    1: with one thread, 2: with two threads, b: in batches, -: nowhere, and the engine says so,
    x: refused, ?: not tried, for want of tables, !: without effect and without a warning.
    """
    what = chosen(network)
    evaluator = load_evaluator(what)
    rows: list[options.Row] = []
    with progress("options", total=len(options.KINDS)) as bar, graceful_stop() as stop:
        for kind in bar.over(options.KINDS, stop):
            rows += options.try_options(evaluator, (kind,), tables=syzygy)
    listed = [row._asdict() for row in rows]
    shown = columns(("option", *options.KINDS), options.table(rows))
    emit({"network": named(what), "rows": listed}, as_json=json, table=shown)
    for row in rows:
        if row.outcome in options.FAILED:
            say(f"{row.option}: {row.outcome} ({row.rule}, {row.driver}) {row.why}")
    untried = sum(row.outcome == "not tried" for row in rows)
    if untried:
        say(f"{untried} of {len(rows)} not tried, for want of tablebases: give --syzygy")
    if stop.requested:
        return EXIT_STOPPED
    return 1 if any(row.outcome in options.FAILED for row in rows) else 0


@app.command(name="from-zero")
def from_zero_command(
    folder: Annotated[Path, Parameter(help="Where both runs live, and the curve.")],
    *,
    arms: Annotated[
        tuple[str, str],
        Parameter(help="Two of temperature, contempt, gumbel, puct, or TOML files."),
    ] = ("temperature", "contempt"),
    generations: Annotated[int, Parameter(help="Networks that each arm trains.")] = 6,
    evaluations: Annotated[int, Parameter(help="Playouts of each arm and generation.")] = 2_000_000,
    more: Annotated[
        list[str] | None, Parameter(name="--set", help="Any setting of both, table.key=value.")
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Let two arms learn from nothing at equal evaluations, with the same seeds; compare them.

    The same command goes on with what is there.
    """
    at_least(1, generations=generations, evaluations=evaluations)
    with torch_needed():
        from research.ablations.arms import begin, compare, points_of
    both = begin(folder, arms, [f"learn.evaluations={evaluations}", *(more or [])])
    with graceful_stop() as stop:
        finished = compare(folder, both, generations, stop)
    points, _ = points_of(folder, both)
    first, second = (arm.name for arm in both)
    headings = ("generation", "evaluations", first, second, f"{first} v {second}", "Elo of that")
    rows = []
    for point in points:
        ratings = (
            f"{elo:+.0f} +/- {error:.0f}" for elo, error in zip(point.elo, point.error, strict=True)
        )
        tally = Tally(*point.between)
        estimate = of_games(tally).text(0)
        rows.append((point.generation, max(point.evaluations), *ratings, tally.text, estimate))
    listed = [{"arms": [first, second], **point._asdict()} for point in points]
    emit({"points": listed}, as_json=json, table=columns(headings, rows))
    return 0 if finished else EXIT_STOPPED


def _print(
    network: str, rows: list[Row], problems: int, ladder: tuple[int, ...], json: bool
) -> None:
    listed = [
        {
            "variant": row.variant,
            "solved": row.solved,
            "announced": row.announced,
            "problems": row.problems,
            "share": row.solved / row.problems,
            "share_interval": list(row.share),
            "nodes": None if math.isnan(row.nodes[0]) else row.nodes[0],
            "nodes_interval": None if math.isnan(row.nodes[0]) else list(row.nodes[1:]),
            "differs": row.differs,
        }
        for row in rows
    ]
    shown = [
        (
            row.variant,
            f"{row.solved}/{row.problems}",
            row.announced,
            f"{100 * row.share[0]:.0f}-{100 * row.share[1]:.0f} %",
            f"{row.nodes[0]:.0f}",
            f"{row.nodes[1]:.0f}-{row.nodes[2]:.0f}",
            "" if row.differs is None else row.differs,
        )
        for row in rows
    ]
    headings = ("variant", "solved", "announced", "95 %", "nodes to solve", "95 %", "differs")
    table = columns(headings, shown, title=f"{network}: {problems} mates, up to {ladder[-1]} nodes")
    emit({"network": network, "ladder": list(ladder), "rows": listed}, as_json=json, table=table)


if __name__ == "__main__":
    sys.exit(carry_out(app))
