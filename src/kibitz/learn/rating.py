"""Matches of a run's networks, and ratings from all their games at once, with intervals."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from kibitz.evaluator.discover import BEST
from kibitz.files import measured, read_bytes, write_bytes
from kibitz.games.openings import random_openings
from kibitz.learn.config import Learn
from kibitz.learn.folder import Folder, Rated, Result
from kibitz.learn.work import Work, processor_seconds
from kibitz.match.elo import Tally
from kibitz.match.game import Control
from kibitz.match.journal import Journal, Results
from kibitz.match.rating import Rating, ratings
from kibitz.match.runner import Setup, run
from kibitz.match.spec import parse_players

HASH = 16  # MiB of a network's tree
NEAR = 50.0  # Elo that a few rating games cannot tell from none


def match(work: Work, name: str, players: list[str], games: int) -> Results | None:
    """Games of the first player against each other one, both colours; None if asked to stop.

    The journal's name depends on all that makes it another match, so none is ever refused.
    """
    learn = work.settings.learn
    setup = Setup(
        players=parse_players(players),
        control=Control(nodes=learn.rating_nodes),
        openings=random_openings(games // 2, learn.rating_plies, learn.seed),
        rounds=games // 2,
        gauntlet=True,
        seed=learn.seed,
        concurrency=work.cores,
    )
    header = setup.header()
    places = (one.replace(f"{work.folder.root}/", "") for one in header.players)
    header = msgspec.structs.replace(header, players=tuple(places))  # wherever the folder is
    digest = hashlib.sha256(msgspec.json.encode(header)).hexdigest()[:8]
    with Journal(header, work.folder.root / "matches" / f"{name}-{digest}.jsonl") as journal:
        work.begin("rate", work.generation, setup.games, len(journal.games))
        results = run(setup, journal, work.stop, lambda _: work.advance())
        return results if len(results.games) == setup.games else None


def player_of(folder: Folder, learn: Learn, opponent: str) -> str:
    """An opponent as kibitz match knows it; a number is the generation of a network."""
    if not opponent.isdecimal():
        return opponent
    number = int(opponent)
    what = str(folder.network(number)) if number else learn.start
    return f"{what},Hash={HASH},Search=mcts,name=generation-{number}"


def due(folder: Folder, learn: Learn) -> int | None:
    """The newest generation that is to be rated and is not; None if there is none."""
    wanted = {one for one in folder.trained() if one == 1 or one % learn.rate_every == 0}
    return max(wanted - set(folder.rated()), default=None)


def rate(work: Work, generation: int) -> bool:
    """Rate a generation's network; False if asked to stop before its end."""
    folder, learn, began = work.folder, work.settings.learn, processor_seconds()
    work.generation = generation
    opponents = opponents_of(folder.rated(), learn, generation)
    players = [player_of(folder, learn, one) for one in (str(generation), *opponents)]
    results = match(work, f"{generation:04}", players, learn.rating_games)
    if results is None:
        return False
    tallies = [results.tally(0, number) for number in range(1, len(players))]
    found = [
        Result(opponent=name, **tally._asdict())
        for name, tally in zip(opponents, tallies, strict=True)
    ]
    made = Rated(
        generation=generation, results=tuple(found), processor=measured(processor_seconds() - began)
    )
    folder.write(folder.root / "rated" / f"{generation:04}.json", made)
    keep_best(folder)
    return True


def opponents_of(rated: Mapping[int, Rated], learn: Learn, generation: int) -> list[str]:
    """Whom a generation meets: earlier networks, and those that are not beaten yet."""
    last = {
        result.opponent: score_of(result)
        for number in sorted(rated)
        if number < generation
        for result in rated[number].results
    }
    named = [one for one in learn.opponents if last.get(one, 0.0) < learn.beaten]
    before = [0, *sorted(number for number in rated if number < generation)]
    earlier = {before[-back] for back in learn.earlier if back <= len(before)}
    return [*named, *map(str, sorted(earlier))]


def score_of(result: Result) -> float:
    """The share of points that a network made."""
    tally = Tally(result.wins, result.draws, result.losses)
    return tally.points / max(1, tally.games)


def gate(work: Work, generation: int) -> tuple[int, float | None] | None:
    """Whose network plays the games of a generation, and the new one's score against the last.

    None if asked to stop before that is known.
    """
    learn, trained = work.settings.learn, work.folder.trained()
    if not learn.gate or generation == 1:
        return generation, None
    last, work.generation = trained[generation - 1].plays, generation
    players = [player_of(work.folder, learn, str(one)) for one in (generation, last)]
    results = match(work, f"gate-{generation:04}", players, learn.gate_games)
    if results is None:
        return None
    tally = results.tally(0, 1)
    score = tally.points / tally.games
    return (generation if score >= learn.gate else last), score


# --- all games at once ----------------------------------------------------------------------------


def scale(games: Iterable[tuple[str, Result]], learn: Learn) -> dict[str, Rating]:
    """The likeliest ratings of all players from all their games, by their names."""
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for name, result in games:
        key = name, result.opponent
        more = result.wins, result.draws, result.losses
        tallies[key] = Tally(*(a + b for a, b in zip(tallies[key], more, strict=True)))
    names = sorted({name for pair in tallies for name in pair})
    if not names:
        return {}
    place = {name: number for number, name in enumerate(names)}
    found = ratings(
        names,
        {(place[a], place[b]): tally for (a, b), tally in tallies.items()},
        mean=learn.anchor_elo,
        anchor=place.get(learn.anchor, 0),
    )
    return {rating.name: rating for rating in found}


def ratings_of(folder: Folder) -> dict[str, Rating]:
    """The ratings of a run's generations, by their numbers, and of their opponents."""
    games = [(str(one.generation), game) for one in folder.rated().values() for game in one.results]
    return scale(games, folder.settings().learn)


def best_of(ratings: Mapping[str, Rating], newest: int) -> int:
    """The newest generation that is rated like the highest one; without ratings the newest.

    The highest of many ratings is often a lucky one, and the networks after it are stronger.
    """
    known = {int(name): one.elo for name, one in ratings.items() if name.isdecimal() and int(name)}
    highest = max(known.values(), default=0.0)
    return max((one for one, elo in known.items() if elo >= highest - NEAR), default=newest)


def keep_best(folder: Folder) -> None:
    """Copy the best network to where `kibitz play --network FOLDER` finds it."""
    best = best_of(ratings_of(folder), folder.newest)
    write_bytes(folder.root / BEST, read_bytes(folder.network(best)))
