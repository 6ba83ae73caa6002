"""`kibitz net`: make, show, export, quantise and compare networks.

network and evaluator rooms -> **command line**
"""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from cyclopts import App, Parameter

from kibitz.commands.output import JsonFlag, columns, emit
from kibitz.errors import InputError, missing_extra
from kibitz.log import say
from kibitz.network import card as cards
from kibitz.network.card import NetworkCard

if TYPE_CHECKING:
    from kibitz.encoding.leaves import Leaves
    from kibitz.evaluator.compare import Difference

net = App(
    name="net",
    help="Make, show, export, quantise and compare networks.",
    result_action="return_value",
)

Positions = Annotated[int, Parameter(help="Compare on so many positions.")]
Source = Annotated[
    Path | None,
    Parameter(name="--from", help="Take them from a FEN or EPD file, not random games."),
]
PolicyPrecision: TypeAlias = Literal["int8", "int16"]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"], help="File to write.")]


@net.command
def new(
    size: Annotated[str, Parameter(help="Like sparse-512-threats, tower-6x64, plain-4x64.")],
    *,
    output: Output = None,
    name: Annotated[str, Parameter(help="Its name; the size by default.")] = "",
    seed: Annotated[int, Parameter(help="Seed of the random weights.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Write a network with random weights."""
    from kibitz.network.sizes import new_card

    card, location = new_card(size, name), output or Path(f"{size}.safetensors")
    if card.family == "sparse":
        from kibitz.network.sparse_random import random_weights

        weights = random_weights(card, seed)
        parameters = sum(array.size for array in weights.values())
        card = msgspec.structs.replace(card, parameters=parameters)
        card = cards.save(location, weights, card)
    else:
        card = _new_with_torch(card, location, seed)
    emit(_described(location, card), as_json=json)


def _new_with_torch(card: NetworkCard, location: Path, seed: int) -> NetworkCard:
    build = _torch_module("kibitz.network.build")
    build.torch.manual_seed(seed)
    saved: NetworkCard = build.save_network(location, build.build(card), card)
    return saved


def _torch_module(name: str) -> Any:
    """Import a module that needs torch."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name not in ("torch", "onnx", "onnxscript"):
            raise
        raise missing_extra("this network", error.name, "train") from error


@net.command
def show(
    file: Annotated[Path, Parameter(help="A .safetensors or .onnx network file.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Say what a network is, after checking every byte of its file."""
    emit(_described(file, cards.read_card(file)), as_json=json)


def _described(location: Path, card: NetworkCard) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(card)
    heads, provenance = facts.pop("heads"), facts.pop("provenance")
    shown = {"file": str(location), "bytes": location.stat().st_size, **facts}
    shown["heads"] = ", ".join(
        name if value is True else f"{name} {value}" for name, value in heads.items() if value
    )
    return shown | {name: value for name, value in provenance.items() if value}


@net.command
def export(
    file: Annotated[Path, Parameter(help="A float .safetensors network file.")],
    *,
    output: Output = None,
    json: JsonFlag = False,
) -> None:
    """Write the ONNX form of a convolutional network, beside its file unless said otherwise."""
    location = output or file.with_suffix(".onnx")
    _export(file, location)
    emit(_described(location, cards.read_card(location)), as_json=json)


def _export(file: Path, location: Path) -> None:
    build, onnx = (_torch_module(f"kibitz.network.{name}") for name in ("build", "export"))
    network, card = build.load_network(file)
    # torch warns of its own insides and of packages that are not needed.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        onnx.export_onnx(network, card, location)


@net.command
def quantise(
    file: Annotated[Path, Parameter(help="A float network: sparse .safetensors, or .onnx.")],
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
    from kibitz.evaluator.compare import difference, leaves_from
    from kibitz.evaluator.load import load_batched

    card = cards.read_card(file)
    location = output or file.with_name(f"{file.stem}-{policy}{file.suffix}")
    leaves = leaves_from(source, _checked(positions))
    extra: dict[str, Any] = {}
    if card.family == "sparse":
        extra = _quantise_sparse(file, location, policy)
    elif file.suffix == ".onnx":
        _quantise_onnx(file, location, card, leaves)
    else:
        raise InputError("quantise the ONNX form", value=str(file), fix="run kibitz net export")
    lost = difference(load_batched(file), load_batched(location), leaves)
    result = {"file": str(location), "bytes": location.stat().st_size, **extra, **lost._asdict()}
    emit(result, as_json=json)


def _quantise_sparse(
    file: Path, location: Path, policy: Literal["int8", "int16"]
) -> dict[str, Any]:
    from kibitz.network.quantise import quantise as quantise_weights

    card, weights = cards.load(file)
    done = quantise_weights(weights, policy)
    card = msgspec.structs.replace(card, precision=policy)
    cards.save(location, done.network._asdict(), card)
    return {"clipped_weights": done.clipped, "largest_clip": done.largest_clip}


def _quantise_onnx(file: Path, location: Path, card: NetworkCard, leaves: Leaves) -> None:
    import numpy as np

    from kibitz.encoding.layouts import encode, layout_of
    from kibitz.evaluator.batched import part_of

    onnx = _torch_module("kibitz.network.export")
    calibration = part_of(leaves, 0, min(512, len(leaves.known)))
    shape = (len(calibration.known), layout_of(card.encoding).planes, 8, 8)
    planes = np.zeros(shape, dtype=np.float32)
    encode(card.encoding, calibration, planes)
    onnx.export_int8(file, location, planes)


@net.command
def compare(
    first: Annotated[str, Parameter(help="A network file, or torch:FILE, uniform, material.")],
    *others: Annotated[str, Parameter(help="What is compared with it.")],
    positions: Positions = 10_000,
    source: Source = None,
    json: JsonFlag = False,
) -> None:
    """Say how far the judgements of several evaluators are from those of the first."""
    from kibitz.evaluator.compare import difference_of, leaves_from

    if not others:
        raise InputError("nothing to compare with", value=first, fix="name another evaluator")
    leaves = leaves_from(source, _checked(positions))
    say(f"comparing on {len(leaves.known)} positions")
    judged = {what: _judgement(what, leaves) for what in (first, *others)}
    found = {what: difference_of(judged[first], judged[what], leaves.offsets) for what in others}
    rows = [{"evaluator": what, **one._asdict()} for what, one in found.items()]
    emit({"first": first, "rows": rows}, as_json=json, table=_table(found))


def _judgement(what: str, leaves: Leaves) -> Any:
    from kibitz.evaluator.batched import evaluated
    from kibitz.evaluator.load import load_batched

    file = what.removeprefix("torch:")
    return evaluated(load_batched(file, "auto" if file == what else "torch"), leaves)


def _table(found: dict[str, Difference]) -> Any:
    headings = ("evaluator", *next(iter(found.values()))._fields)
    names = tuple(heading.replace("_", " ") for heading in headings)
    rows = [(what, *(_short(number) for number in one)) for what, one in found.items()]
    return columns(names, rows)


def _short(number: float) -> Any:
    return number if isinstance(number, int) else f"{number:.3g}"


def _checked(positions: int) -> int:
    if positions < 1:
        raise InputError("--positions", value=positions, fix="give 1 or more")
    return positions
