"""Pools of threads and processes that share out work, and the end of outside programs.

Work for processes goes to those of this machine, or to a cluster where one is used.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

_LOOK_SECONDS = 0.2  # how soon a Ctrl-C is noticed
SELDOM = 50_000  # objects made between two collections of garbage

Task = TypeVar("Task")
Done = TypeVar("Done")


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> int | None:
    """Bytes that this process may use: the machine's, or what its container has of them."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.is_file() else ""
    return min(installed, int(text)) if text.isdecimal() else installed


def collect_seldom() -> None:
    """Collect garbage seldom: at a start nothing is garbage, and looking took a sixth of its time.

    Python looks after every 700 objects, and then through all again and again while it imports.
    """
    gc.set_threshold(SELDOM)


def kill_group(leader: int) -> None:
    """Kill a program that was started with `start_new_session=True`, and all it has started.

    A program behind a shell is a child of the shell, and keeps the pipes open when only the shell
    is killed. `leader` is the number of the process that was started; it may have ended already.
    """
    if os.name == "nt":
        command = ["taskkill", "/T", "/F", "/PID", str(leader)]
        subprocess.run(command, capture_output=True, check=False)
        return
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def in_threads(work: Callable[[], None], count: int) -> None:
    """Run the same work in several threads; the first error of any of them is raised at the end.

    They do not keep the program alive, and Ctrl-C is noticed while they work.
    """
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    threads = [threading.Thread(target=guarded, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(_LOOK_SECONDS)
    if errors:
        raise errors[0]


@dataclass(frozen=True)
class Job(Generic[Task, Done]):
    """What `in_processes` is given for a cluster."""

    work: Callable[[Task], Done]
    tasks: Iterable[Task]
    in_order: bool
    needs: Sequence[str]
    stopped: Callable[[], bool]


class Cluster(Protocol):
    """Processes of several machines; the room `cluster` has one."""

    @property
    def processors(self) -> int:
        """How many tasks it does at the same time."""

    def run(self, job: Job[Task, Done]) -> Iterator[Done]:
        """Results of a job."""

    def close(self) -> None:
        """Leave it."""


_cluster: Cluster | None = None  # of this process
_copies: dict[str, str] = {}  # files of another machine -> copies here


def use_cluster(wanted: Cluster | None) -> None:
    """Let a cluster do the work of `in_processes` from now on; None: this machine."""
    global _cluster
    _cluster = wanted


def cluster() -> Cluster | None:
    """The cluster that is used."""
    return _cluster


def use_copies(copies: dict[str, str]) -> None:
    """Say where files that work `needs` lie on this machine."""
    _copies.update(copies)


def local_copy(path: str) -> str:
    """Where a file that work `needs` lies on the machine that does the work."""
    return _copies.get(path, path)


def never() -> bool:
    """For work that is not stopped."""
    return False


def in_processes(
    work: Callable[[Task], Done],
    tasks: Iterable[Task],
    workers: int,
    *,
    in_order: bool = False,
    needs: Sequence[str] = (),
    stopped: Callable[[], bool] = never,
) -> Iterator[Done]:
    """Results as they are ready, or in order; few more tasks in memory than there are workers.

    Each process gets `work`, and all it holds, once; a task may be small. Files that it `needs`
    are where `local_copy` says. Once it is `stopped`, a cluster gives up what is in progress. A
    task is done again if its process or machine is lost, so it must come to the same every time.
    """
    if _cluster is not None:
        yield from _cluster.run(Job(work, tasks, in_order, needs, stopped))
        return
    if workers <= 1:
        yield from map(work, tasks)
        return
    from concurrent.futures import ProcessPoolExecutor  # slow to import

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_settle, initargs=(work,)
    ) as pool:
        running: list[Future[Done]] = []
        try:
            for task in tasks:
                running.append(pool.submit(_do, task))
                if len(running) > 2 * workers:
                    yield _next(running, in_order).result()
            while running:
                yield _next(running, in_order).result()
        finally:
            pool.shutdown(cancel_futures=True)


def _next(running: list[Future[Done]], in_order: bool) -> Future[Done]:
    """Take out the first, or the first that is ready."""
    from concurrent.futures import FIRST_COMPLETED, wait

    ready = wait(running[:1] if in_order else running, return_when=FIRST_COMPLETED).done
    future = next(each for each in running if each in ready)
    running.remove(future)
    return future


_work: Callable[[Any], Any] | None = None  # of this process; `_settle` brings it


def _do(task: Any) -> Any:
    assert _work is not None
    return _work(task)


def _settle(work: Callable[[Any], Any]) -> None:
    """Leave Ctrl-C to the parent, and end when it has ended, however that came."""
    global _work
    _work = work
    collect_seldom()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
