"""The settings file as a whole: which tables there are, and whether every key in them is right.

kibitz.toml -> **use_file** -> config.used(), which rooms read their tables from
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

from kibitz import config
from kibitz.errors import ConfigError
from kibitz.files import Location
from kibitz.log import say

FLAGS = "commands"  # the table of commands' flags, one table in it for each command

# Where the keys of each table are declared; only tables that a file has are imported.
TABLES = {
    "search": "kibitz.search.params:Settings",
    "engine": "kibitz.engine.options:EngineOptions",
    "label": "kibitz.games.labelling:Labelling",
    "run": "kibitz.training.config:RunSettings",
    "data": "kibitz.training.config:DataSettings",
    "optimiser": "kibitz.training.config:RunOptimiser",
    "schedule": "kibitz.training.config:RunSchedule",
    "loss": "kibitz.training.config:LossWeights",
    "average": "kibitz.training.config:AverageSettings",
    "distill": "kibitz.training.config:RunDistill",
}


def use_file(path: Location | None) -> None:
    """Check a settings file and use it from now on; by default the usual one, if there is one."""
    config.use(None)
    found = path or config.usual_file()
    if path is None and found is not None:
        say(f"settings: {found}")
    if found is not None:
        check(found)
        config.use(found)


def check(path: Location) -> None:
    """Refuse a file with any wrong key or value in any table."""
    document = config.parse(path)
    networks = document.get(config.NETWORKS, {})
    parts = [document, *(networks.values() if isinstance(networks, dict) else ())]
    present = {name for part in parts if isinstance(part, dict) for name in part}
    empty = dataclasses.make_dataclass("Empty", [])
    fields: list[tuple[str, Any]] = [
        (name, _class(home) if name in present else empty) for name, home in TABLES.items()
    ]
    config.told(dataclasses.make_dataclass("File", [*fields, (FLAGS, dict)]), path)
    for name, table in networks.items():
        _check_network(f"{path}: [{config.NETWORKS}.{name}", table)


def _class(home: str) -> Any:
    module, _, name = home.partition(":")
    return getattr(importlib.import_module(module), name)


def _check_network(where: str, table: dict[str, Any]) -> None:
    """Refuse what no network's table can decide: which network it is for, and flags."""
    if "weights" in table.get("engine", {}):
        fix = "it belongs in [engine]"
        raise ConfigError(f"{where}.engine]: unknown key", value="weights", fix=fix)
    if FLAGS in table:
        raise ConfigError(f"{where}]: unknown table", value=FLAGS, fix=f"give it as [{FLAGS}]")


def flags(path: Location) -> dict[str, Any]:
    """Return the commands' flags that a file sets, a table for each command."""
    found: dict[str, Any] = config.parse(path).get(FLAGS, {})
    return found
