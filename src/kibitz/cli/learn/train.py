"""`kibitz train`, `cycle` and `curve`: train networks, in stages too, and show how it went."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from msgspec import structs

from kibitz.arena.match.elo import Pairs, Tally, elo_text, of_games, of_pairs
from kibitz.arena.match.game import Control
from kibitz.arena.match.spec import parse_player
from kibitz.arena.match.suites import Suite, run_suite, suite_of, summary
from kibitz.cli.output import (
    EXIT_STOPPED,
    FLAT,
    At,
    ForceFlag,
    JsonFlag,
    KeyFlags,
    at_least,
    columns,
    emit,
    key_flag,
    may_be_written,
    spell,
)
from kibitz.core.errors import InputError, did_you_mean, missing_extra
from kibitz.core.files import write_bytes
from kibitz.core.log import graceful_stop, progress, say
from kibitz.core.options import options_of
from kibitz.core.places import Place, place
from kibitz.core.settings import as_toml, used
from kibitz.nets.models.sizes import ADVICE
from kibitz.train.config import RECIPES, TrainingSettings, from_file
from kibitz.train.curve import figure, tables
from kibitz.train.metrics import Run, Strength, read_run
from kibitz.zero.folder import Folder

# --- train ----------------------------------------------------------------------------------------


SUITE_NODES = 1_000  # for each position of a suite, at the end
KINDS = {table.name: table.kind for table in options_of(TrainingSettings)}  # of the tables


def _flag(key: str, more: str = "") -> Any:
    """Declare a flag that sets a key of the settings file, if it is given."""
    table, _, name = key.partition(".")
    option = next(option for option in options_of(KINDS[table]) if option.name == name)
    usual = "" if option.default in ("", (), None) else f"; by default {option.default}"
    return key_flag(option, key, f"{usual}. {more}".rstrip())


@dataclass(frozen=True)
class TrainFlags(KeyFlags):
    """Settings of a training that have a flag of their own."""

    network: str | None = _flag("run.network", ADVICE)
    data: tuple[str, ...] | None = _flag("data.folders")
    output: Annotated[At | None, Parameter(name=["--output", "-o"])] = _flag("run.output")  # noqa: RUF009
    steps: int | None = _flag("run.steps")
    epochs: float | None = _flag("run.epochs")
    batch: int | None = _flag("run.batch")
    rate: float | None = _flag("schedule.rate")
    schedule: str | None = _flag("schedule.shape")
    warmup: int | None = _flag("schedule.warmup")
    optimiser: str | None = _flag("optimiser.kind")
    result_share: float | None = _flag("data.result_share")
    teacher: str | None = _flag("distill.teacher")
    average: str | None = _flag("average.kind")
    precision: str | None = _flag("run.precision")
    device: str | None = _flag("run.device")
    threads: int | None = _flag("run.threads")
    seed: int | None = _flag("run.seed")
    patience: int | None = _flag("run.patience")
    hours: float | None = _flag("run.hours")


NO_FLAGS = TrainFlags()


def train(
    *,
    flags: Annotated[TrainFlags, FLAT] = NO_FLAGS,
    recipe: Annotated[
        str | None,
        Parameter(help="Settings for a purpose: small, a first training on some thousand games."),
    ] = None,
    more: Annotated[
        list[str] | None, Parameter(name="--set", help="Any setting, table.key=value.")
    ] = None,
    games: Annotated[
        tuple[At, ...],
        Parameter(help="PGN (.zst, .gz) to import first, into OUTPUT-games; repeatable."),
    ] = (),
    suite: Annotated[
        tuple[Path, ...],
        Parameter(help="EPD file that the network solves at the end; repeatable."),
    ] = (),
    overfit: Annotated[
        bool, Parameter(help="Show the first batch again and again, as a check.")
    ] = False,
    resume: Annotated[bool, Parameter(help="Go on in the output folder.")] = False,
    allow_damaged: Annotated[
        bool, Parameter(help="If the last checkpoint is damaged, use one before.")
    ] = False,
    json: JsonFlag = False,
) -> int:
    """Train a network; Ctrl-C saves a checkpoint and ends with exit code 130."""
    from kibitz.train import keep_memory, wait_asleep

    wait_asleep()
    with torch_needed():
        from kibitz.train.loop import train as run
    keep_memory()
    if recipe is not None and recipe not in RECIPES:
        raise InputError("no such recipe", value=recipe, fix=did_you_mean(recipe, RECIPES))
    overrides = [*RECIPES.get(recipe or "", ()), *flags.overrides()]
    overrides += ["run.overfit=true"] if overfit else []
    overrides += more or []
    settings, suites = from_file(used(), overrides), [(path, suite_of(path)) for path in suite]
    if games:
        folders = *settings.data.folders, _imported(games, str(settings.run.output), resume)
        overrides.append(f"data.folders={as_toml(folders)}")
        settings = from_file(used(), overrides)
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
        result |= _tactics(suites, outcome.files) if not outcome.stopped else {}
        emit(result, as_json=json)
    return EXIT_STOPPED if outcome.stopped else 0


def _imported(games: tuple[Place, ...], output: str, resume: bool) -> Place:
    """Import games for a training into a folder beside its own; one that goes on has them."""
    from kibitz.data.importing import KINDS, Imported, files_in, import_pgn
    from kibitz.data.labels.labels import LabelModel

    folder = place(f"{output}-games")
    if resume and folder.exists():
        return folder
    if folder.exists():
        fix = f"give --data {folder}, --resume, or another --output"
        raise InputError("games are imported here already", value=str(folder), fix=fix)
    done = Imported()
    with progress("positions", total=None) as bar:
        for piece in import_pgn(files_in(games, KINDS), folder, LabelModel()):
            done = done.plus(piece)
            bar.advance(piece.plies)
    for text in done.bad + done.refused:
        say(text)
    if not done.games:
        names = ", ".join(map(str, games))
        raise InputError("no game to train on", value=names, fix="name PGN files with games")
    say(f"{done.games} games, {done.plies} positions imported into {folder}")
    return folder


def _tactics(suites: list[tuple[Path, Suite]], files: Sequence[Place]) -> dict[str, str]:
    """Tactical accuracy: the share of each suite that the network solves, by its playing form."""
    if not (suites and files):
        return {}
    control, results = Control(nodes=SUITE_NODES), {}
    player = parse_player(str(files[-1]))
    for path, suite in suites:
        total = summary(run_suite(suite.positions, player, control))
        share = 100 * total.solved / total.positions
        results[f"solved_of_{path.stem}"] = (
            f"{total.solved} of {total.positions} ({share:.1f} %) at {SUITE_NODES} nodes"
        )
    return results


@contextmanager
def torch_needed() -> Iterator[None]:
    """Say which extra brings torch where it is missing."""
    try:
        yield
    except ImportError as error:
        if error.name != "torch":
            raise
        raise missing_extra("training", "torch", "train") from error


# --- cycle ----------------------------------------------------------------------------------------


def cycle(
    file: Annotated[Path, Parameter(help="TOML file of stages; see docs/recipes.md.")],
    *,
    json: JsonFlag = False,
) -> int:
    """Do what is not done yet of a list of stages; Ctrl-C stops, the same command goes on."""
    with torch_needed():
        from kibitz.train import keep_memory
        from kibitz.zero.cycle import marker_of, read_cycle, read_marker, run_cycle
        from kibitz.zero.cycle_stages import KINDS
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
    force: ForceFlag = False,
    json: JsonFlag = False,
) -> None:
    """Print losses, accuracy and Elo over the steps of trainings, and draw them."""
    if not runs:
        raise InputError("no training to show", fix="name the folder of one")
    at_least(1, rows=rows)
    curves = [_with_ratings(read_run(location), location) for location in runs]
    wanted = may_be_written(output, force, "the figure")
    if wanted:
        write_bytes(output, figure(curves).encode())
    if json:
        drawn = str(output) if wanted else None
        emit({"runs": [_plain(run) for run in curves], "figure": drawn}, as_json=True)
        return
    for run in curves:
        for title, headings, listed in tables(run, rows):
            _curve_show(title, headings, [[_short(cell) for cell in row] for row in listed])
        if run.strength:
            _curve_show(f"{run.name}, strength", [*STRENGTH_HEADINGS], _strength(run))
    say(f"wrote {output}" if wanted else f"{output} is as it was")


def _with_ratings(run: Run, location: Path) -> Run:
    """Add the rating matches of a run of `kibitz learn`, each after the training before it."""
    folder = Folder(location)
    if not folder.exists:
        return run
    trained, learn = folder.trained(), folder.settings().learn
    for generation, rated in sorted(folder.rated().items()):
        step = sum(part.steps for number, part in trained.items() if number <= generation)
        for result in rated.results:
            tally = Tally(result.wins, result.draws, result.losses)
            pairs = Pairs(*result.pairs)
            match = of_pairs(pairs) if pairs.total else of_games(tally)
            run.strength.append(
                Strength(
                    step=step,
                    opponent=result.called or result.opponent,
                    score=tally.points / max(1, tally.games),
                    elo=match.elo,
                    low=match.low,
                    high=match.high,
                    interval=match.interval,
                    player=f"generation {generation}",
                    control=f"{learn.rating_nodes} nodes",
                )
            )
    return run


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
    strength = [structs.asdict(rating) for rating in run.strength]
    return {"name": run.name, "steps": run.steps, "figures": run.figures, "strength": strength}


def _short(cell: Any) -> Any:
    return f"{cell:.4g}" if isinstance(cell, float) and abs(cell) < 1000 else _whole(cell)


def _whole(cell: Any) -> Any:
    return round(cell) if isinstance(cell, float) else cell


def _strength(run: Run) -> list[list[Any]]:
    rows = []
    for rating in run.strength:
        elo = elo_text(rating.elo, rating.low, rating.high, rating.interval, places=0)
        score = f"{rating.score:.3f}"
        rows.append([rating.step, rating.player, rating.opponent, rating.control, score, elo])
    return rows
