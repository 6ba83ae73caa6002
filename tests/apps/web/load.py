"""What pages that watch cost a search: `python -m tests.apps.web.load [PAGES [MINUTES [SECONDS]]]`.

One search goes on from beginning to end; one page watches it all the time, the others in every
second turn. Two measures: nodes a second, less the time in which a thread of the search waited for
a processor that another program had (the kernel counts it), so that the load of the machine is out
and waiting for Python's lock is in; and nodes for each second of processor time of these threads.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

from tests.apps.web.conftest import Server

WARM = 20.0  # seconds in which kernels are loaded and the tree is filled
USUAL = (20.0, 30.0, 5.0)  # pages, minutes, seconds of a turn
INTERVAL = 0.95  # of the median ratio


class Moment(NamedTuple):
    """A search at a moment."""

    nodes: int
    seconds: float  # that have passed without a thread of it in the run queue
    running: float  # of processor time of its threads
    messages: int


class Watcher:
    """A page that watches the search of the start position."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self.nodes, self.messages = socket, 0, 0
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for text in self._socket:
            found = json.loads(text)
            if "nodes" in found:
                self.nodes, self.messages = int(found["nodes"]), self.messages + 1

    async def next(self) -> int:
        """The nodes of the next message."""
        seen = self.messages
        while self.messages == seen:
            assert not self._task.done(), "the connection has ended"
            await asyncio.sleep(0.002)
        return self.nodes


async def watch(server: Server, stack: AsyncExitStack) -> Watcher:
    found = connect(f"ws://{server.host}/socket", origin=Origin(f"http://{server.host}"))
    socket = await stack.enter_async_context(found)
    ask = {"id": 1, "do": "watch", "panel": 0, "place": {}, "wanted": {}}
    await socket.send(json.dumps(ask))
    return Watcher(socket)


def search_threads(process: int) -> list[Path]:
    """The two threads that have run most: one plays out, the other makes room and reports."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return sorted(threads, key=lambda one: -schedule(one)[0])[:2]


def schedule(thread: Path) -> tuple[float, float]:
    """Seconds in which a thread ran, and in which it waited for a processor."""
    running, queued, _ = (thread / "schedstat").read_text().split()
    return int(running) / 1e9, int(queued) / 1e9


def resident(process: int) -> float:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096 / (1 << 20)


async def moment(page: Watcher, threads: list[Path]) -> Moment:
    nodes = await page.next()
    running, queued = (sum(both) for both in zip(*map(schedule, threads), strict=True))
    return Moment(nodes, time.monotonic() - queued, running, page.messages)


class Turn(NamedTuple):
    """What a search did in a turn."""

    speed: float  # nodes a second
    work: float  # nodes for each second of processor time
    running: float  # processors that it used
    messages: float  # a second, for each page


async def turn(page: Watcher, threads: list[Path], seconds: float) -> Turn:
    first = await moment(page, threads)
    await asyncio.sleep(seconds)
    last = await moment(page, threads)
    nodes, spent = last.nodes - first.nodes, last.seconds - first.seconds
    ran, messages = last.running - first.running, last.messages - first.messages
    return Turn(nodes / spent, nodes / ran, ran / spent, messages / spent)


async def measure(server: Server, pages: int, minutes: float, seconds: float) -> None:
    """Take turns until the time is over; print each, and what is lost in the end."""
    ratios, work, memory = [], [], []
    end = time.monotonic() + 60 * minutes
    async with AsyncExitStack() as always:
        first = await watch(server, always)
        await first.next()
        await asyncio.sleep(WARM)
        threads = search_threads(server.process.pid)
        alone = await turn(first, threads, seconds)
        while time.monotonic() < end:
            async with AsyncExitStack() as now:
                others = [await watch(server, now) for _ in range(pages - 1)]
                for page in others:
                    await page.next()
                many = await turn(first, threads, seconds)
            before, alone = alone, await turn(first, threads, seconds)
            base = Turn(*(statistics.mean(both) for both in zip(before, alone, strict=True)))
            ratios.append(many.speed / base.speed)
            work.append(many.work / base.work)
            memory.append(resident(server.process.pid))
            say(
                f"{len(ratios)}: 1 page {base.speed:,.0f} nodes/s, {pages} pages {many.speed:,.0f},"
                f" ratio {ratios[-1]:.3f}, by processor time {work[-1]:.3f},"
                f" processors {base.running:.2f} and {many.running:.2f},"
                f" {many.messages:.1f} messages/s a page, {memory[-1]:.0f} MiB,"
                f" load {os.getloadavg()[0]:.1f}"
            )
    for name, values in (("nodes a second", ratios), ("nodes for processor time", work)):
        low, high = median_interval(values)
        say(f"{name}: median ratio {statistics.median(values):.3f} ({low:.3f} to {high:.3f})")
    third = max(1, len(memory) // 3)
    start, finish = statistics.median(memory[:third]), statistics.median(memory[-third:])
    say(f"memory: first third {start:.1f} MiB, last third {finish:.1f}, most {max(memory):.1f}")


def median_interval(values: list[float]) -> tuple[float, float]:
    """An interval of confidence of the median, from the order of the values."""
    ordered, count = sorted(values), len(values)
    spread = statistics.NormalDist().inv_cdf((1 + INTERVAL) / 2) * count**0.5 / 2
    return ordered[max(0, int(count / 2 - spread))], ordered[
        min(count - 1, int(count / 2 + spread))
    ]


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure with a server of its own."""
    given = [float(text) for text in sys.argv[1:]]
    pages, minutes, seconds = [*given, *USUAL[len(given) :]]
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            asyncio.run(measure(server, int(pages), minutes, seconds))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
