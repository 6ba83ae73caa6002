"""Where the numbers of a measuring command come from: one mechanism for all that prints a result.

The command line begins a run, rooms say which networks take part, and whoever prints or writes a
result asks for it with all that: `described`.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import kibitz
from kibitz.core.errors import KibitzError
from kibitz.core.files import has_dates
from kibitz.core.workers import processors

KEY = "provenance"  # in results
MISSING = "missing"  # instead of a checksum: the file is gone, or damaged

Checksum: TypeAlias = Callable[[], str]


class _Run(NamedTuple):
    """A command that measures."""

    command: str
    started: float  # by the monotonic clock
    options: dict[str, Any]  # the seed that was given
    networks: dict[str, tuple[str, Checksum]]  # places and checksums by name


_runs: list[_Run] = []  # that goes on now, one at most


def begin(command: str) -> None:
    """Have results from now on say that this command made them."""
    _runs[:] = [_Run(command, time.monotonic(), {}, {})]


def end() -> None:
    """The command is over."""
    _runs.clear()


def use_seed(seed: object) -> None:
    """Name the seed of the command, if one runs; results that have one of their own keep it."""
    for run in _runs:
        run.options["seed"] = seed


def took_part(name: str, where: str, checksum: Checksum, *, later: bool) -> None:
    """Name a network that plays or evaluates; by its place if another one has its name.

    Its checksum is taken at once, or later when a result is told.
    """
    for run in _runs:
        listed = next((place for place, _ in run.networks.values() if place == where), None)
        if listed is None:
            text = checksum if later else partial(str, checksum())
            run.networks[where if name in run.networks else name] = (where, text)


def described(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result, with where it comes from if it is that of a command that measures."""
    if KEY in result or not _runs:
        return dict(result)
    return {**result, KEY: _provenance(_runs[0], result)}


def _provenance(run: _Run, result: Mapping[str, Any]) -> dict[str, Any]:
    about = {
        "version": kibitz.__version__,
        "commit": commit(Path(kibitz.__file__).parents[2]),
        "command": run.command,
        "seed": _seed_of(result, run.options.get("seed")),
        "networks": {name: _text(digest) for name, (_, digest) in sorted(run.networks.items())},
    }
    if has_dates():
        date = datetime.now(UTC).date().isoformat()
        seconds = round(time.monotonic() - run.started, 3)
        about |= {"processor": processor(), "cores": processors(), "date": date, "seconds": seconds}
    return about


def _text(checksum: Checksum) -> str:
    try:
        return checksum()
    except (KibitzError, OSError):
        return MISSING


def _seed_of(result: Mapping[str, Any], given: object) -> object:
    """The seed that a result or its settings name, else the command's."""
    settings = result.get("settings")
    inner = settings if isinstance(settings, Mapping) else {}
    return result.get("seed", inner.get("seed", given))


@cache
def commit(root: Path) -> str:
    """The commit of a checkout, with a + if files differ from it; empty if it is none."""
    if not (root / ".git").exists() or shutil.which("git") is None:
        return ""
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip()


@cache
def processor() -> str:
    """The name of the processor, as Linux has it, or its kind."""
    path = Path("/proc/cpuinfo")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    name = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return name[1] if name else platform.machine()
