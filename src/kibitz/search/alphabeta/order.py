"""Which move is searched next, and what a search has learned to tell: histories of moves.

The table's move comes first, then captures that win, killers, quiet moves, the rest. Moves are
generated at once and scored when the table's move did not suffice; each call finds the best of
those that are left. Captures that may lose material are settled by exchange when their turn comes,
and go to the end if they do.

Histories are small sums that forget: the nearer one is to its limit, the less is added to it. A
move counts by itself, and as the reply to the moves one, two and four plies before it. What the
evaluator was found to lack is learned in the same way, by the pawns and by each side's pieces.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.position.exchange import VALUES, exchange_value
from kibitz.position.moves import (
    CASTLING,
    EN_PASSANT,
    PROMOTION,
    destination_of,
    generate,
    kind_of,
    origin_of,
)
from kibitz.position.squares import PAWN, QUEEN
from kibitz.position.state import piece_on
from kibitz.search.alphabeta.thread import BACK, CORRECTIONS, PLACES, TRIED, frame_at

TABLE_MOVE = 1 << 28
GOOD = 1 << 20  # captures that do not lose material, as far as is known, are at least at this
BAD = -GOOD // 2  # and those that do are below this
KILLER = 1 << 19
UNDERPROMOTION = -(1 << 21)
TO_QUEEN = PROMOTION + 3
QUEEN_BONUS = 16 * 750
VICTIM_WORTH = 16  # times its value, a victim counts; its attacker once

MOST = 16_384  # of a sum
LARGEST_BONUS = 1_600
SQUARES = 64 * 64
REPLIES = 3  # a move is a reply to those 1, 2 and 4 plies before it
assert 1 << REPLIES - 1 == BACK
# Corrections are in 256ths of a centipawn and move by a share of depth / 256 towards what is seen.
GRAIN, LARGEST_SHARE, MOST_CORRECTED = 256, 16, 64
MIXERS = (
    np.uint64(0x9E37_79B9_7F4A_7C15),
    np.uint64(0xC2B2_AE3D_27D4_EB4F),
    np.uint64(0x1656_67B1_9E37_79F9),
    np.uint64(0x27D4_EB2F_1656_67C5),
    np.uint64(0x85EB_CA77_C2B2_AE63),
)
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
    for index in range(REPLIES):
        score += signed(thread.replies[_reply_at(thread, ply, 1 << index, place)])
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
    for index in range(REPLIES):
        at = _reply_at(thread, ply, 1 << index, place)
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
    """Update the histories after a cutoff: its move gains, those tried before it lose."""
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


# --- the order ------------------------------------------------------------------------------------


@kernel
def list_moves(frame: np.record, position: np.record, table_move: int) -> int:
    """Write all legal moves to the frame, the table's first; returns how many."""
    count = generate(position, frame.moves[:])
    frame.first = 0
    if table_move != 0:
        for index in range(count):
            if frame.moves[index] == table_move:
                frame.moves[index] = frame.moves[0]
                frame.moves[0] = table_move
                frame.scores[0] = TABLE_MOVE
                frame.first = 1
    return count


@kernel
def capture_score(thread: np.record, position: np.record, move: int, captured: int) -> int:
    """Order of a capture or a promotion among others."""
    kind = kind_of(move)
    if kind >= PROMOTION and kind != TO_QUEEN:
        return UNDERPROMOTION
    score = GOOD - VALUES[piece_on(position, origin_of(move))]
    if captured >= 0:
        score += VICTIM_WORTH * VALUES[captured]
    if kind == TO_QUEEN:
        score += QUEEN_BONUS
    return score + signed(thread.captures[capture_at(position, move, captured)]) // 4


@kernel
def _score_moves(
    thread: np.record, frame: np.record, position: np.record, ply: int, first: int, count: int
) -> None:
    """Write the scores of all moves from `first` on."""
    for index in range(first, count):
        move = signed(frame.moves[index])
        captured = captured_by(position, move)
        if captured >= 0 or kind_of(move) >= PROMOTION:
            score = capture_score(thread, position, move, captured)
        elif move == frame.killers[0]:
            score = KILLER
        elif move == frame.killers[1]:
            score = KILLER - 1
        else:
            score = quiet_score(thread, position, ply, move, place_of(position, move))
        frame.scores[index] = score


@kernel
def may_lose(position: np.record, move: int) -> bool:
    """Whether a capture takes less than it puts at risk, so that the exchange must be looked at."""
    captured = captured_by(position, move)
    standing = piece_on(position, origin_of(move))
    if kind_of(move) == TO_QUEEN:
        standing = QUEEN
    return captured < 0 or VALUES[captured] < VALUES[standing]


@kernel
def bring_best(frame: np.record, index: int, count: int) -> int:
    """Exchange the move at `index` and the best of those from there on, which is returned."""
    best, score = index, frame.scores[index]
    for other in range(index + 1, count):
        if frame.scores[other] > score:
            best, score = other, frame.scores[other]
    move = frame.moves[best]
    frame.moves[best], frame.scores[best] = frame.moves[index], frame.scores[index]
    frame.moves[index], frame.scores[index] = move, score
    return signed(move)


@kernel
def next_move(
    thread: np.record, frame: np.record, position: np.record, ply: int, index: int, count: int
) -> int:
    """The move to search after `index` others; its score is frame.scores[index]."""
    if index < frame.first:
        return signed(frame.moves[index])
    if index == frame.first:
        _score_moves(thread, frame, position, ply, index, count)
    while True:
        move = bring_best(frame, index, count)
        if frame.scores[index] < GOOD or not may_lose(position, move):
            return move
        if exchange_value(position, move) >= 0:
            return move
        frame.scores[index] -= 2 * GOOD


# --- corrections of the evaluator -----------------------------------------------------------------


@kernel
def _place_of_pawns(position: np.record) -> int:
    """A number for the pawns of both sides."""
    own, their = position.pawns & position.own, position.pawns & position.their
    mixed = np.uint64(own * MIXERS[0]) ^ np.uint64(their * MIXERS[1])
    return signed(np.uint64(mixed * MIXERS[0]) >> INDEX_SHIFT)


@kernel
def _place_of_pieces(position: np.record, side: np.uint64) -> int:
    """A number for the pieces, without pawns, of the side whose pieces stand on `side`."""
    mixed = np.uint64((position.knights & side) * MIXERS[0])
    mixed ^= np.uint64((position.bishops & side) * MIXERS[1])
    mixed ^= np.uint64((position.rooks & side) * MIXERS[2])
    mixed ^= np.uint64((position.queens & side) * MIXERS[3])
    mixed ^= np.uint64((position.kings & side) * MIXERS[4])
    mixed ^= mixed >> np.uint64(29)
    return signed(np.uint64(mixed * MIXERS[0]) >> INDEX_SHIFT)


@kernel
def _places_of(position: np.record) -> tuple[int, int, int]:
    """Where the corrections of a position are: by pawns, by own pieces, by the other side's."""
    own = _place_of_pieces(position, position.own)
    their = _place_of_pieces(position, position.their)
    return _place_of_pawns(position), CORRECTIONS + own, 2 * CORRECTIONS + their


@kernel
def correction_of(thread: np.record, position: np.record) -> int:
    """Centipawns that searches of positions like this one found the evaluator to lack."""
    total = 0
    for at in _places_of(position):
        total += signed(thread.corrections[at])
    return total // GRAIN


@kernel
def learn_correction(thread: np.record, position: np.record, lacked: int, depth: int) -> None:
    """Learn that the evaluator's score lacked so much of what a search of `depth` plies found."""
    share = min(depth + 1, LARGEST_SHARE)
    seen = max(-MOST_CORRECTED, min(MOST_CORRECTED, lacked)) * GRAIN
    for at in _places_of(position):
        old = signed(thread.corrections[at])
        thread.corrections[at] = (old * (256 - share) + seen * share) // 256
