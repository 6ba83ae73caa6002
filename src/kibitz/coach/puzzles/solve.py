"""Themes of puzzles, and solving them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import chess

from kibitz.coach.puzzles.formats import Puzzle
from kibitz.comment.claims import tactical as claims
from kibitz.comment.claims.claim import Claim
from kibitz.comment.claims.motifs import motifs
from kibitz.comment.facts import Scene, captured_by, phase, played
from kibitz.core.errors import KibitzError, at_the_board
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.position.pgn import move_number

LENGTHS = ("oneMove", "short", "long", "veryLong")  # by the solver's moves
LONGEST_MATE = 5  # that has a tag
CRUSHING, ADVANTAGE = 600, 200  # centipawns
MATES = {"back rank": "backRankMate", "smothered": "smotheredMate"}
SIMPLE: dict[type[Claim], str] = {
    claims.UsesPin: "pin",
    claims.Discovers: "discoveredAttack",
    claims.DoubleCheck: "doubleCheck",
    claims.Promotes: "promotion",
    claims.Skewers: "skewer",
    claims.Deflects: "deflection",
    claims.Attracts: "attraction",
    claims.RemovesGuard: "capturingDefender",
    claims.Interferes: "interference",
    claims.Intermezzo: "intermezzo",
    claims.XRay: "xRayAttack",
    claims.Clears: "clearance",
    claims.Traps: "trappedPiece",
    claims.TakesLoose: "hangingPiece",
    claims.Sacrifices: "sacrifice",
    claims.EnPassant: "enPassant",
}
MOTIFS = ("fork", "mate", *MATES.values(), *SIMPLE.values())


def _tags(claim: Claim, final: bool) -> Iterator[str]:
    """The tags that a claim stands for; a fork needs a move that carries it out."""
    match claim:
        case claims.Fork() if not final:
            yield "fork"
        case claims.Mates(pattern):
            yield MATES.get(pattern, "mate")
            yield "mate"
        case _ if type(claim) in SIMPLE:
            yield SIMPLE[type(claim)]


def motifs_of(before: chess.Board, last: chess.Move, line: Sequence[str]) -> set[str]:
    """The tags of what the solver's moves do; `last` is the opponent's move that comes first."""
    took = captured_by(before, last)
    moves = [chess.Move.from_uci(text) for text in line]
    board, kind = played(before, last), took.kind if took else None
    scene: Scene | None = Scene(board, moves[0], tuple(moves[1:]), last=last, last_took=kind)
    names: set[str] = set()
    first = True
    while scene is not None:
        for claim in motifs(scene):
            if first or not isinstance(claim, claims.TakesLoose):
                names |= set(_tags(claim, not scene.follow))
        scene, first = scene.later, False
    return names


def standing_of(board: chess.Board, solver_moves: int, score: str) -> set[str]:
    """The tags of length, phase and size of the win; `score` is "cp 512" or "mate 3"."""
    kind, amount = score.split()
    themes = {LENGTHS[min(solver_moves, len(LENGTHS)) - 1], phase(board)}
    if kind == "mate":
        return themes | {"mate", f"mateIn{min(int(amount), LONGEST_MATE)}"}
    if int(amount) >= CRUSHING:
        return themes | {"crushing"}
    return themes | ({"advantage"} if int(amount) >= ADVANTAGE else set())


# --- solving --------------------------------------------------------------------------------------
#
# Puzzles in the terminal: the board, a question, answers, hints, and the score at the end.


HELP = "a move (Nf3, g1f3), or: hint, solution, moves, fen, quit, help"
PIECES = dict(zip("pnbrqk", ("pawn", "knight", "bishop", "rook", "queen", "king"), strict=True))


Question = TypeVar("Question")


@dataclass
class Quiz(Generic[Question]):
    """Questions one after the other; `show` draws a board, `tell` prints a line."""

    lines: Iterable[str]
    show: Callable[[Board], None]
    tell: Callable[[str], None]
    what: ClassVar[str]  # they are
    outcomes: ClassVar[dict[str, str]]  # and the words for them in the sum

    def __post_init__(self) -> None:
        self.typed = iter(self.lines)
        self.score = Counter(dict.fromkeys(self.outcomes, 0))

    def run(self, questions: Sequence[Question]) -> None:
        """Ask until the questions, or the lines, end."""
        for number, question in enumerate(questions, start=1):
            try:
                self.score[self.ask(question, f"{number} of {len(questions)}")] += 1
            except EOFError:
                break
        counts = ", ".join(f"{self.score[name]} {words}" for name, words in self.outcomes.items())
        self.tell(f"{self.score.total()} of {len(questions)} {self.what}: {counts}")

    def ask(self, question: Question, number: str) -> str:
        """One question, with its number, and what became of it."""
        raise NotImplementedError

    def tell_last(self, board: Board) -> None:
        """Say which move led to a position."""
        if board.moves:
            before = board.copy()
            last = before.pop()
            self.tell(f"{before.turn} played {numbered(before, last)}")


@dataclass
class Session(Quiz[Puzzle]):
    """Puzzles to solve."""

    what = "puzzles"
    outcomes: ClassVar = {"solved": "solved", "helped": "with help", "failed": "not"}
    _helped: bool = False

    def ask(self, question: Puzzle, number: str) -> str:
        """Whether it was solved, with help or not at all."""
        rating = f", rating {question.rating}" if question.rating else ""
        self.tell(f"Puzzle {number} ({question.name}{rating})")
        outcome = "solved" if self._solves(question) else "failed"
        outcome = "helped" if outcome == "solved" and self._helped else outcome
        themes = f"; {', '.join(question.themes)}" if question.themes else ""
        verdicts = {"solved": "Solved", "helped": "Solved, with help", "failed": "Not solved"}
        self.tell(f"{verdicts[outcome]}{themes}\n")
        return outcome

    def _solves(self, puzzle: Puzzle) -> bool:
        """One puzzle; False if the solver gives up."""
        self._helped = False
        board = puzzle.board()
        self.tell_last(board)
        for at in range(0, len(puzzle.moves), 2):
            self.show(board)
            move = self._answer(board, board.parse(puzzle.moves[at]), puzzle)
            if move is None:
                self.tell(f"The solution is {line_text(board, puzzle.moves[at:])}")
                return False
            board.push(move)
            if board.outcome() is None and at + 1 < len(puzzle.moves):
                reply = board.parse(puzzle.moves[at + 1])
                self.tell(f"Right. {board.turn} answers {numbered(board, reply)}")
                board.push(reply)
        return True

    def _answer(self, board: Board, solution: Move, puzzle: Puzzle) -> Move | None:
        """The right move, once it was given; None if the solver gives up."""
        hints = _hints(board, solution, puzzle)
        shown = len(hints)
        self.tell(f"{board.turn} to move")
        while True:
            move = typed_move(self.typed, board, hints, self.tell)
            self._helped |= len(hints) < shown
            if move is None or is_right(board, move, (board.uci(solution),)):
                return move
            self._helped = True
            self.tell(f"{board.san(move)} is not it; try again, or: hint, solution")


def is_right(board: Board, move: Move, good: Collection[str]) -> bool:
    """Whether a move is one of the good ones, in UCI; any that mates at once is."""
    return board.uci(move) in good or board.san(move).endswith("#")


def typed_move(
    lines: Iterator[str], board: Board, hints: list[str], tell: Callable[[str], None]
) -> Move | None:
    """The first legal move that is typed; None for who gives up. Hints that are told are gone."""
    for line in lines:
        word = line.strip()
        match word.casefold():
            case "":
                continue
            case "quit" | "exit":
                raise EOFError
            case "solution":
                return None
            case "hint":
                tell(hints.pop(0) if hints else "There is no other hint: solution")
            case "moves":
                tell(" ".join(board.san(move) for move in board.legal_moves))
            case "fen":
                tell(board.fen())
            case "help":
                tell(HELP)
            case _:
                try:
                    return board.parse(word)
                except KibitzError as error:
                    tell(at_the_board(error))
    raise EOFError


def _hints(board: Board, solution: Move, puzzle: Puzzle) -> list[str]:
    """What may be said before the move itself."""
    piece = PIECES[(board.piece_at(solution.origin) or "p").lower()]
    themes = ["Themes: " + ", ".join(puzzle.themes)] if puzzle.themes else []
    return [*themes, f"A {piece} moves", f"Play {board.san(solution)}"]


def numbered(board: Board, move: Move) -> str:
    """A move with its number."""
    return f"{move_number(board.ply)}{board.san(move)}"


def line_text(board: Board, moves: Sequence[str]) -> str:
    """Moves from a position on, in SAN."""
    at = board.copy()
    texts: list[str] = []
    for text in moves:
        move = at.parse(text)
        texts.append(numbered(at, move) if not texts or at.turn == "white" else at.san(move))
        at.push(move)
    return " ".join(texts)
