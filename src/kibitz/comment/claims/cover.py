"""Claims about guards: what a bad move takes from its own side, a guard, cover, a blockade, room.

They say why something falls in the refutation, at once or a move or two later, or how its pawns
and heavy pieces get through; why nothing takes back, by the search of material or by long looks;
what the better move guards, and which guard a pawn attacks; which own piece has less to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import chess

from kibitz.comment import force
from kibitz.comment.analysis import AS_GOOD, LAST_LOOK
from kibitz.comment.claims.claim import (
    CENTIPAWNS,
    Claim,
    Step,
    Weights,
    is_between,
    is_taken_on_arrival,
    passed,
    stands,
    step,
)
from kibitz.comment.facts import (
    SLIDERS,
    Scene,
    Unit,
    balance,
    captured_by,
    is_open,
    is_passed,
    played,
    ray_beyond,
    unit,
    units,
)

CENTRAL = (3, 4)  # files
EDGE = chess.BB_FILE_A | chess.BB_FILE_H | chess.BB_RANK_1 | chess.BB_RANK_8
SEVERAL = 3  # squares, at least, that a piece had which is shut in
SOON = 4  # plies after the reply within which something falls


class Fall(NamedTuple):
    """Something that is lost in the refutation of a move."""

    plies: int  # after the reply
    by: Unit  # what takes it
    target: Unit


@dataclass(frozen=True)
class Unblocks(Claim):
    """A piece that has moved stood between an enemy piece and what that takes."""

    by: Unit
    target: Unit

    def proved(self, scene: Scene) -> bool:
        """It alone shut the line, along which the refutation takes what stood there."""
        between = chess.between(self.by.square, self.target.square) & scene.before.occupied
        alone = between == chess.BB_SQUARES[scene.move.from_square]
        takes = any((self.by, self.target) == fall[1:] for fall in falls(scene))
        return alone and takes and stands(scene.before, self.by)


@dataclass(frozen=True)
class Shuts(Claim):
    """A piece has moved between another of its side and what that guarded."""

    piece: Unit
    guard: Unit
    target: Unit

    def proved(self, scene: Scene) -> bool:
        """It guarded it along this line, what has come does not, and the refutation takes it."""
        between = is_between(scene.landed, self.guard.square, self.target.square)
        guarded = self.target.square in scene.before.attacks(self.guard.square)
        takes = any(self.target == fall.target for fall in falls(scene))
        moved = self.piece == scene.piece and stands(scene.after, self.guard)
        instead = self.target.square in scene.after.attacks(scene.landed)
        return moved and between and guarded and takes and not instead


@dataclass(frozen=True)
class Unguards(Claim):
    """A piece that has moved guards something no more that falls."""

    guard: Unit  # where it stands now
    target: Unit

    def proved(self, scene: Scene) -> bool:
        """It guarded it before, and does not now, nor through the answer."""
        square = self.target.square
        guarded = square in scene.before.attacks(scene.move.from_square)
        boards = scene.after, scene.other.after if scene.reply else scene.after
        guards = any(square in board.attacks(scene.landed) for board in boards)
        takes = any(self.target == fall.target for fall in falls(scene))
        return self.guard == scene.piece and guarded and not guards and takes


@dataclass(frozen=True)
class UnguardsSquare(Claim):
    """A piece that has moved guards a square no more, to which the refutation goes."""

    guard: Unit  # where it stands now
    square: int

    def proved(self, scene: Scene) -> bool:
        """Nothing is taken there; while the guard stood it would have won what comes.

        Or kept the king away.
        """
        reply, back = scene.reply, chess.Move(scene.move.from_square, self.square)
        if reply is None or reply.to_square != self.square or self.guard != scene.piece:
            return False
        boards = scene.before, scene.after
        if any(board.piece_at(self.square) for board in boards) or scene.after.is_capture(reply):
            return False
        guarded, had = is_taken_on_arrival(scene.before, reply, back), passed(scene.before)
        if had is not None and scene.after.king(had.turn) == reply.from_square:
            guarded = self.square in scene.before.attacks(scene.move.from_square)
        return guarded and self.square not in scene.after.attacks(scene.landed)


@dataclass(frozen=True)
class PinnedGuard(Claim):
    """What the refutation takes is guarded by a pinned piece, which cannot take back."""

    guard: Unit
    target: Unit

    def proved(self, scene: Scene) -> bool:
        """It is taken at once, and nothing can take back."""
        if not scene.reply or captured_by(scene.after, scene.reply) != self.target:
            return False
        board, square = scene.other.after, self.target.square
        pinned = stands(board, self.guard) and board.is_pinned(scene.mover, self.guard.square)
        guards = self.guard.square in board.attackers(scene.mover, square)
        takes = any(board.generate_legal_moves(to_mask=chess.BB_SQUARES[square]))
        return pinned and guards and not (takes or board.is_check())


@dataclass(frozen=True)
class IntoPin(Claim):
    """A piece has moved to where it is pinned to its king or queen."""

    target: Unit  # the piece
    to: Unit

    def proved(self, scene: Scene) -> bool:
        """It is taken there by a later move of the refutation, and its side ends with less."""
        return self in into_pin(scene)


def into_pin(scene: Scene) -> list[IntoPin]:
    """What a piece that has moved, and falls where it stands, is pinned to, if it is."""
    if not scene.reply or scene.piece.kind in (chess.PAWN, chess.KING):
        return []
    answer, board, held = scene.other, scene.after, list[Unit]()
    later = [*zip(answer.course_boards, answer.course, strict=False)][2 : SOON + 1 : 2]
    falls = any(captured_by(at, move) == scene.piece for at, move in later)
    if not falls or balance(answer.calm_boards[-1], scene.mover) >= balance(board, scene.mover):
        return []
    for attacker in board.attackers(not scene.mover, scene.landed):
        by, behind = unit(board, attacker), ray_beyond(board, attacker, scene.landed)
        if by.kind in SLIDERS and behind is not None and board.color_at(behind) == scene.mover:
            held.append(unit(board, behind))
    return [
        IntoPin(scene.piece, to)
        for to in held
        if to.kind in (chess.QUEEN, chess.KING) and to.worth > scene.piece.worth
    ]


@dataclass(frozen=True)
class NotRetaken(Claim):
    """What has just taken something is attacked, but to take it costs more."""

    back: Step
    answer: Step

    def proved(self, scene: Scene) -> bool:
        """By the search of material, which sees less taken back than what was taken and is then."""
        moves = self.back.move, self.answer.move
        return moves in [(one.back.move, one.answer.move) for one in not_retaken(scene)]


def not_retaken(scene: Scene) -> list[NotRetaken]:
    """The cheapest way to take back what has captured, and what is wrong with it, if all are."""
    taken = scene.captured
    if taken is None or scene.reply is None or scene.reply.to_square == scene.landed:
        return []
    goal = chess.BB_SQUARES[scene.landed]
    backs = [*scene.after.generate_legal_captures(to_mask=goal)]
    won = CENTIPAWNS.get(taken.kind, 0) - CENTIPAWNS.get(scene.piece.kind, 0)
    gains = [force.gain(played(scene.after, back)) for back in backs]
    if not backs or any(gain is None or won + gain < force.LEAST for gain in gains):
        return []
    mated = all(gain is not None and gain > force.SURE_MATE for gain in gains)
    if not mated and force.loss_on(scene.after, scene.landed) < force.LEAST:
        return []  # it is taken back in its turn
    back = min(backs, key=lambda move: unit(scene.after, move.from_square).worth)
    then = played(scene.after, back)
    answer = force.best(then)
    return [NotRetaken(step(scene.after, back), step(then, answer))] if answer else []


@dataclass(frozen=True)
class RetakingFails(Claim):
    """What has taken something may be taken back, which long looks show to be no better."""

    target: Unit
    back: Step
    answer: Step

    def proved(self, scene: Scene) -> bool:
        """So it is of each way to take back; the line has none and ends with more for the mover."""
        own = self.target, self.back.move, self.answer.move
        return own in [
            (one.target, one.back.move, one.answer.move) for one in retaking_fails(scene)
        ]


def retaking_fails(scene: Scene) -> list[RetakingFails]:
    """What a move takes and keeps by an answer that only a search sees, with the cheapest taker."""
    taken, value, goal = scene.captured, scene.value, chess.BB_SQUARES[scene.landed]
    backs = [*scene.after.generate_legal_captures(to_mask=goal)]
    if taken is None or value is None or not backs or scene.takes_back:
        return []
    gains = balance(scene.calm_boards[-1], scene.mover) > balance(scene.before, scene.mover)
    if not gains or scene.reply in backs or not_retaken(scene):
        return []
    looks = [scene.analysis.deeper(played(scene.after, back), LAST_LOOK) for back in backs]
    if not all(look and look.line and look.value >= value - AS_GOOD for look in looks):
        return []
    pairs = zip(backs, looks, strict=True)
    back, look = min(pairs, key=lambda pair: unit(scene.after, pair[0].from_square).worth)
    then = played(scene.after, back)
    assert look is not None
    answer = step(then, look.line[0])
    return [RetakingFails(taken, step(scene.after, back), answer)]


@dataclass(frozen=True)
class Covers(Claim):
    """A move guards something of its own side."""

    target: Unit

    def proved(self, scene: Scene) -> bool:
        """The piece that has moved guards it now."""
        own = self.target.white == scene.mover and stands(scene.after, self.target)
        return own and self.target.square in scene.after.attacks(scene.landed)


@dataclass(frozen=True)
class Undermines(Claim):
    """A pawn attacks a pawn that guards something, which falls without it."""

    guard: Unit  # the pawn
    target: Unit

    def proved(self, scene: Scene) -> bool:
        """The guard is to be taken next, or takes; either way what it guarded is lost."""
        return self in undermined(scene)


def undermined(scene: Scene) -> list[Undermines]:
    """The guard that a pawn move attacks, and the dearest that it guards, if it may not stay."""
    board, white, by = scene.after, scene.mover, scene.landed
    rest = passed(board)
    if scene.piece.kind != chess.PAWN or scene.captured or rest is None:
        return []
    found: list[Undermines] = []
    for square in board.attacks(by) & board.pieces(chess.PAWN, not white):
        takes, back = chess.Move(by, square), chess.Move(square, by)
        gain = force.gain(rest, takes) if takes in rest.legal_moves else 0
        if gain is None or gain < force.LEAST:
            continue
        without = played(board, back) if back in board.legal_moves else board.copy(stack=False)
        without.remove_piece_at(square)
        found += (
            Undermines(unit(board, square), piece)
            for piece in units(board, not white)
            if piece.square in board.attacks(square)
            and not force.loss_on(board, piece.square)
            and force.loss_on(without, piece.square) >= force.LEAST
        )
    return sorted(found, key=lambda claim: -claim.target.worth)[:1]


@dataclass(frozen=True)
class LiftsBlockade(Claim):
    """A piece that has moved stood before a passed pawn, which comes on now."""

    piece: Unit  # where it stands now
    pawn: Unit

    def proved(self, scene: Scene) -> bool:
        """It stood right before it, and in the refutation the pawn passes over that square."""
        square, white = self.pawn.square, not scene.mover
        stood = scene.move.from_square == square + (8 if white else -8)
        passed = stands(scene.before, self.pawn) and is_passed(scene.before, square, white)
        comes = scene.reply is not None and comes_on(scene.other, square)
        kind = self.pawn == Unit(chess.PAWN, square, white)
        return self.piece == scene.piece and kind and stood and passed and comes


def comes_on(answer: Scene, square: int) -> bool:
    """Whether a pawn steps forward from a square soon in a line of its side."""
    moves = (answer.move, *answer.follow)[: SOON + 1 : 2]
    return any(move.from_square == square and not (move.to_square - square) % 8 for move in moves)


@dataclass(frozen=True)
class OpensOwnKing(Claim):
    """The last pawn has left a file beside its own king, and an enemy rook or queen uses that."""

    file: int
    by: Unit  # where it stands then

    def proved(self, scene: Scene) -> bool:
        """No pawn is left there, and along the file a square beside the king is seen."""
        board, king = scene.after, scene.after.king(scene.mover)
        left = scene.piece.kind == chess.PAWN and is_open(board, self.file)
        queens = board.pieces_mask(chess.QUEEN, not scene.mover)
        aside = king is not None and king & 7 not in CENTRAL  # in the centre it is open anyway
        return left and bool(queens) and aside and self in opened(scene)


def opened(scene: Scene) -> list[OpensOwnKing]:
    """What uses the file that a pawn has left in the refutation."""
    file, white = scene.move.from_square & 7, not scene.mover
    found: list[OpensOwnKing] = []
    for board in scene.other.boards[: SOON + 2] if scene.reply else ():
        king = board.king(scene.mover)
        if king is None:
            continue
        beside = (chess.BB_KING_ATTACKS[king] | chess.BB_SQUARES[king]) & chess.BB_FILES[file]
        found += (
            OpensOwnKing(file, piece)
            for piece in units(board, white)
            if piece.kind in (chess.ROOK, chess.QUEEN) and piece.square & 7 == file
            if board.attacks_mask(piece.square) & beside
        )
    return found


def falls(scene: Scene) -> list[Fall]:
    """What the refutation takes that stood there before the move, and that is lost by it."""
    if "falls" not in scene.memo:
        scene.memo["falls"] = [*_falls(scene)] if scene.reply else []
    found: list[Fall] = scene.memo["falls"]
    return found


def _falls(scene: Scene) -> Iterator[Fall]:
    answer = scene.other
    moves = (answer.move, *answer.follow)
    for plies in range(0, min(SOON + 1, len(moves)), 2):
        board, move = answer.boards[plies], moves[plies]
        target, by = captured_by(board, move), unit(board, move.from_square)
        if target is None or not stands(scene.before, target) or target == scene.piece:
            continue
        kept = moves[plies + 1 : plies + 2] and moves[plies + 1].to_square != target.square
        ends_lower = balance(answer.boards[-1], scene.mover) < balance(scene.before, scene.mover)
        lost = target.worth > by.worth or force.loss_on(board, target.square) >= force.LEAST
        if lost or (kept and ends_lower and target.kind > chess.PAWN):
            yield Fall(plies, by, target)


Uncovers: TypeAlias = Unblocks | Shuts | Unguards | PinnedGuard | IntoPin


def uncovered(scene: Scene) -> list[Uncovers]:
    """What the move has taken guard or cover from, of what falls in its refutation, proved."""
    claims: list[Uncovers] = []
    for fall in falls(scene):
        claims += (Unblocks(fall.by, fall.target), Unguards(scene.piece, fall.target))
        claims += (PinnedGuard(piece, fall.target) for piece in units(scene.after, scene.mover))
        guards = scene.before.attackers(scene.mover, fall.target.square)
        guards.discard(scene.move.from_square)
        claims += (Shuts(scene.piece, unit(scene.before, square), fall.target) for square in guards)
    return [*(claim for claim in claims if claim.proved(scene)), *into_pin(scene)]


def let_through(scene: Scene) -> list[LiftsBlockade | OpensOwnKing | UnguardsSquare]:
    """Which pawn or which heavy piece the move has let through, or what onto a square, proved."""
    claims: list[LiftsBlockade | OpensOwnKing | UnguardsSquare] = []
    if scene.reply:
        claims += [UnguardsSquare(scene.piece, scene.reply.to_square)]
        before = scene.move.from_square + (-8 if not scene.mover else 8)
        pawns = (piece for piece in units(scene.before, not scene.mover) if piece.square == before)
        claims += (LiftsBlockade(scene.piece, pawn) for pawn in pawns)
        claims += opened(scene)
    return [claim for claim in claims if claim.proved(scene)]


# --- pieces in each other's way -------------------------------------------------------------------


@dataclass(frozen=True)
class TakesOwnSquare(Claim):
    """A pawn before the king that has not castled takes its knight's best square."""

    piece: Unit  # the knight, at home
    square: int

    def proved(self, scene: Scene) -> bool:
        """The f-pawn has made one step, and takes nothing."""
        squares = (chess.G1, chess.E1, chess.F2, chess.F3)
        home, king, start, goal = (
            square if scene.mover else chess.square_mirror(square) for square in squares
        )
        knight = Unit(chess.KNIGHT, home, scene.mover)
        steps = (scene.move.from_square, scene.landed, self.square) == (start, goal, goal)
        pawn = scene.piece.kind == chess.PAWN and not scene.captured
        at_home = self.piece == knight and scene.after.king(scene.mover) == king
        return steps and pawn and at_home and stands(scene.after, knight)


@dataclass(frozen=True)
class ShutsInOwn(Claim):
    """A piece that has moved shuts in another of its side."""

    piece: Unit

    def proved(self, scene: Scene) -> bool:
        """It had several squares and has one at most, and so after the side's next move."""
        board, square = scene.after, self.piece.square
        if self.piece.white != scene.mover or self.piece.kind not in SLIDERS or scene.captured:
            return False
        if not stands(board, self.piece, scene.piece) or square == scene.landed:
            return False
        soon = scene.boards[:4][-1]
        had, *has = (
            (each.attacks_mask(square) & ~each.occupied_co[scene.mover]).bit_count()
            for each in (scene.before, board, soon)
        )
        return stands(soon, self.piece, scene.piece) and had >= SEVERAL and max(has) <= 1


@dataclass(frozen=True)
class GoesToEdge(Claim):
    """A knight has gone to the edge of the board."""

    piece: Unit

    def proved(self, scene: Scene) -> bool:
        """It was not there, attacks nothing, and stands there at the end of the line."""
        start, goal = (chess.BB_SQUARES[at] for at in (scene.move.from_square, scene.landed))
        goes = bool(EDGE & goal) and not EDGE & start
        hits = scene.after.attacks_mask(scene.landed) & scene.after.occupied_co[not scene.mover]
        knight = self.piece == scene.piece and self.piece.kind == chess.KNIGHT
        idle = not (hits or scene.captured or scene.after.is_check())
        return knight and goes and idle and stands(scene.calm_boards[-1], self.piece)


Hampers: TypeAlias = TakesOwnSquare | ShutsInOwn | GoesToEdge


def hampered(scene: Scene) -> list[Hampers]:
    """What a move does to pieces of its own side, proved."""
    pieces = [*units(scene.after, scene.mover)]
    claims: list[Hampers] = [TakesOwnSquare(piece, scene.landed) for piece in pieces]
    claims += (ShutsInOwn(piece) for piece in pieces)
    claims += [GoesToEdge(scene.piece)]
    return [claim for claim in claims if claim.proved(scene)]


WEIGHTS: dict[type[Claim], Weights] = {Undermines: Weights(0.52, 0.58, 0.58)}
