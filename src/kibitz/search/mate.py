"""The shortest mate of a position, or that there is none so short: mates in 1, in 2 and so on.

A search proves that a mate takes at most so many plies. Here every move is tried, depth first, so
that a mate which is found is the shortest one, and no mate means that there is none. The attacker's
moves are ordered by the number of replies that they leave, checks first; the defender's by what
refuted the attacker's last move at the same ply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from kibitz.jit.bits import bit, lowest, signed
from kibitz.jit.compile import called_kernel, kernel
from kibitz.jit.records import one_record
from kibitz.position.attacks import (
    BISHOP,
    KNIGHT,
    PAWN,
    QUEEN,
    ROOK,
    bishop_attacks,
    knight_attacks,
    pawn_attacks_up,
    rook_attacks,
)
from kibitz.position.board import Board
from kibitz.position.moves import (
    CASTLING,
    EN_PASSANT,
    MAX_MOVES,
    PROMOTION,
    count_legal,
    destination_of,
    generate,
    kind_of,
    origin_of,
)
from kibitz.position.notation import Move, absolute, legal_codes
from kibitz.position.outcome import (
    FIFTY_PLIES,
    has_legal_move,
    insufficient_material,
    search_repetition,
)
from kibitz.position.play import play
from kibitz.position.state import checkers, new_positions, piece_on

MOST_PLIES = 63  # of a mate that is looked for
NEXT, END = MAX_MOVES, MAX_MOVES + 1  # columns beside the moves: which is next, how many
QUIET = 32  # a move without check is tried as one with check and so many replies more
# What is known of a position of the line; LISTED is the root before its moves are in order.
OPEN, MATE, NO_MATE, LISTED = range(4)
TABLE_SIZE = 1 << 18

STATE = np.dtype(
    [
        ("limit", np.int64),  # plies within which to mate; odd
        ("ply", np.int64),  # of the position at work; the attacker moves at even ones
        ("verdict", np.int64),  # of that position
        ("nodes", np.int64),  # positions made
        ("budget", np.int64),  # and how many may be made
        ("history", np.int64),  # positions of the game before the root
        ("killers", np.uint16, MOST_PLIES + 1),  # the reply that refuted last, for every ply
        ("order", np.uint32, MAX_MOVES),
    ],
    align=True,
)


@kernel
def may_check(position: np.record, move: int) -> bool:
    """Whether a move gives check; castling and en passant always may."""
    kind = kind_of(move)
    if kind in (CASTLING, EN_PASSANT):
        return True
    king = lowest(position.kings & position.their)
    target = bit(destination_of(move))
    rest = position.own & ~bit(origin_of(move))
    occupied = rest | position.their | target
    straight, diagonal = rook_attacks(king, occupied), bishop_attacks(king, occupied)
    lines = straight & (position.rooks | position.queens)
    lines |= diagonal & (position.bishops | position.queens)
    if lines & rest:
        return True
    piece = piece_on(position, origin_of(move))
    if kind >= PROMOTION:
        piece = KNIGHT + kind - PROMOTION
    if piece == PAWN:
        return bool(pawn_attacks_up(target) & bit(king))
    if piece == KNIGHT:
        return bool(knight_attacks(king) & target)
    if piece in (ROOK, QUEEN) and straight & target:
        return True
    return bool(piece in (BISHOP, QUEEN) and diagonal & target)


@kernel
def _mates_at_once(
    state: np.record, position: np.record, after: np.record, moves: np.ndarray, count: int
) -> bool:
    """Whether one of the first `count` moves mates; only checks are played."""
    for place in range(count):
        if may_check(position, moves[place]):
            play(position, after, moves[place])
            state.nodes += 1
            if checkers(after) and not has_legal_move(after):
                return True
    return False


@called_kernel
def _order_attacks(
    state: np.record, position: np.record, after: np.record, moves: np.ndarray, count: int
) -> None:
    """The attacker's moves: checks and those with few replies first; stalemates are left out."""
    kept = 0
    for place in range(count):
        move = moves[place]
        play(position, after, move)
        state.nodes += 1
        replies, check = count_legal(after), checkers(after)
        if replies == 0 and not check:
            continue
        word = np.uint32((replies + (0 if check else QUIET)) << 16 | signed(move))
        at = kept
        while at > 0 and state.order[at - 1] > word:
            state.order[at] = state.order[at - 1]
            at -= 1
        state.order[at] = word
        kept += 1
    for place in range(kept):
        moves[place] = state.order[place] & np.uint32(0xFFFF)
    moves[NEXT], moves[END] = 0, kept


@kernel
def _order_replies(
    state: np.record, position: np.record, moves: np.ndarray, count: int, ply: int
) -> int:
    """The defender's moves, what refuted last first; MATE or NO_MATE if there is none."""
    moves[NEXT], moves[END] = 0, count
    for place in range(count):
        if moves[place] == state.killers[ply]:
            moves[place], moves[0] = moves[0], moves[place]
    if count == 0:
        return MATE if checkers(position) else NO_MATE
    return NO_MATE if ply == state.limit else OPEN


@kernel
def _is_draw(state: np.record, position: np.record, keys: np.ndarray) -> bool:
    """Whether the game is drawn here; only occurrences before the root count as repetitions.

    A line that repeats itself after the root is no shortest mate.
    """
    if insufficient_material(position):
        return True
    rule50 = signed(position.rule50)
    if rule50 >= FIFTY_PLIES and (has_legal_move(position) or not checkers(position)):
        return True
    if rule50 < state.ply + 4:
        return False
    return search_repetition(keys, state.history + state.ply, rule50, position.key, 0)


@called_kernel
def _enter(
    state: np.record,
    positions: np.ndarray,
    moves: np.ndarray,
    keys: np.ndarray,
    table: np.ndarray,
) -> int:
    """Begin with the position of the current ply: its verdict, or OPEN and its moves are listed."""
    ply, position = state.ply, positions[state.ply]
    left = state.limit - ply
    if _is_draw(state, position, keys):
        return NO_MATE
    if left > 1:
        entry = table[_place(position, left)]
        agrees = entry >> np.uint64(1) == _key(position, left) >> np.uint64(1)
        if agrees and signed(position.rule50) + left < FIFTY_PLIES:
            return MATE if entry & np.uint64(1) else NO_MATE
    listed, after = moves[ply], positions[ply + 1]
    count = generate(position, listed)
    if left == 1:
        return MATE if _mates_at_once(state, position, after, listed, count) else NO_MATE
    if ply % 2 == 1:
        return _order_replies(state, position, listed, count, ply)
    _order_attacks(state, position, after, listed, count)
    return OPEN


@kernel
def _key(position: np.record, left: int) -> np.uint64:
    """Key of a position together with the plies that are left."""
    return position.key ^ np.uint64(left) * np.uint64(0x9E37_79B9_7F4A_7C15)


@kernel
def _place(position: np.record, left: int) -> int:
    return signed(_key(position, left) >> np.uint64(20)) & (TABLE_SIZE - 1)


@kernel
def _remember(state: np.record, position: np.record, table: np.ndarray) -> None:
    """Write down the verdict of the current ply, unless the 50-move rule is near."""
    left = state.limit - state.ply
    if left > 1 and signed(position.rule50) + left < FIFTY_PLIES:
        key = _key(position, left) & ~np.uint64(1)
        table[_place(position, left)] = key | np.uint64(state.verdict == MATE)


@kernel
def search_mate(
    state: np.record,
    positions: np.ndarray,
    moves: np.ndarray,
    keys: np.ndarray,
    table: np.ndarray,
) -> int:
    """Search on until the root's verdict is known or the budget is used up (OPEN).

    positions is POSITION [plies], moves uint16 [plies, MAX_MOVES + 2], keys uint64 [history +
    plies] those of the game and then zeros, table uint64 [TABLE_SIZE]. The place of the move that
    mates is moves[0, NEXT] - 1. It begins with the root LISTED: moves[0, END] moves in any order.
    """
    if state.verdict == LISTED:
        _order_attacks(state, positions[0], positions[1], moves[0], signed(moves[0, END]))
        state.verdict = OPEN
    while state.nodes < state.budget:
        ply = state.ply
        attacking = ply % 2 == 0
        if state.verdict == OPEN:
            place = moves[ply, NEXT]
            if place == moves[ply, END]:
                state.verdict = NO_MATE if attacking else MATE
                continue
            moves[ply, NEXT] = place + 1
            play(positions[ply], positions[ply + 1], moves[ply, place])
            state.nodes += not attacking  # the attacker's moves counted when they were listed
            state.ply = ply + 1
            state.verdict = _enter(state, positions, moves, keys, table)
            continue
        _remember(state, positions[ply], table)
        if ply == 0:
            return signed(state.verdict)
        state.ply = ply - 1
        if attacking and state.verdict == NO_MATE:
            state.killers[ply - 1] = moves[ply - 1, moves[ply - 1, NEXT] - 1]
        elif attacking or state.verdict == NO_MATE:
            state.verdict = OPEN
    return OPEN


# --- the search from Python -----------------------------------------------------------------------


SLICE = 20_000  # positions between two checks whether to stop
MAX_HISTORY = 1024  # plies of the game whose keys repetitions are looked for in


class MateMemory(NamedTuple):
    """What `search_mate` works on."""

    state: Any
    positions: np.ndarray
    moves: np.ndarray
    keys: np.ndarray
    table: np.ndarray


def new_memory() -> MateMemory:
    """Memory for one search for mates."""
    return MateMemory(
        one_record(STATE),
        new_positions(MOST_PLIES + 2),
        np.zeros((MOST_PLIES + 2, MAX_MOVES + 2), np.uint16),
        np.zeros(MAX_HISTORY + MOST_PLIES + 2, np.uint64),
        np.zeros(TABLE_SIZE, np.uint64),
    )


class Mate(NamedTuple):
    """A mate that nothing shortens."""

    plies: int  # odd
    code: int  # the first move, 16 bits


class MateSearch:
    """Looks for mates of the board's position, where the moves `codes` (16 bits) may be made."""

    def __init__(self, board: Board, codes: Iterable[int]) -> None:
        self._memory = memory = new_memory()
        self._state, self._positions, self._moves, self._keys, _ = memory
        self.mate: Mate | None = None
        self.excluded = 0  # plies within which there is no mate; even
        self.stand_at(board, codes)

    @property
    def nodes(self) -> int:
        """Positions made so far."""
        return int(self._state.nodes)

    def stand_at(self, board: Board, codes: Iterable[int]) -> None:
        """Look for mates of another board's position from now on; the nodes are counted on."""
        line = board.positions()
        earlier = line["key"][-MAX_HISTORY:]
        self._keys[:] = 0
        self._keys[: len(earlier)] = earlier
        self._positions[0] = line[-1]
        self._board, self._codes = board, [*codes]
        self._state.history, self._state.limit = len(earlier) - 1, 0
        self.mate, self.excluded = None, 0

    def deepen(self, plies: int, budget: int, should_stop: Callable[[], bool]) -> bool:
        """Look for mates within 1, 3 and so on to `plies`; whether that question is answered.

        It ends when `budget` more positions have been made or `should_stop` says so, and goes on
        there when it is called again.
        """
        end = self.nodes + budget
        while self.mate is None and self.excluded < min(plies, MOST_PLIES):
            if self._state.limit <= self.excluded:
                self._begin(self.excluded + 1)
            verdict = self._go_on(end, should_stop)
            if verdict == OPEN:
                return False
            if verdict == MATE:
                code = int(self._moves[0, int(self._moves[0, NEXT]) - 1])
                self.mate = Mate(int(self._state.limit), code)
            else:
                self.excluded = int(self._state.limit) + 1
        return self.mate is not None or self.excluded >= plies

    def _begin(self, limit: int) -> None:
        """List the root's moves for a mate within `limit` plies."""
        state, moves = self._state, self._moves[0]
        state.limit, state.ply, state.verdict = limit, 0, LISTED
        moves[: len(self._codes)], moves[END] = self._codes, len(self._codes)

    def _go_on(self, end: int, should_stop: Callable[[], bool]) -> int:
        """Search for a mate of the current length: MATE, NO_MATE, or OPEN if it was ended."""
        state, verdict = self._state, OPEN
        while verdict == OPEN and self.nodes < end and not should_stop():
            state.budget = min(end, self.nodes + SLICE)
            verdict = search_mate(*self._memory)
        return int(verdict)

    def first_move(self, mate: Mate) -> Move:
        """The move that begins a mate of this position."""
        return absolute(self._board.position, mate.code)

    def line(self, budget: int, should_stop: Callable[[], bool]) -> tuple[Move, ...]:
        """The mate that was found, with the longest defence, as far as `budget` more positions go.

        The work on this root ends with it.
        """
        end, mate, board = self.nodes + budget, self.mate, self._board.copy()
        moves: list[Move] = []
        while mate is not None:
            moves.append(board.push(absolute(board.position, mate.code)))
            mate = self._longest_defence(board, mate.plies - 2, end, should_stop)
            moves += board.moves[-1:] if mate is not None else []
        return tuple(moves)

    def rest(self, plies: int, budget: int) -> tuple[Move, ...]:
        """The moves of a mate that takes so many plies from here on, whoever moves first.

        Nothing if `budget` more positions do not show it, or show one of another length.
        """
        end, board, moves = self.nodes + budget, self._board.copy(), list[Move]()
        if plies % 2 == 1:
            self.deepen(plies, budget, _never)
        elif self._longest_defence(board, plies - 1, end, _never) is not None:
            moves += board.moves[-1:]
        if self.mate is None or self.mate.plies + len(moves) != plies:
            return ()
        moves += self.line(max(0, end - self.nodes), _never)
        return tuple(moves) if len(moves) == plies else ()

    def _longest_defence(
        self, board: Board, plies: int, end: int, should_stop: Callable[[], bool]
    ) -> Mate | None:
        """Push a reply after which nothing mates sooner than in `plies`; how it mates then."""
        for reply in board.legal_moves:
            board.push(reply)
            self.stand_at(board, legal_codes(board.position).tolist())
            if not self.deepen(plies, end - self.nodes, should_stop):
                break
            if self.mate is not None and self.mate.plies == plies:
                return self.mate
            board.pop()
        return None


def _never() -> bool:
    return False
