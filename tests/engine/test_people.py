"""What people play: shares of two networks, and levels that draw from them."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from kibitz import Board, Engine
from kibitz.core.errors import InputError
from kibitz.engine.levels import (
    HUMAN_RUNGS,
    STRONGEST,
    WEAKEST,
    HumanLevel,
    People,
    blend,
    human_level_of,
    humanly,
    policy_of,
)
from kibitz.nets.encodings.leaves import Leaves
from kibitz.nets.evaluators.batched import BatchedEvaluator
from kibitz.nets.load import load_batched
from kibitz.search.report import Result

LEGAL_TRAP = "r1bqkbnr/ppp2ppp/2np4/4p3/2B1P3/2N2N2/PPPP1PPP/R1BQK2R b KQkq - 1 4"
SCHOLAR = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
SAFE = HumanLevel(1500, 500, 50.0, 1.0)


@pytest.fixture(scope="module")
def people() -> People:
    return People()


def test_between_two_networks_in_proportion(people: People) -> None:
    board = Board()
    low, middle, high = (people.shares(board, rating) for rating in (1100, 1200, 1500))
    for move, share in middle.items():
        assert share == pytest.approx(0.75 * low[move] + 0.25 * high[move], abs=1e-6)
    assert sum(middle.values()) == pytest.approx(1.0)
    assert list(middle.values()) == sorted(middle.values(), reverse=True)
    assert people.shares(board, 700) == low
    assert set(low) == set(board.legal_moves)


def test_the_moves_before_count(people: People) -> None:
    played = Board()
    for move in ("e4", "e5", "Nf3", "Nc6"):
        played.push(move)
    bare = Board(played.fen())
    assert bare == played
    assert people.shares(bare, 1500) != people.shares(played, 1500)


def test_a_game_that_is_over_has_no_moves(people: People) -> None:
    assert people.shares(Board("8/8/8/8/8/4k3/4p3/4K3 w - - 97 120"), 1500) == {}


def test_without_networks_it_is_said() -> None:
    with pytest.raises(InputError, match="no network of what people play"):
        blend(1500, [])


def test_levels_go_up_in_all_that_makes_them_strong() -> None:
    levels = [human_level_of(elo) for elo in range(WEAKEST, STRONGEST + 1)]
    human = [level for level in levels if level is not None]
    assert [human[0].rating, human[-1].rating] == [rung.rating for rung in HUMAN_RUNGS]
    assert len(human) == 801
    for weaker, stronger in pairwise(human):
        assert weaker.nodes <= stronger.nodes
        assert weaker.caution < stronger.caution
        assert weaker.temperature > stronger.temperature


def _report(fen: str) -> Result:
    with Engine("material", hash=4, search="alphabeta", temperature=1.0) as engine:
        return engine.play(Board(fen), nodes=4_000)


def test_moves_are_drawn_as_often_as_people_play_them(people: People) -> None:
    result, draw = _report(Board().fen()), random.Random(5)
    shares = people.shares(Board(), 1500)
    careless = HumanLevel(1500, 500, 0.0, 1.0)
    drawn = [humanly(result, shares, careless, draw).move for _ in range(4_000)]
    for move, share in shares.items():
        spread = 4 * (share * (1 - share) / 4_000) ** 0.5 + 1e-9
        assert drawn.count(move) / 4_000 == pytest.approx(share, abs=spread + 1e-3)


def test_caution_keeps_from_what_loses_at_once_and_finds_mates(people: People) -> None:
    result, draw = _report(SCHOLAR), random.Random(5)
    shares = people.shares(Board(SCHOLAR), 1100)
    blunder_filtered_policy = {str(humanly(result, shares, SAFE, draw).move) for _ in range(300)}
    careless = {
        str(humanly(result, shares, SAFE._replace(caution=0.0), draw).move) for _ in range(300)
    }
    assert blunder_filtered_policy == {"h5f7"}
    assert len(careless) > 3


def test_a_level_plays_people_s_moves_and_repeats_itself_with_a_seed() -> None:
    def game(**options: object) -> list[str]:
        with Engine("material", hash=4, limit_strength=True, elo=1500, **options) as engine:  # type: ignore[arg-type]
            board = Board()
            for _ in range(12):
                move = engine.play(board, movetime=1000).move
                assert move is not None
                board.push(move)
            return [str(move) for move in board.moves]

    first = game(seed=1)
    assert game(seed=1) == first
    assert game(seed=2) != first
    assert game(seed=1, human_like=False) != first


def test_the_network_of_people_is_loaded_before_the_first_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[str] = []

    def load(file: object) -> BatchedEvaluator:
        loaded.append(str(file))
        return load_batched(str(file))

    monkeypatch.setattr("kibitz.nets.load.load_batched", load)
    with Engine("material", hash=4, limit_strength=True, elo=1300) as engine:
        engine.ready()
        assert len(loaded) == 2
        result = engine.play(Board(LEGAL_TRAP), nodes=50_000)
        assert len(loaded) == 2
        assert result.report.nodes <= human_level_of(1300).nodes  # type: ignore[union-attr]


def test_people_are_asked_once_before_a_clock_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[BatchedEvaluator] = []

    def said(network: BatchedEvaluator, leaves: Leaves) -> np.ndarray:
        asked.append(network)
        return policy_of(network, leaves)

    monkeypatch.setattr("kibitz.engine.levels.policy_of", said)
    with Engine("material", hash=4, limit_strength=True, elo=1300) as engine:
        engine.ready()
        assert len(asked) == 2  # what they compute with is loaded
        engine.ready()
        assert len(asked) == 2
    with Engine("material", hash=4, limit_strength=True, elo=2000) as engine:
        engine.ready()
    assert len(asked) == 2


def test_other_levels_need_no_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kibitz.engine.engine.People", None)
    for options in ({"elo": 1000}, {"elo": 2000}, {"elo": 1500, "human_like": False}):
        with Engine("material", hash=4, limit_strength=True, **options) as engine:
            assert engine.play(Board(), nodes=10).move is not None


def test_only_moves_that_were_asked_for_are_drawn() -> None:
    from kibitz import Limits

    with Engine("material", hash=4, limit_strength=True, elo=1100) as engine:
        for _ in range(5):
            limits = Limits(nodes=500, searchmoves=("a2a3", "h2h3"))
            assert str(engine.play(Board(), limits).move) in ("a2a3", "h2h3")
