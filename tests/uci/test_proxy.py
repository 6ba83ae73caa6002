"""UCI over TCP: a server on the loopback, callers with and without the token."""

import doctest
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from kibitz.core.errors import FileError, InputError
from kibitz.engine import Engine
from kibitz.engine.options import MOST_CACHED, EngineOptions
from kibitz.nets.discover import shipped_names
from kibitz.nets.evaluators.cache import PredictionCache
from kibitz.search.options import Settings
from kibitz.uci import proxy
from kibitz.uci.options import all_options
from kibitz.uci.protocol import Channel
from kibitz.uci.proxy import (
    CACHED_BYTES,
    CALLER_MIB,
    LONGEST_LINE,
    Address,
    Server,
    Shares,
    connect,
    is_loopback,
    need_of,
    parse_address,
)
from tests.uci.scripted import Gui

PATIENCE = 60.0


@contextmanager
def serving(token: str = "", shares: Shares | None = None) -> Iterator[Address]:
    def new_engine() -> Engine:
        return Engine("material", hash=4)

    with Server(("127.0.0.1", 0), token, new_engine, shares) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield "127.0.0.1", server.port
        finally:
            server.shutdown()
            thread.join()


def call(address: Address, lines: list[str], token: str = "") -> list[str]:
    """Everything the server says to these lines."""
    heard: list[str] = []
    connect(address, lines, heard.append, token)
    return heard


def test_a_remote_engine_plays_a_game() -> None:
    with serving() as address:
        said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        heard: queue.Queue[str] = queue.Queue()
        caller = threading.Thread(target=connect, args=(address, iter(said.get, None), heard.put))
        caller.start()
        moves: list[str] = []
        for _ in range(6):
            said.put(f"position startpos moves {' '.join(moves)}")
            said.put("go nodes 50")
            while not (line := heard.get(timeout=PATIENCE)).startswith("bestmove"):
                assert line.startswith("info ")
            moves.append(line.split()[1])
        said.put(None)
        caller.join(PATIENCE)
        assert not caller.is_alive()
    assert len(moves) == 6


def test_callers_have_engines_of_their_own_and_leaving_is_answered() -> None:
    with serving() as address:
        endless = threading.Thread(target=call, args=(address, ["go infinite"]))
        endless.start()
        assert call(address, ["uci", "isready", "quit"])[-1] == "readyok"
        endless.join(PATIENCE)
        assert not endless.is_alive()
        assert call(address, ["position startpos", "go infinite"])[-1].startswith("bestmove")


def test_the_token_opens_and_nothing_else_does() -> None:
    with serving("secret") as address:
        assert call(address, ["isready"], "secret")[-1] == "readyok"
        for wrong in ("", "secre", "secrets"):
            heard = call(address, ["isready", "quit"], wrong)
            assert "readyok" not in heard
            assert heard in ([], ["info string wrong token; the connection is closed"])


def test_other_machines_need_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        assert not is_loopback(host)
        with pytest.raises(InputError, match="other machines need a token"):
            Server((host, 0), "", Engine)
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")


def test_addresses_that_lead_nowhere_are_named() -> None:
    for text in ("localhost", "localhost:port", ":70000", "localhost:"):
        with pytest.raises(InputError, match="expected HOST:PORT"):
            parse_address(text)
    assert doctest.testmod(proxy).failed == 0
    with serving() as address:
        pass
    with pytest.raises(FileError, match="cannot connect"):
        call(address, [])


def raw(address: Address, sent: bytes) -> bytes:
    """Everything a server says to these bytes until it closes the connection."""
    with socket.create_connection(address, timeout=PATIENCE) as connection:
        heard = b""
        try:
            connection.sendall(sent)
            while more := connection.recv(4096):
                heard += more
        except ConnectionError:  # closed while there was still something to read or to send
            pass
        return heard


BODY = b"uci\nisready\nsetoption name LogFile value /tmp/x\ngo nodes 1\nwait\nquit\n"
HEADERS = b"Host: rebound.example:7000\r\nContent-Type: text/plain\r\nContent-Length: 70\r\n\r\n"


@pytest.mark.parametrize(
    "request_line",
    [
        b"POST / HTTP/1.1",
        b"OPTIONS / HTTP/1.1",
        b"GET /uci HTTP/1.1",
        b"uci / HTTP/1.1",  # after DNS rebinding a page chooses the method freely
        b"go / HTTP/1.1",
        b"token / HTTP/1.1",
        b"\x16\x03\x01\x02\x00\x01",  # TLS
        b"xyz uci",
        b"",
    ],
)
def test_a_web_page_is_not_obeyed(request_line: bytes) -> None:
    with serving() as address:
        assert raw(address, request_line + b"\r\n" + HEADERS + BODY) == b""
        assert call(address, ["isready", "quit"])[-1] == "readyok"


def test_a_web_page_is_not_obeyed_where_there_is_a_token() -> None:
    with serving("secret") as address:
        assert b"uciok" not in raw(address, b"POST / HTTP/1.1\r\n" + HEADERS + BODY)


def test_a_line_without_end_closes_the_connection() -> None:
    with serving() as address:
        for start in (b"", b"uci\n"):
            heard = raw(address, start + b"x" * (LONGEST_LINE + 1))
            assert b"unknown" not in heard
        assert call(address, ["isready", "quit"])[-1] == "readyok"


def test_callers_beyond_the_most_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "MOST_CALLERS", 3)
    with serving() as address, ExitStack() as stack:
        callers = [stack.enter_context(socket.create_connection(address)) for _ in range(3)]
        for caller in callers:
            caller.sendall(b"uci\n")
            assert caller.recv(10)
        assert b"too many callers" in raw(address, b"uci\n")
        callers[0].shutdown(socket.SHUT_RDWR)
        while b"too many callers" in (heard := raw(address, b"uci\nquit\n")):
            time.sleep(0.01)  # the place is given back when the session has ended
        assert heard.rstrip().endswith(b"uciok")


def test_silent_callers_take_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "MOST_CALLERS", 1)
    monkeypatch.setattr(proxy, "MOST_SILENT", 3)
    with serving() as address, ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(address)) for _ in range(5)]
        for first in silent[:2]:  # too many: those that have been silent longest give way
            first.settimeout(PATIENCE)
            assert first.recv(1) == b""
        assert call(address, ["uci", "quit"])[-1] == "uciok"
        silent[-1].sendall(b"uci\n")
        assert silent[-1].recv(10)


def test_the_first_line_is_waited_for_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "FIRST_LINE_SECONDS", 0.05)
    with serving() as address:
        assert raw(address, b"u") == b""


def test_single_bytes_do_not_prolong_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "PATIENCE_SECONDS", 0.3)
    with serving("secret") as address:
        connection = socket.create_connection(address, timeout=PATIENCE)
        with connection, pytest.raises(ConnectionError):
            for _ in range(6000):  # ten minutes of them, each well within the patience
                connection.sendall(b"x")
                time.sleep(0.1)


# --- what all callers may take together -----------------------------------------------------------


class Caller:
    """A connection that stays open, and the lines that come back."""

    def __init__(self, address: Address) -> None:
        self.connection = socket.create_connection(address, timeout=PATIENCE)
        self.incoming = self.connection.makefile("r", encoding="utf-8")

    def ask(self, *lines: str, until: str = "readyok") -> list[str]:
        self.connection.sendall("".join(f"{line}\n" for line in lines).encode())
        heard: list[str] = []
        while not heard or not heard[-1].startswith(until):
            line = self.incoming.readline()
            assert line, f"closed after {heard}"
            heard.append(line.rstrip())
        return heard

    def close(self) -> None:
        """Leave, and wait until the server has noticed: it has closed its end, too."""
        self.connection.shutdown(socket.SHUT_WR)
        while self.incoming.readline():
            pass
        self.incoming.close()
        self.connection.close()


def told(lines: list[str], word: str) -> str:
    return next((line for line in lines if word in line), "")


def test_hash_of_all_callers_has_a_limit() -> None:
    shares = Shares(mib=3 * (CALLER_MIB + 50) + 1_000, threads=1)
    with serving(shares=shares) as address:
        callers = [Caller(address) for _ in range(3)]
        many = "setoption name Hash value 900"
        assert not told(callers[0].ask(many, "isready"), "Hash")
        for caller in callers[1:]:
            refusal = told(caller.ask(many, "isready"), "Hash")
            assert "Hash takes more than the" in refusal
            assert f"left of {shares.mib} MiB for all callers: 900" in refusal
            assert refusal.endswith("give less, or start the server with a larger --most-memory")
            assert told(caller.ask("uci", until="uciok"), "name Hash ").endswith("131072")
            assert caller.ask("go nodes 20", until="bestmove")  # it plays on with what it has
        callers[0].ask("setoption name Hash value 4", "isready")
        assert not told(callers[1].ask(many, "isready"), "Hash")
        callers[1].close()
        while told(callers[2].ask(many, "isready"), "Hash"):
            time.sleep(0.01)  # the share is given back when the session has ended
        for caller in (callers[0], callers[2]):
            caller.close()


def test_what_is_loaded_counts_until_it_is_closed() -> None:
    shares = Shares(mib=2 * (CALLER_MIB + 50) + 1_000, threads=1)
    with serving(shares=shares) as address:
        first, second = Caller(address), Caller(address)
        first.ask("setoption name Hash value 900", "isready")
        first.connection.sendall(b"setoption name Hash value 4\nd\n")  # wanted, not yet loaded
        assert told(second.ask("setoption name Hash value 900", "isready"), "Hash takes more")
        for caller in (first, second):
            caller.close()


def test_a_caller_for_whom_nothing_is_left_is_told() -> None:
    with serving(shares=Shares(mib=CALLER_MIB + 300, threads=1)) as address:
        first = Caller(address)
        first.ask("setoption name Hash value 200", "isready")
        refused = call(address, ["isready", "quit"])
        assert len(refused) == 1
        assert "--most-memory; the connection is closed" in refused[0]
        first.close()


@pytest.mark.parametrize(
    ("option", "value"), [("Threads", "5"), ("BackendOptions", "threads=5,batch=8")]
)
def test_threads_of_all_callers_have_a_limit(option: str, value: str) -> None:
    with serving(shares=Shares(mib=100_000, threads=6)) as address:
        callers = [Caller(address) for _ in range(3)]  # each has one
        for caller in callers:
            caller.ask("isready")
        many = f"setoption name {option} value {value}"
        refusal = told(callers[0].ask(many, "isready"), "--most-threads")
        assert f"{option} takes more than the 4 left of 6 threads for all callers" in refusal
        callers[2].close()
        while told(callers[0].ask(many, "isready"), "--most-threads"):
            time.sleep(0.01)
        assert told(callers[1].ask("setoption name Threads value 2", "isready"), "--most-threads")
        late = Caller(address)
        late.ask("isready")  # one thread is everybody's
        for caller in (*callers[:2], late):
            caller.close()


def os_threads() -> int:
    return len([*Path("/proc/self/task").iterdir()])


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not count them")
def test_threads_of_a_backend_end_with_it() -> None:
    with serving(shares=Shares(mib=100_000, threads=100)) as address:
        caller = Caller(address)
        caller.ask("setoption name WeightsFile value kibitz-plain-4x64", "isready")
        before = os_threads()
        caller.ask("setoption name BackendOptions value threads=40", "isready")
        assert before + 30 < os_threads() < before + 60
        caller.ask("setoption name BackendOptions value threads=1", "isready")
        while os_threads() > before + 10:
            time.sleep(0.01)
        caller.ask("setoption name BackendOptions value threads=40", "isready")
        caller.close()
        while os_threads() > before + 10:
            time.sleep(0.01)


def test_what_an_engine_may_take() -> None:
    small, options = Settings(hash=1), EngineOptions(cache_size=0)
    least = need_of(small, options)
    assert (least.memory, least.threads) == (CALLER_MIB + 1 + 32 // 4, 1)
    for line, mib, threads in [
        ("threads=256", 0, 256),
        ("device=cpu+cpu+cpu,threads=4", 2 * 32 // 4, 12),
        ("batch=65536", 0, 1),  # MinibatchSize is less
        ("batch=65536,padded=true", (65536 - 32) // 4, 1),
    ]:
        need = need_of(small, replace(options, backend_options=line))
        assert need.memory - least.memory == mib
        assert need.threads == threads
    assert need_of(small, EngineOptions(cache_size=MOST_CACHED)).largest[0] == "NNCacheSize"
    cached = PredictionCache(1_000_000 * CACHED_BYTES)
    assert cached.size <= 1_000_000 * CACHED_BYTES < cached.size * 1.01


def test_a_line_is_not_sent_to_who_has_gone() -> None:
    tried: list[str] = []

    def send(line: str) -> None:
        tried.append(line)
        raise BlockingIOError("the other side takes nothing")

    channel = Channel(send)
    for line in ("option name Hash", "option name Threads", "uciok"):
        channel.write(line)  # each of them would wait once more
    assert tried == ["option name Hash"]


def test_a_server_that_closes_ends_its_callers_searches() -> None:
    with ExitStack() as stack:
        with serving() as address:
            caller = stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            caller.sendall(b"go infinite\n")
            answers = caller.makefile("rb")
            while not answers.readline().startswith(b"info depth"):
                pass
            jobs = [one for one in threading.enumerate() if one.name == "uci job"]
            assert jobs
        for job in jobs:
            job.join(PATIENCE)
            assert not job.is_alive()


def test_a_caller_who_reads_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "ANSWER_SECONDS", 1)
    monkeypatch.setattr(proxy, "MOST_CALLERS", 1)
    with serving() as address, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.settimeout(PATIENCE)
        deaf.connect(address)
        with suppress(ConnectionError):  # the server gives up
            for _ in range(3_000):
                deaf.sendall(b"uci\n" * 100)
        while "too many callers" in call(address, ["isready", "quit"])[-1]:
            time.sleep(0.05)


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["LogFile", "log_file", "SyzygyPath", "syzygypath", "WeightsFile", "evalfile"]
)
def test_files_cannot_be_named_from_afar(name: str, tmp_path: Path) -> None:
    there, missing = tmp_path / "there", tmp_path / "missing"
    there.write_bytes(b"secret")
    with Gui(remote=True) as gui:
        answers = [
            gui.ask(f"setoption name {name} value {value}", "info string ")[-1].replace(
                str(value), "..."
            )
            for value in (there, missing, there.parent, f"file://{there}")
        ]
        assert "takes no files over TCP" in answers[0]
        assert len(set(answers)) == 1, "files that exist have an answer of their own"
        gui.say(f"setoption name {name} value <empty>")
        assert not any("over TCP" in line for line in gui.ask("isready", "readyok"))
    assert there.read_bytes() == b"secret"
    assert not missing.exists()


@pytest.mark.slow
def test_networks_go_by_their_names_over_tcp() -> None:
    with Gui(remote=True) as gui:
        for name in ("uniform", "default", "shipped", *shipped_names()):
            gui.say(f"setoption name WeightsFile value {name}")
            assert not any("over TCP" in line for line in gui.ask("isready", "readyok"))
        assert gui.session.engine.network
        assert gui.session.engine.network != "material"


def test_every_text_is_known_to_name_files_or_not() -> None:
    texts = {row.uci: row.names_files for row in all_options() if row.kind is str}
    named = {uci for uci, names_files in texts.items() if names_files}
    harmless = {"BackendOptions", "UCI_Opponent"}
    choices = {row.uci for row in all_options() if row.choices}
    assert named == {"WeightsFile", "SyzygyPath", "LogFile", "BestFirstFile"}
    assert set(texts) - named - choices == harmless
