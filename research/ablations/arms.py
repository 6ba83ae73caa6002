"""Two runs from nothing under different settings, at equal evaluations.

Each arm is a run of its own; matches of one against the other put both on one scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from kibitz.arena.match.rating import Rating
from kibitz.core.errors import InputError
from kibitz.core.files import write_bytes
from kibitz.core.log import Stop, say
from kibitz.zero.config import LearnSettings, from_file
from kibitz.zero.folder import Folder, Rated, Result, Work
from kibitz.zero.loop import Learning
from kibitz.zero.rating import match, scale
from kibitz.zero.status import Curve, draw_curve, rows_of

# The paper's question: games made different by the temperature alone, or by search-contempt.
# Temperatures are its tau 2 and tau 1; all else is the same.
SEARCH = (
    "selfplay.rule=puct",
    "selfplay.playouts=64",
    "selfplay.noise=0.25",
    "selfplay.trees=2",
    "selfplay.options=['PolicyTemperature=1']",
)
ARMS: dict[str, tuple[str, ...]] = {
    "temperature": (
        *SEARCH,
        "selfplay.temperature=0.9",
        "selfplay.temperature_plies=40",
        "selfplay.temperature_decay=120",
        "selfplay.temperature_end=0.6",
    ),
    "contempt": (
        *SEARCH,
        "selfplay.temperature=0.7",
        "selfplay.temperature_plies=0",
        "selfplay.temperature_decay=10",
        "selfplay.temperature_end=0.1",
        "selfplay.sc_limit=5",
        "learn.ratio=1",
    ),
    # The Gumbel rule's targets, as `kibitz learn` has them, against visits of PUCT with noise.
    "gumbel": (),
    "puct": ("selfplay.rule=puct", "selfplay.noise=0.25"),
}


class Arm(NamedTuple):
    """One of the two runs."""

    name: str
    folder: Folder


class Point(NamedTuple):
    """A generation of both arms: evaluations and games so far, ratings, half of their intervals."""

    generation: int
    evaluations: tuple[int, ...]
    games: tuple[int, ...]
    elo: tuple[float, ...]
    error: tuple[float, ...]
    between: tuple[int, int, int]  # wins, draws, losses of the first arm against the second


def settings_of(arm: str, common: Sequence[str]) -> LearnSettings:
    """The settings of an arm: a name of ARMS, or a TOML file; what is common goes on top."""
    if arm in ARMS:
        return from_file(None, ["selfplay.kind=mcts", *ARMS[arm], *common])
    if not Path(arm).is_file():
        fix = f"name a TOML file that is there, or one of: {', '.join(ARMS)}"
        raise InputError("no such arm", value=arm, fix=fix)
    return from_file(arm, common)


def begin(home: Path, arms: tuple[str, str], common: Sequence[str]) -> list[Arm]:
    """Begin both runs, or find those that are there."""
    names = [Path(arm).stem for arm in arms]
    if names[0] == names[1]:
        raise InputError("two arms of one name", value=names[0], fix="compare different settings")
    begun = []
    for arm, name in zip(arms, names, strict=True):
        settings, folder = settings_of(arm, common), Folder(home / name)
        settings.selfplay.validated()
        if not folder.exists:
            folder.begin(settings)
        elif folder.settings() != settings:
            fix = "give the same settings, or another folder"
            raise InputError("this arm began with other settings", value=str(folder.root), fix=fix)
        begun.append(Arm(name, folder))
    return begun


def compare(home: Path, arms: Sequence[Arm], generations: int, stop: Stop) -> bool:
    """Let both arms learn by turns and play each other; False if asked to stop before the end."""
    for generation in range(1, generations + 1):
        for arm in arms:
            settings = arm.folder.settings()
            until = replace(settings.learn, generations=generation)
            if not Learning(arm.folder, "all", stop, replace(settings, learn=until)).run():
                return False
        if not _meet(home, arms, generation, stop):
            return False
        points, ratings = points_of(home, arms)
        curves = [Curve(arm.name, rows_of(arm.folder, ratings, f"{arm.name}:")) for arm in arms]
        drawn = draw_curve(curves, ratings)
        if drawn is not None:
            write_bytes(home / "curve.svg", drawn.encode())
        elo = ", ".join(
            f"{arm.name} {points[-1].elo[at]:+.0f} +/- {points[-1].error[at]:.0f}"
            for at, arm in enumerate(arms)
        )
        say(f"generation {generation}: {elo}")
    return True


def _meet(home: Path, arms: Sequence[Arm], generation: int, stop: Stop) -> bool:
    """Play the arms' networks of a generation against each other."""
    folder = Folder(home)
    if generation in folder.met():
        return True
    work = Work(folder, arms[0].folder.settings(), stop, "arms", generation=generation)
    learn = work.settings.learn
    places = [
        f"{arm.folder.network(generation)},Search={learn.rating_search},name={arm.name}"
        for arm in arms
    ]
    first, second = places
    with folder.present("arms"):
        results = match(work, f"arms-{generation:04}", first, second, 2 * learn.rating_games)
    if results is None:
        return False
    tally = results.tally(0, 1)
    pairs = results.pairs(0, 1)
    result = Result(opponent=f"{arms[1].name}:{generation}", pairs=pairs, **tally._asdict())
    made = Rated(generation=generation, results=(result,), processor=0.0)
    folder.write(home / "met" / f"{generation:04}.json", made)
    return True


def points_of(home: Path, arms: Sequence[Arm]) -> tuple[list[Point], dict[str, Rating]]:
    """The generations that both arms have, and all ratings on one scale."""
    met, games = Folder(home).met(), []
    for arm in arms:
        for number, rated in arm.folder.rated().items():
            for result in rated.results:
                shared = not result.opponent.isdecimal() or result.opponent == "0"
                opponent = result.opponent if shared else f"{arm.name}:{result.opponent}"
                other = msgspec.structs.replace(result, opponent=opponent)
                games.append((f"{arm.name}:{number}", other))
    for number, played in met.items():
        games += [(f"{arms[0].name}:{number}", result) for result in played.results]
    ratings = scale(games, arms[0].folder.settings().learn)
    return [_point(number, met[number], arms, ratings) for number in sorted(met)], ratings


def _point(
    generation: int, met: Rated, arms: Sequence[Arm], ratings: Mapping[str, Rating]
) -> Point:
    groups = [
        [group for at in range(generation) for group in arm.folder.groups(at).values()]
        for arm in arms
    ]
    rated = [ratings[f"{arm.name}:{generation}"] for arm in arms]
    result = met.results[0]
    return Point(
        generation=generation,
        evaluations=tuple(sum(group.playouts for group in part) for part in groups),
        games=tuple(sum(group.games for group in part) for part in groups),
        elo=tuple(rating.elo for rating in rated),
        error=tuple(rating.error for rating in rated),
        between=(result.wins, result.draws, result.losses),
    )
