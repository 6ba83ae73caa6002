"""Training with the deck: what is due, an answer, its grade, and when the item comes again.

FSRS (the library of open-spaced-repetition) says when; what it knows of an item is kept with it.
"""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import NamedTuple

from kibitz.coach.database import WHITE, Database, StoredGame
from kibitz.coach.deck import Good, Item, Stored, hints_of
from kibitz.coach.puzzles.solve import is_right, line_text, numbered, typed_move
from kibitz.comment.words.language import Language
from kibitz.comment.words.languages import ENGLISH, language_of
from kibitz.core.errors import missing_extra
from kibitz.position.board import Board
from kibitz.position.notation import Move

AGAIN, HARD, GOOD, EASY = 1, 2, 3, 4  # grades, as FSRS has them
QUICK, SLOW = 8.0, 45.0  # seconds: a right answer is easy below, and was hard above
FIRST_LOOK = 5.0  # seconds that it takes to see the position at all, for every item


def solves(item: Item, move: Move | str) -> bool:
    """Whether a move is one of the good ones of an item."""
    board = board_of(item)
    played = board.parse(move) if isinstance(move, str) else move
    return is_right(board, played, {good.move for good in item.good})


def board_of(item: Item) -> Board:
    """The position, with the move that led to it."""
    chess960 = item.board().chess960
    if item.before and item.last:
        return Board(item.before, [item.last], chess960=chess960)
    return Board(item.fen, chess960=chess960)


def grade_of(right: bool, seconds: float, helped: bool) -> int:
    """The grade of a first answer, by whether it was right, with help, and how long it took.

    >>> [grade_of(True, seconds, False) for seconds in (9, 30, 90)], grade_of(True, 9, True)
    ([4, 3, 2], 2)
    >>> grade_of(False, 3, False)
    1
    """
    if not right:
        return AGAIN
    thought = seconds - FIRST_LOOK
    return HARD if helped or thought > SLOW else EASY if thought < QUICK else GOOD


def need_scheduler() -> None:
    """Refuse to ask anything where FSRS is not installed: no answer could be kept."""
    if find_spec("fsrs") is None:
        raise missing_extra("solving your mistakes", "fsrs", "coach")


def record(database: Database, stored: Stored, grade: int, seconds: float, now: int) -> int:
    """Keep an answer, and when the item is due again, in seconds since 1970."""
    need_scheduler()
    import fsrs

    card = fsrs.Card(card_id=stored.number)
    if stored.card:
        with database.intact(f"what was answered to item {stored.number}"):
            card = fsrs.Card.from_json(stored.card)
    moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
    scheduler = fsrs.Scheduler(enable_fuzzing=False)
    card, _ = scheduler.review_card(card, fsrs.Rating(grade), moment)
    due = int(card.due.timestamp())
    with database.transaction():
        statement = "UPDATE items SET card = ?, due = ? WHERE id = ?"
        database.write(statement, (card.to_json(), due, stored.number))
        database.write(
            "INSERT INTO reviews (item, reviewed, grade, seconds) VALUES (?, ?, ?, ?)",
            (stored.number, now, grade, round(seconds, 1)),
        )
    return due


class Verdict(NamedTuple):
    """What becomes of a first answer."""

    right: bool
    grade: int
    due: int  # when the item comes again, in seconds since 1970
    reasons: list[str]  # whether it was right, what is, why, and which game it was


def answered(
    database: Database,
    stored: Stored,
    move: Move | None,
    seconds: float,
    helped: bool,
    now: int,
    language: Language = ENGLISH,
) -> Verdict:
    """Judge a first answer, None of who gives up, and keep it."""
    right = move is not None and solves(stored.item, move)
    grade = grade_of(right, seconds, helped)
    due = record(database, stored, grade, seconds, now)
    return Verdict(right, grade, due, list(explained(stored, move, right, language)))


# --- in the terminal ------------------------------------------------------------------------------


class Training:
    """Items one after the other; `show` draws a board, `tell` prints a line."""

    def __init__(
        self,
        database: Database,
        lines: Iterable[str],
        show: Callable[[Board], None],
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database, self._lines = database, iter(lines)
        self._show, self._tell, self._clock = show, tell, clock
        self.score = Counter(right=0, helped=0, wrong=0)

    def run(self, items: list[Stored]) -> None:
        """Ask until the items, or the lines, end."""
        need_scheduler()
        for number, stored in enumerate(items, start=1):
            self._tell(f"{number} of {len(items)}: find a good move.")
            try:
                self._ask(stored)
            except EOFError:
                break
        counts = "{right} right, {helped} with help, {wrong} not".format(**self.score)
        self._tell(f"{self.score.total()} of {len(items)} items: {counts}")

    def _ask(self, stored: Stored) -> None:
        board, language = board_of(stored.item), language_of(None)
        if board.moves:
            before = board.copy()
            last = before.pop()
            self._tell(f"{before.turn} played {numbered(before, last)}")
        self._show(board)
        self._tell(f"{board.turn} to move")
        began, offered = self._clock(), hints_of(stored.item, language)
        hints = [*offered]
        move = typed_move(self._lines, board, hints, self._tell)
        seconds, helped = self._clock() - began, len(hints) < len(offered)
        now = int(self._clock())
        verdict = answered(self._database, stored, move, seconds, helped, now, language)
        kind = "helped" if verdict.right and helped else "right" if verdict.right else "wrong"
        self.score[kind] += 1
        for text in verdict.reasons:
            self._tell(text)
        self._tell(f"Again {when(verdict.due - self._clock())}.\n")


def explained(
    stored: Stored, move: Move | None, right: bool, language: Language = ENGLISH
) -> Iterator[str]:
    """What is said after an answer: whether it was right, what is, why, and which game it was."""
    item, board, texts = stored.item, board_of(stored.item), language.coach
    best, notation = item.good[0], language.notation
    if move is not None:
        yield texts["right" if right else "wrong"].format(move=notation(board.san(move)))
    if move is None or board.uci(move) != best.move:
        line = notation(line_text(board, item.line))
        yield texts["best"].format(line=line, score=score_text(item, best, language))
    others = [notation(board.san(good.move)) for good in item.good[1:]]
    if others:
        yield texts["others"].format(moves=", ".join(others))
    if reason_apart(item):
        yield item.why
    played = notation(numbered(board, board.parse(item.played)))
    yield f"{texts[item.deck].format(move=played)} {item.wrong}".strip()
    yield title_of(stored.game)


def reason_apart(item: Item) -> str:
    """Why the best move is good, unless the words about the mistake say so."""
    board = board_of(item)
    best = language_of(item.language).notation(numbered(board, board.parse(item.good[0].move)))
    return "" if best in item.wrong else item.why


def score_text(item: Item, good: Good, language: Language = ENGLISH) -> str:
    """A score as White sees it: +1.25, or a mate.

    How long a mate takes another search may see otherwise, and say so in the reason.
    """
    if good.kind == "mate":
        return language.coach["mate1" if good.amount == 1 else "mate"]
    return language.score(good.amount if item.board().turn else -good.amount)


def title_of(game: StoredGame) -> str:
    """Which game it was, and where it is."""
    day = datetime.datetime.fromtimestamp(game.played, datetime.UTC).strftime(" %Y-%m-%d")
    place = {"lichess": f" https://lichess.org/{game.site_id}"}.get(game.site, "")
    if game.site == "chesscom":
        place = f" https://www.chess.com/game/{game.site_id}"
    if place and game.site == "lichess" and game.side != WHITE:
        place += "/black"
    return f"{game.white} - {game.black} {game.result}{day if game.played else ''}{place}"


def when(seconds: float) -> str:
    """When an item comes again, in words."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count = round(seconds / length)
        if count >= 1:
            return f"in {count} {unit}{'s' * (count > 1)}"
    return "now"
