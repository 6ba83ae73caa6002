"""Every layout of planes against python-chess, plane by plane, and small tensors by hand."""

from __future__ import annotations

from typing import Any

import chess
import numpy as np
import pytest

from kibitz.core.errors import InputError
from kibitz.nets.encodings.leaves import Leaves, leaves_of, swap_colours
from kibitz.nets.encodings.planes import LAYOUTS, encode, encode_words
from kibitz.position.fen import START, parse_fen
from kibitz.position.state import new_positions

PIECES = (chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN, chess.KING)
Planes = np.ndarray


def plane_of(squares: chess.SquareSet, view: int) -> Planes:
    """8 x 8, squares XORed by the view."""
    plane = np.zeros((8, 8), dtype=np.float32)
    for square in squares:
        plane[(square ^ view) >> 3, (square ^ view) & 7] = 1
    return plane


def pieces_of(board: chess.Board, first: chess.Color, view: int) -> list[Planes]:
    return [
        plane_of(board.pieces(piece, colour), view)
        for colour in (first, not first)
        for piece in PIECES
    ]


def full(value: float) -> Planes:
    return np.full((8, 8), value, dtype=np.float32)


def castling_of(board: chess.Board, first: chess.Color) -> list[Planes]:
    return [
        full(right(colour))
        for colour in (first, not first)
        for right in (board.has_kingside_castling_rights, board.has_queenside_castling_rights)
    ]


def earlier(boards: list[chess.Board], ply: int) -> int:
    def key(board: chess.Board) -> tuple[Any, ...]:
        en_passant = board.ep_square if board.has_legal_en_passant() else None
        return (board.board_fen(), board.turn, board.clean_castling_rights(), en_passant)

    return [key(board) for board in boards[:ply]].count(key(boards[ply]))


def history_oracle(boards: list[chess.Board], steady: bool) -> Planes:
    leaf, planes = boards[-1], []
    for back in range(7, -1, -1):
        ply = max(len(boards) - 1 - back, 0)
        colour = leaf.turn if steady or back % 2 == 0 else not leaf.turn
        planes += pieces_of(boards[ply], colour, 0 if colour else 56)
        planes.append(full(earlier(boards, ply) > 0))
    return np.stack([*planes, *castling_of(leaf, leaf.turn), full(leaf.halfmove_clock / 99)])


def colour_oracle(boards: list[chess.Board], version: int) -> Planes:
    leaf, count = boards[-1], earlier(boards, len(boards) - 1)
    oriented = version == 2
    first = leaf.turn if oriented else chess.WHITE
    view = 63 if oriented and not leaf.turn else 0
    clock = leaf.halfmove_clock / 100 if oriented else leaf.halfmove_clock
    planes = pieces_of(leaf, first, view)
    planes += [full(count >= 1), full(count >= 2), full(not leaf.turn), full(1)]
    planes += [*castling_of(leaf, first), full(clock)]
    if version > 0:
        passed = [leaf.ep_square] if leaf.has_legal_en_passant() else []
        planes.append(plane_of(chess.SquareSet(s for s in passed if s is not None), view))
    return np.stack(planes)


def onehot_oracle(leaf: chess.Board) -> Planes:
    """Square by square, as Batch-First describes it."""
    planes = np.zeros((15, 8, 8), dtype=np.float32)
    view = 0 if leaf.turn else 56
    for square in chess.SQUARES:
        place = ((square ^ view) >> 3, (square ^ view) & 7)
        piece = leaf.piece_at(square)
        if piece is not None:
            castling = bool(leaf.clean_castling_rights() & chess.BB_SQUARES[square])
            plane = 7 - (0 if castling else piece.piece_type)
            planes[(plane if piece.color == leaf.turn else plane + 7, *place)] = 1
        elif leaf.ep_square == square and leaf.has_legal_en_passant():
            planes[(0, *place)] = 1
    return planes


def leela_oracle(boards: list[chess.Board]) -> Planes:
    leaf, planes = boards[-1], []
    for back in range(8):
        ply = len(boards) - 1 - back
        board = boards[max(ply, 0)].copy()
        if ply < 0 and board.fen() == chess.STARTING_FEN:
            planes += [full(0)] * 13
            continue
        repeated = earlier(boards, max(ply, 0)) > 0
        if ply < 0 and board.ep_square is not None and board.has_legal_en_passant():
            step = 8 if board.turn else -8
            pawn = board.remove_piece_at(board.ep_square - step)
            board.set_piece_at(board.ep_square + step, pawn)
        planes += [*pieces_of(board, leaf.turn, 0 if leaf.turn else 56), full(repeated)]
    ours_king, ours_queen, theirs_king, theirs_queen = castling_of(leaf, leaf.turn)
    planes += [ours_queen, ours_king, theirs_queen, theirs_king]
    return np.stack([*planes, full(not leaf.turn), full(leaf.halfmove_clock), full(0), full(1)])


ORACLES = {
    "leela112": lambda boards: leela_oracle(boards),
    "history109": lambda boards: history_oracle(boards, steady=False),
    "steady109": lambda boards: history_oracle(boards, steady=True),
    "colour21": lambda boards: colour_oracle(boards, 0),
    "colour22": lambda boards: colour_oracle(boards, 1),
    "oriented22": lambda boards: colour_oracle(boards, 2),
    "onehot15": lambda boards: onehot_oracle(boards[-1]),
}


def planes_of(name: str, leaves: Leaves) -> Planes:
    out = np.full((len(leaves.known), LAYOUTS[name].planes, 8, 8), np.nan, dtype=np.float32)
    encode(name, leaves, out)
    return out


@pytest.mark.parametrize("name", LAYOUTS)
def test_planes_are_the_oracles(name: str, games: Any) -> None:
    shown = planes_of(name, leaves_of([game.positions for game in games]))
    for row, game in enumerate(games):
        expected = ORACLES[name](game.boards)
        wrong = np.flatnonzero((shown[row] != expected).any(axis=(1, 2)))
        assert not len(wrong), f"planes {wrong} of {game.boards[-1].fen()}"


@pytest.mark.parametrize("name", LAYOUTS)
def test_words_are_the_planes_bit_by_bit(name: str, games: Any) -> None:
    leaves = leaves_of([game.positions for game in games])
    layout = LAYOUTS[name]
    words = np.zeros((len(games), layout.planes), dtype=np.uint64)
    encode_words(name, leaves, words)
    bits = words[..., None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    planes = bits.astype(np.float32)
    if layout.clock >= 0:
        planes[:, layout.clock] = words[:, layout.clock, None] / layout.divisor
    assert np.array_equal(planes.reshape(-1, layout.planes, 8, 8), planes_of(name, leaves))


def start_and_one_move() -> Leaves:
    """1. e4, Black to move, with the start position before it."""
    game = new_positions(2)
    game[0] = parse_fen(START)
    game[1] = parse_fen("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1")
    return leaves_of([game])


def test_history_by_hand() -> None:
    planes = planes_of("history109", start_and_one_move())[0]
    # The leaf, planes 91-103: Black's pawns on its second rank, White's at the top, one advanced.
    assert planes[91].sum(axis=1).tolist() == [0, 8, 0, 0, 0, 0, 0, 0]
    assert planes[97].sum(axis=1).tolist() == [0, 0, 0, 0, 1, 0, 7, 0]
    assert planes[97, 4, 4] == 1
    assert np.flatnonzero(planes[96]).tolist() == [4]  # Black's king on its e1
    # Seven times the start position, seen by White and by Black in turn: the same boards.
    for at in range(0, 91, 13):
        assert planes[at].sum(axis=1).tolist() == [0, 8, 0, 0, 0, 0, 0, 0]
        assert planes[at + 6].sum(axis=1).tolist() == [0, 0, 0, 0, 0, 0, 8, 0]
        assert not planes[at + 12].any()
    assert planes[104:108].all()
    assert not planes[108].any()


def test_single_position_layouts_by_hand() -> None:
    leaves = start_and_one_move()
    white_view = planes_of("colour22", leaves)[0]
    assert np.flatnonzero(white_view[0]).tolist() == [8, 9, 10, 11, 13, 14, 15, 28]
    assert white_view[14:20].all()
    rotated = planes_of("oriented22", leaves)[0]
    assert np.flatnonzero(rotated[5]).tolist() == [3]  # Black's king, turned by 180 degrees
    assert np.flatnonzero(rotated[6]).tolist() == [35, 48, 49, 50, 52, 53, 54, 55]
    onehot = planes_of("onehot15", leaves)[0]
    assert np.flatnonzero(onehot[7]).tolist() == [0, 7]
    assert not onehot[3].any()
    assert np.flatnonzero(onehot[14]).tolist() == [56, 63]


def test_onehot_has_one_bit_per_occupied_square(games: Any) -> None:
    leaves = leaves_of([game.positions for game in games])
    planes = planes_of("onehot15", leaves)
    first = leaves.positions[:, 0]
    occupied = (first["own"] | first["their"])[:, None] >> np.arange(64, dtype=np.uint64)
    assert np.array_equal(planes[:, 1:].sum(axis=1).reshape(-1, 64), occupied & np.uint64(1))


def test_oriented_black_is_rotated_white(games: Any) -> None:
    leaves = leaves_of([game.positions for game in games])
    shown, swapped = planes_of("oriented22", leaves), planes_of("oriented22", swap_colours(leaves))
    pieces = [*range(12), 21]
    assert np.array_equal(swapped[:, pieces], shown[:, pieces][..., ::-1])
    others = [plane for plane in range(12, 21) if plane != 14]
    assert np.array_equal(swapped[:, others], shown[:, others])
    assert np.array_equal(swapped[:, 14], 1 - shown[:, 14])


@pytest.mark.parametrize("name", ["history109", "steady109", "onehot15"])
def test_layouts_without_a_colour_see_no_swap(name: str, games: Any) -> None:
    leaves = leaves_of([game.positions for game in games])
    assert np.array_equal(planes_of(name, leaves), planes_of(name, swap_colours(leaves)))


@pytest.mark.parametrize("name", ["colour21", "colour22"])
def test_layouts_of_colours_see_a_mirrored_board_when_swapped(name: str, games: Any) -> None:
    leaves = leaves_of([game.positions for game in games])
    shown, swapped = planes_of(name, leaves), planes_of(name, swap_colours(leaves))
    assert np.array_equal(swapped[:, :6], shown[:, 6:12, ::-1])
    assert np.array_equal(swapped[:, 16:18], shown[:, 18:20])


def test_wrong_names_and_arrays_are_refused(games: Any) -> None:
    leaves = leaves_of([games[0].positions])
    with pytest.raises(InputError, match="did you mean 'history109'"):
        encode("history10", leaves, np.zeros((1, 109, 8, 8), dtype=np.float32))
    with pytest.raises(InputError, match=r"expected float32 \[1, 109, 8, 8\]"):
        encode("history109", leaves, np.zeros((1, 108, 8, 8), dtype=np.float32))
    with pytest.raises(InputError, match="expected uint64"):
        encode_words("history109", leaves, np.zeros((1, 109), dtype=np.int64))
