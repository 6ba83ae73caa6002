"""What `mkdocs build` does beside converting pages: pages from elsewhere, reference, links.

Pages are written to be read in the repository, too: their links name its files. Here a link gets
the address of the page that a file has become, and the text alone stays of one that has none.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
MAP = "docs/README.md"
# Files of the project that become pages, and their addresses there.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    MAP: "map.md",
    "research/README.md": "research.md",
    "research/contempt/README.md": "contempt.md",
    "research/log/README.md": "findings.md",
    "research/log/2026-11.md": "log/2026-11.md",
}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
# What programs of one's own use; `kibitz` itself has the first three.
PYTHON = (
    ("kibitz.position.board", "Board"),
    ("kibitz.engine.engine", "Engine"),
    ("kibitz.search.limits", "Limits"),
    ("kibitz.search.report", "Report"),
    ("kibitz.position.pgn", "read_games", "Game", "write_games"),
    ("kibitz.data.store", "Store"),
    ("kibitz.data.shard", "Game", "Ply"),
    ("kibitz.core.errors", "KibitzError", "InputError", "FileError"),
)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made here, and those that lie outside of docs/."""
    known = files.get_file_from_path("README.md")
    assert known is not None
    files.remove(known)
    made = {page: (ROOT / file).read_text("utf-8") for file, page in PAGES.items()}
    made["scripts.md"] = _scripts()
    made["reference/commands.md"] = _commands()
    made["reference/python.md"] = _python()
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links to files of the project into links to pages."""
    address = page.file.src_uri
    source = next((file for file, there in PAGES.items() if there == address), f"docs/{address}")

    def moved(found: re.Match[str]) -> str:
        image, text, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, _, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        there = _page_of(file)
        if there is None:
            return str(text)
        link = os.path.relpath(there, posixpath.dirname(address) or ".")
        return f"{image}[{text}]({link}{'#' * bool(anchor)}{anchor})"

    parts = CODE.split(markdown)
    return "".join(part if i % 2 else LINK.sub(moved, part) for i, part in enumerate(parts))


def _page_of(file: str) -> str | None:
    """Where a file of the project is on the site."""
    if file in PAGES:
        return PAGES[file]
    if f"{file}/".startswith("examples/"):
        return "scripts.md"
    if file.startswith("docs/"):
        return "map.md" if file == "docs/" else file.removeprefix("docs/")
    return "map.md" if file == "docs" else None


def _scripts() -> str:
    """The programs of examples/, each with its own words."""
    parts = ["# Scripts\n\nPrograms of a few lines; tests run them.\n"]
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text("utf-8")
        about = (ast.get_docstring(ast.parse(text)) or path.stem).splitlines()[0]
        parts.append(f"## {path.stem.replace('_', ' ').capitalize()}\n\n{about}\n\n")
        parts.append(f"```python\n{text.rstrip()}\n```\n")
    return "\n".join(parts)


def _commands() -> str:
    """Every command with its arguments, as `--help` knows them."""
    from kibitz.cli import app

    text = app.generate_docs(output_format="markdown").removeprefix("# kibitz\n")
    return f"# Commands\n{text}"


def _python() -> str:
    """Classes and functions for programs, from their docstrings."""
    parts = ["# Python\n", "`import kibitz` has `Board`, `Engine` and `Limits`; the rest is"]
    parts.append("imported from its module. [Scripts](../scripts.md) show them at work.\n")
    for module, *names in PYTHON:
        home = importlib.import_module(module)
        for name in names:
            parts += _described(f"{module}.{name}", getattr(home, name))
    return "\n".join(parts)


def _described(name: str, thing: Any) -> Iterator[str]:
    short = name.rpartition(".")[2]
    yield f"## {name}\n\n```python\n{short}{_signature(thing)}\n```\n\n{inspect.getdoc(thing)}\n"
    if not inspect.isclass(thing) or issubclass(thing, Exception):
        return
    for part, value in vars(thing).items():
        about = inspect.getdoc(value)
        if part.startswith("_") or not about or not callable(getattr(value, "fget", value)):
            continue
        value = getattr(value, "__func__", value)
        shape = _signature(value) if inspect.isfunction(value) else ""
        yield f"- `{part}{shape}`: {' '.join(about.split())}\n"


def _signature(thing: Any) -> str:
    try:
        return re.sub(
            r"\(self, |\(self\)",
            lambda m: "(" + ")" * (m[0][-1] == ")"),
            str(inspect.signature(thing)),
        )
    except ValueError:  # of Python's own
        return "(...)"
