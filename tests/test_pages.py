"""Pages of docs/ run from an empty folder, top to bottom, with small budgets.

A block is a run of indented or fenced lines. What needs the network, a screen or another program
has a comment before it, `<!-- not run: why -->`; files that a reader brings are in GIVEN.
"""

from __future__ import annotations

import io
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kibitz.cli import main
from tests.zero.test_learn import TINY, flags

PROJECT = Path(__file__).parents[1]
DOCS = PROJECT / "docs"
NOT_RUN = re.compile(r"<!-- not run: .+ -->\s*$")
BLOCK = re.compile(r"(?<=\n\n)(?:    .*\n)+|^```(?:sh|bash|python)?\n[\s\S]*?\n```$", re.MULTILINE)

# Pages, and the files that they expect of their reader.
GIVEN = {
    "learn": {},
    "training": {"games.pgn": DOCS / "examples" / "games.pgn"},
    "selfplay": {},
}
LEAST = {  # of options, wherever they are given
    "--games": "4",
    "--generations": "1",
    "--nodes": "4",
    "--steps": "4",
    "--batch": "32",
    "--epochs": "1",
}
SMALLEST = {"sparse": "sparse-8x8", "plain": "plain-1x8", "tower": "tower-1x8"}


def blocks_of(text: str) -> Iterator[list[str]]:
    """The blocks of a page that are to be run, as lines; lines that go on are joined."""
    before = 0
    for match in BLOCK.finditer(text):
        if not NOT_RUN.search(text[before : match.start()].rstrip()):
            inside = re.sub(r"^```.*\n?|^    ", "", match[0], flags=re.MULTILINE)
            yield inside.replace("\\\n", " ").strip().splitlines()
        before = match.end()


def smaller(words: list[str]) -> list[str]:
    """The same command with the least budgets and the smallest networks."""
    command, words = words[0], [word.replace("@8", "@1") for word in words]
    for option, least in LEAST.items():
        for at, word in enumerate(words[:-1]):
            if word == option:
                words[at + 1] = least
    for at, word in enumerate(words):
        family, dash, _ = word.partition("-")
        if words[at - 1] == "--network" and dash and family in SMALLEST:
            words[at] = SMALLEST[family]
    tiny = [text for text in TINY if not text.startswith(("selfplay.group", "learn.opponents"))]
    if command == "learn" and not {"--status", "--prune", "--resume"} & {*words}:
        more = [] if "--generations" in words else ["--generations", "1"]
        keys = {text.partition("=")[0] for text in tiny}
        own = [
            word
            for word, after in zip(words, [*words[1:], ""], strict=True)
            if word.partition("=")[0] not in keys and after.partition("=")[0] not in keys
        ]  # without --set KEY=VALUE
        return [*own, *more, *flags(*tiny)]
    if command == "selfplay":
        return [*words, "--set", "playouts=2", "--set", "most_plies=40"]
    if command == "train":
        batch = [] if "--batch" in words else ["--batch", "32"]
        steps = [] if "--steps" in words or "--epochs" in words else ["--epochs", "1"]
        return [*words, *batch, *steps, "--threads", "1", "--set", "run.tensorboard=false"]
    return words


def run_block(lines: list[str]) -> None:
    """Run the commands of a block, or its Python; what commands print is not looked at."""
    if lines and lines[0].startswith(("from ", "import ", ">>> ")):
        text = "\n".join(line.removeprefix(">>> ").removeprefix("... ") for line in lines)
        exec(compile(re.sub(r"games=\d+", "games=4", text), "page", "exec"), {})
        return
    for line in lines:
        if line.startswith("kibitz "):
            words = smaller(shlex.split(line, comments=True)[1:])
            assert main(words) == 0, line


@pytest.mark.parametrize(
    "page", [pytest.param("learn", marks=pytest.mark.slow), "selfplay", "training"]
)
def test_a_page_runs_from_an_empty_folder(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    for name, file in GIVEN[page].items():
        shutil.copy(file, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    blocks = [*blocks_of((DOCS / f"{page}.md").read_text("utf-8"))]
    assert sum(line.startswith("kibitz ") for block in blocks for line in block) > 2
    for block in blocks:
        monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
        try:
            run_block(block)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{capsys.readouterr().err}") from error


def test_a_block_that_is_marked_is_left_out() -> None:
    text = "One\n\n    kibitz play\n    kibitz uci\n\nTwo\n\n"
    text += "<!-- not run: a screen -->\n\n    kibitz web\n\nThree\n\n"
    assert [*blocks_of(text + "```sh\nkibitz doctor\n```\n")] == [
        ["kibitz play", "kibitz uci"],
        ["kibitz doctor"],
    ]
