"""`kibitz experiment`: questions about search, each answered by a table with intervals."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from kibitz.arena.match.elo import Tally, of_games
from kibitz.cli.learn.train import torch_needed
from kibitz.cli.output import EXIT_STOPPED, JsonFlag, NetworkFlag, at_least, columns, emit
from kibitz.core.errors import InputError, did_you_mean
from kibitz.core.log import graceful_stop, progress, say
from kibitz.core.settings import load
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER, chosen
from kibitz.experiments import options
from kibitz.experiments.ablate import LADDER, Row, ablate, read_problems, variants
from kibitz.experiments.balance import (
    DEPTHS,
    Controller,
    Repeats,
    Temperature,
    Wdl,
    counted,
    repeats,
)
from kibitz.experiments.cells import Laboratory, estimates
from kibitz.experiments.contests import Compare, Match, Odds
from kibitz.experiments.counts import Moves, of_pgn
from kibitz.experiments.plan import Findings, Plan, caption, keep, result, with_forfeits
from kibitz.experiments.scale import Judgement, bins_of, judged, questions_of
from kibitz.nets.discover import named
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.nets.load import load_evaluator

if TYPE_CHECKING:
    from rich.console import RenderableType

experiment = App(
    name="experiment", help="Answer a question by experiment.", result_action="return_value"
)


@experiment.command(name="ablate")
def ablate_command(
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
    known = variants()
    for name in variant:
        if name not in known:
            raise InputError("no such variant", value=name, fix=did_you_mean(name, known))
    ladder = (*(rung for rung in LADDER if rung < nodes), nodes)
    if limit < 1 or nodes < LADDER[0]:
        raise InputError("--limit at least 1, --nodes at least 100", value=(limit, nodes))
    what = chosen(network)
    evaluator = load_evaluator(what)
    if not isinstance(evaluator, InlineEvaluator):
        raise InputError("not an inline evaluator", value=network, fix="give a sparse network")
    problems = read_problems(suite, limit)
    names = variant or tuple(known)
    with progress("ablate", total=len(names)) as bar, graceful_stop() as stop:
        rows = list(bar.over(ablate(problems, evaluator, names, ladder, ask=ask), stop))
    _print(named(what), rows, len(problems), ladder, json)
    if len(rows) < len(names):
        say("stopped before every variant had its turn")
        return EXIT_STOPPED
    return 0


@experiment.command(name="options")
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


@experiment.command(name="from-zero")
def from_zero_command(
    folder: Annotated[Path, Parameter(help="Where both runs live, and the curve.")],
    *,
    arms: Annotated[
        tuple[str, str], Parameter(help="Two of temperature, contempt, gumbel, or TOML files.")
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
        from kibitz.experiments.arms import begin, compare, points_of
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
        found = of_games(tally).text(0)
        rows.append((point.generation, max(point.evaluations), *ratings, tally.text, found))
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


# --- games that are played and counted ------------------------------------------------------------

PLANS: tuple[type[Plan], ...] = (Wdl, Temperature, Repeats, Match, Odds, Controller, Compare)


def _command_of(kind: type[Plan]) -> Callable[..., int]:
    """The command that runs experiments of one kind."""

    def experiment_command(
        plan: Annotated[Path | None, Parameter(help="TOML file with keys of the plan.")] = None,
        *,
        folder: Annotated[Path, Parameter(help="For games and results.")] = Path("experiments"),
        more: Annotated[
            list[str] | None, Parameter(name="--set", help="A key of the plan, as KEY=VALUE.")
        ] = None,
        dry_run: Annotated[
            bool, Parameter(help="Only say what there is to play, and how long.")
        ] = False,
        json: JsonFlag = False,
    ) -> int:
        """The same command goes on with the games that are there."""
        planned = load(kind, plan, overrides=more or ())
        if dry_run:
            return _estimate(planned, folder, json)
        changes = [word for text in more or () for word in ("--set", text)]
        file = [] if plan is None else [str(plan)]
        return _run(
            planned, folder, shlex.join(["kibitz", "experiment", kind.name, *file, *changes]), json
        )

    return experiment_command


for _kind in PLANS:
    experiment.command(_command_of(_kind), name=_kind.name, help=_kind.about)


def _run(plan: Plan, folder: Path, command: str, json: bool) -> int:
    """Play what is missing, then print and keep the results of what is there."""
    total = sum(cell.games for cell in plan.cells())
    with graceful_stop() as stop, progress(plan.name, total=total) as bar:
        laboratory = Laboratory(folder, stop, bar.advance)
        findings = with_forfeits(plan, laboratory, plan.find(laboratory))
    keep(folder, plan, command, findings)
    shown = _shown(findings, caption(plan, command))
    emit(result(plan, command, findings), as_json=json, table=shown)
    say(f"games, {plan.name}.json and {plan.name}.svg are in {folder}")
    return EXIT_STOPPED if stop.requested else 0


def _shown(findings: Findings, below: Sequence[str]) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    lines = (Text(line) for line in (*findings.lines, *below))
    return Group(columns(findings.headings, findings.rows), *lines)


def _estimate(plan: Plan, folder: Path, json: bool) -> int:
    with graceful_stop() as stop:
        found = estimates(plan.cells(), Laboratory(folder, stop))
    rows = [(one.cell, one.games, one.nodes, f"{one.hours:.2f}") for one in found]
    games, nodes = sum(one.games for one in found), sum(one.nodes for one in found)
    hours = sum(one.hours for one in found)
    headings = ("to be played", "games", "nodes", "hours")
    table = columns(headings, [*rows, ("all", games, nodes, f"{hours:.2f}")])
    listed = [one._asdict() for one in found]
    emit(
        {"cells": listed, "games": games, "nodes": nodes, "hours": hours}, as_json=json, table=table
    )
    return 0


@experiment.command(name="count")
def count_command(
    *files: Annotated[Path, Parameter(help="PGN files of any program.")],
    depth: Annotated[tuple[int, ...], Parameter(help="Moves to compare beginnings at.")] = DEPTHS,
    json: JsonFlag = False,
) -> int:
    """Count the games of PGN files: results, decided games for each draw, repeated beginnings."""
    at_least(1, depth=min(depth, default=1))
    if not files:
        raise InputError("no file", fix="name PGN files with results")
    played: dict[str, list[Moves]] = {}
    stems = Counter(path.stem for path in files)
    for path in files:
        name = path.stem if stems[path.stem] == 1 else str(path)
        if name in played:
            raise InputError("a file that is named twice", value=name, fix="name it once")
        played[name] = of_pgn(path)
        if not played[name]:
            raise InputError("no finished game", value=str(path), fix="name PGN files with results")
    found, begun = counted(played), repeats(played, depth)
    facts = {"results": found.facts, "repeats": begun.facts}
    from rich.console import Group

    emit(facts, as_json=json, table=Group(_shown(found, ()), _shown(begun, ())))
    return 0


@experiment.command(name="scale")
def scale_command(
    *files: Annotated[Path, Parameter(help="PGN files with scores, as kibitz match writes them.")],
    json: JsonFlag = False,
) -> int:
    """Compare centipawns with results: ten bins of what games came to, and what was promised."""
    bins = bins_of(files)
    headings = ("from", "positions", "games", "mean", "expected", "scored", "95 %", "to win", "won")
    rows = []
    for one in bins:
        shares = (f"{share:.3f}" for share in one[4:])
        rows.append((one.low, one.positions, one.games, f"{one.centipawns:.0f}", *shares))
    emit({"rows": [one._asdict() for one in bins]}, as_json=json, table=columns(headings, rows))
    return 0


@experiment.command(name="judgement")
def judgement_command(
    file: Annotated[Path, Parameter(help="ChessQA's position_judgement.jsonl.")],
    *,
    nodes: Annotated[int, Parameter(help="Nodes for each position.")] = 50_000,
    network: NetworkFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Answer ChessQA's Position Judgements by the option nearest to the centipawns of a search."""
    at_least(1, nodes=nodes)
    questions = questions_of(file)
    shown = progress("judgement", total=len(questions))
    with Engine(chosen(network)) as engine, shown as bar, graceful_stop() as stop:
        answers = list(bar.over((judged(engine, one, nodes) for one in questions), stop))
    right = sum(one.right for one in answers)
    options = sorted({one.answer for one in answers})
    rows = [(at, *_right_of([one for one in answers if one.answer == at])) for at in options]
    facts = {
        "network": named(chosen(network)),
        "nodes": nodes,
        "questions": len(answers),
        "right": right,
        "rows": [one._asdict() for one in answers],
    }
    below = ("all", right, len(answers))
    emit(facts, as_json=json, table=columns(("answer", "right", "of"), [*rows, below]))
    return EXIT_STOPPED if stop.requested else 0


def _right_of(answers: Sequence[Judgement]) -> tuple[int, int]:
    return sum(one.right for one in answers), len(answers)
