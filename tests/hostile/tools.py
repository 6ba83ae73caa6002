"""Calls of tools by language models: sound ones, changed, as lines of the protocol over pipes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from mcp.server.stdio import stdio_server
from mcp_types.jsonrpc import jsonrpc_message_adapter

from kibitz.apps.mcp.calls import Engines, Shelf
from kibitz.apps.mcp.server import Service
from tests.hostile.kind import Answer, Kind, Target

PGN = '[White "A"]\n\n1. e4 {The pawn on d4 attacks e5.} e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0'
PLACE = {"fen": "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "moves": ["a1b1", "Kf8"]}
FILES = {
    "games.pgn": PGN,
    "puzzles.csv": (
        "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n"
        "1,6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1,a2a8 b1b8,900,80,90,100,mate,x,\n"
    ),
}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("analyse_position", {**PLACE, "lines": 2, "nodes": 90, "seconds": 0.5}),
    ("explain_move", {**PLACE, "move": "Rb8", "level": "club", "nodes": 20}),
    ("explain_move", {"move": "3...Nf6", "pgn": PGN, "level": "expert", "nodes": 20}),
    ("check_text", {**PLACE, "text": "The rook on b1 attacks b8.", "move": "Rb8"}),
    ("check_text", {"text": PGN, "search": False}),
    ("human_moves", {**PLACE, "rating": 1500, "nodes": 90, "most": 3}),
    ("analyse_game", {"pgn": PGN, "level": "beginner", "nodes": 20}),
    ("annotate_game", {"pgn": PGN, "side": "white", "moments": "key", "nodes": 20}),
    ("name_opening", {"moves": ["e4", "c5"]}),
    ("opening_tree", {"source": "games.pgn", "moves": ["e4"], "side": "both"}),
    ("repertoire", {"side": "white", "pgn": PGN, "moves": ["e4"]}),
    ("repertoire", {"side": "black", "source": "games.pgn"}),
    ("draw_position", PLACE),
    ("get_puzzle", {"source": "puzzles.csv", "theme": "mate", "max_rating": 1000, "number": 1}),
    ("find_puzzles", {"pgn": PGN, "nodes": 200}),
)
VERSION = "2025-06-18"
HELLO = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "hostile", "version": "1"},
}


class Tools:
    """The server on a thread, and the client's ends of its pipes."""

    def __init__(self, folder: Path) -> None:
        for name, text in FILES.items():
            (folder / name).write_text(text)
        shelf = Shelf(folder / "none.db", {name: folder / name for name in FILES})
        self._service = Service(Engines(2, "material"), shelf)
        (in_reader, in_writer), (out_reader, out_writer) = os.pipe(), os.pipe()
        self._asked = os.fdopen(in_writer, "wb", buffering=0)
        self._answered = os.fdopen(out_reader, "rb")
        ends = os.fdopen(in_reader, encoding="utf-8", errors="replace"), os.fdopen(out_writer, "w")
        threading.Thread(target=anyio.run, args=(self._serve, *ends), daemon=True).start()
        self._number = 0
        self._ask("initialize", json.dumps(HELLO).encode())
        self._send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    async def _serve(self, reading: io.TextIOWrapper, writing: io.TextIOWrapper) -> None:
        server = self._service.server
        wrapped = anyio.wrap_file(reading), anyio.wrap_file(writing)
        async with stdio_server(*wrapped) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    def _send(self, line: bytes) -> None:
        self._asked.write(line + b"\n")

    def _ask(self, method: str, parameters: bytes) -> dict[str, Any] | None:
        """The answer to a request; None where its line is not one of the protocol."""
        self._number += 1
        head = f'{{"jsonrpc": "2.0", "id": {self._number}, "method": "{method}", "params": '
        line = head.encode() + parameters.replace(b"\n", b" ").replace(b"\r", b" ") + b"}"
        wanted = {self._number} if _is_request(line, self._number) else set()
        self._send(line)
        self._number += 1  # after which the server must still be there
        self._send(f'{{"jsonrpc": "2.0", "id": {self._number}, "method": "ping"}}'.encode())
        wanted.add(self._number)
        answers: dict[Any, dict[str, Any]] = {}
        while wanted - answers.keys():
            answer = json.loads(self._answered.readline())
            answers[answer.get("id")] = answer
        return answers.get(self._number - 1)

    def give(self, content: bytes, _: Path, *, name: str) -> Answer:
        """Call a tool with changed arguments."""
        told = io.StringIO()
        parameters = b'{"name": "%s", "arguments": %s}' % (name.encode(), content)
        with contextlib.redirect_stderr(told):
            answer = self._ask("tools/call", parameters)
        said = told.getvalue()
        if answer is None:
            return Answer(2, said + "no message of the protocol")
        if "error" in answer:
            return Answer(2, said + answer["error"]["message"])
        result = answer["result"]
        if result.get("isError"):
            return Answer(2, said + result["content"][0]["text"])
        return Answer(0, said)


def _is_request(line: bytes, number: int) -> bool:
    """Whether the SDK reads a line as a request with this number."""
    try:
        message = jsonrpc_message_adapter.validate_json(line.decode(errors="replace"))
    except ValueError:
        return False
    return getattr(message, "id", None) == number and hasattr(message, "method")


def targets(folder: Path) -> Sequence[Target]:
    """A sound call of every tool."""
    tools = Tools(folder)
    return [
        Target(
            f"call {name}",
            json.dumps(arguments).encode(),
            partial(tools.give, name=name),
            most=1 << 19,
        )
        for name, arguments in CALLS
    ]


MCP = Kind("mcp", lambda _: [], targets)
