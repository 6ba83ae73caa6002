"""What the settings file says about playing, for each network: its tables `search` and `engine`.

settings.used() -> **chosen, file_options** -> Engine, players of matches, `kibitz search`
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kibitz import settings
from kibitz.engine.options import AUTODISCOVER, EngineOptions
from kibitz.search.params import Settings
from kibitz.search.presets import changes_of

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
    from kibitz.evaluator.discover import resolve

    return resolve(_options_for(None).engine.get("weights", "") if network in NAMELESS else network)


def file_options(network: str) -> FileOptions:
    """What the file sets for a network; nothing where there is no file."""
    from kibitz.evaluator.discover import short_name

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
