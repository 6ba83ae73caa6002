"""Games without Python: alone with an inline evaluator, or in step with one that takes batches.

`play_on` plays a stretch of one game, search and all. `gather_all` brings every game of a thread to
a leaf, and `answer_all` goes on with what the evaluator said of these leaves.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.data.shard import NOT_A_VALUE, RANDOM_MOVE
from kibitz.jit.bits import popcount, signed
from kibitz.jit.compile import called_kernel, kernel
from kibitz.nets.encodings.leaves import Leaves, put_leaf
from kibitz.nets.encodings.planes import Sight
from kibitz.nets.evaluators.cache import exact_key_of, keep_all, probe_row
from kibitz.position.attacks import EMPTY
from kibitz.position.moves import generate
from kibitz.position.outcome import ONGOING
from kibitz.position.play import play
from kibitz.position.state import checkers, copy_position
from kibitz.search.alphabeta.constants import ODDS_SCALE
from kibitz.search.alphabeta.order import is_quiet
from kibitz.search.alphabeta.root import search_nodes
from kibitz.search.alphabeta.thread import (
    DECISIVE,
    MAX_HISTORY,
    NO_EVAL,
    Context,
    frame_at,
    position_at,
    root_at,
)
from kibitz.search.mcts.playout.gather import back_up_batch, gather
from kibitz.search.mcts.playout.leaf import adjusted
from kibitz.search.mcts.playout.playout import DONE, NO_ROOM, playouts
from kibitz.search.mcts.playout.root import evaluate_root, expand_root, set_root_value
from kibitz.search.mcts.tree.context import PAST, random_unit
from kibitz.search.mcts.tree.nodes import edge_at
from kibitz.zero.selfplay.config import SelfPlay
from kibitz.zero.selfplay.game import (
    UNBALANCED_START,
    context_at,
    control_at,
    game_at,
    line_at,
    paths_at,
    ply_at,
    tree_at,
)
from kibitz.zero.selfplay.moves import (
    FRESH,
    OVER,
    adjudicate,
    begin_move,
    finish_move,
    playouts_left,
    prepare,
    put_position,
    stop_if_calm,
    update_result,
)


class Rules(NamedTuple):
    """What holds for all games of a run."""

    terms: np.record  # how games are played
    rule: np.record  # of selection
    behaviour: np.record  # of the tree search


# --- alone ----------------------------------------------------------------------------------------


class GameSearch(NamedTuple):
    """A game, and the search of its next move."""

    game: np.record
    tree: np.record
    context: np.record
    control: np.record


class Inline(NamedTuple):
    """An inline evaluator and its scratch memory."""

    evaluator: np.record
    scratch: np.record


@kernel
def _search(rules: Rules, search: GameSearch, inline: Inline) -> int:
    """Play out until the search of this move is done, or NO_ROOM is left in the tree."""
    terms, rule, behaviour = rules
    game, tree, context, control = search
    while True:
        left = playouts_left(game, tree)
        if left == 0:
            return DONE
        size = min(left, terms.kl_interval) if terms.kl_gain > 0.0 else left
        control.tickets = size
        control.later = left - size
        control.budget = left
        control.stop = 0
        control.full = 0
        records = (rule, tree, context, behaviour, inline.evaluator, inline.scratch, control)
        if playouts(*records) == NO_ROOM:
            return NO_ROOM
        if terms.kl_gain > 0.0:
            stop_if_calm(terms, game, tree)


@kernel
def play_on(rules: Rules, search: GameSearch, inline: Inline, moves: int) -> int:
    """Play at most `moves` moves of a game: DONE, or NO_ROOM if the tree must be made smaller.

    Called again it goes on where it was, in the middle of a search, too.
    """
    terms, rule, behaviour = rules
    game, tree, context, _control = search
    for _ in range(moves):
        if game.searching == 0:
            begun = begin_move(terms, game, tree, context)
            if begun == OVER:
                return DONE
            if begun == FRESH:
                count = evaluate_root(tree, context, behaviour, inline.evaluator, inline.scratch)
                expand_root(tree, context, behaviour, count)
            prepare(terms, rule, game, tree, context)
        if _search(rules, search, inline) == NO_ROOM:
            return NO_ROOM
        finish_move(terms, rule, game, tree, context)
    return DONE


# --- in step --------------------------------------------------------------------------------------

NOTHING, ROOT, LEAF, NO_GAME = range(4)  # what the game of a seat waits for
KNOWN = -1  # in place of a row: the cache has the evaluation


class LeafBatch(NamedTuple):
    """A batch for the evaluator, what it says of it, and the cache that is looked at before."""

    leaves: Leaves
    keys: np.ndarray  # uint64 [B], of the cache
    wdl: np.ndarray  # float32 [B, 3]
    logits: np.ndarray  # float32, as flat as leaves.moves
    cache: np.record
    sees: Sight  # of the evaluator


class Seats(NamedTuple):
    """Where games and their trees are."""

    records: np.ndarray  # SEAT [games * trees]
    lines: np.ndarray  # POSITION [games * trees, LINE], the positions before each root


class SeatedGame(NamedTuple):
    """A game, and the seat and line of the tree of the side to move."""

    game: np.record
    seat: np.record
    line: np.ndarray


@kernel
def gather_all(rules: Rules, seats: Seats, batch: LeafBatch, filled: int) -> tuple[int, int]:
    """Play every game on to a leaf that is not in the cache: rows filled, seats that need help.

    A game needs help when it is over or a tree of it is full; `filled` rows of the batch are
    filled already.
    """
    needy = 0
    for first in range(0, seats.records.shape[0], rules.terms.trees):
        game = game_at(seats.records[first], 0)
        if game.waits == NOTHING:
            filled = _play_to_leaf(rules, game, seats, first, batch, filled)
            needy += game.waits == NOTHING
    return filled, needy


@kernel
def _play_to_leaf(
    rules: Rules, game: np.record, seats: Seats, first: int, batch: LeafBatch, filled: int
) -> int:
    """Play a game on to such a leaf, or until it needs help; how many rows are filled then."""
    while game.end == ONGOING:
        index = first + signed(game.ply) % rules.terms.trees
        seat = seats.records[index]
        if control_at(seat, 0).full:
            break
        seated = SeatedGame(game, seat, seats.lines[index])
        if game.searching == 0:
            waits = _begin(rules, seated, batch.leaves, filled)
        else:
            waits = _go_on(rules, seated, batch.leaves, filled)
        if waits == NOTHING:
            continue
        game.waits = waits
        game.row = _row_of(batch, filled)
        if game.row != KNOWN:
            return max(filled, signed(game.row) + 1)
        _take_evaluation(rules, game, seat, batch, filled)
    return filled


@kernel
def _begin(rules: Rules, seated: SeatedGame, leaves: Leaves, row: int) -> int:
    """Begin a move: whether its ROOT waits, now in a row of the leaves."""
    game, seat, line = seated
    tree, context = tree_at(seat, 0), context_at(seat, 0)
    begun = begin_move(rules.terms, game, tree, context)
    if begun == OVER:
        return NOTHING
    seat.past = _put_past(game, line)
    if begun == FRESH:
        put_leaf(leaves, row, line[PAST - seat.past :], signed(seat.past))
        return ROOT
    _prepare(rules, game, seat)
    return NOTHING


@kernel
def _put_past(game: np.record, line: np.ndarray) -> int:
    """Copy the positions before the root, as encodings with history see them; how many."""
    ply = signed(game.ply)
    past = min(PAST, ply)
    for back in range(1, past + 1):
        copy_position(line_at(game, ply - back), line[PAST - back])
    return past


@kernel
def _prepare(rules: Rules, game: np.record, seat: np.record) -> None:
    """Decide how long the root is searched, and begin."""
    tree, control = tree_at(seat, 0), control_at(seat, 0)
    prepare(rules.terms, rules.rule, game, tree, context_at(seat, 0))
    control.budget = playouts_left(game, tree)
    control.stop = 0
    control.full = 0


@kernel
def _go_on(rules: Rules, seated: SeatedGame, leaves: Leaves, row: int) -> int:
    """Search on, or finish the move: whether a LEAF waits, now in a row of the leaves."""
    terms, rule, behaviour = rules
    game, seat, line = seated
    tree, context, control = tree_at(seat, 0), context_at(seat, 0), control_at(seat, 0)
    visits = signed(edge_at(tree, 0).visits)
    if terms.kl_gain > 0.0 and visits >= game.due:
        stop_if_calm(terms, game, tree)
        game.due = visits + terms.kl_interval
    left = playouts_left(game, tree)
    if left == 0:
        finish_move(terms, rule, game, tree, context)
        return NOTHING
    size = min(left, signed(game.due) - visits) if terms.kl_gain > 0.0 else left
    control.later = left - size
    paths, past = paths_at(seat, 0), signed(seat.past)
    paths.first = row
    end = gather(rule, tree, context, behaviour, line, past, paths, leaves, 1, size, control)
    control.full = end == NO_ROOM
    return LEAF if paths.filled else NOTHING


@kernel
def _row_of(batch: LeafBatch, row: int) -> int:
    """Where the leaf in a row is evaluated: KNOWN, the row of an equal one, or its own."""
    key = exact_key_of(batch.leaves, batch.sees, row)
    if probe_row(batch.cache, key, batch.leaves.offsets, row, batch.wdl, batch.logits):
        return KNOWN
    batch.keys[row] = key
    for earlier in range(row):
        if batch.keys[earlier] == key:
            return earlier
    return row


@called_kernel
def _take_evaluation(
    rules: Rules, game: np.record, seat: np.record, batch: LeafBatch, row: int
) -> None:
    """Give a game the evaluation that it waits for."""
    behaviour = rules.behaviour
    tree, context, leaves = tree_at(seat, 0), context_at(seat, 0), batch.leaves
    if game.waits == ROOT:
        start, count = leaves.offsets[row], leaves.offsets[row + 1] - leaves.offsets[row]
        for index in range(count):
            context.moves[index] = leaves.moves[start + index]
            context.logits[index] = batch.logits[start + index]
        value = float(batch.wdl[row, 0] - batch.wdl[row, 2])
        value = adjusted(behaviour, leaves.positions[row, 0], value)
        set_root_value(tree, value, float(batch.wdl[row, 1]))
        expand_root(tree, context, behaviour, count)
        _prepare(rules, game, seat)
    else:
        paths = paths_at(seat, 0)
        paths.first = row
        has_room = back_up_batch(tree, context, behaviour, paths, leaves, batch.wdl, batch.logits)
        control_at(seat, 0).full = not has_room
    game.waits = NOTHING


@kernel
def answer_all(rules: Rules, seats: Seats, batch: LeafBatch, filled: int) -> None:
    """Keep the evaluations of the filled rows, and give them to the games that wait for them."""
    offsets = batch.leaves.offsets[: filled + 1]
    keep_all(batch.cache, batch.keys[:filled], offsets, batch.wdl, batch.logits)
    trees = rules.terms.trees
    for first in range(0, seats.records.shape[0], trees):
        game = game_at(seats.records[first], 0)
        if game.waits == ROOT or game.waits == LEAF:
            seat = seats.records[first + signed(game.ply) % trees]
            _take_evaluation(rules, game, seat, batch, signed(game.row))


# --- by alpha beta --------------------------------------------------------------------------------
#
# Games by alpha-beta at fixed nodes, whole games in one kernel.
#
# The best move is played and is the policy to learn; a random one that is played in its place is
# not. The search's score is the value to learn unless it is a mate or, where that is not asked for
# (`noisy`), the position is in check or the best move captures or promotes: there a static
# evaluation is not what a search would say (NOT_A_VALUE).


class AlphaBetaTerms(NamedTuple):
    """The numbers of SelfPlay that these kernels need."""

    nodes: int
    most_nodes: int
    first_value: float
    noisy: bool
    most_plies: int
    resign: float
    resign_plies: int
    draw: float
    draw_plies: int
    draw_from: int
    tablebase_pieces: int  # the most that tables know; 0: there are none


def alphabeta_terms(settings: SelfPlay, tablebase_pieces: int) -> AlphaBetaTerms:
    """What the kernels are told."""
    same = {
        name: getattr(settings, name)
        for name in AlphaBetaTerms._fields
        if name not in ("most_nodes", "tablebase_pieces")
    }
    most = round(settings.nodes * settings.most_nodes)
    return AlphaBetaTerms(**same, most_nodes=most, tablebase_pieces=tablebase_pieces)


@kernel
def play_by_alphabeta(terms: np.record, game: np.record, context: Context, moves: int) -> bool:
    """Play at most `moves` moves of a game; True, and the game waits, where tables may know it."""
    for _ in range(moves):
        root = position_at(context.thread, 0)
        put_position(game, context.thread, root, MAX_HISTORY)
        update_result(terms, game, context.thread, root)
        if game.end != ONGOING:
            return False
        number = signed(game.ply)
        position = line_at(game, number)
        score, _ = search_nodes(context, signed(terms.nodes), signed(terms.most_nodes))
        game.playouts += context.thread.nodes
        value = math.tanh(score / (2.0 * ODDS_SCALE))
        if number == 0 and abs(value) > terms.first_value:
            game.end = UNBALANCED_START
            return False
        _keep_ply(terms, game, context.thread, score, value)
        _stray(game, context, position)
        after = line_at(game, number + 1)
        play(position, after, ply_at(game, number).move)
        game.ply = number + 1
        adjudicate(terms, game, number, signed(position.side), value)
        if game.end == ONGOING and after.rule50 == 0:
            pieces = popcount(after.own | after.their)
            if after.castling == EMPTY and pieces <= terms.tablebase_pieces:
                return True
    return False


@kernel
def _keep_ply(
    terms: np.record, game: np.record, thread: np.record, score: int, value: float
) -> None:
    """Write the best move, the value and what is not learnt of it."""
    position, root, raw_eval = (
        position_at(thread, 0),
        root_at(thread, 0),
        frame_at(thread, 0).raw_eval,
    )
    ply = ply_at(game, signed(game.ply))
    move = signed(root.move)
    ply.move = move
    ply.value = value
    ply.draw = math.nan
    ply.root_value = math.nan
    noisy = not terms.noisy and (checkers(position) != EMPTY or not is_quiet(position, move))
    if checkers(position) == EMPTY and raw_eval != NO_EVAL:
        ply.root_value = math.tanh(raw_eval / (2.0 * ODDS_SCALE))
    ply.flags = NOT_A_VALUE if noisy or abs(score) >= DECISIVE else 0
    ply.visits_end = game.visits_used


@kernel
def _stray(game: np.record, context: Context, position: np.record) -> None:
    """Play a random move in place of the best one, for the game's share of moves.

    So games come to positions as a search sees them, in which something hangs.
    """
    if game.random_share > 0.0 and random_unit(game) < game.random_share:
        moves = frame_at(context.thread, 0).moves
        count = generate(position, moves)
        ply = ply_at(game, signed(game.ply))
        ply.move = moves[int(random_unit(game) * count)]
        ply.flags |= RANDOM_MOVE
