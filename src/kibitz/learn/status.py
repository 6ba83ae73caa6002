"""How a run stands: a row of figures for each generation, a log, a curve, a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from shlex import quote
from typing import Any, NamedTuple

import msgspec

from kibitz.files import write_bytes
from kibitz.learn.folder import Folder, Group, Now
from kibitz.learn.rating import UNTIL, best_of, ratings_of
from kibitz.log import plain
from kibitz.match.rating import Rating
from kibitz.training.curve import COLOURS, Line, Panel, draw

PANELS = (
    ("loss_value", "loss of the value"),
    ("loss_policy", "loss of the policy"),
    ("draws", "share of draws"),
    ("plies", "plies of a game"),
)


# --- figures --------------------------------------------------------------------------------------


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
                size=training.size if training else learn.size_of(generation),
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


# --- the curve ------------------------------------------------------------------------------------


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
    player, until, generation = opponent.partition(UNTIL)
    head, *options = player.split(",")
    named = [text.partition("=")[2] for text in options if text.partition("=")[0] == "name"]
    return (named[-1] if named else head) + until + generation


# --- the log --------------------------------------------------------------------------------------


def keep_log(folder: Folder) -> list[Row]:
    """Write generations.jsonl, a line for each generation with all it has, and the curve."""
    trained, rated = folder.trained(), folder.rated()
    ratings = ratings_of(folder)
    rows, lines = rows_of(folder, ratings), []
    for row in rows:
        groups = [*folder.groups(row.generation).values()]
        facts: dict[str, Any] = {**row._asdict(), "played": _played(groups)}
        for name, record in (("trained", trained), ("rated", rated)):
            found = record.get(row.generation)
            facts[name] = None if found is None else msgspec.to_builtins(found)
        lines.append(json.dumps(plain(facts), allow_nan=False))
    write_bytes(folder.root / "generations.jsonl", ("\n".join(lines) + "\n").encode())
    drawn = draw_curve([Curve(folder.root.resolve().name, rows)], ratings)
    if drawn is not None:
        write_bytes(folder.root / "curve.svg", drawn.encode())
    return rows


def _played(groups: list[Group]) -> dict[str, Any]:
    """The games of a generation, and the settings they were played with."""
    return {
        "playouts": sum(one.playouts for one in groups),
        "white": sum(one.white for one in groups),
        "draws": sum(one.draws for one in groups),
        "black": sum(one.black for one in groups),
        "seconds": sum(one.seconds for one in groups),
        "playouts_a_move": groups[-1].playouts_set if groups else None,
        "sc_limit": groups[-1].sc_limit if groups else None,
    }


def line_of(row: Row) -> str:
    """What there is to say of a generation in a line."""
    parts = [f"generation {row.generation}", f"{row.core_hours:.2f} core-hours"]
    if row.games and row.draws is not None:
        parts.append(f"{row.games} games, {100 * row.draws:.0f} % draws, {row.plies:.0f} plies")
    if row.loss_value is not None:
        parts.append(f"losses {row.loss_value:.3f} value, {row.loss_policy:.3f} policy")
    if row.elo is not None:
        parts.append(f"rating {row.elo:+.0f} +/- {row.error:.0f}")
    return ", ".join(parts)


# --- the table ------------------------------------------------------------------------------------

# Short words: the table fits into 80 columns.
HEADINGS = (
    *("gen", "network", "games", "draws %", "plies", "games/s", "value", "policy"),
    *("rating", "+/-", "core hours"),
)


class Status(NamedTuple):
    """How a run stands: a row for each generation, and lines on what is done now."""

    rows: list[Row]
    lines: list[str]
    doing: list[Now]
    ratings: dict[str, Rating]
    best: int  # the generation whose network plays


def status_of(folder: Folder) -> Status:
    """Read how a run stands."""
    ratings = ratings_of(folder)
    rows, doing = rows_of(folder, ratings), folder.heard()
    best = best_of(ratings, folder.newest)
    lines = [_doing(now) for now in doing]
    others = [one for name, one in ratings.items() if not name.isdecimal()]
    met = ", ".join(f"{label_of(one.name)} {one.elo:+.0f}" for one in others)
    lines += [f"ratings of others: {met}"] if met else []
    games = sum(row.games for row in rows)
    lines.append(f"{games:,} games, {sum(row.positions for row in rows):,} positions")
    if best:
        lines.append(f"generation {best} plays: kibitz play --network {quote(str(folder.root))}")
    return Status(rows, lines, doing, ratings, best)


def cells_of(row: Row) -> tuple[Any, ...]:
    """A generation as a table has it."""
    share = None if row.draws is None else 100 * row.draws
    numbers = (
        (share, 0), (row.plies, 0), (row.games_a_second, 1), (row.loss_value, 3),
        (row.loss_policy, 3), (row.elo, 0), (row.error, 0), (row.core_hours, 2),
    )  # fmt: skip
    texts = ("" if value is None else f"{value:.{places}f}" for value, places in numbers)
    widths = row.size.removeprefix("sparse-").partition("-")[0]  # its inputs are in learn.toml
    return (row.generation, widths, row.games, *texts)


def _doing(now: Now) -> str:
    parts = [f"{now.role} ({now.process}): {now.stage}, generation {now.generation}"]
    if now.total:
        parts.append(f"{now.done:,.0f} of {now.total:,.0f}")
    elif now.done:
        parts.append(f"{now.done:,.0f} done")
    if now.rate:
        parts.append(f"{now.rate:.1f} a second")
        left = (now.total - now.done) / now.rate
        parts += [f"{left:.0f} s left"] if left > 0 else []
    return ", ".join(parts)
