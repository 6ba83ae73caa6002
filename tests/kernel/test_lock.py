"""Helpers that compile meanwhile: they keep their promise, or the kernel is compiled without."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kibitz.kernel import lock as kernellock
from kibitz.kernel.lock import Promises
from kibitz.locks import locked


@pytest.fixture
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernellock, "processors", lambda: 2)


@pytest.mark.usefixtures("two_processors")
def test_a_helper_that_fails_has_kept_nothing(tmp_path: Path) -> None:
    promises = Promises()
    promises.ask("kernel", "kibitz.no_such_module", [], tmp_path)
    assert not promises.kept("kernel")
    assert not promises.kept("kernel")  # it is asked once


@pytest.mark.usefixtures("two_processors")
def test_a_helper_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hangs.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(kernellock, "HELPER_SECONDS", 0.2)
    promises, started = Promises(), time.monotonic()
    promises.ask("kernel", "hangs", [], tmp_path / "cache")
    assert not promises.kept("kernel")
    assert time.monotonic() - started < 60


@pytest.mark.usefixtures("two_processors")
def test_one_helper_at_a_time(tmp_path: Path) -> None:
    first, second = Promises(), Promises()
    first.ask("kernel", "timeit", ["-n", "1", "-r", "1", "import time; time.sleep(1)"], tmp_path)
    second.ask("kernel", "timeit", ["-n", "1", "-r", "1", "pass"], tmp_path)
    assert not second.kept("kernel")
    assert first.kept("kernel")
    second.ask("kernel", "timeit", ["-n", "1", "-r", "1", "pass"], tmp_path)
    assert second.kept("kernel")


@pytest.mark.usefixtures("two_processors")
def test_without_a_place_for_locks_there_is_no_helper(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    promises = Promises()
    promises.ask("kernel", "timeit", [], file / "cache")
    assert not promises.kept("kernel")
    with locked(file / "cache" / "saving.lock"):
        pass
