"""A search that pages watch: one thread searches, every page gets the newest state.

Pages that ask for the same position and settings watch the same search. A snapshot is made on the
search's own thread, once for all pages; the branch of the tree that a page has opened goes with it.
A search rests after a while, in case the page was left open; it goes on with its
tree when a page asks for it again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import msgspec

from kibitz.apps.web.engines import EngineChoice, Engines, Session
from kibitz.apps.web.library import MISTAKE, names_only
from kibitz.apps.web.positions import LONGEST_VARIATION, PagePosition, san_line
from kibitz.core.errors import InputError, KibitzError
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.search.limits import Limits
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.mcts.statistics import in_order, moves_below, node_below
from kibitz.search.proof import DRAW, TABLEBASE, UNPROVED
from kibitz.search.report import Line, MoveStatistics, Report, mate_moves, wdl_of

SNAPSHOT_MS = 200  # between two snapshots
STOP_SECONDS = 2.0  # a search stops in milliseconds, unless it is still compiling
DIGITS = 5
WATCH_SECONDS = 15 * 60.0  # after which a search rests

Path = tuple[str, ...]  # moves below the root, in UCI
Post = Callable[[str, bytes], None]  # topic, message; from any thread


class Watch:
    """A search of one position with one engine, and those who watch it."""

    def __init__(
        self,
        name: str,
        place: PagePosition,
        wanted: EngineChoice,
        engines: Engines,
        liked: Session | None = None,
        seconds: float = WATCH_SECONDS,
    ) -> None:
        self.name, self.key, self.board = name, (place, wanted), place.board()
        self._engines, self.session = engines, engines.take(wanted, liked)
        self._settled = self._rests = False
        self._seconds, self._timer = seconds, threading.Timer(seconds, self._rest)
        self._watchers: dict[Post, Path | None] = {}
        self._lock, self._last = threading.Lock(), b""
        self._sans: dict[tuple[Move, ...], list[str]] = {}
        self.search = self.session.engine.begin(
            self.board, Limits(infinite=True, report_ms=SNAPSHOT_MS)
        )
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to search."""
        self._thread.start()
        self.prolong()

    def prolong(self) -> None:
        """Rest only after the whole time from now on."""
        with self._lock:
            self._timer.cancel()
            self._timer = threading.Timer(self._seconds, self._rest)
            self._timer.daemon = True
            self._timer.start()

    def _rest(self) -> None:
        """End a search that has run for its time, and say why."""
        self._rests = True
        self.search.stop()

    @property
    def going(self) -> bool:
        """Whether it searches, or could if there were more to find."""
        return self._thread.is_alive() and not self.search.signals.stop.is_set()

    def add(self, post: Post) -> None:
        """Send snapshots to a page, the last one at once."""
        with self._lock:
            self._watchers[post] = None
            last = self._last
        if last:
            post(self.name, last)

    def remove(self, post: Post) -> int:
        """Send it no more; how many pages are left."""
        with self._lock:
            self._watchers.pop(post, None)
            return len(self._watchers)

    def open(self, post: Post, path: Path | None) -> None:
        """Show a page the moves below some moves of the root, from the next snapshot on."""
        with self._lock:
            if post in self._watchers:
                self._watchers[post] = path
        if path is not None and (self._settled or not self._thread.is_alive()):
            self._send_below({path: [post]})

    def stop(self) -> None:
        """End the search; what it has found stays."""
        self._timer.cancel()
        self.search.stop()
        self._thread.join(STOP_SECONDS)

    # --- the thread of the search ---------------------------------------------------------------

    def _run(self) -> None:
        state: dict[str, Any] = {"state": "failed", "error": MISTAKE}
        self._send({"state": "loading"})
        try:
            self.search.run(self._on_report)
            state = {"state": "stopped"}
            if self._rests:
                state = {"state": "resting", "minutes": self._seconds / 60}
        except KibitzError as error:
            state = {"state": "failed", "error": names_only(error)}
        finally:
            self._timer.cancel()
            self._engines.give_back(self.session, failed=state["state"] == "failed")
            self._send(state)

    def _on_report(self, report: Report) -> None:
        state = snapshot(self.board, report, self._san)
        engine = self.session.engine
        self._settled = engine.searcher is not None and engine.searcher.task.finished
        state |= {"state": "settled" if self._settled else "running"}
        state |= {
            "network": engine.network,
            "problems": [names_only(problem) for problem in engine.problems],
        }
        with self._lock:
            paths: dict[Path, list[Post]] = {}
            for post, path in self._watchers.items():
                if path is not None:
                    paths.setdefault(path, []).append(post)
        self._send(state)
        self._send_below(paths)

    def _san(self, moves: tuple[Move, ...]) -> list[str]:
        """The moves of a line in SAN; lines change seldom."""
        if moves not in self._sans:
            if len(self._sans) > 1_000:
                self._sans.clear()
            self._sans[moves] = san_line(self.board, moves)
        return self._sans[moves]

    def _send(self, state: dict[str, Any]) -> None:
        message = msgspec.json.encode({"topic": self.name, **state})
        with self._lock:
            if "moves" in state:
                self._last = message
            watchers = [*self._watchers]
        topic = self.name if "moves" in state else f"{self.name} state"
        for post in watchers:
            post(topic, message)

    def _send_below(self, paths: dict[Path, list[Post]]) -> None:
        for path, posts in paths.items():
            topic = f"{self.name} below"
            message = msgspec.json.encode({"topic": topic, "path": path, **self._below(path)})
            for post in posts:
                post(topic, message)

    def _below(self, path: Path) -> dict[str, Any]:
        """The moves after a path, or a sentence saying why there are none."""
        try:
            board, rows = moves_after(self.session, self.board, path)
        except InputError as error:
            return {"error": str(error), "moves": [], "fen": "", "sans": []}
        sans = self._san(tuple(board.moves[len(self.board.moves) :]))
        return {"fen": board.fen(), "sans": sans, "moves": [row_of(board, row) for row in rows]}


class Watches:
    """All searches that are watched."""

    def __init__(self, engines: Engines, seconds: float = WATCH_SECONDS) -> None:
        self._engines, self._seconds, self._lock = engines, seconds, threading.Lock()
        self._watches: list[Watch] = []
        self._made = 0

    def join(
        self, post: Post, place: PagePosition, wanted: EngineChoice, before: Watch | None
    ) -> Watch:
        """Watch the search that others watch, else a new one, by the engine of the one before."""
        with self._lock:
            self._watches = [watch for watch in self._watches if watch.going]
            joined = next((watch for watch in self._watches if watch.key == (place, wanted)), None)
            if joined is None:
                self._made += 1
                liked = None if before is None else before.session
                name = f"watch {self._made}"
                joined = Watch(name, place, wanted, self._engines, liked, self._seconds)
                self._watches.append(joined)
                joined.add(post)
                joined.start()
            else:
                joined.add(post)
                joined.prolong()
            return joined

    def leave(self, watch: Watch, post: Post) -> None:
        """Watch it no more; a search without pages ends."""
        if watch.remove(post) == 0:
            watch.stop()

    def close(self) -> None:
        """End all searches."""
        with self._lock:
            for watch in self._watches:
                watch.stop()


# --- what a snapshot is made of -------------------------------------------------------------------


def snapshot(
    board: Board, report: Report, san: Callable[[tuple[Move, ...]], list[str]]
) -> dict[str, Any]:
    """A report as the page reads it; scores of lines for White, of moves for their player."""
    sign = 1 if board.turn == "white" else -1
    root = report.root
    return {
        "nodes": report.nodes,
        "ms": report.milliseconds,
        "nps": report.nps,
        "depth": report.depth,
        "seldepth": report.seldepth,
        "meanDepth": round(report.mean_depth, 2),
        "hashfull": report.hashfull,
        "tbhits": report.tbhits,
        "notes": report.notes,
        "fen": board.fen(),
        "visits": root.visits,
        "raw": round(sign * root.raw, DIGITS),
        "lines": [_line(board, line, sign, san) for line in report.lines],
        "moves": [row_of(board, row, san((row.move,))[0]) for row in report.moves],
    }


def _line(
    board: Board, line: Line, sign: int, san: Callable[[tuple[Move, ...]], list[str]]
) -> dict[str, Any]:
    wdl = line.wdl if sign > 0 else tuple(reversed(line.wdl))
    moves = line.moves[:LONGEST_VARIATION]
    return {
        "kind": line.score.kind,
        "amount": sign * line.score.amount,
        "mated": line.score.kind == "mate" and line.score.amount == 0,
        "wdl": wdl,
        "value": round(sign * line.value, DIGITS),
        "moves": [board.uci(move) for move in moves],
        "sans": san(moves),
    }


def row_of(board: Board, row: MoveStatistics, san: str = "") -> list[Any]:
    """A move in numbers, in the order of the page's COLUMNS; its value is for its player."""
    scored = (row.value, row.draw, row.deviation) if row.scored else (None, None, None)
    numbers = row.prior, *scored, row.bonus, row.score if row.scored else None, row.raw
    shown = [None if number is None else round(number, DIGITS) for number in numbers]
    name = san or board.san(row.move)
    start = [board.uci(row.move), name, row.visits, row.pending]
    return [*start, *shown, proof_text(row.proof)]


def proof_text(proof: int) -> str:
    """What is proved of a move, in words."""
    if proof == UNPROVED:
        return ""
    if proof == DRAW:
        return "draw"
    if abs(proof) >= TABLEBASE:
        return "won" if proof > 0 else "lost"
    moves = mate_moves(proof) or 0
    return f"mate in {moves}" if moves > 0 else f"mated in {-moves}"


def moves_after(session: Session, root: Board, path: Path) -> tuple[Board, list[MoveStatistics]]:
    """The position after a path below the root, and the tree's statistics of its moves."""
    searcher, board = session.engine.searcher, root.copy()
    if not isinstance(searcher, Searcher):
        raise InputError("this search keeps no tree to look into", fix="choose the tree search")
    if not searcher.knows(board):
        raise InputError("the tree of this search is gone", fix="start it again")
    edge = 0
    for text in path:
        move = board.parse(text)
        rows = moves_below(searcher.memory, board.position, searcher.rule, edge)
        edge = next((row.edge for row in rows if row.move == move), 0)
        if edge == 0 or node_below(searcher.memory, edge) is None:
            raise InputError("the tree has not come to this move yet", value=text)
        board.push(move)
    rows = moves_below(searcher.memory, board.position, searcher.rule, edge)
    return board, in_order(rows)


def at_a_glance(board: Board, report: Report) -> dict[str, Any]:
    """What a network says of a position by itself: value, draw and policy, best move first."""
    root, sign = report.root, 1 if board.turn == "white" else -1
    wdl = wdl_of(sign * root.raw, root.draw)
    rows = sorted(report.moves, key=lambda row: -row.prior)
    policy = [[board.uci(row.move), board.san(row.move), round(row.prior, DIGITS)] for row in rows]
    return {"value": round(sign * root.raw, DIGITS), "wdl": wdl, "policy": policy}
