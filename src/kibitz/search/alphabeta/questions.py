"""Tablebases inside the search: positions are queued for Python, and answers come by the table.

search -> **ask_tables** -> **answer**, between kernels -> entries of the table
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kibitz.kernel.bits import popcount
from kibitz.kernel.compile import kernel
from kibitz.position.moves import NO_MOVE
from kibitz.position.squares import EMPTY
from kibitz.position.state import copy_position
from kibitz.search.alphabeta.table import (
    AT_LEAST,
    AT_MOST,
    EXACT,
    NOTHING,
    depth_in,
    store,
)
from kibitz.search.alphabeta.thread import (
    QUESTIONS,
    TABLE_WIN,
    UNKNOWN,
    ThreadMemory,
    question_at,
)
from kibitz.search.proof import DRAW, TABLEBASE

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
    store(thread, position.key, 0, NO_MOVE, score, UNKNOWN, ANSWERED, bound)


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
