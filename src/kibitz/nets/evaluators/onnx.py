"""Evaluates convolutional networks through ONNX Runtime.

One thread per session, because two sessions of one thread are twice as fast as one and a session
of two threads is not. Sessions, on one device or several, take turns; any thread may call.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kibitz.core.errors import DamagedFileError, EvaluationError, InputError
from kibitz.core.files import Location, read_bytes
from kibitz.nets.card import POLICY_SIZES, NetworkCard
from kibitz.nets.encodings.leaves import Leaves, part_of
from kibitz.nets.encodings.planes import encode, layout_of, sight_of
from kibitz.nets.evaluators.batched import Evaluations, decode, part_of_evaluations
from kibitz.nets.files import check_onnx_weights, read_card
from kibitz.nets.models.sizes import check_card

LARGEST = 256


class OnnxEvaluator:
    """An `.onnx` network file, float or int8."""

    def __init__(
        self,
        location: Location,
        devices: Sequence[str] = ("cpu",),
        largest: int = LARGEST,
        padded: bool | None = None,
        threads: int = 1,
    ) -> None:
        """Open a session per device: "cpu", "cuda" or "cuda:1"; a name may occur more than once.

        Batches beyond `largest` are split. Padded ones are always of that size, which spares a GPU
        from choosing its algorithms anew for each size; by default only where a GPU is used.
        `threads` of the processor work on one batch.
        """
        if not devices or largest < 1:
            raise InputError("at least one device, batches of at least 1", value=(devices, largest))
        self.card = read_card(location)
        check_card(self.card)
        self.name = f"{self.card.name} ({self.card.precision}, onnx)"
        self.sees = sight_of(self.card.encoding)
        self.largest = largest
        self.padded = any(device != "cpu" for device in devices) if padded is None else padded
        self._planes = layout_of(self.card.encoding).planes
        model = read_bytes(location)
        check_onnx_weights(location, model)
        self._sessions = [_session(model, device, location, threads) for device in devices]
        self._turn = itertools.count()
        self._outputs = [output.name for output in self._sessions[0].get_outputs()]
        _check_ends(self._sessions[0], self.card, location)

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        """Fill `out` for all leaves."""
        session = self._sessions[next(self._turn) % len(self._sessions)]
        batch = len(leaves.known)
        for first in range(0, batch, self.largest):
            last = min(first + self.largest, batch)
            part = part_of(leaves, first, last)
            outputs = _run(session, self._outputs, self._encoded(part), self.name)
            named = dict(zip(self._outputs, outputs, strict=True))
            _check_outputs(self.card, named, last - first)
            decode(self.card, named, part, part_of_evaluations(out, leaves, first, last))

    def _encoded(self, leaves: Leaves) -> np.ndarray:
        """Planes float32 [B or largest, planes, 8, 8]."""
        batch = len(leaves.known)
        rows = self.largest if self.padded else batch
        planes = np.zeros((rows, self._planes, 8, 8), dtype=np.float32)
        encode(self.card.encoding, leaves, planes[:batch])
        return planes


def _expected(card: NetworkCard) -> dict[str, tuple[int, ...]]:
    """What each output that is used says of a position: its shape, by the card."""
    expected: dict[str, tuple[int, ...]] = {}
    if card.heads.value != "none":
        expected["value"] = (3,) if card.heads.value == "wdl" else ()
    if card.heads.policy:
        expected["policy"] = (POLICY_SIZES[card.policy_order],)
    return expected


def _check_ends(session: Any, card: NetworkCard, location: Location) -> None:
    """Refuse a model that is not fed, or does not answer, as its card says."""
    inputs, outputs = ([end.name for end in ends] for ends in _ends(session))
    missing = [name for name in _expected(card) if name not in outputs]
    if inputs != ["planes"] or missing:
        what = f"the model's inputs {inputs} and outputs {outputs} are not those of its card"
        raise DamagedFileError(what, value=os.fspath(location), fix="export the network again")


def _ends(session: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    return session.get_inputs(), session.get_outputs()


def _run(session: Any, names: list[str], planes: np.ndarray, name: str) -> list[np.ndarray]:
    """Run a session; its errors are classes of its own, without a common one."""
    try:
        outputs: list[np.ndarray] = session.run(names, {"planes": planes})
    except Exception as error:
        fix = "export the network again"
        raise EvaluationError(
            f"the network cannot be run ({error})", value=name, fix=fix
        ) from error
    return outputs


def _check_outputs(card: NetworkCard, outputs: Mapping[str, np.ndarray], batch: int) -> None:
    """Refuse answers of another shape than the card says."""
    for name, shape in _expected(card).items():
        given = outputs[name].shape
        if given[1:] != shape or given[0] < batch or outputs[name].dtype != np.float32:
            what = f"the network's output {name} is {list(given)}, not {[batch, *shape]}"
            raise EvaluationError(what, value=card.name, fix="export the network again")


def _session(model: bytes, device: str, location: Location, threads: int) -> Any:
    import onnxruntime  # type: ignore[import-untyped]

    kind, _, number = device.partition(":")
    providers: dict[str, Any] = {
        "cpu": "CPUExecutionProvider",
        "cuda": ("CUDAExecutionProvider", {"device_id": number or "0"}),
    }
    available = onnxruntime.get_available_providers()
    if kind not in providers or f"{kind.upper()}ExecutionProvider" not in available:
        fix = "use cpu" if kind == "cuda" else "known here: cpu, cuda, cuda:1 ..."
        raise InputError("ONNX Runtime has no such device here", value=device, fix=fix)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(model, options, providers=[providers[kind]])
    except Exception as error:
        raise InputError(
            f"ONNX Runtime cannot load this network ({error})", value=os.fspath(location)
        ) from error
