"""The share of a search that is over, on which elimination depends: one meaning in all drivers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from kibitz.jit.records import one_record
from kibitz.nets.evaluators.batched import InlineBatch
from kibitz.nets.evaluators.inline import Material, inline_evaluator
from kibitz.position.board import Board
from kibitz.search.clock import Standing, Timer
from kibitz.search.limits import Limits, Signals
from kibitz.search.mcts.driver import Threads
from kibitz.search.mcts.rules.parameters import RuleName
from kibitz.search.mcts.rules.sble import survivors
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.mcts.tree.context import CONTROL, ContextMemory, TreeSearch, set_share
from kibitz.search.mcts.tree.nodes import TreeMemory
from kibitz.search.options import Settings

DRIVERS = ("inline", "threads", "batched")
ENDLESS = {
    "infinite": Limits(infinite=True),
    "ponder": Limits(ponder=True, wtime=60_000, btime=60_000),
    "mate": Limits(mate=3),
}
SBLE = Settings(search_rule="sble", hash=8)
MIDDLEGAME = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"


def searcher_of(driver: str, **changes: Any) -> Searcher:
    inline = inline_evaluator(Material())
    settings = SBLE.with_(threads=2 if driver == "threads" else 1, **changes)
    return Searcher(InlineBatch(inline) if driver == "batched" else inline, settings)


def shares(searcher: Searcher) -> list[float]:
    return [float(context.record.budget_used) for context in searcher.contexts]


def stopped() -> Signals:
    """Those of a search that ends when it is first looked at."""
    signals = Signals()
    signals.stop.set()
    return signals


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_search_without_an_end_eliminates_nothing_whatever_was_before(driver: str) -> None:
    with searcher_of(driver) as searcher:
        searcher.search(Board(), Limits(nodes=5_000))
        assert max(shares(searcher)) > 0.9
        for limits in ENDLESS.values():
            searcher.search(Board(), limits, signals=stopped())
            assert set(shares(searcher)) == {0.0}


@pytest.mark.parametrize("driver", DRIVERS)
def test_time_counts_too(driver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = count()

    def over(_: Timer, __: Standing) -> bool:
        return max(shares(searcher)) == 0.7 or next(looks) == 500

    monkeypatch.setattr(Timer, "share_used", 0.7)
    monkeypatch.setattr(Timer, "is_over", over)
    with searcher_of(driver) as searcher:
        searcher.search(Board(), Limits(movetime=10**6, nodes=10**9))
        assert max(shares(searcher)) == 0.7


def test_slow_start_with_two_threads_begins_at_nought(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first threads' share of the playouts is handed out apart from the others."""
    begun: list[tuple[int, float]] = []
    play_out = Threads._play_out

    def watched(self: Threads, search: TreeSearch, threads: int, look: Callable[[], bool]) -> None:
        context, tickets = ContextMemory(0).record, int(search.control.tickets)
        set_share(search.control, search.memory.record, context, tickets)
        begun.append((tickets, float(context.budget_used)))
        play_out(self, search, threads, look)

    monkeypatch.setattr(Threads, "_play_out", watched)
    with searcher_of("threads", slow_start_nodes=1_024) as searcher:
        searcher.search(Board(), Limits(nodes=4_096))
        searcher.search(Board(), Limits(nodes=8_192))
    first, second = 1_023, 3_072
    assert begun == [(first, 0.0), (second, pytest.approx(first / 4_095)), (4_096, 0.0)]


@pytest.mark.parametrize("rule", ["puct", "sble"])
def test_slow_start_is_the_search_of_one_thread(rule: RuleName) -> None:
    """Move by move, to the last digit of the values."""
    found = []
    for threads in (1, 4):
        settings = Settings(hash=16, search_rule=rule, threads=threads, slow_start_nodes=6_000)
        with Searcher(inline_evaluator(Material()), settings) as searcher:
            rows = searcher.search(Board(MIDDLEGAME), Limits(nodes=6_000)).report.moves
            found.append([(row.move, row.visits, row.value, row.draw) for row in rows])
            assert sum(row.visits for row in rows) == 5_999
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("budget", "later", "left", "time", "surviving"),
    [
        (0, 0, 1 << 60, 0.0, 1024),  # no limit at all
        (5_000, 0, 5_000, 0.0, 1024),
        (5_000, 4_000, 1_000, 0.0, 1024),  # slow start has begun
        (5_000, 0, 4_000, 0.0, 256),  # a fifth is over: 2^(10 - 2)
        (5_000, 2_000, 1_750, 0.0, 256),
        (5_000, 0, 2_500, 0.0, 32),
        (5_000, 0, 2_500, 0.9, 2),  # the time is nearly up
        (5_000, 0, 50, 0.3, 2),
        (0, 0, 1 << 60, 0.5, 32),
    ],
)
def test_survivors_of_a_share(
    budget: int, later: int, left: int, time: float, surviving: int
) -> None:
    """ChessCoach: K = 2^(10 - floor(10 f)) at the root, f of the nodes or of the time."""
    control, memory, context = one_record(CONTROL), TreeMemory(1), ContextMemory(0).record
    control.budget, control.later, control.time_used = budget, later, time
    memory.edges[0]["visits"] = 700
    set_share(control, memory.record, context, left)
    assert context.root_visits == 700
    assert survivors(10.0, context.budget_used, context.root_visits, 700.0, 2_000) == surviving
