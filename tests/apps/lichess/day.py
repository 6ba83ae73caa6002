"""A day of the bot against a stand-in of Lichess, everything going wrong that can.

`python -m tests.apps.lichess.day --games 1000 --seed 1`: the real command plays so many games,
is killed, interrupted and started again; at the end there is a table, and the exit status is 1 when
a game hung, lost on time or had an illegal move, or when the bot ended by itself.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import chess.pgn
from chess import Board

from kibitz.data.openings import odds_start
from tests.apps.lichess.faults import (
    ENDINGS,
    IN_GAMES,
    JUNK,
    JUNK_EVENTS,
    DayGame,
    DayServer,
    aborts,
    step_of,
)
from tests.apps.lichess.stand_in import CUT, DEAD, END, OTHER, TOKEN

HUNG = 240.0  # seconds in which the bot leaves undone what it has to do
AT_ONCE = 22  # games; some more than the bot accepts
TICK = 0.1
RESTART = 2.0  # seconds until an ended bot is started again, as by a supervisor
SETTINGS = (
    "games=16", "correspondence=16", "correspondence_rest=1", "correspondence_every=5",
    "correspondence_seconds=1", "takebacks=1", "abort_seconds=5", "comment_every=60",
    'tournaments=["arena1"]', "draw_from=10", "ponder_seconds=2",
)  # fmt: skip
# The command with shorter pauses, as a short day needs.
SHORT_PAUSES = (
    "import functools, sys\n"
    "from kibitz.apps.lichess import server\n"
    "pauses = server.Pauses(limited=1.0, begins=5.0, again=0.05, events=1.0, game=0.2, silence=5.0,"
    " tick=0.05)\n"
    "server.Server = functools.partial(server.Server, pauses=pauses)\n"
    "from kibitz.cli import main\n"
    "sys.exit(main(sys.argv[1:]))"
)
# What comes beside games, once in so many of them.
WEATHER = {
    "events cut in a line": 9, "events ended": 11, "events dead but open": 80,
    "junk lines in events": 7,
    "junk events": 8, "events twice and in disorder": 6, "challenge to be declined": 10,
    "challenge taken back": 20, "accepted, but no game": 60, "all down for seconds": 45,
    "token unknown for seconds": 500, "HTTP 429 without Retry-After": 500, "bot killed": 200,
    "bot interrupted once": 500,
}  # fmt: skip
# What comes only when the bot runs and can stand it, and not twice at a time.
LATE = (
    "token unknown for seconds", "bot killed", "bot interrupted once",
    "HTTP 429 without Retry-After",
)  # fmt: skip
LEAST_LEFT = 200_000  # ms on all clocks of the bot before a restart or a pause of a minute
ENDS = {"events cut in a line": CUT, "events ended": END, "events dead but open": DEAD}
DOWN = 4.0  # seconds
AGAIN = 3.0  # seconds until a declined opponent challenges again
SHOWN = 8000  # characters of what the bot has said last, after something hung


# A state that comes before the first message of a stream.
EARLY = {"type": "gameState", "moves": "e2e4", "wtime": 9, "btime": 9, "status": "mate"}


class Plan(NamedTuple):
    """A game to come."""

    name: str
    challenged: bool  # before, or it begins by itself
    how: dict[str, Any]


def plan_of(number: int, dice: random.Random) -> Plan:
    """A game drawn at random: its variant, clock, opponent and faults."""
    name, white = f"g{number:04}", dice.random() < 0.5
    seconds, increment = dice.choice([(180, 2), (300, 0), (300, 3), (600, 0), (900, 5)])
    how: dict[str, Any] = {
        "bot_white": white, "seed": number, "seconds": seconds, "increment": increment,
        "rated": dice.random() < 0.4, "careful": dice.random() < 0.4,
        "thinks": dice.choice([0, 0, 0.2, 1.0]),
        "resigns_at": dice.choice([8, 12, 16, 24, 40, 120]),
    }  # fmt: skip
    kind = dice.random()
    if kind < 0.12:
        fen = Board.from_chess960_pos(dice.randrange(960)).fen()
        how |= {"variant": "chess960", "fen": fen}
    elif kind < 0.22:
        fen = odds_start(dice.choice(["pawn", "knight", "rook"]), "white" if white else "black")
        how |= {"variant": "fromPosition", "fen": fen, "rated": False}
    elif kind < 0.28:
        how |= {"days": dice.randrange(1, 14), "resigns_at": 10, "rated": False}
    elif kind < 0.34:
        how |= {"tournament": "arena1"}
    script: dict[int, list[str]] = {}
    for _ in range(dice.randrange(2, 6)):
        fault = dice.choice(list(IN_GAMES))
        script.setdefault(dice.randrange(1, 30), []).append(fault)
    if dice.random() < 0.15 and not how.get("days"):  # no clock would end the game
        script.setdefault(dice.randrange(4, 20), []).append(dice.choice(list(ENDINGS)))
    if dice.random() < 0.04:
        script[dice.randrange(2)] = ["opponent aborted"]
    if dice.random() < 0.1:
        how["first"] = [EARLY, dice.choice(JUNK), {"type": {}}]
    how["script"] = script
    return Plan(name, "tournament" not in how and dice.random() < 0.7, how)


def challenge_of(plan: Plan) -> dict[str, Any]:
    """The challenge that a game begins with."""
    how = plan.how
    clock = {"type": "clock", "limit": how["seconds"], "increment": how["increment"]}
    days = {"type": "correspondence", "daysPerTurn": how.get("days")}
    colour = "black" if how["bot_white"] else "white"
    return {
        "id": plan.name,
        "challenger": {"id": OTHER, "name": "Somebody", "rating": 1400, "title": None},
        "variant": {"key": how.get("variant", "standard")},
        "initialFen": how.get("fen"),
        "rated": how["rated"],
        "speed": "correspondence" if how.get("days") else "blitz",
        "timeControl": days if how.get("days") else clock,
        "color": "random" if how["seed"] % 3 == 0 else colour,
        "finalColor": colour,
    }


class BotProcess:
    """The command, started again whenever it has ended."""

    def __init__(self, server: DayServer, folder: Path, nodes: int, short: bool) -> None:
        self._folder, self._server = folder, server
        words = ["-c", SHORT_PAUSES] if short else ["-m", "kibitz"]
        words += ["lichess", "--network", "material", "--url", server.url, "--folder", str(folder)]
        for text in (*SETTINGS, f"nodes={nodes}"):
            words += ["--set", text]
        self._command = [sys.executable, *words]
        self._said = (folder / "said.txt").open("a")
        self.failures: list[int] = []  # exit statuses that nobody has asked for
        self.expected: float | None = None  # when it was asked to end
        self.excused = 0.0  # until when a lost token explains an end
        self.starts, self._again = 0, 0.0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def stopping(self) -> bool:
        return self.expected is not None

    def look(self) -> None:
        """Start it, or see how it has ended."""
        now = time.monotonic()
        if self._process is None:
            if now >= self._again:
                own = {"LICHESS_BOT_TOKEN": TOKEN, "KIBITZ_DATA": str(self._folder)}
                variables = {**os.environ, **own, "PYTHONFAULTHANDLER": "1"}
                self._process = subprocess.Popen(self._command, stderr=self._said, env=variables)
                self.starts += 1
            return
        status = self._process.poll()
        if status is None:
            return
        self._process, self._again = None, now + RESTART
        good = (0, -signal.SIGKILL) if self.stopping else () if now > self.excused else (status,)
        if status not in good:
            self.failures.append(status)
        self.expected = None

    def send(self, number: int) -> None:
        """Ask it to end by a signal."""
        if self._process is not None and not self.stopping:
            self.expected = time.monotonic()
            self._process.send_signal(number)

    def end(self, patience: float) -> bool:
        """Let it end after its games; whether it has."""
        process = self._process
        if process is None:
            self._said.close()
            return True
        self.send(signal.SIGINT)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # it says where its threads stand
            process.wait()
            return False
        finally:
            self.look()
            self._said.close()
        return True


@dataclass
class Day:
    """So many games, and what comes between them."""

    server: DayServer
    bot: BotProcess
    games: int
    dice: random.Random
    short: bool
    plans: dict[str, Plan] = field(default_factory=dict)  # of challenges without an answer
    since: dict[str, float] = field(default_factory=dict)  # when challenges were made
    hung: list[str] = field(default_factory=list)
    longest: tuple[float, str] = (0.0, "-")  # silence of the bot while it had to do something
    planned: int = 0
    listened: float = field(default_factory=time.monotonic)  # when a stream of events stood
    late: list[str] = field(default_factory=list)  # weather that waits for a better moment

    def __post_init__(self) -> None:
        self.server.on_accept = self._accepted
        self.weather: dict[int, list[str]] = {}
        for kind, every in WEATHER.items():
            for _ in range(max(1, round(self.games / every))):
                self.weather.setdefault(self.dice.randrange(self.games), []).append(kind)

    @property
    def ready(self) -> bool:
        """Whether the bot runs, listens and is not about to end."""
        return bool(self.server.events) and not self.bot.stopping

    @property
    def good(self) -> bool:
        """Whether nothing hung, nothing was lost on time, and every move was legal."""
        server = self.server
        return not (self.hung or server.flagged or server.illegal or self.bot.failures)

    def run(self) -> None:
        """Play all games to their ends."""
        while self._goes_on():
            self.bot.look()
            for game in self.server.under_way:
                game.look_at_the_clock()
                self._watch(game)
            self._watch_the_rest()
            busy = len(self.server.under_way) + len(self.plans)
            if self.planned < self.games and busy < AT_ONCE and not self.bot.stopping:
                self._next()
            time.sleep(TICK)
        if not self.bot.end(HUNG):
            self.hung.append("the bot does not end")

    def _goes_on(self) -> bool:
        left = self.planned < self.games or self.plans or self.late
        return bool(left or self.server.under_way or not self.ready)

    def _next(self) -> None:
        plan = plan_of(self.planned, self.dice)
        if self.late:  # until that has come
            plan.how["seconds"] = 600
        for kind in self.weather.get(self.planned, []):
            self._change(kind)
        self.planned += 1
        if plan.challenged:
            self._challenge(plan)
        else:
            self._begin(plan)

    def _challenge(self, plan: Plan) -> None:
        self.plans[plan.name], self.since[plan.name] = plan, time.monotonic()
        made = self.server.open[plan.name] = challenge_of(plan)
        self.server.event({"type": "challenge", "challenge": made})

    def _accepted(self, name: str) -> None:
        plan = self.plans.pop(name, None)
        if plan is not None:
            self._begin(plan)

    def _begin(self, plan: Plan) -> None:
        scripts = plan.how["script"]
        script = {ply: self._faults(kinds) for ply, kinds in scripts.items()}
        self.server.begin(plan.name, **{**plan.how, "script": script})

    def _faults(self, kinds: list[str]) -> Any:
        def befall(game: DayGame) -> None:
            for kind in kinds:
                if not game.over:
                    self.server.count[f"game: {kind}"] += 1
                    {**IN_GAMES, **ENDINGS, "opponent aborted": aborts}[kind](game)

        return befall

    # --- what is watched ------------------------------------------------------------------------

    def _watch(self, game: DayGame) -> None:
        """See how long the bot does nothing where it is its turn."""
        now = time.monotonic()
        if not game.bots_turn or game.over:
            return
        silent = now - max(game.moved_at, game.heard)
        self.longest = max(self.longest, (silent, game.id))
        if now - game.moved_at > HUNG and (game.days or len(game.board.move_stack) < 2):
            self.hung.append(f"{game.id} ({len(game.board.move_stack)} plies)")
            with game.lock:
                game.end("aborted", None)

    def _watch_the_rest(self) -> None:
        """See to challenges without an answer, and to a bot that does not end."""
        now = time.monotonic()
        for name, plan in list(self.plans.items()):
            if name not in self.server.open:  # declined, while the bot was stopping or busy
                if not self.bot.stopping and now - self.since[name] > AGAIN:
                    self._challenge(plan)
            elif now - self.since[name] > HUNG:
                self.hung.append(f"challenge {name}")
                del self.plans[name], self.server.open[name]
        self.listened = now if self.server.events or self.bot.stopping else self.listened
        if now - self.listened > HUNG:
            self.hung.append("no stream of events")
            self.listened = now
        asked = self.bot.expected
        if asked is not None and now - asked > 4 * HUNG:
            self.hung.append("the bot does not end")
            self.bot.expected = None
            self.bot.send(signal.SIGKILL)
        if self.late and self.ready and self._allows(self.late[0]):
            kind = self.late.pop(0)
            self.server.count[f"day: {kind}"] += 1
            self._change_late(kind)

    # --- what comes between games ---------------------------------------------------------------

    def _change(self, kind: str) -> None:
        """Let something happen to the server, the bot or the stream of events."""
        server, now = self.server, time.monotonic()
        if kind in LATE:
            self.late.append(kind)
            return
        server.count[f"day: {kind}"] += 1
        if kind in ENDS:
            server.end_events(ENDS[kind])
        elif kind == "junk lines in events":
            for line in self.dice.sample(JUNK, 3):
                server.event(line)
        elif kind == "junk events":
            for event in self.dice.sample(JUNK_EVENTS, 4):
                server.event(event)
        elif kind == "events twice and in disorder":
            self._disorder()
        elif kind == "all down for seconds":
            server.down = now + DOWN
            server.end_streams(CUT)
        else:
            self._challenge_in_vain(kind)

    def _change_late(self, kind: str) -> None:
        """Let something happen that is not to come twice at a time."""
        if kind == "bot killed":
            self.bot.send(signal.SIGKILL)
        elif kind == "bot interrupted once":
            self.bot.send(signal.SIGINT)
        elif kind == "token unknown for seconds":
            now = time.monotonic()
            self.server.unknown, self.bot.excused = now + DOWN, now + 10 * DOWN
            self.server.end_streams(CUT)
        else:
            self.server.mute_limit()

    def _allows(self, kind: str) -> bool:
        """Whether no game under way would lose its clock, as it must in so long a pause."""
        if kind not in LATE or self.short:
            return True
        games = [game for game in self.server.under_way if not game.days]
        return all(game.left[game.bot_white] >= LEAST_LEFT for game in games)

    def _disorder(self) -> None:
        """Events twice, too late and too early."""
        games = list(self.server.games.values())
        for game in self.dice.sample(games, min(3, len(games))):
            finish = {"type": "gameFinish", "game": {"gameId": game.id}}
            for event in (finish, self.server.start_of(game), self.server.start_of(game)):
                if game.over or event is not finish:
                    self.server.event(event)
        for made in list(self.server.open.values()):
            self.server.event({"type": "challenge", "challenge": made})

    def _challenge_in_vain(self, kind: str) -> None:
        """A challenge from which no game comes."""
        name = f"{kind.split()[-1]}{self.planned}"
        made = challenge_of(plan_of(self.planned, self.dice)) | {"id": name}
        if kind == "challenge to be declined":
            made |= {"variant": {"key": "atomic"}}
        self.server.open[name] = made
        self.server.event({"type": "challenge", "challenge": made})
        if kind == "challenge taken back":
            self.server.event({"type": "challengeCanceled", "challenge": made})
            self.server.open.pop(name, None)


# --- the table ------------------------------------------------------------------------------------


def kept_in(folder: Path, day: Day) -> tuple[int, int]:
    """How many games are in games.pgn with the moves that the server has, and how many others."""
    right: set[str] = set()
    wrong = 0
    with (folder / "games.pgn").open() as file:
        while (kept := chess.pgn.read_game(file)) is not None:
            name = kept.headers["Site"].rpartition("/")[2]
            moves = [move.uci() for move in kept.mainline_moves()]
            good = name not in right and moves == day.server.games[name].moves
            right |= {name} if good else set()
            wrong += not good
    return len(right), wrong


def table_of(day: Day, folder: Path, seconds: float) -> str:
    """What has happened, as lines."""
    server, games = day.server, list(day.server.games.values())
    bot_won = [(game.winner == "white") == game.bot_white for game in games if game.winner]
    endings = Counter(game.status for game in games)
    right, wrong = kept_in(folder, day)
    steps = Counter[str]()
    for _, _, path, _ in server.requests:
        steps[step_of(path)] += 1
    silence, where = day.longest
    rows: list[tuple[str, object]] = [
        ("games begun", len(games)),
        *((f"  ended by {status}", number) for status, number in endings.most_common()),
        ("won, drawn or aborted, lost", f"{sum(bot_won)}, {len(games) - len(bot_won)}, "
         f"{len(bot_won) - sum(bot_won)}"),
        ("plies", sum(len(game.moves) for game in games)),
        ("in games.pgn with all their moves", right),
        ("in games.pgn twice or otherwise", wrong),
        ("illegal moves", len(server.illegal)),
        ("lost on time", len(server.flagged)),
        ("hung", len(day.hung)),
        ("bot ended by itself", len(day.bot.failures)),
        ("starts of the bot", day.bot.starts),
        ("longest silence when it was to move, s", f"{silence:.1f} ({where})"),
        ("seconds", f"{seconds:.0f}"),
        ("requests", len(server.requests)),
        *((f"  {step}", number) for step, number in steps.most_common()),
        ("challenges answered", sum(server.answers.values())),
        *((f"  {answer}", number) for answer, number in server.answers.most_common()),
        ("faults", sum(server.count.values())),
        *((f"  {fault}", number) for fault, number in sorted(server.count.items())),
    ]  # fmt: skip
    lines = [f"{name:<60}{number!s:>20}" for name, number in rows]
    return "\n".join([*lines, *(f"HUNG {what}" for what in day.hung),
                      *(f"LOST ON TIME {name}" for name in server.flagged),
                      *(f"ILLEGAL {move}" for move in server.illegal)])  # fmt: skip


def play_day(folder: Path, games: int, seed: int, nodes: int, short: bool = False) -> Day:
    """Play a day, print its table, and return it."""
    began, server = time.monotonic(), DayServer(seed)
    day = Day(server, BotProcess(server, folder, nodes, short), games, random.Random(seed), short)
    try:
        day.run()
    finally:
        day.bot.end(0.0)
        server.close()
    sys.stdout.write(f"{table_of(day, folder, time.monotonic() - began)}\n")
    if day.hung:
        sys.stdout.write((folder / "said.txt").read_text()[-SHOWN:])
    return day


def main() -> int:
    """Play a day as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=30)
    parser.add_argument(
        "--folder", type=Path, required=True, help="for games.pgn, bot.log and said.txt"
    )
    parser.add_argument("--short", action="store_true", help="with short pauses")
    given = parser.parse_args()
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    return not play_day(folder, given.games, given.seed, given.nodes, given.short).good


if __name__ == "__main__":
    sys.exit(main())
