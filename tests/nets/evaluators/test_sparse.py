"""The sparse evaluator against NumPy, against torch, and with the compiler off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.nets.card import Precision
from kibitz.nets.encodings.features import DETAILS, batch_features
from kibitz.nets.encodings.leaves import Leaves, part_of
from kibitz.nets.encodings.move_features import batch_move_features
from kibitz.nets.encodings.planes import policy_indices
from kibitz.nets.evaluators.batched import InlineBatch, evaluated, values_of
from kibitz.nets.evaluators.load_sparse import evaluator_of, sparse_evaluator
from kibitz.nets.evaluators.sparse import put_wdl_logits, sparse_logits
from kibitz.nets.files import save
from kibitz.nets.load import load_evaluator
from kibitz.nets.models.build import with_weights
from kibitz.nets.models.make import PolicyPrecision, quantise, random_weights
from kibitz.nets.models.sizes import new_card
from tests.nets.models.integers import exact_policy, exact_wdl

SIZES = [
    "sparse-64",
    "sparse-512x256-threats",
    "sparse-48x80-threats-both",
    "sparse-128-direct",
    "sparse-96-both-direct",
    "sparse-64x48-tactics",
    "sparse-64-tactics-both",
    "sparse-64-tactics-buckets",
    "sparse-48-both-direct-buckets",
]


def features_of(leaves: Leaves, size: str) -> tuple[np.ndarray, np.ndarray]:
    positions = np.ascontiguousarray(leaves.positions[:, 0])
    indices = np.zeros((2, 32 * len(positions)), dtype=np.int32)
    offsets = np.zeros(len(positions) + 1, dtype=np.int64)
    total = batch_features(positions, DETAILS[new_card(size).encoding], indices, offsets)
    return indices[:, :total], offsets


@pytest.mark.parametrize("precision", ["int8", "int16"])
@pytest.mark.parametrize("size", SIZES)
def test_integers_equal_numpy_bit_by_bit(
    size: str, precision: PolicyPrecision, leaves: Leaves
) -> None:
    card = new_card(size)
    network = quantise(random_weights(card), precision).network
    evaluator = evaluator_of("test", network, card.encoding)
    scratch, (features, starts) = evaluator.new_scratch(), features_of(leaves, size)
    kinds = batch_move_features(leaves) + 1858
    indices = np.zeros(len(leaves.moves), dtype=np.int32)
    policy_indices("table1858", "sparse768", leaves, indices)
    views = 2 if "both" in size else 1
    for row, position in enumerate(leaves.positions[:, 0]):
        active = features[:views, starts[row] : starts[row + 1]]
        put_wdl_logits(evaluator.record, scratch.record, position)
        wdl = scratch.record.products[:3]
        if "direct" in size:
            assert np.array_equal(wdl, exact_wdl(network, active))
        else:  # the last two layers are in float32, summed in an order of their own
            assert np.allclose(wdl, exact_wdl(network, active), atol=1e-5)
        own = slice(leaves.offsets[row], leaves.offsets[row + 1])
        logits = np.zeros(256, dtype=np.float32)
        count = own.stop - own.start
        sparse_logits(evaluator.record, scratch.record, position, leaves.moves[own], count, logits)
        expected = exact_policy(network, active[0], indices[own])
        if "tactics" in size:
            for rows in kinds[:, own]:
                expected += exact_policy(network, active[0], rows)
        assert np.array_equal(logits[:count], expected)


@pytest.mark.parametrize("size", SIZES)
def test_floats_equal_torch(size: str, leaves: Leaves) -> None:
    card = new_card(size)
    weights = random_weights(card)
    network = with_weights(card, weights)
    features, starts = features_of(leaves, size)
    kinds = [batch_move_features(leaves)] if "tactics" in size else []
    indices = np.zeros(len(leaves.moves), dtype=np.int32)
    policy_indices("table1858", "sparse768", leaves, indices)
    with torch.no_grad():
        arrays = (features, starts, indices, leaves.offsets, *kinds)
        outputs = network(*map(torch.from_numpy, arrays))
    wdl = outputs["value"].softmax(1).numpy()
    judged = evaluated(InlineBatch(sparse_evaluator(card, weights)), leaves)
    assert np.allclose(judged.wdl, wdl, atol=1e-5)
    assert np.allclose(judged.logits, outputs["policy"].numpy(), atol=1e-5)
    assert np.std(values_of(judged.wdl)) > 0.01


def test_features_are_kept_for_one_position_only(leaves: Leaves) -> None:
    card = new_card("sparse-64-threats")
    evaluator = InlineBatch(sparse_evaluator(card, random_weights(card)))
    together = evaluated(evaluator, leaves)
    for row in (299, 7, 7, 8, 0):
        alone = evaluated(evaluator, part_of(leaves, row, row + 1))
        assert np.array_equal(alone.wdl[0], together.wdl[row])
        start, end = leaves.offsets[row], leaves.offsets[row + 1]
        assert np.array_equal(alone.logits, together.logits[start:end])


def test_wrong_contents_are_refused() -> None:
    card = new_card("sparse-64")
    weights = random_weights(card)
    del weights["tail2.bias"], weights["move_bias"]
    with pytest.raises(DamagedFileError, match=r"missing tail2\.bias"):
        sparse_evaluator(card, weights)
    with pytest.raises(InputError, match="not a sparse network"):
        sparse_evaluator(new_card("plain-4x64"), weights)


@pytest.mark.parametrize("precision", ["float32", "int8", "int16"])
@pytest.mark.parametrize("size", ["sparse-32x48-tactics", "sparse-32-both-direct"])
def test_every_array_has_the_shape_that_the_card_says(size: str, precision: Precision) -> None:
    card = msgspec.structs.replace(new_card(size), precision=precision)
    weights = random_weights(card)
    if precision != "float32":
        weights = quantise(weights, precision).network._asdict()
    sparse_evaluator(card, weights)
    for name, array in weights.items():
        shapes = [(0, 200_000), (*array.shape[:-1], array.shape[-1] + 1), (array.size + 64,)]
        forged = [np.zeros(shape, array.dtype) for shape in shapes]
        for other in (*forged, array[:-1], array.astype(np.float64)):
            if array.size or other.size:
                with pytest.raises(DamagedFileError, match=f"{name} is .*, not "):
                    sparse_evaluator(card, {**weights, name: other}, "forged.safetensors")


def test_a_forged_file_is_refused_by_name(tmp_path: Path) -> None:
    """Its checksums are valid; its values are for another card."""
    file = tmp_path / "forged.safetensors"
    weights = quantise(random_weights(new_card("sparse-64"))).network._asdict()
    weights["value_features"] = np.zeros((0, 200_000), np.int16)
    save(file, weights, msgspec.structs.replace(new_card("sparse-64"), precision="int8"))
    with pytest.raises(DamagedFileError, match=r"not int16 \[768, 64\]: .*forged\.safetensors"):
        load_evaluator(file)
    tower = msgspec.structs.replace(new_card("plain-4x64"), family="sparse")
    save(file, weights, tower)
    with pytest.raises(InputError, match="wrong family"):
        load_evaluator(file)


SCRIPT = """
import numpy as np
np.seterr(over="ignore")
from kibitz.nets.evaluators.inline import logits_of, value_of
from kibitz.nets.evaluators.load_sparse import evaluator_of, sparse_evaluator
from kibitz.nets.models.make import quantise
from kibitz.nets.models.sizes import new_card
from kibitz.nets.models.make import random_weights
from kibitz.position.fen import parse_fen
from kibitz.position.moves import generate
card = new_card("sparse-64-tactics-both")
weights = random_weights(card)
evaluators = [sparse_evaluator(card, weights)]
for precision in ("int8", "int16"):
    network = quantise(weights, precision).network
    evaluators.append(evaluator_of("x", network, card.encoding))
FENS = (
    "r3k2r/pP3ppp/8/3pP3/8/8/PPP2PPP/R3K2R w KQkq d6 0 9",
    "8/8/4k3/8/8/1p6/8/K7 b - - 0 1",
)
for fen in FENS:
    position, moves, logits = parse_fen(fen), np.zeros(256, np.uint16), np.zeros(256, np.float32)
    count = generate(position, moves)
    for evaluator in evaluators:
        scratch = evaluator.new_scratch()
        print(*value_of(evaluator.record, scratch.record, position))
        logits_of(evaluator.record, scratch.record, position, moves, count, logits)
        print(*logits[:count])
"""


def numbers_of(**environment: str) -> list[list[float]]:
    command = [sys.executable, "-c", SCRIPT]
    run = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return [[float(number) for number in line.split()] for line in run.stdout.splitlines()]


def test_plain_python_agrees_with_the_compiled_kernels() -> None:
    plain, compiled = numbers_of(NUMBA_DISABLE_JIT="1"), numbers_of(NUMBA_DISABLE_JIT="0")
    assert len(plain) == 12
    for first, second in zip(plain, compiled, strict=True):
        assert first == pytest.approx(second, abs=1e-5)
