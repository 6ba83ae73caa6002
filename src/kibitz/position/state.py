"""The position record: what a kernel knows about a position, 88 bytes, seen from the side to move.

All boards are flipped vertically when Black is to move, so one's own pawns always move up, one's
own king starts on rank 1, and every kernel is written once. Castling rights are the squares of the
rooks that may still castle, which makes Chess960 the ordinary case.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.compile import kernel
from kibitz.position.attacks import (
    bishop_attacks,
    king_attacks,
    knight_attacks,
    rook_attacks,
)
from kibitz.position.bits import bit, lowest, pawn_attacks_down, pawn_attacks_up
from kibitz.position.squares import BISHOP, EMPTY, KING, KNIGHT, PAWN, QUEEN, ROOK

POSITION = np.dtype(
    [
        ("pawns", np.uint64),  # both sides; `own` and `their` tell whose
        ("knights", np.uint64),
        ("bishops", np.uint64),
        ("rooks", np.uint64),
        ("queens", np.uint64),
        ("kings", np.uint64),
        ("own", np.uint64),  # pieces of the side to move
        ("their", np.uint64),  # pieces of the other side
        ("castling", np.uint64),  # rooks that may still castle: own on rank 1, theirs on rank 8
        ("key", np.uint64),  # Zobrist key, see keys.py
        ("rule50", np.uint16),  # plies since the last capture or pawn move
        (
            "ply",
            np.uint16,
        ),  # plies since the start of move 1: 2 * (move number - 1) + Black to move
        ("en_passant", np.uint8),  # square an own pawn may legally capture on, or NO_SQUARE
        ("side", np.uint8),  # 0 White to move, 1 Black to move
    ],
    align=True,
)

# Items of an array of this dtype have fields as attributes, which plain Python needs. (A recarray
# has them too, but takes twice as long to index and to pass to a kernel.)
RECORDS = np.dtype((np.record, POSITION))


def new_positions(count: int) -> np.ndarray:
    """Zeroed positions, POSITION [count], usable alike by kernels and by plain Python."""
    return np.zeros(count, dtype=RECORDS)


@kernel
def copy_position(source: np.record, target: np.record) -> None:
    """Copy every field."""
    target.pawns = source.pawns
    target.knights = source.knights
    target.bishops = source.bishops
    target.rooks = source.rooks
    target.queens = source.queens
    target.kings = source.kings
    target.own = source.own
    target.their = source.their
    target.castling = source.castling
    target.key = source.key
    target.rule50 = source.rule50
    target.ply = source.ply
    target.en_passant = source.en_passant
    target.side = source.side


@kernel
def piece_on(position: np.record, square: int) -> int:
    """Piece type (PAWN ... KING) on a square, either side's; -1 if it is empty."""
    here = bit(square)
    if not (position.own | position.their) & here:
        return -1
    if position.pawns & here:
        return PAWN
    if position.knights & here:
        return KNIGHT
    if position.bishops & here:
        return BISHOP
    if position.rooks & here:
        return ROOK
    return QUEEN if position.queens & here else KING


@kernel
def attackers(position: np.record, square: int, occupied: np.uint64) -> np.uint64:
    """Pieces of both sides that attack `square`, with sliders seeing through all but `occupied`."""
    here = bit(square)
    straight = rook_attacks(square, occupied) & (position.rooks | position.queens)
    diagonal = bishop_attacks(square, occupied) & (position.bishops | position.queens)
    leapers = knight_attacks(square) & position.knights | king_attacks(square) & position.kings
    pawns = pawn_attacks_down(here) & position.own | pawn_attacks_up(here) & position.their
    return straight | diagonal | leapers | pawns & position.pawns


@kernel
def own_king(position: np.record) -> int:
    """Square of the king of the side to move."""
    return lowest(position.kings & position.own)


@kernel
def checkers(position: np.record) -> np.uint64:
    """Pieces that give check to the side to move."""
    occupied = position.own | position.their
    return attackers(position, own_king(position), occupied) & position.their


@kernel
def gives_away_king(position: np.record) -> bool:
    """Whether the side to move could capture the king: the position is illegal."""
    occupied = position.own | position.their
    theirs = lowest(position.kings & position.their)
    return (attackers(position, theirs, occupied) & position.own) != EMPTY
