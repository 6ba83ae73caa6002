"""ONNX files say what the torch network says, for any batch, and carry its card."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from kibitz.core.errors import InputError
from kibitz.nets.card import Heads, NetworkCard
from kibitz.nets.files import load_weights, read_card
from kibitz.nets.models.build import build, export_int8, export_onnx
from kibitz.nets.models.sizes import inputs_of, new_card


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


def run_onnx(path: Path, planes: np.ndarray) -> dict[str, np.ndarray]:
    """Run planes (B, C, 8, 8) float32 through an ONNX file on one CPU thread."""
    onnxruntime: Any = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        path.read_bytes(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"planes": planes}), strict=True))


def planes_for(card: NetworkCard, positions: int) -> torch.Tensor:
    return (torch.rand(positions, inputs_of(card), 8, 8) < 0.2).float()


@pytest.mark.parametrize(
    "card",
    [
        new_card("tower-2x16-se", heads=Heads("wdl", moves_left=True, soft_policy=True)),
        new_card("se-2x16"),
        # tests/nets/evaluators/test_families.py has these two
        pytest.param(new_card("dilated-eval"), marks=pytest.mark.slow),
        pytest.param(new_card("dilated-move"), marks=pytest.mark.slow),
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


def test_int8_is_close(tmp_path: Path) -> None:
    card = new_card("plain-2x32", name="small")
    exported(card, tmp_path / "n.onnx")
    calibration, compared = planes_for(card, 64).numpy(), planes_for(card, 100).numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        export_int8(tmp_path / "n.onnx", tmp_path / "n8.onnx", calibration)
    assert read_card(tmp_path / "n8.onnx").precision == "int8"
    operators = {node.op_type for node in onnx.load(tmp_path / "n8.onnx").graph.node}
    assert {"QuantizeLinear", "DequantizeLinear"} <= operators
    exact, rough = (run_onnx(tmp_path / name, compared) for name in ("n.onnx", "n8.onnx"))
    differences = np.abs(exact["value"] - rough["value"])
    assert 0 < differences.mean() <= differences.max() < 0.1
    assert (exact["policy"].argmax(1) == rough["policy"].argmax(1)).mean() > 0.7
    p, q = (softmax(outputs["policy"]) for outputs in (exact, rough))
    divergence = (p * (np.log(p + 1e-30) - np.log(q + 1e-30))).sum(1).mean()
    assert 0 < divergence < 0.02


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def test_sparse_networks_are_not_exported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="compiled"):
        export_onnx(build("sparse-16"), new_card("sparse-16"), tmp_path / "n.onnx")
