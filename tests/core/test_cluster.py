"""A cluster loses a process, a machine or its head; what comes out has the same bytes.

Nobody joins it, or uses it, without its token.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import pytest

from kibitz.cli import main
from kibitz.core import cluster as clusters
from kibitz.core.errors import InputError


def with_ray(test: Callable[..., None]) -> Callable[..., None]:
    """A test with a cluster: a machine of Ray takes seconds to start."""
    missing = importlib.util.find_spec("ray") is None
    marked: Callable[..., None] = pytest.mark.skipif(missing, reason="ray is not installed")(test)
    pytest.mark.slow(marked)
    return marked


ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "local_cluster.py"
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


TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "of this test, and of no other cluster"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Started]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in TOKEN.items():
            patch.setenv(name, value)
        with started(3) as found:
            yield found


def command(cluster: Started, *words: str) -> list[str]:
    return [sys.executable, "-m", "kibitz", *words, "--cluster", cluster.address]


class Work(NamedTuple):
    """A command that works into the folder {out}, and what it makes, whoever does the work."""

    command: str
    begun: str  # files that are there once something is finished
    made: str  # files with the same bytes in the end
    pgn: str = ""  # games in the order in which they ended


ENGINE = f"{sys.executable} {ROOT / 'tests' / 'arena' / 'fake_engine.py'} none"
STUDY = {
    "givers": '["material,name=a,Search=mcts", "material,name=b,Search=alphabeta"]',
    "controls": '["b=a"]',
    "opponents": '["random"]',
    "odds": '["queen"]',
    "games": "60",
    "judge": "material",
    "judged": "30",
    "judge_nodes": "300",
    "annotated": "1",
    "annotate_nodes": "50",
}
WORKS = {
    "selfplay": Work(f"kibitz selfplay {{out}} {shlex.join(PLAY)}", "*.shard", "*.shard"),
    "label": Work(
        f"kibitz data label -o {{out}} --engine '{ENGINE}' --games 300 --workers 1 --plies 3000",
        "*-game-*.shard",
        "*.shard",
    ),
    "match": Work(
        "kibitz match material,name=a material,name=b,CPuct=1 --nodes 100 --games 60 --sprt 0 5 "
        "--max-moves 60 --resume {out}/games.jsonl --file {out}/result.json --pgn {out}/games.pgn",
        "games.pgn",
        "result.json",
        "games.pgn",
    ),
    "study": Work(
        "research.contempt study --folder {out} --set nodes=50 --set most_moves=40 "
        + " ".join(f"--set {shlex.quote(f'{name}={value}')}" for name, value in STUDY.items()),
        "games/*-a-*.jsonl",
        "**/*.[!j]*",  # all but journals
    ),
}
each_work = pytest.mark.parametrize("work", WORKS.values(), ids=[*WORKS])


def words_of(work: Work, out: Path, cluster: Started | None = None) -> list[str]:
    there = [] if cluster is None else ["--cluster", cluster.address]
    words = shlex.split(work.command.format(out=out))
    return [sys.executable, "-m", *words, "--reproducible", "--quiet", *there]


def begin(work: Work, out: Path, cluster: Started) -> subprocess.Popen[bytes]:
    """The work, on a cluster, when the first of it is finished."""
    run = subprocess.Popen(words_of(work, out, cluster), stdout=subprocess.DEVNULL, cwd=ROOT)
    while run.poll() is None and not [path for path in out.glob(work.begun) if enough(path)]:
        time.sleep(0.05)
    return run


def enough(path: Path) -> bool:
    return path.suffix != ".jsonl" or path.read_bytes().count(b"\n") > 2


def made_by(work: Work, out: Path) -> dict[str, object]:
    """What is the same whoever has done the work."""
    paths = [path for path in out.glob(work.made) if path.is_file() and path.suffix != ".jsonl"]
    made: dict[str, object] = {str(path.relative_to(out)): path.read_bytes() for path in paths}
    for name in made:
        if name.endswith(".json"):
            made[name] = {**json.loads((out / name).read_text()), "provenance": None}
    if work.pgn:
        made[work.pgn] = sorted((out / work.pgn).read_text().split("[Event "))
    assert made
    return made


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Work], dict[str, object]]:
    """What a process makes without a cluster."""

    @functools.cache
    def make(work: Work) -> dict[str, object]:
        out = tmp_path_factory.mktemp("alone") / "out"
        subprocess.run(words_of(work, out), check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        return made_by(work, out)

    return make


Alone: TypeAlias = Callable[[Work], dict[str, object]]


@with_ray
@each_work
def test_a_process_and_a_machine_are_lost(
    cluster: Started, alone: Alone, tmp_path: Path, work: Work
) -> None:
    run = begin(work, tmp_path / "out", cluster)
    assert cluster.ask("worker").startswith("killed [")
    assert cluster.ask("node").startswith("removed")
    assert run.wait() == 0
    cluster.ask("add")
    assert made_by(work, tmp_path / "out") == alone(work)


@with_ray
@each_work
def test_the_head_is_lost_and_starts_again(
    cluster: Started, alone: Alone, tmp_path: Path, work: Work
) -> None:
    out = tmp_path / "out"
    with started(2) as first:
        run = begin(work, out, first)
        for process in family(first.process):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    assert run.wait() != 0  # Ray ends it
    assert [path for path in out.glob(work.begun) if enough(path)]
    again = subprocess.run(
        words_of(work, out, cluster), check=True, stdout=subprocess.DEVNULL, cwd=ROOT
    )
    assert again.returncode == 0
    assert made_by(work, out) == alone(work)


def family(process: int) -> set[int]:
    """A process and all that it and its children have started."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    found = {process}
    while more := {pid for pid, parent in pairs if parent in found} - found:
        found |= more
    return found


@with_ray
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


@with_ray
def test_what_cannot_be_shared_is_refused(
    cluster: Started, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "--cluster", cluster.address]) == 2
    assert "--cluster is not for this command" in capsys.readouterr().err
    words = command(cluster, "selfplay", str(tmp_path), "--network", "none.safetensors")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "none.safetensors" in done.stderr


# --- tokens ---------------------------------------------------------------------------------------

WRONG = {
    "no token": {"RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN": ""},
    "another token": {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a guess"},
}


@with_ray
@pytest.mark.parametrize("wrong", [*WRONG])
def test_no_machine_joins_later_without_the_token(cluster: Started, wrong: str) -> None:
    ray = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start"]
    done = subprocess.run(
        [*ray, "--address", cluster.address],
        env={**os.environ, **WRONG[wrong]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "InvalidAuthToken" in done.stderr
    assert cluster.ask("add").startswith("added")  # with it


@with_ray
@pytest.mark.parametrize("wrong", [*WRONG])
def test_no_command_uses_a_cluster_without_its_token(
    cluster: Started, tmp_path: Path, wrong: str
) -> None:
    done = subprocess.run(
        command(cluster, "selfplay", str(tmp_path), *PLAY),
        env={**os.environ, **WRONG[wrong]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]  # Ray may have said something before
    assert last.startswith("kibitz: error: ")
    assert "token" in last


@with_ray
def test_a_cluster_without_a_token_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with started(1) as unguarded:
        done = subprocess.run(
            command(unguarded, "selfplay", str(tmp_path), *PLAY),
            env={**os.environ, **TOKEN},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "this cluster lets in who has no token" in done.stderr
    assert [*tmp_path.iterdir()] == []


STAND_IN = """
import os

class exceptions:
    class AuthenticationError(Exception):
        pass

class get_runtime_context:
    gcs_address = "192.0.2.1:6379"

class _raylet:
    class GcsClient:
        def __init__(self, address):
            assert address == get_runtime_context.gcs_address
            assert os.environ["RAY_AUTH_MODE"] == "disabled"
            assert "RAY_AUTH_TOKEN" not in os.environ

        def internal_kv_keys(self, prefix, namespace):
            if os.environ["DOOR"] == "locked":
                raise exceptions.AuthenticationError
            if os.environ["DOOR"] == "lost":
                raise ConnectionError("nobody answers")

def init(**how):
    if not os.environ.get("RAY_AUTH_TOKEN"):
        raise exceptions.AuthenticationError

def shutdown():
    print("left", flush=True)
"""  # Ray, as far as tokens go


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "ray.py").write_text(STAND_IN)
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "ray")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    for name, value in TOKEN.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DOOR", "locked")
    yield
    sys.modules.pop("ray", None)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("RAY_AUTH_MODE", "disabled", "RAY_AUTH_MODE: 'disabled'; set it to token"),
        ("RAY_AUTH_TOKEN", "", "ray get-auth-token --generate"),
        ("DOOR", "open", "lets in who has no token: '192.0.2.1:6379'; start Ray on every machine"),
        ("DOOR", "lost", "does not say whether it asks for a token.*nobody answers"),
    ],
)
@pytest.mark.usefixtures("stand_in")
def test_the_token_is_asked_for_before_the_first_task(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    clusters.RayCluster("auto")  # as it should be
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=says):
        clusters.RayCluster("auto")


@pytest.mark.usefixtures("stand_in")
def test_without_a_word_about_tokens_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE")
    clusters.RayCluster("auto")
    assert os.environ["RAY_AUTH_MODE"] == "token"


def test_each_task_asks_whether_its_machine_has_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "_key", "work")
    monkeypatch.setattr(clusters, "_work", str)
    about: Any = ["work", None, []]
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    assert clusters._do(about, 1) == "1"
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    refused = clusters._do(about, 2)
    assert isinstance(refused, InputError)
    assert "works without a token" in str(refused)
