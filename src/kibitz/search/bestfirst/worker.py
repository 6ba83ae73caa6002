"""A worker of Batch-First: passes over the open nodes, and calibration of bins for a network."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import Location, read_bytes, write_bytes
from kibitz.nets.encodings.leaves import Leaves, leaves_of, new_leaves, part_of, random_leaves
from kibitz.nets.evaluators.batched import (
    BatchedEvaluator,
    Evaluations,
    Pair,
    evaluated,
    refuse_not_finite,
    values_of,
)
from kibitz.nets.evaluators.cache import CachedEvaluator
from kibitz.position.moves import MAX_MOVES
from kibitz.position.notation import legal_codes
from kibitz.position.state import POSITION
from kibitz.search.bestfirst.expand import (
    INNER,
    LEAVES,
    TAKEN,
    Batch,
    expand,
    list_moves,
    open_nodes,
    put_back,
    put_values,
    start_pass,
)
from kibitz.search.bestfirst.nodes import MOST_PLIES, PAST, PRESSING, ROOT, UNIT, ListMemory
from kibitz.search.bestfirst.table import select

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


# --- the worker -----------------------------------------------------------------------------------
#
# Zero-window passes over a node list: take a batch, make children, evaluate, back up.
#
# There are two questions, how good a position is and how good its moves are. A batch of either goes
# to the evaluator on a thread of its own, while the node list is worked on.


GENERATIONS = 255


class EvaluationRequest:
    """A batch of positions that one evaluator is asked about."""

    def __init__(self, evaluator: BatchedEvaluator, rows: int) -> None:
        self.evaluator, self.rows = evaluator, rows
        self.leaves = new_leaves(rows, evaluator.sees.history)
        self.wdl = np.zeros((rows, 3), np.float32)
        self.logits = np.zeros(rows * MAX_MOVES, np.float32)
        self.batches = self.evaluated = 0  # since the search began
        self._count = 0
        self._answer: Future[None] | None = None

    def ask(self, count: int, pool: ThreadPoolExecutor | None) -> None:
        """Ask about the first rows; without a pool the answer is there at once."""
        self._count = count
        if count == 0:
            return
        self.batches, self.evaluated = self.batches + 1, self.evaluated + count
        part = part_of(self.leaves, 0, count)
        if pool is None:
            self.evaluator.evaluate(part, self._filled(part))
        else:
            self._answer = pool.submit(self.evaluator.evaluate, part, self._filled(part))

    def receive(self) -> None:
        """Wait for the answer."""
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.result()
        if self._count:
            moves = int(self.leaves.offsets[self._count])
            arrays = self.wdl[: self._count], self.logits[:moves]
            refuse_not_finite(self.evaluator.name, *arrays)

    def _filled(self, leaves: Leaves) -> Evaluations:
        return Evaluations(self.wdl[: len(leaves.known)], self.logits[: len(leaves.moves)])


class Worker:
    """Searches one root by passes, with a table that outlives them."""

    def __init__(
        self,
        evaluator: BatchedEvaluator,
        calibration: Calibration,
        megabytes: int,
        rows: int,
        *,
        quiet_plies: int,
        ordered: bool = True,
        tabled: bool = True,
        asynchronous: bool = True,
    ) -> None:
        self.memory = ListMemory(megabytes, calibration.boundaries)
        self.record = self.memory.record
        self.record.centre, self.record.shift = calibration.mean, calibration.shift
        self.record.quiet_plies, self.record.tabled = quiet_plies, tabled
        self._ordered = ordered
        roles = roles_of(evaluator)
        self.values, self.moves = (
            EvaluationRequest(roles.values, rows),
            EvaluationRequest(roles.moves, 2 * rows),
        )
        taken, children, leaves = (np.zeros(rows, np.int32) for _ in range(3))
        inner, counts = np.zeros(2 * rows, np.int32), np.zeros(3, np.int64)
        self._batch = Batch(taken, children, leaves, inner, counts)
        self._line = np.zeros(PAST + MOST_PLIES, POSITION)
        self._pool = ThreadPoolExecutor(2, "evaluate") if asynchronous else None
        self.rows, self.steps, self.taken, self.passes = rows, 0, 0, 0
        self.draw = self.raw = 0.0  # what the evaluator says of the root
        self.codes, self.scores = np.zeros(0, np.uint16), np.zeros(0, np.float32)
        self.priors = np.zeros(0, np.float32)

    def close(self) -> None:
        """End the evaluator's threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    # --- the root -------------------------------------------------------------------------------

    def set_root(self, line: np.ndarray, allowed: frozenset[int] | None) -> None:
        """Search the last position of a game, POSITION [n], by the allowed moves only."""
        record, past = self.record, min(PAST, len(line) - 1)
        self._line[: past + 1] = line[-past - 1 :]
        record.past = past
        record.keys[: past + 1] = self._line["key"][: past + 1]
        record.generation = record.generation % GENERATIONS + 1
        record.created = record.deepest = record.cut = 0
        record.root_nodes[:] = record.root_values[:] = 0
        self.steps = self.taken = self.passes = 0
        for question in (self.values, self.moves):
            question.batches = question.evaluated = 0
        self._score_root(allowed)

    def _score_root(self, allowed: frozenset[int] | None) -> None:
        positions: Any = self._line[: int(self.record.past) + 1].view(np.recarray)
        legal = legal_codes(positions[-1])
        answers = []
        for question in (self.values, self.moves):
            leaves = leaves_of([positions], question.evaluator.sees.history)
            answers.append(evaluated(question.evaluator, leaves))
            refuse_not_finite(question.evaluator.name, *answers[-1])
        win, self.draw, loss = answers[0].wdl[0].tolist()
        self.raw = win - loss
        logits = answers[1].logits if self._ordered else np.zeros(len(legal), np.float32)
        kept = [at for at, code in enumerate(legal.tolist()) if allowed is None or code in allowed]
        self.codes, self.scores = legal[kept], _log_probabilities(logits)[kept]
        self.priors = np.exp(self.scores)
        self.record.root_count = len(kept)
        self.record.root_moves[: len(kept)] = self.codes

    # --- a pass ---------------------------------------------------------------------------------

    def zero_window(
        self,
        bound: int,
        depth: int,
        places: list[int],
        stopped: Callable[[], bool],
        budget: int,
    ) -> int | None:
        """Whether the value is at least `bound`: a bound of it on that side; None if it was ended.

        The root's moves at `places` are searched, the first of them first; `budget` is the most
        nodes of the whole search.
        """
        record = self.record
        self.memory.clear_list()
        self.passes += 1
        scores = self.scores[places]
        scores[0] = PRESSING
        root = self._line.view(np.recarray)[int(record.past)]
        start_pass(record, root, self.codes[places], scores, depth, 2 * bound - 1)
        while not record.done:
            most = min(self.rows, budget - int(record.created))
            if most <= 0 or stopped() or not self._step(most):
                return None
        return int(self.memory.nodes[ROOT]["best"])

    @property
    def note(self) -> str:
        """Passes, and how full the batches were."""
        values, moves = self.values, self.moves
        return (
            f"passes: {self.passes}; batches: {self.steps}, "
            f"{100 * self.taken / max(1, self.steps * self.rows):.0f} % full; "
            f"positions evaluated: {values.evaluated}, in calls: {values.batches}; "
            f"positions with moves scored: {moves.evaluated}, in calls: {moves.batches}; "
            f"nodes cut by the table: {int(self.record.cut)}"
        )

    @property
    def best_code(self) -> int:
        """The move of the root that reached the bound of the last pass."""
        return int(self.memory.nodes[ROOT]["best_move"])

    def _step(self, most: int) -> bool:
        """Expand a batch; False if there is no memory for one."""
        record, batch, line = self.record, self._batch, self._line
        values, moves = self.values, self.moves
        batch.counts[TAKEN] = count = select(record, batch.taken, most)
        if count == 0:
            return False
        self.steps, self.taken = self.steps + 1, self.taken + int(count)
        expand(record, batch, line, values.leaves)
        values.ask(int(batch.counts[LEAVES]), self._pool)
        list_moves(record, batch, line, moves.leaves)
        if self._ordered:
            moves.ask(int(batch.counts[INNER]), self._pool)
        values.receive()
        put_values(record, batch, values.wdl)
        moves.receive()
        open_nodes(record, batch, moves.leaves, moves.logits)
        put_back(record, batch)
        return True


def _log_probabilities(logits: np.ndarray) -> np.ndarray:
    if len(logits) == 0:
        return logits
    shifted = logits - logits.max()
    shifted_logits: np.ndarray = (shifted - np.log(np.exp(shifted).sum())).astype(np.float32)
    return shifted_logits
