"""Ideas beyond the plain motifs: quiet moves that win, moves that fail, plans.

See `features`; what depends on a search is asked of the analysis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import chess

from kibitz.comment import force
from kibitz.comment.analysis import AS_GOOD, LAST_LOOK
from kibitz.comment.claims.claim import (
    CENTIPAWNS,
    MINOR,
    Claim,
    Step,
    Weights,
    passed,
    stands,
    step,
    taken_if_passed,
)
from kibitz.comment.claims.features import Feature, Finder
from kibitz.comment.claims.grades import Grade, grade_of
from kibitz.comment.claims.lines.outlook import Draws, drawn
from kibitz.comment.claims.merits import LEAST_THREAT, gain_of, is_borne_out
from kibitz.comment.claims.structure import fixed_pawns, near_king
from kibitz.comment.facts import (
    WORTH,
    Scene,
    Unit,
    balance,
    captured_by,
    is_defended,
    is_half_open,
    is_passed,
    phase,
    played,
    unit,
    units,
)
from kibitz.comment.judge import BETTER, DECIDED

BEHIND = 2  # pawns' worth from which a draw is a rescue
FAR_MORE = 5  # pawns' worth: a queen for a piece
SHUT_IN = 4  # pawns on a bishop's colour that make it a bad one
GAINS_MUCH = 0.2  # winning chances by which a move that is stopped would have gained
COSTS = 0.25  # winning chances that a natural move loses
PIECE = 300  # centipawns that a quiet move wins

# --- tactics --------------------------------------------------------------------------------------


def dominates(scene: Scene) -> Iterator[Feature]:
    """A piece that nothing attacks can go nowhere without being lost."""
    rest = passed(scene.before)
    if rest is None or scene.after.is_check():
        return
    for target in units(scene.after, not scene.mover):
        home = target.square >> 3 == (0 if target.white else 7)
        if target.kind in (chess.PAWN, chess.KING) or (home and phase(scene.after) != "endgame"):
            continue
        if scene.after.attackers_mask(scene.mover, target.square):
            continue
        if phase(scene.after) != "endgame" and not _is_hit_next(scene, target):
            continue
        if _is_dominated(scene.after, target) and _can_step(rest, target):
            yield Feature(dominates, scene.mover, (target,))


def _is_hit_next(scene: Scene, target: Unit) -> bool:
    """Whether the mover's next move attacks a piece that stands where it stood."""
    if scene.next is None or not stands(scene.boards[2], target):
        return False
    return target.square in scene.boards[3].attacks(scene.next.to_square)


def _is_dominated(board: chess.Board, piece: Unit) -> bool:
    """Whether a piece of the side to move has moves, and loses by each of them.

    A knight or bishop that has a single move was shut in before.
    """
    moves = list(board.generate_legal_moves(from_mask=chess.BB_SQUARES[piece.square]))
    many = len(moves) > 1 or piece.worth >= WORTH[chess.ROOK]
    return bool(moves) and many and all(_loses(board, move) for move in moves)


def _can_step(board: chess.Board, piece: Unit) -> bool:
    """Whether a piece of the side to move can go to a free square without being lost there."""
    moves = board.generate_legal_moves(chess.BB_SQUARES[piece.square], ~board.occupied)
    return not all(_loses(board, move) for move in moves)


def _loses(board: chess.Board, move: chess.Move) -> bool:
    """Whether the piece that moves is lost for less than it is worth."""
    took = captured_by(board, move)
    least = LEAST_THREAT + (CENTIPAWNS.get(took.kind, 0) if took else 0)
    return force.loss_on(played(board, move), move.to_square) >= least


def windmill(scene: Scene) -> Iterator[Feature]:
    """A discovered check; the piece goes back with check, and the next one is discovered again."""
    if scene.captured is not None and any(_turns(scene, ply) for ply in (0, 2)):
        yield Feature(windmill, scene.mover, (scene.piece,))


def _turns(scene: Scene, first: int) -> bool:
    """Whether a windmill begins with a move of the course, and all before it are checks.

    The move takes something and uncovers a check, the next one goes back with check, and then it
    goes out again.
    """
    course, boards = scene.course[: first + 5], scene.course_boards
    if len(course) < first + 5 or not all(board.is_check() for board in boards[1 : first + 6 : 2]):
        return False
    out, back, again = course[first::2]
    turns = out.to_square == back.from_square and back.to_square == out.from_square
    return (
        course[0].to_square in (out.to_square, out.from_square)
        and captured_by(boards[first], out) is not None
        and turns
        and again.from_square == out.from_square
        and _discovers(boards[first + 1], out.to_square)
        and _discovers(boards[first + 5], again.to_square)
    )


def _discovers(board: chess.Board, moved: int) -> bool:
    return board.is_check() and not board.checkers_mask() & chess.BB_SQUARES[moved]


def quiet_killer(scene: Scene) -> Iterator[Feature]:
    """A move that takes nothing and gives no check where others do, and yet mates or wins a piece.

    `counts` are 1 for mate.
    """
    before, mate = scene.before, scene.has.mate if scene.has else None
    if scene.piece.kind == chess.PAWN and is_passed(scene.after, scene.landed, scene.mover):
        return  # which runs
    if scene.captured or scene.move.promotion or before.is_check() or scene.after.is_check():
        return
    if not any(
        before.gives_check(legal_move) or before.is_capture(legal_move)
        for legal_move in before.legal_moves
    ):
        return
    if (
        mate is not None
        and -force.LONGEST_MATE <= mate < 0
        and force.longest_defence(scene.after, -mate)
    ):
        yield Feature(quiet_killer, scene.mover, counts=(1,))
        return
    hangs = force.loss_on(before, scene.move.from_square) >= force.LEAST
    better = scene.value is None or scene.value >= BETTER  # else it only saves itself
    if gain_of(scene) >= PIECE and not hangs and better and is_borne_out(scene):
        yield Feature(quiet_killer, scene.mover, counts=(0,))


def quiet_only(scene: Scene) -> Iterator[Feature]:
    """The only good move takes nothing and gives no check, where there are captures or checks."""
    before = scene.before
    if scene.captured or scene.move.promotion or before.is_check() or scene.after.is_check():
        return
    loud = (move for move in before.legal_moves if before.is_capture(move))
    checks = (move for move in before.legal_moves if before.gives_check(move))
    if grade_of(scene) is Grade.GREAT and next(chain(checks, loud), None):
        yield Feature(quiet_only, scene.mover)


def bare_king(scene: Scene) -> Iterator[Feature]:
    """Two pieces attack at a king near its back rank that has no pawn beside or before it.

    The side that attacks has a queen.
    """
    board, white = scene.after, scene.mover
    king = board.king(not white)
    assert king is not None
    ring, rank = chess.BB_KING_ATTACKS[king], 7 - (king >> 3) if white else king >> 3
    behind = chess.BB_RANKS[min(7, (king >> 3) + 1) if white else max(0, (king >> 3) - 1)]
    pawns = board.pieces_mask(chess.PAWN, not white) & ring & ~(behind & ring)
    if rank > 2 or pawns or not board.pieces(chess.QUEEN, white) or phase(board) == "endgame":
        return
    if any(not later.pieces(chess.QUEEN, white) for later in scene.boards[2:4]):
        return  # which is traded, not used for an attack
    if scene.value is not None and scene.value < BETTER:
        return  # as a check that only draws, or does less
    if board.is_check() and len(near_king(board, white)) > 1:
        yield Feature(bare_king, not white)


@dataclass(frozen=True)
class Fails(Claim):
    """A recapture, or the largest capture, suggests itself and is not played as it loses."""

    step: Step
    reply: Step

    def proved(self, scene: Scene) -> bool:
        """The reply to it mates or wins material, and the move made is far better."""
        return self in fails(scene)


def fails(scene: Scene) -> list[Fails]:
    """Why the move that suggests itself is not the best one."""
    had, before = scene.had, scene.before
    if had is None or scene.has is None:
        return []
    if had.line[:1] != (scene.move,) and had.value + scene.has.value > AS_GOOD:
        return []
    if had.value < -BETTER:  # where one move is as bad as another
        return []
    natural = _natural(scene)
    lost = None if natural is None else force.gain(before, natural)
    if natural is None or lost is None:
        return []
    after = played(before, natural)
    gain = force.gain(before, scene.move)
    if gain is None or gain - lost < LEAST_THREAT or (lost > -LEAST_THREAT and not scene.captured):
        return []
    look = scene.analysis.deeper(after, LAST_LOOK)
    if look is None or not look.line or look.value < COSTS - had.value:
        return []
    reply = look.line[0]
    if reply.to_square == natural.to_square or _was_plain(scene, natural, reply):
        return []  # that it is taken back explains nothing
    return [Fails(step(before, natural), step(after, reply))]


def _was_plain(scene: Scene, natural: chess.Move, reply: chess.Move) -> bool:
    """Whether the reply takes what it could have taken before, and that is worth far more."""
    taken, (loss, gain) = captured_by(scene.before, natural), taken_if_passed(scene.before, reply)
    if taken is None or loss is None or gain < LEAST_THREAT:
        return False
    return loss.worth >= taken.worth + FAR_MORE


def _natural(scene: Scene) -> chess.Move | None:
    """A recapture, or the capture of a piece, of what is worth no less or not guarded.

    Instead of a capture only another way to take back suggests itself.
    """
    captures, before = [], scene.before
    last = scene.last.to_square if scene.last is not None and scene.last_took else None
    if scene.captured and scene.move.to_square != last:
        return None
    for move in before.legal_moves:
        took, by = captured_by(before, move), unit(before, move.from_square)
        back = move.to_square == last
        even = took is not None and (by.worth <= took.worth or not is_defended(before, took.square))
        if move == scene.move or (scene.captured and not back):
            continue
        if took is not None and even and (back or took.worth > WORTH[chess.PAWN]):
            captures.append((back, took.worth, -by.worth, move.uci(), move))
    return max(captures)[-1] if captures else None


@dataclass(frozen=True)
class Poisons(Claim):
    """Something that seems to hang cannot be taken, as the capture loses."""

    piece: Unit  # that would be taken
    step: Step
    reply: Step

    def proved(self, scene: Scene) -> bool:
        """By the search of material and a deeper look; it is new, and the piece has not moved."""
        return self in poisons(scene)


def poisons(scene: Scene) -> list[Poisons]:
    """The piece of most worth that is guarded by tactics alone, if it was not so before."""
    has, after, rest = scene.has, scene.after, passed(scene.before)
    if has is None or rest is None or after.is_check():
        return []
    if has.value >= DECIDED or (has.value <= -DECIDED and phase(after) != "endgame"):
        return []
    for piece in sorted(units(after, scene.mover), key=lambda piece: -piece.worth):
        takers = _takers(after, piece)
        if piece.square == scene.landed or not takers or not _all_fail(after, takers):
            continue
        if (before := _takers(rest, piece)) and _all_fail(rest, before):
            continue
        left = not before and piece.square in rest.attacks(scene.move.from_square)
        if left and phase(after) != "endgame":
            continue  # it was guarded, and is no more
        taker = min(takers, key=lambda move: unit(after, move.from_square).worth)
        look = scene.analysis.deeper(played(after, taker), LAST_LOOK)
        if look is None or not look.line:
            continue
        if look.value + has.value < COSTS and abs(has.value) < DECIDED:
            continue  # in a won ending all else loses as well
        if not _wins_anyway(after, taker, look.line[0]):
            reply = step(played(after, taker), look.line[0])
            return [Poisons(piece, step(after, taker), reply)]
    return []


def _wins_anyway(board: chess.Board, taker: chess.Move, reply: chess.Move) -> bool:
    """Whether something is won if the side to move passes, too, so that no capture is to blame.

    An attack on the piece that takes is met by its capture, and counts only if the reply wins.
    """
    rest = passed(board)
    if rest is None:
        return False
    best, gain = force.best(rest), force.gain(rest)
    if gain is None or gain < LEAST_THREAT:
        return False
    if best is not None and best.from_square == taker.to_square:
        return False  # the pawn that would be taken queens
    if best is None or best.to_square != taker.from_square:
        return True
    gain = force.gain(rest, reply) if reply in rest.legal_moves else None
    return gain is not None and gain >= LEAST_THREAT


def _takers(board: chess.Board, piece: Unit) -> list[chess.Move]:
    """The captures of what would be lost if only what happens on its square counted."""
    if piece.kind == chess.KING or force.loss_on(board, piece.square) < force.LEAST:
        return []
    return list(board.generate_legal_captures(to_mask=chess.BB_SQUARES[piece.square]))


def _all_fail(board: chess.Board, moves: list[chess.Move]) -> bool:
    """Whether each of some moves loses material by force."""
    gains = (force.gain(board, move) for move in moves)
    return all(gain is not None and gain <= -LEAST_THREAT for gain in gains)


def rescues(scene: Scene) -> list[Draws]:
    """A draw by stalemate, perpetual check or repetition for a side that is behind, or gives much.

    The value is level: whoever is better all the same repeats moves to win, or need not allow it.
    """
    better = scene.has is not None and abs(scene.has.value) >= BETTER
    behind = min(balance(board, scene.mover) for board in scene.boards[1:4:2]) <= -BEHIND
    return drawn(scene) if behind and not better else []


# --- plans ----------------------------------------------------------------------------------------


def minority_attack(scene: Scene) -> Iterator[Feature]:
    """The b-pawn goes to its fourth or fifth rank, beside the a-pawn alone, against three pawns.

    Before a king on that wing it is another attack.
    """
    board, white, by = scene.after, scene.mover, scene.piece
    rank = by.square >> 3 if white else 7 - (by.square >> 3)
    if by.kind != chess.PAWN or by.square & 7 != 1 or rank not in (3, 4) or scene.captured:
        return
    ends = phase(board) == "endgame" and not board.rooks
    if ends or scene.move.from_square & 7 != 1:
        return
    if (board.king(not white) or 0) & 7 <= 2:
        return
    if board.attacks_mask(by.square) & board.occupied_co[not white] & ~board.pawns:
        return  # which is driven away
    if has_minority(board, white):
        yield Feature(minority_attack, white)


def has_minority(board: chess.Board, white: bool) -> bool:
    """Whether a side has a- and b-pawn there, and the other one three, one on the c-file."""
    wing = [chess.BB_FILES[file] & board.pawns for file in range(3)]
    own = [(pawns & board.occupied_co[white]).bit_count() for pawns in wing]
    theirs = [(pawns & board.occupied_co[not white]).bit_count() for pawns in wing]
    fewer = own == [1, 1, 0] and sum(theirs) == 3 and bool(theirs[2])
    return fewer and is_half_open(board, 2, white)


def good_knight(scene: Scene) -> Iterator[Feature]:
    """A trade leaves a knight against a bishop that own pawns on its colour shut in.

    Three of them are blocked by pawns; or four are there, with both in the centre, and one of
    these is blocked.
    """
    new = scene.captured is not None and not _good_knight(scene.before, scene.mover)
    ends = scene.boards[2:4]  # once it was taken back
    if new and ends and all(_good_knight(board, scene.mover) for board in ends):
        bishop = scene.after.pieces(chess.BISHOP, not scene.mover).pop()
        yield Feature(good_knight, scene.mover, (unit(scene.after, bishop),))


def _good_knight(board: chess.Board, white: bool) -> bool:
    minors = [[len(board.pieces(kind, side)) for kind in MINOR] for side in (white, not white)]
    if minors != [[1, 0], [0, 1]]:
        return False
    bad, fixed = fixed_pawns(board, not white)
    light = bool(board.bishops & chess.BB_LIGHT_SQUARES)
    shade = chess.BB_LIGHT_SQUARES if light else chess.BB_DARK_SQUARES
    pawns = board.pieces_mask(chess.PAWN, not white) & shade
    shut = pawns.bit_count() >= SHUT_IN and pawns & chess.BB_FILE_D and pawns & chess.BB_FILE_E
    return bad is not None or bool(shut and any(square & 7 in (3, 4) for square in fixed))


def weak_squares(scene: Scene) -> Iterator[Feature]:
    """The bishop that guarded the holes beside a castled king is traded, and ours on them is left.

    `counts` are 1 for light squares.
    """
    captured, white = scene.captured, scene.mover
    king = scene.after.king(not white)
    if captured is None or captured.kind != chess.BISHOP or king is None or len(scene.boards) < 4:
        return
    shade = chess.BB_LIGHT_SQUARES
    light = bool(chess.BB_SQUARES[captured.square] & shade)
    shade = shade if light else chess.BB_DARK_SQUARES
    home = 7 if white else 0
    ring = chess.BB_KING_ATTACKS[king] & shade & chess.BB_RANKS[6 if white else 1]
    third = chess.BB_RANKS[5 if white else 2] & shade
    wing = sum(chess.BB_FILES[file] for file in ((5, 6, 7) if king & 7 >= 5 else (0, 1, 2)))
    for board in scene.boards[1:4]:
        theirs, pawns = board.occupied_co[not white], board.pieces_mask(chess.PAWN, not white)
        hole = ring & wing & ~theirs
        guarded = any(
            chess.BB_PAWN_ATTACKS[white][square] & pawns
            for square in chess.scan_forward(third & wing)
        )
        ours = board.pieces_mask(chess.BISHOP, white) & shade
        left = board.pieces_mask(chess.BISHOP, not white) & shade
        if not (hole and ours) or guarded or left or king >> 3 != home or king & 7 in (3, 4):
            return
    if scene.after.queens & scene.after.occupied_co[white]:
        yield Feature(weak_squares, not white, counts=(int(light),))


def opens_centre(scene: Scene) -> Iterator[Feature]:
    """The file of a king that has not castled loses its last pawn, and heavy pieces can use it."""
    king, white = scene.after.king(not scene.mover), scene.mover
    if king not in (CENTRE_KINGS[white]) or len(scene.boards) < 4 or king is None:
        return
    file = chess.BB_FILES[king & 7]
    own = scene.after.occupied_co[white]
    heavy = (scene.after.rooks | scene.after.queens) & own and not scene.after.kings & own & file
    if not scene.before.pawns & file or not heavy or not scene.calm_boards[-1].queens:
        return
    if all(board.king(not white) == king and not board.pawns & file for board in scene.boards[1:4]):
        yield Feature(opens_centre, white, square=king)


CENTRE_KINGS = {True: (chess.D8, chess.E8), False: (chess.D1, chess.E1)}  # of the other side


# --- what is stopped ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forestalls(Claim):
    """What the other side would have done next, and cannot do any more, or only at a loss."""

    step: Step

    def proved(self, scene: Scene) -> bool:
        """Long looks see it gain if the mover passes; it is not possible now, or loses material."""
        return self in forestalled(scene)


def forestalled(scene: Scene) -> list[Forestalls]:
    """The quiet move that would have been strong, had the mover passed, and is so no more."""
    board, had = passed(scene.before), scene.had
    if board is None or had is None or had.mate is not None:
        return []
    if scene.captured is not None or scene.after.is_check():
        return []
    look = scene.analysis.deeper(board, LAST_LOOK)
    if look is None or not look.line or look.mate is not None:
        return []
    idea, stood = look.line[0], max(had.value, -DECIDED)
    if look.value + stood < GAINS_MUCH or board.is_capture(idea) or board.gives_check(idea):
        return []
    possible = idea in scene.after.legal_moves
    if possible and (force.gain(played(scene.after, idea)) or 0) < force.LEAST:
        return []
    return [Forestalls(Step(idea, step(board, idea).text))]


IDEA_FINDERS: dict[Finder, Weights] = {
    dominates: Weights(0.6, 0.66, 0.66, sharp=True, like="Traps"),
    windmill: Weights(0.9, 0.92, 0.92, sharp=True, like="Discovers DoubleCheck Wins Nets"),
    quiet_killer: Weights(0.96, 0.96, 0.95, sharp=True, like="OnlyGood OnlyMove Wins Nets"),
    quiet_only: Weights(0.4, 0.5, 0.52, sharp=True, reason=False, like="quiet_killer"),
    bare_king: Weights(
        0.46, 0.46, 0.42, once=True, drawback=True, sharp=True, like="OpensKing opens_centre"
    ),
    minority_attack: Weights(0.5, 0.6, 0.62, like="gains_space strikes backs_up"),
    good_knight: Weights(0.5, 0.62, 0.64, like="bad_bishop"),
    weak_squares: Weights(0.45, 0.6, 0.62, drawback=True, like="BishopPair"),
    opens_centre: Weights(0.5, 0.58, 0.56, sharp=True, like="opens_file"),
}
IDEAS: dict[type[Claim], Weights] = {
    Fails: Weights(0.6, 0.7, 0.7),
    Poisons: Weights(0.6, 0.7, 0.68),
    Forestalls: Weights(0.5, 0.55, 0.55),
}
