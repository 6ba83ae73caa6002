"""`python -m tests.hostile`: a table of hostile inputs of all kinds, each against its cap.

Named inputs get a process of their own; then sound inputs are mutated, each kind in a process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.hostile.fuzz import MOST_MIB, SECONDS, fuzz
from tests.hostile.kind import ANSWERS, Answer, Attack, Kind, fault_of
from tests.hostile.kinds import KINDS

COUNT = 5100  # mutated inputs of all kinds
HEAD = (*("inputs", "accepted", "partly", "refused", "tracebacks", "slowest s"), "most MiB")


class Row(NamedTuple):
    """A line of the table."""

    kind: str
    inputs: int
    accepted: int
    partly: int  # exit code 1: some of it was refused
    refused: int  # exit code 2
    falls: list[str]  # tracebacks, and what was above its cap
    tracebacks: int
    slowest: str
    seconds: float  # it took
    mib: int
    most_mib: int


def main() -> int:
    """Print the table; 1 if anything fell."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="mutated inputs, of all kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=[kind.name for kind in KINDS], action="append")
    parser.add_argument("--no-attacks", action="store_true", help="only mutated inputs")
    parser.add_argument("--row", action="store_true", help="print one kind's row as JSON")
    given = parser.parse_args()
    kinds = [kind for kind in KINDS if not given.kind or kind.name in given.kind]
    share, rows = -(-given.count // len(kinds)), list[Row]()
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        if given.row:
            _tell(json.dumps(_mutated(kinds[0], Path(folder) / "fuzz", given.count, given.seed)))
            return 0
        tasks = [partial(_in_a_process, kind.name, share, given.seed) for kind in kinds]
        if not given.no_attacks:
            tasks += [partial(_attacked, kind, Path(folder) / kind.name) for kind in kinds]
        _tell(_line("kind", HEAD))
        with ThreadPoolExecutor(os.cpu_count() or 1) as workers:
            for made in as_completed([workers.submit(task) for task in tasks]):
                row = made.result()
                if row.inputs:  # not every kind has named ones
                    rows.append(row)
                    _tell(_told(row))
    for line in _summed(rows):
        _tell(line)
    return int(any(row.falls for row in rows))


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _line(name: str, cells: Iterable[object]) -> str:
    return f"{name:18}" + "".join(f"{cell!s:>12}" for cell in cells)


def _told(row: Row) -> str:
    """A line of the table."""
    seconds, mib = f"{row.seconds:.1f}/{SECONDS}", f"{row.mib}/{row.most_mib}"
    codes = row.accepted, row.partly, row.refused
    return _line(row.kind, (row.inputs, *codes, row.tracebacks, seconds, mib))


def _summed(rows: list[Row]) -> Iterator[str]:
    """The last line of the table, and below it what was slowest and what fell."""
    numbers = ((row.inputs, row.accepted, row.partly, row.refused, row.tracebacks) for row in rows)
    yield _line("all", (sum(column) for column in zip(*numbers, strict=True)))
    yield from (f"slowest of {row.kind}: {row.slowest}" for row in rows)
    for row in rows:
        yield from (f"FELL {row.kind}: {fall}" for fall in row.falls)


# --- mutated inputs -------------------------------------------------------------------------------


def _in_a_process(kind: str, count: int, seed: int) -> Row:
    """The row of mutated inputs of a kind, made by a process whose memory is its own."""
    words = ("--row", "--kind", kind, "--count", str(count), "--seed", str(seed))
    program = [sys.executable, "-m", "tests.hostile", *words]
    done = subprocess.run(program, check=False, capture_output=True, text=True)
    try:
        return Row(*json.loads(done.stdout.splitlines()[-1]))
    except (ValueError, IndexError):
        fall = f"ended with {done.returncode}: {done.stderr[-1000:]}"
        return Row(kind, count, 0, 0, 0, [fall], 0, "", 0.0, 0, MOST_MIB)


def _mutated(kind: Kind, folder: Path, count: int, seed: int) -> Row:
    """Mutate inputs of a kind; contents that fell are kept."""
    report = fuzz([kind], folder, count, seed, SECONDS)
    falls = []
    for fall in report.falls:
        kept = Path(tempfile.gettempdir()) / f"fall-{kind.name}-{fall.number}"
        kept.write_bytes(fall.content)
        falls.append(f"{fall}; kept as {kept}; seed {seed}, {fall.content[:200]!r}")
    if report.peak_mib > MOST_MIB:
        falls.append(f"more than {MOST_MIB} MiB")
    tracebacks = sum("Traceback" in fall.answer.told for fall in report.falls)
    accepted, partly, refused = (report.codes.get(code, 0) for code in ANSWERS)
    codes = accepted, partly, refused
    seconds, number, target = max(report.slowest, default=(0.0, 0, ""))
    slowest, mib = f"input {number}, {target}", report.peak_mib
    return Row(kind.name, count, *codes, falls, tracebacks, slowest, seconds, mib, MOST_MIB)


# --- named inputs ---------------------------------------------------------------------------------


def _attacked(kind: Kind, home: Path) -> Row:
    """Give every named input of a kind to a process of its own."""
    home.mkdir(parents=True)
    falls, traced, most, codes = list[str](), 0, 0, list[int]()
    slowest = 0.0, ""
    attacks = kind.attacks(home)
    cap = max((attack.most_mib for attack in attacks), default=0)
    for attack in attacks:
        start = time.monotonic()
        answer, mib = _alone(attack, home)
        fault = fault_of(answer) or wrong(attack, answer)
        if mib > attack.most_mib:
            fault = fault or f"more than {attack.most_mib} MiB"
        slowest = max(slowest, (time.monotonic() - start, attack.name))
        most = max(most, mib)
        codes.append(answer.code)
        traced += "Traceback" in answer.told
        falls += [f"{attack.name}: {fault}"] * bool(fault)
    accepted, partly, refused = (codes.count(code) for code in ANSWERS)
    counts = accepted, partly, refused
    seconds, name = slowest
    return Row(f"{kind.name}, named", len(codes), *counts, falls, traced, name, seconds, most, cap)


def wrong(attack: Attack, answer: Answer) -> str:
    """How an answer differs from that of the attack."""
    if answer.code != attack.code:
        return f"code {answer.code}, not {attack.code}: {answer.told[-200:]}"
    flat = " ".join(answer.told.split())
    return "" if attack.told in flat else f"not told {attack.told!r}: {flat[-200:]}"


def _alone(attack: Attack, folder: Path) -> tuple[Answer, int]:
    """Run an attack in a process of its own; returns its answer and its peak memory in MiB."""
    environment = os.environ | {"KIBITZ_DATA": str(folder / "data")}
    program = [sys.executable, "-m", "kibitz", *attack.words]
    with (folder / "told").open("w+b") as told:
        process = subprocess.Popen(
            program, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=told,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        text = told.read().decode("utf-8", "replace")
    return Answer(process.returncode, text), usage.ru_maxrss // 1024


if __name__ == "__main__":  # processes of workers import this module, too
    sys.exit(main())
