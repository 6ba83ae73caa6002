"""`kibitz technique`: are won endings won within the 50-move rule.

match room -> **command line**
"""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.commands.output import JsonFlag, columns, emit
from kibitz.errors import InputError
from kibitz.log import graceful_stop, progress
from kibitz.match.control import Control
from kibitz.match.play import Aborted
from kibitz.match.runner import try_out
from kibitz.match.spec import parse_player
from kibitz.match.technique import ENDINGS, Technique, run_technique

EXIT_STOPPED = 130


def technique(
    *endings: Annotated[str, Parameter(help="KQK, KRK, KBNK; by default all.")],
    player: Annotated[
        str,
        Parameter(
            name=["--player", "--network"], help="Has the pieces: a network, or as in kibitz match."
        ),
    ] = "kibitz",
    defender: Annotated[str, Parameter(help="Who has the lonely king.")] = "material",
    games: Annotated[int, Parameter(help="Positions of each ending.")] = 20,
    nodes: Annotated[int | None, Parameter(help="For each move; by default 1000.")] = None,
    movetime: Annotated[int | None, Parameter(help="Milliseconds for each move.")] = None,
    seed: Annotated[int, Parameter(help="Of the positions.")] = 0,
    json: JsonFlag = False,
) -> int:
    """Play won endings from random positions and count the mates before 50 moves are over."""
    if games < 1:
        raise InputError("--games", value=games, fix="give 1 or more")
    specs = parse_player(player), parse_player(defender)
    control = Control(movetime=movetime, nodes=nodes)
    if not control.limited:
        control = Control(nodes=1000)
    chosen = list(dict.fromkeys(name.upper() for name in endings)) or list(ENDINGS)
    try_out(list(specs))
    found: list[Technique] = []
    with graceful_stop() as stop, progress("endings", total=games * len(chosen)) as bar:
        try:
            for ending in chosen:
                bar.describe(ending)
                found.append(
                    run_technique(
                        ending,
                        *specs,
                        control,
                        tries=games,
                        seed=seed,
                        stop=lambda: stop.requested,
                        on_game=lambda _: bar.advance(),
                    )
                )
        except Aborted:
            pass  # endings that were finished are shown
    about = {
        "player": player,
        **specs[0].facts(),
        "defender": defender,
        "defender_network": specs[1].network,
        "control": str(control),
    }
    _show(about, found, json)
    return EXIT_STOPPED if stop.requested else 0


def _show(about: dict[str, Any], found: list[Technique], json: bool) -> None:
    if json:
        rows: list[dict[str, Any]] = [
            {**one._asdict(), "interval": list(one.interval)} for one in found
        ]
        emit({**about, "endings": rows}, as_json=True)
        return
    shown = [
        [
            one.ending,
            f"{one.wins}/{one.tries}",
            "{:.0%} - {:.0%}".format(*one.interval),
            "-" if one.plies is None else f"{one.plies:.1f}",
            one.longest,
            one.forfeits,
        ]
        for one in found
    ]
    headings = ("ending", "won", "95 % interval", "plies to mate", "longest", "forfeits")
    emit({}, as_json=False, table=columns(headings, shown, _title(about)))


def _title(about: dict[str, Any]) -> str:
    """Who plays against whom, with which networks and limits."""
    sides = (about["player"], about["network"]), (about["defender"], about["defender_network"])
    named = [f"{name} (network {network})" if network else name for name, network in sides]
    return f"{' vs '.join(named)}, {about['control']}"
