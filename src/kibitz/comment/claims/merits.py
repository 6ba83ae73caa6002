"""Claims about what a move wins, threatens and parries, proved by searches.

Material is proved by `Prover`, mates by the search for mates, values by the engine's search, which
a scene carries as `had` and `has`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import chess

from kibitz.comment import force
from kibitz.comment.analysis import AS_GOOD, LAST_LOOK, PAIR
from kibitz.comment.claims.claim import (
    Claim,
    Judged,
    Step,
    Weights,
    as_minor,
    ends_trade,
    gone,
    is_plain,
    listed,
    net,
    passed,
    stands,
    step,
    worth_of,
)
from kibitz.comment.facts import (
    RECENT,
    WORTH,
    Scene,
    Unit,
    balance,
    captured_by,
    is_defended,
    played,
    settled,
)
from kibitz.comment.force import SURE_MATE
from kibitz.comment.judge import BETTER, DECIDED, Evaluation, is_hard_to_find, is_only_move

LEAST_THREAT = 180
LASTING = 4  # positions
SOON = 2  # answers of the other side
SMALL = 300  # centipawns: a smaller gain, if only the exchange, is looked at once more
LONG_ENOUGH = 3  # plies of an expected line that tells anything
FEW = 2  # moves of a mate that is threatened


# --- what a move does -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Wins(Claim):
    """Material is won by force; the pieces are left open where there are many."""

    won: tuple[int, ...]  # kinds of pieces
    lost: tuple[int, ...]

    def proved(self, scene: Scene) -> bool:
        """The search of material finds the gain, and its line has these pieces."""
        if ends_trade(scene, gain_of(scene)) or not is_borne_out(scene):
            return False
        if not self.won:
            return gain_of(scene) >= LEAST_THREAT
        plain = is_plain(self.won, self.lost)
        return plain and gain_of(scene) >= force.LEAST and exchanged(scene) == (self.won, self.lost)

    def is_kept(self, scene: Scene) -> bool:
        """Whether a deeper search has it and keeps it; a small gain is looked at once more."""
        lasting = lasts(scene.deeper) and stays_won(scene) and self.falls(scene)
        return lasting and not self._costs_more(scene) and self.proved(scene.deeper)

    def _costs_more(self, scene: Scene) -> bool:
        """Whether a pawn is all that is won, and the game stands no better than level for it."""
        pawn, value = (self.won, self.lost) == ((chess.PAWN,), ()), scene.deeper.value
        ahead = balance(scene.start, scene.mover) >= 0
        return pawn and ahead and value is not None and value <= 0.0

    def falls(self, scene: Scene) -> bool:
        """Whether deeper searches, too, expect the named pieces to fall, and not others.

        Where something is named that they cost, no more may fall for it than is told.
        """
        line = scene.analysis.expected(scene.after, LAST_LOOK)
        end = None if line is None else played(scene.after, *line)
        theirs, own = (
            None if end is None else gone(scene.start, end, white)
            for white in (not scene.mover, scene.mover)
        )
        if theirs is None or own is None:
            return True
        if Counter(map(as_minor, self.lost)) - Counter(map(as_minor, own.elements())):
            return False  # less is lost for it
        more = net(theirs, own, scene.captured) - Counter(self.won)
        if self.lost and self.lost == listed(own - theirs) and more:
            return False
        return not Counter(self.won) - theirs


def lasts(scene: Scene) -> bool:
    """Whether what a move wins is there in the last four positions of the line that is expected."""
    least = balance(scene.start, scene.mover) + 1
    return scene.has is None or all(
        balance(board, scene.mover) >= least for board in scene.boards[2:][-LASTING:]
    )


def stays_won(scene: Scene) -> bool:
    """Whether a still deeper look keeps what a move wins, a small gain at that."""
    if gain_of(scene) >= SMALL:
        return keeps_more(scene.after, scene, balance(scene.start, scene.mover))
    last = scene.searched_with(LAST_LOOK)
    had = balance(scene.start, scene.mover) + max(0, gain_of(scene) // 100 - 1)
    return last is scene or (lasts(last) and keeps_more(scene.after, scene, had, LAST_LOOK))


def loses_nothing(scene: Scene) -> bool:
    """Whether the mover keeps its material by force and in the line, and is not losing."""
    if scene.has is not None and scene.has.value >= BETTER:
        return False
    had = balance(scene.before, scene.mover)
    gain = force.gain(scene.after)
    enough = len(scene.boards) > LONG_ENOUGH and gain is not None and gain < force.LEAST
    answered = (*scene.boards[3::2], *scene.boards[-2:])
    return enough and all(balance(board, scene.mover) >= had for board in answered)


def gain_of(scene: Scene) -> int:
    """Centipawns a move wins by force, of an exchange as a whole; -1 if unknown."""
    gain = force.gain(scene.before, scene.move)
    if gain is None or abs(gain) > SURE_MATE:
        return -1
    owed = balance(scene.start, scene.mover) - balance(scene.before, scene.mover)
    return gain - 100 * owed


def is_borne_out(scene: Scene, most: int = WORTH[chess.KING]) -> bool:
    """Whether the line that the engine expects ends with more material for the mover, too.

    Of the gain all but a pawn has to be there, or as many pawns' worth as `most`. Where that line
    ends too early to tell, deeper searches go on from its end.
    """
    if len(scene.follow) < LONG_ENOUGH:
        longer = None if scene.has is None or gain_of(scene) <= 0 else expected_again(scene)
        return scene.has is None if longer is None else is_borne_out(longer, most)
    before = balance(scene.start, scene.mover)
    gain = gain_of(scene)
    least = min(most, max(1, gain // 100 - 1))
    ends = far_boards(scene)[-2:]
    return gain > 0 and all(balance(board, scene.mover) >= before + least for board in ends)


def far_boards(scene: Scene) -> tuple[chess.Board, ...]:
    """The positions of the line, and where something hangs at its end, those after it."""
    return scene.boards if force.is_calm(scene.boards[-1]) else scene.course_boards


def expected_again(scene: Scene) -> Scene | None:
    """The scene with a line of deeper searches; None if there is none that is long enough."""
    line = scene.analysis.expected(scene.after)
    enough = line is not None and len(line) >= LONG_ENOUGH
    return replace(scene, follow=tuple(line)) if line is not None and enough else None


def exchanged(scene: Scene) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """What both sides lose in the proof of a gain, from where the exchange began.

    None where quiet moves lie between: what was lost then is no part of it.
    """
    if not is_one_exchange(scene):
        return None
    board = played(scene.before, *force.line(scene.before, scene.move))
    theirs, own = (gone(scene.start, board, side) for side in (not scene.mover, scene.mover))
    if theirs is None or own is None:
        return None
    won, lost = listed(net(theirs, own, scene.captured)), listed(own - theirs)
    return (won, lost) if worth_of(won, lost) == gain_of(scene) else None


def is_one_exchange(scene: Scene) -> bool:
    """Whether no two moves in a row before this one took nothing, since the mover had most."""
    board, most = scene.before.copy(stack=RECENT), balance(scene.start, scene.mover)
    quiet = 0
    while balance(board, scene.mover) < most and board.move_stack:
        last = board.pop()
        quiet = 0 if board.is_capture(last) else quiet + 1
        if quiet > 1:
            return False
    return True


@dataclass(frozen=True)
class Nets(Judged):
    """Material is won in the end, by the engine's line, without being forced move by move."""

    won: tuple[int, ...]
    lost: tuple[int, ...]

    def proved(self, scene: Scene) -> bool:
        """The line ends with these pieces more, has had them for a while, and nothing hangs."""
        if len(scene.follow) < 2 * LONG_ENOUGH or not self.won:
            return False
        start, end, white = scene.start, scene.boards[-1], scene.mover
        least = balance(start, white) + 1
        hangs = force.gain(end)
        theirs, own = gone(start, end, not white), gone(start, end, white)
        if theirs is None or own is None or hangs is None:
            return False
        return (
            all(balance(board, white) >= least for board in scene.boards[-3:])
            and hangs < force.LEAST
            and self.won == listed(net(theirs, own, scene.captured))
            and self.lost == listed(own - theirs)
            and is_plain(self.won, self.lost)
            and balance(end, white) >= least + 2  # less may come back
            and (scene.has is None or _may_be_ahead(scene.has, balance(end, white)))
        )


def _may_be_ahead(has: Evaluation, ahead: int) -> bool:
    """Whether the mover's score goes with it; who is lost, or repeats moves, wins nothing so."""
    return bool(has.score.amount) and has.value < DECIDED and ahead <= has.ahead_at_most(own=False)


def netted(scene: Scene) -> Iterator[Claim]:
    """What the engine's line wins and loses."""
    sides, end = (not scene.mover, scene.mover), scene.boards[-1]
    theirs, own = (gone(scene.start, end, side) for side in sides)
    if theirs and own is not None and is_one_exchange(scene):
        yield Nets(listed(net(theirs, own, scene.captured)), listed(own - theirs))


@dataclass(frozen=True)
class Verdict(Claim):
    """What the endgame tables say of the position that a move leads to."""

    result: int  # 1, 0 or -1 for the mover

    def proved(self, scene: Scene) -> bool:
        """It is in the tables, and the position before is not, or has another verdict."""
        had, has = scene.analysis.outcome(scene.before), scene.analysis.outcome(scene.after)
        return has is not None and -has == self.result != had


@dataclass(frozen=True)
class MateIn(Claim):
    """A move after which the mover mates within so many moves, this one not counted."""

    moves: int

    def proved(self, scene: Scene) -> bool:
        """Every reply allows mate in so many moves at most, and one of them no sooner."""
        return force.longest_defence(scene.after, self.moves) == self.moves


@dataclass(frozen=True)
class Threatens(Claim):
    """What the mover would do if the other side passed."""

    step: Step
    target: Unit | None  # that would be taken; None: it would be mate

    def proved(self, scene: Scene) -> bool:
        """The threat wins material, or mates at once, and is new."""
        board = passed(scene.after)
        if board is None or self.step.move not in board.legal_moves:
            return False
        if self.target is None:
            return force.mates(board, self.step.move) and not force.mates_at_once(scene.before)
        return (
            captured_by(board, self.step.move) == self.target
            and not self._waited(scene)
            and stands(board, self.target)
            and force.LEAST <= threatened(self, scene) < SURE_MATE
        )

    def is_kept(self, scene: Scene) -> bool:
        """Whether a deeper search of what is threatened keeps something of what it takes."""
        return self.target is None or threat_pays(self, scene)

    def _waited(self, scene: Scene) -> bool:
        """Whether the same capture was there before, and only had to wait for a check."""
        move, before = self.step.move, scene.before
        same = before.is_pseudo_legal(move) and captured_by(before, move) == self.target
        return same and before.is_check()


def threatened(threat: Threatens, scene: Scene) -> int:
    """Centipawns that a threat would win and that were not to be won before; -1 if unknown."""
    board = passed(scene.after)
    gain = None if board is None else force.gain(board, threat.step.move)
    had = force.gain(scene.before)
    return -1 if gain is None or had is None else min(gain, gain - had)


def threat_pays(threat: Threatens, scene: Scene) -> bool:
    """Whether a deeper search of what is threatened keeps something of what it takes."""
    board = passed(scene.after)
    if board is None:
        return False
    target = threat.target
    if target and target.kind == chess.PAWN and is_defended(scene.after, target.square):
        return False
    if target and target.kind != chess.PAWN and threatened(threat, scene) < LEAST_THREAT:
        return False  # it is taken, and as much is lost elsewhere
    taker = board.piece_at(threat.step.move.from_square)
    guarded = target is not None and is_defended(scene.after, target.square)
    if target and guarded and taker and WORTH[taker.piece_type] >= target.worth:
        return False  # what is won after an exchange takes more than a look to be sure of
    board.push(threat.step.move)
    return keeps_more(board, scene, balance(scene.after, scene.mover))


def keeps_more(
    board: chess.Board, scene: Scene, had: int, times: int = 1, apart: float = AS_GOOD
) -> bool:
    """Whether the mover ends with more material in what deeper searches expect of a position."""
    evaluation = scene.analysis.deeper(board, times, PAIR)
    if evaluation is None:
        return True
    if evaluation.mate is not None:
        return (evaluation.mate <= 0) == (board.turn != scene.mover)
    lines = scene.analysis.lines(board, times, apart)
    most = evaluation.ahead_at_most(own=board.turn == scene.mover)
    return all(had < _end_of(board, line, scene.mover) <= most for line in lines)


def _end_of(board: chess.Board, line: Sequence[chess.Move], white: bool) -> int:
    """How many pawns a side is ahead, all settled, at the end of a line and two plies before.

    The least of both, as the last moves of a long line are often bad ones.
    """
    cut = len(line) - 2 if len(line) > 2 * LONG_ENOUGH else len(line)
    ends = [settled(played(board, *line[:plies]), white) for plies in (cut, len(line))]
    return min(-WORTH[chess.KING] if end is None else end for end in ends)


@dataclass(frozen=True)
class ThreatensMate(Claim):
    """The mover would force mate in a few moves if the other side passed."""

    moves: int

    def proved(self, scene: Scene) -> bool:
        """By the search for mates; in the position before, the mover had no such mate."""
        board = passed(scene.after)
        if board is None or force.shortest_mate(board, self.moves) != self.moves:
            return False
        return force.shortest_mate(scene.before, self.moves) is None


@dataclass(frozen=True)
class Parries(Claim):
    """The other side's threat is there no more."""

    step: Step
    target: Unit | None  # that was threatened; None: it would have been mate

    def proved(self, scene: Scene) -> bool:
        """If the mover had passed the threat would have worked; now it does not.

        Nor does it once a check has been answered, however that is done.
        """
        board = passed(scene.before)
        if board is None or self.step.move not in board.legal_moves:
            return False
        if scene.after.is_check() and not self._is_gone(scene):
            return False
        if self.target is None:
            return force.mates(board, self.step.move) and force.mates_at_once(scene.after) is None
        gain, now = force.gain(board, self.step.move), force.gain(scene.after)
        return (
            captured_by(board, self.step.move) == self.target
            and gain is not None
            and now is not None
            and gain >= LEAST_THREAT
            and force.loss_on(board, self.target.square) >= force.LEAST  # and not by what follows
            and now < force.LEAST
        )

    def is_kept(self, scene: Scene) -> bool:
        """Whether nothing else is lost for it; a pawn is easily given up, and looked at longer."""
        if self.target is None:
            return True
        deep = scene.searched_with(LAST_LOOK if self.target.kind == chess.PAWN else 1)
        answers = [*zip(deep.boards[1::2], deep.follow[::2], strict=False)][:SOON]
        taken = any(captured_by(board, move) == self.target for board, move in answers)
        return deep is scene or (loses_nothing(deep) and not taken)

    def _is_gone(self, scene: Scene) -> bool:
        """Whether the threat is none any more after any answer to a check, if the mover passed."""
        return all(self._is_over(scene.after, answer) for answer in scene.after.legal_moves)

    def _is_over(self, checked: chess.Board, answer: chess.Move) -> bool:
        board, move = passed(played(checked, answer)), self.step.move
        if board is None or answer == move or move not in board.legal_moves:
            return board is not None and answer != move
        if self.target is None:
            return not force.mates(board, move)
        gain = force.gain(board, move)
        return gain is not None and gain < force.LEAST


@dataclass(frozen=True)
class OnlyMove(Judged):
    """All other moves are mistakes."""

    hard: bool  # and it does not look like the best move

    def proved(self, scene: Scene) -> bool:
        """By the search's second line, and as all others lose material beside it."""
        if scene.had is None or scene.before.legal_moves.count() < 3:
            return False
        if not is_only_move(scene.had, scene.move):
            return False
        if self.hard != is_hard_to_find(scene.had, scene.move):
            return False
        best = force.gain(scene.before, scene.move)
        others = (move for move in scene.before.legal_moves if move != scene.move)
        return best is not None and all(
            (gain := force.gain(scene.before, move)) is not None and gain <= best - LEAST_THREAT
            for move in others
        )


# --- finding them ---------------------------------------------------------------------------------


def merits(scene: Scene) -> list[Claim]:
    """What a move wins, threatens and parries, and whether it was the only one; proved."""
    return [claim for claim in _merits(scene) if claim.proved(scene)]


def _merits(scene: Scene) -> Iterator[Claim]:
    mate = scene.has.mate if scene.has else None
    soon = mate is not None and -force.LONGEST_MATE <= mate < 0
    if mate and soon and (longest := force.longest_defence(scene.after, -mate)):
        yield MateIn(longest)
    if gain_of(scene) >= force.LEAST:
        exchange = exchanged(scene)
        if exchange is not None and exchange[0]:
            yield Wins(*exchange)
        if not scene.move.promotion:  # which says it all
            yield Wins((), ())
    yield from netted(scene)
    if (outcome := scene.analysis.outcome(scene.after)) is not None:
        yield Verdict(-outcome)
    yield from _threats(scene)
    if is_near_king(scene) and (mate is None or mate > 0):
        yield ThreatensMate(FEW)
    yield from (OnlyMove(True), OnlyMove(False))


def is_near_king(scene: Scene) -> bool:
    """Whether two pieces of the mover, not pawns, attack squares beside the other king."""
    board, white = scene.after, scene.mover
    ring = chess.BB_KING_ATTACKS[board.king(not white) or 0]
    pieces = board.occupied_co[white] & ~board.pawns & ~board.kings
    return sum(bool(board.attacks_mask(at) & ring) for at in chess.scan_forward(pieces)) > 1


def _threats(scene: Scene) -> Iterator[Claim]:
    for board in (passed(scene.after), passed(scene.before)):
        if board is None:
            continue
        mating = force.mates_at_once(board)
        if (best := mating or force.best(board)) is None:
            continue
        target = None if mating else captured_by(board, best)
        if not (mating or target):
            continue
        found = Threatens if board.turn == scene.mover else Parries
        yield found(step(board, best), target)


WEIGHTS: dict[type[Claim], Weights] = {
    MateIn: Weights(0.95, 0.95, 0.9),
    Wins: Weights(0.85, 0.8, 0.6),
    Nets: Weights(0.6, 0.65, 0.6),
    Verdict: Weights(0.6, 0.75, 0.8),
    Threatens: Weights(0.75, 0.6, 0.4),
    ThreatensMate: Weights(0.78, 0.91, 0.9),
    Parries: Weights(0.65, 0.5, 0.4),
    OnlyMove: Weights(0.3, 0.5, 0.5),  # what the move does says more
}
