"""Claims about what the line that is expected takes on its way, and what it leaves.

They are reasons of bad moves, as those of `outcomes`: pieces that fall, whatever comes of it later;
and, where nothing is at stake, time won, passed pawns, places of pieces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import chess

from kibitz.comment import force
from kibitz.comment.analysis import AS_GOOD, LAST_LOOK, PLAYABLE
from kibitz.comment.claims.claim import (
    CENTIPAWNS,
    Claim,
    Kinds,
    Weights,
    gone,
    is_well_met,
    listed,
    stands,
    worth_of,
)
from kibitz.comment.claims.cover import not_retaken
from kibitz.comment.claims.endings import FAR_UP, StopsPassed, stopped
from kibitz.comment.claims.lines.outcomes import LineEnd, reference
from kibitz.comment.claims.merits import LEAST_THREAT, Wins, keeps_more
from kibitz.comment.facts import (
    SHOWN,
    WORTH,
    Scene,
    Unit,
    balance,
    captured_by,
    doubled_files,
    exposure,
    has_bishop_pair,
    is_defended,
    is_outpost,
    is_passed,
    is_unsafe,
    played,
    unit,
    units,
)

AT_ONCE = 2  # plies of a capture and what takes back
PIECE = 2  # pawns' worth that a piece that is taken has to bring
LATEST = 4  # plies after which a pawn falls, or the queen is attacked; others are at once
LASTS = 2  # positions at the end of the line in which what it leaves is there
TRADE = 3  # plies within which a line leads to what is left of a trade
OUT = 2  # ranks from home at which a king has been driven out


@dataclass(frozen=True)
class PicksUp(Claim):
    """The move, or a later one of the line, takes something, and it is not made up for at once."""

    target: Unit  # where it stood before the move
    lost: Kinds = ()  # the piece that took it, if that is taken back
    line: str = ""  # until then
    sure: bool = False  # it is won by force
    main: bool = False  # in the main line; other answers may keep it

    def proved(self, scene: Scene) -> bool:
        """After the answer to the capture the mover is still ahead of what it had before.

        The piece is taken where it stood before the move; `lost` names what was given for it.
        """
        taken = replace(self, sure=False, main=False) in picked_up(scene)
        return taken and (not self.sure or Wins((self.target.kind,), ()).proved(scene))

    def is_kept(self, scene: Scene) -> bool:
        """Whether long looks take it, too, at each choice, where the move does not do so itself."""
        at_once = scene.captured == self.target and not self.main
        forced = force.gain(scene.before, scene.move) if at_once else None
        if forced is not None and forced < force.LEAST:
            return False  # it may be made up for at once
        if not self.line:
            return True
        apart = PLAYABLE if self.target.kind == chess.PAWN else AS_GOOD
        there = (board for board in scene.choices_in(self.line) if stands(board, self.target))
        had = reference(scene)[1] if scene.takes_back else balance(scene.before, scene.mover)
        had += 0 if self.target.kind == chess.PAWN else PIECE - 1
        if self.main:
            kept = keeps_more(scene.after, scene, had, LAST_LOOK, apart=0)
            return kept and is_well_met(scene, self.line)
        return keeps_more(scene.after, scene, had, LAST_LOOK, apart) and all(
            self._falls(board, line)
            for board in (scene.after, *there)
            for line in scene.analysis.lines(board, LAST_LOOK, apart)
        )

    def _falls(self, board: chess.Board, line: Iterable[chess.Move]) -> bool:
        for move in line:
            if board.turn != self.target.white and captured_by(board, move) == self.target:
                return True
            board = played(board, move)
        return False


def picked_up(scene: Scene) -> list[PicksUp]:
    """What the mover takes in the line: the largest, and of equals the first."""
    boards, moves, white = scene.course_boards, scene.course, scene.mover
    back = scene.takes_back
    had, found = reference(scene)[1] if back else balance(scene.before, white), list[PicksUp]()
    if force.lost_next(boards[-1], white) >= LEAST_THREAT:
        return []  # the line ends before the other side has taken something
    for plies in range(0, min(SHOWN, len(boards) - 2), 2):
        took = captured_by(boards[plies], moves[plies])
        if took is None or not stands(scene.before, took):
            continue
        if (back and not plies) or (plies > LATEST and took.kind == chess.PAWN):
            continue  # which only takes back, or is too little to be sure of
        if scene.last_took is not None and not back and took.worth < WORTH[scene.last_took]:
            continue  # more was lost
        back = len(moves) > plies + 1 and moves[plies + 1].to_square == took.square
        given = force.loss_on(boards[plies + 1], took.square)
        if plies and not back and CENTIPAWNS[took.kind] - given < force.LEAST:
            continue  # what takes it may be taken back
        end = plies + 1  # of what is taken on this square
        while end < len(moves) and moves[end].to_square == took.square:
            end += 1
        later = min(end + (end - plies) % 2, len(boards) - 1)  # after the answer
        least = 1 if took.kind == chess.PAWN else max(PIECE, balance(boards[end], white) - had - 2)
        ends = boards[later : later + 1 if took.kind == chess.PAWN else later + 3 : 2]
        if any(balance(board, white) - had < least for board in ends):
            continue
        first = boards[plies] if scene.takes_back else scene.before
        theirs, own = (gone(first, boards[end], side) for side in (not white, white))
        if theirs is None or own is None or not _is_chief(took, theirs - own, own - theirs):
            continue
        at_once = end <= AT_ONCE and not plies  # which needs no line
        line = "" if at_once else scene.told(end)
        if line or at_once:
            found.append(PicksUp(took, listed(own - theirs), line))
    return sorted(found, key=lambda claim: -CENTIPAWNS[claim.target.kind])[:1]


def _is_chief(took: Unit, won: Counter[int], lost: Counter[int]) -> bool:
    """Whether something is all that is won, or a piece and some pawns, and more than is lost."""
    pawns = Counter({chess.PAWN: 0 if took.kind == chess.PAWN else won[chess.PAWN]})
    return listed(won - pawns) == (took.kind,) and worth_of((took.kind,), listed(lost)) > 0


@dataclass(frozen=True)
class Takes(Claim):
    """The move takes something, which another one leaves."""

    target: Unit

    def proved(self, scene: Scene) -> bool:
        """It takes more than back, and what takes is not taken in the line, nor lost if it is."""
        taken = bool(scene.follow) and scene.follow[0].to_square == scene.landed
        lost = force.loss_on(scene.after, scene.landed) and not not_retaken(scene)
        ends = scene.course_boards[: TRADE + 1]
        kept = balance(ends[-1], scene.mover) - balance(ends[0], scene.mover)
        safe = not (taken or lost) and kept >= max(1, self.target.worth - 1)
        more = not scene.takes_back or self.target.worth > WORTH[scene.last_took or chess.KING] + 1
        return safe and scene.captured == self.target and more


def grabbed(scene: Scene) -> list[Takes]:
    """What the move takes, if nothing is lost by it."""
    claims = [Takes(scene.captured)] if scene.captured is not None else []
    return [claim for claim in claims if claim.proved(scene)]


@dataclass(frozen=True)
class Queens(Claim):
    """A pawn of the mover is promoted in the line."""

    line: str

    def proved(self, scene: Scene) -> bool:
        """What it becomes is not taken at once."""
        return self in queened(scene)


def queened(scene: Scene) -> list[Queens]:
    """The first promotion of the mover in the line, after the move itself."""
    moves = scene.course
    for plies in range(2, min(SHOWN, len(moves)), 2):
        if moves[plies].promotion:
            taken = [move.to_square for move in moves[plies + 1 : plies + 2]]
            kept = taken not in ([], [moves[plies].to_square])
            return [Queens(scene.told(plies + 1))] if kept else []
    return []


@dataclass(frozen=True)
class GainsTime(LineEnd):
    """A later move of the line attacks a piece that has to leave then."""

    piece: Unit  # where it is attacked
    line: str = ""

    def found(self, scene: Scene) -> Sequence[Claim]:
        """The attacker is safe and worth less, or nothing guards the piece, and it goes away."""
        return gained_time(scene)


def gained_time(scene: Scene) -> list[GainsTime]:
    """The first piece of the other side that the line drives away, after the move itself."""
    boards, moves = scene.calm_boards, scene.course
    for plies in range(2, min(len(boards) - 2, LATEST + 1), 2):
        move, leaves = moves[plies : plies + 2]
        before, board = boards[plies : plies + 2]
        quiet = not (before.is_capture(move) or board.is_check() or board.is_capture(leaves))
        target = unit(board, leaves.from_square)
        if not quiet or before.is_castling(move) or target.kind in (chess.PAWN, chess.KING):
            continue
        by = unit(board, move.to_square)
        seen = target.square in board.attacks(by.square)
        cheap = by.worth < target.worth or not is_defended(board, target.square)
        new = target.square not in before.attacks(move.from_square) and stands(scene.after, target)
        near = plies == 2 or target.kind == chess.QUEEN
        if (
            near
            and seen
            and new
            and cheap
            and by.kind != chess.KING
            and not is_unsafe(board, by.square)
        ):
            return [GainsTime(target, scene.told(plies + 1))]
    return []


@dataclass(frozen=True)
class LeavesPassed(LineEnd):
    """The line ends without queens, with a passed pawn of the mover far up that is new."""

    pawn: Unit
    line: str = ""

    def found(self, scene: Scene) -> Sequence[Claim]:
        """It is passed in the last positions, was on no such file before, and is not attacked."""
        return left_passed(scene)


def left_passed(scene: Scene) -> list[LeavesPassed]:
    """The passed pawns that the line leaves."""
    white, had = scene.mover, _passed_files(scene.before, scene.mover)

    def stays(pawn: Unit) -> Callable[[chess.Board], bool]:
        piece = chess.Piece(chess.PAWN, white)
        return lambda board: (
            board.piece_at(pawn.square) == piece
            and is_passed(board, pawn.square, white)
            and not board.is_attacked_by(not white, pawn.square)
        )

    return [
        LeavesPassed(pawn, line)
        for pawn in units(scene.calm_boards[-1], white)
        if not scene.calm_boards[-1].queens
        and pawn.kind == chess.PAWN
        and pawn.square & 7 not in had
        and _rank(pawn) >= FAR_UP
        for line in _since(scene, stays(pawn))
    ]


def _rank(pawn: Unit) -> int:
    return pawn.square >> 3 if pawn.white else 7 - (pawn.square >> 3)


def _passed_files(board: chess.Board, white: bool) -> set[int]:
    pawns = board.pieces(chess.PAWN, white)
    return {square & 7 for square in pawns if is_passed(board, square, white)}


@dataclass(frozen=True)
class Invades(LineEnd):
    """A rook of the mover comes to its seventh rank in the line, and stays there."""

    square: int
    line: str = ""

    def found(self, scene: Scene) -> Sequence[Claim]:
        """None stood there before; pawns on that rank or the king behind it are its aim."""
        return invaded(scene)


def invaded(scene: Scene) -> list[Invades]:
    """The squares on which rooks stand on the seventh rank at the end of the line."""
    white, end = scene.mover, scene.calm_boards[-1]
    rank, last = (chess.BB_RANK_7, chess.BB_RANK_8) if white else (chess.BB_RANK_2, chess.BB_RANK_1)
    aims = end.pieces_mask(chess.PAWN, not white) & rank
    aims |= end.pieces_mask(chess.KING, not white) & last
    if scene.before.pieces_mask(chess.ROOK, white) & rank or not aims:
        return []
    rooks = chess.scan_forward(end.pieces_mask(chess.ROOK, white) & rank)

    def stands(square: int) -> Callable[[chess.Board], bool]:
        rook = chess.Piece(chess.ROOK, white)
        return lambda board: board.piece_at(square) == rook and not is_unsafe(board, square)

    return [Invades(square, line) for square in rooks for line in _since(scene, stands(square))]


@dataclass(frozen=True)
class DrivesOut(LineEnd):
    """The line drives the other king from home, with queens on the board."""

    square: int  # where it stands in the end
    line: str = ""

    def found(self, scene: Scene) -> Sequence[Claim]:
        """It stood on its first two ranks, is further out in the last positions, and more open."""
        return driven_out(scene)


def driven_out(scene: Scene) -> list[DrivesOut]:
    """The square on which the other king ends, if it had to leave home."""
    other, end = not scene.mover, scene.calm_boards[-1]
    king = end.king(other)
    assert king is not None

    def is_out(board: chess.Board) -> bool:
        return _from_home(board, other) >= OUT and bool(board.queens)

    opened = exposure(end, other) > exposure(scene.before, other)
    if not opened or _from_home(scene.before, other) >= OUT:
        return []
    boards = scene.calm_boards
    leaves = (last for last, board in pairwise(boards) if is_out(board) and not is_out(last))
    if not all(board.is_check() for board in leaves):
        return []
    return [DrivesOut(king, line) for line in _since(scene, is_out)]


def _from_home(board: chess.Board, white: bool) -> int:
    king = board.king(white)
    assert king is not None
    return king >> 3 if white else 7 - (king >> 3)


@dataclass(frozen=True)
class Settles(LineEnd):
    """A later move of the line brings a knight to an outpost far up."""

    square: int
    line: str = ""

    def found(self, scene: Scene) -> Sequence[Claim]:
        """The square was no outpost before, no pawn can drive it away, and there it stays."""
        return settled(scene)


def settled(scene: Scene) -> list[Settles]:
    """The outposts on which knights of the mover stand at the end of the line and not before."""
    white, end = scene.mover, scene.calm_boards[-1]
    knight = chess.Piece(chess.KNIGHT, white)

    def stays(square: int) -> Callable[[chess.Board], bool]:
        return lambda board: board.piece_at(square) == knight and is_outpost(board, square, white)

    return [
        Settles(square, line)
        for square in end.pieces(chess.KNIGHT, white)
        if (square >> 3 if white else 7 - (square >> 3)) >= FAR_UP
        and scene.after.piece_at(square) != knight
        and not is_outpost(scene.before, square, white)
        for line in _since(scene, stays(square))
        if line
    ]


@dataclass(frozen=True)
class GetsBishops(LineEnd):
    """The line leaves only the mover with both bishops."""

    line: str = ""

    def found(self, scene: Scene) -> Sequence[Claim]:
        """It was not so before, is so after a trade at once, and to the end of an even line."""
        return bishops_got(scene)


def bishops_got(scene: Scene) -> list[GetsBishops]:
    """That the mover alone keeps both bishops, where it had no such thing before."""

    def alone(board: chess.Board) -> bool:
        return has_bishop_pair(board, scene.mover) and not has_bishop_pair(board, not scene.mover)

    had, has = (balance(board, scene.mover) for board in (scene.start, scene.calm_boards[-1]))
    if alone(scene.before) or had != has:
        return []
    if not any(map(alone, scene.calm_boards[1 : TRADE + 1])):
        return []
    return [GetsBishops(line) for line in _since(scene, alone)]


@dataclass(frozen=True)
class Doubles(LineEnd):
    """A trade at once, or two, leaves the other side with doubled pawns."""

    file: int
    line: str = ""

    def found(self, scene: Scene) -> Sequence[Claim]:
        """They were not before, are so whatever takes back, and for two moves or to the end.

        Nothing is lost in that line.
        """
        return doubled(scene)


def _doubled_by(board: chess.Board, move: chess.Move) -> set[int]:
    """The files on which a side has doubled pawns, whatever it takes with where a move takes."""
    taken = board.generate_legal_captures(to_mask=chess.BB_SQUARES[move.to_square])
    after = (played(board, back) for back in (move, *taken))
    return set.intersection(*(doubled_files(each, board.turn) for each in after))


def doubled(scene: Scene) -> list[Doubles]:
    """The files on which the other side has doubled pawns after a trade or two, and had none."""
    boards, other = scene.calm_boards[: 2 * TRADE], not scene.mover
    even = balance(scene.before, scene.mover) <= balance(scene.calm_boards[-1], scene.mover)
    had = doubled_files(scene.after, other)
    answers = zip(boards[1:-1:2], scene.course[1::2], strict=False)
    files = {file for board, move in answers if even for file in _doubled_by(board, move)} - had

    def stays(file: int) -> Callable[[chess.Board], bool]:
        return lambda board: file in doubled_files(board, other)

    soon = boards[2 : 3 + LASTS]
    for file in sorted(files):
        if len(soon) > LASTS and all(map(stays(file), soon)):
            return [Doubles(file, scene.told(2))]  # by what takes back at once
    return [
        Doubles(file, line) for file in sorted(files) for line in _since(scene, stays(file)) if line
    ]


@dataclass(frozen=True)
class Castles(Claim):
    """The mover castles in the line."""

    line: str = ""

    def proved(self, scene: Scene) -> bool:
        """The line has it, after the move itself, and it was not possible before."""
        return self in castled(scene)


def castled(scene: Scene) -> list[Castles]:
    """Whether the mover castles soon, and could not at once."""
    if any(map(scene.before.is_castling, scene.before.generate_castling_moves())):
        return []
    moves = zip(scene.course_boards, scene.course, strict=False)
    for plies, (board, move) in enumerate(moves, start=1):
        if 1 < plies <= LATEST and board.turn == scene.mover and board.is_castling(move):
            return [Castles(scene.told(plies))]
    return []


def _since(scene: Scene, holds: Callable[[chess.Board], bool]) -> Iterator[str]:
    """The moves after which something holds to the end of the line, if it begins soon enough."""
    boards = scene.calm_boards
    plies = len(boards)
    while plies > 1 and holds(boards[plies - 1]):
        plies -= 1
    if plies <= SHOWN and plies <= len(boards) - LASTS:
        yield scene.told(plies)


FINDERS = (
    *(picked_up, queened, gained_time, left_passed, invaded, driven_out),
    *(settled, bishops_got, doubled, grabbed, castled, stopped),
)


def aftermaths(scene: Scene) -> Iterator[Claim]:
    """What the line leaves for good, proved."""
    for find in FINDERS:
        yield from find(scene)[:1]


WEIGHTS: dict[type[Claim], Weights] = {
    Queens: Weights(0.9, 0.9, 0.9),
    PicksUp: Weights(0.66, 0.66, 0.66),
    Takes: Weights(0.56, 0.56, 0.56),
    DrivesOut: Weights(0.54, 0.54, 0.52),
    LeavesPassed: Weights(0.52, 0.53, 0.52),
    Invades: Weights(0.5, 0.5, 0.48),
    Settles: Weights(0.46, 0.48, 0.48),
    Doubles: Weights(0.44, 0.44, 0.44),
    GetsBishops: Weights(0.3, 0.45, 0.46),
    GainsTime: Weights(0.36, 0.36, 0.36),
    StopsPassed: Weights(0.56, 0.58, 0.58),
    Castles: Weights(0.45, 0.42, 0.4),
}
