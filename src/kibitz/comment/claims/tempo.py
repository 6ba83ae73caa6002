"""Who has to move: the opposition, zugzwang, and moves that pass the turn to the other side.

See `features`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import chess

from kibitz.comment import force
from kibitz.comment.analysis import LAST_LOOK
from kibitz.comment.claims.claim import Claim, Step, Weights, passed, step
from kibitz.comment.claims.features import Feature, Finder
from kibitz.comment.claims.positional import is_pawn_ending
from kibitz.comment.facts import Scene, phase, played
from kibitz.comment.judge import BETTER, WON

FEW = 12  # legal moves of a side that may be in zugzwang
LEVEL = 0.06  # of winning chances
LOST_MOVE = 7  # plies within which a king loses a move


def opposition(scene: Scene) -> Iterator[Feature]:
    """In a pawn ending the kings face each other with one square between, the other to move.

    The other has a move, and takes no pawn by it.
    """
    board = scene.after
    kings = [board.king(True), board.king(False)]
    if board.occupied != board.kings | board.pawns or scene.piece.kind != chess.KING:
        return
    if scene.value is not None and scene.value <= -BETTER:
        return  # it is of no use
    white, black = kings
    assert white is not None
    assert black is not None
    lined = white & 7 == black & 7 or white >> 3 == black >> 3
    if not lined or chess.square_distance(white, black) != 2:
        return
    moves = list(board.legal_moves)
    if moves and not any(map(board.is_capture, moves)):
        yield Feature(opposition, scene.mover)


def keeps_opposition(scene: Scene) -> Iterator[Feature]:
    """The only good king's move, after which it can face the other king wherever that steps up."""
    board, white, king = scene.after, scene.mover, scene.landed
    other, had = board.king(not white), scene.had
    if not is_pawn_ending(board) or scene.piece.kind != chess.KING or other is None:
        return
    if scene.captured is not None:
        return
    if had is None or had.other is None or had.value - had.other.value < BETTER:
        return
    far = chess.square_distance(other, king)
    answers = {}
    for step_up in board.generate_legal_moves(from_mask=chess.BB_SQUARES[other]):
        if chess.square_distance(step_up.to_square, king) < far:
            answers[step_up] = next(_facing(played(board, step_up), king), None)
    first = scene.reply if scene.reply in answers else next(iter(answers), None)
    if first is not None and all(square is not None for square in answers.values()):
        told = step(board, first)
        yield Feature(keeps_opposition, white, square=answers[first], step=told)


def _facing(board: chess.Board, king: int) -> Iterator[int]:
    """Squares on which a king would face the other one, with one square between."""
    other = board.king(not board.turn)
    for move in board.generate_legal_moves(from_mask=chess.BB_SQUARES[king]):
        to = move.to_square
        lined = other is not None and (to & 7 == other & 7 or to >> 3 == other >> 3)
        if other is not None and lined and chess.square_distance(to, other) == 2:
            yield to


def zugzwang(scene: Scene) -> Iterator[Feature]:
    """Every move of the other side loses something, and to pass would not."""
    board, rest = scene.after, passed(scene.after)
    if rest is None or phase(board) != "endgame" or not 0 < board.legal_moves.count() <= FEW:
        return
    if scene.has is not None and scene.has.value > -BETTER:
        return
    threat = force.gain(rest)
    if threat is None or threat >= force.LEAST or mutual_zugzwang_in(scene, rest):
        return
    gains = (force.gain(board, move) for move in board.legal_moves)
    if all(gain is not None and gain <= -force.LEAST for gain in gains):
        yield Feature(zugzwang, not scene.mover)


OPPOSED, SPARE_MOVE = 1, 2  # how the move to play is passed to the other side


def mutual_zugzwang(scene: Scene) -> Iterator[Feature]:
    """The other side loses as it has to move; the mover would not win if it had to.

    `counts` tells whether the king took the opposition, or a pawn had a move to spare.
    """
    rest = passed(scene.after)
    if rest is not None and scene.after.legal_moves.count() and mutual_zugzwang_in(scene, rest):
        how = OPPOSED if any(opposition(scene)) else 0
        if scene.piece.kind == chess.PAWN and not scene.captured:
            how = SPARE_MOVE
        yield Feature(mutual_zugzwang, scene.mover, counts=(how,))


def avoids_zugzwang(scene: Scene) -> Iterator[Feature]:
    """The king does not go where the other side's answer would leave mutual zugzwang, ours to move.

    The move made is the only good one. `step` is that other move, with the answer to it.
    """
    had, before = scene.had, scene.before
    if not is_pawn_ending(before) or scene.piece.kind != chess.KING or scene.captured:
        return
    if had is None or had.other is None or had.value - had.other.value < BETTER:
        return
    kings = before.kings & before.occupied_co[scene.mover]
    for move in before.generate_legal_moves(from_mask=kings):
        if move == scene.move or before.is_capture(move):
            continue
        look = scene.analysis.deeper(played(before, move))
        if look is None or not look.line:
            continue
        answer = played(before, move, look.line[0])
        if answer.is_check() or answer.king(not scene.mover) != look.line[0].to_square:
            continue
        rest = passed(answer)
        if rest is not None and _is_mutual(scene, answer, rest):
            line = before.variation_san([move, look.line[0]]).replace(". ", ".")
            yield Feature(avoids_zugzwang, scene.mover, step=Step(move, line))
            return


def mutual_zugzwang_in(scene: Scene, rest: chess.Board) -> bool:
    """The same, by tables or, where there are only kings and pawns, by long looks at both."""
    sure = scene.analysis.outcome(scene.after) is not None
    may_be = sure or (scene.has is not None and scene.has.value <= -WON)
    return may_be and _is_mutual(scene, scene.after, rest)


def _is_mutual(scene: Scene, board: chess.Board, rest: chess.Board) -> bool:
    """Whether who has to move loses, and does not win if the other side has to: `rest`."""
    had, has = scene.analysis.outcome(rest), scene.analysis.outcome(board)
    if has is not None and had is not None:
        return has == -1 and had <= 0
    if not is_pawn_ending(board) or board.legal_moves.count() > FEW:
        return False
    look, other = (scene.analysis.deeper(each, LAST_LOOK) for each in (board, rest))
    if look is None or other is None:
        return False
    return look.value <= -WON and other.value <= LEVEL


def triangulation(scene: Scene) -> Iterator[Feature]:
    """Kings alone have moved, and the position is one that was there, with the other to move."""
    board, now = scene.after.copy(), scene.after.board_fen()
    for _ in range(LOST_MOVE):
        if not board.move_stack or board.piece_type_at(board.peek().to_square) != chess.KING:
            return
        board.pop()
        if board.board_fen() == now:
            if board.turn != scene.after.turn:
                yield Feature(triangulation, scene.mover)
            return


@dataclass(frozen=True)
class Triangle(Claim):
    """A king's way of three moves comes back to the position, with the other side to move."""

    line: str  # after the move

    def proved(self, scene: Scene) -> bool:
        """Long looks go so after one of the replies, in a pawn ending that is won."""
        return self in triangles(scene)


def triangles(scene: Scene) -> list[Triangle]:
    """How a king's move can lose a move, if it can."""
    board, now = scene.after, scene.before.board_fen()
    if scene.piece.kind != chess.KING or scene.captured or not is_pawn_ending(board):
        return []
    if scene.value is None or scene.value < WON:
        return []
    for reply in board.generate_legal_moves(from_mask=board.kings):
        line = scene.analysis.expected(played(board, reply), LAST_LOOK) or []
        moves = (reply, *line[:3])
        if len(moves) > 3 and played(board, *moves).board_fen() == now:
            return [Triangle(board.variation_san(moves).replace(". ", "."))]
    return []


TEMPO_FINDERS: dict[Finder, Weights] = {
    opposition: Weights(0.6, 0.6, 0.55),
    keeps_opposition: Weights(0.7, 0.72, 0.72, like="OnlyMove OnlyGood king_to_centre"),
    zugzwang: Weights(0.85, 0.88, 0.88, like="Wins Nets OnlyMove OnlyGood opposition"),
    mutual_zugzwang: Weights(0.86, 0.89, 0.89, like="Wins Nets OnlyMove OnlyGood opposition"),
    avoids_zugzwang: Weights(0.84, 0.87, 0.87, like="OnlyMove OnlyGood king_to_centre"),
    triangulation: Weights(0.8, 0.82, 0.82, like="opposition king_to_centre"),
}
