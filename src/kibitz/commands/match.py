"""`kibitz match`: games between players, with Elo, SPRT, tables, PGN, and a journal to resume from.

match room -> **command line**
"""

from __future__ import annotations

import math
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kibitz.commands.arguments import JsonFlag
from kibitz.commands.output import EXIT_STOPPED, columns, emit
from kibitz.errors import InputError
from kibitz.log import Level, graceful_stop, progress, say
from kibitz.match.control import Control, parse_times
from kibitz.match.export import PgnFile
from kibitz.match.game import Rules, Terms
from kibitz.match.journal import Journal, PlayedGame, Results
from kibitz.match.openings import RANDOM_PLIES, Opening, random_openings, read_openings, shuffled
from kibitz.match.report import (
    PAIR_HEADINGS,
    as_json,
    crosstable,
    forfeit_lines,
    match_lines,
    network_lines,
    pair_rows,
    title,
)
from kibitz.match.runner import Setup, run, try_out
from kibitz.match.spec import parse_players
from kibitz.match.sprt import Model, Sprt


def match(
    *players: Annotated[str, Parameter(help="NAME[,option=value...]; see docs/matches.md.")],
    games: Annotated[int, Parameter(help="Games between every two who meet.")] = 100,
    tc: Annotated[str | None, Parameter(help="Clock in seconds: 10+0.1, 40/60+0.6.")] = None,
    movetime: Annotated[int | None, Parameter(help="Milliseconds for each move.")] = None,
    nodes: Annotated[int | None, Parameter(help="Nodes for each move.")] = None,
    depth: Annotated[int | None, Parameter(help="Depth for each move.")] = None,
    openings: Annotated[Path | None, Parameter(help="PGN, EPD or lines of moves.")] = None,
    plies: Annotated[int | None, Parameter(help="Longest opening; of random ones 8.")] = None,
    sprt: Annotated[tuple[float, float] | None, Parameter(help="Stop between elo0, elo1.")] = None,
    alpha: Annotated[float, Parameter(help="SPRT: error of accepting elo1.")] = 0.05,
    beta: Annotated[float, Parameter(help="SPRT: error of accepting elo0.")] = 0.05,
    model: Annotated[Model, Parameter(help="SPRT: what elo0 and elo1 are.")] = "normalised",
    gauntlet: Annotated[bool, Parameter(help="The first against all others.", negative="")] = False,
    concurrency: Annotated[int, Parameter(help="Games at the same time.")] = 1,
    seed: Annotated[int, Parameter(help="Of the openings' order and the players' dice.")] = 0,
    margin: Annotated[int, Parameter(help="Milliseconds a clock may be overstepped.")] = 20,
    patience: Annotated[
        float | None,
        Parameter(help="Seconds until a silent player hangs: after its time 10, at its start 60."),
    ] = None,
    max_moves: Annotated[int, Parameter(help="Then the game is drawn; 0: never.")] = 0,
    draw: Annotated[
        tuple[int, int, int] | None, Parameter(help="From move, for moves, within centipawns.")
    ] = None,
    resign: Annotated[tuple[int, int] | None, Parameter(help="For moves, centipawns lost.")] = None,
    resume: Annotated[Path | None, Parameter(help="Keep games here, and go on from it.")] = None,
    pgn: Annotated[Path | None, Parameter(help="Add every game here as it ends.")] = None,
    json: JsonFlag = False,
) -> int:
    """Play a match: two players, or all against all; exit code 130 if it was stopped."""
    if games < 2 or games % 2:
        raise InputError("--games", value=games, fix="give an even number; openings come in pairs")
    if plies is not None and plies < 1:
        raise InputError("--plies", value=plies, fix="give 1 or more")
    if pgn is not None and resume is not None and pgn.resolve() == resume.resolve():
        raise InputError("--pgn and --resume are one file", value=str(pgn), fix="name two files")
    rounds = games // 2
    listed = _openings(openings, plies, rounds, seed)
    times = parse_times(tc) if tc else Control()
    setup = Setup(
        players=parse_players(list(players)),
        control=Control(times.base, times.increment, times.moves, movetime, nodes, depth),
        openings=listed,
        rounds=rounds,
        gauntlet=gauntlet,
        seed=seed,
        terms=_terms(_rules(max_moves, draw, resign), margin, patience),
        sprt=Sprt(*sprt, alpha=alpha, beta=beta, model=model) if sprt else None,
        concurrency=concurrency,
        source="" if openings else f"random {plies or RANDOM_PLIES}",
    )
    book = openings.name if openings else f"random {plies or RANDOM_PLIES} plies"
    return _play(setup, book, resume, pgn, json)


def _openings(path: Path | None, plies: int | None, rounds: int, seed: int) -> list[Opening]:
    if path is not None:
        return shuffled(read_openings(path, plies), seed)
    return random_openings(rounds, plies or RANDOM_PLIES, seed)


def _terms(rules: Rules, margin: int, patience: float | None) -> Terms:
    if margin < 0:
        raise InputError("--margin", value=margin, fix="give milliseconds, 0 or more")
    if patience is None:
        return Terms(rules, float(margin))
    if not 0 < patience < math.inf:
        raise InputError("--patience", value=patience, fix="give seconds, more than 0")
    return Terms(rules, float(margin), patience=1000 * patience, start=1000 * patience)


def _rules(
    max_moves: int, draw: tuple[int, int, int] | None, resign: tuple[int, int] | None
) -> Rules:
    for name, values in (("max-moves", (max_moves,)), ("draw", draw), ("resign", resign)):
        if min(values or (0,)) < 0:
            raise InputError(f"--{name}", value=min(values or (0,)), fix="give 0 or more")
    given = {"max_moves": max_moves}
    if draw is not None:
        given |= {"draw_from": draw[0], "draw_moves": draw[1], "draw_cp": draw[2]}
    if resign is not None:
        given |= {"resign_moves": resign[0], "resign_cp": resign[1]}
    return Rules(**given)


def _play(setup: Setup, book: str, resume: Path | None, pgn: Path | None, json: bool) -> int:
    resources = try_out(setup.players, setup.terms.start)
    heading = title(setup, resources, 0, 1, book)
    with (
        Journal(setup.header(), resume) as journal,
        _pgn_file(pgn, setup, resume) as games,
    ):
        told = _Teller(setup, heading, journal)
        if games is not None:
            for earlier in Results(journal.games).games:
                games.add(earlier)
        with graceful_stop() as stop, progress("games", total=setup.games) as bar:
            bar.advance(len(journal.games))

            def on_game(record: PlayedGame) -> None:
                bar.advance()
                if games is not None:
                    games.add(record)
                told.tell(record)

            results = run(setup, journal, stop, on_game)
        # Before the files are closed, which may fail on a full disk: results are not lost then.
        _show(setup, results, heading, json)
    return EXIT_STOPPED if stop.requested else 0


def _pgn_file(
    path: Path | None, setup: Setup, journal: Path | None
) -> AbstractContextManager[PgnFile | None]:
    if path is None:
        return nullcontext()
    names = [spec.name for spec in setup.players]
    return PgnFile(path, names, [setup.control_of(spec) for spec in setup.players], journal)


class _Teller:
    """Says how games ended, forfeits to everybody, the rest to whoever wants to know."""

    def __init__(self, setup: Setup, heading: str, journal: Journal) -> None:
        self._setup, self._heading, self._journal = setup, heading, journal

    def tell(self, record: PlayedGame) -> None:
        white, black = (self._setup.players[i].name for i in (record.white, record.black))
        level = Level.VERBOSE if record.loser is None else Level.NORMAL
        why = f"{record.termination} {record.detail}".strip()
        say(f"Game {record.number + 1} ({white} vs {black}): {record.result} {{{why}}}", level)
        if len(self._setup.players) == 2 and len(self._journal.games) % 20 == 0:
            results = Results(self._journal.games)
            say("\n".join(match_lines(self._setup, results, self._heading)), Level.VERBOSE)


def _show(setup: Setup, results: Results, heading: str, json: bool) -> None:
    if json:
        emit(as_json(setup, results), as_json=True)
        return
    if len(setup.players) == 2:
        lines = match_lines(setup, results, heading)
    else:
        headings, rows = crosstable(setup, results)
        emit({}, as_json=False, table=columns(headings, rows))
        emit({}, as_json=False, table=columns(PAIR_HEADINGS, pair_rows(setup, results)))
        lines = []
    lines += [*network_lines(setup), *forfeit_lines(setup, results)]
    sys.stdout.write("\n".join(lines) + "\n")
