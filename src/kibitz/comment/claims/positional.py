"""Claims about what a move changes for good: pawns, files, squares, places of pieces, phases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import chess

from kibitz.comment import force
from kibitz.comment.analysis import LAST_LOOK, PAIR
from kibitz.comment.claims.claim import (
    CENTIPAWNS,
    MINOR,
    Claim,
    Weights,
    falls_along,
    passed,
    stands,
)
from kibitz.comment.facts import (
    Scene,
    Unit,
    doubled_files,
    has_bishop_pair,
    is_half_open,
    is_isolated,
    is_open,
    is_outpost,
    is_passed,
    phase,
    played,
    units,
)
from kibitz.comment.judge import BETTER

KINGS_AND_PAWN = 3  # men on the board
KINGSIDE_AND_QUEENSIDE = (
    (chess.BB_FILE_F | chess.BB_FILE_G | chess.BB_FILE_H),
    (chess.BB_FILE_A | chess.BB_FILE_B | chess.BB_FILE_C),
)


@dataclass(frozen=True)
class PassedPawn(Claim):
    """The mover has a passed pawn that was none before."""

    pawn: Unit

    def proved(self, scene: Scene) -> bool:
        """The pawn is passed after the move, and was not before."""
        return _is_passed_pawn(scene, self.pawn) and not _was_passed(scene, self.pawn)


@dataclass(frozen=True)
class PassedPawnAdvances(PassedPawn):
    """A passed pawn comes near its goal."""

    def proved(self, scene: Scene) -> bool:
        """It has moved, to its sixth rank or further, was passed before and is so still."""
        pawn, was_passed = self.pawn, _was_passed(scene, self.pawn)
        rank = pawn.square >> 3 if pawn.white else 7 - (pawn.square >> 3)
        return pawn == scene.piece and was_passed and rank >= 5 and _is_passed_pawn(scene, pawn)


def _is_passed_pawn(scene: Scene, pawn: Unit) -> bool:
    """Whether a pawn of the mover stands there, and is passed, after the move."""
    ours = pawn.kind == chess.PAWN and pawn.white == scene.mover and stands(scene.after, pawn)
    return ours and is_passed(scene.after, pawn.square, pawn.white)


def _was_passed(scene: Scene, pawn: Unit) -> bool:
    """Whether the same pawn was passed before the move, on the same file."""
    moved = pawn == scene.piece
    came_from = scene.move.from_square if moved else pawn.square
    same_file = came_from & 7 == pawn.square & 7
    return same_file and is_passed(scene.before, came_from, pawn.white)


@dataclass(frozen=True)
class IsolatedPawn(Claim):
    """A pawn has lost its last neighbours."""

    pawn: Unit

    def proved(self, scene: Scene) -> bool:
        """It is isolated now, and the side had neighbours for it before."""
        pawn = self.pawn
        before = scene.move.from_square if pawn == scene.piece else pawn.square
        was = scene.before.piece_at(before) == chess.Piece(chess.PAWN, pawn.white)
        stayed = was and stands(scene.after, pawn) and pawn.kind == chess.PAWN
        had = is_isolated(scene.before, before, pawn.white)
        return stayed and not had and is_isolated(scene.after, pawn.square, pawn.white)


@dataclass(frozen=True)
class DoubledPawns(Claim):
    """A side has pawns in front of each other that were not so before."""

    white: bool
    file: int

    def proved(self, scene: Scene) -> bool:
        """Two pawns stand on the file now and not before."""
        now, had = (doubled_files(board, self.white) for board in (scene.after, scene.before))
        return self.file in now - had


@dataclass(frozen=True)
class TakesFile(Claim):
    """A rook goes to a file without pawns, or without own ones."""

    rook: Unit
    open: bool

    def proved(self, scene: Scene) -> bool:
        """The rook has just come there, and no enemy rook or queen stands on it."""
        file, board = self.rook.square & 7, scene.after
        half_open = is_half_open(board, file, self.rook.white)
        clear = is_open(board, file) if self.open else half_open
        is_rook = self.rook == scene.piece and self.rook.kind == chess.ROOK
        theirs = board.occupied_co[not scene.mover] & (board.rooks | board.queens)
        clear = clear and not theirs & chess.BB_FILES[file]
        return clear and is_rook and scene.move.from_square & 7 != file


@dataclass(frozen=True)
class Seventh(Claim):
    """A rook reaches the seventh rank, with pawns to attack or the king to hold there."""

    rook: Unit

    def proved(self, scene: Scene) -> bool:
        """It has just come there, and so are enemy pawns; or the king is behind it."""
        rank = 6 if self.rook.white else 1
        if scene.move.from_square >> 3 == rank:
            return False
        pawns = scene.after.pieces_mask(chess.PAWN, not self.rook.white)
        king = scene.after.king(not self.rook.white)
        back = king is not None and king >> 3 == (7 if self.rook.white else 0)
        useful = back or (pawns & chess.BB_RANKS[rank]).bit_count() > 1
        is_rook = self.rook == scene.piece and self.rook.kind == chess.ROOK
        return is_rook and self.rook.square >> 3 == rank and useful


@dataclass(frozen=True)
class Outpost(Claim):
    """A knight or bishop on a guarded square where no pawn can attack it."""

    piece: Unit

    def proved(self, scene: Scene) -> bool:
        """A pawn guards it, no enemy pawn is beside and before it, and nothing may exchange it."""
        safe = is_outpost(scene.after, self.piece.square, self.piece.white)
        return self.piece == scene.piece and safe and not _is_exchangeable(scene)


def _is_exchangeable(scene: Scene) -> bool:
    """Whether a knight or bishop may take the piece that has moved, at once."""
    takes = scene.after.generate_legal_moves(to_mask=chess.BB_SQUARES[scene.landed])
    return any(scene.after.piece_type_at(take.from_square) in MINOR for take in takes)


@dataclass(frozen=True)
class TakesSquare(Claim):
    """What moves attacks a square to which a piece of the other side would go."""

    piece: Unit
    square: int

    def proved(self, scene: Scene) -> bool:
        """It could have gone there, took nothing and stayed, and would be lost there now."""
        goes, idle = chess.Move(self.piece.square, self.square), passed(scene.before)
        theirs = self.piece.white != scene.mover and self.piece.kind not in (chess.PAWN, chess.KING)
        now = self.square in scene.after.attacks(scene.landed)
        new = self.square not in scene.before.attacks(scene.move.from_square)
        if idle is None or not (theirs and now and new):
            return False
        boards = idle, scene.after
        if not all(stands(board, self.piece) and goes in board.legal_moves for board in boards):
            return False
        if idle.is_capture(goes):
            return False
        had, has = (force.loss_on(played(board, goes), self.square) for board in boards)
        takes = scene.after.generate_legal_captures(to_mask=chess.BB_SQUARES[scene.landed])
        lost = any((force.gain(scene.after, take) or 0) >= force.LEAST for take in takes)
        return not (lost or had) and has >= CENTIPAWNS[chess.PAWN]


@dataclass(frozen=True)
class BishopPair(Claim):
    """Only one side is left with both bishops."""

    white: bool  # who has them

    def proved(self, scene: Scene) -> bool:
        """It was not so before the move, which wins nothing, for that says more."""
        after, gain = scene.after, force.gain(scene.before, scene.move)
        return (
            (gain is None or gain < force.LEAST)
            and has_bishop_pair(after, self.white)
            and has_bishop_pair(scene.before, not self.white)
            and not has_bishop_pair(after, not self.white)
        )


@dataclass(frozen=True)
class LosesCastling(Claim):
    """A king that has not castled may not do so any more."""

    white: bool

    def proved(self, scene: Scene) -> bool:
        """The rights are gone by a king's or rook's choice, and there is something to fear."""
        return (
            bool(scene.after.queens)
            and scene.before.has_castling_rights(self.white)
            and not scene.after.has_castling_rights(self.white)
            and not scene.before.is_castling(scene.move)
            and any(
                played(scene.before, move).has_castling_rights(self.white)
                for move in scene.before.legal_moves
            )
        )


@dataclass(frozen=True)
class OppositeCastling(Claim):
    """The kings have castled on opposite wings."""

    def proved(self, scene: Scene) -> bool:
        """The move castles, and the other king stands on the other wing, queens on the board."""
        if not scene.before.is_castling(scene.move) or not scene.after.queens:
            return False
        white, black = (scene.after.kings & side for side in scene.after.occupied_co[::-1])
        wings = (KINGSIDE_AND_QUEENSIDE, KINGSIDE_AND_QUEENSIDE[::-1])
        return any(white & wing and black & other for wing, other in wings)


@dataclass(frozen=True)
class QueensLeave(Claim):
    """The last queens leave the board."""

    def proved(self, scene: Scene) -> bool:
        """The mover's queen had gone before, or goes with this exchange."""
        return bool(scene.before.queens) and not scene.after.queens


@dataclass(frozen=True)
class PawnEnding(Claim):
    """Only kings and pawns are left."""

    drawn: bool = False  # it is king and pawn against king, and a draw

    def proved(self, scene: Scene) -> bool:
        """The last piece goes with the move, or once it was taken back."""
        end = taken_back(scene)
        new = is_pawn_ending(end) and not is_pawn_ending(scene.before)
        return new and (self.drawn is _is_drawn(scene, end))


def _is_drawn(scene: Scene, end: chess.Board) -> bool:
    """Whether king and pawn against king is a draw, which `three_men` makes sure of."""
    if end.occupied.bit_count() != KINGS_AND_PAWN:
        return False
    look = scene.analysis.deeper(end)
    return look is not None and not look.score.amount and look.mate is None


def taken_back(scene: Scene) -> chess.Board:
    """The position after a move, or once it was taken back if that is expected."""
    back = scene.captured and scene.reply and scene.reply.to_square == scene.landed
    return scene.boards[2 if back else 1]


def is_pawn_ending(board: chess.Board) -> bool:
    """Whether there are only kings and pawns."""
    return bool(board.pawns) and board.occupied == board.pawns | board.kings


@dataclass(frozen=True)
class NearsBoth(Claim):
    """A king comes nearer to an enemy passed pawn and to its own one at once."""

    target: Unit
    to: Unit

    def proved(self, scene: Scene) -> bool:
        """So it is of the squares where they are promoted; all other moves are mistakes."""
        board, pawns = scene.after, (self.target, self.to)
        if scene.piece.kind != chess.KING or scene.captured or not is_pawn_ending(board):
            return False
        if [pawn.white for pawn in pawns] != [not scene.mover, scene.mover]:
            return False
        if not all(_is_runner_neared(scene, pawn) for pawn in pawns):
            return False
        had = scene.analysis.deeper(scene.before, LAST_LOOK, PAIR) or scene.had
        if had is None or had.other is None or had.line[:1] != (scene.move,):
            return False
        return had.value - had.other.value >= BETTER


def _is_runner_neared(scene: Scene, pawn: Unit) -> bool:
    """Whether a king's move goes nearer to where a passed pawn is promoted."""
    goal = chess.square(pawn.square & 7, 7 if pawn.white else 0)
    now, had = (
        chess.square_distance(square, goal) for square in (scene.landed, scene.move.from_square)
    )
    runs = stands(scene.after, pawn) and is_passed(scene.after, pawn.square, pawn.white)
    return pawn.kind == chess.PAWN and runs and now < had


@dataclass(frozen=True)
class OppositeBishops(Claim):
    """Each side has one bishop, on squares of opposite colours, and no other minor piece."""

    def proved(self, scene: Scene) -> bool:
        """It is so after the move, or once it was taken back, and was not before.

        Or the last rooks and queens go with it.
        """
        after, before = taken_back(scene), scene.before
        heavy = [board.rooks | board.queens for board in (before, after)]
        had = has_opposite_bishops(before) and not (heavy[0] and not heavy[1])
        return has_opposite_bishops(after) and not had


def has_opposite_bishops(board: chess.Board) -> bool:
    """Whether bishops of opposite colours are the only minor pieces."""
    return (
        not board.knights
        and len(board.pieces(chess.BISHOP, True)) == 1 == len(board.pieces(chess.BISHOP, False))
        and (board.bishops & chess.BB_LIGHT_SQUARES).bit_count() == 1
    )


@dataclass(frozen=True)
class OpensKing(Claim):
    """A pawn that stood before its castled king has left its file."""

    white: bool  # whose king
    file: int

    def proved(self, scene: Scene) -> bool:
        """A pawn at most two ranks before the king leaves a file beside it bare, queens on."""
        king = scene.after.king(self.white)
        if king is None or king != scene.before.king(self.white) or not scene.after.queens:
            return False
        file = chess.BB_FILES[self.file]
        near = (
            chess.BB_RANK_2 | chess.BB_RANK_3 if self.white else chess.BB_RANK_7 | chess.BB_RANK_6
        )
        before = scene.before.pieces_mask(chess.PAWN, self.white) & file & near
        after = scene.after.pieces_mask(chess.PAWN, self.white) & file
        at_home = king >> 3 == (0 if self.white else 7) and king & 7 not in (3, 4)
        return at_home and abs(self.file - (king & 7)) <= 1 and bool(before) and not after


def changes(scene: Scene) -> list[Claim]:
    """What a move changes in the structure, proved."""
    return [claim for claim in _candidates(scene) if claim.proved(scene) and lasts(claim, scene)]


def lasts(claim: Claim, scene: Scene) -> bool:
    """Whether what a claim says is still so after the moves that are expected next."""
    enemies = scene.after.pieces_mask(chess.PAWN, not scene.mover)
    if scene.captured and scene.after.attackers_mask(not scene.mover, scene.landed) & enemies:
        return False  # a pawn can take back
    for board in scene.boards[2:4]:
        match claim:
            case PassedPawnAdvances(pawn):
                so = not falls_along(scene.boards[1:], scene.follow, pawn.square)
            case PassedPawn(pawn):
                so = stands(board, pawn) and is_passed(board, pawn.square, pawn.white)
            case IsolatedPawn(pawn):
                pawn = _advanced(scene, pawn)
                so = stands(board, pawn) and is_isolated(board, pawn.square, pawn.white)
            case DoubledPawns(white, file):
                so = file in doubled_files(board, white)
            case BishopPair(white):
                so = has_bishop_pair(board, white) and not has_bishop_pair(board, not white)
            case OpensKing(white, file):
                so = not board.pieces_mask(chess.PAWN, white) & chess.BB_FILES[file]
            case OppositeBishops():
                so = has_opposite_bishops(board)
            case TakesFile() | Seventh() | Outpost():
                so = stands(scene.boards[2], scene.piece)
            case _:
                so = True
        if not so:
            return False
    return True


def _advanced(scene: Scene, pawn: Unit) -> Unit:
    """A pawn where it stands after the reply, which may advance it."""
    reply = scene.reply
    if reply is None or reply.from_square != pawn.square or reply.promotion:
        return pawn
    return pawn if scene.after.is_capture(reply) else pawn._replace(square=reply.to_square)


def _candidates(scene: Scene) -> Iterator[Claim]:
    yield from _pawn_claims(scene)
    yield from (BishopPair(True), BishopPair(False), LosesCastling(scene.mover))
    yield from (
        OppositeCastling(),
        QueensLeave(),
        PawnEnding(),
        PawnEnding(drawn=True),
        OppositeBishops(),
    )
    if scene.piece.kind == chess.KING and is_pawn_ending(scene.after):
        theirs, own = (units(scene.after, side) for side in (not scene.mover, scene.mover))
        yield from (NearsBoth(*pair) for pair in product(theirs, own))
    for file in range(8):
        if scene.captured is not None or scene.before.piece_type_at(scene.move.from_square) == 1:
            sides = (not scene.mover,) if scene.takes_back else (True, False)
            yield from (OpensKing(side, file) for side in sides)
    piece = scene.piece
    if piece.kind == chess.ROOK:
        if phase(scene.after) != "opening":
            yield from (TakesFile(piece, True), TakesFile(piece, False))
        yield Seventh(piece)
    elif piece.kind == chess.KNIGHT:
        yield Outpost(piece)


def _pawn_claims(scene: Scene) -> Iterator[Claim]:
    pawn_taken = scene.captured is not None and scene.captured.kind == chess.PAWN
    for white in (not scene.mover,) if pawn_taken else (True, False):
        yield from (DoubledPawns(white, file) for file in doubled_files(scene.after, white))
    if scene.before.pawns == scene.after.pawns or scene.move.promotion:
        return  # a new queen matters more than what pawns are left
    for pawn in units(scene.after, scene.mover):
        if pawn.kind != chess.PAWN:
            continue
        yield from (PassedPawn(pawn), PassedPawnAdvances(pawn))
    if scene.captured and scene.captured.kind > chess.PAWN:
        return  # which matters more than what it leaves
    if pawn_taken and scene.piece.kind != chess.PAWN:
        return
    pawns = (pawn for white in (True, False) for pawn in units(scene.after, white))
    yield from (IsolatedPawn(pawn) for pawn in pawns if _isolates(scene, pawn))


def is_advanced(pawn: Unit) -> bool:
    """Whether a pawn has reached its fourth rank."""
    return (pawn.square >> 3 if pawn.white else 7 - (pawn.square >> 3)) >= 3


def was_pawn(scene: Scene, pawn: Unit) -> bool:
    """Whether the same pawn stood there before the move."""
    return scene.before.piece_at(pawn.square) == chess.Piece(chess.PAWN, pawn.white)


def _isolates(scene: Scene, pawn: Unit) -> bool:
    """Whether a pawn in the centre becomes isolated, while its side keeps others."""
    file = pawn.square & 7
    if pawn.kind != chess.PAWN or file not in (2, 3, 4, 5):
        return False
    return file not in doubled_files(scene.after, pawn.white)


WEIGHTS: dict[type[Claim], Weights] = {
    PassedPawn: Weights(0.5, 0.55, 0.5),
    PassedPawnAdvances: Weights(0.5, 0.45, 0.35),
    IsolatedPawn: Weights(0.3, 0.45, 0.45),
    DoubledPawns: Weights(0.4, 0.45, 0.4),
    TakesFile: Weights(0.4, 0.4, 0.3),
    Seventh: Weights(0.5, 0.45, 0.35),
    Outpost: Weights(0.45, 0.5, 0.45),
    BishopPair: Weights(0.3, 0.45, 0.5),
    LosesCastling: Weights(0.6, 0.55, 0.45),
    OppositeCastling: Weights(0.45, 0.5, 0.45),
    QueensLeave: Weights(0.3, 0.35, 0.3),
    PawnEnding: Weights(0.5, 0.5, 0.45),
    NearsBoth: Weights(0.6, 0.66, 0.66),
    OppositeBishops: Weights(0.35, 0.5, 0.5),
    OpensKing: Weights(0.45, 0.5, 0.45),
}
