"""Batches as torch tensors, made one ahead on a thread."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from kibitz.core.errors import InputError
from kibitz.data.batches.batch import Batch, Recipe, make
from kibitz.data.batches.order import key_of
from kibitz.data.batches.sample import Samples
from kibitz.data.batches.window import Chunk, Window
from kibitz.nets.encodings.planes import expand, layout_of
from kibitz.nets.evaluators.torch import unpacked
from kibitz.nets.models.build import laid_out

TensorBatch: TypeAlias = Batch[Tensor]


class PlaceInData(NamedTuple):
    """Where in the data training stands; with the seed, enough to go on exactly there."""

    epoch: int = 0
    chunk: int = 0
    batch: int = 0


class Share(NamedTuple):
    """The part of every batch that this process works on."""

    rank: int = 0
    processes: int = 1


class Loader:
    """Yields batches for ever, epoch after epoch, in an order fixed by the seed.

    With a `teacher` every batch comes a second time, as the teacher's encoding has it. `size` is
    that of a batch of one process. With several, each batch of all together is cut into
    equal parts. The positions left over at the end of a chunk, fewer than a batch, are not shown.
    """

    def __init__(
        self,
        window: Window,
        how: Recipe,
        size: int,
        seed: int = 0,
        place: PlaceInData = PlaceInData(),  # noqa: B008 - it cannot change
        share: Share = Share(),  # noqa: B008
        device: str = "cpu",
        teacher: Recipe | None = None,
    ) -> None:
        self.place = place  # of the next batch to be yielded
        self._window, self._how, self._size, self._seed = window, how, size, seed
        self._share, self._device, self._teacher = share, torch.device(device), teacher
        self._batches = ThreadPoolExecutor(1, "kibitz-batches")
        self._chunks = ThreadPoolExecutor(1, "kibitz-chunks")
        self._chunk: tuple[PlaceInData, Chunk] | None = None
        self._coming: tuple[PlaceInData, Future[Chunk]] | None = None

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self._batches.shutdown(cancel_futures=True)
        self._chunks.shutdown(cancel_futures=True)

    def __iter__(self) -> Iterator[TensorBatch]:
        """Go on from the place; it always is that of the batch after the one in use."""
        coming = self._batches.submit(self._make, self.place)
        while True:
            batch, following = coming.result()
            coming = self._batches.submit(self._make, following)
            self.place = following
            yield batch

    def batches(self) -> int:
        """Return how many batches an epoch has, if the whole window is in memory."""
        return self._window.chunk(0, 0).size // (self._size * self._share.processes)

    def _make(self, place: PlaceInData) -> tuple[TensorBatch, PlaceInData]:
        """Return the batch of a place and the place after it."""
        together = self._size * self._share.processes
        chunk = self._chunk_at(place)
        first = place.batch * together + self._share.rank * self._size
        key = key_of(self._seed, place.epoch, place.chunk)
        rows = chunk.drawn(place.epoch, key, first, first + self._size)
        batch = to_tensors(make(chunk.samples, rows, self._how), self._how, self._device)
        if self._teacher is not None:
            inputs = make(chunk.samples, rows, self._teacher)
            batch = batch._replace(teacher=to_tensors(inputs, self._teacher, self._device))
        if (place.batch + 2) * together <= chunk.size:
            return batch, place._replace(batch=place.batch + 1)
        return batch, self._next_chunk(place)

    def _next_chunk(self, place: PlaceInData) -> PlaceInData:
        if place.chunk + 1 < self._window.chunks:
            return PlaceInData(place.epoch, place.chunk + 1, 0)
        return PlaceInData(place.epoch + 1, 0, 0)

    def _chunk_at(self, place: PlaceInData) -> Chunk:
        """Return the chunk of a place, and begin to load the one after it."""
        chunk_place = place._replace(batch=0)
        if self._chunk is None or self._chunk[0] != chunk_place:
            self._chunk = None  # let go of the old one first
            if self._coming is not None and self._coming[0] == chunk_place:
                chunk = self._coming[1].result()
            else:
                chunk = self._window.chunk(place.epoch, place.chunk)
            self._chunk = chunk_place, chunk
            self._check(chunk)
            if self._window.chunks > 1:
                following = self._next_chunk(chunk_place)
                job = self._chunks.submit(self._window.chunk, following.epoch, following.chunk)
                self._coming = following, job
        return self._chunk[1]

    def _check(self, chunk: Chunk) -> None:
        together = self._size * self._share.processes
        if chunk.size < together:
            fix = "take smaller batches or more data"
            raise InputError(
                f"a batch of {together} of only so many positions", value=chunk.size, fix=fix
            )


def rows_in_batches(
    samples: Samples, rows: np.ndarray, how: Recipe, size: int, device: str = "cpu"
) -> Iterator[TensorBatch]:
    """Yield the rows in their order, int64 [n], the last batch smaller."""
    for first in range(0, len(rows), size):
        batch = make(samples, rows[first : first + size], how)
        yield to_tensors(batch, how, torch.device(device))


def to_tensors(batch: Batch[np.ndarray], how: Recipe, device: torch.device) -> TensorBatch:
    """Return a batch as tensors on a device; planes travel as words and are unpacked there."""
    inputs = tuple(_moved(array, device) for array in batch.inputs)
    if not how.perspectives:
        inputs = (_planes(batch.inputs[0], how.encoding, device),)
    return Batch._make([inputs, *(_moved(array, device) for array in batch[1:-1]), None])


def _planes(bitplanes: np.ndarray, encoding: str, device: torch.device) -> Tensor:
    """Planes float32 [B, P, 8, 8], in memory channels last, of words uint64 [B, P]."""
    layout = layout_of(encoding)
    if device.type != "cpu":
        sent = _moved(bitplanes.view(np.int64), device)
        return laid_out(unpacked(sent, layout.clock, layout.divisor))
    planes = np.empty((*bitplanes.shape, 64), dtype=np.float32)
    expand(bitplanes, layout.clock, layout.divisor, planes)
    return laid_out(torch.from_numpy(planes.reshape(*bitplanes.shape, 8, 8)))


def _moved(array: np.ndarray, device: torch.device) -> Tensor:
    tensor = torch.from_numpy(array)
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
