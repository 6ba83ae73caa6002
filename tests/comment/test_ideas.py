"""Ideas are proved where they are, and not where a position only looks as if they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import chess
import pytest

from kibitz.comment.claims.endings import ENDING_FINDERS
from kibitz.comment.claims.ideas import IDEA_FINDERS
from kibitz.comment.openings import TRAPS
from kibitz.engine import Engine
from research.commentary import Idea, ideas_in, proved_in

IDEAS = ideas_in(Path(__file__).parent / "data" / "ideas.tsv")
NODES = 2_000, 20_000  # what one search does not see the other may
FIRST = {(one.name, one.true): one for one in reversed(IDEAS)}  # of each kind; the others are slow


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(search="alphabeta", multipv=2, hash=16) as engine:
        yield engine


@pytest.mark.parametrize(
    "idea",
    [pytest.param(one, marks=[] if one in FIRST.values() else [pytest.mark.slow]) for one in IDEAS],
    ids=lambda one: f"{one.name}-{one.moves[-1]}",
)
def test_an_idea_is_proved_where_it_is(engine: Engine, idea: Idea) -> None:
    assert any(proved_in(engine, idea, nodes) for nodes in NODES) is idea.true


def test_every_idea_has_true_and_false_positions() -> None:
    for true in (True, False):
        named = {one.name for one in IDEAS if one.true is true}
        assert named >= {find.__name__ for find in (*ENDING_FINDERS, *IDEA_FINDERS)}
    assert len(IDEAS) >= 100


@pytest.mark.parametrize("name", TRAPS)
def test_the_moves_of_a_trap_are_legal(name: str) -> None:
    board = chess.Board()
    for move in TRAPS[name].split():
        board.push_san(move.rstrip("?"))
