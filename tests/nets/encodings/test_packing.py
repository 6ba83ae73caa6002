"""Packed positions come back as they were, in 18 words and in 32 bytes."""

from __future__ import annotations

from typing import Any

import chess
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from kibitz.nets.encodings.leaves import leaves_of
from kibitz.nets.encodings.planes import PACKED_WORDS, encode_words, pack_batch, unpack_batch
from kibitz.position.fen import START, parse_fen
from kibitz.position.packed import PACKED, new_packed, pack_positions, unpack_positions
from kibitz.position.state import new_positions


def through_words(positions: np.ndarray, repetitions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    words = np.zeros((len(positions), PACKED_WORDS), dtype=np.uint64)
    pack_batch(positions, repetitions, words)
    back, counted = new_positions(len(positions)), np.zeros_like(repetitions)
    unpack_batch(words, back, counted)
    return back, counted


def through_bytes(positions: np.ndarray, repetitions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    packed = new_packed(len(positions))
    pack_positions(positions, repetitions, packed)
    back, counted = new_positions(len(positions)), np.zeros_like(repetitions)
    unpack_positions(packed, back, counted)
    return back, counted


@pytest.mark.parametrize("through", [through_words, through_bytes])
def test_positions_of_games_come_back(through: Any, games: Any) -> None:
    positions = np.concatenate([game.positions for game in games])
    repetitions = (np.arange(len(positions)) % 7).astype(np.uint8)
    back, counted = through(positions, repetitions)
    assert np.array_equal(back, positions)
    assert np.array_equal(counted, repetitions)
    assert (positions["castling"] != 0).any()
    assert (positions["en_passant"] < 64).any()


@pytest.mark.slow
@pytest.mark.parametrize("through", [through_words, through_bytes])
def test_positions_of_many_games_come_back(through: Any, many_positions: Any) -> None:
    positions = np.concatenate(many_positions)
    back, _ = through(positions, np.zeros(len(positions), dtype=np.uint8))
    assert np.array_equal(back, positions)


@given(
    number=some.integers(0, 959),
    rooks=some.sets(some.integers(0, 3)),
    clock=some.integers(0, 65_535),
    ply=some.integers(0, 65_535),
    repetitions=some.integers(0, 255),
    black=some.booleans(),
)
def test_rights_and_clocks_come_back(
    number: int, rooks: set[int], clock: int, ply: int, repetitions: int, black: bool
) -> None:
    board = chess.Board.from_chess960_pos(number)
    board.turn = not black
    corners = sorted(chess.SquareSet(board.rooks))
    board.castling_rights = sum(1 << corners[rook] for rook in rooks)
    positions = new_positions(1)
    positions[0] = parse_fen(board.fen())
    positions[0].rule50, positions[0].ply = clock, ply
    for through in (through_words, through_bytes):
        back, counted = through(positions, np.array([repetitions], dtype=np.uint8))
        assert np.array_equal(back, positions)
        assert counted[0] == repetitions


def test_sizes() -> None:
    assert PACKED_WORDS * 8 == 144
    assert PACKED.itemsize == 32


def test_bytes_by_hand() -> None:
    positions = new_positions(1)
    positions[0] = parse_fen(START)
    packed = new_packed(1)
    pack_positions(positions, np.array([2], dtype=np.uint8), packed)
    stored = packed.tobytes()
    assert stored[:8] == bytes([255, 255, 0, 0, 0, 0, 255, 255])
    # a1 b1, c1 d1, e1 f1, g1 h1: castling rook 6, knight 1, bishop 2, queen 4, king 5
    assert stored[8:12] == bytes([0x16, 0x42, 0x25, 0x61])
    assert stored[12:16] == bytes(4)
    assert stored[16:20] == bytes([0x88] * 4)
    assert stored[20:24] == bytes([0x9E, 0xCA, 0xAD, 0xE9])
    assert stored[24:32] == bytes([0, 0, 0, 0, 64, 0, 2, 0])


def test_words_hold_what_the_history_planes_need(games: Any) -> None:
    """The planes of the leaf from its 18 words, as a GPU would make them."""
    leaves = leaves_of([game.positions for game in games])
    words = np.zeros((len(games), PACKED_WORDS), dtype=np.uint64)
    pack_batch(leaves.positions[:, 0], leaves.repetitions[:, 0], words)
    planes = np.zeros((len(games), 109), dtype=np.uint64)
    encode_words("history109", leaves, planes)
    full = np.uint64(2**64 - 1)
    assert np.array_equal(words[:, :13], planes[:, 91:104])
    assert np.array_equal(np.where(words[:, 13:17] != 0, full, 0), planes[:, 104:108])
    assert np.array_equal(words[:, 17] & np.uint64(0xFFFF), planes[:, 108])
