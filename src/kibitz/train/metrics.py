"""metrics.jsonl, the figures of a training, and reports of its strength: written and read.

A run is a folder, with all metrics files in it and below it (a cycle has one for each training;
their steps are counted on from one to the next, in the order in which they ran), or one metrics
file.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import read_bytes, write_bytes
from kibitz.core.journal import read_record
from kibitz.core.log import Metrics

METRICS = "metrics.jsonl"
STRENGTH = "strength-*.json"  # not strength.json, which marks a stage
NOT_FIGURES = ("step", "time", "validation_positions")

# Rank correlations of validations, by group of positions. All are in metrics.jsonl and in results;
# lines, tables and figures show one.
CORRELATIONS = ("kendall_a", "kendall_b", "weighted_kendall", "spearman")
GROUPS = ("", "_mates", "_others")
DETAILS = frozenset(f"{name}{group}" for name in CORRELATIONS for group in GROUPS) - {"spearman"}

Points = list[tuple[float, float]]
Lines = list[dict[str, Any]]


@contextmanager
def recording(
    folder: Path, step: int, main: bool, tensorboard: bool
) -> Iterator[Callable[..., None]]:
    """Yield what writes figures of a step to metrics.jsonl and, if it is there, TensorBoard."""
    if not main:
        yield lambda *_, **__: None
        return
    path = folder / METRICS
    _forget_after(path, step)
    board = _tensorboard(folder) if tensorboard else None
    with Metrics(path) as metrics:

        def write(at: int, **values: Any) -> None:
            metrics.write(at, **values)
            if board is not None:
                for name, value in values.items():
                    board.add_scalar(name, value, at)

        yield write
    if board is not None:
        board.close()


def _forget_after(path: Path, step: int) -> None:
    """Remove the lines of steps that will be made again."""
    if not path.exists():
        return
    lines = path.read_bytes().splitlines(keepends=True)
    valid = [line for line in lines if line.endswith(b"\n") and json.loads(line)["step"] <= step]
    if len(valid) < len(lines):
        write_bytes(path, b"".join(valid))


def _tensorboard(folder: Path) -> Any:
    """Return TensorBoard's writer, or None where it is not installed."""
    try:
        return importlib.import_module("torch.utils.tensorboard").SummaryWriter(str(folder))
    except ImportError:
        return None


# --- reading --------------------------------------------------------------------------------------


class Strength(msgspec.Struct, kw_only=True):
    """One measurement of playing strength, as it is written; old ones have half of the interval."""

    opponent: str
    score: float  # points of all games, 0 to 1
    elo: float | None  # none if all games were won, or all lost
    error: float | None = None
    low: float | None = math.nan  # ends of the 95 % interval; or one of them, the bound known
    high: float | None = math.nan
    interval: str | None = None  # how the ends were found, see arena/match/elo.py
    player: str = ""  # empty in old reports, as the limits
    control: str = ""
    time: float | None = None  # when it was made; old ones do not say
    step: int = 0  # of the whole run, after which it was made

    def __post_init__(self) -> None:
        """Take the ends that are not written from half of the interval."""
        if self.low is not None and math.isnan(self.low):
            if self.elo is None or self.error is None:
                self.low = self.high = None
            else:
                self.low, self.high = self.elo - self.error, self.elo + self.error

    @property
    def drawn_at(self) -> float | None:
        """Where a figure has its point: at the difference, else at the bound."""
        return next((value for value in (self.elo, self.low, self.high) if value is not None), None)

    @property
    def half(self) -> float:
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
    reports = {path: read_report(path) for path in sorted(root.rglob(STRENGTH))}
    for path in in_order(trainings, reports):
        if path in reports:
            reports[path].step = run.steps
            run.strength.append(reports[path])
            continue
        before = run.steps
        for line in trainings[path]:
            _take(run, line, before)
    return run


class Moment(NamedTuple):
    """Where something stands in a run, compared field by field."""

    seconds: float  # since 1970
    path: str  # of a report that does not say when: that of the training before it
    is_report: bool  # a training goes before what is reported after it


def in_order(trainings: Mapping[Path, Lines], reports: Mapping[Path, Strength]) -> list[Path]:
    """Return trainings and strength tests in the order in which they ran.

    A training began with its first line. Reports that older versions wrote do not say when: each
    comes right after the last training beside it.
    """
    began = {path: _began(path, lines) for path, lines in trainings.items()}
    moments = dict(began)
    for path, report in reports.items():
        if report.time is not None:
            moments[path] = Moment(report.time, str(path), is_report=True)
            continue
        beside = [folder for folder in trainings if folder.is_relative_to(path.parent.parent)]
        last = max(began[folder] for folder in beside or trainings)
        moments[path] = last._replace(is_report=True)
    return sorted(moments, key=lambda path: moments[path])


def _began(path: Path, lines: Lines) -> Moment:
    """When a training began; one without a line has yet to begin."""
    seconds = float(lines[0].get("time", 0.0)) if lines else math.inf
    return Moment(seconds, str(path), is_report=False)


def read_metrics(path: Path) -> Lines:
    """Return the lines of a metrics file; a last one still being written is left out."""
    content = read_bytes(path)
    whole = content[: content.rfind(b"\n") + 1].splitlines()
    return [_decoded(path, number, line) for number, line in enumerate(whole, start=1)]


def _decoded(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"line {number} is not JSON ({error})", value=str(path)) from error
    if not isinstance(record, dict) or type(record.get("step")) is not int:
        raise DamagedFileError(f"line {number} has no step", value=str(path))
    return record


def _take(run: Run, line: dict[str, Any], before: int) -> None:
    """Add a line of metrics; nan and inf, which are written as texts, are left out."""
    step = before + int(line["step"])
    run.steps = max(run.steps, step)
    for name, value in line.items():
        if name not in NOT_FIGURES and type(value) in (int, float):
            run.figures.setdefault(name, []).append((step, float(value)))


def read_report(path: Path) -> Strength:
    """Read a report of a strength test."""
    return read_record(path, Strength, what="a strength report", fix="remove it, or test again")
