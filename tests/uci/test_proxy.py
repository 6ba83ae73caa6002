"""UCI over TCP: a server on the loopback, callers with and without the token."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kibitz.engine import Engine
from kibitz.errors import FileError, InputError
from kibitz.uci.proxy import Address, Server, connect, is_loopback, parse_address
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
    with serving() as address:
        pass
    with pytest.raises(FileError, match="cannot connect"):
        call(address, [])


def test_nobody_writes_files_from_afar() -> None:
    with Gui(remote=True) as gui:
        gui.ask("setoption name LogFile value /tmp/somewhere", "info string LogFile is not for")
