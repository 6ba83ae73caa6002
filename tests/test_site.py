"""The documentation: a site without warnings and broken links, commands that exist."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from cyclopts import App, CycloptsError

from kibitz.cli import COMMANDS, GLOBAL, WITH_VALUE, app
from tests.test_pages import blocks_of

PROJECT = Path(__file__).parents[1]
PAGES = [
    PROJECT / "README.md",
    *sorted((PROJECT / "docs").glob("*.md")),
    PROJECT / "research" / "README.md",
    PROJECT / "research" / "contempt" / "README.md",
]
PROGRAM = r"(?:kibitz|python -m research\.\w+) "
# Lines that show a form and are not to be typed: variables, choices, brackets, words in capitals.
FORM = re.compile(r"\$|\.\.\.(?:\s|$)|\w\|\w|\[[-A-Z]| [A-Z]{2,}\b|\bSEED\b")


class Links(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value is not None}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        self.targets += [found[name] for name in ("href", "src") if name in found]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="needs mkdocs-material")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # of Material, about MkDocs itself
    done = subprocess.run(command, cwd=PROJECT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr  # a warning ends a strict build
    return folder


def test_every_page_is_on_the_map() -> None:
    text = (PROJECT / "docs" / "README.md").read_text("utf-8")
    on_map = set(re.findall(r"\]\(([\w/.-]+\.md)\)", text))
    assert {os.path.relpath(path, PROJECT / "docs") for path in PAGES} - on_map == {"README.md"}


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {path: Links(path) for path in site.rglob("*.html")}
    assert len(pages) > 30
    broken = []
    for page, links in pages.items():
        for target in links.targets:
            url = urlsplit(target)
            if url.scheme or url.netloc or page.name == "404.html":
                continue  # elsewhere; the page of what is missing names files from the root
            file = (page.parent / unquote(url.path)).resolve() if url.path else page
            file = file / "index.html" if file.is_dir() else file
            known = pages[file].anchors if file in pages else set()
            if not file.is_file() or (url.fragment and unquote(url.fragment) not in known):
                broken.append(f"{page.relative_to(site)}: {target}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert re.findall(r'<(?:script|img|iframe)[^>]*src="https?:', text) == []
        assert re.findall(r'<link[^>]*stylesheet[^>]*href="https?:', text) == []


def test_the_reference_has_every_command_and_class(site: Path) -> None:

    commands = (site / "reference" / "commands" / "index.html").read_text("utf-8")
    assert [name for name in COMMANDS if f'id="kibitz-{name}"' not in commands] == []
    python = (site / "reference" / "python" / "index.html").read_text("utf-8")
    assert "kibitz.position.board.Board" in python
    assert "legal_moves" in python


def command_lines(page: Path) -> list[str]:
    """The lines of a page that call kibitz or research, lines that go on joined."""
    blocks = blocks_of(page.read_text("utf-8"))
    text = "\n".join(block.text for block in blocks if block.kind in ("sh", "bash", "console"))
    joined = text.replace("\\\n", " ")
    return re.findall(rf"^(?:\$ )?({PROGRAM}.*)", joined, re.MULTILINE)


def program_of(words: list[str]) -> tuple[App, list[str]]:
    """What a line calls, kibitz or a program of research, and the words it gives it."""
    if words[0] == "kibitz":
        return app, words[1:]
    folder = PROJECT.joinpath(*words[2].split("."))
    program = importlib.import_module(f"{words[2]}.__main__" if folder.is_dir() else words[2]).app
    assert isinstance(program, App)
    return program, words[3:]


@pytest.mark.parametrize("page", PAGES, ids=lambda one: f"{one.parent.name}-{one.stem}")
def test_commands_of_the_pages_exist_with_their_options(page: Path) -> None:
    wrong = []
    for line in command_lines(page):
        if FORM.search(line):
            continue
        program, words = program_of(shlex.split(line, comments=True))
        ends = [i for i, word in enumerate(words) if word in ("&", "|", ">", "&&", ";")]
        words = words[: min(ends, default=None)]
        for flag in {*WITH_VALUE} & {*words[1:]}:
            at = words.index(flag)
            del words[at : at + 2]
        words = [word for word in words if word not in GLOBAL]
        if {"--help", "--version"} & set(words) or words[:1] == ["--config"]:
            continue
        try:
            program.parse_args(words, exit_on_error=False, print_error=False)
        except CycloptsError as error:
            wrong.append(f"{line}: {str(error).strip().splitlines()[0]}")
    assert wrong == []
