"""Finds the tactical motifs of a move, and whether they win something.

What it finds are candidates for claims, of which only the proved ones stay. Most motifs need the
moves that follow: what is announced by a move is carried out by the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import chess

from kibitz.comment import force
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import Claim, falls_along, is_between, step
from kibitz.comment.claims.merits import LEAST_THREAT, gain_of, is_borne_out
from kibitz.comment.claims.tactical import (
    Attracts,
    Clears,
    Deflects,
    Discovers,
    DoubleCheck,
    EnPassant,
    Fork,
    Interferes,
    Intermezzo,
    Mates,
    Pins,
    Promotes,
    RemovesGuard,
    Sacrifices,
    Skewers,
    TakesLoose,
    Traps,
    UsesPin,
    XRay,
    is_lost_in_pin,
    is_spared,
    is_worth_attacking,
    mate_pattern,
)
from kibitz.comment.facts import (
    SLIDERS,
    WORTH,
    Scene,
    Unit,
    balance,
    captured_by,
    is_defended,
    is_trapped,
    is_unsafe,
    pinner_of,
    played,
    ray_beyond,
    settled,
    unit,
    units,
)
from kibitz.comment.force import SURE_MATE

PAYS = 2  # pawns' worth that is left of a gain, after which a motif has paid
# What is said only where a search shows that it wins something.
MUST_PAY = (
    *(tactic.Fork, tactic.Skewers, tactic.Traps, tactic.Discovers, tactic.Deflects),
    *(tactic.Attracts, tactic.RemovesGuard, tactic.Interferes, tactic.Intermezzo, tactic.Clears),
    *(tactic.TakesLoose, tactic.XRay),
)
SWAPS = (tactic.Fork, tactic.Skewers, tactic.Deflects)  # what is said where it only regains, too


def motifs(scene: Scene) -> list[Claim]:
    """The motifs of a move, proved."""
    return [claim for find in FINDERS for claim in find(scene) if claim.proved(scene)]


def _forks(scene: Scene) -> Iterator[Claim]:
    by = scene.piece
    if by.kind == chess.KING:
        return
    targets = [
        unit
        for unit in units(scene.after, not scene.mover)
        if is_worth_attacking(scene.after, by, unit)
    ]
    targets.sort(key=lambda target: -target.worth)
    yield Fork(by, tuple(targets))


def _pins(scene: Scene) -> Iterator[Claim]:
    board, mover = scene.after, scene.mover
    for piece in units(board, not mover):
        if piece.kind == chess.KING:
            continue
        pinner = pinner_of(board, piece.square)
        if pinner is None:
            continue
        king = board.king(not mover)
        assert king is not None
        by, to = unit(board, pinner), unit(board, king)
        new = by.square == scene.landed and pinner_of(scene.before, piece.square) != pinner
        if new and piece.kind != by.kind:
            yield Pins(piece, to, by)
        if is_lost_in_pin(board, piece, by):
            yield UsesPin(piece, to, by, None)
        for square in board.attacks(piece.square):
            if board.color_at(square) == mover and is_spared(board, piece, unit(board, square)):
                yield UsesPin(piece, to, by, unit(board, square))


def _relative_pins(scene: Scene) -> Iterator[Claim]:
    board, by = scene.after, scene.piece
    if by.kind not in SLIDERS:
        return
    for square in board.attacks(by.square):
        behind = ray_beyond(board, by.square, square)
        if board.color_at(square) == (not scene.mover) and behind is not None:
            front, back = unit(board, square), unit(board, behind)
            heavy = back.kind in (chess.QUEEN, chess.ROOK) and back.worth > by.worth
            if back.white != scene.mover and heavy and front.kind != chess.PAWN:
                yield Pins(front, back, by)


def _skewers(scene: Scene) -> Iterator[Claim]:
    """What stands behind an attacked piece, taken in the expected line once the front has left."""
    board = scene.after
    if scene.reply is None or scene.next is None:
        return
    by_square, goal = scene.next.from_square, scene.next.to_square
    front = scene.reply.from_square
    by = board.piece_at(by_square)
    if by is None or by.color != scene.mover or not is_between(front, by_square, goal):
        return
    if board.color_at(goal) == (not scene.mover) and is_unsafe(scene.boards[2], goal):
        yield Skewers(unit(board, by_square), unit(board, front), unit(board, goal))


def _discoveries(scene: Scene) -> Iterator[Claim]:
    board, mover = scene.after, scene.mover
    for target in units(board, not mover):
        for square in board.attackers(mover, target.square):
            if square == scene.landed or not is_between(
                scene.move.from_square, square, target.square
            ):
                continue
            is_check = target.kind == chess.KING
            follows = scene.next is not None and (
                scene.next.from_square == square and scene.next.to_square == target.square
            )
            by = unit(board, square)
            hits = target.worth > by.worth or not is_defended(board, target.square)
            if is_check or follows or (hits and target.kind != chess.PAWN):
                yield Discovers(by, target)


def _double_checks(scene: Scene) -> Iterator[Claim]:
    checkers = list(scene.after.checkers())
    if len(checkers) == 2:
        moved = sorted(checkers, key=lambda square: square != scene.landed)
        yield DoubleCheck(unit(scene.after, moved[0]), unit(scene.after, moved[1]))


def _deflections(scene: Scene) -> Iterator[Claim]:
    if scene.reply is None or scene.next is None:
        return
    reply, goal = scene.reply, scene.next.to_square
    target = captured_by(scene.boards[2], scene.next)
    if goal in (reply.to_square, scene.landed) or not (target or scene.next.promotion):
        return
    gives = scene.captured is None or scene.captured.worth < scene.piece.worth
    forced = reply.to_square == scene.landed or scene.after.is_check()
    if gives and forced:
        yield Deflects(
            unit(scene.after, reply.from_square), goal, target, reply.to_square == scene.landed
        )


def _attractions(scene: Scene) -> Iterator[Claim]:
    reply, follow = scene.reply, scene.next
    if reply is None or follow is None or reply.to_square != scene.landed:
        return
    if scene.captured is not None and scene.captured.worth > scene.piece.worth:
        return  # which wins something whatever comes next
    piece = unit(scene.after, reply.from_square)
    if piece.kind not in (chess.KING, chess.QUEEN, chess.ROOK):
        return
    board = scene.boards[3]
    if follow.to_square == scene.landed or scene.landed not in board.attacks(follow.to_square):
        return
    later = scene.follow[3] if len(scene.follow) > 3 else None
    if piece.kind == chess.KING or (later is not None and later.to_square == scene.landed):
        yield Attracts(piece, scene.landed, step(scene.boards[2], follow))


def _removals(scene: Scene) -> Iterator[Claim]:
    guard, follow = scene.captured, scene.next
    if guard is None or follow is None or scene.landed in (follow.to_square, follow.from_square):
        return
    if scene.before.is_check() or scene.after.is_check():
        return
    target = captured_by(scene.boards[2], follow)
    was_there = scene.before.piece_at(follow.to_square)
    if target is None or was_there is None or was_there.color == scene.mover:
        return
    yield RemovesGuard(guard, target)


def _interferences(scene: Scene) -> Iterator[Claim]:
    follow, white = scene.next, scene.mover
    for slider in units(scene.before, not white):
        if slider.kind not in SLIDERS or scene.landed not in scene.before.attacks(slider.square):
            continue
        for square in scene.before.attacks(slider.square):
            between = is_between(scene.landed, slider.square, square)
            if between and scene.after.color_at(square) == (not white):
                yield Interferes(slider, scene.landed, unit(scene.before, square))
    if follow is None or scene.reply is None:
        return
    target = captured_by(scene.boards[2], follow)
    if target is None or scene.before.piece_at(target.square) is None:
        return
    for square in (scene.landed, scene.reply.to_square):
        for guard in scene.before.attackers(not scene.mover, target.square):
            slides = scene.before.piece_type_at(guard) in SLIDERS
            if slides and is_between(square, guard, target.square):
                yield Interferes(unit(scene.before, guard), square, target)


def _intermezzi(scene: Scene) -> Iterator[Claim]:
    if scene.last is None or scene.next is None or scene.last_took is None:
        return
    yield Intermezzo(scene.last.to_square)


def _x_rays(scene: Scene) -> Iterator[Claim]:
    """A recapture across the piece that has taken on the square."""
    if scene.reply is None or scene.next is None:
        return
    square = scene.landed
    if scene.reply.to_square == square == scene.next.to_square and scene.captured:
        through, by = scene.reply.from_square, scene.next.from_square
        if is_between(through, by, square):
            yield XRay(unit(scene.before, by), unit(scene.before, through), square)


def _clearances(scene: Scene) -> Iterator[Claim]:
    follow = scene.next
    if follow is None or scene.move.promotion or scene.boards[2].is_check():
        return
    moved = scene.boards[2].piece_at(follow.from_square)
    if moved is None or moved.piece_type not in SLIDERS:
        return
    if follow.from_square == scene.landed or scene.boards[2].is_capture(follow):
        return
    king_moved = scene.after.king(not scene.mover) == scene.follow[0].from_square
    if king_moved and scene.boards[3].is_check():
        return
    loses = scene.captured is None or is_unsafe(scene.after, scene.landed)
    if loses:
        yield Clears(unit(scene.boards[2], follow.from_square), scene.move.from_square)


def _traps(scene: Scene) -> Iterator[Claim]:
    board = scene.after
    passed = played(scene.before, chess.Move.null())
    for piece in units(board, not scene.mover):
        if WORTH[piece.kind] < WORTH[chess.KNIGHT] or piece.kind == chess.KING:
            continue
        if (
            is_trapped(board, piece.square)
            and not (not scene.before.is_check() and is_trapped(passed, piece.square))
            and falls_along(scene.course_boards[1:], scene.course[1:], piece.square)
        ):
            yield Traps(piece)


def _loose_captures(scene: Scene) -> Iterator[Claim]:
    captured = scene.captured
    if (
        captured is None
        or captured.kind == chess.PAWN
        or is_defended(scene.before, captured.square)
    ):
        return
    is_last = scene.last is not None and scene.last.to_square == captured.square
    if is_last and WORTH[scene.last_took or chess.PAWN] >= captured.worth:
        return  # taking back
    if len(scene.boards) > 3:
        later = balance(scene.boards[3], scene.mover)
        if later < balance(scene.after, scene.mover):
            return
    yield TakesLoose(captured)


def _sacrifices(scene: Scene) -> Iterator[Claim]:
    if len(scene.boards) < 4 or scene.reply is None or scene.reply.promotion:
        return
    lost = balance(scene.before, scene.mover) - balance(scene.boards[3], scene.mover)
    sacrificed = captured_by(scene.after, scene.reply)
    if sacrificed is not None:
        yield Sacrifices(sacrificed, lost)


def _mates(scene: Scene) -> Iterator[Claim]:
    board = scene.after
    if not board.is_checkmate():
        return
    pattern = mate_pattern(board)
    yield Mates(pattern)
    guards = list(board.attackers(scene.mover, scene.landed))
    if not pattern and len(guards) == 1:
        yield Mates(pattern, scene.piece, unit(board, guards[0]))


def _specials(scene: Scene) -> Iterator[Claim]:
    if scene.move.promotion:
        yield Promotes(scene.move.promotion)
    if scene.before.is_en_passant(scene.move):
        yield EnPassant()


FINDERS: tuple[Callable[[Scene], Iterator[Claim]], ...] = (
    _mates,
    _forks,
    _pins,
    _relative_pins,
    _skewers,
    _discoveries,
    _double_checks,
    _deflections,
    _attractions,
    _removals,
    _interferences,
    _intermezzi,
    _x_rays,
    _clearances,
    _traps,
    _loose_captures,
    _sacrifices,
    _specials,
)


# --- what they win --------------------------------------------------------------------------------


def pays(scene: Scene, whole: bool = False) -> bool:
    """Whether a move wins material by force, or mates; what wins a queen may cost a knight.

    It may be what was given to make the move possible, but for a recapture, and unless the
    exchange as a `whole` is asked for.
    """
    gain = force.gain(scene.before, scene.move)
    mates = scene.has is not None and scene.has.mate is not None and scene.has.mate < 0
    if mates or (gain is not None and gain > SURE_MATE):
        return True
    if gain_of(scene) >= force.LEAST and is_borne_out(scene, PAYS):
        return True
    return not whole and gain is not None and gain >= LEAST_THREAT and _wins_back(scene)


def _wins_back(scene: Scene) -> bool:
    """Whether the line keeps what a move that is no recapture wins from here."""
    if scene.takes_back:
        return False
    if len(scene.follow) < merit.LONG_ENOUGH:
        return scene.has is None
    return _is_kept(merit.far_boards(scene), scene)


def _is_kept(boards: Sequence[chess.Board], scene: Scene) -> bool:
    """Whether what pays is there at the end of a line and a ply before, exchanges carried out."""
    least = balance(scene.before, scene.mover) + PAYS
    ends = (settled(board, scene.mover) for board in boards[-2:])
    return all(end is not None and end >= least for end in ends)


def pays_off(claim: Claim, scene: Scene) -> bool:
    """Whether the move of a motif wins something, or the motif is carried out in the line."""
    whole = isinstance(claim, tactic.TakesLoose)
    if ("pays", whole) not in scene.memo:
        scene.memo["pays", whole] = pays(scene, whole)
    return bool(scene.memo["pays", whole]) or _is_carried_out(claim, scene)


def _is_carried_out(claim: Claim, scene: Scene) -> bool:
    """Whether the next move takes what a motif is about, and the line keeps what it is worth.

    The search of material need not see it where checks that take nothing lie on the way.
    """
    if not falls_next(claim, scene):
        return False
    longer = scene if len(scene.follow) > merit.LONG_ENOUGH else merit.expected_again(scene)
    if longer is None or longer.next != scene.next:
        return False
    return _is_kept(longer.boards, scene)


def falls_next(claim: Claim, scene: Scene) -> bool:
    """Whether the next move takes what a motif is about, and the motif takes nothing back."""
    if (scene.has or scene.had) is None or scene.next is None or scene.takes_back:
        return False
    took = captured_by(scene.boards[2], scene.next)
    return took is not None and took.square in _targets(claim)


def swaps(claim: Claim, scene: Scene) -> bool:
    """Whether a piece that was hit or left by its guard falls, and all in all nothing is lost."""
    if not isinstance(claim, SWAPS) or not falls_next(claim, scene) or scene.next is None:
        return False
    had, took = balance(scene.before, scene.mover), captured_by(scene.boards[2], scene.next)
    kept = all(balance(board, scene.mover) >= had for board in scene.boards[4:])
    return kept and took is not None and took.kind > chess.PAWN


def _targets(claim: Claim) -> set[int]:
    """The squares of what a motif wins."""
    match claim:
        case tactic.Fork(targets=targets):
            return {target.square for target in targets}
        case tactic.Skewers(behind=target) | tactic.Traps(piece=target) | tactic.Pins(target):
            return {target.square}
        case tactic.Deflects(target=Unit() as target):
            return {target.square}
        case (
            tactic.Discovers(target=target)
            | tactic.RemovesGuard(target=target)
            | tactic.Interferes(target=target)
        ):
            return {target.square}
    return set()
