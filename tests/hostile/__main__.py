"""`python -m tests.hostile`: every named input in a process of its own, then mutated ones."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.hostile.fuzz import MOST_MIB, SECONDS, fuzz
from tests.hostile.kind import Answer, Attack, Kind, fault_of
from tests.hostile.kinds import KINDS


def main() -> int:
    """Run what is asked for; 1 if anything fell."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--count", type=int, default=0, help="mutated inputs after the named ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=[kind.name for kind in KINDS], action="append")
    parser.add_argument("--no-attacks", action="store_true", help="only mutated inputs")
    given = parser.parse_args()
    kinds = [kind for kind in KINDS if not given.kind or kind.name in given.kind]
    fallen = 0
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        if not given.no_attacks:
            fallen += _attack(kinds, Path(folder) / "attacks")
        if given.count:
            fallen += _fuzz(kinds, Path(folder) / "fuzz", given.count, given.seed)
    return int(fallen > 0)


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _attack(kinds: list[Kind], folder: Path) -> int:
    """Print time and memory of every named input; returns how many fell."""
    fallen = 0
    _tell(f"{'seconds':>8} {'MiB':>6} {'code':>4}  input")
    for kind in kinds:
        home = folder / kind.name
        home.mkdir(parents=True)
        for attack in kind.attacks(home):
            start = time.monotonic()
            answer, mib = _alone(attack, home)
            fault = fault_of(answer) or wrong(attack, answer)
            if mib > attack.most_mib:
                fault = fault or f"more than {attack.most_mib} MiB"
            fallen += bool(fault)
            mark = f"  FELL: {fault}" if fault else ""
            seconds = time.monotonic() - start
            _tell(f"{seconds:8.1f} {mib:6} {answer.code:4}  {attack.name}{mark}")
    return fallen


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


def _fuzz(kinds: list[Kind], folder: Path, count: int, seed: int) -> int:
    """Print what mutated inputs have come to; returns how many fell, whose contents are kept."""
    report = fuzz(kinds, folder, count, seed, SECONDS)
    for fall in report.falls:
        kept = Path(tempfile.gettempdir()) / f"fall-{fall.number}"
        kept.write_bytes(fall.content)
        _tell(f"{fall}; kept as {kept}")
    _tell(f"{report.inputs} mutated inputs, exit codes {dict(sorted(report.codes.items()))}")
    _tell(f"{len(report.falls)} fell; peak memory {report.peak_mib} MiB of {MOST_MIB}")
    for seconds, number, target in report.slowest:
        _tell(f"{seconds:8.1f} s  input {number}: {target}")
    return len(report.falls) + int(report.peak_mib > MOST_MIB)


if __name__ == "__main__":  # processes of workers import this module, too
    sys.exit(main())
