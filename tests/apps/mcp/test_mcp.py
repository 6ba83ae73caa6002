"""`kibitz mcp` by the SDK's own client: every tool, what is refused, cancelling, HTTP."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import chess
import chess.pgn
import httpx2
import pytest
import uvicorn
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from kibitz.apps.http import Address
from kibitz.apps.mcp import server as servers
from kibitz.apps.mcp.calls import Call
from kibitz.apps.mcp.server import TOOLS, Service, application, schema_of
from kibitz.apps.web.library import MISTAKE
from kibitz.cli import EXIT_PIPE_CLOSED, main
from kibitz.core.errors import InputError
from tests.apps.mcp.conftest import PGN
from tests.hostile.fuzz import fuzz
from tests.hostile.tools import MCP

Work: TypeAlias = Callable[[Client], Awaitable[None]]
TOKEN = "a-token-of-the-test"
MATE = ["f3", "e5", "g4"]
FOREVER = {"nodes": 20_000_000, "seconds": 60}
INSIDE = re.compile(r"Traceback|File \"|\.py\b|site-packages|/work/|/tmp/")


async def value(client: Client, name: str, **arguments: Any) -> Any:
    """What a tool answers."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    text = result.content[0]
    assert text.type == "text"
    assert json.loads(text.text) == result.structured_content
    return result.structured_content


async def refusal(client: Client, name: str, **arguments: Any) -> str:
    """Why a tool does not answer."""
    result = await client.call_tool(name, arguments)
    assert result.is_error
    text = result.content[0]
    assert text.type == "text"
    assert not INSIDE.search(text.text)
    return text.text


def lines(folder: Path) -> StdioServerParameters:
    """`kibitz mcp` as a client starts it."""
    files = [str(folder / name) for name in ("games.pgn", "puzzles.csv", "own.tree", "own.bin")]
    words = ["-m", "kibitz", "mcp", *files, "--network", "material"]
    words += ["--database", str(folder / "games.db")]
    return StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))


# --- over standard input and output ---------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
def test_the_client_of_the_sdk_runs_every_tool(folder: Path, mode: str) -> None:
    async def talk() -> None:
        async with Client(lines(folder), mode=mode) as client:
            listed = (await client.list_tools()).tools
            assert {tool.name for tool in listed} == {*TOOLS} == {*CHECKS}
            for name, check in CHECKS.items():
                await check(client)
                assert name in TOOLS

    anyio.run(talk)


async def _analyse_position(client: Client) -> None:
    told: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        assert (total, message) == (500, None)

    arguments = {"moves": MATE, "lines": 2, "nodes": 500}
    result = await client.call_tool("analyse_position", arguments, progress_callback=on_progress)
    facts: Any = result.structured_content
    assert facts["lines"][0]["move"] == "Qh4#"
    assert facts["lines"][0]["score"] == "#-1"  # for White
    assert len(facts["lines"]) == 2
    assert facts["to_move"] == "black"
    board = chess.Board(facts["fen"])
    assert {board.san(move) for move in board.legal_moves} == {*facts["legal_moves"]}
    over = await value(client, "analyse_position", moves=[*MATE, "Qh4#"])
    assert over["lines"] == []
    assert over["game_over"]["result"] == "0-1"


async def _explain_move(client: Client) -> None:
    facts = await value(client, "explain_move", moves=MATE[:2], move="g4", nodes=200)
    assert facts["mark"] == "??"
    assert "Qh4" in facts["comment"]
    assert {claim["kind"] for claim in facts["claims"]} & {"AllowsMate"}
    assert facts["score"]["after"] == {"mate": -1}
    silent = await value(client, "explain_move", move="e4", nodes=0)
    assert "score" not in silent
    whole = await value(client, "explain_move", pgn=PGN, move="3... Nf6", nodes=100, level="expert")
    assert (whole["mark"], whole["level"]) == ("??", "expert")


async def _check_text(client: Client) -> None:
    text = "The knight on f3 attacks the pawn on d5. White has a rook on a1. What a day!"
    facts = await value(client, "check_text", text=text, moves=["Nf3"], search=False)
    assert [row["verdict"] for row in facts["findings"]] == ["false", "true", "not checkable"]
    assert "d5 is empty" in facts["findings"][0]["reason"]
    pgn = "1. e4 {The pawn on d4 attacks e5.} e5 *"
    facts = await value(client, "check_text", text=pgn, search=False)
    assert (facts["false"], facts["findings"][0]["move"]) == (1, "1.e4")


async def _human_moves(client: Client) -> None:
    facts = await value(client, "human_moves", rating=1100, most=3, nodes=100)
    shares = [row["share"] for row in facts["moves"]]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) == 3
    assert sum(shares) < 1
    assert facts["best"]["by_rating"]["1100"] > 0


async def _analyse_game(client: Client) -> None:
    facts = await value(client, "analyse_game", pgn=PGN, nodes=100)
    assert facts["players"] == {"white": "Anna", "black": "Ben"}
    assert [row["move"] for row in facts["moves"]][-2:] == ["3...Nf6", "4.Qxf7#"]
    assert facts["moves"][-2]["mark"] == "??"
    assert facts["moves"][-1]["score"] == "#0"
    assert any("Qxf7#" in row["comment"] for row in facts["key_moments"])
    assert facts["accuracy"]["white"] > facts["accuracy"]["black"]


async def _annotate_game(client: Client) -> None:
    facts = await value(client, "annotate_game", pgn=PGN, nodes=100)
    game = chess.pgn.read_game(io.StringIO(facts["pgn"]))
    assert game is not None
    assert not game.errors
    assert 4 in [*game.mainline()][-2].nags


async def _name_opening(client: Client) -> None:
    facts = await value(client, "name_opening", moves=["e4", "c5", "a3", "a6", "h3"])
    assert facts["last_named"]["eco"] == "B20"
    assert facts["last_named"]["after_moves"] < 5


async def _opening_tree(client: Client) -> None:
    for source in ("own", "own.tree", "games.pgn"):
        facts = await value(client, "opening_tree", source=source, moves=["e4"])
        assert [(row["san"], row["games"], row["white"]) for row in facts["moves"]] == [
            ("e5", 1, 1)
        ]
    facts = await value(client, "opening_tree", source="own.bin")
    assert [row["san"] for row in facts["moves"]] == ["e4"]
    assert (await value(client, "opening_tree", side="black"))["moves"] == []


async def _repertoire(client: Client) -> None:
    facts = await value(client, "repertoire", side="white", pgn="1. e4 e5 2. Nf3 *", moves=["e4"])
    assert facts["prepared"] == ["e5"]
    assert [row["move"] for row in facts["practice"]["leaves"]] == ["Bc4"]
    facts = await value(client, "repertoire", side="white", source="games.pgn")
    assert facts["practice"]["to_the_end"] == 1


async def _draw_position(client: Client) -> None:
    result = await client.call_tool("draw_position", {"moves": MATE})
    picture = result.content[0]
    assert picture.type == "resource"
    assert picture.resource.mime_type == "image/svg+xml"
    assert getattr(picture.resource, "text", "").startswith("<svg")


async def _get_puzzle(client: Client) -> None:
    facts = await value(client, "get_puzzle", source="puzzles.csv", max_rating=1000)
    assert (facts["fitting"], facts["solution"]) == (1, ["Rb8+", "Rxb8", "g3"])
    facts = await value(client, "get_puzzle", source="puzzles.csv", theme="short", number=1)
    assert facts["rating"] == 1900
    assert "'shirt'" in await refusal(client, "get_puzzle", source="puzzles.csv", theme="shirt")
    assert "2 puzzles fit" in await refusal(client, "get_puzzle", source="puzzles.csv", number=3)


async def _find_puzzles(client: Client) -> None:
    facts = await value(client, "find_puzzles", pgn=PGN, nodes=200)
    assert facts["positions"] > 0
    for puzzle in facts["puzzles"]:
        assert chess.Board(puzzle["fen"]).parse_san(puzzle["solution"][0])


CHECKS: dict[str, Work] = {
    name.removeprefix("_"): check
    for name, check in list(globals().items())
    if name.removeprefix("_") in TOOLS
}


# --- arguments ------------------------------------------------------------------------------------

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("analyse_position", {"nodes": 0}, "nodes: 0; expected a number from 1 to 20,000,000"),
    ("analyse_position", {"nodes": 10**30}, "nodes: 1000000000000000000000000000000"),
    ("analyse_position", {"node": 5}, "no such argument: 'node'; did you mean 'nodes'?"),
    ("analyse_position", {"fen": "8/8/8/8/8/8/8/8 w - - 0 1"}, "FEN"),
    ("analyse_position", {"moves": ["e4", "Ke3"]}, "'Ke3'"),
    ("analyse_position", {"moves": ["e4"] * 1001}, "moves: "),
    ("analyse_position", {"moves": "e4"}, "moves: 'e4'"),
    ("analyse_position", {"seconds": 1e9}, "seconds: 1000000000.0"),
    ("explain_move", {}, "an argument is missing: 'move'"),
    ("explain_move", {"move": "Nf9"}, "'Nf9'"),
    ("explain_move", {"move": "e4", "level": "clubs"}, "beginner, club, expert"),
    ("explain_move", {"move": "9. e4", "pgn": PGN}, "as in 12...Nf6"),
    ("explain_move", {"move": "1. e4", "pgn": PGN, "moves": ["e4"]}, "give pgn, or fen, moves"),
    ("check_text", {"text": "The pawn on e9."}, "give the position as fen or moves"),
    ("check_text", {"text": "A pawn.", "move": "e4"}, "give fen, too"),
    ("annotate_game", {"pgn": "1. e4 e5 2. Ke3"}, "2. Ke3 is not a legal move"),
    ("annotate_game", {"pgn": "1. e4 -- 2. d4 *"}, "'3 half-moves, 1 of them passes'"),
    ("annotate_game", {"pgn": "1. Nf3 Nf6 2. Ng1 Ng8 " * 251}, "'1004 half-moves, 0 of them"),
    ("check_text", {"text": "Mate.", "moves": [*MATE, "Qh4#"], "move": "--"}, "cannot pass"),
    ("analyse_game", {"pgn": ""}, "pgn: ''"),
    ("human_moves", {"rating": 99}, "rating: 99; expected a number from 1,100 to 1,900"),
    ("opening_tree", {"source": "../games.db"}, "no such file"),
    ("get_puzzle", {"source": "games.db"}, "no such file"),
    ("repertoire", {"side": "white"}, "give one of them"),
    ("repertoire", {"side": "white", "pgn": "*"}, "no move in this repertoire: 'the text'"),
]


@pytest.mark.parametrize(("name", "arguments", "told"), WRONG)
def test_what_is_wrong_is_named_with_its_value(
    service: Service, name: str, arguments: dict[str, Any], told: str
) -> None:
    async def talk() -> None:
        async with Client(service.server) as client:
            assert told in await refusal(client, name, **arguments)

    anyio.run(talk)


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(service: Service) -> None:
    async def talk() -> None:
        async with Client(service.server) as client:
            with pytest.raises(MCPError, match="did you mean 'check_text'"):
                await client.call_tool("check_texts", {})

    anyio.run(talk)


def test_every_number_and_text_of_a_schema_has_a_limit() -> None:
    for name, tool in TOOLS.items():
        schema = schema_of(tool)
        assert schema["additionalProperties"] is False
        for argument, kind in schema["properties"].items():
            where = (name, argument)
            if kind.get("type") in ("integer", "number"):
                assert "maximum" in kind or argument == "number", where
            if kind.get("type") == "string":
                assert "maxLength" in kind, where
            assert "description" in kind or argument.endswith("_rating"), where


def test_a_mistake_of_the_program_is_told_to_its_user_alone(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fall(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(TOOLS["name_opening"], "answer", fall)

    async def talk() -> None:
        async with Client(service.server) as client:
            assert await refusal(client, "name_opening") == MISTAKE

    anyio.run(talk)
    assert "a secret" in capsys.readouterr().err


def test_malformed_calls_are_answered(tmp_path: Path) -> None:
    report = fuzz([MCP], tmp_path / "fuzz", 60, seed=5)
    assert report.falls == [], "\n".join(map(str, report.falls))
    assert report.codes[2] > 20
    assert report.codes[0] > 4


# --- cancelling -----------------------------------------------------------------------------------


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for what happens on another thread."""
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail("it does not happen")
        time.sleep(0.01)


def has_stopped(engine: Any) -> None:
    """Wait for the end of an engine's search, which was not to its limit."""
    wait_until(lambda: not engine.searching)
    assert engine.stats().nodes < FOREVER["nodes"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_call_that_is_cancelled_ends_its_search(service: Service, mode: str) -> None:
    engine = first_engine(service)

    async def talk() -> None:
        async with Client(service.server, mode=mode) as client:
            await cancelled(client)
            await anyio.to_thread.run_sync(has_stopped, engine)
            await value(client, "analyse_position", nodes=50)  # the only engine is free again

    anyio.run(talk)


def first_engine(service: Service) -> Any:
    """The engine that the next call gets."""
    with Call(service.engines).engine() as engine:
        engine.ready()
        return engine


async def cancelled(client: Client) -> None:
    """Call for a long search and cancel it once it has begun."""
    begun = anyio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert (total, message) == (FOREVER["nodes"], None)
        assert progress > 0
        begun.set()

    async with anyio.create_task_group() as group:

        async def search() -> None:
            await client.call_tool("analyse_position", FOREVER, progress_callback=on_progress)

        group.start_soon(search)
        await begun.wait()
        group.cancel_scope.cancel()


def test_a_call_that_waits_for_an_engine_can_be_cancelled(service: Service) -> None:
    first, second = Call(service.engines), Call(service.engines)
    ended: list[BaseException] = []

    def wait() -> None:
        try:
            with second.engine():
                pass
        except Exception as error:  # noqa: BLE001 - it is looked at
            ended.append(error)

    with first.engine():
        thread = threading.Thread(target=wait)
        thread.start()
        second.cancel()
        thread.join(60)
    assert [type(error).__name__ for error in ended] == ["Stopped"]


def test_calls_have_an_end(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "MOST_SECONDS", 0.5)
    engine = first_engine(service)

    async def talk() -> None:
        async with Client(service.server) as client:
            assert "fewer nodes" in await refusal(client, "analyse_position", **FOREVER)
            monkeypatch.setattr(servers, "MOST_CALLS", 0)
            assert "wait for one to end" in await refusal(client, "name_opening")

    anyio.run(talk)
    has_stopped(engine)


# --- resources ------------------------------------------------------------------------------------


def test_analysed_games_are_resources(service: Service) -> None:
    async def talk() -> None:
        async with Client(service.server) as client:
            listed = (await client.list_resources()).resources
            assert [entry.name.split("  ")[0] for entry in listed] == ["Anna - Ben 1-0"]
            contents = (await client.read_resource(listed[0].uri)).contents
            assert "$4" in getattr(contents[0], "text", "")
            for wrong in ("kibitz://games/99", "kibitz://games/x", "file:///etc/passwd"):
                with pytest.raises(MCPError, match=re.escape(wrong)):
                    await client.read_resource(wrong)

    anyio.run(talk)


# --- HTTP -----------------------------------------------------------------------------------------


@contextmanager
def serving(service: Service) -> Iterator[str]:
    """The service over HTTP on a free port; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        app = application(service, Address("127.0.0.1", port, TOKEN))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield f"http://127.0.0.1:{port}{servers.PATH}"
        finally:
            server.should_exit = True
            thread.join(60)


@asynccontextmanager
async def connected(url: str, token: str = TOKEN, mode: str = "auto") -> Any:
    """A client of the SDK over HTTP."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_two_clients_at_once_over_http(service: Service, mode: str) -> None:
    async def one(url: str, moves: list[str], best: str) -> None:
        async with connected(url, mode=mode) as client:
            for _ in range(3):
                facts = await value(client, "analyse_position", moves=moves, nodes=500, lines=1)
                assert facts["lines"][0]["move"] == best

    async def talk() -> None:
        with serving(service) as url:
            async with anyio.create_task_group() as group:
                group.start_soon(one, url, MATE, "Qh4#")
                group.start_soon(one, url, ["e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6"], "Qxf7#")

    anyio.run(talk)


def test_a_client_that_goes_away_ends_its_search(service: Service) -> None:
    engine = first_engine(service)

    async def talk() -> None:
        with serving(service) as url:
            async with connected(url) as client:
                await cancelled(client)
            await anyio.to_thread.run_sync(has_stopped, engine)

    anyio.run(talk)


def test_requests_without_the_token_or_of_other_sites_are_refused(service: Service) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    usual = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
    cases = [
        (401, {"Authorization": "Bearer wrong"}),
        (401, {"Authorization": ""}),
        (401, {"Authorization": f"Basic {TOKEN}"}),
        (421, {"Host": "evil.example"}),
        (421, {"Host": "127.0.0.1:80.evil.example"}),
        (421, {"Host": "127.0.0.1:80@evil.example"}),
        (421, {"Origin": "http://localhost:1.evil.example"}),
        (403, {"Origin": "https://evil.example"}),
        (400, {"Content-Type": "text/plain"}),
    ]
    with serving(service) as url, httpx2.Client() as client:
        for status, headers in cases:
            answer = client.post(url, json=body, headers=usual | headers)
            assert answer.status_code == status, (headers, answer.text)
        large = client.post(url, content=b" " * (servers.LARGEST_REQUEST + 1), headers=usual)
        assert large.status_code == 413


# --- the command ----------------------------------------------------------------------------------


def test_without_the_extra_the_command_says_which_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [*sys.modules]:
        if name.startswith("kibitz.apps.mcp"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    assert main(["mcp"]) == 2
    assert "pip install 'kibitz[mcp]'" in capsys.readouterr().err


@contextmanager
def talking(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`kibitz mcp` that has greeted its client."""
    given = lines(folder)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
    hello["clientInfo"] = {"name": "test", "version": "1"}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    pipes["env"] = given.env
    with subprocess.Popen([given.command, *given.args], **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        assert b'"id":1' in process.stdout.readline()
        yield process


def test_ctrl_c_ends_a_server_that_waits_for_a_line(folder: Path) -> None:
    with talking(folder) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT


@pytest.mark.slow
def test_a_client_that_no_longer_reads_ends_the_server_without_a_traceback(folder: Path) -> None:
    with talking(folder) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        with suppress(BrokenPipeError):
            while process.poll() is None:
                process.stdin.write(b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}\n')
                process.stdin.flush()
                time.sleep(0.05)
        assert process.wait(60) == EXIT_PIPE_CLOSED
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--port", "8000"], "'127.0.0.1:8000'; give --http, too"),
        (["notes.txt"], "'notes.txt'; expected .tree, .bin"),
        (["--http", "--host", "nowhere.invalid"], "give another --host"),
    ],
)
def test_what_would_have_no_effect_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    assert main(["mcp", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_files_of_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").mkdir()
    for path in (tmp_path / "x.pgn", tmp_path / "a" / "x.pgn"):
        path.write_text(PGN)
    assert main(["mcp", str(tmp_path / "x.pgn"), str(tmp_path / "a" / "x.pgn")]) == 2
    assert "two files of one name: 'x.pgn'" in capsys.readouterr().err


@pytest.mark.parametrize(("error", "kept"), [(InputError("x"), True), (RuntimeError("x"), False)])
def test_an_engine_that_failed_is_replaced(service: Service, error: Exception, kept: bool) -> None:
    with pytest.raises(type(error)), Call(service.engines).engine() as first:
        raise error
    with Call(service.engines).engine() as second:
        assert (second is first) == kept
