"""What is left of a training: weights -> **network files** -> evaluator, match, package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
from torch import Tensor

from kibitz.network import card as cards
from kibitz.network import make
from kibitz.network.build import file_weights
from kibitz.network.card import NetworkCard, Provenance


class Training(NamedTuple):
    """What a card says about how its network was trained."""

    data: str
    command: str
    steps: int
    positions: int
    date: str


def trained(card: NetworkCard, name: str, training: Training, licence: str = "") -> NetworkCard:
    """Return the card with this training added to what was before; a new licence replaces it."""
    before = card.provenance
    provenance = Provenance(
        data="; ".join(dict.fromkeys(part for part in (before.data, training.data) if part)),
        commands=(*before.commands, training.command),
        steps=before.steps + training.steps,
        positions=before.positions + training.positions,
        date=training.date,
    )
    licence = licence or card.licence
    return msgspec.structs.replace(card, name=name, licence=licence, provenance=provenance)


def write_networks(
    folder: Path, weights: Mapping[str, Tensor], card: NetworkCard, parameters: int, export: bool
) -> list[Path]:
    """Write the float network and, to `export`, the form that plays: int8 if sparse, else ONNX."""
    path = folder / f"{card.name}.safetensors"
    cards.save(path, file_weights(weights), msgspec.structs.replace(card, parameters=parameters))
    if not export:
        return [path]
    if card.family == "sparse":
        playing = path.with_name(f"{card.name}-int8.safetensors")
        make.quantise_sparse(path, playing, "int8")
    else:
        playing = path.with_suffix(".onnx")
        make.export(path, playing)
    return [path, playing]
