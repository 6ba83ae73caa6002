"""How the motifs that are found in tagged puzzles agree with the tags; run by hand.

    python -m tests.commentary.puzzles build|held PUZZLES.csv ...

The half of the puzzles whose hash is odd is held back: rules were made on the other one.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import chess

from kibitz.commentary import tactical as claims
from kibitz.commentary.claims import Claim
from kibitz.commentary.facts import Scene, taken_by
from kibitz.commentary.motifs import motifs
from kibitz.commentary.prover import Prover


def read(paths: list[str], half: str) -> Iterator[dict[str, str]]:
    """The puzzles of one half, each once."""
    seen: set[str] = set()
    for path in paths:
        with Path(path).open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                name = row.get("PuzzleId") or ""
                if not name or name in seen or not row.get("Moves"):
                    continue
                seen.add(name)
                if not {"oneMove", "short", "long", "veryLong"} & set(row["Themes"].split()):
                    continue  # a few have lost most of their tags
                odd = hashlib.sha256(name.encode()).digest()[0] & 1
                if odd == (half == "held"):
                    yield row


def themes_of(claim: Claim, final: bool) -> Iterator[str]:
    """The tags that a claim stands for."""
    match claim:
        case claims.Fork() if not final:
            yield "fork"
        case claims.UsesPin():
            yield "pin"
        case claims.Discovers():
            yield "discoveredAttack"
        case claims.DoubleCheck():
            yield "doubleCheck"
        case claims.Mates(pattern):
            yield {"back rank": "backRankMate", "smothered": "smotheredMate"}.get(pattern, "mate")
            yield "mate"
        case claims.Promotes():
            yield "promotion"
        case _:
            name = SIMPLE.get(type(claim))
            if name:
                yield name


SIMPLE: dict[type[Claim], str] = {
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
THEMES = [
    *("fork", "pin", "discoveredAttack", "doubleCheck", "backRankMate", "smotheredMate", "mate"),
    *("promotion", *SIMPLE.values()),
]


def found_in(row: dict[str, str], prover: Prover) -> set[str]:
    """The tags that the motifs of all the solver's moves stand for."""
    board = chess.Board(row["FEN"])
    moves = [chess.Move.from_uci(text) for text in row["Moves"].split()]
    took = taken_by(board, moves[0])
    before = board.copy(stack=False)
    before.push(moves[0])
    scene: Scene | None = Scene(
        before, moves[1], tuple(moves[2:]), prover, moves[0], took.kind if took else None
    )
    first = True
    found: set[str] = set()
    while scene is not None:
        for claim in motifs(scene):
            if isinstance(claim, claims.TakesLoose) and not first:
                continue
            found |= set(themes_of(claim, not scene.follow))
        scene, first = scene.later(), False
    return found


def main() -> None:
    """Print recall and wrong namings by theme."""
    half, paths = sys.argv[1], sys.argv[2:]
    show = sys.argv.pop() if half == "build" and sys.argv[-1] in THEMES else ""
    paths = [path for path in paths if path != show]
    prover = Prover()
    tagged, hit, wrong = Counter[str](), Counter[str](), Counter[str]()
    total = 0
    for row in read(paths, half):
        total += 1
        tags, found = set(row["Themes"].split()), found_in(row, prover)
        for theme in THEMES:
            tagged[theme] += theme in tags
            hit[theme] += theme in tags and theme in found
            wrong[theme] += theme in found and theme not in tags
        if show and (show in tags) != (show in found):
            said = "missed" if show in tags else "WRONG"
            sys.stdout.write(f"{said} {row['FEN']} | {row['Moves']} | {row['Themes']}\n")
    sys.stdout.write(f"{total} puzzles\n{'theme':18} tagged recall  wrong  of rest\n")
    for theme in THEMES:
        recall = hit[theme] / tagged[theme] if tagged[theme] else 1.0
        rest = wrong[theme] / max(1, total - tagged[theme])
        sys.stdout.write(
            f"{theme:18} {tagged[theme]:6} {recall:6.1%} {wrong[theme]:6} {rest:7.2%}\n"
        )


if __name__ == "__main__":
    main()
