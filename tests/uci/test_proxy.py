"""UCI over TCP: a server on the loopback, callers with and without the token."""

import doctest
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kibitz.core.errors import FileError, InputError
from kibitz.engine import Engine
from kibitz.nets.discover import shipped_names
from kibitz.uci import proxy
from kibitz.uci.options import all_options
from kibitz.uci.proxy import LONGEST_LINE, Address, Server, connect, is_loopback, parse_address
from tests.uci.scripted import Gui

PATIENCE = 60.0


@contextmanager
def serving(token: str = "") -> Iterator[Address]:
    with Server(("127.0.0.1", 0), token, lambda: Engine("material", hash=4)) as server:
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
        silent = [stack.enter_context(socket.create_connection(address)) for _ in range(2)]
        assert call(address, ["uci", "quit"])[-1] == "uciok"
        silent += [stack.enter_context(socket.create_connection(address)) for _ in range(3)]
        silent[-1].settimeout(PATIENCE)
        assert silent[-1].recv(1) == b""


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
