"""Tasks on a cluster of Ray: the same as `workers.in_processes` does on one machine.

Ray does a task again when its process or machine is lost. Only this process writes results, so what
it has written stays whatever happens to the others; if it ends itself, or with the head of the
cluster, the same command goes on from there.
"""

from __future__ import annotations

import hashlib
import os
import secrets
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
from kibitz.core.workers import Job, bring

RETRIES = 5  # times a task is done again when its process or machine was lost
LOOK_SECONDS = 0.2  # how soon a Ctrl-C is noticed
COUNT_SECONDS = 2.0  # between two looks at how many processors there are
TOKENS = "RAY_AUTH_MODE"
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is reported to anyone
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # Ray would print pages between the lines of the result
}

Task = TypeVar("Task")
Done = TypeVar("Done")


@dataclass(frozen=True)
class Errand:
    """What a process needs beside its task; Ray sends it to each machine once."""

    work: Callable[[Any], Any]
    version: str
    settings_file: bytes | None
    dates: bool
    epoch: str | None


@dataclass(frozen=True)
class Sent:
    """A file in Ray's store, and where it lies below the cache of a machine that has it."""

    path: str
    below: str
    content: Any  # Ray's reference


class RayCluster:
    """A cluster that this process has joined."""

    def __init__(self, address: str) -> None:
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        try:
            import ray
        except ImportError as error:
            raise missing_extra("--cluster", "ray", "cluster") from error
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error")
        except (ConnectionError, RuntimeError, ValueError) as error:
            fix = "start one with: ray start --head; give auto, or the HOST:PORT that it prints"
            raise InputError("no cluster of Ray is there", value=address, fix=fix) from error
        self._sent: dict[str, Any] = {}
        self._counted, self._processors = 0.0, 0
        self._check_token()

    def _check_token(self) -> None:
        """Refuse several machines where anyone who reaches a port can run programs."""
        import ray

        machines = {node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
        if len(machines) > 1 and os.environ.get(TOKENS) != "token":
            ray.shutdown()
            fix = f"start Ray with {TOKENS}=token everywhere; see docs/scale.md"
            raise InputError("a cluster of several machines needs a token", fix=fix)

    @property
    def processors(self) -> int:
        """How many tasks it does at the same time, as machines come and go."""
        import ray

        if time.monotonic() - self._counted > COUNT_SECONDS:
            found = int(ray.cluster_resources().get("CPU", 0))
            if found != self._processors:
                say(f"cluster: {found} processors" + ("" if found else "; waiting for a machine"))
            self._counted, self._processors = time.monotonic(), found
        return max(1, self._processors)

    def run(self, job: Job[Task, Done]) -> Iterator[Done]:
        """Results of tasks; see `workers.in_processes`."""
        import ray

        file, epoch = settings.used(), os.environ.get(EPOCH_VARIABLE)
        text = None if file is None else read_bytes(file)
        errand = Errand(job.work, kibitz.__version__, text, has_dates(), epoch)
        # In a list Ray leaves references alone: a process fetches what is behind them only once.
        about = [secrets.token_hex(8), ray.put(errand), self._send(job.needs)]
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

    def _send(self, paths: Sequence[str]) -> list[Sent]:
        """Put files into Ray's store; files of one folder stay in one folder."""
        import ray

        contents = {path: read_bytes(path) for path in dict.fromkeys(paths)}
        whole = hashlib.sha256(b"".join(hashlib.sha256(c).digest() for c in contents.values()))
        folders = sorted({str(Path(path).parent) for path in contents})
        found = []
        for path, content in contents.items():
            below = f"{whole.hexdigest()[:24]}/{folders.index(str(Path(path).parent))}"
            below += f"/{Path(path).name}"
            if below not in self._sent:
                self._sent[below] = ray.put(content)
            found.append(Sent(path, below, self._sent[below]))
        return found

    def close(self) -> None:
        """Leave the cluster; it goes on."""
        import ray

        ray.shutdown()


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
    key, errand, files = about
    try:
        if key != _key:
            _work, _key = _prepared(errand, files), key
        assert _work is not None
        return _work(task)
    except KibitzError as error:
        return error


def _prepared(reference: Any, files: Sequence[Sent]) -> Callable[[Any], Any]:
    """Prepare this process for the work, and return it."""
    import ray

    errand: Errand = ray.get(reference)
    if errand.version != kibitz.__version__:
        what = f"a machine of the cluster has Kibitz {kibitz.__version__}, not"
        raise InputError(what, value=errand.version, fix="install the same version everywhere")
    set_level(Level.QUIET)
    leave_out_dates(not errand.dates and errand.epoch is None)
    if errand.epoch is not None:
        os.environ[EPOCH_VARIABLE] = errand.epoch
    home = cache_folder() / "cluster"
    for file in files:
        path = home / file.below
        if not path.is_file():  # another process of this machine may have written it
            write_bytes(path, ray.get(file.content))
        bring({file.path: str(path)})
    settings.use(None)
    if errand.settings_file is not None:
        name = hashlib.sha256(errand.settings_file).hexdigest()[:24]
        write_bytes(home / f"{name}.toml", errand.settings_file)
        settings.use(home / f"{name}.toml")
    return errand.work
