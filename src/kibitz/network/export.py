"""From a torch module to an ONNX file, float or int8; network -> **export** -> onnx evaluator."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kibitz.errors import InputError
from kibitz.files import Location, read_bytes
from kibitz.network.card import NetworkCard, read_card, save_onnx
from kibitz.network.heads import TRAINING_ONLY
from kibitz.network.sizes import inputs_of

Array = NDArray[Any]
CALIBRATION_BATCH = 32


class _Inference(nn.Module):
    """A network without the outputs that only training uses, in a fixed order."""

    def __init__(self, network: nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.network = network
        self.names = names

    def forward(self, planes: Tensor) -> tuple[Tensor, ...]:
        outputs = self.network(planes)
        return tuple(outputs[name] for name in self.names)


def export_onnx(network: nn.Module, card: NetworkCard, location: Location) -> None:
    """Write input `planes` (batch, C, 8, 8) float32 -> the card's outputs, any batch, float32."""
    if card.family == "sparse":
        raise InputError(
            "sparse networks run compiled, not through ONNX", value=card.name, fix="quantise it"
        )
    planes = torch.zeros(2, inputs_of(card), 8, 8)
    network.eval()
    with torch.no_grad():
        names = [name for name in network(planes) if name not in TRAINING_ONLY]
    program = torch.onnx.export(
        _Inference(network, names).eval(),
        (planes,),
        input_names=["planes"],
        output_names=names,
        dynamic_shapes={"planes": {0: torch.export.Dim("batch")}},
        dynamo=True,
        verbose=False,
    )
    assert program is not None
    save_onnx(location, program.model_proto.SerializeToString(), card)


class QuantisationCost(NamedTuple):
    """How far int8 outputs are from float ones over the positions compared."""

    positions: int
    mean_value: float  # mean absolute difference of the value outputs (wdl: of probabilities)
    largest_value: float
    top_move: float  # share of positions whose best move, over all logits, is the same
    divergence: float  # mean KL divergence of the policies over all logits, nats


def export_int8(
    float_file: Location, location: Location, calibration: Array, compared: Array | None = None
) -> QuantisationCost:
    """Quantise an exported ONNX file: u8 activations x s8 weights per channel, QDQ, static.

    calibration (B, C, 8, 8) float32 planes of real positions; compared, of the same kind, are the
    positions the cost is measured on (the calibration ones when left out).
    """
    card = msgspec.structs.replace(read_card(float_file), precision="int8")
    with tempfile.TemporaryDirectory() as folder:
        save_onnx(location, _quantised(read_bytes(float_file), calibration, Path(folder)), card)
    planes = calibration if compared is None else compared
    return _cost(card, run_onnx(float_file, planes), run_onnx(location, planes))


def _quantised(model: bytes, calibration: Array, folder: Path) -> bytes:
    from onnxruntime import quantization  # type: ignore[import-untyped]
    from onnxruntime.quantization.shape_inference import (  # type: ignore[import-untyped]
        quant_pre_process,
    )

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            starts = range(0, len(calibration), CALIBRATION_BATCH)
            self.batches = iter([calibration[at : at + CALIBRATION_BATCH] for at in starts])

        def get_next(self) -> dict[str, Array] | None:
            batch = next(self.batches, None)
            return None if batch is None else {"planes": batch}

    source, prepared, result = (folder / name for name in ("float", "prepared", "int8"))
    source.write_bytes(model)
    quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
    quantization.quantize_static(
        str(prepared),
        str(result),
        Reader(),
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
        per_channel=True,
    )
    return result.read_bytes()


def run_onnx(location: Location, planes: Array) -> dict[str, Array]:
    """Run planes (B, C, 8, 8) float32 through an ONNX file on one CPU thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        read_bytes(location), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"planes": planes}), strict=True))


def _cost(card: NetworkCard, exact: dict[str, Array], rough: dict[str, Array]) -> QuantisationCost:
    value = np.zeros(1)
    top = divergence = float("nan")
    if "value" in exact:
        wdl = card.heads.value == "wdl"
        pair = [_softmax(o["value"]) if wdl else o["value"] for o in (exact, rough)]
        value = np.abs(pair[0] - pair[1])
    if "policy" in exact:
        top = float((exact["policy"].argmax(1) == rough["policy"].argmax(1)).mean())
        p, q = _softmax(exact["policy"]), _softmax(rough["policy"])
        divergence = float((p * (np.log(p + 1e-30) - np.log(q + 1e-30))).sum(1).mean())
    count = len(next(iter(exact.values())))
    return QuantisationCost(count, float(value.mean()), float(value.max()), top, divergence)


def _softmax(logits: Array) -> Array:
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    normal: Array = powers / powers.sum(axis=1, keepdims=True)
    return normal
