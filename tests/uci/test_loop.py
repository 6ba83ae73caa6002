"""Scripted sessions: what a GUI says and must hear, without a process in between."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kibitz.core.errors import EvaluationError
from kibitz.engine import Engine
from kibitz.engine.running import Search
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.search.limits import Clock, Limits
from kibitz.search.mcts.rules.parameters import OFF
from kibitz.search.options import Settings
from kibitz.search.searcher import BaseSearcher
from kibitz.uci.options import announced
from kibitz.uci.protocol import StandardInput
from kibitz.uci.session import LAGS_KEPT, LagMeter
from tests.uci.scripted import Gui

INFO = re.compile(
    r"info depth (\d+) seldepth \d+ time \d+ nodes (\d+) score (?:cp -?\d+|mate -?\d+)"
    r"(?: wdl (\d+) (\d+) (\d+))? hashfull \d+ nps \d+ tbhits \d+ multipv (\d+) pv (.+)"
)
SOON = 0.05  # seconds for the answer to `stop`


def infos(lines: list[str]) -> list[re.Match[str]]:
    """The info lines that report a search; each must have the order and form GUIs know."""
    shown = [
        line for line in lines if line.startswith("info ") and not line.startswith("info string")
    ]
    found = [INFO.fullmatch(line) for line in shown]
    assert None not in found, shown
    return [match for match in found if match]


def test_the_handshake_lists_every_option_with_its_range(gui: Gui) -> None:
    lines = gui.ask("uci", "uciok")
    assert lines[0].startswith("id name Kibitz ")
    assert lines[1].startswith("id author ")
    names = {line.split(" type ")[0].removeprefix("option name ") for line in lines[2:-1]}
    assert names == {row.uci for row in announced()} | {"Clear Hash"}
    assert "option name MultiPV type spin default 1 min 1 max 500" in lines
    assert "option name UCI_ShowWDL type check default false" in lines
    # What lichess-bot and cutechess set without asking.
    assert names >= {"Threads", "Hash", "SyzygyPath", "Move Overhead", "UCI_Chess960", "Ponder"}


def fails(*_: object) -> None:
    raise ZeroDivisionError("a fault of ours")


@pytest.mark.parametrize(
    ("owner", "place"), [(BaseSearcher, "search"), (Engine, "ready"), (Engine, "begin")]
)
def test_a_fault_of_ours_is_told_and_the_engine_goes_on(
    gui: Gui,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    owner: type,
    place: str,
) -> None:
    gui.say("position startpos moves e2e4")
    with monkeypatch.context() as patched:
        gui.ask("isready", "readyok")
        patched.setattr(owner, place, fails)
        lines = gui.ask("go nodes 20", "bestmove")
        Board(moves=["e2e4", lines[-1].split()[1]])  # legal
        (told,) = gui.expect("info string error")
        assert told == "info string error: ZeroDivisionError: a fault of ours"
        assert "in fails" in capfd.readouterr().err
        if place == "ready":
            gui.ask("isready", "readyok")
            gui.expect("info string error")
    assert infos(gui.ask("go nodes 20", "bestmove"))


def refuses(*_: object) -> None:
    raise EvaluationError("the network answers with nan")


def test_a_search_that_fails_has_a_move_and_no_score(
    gui: Gui, monkeypatch: pytest.MonkeyPatch
) -> None:
    gui.say("position startpos moves e2e4")
    gui.ask("isready", "readyok")
    monkeypatch.setattr(BaseSearcher, "search", refuses)
    lines = gui.ask("go nodes 20", "bestmove")
    assert lines[:-1] == ["info string error: the network answers with nan"]
    Board(moves=["e2e4", lines[-1].split()[1]])  # legal


def test_lines_have_the_known_order_and_legal_moves(gui: Gui) -> None:
    moves = "e2e4 e7e5 g1f3 b8c6"
    gui.say("setoption name UCI_ShowWDL value true", "setoption name MultiPV value 3")
    gui.say(f"position startpos moves {moves}")
    lines = gui.ask("go nodes 3000", "bestmove")
    reports = infos(lines)
    assert [int(match[6]) for match in reports[-3:]] == [1, 2, 3]
    for match in reports:
        board = Board(moves=moves.split())
        for move in match[7].split():
            board.push(move)
        assert sum(int(match[number]) for number in (3, 4, 5)) == 1000
    assert lines[-1].split()[1] == reports[-3][7].split()[0]
    assert " score " in lines[-2]


def test_nodes_are_exact(gui: Gui) -> None:
    for nodes in (1, 2, 100, 2500):
        gui.say("ucinewgame", "position startpos")
        reports = infos(gui.ask(f"go nodes {nodes}", "bestmove"))
        assert int(reports[-1][2]) == nodes


def test_searchmoves_confine_the_choice(gui: Gui) -> None:
    gui.say("position startpos")
    assert "bestmove a2a3" in gui.ask("go nodes 500 searchmoves a2a3", "bestmove")[-1]
    lines = gui.ask("go nodes 500 searchmoves a2a3 a2a5 h2h3", "bestmove")
    assert any("not legal here: a2a5" in line for line in lines)
    assert lines[-1].split()[1] in ("a2a3", "h2h3")


def test_words_that_are_no_moves_are_named_and_the_others_searched(gui: Gui) -> None:
    gui.say("position startpos")
    lines = gui.ask("go searchmoves zzzz a2a3 e2e5 nodes 300", "bestmove")
    assert any(line.endswith("go searchmoves: not legal here: zzzz e2e5") for line in lines)
    assert lines[-1].split()[1] == "a2a3"
    lines = gui.ask("go searchmoves zzzz e2e5 nodes 300", "bestmove")
    assert any("not legal here: zzzz e2e5; all moves are searched" in line for line in lines)
    assert infos(lines)[-1][2] == "300"


def test_searchmoves_are_read_as_the_moves_of_a_position(gui: Gui) -> None:
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    for castles in ("e1g1", "e1h1", "O-O", "0-0"):
        gui.say(f"position fen {fen} moves {castles}", f"position fen {fen}")
        lines = gui.ask(f"go nodes 100 searchmoves {castles}", "bestmove")
        assert lines[-1].split()[1] == "e1g1"
        assert not any("not legal" in line for line in lines)
    lines = gui.ask("go nodes 100 searchmoves -- a1a2", "bestmove")
    assert any(line.endswith("go searchmoves: not legal here: --") for line in lines)
    assert lines[-1].split()[1] == "a1a2"


@pytest.mark.parametrize(("clock", "side"), [("btime 200", "white"), ("wtime 200", "black")])
def test_a_clock_of_the_other_side_alone_is_taken_for_ours(gui: Gui, clock: str, side: str) -> None:
    gui.say("position startpos" if side == "white" else "position startpos moves e2e4")
    lines = gui.ask(f"go {clock}", "bestmove")
    told = f"info string go: no clock for {side}; the other side's is taken for it"
    assert told in lines
    assert told not in gui.ask(f"go {clock} nodes 50", "bestmove")
    assert told not in gui.ask("go wtime 200 btime 200", "bestmove")


def test_only_new_moves_of_a_position_are_played(gui: Gui, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed: list[str] = []
    push = Board.push

    def noted(board: Board, move: str) -> Move:
        pushed.append(move)
        return push(board, move)

    gui.ask("isready", "readyok")
    monkeypatch.setattr(Board, "push", noted)

    def played(moves: str) -> list[str]:
        pushed.clear()
        gui.say(f"position startpos moves {moves}")
        gui.ask("isready", "readyok")
        return pushed[:]

    assert played("e2e4 e7e5") == ["e2e4", "e7e5"]
    assert played("e2e4 e7e5 g1f3") == ["g1f3"]
    assert played("e2e4 e7e5 g1f3") == []
    assert played("e2e4 c7c5") == ["e2e4", "c7c5"]
    assert played("e2e4 c7c5 e4e6") == ["e4e6"]  # it is not legal, and the position stays
    assert (
        gui.all.count(
            "info string position: move 3 is not legal: 'e4e6'; the position stays as it was"
        )
        == 1
    )
    assert played("e2e4 c7c5 g1f3") == ["g1f3"]
    gui.say("setoption name UCI_Chess960 value true")
    assert played("e2e4 c7c5 g1f3") == ["e2e4", "c7c5", "g1f3"]
    gui.say("d")
    assert "2p5/4P3/5N2" in gui.expect("Fen:")[-1]


def test_kernels_are_loaded_when_the_rule_is_set(gui: Gui, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when a clock runs: they may have to be compiled."""
    from kibitz.engine import options

    warmed: list[tuple[str, int]] = []

    def noted(_: object, settings: Settings) -> None:
        warmed.append((settings.search_rule, settings.sc_limit))

    monkeypatch.setattr(options, "warm", noted)
    gui.say("setoption name SearchRule value azero")
    gui.ask("isready", "readyok")
    assert warmed == [("azero", OFF)]
    gui.say("setoption name SearchRule value sble")
    gui.ask("uci", "uciok")
    assert warmed[1:] == [("sble", OFF)]
    gui.say("setoption name ScLimit value 28")
    gui.ask("uci", "uciok")
    assert warmed[2:] == [("sble", 28)]
    gui.say("setoption name CPuct value 2")
    gui.ask("uci", "uciok")  # the same kernels
    assert warmed[3:] == []


def test_depth_mate_movetime_and_clock_end_by_themselves(gui: Gui) -> None:
    gui.say("position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1")
    for limit in ("depth 3", "mate 1", "movetime 50", "wtime 1000 btime 1000 winc 0 binc 0"):
        gui.say("ucinewgame")
        assert gui.ask(f"go {limit}", "bestmove")[-1].startswith("bestmove a1a8")
    assert any("score mate 1" in line for line in gui.all)


def test_alpha_beta_obeys_the_same_commands(gui: Gui) -> None:
    gui.say("setoption name Search value alphabeta")
    gui.ask("isready", "readyok")
    assert "info depth 5 " in gui.ask("go depth 5", "bestmove")[-2]
    assert " nodes 700 " in gui.ask("go nodes 700", "bestmove")[-2]
    gui.say("setoption name MultiPV value 3")
    assert " multipv 3 " in gui.ask("go nodes 3000", "bestmove")[-2]
    gui.say("go infinite", "stop")
    gui.expect("bestmove")
    gui.say("position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1")
    assert gui.ask("go mate 1", "bestmove")[-1].startswith("bestmove a1a8")


@pytest.mark.slow
def test_stop_answers_at_once(gui: Gui) -> None:
    gui.say("position startpos")
    gui.ask("isready", "readyok")
    for threads in (1, 2):
        gui.say(f"setoption name Threads value {threads}", "go infinite")
        gui.expect("info depth")
        times = []
        for _ in range(3):  # the best of three: the machine has other things to do
            time.sleep(0.2)
            started = time.perf_counter()
            gui.ask("stop", "bestmove [a-h]")
            times.append(time.perf_counter() - started)
            gui.say("go infinite")
        assert min(times) < SOON
        gui.ask("stop", "bestmove")


def test_a_stop_right_after_go_is_heard(gui: Gui) -> None:
    gui.ask("isready", "readyok")
    for _ in range(20):
        gui.say("position startpos", "go infinite", "stop")
        gui.expect("bestmove [a-h]")
    for _ in range(5):
        gui.say("go ponder wtime 60 btime 60", "ponderhit")
        gui.expect("bestmove [a-h]")
    assert gui.silent()


def test_an_infinite_search_that_is_done_waits_for_stop(gui: Gui) -> None:
    gui.say("position fen 7k/5Q2/6K1/8/8/8/8/8 w - - 0 1")
    gui.say("go infinite nodes 50")
    gui.expect("info depth")
    time.sleep(0.2)
    assert not any(line.startswith("bestmove") for line in gui.ask("isready", "readyok"))
    gui.ask("stop", "bestmove")


def test_pondering_ends_with_ponderhit_or_stop(gui: Gui) -> None:
    gui.say("position startpos moves e2e4 e7e5")
    for end in ("ponderhit", "stop"):
        gui.say("go ponder wtime 300 btime 300")
        time.sleep(0.4)  # longer than the clock: pondering has none
        assert not any(line.startswith("bestmove") for line in gui.ask("isready", "readyok"))
        gui.ask(end, "bestmove [a-h]")


@pytest.mark.parametrize(
    ("fen", "said"),
    [
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "info depth 0 score cp 0"),
        ("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1", "info depth 0 score mate 0"),
        ("8/8/8/4k3/8/4K3/8/8 w - - 0 1", "info depth 0 score cp 0"),
    ],
)
def test_a_finished_game_has_no_move(gui: Gui, fen: str, said: str) -> None:
    gui.say(f"position fen {fen}")
    assert gui.ask("go nodes 10", "bestmove")[-2:] == [said, "bestmove (none)"]


def test_options_are_refused_while_searching(gui: Gui) -> None:
    gui.say("position startpos", "go infinite")
    lines = "setoption name Threads value 2", "ucinewgame", "go nodes 5", "d", "eval", "bench", "~"
    for line in lines:
        gui.ask(line, f"info string {line.split()[0]} is refused while searching")
    gui.ask("isready", "readyok")
    gui.ask("stop", "bestmove")
    assert gui.session.engine.settings.threads == 1
    gui.say("setoption name Threads value 2")
    gui.ask("isready", "readyok")
    assert gui.session.engine.settings.threads == 2


def test_values_out_of_range_are_named_and_change_nothing(gui: Gui) -> None:
    gui.ask("isready", "readyok")
    before = gui.session.engine.settings
    for line, reason in (
        ("setoption name Hash value 0", "Hash: must be from 1 to"),
        ("setoption name Threads value many", "Threads: expected a whole number"),
        ("setoption name UCI_ShowWDL value maybe", "UCI_ShowWDL: expected true or false"),
        ("setoption name Treads value 1", "did you mean 'Threads'"),
        ("setoption name UCI_Chess96 value true", "did you mean 'UCI_Chess960'"),
        ("setoption name LogFile value /no/log", "LogFile: No such file or directory: '/no/log';"),
        ("setoption value 1", "setoption"),
        ("setoption name WeightsFile value /no/such.onnx", "no such file"),
    ):
        gui.say(line)
        assert reason in " ".join(gui.ask("isready", "readyok")[:-1])
    assert gui.session.engine.settings == before
    gui.say("position startpos")
    gui.ask("go nodes 10", "bestmove [a-h]")


def test_every_option_is_refused_while_searching_and_beyond_its_range(gui: Gui) -> None:
    rows = announced()
    gui.say("position startpos", "go infinite")
    gui.expect("info depth")
    for row in rows:
        gui.ask(f"setoption name {row.uci} value 1", "info string setoption is refused while")
    gui.ask("stop", "bestmove")
    engine = gui.session.engine
    before = engine.settings, engine.options, gui.session.options
    for row in rows:
        wrong = ["neither nor"] if row.kind is not str or row.choices else []
        wrong += [
            f"{end:.0f}" for end in (row.low and row.low - 1, row.high and row.high * 2) if end
        ]
        for value in wrong:
            gui.say(f"setoption name {row.uci.upper()} value {value}")
            gui.expect(f"info string .*{row.uci}: ")
    assert (engine.settings, engine.options, gui.session.options) == before


def test_chess960_castles_as_king_takes_rook(gui: Gui) -> None:
    fen = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    for value, castles in (("false", "e1g1"), ("true", "e1h1")):
        gui.say(f"setoption name UCI_Chess960 value {value}", f"position fen {fen}")
        assert gui.ask(f"go nodes 20 searchmoves {castles}", "bestmove")[-1].split()[1] == castles
        gui.say(f"position fen {fen} moves {castles}")
        assert "Fen: 4k3/8/8/8/8/8/8/5RK1 b - - 1 1" in gui.ask("d", "Checkers")


def test_verbose_statistics_come_before_the_last_score(gui: Gui) -> None:
    gui.say("setoption name VerboseMoveStats value true", "position startpos")
    lines = gui.ask("go nodes 200", "bestmove")
    rows = [line for line in lines if re.match(r"info string [a-h][1-8]\S+ +\(\d+ *\) N:", line)]
    assert len(rows) == 20
    assert any(line.startswith("info string node") for line in lines)
    assert " score " in lines[-2]


def test_weaker_by_elo_looks_at_fewer_nodes(gui: Gui) -> None:
    gui.say("setoption name UCI_LimitStrength value true", "setoption name UCI_Elo value 600")
    gui.say("position startpos")
    assert int(infos(gui.ask("go nodes 9000", "bestmove"))[-1][2]) == 100


def test_perft_counts_and_can_be_stopped(gui: Gui) -> None:
    gui.say("position startpos")
    lines = gui.ask("go perft 3", "Nodes searched")
    assert lines[-1] == "Nodes searched: 8902"
    assert "e2e4: 600" in lines
    gui.say("go perft 9")
    gui.ask("stop", "info string perft stopped")


def test_what_people_type(gui: Gui) -> None:
    gui.say("position startpos moves e2e4")
    fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
    assert gui.ask("~ fen", "rnbq")[-1] == fen
    gui.say("go nodes 200", "wait")
    gui.expect("bestmove")
    assert "Search value mcts" in gui.ask("~ puct", "info string.*no tree")[-1]
    gui.say("setoption name Search value mcts")
    gui.ask("isready", "readyok")
    assert "not searched" in gui.ask("~ puct", "info string.*searched")[-1]
    gui.say("go nodes 2000", "wait")
    gui.expect("bestmove")
    gui.ask("~ puct csv", "move,visits,pending,prior,value,draw,bonus,score,raw")
    rows = gui.ask("isready", "readyok")[:-1]
    assert {row.split(",")[0] for row in rows} == {str(move) for move in Board(fen).legal_moves}
    assert sum(int(row.split(",")[1]) for row in rows) == 1999  # and one of the root itself
    gui.ask("~ puct e7e5", " +move +visits")
    gui.ask("eval", "value [+-]0")
    gui.ask("bench 50", "Signature")
    gui.ask("d", "Fen: " + re.escape(fen))


def test_bench_has_one_signature(gui: Gui) -> None:
    first = gui.ask("bench 200", "Signature")[-1]
    assert gui.ask("bench 200", "Signature")[-1] == first


def test_the_log_holds_both_directions(gui: Gui, tmp_path: Path) -> None:
    log = tmp_path / "uci.log"
    gui.say(f"setoption name LogFile value {log}")
    gui.ask("isready", "readyok")
    gui.say("setoption name LogFile value <empty>")
    gui.ask("isready", "readyok")
    lines = log.read_text().splitlines()
    assert ">> isready" in lines
    assert "<< readyok" in lines
    assert lines[-1].startswith(">> setoption")


def test_the_end_of_the_input_is_answered() -> None:
    for last in ("quit", ""):
        with Gui() as gui:
            gui.say("position startpos", "go infinite", last)
            gui.leave()
            gui.expect("bestmove [a-h]")


def test_words_before_a_command_go_by(gui: Gui) -> None:
    gui.ask("joho isready", "readyok")
    gui.ask("go joho nodes 30 debug", "bestmove")


def test_the_last_move_is_commented_on(gui: Gui) -> None:
    gui.say("setoption name WeightsFile value material")
    gui.ask("comment", "info string comment: the position has no last move")
    gui.say("position startpos moves e2e4 e7e5 f1c4 b8c6 d1h5 g8f6")
    gui.ask("comment nobody", "info string comment: 'nobody'")
    gui.ask("comment beginner", ".*4.Qxf7#")
    gui.say("comment", "stop")
    gui.expect("info string comment stopped")
    assert gui.ask("d", "Fen: r1bqkb1r/pppp1ppp/2n2n2/4p2Q")


def test_kernels_may_be_compiled_on_a_thread_of_their_own() -> None:
    lines = StandardInput(iter(()))  # as ended input, it ends no program that compiles
    assert list(lines) == []
    with ThreadPoolExecutor() as pool:
        pool.submit(lines.set_compiling, True).result()
        pool.submit(lines.set_compiling, False).result()


class Time:
    """A clock that a test sets."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_the_lag_is_what_two_clocks_say_less_what_the_search_took() -> None:
    now = Time()
    meter = LagMeter(now)
    meter.begin(Clock(10_000, 100), 0)
    now.seconds = 1.0
    meter.end()
    meter.begin(Clock(9_050, 100), 2)  # 1 050 ms are gone, of which the search took 1 000
    assert meter.lag == meter.usual == 50
    now.seconds = 2.0
    meter.end()
    meter.begin(Clock(8_150, 100), 4)  # none is lost
    assert meter.lag == 50
    now.seconds = 3.0
    meter.end()
    meter.begin(Clock(7_200, 100), 20)  # another game, or moves taken back
    now.seconds = 4.0
    meter.end()
    meter.begin(Clock(60_000, 100), 22)  # the next time control
    meter.begin(None, 24)
    meter.begin(Clock(50_000, 100), 26)
    meter.begin(Clock(49_000, 100), 28)  # before the move before was sent
    assert meter.lag == 50


def test_the_lag_while_pondering_counts_from_the_hit() -> None:
    now = Time()
    meter = LagMeter(now)
    meter.begin(Clock(10_000), 0)
    now.seconds = 30.0
    meter.ponderhit()
    now.seconds = 31.0
    meter.end()
    meter.begin(Clock(8_800), 2)
    assert meter.lag == 200


def test_old_lags_are_forgotten() -> None:
    now = Time()
    meter = LagMeter(now)
    left = 1_000_000
    for move in range(LAGS_KEPT + 2):
        meter.begin(Clock(left), 2 * move)
        meter.end()
        left -= 900 if move == 0 else 10
        if move == 2:
            assert (meter.lag, meter.usual) == (900, 455)
    assert meter.lag == meter.usual == 10


def test_a_slow_gui_makes_the_engine_move_sooner(gui: Gui) -> None:
    given: list[Limits] = []
    begin = gui.session.engine.begin

    def heard(board: Board, limits: Limits | None = None) -> Search:
        assert limits is not None
        given.append(limits)
        return begin(board, limits)

    gui.session.engine.begin = heard  # type: ignore[method-assign]
    gui.say("position startpos")
    gui.ask("go wtime 60000 btime 60000 depth 1", "bestmove")
    assert gui.session.job is not None
    gui.session.job.thread.join()
    gui.say("position startpos moves e2e4 e7e5")
    gui.ask("go wtime 51000 btime 60000 depth 1", "bestmove")
    assert given[0].lag == 0
    assert 0 < given[1].lag <= 9000
