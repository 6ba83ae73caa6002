"""Features of moves, and loose pieces, against plain definitions on python-chess boards."""

from __future__ import annotations

from typing import Any

import chess
import numpy as np

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
    THREAT_FEATURES,
    THREATS,
)
from kibitz.nets.encodings.features import MAX_ACTIVE, TACTICS, batch_features
from kibitz.nets.encodings.leaves import leaves_of
from kibitz.nets.encodings.move_features import batch_move_features
from kibitz.position.exchange import taking_value
from kibitz.position.fen import parse_fen
from kibitz.position.moves import CASTLING, PROMOTION

WORTH = {1: 100, 2: 300, 3: 300, 4: 500, 5: 900, 6: 20_000}


def won_by_taking(board: chess.Board, square: int, side: bool, standing: int, there: int) -> int:
    """What a side wins by taking a piece of some worth; `there` are the squares not yet empty."""
    hitting = list(chess.scan_forward(int(board.attackers_mask(side, square, there)) & there))
    if not hitting:
        return 0
    cheapest = min(hitting, key=lambda other: (WORTH[board.piece_type_at(other) or 0], other))
    piece = board.piece_type_at(cheapest) or 0
    if piece == chess.KING and int(board.attackers_mask(not side, square, there)) & there:
        return 0
    after = there & ~chess.BB_SQUARES[cheapest]
    return max(0, standing - won_by_taking(board, square, not side, WORTH[piece], after))


def loose(board: chess.Board, square: int) -> int:
    """What the other side wins by taking the piece here, whoever's turn it is."""
    piece = board.piece_at(square)
    assert piece is not None
    worth = WORTH[piece.piece_type]
    return won_by_taking(board, square, not piece.color, worth, int(board.occupied))


def gain(board: chess.Board, move: chess.Move) -> int:
    there = int(board.occupied) & ~chess.BB_SQUARES[move.from_square]
    taken = board.piece_type_at(move.to_square)
    if board.is_en_passant(move):
        taken = chess.PAWN
        there &= ~chess.BB_SQUARES[move.to_square + (-8 if board.turn else 8)]
    standing = WORTH[move.promotion or board.piece_type_at(move.from_square) or 0]
    won = (WORTH[taken] if taken else 0) + (standing - 100 if move.promotion else 0)
    return won - won_by_taking(board, move.to_square, not board.turn, standing, there)


def exchange_feature(board: chess.Board, move: chess.Move) -> int:
    us, origin, square = board.turn, move.from_square, move.to_square
    piece = board.piece_type_at(origin) or 0
    taken = chess.PAWN if board.is_en_passant(move) else board.piece_type_at(square) or 0
    won = gain(board, move)
    bounds = [-700, -400, -250, -1, 0, 150, 400, 600]
    gained = sum(won > bound for bound in bounds)
    if won == 0 and board.is_attacked_by(not us, square):
        gained = GAINS - 1
    lost = loose(board, origin) if piece != chess.KING else 0
    loss = sum(lost > bound for bound in (0, 150, 400))
    return (((piece - 1) * TAKEN + taken) * GAINS + gained) * LOSSES + loss


def threat_feature(board: chess.Board, move: chess.Move) -> int:
    us, origin, square = board.turn, move.from_square, move.to_square
    piece = board.piece_type_at(origin) or 0
    standing = move.promotion or piece
    king = board.king(not us)
    assert king is not None
    lifted = board.copy(stack=False)
    lifted.remove_piece_at(origin)
    revealed = len(lifted.attackers(us, king)) > len(board.attackers(us, king) - {origin})
    lifted.set_piece_at(square, chess.Piece(standing, us))
    reach = lifted.attacks(square)
    check = 1 if king in reach else 2 if revealed else 0
    dearer = {1: {2, 3, 4, 5}, 2: {4, 5}, 3: {4, 5}, 4: {5}, 5: set(), 6: set()}[standing]
    threatened = [
        other
        for other in reach & board.occupied_co[not us]
        if other not in (square, king)
        and (board.piece_type_at(other) in dearer or not board.is_attacked_by(not us, other))
    ]
    ring = chess.SquareSet(chess.BB_KING_ATTACKS[king])
    ours = [
        other
        for other in chess.SquareSet(board.occupied_co[us])
        if board.piece_type_at(other) != chess.KING and loose(board, other) > 0
    ]
    hunters = {hunter for other in ours for hunter in board.attackers(not us, other)}
    helps = 2 if square in hunters else 1 if set(ours) & set(reach) - {origin} else 0
    found = ((piece - 1) * CHECKS + check) * THREATS + min(2, len(threatened))
    found = found * REACHES + min(2, len(reach & ring))
    return EXCHANGE_FEATURES + (found * LOST + (gain(board, move) < 0)) * HELPS + helps


def assert_features_are_the_oracles(position: Any, board: chess.Board) -> None:
    leaves = leaves_of([np.array([position])], 1)
    features = batch_move_features(leaves)
    flip = 0 if board.turn else 56
    for index, code in enumerate(leaves.moves[: int(leaves.offsets[1])].tolist()):
        origin, square, kind = code & 63 ^ flip, code >> 6 & 63 ^ flip, code >> 12
        if kind == CASTLING:
            assert features[:, index].tolist() == [EXCHANGE_FEATURES - 1, MOVE_FEATURES - 1]
            continue
        promotion = kind - PROMOTION + chess.KNIGHT if kind >= PROMOTION else None
        move = chess.Move(origin, square, promotion)
        assert board.is_legal(move)
        assert features[0, index] == exchange_feature(board, move), (board.fen(), move)
        assert features[1, index] == threat_feature(board, move), (board.fen(), move)


def test_features_are_the_oracles(games: Any) -> None:
    for game in games:
        for ply in range(0, len(game.boards), 9):
            if game.boards[ply].legal_moves:
                assert_features_are_the_oracles(game.positions[ply], game.boards[ply])


def test_features_of_promotions_en_passant_and_discoveries() -> None:
    for fen in (
        "r3k2r/pP3ppp/8/3pP3/8/8/PPP2PPP/R3K2R w KQkq d6 0 9",
        "3rk3/2P5/8/8/4N3/8/4R3/4K3 w - - 0 1",
        "4k3/8/8/8/1b6/2p5/3p4/K3B3 b - - 0 1",
        "k7/2b5/8/4P3/8/8/7B/K7 b - - 0 1",
    ):
        assert_features_are_the_oracles(parse_fen(fen), chess.Board(fen))


def test_loose_pieces_have_features_of_their_own(games: Any) -> None:
    out, offsets = np.zeros((1, MAX_ACTIVE), dtype=np.int32), np.zeros(2, dtype=np.int64)
    seen = 0
    for game in games:
        board, position = game.boards[-1], game.positions[-1]
        count = batch_features(np.asarray(position).reshape(1), TACTICS, out, offsets)
        states = sorted(out[0, :count] // 768)
        expected = []
        for square, piece in board.piece_map().items():
            attacked = board.is_attacked_by(not piece.color, square)
            defended = board.is_attacked_by(piece.color, square)
            taken = piece.piece_type != chess.KING and loose(board, square) > 0
            expected.append(attacked + 2 * (taken if attacked else defended))
            seen += attacked and taken
            view = square if board.turn else square ^ 56
            ours = piece.color != board.turn
            if piece.piece_type != chess.KING:
                assert taking_value(position, view, ours) == loose(board, square)
        assert states == sorted(expected)
    assert seen > 0


def test_there_are_as_many_features_as_the_parts_say() -> None:
    assert EXCHANGE_FEATURES == 6 * TAKEN * GAINS * LOSSES + 1 == 1441
    assert THREAT_FEATURES == 6 * CHECKS * THREATS * REACHES * LOST * HELPS + 1 == 973
    assert MOVE_FEATURES == EXCHANGE_FEATURES + THREAT_FEATURES
