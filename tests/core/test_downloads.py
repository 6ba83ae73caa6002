"""Downloads from a server on this machine that cuts, changes, refuses and forgets."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
import threading
import urllib.request
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import chess.syzygy
import pytest

from kibitz.cli import main
from kibitz.core.downloads import FetchError, _NoDowngrade, download
from kibitz.core.errors import DamagedFileError, FileError, InputError
from kibitz.data.catalogue import CATALOGUE, entry
from kibitz.nets.discover import SHIPPED_FOLDER, fetched_file

CONTENT = bytes(range(256)) * 4000  # a megabyte
GAMES = b'[Event "one"]\n[Result "1-0"]\n\n1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n'


class Server(NamedTuple):
    """What the server has, how it answers, and what it was asked."""

    url: str
    files: dict[str, bytes]
    answers: list[str]  # "cut", "503", "whole" (no ranges), "no length", one for each question
    asked: list[tuple[str, str]]  # path and Range
    tags: dict[str, str]


class Handler(BaseHTTPRequestHandler):
    server_state: Server

    def do_GET(self) -> None:
        state = self.server_state
        how = state.answers.pop(0) if state.answers else ""
        wanted = self.headers.get("Range", "")
        state.asked.append((self.path, wanted))
        content = state.files.get(self.path)
        if content is None or how.isdecimal():
            self.answer(404 if content is None else int(how), {"Retry-After": "7"}, b"")
            return
        if how == "years of pause":
            self.answer(503, {"Retry-After": "9" * 400}, b"")
            return
        tag = state.tags.get(self.path, f'"{hashlib.md5(content).hexdigest()}"')
        headers = {"ETag": tag} if tag else {}
        begin = re.match(r"bytes=(\d+)-", wanted)
        if begin and how != "whole" and self.headers.get("If-Range") == tag:
            if int(begin[1]) >= len(content):
                self.answer(416, {"Content-Range": f"bytes */{len(content)}"}, b"")
                return
            where = f"bytes {begin[1]}-{len(content) - 1}/{len(content)}"
            self.answer(206, {**headers, "Content-Range": where}, content[int(begin[1]) :], how)
        else:
            self.answer(200, headers, content, how)

    def answer(self, code: int, headers: dict[str, str], content: bytes, how: str = "") -> None:
        self.send_response(code)
        length = {} if how == "no length" else {"Content-Length": str(len(content))}
        length = {"Content-Length": "abc"} if how == "strange length" else length
        for name, value in {**headers, **length}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if how == "cut" else content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    found = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Server(f"http://127.0.0.1:{found.server_address[1]}", {"/f": CONTENT}, [], [], {})
    Handler.server_state = state
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nothing waits; how long it would have."""
    found: list[float] = []
    monkeypatch.setattr("kibitz.core.downloads.time.sleep", found.append)
    return found


def begins(server: Server) -> list[str]:
    return [wanted for _, wanted in server.asked]


def test_a_file_comes_whole_and_once(server: Server, tmp_path: Path) -> None:
    got: list[int] = []
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    assert download(f"{server.url}/f", tmp_path / "f", sha256, on_bytes=got.append)
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert sum(got) == len(CONTENT)
    assert not download(f"{server.url}/f", tmp_path / "f", sha256)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert len(server.asked) == 1


def test_cut_connections_go_on_where_they_broke(
    server: Server, tmp_path: Path, waits: list[float]
) -> None:
    server.answers.extend(["cut"] * 8)  # each brings half of the rest: more than the tries allow
    assert download(f"{server.url}/f", tmp_path / "f", tries=2)
    assert (tmp_path / "f").read_bytes() == CONTENT
    starts = [int(re.findall(r"\d+", text)[0]) for text in begins(server)[1:]]
    assert starts == sorted(set(starts))
    assert starts[0] == len(CONTENT) // 2
    assert waits


def test_the_next_run_goes_on(server: Server, tmp_path: Path) -> None:
    server.answers.extend(["cut", *["503"] * 5])
    with pytest.raises(FetchError, match=r"no answer after 3 tries.*goes on from here"):
        download(f"{server.url}/f", tmp_path / "f", tries=3)
    assert not (tmp_path / "f").exists()
    assert (tmp_path / "f.part").stat().st_size == len(CONTENT) // 2
    assert download(f"{server.url}/f", tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert begins(server)[-1] == f"bytes={len(CONTENT) // 2}-"


def test_a_file_that_changed_meanwhile_comes_anew(server: Server, tmp_path: Path) -> None:
    server.answers.extend(["cut", "503"])
    with pytest.raises(FetchError):
        download(f"{server.url}/f", tmp_path / "f", tries=1)
    server.answers.clear()
    server.files["/f"] = CONTENT[::-1]
    assert download(f"{server.url}/f", tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("tag", ["", 'W/"weak"'])
def test_without_a_name_for_the_state_it_begins_anew(
    server: Server, tmp_path: Path, tag: str
) -> None:
    server.tags["/f"] = tag
    server.answers.extend(["cut", "cut"])
    assert download(f"{server.url}/f", tmp_path / "f", tries=3)
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert begins(server) == ["", "", ""]


def test_a_server_without_ranges(server: Server, tmp_path: Path) -> None:
    server.answers.extend(["cut", "whole"])
    assert download(f"{server.url}/f", tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_all_bytes_were_here_before_the_end(server: Server, tmp_path: Path) -> None:
    (tmp_path / "f.part").write_bytes(CONTENT)
    (tmp_path / "f.part.tag").write_text(f'"{hashlib.md5(CONTENT).hexdigest()}"')
    assert download(f"{server.url}/f", tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DamagedFileError, match="not what was published"):
        download(f"{server.url}/f", tmp_path / "f", "0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused_is_asked_once(server: Server, tmp_path: Path, waits: list[float]) -> None:
    with pytest.raises(FetchError, match="404"):
        download(f"{server.url}/no", tmp_path / "no")
    assert len(server.asked) == 1
    assert list(tmp_path.iterdir()) == []
    server.answers.append("429")
    download(f"{server.url}/f", tmp_path / "f")
    assert waits == [7.0]  # what the server wanted


def test_no_server(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="no answer after 2 tries"):
        download("http://127.0.0.1:9/f", tmp_path / "f", tries=2)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_full_disk_is_named_and_not_tried_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "f.part").symlink_to("/dev/full")
    with pytest.raises(FileError, match=r"cannot write \(No space left on device\).*f\.part"):
        download(f"{server.url}/f", tmp_path / "f")
    assert len(server.asked) == 1


def test_what_has_no_room_is_not_begun(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("kibitz.core.downloads.shutil.disk_usage", lambda _: usage)
    with pytest.raises(FileError, match="1,024,000 bytes are wanted, 1,000 are free"):
        download(f"{server.url}/f", tmp_path / "f")


# --- the catalogue --------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["data", "fetch", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_catalogue_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys)
    assert code == 0
    assert all(one.name in out and one.licence in out for one in CATALOGUE)


def test_every_entry_has_addresses_and_a_next_step(capsys: pytest.CaptureFixture[str]) -> None:
    for one in CATALOGUE:
        name = one.name.replace("YYYY-MM", "2013-01")
        code, out, _ = run(capsys, name, "--dry-run")
        assert code == 0
        assert out.split() == [*entry(name).urls, *filter(None, [one.checksums])]
        assert all(re.match(r"https?://[\w.]+/\S+$", url) for url in out.split())
        assert one.size
        assert "{}" in one.then
    tables = {url.rsplit("/", 1)[1] for url in entry("syzygy-3-4-5").urls}
    assert len(tables) == 290
    assert all(chess.syzygy.is_tablename(name[:-5]) for name in tables)


@pytest.mark.parametrize("name", ["lichess-2013-13", "lichess", "lichess-YYYY-MM", "tcek"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        entry(name)


def test_a_month_is_fetched_checked_and_imported(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import zstandard

    packed = zstandard.ZstdCompressor().compress(GAMES * 3)
    name = "lichess_db_standard_rated_2013-01.pgn.zst"
    server.files[f"/standard/{name}"] = packed
    sums = f"{hashlib.sha256(packed).hexdigest()}  {name}\n{'0' * 64}  other\n"
    server.files["/standard/sha256sums.txt"] = sums.encode()
    words = ["lichess-2013-01", "--mirror", server.url, "-o", str(tmp_path / "month")]
    code, out, err = run(capsys, *words)
    assert code == 0, err
    assert f"kibitz data import {tmp_path}/month/{name}" in err.replace("\n", "")
    assert "CC0" in out
    assert main(["data", "import", str(tmp_path / "month" / name), "-o", str(tmp_path / "s")]) == 0
    server.files["/standard/sha256sums.txt"] = sums.replace(sums[:64], "1" * 64).encode()
    (tmp_path / "month" / name).unlink()
    capsys.readouterr()
    code, _, err = run(capsys, *words)
    assert (code, "not what was published" in err) == (2, True)


@pytest.mark.parametrize(
    ("sums", "told"),
    [
        (b"<html>please log in</html>\n", "no list of SHA-256 checksums"),
        (b"", "an empty list of checksums"),
        (b"\xff\xfe\x00", "no list of SHA-256 checksums"),
        (b"0" * 64 + b"  another.pgn.zst\n", "no checksum of it is in"),
    ],
)
def test_without_its_checksum_nothing_is_fetched(
    sums: bytes, told: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "lichess_db_standard_rated_2013-01.pgn.zst"
    server.files[f"/standard/{name}"] = b"what somebody put there"
    server.files["/standard/sha256sums.txt"] = sums
    words = ["lichess-2013-01", "--mirror", server.url, "-o", str(tmp_path / "month")]
    code, _, err = run(capsys, *words)
    assert (code, told in err) == (2, True), err
    assert not (tmp_path / "month" / name).exists()


def test_networks_of_people_go_where_names_find_them_if_they_are_the_right_ones(
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = entry("maia")
    assert len(listed.sha256) == len(listed.urls) == 9
    shipped = (SHIPPED_FOLDER / "maia-1100.pb.gz").read_bytes()
    for url in listed.urls:
        server.files[urlsplit(url).path] = shipped
    monkeypatch.setenv("KIBITZ_DATA", str(tmp_path))
    code, _, err = run(capsys, "maia", "--mirror", server.url)
    assert (code, "not what was published" in err) == (2, True)  # only the first is what it says
    assert [path.name for path in (tmp_path / "networks").glob("*.gz")] == ["maia-1100.pb.gz"]
    assert fetched_file("maia-1100") == tmp_path / "networks" / "maia-1100.pb.gz"


@pytest.mark.parametrize("mirror", ["http://my.host", "ftp://my.host", "https://", "https://a:b"])
def test_a_mirror_is_asked_over_https(mirror: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "lichess-2013-01", "--mirror", mirror, "--dry-run")
    assert (code, f"--mirror: '{mirror}'" in err) == (2, True)


def test_no_redirection_leads_from_https_to_http() -> None:
    request = urllib.request.Request("https://my.host/f")
    for target in ("http://my.host/f", "ftp://my.host/f"):
        with pytest.raises(FetchError, match="from https to an address that is not"):
            _NoDowngrade().redirect_request(request, None, 302, "", {}, target)
    request.add_header("Authorization", "Bearer token")
    followed = _NoDowngrade().redirect_request(request, None, 302, "", {}, "https://other/f")
    assert followed is not None
    assert not followed.has_header("Authorization")  # a token is for the server that was asked
    own = f"https://{request.host}/other"
    followed = _NoDowngrade().redirect_request(request, None, 302, "", {}, own)
    assert followed is not None
    assert followed.has_header("Authorization")


def test_headers_of_a_strange_server(server: Server, tmp_path: Path, waits: list[float]) -> None:
    server.answers.append("strange length")
    assert download(f"{server.url}/f", tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    server.answers.append("years of pause")
    with pytest.raises(FetchError, match=r"wants .* seconds of pause"):
        download(f"{server.url}/f", tmp_path / "g")
    assert max(waits, default=0) == 0


def test_archives_become_one_file(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("b/one.pgn", "two.pgn", "README"):
            archive.writestr(name, GAMES)
    path = "/TCEC-Chess/tcecgames/releases/latest/download/TCEC-everything-compact.zip"
    server.files[path] = packed.getvalue()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:bz2") as archive_of_tape:
        for number in range(3):
            about = tarfile.TarInfo(f"../cclr/{number}.pgn")  # a name that leads elsewhere
            about.size = len(GAMES)
            archive_of_tape.addfile(about, io.BytesIO(GAMES))
    server.files["/files/ccrl-pgn.tar.bz2"] = packed.getvalue()
    for name, file, games in (
        ("tcec", "TCEC-everything-compact.pgn", 2),
        ("ccrl", "ccrl-pgn.pgn", 3),
    ):
        words = [name, "--mirror", server.url, "-o", str(tmp_path / name)]
        assert run(capsys, *words)[0] == 0
        assert (tmp_path / name / file).read_bytes().count(b"[Event") == games
        before = len(server.asked)
        assert run(capsys, *words)[0] == 0
        assert len(server.asked) == before  # all is there
    damaged = tmp_path / "tcec" / "TCEC-everything-compact.zip"
    damaged.write_bytes(b"no archive")
    (tmp_path / "tcec" / "TCEC-everything-compact.pgn").unlink()
    code, _, err = run(capsys, "tcec", "--mirror", server.url, "-o", str(tmp_path / "tcec"))
    assert (code, err.count("\n"), "delete it" in err) == (2, 1, True)
