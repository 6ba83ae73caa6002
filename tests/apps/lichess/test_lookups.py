"""Moves of books, of the opening explorer and of online tablebases, by stand-ins."""

from __future__ import annotations

import contextlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from kibitz.apps.lichess import lookups
from kibitz.apps.lichess.config import Lichess
from kibitz.apps.lichess.lookups import FAILURES, Lookups
from kibitz.cli import main
from kibitz.core.errors import KibitzError
from kibitz.position.board import Board
from tests.apps.lichess.conftest import PATIENCE, Running
from tests.apps.lichess.stand_in import StandIn

ENDING = "8/8/8/4k3/8/8/4P3/4K3 w - - 0 1"
LONG = 600_000.0  # ms
GAMES = "".join(f'[Result "1-0"]\n\n1. {first} {reply} 1-0\n\n' for first, reply in (
    ("e4", "e5"), ("e4", "e5"), ("e4", "c5"), ("d4", "d5"),
))  # fmt: skip


class Online:
    """A server that answers with what a test has put there."""

    def __init__(self) -> None:
        self.answer: Any = {"moves": []}
        self.status, self.asked = 200, list[tuple[str, dict[str, list[str]]]]()
        self.headers: list[str] = []
        self.released = threading.Event()  # until which a slow answer waits
        self.slow = False
        online = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                online.asked.append((parts.path, parse_qs(parts.query)))
                online.headers += self.headers.keys()
                if online.slow:
                    online.released.wait(PATIENCE)
                content = online.answer
                if not isinstance(content, bytes):
                    content = json.dumps(content).encode()
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # not waited for
                    self.send_response(online.status)
                    self.end_headers()
                    self.wfile.write(content)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()


@pytest.fixture
def online() -> Iterator[Online]:
    server = Online()
    yield server
    server.released.set()
    server.http.shutdown()
    server.http.server_close()


def asking(online: Online, told: list[str], **settings: Any) -> Lookups:
    """Lookups of a server, and nothing else."""
    urls = {"explorer_url": online.url, "tablebase_url": online.url}
    usual = {"explorer": "lichess", "online_tablebases": True, "online_seconds": 5.0, **urls}
    return Lookups(Lichess(**{**usual, **settings}), told.append, random.Random(1))


def books(folder: Path) -> tuple[str, str]:
    """A Polyglot book and a repertoire."""
    (folder / "games.pgn").write_text(GAMES)
    words = ["coach", "tree", str(folder / "games.pgn"), "--workers", "1", "--fewest", "1"]
    assert main([*words, "-o", str(folder / "book.bin")]) == 0
    (folder / "own.pgn").write_text("1. c4 (1. g3 g6) 1... e5 2. Nc3 *")
    return str(folder / "book.bin"), str(folder / "own.pgn")


# --- files ----------------------------------------------------------------------------------------


def test_books_and_repertoires(tmp_path: Path) -> None:
    book, own = books(tmp_path)
    one = Lookups(Lichess(books=(book,)), print, random.Random(1))
    counts = Counter(known.move.uci() for _ in range(300) if (known := one.move(Board(), LONG)))
    assert counts.keys() == {"e2e4", "d2d4"}
    assert 180 < counts["e2e4"] < 270  # three games of four
    best = Lookups(Lichess(books=(book,), book_choice="best"), print)
    assert {str(best.move(Board(), LONG)) for _ in range(20)} == {
        "KnownMove(move=<Move e2e4>, source='book.bin')"
    }
    both = Lookups(Lichess(books=(book, own)), print, random.Random(1))
    moves = {known.move.uci() for _ in range(40) if (known := both.move(Board(), LONG))}
    assert moves == {"c2c4", "g2g3"}  # what is prepared goes before what is usual
    after = Board(moves=["g1f3", "e7e5", "c2c4", "g8f6", "f3g1", "f6g8"])
    known = both.move(after, LONG)
    assert known is not None
    assert known.move.uci() == "b1c3"  # by other moves
    assert both.move(Board(moves=["a2a4"]), LONG) is None
    few = Lookups(Lichess(books=(own,), book_moves=1), print)
    assert few.move(Board(moves=["c2c4"]), LONG) is not None
    assert few.move(Board(moves=["c2c4", "e7e5"]), LONG) is None


@pytest.mark.parametrize("name", ["nowhere.bin", "text.txt", "text.bin", "empty.pgn"])
def test_a_file_that_is_no_book_is_refused_before_the_first_game(tmp_path: Path, name: str) -> None:
    (tmp_path / "text.txt").write_text("e4")
    (tmp_path / "text.bin").write_text("e4")
    (tmp_path / "empty.pgn").write_text("*")
    with pytest.raises(KibitzError, match=name):
        Lookups(Lichess(books=(str(tmp_path / name),)), print)


# --- servers --------------------------------------------------------------------------------------


def test_the_explorer(online: Online) -> None:
    online.answer = {
        "white": 300,
        "moves": [
            {"uci": "e2e4", "white": 50, "draws": 100, "black": 50},
            {"uci": "d2d4", "white": 25, "draws": 50, "black": 25},
            {"uci": "a2a3", "white": 10, "draws": 80, "black": 110},
            {"uci": "b2b4", "white": 1, "draws": 0, "black": 0},
        ],
    }
    one = asking(online, [])
    counts = Counter(known.move.uci() for _ in range(60) if (known := one.move(Board(), LONG)))
    assert counts.keys() == {"e2e4", "d2d4"}  # what scores well, and often enough
    assert counts["e2e4"] > counts["d2d4"]
    path, query = online.asked[0]
    assert (path, query["fen"]) == ("/lichess", [Board().fen()])
    assert "Authorization" not in online.headers
    asked = len(online.asked)
    assert one.move(Board(), 59_000.0) is None  # no time for it
    late = Board(moves=["g1f3", "g8f6", "f3g1", "f6g8"] * 5)
    assert one.move(late, LONG) is None
    assert len(online.asked) == asked


def test_castling_of_the_explorer_is_understood(online: Online) -> None:
    board = Board(moves=["e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "f8c5"])
    online.answer = {"moves": [{"uci": "e1h1", "white": 50}]}
    known = asking(online, []).move(board, LONG)
    assert known is not None
    assert board.san(known.move) == "O-O"


def test_tablebases(online: Online) -> None:
    online.answer = {"category": "draw", "moves": [{"uci": "e1d2", "dtz": 0}, {"uci": "e2e4"}]}
    one = asking(online, [])
    known = one.move(Board(ENDING), LONG)
    assert known is not None
    assert (known.move.uci(), known.source) == ("e1d2", "tablebases")
    assert online.asked[0][0] == "/standard"
    online.answer["category"] = "unknown"
    assert one.move(Board(ENDING), LONG) is None
    asked = len(online.asked)
    castles = Board("4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    assert asking(online, [], explorer="off").move(castles, LONG) is None
    assert asking(online, [], online_tablebases=False).move(Board(ENDING), LONG) is None
    assert len(online.asked) == asked


@pytest.mark.parametrize(
    ("status", "answer", "told"),
    [
        (500, {}, "no answer"),
        (429, {}, "no answer"),
        (401, {}, "HTTP 401"),
        (200, b"<html>", "makes no sense"),
        (200, b"[" * 5000, "makes no sense"),
        (200, {"moves": [{"uci": 5}]}, "makes no sense"),
        (200, {"moves": [{"uci": "e2e5", "white": 99}]}, "e2e5"),
    ],
)
def test_a_server_in_trouble_costs_no_game(
    online: Online, status: int, answer: Any, told: str
) -> None:
    online.status, online.answer = status, answer
    said: list[str] = []
    assert asking(online, said).move(Board(), LONG) is None
    assert len(said) == 1
    assert told in said[0]


def test_a_server_that_does_not_answer_is_left_alone(
    online: Online, monkeypatch: pytest.MonkeyPatch
) -> None:
    online.slow = True
    said: list[str] = []
    one = asking(online, said, online_seconds=0.3)
    for _ in range(FAILURES + 3):
        assert one.move(Board(), LONG) is None
    assert said == ["explorer: no answer in time"] * (FAILURES - 1) + [
        "explorer: no answer in time; not asked for 10 minutes"
    ]
    assert not one.asks_online(Board(), LONG)
    assert one.asks_online(Board(ENDING), LONG)  # that is another server
    monkeypatch.setattr(lookups, "REST_SECONDS", 0.0)
    again = asking(online, said, online_seconds=0.3)
    for _ in range(FAILURES):
        again.move(Board(), LONG)
    assert again.asks_online(Board(), LONG)  # after the rest


# --- in games -------------------------------------------------------------------------------------


def test_a_game_with_a_book(
    lichess: StandIn, start: Callable[..., Running], tmp_path: Path
) -> None:
    _, own = books(tmp_path)
    start(books=(own,))
    game = lichess.begin("a", replies=["e7e5"], resigns_at=6)
    assert game.done.wait(PATIENCE)
    assert game.moves[:3] in (["c2c4", "e7e5", "b1c3"], ["g2g3", "e7e5", game.moves[2]])
    log = (tmp_path / "bot.log").read_text()
    assert "from own.pgn" in log
    assert len(game.moves) > 4  # the engine goes on where the book ends
    assert not lichess.illegal


def test_a_game_with_the_explorer(
    lichess: StandIn, start: Callable[..., Running], online: Online, tmp_path: Path
) -> None:
    online.answer = {"moves": [{"uci": "a2a3", "white": 99}]}
    start(explorer="masters", explorer_url=online.url, explorer_moves=1, online_seconds=5.0)
    game = lichess.begin("a", resigns_at=4)
    assert game.done.wait(PATIENCE)
    assert game.moves[0] == "a2a3"
    assert [path for path, _ in online.asked] == ["/masters"]
    assert "a3 from explorer" in (tmp_path / "bot.log").read_text()
