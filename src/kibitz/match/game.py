"""One game: moves in turn, clocks, faults, adjudication, and how it ended.

    two players, an opening -> **play_game** -> PlayedGame

Draws by threefold repetition and by the 50-move rule are claimed as soon as they can be. Time is
charged as the player measured it (see Answer). A player that oversteps its time or commits a fault
(see PlayerError) loses the game, or draws it if the other side has nothing but its king.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from kibitz.match.control import Control, GameClock
from kibitz.match.journal import PlayedGame, PlayedMove
from kibitz.match.openings import Opening
from kibitz.match.player import START_MS, Answer, Player, PlayerError
from kibitz.position.board import SIDES, Board, Side, Termination

WORDS = {termination: termination.name.lower().replace("_", " ") for termination in Termination}
WON_BY: dict[Side, str] = {"white": "1-0", "black": "0-1"}
MATE_CP = 30_000


class Aborted(Exception):  # noqa: N818 - no error of a player
    """The match was stopped in the middle of a game, which then does not count."""


@dataclass(frozen=True)
class Rules:
    """Adjudication; 0 switches a rule off. Scores are the players' own, centipawns."""

    draw_moves: int = 0  # both sides within draw_cp for so many moves each,
    draw_cp: int = 10
    draw_from: int = 34  # but not before this move
    resign_moves: int = 0  # the loser itself says -resign_cp or worse for so many moves
    resign_cp: int = 600
    max_moves: int = 0  # then the game is drawn


@dataclass(frozen=True)
class Seat:
    """A player at the board."""

    index: int
    player: Player
    control: Control
    seed: int = 0


@dataclass(frozen=True)
class Terms:
    """What holds for all games of a match."""

    rules: Rules = Rules()
    margin: float = 20.0  # ms by which a clock may be overstepped
    patience: float = 10_000.0  # ms after that until a player that is silent counts as hung
    start: float = START_MS  # ms that a program has to start


def play_game(
    number: int,
    white: Seat,
    black: Seat,
    opening: Opening,
    terms: Terms,
    stop: Callable[[], bool] = lambda: False,
) -> PlayedGame:
    """Play a game to its end; raises Aborted once `stop` says so."""
    game = _Game(white, black, opening, terms)
    while not game.over():
        if stop():
            raise Aborted
        game.next_move()
    return PlayedGame(
        number=number,
        white=white.index,
        black=black.index,
        fen=opening.fen,
        book=opening.moves,
        chess960=opening.chess960,
        moves=tuple(game.moves),
        result=game.result,
        termination=game.termination,
        detail=game.detail,
        loser=game.loser,
        ended=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


class _Game:
    """A game in progress."""

    def __init__(self, white: Seat, black: Seat, opening: Opening, terms: Terms) -> None:
        self._seats: dict[Side, Seat] = {"white": white, "black": black}
        self._board = opening.board()
        self._clock = GameClock(white.control, black.control, terms.margin)
        self._terms = terms
        self.moves: list[PlayedMove] = []
        self.result, self.termination, self.detail = "*", "", ""
        self.loser: int | None = None
        self._ready()

    def _ready(self) -> None:
        """Make both players ready; one that cannot be has lost."""
        for side in SIDES:
            try:
                self._seats[side].player.new_game(self._seats[side].seed)
            except PlayerError as error:
                self._forfeit(side, error)
                return

    def over(self) -> bool:
        """Whether the game has ended, by a fault, the rules or adjudication."""
        if self.result == "*":
            end = self._board.outcome(claim=True)
            if end is None:
                self.result, self.termination = self._adjudicated()
            else:
                self.result, self.termination = end.result, WORDS[end.termination]
        return self.result != "*"

    def next_move(self) -> None:
        """Ask the side to move and play what it says."""
        side = self._board.turn
        seat, patience = self._seats[side], self._clock.allowed(side) + self._terms.patience
        try:
            answer = seat.player.think(self._board, self._clock.limits(side), patience)
            if not self._clock.spend(side, answer.milliseconds):
                raise PlayerError("time forfeit", f"took {answer.milliseconds:.0f} ms")
            if answer.move not in self._board.legal_moves:
                raise PlayerError("illegal move", answer.move.uci())
        except PlayerError as error:
            self._forfeit(side, error)
            return
        self.moves.append(_played(self._board, answer))
        self._board.push(answer.move)

    def _forfeit(self, side: Side, fault: PlayerError) -> None:
        winner: Side = "black" if side == "white" else "white"
        self.loser, self.termination = self._seats[side].index, fault.kind
        self.detail = fault.detail
        self.result = WON_BY[winner] if _can_mate(self._board, winner) else "1/2-1/2"

    # --- adjudication ---------------------------------------------------------------------------

    def _adjudicated(self) -> tuple[str, str]:
        """Result and termination; `*` if the game goes on."""
        rules = self._terms.rules
        if rules.max_moves and len(self.moves) >= 2 * rules.max_moves:
            return "1/2-1/2", f"adjudication: {rules.max_moves} moves"
        if rules.resign_moves and self._resigned(rules):
            # The score is that of the last mover, who says that it has lost.
            return WON_BY[self._board.turn], "adjudication: resignation"
        if rules.draw_moves and self._drawn(rules):
            return "1/2-1/2", "adjudication: draw rule"
        return "*", ""

    def _resigned(self, rules: Rules) -> bool:
        own = self.moves[-1::-2][: rules.resign_moves]
        hopeless = [score is not None and score <= -rules.resign_cp for score in map(_cp, own)]
        return len(own) == rules.resign_moves and all(hopeless)

    def _drawn(self, rules: Rules) -> bool:
        recent = self.moves[-2 * rules.draw_moves :]
        level = [score is not None and abs(score) <= rules.draw_cp for score in map(_cp, recent)]
        late = self._board.ply >= 2 * rules.draw_from
        return late and len(recent) == 2 * rules.draw_moves and all(level)


def _cp(move: PlayedMove) -> int | None:
    if move.mate is not None:
        return MATE_CP if move.mate > 0 else -MATE_CP
    return move.cp


def _played(board: Board, answer: Answer) -> PlayedMove:
    scores = {} if answer.score is None else {answer.score.kind: answer.score.amount}
    return PlayedMove(
        uci=board.uci(answer.move),
        milliseconds=round(answer.milliseconds, 3),
        cp=scores.get("cp"),
        mate=scores.get("mate"),
        depth=answer.depth,
        nodes=answer.nodes,
    )


def _can_mate(board: Board, side: Side) -> bool:
    """Whether a side has more than its king."""
    pieces = "PNBRQ" if side == "white" else "pnbrq"
    return any(piece in pieces for piece in board.fen().split()[0])
