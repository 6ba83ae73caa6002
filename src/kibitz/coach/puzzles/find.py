"""Looks for puzzles in games, in several processes and through any interruption, and proves them.

The plain finder proposes the positions of the game. The contempt finder searches each of them with
search-contempt, whose opponent keeps the choices of a short search, and proposes the positions
after replies which that opponent believes in and which turn out much worse than they look. What
follows is the same for both: alpha-beta looks with as many nodes and sees a win, a short look must
play another move or not see it, and no other move may win. A hundred times the nodes must prove the
win at every move of the solution, and as many again, spent on the other moves alone, that it is the
only one.

A journal beside the output, its name and `.journal`, keeps what was found game by game; the output
is written anew from it. The same command goes on where it was, also with more files of games.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import chess
import msgspec

from kibitz.coach.human import rating_of
from kibitz.coach.puzzles.formats import Puzzle, key_of, name_of
from kibitz.coach.puzzles.solve import motifs_of, standing_of
from kibitz.comment.judge import value_of
from kibitz.comment.openings import opening_in
from kibitz.core.errors import InputError
from kibitz.core.files import refuse_folder
from kibitz.core.journal import JournalFile
from kibitz.core.log import Stop, progress, say
from kibitz.core.places import Place
from kibitz.core.workers import in_processes
from kibitz.engine import Engine
from kibitz.engine.levels import People
from kibitz.engine.options import AUTODISCOVER, chosen
from kibitz.engine.running import Kept
from kibitz.nets.discover import at_work, files_of, named
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.position.pgn import BadGame, Game, read_games
from kibitz.search.limits import Limits
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.mcts.statistics import moves_below
from kibitz.search.report import Report

Finder: TypeAlias = Literal["plain", "contempt"]
PROOF = 100  # times the nodes of the finder
WINNING, LEVEL = 0.5, 0.0  # values of the solution at least, and of all other moves at most
GAP = 0.7  # by which all others are worse than a later move, as in Lichess's puzzles
DOUBTFUL = 0.2  # value of another move that is not looked at more closely
LONGEST = 6  # moves of the solver
SHOWN = 9  # plies in which motifs are looked for
LINES = 4  # first moves of the search with contempt that are followed
BELIEVED = 0.1  # share of the visits that a reply has at least
SURPRISE = 0.3  # by which it is worse than it looks
BYTES = 32  # of a search's memory for a node; little of it is quickly forgotten


@dataclass(frozen=True)
class Hunt:
    """How puzzles are looked for."""

    finder: Finder = "plain"
    nodes: int = 3_000  # of a look
    shallow: int = 100  # of the look that must be wrong
    sc_limit: int = 32
    network: str = AUTODISCOVER


class GameTask(NamedTuple):
    """A game to look through."""

    key: str  # the same for the same moves
    name: str  # an address, or file and number
    fen: str
    moves: tuple[str, ...]
    chess960: bool
    opening: str


class GamePuzzles(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a game, and what it took."""

    key: str
    puzzles: tuple[Puzzle, ...] = ()
    positions: int = 0
    proposed: int = 0
    winning: int = 0  # proposals where a look sees a win
    hard: int = 0  # of these, where a short look is wrong
    clear: int = 0  # of these, where one move stands out
    finding: int = 0  # nodes until then
    proving: int = 0  # nodes of the proofs
    seconds: float = 0.0  # of the processor


class Solution(NamedTuple):
    """What a proof has come to."""

    moves: list[Move]  # the only ones, and the replies
    shown: list[Move]  # with what is expected after them, where motifs are carried out
    score: str


class Seeker:
    """Looks through games one after the other; each as if it were the first."""

    def __init__(self, hunt: Hunt, new_engine: Callable[..., Engine] = Engine) -> None:
        self.hunt = hunt
        network = at_work(hunt.network)
        small, large = (1 + (times * hunt.nodes * BYTES >> 20) for times in (10, PROOF))
        self._pairs = new_engine(network, search="alphabeta", multipv=2, hash=small)
        self._single = new_engine(network, search="alphabeta", hash=small)
        self._proofs = new_engine(network, search="alphabeta", hash=large)
        self._tree: Engine | None = None
        if hunt.finder == "contempt":
            contempt = {"search": "mcts", "sc_limit": hunt.sc_limit}
            self._tree = new_engine(network, hash=small, **contempt)
        self._people = People()
        self._counts = Counter[str]()  # by the fields of GamePuzzles

    def close(self) -> None:
        """End the engines."""
        for engine in (self._pairs, self._single, self._proofs, self._tree):
            if engine is not None:
                engine.close()

    def look_through(
        self, task: GameTask, on_position: Callable[[], None] = lambda: None
    ) -> GamePuzzles:
        """The puzzles of a game; no two of them share a position."""
        self._counts = counts = Counter[str]()
        puzzles: list[Puzzle] = []
        positions: set[str] = set()
        started = time.process_time()
        for before, last in self._proposals(task):
            on_position()
            board = before.copy()
            board.push(last)
            key = key_of(board)
            if key in positions or len(board.legal_moves) < 2:
                continue
            positions.add(key)
            counts["proposed"] += 1
            puzzle = self._proved(before, last, board, task)
            if puzzle is not None:
                puzzles.append(puzzle)
                positions |= {key_of(position) for position in puzzle.positions()}
        seconds = time.process_time() - started
        return GamePuzzles(key=task.key, puzzles=tuple(puzzles), seconds=seconds, **counts)

    # --- proposals ------------------------------------------------------------------------------

    def _proposals(self, task: GameTask) -> Iterator[tuple[Board, Move]]:
        """Positions with the moves that lead to those to be solved; as they are, without a past."""
        board = Board(task.fen, chess960=task.chess960)
        for text in task.moves:
            before, last = board.copy(history=False), board.push(text)
            if board.outcome() is not None:
                return
            self._counts["positions"] += 1
            if self._tree is None:
                yield before, last
            else:
                yield from self._traps(self._tree, board.copy(history=False))

    def _traps(self, engine: Engine, board: Board) -> Iterator[tuple[Board, Move]]:
        """Replies that a short search prefers and that lose."""
        report = self._look(engine, board, self.hunt.nodes)
        tree = engine.searcher
        assert isinstance(tree, Searcher)
        ours = sorted(report.moves, key=lambda candidate: -candidate.visits)[:LINES]
        for move, edge, visits in [
            (candidate.move, candidate.edge, candidate.visits) for candidate in ours
        ]:
            after = board.copy(history=False)
            after.push(move)
            before = after.copy(history=False)
            for reply in moves_below(tree.memory, before.position, tree.rule, edge):
                looks = reply.value if reply.raw is None else reply.raw
                believed = reply.visits >= BELIEVED * visits
                if believed and -reply.value >= WINNING and looks - reply.value >= SURPRISE:
                    yield before, reply.move

    # --- proofs ---------------------------------------------------------------------------------

    def _proved(self, before: Board, last: Move, board: Board, task: GameTask) -> Puzzle | None:
        """The puzzle that a proposal is; None if it is none."""
        counts, hunt = self._counts, self.hunt
        looked = self._look(self._single, board, hunt.nodes)
        if value_of(looked.best.score) < WINNING:
            return None
        counts["winning"] += 1
        first = looked.best.moves[0]
        if self._finds(board, hunt.shallow, first):
            return None
        counts["hard"] += 1
        if not stands_out(self._look(self._pairs, board, hunt.nodes)):
            return None
        counts["clear"] += 1
        solution = self._solution(board.copy(), first)
        return self._described(before, last, board, solution, task) if solution.moves else None

    def _look(self, engine: Engine, board: Board, nodes: int) -> Report:
        """Search a position, with nothing remembered from other searches."""
        engine.new_game()
        report = engine.play(board, nodes=nodes).report
        self._counts["finding"] += report.nodes
        return report

    def _finds(self, board: Board, nodes: int, move: Move) -> bool:
        """Whether a look plays the move and sees that it wins."""
        best = self._look(self._single, board, nodes).best
        return best.moves[:1] == (move,) and value_of(best.score) >= WINNING

    def _solution(self, board: Board, first: Move) -> Solution:
        """The line of moves that are proved to be the only ones; without any if they are not."""
        line: list[Move] = []
        then: tuple[Move, ...] = ()
        score = ""
        while len(line) < 2 * LONGEST and board.outcome() is None:
            report = self._prove(board, ())
            best = report.best.moves
            if (not line and best[0] != first) or not self._is_only(board, report, bool(line)):
                then = best
                break
            score = score or str(report.best.score)
            line += best[:2]
            if len(best) < 2:
                break
            for move in best[:2]:
                board.push(move)
        return Solution(odd(line), odd([*line, *then][:SHOWN]), score)

    def _is_only(self, board: Board, report: Report, later: bool) -> bool:
        """Whether the best move wins, and a search of the others sees no other one that might."""
        best = report.best
        others = tuple(board.uci(move) for move in board.legal_moves if move != best.moves[0])
        if value_of(best.score) < WINNING:
            return False
        if not others:
            return True
        second = value_of(self._prove(board, others).best.score)
        return is_only(value_of(best.score), second, later)

    def _prove(self, board: Board, moves: tuple[str, ...]) -> Report:
        """A long search, of some moves only if they are named."""
        self._proofs.new_game()
        limits = Limits(nodes=PROOF * self.hunt.nodes, searchmoves=moves)
        report = self._proofs.play(board, limits).report
        self._counts["proving"] += report.nodes
        return report

    # --- what is known of it --------------------------------------------------------------------

    def _described(
        self, before: Board, last: Move, board: Board, solution: Solution, task: GameTask
    ) -> Puzzle:
        line, score, at = solution.moves, solution.score, board.copy()
        texts: list[str] = []
        for move in solution.shown:
            texts.append(at.uci(move))
            at.push(move)
        came = before.uci(last)
        then = board.to_chess()
        standing = standing_of(then, (len(line) + 1) // 2, score)
        motifs = motifs_of(before.to_chess(), chess.Move.from_uci(came), texts)
        bare = Puzzle(
            fen=board.fen(),
            moves=tuple(texts[: len(line)]),
            before=before.fen(),
            last=came,
            score=score,
            themes=tuple(sorted(motifs | standing)),
            game=f"{task.name}#{then.ply()}",
            opening=task.opening,
            name=name_of(key_of(board)),
        )
        pairs = zip(bare.positions(), line[::2], strict=True)
        nodes = max(self._nodes_needed(*pair) for pair in pairs)
        return msgspec.structs.replace(bare, nodes=nodes, rating=rating_of(bare, self._people))

    def _nodes_needed(self, board: Board, move: Move) -> int:
        """Nodes, doubled from the short look to the finder's, from which on the win is found."""
        rung = needed = self.hunt.shallow
        while rung <= self.hunt.nodes:
            if not self._finds(board, rung, move):
                needed = 2 * rung
            rung *= 2
        return needed


def odd(line: list[Move]) -> list[Move]:
    """A line without a reply at its end."""
    return line[: len(line) - (len(line) % 2 == 0)]


def is_only(best: float, second: float, later: bool) -> bool:
    """Whether a winning move is the only one, by its value and that of the best other one.

    The first move of a solution leaves the others level at most. A later one may leave more, as
    the win has begun by then, if they are worse by far; they never win, as no value is above 1.

    >>> [is_only(1.0, second, later=False) for second in (0.0, 0.25)]
    [True, False]
    >>> [is_only(1.0, second, later=True) for second in (0.25, 0.5)], is_only(0.6, 0.25, True)
    ([True, False], False)
    """
    return second <= LEVEL or (later and second <= best - GAP)


def stands_out(report: Report) -> bool:
    """Whether the second best move is so much worse that the best may be the only one."""
    return len(report.lines) == 2 and value_of(report.lines[1].score) <= DOUBTFUL


# --- in processes of a pool -----------------------------------------------------------------------

_seeker = Kept(Seeker)  # of this process


def look_through(hunt: Hunt, task: GameTask) -> GamePuzzles:
    """The puzzles of a game, by this process's seeker."""
    return _seeker.get(hunt).look_through(task)


# --- many games -----------------------------------------------------------------------------------

ANOTHER = "give another --output"


class HuntHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What must be the same for puzzles to be of one search."""

    finder: str
    nodes: int
    shallow: int
    sc_limit: int
    network: str
    format: str = "kibitz puzzles 3"


class Collection:
    """What a run has found: its games from a journal and from now on."""

    def __init__(self, output: Path, hunt: Hunt) -> None:
        hunt = replace(hunt, network=chosen(hunt.network))  # the same in every process
        header = HuntHeader(**{**vars(hunt), "network": named(hunt.network)})
        work = "search for puzzles"
        self._path = journal_of(output)
        self._journal = JournalFile(self._path, header, GamePuzzles, work=work, piece="game")
        self.hunt, self.bad, self.again = hunt, 0, 0

    def close(self) -> None:
        """Close the journal and the engines."""
        self._journal.close()
        _seeker.end()

    def remove(self) -> None:
        """Remove the journal, once closed, of a search that has read no game."""
        self._path.unlink(missing_ok=True)

    def find(self, files: list[Place], limit: int | None, workers: int, stop: Stop) -> None:
        """Look through games that no earlier run has looked through."""
        work = partial(look_through, self.hunt)
        puzzles = sum(len(entry.puzzles) for entry in self._journal.entries)
        with progress("games", total=limit) as bar:
            tasks, needs = self._tasks(files, limit), files_of(self.hunt.network)
            for entry in in_processes(work, tasks, workers, in_order=True, needs=needs):
                self._journal.add(entry)
                puzzles += len(entry.puzzles)
                bar.describe(f"games; {puzzles} puzzles")
                bar.advance()
                if stop.requested:
                    return

    def _tasks(self, files: list[Place], limit: int | None) -> Iterator[GameTask]:
        finished = {entry.key for entry in self._journal.entries}
        listed: set[str] = set()
        for task in islice(self._games(files), limit):
            if task.key in listed:
                self.again += 1
            elif task.key not in finished:
                yield task
            listed.add(task.key)

    def _games(self, files: list[Place]) -> Iterator[GameTask]:
        def skip(bad_game: BadGame) -> None:
            say(str(bad_game))
            self.bad += 1

        for path in files:
            for game in read_games(path, skip):
                moves = [node.move for node in game.tree.mainline()]
                if moves and all(moves):
                    yield task_of(game, path.name)
                else:  # bytes of anything may hold a comment, which is all of a game
                    why = "it passes a move" if moves else "it has no moves"
                    skip(BadGame(str(path), game.number, game.line, why))

    def puzzles(self, moves: int = 1) -> list[Puzzle]:
        """Puzzles of so many moves at least, the easiest first; no two share a position."""
        puzzles: list[Puzzle] = []
        positions: set[str] = set()
        for entry in self._journal.entries:
            for puzzle in entry.puzzles:
                keys = {key_of(board) for board in puzzle.positions()}
                if not keys & positions:
                    puzzles.append(puzzle)
                positions |= keys
        long = [puzzle for puzzle in puzzles if puzzle.solver_moves >= moves]
        return sorted(long, key=lambda puzzle: puzzle.rating)

    def counts(self) -> Counter[str]:
        """What all games have added up to."""
        total = Counter(games=len(self._journal.entries))
        for entry in self._journal.entries:
            for name in ("positions", "proposed", "winning", "hard", "clear", "finding", "proving"):
                total[name] += getattr(entry, name)
            total["puzzles"] += len(entry.puzzles)
        return total

    @property
    def seconds(self) -> float:
        """Processor time of all games."""
        return sum(entry.seconds for entry in self._journal.entries)


def task_of(game: Game, source: str) -> GameTask:
    """A game as a task."""
    tree = game.tree
    board = tree.board()
    fen = board.shredder_fen() if board.chess960 else board.fen()
    moves = tuple(node.move.uci() for node in tree.mainline())
    digest = hashlib.sha256(" ".join((fen, *moves)).encode()).hexdigest()[:16]
    site = tree.headers.get("Site", "")
    name = site if site.startswith("https://") else f"{source}:{game.number}"
    opening = opening_in(tree)[1]
    return GameTask(digest, name, fen, moves, board.chess960, opening.name if opening else "")


def check_files(files: Iterable[Place], output: Path) -> list[Place]:
    """The files of games, all there; an output that would cost a file of the user is refused."""
    listed = list(files)
    if not listed:
        raise InputError("no file of games", fix="name PGN files")
    for path in listed:
        if not path.exists():
            raise InputError("no such file of games", value=str(path), fix="check the path")
        if isinstance(path, Path) and output.exists() and output.samefile(path):
            raise InputError("the output is a file of games", value=str(output), fix=ANOTHER)
    refuse_folder(output)
    if output.exists() and not journal_of(output).exists():
        fix = f"{ANOTHER}, or remove it"
        raise InputError("a file that no search here has written", value=str(output), fix=fix)
    return listed


def journal_of(output: Path) -> Path:
    """Where a search for puzzles keeps what it has found."""
    return output.with_name(output.name + ".journal")
