"""A stand-in for Lichess: a real HTTP server with its streams, clocks, rules and troubles.

Streams are chunked lines of JSON with empty lines to keep them alive. The rules are python-chess's.
"""

from __future__ import annotations

import json
import queue
import random
import re
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import chess

TOKEN = "lip_goodtoken1"
BOT, OTHER = "kibitzbot", "somebody"
KEEP_ALIVE = 0.1  # seconds; Lichess's 7
CUT = object()  # a connection breaks in the middle of a line
END = object()  # a stream ends in good order
DEAD = object()  # nothing comes any more, and nobody says so
DEAD_SECONDS = 60.0

VALUES = {None: 0, 1: 1, 2: 3, 3: 3, 4: 5, 5: 9, 6: 0}  # of the types of pieces

Script = dict[int, Callable[["FakeGame"], None]]  # what happens once there are so many plies


class FakeGame:
    """A game between the bot and an opponent who answers at once."""

    def __init__(
        self,
        server: StandIn,
        name: str,
        *,
        bot_white: bool = True,
        seconds: float = 600.0,
        increment: float = 0.0,
        variant: str = "standard",
        fen: str = "startpos",
        rated: bool = False,
        seed: int = 0,
        script: Script | None = None,
        replies: list[str] | None = None,
        silent: bool = False,
        resigns_at: int = 30,
        offers_at: int = 0,
        careful: bool = False,
        thinks: float = 0.0,
        first: Sequence[Any] = (),
        days: int = 0,
        tournament: str = "",
    ) -> None:
        self.server, self.id, self.bot_white = server, name, bot_white
        self.variant, self.fen, self.rated = variant, fen, rated
        start = chess.STARTING_FEN if fen == "startpos" else fen
        self.board = chess.Board(start, chess960=variant == "chess960")
        self.left = {chess.WHITE: 1000 * seconds, chess.BLACK: 1000 * seconds}
        self.initial, self.increment = 1000 * seconds, 1000 * increment
        self.moved_at = time.monotonic()
        self.status = "started"
        self.winner: str | None = None
        self.flags: dict[str, bool] = {}
        self.streams: list[queue.SimpleQueue[Any]] = []
        self.chat: list[tuple[str, str]] = []
        self.tournament = tournament
        self.days = days  # a move has, in correspondence
        self.first = first  # messages of each stream, before it says which game it is
        self.lock = threading.RLock()
        self.done = threading.Event()
        self.script, self.replies, self.silent = script or {}, replies, silent
        self.fired: set[int] = set()
        self.generator = random.Random(seed)
        self.draw_offers, self.resigns_at = 0, resigns_at
        self.offers_at = offers_at  # the ply with which the opponent offers a draw
        self.careful, self.thinks = careful, thinks  # the opponent: its care, its seconds at most

    @property
    def moves(self) -> list[str]:
        return [move.uci() for move in self.board.move_stack]

    @property
    def over(self) -> bool:
        return self.status != "started"

    def state(self) -> dict[str, Any]:
        left = dict(self.left)
        if len(self.board.move_stack) >= 2 and not self.over:
            left[self.board.turn] -= 1000 * (time.monotonic() - self.moved_at)
        found = {
            "type": "gameState",
            "moves": " ".join(self.moves),
            "wtime": max(0, round(left[chess.WHITE])),
            "btime": max(0, round(left[chess.BLACK])),
            "winc": round(self.increment),
            "binc": round(self.increment),
            "status": self.status,
            **self.flags,
        }
        return found | ({"winner": self.winner} if self.winner else {})

    def full(self) -> dict[str, Any]:
        bot = {"id": BOT, "name": "KibitzBot", "title": "BOT", "rating": 2000}
        other = {"id": OTHER, "name": "Somebody", "title": None, "rating": 1400}
        clock = {"initial": round(self.initial), "increment": round(self.increment)}
        time = {"daysPerTurn": self.days} if self.days else {"clock": clock}
        return {
            **time,
            **({"tournamentId": self.tournament} if self.tournament else {}),
            "type": "gameFull",
            "id": self.id,
            "variant": {"key": self.variant, "name": self.variant, "short": "x"},
            "speed": "correspondence" if self.days else "bullet",
            "perf": {"name": "Bullet"},
            "rated": self.rated,
            "createdAt": 1_700_000_000_000,
            "white": bot if self.bot_white else other,
            "black": other if self.bot_white else bot,
            "initialFen": self.fen,
            "state": self.state(),
        }

    def written(self) -> list[dict[str, str]]:
        """The players' chat, as Lichess shows it."""
        return [{"user": "KibitzBot", "text": text} for room, text in self.chat if room == "player"]

    def tell(self, message: Any) -> None:
        for stream in self.streams:
            stream.put(message)

    def break_streams(self) -> None:
        """Cut the connections; what is told from now on goes to new ones only."""
        cut, self.streams = self.streams, []
        for stream in cut:
            stream.put(CUT)

    # --- moves ----------------------------------------------------------------------------------

    def bot_moves(self, uci: str, offers_draw: bool) -> str:
        """Play the bot's move; what is wrong with it, or an empty text."""
        with self.lock:
            if self.over or (self.board.turn == chess.WHITE) != self.bot_white:
                return "Not your turn, or game already over"
            move = chess.Move.from_uci(uci)
            if not self.board.is_legal(move):
                self.server.illegal.append((self.id, self.board.fen(), uci))
                return f"illegal: {uci}"
            self.draw_offers += offers_draw
            self._play(move)
            self.go_on()
            return ""

    def go_on(self) -> None:
        """What the script says, then the opponent's move, if it is the opponent's turn."""
        with self.lock:
            count = len(self.board.move_stack)
            if count in self.script and count not in self.fired:
                self.fired.add(count)
                self.script[count](self)
            if self.over or self.silent or (self.board.turn == chess.WHITE) == self.bot_white:
                return
            if count >= self.resigns_at:
                self.end("resign", "white" if self.bot_white else "black")
                return
            if self.thinks:
                wait = self.generator.uniform(0, self.thinks)
                threading.Timer(wait, self._answer, (count,)).start()
            else:
                self._answer(count)

    def _answer(self, count: int) -> None:
        """The opponent's move, unless the game has gone another way since."""
        with self.lock:
            if self.over or len(self.board.move_stack) != count:
                return
            wanted = self.replies.pop(0) if self.replies else ""
            self._play(chess.Move.from_uci(wanted) if wanted else self._choose())
            count = len(self.board.move_stack)
            if count in self.script and count not in self.fired:
                self.fired.add(count)
                self.script[count](self)

    def _choose(self) -> chess.Move:
        """A move at random; a careful opponent's wins the most material at once."""
        moves = list(self.board.legal_moves)
        self.generator.shuffle(moves)
        return max(moves, key=self._gain) if self.careful else moves[0]

    def _gain(self, move: chess.Move) -> int:
        """What a move takes, less the piece that moves if it can be taken."""
        taken = VALUES[self.board.piece_type_at(move.to_square)]
        self.board.push(move)
        piece = VALUES[self.board.piece_type_at(move.to_square)]
        risk = self.board.is_attacked_by(self.board.turn, move.to_square)
        mate = 100 * self.board.is_checkmate()
        self.board.pop()
        return mate + taken - piece * risk

    def _play(self, move: chess.Move) -> None:
        mover, now = self.board.turn, time.monotonic()
        if len(self.board.move_stack) >= 2:
            self.left[mover] -= 1000 * (now - self.moved_at)
            if self.left[mover] <= 0:
                if (mover == chess.WHITE) == self.bot_white:
                    self.server.flagged.append(self.id)
                self.end("outoftime", "black" if mover else "white")
                return
            self.left[mover] += self.increment
        self.moved_at = now
        self.board.push(move)
        theirs = "b" if self.bot_white else "w"
        offered = len(self.board.move_stack) == self.offers_at
        self.flags = {f"{theirs}draw": True} if offered else {}
        outcome = self.board.outcome(claim_draw=False)
        if outcome is None and (self.board.is_repetition(3) or self.board.halfmove_clock >= 100):
            self.end("draw", None)
        elif outcome is None:
            self.tell(self.state())
        elif outcome.winner is None:
            self.end("stalemate" if self.board.is_stalemate() else "draw", None)
        else:
            self.end("mate", "white" if outcome.winner else "black")

    def take_back(self, plies: int) -> None:
        for _ in range(plies):
            self.board.pop()
        self.flags = {}
        self.moved_at = time.monotonic()
        self.tell(self.state())

    def end(self, status: str, winner: str | None) -> None:
        self.status, self.winner = status, winner
        self.tell(self.state())
        self.tell(END)
        self.server.event({"type": "gameFinish", "game": {"gameId": self.id}})
        self.done.set()

    def bot_acts(self, what: str) -> str:
        """Obey abort, resign, draw/yes and the like."""
        with self.lock:
            self.server.acts.append((self.id, what))
            bot, other = ("white", "black") if self.bot_white else ("black", "white")
            theirs = other[0]
            if self.over:
                return "game already over"
            if what == "abort":
                if len(self.board.move_stack) >= 2:
                    return "too late"
                self.end("aborted", None)
            elif what == "resign":
                self.end("resign", other)
            elif what == "claim-victory":
                self.end("timeout", bot)
            elif what == "draw/yes" and self.flags.get(f"{theirs}draw"):
                self.end("draw", None)
            elif what == "takeback/yes" and self.flags.get(f"{theirs}takeback"):
                self.take_back(2 if (self.board.turn == chess.BLACK) == self.bot_white else 1)
                self.go_on()
            return ""


class StandIn:
    """The server."""

    game_type = FakeGame

    def __init__(self) -> None:
        self.account: dict[str, Any] = {
            "id": BOT,
            "username": "KibitzBot",
            "title": "BOT",
            "count": {"all": 0},
        }
        self.scopes = "bot:play,challenge:write"
        self.games: dict[str, FakeGame] = {}
        self.requests: list[tuple[float, str, str, dict[str, Any]]] = []
        self.acts: list[tuple[str, str]] = []
        self.illegal: list[tuple[str, str, str]] = []
        self.flagged: list[str] = []
        self.events: list[queue.SimpleQueue[Any]] = []
        self.waiting: list[Any] = []  # events told to a first stream
        self.online: list[dict[str, Any]] = []
        self.faults: list[tuple[str, int]] = []  # part of a path, HTTP status; each once
        self.retry_after = ""  # what a 429 says beside it
        self.keep_alive: float | None = KEEP_ALIVE
        self.on_accept: Callable[[str], None] = lambda _: None
        self.deaf: list[str] = []  # parts of paths that are obeyed without an answer, once each
        self.closed = threading.Event()
        self.hangs_up = False  # streams end as soon as they begin
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        self.closed.set()
        for stream in [
            *self.events,
            *(one for game in self.games.values() for one in game.streams),
        ]:
            stream.put(END)
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def event(self, message: Any) -> None:
        if not self.events:
            self.waiting.append(message)
        for stream in self.events:
            stream.put(message)

    def first_events(self) -> list[Any]:
        """What a new stream of events begins with."""
        told, self.waiting = self.waiting, []
        return told

    def fault_at(self, _: str, path: str) -> int | None:
        """The HTTP status of a fault in answer to a request, by its method and path."""
        for fault in self.faults:
            if fault[0] in path:
                self.faults.remove(fault)
                return fault[1]
        return None

    def acts_in(self, game: str) -> list[str]:
        """What the bot has done in a game beside moves."""
        return [what for name, what in self.acts if name == game]

    def begin(self, name: str, **how: Any) -> FakeGame:
        """Start a game and tell the bot."""
        game = self.games[name] = self.game_type(self, name, **how)
        self.event(self.start_of(game))
        game.go_on()
        return game

    def start_of(self, game: FakeGame) -> dict[str, Any]:
        """The event that says that a game has begun."""
        opponent = {"id": OTHER, "username": "Somebody", "rating": 1400}
        about = {"gameId": game.id, "fullId": f"{game.id}abcd", "opponent": opponent}
        return {"type": "gameStart", "game": about | {"speed": game.full()["speed"]}}

    def playing(self) -> dict[str, Any]:
        """The games under way, as Lichess lists them."""
        return {
            "nowPlaying": [
                {"gameId": name, "isMyTurn": (game.board.turn == chess.WHITE) == game.bot_white}
                for name, game in self.games.items()
                if not game.over
            ]
        }

    def paths(self, part: str) -> list[str]:
        return [path for _, _, path, _ in self.requests if part in path]

    def times(self, part: str) -> list[float]:
        return [when for when, _, path, _ in self.requests if part in path]

    def post(self, path: str, query: dict[str, list[str]], body: dict[str, Any]) -> Any:
        """The answer to a request that changes something; a text is an error."""
        if found := re.fullmatch(r"/api/bot/game/(\w+)/move/(\w+)", path):
            return self.games[found[1]].bot_moves(found[2], query.get("offeringDraw") == ["true"])
        if found := re.fullmatch(r"/api/bot/game/(\w+)/chat", path):
            self.games[found[1]].chat.append((body["room"], body["text"]))
            return "too long" if len(body["text"]) > 140 else ""
        if found := re.fullmatch(r"/api/bot/game/(\w+)/(.+)", path):
            return self.games[found[1]].bot_acts(found[2])
        if found := re.fullmatch(r"/api/challenge/(\w+)/accept", path):
            self.on_accept(found[1])
            return ""
        if re.fullmatch(r"/api/challenge/(\w+)/(decline|cancel)", path):
            return ""
        if re.fullmatch(r"/api/tournament/(\w+)/(join|withdraw)", path):
            return ""
        if path == "/api/bot/account/upgrade":
            self.account["title"] = "BOT"
            return ""
        if found := re.fullmatch(r"/api/challenge/(\w+)", path):
            return {"id": f"to{found[1]}", "url": "x"}
        return "no such thing"


def _handler(server: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if self._begin("GET", path, {}):
                return
            if path == "/api/account":
                self._reply(200, server.account)
            elif path == "/api/account/playing":
                self._reply(200, server.playing())
            elif path == "/api/bot/online":
                lines = "".join(f"{json.dumps(one)}\n" for one in server.online)
                self._send(200, lines.encode(), "application/x-ndjson")
            elif path == "/api/stream/event":
                stream: queue.SimpleQueue[Any] = queue.SimpleQueue()
                for message in server.first_events():
                    stream.put(message)
                if server.hangs_up:
                    stream.put(END)
                server.events.append(stream)
                self._stream(stream, server.events)
            elif found := re.fullmatch(r"/api/bot/game/(\w+)/chat", path):
                self._reply(200, server.games[found[1]].written())
            elif found := re.fullmatch(r"/api/bot/game/stream/(\w+)", path):
                self._game(server.games[found[1]])

        def _game(self, game: FakeGame) -> None:
            stream: queue.SimpleQueue[Any] = queue.SimpleQueue()
            with game.lock:
                for message in [*game.first, game.full()]:
                    stream.put(message)
                if game.over:
                    stream.put(END)
                game.streams.append(stream)
            self._stream(stream, game.streams)

        def do_POST(self) -> None:
            parts = urlsplit(self.path)
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(raw) if raw else {}
            if self._begin("POST", parts.path, body):
                return
            answer = server.post(parts.path, parse_qs(parts.query), body)
            for part in server.deaf:
                if part in parts.path:
                    server.deaf.remove(part)
                    self.close_connection = True
                    return
            if isinstance(answer, str):
                self._reply(400 if answer else 200, {"error": answer} if answer else {"ok": True})
            else:
                self._reply(200, answer)

        def _begin(self, method: str, path: str, body: dict[str, Any]) -> bool:
            """Note a request; whether it was answered by an error."""
            server.requests.append((time.monotonic(), method, path, body))
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self._reply(401, {"error": "No such token"})
                return True
            status = server.fault_at(method, path)
            if status == 0:  # the connection breaks without an answer
                self.close_connection = True
            elif status == 200:
                self._send(200, b"<html>trouble</html>", "text/html")
            elif status is not None:
                self._reply(status, {"error": "trouble"})
            return status is not None

        def _reply(self, status: int, content: Any) -> None:
            self._send(status, json.dumps(content).encode(), "application/json")

        def _send(self, status: int, content: bytes, kind: str) -> None:
            try:
                self._write(status, content, kind)
            except (BrokenPipeError, ConnectionResetError):  # who asked has gone
                self.close_connection = True

        def _write(self, status: int, content: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("X-OAuth-Scopes", server.scopes)
            if status == 429 and server.retry_after:
                self.send_header("Retry-After", server.retry_after)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _stream(self, stream: queue.SimpleQueue[Any], listed: list[Any]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/x-ndjson")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.close_connection = True
            try:
                while self._next(stream):
                    pass
            except (BrokenPipeError, ConnectionResetError):
                return
            finally:
                if stream in listed:
                    listed.remove(stream)

        def _next(self, stream: queue.SimpleQueue[Any]) -> bool:
            """Send what comes next; False at the end."""
            try:
                message = stream.get(timeout=server.keep_alive)
            except queue.Empty:
                self._chunk(b"\n")
                return True
            if message is CUT:
                self._chunk(b'{"type":"gameSta')
                return False
            if message is DEAD:
                server.closed.wait(DEAD_SECONDS)
                return False
            if message is END:
                self.wfile.write(b"0\r\n\r\n")
                return False
            content = message if isinstance(message, bytes) else json.dumps(message).encode()
            self._chunk(content + b"\n")
            return True

        def _chunk(self, content: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
            self.wfile.flush()

    return Handler
