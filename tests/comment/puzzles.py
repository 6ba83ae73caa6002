"""How the motifs that are found in tagged puzzles agree with the tags; run by hand.

    python -m tests.comment.puzzles build|held PUZZLES.csv ...

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

from kibitz.coach.puzzles.solve import MOTIFS, motifs_of


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


def found_in(row: dict[str, str]) -> set[str]:
    """The tags that the motifs of all the solver's moves stand for."""
    last, *moves = row["Moves"].split()
    return motifs_of(chess.Board(row["FEN"]), chess.Move.from_uci(last), moves)


def main() -> None:
    """Print recall and wrong namings by theme."""
    half, paths = sys.argv[1], sys.argv[2:]
    show = sys.argv.pop() if half == "build" and sys.argv[-1] in MOTIFS else ""
    paths = [path for path in paths if path != show]
    tagged, hit, wrong = Counter[str](), Counter[str](), Counter[str]()
    total = 0
    for row in read(paths, half):
        total += 1
        tags, found = set(row["Themes"].split()), found_in(row)
        for theme in MOTIFS:
            tagged[theme] += theme in tags
            hit[theme] += theme in tags and theme in found
            wrong[theme] += theme in found and theme not in tags
        if show and (show in tags) != (show in found):
            said = "missed" if show in tags else "WRONG"
            sys.stdout.write(f"{said} {row['FEN']} | {row['Moves']} | {row['Themes']}\n")
    sys.stdout.write(f"{total} puzzles\n{'theme':18} tagged recall  wrong  of rest\n")
    for theme in MOTIFS:
        recall = hit[theme] / tagged[theme] if tagged[theme] else 1.0
        rest = wrong[theme] / max(1, total - tagged[theme])
        sys.stdout.write(
            f"{theme:18} {tagged[theme]:6} {recall:6.1%} {wrong[theme]:6} {rest:7.2%}\n"
        )


if __name__ == "__main__":
    main()
