"""Features of endings: what theory, tables or searches prove where few pieces are left.

See `features`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import chess

from kibitz.comment import force
from kibitz.comment.analysis import LAST_LOOK
from kibitz.comment.claims.claim import Claim, Weights, stands, step
from kibitz.comment.claims.features import Feature, Finder
from kibitz.comment.claims.lines.outcomes import LineEnd
from kibitz.comment.claims.positional import is_pawn_ending, taken_back
from kibitz.comment.facts import (
    Scene,
    Unit,
    ahead,
    balance,
    captured_by,
    is_passed,
    phase,
    played,
    unit,
    units,
)
from kibitz.comment.judge import BETTER, WON, standing

BEHIND = 2  # pawns' worth from which a stalemate saves something
CLEARLY_BETTER = 0.32  # well above BETTER
SIXTH = 5  # the rank, from 0, on which a pawn no longer shelters its king from checks
BRIDGE = 3  # the rank, from 0, where the rook goes in the Lucena position
FAR = 3  # files between an outside passed pawn and the others
NEAR = 2  # squares between a king and the one before the pawn that it is to help
HELPED = 4  # moves to its promotion from which on a king helps a passed pawn
SOON = 8  # plies of the line within which it does
LAST_STEP = 4  # plies within which a king takes a passed pawn
FAR_UP = 4  # the rank, from 0, from which on a passed pawn or an outpost is worth words
RELATIVE = {True: 0, False: 56}  # turns squares so that a side plays up the board


def stalemate_trick(scene: Scene) -> Iterator[Feature]:
    """Who is not ahead offers a piece, and whatever takes it stalemates."""
    if balance(scene.before, scene.mover) > 0 or scene.piece.kind == chess.KING:
        return
    takes = [
        played(scene.after, move)
        for move in scene.after.legal_moves
        if move.to_square == scene.landed
    ]
    if takes and all(board.is_stalemate() for board in takes):
        yield Feature(stalemate_trick, scene.mover, (scene.piece,))


STALEMATE, CHECK, WINS, MATES = range(4)


def underpromotes(scene: Scene) -> Iterator[Feature]:
    """A pawn becomes less than a queen, and why: stalemate, a knight's check, a win, or mate."""
    move = scene.move
    if move.promotion in (None, chess.QUEEN):
        return
    queen = played(scene.before, chess.Move(move.from_square, move.to_square, chess.QUEEN))
    if scene.after.is_checkmate():
        if not queen.is_checkmate():
            yield Feature(underpromotes, scene.mover, (scene.piece,), counts=(MATES,))
    elif queen.is_stalemate():
        yield Feature(underpromotes, scene.mover, (scene.piece,), counts=(STALEMATE,))
    elif scene.after.is_check() and not queen.is_check():
        if force.loss_on(scene.after, scene.landed) >= force.LEAST:
            return
        yield Feature(underpromotes, scene.mover, (scene.piece,), counts=(CHECK,))
    elif scene.has is not None and scene.has.value <= -WON:
        look = scene.analysis.deeper(queen, LAST_LOOK)
        if look is not None and look.value >= -BETTER and look.line:
            answer = step(queen, look.line[0])
            yield Feature(underpromotes, scene.mover, (scene.piece,), step=answer, counts=(WINS,))


# --- pawns that run -------------------------------------------------------------------------------


def _left(pawn: Unit) -> tuple[int, int]:
    """How many moves a pawn needs, and the square where it is promoted."""
    square = pawn.square ^ RELATIVE[pawn.white]
    steps = 7 - (square >> 3) - (square >> 3 == 1)
    return steps, chess.square(square & 7, 7) ^ RELATIVE[pawn.white]


def _runner(board: chess.Board, white: bool) -> Unit | None:
    """A passed pawn with a free way, of a side whose opponent has only a king and pawns."""
    if board.occupied_co[not white] & ~(board.pawns | board.kings):
        return None
    for pawn in units(board, white):
        way = ahead(pawn.square, white, (pawn.square & 7,)) & board.occupied
        if pawn.kind == chess.PAWN and not way and is_passed(board, pawn.square, white):
            return pawn
    return None


def _is_outrun(board: chess.Board, pawn: Unit) -> bool:
    """Whether a king cannot catch a pawn, whoever is to move."""
    king = board.king(not pawn.white)
    assert king is not None
    steps, goal = _left(pawn)
    return chess.square_distance(king, goal) > steps + (board.turn != pawn.white)


def outruns(scene: Scene) -> Iterator[Feature]:
    """The other king is outside the square of a passed pawn that moves, or has become one."""
    pawn = _runner(scene.after, scene.mover)
    if pawn is None or not _is_outrun(scene.after, pawn) or scene.move.promotion:
        return
    if scene.has is not None and scene.has.value > -WON:
        return
    if scene.piece == pawn or _runner(scene.before, scene.mover) is None:
        yield Feature(outruns, scene.mover, (pawn,))


def enters_square(scene: Scene) -> Iterator[Feature]:
    """A king comes just in time to catch a pawn."""
    pawn = _runner(scene.after, not scene.mover)
    if pawn is None or scene.piece.kind != chess.KING or scene.before.is_check():
        return
    if scene.has is not None and scene.has.value > BETTER:
        return
    steps, goal = _left(pawn)
    was = chess.square_distance(scene.move.from_square, goal)
    if chess.square_distance(scene.landed, goal) == steps == was - 1:
        yield Feature(enters_square, scene.mover, (pawn,))


def breakthrough(scene: Scene) -> Iterator[Feature]:
    """A pawn is given in a pawn ending so that another one is promoted, and none was passed."""
    board, white = scene.after, scene.mover
    if not is_pawn_ending(scene.before) or scene.piece.kind != chess.PAWN:
        return
    takers = board.attackers_mask(not white, scene.landed) & board.pawns
    own = scene.before.pieces(chess.PAWN, white)
    if not takers or any(is_passed(scene.before, pawn, white) for pawn in own):
        return
    if scene.captured is not None:
        return  # which trades a pawn
    if scene.has is None or scene.has.value > -WON:
        return
    look = scene.analysis.deeper(board, LAST_LOOK)
    if look is None or look.value > -WON:
        return
    line = scene.analysis.expected(board, LAST_LOOK) or ()
    if any(move.promotion for move in (*scene.course[2::2], *line[1::2])):
        yield Feature(breakthrough, white, (scene.piece,))


def outside_passed(scene: Scene) -> Iterator[Feature]:
    """In a pawn ending a side has a passed pawn far from all enemy pawns, of which none is."""
    pawn = outside_pawn(scene.after, scene.mover)
    if pawn is None or outside_pawn(scene.before, scene.mover) is not None:
        return
    had = stands(scene.before, pawn) and is_passed(scene.before, pawn.square, scene.mover)
    if not had and not force.loss_on(scene.after, pawn.square):
        yield Feature(outside_passed, scene.mover, (pawn,))


def outside_pawn(board: chess.Board, white: bool) -> Unit | None:
    """A passed pawn in a pawn ending, far from all enemy pawns, of which none is passed."""
    theirs = board.pieces(chess.PAWN, not white)
    if not is_pawn_ending(board) or any(is_passed(board, pawn, not white) for pawn in theirs):
        return None
    for square in board.pieces(chess.PAWN, white):
        far = all(abs((square & 7) - (pawn & 7)) >= FAR for pawn in theirs)
        if theirs and far and is_passed(board, square, white):
            return unit(board, square)
    return None


def diverts(scene: Scene) -> Iterator[Feature]:
    """A king has to go for an outside passed pawn, away from its pawns, to which ours goes."""
    white, pawn = scene.mover, outside_pawn(scene.after, scene.mover)
    if pawn is None or _won(scene) < WON:
        return
    look = scene.analysis.deeper(scene.after, LAST_LOOK)
    if look is None or look.value > -WON:
        return
    line = scene.analysis.expected(scene.after, LAST_LOOK)
    longer = replace(scene, follow=tuple(line)) if line else scene
    far = _distances(scene.after, pawn, not white)
    for board in longer.course_boards[3::2]:
        runner = next(_passers(board, white, pawn.square & 7), None)
        now = None if runner is None else _distances(board, unit(board, runner), not white)
        if now is None or far is None or not (now[0] < far[0] and now[1] > far[1]):
            continue
        if any(at <= NEAR for at in _ways(board, white)):
            yield Feature(diverts, white, (pawn,))
            return


def _distances(board: chess.Board, pawn: Unit, white: bool) -> tuple[int, int] | None:
    """A king's ways to an enemy passed pawn, and to the nearest of its own pawns."""
    king, own = board.king(white), board.pieces(chess.PAWN, white)
    if king is None or not own:
        return None
    return chess.square_distance(king, pawn.square), min(
        chess.square_distance(king, square) for square in own
    )


def _ways(board: chess.Board, white: bool) -> list[int]:
    """How far a king is from the other side's pawns."""
    king = board.king(white)
    assert king is not None
    return [chess.square_distance(king, at) for at in board.pieces(chess.PAWN, not white)]


def _won(scene: Scene) -> float:
    """The mover's value, as far as it is known."""
    return -1.0 if scene.value is None else scene.value


def _passers(board: chess.Board, white: bool, file: int) -> Iterator[int]:
    """Squares of a side's passed pawns on a file."""
    for square in chess.scan_forward(board.pieces_mask(chess.PAWN, white) & chess.BB_FILES[file]):
        if is_passed(board, square, white):
            yield square


def simplifies(scene: Scene) -> Iterator[Feature]:
    """The last pieces are traded, not by a move that takes back, for a won or better pawn ending.

    `counts` are 2 for a won one, 1 for a better one.
    """
    if scene.captured is None or scene.takes_back:
        return
    end = taken_back(scene)
    if not is_pawn_ending(end) or is_pawn_ending(scene.after) or scene.value is None:
        return
    look = scene.analysis.deeper(scene.after, LAST_LOOK)
    stands_at = min(scene.value, -look.value) if look is not None else 0.0
    if stands_at >= CLEARLY_BETTER:
        yield Feature(simplifies, scene.mover, counts=(standing(stands_at),))


# --- positions that have a name -------------------------------------------------------------------


def philidor(scene: Scene) -> Iterator[Feature]:
    """Rook against rook and pawn: the rook keeps the king from its sixth rank, the other is home.

    The pawn has not come further than its fifth rank, nor the king beside it.
    """
    if _is_philidor(scene.after, scene.mover) and not _is_philidor(scene.before, scene.mover):
        gain = force.gain(scene.after)
        if gain is not None and gain < force.LEAST:
            yield Feature(philidor, scene.mover, (scene.piece,))


def _rooks(board: chess.Board, white: bool) -> tuple[int, int, int, int, int] | None:
    """Of a side's king, rook and pawn against king and rook: these, the other king and rook."""
    if board.occupied != board.kings | board.rooks | board.pawns:
        return None
    rooks = [list(board.pieces(chess.ROOK, side)) for side in (white, not white)]
    pawns, kings = list(board.pieces(chess.PAWN, white)), [board.king(white), board.king(not white)]
    if [len(rook) for rook in rooks] != [1, 1] or len(pawns) != 1 or board.pawns.bit_count() != 1:
        return None
    turn = RELATIVE[white]
    own, other = kings
    assert own is not None
    assert other is not None
    return own ^ turn, rooks[0][0] ^ turn, pawns[0] ^ turn, other ^ turn, rooks[1][0] ^ turn


def _is_philidor(board: chess.Board, defends: bool) -> bool:
    squares = _rooks(board, not defends)
    if squares is None:
        return False
    king, _, pawn, home, rook = squares
    goal = chess.square(pawn & 7, 7)
    cut = rook >> 3 == 5 and king >> 3 <= 4 and pawn >> 3 <= 4
    apart = chess.square_distance(king, rook) > 1  # which would win a tempo
    return cut and apart and chess.square_distance(home, goal) <= 1


def checks_from_behind(scene: Scene) -> Iterator[Feature]:
    """Philidor's defence goes on: the pawn is on its sixth rank, and the rook goes far behind it.

    The king cannot hide from its checks there, as the pawn has gone on.
    """
    squares, value = _rooks(scene.after, not scene.mover), scene.value
    if squares is None or scene.piece.kind != chess.ROOK or value is None or abs(value) >= BETTER:
        return
    _, _, pawn, home, rook = squares
    came = scene.move.from_square ^ RELATIVE[not scene.mover]
    goal = chess.square(pawn & 7, 7)
    if pawn >> 3 == SIXTH and rook >> 3 <= 1 < came >> 3 and chess.square_distance(home, goal) <= 1:
        yield Feature(checks_from_behind, scene.mover, (scene.piece,))


def escorts(scene: Scene) -> Iterator[Feature]:
    """Without queens the king goes up to a far advanced passed pawn, to help it on.

    It comes near the square before the pawn, or stands beside that square, or the next, soon.
    """
    board, white, quiet = scene.after, scene.mover, not scene.captured
    came, king = scene.move.from_square, scene.landed
    if scene.piece.kind != chess.KING or not quiet or board.queens:
        return
    if phase(board) != "endgame" or (scene.has is not None and scene.has.value >= BETTER):
        return
    up = 8 if white else -8
    for pawn in units(board, white):
        steps, goal = _left(pawn)
        if pawn.kind != chess.PAWN or steps > HELPED or not is_passed(board, pawn.square, white):
            continue
        way = [*range(pawn.square + up, goal + up, up)]
        had, has = (chess.square_distance(square, way[0]) for square in (came, king))
        if has >= had or had <= 1 or way[0] in scene.before.attacks(came):
            continue
        later = [there.king(white) or 0 for there in scene.boards[1 : SOON + 1]]
        helps = has <= NEAR or any(
            chess.square_distance(square, ahead) <= 1 for square in later for ahead in way
        )
        kept = all(
            board.piece_type_at(square) == chess.PAWN and board.color_at(square) == white
            for board, square in _places(scene, pawn)
        )
        if helps and kept:
            yield Feature(escorts, white, (pawn,))
            return


def _places(scene: Scene, pawn: Unit) -> Iterator[tuple[chess.Board, int]]:
    """The positions of the line with the square of a pawn, until it is promoted."""
    square = pawn.square
    for move, board in zip(scene.follow[: SOON - 1], scene.boards[2 : SOON + 1], strict=False):
        if move.from_square == square and move.promotion:
            return
        square = move.to_square if move.from_square == square else square
        yield board, square


def lucena(scene: Scene) -> Iterator[Feature]:
    """Rook and pawn against rook: the king stands before its pawn, and the other one is cut off."""
    if not _is_lucena(scene.after, scene.mover) or _is_lucena(scene.before, scene.mover):
        return
    look, gain = scene.analysis.deeper(scene.after), force.gain(scene.after)
    if gain is not None and gain < force.LEAST and (look is None or look.value <= -WON):
        yield Feature(lucena, scene.mover, (scene.piece,))


def _is_lucena(board: chess.Board, attacks: bool) -> bool:
    squares = _rooks(board, attacks)
    if squares is None:
        return False
    king, rook, pawn, other, _ = squares
    file, away = pawn & 7, (other & 7) - (pawn & 7)
    between = abs(away) > 2 or (abs(away) == 2 and (rook & 7) * 2 == file * 2 + away)
    return pawn >> 3 == 6 and 0 < file < 7 and king == pawn + 8 and abs(away) >= 2 and between


def bridge(scene: Scene) -> Iterator[Feature]:
    """In the Lucena position the rook goes to its fourth rank, from where it shields the king."""
    rank = scene.landed >> 3 if scene.mover else 7 - (scene.landed >> 3)
    if scene.piece.kind != chess.ROOK or rank != BRIDGE or scene.captured:
        return
    if not _is_lucena(scene.before, scene.mover) or force.loss_on(scene.after, scene.landed):
        return
    if scene.value is None or scene.value >= WON:
        yield Feature(bridge, scene.mover, (scene.piece,))


def readies_bridge(scene: Scene) -> Iterator[Feature]:
    """A check drives the king off: wherever it goes, the Lucena position is there."""
    if scene.piece.kind != chess.ROOK or not scene.after.is_check():
        return
    steps = scene.after.generate_legal_moves(from_mask=scene.after.kings)
    then = [played(scene.after, move) for move in steps]
    wins = scene.value is None or scene.value >= WON
    if then and wins and all(_is_lucena(board, scene.mover) for board in then):
        yield Feature(readies_bridge, scene.mover, (scene.piece,))


def rook_fortress(scene: Scene) -> Iterator[Feature]:
    """Rook and pawn against a queen: the pawn is at home, guards the rook and has its king."""
    now, had = (_is_fortress(board, scene.mover) for board in (scene.after, scene.before))
    gain = force.gain(scene.after) if now and not had else None
    if gain is not None and gain < force.LEAST:
        yield Feature(rook_fortress, scene.mover, (scene.piece,))


def _is_fortress(board: chess.Board, white: bool) -> bool:
    """Whether a lone queen can get no further against a side's king, rook and one pawn."""
    own, other = board.occupied_co[white], board.occupied_co[not white]
    rooks, pawns = board.rooks & own, board.pawns & own
    if other != (board.kings | board.queens) & other or other.bit_count() != 2:
        return False
    if own.bit_count() != 3 or rooks.bit_count() != 1 or pawns.bit_count() != 1:
        return False
    pawn, king = pawns.bit_length() - 1, board.king(white)
    home = pawn >> 3 == (1 if white else 6) and 0 < pawn & 7 < 7
    near = king is not None and chess.square_distance(king, pawn) <= 1
    return home and near and bool(board.attacks_mask(pawn) & rooks)


def wrong_bishop(scene: Scene) -> Iterator[Feature]:
    """Bishop and rook's pawns: the bishop does not guard the corner, where the other king is.

    After the move, or once it was taken back.
    """
    takes = scene.after.generate_legal_captures(to_mask=chess.BB_SQUARES[scene.landed])
    back = [played(scene.after, take) for take in takes if scene.captured]
    for white in (True, False):
        left = [_is_wrong(board, white) for board in back or [scene.after]]
        if all(left) and not _is_wrong(scene.before, white):
            yield Feature(wrong_bishop, not white)


def _is_wrong(board: chess.Board, white: bool) -> bool:
    """Whether a side has that bishop, and the other one a king in the corner or beside it."""
    pawns, bishops = board.pieces_mask(chess.PAWN, white), board.pieces_mask(chess.BISHOP, white)
    king, own = board.king(not white), board.occupied_co[white]
    if own != pawns | bishops | board.pieces_mask(chess.KING, white) or not (pawns and bishops):
        return False
    files = {square & 7 for square in chess.scan_forward(pawns)}
    corner = chess.square(min(files), 7 if white else 0)
    light = bool(chess.BB_LIGHT_SQUARES & chess.BB_SQUARES[corner])
    right = bishops & (chess.BB_LIGHT_SQUARES if light else chess.BB_DARK_SQUARES)
    bare = not board.occupied_co[not white] & (board.pawns | board.rooks | board.queens)
    near = king is not None and chess.square_distance(king, corner) <= 1
    return bare and files in ({0}, {7}) and not right and near


@dataclass(frozen=True)
class StopsPassed(LineEnd):
    """The king goes and takes a passed pawn that has come far."""

    pawn: Unit
    line: str = ""

    def found(self, scene: Scene) -> Sequence[Claim]:
        """It takes it where it stood before the move, in two moves or three."""
        return stopped(scene)


def stopped(scene: Scene) -> list[StopsPassed]:
    """The passed pawn to which the king goes in the line, without queens."""
    boards, moves = scene.course_boards, scene.course
    if scene.piece.kind != chess.KING or scene.before.queens:
        return []
    for plies in range(2, min(LAST_STEP + 1, len(moves)), 2):
        board, move = boards[plies], moves[plies]
        took = captured_by(board, move)
        if took is None or board.piece_type_at(move.from_square) != chess.KING:
            continue
        was_passed = is_passed(scene.before, took.square, took.white)
        rank = (took.square ^ RELATIVE[took.white]) >> 3
        if took.kind == chess.PAWN and was_passed and stands(scene.before, took) and rank >= FAR_UP:
            return [StopsPassed(took, scene.told(plies + 1))]
    return []


@dataclass(frozen=True)
class WrongBishop(Claim):
    """A side is left with a bishop that does not guard the corner where its pawns are promoted."""

    white: bool

    def proved(self, scene: Scene) -> bool:
        """It is the mover's, by its own move, and the other king holds the corner."""
        found = any(claim.white != scene.mover for claim in wrong_bishop(scene))
        return found and self.white == scene.mover


ENDING_FINDERS: dict[Finder, Weights] = {
    stalemate_trick: Weights(0.93, 0.93, 0.93, sharp=True),
    underpromotes: Weights(0.92, 0.92, 0.92, sharp=True, like="offers_trade Threatens PassedPawn"),
    outruns: Weights(
        0.82, 0.8, 0.75, once=True, like="PassedPawn PassedPawnAdvances Runs Threatens"
    ),
    enters_square: Weights(0.8, 0.75, 0.7, once=True, like="king_to_centre Parries"),
    breakthrough: Weights(0.87, 0.9, 0.9, like="GivesUp PassedPawn strikes OnlyGood"),
    outside_passed: Weights(0.6, 0.66, 0.66, like="PassedPawn"),
    diverts: Weights(0.68, 0.72, 0.7, like="outside_passed PassedPawnAdvances"),
    simplifies: Weights(0.7, 0.76, 0.76, like="PawnEnding QueensLeave trades_ahead"),
    escorts: Weights(0.5, 0.58, 0.56, like="king_to_centre"),
    philidor: Weights(0.8, 0.85, 0.85, like="king_to_centre"),
    checks_from_behind: Weights(0.8, 0.85, 0.85, like="behind_passed OnlyMove OnlyGood"),
    bridge: Weights(0.8, 0.85, 0.85, like="lucena"),
    readies_bridge: Weights(0.8, 0.85, 0.85, like="lucena OnlyMove OnlyGood"),
    lucena: Weights(0.8, 0.85, 0.85, like="king_to_centre behind_passed"),
    rook_fortress: Weights(0.8, 0.85, 0.85, like="TakesFile OnlyMove OnlyGood"),
    wrong_bishop: Weights(0.8, 0.84, 0.84),
}
