"""Calibration for a network: the bins of open nodes, and what its evaluation of a draw is."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, NamedTuple

import numpy as np

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import Location, read_bytes, write_bytes
from kibitz.nets.encodings.leaves import Leaves, random_leaves
from kibitz.nets.evaluators.batched import BatchedEvaluator, Pair, evaluated, values_of
from kibitz.nets.evaluators.cache import CachedEvaluator
from kibitz.search.bestfirst.nodes import UNIT

BINS = 5_000
SAMPLE = 256  # positions of random games, for networks without a file
FORMAT = "kibitz-bestfirst-2"  # the first one had no checksum
REMEDY = "write one with: kibitz net calibrate"
# The mean of even positions is 0 for a network without a bias. Half of a sure win would mean that
# the side to move takes three points of four in them: they are not even, or the number is wrong.
LARGEST_SHIFT = UNIT / 2
VALUES_SALT = 0x5851_F42D_4C95_7F2D  # keeps a pair's answers apart in one cache
_COMPUTED_BY = re.compile(r" \([^()]*\)|, colours swapped$")  # in the name of an evaluator


class Roles(NamedTuple):
    """What evaluates positions and moves: one network, or one of a pair each."""

    values: BatchedEvaluator
    moves: BatchedEvaluator


def roles_of(evaluator: BatchedEvaluator) -> Roles:
    """The evaluators of positions and of moves; the halves of a pair share the pair's cache."""
    if isinstance(evaluator, Pair):
        return Roles(evaluator.value, evaluator.policy)
    if isinstance(evaluator, CachedEvaluator) and isinstance(evaluator.evaluator, Pair):
        pair, cache, merged = evaluator.evaluator, evaluator.cache, evaluator.merged
        return Roles(
            CachedEvaluator(pair.value, cache, merged=merged, salt=VALUES_SALT),
            CachedEvaluator(pair.policy, cache, merged=merged),
        )
    return Roles(evaluator, evaluator)


class Calibration(NamedTuple):
    """What the node list needs to know of a network."""

    mean: float  # of the scores of moves, logarithms of probabilities
    shift: float  # mean evaluation of drawn positions, in points
    boundaries: np.ndarray  # float64 [n]: percentiles of |score - mean|, descending
    network: str = ""  # name of the evaluator


def move_scores(evaluator: BatchedEvaluator, leaves: Leaves) -> np.ndarray:
    """The scores of all moves of some positions, float64 [M]."""
    logits = evaluated(roles_of(evaluator).moves, leaves).logits.astype(np.float64)
    starts, counts = leaves.offsets[:-1], np.diff(leaves.offsets)
    kept = counts > 0
    highest = np.maximum.reduceat(logits, starts[kept]) if kept.any() else np.zeros(0)
    shifted = logits - np.repeat(highest, counts[kept])
    totals = np.add.reduceat(np.exp(shifted), starts[kept]) if kept.any() else np.zeros(0)
    scores: np.ndarray = shifted - np.repeat(np.log(totals), counts[kept])
    return scores


def calibrate(
    evaluator: BatchedEvaluator, leaves: Leaves, draws: Leaves | None = None
) -> Calibration:
    """Bins by the moves of `leaves`; the shift by `draws`, positions that are even, if given."""
    scores = move_scores(evaluator, leaves)
    if len(scores) == 0:
        raise InputError("no position to calibrate with has a move", value=len(leaves.known))
    mean = float(scores.mean())
    percentiles = np.linspace(0.0, 100.0, BINS, endpoint=False)
    boundaries = np.percentile(np.abs(scores - mean), percentiles)[::-1].copy()
    shift = 0.0
    if draws is not None:
        values = values_of(evaluated(roles_of(evaluator).values, draws).wdl)
        shift = UNIT * float(values.mean(dtype=np.float64))
        if abs(shift) > LARGEST_SHIFT:
            fix = "expected positions that are even"
            raise InputError("mean value of the draws", value=round(shift / UNIT, 3), fix=fix)
    return Calibration(mean, shift, boundaries, evaluator.name)


def rough_calibration(evaluator: BatchedEvaluator) -> Calibration:
    """Bins by positions of random games, and no shift: for networks without a file."""
    return calibrate(evaluator, random_leaves(SAMPLE))


def is_for(calibration: Calibration, evaluator: BatchedEvaluator) -> bool:
    """Whether a calibration was made with this network, whatever computed it then."""
    made, used = (_COMPUTED_BY.sub("", name) for name in (calibration.network, evaluator.name))
    return made == used


def write_calibration(location: Location, calibration: Calibration) -> None:
    """Write a calibration as JSON."""
    facts = {
        "format": FORMAT,
        "network": calibration.network,
        "mean": calibration.mean,
        "shift": calibration.shift,
        "boundaries": calibration.boundaries.tolist(),
    }
    content = json.dumps({**facts, "sha256": _checksum(facts)})
    write_bytes(location, (content + "\n").encode("utf-8"))


def _checksum(facts: dict[str, Any]) -> str:
    """Of everything else in the file."""
    rest = {name: value for name, value in facts.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest).encode("utf-8")).hexdigest()


def read_calibration(location: Location) -> Calibration:
    """Read a calibration; one that is damaged is refused."""
    try:
        facts = json.loads(read_bytes(location))
        if facts["format"] != FORMAT:
            raise KeyError("format")
        boundaries, name = np.array(facts["boundaries"], np.float64), str(facts["network"])
        calibration = Calibration(float(facts["mean"]), float(facts["shift"]), boundaries, name)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise InputError("not a calibration", value=str(location), fix=REMEDY) from error
    numbers = np.array([calibration.mean, calibration.shift, *boundaries.ravel()])
    if boundaries.ndim != 1 or len(boundaries) == 0 or not np.isfinite(numbers).all():
        raise InputError("not a calibration", value=str(location), fix=REMEDY)
    if np.any(np.diff(boundaries) > 0):
        raise InputError("boundaries that do not descend", value=str(location), fix=REMEDY)
    if abs(calibration.shift) > LARGEST_SHIFT:
        fix = f"expected at most {LARGEST_SHIFT:.0f} points either way; {REMEDY}"
        raise InputError(f"{location}: shift", value=calibration.shift, fix=fix)
    if facts.get("sha256") != _checksum(facts):
        raise DamagedFileError("a calibration that was changed", value=str(location), fix=REMEDY)
    return calibration
