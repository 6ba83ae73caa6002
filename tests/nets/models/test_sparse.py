"""The sparse network against brute force, and its integer form against the float one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from kibitz.nets.encodings import MOVE_FEATURES
from kibitz.nets.models.build import build, file_weights, load_network, save_network
from kibitz.nets.models.make import LIMIT, QA, TOP, PolicyPrecision, QuantisedSparse, quantise
from kibitz.nets.models.sizes import new_card
from kibitz.nets.models.sparse import SparseNetwork, SparseSizes, feature_activations, move_logits
from tests.nets.models.integers import (
    exact_policy,
    exact_wdl,
    int8_activation,
    int16_activation,
)

MOVES = 1858


class Batch(NamedTuple):
    """Random positions: features (2, N), moves (M,) and offsets (B + 1,) each."""

    features: Tensor
    offsets: Tensor
    moves: Tensor
    move_offsets: Tensor


def random_batch(random: np.random.Generator, features: int, positions: int) -> Batch:
    counts, move_counts = random.integers(2, 33, positions), random.integers(0, 60, positions)
    rows = [random.choice(features, count, replace=False) for count in counts]
    others = [random.choice(features, count, replace=False) for count in counts]
    moves = [random.choice(MOVES, count, replace=False) for count in move_counts]
    return Batch(
        torch.tensor(np.stack([np.concatenate(rows), np.concatenate(others)]), dtype=torch.int32),
        torch.tensor(np.concatenate([[0], counts.cumsum()])),
        torch.tensor(np.concatenate(moves), dtype=torch.int32),
        torch.tensor(np.concatenate([[0], move_counts.cumsum()])),
    )


def network_of(size: str) -> SparseNetwork:
    network = build(size)
    assert isinstance(network, SparseNetwork)
    return network


def state_of(network: SparseNetwork) -> dict[str, NDArray[Any]]:
    return file_weights(network.state_dict())


def dense(batch: Batch, view: int, features: int) -> NDArray[np.float64]:
    """(B, F) zeros and ones."""
    inputs = np.zeros((len(batch.offsets) - 1, features))
    for b in range(len(inputs)):
        inputs[b, batch.features[view, batch.offsets[b] : batch.offsets[b + 1]].numpy()] = 1
    return inputs


def screlu(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(x, 0, 1) ** 2


@pytest.mark.parametrize("size", ["sparse-64", "sparse-48x80-threats-both", "sparse-64-direct"])
def test_forward_equals_dense_matrices(size: str) -> None:
    network, random = network_of(size), np.random.default_rng(1)
    features = network.sizes.features
    batch = random_batch(random, features, 9)
    outputs = network(*batch)
    w = {name: array.astype(np.float64) for name, array in state_of(network).items()}
    views = [dense(batch, view, features) for view in range(network.sizes.perspectives)]
    layers = [x @ w["value_features.weight"] + w["value_features.bias"] for x in views]
    value = screlu(np.concatenate(layers, axis=1)) @ w["tail1.weight"].T + w["tail1.bias"]
    if not network.sizes.direct:
        value = screlu(value) @ w["tail2.weight"].T + w["tail2.bias"]
        value = screlu(value) @ w["tail3.weight"].T + w["tail3.bias"]
    hidden = screlu(views[0] @ w["policy_features.weight"] + w["policy_features.bias"])
    policy = hidden @ w["move_weight"].T + w["move_bias"]
    assert np.allclose(outputs["value"].detach(), value, atol=1e-5)
    starts = batch.move_offsets.tolist()
    legal = [policy[b, batch.moves[starts[b] : starts[b + 1]].numpy()] for b in range(9)]
    assert np.allclose(outputs["policy"].detach(), np.concatenate(legal), atol=1e-5)


@pytest.mark.parametrize("options", ["", "-direct"])
@pytest.mark.parametrize("precision", [torch.float32, torch.float64])  # compiled, and plain torch
def test_each_number_of_pieces_has_its_tail(options: str, precision: torch.dtype) -> None:
    network = network_of(f"sparse-32{options}-buckets").to(precision)
    batch = random_batch(np.random.default_rng(4), 768, 40)
    values = network(*batch)["value"]
    counts = batch.offsets.diff().tolist()
    buckets = [(count - 1) // 4 for count in counts]
    assert len(set(buckets)) == 8
    for bucket in set(buckets):
        plain = network_of(f"sparse-32{options}").to(precision)
        state = {
            name: tensor.chunk(8)[bucket] if name.startswith("tail") else tensor
            for name, tensor in network.state_dict().items()
        }
        plain.load_state_dict(state)
        expected = plain(*batch)["value"]
        rows = [row for row, chosen in enumerate(buckets) if chosen == bucket]
        assert torch.allclose(values[rows], expected[rows], atol=1e-5)
    torch.autograd.backward(values.square().sum())
    gradient = network.tail1.weight.grad
    assert gradient is not None
    assert all(part.abs().max() > 0 for part in gradient.chunk(8))


def test_kinds_of_moves_add_their_rows() -> None:
    network, random = network_of("sparse-64-tactics"), np.random.default_rng(8)
    table = network.sizes.moves
    assert network.sizes.kinds == MOVE_FEATURES
    with torch.no_grad():  # they start with nothing to say
        assert not network.move_weight[table:].any()
        network.move_weight[table:] = torch.randn(MOVE_FEATURES, 32)
        network.move_bias[table:] = torch.randn(MOVE_FEATURES)
    batch = random_batch(random, 3072, 5)
    kinds = torch.from_numpy(
        random.integers(0, MOVE_FEATURES, (2, len(batch.moves)), dtype=np.int32)
    )
    features, offsets, moves, starts = batch
    with_kinds = network(features, offsets, moves, starts, kinds)["policy"]
    parts = [network(features, offsets, rows, starts)["policy"] for rows in (moves, *kinds + table)]
    assert torch.allclose(with_kinds, torch.stack(parts).sum(0), atol=1e-5)
    with_kinds.sum().backward()
    assert network.move_weight.grad is not None
    touched = set(torch.nonzero(network.move_weight.grad.abs().sum(1)).flatten().tolist())
    assert touched == {*moves.tolist(), *(kinds + table).flatten().tolist()}


def test_full_and_legal_logits_agree() -> None:
    network = network_of("sparse-64")
    batch = random_batch(np.random.default_rng(2), 768, 7)
    full = network(batch.features, batch.offsets)["policy"]
    assert full.shape == (7, MOVES)
    legal = network(*batch)["policy"]
    rows = np.repeat(np.arange(7), np.diff(batch.move_offsets.numpy()))
    assert torch.allclose(full[rows, batch.moves.long()], legal, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("width", "views", "common"), [(128, 1, 20), (48, 2, 0), (24, 2, 10), (7, 1, 0)]
)
def test_gradients_equal_those_of_plain_torch(
    threads: int, width: int, views: int, common: int
) -> None:
    """Widths of one tile and of several; with rows in common and without; both views."""
    random, before = np.random.default_rng(3), torch.get_num_threads()
    batch = random_batch(random, 40, 6)
    moves = batch.moves % 50
    hidden = views * width
    shapes = {"weight": (40, width), "bias": (width,), "moves": (50, hidden), "move_bias": (50,)}
    shapes |= {"shared": (common, width)} if common else {}
    gradients = []
    for precision in (torch.float32, torch.float64):  # float64 takes the plain path
        generator = torch.Generator().manual_seed(4)
        p = {
            name: torch.randn(shape, generator=generator).to(precision).mul(0.3).requires_grad_()
            for name, shape in shapes.items()
        }
        torch.set_num_threads(threads)
        activations = feature_activations(
            batch.features[:views], batch.offsets, p["weight"], p["bias"], p.get("shared")
        )
        logits = move_logits(activations, p["moves"], p["move_bias"], moves, batch.move_offsets)
        torch.autograd.backward(logits.sin().sum())
        torch.set_num_threads(before)
        gradients.append([parameter.grad for parameter in p.values()])
    for ours, torchs in zip(*gradients, strict=True):
        assert ours is not None
        assert torchs is not None
        assert torchs.abs().max() > 0.01
        assert torch.allclose(ours.double(), torchs, atol=1e-4)


def test_a_layer_passes_on_what_is_no_number() -> None:
    """So that a training sees it in its loss."""
    network = network_of("sparse-64")
    with torch.no_grad():
        network.value_features.weight[5, 3] = torch.nan
    indices, offsets = torch.tensor([[5, 7, 7]], dtype=torch.int32), torch.tensor([0, 2, 3])
    activations = network.value_features(indices, offsets)
    assert torch.nonzero(activations.isnan()).tolist() == [[0, 3]]


def test_positions_without_moves_at_the_end_change_nothing() -> None:
    """A share of a batch may come with moves: its first positions."""
    network = network_of("sparse-64-threats")
    batch = random_batch(np.random.default_rng(9), network.sizes.features, 8)
    taught = 3
    starts = batch.move_offsets.clamp(max=int(batch.move_offsets[taught]))
    part = network(batch.features, batch.offsets, batch.moves[: int(starts[-1])], starts)
    whole = network(*batch)
    assert torch.equal(part["value"], whole["value"])
    assert torch.equal(part["policy"], whole["policy"][: int(starts[-1])])
    none = network(batch.features, batch.offsets, batch.moves[:0], torch.zeros_like(starts))
    assert torch.equal(none["value"], whole["value"])
    assert len(none["policy"]) == 0
    torch.autograd.backward(none["policy"].sum() + none["value"].sum())


def test_indices_outside_the_table_never_reach_the_kernels() -> None:
    network = network_of("sparse-16")
    for wrong in ([0, 768], [-1, 5]):
        with pytest.raises(IndexError, match="below 768"):
            network(torch.tensor([wrong], dtype=torch.int32), torch.tensor([0, 2]))
    with pytest.raises(IndexError):
        network(torch.tensor([[1, 2]], dtype=torch.int32), torch.tensor([0, 3]))


def test_what_threats_have_in_common_is_learned_once_and_kept_in_every_row(tmp_path: Path) -> None:
    card = new_card("sparse-64-threats")
    network = build(card)
    assert isinstance(network, SparseNetwork)
    assert network.value_features.shared is not None
    with torch.no_grad():
        network.value_features.shared.normal_(0, 1.5)
        network.policy_features.shared.normal_(0, 0.1)  # type: ignore[union-attr]
    network.clip_weights()
    batch = random_batch(np.random.default_rng(3), network.sizes.features, 20)
    save_network(tmp_path / "net.safetensors", network, card)
    again, found = load_network(tmp_path / "net.safetensors")
    for name, expected in network(*batch).items():
        assert torch.allclose(again(*batch)[name], expected, atol=1e-5)
    rows = state_of(network)["value_features.weight"]
    assert rows.shape == (3072, 64)
    assert np.abs(rows).max() <= LIMIT + 1e-6
    assert np.abs(rows).max() > 0.99 * LIMIT
    assert found.parameters == sum(array.size for array in state_of(network).values())


def test_one_batch_can_be_learned_by_heart() -> None:
    torch.manual_seed(5)
    network = network_of("sparse-64")
    batch = random_batch(np.random.default_rng(6), 768, 32)
    target = torch.randint(3, (32,))
    optimiser = torch.optim.Adam(network.parameters(), 0.01)
    for _ in range(150):
        outputs = network(*batch)
        split = torch.split(outputs["policy"], batch.move_offsets.diff().tolist())
        policy = torch.stack([s.logsumexp(0) - s[0] for s in split if len(s)]).mean()
        loss = torch.nn.functional.cross_entropy(outputs["value"], target) + policy
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        network.clip_weights()
    assert loss.item() < 0.05
    assert np.abs(state_of(network)["value_features.weight"]).max() <= LIMIT


def trained_like(size: str, seed: int) -> SparseNetwork:
    """Weights as large as training leaves them, some on the limit."""
    torch.manual_seed(seed)
    network = network_of(size)
    with torch.no_grad():
        for layer in (network.value_features, network.policy_features):
            layer.weight.mul_(torch.rand(len(layer.weight), 1) * 5)
            layer.bias.add_(0.2 * torch.randn_like(layer.bias))
        network.move_bias.normal_()
    network.clip_weights()
    return network


@pytest.mark.parametrize("policy", ["int8", "int16"])
@pytest.mark.parametrize("size", ["sparse-128", "sparse-128x96-threats-both-direct"])
def test_the_integer_network_is_close_to_the_float_one(size: str, policy: PolicyPrecision) -> None:
    network = trained_like(size, seed=7)
    outcome = quantise(state_of(network), policy)
    assert outcome.clipped == 0
    batch = random_batch(np.random.default_rng(8), network.sizes.features, 60)
    with torch.no_grad():
        wdl, logits = (output.numpy() for output in network(*batch).values())
    views = network.sizes.perspectives
    value_errors, policy_errors = [], []
    for b in range(60):
        part = slice(batch.offsets[b], batch.offsets[b + 1])
        part_moves = slice(batch.move_offsets[b], batch.move_offsets[b + 1])
        features = batch.features[:views, part].numpy()
        value_errors.append(np.abs(exact_wdl(outcome.network, features) - wdl[b]).max())
        ours = exact_policy(outcome.network, features[0], batch.moves[part_moves].numpy())
        policy_errors.extend(np.abs(ours - logits[part_moves]))
    assert max(value_errors) < 0.03
    assert max(policy_errors) < 0.08
    assert np.mean(policy_errors) < 0.02


def extreme(network: QuantisedSparse) -> QuantisedSparse:
    """All weights as large as the format allows: the worst case for overflow."""
    largest = {
        name: np.full_like(array, 506 if "tail" not in name else np.abs(array).max())
        for name, array in network._asdict().items()
        if array.dtype == np.int16 and name != "move_weight"
    }
    top = np.abs(network.move_weight).max()
    return network._replace(**largest, move_weight=np.full_like(network.move_weight, top))


@pytest.mark.parametrize("policy", ["int8", "int16"])
@pytest.mark.parametrize("size", ["sparse-2048x2048-both", "sparse-64", "sparse-16x2"])
def test_no_sum_can_overflow(size: str, policy: PolicyPrecision) -> None:
    network = extreme(quantise(state_of(network_of(size)), policy).network)
    accumulator = 32 * int(network.value_features.max()) + int(network.value_bias.max())
    assert accumulator < 2**15
    tops = ((network.tail1_weight, TOP["int16"]), (network.move_weight, TOP[policy]))
    for weights, activation in tops:
        assert (weights.astype(np.int64) * activation).sum(axis=1).max() < 2**31


def test_activations_fit_their_types() -> None:
    every = np.arange(-(2**15), 2**15)
    assert int16_activation(every).max() == TOP["int16"]
    assert int8_activation(every).max() == TOP["int8"]
    assert int16_activation(every).min() == int8_activation(every).min() == 0
    assert QA * QA + 2**8 < 2**16
    exact = np.clip(every / QA, 0, 1) ** 2
    assert np.abs(int16_activation(every) / (QA**2 / 2**4) - exact).max() <= 0.5 / TOP["int16"]
    assert np.abs(int8_activation(every) / (QA**2 / 2**9) - exact).max() <= 0.5 / (TOP["int8"] - 1)


def test_weights_beyond_the_limit_are_reported() -> None:
    network = network_of("sparse-16")
    with torch.no_grad():
        network.value_features.weight[3, 4] = -2.5
        network.move_weight[0, 0] = 9  # has its own scale, needs no clipping
    outcome = quantise(state_of(network))
    assert outcome.clipped == 1
    assert outcome.largest_clip == pytest.approx(2.5 - LIMIT)
    assert outcome.network.value_features[3, 4] == -506


def test_sizes_say_what_they_build() -> None:
    assert network_of("sparse-512x256-threats").sizes == SparseSizes(3072, 512, 256)
    assert network_of("sparse-96-both-direct").sizes == SparseSizes(
        768, 96, 48, perspectives=2, direct=True
    )
