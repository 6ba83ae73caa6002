"""The card: what a network file says of its network (family, encoding, moves, heads, origin)."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Any, Literal

import msgspec
import numpy as np

from kibitz.core.errors import DamagedFileError
from kibitz.core.files import Location

FORMAT_VERSION = 1

PLANES = {"history109": 109, "colour21": 21, "colour22": 22, "oriented22": 22, "onehot15": 15}
LEELA, LEELA_PLANES, LEELA_POLICY = "leela", "leela112", "leela1858"  # family, encoding, order
LEELA_SUFFIXES = (".pb.gz", ".pb")
FEATURES = {"sparse768": 768, "threat3072": 3072, "tactic3072": 3072}
POLICY_SIZES = {"chesscoach": 4672, "dlchess": 4672, "batchfirst": 4672, "table1858": 1858}
POLICY_SIZES[LEELA_POLICY] = 1858

ValueKind = Literal["tanh", "wdl", "rank", "none"]
Precision = Literal["float32", "int16", "int8"]
Weights = dict[str, np.ndarray[Any, np.dtype[Any]]]


class ForeignFileError(DamagedFileError):
    """A file without the marks of a Kibitz network; other programs use the same suffixes."""


class Heads(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which outputs a network has; see `models/convolutional` for their shapes and units."""

    value: ValueKind = "tanh"
    policy: bool = True
    mcts_value: bool = False
    moves_left: bool = False
    soft_policy: bool = False


class Provenance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the weights come from: enough to train the network again."""

    data: str = ""
    commands: tuple[str, ...] = ()
    steps: int = 0
    positions: int = 0
    date: str = ""  # ISO 8601


class NetworkCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a reader must know to use the weights beside it."""

    name: str
    family: str
    size: str  # the size string; with encoding and heads it fixes the architecture
    encoding: str
    policy_order: str
    heads: Heads
    precision: Precision = "float32"
    parameters: int = 0  # trainable ones, as counted before quantisation
    licence: str = ""
    provenance: Provenance = Provenance()
    sha256: str = ""  # of the weights, 64 hex digits; filled in by `save`
    format_version: int = FORMAT_VERSION


def is_leela(location: Location) -> bool:
    """Whether a file is in Leela's format, by its name."""
    return os.fspath(location).lower().endswith(LEELA_SUFFIXES)


def stem_of(location: Location) -> str:
    """The name of a network file without its folder and its ending.

    >>> stem_of("nets/maia-1500.pb.gz"), stem_of("kibitz-64x256.safetensors")
    ('maia-1500', 'kibitz-64x256')
    """
    name = PurePath(os.fspath(location)).name
    endings = (*LEELA_SUFFIXES, ".safetensors", ".onnx")
    return next((name[: -len(end)] for end in endings if name.lower().endswith(end)), name)
