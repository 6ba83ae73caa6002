"""What lies behind URLs: sent whole, kept here, worked on by commands; in memory and on S3."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pytest

from kibitz.cli import main
from kibitz.core import files
from kibitz.core.errors import FileError, InputError
from kibitz.core.files import Location, read_bytes, write_bytes
from kibitz.core.places import (
    NOT_SENT,
    ROOM,
    Url,
    WorkingCopy,
    below,
    files_below,
    place,
    read_kept,
    send_all,
    working_copy,
)
from tests.s3 import Wire, s3

MISSING = [name for name in ("moto", "s3fs", "flask") if importlib.util.find_spec(name) is None]
LARGE = os.urandom(300_000)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Url]:
    """A folder in memory; this machine keeps its copies in a folder of the test."""
    monkeypatch.setattr("kibitz.core.places.cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(files, "WAIT_SECONDS", 0.0)
    found = place(f"memory://{tmp_path.name}/run")
    assert isinstance(found, Url)
    yield found
    send_all()


def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From now on be another machine."""
    monkeypatch.setattr("kibitz.core.places.cache_folder", lambda: tmp_path / "other")


def test_a_folder_is_worked_on_by_one_machine_after_the_other(
    folder: Url, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = WorkingCopy(folder)
    write_bytes(first.path / "games" / "1.shard", b"one")
    write_bytes(first.path / "claims" / "1", b"a lock")
    write_bytes(first.path / "done.json", b"1")
    first.send()
    assert read_bytes(folder / "games/1.shard") == b"one"
    assert not (folder / "claims/1").exists()
    elsewhere(monkeypatch, tmp_path)
    second = WorkingCopy(folder)
    assert (second.path / "games" / "1.shard").read_bytes() == b"one"
    (second.path / "games" / "1.shard").unlink()
    write_bytes(second.path / "done.json", b"22")
    second.send()
    assert [one.name for one in files_below(folder, "*")] == ["done.json"]
    monkeypatch.setattr("kibitz.core.places.cache_folder", lambda: tmp_path / "cache")
    third = WorkingCopy(folder)
    assert third.path == first.path
    assert (third.path / "done.json").read_bytes() == b"22"
    assert not (third.path / "games" / "1.shard").exists()


def test_what_was_not_sent_goes_on_from_where_it_was(folder: Url) -> None:
    killed = WorkingCopy(folder)
    write_bytes(killed.path / "match.jsonl", b"a game\n")  # and no more is heard of that process
    again = WorkingCopy(folder)
    assert (again.path / "match.jsonl").read_bytes() == b"a game\n"
    again.send()
    assert read_bytes(folder / "match.jsonl") == b"a game\n"


def test_what_says_that_work_is_done_is_sent_last(
    folder: Url, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = WorkingCopy(folder)
    for age, name in enumerate(("z.shard", "m.shard", "a.done")):
        write_bytes(copy.path / name, name.encode())
        os.utime(copy.path / name, (1_000_000 + age,) * 2)
    sent: list[str] = []
    system = type(fsspec.filesystem("memory"))

    def cut(_: object, __: str, target: str) -> None:
        sent.append(Path(target).name)
        raise ConnectionError("cut")

    with monkeypatch.context() as broken:
        broken.setattr(system, "put_file", cut)
        with pytest.raises(FileError, match="cut"):
            copy.send()
    assert len(sent) == files.TRIES
    assert all(".z.shard." in name for name in sent)
    assert not folder.exists() or not files_below(folder, "*")
    copy.send()
    assert len(files_below(folder, "*")) == 3


class ForeignError(Exception):
    """What paramiko raises is no error of the operating system."""


@pytest.mark.parametrize(
    ("error", "tries", "told"),
    [
        (ForeignError("line cut"), files.TRIES, "no answer [(]line cut"),
        (EOFError(), files.TRIES, "no answer [(]EOFError"),
        (PermissionError("not yours"), 1, "cannot be used [(]not yours"),
        (ValueError("no such name"), 1, "cannot be used [(]no such name"),
    ],
)
def test_a_store_that_does_not_answer(
    folder: Url, monkeypatch: pytest.MonkeyPatch, error: Exception, tries: int, told: str
) -> None:
    monkeypatch.setitem(sys.modules, "paramiko", SimpleNamespace(SSHException=ForeignError))
    asked: list[str] = []

    def broken(_: object, path: str) -> None:
        asked.append(path)
        raise error

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "exists", broken)
    with pytest.raises(FileError, match=told):
        folder.exists()
    assert len(asked) == tries


def test_shards_are_kept_as_long_as_there_is_room(
    folder: Url, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOM, "1")
    kept = tmp_path / "cache" / "objects"
    for name in "abcde":
        write_bytes(folder / name, name.encode() * 300_000)
        read_kept(folder / name)
    assert sum(path.stat().st_size for path in kept.iterdir()) <= 1 << 20
    with monkeypatch.context() as away:
        away.setattr("kibitz.core.places.fetch", lambda _: pytest.fail("asked again"))
        assert read_kept(folder / "e") == b"e" * 300_000
    write_bytes(folder / "e", b"another")
    assert read_kept(folder / "e") == b"another"
    monkeypatch.setenv(ROOM, "much")
    with pytest.raises(InputError, match="much"):
        read_kept(folder / "e")


def test_a_command_writes_where_a_url_says(folder: Url, capsys: pytest.CaptureFixture[str]) -> None:
    picture = folder / "board.svg"
    assert main(["show", "--svg", str(picture)]) == 0
    assert read_bytes(picture).startswith(b"<svg")
    assert main(["suite", str(folder / "none.epd"), "--player", "random"]) == 2
    assert str(folder / "none.epd") in capsys.readouterr().err


TINY = (
    *("selfplay.kind=mcts", "learn.games=4", "learn.group=2", "selfplay.group=2", "learn.cores=1"),
    *("selfplay.playouts=2", "selfplay.most_plies=24", "learn.network=sparse-8x8"),
    *("learn.batch=64", "learn.rating_games=2", "learn.rating_nodes=4", "learn.validation=0"),
)


def learned(folder: Location) -> dict[tuple[str, ...], bytes]:
    """All files of a short run, by their names from its folder on."""
    words = [word for text in TINY for word in ("--set", text)]
    words += ["--generations", "1", "--reproducible"]
    assert main(["learn", str(folder), *words]) == 0
    root = place(folder)
    names = {below(path, root): path for path in files_below(root, "*")}
    return {
        name: read_bytes(path)
        for name, path in names.items()
        if name[0] not in NOT_SENT and name[-1][0] != "."
    }


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], bytes]:
    found = learned(tmp_path_factory.mktemp("disk") / "run")
    assert {name[0] for name in found} > {"games", "matches", "networks", "training", "curve.svg"}
    return found


@pytest.mark.slow
def test_a_run_is_the_same_bytes_wherever_it_is(
    folder: Url, on_disk: dict[tuple[str, ...], bytes]
) -> None:
    assert learned(folder) == on_disk


# --- S3 -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    if MISSING:
        pytest.skip(f"not installed: {', '.join(MISSING)}")
    with s3() as found:
        fsspec.filesystem("s3").mkdir("games")
        yield found


@pytest.mark.filterwarnings("ignore")
def test_a_run_in_an_object_store(
    wire: Wire,
    on_disk: dict[tuple[str, ...], bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kibitz.core.places.cache_folder", lambda: tmp_path / "cache")
    wire.cuts, wire.after = 2, 2_000
    assert learned("s3://games/learn/run") == on_disk
    assert wire.cuts == 0


@pytest.mark.filterwarnings("ignore")
def test_an_object_store(wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kibitz.core.places.cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(files, "WAIT_SECONDS", 0.0)
    url = place("s3://games/run/1.shard")
    write_bytes(url, LARGE)
    assert read_bytes(url) == read_kept(url) == read_kept(url) == LARGE
    assert [one.name for one in files_below(place("s3://games/run"), "*.shard")] == ["1.shard"]
    with pytest.raises(FileError, match="no such file"):
        read_bytes("s3://games/run/2.shard")
    copy = working_copy("s3://games/copy")
    write_bytes(copy / "a" / "b", b"c")
    send_all()
    assert read_bytes("s3://games/copy/a/b") == b"c"

    wire.cuts, wire.after = 1, 100_000  # in the middle of the next upload
    write_bytes(url, LARGE[::-1])
    assert wire.cuts == 0
    assert read_bytes(url) == LARGE[::-1]
    wire.cuts = 1_000_000
    with pytest.raises(FileError, match="no answer"):
        write_bytes(url, LARGE)
    wire.cuts = 0
    assert read_bytes(url) == LARGE[::-1]  # nothing torn
