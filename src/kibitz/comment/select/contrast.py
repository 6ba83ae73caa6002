"""Whether a reason is one: what only the line of a bad move has, or only that of the better one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import chess

from kibitz.comment import force
from kibitz.comment.analysis import AS_GOOD
from kibitz.comment.claims import cover
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import positional as changed
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import Claim, passed, stands, taken_if_passed
from kibitz.comment.claims.features import Feature
from kibitz.comment.claims.lines import aftermath, outcomes, outlook
from kibitz.comment.claims.structure import steps_away
from kibitz.comment.facts import (
    WORTH,
    Scene,
    Unit,
    balance,
    captured_by,
    exposure,
    is_unsafe,
    phase,
    played,
    unit,
)
from kibitz.comment.select.kinds import (
    DEFENDS,
    FAINT,
    HITS,
    ONE_PAWN,
    SLIGHT,
    costs_a_piece,
    costs_much,
    is_by_product,
    is_of_a_pawn,
    is_of_one_pawn,
    leaves,
)
from kibitz.comment.select.rank import kind_of, threatens_mate

LAST_LATER = 4  # plies after the first move of a line in which a reason is looked for
SOON = 4  # plies, the move itself included
PIECE = 0.5  # winning chances, which no pawn costs


def as_good(scene: Scene) -> Scene | None:
    """Another move than the one made that a long look finds as good as the best one."""
    had = scene.had
    if had is None or had.other is None or had.value - had.other.value > AS_GOOD:
        return None
    other = outlook.next_best(scene.instead)
    if other is None or other.has is None or other.move == scene.move:
        return None
    return other if had.value + other.has.value <= AS_GOOD else None


def as_good_reply(scene: Scene) -> Scene | None:
    """Another refutation of a bad move that was seen to be as good as the first."""
    has = scene.has
    if has is None or has.other is None or not has.other.line:
        return None
    if has.value - has.other.value > AS_GOOD:
        return None
    return replace(scene.other, move=has.other.line[0], follow=has.other.line[1:], has=None)


def is_incidental(claim: Claim, scene: Scene, alike: Callable[[Scene], Scene | None]) -> bool:
    """Whether a move does something slight that another as good one does not do."""
    slight = kind_of(claim) in (*DEFENDS, *SLIGHT, *FAINT, *HITS) or is_by_product(claim)
    slight = slight or isinstance(claim, outlook.Intends)
    if slight and not threatens_mate(claim) and (other := alike(scene)) is not None:
        return not claim.proved(other)
    return False


def consequences(scene: Scene) -> Iterator[Claim]:
    """What the line after a move leads to, proved."""
    yield from outcomes.outcomes(scene)
    yield from aftermath.aftermaths(scene)


def moves_of(scene: Scene) -> Iterator[Scene]:
    """A move, and the same side's next ones in the line."""
    for plies in range(0, LAST_LATER + 1, 2):
        later = scene.ahead(plies)
        if later is None or later.after.is_game_over():
            return
        yield later


def _refuted(scene: Scene) -> Scene:
    """The refutation of a move as a scene, or the move itself where there is none."""
    return scene.other if scene.reply else scene


def ends_apart(line: Scene, other: Scene) -> bool:
    """Whether the side whose moves these are ends with more material in the first line."""
    ends = [scene.calm_boards[-1] for scene in (line, other)]
    return balance(ends[0], line.mover) > balance(ends[1], line.mover)


def is_ahead_soon(line: Scene, other: Scene) -> bool:
    """Whether two moves later the side whose moves these are has more in the first line."""
    return _soon(line, line.mover) > _soon(other, line.mover)


def _soon(line: Scene, white: bool) -> int:
    """The material two moves later."""
    return balance(line.course_boards[: SOON + 1][-1], white)


def _takes(scene: Scene, target: Unit) -> bool:
    """Whether the same is taken in another line by the same side, whatever comes of it."""
    boards = scene.course_boards
    moves = zip(boards[::2], scene.course[::2], strict=False)
    return any(captured_by(board, move) == target for board, move in moves)


def _wins(scene: Scene, target: Unit) -> bool:
    """The same, with nothing that takes back, or more in the end."""
    if not _takes(scene, target):
        return False
    moves = zip(scene.course_boards, scene.course, scene.course[1:], strict=False)
    back = any(
        captured_by(board, move) == target and move.to_square == answer.to_square
        for board, move, answer in moves
    )
    return not back or balance(scene.calm_boards[-1], scene.mover) > balance(
        scene.before, scene.mover
    )


def _hangs(scene: Scene, target: Unit) -> bool:
    """Whether a piece that has not moved may be taken for nothing at the end of a line."""
    board = scene.course_boards[-1]
    return stands(board, target) and is_unsafe(board, target.square)


def takes_later(scene: Scene) -> bool:
    """Whether what the better move takes is taken by the same side after the move made, too."""
    return scene.instead.captured is not None and _takes(scene, scene.instead.captured)


def _falls_all_the_same(claim: outcomes.ComesOut, scene: Scene) -> bool:
    """Whether all that the refutation takes is taken in the line of the better move, too.

    What lies between them is then what the mover takes.
    """
    line, last = scene.other, len(claim.line.split()) + 1 if claim.line else None
    moves = zip(line.course_boards[::2], line.course[:last:2], strict=False)
    took = [unit for unit in (captured_by(*each) for each in moves) if unit is not None]
    answer = scene.instead.other if scene.instead.reply else None
    return answer is not None and bool(took) and all(_takes(answer, unit) for unit in took)


def _stays_won(line: Scene, target: Unit) -> bool:
    """Whether what a move takes is no pawn, or its side has one more at the end of the line."""
    ends = (balance(board, line.mover) for board in (line.calm_boards[-1], line.before))
    return target.kind != chess.PAWN or next(ends) > next(ends)


def falls_too(target: Unit, scene: Scene) -> bool:
    """Whether something is taken in the line of the better move, too; a piece, not exchanged."""
    had = scene.had
    if had is None or had.line[:1] in ((), (scene.move,)) or not scene.instead.reply:
        return False
    boards, moves = scene.instead.other.course_boards, scene.instead.other.course
    for ply in range(0, len(moves), 2):
        if captured_by(boards[ply], moves[ply]) == target:
            then, there = boards[ply + 1], moves[ply].to_square
            follows = [move.to_square for move in moves[ply + 1 : ply + 2]]
            back = there in follows if follows else then.is_attacked_by(scene.mover, there)
            traded = back and unit(then, there).worth >= target.worth > WORTH[chess.PAWN]
            return not traded
    return False


def comes_too(
    claim: cover.LiftsBlockade | cover.OpensOwnKing | cover.UnguardsSquare, scene: Scene
) -> bool:
    """Whether the pawn comes on, or the file is open, in the line of the better move, too."""
    had = scene.had
    if had is None or had.line[:1] in ((), (scene.move,)):
        return False
    after = scene.instead.after
    if isinstance(claim, cover.UnguardsSquare):
        return claim.square not in after.attacks(scene.move.from_square)
    if isinstance(claim, cover.LiftsBlockade):
        line = scene.instead.other if scene.instead.reply else None
        return line is not None and cover.comes_on(line, claim.pawn.square)
    return not after.pieces_mask(chess.PAWN, scene.mover) & chess.BB_FILES[claim.file]


def same_reply(scene: Scene) -> list[Scene]:
    """The refutation as an answer to the better move, where it is possible there and free."""
    assert scene.reply is not None
    board, line = scene.instead.after, list[chess.Move]()
    for move in scene.follow[:2]:
        if move not in board.legal_moves:
            break
        line.append(move)
        board = played(board, move)
        if len(line) == 1 and (force.gain(board) or 0) >= force.LEAST:
            return []
    return [Scene(scene.instead.after, line[0], tuple(line[1:]), scene.analysis)] if line else []


def is_there_too(claim: Claim, moves: Sequence[Scene]) -> bool:
    """Whether a reason holds in the line of the better move as well.

    Who has the opposition changes with each move, so that is compared with the first one alone.
    """
    there = moves[:1] if kind_of(claim) == "opposition" else moves
    return any(claim.proved(move) or _is_loose_there(claim, move) for move in there)


def _is_loose_there(claim: Claim, line: Scene) -> bool:
    """Whether what is attacked without a guard is so after a move of another line, too."""
    if kind_of(claim) != "attacks_loose" or not isinstance(claim, Feature):
        return False
    target = claim.pieces[0]
    return stands(line.after, target) and is_unsafe(line.after, target.square)


def is_the_cost(claim: Claim, scene: Scene) -> bool:
    """Whether what the refutation leads to is the fault of the move, and not there anyway."""
    if scene.had is None or isinstance(claim, (outcomes.TakesBack, aftermath.Castles)):
        return False
    if isinstance(claim, outlook.Draws):
        level = scene.has is not None and abs(scene.has.value) < outlook.EVEN
        return level and costs_much(scene)
    best = scene.had.line[:1]
    if best in ((), (scene.move,)):
        return True
    if isinstance(claim, aftermath.PicksUp):
        took = scene.captured.worth if scene.captured is not None else 0
        if took >= claim.target.worth > WORTH[chess.PAWN]:
            return False  # which is a trade
        if not scene.instead.reply:
            return True
        answer = scene.instead.other
        same, apart = _takes(answer, claim.target), ends_apart(scene.other, answer)
        apart = apart or (not same and is_ahead_soon(scene.other, answer))
        return not same and apart if claim.target.kind == chess.PAWN else not same or apart
    if isinstance(claim, aftermath.Takes):
        return not falls_too(claim.target, scene) and (
            not scene.instead.reply or ends_apart(scene.other, scene.instead.other)
        )
    end, other = scene.instead.calm_boards[-1], not scene.mover
    match claim:
        case outcomes.ComesOut():
            bad = scene.other.calm_boards[-1]
            apart = balance(end, scene.mover) > balance(bad, scene.mover)
            return apart and not _falls_all_the_same(claim, scene)
        case outcomes.OpensUp():
            bad = scene.other.calm_boards[-1]
            had, has = (exposure(board, scene.mover) for board in (end, bad))
            return had < has
        case outcomes.TradesQueens():
            return bool(end.queens)
        case outcomes.Runs(pawn):
            return not any(run.pawn == pawn for run in outcomes.running(scene.instead))
        case outcomes.Uncastles():
            castles = any(
                board.turn != other and board.is_castling(move)
                for board, move in zip(
                    scene.instead.calm_boards, scene.instead.course, strict=False
                )
            )
            return castles or end.has_castling_rights(scene.mover)
    return not (leaves(claim) and scene.instead.reply and _has(scene.instead.other, claim))


def _has(scene: Scene, claim: Claim) -> bool:
    """Whether a line leaves something of the same kind, too."""
    return any(type(other) is type(claim) for other in aftermath.aftermaths(scene))


def is_shared(claim: Claim, scene: Scene) -> bool:
    """Whether what the better move does is done by the move made as well."""
    same = scene.captured is not None and scene.captured == scene.instead.captured
    if same and _is_all(claim, scene.captured):
        return True
    if isinstance(claim, Feature) and claim.find is steps_away:  # of a piece on another square
        if scene.captured == claim.pieces[0]:
            return True  # which attacks it no more
        same = scene.move.from_square == scene.instead.move.from_square
        return same and any(claim.pieces[0] in other.pieces for other in steps_away(scene))
    guarded = claim.target if isinstance(claim, merit.Parries) else None
    if isinstance(claim, Feature) and claim.name == "guards":
        guarded = claim.pieces[0]
    if guarded is not None and guarded.square == scene.move.from_square:
        return not is_unsafe(scene.after, scene.landed)  # it has left
    if isinstance(claim, changed.Outpost) and changed.Outpost(scene.piece).proved(scene):
        return True
    aim = _aim_of(claim, scene.instead)
    if _is_threat_in(scene.after, claim, scene.instead) or _is_hit_too(claim, scene):
        return True
    if aim is not None and aim == scene.captured:
        return True
    rooms = (tactic.__name__, merit.__name__, changed.__name__, cover.__name__)
    done = isinstance(claim, Feature) or type(claim).__module__ in rooms
    return done and claim.proved(scene)


def _is_hit_too(claim: Claim, scene: Scene) -> bool:
    """Whether what the better move attacks is attacked by the piece that moved as well."""
    match claim:
        case merit.Threatens(target=Unit() as target):
            pass
        case Feature(name="chases" | "attacks_loose", pieces=(target, *_)):
            pass
        case _:
            return False
    if not stands(scene.after, target):
        return False
    hit = target.square in scene.after.attacks(scene.landed)
    return hit and target.square not in scene.before.attacks(scene.move.from_square)


def _is_all(claim: Claim, taken: Unit | None) -> bool:
    """Whether a gain is no more than what is taken at once."""
    if isinstance(claim, (merit.Wins, merit.Nets, outcomes.ComesOut)):
        return taken is not None and claim.won == (taken.kind,)
    return isinstance(claim, aftermath.PicksUp) and claim.target == taken


def is_missed(claim: Claim, scene: Scene) -> bool:
    """Whether what the better move leads to is more than what the move made leads to."""
    if scene.has is None or isinstance(claim, outcomes.HitsAgain):
        return False
    match claim:
        case aftermath.PicksUp():
            later = not claim.line and is_ahead_soon(scene.instead, scene)
            return later or not _takes(scene, claim.target)
        case aftermath.Takes(target) if scene.captured and scene.captured.worth >= target.worth:
            return False  # as much is taken by the move made
        case aftermath.Takes(target):
            apart = ends_apart(scene.instead, _refuted(scene)) if scene.reply else True
            return apart and not _takes(scene, target) and _stays_won(scene.instead, target)
        case outcomes.Runs(pawn):
            return scene.after.piece_at(pawn.square) != chess.Piece(chess.PAWN, pawn.white)
        case outlook.Draws():
            level = scene.had is not None and abs(scene.had.value) < outlook.EVEN
            return level and costs_much(scene)
        case outcomes.ComesOut():
            if claim.back and scene.takes_back and scene.instead.takes_back:
                return False  # as either move does
            ends = (line.calm_boards[-1] for line in (scene.instead, _refuted(scene)))
            best, made = (balance(board, scene.mover) for board in ends)
            return best > made
        case aftermath.Castles():
            return not aftermath.castled(scene)
        case outcomes.TakesBack():
            return not is_new_trade(scene)
        case outcomes.TradesQueens():
            return bool(_refuted(scene).calm_boards[-1].queens)
    return not (leaves(claim) and _has(scene, claim))


def is_new_trade(scene: Scene) -> bool:
    """Whether the other side has just taken back, so that to take there again begins a trade."""
    board, taken_on = scene.before.copy(stack=2), scene.taken_on
    if taken_on is None or len(board.move_stack) < 2:
        return False
    board.pop()
    own = board.pop()
    return own.to_square == taken_on and captured_by(board, own) is not None


def is_spent(claim: Claim, line: Scene) -> bool:
    """Whether what a claim is of is attacked, and not taken in the line after it.

    That is a pawn, or two pieces at once, which one move meets; a single piece has to go away.
    """
    if isinstance(claim, Feature) and claim.name == "attacks_two":
        return not any(_takes(line, target) or _hangs(line, target) for target in claim.pieces)
    if _hits_back(claim, line) or _is_shaken_off(claim, line):
        return True
    if isinstance(claim, outlook.Intends) and not all(map(is_of_one_pawn, claim.why)):
        return False  # to take the pawn wins more
    aim = _aim_of(claim, line)
    return aim is not None and aim.kind == chess.PAWN and not _wins(line, aim)


def _hits_back(claim: Claim, line: Scene) -> bool:
    """Whether a piece that is hit goes away with a capture or a check, and is not lost there.

    Or the piece that hits it is taken.
    """
    hits = kind_of(claim) in ("chases", "attacks_loose", "Threatens")
    if line.reply is None or threatens_mate(claim) or not hits:
        return False
    if line.captured and line.reply.to_square == line.landed:
        return True
    if not isinstance(claim, Feature):
        return False
    leaves = line.reply.from_square == claim.pieces[0].square
    safe = not is_unsafe(line.other.after, line.reply.to_square)
    return leaves and safe and outlook.is_forcing(line.after, line.reply)


def _is_shaken_off(claim: Claim, line: Scene) -> bool:
    """Whether a piece that is pinned takes the one that pins it."""
    if not isinstance(claim, tactic.Pins) or line.reply is None:
        return False
    return line.reply == chess.Move(claim.piece.square, claim.by.square)


def _aim_of(claim: Claim, line: Scene) -> Unit | None:
    """What a claim about the first move of a line says that it attacks."""
    match claim:
        case Feature(name="attacks_loose" | "outnumbers", pieces=(target, *_)):
            return target
        case merit.Threatens(target=Unit() as target):
            return target
        case outlook.Intends(step=made):
            idle = passed(line.after)
            return captured_by(idle, made.move) if idle is not None else None
    return None


def was_threatened(claim: Claim, scene: Scene) -> bool:
    """Whether what the refutation threatens to take could be won before the bad move, too."""
    return _is_threat_in(scene.before, claim, scene.other)


def _is_threat_in(board: chess.Board, claim: Claim, line: Scene) -> bool:
    """Whether what the first move of a line threatens to take could be won in a position, too."""
    if not isinstance(claim, (merit.Threatens, outlook.Intends)):
        return False
    took, gain = taken_if_passed(board, claim.step.move)
    return took is not None and took == _aim_of(claim, line) and gain >= force.LEAST


def is_guard_of_nothing(claim: Claim, scene: Scene) -> bool:
    """Whether the better move guards what the refutation of the one made does not take."""
    match claim:
        case Feature(name="guards", pieces=(target, *_)) | merit.Parries(target=Unit() as target):
            boards = (scene.after, scene.other.after) if scene.reply else ()
            there = any(board.is_attacked_by(not scene.mover, target.square) for board in boards)
            return bool(scene.reply) and not (there and _takes(scene.other, target))
    return False


def falls_anyway(claim: Claim, scene: Scene) -> bool:
    """Whether the pawn that the refutation wins is taken after the better move, too, and no more.

    The side that takes it ends with as much then.
    """
    took = scene.other.captured
    if claim not in ONE_PAWN or took is None or not falls_too(took, scene):
        return False
    return not ends_apart(scene.other, scene.instead.other)


def is_too_small(claim: Claim, scene: Scene) -> bool:
    """Whether it is of a pawn, and the move costs more than any pawn."""
    pawns_decide = phase(scene.before) == "endgame" and not scene.before.queens
    if pawns_decide or not (costs_much(scene, PIECE) or costs_a_piece(scene)):
        return False
    passed_pawn = kind_of(claim) in ("PassedPawn", "LeavesPassed")
    return is_of_one_pawn(claim) or is_of_a_pawn(claim) or passed_pawn


def taken(line: Scene, scene: Scene, small: bool = False) -> tuple[Claim, ...]:
    """What a move of a line takes, the answer does not make up for, and is not taken anyway.

    A pawn explains no more than a pawn costs, unless it may be `small`.

    Two moves later its side has more than before, or ends with more than by the other line.
    """
    back = captured_by(line.after, line.reply) if line.reply else None
    most = back.worth if back else 0
    answer = scene.instead.other if line is not scene.instead and scene.instead.reply else None
    takes = [
        claim
        for claim in aftermath.grabbed(line)
        if claim.target.worth > most and (answer is None or answer.captured != claim.target)
        if small or not is_too_small(claim, scene)
    ]
    if line is scene.instead:
        takes = [claim for claim in takes if _stays_won(line, claim.target)]
        takes = [claim for claim in takes if claim.target != scene.captured]
        gains = not scene.reply or ends_apart(line, _refuted(scene))
    else:
        gains = _soon(line, line.mover) > balance(scene.before, line.mover)
    return tuple(takes) if gains else ()
