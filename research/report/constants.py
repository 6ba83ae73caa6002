"""`python -m research.report.constants`: which filed test stands behind each number of alpha-beta.

A test is what `kibitz match A B --sprt ELO0 ELO1 --file research/results/tests/NAME.json` wrote. It
is about the numbers in which its two players differ; without one, a number is usual in the field.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cyclopts import App, Parameter

from kibitz.arena.match.elo import elo_text
from kibitz.cli.output import JsonFlag, columns, emit
from kibitz.core.errors import DamagedFileError
from kibitz.core.files import read_bytes
from kibitz.core.options import Option, options_of
from kibitz.search.alphabeta.constants import Constants
from research.command import carry_out

TESTS = Path(__file__).parents[1] / "results" / "tests"
MOST_NAMED = 3  # constants changed with another one, that a row names
HEADINGS = ("constant", "default", "against", "Elo of the default", "LLR", "games", "test")

app = App(name="report.constants", help="Tests behind constants.", result_action="return_value")


class Tested(NamedTuple):
    """A test of one value of a constant against another; Elo is that of the default.

    Where the default has become a third value since, it is that of the patch, `by` which it is.
    """

    patch: int | None  # None: what was the default then
    base: int | None
    beside: tuple[str, ...]  # other constants that were changed with it
    against: int | None  # the value that is not the default
    elo: str
    llr: float
    games: int
    accepted: str | None
    file: str
    by: int | None = None

    @property
    def cells(self) -> tuple[Any, ...]:
        """Cells of its row behind the constant's name and default."""
        many = len(self.beside) > MOST_NAMED
        beside = (f"{len(self.beside)} others",) if many else self.beside
        value = "what was usual" if self.against is None else str(self.against)
        value += "" if self.by is None else f" by {self.by}"
        against = " ".join((value, *(f"with {name}" for name in beside)))
        outcome = "undecided" if self.accepted is None else f"{self.accepted} accepted"
        return against, self.elo, f"{self.llr:.2f}, {outcome}", self.games, self.file


def tested(option: Option, folder: Path) -> Iterator[Tested]:
    """The tests of a constant that are on file."""
    for file in sorted(folder.glob("*.json")):
        result = _result(file)
        patch, base = (one.get("settings") or {} for one in result["players"])
        differ = [name for name in {**patch, **base} if patch.get(name) != base.get(name)]
        if option.name not in differ:
            continue
        (pair,), sprt = result["pairs"], result["sprt"]
        ends = pair["by_pairs"]
        tried, kept = (_value(one, option) for one in result["players"])
        # What no side says was the default then: today's, unless the other side has that.
        tried = option.default if tried is None and kept != option.default else tried
        kept = option.default if kept is None and tried != option.default else kept
        gone = option.default not in (tried, kept)
        adopted = tried == option.default or gone  # the patch has become the default
        sign, keys = (1, ("elo", "low", "high")) if adopted else (-1, ("elo", "high", "low"))
        elo, low, high = (None if ends[key] is None else sign * ends[key] for key in keys)
        yield Tested(
            patch=tried,
            base=kept,
            against=kept if adopted else tried,
            beside=tuple(sorted(name for name in differ if name != option.name)),
            elo=elo_text(elo, low, high, ends["interval"]),
            llr=sprt["llr"],
            games=result["games"],
            accepted=sprt["accepted"],
            file=file.stem,
            by=tried if gone else None,
        )


def _value(player: Mapping[str, Any], option: Option) -> int | None:
    """What a player had: as its command says, else as its settings do; None: what was usual."""
    said = dict(part.split("=", 1) for part in player["player"].split(",") if "=" in part)
    value = said.get(option.uci, (player.get("settings") or {}).get(option.name))
    return None if value is None else int(value)


def _result(file: Path) -> Mapping[str, Any]:
    result: dict[str, Any] = json.loads(read_bytes(file))
    if "sprt" not in result or len(result.get("players", ())) != 2:
        fix = "file it with kibitz match A B --sprt ELO0 ELO1 --file"
        raise DamagedFileError("no test of two players", value=str(file), fix=fix)
    return result


@app.default
def constants(
    *,
    folder: Annotated[Path, Parameter(help="Of filed tests.")] = TESTS,
    json: JsonFlag = False,
) -> int:
    """Print each constant with its default, and the test on file or 'none yet'."""
    found = {option: [*tested(option, folder)] for option in options_of(Constants)}
    rows = [
        (option.uci, option.default, *cells)
        for option, tests in found.items()
        for cells in [one.cells for one in tests] or [("none yet", "", "", "", "")]
    ]
    result = {
        option.uci: {"default": option.default, "tests": [one._asdict() for one in tests]}
        for option, tests in found.items()
    }
    emit({"constants": result}, as_json=json, table=columns(HEADINGS, rows))
    return 0


if __name__ == "__main__":
    sys.exit(carry_out(app))
