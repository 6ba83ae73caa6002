"""`kibitz suite` and `kibitz technique`: positions with a known answer, solved and played out."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.arena.match.game import Aborted, Control
from kibitz.arena.match.runner import try_out
from kibitz.arena.match.spec import Spec, parse_player
from kibitz.arena.match.suites import (
    ENDINGS,
    EndgameResult,
    Outcome,
    run_suite,
    run_technique,
    suite_of,
    summary,
)
from kibitz.cli.output import (
    EXIT_STOPPED,
    JsonFlag,
    PlayerFlag,
    at_least,
    columns,
    emit,
    refuse_twins,
)
from kibitz.core.errors import InputError
from kibitz.core.files import measured, refuse_folder, write_bytes
from kibitz.core.log import Level, Stop, graceful_stop, progress, say
from kibitz.core.provenance import described
from kibitz.position.epd import Epd

# --- suite ----------------------------------------------------------------------------------------

DEFAULT_NODES = 10_000


def suite(
    *files: Annotated[Path, Parameter(help="EPD files.")],
    player: PlayerFlag = "kibitz",
    nodes: Annotated[int | None, Parameter(help="For each position; by default 10000.")] = None,
    time: Annotated[int | None, Parameter(help="Milliseconds for each position.")] = None,
    limit: Annotated[int | None, Parameter(help="Only the first positions of a file.")] = None,
    early: Annotated[bool, Parameter(help="End a search once the solution stands.")] = False,
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
    refuse_twins("suites", [str(path) for path in files], "name it once")
    at_least(1, concurrency=concurrency, limit=limit)
    at_least(0, failure_nodes=failure_nodes)
    spec = parse_player(player)
    at_least(1, time=time, nodes=nodes)
    control = spec.control or Control(movetime=time, nodes=nodes)
    if not control.limited:
        control = Control(nodes=DEFAULT_NODES)
    if out is not None:
        refuse_folder(out)
    suites = {path: suite_of(path, limit) for path in files}
    try_out([spec])
    for path, each in suites.items():
        say_skipped(path.name, each.skipped)
    with graceful_stop() as stop:
        outcomes = {
            path: _solve(path, each.positions, spec, control, concurrency, early, stop)
            for path, each in suites.items()
        }
    result = {
        "player": player,
        **spec.facts(),
        "control": str(control),
        "early": early,
        "failure_nodes": failure_nodes,
        "suites": [
            {**_summed(path, results, failure_nodes), "skipped": suites[path].skipped}
            for path, results in outcomes.items()
        ],
    }
    _show(result, json)  # before the file, which may be refused: results are not lost then
    if out is not None:
        details = {
            str(path): [_of_file(row._asdict()) for row in rows] for path, rows in outcomes.items()
        }
        totals = [_of_file(row) for row in result["suites"]]
        whole = described({**result, "suites": totals, "positions": details})
        write_bytes(out, jsonlib.dumps(whole, indent=1).encode())
    return EXIT_STOPPED if stop.requested else 0


def _of_file(row: dict[str, Any]) -> dict[str, Any]:
    """A row as files have it, whose time was measured."""
    return {**row, "milliseconds": measured(row["milliseconds"])}


def say_skipped(name: str, skipped: int) -> None:
    """Say how many positions of a suite are left out, if any are."""
    if skipped:
        say(f"{name}: positions left out, as they have no bm, am or points: {skipped}")


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
    totals = summary(outcomes, failure_nodes)
    rating = totals.rating
    return {
        "suite": path.name,
        **totals._asdict(),
        "rating": None if rating is None else round(rating, 1),
    }


def _show(result: dict[str, Any], json: bool) -> None:
    rows = [
        [
            summary["suite"],
            f"{summary['solved']}/{summary['positions']}",
            f"{summary['points']}/{summary['most']}",
            summary["required"],
            summary["failed"],
            summary["faults"],
            f"{summary['milliseconds'] / 1000:.1f}",
            "" if summary["rating"] is None else f"{summary['rating']:.0f}",
        ]
        for summary in result["suites"]
    ]
    required, failed, rating = "nodes\nrequired", "failure\nnodes", "STS\nrating"
    headings = ("suite", "solved", "points", required, failed, "faults", "s", rating)
    emit(result, as_json=json, table=columns(headings, rows, _title(result)))


def _title(result: dict[str, Any]) -> str:
    """Who solved it with which network and limits, and what a failure counts."""
    network = f"network {result['network']}, " if result["network"] else ""
    title = f"{result['player']}: {network}{result['control']}"
    if result["failure_nodes"]:
        title += f"\n{result['failure_nodes']:,} nodes required of a position not solved"
    return title


# --- technique ------------------------------------------------------------------------------------


def technique(
    *endings: Annotated[str, Parameter(help="KQK, KRK, KBNK; by default all.")],
    player: Annotated[
        str,
        Parameter(
            name=["--player", "--network"], help="Has the pieces: a network, or as in kibitz match."
        ),
    ] = "kibitz",
    defender: Annotated[str, Parameter(help="Who has the lonely king.")] = "material",
    games: Annotated[int, Parameter(help="Positions of each ending.")] = 20,
    nodes: Annotated[int | None, Parameter(help="For each move; by default 1000.")] = None,
    movetime: Annotated[int | None, Parameter(help="Milliseconds for each move.")] = None,
    seed: Annotated[int, Parameter(help="Of the positions.")] = 0,
    json: JsonFlag = False,
) -> int:
    """Play won endings from random positions and count the mates before 50 moves are over."""
    at_least(1, games=games)
    specs = parse_player(player), parse_player(defender)
    at_least(1, movetime=movetime, nodes=nodes)
    control = Control(movetime=movetime, nodes=nodes)
    if not control.limited:
        control = Control(nodes=1000)
    chosen = list(dict.fromkeys(name.upper() for name in endings)) or list(ENDINGS)
    try_out(list(specs))
    techniques: list[EndgameResult] = []
    with graceful_stop() as stop, progress("endings", total=games * len(chosen)) as bar:
        try:
            for ending in chosen:
                bar.describe(ending)
                techniques.append(
                    run_technique(
                        ending,
                        *specs,
                        control,
                        tries=games,
                        seed=seed,
                        stop=lambda: stop.requested,
                        on_game=lambda _: bar.advance(),
                    )
                )
        except Aborted:
            pass  # endings that were finished are shown
    about = {
        "player": player,
        **specs[0].facts(),
        "defender": defender,
        "defender_network": specs[1].network,
        "control": str(control),
    }
    _technique_show(about, techniques, json)
    return EXIT_STOPPED if stop.requested else 0


def _technique_show(about: dict[str, Any], techniques: list[EndgameResult], json: bool) -> None:
    listed = [
        {**technique._asdict(), "interval": list(technique.interval)} for technique in techniques
    ]
    shown = [
        [
            technique.ending,
            f"{technique.wins}/{technique.tries}",
            "{:.0%} - {:.0%}".format(*technique.interval),
            "-" if technique.plies is None else f"{technique.plies:.1f}",
            technique.longest,
            technique.forfeits,
            technique.their_forfeits,
        ]
        for technique in techniques
    ]
    others = "longest", "forfeits", "defender's\nforfeits"
    headings = ("ending", "won", "95 % interval", "plies to mate", *others)
    table = columns(headings, shown, _technique_title(about))
    emit({**about, "endings": listed}, as_json=json, table=table)


def _technique_title(about: dict[str, Any]) -> str:
    """Who plays against whom, with which networks and limits."""
    sides = (about["player"], about["network"]), (about["defender"], about["defender_network"])
    named = [f"{name} (network {network})" if network else name for name, network in sides]
    return f"{' vs '.join(named)}, {about['control']}"
