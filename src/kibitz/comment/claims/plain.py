"""What a move plainly does, said where a reader asks of it and there is nothing more to say."""

from __future__ import annotations

from collections.abc import Iterator

import chess

from kibitz.comment import force
from kibitz.comment.claims.claim import MINOR, Weights, passed, step
from kibitz.comment.claims.endings import outside_pawn
from kibitz.comment.claims.features import Feature, Finder
from kibitz.comment.claims.ideas import has_minority
from kibitz.comment.facts import Scene, Unit, is_defended, is_unsafe, phase, unit

LONGER = 5  # plies of the expected line within which a king castles
STEPS, BLOCKS, TAKES = range(3)  # what answers a check
PUSHED = 4  # the rank of its side, from 1, from which on a pawn that advances is worth a word


def meets_check(scene: Scene) -> Iterator[Feature]:
    """A side in check moves its king, puts something between, or takes what gives check.

    `counts` say which.
    """
    if scene.before.is_check():
        blocks = TAKES if scene.captured is not None else BLOCKS
        how = STEPS if scene.piece.kind == chess.KING else blocks
        yield Feature(meets_check, scene.mover, (scene.piece,), counts=(how,))


def castles(scene: Scene) -> Iterator[Feature]:
    """A side castles; `counts` are 1 where its king leaves the middle files."""
    if scene.before.is_castling(scene.move):
        leaves = scene.move.from_square & 7 in (3, 4) and scene.landed & 7 not in (3, 4)
        yield Feature(castles, scene.mover, counts=(int(leaves),))


def trades_evenly(scene: Scene) -> Iterator[Feature]:
    """A piece takes one of its kind, a bishop a knight or the other way round, and is taken.

    `counts` are 1 where they are of one kind.
    """
    took, by, back = scene.captured, scene.piece, scene.reply
    if took is None or back is None or back.to_square != scene.landed or scene.move.promotion:
        return
    if scene.after.is_capture(back) and _worth_as_much(took, by):
        yield Feature(trades_evenly, scene.mover, (took, by), counts=(int(took.kind == by.kind),))


def expects_trade(scene: Scene) -> Iterator[Feature]:
    """The other side is expected to take a piece with one of its kind, and is taken in turn.

    It could not do so before.
    """
    take, back, idle = scene.reply, scene.next, passed(scene.before)
    if take is None or back is None or idle is None or scene.captured is not None:
        return
    taken, by = (scene.after.piece_type_at(s) for s in (take.to_square, take.from_square))
    new = take.to_square == scene.landed or take not in idle.legal_moves
    if taken == by != chess.PAWN and back.to_square == take.to_square and new:
        yield Feature(expects_trade, scene.mover, counts=(taken or 0,))


def shuns_trade(scene: Scene) -> Iterator[Feature]:
    """A piece leaves a square where one of the same worth could take it, and be taken.

    `counts` are 1 where they are of one kind.
    """
    idle, left = passed(scene.before), scene.move.from_square
    if idle is None or scene.captured is not None or scene.piece.kind == chess.PAWN:
        return
    if force.loss_on(scene.before, left) >= force.LEAST or scene.after.is_check():
        return
    was = unit(scene.before, left)
    for take in idle.generate_legal_captures(to_mask=chess.BB_SQUARES[left]):
        by = unit(idle, take.from_square)
        if _worth_as_much(by, was) and scene.landed not in scene.after.attacks(by.square):
            same = int(by.kind == was.kind)
            yield Feature(shuns_trade, scene.mover, (by, scene.piece), counts=(same,))
            return


def hits(scene: Scene) -> Iterator[Feature]:
    """What moved attacks a piece that it did not attack before, or a pawn that is not guarded.

    A pawn attacks any pawn.
    """
    board, by, white = scene.after, scene.piece, scene.mover
    if by.kind == chess.KING or is_unsafe(board, by.square):
        return
    new = board.attacks(by.square) - scene.before.attacks(scene.move.from_square)
    targets = [unit(board, square) for square in new & board.occupied_co[not white] & ~board.kings]
    loose = by.kind == chess.PAWN
    told = [t for t in targets if t.kind != chess.PAWN or loose or not is_defended(board, t.square)]
    if told:
        yield Feature(hits, white, (max(told, key=lambda target: target.worth), by))


def readies_castling(scene: Scene) -> Iterator[Feature]:
    """A king can castle after the move where it could not before it, and is expected to."""
    now, had = passed(scene.after), passed(scene.before)
    had = had if had is None else passed(had)
    wanted = [move for move in scene.course[2:LONGER:2] if now and now.is_castling(move)]
    if not wanted or now is None or had is None or wanted[0] not in now.legal_moves:
        return
    if wanted[0] not in had.legal_moves:
        yield Feature(readies_castling, scene.mover)


def lets_out(scene: Scene) -> Iterator[Feature]:
    """A pawn move gives squares to a bishop that had none."""
    if scene.piece.kind != chess.PAWN or scene.captured is not None:
        return
    for square in scene.before.pieces(chess.BISHOP, scene.mover):
        had, has = (
            board.attacks_mask(square) & ~board.occupied_co[scene.mover]
            for board in (scene.before, scene.after)
        )
        if has and not had:
            yield Feature(lets_out, scene.mover, (unit(scene.after, square),))
            return


def supports(scene: Scene) -> Iterator[Feature]:
    """A piece comes to guard something that is attacked, and did not guard it before."""
    board, white, left = scene.after, scene.mover, scene.move.from_square
    if scene.captured is not None or scene.piece.kind == chess.PAWN:
        return
    new = board.attacks(scene.landed) - scene.before.attacks(left)
    found = [
        (board.attackers_mask(not white, square).bit_count(), unit(board, square))
        for square in new & board.occupied_co[white] & ~board.kings
        if square != left and board.attackers_mask(not white, square)
    ]
    if found:
        target = max(found, key=lambda each: (each[0], each[1].worth))[1]
        yield Feature(supports, white, (target, scene.piece))


def goes_on(scene: Scene) -> Iterator[Feature]:
    """The piece that moved is expected to go on to another square; `counts` are 1 for a pawn."""
    next_, reply = scene.next, scene.reply
    if next_ is None or reply is None or next_.from_square != scene.landed:
        return
    answered = scene.boards[2]
    forced = scene.after.is_capture(reply) or answered.is_check() or scene.after.is_check()
    back = next_.to_square == scene.move.from_square or answered.is_capture(next_)
    idle, kind = passed(scene.after), scene.piece.kind
    if forced or back or next_.promotion or scene.captured or idle is None:
        return
    if next_ in idle.legal_moves and next_ not in scene.before.pseudo_legal_moves:
        there = answered.attackers_mask(not scene.mover, scene.landed)
        if kind == chess.PAWN or not there:  # else it is driven on
            then, pawn = step(idle, next_), int(kind == chess.PAWN)
            yield Feature(goes_on, scene.mover, (scene.piece,), next_.to_square, then, (pawn,))


def faces(scene: Scene) -> Iterator[Feature]:
    """A rook comes to the file of the queen or king of the other side, whatever is between."""
    by, board = scene.piece, scene.after
    file = chess.BB_FILES[by.square & 7]
    if by.kind != chess.ROOK or scene.captured or scene.move.from_square & 7 == by.square & 7:
        return
    for kind in (chess.QUEEN, chess.KING):
        for square in chess.scan_forward(board.pieces_mask(kind, not scene.mover) & file):
            yield Feature(faces, scene.mover, (unit(board, square), by))
            return


def readies_minority(scene: Scene) -> Iterator[Feature]:
    """A rook comes behind the b-pawn, on its second rank still, that may attack three pawns."""
    by, board, white = scene.piece, scene.after, scene.mover
    pawn = board.piece_at(chess.square(1, 1 if white else 6))
    home = pawn == chess.Piece(chess.PAWN, white) and by.square & 7 == 1
    new = by.kind == chess.ROOK and not scene.captured and scene.move.from_square & 7 != 1
    away = (board.king(not white) or 0) & 7 > 2 and phase(board) != "endgame"
    if new and home and away and has_minority(board, white):
        yield Feature(readies_minority, white)


def pushes_outside(scene: Scene) -> Iterator[Feature]:
    """The outside passed pawn of a pawn ending goes on."""
    if scene.piece == outside_pawn(scene.after, scene.mover) and not scene.captured:
        yield Feature(pushes_outside, scene.mover, (scene.piece,))


def takes_place(scene: Scene) -> Iterator[Feature]:
    """A rook comes along its back rank to another file."""
    by, back = scene.piece, 0 if scene.mover else 7
    along = scene.move.from_square >> 3 == by.square >> 3 == back
    if by.kind == chess.ROOK and along and not scene.captured:
        yield Feature(takes_place, scene.mover, (by,), by.square)


def advances(scene: Scene) -> Iterator[Feature]:
    """A pawn goes up to its fourth rank or further and is not lost there; `counts` are the wing.

    They are 0 for the queenside, 1 for the middle and 2 for the kingside.
    """
    by = scene.piece
    rank = by.square >> 3 if by.white else 7 - (by.square >> 3)
    if by.kind != chess.PAWN or scene.captured or rank + 1 < PUSHED:
        return
    if not force.loss_on(scene.after, by.square):
        file = by.square & 7
        yield Feature(advances, scene.mover, (by,), counts=(0 if file < 3 else 1 + (file > 4),))


def walks_up(scene: Scene) -> Iterator[Feature]:
    """A king goes forward in an ending."""
    up = (scene.landed >> 3) - (scene.move.from_square >> 3)
    forward = up > 0 if scene.mover else up < 0
    if scene.piece.kind == chess.KING and forward and phase(scene.after) == "endgame":
        yield Feature(walks_up, scene.mover, (scene.piece,))


def checks(scene: Scene) -> Iterator[Feature]:
    """A move gives check."""
    if scene.after.is_check():
        yield Feature(checks, scene.mover, (scene.piece,))


def _worth_as_much(one: Unit, other: Unit) -> bool:
    """Whether two pieces are of one kind, or a bishop and a knight."""
    return one.kind == other.kind or (one.kind in MINOR and other.kind in MINOR)


# The first that holds is said: what tells most of a move comes first.
PLAIN_FINDERS: dict[Finder, Weights] = {
    find: Weights(0.1, 0.1, 0.1, reason=False)
    for find in (
        *(meets_check, castles, trades_evenly, expects_trade, hits, shuns_trade, readies_castling),
        *(pushes_outside, readies_minority, goes_on, checks, faces, supports),
        *(lets_out, takes_place, walks_up, advances),
    )
}
# What is said of a move that is praised, of a refutation, or of a better move, where nothing more
# is known of it.
PRAISED: tuple[Finder, ...] = (trades_evenly, hits, shuns_trade, goes_on, supports)
REFUTING: tuple[Finder, ...] = (hits, shuns_trade, goes_on)
BETTERING: tuple[Finder, ...] = (
    *(expects_trade, hits, castles, shuns_trade, readies_castling, goes_on, supports),
)
