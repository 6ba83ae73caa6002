"""The command line: the table of commands, and the flags that all of them take.

Each command is one thin file here, with arguments, progress and printing, and nothing else. This
module knows only their names, so that ``kibitz --help`` imports none of them.
"""

from __future__ import annotations

import errno
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cyclopts import (
    App,
    CycloptsError,
    Group,
    MissingArgumentError,
    Parameter,
    UnusedCliTokensError,
)
from cyclopts.argument import ArgumentCollection
from cyclopts.config import Dict

import kibitz
from kibitz.cli.output import BEGINNING, EXIT_STOPPED, note_seed, paths_here
from kibitz.core import provenance, settings, workers
from kibitz.core.errors import (
    ConfigError,
    InputError,
    KibitzError,
    did_you_mean,
    nearest,
    of_input,
    unreadable,
)
from kibitz.core.files import check_epoch, leave_out_dates
from kibitz.core.log import Level, open_closed_streams, output_is_lost, set_level
from kibitz.core.places import as_given, send_all
from kibitz.core.settings import FLAGS
from kibitz.jit.process import compile_for_next_start

EXIT_REFUSED = 2
EXIT_PIPE_CLOSED = 141
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HELP_FLAGS = {"--help", "-h", "--version"}
GLOBAL = ("--quiet", "--verbose", "--reproducible")  # what all commands have in common
REPEATED = ("--set", "--option")  # KEY=VALUE, as often as there are keys
WITH_VALUE = ("--config", "--cluster")  # these have one, too


class Command(NamedTuple):
    """Where a command lives, as ``module:function`` or ``module:app``, and its line of help."""

    home: str
    help: str
    shares_work: bool = False  # a cluster can do its work


SUBJECTS: dict[str, dict[str, Command]] = {  # all commands, in the order of help
    "Play": {
        "play": Command("kibitz.cli.play.play:play", "Play against the engine in the terminal."),
        "web": Command("kibitz.cli.play.apps:web", "Play, analyse and watch in the browser."),
        "lichess": Command("kibitz.cli.play.apps:lichess", "Play on Lichess as a bot."),
        "uci": Command("kibitz.cli.play.uci:uci", "Speak UCI with a GUI, here or over TCP."),
    },
    "Explain": {
        "annotate": Command(
            "kibitz.cli.explain.comment:annotate",
            "Annotate games in plain English.",
            shares_work=True,
        ),
        "comment": Command("kibitz.cli.explain.comment:comment", "Say what is true of one move."),
        "check": Command("kibitz.cli.explain.check:check", "Check what anybody says."),
        "analyse": Command("kibitz.cli.explain.search:analyse", "Analyse a position or a game."),
        "search": Command("kibitz.cli.explain.search:search", "Search a position, live."),
        "human": Command("kibitz.cli.explain.search:human", "Say what people of a rating play."),
        "mcp": Command("kibitz.cli.play.apps:mcp", "Give language models tools for chess."),
        "show": Command("kibitz.cli.measure.position:show", "Draw a position and say what it is."),
        "coach": Command("kibitz.cli.explain.coach:coach", "Learn from your own games."),
        "puzzle": Command(
            "kibitz.cli.explain.puzzle:puzzle",
            "Find puzzles in games; solve them.",
            shares_work=True,
        ),
    },
    "Learn": {
        "learn": Command(
            "kibitz.cli.learn.selfplay:learn",
            "Learn chess from nothing, by self-play.",
            shares_work=True,
        ),
        "data": Command(
            "kibitz.cli.learn.data:data",
            "Import, label, inspect and export games.",
            shares_work=True,
        ),
        "train": Command("kibitz.cli.learn.train:train", "Train a network on games."),
        "selfplay": Command(
            "kibitz.cli.learn.selfplay:selfplay", "Play a network against itself.", shares_work=True
        ),
        "net": Command(
            "kibitz.cli.learn.net:net", "Make, show, export, quantise, compare networks."
        ),
        "cycle": Command(
            "kibitz.cli.learn.train:cycle", "Train, average, test and save in stages."
        ),
        "curve": Command(
            "kibitz.cli.learn.train:curve", "Show how trainings went: tables, figure."
        ),
    },
    "Measure": {
        "match": Command(
            "kibitz.cli.measure.match:match",
            "Play matches: Elo, SPRT, tables, PGN.",
            shares_work=True,
        ),
        "strength": Command(
            "kibitz.cli.measure.strength:strength",
            "Measure a player: suites, a ladder.",
            shares_work=True,
        ),
        "suite": Command(
            "kibitz.cli.measure.suite:suite", "Solve test suites in EPD.", shares_work=True
        ),
        "technique": Command("kibitz.cli.measure.suite:technique", "Play endings that are won."),
        "tune": Command(
            "kibitz.cli.measure.tune:tune", "Tune options, and confirm it.", shares_work=True
        ),
        "bench": Command("kibitz.cli.measure.position:bench", "Measure the speed of this machine."),
        "perft": Command(
            "kibitz.cli.measure.position:perft", "Count the positions at a given depth."
        ),
    },
    "System": {
        "doctor": Command(
            "kibitz.cli.system.doctor:doctor",
            "Look what this machine has, what is missing, how to get it.",
        ),
        "compile": Command(
            "kibitz.cli.system.compile:compile_kernels",
            "Compile ahead what is usually needed, for this processor or a wheel.",
        ),
        "completion": Command(
            "kibitz.cli.system.compile:completion", "Print what completes words in a shell."
        ),
    },
}
COMMANDS = {name: command for commands in SUBJECTS.values() for name, command in commands.items()}
MEASURING = (*SUBJECTS["Measure"], "net", "puzzle")  # their JSON says where it comes from
PROGRAM = ("kibitz",)
IN_A_CHECKOUT = "it is in a checkout of the project now: python -m research."
MOVED = {  # commands of earlier versions, and what to type instead
    "experiment": f"{IN_A_CHECKOUT}contempt, .ablations or .scale (research/README.md)",
    "report": f"{IN_A_CHECKOUT}report (research/README.md)",
}
COMMON = Group("For all commands", sort_key=len(SUBJECTS))  # after what a command has of its own

app = App(
    name="kibitz",
    help="Plays chess, teaches itself to play, and says in plain English what is happening.",
    version=kibitz.__version__,
    default_parameter=Parameter(
        negative_iterable="", negative_bool=""
    ),  # no --empty-set beside --set
    result_action="return_value",
    exit_on_error=False,
    print_error=False,
    suppress_keyboard_interrupt=False,
)
app.meta.suppress_keyboard_interrupt = False  # not inherited, unlike the rest

for _place, (_subject, _commands) in enumerate(SUBJECTS.items()):
    _group = Group(_subject, sort_key=_place)
    for _at, (_name, _command) in enumerate(_commands.items()):
        app.command(_command.home, name=_name, help=_command.help, group=_group, sort_key=_at)


@app.meta.default
def launch(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    quiet: Annotated[bool, Parameter(group=COMMON, help="Say nothing but results.")] = False,
    verbose: Annotated[bool, Parameter(group=COMMON, help="Say more than usual.")] = False,
    config_file: Annotated[
        str | None,
        Parameter(
            name="--config",
            group=COMMON,
            help="File of settings; by default your own, '' for none.",
        ),
    ] = None,
    reproducible: Annotated[
        bool, Parameter(group=COMMON, help="Leave dates and measured times out of files.")
    ] = False,
    cluster: Annotated[
        str | None,
        Parameter(group=COMMON, help="Share out the work on a cluster of Ray: auto, or HOST:PORT."),
    ] = None,
) -> object:
    """Take what all commands have in common, then run the command."""
    # Where an argument may begin with a hyphen (`data import -`), these come as if they were one.
    quiet, verbose = quiet or "--quiet" in tokens, verbose or "--verbose" in tokens
    leave_out_dates(reproducible or "--reproducible" in tokens)
    typed = _typed(tokens)
    set_level(Level.QUIET if quiet else Level.VERBOSE if verbose else Level.NORMAL)
    if typed.own and not HELP_FLAGS & {*typed.own}:
        _use_settings(typed.common.get("--config", config_file))
        _join(typed.common.get("--cluster", cluster), typed.own[0])
    return app(typed.own)


class _Typed(NamedTuple):
    """A command line: the tokens of the command, and the values of flags that all commands have."""

    own: list[str]
    common: dict[str, str]

    @property
    def command(self) -> str | None:
        """The name of the command, if there is one."""
        return next((token for token in self.own if token not in HELP_FLAGS), None)


def _typed(tokens: Iterable[str]) -> _Typed:
    """Take the tokens apart; flags that all commands have may stand anywhere."""
    typed = _Typed([], {})
    remaining = iter(tokens)
    for token in remaining:
        name, equals, value = token.partition("=")
        if name in WITH_VALUE:
            after = value if equals else next(remaining, None)
            if after is None:
                raise InputError(name, fix="it needs a value; see kibitz --help")
            typed.common[name] = after
        elif token not in GLOBAL:
            typed.own.append(token)
    return typed


def _join(address: str | None, command: str) -> None:
    """Let a cluster do the work of the command that can be shared out."""
    if address is None:
        return
    if command in COMMANDS and not COMMANDS[command].shares_work:
        names = sorted(name for name, other in COMMANDS.items() if other.shares_work)
        fix = f"leave it out; these share out work: {', '.join(names)}"
        raise InputError("--cluster is not for this command", value=command, fix=fix)
    from kibitz.core.cluster import RayCluster

    workers.use_cluster(RayCluster(address))


def _use_settings(path: str | None) -> None:
    """Check the settings file and take the flags of commands from it; '' means no file."""
    app.config = (paths_here, note_seed)
    if path != "":
        settings.use_file(path)
    file = settings.used()
    if file is not None:
        flags = settings.flags(file)
        for name in flags:
            if name not in COMMANDS:
                where = f"{file}: [{FLAGS}]: unknown table"
                raise ConfigError(where, value=name, fix=did_you_mean(name, COMMANDS))
        app.config = (_FlagsOfFile(str(file), flags), paths_here, note_seed)


class _FlagsOfFile:
    """Gives a command the flags that the settings file has for it and the command line has not."""

    def __init__(self, source: str, flags: dict[str, Any]) -> None:
        self._source, self._flags, self._root = source, flags, app
        self._given = Dict(data={FLAGS: flags}, root_keys=(FLAGS,), source=source)

    def __call__(self, app: App, path: tuple[str, ...], arguments: ArgumentCollection) -> None:
        """What cyclopts calls before it binds arguments; `words` name the command."""
        table: Any = self._flags
        group = self._root
        for depth, word in enumerate(path):
            where = f"{self._source}: [{'.'.join((FLAGS, *path[:depth]))}]"
            unknown = next((name for name in table if name not in group), None)
            if unknown is not None and group.default_command is None:
                fix = did_you_mean(unknown, [name for name in group if name[0] != "-"])
                raise ConfigError(f"{where}: unknown table", value=unknown, fix=fix)
            group, table = group[word], table.get(word, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{where}: {word} is a table, found", value=table)
        flags = {name.lstrip("-") for argument in arguments for name in argument.names}
        for key in table:
            if key not in flags and key not in app:
                where = f"{self._source}: [{'.'.join((FLAGS, *path))}]: unknown flag"
                raise ConfigError(where, value=key, fix=did_you_mean(key, flags))
        self._given(app, path, arguments)


def _refuse_twice(tokens: Sequence[str]) -> None:
    """Refuse a key that is given two values by flags such as `--set` and `--option`."""
    spelled = [part for word in tokens for part in _flag_and_value(word)]
    keys: set[tuple[str, str]] = set()
    for flag, text in pairwise(spelled):
        key = text.partition("=")[0].strip()
        if flag in REPEATED and "=" in text:
            if (flag, key) in keys:
                raise InputError(f"{flag} {key}", value=text, fix="give it once")
            keys.add((flag, key))


def _flag_and_value(word: str) -> list[str]:
    """`--flag=value` as two words; any other word alone."""
    flag, equals, value = word.partition("=")
    return [flag, value] if equals and flag in REPEATED else [word]


def _begin(program: Sequence[str], tokens: Sequence[str], command: str | None) -> None:
    """Have the results of a command that measures say so; all programs of their own do."""
    if command in MEASURING:
        provenance.begin(shlex.join([*program, *tokens]))
    elif command and command not in COMMANDS:  # the program itself says it
        rest = [*tokens]
        rest.remove(command)
        provenance.begin(shlex.join([*program, *rest]))


def _check_command(command: str | None) -> None:
    """Refuse an unknown command, whatever flags stand around it.

    Left to cyclopts, `--help` would win, and without it every command be imported to look for a
    similar one.
    """
    if command is not None and command not in app:
        fix = MOVED.get(command) or did_you_mean(command, COMMANDS)
        raise InputError("no such command", value=command, fix=fix)


def _command_of(tokens: Sequence[str]) -> tuple[App, str]:
    """The command that the words name, and how it is typed."""
    path, group, typed = [word for word in tokens if word[0:1] != "-"], app, "kibitz"
    while path and path[0] in group:
        typed += f" {path[0]}"
        group = group[path.pop(0)]
    return group, typed


def _not_expected(unused: Sequence[str], tokens: Sequence[str], program: Sequence[str]) -> str:
    """Name the words that a command has no use for, and where its arguments are listed."""
    listed = " ".join(repr(word) for word in unused)
    typed = _command_of(tokens)[1]
    if program != PROGRAM:  # its name is no command of kibitz
        typed = " ".join((*program, *typed.split()[2:]))
    return f"not expected: {listed}; see {typed} --help"


def _unknown_flag(tokens: Sequence[str]) -> str:
    """Names a flag that the command has not, where one was taken for a file; or an empty text."""
    group, _ = _command_of(tokens)
    if group is app or group.default_command is None:
        return ""
    names = {name for argument in group.assemble_argument_collection() for name in argument.names}
    names |= {*HELP_FLAGS, *GLOBAL, *WITH_VALUE}
    flags = (word.partition("=")[0] for word in tokens if word.startswith("--") and word != "--")
    unknown = next((flag for flag in flags if flag not in names), None)
    close = nearest(unknown or "", sorted(names))
    hint = f". Did you mean {close}?" if close else "."
    return "" if unknown is None else f"Unknown option: {unknown}{hint}"


def main(arguments: Sequence[str] | None = None, program: Sequence[str] = PROGRAM) -> int:
    """Run the command line and return its exit code; what the user can mend takes one line.

    `program` is what was called, if the first argument is a program of its own.
    """
    workers.collect_seldom()
    open_closed_streams()
    code = _run(arguments, program)
    compile_for_next_start()
    try:
        send_all()
    except KibitzError as error:
        return _refuse(f"not all was sent, and it is kept here: {error}")
    if code == 0 and output_is_lost():
        return _refuse("the output is lost: standard output is closed")
    return code


def _run(arguments: Sequence[str] | None, program: Sequence[str]) -> int:
    tokens = sys.argv[1:] if arguments is None else list(arguments)
    if not tokens and sys.stdin is not None and not sys.stdin.isatty():
        tokens = ["uci"]  # a GUI has started us
    if not tokens:
        sys.stdout.write(BEGINNING.format(version=kibitz.__version__))
        return 0
    try:
        return _carry_out(program, tokens)
    except KeyboardInterrupt:
        return EXIT_STOPPED
    except BrokenPipeError:
        # The reader, `head` for one, has left: nothing more can be said, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE_CLOSED
    except OSError as error:
        if error.filename is None and error.errno in DISK_ERRORS:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _refuse(f"the output is lost: {error.strerror}")
        if error.filename is None or os.environ.get("KIBITZ_DEBUG") == "1":
            raise  # not about a file that could be named
        return _refuse(f"{error.strerror}: {os.fsdecode(error.filename)!r}")
    except unreadable() as error:
        if os.environ.get("KIBITZ_DEBUG") == "1":
            raise
        return _refuse(of_input(error, tokens))
    finally:
        joined = workers.cluster()
        if joined is not None:
            workers.use_cluster(None)
            joined.close()
        settings.use(None)
        leave_out_dates(False)
        provenance.end()
        app.config = ()


def _carry_out(program: Sequence[str], tokens: list[str]) -> int:
    """Run the command that the words name; what is wrong with them takes one line."""
    try:
        check_epoch()
        tokens = _with_command(tokens)
        command = _typed(tokens).command
        _begin(program, tokens, command)
        _check_command(command)
        _refuse_twice(tokens)
        result = app.meta(tokens)
        _flush()
    except MissingArgumentError as error:
        name = error.argument.name if error.argument else ""
        missing = f"{name} is missing" if error.keyword is None and name not in tokens else ""
        return _refuse(_unknown_flag(tokens) or missing or str(error))
    except UnusedCliTokensError as error:
        unused = error.unused_tokens or ()
        return _refuse(_unknown_flag(tokens) or _not_expected(unused, tokens, program))
    except CycloptsError as error:
        return _refuse(_unknown_flag(tokens) or str(error))
    except KibitzError as error:
        if os.environ.get("KIBITZ_DEBUG") == "1":
            raise
        if isinstance(error.value, (str, Path)):
            error.value = as_given(str(error.value))
        return _refuse(str(error))
    return result if isinstance(result, int) else 0


def _with_command(tokens: list[str]) -> list[str]:
    """The tokens with the command left out before a game or a position.

    >>> _with_command(["--quiet", "games/one.pgn.zst"]), _with_command(["8/8/8/8/8/8/8/K1k5 w"])[0]
    (['--quiet', 'annotate', 'games/one.pgn.zst'], 'analyse')
    """
    first = _typed(tokens).command or ""
    is_game = ".pgn" in [suffix.lower() for suffix in Path(first).suffixes]
    command = "annotate" if is_game else "analyse" if {" ", "/"} <= {*first} else ""
    place = tokens.index(first) if command else 0
    return tokens[:place] + [command] * bool(command) + tokens[place:]


def _flush() -> None:
    """Write what standard output has buffered, while an error can still be reported."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def _refuse(reason: str) -> int:
    line = as_given(" ".join(reason.split()))
    print(f"kibitz: error: {line}", file=sys.stderr)  # noqa: T201 - this is the command line
    return EXIT_REFUSED
