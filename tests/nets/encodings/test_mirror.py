"""Positions with colours exchanged against python-chess."""

from __future__ import annotations

from typing import Any

import numpy as np

from kibitz.nets.encodings.features import exchange_colours
from kibitz.position.fen import fen_of
from kibitz.position.state import new_positions


def test_exchanged_colours_are_python_chess_and_their_own_inverse(games: Any) -> None:
    for game in games:
        once, twice = new_positions(1), new_positions(1)
        exchange_colours(game.positions[-1], once[0])
        assert fen_of(once[0]).split()[0] == game.boards[-1].mirror().board_fen()
        exchange_colours(once[0], twice[0])
        assert np.array_equal(twice[0], game.positions[-1])
