"""Engine: a network, a searcher and options; what uci, web, match and programs of yours share.

Importing this module is cheap, and so is making an engine: the network and the compiled kernels
are loaded by `ready`, or by the first search.
"""

from __future__ import annotations

import os
import random
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from kibitz.core.errors import EvaluationError, FileError, InputError, KibitzError, did_you_mean
from kibitz.core.options import Value, find, options_of, read
from kibitz.core.workers import processors
from kibitz.engine.levels import HumanLevel, People, handicap_of, humanly
from kibitz.engine.options import (
    ALL_OPTIONS,
    AUTODISCOVER,
    LOADED_WITH,
    NAMELESS,
    Allowance,
    EngineOptions,
    LoadedNetwork,
    file_options,
)
from kibitz.engine.running import Analysis, Search
from kibitz.jit.process import start_early
from kibitz.search.limits import Limits
from kibitz.search.method import open_search, resolved, variant_of, without_effect
from kibitz.search.options import Settings

if TYPE_CHECKING:
    from kibitz.nets.evaluators.cache import CacheUse
    from kibitz.position.board import Board
    from kibitz.search.report import Listener, Report, Result
    from kibitz.search.searcher import BaseSearcher


class Engine:
    """Plays and analyses, one search at a time; every method may be called from any thread.

    `network` is a network file, "material" or "uniform"; options go by their names in Python.
    Those that are not given are the settings file's, if a program uses one, for this network.

    >>> with Engine("material", hash=16) as engine:
    ...     engine.play(Board("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"), nodes=2000).move
    <Move a1a8>
    """

    def __init__(self, network: str | os.PathLike[str] = AUTODISCOVER, **options: Value) -> None:
        self._settings, self._options = Settings(), EngineOptions()
        self._given: dict[str, Value] = {}  # options that were given, not the settings file's
        self.allowance: Allowance | None = None  # of a machine that is shared
        self._state, self._loading = threading.Lock(), threading.Lock()
        self._current: Search | None = None  # the one under way
        self._network = LoadedNetwork()
        self._searcher: BaseSearcher | None = None
        self._last: Report | None = None
        self._people: People | None = None  # once a level asks what they play
        self._chance = random.Random(self._settings.seed)  # of what levels draw
        start_early("kibitz.search.alphabeta.root")
        if not isinstance(network, str | os.PathLike):
            raise InputError("a network", value=network, fix="give a file's path or a name")
        self.configure(weights=os.fspath(network), **options)

    # --- options --------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """Settings of the search."""
        return self._settings

    @property
    def options(self) -> EngineOptions:
        """The engine's other options."""
        return self._options

    def configure(self, **options: Value) -> None:
        """Change options by their names in Python; all of them or, if one is wrong, none."""
        given = {**self._given, **options}
        file = file_options(str(given["weights"]))
        nameless = given["weights"] in NAMELESS
        engine_names = {option.name for option in options_of(EngineOptions)}
        own: dict[str, Any] = {name: value for name, value in given.items() if name in engine_names}
        own["weights"] = file.engine.get("weights", AUTODISCOVER) if nameless else own["weights"]
        rest = {name: value for name, value in given.items() if name not in engine_names}
        settings = Settings().with_(**{**file.search, **rest})
        self._change(settings, EngineOptions(**{**file.engine, **own}))
        self._given = given

    def set_option(self, name: str, value: Value = "") -> None:
        """Change an option by its UCI name, in any case; refused while searching.

        The value is text as UCI sends it, or a number or a truth value.
        """
        name = str(name)
        folded = " ".join(name.split()).casefold()
        if folded == "clear hash":
            return self.new_game()
        option = find(ALL_OPTIONS, "weightsfile" if folded == "evalfile" else folded)
        if option is None:
            fix = did_you_mean(name, [each.uci for each in ALL_OPTIONS])
            raise InputError("no such option", value=name, fix=fix)
        value = read(option, value) if isinstance(value, str) else value
        return self.configure(**{option.name: value})

    def _change(self, settings: Settings, options: EngineOptions) -> None:
        variant_of(settings)  # refuses combinations that make no search
        with self._state:
            self._refuse_while_searching("an option cannot change")
            if self.allowance is not None:
                self.allowance.ask(settings, options)
            if settings.seed != self._settings.seed:
                self._chance = random.Random(settings.seed)
            self._settings, self._options = settings, options

    def _refuse_while_searching(self, what: str) -> None:
        if self._current is not None and not self._current.signals.stop.is_set():
            raise InputError(f"{what} while the engine is searching", fix="stop it first")

    # --- loading --------------------------------------------------------------------------------

    def ready(self, limits: Limits | None = None) -> None:
        """Load the network and the kernels, if that is still to do; not while searching.

        The limits of the searches to come say which search that is, as few nodes have another.
        """
        with self._state:
            self._refuse_while_searching("nothing is loaded")
        self._prepared(self._searched, self._nodes_known(limits)).ready()

    @property
    def needs_kernels(self) -> bool:
        """Whether all is loaded but the kernels of the rule that is set, perhaps to be compiled."""
        return self._network.needs_kernels(self._searched)

    @property
    def network(self) -> str:
        """Name of what evaluates positions; empty before `ready`."""
        return self._network.name

    @property
    def source(self) -> str:
        """The network that was loaded: a short name or a file; empty before `ready`."""
        return self._network.source

    @property
    def cache_use(self) -> CacheUse | None:
        """What the prediction cache was good for in this game; None if the network has none."""
        cache = self._network.cache
        return None if cache is None else cache.use()

    @property
    def problems(self) -> list[str]:
        """What could not be used and is done without, one line each; known after `ready`."""
        return self.problems_beyond(Settings())

    def problems_beyond(self, base: Settings) -> list[str]:
        """The problems, but for options without effect which are as in `base`, a preset for one."""
        searcher = self._searcher
        if searcher is None:
            return []
        idle = without_effect(self._searched, base, batched=searcher.batched)
        threads, cores = self._settings.threads, processors()
        if threads > cores:
            idle.append(f"Threads {threads}: only {cores} processors; more slow each other down")
        return [*self._network.unused, *searcher.problems, *idle]

    @property
    def _searched(self) -> Settings:
        """Settings that searches have: those that are set, with what limited strength changes."""
        settings, elo = self._settings, self._options.limited_elo
        if elo is None:
            return settings
        if self._options.human_level is not None:
            return settings.with_(temperature=1.0)  # which has alpha-beta give all moves a score
        # The tree search's visits are what a handicap counts.
        search = "mcts" if settings.search == "auto" else settings.search
        handicap = handicap_of(elo)
        return settings.with_(
            search=search,
            temperature=handicap.temperature,
            root_policy_temperature=handicap.policy_temperature,
        )

    def _prepared(self, settings: Settings, nodes: int | None = None) -> BaseSearcher:
        """The searcher for these settings and nodes; it keeps its tree if it need not be new."""
        with self._loading:
            is_new = self._load()
            settings = resolved(settings, batched=self._network.batched, nodes=nodes)
            if self._searcher is None or is_new or not self._searcher.update_settings(settings):
                self._close_searcher()  # before the next one takes its memory
                self._warm_up(settings)
                self._searcher = self._new_searcher(settings)
            if (level := self._options.human_level) is not None:
                self._people_of(level)
            if self.allowance is not None:
                self.allowance.hold(self._settings, self._options)
            return self._searcher

    def _load(self) -> bool:
        """Load the network if another one is wanted; returns whether that was so."""
        from kibitz.nets.discover import FALLBACK

        try:
            return self._network.load(self._options)
        except KibitzError:
            self._go_on_with(self._network.options or EngineOptions(weights=FALLBACK))
            raise

    def _warm_up(self, settings: Settings) -> None:
        """Load the kernels of a search; a network whose numbers are not finite is given up."""
        from kibitz.nets.discover import FALLBACK

        try:
            self._network.warm_up(settings)
        except EvaluationError:
            self._go_on_with(EngineOptions(weights=FALLBACK))
            raise

    def _go_on_with(self, kept: EngineOptions) -> None:
        """Take the network of other options, so that there is still one to play with."""
        last: dict[str, Any] = {name: getattr(kept, name) for name in LOADED_WITH}
        self._options = replace(self._options, **last)
        self._given |= last

    def _new_searcher(self, settings: Settings) -> BaseSearcher:
        """Make a searcher; a setting that it cannot use is left out from now on, and named."""
        try:
            return open_search(self._network.evaluator, settings)
        except MemoryError as error:
            hash_size = Settings().hash
            self._leave_out(hash=hash_size)
            fix = f"going on with {hash_size}"
            raise InputError("no memory for Hash", value=settings.hash, fix=fix) from error
        except (FileError, InputError) as error:
            if settings.search == "bestfirst" and settings.bestfirst_file:
                error.what = f"BestFirstFile: {error.what}"
                self._leave_out(bestfirst_file="")
            raise

    def _leave_out(self, **defaults: Value) -> None:
        """Set settings back to their defaults."""
        self._given |= defaults
        self._settings = self._settings.with_(**defaults)

    def _close_searcher(self) -> None:
        """End the searcher, if there is one."""
        if self._searcher is not None:
            self._searcher.close()
            self._searcher = None

    def _people_of(self, level: HumanLevel) -> People:
        """What people of a level play, their networks loaded."""
        if self._people is None:
            self._people = People()
        self._people.ready(level.rating)
        return self._people

    # --- searching ------------------------------------------------------------------------------

    def play(
        self,
        board: Board,
        limits: Limits | None = None,
        *,
        nodes: int | None = None,
        movetime: int | None = None,
        depth: int | None = None,
    ) -> Result:
        """The move to play, what is expected after it, and a report; movetime in milliseconds."""
        return self.begin(board, _merged(limits, nodes, movetime, depth)).run()

    def best_at(self, board: Board, nodes: int) -> Report | None:
        """What `play` finds with so many nodes, sooner, for games by the thousand.

        The report is of the best move alone, and nothing can stop the search; None if the search
        that is set has no such way.
        """
        if self._options.limited_elo is not None:
            return None
        with self._state:
            self._refuse_while_searching("no second search")
        return self._prepared(self._searched, nodes).best_at(board, nodes)

    def analyse(
        self,
        board: Board,
        limits: Limits | None = None,
        *,
        nodes: int | None = None,
        movetime: int | None = None,
        depth: int | None = None,
    ) -> Analysis:
        """Reports as the search goes on; without a limit until the iterator is dropped."""
        chosen = _merged(limits, nodes, movetime, depth) or Limits(infinite=True)
        return Analysis(self.begin(board, chosen))

    def begin(self, board: Board, limits: Limits | None = None) -> Search:
        """Start a search that `run` carries out; one that was stopped before is waited for."""
        from kibitz.position.board import Board  # loads the compiler, as any search does

        if not isinstance(board, Board):
            fix = 'give a kibitz.Board, as Board("FEN")'
            raise InputError("a position to search", value=repr(board), fix=fix)
        search = Search(board.copy(), limits, self._carry_out)
        while True:
            with self._state:
                self._refuse_while_searching("no second search")
                running = self._current
                if running is None:
                    self._current = search
                    return search
            running.finished.wait()

    @property
    def searching(self) -> bool:
        """Whether a search is under way."""
        return self._current is not None

    def stop(self) -> None:
        """End the search within milliseconds; without one, nothing happens."""
        if (search := self._current) is not None:
            search.stop()

    def ponderhit(self) -> None:
        """The expected move was played: the engine's own clock runs from now on."""
        if (search := self._current) is not None:
            search.ponderhit()

    def stats(self) -> Report | None:
        """The report of the last search that ended; its `moves` hold every move's statistics."""
        return self._last

    @property
    def searcher(self) -> BaseSearcher | None:
        """The search that answers, with what it keeps between moves; None before `ready`."""
        return self._searcher

    def new_game(self) -> None:
        """Forget the tree: what comes next has nothing to do with what was."""
        with self._state:
            self._refuse_while_searching("no new game")
        self._network.clear_cache()
        if self._searcher is not None:
            self._searcher.new_game()

    def close(self) -> None:
        """Stop, end threads, close files and the network; a later search opens them again."""
        if (search := self._current) is not None:
            search.stop()
            search.finished.wait()
        with self._loading:
            self._close_searcher()
            self._network.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _nodes_known(self, limits: Limits | None) -> int | None:
        """The nodes that a search is to have; None where something else ends it, too."""
        if limits is None or limits.depth is not None or limits.mate is not None:
            return None
        return None if self._options.human_level is not None else limits.nodes

    def _carry_out(self, search: Search, on_report: Listener | None) -> Result:
        """Carry out a search: what `Search.run` does."""
        limits, elo = search.limits, self._options.limited_elo
        level = self._options.human_level
        if elo is not None:
            most, limits = (level or handicap_of(elo)).nodes, limits or Limits()
            limits = replace(limits, nodes=min(limits.nodes or most, most))
        settings = self._searched
        if limits is not None and limits.lines is not None:
            settings = settings.with_(multipv=min(settings.multipv, limits.lines))
        try:
            searcher = self._prepared(settings, self._nodes_known(limits))
            searcher.ready()  # before its clock runs
            search.searcher = searcher
            result = searcher.search(search.board, limits, on_report, search.signals)
            self._last = result.report
            if level is not None:
                shares = self._people_of(level).shares(search.board, level.rating)
                result = humanly(result, shares, level, self._chance)
            search.hold()
            return result
        finally:
            search.searcher = None
            with self._state:
                self._current = None
            search.finished.set()


def _merged(
    limits: Limits | None, nodes: int | None, movetime: int | None, depth: int | None
) -> Limits | None:
    """Limits with those that were given by name."""
    given: dict[str, Any] = {"nodes": nodes, "movetime": movetime, "depth": depth}
    named = {name: value for name, value in given.items() if value is not None}
    return replace(limits or Limits(), **named) if named else limits
