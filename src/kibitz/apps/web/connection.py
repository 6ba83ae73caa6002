"""A connection: its requests are answered, and of what goes on it gets the newest state only.

A page that reads slowly never makes the server keep more than one message for each topic: a newer
one takes its place. Answers are few, as a page may have only some requests open at a time.
"""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from kibitz.apps.web.coach import OwnGames
from kibitz.apps.web.engines import EngineChoice, Engines, Session
from kibitz.apps.web.jobs import Jobs
from kibitz.apps.web.library import MISTAKE, Library, names_only
from kibitz.apps.web.positions import PagePosition
from kibitz.apps.web.watch import WATCH_SECONDS, Watch, Watches
from kibitz.comment.words.languages import Code
from kibitz.core.errors import InputError, KibitzError
from kibitz.core.log import say
from kibitz.engine.running import Search
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from kibitz.search.report import Result

OPEN_REQUESTS = 8  # of a connection that are answered at the same time
REQUESTS_A_SECOND, BURST = 40.0, 120.0
PANELS = 2
PONDER_MS = 10 * 60_000  # a player who does not come back keeps no processor
THINK_SECONDS = 10 * 60.0  # for a move, whatever the clock says


class App:
    """What all connections share."""

    def __init__(
        self,
        folders: tuple[Path, ...],
        *,
        engines: int,
        threads: int,
        memory: int,
        watch_seconds: float = WATCH_SECONDS,
        database: Path | None = None,
        language: Code = "en",
    ) -> None:
        self.language = language  # of comments, unless a page asks for another
        self.library, self.own_games = Library(folders), OwnGames(database)
        self.engines = Engines(engines, threads, memory, self.library.network)
        self.watches, self.jobs = Watches(self.engines, watch_seconds), Jobs(self.engines)

    def close(self) -> None:
        """End all that runs."""
        self.own_games.close()
        self.jobs.close()
        self.watches.close()
        self.engines.close()


class RequestNumber(msgspec.Struct):
    """The number of a request that may be wrong otherwise."""

    id: int | None = None


def _number_of(text: str) -> int | None:
    try:
        return msgspec.json.decode(text, type=RequestNumber).id
    except (msgspec.DecodeError, RecursionError):
        return None


@dataclass(eq=False)
class Pondering:
    """A search on the player's time."""

    search: Search
    session: Session
    thread: threading.Thread


class Connection:
    """What one connection has asked for; methods but `serve` may be called from any thread."""

    def __init__(self, app: App, socket: WebSocket, address: str = "") -> None:
        self.app, self._socket, self.address = app, socket, address
        self._loop = asyncio.get_running_loop()
        self._slots: dict[str, bytes] = {}  # the newest message of each topic
        self._answers: asyncio.Queue[bytes] = asyncio.Queue(OPEN_REQUESTS)
        self._wake, self._open = asyncio.Event(), asyncio.Semaphore(OPEN_REQUESTS)
        self._panels: dict[int, Watch] = {}
        self._lock = threading.RLock()
        self._pondering: Pondering | None = None
        self._thinking: Search | None = None
        self._closed = False
        self.post: Callable[[str, bytes], None] = self._post

    # --- messages -------------------------------------------------------------------------------

    def _post(self, topic: str, message: bytes) -> None:
        """Send a message unless a newer one of its topic comes first."""
        if not self._closed:
            self._loop.call_soon_threadsafe(self._put, topic, message)

    def _put(self, topic: str, message: bytes) -> None:
        self._slots.pop(topic, None)  # what is newest goes last
        self._slots[topic] = message
        self._wake.set()

    async def serve(self, decode: Callable[[str], Any]) -> None:
        """Answer requests until the connection ends."""
        sender = asyncio.create_task(self._send())
        tasks: set[asyncio.Task[None]] = set()
        allowance, then = BURST, time.monotonic()
        try:
            while True:
                text = await self._socket.receive_text()
                now = time.monotonic()
                allowance = min(BURST, allowance + (now - then) * REQUESTS_A_SECOND) - 1.0
                then = now
                if allowance < 0.0:  # the connection's own buffers make the page wait
                    await asyncio.sleep(-allowance / REQUESTS_A_SECOND)
                await self._open.acquire()
                task = asyncio.create_task(self._answer(text, decode))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                task.add_done_callback(partial(self._finished, text))
        except (WebSocketDisconnect, RuntimeError, KeyError):
            pass  # RuntimeError: it ended while something was sent; KeyError: no text
        finally:
            self._closed = True  # nothing is sent any more
            sender.cancel()
            await asyncio.shield(asyncio.to_thread(self.close))

    async def _send(self) -> None:
        """Send answers, then the newest messages, as fast as the connection takes them."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._slots or not self._answers.empty():
                    if not self._answers.empty():
                        message = self._answers.get_nowait()
                    else:
                        message = self._slots.pop(next(iter(self._slots)))
                    await self._socket.send_text(message.decode())
        except (WebSocketDisconnect, RuntimeError):
            return  # the other end is gone; `serve` notices

    async def _answer(self, text: str, decode: Callable[[str], Any]) -> None:
        """Answer one request, or say in a sentence why not."""
        number: int | None = None
        try:
            request = decode(text)
            number = request.id
            reply: dict[str, Any] = {"ok": await asyncio.to_thread(request.answer, self)}
        except KibitzError as error:
            reply = {"error": names_only(error)}
        except (msgspec.DecodeError, RecursionError) as error:
            number, reply = _number_of(text), {"error": f"not a request of this page: {error}"}
        await self._answers.put(msgspec.json.encode({"id": number, **reply}))
        self._wake.set()

    def _finished(self, text: str, task: asyncio.Task[None]) -> None:
        """Allow the next request, and report an error of the program."""
        self._open.release()
        error = None if task.cancelled() else task.exception()
        if error is not None:
            say("".join(traceback.format_exception(error)))
            number = _number_of(text)
            message = msgspec.json.encode({"id": number, "error": MISTAKE})
            self._put(f"mistake {number}", message)

    def close(self) -> None:
        """Leave all searches; they end unless other pages watch them. None begins any more."""
        with self._lock:
            self._closed = True
            for panel in [*self._panels]:
                self.unwatch(panel)
            self._end_pondering()
            if self._thinking is not None:
                self._thinking.stop()
        self.app.jobs.forget(self.post)

    # --- searches -------------------------------------------------------------------------------

    def watch(self, panel: int, place: PagePosition, wanted: EngineChoice) -> dict[str, str]:
        """Watch a search in a panel in place of the one before; its topic."""
        if not 0 <= panel < PANELS:
            raise InputError("panel", value=panel, fix=f"expected 0 to {PANELS - 1}")
        place.board()  # refused before the search that runs is ended
        with self._lock:
            before = self._panels.get(panel)
            self.unwatch(panel)
            watch = self.app.watches.join(self.post, place, wanted, before)
            self._panels[panel] = watch
            return {"topic": watch.name}

    def unwatch(self, panel: int) -> None:
        """End watching in a panel; what the search has found can still be looked at."""
        with self._lock:
            if panel in self._panels:
                self.app.watches.leave(self._panels[panel], self.post)

    def open(self, panel: int, path: tuple[str, ...] | None) -> None:
        """Show the moves below a path in a panel."""
        with self._lock:
            if panel not in self._panels:
                raise InputError("nothing was searched here", fix="switch the engine on")
            self._panels[panel].open(self.post, path)

    def think(self, board: Board, wanted: EngineChoice, limits: Limits) -> Result:
        """Search for a move of a game; the connection's end ends the search."""
        self._end_pondering()
        with self.app.engines.use(wanted) as engine:
            search = engine.begin(board, limits)
            with self._lock:
                if self._thinking is not None:  # about a position that was taken back
                    self._thinking.stop()
                self._thinking = search
            if self._closed:
                search.stop()
            timer = threading.Timer(THINK_SECONDS, search.stop)
            timer.daemon = True
            timer.start()
            try:
                return search.run()
            finally:
                timer.cancel()

    def ponder(self, board: Board, wanted: EngineChoice) -> None:
        """Search on the player's time, for as long as the connection lives and no other request."""
        with self._lock:  # of several requests at once each ends the one before
            self._end_pondering()
            if self._closed or board.outcome() is not None:
                return
            session = self.app.engines.take(wanted)
            search = session.engine.begin(board, Limits(movetime=PONDER_MS))

            def run() -> None:
                try:
                    search.run()
                finally:
                    self.app.engines.give_back(session)

            self._pondering = Pondering(search, session, threading.Thread(target=run, daemon=True))
            self._pondering.thread.start()

    def _end_pondering(self) -> None:
        with self._lock:
            pondering, self._pondering = self._pondering, None
        if pondering is not None:
            pondering.search.stop()
            pondering.thread.join()


class PageRequest(msgspec.Struct, tag_field="do", tag=str.lower, forbid_unknown_fields=True):
    """A request; its answer goes back with the same number."""

    id: int

    def answer(self, connection: Connection) -> Any:
        """What is asked for, made on a thread of its own."""
        raise NotImplementedError


class Spoken(PageRequest):
    """A request for words; None is the language that the server speaks."""

    language: Code | None = None

    def spoken(self, connection: Connection) -> Code:
        """The language that is meant."""
        return self.language or connection.app.language
