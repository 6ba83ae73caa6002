"""What the first view costs: only its own files are sent, and those are few bytes."""

from __future__ import annotations

import http.client
import sys
from contextlib import closing

from tests.apps.web.conftest import Server
from tests.apps.web.steps import show, wait
from tests.comment.browser import Tab

MOST_BYTES, MOST_PACKED = 150_000, 50_000
LATER = "play coach puzzles training networks explorer think picture gif setup share suite files"


def size(server: Server, path: str, coding: str) -> int:
    """The bytes of an answer's body as it is sent."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)) as connection:
        headers = {"Host": server.host, "Accept-Encoding": coding}
        connection.request("GET", path, headers=headers)
        return len(connection.getresponse().read())


def test_the_first_view_is_light(tab: Tab, server: Server) -> None:
    """`pytest -s` prints the figures."""
    tab.requests.clear()
    show(tab, server, "analyse")
    wait(tab, "document.querySelector('.status').textContent.includes('White to move')")
    paths = sorted({url.removeprefix(server.url) for url in tab.requests if server.url in url})
    paths = [f"/{path.partition('#')[0]}" for path in paths]
    plain = {path: size(server, path, "identity") for path in paths}
    packed = {path: size(server, path, "gzip") for path in paths}
    for path in paths:
        sys.stdout.write(f"{plain[path]:8,} {packed[path]:8,} {path}\n")
    sys.stdout.write(f"{sum(plain.values()):8,} {sum(packed.values()):8,} in {len(paths)} files\n")
    assert not {f"/static/{name}.js" for name in LATER.split()} & {*paths}
    assert sum(plain.values()) <= MOST_BYTES
    assert sum(packed.values()) <= MOST_PACKED
