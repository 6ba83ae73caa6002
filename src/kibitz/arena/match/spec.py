"""Players by name: `NAME[,option=value...]`, opened as often as games run at once.

`kibitz`, or `default`, is our engine with the network it finds, `shipped` with Kibitz's own;
`uniform`, `material` and network files are the same engine with that evaluator; `random` and
`greedy` need none. All of them play in this process.
`uci:COMMAND` is a UCI program, `xboard:COMMAND` one of the xboard protocol. Options that are not
the match's own are options of the engine or of the program. Our engine with `checkout=FOLDER` is
that of another checkout of Kibitz, in a process of its own.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from kibitz.arena.match.game import Control, parse_times
from kibitz.arena.match.player import (
    START_MS,
    EnginePlayer,
    GreedyPlayer,
    Player,
    RandomPlayer,
    UciPlayer,
    XboardPlayer,
)
from kibitz.core.errors import InputError, did_you_mean
from kibitz.core.files import crc32_of, local_path, sha256_of
from kibitz.core.provenance import commit
from kibitz.engine import Engine
from kibitz.engine.options import chosen, file_options
from kibitz.nets.discover import (
    NAMELESS,
    at_work,
    files_of,
    halves,
    named,
    shipped_names,
    take_part,
)
from kibitz.nets.load import SIMPLE, Backend
from kibitz.search.method import changes_of
from kibitz.search.options import Settings

BUILT_IN: dict[str, type[Player]] = {"random": RandomPlayer, "greedy": GreedyPlayer}
OWN_OPTIONS = ("name", "tc", "movetime", "nodes", "depth", "preset", "rule", "backend", "checkout")
PLAYERS = ("kibitz", "default", "shipped", "random", "greedy", "uci:COMMAND", "xboard:COMMAND")
PROGRAMS: dict[str, type[UciPlayer | XboardPlayer]] = {"uci": UciPlayer, "xboard": XboardPlayer}
HASH = 64  # MiB for an engine unless an option says another: several play at the same time


@dataclass(frozen=True)
class Spec:
    """A player as the user wrote it."""

    text: str  # as written
    kind: str  # random, greedy, engine, checkout, uci or xboard
    what: str  # evaluator, network file or command
    name: str
    control: Control | None = None  # its own, instead of the match's
    options: dict[str, str] = field(default_factory=dict)
    preset: str = "default"
    rule: str = ""
    backend: str = ""
    checkout: str = ""  # the folder of another Kibitz that plays
    is_named: bool = True  # False: a program, called by its command until it says its own name

    def engine(self) -> Engine:
        """Our own engine with this player's options; nothing is loaded yet."""
        changes = {
            "hash": HASH,
            **file_options(self.what).search,
            **changes_of(self.preset, self.rule),
        }
        if self.backend:
            changes["backend"] = self.backend
        engine = Engine(at_work(self.what), **changes)
        for name, value in self.options.items():
            engine.set_option(name, value)
        return engine

    @property
    def identity(self) -> str:
        """The player as written, what is in its network or program, its part of the settings."""
        if self.kind == "checkout":
            code = [*Path(self.checkout, "src").rglob("*.py")]
            return f"{self.text} #{commit(Path(self.checkout))} {_sum_of(code)}"
        if self.kind in PROGRAMS:
            return f"{self.text} #{_sum_of(program_files(self.what))}"
        if self.kind != "engine":
            return self.text
        file = file_options(self.what)
        set_there = file.search | {key: v for key, v in file.engine.items() if key != "weights"}
        written = "".join(f" {name}={value}" for name, value in sorted(set_there.items()))
        if self.what in SIMPLE:
            return f"{self.text}{written}"
        files = halves(self.what) or (self.what,)
        return f"{self.text} #{'+'.join(sha256_of(file)[:12] for file in files)}{written}"

    @property
    def network(self) -> str | None:
        """The network that plays, as a short name or a file; None for players without one."""
        return named(self.what) if self.kind == "engine" else None

    @property
    def files(self) -> list[str]:
        """The files that this player needs, wherever it plays."""
        return files_of(self.what) if self.kind == "engine" else []

    def facts(self) -> dict[str, Any]:
        """The network and the settings that are not the defaults, for results."""
        if self.kind == "checkout":
            return {"checkout": self.checkout, "commit": commit(Path(self.checkout))}
        settings = self.engine().settings.changed() if self.kind == "engine" else None
        return {"network": self.network, "settings": settings}

    def open(self, start_ms: float = START_MS) -> Player:
        """A player of this kind, with its own process or its own tree.

        A program has `start_ms` for every start.
        """
        if self.kind in BUILT_IN:
            return BUILT_IN[self.kind]()
        if self.kind == "engine":
            engine = self.engine()
            heeded = engine.settings.search in ("auto", "mcts")  # else a rule has no effect
            base = Settings().with_(**changes_of(self.preset, self.rule if heeded else ""))
            return EnginePlayer(engine, base)
        if self.kind == "checkout":
            return self._from_checkout(start_ms)
        return PROGRAMS[self.kind](shlex.split(self.what), self.options, start_ms)

    def _from_checkout(self, start_ms: float) -> UciPlayer:
        """The program of another checkout, with its own code and the network that is named."""
        network = {} if self.what in ("", "kibitz", *NAMELESS) else {"WeightsFile": self.what}
        options = {"Hash": str(HASH), **network, **self.options}
        player = UciPlayer([sys.executable, "-m", "kibitz", "uci"], options, start_ms)
        player.environment = {"PYTHONPATH": str(Path(self.checkout) / "src")}
        return player


def parse_player(text: str) -> Spec:
    """Read `NAME[,option=value...]`; the error names the part at fault."""
    head, *parts = text.split(",")
    if not head.strip():
        fix = "give a network, uci:PROGRAM or the like; see docs/matches.md"
        raise InputError("a player without a name", value=text, fix=fix)
    options: dict[str, str] = {}
    for name, value in (_option(text, part) for part in parts):
        if name in options:
            raise InputError(f"player {text}: {name} is given twice", value=value)
        options[name] = value
    kind, what = ("checkout", head.strip()) if "checkout" in options else _kind(head.strip())
    own = {name: options.pop(name) for name in OWN_OPTIONS if name in options}
    if own.get("backend", "auto") not in get_args(Backend):
        fix = did_you_mean(own["backend"], get_args(Backend))
        raise InputError("no such backend", value=own["backend"], fix=fix)
    name = own.get("name") or (
        Path(shlex.split(what)[0]).stem if kind in PROGRAMS else head.strip()
    )
    spec = Spec(
        text=text,
        kind=kind,
        what=what,
        name=Path(name).name if kind in ("engine", "checkout") else name,
        control=_control(own),
        options=options,
        preset=own.get("preset", "default"),
        rule=own.get("rule", ""),
        backend=own.get("backend", ""),
        checkout=_checkout(own) if kind == "checkout" else "",
        is_named="name" in own or kind not in PROGRAMS,
    )
    if kind == "engine":
        spec.engine()  # refuses options before any game has begun
        take_part(spec.what, later=True)
    elif kind in BUILT_IN and options:
        raise InputError(f"{kind} has no options", value=", ".join(options))
    return spec


def _option(text: str, part: str) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    if not equals or not name.strip():
        raise InputError(f"player {text}", value=part, fix="options are written name=value")
    return name.strip(), value.strip()


def program_files(command: str) -> list[Path]:
    """The file of a program, and those that are among its arguments."""
    words = shlex.split(command)
    found = [shutil.which(words[0]), *words[1:]] if words else []
    return [Path(word) for word in found if word and Path(word).is_file()]


def _sum_of(files: Iterable[Path]) -> str:
    """What is in some files; the same wherever their folder is."""
    return crc32_of("".join(map(sha256_of, sorted(files))).encode())


def _checkout(own: dict[str, str]) -> str:
    """The folder of another Kibitz, absolute."""
    folder = Path(own["checkout"]).expanduser().resolve()
    if not (folder / "src" / "kibitz" / "__main__.py").is_file():
        fix = "name the folder that has src/kibitz in it, as of git worktree add"
        raise InputError("no checkout of Kibitz", value=own["checkout"], fix=fix)
    for name in ("preset", "rule", "backend"):
        if name in own:
            fix = "give options of UCI"
            raise InputError(f"{name} of another checkout", value=own[name], fix=fix)
    return str(folder)


def _kind(head: str) -> tuple[str, str]:
    """Kind, and evaluator, network file or command."""
    if head in BUILT_IN:
        return head, head
    kind, colon, command = head.partition(":")
    if colon and kind in PROGRAMS:
        command = command.strip()
        if not command or shutil.which(shlex.split(command)[0]) is None:
            raise InputError("no such program", value=command, fix=f"give its path after {kind}:")
        return kind, command
    what = head if head in SIMPLE else chosen("" if head == "kibitz" else head)
    path = local_path(what)
    if what in SIMPLE or path is None or path.is_file() or halves(what) is not None:
        return "engine", what
    fix = did_you_mean(head, [*PLAYERS, *SIMPLE, *shipped_names()])
    raise InputError("neither a player nor a network", value=head, fix=fix)


def _control(own: dict[str, str]) -> Control | None:
    """The player's own time control, None if it has none."""
    control = parse_times(own["tc"]) if "tc" in own else Control()
    for name in ("movetime", "nodes", "depth"):
        if name in own:
            if not own[name].isdecimal() or not int(own[name]):
                raise InputError(name, value=own[name], fix="give a whole number from 1")
            control = replace(control, **{name: int(own[name])})
    return control if control.limited else None


def parse_players(texts: list[str]) -> list[Spec]:
    """Read several; players with the same name get numbers."""
    return with_unique_names([parse_player(text) for text in texts])


def needs_limits(spec: Spec) -> bool:
    """Whether a player thinks until something ends that, and has no limit of its own."""
    return spec.kind in ("engine", "checkout", "uci") and spec.control is None


def with_unique_names(specs: list[Spec]) -> list[Spec]:
    """The same players, those of a name that is taken with a number behind it."""
    apart: list[Spec] = []
    for spec in specs:
        names = {other.name for other in apart}
        number, name = 2, spec.name
        while name in names:
            name, number = f"{spec.name}-{number}", number + 1
        apart.append(replace(spec, name=name))
    return apart


def with_reported_names(texts: list[str], own_names: list[str]) -> list[Spec]:
    """Players by the names their programs give themselves, where the user has given none."""
    specs = [parse_player(text) for text in texts]
    pairs = zip(specs, own_names, strict=True)
    return with_unique_names(
        [spec if spec.is_named or not own else replace(spec, name=own) for spec, own in pairs]
    )
