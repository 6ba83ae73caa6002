"""Playing a move: from one record into another, then the board turns round to the other side."""

from __future__ import annotations

import numpy as np

from kibitz.kernel.bits import bit, flip, lowest, signed, without_lowest
from kibitz.kernel.compile import kernel
from kibitz.position.attacks import pawn_attacks_down
from kibitz.position.moves import (
    CASTLING,
    DOUBLE_PUSH,
    EN_PASSANT,
    PROMOTION,
    destination_of,
    en_passant_is_legal,
    kind_of,
    origin_of,
)
from kibitz.position.squares import FLIP, KING, KNIGHT, NO_SQUARE, PAWN, RANK_1, ROOK
from kibitz.position.state import (
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
    here = bit(square)
    target.pawns ^= here
    if piece == KNIGHT:
        target.knights |= here
    elif piece == KNIGHT + 1:
        target.bishops |= here
    elif piece == ROOK:
        target.rooks |= here
    else:
        target.queens |= here
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


@kernel
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
def play_null(source: np.record, target: np.record) -> None:
    """Pass the move: the board turns round, the clock goes on, en passant is lost."""
    copy_position(source, target)
    target.rule50 = source.rule50 + 1
    target.ply = source.ply + 1
    target.en_passant = NO_SQUARE
    target.key = source.key ^ side_key() ^ en_passant_key(signed(source.en_passant))
    _turn(target)
