"""Plain facts about pawns and what they do to files, bishops and kings; see `features`."""

from __future__ import annotations

from collections.abc import Iterator

import chess

from kibitz.comment.claims.features import Feature, Finder
from kibitz.comment.facts import Scene, Unit, ahead, files_beside, is_passed, phase, unit


def strikes(scene: Scene) -> Iterator[Feature]:
    """A pawn moves up to attack a pawn in the middle files that pawns guard."""
    board, by = scene.after, scene.piece
    if by.kind != chess.PAWN or scene.taken or scene.move.promotion:
        return
    for square in board.attacks(by.square) & board.pieces(chess.PAWN, not scene.mover):
        if 2 <= square & 7 <= 5 and board.attackers(not scene.mover, square) & board.pawns:
            yield Feature(strikes, scene.mover, (unit(board, square),))


def connected_passed(scene: Scene) -> Iterator[Feature]:
    """Two passed pawns on files next to each other, of which one is new."""
    for board in (scene.before, *scene.boards[2:4]):
        if len(_passed_pairs(board, scene.mover)) != (board is not scene.before):
            return
    pairs = _passed_pairs(scene.after, scene.mover)
    if len(pairs) == 1:
        yield Feature(connected_passed, scene.mover, pairs[0])


def _passed_pairs(board: chess.Board, white: bool) -> list[tuple[Unit, Unit]]:
    pawns = [
        unit(board, square)
        for square in board.pieces(chess.PAWN, white)
        if is_passed(board, square, white)
    ]
    pairs = [(one, two) for one in pawns for two in pawns if two.square & 7 == (one.square & 7) + 1]
    return [pair for pair in pairs if abs((pair[0].square >> 3) - (pair[1].square >> 3)) <= 1]


def backward(scene: Scene) -> Iterator[Feature]:
    """A pawn on a file that is half-open for the other side is new among those left behind."""
    for white in (True, False):
        now, had = _backward(scene.after, white), _backward(scene.before, white)
        later = [_backward(board, white) for board in scene.boards[2:4]]
        for square in now - had:
            stays = all(square in one for one in later)
            if stays and chess.BB_SQUARES[square] & scene.before.pawns:
                yield Feature(backward, white, (unit(scene.after, square),))


def _backward(board: chess.Board, white: bool) -> set[int]:
    """Pawns with neighbours, all ahead of them, before whose next square an enemy pawn watches."""
    own, theirs = board.pieces_mask(chess.PAWN, white), board.pieces_mask(chess.PAWN, not white)
    found = set()
    for square in chess.scan_forward(own & ~(chess.BB_FILE_A | chess.BB_FILE_H)):
        beside = sum(chess.BB_FILES[file] for file in files_beside(square))
        front = ahead(square, white, files_beside(square))
        stop = square + (8 if white else -8)
        watched = chess.BB_PAWN_ATTACKS[white][stop] & theirs
        blocked = own & ahead(square, white, [square & 7])
        open_ = not theirs & chess.BB_FILES[square & 7] and not blocked
        if own & beside and not own & beside & ~front and watched and open_:
            found.add(square)
    return found


def hanging_pawns(scene: Scene) -> Iterator[Feature]:
    """Pawns side by side on the c- and d-file, half-open files, with no own pawn beside them."""
    for white in (True, False):
        now = _hanging(scene.after, white)
        later = [_hanging(board, white) for board in scene.boards[2:4]]
        if now and not _hanging(scene.before, white) and all(one == now for one in later):
            yield Feature(hanging_pawns, white, now)


def _hanging(board: chess.Board, white: bool) -> tuple[Unit, ...]:
    own, theirs = board.pieces_mask(chess.PAWN, white), board.pieces_mask(chess.PAWN, not white)
    near = chess.BB_FILE_B | chess.BB_FILE_C | chess.BB_FILE_D | chess.BB_FILE_E
    pair = [unit(board, square) for square in chess.scan_forward(own & near)]
    if len(pair) != 2 or theirs & (chess.BB_FILE_C | chess.BB_FILE_D):
        return ()
    files = sorted(one.square & 7 for one in pair)
    ranks = {one.square >> 3 if white else 7 - (one.square >> 3) for one in pair}
    return tuple(pair) if files == [2, 3] and ranks in ({3}, {4}) else ()


def bad_bishop(scene: Scene) -> Iterator[Feature]:
    """A side's only bishop has three own pawns on its colour that enemy pawns block."""
    for white in (True, False):
        bad, count = _bad(scene.after, white)
        if bad and count > _bad(scene.before, white)[1] < 3 and not scene.taken:
            yield Feature(bad_bishop, white, (bad,), counts=(count,))


def _bad(board: chess.Board, white: bool) -> tuple[Unit | None, int]:
    bishops = list(board.pieces(chess.BISHOP, white))
    if len(bishops) != 1:
        return None, 0
    light = bool(chess.BB_LIGHT_SQUARES & chess.BB_SQUARES[bishops[0]])
    shade = chess.BB_LIGHT_SQUARES if light else chess.BB_DARK_SQUARES
    theirs, way = board.pieces_mask(chess.PAWN, not white), 8 if white else -8
    fixed = [
        square
        for square in board.pieces(chess.PAWN, white) & shade
        if theirs & chess.BB_SQUARES[square + way]
    ]
    enough = len(fixed) >= 3 and any(square & 7 in (3, 4) for square in fixed)
    return (unit(board, bishops[0]) if enough else None), len(fixed)


def opens_file(scene: Scene) -> Iterator[Feature]:
    """A file in the middle loses its last pawn, with rooks or a queen to use it."""
    if not scene.after.rooks | scene.after.queens or len(scene.boards) < 4:
        return
    for file in range(2, 6):
        mask = chess.BB_FILES[file]
        if scene.before.pawns & mask and not any(one.pawns & mask for one in scene.boards[1:4]):
            yield Feature(opens_file, scene.mover, square=file)


def escape_square(scene: Scene) -> Iterator[Feature]:
    """A pawn moves up before a king that had no free square in front of it."""
    king = scene.after.king(scene.mover)
    if scene.piece.kind != chess.PAWN or king is None or scene.taken or scene.before.is_check():
        return
    heavy = (scene.after.rooks | scene.after.queens) & scene.after.occupied_co[not scene.mover]
    square = scene.move.from_square
    at_home = king >> 3 == (0 if scene.mover else 7) and king & 7 not in (3, 4)
    near = chess.BB_KING_ATTACKS[king] & chess.BB_SQUARES[square]
    if not (heavy and at_home and near and phase(scene.after) != "opening"):
        return
    front = chess.BB_KING_ATTACKS[king] & chess.BB_RANKS[square >> 3]
    if not front & ~scene.before.occupied and not scene.after.is_attacked_by(
        not scene.mover, square
    ):
        yield Feature(escape_square, scene.mover, square=square)


FINDERS: tuple[Finder, ...] = (
    *(strikes, connected_passed, backward, hanging_pawns, bad_bishop, opens_file, escape_square),
)
