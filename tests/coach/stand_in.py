"""Lichess and chess.com on this machine, with everything that goes wrong."""

from __future__ import annotations

import datetime
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

NAME = "Anna"
CLOSED = "Gone"
MOVES = (
    "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O",
    "1. d4 d5 2. c4 e6 3. Nc3 Nf6 4. Bg5 Be7",
    "1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6",
    "1. f3 e5 2. g4 Qh4#",
    "1. c4 e5 2. Nc3 Nf6 3. g3 d5",
)
RESULTS = ("1-0", "0-1", "1/2-1/2")
FIRST = 1_700_000_000  # seconds since 1970: when the first game began
APART = 600  # seconds from game to game
SPEEDS = {"blitz": "180+2", "rapid": "600+0", "correspondence": "-"}


def game_of(number: int, **changes: Any) -> dict[str, Any]:
    """A game as Lichess sends it."""
    began = FIRST + APART * number
    speed = changes.pop("speed", ("blitz", "rapid")[number % 2])
    moment = datetime.datetime.fromtimestamp(began, datetime.UTC)
    players = (NAME, f"Guest{number}")[:: 1 if number % 3 else -1]
    result = RESULTS[number % 3]
    tags = {
        "Event": f"rated {speed} game",
        "Site": f"https://lichess.org/{number:08d}",
        "Date": f"{moment:%Y.%m.%d}",
        "White": players[0],
        "Black": players[1],
        "Result": result,
        "UTCDate": f"{moment:%Y.%m.%d}",
        "UTCTime": f"{moment:%H:%M:%S}",
        "WhiteElo": "1500",
        "BlackElo": "1510",
        "TimeControl": SPEEDS[speed],
    }
    head = "\n".join(f'[{name} "{value}"]' for name, value in tags.items())
    moves = changes.pop("moves", MOVES[number % len(MOVES)])
    return {
        "id": f"{number:08d}",
        "rated": number % 4 != 0,
        "variant": "standard",
        "speed": speed,
        "createdAt": 1000 * began,
        "pgn": f"{head}\n\n{moves} {result}\n",
    } | changes


def month_game(number: int) -> dict[str, Any]:
    """The same as chess.com has it."""
    game = game_of(number)
    site = f'[Site "Chess.com"]\n[Link "https://www.chess.com/game/live/{number}"]'
    pgn = game["pgn"].replace(f'[Site "https://lichess.org/{number:08d}"]', site)
    return {
        "url": f"https://www.chess.com/game/live/{number}",
        "pgn": pgn,
        "rules": game["variant"],
        "time_class": game["speed"],
        "rated": game["rated"],
        "end_time": game["createdAt"] // 1000,
    }


class Handler(BaseHTTPRequestHandler):
    """Answers one question."""

    protocol_version = "HTTP/1.1"
    site: StandIn

    def do_GET(self) -> None:
        site = self.site
        with site.busy:
            self._answer(site)

    def _answer(self, site: StandIn) -> None:
        parts = urlsplit(self.path)
        options = {name: values[0] for name, values in parse_qs(parts.query).items()}
        site.asked.append((parts.path, options, dict(self.headers)))
        how = site.answers.pop(0) if site.answers else ""
        if how.isdecimal():
            self._send(int(how), b"", site.headers)
        elif how == "hangs up":
            self.close_connection = True
        elif parts.path.startswith("/api/games/user/"):
            self._stream(parts.path.rsplit("/", 1)[1], options, how)
        else:
            self._other(parts.path)

    def _stream(self, name: str, options: dict[str, str], how: str) -> None:
        if name.casefold() != NAME.casefold():
            self._send(404, b"{}")
            return
        assert options["sort"] == "dateAsc"
        games = [game for game in self.site.games if game["createdAt"] >= int(options["since"])]
        if "perfType" in options:
            games = [game for game in games if game["speed"] in options["perfType"].split(",")]
        if options.get("rated") == "true":
            games = [game for game in games if game["rated"]]
        content = b"".join(json.dumps(game).encode() + b"\n" for game in games)
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        # "cut N" ends the connection in the middle of the line after N games.
        cut = int(how.split()[1]) if how.startswith("cut") else None
        if cut is not None and cut < len(games):
            content = b"\n".join(content.split(b"\n")[: cut + 1])[:-30]
        for start in range(0, len(content), 5000):
            piece = content[start : start + 5000]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        if cut is None:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def _other(self, path: str) -> None:
        site = self.site
        if path in (f"/api/user/{CLOSED}", f"/pub/player/{CLOSED}"):
            self._send(200, json.dumps({"disabled": True, "status": "closed"}).encode())
        elif path == f"/pub/player/{NAME.casefold()}/games/archives":
            base = f"http://elsewhere.example/pub/player/{NAME}/games"
            self._send(
                200, json.dumps({"archives": [f"{base}/{one}" for one in site.months]}).encode()
            )
        elif path.startswith(f"/pub/player/{NAME.casefold()}/games/"):
            month = "/".join(path.split("/")[-2:])
            content = json.dumps({"games": site.months[month]}).encode()
            tag = f'W/"{len(content)}"'
            if self.headers.get("If-None-Match") == tag:
                self._send(304, b"")
            else:
                self._send(200, content, {"ETag": tag})
        else:
            self._send(404, b"{}")

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


class StandIn:
    """A site with games, what it is to do wrong, and what it was asked."""

    def __init__(self, count: int = 0) -> None:
        self.games = [game_of(number) for number in range(count)]  # of Lichess, the earliest first
        self.months: dict[str, list[dict[str, Any]]] = {}  # of chess.com
        self.answers: list[str] = []  # a status, "cut N" or "hangs up", one for each question
        self.headers: dict[str, str] = {}  # of an answer with such a status
        self.asked: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self.busy = threading.Lock()
        handler = type("Bound", (Handler,), {"site": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
