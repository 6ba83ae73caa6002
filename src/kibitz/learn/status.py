"""How a run stands: its log, its curve, and what a terminal shows.

figures, what processes say -> generations.jsonl, curve.svg, **Status**
"""

from __future__ import annotations

import json
from shlex import quote
from typing import Any, NamedTuple

import msgspec

from kibitz.files import write_bytes
from kibitz.learn.figures import Curve, Row, draw_curve, label_of, rows_of
from kibitz.learn.folder import Folder, Group, Now
from kibitz.learn.rating import best_of, ratings_of
from kibitz.log import plain
from kibitz.match.rating import Rating


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

HEADINGS = (
    *("generation", "network", "games", "draws %", "plies", "games/s", "value", "policy"),
    *("rating", "+/-", "core-hours"),
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
    return (row.generation, row.size, row.games, *texts)


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
