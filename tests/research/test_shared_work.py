"""The table of what a cluster costs: its arithmetic, and processor times of processes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from research import cluster
from research.cluster import WORKS, Family, Run, Work
from research.command import carry_out

SPIN = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass\n"
TWICE = f"""
import subprocess, sys, time
time.sleep(0.5)
for _ in range(2):
    subprocess.run([sys.executable, "-c", {SPIN!r}])
"""
LABEL = "labelling"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor times are Linux's")
def test_processor_time_of_children_counts_after_their_end() -> None:
    with subprocess.Popen([sys.executable, "-c", TWICE]) as run:
        family = Family(run.pid)
        while run.poll() is None:
            family.look()
            time.sleep(0.02)
    assert 0.8 < family.seconds < 5  # of processes; 0.5 s each


def test_efficiency_is_of_the_work_without_the_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One process: 2 s of start, 1 s a game; two workers: 8 s, 0.625 s, 1.25 s of processors."""

    def run(
        work: Work, games: int, engine: str, workers: int, there: tuple[str, int] | None
    ) -> Run:
        assert (work, engine, workers) == (
            WORKS[LABEL],
            "some engine",
            int(there[0] if there else 1),
        )
        start, each, used = (2.0, 1.0, 1.0) if there is None else (8.0, 0.625, 1.25)
        made = "other bytes" if there == ("8", 0) else "bytes"
        return Run(start + each * games, 3.0 + used * games, 100 * games, made)

    @contextmanager
    def machines(count: int) -> Iterator[tuple[str, int]]:
        yield str(count), 0

    monkeypatch.setattr(cluster, "carried_out", run)
    monkeypatch.setattr(cluster, "local_cluster", machines)
    monkeypatch.setattr(cluster, "processors", lambda: 1)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    words = ["--work", LABEL, "--engine", "some engine", "--price", "0.5", "--json"]
    assert carry_out(cluster.app, ["--workers", "2", *words]) == 0
    alone, two = json.loads(capsys.readouterr().out)["rows"]
    games = WORKS[LABEL].much - WORKS[LABEL].little
    assert (alone["games"], alone["positions"]) == (games, 100 * games)
    assert (alone["seconds"], alone["start"], alone["efficiency"]) == (games, 2.0, 1.0)
    # By the clock more than one core could do, by its processor time less.
    assert (two["start"], two["efficiency"], two["processor_efficiency"]) == (8.0, 1.6, 0.8)
    hours = 1.25 * 10**6 / 3600
    assert two["many"]["games"] == pytest.approx({"core_hours": hours, "cost": hours / 2})
    assert two["many"]["positions"]["core_hours"] == pytest.approx(hours)  # 100 a game
    assert carry_out(cluster.app, ["--workers", "8", *words]) == 1  # the bytes differ
    assert "no cluster" in table_of(words, capsys)
    assert carry_out(cluster.app, ["--work", "labeling"]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert carry_out(cluster.app, ["--price", "-1"]) == 2
    assert "--price: -1.0; give 0 or more" in capsys.readouterr().err
    assert carry_out(cluster.app, ["--help"]) == 0
    assert "Usage: python -m research.cluster [OPTIONS]" in capsys.readouterr().out


def table_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert carry_out(cluster.app, ["--workers", "2", *words[:-1]]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("work", WORKS.values(), ids=[*WORKS])
def test_every_work_is_a_command_for_any_number_of_games(work: Work) -> None:
    words = shlex.split(work.command.format(out="out", games=7, engine="'a b'", workers=3))
    assert words[0] in ("kibitz", "python")
    assert any("7" in word for word in words)
    assert any(word.startswith("out") for word in words)
    assert 0 < work.little < work.much
