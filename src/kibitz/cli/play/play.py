"""`kibitz play`: a game in the terminal."""

from __future__ import annotations

import datetime
import random
import re
import select
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Annotated, Literal

import chess
from cyclopts import Parameter

from kibitz.apps.lichess.config import Lichess
from kibitz.apps.lichess.decisions import centipawns_of, takes_draw
from kibitz.arena.match.game import GameClock, parse_minutes
from kibitz.cli.output import EngineFlag, at_least, within
from kibitz.coach.puzzles.solve import line_text
from kibitz.comment.annotate import reason_on, scene_on
from kibitz.comment.facts import Scene
from kibitz.comment.judge import Label, label
from kibitz.comment.words.languages import language_of
from kibitz.comment.words.speaker import Speaker
from kibitz.core.errors import InputError, KibitzError, at_the_board
from kibitz.core.files import dated
from kibitz.core.journal import GrowingFile
from kibitz.core.log import say
from kibitz.data.openings import odds_start
from kibitz.engine import Engine
from kibitz.engine.levels import STRONGEST, WEAKEST
from kibitz.engine.options import AUTODISCOVER
from kibitz.position.board import SIDES, Board, Side
from kibitz.position.fen import START
from kibitz.position.notation import Move, shown
from kibitz.position.pgn import game_of, read_games
from kibitz.search.limits import Limits

HELP = (
    "a move (e4, Nf3, e2e4), or: takeback, hint, moves, board, fen, clock, draw, resign, quit, help"
)
KEYS = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z]|.)?|[\x00-\x1f\x7f]")  # arrows, F5 and such
PIECE_IN_SMALL = re.compile(r"[nrqk][a-h1-8x].*")  # b is a file, too: bxc3 is left as it is
AGAIN, MATED = " (takeback: try again)", " (it is mate at once: too late to take it back)"
TICK = 0.2  # seconds between two looks at the clock while nobody types
SIGNALS = {"SIGTERM", "SIGHUP"}  # the terminal or the machine is closed
PLAYER = "Player"  # in PGN
DEFAULT_MILLISECONDS = 1000
HINT_NODES = 2_000
SHOWN = 5  # plies of a line
COACH_NODES = 2_000  # of each first search for a comment


def play(
    against: Annotated[
        str | None, Parameter(help="A network, as --network has it; FOLDER@8 is a generation's.")
    ] = None,
    *,
    side: Annotated[
        Literal["white", "black", "random"],
        Parameter(name=["--side", "-s"], help="Which side is yours."),
    ] = "white",
    network: EngineFlag = AUTODISCOVER,
    fen: Annotated[str, Parameter(help="The position to start from.")] = START,
    chess960: Annotated[
        int | None, Parameter(help="Number of a Chess960 start, 0 to 959; -1 for a random one.")
    ] = None,
    odds: Annotated[
        Literal["pawn", "knight", "bishop", "rook", "queen"] | None,
        Parameter(help="A piece that the engine begins without."),
    ] = None,
    nodes: Annotated[int | None, Parameter(help="The engine's nodes for each move.")] = None,
    movetime: Annotated[int | None, Parameter(help="Its milliseconds for each move.")] = None,
    clock: Annotated[str, Parameter(help="Minutes+seconds for both, such as 5+3.")] = "",
    elo: Annotated[
        int | None,
        Parameter(
            name=["--level", "--elo"],
            help="Its strength, 500 to 3000; from 1100 to 1900 it plays as people of that rating.",
        ),
    ] = None,
    coach: Annotated[bool, Parameter(help="A comment after each of your mistakes.")] = False,
    pgn: Annotated[Path | None, Parameter(help="Add the game to this PGN.")] = None,
    resume: Annotated[
        bool, Parameter(help="Go on with the last game of --pgn, which is not over.")
    ] = False,
) -> int:
    """Play against the engine; lines on standard input are moves and commands."""
    at_least(1, nodes=nodes, movetime=movetime)
    network = against or network
    within(WEAKEST, STRONGEST, level=elo)
    own_side: Side = random.choice(SIDES) if side == "random" else side
    board = _start(own_side, fen, chess960, odds)
    if resume:
        if board.fen() != START:
            raise InputError("--resume, --fen, --chess960 and --odds", fix="give one of them")
        own_side, board = _unfinished(pgn)
    control = parse_minutes(clock) if clock else None
    both = None if control is None else GameClock(control, control)
    own = None if nodes is None and movetime is None else Limits(nodes=nodes, movetime=movetime)
    with ExitStack() as until_the_end:
        for name in SIGNALS & {
            each.name for each in signal.Signals
        }:  # keep the game as Ctrl-C does
            number = signal.Signals[name]
            before = signal.signal(number, signal.default_int_handler)
            until_the_end.callback(signal.signal, number, before)
        file = None if pgn is None else until_the_end.enter_context(_added_to(pgn))
        engine = until_the_end.enter_context(Engine(network))
        if elo is not None:
            engine.configure(limit_strength=True, elo=elo, seed=random.randrange(1 << 31))
        adviser = Engine(  # whose strength nothing limits, as it loads when it is asked
            network, search="alphabeta", multipv=2, hash=16, limit_strength=False, skill=20
        )
        until_the_end.enter_context(adviser)
        game = Game(engine, board, own_side, own, both, adviser, coached=coach, strength=elo)
        try:
            game.play(typed_lines())
        finally:
            if file is not None and board.moves:
                file.add(f"{game.pgn()}\n\n".encode())
                say(f"{pgn}: one game added")
    return 0


def _start(side: Side, fen: str, chess960: int | None, odds: str | None) -> Board:
    """Where the game begins."""
    if [fen != START, chess960 is not None, odds is not None].count(True) > 1:
        raise InputError("--fen, --chess960 and --odds", fix="give one of them")
    if odds is not None:
        return Board(odds_start(odds, OTHER[side]))
    if chess960 is None:
        return Board(fen)
    if not -1 <= chess960 < 960:
        raise InputError("--chess960", value=chess960, fix="give 0 to 959, or -1")
    return Board.start960(random.randrange(960) if chess960 == -1 else chess960)


def _unfinished(pgn: Path | None) -> tuple[Side, Board]:
    """The player's side and the board of the last game of a file."""
    if pgn is None:
        raise InputError("--resume needs the file of the game", fix="name it with --pgn")
    *_, last = None, *read_games(pgn)
    if last is None or last.result != "*" or PLAYER not in last.tags.values():
        fix = "leave out --resume for a new game"
        raise InputError(
            "--resume: the last game is not one to go on with", value=str(pgn), fix=fix
        )
    return "white" if last.tags["White"] == PLAYER else "black", last.board()


@contextmanager
def _added_to(pgn: Path) -> Iterator[GrowingFile]:
    """The file that a game is added to; one that was made for it and stayed empty goes again."""
    if not pgn.parent.is_dir():
        fix = "make it, or name another file"
        raise InputError("--pgn: no such folder", value=str(pgn.parent), fix=fix)
    is_new = not pgn.exists()
    try:
        with closing(GrowingFile(pgn)) as file:  # now: what cannot be written is said before a move
            yield file
    finally:
        if is_new and pgn.is_file() and pgn.stat().st_size == 0:
            pgn.unlink()


def typed_lines() -> Iterator[str | None]:
    """What the player types, with a prompt on a terminal; None while nothing is typed there."""
    terminal = sys.stdin.isatty()
    while True:
        if terminal:
            sys.stdout.write("> ")
            sys.stdout.flush()
            while not _is_typed():
                yield None
        line = sys.stdin.readline()
        if not line:
            return
        yield KEYS.sub("", line).strip()


def _is_typed() -> bool:
    """Whether a line waits on the terminal, after a moment; Windows cannot tell and says yes."""
    if sys.platform == "win32":
        return True
    return bool(select.select([sys.stdin], [], [], TICK)[0])


def _comment_on(coach: Engine, before: Board, move: Move) -> tuple[Scene, str]:
    """What a coach sees in a move, and its words about it, which may be none."""
    limits = Limits(nodes=COACH_NODES)
    scene = scene_on(coach, before, before.uci(move), limits)
    return scene, Speaker("beginner", language_of(None)).comment(scene).text


class Game:
    """One game of a person, or a script, against the engine."""

    def __init__(
        self,
        engine: Engine,
        board: Board,
        side: Side,
        limits: Limits | None = None,
        clock: GameClock | None = None,
        adviser: Engine | None = None,
        *,
        coached: bool = False,
        strength: int | None = None,
    ) -> None:
        self.engine, self.board, self.side = engine, board, side
        self.limits, self.clock, self.strength = limits, clock, strength
        self.adviser = adviser or engine  # of hints
        self.coach = self.adviser if coached else None  # who speaks of mistakes, too
        self._times: dict[int, float] = {}  # seconds left after a ply, from 0
        self._started = time.monotonic()  # when the side to move began to think
        self._scores: list[int] = []  # of the engine's moves
        self.over = self.reason = ""  # the result, once there is one, and why

    def play(self, lines: Iterable[str | None]) -> None:
        """Play until the game, or the input, ends."""
        self.engine.ready(self.limits)  # before the clocks run
        if self.coach is not None:
            self.coach.ready()
        for problem in self.engine.problems:
            say(problem)
        _print(f"You play {self.side} against Kibitz, network {self.engine.source}.")
        _print("Moves are typed as e4, Nf3 or e2e4; help lists the rest.")
        typed = iter(lines)
        self._show()
        while not self.over:
            self._started = time.monotonic()
            if self.board.turn != self.side:
                self._engine_moves()
            elif not self._person_moves(typed):
                return

    def _person_moves(self, typed: Iterator[str | None]) -> bool:
        """Obey lines until one is a move or ends the game; False if there are no more."""
        for line in typed:
            if self._flag_falls():
                return True
            word = (line or "").casefold()
            if word in ("quit", "exit"):
                return False
            if not line:
                continue
            try:
                done = self._command(word) if word in COMMANDS else self._move(line)
            except KibitzError as error:
                _print(f"{at_the_board(error)} (help lists what can be typed)")
                continue
            if done:
                return True
        return False

    def _move(self, text: str) -> bool:
        before, move = self.board.copy(), self._parsed(text)
        self._played(move)
        if self.coach is not None and not self.over:
            self._say_what_was_wrong(self.coach, before, move)
        return True

    def _parsed(self, text: str) -> Move:
        """A move as it is typed, also with a small letter for the piece where that is no move."""
        try:
            return self.board.parse(text)
        except InputError as error:
            if PIECE_IN_SMALL.fullmatch(text) is None:
                raise
            try:
                return self.board.parse(text[0].upper() + text[1:])
            except InputError:
                raise error from None  # which names what was typed

    def _flag_falls(self) -> bool:
        """Whether the time of the side to move is up, which ends the game at that moment."""
        side = self.board.turn
        if self.clock is None or self._spent() <= self.clock.allowed(side):
            return False
        self._end("0-1" if side == "white" else "1-0", f"{side} has lost on time")
        return True

    def _spent(self) -> float:
        """Milliseconds since the side to move began to think."""
        return 1000 * (time.monotonic() - self._started)

    def _running(self) -> str:
        """Both clocks as they stand now, that of the side to move running."""
        assert self.clock is not None
        left = dict(self.clock.left)
        left[self.board.turn] = max(0.0, left[self.board.turn] - self._spent())
        return GameClock.spelled(left)

    def _say_what_was_wrong(self, coach: Engine, before: Board, move: Move) -> None:
        """A comment on the player's move if it was a mistake; no clock runs meanwhile."""
        scene, text = _comment_on(coach, before, move)
        if scene.had is None or scene.has is None:
            return
        fault = label(scene.had, scene.has)
        if fault is not Label.NONE:
            name = language_of(None).labels[int(fault)][0]
            ends = scene.has.line[:1] and self._mates(scene.has.line[0])
            _print(
                f"coach: {name[:1].upper()}{name[1:]}. {text}".rstrip() + (MATED if ends else AGAIN)
            )

    def _mates(self, move: chess.Move) -> bool:
        """Whether the answer ends the game, so that nothing can be taken back."""
        after = self.board.to_chess()
        after.push(move)
        return after.is_checkmate()

    def _engine_moves(self) -> None:
        default = Limits(movetime=DEFAULT_MILLISECONDS)
        timed = default if self.clock is None else self.clock.limits(self.board.turn)
        limits = self.limits or timed
        result = self.engine.play(self.board, limits)
        move = result.move
        assert move is not None  # the game is not over
        self._scores.append(centipawns_of(result.report.best.score))
        _print(f"kibitz plays {self.board.san(move)}")
        self._played(move)

    def _played(self, move: Move) -> None:
        side, spent = self.board.turn, self._spent()
        self.board.push(move)
        if self.clock is not None and not self.clock.spend(side, spent):
            self._end("0-1" if side == "white" else "1-0", f"{side} has lost on time")
            return
        if self.clock is not None:
            self._times[len(self.board.moves) - 1] = self.clock.left[side] / 1000
        self._started = time.monotonic()  # the other side's time begins
        self._show()

    def _show(self) -> None:
        """Draw the board, and say if the game is over."""
        from rich.console import Console

        console = Console(file=sys.stdout)
        last = self.board.moves[-1] if self.board.moves else None
        console.print(shown(self.board.position, last, console, turned=self.side == "black"))
        if self.clock is not None:
            _print(str(self.clock))
        outcome = self.board.outcome(claim=True)
        if outcome is not None:
            self._end(outcome.result, outcome.termination.text)

    def _end(self, result: str, reason: str) -> None:
        self.over, self.reason = result, reason
        _print(f"{result} ({reason})")

    def pgn(self) -> str:
        """The game with its players, result and how it ended."""
        level = "" if self.strength is None else f", strength {self.strength}"
        names = {self.side: PLAYER, OTHER[self.side]: f"Kibitz ({self.engine.source}{level})"}
        date = dated(datetime.datetime.now(datetime.UTC))[:10].replace("-", ".")
        tags = {
            "Event": "Game against Kibitz",
            "Site": "?",
            "Date": date or "????.??.??",
            "White": names["white"],
            "Black": names["black"],
            "Result": self.over or "*",
            "TimeControl": "-" if self.clock is None else str(self.clock.controls[self.side]),
            "Termination": self.reason or "unterminated",
        }
        game = game_of(self.board, tags)
        for ply, node in enumerate(game.tree.mainline()):
            node.set_clock(self._times.get(ply))
        return str(game)

    # --- commands -------------------------------------------------------------------------------

    def _command(self, word: str) -> bool:
        """Do what a word says; whether the player's turn is over."""
        if word == "resign":
            self._end("0-1" if self.side == "white" else "1-0", f"{self.side} resigns")
        elif word == "takeback":
            self._take_back()
        elif word == "draw":
            self._offer_draw()
        elif word == "board":
            self._show()
        elif word == "hint":
            _print(self._hint())
        else:
            _print(self._answer(word))
        return bool(self.over)

    def _hint(self) -> str:
        """What is good here, from the adviser; no clock runs meanwhile."""
        began = time.monotonic()
        try:
            return self._advice()
        finally:
            self._started += time.monotonic() - began

    def _advice(self) -> str:
        """A move that looks good; with a coach its own move, and what it does or leads to."""
        result = self.adviser.play(self.board, nodes=HINT_NODES)
        if result.move is None:
            return "no move"
        hint = f"perhaps {self.board.san(result.move)}"
        if self.coach is None:
            return hint
        language, move = language_of(None), self.board.uci(result.move)
        limits = Limits(nodes=COACH_NODES)
        text = reason_on(self.coach, self.board, move, "beginner", limits, language)
        line = [self.board.uci(one) for one in result.report.best.moves[:SHOWN]]
        expected = language.notation(line_text(self.board, line))
        return f"{hint}. {text or language.coach['line'].format(line=expected)}"

    def _take_back(self) -> None:
        """Undo the player's last move and the answer to it."""
        if len(self.board.moves) < 2:
            raise InputError("nothing to take back", fix="play a move first")
        self.board.pop()
        self.board.pop()
        del self._scores[-1:]  # of a game that is resumed not all are there
        self._show()

    def _offer_draw(self) -> None:
        """Let the engine take a draw, by the rules of the bot."""
        if takes_draw(self._scores, self.board, Lichess()):
            self._end("1/2-1/2", "draw agreed")
        else:
            _print("kibitz plays on")

    def _answer(self, word: str) -> str:
        if word == "moves":
            return " ".join(self.board.san(move) for move in self.board.legal_moves)
        if word == "fen":
            return self.board.fen()
        if word == "clock":
            return "no clock" if self.clock is None else self._running()
        return HELP


OTHER: dict[Side, Side] = {"white": "black", "black": "white"}
COMMANDS = ("takeback", "hint", "moves", "board", "fen", "clock", "draw", "resign", "help")


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
