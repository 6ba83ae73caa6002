"""From a card to a torch module, and from there to a network file and to ONNX."""

from __future__ import annotations

import importlib
import pkgutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kibitz.core.errors import InputError
from kibitz.core.files import Location, read_bytes
from kibitz.nets import files as network_files
from kibitz.nets.card import POLICY_SIZES, NetworkCard
from kibitz.nets.files import read_card, save_onnx
from kibitz.nets.models.convolutional import (
    TRAINING_ONLY,
    DilatedNetwork,
    Tower,
    plain_network,
    residual_network,
)
from kibitz.nets.models.sizes import (
    FAMILIES,
    buckets_of,
    check_card,
    inputs_of,
    new_card,
    parse,
    policy_rows,
)
from kibitz.nets.models.sparse import SHARED, SparseNetwork, SparseSizes, kept

Array = NDArray[Any]
CALIBRATION_BATCH = 32


def build(what: NetworkCard | str) -> nn.Module:
    """Return a freshly initialised network for a card or a size string."""
    card = new_card(what) if isinstance(what, str) else what
    check_card(card)
    network: nn.Module = pkgutil.resolve_name(FAMILIES[card.family].network)(card)
    return network


# --- the networks of families ---------------------------------------------------------------------


def tower(card: NetworkCard) -> nn.Module:
    """ChessCoach's network."""
    size = parse(card.size)
    return Tower(inputs_of(card), size.blocks, size.width, "se" in size.options, card.heads)


def plain(card: NetworkCard) -> nn.Module:
    """DLChess's network without shortcuts."""
    size = parse(card.size)
    return plain_network(inputs_of(card), size.blocks, size.width, card.heads)


def residual(card: NetworkCard) -> nn.Module:
    """DLChess's network with shortcuts; its family says whether with squeeze-excitation."""
    size = parse(card.size)
    squeeze, start = size.family == "se", "input" in size.options
    return residual_network(inputs_of(card), size.blocks, size.width, card.heads, squeeze, start)


def dilated(card: NetworkCard) -> nn.Module:
    """One of Batch-First's two networks."""
    return DilatedNetwork(inputs_of(card), parse(card.size).width, moves=card.heads.policy)


def sparse(card: NetworkCard) -> nn.Module:
    """The network of the CPU; its heads are always win, draw, loss and policy."""
    size, moves = parse(card.size), POLICY_SIZES[card.policy_order]
    return SparseNetwork(
        SparseSizes(
            features=inputs_of(card),
            width=size.width,
            policy_width=size.policy_width,
            moves=moves,
            kinds=policy_rows(card) - moves,
            perspectives=2 if "both" in size.options else 1,
            direct="direct" in size.options,
            buckets=buckets_of(card),
        )
    )


# --- files ----------------------------------------------------------------------------------------


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
    return network_files.save(location, weights, card)


def file_weights(state: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a network file for a network's `state_dict()`."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in kept(state).items()}


def load_network(location: Location) -> tuple[nn.Module, NetworkCard]:
    """Return the network of a file, in evaluation mode, and its card."""
    card, weights = network_files.load(location)
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


def export_int8(float_file: Location, location: Location, calibration: Array) -> None:
    """Quantise an exported ONNX file: u8 activations x s8 weights per channel, QDQ, static.

    calibration (B, C, 8, 8) float32 planes of real positions.
    """
    quantization = importlib.import_module("onnxruntime.quantization")
    prepare = importlib.import_module("onnxruntime.quantization.shape_inference").quant_pre_process
    card = msgspec.structs.replace(read_card(float_file), precision="int8")
    with tempfile.TemporaryDirectory() as folder:
        source, prepared, result = (Path(folder) / name for name in ("float", "prepared", "int8"))
        source.write_bytes(read_bytes(float_file))
        prepare(str(source), str(prepared), skip_symbolic_shape=True)
        quantization.quantize_static(
            str(prepared),
            str(result),
            _Calibration(calibration),
            quant_format=quantization.QuantFormat.QDQ,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            per_channel=True,
        )
        save_onnx(location, result.read_bytes(), card)


class _Calibration:
    """Hands planes (B, C, 8, 8) over in small batches, as onnxruntime reads them."""

    def __init__(self, planes: Array) -> None:
        starts = range(0, len(planes), CALIBRATION_BATCH)
        self.batches = iter([planes[at : at + CALIBRATION_BATCH] for at in starts])

    def get_next(self) -> dict[str, Array] | None:
        batch = next(self.batches, None)
        return None if batch is None else {"planes": batch}
