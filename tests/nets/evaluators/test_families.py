"""A random network of every family: written, shown, loaded and judged by all that support it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import chess
import numpy as np
import pytest
import torch

from kibitz.core.errors import DamagedFileError, EvaluationError, InputError
from kibitz.nets.card import Heads
from kibitz.nets.discover import shipped_file
from kibitz.nets.encodings.leaves import Leaves, leaves_of, part_of
from kibitz.nets.evaluators.batched import (
    BatchedEvaluator,
    InlineBatch,
    Pair,
    evaluated,
    new_evaluations,
)
from kibitz.nets.evaluators.compare import difference, leaves_from
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.nets.evaluators.onnx import OnnxEvaluator
from kibitz.nets.evaluators.torch import TorchEvaluator
from kibitz.nets.files import read_card, save_onnx
from kibitz.nets.load import as_batched, load_batched, load_evaluator
from kibitz.nets.models import make
from kibitz.nets.models.sizes import new_card
from kibitz.position.fen import parse_fen
from kibitz.position.state import new_positions

SIZES = [
    "tower-2x16",
    "tower-2x16-se",
    "plain-2x16",
    "residual-2x16",
    "se-2x16-input",
    "dilated-eval",
    "dilated-move",
    "sparse-64-threats",
    "sparse-64-tactics",
    "sparse-64-both",
    "sparse-64-buckets",
]
SELDOM = {"tower-2x16-se", "residual-2x16", "se-2x16-input"}  # the others have their parts
CONVOLUTIONAL = [size for size in SIZES if not size.startswith("sparse")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A network file for each size, made when it is asked for, with its ONNX export beside it."""
    folder = tmp_path_factory.mktemp("networks")

    class Files(dict[str, Path]):
        def __missing__(self, size: str) -> Path:
            file = self[size] = folder / f"{size}.safetensors"
            make.create(size, file, seed=3)
            if size in CONVOLUTIONAL:
                make.export(file, file.with_suffix(".onnx"))
            return file

    return Files()


@pytest.fixture(scope="module")
def few(leaves: Leaves) -> Leaves:
    return part_of(leaves, 0, 40)


@pytest.mark.parametrize(
    "size",
    [pytest.param(size, marks=[pytest.mark.slow] * (size in SELDOM)) for size in SIZES],
)
def test_all_evaluators_agree(size: str, files: dict[str, Path], few: Leaves) -> None:
    through_torch = TorchEvaluator(files[size])
    usual = load_batched(files[size])
    apart = difference(through_torch, usual, few)
    assert apart.largest_value < 1e-5
    assert apart.largest_wdl < 1e-5
    assert apart.largest_logit < 1e-4
    assert apart.top_move == 1
    judged = evaluated(usual, few)
    assert np.allclose(judged.wdl.sum(axis=1), 1, atol=1e-6)
    card = read_card(files[size])
    assert (np.std(judged.wdl[:, 0]) > 0) == (card.heads.value != "none")
    assert (np.std(judged.logits) > 0) == card.heads.policy


@pytest.mark.parametrize("size", ["plain-2x16", "tower-2x16", "dilated-eval"])
def test_int8_is_close(size: str, files: dict[str, Path], leaves: Leaves) -> None:
    exact = files[size].with_suffix(".onnx")
    rough = exact.with_name(f"{size}-int8.onnx")
    make.quantise_onnx(exact, rough, leaves)
    assert read_card(rough).precision == "int8"
    apart = difference(load_batched(exact), load_batched(rough), leaves)
    assert 0 < apart.largest_value < 0.3
    assert apart.top_move > 0.75


@pytest.mark.parametrize("policy", ["int8", "int16"])
def test_sparse_integers_are_close(policy: str, files: dict[str, Path], leaves: Leaves) -> None:
    exact = files["sparse-64-threats"]
    rough = exact.with_name(f"{policy}.safetensors")
    make.quantise_sparse(exact, rough, policy)  # type: ignore[arg-type]
    apart = difference(load_batched(exact), load_batched(rough), leaves)
    assert 0 < apart.largest_value < 0.1
    assert apart.largest_logit < 0.1
    assert apart.top_move > 0.9


def test_batches_of_any_size(files: dict[str, Path], few: Leaves) -> None:
    file = files["tower-2x16"]
    whole = evaluated(OnnxEvaluator(file.with_suffix(".onnx")), few)
    evaluators: list[BatchedEvaluator] = [
        OnnxEvaluator(file.with_suffix(".onnx"), ["cpu", "cpu", "cpu"], largest=7),
        OnnxEvaluator(file.with_suffix(".onnx"), largest=16, padded=True),
        TorchEvaluator(file, largest=9),
    ]
    for evaluator in evaluators:
        for batch in (1, 7, 8, 40):
            judged = evaluated(evaluator, part_of(few, 0, batch))
            assert np.allclose(judged.wdl, whole.wdl[:batch], atol=1e-5)
            assert np.allclose(judged.logits, whole.logits[: few.offsets[batch]], atol=1e-4)


def test_leaves_without_moves_and_room_to_spare(files: dict[str, Path], few: Leaves) -> None:
    """Mated leaves have no moves; arrays of the search are longer than what is in use."""
    mated = new_positions(1)
    mated[0] = parse_fen("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1")
    leaves = leaves_of([mated, few.positions[0, :1].copy(), mated])
    roomy = leaves._replace(moves=np.concatenate((leaves.moves, np.full(9, 7, np.uint16))))
    for size in ("plain-2x16", "sparse-64-threats", "dilated-move"):
        for evaluator in (load_batched(files[size]), load_batched(files[size], "torch")):
            out = new_evaluations(leaves)
            out = out._replace(logits=np.full(len(roomy.moves), 5, np.float32))
            evaluator.evaluate(roomy, out)
            assert np.array_equal(out.logits[len(leaves.moves) :], np.full(9, 5))
            assert np.allclose(out.logits[: len(leaves.moves)], evaluated(evaluator, leaves).logits)


def test_shorter_numbers_are_close_and_float16_is_closer(
    files: dict[str, Path], few: Leaves
) -> None:
    exact = TorchEvaluator(files["plain-2x16"])
    shorter = [
        difference(exact, TorchEvaluator(files["plain-2x16"], precision=precision), few)
        for precision in ("float16", "bfloat16")
    ]
    assert 0 < shorter[0].largest_value < shorter[1].largest_value < 0.05


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("size", ["plain-2x16", "dilated-move", "sparse-64-threats"])
@pytest.mark.parametrize("graphs", [False, True])
def test_a_gpu_computes_what_the_processor_does(
    files: dict[str, Path], few: Leaves, size: str, graphs: bool
) -> None:
    exact = TorchEvaluator(files[size])
    apart = difference(exact, TorchEvaluator(files[size], "cuda", graphs=graphs), few)
    assert apart.largest_value < 1e-5
    assert apart.largest_logit < 1e-4
    shorter = difference(exact, TorchEvaluator(files[size], "cuda", "float16", graphs), few)
    assert shorter.largest_value < 0.01


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_threads_that_share_a_graph_get_their_own_answers(
    files: dict[str, Path], few: Leaves
) -> None:
    recorded = TorchEvaluator(files["plain-2x16"], "cuda", graphs=True, largest=1)
    parts = [part_of(few, row, row + 1) for row in range(8)]
    alone = [evaluated(recorded, part).wdl for part in parts]
    with ThreadPoolExecutor(8) as pool:
        others = [pool.submit(evaluated, recorded, part) for part in parts * 20]
        TorchEvaluator(files["plain-2x16"], "cuda", graphs=True)  # is recorded meanwhile
        assert all(other.result() for other in others)
        for _ in range(200):
            together = [out.wdl for out in pool.map(partial(evaluated, recorded), parts)]
            assert np.allclose(together, alone, atol=1e-6)


def test_a_pair_takes_value_and_policy_from_two(files: dict[str, Path], few: Leaves) -> None:
    value, policy = load_batched(files["dilated-eval"]), load_batched(files["dilated-move"])
    judged = evaluated(Pair(value, policy), few)
    assert np.array_equal(judged.wdl, evaluated(value, few).wdl)
    assert np.array_equal(judged.logits, evaluated(policy, few).logits)


def test_loading_by_card(files: dict[str, Path], few: Leaves) -> None:
    assert isinstance(load_evaluator(files["sparse-64-both"]), InlineEvaluator)
    assert isinstance(load_evaluator(files["plain-2x16"]), OnnxEvaluator)
    assert isinstance(load_evaluator(files["plain-2x16"], "torch"), TorchEvaluator)
    uniform = as_batched(load_evaluator("uniform"))
    assert isinstance(uniform, InlineBatch)
    assert np.array_equal(evaluated(uniform, few).wdl, np.tile([0.5, 0, 0.5], (40, 1)))


def test_what_cannot_be_loaded_says_why(files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="networks of this family run through ONNX"):
        load_evaluator(files["plain-2x16"], "inline")
    with pytest.raises(InputError, match=r"no such device.*use cpu"):
        load_evaluator(files["plain-2x16"], devices=["cuda"])
    with pytest.raises(InputError, match=r"no such device.*known here"):
        load_evaluator(files["plain-2x16"], devices=["npu"])
    with pytest.raises(InputError, match="one device"):
        load_evaluator(files["plain-2x16"], "torch", devices=["cpu", "cpu"])
    alone = tmp_path / "alone.safetensors"
    make.create("plain-2x16", alone)
    with pytest.raises(InputError, match="kibitz net export"):
        load_evaluator(alone)
    alone.with_suffix(".onnx").write_bytes(files["plain-2x16"].with_suffix(".onnx").read_bytes())
    with pytest.raises(InputError, match="other weights"):
        load_evaluator(alone)


def test_positions_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "positions.epd"
    file.write_text(
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n"
        "# a comment\n\n"
        '8/8/4k3/8/8/1p6/8/K7 b - - bm Ke5; id "one";\n'
    )
    assert list(leaves_from(file, 10).offsets) == [0, 20, 29]
    assert len(leaves_from(file, 1).known) == 1
    assert len(leaves_from(None, 12).known) == 12
    file.write_text("nothing\n")
    with pytest.raises(InputError, match="no positions"):
        leaves_from(file, 10)


def test_the_shipped_convolutional_network_sees_no_colours(tmp_path: Path) -> None:
    """A position and its image, ranks mirrored and colours exchanged, are judged the same."""
    file = shipped_file("kibitz-plain-4x64")
    assert file is not None
    random, fens = np.random.default_rng(7), []
    for _ in range(40):
        board = chess.Board()
        for _ in range(int(random.integers(1, 90))):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(moves[int(random.integers(len(moves)))])
        fens += [board.fen(), board.mirror().fen()]
    (tmp_path / "both.fen").write_text("\n".join(fens))
    leaves = leaves_from(tmp_path / "both.fen", len(fens))
    found = evaluated(load_batched(file), leaves)
    assert np.ptp(found.wdl[:, 0]) > 0.1
    assert np.abs(found.wdl[::2] - found.wdl[1::2]).max() < 1e-5
    logits = np.split(found.logits, leaves.offsets[1:-1])
    for mine, theirs in zip(logits[::2], logits[1::2], strict=True):
        assert np.allclose(np.sort(mine), np.sort(theirs), atol=1e-4)


def test_a_model_that_is_not_as_its_card_says_is_refused(
    files: dict[str, Path], few: Leaves, tmp_path: Path
) -> None:
    model = files["dilated-eval"].with_suffix(".onnx").read_bytes()
    save_onnx(tmp_path / "forged.onnx", model, new_card("plain-2x16"))
    with pytest.raises(DamagedFileError, match=r"not those of its card.*forged\.onnx"):
        OnnxEvaluator(tmp_path / "forged.onnx")
    model = files["plain-2x16"].with_suffix(".onnx").read_bytes()
    save_onnx(tmp_path / "forged.onnx", model, new_card("plain-2x16", heads=Heads("wdl")))
    with pytest.raises(EvaluationError, match=r"output value is \[40\], not \[40, 3\]"):
        evaluated(OnnxEvaluator(tmp_path / "forged.onnx"), few)
    save_onnx(tmp_path / "forged.onnx", model, new_card("tower-2x16"))
    with pytest.raises(EvaluationError, match="cannot be run"):
        evaluated(OnnxEvaluator(tmp_path / "forged.onnx"), few)
