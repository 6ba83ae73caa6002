"""Claims about where a move leads: the moves and the standing to expect, a mate's squares.

They are true of most moves, so they are said only where one asks for more than what stands out.
How the better move meets the refutation is here, too: it looks a move further than the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import chess

from kibitz.comment import force
from kibitz.comment.analysis import AMISS, AS_GOOD, LAST_LOOK, LONGEST_LOOK
from kibitz.comment.claims.claim import (
    Claim,
    Step,
    is_forced,
    is_taken_on_arrival,
    passed,
    step,
)
from kibitz.comment.claims.features import HOME
from kibitz.comment.claims.merits import LONG_ENOUGH
from kibitz.comment.claims.positional import is_pawn_ending
from kibitz.comment.claims.tactical import TakesLoose
from kibitz.comment.facts import RECENT, Scene, Unit, balance, is_passed, played
from kibitz.comment.judge import Evaluation, Label, label, standing, stands_clear
from kibitz.comment.openings import opening_of

EVEN = 0.06  # value, at most, of a position that is drawn for sure
PERPETUAL = 3  # checks in a row that end where they began, at least
FAR = 9  # plies that are shown where they lead to much
WORTH_MEETING = 0.2  # value that it gains if the other side passes
LONGEST_ANSWER = 7  # plies of a refutation that are named
MUCH_WORSE = 0.15  # value that the next best move costs, at least, where it is named


@dataclass(frozen=True)
class Continues(Claim):
    """The moves that the search expects."""

    line: str

    def proved(self, scene: Scene) -> bool:
        """They are the first of what it has seen after the move."""
        long_enough = scene.has is not None and len(scene.course) > LONG_ENOUGH
        return long_enough and self.line == scene.told(LONG_ENOUGH + 1)


def answer_line(scene: Scene) -> str:
    """The refutation and the moves after it, as text: 6.Nd5 Qd6 7.Bxg5."""
    return scene.after.variation_san(answer_moves(scene)).replace(". ", ".")


def answer_holds(scene: Scene) -> bool:
    """Whether a deeper look after the reply to a move, or a longer one, agrees that it is good."""
    if scene.has is None:
        return True
    # The first one mostly agrees.
    times = (1, LAST_LOOK, LONGEST_LOOK)
    looks = (scene.analysis.deeper(scene.other.after, each) for each in times)
    return any(look is None or look.value + scene.has.value < AMISS for look in looks)


def answer_moves(scene: Scene) -> tuple[chess.Move, ...]:
    """The refutation and the moves after it, until material is won for good."""
    boards = scene.other.boards
    had, other = balance(scene.after, not scene.mover), not scene.mover
    lasting = (
        number
        for number in range(1, min(len(boards), LONGEST_ANSWER + 1), 2)
        if all(balance(board, other) > had for board in boards[number : number + 2])
    )
    moves, plies = (scene.other.move, *scene.other.follow), max(3, next(lasting, 3))
    while plies < len(moves) and moves[plies].to_square == moves[plies - 1].to_square:
        if not boards[plies - 1].is_capture(moves[plies - 1]):
            break
        plies += 1  # it takes back
    return moves[:plies]


def line_to(scene: Scene, plies: int) -> str:
    """A move and those of its line up to the one that comes so many plies later."""
    moves = (scene.move, *scene.follow[:plies])
    return scene.before.variation_san(moves).replace(". ", ".")


@dataclass(frozen=True)
class Draws(Claim):
    """Whoever moves, and stood worse, draws: by stalemate, perpetual check or repetition."""

    how: str  # "stalemate", "check", "repetition"; "main" is a perpetual check in the main line
    line: str = ""

    def proved(self, scene: Scene) -> bool:
        """The moves of the line make it a draw in this way."""
        return self in drawn(scene)

    def is_kept(self, scene: Scene) -> bool:
        """Whether a long look sees a level game, too, and what repeats has no other answers."""
        quiet = self.how == "check" and not scene.after.is_check()
        stale = len(self.line.split()) + 1 if self.how == "stalemate" else 0
        third = self.how == "repetition" and _is_third_time(scene)
        sure = self.how == "main" or stale == 1 or third
        sure |= self.how == "check" and force.checks_for_ever(scene.after)
        if not (sure or is_forced(scene, 2 if quiet else stale or 2 * PERPETUAL)):
            return False
        look = scene.analysis.deeper(scene.after, LAST_LOOK)
        return look is None or abs(look.value) < EVEN


def drawn(scene: Scene) -> list[Draws]:
    """How the line makes a draw, if it does; moves that nothing forces may repeat without one."""
    boards = [scene.before]
    if _is_third_time(scene):
        return [Draws("repetition")]
    for number, move in enumerate((scene.move, *scene.follow), start=1):
        boards.append(played(boards[-1], move))
        line = scene.told(number)
        if boards[-1].is_stalemate() and (line or number == 1):
            return [Draws("stalemate", line)]
        if number >= 2 * PERPETUAL and _repeats(boards):
            checks = [board.is_check() for board in boards[1::2]]
            if len(checks) >= PERPETUAL and all(checks[1:]):
                return [Draws("check", line), *_perpetual(scene)]
            hits = map(_hits, boards[1::2])
            return [Draws("repetition", line)] if all(hits) else _perpetual(scene)
    return _perpetual(scene)


def _perpetual(scene: Scene) -> list[Draws]:
    """A perpetual check in the line, whatever comes before the checks, or one by all replies."""
    keys = [*map(force.key_of, boards := scene.course_boards)]
    for end in range(len(boards) - 1, 3, -1):
        first = keys.index(keys[end])
        told = (board for board in boards[first + 1 : end + 1] if board.turn != scene.mover)
        checks = [board.is_check() for board in told]
        if first and len(checks) > 1 and all(checks):
            return [Draws("main", scene.told(end, FAR + 1))]
    level = scene.value is not None and abs(scene.value) < EVEN  # else it is not worth a search
    return [Draws("check")] if level and force.checks_for_ever(scene.after) else []


def _is_third_time(scene: Scene) -> bool:
    """Whether the position after the move was there twice in the moves before."""
    board, key, times = scene.before.copy(stack=RECENT), force.key_of(scene.after), 1
    while board.move_stack:
        board.pop()
        times += force.key_of(board) == key
    return times > 2


def _hits(board: chess.Board) -> bool:
    """Whether the side to move has to answer, or it loses material."""
    there = passed(board)  # none in check
    return there is None or (force.gain(there) or 0) >= force.LEAST


def _repeats(boards: list[chess.Board]) -> bool:
    """Whether the last position was there before, by the seventh ply, so that it is of the move."""
    keys = [*map(force.key_of, boards)]
    return keys.index(keys[-1]) < min(len(keys) - 1, FAR - 1)


@dataclass(frozen=True)
class Leaves(Claim):
    """How the game stands for the mover after the move; see judge.standing."""

    has: int

    def proved(self, scene: Scene) -> bool:
        """By the search, well inside the standing, and not in a pawn ending."""
        if scene.has is None or scene.has.mate is not None or is_pawn_ending(scene.after):
            return False
        return stands_clear(scene.has.value) and standing(-scene.has.value) == self.has


@dataclass(frozen=True)
class Scored(Claim):
    """The score after a move."""

    centipawns: int  # for White

    def proved(self, scene: Scene) -> bool:
        """By the search; a mate has no such score."""
        return scene.has is not None and self.centipawns == _score_for_white(scene.has, scene)


def _score_for_white(evaluation: Evaluation, scene: Scene) -> int | None:
    """What was seen after a move, for White; None for a mate."""
    sign = -1 if scene.mover else 1
    return sign * evaluation.score.amount if evaluation.mate is None else None


@dataclass(frozen=True)
class Marked(Claim):
    """The mark of a bad move."""

    mark: Label

    def proved(self, scene: Scene) -> bool:
        """By what was seen before it and after it."""
        seen_both = scene.had is not None and scene.has is not None
        return bool(self.mark) and seen_both and mark_of(scene) is self.mark


def mark_of(scene: Scene) -> Label:
    """The mark that a move gets; none without a search. A named opening is no inaccuracy."""
    if scene.had is None or scene.has is None:
        return Label.NONE
    mark = label(scene.had, scene.has)
    known = mark is Label.INACCURACY and opening_of(scene.after) is not None
    return Label.NONE if known else mark


@dataclass(frozen=True)
class Develops(Claim):
    """A knight or bishop leaves the square where it began."""

    piece: Unit  # where it stands now

    def proved(self, scene: Scene) -> bool:
        """It goes from its square on the back rank to another rank, and cannot be taken there."""
        square, piece = scene.move.from_square, self.piece
        began = not scene.before.chess960 and square & 7 in HOME.get(piece.kind, ())
        left = square >> 3 == (0 if scene.mover else 7) != piece.square >> 3
        safe = not force.loss_on(scene.after, piece.square)
        return piece == scene.piece and began and left and safe


@dataclass(frozen=True)
class NearsGoal(Claim):
    """A passed pawn has two or three squares left to go."""

    pawn: Unit
    squares: int

    def proved(self, scene: Scene) -> bool:
        """It has moved, is passed, and these are the squares before it."""
        pawn, board = self.pawn, scene.after
        if pawn != scene.piece or pawn.kind != chess.PAWN:
            return False
        left = 7 - (pawn.square >> 3) if pawn.white else pawn.square >> 3
        return is_passed(board, pawn.square, pawn.white) and left == self.squares in (2, 3)


@dataclass(frozen=True)
class Names(Claim):
    """A move enters an opening that has a name."""

    opening: str

    def proved(self, scene: Scene) -> bool:
        """The position after it has the name; the one before has none, or another."""
        now, had = opening_of(scene.after), opening_of(scene.before)
        return now is not None and now.name == self.opening and now != had


@dataclass(frozen=True)
class BeatsNext(Claim):
    """The best move, and how the game would stand after the one that comes next to it."""

    step: Step
    then: int  # for the mover, see judge.standing

    def proved(self, scene: Scene) -> bool:
        """The search has them first and second, well apart, and a long look after each agrees."""
        other, best = next_best(scene), scene.searched_with(1, before=True).had
        if other is None or other.has is None or scene.had is None or best is None:
            return False
        second, values = -other.has.value, (scene.had.value, best.value)
        return (
            beats_next(scene, self.step.move)
            and stands_clear(second)
            and standing(second) == self.then < min(map(standing, values))
            and all(value >= second + MUCH_WORSE for value in values)
        )


def beats_next(scene: Scene, move: chess.Move) -> bool:
    """Whether the move made was seen as the best one, well before another as the second best."""
    had = scene.had
    if had is None or had.other is None or not had.other.line:
        return False
    first = had.line[:1] == (scene.move,) and had.other.line[0] == move
    return first and had.value >= had.other.value + MUCH_WORSE


@dataclass(frozen=True)
class NextFails(Claim):
    """The move that comes next to the best one, its answer, and what that does."""

    step: Step
    reply: Step
    why: tuple[Claim, ...]

    def proved(self, scene: Scene) -> bool:
        """A long look after the next best move has the answer, and is worse for the mover."""
        other = next_best(scene)
        if other is None or other.reply != self.reply.move:
            return False
        beats = is_much_worse(scene, other) and beats_next(scene, self.step.move)
        return beats and all(why.proved(other.other) for why in self.why)


def is_much_worse(scene: Scene, other: Scene) -> bool:
    """Whether long looks after a move and after another see the other as far worse."""
    best = scene.analysis.deeper(scene.after, LAST_LOOK)
    if best is None or other.has is None:
        return False
    return other.has.value >= best.value + MUCH_WORSE


def next_best(scene: Scene) -> Scene | None:
    """The second best move as a scene, as a long look after it sees it, if there is one."""
    had = scene.had
    if had is None or had.other is None or not had.other.line or had.line[:1] != (scene.move,):
        return None
    move = had.other.line[0]
    look = scene.analysis.deeper(played(scene.before, move), LAST_LOOK)
    if look is None or not look.line:
        return None
    made = (scene.before, move, look.line, scene.analysis, scene.last, scene.last_took)
    return Scene(*made, has=look)


@dataclass(frozen=True)
class Intends(Claim):
    """What the mover would do next if the other side passed, and what that does."""

    step: Step
    why: tuple[Claim, ...]

    def proved(self, scene: Scene) -> bool:
        """A long look has the move, gains by it that the other side is not to move, and why."""
        idea = next_idea(scene)
        return (
            idea is not None
            and idea.move == self.step.move
            and all(why.proved(idea) for why in self.why)
        )


def is_forcing(board: chess.Board, move: chess.Move) -> bool:
    """Whether a move takes something or gives check."""
    return board.is_capture(move) or board.gives_check(move)


def next_idea(scene: Scene) -> Scene | None:
    """The move with which the mover would go on if the other side passed, if that gains much."""
    if scene.reply is not None and is_forcing(scene.after, scene.reply):
        return None  # which takes or gives check, and so does nothing about a threat
    board = passed(scene.after)
    stood = scene.has if scene.has is not None else scene.analysis.deeper(scene.after)
    if board is None or stood is None or stood.mate is not None:
        return None
    least = min(WORTH_MEETING, (1 + stood.value) / 2)  # there may be less than that to gain
    rough = scene.analysis.deeper(board)
    if rough is None or rough.value + stood.value < least:
        return None
    look = scene.analysis.deeper(board, LAST_LOOK)
    if look is None or not look.line or look.value + stood.value < least:
        return None
    if scene.captured is not None and (
        look.line[0].from_square == scene.landed
        or force.loss_on(scene.after, scene.landed) >= force.LEAST
    ):
        return None  # which goes on taking, or leaves what has taken to be taken
    after = played(board, look.line[0])
    has = None if after.is_game_over() else scene.analysis.deeper(after)
    if has is None:
        return None
    return Scene(board, look.line[0], look.line[1:], scene.analysis, had=look, has=has)


@dataclass(frozen=True)
class OnlyMate(Claim):
    """No other move mates at once."""

    def proved(self, scene: Scene) -> bool:
        """Every legal move is tried."""
        others = (move for move in scene.before.legal_moves if move != scene.move)
        return scene.after.is_checkmate() and not any(
            played(scene.before, move).is_checkmate() for move in others
        )


@dataclass(frozen=True)
class NoEscape(Claim):
    """Why a king that is mated has no square."""

    blocked: tuple[int, ...]  # squares beside it on which its own men stand
    covered: tuple[int, ...]  # and those that are attacked

    def proved(self, scene: Scene) -> bool:
        """It is mate, and these are all the squares beside the king."""
        return scene.after.is_checkmate() and self == _escapes(scene.after)


def _escapes(board: chess.Board) -> NoEscape:
    """The squares beside the king of the side to move, shut or attacked once it has left."""
    king = board.king(board.turn)
    assert king is not None
    ring, own = chess.BB_KING_ATTACKS[king], board.occupied_co[board.turn]
    without = board.occupied & ~chess.BB_SQUARES[king]
    covered = (
        square
        for square in chess.scan_forward(ring & ~own)
        if board.attackers_mask(not board.turn, square, without)
    )
    return NoEscape(tuple(chess.scan_forward(ring & own)), tuple(covered))


def outlooks(scene: Scene) -> list[Claim]:
    """Where a move leads, proved."""
    return [claim for claim in _outlooks(scene) if claim.proved(scene)]


def _outlooks(scene: Scene) -> Iterator[Claim]:
    if scene.after.is_checkmate():
        yield from (OnlyMate(), _escapes(scene.after))
        if scene.captured is not None:
            yield TakesLoose(scene.captured)
        return
    opening = opening_of(scene.after)
    if opening is not None:
        yield Names(opening.name)
    yield from (Marked(mark_of(scene)), Develops(scene.piece))
    yield from (NearsGoal(scene.piece, squares) for squares in (2, 3))
    if scene.has is not None:
        yield Leaves(standing(-scene.has.value))
        score = _score_for_white(scene.has, scene)
        if score is not None:
            yield Scored(score)
    yield Continues(scene.told(LONG_ENOUGH + 1))


# --- what meets the refutation --------------------------------------------------------------------


@dataclass(frozen=True)
class Meets(Claim):
    """The better move has an answer to what refutes the other one."""

    reply: Step
    answer: Step
    mate: str = ""  # that the reply threatens at once

    def proved(self, scene: Scene) -> bool:
        """The reply is possible, and a long look answers it so and sees it gain nothing."""
        if self.reply.move not in scene.after.legal_moves or scene.had is None:
            return False
        if self.mate not in ("", _mate_threatened(scene, self.reply.move)):
            return False
        look = scene.analysis.deeper(played(scene.after, self.reply.move), LAST_LOOK)
        answers = look is not None and look.line[:1] == (self.answer.move,)
        return answers and look is not None and look.value >= scene.had.value - AS_GOOD


def meets(scene: Scene) -> list[Meets]:
    """How the better move meets the refutation, if it is possible there, by an answer of its own.

    After the bad move the answer is not possible, or wins nothing where it does after the better.
    """
    if scene.reply is None or scene.had is None or scene.had.line[:1] in ((), (scene.move,)):
        return []
    board = scene.instead.after
    if scene.reply not in board.legal_moves or scene.instead.captured is not None:
        return []  # what is taken comes first
    reply = step(board, scene.reply)
    same = reply.text.rstrip("+#") == step(scene.after, scene.reply).text.rstrip("+#")
    then = played(board, scene.reply)
    look = scene.analysis.deeper(then, LAST_LOOK) if same else None
    if look is None or not look.line:
        return []
    answer, bad = step(then, look.line[0]), scene.other.after
    taken = answer.move.to_square == scene.reply.to_square
    claim = Meets(reply, answer, "" if taken else _mate_threatened(scene.instead, scene.reply))
    if claim.answer.move == scene.other.reply:
        return []  # as it is after the bad move
    grabs = then.is_capture(answer.move) and not (taken or is_forcing(board, scene.reply))
    if grabs or (taken and is_taken_on_arrival(scene.before, reply.move, answer.move)):
        return []  # which takes what the reply has left, or what any other move lets it take
    own = claim.answer.move not in bad.legal_moves or (
        (force.gain(then, claim.answer.move) or 0) >= force.LEAST
        and (force.gain(bad, claim.answer.move) or 0) < force.LEAST
    )
    return [claim] if own and claim.proved(scene.instead) else []


def _mate_threatened(scene: Scene, reply: chess.Move) -> str:
    """The mate that a reply would make next, as text; nothing where it gives check."""
    then = played(scene.after, reply)
    if then.is_check() or then.is_game_over():
        return ""
    passed_on = played(then, chess.Move.null())
    mate = force.mates_at_once(passed_on)
    return step(passed_on, mate).text if mate else ""
