"""A cluster of three machines loses a process and a machine; every game is there once."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

import pytest

from kibitz.cli import main
from kibitz.data.shard import read
from kibitz.data.store import shards_in

pytestmark = [
    pytest.mark.slow,  # a machine of Ray takes seconds to start
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
]

SCRIPT = Path(__file__).parents[2] / "examples" / "local_cluster.py"
PLAY = ("--network", "material", "--games", "300", "--set", "playouts=100", "--set", "group=25")
ANNOTATE = ("--network", "material", "--nodes", "30")
GAMES = '[Event "{0}"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bc4 Nd4 4. Nxe5 Qg5 0-1\n\n'


class Started(NamedTuple):
    """A cluster, and what it can be asked for."""

    address: str
    words: IO[str]
    answers: IO[str]
    process: int

    def ask(self, word: str) -> str:
        """Have something happen."""
        self.words.write(f"{word}\n")
        self.words.flush()
        return self.answers.readline()


@contextmanager
def started(machines: int) -> Iterator[Started]:
    script = subprocess.Popen(
        [sys.executable, SCRIPT, str(machines)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "RAY_gcs_rpc_server_reconnect_timeout_s": "5"},
    )
    assert script.stdin is not None
    assert script.stdout is not None
    with script:
        yield Started(script.stdout.readline().split()[0], script.stdin, script.stdout, script.pid)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Started]:
    with started(3) as found:
        yield found


def command(cluster: Started, *words: str) -> list[str]:
    return [sys.executable, "-m", "kibitz", *words, "--cluster", cluster.address]


def test_every_game_once(cluster: Started, tmp_path: Path) -> None:
    assert main(["selfplay", str(tmp_path / "here"), *PLAY]) == 0
    there = tmp_path / "there"
    words = command(cluster, "selfplay", str(there), *PLAY, "--json")
    run = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    while run.poll() is None and not [*there.glob("*.shard")]:
        time.sleep(0.05)
    assert cluster.ask("worker").startswith("killed [")
    assert cluster.ask("node").startswith("removed")
    told, _ = run.communicate()
    assert run.returncode == 0
    assert json.loads(told)["games"] == 300
    paths = shards_in(there)
    assert sum(read(path).games for path in paths) == 300
    # The same games, byte by byte, so each is there once.
    assert {path.name for path in paths} == {path.name for path in shards_in(tmp_path / "here")}


def test_the_head_is_lost_and_starts_again(cluster: Started, tmp_path: Path) -> None:
    assert main(["selfplay", str(tmp_path / "here"), *PLAY]) == 0
    there = tmp_path / "there"
    words = ("selfplay", str(there), *PLAY, "--json")
    with started(2) as first:
        run = subprocess.Popen(command(first, *words), stdout=subprocess.DEVNULL)
        while run.poll() is None and not [*there.glob("*.shard")]:
            time.sleep(0.05)
        for process in family(first.process):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    assert run.wait() != 0  # Ray ends it
    assert 0 < len(shards_in(there)) < len(shards_in(tmp_path / "here"))
    subprocess.run(command(cluster, *words), check=True, stdout=subprocess.DEVNULL)
    names = [{path.name for path in shards_in(tmp_path / each)} for each in ("here", "there")]
    assert names[0] == names[1]


def family(process: int) -> set[int]:
    """A process and all that it and its children have started."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    found = {process}
    while more := {pid for pid, parent in pairs if parent in found} - found:
        found |= more
    return found


def test_matches_and_annotations(cluster: Started, tmp_path: Path) -> None:
    words = ("match", "material", "random", "--nodes", "20", "--games", "8", "--json")
    done = subprocess.run(command(cluster, *words), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["games"] == 8
    games = tmp_path / "games.pgn"
    games.write_text("".join(GAMES.format(number) for number in range(3)))
    here, there = tmp_path / "here.pgn", tmp_path / "there.pgn"
    assert main(["annotate", str(games), "-o", str(here), *ANNOTATE]) == 0
    subprocess.run(
        command(cluster, "annotate", str(games), "-o", str(there), *ANNOTATE), check=True
    )
    assert here.read_text() == there.read_text()


def test_what_cannot_be_shared_is_refused(
    cluster: Started, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "--cluster", cluster.address]) == 2
    assert "--cluster is not for this command" in capsys.readouterr().err
    words = command(cluster, "selfplay", str(tmp_path), "--network", "none.safetensors")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "none.safetensors" in done.stderr
