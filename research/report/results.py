"""What papers say, what we measured, and whether our pages say what was measured.

`report.toml` names measurements, each a command that prints JSON; figures of papers and sentences
of our pages refer to what it printed. A result is kept as it was printed, never typed in.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

import kibitz
from kibitz.core.errors import (
    ConfigError,
    DamagedFileError,
    InputError,
    did_you_mean,
)
from kibitz.core.files import read_bytes, write_bytes
from kibitz.core.log import say
from kibitz.core.provenance import KEY, MISSING
from kibitz.nets.discover import SUFFIXES, shipped_file
from kibitz.nets.files import read_card

Verdict: TypeAlias = Literal[
    "reproduced",
    "not reproduced",
    "not comparable",
    "not measured",
    "as measured",
    "stale",
    "other command",
    "other network",
    "other version",
    "as logged",
    "given",
    "differs",
    "no result",
    "not in the text",
    "not in the log",
    "no source",
]
BAD: tuple[Verdict, ...] = (
    "other command",
    "other network",
    "other version",
    "differs",
    "no result",
    "not in the text",
    "not in the log",
    "no source",
)
PATHS = ("of", "low", "high")


class Measure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command that prints one JSON object; {data} and {work} in it are folders."""

    command: str
    quick: bool = False  # repeated by every report


class Paper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure of one of the four systems, or a row of them."""

    source: str
    what: str  # {} in it is where in the row
    figure: float = 0.0
    figures: tuple[float, ...] = ()  # a row; {} in paths is the place, from 0
    at: tuple[float, ...] = ()  # where in the row each of them stands
    of: str = ""  # MEASURE:PATH of ours
    low: str = ""  # paths of a 95 % interval in the same measurement
    high: str = ""
    within: float = 0.0  # the difference that is none, where there is no interval
    why_not: str = ""  # why the two cannot be compared
    chart: str = ""
    series: str = ""
    x: float = 0.0

    def each(self) -> list[Paper]:
        """The figures of a row, one by one; a figure alone is itself."""
        return [
            msgspec.structs.replace(
                self,
                figures=(),
                what=self.what.replace("{}", f"{at:,.10g}"),
                figure=figure,
                x=at,
                **{name: getattr(self, name).replace("{}", str(place)) for name in PATHS},
            )
            for place, (figure, at) in enumerate(zip(self.figures, self.at, strict=True))
        ] or [self]


class Sentence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words of a page with {PATH} or {PATH|format} where measured numbers stand."""

    file: str
    of: str  # MEASURE
    text: str
    keys: tuple[tuple[str, ...], ...] = ()  # lines of a table: what $0, $1 ... stand for in each

    def each(self) -> list[Sentence]:
        """The lines of a table, one by one; a sentence alone is itself."""
        lines = []
        for key in self.keys or ((),):
            text = self.text
            for place, word in enumerate(key):
                text = text.replace(f"${place}", word)
            lines.append(msgspec.structs.replace(self, text=text, keys=()))
        return lines


class Logged(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words of a page whose numbers stand in a dated entry of research/log, with the command."""

    file: str
    entry: str  # how its heading begins
    text: str


class Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers of a page that no measurement makes: settings, formats, formulas, others' figures."""

    file: str
    why: str
    section: tuple[str, ...] = ()  # headings; without them and a text the whole page
    text: tuple[str, ...] = ()  # these words only


class Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that is reported."""

    measure: dict[str, Measure]
    paper: list[Paper] = []
    document: list[Sentence] = []
    logged: list[Logged] = []
    given: list[Given] = []


class Row(NamedTuple):
    """A figure with its verdict."""

    source: str  # a paper, or a page of ours
    what: str
    theirs: str  # what the paper or the page says
    ours: str
    interval: str
    verdict: Verdict
    command: str

    @property
    def bad(self) -> bool:
        """Whether a page says what no result says."""
        return self.verdict in BAD


# --- results --------------------------------------------------------------------------------------


class Results:
    """The catalogue in a folder, and the results beside it."""

    def __init__(self, folder: Path, data: str, work: Path | None = None) -> None:
        self.folder, self._data, self._work = folder, data, work
        path = folder / "report.toml"
        try:
            self.catalogue = msgspec.toml.decode(read_bytes(path), type=Catalogue)
        except msgspec.DecodeError as error:  # of the grammar, or of an entry
            raise ConfigError(f"{path}: {error}") from error
        self._results: dict[str, Any] = {}
        self._fresh: set[str] = set()  # measured by this run
        self.papers = [figure for item in self.catalogue.paper for figure in item.each()]
        self.sentences = [line for item in self.catalogue.document for line in item.each()]

    def run(self, name: str, *, keep: bool) -> bool:
        """Measure once more; a result that is kept replaces the one in the folder.

        Returns whether the command came to its end and, if it is to be kept, could be.
        """
        measure = self.catalogue.measure.get(name)
        if measure is None:
            raise InputError(
                "no such measurement", value=name, fix=did_you_mean(name, self.catalogue.measure)
            )
        with tempfile.TemporaryDirectory() as scratch:
            work = str(self._work or scratch)
            program, *arguments = shlex.split(measure.command.format(data=self._data, work=work))
            start = ["-m", program] if program == "kibitz" else []
            command = [sys.executable, *start, *arguments]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            say(f"{name}: exit code {done.returncode} of {measure.command}")
            return False
        text = done.stdout.replace(work, "{work}").replace(str(Path.cwd()), ".")
        # Without places of this machine.
        result = _decoded(text.encode(), f"what {measure.command} printed", name)
        about = result.pop(KEY, None) if isinstance(result, dict) else None
        self._results[name] = result
        self._fresh.add(name)
        if about is None:
            say(f"{name}: {measure.command} does not say where its numbers come from: not kept")
            return not keep
        if keep:
            # By the command of the catalogue, whose folders are those of any machine.
            record = {**about, "command": measure.command, "result": result}
            content = json.dumps(record, indent=1)
            write_bytes(self.folder / f"{name}.json", f"{content}\n".encode())
        return True

    def doubt(self, name: str) -> Verdict | None:
        """Why a stored result may no longer be what its command prints; None without a reason."""
        if name in self._fresh:
            return None
        path = self.folder / f"{name}.json"
        stored = _decoded(read_bytes(path), path, name) if path.exists() else {}
        if not isinstance(stored, dict) or "commit" not in stored:
            return "stale"  # of a time when results did not say where they come from
        if stored["command"] != self.command(name):
            return "other command"
        if stored["version"] != kibitz.__version__:
            return "other version"
        networks = stored["networks"]
        return None if networks == networks_now(networks) else "other network"

    def of(self, name: str) -> Any:
        """What a measurement has printed; None if it was never made."""
        if name not in self._results:
            path = self.folder / f"{name}.json"
            stored = _decoded(read_bytes(path), path, name) if path.exists() else None
            kept = stored.get("result", stored) if isinstance(stored, dict) else stored
            self._results[name] = kept or None
        return self._results[name]

    def value(self, name: str, path: str) -> Any:
        """One value of a result: keys, places and KEY=VALUE&... of a row, with slashes between."""
        value = self.of(name)
        for step in path.split("/") if value is not None else ():
            value = _step(value, step)
            if value is None:
                break
        if self.of(name) is not None and not isinstance(value, int | float):
            say(f"{name}.json has no number at {path}")
            return None
        return value

    def command(self, name: str) -> str:
        """The command of a measurement."""
        return self.catalogue.measure[name].command if name in self.catalogue.measure else ""


# --- where a result comes from --------------------------------------------------------------------


def networks_now(networks: Mapping[str, str]) -> dict[str, str]:
    """The same networks with the checksums that they have now.

    A network file is one that the measurement itself made, and keeps its checksum.
    """
    return {
        name: text if Path(name).suffix in SUFFIXES else _checksum_of(name)
        for name, text in networks.items()
    }


def _checksum_of(name: str) -> str:
    shipped = shipped_file(name)
    return MISSING if shipped is None else read_card(shipped).sha256


def _decoded(content: bytes, where: object, name: str) -> Any:
    """What JSON says."""
    try:
        return json.loads(content)
    except ValueError as error:
        fix = f"measure it again: python -m research.report --run {name}"
        raise DamagedFileError(f"no JSON ({error})", value=str(where), fix=fix) from error


def _step(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if not isinstance(value, list):
        return None
    if step.isdecimal():
        return value[int(step)] if int(step) < len(value) else None
    wanted = [pair.partition("=")[::2] for pair in step.split("&")]
    listed = (row for row in value if isinstance(row, dict))
    fits = (row for row in listed if all(str(row.get(key)) == value for key, value in wanted))
    return next(fits, None)


# --- verdicts -------------------------------------------------------------------------------------


def of_paper(item: Paper, results: Results) -> Row:
    """A figure of a paper beside ours."""
    name, _, path = item.of.partition(":")
    ours = results.value(name, path) if path else None
    judged = ours is not None and bool(item.low)
    ends = (results.value(name, item.low), results.value(name, item.high)) if judged else None
    verdict: Verdict = "not measured"
    if item.why_not:
        verdict = "not comparable"
    elif ours is not None:
        low, high = ends or (ours - item.within, ours + item.within)
        verdict = "reproduced" if low <= item.figure <= high else "not reproduced"
    shown = "" if ours is None else f"{ours:,.4g}" if isinstance(ours, float) else f"{ours:,}"
    interval = f"{ends[0]:.4g} to {ends[1]:.4g}" if ends else ""
    what = f"{item.what} ({item.why_not})" if item.why_not else item.what
    doubt = None if ours is None or item.why_not else results.doubt(name)
    if doubt is not None:
        what, verdict = f"{what} ({verdict})", doubt
    return Row(
        item.source, what, f"{item.figure:,.10g}", shown, interval, verdict, results.command(name)
    )
