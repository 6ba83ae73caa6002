"""The transposition table: scores of positions with their bounds, moves and evaluations.

An entry is two words: its data, and the position's key combined with them. Threads write without
locks; an entry of which two threads wrote one word each matches no key. Four entries fill a line of
the cache; of those, the one of the oldest search and the least depth is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kibitz.jit.bits import popcount, signed
from kibitz.jit.compile import kernel
from kibitz.jit.records import aligned, prefetch_at, record_at
from kibitz.position.attacks import EMPTY
from kibitz.position.moves import NO_MOVE
from kibitz.position.state import copy_position
from kibitz.search.alphabeta.thread import (
    DECISIVE,
    NO_EVAL,
    PROBES,
    TABLE,
    TABLE_WIN,
    ThreadMemory,
    enabled,
    frame_at,
    position_at,
    probe_at,
)
from kibitz.search.proof import DRAW, TABLEBASE

NO_BOUND, LOWER_BOUND, UPPER_BOUND, EXACT = range(4)
BUCKET_ENTRIES = 4  # entries that a position may be in
GENERATIONS = 64
BUCKET = np.dtype([("key", np.uint64, BUCKET_ENTRIES), ("data", np.uint64, BUCKET_ENTRIES)])
MEBIBYTE = 1 << 20

NO_ENTRY = np.uint64(0)
WORD = np.uint64(0xFFFF)
# data: move 16, score 16, evaluation 16, depth 8, bound 2, generation 6 bits
SCORE_AT, EVAL_AT, DEPTH_AT, BOUND_AT, GENERATION_AT = map(np.uint64, (16, 32, 48, 56, 58))
BIAS = 32_768  # added to scores, which are signed
HALF = np.uint64(32)

bucket_at = record_at(BUCKET, "entries")
prefetch = prefetch_at(BUCKET, "entries")


def new_table(megabytes: int) -> np.ndarray:
    """An empty table of exactly so many MiB."""
    return aligned((megabytes * MEBIBYTE // BUCKET.itemsize,), BUCKET)


def permille(entries: np.ndarray, generation: int) -> int:
    """How full the table is with entries of this search, by its first thousandth part or so."""
    sample = entries["data"][:256].ravel()
    used = (sample != 0) & (sample >> GENERATION_AT == generation)
    return int(1000 * used.mean())


@kernel
def bucket_index(thread: np.record, key: np.uint64) -> int:
    """The bucket of a key: its upper half, scaled to the size of the table."""
    return signed(((key >> HALF) * np.uint64(thread.entries_size)) >> HALF)


@kernel
def probe(thread: np.record, key: np.uint64) -> np.uint64:
    """The data of a position's entry, NO_ENTRY if there is none."""
    if not enabled(thread, TABLE):
        return NO_ENTRY
    bucket = bucket_at(thread, bucket_index(thread, key))
    for slot in range(BUCKET_ENTRIES):
        entry = bucket.data[slot]
        if bucket.key[slot] ^ entry == key and entry != NO_ENTRY:
            return entry
    return NO_ENTRY


@kernel
def entry_move(entry: np.uint64) -> int:
    """The best move, or 0."""
    return signed(entry & WORD)


@kernel
def entry_score(entry: np.uint64, ply: int) -> int:
    """The score; distances count from the root, so that they depend on the ply."""
    score = signed(entry >> SCORE_AT & WORD) - BIAS
    if score >= DECISIVE:
        return score - ply
    return score + ply if score <= -DECISIVE else score


@kernel
def entry_eval(entry: np.uint64) -> int:
    """The evaluator's score, or NO_EVAL."""
    return signed(entry >> EVAL_AT & WORD) - BIAS


@kernel
def entry_depth(entry: np.uint64) -> int:
    """Plies that were searched."""
    return signed(entry >> DEPTH_AT & np.uint64(255))


@kernel
def entry_bound(entry: np.uint64) -> int:
    """NO_BOUND, LOWER_BOUND, UPPER_BOUND or EXACT."""
    return signed(entry >> BOUND_AT & np.uint64(3))


@kernel
def causes_cutoff(entry: np.uint64, ply: int, alpha: int, beta: int) -> bool:
    """Whether the score of an entry is exact, or a bound outside the window."""
    tt_bound, tt_score = entry_bound(entry), entry_score(entry, ply)
    if tt_bound == EXACT:
        return True
    at_least, at_most = tt_bound == LOWER_BOUND, tt_bound == UPPER_BOUND
    return (at_least and tt_score >= beta) or (at_most and tt_score <= alpha)


@kernel
def _replacement_value(thread: np.record, entry: np.uint64, generation: int) -> int:
    """How much an entry is worth keeping: its depth, less for its age."""
    if entry == NO_ENTRY:
        return -1_000_000
    age = (generation - signed(entry >> GENERATION_AT)) & (GENERATIONS - 1)
    return entry_depth(entry) - thread.age_depth * age


@kernel
def store(thread: np.record, ply: int, move: int, score: int, depth: int, bound: int) -> None:
    """Write an entry for the position at a ply, unless there is a deeper one of this search."""
    if score >= DECISIVE:
        score += ply
    elif score <= -DECISIVE:
        score -= ply
    raw_eval = signed(frame_at(thread, ply).raw_eval)
    _write(thread, position_at(thread, ply).key, move, score, raw_eval, depth, bound)


@kernel
def _write(
    thread: np.record, key: np.uint64, move: int, score: int, raw_eval: int, depth: int, bound: int
) -> None:
    """Write an entry, with distances counted from its position."""
    bucket, generation = bucket_at(thread, bucket_index(thread, key)), signed(thread.generation)
    chosen, least = 0, 1_000_000
    for slot in range(BUCKET_ENTRIES):
        entry = bucket.data[slot]
        if bucket.key[slot] ^ entry == key and entry != NO_ENTRY:
            if move == NO_MOVE:
                move = entry_move(entry)
            fresh = signed(entry >> GENERATION_AT) == generation
            if bound != EXACT and fresh and depth + thread.age_depth <= entry_depth(entry):
                return
            chosen = slot
            break
        value = _replacement_value(thread, entry, generation)
        if value < least:
            chosen, least = slot, value
    new = np.uint64(move) | np.uint64(score + BIAS) << SCORE_AT
    new |= np.uint64(raw_eval + BIAS) << EVAL_AT | np.uint64(max(depth, 0)) << DEPTH_AT
    new |= np.uint64(bound) << BOUND_AT | np.uint64(generation) << GENERATION_AT
    bucket.data[chosen] = new
    bucket.key[chosen] = key ^ new


# --- tablebases -----------------------------------------------------------------------------------
# Inside the search positions are queued for Python, and the answers come by the table.

TABLEBASE_ENTRY_DEPTH = 200  # of a tablebase's result, which no search reaches


@kernel
def queue_tablebase_probe(
    thread: np.record, position: np.record, depth: int, entry: np.uint64
) -> None:
    """Queue a position that tables may know, right after a capture or a pawn's move."""
    if depth < thread.tablebase_depth or thread.tablebase_pieces == 0 or position.rule50 != 0:
        return
    if popcount(position.own | position.their) > thread.tablebase_pieces:
        return
    if position.castling != EMPTY or thread.probes_queued - thread.probes_done >= PROBES:
        return
    if entry == NO_ENTRY or entry_depth(entry) < TABLEBASE_ENTRY_DEPTH:
        copy_position(position, probe_at(thread, thread.probes_queued % PROBES))
        thread.probes_queued += 1


@kernel
def store_probe(thread: np.record, position: np.record, score: int, bound: int) -> None:
    """Write what tables say of a position into the table."""
    _write(thread, position.key, NO_MOVE, score, NO_EVAL, TABLEBASE_ENTRY_DEPTH, bound)


def answer_probes(
    threads: Sequence[ThreadMemory], proof_of: Callable[[np.record], int | None]
) -> None:
    """Answer what is queued as far as `proof_of` does, which returns None to leave the rest."""
    for memory in threads:
        record = memory.record
        while record.probes_queued > record.probes_done:
            position = memory.probes[int(record.probes_done) % PROBES]
            proof = proof_of(position)
            if proof is None:
                return
            if proof == DRAW:
                store_probe(record, position, 0, EXACT)
            elif abs(proof) == TABLEBASE:
                sign, bound = (1, LOWER_BOUND) if proof > 0 else (-1, UPPER_BOUND)
                store_probe(record, position, sign * TABLE_WIN, bound)
            record.probes_done += 1
