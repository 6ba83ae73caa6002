"""The images, the learning farm and the wheel: what they name is there, what they run can be run.

Docker is not needed: instructions are read as text, commands are bound as the command line does.
"""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from kibitz.cli import app

PROJECT = Path(__file__).parents[1]
ABOUT: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
DOCKERFILE = (PROJECT / "Dockerfile").read_text("utf-8")


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, lines that go on joined, without comments."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return [(line[0], line[1]) for line in lines]


def sent_to_the_builder(name: str) -> bool:
    """Whether .dockerignore lets a file through; the last line that fits decides."""
    kept = True
    for line in (PROJECT / ".dockerignore").read_text("utf-8").splitlines():
        pattern = line.removeprefix("!")
        if line and not line.startswith("#") and fnmatch.fnmatch(name, pattern):
            kept = line.startswith("!")
    return kept


def stages() -> dict[str, str]:
    """The stages, and what each of them begins with."""
    found = [
        re.fullmatch(r"(\S+) AS (\S+)", rest) for name, rest in instructions() if name == "FROM"
    ]
    return {one[2]: one[1] for one in found if one}


def test_what_is_copied_is_there() -> None:
    known = set(stages())
    for name, rest in instructions():
        if name != "COPY":
            continue
        *sources, _ = [word for word in shlex.split(rest) if not word.startswith("--")]
        origin = re.search(r"--from=(\S+)", rest)
        if origin:
            assert origin[1] in known
            continue
        for source in sources:
            assert (PROJECT / source).exists()
            assert sent_to_the_builder(source)
    needed = [ABOUT["readme"], *ABOUT["license-files"], "pyproject.toml", "src"]
    copied = " ".join(rest for name, rest in instructions() if name == "COPY")
    assert all(name in copied for name in needed)
    assert not sent_to_the_builder("docs")
    assert not sent_to_the_builder(".git")


def test_stages_extras_and_entry_exist() -> None:
    begun = [base for base in stages().values() if base not in stages()]
    for base in begun:
        version = re.fullmatch(r"python:(\d+)\.(\d+)-slim", base)
        assert version is not None
        assert (int(version[1]), int(version[2])) >= (3, 11)  # what `requires-python` says
    wanted = set(",".join(re.findall(r"\$\{wheel\}\[([\w,]+)\]", DOCKERFILE)).split(","))
    assert wanted <= set(ABOUT["optional-dependencies"])
    assert wanted >= {"web", "lichess", "coach", "mcp"}  # what people use
    assert json.loads(dict(instructions())["ENTRYPOINT"]) == ["kibitz"]
    assert "kibitz" in ABOUT["scripts"]
    app.parse_args(json.loads(dict(instructions())["CMD"]))
    assert [rest for name, rest in instructions() if name == "USER"] == ["kibitz", "kibitz"]


def test_the_farm_plays_trains_and_rates() -> None:
    yaml = pytest.importorskip("yaml")
    farm = yaml.safe_load((PROJECT / "compose.yaml").read_text("utf-8"))
    roles = {}
    for name, service in farm["services"].items():
        function, bound, _ = app.parse_args(service["command"])
        roles[name] = bound.arguments["role"]
        volume, _, folder = service["volumes"][0].partition(":")
        assert volume in farm["volumes"]
        assert str(bound.arguments["folder"]).startswith(f"{folder}/")
        assert f"KIBITZ_DATA={folder}" in DOCKERFILE
        assert service["build"]["target"].endswith(":-cpu}")
        assert (PROJECT / service["build"]["context"]).samefile(PROJECT)
        assert function.__name__ == "learn"
    assert roles == {"train": "train", "rate": "rate", "play": "play"}
    more = yaml.safe_load((PROJECT / "compose.cuda.yaml").read_text("utf-8"))
    assert set(more["services"]) <= set(farm["services"])
    assert {"cpu", "cuda"} <= set(stages())


def test_the_page_and_the_bot_have_no_rights_and_are_watched() -> None:
    yaml = pytest.importorskip("yaml")
    apps = yaml.safe_load((PROJECT / "compose.web.yaml").read_text("utf-8"))
    for name, service in apps["services"].items():
        function, _, _ = app.parse_args(service["command"])
        assert function.__name__ == {"web": "web", "bot": "lichess"}[name]
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["build"]["target"] in stages()
        volume, _, folder = service["volumes"][0].partition(":")
        assert volume in apps["volumes"]
        assert f"KIBITZ_DATA={folder}" in DOCKERFILE
    _, bound, _ = app.parse_args(apps["services"]["web"]["command"])
    assert bound.arguments["host"] == "0.0.0.0"
    probe = apps["services"]["web"]["healthcheck"]["test"]
    compile(probe[-1], "probe", "exec")
    assert "8321" in probe[-1]


def test_commands_of_their_comments_can_be_run() -> None:
    text = (PROJECT / "compose.yaml").read_text("utf-8")
    run = re.findall(r"docker compose run --rm play (.*)", text)
    assert run
    for line in run:
        app.parse_args(shlex.split(line))
    files = re.findall(r"-f (\S+)", text)
    assert files
    assert all((PROJECT / file).is_file() for file in files)


def test_the_wheel_carries_everything(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    here = {
        path.relative_to(PROJECT / "src").as_posix()
        for path in (PROJECT / "src" / "kibitz").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    assert here - names == set()
    assert {"kibitz/web/static/index.html", "kibitz/py.typed"} & here <= names
    assert any(name.endswith(".safetensors") for name in names)
    assert any(name.endswith("LICENSE") for name in names)


def test_the_lock_file_fixes_all_that_is_declared() -> None:
    """Everything of every extra that is installed where tests run, within what is declared."""
    lines = (PROJECT / "requirements.lock").read_text("utf-8").splitlines()
    locked = dict(line.split("==") for line in lines if not line.startswith("#"))
    extras = ABOUT["optional-dependencies"]
    for extra, wanted in {"": ABOUT["dependencies"], **extras}.items():
        for requirement in map(Requirement, wanted):
            if extra != "cluster":
                assert requirement.specifier.contains(locked[requirement.name]), requirement
    assert len(locked) > 60
