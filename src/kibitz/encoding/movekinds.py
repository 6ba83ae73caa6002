"""What a move does at once, as two kinds; position, legal moves -> **kinds** -> the policy.

A network with the encoding tactic3072 has a row of weights for every move, for every deed and for
every effect; a move's logit is the sum of three. So what it learns of captures that win a rook, or
of checks that threaten the queen, holds on all squares.

    deed     piece, what it takes, what the exchange on its new square wins or loses, what it would
             have lost where it stood
    effect   piece, check, pieces it threatens, squares around the king it reaches, whether it will
             be lost, whether it helps a loose piece

Castling is a kind of its own in both. Exchanges are those of position/exchange.py.
"""

from __future__ import annotations

import numpy as np

from kibitz.encoding.kinds import (
    CHECKS,
    DEEDS,
    GAINS,
    HELPS,
    KINDS,
    LOSSES,
    LOST,
    REACHES,
    TAKEN,
    THREATS,
)
from kibitz.encoding.leaves import Leaves
from kibitz.kernel.bits import bit, lowest, signed, without_lowest
from kibitz.kernel.compile import kernel
from kibitz.position.attacks import bishop_attacks, king_attacks, knight_attacks, rook_attacks
from kibitz.position.exchange import (
    MAX_CAPTURES,
    VALUES,
    exchange_value,
    loose_pieces,
    taking_value,
    threat_maps,
)
from kibitz.position.moves import (
    CASTLING,
    EN_PASSANT,
    PROMOTION,
    destination_of,
    kind_of,
    origin_of,
)
from kibitz.position.spreads import pawn_attacks_up
from kibitz.position.squares import BISHOP, EMPTY, KING, KNIGHT, ONE, PAWN, ROOK
from kibitz.position.state import attackers, piece_on

EVEN_FOR_ALL, EVEN_AFTER_EXCHANGE = 4, 9  # classes of gain for nothing won or lost


@kernel
def gain_class(gain: int) -> int:
    """Class of what a move wins by exchange, in centipawns; EVEN_FOR_ALL for nothing."""
    if gain < 0:
        return 0 if gain <= -700 else 1 if gain <= -400 else 2 if gain <= -250 else 3
    if gain == 0:
        return EVEN_FOR_ALL
    return 5 if gain <= 150 else 6 if gain <= 400 else 7 if gain <= 600 else 8


@kernel
def loss_class(loss: int) -> int:
    """Class of what is lost by leaving a piece where it is, in centipawns."""
    return 0 if loss <= 0 else 1 if loss <= 150 else 2 if loss <= 400 else 3


@kernel
def up_to_two(board: np.uint64) -> int:
    """How many squares a board has, two for more."""
    if not board:
        return 0
    return 2 if board & (board - ONE) else 1


@kernel
def discoverers(position: np.record, king: int, occupied: np.uint64) -> np.uint64:
    """Pieces of the side to move that alone stand between one of its sliders and a king."""
    found = EMPTY
    straight, diagonal = rook_attacks(king, occupied), bishop_attacks(king, occupied)
    through = rook_attacks(king, occupied & ~(straight & position.own)) & ~straight
    sliders = through & position.own & (position.rooks | position.queens)
    while sliders:
        found |= rook_attacks(lowest(sliders), occupied) & straight
        sliders = without_lowest(sliders)
    through = bishop_attacks(king, occupied & ~(diagonal & position.own)) & ~diagonal
    sliders = through & position.own & (position.bishops | position.queens)
    while sliders:
        found |= bishop_attacks(lowest(sliders), occupied) & diagonal
        sliders = without_lowest(sliders)
    return found & position.own


@kernel
def reached_from(piece: int, square: int, occupied: np.uint64) -> np.uint64:
    """Squares that a piece of the side to move attacks from a square."""
    if piece == PAWN:
        return pawn_attacks_up(bit(square))
    if piece == KNIGHT:
        return knight_attacks(square)
    if piece == KING:
        return king_attacks(square)
    reach = EMPTY
    if piece != ROOK:
        reach |= bishop_attacks(square, occupied)
    if piece != BISHOP:
        reach |= rook_attacks(square, occupied)
    return reach


@kernel
def is_bared(position: np.record, origin: int, square: int, occupied: np.uint64) -> bool:
    """Whether a slider of the other side reaches a square once a piece has left another."""
    after = occupied & ~bit(origin)
    straight = rook_attacks(square, after) & (position.rooks | position.queens)
    diagonal = bishop_attacks(square, after) & (position.bishops | position.queens)
    return ((straight | diagonal) & position.their) != EMPTY


@kernel
def hunters_of(position: np.record, loose: np.uint64, occupied: np.uint64) -> np.uint64:
    """Pieces of the other side that attack any of ours that are loose."""
    hunters = EMPTY
    while loose:
        hunters |= attackers(position, lowest(loose), occupied) & position.their
        loose = without_lowest(loose)
    return hunters


@kernel
def dearer_pieces(position: np.record, piece: int) -> np.uint64:
    """Pieces on the board that are worth more than one of a type; bishop and knight are equals."""
    if piece == PAWN:
        return ~position.pawns
    if piece in (KNIGHT, BISHOP):
        return position.rooks | position.queens
    return position.queens if piece == ROOK else EMPTY


@kernel
def put_kinds(
    position: np.record,
    moves: np.ndarray,
    count: int,
    gains: np.ndarray,
    deeds: np.ndarray,
    effects: np.ndarray,
) -> None:
    """Write the kinds of the first `count` legal moves, uint16 [n], to two arrays of integers.

    Deeds are from 0 to DEEDS - 1, effects from DEEDS to KINDS - 1. `gains` is scratch, int64
    [MAX_CAPTURES].
    """
    by_own, by_their = threat_maps(position)
    occupied = position.own | position.their
    loose = loose_pieces(position, by_own, by_their, gains) & position.own
    hunters = hunters_of(position, loose, occupied)
    king = lowest(position.kings & position.their)
    ring = king_attacks(king)
    revealing = discoverers(position, king, occupied)
    free = position.their & ~by_their
    others = position.their & ~position.kings
    origin, piece, loss = -1, -1, 0
    for index in range(count):
        move = signed(moves[index])
        square, kind = destination_of(move), kind_of(move)
        if kind == CASTLING:
            deeds[index], effects[index] = DEEDS - 1, KINDS - 1
            continue
        if origin_of(move) != origin:  # moves of a piece mostly come one after the other
            origin, loss = origin_of(move), 0
            piece = piece_on(position, origin)
            if bit(origin) & loose:
                loss = loss_class(taking_value(position, origin, False, gains))
        here, there = bit(origin), bit(square)
        taken = piece_on(position, square) if there & position.their else -1
        if kind == EN_PASSANT:
            taken = PAWN
        standing = kind - PROMOTION + KNIGHT if kind >= PROMOTION else piece
        gain = VALUES[taken] if taken >= 0 else 0
        if kind >= PROMOTION:
            gain += VALUES[standing] - VALUES[PAWN]
        if (
            there & by_their
            or kind == EN_PASSANT
            or (here & by_their and is_bared(position, origin, square, occupied))
        ):
            gain = exchange_value(position, move, gains)
        gained = gain_class(gain)
        if gained == EVEN_FOR_ALL and there & by_their:
            gained = EVEN_AFTER_EXCHANGE
        deeds[index] = ((piece * TAKEN + taken + 1) * GAINS + gained) * LOSSES + loss
        reach = reached_from(standing, square, occupied & ~here)
        worthy = free | dearer_pieces(position, standing)
        check = 1 if reach & bit(king) else 0
        if here & revealing and not reach & bit(king):
            check = 2
        threats = up_to_two(reach & worthy & others & ~there)
        near = up_to_two(reach & ring)
        helps = 2 if there & hunters else 1 if reach & loose & ~here else 0
        effect = ((piece * CHECKS + check) * THREATS + threats) * REACHES + near
        effects[index] = DEEDS + (effect * LOST + (1 if gain < 0 else 0)) * HELPS + helps


@kernel
def _put_batch(leaves: Leaves, gains: np.ndarray, deeds: np.ndarray, effects: np.ndarray) -> None:
    for row in range(leaves.known.shape[0]):
        first, end = leaves.offsets[row], leaves.offsets[row + 1]
        put_kinds(
            leaves.positions[row, 0],
            leaves.moves[first:end],
            signed(end - first),
            gains,
            deeds[first:end],
            effects[first:end],
        )


def batch_kinds(leaves: Leaves) -> np.ndarray:
    """Return the kinds of all legal moves, int32 [2, M]: deeds and effects, in their order."""
    kinds = np.empty((2, int(leaves.offsets[-1])), dtype=np.int32)
    gains = np.zeros(MAX_CAPTURES, dtype=np.int64)
    _put_batch(leaves, gains, kinds[0], kinds[1])
    return kinds
