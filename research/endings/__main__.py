"""`python -m research.endings`: what alpha-beta knows of mating with bishop and knight.

Retrograde analysis finds the plies to mate of all positions with the bishop on dark squares. A
hidden layer over the four squares is fitted to those where the side with the pieces moves, as whole
numbers, so that every machine plays the same. `kibitz technique KBNK` plays the ending out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import App, Parameter

from kibitz.cli.output import JsonFlag, at_least, emit
from kibitz.core.files import atomic_write
from kibitz.core.log import progress, say
from kibitz.search.alphabeta.constants import ENDING_FILE
from research.command import carry_out
from research.endings.fit import fit
from research.endings.retrograde import LONGEST, UNKNOWN, solve

app = App(
    name="endings",
    help="Solve bishop and knight against a king, and fit what alpha-beta knows of it.",
    result_action="return_value",
)


@app.default
def endings(
    *,
    output: Annotated[Path, Parameter(help="The table that alpha-beta reads.")] = ENDING_FILE,
    epochs: Annotated[int, Parameter(help="Times over all positions.")] = 40,
    seed: Annotated[int, Parameter(help="Of weights and order.")] = 0,
    json: JsonFlag = False,
) -> int:
    """Solve and fit, in some minutes."""
    at_least(1, epochs=epochs)
    with progress("plies to mate", total=LONGEST) as bar:
        won = solve(on_ply=bar.advance)
    known = won != UNKNOWN
    say(f"{int(known.sum()):,} positions are won, the longest in {int(won[known].max())} plies")
    table, error = fit(won, epochs, seed)
    with atomic_write(output) as file:
        np.save(file, table)
    facts = {
        "won": int(known.sum()),
        "longest": int(won[known].max()),
        "error_in_plies": round(error, 2),
        "output": str(output),
    }
    emit(facts, as_json=json)
    return 0


if __name__ == "__main__":
    sys.exit(carry_out(app))
