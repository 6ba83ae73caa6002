"""Finding a network without being told: folders -> **newest network file** -> load.py."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kibitz.errors import KibitzError
from kibitz.files import data_folder
from kibitz.log import Level, say
from kibitz.network.card import read_card

AUTODISCOVER = "<autodiscover>"
FALLBACK = "material"  # the built-in evaluator that is better than none
SUFFIXES = (".safetensors", ".onnx")


def usual_folders() -> list[Path]:
    """Where networks lie: here, in ./networks, in the data folder and in its folder networks."""
    data = data_folder()
    return [Path(), Path("networks"), data, data / "networks"]


def discover(folders: Iterable[Path] | None = None) -> str:
    """Path of the newest network in the folders, or the name of the built-in evaluator."""
    usual = usual_folders() if folders is None else folders
    files = {
        file.resolve(): file
        for folder in usual
        if folder.is_dir()
        for file in sorted(folder.iterdir())
        if file.suffix in SUFFIXES and file.is_file()
    }
    for file in sorted(files.values(), key=_age):
        if _is_network(file):
            return str(file)
    return FALLBACK


def _age(file: Path) -> tuple[float, bool]:
    """Newest first; a network goes before the export that was made from it in the same moment."""
    return -file.stat().st_mtime, file.suffix != SUFFIXES[0]


def _is_network(file: Path) -> bool:
    """Whether a file is one of ours; other programs use the same suffixes."""
    try:
        card = read_card(file)
        if file.suffix == SUFFIXES[0] and card.family != "sparse":
            return file.with_suffix(".onnx").is_file()  # what serves it
    except KibitzError as error:
        say(f"not taken for a network: {error}", Level.VERBOSE)
        return False
    return True
