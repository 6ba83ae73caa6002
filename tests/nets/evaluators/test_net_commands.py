"""`kibitz net` and `kibitz bench evaluate` as a user runs them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import pytest

from kibitz.cli import main
from kibitz.core import provenance
from kibitz.nets.files import load_weights, read_card

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    printed = capsys.readouterr().out
    result: dict[str, Any] = json.loads(printed)
    assert printed.count("\n") == 1
    result.pop(provenance.KEY)  # which names the command
    return result


def test_new_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    made = said(capsys, "net", "new", "sparse-64-threats", "--name", "little", "--seed", "5")
    assert made == said(capsys, "net", "show", "sparse-64-threats.safetensors")
    assert made["name"] == "little"
    assert made["encoding"] == "threat3072"
    assert made["parameters"] > 200_000
    again, other = (
        said(capsys, "net", "new", "sparse-64-threats", "--seed", seed, "-o", f"{seed}.safetensors")
        for seed in ("5", "6")
    )
    assert again["sha256"] == made["sha256"] != other["sha256"]
    assert main(["net", "show", "sparse-64-threats.safetensors"]) == 0
    assert "little" in capsys.readouterr().out


@pytest.mark.slow
def test_quantise_reports_what_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "net", "new", "sparse-64-threats")
    file = "sparse-64-threats.safetensors"
    lost = said(capsys, "net", "quantise", file, "--positions", "200")
    assert lost["positions"] == 200
    assert 0 < lost["mean_value"] < lost["largest_value"] < 0.1
    assert lost["top_move"] > 0.9
    assert lost["clipped_weights"] == 0
    assert read_card(lost["file"]).precision == "int8"
    compared = said(capsys, "net", "compare", file, lost["file"], "uniform", "--positions", "200")
    first, second = compared["rows"]
    assert {name: lost[name] for name in first if name != "evaluator"} == {
        name: value for name, value in first.items() if name != "evaluator"
    }
    assert second["mean_value"] > first["mean_value"]
    assert main(["net", "quantise", lost["file"]]) == 2
    assert "float sparse network" in capsys.readouterr().err


def test_join_evaluates_like_one_and_chooses_like_the_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said(capsys, "net", "new", "sparse-64x32-threats-direct", "--seed", "1", "-o", "a.safetensors")
    said(capsys, "net", "new", "sparse-96x64-threats", "--seed", "2", "-o", "b.safetensors")
    made = said(capsys, "net", "join", "a.safetensors", "b.safetensors", "-o", "c.safetensors")
    assert made["size"] == "sparse-64x64-threats-direct"
    assert made["name"] == "c"
    assert made["commands"] == ["kibitz net join a.safetensors b.safetensors"]
    a, b, c = (load_weights(f"{name}.safetensors") for name in "abc")
    assert made["parameters"] == sum(array.size for array in c.values())
    for name, array in c.items():
        source = b if name.startswith(("policy_features", "move_")) else a
        assert (array == source[name]).all()
    values, policies = (
        said(capsys, "net", "compare", file, "c.safetensors", "--positions", "50")["rows"][0]
        for file in ("a.safetensors", "b.safetensors")
    )
    assert values["largest_value"] < 1e-6 < values["divergence"]
    assert policies["top_move"] == 1.0
    assert policies["largest_value"] > 1e-3
    said(capsys, "net", "new", "sparse-64")
    assert main(["net", "join", "sparse-64.safetensors", "b.safetensors", "-o", "d"]) == 2
    assert "see different things" in capsys.readouterr().err


def test_join_takes_networks_of_integers_too(capsys: pytest.CaptureFixture[str]) -> None:
    for seed, name in enumerate("ab"):
        said(capsys, "net", "new", "sparse-64x32", "-o", f"{name}.safetensors", "--seed", str(seed))
        files = f"{name}.safetensors", "-o", f"{name}8.safetensors"
        said(capsys, "net", "quantise", *files, "--positions", "50")
    made = said(capsys, "net", "join", "a8.safetensors", "b8.safetensors", "-o", "c8.safetensors")
    assert made["precision"] == "int8"
    assert made["parameters"] == read_card(Path("a.safetensors")).parameters
    values, moves = (
        said(capsys, "net", "compare", file, "c8.safetensors", "--positions", "50")["rows"][0]
        for file in ("a8.safetensors", "b8.safetensors")
    )
    assert values["largest_value"] == 0 < values["largest_logit"]
    assert moves["largest_logit"] == 0 < moves["largest_value"]
    assert main(["net", "join", "a.safetensors", "b8.safetensors", "-o", "d"]) == 2
    assert "one float network and one of integers: 'float32 and int8'" in capsys.readouterr().err


def test_join_without_a_policy_finds_all_moves_alike(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "net", "new", "sparse-64x32-tactics", "-o", "a.safetensors")
    made = said(capsys, "net", "join", "a.safetensors", "-o", "flat.safetensors")
    assert made["commands"] == ["kibitz net join a.safetensors"]
    assert made["size"] == "sparse-64x32-tactics"
    words = "quantise", "flat.safetensors", "-o", "int8.safetensors", "--positions", "500"
    whole = said(capsys, "net", *words)
    assert whole["largest_logit"] == 0
    files = "a.safetensors", "flat.safetensors", "int8.safetensors", "uniform"
    judged, chosen, _ = said(capsys, "net", "compare", *files, "--positions", "50")["rows"]
    assert judged["largest_value"] == 0 < judged["divergence"]
    assert chosen["largest_value"] < 0.1
    flat = said(capsys, "net", "compare", *files[1:], "--positions", "50")["rows"]
    assert [row["largest_logit"] for row in flat] == [0, 0]


@pytest.mark.slow
def test_export_and_its_integer_form(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "net", "new", "plain-1x8")
    assert main(["net", "quantise", "plain-1x8.safetensors"]) == 2
    assert "kibitz net export" in capsys.readouterr().err
    exported = said(capsys, "net", "export", "plain-1x8.safetensors")
    assert exported["file"] == "plain-1x8.onnx"
    lost = said(capsys, "net", "quantise", "plain-1x8.onnx", "--positions", "64")
    assert lost["positions"] == 64
    assert read_card(lost["file"]).precision == "int8"
    pair = "plain-1x8.onnx", "torch:plain-1x8.safetensors"
    apart = said(capsys, "net", "compare", *pair, "--positions", "64")
    assert apart["rows"][0]["largest_value"] < 1e-5


def test_positions_of_a_file_are_used(capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.epd").write_text("4k3/8/8/8/8/8/P7/4K3 w - -;\n4k3/8/8/8/8/8/P7/4K3 b - -;\n")
    compared = said(capsys, "net", "compare", "uniform", "material", "--from", "two.epd")
    assert compared["rows"][0]["positions"] == 2
    assert compared["rows"][0]["largest_value"] == pytest.approx(0.2449, abs=1e-4)


def test_refusals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "net", "new", "sparse-64")
    file = folder / "sparse-64.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    for arguments, named in (
        (["net", "show", str(file)], "damaged network file"),
        (["net", "show", "nothing.onnx"], "no such file"),
        (["net", "show", "nothing"], "known here: default, kibitz-256x256"),
        (
            ["search", "--network", "kibitz-256x25", "--nodes", "5"],
            "did you mean 'kibitz-256x256'?",
        ),
        (["net", "quantise", "kibitz-256x256", "--positions", "50"], "take the float file"),
        (["net", "new", "sparse-99999999999"], "too large a network"),
        (["net", "new", "sprse-64"], "did you mean 'sparse'"),
        (["net", "compare", "uniform"], "nothing to compare"),
        (["net", "compare", "uniform", "material", "--positions", "0"], "--positions"),
        (["net", "compare", "uniform", "material", "--positions", "9999999"], "500000 or fewer"),
        (["net", "compare", "uniform", "--games", ".", "--held-out", "0"], "--held-out"),
        (["net", "compare", "uniform", "--games", ".", "--from", "a.epd"], "--from with --games"),
        (["bench", "evaluate", "--batches", "1,x"], "--batches"),
        (["bench", "evaluate", "--threads", "0"], "--threads"),
        (
            ["bench", "evaluate", "plain-1x8", "--rounds", "1", "--backend-options", "device=gpu"],
            "expected cpu, cuda",
        ),
    ):
        assert main(arguments) == 2
        assert named in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--from", "--draws"])
def test_a_line_that_is_no_position_is_named_with_its_file(
    capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    Path("few.epd").write_text("8/8/4k3/8/8/1p6/8/K7 b - - bm Ke5;\n")
    Path("game.pgn").write_text('[Event "A game"]\n[White "Duke Karl / Count Isouard"]\n')
    Path("other.fen").write_bytes(b"\xff\xfe one two three\n")
    calibrate = ["net", "calibrate", "uniform", "-o", "bins.json", "--positions", "5"]
    for file, told in (
        ("game.pgn", "game.pgn, line 2: FEN side to move: '\"Duke'"),
        ("other.fen", "other.fen, line 1: FEN side to move: 'one'"),
        ("few.epd", ""),
    ):
        assert main([*calibrate, flag, file]) == (2 if told else 0)
        assert told in capsys.readouterr().err
        assert Path("bins.json").exists() == (not told)


def test_bench_evaluate_takes_networks_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "net", "new", "sparse-8x8", "--name", "mine", "-o", "my network.safetensors")
    files = ("my network.safetensors", "kibitz-zero", "maia-1500")
    rows = said(capsys, "bench", "evaluate", *files, "--rounds", "1", "--batches", "2")["rows"]
    widths = {row["network"]: row["width"] for row in rows}
    assert widths["mine"] == 8
    assert len(widths) == 3
    assert all(row["evaluations_per_second"] > 0 for row in rows)


def test_bench_evaluate_rows(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rounds", "1", "--batches", "1,3", "--threads", "2"]
    result = said(capsys, "bench", "evaluate", "sparse-64-threats", "plain-1x8", *arguments)
    assert set(result["peak_giga_operations"]) == {"int8", "int16", "float32"}
    kinds = [(row["network"], row["evaluator"], row["batch"]) for row in result["rows"]]
    assert kinds == [
        *[("sparse-64-threats", "inline int8", 1)] * 2,
        *[("sparse-64-threats", "inline float32", 1)] * 2,
        *[
            ("plain-1x8", f"onnx {precision}", n)
            for precision in ("float32", "int8")
            for n in (1, 3)
        ],
        *[("plain-1x8", "torch float32", n) for n in (1, 3)],
    ]
    for row in result["rows"]:
        assert row["evaluations_per_second"] > 0
        assert row["threads"] == 2
        assert row["width"] == (64 if row["network"] == "sparse-64-threats" else 8)


def test_evaluators_are_compared_on_games(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The built-in evaluator of no opinion has figures that one can count by hand."""
    pgn = "\n\n".join(
        f'[Event "{number}"]\n[Result "{result}"]\n\n{moves} {result}'
        for number, (moves, result) in enumerate(
            (("1. e4 e5 2. Nf3 Nc6", "1-0"), ("1. d4 d5 2. c4", "1/2-1/2"), ("1. c4", "0-1"))
        )
    )
    (tmp_path / "games.pgn").write_text(pgn)
    assert main(["data", "import", "games.pgn", "-o", "games"]) == 0
    capsys.readouterr()
    arguments = "net", "compare", "uniform", "material", "shipped", "--games", "games"
    compared = said(capsys, *arguments, "--held-out", "1")
    uniform, material, shipped = compared["rows"]
    legal, decided = _counted(pgn)
    assert uniform["positions"] == len(legal) == 8
    assert uniform["top1"] == pytest.approx(sum(1 / count for count in legal) / len(legal))
    assert uniform["top3"] == pytest.approx(sum(3 / count for count in legal) / len(legal))
    assert uniform["value_error"] == pytest.approx(decided / len(legal))
    assert uniform["result_error"] == pytest.approx(decided / len(legal) / 4)
    assert uniform["parameters"] == material["parameters"] == 0 < shipped["parameters"]
    assert shipped["top3"] > uniform["top3"]
    assert all(row["evaluations_per_second"] > 0 for row in compared["rows"])
    assert main([*arguments, "--held-out", "1e-9"]) == 2
    assert "no positions are held out here" in capsys.readouterr().err


def _counted(pgn: str) -> tuple[list[int], int]:
    """Legal moves of each position that was played from, and how many are of decided games."""
    legal, decided = [], 0
    stream = io.StringIO(pgn)
    while (game := chess.pgn.read_game(stream)) is not None:
        board = game.board()
        for move in game.mainline_moves():
            legal.append(board.legal_moves.count())
            decided += game.headers["Result"] != "1/2-1/2"
            board.push(move)
    return legal, decided


def test_bench_evaluate_as_options_say(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rounds", "1", "--batches", "2", "--backend-options"]
    options = "backend=torch,precision=bfloat16,threads=1"
    result = said(capsys, "bench", "evaluate", "plain-1x8", *arguments, options)
    [row] = result["rows"]
    assert row["evaluator"] == "plain-1x8 (bfloat16, torch cpu)"
    assert row["evaluations_per_second"] > 0
    assert main(["bench", "evaluate", "sparse-64", *arguments, "threads=2"]) == 0
    assert "threads is of no use to inline" in capsys.readouterr().err
