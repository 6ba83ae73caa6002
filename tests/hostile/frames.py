"""What comes over connections: HTTP, messages of the page, frames, UCI, xboard, Lichess's lines."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
import uvicorn
from starlette.websockets import WebSocket, WebSocketDisconnect

from kibitz.apps.http import Address, PatientProtocol
from kibitz.apps.lichess.config import Lichess
from kibitz.apps.lichess.messages import (
    ChallengeMade,
    event_of,
    lines_in,
    message_of,
    object_of,
    pause_after,
)
from kibitz.apps.lichess.rules import Workload, why_declined
from kibitz.apps.web.connection import App, Connection
from kibitz.apps.web.requests import DECODER
from kibitz.apps.web.server import LONGEST_MESSAGE, PatientSocket, Site
from kibitz.core.errors import KibitzError
from kibitz.engine import Engine
from kibitz.position.fen import START
from kibitz.uci.client import ProgramFault, UciClient, parse_info
from kibitz.uci.loop import run
from kibitz.uci.proxy import Server
from kibitz.uci.session import Session
from kibitz.uci.xboard import Clocks, XboardClient, parse_thinking
from tests.hostile.kind import Answer, Kind, Target

PATIENCE = 20.0  # seconds for what a server has to say
HUNG_UP = (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN)  # as a server may before the end
LOOKED = 0.5  # seconds after which a page leaves, whatever it has asked for
TOKEN = "word"
PLACE = {"fen": START, "moves": ["e2e4", "e5"], "chess960": False}
WANTED = {"network": "material", "search": "mcts", "lines": 2, "elo": 1500}
ASKED: tuple[dict[str, Any], ...] = (
    {"do": "hello"},
    {"do": "position", "place": PLACE},
    {"do": "line", "place": PLACE, "moves": ["g1f3", "b8c6"]},
    {"do": "start960", "number": 518},
    {
        "do": "read",
        "text": '[White "A"]\n\n1. e4 {[%eval 0.2]} e5 (1... c5 $1) 2. Nf3 *',
        "number": 0,
    },
    {"do": "read", "text": START},
    {
        "do": "write",
        "place": {"fen": START},
        "tags": {"White": "A", "Event": "x"},
        "nodes": [{"parent": -1, "uci": "e2e4", "comment": "c", "nags": [1]}],
    },
    {"do": "watch", "panel": 0, "place": PLACE, "wanted": WANTED},
    {"do": "below", "panel": 0, "path": ["e2e4"]},
    {"do": "think", "place": PLACE, "wanted": WANTED, "nodes": 9, "wtime": 1000, "btime": 1000},
    {"do": "ponder", "place": PLACE, "wanted": WANTED},
    {"do": "look", "place": PLACE, "network": "material"},
    {"do": "annotate", "pgn": "1. e4 *", "level": "club", "nodes": 1000},
    {"do": "job", "job": "1", "stop": True},
    {"do": "files"},
    {"do": "open", "name": "games.pgn", "kind": "games", "number": 0},
    {"do": "card", "network": "material"},
    {"do": "mistake", "place": {"fen": START, "moves": ["g2g4"]}, "level": "beginner"},
    {"do": "threat", "place": PLACE},
    {"do": "solve", "name": "0/x.csv", "number": 0, "played": ["e2e4"], "move": "e7e5"},
    {"do": "coach"},
    {"do": "addgames", "text": '[White "A"]\n\n1. e4 e5 *', "player": "A"},
    {"do": "question", "deck": "own"},
    {"do": "itemhint", "item": 1, "which": 0},
    {"do": "answer", "item": 1, "due": 0, "seconds": 3.0, "move": "e2e4", "helped": False},
    {"do": "owngame", "game": 1},
    {"do": "profile"},
    {"do": "openings", "place": PLACE, "side": "white", "text": '[Result "1-0"]\n\n1. e4 1-0'},
)
LICHESS_LINES: tuple[dict[str, Any], ...] = (
    {
        "type": "challenge",
        "challenge": {
            "id": "a",
            "challenger": {"id": "b", "name": "B", "rating": 1500},
            "variant": {"key": "standard"},
            "rated": False,
            "speed": "blitz",
            "timeControl": {"type": "clock", "limit": 300, "increment": 3},
            "initialFen": START,
        },
    },
    {"type": "gameStart", "game": {"gameId": "x"}},
    {
        "type": "gameFull",
        "id": "x",
        "white": {"id": "a", "rating": 1},
        "initialFen": START,
        "clock": {"initial": 1000, "increment": 0},
        "createdAt": 1_700_000_000_000,
        "state": {"moves": "e2e4", "wtime": 5, "btime": 5, "status": "started"},
    },
    {"type": "gameState", "moves": "e2e4 e7e5", "status": "mate", "wdraw": True, "winner": "white"},
    {"type": "chatLine", "username": "a", "text": "b", "room": "player"},
    {"type": "opponentGone", "gone": True, "claimWinInSeconds": 5},
)
UCI_LINES = b"""uci
setoption name Hash value 2
setoption name MultiPV value 2
position startpos moves e2e4 e7e5
go nodes 9
position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1 moves a1a8
go movetime 3 searchmoves g1g2
go perft 2
setoption name UCI_Chess960 value true
ponderhit
d
"""
HTTP = b"GET /%s HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: a=b\r\nContent-Length: 0\r\n\r\n"
UPGRADE = (
    b"GET /socket HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Sec-WebSocket-Version: 13\r\n\r\n"
)
ENGINE_LINES = b"""id name x
option name Hash type spin default 1 min 1 max 9
option name A type combo var "a"
uciok
readyok
readyok
readyok
info depth 3 multipv 1 score cp 31 nodes 120 time 4 pv e2e4 e7e5
info depth 4 score mate 3 upperbound wdl 1 2 3 nodes 99 pv g1f3
bestmove e2e4 ponder e7e5
"""
XBOARD_LINES = b"""feature ping=1 setboard=1 usermove=1 memory=1 myname="x"
feature option="A -spin 1 0 9" done=1
pong 1
pong 2
pong 3
9 31 120 54021 e2e4 e7e5
10. -100003 1 2 Nf3
move e2e4
"""


# --- the page -------------------------------------------------------------------------------------


class OneMessage:
    """A page's end that says one thing, waits for the answer and leaves."""

    def __init__(self, text: str) -> None:
        self._text, self._answered = text, asyncio.Event()
        self._said = False
        self.answer: dict[str, Any] = {}

    async def receive_text(self) -> str:
        """The message, then the end."""
        if not self._said:
            self._said = True
            return self._text
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._answered.wait(), LOOKED)
        raise WebSocketDisconnect

    async def send_text(self, text: str) -> None:
        """Take an answer; what is pushed beside it is passed over."""
        found = json.loads(text)
        if "id" in found:
            self.answer = found
            self._answered.set()


def _to_connection(content: bytes, _: Path, *, app: App) -> Answer:
    error = io.StringIO()

    async def converse() -> dict[str, Any]:
        page = OneMessage(content.decode(errors="replace"))
        await Connection(app, cast(WebSocket, page)).serve(DECODER.decode)
        return page.answer

    with contextlib.redirect_stderr(error):
        answer = asyncio.run(converse())
    told = error.getvalue() + str(answer.get("error", ""))
    return Answer(2 if answer.get("error") else 0, told)


class Page:
    """The server of the page, on a port of this machine; what it logs is kept."""

    def __init__(self, app: App) -> None:
        config = uvicorn.Config(
            Site(app).application(Address("127.0.0.1", 0)), http=PatientProtocol,
            ws=PatientSocket, ws_max_size=LONGEST_MESSAGE, access_log=False, log_config=None,
            lifespan="off",
        )  # fmt: skip
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        server = uvicorn.Server(config)
        self.log = io.StringIO()
        handler = logging.StreamHandler(self.log)
        logger = logging.getLogger("uvicorn.error")
        logger.addHandler(handler)
        logger.propagate = False
        run = partial(server.run, sockets=[self._listening])
        threading.Thread(target=run, daemon=True).start()

    def give(self, content: bytes, _: Path, *, before: bytes = b"") -> Answer:
        """Send bytes; the first line of the answer."""
        self.log.truncate(self.log.seek(0))
        heard = _exchange(self.port, before + content)
        # A frame that was refused is a line of the log; an error of ours has its traceback there.
        status = heard.split(b" ", 2)[1:2]
        log = self.log.getvalue()
        if status and status[0].startswith(b"5"):
            return Answer(3, heard[:200].decode(errors="replace") + log)
        refused = not status or status[0].startswith(b"4")
        return Answer(2 if refused else 0, f"{log}{heard[:60]!r}")


def _exchange(port: int, content: bytes) -> bytes:
    """Send bytes to a server, and that there are no more; all that it says."""
    heard = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(1 << 16):
                heard += piece
        except OSError as error:
            if error.errno not in HUNG_UP:
                raise
    return heard


def _frame(text: bytes, opcode: int = 1) -> bytes:
    """A WebSocket frame of a page, masked with zeros."""
    size = len(text)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
    return bytes([0x80 | opcode]) + length + bytes(4) + text


# --- UCI, xboard, Lichess -------------------------------------------------------------------------


def _to_session(content: bytes, _: Path) -> Answer:
    """Lines to a session, as they come over a network."""
    error, said = io.StringIO(), list[str]()
    lines = content.decode(errors="replace").splitlines(keepends=True)

    def patient() -> Iterator[str]:
        yield from lines
        yield "stop\n"
        yield "isready\n"

    with contextlib.redirect_stderr(error):
        run(Session(said.append, Engine("material", hash=1), remote=True), patient())
    code = 0 if "readyok" in said else 3
    return Answer(code, error.getvalue() + "\n".join(said[-5:]))


class Port:
    """UCI over TCP."""

    def __init__(self) -> None:
        self._server = Server(("127.0.0.1", 0), TOKEN, lambda: Engine("material", hash=1))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def give(self, content: bytes, _: Path) -> Answer:
        """Send bytes; whether anything was answered."""
        error = io.StringIO()
        with contextlib.redirect_stderr(error):
            heard = _exchange(self._server.port, content)
        told = error.getvalue() + heard[-200:].decode(errors="replace")
        return Answer(0 if b"uciok" in heard else 2, told or "hung up")


def _from_uci(content: bytes, folder: Path) -> Answer:
    """What another UCI engine says; it ends when it has said all."""

    def play() -> None:
        with contextlib.closing(UciClient(_saying(content, folder), {}, 5.0)) as client:
            client.new_game(False)
            found = client.search("position startpos", "go nodes 9")
            for line in found.lines:
                with contextlib.suppress(ValueError):  # as a match does
                    parse_info(line)

    return _told(play)


def _from_xboard(content: bytes, folder: Path) -> Answer:
    """What an xboard engine says."""

    def play() -> None:
        with contextlib.closing(XboardClient(_saying(content, folder), {}, 5.0)) as client:
            client.new_game(START, START, Clocks(movetime=1000))
            found = client.search(["e2e4"], Clocks(movetime=1000))
            for line in found.lines:
                parse_thinking(line)

    return _told(play)


def _saying(content: bytes, folder: Path) -> list[str]:
    (folder / "said").write_bytes(content)
    return ["/bin/sh", "-c", f"cat {folder / 'said'}"]


def _told(play: Callable[[], None]) -> Answer:
    """What comes of a program, as a match has it."""
    try:
        play()
    except (ProgramFault, KibitzError) as error:
        return Answer(2, str(error))
    return Answer(0, "")


def _from_lichess(content: bytes, _: Path) -> Answer:
    """Lines of Lichess's streams, cut in two anywhere."""
    refused, half = "", len(content) // 2
    try:
        for line in lines_in([content[:half], content[half:]]):
            raw = object_of(line)
            event = None if raw is None else event_of(raw)
            if raw is not None:
                message_of(raw)
            if isinstance(event, ChallengeMade):
                why_declined(event.challenge, Lichess(), Workload())
    except (ValueError, msgspec.ValidationError) as error:  # as the bot's streams have it
        refused = str(error)
    pause_after(content.decode("latin-1"), 65, 0.5, 600)
    return Answer(2 if refused else 0, refused)


def targets(folder: Path) -> Sequence[Target]:
    """A message of each sort, requests, frames, lines of engines and of Lichess."""
    (folder / "games.pgn").write_text('[White "A"]\n\n1. e4 e5 *\n')
    app = App((folder,), engines=2, threads=1, memory=64, database=folder / "own.db")
    page, port = Page(app), Port()
    time.sleep(0.5)  # until it listens
    connection = partial(_to_connection, app=app)
    listed = [
        Target(
            f"message {fields['do']}", _json({"id": 1, **fields}), connection, most=LONGEST_MESSAGE
        )
        for fields in ASKED
    ]
    listed += [
        Target(f"HTTP /{path.decode()}", HTTP.replace(b"%s", path), page.give)
        for path in (b"", b"static/app.js", b"report/1", b"socket", b"static/../connection.py")
    ]
    listed.append(Target("handshake", UPGRADE, page.give))
    frames = _frame(_json({"id": 1, "do": "hello"})) + _frame(b"\x03\xe8", 8)
    listed.append(Target("WebSocket frames", frames, partial(page.give, before=UPGRADE)))
    listed += [Target("UCI lines", UCI_LINES, _to_session)] * 2
    listed.append(Target("UCI over TCP", b"token word\nuci\n" + UCI_LINES, port.give))
    listed.append(Target("UCI engine", ENGINE_LINES, _from_uci))
    listed.append(Target("xboard engine", XBOARD_LINES, _from_xboard))
    listed += [Target("Lichess", _json(one) + b"\n", _from_lichess) for one in LICHESS_LINES]
    listed.append(Target("Lichess", b"\n".join(map(_json, LICHESS_LINES)), _from_lichess))
    return listed


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


FRAMES = Kind("frames", lambda _: [], targets)
