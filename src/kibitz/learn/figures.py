"""The figures of a run, a row for each generation, and the curve that is drawn of them.

folder, ratings -> **Row** of each generation -> tables, generations.jsonl, **draw_curve**
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kibitz.learn.folder import Folder
from kibitz.match.rating import Rating
from kibitz.training.curve import COLOURS, Line, Panel, draw

PANELS = (
    ("loss_value", "loss of the value"),
    ("loss_policy", "loss of the policy"),
    ("draws", "share of draws"),
    ("plies", "plies of a game"),
)


class Row(NamedTuple):
    """A generation: the training it began with, its network's rating, the games it played."""

    generation: int
    size: str
    games: int
    positions: int
    draws: float | None  # share of the games
    plies: float | None  # of a game
    games_a_second: float | None
    loss_value: float | None
    loss_policy: float | None
    elo: float | None
    error: float | None
    all_games: int  # played before it, which its network could learn from
    all_positions: int
    core_hours: float  # of playing and training before it


def rows_of(folder: Folder, ratings: Mapping[str, Rating], prefix: str = "") -> list[Row]:
    """A row for each generation, with its rating if it has one; names may have a prefix."""
    learn, trained = folder.settings().learn, folder.trained()
    rows: list[Row] = []
    games = positions = 0
    seconds = 0.0
    for generation in range(folder.newest + 1):
        training, groups = trained.get(generation), [*folder.groups(generation).values()]
        seconds += training.processor if training else 0.0
        rating = ratings.get(f"{prefix}{generation}") or ratings.get(str(generation))
        played, plies = sum(one.games for one in groups), sum(one.positions for one in groups)
        spent = sum(one.seconds for one in groups)
        rows.append(
            Row(
                generation=generation,
                size=training.size if training else learn.start,
                games=played,
                positions=plies,
                draws=sum(one.draws for one in groups) / played if played else None,
                plies=plies / played if played else None,
                games_a_second=played / spent if spent else None,
                loss_value=training.losses.get("value") if training else None,
                loss_policy=training.losses.get("policy") if training else None,
                elo=rating.elo if rating else None,
                error=rating.error if rating else None,
                all_games=games,
                all_positions=positions,
                core_hours=seconds / 3600,
            )
        )
        games, positions = games + played, positions + plies
        seconds += sum(one.processor for one in groups)
    return rows


class Curve(NamedTuple):
    """What is drawn of a run."""

    name: str
    rows: list[Row]


def draw_curve(curves: list[Curve], ratings: Mapping[str, Rating]) -> str | None:
    """Return an SVG: ratings with intervals over core-hours and games, and figures of the games.

    Opponents are level lines. None as long as nothing is rated.
    """
    colours = dict(zip((curve.name for curve in curves), COLOURS, strict=False))
    others = sorted(name for name in ratings if not name.rpartition(":")[2].isdecimal())
    greys = dict(zip(others, COLOURS[len(curves) :] * len(others), strict=False))
    panels = []
    for field, below in (("core_hours", "core-hours"), ("all_games", "games")):
        lines, last = [], 0.0
        for curve in curves:
            rated = [row for row in curve.rows if row.elo is not None and row.error is not None]
            points = [(float(getattr(row, field)), row.elo or 0.0) for row in rated]
            last = max([last, *(x for x, _ in points)])
            errors = tuple(row.error or 0.0 for row in rated)
            lines += [Line(points, colours[curve.name], errors=errors)] if points else []
        if not lines:
            return None
        for name in others:
            level = [(0.0, ratings[name].elo), (last or 1.0, ratings[name].elo)]
            lines.append(Line(level, greys[name]))
        panels.append(Panel("rating, Elo", lines, below))
    for field, title in PANELS:
        lines = []
        for curve in curves:
            found = [(row.generation, getattr(row, field)) for row in curve.rows]
            points = [(float(x), float(y)) for x, y in found if y is not None]
            lines += [Line(points, colours[curve.name])] if points else []
        panels += [Panel(title, lines, "generation")] if lines else []
    legend = [*colours.items(), *((label_of(name), colour) for name, colour in greys.items())]
    return draw(panels, legend)


def label_of(opponent: str) -> str:
    """How an opponent is called: by its option `name`, else by its first word."""
    head, *options = opponent.split(",")
    named = [text.partition("=")[2] for text in options if text.partition("=")[0] == "name"]
    return named[-1] if named else head
