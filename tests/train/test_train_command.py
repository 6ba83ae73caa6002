"""`kibitz train` as it is typed: any family, TOML with overrides, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import zstandard

from kibitz.cli import main
from kibitz.core.settings import dump, load
from kibitz.nets import files as network_files
from kibitz.nets.models.sizes import FAMILIES
from kibitz.train.config import RECIPES, TrainingSettings
from tests.train.running import last_checkpoint, lines_of, make_games

SMALL = ["--threads", "1", "--device", "cpu", "--batch", "64", "--json"]
SMALL += ["--set", "run.tensorboard=false", "--set", "run.validate=0"]


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_games(tmp_path_factory.mktemp("games"))


@pytest.mark.parametrize("network", ["sparse-16x8-both", "plain-1x8", "dilated-eval"])
def test_one_flag_changes_the_architecture(
    games: Path, tmp_path: Path, network: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "n"
    words = ["train", "--network", network, "--data", str(games), "--output", str(output)]
    assert main([*words, "--steps", "2", "--set", "run.export=false", *SMALL]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["steps"], result["positions"]) == (2, 128)
    assert result["files"] == str(output / "n.safetensors")
    assert network_files.read_card(output / "n.safetensors").size == network
    assert result["training_total"] > 0


def test_packed_games_become_a_network_and_its_tactical_accuracy_in_one_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moves = "1. e4 { [%eval 0.3] } 1... e5 { [%eval 0.2] } 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0"
    texts = [f'[Event "{number}"]\n[Result "1-0"]\n\n{moves}\n\n' for number in range(40)]
    (tmp_path / "games.pgn.zst").write_bytes(zstandard.compress("".join(texts).encode()))
    (tmp_path / "mate.epd").write_text('6k1/5ppp/8/8/8/8/8/R6K w - - bm Ra8#; id "mate";\n')
    words = ["train", "--network", "sparse-16x8", "--games", str(tmp_path / "games.pgn.zst")]
    words += ["--suite", str(tmp_path / "mate.epd"), "--output", str(tmp_path / "n")]
    words += ["--steps", "2", *SMALL, "--set", "data.validation=0"]
    assert main(words) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["steps"] == 2
    assert result["solved_of_mate"] == "1 of 1 (100.0 %) at 1000 nodes"
    assert main(words) == 2
    assert "imported here already" in capsys.readouterr().err


@pytest.mark.parametrize(
    "network", ["sparse-16x8", pytest.param("plain-1x8", marks=pytest.mark.slow)]
)
def test_the_same_seed_gives_the_same_bytes(
    tmp_path: Path,
    network: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    words = ["train", "--network", network, "--data", "games", "--output", "n", "--steps", "2"]
    files: list[dict[str, bytes]] = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        make_games(folder / "games")
        monkeypatch.chdir(folder)
        assert main(["net", "new", network, "--output", "new", "--seed", "3"]) == 0
        assert main([*words, *SMALL, "--reproducible"]) == 0
        found = [path for path in Path().rglob("*") if path.suffix in (".safetensors", ".onnx")]
        networks = [path for path in [*found, Path("new")] if "checkpoints" not in path.parts]
        files.append({path.name: path.read_bytes() for path in networks})
    capsys.readouterr()
    assert len(files[0]) == 3
    assert files[0].keys() == files[1].keys()
    for name, content in files[0].items():
        assert content == files[1][name], name
        assert b'date":""' in content.replace(b"\\", b""), "no date in the card"


def test_the_forms_that_play_lie_beside_the_network(games: Path, tmp_path: Path) -> None:
    for network, name in (("sparse-16", "a-int8.safetensors"), ("plain-1x8", "a.onnx")):
        output = tmp_path / network / "a"
        words = ["train", "--network", network, "--data", str(games), "-o", str(output)]
        assert main([*words, "--steps", "1", *SMALL]) == 0
        playing = network_files.read_card(output / name)
        assert playing.provenance == network_files.read_card(output / "a.safetensors").provenance


def test_a_file_of_settings_and_words_that_override_it(games: Path, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(
        f'[run]\nnetwork = "sparse-16"\nsteps = 50\nseed = 3\n[data]\nfolders = ["{games}=2"]\n'
        "[optimiser]\nweight_decay = 0.01\n"
    )
    output = tmp_path / "a"
    words = ["train", "--config", str(file), "--steps", "3", "-o", str(output)]
    assert main([*words, "--set", "loss.policy=0.5", *SMALL]) == 0
    state = last_checkpoint(output).state
    settings = state["settings"]
    assert (settings["run"]["steps"], settings["run"]["seed"]) == (3, 3)
    assert settings["data"]["folders"] == [f"{games}=2"]
    assert settings["loss"]["policy"] == 0.5
    assert settings["optimiser"]["kind"] == "adamw"  # also where the table is mentioned
    assert state["step"] == 3


def test_one_batch_shown_again_and_again_is_learned_by_heart(games: Path, tmp_path: Path) -> None:
    output = tmp_path / "a"
    words = ["train", "--network", "sparse-64x64", "--data", str(games), "-o", str(output)]
    words += ["--overfit", "--rate", "0.02", "--set", "run.log=10", "--set", "run.export=false"]
    quiet = [word if word != "64" else "16" for word in SMALL]
    assert main([*words, "--steps", "100", *quiet]) == 0
    assert main([*words, "--steps", "150", "--resume", *quiet]) == 0
    lines = lines_of(output)
    curve = [line["policy"] for line in lines if "policy" in line]
    assert curve[-1] < curve[0] - 0.3
    assert curve[-1] < 1.01 * curve[9]  # resumed, it is the same batch still
    assert last_checkpoint(output).state["place"] == [0, 0, 0]


def test_a_student_learns_from_a_teacher_of_another_family(games: Path, tmp_path: Path) -> None:
    """A teacher that knows one batch by heart, and a student that is told nothing else."""
    quiet = ["--overfit", "--set", "run.log=1", "--set", "run.export=false", *SMALL]
    teacher, output = tmp_path / "teacher", tmp_path / "student"
    words = ["train", "--data", str(games), "--rate", "0.02"]
    first = ["--network", "plain-1x16", "--steps", "40", "-o", str(teacher)]
    assert main([*words, *first, *quiet]) == 0
    told = ["--teacher", str(teacher / "teacher.safetensors"), "--set", "distill.policy_share=1.0"]
    told += ["--set", "distill.temperature=1.0", "--set", "loss.value=0.0"]
    words += ["--network", "sparse-64x64", "--steps", "80", "-o", str(output)]
    assert main([*words, *told, *quiet]) == 0
    curves = [
        [line["policy"] for line in lines_of(folder) if "policy" in line]
        for folder in (teacher, output)
    ]
    assert curves[0][-1] < curves[0][0] - 0.2
    assert curves[1][-1] < curves[1][0] - 0.2


def test_moves_left_are_learned_where_a_network_has_the_head(games: Path, tmp_path: Path) -> None:
    from kibitz.nets.card import Heads
    from kibitz.nets.models.build import build, save_network
    from kibitz.nets.models.sizes import new_card

    torch.manual_seed(0)
    card = new_card("plain-1x8", heads=Heads(moves_left=True))
    start = tmp_path / "start.safetensors"
    save_network(start, build(card), card)
    output = tmp_path / "a"
    words = ["train", "--network", str(start), "--data", str(games), "-o", str(output)]
    words += ["--steps", "40", "--rate", "0.01", "--set", "loss.moves_left=1.0"]
    assert main([*words, "--set", "run.log=5", "--set", "run.export=false", *SMALL]) == 0
    lines = lines_of(output)
    curve = [line["moves_left"] for line in lines if "moves_left" in line]
    assert curve[-1] < 0.8 * curve[0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--network", "sparse-16"], "--data"),
        (["--data", "GAMES"], "--network"),
        (["--network", "spars-16", "--data", "GAMES"], "sparse"),
        (["--network", "sparse-16", "--data", "NOWHERE"], "check the path"),
        (["--network", "sparse-16", "--data", "GAMES", "--batch", "99999"], "smaller batches"),
        (["--network", "sparse-16", "--data", "GAMES", "--set", "run.batsh=3"], "batch"),
        (["--network", "sparse-16", "--data", "GAMES", "--precision", "int8"], "bfloat16"),
    ],
)
def test_what_is_wrong_is_named(
    games: Path,
    tmp_path: Path,
    words: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = {"GAMES": str(games), "NOWHERE": str(tmp_path / "nowhere")}
    given = [places.get(word, word) for word in words]
    common = ["--steps", "1", "--threads", "1", "--device", "cpu", "-o", str(tmp_path / "a")]
    assert main(["train", *given, *common]) == 2
    assert told in capsys.readouterr().err


def test_games_as_text_are_to_be_imported_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("games.pgn", "games.PGN.zst", "labels.csv.xz=2"):
        (tmp_path / name).write_text("")
        words = ["--network", "sparse-16", "--data", str(tmp_path / name)]
        assert main(["train", *words, "-o", str(tmp_path / "a")]) == 2
        told = "".join(capsys.readouterr().err.split())
        assert f"importitfirst:kibitzdataimport{tmp_path / name}".removesuffix("=2") in told
    assert not (tmp_path / "a").exists()


def test_a_recipe_lies_below_what_is_said_besides(games: Path, tmp_path: Path) -> None:
    output = tmp_path / "a"
    words = ["train", "--recipe", "small", "--data", str(games), "-o", str(output)]
    words += ["--batch", "32", "--epochs", "1", "--threads", "1", "--device", "cpu"]
    assert main([*words, "--set", "run.tensorboard=false"]) == 0
    settings = last_checkpoint(output).state["settings"]
    recipe = load(TrainingSettings, overrides=RECIPES["small"])
    assert settings["run"]["network"] == recipe.run.network
    assert settings["schedule"]["rate"] == recipe.schedule.rate
    assert (settings["run"]["batch"], settings["run"]["epochs"]) == (32, 1)


def test_an_unknown_recipe_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--recipe", "smal", "--data", "x"]) == 2
    assert "did you mean 'small'" in capsys.readouterr().err


def test_settings_survive_their_file(tmp_path: Path) -> None:
    settings = load(TrainingSettings, overrides=["run.network=sparse-16", "schedule.shape=cosine"])
    file = tmp_path / "all.toml"
    file.write_text(dump(settings))
    assert load(TrainingSettings, file) == settings


def test_ctrl_c_saves_and_stops(games: Path, tmp_path: Path) -> None:
    import signal
    import subprocess
    import sys
    import time

    output = tmp_path / "a"
    words = ["--network", "sparse-16", "--data", str(games), "--steps", "1000000"]
    command = [sys.executable, "-m", "kibitz", "train", *words, "-o", str(output), *SMALL]
    with subprocess.Popen(
        [*command, "--set", "run.log=1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        while not (output / "metrics.jsonl").exists() and process.poll() is None:
            time.sleep(0.02)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    result = json.loads(out)
    assert result["steps"] == last_checkpoint(output).state["step"] > 0
    assert result["files"] == ""
    names = [path.name for path in (output / "checkpoints").iterdir()]
    assert names == [f"step-{result['steps']:09}.safetensors"]


@pytest.mark.parametrize("words", [["train"], ["net"], ["net", "new"]])
def test_help_says_what_each_family_is_good_for(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--help"]) == 0
    told = "".join(capsys.readouterr().out.replace("│", "").split())
    for family in FAMILIES:
        assert f"{family}-" in told, family
    assert "learnsfromathousandgames" in told


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--data", "{games}", "--output", "{run}"], "a run of kibitz learn is here"),
        (["--data", "{none}", "--output", "{new}"], "none"),
        (
            ["--data", "{games}", "-o", "{new}", "--epochs", "4", "--batch", "60000"],
            "fewer positions than half a batch in --epochs 4",
        ),
    ],
)
def test_who_fails_leaves_no_folder_and_says_why(
    games: Path,
    tmp_path: Path,
    words: list[str],
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = {"games": games, "run": tmp_path / "run", "none": tmp_path / "none"}
    places["new"] = tmp_path / "new"
    places["run"].mkdir()
    (places["run"] / "learn.toml").write_text("[learn]\n")
    given = [word.format(**places) for word in words]
    small = [word for word in SMALL if word not in ("--batch", "64")]
    batch = [] if "--batch" in given else ["--batch", "64"]
    assert main(["train", "--network", "sparse-16x8", *given, *small, *batch]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    assert [path.name for path in places["run"].iterdir()] == ["learn.toml"]


def test_the_games_of_a_run_are_said_to_be_the_data_and_hours_end_a_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    make_games(run / "games" / "0000")
    (run / "learn.toml").write_text("[learn]\n")
    words = ["train", "--network", "sparse-16x8", "--data", str(run), "-o", str(tmp_path / "n")]
    assert main([*words, "--steps", "1000", "--hours", "1e-9", *SMALL]) == 0
    shown = capsys.readouterr()
    said = " ".join(shown.err.split())
    assert "is a run of kibitz learn: the games of all its generations are the data" in said
    assert "hours are over" in said
    result = json.loads(shown.out)
    assert result["steps"] < 1000
    assert (tmp_path / "n" / "n-int8.safetensors").is_file()
