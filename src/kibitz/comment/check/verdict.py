"""Judges the sentences of a comment on a position: true, false with the reason, not checkable.

Only what is false whichever position is meant is called false: that of the comment, the ones before
it and those that follow in the game. What a search has to say is confirmed by a longer one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import chess
import chess.pgn

from kibitz.comment.check.clauses import rest
from kibitz.comment.check.grammar import (
    HEDGES,
    Claimed,
    Deed,
    Reply,
    bare,
    deed,
    followed,
    of_the_move,
    read,
    reply,
    variation,
)
from kibitz.comment.check.judgements import MateIn, Standing, ThreatensMate, Wins
from kibitz.comment.check.moves import Judged as JudgedMove
from kibitz.comment.check.moves import OnlyGood
from kibitz.comment.check.readers import KIND, Context
from kibitz.comment.check.statements import (
    Look,
    Stands,
    View,
    is_ambiguous,
    line_from,
    parsed,
    turned,
)
from kibitz.comment.check.text import PLAYED, Passage, is_german, passages, sentences
from kibitz.comment.claims.claim import step
from kibitz.comment.facts import played
from kibitz.comment.judge import Evaluation

if TYPE_CHECKING:
    pass

Verdict: TypeAlias = Literal["true", "false", "not checkable"]
VERDICTS: tuple[Verdict, ...] = ("true", "false", "not checkable")
MOST_NEAR = 24  # positions of a text's last lines that may be meant
MOST_NAMED = 400  # moves; behind more of them nothing in a text is judged
LONGEST_SENTENCE = 600  # characters; a longer one is not read
BY_SEARCH = (Standing, MateIn, ThreatensMate, Wins, JudgedMove, OnlyGood)
Search: TypeAlias = Callable[[chess.Board, bool], Evaluation]  # and whether it is to confirm
_IT = re.compile(
    r"^It\s+(?!is\s+(?:not\s+)?(?:an?|the|equal|level|drawn|clear|true|now|mate|check|hard|easy|better|only"
    r"|white|black)\b)",
    re.IGNORECASE,
)
_PIECE = re.compile(
    rf"\b(?:(?P<kind>{KIND})(?: (?:is|stands))?(?: on)? (?P<square>[a-h][1-8])"
    rf"|(?P<at>[a-h][1-8])[- ](?P<what>{KIND}))\b"
)
_NUMBERED = re.compile(r"^(\d{1,3})\s?(\.{1,3})\s?(\S+)")


class Judged(NamedTuple):
    """A sentence, and what became of it."""

    text: str
    verdict: Verdict
    reason: str = ""  # what the position shows against it, or what of it was not understood


@dataclass(frozen=True)
class Setting:
    """The position that a comment belongs to, and those it may speak of besides."""

    now: chess.Board
    before: chess.Board | None = None
    move: chess.Move | None = None  # that led from there to here
    nearby: tuple[chess.Board, ...] = ()  # earlier ones, and those that follow
    introduces: bool = False  # it stands before a game: of no position for certain
    text: bool = False  # what is said of a position, and no comment in a game
    from_line: bool = False  # `before` is where moves begin that lead to here

    @property
    def context(self) -> Context:
        """Who has moved, and how the move is written."""
        if self.before is None or self.move is None:
            return Context(not self.now.turn if self.from_line else None, text=self.text)
        san, written = self.before.san(self.move), step(self.before, self.move).text
        return Context(self.before.turn, san, written.removesuffix(san), self.text)


def judge(text: str, setting: Setting, search: Search | None = None) -> list[Judged]:
    """What becomes of the sentences of a comment; without a search, judgements stay open."""
    if setting.text:
        return list(_of_text(passages(text), setting, search))
    said = [sentence for passage in passages(text) for sentence in _split(passage)]
    return list(_judged(said, setting, search))


def _split(passage: Passage) -> list[str]:
    return [passage.text[start:end] for start, end in sentences(passage.text)]


def _judged(texts: Iterable[str], setting: Setting, search: Search | None) -> Iterator[Judged]:
    """Sentences one by one; behind other moves the next ones may be about what follows them."""
    away = setting.introduces
    for text in texts:
        if away or len(text) > LONGEST_SENTENCE:
            yield Judged(text, "not checkable")
            continue
        said = bare(of_the_move(text, setting.context))
        words, behind = variation(said)
        if words:
            yield _after_moves(text, words, behind, setting, search)
            away = True
            continue
        away = read(said, setting.context).away
        said = bare(said, numbers=not said.startswith("This"))
        yield _joined(text, _understood(said, setting), search)


def _of_text(parts: Iterable[Passage], setting: Setting, search: Search | None) -> Iterator[Judged]:
    """Sentences on a position; what is false is so behind every move that was named, too.

    A line of several moves may be what the rest of its passage is about: there what is true has to
    be so at its end as well, and what a search would judge stays open. Behind moves that are not
    understood nothing is certain, up to the next paragraph.
    """
    near, lost, named = list[chess.Board](), False, 0
    starts = [board for board in (setting.now, setting.before) if board is not None]
    for passage in parts:
        last = ""
        end, lost = list[chess.Board](), lost and (passage.listed or named > MOST_NAMED)
        for text in _split(passage):
            if lost or len(text) > LONGEST_SENTENCE:
                yield Judged(text, "not checkable")
                continue
            boards, known = followed(text, [*starts, *near])
            here = replace(setting, nearby=(*setting.nearby, *near, *boards))
            yield _with_it(text, last, here, search, end)
            last = text
            near = [*near, *boards][-MOST_NEAR:]
            named += len(PLAYED.findall(text))
            end = boards[-1:] if len(boards) > 1 else end
            lost = named > MOST_NAMED or (not known and len(PLAYED.findall(text)) + len(end) > 1)


def _with_it(
    text: str, last: str, setting: Setting, search: Search | None, end: Sequence[chess.Board]
) -> Judged:
    """A sentence on "it", a piece of the last sentence: the first of them that it is true of.

    It is false where it is so of all of them.
    """
    found = (match.groupdict() for match in _PIECE.finditer(last))
    names = [f"{one['kind'] or one['what']} on {one['square'] or one['at']}" for one in found]
    it = None if HEDGES.search(last) else _IT.match(text)
    if it is None or not names or setting.move is not None:
        return _of_sentence(text, setting, search, end)
    said = [f"The {name} {text[it.end() :]}" for name in names]
    judged = [_of_sentence(each, setting, search, end) for each in said]
    if any(one.verdict == "true" for one in judged):
        return Judged(text, "true")
    if all(one.verdict == "false" for one in judged):
        return Judged(text, "false", judged[0].reason)
    return Judged(text, "not checkable", judged[0].reason)


def _of_sentence(
    text: str, setting: Setting, search: Search | None, end: Sequence[chess.Board]
) -> Judged:
    said = bare(of_the_move(text, setting.context), numbers=False)
    answered = reply(said)
    if answered is not None:
        return _replied(text, answered, setting, search)
    words, behind = variation(said)
    if words:
        return _after_moves(text, words, behind, setting, search)
    return _joined(text, _understood(said, setting), search, end)


def _understood(text: str, setting: Setting, *, more: bool = True) -> _Understood:
    """What a sentence says of the position, and of what its only move does.

    With `more` what is joined to that is read, too, as clauses of their own.
    """
    reading = read(text, setting.context)
    parts, unknown = [_Part(reading.claims, setting)], list[str]()
    spans = [(claim.start, claim.end) for claim in reading.claims if not claim.names]
    does, there = _done(text, setting)
    if does is not None and there is not None:
        done = _understood(does.said, there, more=more)
        if any(part.claims for part in done.parts):
            parts, unknown = [*parts, *done.parts], done.unknown
            spans.append((does.start, len(text)))
    if not spans and more:  # a title, or a cry: "Opposite-coloured bishops!"
        named = [claim for claim in reading.claims if not isinstance(claim.statement, Stands)]
        spans = [(claim.start, claim.end) for claim in named]

    def understand(said: str) -> bool:
        clause = _understood(said, setting, more=False) if more else None
        if clause is None or clause.unknown:
            return False
        parts.extend(clause.parts)
        return True

    return _Understood(parts, [*unknown, *rest(text, spans, understand)])


def _done(text: str, setting: Setting) -> tuple[Deed | None, Setting | None]:
    """What a sentence says of a move, and the position behind it."""
    does = deed(text, numbered=setting.text)
    if does is None:
        return None, None
    other = turned(setting.now, not setting.now.turn)
    starts = [other] if does.threat else [setting.now, setting.before, other]
    boards = [board for board in starts if board is not None]
    boards = [board for board in boards if does.white in (None, board.turn)]
    moves = [(board, parsed(board, does.san)) for board in boards]
    made = [(board, move) for board, move in moves if move is not None]
    for start, move in made[:1]:
        nearby = tuple(played(*each) for each in made[1:])
        return does, Setting(played(start, move), start, move, nearby, text=setting.text)
    return None, None


class _Part(NamedTuple):
    """What is claimed, and of which position."""

    claims: Sequence[Claimed]
    setting: Setting


class _Understood(NamedTuple):
    """What a sentence says, and the words of it that were not understood."""

    parts: list[_Part]
    unknown: list[str]


def _joined(
    text: str, said: _Understood, search: Search | None, end: Sequence[chess.Board] = ()
) -> Judged:
    """A sentence by its statements: false if one is, true if all are and no word is left.

    `end` is where a line of moves has led that an earlier sentence named.
    """
    answers: list[bool | None] = []
    for part in said.parts:
        for claim in part.claims:
            if end and isinstance(claim.statement, BY_SEARCH):
                answers.append(None)
                continue
            answer, reason = _proved(claim, part.setting, search)
            if answer is False:
                return Judged(text, "false", reason)
            if end and any(not _holds(claim, View(board)) for board in end):
                answer = None
            answers.append(answer)
    claims = [claim for part in said.parts for claim in part.claims]
    states = any(not (claim.names and isinstance(claim.statement, Stands)) for claim in claims)
    if not states or not all(answers):
        return Judged(text, "not checkable", "not English" if is_german(text) else "")
    if said.unknown:
        names = ", ".join(f'"{words}"' for words in said.unknown)
        return Judged(text, "not checkable", f"not understood: {names}; the rest is true")
    return Judged(text, "true")


def _proved(claim: Claimed, setting: Setting, search: Search | None) -> tuple[bool | None, str]:
    """Whether a claim holds, and what shows that it does not."""
    here = View(setting.now, _look(search), True, setting.before, setting.move)
    answer = _holds(claim, here)
    if answer is not False:
        return answer, ""
    if claim.near and any(
        _holds(claim, View(board, here.look)) is not False for board in _others(claim, setting)
    ):
        return None, ""
    by_search = isinstance(claim.statement, BY_SEARCH)
    sure = here._replace(look=_look(search, confirm=by_search), positive=claim.positive)
    if by_search and _holds(claim, sure) is not False:
        return None, ""
    return False, claim.statement.shown(sure)


def _others(claim: Claimed, setting: Setting) -> Iterator[chess.Board]:
    """The other positions that may be meant."""
    statement, before = claim.statement, [] if setting.before is None else [setting.before]
    if setting.from_line:
        return
    if not isinstance(statement, BY_SEARCH):
        yield from (*before, *setting.nearby)
    elif not isinstance(statement, JudgedMove):
        yield from (*before, *(setting.nearby if setting.text else ()))
    else:
        yield from (board for board in before if parsed(board, statement.san) is not None)


def _holds(claim: Claimed, at: View) -> bool | None:
    answer = claim.statement.true_in(at)
    return answer if answer is None else answer == claim.positive


def _look(search: Search | None, *, confirm: bool = False) -> Look | None:
    return None if search is None else lambda board: search(board, confirm)


# --- variations -----------------------------------------------------------------------------------


def _after_moves(
    text: str, words: Sequence[str], said: str, setting: Setting, search: Search | None
) -> Judged:
    """A sentence on what moves lead to, from the position of its comment or the one before."""
    for start in (setting.now, setting.before):
        boards = [] if start is None else list(line_from(start, words))
        if start is not None and len(boards) == len(words):
            at = Setting(boards[-1], start, text=setting.text, from_line=True)
            return _joined(text, _understood(said, at), search)
    return _impossible(text, words, setting) if setting.text else _illegal(text, setting)


def _replied(text: str, answered: Reply, setting: Setting, search: Search | None) -> Judged:
    """A sentence on how a move is answered: the line has to be legal, and what loses to lose."""
    for start in (setting.now, setting.before):
        boards = [] if start is None else list(line_from(start, answered.moves))
        if start is None or not boards:
            continue
        if len(boards) < len(answered.moves):
            san = answered.moves[len(boards)]
            if is_ambiguous(boards[-1], san):
                return Judged(text, "not checkable")
            return Judged(text, "false", f"{san} is not legal then: {boards[-1].fen()}")
        end, says = boards[-1], answered.moves[-1].endswith("#")
        if says != end.is_checkmate():
            return Judged(text, "false" if says else "not checkable", "no mate" if says else "")
        if end.is_checkmate() or not answered.loses:
            return Judged(text, "true")
        if search is None:
            return Judged(text, "not checkable")
        loses = Claimed(Standing(start.turn, -2), True, 0, len(text), near=False)
        answer, reason = _proved(loses, Setting(boards[-1], text=setting.text), search)
        verdict: Verdict = "true" if answer else "false" if answer is False else "not checkable"
        return Judged(text, verdict, reason)
    return _impossible(text, answered.moves, setting)


def _impossible(text: str, words: Sequence[str], setting: Setting) -> Judged:
    """A sentence of a text whose first move, or the reply right behind it, is possible nowhere."""
    boards = [board for board in (setting.now, setting.before, *setting.nearby) if board]
    boards += [there for board in boards if (there := turned(board, not board.turn)) is not None]
    written = [word.rstrip(".") for word in words[:2] if _is_move(word.rstrip("."))]
    if not written or any(is_ambiguous(board, written[0]) for board in boards):
        return Judged(text, "not checkable")
    after = [next(line_from(board, written[:1]), None) for board in boards]
    reached = [board for board in after if board is not None]
    if not reached:
        return Judged(text, "false", f"{written[0]} is not legal: {setting.now.fen()}")
    joined = len(written) == 2 and re.search(
        rf"{re.escape(words[0])}\s+{re.escape(words[1])}", text
    )
    boards = reached + [there for board in reached if (there := turned(board, not board.turn))]
    if joined and not any(
        parsed(board, written[1]) or is_ambiguous(board, written[1]) for board in boards
    ):
        return Judged(text, "false", f"{written[1]} is not legal then: {reached[0].fen()}")
    return Judged(text, "not checkable")


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
