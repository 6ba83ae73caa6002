"""Networks that are no numbers: refused by name when loaded, an error when met in a search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from kibitz import Board, Engine
from kibitz.core.errors import DamagedFileError, EvaluationError, InputError
from kibitz.engine import options as engine_options
from kibitz.engine.options import OpenedNetwork
from kibitz.nets import files as network_files
from kibitz.nets.discover import shipped_file
from kibitz.nets.encodings.leaves import Leaves, leaves_of
from kibitz.nets.encodings.planes import Sight
from kibitz.nets.evaluators.batched import Evaluations, InlineBatch, evaluated
from kibitz.nets.evaluators.cache import CachedEvaluator, PredictionCache
from kibitz.nets.evaluators.inline import Material, Uniform, inline_evaluator
from kibitz.nets.evaluators.load_sparse import LARGEST, sparse_evaluator
from kibitz.nets.load import load_evaluator
from kibitz.nets.models.make import create, random_weights
from kibitz.nets.models.sizes import new_card
from kibitz.search.limits import Limits
from kibitz.search.mcts.driver import Batches
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.options import Settings
from tests.uci.scripted import Gui

SPARSE, PLAIN = shipped_file("kibitz-64x256"), shipped_file("kibitz-plain-4x64")


def sparse_with(folder: Path, number: float) -> Path:
    """The shipped network with one number changed, with a new checksum."""
    assert SPARSE is not None
    card, weights = network_files.load(SPARSE)
    weights["tail3_bias"][1] = number
    file = folder / "wrong.safetensors"
    network_files.save(file, weights, card)
    return file


def onnx_with(folder: Path, change: Callable[[Any], Any], where: str = "value.out.bias") -> Path:
    """The shipped convolutional network with one of its arrays changed, with a new checksum."""
    assert PLAIN is not None
    model = onnx.load(str(PLAIN))
    del model.metadata_props[:]
    for tensor in model.graph.initializer:
        if tensor.name.endswith(where):
            tensor.CopyFrom(numpy_helper.from_array(change(tensor), tensor.name))
    file = folder / "wrong.onnx"
    network_files.save_onnx(file, model.SerializeToString(), network_files.read_card(PLAIN))
    return file


def filled(number: float, dtype: Any = np.float32) -> Callable[[Any], Any]:
    return lambda tensor: np.full_like(numpy_helper.to_array(tensor), number, dtype=dtype)


# --- loading --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_sparse_network_is_refused_by_file_and_weight(number: float, tmp_path: Path) -> None:
    file = sparse_with(tmp_path, number)
    with pytest.raises(DamagedFileError, match=rf"tail3_bias\[1\] is {number}: .*wrong") as error:
        load_evaluator(file)
    assert "train or export it again" in str(error.value)


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_an_onnx_network_is_refused_by_file_and_weight(
    number: float, dtype: Any, tmp_path: Path
) -> None:
    file = onnx_with(tmp_path, filled(number, dtype))
    with pytest.raises(DamagedFileError, match=rf"value\.out\.bias\[0\] is {number}: .*wrong"):
        load_evaluator(file)


@pytest.mark.parametrize("field", ["float_data", "double_data", "bfloat16"])
def test_every_way_to_write_a_tensor_is_read(field: str) -> None:
    kinds = {
        "float_data": onnx.TensorProto.FLOAT,
        "double_data": onnx.TensorProto.DOUBLE,
        "bfloat16": onnx.TensorProto.BFLOAT16,
    }
    raw = field == "bfloat16"
    values: Any = b"\x80\x3f\xc0\x7f" if raw else [1.0, np.nan]  # 1.0 and NaN
    tensor = onnx.helper.make_tensor("scale", kinds[field], [2], values, raw=raw)
    whole = onnx.helper.make_tensor("sizes", onnx.TensorProto.INT64, [2], [-1, 64])
    node = onnx.helper.make_node("LeakyRelu", ["planes"], ["out"], alpha=0.5)
    graph = onnx.helper.make_graph([node], "g", [], [], initializer=[whole, tensor])
    with pytest.raises(DamagedFileError, match=r"scale\[1\] is nan"):
        network_files.check_onnx_weights(
            "here.onnx", onnx.helper.make_model(graph).SerializeToString()
        )


def test_torch_refuses_it_too(tmp_path: Path) -> None:
    file = tmp_path / "little.safetensors"
    create("plain-1x8", file)
    card, weights = network_files.load(file)
    name = next(name for name, array in weights.items() if array.dtype == np.float32)
    weights[name].flat[0] = np.nan
    network_files.save(file, weights, card)
    with pytest.raises(DamagedFileError, match=f"{name}.* is nan"):
        load_evaluator(file, "torch")


@pytest.mark.parametrize(
    ("weight", "told"),
    [
        ("tail1.weight", "tail1_weight"),
        ("move_weight", "move_weight"),
        ("value_features.bias", "value_bias"),
    ],
)
def test_sparse_weights_that_could_overflow_are_refused(weight: str, told: str) -> None:
    card = new_card("sparse-64")
    weights = dict(random_weights(card))
    weights[weight] = np.full_like(weights[weight], LARGEST)
    judged = evaluated(
        InlineBatch(sparse_evaluator(card, weights)), leaves_of([Board().positions()])
    )
    assert np.isfinite(judged.wdl).all()
    assert np.isfinite(judged.logits).all()
    for number in (2 * LARGEST, -1e30, np.nan):
        weights[weight] = weights[weight].copy()
        weights[weight].flat[0] = number
        with pytest.raises(InputError, match=told):
            sparse_evaluator(card, weights)


def test_numbers_of_simple_evaluators_are_finite() -> None:
    for numbers in (Uniform(value=np.nan), Material(scale=np.inf)):
        with pytest.raises(InputError, match="not finite"):
            inline_evaluator(numbers)


# --- searching ------------------------------------------------------------------------------------


class Failing:
    """Answers with what it is told to from some batch on."""

    name, sees = "failing", Sight()

    def __init__(self, wrong: float, where: str, after: int) -> None:
        self.inner = InlineBatch(inline_evaluator(Material()))
        self.wrong, self.where, self.left = wrong, where, after

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        self.inner.evaluate(leaves, out)
        self.left -= 1
        if self.left < 0:
            (out.wdl if self.where == "wdl" else out.logits).flat[-1] = self.wrong


@pytest.mark.parametrize("where", ["wdl", "logits"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("after", [0, 3])
def test_a_search_ends_with_an_error_and_the_next_one_works(
    where: str, wrong: float, after: int
) -> None:
    evaluator = Failing(wrong, where, after)
    with Searcher(evaluator, Settings(hash=8, minibatch_size=4)) as searcher:
        with pytest.raises(EvaluationError, match="not a finite number: 'failing'"):
            searcher.search(Board(), Limits(nodes=500))
        assert int(searcher.memory.edges["visits"][0]) == 0
        evaluator.left = 10**9
        found = searcher.search(Board(), Limits(nodes=500)).report
        with Searcher(Failing(wrong, where, 10**9), searcher.settings) as fresh:
            expected = fresh.search(Board(), Limits(nodes=500)).report
        assert [(row.move, row.visits) for row in found.moves] == [
            (row.move, row.visits) for row in expected.moves
        ]
        work = searcher.driver.work
        assert isinstance(work, Batches)
        assert len(work.free) == 2


def test_an_engine_with_such_a_network_answers_go(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Failing(np.nan, "wdl", 10**9)
    opened = OpenedNetwork(failing, None, [])
    monkeypatch.setattr(engine_options, "open_evaluator", lambda *_: opened)
    with Gui(Engine("some network", hash=8, minibatch_size=8)) as gui:
        gui.ask("isready", "readyok")
        failing.left = 3
        lines = gui.ask("go infinite", "bestmove")
        assert any(
            line.startswith("info string error: ") and "number: 'failing'" in line for line in lines
        )
        assert Board().parse(lines[-1].split()[1]) in Board().legal_moves
        failing.left = 10**9
        lines = gui.ask("go nodes 100", "bestmove")
        assert not any("error" in line for line in lines)


def test_a_network_that_overflows_is_done_without(tmp_path: Path) -> None:
    file = onnx_with(tmp_path, filled(3e38), "heads.value.dense.weight")
    with Engine("material", hash=8) as ours:
        ours.ready()  # compiles what is gone on with
    with Gui(Engine(str(file), hash=8, minibatch_size=8)) as gui:
        lines = gui.ask("isready", "readyok")
        assert any("not a finite number: 'kibitz-plain-4x64'" in line for line in lines)
        assert "info string evaluator material" in lines
        assert gui.ask("go nodes 100", "bestmove")[-1] != "bestmove (none)"


def test_nothing_of_it_is_remembered() -> None:
    cache = PredictionCache(2**16)
    cached = CachedEvaluator(Failing(np.nan, "wdl", 0), cache)
    for _ in range(2):
        with pytest.raises(EvaluationError):
            evaluated(cached, leaves_of([Board().positions()]))
    assert cache.use().hits == 0


@pytest.mark.parametrize("kind", ["sparse", "onnx"])
def test_the_engine_says_so_and_plays_without_it(kind: str, tmp_path: Path) -> None:
    file = (
        sparse_with(tmp_path, np.nan) if kind == "sparse" else onnx_with(tmp_path, filled(np.nan))
    )
    with Engine("material", hash=8) as ours:
        ours.ready()  # compiles what is gone on with
    with Gui() as gui:
        gui.say("setoption name Hash value 8", f"setoption name WeightsFile value {file}")
        lines = gui.ask("isready", "readyok")
        assert any("not finite numbers" in line and str(file) in line for line in lines)
        assert gui.ask("go nodes 50", "bestmove")[-1] != "bestmove (none)"
