"""The result of positions of two kings and one more man, by rules and retrograde analysis.

A search of few nodes takes a drawn ending of king and pawn for a better one, so `analyse` corrects
what it says there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cache

import chess
import numpy as np

from kibitz.comment.judge import Evaluation, value_of
from kibitz.search.report import Score

FRESH = 40  # plies without a pawn's move up to which a win is not in danger of the fifty-move rule
SURE = 1000  # centipawns of what is won or lost, where a search did not see as much
FLIP = 56
PAWNS = slice(8, 56)


def exact(view: Evaluation, board: chess.Board, only: Collection[chess.Move] = ()) -> Evaluation:
    """What a search sees of a position, with the result of every move where it is certain.

    `only` are the moves that were searched, all if there are none.
    """
    if not view.line or board.occupied.bit_count() > 3 or board.halfmove_clock > FRESH:
        return view
    results = {move: -_result_after(board, move) for move in only or board.legal_moves}
    best = max(results.values())
    lines = [_scored(line, results[line.line[0]]) for line in (view, view.other) if line]
    lines.sort(key=lambda line: -results[line.line[0]])
    if results[lines[0].line[0]] < best:
        move = next(move for move, result in results.items() if result == best)
        lines.insert(0, _scored(replace(view, line=(move,)), best))
    other = lines[1] if len(lines) > 1 else None
    second = None if other is None else other.value
    return replace(lines[0], priors=view.priors, second=second, other=other)


def _scored(line: Evaluation, result: int) -> Evaluation:
    """A line with the score of its result; one that sees a larger advantage keeps its own."""
    sign = 1 if line.value > 0 else -1
    if result == sign and abs(line.value) >= value_of(Score("cp", SURE)):
        return replace(line, second=None, other=None)
    score = Score("cp", result * SURE)
    return Evaluation(score, value_of(score), line.line, priors=line.priors, then=line.then)


def _result_after(board: chess.Board, move: chess.Move) -> int:
    after = board.copy(stack=False)
    after.push(move)
    return result_of(after)


def result_of(board: chess.Board) -> int:
    """1, 0 or -1 for the side to move, of at most three men with a fresh fifty-move clock."""
    rest = board.occupied & ~board.kings
    if not rest or rest & (board.knights | board.bishops):
        return 0
    white = bool(rest & board.occupied_co[True])
    square, turn = rest.bit_length() - 1, board.turn == white
    if not rest & board.pawns:
        safe = turn or not any(board.is_capture(move) for move in board.legal_moves)
        return (1 if turn else -1) if safe and not board.is_stalemate() else 0
    king, other = board.king(white), board.king(not white)
    assert king is not None
    assert other is not None
    flip = 0 if white else FLIP
    won = _won()[int(turn), square ^ flip, king ^ flip, other ^ flip]
    return (1 if turn else -1) if won else 0


@cache
def _won() -> np.ndarray:
    """Whether White wins with a pawn against a bare king.

    Bool [2, 64, 64, 64]: White to move (1) or Black (0), pawn, White's king, Black's king. The sets
    grow until nothing changes, as in every retrograde analysis.
    """
    near = _bits(chess.BB_KING_ATTACKS)
    takes = _bits(chess.BB_PAWN_ATTACKS[chess.WHITE])
    same = np.eye(64, dtype=bool)
    apart = ~(near | same)  # kings
    steps = near.astype(np.float32)
    white_may = (apart[None] & ~same[:, :, None]).astype(np.float32)  # the king is not on the pawn
    black_may = apart[None] & ~takes[:, None, :]
    moves = (black_may.astype(np.float32) @ steps) > 0
    black, queens = np.zeros((64, 64, 64), bool), _promotes(near, same)
    while True:
        white = queens | (steps @ (black * white_may) > 0) | _pushes(black, same)
        escapes = (black_may & (same[:, None, :] | ~white)).astype(np.float32) @ steps
        now = moves & ~(escapes > 0)
        if (now == black).all():
            return np.stack([black, white])
        black = now


def _bits(masks: list[int]) -> np.ndarray:
    """Bitboards as bool [64, 64]."""
    return np.array([[bool(mask >> square & 1) for square in range(64)] for mask in masks])


def _promotes(near: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Where a pawn on the seventh rank becomes a queen, or a rook, that is not taken."""
    queens = np.zeros((64, 64, 64), bool)
    for pawn in range(48, 56):
        goal = pawn + 8
        free = ~(same[goal][:, None] | same[goal][None, :])
        queens[pawn] = free & (~near[goal][None, :] | near[goal][:, None])
    return queens


def _pushes(black: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Where a move of the pawn leads to a position that is won with Black to move."""
    empty = ~(same[:, :, None] | same[:, None, :])  # [square, White's king, Black's king]
    pushes = np.zeros_like(black)
    pushes[8:48] = empty[16:56] & black[16:56]
    pushes[8:16] |= empty[16:24] & empty[24:32] & black[24:32]
    return pushes
