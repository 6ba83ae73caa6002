"""Kibitz plays chess, teaches itself to play, and says in plain English what is happening.

The names below are the public face of the package. They are loaded on first use, so that
``import kibitz`` costs milliseconds and brings in neither NumPy nor a compiler.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kibitz.comment.engine import Engine, annotate, check
    from kibitz.nets.load import load_evaluator as load_network
    from kibitz.position.board import Board
    from kibitz.search.limits import Limits

__version__ = "0.2.0"

# ONNX Runtime tells its maker how it is used, and looks here only when it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

__all__ = ["Board", "Engine", "Limits", "__version__", "annotate", "check", "load_network"]

_HOMES = {
    "Board": ("kibitz.position.board", "Board"),
    "Engine": ("kibitz.comment.engine", "Engine"),
    "Limits": ("kibitz.search.limits", "Limits"),
    "annotate": ("kibitz.comment.engine", "annotate"),
    "check": ("kibitz.comment.engine", "check"),
    "load_network": ("kibitz.nets.load", "load_evaluator"),
}


def __getattr__(name: str) -> Any:
    """Load a public name from the room where it lives, once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kibitz' has no attribute {name!r}")
    module, its_name = _HOMES[name]
    value = getattr(import_module(module), its_name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
