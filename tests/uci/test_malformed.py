"""Whatever a GUI or a cat on the keyboard sends, the engine answers what comes after."""

import random
import resource
import threading
from pathlib import Path

import pytest

from kibitz.core.options import Option
from kibitz.uci.options import all_options
from tests.uci.scripted import Gui

MALFORMED = [
    "",
    "   \t ",
    "\0\0\0",
    "go",
    "go depth",
    "go depth x",
    "go nodes -5",
    "go nodes 99999999999999999999999999 movetime 1",
    "go wtime -100 btime -100",
    "go movestogo 0 wtime 10 btime 10",
    "go mate 0 nodes 3",
    "go searchmoves",
    "go searchmoves e7e5 nodes 3",
    "go perft",
    "go perft 0",
    "go perft 9999",
    "go \u0663 nodes \u0663",
    "position",
    "position startpos moves e2e5",
    "position startpos moves x",
    "position startpos e2e4",
    "position fen",
    "position fen moves e2e4",
    "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
    "position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBN w KQkq - 0 1",
    "position fen kkkkkkkk/8/8/8/8/8/8/KKKKKKKK w - - 0 1",
    "position fen " + "9" * 500,
    "setoption",
    "setoption name",
    "setoption name value",
    "setoption name Hash",
    "setoption name Hash value",
    "setoption name Hash value 1e99",
    "setoption name Hash value -1",
    "setoption name Hash value nan",
    "setoption name CPuct value nan",
    "setoption name CPuct value inf",
    "setoption name SyzygyPath value " + "x" * 5000,
    "setoption name SyzygyPath value /dev/null",
    "setoption name WeightsFile value /",
    "setoption name WeightsFile value a\0b",
    "setoption name LogFile value /no/such/folder/file",
    "setoption name LogFile value " + "x" * 5000,
    "setoption name Clear Hash",
    "setoption name SearchRule value gumbel",
    "setoption name SearchRule value puct",
    "ponderhit",
    "stop",
    "ucinewgame",
    "debug on",
    "register later",
    "wait",
    "bench x",
    "bench 0",
    "~",
    "~ puct",
    "~ puct e2e4 e2e4",
    "~ nothing",
    "\ud83d\ude00 \u2654 isreadyy",
    "x" * 100_000,
]


def survives(gui: Gui) -> None:
    """The engine still plays chess."""
    gui.say("stop")
    gui.ask("isready", "readyok")
    gui.say("setoption name SearchRule value puct", "setoption name Hash value 4")
    gui.say("position startpos")
    gui.ask("isready", "readyok")
    gui.say("go nodes 50 searchmoves e2e4")
    gui.expect("bestmove e2e4")


@pytest.mark.parametrize("line", MALFORMED, ids=range(len(MALFORMED)))
def test_each_malformed_line_is_survived(gui: Gui, line: str) -> None:
    gui.say(line)
    survives(gui)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("go depth -3", "go depth: -3 is taken for 1, the least"),
        ("go nodes 0", "go nodes: 0 is taken for 1, the least"),
        ("go nodes 9 winc -5", "go winc: -5 is taken for 0, the least"),
        ("go dpeth 5", "go: not known: dpeth 5"),
        ("go depth x", "go depth: expected a whole number, found 'x'"),
    ],
)
def test_what_go_takes_otherwise_is_said_and_a_move_is_made(gui: Gui, line: str, told: str) -> None:
    gui.say(line)
    assert f"info string {told}" in gui.expect("bestmove")


@pytest.mark.parametrize("depth", ["0", "-1"])
def test_perft_without_a_ply_is_refused(gui: Gui, depth: str) -> None:
    gui.say(f"go perft {depth}")
    gui.expect(f"info string go perft: expected 1 or more, found {depth}")


@pytest.mark.parametrize("move", ["e1e3", "zz", "e7e5"])
def test_a_move_that_is_not_legal_is_named_and_the_position_stays(gui: Gui, move: str) -> None:
    gui.say("position startpos moves d2d4", f"position startpos moves e2e4 e7e5 {move} g8f6")
    wanted = f"info string position: move 3 is not legal: '{move}'; the position stays as it was"
    assert gui.expect("info string position")[-1] == wanted
    gui.say("d")
    assert "pppppppp/8/8/3P4/8/" in gui.expect("Fen:")[-1]


def test_moves_without_the_word_are_named_and_the_position_stays(gui: Gui) -> None:
    gui.say("position startpos moves d2d4", "position startpos e2e4 e7e5")
    assert gui.expect("info string position")[-1] == (
        "info string position startpos: 'e2e4 e7e5'; "
        "expected the word moves before them; the position stays as it was"
    )
    gui.say("d")
    assert "pppppppp/8/8/3P4/8/" in gui.expect("Fen:")[-1]
    gui.say("position startpos moves", "d")
    assert "pppppppp/8/8/8/8/PPPPPPPP/" in gui.expect("Fen:")[-1]


WORDS = [
    "uci",
    "isready",
    "setoption",
    "ucinewgame",
    "position",
    "go",
    "stop",
    "ponderhit",
    "debug",
    "register",
    "wait",
    "d",
    "eval",
    "~",
    "name",
    "value",
    "startpos",
    "fen",
    "moves",
    "e2e4",
    "e7e5",
    "g1f3",
    "e1g1",
    "a7a8q",
    "0000",
    "infinite",
    "ponder",
    "nodes",
    "depth",
    "movetime",
    "wtime",
    "btime",
    "winc",
    "binc",
    "movestogo",
    "mate",
    "searchmoves",
    "perft",
    "puct",
    "csv",
    "Hash",
    "Threads",
    "MultiPV",
    "Ponder",
    "UCI_ShowWDL",
    "UCI_Chess960",
    "VerboseMoveStats",
    "true",
    "false",
    "1",
    "2",
    "3",
    "0",
    "-1",
    "7",
    "100",
    "<empty>",
    "joho",
]
SENTENCES = [
    "isready",
    "position startpos moves e2e4 e7e5 g1f3",
    "position fen r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1 moves e1g1",
    "position fen 8/8/8/8/8/4k3/4p3/4K3 w - - 0 1",
    "go nodes 20",
    "go infinite",
    "go movetime 2",
    "go wtime 20 btime 20 winc 1 binc 1",
    "go ponder nodes 10",
    "go perft 2",
    "stop",
    "ponderhit",
    "ucinewgame",
    "d",
    "~ puct csv e2e4",
    "setoption name MultiPV value 3",
    "setoption name UCI_Chess960 value true",
    "setoption name Hash value 3",
    "setoption name Clear Hash",
]
MUTATIONS = 4


def mutated(generator: random.Random) -> str:
    """A sentence with words and letters changed, or words in any order."""
    if generator.random() < 0.2:
        return " ".join(generator.choices(WORDS, k=generator.randrange(1, 9)))
    words = generator.choice(SENTENCES).split()
    for _ in range(generator.randrange(MUTATIONS)):
        place = generator.randrange(len(words))
        match generator.randrange(5):
            case 0:
                words[place] = generator.choice(WORDS)
            case 1:
                words.insert(place, generator.choice(WORDS))
            case 2:
                words[place] = words[place][::-1]
            case 3:
                words[place] += chr(generator.randrange(1, 0x500))
            case _:
                words.append(words[place])
    return " ".join(words)


def allowed(line: str) -> bool:
    """Whether a line may be sent: not one that ends the session or counts for hours."""
    words = line.split()
    return "quit" not in words and "eval" not in words and "100" not in words


def fuzz(gui: Gui, lines: int, seed: int) -> None:
    generator = random.Random(seed)
    sent = 0
    while sent < lines:
        line = mutated(generator)
        if not allowed(line):
            continue
        gui.say(line)
        sent += 1
        if sent % 50 == 0:
            gui.say("stop")
            gui.ask("isready", "readyok")
    survives(gui)


def test_two_thousand_mutated_lines(gui: Gui) -> None:
    fuzz(gui, 2_000, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_a_hundred_thousand_mutated_lines(gui: Gui, seed: int) -> None:
    fuzz(gui, 10_000, seed)


# --- options with hostile values ------------------------------------------------------------------

HOSTILE = [
    "",
    "0",
    "-0",
    "-1",
    "+-5",
    "--5",
    "+ 5",
    "1_0",
    "0x10",
    "1e9",
    "1e99",
    "1e999",
    "-1e999",
    "nan",
    "inf",
    "9" * 30,
    "-" + "9" * 31,
    "9" * 5_000,
    "0." + "0" * 5_000 + "1",
    "18446744073709551616",
    "\u0663",
    "\u00b2",
    "\ud800",
    "true",
    "TRUE false",
    "<empty>",
    "<autodiscover>",
    "value",
    "name value name",
    "a=b,=,threads=9999999999,batch=-1,device=\u0663",
    "/",
    "/dev/full",
    "..",
    "~nobody/x",
    "http://[",
    "file://",
    "{data}%s%n",
    "x" * 5_000,
    ":".join("abc" for _ in range(500)),
]
KERNELS = ("Search", "SearchRule", "ScLimit", "Backend")  # others than those set are compiled
LONGEST_ANSWER = 2_100  # characters of a line
MOST_MEMORY = 2 << 20  # KiB more than before


def hostile_value(option: Option, generator: random.Random) -> str:
    """A value for an option: at its bounds, beyond them, or nothing like it."""
    near = [str(option.default), *map(str, option.choices)]
    if option.low is not None and option.high is not None:
        low, high = option.low, option.high
        near += [str(value) for value in (low, high, low - 1, high + 1, high * 1000, -high)]
    safe = option.uci not in KERNELS
    return generator.choice(near if safe and generator.random() < 0.4 else HOSTILE)


def hostile(generator: random.Random) -> str:
    """A line that sets an option, or one that is mutated."""
    if generator.random() < 0.4:
        line = mutated(generator)
        return line if allowed(line) else "stop"
    option = generator.choice(all_options())
    return f"setoption name {option.uci} value {hostile_value(option, generator)}"


@pytest.mark.parametrize("lines", [1_500, pytest.param(5_000, marks=pytest.mark.slow)])
def test_hostile_lines_leave_no_traceback_and_no_value_beyond_its_range(
    lines: int,
    gui: Gui,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # LogFile takes any name
    gui.ask("isready", "readyok")
    generator, threads = random.Random(5), threading.active_count()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(lines):
        gui.say(hostile(generator))
        if number % 10 == 9:
            gui.say("stop")
            if number % 50 == 49:  # 512 threads, once asked for, would slow all that follows
                gui.say("setoption name Threads value 2")
            gui.ask("isready", "readyok")
    survives(gui)
    gui.leave()  # all lines are obeyed, all searches have answered
    while not gui.silent():
        gui.all.append(gui.heard.get())

    assert "Traceback" not in capfd.readouterr().err
    faults = [line for line in gui.all if line.startswith("info string error")]
    assert faults == []
    assert max(map(len, gui.all)) < LONGEST_ANSWER
    engine = gui.session.engine
    values = vars(engine.settings) | vars(engine.options) | vars(gui.session.options)
    for option in all_options():
        if option.low is not None and option.high is not None:
            assert option.low <= values[option.name] <= option.high
    assert threading.active_count() < threads  # the session's own has ended, too
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < MOST_MEMORY
