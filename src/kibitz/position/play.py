"""Playing moves: one from a record into another, all to a depth (perft), and those of a text.

After a move the board turns round to the other side. Perft counts the leaves of the tree of legal
moves, the yardstick of a move generator. Games in files tell positions, or squares of moves; here
the legal moves are found that they mean.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.atomics import atomic_load
from kibitz.jit.bits import bit, flip, lowest, signed, without_lowest
from kibitz.jit.compile import called_kernel, kernel
from kibitz.position.attacks import (
    BISHOP,
    EMPTY,
    FLIP,
    KING,
    KNIGHT,
    NO_SQUARE,
    PAWN,
    QUEEN,
    RANK_1,
    ROOK,
    bishop_attacks,
    knight_attacks,
    pawn_attacks_down,
    rook_attacks,
)
from kibitz.position.moves import (
    CASTLING,
    DOUBLE_PUSH,
    EN_PASSANT,
    MAX_MOVES,
    NO_MOVE,
    PROMOTION,
    count_legal,
    destination_of,
    en_passant_is_legal,
    generate,
    kind_of,
    origin_of,
)
from kibitz.position.state import (
    POSITION,
    castling_key,
    copy_position,
    en_passant_key,
    piece_key,
    piece_on,
    side_key,
)


@kernel
def _carry(board: np.uint64, origin: int, destination: int, rest: np.uint64) -> np.uint64:
    """Move the bit on `origin`, if any, to `destination`; everything else outside `rest` goes."""
    moved = (board >> np.uint64(origin)) & np.uint64(1)
    return (board & rest) | (moved << np.uint64(destination))


@kernel
def _move_piece(source: np.record, target: np.record, origin: int, destination: int) -> None:
    """The boards after an ordinary move or capture, still in the mover's view."""
    rest = ~(bit(origin) | bit(destination))
    target.pawns = _carry(source.pawns, origin, destination, rest)
    target.knights = _carry(source.knights, origin, destination, rest)
    target.bishops = _carry(source.bishops, origin, destination, rest)
    target.rooks = _carry(source.rooks, origin, destination, rest)
    target.queens = _carry(source.queens, origin, destination, rest)
    target.kings = _carry(source.kings, origin, destination, rest)
    target.own = (source.own & rest) | bit(destination)
    target.their = source.their & rest


@kernel
def _castle(source: np.record, target: np.record, king: int, rook: int) -> np.uint64:
    """The boards after castling; returns the change of key but for the rights."""
    king_to, rook_to = (6, 5) if rook > king else (2, 3)
    target.pawns = source.pawns
    target.knights = source.knights
    target.bishops = source.bishops
    target.queens = source.queens
    target.rooks = (source.rooks ^ bit(rook)) | bit(rook_to)
    target.kings = (source.kings ^ bit(king)) | bit(king_to)
    target.own = (source.own ^ bit(king) ^ bit(rook)) | bit(king_to) | bit(rook_to)
    target.their = source.their
    side = signed(source.side)
    view = FLIP * side
    change = piece_key(side, KING, king ^ view) ^ piece_key(side, KING, king_to ^ view)
    return change ^ piece_key(side, ROOK, rook ^ view) ^ piece_key(side, ROOK, rook_to ^ view)


@kernel
def _promote(target: np.record, square: int, piece: int, side: int) -> np.uint64:
    """Replace the pawn that has arrived on `square`; returns the change of key."""
    target_bit = bit(square)
    target.pawns ^= target_bit
    if piece == KNIGHT:
        target.knights |= target_bit
    elif piece == KNIGHT + 1:
        target.bishops |= target_bit
    elif piece == ROOK:
        target.rooks |= target_bit
    else:
        target.queens |= target_bit
    place = square ^ (FLIP * side)
    return piece_key(side, PAWN, place) ^ piece_key(side, piece, place)


@kernel
def _turn(target: np.record) -> None:
    """Turn the board round: flip every board and exchange the sides."""
    own = target.own
    target.pawns = flip(target.pawns)
    target.knights = flip(target.knights)
    target.bishops = flip(target.bishops)
    target.rooks = flip(target.rooks)
    target.queens = flip(target.queens)
    target.kings = flip(target.kings)
    target.own = flip(target.their)
    target.their = flip(own)
    target.castling = flip(target.castling)
    target.side ^= 1


@kernel
def legal_en_passant(position: np.record, square: int) -> int:
    """`square` if some own pawn may legally capture en passant there, else NO_SQUARE."""
    capturers = pawn_attacks_down(bit(square)) & position.pawns & position.own
    while capturers:
        if en_passant_is_legal(position, lowest(capturers), square):
            return square
        capturers = without_lowest(capturers)
    return NO_SQUARE


@called_kernel
def play(source: np.record, target: np.record, move: int) -> None:
    """Write to `target` the position after the legal `move`; `source` stays as it is."""
    origin, destination, kind = origin_of(move), destination_of(move), kind_of(move)
    side = signed(source.side)
    view = FLIP * side
    key = source.key ^ side_key() ^ en_passant_key(signed(source.en_passant))
    rule50 = signed(source.rule50) + 1
    lost = bit(origin) | bit(destination)  # castling rights of these squares are gone
    if kind == CASTLING:
        key ^= _castle(source, target, origin, destination)
        lost |= RANK_1
    else:
        piece = piece_on(source, origin)
        _move_piece(source, target, origin, destination)
        key ^= piece_key(side, piece, origin ^ view) ^ piece_key(side, piece, destination ^ view)
        if source.their & bit(destination):
            taken = piece_on(source, destination)
            key ^= piece_key(1 - side, taken, destination ^ view)
            rule50 = 0
        if piece == PAWN:
            rule50 = 0
        elif piece == KING:
            lost |= RANK_1
        if kind >= PROMOTION:
            key ^= _promote(target, destination, kind - PROMOTION + KNIGHT, side)
        elif kind == EN_PASSANT:
            taken_at = destination - 8
            target.pawns ^= bit(taken_at)
            target.their ^= bit(taken_at)
            key ^= piece_key(1 - side, PAWN, taken_at ^ view)
    gone = source.castling & lost
    if gone:
        key ^= castling_key(gone, view)
    target.castling = source.castling ^ gone
    target.rule50 = rule50
    target.ply = source.ply + 1
    target.side = source.side
    target.en_passant = NO_SQUARE
    _turn(target)
    if kind == DOUBLE_PUSH:
        square = legal_en_passant(target, (destination - 8) ^ FLIP)
        target.en_passant = square
        key ^= en_passant_key(square)
    target.key = key


@kernel
def gives_check(position: np.record, move: int) -> bool:
    """Whether the legal `move` gives check; it is not played."""
    origin, destination, kind = origin_of(move), destination_of(move), kind_of(move)
    own, target, king = position.own, bit(destination), lowest(position.kings & position.their)
    rest = ~(bit(origin) | target)
    straight = _carry((position.rooks | position.queens) & own, origin, destination, rest)
    diagonal = _carry((position.bishops | position.queens) & own, origin, destination, rest)
    knights = _carry(position.knights & own, origin, destination, rest)
    pawns = _carry(position.pawns & own, origin, destination, rest)
    occupied = (own | position.their) & rest | target
    if kind >= PROMOTION:
        piece = kind - PROMOTION + KNIGHT
        pawns ^= target
        if piece == KNIGHT:
            knights |= target
        if piece in (BISHOP, QUEEN):
            diagonal |= target
        if piece in (ROOK, QUEEN):
            straight |= target
    elif kind == EN_PASSANT:
        occupied ^= bit(destination - 8)
    elif kind == CASTLING:
        king_to, rook_to = (6, 5) if destination > origin else (2, 3)
        straight |= bit(rook_to)
        occupied = occupied & rest | bit(king_to) | bit(rook_to)
    giving = rook_attacks(king, occupied) & straight | bishop_attacks(king, occupied) & diagonal
    giving |= knight_attacks(king) & knights | pawn_attacks_down(bit(king)) & pawns
    return giving != EMPTY


@kernel
def play_null(source: np.record, target: np.record) -> None:
    """Pass the move: the board turns round, the clock goes on, en passant is lost."""
    copy_position(source, target)
    target.rule50 = source.rule50 + 1
    target.ply = source.ply + 1
    target.en_passant = NO_SQUARE
    target.key = source.key ^ side_key() ^ en_passant_key(signed(source.en_passant))
    _turn(target)


# --- perft ----------------------------------------------------------------------------------------


MAX_DEPTH = 32
STOPPED = -1
NEXT, END = MAX_MOVES, MAX_MOVES + 1  # columns beside the moves: which is next, how many


def new_stack() -> tuple[np.ndarray, np.ndarray]:
    """Working memory of one perft: a POSITION and a row of moves, NEXT and END for every ply."""
    positions = np.zeros(MAX_DEPTH + 1, dtype=POSITION).view(np.recarray)
    return positions, np.zeros((MAX_DEPTH + 1, MAX_MOVES + 2), dtype=np.uint16)


@kernel
def perft(positions: np.ndarray, moves: np.ndarray, depth: int, stop: np.ndarray) -> int:
    """Leaves `depth` plies below positions[0], the last ply counted in bulk.

    `stop` is uint8 [1]; another thread may set it, then the result is STOPPED. The walk keeps its
    own stack, as kernels do not recurse.
    """
    if depth == 0:
        return 1
    if depth == 1:
        return count_legal(positions[0])
    moves[0, NEXT] = 0
    moves[0, END] = generate(positions[0], moves[0])
    nodes, level, last = 0, 0, depth - 2
    while level >= 0:
        move = moves[level, NEXT]
        if move == moves[level, END]:
            level -= 1
            continue
        play(positions[level], positions[level + 1], moves[level, move])
        moves[level, NEXT] = move + 1
        if level == last:
            nodes += count_legal(positions[level + 1])
            continue
        level += 1
        moves[level, NEXT] = 0
        moves[level, END] = generate(positions[level], moves[level])
        if atomic_load(stop, 0):
            return STOPPED
    return nodes


# --- moves that are meant -------------------------------------------------------------------------


@kernel
def move_between(
    before: np.record, after: np.record, moves: np.ndarray, scratch: np.ndarray
) -> int:
    """The legal move that leads from one position to the other, or NO_MOVE.

    `moves` is uint16 [MAX_MOVES], `scratch` POSITION [1].
    """
    for index in range(generate(before, moves)):
        play(before, scratch[0], moves[index])
        if scratch[0].key == after.key and scratch[0].own == after.own:
            return signed(moves[index])
    return NO_MOVE


@kernel
def reconstruct(
    positions: np.ndarray,
    games: np.ndarray,
    moves: np.ndarray,
    scratch: np.ndarray,
    played: np.ndarray,
) -> None:
    """Write to played (uint16 [N]) the move from each position (POSITION [N]) to the next.

    NO_MOVE where no legal move leads there or the next is of another game (uint64 [N]).
    """
    last = positions.shape[0] - 1
    for row in range(last + 1):
        played[row] = NO_MOVE
        if row < last and games[row] == games[row + 1]:
            played[row] = move_between(positions[row], positions[row + 1], moves, scratch)


@kernel
def recognise(
    positions: np.ndarray, written: np.ndarray, moves: np.ndarray, recognised: np.ndarray
) -> None:
    """Write to recognised (uint16 [N]) the legal moves that squares and promotions mean.

    NO_MOVE stands where there is none.

    `written` is uint16 [N]: origin, destination << 6 in White's view, promotion << 12 (0, or
    PROMOTION + piece); castling is king takes rook, or the king's two steps. 0 is no move.
    """
    for row in range(positions.shape[0]):
        recognised[row] = NO_MOVE
        if written[row] != 0:
            recognised[row] = _legal(positions[row], written[row], moves)


@kernel
def _legal(position: np.record, written: int, moves: np.ndarray) -> int:
    view = FLIP * signed(position.side)
    origin, destination = origin_of(written) ^ view, destination_of(written) ^ view
    castling = NO_MOVE
    for index in range(generate(position, moves)):
        move = signed(moves[index])
        if origin_of(move) != origin:
            continue
        kind = kind_of(move)
        promotion = kind if kind >= PROMOTION else 0
        if destination_of(move) == destination and promotion == kind_of(written):
            return move
        if (
            kind == CASTLING
            and origin == 4
            and abs(destination - origin) == 2
            and (destination > origin) == (destination_of(move) > origin)
        ):
            castling = move
    return castling


@kernel
def follow(
    positions: np.ndarray, written: np.ndarray, moves: np.ndarray, played: np.ndarray
) -> int:
    """Play written moves (see `recognise`; uint16 [N]) from positions[0] on; POSITION [N + 1].

    Writes the moves as kernels see them to played (uint16 [N]) and the positions; returns how many
    moves could be played before one that is not legal.
    """
    for row in range(written.shape[0]):
        played[row] = _legal(positions[row], written[row], moves)
        if played[row] == NO_MOVE:
            return row
        play(positions[row], positions[row + 1], played[row])
    return len(written)


# Castling in the parts of SAN (see `follow_san`).
KING_SIDE, QUEEN_SIDE = 1 << 20, 2 << 20


@kernel
def _fits(position: np.record, san: int, move: int) -> bool:
    """Whether a legal move has the parts of SAN."""
    origin, destination, kind = origin_of(move), destination_of(move), kind_of(move)
    if kind == CASTLING or san >= KING_SIDE:
        return kind == CASTLING and san == (KING_SIDE if destination > origin else QUEEN_SIDE)
    view = FLIP * signed(position.side)
    file, rank = signed(san >> 9) & 15, signed(san >> 13) & 15
    return (
        destination ^ view == san & 63
        and piece_on(position, origin) == san >> 6 & 7
        and (file == 0 or file == (origin & 7) + 1)
        and (rank == 0 or rank == ((origin ^ view) >> 3) + 1)
        and san >> 17 == (kind if kind >= PROMOTION else 0)
    )


@kernel
def follow_san(
    positions: np.ndarray, sans: np.ndarray, moves: np.ndarray, played: np.ndarray
) -> int:
    """Play moves told by parts of SAN (int32 [N]) from positions[0] on, as `follow` does.

    The parts are: destination, piece << 6, 1 + file of origin << 9, rank of origin << 13 (from 1),
    both 0 if not told, promotion << 17 as in `recognise`; or KING_SIDE, QUEEN_SIDE. A move that is
    ambiguous is not played.
    """
    for row in range(sans.shape[0]):
        played[row] = NO_MOVE
        for index in range(generate(positions[row], moves)):
            if _fits(positions[row], sans[row], moves[index]):
                if played[row] != NO_MOVE:
                    return row
                played[row] = moves[index]
        if played[row] == NO_MOVE:
            return row
        play(positions[row], positions[row + 1], played[row])
    return len(sans)
