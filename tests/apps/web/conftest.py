"""A server as a user starts it, for the tests of the web room."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kibitz.data.shard import Game, Ply, shard_of, write
from kibitz.position.board import Board
from tests.comment.browser import FOUND, Tab, browser
from tests.comment.looks import SHORT_LOOKS

GAMES = """[Event "One"]
[White "Anna"]
[Black "Ben"]
[Result "1-0"]

1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0

[Event "Two"]
[White "Carl"]
[Black "Dora"]
[Result "*"]

1. d4 d5 *

"""
PUZZLES = """PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags
test1,6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1,a2a8 b1b8 a8b8 g2g3,900,80,90,100,backRank,x,
"""
SUITE = '6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - bm Rb8#; id "mate";\n'


# `kibitz` with some values changed: for all those of the fixture `short_looks`, and less patience.
CHANGES = SHORT_LOOKS | {
    "kibitz.apps.http.PATIENCE_SECONDS": 4.0,
    "kibitz.apps.http.READER_SECONDS": 6.0,
}
PROGRAM = """
import kibitz.apps.http, kibitz.cli, kibitz.comment.cache, kibitz.comment.searches, sys
{changes}
sys.exit(kibitz.cli.main())
"""


class Server:
    """`kibitz web` as a process; it can be ended and started again on the same port."""

    def __init__(
        self, folder: Path, *options: str, port: int = 0, changes: Mapping[str, object] = CHANGES
    ) -> None:
        self.folder, self.options, self.port, self.url = folder, options, port, ""
        lines = "\n".join(f"{name} = {value!r}" for name, value in changes.items())
        self.program = PROGRAM.format(changes=lines)
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-c", self.program, "web", str(self.folder), "--no-open"]
        command += ["--port", str(self.port), "--hash", "32", *self.options]
        if "--database" not in self.options:  # never that of who runs the tests
            command += ["--database", str(self.folder.parent / "no-games.db")]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.log: list[str] = []
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if "http://" in line:
                break
        assert self.log, "the server has ended"
        assert "http://" in self.log[-1], self.log
        self.url = self.log[-1].split("kibitz web: ")[1].strip()
        self.host = self.url.split("/")[2]
        self.port = int(self.host.rsplit(":", 1)[1])
        self._reader = threading.Thread(target=self.log.extend, args=(self.process.stderr,))
        self._reader.start()

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


def files_for_tests(folder: Path) -> Path:
    """A folder with a file of each kind, beside a secret."""
    inside = folder / "files"
    inside.mkdir()
    (folder / "secret.pgn").write_text("secret")
    (inside / "games.pgn").write_text(GAMES)
    (inside / "puzzles.csv").write_text(PUZZLES)
    (inside / "suite.epd").write_text(SUITE)
    (inside / "notes.txt").write_text("not for the page")
    (inside / "torn.shard").write_bytes(b"no shard")
    (inside / "link.pgn").symlink_to(folder / "secret.pgn")
    board = Board()
    plies = []
    for san, policy in (("e4", ("e4", "d4")), ("e5", ("e5", "c5"))):
        visits = tuple((_code(board, one), 60 - 40 * place) for place, one in enumerate(policy))
        plies.append(Ply(_code(board, san), value=0.25, draw=0.5, root_value=0.125, visits=visits))
        board.push(san)
    write(inside / "some.shard", shard_of([Game(tuple(plies), end="test"), Game(tuple(plies[:1]))]))
    return inside


def _code(board: Board, san: str) -> int:
    twin = board.copy()
    twin.push(san)
    return twin.codes()[-1]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return files_for_tests(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    found = Server(folder)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    if FOUND is None:
        pytest.skip("no Chromium here")
    with browser(tmp_path_factory.mktemp("profile")) as found:
        found.size(1280, 900)
        yield found
