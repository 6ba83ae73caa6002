"""What pages that watch cost a search: `python -m tests.web.load [PAGES [SECONDS]]`.

Nodes for each second of processor time that the server takes, with one page and with many, in
turns; and the server's memory. Processor time does not depend on what else the machine does.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

from tests.web.conftest import Server

ROUNDS = 5
TICKS = os.sysconf("SC_CLK_TCK")


class Measured(NamedTuple):
    """What was seen in a round."""

    nodes_a_second: float  # of processor time
    messages: int  # that the last page got
    mebibytes: float  # resident memory of the server


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident(process: int) -> float:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096 / (1 << 20)


async def watch(server: Server, stack: AsyncExitStack) -> ClientConnection:
    """A page that watches the search of the start position."""
    found = connect(f"ws://{server.host}/socket", origin=Origin(f"http://{server.host}"))
    socket = await stack.enter_async_context(found)
    ask = {"id": 1, "do": "watch", "panel": 0, "place": {}, "wanted": {}}
    await socket.send(json.dumps(ask))
    return socket


async def round_of(server: Server, pages: int, seconds: float) -> Measured:
    """Watch for a while with so many pages."""
    async with AsyncExitStack() as stack:
        sockets = [await watch(server, stack) for _ in range(pages)]
        readers = [asyncio.create_task(_read(socket)) for socket in sockets[1:]]
        first = await _nodes(sockets[0])
        began, messages = processor_seconds(server.process.pid), 0
        end = asyncio.get_running_loop().time() + seconds
        last = first
        while asyncio.get_running_loop().time() < end:
            last, messages = await _nodes(sockets[0]), messages + 1
        spent = processor_seconds(server.process.pid) - began
        for reader in readers:
            reader.cancel()
        return Measured((last - first) / spent, messages, resident(server.process.pid))


async def _nodes(socket: ClientConnection) -> int:
    while True:
        found = json.loads(await socket.recv())
        if "nodes" in found:
            return int(found["nodes"])


async def _read(socket: ClientConnection) -> None:
    async for _ in socket:
        pass


def main() -> None:
    """Print a line for each round, and what is lost."""
    pages, seconds = (int(text) for text in [*sys.argv[1:], "20", "10"][:2])
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
    try:
        asyncio.run(round_of(server, 1, 5.0))  # loads and compiles
        ratios = []
        for number in range(ROUNDS):
            alone = asyncio.run(round_of(server, 1, seconds))
            many = asyncio.run(round_of(server, pages, seconds))
            ratios.append(many.nodes_a_second / alone.nodes_a_second)
            print(f"{number + 1}: 1 page {alone}, {pages} pages {many}, ratio {ratios[-1]:.3f}")  # noqa: T201
        print(f"median ratio {statistics.median(ratios):.3f}, best {max(ratios):.3f}")  # noqa: T201
    finally:
        server.stop()


if __name__ == "__main__":
    main()
