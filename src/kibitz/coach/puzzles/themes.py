"""What is in a solution, in the words of Lichess's tags, by the motifs of the commentary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import chess

from kibitz.comment.claims import tactical as claims
from kibitz.comment.claims.claim import Claim
from kibitz.comment.claims.motifs import motifs
from kibitz.comment.facts import Scene, phase, played, taken_by
from kibitz.comment.prover import Prover

LENGTHS = ("oneMove", "short", "long", "veryLong")  # by the solver's moves
LONGEST_MATE = 5  # that has a tag
CRUSHING, ADVANTAGE = 600, 200  # centipawns
MATES = {"back rank": "backRankMate", "smothered": "smotheredMate"}
SIMPLE: dict[type[Claim], str] = {
    claims.UsesPin: "pin",
    claims.Discovers: "discoveredAttack",
    claims.DoubleCheck: "doubleCheck",
    claims.Promotes: "promotion",
    claims.Skewers: "skewer",
    claims.Deflects: "deflection",
    claims.Attracts: "attraction",
    claims.RemovesGuard: "capturingDefender",
    claims.Interferes: "interference",
    claims.Intermezzo: "intermezzo",
    claims.XRay: "xRayAttack",
    claims.Clears: "clearance",
    claims.Traps: "trappedPiece",
    claims.TakesLoose: "hangingPiece",
    claims.Sacrifices: "sacrifice",
    claims.EnPassant: "enPassant",
}
MOTIFS = ("fork", "mate", *MATES.values(), *SIMPLE.values())


def _tags(claim: Claim, final: bool) -> Iterator[str]:
    """The tags that a claim stands for; a fork needs a move that carries it out."""
    match claim:
        case claims.Fork() if not final:
            yield "fork"
        case claims.Mates(pattern):
            yield MATES.get(pattern, "mate")
            yield "mate"
        case _ if type(claim) in SIMPLE:
            yield SIMPLE[type(claim)]


def motifs_of(
    before: chess.Board, last: chess.Move, line: Sequence[str], prover: Prover
) -> set[str]:
    """The tags of what the solver's moves do; `last` is the opponent's move that comes first."""
    took = taken_by(before, last)
    moves = [chess.Move.from_uci(text) for text in line]
    board, kind = played(before, last), took.kind if took else None
    scene: Scene | None = Scene(board, moves[0], tuple(moves[1:]), prover, last, kind)
    found: set[str] = set()
    first = True
    while scene is not None:
        for claim in motifs(scene):
            if first or not isinstance(claim, claims.TakesLoose):
                found |= set(_tags(claim, not scene.follow))
        scene, first = scene.later(), False
    return found


def standing_of(board: chess.Board, solver_moves: int, score: str) -> set[str]:
    """The tags of length, phase and size of the win; `score` is "cp 512" or "mate 3"."""
    kind, amount = score.split()
    found = {LENGTHS[min(solver_moves, len(LENGTHS)) - 1], phase(board)}
    if kind == "mate":
        return found | {"mate", f"mateIn{min(int(amount), LONGEST_MATE)}"}
    if int(amount) >= CRUSHING:
        return found | {"crushing"}
    return found | ({"advantage"} if int(amount) >= ADVANTAGE else set())
