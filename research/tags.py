"""Tags of puzzles, and the claims in whose words their ideas are.

table of puzzles -> games of a few moves -> annotate -> **tags said** -> `commentary puzzles`
"""

from __future__ import annotations

import csv
import hashlib
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import chess
import chess.pgn

from kibitz.comment.claims import faults as fault
from kibitz.comment.claims import positional as changed
from kibitz.comment.claims import tactical
from kibitz.comment.claims.claim import Claim, Step
from kibitz.comment.claims.faults import Better
from kibitz.comment.claims.lines.outcomes import MatesLater
from kibitz.comment.claims.merits import MateIn
from kibitz.comment.claims.sacrifices import GivesUp
from kibitz.comment.facts import Unit
from kibitz.comment.select.rank import kind_of
from kibitz.comment.select.selection import Selection, said_of_reply
from kibitz.comment.words.speaker import Comment
from kibitz.core.errors import InputError
from kibitz.position.pgn import Game

# The claims whose words have the idea of a tag. Only of the first ones does it say something where
# a puzzle has not the tag: a quiet move that is good need not be what the puzzle is about.
IDEAS_OF_TAGS = {
    "fork": "Fork",
    "pin": "Pins UsesPin",
    "skewer": "Skewers",
    "discoveredAttack": "Discovers DoubleCheck windmill",
    "doubleCheck": "DoubleCheck Mates.double",
    "backRankMate": "Mates.back",
    "smotheredMate": "Mates.smothered",
    "trappedPiece": "Traps dominates",
    "deflection": "Deflects",
    "attraction": "Attracts",
    "interference": "Interferes",
    "clearance": "Clears",
    "intermezzo": "Intermezzo",
    "xRayAttack": "XRay",
    "capturingDefender": "RemovesGuard",
    "zugzwang": "zugzwang mutual_zugzwang",
    "underPromotion": "underpromotes",
    **{f"mateIn{moves}": f"mate{moves}" for moves in range(1, 6)},
}
LOOSE_IDEAS = {
    "sacrifice": "GivesUp stalemate_trick breakthrough",
    "hangingPiece": "TakesLoose EnPrise Abandons",
    "promotion": "Runs Promotes underpromotes breakthrough outruns",
    "advancedPawn": "PassedPawnAdvances NearsGoal Runs outruns connected_passed Promotes",
    "exposedKing": "OpensUp OpensKing GivesUp.king opens_centre closes_in bare_king",
    "defensiveMove": "Parries OnlyGood OnlyMove guards steps_away unpins Draws Fails Poisons",
    "quietMove": "quiet_killer quiet_only Fails",
}
TAGS = {name: frozenset(kinds.split()) for name, kinds in (IDEAS_OF_TAGS | LOOSE_IDEAS).items()}


class Tagged(NamedTuple):
    """A puzzle: before its first move the other side has erred with that move."""

    fen: str
    moves: tuple[str, ...]
    tags: frozenset[str]

    def game(self) -> Game:
        """The puzzle as a game from its position."""
        tree = chess.pgn.Game()
        tree.setup(self.fen)
        tree.add_line(map(chess.Move.from_uci, self.moves))
        return Game(1, tree)


COLUMNS = ("PuzzleId", "FEN", "Moves", "Themes")


def tagged_in(paths: Sequence[Path], half: str, seed: int, most: int) -> list[Tagged]:
    """Puzzles drawn from those of some tables that have a tag with an idea, each once.

    `half` is "held" or "build", as in tests/comment/puzzles.py; rules are made on the latter.
    """
    puzzles: dict[str, Tagged] = {}
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
                fix = f"a table of Lichess's puzzles has {', '.join(COLUMNS)}"
                raise InputError(f"{path}: no column {missing[0]}", fix=fix)
            for row in rows:
                name, tags = row.get("PuzzleId") or "", frozenset((row["Themes"] or "").split())
                odd = hashlib.sha256(name.encode()).digest()[0] & 1
                if name and row["Moves"] and tags & {*TAGS} and bool(odd) == (half == "held"):
                    puzzles[name] = Tagged(row["FEN"], tuple(row["Moves"].split()), tags)
    if not puzzles:
        names = ", ".join(map(str, paths)) or "no table"
        raise InputError(
            "no puzzle of this half has a tag with an idea",
            value=names,
            fix="name tables of Lichess's puzzles",
        )
    drawn = random.Random(seed).sample(sorted(puzzles), min(most, len(puzzles)))
    return [puzzles[name] for name in drawn]


def tags_said(comments: Sequence[Comment]) -> set[str]:
    """The tags whose ideas are in the words on a puzzle's moves, the other side's blunder first."""
    kinds: set[str] = set()
    for ply, comment in enumerate(comments):
        causes = [claim for claim in comment.claims if isinstance(claim, fault.CAUSES)]
        if ply % 2:
            skipped = (Better, *fault.CAUSES)
            said = [claim for claim in comment.claims if not isinstance(claim, skipped)]
        else:
            said = [*causes, *said_of_reply(Selection(*comment[1:]))]
        kinds = kinds.union(*(_kinds(claim, ply // 2) for claim in said))
    return {tag for tag, names in TAGS.items() if names & kinds}


def is_near_goal(pawn: Unit) -> bool:
    """Whether a pawn stands on its sixth or seventh rank."""
    return pawn.square >> 3 >= 5 if pawn.white else pawn.square >> 3 <= 2


def _kinds(claim: Claim, made: int) -> set[str]:
    """What a claim is called in the table; a mate by its length from the puzzle's first move."""
    kinds = {kind_of(claim)}
    named = getattr(claim, "reply", None)
    if isinstance(named, Step) and named.move.promotion:
        kinds.add("Promotes")
    match claim:
        case tactical.Mates(pattern):
            kinds |= {f"Mates.{pattern.split()[0]}" if pattern else "Mates", f"mate{made + 1}"}
        case MateIn(moves) | MatesLater(moves) | GivesUp(aim="mate", moves=moves):
            kinds.add(f"mate{min(5, made + moves + 1)}")
        case fault.AllowsMate(moves):
            kinds.add(f"mate{min(5, made + moves)}")
        case GivesUp(aim="king"):
            kinds.add("GivesUp.king")
        case changed.PassedPawn(pawn) if is_near_goal(pawn):
            kinds.add("NearsGoal")
    return kinds
