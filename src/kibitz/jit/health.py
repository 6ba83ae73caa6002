"""What the compiler sees of this machine, whether it works, and what its disk cache holds.

`kibitz doctor` calls these functions in processes of their own, so that a broken compiler is a
finding and not the end of the command.
"""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

# What the compiled code of searches and networks gains from, widest last.
FEATURES = {
    "bmi2": "BMI2",
    "avx2": "AVX2",
    "avxvnni": "AVX-VNNI",
    "avx512bw": "AVX-512",
    "avx512vnni": "AVX-512 VNNI",
    "neon": "NEON",
    "dotprod": "dot product",
    "i8mm": "I8MM",
}
_HAS_KERNELS = re.compile(r"^@(called_|inlined_|sum_)?kernel", re.MULTILINE)


def processor() -> dict[str, Any]:
    """The processor as LLVM names it, and which of the features above it has."""
    features = llvm.get_host_cpu_features()
    has = [name for key, name in FEATURES.items() if features.get(key, False)]
    return {"name": llvm.get_host_cpu_name(), "features": has}


def compiler() -> dict[str, Any]:
    """Compile a small function, without the cache: whether it computes, and how long it took."""
    import numba

    from kibitz.jit.compile import COMPILED, OPTIONS

    compiled: Any = numba.njit
    begun = time.perf_counter()
    answer = compiled(**OPTIONS)(_sum_of_squares)(10)
    return {"works": answer == 285, "seconds": time.perf_counter() - begun, "enabled": COMPILED}


def _sum_of_squares(count: int) -> int:
    total = 0
    for number in range(count):
        total += number * number
    return total


def kernel_cache() -> dict[str, Any]:
    """The disk cache: its bytes, and the modules that are ready, stale, damaged or not compiled."""
    from kibitz.core.files import cache_folder
    from kibitz.jit.cache import kernel_folder
    from kibitz.jit.target import PACKAGE, SHIPPED, TOOLCHAIN, for_wheels

    root = cache_folder() / "kernels"
    sources = [
        path for path in PACKAGE.rglob("*.py") if _HAS_KERNELS.search(path.read_text("utf-8"))
    ]
    current = {kernel_folder(path): _name(path, PACKAGE) for path in sources}
    folders = [entry for entry in root.glob("*/*") if entry.is_dir()]
    wheels = {entry.name for entry in SHIPPED.glob("*")} if for_wheels() else set()
    return {
        "folder": str(root),
        "bytes": sum(entry.stat().st_size for entry in root.rglob("*") if entry.is_file()),
        "ready": sorted(
            name
            for entry, name in current.items()
            if entry.name in wheels or any(entry.glob("*.nbc"))
        ),
        "modules": len(sources),
        "stale_folders": sum(entry not in current for entry in folders),
        "damaged": sorted(str(file) for entry in folders for file in _unsound(entry)),
        "toolchain": TOOLCHAIN,
    }


def _name(path: Path, package: Path) -> str:
    return ".".join(path.relative_to(package).with_suffix("").parts)


def _unsound(folder: Path) -> list[Path]:
    """The files in a folder that are not what was once written."""
    from kibitz.jit.cache import CHECKSUMS

    noted = folder / CHECKSUMS
    noted_sums = set(noted.read_text("utf-8", "replace").splitlines()) if noted.is_file() else set()
    files = [file for file in folder.glob("*") if file.suffix in (".nbi", ".nbc")]
    return [
        file
        for file in files
        if f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" not in noted_sums
    ]
