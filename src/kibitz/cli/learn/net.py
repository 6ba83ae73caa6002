"""`kibitz net`: list, make, show, export, quantise, calibrate and compare networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cyclopts import App, Parameter

from kibitz.cli.output import ForceFlag, JsonFlag, at_least, columns, emit, may_be_written
from kibitz.core.errors import InputError
from kibitz.core.log import say
from kibitz.nets import files as network_files
from kibitz.nets.card import NetworkCard, is_leela, stem_of
from kibitz.nets.discover import SHIPPED_FOLDER, NetworkFile, discover, discovered, resolve, shipped
from kibitz.nets.lc0 import LeelaFile
from kibitz.nets.models import make
from kibitz.nets.models.make import PolicyPrecision
from kibitz.nets.models.sizes import ADVICE

if TYPE_CHECKING:
    from kibitz.nets.encodings.leaves import Leaves
    from kibitz.nets.evaluators.batched import BatchedEvaluator

net = App(
    name="net",
    help="List, make, show, export, quantise and compare networks.",
    help_epilogue=f"Sizes. {ADVICE}",
    result_action="return_value",
)

LISTED = ("name", "size", "encoding", "precision", "parameters", "positions", "file")

Positions = Annotated[int, Parameter(help="Compare on so many positions.")]
Source = Annotated[
    Path | None,
    Parameter(name="--from", help="Take them from a FEN or EPD file, not random games."),
]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"], help="File to write.")]


@net.command(name="list")
def list_(*, json: JsonFlag = False) -> None:
    """List shipped networks, then those found where Kibitz looks; * is what it takes by itself."""
    default = discover()
    rows = [_listed(network, default) for network in (*shipped(), *discovered())]
    headings = ("", "name", "size", "encoding", "precision", "parameters", "trained on", "file")
    table = [["*" if row["taken"] else "", *(row[name] for name in LISTED)] for row in rows]
    emit({"taken": default, "networks": rows}, as_json=json, table=columns(headings, table))
    if not rows:
        say(f"no network here: {default} is played with; see kibitz net new, kibitz train")


def _listed(network: NetworkFile, default: str) -> dict[str, Any]:
    card = network.card
    facts = {name: getattr(card, name) for name in ("family", "size", "encoding", "precision")}
    return {
        "name": stem_of(network.file) if network.shipped else card.name,
        "shipped": network.shipped,
        "taken": str(network.file) == default,
        **facts,
        "parameters": card.parameters,
        "positions": card.provenance.positions,
        "date": card.provenance.date,
        "licence": card.licence,
        "sha256": card.sha256,
        "file": str(network.file),
    }


@net.command
def new(
    size: Annotated[str, Parameter(help="Like sparse-512-threats; below is which to take.")],
    *,
    output: Output = None,
    name: Annotated[str, Parameter(help="Its name; the size by default.")] = "",
    seed: Annotated[int, Parameter(help="Seed of the random weights.")] = 0,
    force: ForceFlag = False,
    json: JsonFlag = False,
) -> None:
    """Write a network with random weights."""
    location = output or Path(f"{size}.safetensors")
    if not may_be_written(location, force, "a network"):
        say(f"{location} is as it was")
        return
    emit(_described(location, make.create(size, location, name, seed)), as_json=json)


@net.command
def show(
    file: Annotated[
        str,
        Parameter(
            help="A .safetensors, .onnx or .pb.gz file, or a name: default, shipped, a network's."
        ),
    ],
    *,
    json: JsonFlag = False,
) -> None:
    """Say what a network is, after checking every byte of its file."""
    path = _file(file)
    emit(_described(path, network_files.read_card(path)), as_json=json)


def _file(name: str) -> Path:
    """The file that a network's name means."""
    from kibitz.nets.load import SIMPLE, refuse_unknown

    path = resolve(name)
    if path in SIMPLE:
        raise InputError("a built-in evaluator has no file", value=name, fix="name a network")
    refuse_unknown(path)
    return Path(path)


def _own(file: Path) -> Path:
    """Where what is made from a network goes: beside it, or here if it is a shipped one."""
    return Path(file.name) if file.parent == SHIPPED_FOLDER else file


def _described(location: Path, card: NetworkCard) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(card)
    heads, provenance = facts.pop("heads"), facts.pop("provenance")
    shown = {"file": str(location), "bytes": location.stat().st_size, **facts}
    shown["heads"] = ", ".join(
        name if value is True else f"{name} {value}" for name, value in heads.items() if value
    )
    return shown | {name: value for name, value in provenance.items() if value}


@net.command
def join(
    value: Annotated[str, Parameter(help="A sparse network.")],
    policy: Annotated[
        str | None,
        Parameter(help="Another one of its encoding and precision; none: all moves are alike."),
    ] = None,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="File to write.")],
    name: Annotated[str, Parameter(help="Its name; that of the file by default.")] = "",
    licence: Annotated[str, Parameter(help="Of the new network; the first one's by default.")] = "",
    json: JsonFlag = False,
) -> None:
    """Write a sparse network with the value of one and the policy of another, or none."""
    chooser = None if policy is None else _file(policy)
    card = make.join(_file(value), chooser, output, name or output.stem, licence)
    emit(_described(output, card), as_json=json)


@net.command
def export(
    file: Annotated[str, Parameter(help="A float .safetensors network file, or Leela's .pb.gz.")],
    *,
    output: Output = None,
    json: JsonFlag = False,
) -> None:
    """Write the ONNX form of a convolutional network, beside its file unless said otherwise."""
    path = _file(file)
    own = _own(path)
    location = output or own.with_name(f"{stem_of(own)}.onnx")
    if is_leela(path):
        leela = LeelaFile(path)
        network_files.save_onnx(location, leela.onnx(), leela.card)
    else:
        make.export(path, location)
    emit(_described(location, network_files.read_card(location)), as_json=json)


@net.command
def quantise(
    file: Annotated[str, Parameter(help="A float network: sparse .safetensors, or .onnx.")],
    *,
    output: Output = None,
    policy: Annotated[
        PolicyPrecision, Parameter(help="Precision of a sparse network's policy.")
    ] = "int8",
    positions: Positions = 10_000,
    source: Source = None,
    json: JsonFlag = False,
) -> None:
    """Write the integer form of a network and say what is lost."""
    from kibitz.nets.evaluators.compare import difference, leaves_from
    from kibitz.nets.load import load_batched

    path = _file(file)
    card = network_files.read_card(path)
    location = output or _own(path).with_name(f"{path.stem}-{policy}{path.suffix}")
    at_least(1, positions=positions)
    leaves = leaves_from(source, positions)
    extra: dict[str, Any] = {}
    if card.family == "sparse":
        done = make.quantise_sparse(path, location, policy)
        extra = {"clipped_weights": done.clipped, "largest_clip": done.largest_clip}
    elif path.suffix == ".onnx":
        make.quantise_onnx(path, location, leaves)
    else:
        raise InputError("quantise the ONNX form", value=str(path), fix="run kibitz net export")
    lost = difference(load_batched(path), load_batched(location), leaves)
    result = {"file": str(location), "bytes": location.stat().st_size, **extra, **lost._asdict()}
    emit(result, as_json=json)


@net.command
def compare(
    first: Annotated[str, Parameter(help="A network file, or torch:FILE, uniform, material.")],
    *others: Annotated[str, Parameter(help="What is compared with it.")],
    positions: Positions = 10_000,
    source: Source = None,
    games: Annotated[
        str | None, Parameter(help="A folder of games: say how well each predicts them, how fast.")
    ] = None,
    held_out: Annotated[
        float, Parameter(help="With --games: the share that training held out, 1 for all games.")
    ] = 0.01,
    json: JsonFlag = False,
) -> None:
    """Say how far evaluators are from the first, or with --games from what was played."""
    from kibitz.nets.evaluators.compare import difference_of, leaves_from

    at_least(1, positions=positions)
    if games is not None:
        if source is not None:
            raise InputError("--from with --games", value=str(source), fix="give one of the two")
        _compare_on_games((first, *others), games, held_out, positions, json)
        return
    if not others:
        raise InputError("nothing to compare with", value=first, fix="name another evaluator")
    leaves = leaves_from(source, positions)
    say(f"comparing on {len(leaves.known)} positions")
    evaluations = {what: _evaluation(what, leaves) for what in (first, *others)}
    differences = {
        what: difference_of(evaluations[first], evaluations[what], leaves.offsets)
        for what in others
    }
    rows = [{"evaluator": what, **figures._asdict()} for what, figures in differences.items()]
    emit({"first": first, "rows": rows}, as_json=json, table=_table(rows))


def _compare_on_games(
    evaluators: tuple[str, ...], games: str, share: float, positions: int, json: bool
) -> None:
    """Print a row of figures an evaluator, all on the same held-out positions."""
    from kibitz.arena.bench.evaluator import agreement
    from kibitz.data.batches.window import Window, parse_source

    if not 0 < share <= 1:
        raise InputError("--held-out", value=share, fix="give a share above 0, at most 1")
    window = Window((parse_source(games),), validation=share, memory=1)
    samples, rows = window.validation_rows(positions)
    if not len(rows):
        fix = "give more games, or a larger --held-out"
        raise InputError("no positions are held out here", value=games, fix=fix)
    table = [
        {
            "evaluator": name,
            "parameters": _parameters(name),
            **agreement(_load(name), samples, rows)._asdict(),
        }
        for name in evaluators
    ]
    emit({"games": games, "held_out": share, "rows": table}, as_json=json, table=_table(table))


def _parameters(name: str) -> int:
    """Trainable parameters, 0 of what has no file; of a pair, both networks'."""
    from kibitz.nets.load import SIMPLE

    files = (resolve(part) for part in name.removeprefix("torch:").split("+"))
    return sum(
        network_files.read_card(Path(file)).parameters for file in files if file not in SIMPLE
    )


@net.command
def calibrate(
    network: Annotated[str, Parameter(help="A network, or a pair VALUE+POLICY.")],
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="File to write.")],
    draws: Annotated[
        Path | None, Parameter(help="FEN or EPD file of even positions, for the zero shift.")
    ] = None,
    positions: Annotated[int, Parameter(help="Take so many positions.")] = 10_000,
    source: Source = None,
    json: JsonFlag = False,
) -> None:
    """Write the bins and the zero shift of a network, which Search bestfirst reads."""
    from kibitz.nets.evaluators.batched import evaluated, values_of
    from kibitz.nets.evaluators.compare import leaves_from
    from kibitz.nets.load import load_batched
    from kibitz.search.bestfirst.nodes import UNIT
    from kibitz.search.bestfirst.worker import calibrate, write_calibration

    at_least(1, positions=positions)
    evaluator, leaves = load_batched(resolve(network)), leaves_from(source, positions)
    even = None if draws is None else leaves_from(draws, positions)
    calibration = calibrate(evaluator, leaves, even)
    write_calibration(output, calibration)
    facts: dict[str, Any] = {
        "file": str(output),
        "network": evaluator.name,
        "positions": len(leaves.known),
        "moves": int(leaves.offsets[-1]),
        "mean_score": calibration.mean,
        "bins": len(calibration.boundaries) + 1,
        "zero_shift": round(calibration.shift, 1),
    }
    if even is not None:
        values = values_of(evaluated(evaluator, even).wdl) - calibration.shift / UNIT
        facts |= {"draws": len(even.known), "mean_of_draws": float(values.mean())}
    emit(facts, as_json=json)


def _load(what: str) -> BatchedEvaluator:
    from kibitz.nets.load import load_batched

    name = what.removeprefix("torch:")
    return load_batched(resolve(name), "auto" if name == what else "torch")


def _evaluation(what: str, leaves: Leaves) -> Any:
    from kibitz.nets.evaluators.batched import evaluated

    return evaluated(_load(what), leaves)


def _table(rows: list[dict[str, Any]]) -> Any:
    names = tuple(heading.replace("_", " ") for heading in rows[0])
    return columns(names, [[_short(figure) for figure in row.values()] for row in rows])


def _short(figure: Any) -> Any:
    return f"{figure:.3g}" if isinstance(figure, float) else figure
