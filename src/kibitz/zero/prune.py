"""What a run needs no more, by generation: games that left the window, leavings of trainings."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kibitz.zero.folder import Folder
from kibitz.zero.stages import window_begins


class Outdated(NamedTuple):
    """Files of a generation that nothing reads any more."""

    generation: int
    what: str
    paths: tuple[Path, ...]
    size: int  # bytes

    @property
    def files(self) -> int:
        """How many there are."""
        return len(self.paths)

    def delete(self) -> None:
        """Delete them."""
        for path in self.paths:
            path.unlink()


def outdated(folder: Folder) -> list[Outdated]:
    """What can be deleted: networks, records and the games of the window stay.

    The generation before the window stays, too, for groups that come late move its beginning.
    """
    newest = folder.newest
    first, _ = window_begins(folder, newest + 1)
    found = []
    for generation in range(newest + 1):
        kinds = {
            "claims": map(folder.claim_file, folder.groups(generation)),
            "games": folder.games(generation).glob("*.shard"),
            "damaged games": (folder.root / "damaged" / f"{generation:04}").glob("*.shard"),
            "checkpoints": folder.training(generation).rglob("*.safetensors"),
        }
        kept = {"claims": newest, "games": first - 1, "checkpoints": newest + 1}
        for what, paths in kinds.items():
            files = tuple(sorted(path for path in paths if path.exists()))
            if files and generation < kept.get(what, newest + 1):
                size = sum(path.stat().st_size for path in files)
                found.append(Outdated(generation, what, files, size))
    return found
