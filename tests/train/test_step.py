"""One step: it learns, keeps weights where integers need them, and stops at once at NaN."""

from __future__ import annotations

from pathlib import Path

import pytest
import safetensors.torch
import torch

from kibitz.data.batches.batch import recipe
from kibitz.data.batches.loader import TensorBatch, rows_in_batches
from kibitz.data.batches.sample import Samples, replay
from kibitz.nets.card import Heads
from kibitz.nets.models.build import build
from kibitz.nets.models.make import LIMIT
from kibitz.nets.models.sizes import new_card
from kibitz.nets.models.sparse import SparseNetwork
from kibitz.train.config import LossWeights, OptimiserSettings
from kibitz.train.step import Learner, LossError, make_optimiser
from kibitz.train.validate import validate
from tests.data.batches.makers import random_shard

POSITIONS = 24


@pytest.fixture(scope="module")
def samples() -> Samples:
    return replay(random_shard(30, 20, seed=2))


def learner_of(size: str, clip: float = 0.0, folder: Path = Path(), rate: float = 3e-3) -> Learner:
    torch.manual_seed(0)
    heads = Heads(mcts_value=True) if size.startswith("tower") else None
    card = new_card(size, heads=heads)
    network = build(card)
    optimiser = make_optimiser(network, OptimiserSettings(kind="adamw"), rate)
    return Learner(
        network, card, optimiser, LossWeights(), torch.device("cpu"), clip=clip, bad_batches=folder
    )


def batch_of(samples: Samples, learner: Learner) -> TensorBatch:
    """Positions that differ and have a policy and a value."""
    counts = samples.target_offsets[1:] - samples.target_offsets[:-1]
    known = (counts > 0) & (samples.values == samples.values) & (samples.since_start > 3)
    rows = known.nonzero()[0][:POSITIONS]
    (batch,) = rows_in_batches(samples, rows, recipe(learner.card, 0.0), POSITIONS)
    return batch


def unavoidable(batch: TensorBatch) -> float:
    """The cross-entropy of a policy that is the target: its entropy."""
    return float(-torch.special.xlogy(batch.policy, batch.policy).sum() / POSITIONS)


@pytest.mark.parametrize(
    ("size", "steps"),
    [
        ("sparse-128x64-threats", 250),
        ("plain-2x24", 200),
        ("residual-2x16", 120),
        ("tower-2x16", 90),
    ],
)
def test_one_batch_is_learned_by_heart(samples: Samples, size: str, steps: int) -> None:
    learner = learner_of(size)
    batch = batch_of(samples, learner)
    first = learner.step(batch, 5e-3, 0)
    for number in range(1, steps):
        last = learner.step(batch, 5e-3, number)
    assert first["policy"] - unavoidable(batch) > 0.3
    assert last["policy"] - unavoidable(batch) < 0.03
    floor = 0.0
    if learner.card.heads.value == "wdl":
        floor = float(-torch.special.xlogy(batch.wdl, batch.wdl).sum() / POSITIONS)
    assert last["value"] - floor < 0.1 * (first["value"] - floor)
    if learner.card.heads.mcts_value:
        assert last["mcts_value"] < 0.1 * first["mcts_value"]
    found = validate(learner, [batch])
    assert found["value_error"] < (0.05 if size.startswith("sparse") else 0.35)


def test_feature_weights_stay_where_integers_need_them(samples: Samples) -> None:
    learner = learner_of("sparse-16")
    assert isinstance(learner.network, SparseNetwork)
    batch = batch_of(samples, learner)
    for number in range(3):
        learner.step(batch, 2.0, number)
    weights = learner.network.value_features.weight
    assert float(weights.detach().abs().max()) == pytest.approx(LIMIT)


def test_gradients_are_clipped_to_their_length(samples: Samples) -> None:
    free, tied = learner_of("sparse-16"), learner_of("sparse-16", clip=1e-3)
    length = free.step(batch_of(samples, free), 1e-3, 0)["gradient"]
    told = tied.step(batch_of(samples, tied), 1e-3, 0)["gradient"]
    assert float(length) == pytest.approx(float(told))  # what is told is the length before
    left = torch.cat([p.grad.flatten() for p in tied.network.parameters() if p.grad is not None])
    assert float(left.norm()) == pytest.approx(1e-3, rel=1e-3)


def test_a_loss_that_is_no_number_stops_everything(samples: Samples, tmp_path: Path) -> None:
    learner = learner_of("sparse-16", folder=tmp_path)
    batch = batch_of(samples, learner)
    learner.step(batch, 1e-3, 0)
    before = {name: tensor.clone() for name, tensor in learner.network.state_dict().items()}
    poisoned = batch._replace(wdl=batch.wdl.clone())
    poisoned.wdl[3, 1] = torch.nan
    with pytest.raises(LossError, match=r"step 7: loss nan.*bad-batch-7"):
        learner.step(poisoned, 1e-3, 7)
    for name, tensor in learner.network.state_dict().items():
        assert torch.equal(tensor, before[name])  # the weights have not been touched
    saved = safetensors.torch.load_file(tmp_path / "bad-batch-7.safetensors")
    assert torch.equal(saved["wdl"], poisoned.wdl) or saved["wdl"][3, 1].isnan()
    assert torch.equal(saved["input0"], batch.inputs[0])
    assert torch.equal(saved["moves"], batch.moves)


def test_a_gradient_that_is_infinite_stops_everything(samples: Samples, tmp_path: Path) -> None:
    learner = learner_of("plain-1x8", folder=tmp_path)
    batch = batch_of(samples, learner)
    with torch.no_grad():
        next(iter(learner.network.parameters()))[:] = 3e38
    with pytest.raises(LossError):
        learner.step(batch, 1e-3, 1)
    assert (tmp_path / "bad-batch-1.safetensors").exists()


def test_half_precision_is_near(samples: Samples) -> None:
    exact, rough = learner_of("tower-1x16"), learner_of("tower-1x16")
    rough.bfloat16 = True
    batch = batch_of(samples, exact)
    first, second = (float(one.step(batch, 1e-3, 0)["total"]) for one in (exact, rough))
    assert first != second
    assert first == pytest.approx(second, rel=0.02)
