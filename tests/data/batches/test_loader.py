"""The order of batches, and going on at any place of it."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from kibitz.core.errors import InputError
from kibitz.data.batches.batch import Batch, make, recipe
from kibitz.data.batches.loader import Loader, PlaceInData, Share, TensorBatch, rows_in_batches
from kibitz.data.batches.window import Source, Window
from kibitz.data.shard import write
from kibitz.nets.encodings.leaves import leaves_of
from kibitz.nets.encodings.planes import encode
from kibitz.nets.models.sizes import new_card
from kibitz.position.packed import unpack_position
from kibitz.position.state import new_positions
from tests.data.batches.makers import random_shard

HOW = recipe(new_card("sparse-8"), 0.0)
SIZE = 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("games")
    for number in range(4):
        write(place / f"{number}.shard", random_shard(12, 20, seed=number))
    return place


@pytest.fixture(scope="module", params=["whole", "parts"])
def window(request: pytest.FixtureRequest, folder: Path) -> Window:
    positions = Window((Source(folder),)).positions
    memory = 0 if request.param == "whole" else positions // 2 + 1
    return Window((Source(folder),), memory=memory, seed=1)


def take(loader: Loader, count: int) -> list[TensorBatch]:
    with loader:
        return list(itertools.islice(loader, count))


def equal(first: TensorBatch, second: TensorBatch) -> bool:
    left, right = (
        [*batch.inputs, *(tensor for tensor in batch if isinstance(tensor, torch.Tensor))]
        for batch in (first, second)
    )
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def test_going_on_anywhere_is_exact(window: Window) -> None:
    count = 30
    places = [PlaceInData()]
    with Loader(window, HOW, SIZE, seed=4) as loader:
        batches = []
        for batch in itertools.islice(loader, count):
            batches.append(batch)
            places.append(loader.place)
    assert places[-1].epoch > 1
    for start in (1, 7, count // 2, count - 1):
        again = take(Loader(window, HOW, SIZE, 4, places[start]), count - start)
        assert all(equal(*pair) for pair in zip(again, batches[start:], strict=True))


def test_seeds_give_other_orders(window: Window) -> None:
    first, second = (take(Loader(window, HOW, SIZE, seed), 1)[0] for seed in (1, 2))
    assert not equal(first, second)
    assert equal(first, take(Loader(window, HOW, SIZE, 1), 1)[0])


def test_epochs_have_other_orders(folder: Path) -> None:
    whole = Window((Source(folder),))
    loader = Loader(whole, HOW, SIZE)
    count = loader.batches()
    batches = take(loader, 2 * count)
    assert not any(equal(a, b) for a, b in zip(batches[:count], batches[count:], strict=True))
    shown = sum(len(batch.value) for batch in batches[:count])
    assert whole.chunk(0, 0).size - shown < SIZE


def test_two_processes_share_the_batches_of_one(window: Window) -> None:
    together = take(Loader(window, HOW, SIZE, 3), 9)
    shares = [take(Loader(window, HOW, SIZE // 2, 3, share=Share(r, 2)), 9) for r in range(2)]
    for at, batch in enumerate(together):
        halves = [share[at] for share in shares]
        assert torch.equal(torch.cat([half.wdl for half in halves]), batch.wdl)
        assert torch.equal(torch.cat([half.moves for half in halves]), batch.moves)
        features = torch.cat([half.inputs[0] for half in halves], dim=1)
        assert torch.equal(features, batch.inputs[0])


def test_a_batch_larger_than_the_data_is_refused(window: Window) -> None:
    with pytest.raises(InputError, match="smaller batches"):
        take(Loader(window, HOW, 100_000), 1)


def test_tensors_are_the_arrays(folder: Path) -> None:
    chunk = Window((Source(folder),)).chunk(0, 0)
    arrays = make(chunk.samples, chunk.rows[0][:9], HOW)
    (tensors,) = rows_in_batches(chunk.samples, chunk.rows[0][:9], HOW, SIZE)
    assert tensors.teacher is None
    for name in Batch._fields[1:-1]:
        assert np.array_equal(getattr(tensors, name).numpy(), getattr(arrays, name)), name


def test_rows_in_order_with_a_short_last_batch(folder: Path) -> None:
    chunk = Window((Source(folder),)).chunk(0, 0)
    rows = chunk.rows[0][:70]
    batches = list(rows_in_batches(chunk.samples, rows, HOW, SIZE))
    assert [len(batch.value) for batch in batches] == [32, 32, 6]
    expected = make(chunk.samples, rows, HOW)
    assert np.array_equal(torch.cat([b.wdl for b in batches]).numpy(), expected.wdl)


def test_planes_are_the_encoders(folder: Path) -> None:
    chunk = Window((Source(folder),)).chunk(0, 0)
    card = new_card("plain-1x8")
    rows = chunk.rows[0][:40]
    (batch,) = rows_in_batches(chunk.samples, rows, recipe(card, 0.0), SIZE * 2)
    games = []
    for row in rows:
        position = new_positions(1)
        unpack_position(chunk.samples.positions[row], position[0])
        games.append(position)
    expected = np.empty((40, 22, 8, 8), dtype=np.float32)
    encode(card.encoding, leaves_of(games, 1), expected)
    assert np.array_equal(batch.inputs[0].numpy(), expected)
