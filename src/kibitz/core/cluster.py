"""Tasks on a cluster of Ray: the same as `workers.in_processes` does on one machine.

Ray does a task again when its process or machine is lost. Only this process writes results, so what
it has written stays whatever happens to the others; if it ends itself, or with the head of the
cluster, the same command goes on from there.

Whoever reaches a port of Ray can run programs, unless there is a token, which every call between
its processes then carries and every process checks. A cluster that answers without one is refused,
and so is a process of it that works without one.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import kibitz
from kibitz.core import settings
from kibitz.core.errors import InputError, KibitzError, missing_extra
from kibitz.core.files import (
    EPOCH_VARIABLE,
    cache_folder,
    has_dates,
    leave_out_dates,
    read_bytes,
    write_bytes,
)
from kibitz.core.log import Level, say, set_level
from kibitz.core.workers import Job, use_copies

RETRIES = 5  # times a task is done again when its process or machine was lost
LOOK_SECONDS = 0.2  # how soon a Ctrl-C is noticed
COUNT_SECONDS = 2.0  # between two looks at how many processors there are
AUTH_MODE, WITH_TOKEN = "RAY_AUTH_MODE", "token"
TOKENS = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
ANSWER_SECONDS = 60  # for the question whether a cluster answers without a token
STRANGER = """\
import sys, ray
try:
    ray._raylet.GcsClient(address=sys.argv[1]).internal_kv_keys(b"", None)
except ray.exceptions.AuthenticationError:
    print("refused")
else:
    print("answered")
"""  # a call from a process that has no token
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is reported to anyone
    # Ray would print pages between the lines of the result, and of what is wrong.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
    "RAY_BACKEND_LOG_LEVEL": "error",
}

Task = TypeVar("Task")
Done = TypeVar("Done")


@dataclass(frozen=True)
class RemoteJob:
    """What a process needs beside its task; Ray sends it to each machine once."""

    work: Callable[[Any], Any]
    version: str
    settings_file: bytes | None
    dates: bool
    epoch: str | None


@dataclass(frozen=True)
class SentFile:
    """A file in Ray's store, and where it lies below the cache of a machine that has it."""

    path: str
    below: str
    content: Any  # Ray's reference


class RayCluster:
    """A cluster that this process has joined."""

    def __init__(self, address: str) -> None:
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        if os.environ.setdefault(AUTH_MODE, WITH_TOKEN) != WITH_TOKEN:
            fix = f"set it to {WITH_TOKEN}, here and where Ray is started; see docs/scale.md"
            raise InputError(f"a cluster needs a token: {AUTH_MODE}", value=mode(), fix=fix)
        try:
            import ray
        except ImportError as error:
            raise missing_extra("--cluster", "ray", "cluster") from error
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error")
        except ray.exceptions.AuthenticationError as error:
            fix = (
                "make one with: ray get-auth-token --generate; the cluster must be started with it"
            )
            raise InputError("this machine has no token of a cluster", fix=fix) from error
        except (ConnectionError, RuntimeError, ValueError) as error:
            fix = (
                "start one with: ray start --head; give auto, or the HOST:PORT that it prints; "
                "where the cluster has another token than this machine it does not answer, either"
            )
            raise InputError("no cluster of Ray is there", value=address, fix=fix) from error
        self._sent: dict[str, Any] = {}
        self._counted, self._processors = 0.0, 0
        try:
            refuse_open(ray.get_runtime_context().gcs_address)
        except InputError:
            ray.shutdown()
            raise

    @property
    def processors(self) -> int:
        """How many tasks it does at the same time, as machines come and go."""
        import ray

        if time.monotonic() - self._counted > COUNT_SECONDS:
            count = int(ray.cluster_resources().get("CPU", 0))
            if count != self._processors:
                say(f"cluster: {count} processors" + ("" if count else "; waiting for a machine"))
            self._counted, self._processors = time.monotonic(), count
        return max(1, self._processors)

    def run(self, job: Job[Task, Done]) -> Iterator[Done]:
        """Results of tasks; see `workers.in_processes`."""
        import ray

        file, epoch = settings.used(), os.environ.get(EPOCH_VARIABLE)
        text = None if file is None else read_bytes(file)
        remote = RemoteJob(job.work, kibitz.__version__, text, has_dates(), epoch)
        # In a list Ray leaves references alone: a process fetches what is behind them only once.
        about = [secrets.token_hex(8), ray.put(remote), self._send(job.needs)]
        do = ray.remote(num_cpus=1, max_retries=RETRIES)(_do)
        running: list[Any] = []
        try:
            for task in job.tasks:
                running.append(do.remote(about, task))
                if len(running) > 2 * self.processors:
                    yield from _next(running, job)
                if job.stopped():
                    break
            while running and not job.stopped():
                yield from _next(running, job)
        finally:
            for reference in running:
                ray.cancel(reference, force=True)

    def _send(self, paths: Sequence[str]) -> list[SentFile]:
        """Put files into Ray's store; files of one folder stay in one folder."""
        import ray

        contents = {path: read_bytes(path) for path in dict.fromkeys(paths)}
        whole = hashlib.sha256(b"".join(hashlib.sha256(c).digest() for c in contents.values()))
        folders = sorted({str(Path(path).parent) for path in contents})
        files = []
        for path, content in contents.items():
            below = f"{whole.hexdigest()[:24]}/{folders.index(str(Path(path).parent))}"
            below += f"/{Path(path).name}"
            if below not in self._sent:
                self._sent[below] = ray.put(content)
            files.append(SentFile(path, below, self._sent[below]))
        return files

    def close(self) -> None:
        """Leave the cluster; it goes on."""
        import ray

        ray.shutdown()


def mode() -> str:
    """What Ray does about tokens in this process."""
    return os.environ.get(AUTH_MODE, "")


def refuse_open(address: str) -> None:
    """Raise an InputError if a cluster answers a process that has no token."""
    without = {name: value for name, value in os.environ.items() if name not in TOKENS}
    call = subprocess.run(
        [sys.executable, "-c", STRANGER, address],
        env={**without, AUTH_MODE: "disabled"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=ANSWER_SECONDS,
        check=False,
    )
    answer = call.stdout.strip()
    if answer == "refused":
        return
    fix = f"start Ray on every machine with {AUTH_MODE}={WITH_TOKEN}; see docs/scale.md"
    if answer == "answered":
        raise InputError("this cluster lets in who has no token", value=address, fix=fix)
    reason = (call.stderr.strip().splitlines() or ["no answer"])[-1]
    raise InputError(
        f"the cluster does not say whether it asks for a token ({reason})", value=address, fix=fix
    )


def _next(running: list[Any], job: Job[Any, Done]) -> Iterator[Done]:
    """Take out the first result, or the first that is ready; none when stopped before."""
    import ray

    ready: list[Any] = []
    while not ready:
        if job.stopped():
            return
        looked_at = running[:1] if job.in_order else running
        ready, _ = ray.wait(looked_at, num_returns=1, timeout=LOOK_SECONDS)
    running.remove(ready[0])
    try:
        done = ray.get(ready[0])
    except ray.exceptions.RayTaskError as error:  # a mistake of ours, which its trace shows
        raise error.as_instanceof_cause() from error
    except ray.exceptions.RayError as error:
        reason = str(error).strip().partition("\n")[0]
        fix = "what is finished is kept: mend the cluster and repeat the command"
        raise InputError(f"the cluster has given up a task ({reason})", fix=fix) from error
    if isinstance(done, KibitzError):
        raise done
    yield done


# --- in a process of the cluster ------------------------------------------------------------------

_key = ""  # of the work that this process does
_work: Callable[[Any], Any] | None = None


def _do(about: Sequence[Any], task: Any) -> Any:
    """Do a task; what is wrong with the input comes back instead of a result."""
    global _key, _work
    key, remote, files = about
    try:
        if mode() != WITH_TOKEN:  # the machine may have joined after the command began
            fix = f"start Ray there with {AUTH_MODE}={WITH_TOKEN}; see docs/scale.md"
            what = "a machine of the cluster works without a token"
            raise InputError(what, value=socket.gethostname(), fix=fix)
        if key != _key:
            _work, _key = _prepared(remote, files), key
        assert _work is not None
        return _work(task)
    except KibitzError as error:
        return error


def _prepared(reference: Any, files: Sequence[SentFile]) -> Callable[[Any], Any]:
    """Prepare this process for the work, and return it."""
    import ray

    remote: RemoteJob = ray.get(reference)
    if remote.version != kibitz.__version__:
        what = f"a machine of the cluster has Kibitz {kibitz.__version__}, not"
        raise InputError(what, value=remote.version, fix="install the same version everywhere")
    set_level(Level.QUIET)
    leave_out_dates(not remote.dates and remote.epoch is None)
    if remote.epoch is not None:
        os.environ[EPOCH_VARIABLE] = remote.epoch
    home = cache_folder() / "cluster"
    for file in files:
        path = home / file.below
        if not path.is_file():  # another process of this machine may have written it
            write_bytes(path, ray.get(file.content))
        use_copies({file.path: str(path)})
    settings.use(None)
    if remote.settings_file is not None:
        name = hashlib.sha256(remote.settings_file).hexdigest()[:24]
        write_bytes(home / f"{name}.toml", remote.settings_file)
        settings.use(home / f"{name}.toml")
    return remote.work
