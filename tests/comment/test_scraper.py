"""The scraper against a site on this machine that answers well, badly, late and not at all."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Generator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

from kibitz.comment.decoder.scraper import LONGEST_NAME, Scraper, Site, file_name
from kibitz.core.downloads import FetchError
from kibitz.core.errors import InputError
from kibitz.core.log import Stop

GAME = '[Event "{0}"]\n[Result "*"]\n\n1. e4 {{ first }} e5 {{ second }} 2. Nf3 {{ third }} *\n\n'
SHORT = '[Event "short"]\n[Result "*"]\n\n1. e4 {{ only one }} *\n\n'
INDEX = '<a href="/a.pgn">a</a> <a href="more.html#x">more</a> <a href="/secret/b.pgn">b</a>'
INDEX += '<a href="http://elsewhere.invalid/c.pgn">c</a> <a href="/missing.pgn">gone</a>'
MORE = '<a href="/inside.pgn">d</a><a href="/busy.pgn">e</a><a href="/cut.pgn">f</a>'
PAGES = {
    "/robots.txt": "User-agent: *\nDisallow: /secret/\nCrawl-delay: 3\n",
    "/": INDEX,
    "/more.html": MORE,
    "/a.pgn": GAME.format("a") + SHORT.replace("{{", "{").replace("}}", "}"),
    "/inside.pgn": "<pre>" + GAME.format("in &quot;html&quot;").replace('"', "&quot;") + "</pre>",
    "/busy.pgn": GAME.format("busy"),
    "/cut.pgn": GAME.format("cut"),
}
PAGES["/inside.pgn"] = f"<html><pre>{GAME.format('inside')}</pre></html>"


class Handler(BaseHTTPRequestHandler):
    asked: Counter[str]
    failures: dict[str, list[int]]  # codes to answer with first; 0 cuts the answer off

    def do_GET(self) -> None:
        self.asked[self.path] += 1
        waiting = self.failures.get(self.path, [])
        code = waiting.pop(0) if waiting else 200
        content = PAGES.get(self.path, "").encode()
        if code == 200 and not content:
            code = 404
        self.send_response(200 if code == 0 else code)
        if code == 429:
            self.send_header("Retry-After", "7")
        if code not in (0, 200):
            content = b""
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if code == 0 else content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[tuple[str, type[Handler]]]:
    handler = type("Own", (Handler,), {"asked": Counter(), "failures": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", handler
    server.shutdown()
    thread.join()
    server.server_close()


def scraper(url: str, folder: Path, waits: list[float], tries: int = 3) -> Scraper:
    wanted = Site((f"{url}/",), follow=r"\.html$", delay=1.0, tries=tries, agent="test")
    return Scraper(wanted, folder, waits.append)


def test_a_site_is_collected(site: tuple[str, type[Handler]], tmp_path: Path) -> None:
    url, handler = site
    waits: list[float] = []
    one = scraper(url, tmp_path, waits)
    files = list(one.collect(Stop()))
    assert (one.done.files, one.done.games, one.done.left_out) == (4, 4, 1)
    assert sorted(path.name[-14:-4] for path in files) == sorted(
        f"{file_name(url + name)}"[-10:]
        for name in ("/a.pgn", "/busy.pgn", "/cut.pgn", "/inside.pgn")
    )
    assert '[Event "inside"]' in next(path for path in files if "inside" in path.name).read_text()
    refused = {line.partition(": ")[2] for line in one.done.failed}
    assert refused == {"robots.txt does not allow it", "404 Not Found"}
    assert handler.asked["/secret/b.pgn"] == 0
    assert len(waits) == one.done.asked - 1
    assert all(0 < wait <= 3.0 for wait in waits)
    assert max(waits[1:]) > 1.0  # robots.txt wants three seconds


def test_nothing_is_asked_twice(site: tuple[str, type[Handler]], tmp_path: Path) -> None:
    url, handler = site
    list(scraper(url, tmp_path, []).collect(Stop()))
    before = handler.asked.copy()
    again = scraper(url, tmp_path, [])
    assert len(list(again.collect(Stop()))) == 4
    assert handler.asked - before == Counter({"/robots.txt": 1})  # only for the page it refuses


def test_failures_are_tried_again_with_longer_waits(
    site: tuple[str, type[Handler]], tmp_path: Path
) -> None:
    url, handler = site
    handler.failures = {"/busy.pgn": [429, 500], "/cut.pgn": [0, 503]}
    waits: list[float] = []
    one = scraper(url, tmp_path, waits)
    assert len(list(one.collect(Stop()))) == 4
    assert handler.asked["/busy.pgn"] == handler.asked["/cut.pgn"] == 3
    assert 7.0 in waits  # what 429 asked for
    assert 12.0 in waits  # robots.txt's three seconds, doubled twice
    assert "third" in (tmp_path / "games" / f"{file_name(url + '/cut.pgn')}.pgn").read_text()


def test_a_page_that_fails_is_asked_for_by_the_next_run(
    site: tuple[str, type[Handler]], tmp_path: Path
) -> None:
    url, handler = site
    handler.failures = {"/a.pgn": [500, 500, 0]}
    one = scraper(url, tmp_path, [])
    assert len(list(one.collect(Stop()))) == 3
    assert any("no answer after 3 tries" in line for line in one.done.failed)
    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".partial"]
    assert len(list(scraper(url, tmp_path, []).collect(Stop()))) == 4


def test_a_run_that_is_killed_goes_on(site: tuple[str, type[Handler]], tmp_path: Path) -> None:
    url, handler = site
    found = cast(Generator[Path, None, None], scraper(url, tmp_path, []).collect(Stop()))
    next(found)
    found.close()  # as a kill: nothing is done at the end
    first = handler.asked.copy()
    assert len(list(scraper(url, tmp_path, []).collect(Stop()))) == 4
    assert handler.asked["/a.pgn"] == first["/a.pgn"] == 1


def test_names_of_files_are_short_and_differ() -> None:
    long = [f"http://site.example/{'x' * 400}{end}" for end in "ab"]
    names = {file_name(url) for url in long}
    assert len(names) == 2
    assert all(len(name) == LONGEST_NAME for name in names)


@pytest.mark.parametrize("wrong", [{"start": ("ftp://x",)}, {"start": ("http://x",), "games": "("}])
def test_what_is_no_site_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Site(**wrong)


def test_a_site_that_is_not_there(tmp_path: Path) -> None:
    one = Scraper(Site(("http://127.0.0.1:9/",), tries=2, delay=0.0), tmp_path, lambda _: None)
    with pytest.raises(FetchError, match="no answer after 2 tries"):
        one.page("http://127.0.0.1:9/")
