"""Paths and URLs answer the same questions in the same way."""

from __future__ import annotations

from pathlib import Path

import pytest

from kibitz.core.errors import FileError, InputError
from kibitz.core.files import write_bytes
from kibitz.core.places import Place, Url, below, existing, files_below, place, size_of


def answers(folder: Place) -> list[object]:
    """What a folder and a file in it say of themselves."""
    one = folder / "sub" / "c.txt"
    return [
        [below(path, folder) for path in files_below(folder, "*.txt")],
        sorted(path.name for path in folder.glob("*.txt")),
        (one.name, one.stem, one.suffix, one.with_suffix(".bin").name, size_of(one)),
        (folder.is_dir(), one.is_dir(), one.is_file(), (folder / "none").exists()),
        below(folder, one),
    ]


def test_a_url_is_asked_like_a_path(tmp_path: Path) -> None:
    there = place("memory://places")
    assert isinstance(there, Url)
    for folder in (tmp_path, there):
        for name in ("b.txt", "a.txt", "sub/c.txt", "d.bin"):
            write_bytes(f"{folder}/{name}", name.encode())
    assert answers(there) == answers(tmp_path)
    assert answers(there)[0] == [("a.txt",), ("b.txt",), ("sub", "c.txt")]
    (there / "a.txt").unlink()
    assert [path.name for path in there.glob("*.txt")] == ["b.txt"]
    with pytest.raises(FileError, match="no such file or folder"):
        existing(there / "a.txt")


def test_a_url_of_this_machine_is_a_path(tmp_path: Path) -> None:
    assert place(f"file://{tmp_path}/a%20b") == tmp_path / "a b"
    assert place("C:/games") == Path("C:/games")


def test_urls_nothing_serves_are_refused() -> None:
    with pytest.raises(InputError, match=r"no file system.*nosuch"):
        place("nosuch://bucket/key")
