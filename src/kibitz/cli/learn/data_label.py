"""`kibitz data label` and `reanalyse`: games evaluated by an engine, or by our own search."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from cyclopts import Parameter

from kibitz.cli.explain.search import read_options, tell_idle_options
from kibitz.cli.learn.data import Places, refuse_mixing, some_places
from kibitz.cli.learn.data_import import readable_files
from kibitz.cli.output import EXIT_STOPPED, At, JsonFlag, NetworkFlag, at_least, emit, within
from kibitz.core.errors import InputError
from kibitz.core.log import Bar, graceful_stop, progress, say
from kibitz.core.places import Place
from kibitz.core.settings import load_table
from kibitz.core.workers import processors
from kibitz.data.batches.sample import check_rules
from kibitz.data.importing import KINDS, PLIES, Imported, count_games, read_all
from kibitz.data.labels.evaluating import Evaluating, Labelling, PlayJob, Teacher, TeacherJob
from kibitz.data.labels.labels import LabelModel
from kibitz.data.labels.teaching import LabelledGame, evaluated_by, label, relabel, source_of
from kibitz.data.openings import Opening, read_openings
from kibitz.data.shard import SUFFIX, Shard
from kibitz.data.store import Store, shards_in
from kibitz.engine.options import AUTODISCOVER, chosen, search_settings
from kibitz.nets.discover import named
from kibitz.nets.load import load_evaluator
from kibitz.search.mcts.rules.parameters import RULE_NAMES, RuleName, alternatives
from kibitz.search.method import for_targets, warm
from kibitz.search.options import option_of
from kibitz.uci.client import PATIENCE, ProgramFault
from kibitz.zero.selfplay.reanalyse import Reanalysis, reanalyse

# --- label ----------------------------------------------------------------------------------------

EXIT_MISSING = 1  # of a run in which something was skipped or dropped, and named
MOST_GAMES = 1 << 24
GAMES, SEED = 1000, 1
STANDARD: tuple[Opening, ...] = (Opening(),)

Work = Iterator[LabelledGame]


def label_games(
    *files: Annotated[
        At,
        Parameter(
            help="To evaluate: PGN, CSV, shards, folders, or -. Without any, games are played.",
            allow_leading_hyphen=True,
        ),
    ],
    output: Annotated[At, Parameter(name=["--output", "-o"], help="Folder for the shards.")],
    engine: Annotated[str, Parameter(help="The teacher: a UCI program and its arguments.")],
    games: Annotated[
        int | None, Parameter(help="Games to play, those already there included (1000).")
    ] = None,
    seed: Annotated[int | None, Parameter(help="The same seed plays the same games (1).")] = None,
    openings: Annotated[
        At | None, Parameter(help="EPD, PGN or lines of moves to start playing from.")
    ] = None,
    option: Annotated[
        tuple[str, ...], Parameter(help="Of the engine, as NAME=VALUE; may be repeated.")
    ] = (),
    setting: Annotated[
        tuple[str, ...],
        Parameter(name=["--set"], help="Of the work, as KEY=VALUE; may be repeated."),
    ] = (),
    patience: Annotated[float, Parameter(help="Seconds until an engine has hung.")] = PATIENCE,
    workers: Annotated[
        int | None, Parameter(help="Engines at the same time; one a processor unless given.")
    ] = None,
    plies: Annotated[int, Parameter(help="Positions in a shard, about.")] = PLIES,
    json: JsonFlag = False,
) -> int:
    """Have an engine evaluate every position of games; goes on where it was stopped.

    Settings: nodes, depth, lines (MultiPV), temperature. For games that are played, too: chess960,
    random_plies, random_share, win_cp, win_plies, draw_cp, draw_plies, draw_from, most_plies.
    """
    count = processors() if workers is None else workers
    within(1, MOST_GAMES, workers=count, plies=plies)
    if not patience > 0:
        raise InputError("--patience", value=patience, fix="give seconds, more than 0")
    command, options = tuple(shlex.split(engine)), tuple(read_options(option).items())
    teaching = Teaching(command, options, setting, patience, output, count, plies)
    if not files:
        return teaching.play(games, seed, openings, json)
    for name, value in (("--games", games), ("--seed", seed), ("--openings", openings)):
        if value is not None:
            fix = "leave it out: the games are those of the files"
            raise InputError(f"{name} is for games that are played", value=value, fix=fix)
    return teaching.evaluate(readable_files(files, (*KINDS, SUFFIX)), json)


@dataclass
class Teaching:
    """What both kinds of work share: the engine, where its evaluations go, and what came of it."""

    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    overrides: Sequence[str]
    patience: float
    output: Place
    workers: int
    plies: int
    counts: Counter[str] = field(default_factory=Counter)
    read: Imported = field(default_factory=Imported)

    def play(
        self, games: int | None, seed: int | None, openings: Place | None, as_json: bool
    ) -> int:
        """Play games with noise, every position evaluated."""
        total, number = GAMES if games is None else games, SEED if seed is None else seed
        within(1, MOST_GAMES, games=total)
        within(0, (1 << 40) - 1, seed=number)
        settings = load_table(Labelling, "label", self.overrides)
        settings.check()
        starts = STANDARD if openings is None else tuple(read_openings(openings))
        name, model = self._name(), LabelModel()
        source = source_of(name, self.options, settings, model, starts, number)
        job = PlayJob(
            self.command, self.options, settings, model, source, self.patience, starts, number
        )

        def work(stop: Callable[[], bool]) -> Work:
            return label(job, self.output, total, self.workers, stop, self.plies, self.counts)

        return self._run(work, Store([]), total, name, settings, as_json)

    def evaluate(self, files: list[Place], as_json: bool) -> int:
        """Evaluate the positions of games that exist."""
        refuse_mixing([path for path in files if path.suffix == SUFFIX], self.output)
        settings = load_table(Evaluating, "label", self.overrides)
        settings.check()
        name, model, store = self._name(), LabelModel(), Store(files, check=check_rules)
        source = evaluated_by(name, self.options, settings, model)
        job = TeacherJob(self.command, self.options, settings, model, source, self.patience)

        def work(stop: Callable[[], bool]) -> Work:
            shards = self._shards(store, model)
            return relabel(job, self.output, shards, self.workers, stop, self.plies, self.counts)

        return self._run(work, store, count_games(files), name, settings, as_json)

    def _shards(self, store: Store, model: LabelModel) -> Iterator[Shard]:
        for shard, piece in read_all(store, model):
            self.read = self.read.plus(piece)
            for text in piece.bad + piece.refused:
                say(text)
            yield shard

    def _run(
        self,
        work: Callable[[Callable[[], bool]], Work],
        store: Store,
        total: int | None,
        engine: str,
        wanted: Evaluating,
        as_json: bool,
    ) -> int:
        done, started = Counter[str](), time.monotonic()
        with graceful_stop() as stop, progress("games", total=total) as bar:
            for made in work(lambda: stop.requested):
                done["games" if made.game else "dropped"] += 1
                if made.game is None:
                    say(made.fault)
                else:
                    done["positions"] += len(made.game.plies)
                _show(bar, done["positions"], started, done.total() - done["positions"])
        seconds = time.monotonic() - started
        counts = {name: done[name] for name in ("games", "positions", "dropped")}
        counts |= {name: self.counts[name] for name in ("there", "copies")}
        read = {"skipped": len(self.read.bad), "empty": self.read.empty}
        read["refused"] = len(self.read.refused)
        speed = {"seconds": round(seconds, 1)}
        speed["positions_per_second"] = round(done["positions"] / max(seconds, 1e-9))
        about = {"engine": engine, "limit": wanted.limit, "output": str(self.output)}
        emit({**counts, **read, **store.facts, **speed, **about}, as_json=as_json)
        if stop.requested:
            return EXIT_STOPPED
        whole = not (done["dropped"] or self.read.refused or store.exit_code)
        return 0 if whole and done["games"] + self.counts["there"] else EXIT_MISSING

    def _name(self) -> str:
        """Start the engine once, to see that it works and what it calls itself."""
        if not self.command:
            raise InputError("--engine", value="", fix="name a UCI program")
        try:
            teacher = Teacher(self.command, dict(self.options), self.patience)
        except ProgramFault as error:
            what = f"the engine does not start: {error}"
            raise InputError(what, value=self.command[0]) from error
        teacher.close()
        return teacher.name or self.command[0]


def _show(bar: Bar, positions: int, started: float, games: int) -> None:
    rate = positions / max(time.monotonic() - started, 1e-9)
    bar.describe(f"{games:,} games, {positions:,} positions, {rate:,.0f}/s")
    bar.advance()


# --- reanalyse ------------------------------------------------------------------------------------

MOST_NODES = 4096  # as many as the Gumbel rule can plan


def reanalyse_games(
    *places: Places,
    output: Annotated[At, Parameter(name=["--output", "-o"], help="Folder for the new shards.")],
    network: NetworkFlag = AUTODISCOVER,
    nodes: Annotated[int, Parameter(help="Playouts for every position.")] = 64,
    rule: Annotated[RuleName | None, Parameter(help=f"{alternatives(RULE_NAMES)}.")] = None,
    preset: Annotated[str, Parameter(help="Settings to start from.")] = "default",
    option: Annotated[
        tuple[str, ...], Parameter(help="Of the search, as NAME=VALUE; may be repeated.")
    ] = (),
    values: Annotated[
        bool, Parameter(negative=(), help="Replace the values of positions, too.")
    ] = False,
    workers: Annotated[int, Parameter(help="Processes at the same time.")] = 1,
    json: JsonFlag = False,
) -> int:
    """Search the positions of stored games again; their policies become what the search found.

    The policy of a position is the visits of its moves or, with `--rule gumbel`, the completed-Q
    policy. Games, moves and results stay. Shards already in the output folder are not made again.
    """
    within(2, MOST_NODES, nodes=nodes)
    at_least(1, workers=workers)
    store = Store(shards_in(*some_places(places)), check=check_rules)
    refuse_mixing(store.paths, output)
    where = chosen(network)
    options = read_options(option)
    settings = search_settings(where, preset, rule or "", options)
    settings = for_targets(settings, (option_of(name).name for name in options))
    evaluator = load_evaluator(where)
    tell_idle_options(evaluator, settings, preset, rule)
    warm(evaluator, settings)
    total = sum(header.plies for _, header in store.headers())
    started, positions, shards = time.monotonic(), 0, 0
    work = reanalyse(store, output, Reanalysis(where, settings, nodes, values), workers)
    with graceful_stop() as stop, progress("positions", total=total) as bar:
        for _, plies, complete in work:
            positions, shards = positions + plies, shards + complete
            bar.advance(plies)
            if stop.requested:
                work.close()
                break
    seconds = time.monotonic() - started
    result = {
        "network": named(where),
        "shards": shards,
        "positions": positions,
        "seconds": round(seconds, 1),
    }
    speed = {"positions_per_second": round(positions / max(seconds, 1e-9))}
    emit({**result, **speed, **store.facts, "output": str(output)}, as_json=json)
    unfinished = shards + len(store.damaged) < len(store.paths)
    return EXIT_STOPPED if unfinished else store.exit_code
