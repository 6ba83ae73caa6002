"""From a card to a torch module and back; size -> card -> **network** -> file, ONNX."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kibitz.errors import InputError
from kibitz.files import Location, read_bytes
from kibitz.network import card as cards
from kibitz.network.card import POLICY_SIZES, NetworkCard, read_card, save_onnx
from kibitz.network.convolutional import (
    DilatedNetwork,
    Tower,
    plain_network,
    residual_network,
)
from kibitz.network.heads import TRAINING_ONLY
from kibitz.network.sizes import Size, check_card, inputs_of, new_card, parse, policy_rows
from kibitz.network.sparse import SHARED, SparseNetwork, SparseSizes, kept

Array = NDArray[Any]
CALIBRATION_BATCH = 32


def _tower(size: Size, card: NetworkCard) -> nn.Module:
    return Tower(inputs_of(card), size.blocks, size.width, "se" in size.options, card.heads)


def _plain(size: Size, card: NetworkCard) -> nn.Module:
    return plain_network(inputs_of(card), size.blocks, size.width, card.heads)


def _residual(size: Size, card: NetworkCard) -> nn.Module:
    squeeze, input_layer = size.family == "se", "input" in size.options
    inputs, heads = inputs_of(card), card.heads
    return residual_network(inputs, size.blocks, size.width, heads, squeeze, input_layer)


def _dilated(size: Size, card: NetworkCard) -> nn.Module:
    return DilatedNetwork(inputs_of(card), size.width, moves=card.heads.policy)


def _sparse(size: Size, card: NetworkCard) -> nn.Module:
    sizes = SparseSizes(  # the heads are always win, draw, loss and policy
        features=inputs_of(card),
        width=size.width,
        policy_width=size.policy_width,
        moves=POLICY_SIZES[card.policy_order],
        kinds=policy_rows(card) - POLICY_SIZES[card.policy_order],
        perspectives=2 if "both" in size.options else 1,
        direct="direct" in size.options,
    )
    return SparseNetwork(sizes)


BUILDERS: dict[str, Callable[[Size, NetworkCard], nn.Module]] = {
    "tower": _tower,
    "plain": _plain,
    "residual": _residual,
    "se": _residual,
    "dilated": _dilated,
    "sparse": _sparse,
}


def build(what: NetworkCard | str) -> nn.Module:
    """Return a freshly initialised network for a card or a size string."""
    card = new_card(what) if isinstance(what, str) else what
    check_card(card)
    return BUILDERS[card.family](parse(card.size), card)


def channels_last(network: nn.Module) -> nn.Module:
    """Lay a network's filters out as its convolutions like them: training is up to twice as fast.

    Input planes should lie likewise; results are the same but for rounding.
    """
    for parameter in network.parameters():
        parameter.data = laid_out(parameter.data)
    return network


def laid_out(tensor: Tensor) -> Tensor:
    """Return filters or planes with channels last in memory, other tensors as they are."""
    return tensor.contiguous(memory_format=torch.channels_last) if tensor.dim() == 4 else tensor


def count_parameters(network: nn.Module) -> int:
    """Return the number of trainable parameters that a network file keeps."""
    return sum(
        parameter.numel()
        for name, parameter in network.named_parameters()
        if parameter.requires_grad and not name.endswith(SHARED)
    )


def save_network(location: Location, network: nn.Module, card: NetworkCard) -> NetworkCard:
    """Write a network file; returns the card with parameters and checksum filled in."""
    weights = file_weights(network.state_dict())
    card = msgspec.structs.replace(card, parameters=count_parameters(network))
    return cards.save(location, weights, card)


def file_weights(state: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a network file for a network's `state_dict()`."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in kept(state).items()}


def load_network(location: Location) -> tuple[nn.Module, NetworkCard]:
    """Return the network of a file, in evaluation mode, and its card."""
    card, weights = cards.load(location)
    if card.precision != "float32":
        raise InputError(
            "a quantised network cannot be trained or run by torch",
            value=card.name,
            fix="use the float file",
        )
    return with_weights(card, weights).eval(), card


def with_weights(card: NetworkCard, weights: Mapping[str, NDArray[Any]]) -> nn.Module:
    """Return the network of a card with the arrays of a float file."""
    network = build(card)
    tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
    shared = {name: value for name, value in network.state_dict().items() if name.endswith(SHARED)}
    try:
        network.load_state_dict(tensors | shared)  # freshly made ones are 0
    except RuntimeError as error:
        raise InputError(f"weights do not fit a {card.size} network ({error})") from error
    return network


# --- export ---------------------------------------------------------------------------------------


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
