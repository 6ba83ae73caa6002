"""Who may talk to the server: a check of every request before anything else sees it.

Only this machine gets in unless there is a token. A page of another site cannot reach the server
through the user's browser: the Host header must be an address or a known name (DNS rebinding), and
a WebSocket must come from the page itself (Origin).
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from collections.abc import Iterable
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["type"] == "http" and given and self._is_token(given):
            # One slash: two would name another server.
            answer = RedirectResponse("/" + scope["path"].lstrip("/\\"), 303)
            secure = scope["scheme"] == "https"
            answer.set_cookie(COOKIE, given, httponly=True, samesite="lax", secure=secure)
            return answer
        kept = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return None if self._is_token(kept) else PlainTextResponse(NO_TOKEN, 401)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())
