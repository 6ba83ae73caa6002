"""What a report counts of a game: accuracy by phase, time by the clocks, moves by their marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import chess.pgn

from kibitz.comment.facts import phase
from kibitz.comment.judge import SYMBOLS, accuracy
from kibitz.comment.marks import GOOD, grade_in
from kibitz.comment.words.story import Figures
from kibitz.position.pgn import seconds_of

SHOWN = ("!!", "!", "!?", "book", "forced", "?!", "?", "??", "miss")
PHASES = ("opening", "middlegame", "endgame")
CONTROL = re.compile(r"(\d{1,6})(?:\+(\d{1,6}))?")  # seconds, and those added for each move
Pair = tuple[float | None, float | None]


class Row(NamedTuple):
    """A line of the table of numbers, for White and for Black."""

    name: str
    white: float | None
    black: float | None


def phases(tree: chess.pgn.Game, figures: Figures) -> list[Row]:
    """The accuracy of both sides in each phase that has moves; a phase that is over stays so."""
    board, at = tree.board(), list[int]()
    for node in tree.mainline():
        at.append(max([PHASES.index(phase(board)), *at[-1:]]))
        board.push(node.move)
    first, rows = tree.board().turn, list[Row]()
    for number, name in enumerate(PHASES):
        if number in at:
            start, end = at.index(number), at.index(number) + at.count(number)
            values = figures.values[start : end + 1]
            rows.append(Row(name, *accuracy(values, first is (start % 2 == 0))))
    return rows


def spent(tree: chess.pgn.Game) -> list[float | None]:
    """Seconds for every move, by [%emt] or by [%clk] and the tag of the time control."""
    control = CONTROL.fullmatch(tree.headers.get("TimeControl", ""))
    base, added = (float(control[1]), float(control[2] or 0)) if control else (None, 0.0)
    left: list[float | None] = [base, base]
    seconds = list[float | None]()
    for ply, node in enumerate(tree.mainline()):
        clock, had = seconds_of(node, "clk"), left[ply % 2]
        took = seconds_of(node, "emt")
        if took is None and clock is not None and had is not None:
            took = max(0.0, had - clock + added)
        left[ply % 2] = clock
        seconds.append(took)
    return seconds


def times(seconds: Sequence[float | None], first_white: bool) -> list[Row]:
    """How long both sides thought, all in all and at most; nothing where that is not known."""
    sides = [
        [took for took in seconds[0 if first_white is white else 1 :: 2] if took is not None]
        for white in (True, False)
    ]
    if not any(sides):
        return []
    totals = [sum(each) if each else None for each in sides]
    most = [max(each, default=None) for each in sides]
    return [Row("time", *totals), Row("longest", *most)]


def marked(tree: chess.pgn.Game, index: dict[int, int]) -> list[dict[str, object]]:
    """The moves of White and of Black that have a mark, by marks."""
    moves: dict[str, tuple[list[int], list[int]]] = {name: ([], []) for name in SHOWN}
    for node in tree.mainline():
        side = int(node.turn() == chess.WHITE)  # of the move, the other one than whose turn it is
        names = {SYMBOLS[nag] for nag in node.nags if nag in SYMBOLS}
        grade = grade_in(node)
        names |= {grade.value} & {*SHOWN} if grade else set()
        for name in names:
            moves[name][side].append(index[id(node)])
    return [{"mark": name, "moves": sides} for name, sides in moves.items() if any(sides)]


def quiz(node: chess.pgn.ChildNode, notation: Callable[[str], str]) -> dict[str, object]:
    """The good moves in place of a bad one, and names of all that can be tried; or nothing.

    They are those that the analysis has left in the comment, or else the first move of a line of
    ours with a value.
    """
    if not {2, 4} & node.nags:
        return {}
    match = GOOD.search(node.comment)
    lines = (
        variation
        for variation in node.parent.variations
        if variation is not node and "[%eval" in variation.comment
    )
    good = match[1].split(",") if match else [line.move.uci() for line in lines]
    board = node.parent.board()
    legal = {move.uci(): notation(board.san(move)) for move in board.legal_moves}
    good = [move for move in good if move in legal]
    return {"good": good, "legal": legal} if good else {}
