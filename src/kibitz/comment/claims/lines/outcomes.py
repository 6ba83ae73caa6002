"""Claims about what a move leads to, by the line that is expected.

They are the reasons of bad moves: what the refutation achieves, or what the better move would have.
What is said holds at the end of the line, where nothing hangs any more.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import chess

from kibitz.comment import force
from kibitz.comment.analysis import AS_GOOD, LAST_LOOK, PLAYABLE
from kibitz.comment.claims.claim import (
    Claim,
    Step,
    Weights,
    as_minor,
    gone,
    is_at_rest,
    is_plain,
    is_well_met,
    listed,
    lost_like,
    stands,
    step,
    without_trade,
    worth_of,
)
from kibitz.comment.claims.lines.outlook import FAR, Draws, drawn
from kibitz.comment.claims.merits import MateIn, keeps_more
from kibitz.comment.claims.positional import has_opposite_bishops
from kibitz.comment.facts import (
    SHOWN,
    Scene,
    Unit,
    balance,
    captured_by,
    exposure,
    is_passed,
    phase,
    played,
    settled,
    unit,
    units,
)
from kibitz.comment.judge import WON

FAR_GAIN = 2  # pawns' worth for which FAR plies are shown
LEAST_UNNAMED = 2  # pawns' worth of a gain of which it is not told what it is
SOON = 4  # plies of it within which a side castles soon
MORE_OPEN = 2  # pawns missing before a king more than before the other
NEARLY = 2  # squares that a pawn that runs has left to go
SPARE = 20  # centipawns that a search of captures may be below what a line wins


class LineEnd(Claim):
    """What a line leaves, which has to come whatever the other side chooses on the way."""

    line: str

    @abstractmethod
    def found(self, scene: Scene) -> Sequence[Claim]:
        """All of this sort that the line of a move leaves."""

    def proved(self, scene: Scene) -> bool:
        """The line leaves it."""
        return self in self.found(scene)

    def is_kept(self, scene: Scene) -> bool:
        """Whether long looks at each choice of the other side leave the same sort of thing."""
        return all(
            self.found(replace(scene, follow=(*scene.course[1 : 2 * number + 1], *expected)))
            for number, board in enumerate((scene.after, *scene.choices_in(self.line)))
            for expected in scene.analysis.lines(board, LAST_LOOK, PLAYABLE)
        )


# --- material -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComesOut(Claim):
    """The line ends with more material for the mover than it had."""

    won: tuple[int, ...]  # kinds of pieces; empty: it is not told which
    lost: tuple[int, ...]
    line: str = ""  # until then
    back: bool = False  # it only makes up for what was lost lately
    main: bool = False  # in the main line; other answers may lose less

    def proved(self, scene: Scene) -> bool:
        """It is so from some position of the line to its calm end, by these pieces.

        What an exchange under way brings back is no gain.
        """
        return replace(self, main=False) in outcome(scene)

    def is_kept(self, scene: Scene) -> bool:
        """Whether long looks at each choice have it, or all but a pawn; one, of a main line."""
        gain = worth_of(self.won, self.lost)
        pawn = {*self.won} == {chess.PAWN}
        if scene.captured is not None and pawn and not (self.back or self.main):
            forced = force.gain(scene.before, scene.move)
            if forced is not None and forced < gain - SPARE:
                return False  # the other side may take back at once
        least = gain // 100 if self.won else LEAST_UNNAMED
        slack, apart = (1, PLAYABLE) if pawn else (2, AS_GOOD)
        had = reference(scene)[1] + max(0, least - slack)
        had = had if self.back else max(had, balance(scene.start, scene.mover))
        if self.main:
            kept = keeps_more(scene.after, scene, had, LAST_LOOK, apart=0)
            return kept and is_well_met(scene, self.line)
        return all(
            keeps_more(board, scene, had, LAST_LOOK, apart) and self._falls(scene, board)
            for board in (scene.after, *scene.choices_in(self.line))
        )

    def _falls(self, scene: Scene, board: chess.Board) -> bool:
        """Whether the dearest of what is named is gone by the end of what is expected then.

        It is not made up for by a piece of its sort, knights and bishops being of one.
        """
        dearest = as_minor(max(self.won, default=0))

        def falls(line: Sequence[chess.Move]) -> bool:
            end, sides = played(board, *line), (not scene.mover, scene.mover)
            if (force.gain(end) or 0) >= force.LEAST and (taking := force.best(end)):
                end = played(end, *force.line(end, taking))
            theirs, own = (gone(scene.before, end, side) for side in sides)
            return (
                theirs is None
                or own is None
                or lost_like(theirs, dearest) > lost_like(own, dearest)
            )

        return dearest <= chess.PAWN or all(map(falls, scene.analysis.lines(board, LAST_LOOK)))


def outcome(scene: Scene) -> list[ComesOut]:
    """What the line wins, if it does; what only makes up for a recent loss wins back.

    First the most, then what is won soon, which may be surer.
    """
    boards, white, (_, had) = scene.calm_boards, scene.mover, reference(scene)
    gains = [balance(board, white) - had for board in boards]
    if len(boards) < 4 or gains[-1] < 1:
        return []
    settled = [*_settled_gains(gains)]
    soon = [each for each in settled if each[1] <= SHOWN]
    most = dict.fromkeys(max(each, key=lambda of: of[0]) for each in (settled, soon) if each)
    return [claim for of in most for claim in _come_out(scene, gains, *of)]


def _come_out(
    scene: Scene, gains: Sequence[int], gain: int, plies: int, end: int
) -> list[ComesOut]:
    """What is won after so many plies, and counted in a position that may be later."""
    boards, white, (base, had) = scene.calm_boards, scene.mover, reference(scene)
    back = had + gain <= balance(scene.start, white)
    if gain < (LEAST_UNNAMED if back else 1) or (back and balance(scene.before, white) >= 0):
        return []  # of one who is ahead nothing is won back
    rests = [is_at_rest(scene, at) for at in range(len(boards[: FAR + 2]))]
    end = next((at for at in range(end, len(rests)) if rests[at] and gains[at] >= gain), 0)
    if not end:
        return []  # it would end where it is taken back
    line = scene.told(end, FAR + 1)
    theirs, own = (gone(base, boards[end], side) for side in (not white, white))
    if theirs is not None and own is not None:
        won, lost = without_trade(listed(theirs - own), listed(own - theirs))
        moves = [*zip(boards[:plies], scene.course, strict=False)]
        taken = {piece for piece in (captured_by(*each) for each in moves[::2]) if piece}
        came = {move.to_square for board, move in moves[1::2] if captured_by(board, move)}
        there = (piece.square in came or stands(scene.before, piece) for piece in taken)
        if {*won} == {chess.PAWN} and not any(there):
            return []  # it goes to where it is taken, and takes nothing there
        given = None if scene.takes_back else scene.last_took  # before the move, not in the line
        fits = set(won) <= {piece.kind for piece in taken} and is_plain(won, lost)
        if fits and given not in lost and worth_of(won, lost) == 100 * gain:
            return [ComesOut(won, lost, line, back)]
    return [ComesOut((), (), line, back)] if gain >= LEAST_UNNAMED else []


def _settled_gains(gains: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """What is won after a move of the mover and its answer, and kept, of much but for a pawn.

    With the plies of that move, and of the position in which it is counted. What is taken back at
    once was not lost.
    """
    for plies in range(1, min(FAR + 1, len(gains)), 2):
        gain, end = min((gain, at) for at, gain in enumerate(gains[plies : plies + 2], start=plies))
        lasting = map(max, pairwise([*gains[end:], gains[-1]]))
        far = gain >= FAR_GAIN
        kept = min(lasting) >= gain - far  # of just so much only on the way
        if kept and (gains[-1] >= gain or gain > FAR_GAIN) and plies <= (FAR if far else SHOWN):
            yield gain, plies, end


def reference(scene: Scene) -> tuple[chess.Board, int]:
    """A position that a gain is counted from, and how many pawns the mover was ahead there.

    Where the other side has just taken, that is before it did: to win that back is no gain.
    """
    before = scene.before
    if scene.last_took is None:
        return before, balance(before, scene.mover)
    if not before.move_stack:
        ahead = settled(before, before.turn)
        return before, balance(before, before.turn) if ahead is None else ahead
    earlier = before.copy(stack=1)
    earlier.pop()
    return earlier, balance(earlier, scene.mover)


# --- mates and draws ------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatesLater(Claim):
    """The mover mates by force, in more moves than the search for mates can prove."""

    moves: int  # this one not counted

    def proved(self, scene: Scene) -> bool:
        """Two looks found a mate, and the longer one's line says in how many moves at most."""
        look, seen = scene.analysis.deeper(scene.after, LAST_LOOK), _mate_seen(scene)
        if seen is None or look is None or look.mate is None:
            return False
        return seen < 0 > look.mate and self.moves == -look.mate


def _mate_seen(scene: Scene) -> int | None:
    """The mate after a move as the search sees it, or before it where the move is the best one."""
    had, has = scene.had, scene.has
    if has is not None or had is None or had.line[:1] != (scene.move,):
        return None if has is None else has.mate
    return None if had.mate is None or had.mate < 1 else 1 - had.mate


# --- kings and pawns ------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpensUp(LineEnd):
    """The line tears open the other king's position, or drives it out, with queens on."""

    line: str = ""

    def found(self, scene: Scene) -> Sequence[Claim]:
        """The king has lost two pawns' shelter, or its place, and two pieces attack beside it."""
        return opens_up(scene)


def opens_up(scene: Scene) -> list[OpensUp]:
    """Whether the other king is more open at the end of the line."""
    boards, other = scene.calm_boards, not scene.mover
    had = exposure(scene.before, other)
    for plies, board in enumerate(boards[1:], start=1):
        queens = board.pieces_mask(chess.QUEEN, scene.mover)
        lasts = all(exposure(later, other) >= had + 2 for later in boards[plies:])
        if queens and lasts and plies < len(boards) - 1 and _attackers(boards[-1], other) >= 2:
            line = scene.told(plies)
            return [OpensUp(line)] if line or plies == 1 else []
    return []


def _attackers(board: chess.Board, white: bool) -> int:
    """How many pieces of the other side attack squares beside a king."""
    king = board.king(white)
    assert king is not None
    ring = chess.BB_KING_ATTACKS[king]
    pieces = (unit for unit in units(board, not white) if unit.kind not in (chess.PAWN, chess.KING))
    return sum(bool(board.attacks_mask(piece.square) & ring) for piece in pieces)


@dataclass(frozen=True)
class Runs(LineEnd):
    """A passed pawn of the mover comes within two squares of promotion in the line."""

    pawn: Unit  # at the end of the line
    line: str = ""

    def found(self, scene: Scene) -> Sequence[Claim]:
        """It is passed there, was not there before, and stays to the end, not to be taken then."""
        return running(scene)


def running(scene: Scene) -> list[Runs]:
    """The pawns that run in the line."""
    boards, white, one = scene.course_boards, scene.mover, chess.Piece(chess.PAWN, scene.mover)
    end, runs = boards[-1], list[Runs]()
    for pawn in units(end, white):
        left = 7 - (pawn.square >> 3) if white else pawn.square >> 3
        near = NEARLY if not end.queens else NEARLY - 1
        if pawn.kind != chess.PAWN or left > near or not is_passed(end, pawn.square, white):
            continue
        there = [board.piece_at(pawn.square) == one for board in boards]
        first = there.index(True)
        attacked = end.turn != white and end.is_attacked_by(end.turn, pawn.square)
        stepped = scene.before.piece_at(pawn.square + (-8 if white else 8)) == one
        if stepped and left > 1:
            continue  # which is no run
        if 0 < first <= min(SHOWN, len(boards) - 3) and all(there[first:]) and not attacked:
            runs.append(Runs(pawn, scene.told(first)))
    return runs


@dataclass(frozen=True)
class Uncastles(LineEnd):
    """The other side can castle no more after the line, and has not."""

    line: str = ""

    def found(self, scene: Scene) -> Sequence[Claim]:
        """It could before, a check makes its king move in the line; queens or most pieces are on.

        It cannot castle on the way there.
        """
        return uncastled(scene)


def uncastled(scene: Scene) -> list[Uncastles]:
    """Whether the line costs the other side its castling."""
    boards, other = scene.calm_boards, not scene.mover
    early = phase(scene.before) == "opening"  # where pieces are left to attack the king
    if not scene.before.has_castling_rights(other) or not (boards[-1].queens or early):
        return []
    for plies, board in enumerate(boards[:-1][:SOON], start=1):
        if board.turn == other and any(map(board.is_castling, board.generate_castling_moves())):
            return []
        if not boards[plies].has_castling_rights(other):
            moved = boards[plies].king(other) != scene.before.king(other) and board.is_check()
            line = scene.told(plies)
            return [Uncastles(line)] if moved and (line or plies == 1) else []
    return []


@dataclass(frozen=True)
class TradesQueens(Claim):
    """The line takes the queens off where that suits the mover, and why.

    It is winning, its "king" has two pawns less before it than the other one, or it is worse and
    has a good chance to draw with "bishops" of opposite colours.
    """

    line: str = ""
    why: str = ""

    def proved(self, scene: Scene) -> bool:
        """Both sides have a queen before and none at the calm end; of a win the search is sure."""
        return self in without_queens(scene)

    def is_kept(self, scene: Scene) -> bool:
        """Whether they go in long looks, too."""
        lines = scene.analysis.lines(scene.after, LAST_LOOK)
        return not any(played(scene.after, *line).queens for line in lines)


def without_queens(scene: Scene) -> list[TradesQueens]:
    """Whether the queens leave the board, and what for."""
    before, boards = scene.before, scene.calm_boards
    value = 0.0 if scene.had is None else scene.had.value
    own, other = (exposure(before, white) for white in (scene.mover, not scene.mover))
    opposite = has_opposite_bishops(boards[-1]) and not boards[-1].rooks and value < 0
    if not all(before.pieces_mask(chess.QUEEN, white) for white in (True, False)):
        return []
    if boards[-1].queens or not (value >= WON or own >= other + MORE_OPEN or opposite):
        return []
    line = scene.told(next(number for number, board in enumerate(boards) if not board.queens))
    why = "" if value >= WON else "bishops" if opposite else "king"
    return [TradesQueens(line, why)] if line else []


# --- what kind of error ---------------------------------------------------------------------------


@dataclass(frozen=True)
class TakesBack(Claim):
    """The move takes back what was just taken."""

    piece: Unit  # that takes, where it stands then

    def proved(self, scene: Scene) -> bool:
        """The last move captured on the square that this one captures on."""
        return scene.takes_back and self.piece == scene.piece


@dataclass(frozen=True)
class HitsAgain(Claim):
    """The move attacks the piece that has just moved, which has to move again."""

    piece: Unit

    def proved(self, scene: Scene) -> bool:
        """It attacks it, with something worth less or where nothing guards it, and it goes next."""
        last, reply, board = scene.last, scene.reply, scene.after
        if last is None or reply is None or scene.captured or self.piece.square != last.to_square:
            return False
        there = stands(board, self.piece)
        hits = self.piece.square in board.attacks(scene.landed)
        cheap = scene.piece.worth < self.piece.worth
        king = self.piece.kind == chess.KING  # which has to answer a check anyway
        goes = reply.from_square == self.piece.square
        return there and hits and cheap and goes and not king

    def is_kept(self, scene: Scene) -> bool:
        """Whether it goes, and takes nothing, by all that a long look finds nearly as good."""
        answers = [line[0] for line in scene.analysis.lines(scene.after, LAST_LOOK, PLAYABLE)]
        return self.proved(scene.deeper) and all(
            move.from_square == self.piece.square and captured_by(scene.after, move) is None
            for move in answers
        )


def outcomes(scene: Scene) -> Iterator[Claim]:
    """What a move leads to, the largest consequence first; proved."""
    mate = _mate_seen(scene)
    if mate is not None and mate < 0 and not MateIn(-mate).proved(scene):
        look = scene.analysis.deeper(scene.after, LAST_LOOK)
        later = MatesLater(-look.mate) if look and look.mate is not None else None
        if later is not None and later.proved(scene):
            yield later
            return
    yield from drawn(scene)
    yield from outcome(scene)
    yield from opens_up(scene)
    yield from running(scene)[:1]
    yield from uncastled(scene)
    yield from without_queens(scene)
    yield from (claim for claim in _errors(scene) if claim.proved(scene))


def _errors(scene: Scene) -> Iterator[Claim]:
    yield TakesBack(scene.piece)
    if scene.last is not None and scene.after.piece_at(scene.last.to_square) is not None:
        kind = scene.after.piece_type_at(scene.last.to_square) or chess.PAWN
        yield HitsAgain(Unit(kind, scene.last.to_square, not scene.mover))


@dataclass(frozen=True)
class Offers(Claim):
    """What has moved can be taken for less than it is worth, and how that is answered."""

    piece: Unit
    step: Step
    reply: Step

    def proved(self, scene: Scene) -> bool:
        """A long look answers the cheapest capture so."""
        return self in offers(scene)


def offers(scene: Scene) -> list[Offers]:
    """A piece that has moved to where it can be taken."""
    took = scene.captured.worth if scene.captured is not None else 0
    loss = force.loss_on(scene.after, scene.landed)
    if scene.piece.kind == chess.PAWN or loss < 100 * (1 + took):
        return []
    takes = scene.after.generate_legal_captures(to_mask=chess.BB_SQUARES[scene.landed])
    take = min(takes, key=lambda move: unit(scene.after, move.from_square).worth, default=None)
    taken = None if take is None else played(scene.after, take)
    look = None if taken is None else scene.analysis.deeper(taken, LAST_LOOK)
    if take is None or taken is None or look is None or not look.line:
        return []
    return [Offers(scene.piece, step(scene.after, take), step(taken, look.line[0]))]


WEIGHTS: dict[type[Claim], Weights] = {
    MatesLater: Weights(0.94, 0.94, 0.94),
    Draws: Weights(0.92, 0.92, 0.92),
    ComesOut: Weights(0.7, 0.7, 0.7),
    OpensUp: Weights(0.6, 0.62, 0.62),
    Runs: Weights(0.62, 0.64, 0.64),
    Uncastles: Weights(0.55, 0.56, 0.55),
    TradesQueens: Weights(0.5, 0.5, 0.48),
    TakesBack: Weights(0.5, 0.5, 0.5),
    HitsAgain: Weights(0.5, 0.5, 0.5),
}
