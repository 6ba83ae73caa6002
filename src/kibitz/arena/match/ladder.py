"""Opponents on a ladder: programs of known strength, levels of Stockfish, players of this package.

Ratings of programs are those of public lists, each with its source; they were found at other time
controls, on other machines, and are as good as that.
"""

from __future__ import annotations

import math
import shutil
from typing import NamedTuple

from kibitz.arena.match.spec import Spec, parse_player
from kibitz.core.errors import InputError

PROGRAM_FOLDERS = ("/usr/games", "/usr/local/bin")  # not on every path
LARGEST_RATING = 5000  # on either side of 0: what is beyond was mistyped
LEVELS, QUICK_LEVELS = (1350, 1500, 1700, 1900, 2200, 2500), (1350, 1600, 1900)  # of UCI_Elo


class Listed(NamedTuple):
    """A program on the ladder, weakest first."""

    command: str  # the player, without the folder of the program
    rating: int | None = None
    source: str = ""  # of the rating: version, list, year

    @property
    def name(self) -> str:
        """The program's."""
        return self.command.partition(":")[2].replace(",", " ").split()[0]


LISTED = (
    Listed("xboard:fairymax"),
    Listed("xboard:hoichess"),
    Listed("xboard:sjeng"),
    Listed("xboard:phalanx", 2521, "Phalanx XXIV (Debian has XXV), CCRL 40/15, August 2026"),
    Listed("uci:gnuchess --uci,OwnBook=false", 2661, "GNU Chess 6.2.5, CCRL 40/2, by 2021"),
    Listed(
        "uci:glaurung,Threads=1,OwnBook=false",
        2793,
        "Glaurung 2.2 64-bit, CCRL 40/15, August 2026, 1396 games",
    ),
    Listed("uci:toga2,OwnBook=false"),
    Listed("uci:ethereal-chess"),
)


class Opponent(NamedTuple):
    """A player on the ladder; only games against those with a rating count for ours."""

    spec: Spec
    rating: float | None
    source: str = ""  # of the rating


def parse_opponent(text: str) -> Opponent:
    """Read a player with `rating=R`; without it, UCI_Elo counts if UCI_LimitStrength is on."""
    parts = text.split(",")
    given = [part for part in parts if part.startswith("rating=")]
    spec = parse_player(",".join(part for part in parts if part not in given))
    options = {name.casefold(): value for name, value in spec.options.items()}
    limited = options.get("uci_limitstrength", "").casefold() == "true"
    if given:
        known = given[-1].removeprefix("rating=").strip()
    elif spec.kind == "uci" and limited and "uci_elo" in options:
        known = options["uci_elo"]
    else:
        return Opponent(spec, None)
    try:
        rating = float(known)
    except ValueError:
        rating = math.nan
    if not abs(rating) <= LARGEST_RATING:  # nor is nan
        fix = f"give a number from -{LARGEST_RATING} to {LARGEST_RATING}"
        raise InputError(f"opponent {text}: rating", value=known, fix=fix)
    return Opponent(spec, rating)


def find_program(name: str) -> str | None:
    """Path of an installed program."""
    places = (name, *(f"{folder}/{name}" for folder in PROGRAM_FOLDERS))
    return next((found for place in places if (found := shutil.which(place))), None)


def usual_opponents(stockfish: str | None, quick: bool) -> list[str]:
    """Players of this package and, where Stockfish is installed, some levels of it."""
    found = ["random", "greedy"] if quick else ["random", "greedy", "material"]
    if stockfish is not None:
        levels = QUICK_LEVELS if quick else LEVELS
        found += [
            f"uci:{stockfish},UCI_LimitStrength=true,UCI_Elo={elo},Hash=16,name=stockfish-{elo}"
            for elo in levels
        ]
    return found


def listed_opponents() -> list[Opponent]:
    """The programs of the ladder that are installed."""
    found = []
    for one in LISTED:
        path = find_program(one.name)
        if path is not None:
            spec = parse_player(f"{one.command.replace(one.name, path, 1)},name={one.name}")
            found.append(Opponent(spec, one.rating, one.source))
    return found
