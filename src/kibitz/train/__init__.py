"""How networks learn: games -> batches -> losses -> gradients -> weights -> network files.

Importing the room loads no torch, its modules do (but `config`, `metrics` and `curve`). It says how
memory and threads are to behave in a process that trains.

    loop        the training loop; state: what it begins with and what a checkpoint holds
    step        one step, on one process or several, and how weights move; loss: what it makes small
    validate    figures of held-out games; checkpoint: files to go on from, averages of weights
    metrics     metrics.jsonl and reports of strength; curve: tables and figures of them
    config      all settings; kernels: the compiled loops of losses and figures
    words       the decoder of comments, trained on texts
"""

from __future__ import annotations

import ctypes
import os
import sys

# Numbers of glibc's mallopt.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -2, -3, -4, -8
LARGEST = 2**31 - 1
PAD = 64 << 20


def wait_asleep() -> None:
    """Let torch's threads sleep while they wait for one another; call before torch is imported.

    By default they spin, which takes the core from our own compiled threads and from the loader's:
    0.51 s a step of 16 384 positions on a busy machine, against 0.29.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def keep_memory() -> bool:
    """Let freed memory stay with this process; False where the C library cannot do so.

    Every step allocates the same hundreds of megabytes. By default the C library of Linux returns
    each large block to the system and gets it again, cleared page by page: up to half of a step's
    time.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # musl has none
        return False
    options = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, LARGEST), (_TOP_PAD, PAD), (_ARENA_MAX, 1))
    accepted = [mallopt(name, value) for name, value in options]
    return all(accepted)
