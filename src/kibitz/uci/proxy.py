"""UCI over TCP: an engine here for a GUI elsewhere, and the other end.

stdin, stdout <-> `connect` <-> network <-> **serve** <-> a Session and an engine for each caller

Only this machine may connect unless there is a token, which the caller must send as its first line.
The connection is not encrypted: between machines that is a matter for SSH or a private network.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator
from io import BufferedIOBase
from typing import TypeAlias

from kibitz.engine import Engine
from kibitz.errors import FileError, InputError
from kibitz.uci.loop import Session

TOKEN_VARIABLE = "KIBITZ_TOKEN"
TOKEN_WORD = "token"  # the first line of a caller begins with it
LONGEST_LINE = 1 << 20  # bytes; a game of 6 000 moves has 30 000
PATIENCE_SECONDS = 10.0  # for the token, and for the connection

Address: TypeAlias = tuple[str, int]


def parse_address(text: str) -> Address:
    """Host and port of `HOST:PORT`, `[IPv6]:PORT` or `:PORT`, which is this machine.

    >>> parse_address("localhost:7000"), parse_address("[::1]:7000")
    (('localhost', 7000), ('::1', 7000))
    """
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal() and int(port[:6]) < 1 << 16):
        raise InputError("not an address", value=text, fix="expected HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and nobody else can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def token_from_environment() -> str:
    """The token of the environment, where no list of processes shows it."""
    return os.environ.get(TOKEN_VARIABLE, "")


# --- serving --------------------------------------------------------------------------------------


class Server(socketserver.ThreadingTCPServer):
    """Listens; each caller gets an engine of its own, which goes when the caller goes."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: Address, token: str, new_engine: Callable[[], Engine]) -> None:
        if not token and not is_loopback(address[0]):
            fix = f"give --token, or set {TOKEN_VARIABLE}"
            raise InputError("other machines need a token", value=address[0], fix=fix)
        self.token, self.new_engine = token, new_engine
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        try:
            super().__init__(address, Caller)
        except OSError as error:
            where = "{}:{}".format(*address)
            raise FileError(f"cannot listen ({error.strerror or error})", value=where) from error

    @property
    def port(self) -> int:
        """The port, chosen by the system if 0 was asked for."""
        return int(self.server_address[1])


class Caller(socketserver.StreamRequestHandler):
    """One connection."""

    server: Server

    def handle(self) -> None:
        """Check the token, then obey."""
        lines = _lines(self.rfile)
        if not self._is_welcome(lines):
            self._send("info string wrong token; the connection is closed")
            return
        self.connection.settimeout(None)
        Session(self._send, self.server.new_engine(), remote=True).run(lines)

    def _is_welcome(self, lines: Iterator[str]) -> bool:
        if not self.server.token:
            return True
        self.connection.settimeout(PATIENCE_SECONDS)
        word, _, given = next(lines, "").strip().partition(" ")
        expected = self.server.token.encode()
        return word == TOKEN_WORD and hmac.compare_digest(given.strip().encode(), expected)

    def _send(self, line: str) -> None:
        self.wfile.write(f"{line}\n".encode())


def _lines(stream: BufferedIOBase) -> Iterator[str]:
    """Lines of a connection until it ends, breaks, or sends one without end."""
    while True:
        try:
            line = stream.readline(LONGEST_LINE)
        except OSError:  # the caller has gone without a word, or said none in time
            return
        if not line or len(line) == LONGEST_LINE:
            return
        yield line.decode("utf-8", "replace")


# --- connecting -----------------------------------------------------------------------------------


def connect(
    address: Address, lines: Iterable[str], write: Callable[[str], None], token: str = ""
) -> None:
    """Pass lines to a server and write what comes back, until both have nothing more to say."""
    where = "{}:{}".format(*address)
    try:
        connection = socket.create_connection(address, timeout=PATIENCE_SECONDS)
    except OSError as error:
        raise FileError(f"cannot connect ({error.strerror or error})", value=where) from error
    with connection, connection.makefile("rb") as incoming:
        connection.settimeout(None)
        if token:
            connection.sendall(f"{TOKEN_WORD} {token}\n".encode())
        sender = threading.Thread(target=_send_all, args=(connection, lines), daemon=True)
        sender.start()
        for line in _lines(incoming):
            write(line.rstrip("\r\n"))


def _send_all(connection: socket.socket, lines: Iterable[str]) -> None:
    """Send lines, then say that there are no more; the answers may still come."""
    try:
        for line in lines:
            connection.sendall(line.rstrip("\r\n").encode() + b"\n")
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the server has closed the connection: the receiving side ends, too
