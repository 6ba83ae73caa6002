"""What computes a network, given in one line as lc0 does: `threads=2,device=cuda:0`.

Keys are separated by commas or blanks. Nothing heavy is imported before a network is opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from kibitz.core.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from kibitz.nets.evaluators.cache import PredictionCache
    from kibitz.nets.load import Evaluator

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
        _word(float32=False, bfloat16=True),
        "float32 or bfloat16",
        ("torch",),
        "bfloat16",
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
    """A network as BackendOptions want it, and a line for each option of no use to its backend."""
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
