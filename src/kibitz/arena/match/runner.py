"""A match: all games of a schedule, several at a time, until they are played or SPRT has decided.

Every opening is played twice by the same two, with colours exchanged; games 2n and 2n + 1 are such
a pair. Numbers do not depend on how many rounds follow, so that a match can be made longer later.

Every worker is a thread with players of its own. UCI programs work in their processes, and compiled
searches release Python's lock, so games do run at the same time. On a cluster processes
take the place of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from kibitz.arena.match.elo import RunningTest, Sprt
from kibitz.arena.match.game import Aborted, Control, Seat, Terms, play_game
from kibitz.arena.match.journal import Journal, MatchHeader, PlayedGame, Results
from kibitz.arena.match.player import START_MS, Player, PlayerError, ProgramPlayer
from kibitz.arena.match.spec import Spec, needs_limits
from kibitz.core.errors import InputError
from kibitz.core.log import Stop, say
from kibitz.core.workers import cluster, in_processes, in_threads, never
from kibitz.data.openings import Opening, digest
from kibitz.engine.running import without_gc_pauses

MOST_WORKERS = 256
LONGEST_NAME = 60  # letters of what a program calls itself


class Pairing(NamedTuple):
    """One game; players by their place in the match, the opening by its place in the list."""

    number: int
    white: int
    black: int
    opening: int


def meetings(players: int, *, gauntlet: bool = False) -> list[tuple[int, int]]:
    """Who meets whom in every round: all meet all, or the first one all others."""
    if gauntlet:
        return [(0, other) for other in range(1, players)]
    return list(combinations(range(players), 2))


def schedule(
    players: int, rounds: int, *, gauntlet: bool = False, odds: bool = False
) -> Iterator[Pairing]:
    """All games, round by round; all games have the same opening in a round, with both colours.

    At odds the first of two players always has White, and every game its own opening.
    """
    number = 0
    for opening in range(rounds):
        for first, second in meetings(players, gauntlet=gauntlet):
            if odds:
                yield Pairing(number, first, second, 2 * opening)
                yield Pairing(number + 1, first, second, 2 * opening + 1)
            else:
                yield Pairing(number, first, second, opening)
                yield Pairing(number + 1, second, first, opening)
            number += 2


def seed_of(match_seed: int, pairing: Pairing, player: int) -> int:
    """The seed of a player's random numbers in a game, the same whenever the game is played."""
    return (match_seed * 1_000_003 + pairing.number * 16 + player) % 2**63


@dataclass(frozen=True)
class Setup:
    """A match as it was asked for."""

    players: list[Spec]
    control: Control
    openings: Sequence[Opening]
    rounds: int  # pairs of games for every two players who meet
    gauntlet: bool = False
    seed: int = 0
    terms: Terms = field(default_factory=Terms)
    sprt: Sprt | None = None
    concurrency: int = 1
    source: str = ""  # where the openings come from, if more are chosen for more games
    odds: bool = False  # the first of two players always has White, as who gives odds

    def __post_init__(self) -> None:
        if len(self.players) < 2:
            raise InputError("players", value=len(self.players), fix="name at least two")
        if self.sprt is not None and len(self.players) != 2:
            raise InputError("SPRT is between two players", value=len(self.players))
        if not 1 <= self.concurrency <= MOST_WORKERS:
            fix = f"give 1 to {MOST_WORKERS}"
            raise InputError("--concurrency", value=self.concurrency, fix=fix)
        for spec in self.players:
            if needs_limits(spec) and not self.control.limited:
                fix = "give --tc, --movetime, --nodes or --depth"
                raise InputError("a player without limits never moves", value=spec.name, fix=fix)

    def control_of(self, spec: Spec) -> Control:
        """The player's own time control, else the match's."""
        return spec.control or self.control

    def pairings(self) -> Iterator[Pairing]:
        """All games, whether or not they have been played."""
        return schedule(len(self.players), self.rounds, gauntlet=self.gauntlet, odds=self.odds)

    @property
    def games(self) -> int:
        """How many there are."""
        return sum(1 for _ in self.pairings())

    def header(self) -> MatchHeader:
        """The identity of a match in its journal; it may grow, so rounds are not in it."""
        return MatchHeader(
            players=tuple(spec.identity for spec in self.players),
            control=str(self.control),
            gauntlet=self.gauntlet,
            seed=self.seed,
            rules=str(self.terms.rules),
            openings=self.source or digest(self.openings),
            odds=self.odds,
        )


def run(
    setup: Setup,
    journal: Journal,
    stop: Stop,
    on_game: Callable[[PlayedGame], None] = lambda _: None,
) -> Results:
    """Play what the journal lacks; `on_game` is called with every finished game, one at a time.

    Once `stop` is requested, games in progress are left after the current move, not recorded, and
    played from their beginning when the match is continued.
    """
    already_played = sum(pairing.number in journal.games for pairing in setup.pairings())
    if (kept := len(journal.games)) > setup.games:
        say(f"{kept} games were there already, more than {setup.games}: all of them count")
    elif already_played:
        say(f"{already_played} of {setup.games} games were there already")
    run_together([(setup, journal)], stop, on_game)
    return counted(setup, journal)


def run_together(
    matches: Sequence[tuple[Setup, Journal]], stop: Stop, on_game: Callable[[PlayedGame], None]
) -> None:
    """Play what the journals of several matches lack: on a cluster nobody waits between them."""
    listed = [_Match(setup, journal, stop, on_game) for setup, journal in matches]
    if cluster() is not None:
        _play_elsewhere(listed)
        return
    for match in listed:
        with without_gc_pauses():
            in_threads(match.work, match.setup.concurrency)


def counted(setup: Setup, journal: Journal) -> Results:
    """The games that count: what ended beside the pair that decided a test is left out."""
    results = Results(journal.games)
    if setup.sprt is None:
        return results
    test = RunningTest(setup.sprt)
    return results if test.advance(results.pair) is None else results.first(test.pairs.total)


class Table:
    """Where games of a match are played: players that stay from game to game."""

    def __init__(self, setup: Setup, players: dict[tuple[str, int], Player] | None = None) -> None:
        """`players` are those of other tables, too, if only one game is played at a time."""
        self._setup = setup
        self._players = {} if players is None else players

    def play(self, pairing: Pairing, over: Callable[[], bool] = never) -> PlayedGame:
        """Play a game to its end, or until it is `over`."""
        setup = self._setup
        seats = []
        for index in (pairing.white, pairing.black):
            spec = setup.players[index]
            key = repr(spec), index
            if key not in self._players:
                self._players[key] = spec.open(setup.terms.start)
            seed = seed_of(setup.seed, pairing, index)
            seats.append(Seat(index, self._players[key], setup.control_of(spec), seed))
        opening = setup.openings[pairing.opening % len(setup.openings)]
        white, black = seats
        return play_game(pairing.number, white, black, opening, setup.terms, over)

    def close(self) -> None:
        """End the players."""
        for player in self._players.values():
            player.close()


class _Tables:
    """The tables of several matches in a process of a cluster, with the same players at them."""

    def __init__(self, setups: Sequence[Setup]) -> None:
        players: dict[tuple[str, int], Player] = {}
        self._tables = [Table(setup, players) for setup in setups]

    def __call__(self, task: tuple[int, Pairing]) -> tuple[int, PlayedGame]:
        """Play a game of a match; both come with the place of the match."""
        place, pairing = task
        with without_gc_pauses():
            return place, self._tables[place].play(pairing)


class _Match:
    """The games still to be played, handed out to workers; what goes wrong in one stops all."""

    def __init__(
        self, setup: Setup, journal: Journal, stop: Stop, on_game: Callable[[PlayedGame], None]
    ) -> None:
        self.setup, self._journal, self._stop, self._on_game = setup, journal, stop, on_game
        self._to_play = (
            pairing for pairing in setup.pairings() if pairing.number not in journal.games
        )
        self._lock = threading.Lock()
        self._test = None if setup.sprt is None else RunningTest(setup.sprt)
        self._failed = False

    def work(self) -> None:
        """Play one game after another until there is none left."""
        table = Table(self.setup)
        try:
            while (pairing := self.next()) is not None:
                self.finish(table.play(pairing, self._over))
        except Aborted:
            return
        except BaseException:
            self._failed = True
            raise
        finally:
            table.close()

    def _over(self) -> bool:
        return self._stop.requested or self._failed

    @property
    def needs_no_game(self) -> bool:
        """Whether games in progress can be given up: a stop is requested, or a test decided."""
        with self._lock:
            return self._over() or self._decided()

    def next(self) -> Pairing | None:
        """A game to play; None: no more."""
        with self._lock:
            if self._over() or self._decided():
                return None
            return next(self._to_play, None)

    def _decided(self) -> bool:
        test = self._test
        return test is not None and test.advance(Results(self._journal.games).pair) is not None

    def finish(self, game: PlayedGame) -> None:
        """Keep a game that is over."""
        with self._lock:
            self._journal.add(game)
            self._on_game(game)


def _play_elsewhere(matches: Sequence[_Match]) -> None:
    """Have the games of matches played by the processes of a cluster."""
    setups = [match.setup for match in matches]
    tasks = (
        (place, pairing)
        for place, match in enumerate(matches)
        for pairing in iter(match.next, None)
    )
    needs = [file for setup in setups for spec in setup.players for file in spec.files]
    games = in_processes(
        _Tables(setups),
        tasks,
        0,
        needs=needs,
        stopped=lambda: all(match.needs_no_game for match in matches),
    )
    for place, game in games:
        matches[place].finish(game)


class StartupReport(NamedTuple):
    """What a player says of itself when it is started."""

    name: str  # a program's own; empty for players that are none
    resources: tuple[str, str]  # threads and hash as fastchess shows them


def try_out(specs: list[Spec], start_ms: float = START_MS) -> list[StartupReport]:
    """Start every player once, so that a wrong path or option costs no game."""
    tried = []
    for spec in specs:
        player = spec.open(start_ms)
        try:
            player.new_game(0)
            tried.append(
                StartupReport(_own_name(player), getattr(player, "resources", ("NULL", "NULL")))
            )
            for problem in getattr(player, "problems", ()):
                say(f"{spec.name}: {problem}")
        except PlayerError as error:
            raise InputError(f"{spec.name} does not start ({error.detail})") from error
        finally:
            player.close()
    return tried


def _own_name(player: Player) -> str:
    """What a running program calls itself, in letters that fit a tag and a table."""
    client = player.client if isinstance(player, ProgramPlayer) else None
    letters = "" if client is None else client.name
    return "".join(letter for letter in letters if letter.isprintable()).strip()[:LONGEST_NAME]
