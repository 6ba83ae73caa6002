"""How trainings went: metrics.jsonl and strength reports -> **curves** -> table, figure.

A run is a folder, with all metrics files in it and below it (a cycle has one for each training;
their steps are counted on from one to the next, in the order in which they ran), or one metrics
file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kibitz.errors import DamagedFileError, InputError
from kibitz.files import read_bytes
from kibitz.training.figure import COLOURS, Line, Panel, draw
from kibitz.training.record import DETAILS

METRICS = "metrics.jsonl"
STRENGTH = "strength-*.json"  # not strength.json, which marks a stage
VALIDATION = "validation_"

# What is shown first, in this order; other figures follow by name.
LOSSES = ("total", "value", "policy", "mcts_value", "soft_policy", "moves_left")
FIRST = (*LOSSES, "top1", "top3", "sign", "value_error", "spearman")
NOT_FIGURES = ("step", "time", "validation_positions")

Points = list[tuple[float, float]]
Lines = list[dict[str, Any]]


@dataclass
class Strength:
    """One measurement of playing strength."""

    step: int  # of the whole run
    opponent: str
    score: float  # points of all games, 0 to 1
    elo: float | None  # none if all games were won, or all lost
    low: float | None  # ends of the 95 % interval; then one of them is the bound that is known
    high: float | None
    interval: str | None = None  # how the ends were found, see match/elo.py
    player: str = ""  # empty in old reports, as the limits
    control: str = ""

    @property
    def drawn_at(self) -> float | None:
        """Where a figure has its point: at the difference, else at the bound."""
        known = (self.elo, self.low, self.high)
        return next((value for value in known if value is not None), None)

    @property
    def error(self) -> float:
        """Half of the interval; 0 for a bound."""
        return 0.0 if self.low is None or self.high is None else (self.high - self.low) / 2.0


@dataclass
class Run:
    """The figures of one training, over its steps."""

    name: str
    figures: dict[str, Points] = field(default_factory=dict)
    strength: list[Strength] = field(default_factory=list)
    steps: int = 0


def read_run(location: Path) -> Run:
    """Read everything a run has written so far; it may still be going on."""
    files = [location] if location.is_file() else sorted(location.rglob(METRICS))
    if not files:
        fix = f"name a folder with {METRICS}, as kibitz train writes it"
        raise InputError("no training here", value=str(location), fix=fix)
    root = location.resolve() if location.is_dir() else location.resolve().parent
    run = Run(root.name)
    trainings = {path.resolve(): read_metrics(path) for path in files}
    for path in in_order(trainings, sorted(root.rglob(STRENGTH))):
        if path not in trainings:
            run.strength.append(read_strength(path, run.steps))
            continue
        before = run.steps
        for line in trainings[path]:
            _take(run, line, before)
    return run


def in_order(trainings: Mapping[Path, Lines], reports: list[Path]) -> list[Path]:
    """Return trainings and strength tests in the order in which they ran.

    A training began with its first line. Reports of old have no time: they come after the last
    training beside them.
    """
    keys = {path: (_began(lines), str(path), 0) for path, lines in trainings.items()}
    made = dict(keys)
    for report in reports:
        time = _report(report).get("time")
        if isinstance(time, (int, float)):
            made[report] = (float(time), str(report), 1)
            continue
        beside = [path for path in trainings if path.is_relative_to(report.parent.parent)]
        after, name, _ = max(keys[path] for path in beside or trainings)
        made[report] = (after, name, 1)
    return sorted(made, key=lambda path: made[path])


def _began(lines: Lines) -> float:
    return float(lines[0].get("time", 0.0)) if lines else math.inf


def read_metrics(path: Path) -> Lines:
    """Return the lines of a metrics file; a last one still being written is left out."""
    content = read_bytes(path)
    whole = content[: content.rfind(b"\n") + 1].splitlines()
    return [_decoded(path, number, line) for number, line in enumerate(whole, start=1)]


def _decoded(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise DamagedFileError(f"line {number} is not JSON ({error})", value=str(path)) from error
    if not isinstance(found, dict) or type(found.get("step")) is not int:
        raise DamagedFileError(f"line {number} has no step", value=str(path))
    return found


def _take(run: Run, line: dict[str, Any], before: int) -> None:
    """Add a line of metrics; nan and inf, which are written as texts, are left out."""
    step = before + int(line["step"])
    run.steps = max(run.steps, step)
    for name, value in line.items():
        if name not in NOT_FIGURES and type(value) in (int, float):
            run.figures.setdefault(name, []).append((step, float(value)))


def read_strength(path: Path, step: int) -> Strength:
    """Read a report of a strength test that was made after `step`."""
    found = _report(path)
    try:
        elo, low, high = _ends(found)
        score, interval = float(found["score"]), found.get("interval")
        player, control = (str(found.get(name, "")) for name in ("player", "control"))
        opponent = str(found["opponent"])
        return Strength(step, opponent, score, elo, low, high, interval, player, control)
    except (ValueError, KeyError, TypeError) as error:
        raise _no_report(path, error) from error


def _report(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_bytes(path))
    except ValueError as error:
        raise _no_report(path, error) from error
    if not isinstance(found, dict):
        raise _no_report(path, TypeError(f"{type(found).__name__} instead of an object"))
    return found


def _no_report(path: Path, error: Exception) -> DamagedFileError:
    what = f"not a strength report ({error!r})"
    return DamagedFileError(what, value=str(path), fix="remove it, or test again")


def _ends(found: dict[str, Any]) -> list[float | None]:
    """Elo and the ends of its interval; old reports have half of the interval only."""
    elo, error = found["elo"], found["error"]
    known = elo is not None and error is not None
    ends = {"low": elo - error if known else None, "high": elo + error if known else None}
    named = [elo, *(found.get(name, end) for name, end in ends.items())]
    return [None if value is None else float(value) for value in named]


def names_of(runs: list[Run]) -> list[str]:
    """Return the figures that any of the runs has, training and validation under one name.

    Of the rank correlations only one is shown.
    """
    found = {name.removeprefix(VALIDATION) for run in runs for name in run.figures} - DETAILS
    return [*(name for name in FIRST if name in found), *sorted(found - set(FIRST))]


def tables(run: Run, rows: int) -> list[tuple[str, list[str], list[list[Any]]]]:
    """Return title, headings and rows of what was trained on and of what was held out.

    Each has at most `rows` rows, spread over its steps, the last one always there. Training figures
    are means since the row before; validations are the last ones made.
    """
    names = names_of([run])
    shown = {
        f"{run.name}, training": [name for name in names if name in run.figures],
        f"{run.name}, held-out games": [
            VALIDATION + name for name in names if VALIDATION + name in run.figures
        ],
    }
    return [(title, *_table(run, found, rows)) for title, found in shown.items() if found]


def _table(run: Run, names: list[str], rows: int) -> tuple[list[str], list[list[Any]]]:
    steps = sorted({step for name in names for step, _ in run.figures[name]})
    count = min(rows, len(steps))
    chosen = [steps[len(steps) * (number + 1) // count - 1] for number in range(count)]
    listed, before = [], -1.0
    for step in chosen:
        cells = [_cell(name, run.figures[name], before, step) for name in names]
        listed.append([int(step), *cells])
        before = step
    headings = [name.removeprefix(VALIDATION).replace("_", " ") for name in names]
    return ["step", *headings], listed


def _cell(name: str, points: Points, before: float, step: float) -> float | str:
    inside = [value for at, value in points if before < at <= step]
    if not inside:
        return ""
    return inside[-1] if name.startswith(VALIDATION) else sum(inside) / len(inside)


def figure(runs: list[Run]) -> str:
    """Return an SVG: a panel for each figure, training faint, validation strong, Elo at the end."""
    colours = [COLOURS[number % len(COLOURS)] for number in range(len(runs))]
    panels = []
    for name in names_of(runs):
        lines = []
        for run, colour in zip(runs, colours, strict=True):
            training, validation = run.figures.get(name), run.figures.get(VALIDATION + name)
            if training:
                lines.append(Line(training, colour, faint=bool(validation)))
            if validation:
                lines.append(Line(validation, colour))
        panels.append(Panel(name.replace("_", " "), lines))
    return draw([*panels, *_elo_panels(runs, colours)], [*zip(_names(runs), colours, strict=True)])


def _elo_panels(runs: list[Run], colours: list[str]) -> list[Panel]:
    """Return a panel for each opponent that anybody met."""
    opponents = dict.fromkeys(one.opponent for run in runs for one in run.strength)
    panels = []
    for opponent in opponents:
        lines = []
        for run, colour in zip(runs, colours, strict=True):
            met = [one for one in run.strength if one.opponent == opponent]
            drawn = [(one, at) for one in met if (at := one.drawn_at) is not None]
            points = [(float(one.step), at) for one, at in drawn]
            errors = tuple(one.error for one, _ in drawn)
            if points:
                lines.append(Line(points, colour, errors=errors))
        if lines:
            panels.append(Panel(f"Elo against {opponent}", lines))
    return panels


def _names(runs: list[Run]) -> list[str]:
    """Return the runs' names, numbered where two share one."""
    names = [run.name for run in runs]
    return [
        f"{name} ({number + 1})" if names.count(name) > 1 else name
        for number, name in enumerate(names)
    ]
