"""Technique: can a player win endings that are won, within the 50-move rule.

    random generator -> positions of KQK, KRK, KBNK -> games against a defender -> **wins of tries**

The side with the pieces is White and moves first. The defender is a player like any other; it
needs no tablebase to run away from the edge for long.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import chess

from kibitz.errors import InputError, PositionError, did_you_mean
from kibitz.match.control import Control
from kibitz.match.elo import wilson
from kibitz.match.game import Seat, Terms, play_game
from kibitz.match.journal import PlayedGame
from kibitz.match.openings import Opening
from kibitz.match.spec import Spec
from kibitz.position.board import Board

ENDINGS = {"KQK": "Q", "KRK": "R", "KBNK": "BN"}


class Technique(NamedTuple):
    """How an ending went."""

    ending: str
    tries: int
    wins: int
    plies: float | None  # to mate on average; None without a win
    longest: int
    forfeits: int

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share of wins (Wilson)."""
        return wilson(self.wins, self.tries)


def random_position(ending: str, generator: random.Random) -> Board:
    """A position that White wins: nothing of White's stands beside the black king."""
    if ending not in ENDINGS:
        raise InputError("no such ending", value=ending, fix=did_you_mean(ending, ENDINGS))
    while True:
        pieces = ["k", "K", *ENDINGS[ending]]
        squares = dict(zip(generator.sample(range(64), len(pieces)), pieces, strict=True))
        king = next(square for square, piece in squares.items() if piece == "k")
        if any(chess.square_distance(king, square) == 1 for square in squares):
            continue
        placed = chess.BaseBoard.empty()
        for square, piece in squares.items():
            placed.set_piece_at(square, chess.Piece.from_symbol(piece))
        try:
            board = Board(f"{placed.board_fen()} w - - 0 1")
        except PositionError:  # Black is in check though White is to move
            continue
        if board.outcome() is None:
            return board


def run_technique(
    ending: str,
    attacker: Spec,
    defender: Spec,
    control: Control,
    *,
    tries: int,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
    on_game: Callable[[PlayedGame], None] = lambda _: None,
) -> Technique:
    """Play the ending from so many positions; the same seed gives the same positions."""
    generator = random.Random(f"{ending} {seed}")
    players = attacker.open(), defender.open()
    games: list[PlayedGame] = []
    try:
        for number in range(tries):
            start = Opening(random_position(ending, generator).fen())
            white = Seat(0, players[0], attacker.control or control, seed + number)
            black = Seat(1, players[1], defender.control or control, seed + number)
            games.append(play_game(number, white, black, start, Terms(), stop))
            on_game(games[-1])
    finally:
        for player in players:
            player.close()
    return _counted(ending, games)


def _counted(ending: str, games: list[PlayedGame]) -> Technique:
    mates = [len(game.moves) for game in games if game.termination == "checkmate"]
    return Technique(
        ending=ending,
        tries=len(games),
        wins=len(mates),
        plies=sum(mates) / len(mates) if mates else None,
        longest=max(mates, default=0),
        forfeits=sum(game.loser is not None for game in games),
    )
