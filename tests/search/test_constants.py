"""The numbers of alpha-beta that may be changed, and searches of one call by nodes."""

from __future__ import annotations

import pytest

from kibitz import Board, Engine
from kibitz.core.errors import ConfigError
from kibitz.jit.compile import COMPILED
from kibitz.nets.evaluators.inline import Material, inline_evaluator
from kibitz.search.alphabeta.constants import NAMES, OF_CLOCKS, Constants
from kibitz.search.alphabeta.root import Worker, scores_of
from kibitz.search.alphabeta.searcher import AlphaBeta
from kibitz.search.alphabeta.table import new_table
from kibitz.search.limits import Limits
from kibitz.search.method import resolved
from kibitz.search.options import OPTIONS, Settings, option_of
from kibitz.uci.options import announced, option_table

EVALUATOR = inline_evaluator(Material())
SMALL = Settings(hash=1)
FENS = (
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "5rk1/1ppb3p/p1pb4/6q1/3P1p1r/2P1R2P/PP1BQ1P1/5RKN w - - 0 1",  # Rg3 wins
)
MATES = ("8/8/8/8/8/4k3/r7/4K3 w - - 0 1", "6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1")
compiled = pytest.mark.skipif(not COMPILED, reason="too slow as plain Python")


def test_they_are_options_that_are_not_announced() -> None:
    hidden = {row.name for row in OPTIONS if row.visibility == "debug"}
    assert hidden == set(NAMES)
    assert not hidden & {row.name for row in announced()}
    assert "NullMoveReduction" not in option_table()
    assert all(option_of(name).step for name in NAMES)


def test_one_is_set_by_its_name_and_checked() -> None:
    settings = Settings().parse({"nullmovereduction": "4", "LateMoveDepth": "0"})
    assert (settings.null_move_reduction, settings.late_move_depth) == (4, 0)
    assert settings.changed() == {"null_move_reduction": 4, "late_move_depth": 0}
    assert resolved(settings, batched=False).search == "alphabeta"
    with pytest.raises(ConfigError, match="NullMoveReduction: must be from 1 to 20, found: 0"):
        Settings().parse({"NullMoveReduction": "0"})
    with pytest.raises(ConfigError, match="did you mean 'NullMoveReduction'"):
        option_of("NullMoveReductoin")


@compiled
def test_an_engine_names_those_without_effect() -> None:
    with Engine("material", hash=1, search="mcts") as engine:
        engine.set_option("NullMoveReduction", "4")
        engine.ready()
        assert engine.problems == ["NullMoveReduction has no effect without Search alphabeta"]


def nodes_of(search: AlphaBeta) -> list[int]:
    counts = []
    for fen in FENS:
        search.new_game()
        counts.append(search.search(Board(fen), Limits(depth=10)).report.nodes)
    return counts


@pytest.mark.slow
@compiled
def test_each_changes_the_search() -> None:
    with AlphaBeta(EVALUATOR, SMALL) as search:
        usual = nodes_of(search)
    for name in NAMES:
        option = option_of(name)
        assert option.low is not None
        assert option.high is not None
        changed = []
        for value in (option.low, min(option.high, option.default + 4 * option.step)):
            with AlphaBeta(EVALUATOR, SMALL.with_(**{name: int(value)})) as search:
                changed.append(nodes_of(search) != usual)
        assert any(changed) == (name not in OF_CLOCKS), name


@compiled
def test_another_number_needs_another_search() -> None:
    with AlphaBeta(EVALUATOR, SMALL) as search:
        assert not search.update_settings(SMALL.with_(late_move_base=9))
        assert search.update_settings(SMALL.with_(multipv=3))


@compiled
@pytest.mark.parametrize("nodes", [1, 100, 257, 5_000, 40_000])
def test_one_call_finds_what_the_search_finds(nodes: int) -> None:
    entries = new_table(1)
    worker = Worker(EVALUATOR, entries, constants=Constants())
    with AlphaBeta(EVALUATOR, SMALL) as search:
        for fen in (*FENS, *MATES):
            board = Board(fen)
            result = search.search(board, Limits(nodes=nodes))
            score = worker.search_nodes(board.positions(), nodes)
            own = search.workers[0]
            assert worker.roots["move"].tolist() == own.roots["move"].tolist()
            assert score == scores_of(own.roots)[0]
            assert (worker.depth, worker.nodes) == (own.depth, own.nodes)
            assert result.report.depth == worker.depth
