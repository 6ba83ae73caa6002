"""The later move of a line by which a move wins, as the move itself does not show how."""

from __future__ import annotations

from dataclasses import dataclass

from kibitz.comment.claims.claim import Claim
from kibitz.comment.facts import Scene


@dataclass(frozen=True)
class WinsBy(Claim):
    """A later move of the line has the motif that wins."""

    why: tuple[Claim, ...]
    line: str  # from the answer to the move that does all this

    def proved(self, scene: Scene) -> bool:
        """That move of the line does all that is claimed."""
        later = scene.ahead(self.plies)
        shown = bool(self.line) and self.line == scene.told(self.plies + 1)
        return shown and later is not None and all(claim.proved(later) for claim in self.why)

    @property
    def plies(self) -> int:
        """How many plies after the move that one comes."""
        return len(self.line.split())
