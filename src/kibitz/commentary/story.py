"""The story of a game in a paragraph: its opening, where it turned, how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import chess
import chess.engine
import chess.pgn

from kibitz.commentary import english as language
from kibitz.commentary.claims import step
from kibitz.commentary.faults import AllowsMate, MissesMate
from kibitz.commentary.judge import (
    Label,
    accuracy,
    labels_of,
    standing,
    turning_points,
    value_of,
)
from kibitz.commentary.merits import Wins
from kibitz.commentary.openings import Opening, opening_in
from kibitz.commentary.words import Comment
from kibitz.search.report import Score


class Told(NamedTuple):
    """A game in numbers."""

    values: tuple[float, ...]  # White's, before the first move and after every move
    labels: tuple[Label, ...]  # of every move
    opening: Opening | None


def told_by(tree: chess.pgn.Game) -> Told | None:
    """A game in numbers, by its [%eval] marks; None if one is missing."""
    scores = [node.eval() for node in (tree, *tree.mainline())]
    values = tuple(white_value(one) for one in scores if one is not None)
    if len(values) < len(scores) or len(values) < 2:
        return None
    return Told(values, labels_of(values, tree.board().turn), opening_in(tree)[1])


def white_value(score: chess.engine.PovScore) -> float:
    """White's winning chances, of an [%eval] mark."""
    white = score.white()
    mate = white.mate()
    if mate is None:
        return value_of(Score("cp", white.score() or 0))
    return 1.0 if mate > 0 or (mate == 0 and score.turn == chess.BLACK) else -1.0


def story_of(tree: chess.pgn.Game, told: Told, comments: Sequence[Comment]) -> str:
    """A paragraph about a game that has moves."""
    nodes = list(tree.mainline())
    points = turning_points(told.values)
    texts: list[str] = []
    if told.opening is not None:
        opening = told.opening
        texts.append(language.STORY["opening"][0].format(name=opening.name, eco=opening.eco))
    for number, ply in enumerate(points):
        forms = language.STORY["turn"]
        form = forms[min(number, 1 + (number - 1) % (len(forms) - 1)) if number else 0]
        node = nodes[ply]
        move = step(node.parent.board(), node.move).text
        why = _because(comments[ply])
        texts.append(form.format(move=move, why=why, standing=_standing(told.values[ply + 1])))
    if not points and len(nodes) >= 20:
        if abs(standing(told.values[-1])) > 1:
            form = language.STORY["gradual"][0]
            texts.append(form.format(standing=_standing(told.values[-1])))
        elif tree.headers.get("Result") == "1/2-1/2":
            texts.append(language.STORY["still"][len(nodes) % 2])
    texts.append(_ending(tree, nodes))
    texts.append(_accuracies(tree, told))
    texts += [text for side in (True, False) if (text := _counts(nodes, told, side))]
    return " ".join(text for text in texts if text)


def _because(comment: Comment) -> str:
    """Why the game turned, as a clause between commas."""
    kinds = {type(one) for one in comment.claims}
    if AllowsMate in kinds:
        return language.STORY["mated"][0]
    won = next((one.won for one in comment.reply if isinstance(one, Wins) and one.won), None)
    if won is not None:
        return language.STORY["lost"][0].format(won=language.haul(won))
    return language.STORY["missed"][0] if MissesMate in kinds else ""


def _standing(value: float) -> str:
    return language.STANDING[standing(value)].format(
        white=language.SIDES[True], black=language.SIDES[False]
    )


def _ending(tree: chess.pgn.Game, nodes: Sequence[chess.pgn.ChildNode]) -> str:
    """How the game ended, by its last position and its tags."""
    result = tree.headers.get("Result", "*")
    board = nodes[-1].board()
    slots = {"number": nodes[-1].parent.board().fullmove_number}
    if result not in ("1-0", "0-1"):
        return language.STORY["drawn" if result == "1/2-1/2" else "open"][0].format(**slots)
    white_won = result == "1-0"
    names = {"winner": language.SIDES[white_won], "loser": language.SIDES[not white_won]}
    kind = "resigned"
    if board.is_checkmate() and board.turn != white_won:
        kind = "mate"
    elif "time" in tree.headers.get("Termination", "").lower():
        kind = "time"
    return language.STORY[kind][0].format(**names, **slots)


def _accuracies(tree: chess.pgn.Game, told: Told) -> str:
    white, black = accuracy(told.values, tree.board().turn == chess.WHITE)
    if white is None or black is None:
        return ""
    return language.STORY["accuracy"][0].format(white=round(white), black=round(black))


def _counts(nodes: Sequence[chess.pgn.ChildNode], told: Told, white: bool) -> str:
    """How many bad moves of each kind a side has made."""
    first = nodes[0].parent.board().turn == white
    made = told.labels[0 if first else 1 :: 2]
    texts = []
    for mark in (Label.INACCURACY, Label.MISTAKE, Label.BLUNDER):
        count = made.count(mark)
        if count:
            texts.append(f"{count} {language.LABELS[int(mark)][count > 1]}")
    side = language.SIDES[white]
    return (
        language.STORY["counts"][0].format(side=side, counts=language.joined(texts))
        if texts
        else ""
    )
