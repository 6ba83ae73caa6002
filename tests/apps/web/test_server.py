"""The server without a browser: who is let in, what may be read, and what a slow page gets."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, ExitStack, closing, suppress
from functools import partial
from http.client import HTTPMessage as Message
from pathlib import Path
from typing import Any, TypeAlias, cast
from unittest.mock import Mock

import chess
import pytest
import uvicorn
from starlette.websockets import WebSocket
from uvicorn.server import ServerState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

from kibitz.apps.web import connection as connections
from kibitz.apps.web import jobs, library, positions
from kibitz.apps.web.connection import App, Connection
from kibitz.apps.web.engines import EngineChoice, Engines
from kibitz.apps.web.jobs import Jobs
from kibitz.apps.web.library import Library
from kibitz.apps.web.positions import Node, PagePosition, described, game_in, pgn_of, read_text
from kibitz.apps.web.server import (
    MOST_PAGES,
    MOST_PIECES,
    PatientSocket,
    host_of,
)
from kibitz.apps.web.watch import proof_text
from kibitz.cli import main
from kibitz.core.errors import InputError, KibitzError, NotationError
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from tests.apps.web.conftest import CHANGES, GAMES, Server

Talk: TypeAlias = Callable[["Page"], Coroutine[Any, Any, None]]


class Page:
    """A page's end of the connection."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self.number, self.pushed = socket, 0, list[dict[str, Any]]()

    async def ask(self, what: str, /, **fields: Any) -> dict[str, Any]:
        """The answer to a request; what is pushed meanwhile is kept."""
        self.number += 1
        await self.socket.send(json.dumps({"id": self.number, "do": what, **fields}))
        while (found := json.loads(await self.socket.recv())).get("id") != self.number:
            self.pushed.append(found)
        answer: dict[str, Any] = found
        return answer

    async def next(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message that is pushed and wanted."""
        while True:
            while self.pushed:
                found = self.pushed.pop(0)
                if wanted(found):
                    return found
            self.pushed.append(json.loads(await self.socket.recv()))


def own_origin(server: Server) -> Origin:
    return Origin(f"http://{server.host}")


def talk(server: Server, work: Talk, **options: Any) -> None:
    async def run() -> None:
        options.setdefault("origin", own_origin(server))
        name = options.pop("name", server.host)
        place: dict[str, Any] = {"host": "127.0.0.1", "port": server.port, "max_size": None}
        async with connect(f"ws://{name}/socket", **place, **options) as socket:
            await work(Page(socket))

    asyncio.run(run())


def get(server: Server, path: str, **headers: str) -> tuple[int, Message, str]:
    """Status, headers and text of an answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)) as connection:
        connection.request("GET", path, headers={"Host": server.host, **headers})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()


# --- who is let in --------------------------------------------------------------------------------


def test_the_page_comes_with_headers_that_protect_it(server: Server) -> None:
    status, headers, page = get(server, "/")
    assert status == 200
    assert 'id="piece-K"' in page
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "style=" not in page
    assert "onclick" not in page


def test_another_host_is_refused(server: Server) -> None:
    for host in ("evil.example", "192.0.2.1", "", f"evil.example:{server.port}"):
        assert get(server, "/", Host=host)[0] in (400, 421), host
    assert get(server, "/", Host=f"localhost:{server.port}")[0] == 200
    with pytest.raises(InvalidStatus, match="403"):
        talk(server, _nothing, origin="http://evil.example", name="evil.example")


def test_another_origin_is_refused(server: Server) -> None:
    other = f"http://localhost:{server.port + 1}"
    for origin in ("http://evil.example", "null", "http://[", other, None):
        with pytest.raises(InvalidStatus, match="403"):
            talk(server, _nothing, origin=origin)


async def _nothing(_: Page) -> None:
    pass


@pytest.fixture(scope="module")
def guarded(folder: Path) -> Iterator[Server]:
    """A server that other machines could reach, with one engine."""
    found = Server(folder, "--host", "0.0.0.0", "--engines", "1")
    yield found
    found.stop()


def own_cookie(server: Server) -> dict[str, str]:
    """What the page's address gives a browser."""
    token = server.url.split("?token=")[1]
    assert len(token) >= 32
    status, headers, _ = get(server, f"/?token={token}")
    assert status == 303
    assert "HttpOnly" in headers["Set-Cookie"]
    return {"Cookie": headers["Set-Cookie"].split(";")[0]}


def test_a_token_is_needed_where_others_could_come(guarded: Server) -> None:
    for path in ("/", "/static/main.js", "/?token=wrong", "/?token=%FF"):
        assert get(guarded, path)[0] == 401, path
    assert get(guarded, "/", Cookie="kibitz-token=wrong")[0] == 401
    with pytest.raises(InvalidStatus, match="403"):
        talk(guarded, _nothing)
    own = own_cookie(guarded)
    assert get(guarded, "/", **own)[0] == 200
    talk(guarded, _says_hello, additional_headers=own)


async def _says_hello(page: Page) -> None:
    assert "material" in (await page.ask("hello"))["ok"]["networks"]


def test_hosts_are_read_from_headers() -> None:
    assert host_of("LOCALHOST:80") == "localhost"
    assert host_of("[::1]:80") == "::1"
    assert host_of("a@evil.example") == ""
    assert host_of("127.0.0.1:80;script-src *") == ""
    assert host_of("[") == ""


def test_a_host_adds_nothing_to_the_policy(server: Server) -> None:
    status, headers, _ = get(server, "/", Host=f"{server.host};script-src *")
    assert status in (400, 421)
    assert "script-src *" not in headers.get("Content-Security-Policy", "")


def test_the_token_leads_to_no_other_server(guarded: Server) -> None:
    token = guarded.url.split("?token=")[1]
    status, headers, _ = get(guarded, f"//evil.example?token={token}")
    assert (status, headers["Location"]) == (303, "/evil.example")


FEW = 8  # connections of an address, where that many shall be held


@pytest.fixture(scope="module")
def few(folder: Path) -> Iterator[Server]:
    found = Server(folder, changes=CHANGES | {"kibitz.apps.http.MOST_OF_AN_ADDRESS": FEW})
    yield found
    found.stop()


@pytest.mark.parametrize("rest", [b"Host: ", b"Host: localhost\r\n\r\n"])
def test_connections_that_are_held_shut_nobody_out(few: Server, rest: bytes) -> None:
    """Half requests, and answers that nobody reads; a page that is open stays so meanwhile."""

    async def stay(page: Page) -> None:
        await asyncio.to_thread(_crowd, few, b"GET /static/board.js HTTP/1.1\r\n" + rest)
        await _says_hello(page)

    talk(few, stay)


def _crowd(server: Server, request: bytes) -> None:
    """Hold more connections than an address may have; the first of them give way."""
    with ExitStack() as stack:
        held = []
        for _ in range(FEW + 3):
            held.append(stack.enter_context(closing(socket.socket())))
            held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            held[-1].connect(("127.0.0.1", server.port))
            held[-1].setblocking(False)
            held[-1].send(request * (500 if request.endswith(b"\n") else 1))
        while not _answers(server):  # only once it is clear that nobody reads what is sent
            assert request.endswith(b"\n")
            time.sleep(0.1)
        if not request.endswith(b"\n"):
            with pytest.raises(BlockingIOError):
                held[-1].recv(1)  # it still waits
        held[0].settimeout(60)
        with suppress(ConnectionResetError):
            while held[0].recv(1 << 20):
                pass  # the first to come has ended


def _answers(server: Server) -> bool:
    try:
        return get(server, "/")[0] == 200
    except (ConnectionError, http.client.HTTPException):
        return False


@pytest.mark.slow
def test_half_a_request_is_not_waited_for_long(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as half:
        half.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert half.recv(1) == b""


@pytest.mark.slow
def test_few_connections_are_taken_at_once(tmp_path: Path) -> None:
    """300 at a time are more than the files that a process may often have."""
    if not hasattr(os, "fork"):
        pytest.skip("no limits of files here")
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        server = Server(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    try:
        with ExitStack() as stack:
            for _ in range(300):
                stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            assert get(server, "/")[0] == 200
    finally:
        server.stop()
    assert not [line for line in server.log if "out of system resource" in line]


class Line:
    """The server's end of a WebSocket, whose other end reads when it is told to."""

    async def open(self) -> None:
        self.sent, self.heard = list[bytes](), list[Any]()
        transport = Mock(spec=asyncio.Transport)
        transport.write.side_effect = self.sent.append
        transport.is_closing.return_value = False
        config = uvicorn.Config(self._application, interface="asgi3")
        self.end = PatientSocket(config, ServerState(), {})
        self.end.connection_made(transport)
        head = ["GET / HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade"]
        head += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="]
        self.end.data_received("\r\n".join([*head, "", ""]).encode())
        while not self.sent:
            await asyncio.sleep(0)
        self.sent.clear()

    async def _application(self, _: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while True:
            self.heard.append(await receive())

    def hear(self, opcode: int, data: bytes = b"", *, last: bool = True) -> None:
        """A short frame of the other end, masked by zeros."""
        self.end.data_received(bytes([128 * last + opcode, 128 + len(data)]) + bytes(4) + data)


def test_pings_of_a_deaf_page_are_not_answered() -> None:
    """Their answers would fill the memory."""

    async def ping() -> None:
        line = Line()
        await line.open()
        line.hear(9, b"a")
        line.end.pause_writing()
        for _ in range(1000):
            line.hear(9, b"b")
        assert line.sent == [b"\x8a\x01a"]
        line.end.resume_writing()
        line.hear(9, b"c")
        assert line.sent[1:] == [b"\x8a\x01c"]

    asyncio.run(ping())


def test_a_message_in_countless_pieces_is_kept_as_few() -> None:
    async def talk() -> None:
        line = Line()
        await line.open()
        line.hear(1, b"x", last=False)
        for number in range(3 * MOST_PIECES):
            line.hear(0, b"y" * (number % 2), last=False)
            assert len(line.end.frames) <= MOST_PIECES + 1
        line.hear(0, b"z")
        await asyncio.sleep(0)
        assert line.heard[0]["text"] == f"x{'y' * (3 * MOST_PIECES // 2)}z"

    asyncio.run(talk())


def test_bytes_that_are_no_text_end_a_connection_in_silence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def talk() -> None:
        line = Line()
        await line.open()
        line.hear(1, b"\xff\xfe")
        await asyncio.sleep(0)
        assert line.heard[0]["code"] == 1007
        assert line.sent[0].startswith(b"\x88")

    asyncio.run(talk())
    assert not caplog.records


# --- what is refused ------------------------------------------------------------------------------


def test_a_large_message_ends_the_connection_and_nothing_else(server: Server) -> None:
    async def shout(page: Page) -> None:
        with pytest.raises(ConnectionClosed) as caught:
            await page.ask("read", text="x" * 10_000_000)
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1009

    talk(server, shout)
    talk(server, _says_hello)


def test_no_path_leads_out_of_the_folders(server: Server, folder: Path) -> None:
    for path in (
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/report/../../x",
        "/etc/passwd",
    ):
        assert get(server, path)[0] == 404, path

    async def climb(page: Page) -> None:
        names = [name for name, _ in (await page.ask("files"))["ok"]]
        files = "games.pgn", "puzzles.csv", "some.shard", "suite.epd", "torn.shard"
        assert names == [f"0/{name}" for name in files]
        long = f"0/{'a' * 5000}.pgn"
        for name in (
            long,
            "0/\0.pgn",
            "\u00b2/games.pgn",
            "0/../secret.pgn",
            "0//etc/passwd",
            "0/link.pgn",
            "1/games.pgn",
            "-1/x",
            "",
        ):
            found = await page.ask("open", name=name, kind="games")
            assert "no such file" in found["error"], name
        found = await page.ask("open", name="0/torn.shard", kind="shard")
        assert "'torn.shard'" in found["error"]
        assert str(folder.parent) not in found["error"]
        found = await page.ask("open", name="0/notes.txt", kind="games")
        assert "no such file" in found["error"]
        for network in ("/etc/passwd", "../x.onnx", str(folder / "games.pgn")):
            found = await page.ask("look", place={}, network=network)
            assert "no such network" in found["error"]

    talk(server, climb)


def test_wrong_requests_are_answered_in_a_sentence(server: Server) -> None:
    async def err(page: Page) -> None:
        assert "not a request" in (await page.ask("dance"))["error"]
        assert "not a request" in (await page.ask("position", place={}, more=1))["error"]
        assert "FEN" in (await page.ask("position", place={"fen": "8/8"}))["error"]
        assert "illegal move" in (await page.ask("position", place={"moves": ["e2e5"]}))["error"]
        wanted = {"options": "WeightsFile=/etc/passwd"}
        found = await page.ask("watch", panel=0, place={}, wanted=wanted)
        assert "not a request" in found["error"]
        await page.socket.send("no JSON {")
        assert json.loads(await page.socket.recv())["id"] is None
        await page.socket.send(b"bytes")
        with pytest.raises(ConnectionClosed):
            await page.socket.recv()

    talk(server, err)


def test_requests_in_a_flood_are_all_answered(server: Server) -> None:
    async def flood(page: Page) -> None:
        for number in range(150):
            await page.socket.send(json.dumps({"id": number, "do": "position", "place": {}}))
        found = {json.loads(await page.socket.recv())["id"] for _ in range(150)}
        assert found == {*range(150)}

    talk(server, flood)


# --- searches -------------------------------------------------------------------------------------

MATERIAL = {"network": "material", "lines": 2}


def test_pages_watch_one_search_and_look_into_its_tree(server: Server) -> None:
    async def watch(page: Page) -> None:
        ask = {"panel": 0, "place": {"moves": ["e2e4"]}, "wanted": MATERIAL}
        topic = (await page.ask("watch", **ask))["ok"]["topic"]
        first = await page.next(lambda one: one["topic"] == topic and "moves" in one)
        board = chess.Board()
        board.push_uci("e2e4")
        assert {row[0] for row in first["moves"]} == {move.uci() for move in board.legal_moves}
        assert first["fen"].split()[0] == board.board_fen()
        await page.ask("below", panel=0, path=[first["moves"][0][0]])
        below = await page.next(lambda one: one["topic"] == f"{topic} below" and one["moves"])
        board.push_uci(below["path"][0])
        assert {row[0] for row in below["moves"]} == {move.uci() for move in board.legal_moves}
        async with connect(f"ws://{server.host}/socket", origin=own_origin(server)) as other:
            second = Page(other)
            assert (await second.ask("watch", **ask))["ok"]["topic"] == topic
            await second.next(lambda one: one["topic"] == topic and "moves" in one)
        later = await page.next(lambda one: "moves" in one and one.get("nodes", 0) > first["nodes"])
        assert later["visits"] > first["visits"]
        await page.ask("unwatch", panel=0)
        await page.ask("below", panel=0, path=[])  # the tree stays
        found = await page.next(lambda one: one["topic"] == f"{topic} below" and one["path"] == [])
        assert len(found["moves"]) == 20

    talk(server, watch)


def test_engines_are_bounded(guarded: Server) -> None:
    async def two(page: Page) -> None:
        asked = {"place": {}, "wanted": MATERIAL}
        topic = (await page.ask("watch", panel=0, **asked))["ok"]["topic"]
        await page.next(lambda one: one["topic"] == topic and "moves" in one)
        other = {"place": {"moves": ["e2e4"]}, "wanted": {**MATERIAL, "rule": "sble"}}
        found = await page.ask("watch", panel=1, **other)
        assert "all 1 engines are in use" in found["error"]
        await page.ask("unwatch", panel=0)
        found = await page.ask("think", place={}, wanted={**MATERIAL, "elo": 600}, nodes=50)
        assert found["ok"]["move"] in {move.uci() for move in chess.Board().legal_moves}
        scholar = {"moves": ["e2e4", "e7e5", "f1c4", "b8c6"]}
        found = await page.ask("think", place=scholar, wanted={"mistakes": 1100}, nodes=300)
        assert "move" in found["ok"]
        found = await page.ask("think", place={}, wanted={"mistakes": 1100, "elo": 600}, nodes=50)
        assert "full strength" in found["error"]

    talk(guarded, two, additional_headers=own_cookie(guarded))


def test_of_many_requests_to_ponder_the_last_runs_and_ends_with_its_page(folder: Path) -> None:
    app = App((folder,), engines=3, threads=1, memory=8)
    wanted = [EngineChoice("material", rule=rule) for rule in ("puct", "sble", "azero")]

    async def ponder() -> None:
        connection = Connection(app, cast(WebSocket, None))
        board = Board()
        asked = (asyncio.to_thread(connection.ponder, board, each) for each in wanted * 3)
        await asyncio.gather(*asked)
        busy = [connection.app.engines.take(each) for each in wanted[:2]]  # one of three is at work
        with pytest.raises(InputError, match="all 3 engines are in use"):
            app.engines.take(EngineChoice("uniform"))
        for held in busy:
            app.engines.give_back(held)
        connection.close()
        await asyncio.to_thread(connection.ponder, board, wanted[0])
        assert len([app.engines.take(each) for each in wanted]) == 3

    try:
        asyncio.run(ponder())
    finally:
        app.close()


@pytest.mark.slow
def test_an_analysis_rests_and_goes_on_where_it_was(folder: Path) -> None:
    server = Server(folder, "--minutes", "0.02")

    async def watch(page: Page) -> None:
        asked = {"panel": 0, "place": {}, "wanted": MATERIAL}
        topic = (await page.ask("watch", **asked))["ok"]["topic"]
        visits = 0

        def rests(message: dict[str, Any]) -> bool:
            nonlocal visits
            visits = message.get("visits", visits)
            return message.get("state") == "resting"

        assert (await page.next(rests))["minutes"] == pytest.approx(0.02)
        assert visits > 0
        for _ in range(2):
            again = (await page.ask("watch", **asked))["ok"]["topic"]
            assert again != topic
            first = await page.next(partial(_moves_of, again))
            assert first["visits"] >= visits
            await page.next(rests)

    try:
        talk(server, watch)
    finally:
        server.stop()


def test_a_move_is_made_at_last_whatever_the_clock_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "THINK_SECONDS", 0.1)
    app = App((folder,), engines=1, threads=1, memory=8)

    async def think() -> None:
        connection = Connection(app, cast(WebSocket, None))
        limits = Limits(nodes=50_000_000)
        result = await asyncio.to_thread(
            connection.think, Board(), EngineChoice("material"), limits
        )
        assert result.move is not None
        assert result.report.nodes < 50_000_000

    try:
        asyncio.run(think())
    finally:
        app.close()


def _moves_of(topic: str, message: dict[str, Any]) -> bool:
    """Whether a message is a snapshot of a topic."""
    return message["topic"] == topic and "moves" in message


def _heard(topic: str, message: bytes) -> None:
    """What a page is sent."""


def _heard_elsewhere(topic: str, message: bytes) -> None:
    """What another one is sent."""


def test_an_annotation_ends_when_its_page_does_not_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "GRACE_SECONDS", 0.05)
    kept = Jobs(Engines(2, 1, 8))
    monkeypatch.setattr(kept, "_run", lambda job: job.stop.wait(60.0))  # as long as it may
    left, looked_at = (kept.begin(GAMES, "club", 1_000, _heard, name) for name in "ab")
    looked_at.posts.add(_heard_elsewhere)
    kept.forget(_heard)
    assert left.stop.wait(60.0)
    assert "its page was gone" in left.facts()["error"]
    kept.forget(_heard_elsewhere)
    looked_at.posts.add(_heard)  # in time
    assert not looked_at.stop.wait(0.3)
    kept.close()


def test_annotations_of_an_address_are_few_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Jobs(Engines(4, 1, 8))
    monkeypatch.setattr(kept, "_run", lambda job: job.stop.wait(60.0))
    for _ in range(2):
        kept.begin(GAMES, "club", 1_000, _heard, "192.0.2.1")
    with pytest.raises(InputError, match="2 games from this address are being annotated"):
        kept.begin(GAMES, "club", 1_000, _heard, "192.0.2.1")
    kept.begin(GAMES, "club", 1_000, _heard, "192.0.2.2")
    moves = " ".join(f"{2 * n + 1}. Nf3 Nf6 {2 * n + 2}. Ng1 Ng8" for n in range(100))
    with pytest.raises(InputError, match="nodes: 1000000; expected at most 249376 for so long"):
        kept.begin(moves, "club", 1_000_000, _heard, "192.0.2.3")
    kept.close()


def test_an_annotation_of_a_page_that_is_cut_off_is_found_again(server: Server) -> None:
    job = ""

    async def begin(page: Page) -> None:
        nonlocal job
        job = (await page.ask("annotate", pgn=GAMES, nodes=1_000_000))["ok"]["job"]

    async def again(page: Page) -> None:
        assert (await page.ask("job", job=job))["ok"]["state"] == "running"
        await page.ask("job", job=job, stop=True)
        await page.next(lambda each: each["topic"] == job and each["state"] == "stopped")

    talk(server, begin)
    talk(server, again)


def test_comments_and_annotations_are_in_the_language_that_is_asked_for(server: Server) -> None:
    async def asks(page: Page) -> None:
        place = {"fen": "q3k3/p4ppp/8/3N4/8/8/P4PPP/4K3 w - - 0 1", "moves": ["d5c7"]}
        assert "Dame" in (await page.ask("comment", place=place, language="de"))["ok"]
        assert "queen" in (await page.ask("comment", place=place))["ok"]
        asked = {"pgn": "1. f3 e5 2. g4 Qh4# 0-1", "nodes": 100, "language": "de"}
        job = (await page.ask("annotate", **asked))["ok"]["job"]
        done = await page.next(lambda each: each["topic"] == job and each["state"] == "done")
        assert "Schwarz setzte im 2. Zug matt." in str(done["game"])
        assert "error" in await page.ask("comment", place=place, language="xx")

    talk(server, asks)


def test_pages_of_an_address_are_bounded(server: Server) -> None:
    async def many(page: Page) -> None:
        place = f"ws://{server.host}/socket"
        async with AsyncExitStack() as stack:
            for _ in range(MOST_PAGES - 1):
                other = connect(place, origin=own_origin(server))
                await stack.enter_async_context(other)
            with pytest.raises(InvalidStatus, match="403"):
                async with connect(place, origin=own_origin(server)):
                    pass
            assert (await page.ask("position", place={}))["ok"]
        while True:
            try:
                async with connect(place, origin=own_origin(server)) as late:
                    assert (await Page(late).ask("position", place={}))["ok"]
                    return
            except InvalidStatus:  # the server has not noticed yet that the others are gone
                await asyncio.sleep(0.01)

    talk(server, many)


def test_an_engine_that_failed_is_not_used_again(tmp_path: Path) -> None:
    """It would go on with another network than the one that is named."""
    network = tmp_path / "broken.safetensors"
    network.write_bytes(b"no network")
    engines = Engines(1, 1, 8, lambda _: str(network))
    for _ in range(2):
        with pytest.raises(KibitzError, match="damaged"), engines.use(EngineChoice()) as engine:
            engine.play(Board(), nodes=1)


def test_a_page_that_reads_nothing_gets_the_newest_state(server: Server) -> None:
    async def sleep(page: Page) -> None:
        asked = {"panel": 0, "place": {"moves": ["d2d4"]}, "wanted": MATERIAL}
        topic = (await page.ask("watch", **asked))["ok"]["topic"]
        mine = lambda one: one["topic"] == topic and "moves" in one  # noqa: E731
        first = await page.next(mine)
        page.socket.transport.pause_reading()
        async with connect(f"ws://{server.host}/socket", origin=own_origin(server)) as other:
            reader, seen = Page(other), 0
            await reader.ask("watch", **asked)
            while seen < 12:
                last = await reader.next(mine)
                seen += 1
        page.socket.transport.resume_reading()
        while (found := await page.next(mine))["nodes"] < last["nodes"]:
            assert found["nodes"] >= first["nodes"]

    talk(server, sleep)


# --- positions and files --------------------------------------------------------------------------


def test_positions_are_described_as_python_chess_sees_them() -> None:
    fens = [
        chess.STARTING_FEN,
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",
        "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1",
        "8/P6k/8/8/8/8/8/K7 w - - 0 1",
        "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    ]
    for fen in fens:
        place = PagePosition(fen)
        found, board = described(place.board()), chess.Board(fen, chess960=True)
        board.chess960 = found["chess960"]
        assert dict(found["moves"]) == {move.uci(): board.san(move) for move in board.legal_moves}
        assert bool(found["check"]) == board.is_check()
        end = board.outcome()
        assert (found["over"] is None) == (end is None)


def test_texts_are_read_and_games_written() -> None:
    assert read_text(f" {chess.STARTING_FEN}\n")["kind"] == "position"
    assert read_text('8/P6k/8/8/8/8/8/K7 w - - bm a8=Q; id "x";')["fen"].startswith("8/P6k")
    text = "1. e4 {best} e5 (1... c5 2. Nf3 (2. c3)) 2. Nf3 $2 *"
    game = read_text(text)["game"]
    nodes = tuple(
        Node(one["parent"], one["uci"], one["comment"], tuple(one["nags"])) for one in game["nodes"]
    )
    again = read_text(pgn_of(PagePosition(), {"White": "A"}, nodes))["game"]
    assert again["nodes"] == game["nodes"]
    assert again["tags"]["White"] == "A"
    for wrong in ("", "hello", "1. Ke3 *", "8/8/8/8/8/8/8/9 w - - 0 1"):
        with pytest.raises(InputError):
            read_text(wrong)


def test_a_game_with_an_illegal_move_is_read_up_to_there() -> None:
    games = (
        '[White "A"]\n\n1. e4 e5 2. Ke3 d6 *',
        '[White "B"]\n\n1. d4 *',
        "1. Nf3 d5 2. Nh4 Nc6 *",
    )
    found = read_text("\n\n".join(games))
    assert found["titles"][0].startswith("A")
    assert found["titles"][1].startswith("B")
    assert [move["san"] for move in found["game"]["nodes"]] == ["e4", "e5"]
    assert len(found["skipped"]) == 1
    assert found["skipped"][0].startswith("Game 1 (line 1): The moves from 2. Ke3 on were left out")
    assert game_in("\n\n".join(games), 1)["nodes"][0]["san"] == "d4"
    ambiguous = read_text("1. d4 e5 2. Nf3 e4 3. Nd2 *")["skipped"]
    assert "from 3. Nd2 on" in ambiguous[0]
    assert "more than one piece" in ambiguous[0]
    variation = read_text("1. e4 e5 (1... c5 2. Kd7) 2. Nf3 *")
    assert [move["san"] for move in variation["game"]["nodes"]] == ["e4", "e5", "Nf3", "c5"]
    assert "variation" in variation["skipped"][0]


def test_a_game_of_too_many_moves_is_read_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "MOST_NODES", 6)
    told = "the game has too many moves; 6 are the most"
    longest = "1. e4 e5 (1... c5 2. Nf3) 2. Nf3 Nc6 *"
    assert len(read_text(longest)["game"]["nodes"]) == 6
    line, wide = "1. e4 e5 2. d4 d5 3. c4 c5 4. b4 Zz9 *", longest.replace("Nf3)", "Nf3 d6)")
    for text in (line, wide):
        with pytest.raises(NotationError, match=told):
            read_text(text)
        with pytest.raises(NotationError, match=told):
            positions.game_to_annotate(text, 10)
    found = read_text(f'[White "A"]\n\n{longest}\n\n[White "B"]\n\n{wide}\n')
    assert [title.split()[0] for title in found["titles"]] == ["A"]
    assert found["skipped"] == [f"Game 2 (line 5): It was left out: {told}."]


def test_a_threat_is_that_of_a_position_in_which_one_can_pass() -> None:
    assert PagePosition("4k3/8/8/8/8/8/8/4K2R b - - 0 1").passed().turn == "white"
    for fen, told in (
        ("7k/8/5KQ1/8/8/8/8/8 w - - 0 1", "after a pass the other side would have no move"),
        ("4k3/8/8/8/8/8/4q3/4K3 w - - 0 1", "the threat is the check"),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "the game is over"),
    ):
        with pytest.raises(InputError, match=told):
            PagePosition(fen).passed()


def test_files_are_shown(server: Server) -> None:
    async def read(page: Page) -> None:
        games = (await page.ask("open", name="0/games.pgn", kind="list"))["ok"]
        assert games[1].startswith("Carl - Dora")
        game = (await page.ask("open", name="0/games.pgn", kind="games", number=1))["ok"]
        assert [one["san"] for one in game["nodes"]] == ["d4", "d5"]
        puzzle = (await page.ask("open", name="0/puzzles.csv", kind="puzzles"))["ok"]
        assert (puzzle["first"], "b1b8" in str(puzzle)) == ("a2a8", False)
        place = {"name": "0/puzzles.csv", "number": 0, "played": ["a2a8"]}
        assert not (await page.ask("solve", **place, move="b1c1"))["ok"]["right"]
        found = (await page.ask("solve", **place, move="b1b8"))["ok"]
        assert found == {"right": True, "left": ["a8b8"], "over": False}
        assert (await page.ask("solve", **place, move=None))["ok"]["left"][0] == "b1b8"
        other = await page.ask("solve", **(place | {"played": ["a2a1"]}), move="b1b8")
        assert "begin it again" in other["error"]
        suite = (await page.ask("open", name="0/suite.epd", kind="suite"))["ok"]
        assert suite[0]["best"] == ["b1b8"]
        shard = (await page.ask("open", name="0/some.shard", kind="shard"))["ok"]
        assert shard["games"] == 2
        assert [ply["san"] for ply in shard["plies"]] == ["e4", "e5"]
        assert shard["plies"][1]["target"] == [["e7e5", "e5", 0.75], ["c7c5", "c5", 0.25]]
        found = await page.ask("open", name="0/some.shard", kind="shard", number=9)
        assert "no such game" in found["error"]
        assert (await page.ask("card", network="kibitz-64x256"))["ok"]["family"] == "sparse"

    talk(server, read)


def test_proofs_are_worded() -> None:
    assert [proof_text(one) for one in (1, 3, -2, 0)] == [
        "mate in 1",
        "mate in 2",
        "mated in 1",
        "",
    ]


def test_the_puzzles_beside_one_by_rating(tmp_path: Path) -> None:
    file = tmp_path / "puzzles.csv"
    mate = "6Qk/p1p3pp/4N3/1p6/2q1r1n1/2B5/PP4PP/3R1R1K b - - 0 28,h8g8 f1f8"
    rows = [f"{number},{mate},{rating}\n" for number, rating in enumerate((1500, 900, "", 1200))]
    file.write_text("".join(["PuzzleId,FEN,Moves,Rating\n", *rows]))
    beside = [library.puzzle(file, number) for number in range(4)]
    assert [puzzle["easier"] for puzzle in beside] == [3, 2, None, 1]
    assert [puzzle["harder"] for puzzle in beside] == [None, 3, 1, 0]


def test_a_short_row_costs_the_other_puzzles_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "puzzles.csv"
    mate = "6Qk/p1p3pp/4N3/1p6/2q1r1n1/2B5/PP4PP/3R1R1K b - - 0 28"
    file.write_text(f"PuzzleId,FEN,Moves\n1\n2,{mate},\n3,{mate},h8g8 f1f8\n")
    found = library.puzzle(file, 0)
    assert (found["name"], found["count"]) == ("3", 1)
    assert library.solved(file, 0, ("h8g8",), "f1f8")["right"]
    assert capsys.readouterr().err.splitlines() == [
        "puzzles.csv, line 2: 1 columns, and no FEN; expected PuzzleId, FEN, Moves; "
        "puzzles left out: 2"
    ]
    with pytest.raises(InputError, match="no such puzzle in the file: 2; it has 1"):
        library.puzzle(file, 1)
    for text in (f"PuzzleId,FEN,Moves\n1,{mate}\n", "PuzzleId,FEN\n1,2\n"):
        broken = tmp_path / f"{len(text)}.csv"
        broken.write_text(text)
        with pytest.raises(InputError, match="this file has no puzzles"):
            library.puzzle(broken, 0)


def test_a_field_without_end_is_no_puzzle(tmp_path: Path) -> None:
    file = tmp_path / "puzzles.csv"
    file.write_text("PuzzleId,FEN,Moves\n" + "x" * 200_000 + ",y,z\n")
    with pytest.raises(InputError, match=r"no puzzles \(field larger than.*'puzzles.csv'"):
        library.puzzle(file, 0)


@pytest.mark.parametrize("port", ["99999", "-1", "abc", "65536"])
@pytest.mark.parametrize("command", [("web", "--no-open", "--port"), ("uci", "--serve")])
def test_a_wrong_port_takes_one_line(
    command: tuple[str, ...], port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*command, f":{port}" if command[0] == "uci" else port]
    assert main(words) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("kibitz: error: ")
    assert port in said
    assert "\n" not in said


def test_folders_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        Library((tmp_path / "nowhere",))
