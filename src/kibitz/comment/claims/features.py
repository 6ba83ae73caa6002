"""Plain facts about where pieces stand and go: one function each, which finds them and proves them.

A **feature** has that function, and the pieces and squares it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import chess

from kibitz.comment import force
from kibitz.comment.claims.claim import (
    CENTIPAWNS,
    MINOR,
    Claim,
    Kinds,
    Step,
    Weights,
    is_between,
    passed,
    step,
)
from kibitz.comment.facts import (
    SLIDERS,
    Scene,
    Unit,
    balance,
    is_isolated,
    is_outpost,
    is_passed,
    is_unsafe,
    phase,
    played,
    unit,
    units,
)

HOME = {chess.KNIGHT: (1, 6), chess.BISHOP: (2, 5)}  # files where minor pieces begin
CENTRE = (chess.D4, chess.E4, chess.D5, chess.E5)
LOST = 150  # centipawns from which a minor piece is lost and not only traded
SPARE = 20  # less that a pawn may be worth
AHEAD = 3  # pawns' worth with which trades are welcome


Finder: TypeAlias = Callable[[Scene], Iterator["Feature"]]


@dataclass(frozen=True)
class Feature(Claim):
    """A plain fact that a move brings about."""

    find: Finder
    white: bool  # whose it is
    pieces: tuple[Unit, ...] = ()
    square: int | None = None
    step: Step | None = None
    counts: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The name of the function that finds it."""
        return self.find.__name__

    def proved(self, scene: Scene) -> bool:
        """Its function finds it."""
        return self in self.find(scene)


# --- pieces ---------------------------------------------------------------------------------------


def battery(scene: Scene) -> Iterator[Feature]:
    """Two sliders on one line that ends beside the enemy king."""
    board, by = scene.after, scene.piece
    king = board.king(not scene.mover)
    if by.kind not in SLIDERS or king is None:
        return
    for square in board.attacks(by.square) & board.occupied_co[scene.mover]:
        other = unit(board, square)
        if other.kind not in SLIDERS or by.square not in board.attacks(square):
            continue
        if chess.ray(by.square, square) & chess.BB_SQUARES[scene.move.from_square]:
            continue  # they stood on the line before
        ring = chess.BB_KING_ATTACKS[king] & chess.ray(by.square, square)
        for front, back in ((by, other), (other, by)):
            for goal in chess.scan_forward(ring & board.attacks_mask(front.square)):
                if front.square in chess.SquareSet(chess.between(back.square, goal)):
                    yield Feature(battery, scene.mover, (back, front), goal)


def doubled_rooks(scene: Scene) -> Iterator[Feature]:
    """Two rooks on one file that no own pawn stands on, with nothing between them."""
    board, by = scene.after, scene.piece
    if by.kind != chess.ROOK or scene.move.from_square & 7 == by.square & 7:
        return
    if board.pieces_mask(chess.PAWN, scene.mover) & chess.BB_FILES[by.square & 7]:
        return
    for square in board.pieces(chess.ROOK, scene.mover) & board.attacks(by.square):
        if square & 7 == by.square & 7:
            yield Feature(doubled_rooks, scene.mover, (by,))


def connected_rooks(scene: Scene) -> Iterator[Feature]:
    """The rooks guard each other on the back rank for the first time."""
    if phase(scene.after) == "endgame" or scene.captured:
        return
    now, had = (_are_connected(board, scene.mover) for board in (scene.after, scene.before))
    if now and not had:
        yield Feature(connected_rooks, scene.mover)


def _are_connected(board: chess.Board, white: bool) -> bool:
    home = chess.BB_RANK_1 if white else chess.BB_RANK_8
    rooks = list(board.pieces(chess.ROOK, white) & home)
    return len(rooks) == 2 and rooks[1] in board.attacks(rooks[0])


def _out(board: chess.Board, white: bool) -> int:
    """How many knights and bishops have left the squares where they begin."""
    rank = 0 if white else 7
    return sum(
        len(board.pieces(kind, white))
        - sum(board.piece_at(chess.square(file, rank)) == chess.Piece(kind, white) for file in at)
        for kind, at in HOME.items()
    )


def development(scene: Scene) -> Iterator[Feature]:
    """In the opening a side has three more minor pieces out, or two while the other has none."""
    if scene.before.chess960 or phase(scene.after) != "opening" or scene.after.is_check():
        return
    mine, theirs = _out(scene.after, scene.mover), _out(scene.after, not scene.mover)
    if mine > _out(scene.before, scene.mover) and (mine - theirs >= 3 or (mine, theirs) == (2, 0)):
        yield Feature(development, scene.mover, counts=(mine, theirs))


def last_minor(scene: Scene) -> Iterator[Feature]:
    """The last knight or bishop leaves its square, all four being on the board."""
    board, white = scene.after, scene.mover
    if board.chess960 or scene.piece.kind not in MINOR:
        return
    if _out(board, white) == 4 == _out(scene.before, white) + 1:
        yield Feature(last_minor, white)


def blockade(scene: Scene) -> Iterator[Feature]:
    """A piece stops an enemy passed pawn that has come to the other half by standing before it."""
    board, by = scene.after, scene.piece
    square = by.square + (8 if scene.mover else -8)
    if by.kind == chess.PAWN or not 0 <= square < 64 or scene.move.from_square & 7 == square & 7:
        return
    pawn = board.piece_at(square)
    far = square >> 3 <= 3 if scene.mover else square >> 3 >= 4
    if pawn != chess.Piece(chess.PAWN, not scene.mover) or not far:
        return
    if is_passed(board, square, not scene.mover) and not is_unsafe(board, by.square):
        yield Feature(blockade, scene.mover, (unit(board, square), by))


def blocks_isolated(scene: Scene) -> Iterator[Feature]:
    """A minor piece comes to stand before an isolated pawn of a file that has no own pawn."""
    board, white, by = scene.after, scene.mover, scene.piece
    square = by.square + (8 if white else -8)
    if by.kind not in MINOR or scene.captured or scene.move.from_square & 7 == by.square & 7:
        return
    if not 0 <= square < 64:
        return
    held = board.piece_at(square) == chess.Piece(chess.PAWN, not white)
    on_file = board.pawns & chess.BB_FILES[by.square & 7]
    if not held or on_file != chess.BB_SQUARES[square] or square & 7 in (0, 7):
        return
    if is_isolated(board, square, not white) and not is_unsafe(board, by.square):
        yield Feature(blocks_isolated, white, (unit(board, square), by))


def behind_passed(scene: Scene) -> Iterator[Feature]:
    """A rook comes to the file of a passed pawn, behind it, in an ending."""
    board, by = scene.after, scene.piece
    if by.kind != chess.ROOK or phase(board) != "endgame" or scene.captured or board.queens:
        return
    if scene.move.from_square & 7 == by.square & 7:
        return
    for square in board.attacks(by.square) & board.pawns:
        pawn = unit(board, square)
        behind = (square > by.square) == pawn.white
        if square & 7 == by.square & 7 and behind and is_passed(board, square, pawn.white):
            yield Feature(behind_passed, scene.mover, (pawn,))


def chases(scene: Scene) -> Iterator[Feature]:
    """A safe piece attacks one that is worth more, which is expected to move away.

    It takes nothing, but a pawn may take a pawn.
    """
    board, by, reply = scene.after, scene.piece, scene.reply
    if reply is None or by.kind == chess.KING or is_unsafe(board, by.square):
        return
    if scene.captured is not None and (scene.captured.kind, by.kind) != (chess.PAWN, chess.PAWN):
        return
    if board.piece_type_at(reply.from_square) in (None, chess.KING, chess.PAWN):
        return
    target = unit(board, reply.from_square)
    if target.square not in board.attacks(by.square) or target.worth <= by.worth:
        return
    if not board.is_capture(reply) and not board.is_check():
        yield Feature(chases, scene.mover, (target,))


def trades_ahead(scene: Scene) -> Iterator[Feature]:
    """The side that is ahead takes a piece back of the kind that was just taken, or offers it."""
    board, captured = scene.after, scene.captured
    if captured is None or captured.kind == chess.PAWN or scene.last_took != captured.kind:
        return
    if scene.last is None or scene.last.to_square != scene.move.to_square:
        return
    if balance(board, scene.mover) >= AHEAD and not board.attackers(not scene.mover, scene.landed):
        yield Feature(trades_ahead, scene.mover, counts=(captured.kind,))


# --- kings ----------------------------------------------------------------------------------------


def king_to_centre(scene: Scene) -> Iterator[Feature]:
    """In an ending without queens the king comes nearer to the centre, not being in check."""
    if scene.piece.kind != chess.KING or scene.captured or scene.before.is_check():
        return
    if phase(scene.after) != "endgame" or scene.after.queens or not scene.after.pawns:
        return
    came, goes = (_from_centre(square) for square in (scene.move.from_square, scene.landed))
    if came[0] in (2, 3) and goes[0] < came[0] and goes[1] < came[1]:
        yield Feature(king_to_centre, scene.mover)


def _from_centre(square: int) -> tuple[int, int]:
    """The king's moves to the nearest square of the centre, and files and ranks together."""
    moves = min(chess.square_distance(square, centre) for centre in CENTRE)
    return moves, min(chess.square_manhattan_distance(square, centre) for centre in CENTRE)


# --- the expected line ----------------------------------------------------------------------------


def heads_for(scene: Scene) -> Iterator[Feature]:
    """The piece that moved is expected to go on to an outpost next."""
    next_ = scene.next
    if next_ is None or scene.piece.kind != chess.KNIGHT or next_.from_square != scene.landed:
        return
    board = scene.boards[2]
    if board.is_capture(next_) or not is_outpost(scene.boards[3], next_.to_square, scene.mover):
        return
    if not is_outpost(scene.after, next_.to_square, scene.mover):
        return
    came_from = next_.to_square == scene.move.from_square
    if came_from or is_outpost(scene.after, scene.landed, scene.mover):
        return
    yield Feature(heads_for, scene.mover, square=next_.to_square)


def backs_up(scene: Scene) -> Iterator[Feature]:
    """The move guards the square to which a pawn is expected to go next."""
    next_, rest = scene.next, passed(scene.after)
    if next_ is None or rest is None or next_ not in rest.legal_moves or next_.promotion:
        return
    if rest.piece_type_at(next_.from_square) != chess.PAWN or rest.is_capture(next_):
        return
    far = next_.to_square >> 3 >= 4 if scene.mover else next_.to_square >> 3 <= 3
    attacked = rest.attackers(not scene.mover, next_.to_square)
    guards = next_.to_square in scene.after.attacks(scene.landed)
    guarded = next_.to_square in scene.before.attacks(scene.move.from_square)
    if far and attacked and guards and not guarded and scene.landed != next_.from_square:
        yield Feature(backs_up, scene.mover, step=step(rest, next_))


def makes_way(scene: Scene) -> Iterator[Feature]:
    """A pawn lets a piece at home out that had no move, as it is expected to come out next.

    That pawns in the middle do so is plain.
    """
    next_, square = scene.next, scene.move.from_square
    if next_ is None or scene.piece.kind != chess.PAWN or square & 7 in (3, 4):
        return
    came, board = next_.from_square, scene.boards[2]
    home, quiet = came >> 3 == (0 if scene.mover else 7), not board.is_capture(next_)
    crosses = next_.to_square == square or is_between(square, came, next_.to_square)
    rest, piece = passed(scene.before), chess.BB_SQUARES[came]
    shut = rest is not None and not any(rest.generate_legal_moves(from_mask=piece))
    comes_out = home and quiet and crosses and shut and board.piece_type_at(came) in SLIDERS
    if comes_out and not (scene.captured or scene.after.is_check() or board.is_check()):
        yield Feature(makes_way, scene.mover, (unit(board, came),))


# --- the game -------------------------------------------------------------------------------------


def repeats(scene: Scene) -> Iterator[Feature]:
    """The position occurs for the second time."""
    if scene.after.is_repetition(2) and not scene.after.is_repetition(3):
        yield Feature(repeats, scene.mover)


def fifty_moves(scene: Scene) -> Iterator[Feature]:
    """Thirty or forty moves have gone by without a capture or a pawn move."""
    if scene.after.halfmove_clock in (60, 80):
        yield Feature(fifty_moves, scene.mover, counts=(scene.after.halfmove_clock // 2,))


def imbalance(scene: Scene) -> Iterator[Feature]:
    """Unlike pieces stand against each other once an exchange is over."""
    if scene.captured is None or len(scene.boards) < 4:
        return
    unlike = [_unlike(board) for board in (scene.before, *scene.boards[1:4])]
    if unlike[1] and unlike[1] == unlike[2] == unlike[3] != unlike[0]:
        mine, theirs = unlike[1] if scene.mover else unlike[1][::-1]
        yield Feature(imbalance, scene.mover, counts=(*mine, 0, *theirs))


def reaches_ending(scene: Scene) -> Iterator[Feature]:
    """An exchange leaves each side one piece beside king and pawns, and it stays so.

    `counts` are the kinds, the mover's first.
    """
    if scene.captured is None or len(scene.boards) < 4:
        return
    kinds = [_last_pieces(board, scene.mover) for board in (scene.before, *scene.boards[1:4])]
    if kinds[1] and kinds[1] == kinds[2] == kinds[3] != kinds[0]:
        yield Feature(reaches_ending, scene.mover, counts=kinds[1])


def _last_pieces(board: chess.Board, white: bool) -> tuple[int, ...]:
    """The kinds of the last pieces, if each side has one, of the same or of like worth."""
    sides = [
        [piece.kind for piece in units(board, side) if piece.kind not in (chess.PAWN, chess.KING)]
        for side in (white, not white)
    ]
    if not board.pawns or [len(kinds) for kinds in sides] != [1, 1]:
        return ()
    (mine,), (theirs,) = sides
    opposite = (board.bishops & chess.BB_LIGHT_SQUARES).bit_count() == 1
    alike = mine == theirs in (chess.ROOK, chess.KNIGHT) or {mine, theirs} == {*MINOR}
    same_bishops = mine == theirs == chess.BISHOP and not opposite
    return (mine, theirs) if alike or same_bishops else ()


def _unlike(board: chess.Board) -> tuple[Kinds, Kinds] | None:
    """Pieces that one side has more of than the other, if that is one of the known kinds."""
    more = [
        tuple(
            kind
            for kind in (chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)
            for _ in range(len(board.pieces(kind, white)) - len(board.pieces(kind, not white)))
        )
        for white in (True, False)
    ]
    plain = [tuple(chess.BISHOP if kind in MINOR else kind for kind in kinds) for kinds in more]
    usual = {(5, 4, 4), (4, 3, 3), (5, 4, 3), (5, 3, 3, 3)}
    for single, several in (plain, plain[::-1]):
        if len(single) == 1 and (*single, *several) in usual:
            return more[0], more[1]
    return None


def bars_castling(scene: Scene) -> Iterator[Feature]:
    """A square that a king would have castled over is attacked, with queens on the board."""
    theirs, board = passed(scene.before), scene.after
    if theirs is None or theirs.chess960 or scene.captured or board.is_check():
        return
    if is_unsafe(board, scene.landed) or any(not there.queens for there in scene.boards[1:5]):
        return
    for castling in theirs.generate_castling_moves():
        over = (castling.from_square + castling.to_square) // 2
        for square in (over, castling.to_square):
            if square in board.attacks(scene.landed):
                yield Feature(bars_castling, scene.mover, (scene.piece,), square)
                break


def keeps_from(scene: Scene) -> Iterator[Feature]:
    """A pawn attacks a square to which a pawn or a minor piece could have gone, and is lost there.

    The minor piece would have attacked a piece there.
    """
    idle, board, pawn = passed(scene.before), scene.after, scene.piece
    if idle is None or pawn.kind != chess.PAWN or scene.captured or is_unsafe(board, pawn.square):
        return
    new = board.attacks(pawn.square) - scene.before.attacks(scene.move.from_square)
    for move in idle.generate_legal_moves():
        piece = unit(idle, move.from_square)
        square, there = move.to_square, played(idle, move)
        if square not in new or piece.kind not in (chess.PAWN, *MINOR) or idle.is_capture(move):
            continue
        pieces = idle.occupied_co[scene.mover] & ~idle.pawns
        if piece.kind != chess.PAWN and not there.attacks_mask(square) & pieces:
            continue
        if force.loss_on(there, square) or move not in board.legal_moves:
            continue
        if force.loss_on(played(board, move), square) >= min(CENTIPAWNS[piece.kind], LOST) - SPARE:
            yield Feature(keeps_from, scene.mover, (piece,), square)


def trades_cover(scene: Scene) -> Iterator[Feature]:
    """A bishop takes the one before the other king that looks along a long diagonal, or offers to.

    Its pawns stand on squares of the other colour there. `counts` are 1 for light squares, and a
    second 1 for an offer.
    """
    took, white = scene.captured, scene.mover
    offers = took is None
    if took is None and scene.piece.kind == chess.BISHOP:
        faced = scene.after.attacks(scene.landed) & scene.after.pieces(chess.BISHOP, not white)
        faced -= scene.before.attacks(scene.move.from_square)
        safe = force.loss_on(scene.after, scene.landed) < force.LEAST
        took = unit(scene.after, faced.pop()) if faced and safe else None
    king, corners = (
        scene.after.king(not white),
        (chess.G7, chess.B7) if white else (chess.G2, chess.B2),
    )
    if took is None or took.kind != chess.BISHOP or scene.piece.kind != chess.BISHOP:
        return
    if took.square not in corners or king is None or chess.square_distance(king, took.square) > 1:
        return
    front = took.square + (-8 if white else 8)
    back = offers or (scene.reply is not None and scene.reply.to_square == scene.landed)
    if back and scene.before.piece_at(front) == chess.Piece(chess.PAWN, not white):
        light = bool(chess.BB_SQUARES[took.square] & chess.BB_LIGHT_SQUARES)
        yield Feature(
            trades_cover, white, (took,), counts=(int(light), 1) if offers else (int(light),)
        )


FINDERS: dict[Finder, Weights] = {
    trades_cover: Weights(0.45, 0.52, 0.52, like="weak_squares offers_trade"),
    bars_castling: Weights(0.5, 0.56, 0.54, sharp=True),
    reaches_ending: Weights(0.5, 0.56, 0.52, reason=False, like="QueensLeave trades_ahead"),
    battery: Weights(0.45, 0.5, 0.45),
    doubled_rooks: Weights(0.45, 0.48, 0.43),
    connected_rooks: Weights(0.45, 0.4, 0.3, once=True, reason=False),
    development: Weights(0.6, 0.5, 0.45, once=True, reason=False),
    last_minor: Weights(0.42, 0.4, 0.3, once=True, reason=False),
    blockade: Weights(0.45, 0.5, 0.48),
    blocks_isolated: Weights(0.45, 0.5, 0.5, like="blockade offers_trade"),
    behind_passed: Weights(0.5, 0.5, 0.43),
    chases: Weights(0.55, 0.5, 0.4),
    trades_ahead: Weights(0.6, 0.5, 0.4, once=True, reason=False),
    king_to_centre: Weights(0.48, 0.45, 0.42),
    heads_for: Weights(0.45, 0.5, 0.5),
    backs_up: Weights(0.4, 0.46, 0.48),
    makes_way: Weights(0.45, 0.45, 0.4, like="Clears strikes gains_space"),
    repeats: Weights(0.45, 0.45, 0.43, reason=False),
    fifty_moves: Weights(0.6, 0.6, 0.55, reason=False),
    imbalance: Weights(0.6, 0.65, 0.65, reason=False),
}
# Too slight for a game: said where a reader asks of one move, and looked for only then.
ASKED_FINDERS: dict[Finder, Weights] = {keeps_from: Weights(0.1, 0.1, 0.1, reason=False)}
