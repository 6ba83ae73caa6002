"""Time: the published figures of other managers, and that ours never loses on time."""

from __future__ import annotations

import doctest
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.core.errors import InputError
from kibitz.search import clock as clock_module
from kibitz.search.clock import (
    BestMoveInstability,
    Budget,
    Reason,
    Standing,
    Timer,
    budget,
    budget_of_clock,
    chesscoach_time,
    dlchess_percent_time,
    dlchess_simple_time,
    sampled,
    soft_limit,
    verdict,
)
from kibitz.search.limits import Clock, Limits
from kibitz.search.options import Settings
from kibitz.search.proof import DRAW, TABLEBASE

QUIET = BestMoveInstability(samples=10)
PLAN = Budget(1000.0, 4000.0)


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        (Clock(60_000, 600), 2325),
        (Clock(900_000, 0, 40), 27_993),
        (Clock(1500), 150),
        (Clock(1000), 150),
        (Clock(300_000, 3000), 12_150),
    ],
)
def test_chesscoach(clock: Clock, expected: float) -> None:
    assert chesscoach_time(clock) == expected


@pytest.mark.parametrize(
    ("clock", "ply", "expected"),
    [
        (Clock(120_000, 1000), 0, 3173.4),
        (Clock(120_000, 1000), 40, 5520.5),
        (Clock(60_000), 80, 3178.7),
    ],
)
def test_dlchess(clock: Clock, ply: int, expected: float) -> None:
    assert dlchess_simple_time(clock, ply) == pytest.approx(expected, abs=0.05)


def test_dlchess_with_little_time() -> None:
    assert dlchess_percent_time(Clock(60_250)) == 3000.0
    assert dlchess_percent_time(Clock(100)) == 0.0
    assert dlchess_simple_time(Clock(100, 10_000), 0) == 0.0
    assert dlchess_simple_time(Clock(1000, 10_000), 0) == 750.0


# --- our own --------------------------------------------------------------------------------------

clocks = st.builds(
    Clock,
    st.integers(0, 10_000_000),
    st.one_of(st.just(0), st.integers(0, 600_000)),
    st.one_of(st.none(), st.just(1), st.integers(1, 100)),
)
overheads = st.integers(0, 5000)


@given(clocks, st.integers(0, 1000), overheads)
def test_a_budget_leaves_the_overhead_on_the_clock(clock: Clock, ply: int, overhead: int) -> None:
    plan = budget_of_clock(clock, ply, overhead)
    assert 0.0 <= plan.soft <= plan.hard <= max(0.0, clock.left - overhead) + 0.1


@given(clocks, st.integers(0, 1000), overheads)
def test_no_manager_exceeds_the_clock(clock: Clock, ply: int, overhead: int) -> None:
    limits = Limits(wtime=clock.left)
    for manager in ("chesscoach", "dlchess", "dlchess-percent"):
        settings = Settings(time_manager=manager, move_overhead=overhead)
        plan = budget(limits, clock, ply, settings)
        assert plan is not None
        assert plan.hard <= max(0, clock.left - overhead)


@given(
    st.integers(60, 600_000), st.sampled_from([0, 10, 100, 5000]), st.integers(0, 60), st.booleans()
)
def test_a_game_at_the_hard_limit_is_never_lost_on_time(
    start: int, increment: int, overhead: int, always: bool
) -> None:
    left = float(start)
    for ply in range(0, 600, 2):
        plan = budget_of_clock(Clock(int(left), increment), ply, overhead)
        used = plan.hard if always or ply % 5 == 0 else plan.soft
        assert left - used >= min(left, overhead) - 0.1
        lag = overhead if left - used > overhead else 0.0
        left += increment - used - lag


@given(st.integers(1, 60), st.integers(1000, 100_000))
def test_all_moves_of_a_time_control_get_their_share(moves: int, start: int) -> None:
    left, shares = float(start), []
    for to_go in range(moves, 0, -1):
        plan = budget_of_clock(Clock(int(left), 0, to_go), 0, 0)
        shares.append(plan.soft)
        left -= plan.soft
    assert left >= 0.0
    assert min(shares) >= 0.5 * start / moves - 2.0


def test_longer_clocks_give_more_time() -> None:
    def soft(left: int, increment: int, ply: int = 0) -> float:
        return budget_of_clock(Clock(left, increment), ply, 50).soft

    assert soft(120_000, 0) > soft(60_000, 0) > soft(10_000, 0) > soft(1_000, 0) > 0.0
    assert soft(60_000, 1000) > soft(60_000, 0)
    assert soft(60_000, 0, ply=80) > soft(60_000, 0, ply=0)  # fewer moves are left


def test_limits_choose_the_budget() -> None:
    settings = Settings(move_overhead=100)
    clock = Limits(wtime=60_000, winc=600).clock("white")
    assert clock == Clock(60_000, 600)
    assert budget(Limits(movetime=5), None, 0, settings) == Budget(5.0, 5.0, exact=True)
    assert budget(Limits(nodes=100), None, 0, settings) is None
    assert budget(Limits(infinite=True, wtime=1), clock, 0, settings) is None
    assert budget(Limits(ponder=True, wtime=1), clock, 0, settings) is None
    assert budget(Limits(wtime=60_000), clock, 0, settings) == budget_of_clock(clock, 0, 100)
    chesscoach = settings.with_(time_manager="chesscoach")
    assert budget(Limits(), clock, 0, chesscoach) == Budget(2325.0, 2325.0)
    assert budget(Limits(), Clock(120), 0, chesscoach) == Budget(20, 20)


def test_limits_are_checked() -> None:
    assert Limits(btime=-20).clock("black") == Clock(0)
    assert Limits(btime=20).clock("white") is None
    assert Limits(btime=20, movestogo=0).clock("black") == Clock(20)
    assert Limits().unlimited
    assert Limits(nodes=1, infinite=True).unlimited
    assert not Limits(wtime=1).unlimited
    with pytest.raises(InputError, match="go nodes"):
        Limits(nodes=0)


# --- when to stop ---------------------------------------------------------------------------------


def test_calm_searches_end_before_the_soft_limit_and_restless_ones_after() -> None:
    calm = soft_limit(PLAN, QUIET)
    changed = soft_limit(PLAN, sampled(QUIET, move=7, value=0.0))
    dropped = soft_limit(PLAN, sampled(sampled(QUIET, 0, 0.5), 0, 0.3))
    assert calm < 1000.0 < changed < 4000.0
    assert dropped > 1000.0
    worst = BestMoveInstability(changes=50.0, highest=1.0, value=-1.0)
    assert soft_limit(PLAN, worst) <= PLAN.hard


def test_changes_fade() -> None:
    unrest = sampled(sampled(BestMoveInstability(), 1, 0.0), 2, 0.0)
    assert unrest.changes == 1.0
    for _ in range(20):
        unrest = sampled(unrest, 2, 0.0)
    assert unrest.changes < 0.01


@pytest.mark.parametrize(
    ("plan", "elapsed", "standing", "visits_per_ms", "reason"),
    [
        (PLAN, 10.0, Standing(20, 500, 100), 0.0, None),
        (PLAN, 10.0, Standing(1, 1, 0), 0.0, Reason.ONE_MOVE),
        (PLAN, 4000.0, Standing(20, 500, 499), 0.0, Reason.HARD),
        (PLAN, 860.0, Standing(20, 500, 499), 0.0, Reason.SOFT),
        (PLAN, 600.0, Standing(20, 500, 100), 1.0, Reason.DECIDED),
        (PLAN, 600.0, Standing(20, 500, 450), 1.0, None),
        (PLAN, 0.1, Standing(20, 5, 1, proof=1), 0.0, Reason.MATE),
        (PLAN, 10.0, Standing(20, 5, 1, proof=7), 0.0, None),
        (PLAN, 100.0, Standing(20, 5, 1, proof=7), 0.0, Reason.MATE),
        (PLAN, 100.0, Standing(20, 5, 1, proof=-6), 0.0, None),
        (PLAN, 100.0, Standing(20, 5, 1, proof=TABLEBASE), 0.0, None),
        (PLAN, 100.0, Standing(20, 5, 1, proof=DRAW), 0.0, None),
        (Budget(50.0, 50.0, exact=True), 49.0, Standing(1, 500, 0, 1), 1e9, None),
        (Budget(50.0, 50.0, exact=True), 50.0, Standing(20, 5, 1), 0.0, Reason.HARD),
        (Budget(0.0, 0.0), 0.0, Standing(20, 5, 1), 0.0, Reason.HARD),
    ],
)
def test_verdicts(
    plan: Budget, elapsed: float, standing: Standing, visits_per_ms: float, reason: Reason | None
) -> None:
    assert verdict(plan, elapsed, standing, QUIET, visits_per_ms) is reason


@given(
    st.floats(0, 10_000),
    st.builds(
        Standing,
        st.integers(1, 218),
        st.integers(0, 10**9),
        st.just(0),
        st.integers(-400, 400),
    ),
    st.builds(
        BestMoveInstability, st.integers(0, 9), st.floats(0, 9), st.floats(-1, 1), st.floats(-1, 1)
    ),
    st.floats(0, 1e6),
)
def test_no_search_goes_on_beyond_the_hard_limit(
    elapsed: float, standing: Standing, unrest: BestMoveInstability, visits_per_ms: float
) -> None:
    reason = verdict(PLAN, elapsed, standing, unrest, visits_per_ms)
    assert (elapsed < PLAN.hard) or reason is Reason.HARD


# --- the timer ------------------------------------------------------------------------------------


def test_the_share_of_time_is_that_of_the_soft_limit() -> None:
    def share(limits: Limits) -> float:
        return Timer(limits, "white", 0, Settings()).share_used

    assert 0.0 < share(Limits(movetime=10**9)) < 0.01
    assert share(Limits(wtime=0, winc=0)) == 0.0  # nothing to take a share of
    assert share(Limits(infinite=True)) == 0.0
    hardly_any = Timer(Limits(movetime=1), "white", 0, Settings())
    while hardly_any.elapsed_ms < 1.0:
        pass
    assert hardly_any.share_used == 1.0


def test_the_time_before_ponderhit_counts_in_reports() -> None:
    """Only the limits begin anew; nodes and their rate are those of the whole search."""
    timer = Timer(Limits(ponder=True, movetime=10**6), "white", 0, Settings())
    assert timer.budget is None
    assert not timer.is_over(Standing(20, 500, 499))
    timer.start_own_clock(visits=0)
    assert timer.budget == Budget(10.0**6, 10.0**6, exact=True)
    ours = timer.elapsed_ms
    assert timer.since_go_ms > ours


def test_examples_in_the_docstrings() -> None:
    assert doctest.testmod(clock_module).failed == 0


@pytest.mark.parametrize("increment", [0, 20, 100, 2000])
def test_only_what_moves_cost_above_the_increment_is_put_aside(increment: int) -> None:
    settings, limits = Settings(), Limits(wtime=1000, winc=increment, lag=30)

    def planned(usual: int) -> Budget | None:
        known = replace(limits, usual_lag=usual)
        return budget(known, known.clock("white"), 20, settings)

    assert planned(increment) == planned(0)
    usual, more = planned(20), planned(25)
    assert usual is not None
    assert more is not None
    if increment == 20:
        assert more.soft < 0.9 * usual.soft
    else:
        assert more == planned(0)


def test_a_clock_that_gains_less_than_moves_cost_lasts_for_a_game() -> None:
    def lowest(usual: int) -> float:
        left, low, settings = 1000.0, 1000.0, Settings(move_overhead=20)
        for ply in range(0, 100, 2):
            limits = Limits(wtime=int(left), winc=10, lag=20, usual_lag=usual)
            planned = budget(limits, limits.clock("white"), ply, settings)
            assert planned is not None
            left += 10 - 20 - planned.soft
            low = min(low, left)
        return low

    assert lowest(20) > 50 > lowest(0)


def test_what_moves_cost_besides_is_left_on_the_clock() -> None:
    settings = Settings()
    limits = Limits(wtime=200, winc=600)

    def hard(lag: int) -> float:
        planned = budget(replace(limits, lag=lag), limits.clock("white"), 60, settings)
        assert planned is not None
        return planned.hard

    assert hard(settings.move_overhead) == hard(0)
    assert hard(150) == pytest.approx(0.6 * 50)
    assert hard(150) + 150 < 200 < hard(0) + 150
