"""How well the estimated rating of a puzzle agrees with the one that Lichess's players gave it.

The half of the puzzles whose hash is odd is put aside; least squares on the other one gives the
weights of the estimate.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from cyclopts import App, Parameter

from kibitz.cli.output import JsonFlag, at_least, emit
from kibitz.coach.human import Terms, terms_of, weighed
from kibitz.coach.puzzles.formats import Puzzle, read_puzzles
from kibitz.core.errors import InputError
from kibitz.core.log import progress
from kibitz.engine.levels import People
from kibitz.train.validate import spearman
from research.command import carry_out

app = App(
    name="puzzles",
    help="Estimated ratings of puzzles against Lichess's.",
    result_action="return_value",
)


class Rated(NamedTuple):
    """A puzzle that players have rated, beside what is known of it."""

    put_aside: bool
    rating: int
    estimate: int
    terms: Terms


def put_aside(puzzle: Puzzle) -> bool:
    """Whether a puzzle is of the half that no weight is fitted to."""
    return hashlib.sha256(puzzle.name.encode()).digest()[0] % 2 == 1


@app.default
def difficulty(
    files: Annotated[list[Path], Parameter(help="Puzzles with ratings, as Lichess's CSV.")],
    *,
    number: Annotated[int | None, Parameter(help="Only so many, by chance.")] = None,
    json: JsonFlag = False,
) -> None:
    """Print correlation and error on the half put aside, and weights by least squares."""
    at_least(2, number=number)
    every = {puzzle.name: puzzle for file in files for puzzle in read_puzzles(file)}
    puzzles = sorted(filter(_is_rated, every.values()), key=_digest)[:number]
    people, rows = People(), list[Rated]()
    with progress("puzzles", total=len(puzzles)) as bar:
        for puzzle in puzzles:
            terms = terms_of(puzzle, people)
            rows.append(Rated(put_aside(puzzle), puzzle.rating, weighed(terms), terms))
            bar.advance()
    measured = [row for row in rows if row.put_aside]
    fitted = [row for row in rows if not row.put_aside]
    if len(measured) < 2 or not fitted:
        value = ", ".join(map(str, files))
        raise InputError("too few puzzles with a rating", value=value, fix="give Lichess's")
    emit(_agreement(measured) | _weights(fitted), as_json=json)


def _is_rated(puzzle: Puzzle) -> bool:
    return puzzle.rating > 0


def _digest(puzzle: Puzzle) -> str:
    return hashlib.sha256(puzzle.name.encode()).hexdigest()


def _agreement(rows: list[Rated]) -> dict[str, float]:
    ratings, estimates = (np.array(c, float) for c in zip(*[r[1:3] for r in rows], strict=True))
    lengths = np.array([row.terms.moves for row in rows])
    return {
        "puzzles": len(rows),
        "spearman": spearman(estimates, ratings),
        "spearman_of_length": spearman(lengths, ratings),
        "correlation": float(np.corrcoef(estimates, ratings)[0, 1]),
        "mean_error": float(np.abs(estimates - ratings).mean()),
        "deviation_of_ratings": float(ratings.std()),
    }


def _weights(rows: list[Rated]) -> dict[str, float]:
    terms = np.array([row.terms for row in rows], float)
    weights = np.linalg.lstsq(terms, np.array([row.rating for row in rows], float))[0]
    return {"fitted": len(rows)} | dict(zip(Terms._fields, weights.tolist(), strict=True))


if __name__ == "__main__":
    sys.exit(carry_out(app))
