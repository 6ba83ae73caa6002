"""Board: the rules of chess from Python, a game in progress with its history.

A board is a line of position records, one per position since its start; pushing a move writes the
next one, popping forgets it. Code that needs millions of moves a second calls the kernels instead.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from kibitz.core.errors import MoveError, PositionError
from kibitz.position import notation, outcome
from kibitz.position.attacks import parse_square
from kibitz.position.fen import START, chess960_fen, complete, fen_of, read_fen
from kibitz.position.moves import FLIP_MOVE, NO_MOVE
from kibitz.position.notation import NULL, Move
from kibitz.position.play import play, play_null
from kibitz.position.state import checkers, new_positions

if TYPE_CHECKING:
    import chess
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

Side: TypeAlias = Literal["white", "black"]
SIDES: tuple[Side, Side] = ("white", "black")
PIECE_VALUES = {"p": 1, "n": 3, "b": 3, "r": 5, "q": 9}


class Termination(enum.IntEnum):
    """Why a game is over; the codes of outcome.py."""

    CHECKMATE = outcome.CHECKMATE
    STALEMATE = outcome.STALEMATE
    INSUFFICIENT_MATERIAL = outcome.INSUFFICIENT_MATERIAL
    SEVENTY_FIVE_MOVES = outcome.SEVENTY_FIVE_MOVES
    FIVEFOLD_REPETITION = outcome.FIVEFOLD_REPETITION
    FIFTY_MOVES = outcome.FIFTY_MOVES
    THREEFOLD_REPETITION = outcome.THREEFOLD_REPETITION

    @property
    def text(self) -> str:
        """How the game ended, for people and for records."""
        return self.name.lower().replace("_", " ")


class Outcome(NamedTuple):
    """How a game ended, and for whom (None: a draw)."""

    termination: Termination
    winner: Side | None

    @property
    def result(self) -> str:
        """The result as PGN writes it."""
        return {"white": "1-0", "black": "0-1", None: "1/2-1/2"}[self.winner]


class Board:
    """A position and the moves that led to it.

    >>> board = Board()
    >>> board.push("e4"), board.push("e7e5")
    (<Move e2e4>, <Move e7e5>)
    >>> board.fen()
    'rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2'

    Boards are equal when their positions are, clocks included; how they came about does not
    matter. The hash follows: a board that serves as a key should not be pushed any more.
    """

    def __init__(
        self, fen: str = START, moves: Iterable[str | Move] = (), *, chess960: bool = False
    ) -> None:
        self.chess960 = chess960  # how castling is written in UCI and for python-chess
        self._line = new_positions(64)  # POSITION [capacity], filled up to len(self._moves)
        self._moves: list[Move] = []
        if not isinstance(fen, str):  # None is an empty board elsewhere
            raise PositionError(
                "FEN", value=repr(fen), fix="expected a text, or nothing for the start"
            )
        read_fen(fen, self._line, 0)
        for move in moves:
            self.push(move)

    @classmethod
    def start960(cls, number: int) -> Board:
        """The Chess960 start position with a number from 0 to 959."""
        return cls(chess960_fen(number), chess960=True)

    # --- what the position is -------------------------------------------------------------------

    @property
    def position(self) -> np.record:
        """The current record; a view that later pushes may overwrite, copy it to keep it."""
        record: np.record = self._line[len(self._moves)]
        return record

    @property
    def turn(self) -> Side:
        """The side to move."""
        return SIDES[int(self.position["side"])]

    @property
    def ply(self) -> int:
        """Plies since the start of move 1."""
        return int(self.position["ply"])

    @property
    def rule50(self) -> int:
        """Plies since the last capture or pawn move."""
        return int(self.position["rule50"])

    @property
    def material(self) -> int:
        """White's material less Black's, in pawns."""
        pieces = self.fen().split()[0]
        return sum(
            value * (pieces.count(letter.upper()) - pieces.count(letter))
            for letter, value in PIECE_VALUES.items()
        )

    @property
    def key(self) -> int:
        """Zobrist key of the position."""
        return int(self.position["key"])

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves played on this board."""
        return tuple(self._moves)

    def keys(self) -> np.ndarray:
        """Keys of the earlier positions since the last capture or pawn move; uint64 [count]."""
        count = len(self._moves)
        return self._line["key"][max(0, count - self.rule50) : count].copy()

    def positions(self) -> np.ndarray:
        """All positions from the start to now, POSITION [plies + 1]; a view, copy it to keep it."""
        return self._line[: len(self._moves) + 1]

    def codes(self, since: int = 0) -> list[int]:
        """The moves played from a ply on, 16 bits each, in the view of the side that made it."""
        line = self._line
        return [
            int(notation.relative(line[ply], move)) if move != NULL else NO_MOVE
            for ply, move in enumerate(self._moves[since:], start=since)
        ]

    def fen(self, *, shredder: bool = False) -> str:
        """FEN; castling as KQkq where unambiguous (X-FEN), or always as files of rooks."""
        return fen_of(self.position, shredder)

    def piece_at(self, square: int | str) -> str | None:
        """Letter of the piece on a square, upper case for White; None where there is none."""
        index = parse_square(square) if isinstance(square, str) else square
        letter = notation.letters(self.position)[index]
        return None if letter == "." else letter

    # --- moves ----------------------------------------------------------------------------------

    @property
    def legal_moves(self) -> list[Move]:
        """The legal moves."""
        return notation.legal_moves(self.position)

    def parse(self, text: str) -> Move:
        """The legal move that a text in UCI or SAN means, whatever number it has."""
        bare = notation.unnumbered(text)
        if notation.looks_like_uci(bare):
            return notation.parse_uci(self.position, bare)
        return notation.parse_san(self.position, bare)

    def san(self, move: Move | str) -> str:
        """SAN of a legal move."""
        return notation.san_of(self.position, self._move(move))

    def uci(self, move: Move | str) -> str:
        """UCI of a move, castling written as this board's `chess960` says."""
        return self._move(move).uci(True if self.chess960 else None)

    def push(self, move: Move | str) -> Move:
        """Play a legal move, given as UCI, SAN or Move; `--` passes, unless in check."""
        played = self._move(move)
        if played == NULL:
            if self.is_check():
                raise MoveError(f"cannot pass in check in {self.fen()}", value=str(move))
        elif notation.relative(self.position, played) not in notation.legal_codes(self.position):
            raise MoveError(f"illegal move in {self.fen()}", value=str(move))
        self._play(played)
        return played

    def pop(self) -> Move:
        """Take the last move back and return it."""
        if not self._moves:
            raise MoveError("no move to take back", fix="this is where the board started")
        return self._moves.pop()

    def _move(self, move: Move | str) -> Move:
        if isinstance(move, str):
            return self.parse(move)
        if not isinstance(move, Move):
            raise MoveError("move", value=repr(move), fix="expected SAN, UCI or a kibitz.Move")
        return move

    def _play(self, move: Move) -> None:
        """Write the position after a move known to be legal."""
        count = len(self._moves)
        if count + 1 == len(self._line):
            self._line = np.concatenate((self._line, new_positions(count + 1)))
        before, after = self._line[count], self._line[count + 1]
        if move == NULL:
            play_null(before, after)
        else:
            play(before, after, notation.relative(before, move))
        self._moves.append(move)

    # --- how things stand -----------------------------------------------------------------------

    def checkers(self) -> list[int]:
        """Squares of the pieces that give check."""
        return notation.squares_of(self.position, int(checkers(self.position)))

    def is_check(self) -> bool:
        """Whether the king of the side to move is attacked."""
        return bool(checkers(self.position))

    def repetitions(self) -> int:
        """How often the position has occurred, this time included."""
        keys, position = self.keys(), self.position
        return 1 + int(outcome.count_occurrences(keys, len(keys), self.rule50, position.key))

    def outcome(self, *, claim: bool = False) -> Outcome | None:
        """How the game has ended, None if it goes on; `claim` counts draws a player may claim."""
        keys = self.keys()
        code = int(outcome.outcome(self.position, keys, len(keys), claim))
        if code == outcome.ONGOING:
            return None
        termination = Termination(code)
        mated = termination is Termination.CHECKMATE
        return Outcome(termination, SIDES[1 - int(self.position["side"])] if mated else None)

    # --- other boards ---------------------------------------------------------------------------

    def copy(self, *, history: bool = True) -> Board:
        """An independent board; without its history it starts at the current position."""
        twin = Board.__new__(Board)
        twin.chess960 = self.chess960
        count = len(self._moves)
        if history:
            twin._line, twin._moves = self._line.copy(), self._moves.copy()
        else:
            twin._line, twin._moves = new_positions(64), []
            twin._line[0] = self._line[count]
        return twin

    def mirror(self) -> Board:
        """The same game with the colours exchanged, the board turned upside down."""
        twin = self.copy()
        twin._moves.clear()
        twin._line["side"][0] ^= 1
        twin._line["ply"][0] ^= 1
        complete(twin._line, 0)
        for move in self._moves:
            twin._play(Move(move.code ^ FLIP_MOVE) if move.code != NO_MOVE else move)
        return twin

    @classmethod
    def from_chess(cls, board: chess.Board) -> Board:
        """A board of python-chess (ordinary rules) with its moves."""
        if board.uci_variant != "chess":
            raise PositionError("not ordinary chess or Chess960", value=board.uci_variant)
        start = board.root().shredder_fen(en_passant="fen")
        texts = ("--" if not move else move.uci() for move in board.move_stack)
        return cls(start, texts, chess960=board.chess960)

    def to_chess(self) -> chess.Board:
        """A board of python-chess with the same moves."""
        import chess

        board = chess.Board(fen_of(self._line[0], shredder=True), chess960=True)
        board.chess960 = self.chess960 or board.has_chess960_castling_rights()
        for move in self._moves:
            board.push(chess.Move.from_uci(move.uci(board.chess960)))
        return board

    # --- Python's own protocols -----------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Board):
            return NotImplemented
        return bool(self.position.item() == other.position.item())

    def __hash__(self) -> int:
        return self.key

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (
            fen_of(self._line[0], shredder=True),
            tuple(move.code for move in self._moves),
            self.chess960,
        )

    def __iter__(self) -> Iterator[Move]:
        return iter(self.legal_moves)

    def __repr__(self) -> str:
        return f"Board({self.fen()!r}{', chess960=True' if self.chess960 else ''})"

    def __str__(self) -> str:
        return notation.plain(self.position)

    def __rich_console__(self, console: Console, _: ConsoleOptions) -> Iterator[Text]:
        yield notation.shown(self.position, self._moves[-1] if self._moves else None, console)

    def _repr_svg_(self) -> str:
        return notation.svg(self.to_chess())


def _rebuilt(start: str, codes: tuple[int, ...], chess960: bool) -> Board:
    """A board from its pickle."""
    board = Board(start, chess960=chess960)
    for code in codes:
        board._play(Move(code))
    return board
