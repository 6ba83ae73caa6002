"""Opens the evaluator that serves a network file or a name.

Networks of a family with an inline evaluator (sparse) run compiled, `.onnx` files go through ONNX
Runtime, networks in Leela's format become `.onnx` files first (lc0.py), and a float file of any
other family is served by the `.onnx` of the same name beside it. torch is imported only when
needed.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

from kibitz.core.errors import FileError, InputError, did_you_mean, missing_extra
from kibitz.core.files import Location, cache_folder, local_path
from kibitz.nets.card import NetworkCard, is_leela
from kibitz.nets.discover import SHIPPED, halves, resolve, shipped_names, take_part
from kibitz.nets.evaluators.batched import BatchedEvaluator, InlineBatch, Pair
from kibitz.nets.evaluators.inline import InlineEvaluator, Material, Uniform, inline_evaluator
from kibitz.nets.files import load, read_card, save_onnx
from kibitz.nets.lc0 import LeelaFile
from kibitz.nets.models.sizes import inline_maker

Backend: TypeAlias = Literal["auto", "inline", "onnx", "torch"]
Evaluator: TypeAlias = InlineEvaluator | BatchedEvaluator
CONVERTER = 1  # in the names of files made of Leela's; raised when another model is made of them
SIMPLE: dict[str, Uniform | Material] = {"uniform": Uniform(), "material": Material()}


def load_evaluator(
    what: Location,
    backend: Backend = "auto",
    devices: Sequence[str] = ("cpu",),
    **arguments: Any,
) -> Evaluator:
    """The evaluator of a network file or name, of a pair VALUE+POLICY, "uniform" or "material".

    `devices` are for ONNX Runtime, which takes several, and for torch, which takes one; so are
    further arguments of OnnxEvaluator or TorchEvaluator, whichever `backend_of` says it will be.
    """
    if what in SIMPLE:
        return inline_evaluator(SIMPLE[str(what)])
    what = resolve(what)
    pair = halves(what)
    if pair is not None:
        value, policy = (as_batched(_half(h, backend, devices, arguments)) for h in pair)
        return Pair(value, policy)
    used = backend_of(what, backend)
    take_part(what)
    if is_leela(what):
        return _with_onnx(_from_leela(what, used), devices, arguments)
    if used == "torch":
        return _with_torch(what, devices, arguments)
    if _is_onnx(what):
        return _with_onnx(what, devices, arguments)
    card = read_card(what)
    if used == "inline":
        return _inline(what, card)
    return _with_onnx(_export_of(what, card), devices, arguments)


def backend_of(what: Location, backend: Backend = "auto") -> Literal["inline", "onnx", "torch"]:
    """What computes a network file, or a built-in evaluator, if `backend` is wanted."""
    if what in SIMPLE:
        return "inline"
    if backend in ("torch", "onnx"):
        return backend
    pair = halves(what)
    if pair is not None:
        kinds = {backend_of(half, backend) for half in pair}
        return "onnx" if "onnx" in kinds else "inline"
    refuse_unknown(what)
    if _is_onnx(what) or is_leela(what):
        return "onnx"
    return "inline" if backend == "inline" or inline_maker(read_card(what).family) else "onnx"


def _half(
    what: str, backend: Backend, devices: Sequence[str], arguments: dict[str, Any]
) -> Evaluator:
    """One of a pair; where one goes through ONNX, a sparse one is inline still."""
    if backend == "onnx" and backend_of(what) == "inline":
        return load_evaluator(what)
    return load_evaluator(what, backend, devices, **arguments)


def refuse_unknown(what: Location) -> None:
    """Say which names there are if a single word is neither one of them nor a file."""
    name = os.fspath(what)
    path = local_path(name)
    if path is None or path.exists() or path.suffix or len(path.parts) != 1:
        return
    fix = did_you_mean(name, ["default", SHIPPED, *SIMPLE, *shipped_names()])
    raise InputError("no such network, and no file of that name", value=name, fix=fix)


def _is_onnx(what: Location) -> bool:
    return os.fspath(what).lower().endswith(".onnx")


def load_batched(what: Location, backend: Backend = "auto") -> BatchedEvaluator:
    """The same, for whole batches, whatever the kind."""
    return as_batched(load_evaluator(what, backend))


def as_batched(evaluator: Evaluator) -> BatchedEvaluator:
    """Any evaluator as one for batches."""
    return InlineBatch(evaluator) if isinstance(evaluator, InlineEvaluator) else evaluator


def _inline(what: Location, card: NetworkCard) -> InlineEvaluator:
    maker = inline_maker(card.family)
    if not maker:
        raise InputError(
            "networks of this family run through ONNX", value=card.name, fix="use onnx"
        )
    evaluator: InlineEvaluator = pkgutil.resolve_name(maker)(*load(what), what)
    return evaluator


def _with_onnx(
    location: Location, devices: Sequence[str], arguments: dict[str, Any]
) -> BatchedEvaluator:
    from kibitz.nets.evaluators.onnx import OnnxEvaluator

    return OnnxEvaluator(location, devices, **arguments)


def _with_torch(
    location: Location, devices: Sequence[str], arguments: dict[str, Any]
) -> BatchedEvaluator:
    try:
        from kibitz.nets.evaluators.torch import TorchEvaluator
    except ImportError as error:
        if error.name != "torch":
            raise
        raise missing_extra("the torch evaluator", "torch", "train") from error
    if len(devices) != 1:
        raise InputError("torch evaluates on one device", value=list(devices), fix="name one")
    return TorchEvaluator(location, devices[0], **arguments)


def _from_leela(what: Location, backend: str) -> Path:
    """The ONNX form of a network in Leela's format, by the checksum of what it is made from."""
    if backend != "onnx":
        fix = "use onnx"
        raise InputError("networks in Leela's format run through ONNX", value=backend, fix=fix)
    file = LeelaFile(what)
    path = cache_folder() / "leela" / f"{file.card.sha256}-{CONVERTER}.onnx"
    with suppress(FileError):  # not made yet, or damaged
        read_card(path)
        return path
    save_onnx(path, file.onnx(), file.card)
    return path


def _export_of(what: Location, card: NetworkCard) -> Path:
    """The `.onnx` beside a network file, if it holds the same weights."""
    path = local_path(what)
    beside = None if path is None else path.with_suffix(".onnx")
    fix = f"run: kibitz net export {os.fspath(what)}"
    if beside is None or not beside.is_file():
        raise InputError("no ONNX export beside this network", value=os.fspath(what), fix=fix)
    if read_card(beside).sha256 != card.sha256:
        raise InputError("the ONNX export is of other weights", value=os.fspath(beside), fix=fix)
    return beside
