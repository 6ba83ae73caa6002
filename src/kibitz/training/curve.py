"""How trainings went: metrics.jsonl and strength reports -> **curves** -> table, figure.

A run is a folder, with all metrics files in it and below it (a cycle has one per iteration; their
steps are counted on from one to the next), or one metrics file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kibitz.errors import DamagedFileError, InputError
from kibitz.files import read_bytes
from kibitz.training.figure import COLOURS, Line, Panel, draw

METRICS = "metrics.jsonl"
STRENGTH = "strength-*.json"  # not strength.json, which marks a stage
VALIDATION = "validation_"

# What is shown first, in this order; other figures follow by name.
FIRST = ("total", "value", "policy", "mcts_value", "soft_policy", "top1", "sign", "value_error")
NOT_FIGURES = ("step", "time", "validation_positions")

Points = list[tuple[float, float]]


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
    for path in files:
        before = run.steps
        for line in read_metrics(path):
            _take(run, line, before)
        # A strength test comes after the training beside it.
        beside = path.parent.parent if len(files) > 1 else root
        reports = sorted(beside.rglob(STRENGTH))
        run.strength += [read_strength(report, run.steps) for report in reports]
    return run


def read_metrics(path: Path) -> list[dict[str, Any]]:
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
    try:
        found = json.loads(read_bytes(path))
        elo, low, high = _ends(found)
        score, interval = float(found["score"]), found.get("interval")
        return Strength(step, str(found["opponent"]), score, elo, low, high, interval)
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(
            f"not a strength report ({error!r})", value=str(path), fix="remove it, or test again"
        ) from error


def _ends(found: dict[str, Any]) -> list[float | None]:
    """Elo and the ends of its interval; old reports have half of the interval only."""
    elo, error = found["elo"], found["error"]
    known = elo is not None and error is not None
    ends = {"low": elo - error if known else None, "high": elo + error if known else None}
    named = [elo, *(found.get(name, end) for name, end in ends.items())]
    return [None if value is None else float(value) for value in named]


def names_of(runs: list[Run]) -> list[str]:
    """Return the figures that any of the runs has, training and validation under one name."""
    found = {name.removeprefix(VALIDATION) for run in runs for name in run.figures}
    return [*(name for name in FIRST if name in found), *sorted(found - set(FIRST))]


def table(run: Run, rows: int) -> tuple[list[str], list[list[Any]]]:
    """Return headings and at most `rows` rows, spread over the steps, the last one always there.

    Training figures are means since the row before; validations are the last ones made.
    """
    names = sorted(run.figures, key=lambda name: _order(name, names_of([run])))
    steps = sorted({step for points in run.figures.values() for step, _ in points})
    count = min(rows, len(steps))
    chosen = [steps[len(steps) * (number + 1) // count - 1] for number in range(count)]
    listed, before = [], -1.0
    for step in chosen:
        cells = [_cell(name, run.figures[name], before, step) for name in names]
        listed.append([int(step), *cells])
        before = step
    return ["step", *(name.replace("_", " ") for name in names)], listed


def _order(name: str, names: list[str]) -> tuple[bool, int]:
    return name.startswith(VALIDATION), names.index(name.removeprefix(VALIDATION))


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
