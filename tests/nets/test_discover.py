"""Networks that are found without being named, or by the name of one that is shipped."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kibitz import Board, Engine, load_network
from kibitz.arena.match.spec import parse_player
from kibitz.cli import main
from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import data_folder
from kibitz.nets import discover as rooms
from kibitz.nets.discover import discover, halves, resolve, shipped_default
from kibitz.nets.files import read_card
from kibitz.nets.models.make import create
from tests.uci.scripted import Gui

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nothing in it, where the user is, and a data folder without anything."""
    folder = tmp_path / "user"
    folder.mkdir()
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KIBITZ_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(rooms, "SHIPPED_FOLDER", tmp_path / "none")
    return folder


@pytest.fixture
def package(user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's folder with two networks, one of them the default."""
    assert user.is_dir()
    folder = tmp_path / "networks"
    for name in ("sparse-64", "sparse-64-threats"):
        create(name, folder / f"{name}.safetensors", name=f"trained {name}")
    (folder / "default.txt").write_text("sparse-64\n")
    monkeypatch.setattr(rooms, "SHIPPED_FOLDER", folder)
    return folder


@pytest.mark.usefixtures("user")
def test_without_any_network_material_is_counted() -> None:
    assert discover() == resolve("") == resolve("<autodiscover>") == "material"
    (data_folder() / "other.safetensors").write_bytes(b"something else")
    assert discover() == "material"


def test_nothing_is_taken_from_the_current_folder_unless_it_is_named(
    user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in (user / "mine.safetensors", user / "networks" / "mine.safetensors"):
        create("sparse-64", place)
    assert discover() == "material"
    assert main(["net", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["networks"] == []
    assert resolve("mine.safetensors") == "mine.safetensors"


@pytest.mark.usefixtures("user")
def test_the_users_newest_goes_before_the_shipped_default(package: Path) -> None:
    assert discover() == str(package / "sparse-64.safetensors")
    for age, place in (
        (20, data_folder() / "networks" / "older.safetensors"),
        (10, data_folder() / "new.safetensors"),
    ):
        create("sparse-64", place)
        changed = place.stat().st_mtime - age
        os.utime(place, (changed, changed))
    assert Path(discover()).name == "new.safetensors"
    (data_folder() / "new.safetensors").write_bytes(b"damaged")
    assert Path(discover()).name == "older.safetensors"


@pytest.mark.usefixtures("user")
def test_a_damaged_network_is_named_and_files_of_others_are_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    create("sparse-32", data_folder() / "mine.safetensors")
    content = bytearray((data_folder() / "mine.safetensors").read_bytes())
    content[-1] ^= 1
    (data_folder() / "mine.safetensors").write_bytes(content)
    (data_folder() / "other.safetensors").write_bytes(b"something else")
    (data_folder() / "other.onnx").write_bytes(b"something else")
    assert discover() == discover() == "material"
    error = capsys.readouterr().err
    assert error.count("damaged network file") == error.count("mine.safetensors") == 1
    assert "other" not in error


@pytest.mark.usefixtures("user")
def test_every_net_command_takes_names(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("default", "shipped", "sparse-64"):
        assert main(["net", "show", name, "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["file"] == str(package / "sparse-64.safetensors")
    assert main(["net", "join", "default", "sparse-64", "-o", "joined.safetensors"]) == 0
    assert main(["net", "quantise", "shipped", "-o", "int8.safetensors", "--positions", "20"]) == 0
    capsys.readouterr()
    assert main(["net", "compare", "shipped", "sparse-64", "--positions", "20", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert row["largest_value"] == 0
    assert main(["net", "show", "material"]) == 2
    assert "a built-in evaluator has no file: 'material'" in capsys.readouterr().err


def test_pairs_of_names_that_are_always_there(package: Path) -> None:
    file = str(package / "sparse-64.safetensors")
    assert resolve("shipped+sparse-64") == resolve("default+shipped") == f"{file}+{file}"


def test_short_names_are_those_of_shipped_networks_only(user: Path, package: Path) -> None:
    assert resolve("sparse-64-threats") == str(package / "sparse-64-threats.safetensors")
    for name in ("sparse-65", "../networks/sparse-64", "material"):
        assert resolve(name) == name
    (user / "sparse-64").write_bytes(b"a file of the user's own")
    assert resolve("sparse-64") == "sparse-64"


def test_a_pair_is_two_networks_that_are_there(user: Path, package: Path) -> None:
    (user / "c++").mkdir()
    create("sparse-32", user / "c++" / "mine.safetensors")
    assert resolve("c++/mine.safetensors") == "c++/mine.safetensors"
    assert halves("c++/mine.safetensors") is None
    pair = "sparse-64+c++/mine.safetensors"
    assert halves(pair) == ("sparse-64", "c++/mine.safetensors")
    files = str(package / "sparse-64.safetensors"), "c++/mine.safetensors"
    assert resolve(pair) == "+".join(files)
    assert halves("sparse-64+nobody") is None
    with Engine(pair) as engine:
        assert engine.play(Board(), nodes=20).move is not None
    spec = parse_player(f"{pair},nodes=5,name=both")
    assert spec.name == "both"
    assert spec.identity.startswith(spec.text)
    assert spec.identity.count("+") == spec.text.count("+") + 1  # a sum of each file
    with pytest.raises(InputError, match="neither a player nor a network"):
        parse_player("sparse-64+nobody")


def test_a_default_that_is_not_there_is_named(package: Path) -> None:
    (package / "default.txt").write_text("sparse-4096\n")
    with pytest.raises(DamagedFileError, match="sparse-4096"):
        shipped_default()


@pytest.mark.usefixtures("package")
def test_all_doors_take_the_shipped_network(capsys: pytest.CaptureFixture[str]) -> None:
    with Engine(hash=4) as engine:
        assert engine.play(Board(), nodes=20).move in Board().legal_moves
        assert engine.network == "trained sparse-64"
        engine.set_option("WeightsFile", "sparse-64-threats")
        engine.ready()
        assert "threats" in engine.network
    with Gui(Engine()) as gui:
        assert any("trained sparse-64" in line for line in gui.ask("isready", "readyok"))
    assert load_network("shipped").name == load_network("sparse-64").name == "trained sparse-64"
    with pytest.raises(InputError, match="did you mean 'sparse-64'"):
        load_network("sparse-6")
    assert parse_player("kibitz").what == parse_player("sparse-64").what
    with pytest.raises(InputError, match="did you mean 'sparse-64'"):
        parse_player("sparse-6")
    for command in (
        ["search", "--nodes", "50", "--json"],
        ["search", "--nodes", "50", "--network", "sparse-64-threats", "--json"],
        ["analyse", "--nodes", "50", "--json"],
        ["match", "sparse-64", "kibitz", "--games", "2", "--nodes", "2", "--max-moves", "3"],
    ):
        assert main(command) == 0
    shown = capsys.readouterr().out
    assert shown.count('"network": "sparse-64"') == 2
    assert "sparse-64 vs kibitz" in shown


@pytest.mark.usefixtures("user")
def test_the_list_of_networks(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create("sparse-64", data_folder() / "mine.safetensors", name="mine")
    assert main(["net", "list", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in shown["networks"]}
    assert list(rows) == ["sparse-64", "sparse-64-threats", "mine"]
    assert [row["taken"] for row in rows.values()] == [False, False, True]
    assert rows["sparse-64"]["file"] == str(package / "sparse-64.safetensors")
    assert rows["mine"]["parameters"] > 100_000
    assert main(["net", "list"]) == 0
    assert "mine.safetensors" in capsys.readouterr().out


def test_wheels_carry_the_networks_and_the_page(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    project = tmp_path / "project"
    page = [f"comment/report/static/{name}" for name in ("board.js", "report.js", "report.css")]
    files = [
        f"src/kibitz/{name}" for name in ("__init__.py", "comment/report/static/report.html", *page)
    ]
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", *files):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, project / name)
    shutil.copy(PROJECT / ".gitignore", project / ".gitignore")
    create("sparse-64", project / "src/kibitz/nets/shipped/sparse-64.safetensors")
    (project / "src/kibitz/nets/shipped/default.txt").write_text("sparse-64\n")
    builder = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(builder, cwd=project, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    wanted = {"kibitz/nets/shipped/sparse-64.safetensors", "kibitz/nets/shipped/default.txt"}
    assert wanted | {one.removeprefix("src/") for one in files} <= packed


def test_the_page_and_the_card_say_how_the_default_network_is_made() -> None:
    """Every source with its checksum, and every command, from unpacking to the shipped form."""
    page = (PROJECT / "docs" / "networks.md").read_text(encoding="utf-8")
    file = shipped_default()
    assert file is not None
    provenance = read_card(file).provenance
    named = re.findall(r"(\S+\.xz) sha256 ([0-9a-f]{16})", provenance.data)
    listed = re.findall(r"\| `(\S+\.xz)` \| [\d ]+ \| `([0-9a-f]{64})` \|", page)
    assert len(listed) == 17
    assert named == [(name, digits[:16]) for name, digits in listed]
    for command in provenance.commands:
        first = " ".join(command.split()[:3])
        assert first in page, first
    told = "\n".join(provenance.commands)
    for step in ("sed -E", "kibitz data import", "kibitz train", "net join", "net quantise"):
        assert step in told
    folders = set(re.findall(r"--data (\w+)", told))
    assert folders == set(re.findall(r"data (?:import|label) .*?--output (\w+)", told))
