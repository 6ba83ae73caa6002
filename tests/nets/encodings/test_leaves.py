"""Leaves: history, repetitions and legal moves against python-chess."""

from __future__ import annotations

from typing import Any

import chess
import numpy as np

from kibitz.nets.encodings.leaves import leaves_of, new_leaves, put_leaf, swap_colours
from kibitz.position.fen import fen_of, parse_fen
from kibitz.position.state import compute_key


def situation(board: chess.Board) -> tuple[Any, ...]:
    return (board.board_fen(), board.turn, board.clean_castling_rights(), board.ep_square)


def legal_en_passant_only(board: chess.Board) -> chess.Board:
    board = board.copy(stack=False)
    if not board.has_legal_en_passant():
        board.ep_square = None
    return board


def test_history_and_repetitions_are_the_games(games: Any) -> None:
    leaves = leaves_of([game.positions for game in games])
    assert leaves.repetitions.max() >= 2
    for row, game in enumerate(games):
        assert leaves.known[row] == min(8, len(game.boards))
        seen = [situation(legal_en_passant_only(board)) for board in game.boards]
        for back in range(leaves.known[row]):
            last = len(seen) - 1 - back
            assert leaves.positions[row, back] == game.positions[last]
            earlier = seen[:last].count(seen[last])
            assert leaves.repetitions[row, back] == earlier


def test_moves_are_the_legal_moves(games: Any) -> None:
    leaves = leaves_of([game.positions for game in games], history=1)
    assert leaves.offsets[0] == 0
    assert len(leaves.moves) == leaves.offsets[-1]
    for row, game in enumerate(games):
        board = game.boards[-1]
        flip = 0 if board.turn else 56
        moves = leaves.moves[leaves.offsets[row] : leaves.offsets[row + 1]].tolist()
        found = sorted((move & 63 ^ flip, (move >> 6 & 63) ^ flip) for move in moves)
        legal = sorted((move.from_square, move.to_square) for move in board.legal_moves)
        assert found == legal


def test_any_ply_of_a_game_can_be_put_in_a_row(games: Any) -> None:
    game = max(games, key=lambda one: len(one.boards)).positions
    leaves = new_leaves(len(game), history=8)
    for ply in range(len(game)):
        put_leaf(leaves, ply, game, ply)
    one_by_one = leaves_of([game[: ply + 1] for ply in range(len(game))])
    assert np.array_equal(leaves.known, one_by_one.known)
    assert np.array_equal(leaves.moves[: leaves.offsets[-1]], one_by_one.moves)
    assert np.array_equal(leaves.repetitions[:, :3], one_by_one.repetitions[:, :3])


def test_swapped_colours_are_python_chess_mirror(games: Any) -> None:
    leaves = leaves_of([game.positions for game in games], history=2)
    swapped = swap_colours(leaves)
    for row, game in enumerate(games):
        mirrored = parse_fen(game.boards[-1].mirror().fen())
        shown = swapped.positions[row, 0]
        assert fen_of(shown).split()[:5] == fen_of(mirrored).split()[:5]
        assert shown.key == compute_key(shown) == mirrored.key
    assert np.array_equal(swapped.moves, leaves.moves)
    assert leaves.positions[0, 0].side == games[0].positions[-1].side
