"""Writes what was found into a game's tree, and takes it out again: values, marks, arrows, lines.

Which symbol a move gets is said in judge.py and claims/grades.py.

A comment is what others wrote, then `[%eval ...]`, arrows and our words; a variation of ours has a
value before its first comment. So a game can be annotated again, and what others wrote stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import chess
import chess.engine
import chess.pgn
import chess.svg

from kibitz.comment.claims.claim import Claim, Step
from kibitz.comment.claims.grades import Grade
from kibitz.comment.claims.lines.outlook import mark_of
from kibitz.comment.claims.sacrifices import GivesUp, accepted
from kibitz.comment.facts import Scene, Unit
from kibitz.comment.judge import SYMBOLS, Evaluation, Label
from kibitz.comment.select.rank import Level, Memory, worth_saying
from kibitz.comment.select.selection import Selection
from kibitz.comment.words.english import ENGLISH
from kibitz.comment.words.language import Language
from kibitz.comment.words.speaker import Comment, Speaker
from kibitz.comment.words.story import figures_in
from kibitz.position.pgn import main_turns

ANNOTATOR = "Annotator"  # the tag that says how a game was annotated
LONGEST = 8  # plies of a variation
GREEN, RED, YELLOW = "green", "red", "yellow"  # what was better, what refutes, what is spoken of
_VALUE = "[%eval "
_GRADE = "[%grade "  # a command of ours: brilliant, great, interesting, book, forced, miss
GOOD = re.compile(r"\[%good ([a-h1-8nbrq,]+)\]")  # a command of ours: moves in place of a bad one
_SIGNED = re.compile(r"(?:^|; )kibitz \(.*, (white|black|both), [^,()]*\)$")


def signed(tag: str, by: str) -> str:
    """The tag of a game's annotators with ours at its end, once."""
    others = _SIGNED.sub("", tag)
    return f"{others}; {by}" if others else by


def forget(tree: chess.pgn.Game) -> None:
    """Take out what an earlier run has written, and leave what others wrote."""
    for node in _everything(tree):  # also for readers who end a game at an empty line
        node.comment = " ".join(node.comment.split())
        node.starting_comment = " ".join(node.starting_comment.split())
    made = _SIGNED.search(tree.headers.get(ANNOTATOR, ""))
    if made is None:
        return
    figures = figures_in(tree)
    for ply, (node, turn) in enumerate(main_turns(tree)):
        grade = grade_in(node) if ours_of(made[1], turn) else None
        node.nags -= {grade.nag} if grade else set()
        others, value, _ = node.comment.rpartition(_VALUE)
        node.comment = others.rstrip() if value else node.comment
        if figures is not None and ply and ours_of(made[1], turn):
            node.nags -= {int(figures.labels[ply - 1])}
        node.variations[1:] = [
            line for line in node.variations[1:] if not line.comment.startswith(_VALUE)
        ]


def ours_of(sides: str, turn: chess.Color) -> bool:
    """Whether the move that led to a side's turn is of those that were commented on."""
    return sides in ("both", "white" if turn == chess.BLACK else "black")


def _everything(tree: chess.pgn.Game) -> Iterator[chess.pgn.GameNode]:
    waiting: list[chess.pgn.GameNode] = [tree]
    while waiting:
        yield (node := waiting.pop())
        waiting.extend(node.variations)


def put_mark(node: chess.pgn.ChildNode, mark: Label, grade: Grade | None) -> str:
    """The mark (NAG) of a move; returned is the command that names what else it is.

    That of a bad move stands in place of another one for how good it is, praise only where nobody
    else has judged the move.
    """
    judged = not node.nags.isdisjoint(SYMBOLS)
    if mark is not Label.NONE:
        node.nags = node.nags - SYMBOLS.keys() | {int(mark)}
    if grade is None or (grade.nag and judged):
        return ""
    node.nags |= {grade.nag} - {0}
    return f"{_GRADE}{grade}]"


def grade_in(node: chess.pgn.GameNode) -> Grade | None:
    """What an earlier run has called a move."""
    named = re.search(re.escape(_GRADE) + r"(\w+)\]", node.comment)
    return Grade(named[1]) if named and named[1] in {*Grade} else None


def put_words(
    node: chess.pgn.GameNode,
    view: Evaluation,
    comment: Comment,
    text: str,
    turn: chess.Color,
    grade: str = "",
) -> None:
    """The value of a position, arrows as Lichess writes them, and words after what was there.

    `turn` is the side to move.
    """
    others = " ".join(chess.pgn.EVAL_REGEX.sub(" ", node.comment).split())
    arrows = "" if node.arrows() else _drawn(_arrows(comment))  # readers expect one list of them
    text = "" if text in others else text
    parts = (others, _value(view, turn), grade, arrows, text)
    node.comment = " ".join(part for part in parts if part)


def _drawn(arrows: Iterable[chess.svg.Arrow]) -> str:
    """Coloured squares and arrows as commands: [%csl Ye4] [%cal Gg1f3,Rd8h4]."""
    squares = [arrow.pgn() for arrow in arrows if arrow.tail == arrow.head]
    lines = [arrow.pgn() for arrow in arrows if arrow.tail != arrow.head]
    parts = (
        f"[%csl {','.join(squares)}]" * bool(squares),
        f"[%cal {','.join(lines)}]" * bool(lines),
    )
    return " ".join(part for part in parts if part)


def _value(view: Evaluation, turn: bool) -> str:
    """What a search says of a position, as White sees it: [%eval 0.35], [%eval #-3]."""
    sign = 1 if turn else -1
    if view.mate is not None:
        return f"{_VALUE}#{sign * view.mate}]"
    return f"{_VALUE}{sign * view.score.amount / 100:.2f}]"


class Line(NamedTuple):
    """A variation that a comment speaks of."""

    moves: tuple[chess.Move, ...]
    after: bool = False  # it begins after the move, not in its place
    words: tuple[str, ...] = ()  # of its moves; of the first the value, as [%eval]


def lines_of(
    scene: Scene, comment: Comment | Selection, level: Level, language: Language = ENGLISH
) -> list[Line]:
    """The lines that a comment on a bad move or a sacrifice speaks of.

    A marked move without words has the line that was better.
    """
    kinds = {type(claim).__name__ for claim in comment.claims}
    had, turn = scene.had, scene.before.turn
    silent = False
    if had is not None and had.line[:1] not in ((), (scene.move,)):
        silent = not comment.claims and mark_of(scene) is not Label.NONE
    lines, speaker = list[Line](), partial(Speaker, level, language)
    if (silent or kinds & {"Better", "MissesMate"}) and had is not None:
        lines.append(_line(scene.instead, _value(had, turn), speaker))
    refutes = kinds & {"Allows", "AllowsMate", "EnPrise", "Abandons", "Overlooks", "GivesUp"}
    if refutes and scene.has and scene.reply:
        lines.append(_line(scene.other, _value(scene.has, not turn), speaker, after=True))
    for claim in comment.claims:
        if not isinstance(claim, GivesUp) or claim.aim not in ("offer", "offered", "mated"):
            continue
        acceptance = accepted(scene, claim)
        if acceptance is not None:
            lines.append(_line(acceptance[0], _value(acceptance[1], turn), speaker, after=True))
    return lines


def _line(
    scene: Scene, value: str, new_speaker: Callable[[], Speaker], after: bool = False
) -> Line:
    """A line with its value, and words where it has a point."""
    memory, speaker = Memory(), new_speaker()
    moves = (scene.move, *scene.follow)[:LONGEST]
    words = [value, *[""] * (len(moves) - 1)]
    later: Scene | None = scene.later
    for number in range(2, len(moves), 2):
        if later is None or any(words[1:]):
            break
        claims = worth_saying(later, memory, speaker.level, 1)
        points = [claim for claim in claims if type(claim).__module__.endswith(".tactical")]
        if points:
            words[number] = speaker.text_of(later, points)
        later = later.later
    return Line(moves, after, tuple(words))


def add_lines(node: chess.pgn.ChildNode, lines: Iterable[Line]) -> None:
    """Write lines as variations."""
    follows = bool(node.variations)
    for line in lines:
        # After the last move of a game a line would be taken for more of the game.
        if line.after and not follows:
            continue
        parent: chess.pgn.GameNode = node if line.after else node.parent
        if parent.has_variation(line.moves[0]):
            continue
        for move, words in zip(line.moves, line.words, strict=True):
            parent = parent.add_variation(move, comment=words)


def _arrows(comment: Comment) -> list[chess.svg.Arrow]:
    """Arrows for what a comment speaks of, each once."""
    arrows: dict[tuple[int, int], str] = {}
    for claim in comment.claims:
        for tail, head, color in _lines_of(claim):
            arrows.setdefault((tail, head), color)
    return [chess.svg.Arrow(tail, head, color=color) for (tail, head), color in arrows.items()]


def _lines_of(claim: Claim) -> list[tuple[int, int, str]]:
    """Tail, head and colour of the arrows and squares of a claim."""
    steps = {"step": GREEN, "reply": RED}
    arrows = [
        (step.move.from_square, step.move.to_square, color)
        for name, color in steps.items()
        if isinstance(step := getattr(claim, name, None), Step)
    ]
    if type(claim).__name__ in ("Threatens", "Parries"):
        arrows = [(tail, head, RED) for tail, head, _ in arrows]
    by = getattr(claim, "by", None)
    for name in ("targets", "target", "piece", "front", "behind"):
        value = getattr(claim, name, None)
        aims = value if isinstance(value, tuple) and not isinstance(value, Unit) else (value,)
        for unit in aims:
            if isinstance(unit, Unit):
                tail = by.square if isinstance(by, Unit) else unit.square
                arrows.append((tail, unit.square, YELLOW))
    if type(claim).__module__.endswith(".positional"):
        arrows += [
            (unit.square, unit.square, YELLOW)
            for name in ("pawn", "rook")
            if isinstance(unit := getattr(claim, name, None), Unit)
        ]
    return arrows
