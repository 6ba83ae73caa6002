"""Finished games, the journal that keeps them through any interruption, and what they add up to.

A journal's first line says what match it is, every further line is one finished game
(core/journal.py).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from kibitz.arena.match.elo import Pairs, Tally
from kibitz.core.files import has_dates
from kibitz.core.journal import JournalFile

TIME_FORFEIT, CRASH = "time forfeit", "crash"
FORFEITS = (TIME_FORFEIT, CRASH, "hang", "illegal move", "lie")  # terminations that cost the game


class PlayedMove(msgspec.Struct, frozen=True, array_like=True):
    """A move, its time and what the player said about it; times in ms, scores for the mover."""

    uci: str
    milliseconds: float
    cp: int | None = None
    mate: int | None = None
    depth: int | None = None
    nodes: int | None = None


class PlayedGame(msgspec.Struct, frozen=True, kw_only=True):
    """A finished game. `termination` is how it ended in words, `loser` the one that forfeited."""

    number: int  # of the schedule; two games make a pair
    white: int  # players by their place in the match
    black: int
    fen: str  # where the opening starts
    book: tuple[str, ...] = ()  # moves of the opening, UCI
    chess960: bool = False
    moves: tuple[PlayedMove, ...] = ()
    result: str = "*"
    termination: str = ""
    detail: str = ""
    loser: int | None = None
    ended: str = ""  # ISO 8601, UTC

    @property
    def points(self) -> float:
        """White's points."""
        return {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}[self.result]


class MatchHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What must be the same for games to belong to one match."""

    players: tuple[str, ...]  # as the user wrote them
    control: str
    gauntlet: bool
    seed: int
    rules: str
    openings: str  # digest of the list
    odds: bool = False  # the first player always has White
    format: str = "kibitz match 2"

    @property
    def digest(self) -> str:
        """Digits for a file's name: another match has others."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]


class Journal:
    """The finished games of a match, in memory and, with a path, in a file."""

    def __init__(self, header: MatchHeader, path: Path | None = None) -> None:
        self.games: dict[int, PlayedGame] = {}
        self._file: JournalFile[MatchHeader, PlayedGame] | None = None
        if path is not None:
            self._file = JournalFile(path, header, PlayedGame, work="match", piece="game")
            self.games = {game.number: game for game in self._file.entries}

    def add(self, game: PlayedGame) -> None:
        """Keep a game; one that cannot be written ends the match, which can go on from there."""
        assert game.number not in self.games, "played twice"
        if self._file is not None:
            game = game if has_dates() else _without_times(game)  # as it will be read again
            self._file.add(game)
        self.games[game.number] = game

    def close(self) -> None:
        """Close the file; what was added is on its way to the disk."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _without_times(game: PlayedGame) -> PlayedGame:
    moves = tuple(msgspec.structs.replace(move, milliseconds=0.0) for move in game.moves)
    return msgspec.structs.replace(game, moves=moves, ended="")


# --- what the games add up to ---------------------------------------------------------------------


class Results:
    """Counts of finished games; players are known by their place in the match."""

    def __init__(self, games: Mapping[int, PlayedGame]) -> None:
        self._games = games

    @property
    def games(self) -> list[PlayedGame]:
        """The games in the order of the schedule."""
        return [self._games[number] for number in sorted(self._games)]

    def tally(self, player: int, other: int) -> Tally:
        """Wins, draws and losses of a player against another."""
        tally = Tally()
        for game in _between(self.games, player, other):
            tally = tally.plus(points_of(game, player))
        return tally

    def pairs(self, player: int, other: int) -> Pairs:
        """Finished pairs of games by the player's results; half a pair does not count."""
        pairs = Pairs()
        for game in _between(self.games, player, other):
            second = self._games.get(game.number + 1)
            if game.number % 2 == 0 and second is not None:
                pairs = pairs.plus(points_of(game, player), points_of(second, player))
        return pairs

    def pair(self, number: int) -> tuple[float, float] | None:
        """The first player's points in a pair of a match of two; None until both have ended."""
        games = self._games.get(2 * number), self._games.get(2 * number + 1)
        if games[0] is None or games[1] is None:
            return None
        return points_of(games[0], 0), points_of(games[1], 0)

    def first(self, pairs: int) -> Results:
        """Those of so many pairs at the beginning of the schedule."""
        return Results({n: game for n, game in self._games.items() if n < 2 * pairs})

    def forfeits(self, player: int) -> Counter[str]:
        """How often a player forfeited, by the reason."""
        lost = (game for game in self.games if game.loser == player)
        return Counter(game.termination for game in lost if game.termination in FORFEITS)

    def terminations(self) -> Counter[str]:
        """How the games ended."""
        return Counter(game.termination for game in self.games)


def points_of(game: PlayedGame, player: int) -> float:
    """The points a player made in a game."""
    return game.points if game.white == player else 1.0 - game.points


def _between(games: Iterable[PlayedGame], player: int, other: int) -> Iterable[PlayedGame]:
    return (game for game in games if {game.white, game.black} == {player, other})
