"""What stays of the bot's work: games.pgn and bot.log in its folder, and reports of finished games.

Games are annotated one by one on a thread that gives way to games: `reports` has NAME.pgn and
NAME.html.
"""

from __future__ import annotations

import datetime
import os
import queue
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

import chess
import chess.engine
import chess.pgn

from kibitz.apps.lichess.messages import Full, State
from kibitz.comment.annotate import Style, annotate
from kibitz.comment.openings import opening_in
from kibitz.comment.report.page import Report
from kibitz.comment.searches import Effort
from kibitz.comment.words.languages import chosen_language, language_of
from kibitz.core.files import dated, write_bytes
from kibitz.core.journal import GrowingFile
from kibitz.core.log import say
from kibitz.engine import Engine
from kibitz.position.board import Board
from kibitz.position.pgn import parse_game, text_of
from kibitz.search.limits import Limits
from kibitz.search.report import Score

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


GAMES, LOG = "games.pgn", "bot.log"
RESULTS = {"white": "1-0", "black": "0-1"}
UNFINISHED = ("aborted", "noStart", "created", "started")


class Archive:
    """The folder of a bot."""

    def __init__(self, folder: Path, server: str) -> None:
        self.folder, self._server = folder, server
        self.reports: Reports | None = None  # where they are wanted
        self._games, self._log = GrowingFile(folder / GAMES), GrowingFile(folder / LOG)

    def say(self, text: str) -> None:
        """Print a line, and keep it with the time."""
        say(text)
        now = dated(datetime.datetime.now(datetime.UTC))
        self._add(self._log, f"{now} {text}\n")

    def keep(
        self,
        full: Full,
        state: State,
        board: Board,
        scores: Mapping[int, Score],
        clocks: Mapping[int, int],
    ) -> None:
        """Add a game to the PGN; scores, White's, and clocks, in ms, belong to plies from 0."""
        tree = chess.pgn.Game.from_board(board.to_chess())
        tree.headers.update(_tags(full, state, self._server))
        _, opening = opening_in(tree)
        if opening is not None and full.variant.key == "standard":
            tree.headers["ECO"], tree.headers["Opening"] = opening.eco, opening.name
        for ply, node in enumerate(tree.mainline()):
            if ply in scores:
                score = scores[ply]
                kind = chess.engine.Mate if score.kind == "mate" else chess.engine.Cp
                node.set_eval(chess.engine.PovScore(kind(score.amount), chess.WHITE))
            if ply in clocks:
                node.set_clock(clocks[ply] / 1000)
        text = text_of(tree)
        self._add(self._games, f"{text}\n\n")
        if self.reports is not None and state.status not in UNFINISHED:
            self.reports.add(full.id, text, len(board.moves))

    def _add(self, file: GrowingFile, text: str) -> None:
        """Add to a file; a full disk costs no game, and what was to be kept is printed."""
        try:
            file.add(text.encode(errors="backslashreplace"))
        except OSError as error:
            say(f"{error}; what was to be kept is:\n{text.rstrip()}")

    def close(self) -> None:
        """Close the files, after the last reports."""
        if self.reports is not None:
            self.reports.close()
        self._games.close()
        self._log.close()


def result_of(state: State) -> str:
    """The result as PGN writes it."""
    if state.status in UNFINISHED:
        return "*"
    return RESULTS.get(state.winner or "", "1/2-1/2")


def _tags(full: Full, state: State, server: str) -> dict[str, str]:
    began = datetime.datetime.fromtimestamp(full.created_at / 1000, datetime.UTC)
    clock = full.clock
    tags = {
        "Event": f"{'Rated' if full.rated else 'Casual'} {full.speed or 'chess'} game",
        "Site": f"{server}/{full.id}",
        "Date": f"{began:%Y.%m.%d}",
        "Round": "-",
        "White": str(full.white),
        "Black": str(full.black),
        "Result": result_of(state),
        "UTCTime": f"{began:%H:%M:%S}",
        "TimeControl": "-"
        if clock is None
        else f"{clock.initial // 1000}+{clock.increment // 1000}",
        "Termination": state.status,
    }
    ratings = {"WhiteElo": full.white.rating, "BlackElo": full.black.rating}
    return tags | {name: str(rating) for name, rating in ratings.items() if rating is not None}
