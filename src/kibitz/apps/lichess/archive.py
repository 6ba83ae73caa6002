"""What stays of the bot's work: games.pgn and bot.log in its folder."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path

import chess
import chess.engine
import chess.pgn

from kibitz.apps.lichess.messages import Full, State
from kibitz.apps.lichess.reports import Reports
from kibitz.comment.openings import opening_in
from kibitz.core.files import dated
from kibitz.core.journal import GrowingFile
from kibitz.core.log import say
from kibitz.position.board import Board
from kibitz.position.pgn import text_of
from kibitz.search.report import Score

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
