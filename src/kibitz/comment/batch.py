"""Annotates files of games one by one, and goes on where an earlier run has stopped."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import chess.pgn

from kibitz.comment.analyse import OnPly
from kibitz.comment.annotate import TABLE, Style, annotate, signature
from kibitz.comment.cache import AnalysisCache
from kibitz.comment.marks import ANNOTATOR, signed
from kibitz.comment.searches import Effort
from kibitz.core.errors import InputError, KibitzError
from kibitz.core.files import refuse_folder
from kibitz.core.journal import GrowingFile
from kibitz.core.log import Bar, Stop, progress, say
from kibitz.core.places import Place, files_below
from kibitz.core.unpacking import COMPRESSED
from kibitz.core.workers import cluster, in_processes
from kibitz.engine import Engine
from kibitz.engine.options import chosen
from kibitz.nets.discover import at_work, files_of
from kibitz.position.pgn import BadGame, Game, parse_game, read_games, read_lines


class Stopped(Exception):  # noqa: N818 - no error, and no result either
    """The user has ended a run in the middle of a game."""


class Done(NamedTuple):
    """A game, annotated; or as it was, and why."""

    game: Game
    fault: str = ""


def annotate_file(
    source: Place,
    output: Path | None,
    engine: Engine,
    style: Style,
    stop: Stop,
    on_fault: Callable[[str], None] = say,
    more: Sequence[Engine] = (),
    on_bad: Callable[[BadGame], None] = lambda bad: say(str(bad)),
) -> Iterator[Game]:
    """The games of a file or of a folder's files, annotated; each is written before it is yielded.

    Those that an earlier run has left in the output come first. Nothing is compiled before the
    input and the output are known to be in order. `on_fault` is told of a game
    that a fault of ours has left bare, `on_bad` of one that cannot be read. `more` engines share
    the searching.
    """
    bad: list[BadGame] = []

    def skip(game: BadGame) -> None:
        bad.append(game)
        on_bad(game)

    by = signature(engine, style)
    if output is not None:
        check_output(source, output)
    files = _files(source, output)
    games = chain.from_iterable(read_games(file, skip) for file in files)
    first = next(games, None)
    if first is None:
        reason = f"{len(bad)} skipped" if bad else "it is empty"
        raise InputError("no game to annotate", value=str(source), fix=reason)
    games = chain([first], games)
    with ExitStack() as stack, progress(str(source), total=_count(files)) as bar:
        file = None if output is None else stack.enter_context(_opened(output))
        run = _Run(games, [engine, *more], style, by, stop, on_fault, bar, file)
        yield from run.games()
        if not run.new:
            say(f"{output}: all games are annotated")


@contextmanager
def _opened(output: Path) -> Iterator[GrowingFile]:
    """The output, which no other process may write meanwhile."""
    file = GrowingFile(output)
    try:
        if output.is_file() and not file.lock():
            fix = "wait for it, or give another -o"
            raise InputError("another process annotates into this file", value=str(output), fix=fix)
        yield file
    finally:
        file.close()


@dataclass
class _Run:
    """Games that are annotated one after the other, and their output."""

    source: Iterator[Game]
    engines: Sequence[Engine]
    style: Style
    by: str  # the signature
    stop: Stop
    on_fault: Callable[[str], None]
    bar: Bar
    output: GrowingFile | None
    new: int = 0

    def games(self) -> Iterator[Game]:
        """Those that an earlier run has left, then new ones, each written before it is yielded."""
        done = iter(()) if self.output is None else _done(self.output, self.by)
        for game in self.source:
            earlier = next(done, None)
            if earlier is not None and self.output is not None:
                _same(game, earlier, self.output.path)
                self.bar.advance()
                yield earlier
            elif cluster() is not None:
                rest = chain([game], self.source)
                for sent in _elsewhere(rest, self.engines[0], self.style, self.stop):
                    self.bar.advance()
                    yield self._written(sent)
            else:
                done_game = None
                if not self.stop.requested:
                    done_game = _one(game, self.engines, self.style, self.stop, self.bar)
                if done_game is None:
                    self.new += 1  # not all games are annotated
                    return
                yield self._written(done_game)

    def _written(self, done: Done) -> Game:
        """Write a game after those before it, and tell if it was left as it is.

        A crash costs only the one under way.
        """
        self.new += 1
        if done.fault:
            self.on_fault(done.fault)
        tags = done.game.tree.headers
        tags[ANNOTATOR] = signed(tags.get(ANNOTATOR, ""), self.by)  # where nothing was said, too
        if self.output is not None:
            self.output.add(f"{done.game}\n\n".encode(errors="replace"))
        return done.game


def check_output(source: Place, output: Path, flag: str = "-o") -> None:
    """Refuse an output that cannot be written, or would cost what is there."""
    if output.suffix.lower() in COMPRESSED:
        fix = f"end its name in .pgn, and pack it when it is whole ({output.stem})"
        raise InputError("the output is not written packed", value=str(output), fix=fix)
    if not output.parent.is_dir():
        fix = f"make it, or give another {flag}"
        raise InputError("no such folder for the output", value=str(output.parent), fix=fix)
    refuse_folder(output)
    if output.exists() and isinstance(source, Path) and source.exists() and output.samefile(source):
        raise InputError("the output is the input", value=str(output), fix=f"give another {flag}")


def _files(source: Place, output: Path | None) -> list[Place]:
    """A file, or the PGN files in a folder and those below it, by their names."""
    if not source.is_dir():
        return [source]
    files = [path for path in files_below(source, "*") if _is_pgn(path) and path != output]
    if not files:
        fix = "name a file, or a folder of files whose names end in .pgn, packed or not"
        raise InputError("no PGN file in the folder", value=str(source), fix=fix)
    return files


def _is_pgn(place: Place) -> bool:
    name = Path(place.name.lower())
    return (Path(name.stem) if name.suffix in COMPRESSED else name).suffix == ".pgn"


def _count(files: Sequence[Place]) -> int | None:
    """How many games files seem to have; not asked of what is far away."""
    if not all(isinstance(file, Path) and file.is_file() for file in files):
        return None
    lines = chain.from_iterable(map(read_lines, files))
    return sum(line.startswith("[Event ") for line in lines) or None


def _one(game: Game, engines: Sequence[Engine], style: Style, stop: Stop, bar: Bar) -> Done | None:
    """Annotate a game; None if the run was stopped before its end."""
    nodes = list(game.tree.mainline())
    title = f"game {game.number}, {game.tags.get('White', '?')} - {game.tags.get('Black', '?')}"
    bar.describe(title)
    if any(not node.move for node in nodes):
        say(f"{title}: a null move; the game is left without comments")
        bar.advance()
        return Done(game)

    def on_ply() -> None:
        bar.advance(1 / (len(nodes) + 1))
        if stop.requested:
            raise Stopped

    try:
        return _whole_or_bare(game, engines, style, on_ply)
    except Stopped:
        return None


def _whole_or_bare(
    game: Game, engines: Sequence[Engine], style: Style, on_ply: OnPly = lambda: None
) -> Done:
    """A game, annotated; as it was, with the reason, where that fails.

    A fault of ours in one game of a night's work costs no other; what the user can mend, and a
    broken engine, end the run.
    """
    bare = str(game)
    try:
        cache = AnalysisCache(engines[0], Effort(style.limits))
        return Done(annotate(game, engines[0], style, on_ply, engines[1:], cache).game)
    except (KibitzError, OSError, MemoryError, Stopped):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is named, and the game left
        where = traceback.extract_tb(error.__traceback__)[-1]
        fault = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        reason = f"game {game.number} is left as it is, by a fault of Kibitz: {fault}"
        return Done(replace(game, tree=parse_game(bare).tree), reason)


class Annotator:
    """Annotates games on a machine of a cluster; its engine stays from game to game."""

    def __init__(self, network: str, style: Style) -> None:
        self._network, self._style = network, style
        self._engine: Engine | None = None

    def __call__(self, sent: tuple[int, str]) -> tuple[str, str]:
        """A game, annotated, and what went wrong; one that passes a move is left as it is."""
        if self._engine is None:
            table = Effort(self._style.limits).table
            self._engine = Engine(at_work(self._network), search="alphabeta", multipv=2, hash=table)
        number, text = sent
        done = Done(replace(parse_game(text), number=number))
        if all(node.move for node in done.game.tree.mainline()):
            done = _whole_or_bare(done.game, [self._engine], self._style)
        return str(done.game), done.fault


def _elsewhere(games: Iterable[Game], engine: Engine, style: Style, stop: Stop) -> Iterator[Done]:
    """Games annotated by the processes of a cluster, in order."""
    if style.words is not TABLE:
        fix = "leave out --cluster, or the decoder"
        raise InputError(
            "a decoder's words come from this machine", value=style.words.name, fix=fix
        )
    network, sent = chosen(engine.options.weights), deque[Game]()

    def texts() -> Iterator[tuple[int, str]]:
        for game in games:
            sent.append(game)
            yield game.number, str(game)

    work, needs = Annotator(network, style), files_of(network)
    for text, fault in in_processes(
        work, texts(), 0, in_order=True, needs=needs, stopped=lambda: stop.requested
    ):
        yield Done(replace(sent.popleft(), tree=parse_game(text).tree), fault)


# --- going on -------------------------------------------------------------------------------------


def _done(output: GrowingFile, by: str) -> Iterator[Game]:
    """The games an earlier run has left, after one that a crash has cut was taken away."""
    content = output.read()
    if not content:
        return
    error = InputError(
        "the output exists and was made in another way",
        value=str(output.path),
        fix="give another -o, or remove it",
    )

    def refuse(_: BadGame) -> None:
        raise error

    if by.encode() not in content:
        raise error
    _cut_torn_game(output, content)
    for game in read_games(output.path, refuse):
        if not game.tags.get(ANNOTATOR, "").endswith(by):
            raise error
        yield game


def _cut_torn_game(output: GrowingFile, content: bytes) -> None:
    """Take away a last game that is not whole: tags and moves each end with an empty line."""
    whole = content.endswith(b"\n\n")
    last = content.rstrip(b"\n").rfind(b"\n\n") + 2 if whole else 0
    if not whole or content.startswith(b"[", last):
        starts = content.rfind(b"\n\n[") + 2
        output.cut(starts if starts > 1 else 0)


def _same(game: Game, other: Game, output: Path | None) -> None:
    """Refuse to go on with an output of other games."""
    if _moves(game.tree) != _moves(other.tree):
        fix = "give another -o, or remove the file"
        what = f"game {game.number} of the output is not that of the input"
        raise InputError(what, value=str(output), fix=fix)


def _moves(tree: chess.pgn.Game) -> list[str]:
    return [node.move.uci() for node in tree.mainline()]
