"""Features of moves: what a move does at once, as two numbers beside its policy index.

A network with the encoding tactic3072 has a row of weights for every move and for every feature; a
move's logit is the sum of three. So what it learns of captures that win a rook, or of checks that
threaten the queen, holds on all squares.

    exchange feature   piece, what it takes, what the exchange on its new square wins or loses, what
                       it would have lost where it was
    threat feature     piece, check, pieces it threatens, squares around the king it reaches,
                       whether it will be lost, whether it helps a loose piece

Castling has a number of its own in both. Exchanges are those of position/exchange.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.jit.bits import bit, lowest, signed, without_lowest
from kibitz.jit.compile import inlined_kernel, kernel
from kibitz.nets.encodings import (
    CHECKS,
    EXCHANGE_FEATURES,
    GAINS,
    HELPS,
    LOSSES,
    LOST,
    MOVE_FEATURES,
    REACHES,
    TAKEN,
    THREATS,
)
from kibitz.nets.encodings.features import TACTICS, PieceStates, piece_states
from kibitz.nets.encodings.leaves import Leaves
from kibitz.position.attacks import (
    BISHOP,
    EMPTY,
    KING,
    KNIGHT,
    ONE,
    PAWN,
    ROOK,
    bishop_attacks,
    king_attacks,
    knight_attacks,
    pawn_attacks_up,
    rook_attacks,
)
from kibitz.position.exchange import VALUES, exchange_value, taking_value
from kibitz.position.moves import (
    CASTLING,
    EN_PASSANT,
    PROMOTION,
    destination_of,
    kind_of,
    origin_of,
)
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
    blockers = EMPTY
    straight, diagonal = rook_attacks(king, occupied), bishop_attacks(king, occupied)
    through = rook_attacks(king, occupied & ~(straight & position.own)) & ~straight
    sliders = through & position.own & (position.rooks | position.queens)
    while sliders:
        blockers |= rook_attacks(lowest(sliders), occupied) & straight
        sliders = without_lowest(sliders)
    through = bishop_attacks(king, occupied & ~(diagonal & position.own)) & ~diagonal
    sliders = through & position.own & (position.bishops | position.queens)
    while sliders:
        blockers |= bishop_attacks(lowest(sliders), occupied) & diagonal
        sliders = without_lowest(sliders)
    return blockers & position.own


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


class Surroundings(NamedTuple):
    """What the features of every move of a position depend on; sets of squares are uint64."""

    occupied: np.uint64
    attacked: np.uint64  # by the other side
    undefended: np.uint64  # pieces of the other side that it does not defend
    targets: np.uint64  # pieces of the other side but for the king
    loose: np.uint64  # own pieces that lose material where they stand
    hunters: np.uint64  # pieces of the other side that attack them
    king: np.uint64  # of the other side
    ring: np.uint64  # the squares around it
    screens: np.uint64  # own pieces that give check by moving out of the way


@kernel
def surroundings_of(position: np.record, states: PieceStates) -> Surroundings:
    """Work out what all moves of a position have in common."""
    by_their = states.by_their
    occupied = position.own | position.their
    loose = states.first & states.second & position.own
    king = lowest(position.kings & position.their)
    return Surroundings(
        occupied,
        by_their,
        position.their & ~by_their,
        position.their & ~position.kings,
        loose,
        hunters_of(position, loose, occupied),
        bit(king),
        king_attacks(king),
        discoverers(position, king, occupied),
    )


@inlined_kernel
def gain_of(position: np.record, around: Surroundings, move: int, taken: int, after: int) -> int:
    """Centipawns a move wins or loses by exchange; `after` is the piece on the new square."""
    origin, square, kind = origin_of(move), destination_of(move), kind_of(move)
    if (
        bit(square) & around.attacked
        or kind == EN_PASSANT
        or (bit(origin) & around.attacked and is_bared(position, origin, square, around.occupied))
    ):
        return exchange_value(position, move)
    gain = VALUES[taken] if taken >= 0 else 0
    if kind >= PROMOTION:
        gain += VALUES[after] - VALUES[PAWN]
    return gain


@inlined_kernel
def exchange_feature(piece: int, taken: int, gain: int, on_attacked: bool, loss: int) -> int:
    """Number of the exchange feature, 0 to EXCHANGE_FEATURES - 2."""
    gained = gain_class(gain)
    if gained == EVEN_FOR_ALL and on_attacked:
        gained = EVEN_AFTER_EXCHANGE
    return ((piece * TAKEN + taken + 1) * GAINS + gained) * LOSSES + loss


@inlined_kernel
def threat_feature(
    position: np.record, around: Surroundings, move: int, piece: int, after: int, loses: bool
) -> int:
    """Number of the threat feature, EXCHANGE_FEATURES to MOVE_FEATURES - 2."""
    own_bit, square = bit(origin_of(move)), destination_of(move)
    there = bit(square)
    reach = reached_from(after, square, around.occupied & ~own_bit)
    check = 1 if reach & around.king else 2 if own_bit & around.screens else 0
    worthy = around.undefended | dearer_pieces(position, after)
    threats = up_to_two(reach & worthy & around.targets & ~there)
    near_king = up_to_two(reach & around.ring)
    helps = 2 if there & around.hunters else 1 if reach & around.loose & ~own_bit else 0
    number = ((piece * CHECKS + check) * THREATS + threats) * REACHES + near_king
    return EXCHANGE_FEATURES + (number * LOST + (1 if loses else 0)) * HELPS + helps


@kernel
def put_move_features(
    position: np.record,
    states: PieceStates,
    moves: np.ndarray,
    count: int,
    exchanges: np.ndarray,
    threats: np.ndarray,
) -> None:
    """Write the two features of the first `count` legal moves, uint16 [n], to integer arrays [n].

    The states are those of TACTICS.
    """
    around = surroundings_of(position, states)
    origin, piece, loss = -1, -1, 0
    for index in range(count):
        move = signed(moves[index])
        kind, there = kind_of(move), bit(destination_of(move))
        if kind == CASTLING:
            exchanges[index], threats[index] = EXCHANGE_FEATURES - 1, MOVE_FEATURES - 1
            continue
        if origin_of(move) != origin:  # moves of a piece mostly come one after the other
            origin, loss = origin_of(move), 0
            piece = piece_on(position, origin)
            if bit(origin) & around.loose:
                loss = loss_class(taking_value(position, origin, False))
        taken = piece_on(position, destination_of(move)) if there & position.their else -1
        if kind == EN_PASSANT:
            taken = PAWN
        after = kind - PROMOTION + KNIGHT if kind >= PROMOTION else piece
        gain = gain_of(position, around, move, taken, after)
        on_attacked = (there & around.attacked) != EMPTY
        exchanges[index] = exchange_feature(piece, taken, gain, on_attacked, loss)
        threats[index] = threat_feature(position, around, move, piece, after, gain < 0)


@kernel
def _put_batch(leaves: Leaves, exchanges: np.ndarray, threats: np.ndarray) -> None:
    for row in range(leaves.known.shape[0]):
        first, end = leaves.offsets[row], leaves.offsets[row + 1]
        position, moves = leaves.positions[row, 0], leaves.moves[first:end]
        states = piece_states(position, TACTICS)
        count = signed(end - first)
        put_move_features(position, states, moves, count, exchanges[first:end], threats[first:end])


def batch_move_features(leaves: Leaves) -> np.ndarray:
    """Return the features of all legal moves, int32 [2, M]: exchange features, threat features."""
    features = np.empty((2, int(leaves.offsets[-1])), dtype=np.int32)
    _put_batch(leaves, features[0], features[1])
    return features
