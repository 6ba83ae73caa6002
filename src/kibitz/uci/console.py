"""What people type at the engine: d, eval, bench, go perft, and looks into the tree with ~.

Each line goes out as it is, as GUIs never ask for these.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import time
from dataclasses import asdict

from kibitz.comment.annotate import comment_on, silence
from kibitz.comment.searches import NODES
from kibitz.comment.select.rank import LEVELS
from kibitz.comment.words.languages import language_of
from kibitz.core.errors import InputError
from kibitz.core.options import Value
from kibitz.engine import Engine
from kibitz.engine.running import Search
from kibitz.position.attacks import square_name
from kibitz.position.board import Board
from kibitz.position.count import Stopped, divide
from kibitz.search.limits import Limits, Signals
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.mcts.statistics import in_order, moves_below, node_below
from kibitz.search.options import Settings
from kibitz.search.report import MoveStatistics, Report, wdl_of
from kibitz.uci.format import move_text
from kibitz.uci.session import Job, Session

LONGEST_WAIT = 6  # plies of perft that `wait` waits for
BENCH_NODES = 2_000
BENCH_POSITIONS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "8/8/1p1k4/p1p2p2/P1P2P2/1P1K4/8/8 w - - 0 1",
)
LOOK_COLUMNS = "move", "visits", "pending", "prior", "value", "draw", "bonus", "score", "raw"


def draw(session: Session, _: str) -> None:
    """`d`: the board, its FEN, key and checkers."""
    board = session.board
    for line in str(board).splitlines():
        session.write(line)
    session.write(f"Fen: {board.fen()}")
    session.write(f"Key: {board.key:016X}")
    session.write(f"Checkers: {' '.join(square_name(square) for square in board.checkers())}")


def evaluate(session: Session, _: str) -> None:
    """`eval`: what the network says of the position, without a search."""
    report = _at_a_glance(session)
    root = report.root
    wins, draws, losses = wdl_of(root.raw, root.draw)
    session.write(f"value {root.raw:+.4f} for {session.board.turn}: wdl {wins} {draws} {losses}")
    for row in sorted(report.moves, key=lambda row: -row.prior):
        label = move_text(row.move, session.options.chess960)
        session.write(f"{label:<6} {100 * row.prior:6.2f} %")


def _at_a_glance(session: Session) -> Report:
    """A report after one visit, from an engine of its own, so that the tree stays."""
    options = session.engine.options
    with Engine(
        options.weights,
        search="mcts",  # which asks for priors
        hash=1,
        cache_size=0,
        backend=options.backend,
        backend_options=options.backend_options,
        swap_colours=options.swap_colours,
    ) as engine:
        return engine.play(session.board, nodes=1).report


def count(session: Session, board: Board, depth: int) -> None:
    """`go perft`: the leaves below each move; `stop` ends it."""
    chess960 = session.options.chess960

    def work(job: Job) -> None:
        try:
            counts = divide(board.position, depth, stop=job.signals.stop.is_set)
        except Stopped:
            session.info("perft stopped")
        except InputError as error:
            session.info(str(error))
        else:
            for move, leaves in counts.items():
                session.write(f"{move_text(move, chess960)}: {leaves}")
            session.write(f"Nodes searched: {sum(counts.values())}")

    session.start(work, endless=lambda: depth > LONGEST_WAIT)


class StoppableEngine(Engine):
    """An engine of its own for a job; all its searches end when the job is stopped."""

    def __init__(self, job: Job, weights: str, **settings: Value) -> None:
        super().__init__(weights, **settings)
        self._job = job

    def begin(self, board: Board, limits: Limits | None = None) -> Search:
        """Start a search that `run` carries out."""
        search = super().begin(board, limits)
        search.signals = Signals(stop=_Either(self._job.signals.stop))
        return search


class _Either(threading.Event):
    """An event that is set, too, when another one is."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        """Whether one of the two is."""
        return super().is_set() or self._other.is_set()


def bench(session: Session, rest: str) -> None:
    """`bench [nodes]`: speed, and a signature that changes when the search does."""
    word = rest.strip() or str(BENCH_NODES)
    if not (word.isascii() and word.isdecimal() and 1 <= int(word[:10]) <= 10_000_000):
        raise InputError("bench", value=word, fix="expected nodes for each position")
    weights = session.engine.options.weights
    session.start(lambda job: _bench(session, weights, int(word), job))


def _bench(session: Session, weights: str, nodes: int, job: Job) -> None:
    signature, total = hashlib.sha256(), 0
    # The same search everywhere, whatever the settings file says; its kind is the session's.
    settings = Settings(hash=64, search=session.engine.settings.search)
    with StoppableEngine(job, weights, **asdict(settings)) as engine:
        engine.ready()
        started = time.perf_counter()
        for fen in BENCH_POSITIONS:
            engine.new_game()
            report = engine.play(Board(fen), Limits(nodes=nodes)).report
            total += report.nodes
            visits = sorted((row.code, row.visits) for row in report.moves)
            signature.update(repr(visits).encode())
            if job.signals.stop.is_set():
                session.info("bench stopped")  # a signature of a part would be another one
                return
        seconds = max(1e-9, time.perf_counter() - started)
    session.write(f"Nodes searched  : {total}")
    session.write(f"Nodes/second    : {total / seconds:.0f}")
    session.write(f"Signature       : {signature.hexdigest()[:12]}")


def comment(session: Session, rest: str) -> None:
    """`comment [level]`: what is to be said of the last move of the position."""
    word, before = rest.strip() or "club", session.board.copy()
    level = next((name for name in LEVELS if name == word), None)
    if level is None:
        raise InputError("comment", value=word, fix=f"expected {', '.join(LEVELS)} or nothing")
    if not before.moves:
        fix = "send position startpos moves e2e4, for one"
        raise InputError("comment: the position has no last move", fix=fix)
    last = before.pop()
    move, san = before.uci(last), before.san(last)
    weights, language = session.engine.options.weights, language_of(None)

    def work(job: Job) -> None:
        # with an engine of its own, so that the tree stays
        with StoppableEngine(job, weights, hash=64, multipv=2) as engine:
            text = comment_on(engine, before, move, level, Limits(nodes=NODES), language)
        if job.signals.stop.is_set():
            session.info("comment stopped")
        else:
            session.write(text or silence(san, language))

    session.start(work)


def gui(session: Session, _: str) -> None:
    """`gui`: the position in the browser, by a `kibitz web` that ends with the session."""
    if session.remote:
        fix = "start kibitz web on the machine that you sit at"
        raise InputError("gui: the browser would open on the engine's machine", fix=fix)
    command = [sys.executable, "-m", "kibitz", "web", "--port", "0", "--fen", session.board.fen()]
    page = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    session.until_close.enter_context(page)  # waits for its end
    session.until_close.callback(page.terminate)


# --- ~ --------------------------------------------------------------------------------------------


def look(session: Session, rest: str) -> None:
    """`~ fen` and `~ puct [csv] [moves]`."""
    tokens = rest.split()
    if tokens[:1] == ["fen"]:
        session.write(session.board.fen())
    elif tokens[:1] == ["puct"]:
        as_csv = tokens[1:2] == ["csv"]
        _look_at_moves(session, tokens[2 if as_csv else 1 :], as_csv)
    else:
        raise InputError("~", value=rest.strip(), fix="expected ~ fen or ~ puct [csv] [moves]")


def _look_at_moves(session: Session, path: list[str], as_csv: bool) -> None:
    """The tree's statistics of each move after the position and the moves of a path."""
    rows = _rows_after(session, path)
    chess960 = session.options.chess960
    table = [list(LOOK_COLUMNS), *(_cells(row, chess960) for row in rows)]
    for cells in table:
        padded = "  ".join(f"{cell:>9}" for cell in cells)
        session.write(",".join(cells) if as_csv else padded)


def _rows_after(session: Session, path: list[str]) -> list[MoveStatistics]:
    """The moves in the tree, the best first."""
    searcher, board = session.engine.searcher, session.board.copy()
    if searcher is not None and not isinstance(searcher, Searcher):
        fix = "setoption name Search value mcts, then go"
        raise InputError("~ puct: there is no tree in this kind of search", fix=fix)
    if searcher is None or not searcher.knows(board):
        raise InputError("~ puct: this position was not searched", fix="send go first")
    memory, edge = searcher.memory, 0
    for text in path:
        move = board.parse(text)
        rows = moves_below(memory, board.position, searcher.rule, edge)
        edge = next((row.edge for row in rows if row.move == move), 0)
        if edge == 0 or node_below(memory, edge) is None:
            raise InputError("~ puct: the tree does not reach this move", value=text)
        board.push(move)
    return in_order(moves_below(memory, board.position, searcher.rule, edge))


def _cells(row: MoveStatistics, chess960: bool) -> list[str]:
    raw = "" if row.raw is None else f"{row.raw:.5f}"
    numbers = row.prior, row.value, row.draw, row.bonus, row.score
    start = [move_text(row.move, chess960), str(row.visits), str(row.pending)]
    return [*start, *(f"{number:.5f}" for number in numbers), raw]
