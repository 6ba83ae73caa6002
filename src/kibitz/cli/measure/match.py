"""`kibitz match`: games between players, with Elo, SPRT, tables, PGN and a journal."""

from __future__ import annotations

import json as jsonlib
import math
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.arena.match.elo import Model, Sprt
from kibitz.arena.match.game import Control, Rules, Terms, parse_times
from kibitz.arena.match.journal import Journal, PlayedGame, Results
from kibitz.arena.match.report import (
    PAIR_HEADINGS,
    PgnFile,
    as_json,
    crosstable,
    forfeit_lines,
    match_lines,
    network_lines,
    pair_rows,
    title,
)
from kibitz.arena.match.runner import Setup, run, try_out
from kibitz.arena.match.spec import needs_limits, parse_players, with_reported_names
from kibitz.cli.output import EXIT_STOPPED, FLAT, JsonFlag, at_least, columns, emit
from kibitz.core.errors import InputError
from kibitz.core.files import write_bytes
from kibitz.core.log import Level, graceful_stop, plain, progress, say
from kibitz.core.options import setting
from kibitz.core.provenance import described
from kibitz.core.workers import processors
from kibitz.data.openings import RANDOM_PLIES, chosen_openings, source_of

GAMES, TEST_GAMES, TEST_NODES = 100, 20_000, 10_000  # unless they are given
MOST_RANDOM_PLIES = 40  # random games are hardly ever level after more


@dataclass(frozen=True)
class TimeFlags:
    """How long the players may think."""

    tc: str | None = setting(None, "Clock in seconds: 10+0.1, 40/60+0.6.")
    movetime: int | None = setting(None, "Milliseconds for each move.")
    nodes: int | None = setting(None, "Nodes for each move.")
    depth: int | None = setting(None, "Depth for each move.")

    def control(self) -> Control:
        """The time control that the flags describe."""
        times = Control() if self.tc is None else parse_times(self.tc)
        return replace(times, movetime=self.movetime, nodes=self.nodes, depth=self.depth)


@dataclass(frozen=True)
class SprtFlags:
    """A test that ends the match once it is decided."""

    sprt: tuple[float, float] | None = setting(
        None, "Stop between elo0, elo1: 0 5 shows a gain, -5 0 that nothing is lost."
    )
    alpha: float = setting(Sprt.alpha, "SPRT: error of accepting elo1.")
    beta: float = setting(Sprt.beta, "SPRT: error of accepting elo0.")
    model: Model = setting("normalised", "SPRT: what elo0 and elo1 are.")

    def test(self) -> Sprt | None:
        """The test, if one is wanted."""
        if self.sprt is None:
            if self != SPRT:
                fix = "give --sprt ELO0 ELO1 as well"
                raise InputError("--alpha, --beta and --model are of a test", fix=fix)
            return None
        return Sprt(*self.sprt, alpha=self.alpha, beta=self.beta, model=self.model)


@dataclass(frozen=True)
class TermFlags:
    """When a game is lost by the clock or adjudicated."""

    margin: int = setting(20, "Milliseconds a clock may be overstepped.")
    patience: float | None = setting(
        None,
        "Seconds to wait for a player that does not answer before it loses as hung; by default 10 "
        "once its time for a move is over, and 60 for it to start.",
    )
    max_moves: int = setting(0, "Then the game is drawn; 0: never.")
    draw: tuple[int, int, int] | None = setting(None, "From move, for moves, within centipawns.")
    resign: tuple[int, int] | None = setting(None, "For moves, centipawns lost.")

    def terms(self) -> Terms:
        """What holds for all games."""
        rules, margin, patience = self._rules(), float(self.margin), self.patience
        if margin < 0:
            raise InputError("--margin", value=self.margin, fix="give milliseconds, 0 or more")
        if patience is None:
            return Terms(rules, margin)
        if not 0 < patience < math.inf:
            raise InputError("--patience", value=patience, fix="give seconds, more than 0")
        return Terms(rules, margin, patience=1000 * patience, start=1000 * patience)

    def _rules(self) -> Rules:
        at_least(0, max_moves=self.max_moves)
        at_least(0, draw=min(self.draw or (0,)), resign=min(self.resign or (0,)))
        rules = {"max_moves": self.max_moves}
        if self.draw is not None:
            rules |= dict(zip(("draw_from", "draw_moves", "draw_cp"), self.draw, strict=True))
        if self.resign is not None:
            rules |= dict(zip(("resign_moves", "resign_cp"), self.resign, strict=True))
        return Rules(**rules)


TIMES, SPRT, TERMS = TimeFlags(), SprtFlags(), TermFlags()


def match(
    *players: Annotated[str, Parameter(help="NAME[,option=value...]; see docs/matches.md.")],
    games: Annotated[
        int | None, Parameter(help="Between every two who meet; 100, of a test at most 20000.")
    ] = None,
    times: Annotated[TimeFlags, FLAT] = TIMES,
    openings: Annotated[Path | None, Parameter(help="PGN, EPD or lines of moves.")] = None,
    plies: Annotated[int | None, Parameter(help="Longest opening; of random ones 8.")] = None,
    sprt: Annotated[SprtFlags, FLAT] = SPRT,
    gauntlet: Annotated[bool, Parameter(help="The first against all others.")] = False,
    concurrency: Annotated[
        int | None,
        Parameter(help="Games at the same time; 1, of a test without a clock one a processor."),
    ] = None,
    seed: Annotated[int, Parameter(help="Of the openings' order and the players' choices.")] = 0,
    terms: Annotated[TermFlags, FLAT] = TERMS,
    resume: Annotated[Path | None, Parameter(help="Keep games here, and go on from it.")] = None,
    pgn: Annotated[Path | None, Parameter(help="Add every game here as it ends.")] = None,
    file: Annotated[Path | None, Parameter(help="Write the result here, as JSON.")] = None,
    json: JsonFlag = False,
) -> int:
    """Play a match: two players, or all against all; exit code 130 if it was stopped."""
    test = sprt.test()
    rounds = rounds_of((GAMES if test is None else TEST_GAMES) if games is None else games, 2)
    specs, control = parse_players(list(players)), times.control()
    if test is not None and not control.limited and any(map(needs_limits, specs)):
        control = Control(nodes=TEST_NODES)
    if concurrency is None:
        concurrency = 1 if test is None or control.timed else processors()
    at_least(1, plies=plies)
    if openings is None and plies is not None and plies > MOST_RANDOM_PLIES:
        fix = f"give {MOST_RANDOM_PLIES} or less"
        raise InputError("--plies of random openings", value=plies, fix=fix)
    if pgn is not None and resume is not None and pgn.resolve() == resume.resolve():
        raise InputError("--pgn and --resume are one file", value=str(pgn), fix="name two files")
    setup = Setup(
        players=specs,
        control=control,
        openings=chosen_openings(openings, plies, rounds, seed),
        rounds=rounds,
        gauntlet=gauntlet,
        seed=seed,
        terms=terms.terms(),
        sprt=test,
        concurrency=concurrency,
        source=source_of(openings, plies),
    )
    book = openings.name if openings else f"random {plies or RANDOM_PLIES} plies"
    return _play(setup, book, resume, pgn, file, json)


def rounds_of(games: int, least: int) -> int:
    """Pairs of games, both players having White once with each opening."""
    if games < least or games % 2:
        raise InputError("--games", value=games, fix=f"give an even number, {least} or more")
    return games // 2


def _play(
    setup: Setup, book: str, resume: Path | None, pgn: Path | None, file: Path | None, json: bool
) -> int:
    tried = try_out(setup.players, setup.terms.start)
    texts = [spec.text for spec in setup.players]
    setup = replace(setup, players=with_reported_names(texts, [player.name for player in tried]))
    heading = title(setup, [player.resources for player in tried], 0, 1, book)
    with Journal(setup.header(), resume) as journal, _pgn_file(pgn, setup, resume) as games:
        if games is not None:
            for earlier in Results(journal.games).games:
                games.add(earlier)
        with graceful_stop() as stop, progress("games", total=setup.games) as bar:
            bar.advance(len(journal.games))

            def on_game(played: PlayedGame) -> None:
                bar.advance()
                if games is not None:
                    games.add(played)
                _tell(setup, heading, journal, played)

            results = run(setup, journal, stop, on_game)
        # Before the files are closed, which may fail on a full disk: results are not lost then.
        result = described(as_json(setup, results))
        if file is not None:
            write_bytes(file, f"{jsonlib.dumps(plain(result), indent=1)}\n".encode())
        _show(setup, results, result, heading, json)
    return EXIT_STOPPED if stop.requested else 0


def _pgn_file(
    path: Path | None, setup: Setup, journal: Path | None
) -> AbstractContextManager[PgnFile | None]:
    if path is None:
        return nullcontext()
    names = [spec.name for spec in setup.players]
    return PgnFile(path, names, [setup.control_of(spec) for spec in setup.players], journal)


def _tell(setup: Setup, heading: str, journal: Journal, played: PlayedGame) -> None:
    """Say how a game ended, forfeits always, the rest with --verbose."""
    white, black = (setup.players[i].name for i in (played.white, played.black))
    level = Level.VERBOSE if played.loser is None else Level.NORMAL
    why = f"{played.termination} {played.detail}".strip()
    say(f"Game {played.number + 1} ({white} vs {black}): {played.result} {{{why}}}", level)
    if len(setup.players) == 2 and len(journal.games) % 20 == 0:
        lines = match_lines(setup, Results(journal.games), heading)
        say("\n".join(lines), Level.VERBOSE)


def _show(setup: Setup, results: Results, result: dict[str, Any], heading: str, json: bool) -> None:
    if json:
        emit(result, as_json=True)
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
