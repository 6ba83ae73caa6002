"""ONNX files say what the torch network says, for any batch, and carry its card."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from kibitz.errors import InputError
from kibitz.network.build import build, export_int8, export_onnx, run_onnx
from kibitz.network.card import Heads, NetworkCard, load_weights, read_card
from kibitz.network.sizes import inputs_of, new_card


def exported(card: NetworkCard, path: Path) -> torch.nn.Module:
    torch.manual_seed(1)
    network = build(card)
    with torch.no_grad():
        for _ in range(3):  # batch statistics other than 0 and 1
            network(planes_for(card, 16))
    with warnings.catch_warnings():
        # torch and onnxscript warn about their own internals, differently in every release.
        warnings.simplefilter("ignore")
        export_onnx(network, card, path)
    return network


def planes_for(card: NetworkCard, positions: int) -> torch.Tensor:
    return (torch.rand(positions, inputs_of(card), 8, 8) < 0.2).float()


@pytest.mark.parametrize(
    "card",
    [
        new_card("tower-2x16-se", heads=Heads("wdl", moves_left=True, soft_policy=True)),
        new_card("se-2x16"),
        new_card("dilated-eval"),
        new_card("dilated-move"),
    ],
    ids=lambda card: card.size,
)
def test_outputs_equal_those_of_torch_at_any_batch(card: NetworkCard, tmp_path: Path) -> None:
    network = exported(card, tmp_path / "n.onnx")
    assert read_card(tmp_path / "n.onnx") == card
    for positions in (1, 2, 7):
        planes = planes_for(card, positions)
        with torch.no_grad():
            outputs = network(planes)
        found = run_onnx(tmp_path / "n.onnx", planes.numpy())
        assert set(found) == set(outputs) - {"soft_policy", "mcts_value"}
        for name, array in found.items():
            assert np.allclose(array, outputs[name], atol=1e-5, rtol=1e-5)


def test_onnx_itself_accepts_the_file_and_shows_the_card(tmp_path: Path) -> None:
    exported(new_card("plain-1x8", name="small"), tmp_path / "n.onnx")
    model = onnx.load(tmp_path / "n.onnx")
    onnx.checker.check_model(model)
    assert {"card", "seal"} <= {entry.key for entry in model.metadata_props}
    with pytest.raises(InputError, match="no weights"):
        load_weights(tmp_path / "n.onnx")


def test_int8_is_close_and_its_cost_is_reported(tmp_path: Path) -> None:
    card = new_card("plain-2x32", name="small")
    exported(card, tmp_path / "n.onnx")
    calibration, compared = planes_for(card, 64).numpy(), planes_for(card, 100).numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cost = export_int8(tmp_path / "n.onnx", tmp_path / "n8.onnx", calibration, compared)
    assert read_card(tmp_path / "n8.onnx").precision == "int8"
    operators = {node.op_type for node in onnx.load(tmp_path / "n8.onnx").graph.node}
    assert {"QuantizeLinear", "DequantizeLinear"} <= operators
    assert cost.positions == 100
    assert 0 < cost.mean_value <= cost.largest_value < 0.1
    assert cost.top_move > 0.7
    assert 0 < cost.divergence < 0.02


def test_sparse_networks_are_not_exported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="compiled"):
        export_onnx(build("sparse-16"), new_card("sparse-16"), tmp_path / "n.onnx")
