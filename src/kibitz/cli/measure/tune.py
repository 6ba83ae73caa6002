"""`kibitz tune`: options tuned by experiment, and a match that says whether they are any better."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.arena.match.suites import suite_of
from kibitz.arena.tuning.config import Tuning, command_of, parameters_of
from kibitz.arena.tuning.loop import (
    check_effect,
    check_held_out,
    confirm,
    defaults_of,
    facts_of,
    measure_of,
)
from kibitz.arena.tuning.loop import tune as work
from kibitz.arena.tuning.report import PAGE, facts, standing, table, write_page
from kibitz.arena.tuning.study import SETTINGS, Study, check_method, settings_of
from kibitz.cli.measure.suite import say_skipped
from kibitz.cli.output import EXIT_STOPPED, FLAT, JsonFlag, KeyFlags, columns, emit, key_flag
from kibitz.core.errors import InputError
from kibitz.core.log import graceful_stop, say
from kibitz.core.options import options_of
from kibitz.core.settings import used
from kibitz.core.workers import processors


def _flag(key: str) -> Any:
    """Declare a flag that sets a key of the table `tune`, if it is given."""
    option = next(option for option in options_of(Tuning) if option.name == key)
    return key_flag(option, key)


@dataclass(frozen=True)
class TuneFlags(KeyFlags):
    """Settings of a tuning that have a flag of their own."""

    parameter: tuple[str, ...] | None = _flag("parameters")
    metric: str | None = _flag("metric")
    method: str | None = _flag("method")
    trials: int | None = _flag("trials")
    player: str | None = _flag("player")
    games: int | None = _flag("games")
    nodes: int | None = _flag("nodes")
    tc: str | None = _flag("tc")
    openings: str | None = _flag("openings")
    suite: tuple[str, ...] | None = _flag("suites")
    concurrency: int | None = _flag("concurrency")
    seed: int | None = _flag("seed")


NO_FLAGS = TuneFlags()
# What --spsa is short for, unless another flag says otherwise.
SPSA = (
    *('method="spsa"', 'parameters=["constants"]', "trials=1000", "games=16", "nodes=10000"),
    *("confirm=0", f"concurrency={processors()}"),
)


def tune(
    folder: Annotated[Path, Parameter(help="Where the tuning lives, with all it makes.")],
    *,
    flags: Annotated[TuneFlags, FLAT] = NO_FLAGS,
    spsa: Annotated[
        bool, Parameter(help="Numbers of alpha-beta by SPSA, at 10000 nodes; see the page.")
    ] = False,
    more: Annotated[
        list[str] | None, Parameter(name="--set", help="Any setting of [tune], key=value.")
    ] = None,
    status: Annotated[bool, Parameter(help="Only say how it stands.")] = False,
    json: JsonFlag = False,
) -> int:
    """Tune options; the same command again goes on, or shares the work with one that runs."""
    usual = SPSA if spsa and not (folder / SETTINGS).is_file() else ()
    overrides = [
        *usual,
        *flags.overrides(),
        *(override.removeprefix("tune.") for override in more or []),
    ]
    if status and not (folder / SETTINGS).is_file():
        raise InputError("no tuning", value=str(folder), fix="name the folder of one")
    tuning = settings_of(folder, used(), overrides)
    if spsa and tuning.method != "spsa":
        fix = "leave one of the two out"
        raise InputError("--spsa is a method of its own", value=tuning.method, fix=fix)
    check_method(tuning)
    parameters, same = parameters_of(tuning), facts_of(tuning)
    if not status:  # before anything is kept
        if tuning.metric == "loss":
            check_held_out(tuning)
        else:
            check_effect(tuning, parameters)
    if not status and tuning.metric in ("points", "required"):
        for file in map(Path, tuning.suites):
            say_skipped(file.name, suite_of(file).skipped)
    study = Study(folder, tuning, parameters)
    stopped = False
    if not status:
        study.same(same)
        with graceful_stop() as stop:
            if work(study, measure_of(tuning, folder), stop):
                confirm(study, stop)
            stopped = stop.requested
    _show(study, json)
    if stopped:
        say(f"stopped; go on with: kibitz tune {quote(str(folder))}")
    return EXIT_STOPPED if stopped else 0


def _show(study: Study, json: bool) -> None:
    """Print how it stands, and write the page."""
    state = standing(study)
    write_page(study, state)
    if json:
        emit(facts(study, state), as_json=True)
        return
    headings, rows = table(study, state)
    title = f"{study.root}: {state.done} of {study.tuning.trials} trials"
    emit({}, as_json=False, table=columns(headings, rows, title))
    names = (parameter.name for parameter in study.parameters)
    shares = ", ".join(
        f"{name} {share:.0%}" for name, share in zip(names, state.shares, strict=False)
    )
    lines = [f"importance: {shares}"] if shares else []
    lines += [f"figures: {study.root / PAGE}", "", state.toml or f"# {state.verdict}"]
    defaults = defaults_of(study)
    if state.best is not None and state.confirmation is None and state.best != defaults:
        purpose = "train with it" if study.tuning.metric == "loss" else "confirm"
        lines += ["", f"to {purpose}: {command_of(study.tuning, state.best, defaults)}"]
    sys.stdout.write("\n".join(lines) + "\n")
