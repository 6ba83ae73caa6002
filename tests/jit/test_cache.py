"""The cache of compiled kernels: stale after any edit, whole after any damage, shared by many."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import TypingError

from kibitz.core.journal import lock, open_lock
from kibitz.jit import cache as kernelcache
from kibitz.jit.compile import COMPILED, kernel

SOURCE = Path(kernelcache.__file__).parents[1]
COUNT = """
from kibitz.jit import cache as kernelcache
compiled = []
kernelcache.on_compile.append(compiled.append)
from kibitz.jit.bits import bit
from kibitz.position.attacks import king_spread
assert int(king_spread(bit(0))) == 0x302
print(len(compiled))
"""

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def environment_of(cache: Path, source: Path = SOURCE) -> dict[str, str]:
    return {**os.environ, "KIBITZ_CACHE": str(cache), "PYTHONPATH": str(source.parent)}


def compiled_by_a_process(cache: Path, source: Path = SOURCE) -> int:
    """Use a few kernels in a fresh process; how many it had to compile."""
    environment = environment_of(cache, source)
    done = subprocess.run(
        [sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def cache_files(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.suffix in (".nbi", ".nbc")]


def test_the_linear_algebra_of_scipy_is_imported_by_those_who_use_it() -> None:
    """It takes a tenth of a start, and kernels have no use for it."""
    pytest.importorskip("scipy")
    code = "import sys\nfrom kibitz.position.board import Board\nboard = Board()\n"
    code += "print('scipy.linalg' in sys.modules)\nimport scipy.linalg.cython_blas\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("pristine")
    assert compiled_by_a_process(cache) == 2
    assert compiled_by_a_process(cache) == 0
    assert len(cache_files(cache)) == 4  # an index and one compiled form of both
    return cache


@pytest.fixture
def warm_cache(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "cache"))


@pytest.mark.parametrize(
    ("damage", "suffixes"),
    [
        ("flipped", [".nbc"]),
        ("cut", [".nbi", ".nbc"]),
        pytest.param("flipped", [".nbi"], marks=pytest.mark.slow),
        pytest.param("empty", [".nbc"], marks=pytest.mark.slow),
        pytest.param("junk", [".nbi"], marks=pytest.mark.slow),
    ],
)
def test_a_damaged_cache_heals(warm_cache: Path, damage: str, suffixes: list[str]) -> None:
    for path in cache_files(warm_cache):
        if path.suffix in suffixes:
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 0x10
            forms = {
                "flipped": bytes(content),
                "cut": bytes(content[:-40]),
                "empty": b"",
                "junk": b"x" * 999,
            }
            path.write_bytes(forms[damage])
    assert compiled_by_a_process(warm_cache) == 2
    assert compiled_by_a_process(warm_cache) == 0


def test_a_lost_file_is_made_again(warm_cache: Path) -> None:
    next(path for path in cache_files(warm_cache) if path.suffix == ".nbc").unlink()
    assert compiled_by_a_process(warm_cache) == 1


def test_two_processes_on_a_cold_cache_share_the_work(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        compiled = list(pool.map(compiled_by_a_process, [tmp_path, tmp_path]))
    assert sum(compiled) == 2  # each kernel once, whoever came first


def test_kernels_run_where_nothing_can_be_written(tmp_path: Path) -> None:
    no_folder = tmp_path / "file"
    no_folder.touch()
    assert compiled_by_a_process(no_folder / "cache") == 2


TOLD = f"""
import sys
from kibitz.jit import cache as kernelcache
with kernelcache.announced_by(lambda text: print(text, file=sys.stderr, flush=True)):
    exec({COUNT!r})
"""


def test_a_cache_that_cannot_be_written_is_named_once(tmp_path: Path) -> None:
    no_folder = tmp_path / "file"
    no_folder.touch()
    done = subprocess.run(
        [sys.executable, "-c", COUNT],
        env=environment_of(no_folder),
        capture_output=True,
        text=True,
        check=True,
    )
    said = [line for line in done.stderr.splitlines() if "cannot be kept" in line]
    assert len(said) == 1, "of kernels in two folders"
    assert f"in {no_folder}: " in said[0]


@pytest.mark.parametrize("script", [COUNT, TOLD])
def test_a_process_says_once_that_it_waits_for_another(warm_cache: Path, script: str) -> None:
    for path in cache_files(warm_cache):
        path.unlink()
    locks = [*warm_cache.rglob("*.lock")]
    held = [open_lock(path) for path in locks if path.name != "saving.lock"]
    assert len(held) == 2
    assert all(lock(file, wait=False) for file in held)
    with subprocess.Popen(
        [sys.executable, "-c", script], env=environment_of(warm_cache), stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        assert b"another process is compiling" in process.stderr.readline()
        assert process.poll() is None
        for file in held:
            file.close()
        assert b"another process" not in process.stderr.read()
    assert process.returncode == 0


@pytest.mark.slow
def test_only_an_edit_of_an_imported_module_compiles_again(tmp_path: Path) -> None:
    package = tmp_path / "src" / "kibitz"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    cache = tmp_path / "cache"
    assert compiled_by_a_process(cache, package) == 2
    moves = package / "position" / "moves.py"  # imports attacks.py, not the other way round
    moves.write_text(moves.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    assert compiled_by_a_process(cache, package) == 0
    bits = package / "jit" / "bits.py"  # attacks.py imports it: the kernels of both are stale
    text = bits.read_text(encoding="utf-8")
    bits.write_text(text + "\n# edited\n", encoding="utf-8")
    assert compiled_by_a_process(cache, package) == 2
    bits.write_text(text, encoding="utf-8")
    assert compiled_by_a_process(cache, package) == 0  # the old state is still there


def test_imports_are_found_in_every_form(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text(
        "import os, kibitz.core.errors\n"
        "from kibitz.jit import bits\n"
        "def late():\n    from kibitz.position.moves import (\n        play,\n    )\n"
    )
    names = {path.name for path in kernelcache.imported_files(file)}
    assert {"bits.py", "moves.py"} <= names


def test_unused_folders_are_dropped_after_two_weeks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path))
    old, new = (tmp_path / "kernels" / "tools" / name for name in ("old", "new"))
    for folder, age in ((old, 15), (new, 13)):
        folder.mkdir(parents=True)
        (folder / "kernel.nbi").write_bytes(b"")
        for path in (folder / "kernel.nbi", folder):
            os.utime(path, (1_000_000_000 - age * 86_400,) * 2)
    assert kernelcache.prune(now=1_000_000_000) == [old]
    assert (old.exists(), new.exists()) == (False, True)


def test_a_kernel_may_be_called_by_kernels_first_and_then_by_python(tmp_path: Path) -> None:
    script = tmp_path / "two_forms.py"
    script.write_text(
        "from kibitz.jit import cache as kernelcache\n"
        "from kibitz.jit.compile import kernel\n"
        "compiled = []\n"
        "kernelcache.on_compile.append(compiled.append)\n"
        "@kernel\n"
        "def one_more(number):\n    return number + 1\n"
        "@kernel\n"
        "def twice_one_more(number):\n    return 2 * one_more(number)\n"
        "@kernel\n"
        "def both(number):\n    return one_more(number) + twice_one_more(number)\n"
        "assert twice_one_more(3) == 8\n"
        "assert one_more(3) == 4\n"
        "assert one_more(0.5) == 1.5\n"
        "assert both(1) == 6\n"
        "assert both(0.5) == 4.5\n"
        "print(len(compiled))\n",
        encoding="utf-8",
    )
    environment = environment_of(tmp_path)

    def compiled() -> int:
        words = [sys.executable, str(script)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        return int(done.stdout)

    # one_more for two types, twice_one_more and both for two types
    assert compiled() == 9  # five forms for Python, four for kernels
    assert compiled() == 0


CALLERS = """
import numpy as np
from kibitz.jit import cache as kernelcache
from kibitz.jit.compile import kernel

compiled = []
kernelcache.on_compile.append(lambda name: compiled.append(name.split()[1]))

@kernel
def entry(table, index):
    return table[index]

@kernel
def first(table):
    return entry(table, 0)

@kernel
def last(table):
    return entry(table, len(table) - 1)

assert first(np.arange(3, 7)) == 3
try:
    last(np.arange(0))
except IndexError:
    print(*sorted(set(compiled)))
"""


@pytest.mark.slow
def test_a_kernel_from_the_disk_serves_a_new_caller_with_all_that_it_raises(tmp_path: Path) -> None:
    script = tmp_path / "user.py"
    script.write_text(CALLERS, encoding="utf-8")
    environment = {
        **os.environ,
        "KIBITZ_CACHE": str(tmp_path),
        "KIBITZ_BOUNDSCHECK": "1",
        "PYTHONPATH": str(SOURCE.parent),
    }

    def compiled() -> list[str]:
        words = [sys.executable, str(script)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert compiled() == ["entry_for_kernels", "first", "last"]
    for damage in (False, True):
        for path in cache_files(tmp_path):
            if "last" in path.name:
                path.unlink()
            elif damage and "entry" in path.name:
                path.write_bytes(path.read_bytes()[:-50])
        assert compiled() == ["entry_for_kernels", "last"][0 if damage else 1 :]
        assert compiled() == []


COUNTS = """
import numpy as np
from kibitz.jit.compile import kernel

@kernel
def inner(table):
    return table[0]

@kernel
def outer(tables):
    return inner(tables[1:]) + inner(tables)

outer(np.arange(4))
(code,) = outer.inspect_llvm().values()
assert "NRT_incref" not in code and "NRT_decref" not in code
"""


def test_kernels_count_no_references(tmp_path: Path) -> None:
    script = tmp_path / "user.py"
    script.write_text(COUNTS, encoding="utf-8")
    environment = environment_of(tmp_path)
    subprocess.run([sys.executable, str(script)], env=environment, check=True)


def test_a_compilation_that_fails_gives_its_lock_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path))
    kernelcache.kernel_folder.cache_clear()

    @kernel
    def wrong(number: Any) -> Any:
        return number + "one"

    with pytest.raises(TypingError):
        wrong(1)
    (path,) = tmp_path.rglob("*wrong.lock")
    with open_lock(path) as file:
        assert lock(file, wait=False)
    kernelcache.kernel_folder.cache_clear()


CALLED = """
from kibitz.jit import cache as kernelcache
from kibitz.jit.compile import called_kernel, kernel

compiled = []
kernelcache.on_compile.append(lambda name: compiled.append(name.split()[1]))

@called_kernel
def hundredfold(table, index) -> int:
    return 100 * table[index]

@kernel
def middle(table, index):
    return hundredfold(table, index) + 1

@kernel
def whole(table, index):
    return middle(table, index) + 1

@kernel
def other(table, index):
    return middle(table, index) + 2
"""
CALLERS_OF_CALLED = """
import numpy as np
import called_kernels as kernels

found = kernels.whole(np.arange(4), 3), kernels.other(np.arange(4), 2)
assert found == (302, 203), found
try:
    kernels.whole(np.arange(4), 4)
except IndexError:
    print(*sorted(set(kernels.compiled)))
"""


@pytest.mark.slow
def test_a_called_kernel_is_found_again_by_all_that_call_it(tmp_path: Path) -> None:
    (tmp_path / "called_kernels.py").write_text(CALLED, encoding="utf-8")
    environment = {
        **os.environ,
        "KIBITZ_CACHE": str(tmp_path / "cache"),
        "KIBITZ_BOUNDSCHECK": "1",
        "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), str(tmp_path)]),
    }

    def compiled() -> list[str]:
        words = [sys.executable, "-c", CALLERS_OF_CALLED]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    inner = ["hundredfold_for_kernels", "middle_for_kernels"]
    assert compiled() == [*inner, "other", "whole"]
    assert compiled() == []
    for lost in ("hundredfold_for_kernels", "whole"):  # what is left of the others still fits
        for path in cache_files(tmp_path):
            if f".{lost}-" in path.name:
                path.unlink()
        assert compiled() == [lost]
        assert compiled() == []


def test_machine_code_of_a_called_kernel_is_not_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    name = f"kernels_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(CALLED, encoding="utf-8")
    kernels = importlib.import_module(name)
    table = np.arange(3)
    assert kernels.whole(table, 1) == 102
    (code,) = kernels.whole.inspect_llvm().values()
    assert "hundredfold" in code
    assert not any("hundredfold" in line for line in code.splitlines() if line.startswith("define"))
