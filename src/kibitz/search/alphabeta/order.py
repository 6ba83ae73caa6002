"""Move ordering, and the histories that it follows.

The table's move comes first, then captures that win, killers, quiet moves, the rest. Moves are
generated at once and scored when the table's move did not suffice; each call finds the best of
those that are left. Captures that may lose material are settled by exchange when their turn comes,
and go to the end if they do.

Histories are small sums with gravity: the nearer one is to its limit, the less is added to it. A
quiet move has one by its squares and whether they are attacked (butterfly history), and one as the
continuation of the moves one, two and four plies before it. The correction history keeps the
evaluator's error in the same way, by pawns, by pieces and by the moves before.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.jit.vectors import (
    address_in,
    choose,
    larger,
    largest,
    load_lanes,
    numbered,
    spread,
)
from kibitz.position.attacks import ONE, PAWN, QUEEN, ROOK
from kibitz.position.exchange import VALUES, attacked_by_rank, exchange_at_least
from kibitz.position.moves import (
    CASTLING,
    EN_PASSANT,
    NO_MOVE,
    PROMOTION,
    destination_of,
    generate,
    kind_of,
    origin_of,
)
from kibitz.position.state import piece_on
from kibitz.search.alphabeta.constants import (
    CONTINUATIONS,
    CORRECTION_GRAIN,
    HISTORY_LIMIT,
    MOST_EVAL_BONUS,
    QUEEN_BONUS,
)
from kibitz.search.alphabeta.thread import (
    CORRECTION_SLOTS,
    FRAMES_BEFORE,
    NO_CONTINUATION,
    NO_EVAL,
    PIECE_SQUARES,
    TRIED,
    frame_at,
    position_at,
)

# Scores of moves in their order. Captures count from GOOD_CAPTURE on; those that lose material by
# exchange are put below 0 when their turn comes.
TT_MOVE = 1 << 22
GOOD_CAPTURE = 1 << 20
KILLER_MOVE = 1 << 19
UNDERPROMOTION = -(1 << 21)
LOWEST = -(1 << 31)  # with the number of the move in the last byte
MOST_MOVES = 255
LANES = 16
QUEEN_PROMOTION = PROMOTION + 3

SQUARES = 64 * 64
assert 1 << CONTINUATIONS - 1 == FRAMES_BEFORE
HASH_MULTIPLIERS = (
    np.uint64(0x9E37_79B9_7F4A_7C15),
    np.uint64(0xC2B2_AE3D_27D4_EB4F),
    np.uint64(0x1656_67B1_9E37_79F9),
    np.uint64(0x27D4_EB2F_1656_67C5),
    np.uint64(0x85EB_CA77_C2B2_AE63),
)
INDEX_SHIFT = np.uint64(64 - 14)
assert CORRECTION_SLOTS == 1 << 14


@kernel
def captured_piece(position: np.record, move: int) -> int:
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
    return kind_of(move) < PROMOTION and captured_piece(position, move) < 0


@kernel
def continuation_index(position: np.record, move: int) -> int:
    """The piece that moves and where it goes, as one number below PIECE_SQUARES."""
    return piece_on(position, origin_of(move)) * 64 + destination_of(move)


@kernel
def _continuation_slot(thread: np.record, ply: int, back: int, piece_square: int) -> int:
    """Where the history of a move stands as the continuation of the one `back` plies before."""
    before = signed(frame_at(thread, ply - back).continuation_index)
    return ((back - 1) * (PIECE_SQUARES + 1) + before) * PIECE_SQUARES + piece_square


@kernel
def note_attacks(frame: np.record, position: np.record) -> None:
    """Write down what the other side attacks, for histories and order."""
    by_pawns, by_minors, by_rooks, by_all = attacked_by_rank(position)
    frame.attacked[0], frame.attacked[1] = by_pawns, by_minors
    frame.attacked[2], frame.attacked[3] = by_rooks, by_all


@kernel
def _is_on(squares: np.uint64, square: int) -> int:
    """1 if a square is one of those, else 0."""
    return signed(squares >> np.uint64(square) & ONE)


@kernel
def _butterfly_slot(thread: np.record, position: np.record, ply: int, move: int) -> int:
    """Where the history of a move by its squares stands, and by whether these are attacked."""
    attacked = frame_at(thread, ply).attacked[3]
    kind = 2 * _is_on(attacked, origin_of(move)) + _is_on(attacked, destination_of(move))
    return (2 * kind + position.side) * SQUARES + (move & (SQUARES - 1))


@kernel
def quiet_score(
    thread: np.record, position: np.record, ply: int, move: int, piece_square: int
) -> int:
    """History of a quiet move: by its squares, and as a continuation."""
    score = signed(thread.quiet_history[_butterfly_slot(thread, position, ply, move)])
    for index in range(CONTINUATIONS):
        slot = _continuation_slot(thread, ply, 1 << index, piece_square)
        score += signed(thread.continuation_history[slot])
    return score


@kernel
def _capture_slot(position: np.record, move: int, captured: int) -> int:
    """Where the history of a capture stands."""
    return continuation_index(position, move) * 6 + max(captured, 0)


@kernel
def _with_gravity(old: int, bonus: int) -> int:
    """A history after a bonus, or a malus if it is negative (history gravity)."""
    return old + bonus - old * abs(bonus) // HISTORY_LIMIT


@kernel
def _add_bonus(thread: np.record, position: np.record, ply: int, move: int, bonus: int) -> None:
    """Add to all histories of a move."""
    captured = captured_piece(position, move)
    if captured >= 0 or kind_of(move) >= PROMOTION:
        slot = _capture_slot(position, move, captured)
        thread.capture_history[slot] = _with_gravity(signed(thread.capture_history[slot]), bonus)
        return
    slot = _butterfly_slot(thread, position, ply, move)
    thread.quiet_history[slot] = _with_gravity(signed(thread.quiet_history[slot]), bonus)
    piece_square = continuation_index(position, move)
    for index in range(CONTINUATIONS):
        slot = _continuation_slot(thread, ply, 1 << index, piece_square)
        old = signed(thread.continuation_history[slot])
        thread.continuation_history[slot] = _with_gravity(old, bonus)


@kernel
def note_tried(frame: np.record, move: int) -> None:
    """Remember a move that was searched and was not the best."""
    if frame.tried_count < TRIED:
        frame.tried[frame.tried_count] = move
        frame.tried_count += 1


@kernel
def history_bonus(thread: np.record, depth: int) -> int:
    """What a history gains by a cutoff."""
    bonus = thread.bonus_square * depth * depth + thread.bonus_linear * depth
    return min(bonus, thread.largest_bonus)


@kernel
def update_histories(
    thread: np.record, position: np.record, frame: np.record, ply: int, move: int, depth: int
) -> None:
    """Update the histories after a cutoff: its move gains, those tried before it lose."""
    bonus, quiet = history_bonus(thread, depth), is_quiet(position, move)
    if quiet and frame.killers[0] != move:
        frame.killers[1] = frame.killers[0]
        frame.killers[0] = move
    _add_bonus(thread, position, ply, move, bonus)
    for index in range(frame.tried_count):
        other = signed(frame.tried[index])
        if quiet or not is_quiet(position, other):
            _add_bonus(thread, position, ply, other, -bonus)


@kernel
def reward_by_eval(thread: np.record, ply: int) -> None:
    """Add to the butterfly history of the quiet move before what it gained by the evaluation."""
    before, frame = frame_at(thread, ply - 1), frame_at(thread, ply)
    if before.continuation_index == NO_CONTINUATION or before.static_eval == NO_EVAL:
        return
    position, move = position_at(thread, ply - 1), signed(before.move)
    if is_quiet(position, move):
        gained = -(signed(before.static_eval) + signed(frame.static_eval))
        bonus = max(-MOST_EVAL_BONUS, min(MOST_EVAL_BONUS, thread.eval_bonus * gained))
        slot = _butterfly_slot(thread, position, ply - 1, move)
        thread.quiet_history[slot] = _with_gravity(signed(thread.quiet_history[slot]), bonus)


# --- the order ------------------------------------------------------------------------------------


@kernel
def generate_moves(frame: np.record, position: np.record, tt_move: int) -> int:
    """Write all legal moves to the frame, the table's first, and attacks; returns how many."""
    note_attacks(frame, position)
    count = generate(position, frame.moves[:])
    frame.has_tt_move = 0
    if tt_move != NO_MOVE:
        for index in range(count):
            if frame.moves[index] == tt_move:
                frame.moves[index] = frame.moves[0]
                frame.moves[0] = tt_move
                frame.scores[0] = TT_MOVE
                frame.has_tt_move = 1
    return count


@kernel
def capture_score(thread: np.record, position: np.record, move: int, captured: int) -> int:
    """Order of a capture or a promotion: most valuable victim, least valuable attacker, history."""
    kind = kind_of(move)
    if kind >= PROMOTION and kind != QUEEN_PROMOTION:
        return UNDERPROMOTION
    score = GOOD_CAPTURE - VALUES[piece_on(position, origin_of(move))]
    if captured >= 0:
        score += thread.victim_weight * VALUES[captured]
    if kind == QUEEN_PROMOTION:
        score += QUEEN_BONUS
    slot = _capture_slot(position, move, captured)
    history = signed(thread.capture_history[slot])
    return score + history * thread.capture_history_weight // 16


@kernel
def _safety(thread: np.record, frame: np.record, move: int, piece: int) -> int:
    """More for a quiet move of a piece out of the attack of lesser ones, less for one into it."""
    if piece == PAWN:
        return 0
    attacked, weight = frame.attacked[0], thread.pawn_threat
    if piece == ROOK:
        attacked, weight = frame.attacked[1], thread.piece_threat
    elif piece == QUEEN:
        attacked, weight = frame.attacked[2], 2 * thread.piece_threat
    return weight * (_is_on(attacked, origin_of(move)) - _is_on(attacked, destination_of(move)))


@kernel
def _score_moves(
    thread: np.record, frame: np.record, position: np.record, ply: int, first: int, count: int
) -> None:
    """Write the scores of all moves from `first` on; what lesser pieces attack moves early."""
    for index in range(first, count):
        move = signed(frame.moves[index])
        captured = captured_piece(position, move)
        if captured >= 0 or kind_of(move) >= PROMOTION:
            score = capture_score(thread, position, move, captured)
        elif move == frame.killers[0]:
            score = KILLER_MOVE
        elif move == frame.killers[1]:
            score = KILLER_MOVE - 1
        else:
            piece_square = continuation_index(position, move)
            score = quiet_score(thread, position, ply, move, piece_square)
            score += _safety(thread, frame, move, piece_square // 64)
        frame.scores[index] = score


@kernel
def pick_best(frame: np.record, index: int, count: int) -> int:
    """Swap the move at `index` with the best of those from there on, which is returned.

    Of equal ones the first: a lane has the score and, in its last byte, which move it is of.
    """
    scores, best = address_in(frame.scores), spread(LOWEST, np.int32, LANES)
    for start in range(index, count, LANES):
        places = numbered(np.int32, LANES) + start
        lanes = (load_lanes(scores + 4 * start, np.int32, LANES) << 8) + (MOST_MOVES - places)
        best = larger(best, choose(places < count, lanes, best))
    place = MOST_MOVES - (signed(largest(best)) & MOST_MOVES)
    move, score = frame.moves[place], frame.scores[place]
    frame.moves[place], frame.scores[place] = frame.moves[index], frame.scores[index]
    frame.moves[index], frame.scores[index] = move, score
    return signed(move)


@kernel
def next_move(
    thread: np.record, frame: np.record, position: np.record, ply: int, index: int, count: int
) -> int:
    """The move to search after `index` others; its score is frame.scores[index]."""
    if index < frame.has_tt_move:
        return signed(frame.moves[index])
    if index == frame.has_tt_move:
        _score_moves(thread, frame, position, ply, index, count)
    while True:
        move = pick_best(frame, index, count)
        if frame.scores[index] < GOOD_CAPTURE or exchange_at_least(position, move, 0):
            return move
        frame.scores[index] -= 2 * GOOD_CAPTURE


# --- correction history ---------------------------------------------------------------------------


@kernel
def _pawn_index(position: np.record) -> int:
    """A number for the pawns of both sides."""
    own, their = position.pawns & position.own, position.pawns & position.their
    mixed = np.uint64(own * HASH_MULTIPLIERS[0]) ^ np.uint64(their * HASH_MULTIPLIERS[1])
    return signed(np.uint64(mixed * HASH_MULTIPLIERS[0]) >> INDEX_SHIFT)


@kernel
def _piece_index(position: np.record, side: np.uint64) -> int:
    """A number for the pieces, without pawns, of the side whose pieces stand on `side`."""
    mixed = np.uint64((position.knights & side) * HASH_MULTIPLIERS[0])
    mixed ^= np.uint64((position.bishops & side) * HASH_MULTIPLIERS[1])
    mixed ^= np.uint64((position.rooks & side) * HASH_MULTIPLIERS[2])
    mixed ^= np.uint64((position.queens & side) * HASH_MULTIPLIERS[3])
    mixed ^= np.uint64((position.kings & side) * HASH_MULTIPLIERS[4])
    mixed ^= mixed >> np.uint64(29)
    return signed(np.uint64(mixed * HASH_MULTIPLIERS[0]) >> INDEX_SHIFT)


@kernel
def _minor_index(position: np.record) -> int:
    """A number for the knights, bishops and kings of both sides."""
    own, their = position.own, position.their
    mixed = np.uint64((position.knights & own) * HASH_MULTIPLIERS[0])
    mixed ^= np.uint64((position.bishops & own) * HASH_MULTIPLIERS[1])
    mixed ^= np.uint64((position.kings & own) * HASH_MULTIPLIERS[2])
    mixed ^= np.uint64((position.knights & their) * HASH_MULTIPLIERS[3])
    mixed ^= np.uint64((position.bishops & their) * HASH_MULTIPLIERS[4])
    mixed ^= np.uint64((position.kings & their) * HASH_MULTIPLIERS[1]) >> np.uint64(7)
    mixed ^= mixed >> np.uint64(29)
    return signed(np.uint64(mixed * HASH_MULTIPLIERS[0]) >> INDEX_SHIFT)


@kernel
def _moves_index(thread: np.record, ply: int) -> int:
    """A number for the two moves before."""
    last = signed(frame_at(thread, ply - 1).continuation_index)
    before = signed(frame_at(thread, ply - 2).continuation_index)
    mixed = np.uint64(last * 512 + before)
    return signed(np.uint64(mixed * HASH_MULTIPLIERS[0]) >> INDEX_SHIFT)


@kernel
def _correction_slots(
    thread: np.record, position: np.record, ply: int
) -> tuple[int, int, int, int, int]:
    """Where the corrections of a position stand: by pawns, by pieces, by the moves before."""
    own = CORRECTION_SLOTS + _piece_index(position, position.own)
    their = 2 * CORRECTION_SLOTS + _piece_index(position, position.their)
    minors = 3 * CORRECTION_SLOTS + _minor_index(position)
    moves = 4 * CORRECTION_SLOTS + _moves_index(thread, ply)
    return _pawn_index(position), own, their, minors, moves


@kernel
def correction(thread: np.record, position: np.record, ply: int) -> int:
    """Centipawns that the evaluator was too low in searches of such positions."""
    total = 0
    for slot in _correction_slots(thread, position, ply):
        total += signed(thread.correction_history[slot])
    return total * thread.correction_weight // (256 * CORRECTION_GRAIN)


@kernel
def update_correction_history(
    thread: np.record, position: np.record, ply: int, error: int, depth: int
) -> None:
    """The static evaluation was so much below the score of a search of `depth` plies."""
    share, limit = min(depth + 1, thread.largest_share), thread.largest_correction
    error = max(-limit, min(limit, error)) * CORRECTION_GRAIN
    for slot in _correction_slots(thread, position, ply):
        old = signed(thread.correction_history[slot])
        thread.correction_history[slot] = (old * (256 - share) + error * share) // 256
