"""Claims about bad moves: what they allow and miss, and how the game stands after them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import chess

from kibitz.comment import force
from kibitz.comment.analysis import LAST_LOOK, LONGEST_LOOK, PAIR
from kibitz.comment.claims.claim import (
    CENTIPAWNS,
    Claim,
    Kinds,
    Step,
    gone,
    is_plain,
    listed,
    passed,
    stands,
    stands_as,
    step,
    worth_of,
)
from kibitz.comment.claims.lines.aftermath import AT_ONCE, PicksUp
from kibitz.comment.claims.lines.outcomes import ComesOut
from kibitz.comment.claims.lines.outlook import answer_holds, answer_moves
from kibitz.comment.claims.merits import LEAST_THREAT, MateIn, Wins, loses_nothing
from kibitz.comment.claims.positional import is_pawn_ending
from kibitz.comment.claims.structure import NEAR_KING, near_king
from kibitz.comment.claims.tactical import Fork, Traps
from kibitz.comment.facts import (
    Scene,
    Unit,
    balance,
    captured_by,
    exposure,
    is_unsafe,
    phase,
    played,
)
from kibitz.comment.judge import BETTER, Label, label, standing, stands_clear

EARLY = 6  # moves of a game in which a queen comes out early
AT_HOME = 3  # minor pieces that are to come out first
LATELY = 8  # plies in which a piece that goes back has come


@dataclass(frozen=True)
class EnPrise(Claim):
    """A piece has moved to where it can be taken."""

    piece: Unit
    reply: Step

    def proved(self, scene: Scene) -> bool:
        """The reply takes it, and what is taken back, there or elsewhere, does not make up for it.

        A piece that is traded and costs a pawn is not lost, nor is a queen that costs a rook.
        """
        board = scene.after
        took = WORTH_OF[scene.captured.kind] if scene.captured else 0
        least = max(force.LEAST, WORTH_OF[self.piece.kind] - CENTIPAWNS[chess.PAWN])
        return (
            self.piece == scene.piece
            and self.reply.move in board.legal_moves
            and captured_by(board, self.reply.move) == self.piece
            and force.loss_on(board, self.piece.square) >= took + least
            and self._costs(scene) >= took + least
            and not (self.piece.kind == chess.PAWN and self._is_traded(scene))
        )

    def _is_traded(self, scene: Scene) -> bool:
        """Whether the line takes back there, and the other side does not take once more."""
        goals = [move.to_square for move in scene.other.course[1:3]] if scene.reply else []
        return self.piece.square in goals[:1] and self.piece.square not in goals[1:]

    def _costs(self, scene: Scene) -> int:
        """Centipawns that it costs once the side that lost it has won back what it can."""
        after = played(scene.after, self.reply.move)
        return WORTH_OF[self.piece.kind] - (force.gain(after) or 0)


WORTH_OF = {**CENTIPAWNS, 6: 0}


@dataclass(frozen=True)
class GivesTooMuch(Claim):
    """A piece has taken something worth less, is taken, and nothing makes up for it."""

    lost: Kinds
    won: Kinds

    def proved(self, scene: Scene) -> bool:
        """So the printed line ends, with nothing hanging; that of the better move has more."""
        return self in given_too_much(scene)


def given_too_much(scene: Scene) -> list[GivesTooMuch]:
    """What is lost and won in the line after a capture that is answered on its square.

    Two minor pieces are worth more than a rook and a pawn.
    """
    took, white = scene.captured, scene.mover
    if took is None or not scene.reply or scene.takes_back or scene.piece.worth <= took.worth:
        return []
    end = played(scene.after, *answer_moves(scene))
    own, theirs = (gone(scene.before, end, side) for side in (white, not white))
    if captured_by(scene.after, scene.reply) != scene.piece or own is None or theirs is None:
        return []
    lost, won = listed(own - theirs), listed(theirs - own)
    pair = {*lost} <= {chess.KNIGHT, chess.BISHOP} and won == (chess.ROOK, chess.PAWN)
    named = pair or (lost == (scene.piece.kind,) and took.kind in won and is_plain(lost, won))
    ends = scene.before, scene.instead.calm_boards[-1] if scene.had else scene.before
    most = max(balance(board, white) for board in (end, scene.other.calm_boards[-1])) - pair
    costs = force.is_calm(end) and all(most < balance(board, white) for board in ends)
    return [GivesTooMuch(lost, won)] if named and costs else []


@dataclass(frozen=True)
class Abandons(Claim):
    """A piece that has moved guards something no more."""

    guard: Unit  # where it stands now
    target: Unit
    reply: Step
    why: tuple[Claim, ...] = ()  # what taking it does besides

    def proved(self, scene: Scene) -> bool:
        """The target was safe while the guard stood, and is lost now, not only traded for less."""
        square, least = self.target.square, WORTH_OF[self.target.kind] - CENTIPAWNS[chess.PAWN]
        return (
            self.guard == scene.piece
            and stands(scene.before, self.target)
            and square in scene.before.attacks(scene.move.from_square)
            and square not in scene.after.attacks(self.guard.square)
            and self.reply.move in scene.after.legal_moves
            and captured_by(scene.after, self.reply.move) == self.target
            and force.loss_on(scene.before, square) == 0
            and force.loss_on(scene.after, square) >= max(force.LEAST, least)
            and all(why.proved(scene.other) for why in self.why)
        )


@dataclass(frozen=True)
class Overlooks(Claim):
    """The other side had threatened what it does now."""

    reply: Step
    why: tuple[Claim, ...] = ()

    def proved(self, scene: Scene) -> bool:
        """The reply won as much if the mover had passed, and for the same reasons.

        A move that gives check is answered before anything is carried out.
        """
        threat = threat_of(scene, self.reply.move)
        if threat is None or scene.reply != self.reply.move or scene.after.is_check():
            return False
        if scene.after.gives_check(self.reply.move) > threat.before.gives_check(self.reply.move):
            return False  # which is more than was threatened
        gain = force.gain(threat.before, self.reply.move)
        now = force.gain(scene.after, self.reply.move)
        both = all(reason.proved(threat) and reason.proved(scene.other) for reason in self.why)
        return both and gain is not None and now is not None and min(gain, now) >= LEAST_THREAT


def threat_of(scene: Scene, reply: chess.Move) -> Scene | None:
    """The reply as a threat: a move of the position before, if the mover passed."""
    board = passed(scene.before)
    if board is None or reply not in board.legal_moves:
        return None
    return Scene(board, reply, (), scene.analysis)


@dataclass(frozen=True)
class AllowsMate(Claim):
    """The other side mates by force."""

    moves: int
    reply: Step

    def proved(self, scene: Scene) -> bool:
        """The reply begins a mate in so many moves, and the search for mates knows none shorter."""
        if force.shortest_mate(scene.after) not in (None, self.moves):
            return False
        if self.moves == 1:
            return played(scene.after, self.reply.move).is_checkmate()
        return MateIn(self.moves - 1).proved(
            Scene(scene.after, self.reply.move, (), scene.analysis)
        )


@dataclass(frozen=True)
class LosesEnding(Claim):
    """The reply takes or trades the last piece, and the pawn ending is lost, or only worse."""

    reply: Step
    worse: bool = False

    def proved(self, scene: Scene) -> bool:
        """By one of the longest looks, and it was not so before."""
        if scene.reply != self.reply.move or scene.had is None or is_pawn_ending(scene.after):
            return False
        end = next(filter(is_pawn_ending, scene.other.course_boards[1 : 1 + AT_ONCE]), None)
        look = None if end is None else scene.analysis.deeper(end, LONGEST_LOOK)
        if end is None or look is None:
            return False
        has = standing(look.value if end.turn == scene.mover else -look.value)
        return has == (-1 if self.worse else -2) and standing(scene.had.value) > has


@dataclass(frozen=True)
class Stalemates(Claim):
    """A better game is given away by stalemate."""

    def proved(self, scene: Scene) -> bool:
        """The other side has no move, and stood worse."""
        return scene.after.is_stalemate() and scene.had is not None and scene.had.value >= BETTER


@dataclass(frozen=True)
class CastlesInto(Claim):
    """The king has castled to where the other side attacks."""

    pieces: int  # that attack squares beside it

    def proved(self, scene: Scene) -> bool:
        """There are three or more, and a pawn before the king is missing."""
        near = len(near_king(scene.after, not scene.mover))
        bare = exposure(scene.after, scene.mover) > 0
        return scene.before.is_castling(scene.move) and bare and self.pieces == near >= NEAR_KING


@dataclass(frozen=True)
class EarlyQueen(Claim):
    """The queen comes out before knights and bishops."""

    def proved(self, scene: Scene) -> bool:
        """It leaves home in the first moves, takes nothing, and three minor pieces are at home."""
        home = chess.D1 if scene.mover else chess.D8
        early = scene.before.fullmove_number <= EARLY and scene.piece.kind == chess.QUEEN
        minors = scene.after.knights | scene.after.bishops
        rank = chess.BB_RANK_1 if scene.mover else chess.BB_RANK_8
        stay = (minors & rank & scene.after.occupied_co[scene.mover]).bit_count()
        leaves = scene.move.from_square == home and not scene.captured and not scene.before.chess960
        return early and leaves and stay >= AT_HOME


@dataclass(frozen=True)
class GoesBack(Claim):
    """A piece goes back to where it came from lately, at once or after the reply."""

    piece: Unit  # back on its square
    line: str = ""  # the reply and the move back

    def proved(self, scene: Scene) -> bool:
        """Two moves have left it where it was, and taken nothing."""
        return self in went_back(scene)


def went_back(scene: Scene) -> list[GoesBack]:
    """Whether the move undoes one made lately, or is undone by the next one, before the endgame.

    A piece that had to go was attacked. Where it is undone, a long look sees nothing better.
    """
    piece, back = scene.piece, chess.Move(scene.landed, scene.move.from_square)
    busy = scene.captured is not None or scene.after.is_check() or scene.before.is_check()
    if busy or piece.kind in (chess.PAWN, chess.KING) or phase(scene.before) == "endgame":
        return []
    if scene.next == back and not captured_by(scene.boards[2], back):
        expected = scene.analysis.expected(scene.boards[2], LAST_LOOK, PAIR)
        if expected is not None and expected[:1] != [back]:
            return []
        line = scene.after.variation_san(scene.follow[:2]).replace(". ", ".")
        return [GoesBack(piece._replace(square=back.to_square), line)]
    if is_unsafe(scene.before, scene.move.from_square):
        return []
    earlier = scene.before.copy(stack=LATELY)
    while earlier.move_stack:
        came = earlier.pop()
        if came.to_square == scene.move.from_square:  # the last to come there is the piece
            undone = came == back and captured_by(earlier, came) is None
            return [GoesBack(piece)] if undone else []
    return []


@dataclass(frozen=True)
class Allows(Claim):
    """The refutation of a bad move."""

    reply: Step
    why: tuple[Claim, ...]
    plies: int = 0  # of its line, after which comes the move that does all this

    def proved(self, scene: Scene) -> bool:
        """The search's reply, and all that is said of it, or of that later move."""
        if scene.has is None or not scene.has.line or scene.has.line[0] != self.reply.move:
            return False
        return _does(scene.other, self.plies, self.why)


def _does(scene: Scene, plies: int, why: tuple[Claim, ...]) -> bool:
    """Whether the move that comes so many plies later in a line does all that is claimed."""
    later = scene.ahead(plies)
    return later is not None and all(claim.proved(later) for claim in why)


@dataclass(frozen=True)
class Prevents(Claim):
    """The better move makes the refutation of the other one impossible."""

    reply: Step

    def proved(self, scene: Scene) -> bool:
        """The reply was possible if the mover had passed, and is not after the better move.

        That the piece is taken which makes it, or its square, goes without saying.
        """
        if scene.captured is not None and scene.captured.square == self.reply.move.from_square:
            return False
        if scene.landed == self.reply.move.to_square:
            return False
        board = passed(scene.before)
        possible = board is not None and self.reply.move in board.legal_moves
        return (
            possible
            and not scene.after.is_check()
            and self.reply.move not in scene.after.legal_moves
        )


@dataclass(frozen=True)
class AvoidsLoss(Claim):
    """The better move does not lose the material that the one made does."""

    def proved(self, scene: Scene) -> bool:
        """Neither in the engine's line nor by force, and not while the game is being lost."""
        return loses_nothing(scene)


@dataclass(frozen=True)
class Better(Claim):
    """The move that should have been made."""

    step: Step
    why: tuple[Claim, ...]
    plies: int = 0  # of its line, after which comes the move that does all this

    def proved(self, scene: Scene) -> bool:
        """The search's best move, where the one made was worse."""
        if scene.had is None or scene.has is None or scene.had.line[0] != self.step.move:
            return False
        bad = label(scene.had, scene.has) is not Label.NONE or scene.had.mate is not None
        # Where one move is as good as another if nothing is known of it.
        lost = standing(scene.had.value) == -2 and not self.why
        soon = scene.instead.boards[:4]  # a trade included
        tempo = any(map(is_pawn_ending, soon)) and scene.had.mate is None
        if tempo and not stands_as(scene.instead, scene.had.value):
            return False
        return (
            bad
            and not lost
            and self.step.move != scene.move
            and _does(scene.instead, self.plies, self.why)
        )


@dataclass(frozen=True)
class MissesMate(Claim):
    """There was a mate."""

    moves: int
    step: Step

    def proved(self, scene: Scene) -> bool:
        """The shortest one, which the move made does not begin."""
        if scene.after.is_checkmate() or force.shortest_mate(scene.before) != self.moves:
            return False
        first = Scene(scene.before, self.step.move, (), scene.analysis)
        if self.moves == 1:
            return first.after.is_checkmate()
        return MateIn(self.moves - 1).proved(first) and not MateIn(self.moves - 1).proved(scene)


@dataclass(frozen=True)
class Turns(Claim):
    """How the game stood for the mover and how it stands after a mistake."""

    had: int  # see judge.standing
    has: int

    def proved(self, scene: Scene) -> bool:
        """By the two searches, but not in a pawn ending, which hangs on a tempo."""
        if scene.had is None or scene.has is None or self.had == self.has:
            return False
        clear = stands_clear(scene.had.value) and stands_clear(-scene.has.value)
        if not clear or is_pawn_ending(scene.after) or not _fits_material(self.has, scene):
            return False
        return (standing(scene.had.value), standing(-scene.has.value)) == (self.had, self.has)


TURNS = {(2, 1), (2, 0), (2, -1), (2, -2), (1, 0), (1, -1), (1, -2), (0, -1), (0, -2), (-1, -2)}


def turn_of(scene: Scene) -> Turns | None:
    """How a mistake changes the standing, if it does so by much."""
    if scene.had is None or scene.has is None or scene.has.mate is not None:
        return None
    turn = Turns(standing(scene.had.value), standing(-scene.has.value))
    big = label(scene.had, scene.has) in (Label.MISTAKE, Label.BLUNDER)
    return turn if (turn.had, turn.has) in TURNS and big and turn.proved(scene) else None


def _fits_material(stands: int, scene: Scene) -> bool:
    """Whether a game that is called level is so in material, too, after the expected moves."""
    end, white = scene.boards[-1], scene.mover
    pawns = len(end.pieces(chess.PAWN, white)) - len(end.pieces(chess.PAWN, not white))
    return stands != 0 or (abs(pawns) <= 1 and balance(end, white) == pawns)


@dataclass(frozen=True)
class Keeps(Claim):
    """How the game stands for the mover if the best move is made."""

    has: int

    def proved(self, scene: Scene) -> bool:
        """By the search."""
        if scene.had is None or not stands_clear(scene.had.value) or is_pawn_ending(scene.before):
            return False
        if not _fits_material(self.has, scene.instead):
            return False
        return standing(scene.had.value) == self.has


# Which say nothing of a better move.
CAUSES = (EarlyQueen, EnPrise, GivesTooMuch, Abandons, Overlooks, AllowsMate, LosesEnding, Allows)


def faults(scene: Scene, why: tuple[Claim, ...]) -> list[Claim]:
    """The causes why a move is bad, proved; `why` is what is to be said of the refutation."""
    if scene.reply is None:
        return [Stalemates()] if Stalemates().proved(scene) else []
    if not answer_holds(scene):
        return [claim for claim in [castles_into(scene)] if claim.proved(scene)]
    return [claim for claim in _faults(scene, why) if claim.proved(scene)]


def _faults(scene: Scene, why: tuple[Claim, ...]) -> Iterator[Claim]:
    assert scene.reply is not None
    reply = step(scene.after, scene.reply)
    mate = scene.has.mate if scene.has else None
    if mate is not None and 0 < mate <= force.LONGEST_MATE:
        yield AllowsMate(force.shortest_mate(scene.after) or mate, reply)
    yield from (LosesEnding(reply, worse) for worse in (False, True))
    target = captured_by(scene.after, scene.reply)
    forks = tuple(claim for claim in why if isinstance(claim, Fork))
    if target is not None:
        yield EnPrise(scene.piece, reply)
        picked = (claim.target for claim in why if isinstance(claim, PicksUp))
        if all(piece.worth <= target.worth for piece in picked):  # else that comes first
            yield Abandons(scene.piece, target, reply, forks or _besides(target, why))
    yield castles_into(scene)
    threat = threat_of(scene, scene.reply)
    if threat is not None and all(fork.proved(threat) for fork in forks):
        same = tuple(claim for claim in why if claim.proved(threat))
        yield Overlooks(reply, same or tuple(c for c in [Wins((), ())] if c.proved(threat)))
        if target is not None:
            yield Overlooks(reply)  # which shows what of
    if not why:
        yield from given_too_much(scene)
    yield Allows(reply, why)


def _besides(target: Unit, why: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """What taking a piece does besides, where that is worth more: it traps one, or wins more."""
    least = CENTIPAWNS[target.kind] + force.LEAST
    won = (c for c in why if isinstance(c, ComesOut) and worth_of(c.won, c.lost) > least)
    return (*(claim for claim in why if isinstance(claim, Traps)), *won)[:1]


def castles_into(scene: Scene) -> CastlesInto:
    """The claim that the king has castled into an attack, not proved."""
    return CastlesInto(len(near_king(scene.after, not scene.mover)))


def missed(scene: Scene, why: tuple[Claim, ...]) -> list[Claim]:
    """What should have been played in place of a bad move, proved."""
    if scene.had is None or not scene.had.line or scene.had.line[0] == scene.move:
        return []
    best = step(scene.before, scene.had.line[0])
    claims: list[Claim] = []
    if scene.had.mate is not None and 0 < scene.had.mate <= force.LONGEST_MATE:
        shortest = force.shortest_mate(scene.before)
        claims = [MissesMate(shortest, best)] if shortest else []
    claims = [claim for claim in claims if claim.proved(scene)]
    return claims or [claim for claim in [Better(best, why)] if claim.proved(scene)]
