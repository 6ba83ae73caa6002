"""Features that stay: pawn structure, and what pieces do."""

from __future__ import annotations

from collections.abc import Iterator

import chess

from kibitz.comment import force
from kibitz.comment.claims.claim import Weights, is_between, passed
from kibitz.comment.claims.features import CENTRE, Feature, Finder
from kibitz.comment.facts import (
    RECENT,
    SLIDERS,
    Scene,
    Unit,
    ahead,
    files_beside,
    is_defended,
    is_passed,
    is_unsafe,
    phase,
    pinner_of,
    ray_beyond,
    takers,
    unit,
    units,
)


def strikes(scene: Scene) -> Iterator[Feature]:
    """A pawn moves up to attack a pawn in the middle files that pawns guard, and no piece."""
    board, by = scene.after, scene.piece
    if by.kind != chess.PAWN or scene.captured or scene.move.promotion:
        return
    hit = board.attacks(by.square) & board.occupied_co[not scene.mover]
    for square in hit if not hit & ~board.pawns else ():
        if 2 <= square & 7 <= 5 and board.attackers(not scene.mover, square) & board.pawns:
            yield Feature(strikes, scene.mover, (unit(board, square),))


def connected_passed(scene: Scene) -> Iterator[Feature]:
    """Two passed pawns on files next to each other, of which one is new."""
    pairs = _passed_pairs(scene.after, scene.mover)
    if any(len(_passed_pairs(board, scene.mover)) != 1 for board in scene.boards[1:4]):
        return
    earlier = scene.before.copy(stack=RECENT)
    while not _passed_pairs(earlier, scene.mover) and earlier.move_stack:
        earlier.pop()
    if not _passed_pairs(earlier, scene.mover):
        yield Feature(connected_passed, scene.mover, pairs[0])


def _passed_pairs(board: chess.Board, white: bool) -> list[tuple[Unit, Unit]]:
    pawns = [
        unit(board, square)
        for square in board.pieces(chess.PAWN, white)
        if is_passed(board, square, white)
    ]
    pairs = [
        (pawn, two) for pawn in pawns for two in pawns if two.square & 7 == (pawn.square & 7) + 1
    ]
    return [pair for pair in pairs if abs((pair[0].square >> 3) - (pair[1].square >> 3)) <= 1]


def backward(scene: Scene) -> Iterator[Feature]:
    """A pawn on a file that is half-open for the other side is new among those left behind."""
    for white in (True, False):
        now, had = _backward(scene.after, white), _backward(scene.before, white)
        later = [_backward(board, white) for board in scene.boards[2:4]]
        for square in now - had:
            stays = all(square in pawns for pawns in later)
            takes = white != scene.mover and scene.landed in scene.after.attacks(square)
            if stays and not takes and chess.BB_SQUARES[square] & scene.before.pawns:
                yield Feature(backward, white, (unit(scene.after, square),))


def _backward(board: chess.Board, white: bool) -> set[int]:
    """Pawns with neighbours, all ahead of them, before whose next square an enemy pawn watches."""
    own, theirs = board.pieces_mask(chess.PAWN, white), board.pieces_mask(chess.PAWN, not white)
    pawns = set()
    for square in chess.scan_forward(own & ~(chess.BB_FILE_A | chess.BB_FILE_H)):
        beside = sum(chess.BB_FILES[file] for file in files_beside(square))
        front = ahead(square, white, files_beside(square))
        stop = square + (8 if white else -8)
        watched = chess.BB_PAWN_ATTACKS[white][stop] & theirs
        blocked = own & ahead(square, white, (square & 7,))
        open_ = not theirs & chess.BB_FILES[square & 7] and not blocked
        if own & beside and not own & beside & ~front and watched and open_:
            pawns.add(square)
    return pawns


def hanging_pawns(scene: Scene) -> Iterator[Feature]:
    """Pawns side by side on the c- and d-file, half-open files, with no own pawn beside them."""
    for white in (True, False):
        now = _hanging(scene.after, white)
        later = [_hanging(board, white) for board in scene.boards[2:4]]
        if now and not _hanging(scene.before, white) and all(pawns == now for pawns in later):
            yield Feature(hanging_pawns, white, now)


def _hanging(board: chess.Board, white: bool) -> tuple[Unit, ...]:
    own, theirs = board.pieces_mask(chess.PAWN, white), board.pieces_mask(chess.PAWN, not white)
    near = chess.BB_FILE_B | chess.BB_FILE_C | chess.BB_FILE_D | chess.BB_FILE_E
    pair = [unit(board, square) for square in chess.scan_forward(own & near)]
    if len(pair) != 2 or theirs & (chess.BB_FILE_C | chess.BB_FILE_D):
        return ()
    files = sorted(pawn.square & 7 for pawn in pair)
    ranks = {pawn.square >> 3 if white else 7 - (pawn.square >> 3) for pawn in pair}
    return tuple(pair) if files == [2, 3] and ranks in ({3}, {4}) else ()


def bad_bishop(scene: Scene) -> Iterator[Feature]:
    """A side's only bishop has three own pawns on its colour that enemy pawns block."""
    for white in (True, False):
        bad, fixed = fixed_pawns(scene.after, white)
        had = fixed_pawns(scene.before, white)[1]
        if not bad or len(fixed) <= len(had) or len(had) >= 3 or scene.captured:
            continue
        if any(square & 7 not in (0, 7) for square in fixed - had):
            yield Feature(bad_bishop, white, (bad,), counts=(len(fixed),))


def fixed_pawns(board: chess.Board, white: bool) -> tuple[Unit | None, set[int]]:
    """A side's bad bishop, and the squares of its pawns that are fixed on the bishop's colour."""
    bishops = list(board.pieces(chess.BISHOP, white))
    if len(bishops) != 1:
        return None, set()
    light = bool(chess.BB_LIGHT_SQUARES & chess.BB_SQUARES[bishops[0]])
    shade = chess.BB_LIGHT_SQUARES if light else chess.BB_DARK_SQUARES
    theirs, way = board.pieces_mask(chess.PAWN, not white), 8 if white else -8
    fixed = {
        square
        for square in board.pieces(chess.PAWN, white) & shade
        if theirs & chess.BB_SQUARES[square + way]
    }
    enough = len(fixed) >= 3 and any(square & 7 in (3, 4) for square in fixed)
    return (unit(board, bishops[0]) if enough else None), fixed


def opens_file(scene: Scene) -> Iterator[Feature]:
    """A file in the middle loses its last pawn, with rooks or a queen to use it."""
    if not scene.after.rooks | scene.after.queens or len(scene.boards) < 4:
        return
    if scene.captured and scene.captured.kind == chess.PAWN != scene.piece.kind:
        return  # a pawn is taken, and that is what matters
    if scene.move.promotion:
        return
    for file in range(2, 6):
        mask = chess.BB_FILES[file]
        if scene.before.pawns & mask and not any(board.pawns & mask for board in scene.boards[1:4]):
            yield Feature(opens_file, scene.mover, square=file)


def escape_square(scene: Scene) -> Iterator[Feature]:
    """A pawn at the edge moves up before a king that had no free square in front of it."""
    king = scene.after.king(scene.mover)
    if scene.piece.kind != chess.PAWN or king is None or scene.captured or scene.before.is_check():
        return
    heavy = (scene.after.rooks | scene.after.queens) & scene.after.occupied_co[not scene.mover]
    square = scene.move.from_square
    at_home = king >> 3 == (0 if scene.mover else 7) and king & 7 not in (3, 4)
    near = chess.BB_KING_ATTACKS[king] & chess.BB_SQUARES[square] & ~MIDDLE_FILES
    if not (heavy and at_home and near and phase(scene.after) != "opening"):
        return
    front = chess.BB_KING_ATTACKS[king] & chess.BB_RANKS[square >> 3]
    if not front & ~scene.before.occupied and not scene.after.is_attacked_by(
        not scene.mover, square
    ):
        yield Feature(escape_square, scene.mover, square=square)


PAWN_FINDERS: dict[Finder, Weights] = {
    strikes: Weights(0.4, 0.45, 0.44),
    connected_passed: Weights(0.6, 0.65, 0.6),
    backward: Weights(0.35, 0.47, 0.5, drawback=True),
    hanging_pawns: Weights(0.3, 0.5, 0.55, drawback=True),
    bad_bishop: Weights(0.4, 0.52, 0.55, drawback=True),
    opens_file: Weights(0.42, 0.44, 0.4, reason=False),
    escape_square: Weights(0.6, 0.48, 0.43, once=True, reason=False),
}


# --- pieces ---------------------------------------------------------------------------------------
#
# Plain facts about what a piece does where it goes: it guards, attacks, offers a trade.
#
# See `features`.


NEAR_KING = 3  # pieces that attack squares beside a king from which on that is worth words
LAST_FIANCHETTO = 20  # move of a game after which a bishop there is no fianchetto
MIDDLE_FILES = chess.BB_FILE_C | chess.BB_FILE_D | chess.BB_FILE_E | chess.BB_FILE_F
LONG_DIAGONALS = {True: (chess.B2, chess.G2), False: (chess.B7, chess.G7)}


def _is_quiet(scene: Scene) -> bool:
    """Whether a move takes nothing, gives no check and leaves the piece safe."""
    safe = scene.piece.kind == chess.KING or not is_unsafe(scene.after, scene.landed)
    passant = scene.reply is not None and scene.after.is_en_passant(scene.reply)
    return safe and not passant and scene.captured is None and not scene.after.is_check()


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
        if loose.kind == by.kind and is_defended(scene.after, by.square):
            continue  # which is an offer to trade
        if not is_defended(scene.after, square) and scene.reply is not None:
            yield Feature(attacks_loose, scene.mover, (loose,))


def attacks_two(scene: Scene) -> Iterator[Feature]:
    """A safe piece comes to attack two others, each worth more than it or not well guarded.

    It may have taken back.
    """
    back = scene.takes_back and not is_unsafe(scene.after, scene.landed)
    if not (_is_quiet(scene) or back) or scene.piece.kind == chess.KING:
        return
    board, had = scene.after, scene.before.attacks(scene.move.from_square)
    targets = [
        piece
        for piece in units(board, not scene.mover)
        if piece.square in board.attacks(scene.landed)
        and piece.kind != chess.KING
        and (
            piece.worth > scene.piece.worth
            or not is_defended(board, piece.square)
            or force.loss_on(board, piece.square) >= force.LEAST
        )
        and not (piece.kind == scene.piece.kind and is_defended(board, scene.landed))
    ]
    targets.sort(key=lambda piece: -piece.worth)
    new = any(piece.square not in had for piece in targets[:2])
    lost = all(force.loss_on(board, target.square) for target in targets[:2])
    if len(targets) > 1 and (targets[0].kind != chess.PAWN or back or lost) and new:
        yield Feature(attacks_two, scene.mover, tuple(targets[:2]))


def outnumbers(scene: Scene) -> Iterator[Feature]:
    """A safe piece attacks something that is guarded, and now not often enough."""
    if not _is_quiet(scene) or scene.before.is_check() or scene.piece.kind == chess.KING:
        return
    board, had = scene.after, scene.before.attacks(scene.move.from_square)
    for piece in units(board, not scene.mover):
        if piece.kind == chess.KING or piece.worth > scene.piece.worth or piece.square in had:
            continue
        new = force.loss_on(board, piece.square) >= force.LEAST and not _is_lost(scene, piece)
        new = new and _may_win(board, piece)
        if (
            new
            and is_defended(board, piece.square)
            and _bears_on(board, scene.landed, piece.square)
        ):
            yield Feature(outnumbers, scene.mover, (piece,))


def _may_win(board: chess.Board, piece: Unit) -> bool:
    """Whether to take a piece would win something by force if its side passed."""
    rest = passed(board)
    if rest is None:
        return False
    takes = rest.generate_legal_captures(to_mask=chess.BB_SQUARES[piece.square])
    return any((force.gain(rest, take) or 0) >= force.LEAST for take in takes)


def _is_lost(scene: Scene, piece: Unit) -> bool:
    """Whether a piece could be taken before the move already."""
    return bool(force.loss_on(scene.before, piece.square))


def presses(scene: Scene) -> Iterator[Feature]:
    """A pinned piece is attacked once more, and is lost now unless something is done for it."""
    if not _is_quiet(scene):
        return
    board, had = scene.after, scene.before.attacks(scene.move.from_square)
    for piece in units(board, not scene.mover):
        if piece.kind in (chess.PAWN, chess.KING) or piece.square in had:
            continue
        if not _bears_on(board, scene.landed, piece.square):
            continue
        behind = _held_to(scene.before, piece)
        new = force.loss_on(board, piece.square) and not force.loss_on(scene.before, piece.square)
        if behind is not None and behind == _held_to(board, piece) and new:
            yield Feature(presses, scene.mover, (piece, behind))


def _bears_on(board: chess.Board, by: int, square: int) -> bool:
    """Whether a piece attacks a square, if only through its own side's pieces that do, too."""
    without = board.copy(stack=False)
    white = bool(board.color_at(by))
    for between in chess.SquareSet(chess.between(by, square)) & board.attackers(white, square):
        without.remove_piece_at(between)
    return square in without.attacks(by)


def _held_to(board: chess.Board, piece: Unit) -> Unit | None:
    """The king or queen to which a piece is pinned by something worth less than that."""
    for attacker in board.attackers(not piece.white, piece.square):
        by, square = unit(board, attacker), ray_beyond(board, attacker, piece.square)
        if by.kind not in SLIDERS or square is None:
            continue
        behind = unit(board, square)
        holds = behind.kind in (chess.KING, chess.QUEEN) and behind.worth > by.worth
        if behind.white == piece.white and holds and behind.worth > piece.worth:
            return behind
    return None


def guards(scene: Scene) -> Iterator[Feature]:
    """What was attacked and not guarded is guarded by the piece that moves."""
    if not _is_quiet(scene) or scene.before.is_check():
        return
    for piece in units(scene.before, scene.mover):
        square = piece.square
        if piece.kind == chess.KING or square in (scene.move.from_square, scene.landed):
            continue
        attackers = takers(scene.before, square)
        if not attackers:
            continue
        if square not in scene.after.attacks(scene.landed) or is_defended(scene.before, square):
            continue
        if force.loss_on(scene.before, square) and not force.loss_on(scene.after, square):
            least = min((unit(scene.before, by) for by in attackers), key=lambda by: by.worth)
            yield Feature(guards, scene.mover, (piece, least))


def steps_away(scene: Scene) -> Iterator[Feature]:
    """A piece that something worth less attacks goes to a safe square."""
    square, by = scene.move.from_square, scene.piece
    if not _is_quiet(scene) or by.kind in (chess.PAWN, chess.KING):
        return
    taking = [unit(scene.before, at) for at in takers(scene.before, square)]
    attackers = [attacker for attacker in taking if attacker.worth < by.worth]
    if attackers and force.loss_on(scene.before, square):
        least = min(attackers, key=lambda attacker: attacker.worth)
        yield Feature(steps_away, scene.mover, (least, by))


def offers_trade(scene: Scene) -> Iterator[Feature]:
    """A piece comes to face one of its kind that can take it; both are guarded."""
    board, by = scene.after, scene.piece
    if by.kind in (chess.PAWN, chess.KING) or scene.captured or not _is_quiet(scene):
        return
    for square in board.attacks(by.square) & board.pieces(by.kind, not scene.mover):
        guarded = is_defended(board, square) and is_defended(board, by.square)
        new = square not in scene.before.attacks(scene.move.from_square)
        possible = chess.Move(square, by.square) in board.legal_moves
        if guarded and new and possible and not force.loss_on(board, by.square):
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
    if scene.before.fullmove_number > LAST_FIANCHETTO:
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
    for piece in units(scene.before, scene.mover):
        if piece.kind in (chess.PAWN, chess.KING) or piece.square == scene.move.from_square:
            continue
        pinned = pinner_of(scene.before, piece.square) is not None
        if pinned and pinner_of(scene.after, piece.square) is None and _is_quiet(scene):
            yield Feature(unpins, scene.mover, (piece,))


def closes_in(scene: Scene) -> Iterator[Feature]:
    """One more piece attacks squares beside the other king, and there are three or more now."""
    if scene.piece.kind in (chess.PAWN, chess.KING) or not _is_quiet(scene):
        return
    if phase(scene.after) == "endgame" or not _stays(scene):
        return
    king = scene.after.king(not scene.mover)
    if king is None or not chess.BB_KING_ATTACKS[king] & scene.after.attacks_mask(scene.landed):
        return
    now, had = (near_king(board, scene.mover) for board in (scene.after, scene.before))
    if scene.piece in now and len(now) > len(had) and len(now) >= NEAR_KING:
        yield Feature(closes_in, scene.mover, (scene.piece,), counts=(len(now),))


def near_king(board: chess.Board, white: bool) -> list[Unit]:
    """Pieces of a side, not pawns nor the king, that attack squares beside the other king."""
    king = board.king(not white)
    assert king is not None
    ring = chess.BB_KING_ATTACKS[king]
    pieces = (piece for piece in units(board, white) if piece.kind not in (chess.PAWN, chess.KING))
    return [piece for piece in pieces if board.attacks_mask(piece.square) & ring]


def shuts_off(scene: Scene) -> Iterator[Feature]:
    """A piece comes between a slider and the square where a pawn is expected to be promoted next.

    Nothing else attacks that square, and what has come is not lost.
    """
    white, then = scene.mover, scene.next
    if then is None or not then.promotion or then.from_square == scene.landed:
        return
    square, goal = then.from_square, then.to_square
    if square & 7 != goal & 7 or force.loss_on(scene.after, scene.landed) >= force.LEAST:
        return
    had, has = (there.copy(stack=False) for there in (scene.before, scene.after))
    for there in (had, has):
        there.remove_piece_at(square)  # behind which the slider reaches the square
    if not has.is_attacked_by(not white, goal):
        for guard in had.attackers(not white, goal):
            if is_between(scene.landed, guard, goal):
                yield Feature(shuts_off, white, (unit(scene.after, guard),), square=goal)


PIECE_FINDERS: dict[Finder, Weights] = {
    shuts_off: Weights(0.97, 0.97, 0.96, like="quiet_killer OnlyGood OnlyMove Threatens"),
    attacks_loose: Weights(0.5, 0.46, 0.42, like="Fork Pins Wins Nets"),
    attacks_two: Weights(0.61, 0.61, 0.61, sharp=True, like="Fork Threatens chases attacks_loose"),
    presses: Weights(0.62, 0.62, 0.6, sharp=True, like="Threatens chases attacks_loose"),
    outnumbers: Weights(
        0.5, 0.47, 0.45, sharp=True, like="Threatens chases attacks_loose attacks_two"
    ),
    guards: Weights(0.5, 0.44, 0.3),
    steps_away: Weights(0.48, 0.3, 0.2),
    offers_trade: Weights(0.48, 0.5, 0.48, like="chases GivesUp"),
    centralises: Weights(0.46, 0.43, 0.35, once=True, reason=False),
    fianchetto: Weights(0.46, 0.4, 0.2, once=True, reason=False),
    gains_space: Weights(0.46, 0.48, 0.46),
    unpins: Weights(0.5, 0.46, 0.43),
    closes_in: Weights(0.5, 0.5, 0.48),
}
