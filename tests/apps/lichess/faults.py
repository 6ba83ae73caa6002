"""What goes wrong in a day on Lichess: a stand-in whose requests, streams and players fail."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import chess

from tests.apps.lichess.stand_in import DEAD, END, FakeGame, StandIn

RATE = 0.03  # of the requests fail
SLOW, TOO_SLOW = 1.5, 11.0  # seconds; the bot waits for an answer for ten
RETRY_AFTER = "1"
GONE = 60_000  # ms on the clock of an opponent who has left
# HTTP status by weight; 0 breaks the connection, 200 answers with a page of HTML.
FAILURES = {429: 2, 500: 3, 502: 3, 0: 3, 200: 2, 400: 2}
WORDS = {0: "broken off", 200: "HTML", 400: "refused once", 404: "HTTP 404 once"}

JUNK = (
    b"{not json", b"null", b"[1, 2]", b'"gameStart"', b"\xff\xfe", b"[" * 5000, b"\x00" * 50, b"{}",
    b'{"type": null}', b'{"type": "gameState", "moves', b'{"type": "gameStart", "game": {',
    b'{"type": "somethingNew", "x": 1}', b'{"no": "type"}', b'{"type": ["gameState"]}',
)  # fmt: skip
JUNK_EVENTS = (
    {"type": "challenge", "challenge": {"id": {}}}, {"type": "challenge", "challenge": []},
    {"type": "gameStart", "game": None}, {"type": "gameStart", "game": {"gameId": 5}},
    {"type": "gameStart"}, {"type": "gameFinish", "game": "x"}, {"type": "challengeCanceled"},
    {"type": "challengeDeclined", "challenge": {"id": "unheard"}}, {"type": "somethingNew"},
)  # fmt: skip
CHAT = (
    "!eval", "!line", "!why", "!help", "!name", "!nonsense", "!" * 500, "! ", "hello", "", "\ud800",
    "!why \x00\u202e", "!EVAL  !eval", None, 5, ["!why"],
)  # fmt: skip
# What may become of a field of a state on its way.
SPOILED: tuple[tuple[str, Any], ...] = (
    ("moves", None), ("moves", 5), ("moves", "e2e4 e2e5 xx"), ("wtime", "soon"), ("wtime", 1e99),
    ("btime", None), ("status", 7), ("winner", []), ("winc", {}),
)  # fmt: skip


class DayGame(FakeGame):
    """A game whose messages may be spoiled, and whose clocks run by themselves."""

    server: DayServer

    def __init__(self, server: StandIn, name: str, **how: Any) -> None:
        self.wishes: list[Callable[[Any], list[Any]]] = []  # what becomes of the next messages
        self.heard = time.monotonic()  # when the bot has last asked anything about it
        super().__init__(server, name, **how)

    @property
    def bots_turn(self) -> bool:
        return (self.board.turn == chess.WHITE) == self.bot_white

    def tell(self, message: Any) -> None:
        if self.wishes and isinstance(message, dict) and message.get("type") == "gameState":
            for changed in self.wishes.pop()(message):
                super().tell(changed)
            return
        super().tell(message)

    def offer(self, what: str) -> None:
        """Offer a draw or a takeback, for as long as nobody moves."""
        self.flags = {f"{'b' if self.bot_white else 'w'}{what}": True}
        self.tell(self.state())

    def look_at_the_clock(self) -> None:
        """End a game whose clock has run out."""
        with self.lock:
            if self.over or self.days or len(self.board.move_stack) < 2:
                return
            mover = self.board.turn
            if self.left[mover] - 1000 * (time.monotonic() - self.moved_at) <= 0:
                if self.bots_turn:
                    self.server.flagged.append(self.id)
                self.end("outoftime", "black" if mover else "white")


Fault: TypeAlias = Callable[[DayGame], None]


def cut(game: DayGame) -> None:
    game.break_streams()


def end_stream(game: DayGame) -> None:
    streams, game.streams = game.streams, []
    for stream in streams:
        stream.put(END)


def dead_stream(game: DayGame) -> None:
    streams, game.streams = game.streams, []
    for stream in streams:
        stream.put(DEAD)


def junk_lines(game: DayGame) -> None:
    for line in game.generator.sample(JUNK, 3):
        game.tell(line)


def half_line(game: DayGame) -> None:
    """Of the next state only a part arrives, as a line."""
    game.wishes.append(
        lambda state: [json.dumps(state).encode()[: game.generator.randrange(5, 90)]]
    )


def spoiled_state(game: DayGame) -> None:
    field, value = game.generator.choice(SPOILED)
    game.wishes.append(lambda state: [{**state, field: value}])


def missing_field(game: DayGame) -> None:
    field = game.generator.choice(["moves", "wtime", "status", "type"])
    game.wishes.append(lambda state: [{key: state[key] for key in state if key != field}])


def state_twice(game: DayGame) -> None:
    game.wishes.append(lambda state: [state, state])


def chat(game: DayGame) -> None:
    for text in game.generator.sample(CHAT, 5):
        room = game.generator.choice(["player", "spectator", None, "nowhere"])
        game.tell({"type": "chatLine", "room": room, "username": "A", "text": text})


def draw_offer(game: DayGame) -> None:
    game.offer("draw")


def takeback(game: DayGame) -> None:
    if len(game.board.move_stack) >= 3:
        game.offer("takeback")


def offer_withdrawn(game: DayGame) -> None:
    game.offer("draw")
    game.flags = {}
    game.tell(game.state())


def back_again(game: DayGame) -> None:
    game.tell({"type": "opponentGone", "gone": True, "claimWinInSeconds": 8})
    game.tell({"type": "opponentGone", "gone": False})


def leaves(game: DayGame) -> None:
    """The opponent goes for good; the bot may claim the game where it hears of that."""
    game.silent = True
    game.left[chess.BLACK if game.bot_white else chess.WHITE] = GONE
    game.tell({"type": "opponentGone", "gone": True, "claimWinInSeconds": 2})


def falls_silent(game: DayGame) -> None:
    """The opponent moves no more, with a few seconds on the clock."""
    game.silent = True
    game.left[chess.BLACK if game.bot_white else chess.WHITE] = 4000


def aborts(game: DayGame) -> None:
    game.end("aborted", None)


def resigns(game: DayGame) -> None:
    game.end("resign", "white" if game.bot_white else "black")


IN_GAMES: dict[str, Fault] = {
    "game stream cut in a line": cut, "game stream ended": end_stream,
    "game stream dead but open": dead_stream, "junk lines in a game": junk_lines,
    "half a state": half_line, "state with a senseless field": spoiled_state,
    "state without a field": missing_field, "state twice": state_twice, "odd chat lines": chat,
    "draw offer": draw_offer, "takeback proposal": takeback, "offer withdrawn": offer_withdrawn,
    "opponent gone and back": back_again,
}  # fmt: skip
ENDINGS: dict[str, Fault] = {
    "opponent left": leaves, "opponent fell silent": falls_silent, "opponent resigned": resigns,
}  # fmt: skip


class DayServer(StandIn):
    """Lichess as it is on a bad day; new streams of events tell all that is under way."""

    game_type = DayGame

    def __init__(self, seed: int) -> None:
        self.dice, self.lock = random.Random(seed), threading.Lock()
        self.count: Counter[str] = Counter()  # faults by their kind
        self.open: dict[str, dict[str, Any]] = {}  # challenges that wait for an answer
        self.answers: Counter[str] = Counter()  # to challenges
        self.down = self.unknown = 0.0  # until when nothing is answered, and no token is known
        super().__init__()
        self.retry_after, self.keep_alive = RETRY_AFTER, 5.0

    @property
    def under_way(self) -> list[DayGame]:
        games = [game for game in list(self.games.values()) if not game.over]
        return [game for game in games if isinstance(game, DayGame)]

    def first_events(self) -> list[Any]:
        """As on Lichess: the games under way and the open challenges."""
        challenges = [{"type": "challenge", "challenge": made} for made in list(self.open.values())]
        return [*(self.start_of(game) for game in self.under_way), *challenges]

    def event(self, message: Any) -> None:
        for stream in list(self.events):
            stream.put(message)

    def end_streams(self, message: Any) -> None:
        """End all streams, of events and of games, in some way."""
        self.end_events(message)
        for game in self.under_way:
            with game.lock:
                streams, game.streams = game.streams, []
                for stream in streams:
                    stream.put(message)

    def end_events(self, message: Any) -> None:
        """End the streams of events."""
        streams, self.events = self.events, []
        for stream in streams:
            stream.put(message)

    def post(self, path: str, query: dict[str, list[str]], body: dict[str, Any]) -> Any:
        parts = path.split("/")
        if parts[2] == "challenge" and parts[-1] in ("accept", "decline", "cancel"):
            with self.lock:
                if self.open.pop(parts[3], None) is None:
                    return "no such challenge"
            self.answers[f"{parts[-1]}: {body['reason']}" if body else parts[-1]] += 1
        return super().post(path, query, body)

    def mute_limit(self) -> None:
        """Answer the next move with 429 and without Retry-After."""
        self.retry_after = ""
        self.faults.append(("/move/", 429))

    def fault_at(self, method: str, path: str) -> int | None:
        """What goes wrong with a request, drawn at random."""
        step = step_of(path)
        for part in path.split("/"):
            if isinstance(game := self.games.get(part), DayGame):
                game.heard = time.monotonic()
        now = time.monotonic()
        if now < self.down:
            return self._counted(step, "HTTP 503, all of it down", 503)
        if now < self.unknown:
            return self._counted(step, "HTTP 401, token unknown", 401)
        self.retry_after = "" if self.faults else RETRY_AFTER
        if (status := super().fault_at(method, path)) is not None:
            return self._counted(step, "HTTP 429 without Retry-After", status)
        with self.lock:
            draw, kind = self.dice.random(), self.dice.random()
            status = self.dice.choices(list(FAILURES), list(FAILURES.values()))[0]
        if draw < RATE / 3:
            slow = TOO_SLOW if kind < 0.04 else SLOW * kind
            self._counted(step, f"slower than {TOO_SLOW:g} s" if slow == TOO_SLOW else "slow", 0)
            self.closed.wait(slow)
        elif draw < RATE / 2 and method == "POST":
            self.deaf.append(path)
            self._counted(step, "done without an answer", 0)
        elif draw < RATE:
            if status == 400 and method == "GET":
                status = 404
            if status == 400 and "accept" in path:
                status = 500  # a refusal means that the challenge is gone
            word = WORDS.get(status, f"HTTP {status}{' with Retry-After' * (status == 429)}")
            return self._counted(step, word, status)
        return None

    def _counted(self, step: str, word: str, status: int) -> int:
        with self.lock:
            self.count[f"{step}: {word}"] += 1
        return status


def step_of(path: str) -> str:
    """Which step of the bot's a request is."""
    steps = {
        "/move/": "move", "/chat": "chat", "stream/event": "events", "/stream/": "game stream",
        "/challenge/": "answer", "/tournament/": "tournament", "/playing": "look for replies",
        "/account": "account",
    }  # fmt: skip
    return next((step for part, step in steps.items() if part in path), "act in a game")
