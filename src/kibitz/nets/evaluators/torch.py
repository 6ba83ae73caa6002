"""Evaluates networks through torch, on the CPU or a GPU.

Planes travel as one word of 64 bits each, 1/32 of their size, and are unpacked on the device; of
the policy only the legal moves' logits come back. (Planes of eight positions are 109 words, fewer
than the 8 times 18 of packed positions; layouts of one position have 15 to 22.)
"""

from __future__ import annotations

import threading
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from kibitz.core.files import Location
from kibitz.nets.card import NetworkCard
from kibitz.nets.encodings.features import DETAILS, MAX_ACTIVE, TACTICS, batch_features
from kibitz.nets.encodings.leaves import Leaves, part_of
from kibitz.nets.encodings.move_features import batch_move_features
from kibitz.nets.encodings.planes import encode_words, layout_of, policy_indices, sight_of
from kibitz.nets.evaluators.batched import (
    Evaluations,
    part_of_evaluations,
    put_wdl,
    refuse_not_finite,
)
from kibitz.nets.models.build import channels_last, load_network
from kibitz.nets.models.convolutional import legal_logits

LARGEST = 1024

# tf32: numbers of 32 bits whose products a GPU takes with 10 bits behind the point, as of float16.
Precision: TypeAlias = Literal["float32", "tf32", "float16", "bfloat16"]


class TorchEvaluator:
    """A float `.safetensors` network file of any family.

    On a GPU `graphs` replays recorded work of one batch size, `largest`, to which batches are
    filled up: it pays where launching kernels takes longer than running them (small networks).
    Values and policy agree with those of float32 on the CPU best in float32, then float16.
    """

    def __init__(
        self,
        location: Location,
        device: str = "cpu",
        precision: Precision = "float32",
        graphs: bool = False,
        largest: int = LARGEST,
        threads: int = 0,
    ) -> None:
        """Load the network; `threads`, if given, and tf32 are of torch in this whole process."""
        if threads:
            torch.set_num_threads(threads)
        network, self.card = load_network(location)
        self.device = torch.device(device)
        self.largest = largest
        self.precision = getattr(torch, "float32" if precision == "tf32" else precision)
        where = device if self.device.type == "cpu" else torch.cuda.get_device_name(self.device)
        self.name = f"{self.card.name} ({precision}, torch {where})"
        self._sparse = self.card.family == "sparse"
        self.sees = sight_of(self.card.encoding)
        self._network: Any = network.to(self.device, self.precision).eval()
        self._order = torch.contiguous_format
        if self.device.type == "cuda":  # whose convolutions like channels last
            torch.backends.cudnn.allow_tf32 = precision == "tf32"  # torch's default is True
            self._order = torch.channels_last
            channels_last(self._network)
        self._forward: Forward = self._planes_forward
        if graphs and self.device.type == "cuda" and not self._sparse:
            width = layout_of(self.card.encoding).planes
            bitplanes = torch.zeros((largest, width), dtype=torch.int64, device=self.device)
            self._forward = CudaGraph(self._planes_forward, bitplanes)

    @torch.inference_mode()
    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        """Fill `out` for all leaves."""
        batch = len(leaves.known)
        for first in range(0, batch, self.largest):
            last = min(first + self.largest, batch)
            part = part_of(leaves, first, last)
            self._evaluate(part, part_of_evaluations(out, leaves, first, last))

    def _evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        moves, offsets = self._moves(leaves)
        if self._sparse:
            outputs = self._network(*self._features(leaves), moves, offsets, self._kinds(leaves))
        else:
            outputs = self._forward(self._bitplanes(leaves))
            if "policy" in outputs:
                logits = outputs["policy"][: len(leaves.known)]
                outputs = {**outputs, "policy": legal_logits(logits, moves, offsets)}
        arrays = {name: tensor.float().cpu().numpy() for name, tensor in outputs.items()}
        _put(self.card, arrays, out)

    def _planes_forward(self, bitplanes: Tensor) -> dict[str, Tensor]:
        layout = layout_of(self.card.encoding)
        planes = unpacked(bitplanes, layout.clock, layout.divisor)
        planes = planes.to(self.precision, memory_format=self._order)
        outputs: dict[str, Tensor] = self._network(planes)
        return outputs

    def _bitplanes(self, leaves: Leaves) -> Tensor:
        """Words of the planes, int64 [B, planes]."""
        width = layout_of(self.card.encoding).planes
        bitplanes = np.empty((len(leaves.known), width), dtype=np.uint64)
        encode_words(self.card.encoding, leaves, bitplanes)
        return torch.from_numpy(bitplanes.view(np.int64)).to(self.device, non_blocking=True)

    def _moves(self, leaves: Leaves) -> tuple[Tensor, Tensor]:
        """Policy indices int32 [M] and offsets int64 [B + 1]."""
        indices = np.empty(int(leaves.offsets[-1]), dtype=np.int32)
        policy_indices(self.card.policy_order, self.card.encoding, leaves, indices)
        offsets = torch.from_numpy(leaves.offsets)
        return torch.from_numpy(indices).to(self.device), offsets.to(self.device)

    def _kinds(self, leaves: Leaves) -> Tensor | None:
        """Kinds of the moves int32 [2, M], or None if the network knows none."""
        if DETAILS[self.card.encoding] != TACTICS:
            return None
        return torch.from_numpy(batch_move_features(leaves)).to(self.device)

    def _features(self, leaves: Leaves) -> tuple[Tensor, Tensor]:
        """Active features int32 [2, N] and offsets int64 [B + 1]."""
        batch = len(leaves.known)
        indices = np.empty((2, MAX_ACTIVE * batch), dtype=np.int32)
        offsets = np.zeros(batch + 1, dtype=np.int64)
        positions = np.ascontiguousarray(leaves.positions[:, 0])
        total = batch_features(positions, DETAILS[self.card.encoding], indices, offsets)
        features = torch.from_numpy(np.ascontiguousarray(indices[:, :total]))
        return features.to(self.device), torch.from_numpy(offsets).to(self.device)


class Forward(Protocol):
    """Words int64 [B, planes] to the outputs of a network, [B or more, ...]."""

    def __call__(self, bitplanes: Tensor) -> dict[str, Tensor]:
        """Run the network."""


_recording = threading.Lock()  # one graph at a time, whichever thread opens a network


class CudaGraph:
    """A CUDA graph of a network's work on a full batch; smaller batches are filled up."""

    def __init__(self, forward: Forward, bitplanes: Tensor) -> None:
        self._bitplanes, self._lock = bitplanes, threading.Lock()
        with _recording:
            stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream), torch.inference_mode():
                for _ in range(3):  # algorithms are chosen before anything is recorded
                    forward(bitplanes)
            torch.cuda.current_stream().wait_stream(stream)
            self._graph = torch.cuda.CUDAGraph()
            # Other threads may go on working on the GPU while this one records.
            recorded = torch.cuda.graph(self._graph, capture_error_mode="thread_local")
            with recorded, torch.inference_mode():
                self._outputs = forward(bitplanes)

    def __call__(self, bitplanes: Tensor) -> dict[str, Tensor]:
        """Run the network on words int64 [at most largest, planes]."""
        with self._lock:  # the next batch, of another thread, lies where this one does
            self._bitplanes[: len(bitplanes)].copy_(bitplanes)
            self._graph.replay()
            return {name: tensor.clone() for name, tensor in self._outputs.items()}


def unpacked(bitplanes: Tensor, clock: int, divisor: float) -> Tensor:
    """Planes float32 [B, P, 8, 8] from words int64 [B, P]; `clock` is a plane or negative."""
    squares = torch.arange(64, device=bitplanes.device)
    planes = ((bitplanes.unsqueeze(2) >> squares) & 1).float()
    if clock >= 0:
        planes[:, clock, :] = (bitplanes[:, clock].float() / divisor).unsqueeze(1)
    return planes.view(len(bitplanes), -1, 8, 8)


def _put(card: NetworkCard, arrays: dict[str, np.ndarray], out: Evaluations) -> None:
    """Fill `out` from a value output [B or more, ...] and the legal logits [M]."""
    refuse_not_finite(card.name, *arrays.values())
    if "value" in arrays:
        put_wdl(card.heads.value, arrays["value"][: len(out.wdl)], out.wdl)
    else:
        out.wdl[:] = (0, 1, 0)
    out.logits[:] = arrays.get("policy", 0)
