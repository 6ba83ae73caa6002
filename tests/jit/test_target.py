"""Kernels of a wheel: used where they fit, and only until those for this processor are ready."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kibitz.jit import target
from kibitz.jit.compile import COMPILED
from kibitz.jit.process import VARIABLE, compile_for_next_start

CAN_RUN = COMPILED and target._can_run()
pytestmark = pytest.mark.skipif(not CAN_RUN, reason="no processor that wheels have kernels for")

USE = """
import json, sys
import llvmlite.binding as llvm
if "--old" in sys.argv:
    llvm.get_host_cpu_features = type(llvm.get_host_cpu_features())
from kibitz.jit import cache, target
compiled = []
cache.on_compile.append(compiled.append)
from kibitz.jit.bits import bit
from kibitz.position.attacks import king_spread
assert int(king_spread(bit(0))) == 0x302
if "--note" in sys.argv:
    target.note_ready()
print(json.dumps({"compiled": len(compiled), "for_wheels": target.for_wheels()}))
"""


def used(package: Path, cache: Path, *flags: str, kernels: str = "") -> dict[str, Any]:
    """Use two kernels in a fresh process."""
    environment = {**os.environ, "KIBITZ_CACHE": str(cache), "PYTHONPATH": str(package.parent)}
    environment[VARIABLE] = kernels
    done = subprocess.run(
        [sys.executable, "-c", USE, *flags],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package as a wheel has it, with kernels for the processors of wheels."""
    ignored = shutil.ignore_patterns("__pycache__", "shipped", "static", "kernels")
    copy = Path(shutil.copytree(target.PACKAGE, tmp_path / "wheel" / "kibitz", ignore=ignored))
    made = used(copy, tmp_path / "build", kernels="wheel")
    assert made == {"compiled": 2, "for_wheels": True}
    shutil.copytree(tmp_path / "build" / "kernels", copy / "kernels")
    return copy


def test_kernels_of_a_wheel_are_not_compiled(package: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in package.rglob("*.nb?")}
    assert used(package, tmp_path / "home") == {"compiled": 0, "for_wheels": True}
    assert before == {path: path.stat().st_mtime_ns for path in package.rglob("*.nb?")}
    assert not [*(tmp_path / "home").rglob("*.nbc")]


def test_own_kernels_take_over_when_they_are_ready(package: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert used(package, home, "--note", kernels="own") == {"compiled": 2, "for_wheels": False}
    assert used(package, home) == {"compiled": 0, "for_wheels": False}


def test_kernels_of_other_sources_are_not_used(package: Path, tmp_path: Path) -> None:
    bits = package / "jit" / "bits.py"
    bits.write_text(bits.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    assert used(package, tmp_path / "home")["compiled"] == 2


def test_a_processor_without_the_features_compiles_its_own(package: Path, tmp_path: Path) -> None:
    assert used(package, tmp_path / "home", "--old")["for_wheels"] is False


@pytest.mark.parametrize(("kernels", "started"), [("", 1), ("own", 0), ("wheel", 0)])
def test_one_process_compiles_for_the_next_start(
    kernels: str, started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    environments = []
    monkeypatch.setenv(VARIABLE, kernels)
    monkeypatch.setattr(target, "for_wheels", lambda: True)
    monkeypatch.setattr(subprocess, "Popen", lambda _, env, **__: environments.append(env))
    compile_for_next_start()
    assert [each[VARIABLE] for each in environments] == ["own"] * started  # and it starts none
