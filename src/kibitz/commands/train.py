"""`kibitz train`, `cycle` and `curve`: train networks, in stages too, and show how it went.

dataset and training rooms -> **command line**
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.commands.arguments import At, JsonFlag
from kibitz.commands.output import EXIT_STOPPED, columns, emit, spell
from kibitz.errors import InputError, did_you_mean, missing_extra
from kibitz.files import write_bytes
from kibitz.log import graceful_stop, say
from kibitz.match.elo import elo_text
from kibitz.network.sizes import ADVICE
from kibitz.places import Place
from kibitz.settings import used
from kibitz.training.curve import figure, tables
from kibitz.training.metrics import Run, read_run

# --- train ----------------------------------------------------------------------------------------

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


# --- cycle ----------------------------------------------------------------------------------------


def cycle(
    file: Annotated[Path, Parameter(help="TOML file of stages; see docs/recipes.md.")],
    *,
    json: JsonFlag = False,
) -> int:
    """Do what is not done yet of a list of stages; Ctrl-C stops, the same command goes on."""
    try:
        from kibitz.training.cycle import KINDS
        from kibitz.training.memory import keep_memory
        from kibitz.training.stages import marker_of, read_cycle, read_marker, run_cycle
    except ImportError as error:
        if error.name != "torch":
            raise
        raise missing_extra("training", "torch", "train") from error
    keep_memory()
    whole, stages = read_cycle(file, KINDS)
    with graceful_stop() as stop:
        finished = run_cycle(whole, stages, stop)
    rows = []
    for iteration in range(1, whole.iterations + 1):
        for name in stages:
            marker = read_marker(marker_of(Path(whole.folder), iteration, name))
            if marker is not None and marker.outputs is not None:
                made = [Path(path).name for path in marker.outputs]
                rows.append((iteration, name, round(marker.seconds), ", ".join(made)))
    _show(rows, json)
    return 0 if finished else EXIT_STOPPED


def _show(rows: list[tuple[int, str, int, str]], json: bool) -> None:
    headings = ("iteration", "stage", "seconds", "made")
    listed = [dict(zip(headings, row, strict=True)) for row in rows]
    emit({"stages": listed}, as_json=json, table=columns(headings, rows))


# --- curve ----------------------------------------------------------------------------------------

STRENGTH_HEADINGS = ("step", "player", "opponent", "limits", "score", "Elo")
FIGURE = Path("curve.svg")
LINE = 80  # columns of an ordinary terminal


def curve(
    *runs: Annotated[Path, Parameter(help="Folders of trainings or cycles, or metrics files.")],
    output: Annotated[At, Parameter(name=["--output", "-o"], help="The figure, as SVG.")] = FIGURE,
    rows: Annotated[int, Parameter(help="Most rows of each table.")] = 20,
    force: Annotated[
        bool, Parameter(negative="", help="Replace a figure that is there already.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Print losses, accuracy and Elo over the steps of trainings, and draw them."""
    if not runs:
        raise InputError("no training to show", fix="name the folder of one")
    if rows < 1:
        raise InputError("--rows", value=rows, fix="give 1 or more")
    found = [read_run(location) for location in runs]
    wanted = force or _may_be_written(output)
    if wanted:
        write_bytes(output, figure(found).encode())
    if json:
        drawn = str(output) if wanted else None
        emit({"runs": [_plain(run) for run in found], "figure": drawn}, as_json=True)
        return
    for run in found:
        for title, headings, listed in tables(run, rows):
            _curve_show(title, headings, [[_short(cell) for cell in row] for row in listed])
        if run.strength:
            _curve_show(f"{run.name}, strength", [*STRENGTH_HEADINGS], _strength(run))
    say(f"wrote {output}" if wanted else f"{output} is as it was")


def _may_be_written(output: Place) -> bool:
    """Ask before a file is replaced; without a terminal to ask on, refuse."""
    if not output.exists():
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        fix = "give --force to replace it, or another --output"
        raise InputError("the figure is there already", value=str(output), fix=fix)
    sys.stderr.write(f"{output} is there already; replace it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _curve_show(title: str, headings: list[str], rows: list[list[Any]]) -> None:
    """Print a table as so many as fit into a line of a terminal, each with the steps."""
    for chosen in _parts(headings, rows):
        picked = [[row[index] for index in chosen] for row in rows]
        table = columns([headings[index] for index in chosen], picked, title=title)
        emit({}, as_json=False, table=table)


def _parts(headings: list[str], rows: list[list[Any]]) -> list[list[int]]:
    """Return the columns of each part, the first column in all of them."""
    texts = [[heading, *(spell(row[at]) for row in rows)] for at, heading in enumerate(headings)]
    widths = [max(map(len, column)) + 2 for column in texts]  # a space on either side
    parts: list[list[int]] = []
    for at in range(1, len(headings)):
        if not parts or sum(widths[index] + 1 for index in [*parts[-1], at]) + 1 > LINE:
            parts.append([0])
        parts[-1].append(at)
    return parts


def _plain(run: Run) -> dict[str, Any]:
    strength = [vars(one) for one in run.strength]
    return {"name": run.name, "steps": run.steps, "figures": run.figures, "strength": strength}


def _short(cell: Any) -> Any:
    return f"{cell:.4g}" if isinstance(cell, float) and abs(cell) < 1000 else _whole(cell)


def _whole(cell: Any) -> Any:
    return round(cell) if isinstance(cell, float) else cell


def _strength(run: Run) -> list[list[Any]]:
    rows = []
    for one in run.strength:
        elo = elo_text(one.elo, one.low, one.high, one.interval, places=0)
        rows.append([one.step, one.player, one.opponent, one.control, f"{one.score:.3f}", elo])
    return rows
