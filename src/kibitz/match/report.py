"""How a match stands, in words: fastchess's block, a crosstable, ratings, pairs, forfeits.

Results -> **lines and rows** -> the command, logs
"""

from __future__ import annotations

from typing import Any

from kibitz.match.elo import block, draw_ratio, of_games, of_pairs, pairs_ratio
from kibitz.match.journal import FORFEITS, Results
from kibitz.match.rating import Rating, ratings
from kibitz.match.runner import Setup, meetings

RULE = "-" * 50


def title(
    setup: Setup, resources: list[tuple[str, str]], first: int, second: int, book: str
) -> str:
    """`A vs B (10+0.1, 1t, 64MB, book.epd)`; what differs between the two is shown twice."""
    specs = setup.players[first], setup.players[second]
    facts = [tuple(str(setup.control_of(spec)) for spec in specs)]
    facts += list(zip(resources[first], resources[second], strict=True))
    shown = [one if one == other else f"{one} - {other}" for one, other in facts]
    return f"{specs[0].name} vs {specs[1].name} ({', '.join([*shown, book])})"


def match_lines(setup: Setup, results: Results, heading: str) -> list[str]:
    """The block about a match of two, with the line of its SPRT."""
    tally, pairs = results.tally(0, 1), results.pairs(0, 1)
    sprt = setup.sprt
    if sprt is None:
        return [RULE, *block(heading, tally, pairs), RULE]
    lines = [RULE, *block(heading, tally, pairs), sprt.line(pairs), RULE]
    verdict = sprt.verdict(pairs)
    if verdict is not None:
        bounds = f"[{sprt.elo0:.2f}, {sprt.elo1:.2f}]"
        lines.append(f"SPRT ({bounds}, {sprt.model} Elo) completed - {verdict} was accepted")
    return lines


def rated(setup: Setup, results: Results) -> list[Rating]:
    """All players by their ratings."""
    names = [spec.name for spec in setup.players]
    met = meetings(len(names), gauntlet=setup.gauntlet)
    return ratings(names, {pair: results.tally(*pair) for pair in met})


def crosstable(setup: Setup, results: Results) -> tuple[list[str], list[list[Any]]]:
    """Headings and rows: rating with its interval, points, and wins-draws-losses of every two."""
    places = {spec.name: index for index, spec in enumerate(setup.players)}
    order = rated(setup, results)
    numbers = (str(number) for number in range(1, len(order) + 1))
    headings = ["", "player", "Elo", "+/-", "points", "games", *numbers]
    rows: list[list[Any]] = []
    for number, one in enumerate(order, start=1):
        shown = [f"{one.elo:+.1f}", f"{one.error:.1f}", f"{one.points:g}", one.games]
        cells = []
        for other in order:
            tally = results.tally(places[one.name], places[other.name])
            cells.append("·" if other is one else tally.text if tally.games else "")
        rows.append([number, one.name, *shown, *cells])
    return headings, rows


def pair_rows(setup: Setup, results: Results) -> list[list[Any]]:
    """A row for every two who met: names, W-D-L, Elo with its interval, LOS, pentanomial."""
    rows: list[list[Any]] = []
    for first, second in meetings(len(setup.players), gauntlet=setup.gauntlet):
        tally, pairs = results.tally(first, second), results.pairs(first, second)
        found = of_pairs(pairs)
        names = f"{setup.players[first].name} vs {setup.players[second].name}"
        los = "-" if found.los is None else f"{100 * found.los:.1f} %"
        rows.append([names, tally.text, found.text(), los, " ".join(map(str, pairs.five))])
    return rows


PAIR_HEADINGS = ("pair", "W-D-L", "Elo", "LOS", "Ptnml(0-2)")


def network_lines(setup: Setup) -> list[str]:
    """Which network each of our own engines played with, and with which options."""
    return [
        f"Network of {spec.name}: {spec.network}" + (f" ({spec.text})" if "," in spec.text else "")
        for spec in setup.players
        if spec.network
    ]


def forfeit_lines(setup: Setup, results: Results) -> list[str]:
    """Who forfeited how often and why; one line says so if there was none."""
    lines = []
    for index, spec in enumerate(setup.players):
        counts = results.forfeits(index)
        if counts:
            reasons = ", ".join(f"{counts[word]} x {word}" for word in FORFEITS if counts[word])
            lines.append(f"Forfeits of {spec.name}: {reasons}")
    return lines or ["Forfeits: none"]


def as_json(setup: Setup, results: Results) -> dict[str, Any]:
    """Everything above for programs; numbers that do not exist are null."""
    ratings_of = {row.name: row for row in rated(setup, results)}
    found: dict[str, Any] = {
        "players": [
            {
                "name": spec.name,
                "player": spec.text,
                **spec.facts(),
                "control": str(setup.control_of(spec)),
                "elo": ratings_of[spec.name].elo,
                "error": ratings_of[spec.name].error,
                "points": ratings_of[spec.name].points,
                "games": ratings_of[spec.name].games,
                "forfeits": dict(results.forfeits(index)),
            }
            for index, spec in enumerate(setup.players)
        ],
        "pairs": [
            _pair_json(setup, results, first, second)
            for first, second in meetings(len(setup.players), gauntlet=setup.gauntlet)
        ],
        "games": len(results.games),
        "planned": setup.games,
        "terminations": dict(results.terminations()),
    }
    sprt, pairs = setup.sprt, results.pairs(0, 1)
    if sprt is not None:
        found["sprt"] = {
            "elo0": sprt.elo0,
            "elo1": sprt.elo1,
            "model": sprt.model,
            "llr": sprt.llr(pairs),
            "bounds": [sprt.lower, sprt.upper],
            "accepted": sprt.verdict(pairs),
        }
    return found


def _pair_json(setup: Setup, results: Results, first: int, second: int) -> dict[str, Any]:
    tally, pairs = results.tally(first, second), results.pairs(first, second)
    return {
        "first": setup.players[first].name,
        "second": setup.players[second].name,
        **tally._asdict(),
        "pentanomial": list(pairs.five),
        "draw_ratio": draw_ratio(pairs),
        "pairs_ratio": pairs_ratio(pairs),
        "by_pairs": of_pairs(pairs).as_json(),
        "by_games": of_games(tally).as_json(),
    }
