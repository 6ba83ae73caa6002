"""The position record: what a kernel knows about a position, 88 bytes, seen from the side to move.

All boards are flipped vertically when Black is to move, so one's own pawns always move up, one's
own king starts on rank 1, and every kernel is written once. Castling rights are the squares of the
rooks that may still castle, which makes Chess960 the ordinary case.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import bit, lowest, signed, without_lowest
from kibitz.jit.compile import kernel, static_table
from kibitz.position.attacks import (
    EMPTY,
    FLIP,
    NO_SQUARE,
    ONE,
    TWO,
    bishop_attacks,
    king_attacks,
    knight_attacks,
    pawn_attacks_down,
    pawn_attacks_up,
    rook_attacks,
)

# --- the record -----------------------------------------------------------------------------------

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
        ("key", np.uint64),  # Zobrist key, see compute_key
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
    """Piece type (PAWN ... KING) on a square, either side's; -1 if it is empty.

    Put together from its binary digits, as no branch could foresee it.
    """
    place = np.uint64(square)
    ones = (position.knights | position.rooks | position.kings) >> place & ONE
    twos = (position.bishops | position.rooks) >> place & ONE
    fours = (position.queens | position.kings) >> place & ONE
    empty = ~(position.own | position.their) >> place & ONE
    return signed(ones | twos << ONE | fours << TWO) - signed(empty)


@kernel
def attackers(position: np.record, square: int, occupied: np.uint64) -> np.uint64:
    """Pieces of both sides that attack `square`, with sliders seeing through all but `occupied`."""
    target = bit(square)
    straight = rook_attacks(square, occupied) & (position.rooks | position.queens)
    diagonal = bishop_attacks(square, occupied) & (position.bishops | position.queens)
    leapers = knight_attacks(square) & position.knights | king_attacks(square) & position.kings
    pawns = pawn_attacks_down(target) & position.own | pawn_attacks_up(target) & position.their
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


# --- Zobrist keys ---------------------------------------------------------------------------------

# One random word per piece and square, castling rook, en passant file and side. Positions that
# offer the same moves have the same key: the en passant file counts only when a capture there is
# legal, and castling rights count by the rook's square.
SEED = 0x6B69_6269_747A_2121
CASTLING_AT = 2 * 6 * 64
EN_PASSANT_AT = CASTLING_AT + 64
SIDE_AT = EN_PASSANT_AT + 8

ZOBRIST_KEYS = np.random.Generator(np.random.PCG64(SEED)).integers(
    0, 2**64, size=SIDE_AT + 1, dtype=np.uint64
)
word = static_table("zobrist", ZOBRIST_KEYS)


@kernel
def piece_key(colour: int, piece: int, square: int) -> np.uint64:
    """Word of a piece; colour 0 White, 1 Black; `square` as White sees it."""
    return word((colour * 6 + piece) * 64 + square)


@kernel
def castling_key(rooks: np.uint64, flip: int) -> np.uint64:
    """Words of the rooks that may castle; `flip` is 0 or FLIP, to White's view."""
    key = EMPTY
    while rooks:
        key ^= word(CASTLING_AT + (lowest(rooks) ^ flip))
        rooks = without_lowest(rooks)
    return key


@kernel
def en_passant_key(square: int) -> np.uint64:
    """Word of the file on which an en passant capture is legal, 0 for NO_SQUARE."""
    if square == NO_SQUARE:
        return EMPTY
    return word(EN_PASSANT_AT + (square & 7))


@kernel
def side_key() -> np.uint64:
    """Word that every change of the side to move toggles."""
    return word(SIDE_AT)


@kernel
def _pieces_key(pieces: np.uint64, colour: int, piece: int, flip: int) -> np.uint64:
    key = EMPTY
    while pieces:
        key ^= piece_key(colour, piece, lowest(pieces) ^ flip)
        pieces = without_lowest(pieces)
    return key


@kernel
def _side_pieces_key(position: np.record, mask: np.uint64, colour: int, flip: int) -> np.uint64:
    key = _pieces_key(position.pawns & mask, colour, 0, flip)
    key ^= _pieces_key(position.knights & mask, colour, 1, flip)
    key ^= _pieces_key(position.bishops & mask, colour, 2, flip)
    key ^= _pieces_key(position.rooks & mask, colour, 3, flip)
    key ^= _pieces_key(position.queens & mask, colour, 4, flip)
    return key ^ _pieces_key(position.kings & mask, colour, 5, flip)


@kernel
def compute_key(position: np.record) -> np.uint64:
    """The key from scratch; `play` keeps it up to date move by move."""
    side = signed(position.side)
    flip = FLIP * side
    key = _side_pieces_key(position, position.own, side, flip)
    key ^= _side_pieces_key(position, position.their, 1 - side, flip)
    key ^= castling_key(position.castling, flip)
    key ^= en_passant_key(signed(position.en_passant))
    if side:
        key ^= side_key()
    return key
