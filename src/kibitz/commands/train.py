"""`kibitz train`: train a network of any family on shards of games.

dataset and training rooms -> **command line**
"""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

from cyclopts import Parameter

from kibitz.commands.data import At
from kibitz.commands.output import JsonFlag, emit
from kibitz.config import used
from kibitz.errors import InputError, did_you_mean, missing_extra
from kibitz.log import graceful_stop
from kibitz.network.sizes import ADVICE

EXIT_STOPPED = 130

Keys = Annotated[list[str] | None, Parameter(name="--set", help="Any setting, table.key=value.")]


def train(
    *,
    network: Annotated[
        str | None,
        Parameter(help=f"Size like sparse-512x256-threats, or a file to go on from. {ADVICE}"),
    ] = None,
    data: Annotated[
        list[str] | None, Parameter(help="Folder of shards; DIR=2 is shown twice an epoch.")
    ] = None,
    output: Annotated[
        At | None, Parameter(name=["--output", "-o"], help="Folder for all that is written.")
    ] = None,
    steps: Annotated[int | None, Parameter(help="Batches to train on.")] = None,
    epochs: Annotated[float | None, Parameter(help="Instead: times to go over the data.")] = None,
    batch: Annotated[int | None, Parameter(help="Positions in a batch of one process.")] = None,
    rate: Annotated[float | None, Parameter(help="Highest learning rate.")] = None,
    schedule: Annotated[str | None, Parameter(help="constant, cosine, steps ...")] = None,
    warmup: Annotated[int | None, Parameter(help="Steps of growing rate at the start.")] = None,
    optimiser: Annotated[str | None, Parameter(help="adamw, adam or sgd.")] = None,
    result_share: Annotated[
        float | None, Parameter(help="Share of the game's result in the value target.")
    ] = None,
    teacher: Annotated[
        str | None, Parameter(help="Float network file to learn from, besides the games.")
    ] = None,
    average: Annotated[str | None, Parameter(help="Average of weights: ema, swa, none.")] = None,
    precision: Annotated[str | None, Parameter(help="float32 or bfloat16.")] = None,
    device: Annotated[str | None, Parameter(help="cpu, cuda or auto.")] = None,
    threads: Annotated[int | None, Parameter(help="Threads of torch.")] = None,
    seed: Annotated[int | None, Parameter(help="Of weights and order.")] = None,
    recipe: Annotated[
        str | None,
        Parameter(help="Settings for a purpose: small, a first training on some thousand games."),
    ] = None,
    patience: Annotated[
        int | None, Parameter(help="End after so many validations without a better one.")
    ] = None,
    more: Keys = None,
    overfit: Annotated[
        bool, Parameter(negative="", help="Show the first batch again and again, as a check.")
    ] = False,
    resume: Annotated[bool, Parameter(negative="", help="Go on in the output folder.")] = False,
    allow_damaged: Annotated[
        bool, Parameter(negative="", help="If the last checkpoint is damaged, use one before.")
    ] = False,
    json: JsonFlag = False,
) -> int:
    """Train a network; Ctrl-C saves a checkpoint and ends with exit code 130."""
    from kibitz.training.memory import keep_memory, wait_asleep

    wait_asleep()
    try:
        from kibitz.training.config import RECIPES, from_file
        from kibitz.training.loop import train as run
    except ImportError as error:
        if error.name != "torch":
            raise
        raise missing_extra("training", "torch", "train") from error
    keep_memory()
    if recipe is not None and recipe not in RECIPES:
        raise InputError("no such recipe", value=recipe, fix=did_you_mean(recipe, RECIPES))
    given = {
        "run.network": network,
        "data.folders": _list(data),
        "run.output": output,
        "run.steps": steps,
        "run.epochs": epochs,
        "run.batch": batch,
        "schedule.rate": rate,
        "schedule.shape": schedule,
        "schedule.warmup": warmup,
        "optimiser.kind": optimiser,
        "data.result_share": result_share,
        "average.kind": average,
        "distill.teacher": teacher,
        "run.precision": precision,
        "run.device": device,
        "run.threads": threads,
        "run.seed": seed,
        "run.patience": patience,
        "run.overfit": "true" if overfit else None,
    }
    overrides = [f"{key}={value}" for key, value in given.items() if value is not None]
    settings = from_file(used(), [*RECIPES.get(recipe or "", ()), *overrides, *(more or [])])
    command = shlex.join(["kibitz", *sys.argv[1:]])
    with graceful_stop() as stop:
        outcome = run(settings, command, stop, resume, allow_damaged)
    result = {
        "steps": outcome.step,
        "best_step": outcome.best,
        "positions": outcome.positions,
        "seconds": round(outcome.seconds, 1),
        "positions_per_second": round(outcome.speed),
        **{f"training_{name}": value for name, value in outcome.losses.items()},
        **{f"validation_{name}": value for name, value in outcome.validation.items()},
        "files": ", ".join(str(path) for path in outcome.files),
    }
    if outcome.rank == 0:
        emit(result, as_json=json)
    return EXIT_STOPPED if outcome.stopped else 0


def _list(texts: list[str] | None) -> str | None:
    """Write texts as a TOML list."""
    if texts is None:
        return None
    quoted = ", ".join('"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts)
    return f"[{quoted}]"
