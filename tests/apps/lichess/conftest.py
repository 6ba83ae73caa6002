"""A stand-in of Lichess and a bot that plays on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kibitz.apps.lichess.archive import Archive
from kibitz.apps.lichess.bot import Bot
from kibitz.apps.lichess.config import Lichess
from kibitz.apps.lichess.server import Pauses, Server
from kibitz.core.log import Stop
from tests.apps.lichess.stand_in import BOT, TOKEN, StandIn

PATIENCE = 120.0  # seconds after which a test gives up
SHORT = Pauses(
    limited=0.3,
    begins=5.0,
    challenges=0.6,
    again=0.01,
    events=0.1,
    game=0.05,
    silence=5.0,
    tick=0.02,
)
QUIET: dict[str, Any] = {"nodes": 12, "comment_every": 0, "resign": False, "ponder": False}


@pytest.fixture
def lichess() -> Iterator[StandIn]:
    server = StandIn()
    yield server
    server.close()


class Running:
    """A bot at work in a thread."""

    def __init__(
        self, lichess: StandIn, folder: Path, pauses: Pauses, settings: Lichess, dry_run: bool
    ):
        self.server = Server(TOKEN, lichess.url, pauses=pauses, dry_run=dry_run)
        self.archive, self.stop = Archive(folder, lichess.url), Stop()
        self.bot = Bot(BOT, self.server, "material", settings, self.archive)
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.bot.run(self.stop)
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.error = error

    def end(self) -> None:
        self.stop.request()
        self.thread.join(PATIENCE)
        self.server.close()
        self.archive.close()
        assert not self.thread.is_alive()


@pytest.fixture
def start(lichess: StandIn, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start a bot with some settings beside those of tests."""
    began: list[Running] = []

    def begin(pauses: Pauses = SHORT, dry_run: bool = False, **settings: Any) -> Running:
        running = Running(lichess, tmp_path, pauses, Lichess(**{**QUIET, **settings}), dry_run)
        began.append(running)
        return running

    yield begin
    for game in lichess.games.values():
        if not game.over:
            game.end("aborted", None)
    for running in began:
        running.end()
        if running.error is not None:
            raise running.error


def wait_for(condition: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait until something is so."""
    until = time.monotonic() + patience
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError("it did not happen")
        time.sleep(0.01)
