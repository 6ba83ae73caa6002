"""Policy indices of legal moves, in five orders.

Three orders have 73 planes of 64 from-squares, index = 64 * plane + from: 56 queen moves (direction
and distance), 8 knight moves, 9 under-promotions. The others count pairs of squares. All squares
are in the network's view; docs/encodings.md lists every index.

Squares of the index are in the view of the network's encoding (features.py). Castling is the king's
capture of its own rook in ChessCoach's order and in Leela's. In the others it is a move of two
squares where the king stands on e1 and the rook in the corner, and the capture of the rook
everywhere else (Chess960). Either way no other legal move has these squares: a king cannot go to
its own rook's square, nor two squares far.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel, static_table
from kibitz.nets.encodings.features import view_mask
from kibitz.nets.encodings.leaves import Leaves
from kibitz.position.moves import CASTLING, PROMOTION, kind_of

# --- the table of indices -------------------------------------------------------------------------

CHESSCOACH, DLCHESS, BATCHFIRST, TABLE1858, LEELA1858 = range(5)

PAIRS = 64 * 64
# Ordinary move or queen promotion; promotion to knight, bishop, rook. In Leela's order: ordinary
# move or knight promotion; promotion to bishop, rook, queen.
SECTIONS = 4
NO_INDEX = 0xFFFF
PLANES = 73
TABLE_POLICY = 1858
KNIGHT_PLANE, UNDER_PROMOTION_PLANE = 56, 64

Step = tuple[int, int]  # files to the right, ranks up

# Queen directions and knight jumps of each order, in the order of their planes.
N, S, E, W, NE, NW, SE, SW = (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)
DIRECTIONS: Mapping[int, tuple[Step, ...]] = {
    CHESSCOACH: (N, NE, E, SE, S, SW, W, NW),
    DLCHESS: (N, S, NE, SW, NW, SE, E, W),
    BATCHFIRST: (N, S, E, W, NE, SE, NW, SW),
}
CLOCKWISE = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
JUMPS: Mapping[int, tuple[Step, ...]] = {
    CHESSCOACH: CLOCKWISE,
    DLCHESS: CLOCKWISE,
    BATCHFIRST: ((1, 2), (1, -2), (-1, 2), (-1, -2), (2, 1), (2, -1), (-2, 1), (-2, -1)),
}


def planes_of_steps(order: int) -> dict[Step, int]:
    """Plane of every queen and knight step of an order."""
    planes = {}
    for number, (right, up) in enumerate(DIRECTIONS[order]):
        for distance in range(1, 8):
            planes[right * distance, up * distance] = 7 * number + distance - 1
    for number, step in enumerate(JUMPS[order]):
        planes[step] = KNIGHT_PLANE + number
    if order == DLCHESS:
        # DLChess tells directions by the difference of square numbers, divided by 8, 9, 7 in turn:
        # the whole first rank to the right (+7) is to it one step NW, to the left one step SE.
        planes[7, 0], planes[-7, 0] = planes[NW], planes[SE]
    return planes


def under_promotion_plane(order: int, piece: int, step: Step) -> int:
    """Plane of a promotion; piece 0 knight, 1 bishop, 2 rook; pawns may move up or down."""
    right, up = step
    if order == CHESSCOACH:  # by piece, then NW, N, NE
        return UNDER_PROMOTION_PLANE + 3 * piece + right + 1
    if order == BATCHFIRST:  # NW, N, NE, then by piece
        return UNDER_PROMOTION_PLANE + 3 * (right + 1) + piece
    axis = {0: 0, 1: 1, -1: 2}[right * up]  # N or S; NE or SW; NW or SE
    return UNDER_PROMOTION_PLANE + 3 * axis + piece


def _steps() -> list[tuple[int, int, Step]]:
    """All (from, to, step) of queens and knights, by from-square, then by to-square."""
    reach = planes_of_steps(CHESSCOACH)
    pairs = [(a, b, ((b & 7) - (a & 7), (b >> 3) - (a >> 3))) for a in range(64) for b in range(64)]
    return [pair for pair in pairs if pair[2] in reach]


def _is_promotion(origin: int, step: Step, upwards_only: bool) -> bool:
    """Whether a pawn on `origin` promotes by that step."""
    if abs(step[0]) > 1:
        return False
    up, down = origin >> 3 == 6 and step[1] == 1, origin >> 3 == 1 and step[1] == -1
    return up or (down and not upwards_only)


def _plane_sections(order: int) -> np.ndarray:
    """Indices of one of the three orders of planes; uint16 [SECTIONS, PAIRS]."""
    table = np.full((SECTIONS, PAIRS), NO_INDEX, dtype=np.uint16)
    planes = planes_of_steps(order)
    for origin, target, step in _steps():
        place = origin | target << 6
        table[0, place] = 64 * planes[step] + origin
        if _is_promotion(origin, step, upwards_only=False):
            for piece in range(3):
                plane = under_promotion_plane(order, piece, step)
                table[1 + piece, place] = 64 * plane + origin
    return table


def _table_sections(pieces: tuple[int, int, int] = (0, 1, 2)) -> np.ndarray:
    """Indices of a table of pairs; uint16 [SECTIONS, PAIRS].

    `pieces` are the promotions of a pair in the order of their indices, as sections less 1.
    """
    table = np.full((SECTIONS, PAIRS), NO_INDEX, dtype=np.uint16)
    steps = _steps()
    for index, (origin, target, _) in enumerate(steps):
        table[0, origin | target << 6] = index
    index = len(steps)
    for origin, target, step in steps:
        if _is_promotion(origin, step, upwards_only=True):
            for piece in pieces:
                table[1 + piece, origin | target << 6] = index
                index += 1
    return table


def policy_table() -> np.ndarray:
    """Indices by order, section and from | to << 6; uint16 [4 * SECTIONS * PAIRS]."""
    orders = [_plane_sections(order) for order in (CHESSCOACH, DLCHESS, BATCHFIRST)]
    leela = _table_sections((2, 1, 0))  # queen, rook, bishop
    return np.concatenate([*orders, _table_sections(), leela]).ravel()


def leela_planes() -> np.ndarray:
    """Of 80 planes of moves, plane * 64 + from, the place of each index of Leela; int64 [1858].

    The planes are ChessCoach's, but promotions are by direction, then rook, bishop, queen.
    """
    table, places = _table_sections((2, 1, 0)), np.zeros(TABLE_POLICY, dtype=np.int64)
    planes = planes_of_steps(CHESSCOACH)
    for origin, target, step in _steps():
        places[table[0, origin | target << 6]] = 64 * planes[step] + origin
        if _is_promotion(origin, step, upwards_only=True):
            for at, piece in enumerate((1, 0, 2)):
                plane = UNDER_PROMOTION_PLANE + 3 * (step[0] + 1) + at
                places[table[1 + piece, origin | target << 6]] = 64 * plane + origin
    return places


# --- indices of moves -----------------------------------------------------------------------------

QUEEN_PROMOTION = PROMOTION + 3
SQUARES = PAIRS - 1  # the bits of a move that hold its two squares
E1, A1, H1 = 4, 0, 7
TO_C1 = E1 | 2 << 6
TO_G1 = E1 | 6 << 6

index_at = static_table("policy", policy_table())


@kernel
def castling_squares(move: int) -> int:
    """Two squares of the king where it is at home and so is the rook, else king and rook."""
    squares = move & SQUARES
    if squares == E1 | H1 << 6:
        return TO_G1
    if squares == E1 | A1 << 6:
        return TO_C1
    return squares


@kernel
def move_index(order: int, mask: int, move: int) -> int:
    """Policy index of a legal move in the view of `mask` (see view_mask)."""
    move = signed(move)
    kind = kind_of(move)
    squares = move & SQUARES
    section = 0
    if kind >= PROMOTION and order == LEELA1858:
        section = kind - PROMOTION
    elif kind >= PROMOTION:
        section = kind - PROMOTION + 1 if kind < QUEEN_PROMOTION else 0
    elif kind == CASTLING and order != CHESSCOACH and order != LEELA1858:
        squares = castling_squares(move)
    squares ^= mask | mask << 6
    return signed(index_at((order * SECTIONS + section) * PAIRS + squares))


@kernel
def put_policy_indices(order: int, view: int, leaves: Leaves, out: np.ndarray) -> None:
    """Fill out, int32 [M], as flat as leaves.moves."""
    for row in range(leaves.known.shape[0]):
        mask = view_mask(leaves.positions[row, 0], view)
        for at in range(leaves.offsets[row], leaves.offsets[row + 1]):
            out[at] = move_index(order, mask, leaves.moves[at])
