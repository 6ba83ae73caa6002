"""Collects annotated games from a site: politely, each page once, and on from where it stopped.

Every answer is kept in the folder `pages`, so a run that was stopped asks for nothing twice.
docs/decoder.md has the layout of the folder.
"""

from __future__ import annotations

import hashlib
import html
import io
import re
import time
import urllib.error
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urldefrag, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

from kibitz.core.downloads import FetchError, with_retries
from kibitz.core.errors import FileError, InputError
from kibitz.core.files import read_bytes, write_bytes
from kibitz.core.log import Stop, say
from kibitz.position.pgn import read_games

LONGEST_NAME = 160  # characters of a file's name, which end in a checksum where a URL is longer
GONE = ".gone"  # of pages that are not there, in place of their content
PGN = re.compile(r'\[Event ".*?(?=</|\Z)', re.DOTALL)


@dataclass(frozen=True)
class Site:
    """Where games are, and how often a page may be asked for."""

    start: tuple[str, ...]
    follow: str = ""  # pattern of links to pages with more links
    games: str = r"\.pgn$"  # pattern of links to games
    pages: int = 1000  # the most that are asked for
    delay: float = 2.0  # seconds between two questions, or what robots.txt says if that is more
    tries: int = 5
    timeout: float = 30.0
    least_comments: int = 3  # games with fewer are left out
    agent: str = "kibitz"

    def __post_init__(self) -> None:
        for name in ("follow", "games"):
            try:
                re.compile(getattr(self, name))
            except re.error as error:
                raise InputError(f"--{name}: {error}", value=getattr(self, name)) from error
        for url in self.start:
            if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
                raise InputError("no address of a page", value=url, fix="begin with https://")


@dataclass
class Collected:
    """What a run has found and asked."""

    asked: int = 0  # questions to the site, repeated ones too
    pages: int = 0  # that were read, kept ones too
    files: int = 0
    games: int = 0
    left_out: int = 0  # games with too few comments
    failed: list[str] = field(default_factory=list)  # pages, and why


class _Links(HTMLParser):
    """The addresses that a page links to."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.addresses += [value for name, value in attrs if name == "href" and value]


class Scraper:
    """Asks one site for pages, at most one every few seconds, and keeps them."""

    def __init__(
        self, site: Site, folder: Path, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self.site, self.folder, self.done = site, folder, Collected()
        self._wait, self._last = wait, 0.0
        self._robots: dict[str, RobotFileParser] = {}
        self._queued: set[str] = set()

    def collect(self, stop: Stop) -> Iterator[Path]:
        """The PGN files of the site, as they are written."""
        queue = deque(self.site.start)
        self._queued = set(queue)
        while queue and self.done.pages < self.site.pages and not stop.requested:
            url = queue.popleft()
            try:
                content = self.page(url).decode("utf-8", "replace")
            except FetchError as error:
                self.done.failed.append(f"{url}: {error}")
                say(f"{url}: {error}")
                continue
            self.done.pages += 1
            if re.search(self.site.games, url):
                yield from self._games(url, content)
            else:
                queue.extend(self._wanted(url, content))

    def _wanted(self, url: str, content: str) -> Iterator[str]:
        """The links of a page that are to be followed, each once, on the same site only."""
        links = _Links()
        links.feed(content)
        patterns = [pattern for pattern in (self.site.games, self.site.follow) if pattern]
        for link in links.addresses:
            target = urldefrag(urljoin(url, link)).url
            same = urlsplit(target)[:2] == urlsplit(url)[:2]
            if same and target not in self._queued and any(re.search(p, target) for p in patterns):
                self._queued.add(target)
                yield target

    def _games(self, url: str, content: str) -> Iterator[Path]:
        """The games of a page with comments enough, in a file; a PGN inside of HTML is found."""
        if not content.lstrip("\ufeff \r\n").startswith("["):
            content = "\n\n".join(html.unescape(text) for text in PGN.findall(content))
        games = []
        for game in read_games(io.StringIO(content), lambda bad: say(f"{url}: {bad}")):
            comments = sum(bool(node.comment) for node in game.tree.mainline())
            if comments < self.site.least_comments:
                self.done.left_out += 1
            else:
                games.append(str(game))
        if games:
            path = self.folder / "games" / f"{file_name(url)}.pgn"
            write_bytes(path, "".join(f"{game}\n\n" for game in games).encode())
            self.done.files, self.done.games = self.done.files + 1, self.done.games + len(games)
            yield path

    # --- asking -----------------------------------------------------------------------------------

    def page(self, url: str) -> bytes:
        """A page, from the folder if it is there."""
        path = self.folder / "pages" / file_name(url)
        gone = path.with_name(path.name + GONE)
        if path.exists():
            return read_bytes(path)
        if gone.exists():
            raise FetchError(read_bytes(gone).decode())
        if not self._rules(url).can_fetch(self.site.agent, url):
            raise FetchError("robots.txt does not allow it")
        try:
            content = self._asked(url)
        except urllib.error.HTTPError as error:
            reason = f"{error.code} {error.reason}"
            write_bytes(gone, reason.encode())
            raise FetchError(reason) from error
        write_bytes(path, content)
        return content

    def _rules(self, url: str) -> RobotFileParser:
        """What robots.txt of a site allows; one that is not there allows everything."""
        scheme, host = urlsplit(url)[:2]
        if host not in self._robots:
            rules = RobotFileParser()
            try:
                rules.parse(self._asked(f"{scheme}://{host}/robots.txt").decode().splitlines())
            except urllib.error.HTTPError as error:
                rules.parse(["User-agent: *", "Disallow: /"] if error.code in (401, 403) else [])
            self._robots[host] = rules
        return self._robots[host]

    def _asked(self, url: str) -> bytes:
        """What the site answers, after some tries; HTTPError for what it refuses for good."""
        site = self.site
        return with_retries(
            url,
            lambda answer: answer.read(),
            tries=site.tries,
            timeout=site.timeout,
            agent=site.agent,
            pause=lambda failures, after: self._pause(url, failures, after),
        )

    def _pause(self, url: str, failures: int, after: float) -> None:
        """Wait as politeness and, from the second try on, as the failure before demands."""
        self.done.asked += 1
        robots = self._robots.get(urlsplit(url).netloc)
        slow = float(robots.crawl_delay(self.site.agent) or 0) if robots else 0.0
        wanted = max(self.site.delay, slow)
        if failures:
            wanted = max(wanted * 2**failures, after)
        wanted -= time.monotonic() - self._last if self._last and not failures else 0.0
        if wanted > 0 and (self._last or failures):
            self._wait(wanted)
        self._last = time.monotonic()


def file_name(url: str) -> str:
    """The name of a page's file: its address, and a checksum in place of the end of a long one."""
    name = quote(url, safe="")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 33]}-{hashlib.sha256(url.encode()).hexdigest()[:32]}"


def collect(site: Site, folder: Path, stop: Stop) -> Collected:
    """Collect a site's games in a folder; what earlier runs have of it is not asked for again."""
    if folder.exists() and not folder.is_dir():
        raise FileError("not a folder", value=str(folder), fix="give another -o")
    scraper = Scraper(site, folder)
    for path in scraper.collect(stop):
        say(f"{path.name}: {scraper.done.games} games so far")
    return scraper.done
