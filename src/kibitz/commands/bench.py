"""`kibitz bench`: the speed of this machine, one bench for every room that has to be fast.

every room -> **measurements** -> tables
"""

from __future__ import annotations

import platform
from contextlib import ExitStack
from itertools import product
from typing import Annotated, Any

from cyclopts import App, Parameter

from kibitz.bench.rivals import Counter, Timed, installed, timed
from kibitz.commands.arguments import JsonFlag
from kibitz.commands.output import EXIT_STOPPED, columns, emit
from kibitz.errors import InputError
from kibitz.log import graceful_stop, progress, say
from kibitz.position.count import leaves
from kibitz.position.fen import parse_fen

EXIT_MISMATCH = 1
OURSELVES = "kibitz"

# The six positions that everybody counts (chessprogramming.org, "Perft Results"), and how deep.
CLASSIC = (
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 6),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 5),
    ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 7),
    ("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 5),
    ("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", 5),
    ("r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10", 5),
)

bench = App(name="bench", help="Measure the speed of this machine.", result_action="return_value")
for _name, _home, _help in (
    ("encoding", "bench_encoding:encoding", "Encode positions in every layout, on one core."),
    ("evaluate", "bench_evaluate:evaluate", "Judge positions with networks of every family."),
    ("search", "bench_search:search", "Search with every evaluator and rule."),
):
    bench.command(f"kibitz.commands.{_home}", name=_name, help=_help)


@bench.command
def position(
    *,
    rounds: Annotated[int, Parameter(help="Measure so often; the fastest round counts.")] = 3,
    plies: Annotated[int, Parameter(help="Take away from (or add to) every depth.")] = 0,
    json: JsonFlag = False,
) -> int:
    """Count the classic perft positions against other generators, in turns on one thread."""
    if rounds < 1 or plies < -3:
        raise InputError("--rounds at least 1, --plies at least -3", value=(rounds, plies))
    rivals = installed()
    with ExitStack() as stack, graceful_stop() as stop:
        counters: dict[str, tuple[Counter, int]] = {OURSELVES: (_count, 0)}
        for rival in rivals:
            counters[rival.name] = (stack.enter_context(rival.opened()), rival.fewer_plies)
        _count(CLASSIC[0][0], 4)  # kernels are loaded, or compiled, before the clock starts
        times: dict[str, list[list[Timed]]] = {name: [[] for _ in CLASSIC] for name in counters}
        turns = list(product(range(rounds), range(len(CLASSIC)), counters))
        with progress("perft", total=len(turns)) as bar:
            for _, index, name in turns:
                count, fewer = counters[name]
                fen, depth = CLASSIC[index]
                times[name][index].append(timed(count, fen, max(depth + plies - fewer, 1)))
                bar.advance()
                if stop.requested:
                    say("stopped before every generator had its turn")
                    return EXIT_STOPPED
    return _report(times, plies, json)


def _count(fen: str, depth: int) -> int:
    return leaves(parse_fen(fen), depth)


def _report(times: dict[str, list[list[Timed]]], plies: int, json: bool) -> int:
    best = {name: [min(rounds, key=_seconds) for rounds in all_] for name, all_ in times.items()}
    speeds = {
        name: sum(one.leaves for one in counts) / sum(one.seconds for one in counts)
        for name, counts in best.items()
    }
    wrong = _disagreements(best, plies)
    result: dict[str, Any] = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "nodes": sum(one.leaves for one in best[OURSELVES]),
        "seconds": sum(one.seconds for one in best[OURSELVES]),
        "nps": round(speeds[OURSELVES]),
        "generators": {name: round(speed) for name, speed in speeds.items()},
        "ratios": {name: speeds[OURSELVES] / speed for name, speed in speeds.items()},
        "disagreements": wrong,
    }
    rows = [
        (name, speed / 1e6, speeds[OURSELVES] / speed, *(_mega(one) for one in best[name]))
        for name, speed in sorted(speeds.items(), key=lambda item: -item[1])
    ]
    headings = ("generator", "million/s", "kibitz is x", *(f"no. {n}" for n in range(1, 7)))
    emit(result, as_json=json, table=columns(headings, rows, title="perft, one thread"))
    for name in wrong:
        say(f"{name} counts differently")
    return EXIT_MISMATCH if wrong else 0


def _disagreements(best: dict[str, list[Timed]], plies: int) -> list[str]:
    """Generators that counted something else than we do at the same depth."""
    fewer = {rival.name: rival.fewer_plies for rival in installed()}
    wrong = []
    for name, counts in best.items():
        for (fen, depth), one, ours in zip(CLASSIC, counts, best[OURSELVES], strict=True):
            less = fewer.get(name, 0)
            expected = _count(fen, max(depth + plies - less, 1)) if less else ours.leaves
            if expected != one.leaves and name not in wrong:
                wrong.append(name)
    return wrong


def _seconds(one: Timed) -> float:
    return one.seconds


def _mega(one: Timed) -> float:
    return one.leaves / one.seconds / 1e6
