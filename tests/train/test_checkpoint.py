"""Checkpoints: what is written is read, what is damaged is named, what is old goes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.train import checkpoint as checkpoints
from kibitz.train.checkpoint import Checkpoint
from kibitz.train.config import OptimiserSettings
from kibitz.train.step import make_optimiser


def example() -> Checkpoint:
    torch.manual_seed(0)
    tensors = {
        "network.weight": torch.randn(5, 7),
        "network.count": torch.tensor(12),
        "optimiser.0.step": torch.tensor(3.0),
        "random.cpu": torch.get_rng_state(),
    }
    return Checkpoint(tensors, {"step": 3, "place": [1, 0, 2], "odd": "\u00e9\n"})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = checkpoints.path_of(tmp_path, 3)
    checkpoints.save(path, example())
    assert path.name == "step-000000003.safetensors"
    found = checkpoints.load(path)
    assert found.state == {"format_version": 1, **example().state}
    assert found.tensors.keys() == example().tensors.keys()
    for name, tensor in example().tensors.items():
        assert torch.equal(found.tensors[name], tensor)
        assert found.tensors[name].dtype == tensor.dtype
    assert found.part("network").keys() == {"weight", "count"}


def test_no_byte_changes_unnoticed(tmp_path: Path) -> None:
    path = tmp_path / "step-000000001.safetensors"
    checkpoints.save(path, example())
    content = path.read_bytes()
    for at in [*range(0, len(content), 7), len(content) - 1]:
        damaged = bytearray(content)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(DamagedFileError, match="step-000000001"):
            checkpoints.load(path)


@pytest.mark.parametrize("length", [0, 5, 100, -1])
def test_a_cut_file_is_damaged(tmp_path: Path, length: int) -> None:
    path = tmp_path / "step-000000001.safetensors"
    checkpoints.save(path, example())
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DamagedFileError, match="step-000000001"):
        checkpoints.load(path)


def test_a_later_format_asks_for_an_update(tmp_path: Path) -> None:
    path = tmp_path / "step-000000001.safetensors"
    checkpoint = example()
    checkpoints.save(path, Checkpoint(checkpoint.tensors, {"format_version": 99}))
    with pytest.raises(InputError, match="update Kibitz"):
        checkpoints.load(path)


def test_the_one_before_only_when_allowed(tmp_path: Path) -> None:
    assert checkpoints.newest(tmp_path / "nowhere", damaged_allowed=False) is None
    for step in (1, 2):
        checkpoints.save(checkpoints.path_of(tmp_path, step), example())
    last = checkpoints.path_of(tmp_path, 2)
    last.write_bytes(last.read_bytes()[:-9])
    with pytest.raises(DamagedFileError, match="allow-damaged"):
        checkpoints.newest(tmp_path, damaged_allowed=False)
    found = checkpoints.newest(tmp_path, damaged_allowed=True)
    assert found is not None
    assert found[0] == checkpoints.path_of(tmp_path, 1)


def test_old_ones_go(tmp_path: Path) -> None:
    for step in (5, 10, 15, 1000):
        checkpoints.save(checkpoints.path_of(tmp_path, step), example())
    (tmp_path / "notes.txt").write_text("mine")
    expected = [checkpoints.path_of(tmp_path, step) for step in (5, 10)]
    assert checkpoints.prune(tmp_path, keep=2) == expected
    kept = [checkpoints.path_of(tmp_path, step) for step in (15, 1000)]
    assert checkpoints.checkpoints_in(tmp_path) == kept
    assert (tmp_path / "notes.txt").exists()


@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw"])
def test_an_optimiser_goes_on_exactly(tmp_path: Path, kind: str) -> None:
    def made() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(1)
        network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
        settings = OptimiserSettings(kind=kind, weight_decay=0.01)  # type: ignore[arg-type]
        return network, make_optimiser(network, settings, 0.05)

    def steps(network: torch.nn.Module, optimiser: torch.optim.Optimizer, count: int) -> None:
        for _ in range(count):
            optimiser.zero_grad()
            torch.autograd.backward((network(torch.ones(3, 4)) - 2).square().sum())
            optimiser.step()

    network, optimiser = made()
    steps(network, optimiser, 3)
    tensors, rest = checkpoints.optimiser_parts(optimiser)
    weights = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    path = tmp_path / "step-000000003.safetensors"
    checkpoints.save(path, Checkpoint(tensors | weights, {"optimiser": rest}))
    steps(network, optimiser, 4)
    found = checkpoints.load(path)
    second, again = made()
    second.load_state_dict(found.part("network"))
    checkpoints.restore_optimiser(again, found)
    steps(second, again, 4)
    for mine, theirs in zip(network.parameters(), second.parameters(), strict=True):
        assert torch.equal(mine, theirs)
