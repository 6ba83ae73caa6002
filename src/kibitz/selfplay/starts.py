"""Where games begin: the start position, a book, Chess960, odds, random moves.

A game's start and all its random numbers follow from the seed of the run and its own number.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from kibitz.position.board import Board
from kibitz.position.fen import START, chess960_fen, read_fen
from kibitz.position.state import new_positions
from kibitz.selfplay.config import SelfPlay
from kibitz.selfplay.game import Seat
from kibitz.selfplay.moves import random_plies

MOST_TRIES = 1_000


class Starts:
    """Deals games: the start, the random numbers, whether it is played to its end."""

    def __init__(self, settings: SelfPlay, seed: int, book: Sequence[Board] = ()) -> None:
        self._settings, self._seed = settings, seed
        self._book = _positions([board.fen(shredder=True) for board in book] or [START])
        self._odds = _positions(_odds(settings.odds))
        self._chess960 = new_positions(0)
        if settings.chess960:
            self._chess960 = _positions([chess960_fen(number) for number in range(960)])

    def deal(self, seat: Seat, number: int) -> None:
        """Begin a game in a seat."""
        settings = self._settings
        dice = random.Random(f"{self._seed} {number}")
        starts = self._book
        if len(self._odds):
            starts = self._odds[number % 2 :: 2]  # White and Black by turns
        elif dice.random() < settings.chess960:
            starts = self._chess960
        for _ in range(MOST_TRIES):
            place = dice.randrange(len(starts))
            words = [dice.getrandbits(64) for _ in range(3)]
            played_out = dice.random() < settings.played_out
            seat.begin(number, starts[place : place + 1], words, played_out)
            count = dice.randint(*settings.random_plies)
            if count == 0 or random_plies(seat.record, seat.searches[0].contexts[0].record, count):
                return


def _odds(kind: str) -> list[str]:
    """FENs of the start position less a piece of White's and of Black's by turns."""
    if kind == "none":
        return []
    import chess

    found = []
    for square in chess.Board().pieces(chess.PIECE_NAMES.index(kind), chess.WHITE):
        for place in (square, chess.square_mirror(square)):
            board = chess.Board()
            board.remove_piece_at(place)  # a rook takes its castling along
            found.append(board.fen())
    return found


def _positions(fens: Sequence[str]) -> np.ndarray:
    """POSITION [n]."""
    positions = new_positions(len(fens))
    for row, fen in enumerate(fens):
        read_fen(fen, positions, row)
    return positions
