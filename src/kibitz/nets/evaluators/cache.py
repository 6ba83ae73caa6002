"""The prediction cache: what was evaluated before is not evaluated again.

The table (cachetable.py) serves kernels as `cache.record`; `CachedEvaluator` puts it in front of a
batched evaluator.

An exact key holds all that an encoding tells of a leaf: two leaves of one key have the same planes
and the same moves, so the cache never changes an evaluation. A merged key is ChessCoach's for play:
the position, whether it occurred before, and the clock from 80 plies on. It finds more, and returns
evaluations of another history or clock.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.core.errors import InputError
from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.jit.records import address_of, aligned, as_record
from kibitz.nets.encodings.leaves import Leaves
from kibitz.nets.encodings.planes import Sight
from kibitz.nets.evaluators import cachetable
from kibitz.nets.evaluators.batched import (
    BatchedEvaluator,
    Evaluations,
    evaluated,
    refuse_not_finite,
)
from kibitz.nets.evaluators.cachetable import (
    Cache,
    draw_of,
    prior_of,
    probe,
    steps_of,
    store,
    summary_of,
    value_of,
)
from kibitz.position.attacks import EMPTY

HASHFULL_BUCKETS = 125  # a thousand entries are looked at
MERGED_BELOW = 80  # plies of the clock that merged keys do not tell apart
REPETITION_STEP, CLOCK_STEP = np.uint64(0x9FB2_1C65_1E98_DF25), np.uint64(0xD1B5_4A32_D192_ED03)
ROTATION, REST = np.uint64(7), np.uint64(57)


class CacheUse(NamedTuple):
    """Counts of how the cache was used since it was last cleared."""

    hits: int
    misses: int
    evictions: int
    hashfull: int  # entries in use, per mille


class PredictionCache:
    """A table of a fixed number of bytes, shared by threads."""

    def __init__(self, size: int) -> None:
        """Take at most `size` bytes."""
        buckets = size // cachetable.BUCKET_BYTES
        if not 1 <= buckets < 2**31:
            raise InputError(
                "cache size in bytes", value=size, fix=f"give {cachetable.BUCKET_BYTES} or more"
            )
        self._table = aligned((buckets, cachetable.BUCKET_WORDS), np.uint64)
        self._counters = aligned((buckets, cachetable.BUCKET_COUNTERS), np.uint32)
        table = self._table.reshape(-1).view(cachetable.WORD)
        counters = self._counters.reshape(-1).view(cachetable.COUNTER)
        places = address_of(table), table.size, address_of(counters), counters.size
        self.record = as_record(Cache(*places, buckets, salt=0))

    @property
    def size(self) -> int:
        """Bytes of the table."""
        return self._table.nbytes + self._counters.nbytes

    def clear(self) -> None:
        """Forget everything, with what a thread is storing at this moment."""
        self.record["salt"] += 1
        self._table[:] = 0
        self._counters[:] = 0

    def use(self) -> CacheUse:
        """Count hits, misses and evictions, and sample how full the table is."""
        totals = self._counters[:, : cachetable.USED_AT].sum(axis=0, dtype=np.int64)
        probes, hits = totals[cachetable.PROBES], totals[cachetable.HITS]
        keys = self._table[:HASHFULL_BUCKETS, : cachetable.SLOTS]
        full = np.count_nonzero(keys) / keys.size
        evictions = int(totals[cachetable.EVICTIONS])
        return CacheUse(int(hits), int(probes - hits), evictions, round(1000 * full))


class CachedEvaluator:
    """A batched evaluator that evaluates only what the cache does not know."""

    def __init__(
        self,
        evaluator: BatchedEvaluator,
        cache: PredictionCache,
        *,
        merged: bool = False,
        salt: int = 0,
    ) -> None:
        """Tell leaves apart as the evaluator does or, `merged`, as ChessCoach does.

        A `salt`, a word of 64 bits, keeps evaluators that share a cache apart.
        """
        self.evaluator, self.cache, self.merged = evaluator, cache, merged
        self._salt = np.uint64(salt)
        self.name, self.sees = evaluator.name, evaluator.sees

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        """Fill `out` for all leaves."""
        batch = len(leaves.known)
        keys, missing = np.empty(batch, np.uint64), np.empty(batch, np.bool_)
        put_keys(leaves, self.sees, self.merged, keys)
        keys ^= self._salt
        probe_all(self.cache.record, keys, leaves.offsets, out.wdl, out.logits, missing)
        if not missing.any():
            return
        rows = np.flatnonzero(missing)
        rest = chosen(leaves, rows)
        fresh = evaluated(self.evaluator, rest)
        refuse_not_finite(self.name, *fresh)
        priors = np.empty_like(fresh.logits)
        put_priors(rest.offsets, fresh.logits, priors)
        store_all(self.cache.record, keys[rows], rest.offsets, fresh.wdl, priors)
        out.wdl[rows] = fresh.wdl
        out.logits[: leaves.offsets[-1]][np.repeat(missing, np.diff(leaves.offsets))] = fresh.logits


def chosen(leaves: Leaves, rows: np.ndarray) -> Leaves:
    """Some of the leaves, in order; rows int64 [n] ascending."""
    counts = np.diff(leaves.offsets)
    wanted = np.zeros(len(leaves.known), dtype=np.bool_)
    wanted[rows] = True
    return Leaves(
        leaves.positions[rows],
        leaves.known[rows],
        leaves.repetitions[rows],
        leaves.moves[: leaves.offsets[-1]][np.repeat(wanted, counts)],
        np.concatenate(([0], np.cumsum(counts[rows]))),
    )


@kernel
def with_number(key: np.uint64, number: int, step: np.uint64) -> np.uint64:
    """A key with a small number in it; 0 leaves it as it is."""
    return key ^ np.uint64(np.uint64(number) * step)


@kernel
def exact_key(
    positions: np.ndarray, columns: int, repetitions: np.ndarray, most_repetitions: int, clock: bool
) -> np.uint64:
    """Key of a leaf and of the positions before it that count, for what the encoding tells apart.

    positions POSITION [H] and repetitions uint8 [H], the leaf first; `columns` of them count.
    """
    key = EMPTY
    for back in range(columns - 1, -1, -1):
        key = (key << ROTATION) | (key >> REST)
        occurred = min(signed(repetitions[back]), most_repetitions)
        key ^= with_number(positions[back].key, occurred, REPETITION_STEP)
    return with_number(key, signed(positions[0].rule50), CLOCK_STEP) if clock else key


@kernel
def merged_key(position: np.record, repetitions: int) -> np.uint64:
    """ChessCoach's key of a position that occurred `repetitions` times before."""
    key = with_number(position.key, min(repetitions, 1), REPETITION_STEP)
    clock = signed(position.rule50)
    return with_number(key, clock, CLOCK_STEP) if clock >= MERGED_BELOW else key


@kernel
def put_keys(leaves: Leaves, sees: Sight, merged: bool, keys: np.ndarray) -> None:
    """Write the keys of a batch, uint64 [B]."""
    for row in range(keys.shape[0]):
        if merged:
            position, repetitions = leaves.positions[row, 0], leaves.repetitions[row, 0]
            keys[row] = merged_key(position, signed(repetitions))
        else:
            keys[row] = exact_key_of(leaves, sees, row)


@kernel
def exact_key_of(leaves: Leaves, sees: Sight, row: int) -> np.uint64:
    """The exact key of one leaf of a batch."""
    positions, repetitions = leaves.positions[row], leaves.repetitions[row]
    columns = min(signed(leaves.known[row]), min(positions.shape[0], sees.history))
    return exact_key(positions, columns, repetitions, sees.repetitions, sees.clock)


@kernel
def probe_all(
    cache: np.record,
    keys: np.ndarray,
    offsets: np.ndarray,
    wdl: np.ndarray,
    logits: np.ndarray,
    missing: np.ndarray,
) -> None:
    """Answer what is known, wdl float32 [B, 3] and logits [M]; missing bool [B] tells the rest."""
    for row in range(keys.shape[0]):
        missing[row] = not probe_row(cache, keys[row], offsets, row, wdl, logits)


@kernel
def probe_row(
    cache: np.record,
    key: np.uint64,
    offsets: np.ndarray,
    row: int,
    wdl: np.ndarray,
    logits: np.ndarray,
) -> bool:
    """Answer one leaf of a batch if it is known."""
    start, end = offsets[row], offsets[row + 1]
    hit, value, draw = probe(cache, key, end - start, logits[start:end])
    if hit:
        _put_wdl(wdl, row, value, draw)
        for at in range(start, end):
            logits[at] = np.float32(math.log(logits[at]))
    return hit


@kernel
def _put_wdl(wdl: np.ndarray, row: int, value: float, draw: float) -> None:
    wdl[row, 0] = np.float32(0.5 * (1.0 - draw + value))
    wdl[row, 1] = np.float32(draw)
    wdl[row, 2] = np.float32(0.5 * (1.0 - draw - value))


@kernel
def put_priors(offsets: np.ndarray, logits: np.ndarray, priors: np.ndarray) -> None:
    """Turn the logits of each leaf into probabilities; both float32 [M]."""
    for row in range(offsets.shape[0] - 1):
        top = np.float32(-np.inf)
        for at in range(offsets[row], offsets[row + 1]):
            top = max(top, logits[at])
        total = 0.0
        for at in range(offsets[row], offsets[row + 1]):
            power = math.exp(logits[at] - top)
            priors[at] = np.float32(power)
            total += power
        for at in range(offsets[row], offsets[row + 1]):
            priors[at] = np.float32(priors[at] / total)


@kernel
def store_all(
    cache: np.record,
    keys: np.ndarray,
    offsets: np.ndarray,
    wdl: np.ndarray,
    priors: np.ndarray,
) -> None:
    """Remember evaluations: keys uint64 [B], wdl float32 [B, 3], priors float32 [M]."""
    for row in range(keys.shape[0]):
        start, end = offsets[row], offsets[row + 1]
        value = float(wdl[row, 0]) - float(wdl[row, 2])
        store(cache, keys[row], value, float(wdl[row, 1]), end - start, priors[start:end])


@kernel
def keep_all(
    cache: np.record, keys: np.ndarray, offsets: np.ndarray, wdl: np.ndarray, logits: np.ndarray
) -> None:
    """Store evaluations, and round them as the table does, so that both answer alike."""
    put_priors(offsets, logits, logits)
    store_all(cache, keys, offsets, wdl, logits)
    for row in range(keys.shape[0]):
        summary = summary_of(float(wdl[row, 0]) - float(wdl[row, 2]), float(wdl[row, 1]), 0, 0)
        _put_wdl(wdl, row, value_of(summary), draw_of(summary))
        for at in range(offsets[row], offsets[row + 1]):
            logits[at] = np.float32(math.log(prior_of(steps_of(logits[at]))))
