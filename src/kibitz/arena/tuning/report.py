"""How a tuning stands: rows, verdict, settings as TOML, and one HTML file with figures."""

from __future__ import annotations

import math
from dataclasses import replace
from html import escape
from typing import Any, NamedTuple

import msgspec

from kibitz.arena.tuning.config import Parameter, Values, as_toml, centre
from kibitz.arena.tuning.loop import Confirmation, best_of, confirmation_of, defaults_of, ranked
from kibitz.arena.tuning.study import Model, Study, Trial
from kibitz.core.files import write_bytes
from kibitz.train.curve import COLOURS, Line, Panel, draw, picture

PAGE, FIGURES, PICTURE = "report.html", "figures.svg", "figures.png"
SHOWN = 10  # trials in a table, the best


class Standing(NamedTuple):
    """How a tuning stands."""

    done: int
    going: int
    best: Values | None
    confirmation: Confirmation | None
    verdict: str
    toml: str
    rows: list[tuple[Trial, float, float]]  # with mean and deviation of the model, best first
    model: Model | None
    shares: list[float]  # of the model's variance, by parameter


def standing(study: Study) -> Standing:
    """Read how a tuning stands."""
    trials, best = study.trials(), best_of(study)
    rows, model = ranked(study)
    confirmation = confirmation_of(study.root, best)
    verdict = verdict_text(best, best == defaults_of(study), confirmation)
    if rows and best is None:
        verdict = "all trainings diverged"
    return Standing(
        done=len(rows),
        going=len(trials) - len(rows),
        best=best,
        confirmation=confirmation,
        verdict=verdict,
        toml="" if best is None else f"# {verdict}\n{as_toml(study.parameters, best)}",
        rows=rows,
        model=model,
        shares=[] if model is None else model.shares(),
    )


def verdict_text(best: Values | None, same: bool, confirmation: Confirmation | None) -> str:
    """What is known of the best values; without a match that says so they are no improvement."""
    if best is None:
        return "nothing measured yet"
    if same:
        return "nothing better than the defaults was found"
    if confirmation is None:
        return "not confirmed: no match against the defaults was played"
    words = {"H1": "confirmed", "H0": "rejected", None: "not confirmed"}[confirmation.accepted]
    verdict = "accepted" if confirmation.accepted else "undecided"
    games = f"{confirmation.elo} Elo in {confirmation.games} games"
    return f"{words}: {games}; {confirmation.test}, {verdict}"


def facts(study: Study, state: Standing) -> dict[str, Any]:
    """All of it for programs."""
    return {
        "folder": str(study.root),
        "settings": study.tuning.__dict__,
        "trials": [
            {
                "trial": trial.place + 1,
                **trial.values,
                **trial.measured._asdict(),
                "model": [mean, error],
            }
            for trial, mean, error in state.rows
            if trial.measured is not None
        ],
        "going_on": state.going,
        "best": state.best,
        "importance": dict(
            zip((parameter.name for parameter in study.parameters), state.shares, strict=False)
        ),
        "confirmation": None
        if state.confirmation is None
        else msgspec.to_builtins(state.confirmation),
        "verdict": state.verdict,
        "toml": state.toml,
    }


def table(study: Study, state: Standing) -> tuple[list[str], list[list[Any]]]:
    """Headings and rows of the best trials; of spsa the last ones."""
    names = [parameter.name for parameter in study.parameters]
    rows = state.rows
    if study.tuning.method == "spsa":
        rows = sorted(rows, key=lambda row: -row[0].place)
    listed = [
        [
            trial.place + 1,
            *(f"{trial.values[name]:g}" for name in names),
            f"{trial.measured.value:.4g} +/- {trial.measured.error:.2g}",
            f"{mean:.4g} +/- {deviation:.2g}",
            trial.measured.text,
        ]
        for trial, mean, deviation in rows[:SHOWN]
        if trial.measured is not None
    ]
    return ["trial", *names, study.tuning.metric, "model", ""], listed


# --- the page -------------------------------------------------------------------------------------


def write_page(study: Study, state: Standing) -> None:
    """Write report.html, which needs no other file, and its figures by themselves."""
    panels, legend = figures(study, state)
    drawn = draw(panels, legend) if panels else ""
    headings, rows = table(study, state)
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    shares = "".join(
        f"<tr><td>{escape(parameter.name)}</td><td><meter value='{share:.3f}'></meter></td>"
        f"<td>{share:.0%}</td></tr>"
        for parameter, share in zip(study.parameters, state.shares, strict=False)
    )
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Tuning</title>",
        "<style>body{font:15px sans-serif;margin:2em}td,th{padding:.2em .8em;text-align:right}",
        "pre{background:#eee;padding:1em}</style>",
        f"<h1>{escape(study.root.resolve().name)}</h1><p>{state.done} of {study.tuning.trials} ",
        f"trials by {study.tuning.method}, {escape(study.tuning.player)}</p>",
        f"<p><b>{escape(state.verdict)}</b></p><pre>{escape(state.toml)}</pre>",
        f"<h2>Trials</h2><table><tr>{head}</tr>{body}</table>",
        f"<h2>Importance</h2><p>Share of the model's variance that each parameter explains by "
        f"itself.</p><table>{shares}</table>"
        if shares
        else "",
        f"<h2>History and partial dependence</h2>{drawn}</html>",
    ]
    if drawn:
        write_bytes(study.root / FIGURES, drawn.encode())
        write_bytes(study.root / PICTURE, picture(panels, legend))
    write_bytes(study.root / PAGE, "".join(parts).encode())


def figures(study: Study, state: Standing) -> tuple[list[Panel], list[tuple[str, str]]]:
    """The measurements in their order, and what each parameter does; with the legend."""
    if not all(math.isfinite(mean) for _, mean, _ in state.rows) or not state.rows:
        return [], []  # nothing is measured, or all trainings diverged
    if study.tuning.method == "spsa":
        return [_path(study, state, parameter) for parameter in study.parameters], []
    panels = [_history(study, state)]
    if state.model is not None:
        for at, (parameter, share) in enumerate(zip(study.parameters, state.shares, strict=True)):
            curve = _dependence(study, state.model, at, parameter)
            panels.append(replace(curve, title=f"{curve.title}, importance {share:.0%}"))
    return panels, [("measured", COLOURS[5]), ("model's mean, best so far", COLOURS[0])]


def _history(study: Study, state: Standing) -> Panel:
    rows = sorted(state.rows, key=lambda row: row[0].place)
    points = [
        (float(trial.place + 1), trial.measured.value) for trial, _, _ in rows if trial.measured
    ]
    errors = tuple(trial.measured.error for trial, _, _ in rows if trial.measured)
    pick = min if study.tuning.lower else max
    means = [mean for _, mean, _ in rows]
    best = [(at, pick(means[: number + 1])) for number, (at, _) in enumerate(points)]
    lines = [Line(points, COLOURS[5], errors=errors, joined=False), Line(best, COLOURS[0])]
    return Panel(study.tuning.metric, lines, "trial")


def _dependence(study: Study, model: Model, place: int, parameter: Parameter) -> Panel:
    grid, means, deviations = model.curve(place)
    at = [float(parameter.at(part)) for part in grid.tolist()]
    lines = [
        Line([*zip(at, (means + side * deviations).tolist(), strict=True)], colour)
        for side, colour in ((-1.0, COLOURS[7]), (1.0, COLOURS[7]), (0.0, COLOURS[0]))
    ]
    return Panel(
        f"{study.tuning.metric} by {parameter.name}", lines, parameter.name, from_zero=False
    )


def _path(study: Study, state: Standing, parameter: Parameter) -> Panel:
    """Where spsa has been."""
    scores = {row.place: row.measured.value for row, _, _ in state.rows if row.measured}
    upto = [
        centre(study.tuning, study.parameters, {k: scores[k] for k in sorted(scores)[:number]})
        for number in range(len(scores) + 1)
    ]
    points = [(float(number), at[parameter.name]) for number, at in enumerate(upto)]
    return Panel(parameter.name, [Line(points, COLOURS[0])], "iteration")
