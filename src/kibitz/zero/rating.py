"""Matches of a run's networks, and ratings from all their games at once, with intervals."""

from __future__ import annotations

import math
import shlex
import shutil
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

import kibitz
from kibitz.arena.match.elo import Pairs, Sprt, Tally, expected_score
from kibitz.arena.match.game import Control
from kibitz.arena.match.journal import Journal, Results
from kibitz.arena.match.rating import Rating, ratings
from kibitz.arena.match.runner import Setup, run, try_out
from kibitz.arena.match.spec import PROGRAMS, parse_player, parse_players
from kibitz.core.files import measured, read_bytes, sha256_of, write_bytes
from kibitz.core.log import say
from kibitz.data.openings import random_openings
from kibitz.nets.discover import BEST
from kibitz.nets.files import read_card
from kibitz.zero.config import Learn
from kibitz.zero.folder import Folder, Rated, Result, Work, processor_seconds

HASH = 16  # MiB of a network's tree
SEED_BITS = 32  # of a match's name, below the run's seed
FEWEST_PAIRS = 30  # that say how much pairs vary
UNTIL = " (until generation "  # after the name of an opponent that became another player
NEAR = 50.0  # Elo that a few rating games cannot tell from none


def match(
    work: Work, name: str, first: str, second: str, games: int, sprt: Sprt | None = None
) -> Results | None:
    """Games of two players, both colours of each opening; None if asked to stop.

    With a test it ends once that is decided. Openings and random numbers follow from the match's
    name, so no two matches share any. The journal's name depends on all that makes it another
    match, so none is ever refused.
    """
    learn = work.settings.learn
    seed = learn.seed << SEED_BITS | zlib.crc32(f"{name} {anywhere(work.folder, second)}".encode())
    setup = Setup(
        players=parse_players([first, second]),
        control=Control(nodes=learn.rating_nodes),
        openings=random_openings(games // 2, learn.rating_plies, seed),
        rounds=games // 2,
        seed=seed,
        sprt=sprt,
        concurrency=work.cores,
    )
    header = setup.header()
    places = tuple(anywhere(work.folder, player) for player in header.players)
    header = msgspec.structs.replace(header, players=places)
    path = work.folder.root / "matches" / f"{name}-{header.digest}.jsonl"
    with Journal(header, path) as journal:
        work.begin("rate", work.generation, setup.games, len(journal.games))
        results = run(setup, journal, work.stop, lambda _: work.advance())
        decided = sprt is not None and sprt.verdict(results.pairs(0, 1)) is not None
        return results if decided or len(results.games) == setup.games else None


def anywhere(folder: Folder, text: str) -> str:
    """A player as it is called wherever the run's folder is."""
    return text.replace(f"{folder.root}/", "")


def player_of(folder: Folder, learn: Learn, opponent: str) -> str:
    """An opponent as a player of `kibitz match`; a number is the generation of a network.

    Whatever searches does so by the search of `rating_search` unless it says otherwise: which one
    is the default at so many nodes may change, and what is measured must not.
    """
    search = f"Search={learn.rating_search}"
    if opponent.isdecimal():
        number = int(opponent)
        what = str(folder.network(number)) if number else folder.start(learn)
        return f"{what},Hash={HASH},{search},name=generation-{number}"
    spec = parse_player(opponent)
    named = any(name.lower() == "search" for name in spec.options)
    own = spec.kind != "engine" or named or spec.preset != "default"
    return opponent if own else f"{opponent},{search}"


def identity_of(folder: Folder, player: str) -> str:
    """All that makes a player who it is: settings, network, program, search, and our version.

    A network of the run itself is known by its weights: its card has the name of the run's folder.
    """
    spec = parse_player(player)
    identity = spec.identity
    if spec.what.startswith(f"{folder.root}/networks/"):
        identity = identity.replace(sha256_of(spec.what)[:12], read_card(spec.what).sha256[:12])
    parts = [anywhere(folder, identity)]
    if spec.kind == "engine":
        parts.append(f"search={spec.engine().settings.search}")
    if spec.kind in PROGRAMS:
        program = shutil.which(shlex.split(spec.what)[0])
        parts += [f"#{sha256_of(program)[:12]}"] if program else []
    return " ".join([*parts, f"kibitz {kibitz.__version__}"])


def due(folder: Folder, learn: Learn, over: bool = False) -> int | None:
    """The newest generation that is to be rated and is not; None if there is none.

    When the run is over its last one is to be rated, too.
    """
    trained = folder.trained()
    wanted = {number for number in trained if number == 1 or number % learn.rate_every == 0}
    wanted |= {folder.newest} & {*trained} if over else set()
    return max(wanted - set(folder.rated()), default=None)


def rate(work: Work, generation: int) -> bool:
    """Rate a generation's network; False if asked to stop before its end."""
    folder, learn = work.folder, work.settings.learn
    began = processor_seconds(), time.monotonic()
    work.generation = generation
    rated = folder.rated()
    players = (*learn.opponents, str(generation))
    identities = {
        opponent: identity_of(folder, player_of(folder, learn, opponent)) for opponent in players
    }
    _say_changes(rated, identities)
    matches = []
    for opponent in opponents_of(rated, learn, generation, identities):
        player = player_of(folder, learn, opponent)
        first = player_of(folder, learn, str(generation))
        results = match(work, f"{generation:04}", first, player, learn.rating_games)
        if results is None:
            return False
        matches.append(
            Result(
                opponent=opponent,
                identity=identities.get(opponent) or identity_of(folder, player),
                called=_own_name(player),
                pairs=results.pairs(0, 1),
                **results.tally(0, 1)._asdict(),
            )
        )
    made = Rated(
        generation=generation,
        results=tuple(matches),
        processor=measured(processor_seconds() - began[0]),
        seconds=measured(time.monotonic() - began[1]),
        identity=identities[str(generation)],
    )
    folder.write(folder.root / "rated" / f"{generation:04}.json", made)
    keep_best(folder)
    return True


def _own_name(player: str) -> str:
    """What a program calls itself; empty for players that are none or have a name."""
    spec = parse_player(player)
    return "" if spec.is_named else try_out([spec])[0].name


def last_identities(rated: Mapping[int, Rated]) -> dict[str, str]:
    """Who each opponent was when it was met last."""
    met = [result for number in sorted(rated) for result in rated[number].results]
    return {result.opponent: result.identity for result in met}


def _say_changes(rated: Mapping[int, Rated], identities: Mapping[str, str]) -> None:
    """Say which opponents are other players than when they were met last."""
    for opponent, before in last_identities(rated).items():
        now = identities.get(opponent)
        if now is not None and now != before:
            was = before or "not recorded"
            say(f"{opponent} is another player now and is rated apart: it was {was}, it is {now}")


def opponents_of(
    rated: Mapping[int, Rated], learn: Learn, generation: int, identities: Mapping[str, str]
) -> list[str]:
    """Whom a generation meets: earlier networks, and those that are not beaten yet as they are."""
    last = {
        result.opponent: score_of(result)
        for number in sorted(rated)
        if number < generation
        for result in rated[number].results
        if result.identity == identities.get(result.opponent)
    }
    named = [opponent for opponent in learn.opponents if last.get(opponent, 0.0) < learn.beaten]
    before = [0, *sorted(number for number in rated if number < generation)]
    earlier = {before[-back] for back in learn.earlier if back <= len(before)}
    return [*named, *map(str, sorted(earlier))]


def score_of(result: Result) -> float:
    """The share of points that a network made."""
    tally = Tally(result.wins, result.draws, result.losses)
    return tally.points / max(1, tally.games)


class Gate(NamedTuple):
    """Whose network plays the games of a generation, and the games that decided it."""

    plays: int
    score: float | None = None  # of the new network against the last
    games: Result | None = None


def gate(work: Work, generation: int) -> Gate | None:
    """Decide whose network plays the games of a generation; None if asked to stop before.

    A test that most games leave undecided says which of its two hypotheses is the likelier.
    """
    learn, trained = work.settings.learn, work.folder.trained()
    untaught = generation == 1 and not learn.is_taught
    if not (learn.gate or learn.gate_bounds) or untaught:
        return Gate(generation)
    sprt = learn.gate_test()
    last = trained[generation - 1].plays if generation > 1 else 0
    work.generation = generation
    first, second = (player_of(work.folder, learn, str(number)) for number in (generation, last))
    results = match(work, f"gate-{generation:04}", first, second, learn.gate_games, sprt)
    if results is None:
        return None
    tally, pairs = results.tally(0, 1), results.pairs(0, 1)
    score = tally.points / tally.games
    games = Result(opponent=str(last), pairs=pairs, **tally._asdict())
    passed = score >= learn.gate if sprt is None else sprt.llr(pairs) > 0
    return Gate(generation if passed else last, score, games)


# --- all games at once ----------------------------------------------------------------------------


def scale(games: Iterable[tuple[str, Result]], learn: Learn) -> dict[str, Rating]:
    """The likeliest ratings of all players from all their games, by their names.

    Games of one opening are not independent: intervals are as wide as the scores of pairs vary.
    """
    games = [*games]
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for name, result in games:
        key = name, result.opponent
        more = result.wins, result.draws, result.losses
        tallies[key] = Tally(*(a + b for a, b in zip(tallies[key], more, strict=True)))
    names = sorted({name for pair in tallies for name in pair})
    if not names:
        return {}
    place = {name: number for number, name in enumerate(names)}
    rated = ratings(
        names,
        {(place[a], place[b]): tally for (a, b), tally in tallies.items()},
        mean=learn.anchor_elo,
        anchor=place.get(learn.anchor, 0),
    )
    named = {rating.name: rating for rating in rated}
    wider = math.sqrt(dispersion(games, named))
    return {name: rating._replace(error=rating.error * wider) for name, rating in named.items()}


def dispersion(games: Iterable[tuple[str, Result]], rated: Mapping[str, Rating]) -> float:
    """Variance of the points of pairs, as a share of that of two independent wins and losses.

    Draws make it smaller, openings that favour a player with both colours make it larger. Of few
    pairs it is taken to be 1.
    """
    observed = model = 0.0
    count = 0
    for name, result in games:
        expected = expected_score(rated[name].elo - rated[result.opponent].elo)
        five = Pairs(*result.pairs).five
        count += sum(five)
        model += sum(five) * 2 * expected * (1 - expected)
        observed += sum(n * (half / 2 - 2 * expected) ** 2 for half, n in enumerate(five))
    free = count - len(rated) + 1
    return observed / model * count / free if free >= FEWEST_PAIRS and model else 1.0


def own_names(folder: Folder) -> dict[str, str]:
    """What the programs among the opponents call themselves, by the opponents' texts."""
    results = [result for rated in folder.rated().values() for result in rated.results]
    return {result.opponent: result.called for result in results if result.called}


def ratings_of(folder: Folder) -> dict[str, Rating]:
    """The ratings of a run's generations, by their numbers, and of their opponents.

    They are fitted to all games there are: those of all rating matches and of all gates.
    """
    games = split_by_identity(folder.rated())
    gates = [
        (str(n), network.gate_games)
        for n, network in folder.trained().items()
        if network.gate_games
    ]
    return scale([*games, *gates] if games else [], folder.settings().learn)


def split_by_identity(rated: Mapping[int, Rated]) -> list[tuple[str, Result]]:
    """All rating games; who an opponent was before it became another player has a name of its own.

    >>> then = Result(opponent="material", wins=2, draws=0, losses=0, identity="alpha-beta")
    >>> now = Result(opponent="material", wins=0, draws=2, losses=0, identity="tree search")
    >>> rated = [Rated(generation=n, results=(r,), processor=0) for n, r in ((1, then), (4, now))]
    >>> [result.opponent for _, result in split_by_identity({one.generation: one for one in rated})]
    ['material (until generation 1)', 'material']
    """
    newest, until = last_identities(rated), dict[tuple[str, str], int]()
    for number in sorted(rated):
        until |= {(result.opponent, result.identity): number for result in rated[number].results}
    games = []
    for number, record in rated.items():
        for result in record.results:
            name = result.opponent
            if not name.isdecimal() and result.identity != newest[name]:
                name = f"{name}{UNTIL}{until[name, result.identity]})"
            games.append((str(number), msgspec.structs.replace(result, opponent=name)))
    return games


def best_of(ratings: Mapping[str, Rating], newest: int) -> int:
    """The newest generation that is rated like the highest one; without ratings the newest.

    The highest of many ratings is often a lucky one, and the networks after it are stronger.
    """
    elos = {
        int(name): rating.elo for name, rating in ratings.items() if name.isdecimal() and int(name)
    }
    highest = max(elos.values(), default=0.0)
    return max((number for number, elo in elos.items() if elo >= highest - NEAR), default=newest)


def keep_best(folder: Folder) -> None:
    """Copy the best network to where `kibitz play --network FOLDER` finds it."""
    best = best_of(ratings_of(folder), folder.newest)
    write_bytes(folder.root / BEST, read_bytes(folder.network(best)))
