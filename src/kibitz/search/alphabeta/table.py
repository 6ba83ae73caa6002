"""The table of positions searched: scores with their bounds, moves and evaluations.

An entry is two words: what is known, and the position's key combined with it. Threads write without
locks; an entry of which two threads wrote one word each matches no key. Four entries fill a line of
the cache; of those, the one of the oldest search and the least depth is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kibitz.jit.bits import popcount, signed
from kibitz.jit.compile import kernel
from kibitz.jit.records import aligned, prefetch_at, record_at
from kibitz.position.moves import NO_MOVE
from kibitz.position.squares import EMPTY
from kibitz.position.state import copy_position
from kibitz.search.alphabeta.thread import (
    DECISIVE,
    QUESTIONS,
    TABLE,
    TABLE_WIN,
    UNKNOWN,
    ThreadMemory,
    frame_at,
    has,
    position_at,
    question_at,
)
from kibitz.search.proof import DRAW, TABLEBASE

NO_BOUND, AT_LEAST, AT_MOST, EXACT = range(4)
SLOTS = 4  # entries that a position may be in
GENERATIONS = 64
AGE_WORTH = 4  # plies of depth that a search of later makes up for
BUCKET = np.dtype([("key", np.uint64, SLOTS), ("known", np.uint64, SLOTS)])
MEBIBYTE = 1 << 20

NOTHING = np.uint64(0)
WORD = np.uint64(0xFFFF)
# known: move 16, score 16, evaluation 16, depth 8, bound 2, generation 6 bits
SCORE_AT, EVALUATION_AT, DEPTH_AT, BOUND_AT, GENERATION_AT = map(np.uint64, (16, 32, 48, 56, 58))
BIAS = 32_768  # added to scores, which are signed
HALF = np.uint64(32)

bucket_at = record_at(BUCKET, "entries")
prefetch = prefetch_at(BUCKET, "entries")


def new_table(megabytes: int) -> np.ndarray:
    """An empty table of exactly so many MiB."""
    return aligned((megabytes * MEBIBYTE // BUCKET.itemsize,), BUCKET)


def permille(entries: np.ndarray, generation: int) -> int:
    """How full the table is with entries of this search, by its first thousandth part or so."""
    sample = entries["known"][:256].ravel()
    used = (sample != 0) & (sample >> GENERATION_AT == generation)
    return int(1000 * used.mean())


@kernel
def place_in(thread: np.record, key: np.uint64) -> int:
    """The bucket of a key: its upper half, scaled to the size of the table."""
    return signed(((key >> HALF) * np.uint64(thread.entries_size)) >> HALF)


@kernel
def probe(thread: np.record, key: np.uint64) -> np.uint64:
    """What is known of a position, NOTHING if it is not there."""
    if not has(thread, TABLE):
        return NOTHING
    bucket = bucket_at(thread, place_in(thread, key))
    for slot in range(SLOTS):
        known = bucket.known[slot]
        if bucket.key[slot] ^ known == key and known != NOTHING:
            return known
    return NOTHING


@kernel
def move_in(known: np.uint64) -> int:
    """The best move, or 0."""
    return signed(known & WORD)


@kernel
def score_in(known: np.uint64, ply: int) -> int:
    """The score; distances count from the root, so that they depend on the ply."""
    score = signed(known >> SCORE_AT & WORD) - BIAS
    if score >= DECISIVE:
        return score - ply
    return score + ply if score <= -DECISIVE else score


@kernel
def evaluation_in(known: np.uint64) -> int:
    """The evaluator's score, or UNKNOWN."""
    return signed(known >> EVALUATION_AT & WORD) - BIAS


@kernel
def depth_in(known: np.uint64) -> int:
    """Plies that were searched."""
    return signed(known >> DEPTH_AT & np.uint64(255))


@kernel
def bound_in(known: np.uint64) -> int:
    """NO_BOUND, AT_LEAST, AT_MOST or EXACT."""
    return signed(known >> BOUND_AT & np.uint64(3))


@kernel
def settles(known: np.uint64, ply: int, alpha: int, beta: int) -> bool:
    """Whether the score that is known is outside the window, or exact."""
    bound, score = bound_in(known), score_in(known, ply)
    if bound == EXACT:
        return True
    return (bound == AT_LEAST and score >= beta) or (bound == AT_MOST and score <= alpha)


@kernel
def _worth(known: np.uint64, generation: int) -> int:
    """How much an entry is worth keeping."""
    if known == NOTHING:
        return -1_000_000
    age = (generation - signed(known >> GENERATION_AT)) & (GENERATIONS - 1)
    return depth_in(known) - AGE_WORTH * age


@kernel
def store(thread: np.record, ply: int, move: int, score: int, depth: int, bound: int) -> None:
    """Write down what is known of the position at a ply, unless more is known already."""
    if score >= DECISIVE:
        score += ply
    elif score <= -DECISIVE:
        score -= ply
    evaluation = signed(frame_at(thread, ply).raw)
    _write(thread, position_at(thread, ply).key, move, score, evaluation, depth, bound)


@kernel
def _write(
    thread: np.record, key: np.uint64, move: int, score: int, raw: int, depth: int, bound: int
) -> None:
    """Write an entry, with distances counted from its position."""
    bucket, generation = bucket_at(thread, place_in(thread, key)), signed(thread.generation)
    chosen, least = 0, 1_000_000
    for slot in range(SLOTS):
        known = bucket.known[slot]
        if bucket.key[slot] ^ known == key and known != NOTHING:
            if move == NO_MOVE:
                move = move_in(known)
            fresh = signed(known >> GENERATION_AT) == generation
            if bound != EXACT and fresh and depth + AGE_WORTH <= depth_in(known):
                return
            chosen = slot
            break
        worth = _worth(known, generation)
        if worth < least:
            chosen, least = slot, worth
    new = np.uint64(move) | np.uint64(score + BIAS) << SCORE_AT
    new |= np.uint64(raw + BIAS) << EVALUATION_AT | np.uint64(max(depth, 0)) << DEPTH_AT
    new |= np.uint64(bound) << BOUND_AT | np.uint64(generation) << GENERATION_AT
    bucket.known[chosen] = new
    bucket.key[chosen] = key ^ new


# --- tablebases -----------------------------------------------------------------------------------
# Inside the search positions are queued for Python, and the answers come by the table.

ANSWERED = 200  # depth of an answer, which no search reaches


@kernel
def ask_tables(thread: np.record, position: np.record, depth: int, known: np.uint64) -> None:
    """Queue a position that tables may know, right after a capture or a pawn's move."""
    if depth < thread.table_depth or thread.table_pieces == 0 or position.rule50 != 0:
        return
    if popcount(position.own | position.their) > thread.table_pieces:
        return
    if position.castling != EMPTY or thread.asked - thread.answered >= QUESTIONS:
        return
    if known == NOTHING or depth_in(known) < ANSWERED:
        copy_position(position, question_at(thread, thread.asked % QUESTIONS))
        thread.asked += 1


@kernel
def store_answer(thread: np.record, position: np.record, score: int, bound: int) -> None:
    """Write what tables say of a position into the table."""
    _write(thread, position.key, NO_MOVE, score, UNKNOWN, ANSWERED, bound)


def answer(threads: Sequence[ThreadMemory], proof_of: Callable[[np.record], int | None]) -> None:
    """Answer what is queued as far as `proof_of` does, which returns None to leave the rest."""
    for memory in threads:
        record = memory.record
        while record.asked > record.answered:
            position = memory.questions[int(record.answered) % QUESTIONS]
            proof = proof_of(position)
            if proof is None:
                return
            if proof == DRAW:
                store_answer(record, position, 0, EXACT)
            elif abs(proof) == TABLEBASE:
                sign, bound = (1, AT_LEAST) if proof > 0 else (-1, AT_MOST)
                store_answer(record, position, sign * TABLE_WIN, bound)
            record.answered += 1
