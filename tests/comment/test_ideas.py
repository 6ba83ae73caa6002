"""Ideas are proved where they are, and not where a position only looks as if they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import chess
import pytest

from kibitz.comment.claims.endings import ENDING_FINDERS
from kibitz.comment.claims.ideas import IDEA_FINDERS
from kibitz.comment.claims.sacrifices import GIVING_FINDERS
from kibitz.comment.claims.tempo import TEMPO_FINDERS
from kibitz.comment.facts import balance
from kibitz.comment.force import checks_for_ever
from kibitz.comment.openings import TRAPS, Trap, trap_at
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
        assert named >= {
            find.__name__
            for finders in (ENDING_FINDERS, TEMPO_FINDERS, IDEA_FINDERS, GIVING_FINDERS)
            for find in finders
        }
    assert len(IDEAS) >= 100


@pytest.mark.parametrize(("name", "moves"), TRAPS)
def test_a_trap_is_legal_and_ends_with_mate_or_more_material(name: str, moves: str) -> None:
    board = chess.Board()
    before, _, after = moves.partition("? ")
    for move in before.split():
        board.push_san(move)
    hunter, end, walked = board.turn, board.copy(), board.copy()
    walked.pop()
    line = tuple(end.push_san(move) for move in after.split())
    assert trap_at(board) == Trap(name, springs=False, line=line, start=walked.fen())
    assert end.is_checkmate() or balance(end, hunter) > balance(walked, hunter)


PERPETUAL = "3r1r2/ppp2pk1/1b6/7p/4P3/2Pq3P/P5P1/R1Q1B2K w - - 0 25"


@pytest.mark.parametrize(
    ("fen", "move", "lasts"),
    [
        (PERPETUAL, "Qg5+", True),
        (PERPETUAL, "Bg3", False),  # which is no check
        ("6k1/3R4/8/8/4N3/q7/2r3PP/7K w - - 0 1", "Nf6+", True),
        ("6k1/3R4/8/6p1/4N3/q7/2r3PP/7K w - - 0 1", "Nxg5", False),
        ("6k1/6p1/8/7Q/8/8/rq4PP/7K w - - 0 1", "Qe8+", True),
        ("6k1/8/8/8/4N3/q7/2r3PP/7K w - - 0 1", "Nf6+", False),
        ("6k1/5ppp/8/8/8/8/r4qPP/3R3K w - - 0 1", "Rd8#", False),
    ],
)
def test_a_perpetual_check_is_found_by_all_replies(fen: str, move: str, lasts: bool) -> None:
    board = chess.Board(fen)
    board.push_san(move)
    assert checks_for_ever(board) is lasts
