"""How strong a network is: a match against an opponent -> **report** -> curves."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kibitz.files import write_bytes
from kibitz.log import Stop, progress, say
from kibitz.match.control import Control
from kibitz.match.elo import of_pairs
from kibitz.match.journal import Journal
from kibitz.match.openings import RANDOM_PLIES, Opening, random_openings, read_openings, shuffled
from kibitz.match.runner import Setup, run
from kibitz.match.spec import parse_players


class Trial(NamedTuple):
    """A match to be played: two players as `kibitz match` takes them, and how."""

    player: str
    opponent: str
    named: str  # what the report calls the opponent
    games: int
    control: Control
    openings: list[Opening]
    seed: int
    concurrency: int


def openings_of(location: str, plies: int, games: int, seed: int) -> list[Opening]:
    """Return a book's openings in an order the seed decides, or as many random ones as needed."""
    if location:
        return shuffled(read_openings(location, plies or None), seed)
    return random_openings(games // 2, plies or RANDOM_PLIES, seed)


def measure(trial: Trial, journal: Path, report: Path, stop: Stop) -> bool:
    """Play what the journal lacks and write the report; False if stopped before the end."""
    setup = Setup(
        players=parse_players([trial.player, trial.opponent]),
        control=trial.control,
        openings=trial.openings,
        rounds=trial.games // 2,
        seed=trial.seed,
        concurrency=trial.concurrency,
    )
    with Journal(setup.header(), journal) as played, progress("games", total=trial.games) as bar:
        bar.advance(len(played.games))
        results = run(setup, played, stop, lambda _: bar.advance())
    if len(results.games) < setup.games:
        return False
    pairs, tally = results.pairs(0, 1), results.tally(0, 1)
    found = of_pairs(pairs)
    ours, theirs = setup.players
    facts: dict[str, Any] = {
        "player": ours.name,
        "opponent": trial.named,
        # As given, with checksums of the networks' files: what the result is of, whatever comes.
        "players": [ours.identity, theirs.identity],
        "time": round(time.time(), 3),
        "control": str(trial.control),
        "games": trial.games,
        "wins": tally.wins,
        "draws": tally.draws,
        "losses": tally.losses,
        "pentanomial": list(pairs.five),
        "score": found.score,
        # A match won or lost in every game has no Elo, but a bound: see match/elo.py.
        "elo": found.elo,
        "error": found.error,
        "low": found.low,
        "high": found.high,
        "interval": found.interval,
    }
    write_bytes(report, msgspec.json.format(msgspec.json.encode(facts), indent=1))
    counts = f"+{tally.wins} ={tally.draws} -{tally.losses}"
    say(f"{ours.name} against {trial.named}, {trial.control}: {counts}, Elo {found.text(0)}")
    return True
