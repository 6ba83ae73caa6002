"""UCI over TCP: an engine here for a GUI elsewhere, and the other end.

`serve` gives each caller a Session and an engine; `connect` passes lines on between one and a GUI.

Only this machine may connect unless there is a token, which the caller must send as its first line.
Without a token the first line must be a UCI command: a web page can make the browser on this
machine send an HTTP request here, and a line of its body must not be obeyed. The connection is not
encrypted: between machines that is a matter for SSH or a private network.
"""

from __future__ import annotations

import hmac
import ipaddress
import itertools
import math
import os
import socket
import socketserver
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import BufferedIOBase
from typing import NamedTuple, TypeAlias

from kibitz.core.errors import FileError, InputError
from kibitz.core.workers import memory, processors
from kibitz.engine import Engine
from kibitz.engine.options import EngineOptions, parse_backend_options
from kibitz.search.options import Settings
from kibitz.uci.loop import COMMANDS, run
from kibitz.uci.session import Session

# --- what callers may take ------------------------------------------------------------------------
#
# What the callers of `proxy.Server` may take of its machine together: memory and threads.
#
# Each caller has a `Share`, which its engine asks before an option changes. What it was given
# counts until something smaller is loaded, not only wanted.


MIB = 1 << 20
OF_MEMORY = 3 / 4  # of the machine's, for all callers
UNKNOWN_MIB = 4_096  # where the system does not say how much it has
CALLER_MIB = 128  # of a caller beside what options set: networks, the tables of `bench`
CACHED_BYTES = 136  # of a position in the cache
BATCHED_MIB = 0.25  # of a position in a batch: planes, and what the layers make of them
LARGEST_BATCH = 256  # unless BackendOptions say otherwise


class Need(NamedTuple):
    """What an engine may come to take."""

    memory: int  # MiB
    threads: int  # that compute at the same time
    largest: tuple[str, object]  # the option that asks for most memory, and its value
    busiest: tuple[str, object]  # that asks for most threads


def need_of(settings: Settings, options: EngineOptions) -> Need:
    """What an engine with these options may come to take, whatever network it has.

    >>> need_of(Settings(hash=1024, threads=2), EngineOptions(backend_options="threads=3"))[:2]
    (1186, 4)
    """
    backend = parse_backend_options(options.backend_options)
    sessions = len(backend.get("device", ("cpu",)))
    batch = backend.get("batch", LARGEST_BATCH)
    if not backend.get("padded"):
        batch = min(batch, settings.minibatch_size)
    parts: dict[tuple[str, object], float] = {
        ("Hash", settings.hash): settings.hash,
        ("NNCacheSize", options.cache_size): options.cache_size * CACHED_BYTES / MIB,
        ("BackendOptions", options.backend_options): batch * sessions * BATCHED_MIB,
    }
    together = backend.get("threads", 1) * sessions
    busiest: tuple[str, object] = ("Threads", settings.threads)
    if together > settings.threads:
        busiest = ("BackendOptions", options.backend_options)
    mib = CALLER_MIB + math.ceil(sum(parts.values()))
    largest = max(parts, key=lambda part: parts[part])
    return Need(mib, settings.threads + together - 1, largest, busiest)


class Share:
    """What a caller has; the allowance of its engine."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._loaded: Need | None = None  # of what is loaded

    def ask(self, settings: Settings, options: EngineOptions) -> None:
        """Count what options need from now on, or raise an InputError."""
        self._shares.give(self, need_of(settings, options), self._loaded)

    def hold(self, settings: Settings, options: EngineOptions) -> None:
        """Count what is loaded, and nothing else any more."""
        self._loaded = need_of(settings, options)
        self._shares.give(self, self._loaded, None)

    def end(self) -> None:
        """Leave all to others."""
        self._shares.take_back(self)


class Shares:
    """The limits, and what each caller has of them."""

    def __init__(self, mib: int | None = None, threads: int | None = None) -> None:
        total = memory()
        own = UNKNOWN_MIB if total is None else int(total * OF_MEMORY) // MIB
        self.mib = own if mib is None else mib
        self.threads = processors() if threads is None else threads
        self._lock = threading.Lock()
        self._given: dict[Share, tuple[int, int]] = {}  # MiB and threads

    def give(self, share: Share, need: Need, loaded: Need | None) -> None:
        """Count a need as long as there is room; never less than what is held still."""
        mib = max(need.memory, 0 if loaded is None else loaded.memory)
        threads = max(need.threads, 0 if loaded is None else loaded.threads)
        with self._lock:
            others = [pair for other, pair in self._given.items() if other is not share]
            has_mib, has_threads = self._given.get(share, (0, 1))  # a thread is everybody's
            left = self.mib - sum(mib for mib, _ in others)
            if mib > max(left, has_mib):
                raise _refusal(need.largest, f"{self.mib} MiB", left, "--most-memory")
            left = self.threads - sum(threads for _, threads in others)
            if threads > max(left, has_threads):
                raise _refusal(need.busiest, f"{self.threads} threads", left, "--most-threads")
            self._given[share] = mib, threads

    def take_back(self, share: Share) -> None:
        """Count a caller no more."""
        with self._lock:
            self._given.pop(share, None)


def _refusal(option: tuple[str, object], limit: str, left: int, flag: str) -> InputError:
    name, value = option
    what = f"{name} takes more than the {max(0, left)} left of {limit} for all callers"
    return InputError(what, value=value, fix=f"give less, or start the server with a larger {flag}")


# --- the server -----------------------------------------------------------------------------------


TOKEN_VARIABLE = "KIBITZ_TOKEN"
TOKEN_WORD = "token"  # the first line of a caller begins with it
LONGEST_LINE = 1 << 20  # bytes; a game of 6 000 moves has 30 000
PATIENCE_SECONDS = 10.0  # for the connection, and for the token
FIRST_LINE_SECONDS = 60.0  # for the first command, which a person may have to type
MOST_CALLERS = 32  # at the same time
MOST_SILENT = 8  # of an address, that have not said their first line yet; then the first goes
ANSWER_SECONDS = 30  # in which a caller takes what is sent; who does not read has gone
HTTP_MARK = "HTTP/"  # in every request line, whatever word a browser is made to begin it with

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
    """Whether a host is this machine, out of reach of others."""
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

    def __init__(
        self,
        address: Address,
        token: str,
        new_engine: Callable[[], Engine],
        shares: Shares | None = None,
    ) -> None:
        if not token and not is_loopback(address[0]):
            fix = f"give --token, or set {TOKEN_VARIABLE}"
            raise InputError("other machines need a token", value=address[0], fix=fix)
        self.token, self.new_engine = token, new_engine
        self.shares = shares or Shares()
        self.seats = threading.BoundedSemaphore(MOST_CALLERS)
        self.silent: dict[str, deque[Caller]] = {}  # before their first line, by address
        self.callers: set[Caller] = set()
        self.lock = threading.Lock()  # of these two
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        try:
            super().__init__(address, Caller)
        except OSError as error:
            where = "{}:{}".format(*address)
            raise FileError(f"cannot listen ({error.strerror or error})", value=where) from error

    def server_close(self) -> None:
        """Listen no more, and hang up on all callers, which ends their searches."""
        super().server_close()
        with self.lock:
            for caller in self.callers:
                caller.hang_up()

    @property
    def port(self) -> int:
        """The port, chosen by the system if 0 was asked for."""
        return int(self.server_address[1])


class Caller(socketserver.StreamRequestHandler):
    """One connection."""

    server: Server

    def setup(self) -> None:
        """Be known to the server."""
        super().setup()
        with self.server.lock:
            self.server.callers.add(self)

    def finish(self) -> None:
        """Be forgotten."""
        with self.server.lock:
            self.server.callers.discard(self)
        super().finish()

    def handle(self) -> None:
        """Obey a caller who may be here and for whom there is a place."""
        lines = self._checked()
        if lines is None:
            return
        if not self.server.seats.acquire(blocking=False):
            self._refuse("too many callers")
            return
        share = Share(self.server.shares)
        try:
            self._obey(lines, share)
        finally:
            share.end()
            self.server.seats.release()

    def _obey(self, lines: Iterator[str], share: Share) -> None:
        """Obey a caller with an engine of its own, if it fits beside those of others."""
        engine = self.server.new_engine()
        try:
            share.ask(engine.settings, engine.options)
        except InputError as error:
            self._refuse(str(error))
            return
        engine.allowance = share
        _give_up_after(self.connection, ANSWER_SECONDS)
        run(Session(self._send, engine, remote=True), lines)

    def _checked(self) -> Iterator[str] | None:
        """What a caller has to say, once the first line was right; silent callers take no place."""
        host, server = str(self.client_address[0]), self.server
        with server.lock:
            silent = server.silent.setdefault(host, deque())
            silent.append(self)
            if len(silent) > MOST_SILENT:  # who has something to say has said it long ago
                silent.popleft().hang_up()
        try:
            return self._first_line()
        finally:
            with server.lock:
                if self in silent:
                    silent.remove(self)
                    if not silent:
                        del server.silent[host]

    def _first_line(self) -> Iterator[str] | None:
        """Check the first line; what is to be obeyed."""
        lines = _lines(self.rfile)
        patience = PATIENCE_SECONDS if self.server.token else FIRST_LINE_SECONDS
        # Not a timeout of the socket, which every single byte would prolong.
        closing = threading.Timer(patience, self.hang_up)
        closing.start()
        first = next(lines, "")
        closing.cancel()
        if not first.endswith("\n"):
            return None
        if self.server.token:
            if self._opens(first):
                return lines
            self._refuse("wrong token")
            return None
        return itertools.chain([first], lines) if is_command(first) else None

    def hang_up(self) -> None:
        """End a connection; a reader that waits for its next line gets none."""
        with suppress(OSError):  # it has ended already
            self.connection.shutdown(socket.SHUT_RDWR)

    def _opens(self, first: str) -> bool:
        """Whether the first line holds the token."""
        word, _, token = first.strip().partition(" ")
        expected = self.server.token.encode()
        return word == TOKEN_WORD and hmac.compare_digest(token.strip().encode(), expected)

    def _refuse(self, why: str) -> None:
        with suppress(OSError):  # the caller has gone already
            self._send(f"info string {why}; the connection is closed")

    def _send(self, line: str) -> None:
        self.wfile.write(f"{line}\n".encode())


def _give_up_after(connection: socket.socket, seconds: int) -> None:
    """Have writing fail where the other end takes nothing for so long; reading may wait longer."""
    limit = seconds * 1000 if os.name == "nt" else struct.pack("ll", seconds, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # a lost one is noticed


def is_command(first: str) -> bool:
    """Whether a caller's first line is UCI, not the first line of another protocol.

    >>> is_command("uci"), is_command("POST / HTTP/1.1"), is_command("uci / HTTP/1.1")
    (True, False, False)
    """
    word = first.split(maxsplit=1)[:1]
    return word != [] and word[0] in {*COMMANDS, "quit", TOKEN_WORD} and HTTP_MARK not in first


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
