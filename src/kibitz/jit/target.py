"""For which processor kernels are compiled: for this one, or for those that a wheel is made for.

A wheel may carry compiled kernels (hatch_build.py). A process uses them until the kernels for its
own processor are ready, which `kibitz compile` makes in the background (cli/system/compile.py). It
compiles what a wheel lacks for the wheel's processors, too, as kernels copy each other's code.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba

from kibitz.core.files import cache_folder
from kibitz.jit.process import VARIABLE

PACKAGE = Path(__file__).parents[1]
TOOLCHAIN = (
    f"numba{numba.__version__}-py{'.'.join(map(str, sys.version_info[:2]))}-{platform.machine()}"
)
SHIPPED = PACKAGE / "kernels" / TOOLCHAIN  # in a wheel for this Python and this numba

# The processors that wheels are made for: the level v3 of x86-64, Intel's since 2013, AMD's since
# 2015, by the names of LLVM.
WHEEL_PROCESSOR = "x86-64-v3"
WHEEL_FEATURES = frozenset(
    {"avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf"}
    | {"sse3", "sse4.1", "sse4.2", "ssse3", "xsave"}
)

_config: Any = numba.config  # its stub names no setting


@functools.cache
def for_wheels() -> bool:
    """Whether this process compiles for the processors of wheels; numba is told at the first call.

    So it is where asked for, and where a wheel has kernels that this processor can run while its
    own are not ready.
    """
    asked = os.environ.get(VARIABLE, "")
    if asked == "own" or _config.CPU_NAME or _config.DISABLE_JIT:
        return False
    if asked != "wheel" and (not SHIPPED.is_dir() or own_are_ready() or not _can_run()):
        return False
    _config.CPU_NAME = WHEEL_PROCESSOR
    _config.CPU_FEATURES = ",".join(f"+{name}" for name in sorted(WHEEL_FEATURES))
    return True


def _can_run() -> bool:
    host = llvm.get_host_cpu_features()
    return all(host.get(name, False) for name in WHEEL_FEATURES)


def has_feature(name: str) -> bool:
    """Whether the processor that is compiled for has a feature, by LLVM's name."""
    if for_wheels():
        return name in WHEEL_FEATURES
    return bool(llvm.get_host_cpu_features().get(name, False))


def own_are_ready() -> bool:
    """Whether kernels for this processor have been compiled instead of those of the wheel."""
    return _ready_file().is_file()


def note_ready() -> None:
    """Remember that the kernels for this processor have been compiled."""
    _ready_file().parent.mkdir(parents=True, exist_ok=True)
    _ready_file().touch()


def _ready_file() -> Path:
    """An empty file whose name says which kernels are meant, and on which processor."""
    names = [*sorted(folder.name for folder in SHIPPED.glob("*")), llvm.get_host_cpu_name()]
    stamp = hashlib.sha256("|".join(names).encode()).hexdigest()[:16]
    return cache_folder() / "kernels" / TOOLCHAIN / f"ready-{stamp}"
