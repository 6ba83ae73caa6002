"""`kibitz strength`: suites, a ladder of opponents, endings, and one rating, in one report."""

from __future__ import annotations

import math
import sys
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cyclopts import Parameter

from kibitz.arena.match.assessment import (
    Plan,
    Rung,
    as_json,
    combined,
    run_endings,
    run_ladder,
    run_suites,
)
from kibitz.arena.match.game import Control, parse_times
from kibitz.arena.match.journal import PlayedGame
from kibitz.arena.match.rating import (
    LISTED,
    Opponent,
    find_program,
    listed_opponents,
    parse_opponent,
    usual_opponents,
)
from kibitz.arena.match.runner import try_out
from kibitz.arena.match.spec import parse_player
from kibitz.arena.match.suites import Outcome
from kibitz.cli.measure.match import TIMES, TimeFlags, rounds_of
from kibitz.cli.measure.suite import say_skipped
from kibitz.cli.output import (
    EXIT_STOPPED,
    FLAT,
    JsonFlag,
    PlayerFlag,
    at_least,
    columns,
    emit,
    refuse_twins,
)
from kibitz.core.errors import InputError
from kibitz.core.log import Bar, Level, graceful_stop, progress, say
from kibitz.core.options import setting
from kibitz.data.openings import RANDOM_PLIES, chosen_openings, source_of

WIDTH = 80  # columns of a terminal


class Preset(NamedTuple):
    """What is done unless the user says otherwise."""

    games: int
    times: str
    limit: int | None
    tries: int


WHOLE, QUICK = Preset(100, "10+0.1", None, 20), Preset(20, "1+0.01", 50, 5)


@dataclass(frozen=True)
class SuiteFlags:
    """Positions to solve."""

    suite: tuple[Path, ...] = setting((), "EPD file; repeatable.")
    suite_nodes: int | None = setting(None, "For each position; 10000.")
    suite_time: int | None = setting(None, "Milliseconds for each position.")
    limit: int | None = setting(None, "Only the first positions of a suite.")

    def added_to(self, plan: Plan, preset: Preset) -> Plan:
        """The plan with these suites."""
        limit = preset.limit if self.limit is None else self.limit
        at_least(1, limit=limit)
        refuse_twins("suites", [path.stem for path in self.suite])
        plan = replace(plan, suites=self.suite, limit=limit)
        if self.suite_nodes is None and self.suite_time is None:
            return plan
        control = Control(movetime=self.suite_time, nodes=self.suite_nodes)
        return replace(plan, suite_control=control)


@dataclass(frozen=True)
class LadderFlags:
    """Opponents, and the games against each."""

    opponent: tuple[str, ...] = setting(
        (), "As in kibitz match, and rating=R; repeatable; by default a usual ladder."
    )
    ladder: bool = setting(False, "Add the known programs that are installed.")
    games: int | None = setting(None, "Against each opponent; 0: none.")
    openings: Path | None = setting(None, "PGN, EPD or lines of moves.")

    def games_of(self, preset: Preset) -> int:
        """Games against each opponent."""
        return preset.games if self.games is None else self.games

    def added_to(self, plan: Plan, preset: Preset, *, quick: bool) -> Plan:
        """The plan with these opponents."""
        games, path = self.games_of(preset), self.openings
        return replace(
            plan,
            opponents=_opponents(self.opponent, self.ladder, quick) if games else (),
            games=games,
            openings=tuple(chosen_openings(path, None, rounds_of(games, 0), plan.seed)),
            book=path.name if path else f"random {RANDOM_PLIES}",
            source=source_of(path, None),
        )


SUITES, LADDER = SuiteFlags(), LadderFlags()


def strength(
    player: PlayerFlag = "kibitz",
    *,
    suites: Annotated[SuiteFlags, FLAT] = SUITES,
    opponents: Annotated[LadderFlags, FLAT] = LADDER,
    times: Annotated[TimeFlags, FLAT] = TIMES,
    endings: Annotated[int | None, Parameter(help="Positions of each ending; 0: none.")] = None,
    concurrency: Annotated[int, Parameter(help="Games or positions at the same time.")] = 1,
    seed: Annotated[int, Parameter(help="Of openings, players and endings.")] = 0,
    quick: Annotated[bool, Parameter(help="A few minutes instead of hours.")] = False,
    resume: Annotated[Path | None, Parameter(help="Keep results in this folder.")] = None,
    json: JsonFlag = False,
) -> int:
    """Measure a player: exit code 130 if it was stopped, and what was finished is shown."""
    preset = QUICK if quick else WHOLE
    tries = preset.tries if endings is None else endings
    at_least(1, concurrency=concurrency)
    at_least(0, endings=tries)
    if not (suites.suite or opponents.games_of(preset) or tries):
        raise InputError("nothing to measure", fix="give --suite FILE, --games N or --endings N")
    control = times.control()
    plan = Plan(
        player=parse_player(player),
        control=control if control.limited else parse_times(preset.times),
        tries=tries,
        concurrency=concurrency,
        seed=seed,
    )
    plan = suites.added_to(plan, preset)
    plan = opponents.added_to(plan, preset, quick=quick)
    try_out([plan.player, *(opponent.spec for opponent in plan.opponents)])
    return _measured(plan, resume, json)


def _opponents(texts: tuple[str, ...], ladder: bool, quick: bool) -> tuple[Opponent, ...]:
    chosen = [parse_opponent(text) for text in texts]
    if ladder:
        chosen += _installed()
    elif not texts:
        stockfish = find_program("stockfish")
        if stockfish is None:
            say("Stockfish is not installed: no opponent on the ladder has a rating")
        chosen = [parse_opponent(text) for text in usual_opponents(stockfish, quick)]
    names = [opponent.spec.name for opponent in chosen]
    refuse_twins("opponents", names, "add ,name=ANOTHER")
    return tuple(chosen)


def _installed() -> list[Opponent]:
    opponents = listed_opponents()
    missing = {each.name for each in LISTED} - {each.spec.name for each in opponents}
    if not opponents:
        fix = "install some, e.g. apt-get install gnuchess glaurung phalanx"
        raise InputError("no program of the ladder is installed", fix=fix)
    if missing:
        say(f"not installed: {', '.join(sorted(missing))}")
    return opponents


def _measured(plan: Plan, folder: Path | None, json: bool) -> int:
    total = plan.games * len(plan.opponents)
    with graceful_stop() as stop:
        with progress("suites") as bar:
            suites = run_suites(plan, folder, stop, lambda suite: _solved(bar, suite))
        with progress("games", total=total) as bar:
            rungs = run_ladder(plan, folder, stop, lambda game: _played(bar, game))
        with progress("endings") as bar:
            endings = run_endings(plan, folder, stop, bar.describe)
    for row in suites:
        say_skipped(row["suite"], row["skipped"])
    result = as_json(plan, suites, rungs, endings)
    if json:
        emit(result, as_json=True)
    else:
        _show(result, rungs)
    return EXIT_STOPPED if stop.requested else 0


def _solved(bar: Bar, outcome: Outcome) -> None:
    bar.advance()
    say(f"{outcome.name}: {outcome.move} {outcome.points}/{outcome.best}", Level.VERBOSE)


def _played(bar: Bar, game: PlayedGame) -> None:
    bar.advance()
    why = f"{game.termination} {game.detail}".strip()
    level = Level.VERBOSE if game.loser is None else Level.NORMAL
    say(f"Game {game.number + 1}: {game.result} {{{why}}}", level)


# --- printing -------------------------------------------------------------------------------------


def _show(result: dict[str, Any], rungs: list[Rung]) -> None:
    settings = result["settings"]
    flags = ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None)
    sys.stdout.write(f"{textwrap.fill(flags, WIDTH, break_long_words=False)}\n")
    if result["suites"]:
        emit({}, as_json=False, table=_suite_table(result["suites"]))
    if rungs:
        emit({}, as_json=False, table=_ladder_table(rungs))
        for rung in rungs:
            if rung.source:
                sys.stdout.write(f"Rating of {rung.name}: {rung.source}\n")
            if rung.network:
                sys.stdout.write(f"Network of {rung.name}: {rung.network}\n")
        sys.stdout.write(f"{_rating_line(rungs)}\n")
    if result["endings"]:
        emit({}, as_json=False, table=_ending_table(result["endings"]))


def _suite_table(rows: list[dict[str, Any]]) -> Any:
    shown = [
        [
            row["suite"],
            f"{row['solved']}/{row['positions']}",
            f"{row['points']}/{row['most']}",
            row["seconds_a_position"],
            round(row["nodes_a_position"]),
            "" if row["rating"] is None else f"{row['rating']:.0f}",
        ]
        for row in rows
    ]
    each = "s a\nposition", "nodes a\nposition"
    headings = ("suite", "solved", "points", *each, "STS\nrating")
    return columns(headings, shown)


def _ladder_table(rungs: list[Rung]) -> Any:
    shown = [
        [
            rung.name,
            "" if rung.rating is None else f"{rung.rating:.0f}",
            rung.tally.games,
            rung.tally.text,
            f"{100 * rung.tally.points / max(1, rung.tally.games):.1f} %",
            rung.estimate.text(),
            f"{rung.forfeits[0]} {rung.forfeits[1]}",
        ]
        for rung in rungs
    ]
    headings = ("opponent", "rating", "games", "W-D-L", "score", "Elo", "forfeits")
    return columns(headings, shown)


def _rating_line(rungs: list[Rung]) -> str:
    rating = combined(rungs)
    if rating is None:
        return "Rating: none, as no opponent has one"
    points = f"{rating.points:g} of {rating.games} points against known ratings"
    if not math.isfinite(rating.elo):
        side = f"below {rating.high:.0f}" if rating.elo < 0 else f"above {rating.low:.0f}"
        return f"Rating: {side} (95 %), {points}"
    return (
        f"Rating: {rating.elo:.0f}, 95 % interval {rating.low:.0f} to {rating.high:.0f}, {points}"
    )


def _ending_table(rows: list[dict[str, Any]]) -> Any:
    shown = [
        [
            row["ending"],
            f"{row['wins']}/{row['tries']}",
            "{:.0%} - {:.0%}".format(*row["interval"]),
            "" if row["plies"] is None else row["plies"],
        ]
        for row in rows
    ]
    return columns(("ending", "won", "95 % interval", "plies to mate"), shown)
