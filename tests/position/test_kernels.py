"""Boards of 64 bits: every operation against plain arithmetic, and the types kernels return."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import chess
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.jit import bits
from kibitz.jit.compile import COMPILED, kernel
from kibitz.position import attacks
from kibitz.position import attacks as spreads
from kibitz.position.attacks import attack_tables
from kibitz.position.fen import START, parse_fen
from kibitz.position.moves import encode_move
from kibitz.position.notation import legal_codes
from kibitz.position.outcome import (
    count_occurrences,
    insufficient_material,
    previous_occurrence,
    search_repetition,
)
from kibitz.position.packed import first_wrong, new_packed, pack_positions
from kibitz.position.play import play
from kibitz.position.state import attackers, checkers, new_positions, piece_on

boards = st.integers(0, 2**64 - 1)
squares = st.integers(0, 63)
WRAPS = np.uint64(1), np.uint64(1 << 63), np.uint64(2**64 - 1), np.uint64(0)


@kernel
def compiled_popcount(board: np.uint64) -> int:
    return bits.popcount(board)


@kernel
def compiled_lowest(board: np.uint64) -> int:
    return bits.lowest(board)


@kernel
def compiled_flip(board: np.uint64) -> np.uint64:
    return bits.flip(board)


@kernel
def compiled_signed(board: np.uint64) -> int:
    return bits.signed(board) >> 1


def board_of(wanted: Callable[[int], bool]) -> int:
    return sum(1 << square for square in range(64) if wanted(square))


@given(boards)
def test_instructions(board: int) -> None:
    word = np.uint64(board)
    assert int(compiled_popcount(word)) == board.bit_count()
    assert int(compiled_flip(word)) == int.from_bytes(board.to_bytes(8, "little"), "big")
    assert int(spreads.mirror(word)) == board_of(lambda square: bool(board >> (square ^ 7) & 1))
    if board:
        assert int(compiled_lowest(word)) == (board & -board).bit_length() - 1
        assert int(bits.without_lowest(word)) == board & (board - 1)


def test_signed_shifts_like_a_signed_number() -> None:
    assert int(compiled_signed(np.uint64(7))) == 3


@given(boards)
def test_spreads(board: int) -> None:
    word = np.uint64(board)
    origins = [square for square in range(64) if board >> square & 1]
    expected: dict[Callable[[Any], Any], list[int]] = {
        spreads.knight_spread: [chess.BB_KNIGHT_ATTACKS[square] for square in origins],
        spreads.pawn_attacks_up: [chess.BB_PAWN_ATTACKS[chess.WHITE][square] for square in origins],
        spreads.pawn_attacks_down: [
            chess.BB_PAWN_ATTACKS[chess.BLACK][square] for square in origins
        ],
    }
    for spread, parts in expected.items():
        assert int(spread(word)) == int(
            np.bitwise_or.reduce(np.array([0, *parts], dtype=np.uint64))
        )
    kings = [chess.BB_KING_ATTACKS[square] for square in origins]
    reached = int(np.bitwise_or.reduce(np.array([0, *kings], dtype=np.uint64)))
    assert int(spreads.king_spread(word)) == reached & ~board


@given(squares, boards)
def test_sliders_against_subtraction_and_python_chess(square: int, occupied: int) -> None:
    word = np.uint64(occupied)
    rook = (
        chess.BB_RANK_ATTACKS[square][chess.BB_RANK_MASKS[square] & occupied]
        | chess.BB_FILE_ATTACKS[square][chess.BB_FILE_MASKS[square] & occupied]
    )
    bishop = chess.BB_DIAG_ATTACKS[square][chess.BB_DIAG_MASKS[square] & occupied]
    assert int(attacks.rook_attacks(square, word)) == rook
    assert int(attacks.rook_by_subtraction(square, word)) == rook
    assert int(attacks.bishop_attacks(square, word)) == bishop
    assert int(attacks.bishop_by_subtraction(square, word)) == bishop


@given(squares, squares)
def test_leapers_and_lines(square: int, other: int) -> None:
    assert int(attacks.knight_attacks(square)) == chess.BB_KNIGHT_ATTACKS[square]
    assert int(attacks.king_attacks(square)) == chess.BB_KING_ATTACKS[square]
    assert int(attacks.between(square, other)) == chess.between(square, other)


def test_both_tables_agree() -> None:
    (small, none), (large, sliders) = attack_tables(False), attack_tables(True)
    same = [*range(attacks.ROOK_AT), *range(attacks.BETWEEN_AT, len(small))]
    assert np.array_equal(small[same], large[same])
    assert (len(none), len(sliders)) == (0, 107_648)


UINT64_MODULES = {
    "jit.bits": {"bit", "mixed", "without_lowest"},
    "position.attacks": {"mirror", "knight_spread", "king_spread"}
    | {"pawn_attacks_up", "pawn_attacks_down"}
    | {
        "rook_by_subtraction",
        "bishop_by_subtraction",
        "rook_attacks",
        "bishop_attacks",
    }
    | {"knight_attacks", "king_attacks", "between"},
}
ARGUMENTS = {"square": 9, "first": 1, "second": 57}


@pytest.mark.parametrize(
    ("module", "name"), [(m, name) for m, names in UINT64_MODULES.items() for name in sorted(names)]
)
def test_boards_stay_unsigned(module: str, name: str) -> None:
    function = getattr(importlib.import_module(f"kibitz.{module}"), name)
    plain = getattr(function, "py_func", function)
    names = inspect.signature(plain).parameters
    for word in WRAPS:
        found = function(*(ARGUMENTS.get(parameter, word) for parameter in names))
        assert 0 <= int(found) < 2**64
    if COMPILED:
        returned = {str(signature.return_type) for signature in function.nopython_signatures}
        assert returned == {"uint64"}
    else:
        assert isinstance(found, np.uint64)


def test_every_kernel_of_bits_and_attacks_is_looked_at() -> None:
    for name, listed in UINT64_MODULES.items():
        module = importlib.import_module(f"kibitz.{name}")
        public = {
            function
            for function, value in vars(module).items()
            if not function.startswith("_")
            and getattr(getattr(value, "py_func", value), "__module__", "") == module.__name__
            and inspect.signature(getattr(value, "py_func", value)).return_annotation == "np.uint64"
        }
        plain_oracles = {"flip", "extract", "deposit"}
        assert public - plain_oracles == listed


def test_pieces_and_attackers_of_a_position() -> None:
    position = parse_fen("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1")
    reference = chess.Board("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1")
    for square in chess.SQUARES:
        piece = reference.piece_type_at(square)
        assert int(piece_on(position, square)) == (-1 if piece is None else piece - 1)
        found = int(attackers(position, square, position.own | position.their))
        expected = reference.attackers_mask(True, square) | reference.attackers_mask(False, square)
        assert found == expected


# --- repetitions as a search sees them ----------------------------------------------------------


def words(*keys: int) -> np.ndarray:
    return np.array(keys, dtype=np.uint64)


def test_occurrences_reach_back_to_the_last_capture_only() -> None:
    keys = words(7, 1, 2, 3, 7, 4, 5, 6)
    seven = np.uint64(7)
    assert int(previous_occurrence(keys, 8, 8, seven)) == 4
    assert int(count_occurrences(keys, 8, 8, seven)) == 2
    assert int(count_occurrences(keys, 8, 7, seven)) == 1
    assert int(count_occurrences(keys, 8, 3, seven)) == 0
    assert int(previous_occurrence(keys, 8, 3, seven)) == 0
    assert int(previous_occurrence(keys, 7, 7, seven)) == 0  # at odd distances the other side moves


@pytest.mark.parametrize(
    ("plies_from_root", "drawn"),
    [
        (3, False),  # the root lies between: a first repetition of the game proves nothing
        (4, False),  # the root itself is repeated
        (5, True),  # strictly after the root one repetition is enough
    ],
)
def test_a_search_counts_twofold_strictly_after_its_root(plies_from_root: int, drawn: bool) -> None:
    keys = words(1, 2, 9, 3, 4, 5)
    assert bool(search_repetition(keys, 6, 6, np.uint64(9), plies_from_root)) == drawn


def test_a_search_counts_threefold_anywhere() -> None:
    keys = words(9, 2, 3, 4, 9, 3, 4, 5)
    assert bool(search_repetition(keys, 8, 8, np.uint64(9), 1))
    assert not bool(search_repetition(keys, 8, 7, np.uint64(9), 1))


def test_a_constructed_line_repeats_where_it_should() -> None:
    positions = new_positions(6)
    positions[0] = parse_fen(START)
    for ply, (origin, target) in enumerate([(6, 21), (6, 21), (21, 6), (21, 6)]):
        move = encode_move(origin, target, 0)
        assert move in legal_codes(positions[ply])
        play(positions[ply], positions[ply + 1], int(move))
    keys = positions["key"].copy()
    assert keys[4] == keys[0]
    assert not bool(search_repetition(keys, 4, 4, keys[4], 4))
    assert bool(search_repetition(keys, 4, 4, keys[4], 5))
    assert not bool(insufficient_material(positions[4]))
    assert int(checkers(positions[4])) == 0


def test_codes_of_no_piece_are_no_position() -> None:
    positions, packed = new_positions(1), new_packed(1)
    positions[0] = parse_fen(START)
    pack_positions(positions, np.zeros(1, np.uint8), packed)
    assert first_wrong(packed, positions[0]) == -1
    king = 4  # the fifth of the pieces, in order of their squares
    assert int(packed["low"][0]) >> 4 * king & 0xF == 5
    packed["low"][0] |= np.uint64(0b111 << 4 * king)
    assert first_wrong(packed, positions[0]) == 0
