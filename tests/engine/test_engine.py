"""The engine as programs use it: options, streaming, stopping from other threads, errors."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from kibitz import Board, Engine, Limits
from kibitz.core.errors import ConfigError, FileError, InputError
from kibitz.engine.levels import STRONGEST, WEAKEST, handicap_of
from kibitz.engine.running import without_gc_pauses
from kibitz.nets.models.make import create
from kibitz.search.alphabeta.searcher import AlphaBeta
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.method import FEW_NODES
from kibitz.search.options import Settings

MATE_IN_ONE = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
SOON = 5.0  # seconds: for what takes milliseconds, on a machine that does something else, too


@pytest.fixture(scope="module")
def shared() -> Engine:
    engine = Engine("material", hash=16)
    engine.ready()
    return engine


@pytest.fixture
def engine(shared: Engine) -> Engine:
    shared.stop()
    shared.configure(**{name: getattr(Settings(), name) for name in ("multipv", "threads")})
    shared.new_game()
    return shared


def test_plays_a_mate_and_says_so(engine: Engine) -> None:
    result = engine.play(Board(MATE_IN_ONE), nodes=5000)
    assert str(result.move) == "a1a8"
    assert str(result.report.best.score) == "mate 1"
    assert engine.stats() == result.report


def test_nodes_are_exact(engine: Engine) -> None:
    assert engine.play(Board(), nodes=777).report.nodes == 777


def test_a_search_may_have_fewer_lines_than_multipv() -> None:
    with Engine("material", search="alphabeta", multipv=3) as engine:
        counts = [
            len(engine.play(Board(), Limits(nodes=500, lines=lines)).report.lines)
            for lines in (None, 1, 2, 9)
        ]
    assert counts == [3, 1, 2, 3]
    with pytest.raises(InputError, match="lines"):
        Limits(lines=0)


def test_a_board_pushed_meanwhile_is_another_position(engine: Engine) -> None:
    board = Board()
    reports = engine.analyse(board, Limits(nodes=3000))
    board.push("e4")
    move = reports.result().move
    assert move in Board().legal_moves


def test_analysis_streams_and_ends_when_it_is_left(engine: Engine) -> None:
    with engine.analyse(Board()) as reports:
        seen = [next(reports).nodes, next(reports).nodes]
    assert seen == sorted(seen)
    assert not engine.searching
    for report in engine.analyse(Board()):
        if report.nodes > 100:
            break
    assert engine.play(Board("8/8/8/8/8/4k3/4p3/4K3 w - - 0 1")).move is None  # waits its turn


def test_one_search_at_a_time_and_no_change_meanwhile(engine: Engine) -> None:
    with engine.analyse(Board()) as reports:
        next(reports)
        for refused in (
            lambda: engine.play(Board(), nodes=1),
            lambda: engine.set_option("Threads", "2"),
            lambda: engine.configure(multipv=2),
            engine.new_game,
            engine.ready,
        ):
            with pytest.raises(InputError, match="while the engine is searching"):
                refused()
    assert engine.settings.threads == 1


def test_a_stop_before_the_search_runs_counts(engine: Engine) -> None:
    search = engine.begin(Board(), Limits(infinite=True))
    search.stop()
    assert search.run().move is not None


def test_stop_and_ponderhit_come_from_other_threads(engine: Engine) -> None:
    for limits, end in (
        (Limits(infinite=True), engine.stop),
        (Limits(infinite=True, nodes=10), engine.stop),  # done, but not to be answered yet
        (Limits(ponder=True, movetime=20), engine.ponderhit),
        (Limits(ponder=True, nodes=10), engine.ponderhit),
    ):
        search = engine.begin(Board(), limits)
        with ThreadPoolExecutor() as pool:
            result = pool.submit(search.run)
            time.sleep(0.1)
            assert not result.done()
            end()
            assert result.result(SOON).move is not None


def test_a_ponderhit_before_the_search_runs_counts(engine: Engine) -> None:
    search = engine.begin(Board(), Limits(ponder=True, movetime=10))
    search.ponderhit()
    assert search.run().move is not None


def test_option_names_are_those_of_uci_in_any_case() -> None:
    engine = Engine("material")
    engine.set_option("move  OVERHEAD", "20")
    engine.set_option("EvalFile", "uniform")
    engine.set_option("UCI_ELO", "1000")
    engine.set_option("MultiPV", 3)
    engine.set_option("UCI_LimitStrength", value=True)
    assert engine.settings.move_overhead == 20
    assert (engine.settings.multipv, engine.options.limit_strength) == (3, True)
    assert engine.options.weights == "uniform"
    assert engine.options.elo == 1000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Hash", "0"),
        ("Hash", "much"),
        ("Hash", 16.0),
        ("Threads", "513"),
        ("Threads", True),
        ("UCI_Elo", "9"),
        ("SearchRule", "x"),
        ("SearchRule", 1),
    ],
)
def test_values_out_of_range_change_nothing(name: str, value: str | float) -> None:
    engine = Engine("material")
    before = engine.settings, engine.options
    with pytest.raises(ConfigError):
        engine.set_option(name, value)
    assert (engine.settings, engine.options) == before


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'Threads'"):
        Engine("material").set_option("Thread", "1")
    with pytest.raises(ConfigError, match="multipv"):
        Engine("material", multivp=2)


def test_a_missing_network_is_named_once_and_then_done_without(tmp_path: Path) -> None:
    with Engine(tmp_path / "gone.safetensors") as engine:
        with pytest.raises(FileError, match="gone"):
            engine.ready()
        engine.ready()
        assert engine.network == "material"


def test_a_calibration_of_no_use_is_named_once_and_then_done_without(tmp_path: Path) -> None:
    file = tmp_path / "bins.json"
    with Engine("material", search="bestfirst", bestfirst_file=str(file), hash=4) as engine:
        with pytest.raises(FileError, match=r"BestFirstFile: no such file: .*bins\.json"):
            engine.ready()
        engine.ready()
        assert engine.settings.bestfirst_file == ""
        assert engine.problems == []
        assert engine.play(Board(MATE_IN_ONE), depth=2).report.depth == 1
        file.write_text("{}")
        engine.configure(bestfirst_file=str(file))
        with pytest.raises(InputError, match="BestFirstFile: not a calibration"):
            engine.play(Board(), depth=1)
        assert engine.play(Board(), depth=1).move is not None


def test_only_what_a_searcher_is_built_with_builds_it_anew(engine: Engine) -> None:
    engine.play(Board(), nodes=200)
    searcher = engine.searcher
    engine.configure(multipv=3)
    assert len(engine.play(Board(), nodes=400).report.lines) == 3
    assert engine.searcher is searcher
    assert searcher is not None
    assert not searcher.update_settings(engine.settings.with_(cpuct=2.0))
    assert not searcher.update_settings(engine.settings.with_(hash=17))


def test_an_elo_limits_nodes() -> None:
    with Engine("material", hash=4, limit_strength=True, elo=900) as engine:
        assert engine.play(Board(), nodes=5000).report.nodes == handicap_of(900).nodes
        assert engine.searcher is not None
        assert engine.searcher.settings.root_policy_temperature == handicap_of(900)[2]
        engine.configure(limit_strength=False, skill=0)
        engine.new_game()
        assert engine.play(Board(), nodes=5000).report.nodes == handicap_of(WEAKEST).nodes


def test_what_limited_strength_searches_with_is_ready_before_the_first_move() -> None:
    with Engine("material", hash=4, skill=3) as engine:
        engine.ready()
        made = engine.searcher
        engine.play(Board(), nodes=10)
        engine.ready()
        assert engine.searcher is made


def test_ready_waits_for_what_a_search_does_in_the_background(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[AlphaBeta] = []
    monkeypatch.setattr(AlphaBeta, "ready", lambda search: waited.append(search))
    with Engine("material", hash=4, search="alphabeta") as engine:
        engine.ready()
        assert waited == [engine.searcher]


def test_more_threads_than_processors_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kibitz.engine.engine.processors", lambda: 2)
    with Engine("material", hash=4, threads=2) as engine:
        engine.ready()
        assert engine.problems == []
        engine.configure(threads=3)
        engine.ready()
        assert engine.problems == ["Threads 3: only 2 processors; more slow each other down"]


def test_a_kind_of_search_is_warmed_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed = []
    monkeypatch.setattr("kibitz.engine.options.warm", lambda *args: warmed.append(args))
    with Engine("material", hash=4) as engine:
        for changes in ({}, {"hash": 5}, {"search": "mcts"}, {"search": "alphabeta"}):
            engine.configure(**changes)
            engine.ready()
    assert len(warmed) == 2


def test_what_few_nodes_search_with_can_be_ready() -> None:
    with Engine("material", hash=4) as engine:
        engine.ready(Limits(nodes=50))
        searcher = engine.searcher
        engine.play(Board(), nodes=50)
        assert engine.searcher is searcher


def test_more_elo_is_never_weaker() -> None:
    steps = [handicap_of(elo) for elo in range(WEAKEST, STRONGEST + 1)]
    for weaker, stronger in pairwise(steps):
        assert weaker.nodes <= stronger.nodes
        assert weaker.temperature >= stronger.temperature
        assert weaker.policy_temperature >= stronger.policy_temperature
        assert weaker != stronger  # every point counts


NOTHING_NEW = """
import gc
from numba.core.dispatcher import Dispatcher
from kibitz import Board, Engine, Limits

def compiled():
    found = (one for one in gc.get_objects() if isinstance(one, Dispatcher))
    return {one.py_func.__qualname__ for one in found if one.signatures}

with Engine("material", hash=1, search="{search}") as engine:
    engine.ready()
    before = compiled()
    assert "{kernel}" in before, "the compiler is switched off"
    for fen in ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", Board().fen()):
        board, clock = Board(fen), Limits(wtime=500, btime=500, winc=10, binc=10)
        while board.outcome(claim=True) is None and board.ply < 16:
            board.push(engine.play(board, clock).move)
    engine.play(Board(), movetime=300)
    print(*compiled() - before)
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
@pytest.mark.parametrize(("search", "kernel"), [("mcts", "compact"), ("alphabeta", "iterate")])
def test_no_move_waits_for_the_compiler(search: str, kernel: str) -> None:
    code = NOTHING_NEW.replace("{search}", search).replace("{kernel}", kernel)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_housekeeping_is_as_before_afterwards() -> None:
    gc.unfreeze()  # what UCI sessions in this process have frozen
    before = sys.getswitchinterval()
    with without_gc_pauses():
        assert sys.getswitchinterval() < before
        assert gc.get_freeze_count() > 0
    assert (sys.getswitchinterval(), gc.get_freeze_count()) == (before, 0)
    gc.freeze()
    frozen = gc.get_freeze_count()
    with without_gc_pauses():
        pass
    assert gc.get_freeze_count() >= frozen, "a program's own freeze stays"
    gc.unfreeze()


def test_a_move_in_a_hurry_looks_at_the_clock_often() -> None:
    """The search asks every millisecond or so, not every five, and on the calling thread."""
    with Engine("material", hash=16, search="mcts") as engine:
        engine.ready()
        assert isinstance(engine.searcher, Searcher)
        driver, looks = engine.searcher.driver, 0

        def look() -> bool:
            nonlocal looks
            looks += 1
            return looks == 5

        engine.play(Board(), nodes=2)
        done = driver.run([1 << 40], look, by_playouts=False, short=True)
        assert 64 <= done < 64 * 2**5, "five pieces, each at most twice the last"
        assert driver.work.pool is None
        assert driver.run([100], lambda: False, short=True) == 100


def test_one_node_with_batches(tmp_path: Path) -> None:
    create("sparse-64", tmp_path / "little.safetensors")
    with Engine(tmp_path / "little.safetensors", backend="torch", hash=4) as engine:
        assert engine.play(Board(), nodes=1).report.root.visits == 1
        hurried = Limits(wtime=60, btime=60)
        assert engine.play(Board(), hurried).move in Board().legal_moves


def test_close_ends_a_search() -> None:
    engine = Engine("uniform", hash=4)
    reports = engine.analyse(Board())
    next(reports)
    engine.close()
    assert not engine.searching
    assert reports.result().move is not None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Board(None), "FEN: 'None'; expected a text"),  # type: ignore[arg-type]
        (lambda: Board().push(5), "move: '5'; expected SAN"),  # type: ignore[arg-type]
        (lambda: Engine(5), "a network: 5; give a file's path"),  # type: ignore[arg-type]
        (lambda: Limits(nodes="many"), "go nodes: 'many'; expected a whole number"),  # type: ignore[arg-type]
        (lambda: Limits(movetime=0.5), "go movetime: 0.5; expected a whole number"),  # type: ignore[arg-type]
    ],
)
def test_what_is_of_another_type_is_named(wrong: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError) as raised:
        wrong()
    assert said in str(raised.value)


def test_where_few_nodes_are_asked_the_tree_search_answers() -> None:
    with Engine("material", hash=16) as own:
        for nodes, kind in ((FEW_NODES, Searcher), (FEW_NODES + 1, AlphaBeta)):
            own.play(Board(), nodes=nodes)
            assert type(own.searcher) is kind
        own.play(Board(), Limits(nodes=100, depth=1))  # a depth is one of alpha-beta
        assert type(own.searcher) is AlphaBeta
        own.set_option("Search", "alphabeta")
        own.play(Board(), nodes=100)
        assert type(own.searcher) is AlphaBeta
