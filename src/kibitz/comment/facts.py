"""What a position and a move are made of, seen with python-chess: pieces, lines, defenders, pawns.

**Facts** are plain functions of a board; motifs and claims are built of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import chess

from kibitz.comment import force
from kibitz.comment.analysis import PAIR, Analysis
from kibitz.comment.judge import Evaluation

WORTH = {
    chess.PAWN: 1,
    chess.KNIGHT: 3,
    chess.BISHOP: 3,
    chess.ROOK: 5,
    chess.QUEEN: 9,
    chess.KING: 99,
}
LONG = 7  # plies of a line that tells what becomes of a move
LONGEST = 13  # plies of a line, the move itself included
SHOWN = 7  # plies of it that are shown
SHELTER = 2  # ranks before a king in which pawns shelter it
RECENT = 16  # plies: who wins back what was given within them has won nothing
SLIDERS = (chess.BISHOP, chess.ROOK, chess.QUEEN)
UNSEARCHED = Analysis()  # without searches


class Unit(NamedTuple):
    """A piece on a square."""

    kind: int  # chess.PAWN ... chess.KING
    square: int
    white: bool

    @property
    def worth(self) -> int:
        """Pawns it is worth; a king is worth more than all else."""
        return WORTH[self.kind]


@dataclass(frozen=True)
class Scene:
    """A move with the position before it and the moves that are expected to follow."""

    before: chess.Board
    move: chess.Move
    follow: tuple[chess.Move, ...]  # the reply first
    analysis: Analysis = UNSEARCHED
    last: chess.Move | None = None  # the move that led to the position
    last_took: int | None = None  # what that move captured
    had: Evaluation | None = None  # what a search has seen before the move
    has: Evaluation | None = None  # and after it, for the other side
    was: Evaluation | None = None  # and before the other side's last move
    memo: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def boards(self) -> tuple[chess.Board, ...]:
        """The positions from before the move to the end of what follows."""
        boards = [self.before]
        for move in (self.move, *self.follow):
            boards.append(played(boards[-1], move, stack=RECENT))
        return tuple(boards)

    @property
    def after(self) -> chess.Board:
        """The position after the move."""
        return self.boards[1]

    @property
    def mover(self) -> bool:
        """Who makes the move; True is White."""
        return self.before.turn

    @property
    def landed(self) -> int:
        """The square where the piece stands after the move; castling counts as the king's move."""
        if self.before.is_castling(self.move):
            king = self.after.king(self.mover)
            assert king is not None
            return king
        return self.move.to_square

    @property
    def piece(self) -> Unit:
        """The piece that has moved, where it stands now."""
        return unit(self.after, self.landed)

    @cached_property
    def start(self) -> chess.Board:
        """Of the last positions the one where the mover had most: where an exchange began.

        What was taken back at once was never had.
        """
        board = self.before.copy(stack=RECENT)
        best, most = board.copy(stack=False), balance(board, self.mover)
        while board.move_stack:
            made = board.pop()
            goals = {move.to_square for move in board.move_stack[-1:]}
            back = board.turn != self.mover and made.to_square in goals
            if not back and balance(board, self.mover) > most:
                best, most = board.copy(stack=False), balance(board, self.mover)
        return best

    @cached_property
    def other(self) -> Scene:
        """The expected reply as a scene of its own."""
        assert self.reply is not None
        took = self.captured.kind if self.captured else None
        line = self.continued(self.after, self.follow)
        return Scene(self.after, line[0], line[1:], self.analysis, self.move, took, self.has)

    @cached_property
    def instead(self) -> Scene:
        """The best move as a scene, in place of the one that was made."""
        assert self.had is not None
        line = self.continued(self.before, self.had.line)
        return Scene(
            self.before,
            *(line[0], line[1:], self.analysis, self.last, self.last_took),
            *(self.had, self.had.then),
        )

    def continued(self, board: chess.Board, line: tuple[chess.Move, ...]) -> tuple[chess.Move, ...]:
        """A line from a position; where it ends early, deeper looks go on."""
        while len(line) < LONG:
            look = self.analysis.deeper(played(board, *line))
            if look is None or not look.line:
                break
            line = (*line, *look.line)
        return line

    @cached_property
    def course(self) -> tuple[chess.Move, ...]:
        """The move and what is expected after it; where that ends early, a deeper look goes on."""
        return self.continued(self.before, (self.move, *self.follow))[:LONGEST]

    @cached_property
    def course_boards(self) -> tuple[chess.Board, ...]:
        """The positions of that course, from before the move to its end."""
        boards = [self.before]
        for move in self.course:
            boards.append(played(boards[-1], move))
        return tuple(boards)

    @cached_property
    def calm_boards(self) -> tuple[chess.Board, ...]:
        """The same, to the last position in which nothing hangs."""
        boards = [*self.course_boards]
        while len(boards) > 1 and not force.is_calm(boards[-1]):
            boards.pop()
        return tuple(boards)

    def told(self, plies: int, most: int = SHOWN) -> str:
        """The first moves after the move itself, as text; nothing where they are too many."""
        moves = self.course[1:plies]
        return self.after.variation_san(moves).replace(". ", ".") if 0 < plies <= most else ""

    def choices_in(self, line: str) -> tuple[chess.Board, ...]:
        """The positions of a printed line in which the other side is to move, but for the first."""
        return self.course_boards[3 : len(line.split()) + 1 : 2]

    @cached_property
    def deeper(self) -> Scene:
        """The same move as a deeper search sees it; the scene itself where there is none."""
        return self.searched_with(1)

    def searched_with(self, times: int, before: bool = False) -> Scene:
        """The same move as a deeper search after it sees it, and one `before` it if that is asked.

        They are of so many times the least nodes.
        """
        key = ("searched", times, before)
        if key not in self.memo:
            has = self.analysis.deeper(self.after, times)
            if has is None:
                return self
            had = self.analysis.deeper(self.before, times, PAIR) if before else self.had
            self.memo[key] = replace(self, follow=has.line, had=had, has=has)
        deeper: Scene = self.memo[key]
        return deeper

    @cached_property
    def captured(self) -> Unit | None:
        """What the move captures."""
        return captured_by(self.before, self.move)

    @property
    def reply(self) -> chess.Move | None:
        """The reply that is expected."""
        return self.follow[0] if self.follow else None

    @property
    def taken_on(self) -> int | None:
        """The square on which the other side has just captured."""
        return self.last.to_square if self.last is not None and self.last_took else None

    @property
    def takes_back(self) -> bool:
        """Whether the move captures there."""
        return self.move.to_square == self.taken_on

    @property
    def value(self) -> float | None:
        """What the move is worth to whoever makes it, in [-1, 1]; None if no search has told."""
        if self.has is not None:
            return -self.has.value
        expected = self.had is not None and self.had.line[:1] == (self.move,)
        return self.had.value if self.had is not None and expected else None

    @property
    def next(self) -> chess.Move | None:
        """The mover's next move."""
        return self.follow[1] if len(self.follow) > 1 else None

    @cached_property
    def later(self) -> Scene | None:
        """The scene of the mover's next move."""
        if len(self.follow) < 2:
            return None
        took = captured_by(self.boards[1], self.follow[0])
        rest, kind = self.follow[2:], took.kind if took else None
        return Scene(self.boards[2], self.follow[1], rest, self.analysis, self.follow[0], kind)

    def ahead(self, plies: int) -> Scene | None:
        """The scene of a move of the line, so many plies later, as a deeper search sees it."""
        if not plies:
            return self
        key = ("ahead", plies)
        if key not in self.memo:
            earlier = self.ahead(plies - 2)
            later = None if earlier is None else earlier.later
            if later is not None:
                had, has = map(self.analysis.deeper, (later.before, later.after))
                later = replace(later, had=had, has=has)
            self.memo[key] = later
        scene: Scene | None = self.memo[key]
        return scene


def scenes_of(analysis: Analysis) -> list[Scene]:
    """The moves that were searched, with what was seen before and after them."""
    scenes, board = [], analysis.board()
    for ply, move in enumerate(analysis.moves):
        if ply >= analysis.first:
            had, has = analysis.views[ply - analysis.first :][:2]
            before, last, took = board.copy(stack=RECENT), None, None
            if before.move_stack:
                earlier = before.copy(stack=1)
                last = earlier.pop()
                took = captured_by(earlier, last)
            kind = took.kind if took else None
            was = analysis.views[ply - analysis.first - 1] if ply > analysis.first else None
            scenes.append(Scene(before, move, has.line, analysis, last, kind, had, has, was))
        board.push(move)
    return scenes


def played(board: chess.Board, *moves: chess.Move, stack: int = 0) -> chess.Board:
    """The position after some more moves, with so many earlier ones on its stack.

    The moves on the stack are shared with the first board, as no code changes a move: `Board.copy`
    makes each of them anew, which took most of the time.
    """
    after = board.copy(stack=False)
    if stack:
        after.move_stack, after._stack = board.move_stack[-stack:], board._stack[-stack:]
    for move in moves:
        after.push(move)
    return after


def unit(board: chess.Board, square: int) -> Unit:
    """The piece on a square that is not empty."""
    piece = board.piece_at(square)
    assert piece is not None, (board.fen(), square)
    return Unit(piece.piece_type, square, piece.color)


def units(board: chess.Board, white: bool) -> Iterator[Unit]:
    """The pieces of a side."""
    for square in chess.scan_forward(board.occupied_co[white]):
        yield Unit(board.piece_type_at(square) or 0, square, white)


def captured_by(board: chess.Board, move: chess.Move) -> Unit | None:
    """What a move captures."""
    if not board.is_capture(move):
        return None
    if board.is_en_passant(move):
        square = chess.square(move.to_square & 7, move.from_square >> 3)
        return unit(board, square)
    return unit(board, move.to_square)


def is_defended(board: chess.Board, square: int) -> bool:
    """Whether the side of the piece on a square guards it, if only through an attacker."""
    colour = board.color_at(square)
    assert colour is not None
    if board.attackers_mask(colour, square):
        return True
    for attacker in board.attackers(not colour, square):
        if board.piece_type_at(attacker) in SLIDERS:
            without = board.occupied & ~chess.BB_SQUARES[attacker]
            if board.attackers_mask(colour, square, without):
                return True
    return False


def takers(board: chess.Board, square: int) -> list[int]:
    """Where pieces stand that attack the piece on a square and are not pinned away from it."""
    other = not board.color_at(square)
    return [at for at in board.attackers(other, square) if square in board.pin(other, at)]


def is_unsafe(board: chess.Board, square: int) -> bool:
    """Whether a piece can be taken and is not defended, or by something worth less."""
    stands, attackers = unit(board, square), takers(board, square)
    if not attackers or not is_defended(board, square):
        return bool(attackers)
    return any(
        WORTH[board.piece_type_at(attacker) or 6] < stands.worth
        for attacker in attackers
        if board.piece_type_at(attacker) != chess.KING
    )


def balance(board: chess.Board, white: bool) -> int:
    """Material of a side less the other's, in pawns."""
    own, their = board.occupied_co[white], board.occupied_co[not white]
    kinds = (board.pawns, board.knights, board.bishops, board.rooks, board.queens)
    return sum(
        worth * ((mask & own).bit_count() - (mask & their).bit_count())
        for mask, worth in zip(kinds, (1, 3, 3, 5, 9), strict=True)
    )


def settled(board: chess.Board, white: bool) -> int | None:
    """Pawns' worth that a side is ahead once who is to move has taken what it can.

    A mate is worth a king; None where the search of material did not come to an end.
    """
    gain, sign = force.gain(board), 1 if board.turn == white else -1
    if gain is None or gain > force.SURE_MATE:
        return None if gain is None else sign * WORTH[chess.KING]
    return balance(board, white) + sign * (max(0, gain) // 100)


def ray_beyond(board: chess.Board, slider: int, front: int) -> int | None:
    """The first occupied square behind a piece that a slider attacks, on the same line."""
    line = chess.ray(slider, front)
    if not line:
        return None
    behind = [
        square
        for square in chess.scan_forward(line & board.occupied)
        if front in chess.SquareSet(chess.between(slider, square))
    ]
    return min(behind, key=lambda square: chess.square_distance(front, square), default=None)


def pinner_of(board: chess.Board, square: int) -> int | None:
    """The piece that pins the piece on a square to its king."""
    colour = board.color_at(square)
    if colour is None or not board.is_pinned(colour, square):
        return None
    king = board.king(colour)
    assert king is not None
    for attacker in board.attackers(not colour, square):
        if board.piece_type_at(attacker) in SLIDERS and square in chess.SquareSet(
            chess.between(attacker, king)
        ):
            return attacker
    return None


def is_trapped(board: chess.Board, square: int) -> bool:
    """Whether the piece on a square, of the side to move, is attacked and cannot be saved."""
    stands_there = unit(board, square)
    if board.is_check() or board.is_pinned(board.turn, square) or not is_unsafe(board, square):
        return False
    if stands_there.kind in (chess.PAWN, chess.KING):
        return False
    for escape in board.generate_legal_moves(from_mask=chess.BB_SQUARES[square]):
        took = captured_by(board, escape)
        if took is not None and took.worth >= stands_there.worth:
            return False
        if not is_unsafe(played(board, escape), escape.to_square):
            return False
    return True


def exposure(board: chess.Board, white: bool) -> int:
    """How open a king stands: pawns missing before and beside it, two if it has come out."""
    king = board.king(white)
    assert king is not None
    home = king >> 3 if white else 7 - (king >> 3)
    ranks = range(max(home, 1), min(home + 1 + SHELTER, 8))
    near = sum(chess.BB_RANKS[rank if white else 7 - rank] for rank in ranks)
    files = [king & 7, *files_beside(king)]
    pawns = board.pieces_mask(chess.PAWN, white)
    bare = sum(not pawns & near & chess.BB_FILES[file] for file in files)
    return bare + (2 if home >= 2 else 0)


# --- pawns ----------------------------------------------------------------------------------------


@cache
def ahead(square: int, white: bool, files: tuple[int, ...]) -> int:
    """Squares on some files that lie before a pawn, as a bitboard."""
    rank = square >> 3
    ranks = range(rank + 1, 8) if white else range(rank)
    return sum(chess.BB_SQUARES[chess.square(file, rank)] for file in files for rank in ranks)


@cache
def files_beside(square: int) -> tuple[int, ...]:
    """The files next to a square's."""
    return tuple(file for file in ((square & 7) - 1, (square & 7) + 1) if 0 <= file <= 7)


def is_passed(board: chess.Board, square: int, white: bool) -> bool:
    """Whether no enemy pawn can stop or take the pawn on its way, and no own pawn is before it."""
    beside = files_beside(square)
    own = board.pieces_mask(chess.PAWN, white) & ahead(square, white, (square & 7,))
    wide = ahead(square, white, (*beside, square & 7))
    return not own and not board.pieces_mask(chess.PAWN, not white) & wide


def is_isolated(board: chess.Board, square: int, white: bool) -> bool:
    """Whether no pawn of its side stands on a file next to it."""
    beside = sum(chess.BB_FILES[file] for file in files_beside(square))
    return not board.pieces_mask(chess.PAWN, white) & beside


def doubled_files(board: chess.Board, white: bool) -> set[int]:
    """Files on which a side has more than one pawn."""
    pawns = board.pieces_mask(chess.PAWN, white)
    return {file for file in range(8) if (pawns & chess.BB_FILES[file]).bit_count() > 1}


def is_open(board: chess.Board, file: int) -> bool:
    """Whether a file has no pawns."""
    return not board.pawns & chess.BB_FILES[file]


def is_half_open(board: chess.Board, file: int, white: bool) -> bool:
    """Whether a file has pawns of the other side only."""
    own = board.pieces_mask(chess.PAWN, white) & chess.BB_FILES[file]
    return not own and not is_open(board, file)


def is_outpost(board: chess.Board, square: int, white: bool) -> bool:
    """Whether a pawn guards a square far enough up that no enemy pawn can ever attack."""
    rank = square >> 3 if white else 7 - (square >> 3)
    guards = chess.BB_PAWN_ATTACKS[not white][square] & board.pieces_mask(chess.PAWN, white)
    enemies = board.pieces_mask(chess.PAWN, not white) & ahead(square, white, files_beside(square))
    far = rank in (4, 5) or (rank == 3 and 2 <= square & 7 <= 5)
    return far and bool(guards) and not enemies


def has_bishop_pair(board: chess.Board, white: bool) -> bool:
    """Whether a side has bishops on squares of both colours."""
    bishops = board.pieces_mask(chess.BISHOP, white)
    return bool(bishops & chess.BB_LIGHT_SQUARES and bishops & chess.BB_DARK_SQUARES)


def phase(board: chess.Board) -> str:
    """Opening, middlegame or endgame: by the pieces left and those still at home."""
    pieces = sum(
        WORTH[kind] * len(board.pieces(kind, side))
        for kind in (chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)
        for side in (True, False)
    )
    if pieces <= 26:
        return "endgame"
    minor = (board.knights | board.bishops) & (chess.BB_RANK_1 | chess.BB_RANK_8)
    return "opening" if board.fullmove_number <= 12 and minor.bit_count() >= 3 else "middlegame"
