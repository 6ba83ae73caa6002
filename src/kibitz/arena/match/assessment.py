"""What a player can do: suites, a ladder of opponents, endings, and one rating from the ladder.

Whatever is finished is kept in a folder, and not done again: games as journals, the rest as JSON
beside the settings it was made with. (Playing weaker on purpose is engine/levels.py.)
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kibitz.arena.match.elo import Estimate, Tally, of_pairs
from kibitz.arena.match.game import Aborted, Control, Terms
from kibitz.arena.match.journal import Journal, PlayedGame, Results
from kibitz.arena.match.rating import KnownRating, Opponent, rating_against
from kibitz.arena.match.runner import Setup, run
from kibitz.arena.match.spec import Spec, parse_player
from kibitz.arena.match.suites import (
    ENDINGS,
    Outcome,
    run_suite,
    run_technique,
    solution,
    suite_of,
    summary,
)
from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import crc32_of, measured, read_bytes, write_bytes
from kibitz.core.log import Stop
from kibitz.core.provenance import described
from kibitz.data.openings import Opening
from kibitz.position.epd import Epd

SUITE_CONTROL, ENDING_CONTROL, TERMS = Control(nodes=10_000), Control(nodes=1_000), Terms()
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True)
class Plan:
    """All settings of a measurement."""

    player: Spec
    control: Control  # of the games
    opponents: tuple[Opponent, ...] = ()
    games: int = 100  # against each
    openings: tuple[Opening, ...] = ()
    book: str = ""  # what the openings are called
    source: str = ""  # as in Setup
    suites: tuple[Path, ...] = ()
    suite_control: Control = SUITE_CONTROL
    limit: int | None = None  # positions of each suite
    tries: int = 20  # of each ending
    ending_control: Control = ENDING_CONTROL
    concurrency: int = 1
    seed: int = 0
    terms: Terms = TERMS

    def settings(self) -> dict[str, Any]:
        """What has to be known to repeat the measurement."""
        engine = self.player.engine() if self.player.kind == "engine" else None
        return {
            "player": self.player.identity,
            **self.player.facts(),
            "threads": None if engine is None else engine.settings.threads,
            "hash": None if engine is None else engine.settings.hash,
            "control": str(self.control),
            "games": self.games,
            "openings": self.book,
            "margin": self.terms.margin,
            "suite_control": str(self.suite_control),
            "limit": self.limit,
            "ending_control": str(self.ending_control),
            "tries": self.tries,
            "concurrency": self.concurrency,
            "seed": self.seed,
        }


class Rung(NamedTuple):
    """The games against one opponent."""

    name: str
    player: str  # the opponent as it was written
    network: str | None  # that it played with, if it is our engine
    rating: float | None
    source: str  # of the rating
    tally: Tally
    estimate: Estimate  # from pairs of games
    forfeits: tuple[int, int]  # ours, theirs


# --- the three parts ------------------------------------------------------------------------------


def run_ladder(
    plan: Plan, folder: Path | None, stop: Stop, on_game: Callable[[PlayedGame], None]
) -> list[Rung]:
    """Play all opponents, one after another; those not reached when stopped are left out."""
    rungs: list[Rung] = []
    for opponent in plan.opponents if plan.games else ():
        if stop.requested:
            break
        name, setup = opponent.spec.name, _setup(plan, opponent.spec)
        path = None if folder is None else folder / f"games-{_in_a_name(name)}.jsonl"
        with Journal(setup.header(), path) as journal:
            for game in Results(journal.games).games:
                on_game(game)
            rungs.append(_rung(opponent, run(setup, journal, stop, on_game)))
    return rungs


def _setup(plan: Plan, opponent: Spec) -> Setup:
    return Setup(
        players=[plan.player, opponent],
        control=plan.control,
        openings=list(plan.openings),
        rounds=plan.games // 2,
        seed=plan.seed,
        terms=plan.terms,
        concurrency=plan.concurrency,
        source=plan.source,
    )


def _rung(opponent: Opponent, results: Results) -> Rung:
    return Rung(
        name=opponent.spec.name,
        player=opponent.spec.text,
        network=opponent.spec.network,
        rating=opponent.rating,
        source=opponent.source,
        tally=results.tally(0, 1),
        estimate=of_pairs(results.pairs(0, 1)),
        forfeits=(results.forfeits(0).total(), results.forfeits(1).total()),
    )


def run_suites(
    plan: Plan, folder: Path | None, stop: Stop, advance: Callable[[Outcome], None]
) -> list[dict[str, Any]]:
    """Solve all suites; one that was stopped in the middle is left out."""
    rows: list[dict[str, Any]] = []
    for path, (epds, skipped) in [
        (suite_path, suite_of(suite_path, plan.limit)) for suite_path in plan.suites
    ]:
        settings = {
            "player": plan.player.identity,
            "control": str(plan.suite_control),
            "positions": [epd.fen for epd in epds],
            "solutions": [solution(epd) for epd in epds],
        }
        solve = partial(_solve_suite, plan, path.name, epds, stop, advance)
        row = None if stop.requested else kept(folder, f"suite-{path.stem}", settings, solve)
        rows += [] if row is None else [{**row, "skipped": skipped}]
    return rows


def _solve_suite(
    plan: Plan, name: str, epds: list[Epd], stop: Stop, advance: Callable[[Outcome], None]
) -> dict[str, Any] | None:
    outcomes = run_suite(
        epds,
        plan.player,
        plan.suite_control,
        concurrency=plan.concurrency,
        stop=stop,
        advance=advance,
    )
    if len(outcomes) < len(epds):
        return None
    total = summary(outcomes)
    return {
        "suite": name,
        **total._asdict(),
        "milliseconds": measured(round(total.milliseconds, 1)),
        "seconds_a_position": measured(round(total.milliseconds / 1000 / len(epds), 4)),
        "nodes_a_position": round(sum(outcome.nodes for outcome in outcomes) / len(epds), 1),
        "rating": None if total.rating is None else round(total.rating, 1),
    }


def run_endings(
    plan: Plan, folder: Path | None, stop: Stop, tell: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Play endings that are won against an engine that counts material."""
    rows = []
    settings = {
        "player": plan.player.identity,
        "control": str(plan.ending_control),
        "tries": plan.tries,
        "seed": plan.seed,
    }
    for ending in ENDINGS if plan.tries else ():
        play = partial(_play_ending, plan, ending, stop, tell)
        rows.append(None if stop.requested else kept(folder, f"ending-{ending}", settings, play))
    return [row for row in rows if row is not None]


def _play_ending(
    plan: Plan, ending: str, stop: Stop, tell: Callable[[str], None]
) -> dict[str, Any] | None:
    tell(ending)
    try:
        result = run_technique(
            ending,
            plan.player,
            parse_player("material"),
            plan.ending_control,
            tries=plan.tries,
            seed=plan.seed,
            stop=lambda: stop.requested,
        )
    except Aborted:
        return None
    plies = None if result.plies is None else round(result.plies, 1)
    return {**result._asdict(), "plies": plies, "interval": list(result.interval)}


# --- results that are kept ------------------------------------------------------------------------


def kept(
    folder: Path | None,
    name: str,
    settings: dict[str, Any],
    make: Callable[[], dict[str, Any] | None],
) -> dict[str, Any] | None:
    """A result from the folder or, if it is not there, made and put there; None is not kept."""
    if folder is None:
        return make()
    path = folder / f"{_in_a_name(name)}.json"
    if path.exists():
        return _read(path, settings)
    result = make()
    if result is not None:
        content = {"settings": settings, "result": result, "crc": _checksum(settings, result)}
        write_bytes(path, json.dumps(described(content), indent=1).encode())
    return result


def _read(path: Path, settings: dict[str, Any]) -> dict[str, Any]:
    try:
        record = json.loads(read_bytes(path))
        before, result = record["settings"], record["result"]
        sound = record["crc"] == _checksum(before, result)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedFileError("not a result", value=str(path), fix="remove it") from error
    if not sound:
        raise DamagedFileError("a result that was changed", value=str(path), fix="remove it")
    for name, value in settings.items():
        if name not in before:  # kept by an earlier version
            fix = "remove it, or name another folder"
            raise InputError(f"{path} does not say with which {name} it was made", fix=fix)
        if before[name] != value:
            fix = "repeat the settings, or name another folder"
            other = "other" if name.endswith("s") else "another"
            shown = None if isinstance(value, list) else value  # the file itself says more
            raise InputError(f"{path} was made with {other} {name}", value=shown, fix=fix)
    return dict(result)


def _checksum(settings: dict[str, Any], result: dict[str, Any]) -> str:
    return crc32_of(json.dumps([settings, result], sort_keys=True).encode())


def _in_a_name(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", text)


# --- the rating -----------------------------------------------------------------------------------


def combined(rungs: list[Rung]) -> KnownRating | None:
    """The likeliest rating from all games against opponents whose ratings are known."""
    rated = [(rung.rating, rung.tally) for rung in rungs if rung.rating is not None]
    return rating_against(rated) if any(tally.games for _, tally in rated) else None


def as_json(
    plan: Plan, suites: list[dict[str, Any]], rungs: list[Rung], endings: list[dict[str, Any]]
) -> dict[str, Any]:
    """Everything that was found, and how; numbers that do not exist are null."""
    rating = combined(rungs)
    rating_json = None if rating is None else {n: _rounded(v) for n, v in rating._asdict().items()}
    return {
        "settings": plan.settings(),
        "suites": suites,
        "ladder": [_rung_json(rung) for rung in rungs],
        "rating": rating_json,
        "endings": endings,
    }


def _rung_json(rung: Rung) -> dict[str, Any]:
    estimate, forfeits = rung.estimate, rung.forfeits
    return {
        **{name: getattr(rung, name) for name in ("name", "player", "network", "rating", "source")},
        "games": rung.tally.games,
        **rung.tally._asdict(),
        **{name: _rounded(getattr(estimate, name)) for name in ("elo", "error", "low", "high")},
        "interval": estimate.interval,
        "our_forfeits": forfeits[0],
        "their_forfeits": forfeits[1],
    }


def _rounded(value: float | None) -> float | None:
    return round(value, 2) if value is not None and math.isfinite(value) else None
