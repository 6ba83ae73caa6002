"""Networks in Leela's format: lc0's own answers, towers computed by torch, and damaged files."""

from __future__ import annotations

import gzip
import json
import math
import struct
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
import torch
from torch.nn import functional

from kibitz import Board, Engine
from kibitz.cli import main
from kibitz.core.errors import DamagedFileError, FileError, InputError
from kibitz.nets import lc0
from kibitz.nets.card import ForeignFileError
from kibitz.nets.discover import discover, named, resolve, shipped_file
from kibitz.nets.encodings.leaves import Leaves, leaves_of, random_leaves
from kibitz.nets.encodings.planes import encode
from kibitz.nets.encodings.policy import leela_planes
from kibitz.nets.evaluators.batched import evaluated
from kibitz.nets.evaluators.onnx import OnnxEvaluator
from kibitz.nets.files import read_card, save_onnx
from kibitz.nets.lc0 import LeelaFile
from kibitz.nets.load import load_batched
from kibitz.nets.onnx_model import message
from kibitz.position.notation import absolute
from tests.nets.leela import FILTERS, Writer, fixed, layer

GOLDEN = Path(__file__).parents[1] / "fixtures" / "leela" / "golden.json"
ROWS: list[dict[str, Any]] = json.loads(GOLDEN.read_text())
POLICY_POINTS, VALUE_POINTS = 0.1, 0.002  # of a hundred; of 1


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "leela"


@pytest.fixture(scope="module")
def maia(tmp_path_factory: pytest.TempPathFactory) -> dict[int, OnnxEvaluator]:
    folder, evaluators = tmp_path_factory.mktemp("maia"), {}
    for rating in (1100, 1500, 1900):
        file = shipped_file(f"maia-{rating}")
        assert file is not None
        leela = LeelaFile(file)
        save_onnx(folder / f"{rating}.onnx", leela.onnx(), leela.card)
        evaluators[rating] = OnnxEvaluator(folder / f"{rating}.onnx")
    return evaluators


def board_of(row: dict[str, Any]) -> Board:
    board = Board() if row["start"] == "startpos" else Board(row["start"])
    for move in row["moves"]:
        board.push(move)
    return board


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['network']} {len(row['moves'])}")
def test_answers_are_those_of_lc0(row: dict[str, Any], maia: dict[int, OnnxEvaluator]) -> None:
    board = board_of(row)
    leaves = leaves_of([board.positions()])
    out = evaluated(maia[row["network"]], leaves)
    if not row["policy_percent"]:  # stalemate, where lc0 does not ask its network
        assert len(leaves.moves) == 0
        return
    odds = np.exp(out.logits - out.logits.max())
    shares = 100 * odds / odds.sum()
    moves = [absolute(board.position, int(code)) for code in leaves.moves]
    castling = {"e1g1": "e1h1", "e1c1": "e1a1", "e8g8": "e8h8", "e8c8": "e8a8"}
    by_name = {}
    for move, share in zip(moves, shares, strict=True):
        san, uci = board.san(move), board.uci(move)
        by_name[castling[uci] if san.startswith("O-O") else uci] = float(share)
    assert by_name == pytest.approx(row["policy_percent"], abs=POLICY_POINTS)
    assert max(by_name, key=by_name.__getitem__) == row["best"]
    win, _, loss = out.wdl[0]
    assert win - loss == pytest.approx(row["v"], abs=VALUE_POINTS)


def test_the_golden_positions_have_all_that_is_special() -> None:
    boards = [board_of(row) for row in ROWS]
    sans = [board.san(move) for board in boards for move in board.legal_moves]
    assert {"O-O", "O-O-O"} <= set(sans)
    assert any("=N" in san for san in sans)
    assert any(board.repetitions() for board in boards)
    assert any(row["start"] != "startpos" and not row["moves"] for row in ROWS)
    assert {len(row["moves"]) for row in ROWS} & set(range(1, 8))
    assert any(board.turn == "black" for board in boards)


def test_missing_history_is_the_first_position_with_its_double_step_taken_back() -> None:
    fen = "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3"
    planes = np.zeros((1, 112, 8, 8), np.float32)
    encode("leela112", leaves_of([Board(fen).positions()]), planes)
    leaf, before = planes[0, 6], planes[0, 13 + 6]  # pawns of the other side
    assert leaf[4, 5] == 1 == before[6, 5]
    assert leaf[6, 5] == 0 == before[4, 5]
    assert (planes[0, 13:26] == planes[0, 91:104]).all()
    board = Board(fen)
    board.push("Nf3")
    encode("leela112", leaves_of([board.positions()]), planes)
    first = planes[0, 26:39]  # seen by Black now: White's pawns are the other's
    assert first[0, 1, 5] == 1  # Black's own pawn on f7 again
    assert first[0, 3, 5] == 0
    assert planes[0, 13, 3, 5] == 1  # where the position is known it stands on f5


def test_without_history_the_start_of_a_game_has_none() -> None:
    planes = np.zeros((1, 112, 8, 8), np.float32)
    encode("leela112", leaves_of([Board().positions()]), planes)
    assert planes[0, :13].any()
    assert not planes[0, 13:104].any()
    assert [float(planes[0, at, 0, 0]) for at in range(104, 112)] == [1, 1, 1, 1, 0, 0, 0, 1]


# --- towers against torch -------------------------------------------------------------------------

KINDS: dict[str, dict[str, Any]] = {
    "old": {"network": 1, "policy": 0, "value": 0, "output": 0, "gamma": False},
    "residual": {"network": 3},
    "squeezed": {"network": 4, "policy": 2, "value": 2, "output": 2},
    "mixed": {"network": 4, "policy": 1, "value": 2, "output": 2},
}


def reference(file: Path, leaves: Leaves, conv: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Policy of 1858 and value, by torch, with batch normalisation as it stands."""
    layers = {
        layer.name: torch.from_numpy(layer.numbers().copy()) for layer in LeelaFile(file).layers()
    }
    planes = np.zeros((len(leaves.known), 112, 8, 8), np.float32)
    encode("leela112", leaves, planes)

    def convolved(flow: torch.Tensor, name: str) -> torch.Tensor:
        weight = layers[f"{name}.weight"]
        flow = functional.conv2d(flow, weight, layers.get(f"{name}.bias"), padding="same")
        if f"{name}.mean" not in layers:
            return flow
        gamma, beta = layers.get(f"{name}.gamma"), layers.get(f"{name}.beta")
        mean, variance = layers[f"{name}.mean"], layers[f"{name}.variance"]
        return functional.batch_norm(flow, mean, variance, gamma, beta, eps=1e-5)

    flow = convolved(torch.from_numpy(planes), "input").relu()
    for number in range(2):
        inner = convolved(convolved(flow, f"block{number}.1").relu(), f"block{number}.2")
        if f"block{number}.se1" in layers:
            squeeze = [layers[f"block{number}.se{at}"] for at in range(1, 5)]
            hidden = functional.linear(inner.mean((2, 3)), squeeze[0], squeeze[1]).relu()
            both = functional.linear(hidden, squeeze[2], squeeze[3])
            scale, shift = both[:, :FILTERS], both[:, FILTERS:]
            inner = scale.sigmoid()[..., None, None] * inner + shift[..., None, None]
        flow = (inner + flow).relu()
    if conv:
        head = convolved(convolved(flow, "policy1").relu(), "policy").flatten(1)
        policy = head[:, torch.from_numpy(leela_planes())]
    else:
        head = convolved(flow, "policy").relu().flatten(1)
        policy = functional.linear(head, layers["policy2.weight"], layers["policy2.bias"])
    value = convolved(flow, "value").relu().flatten(1)
    value = functional.linear(value, layers["value2.weight"], layers["value2.bias"]).relu()
    return policy, functional.linear(value, layers["value3.weight"], layers["value3.bias"])


@pytest.mark.parametrize("kind", KINDS)
def test_every_supported_kind_computes_what_torch_does(kind: str, tmp_path: Path) -> None:
    formats = KINDS[kind]
    file = tmp_path / f"{kind}.pb"
    file.write_bytes(Writer(**formats).content())
    card = read_card(file)
    squeezed = "-se" if formats["network"] == 4 else ""
    assert (card.size, card.licence) == (f"leela-2x4{squeezed}", "a licence")
    leaves = random_leaves(16)
    policy, value = reference(file, leaves, conv=formats.get("policy") == 2)
    out = evaluated(load_batched(file), leaves)
    if card.heads.value == "wdl":
        expected = value.softmax(1).numpy()
        np.testing.assert_allclose(out.wdl, expected, atol=1e-5)
    else:
        np.testing.assert_allclose(out.wdl[:, 0] - out.wdl[:, 2], value.tanh()[:, 0], atol=1e-5)
    rows = np.repeat(np.arange(16), np.diff(leaves.offsets))
    near = 1e-5 * float(policy.abs().max())
    for row, code, logit in zip(rows.tolist(), leaves.moves, out.logits, strict=True):
        move = absolute(leaves.positions[row, 0], int(code))
        assert logit == pytest.approx(float(policy[row, index_of(leaves, row, move)]), abs=near)


def index_of(leaves: Leaves, row: int, move: Any) -> int:
    """Index of a move, by the text of lc0's table: all pairs of a queen or a knight, in order."""
    black = leaves.positions[row, 0]["side"] == 1
    uci = chess.Move.from_uci(str(move)) if not isinstance(move, chess.Move) else move
    origin, target = (square ^ 56 * black for square in (uci.from_square, uci.to_square))
    if uci.promotion in (None, chess.KNIGHT):
        return PAIRS.index((origin, target))
    pairs = [(a, b) for a, b in PAIRS if a >> 3 == 6 and b >> 3 == 7 and abs(a - b + 8) <= 1]
    piece = (chess.QUEEN, chess.ROOK, chess.BISHOP).index(uci.promotion)
    return 1792 + 3 * pairs.index((origin, target)) + piece


def _linked(a: int, b: int) -> bool:
    files, ranks = abs((a & 7) - (b & 7)), abs((a >> 3) - (b >> 3))
    return a != b and (files == ranks or 0 in (files, ranks) or {files, ranks} == {1, 2})


PAIRS = [(a, b) for a in range(64) for b in range(64) if _linked(a, b)]


def test_every_index_has_a_plane_of_its_own() -> None:
    planes = leela_planes()
    assert len(PAIRS) == 1792
    assert len(set(planes.tolist())) == 1858
    assert planes.max() < 73 * 64


# --- by name, everywhere --------------------------------------------------------------------------


def test_the_model_is_made_once_and_again_where_it_is_damaged(cache: Path) -> None:
    file = shipped_file("maia-1100")
    assert file is not None
    load_batched(file)
    (made,) = cache.iterdir()
    before = made.stat().st_mtime_ns, made.read_bytes()
    load_batched(file)
    assert (made.stat().st_mtime_ns, made.read_bytes()) == before
    made.write_bytes(before[1][:1000])
    load_batched(file)
    assert made.read_bytes() == before[1]


def test_it_plays_by_its_name_and_never_without_being_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIBITZ_DATA", str(tmp_path / "data"))
    before = discover()
    (tmp_path / "data" / "networks").mkdir(parents=True)
    own = tmp_path / "data" / "networks" / "own.pb"
    own.write_bytes(Writer().content())
    assert discover() == before
    assert resolve("own") == str(own)
    assert named(resolve("maia-1500")) == "maia-1500"
    for name in ("own", "maia-1500", "kibitz-64x256+maia-1500"):
        with Engine(name) as engine:
            assert engine.play(Board(), nodes=3).move is not None
    with pytest.raises(InputError, match="run through ONNX"):
        load_batched(own, "torch")


def test_net_commands_read_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["net", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["networks"]
    assert {"maia-1100", "maia-1500", "maia-1900"} <= {row["name"] for row in listed}
    assert main(["net", "export", "maia-1100"]) == 0
    assert main(["net", "compare", "maia-1100", "maia-1100.onnx", "--positions", "50"]) == 0
    assert main(["net", "quantise", "maia-1100", "--positions", "50"]) == 2
    assert "quantise the ONNX form" in capsys.readouterr().err


# --- what is refused ------------------------------------------------------------------------------

UNSUPPORTED: dict[str, Any] = {
    "attention body": {"network": 6},
    "attention": {"policy": 3},
    "112 planes with castling rooks": {"input": 2},
    "canonical planes": {"input": 3},
    "Mish": {"activation": 1},
    "77": {"network": 77},
}


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_what_is_not_supported_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "net.pb"
    file.write_bytes(Writer(**UNSUPPORTED[kind]).content())
    with pytest.raises(InputError, match=f"not supported: .* of the kind {kind}"):
        read_card(file)


def test_other_numbers_and_other_files_are_refused(tmp_path: Path) -> None:
    writer = Writer()
    writer.encoding = 2
    file = tmp_path / "net.pb"
    file.write_bytes(writer.content())
    with pytest.raises(InputError, match="not LINEAR16"):
        read_card(file)
    file.write_bytes(b"")
    with pytest.raises(ForeignFileError):
        read_card(file)


def _infinite(number: int, ends: tuple[float, float]) -> Writer:
    writer = Writer()
    low, high = ends
    writer.changed[number] = layer((8,), np.random.default_rng(1), low, high)
    return writer


FORGED = {
    "more numbers": (_infinite(10, (0.0, 1.0)), "value3.bias has 8 numbers, not 1"),
    "not finite": (_infinite(8, (0.0, math.nan)), "value2.bias is not made of finite numbers"),
    "no weights": (_infinite(4, (0.0, 1.0)), "policy2.weight has 8 numbers"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_layer_of_another_size_is_named(name: str, tmp_path: Path) -> None:
    writer, reason = FORGED[name]
    file = tmp_path / "net.pb"
    file.write_bytes(writer.content())
    with pytest.raises(DamagedFileError, match=reason):
        read_card(file)


def test_a_cut_file_is_damaged_wherever_it_is_cut(tmp_path: Path) -> None:
    content, file = Writer().content(), tmp_path / "net.pb"
    for end in (*range(1, 60), 5_000, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:end])
        with pytest.raises((FileError, InputError)):
            read_card(file)
    packed = tmp_path / "net.pb.gz"
    packed.write_bytes(gzip.compress(content)[:-20])
    with pytest.raises(DamagedFileError, match="cannot decompress"):
        read_card(packed)


def test_sizes_are_compared_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net.pb"
    file.write_bytes(fixed(1, struct.pack("<I", 0x1C0)) + b"\x52" + b"\xff" * 8 + b"\x7f")
    with pytest.raises(DamagedFileError, match="bytes where"):
        read_card(file)
    file.write_bytes(message(*((7, 1) for _ in range(200_000))))
    with pytest.raises(DamagedFileError, match="fields in a message"):
        read_card(file)
    monkeypatch.setattr(lc0, "LARGEST", 1 << 16)
    file.write_bytes(Writer().content())
    with pytest.raises(DamagedFileError, match="unpacks to more"):
        read_card(file)
    bomb = tmp_path / "bomb.pb.gz"
    bomb.write_bytes(gzip.compress(bytes(1 << 20)))
    with pytest.raises(DamagedFileError, match="unpacks to more"):
        read_card(bomb)
