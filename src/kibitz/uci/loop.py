"""The UCI loop: what the engine does and answers for each line from the GUI.

Searches run on a thread of their own, so that `stop` is always heard. Nothing that takes time to
import is imported before it is needed: the answer to `uci` comes at once.
"""

from __future__ import annotations

import gc
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import kibitz
from kibitz.core.errors import InputError, KibitzError
from kibitz.core.options import parsed
from kibitz.engine import Engine
from kibitz.engine.running import Search
from kibitz.search.limits import Signals
from kibitz.uci.options import UciOptions, option_lines, refuse_files, refuse_unknown
from kibitz.uci.protocol import (
    Channel,
    Go,
    Write,
    board_at,
    legal_only,
    parse_go,
    parse_option,
    parse_position,
)

if TYPE_CHECKING:
    from kibitz.position.board import Board
    from kibitz.search.report import Report

Command = Callable[["Session", str], None]


class Job:
    """Work on a thread of its own that `stop` ends: a search, a count, a bench."""

    def __init__(
        self, work: Callable[[Job], None], signals: Signals, endless: Callable[[], bool]
    ) -> None:
        self.signals, self.endless = signals, endless
        self.answered = False  # what remains to be done is no search any more
        self.thread = threading.Thread(target=work, args=(self,), name="uci job")
        self.thread.start()

    @property
    def busy(self) -> bool:
        """Whether it goes on and was not stopped."""
        return self.thread.is_alive() and not self.answered and not self.signals.stop.is_set()


class Session:
    """One GUI and one engine."""

    def __init__(self, write: Write, engine: Engine | None = None, *, remote: bool = False) -> None:
        self.engine = engine or Engine()
        self.options = UciOptions()
        self.channel = Channel(write)
        self.on_compiling: Callable[[bool], None] = lambda _: None  # begins, has ended
        self.until_close = ExitStack()  # what ends with the session
        self.remote = remote  # the GUI is at the other end of a network
        self._defaults = self.engine.settings, self.engine.options, self.options
        self._board: Board | None = None  # None: the start of the game, before anything is loaded
        self._job: Job | None = None
        self._announced = ""  # the evaluator that was announced
        self._problems: list[str] = []  # those that were

    # --- reading and writing --------------------------------------------------------------------

    def run(self, lines: Iterable[str]) -> None:
        """Obey lines until `quit` or their end; a search under way is answered even then."""
        try:
            for line in lines:
                self.channel.heard(line)
                if not self.obey(line.replace("\0", "")) or self.channel.gone:
                    return
        finally:
            self.close()

    def close(self) -> None:
        """Stop, answer, and let go of everything."""
        self.stop()
        if self._job is not None:
            self._job.thread.join()
        self.until_close.close()
        self.engine.close()
        self.channel.close()

    def obey(self, line: str) -> bool:
        """Do what a line says; False if it says to quit. Unknown words before a command go by."""
        words = line.split()
        for index, word in enumerate(words):
            if word == "quit":
                return False
            if word in COMMANDS:
                self._carry_out(COMMANDS[word], line.split(None, index + 1)[index + 1 :])
                return True
        if words:
            self.info(f"unknown command: {line.strip()[:80]!r}")
        return True

    def _carry_out(self, command: Command, rest: list[str]) -> None:
        with self._faults_reported():
            try:
                command(self, rest[0] if rest else "")
            except (KibitzError, OSError) as error:  # OSError: a path no system takes, for one
                self.info(str(error))

    @contextmanager
    def _faults_reported(self) -> Iterator[None]:
        """Say what went wrong in our code, and go on: an engine that ends has lost its game."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - with its traceback on standard error
            traceback.print_exc()
            self.info(f"error: {type(error).__name__}: {error}")

    def write(self, line: str) -> None:
        """Send a line; callable from any thread."""
        self.channel.write(line)
        if self.channel.gone:
            self.stop()

    def info(self, text: str) -> None:
        """Send a message for people."""
        self.write(self.channel.message(text))

    # --- loading and jobs -----------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether something runs that `stop` would end."""
        return self._job is not None and self._job.busy

    def refuse_while_busy(self, what: str) -> None:
        """Raise an InputError while something runs; else wait for its last words."""
        if self.busy:
            raise InputError(f"{what} is refused while searching", fix="send stop first")
        if self._job is not None:
            self._job.thread.join()

    def load(self) -> None:
        """Load rules, network and kernels, with a message if they must be compiled first."""
        with self._compiling_told():
            try:
                self.engine.ready()
            except KibitzError as error:
                self.info(str(error))
                self.engine.ready()  # with what it falls back to
            problems = self.engine.problems
            for problem in problems:
                if problem not in self._problems:
                    self.info(problem)
            self._problems = problems
            if self.engine.network != self._announced:
                self._announced = self.engine.network
                gc.freeze()  # what is loaded now is never garbage
                self.info(f"evaluator {self._announced}")

    @contextmanager
    def _compiling_told(self) -> Iterator[None]:
        """Say so if kernels must be compiled, or waited for; `quit` ends the program meanwhile."""
        from kibitz.jit import cache as kernelcache

        def tell(text: str) -> None:
            self.on_compiling(True)
            self.info(text)

        try:
            with kernelcache.announced_by(tell):
                yield
        finally:
            self.on_compiling(False)

    @property
    def board(self) -> Board:
        """The position; never changed, only replaced."""
        if self._board is None:
            self.load()
            from kibitz.position.board import Board

            self._board = Board(chess960=self.options.chess960)
        return self._board

    def start(
        self,
        work: Callable[[Job], None],
        signals: Signals | None = None,
        *,
        endless: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run work on a thread; it looks at its job's signals."""

        def guarded(job: Job) -> None:
            with self._faults_reported():
                try:
                    work(job)
                finally:
                    job.answered = True

        self._job = Job(guarded, signals or Signals(), endless)

    def stop(self, _: str = "") -> None:
        """End what is running; it answers by itself."""
        if self._job is not None:
            self._job.signals.stop.set()
        self.engine.stop()

    # --- commands -------------------------------------------------------------------------------

    def identify(self, _: str) -> None:
        """`uci`: who we are and what can be set."""
        about = f"id name Kibitz {kibitz.__version__}", "id author the Kibitz authors"
        for line in (*about, *option_lines(self._defaults, files=not self.remote), "uciok"):
            self.write(line)

    def ready(self, _: str) -> None:
        """`isready`: answered at once while searching, else when everything is loaded."""
        try:
            if not self.busy:
                self.refuse_while_busy("isready")
                self.load()
        except (KibitzError, OSError) as error:
            self.info(str(error))
        finally:
            self.write("readyok")

    def set_option(self, rest: str) -> None:
        """`setoption`: refused while searching."""
        given = parse_option(rest)
        if given is None:
            raise InputError("setoption", value=rest.strip(), fix="expected name ... value ...")
        self.refuse_while_busy("setoption")
        refuse_unknown(given[0])
        if self.remote:
            refuse_files(*given)
        options = parsed(self.options, *given)
        if options is None:
            self.engine.set_option(*given)
            if self.engine.needs_kernels:
                self.load()  # now, for a clock may run when it is next asked for a move
            return
        if options.log_file != self.options.log_file:
            self.channel.log_into(options.log_file)
        self.options = options
        if self._board is not None:
            self._board = self._board.copy()
            self._board.chess960 = options.chess960

    def new_game(self, _: str) -> None:
        """`ucinewgame`: nothing of the last game counts."""
        self.refuse_while_busy("ucinewgame")
        self.engine.new_game()

    def position(self, rest: str) -> None:
        """`position`: what to search next; a wrong one changes nothing."""
        place = parse_position(rest.split())
        if place is None:
            raise InputError("position", value=rest.strip(), fix="expected startpos or fen FEN")
        if self._board is None and not self.busy:
            self.load()
        self._board = board_at(place, chess960=self.options.chess960)

    def go(self, rest: str) -> None:
        """`go`: search, or count positions."""
        self.refuse_while_busy("go")
        asked = parse_go(rest.split())
        for note in asked.notes:
            self.info(note)
        if asked.perft is None and "perft" in rest.split():
            return  # how deep could not be read
        if asked.perft is not None:
            from kibitz.uci.console import count

            count(self, self.board, asked.perft)
            return
        with ExitStack() as without_search:
            without_search.callback(self._answer_anyhow)
            self.load()
            self._search(asked)
            without_search.pop_all()

    def _answer_anyhow(self) -> None:
        """Answer `go` where no search could begin: with any move."""
        from kibitz.uci.format import best_line

        move = None if self._board is None else next(iter(self._board.legal_moves), None)
        self.write(best_line(move, None, self.options.chess960))

    def _search(self, asked: Go) -> None:
        board, limits = self.board, asked.limits
        if limits is not None and limits.searchmoves:
            limits, wrong = legal_only(board, limits)
            if wrong:
                rest = "" if limits.searchmoves else "; all moves are searched"
                self.info(f"go searchmoves: not legal here: {' '.join(wrong)[:80]}{rest}")
        search = self.engine.begin(board, limits)

        def endless() -> bool:
            if limits is None:
                return False
            hit = search.signals.ponderhit.is_set()
            return not (limits.after_ponderhit() if hit else limits).ends_for(board.turn)

        self.start(lambda job: self._think(job, search), search.signals, endless=endless)

    def _think(self, job: Job, search: Search) -> None:
        """The search's thread: whatever happens, there is an answer."""
        from kibitz.uci.format import best_line, cache_text, over_line

        board, options, over = search.board, self.options, over_line(search.board)
        move, ponder = next(iter(board.legal_moves), None), None
        try:
            with self._compiling_told():  # `go mate` has kernels of its own
                result = search.run(lambda report: self._show(report, over))
            move, ponder = result.move, result.ponder
            cache = self.engine.cache_use
            verbose = options.verbose and not options.live
            if over is None and cache is not None:
                self.info(cache_text(cache))
            if over is None and (verbose or cache is not None):
                self._show(result.report, None, verbose=verbose)
        except (KibitzError, OSError) as error:
            self.info(f"error: {error}")
            if over is not None:
                self.write(over)
        finally:
            job.answered = True
            self.write(best_line(move, ponder, options.chess960))

    def _show(self, report: Report, over: str | None, verbose: bool | None = None) -> None:
        """Send a report; messages go first, as the last line before the answer has a score."""
        from kibitz.uci.format import info_lines, verbose_lines

        options = self.options
        if over is not None:
            self.write(over)
            return
        if report.no_mate and verbose is None:  # once
            self.info(f"no mate in {report.no_mate}")
        if options.live if verbose is None else verbose:
            for line in verbose_lines(report, options.chess960 or None):
                self.write(f"info string {line}")
        for line in info_lines(report, chess960=options.chess960, wdl=options.show_wdl):
            self.write(line)

    def ponderhit(self, _: str) -> None:
        """`ponderhit`: the move that was pondered on was played."""
        self.engine.ponderhit()

    def wait(self, _: str) -> None:
        """`wait`: read no further line until the search has ended."""
        if self._job is not None:
            if self.busy and self._job.endless():
                raise InputError("wait: the search might not end", fix="send stop")
            self._job.thread.join()

    def accept(self, _: str) -> None:
        """A command that is known and changes nothing."""


# Commands for people, and what carries them out in console.py.
CONSOLE = {"d": "draw", "eval": "evaluate", "~": "look"} | {
    word: word for word in ("bench", "comment", "gui")
}


def _console(word: str, name: str) -> Command:
    """A command for people, imported when it is used."""

    def call(session: Session, rest: str) -> None:
        from kibitz.uci import console

        session.refuse_while_busy(word)
        session.load()
        getattr(console, name)(session, rest)

    return call


COMMANDS: dict[str, Command] = {
    "uci": Session.identify,
    "isready": Session.ready,
    "setoption": Session.set_option,
    "ucinewgame": Session.new_game,
    "position": Session.position,
    "go": Session.go,
    "stop": Session.stop,
    "ponderhit": Session.ponderhit,
    "debug": Session.accept,
    "register": Session.accept,
    "wait": Session.wait,
    **{word: _console(word, name) for word, name in CONSOLE.items()},
}
