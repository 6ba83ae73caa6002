"""Judges the sentences of a comment on a position: true, false with the reason, not checkable.

Only what is false whichever position is meant is called false: that of the comment, the ones before
it and those that follow in the game. What a search has to say is confirmed by a longer one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import chess

from kibitz.comment.check.grammar import Claimed, Reading, read, variation
from kibitz.comment.check.judgements import MateIn, Standing, ThreatensMate, Wins
from kibitz.comment.check.readers import Context
from kibitz.comment.check.statements import Look, Stands, View, line_from, parsed
from kibitz.comment.check.text import sentences
from kibitz.comment.judge import Seen

Verdict: TypeAlias = Literal["true", "false", "not checkable"]
VERDICTS: tuple[Verdict, ...] = ("true", "false", "not checkable")
LONGEST_SENTENCE = 600  # characters; a longer one is not read
BY_SEARCH = (Standing, MateIn, ThreatensMate, Wins)
Search: TypeAlias = Callable[[chess.Board, bool], Seen]  # and whether it is to confirm
_COMMANDS = re.compile(r"\[%[^\[\]]*\]")
# What a sentence says besides where pieces stand; unless it is read, the sentence is not.
_DOES = re.compile(
    r"\b(?:attack|pin|fork|skewer|defend|protect|guard|threat|win|los[es]|tak|captur|trap|mat[ei]|check|"
    r"block|control|support|develop|weak|strong|good|bad|better|worse|hang|discover|sacrific)\w*",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^(\d{1,3})\s?(\.{1,3})\s?(\S+)")


class Judged(NamedTuple):
    """A sentence, and what became of it."""

    text: str
    verdict: Verdict
    reason: str = ""  # of a false one: what the position shows


@dataclass(frozen=True)
class Setting:
    """The position that a comment belongs to, and those it may speak of besides."""

    now: chess.Board
    before: chess.Board | None = None
    move: chess.Move | None = None  # that led from there to here
    nearby: tuple[chess.Board, ...] = ()  # earlier ones, and those that follow
    introduces: bool = False  # it stands before a game: of no position for certain

    @property
    def context(self) -> Context:
        """Who has moved, and how the move is written."""
        if self.before is None or self.move is None:
            return Context()
        return Context(self.before.turn, self.before.san(self.move))


def judge(text: str, setting: Setting, search: Search | None = None) -> list[Judged]:
    """What becomes of the sentences of a comment; without a search, judgements stay open."""
    text = " ".join(_COMMANDS.sub(" ", text).split())
    return list(_judged([text[start:end] for start, end in sentences(text)], setting, search))


def _judged(texts: Iterable[str], setting: Setting, search: Search | None) -> Iterator[Judged]:
    """Sentences one by one; behind other moves the next ones may be about what follows them."""
    away = setting.introduces
    for text in texts:
        if away or len(text) > LONGEST_SENTENCE:
            yield Judged(text, "not checkable")
            continue
        words, rest = variation(text)
        if words:
            yield _after_moves(text, words, rest, setting, search)
            away = True
            continue
        reading = read(text, setting.context)
        yield _whole(text, reading, setting, search)
        away = reading.away


def _whole(text: str, reading: Reading, setting: Setting, search: Search | None) -> Judged:
    """A sentence by its statements: false if one is, true if one is and none is open."""
    answers = []
    for claim in reading.claims:
        answer, reason = _proved(claim, setting, search)
        if answer is False:
            return Judged(text, "false", reason)
        answers.append(answer)
    said = any(not isinstance(claim.statement, Stands) for claim in reading.claims)
    whole = bool(answers) and all(answers) and (said or not _DOES.search(text))
    return Judged(text, "true" if whole else "not checkable")


def _proved(claim: Claimed, setting: Setting, search: Search | None) -> tuple[bool | None, str]:
    """Whether a claim holds, and what shows that it does not."""
    answer = _holds(claim, setting.now, search, confirm=False)
    if answer is not False:
        return answer, ""
    by_search = isinstance(claim.statement, BY_SEARCH)
    others = [setting.before] if by_search else [setting.before, *setting.nearby]
    if claim.near and any(
        _holds(claim, board, search, confirm=False) is not False for board in others if board
    ):
        return None, ""
    if by_search and _holds(claim, setting.now, search, confirm=True) is not False:
        return None, ""
    look = _look(search, confirm=by_search)
    return False, claim.statement.shown(View(setting.now, look, claim.positive))


def _holds(
    claim: Claimed, board: chess.Board, search: Search | None, *, confirm: bool
) -> bool | None:
    answer = claim.statement.true_in(View(board, _look(search, confirm=confirm)))
    return answer if answer is None else answer == claim.positive


def _look(search: Search | None, *, confirm: bool) -> Look | None:
    return None if search is None else lambda board: search(board, confirm)


# --- variations -----------------------------------------------------------------------------------


def _after_moves(
    text: str, words: Sequence[str], rest: str, setting: Setting, search: Search | None
) -> Judged:
    """A sentence on what moves lead to, from the position of its comment or the one before."""
    for start in (setting.now, setting.before):
        boards = [] if start is None else list(line_from(start, words))
        if start is not None and len(boards) == len(words):
            last = Context(not boards[-1].turn)
            at = Setting(boards[-1], introduces=False)
            return _whole(text, read(rest, last), at, search)
    return _illegal(text, setting)


def _illegal(text: str, setting: Setting) -> Judged:
    """A sentence whose first move, by its number one of the next, is not possible there."""
    numbered = _NUMBERED.match(re.sub(r"^\w+\s+", "", text.removeprefix("And ")))
    if numbered is not None:
        number, dots, san = int(numbered[1]), numbered[2], numbered[3].rstrip(",.;:")
        for board in (setting.now, setting.before):
            due = board is not None and board.fullmove_number == number and _is_move(san)
            turns = board is not None and due and board.turn == (len(dots) == 1)
            if board is not None and turns and parsed(board, san) is None:
                return Judged(text, "false", f"{san} is not legal: {board.fen()}")
    return Judged(text, "not checkable")


def _is_move(san: str) -> bool:
    return re.fullmatch(r"[KQRBN][a-h]?[1-8]?x?[a-h][1-8][+#]?[!?]*", san) is not None


# --- sums -----------------------------------------------------------------------------------------


@dataclass
class Tally:
    """How many sentences became what."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, judged: Iterable[Judged]) -> None:
        """Count some more."""
        self.counts.update(one.verdict for one in judged)

    def facts(self) -> dict[str, float]:
        """Counts, the share that could be checked, and the share of that which is false."""
        total, checked = self.counts.total(), self.counts["true"] + self.counts["false"]
        counts: dict[str, float] = {name: self.counts[name] for name in VERDICTS}
        return {
            "sentences": total,
            **counts,
            "checkable_share": round(checked / total, 4) if total else 0.0,
            "false_share": round(self.counts["false"] / checked, 4) if checked else 0.0,
        }
