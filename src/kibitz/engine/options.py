"""The options of an engine beside those of its search (search/options.py), and what they open.

The settings file has a table `search` and a table `engine`, for all networks or for one. What the
options name is opened here: the network, its evaluator and cache, and the kernels for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from kibitz.core import settings
from kibitz.core.errors import InputError, did_you_mean
from kibitz.core.options import check, number, options_of, setting
from kibitz.engine.levels import (
    FULL_SKILL,
    STRONGEST,
    WEAKEST,
    HumanLevel,
    elo_of_skill,
    human_level_of,
)
from kibitz.search.method import changes_of, variant_of, warm
from kibitz.search.options import OPTIONS, Settings

if TYPE_CHECKING:
    from kibitz.nets.evaluators.cache import PredictionCache
    from kibitz.nets.load import Evaluator
    from kibitz.search.options import Settings

# --- what computes a network ----------------------------------------------------------------------
#
# What computes a network, given in one line as lc0 does: `threads=2,device=cuda:0`.
#
# Keys are separated by commas or blanks. Nothing heavy is imported before a network is opened.


Backend: TypeAlias = Literal["auto", "inline", "onnx", "torch"]
MOST_CACHED = 100_000_000  # positions

_DEVICE = re.compile(r"cpu|cuda(:\d{1,3})?")
_SWITCH = {"true": True, "false": False}


class Key(NamedTuple):
    """A key of BackendOptions."""

    read: Callable[[str], Any]  # the value, None if the text is none
    expected: str
    backends: tuple[str, ...]  # those that take it
    argument: str  # of the evaluator
    help: str


class OpenedNetwork(NamedTuple):
    """A network that is ready to evaluate."""

    evaluator: Evaluator
    cache: PredictionCache | None
    unused: list[str]  # a line for each option that this network's backend has no use for


def _whole(low: int, high: int) -> Callable[[str], int | None]:
    def read(text: str) -> int | None:
        plain = text.isascii() and text.isdecimal() and len(text) <= 9
        return int(text) if plain and low <= int(text) <= high else None

    return read


def _word(**meanings: Any) -> Callable[[str], Any]:
    return lambda text: meanings.get(text.lower())


def _devices(text: str) -> tuple[str, ...] | None:
    names = tuple(text.lower().split("+"))
    return names if all(_DEVICE.fullmatch(name) for name in names) else None


BOTH = ("onnx", "torch")
KEYS = {
    "backend": Key(
        _word(inline="inline", onnx="onnx", torch="torch"),
        "inline, onnx or torch",
        ("inline", *BOTH),
        "",
        "goes before the option Backend",
    ),
    "device": Key(
        _devices,
        "cpu, cuda, cuda:1",
        BOTH,
        "",
        "where to compute; onnx takes several: cuda:0+cuda:1",
    ),
    "threads": Key(_whole(1, 256), "1 to 256", BOTH, "threads", "processor threads of one batch"),
    "batch": Key(_whole(1, 65536), "1 to 65536", BOTH, "largest", "larger batches are split"),
    "padded": Key(
        _SWITCH.get, "true or false", ("onnx",), "padded", "all batches have the largest size"
    ),
    "precision": Key(
        _word(float32="float32", tf32="tf32", float16="float16", bfloat16="bfloat16"),
        "float32, tf32, float16 or bfloat16",
        ("torch",),
        "precision",
        "of the numbers",
    ),
    "graphs": Key(
        _SWITCH.get, "true or false", ("torch",), "graphs", "record the work of a batch once (CUDA)"
    ),
}


def parse_backend_options(text: str) -> dict[str, Any]:
    """Read the line; the error names the key at fault.

    >>> parse_backend_options("threads=2, device=cuda:0+cuda:1")
    {'threads': 2, 'device': ('cuda:0', 'cuda:1')}
    """
    options: dict[str, Any] = {}
    for part in re.split(r"[,\s]+", text.strip()):
        name, equals, value = part.partition("=")
        if not part:
            continue
        if name not in KEYS:
            raise InputError(
                "BackendOptions: no such key", value=name, fix=did_you_mean(name, KEYS)
            )
        read = KEYS[name].read(value) if equals else None
        if read is None:
            fix = f"expected {KEYS[name].expected}"
            raise InputError(f"BackendOptions: {name}", value=value, fix=fix)
        options[name] = read
    return options


def open_evaluator(
    weights: str,
    backend: Backend,
    options: str,
    cached: int,
    merged: bool = False,
    swapped: bool = False,
) -> OpenedNetwork:
    """Load a network; `cached` positions are remembered if its evaluator takes batches.

    `merged` is the cache's NNCacheMerge; `swapped` shows the network exchanged colours.
    """
    from kibitz.nets.evaluators.batched import ColoursSwapped
    from kibitz.nets.evaluators.inline import InlineEvaluator

    evaluator, unused = _loaded(weights, backend, options)
    inline = isinstance(evaluator, InlineEvaluator)
    if merged and (inline or not cached):
        unused.append("NNCacheMerge is of no use without a cache")
    if swapped and (isinstance(evaluator, InlineEvaluator) or not evaluator.sees.colours):
        unused.append(f"SwapColors is of no use to {evaluator.name}, which sees no colours")
    if isinstance(evaluator, InlineEvaluator):
        return OpenedNetwork(evaluator, None, unused)
    if swapped and evaluator.sees.colours:
        evaluator = ColoursSwapped(evaluator)
    if not cached:
        return OpenedNetwork(evaluator, None, unused)
    from kibitz.nets.evaluators.cache import CachedEvaluator

    cache = _cache_of(cached)
    return OpenedNetwork(CachedEvaluator(evaluator, cache, merged=merged), cache, unused)


def _loaded(weights: str, backend: Backend, options: str) -> tuple[Evaluator, list[str]]:
    """The network by BackendOptions, and a line for each option without effect in its backend."""
    from kibitz.nets.discover import resolve
    from kibitz.nets.load import backend_of, load_evaluator

    given = parse_backend_options(options)
    what = resolve(weights)
    used = backend_of(what, given.pop("backend", backend))
    fitting = {name: value for name, value in given.items() if used in KEYS[name].backends}
    idle = [name for name in given if name not in fitting]
    unused = [f"BackendOptions: {name} is of no use to {used}" for name in idle]
    devices = fitting.pop("device", ("cpu",))
    arguments = {KEYS[name].argument: value for name, value in fitting.items()}
    return load_evaluator(what, used, devices, **arguments), unused


def _cache_of(positions: int) -> PredictionCache:
    from kibitz.nets.evaluators.cache import PredictionCache
    from kibitz.nets.evaluators.cachetable import BUCKET_BYTES, SLOTS

    buckets = max(1, -(-positions // SLOTS))
    try:
        return PredictionCache(buckets * BUCKET_BYTES)
    except MemoryError as error:
        raise InputError("no memory for NNCacheSize", value=positions, fix="lower it") from error


# --- the options ----------------------------------------------------------------------------------


AUTODISCOVER = "<autodiscover>"


@dataclass(frozen=True)
class EngineOptions:
    """What an engine is given beside the settings of its search."""

    weights: str = setting(
        AUTODISCOVER,
        "network file or name, uniform or material; by default the newest that is found",
        uci="WeightsFile",
        visibility="always",
        names_files=True,
    )
    backend: Literal["auto", "inline", "onnx", "torch"] = setting(
        "auto", "what computes the network", uci="Backend"
    )
    backend_options: str = setting(
        "", "for onnx and torch: threads=2,device=cuda:0", uci="BackendOptions"
    )
    cache_size: int = number(
        "NNCacheSize",
        200_000,
        0,
        MOST_CACHED,
        0,
        "positions remembered for onnx and torch; 0: none",
    )
    merge_cached: bool = setting(
        False,
        "ChessCoach's keys: answers serve other histories, and clocks below 80 plies",
        uci="NNCacheMerge",
    )
    swap_colours: bool = setting(
        False, "the network sees White and Black exchanged, if it sees colours", uci="SwapColors"
    )
    limit_strength: bool = setting(
        False, "play as UCI_Elo says", uci="UCI_LimitStrength", visibility="always"
    )
    elo: int = number(
        "UCI_Elo",
        1500,
        WEAKEST,
        STRONGEST,
        0,
        "strength; measured in its order only",
        visibility="always",
    )
    skill: int = number("Skill Level", FULL_SKILL, 0, FULL_SKILL, 0, "20 is full strength")
    human_like: bool = setting(
        True, "levels from 1100 to 1900 play as people do; else by chance", uci="HumanLike"
    )

    def __post_init__(self) -> None:
        check(self)
        parse_backend_options(self.backend_options)

    @property
    def limited_elo(self) -> int | None:
        """The Elo figure to play at; None for full strength."""
        return self.elo if self.limit_strength else elo_of_skill(self.skill)

    @property
    def human_level(self) -> HumanLevel | None:
        """How people of the limited strength are played; None if it is no such strength."""
        elo = self.limited_elo if self.human_like else None
        return None if elo is None else human_level_of(elo)


class Allowance(Protocol):
    """What an engine may take of a machine that it shares with others."""

    def ask(self, settings: Settings, options: EngineOptions) -> None:
        """Raise an InputError where options take too much; else they count from now on."""

    def hold(self, settings: Settings, options: EngineOptions) -> None:
        """Count only these: what served others is closed."""


ALL_OPTIONS = options_of(EngineOptions) + OPTIONS  # of an engine and its search


# --- the settings file ----------------------------------------------------------------------------


NAMELESS = ("", AUTODISCOVER, "default")  # who says so names no network


@dataclass(frozen=True)
class PlayingTables:
    """The tables of the file."""

    search: Settings = field(default_factory=Settings)
    engine: EngineOptions = field(default_factory=EngineOptions)


class FileOptions(NamedTuple):
    """What the file sets, by names in Python."""

    search: dict[str, Any]
    engine: dict[str, Any]


def chosen(network: str) -> str:
    """The file or built-in evaluator that a name means; without a name, the settings file's."""
    from kibitz.nets.discover import resolve

    return resolve(_options_for(None).engine.get("weights", "") if network in NAMELESS else network)


def file_options(network: str) -> FileOptions:
    """What the file sets for a network; nothing where there is no file."""
    from kibitz.nets.discover import short_name

    path = settings.used()
    if path is None or settings.NETWORKS not in settings.parse(path):
        return _options_for(None)
    return _options_for(short_name(chosen(network)))


def _options_for(name: str | None) -> FileOptions:
    path = settings.used()
    tables = settings.file_values(PlayingTables, path, name, partial=True)
    return FileOptions(tables.get("search", {}), tables.get("engine", {}))


def search_settings(network: str, preset: str, rule: str, options: dict[str, str]) -> Settings:
    """Settings of a search: what the file says, a preset's and a rule's changes, then options."""
    changes = {**file_options(network).search, **changes_of(preset, rule)}
    return Settings().with_(**changes).parse(options)


# --- the network that is loaded -------------------------------------------------------------------

# What a network is: its name, and how open_evaluator is to compute it, in order.
LOADED_WITH = (
    "weights",
    "backend",
    "backend_options",
    "cache_size",
    "merge_cached",
    "swap_colours",
)


class LoadedNetwork:
    """What is loaded; nothing at first, and another network when the options name one."""

    def __init__(self) -> None:
        self.options: EngineOptions | None = None  # that it was loaded with
        self.source = ""  # a short name or a file
        self.name = ""  # what the evaluator is called
        self.cache: PredictionCache | None = None
        self.unused: list[str] = []  # a line for each option that it has no use for
        self._evaluator: Evaluator | None = None
        self._warm: set[tuple[str, ...]] = set()  # searches whose kernels are loaded for it

    @property
    def evaluator(self) -> Evaluator:
        """What evaluates positions; only after `load`."""
        assert self._evaluator is not None
        return self._evaluator

    @property
    def batched(self) -> bool:
        """Whether it is asked in batches."""
        from kibitz.nets.evaluators.inline import InlineEvaluator

        return not isinstance(self._evaluator, InlineEvaluator)

    def load(self, options: EngineOptions) -> bool:
        """Load the network of the options, if it is another one; returns whether it is.

        After an error what was loaded before is there still.
        """
        from kibitz.nets.discover import named

        if self.options is not None and _same_network(options, self.options):
            return False
        location = chosen(options.weights)
        computed = (getattr(options, name) for name in LOADED_WITH[1:])
        self._evaluator, self.cache, self.unused = open_evaluator(location, *computed)
        self.options, self.source = options, named(location)
        self.name = self._evaluator.name
        self._warm = set()
        return True

    def warm_up(self, settings: Settings) -> None:
        """Load or compile the kernels of a search, unless that was done before."""
        variant = self._variant(settings)
        if variant in self._warm:
            return
        warm(self.evaluator, settings)
        if not self._warm:
            self.clear_cache()  # of warming up, which is no part of the game
        self._warm.add(variant)

    def needs_kernels(self, settings: Settings) -> bool:
        """Whether all is loaded but the kernels of this search, perhaps to be compiled."""
        return bool(self._warm) and self._variant(settings) not in self._warm

    def clear_cache(self) -> None:
        """Forget what the evaluator said of earlier positions."""
        if self.cache is not None:
            self.cache.clear()

    def close(self) -> None:
        """Let go of it; its threads and memory go at once.

        Not left to the garbage collector, which never looks at what was frozen.
        """
        self._evaluator = self.cache = self.options = None
        self._warm = set()

    def _variant(self, settings: Settings) -> tuple[str, ...]:
        """Which compiled search the settings ask for."""
        return variant_of(settings, batched=self.batched)


def _same_network(options: EngineOptions, loaded: EngineOptions) -> bool:
    """Whether what was loaded with other options serves these, too."""
    return all(getattr(options, name) == getattr(loaded, name) for name in LOADED_WITH)
