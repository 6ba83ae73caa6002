"""`kibitz doctor`: what Kibitz finds on this machine, what is missing, and how to get it.

Everything that may be broken, the compiler first of all, is looked at in a process of its own.
"""

from __future__ import annotations

import importlib
import json as jsons
import os
import pkgutil
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple

import kibitz
from kibitz.cli.output import JsonFlag, columns, emit
from kibitz.core import settings
from kibitz.core.files import cache_folder, data_folder
from kibitz.core.workers import memory, processors

EXIT_BROKEN = 1
PATIENCE = 120.0  # seconds for a question; a first import of torch from a slow disk takes some
# The first start of all compiles for so many times as long as the small function of the check, on
# two cores and on one (0.77 of what the log of 2026-11-22 measured, as its processor time is).
FIRST_START = (50, 85)
FIRST_KERNELS = "search.alphabeta.root"  # compiled last at the first start
GIGABYTE = 1 << 30
OWN = "kibitz"
FOR_DEVELOPERS = "dev"  # an extra that only repeats the others
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[\w+\])?\s*([^;]*)(?:;.*extra == ['\"](\w+)['\"])?")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    part: str
    status: Literal["ok", "note", "missing", "broken"]
    text: str
    fix: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


class Need(NamedTuple):
    """A package that Kibitz, or one of its extras, requires."""

    name: str
    versions: str = ""  # as pip writes them: >=2.0,<3
    extra: str = ""


def doctor(*, json: JsonFlag = False) -> int:
    """Look at versions, processor, caches, networks, tables, engines, extras and folders.

    Exit code 1 if something that Kibitz needs is broken; what is merely missing is named.
    """
    findings = [*_program(), *_machine(), *_compiler()]  # which is timed, and so alone
    with ThreadPoolExecutor(max(2, processors())) as pool:
        parts = [pool.submit(list, part()) for part in (_packages, _networks, _tables, _engines)]
        findings += [finding for part in parts for finding in part.result()]
    findings += _folders()
    broken = [finding for finding in findings if finding.status == "broken"]
    facts = {"broken": len(broken), "findings": [asdict(finding) for finding in findings]}
    rows = [
        (finding.status, finding.part, f"{finding.text}\n{finding.fix}".strip())
        for finding in findings
    ]
    emit(facts, as_json=json, table=None if json else columns((), rows))
    return EXIT_BROKEN if broken else 0


# --- questions in a process of their own ----------------------------------------------------------


class Answer(NamedTuple):
    """What a function returned in its process, or why it did not."""

    value: Any
    fault: str = ""


def _ask(function: str, *arguments: str) -> Answer:
    """Call MODULE:FUNCTION in a process; its result comes back as JSON."""
    used = settings.used()
    environment = {**os.environ, settings.VARIABLE: "" if used is None else os.fspath(used)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-P", "-m", __name__, function, *arguments]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return Answer(None, f"no answer in {PATIENCE:g} s")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
        return Answer(None, lines[-1])
    return Answer(jsons.loads(done.stdout.splitlines()[-1]))


def answer(function: str, *arguments: str) -> None:
    """Call a function for the process that asks, and print its result."""
    settings.use(settings.usual_file())
    result = pkgutil.resolve_name(function)(*arguments)
    sys.stdout.write(f"\n{jsons.dumps(result)}\n")


def version_of(package: str) -> str:
    """Import a package by the names that it installs: its version.

    What pip calls mkdocs-material is imported as `material`; only where a package does not say
    what it installs is its own name taken.
    """
    for module in modules_of(package):
        importlib.import_module(module)
    return metadata.version(package)


def versions_of(*packages: str) -> dict[str, str]:
    """Import packages, one after the other: their versions."""
    return {package: version_of(package) for package in packages}


def modules_of(package: str) -> list[str]:
    """What a package is imported as.

    >>> modules_of("msgspec")
    ['msgspec']
    """
    try:
        home = metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return [package.replace("-", "_")]
    files = [file for file in home.files or () if file.suffix == ".py"]
    named = (home.read_text("top_level.txt") or "").split()
    modules = named or sorted({file.parts[0].removesuffix(".py") for file in files})
    public = [module for module in modules if module.isidentifier() and not module.startswith("_")]
    own = [module for module in public if _plain_name(module) == _plain_name(package)]
    return own or public or [package.replace("-", "_")]


def _plain_name(package: str) -> str:
    """A package's name as pip compares names."""
    return re.sub(r"[-_.]+", "-", package).lower()


def networks() -> dict[str, Any]:
    """The networks of the package and of the user, damaged ones by their errors."""
    from kibitz.nets.card import stem_of
    from kibitz.nets.discover import SHIPPED_FOLDER, discover, discovered, shipped

    kinds = ("*.safetensors", "*.pb.gz")
    damaged = [str(file) for kind in kinds for file in SHIPPED_FOLDER.glob(kind)]
    own, others = shipped(), discovered()
    damaged = sorted({*damaged} - {str(network.file) for network in own})
    return {
        "taken": discover(),
        "shipped": [stem_of(network.file) for network in own],
        "own": [str(network.file) for network in others],
        "damaged": damaged,
    }


def tables() -> dict[str, Any]:
    """The endgame tables that the settings name."""
    from kibitz.engine import Engine
    from kibitz.search.tablebase import tables_of

    settings = Engine().settings
    tablebases = tables_of(settings)
    return {
        "path": settings.syzygy_path,
        "pieces": tablebases.pieces,
        "problems": tablebases.problems,
    }


def engines() -> dict[str, Any]:
    """The programs of the ladder that are installed, and where."""
    from kibitz.arena.match.rating import LISTED, find_program

    names = ["stockfish", *(listed.name for listed in LISTED)]
    return {name: path for name in names if (path := find_program(name)) is not None}


# --- what is found --------------------------------------------------------------------------------


def _program() -> Iterator[Finding]:
    version = platform.python_version()
    home = str(Path(kibitz.__file__).parent)
    yield Finding("kibitz", "ok", f"{kibitz.__version__} in {home}")
    yield Finding("python", "ok", f"{version}, {sys.executable}, {platform.platform()}")


def _machine() -> Iterator[Finding]:
    cores, total = processors(), memory()
    shown = "memory unknown" if total is None else f"{total / GIGABYTE:.1f} GiB of memory"
    facts = {"cores": cores, "memory": total}
    low = total is not None and total < GIGABYTE
    fix = "under 1 GiB: give Kibitz a smaller Hash" if low else ""
    yield Finding("machine", "note" if low else "ok", f"{cores} cores, {shown}", fix, facts)


def _compiler() -> Iterator[Finding]:
    processor = _ask("kibitz.jit.health:processor")
    if processor.fault:
        yield Finding("processor", "note", f"features unknown: {processor.fault}")
    else:
        features = ", ".join(processor.value["features"]) or "no vector features that are used"
        slow = not {"AVX2", "NEON"} & {*processor.value["features"]}
        fix = "without AVX2 networks are several times slower" if slow else ""
        text = f"{processor.value['name']}: {features}"
        yield Finding("processor", "note" if slow else "ok", text, fix, processor.value)
    compiled = _ask("kibitz.jit.health:compiler")
    if compiled.fault or not compiled.value["works"]:
        text = f"cannot compile: {compiled.fault or 'a wrong result'}"
        numba = [need for need in wanted_packages() if need.name == "numba"] or [Need("numba")]
        yield Finding("compiler", "broken", text, _again(numba))
        return
    seconds = compiled.value["seconds"]
    off = "" if compiled.value["enabled"] else "switched off: unset NUMBA_DISABLE_JIT"
    text = f"a small function takes {seconds:.1f} s"
    yield Finding("compiler", "note" if off else "ok", text, off, compiled.value)
    cache = _ask("kibitz.jit.health:kernel_cache")
    if cache.fault:
        yield Finding("cache", "broken", cache.fault, "delete the folder, or set KIBITZ_CACHE")
    else:
        yield from _cache(cache.value, seconds)


def _cache(cache: dict[str, Any], seconds: float) -> Iterator[Finding]:
    """The compiled kernels that are kept, and what the next start has to compile."""
    text = f"{cache['folder']}, {cache['bytes'] / 1e6:.1f} MB ({cache['toolchain']}): "
    text += f"{len(cache['ready'])} of {cache['modules']} modules compiled from these sources"
    text += f", {cache['stale_folders']} folders of others" if cache["stale_folders"] else ""
    bad = f"{len(cache['damaged'])} damaged files; their kernels are compiled again"
    yield Finding(
        "cache", "note" if cache["damaged"] else "ok", text, bad * bool(cache["damaged"]), cache
    )
    if FIRST_KERNELS in cache["ready"]:
        yield Finding("next start", "ok", "compiled before: a second or two")
    else:
        guess = 5 * max(1, round(seconds * FIRST_START[processors() == 1] / 5))
        text = f"compiles for about {guess} s, once"
        yield Finding(
            "next start",
            "note",
            text,
            "echo isready | kibitz uci   does it now",
            {"seconds": guess},
        )


def _packages() -> Iterator[Finding]:
    """Every package that is wanted: imported, and of a version that fits."""
    needs = wanted_packages()
    if not needs:
        yield Finding("packages", "note", "not installed by pip: no list of packages", _pip("."))
        return
    extras = sorted({need.extra for need in needs})
    answers = _imported(sorted({need.name for need in needs if _is_installed(need.name)}))
    for extra in extras:
        yield _group(extra, [need for need in needs if need.extra == extra], answers)


def wanted_packages() -> list[Need]:
    """The requirements of the installed package; none where it is not installed by pip."""
    try:
        wanted = metadata.requires(OWN) or []
    except metadata.PackageNotFoundError:
        return []
    parts = [match for text in wanted if (match := _REQUIREMENT.fullmatch(text))]
    needs = {Need(match[1], match[2].strip(), match[3] or "") for match in parts}
    return sorted(need for need in needs if need.extra != FOR_DEVELOPERS)


def _imported(packages: list[str]) -> dict[str, Answer]:
    """The versions of packages, or why one cannot be imported.

    All are imported in one process; where that fails its halves are, each in its own.
    """
    together = _ask(f"{__name__}:versions_of", *packages)
    if not together.fault:
        return {package: Answer(version) for package, version in together.value.items()}
    if len(packages) == 1:
        return {packages[0]: together}
    half = len(packages) // 2
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(_imported, (packages[:half], packages[half:]))
    return first | second


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _group(extra: str, needs: list[Need], answers: dict[str, Answer]) -> Finding:
    """The packages of an extra, or those that Kibitz cannot do without."""
    answers = {need.name: answers.get(need.name, Answer(None)) for need in needs}
    faults = [(need, why) for need in needs if (why := _fault(need, answers[need.name]))]
    versions = {name: answer.value for name, answer in answers.items() if answer.value}
    part = f"extra {extra}" if extra else "packages"
    if not faults:
        text = ", ".join(f"{name} {version}" for name, version in versions.items())
        return Finding(part, "ok", text, "", versions)
    absent = all(answers[need.name] == Answer(None) for need, _ in faults)
    text = "; ".join(f"{need.name} {why}" for need, why in faults)
    if extra:
        fix = _pip(f"'{OWN}[{extra}]'") if absent else _again([need for need, _ in faults])
        return Finding(part, "missing" if absent else "note", text, fix, versions)
    return Finding(part, "broken", text, _again([need for need, _ in faults]), versions)


def _fault(need: Need, answer: Answer) -> str:
    if answer.fault:
        return f"cannot be imported: {answer.fault}"
    if answer.value is None:
        return "is not installed"
    return "" if fits(answer.value, need.versions) else f"{answer.value}, wanted {need.versions}"


def _again(needs: list[Need]) -> str:
    return _pip("--force-reinstall " + " ".join(f"'{need.name}{need.versions}'" for need in needs))


def fits(version: str, wanted: str) -> bool:
    """Whether a version is in ranges like `>=0.61.2,<0.69`."""
    compare = {">=": lambda a, b: a >= b, "<": lambda a, b: a < b, "==": lambda a, b: a == b}
    for condition in filter(None, wanted.split(",")):
        sign, least = re.findall(r"[<>=]+", condition)[0], _numbers(condition)
        if not compare[sign](_numbers(version), least):
            return False
    return True


def _numbers(version: str) -> list[int]:
    numbers = [int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3]]
    return numbers + [0] * (3 - len(numbers))


def _networks() -> Iterator[Finding]:
    answer = _ask(f"{__name__}:networks")
    again = _pip(f"--force-reinstall --no-deps {OWN}")
    if answer.fault:
        yield Finding("networks", "broken", answer.fault, again)
    elif answer.value["damaged"] or not answer.value["shipped"]:
        text = f"damaged or missing: {', '.join(answer.value['damaged']) or 'all of the package'}"
        yield Finding("networks", "broken", text, again, answer.value)
    else:
        own = f"; {len(answer.value['own'])} of your own" if answer.value["own"] else ""
        text = f"shipped: {', '.join(answer.value['shipped'])}{own}"
        default = Path(answer.value["taken"]).name
        yield Finding("networks", "ok", f"{text}; {default} plays", "", answer.value)


def _tables() -> Iterator[Finding]:
    answer = _ask(f"{__name__}:tables")
    get = "kibitz data fetch syzygy-3-4-5, then set syzygy_path in the settings file"
    if answer.fault or answer.value["problems"]:
        text = answer.fault or "; ".join(answer.value["problems"])
        yield Finding("tables", "note", text, get)
    elif not answer.value["path"]:
        yield Finding("tables", "missing", "no SyzygyPath", get)
    else:
        text = f"up to {answer.value['pieces']} pieces in {answer.value['path']}"
        yield Finding("tables", "ok", text, "", answer.value)


def _engines() -> Iterator[Finding]:
    answer = _ask(f"{__name__}:engines")
    if answer.fault:
        yield Finding("engines", "note", f"not looked for: {answer.fault}")
    elif not answer.value:
        fix = "for ladders and labels install some: apt install stockfish phalanx"
        yield Finding("engines", "missing", "no program of the ladder is installed", fix)
    else:
        yield Finding("engines", "ok", ", ".join(answer.value), "", answer.value)


def _folders() -> Iterator[Finding]:
    """Whether files can be written, and how many."""
    wanted = (
        ("data", data_folder(), "set KIBITZ_DATA to a folder that can be written"),
        ("cache", cache_folder(), "set KIBITZ_CACHE: else every start compiles"),
        ("here", Path.cwd(), "results are written elsewhere with -o"),
    )
    for name, folder, fix in wanted:
        nearest = next(each for each in (folder, *folder.absolute().parents) if each.exists())
        try:
            with tempfile.TemporaryFile(dir=nearest):
                free = shutil.disk_usage(nearest).free
        except OSError as error:
            text = f"{folder} cannot be written: {error.strerror}"
            yield Finding(f"folder {name}", "note", text, fix)
            continue
        text = f"{folder}, {free / GIGABYTE:.1f} GiB free"
        yield Finding(f"folder {name}", "ok", text, "", {"folder": str(folder), "free": free})


def _pip(what: str) -> str:
    return f"{sys.executable} -m pip install {what}"


if __name__ == "__main__":
    answer(*sys.argv[1:])
