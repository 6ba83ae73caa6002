"""What it costs to share out work: commands by one process, and on a cluster of this machine.

Each kind of work is done twice everywhere, a little and much of it. The difference of the two is
the work itself; what the little takes beyond its share is the start, which does not grow.
Efficiency is what one process takes for the work over what the cluster takes: by the clock, of as
many processors as there are workers and cores; and in processor time, Ray's own processes included,
which says something on a busy machine, too. What comes out is compared byte by byte.

Processor times are those of Linux.
"""

from __future__ import annotations

import hashlib
import json as json_of
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cyclopts import App, Parameter

from kibitz.cli.output import JsonFlag, at_least, columns, emit
from kibitz.core.errors import InputError, did_you_mean
from kibitz.core.log import progress, say
from kibitz.core.provenance import KEY
from kibitz.core.workers import processors
from research.command import carry_out
from research.contempt.study import people

app = App(name="cluster", help="Work on a cluster, measured.", result_action="return_value")

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "examples" / "local_cluster.py"
LOOK_SECONDS = 0.25  # between two looks at the processes of a cluster
TOKEN = "of a cluster that is measured, and of no other one"


ALL_CELLS = "the study, all cells"  # too long for a table, for what it costs
LARGE_JOBS = {"games": 10**6, "positions": 10**8}  # costs are given for so many
STUDY = " ".join(
    f"--set {shlex.quote(text)}"
    for text in (
        'odds=["queen"]',
        'givers=["shipped,name=PUCT,Search=mcts", "shipped,name=alpha-beta,Search=alphabeta"]',
        'controls=["alpha-beta=PUCT"]',
        f"opponents={[people(1100), people(1900)]}",
    )
)


class Work(NamedTuple):
    """A command that plays {games} games into {out}, {workers} at a time or on a cluster."""

    command: str
    little: int  # games, of each cell
    much: int
    made: tuple[str, ...]  # patterns of files that are the same, whoever did the work
    cells: int = 1


WORKS = {
    "self-play, alpha-beta": Work(
        "kibitz selfplay {out} --preset alphabeta --set nodes=5000 --set workers={workers} "
        "--set group=8 --network shipped --games {games} --json",
        *(8, 36),
        ("*.shard",),
    ),
    "self-play, tree search": Work(
        "kibitz selfplay {out} --set workers={workers} --network shipped --games {games} --json",
        *(256, 4352),
        ("*.shard",),
    ),
    "labelling": Work(
        "kibitz data label -o {out} --engine {engine} --workers {workers} --games {games} --json",
        *(8, 56),
        ("*.shard",),
    ),
    "match with SPRT": Work(
        "kibitz match shipped,name=a shipped,name=b,CPuct=2 --nodes 1000 --sprt 0 5 --seed 1 "
        "--concurrency {workers} --games {games} --file {out}/result.json --json",
        *(8, 48),
        ("result.json",),
    ),
    "the study": Work(
        "python -m research.contempt study --folder {out} --set games={games} --set annotated=0 "
        f"--set judged=4 --set judge_nodes=5000 --set workers={{workers}} {STUDY} --json",
        *(2, 10),
        ("*.csv", "pgn/*.pgn"),
        cells=4,
    ),
    ALL_CELLS: Work(
        "python -m research.contempt study research/contempt/study.toml --folder {out} "
        "--set games={games} --set workers={workers} --set judged=0 --set annotated=0 --json",
        *(2, 4),
        ("*.csv", "pgn/*.pgn"),
        cells=28,
    ),
}


class Run(NamedTuple):
    """What a command took, and what it made."""

    seconds: float  # by the clock
    processor: float  # seconds of all processes that took part
    positions: int  # that were played and kept, as far as the command says
    made: str  # checksum


class Row(NamedTuple):
    """A kind of work on a cluster beside one process without it."""

    work: str
    workers: int  # of the cluster; 0: without one
    processes: int  # or threads of the command without a cluster; 0: with one
    games: int  # of which the times are
    positions: int  # in these games; 0: the command does not say
    seconds: float
    processor: float
    start: float  # seconds by the clock until there is work done
    efficiency: float  # of 1, by the clock
    processor_efficiency: float
    same: bool  # byte by byte


# --- commands -------------------------------------------------------------------------------------


@contextmanager
def local_cluster(machines: int) -> Iterator[tuple[str, int]]:
    """The address of a cluster of this machine, and the process that has started it."""
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), str(machines)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as script:
        assert script.stdout is not None
        line = script.stdout.readline()
        if not line:
            fix = "pip install 'kibitz[cluster]'; see docs/scale.md"
            raise InputError("no cluster starts here", value=SCRIPT.name, fix=fix)
        yield line.split()[0], script.pid


class Family:
    """Processor time of a process and all that it has started, also of those that have ended."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._before: dict[int, int] = {}
        self._before = self._look()
        self._latest = dict(self._before)

    def _look(self) -> dict[int, int]:
        """Ticks of every process of the family that runs now."""
        ticks: dict[int, tuple[int, int]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            ticks[int(path.parent.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
        members = {self._process}
        while more := {pid for pid, (parent, _) in ticks.items() if parent in members} - members:
            members |= more
        return {pid: ticks[pid][1] for pid in members if pid in ticks}

    def look(self) -> None:
        """Read the times of all that run; what has ended keeps what it had last."""
        self._latest |= self._look()

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        ticks = sum(self._latest.values()) - sum(self._before.values())
        return ticks / os.sysconf("SC_CLK_TCK")


def carried_out(
    work: Work, games: int, engine: str, workers: int, cluster: tuple[str, int] | None
) -> Run:
    """Do the work in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder, "printed")
        text = work.command.format(
            out=folder, games=games, engine=shlex.quote(engine), workers=workers
        )
        program, *words = shlex.split(text)
        start = ["-m", "kibitz"] if program == "kibitz" else []
        words = [*start, *words, "--quiet", "--reproducible"]
        words += [] if cluster is None else ["--cluster", cluster[0]]
        family = None if cluster is None else Family(cluster[1])
        began, pid = time.monotonic(), 0
        with printed.open("wb") as file:
            child = subprocess.Popen([sys.executable, *words], cwd=ROOT, stdout=file)
        while pid == 0:
            time.sleep(LOOK_SECONDS)
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if family is not None:
                family.look()
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        if child.returncode:
            what = f"a command ended with {child.returncode}, {games} games"
            fix = "see what it said above; below 0: the signal that killed it"
            raise InputError(what, value=shlex.join(words), fix=fix)
        processor = usage.ru_utime + usage.ru_stime + (family.seconds if family else 0.0)
        positions = _positions(json_of.loads(printed.read_bytes()))
        return Run(seconds, processor, positions, _checksum(Path(folder), work.made))


def _positions(facts: dict[str, Any]) -> int:
    """How many positions a command says that it has made."""
    rows = facts["rows"] if facts.get("experiment") else []
    made: float = sum(row["games"] * row["plies"] for row in rows)
    positions: float = facts.get("plies", facts.get("positions", made))
    return round(positions)


def _checksum(folder: Path, patterns: Sequence[str]) -> str:
    paths = sorted(path for pattern in patterns for path in folder.glob(pattern))
    contents = (f"{path.relative_to(folder)} ".encode() + _content(path) for path in paths)
    return hashlib.sha256(b"\n".join(contents)).hexdigest() if paths else ""


def _content(path: Path) -> bytes:
    """The bytes of a file; of a result without the command that made it."""
    content = path.read_bytes()
    if path.suffix != ".json":
        return content
    return json_of.dumps({**json_of.loads(content), KEY: None}).encode()


# --- the table ------------------------------------------------------------------------------------


def measured(
    name: str, engine: str, workers: int, cluster: tuple[str, int] | None, alone: Row | None
) -> tuple[Row, str]:
    """A row, and the checksum of what was made."""
    work = WORKS[name]
    little, much = (
        carried_out(work, count, engine, workers, cluster) for count in (work.little, work.much)
    )
    games = (work.much - work.little) * work.cells
    seconds, processor = much.seconds - little.seconds, much.processor - little.processor
    start = little.seconds - work.little * work.cells * seconds / games
    positions = much.positions - little.positions
    times = seconds, processor, max(0.0, start)
    places = (0, workers) if cluster is None else (workers, 0)
    row = Row(name, *places, games, positions, *times, 1.0, 1.0, same=True)
    if alone is not None:
        busy = min(workers, processors())
        row = row._replace(
            efficiency=alone.seconds / (seconds * busy),
            processor_efficiency=alone.processor / processor,
        )
    return row, much.made


def costs(row: Row, price: float) -> dict[str, dict[str, float]]:
    """Core-hours of many games and positions, and what they cost, by their processor time."""
    hours = {
        name: row.processor * many / getattr(row, name) / 3600
        for name, many in LARGE_JOBS.items()
        if getattr(row, name)
    }
    return {name: {"core_hours": each, "cost": price * each} for name, each in hours.items()}


@app.default
def table(
    *,
    workers: Annotated[tuple[int, ...], Parameter(help="Machines of the cluster.")] = (1, 2, 4, 8),
    work: Annotated[tuple[str, ...], Parameter(help="Only these kinds of work.")] = tuple(
        name for name in WORKS if name != ALL_CELLS
    ),
    price: Annotated[float, Parameter(help="Of a core-hour, for what much work costs.")] = 0.04,
    engine: Annotated[str, Parameter(help="UCI program that labels.")] = "kibitz uci",
    json: JsonFlag = False,
) -> int:
    """Measure work on a local cluster of Ray, as many machines as is said, against one process."""
    at_least(1, workers=min(workers, default=0))
    at_least(0, price=price)
    for name in work:
        if name not in WORKS:
            raise InputError("no such work", value=name, fix=did_you_mean(name, WORKS))
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
    load = os.getloadavg()[0]
    rows: list[Row] = []
    alone: dict[str, Row] = {}
    made: dict[str, str] = {}

    def measure(workers: int, cluster: tuple[str, int] | None) -> None:
        for name in work:
            row, what = measured(name, engine, workers, cluster, alone.get(name))
            alone.setdefault(name, row)
            same = what == made.setdefault(name, what) != ""
            rows.append(row._replace(same=same))
            bar.advance()

    with progress("measuring", total=len(work) * (2 + len(workers))) as bar:
        for count in sorted({1, processors()}):
            measure(count, None)
        for count in workers:
            with local_cluster(count) as cluster:
                measure(count, cluster)
    rows.sort(key=lambda row: ([*WORKS].index(row.work), row.workers, row.processes))
    facts: dict[str, Any] = {"cores": processors(), "load": round(load, 2), "engine": engine}
    facts["rows"] = [{**row._asdict(), "many": costs(row, price)} for row in rows]
    facts["commands"] = {name: WORKS[name].command for name in work}
    emit(facts, as_json=json, table=columns(HEADINGS, [_cells(row) for row in rows]))
    say(f"{processors()} cores, load {load:.1f} at the beginning")
    return 0 if all(row.same for row in rows) else 1


HEADINGS = (
    "work",
    "workers",
    "processes",
    "games",
    "positions",
    "s",
    "efficiency",
    "processor s",
    "efficiency",
    "start s",
    "bytes",
)


def _cells(row: Row) -> tuple[object, ...]:
    return (
        row.work,
        row.workers or "no cluster",
        row.processes or "",
        row.games,
        row.positions or "",
        f"{row.seconds:.1f}",
        f"{row.efficiency:.0%}",
        f"{row.processor:.1f}",
        f"{row.processor_efficiency:.0%}",
        f"{row.start:.1f}",
        "the same" if row.same else "DIFFERENT",
    )


if __name__ == "__main__":
    sys.exit(carry_out(app))
