"""Memory that stays with the process, measured by how often pages are fetched."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import numpy as np
if sys.argv[1] == "keep":
    from kibitz.train import keep_memory
    assert keep_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    np.ones(48 << 20, dtype=np.uint8)
before = faults()
for _ in range(20):
    np.ones(48 << 20, dtype=np.uint8)
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_large_blocks_are_not_fetched_again_and_again() -> None:
    counts = [
        int(
            subprocess.run(
                [sys.executable, "-c", SCRIPT, word], check=True, capture_output=True, text=True
            ).stdout
        )
        for word in ("keep", "leave")
    ]
    assert counts[0] < 100
    assert counts[0] < counts[1]
