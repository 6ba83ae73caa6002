"""The network of an engine: its evaluator, its cache, and the kernels that are loaded for it.

It stands between the options, which say what is wanted, and the search, which gets the evaluator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kibitz.engine.options import EngineOptions, chosen, open_evaluator
from kibitz.search.method import variant_of, warm

if TYPE_CHECKING:
    from kibitz.nets.evaluators.cache import PredictionCache
    from kibitz.nets.load import Evaluator
    from kibitz.search.options import Settings

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
