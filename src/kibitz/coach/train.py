"""Training with the deck: what is due, an answer, its grade, and when the item comes again.

FSRS (the library of open-spaced-repetition) says when; what it knows of an item is kept with it.
Items are also written for other programs: Anki (with pictures of the boards), PGN and CSV.
"""

from __future__ import annotations

import csv
import datetime
import html
import io
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import chess
import chess.pgn
import chess.svg

from kibitz.coach.database import WHITE, Database, StoredGame
from kibitz.coach.deck import Good, Item, Stored, hints_of
from kibitz.coach.puzzles.solve import Quiz, is_right, line_text, numbered, typed_move
from kibitz.comment.words.language import Language
from kibitz.comment.words.languages import ENGLISH, language_of
from kibitz.core.errors import InputError, missing_extra
from kibitz.core.files import atomic_write, write_bytes
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.position.pgn import text_of

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


@dataclass
class Training(Quiz[Stored]):
    """Items of the deck that are due."""

    database: Database
    clock: Callable[[], float] = time.time
    what = "items"
    outcomes: ClassVar = {"right": "right", "helped": "with help", "wrong": "not"}

    def run(self, questions: Sequence[Stored]) -> None:
        """Ask, if the scheduler is installed."""
        need_scheduler()
        super().run(questions)

    def ask(self, question: Stored, number: str) -> str:
        """Whether the first answer was right; it is noted, and explained."""
        self.tell(f"{number}: find a good move.")
        board, language = board_of(question.item), language_of(None)
        self.tell_last(board)
        self.show(board)
        self.tell(f"{board.turn} to move")
        began, offered = self.clock(), hints_of(question.item, language)
        hints = [*offered]
        move = typed_move(self.typed, board, hints, self.tell)
        seconds, helped = self.clock() - began, len(hints) < len(offered)
        now = int(self.clock())
        verdict = answered(self.database, question, move, seconds, helped, now, language)
        for text in verdict.reasons:
            self.tell(text)
        self.tell(f"Again {when(verdict.due - self.clock())}.\n")
        return "helped" if verdict.right and helped else "right" if verdict.right else "wrong"


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


# --- other programs -------------------------------------------------------------------------------

KINDS = (".apkg", ".pgn", ".csv")
MODEL, DECK = 1_607_392_319, 2_059_400_110  # Anki tells note types and decks by such numbers
PICTURE = 360  # pixels
_STYLE = ".card { font-family: sans-serif; font-size: 18px; text-align: center; }"
_FRONT = "{{Board}}<p>{{Question}}</p>"
_BACK = "{{After}}<p><b>{{Answer}}</b></p><p>{{Reason}}</p><p><small>{{Game}}</small></p>"


def write_deck(path: Path, items: Sequence[Stored]) -> None:
    """Write items as the kind of file that the name says."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise InputError("not a kind of deck", value=str(path), fix=f"one of {' '.join(KINDS)}")
    if not items:
        raise InputError("no item to write", value=str(path), fix="kibitz coach analyse makes some")
    if kind == ".apkg":
        write_anki(path, items)
    else:
        text = _pgn(items) if kind == ".pgn" else _csv(items)
        write_bytes(path, text.encode())


def question(stored: Stored) -> str:
    """What is asked: nothing of the answer is in it."""
    side = "White" if stored.item.board().turn else "Black"
    return f"{side} to move. Find a good move."


def answers(stored: Stored) -> list[str]:
    """The right moves in SAN, the best first."""
    board = stored.item.board()
    return [board.san(board.parse_uci(good.move)) for good in stored.item.good]


def reason(stored: Stored) -> str:
    """Why the best move is good and the one made is not."""
    return " ".join(filter(None, (reason_apart(stored.item), stored.item.wrong)))


def _with_score(stored: Stored) -> str:
    return f"{' or '.join(answers(stored))} ({score_text(stored.item, stored.item.good[0])})"


# --- Anki -----------------------------------------------------------------------------------------


def write_anki(path: Path, items: Iterable[Stored]) -> None:
    """Write a package for Anki; the same item keeps its history there when it comes again."""
    try:
        import genanki
    except ImportError as error:
        raise missing_extra("a deck for Anki", "genanki", "coach") from error
    fields = ("Board", "Question", "After", "Answer", "Reason", "Game")
    model = genanki.Model(
        MODEL,
        "Kibitz mistake",
        fields=[{"name": name} for name in fields],
        templates=[{"name": "Find a good move", "qfmt": _FRONT, "afmt": _BACK}],
        css=_STYLE,
    )
    deck = genanki.Deck(DECK, "Mistakes (Kibitz)")
    with tempfile.TemporaryDirectory() as folder:
        pictures: list[str] = []
        for stored in items:
            game, item = stored.game, stored.item
            name = f"{game.site}-{game.site_id}-{item.ply}".replace("/", "-")
            pictures += _pictures(Path(folder), name, stored)
            texts = (question(stored), _with_score(stored), reason(stored), title_of(game))
            front, answer, why, title = map(html.escape, texts)
            images = [f'<img src="kibitz-{name}-{side}.svg">' for side in ("front", "back")]
            note = [images[0], front, images[1], answer, why, title]
            deck.add_note(genanki.Note(model, note, guid=genanki.guid_for("kibitz", name)))
        package = genanki.Package(deck, media_files=pictures)
        with atomic_write(path) as file, tempfile.TemporaryDirectory() as made:
            package.write_to_file(os.fspath(Path(made) / "deck.apkg"))
            file.write((Path(made) / "deck.apkg").read_bytes())


def _pictures(folder: Path, name: str, stored: Stored) -> list[str]:
    """The board before and after the best move, from the side of who is to move."""
    item, board = stored.item, stored.item.board()
    best = board.parse_uci(item.good[0].move)
    last = chess.Move.from_uci(item.last) if item.last else None
    after = board.copy()
    after.push(best)
    views: list[tuple[str, dict[str, Any]]] = [
        ("front", {"board": board, "lastmove": last}),
        ("back", {"board": after, "lastmove": best}),
    ]
    paths = [folder / f"kibitz-{name}-{side}.svg" for side, _ in views]
    for path, (_, view) in zip(paths, views, strict=True):
        path.write_text(chess.svg.board(**view, orientation=board.turn, size=PICTURE), "utf-8")
    return list(map(os.fspath, paths))


# --- PGN and CSV ----------------------------------------------------------------------------------


def _pgn(items: Iterable[Stored]) -> str:
    """A game from the position on for each item: the best line, and the mistake as a variation."""
    return "\n\n".join(text_of(_tree(stored)) for stored in items) + "\n"


def _tree(stored: Stored) -> chess.pgn.Game:
    item, game = stored.item, stored.game
    tree = chess.pgn.Game()
    tree.headers.update(
        {"Event": "Mistake", "Site": title_of(game), "White": game.white, "Black": game.black}
    )
    tree.setup(item.board())
    tree.comment = question(stored)
    node: chess.pgn.GameNode = tree
    for text in item.line:
        node = node.add_variation(chess.Move.from_uci(text))
    tree.variations[0].comment = item.why
    for good in item.good[1:]:
        if chess.Move.from_uci(good.move) != tree.variations[0].move:
            tree.add_variation(chess.Move.from_uci(good.move)).comment = "Good, too."
    node = tree
    for text in item.refutation:
        node = node.add_variation(chess.Move.from_uci(text))
        if node.parent is tree:
            node.nags.add(chess.pgn.NAG_MISTAKE)
            node.comment = item.wrong
    return tree


def _csv(items: Iterable[Stored]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("FEN", "Side", "Played", "Good", "Line", "Themes", "Reason", "Game"))
    for stored in items:
        item, board = stored.item, stored.item.board()
        row = ("white" if board.turn else "black", board.san(board.parse_uci(item.played)))
        good, line = (
            " ".join(answers(stored)),
            board.variation_san([chess.Move.from_uci(move) for move in item.line]),
        )
        themes = " ".join(item.themes)
        writer.writerow((item.fen, *row, good, line, themes, reason(stored), title_of(stored.game)))
    return text.getvalue()
