"""Puzzles in the terminal: the board, a question, answers, hints, and the score at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from kibitz.coach.puzzles.puzzle import Puzzle
from kibitz.core.errors import KibitzError
from kibitz.position.board import Board
from kibitz.position.notation import Move

HELP = "a move (Nf3, g1f3), or: hint, solution, moves, fen, quit, help"
PIECES = dict(zip("pnbrqk", ("pawn", "knight", "bishop", "rook", "queen", "king"), strict=True))


class Session:
    """Puzzles one after the other; `show` draws a board, `tell` prints a line."""

    def __init__(
        self, lines: Iterable[str], show: Callable[[Board], None], tell: Callable[[str], None]
    ) -> None:
        self._lines, self._show, self._tell = iter(lines), show, tell
        self.score = Counter(solved=0, helped=0, failed=0)
        self._helped = False

    def run(self, puzzles: Sequence[Puzzle]) -> None:
        """Ask until the puzzles, or the lines, end."""
        for number, puzzle in enumerate(puzzles, start=1):
            rating = f", rating {puzzle.rating}" if puzzle.rating else ""
            self._tell(f"Puzzle {number} of {len(puzzles)} ({puzzle.name}{rating})")
            try:
                outcome = "solved" if self._solves(puzzle) else "failed"
            except EOFError:
                break
            outcome = "helped" if outcome == "solved" and self._helped else outcome
            self.score[outcome] += 1
            themes = f"; {', '.join(puzzle.themes)}" if puzzle.themes else ""
            words = {"solved": "Solved", "helped": "Solved, with help", "failed": "Not solved"}
            self._tell(f"{words[outcome]}{themes}\n")
        told = "{solved} solved, {helped} with help, {failed} not".format(**self.score)
        self._tell(f"{self.score.total()} of {len(puzzles)} puzzles: {told}")

    def _solves(self, puzzle: Puzzle) -> bool:
        """One puzzle; False if the solver gives up."""
        self._helped = False
        board = puzzle.board()
        if board.moves:
            before = board.copy()
            last = before.pop()
            self._tell(f"{before.turn} played {_numbered(before, last)}")
        for at in range(0, len(puzzle.moves), 2):
            self._show(board)
            move = self._answer(board, board.parse(puzzle.moves[at]), puzzle)
            if move is None:
                self._tell(f"The solution is {_line(board, puzzle.moves[at:])}")
                return False
            board.push(move)
            if board.outcome() is None and at + 1 < len(puzzle.moves):
                reply = board.parse(puzzle.moves[at + 1])
                self._tell(f"Right. {board.turn} answers {_numbered(board, reply)}")
                board.push(reply)
        return True

    def _answer(self, board: Board, wanted: Move, puzzle: Puzzle) -> Move | None:
        """The right move, once it was given; None if the solver gives up."""
        hints = _hints(board, wanted, puzzle)
        self._tell(f"{board.turn} to move")
        for line in self._lines:
            word = line.strip()
            match word.casefold():
                case "":
                    continue
                case "quit" | "exit":
                    raise EOFError
                case "solution":
                    return None
                case "hint":
                    self._helped = True
                    self._tell(hints.pop(0) if hints else f"Play {board.san(wanted)}")
                case "moves":
                    self._tell(" ".join(board.san(move) for move in board.legal_moves))
                case "fen":
                    self._tell(board.fen())
                case "help":
                    self._tell(HELP)
                case _:
                    move = self._tried(board, word, wanted)
                    if move is not None:
                        return move
        raise EOFError

    def _tried(self, board: Board, word: str, wanted: Move) -> Move | None:
        """The move that was typed if it is right; any move that mates at once is."""
        try:
            move = board.parse(word)
        except KibitzError as error:
            self._tell(f"{error}")
            return None
        if move == wanted or board.san(move).endswith("#"):
            return move
        self._helped = True
        self._tell(f"{board.san(move)} is not it; try again, or: hint, solution")
        return None


def _hints(board: Board, wanted: Move, puzzle: Puzzle) -> list[str]:
    """What may be said before the move itself."""
    piece = PIECES[(board.piece_at(wanted.origin) or "p").lower()]
    themes = ["Themes: " + ", ".join(puzzle.themes)] if puzzle.themes else []
    return [*themes, f"A {piece} moves"]


def _numbered(board: Board, move: Move) -> str:
    """A move with its number."""
    dots = "." if board.turn == "white" else "..."
    return f"{board.ply // 2 + 1}{dots}{board.san(move)}"


def _line(board: Board, moves: Sequence[str]) -> str:
    """Moves from a position on, in SAN."""
    at = board.copy()
    texts: list[str] = []
    for text in moves:
        move = at.parse(text)
        texts.append(_numbered(at, move) if not texts or at.turn == "white" else at.san(move))
        at.push(move)
    return " ".join(texts)
