"""One game: time controls, clocks, moves in turn, faults, adjudication, and how it ended.

Times inside are milliseconds. Nodes and depth may come with a clock or without one. Draws by
threefold repetition and by the 50-move rule are claimed as soon as they can be. Time is charged as
the player measured it (see Answer). A player that oversteps its time or commits a fault (see
PlayerError) loses the game, or draws it if the other side has nothing but its king.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kibitz.arena.match.journal import PlayedGame, PlayedMove
from kibitz.arena.match.player import START_MS, Answer, Player, PlayerError, Resignation
from kibitz.core.errors import InputError
from kibitz.data.openings import Opening
from kibitz.position.board import SIDES, Board, Side
from kibitz.search.limits import Limits

UNTIMED_MS = 60_000.0  # what a move may take where only nodes or depth limit it
_TIMES = re.compile(r"(?:(\d+)/)?(\d+(?:\.\d+)?)(?:\+(\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class Control:
    """What a player gets for a game, or for each move."""

    base: int | None = None  # ms on the clock at the start
    increment: int = 0  # ms gained with every move
    moves: int | None = None  # moves until the clock gets its base again; None: never
    movetime: int | None = None  # ms for each move
    nodes: int | None = None  # for each move
    depth: int | None = None  # plies, for each move

    @property
    def timed(self) -> bool:
        """Whether time can be lost on it."""
        return self.base is not None or self.movetime is not None

    @property
    def limited(self) -> bool:
        """Whether anything ends a move."""
        return self.timed or self.nodes is not None or self.depth is not None

    def __str__(self) -> str:
        parts = []
        if self.base is not None:
            period = f"{self.moves}/" if self.moves else ""
            gain = f"+{self.increment / 1000:g}" if self.increment else ""
            parts.append(f"{period}{self.base / 1000:g}{gain}")
        if self.movetime is not None:
            parts.append(f"{self.movetime / 1000:g}/move")
        parts += [f"{self.nodes} nodes"] if self.nodes is not None else []
        parts += [f"{self.depth} plies"] if self.depth is not None else []
        return " ".join(parts) or "no limit"


def parse_times(text: str) -> Control:
    """Seconds, as cutechess and fastchess write them: `60`, `10+0.1`, `40/60+0.6`.

    >>> parse_times("40/60+0.6")
    Control(base=60000, increment=600, moves=40, movetime=None, nodes=None, depth=None)
    """
    match = _TIMES.fullmatch(text.strip())
    if match is None or float(match[2]) <= 0:
        fix = "seconds and increment, like 10+0.1 or 40/60"
        raise InputError("time control", value=text, fix=fix)
    moves = int(match[1]) if match[1] else None
    if moves == 0:
        raise InputError("time control", value=text, fix="a period has at least one move")
    return Control(round(1000 * float(match[2])), round(1000 * float(match[3] or 0)), moves)


def parse_minutes(text: str) -> Control:
    """Minutes and seconds a move, as people and servers write them.

    >>> str(parse_minutes("5+3"))
    '300+3'
    """
    minutes, _, seconds = text.partition("+")
    try:
        base, increment = float(minutes), float(seconds or 0)
    except ValueError:
        base = increment = -1.0
    if not (0 < base <= 600 and 0 <= increment <= 600):
        raise InputError("--clock", value=text, fix="expected minutes+seconds, such as 5+3")
    return Control(round(60_000 * base), round(1000 * increment))


class GameClock:
    """Both players' clocks in one game."""

    def __init__(self, white: Control, black: Control, margin: float = 0.0) -> None:
        self.controls: dict[Side, Control] = {"white": white, "black": black}
        self.left = {side: float(self.controls[side].base or 0) for side in SIDES}  # ms
        self._moves_made = dict.fromkeys(SIDES, 0)
        self._margin = margin  # ms by which a clock may be overstepped

    def __str__(self) -> str:
        return self.spelled(self.left)

    @staticmethod
    def spelled(left: Mapping[Side, float]) -> str:
        """Milliseconds of both sides as a clock shows them."""
        seconds = ((side, int(time) // 1000) for side, time in left.items())
        return ", ".join(f"{side} {time // 60}:{time % 60:02}" for side, time in seconds)

    def limits(self, side: Side) -> Limits:
        """Limits of the next move of the side to move."""
        control, period = self.controls[side], self.controls[side].moves
        times: dict[str, Any] = {}
        for color in SIDES if control.base is not None else ():
            if self.controls[color].base is not None:
                times[f"{color[0]}time"] = round(self.left[color])
                times[f"{color[0]}inc"] = self.controls[color].increment
        return Limits(
            nodes=control.nodes,
            movetime=control.movetime,
            depth=control.depth,
            movestogo=period - self._moves_made[side] % period if period and control.base else None,
            **times,
        )

    def allowed(self, side: Side) -> float:
        """Milliseconds the move may take before the time is lost, or before patience ends."""
        control = self.controls[side]
        if not control.timed:
            return UNTIMED_MS
        left = math.inf if control.base is None else self.left[side]
        return min(left, math.inf if control.movetime is None else control.movetime) + self._margin

    def spend(self, side: Side, milliseconds: float) -> bool:
        """Charge a move; whether it was made in time."""
        control = self.controls[side]
        in_time = not control.timed or milliseconds <= self.allowed(side)
        if control.base is not None:
            # What the margin forgives is not taken from the moves to come.
            self.left[side] = max(0.0, self.left[side] - milliseconds) + control.increment
            self._moves_made[side] += 1
            if control.moves and self._moves_made[side] % control.moves == 0:
                self.left[side] += control.base
        return in_time


# --- the game -------------------------------------------------------------------------------------


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
                self.result, self.termination = end.result, end.termination.text
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
        except Resignation:
            self.result = WON_BY["black" if side == "white" else "white"]
            self.termination = "resignation"
            return
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
