"""How a run stands: a row of figures for each generation, a log, a curve, a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from shlex import quote
from typing import Any, NamedTuple

import msgspec

from kibitz.arena.match.rating import Rating
from kibitz.core.files import write_bytes
from kibitz.core.log import plain
from kibitz.train.curve import COLOURS, Line, Panel, draw
from kibitz.zero.folder import Folder, Group, Now, Trained
from kibitz.zero.rating import UNTIL, best_of, own_names, ratings_of

PANELS = (
    ("loss_value", "loss of the value, held-out games"),
    ("loss_policy", "loss of the policy, held-out games"),
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
    loss_value: float | None  # of held-out games; of those trained on where none were held out
    loss_policy: float | None
    elo: float | None
    error: float | None
    all_games: int  # played before it, which its network could learn from
    all_positions: int
    core_hours: float  # of playing and training before it
    rating_hours: float  # of rating matches of all networks up to its own, beside that
    held_out: bool  # whether the losses are of held-out games


def rows_of(folder: Folder, ratings: Mapping[str, Rating], prefix: str = "") -> list[Row]:
    """A row for each generation, with its rating if it has one; names may have a prefix."""
    learn, trained, rated = folder.settings().learn, folder.trained(), folder.rated()
    rows: list[Row] = []
    games = positions = 0
    seconds = rating_seconds = 0.0
    for generation in range(folder.newest + 1):
        training, groups = trained.get(generation), [*folder.groups(generation).values()]
        seconds += training.processor if training else 0.0
        rating_seconds += rated[generation].processor if generation in rated else 0.0
        losses = _losses(training)
        rating = ratings.get(f"{prefix}{generation}") or ratings.get(str(generation))
        played, plies = (
            sum(group.games for group in groups),
            sum(group.positions for group in groups),
        )
        spent = sum(group.seconds for group in groups)
        rows.append(
            Row(
                generation=generation,
                size=training.size if training else learn.size_of(generation),
                games=played,
                positions=plies,
                draws=sum(group.draws for group in groups) / played if played else None,
                plies=plies / played if played else None,
                games_a_second=played / spent if spent else None,
                loss_value=losses.get("value"),
                loss_policy=losses.get("policy"),
                elo=rating.elo if rating else None,
                error=rating.error if rating else None,
                all_games=games,
                all_positions=positions,
                core_hours=seconds / 3600,
                rating_hours=rating_seconds / 3600,
                held_out=bool(training and training.validation),
            )
        )
        games, positions = games + played, positions + plies
        seconds += sum(group.processor for group in groups)
    return rows


def _losses(training: Trained | None) -> dict[str, float]:
    """The losses of a training: of held-out games if there were any."""
    return {} if training is None else {**training.losses, **training.validation}


# --- the curve ------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """What is drawn of a run."""

    name: str
    rows: list[Row]


def draw_curve(
    curves: list[Curve], ratings: Mapping[str, Rating], names: Mapping[str, str] | None = None
) -> str | None:
    """Return an SVG: ratings with intervals over core-hours and games, and figures of the games.

    Opponents are level lines, programs by their own `names`. None as long as nothing is rated.
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
            pairs = [(row.generation, getattr(row, field)) for row in curve.rows]
            points = [(float(x), float(y)) for x, y in pairs if y is not None]
            lines += [Line(points, colours[curve.name])] if points else []
        panels += [Panel(title, lines, "generation")] if lines else []
    legend = [
        *colours.items(),
        *((label_of(name, names), colour) for name, colour in greys.items()),
    ]
    return draw(panels, legend)


def label_of(opponent: str, names: Mapping[str, str] | None = None) -> str:
    """How an opponent is called: by its option `name`, by its own of `names`, by its command."""
    player, until, generation = opponent.partition(UNTIL)
    head, *options = player.split(",")
    named = [text.partition("=")[2] for text in options if text.partition("=")[0] == "name"]
    name = named[-1] if named else (names or {}).get(player, head)
    return name + until + generation


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
            figures = record.get(row.generation)
            facts[name] = None if figures is None else msgspec.to_builtins(figures)
        lines.append(json.dumps(plain(facts), allow_nan=False))
    write_bytes(folder.root / "generations.jsonl", ("\n".join(lines) + "\n").encode())
    drawn = draw_curve([Curve(folder.root.resolve().name, rows)], ratings, own_names(folder))
    if drawn is not None:
        write_bytes(folder.root / "curve.svg", drawn.encode())
    return rows


def _played(groups: list[Group]) -> dict[str, Any]:
    """The games of a generation, and the settings they were played with."""
    return {
        "playouts": sum(group.playouts for group in groups),
        "white": sum(group.white for group in groups),
        "draws": sum(group.draws for group in groups),
        "black": sum(group.black for group in groups),
        "seconds": sum(group.seconds for group in groups),
        "playouts_a_move": groups[-1].playouts_set if groups else None,
        "sc_limit": groups[-1].sc_limit if groups else None,
    }


def line_of(row: Row) -> str:
    """What there is to say of a generation in a line."""
    parts = [f"generation {row.generation}", f"{duration(row.core_hours)} of core time"]
    if row.games and row.draws is not None:
        parts.append(f"{row.games} games, {100 * row.draws:.0f} % draws, {row.plies:.0f} plies")
    if row.loss_value is not None:
        whose = "held-out losses" if row.held_out else "losses"
        parts.append(f"{whose} {row.loss_value:.3f} value, {row.loss_policy:.3f} policy")
    if row.elo is not None:
        parts.append(f"rating {row.elo:+.0f} +/- {row.error:.0f}")
    return ", ".join(parts)


# --- the table ------------------------------------------------------------------------------------

# Short words: the table fits into 80 columns.
HEADINGS = (
    *("gen", "network", "games", "draws %", "plies", "games/s", "value", "policy"),
    *("rating", "+/-", "core time"),
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
    rows, doing = rows_of(folder, ratings), folder.live_processes()
    best = best_of(ratings, folder.newest)
    lines = [_doing(now) for now in doing]
    lines += _budgets(folder, rows, doing)
    others = [rating for name, rating in ratings.items() if not name.isdecimal()]
    names = own_names(folder)
    met = ", ".join(f"{label_of(rating.name, names)} {rating.elo:+.0f}" for rating in others)
    lines += [f"ratings of others: {met}"] if met else []
    games = sum(row.games for row in rows)
    lines.append(f"{games:,} games, {sum(row.positions for row in rows):,} positions")
    last = rows[-1]
    spent = f"core time: {duration(last.core_hours)} of playing and training"
    lines.append(f"{spent}, and {duration(last.rating_hours)} of rating beside it")
    lines += _on_losses(folder, rows)
    if best:
        lines.append(f"generation {best} plays: kibitz play --network {quote(str(folder.root))}")
    return Status(rows, lines, doing, ratings, best)


def cells_of(row: Row) -> tuple[Any, ...]:
    """A generation as a table has it."""
    share = None if row.draws is None else 100 * row.draws
    numbers = (
        (share, 0), (row.plies, 0), (row.games_a_second, 1), (row.loss_value, 3),
        (row.loss_policy, 3), (row.elo, 0), (row.error, 0),
    )  # fmt: skip
    texts = ("" if value is None else f"{value:.{places}f}" for value, places in numbers)
    widths = row.size.removeprefix("sparse-").partition("-")[0]  # its inputs are in learn.toml
    return (row.generation, widths, row.games, *texts, duration(row.core_hours))


def duration(hours: float) -> str:
    """A time in the unit that suits it.

    >>> [duration(hours) for hours in (0, 0.004, 0.08, 1.256, 30)]
    ['0 s', '14 s', '4.8 min', '1.3 h', '30 h']
    """
    for unit, size in (("s", 3600), ("min", 60), ("h", 1)):
        if hours * size < 60 or unit == "h":
            places = 1 if unit != "s" and hours * size < 10 else 0
            return f"{hours * size:.{places}f} {unit}"
    raise AssertionError(hours)


def _on_losses(folder: Folder, rows: list[Row]) -> list[str]:
    """Whose losses the table has, and why that of the value may rise."""
    if not rows[-1].generation:
        return []
    held_out = all(row.held_out for row in rows[1:])
    lines = [f"value, policy: losses on {'held-out games' if held_out else 'what was trained on'}"]
    learn = folder.settings().learn
    if learn.result_fade and learn.result_share < 1:
        fades = (
            f"its target turns from results to searches until generation {learn.result_fade + 1}"
        )
        lines.append(f"the value's loss may rise while the network gets better: {fades}")
    return lines


RECENT = 3  # generations that say how long the next one takes


def _budgets(folder: Folder, rows: list[Row], doing: list[Now]) -> list[str]:
    """When the budgets will be spent, by the time that the last generations took."""
    learn, trained, rated = folder.settings().learn, folder.trained(), folder.rated()
    done = [*range(1, folder.newest + 1)][-RECENT:]
    lines = [
        f"the hours of {now.role} ({now.process}) end in {duration((now.until - now.time) / 3600)}"
        for now in doing
        if now.until > now.time
    ]
    if not done or not (learn.generations or learn.total_games):
        return lines
    played = [group for at in done for group in folder.groups(at - 1).values()]
    seconds = sum(group.seconds for group in played) + sum(trained[at].seconds for at in done)
    each = seconds / len(done) + sum(rated[at].seconds for at in rated) / folder.newest
    games = sum(group.games for group in played) / len(done)
    for what, left in (
        ("generations", learn.generations - folder.newest if learn.generations else 0),
        ("games", (learn.total_games - sum(row.games for row in rows)) / max(1.0, games)),
    ):
        if left > 0:
            limit = learn.generations if what == "generations" else learn.total_games
            lines.append(f"about {duration(left * each / 3600)} to {limit:,} {what}")
    return lines


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
