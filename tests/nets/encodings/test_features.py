"""Sparse features against python-chess, and what they cannot tell apart."""

from __future__ import annotations

from typing import Any

import chess
import numpy as np
import pytest

from kibitz.nets.encodings.features import (
    MAX_ACTIVE,
    OWN,
    PLAIN,
    TACTICS,
    THEIR,
    THREAT_FEATURES,
    THREATS,
    batch_features,
    exchange_colours,
    mirror_mask,
)
from kibitz.position.fen import START, parse_fen
from kibitz.position.state import new_positions


def features_of(position: Any, detail: int, perspective: int) -> list[int]:
    positions, out = new_positions(1), np.zeros((2, MAX_ACTIVE), dtype=np.uint16)
    positions[0] = position
    count = batch_features(positions, detail, out, np.zeros(2, dtype=np.int64))
    return sorted(out[perspective, :count].tolist())


def oracle(board: chess.Board, detail: int, perspective: int) -> list[int]:
    colour = board.turn if perspective == OWN else not board.turn
    king = board.king(colour)
    assert king is not None
    view = (0 if colour else 56) ^ (7 if chess.square_file(king) > 3 else 0)
    found = []
    for square, piece in board.piece_map().items():
        index = 64 * (piece.piece_type - 1 + 6 * (piece.color != colour)) + (square ^ view)
        if detail == THREATS:
            index += 768 * board.is_attacked_by(not piece.color, square)
            index += 2 * 768 * board.is_attacked_by(piece.color, square)
        found.append(index)
    return sorted(found)


@pytest.mark.parametrize("detail", [PLAIN, THREATS])
@pytest.mark.parametrize("perspective", [OWN, THEIR])
def test_features_are_the_oracles(detail: int, perspective: int, games: Any) -> None:
    for game in games:
        for ply in range(0, len(game.boards), 7):
            found = features_of(game.positions[ply], detail, perspective)
            assert found == oracle(game.boards[ply], detail, perspective)


def test_features_of_the_start_by_hand() -> None:
    # The king on e1 stands on d1 after mirroring: 5 * 64 + 3; own pawns on the second rank.
    found = features_of(parse_fen(START), PLAIN, OWN)
    assert found[:8] == [8, 9, 10, 11, 12, 13, 14, 15]
    assert 5 * 64 + 3 in found
    assert 11 * 64 + 59 in found
    assert found == features_of(parse_fen(START), PLAIN, THEIR)
    # All pawns are defended; the rooks' corners are not.
    threats = features_of(parse_fen(START), THREATS, OWN)
    assert set(range(1536 + 8, 1536 + 16)) <= set(threats)
    assert {3 * 64, 3 * 64 + 7} <= set(threats)


def test_a_mirrored_position_has_the_same_features(games: Any) -> None:
    for game in games:
        board = game.boards[-1].copy(stack=False)
        board.castling_rights = 0  # features do not tell, and castling has no mirror image
        position = parse_fen(board.fen())
        image = parse_fen(board.transform(chess.flip_horizontal).fen())
        for perspective in (OWN, THEIR):
            assert mirror_mask(position, perspective) ^ mirror_mask(image, perspective) == 7
            for detail in (THREATS, TACTICS):
                found = features_of(image, detail, perspective)
                assert features_of(position, detail, perspective) == found


def test_exchanged_colours_have_the_same_features(games: Any) -> None:
    image = new_positions(1)[0]
    for game in games:
        position = game.positions[-1]
        exchange_colours(position, image)
        for detail in (THREATS, TACTICS):
            assert features_of(position, detail, OWN) == features_of(image, detail, OWN)


@pytest.mark.parametrize("dtype", [np.int32, np.uint16])
@pytest.mark.parametrize("detail", [PLAIN, THREATS, TACTICS])
def test_batches_are_the_positions_one_by_one(dtype: Any, detail: int, games: Any) -> None:
    positions = np.concatenate([game.positions[-3:] for game in games])
    indices = np.zeros((2, MAX_ACTIVE * len(positions)), dtype=dtype)
    offsets = np.zeros(len(positions) + 1, dtype=np.int64)
    total = batch_features(positions, detail, indices, offsets)
    assert total == offsets[-1]
    assert indices.max() < THREAT_FEATURES
    for row, position in enumerate(positions):
        for perspective in (OWN, THEIR):
            found = indices[perspective, offsets[row] : offsets[row + 1]].tolist()
            assert sorted(found) == features_of(position, detail, perspective)
