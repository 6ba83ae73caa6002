"""README.md and every page of docs/ run top to bottom from an empty folder, with small budgets.

A page needs no line here, only fences that say what they hold: `sh` and `bash` blocks are run as
scripts, in `console` blocks each line that begins with `$ ` is run and what it prints is compared,
`python` blocks are doctests or scripts, and `toml` blocks are read. All happens in one folder that
is empty at first, with a home and a data folder of its own.

Comments before a block, invisible to readers, say more: `<!-- not run: REASON -->` (one of
REASONS), `<!-- needs: PROGRAM -->` (left out where that is not installed), `<!-- file: NAME -->`
(the block becomes that file), `<!-- given: NAME, as PATH -->` (a file of the project that a reader
brings).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kibitz.core.files import cache_folder
from tests.starts import serving, write_client

PROJECT = Path(__file__).parents[1]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
SLOW = {"decoder", "learn", "training"}  # each trains for minutes
LONGEST = 600  # seconds of a block, far more than any takes; it needs a smaller budget then
# Why a block may be left out, and how many are: a new one is counted here, and thought about.
REASONS = {
    "downloads": 13,
    "hours": 3,
    "does not end": 4,
    "a Lichess account": 3,
    "another program": 4,
    "several machines": 3,
    "data of your own": 2,
}
# What is asked of a machine, and what is asked of it here. Each must occur on some page.
LITTLE = "--epochs 1 --batch 32 --threads 1"  # of a training
TINY = (  # of a run of `learn`
    "--set learn.group=3 --set learn.cores=1 --set learn.batch=64 --set learn.rating_games=2"
    " --set learn.network=sparse-8x8 --set learn.rating_nodes=4 --set learn.rate_every=1"
    " --set selfplay.most_plies=24"
)
PLAY = "--set most_plies=40"  # of `selfplay`
SMALLER = {
    "--average ema --result-share 0.25": "--average ema --result-share 0.25 --threads 1",
    "-o annotated.pgn": "-o annotated.pgn --nodes 500",
    "-o random-int8.safetensors": "-o random-int8.safetensors --positions 500",
    "-o puzzles.csv": "-o puzzles.csv --nodes 1000 --limit 3",
    "--clock 5+3": "--clock 0.1+0",
    "--batch 16384 --epochs 8": "--batch 32 --epochs 1",
    "--games 100": "--games 2",
    "--games 20": "--games 2",
    "--generations 40": f"--generations 1 {TINY}",
    "--set learn.start=zero/networks/0001.safetensors": "--set learn.games=6"
    f" --set learn.start=zero/networks/0001.safetensors --set selfplay.nodes=20 {TINY}",
    "--hours 1": f"--generations 1 {TINY} --set learn.games=6 --set selfplay.nodes=20",
    "--hours 2": "--generations 2",
    "--network plain-4x64": "--network plain-1x8",
    "--network sparse-512x256-threats": "--network sparse-8x8-threats",
    "--network uniform --games 1000": f"--network uniform --games 4 {PLAY} --set playouts=2",
    "--network tower-6x64": "--network tower-1x8",
    "--nodes 20000": "--nodes 2000",
    "coach analyse --games 20": "coach analyse --games 1 --workers 1 --nodes 200",
    "--output plain": f"--output plain {LITTLE}",
    "--output small": f"--output small {LITTLE}",
    "--output sparse": f"--output sparse {LITTLE}",
    "--output tower": f"--output tower {LITTLE}",
    "--steps 1000": "--steps 4 --batch 32 --threads 1",
    "--preset": "--nodes 50 --preset",
    "--quick": "--games 2 --nodes 50 --limit 2 --endings 1",
    "--spsa --trials 2 --games 4": "--spsa --trials 1 --games 2 --nodes 50"
    " --parameter AspirationWindow",
    "--tc 1+0.01": "--tc 0.1+0.01 --endings 1",
    "--tc 10+0.1": "--tc 0.1+0.01",
    "KQK KRK": "KQK --games 2",
    "PolicyTemperature=1:2": "PolicyTemperature=1:2 --trials 2 --games 2 --nodes 20"
    " --set initial=1 --set confirm=2",
    "--nodes 50000": "--nodes 2000",
    "own.jsonl -o words": "own.jsonl -o words --steps 4 --batch 4",
    '"run.steps=2000"]': '"run.steps=4", "run.batch=32"]',
    "games = 200": "games = 2",
    "iterations = 3": "iterations = 1",
    "--own -o own.jsonl": "--own --nodes 50 -o own.jsonl",
    "--trials 20": "--trials 2 --games 2 --nodes 20 --set initial=1 --set confirm=2",
    "games=1000,": "games=4,",
    "learn.games=1000": "learn.games=6",
    "nodes=1000": "nodes=10",
    "selfplay.playouts=32": "selfplay.playouts=2",
    "zero@8": "zero@1",
}

FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S)
COMMENT = re.compile(r"<!-- ([\w ]+): (.+?) -->")
LOOSE = re.compile(r"^ {4,}(?:\$ )?(?:kibitz|pip|python3?|printf|setoption) .*", re.MULTILINE)
WORD = re.compile(r"[A-Za-z]{2,}")
NUMBER = re.compile(r"\d[\d.,]*(?: (?:ms|min))?")


@dataclass(frozen=True)
class Block:
    """A fenced block: what it holds, its first line in the page, and the comments before it."""

    kind: str
    text: str
    line: int
    comments: tuple[tuple[str, str], ...] = ()

    def told(self, name: str) -> list[str]:
        return [value for key, value in self.comments if key == name]


def blocks_of(page: str) -> Iterator[Block]:
    """The fenced blocks of a page with the comments that stand just before them."""
    for match in FENCE.finditer(page):
        before = page[: match.start()].rstrip()
        comments = []
        while before.endswith("-->"):
            before, _, comment = before.rpartition("<!-- ")
            comments += COMMENT.findall(f"<!-- {comment}")
            before = before.rstrip()
        text = re.sub(f"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        line = page.count("\n", 0, match.start("text")) + 1
        yield Block(match["kind"], text, line, tuple(comments))


def smaller(text: str, used: set[str] | None = None) -> str:
    """The text with small budgets; what was replaced is added to `used`."""
    if not SMALLER:
        return text

    def replaced(match: re.Match[str]) -> str:
        if used is not None:
            used.add(match[0])
        return SMALLER[match[0]]

    longest_first = sorted(SMALLER, key=len, reverse=True)
    every = "|".join(re.escape(large) for large in longest_first)
    return re.sub(rf"(?<!\S)(?:{every})(?!\S)", replaced, text)


def commands_of(block: Block) -> Iterator[tuple[str, int, list[str]]]:
    """The commands of a console block, each with its line in the page and what it prints."""
    for match in re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        line = block.line + block.text.count("\n", 0, match.start())
        yield match[1], line, match[2].splitlines()


def environment() -> dict[str, str]:
    """What all readers have: no settings of whoever runs the tests, but the kernels' folder."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KIBITZ_", "XDG_"))}
    return {**kept, "KIBITZ_CACHE": str(cache_folder()), "COLUMNS": "80"}


@pytest.fixture(scope="session")  # a worker that steals tests comes back to this file
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where commands are run as forks."""
    with serving(tmp_path_factory.mktemp("starts"), environment()) as where:
        yield where


class Reader:
    """Somebody who does what a page says, in an empty folder.

    With an address, that of `serving`, commands are forks of the process there.
    """

    def __init__(self, page: Path, place: Path, address: str = "") -> None:
        self.page, self.folder = page, place / "folder"
        own = {name: str(place / name) for name in ("home", "data", "tools")}
        for path in (self.folder, *map(Path, own.values())):
            path.mkdir()
        for name, module in {"kibitz": "kibitz", "kibitz-uci": "kibitz.uci", "python": ""}.items():
            tool = place / "tools" / name
            if module and address:
                write_client(tool, address, module)
            else:
                words = f"-m {module}" if module else ""
                tool.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
                tool.chmod(0o755)
        self.place = place
        self.environment = {
            **environment(),
            "HOME": own["home"],
            "KIBITZ_DATA": own["data"],
            "PATH": f"{own['tools']}:{os.environ['PATH']}:/usr/games",
        }

    def do(self, block: Block) -> None:
        for text in block.told("given"):
            name, _, path = text.partition(", as ")
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / path, self.folder / name)
        if block.kind in ("sh", "bash"):
            self.run(block.text, block.line)
        elif block.kind == "console":
            for command, line, shown in commands_of(block):
                self.compare(self.run(command, line), shown, line)
        elif block.kind == "python":
            is_doctest = block.text.startswith(">>> ")
            file = self.place / ("block.txt" if is_doctest else "block.py")
            file.write_text(smaller(block.text))
            self.run(f"python {'-m doctest ' * is_doctest}{file}", block.line)
        elif block.kind == "toml":
            tomllib.loads(block.text)
        for name in block.told("file"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(smaller(block.text))

    def run(self, text: str, line: int) -> str:
        """Run a script and return what it printed; fail with the line of the page that failed."""
        script, failed = self.place / "block.sh", self.place / "failed"
        failed.unlink(missing_ok=True)
        trap = f"trap 'echo $LINENO > {failed}' ERR; set -eEo pipefail; "  # no line of its own
        script.write_text(trap + smaller(text))
        process = subprocess.Popen(
            ["bash", str(script)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            told, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            pytest.fail(f"{self.page.name}:{line}: this block takes longer than {LONGEST} s")
        if process.returncode or "Traceback (most recent call last)" in told:
            at = line + int(failed.read_text()) - 1 if failed.exists() else line
            lines = self.page.read_text("utf-8").splitlines()
            raise AssertionError(f"{self.page.name}:{at}: {lines[at - 1].strip()}\n{told[-3000:]}")
        return told

    def compare(self, told: str, shown: list[str], line: int) -> None:
        """Every line that the page shows is among those that were printed, numbers apart."""
        printed = [WORD.findall(NUMBER.sub("", text)) for text in told.splitlines()]
        for text in shown:
            words = WORD.findall(NUMBER.sub("", text))
            if not any(_among(words, other) for other in printed):
                where = f"{self.page.name}:{line}"
                raise AssertionError(f"{where}: shows what is not printed: {text}\n{told[-3000:]}")


def _among(words: list[str], others: list[str]) -> bool:
    """Whether the words stand among the others, in their order."""
    rest = iter(others)
    return all(word in rest for word in words)


def is_run(block: Block) -> bool:
    programs = block.told("needs")
    return not block.told("not run") and all(map(_is_installed, programs))


def _is_installed(program: str) -> bool:
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/games") is not None


def name_of(page: Path) -> str:
    return str(page.relative_to(PROJECT).with_suffix("")).removeprefix("docs/")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page.stem in SLOW else [], id=name_of(page))
        for page in PAGES
    ],
)
def test_a_page_runs_from_an_empty_folder(page: Path, tmp_path: Path, address: str) -> None:
    text = page.read_text("utf-8")
    if "torch" in text:
        pytest.importorskip("torch")
    reader = Reader(page, tmp_path, "" if page.stem == "README" else address)  # that one in full
    for block in blocks_of(text):
        if is_run(block):
            reader.do(block)


def test_every_budget_that_is_made_smaller_is_still_on_a_page() -> None:
    used: set[str] = set()
    for page in PAGES:
        for block in blocks_of(page.read_text("utf-8")):
            if is_run(block):
                smaller(block.text, used)
    assert SMALLER.keys() - used == set()


def test_what_is_not_run_has_a_reason_and_is_counted() -> None:
    reasons: Counter[str] = Counter()
    for page in PAGES:
        for block in blocks_of(page.read_text("utf-8")):
            reasons.update(block.told("not run"))
    assert reasons == Counter(REASONS)


def test_commands_stand_in_fences_that_are_run() -> None:
    loose = []
    for page in PAGES:
        text = page.read_text("utf-8")
        outside = FENCE.sub("", text)
        loose += [f"{name_of(page)}: {match[0].strip()}" for match in LOOSE.finditer(outside)]
        for block in blocks_of(text):
            if block.kind not in ("sh", "bash", "console", "python", "toml"):
                held = re.findall(r"^(?:\$ )?kibitz .*", block.text, re.MULTILINE)
                loose += [f"{name_of(page)}: {line}" for line in held]
    assert loose == []


# --- the runner itself ----------------------------------------------------------------------------


def follow(tmp_path: Path, text: str) -> Mapping[str, str]:
    """What a page leaves in its folder."""
    page, place = tmp_path / "page.md", tmp_path / "place"
    page.write_text(text)
    place.mkdir()
    reader = Reader(page, place)
    for block in blocks_of(text):
        if is_run(block):
            reader.do(block)
    return {path.name: path.read_text() for path in reader.folder.iterdir()}


def test_blocks_are_run_in_order_in_one_folder(tmp_path: Path) -> None:
    text = "# A page\n\n```sh\nprintf 'a\\nb\\n' \\\n    | tail -1 > b.txt\n```\n\n"
    text += "<!-- file: own.toml -->\n```toml\n[search]\nthreads = 2\n```\n\n1. In a list\n\n"
    text += "   ```sh\n   cat b.txt own.toml > all.txt\n   ```\n\n```python\n>>> 1 + 1\n2\n```\n"
    text += "\n<!-- not run: hours -->\n\n```sh\nfalse\n```\n\n```text\nrm b.txt\n```\n"
    left = follow(tmp_path, text)
    assert left["all.txt"] == "b\n[search]\nthreads = 2\n"
    assert left.keys() == {"all.txt", "b.txt", "own.toml"}


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("```sh\ntrue\nfalse | cat\nkibitz show 'no position'\n```", r"page\.md:5: false"),
        ("```sh\ntrue\n\nkibitz show 'no position'\n```", r"page\.md:6: kibitz show"),
        ("```console\n$ echo one 2 three\none 7 three\n$ true\nfour\n```", r":6: shows .*: four"),
        ("```console\n$ true\n$ exit 3\n```", r"page\.md:5: \$ exit 3"),
        ("```python\n>>> 1 + 1\n3\n```", r"page\.md:4: >>> 1"),
        ("```python\nraise SystemExit(1)\n```", r"page\.md:4: raise"),
        ("```sh\necho 'Traceback (most recent call last)'\n```", r"page\.md:4: echo"),
    ],
)
def test_a_page_that_fails_names_its_line(tmp_path: Path, block: str, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        follow(tmp_path, f"# A page\n\n{block}\n")


def test_files_are_given_and_programs_looked_for(tmp_path: Path) -> None:
    given = "<!-- given: my/game.pgn, as docs/examples/miniature.pgn -->\n"
    text = f"{given}```sh\ncp my/game.pgn copy.pgn\nrm -r my\n```\n"
    text += "<!-- needs: no-such-program -->\n```sh\nfalse\n```\n"
    left = follow(tmp_path, text)
    assert left["copy.pgn"] == (PROJECT / "docs/examples/miniature.pgn").read_text()
