"""`kibitz doctor` on this machine, with a broken compiler, and in a narrow terminal."""

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from kibitz.cli.system.doctor import fits, modules_of, wanted_packages
from kibitz.core.files import cache_folder

COMMAND = [sys.executable, "-m", "kibitz", "--quiet", "doctor"]


def environment(folder: Path, *more: Path) -> dict[str, str]:
    """Those of this process with a cache of their own, and some modules before all others."""
    paths = [*map(str, more), *filter(None, sys.path)]
    given = {"KIBITZ_CACHE": str(folder / "cache"), "PYTHONPATH": os.pathsep.join(paths)}
    return {**os.environ, **given, "KIBITZ_CONFIG": ""}


def test_this_machine(tmp_path: Path) -> None:
    strange = tmp_path / "cache" / "kernels" / "other" / "position.play-0"
    strange.mkdir(parents=True)
    (strange / "play.nbc").write_bytes(b"a file without a recorded checksum")
    # Their imports take seconds; tests/test_pages.py has all packages imported.
    for name in ("matplotlib", "mcp", "onnxscript", "torch"):
        (tmp_path / "light" / name).mkdir(parents=True)
        (tmp_path / "light" / name / "__init__.py").touch()
    done = subprocess.run(
        [*COMMAND, "--json"],
        env=environment(tmp_path, tmp_path / "light"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    found: dict[str, Any] = {one["part"]: one for one in json.loads(done.stdout)["findings"]}
    assert found["machine"]["facts"]["cores"] == len(os.sched_getaffinity(0))
    assert found["compiler"]["facts"]["works"] is True
    versions = found["packages"]["facts"]
    assert versions["numba"] == metadata.version("numba")
    assert versions["chess"] == metadata.version("chess")
    cache = found["cache"]["facts"]
    assert (cache["ready"], cache["stale_folders"]) == ([], 1)
    assert cache["damaged"] == [str(strange / "play.nbc")]
    assert found["next start"]["facts"]["seconds"] > 0
    assert found["networks"]["facts"]["taken"].endswith(".safetensors")
    assert found["tables"]["status"] == "missing"
    assert "data fetch" in found["tables"]["fix"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of Unix")
def test_a_broken_compiler_in_a_narrow_terminal(tmp_path: Path) -> None:
    import pty

    for name, why in (("numba", "no LLVM for you"), ("torch", "no such library")):
        package = tmp_path / "broken" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"raise ImportError({why!r})\n")
    ours, theirs = pty.openpty()
    given = environment(tmp_path, tmp_path / "broken") | {"COLUMNS": "80", "TERM": "dumb"}
    with subprocess.Popen(COMMAND, env=given, stdout=theirs, stdin=subprocess.DEVNULL) as running:
        os.close(theirs)
        parts = []
        while part := read(ours):
            parts.append(part)
    os.close(ours)
    assert running.returncode == 1
    lines = b"".join(parts).decode().splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert "broken compiler cannot compile: ImportError: no LLVM for you" in text
    assert "numba cannot be imported" in text
    # The command that mends it names the versions, in the order of the installed metadata.
    assert re.search(r"'numba(<[\d.]+,)?>=0\.6", text.replace(" ", ""))
    assert "no such library" in text  # of torch, which is no fault of Kibitz
    assert "folder cache" in text


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other side has been closed
        return b""


@pytest.mark.parametrize("version", ["0.61", "0.61.2", "0.68.9", "0.69", "1.0.1+cpu", "2.13.0"])
@pytest.mark.parametrize("wanted", ["", ">=0.61.2,<0.69", ">=2.0", "==2.13.0"])
def test_versions_fit_as_pip_says(version: str, wanted: str) -> None:
    assert fits(version, wanted) == SpecifierSet(wanted).contains(version)


@pytest.mark.slow
def test_what_this_machine_has_is_found(tmp_path: Path) -> None:
    """Packages by the names they are imported as, tables, a program, a network of one's own."""
    tables = Path(__file__).parents[1] / "fixtures" / "syzygy"
    (tmp_path / "kibitz.toml").write_text(f'[search]\nsyzygy_path = "{tables}"\n')
    program = tmp_path / "bin" / "phalanx"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    data = tmp_path / "data"
    data.mkdir()
    given = environment(tmp_path) | {"KIBITZ_CONFIG": str(tmp_path / "kibitz.toml")}
    given |= {"KIBITZ_DATA": str(data), "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    given["KIBITZ_CACHE"] = str(cache_folder())  # with kernels, so that nothing is compiled
    done = subprocess.run([*COMMAND, "--json"], env=given, capture_output=True, text=True)
    found: dict[str, Any] = {one["part"]: one for one in json.loads(done.stdout)["findings"]}
    assert (found["tables"]["status"], found["tables"]["facts"]["path"]) == ("ok", str(tables))
    assert found["engines"]["facts"]["phalanx"] == str(program)
    assert found["folder data"]["text"].startswith(str(data))
    for part, one in found.items():
        if part.startswith("extra "):
            assert "cannot be imported" not in one["text"]


def test_installed_packages_are_imported_by_their_own_names() -> None:
    installed = {one.name for one in wanted_packages() if is_installed(one.name)}
    assert installed
    for name in installed:
        for module in modules_of(name):
            assert find_spec(module) is not None, (name, module)
    if is_installed("mkdocs-material"):
        assert modules_of("mkdocs-material") == ["material"]


def is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
