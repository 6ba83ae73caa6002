"""How a match stands, in words: fastchess's block, a crosstable, ratings, pairs, forfeits.

Results -> **lines and rows** -> the command, logs
"""

from __future__ import annotations

from typing import Any

from kibitz.match.elo import Tally, block, draw_ratio, of_games, of_pairs, pairs_ratio
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
    lines = [RULE, *block(heading, tally, pairs)]
    if setup.sprt is not None:
        lines.append(setup.sprt.line(pairs))
    lines.append(RULE)
    verdict = None if setup.sprt is None else setup.sprt.verdict(pairs)
    if setup.sprt is not None and verdict is not None:
        sprt = setup.sprt
        elo = "logistic" if sprt.model == "logistic" else "normalised"
        bounds = f"[{sprt.elo0:.2f}, {sprt.elo1:.2f}]"
        lines.append(f"SPRT ({bounds}, {elo} Elo) completed - {verdict} was accepted")
    return lines


def rated(setup: Setup, results: Results) -> list[Rating]:
    """All players by their ratings."""
    names = [spec.name for spec in setup.players]
    met = meetings(len(names), gauntlet=setup.gauntlet)
    return ratings(names, {pair: results.tally(*pair) for pair in met})


def crosstable(setup: Setup, results: Results) -> tuple[list[str], list[list[Any]]]:
    """Headings and rows: rating with its interval, points, and wins-draws-losses of every two."""
    order = {row.name: row for row in rated(setup, results)}
    places = [next(i for i, spec in enumerate(setup.players) if spec.name == n) for n in order]
    headings = ["", "player", "Elo", "+/-", "points", "games", *map(str, _counted(places))]
    rows: list[list[Any]] = []
    for number, (place, rating) in enumerate(zip(places, order.values(), strict=True), start=1):
        cells = [_cell(results.tally(place, other), place == other) for other in places]
        shown = [f"{rating.elo:+.1f}", f"{rating.error:.1f}", f"{rating.points:g}", rating.games]
        rows.append([number, rating.name, *shown, *cells])
    return headings, rows


def _counted(places: list[int]) -> range:
    return range(1, len(places) + 1)


def _cell(tally: Tally, itself: bool) -> str:
    if itself:
        return "·"
    return f"{tally.wins}-{tally.draws}-{tally.losses}" if tally.games else ""


def pair_rows(setup: Setup, results: Results) -> list[list[Any]]:
    """A row for every two who met: names, W-D-L, Elo with its interval, LOS, pentanomial."""
    rows: list[list[Any]] = []
    for first, second in meetings(len(setup.players), gauntlet=setup.gauntlet):
        tally, pairs = results.tally(first, second), results.pairs(first, second)
        found = of_pairs(pairs)
        names = f"{setup.players[first].name} vs {setup.players[second].name}"
        score = f"{tally.wins}-{tally.draws}-{tally.losses}"
        los = "-" if found.los is None else f"{100 * found.los:.1f} %"
        rows.append([names, score, found.text(), los, " ".join(map(str, pairs.five))])
    return rows


PAIR_HEADINGS = ("pair", "W-D-L", "Elo", "LOS", "Ptnml(0-2)")


def network_lines(setup: Setup) -> list[str]:
    """Which network each of our own engines played with, and what it was told besides."""
    return [
        f"Network of {spec.name}: {spec.network}" + (f" ({spec.text})" if "," in spec.text else "")
        for spec in setup.players
        if spec.network
    ]


def forfeit_lines(setup: Setup, results: Results) -> list[str]:
    """Who forfeited how often and why; one line says so if nobody did."""
    lines = []
    for index, spec in enumerate(setup.players):
        counts = results.forfeits(index)
        if counts:
            told = ", ".join(f"{counts[word]} x {word}" for word in FORFEITS if counts[word])
            lines.append(f"Forfeits of {spec.name}: {told}")
    return lines or ["Forfeits: none"]


def as_json(setup: Setup, results: Results) -> dict[str, Any]:
    """Everything above for programs; numbers that do not exist are null."""
    found: dict[str, Any] = {
        "players": [_player_json(setup, results, index) for index in range(len(setup.players))],
        "pairs": [
            _pair_json(setup, results, first, second)
            for first, second in meetings(len(setup.players), gauntlet=setup.gauntlet)
        ],
        "games": len(results.games),
        "planned": setup.games,
        "terminations": dict(results.terminations()),
    }
    if setup.sprt is not None:
        pairs = results.pairs(0, 1)
        sprt = setup.sprt
        found["sprt"] = {
            "elo0": sprt.elo0,
            "elo1": sprt.elo1,
            "model": sprt.model,
            "llr": sprt.llr(pairs),
            "bounds": [sprt.lower, sprt.upper],
            "accepted": sprt.verdict(pairs),
        }
    return found


def _player_json(setup: Setup, results: Results, index: int) -> dict[str, Any]:
    spec = setup.players[index]
    rating = next(row for row in rated(setup, results) if row.name == spec.name)
    return {
        "name": spec.name,
        "player": spec.text,
        **spec.facts(),
        "control": str(setup.control_of(spec)),
        "elo": rating.elo,
        "error": rating.error,
        "points": rating.points,
        "games": rating.games,
        "forfeits": dict(results.forfeits(index)),
    }


def _pair_json(setup: Setup, results: Results, first: int, second: int) -> dict[str, Any]:
    tally, pairs = results.tally(first, second), results.pairs(first, second)
    return {
        "first": setup.players[first].name,
        "second": setup.players[second].name,
        "wins": tally.wins,
        "draws": tally.draws,
        "losses": tally.losses,
        "pentanomial": list(pairs.five),
        "draw_ratio": draw_ratio(pairs),
        "pairs_ratio": pairs_ratio(pairs),
        "by_pairs": of_pairs(pairs).as_json(),
        "by_games": of_games(tally).as_json(),
    }
