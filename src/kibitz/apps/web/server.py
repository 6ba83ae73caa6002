"""The server: who may talk to it, how much at once, the page's files, its WebSocket and reports.

`LONGEST` is the longest request, so the longest upload.
"""

from __future__ import annotations

import asyncio
import hmac
import html
import ipaddress
import json
import re
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

from kibitz import __version__
from kibitz.apps.http import AT_ONCE, Address, PatientProtocol, listen
from kibitz.apps.web.connection import App, Connection
from kibitz.apps.web.requests import DECODER
from kibitz.comment.judge import SYMBOLS
from kibitz.comment.report.page import ASSETS, pieces
from kibitz.core.errors import InputError, KibitzError
from kibitz.engine import Engine

# --- what reads the network -----------------------------------------------------------------------


MOST_PIECES = 1000  # of a message of a WebSocket, before they are joined


class PatientSocket(WebSocketsSansIOProtocol):
    """A WebSocket that keeps little for who sends much and reads nothing."""

    def handle_ping(self) -> None:
        """Answer a ping, unless answers wait already."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()  # is forgotten

    def handle_cont(self, event: Frame) -> None:
        """Take a piece of a message; its size has a limit, the number of its pieces has none."""
        super().handle_cont(event)
        if len(self.frames) > MOST_PIECES:
            self.frames = [b"".join(self.frames)]

    def send_receive_event_to_app(self) -> None:
        """Pass a message on; a text that is none ends the connection without a word in the log."""
        if self.curr_msg_data_type == "text" and not self.close_sent:
            try:
                self.frames = [b"".join(self.frames)]
                self.frames[0].decode()
            except UnicodeDecodeError:
                self.frames = []
                self.conn.send_close(CloseCode.INVALID_DATA)
                self.handle_parser_exception()
                return
        super().send_receive_event_to_app()


# --- who may talk to the server -------------------------------------------------------------------
#
# Who may talk to the server: a check of every request before anything else sees it.
#
# Only this machine gets in unless there is a token. A page of another site cannot reach the server
# through the user's browser: the Host header must be an address or a known name (DNS rebinding),
# and a WebSocket must come from the page itself (Origin).


COOKIE = "kibitz-token"
# What a policy may repeat: a name or an address, and a port.
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")
POLICY_VIOLATION = 1008  # closes a WebSocket that is refused
NO_TOKEN = (
    "This server needs its token. Open the address that it printed when it was started;"
    " it ends in ?token=..."
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-cache",
}


def page_policy(host: str) -> str:
    """What the page may load: files and a WebSocket of this server, nothing else."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"connect-src 'self' ws://{host} wss://{host}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def host_of(text: str) -> str:
    """The host of HOST, HOST:PORT or [IPv6]:PORT, in small letters; empty if it is none.

    >>> host_of("LocalHost:80"), host_of("[::1]:80"), host_of("127.0.0.1:80;script-src *")
    ('localhost', '::1', '')
    """
    if _HOST.fullmatch(text) is None:
        return ""
    try:
        return urlsplit(f"//{text}").hostname or ""
    except ValueError:
        return ""


class Guard:
    """Lets requests of the page through and refuses all others."""

    def __init__(self, app: ASGIApp, token: str, names: Iterable[str] = ()) -> None:
        self._app, self._token = app, token
        own = {"localhost"} | ({socket.gethostname().lower()} if token else set())
        self._names = own | {name.lower() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, then pass it on; answers get the headers that protect the page."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        valid = bool(host_of(host))

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    sent.setdefault(name, value)
                sent.setdefault("Content-Security-Policy", page_policy(host if valid else ""))
            await send(message)

        refusal = self._refusal(scope, headers)
        if refusal is None:
            await self._app(scope, receive, send_safely)
        elif scope["type"] == "websocket":
            await receive()  # the request to connect
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        else:
            await refusal(scope, receive, send_safely)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that may not pass."""
        host = headers.get("host", "")
        if not self._is_ours(host_of(host)):
            return PlainTextResponse("This server is not known by that name.", 421)
        if scope["type"] == "websocket":
            if headers.get("origin", "").partition("://")[2] != host:
                return PlainTextResponse("A page of another site may not connect.", 403)
        elif scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("Only GET is answered.", 405)
        return self._check_token(scope, headers) if self._token else None

    def _is_ours(self, host: str) -> bool:
        """Whether a host may be named by requests; an address cannot be bound to another server."""
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return host in self._names
        return bool(self._token) or address.is_loopback

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Take the token from the address into a cookie; refuse who has neither."""
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["type"] == "http" and token and self._is_token(token):
            # One slash: two would name another server.
            answer = RedirectResponse("/" + scope["path"].lstrip("/\\"), 303)
            secure = scope["scheme"] == "https"
            answer.set_cookie(COOKIE, token, httponly=True, samesite="lax", secure=secure)
            return answer
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return None if self._is_token(cookie) else PlainTextResponse(NO_TOKEN, 401)

    def _is_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token.encode())


# --- the server -----------------------------------------------------------------------------------
#
# The server: the page's files, its WebSocket, reports; started and stopped.


STATIC = Path(__file__).parent / "static"
SHARED = ("board.js", "board.css")  # with the report
SMALL = 1000  # bytes of an answer that is not packed
LONGEST = 1_000_000  # bytes of a request, which the page refuses; a game has some 1 000
LONGEST_MESSAGE = LONGEST * 11 // 10  # at which the server ends a connection
MOST_CONNECTIONS = 100
MOST_PAGES = 40  # connections of an address that are WebSockets
WORKERS = 32  # requests that are answered at the same time
BUSY = 1013  # closes a WebSocket that came too much
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


class Site:
    """What the server answers."""

    def __init__(self, app: App) -> None:
        self._app, self._pages = app, Counter[str]()  # connections, by address
        page = (STATIC / "index.html").read_text(encoding="utf-8")
        shared = json.dumps({"longest": LONGEST, "symbols": SYMBOLS})  # with the page's modules
        parts = {"pieces": pieces(), "version": __version__, "shared": html.escape(shared)}
        for name, text in parts.items():
            page = page.replace(f"{{{name}}}", text)
        self._page = page

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
            middleware=[
                Middleware(Guard, token=address.token, names=address.names),
                Middleware(GZipMiddleware, minimum_size=SMALL),
            ],
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
    listening = listen(address)
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


def _warm(app: App) -> None:
    """Load the default network and its kernels before the first page asks for them."""
    with suppress(KibitzError), Engine(app.library.network(""), hash=1) as engine:
        engine.ready()
