"""The second process: it compiles one kernel beside this process, and ends with it."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numba
import pytest

from kibitz.core.journal import lock, open_lock
from kibitz.jit import cache, helper, process
from kibitz.jit.compile import COMPILED

KERNELS = """
from kibitz.jit.compile import called_kernel, kernel
@kernel
def small(number):
    return number + 1
@kernel
def large(number):
    return 2 * small(number)
@called_kernel
def called(number) -> int:
    return number + 5
@kernel
def caller(number):
    return 2 * called(number)
@called_kernel
def fibonacci(number) -> int:
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)
@called_kernel
def even(number) -> int:
    return 1 if number == 0 else odd(number - 1)
@called_kernel
def odd(number) -> int:
    return 0 if number == 0 else even(number - 1)
@called_kernel
def wrong(number) -> float:
    return number + 1
@kernel
def caller_of_wrong(number):
    return wrong(number)
"""
LONG = 600  # seconds: a process that is not ended in time fails the test

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    name = f"kernels_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(KERNELS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path / "cache"))
    # One that another test has left waiting knows no module of this folder.
    monkeypatch.setattr(process, "_waiting", [])
    return importlib.import_module(name)


def compiled_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    compiled: list[str] = []
    monkeypatch.setattr(cache, "on_compile", [compiled.append])
    return compiled


@pytest.mark.slow
def test_a_kernel_is_compiled_beside_another(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "processors", lambda: 2)
    compiled = compiled_here(monkeypatch)
    helper.compile_beside([(kernels.large, (1,))])
    assert kernels.small(1) == 2
    (second,) = process._running
    assert second.wait(LONG) == 0
    assert len(compiled) == 1
    assert kernels.large(1) == 4
    assert len(compiled) == 1


@pytest.mark.slow
def test_what_a_kernel_calls_is_compiled_after_it(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "processors", lambda: 2)
    helper.compile_beside([(kernels.caller, (1,))])
    assert kernels.small(1) == 2
    (second,) = process._running
    assert second.wait(LONG) == 0
    compiled = compiled_here(monkeypatch)
    assert kernels.caller(1) == 12
    assert compiled == []


def test_what_another_process_compiles_is_left_for_later(kernels: ModuleType) -> None:
    postponed = [(kernel, (numba.int64,)) for kernel in (kernels.called, kernels.fibonacci)]
    assert helper._next(postponed) == 0
    with open_lock(kernels.called.for_kernels._cache._lock_file) as file:
        lock(file)
        assert helper._next(postponed) == 1
        assert helper._next(postponed[:1]) == 0  # there is nothing else to do


def test_a_called_kernel_calls_itself(kernels: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    inferred: list[bool] = []
    monkeypatch.setattr(
        numba.core.typeinfer.TypeInferer,
        "return_types_from_partial",
        lambda _: inferred.append(True),
    )
    assert kernels.fibonacci(20) == 6765
    assert inferred == []  # the annotation has told


def test_kernels_that_call_each_other_are_an_error(kernels: ModuleType) -> None:
    with pytest.raises(TypeError, match="odd is called by what it calls"):
        kernels.even(4)


def test_an_annotation_that_is_wrong_is_an_error(kernels: ModuleType) -> None:
    with pytest.raises(TypeError, match=r"wrong: .*-> int64"):
        kernels.caller_of_wrong(1)


@pytest.mark.slow
def test_modules_of_the_current_folder_are_not_taken(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "numba.py").write_text("raise SystemExit(7)", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    monkeypatch.setattr(process, "processors", lambda: 2)
    helper.compile_beside([(kernels.large, (1,))])
    assert kernels.small(1) == 2
    (second,) = process._running
    assert second.wait(LONG) == 0


def test_one_processor_works_alone(kernels: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "processors", lambda: 1)
    monkeypatch.setattr(process, "_running", [])
    compiled = compiled_here(monkeypatch)
    helper.compile_beside([(kernels.large, (1,))])
    assert (kernels.small(1), kernels.large(1)) == (2, 4)
    assert process._running == []
    assert len(compiled) == 3  # `small` for Python and for `large`


def test_parts_are_compiled_here_where_nothing_is_compiled_yet(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "processors", lambda: 1)
    compiled = compiled_here(monkeypatch)
    helper.compile_beside([(kernels.large, (1,))], own=[(kernels.small, (1,))])
    assert compiled == []
    helper.compile_own()
    assert len(compiled) == 1
    assert "small" in compiled[0]
    helper.compile_beside([(kernels.large, (1,))], own=[(kernels.small, (1.5,))])
    helper.compile_own()
    assert len(compiled) == 1
    assert kernels.large(1) == 4


def test_a_process_that_was_started_early_gets_the_work(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "processors", lambda: 2)
    monkeypatch.setattr(helper, "_later", [])
    process.start_early(kernels.__name__)
    (second,) = process._waiting
    helper.compile_later(kernels.small, 1.5)
    helper.compile_beside([(kernels.large, (1,))])  # without another missing kernel
    assert not process.is_waiting()
    assert second.wait(LONG) == 0
    compiled = compiled_here(monkeypatch)
    assert (kernels.large(1), kernels.small(1.5)) == (4, 2.5)
    assert compiled == []
    process.start_early(kernels.__name__)
    assert not process.is_waiting()  # kernels have been compiled


def test_a_process_without_work_ends_with_the_first(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "processors", lambda: 2)
    process.start_early(kernels.__name__)
    (second,) = process._waiting
    assert second.stdin is not None
    second.stdin.close()  # as the system does when a process ends
    assert second.wait(LONG) == 1
    process._end_all()


def test_the_second_process_ends_with_the_first(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(f"import time\ntime.sleep({LONG})\n", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    second = subprocess.Popen(
        [sys.executable, "-m", helper.__name__], stdin=subprocess.PIPE, env={"PYTHONPATH": path}
    )
    assert second.stdin is not None
    pickle.dump([("endless", "never", (numba.int64,))], second.stdin)
    second.stdin.close()  # as the system does when a process ends
    assert second.wait(LONG) == 1
