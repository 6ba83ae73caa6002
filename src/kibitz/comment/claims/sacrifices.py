"""Sacrifices: what a move gives, and what for, by the line that the engine expects.

A sacrifice is a piece that is taken and not made up for at once, though all could have been kept,
while the value of the position holds. A trade, a recapture and what wins itself back with the next
move are none. The first of these that can be proved is what it is for: mate, the material and
more, the other king, the standing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import chess

from kibitz.comment import force
from kibitz.comment.analysis import LAST_LOOK
from kibitz.comment.claims.claim import Claim, Step, Weights, gone, listed, stands, step
from kibitz.comment.claims.features import Feature, Finder
from kibitz.comment.claims.merits import LEAST_THREAT
from kibitz.comment.claims.tactical import mate_pattern
from kibitz.comment.facts import RECENT, WORTH, Scene, Unit, balance, captured_by, phase, played
from kibitz.comment.judge import BETTER, LIMITS, Evaluation, standing, stands_clear

Aim: TypeAlias = Literal[
    "",
    "mate",
    "interest",
    "back",
    "castling",
    "king",
    "checks",  # each right after the other, win it back
    "winning",
    "better",
    "level",
    "offer",  # that and the next two had better not be taken
    "offered",
    "mated",
]
AT_ONCE = 4  # plies within which what comes back was never given
SOON = 6  # plies within which a king loses its castling or its place
BY = 9  # plies of a line from which on it is too far to say that something comes back
SHOWN_OF_IT = 4  # positions of a line that is shown where nothing comes back in it
LASTING = 2  # positions of a line for which what came back has to stay
LEAST_VALUE = -0.2  # who is worse than that has nothing to give
TOLERANCE = 0.05  # of winning chances by which it may be better to accept
CLOSE = 0.1  # of winning chances by which something else may be better
MATING = ("mate", "mated")  # of which nothing has to be taken
MINOR = (chess.KNIGHT, chess.BISHOP)
LEAST_GIVEN = 2  # pawns' worth; less if it is a piece for pawns
ACCEPTED = 10  # times as large as the least deeper look: what was given has to be made up for first


@dataclass(frozen=True)
class GivesUp(Claim):
    """Material is given for something else."""

    piece: Unit  # that is taken, where it stands after the move
    lost: tuple[int, ...]  # kinds of pieces
    won: tuple[int, ...]
    aim: Aim = ""
    moves: int = 0  # to the mate
    later: Step | None = None  # the move of the line that has the material back
    square: int | None = None  # to which the king is driven
    line: str = ""  # until that move, if it comes soon, or until the mate that comes next
    pattern: str = ""  # of that mate

    def proved(self, scene: Scene) -> bool:
        """The line and the values say so."""
        return self in (sacrifice(scene), confirmed_sacrifice(scene))


def confirmed_sacrifice(scene: Scene) -> GivesUp | None:
    """A sacrifice that is one to a deeper look and a still deeper one, as the last sees it."""
    if sacrifice(scene) is None or sacrifice(scene.deeper) is None:
        return None
    last = scene.searched_with(LAST_LOOK, before=True)
    offer, value = sacrifice(last), _value(last)
    if offer is None or value is None or last.had is None:
        return None
    best = last.had.line[:1] == (scene.move,)  # whatever a look after it says
    holds = value >= (-LIMITS[-1][0] if best else max(-LIMITS[-1][0], last.had.value - CLOSE))
    keeps = offer.aim == "castling" and not _costs_castling(last, offer.piece.square)
    given = offer.aim in MATING or _is_given(last.after, offer)
    if _is_rook_for_rook(scene, offer):
        return None
    return offer if offer.aim and holds and given and not keeps else None


def _is_rook_for_rook(scene: Scene, offer: GivesUp) -> bool:
    """Whether a rook is lost for a minor piece that neither takes it nor was taken."""
    took = scene.captured.kind if scene.captured is not None else 0
    if offer.lost != (chess.ROOK,) or not {*offer.won} & {*MINOR} or took in MINOR:
        return False
    takers = scene.after.attackers(not scene.mover, offer.piece.square)
    return not any(scene.after.piece_type_at(taker) in MINOR for taker in takers)


def _is_given(board: chess.Board, offer: GivesUp) -> bool:
    """Whether the exchange on the piece's square, taken back to its end, costs what is given."""
    cost = 100 * _cost(offer.lost, offer.won)
    return force.loss_on(board, offer.piece.square) >= cost - force.LEAST


def _costs_castling(scene: Scene, square: int) -> bool:
    """Whether the other side loses its castling soon, whatever it takes the piece with."""
    for take in scene.after.generate_legal_moves(to_mask=chess.BB_SQUARES[square]):
        board = played(scene.after, take)
        line = scene.analysis.expected(board, LAST_LOOK)
        for move in (line or [])[:SOON]:
            board.push(move)
        if line is not None and board.has_castling_rights(not scene.mover):
            return False
    return True


def accepted(scene: Scene, offer: GivesUp) -> tuple[Scene, Evaluation] | None:
    """What follows if an offered piece is taken, and its value; None without a deeper search."""
    for take in _takes(scene):
        evaluation = scene.analysis.deeper(played(scene.after, take, stack=RECENT), ACCEPTED)
        if captured_by(scene.after, take) == offer.piece and evaluation is not None:
            return replace(
                scene.other, move=take, follow=evaluation.line, had=None, has=evaluation
            ), evaluation
    return None


def sacrifice(scene: Scene) -> GivesUp | None:
    """What a move gives and what for; None if it is no sacrifice."""
    if scene.reply is None or not _value_holds(scene):
        return None
    piece = captured_by(scene.after, scene.reply)
    mate = scene.has.mate if scene.has else None
    if mate is not None and -force.LONGEST_MATE <= mate < 0:
        took = scene.captured.worth if scene.captured else 0
        moves = force.longest_defence(scene.after, -mate) or 0
        if _is_en_prise(scene) and (piece is None or piece.worth < scene.piece.worth):
            piece = scene.piece  # to take it allows the mate, too
        taken = captured_by(scene.boards[2], scene.next) if scene.next is not None else None
        took += taken.worth if taken is not None and taken.square == scene.landed else 0
        if not moves or piece is None or piece.worth - took < LEAST_GIVEN:
            return None
        line, pattern = _mated_at_once(scene.after, piece) if moves == 1 else ("", "")
        return GivesUp(piece, (piece.kind,), (), "mate", moves, line=line, pattern=pattern)
    offer = _given_up(scene, piece)
    gain = force.gain(scene.before)
    if offer is None or gain is None or _was_lost(scene, offer.piece):
        return None
    if gain <= -force.LEAST and 100 * _cost(offer.lost, offer.won) + gain < 100 * LEAST_GIVEN:
        return None  # as much was lost in any case
    return offer


def _mated_at_once(board: chess.Board, piece: Unit) -> tuple[str, str]:
    """How a piece is taken and mate follows, as text, and the pattern of the mate."""
    for take in board.generate_legal_moves(to_mask=chess.BB_SQUARES[piece.square]):
        then = played(board, take)
        if mate := force.mates_at_once(then):
            moves = board.variation_san((take, mate)).replace(". ", ".")
            return moves, mate_pattern(played(then, mate))
    return "", ""


def _given_up(scene: Scene, piece: Unit | None) -> GivesUp | None:
    """What the reply takes, or what another one might."""
    if piece is not None and piece.kind != chess.PAWN and _is_behind(scene):
        material = _given(scene)
        if material is not None:
            offer, back = _with_aim(scene, piece, *material), _checked_back(scene)
            if offer.later or back is None:
                return offer
            return GivesUp(piece, *material, "checks", line=scene.told(back))
    offers = (_offered(scene, take) for take in _takes(scene))
    return next((offer for offer in offers if offer is not None), None)


def _is_en_prise(scene: Scene) -> bool:
    """Whether the piece that has moved can be taken for less than it is worth."""
    takes = scene.after.generate_legal_moves(to_mask=chess.BB_SQUARES[scene.landed])
    return any(takes) and force.loss_on(scene.after, scene.landed) > 0


def _takes(scene: Scene) -> list[chess.Move]:
    """The captures by which the other side wins most, of the piece that has moved or another."""
    board = scene.after
    takes = list(board.generate_legal_moves(to_mask=chess.BB_SQUARES[scene.landed]))
    gains = {move: gain for move in takes if (gain := force.gain(board, move)) is not None}
    best = force.best(board)
    most = [move for move, gain in gains.items() if gain == max(gains.values())]
    most += [best] if best is not None and best not in most else []
    captures = ((move, captured_by(board, move)) for move in most)
    return [move for move, piece in captures if piece is not None and piece.kind > chess.PAWN]


def _was_lost(scene: Scene, piece: Unit) -> bool:
    """Whether a piece could be won already before the mover's last move, and has stayed there."""
    if len(scene.before.move_stack) < 2 or piece.square == scene.landed:
        return False
    earlier = scene.before.copy(stack=2)
    earlier.pop()
    earlier.pop()
    return stands(earlier, piece) and force.loss_on(earlier, piece.square) >= 100 * LEAST_GIVEN


def _offered(scene: Scene, take: chess.Move) -> GivesUp | None:
    """A piece that can be taken, by the search of material, and had better not be."""
    offer, kind = _takeable(scene, take), _kind_taken(scene, take)
    if offer is not None and kind in MINOR and offer.lost[0] in MINOR:
        offer = replace(offer, lost=(kind,))  # the other one is traded in the line
    if offer is None or kind not in offer.lost:
        return None
    if offer.aim not in ("offer", "offered"):
        return offer
    return _mated_for(scene, offer) or (offer if _is_poisoned(scene, take, offer) else None)


def _mated_for(scene: Scene, offer: GivesUp) -> GivesUp | None:
    """An offer that allows mate, whatever takes; how it begins is told if one piece can take."""
    longest, first = 0, None
    takes = chess.BB_SQUARES[offer.piece.square]
    for count, take in enumerate(scene.after.generate_legal_moves(to_mask=takes)):
        after = played(scene.after, take)
        moves = force.shortest_mate(after)
        if moves is None:
            return None
        longest = max(longest, moves)
        mating = None if count else force.mating_move(after, moves)
        first = step(after, mating) if mating else None
    if longest == 1 and first is None:
        return None
    return GivesUp(offer.piece, (offer.piece.kind,), (), "mated", longest, first)


def _is_poisoned(scene: Scene, take: chess.Move, offer: GivesUp) -> bool:
    """Whether accepting an offer is worse than declining it, or no better if all comes back."""
    accepted = scene.analysis.deeper(played(scene.after, take, stack=RECENT), ACCEPTED)
    if accepted is None:
        return True
    seen = len(accepted.line) > AT_ONCE  # far enough to have it back
    if seen and offer.later is not None and offer.later.move not in accepted.line[::2]:
        return False  # what captures alone would have back is not what is played
    gained = accepted.value - (_value(scene) or 0.0)
    return gained >= (-TOLERANCE if offer.later else LIMITS[-1][0])


def _kind_taken(scene: Scene, take: chess.Move) -> int | None:
    """The kind of piece that a reply takes."""
    return scene.after.piece_type_at(take.to_square)


def _takeable(scene: Scene, take: chess.Move) -> GivesUp | None:
    """What would be given if it was taken so."""
    piece = captured_by(scene.after, take)
    assert piece is not None
    took = scene.captured.worth if scene.captured is not None else 0
    if piece.square == scene.landed and took >= piece.worth:
        return None  # which is a trade
    declined = scene.reply is not None and scene.reply.to_square != take.to_square
    accepted = replace(scene, follow=tuple(force.line(scene.after, take)))
    if _is_behind(accepted):
        material, back = _given(accepted), _back(accepted, 1)
        if material is not None and back is not None:
            aim: Aim = "offered" if declined else _aim_of(accepted)
            line = "" if declined else back[1]
            return GivesUp(piece, *material, aim, later=back[0], line=line)
        if material is not None and declined:
            return GivesUp(piece, *material, "offer")
    end = accepted.boards[-1]
    material = _sizeable(scene.before, end, scene.mover)
    if material is None or balance(end, scene.mover) >= _least(scene):
        return None
    if declined:
        return GivesUp(piece, *material, "offer")
    return _left_with(scene, piece, *material)


def _value(scene: Scene) -> float | None:
    """What the position after the move is worth for the mover."""
    if scene.has is not None:
        return -scene.has.value
    best = scene.had is not None and scene.had.line[:1] == (scene.move,)
    return scene.had.value if scene.had is not None and best else None


def _value_holds(scene: Scene) -> bool:
    """Whether a move is no mistake; the last look asks for more."""
    value = _value(scene)
    if value is None or scene.had is None:
        return False
    return value >= max(LEAST_VALUE, scene.had.value - LIMITS[1][0])


def _is_behind(scene: Scene) -> bool:
    """Whether the line leaves the mover behind for a while."""
    if len(scene.boards) <= AT_ONCE:
        return False
    behind = scene.boards[2 : AT_ONCE + 1]
    if _is_trade(scene):
        return False
    return max(balance(board, scene.mover) for board in behind) < _least(scene)


def _checked_back(scene: Scene) -> int | None:
    """After how many positions of the line checks in a row have won back what was given."""
    boards, had = scene.boards, balance(scene.before, scene.mover)
    for number in range(3, len(boards) - 2, 2):
        if not boards[number].is_check():
            return None
        if balance(boards[number + 2], scene.mover) >= had:
            return number + 2
    return None


def _is_trade(scene: Scene) -> bool:
    """Whether what took first can be taken for nothing, and all is made up for."""
    board, square = scene.boards[2], scene.follow[0].to_square
    taker = board.piece_type_at(square)
    wins = force.loss_on(board, square) // 100 if taker else 0
    full = taker is not None and wins >= WORTH[taker]
    return full and balance(board, scene.mover) + wins >= _least(scene)


def _least(scene: Scene) -> int:
    """The mover's least balance lately: who had just won material only gives it back."""
    board, least = scene.before.copy(stack=AT_ONCE), balance(scene.before, scene.mover)
    while board.move_stack:
        board.pop()
        least = min(least, balance(board, scene.mover))
    return least


def _given(scene: Scene) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """What both sides lose until the first captures are over."""
    boards, white = scene.boards, scene.mover
    calm = balance(boards[3], white) == balance(boards[4], white)
    return _sizeable(scene.before, boards[3 if calm else 2], white)


def _sizeable(
    before: chess.Board, after: chess.Board, white: bool
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """What a side gives and gets between two positions; None if it is less than a sacrifice."""
    theirs, own = gone(before, after, not white), gone(before, after, white)
    if theirs is None or own is None:
        return None
    lost, won = listed(own - theirs), listed(theirs - own)
    cost = _cost(lost, won)
    for_pawns = any(kind > chess.PAWN for kind in lost) and set(won) <= {chess.PAWN}
    if len(lost) != 1:
        return None
    return (lost, won) if cost >= LEAST_GIVEN or (cost >= 1 and for_pawns) else None


def _cost(lost: tuple[int, ...], won: tuple[int, ...]) -> int:
    """Pawns' worth that is given."""
    return sum(WORTH[kind] for kind in lost) - sum(WORTH[kind] for kind in won)


def _with_aim(scene: Scene, piece: Unit, lost: tuple[int, ...], won: tuple[int, ...]) -> GivesUp:
    back = _back(scene, LASTING)
    if back is not None:
        return GivesUp(piece, lost, won, _aim_of(scene), later=back[0], line=back[1])
    soon, other = scene.boards[: SOON + 1], not scene.mover
    had = scene.before.has_castling_rights(other)
    if had and not soon[-1].has_castling_rights(other) and not _castles(scene):
        return GivesUp(piece, lost, won, "castling")
    square = soon[-1].king(other)
    if square and _is_out(square, other) and not _is_out(scene.before.king(other), other):
        return GivesUp(piece, lost, won, "king", square=square)
    return _left_with(scene, piece, lost, won)


def _left_with(scene: Scene, piece: Unit, lost: tuple[int, ...], won: tuple[int, ...]) -> GivesUp:
    """A piece that does not come back in the line, and how the mover stands all the same."""
    aim = _standing(scene)
    return GivesUp(piece, lost, won, aim, line=scene.told(SHOWN_OF_IT) if aim else "")


def _aim_of(scene: Scene) -> Aim:
    """Whether a line that wins the material back ends with more."""
    more = balance(scene.boards[-1], scene.mover) > balance(scene.before, scene.mover)
    return "interest" if more else "back"


def _standing(scene: Scene) -> Aim:
    """How the mover stands all the same, where it is clear.

    A level ending may be a draw with the piece and without it, so that it was given for nothing.
    """
    value = _value(scene) or 0.0
    names: dict[int, Aim] = {1: "better", 2: "winning"}
    if phase(scene.before) != "endgame":
        names[0] = "level"
    return names.get(standing(value), "") if stands_clear(value) and value >= 0.0 else ""


def _back(scene: Scene, lasting: int) -> tuple[Step, str] | None:
    """The mover's move of the line from which on it is not behind any more, and the moves to it.

    So many positions of the line have to be left, and the value must not say otherwise.
    """
    boards, white = scene.boards, scene.mover
    least = balance(scene.before, white)
    first = len(boards)
    while first > 1 and balance(boards[first - 1], white) >= least:
        first -= 1
    hangs = force.gain(boards[-1]) if boards[-1].turn != white else 0
    lasts = first <= BY and first + lasting <= len(boards) and first % 2 == 1
    value = _value(scene) or 0.0
    if balance(boards[-1], white) > least and value < BETTER:
        return None
    if not lasts or hangs is None or hangs >= force.LEAST:
        return None
    return step(boards[first - 1], scene.follow[first - 2]), scene.told(first)


def _castles(scene: Scene) -> bool:
    """Whether the other side castles in the line."""
    pairs = zip(scene.boards[1:], scene.follow[:SOON], strict=False)
    return any(board.turn != scene.mover and board.is_castling(move) for board, move in pairs)


def _is_out(square: int | None, white: bool) -> bool:
    """Whether a king stands on its third rank or further out."""
    assert square is not None
    return (square >> 3 if white else 7 - (square >> 3)) >= 2


# --- with a name of their own ---------------------------------------------------------------------


def desperado(scene: Scene) -> Iterator[Feature]:
    """A piece that is lost, whatever is done, takes something first, and as much as it can."""
    before, square, captured = scene.before, scene.move.from_square, scene.captured
    if captured is None or scene.piece.kind in (chess.PAWN, chess.KING) or scene.move.promotion:
        return
    if force.loss_on(before, square) < LEAST_THREAT or captured.worth >= scene.piece.worth:
        return
    if force.loss_on(scene.after, scene.landed) < LEAST_THREAT:
        return
    took = captured_by(scene.course_boards[2], scene.course[2]) if len(scene.course) > 2 else None
    if took is not None and took.worth >= scene.piece.worth:
        return  # which is a trade
    own = chess.BB_SQUARES[square]
    for move in before.generate_legal_moves(from_mask=~own):  # that may guard it
        if force.loss_on(played(before, move), square) < LEAST_THREAT:
            return
    for move in before.generate_legal_moves(from_mask=own):
        took, cost = captured_by(before, move), force.loss_on(played(before, move), move.to_square)
        if cost < LEAST_THREAT or (took is not None and took.worth > captured.worth):
            return
    yield Feature(desperado, scene.mover, (scene.piece, captured))


def greek_gift(scene: Scene) -> Iterator[Feature]:
    """A bishop takes the pawn beside a castled king, and if that takes it a knight comes to g5."""
    white, corner = scene.mover, chess.H7 if scene.mover else chess.H2
    home = chess.G8 if white else chess.G1
    took, king = scene.captured, scene.before.king(not white)
    if scene.piece.kind != chess.BISHOP or (scene.landed, king) != (corner, home):
        return
    if took is None or took.kind != chess.PAWN or scene.value is None or scene.value < 0.0:
        return
    knight, take = chess.G5 if white else chess.G4, chess.Move(home, corner)
    if take not in scene.after.legal_moves or not scene.after.queens:
        return
    taken = played(scene.after, take)
    look = scene.analysis.deeper(taken)
    then = look.line[0] if look is not None and look.line else None
    good = look is not None and look.value >= BETTER
    comes = good and then is not None and then.to_square == knight and taken.gives_check(then)
    if comes and then is not None and taken.piece_type_at(then.from_square) == chess.KNIGHT:
        yield Feature(greek_gift, white, (scene.piece,), square=knight)


GIVEN: dict[type[Claim], Weights] = {GivesUp: Weights(0.97, 0.97, 0.97)}
GIVING_FINDERS: dict[Finder, Weights] = {
    desperado: Weights(0.6, 0.7, 0.7, sharp=True, like="GivesUp TakesLoose"),
    greek_gift: Weights(0.98, 0.98, 0.98, sharp=True, like="Wins Attracts"),
}
