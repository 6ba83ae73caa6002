"""Squares and piece types; attacks of every piece, and the squares between two squares."""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import bit, deposit, extract, flip, signed
from kibitz.jit.compile import HAS_PEXT, kernel, static_table

PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
NO_SQUARE = 64  # "no en passant square"
FLIP = 56  # square ^ FLIP mirrors the board between White's and Black's view

EMPTY = np.uint64(0)
ONE = np.uint64(1)
ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
FILE_A = np.uint64(0x0101_0101_0101_0101)
NOT_FILE_A = np.uint64(0xFEFE_FEFE_FEFE_FEFE)
NOT_FILE_H = np.uint64(0x7F7F_7F7F_7F7F_7F7F)
NOT_FILES_AB = np.uint64(0xFCFC_FCFC_FCFC_FCFC)
NOT_FILES_GH = np.uint64(0x3F3F_3F3F_3F3F_3F3F)
RANK_1 = np.uint64(0xFF)
RANK_3 = np.uint64(0xFF_0000)
RANK_8 = np.uint64(0xFF00_0000_0000_0000)
LIGHT_SQUARES = np.uint64(0x55AA_55AA_55AA_55AA)


def square_name(square: int) -> str:
    """`square_name(0) == "a1"`."""
    return "abcdefgh"[square & 7] + "12345678"[square >> 3]


def parse_square(text: str) -> int:
    """Inverse of `square_name`; raises ValueError for anything else."""
    if len(text) != 2 or text[0] not in "abcdefgh" or text[1] not in "12345678":
        raise ValueError(f"not a square: {text!r}")
    return "abcdefgh".index(text[0]) + 8 * "12345678".index(text[1])


# --- attacks --------------------------------------------------------------------------------------
#
# Attacks of every piece, and the squares between two squares.
#
# Sliding pieces look their attacks up in a table indexed by the blockers on their lines, packed
# with PEXT. 16 bits are enough for an entry, which PDEP lays out over the lines again: 210 KiB, a
# quarter of what whole boards take, which leaves room in the cache for a network. Processors
# without BMI2 compute attacks from the blockers by subtraction ("hyperbola quintessence"), which
# costs perft about a tenth.


TWO = np.uint64(2)
SIX = np.uint64(6)
SEVEN = np.uint64(7)
EIGHT = np.uint64(8)
NINE = np.uint64(9)
TEN = np.uint64(10)
FIFTEEN = np.uint64(15)
SEVENTEEN = np.uint64(17)


@kernel
def mirror(board: np.uint64) -> np.uint64:
    """Mirror a board horizontally (the a-file and the h-file change places)."""
    ones, twos, fours = (
        np.uint64(0x5555_5555_5555_5555),
        np.uint64(0x3333_3333_3333_3333),
        np.uint64(0x0F0F_0F0F_0F0F_0F0F),
    )
    board = ((board >> ONE) & ones) | ((board & ones) << ONE)
    board = ((board >> TWO) & twos) | ((board & twos) << TWO)
    return ((board >> np.uint64(4)) & fours) | ((board & fours) << np.uint64(4))


@kernel
def pawn_attacks_up(pawns: np.uint64) -> np.uint64:
    """Squares attacked by pawns that move up the board."""
    return ((pawns & NOT_FILE_A) << SEVEN) | ((pawns & NOT_FILE_H) << NINE)


@kernel
def pawn_attacks_down(pawns: np.uint64) -> np.uint64:
    """Squares attacked by pawns that move down the board."""
    return ((pawns & NOT_FILE_H) >> SEVEN) | ((pawns & NOT_FILE_A) >> NINE)


@kernel
def knight_spread(knights: np.uint64) -> np.uint64:
    """Squares attacked by any of the knights."""
    one_left, one_right = knights & NOT_FILE_A, knights & NOT_FILE_H
    two_left, two_right = knights & NOT_FILES_AB, knights & NOT_FILES_GH
    up = (one_left << FIFTEEN) | (one_right << SEVENTEEN) | (two_left << SIX) | (two_right << TEN)
    down = (one_left >> SEVENTEEN) | (one_right >> FIFTEEN) | (two_left >> TEN) | (two_right >> SIX)
    return up | down


@kernel
def king_spread(kings: np.uint64) -> np.uint64:
    """Squares next to any of the kings."""
    row = kings | ((kings & NOT_FILE_A) >> ONE) | ((kings & NOT_FILE_H) << ONE)
    return (row | (row << EIGHT) | (row >> EIGHT)) & ~kings


# --- the table, filled once with NumPy operations -----------------------

# In words of 64 bits: knight and king attacks by square, diagonals, what leads to the attacks of
# rooks and bishops (where the processor packs bits), and squares between two squares. In 16 bits:
# every slider's attacks, packed, for every set of blockers on its lines.
KNIGHT_AT, KING_AT = 0, 64
RISING_AT, FALLING_AT = 128, 192
ROOK_AT, BISHOP_AT = 256, 256 + 3 * 64
BETWEEN_AT = BISHOP_AT + 3 * 64

Boards = np.ndarray  # uint64, any shape
NONE = np.zeros((), dtype=np.uint64)
SQUARES = np.uint64(1) << np.arange(64, dtype=np.uint64)  # uint64 [64], one bit each
ROOK_STEPS = (8, -8, 1, -1)
BISHOP_STEPS = (9, -9, 7, -7)
EASTWARD, WESTWARD = (1, 9, -7), (-1, 7, -9)


def shift(boards: Boards, step: int) -> Boards:
    """Every piece one step on, in units of squares; those that would leave the board vanish."""
    if step in EASTWARD:
        boards = boards & NOT_FILE_H
    elif step in WESTWARD:
        boards = boards & NOT_FILE_A
    amount = np.uint64(abs(step))
    return boards << amount if step > 0 else boards >> amount


def slide(origins: Boards, blockers: Boards, steps: tuple[int, ...]) -> Boards:
    """Squares seen from `origins` in the given directions, blockers included, flooding outwards."""
    seen = np.zeros(np.broadcast(origins, blockers).shape, dtype=np.uint64)
    for step in steps:
        front = np.broadcast_to(origins, seen.shape)
        for _ in range(7):
            front = shift(front, step)
            seen |= front
            front = front & ~blockers
    return seen


def _leaps(steps: tuple[tuple[int, ...], ...]) -> Boards:
    """Union of the squares reached by each chain of steps from every square; uint64 [64]."""
    reached = np.zeros(64, dtype=np.uint64)
    for chain in steps:
        boards = SQUARES
        for step in chain:
            boards = shift(boards, step)
        reached |= boards
    return reached


def _between() -> Boards:
    """Squares strictly between two squares on a line; uint64 [64 * 64]."""
    first, second = SQUARES[:, None], SQUARES[None, :]
    inside = np.zeros((64, 64), dtype=np.uint64)
    for steps in (ROOK_STEPS, BISHOP_STEPS):
        aligned = (slide(first, NONE, steps) & second) != 0
        inside |= np.where(aligned, slide(first, second, steps) & slide(second, first, steps), 0)
    return inside.ravel()


def relevant(steps: tuple[int, ...]) -> Boards:
    """Per square, the squares whose occupation changes the attacks: lines without their ends."""
    masks = np.zeros(64, dtype=np.uint64)
    for step in steps:
        line = slide(SQUARES, NONE, (step,))
        masks |= line & shift(line, -step)
    return masks


def _slider(steps: tuple[int, ...], start: int, inside: Boards) -> tuple[Boards, np.ndarray]:
    """One slider: masks, places in the table from `start` on, and lines; and its part of that."""
    masks, lines = relevant(steps), slide(SQUARES, NONE, steps)
    parts = [_seen(*pair) for pair in zip(masks, lines, inside.reshape(64, 64), strict=True)]
    counts = [len(part) for part in parts]
    offsets = np.cumsum([start, *counts[:-1]], dtype=np.uint64)
    return np.concatenate((masks, offsets, lines)), np.concatenate(parts)


def _seen(mask: np.uint64, line: np.uint64, inside: Boards) -> np.ndarray:
    """What is seen of the lines from one square, packed, for every set of blockers in the mask.

    Blockers come in the order of their squares, and hide what is behind them, so each doubles the
    entries so far; uint16.
    """
    ahead = inside[(SQUARES & line) != 0]  # of each square of the lines, what is before it
    seen = np.array([(1 << len(ahead)) - 1], dtype=np.uint16)
    places = np.uint16(1) << np.arange(len(ahead), dtype=np.uint16)
    for blocker in SQUARES[(SQUARES & mask) != 0]:
        hidden = places[(ahead & blocker) != 0].sum(dtype=np.uint16)
        seen = np.concatenate((seen, seen & ~hidden))
    return seen


def attack_tables(with_sliders: bool) -> tuple[Boards, np.ndarray]:
    """The tables of words, uint64 [BETWEEN_AT + 64 * 64], and of sliders, uint16 [107 648 or 0]."""
    table = np.zeros(BETWEEN_AT + 64 * 64, dtype=np.uint64)
    jumps = ((8, 8, 1), (8, 8, -1), (-8, -8, 1), (-8, -8, -1))
    table[KNIGHT_AT : KNIGHT_AT + 64] = _leaps((*jumps, (1, 9), (1, -7), (-1, 7), (-1, -9)))
    table[KING_AT : KING_AT + 64] = _leaps(tuple((s,) for s in ROOK_STEPS + BISHOP_STEPS))
    table[RISING_AT : RISING_AT + 64] = slide(SQUARES, NONE, (9, -9))
    table[FALLING_AT : FALLING_AT + 64] = slide(SQUARES, NONE, (7, -7))
    table[BETWEEN_AT:] = _between()
    if not with_sliders:
        return table, np.zeros(0, dtype=np.uint16)
    inside = table[BETWEEN_AT:]
    table[ROOK_AT:BISHOP_AT], rooks = _slider(ROOK_STEPS, 0, inside)
    table[BISHOP_AT:BETWEEN_AT], bishops = _slider(BISHOP_STEPS, len(rooks), inside)
    return table, np.concatenate((rooks, bishops))


# --- attacks of each piece ------------------------------------------------------------------------

ATTACKS, SLIDERS = attack_tables(with_sliders=HAS_PEXT)
table, seen_by = static_table("attacks", ATTACKS), static_table("sliders", SLIDERS)


@kernel
def _slider_attacks(at: int, occupied: np.uint64) -> np.uint64:
    """Attacks of a slider whose mask is word `at` of the table, its offset and lines 64 further."""
    place = extract(occupied, table(at)) + table(at + 64)
    return deposit(np.uint64(seen_by(signed(place))), table(at + 128))


@kernel
def _line_attacks(square: int, occupied: np.uint64, line: np.uint64) -> np.uint64:
    """Attacks along one line not parallel to the ranks: o ^ (o - 2r), from both ends."""
    own = bit(square)
    blockers = occupied & line
    forward = np.uint64(blockers - own)
    backward = flip(np.uint64(flip(blockers) - flip(own)))
    return (forward ^ backward) & line


@kernel
def _rank_attacks(square: int, occupied: np.uint64) -> np.uint64:
    own = bit(square)
    line = (RANK_1 << np.uint64(square & 56)) & ~own
    blockers = occupied & line
    forward = np.uint64(blockers - own)
    backward = mirror(flip(np.uint64(mirror(flip(blockers)) - mirror(flip(own)))))
    return (forward ^ backward) & line


@kernel
def rook_by_subtraction(square: int, occupied: np.uint64) -> np.uint64:
    """Rook attacks without the big table."""
    column = (FILE_A << np.uint64(square & 7)) & ~bit(square)
    return _line_attacks(square, occupied, column) | _rank_attacks(square, occupied)


@kernel
def bishop_by_subtraction(square: int, occupied: np.uint64) -> np.uint64:
    """Bishop attacks without the big table."""
    rising = _line_attacks(square, occupied, table(RISING_AT + square))
    return rising | _line_attacks(square, occupied, table(FALLING_AT + square))


@kernel
def rook_attacks(square: int, occupied: np.uint64) -> np.uint64:
    """Squares a rook on `square` attacks."""
    if HAS_PEXT:
        return _slider_attacks(ROOK_AT + square, occupied)
    return rook_by_subtraction(square, occupied)


@kernel
def bishop_attacks(square: int, occupied: np.uint64) -> np.uint64:
    """Squares a bishop on `square` attacks."""
    if HAS_PEXT:
        return _slider_attacks(BISHOP_AT + square, occupied)
    return bishop_by_subtraction(square, occupied)


@kernel
def knight_attacks(square: int) -> np.uint64:
    """Squares a knight on `square` attacks."""
    return table(KNIGHT_AT + square)


@kernel
def king_attacks(square: int) -> np.uint64:
    """Squares a king on `square` attacks."""
    return table(KING_AT + square)


@kernel
def between(first: int, second: int) -> np.uint64:
    """Squares strictly between two squares of one line; empty if they share none."""
    return table(BETWEEN_AT + 64 * first + second)
