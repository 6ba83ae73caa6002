"""How strong a player is: suites, a ladder of opponents, endings, and one rating from the ladder.

    Plan -> **run_suites, run_ladder, run_endings** -> as_json -> `kibitz strength`

Whatever is finished is kept in a folder, and not done again: games as journals, the rest as JSON
beside the settings it was made with. (Playing weaker on purpose is engine/options.py.)
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kibitz.checksums import crc32_of
from kibitz.errors import DamagedFileError, InputError
from kibitz.files import read_bytes, write_bytes
from kibitz.log import Stop
from kibitz.match.control import Control
from kibitz.match.elo import Estimate, Tally, of_pairs
from kibitz.match.game import Aborted, Terms
from kibitz.match.journal import Journal, PlayedGame, Results
from kibitz.match.openings import Opening
from kibitz.match.rating import KnownRating, rating_against
from kibitz.match.runner import Setup, run
from kibitz.match.spec import Spec, parse_player
from kibitz.match.suites import Outcome, positions_of, run_suite, summary
from kibitz.match.technique import ENDINGS, run_technique
from kibitz.position.epd import Epd

SUITE_CONTROL, ENDING_CONTROL, TERMS = Control(nodes=10_000), Control(nodes=1_000), Terms()
PROGRAM_FOLDERS = ("/usr/games", "/usr/local/bin")  # not on everybody's path
LEVELS, QUICK_LEVELS = (1350, 1500, 1700, 1900, 2200, 2500), (1350, 1600, 1900)  # of UCI_Elo
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9.-]+")

Tell = Callable[[str], None]


class Opponent(NamedTuple):
    """Somebody on the ladder; one without a rating is played, but says nothing of ours."""

    spec: Spec
    rating: float | None


@dataclass(frozen=True)
class Plan:
    """All settings of a measurement."""

    player: Spec
    control: Control  # of the games
    opponents: tuple[Opponent, ...] = ()
    games: int = 100  # against each
    openings: tuple[Opening, ...] = ()
    book: str = ""  # what the openings are
    suites: tuple[Path, ...] = ()
    suite_control: Control = SUITE_CONTROL
    limit: int | None = None  # positions of each suite
    tries: int = 20  # of each ending
    ending_control: Control = ENDING_CONTROL
    concurrency: int = 1
    seed: int = 0
    terms: Terms = TERMS

    def settings(self) -> dict[str, Any]:
        """What somebody must know who repeats the measurement."""
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
    tally: Tally
    estimate: Estimate  # from pairs of games
    forfeits: tuple[int, int]  # ours, theirs


# --- opponents ------------------------------------------------------------------------------------


def parse_opponent(text: str) -> Opponent:
    """Read a player with `rating=R`; without it, UCI_Elo counts if UCI_LimitStrength is on."""
    parts = text.split(",")
    given = [part.partition("=")[2].strip() for part in parts if part.startswith("rating=")]
    spec = parse_player(",".join(part for part in parts if not part.startswith("rating=")))
    options = {name.casefold(): value for name, value in spec.options.items()}
    limited = options.get("uci_limitstrength", "").casefold() == "true"
    known = (
        given[-1] if given else options.get("uci_elo") if spec.kind == "uci" and limited else None
    )
    if known is None:
        return Opponent(spec, None)
    try:
        rating = float(known)
    except ValueError:
        rating = math.nan
    if not math.isfinite(rating):
        raise InputError(f"opponent {text}: rating", value=known, fix="give a number")
    return Opponent(spec, rating)


def find_program(name: str) -> str | None:
    """Path of an installed program."""
    places = (name, *(f"{folder}/{name}" for folder in PROGRAM_FOLDERS))
    return next((found for place in places if (found := shutil.which(place))), None)


def usual_opponents(stockfish: str | None, quick: bool) -> list[str]:
    """Players everybody has and, where Stockfish is installed, some levels of it."""
    found = ["random", "greedy"] if quick else ["random", "greedy", "material"]
    if stockfish is not None:
        levels = QUICK_LEVELS if quick else LEVELS
        found += [
            f"uci:{stockfish},UCI_LimitStrength=true,UCI_Elo={elo},Hash=16,name=stockfish-{elo}"
            for elo in levels
        ]
    return found


# --- the three parts ------------------------------------------------------------------------------


def run_ladder(
    plan: Plan, folder: Path | None, stop: Stop, on_game: Callable[[PlayedGame], None]
) -> list[Rung]:
    """Play all opponents, one after another; those not reached when stopped are left out."""
    rungs = []
    for opponent in plan.opponents if plan.games else ():
        if stop.requested:
            break
        rungs.append(_rung(plan, opponent, folder, stop, on_game))
    return rungs


def _rung(
    plan: Plan,
    opponent: Opponent,
    folder: Path | None,
    stop: Stop,
    on_game: Callable[[PlayedGame], None],
) -> Rung:
    spec = opponent.spec
    setup = Setup(
        players=[plan.player, spec],
        control=plan.control,
        openings=list(plan.openings),
        rounds=plan.games // 2,
        seed=plan.seed,
        terms=plan.terms,
        concurrency=plan.concurrency,
        source=plan.book if plan.book.startswith("random") else "",
    )
    path = None if folder is None else folder / f"games-{_in_a_name(spec.name)}.jsonl"
    with Journal(setup.header(), path) as journal:
        for game in Results(journal.games).games:
            on_game(game)
        results: Results = run(setup, journal, stop, on_game)
    forfeits = [sum(results.forfeits(index).values()) for index in (0, 1)]
    return Rung(
        spec.name,
        spec.text,
        spec.network,
        opponent.rating,
        results.tally(0, 1),
        of_pairs(results.pairs(0, 1)),
        (forfeits[0], forfeits[1]),
    )


def run_suites(
    plan: Plan, folder: Path | None, stop: Stop, advance: Callable[[Outcome], None]
) -> list[dict[str, Any]]:
    """Solve all suites; one that was stopped in the middle is left out."""
    rows = []
    for path in plan.suites:
        epds = positions_of(path, plan.limit)
        settings = {
            "player": plan.player.identity,
            "control": str(plan.suite_control),
            "positions": [epd.fen for epd in epds],
        }

        def solved(epds: list[Epd] = epds, path: Path = path) -> dict[str, Any] | None:
            control, several = plan.suite_control, plan.concurrency
            found = run_suite(
                epds, plan.player, control, concurrency=several, stop=stop, advance=advance
            )
            return _suite_row(path, found) if len(found) == len(epds) else None

        row = None if stop.requested else kept(folder, f"suite-{path.stem}", settings, solved)
        rows += [row] if row is not None else []
    return rows


def _suite_row(path: Path, outcomes: list[Outcome]) -> dict[str, Any]:
    total, count = summary(outcomes), max(1, len(outcomes))
    return {
        "suite": path.name,
        **total._asdict(),
        "milliseconds": round(total.milliseconds, 1),
        "seconds_a_position": round(total.milliseconds / 1000 / count, 4),
        "nodes_a_position": round(sum(one.nodes for one in outcomes) / count, 1),
        "rating": None if total.rating is None else round(total.rating, 1),
    }


def run_endings(plan: Plan, folder: Path | None, stop: Stop, tell: Tell) -> list[dict[str, Any]]:
    """Play endings that are won against an engine that counts material."""
    rows = []
    defender = parse_player("material")
    for ending in ENDINGS if plan.tries else ():
        settings = {
            "player": plan.player.identity,
            "control": str(plan.ending_control),
            "tries": plan.tries,
            "seed": plan.seed,
        }

        def played(ending: str = ending) -> dict[str, Any] | None:
            tell(ending)
            attacker, control = plan.player, plan.ending_control
            try:
                found = run_technique(
                    ending,
                    attacker,
                    defender,
                    control,
                    tries=plan.tries,
                    seed=plan.seed,
                    stop=lambda: stop.requested,
                )
            except Aborted:
                return None
            plies = None if found.plies is None else round(found.plies, 1)
            return {**found._asdict(), "plies": plies, "interval": list(found.interval)}

        row = None if stop.requested else kept(folder, f"ending-{ending}", settings, played)
        rows += [row] if row is not None else []
    return rows


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
        write_bytes(path, json.dumps(content, indent=1).encode())
    return result


def _read(path: Path, settings: dict[str, Any]) -> dict[str, Any]:
    try:
        found = json.loads(read_bytes(path))
        before, result = found["settings"], found["result"]
        sound = found["crc"] == _checksum(before, result)
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFileError("not a result", value=str(path), fix="remove it") from error
    if not sound:
        raise DamagedFileError("a result that was changed", value=str(path), fix="remove it")
    for name, value in settings.items():
        if before.get(name) != value:
            fix = "repeat the settings, or name another folder"
            raise InputError(f"{path} was made with another {name}", value=value, fix=fix)
    return dict(result)


def _checksum(settings: dict[str, Any], result: dict[str, Any]) -> str:
    return crc32_of(json.dumps([settings, result], sort_keys=True).encode())


def _in_a_name(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", text)


# --- the rating -----------------------------------------------------------------------------------


def combined(rungs: list[Rung]) -> KnownRating | None:
    """The likeliest rating from all games against opponents whose ratings are known."""
    known = [(rung.rating, rung.tally) for rung in rungs if rung.rating is not None]
    return rating_against(known) if any(tally.games for _, tally in known) else None


def as_json(
    plan: Plan,
    suites: list[dict[str, Any]],
    rungs: list[Rung],
    endings: list[dict[str, Any]],
) -> dict[str, Any]:
    """Everything that was found, and how; numbers that do not exist are null."""
    rating = combined(rungs)
    return {
        "settings": plan.settings(),
        "suites": suites,
        "ladder": [_rung_json(rung) for rung in rungs],
        "rating": None
        if rating is None
        else {name: _finite(value) for name, value in rating._asdict().items()},
        "endings": endings,
    }


def _rung_json(rung: Rung) -> dict[str, Any]:
    tally, found = rung.tally, rung.estimate
    return {
        "name": rung.name,
        "player": rung.player,
        "network": rung.network,
        "rating": rung.rating,
        "games": tally.games,
        "wins": tally.wins,
        "draws": tally.draws,
        "losses": tally.losses,
        **{name: _rounded(getattr(found, name)) for name in ("elo", "error", "low", "high")},
        "interval": found.interval,
        "our_forfeits": rung.forfeits[0],
        "their_forfeits": rung.forfeits[1],
    }


def _finite(value: float) -> float | None:
    return _rounded(value) if math.isfinite(value) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
