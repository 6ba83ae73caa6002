"""A second process that compiles the playouts while the first compiles everything before them.

python -m kibitz.search.aside Sparse '{"search_rule": "puct", ...}'
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import msgspec

from kibitz import kernelcache
from kibitz.evaluator.inline import InlineEvaluator, inline_evaluator
from kibitz.evaluator.simple import Material, Uniform
from kibitz.kernellock import compile_lock
from kibitz.records import class_name_of
from kibitz.search.driver import Driver
from kibitz.search.params import OFF, Settings
from kibitz.search.playout import playouts
from kibitz.search.presets import to_behaviour, to_rule
from kibitz.search.speed import sparse_of_random_weights
from kibitz.search.tree import TreeMemory

# One evaluator of each class: what is compiled depends on nothing else of it.
EXAMPLES: dict[str, Callable[[], InlineEvaluator]] = {
    "Uniform": lambda: inline_evaluator(Uniform()),
    "Material": lambda: inline_evaluator(Material()),
    "Sparse": lambda: sparse_of_random_weights("sparse-64"),
}


def ask_for_playouts(evaluator: InlineEvaluator, settings: Settings) -> None:
    """Let another process compile the playouts of a search, if none of that kind is cached."""
    name = class_name_of(evaluator.record)
    if name in EXAMPLES:
        rule = {"search_rule": settings.search_rule, "sc_limit": settings.sc_limit}
        words = [name, msgspec.json.encode(rule).decode()]
        kernelcache.compile_aside(playouts, "kibitz.search.aside", words)


def compile_playouts(name: str, settings: Settings) -> None:
    """Put the playouts of a class of evaluators into the cache."""
    evaluator = EXAMPLES[name]()
    driver = Driver(TreeMemory(1), evaluator, to_rule(settings), to_behaviour(settings))
    kernelcache.compile_for(playouts, driver.arguments(0))


if __name__ == "__main__":
    compile_lock.ignored = True
    kernelcache.on_compile.append(lambda _name: None)
    changes = msgspec.json.decode(sys.argv[2], type=dict[str, str | int])
    compile_playouts(sys.argv[1], Settings(sc_limit=OFF).with_(**changes))
