"""What people of a rating play, beside what a search thinks of it; and so how hard a puzzle is.

A puzzle's rating is that of the players of whom half solve it, as Lichess rates puzzles. The
networks of people say how many players of 1100, 1500 and 1900 would make each of the solver's
moves in a game. In a puzzle players look for a tactic, and solve more than in a game, so the
rating that goes with the shares is fitted to puzzles rated on Lichess.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log2
from typing import Any, NamedTuple

import chess.pgn
from msgspec.structs import replace

from kibitz.coach.puzzles.formats import Puzzle
from kibitz.comment.judge import MARKS, Label, graded, value_of
from kibitz.comment.openings import without_book
from kibitz.engine.levels import HUMAN_RUNGS, People, Shares
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.search.report import Line, Score, spelled

# That can be asked for: below and above them no network knows what people play.
LOWEST_RATING, HIGHEST_RATING = HUMAN_RUNGS[0].rating, HUMAN_RUNGS[-1].rating


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
        label = _label(board, move, graded(value_of(highest), value_of(score)))
        row |= {"score": spelled(score), "mark": MARKS[label]}
    return row


def _label(board: Board, move: Move, label: Label) -> Label:
    """The label of a move as the commentary gives it: named openings have no inaccuracy."""
    tree, start = chess.pgn.Game(), board.to_chess()
    tree.setup(start)
    tree.add_variation(start.parse_uci(board.uci(move)))
    return without_book(tree, [label])[0]


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


# --- puzzles --------------------------------------------------------------------------------------

ASKED = (1100, 1500, 1900)
RARE = 0.01  # a share below it says no more, and above its complement, either
MOST_MOVES = 5  # that add to the rating
EASIEST, HARDEST = 400, 3000


class Terms(NamedTuple):
    """What the rating is a weighted sum of; the numbers of RATING are the weights."""

    base: float  # 1
    moves: float  # of the solver
    odds: float  # for these moves: logits, in bits, of the mean player, added up
    mate: float  # 1 if it ends in mate
    checks: float  # share of the solver's moves that give check


# Least squares, `python -m research.puzzles`; research/log/ has how well that fits.
RATING = Terms(base=1082.0, moves=280.0, odds=-55.0, mate=-63.0, checks=-346.0)


def rating_of(puzzle: Puzzle, people: People) -> int:
    """How hard a puzzle is, on the scale of Lichess's puzzles."""
    return weighed(terms_of(puzzle, people))


def weighed(terms: Terms) -> int:
    """The rating that such terms stand for."""
    total = sum(weight * term for weight, term in zip(RATING, terms, strict=True))
    return round(min(max(total, EASIEST), HARDEST))


def terms_of(puzzle: Puzzle, people: People) -> Terms:
    """What is known of a puzzle by its moves and by people's."""
    board, odds, checks = puzzle.board(), 0.0, 0
    for at, text in enumerate(puzzle.moves):
        move = board.parse(text)
        if at % 2 == 0:
            shares = [people.shares(board, rating)[move] for rating in ASKED]
            odds += sum(map(logit, shares)) / len(ASKED)
        board.push(move)
        checks += at % 2 == 0 and board.is_check()
    moves = puzzle.solver_moves
    return Terms(1.0, min(moves, MOST_MOVES), odds, "mate" in puzzle.themes, checks / moves)


def easiest_first(puzzles: Iterable[Puzzle]) -> list[Puzzle]:
    """The puzzles by their ratings; those that have none get one."""
    people = People()
    rated = [
        puzzle if puzzle.rating else replace(puzzle, rating=rating_of(puzzle, people))
        for puzzle in puzzles
    ]
    return sorted(rated, key=lambda puzzle: puzzle.rating)


def logit(share: float) -> float:
    """The odds of a share, in bits.

    >>> logit(0.5), logit(0.8), logit(0.0) == -logit(1.0)
    (0.0, 2.0, True)
    """
    share = min(max(share, RARE), 1 - RARE)
    return log2(share / (1 - share))
