"""Where a training writes its figures: loop -> **metrics.jsonl, TensorBoard** -> curves."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kibitz.files import write_bytes
from kibitz.log import Metrics

# Rank correlations of validations, by group of positions. All are in metrics.jsonl and in results;
# lines, tables and figures show one.
CORRELATIONS = ("kendall_a", "kendall_b", "weighted_kendall", "spearman")
GROUPS = ("", "_mates", "_others")
DETAILS = frozenset(f"{name}{group}" for name in CORRELATIONS for group in GROUPS) - {"spearman"}


@contextmanager
def recording(
    folder: Path, step: int, main: bool, tensorboard: bool
) -> Iterator[Callable[..., None]]:
    """Yield what writes figures of a step to metrics.jsonl and, if it is there, TensorBoard."""
    if not main:
        yield lambda *_, **__: None
        return
    path = folder / "metrics.jsonl"
    _forget_after(path, step)
    board = _tensorboard(folder) if tensorboard else None
    with Metrics(path) as metrics:

        def write(at: int, **values: Any) -> None:
            metrics.write(at, **values)
            if board is not None:
                for name, value in values.items():
                    board.add_scalar(name, value, at)

        yield write
    if board is not None:
        board.close()


def _forget_after(path: Path, step: int) -> None:
    """Remove the lines of steps that will be made again."""
    if not path.exists():
        return
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if line.endswith(b"\n") and json.loads(line)["step"] <= step]
    if len(kept) < len(lines):
        write_bytes(path, b"".join(kept))


def _tensorboard(folder: Path) -> Any:
    """Return TensorBoard's writer, or None where it is not installed."""
    try:
        return importlib.import_module("torch.utils.tensorboard").SummaryWriter(str(folder))
    except ImportError:
        return None
