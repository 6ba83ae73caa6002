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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.hostile.fuzz import MOST_MIB, SECONDS, fuzz
from tests.hostile.kind import Answer, Attack, Kind, fault_of
from tests.hostile.kinds import KINDS

COUNT = 5100  # mutated inputs of all kinds


class Row(NamedTuple):
    """A line of the table."""

    kind: str
    inputs: int
    refused: int  # with a message; some of a file of games, too
    accepted: int
    falls: list[str]  # tracebacks, and what was above its cap
    tracebacks: int
    seconds: float  # of the slowest
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
    share = -(-given.count // len(kinds))
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        if given.row:
            _tell(json.dumps(_mutated(kinds[0], Path(folder) / "fuzz", given.count, given.seed)))
            return 0
        tasks = [(kind.name, share, given.seed) for kind in kinds]
        with ThreadPoolExecutor(os.cpu_count() or 1) as workers:
            rows = list(workers.map(lambda task: _in_a_process(*task), tasks))
        if not given.no_attacks:
            rows += [_attacked(kind, Path(folder) / kind.name) for kind in kinds]
    rows = [row for row in rows if row.inputs]
    for line in _table(rows):
        _tell(line)
    return int(any(row.falls for row in rows))


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _table(rows: list[Row]) -> Iterator[str]:
    """The table, and below it what fell."""
    head = ("inputs", "refused", "accepted", "tracebacks", "slowest s", "most MiB")
    yield f"{'kind':18}" + "".join(f"{name:>13}" for name in head)
    for row in rows:
        seconds, mib = f"{row.seconds:.1f}/{SECONDS}", f"{row.mib}/{row.most_mib}"
        cells = (row.inputs, row.refused, row.accepted, row.tracebacks, seconds, mib)
        yield f"{row.kind:18}" + "".join(f"{cell:>13}" for cell in cells)
    sums = (sum(row[column] for row in rows) for column in (1, 2, 3))
    yield f"{'all':18}" + "".join(f"{cell:>13}" for cell in sums)
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
        return Row(kind, count, 0, 0, [fall], 0, 0.0, 0, MOST_MIB)


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
    accepted = report.codes.get(0, 0)
    refused = count - accepted - len(report.falls)
    slowest = report.slowest[0][0] if report.slowest else 0.0
    return Row(
        kind.name, count, refused, accepted, falls, tracebacks, slowest, report.peak_mib, MOST_MIB
    )


# --- named inputs ---------------------------------------------------------------------------------


def _attacked(kind: Kind, home: Path) -> Row:
    """Give every named input of a kind to a process of its own."""
    home.mkdir(parents=True)
    falls, traced, slowest, most, codes = list[str](), 0, 0.0, 0, list[int]()
    attacks = kind.attacks(home)
    cap = max((attack.most_mib for attack in attacks), default=0)
    for attack in attacks:
        start = time.monotonic()
        answer, mib = _alone(attack, home)
        fault = fault_of(answer) or wrong(attack, answer)
        if mib > attack.most_mib:
            fault = fault or f"more than {attack.most_mib} MiB"
        slowest, most = max(slowest, time.monotonic() - start), max(most, mib)
        codes.append(answer.code)
        traced += "Traceback" in answer.told
        falls += [f"{attack.name}: {fault}"] * bool(fault)
    accepted = codes.count(0)
    refused = len(codes) - accepted - len(falls)
    name = f"{kind.name}, named"
    return Row(name, len(codes), refused, accepted, falls, traced, slowest, most, cap)


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
