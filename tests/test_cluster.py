"""A cluster of three machines loses a process and a machine; every game is there once."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import pytest

from kibitz.commands import main
from kibitz.games.shard import read
from kibitz.games.store import shards_in

pytestmark = [
    pytest.mark.slow,  # a machine of Ray takes seconds to start
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
]

SCRIPT = Path(__file__).parents[1] / "examples" / "local_cluster.py"
PLAY = ("--network", "material", "--games", "300", "--set", "playouts=100", "--set", "group=25")
ANNOTATE = ("--network", "material", "--nodes", "30")
GAMES = '[Event "{0}"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bc4 Nd4 4. Nxe5 Qg5 0-1\n\n'


class Started(NamedTuple):
    """A cluster, and what it can be asked for."""

    address: str
    words: IO[str]
    answers: IO[str]

    def ask(self, word: str) -> str:
        """Have something happen."""
        self.words.write(f"{word}\n")
        self.words.flush()
        return self.answers.readline()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Started]:
    script = subprocess.Popen(
        [sys.executable, SCRIPT, "3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert script.stdin is not None
    assert script.stdout is not None
    yield Started(script.stdout.readline().split()[0], script.stdin, script.stdout)
    script.stdin.close()
    script.wait()
    script.stdout.close()


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
