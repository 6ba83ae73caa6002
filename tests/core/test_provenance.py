"""Where results come from: what commands that measure say of themselves, printed and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kibitz
from kibitz.cli import main
from kibitz.core import provenance
from kibitz.core.files import EPOCH_VARIABLE
from kibitz.nets.discover import shipped_file
from kibitz.nets.files import read_card
from kibitz.nets.models import make
from research.command import carry_out
from research.contempt.__main__ import app as contempt

MATE = '6k1/5ppp/8/8/8/8/8/R5K1 w - - bm Ra8#; id "mate";\n'
ALWAYS = {"version", "commit", "command", "seed", "networks"}
DATED = {"processor", "cores", "date", "seconds"}


def checksum(name: str) -> str:
    file = shipped_file(name)
    assert file is not None
    return read_card(file).sha256


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(EPOCH_VARIABLE, raising=False)
    (tmp_path / "mates.epd").write_text(MATE)
    (tmp_path / "empty.toml").touch()
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*words]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


@pytest.mark.parametrize(
    ("words", "networks", "seed"),
    [
        ("perft --depth 1", (), None),
        ("--config empty.toml perft --depth 1", (), None),
        ("bench encoding --batch 1 --rounds 1", (), None),
        ("suite mates.epd --nodes 9 --player kibitz-zero", ("kibitz-zero",), None),
        (
            "match kibitz-zero random --games 2 --nodes 1 --max-moves 2 --seed 5",
            ("kibitz-zero",),
            5,
        ),
        (
            "match kibitz-zero,name=a kibitz-64x256+kibitz-zero --games 2 --nodes 1 --max-moves 2",
            ("kibitz-64x256", "kibitz-zero"),
            0,
        ),
        (
            "technique KQK --player kibitz-64x256 --defender kibitz-zero --games 1 --nodes 9",
            ("kibitz-64x256", "kibitz-zero"),
            0,
        ),
        (
            "strength kibitz-zero --games 2 --nodes 1 --endings 0 --seed 3 --resume kept"
            " --suite mates.epd --opponent kibitz-64x256",
            ("kibitz-64x256", "kibitz-zero"),
            3,
        ),
    ],
)
def test_what_measures_says_where_its_numbers_come_from(
    words: str,
    networks: tuple[str, ...],
    seed: int | None,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every network that took part, as player or opponent, with the checksum of its weights."""
    about = said(capsys, *words.split(), "--json")[provenance.KEY]
    assert set(about) == ALWAYS | DATED
    assert about["version"] == kibitz.__version__
    assert about["command"] == f"kibitz {words} --json"
    assert about["seed"] == seed
    assert about["networks"] == {name: checksum(name) for name in networks}
    assert about["cores"] >= 1
    assert about["seconds"] > 0
    for file in (folder / "kept").glob("suite-*.json"):
        assert json.loads(file.read_text())[provenance.KEY]["seed"] == seed


@pytest.mark.slow
def test_an_experiment_says_it_too_and_a_file_with_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = ["--set", "network=kibitz-zero", "--set", "games=2", "--set", "seed=7"]
    words = ["wdl", "--folder", "x", *plan, "--set", "limits=[5]", "--set", "nodes=2"]
    words += ["--set", "most_moves=2"]
    for _ in range(2):  # the second time all games are there
        assert carry_out(contempt, [*words, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told[provenance.KEY]["networks"] == {"kibitz-zero": checksum("kibitz-zero")}
        assert told[provenance.KEY]["seed"] == 7
        assert told[provenance.KEY]["command"].startswith("python -m research.contempt wdl --fold")
    written = json.loads((folder / "x" / "wdl.json").read_text())[provenance.KEY]
    assert {**written, "seconds": 0} == {**told[provenance.KEY], "seconds": 0}


def test_reproducible_results_have_no_date_and_a_suite_writes_what_it_prints(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--reproducible", "suite", "mates.epd", "--nodes", "9", "--player", "material"]
    about = said(capsys, *words, "--out", "found.json", "--json")[provenance.KEY]
    assert set(about) == ALWAYS
    assert json.loads((folder / "found.json").read_text())[provenance.KEY] == about


def test_networks_of_one_name_are_told_apart_and_other_commands_say_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed, name in enumerate(("a", "b")):
        (folder / name).mkdir()
        make.create("sparse-16", folder / name / "net.safetensors", "net", seed)
    words = ["net", "compare", "a/net.safetensors", "b/net.safetensors", "--positions", "8"]
    networks = said(capsys, *words, "--json")[provenance.KEY]["networks"]
    assert networks == {
        "net.safetensors": read_card("a/net.safetensors").sha256,
        "b/net.safetensors": read_card("b/net.safetensors").sha256,
    }
    shown = said(capsys, "search", "--network", "material", "--nodes", "9", "--json")
    assert provenance.KEY not in shown


def test_there_is_no_commit_without_a_checkout(tmp_path: Path) -> None:
    """A package that is installed into somebody's checkout is not at that one's commit."""
    assert provenance.commit(tmp_path / "venv" / "lib") == ""
