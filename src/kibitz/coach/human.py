"""What people of a rating play in a position, beside what a search thinks of each move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kibitz.comment.judge import MARKS, graded, value_of
from kibitz.engine.people import People, Shares
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.search.report import Line, Score, spelled

LOWEST_RATING, HIGHEST_RATING = 500, 3000  # that can be asked for; the nearest network answers


def people_facts(board: Board, rating: int, lines: Sequence[Line]) -> dict[str, Any]:
    """The probability of every move, and how hard the best one of a search is to find.

    `lines` are a search's, of all moves, the best first; without any no move is judged.
    """
    people = People()
    shares = people.shares(board, rating)
    facts: dict[str, Any] = {"fen": board.fen(), "rating": rating, "networks": people.ready(rating)}
    scores = {line.moves[0]: line.common or line.score for line in lines if line.moves}
    facts["moves"] = [_row(board, move, share, scores) for move, share in shares.items()]
    if shares and scores:
        facts["best"] = _best(board, people, shares, rating, next(iter(scores)))
    return facts


def _row(board: Board, move: Move, share: float, scores: dict[Move, Score]) -> dict[str, Any]:
    row: dict[str, Any] = {"move": board.uci(move), "san": board.san(move), "share": share}
    if move in scores:
        highest, score = next(iter(scores.values())), scores[move]
        mark = MARKS[graded(value_of(highest), value_of(score))]
        row |= {"score": spelled(score), "mark": mark}
    return row


def _best(board: Board, people: People, shares: Shares, rating: int, best: Move) -> dict[str, Any]:
    """The best move, and how many find it at this rating and at those of the networks."""
    by_rating = {other: people.shares(board, other)[best] for other in people.ratings}
    by_rating[rating] = shares[best]
    return {
        "move": board.uci(best),
        "san": board.san(best),
        "share": shares[best],
        "by_rating": dict(sorted(by_rating.items())),
    }
