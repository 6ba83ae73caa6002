"""Mirrored and exchanged positions against python-chess."""

from __future__ import annotations

from typing import Any

import chess
import numpy as np

from kibitz.encoding.leaves import leaves_of
from kibitz.encoding.mirror import exchange_colours, mirror_move, mirror_position
from kibitz.position.fen import fen_of
from kibitz.position.state import compute_key, new_positions


def test_mirrored_boards_and_moves_are_python_chess(games: Any) -> None:
    for game in games:
        board, image = game.boards[-1], new_positions(1)
        mirror_position(game.positions[-1], image[0])
        flipped = board.transform(chess.flip_horizontal)
        assert fen_of(image[0]).split()[0] == flipped.board_fen()
        assert image[0].key == compute_key(image[0])
        if board.clean_castling_rights():
            continue
        moves = leaves_of([game.positions[-1:]], 1).moves
        mirrored = leaves_of([image], 1).moves
        assert sorted(map(mirror_move, moves.tolist())) == sorted(mirrored.tolist())


def test_both_are_their_own_inverse(games: Any) -> None:
    for game in games:
        for change in (mirror_position, exchange_colours):
            once, twice = new_positions(1), new_positions(1)
            change(game.positions[-1], once[0])
            change(once[0], twice[0])
            assert np.array_equal(twice[0], game.positions[-1])
