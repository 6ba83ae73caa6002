"""The UCI loop: which work of the session each line from the GUI asks for.

A line goes one way: from here to the session, from there to the engine and its search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack

import kibitz
from kibitz.core.errors import InputError, KibitzError
from kibitz.core.options import parsed
from kibitz.uci.options import option_lines, refuse_files, refuse_unknown
from kibitz.uci.protocol import parse_go, parse_option, parse_position
from kibitz.uci.session import Session

Command = Callable[[Session, str], None]


def run(session: Session, lines: Iterable[str]) -> None:
    """Obey lines until `quit` or their end; a search under way is answered even then."""
    try:
        for line in lines:
            session.channel.heard(line)
            if not obey(session, line.replace("\0", "")) or session.channel.gone:
                return
    finally:
        session.close()


def obey(session: Session, line: str) -> bool:
    """Do what a line says; False if it says to quit. Unknown words before a command go by."""
    tokens = line.split()
    for index, word in enumerate(tokens):
        if word == "quit":
            return False
        if word in COMMANDS:
            rest = line.split(None, index + 1)[index + 1 :]
            _carry_out(session, COMMANDS[word], rest[0] if rest else "")
            return True
    if tokens:
        session.info(f"unknown command: {line.strip()[:80]!r}")
    return True


def _carry_out(session: Session, command: Command, rest: str) -> None:
    with session.faults_reported():
        try:
            command(session, rest)
        except (KibitzError, OSError) as error:  # OSError: a path no system takes, for one
            session.info(str(error))


# --- commands -------------------------------------------------------------------------------------


def identify(session: Session, _: str) -> None:
    """`uci`: who we are and what can be set."""
    about = f"id name Kibitz {kibitz.__version__}", "id author the Kibitz authors"
    for line in (*about, *option_lines(session.defaults, files=not session.remote), "uciok"):
        session.write(line)


def ready(session: Session, _: str) -> None:
    """`isready`: answered at once while searching, else when everything is loaded."""
    try:
        if not session.busy:
            session.refuse_while_busy("isready")
            session.load()
    except (KibitzError, OSError) as error:
        session.info(str(error))
    finally:
        session.write("readyok")


def set_option(session: Session, rest: str) -> None:
    """`setoption`: refused while searching."""
    option = parse_option(rest)
    if option is None:
        raise InputError("setoption", value=rest.strip(), fix="expected name ... value ...")
    session.refuse_while_busy("setoption")
    refuse_unknown(option[0])
    if session.remote:
        refuse_files(*option)
    options = parsed(session.options, *option)
    if options is not None:
        session.set_options(options)
        return
    session.engine.set_option(*option)
    if session.engine.needs_kernels:
        session.load()  # now, for a clock may run when it is next asked for a move


def new_game(session: Session, _: str) -> None:
    """`ucinewgame`: nothing of the last game counts."""
    session.refuse_while_busy("ucinewgame")
    session.engine.new_game()


def position(session: Session, rest: str) -> None:
    """`position`: what to search next; a wrong one changes nothing."""
    parsed_position = parse_position(rest.split())
    if parsed_position is None:
        raise InputError("position", value=rest.strip(), fix="expected startpos or fen FEN")
    session.set_up(parsed_position)


def go(session: Session, rest: str) -> None:
    """`go`: search, or count positions."""
    session.refuse_while_busy("go")
    request = parse_go(rest.split())
    for note in request.notes:
        session.info(note)
    if request.perft is not None:
        from kibitz.uci.console import count

        count(session, session.board, request.perft)
        return
    if "perft" in rest.split():
        return  # how deep could not be read
    with ExitStack() as without_search:
        without_search.callback(session.answer_with_any_move)
        session.load()
        session.search(request.limits)
        without_search.pop_all()


def stop(session: Session, _: str) -> None:
    """`stop`: end what is running; it answers by itself."""
    session.stop()


def ponderhit(session: Session, _: str) -> None:
    """`ponderhit`: the move that was pondered on was played."""
    session.lag.ponderhit()
    session.engine.ponderhit()


def wait(session: Session, _: str) -> None:
    """`wait`: read no further line until the search has ended."""
    if session.job is not None:
        if session.busy and session.job.endless():
            raise InputError("wait: the search might not end", fix="send stop")
        session.job.thread.join()


def accept(_: Session, __: str) -> None:
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
    "uci": identify,
    "isready": ready,
    "setoption": set_option,
    "ucinewgame": new_game,
    "position": position,
    "go": go,
    "stop": stop,
    "ponderhit": ponderhit,
    "debug": accept,
    "register": accept,
    "wait": wait,
    **{word: _console(word, name) for word, name in CONSOLE.items()},
}
