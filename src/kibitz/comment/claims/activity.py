"""Plain facts about what a piece does where it goes: it guards, attacks, offers a trade.

See `features`.
"""

from __future__ import annotations

from collections.abc import Iterator

import chess

from kibitz.comment.claims.features import CENTRE, Feature, Finder
from kibitz.comment.facts import Scene, Unit, is_defended, is_unsafe, phase, pinner_of, unit, units

NEAR_KING = 3  # pieces that attack squares beside a king from which on that is worth words
LONG_DIAGONALS = {True: (chess.B2, chess.G2), False: (chess.B7, chess.G7)}


def _is_quiet(scene: Scene) -> bool:
    """Whether a move takes nothing, gives no check and leaves the piece safe."""
    safe = scene.piece.kind == chess.KING or not is_unsafe(scene.after, scene.landed)
    return safe and scene.taken is None and not scene.after.is_check()


def _stays(scene: Scene) -> bool:
    """Whether the piece stands where it went for the moves that are expected."""
    piece = scene.after.piece_at(scene.landed)
    return all(board.piece_at(scene.landed) == piece for board in scene.boards[2:5])


def attacks_loose(scene: Scene) -> Iterator[Feature]:
    """A safe piece comes to attack something that nothing guards, worth no more than itself."""
    if not _is_quiet(scene) or scene.before.is_check():
        return
    had, by = scene.before.attacks(scene.move.from_square), scene.piece
    for square in scene.after.attacks(scene.landed) - had:
        target = scene.after.piece_at(square)
        if target is None or target.color == scene.mover or target.piece_type == chess.KING:
            continue
        loose = unit(scene.after, square)
        if by.kind != chess.KING and loose.worth > by.worth:
            continue  # a guard would make no difference
        if not is_defended(scene.after, square) and scene.reply is not None:
            yield Feature(attacks_loose, scene.mover, (loose,))


def guards(scene: Scene) -> Iterator[Feature]:
    """What was attacked and not guarded is guarded by the piece that moves."""
    if not _is_quiet(scene) or scene.before.is_check():
        return
    prover = scene.prover
    for one in units(scene.before, scene.mover):
        square = one.square
        if one.kind == chess.KING or square in (scene.move.from_square, scene.landed):
            continue
        attackers = scene.before.attackers(not scene.mover, square)
        if not attackers:
            continue
        if square not in scene.after.attacks(scene.landed) or is_defended(scene.before, square):
            continue
        if prover.loss_on(scene.before, square) and not prover.loss_on(scene.after, square):
            least = min((unit(scene.before, by) for by in attackers), key=lambda by: by.worth)
            yield Feature(guards, scene.mover, (one, least))


def steps_away(scene: Scene) -> Iterator[Feature]:
    """A piece that something worth less attacks goes to a safe square."""
    square, by = scene.move.from_square, scene.piece
    if not _is_quiet(scene) or by.kind in (chess.PAWN, chess.KING):
        return
    attackers = [
        one
        for one in units(scene.before, not scene.mover)
        if square in scene.before.attacks(one.square) and one.worth < by.worth
    ]
    if attackers and scene.prover.loss_on(scene.before, square):
        least = min(attackers, key=lambda one: one.worth)
        yield Feature(steps_away, scene.mover, (least, by))


def offers_trade(scene: Scene) -> Iterator[Feature]:
    """A piece comes to face one of its kind that can take it; both are guarded."""
    board, by = scene.after, scene.piece
    if by.kind in (chess.PAWN, chess.KING) or scene.taken or not _is_quiet(scene):
        return
    for square in board.attacks(by.square) & board.pieces(by.kind, not scene.mover):
        guarded = is_defended(board, square) and is_defended(board, by.square)
        new = square not in scene.before.attacks(scene.move.from_square)
        possible = chess.Move(square, by.square) in board.legal_moves
        if guarded and new and possible and not scene.prover.loss_on(board, by.square):
            yield Feature(offers_trade, scene.mover, counts=(by.kind,))


def centralises(scene: Scene) -> Iterator[Feature]:
    """A knight comes to one of the four squares in the middle and stays."""
    by = scene.piece
    if by.kind != chess.KNIGHT or by.square not in CENTRE or len(scene.boards) < 4:
        return
    if scene.move.from_square not in CENTRE and _is_quiet(scene) and _stays(scene):
        yield Feature(centralises, scene.mover, (by,))


def fianchetto(scene: Scene) -> Iterator[Feature]:
    """A bishop goes from the back rank to one of the long diagonals, to its second rank."""
    by, home = scene.piece, 0 if scene.mover else 7
    if by.kind != chess.BISHOP or by.square not in LONG_DIAGONALS[scene.mover]:
        return
    if scene.move.from_square >> 3 == home and not scene.before.chess960 and _is_quiet(scene):
        yield Feature(fianchetto, scene.mover, (by,))


def gains_space(scene: Scene) -> Iterator[Feature]:
    """A pawn comes to its fifth rank, guarded by a pawn and attacked by none, and stays there."""
    by, white, board = scene.piece, scene.mover, scene.after
    rank = by.square >> 3 if white else 7 - (by.square >> 3)
    if by.kind != chess.PAWN or rank != 4 or phase(board) == "endgame" or len(scene.boards) < 4:
        return
    pawns = board.pawns & board.occupied_co[white]
    guarded = board.attackers_mask(white, by.square) & pawns
    attacked = board.attackers_mask(not white, by.square) & board.pawns
    if guarded and not attacked and _is_quiet(scene) and _stays(scene):
        yield Feature(gains_space, white, (by,))


def unpins(scene: Scene) -> Iterator[Feature]:
    """A piece that was pinned to its king is so no more."""
    if scene.before.is_check():
        return
    for one in units(scene.before, scene.mover):
        if one.kind in (chess.PAWN, chess.KING) or one.square == scene.move.from_square:
            continue
        pinned = pinner_of(scene.before, one.square) is not None
        if pinned and pinner_of(scene.after, one.square) is None and _is_quiet(scene):
            yield Feature(unpins, scene.mover, (one,))


def closes_in(scene: Scene) -> Iterator[Feature]:
    """One more piece attacks squares beside the other king, and there are three or more now."""
    if scene.piece.kind in (chess.PAWN, chess.KING) or not _is_quiet(scene):
        return
    if phase(scene.after) == "endgame" or not _stays(scene):
        return
    king = scene.after.king(not scene.mover)
    if king is None or not chess.BB_KING_ATTACKS[king] & scene.after.attacks_mask(scene.landed):
        return
    now, had = (_near_king(board, scene.mover) for board in (scene.after, scene.before))
    if scene.piece in now and len(now) > len(had) and len(now) >= NEAR_KING:
        yield Feature(closes_in, scene.mover, (scene.piece,), counts=(len(now),))


def _near_king(board: chess.Board, white: bool) -> list[Unit]:
    """Pieces of a side, not pawns nor the king, that attack squares beside the other king."""
    king = board.king(not white)
    assert king is not None
    ring = chess.BB_KING_ATTACKS[king]
    pieces = (one for one in units(board, white) if one.kind not in (chess.PAWN, chess.KING))
    return [one for one in pieces if board.attacks_mask(one.square) & ring]


FINDERS: tuple[Finder, ...] = (
    *(attacks_loose, guards, steps_away, offers_trade, centralises, fianchetto),
    *(gains_space, unpins, closes_in),
)
