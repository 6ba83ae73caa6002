"""Gives mutated inputs of all kinds to what reads them, and judges every answer."""

from __future__ import annotations

import random
import resource
import shutil
import signal
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kibitz.core.log import Level, level, set_level
from tests.hostile.kind import MIB, Answer, Kind, Target, fault_of, working_in

SECONDS = 120  # after which an input is said to hang
MOST_MIB = 2500  # of the process that does it all, torch and compiled kernels included


class Fall(NamedTuple):
    """An input that was not answered as it should have been."""

    number: int
    target: str
    fault: str
    answer: Answer
    content: bytes

    def __str__(self) -> str:
        told = self.answer.told.strip().splitlines()[-3:]
        return f"input {self.number}: {self.target}: {self.fault}: {' | '.join(told)}"


class Report(NamedTuple):
    """What a run has come to."""

    inputs: int
    codes: dict[int, int]
    falls: list[Fall]
    slowest: list[tuple[float, int, str]]  # seconds, number, target
    peak_mib: int


def fuzz(
    kinds: Sequence[Kind], folder: Path, count: int, seed: int = 0, seconds: int = 0
) -> Report:
    """Mutate so many inputs; each depends on the seed and its number alone.

    With `seconds`, an input that takes longer is a fall.
    """
    folder.mkdir(parents=True, exist_ok=True)
    targets = [(kind, target) for kind in kinds for target in _targets(kind, folder)]
    codes: dict[int, int] = {}
    falls: list[Fall] = []
    times: list[tuple[float, int, str]] = []
    before = level()
    with working_in(folder):
        for number in range(count):
            generator = random.Random(f"{seed} {number}")
            target = targets[number % len(targets)][1]
            content = target.seal(target.mutate(target.content, generator)[: target.most])
            (folder / "last-input").write_bytes(content)  # of a run that crashes
            start = time.monotonic()
            answer = _given(target, content, folder / "work", seconds)
            times.append((time.monotonic() - start, number, target.name))
            codes[answer.code] = codes.get(answer.code, 0) + 1
            fault = fault_of(answer)
            if fault:
                falls.append(Fall(number, target.name, fault, answer, content))
    set_level(before)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Report(count, codes, falls, sorted(times, reverse=True)[:5], peak)


def _targets(kind: Kind, folder: Path) -> Sequence[Target]:
    home = folder / kind.name
    home.mkdir(exist_ok=True)
    return kind.targets(home)


def _given(target: Target, content: bytes, folder: Path, seconds: int) -> Answer:
    folder.mkdir()
    set_level(Level.NORMAL)

    def late(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        return target.give(content, folder)
    except TimeoutError:
        return Answer(-1, f"no answer in {seconds} seconds")
    except Exception:  # noqa: BLE001 - the traceback is the result
        return Answer(1, traceback.format_exc())
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        shutil.rmtree(folder)


__all__ = ["MIB", "MOST_MIB", "SECONDS", "Fall", "Report", "fuzz"]
