"""What the bot says in chats: answers to !help and the like, comments for spectators.

What it says first and last are the settings `greeting` and `farewell` of config.py.

What it thinks of a position it tells spectators; the opponent hears it after the game.
"""

from __future__ import annotations

import queue
import textwrap
import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import kibitz
from kibitz.apps.lichess.archive import Archive
from kibitz.apps.lichess.server import LimitedError, Server, ServerError
from kibitz.comment.annotate import comment_on
from kibitz.comment.judge import BETTER, WON, percent, value_of
from kibitz.comment.words.languages import language_of
from kibitz.engine import Engine
from kibitz.position.board import Board, Side
from kibitz.position.pgn import move_number
from kibitz.search.report import Report

LONGEST = 140  # characters of a line, Lichess's limit
MOST_LINES = 12  # that wait to be written
QUESTIONS, QUESTIONS_SECONDS = 12, 60.0  # that are answered in so much time
SHOWN_MOVES = 4  # of the line it expects


class Line(NamedTuple):
    """Something to be written."""

    text: str
    spectators: bool
    once: bool


class Chat:
    """Writes lines on a thread of its own: a slow chat costs a game no time."""

    def __init__(self, game: str, server: Server, archive: Archive, me: str) -> None:
        self._game, self._server, self._archive, self._me = game, server, archive, me.casefold()
        self._lines: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        self._questions: deque[float] = deque(maxlen=QUESTIONS)  # when the last ones came
        self._thread = threading.Thread(target=self._run, name=f"chat {game}", daemon=True)
        self._thread.start()

    def write(self, text: str, *, spectators: bool, once: bool = False) -> None:
        """Put a line among those to be written; one too many is left out.

        What is to be said once in a game is not repeated by a bot that was started again.
        """
        if self._lines.qsize() < MOST_LINES:
            self._lines.put(Line(text, spectators, once))

    def takes_question(self, now: float) -> bool:
        """Whether one more question is answered now, as answers take the time of the game."""
        if len(self._questions) == QUESTIONS and now - self._questions[0] < QUESTIONS_SECONDS:
            return False
        self._questions.append(now)
        return True

    def close(self) -> None:
        """Write what is waiting, and end."""
        self._lines.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                if not (line.once and self._has_said(line.text)):
                    self._server.chat(self._game, line.text, line.spectators)
            except LimitedError:
                continue  # in a pause after too many requests the line is left out
            except ServerError as error:
                self._archive.say(f"game {self._game}: chat: {error}")

    def _has_said(self, text: str) -> bool:
        lines = self._server.chat_lines(self._game)
        return any(line.user.casefold() == self._me and line.text == text for line in lines)


class View(NamedTuple):
    """The state of a game for answers in the chat."""

    board: Board
    side: Side  # the bot's
    engine: Engine
    report: Report | None  # of its last search
    thought_of: Board | None  # where that search began
    secret: bool  # whether an opponent asks while the game goes on


class Command(NamedTuple):
    """Something the bot can be asked."""

    help: str
    answer: Callable[[View], str]
    tells: bool = False  # what it thinks of the game


def answer_to(text: str, view: View) -> list[str]:
    """Lines in answer to what was written; none if it was no question to the bot."""
    parts = text.strip().casefold().split()
    if not parts or not parts[0].startswith("!"):
        return []
    command = COMMANDS.get(parts[0][1:])
    if command is None:
        return lines_of(f"I do not know {parts[0][:20]}. {_help(view)}")
    if command.tells and view.secret:
        return ["I tell that to spectators only, and to you after the game."]
    return lines_of(command.answer(view))


def lines_of(text: str) -> list[str]:
    """A text in lines that Lichess takes."""
    return textwrap.wrap(text, LONGEST) if text else []


def _help(_: View) -> str:
    return (
        "Ask me "
        + ", ".join(f"!{name} ({command.help})" for name, command in COMMANDS.items())
        + "."
    )


def _name(view: View) -> str:
    return f"Kibitz {kibitz.__version__}, network {view.engine.network or 'not loaded yet'}."


def _evaluation(view: View) -> str:
    """How the bot sees the game, in words, pawns and per cent."""
    if view.report is None or view.thought_of is None:
        return "I have not thought yet."
    score, white = view.report.best.score, view.thought_of.turn == "white"
    name = view.thought_of.turn.capitalize()
    if score.kind == "mate":
        winner = name if score.amount > 0 else ("Black" if white else "White")
        return f"{winner} mates in {abs(score.amount)}."
    value = value_of(score) if white else -value_of(score)
    leader = "White" if value > 0 else "Black"
    size = abs(value)
    verdict = "is winning" if size >= WON else "is better" if size >= BETTER else "has the edge"
    how = f"{leader} {verdict}" if size >= 0.06 else "The game is level"
    pawns = (score.amount if white else -score.amount) / 100
    return f"{how}: {pawns:+.1f}, chances of White {percent(value):.0f} %."


def _line(view: View) -> str:
    if view.report is None or view.thought_of is None or not view.report.best.moves:
        return "I have not thought yet."
    board = view.thought_of.copy()
    shown: list[str] = []
    for move in view.report.best.moves[:SHOWN_MOVES]:
        number = f"{move_number(board.ply)} " if board.turn == "white" or not shown else ""
        shown.append(f"{number}{board.san(move)}")
        board.push(move)
    return f"I expect {' '.join(shown)}."


def _why(view: View) -> str:
    """The last move in the words of the commentary."""
    return last_move_in_words(view.board, view.engine) or language_of(None).nothing


def last_move_in_words(board: Board, engine: Engine) -> str:
    """What is true of the last move without a search; empty where nothing is worth saying."""
    if not board.moves:
        return ""
    before = board.copy()
    move = before.pop()
    language = language_of(None)
    text = comment_on(engine, before, before.uci(move), language=language)
    if not text:
        return ""
    return f"{move_number(before.ply)} {language.notation(before.san(move))}: {text}"


COMMANDS = {
    "help": Command("this", _help),
    "name": Command("what I am", _name),
    "eval": Command("how I see the game", _evaluation, tells=True),
    "line": Command("what I expect", _line, tells=True),
    "why": Command("the last move in words", _why, tells=True),
}
