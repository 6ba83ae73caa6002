"""What a search has learned: which moves refute others, and how far off the evaluator is.

All are small sums that forget: the nearer one is to its limit, the less is added to it. A move
counts by itself, and as the reply to each of the two moves before it.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.position.moves import (
    CASTLING,
    EN_PASSANT,
    PROMOTION,
    destination_of,
    kind_of,
    origin_of,
)
from kibitz.position.squares import PAWN
from kibitz.position.state import piece_on
from kibitz.search.alphabeta.thread import BACK, CORRECTIONS, PLACES, TRIED, frame_at

MOST = 16_384  # of a sum
LARGEST_BONUS = 1_600
SQUARES = 64 * 64
# Corrections are in 256ths of a centipawn and move by a share of depth / 256 towards what is seen.
GRAIN, LARGEST_SHARE, MOST_CORRECTED = 256, 16, 64
OWN_PAWNS, THEIR_PAWNS = np.uint64(0x9E37_79B9_7F4A_7C15), np.uint64(0xC2B2_AE3D_27D4_EB4F)
INDEX_SHIFT = np.uint64(64 - 14)
assert CORRECTIONS == 1 << 14


@kernel
def captured_by(position: np.record, move: int) -> int:
    """Type of the piece that a move captures, -1 if it captures none."""
    kind = kind_of(move)
    if kind == EN_PASSANT:
        return PAWN
    if kind == CASTLING or not position.their >> np.uint64(destination_of(move)) & np.uint64(1):
        return -1
    return piece_on(position, destination_of(move))


@kernel
def is_quiet(position: np.record, move: int) -> bool:
    """Whether a move neither captures nor promotes."""
    return kind_of(move) < PROMOTION and captured_by(position, move) < 0


@kernel
def place_of(position: np.record, move: int) -> int:
    """The piece that moves and where it goes, as one number below PLACES."""
    return piece_on(position, origin_of(move)) * 64 + destination_of(move)


@kernel
def _reply_at(thread: np.record, ply: int, back: int, place: int) -> int:
    """Where the sum of a move stands as the reply to the one `back` plies before."""
    before = signed(frame_at(thread, ply - back).place)
    return ((back - 1) * (PLACES + 1) + before) * PLACES + place


@kernel
def quiet_score(thread: np.record, position: np.record, ply: int, move: int, place: int) -> int:
    """How good a quiet move has been, here and elsewhere."""
    score = signed(thread.quiet[position.side * SQUARES + (move & (SQUARES - 1))])
    for back in range(1, BACK + 1):
        score += signed(thread.replies[_reply_at(thread, ply, back, place)])
    return score


@kernel
def capture_at(position: np.record, move: int, captured: int) -> int:
    """Where the sum of a capture stands."""
    return place_of(position, move) * 6 + max(captured, 0)


@kernel
def _moved(old: int, bonus: int) -> int:
    """A sum after a bonus, or a malus if it is negative."""
    return old + bonus - old * abs(bonus) // MOST


@kernel
def _add(thread: np.record, position: np.record, ply: int, move: int, bonus: int) -> None:
    """Add to all sums of a move."""
    captured = captured_by(position, move)
    if captured >= 0 or kind_of(move) >= PROMOTION:
        at = capture_at(position, move, captured)
        thread.captures[at] = _moved(signed(thread.captures[at]), bonus)
        return
    at = position.side * SQUARES + (move & (SQUARES - 1))
    thread.quiet[at] = _moved(signed(thread.quiet[at]), bonus)
    place = place_of(position, move)
    for back in range(1, BACK + 1):
        at = _reply_at(thread, ply, back, place)
        thread.replies[at] = _moved(signed(thread.replies[at]), bonus)


@kernel
def note_tried(frame: np.record, move: int) -> None:
    """Remember a move that was searched and was not the best."""
    if frame.tried_count < TRIED:
        frame.tried[frame.tried_count] = move
        frame.tried_count += 1


@kernel
def learn(
    thread: np.record, position: np.record, frame: np.record, ply: int, move: int, depth: int
) -> None:
    """A move refuted what led here: it gains, and what was tried before it loses."""
    bonus = min(16 * depth * depth + 32 * depth, LARGEST_BONUS)
    quiet = is_quiet(position, move)
    if quiet and frame.killers[0] != move:
        frame.killers[1] = frame.killers[0]
        frame.killers[0] = move
    _add(thread, position, ply, move, bonus)
    for index in range(frame.tried_count):
        other = signed(frame.tried[index])
        if quiet or not is_quiet(position, other):
            _add(thread, position, ply, other, -bonus)


# --- corrections of the evaluator -----------------------------------------------------------------


@kernel
def _correction_at(position: np.record) -> int:
    own, their = position.pawns & position.own, position.pawns & position.their
    mixed = np.uint64(own * OWN_PAWNS) ^ np.uint64(their * THEIR_PAWNS)
    return signed(np.uint64(mixed * OWN_PAWNS) >> INDEX_SHIFT)


@kernel
def correction_of(thread: np.record, position: np.record) -> int:
    """Centipawns that searches of positions with these pawns found the evaluator to lack."""
    return signed(thread.corrections[_correction_at(position)]) // GRAIN


@kernel
def learn_correction(thread: np.record, position: np.record, lacked: int, depth: int) -> None:
    """A search of `depth` plies found a score that was `lacked` above the evaluator's."""
    at, share = _correction_at(position), min(depth + 1, LARGEST_SHARE)
    seen = max(-MOST_CORRECTED, min(MOST_CORRECTED, lacked)) * GRAIN
    old = signed(thread.corrections[at])
    thread.corrections[at] = (old * (256 - share) + seen * share) // 256
