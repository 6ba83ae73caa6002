"""`kibitz suite`: test suites in EPD, solved in parallel, with points, nodes required and rating.

match room -> **command line**
"""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.commands.output import JsonFlag, columns, emit
from kibitz.errors import InputError
from kibitz.files import write_bytes
from kibitz.log import Level, Stop, graceful_stop, progress, say
from kibitz.match.control import Control
from kibitz.match.runner import try_out
from kibitz.match.spec import Spec, parse_player
from kibitz.match.suites import Outcome, positions_of, run_suite, summary
from kibitz.position.epd import Epd

EXIT_STOPPED = 130
DEFAULT_NODES = 10_000


def suite(
    *files: Annotated[Path, Parameter(help="EPD files.")],
    player: Annotated[
        str, Parameter(name=["--player", "--network"], help="A network, or as in kibitz match.")
    ] = "kibitz",
    nodes: Annotated[int | None, Parameter(help="For each position; by default 10000.")] = None,
    time: Annotated[int | None, Parameter(help="Milliseconds for each position.")] = None,
    limit: Annotated[int | None, Parameter(help="Only the first positions of a file.")] = None,
    early: Annotated[
        bool, Parameter(help="End a search once the solution stands.", negative="")
    ] = False,
    failure_nodes: Annotated[
        int, Parameter(help="Nodes required of a position that was not solved.")
    ] = 0,
    concurrency: Annotated[int, Parameter(help="Positions at the same time.")] = 1,
    out: Annotated[Path | None, Parameter(help="Write every position's result as JSON.")] = None,
    json: JsonFlag = False,
) -> int:
    """Solve suites of positions: points, solved, nodes required, and a rating for STS."""
    if not files:
        raise InputError("no suite", fix="name EPD files")
    for name, value in (("--concurrency", concurrency), ("--limit", limit)):
        if value is not None and value < 1:
            raise InputError(name, value=value, fix="give 1 or more")
    if failure_nodes < 0:
        raise InputError("--failure-nodes", value=failure_nodes, fix="give 0 or more")
    spec = parse_player(player)
    control = spec.control or Control(movetime=time, nodes=nodes)
    if not control.limited:
        control = Control(nodes=DEFAULT_NODES)
    suites = {path: positions_of(path, limit) for path in files}
    try_out([spec])
    with graceful_stop() as stop:
        found = {
            path: _solve(path, epds, spec, control, concurrency, early, stop)
            for path, epds in suites.items()
        }
    result = {
        "player": player,
        **spec.facts(),
        "control": str(control),
        "early": early,
        "failure_nodes": failure_nodes,
        "suites": [_summed(path, outcomes, failure_nodes) for path, outcomes in found.items()],
    }
    _show(result, json)  # before the file, which may be refused: results are not lost then
    if out is not None:
        details = {str(path): [one._asdict() for one in rows] for path, rows in found.items()}
        write_bytes(out, jsonlib.dumps({**result, "positions": details}, indent=1).encode())
    return EXIT_STOPPED if stop.requested else 0


def _solve(
    path: Path,
    epds: list[Epd],
    spec: Spec,
    control: Control,
    concurrency: int,
    early: bool,
    stop: Stop,
) -> list[Outcome]:
    with progress(path.name, total=len(epds)) as bar:

        def advance(outcome: Outcome) -> None:
            bar.advance()
            what = outcome.fault or f"{outcome.move} {outcome.points}/{outcome.best}"
            say(f"{outcome.name}: {what}", Level.NORMAL if outcome.fault else Level.VERBOSE)

        return run_suite(
            epds, spec, control, concurrency=concurrency, early=early, stop=stop, advance=advance
        )


def _summed(path: Path, outcomes: list[Outcome], failure_nodes: int) -> dict[str, Any]:
    found = summary(outcomes, failure_nodes)
    rating = found.rating
    return {
        "suite": path.name,
        **found._asdict(),
        "rating": None if rating is None else round(rating, 1),
    }


def _show(result: dict[str, Any], json: bool) -> None:
    if json:
        emit(result, as_json=True)
        return
    rows = [
        [
            one["suite"],
            f"{one['solved']}/{one['positions']}",
            f"{one['points']}/{one['most']}",
            one["required"],
            one["failed"],
            one["faults"],
            f"{one['milliseconds'] / 1000:.1f}",
            "" if one["rating"] is None else f"{one['rating']:.0f}",
        ]
        for one in result["suites"]
    ]
    required, failed, rating = "nodes\nrequired", "failure\nnodes", "STS\nrating"
    headings = ("suite", "solved", "points", required, failed, "faults", "s", rating)
    emit({}, as_json=False, table=columns(headings, rows, _title(result)))


def _title(result: dict[str, Any]) -> str:
    """Who solved it with which network and limits, and what a failure counts."""
    network = f"network {result['network']}, " if result["network"] else ""
    title = f"{result['player']}: {network}{result['control']}"
    if result["failure_nodes"]:
        title += f"\n{result['failure_nodes']:,} nodes required of a position not solved"
    return title
