"""How far the evaluations of two evaluators are apart on the same leaves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from kibitz.core.errors import InputError
from kibitz.core.files import Location
from kibitz.nets.encodings.leaves import MOST_HISTORY, Leaves, leaves_of, random_leaves
from kibitz.nets.evaluators.batched import BatchedEvaluator, Evaluations, evaluated, values_of
from kibitz.nets.evaluators.cache import put_priors
from kibitz.position.epd import lines_of, named_place
from kibitz.position.fen import parse_fen
from kibitz.position.state import new_positions


class Difference(NamedTuple):
    """What separates the second evaluator from the first."""

    positions: int
    mean_value: float  # of absolute differences of values in [-1, 1]
    largest_value: float
    largest_wdl: float  # of a probability
    mean_logit: float  # of logits, each position's shifted to a mean of zero
    largest_logit: float
    top_move: float  # share of the positions with moves in which both prefer the same one
    divergence: float  # mean Kullback-Leibler divergence of the policies, nats


def difference(first: BatchedEvaluator, second: BatchedEvaluator, leaves: Leaves) -> Difference:
    """Compare two evaluators on the same leaves."""
    return difference_of(evaluated(first, leaves), evaluated(second, leaves), leaves.offsets)


def difference_of(first: Evaluations, second: Evaluations, offsets: np.ndarray) -> Difference:
    """Compare evaluations of the same leaves; offsets int64 [B + 1]."""
    values = np.abs(values_of(first.wdl) - values_of(second.wdl))
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    apart = np.abs(_centred(first.logits, offsets) - _centred(second.logits, offsets))
    moving = np.flatnonzero(np.diff(offsets))
    best = [_best(each.logits, offsets, moving) for each in (first, second)]
    p, q = (_priors(each.logits, offsets).astype(np.float64) for each in (first, second))
    information = p * (np.log(p + 1e-30) - np.log(q + 1e-30))
    per_leaf = np.bincount(owners, information, minlength=len(offsets) - 1)[moving]
    return Difference(
        positions=len(values),
        mean_value=float(values.mean()),
        largest_value=float(values.max()),
        largest_wdl=float(np.abs(first.wdl - second.wdl).max()),
        mean_logit=float(apart.mean()) if len(apart) else 0.0,
        largest_logit=float(apart.max()) if len(apart) else 0.0,
        top_move=float(np.mean(best[0] == best[1])) if len(moving) else 1.0,
        divergence=float(per_leaf.mean()) if len(moving) else 0.0,
    )


def _centred(logits: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    counts = np.diff(offsets)
    owners = np.repeat(np.arange(len(counts)), counts)
    means = np.bincount(owners, logits, minlength=len(counts)) / np.maximum(counts, 1)
    centred: np.ndarray = logits - means[owners]
    return centred


def _best(logits: np.ndarray, offsets: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Place of the largest logit of each of the rows, int64 [n]."""
    places = [int(np.argmax(logits[offsets[row] : offsets[row + 1]])) for row in rows]
    return np.array(places, dtype=np.int64)


def _priors(logits: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    priors = np.empty_like(logits)
    put_priors(offsets, logits, priors)
    return priors


MOST_LEAVES = 500_000  # some 3 GiB with their history and moves


def leaves_from(source: Location | None, count: int) -> Leaves:
    """At most `count` leaves: of the FENs or EPDs in a file, or the ends of random games."""
    if count > MOST_LEAVES:
        raise InputError("too many positions", value=count, fix=f"take {MOST_LEAVES} or fewer")
    if source is None:
        return random_leaves(count)
    games = list(islice(_positions_in(source), count))
    if not games:
        raise InputError("no positions in this file", value=str(source))
    return leaves_of(games, MOST_HISTORY)


def _positions_in(source: Location) -> Iterator[np.ndarray]:
    """Each position of a file as an array of one; errors name the file and the line."""
    for number, line in lines_of(source):
        fen = _fen_of(line)
        if not fen:
            continue
        game = new_positions(1)
        with named_place(f"{source}, line {number}"):
            game[0] = parse_fen(fen)
        yield game


def _fen_of(line: str) -> str:
    """The position at the start of a line of a FEN or EPD file, "" if there is none."""
    fields = line.split("#")[0].split(";")[0].split()
    numbers = fields[4:6] if len(fields) >= 6 and fields[4].isdigit() else ["0", "1"]
    return " ".join([*fields[:4], *numbers]) if len(fields) >= 4 else ""
