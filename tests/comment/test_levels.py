"""A level changes what is explained and in which words, not what is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from kibitz.comment.annotate import Annotated, Style, annotate
from kibitz.comment.cache import AnalysisCache
from kibitz.comment.facts import Scene, scenes_of
from kibitz.comment.searches import Effort
from kibitz.comment.select.rank import LEVELS, kind_of
from kibitz.comment.words.languages import LANGUAGES
from kibitz.engine import Engine
from kibitz.position.pgn import read_games
from kibitz.search.limits import Limits

pytestmark = pytest.mark.usefixtures("short_looks")

GAMES = Path(__file__).parents[2] / "docs" / "examples" / "games.pgn"
CHOSEN = (4, 10)  # an opening trap, a miniature
LIMITS = Limits(nodes=300)


class Level(NamedTuple):
    """A game at a level."""

    annotated: Annotated
    scenes: list[Scene]

    def kinds(self) -> list[str]:
        return [kind_of(claim) for one in self.annotated.comments for claim in one.claims]

    def facts(self) -> list[tuple[object, ...]]:
        """Marks and values of the moves."""
        commands = re.compile(r"\[%(?:eval|grade|good) [^]]*\]")
        nodes = self.annotated.game.tree.mainline()
        return [(one.san(), sorted(one.nags), *commands.findall(one.comment)) for one in nodes]


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Level]]:
    found: dict[str, list[Level]] = {level: [] for level in LEVELS}
    with Engine("material", search="alphabeta", multipv=2, hash=16) as engine:
        cache = AnalysisCache(engine, Effort(LIMITS), tmp_path_factory.mktemp("kept"))
        for level in LEVELS:
            for game in read_games(GAMES):
                if game.number not in CHOSEN:
                    continue
                annotated = annotate(game, engine, Style(level, limits=LIMITS), cache=cache)
                start = game.tree.board()
                analysis = cache.find(start, tuple(one.move for one in game.tree.mainline()))
                assert analysis is not None
                found[level].append(Level(annotated, scenes_of(analysis)))
    return found


def test_every_level_says_only_what_is_proved(levels: dict[str, list[Level]]) -> None:
    for level, games in levels.items():
        said = 0
        for game in games:
            for comment, scene in zip(game.annotated.comments, game.scenes, strict=True):
                for claim in comment.claims:
                    assert claim.proved(scene), (level, claim)
                    said += 1
        assert said > 20, level


def test_marks_values_and_story_are_the_same_at_every_level(
    levels: dict[str, list[Level]],
) -> None:
    for beginner, club, expert in zip(*levels.values(), strict=True):
        assert beginner.facts() == club.facts() == expert.facts()
        assert beginner.annotated.figures == club.annotated.figures == expert.annotated.figures


def test_a_beginner_is_told_what_an_expert_sees(levels: dict[str, list[Level]]) -> None:
    counts = {
        level: [kind for game in games for kind in game.kinds()] for level, games in levels.items()
    }
    plain = ("Threatens", "TakesLoose", "guards", "attacks_loose", "EnPrise", "chases")
    told = {level: sum(kinds.count(kind) for kind in plain) for level, kinds in counts.items()}
    assert told["beginner"] > told["club"] >= told["expert"]
    for one in LEVELS:
        for other in LEVELS:
            assert one == other or counts[one] != counts[other]


def test_a_beginner_gets_one_reason_and_an_explanation(levels: dict[str, list[Level]]) -> None:
    reasons = [
        len(part)
        for game in levels["beginner"]
        for comment in game.annotated.comments
        for part in (comment.better, comment.reply)
    ]
    assert max(reasons) == 1
    both = [
        part
        for game in levels["expert"]
        for comment in game.annotated.comments
        for part in (comment.better, comment.reply)
        if len(part) > 1
    ]
    assert both


@pytest.mark.parametrize("code", LANGUAGES)
def test_words_for_beginners_explain(code: str) -> None:
    """Most of them say more than the word of the trade: after a colon, or in a clause."""
    table = LANGUAGES[code].beginner
    explained = [key for key, forms in table.items() if re.search("[:,]", forms[0])]
    assert len(explained) >= 0.7 * len(table) >= 12
