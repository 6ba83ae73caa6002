"""The server: the page's files, its WebSocket, reports; started and stopped."""

from __future__ import annotations

import asyncio
import re
import secrets
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from kibitz import __version__
from kibitz.apps.web.connection import App, Connection
from kibitz.apps.web.guard import Guard
from kibitz.apps.web.requests import DECODER
from kibitz.apps.web.sockets import AT_ONCE, PatientProtocol, PatientSocket
from kibitz.comment.report.page import ASSETS, pieces
from kibitz.core.errors import InputError, KibitzError
from kibitz.engine import Engine

STATIC = Path(__file__).parent / "static"
SHARED = ("board.js", "board.css")  # with the report
LONGEST_MESSAGE = 1 << 20  # bytes of a request; a PGN of 100 games has some 100 000
MOST_CONNECTIONS = 100
MOST_PAGES = 40  # connections of an address that are WebSockets
WORKERS = 32  # requests that are answered at the same time
BUSY = 1013  # closes a WebSocket that came too much
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


class Address(NamedTuple):
    """Where the server listens, and who may come in."""

    host: str
    port: int
    token: str = ""  # empty: this machine only
    names: tuple[str, ...] = ()  # of this machine, beside its addresses

    def url(self, port: int) -> str:
        """What to open in a browser."""
        everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
        host = everywhere.get(self.host, self.host)
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}/" + (f"?token={self.token}" if self.token else "")


def new_token() -> str:
    """A token that is not to be guessed."""
    return secrets.token_urlsafe(24)


class Site:
    """What the server answers."""

    def __init__(self, app: App) -> None:
        self._app, self._pages = app, Counter[str]()  # connections, by address
        page = (STATIC / "index.html").read_text(encoding="utf-8")
        self._page = page.replace("{pieces}", pieces()).replace("{version}", __version__)

    def application(self, address: Address) -> Starlette:
        """The server as an ASGI application."""
        return Starlette(
            routes=[
                Route("/", self._index),
                *(Route(f"/static/{name}", self._shared) for name in SHARED),
                Route("/report/{name:str}", self._report),
                WebSocketRoute("/socket", self._converse),
                Mount("/static", StaticFiles(directory=STATIC)),
            ],
            middleware=[Middleware(Guard, token=address.token, names=address.names)],
            lifespan=self._life,
        )

    @asynccontextmanager
    async def _life(self, _: Starlette) -> AsyncIterator[None]:
        workers = ThreadPoolExecutor(WORKERS, "request")
        asyncio.get_running_loop().set_default_executor(workers)
        yield
        await asyncio.to_thread(self._app.close)

    async def _index(self, _: Request) -> Response:
        return HTMLResponse(self._page)

    async def _shared(self, request: Request) -> Response:
        name = request.url.path.rpartition("/")[2]
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return Response((ASSETS / name).read_text(encoding="utf-8"), media_type=kind)

    async def _report(self, request: Request) -> Response:
        try:
            page = self._app.jobs.find(request.path_params["name"]).page
        except InputError as error:
            return PlainTextResponse(str(error), 404)
        policy = _POLICY.search(page)
        if policy is None:
            return PlainTextResponse("The report is not written yet.", 404)
        return HTMLResponse(page, headers={"Content-Security-Policy": policy[1]})

    async def _converse(self, websocket: WebSocket) -> None:
        address = websocket.client.host if websocket.client else ""
        many = sum(self._pages.values()) >= MOST_CONNECTIONS
        if many or self._pages[address] >= MOST_PAGES:
            await websocket.close(BUSY)
            return
        await websocket.accept()
        self._pages[address] += 1
        try:
            await Connection(self._app, websocket, address).serve(DECODER.decode)
        finally:
            self._pages[address] -= 1
            if not self._pages[address]:
                del self._pages[address]


def serve(app: App, address: Address, on_start: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; `on_start` gets the address once it answers."""
    listening = _listen(address)
    config = uvicorn.Config(
        Site(app).application(address),
        log_level="warning",
        access_log=False,
        server_header=False,
        http=PatientProtocol,
        backlog=AT_ONCE,
        ws=PatientSocket,
        ws_max_size=LONGEST_MESSAGE,
        ws_max_queue=4,
        ws_ping_interval=20.0,
        ws_ping_timeout=60.0,  # a busy machine is no lost connection
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=2,
    )
    threading.Thread(target=_warm, args=(app,), name="warm", daemon=True).start()
    on_start(address.url(listening.getsockname()[1]))
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address.host, address.port))
    except (OSError, OverflowError) as error:  # the latter: no port has that number
        listening.close()
        shown = f"{address.host}:{address.port}"
        fix = f"{getattr(error, 'strerror', None) or error}; give another --port"
        raise InputError("cannot listen there", value=shown, fix=fix) from error
    listening.listen(AT_ONCE)
    return listening


def _warm(app: App) -> None:
    """Load the default network and its kernels before the first page asks for them."""
    with suppress(KibitzError), Engine(app.library.network(""), hash=1) as engine:
        engine.ready()
