"""Puts compiled kernels into the wheel, where KIBITZ_WHEEL_KERNELS=1 asks for them.

They are for x86-64 processors since 2015 or so, and for the Python that builds; Kibitz's own
dependencies must be installed there (`python -m build --wheel --no-isolation`). Every other wheel
is for all machines, and the first start compiles.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface[Any]):
    """Runs `kibitz compile --wheel` from the sources that the wheel is built of."""

    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say for which Python and which machines the wheel is."""
        if os.environ.get("KIBITZ_WHEEL_KERNELS") != "1" or version == "editable":
            return
        machine = platform.machine().lower()
        if machine not in ("x86_64", "amd64"):
            self.app.abort(f"kernels for wheels are for x86-64, not {machine}")
        self._folder = tempfile.TemporaryDirectory()
        done = subprocess.run(
            [sys.executable, "-m", "kibitz", "compile", "--wheel", self._folder.name],
            env={**os.environ, "PYTHONPATH": str(Path(self.root) / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            self.app.abort(f"not all kernels could be made for this wheel: {done.stderr}")
        # Kernels call nothing but the C library's mathematics, by name.
        system = sysconfig.get_platform().replace("linux", "manylinux_2_17")
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        build_data["tag"] = f"{python}-{python}-{system.replace('-', '_').replace('.', '_')}"
        build_data["pure_python"] = False
        build_data["force_include"][self._folder.name] = "kibitz/kernels"

    def finalize(self, *_: Any) -> None:
        """Delete what the wheel has by now."""
        if self._folder is not None:
            self._folder.cleanup()
