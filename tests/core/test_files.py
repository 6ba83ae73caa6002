"""Files: broken in the middle of writing, damaged afterwards, missing, on disk and behind URLs."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import subprocess
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
import zstandard

from kibitz.core import files, unpacking
from kibitz.core.errors import DamagedFileError, FileError, InputError, MissingExtraError
from kibitz.core.files import sha256_of


def leftovers(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir() if entry.name.endswith(".partial")]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "net.bin"
    files.write_bytes(path, b"knight")
    assert files.read_bytes(path) == b"knight"
    assert files.read_bytes(path.as_uri()) == b"knight"
    assert leftovers(path.parent) == []


def test_an_exception_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "net.bin"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), files.atomic_write(path) as file:
        file.write(b"half of the ne")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    assert leftovers(tmp_path) == []


def test_a_device_or_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.write_bytes(pipe, b"knight")
        assert os.read(reader, 100) == b"knight"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert leftovers(tmp_path) == []


def test_a_killed_writer_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "net.bin"
    path.write_bytes(b"old")
    script = (
        "import os, sys; from kibitz.core.files import atomic_write\n"
        "with atomic_write(sys.argv[1]) as file:\n"
        "    file.write(b'half of the ne'); file.flush(); os._exit(9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert ended.returncode == 9
    assert path.read_bytes() == b"old"
    assert len(leftovers(tmp_path)) == 1


def test_leftovers_go_when_they_are_old_and_only_then(tmp_path: Path) -> None:
    abandoned = tmp_path / ".net.bin.0123456789ab.partial"
    working = tmp_path / ".net.bin.ba9876543210.partial"
    other = tmp_path / ".other.bin.0123456789ab.partial"
    for path in (abandoned, working, other):
        path.write_bytes(b"half")
    long_ago = time.time() - 2 * files.ABANDONED_SECONDS
    os.utime(abandoned, (long_ago, long_ago))
    os.utime(other, (long_ago, long_ago))
    files.write_bytes(tmp_path / "net.bin", b"whole")
    assert sorted(leftovers(tmp_path)) == sorted([working.name, other.name])


def test_a_full_disk_is_named() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with (
        pytest.raises(FileError, match=r"cannot write \(No space left on device\): 'net.bin'"),
        files.named_failures("net.bin", "cannot write"),
        full.open("wb", buffering=0) as file,
    ):
        file.write(b"x")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.bin", tmp_path / "link.bin"
    target.write_bytes(b"old")
    link.symlink_to(target)
    files.write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_written_files_have_ordinary_permissions(tmp_path: Path) -> None:
    ordinary, atomic = tmp_path / "ordinary", tmp_path / "atomic"
    ordinary.write_bytes(b"")
    files.write_bytes(atomic, b"")
    assert atomic.stat().st_mode == ordinary.stat().st_mode


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no such file: '.*net.bin'; check the path"):
        files.read_bytes(tmp_path / "net.bin")
    with pytest.raises(FileError, match="no such file: 'memory://nothing'"):
        files.read_bytes("memory://nothing")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read"):
        files.read_bytes(tmp_path)
    with pytest.raises(FileError, match="cannot write"):
        files.write_bytes(tmp_path, b"")
    assert leftovers(tmp_path.parent) == []


def test_trouble_with_another_file_is_not_blamed_on_this_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, files.atomic_write(tmp_path / "net.bin"):
        (tmp_path / "weights").read_bytes()
    assert not isinstance(caught.value, FileError)


def test_urls(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}/net.bin"
    files.write_bytes(url, b"rook")
    assert files.read_bytes(url) == b"rook"
    assert sha256_of(url) == hashlib.sha256(b"rook").hexdigest()


def test_an_exception_publishes_nothing_behind_a_url(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}/net.bin"
    with pytest.raises(ZeroDivisionError), files.atomic_write(url) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert not fsspec.filesystem("memory").exists(url)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kibitz\[cloud\]'"):
        files.read_bytes("s3://bucket/net.bin")


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(InputError, match="chess://board"):
        files.read_bytes("chess://board")


@pytest.mark.parametrize("path", [r"C:\nets\a.bin", "C:/nets/a.bin", "nets/a.bin", "a:b"])
def test_plain_paths(path: str) -> None:
    assert files.local_path(path) == Path(path)


def test_folders_follow_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIBITZ_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("KIBITZ_CACHE", "~/cache")
    assert files.data_folder() == tmp_path / "data"
    assert files.cache_folder() == Path.home() / "cache"
    monkeypatch.delenv("KIBITZ_DATA")
    monkeypatch.delenv("KIBITZ_CACHE")
    assert files.data_folder() != files.cache_folder()
    assert "kibitz" in files.data_folder().parts
    assert "kibitz" in files.cache_folder().parts


def test_the_only_file_of_an_archive_is_read(tmp_path: Path) -> None:
    """Books of openings are published so; of several files none is chosen."""
    book = tmp_path / "book.epd.zip"
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("book.epd", "8/8/8/8/8/8/k7/7K w - -\n")
    assert unpacking.read_unpacked(book) == b"8/8/8/8/8/8/k7/7K w - -\n"
    assert unpacking.unpacked_name(book).endswith("book.epd")
    whole = book.read_bytes()
    at = whole.index(b"PK\x01\x02") + 8  # the flags in its directory
    book.write_bytes(whole[:at] + bytes([whole[at] | 1]) + whole[at + 1 :])
    with pytest.raises(InputError, match="encrypted"):
        unpacking.read_unpacked(book)
    book.write_bytes(whole)
    with zipfile.ZipFile(book, "a") as archive:
        archive.writestr("licence.txt", "free")
    with pytest.raises(InputError, match="one of its 2 files"):
        unpacking.read_unpacked(book)
    book.write_bytes(b"no archive")
    with pytest.raises(DamagedFileError, match="cannot decompress"):
        unpacking.read_unpacked(book)


def zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("games.pgn", content)
    return out.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
    ".zip": zipped,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_every_packing_comes_back_and_no_cut_is_taken_for_the_whole(
    suffix: str, tmp_path: Path
) -> None:
    content = b"".join(hashlib.sha256(bytes([n])).hexdigest().encode() for n in range(99))
    packed = PACKERS[suffix](content)
    path = tmp_path / f"games.pgn{suffix}"
    path.write_bytes(packed)
    assert unpacking.read_unpacked(path) == content
    if suffix != ".zip":
        path.write_bytes(packed + packed)
        assert unpacking.read_unpacked(path) == content + content
    for length in range(1, len(packed), 7):
        path.write_bytes(packed[:length])
        with pytest.raises(DamagedFileError, match=r"games\.pgn"):
            unpacking.read_unpacked(path)


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_bomb_is_refused_long_before_it_has_unpacked(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = tmp_path / f"bomb.pgn{suffix}"
    bomb.write_bytes(PACKERS[suffix](bytes(100 << 20)))
    tracemalloc.start()
    got = 0
    try:
        with (
            pytest.raises(DamagedFileError, match=r"times its size.*bomb\.pgn.*KIBITZ_MOST_RATIO"),
            unpacking.open_unpacked(bomb) as file,
        ):
            while block := file.read(1 << 20):
                got += len(block)
        assert tracemalloc.get_traced_memory()[1] < 48 << 20
    finally:
        tracemalloc.stop()
    assert got < 80 << 20  # what 200 times the packed size allows, with .gz and .zip
    monkeypatch.setenv("KIBITZ_MOST_RATIO", "0")
    with unpacking.open_unpacked(bomb) as file:
        assert sum(len(block) for block in iter(lambda: file.read(1 << 20), b"")) == 100 << 20


def test_how_much_is_held_in_memory_has_a_cap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "large").write_bytes(bytes(3 << 20))
    (tmp_path / "large.zst").write_bytes(zstandard.compress(bytes(3 << 20)))
    assert len(files.read_bytes(tmp_path / "large")) == 3 << 20
    monkeypatch.setenv("KIBITZ_MOST_MIB", "2")
    for read, name in (
        (files.read_bytes, "large"),
        (files.read_bytes, "/dev/zero"),
        (unpacking.read_unpacked, "large.zst"),
    ):
        with pytest.raises(FileError, match=r"more than 2 MiB.*raise KIBITZ_MOST_MIB"):
            read(tmp_path / name)
    monkeypatch.setenv("KIBITZ_MOST_MIB", "0")
    assert len(files.read_bytes(tmp_path / "large")) == 3 << 20
    monkeypatch.setenv("KIBITZ_MOST_MIB", "many")
    with pytest.raises(InputError, match="KIBITZ_MOST_MIB: 'many'"):
        files.read_bytes(tmp_path / "large")
