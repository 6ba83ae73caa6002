"""Perft: the positions everybody counts, and suites of standard chess and Chess960."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from kibitz.core.errors import InputError
from kibitz.jit.compile import COMPILED
from kibitz.position.count import Stopped, divide, leaves, nodes, read_suite
from kibitz.position.fen import START, parse_fen
from kibitz.position.play import STOPPED, new_stack, perft

DATA = Path(__file__).parents[1] / "fixtures" / "perft"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "perft"
LARGEST = 300_000 if COMPILED else 450  # leaves of a count in the fast run

# chessprogramming.org, "Perft Results"; the last is position 4 with the colours exchanged.
CLASSIC = {
    START: [20, 400, 8902, 197281, 4865609],
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1": [
        *(48, 2039, 97862, 4085603)
    ],
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1": [14, 191, 2812, 43238, 674624],
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1": [*(6, 264, 9467, 422333)],
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8": [44, 1486, 62379, 2103487],
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10": [
        *(46, 2079, 89890, 3894594)
    ],
    "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1": [6, 264, 9467, 422333],
}


@pytest.mark.parametrize("fen", CLASSIC, ids=range(len(CLASSIC)))
def test_classic_positions(fen: str) -> None:
    for depth, expected in enumerate(CLASSIC[fen], start=1):
        if expected <= 20 * LARGEST:
            assert nodes(parse_fen(fen), depth) == expected


@pytest.mark.parametrize("name", ["standard.epd", "fischer.epd", "tricky.perft"])
def test_suite_samples(name: str) -> None:
    counted = 0
    for entry in read_suite(DATA / name):
        position = parse_fen(entry.fen)
        for depth, expected in entry.counts.items():
            if expected <= LARGEST:
                assert nodes(position, depth) == expected, (entry.name, depth)
                counted += 1
    assert counted > 15


@pytest.mark.slow
@pytest.mark.skipif(
    not SHARED.is_dir(), reason="the collection of suites is not beside the checkout"
)
@pytest.mark.parametrize(
    "path",
    [
        path
        for folder in ("ethereal", "dlchess", "scalachess", "shakmaty")
        for path in sorted((SHARED / folder).glob("*"))
        if path.suffix in (".epd", ".txt", ".perft")
        and path.stem not in {"3check", "antichess", "atomic", "crazyhouse", "horde", "racingkings"}
    ],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_whole_suites(path: Path) -> None:
    for entry in read_suite(path):
        if entry.name == "max-legals-too-much-material":
            continue  # 61 pieces of one side: refused, and more moves than a list of moves holds
        position = parse_fen(entry.fen)
        for depth, expected in entry.counts.items():
            if expected <= 5_000_000:
                assert nodes(position, depth) == expected, (entry.name, depth)


@pytest.mark.parametrize("depth", [1, 2, 5] if COMPILED else [1, 2])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_divide_adds_up(depth: int, threads: int) -> None:
    position = parse_fen(next(reversed(CLASSIC)))
    told: list[float] = []
    counts = divide(position, depth, threads=threads, advance=told.append)
    assert sum(counts.values()) == leaves(position, depth)
    assert len(counts) == 6
    assert depth < 5 or sum(told) == pytest.approx(1.0)


def test_depth_zero_is_the_position_itself() -> None:
    assert nodes(parse_fen(START), 0) == 1


def test_a_count_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="depth: 0; expected 1 to 32"):
        divide(parse_fen(START), 0)


@pytest.mark.skipif(not COMPILED, reason="plain Python would not get deep enough to be stopped")
def test_counting_stops_when_asked() -> None:
    started, before = time.monotonic(), set(threading.enumerate())
    with pytest.raises(Stopped):
        divide(parse_fen(START), 12, threads=2, stop=lambda: time.monotonic() > started + 0.3)
    for worker in set(threading.enumerate()) - before:  # they have been told, too
        worker.join(30)
        assert not worker.is_alive()


def test_the_kernel_gives_up_at_the_flag() -> None:
    positions, moves = new_stack()
    positions[0] = parse_fen(START)
    assert perft(positions, moves, 3, np.ones(1, dtype=np.uint8)) == STOPPED


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no entries"),
        (f"{START} ;D1 twenty\n", "line 1"),
        (f"# comment\n\n{START}\n", "line 3"),
        ("id a\nepd 8/8/8/8/8/8/8/8 w - -\nperft one 1\n", "line 3"),
        ("perft 1 20\n", "line 1"),
    ],
)
def test_broken_suites_name_the_line(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "broken.epd"
    path.write_text(text)
    with pytest.raises(InputError, match=fault):
        read_suite(path)
