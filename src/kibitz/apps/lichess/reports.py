"""Reports of finished games, annotated one by one on a thread that gives way to games.

archive -> **reports** -> NAME.pgn and NAME.html in the folder `reports`
"""

from __future__ import annotations

import os
import queue
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

from kibitz.comment.analyse import Effort
from kibitz.comment.annotate import Style, annotate
from kibitz.comment.report.page import Report
from kibitz.comment.words.languages import chosen_language, language_of
from kibitz.core.files import write_bytes
from kibitz.engine import Engine
from kibitz.position.pgn import parse_game
from kibitz.search.limits import Limits

FOLDER = "reports"
LOW_PRIORITY = 10  # niceness of the thread: games come first
LEAST_PLIES = 10  # of a game of which a report is made


class Reports:
    """Annotates games in their order; a report that fails costs nothing else."""

    def __init__(self, folder: Path, network: str, nodes: int, say: Callable[[str], None]) -> None:
        self._folder, self._network, self._say = folder / FOLDER, network, say
        self._style = Style(limits=Limits(nodes=nodes), language=chosen_language())
        self._games: queue.SimpleQueue[tuple[str, str] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="reports", daemon=True)
        self._thread.start()

    def add(self, name: str, pgn: str, plies: int) -> None:
        """Make a report of a game, when its turn comes."""
        if plies >= LEAST_PLIES:
            self._games.put((name, pgn))

    def close(self) -> None:
        """Make the reports that are still to be made, then end."""
        self._games.put(None)
        if self._thread.is_alive() and self._games.qsize() > 1:
            self._say("making the last reports; Ctrl-C again leaves them")
        self._thread.join()

    def _run(self) -> None:
        if hasattr(os, "setpriority"):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOW_PRIORITY)
        table = Effort(self._style.limits).table
        with Engine(self._network, search="alphabeta", multipv=2, hash=table) as engine:
            while (task := self._games.get()) is not None:
                try:
                    self._make(engine, *task)
                except Exception:  # noqa: BLE001 - whatever it is, it is told, and games go on
                    self._say(f"no report of game {task[0]}:\n{traceback.format_exc()}")

    def _make(self, engine: Engine, name: str, pgn: str) -> None:
        game = annotate(parse_game(pgn), engine, self._style).game
        self._folder.mkdir(parents=True, exist_ok=True)
        write_bytes(self._folder / f"{name}.pgn", f"{game}\n\n".encode(errors="replace"))
        page, file = Report(language_of(self._style.language)), self._folder / f"{name}.html"
        page.add(game)
        page.write(file)
        self._say(f"game {name}: {file}")
