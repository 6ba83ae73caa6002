"""How trainings went, as tables for a terminal and as an SVG figure for a browser."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape

from kibitz.core.errors import missing_extra
from kibitz.train.metrics import DETAILS, Points, Run

VALIDATION = "validation_"

# What is shown first, in this order; other figures follow by name.
LOSSES = ("total", "value", "policy", "mcts_value", "soft_policy", "moves_left")
FIRST = (*LOSSES, "top1", "top3", "sign", "value_error", "spearman")

# Okabe and Ito's colours: they differ for all kinds of sight, also in grey.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f")

WIDTH, HEIGHT = 420, 260  # of a panel, pixels
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 34, 40
COLUMNS = 2  # panels beside each other
LEGEND_LINE = 18
LETTER_WIDTH = 6  # pixels, about
TICKS = 5
MOST_POINTS = 400


def names_of(runs: list[Run]) -> list[str]:
    """Return the figures that any of the runs has, training and validation under one name.

    Of the rank correlations only one is shown.
    """
    names = {name.removeprefix(VALIDATION) for run in runs for name in run.figures} - DETAILS
    return [*(name for name in FIRST if name in names), *sorted(names - set(FIRST))]


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
    return [(title, *_table(run, figures, rows)) for title, figures in shown.items() if figures]


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
    """Return a panel for each opponent that was met."""
    opponents = dict.fromkeys(strength.opponent for run in runs for strength in run.strength)
    panels = []
    for opponent in opponents:
        lines = []
        for run, colour in zip(runs, colours, strict=True):
            met = [strength for strength in run.strength if strength.opponent == opponent]
            drawn = [(strength, at) for strength in met if (at := strength.drawn_at) is not None]
            points = [(float(strength.step), at) for strength, at in drawn]
            errors = tuple(strength.half for strength, _ in drawn)
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


# --- panels of lines as SVG -----------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """Points in the order of x; `errors`, if any, are half the heights of their bars."""

    points: list[tuple[float, float]]
    colour: str
    faint: bool = False
    errors: tuple[float, ...] = ()
    joined: bool = True  # else dots


@dataclass(frozen=True)
class Panel:
    """Lines with a common pair of axes."""

    title: str
    lines: list[Line]
    below: str = "step"
    from_zero: bool = True  # x begins at 0


@dataclass(frozen=True)
class Axis:
    """A range of numbers laid on a range of pixels."""

    low: float
    high: float
    first: float
    last: float

    def place(self, number: float) -> float:
        """Return the pixel of a number."""
        part = (number - self.low) / (self.high - self.low)
        return self.first + part * (self.last - self.first)


def draw(panels: list[Panel], legend: list[tuple[str, str]], below: Sequence[str] = ()) -> str:
    """Return the figure as SVG text; the legend has names and colours, `below` lines of text."""
    columns = max(1, min(COLUMNS, len(panels)))
    rows = math.ceil(len(panels) / columns)
    top = LEGEND_LINE * len(legend) + 12
    width, bottom = columns * WIDTH, top + rows * HEIGHT
    lines = [part for text in below for part in textwrap.wrap(text, width // LETTER_WIDTH)]
    height = bottom + LEGEND_LINE * len(lines) + (8 if lines else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11" fill="#333">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, (name, colour) in enumerate(legend):
        y = 16 + LEGEND_LINE * number
        parts.append(f'<path d="M{LEFT} {y - 4}h24" stroke="{colour}" stroke-width="2"/>')
        parts.append(_text(LEFT + 32, y, name))
    for number, panel in enumerate(panels):
        across, down = (number % columns) * WIDTH, top + (number // columns) * HEIGHT
        parts += [f'<g transform="translate({across} {down})">', *_panel(panel), "</g>"]
    parts += [_text(8, bottom + LEGEND_LINE * (at + 1), text) for at, text in enumerate(lines)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def picture(panels: list[Panel], legend: list[tuple[str, str]]) -> bytes:
    """Return the figure as PNG, drawn by matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise missing_extra("a figure as PNG", "matplotlib", "tune") from error
    columns = max(1, min(COLUMNS, len(panels)))
    rows = math.ceil(len(panels) / columns)
    whole = Figure(figsize=(columns * WIDTH / 80, rows * HEIGHT / 80), layout="constrained")
    for place, panel in enumerate(panels, start=1):
        axes = whole.add_subplot(rows, columns, place)
        axes.set_title(panel.title, loc="left", fontweight="bold")
        axes.set_xlabel(panel.below)
        axes.grid(axis="y", color="#ddd")
        for line in panel.lines:
            x, y = zip(*line.points, strict=True)
            form: dict[str, Any] = {"color": line.colour, "alpha": 0.35 if line.faint else 1.0}
            if line.errors:
                axes.errorbar(x, y, yerr=line.errors, fmt="-o" if line.joined else "o", **form)
            else:
                axes.plot(x, y, "-" if line.joined else "o", **form)
    for name, colour in legend:
        whole.axes[0].plot([], [], color=colour, label=name)
    if legend:
        whole.legend(loc="outside upper left", frameon=False)
    drawn = io.BytesIO()
    whole.savefig(drawn, format="png", dpi=120, metadata={"Software": None})
    return drawn.getvalue()


def ticks(low: float, high: float) -> list[float]:
    """Return about TICKS round numbers from low to high.

    >>> ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def thinned(
    points: list[tuple[float, float]], most: int = MOST_POINTS
) -> list[tuple[float, float]]:
    """Return at most so many points, each the mean of its neighbours."""
    if len(points) <= most:
        return points
    bounds = [len(points) * part // most for part in range(most + 1)]
    groups = [points[first:last] for first, last in pairwise(bounds)]
    return [
        (sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group))
        for group in groups
    ]


def _panel(panel: Panel) -> list[str]:
    xs = [x for line in panel.lines for x, _ in line.points]
    x = _axis(min([0.0, *xs] if panel.from_zero else xs), max(xs), LEFT, WIDTH - RIGHT)
    low, high = _heights(panel.lines)
    y = _axis(low, high, HEIGHT - BOTTOM, TOP)
    parts = [_text(LEFT, TOP - 12, panel.title, weight="bold")]
    parts += [_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, panel.below, anchor="middle")]
    for tick in ticks(y.low, y.high):
        at = y.place(tick)
        parts.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 6, at + 4, _number(tick), anchor="end"))
    for tick in ticks(x.low, x.high):
        at = x.place(tick)
        parts.append(_text(at, HEIGHT - BOTTOM + 15, _number(tick), anchor="middle"))
    for line in sorted(panel.lines, key=lambda drawn: not drawn.faint):
        parts += _line(line, x, y)
    return parts


def _heights(lines: list[Line]) -> tuple[float, float]:
    """Return the range of y; the first tenth of a faint line may leave the panel at the top."""
    shown = [line.points[len(line.points) // 10 :] if line.faint else line.points for line in lines]
    numbers = [y for points in shown for _, y in points]
    for line in lines:
        for (_, at), error in zip(line.points, line.errors, strict=False):
            numbers += [at - error, at + error]
    return min(numbers), max(numbers)


def _axis(low: float, high: float, first: float, last: float) -> Axis:
    room = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return Axis(low - (room if low else 0), high + room, first, last)


def _line(line: Line, x: Axis, y: Axis) -> list[str]:
    points = thinned(line.points) if not line.errors else line.points
    # What lies beyond the panel is drawn on its edge.
    places = [(x.place(a), max(TOP, min(HEIGHT - BOTTOM, y.place(b)))) for a, b in points]
    opacity = ' opacity="0.35"' if line.faint else ""
    path = "L".join(f"{across:.1f} {down:.1f}" for across, down in places)
    parts = []
    if line.joined:
        parts.append(
            f'<path d="M{path}" fill="none" stroke="{line.colour}" stroke-width="1.6"{opacity}/>'
        )
    for (_, at), (across, _), error in zip(line.points, places, line.errors, strict=False):
        low, high = y.place(at - error), y.place(at + error)
        parts.append(f'<path d="M{across:.1f} {low:.1f}V{high:.1f}" stroke="{line.colour}"/>')
    if (len(places) <= 12 and not line.faint) or not line.joined:
        parts += [
            f'<circle cx="{across:.1f}" cy="{down:.1f}" r="2.5" fill="{line.colour}"/>'
            for across, down in places
        ]
    return parts


def _text(x: float, y: float, text: str, anchor: str = "start", weight: str = "normal") -> str:
    attributes = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}"'
    return f"<text {attributes}>{escape(text)}</text>"


def _number(number: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= size:
            divisor = 1e3 if letter == "k" else size
            return f"{number / divisor:g}{letter}"
    return f"{number:g}"
