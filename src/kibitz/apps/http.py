"""What the servers of the page and of tools for language models share: HTTP with an end to it all.

Connections are as uvicorn has them, with an end to all that others may leave open.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from errno import EADDRNOTAVAIL
from typing import ClassVar, NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from kibitz.core.errors import InputError

MOST_OF_AN_ADDRESS = 64  # connections that are no WebSocket; a browser opens six
MOST_OF_ALL = 96  # such connections; with WebSockets and files fewer than 256, a common limit
AT_ONCE = 32  # connections that are taken before one of them is looked at
PATIENCE_SECONDS = 10.0  # for a whole request, from its first byte or the connection on
READER_SECONDS = 30.0  # in which an answer is taken further


class PatientProtocol(H11Protocol):
    """HTTP with a deadline for every request and answer, and with few connections at a time.

    Who sends half a request, or none, or does not read, would otherwise hold a connection for ever.
    Where there are too many, the one that has waited longest gives way: a request that is whole
    does not wait, so connections that are only held keep no other out.
    """

    _open: ClassVar[dict[PatientProtocol, None]] = {}  # connections in the order they came

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count a connection, and close the oldest that waits where there are enough."""
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""
        self._open[self] = None
        self._deadline: asyncio.TimerHandle | None = None
        self._upgraded = False  # to a WebSocket
        self._wait(PATIENCE_SECONDS)
        same = [other for other in self._open if other._peer == self._peer]
        if len(same) > MOST_OF_AN_ADDRESS:
            self._make_room(same)
        elif len(self._open) > MOST_OF_ALL:
            self._make_room([*self._open])

    @staticmethod
    def _make_room(those: list[PatientProtocol]) -> None:
        """Close the oldest connection that waits; the newest does, at least."""
        oldest = next(other for other in those if other._deadline is not None)
        oldest.transport.abort()
        oldest._leave()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take a connection from the count."""
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; a request that is whole has no deadline any more."""
        super().data_received(data)
        if self._upgraded or self.flow.write_paused:
            return
        if self.cycle is None or self.cycle.response_complete:
            self._wait(PATIENCE_SECONDS)
        else:
            self._answered()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave a WebSocket to its own protocol, which asks for signs of life."""
        self._upgraded = True
        self._leave()
        super().handle_websocket_upgrade(event)

    def pause_writing(self) -> None:
        """Wait for the other end to read, but not for ever."""
        super().pause_writing()
        self._answered()
        self._wait(READER_SECONDS)

    def resume_writing(self) -> None:
        """Go on with an answer."""
        super().resume_writing()
        self._answered()

    def _leave(self) -> None:
        """Have no deadline any more, and no part in the count."""
        self._answered()
        self._open.pop(self, None)

    def _wait(self, seconds: float) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _answered(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


# --- where it listens -----------------------------------------------------------------------------


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


def listen(address: Address) -> socket.socket:
    """A socket that takes connections there."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address.host, address.port))
    except (OSError, OverflowError) as error:  # the latter: no port has that number
        listening.close()
        shown = f"{address.host}:{address.port}"
        number = getattr(error, "errno", None)
        elsewhere = isinstance(error, socket.gaierror) or number == EADDRNOTAVAIL
        flag = "--host" if elsewhere else "--port"
        fix = f"{getattr(error, 'strerror', None) or error}; give another {flag}"
        raise InputError("cannot listen there", value=shown, fix=fix) from error
    listening.listen(AT_ONCE)
    return listening
