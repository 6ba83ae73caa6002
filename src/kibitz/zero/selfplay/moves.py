"""One move of a game, compiled: its end, the root, when to stop searching, what is chosen and kept.

`begin_move` comes first, then `prepare` with the evaluated root, the playouts and `finish_move`.

The kernels of loop.py call them, for games that are played alone and for games in step.
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.data.shard import NOT_A_POLICY
from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.jit.records import kernel_by_class
from kibitz.position.moves import generate
from kibitz.position.outcome import CHECKMATE, ONGOING, outcome, terminal
from kibitz.position.play import play
from kibitz.position.state import copy_position
from kibitz.search.mcts.playout.root import gumbel_choice, mix_noise, plan_gumbel
from kibitz.search.mcts.tree.context import MAX_HISTORY, position_at, random_unit
from kibitz.search.mcts.tree.memory import compact
from kibitz.search.mcts.tree.nodes import (
    EXPANDED,
    NONE,
    clear,
    cold_at,
    edge_at,
    edges_of,
    node_at,
)
from kibitz.search.proof import DRAW, is_settled, rank_of
from kibitz.zero.selfplay.game import LEVEL, PLY_LIMIT, RESIGNED, line_at, ply_at, visit_at
from kibitz.zero.selfplay.targets import root_counts, searched_value

OVER, KEPT, FRESH = range(3)  # what a move begins with: the game's end, a known root, a new one

# --- the beginning of a move ----------------------------------------------------------------------


@kernel
def random_plies(game: np.record, room: np.record, count: int) -> bool:
    """Replace the start by the position after random moves; False if the game would be over."""
    start, after = line_at(game, 0), line_at(game, 1)
    for _ in range(count):
        moves = generate(start, room.moves)
        if moves == 0:
            return False
        play(start, after, room.moves[int(random_unit(game) * moves)])
        copy_position(after, start)
    return bool(terminal(start) == ONGOING)


@kernel
def begin_move(terms: np.record, game: np.record, tree: np.record, context: np.record) -> int:
    """Go to the root: OVER, or whether the tree has KEPT the position or it is FRESH."""
    _stand(game, context)
    if game.end == ONGOING:
        update_result(terms, game, context, position_at(context, 0))
    if game.end != ONGOING:
        return OVER
    which = game.ply % terms.trees
    kept = terms.reuse != 0 and _keep_line(game, tree, signed(game.roots[which]))
    game.roots[which] = game.ply
    game.searching = 1
    if not kept:
        clear(tree)
    return KEPT if kept else FRESH


@kernel
def _stand(game: np.record, context: np.record) -> None:
    """Give the context the position and the keys before it, and nothing searched."""
    put_position(game, context, position_at(context, 0), MAX_HISTORY)
    context.played = 0
    context.budget_used = 0.0
    context.root_visits = 0.0


@kernel
def put_position(game: np.record, searcher: np.record, root: np.record, most: int) -> None:
    """Copy the position to the root, and as many keys as it can be repeated from, at most `most`.

    `searcher` is a record with `keys` and `history`: a context of the tree, or a thread.
    """
    ply = signed(game.ply)
    copy_position(line_at(game, ply), root)
    reach = min(signed(root.rule50), min(ply, most))
    for place in range(reach):
        searcher.keys[place] = line_at(game, ply - reach + place).key
    searcher.history = reach


@kernel
def update_result(terms: np.record, game: np.record, searcher: np.record, root: np.record) -> None:
    """Look whether the rules or the limit of plies end the game; after `put_position`."""
    game.end = outcome(root, searcher.keys, signed(searcher.history), True)
    game.result = 0
    if game.end == CHECKMATE:
        game.result = 1 if root.side else -1
    if game.end == ONGOING and game.ply >= terms.most_plies:
        game.end = PLY_LIMIT


@kernel
def _keep_line(game: np.record, tree: np.record, ply: int) -> bool:
    """Make the node that the moves since `ply` lead to the root; False if the tree lacks it."""
    if ply < 0:
        return False
    node = 0
    while ply < game.ply:
        node = _child_by(tree, node, signed(ply_at(game, ply).move))
        if node == NONE:
            return False
        ply += 1
    if node_at(tree, node).state != EXPANDED:
        return False
    if node != 0:
        compact(tree, node, 0)
    return True


@kernel
def _child_by(tree: np.record, node: int, move: int) -> int:
    """The node that a move leads to, NONE if there is none."""
    record = node_at(tree, node)
    if record.state != EXPANDED:
        return NONE
    first = signed(record.first)
    for edge in range(first, first + edges_of(tree, node)):
        if cold_at(tree, edge).move == move:
            return signed(cold_at(tree, edge).child)
    return NONE


# --- the search -----------------------------------------------------------------------------------


@kernel
def _plan(
    rule: np.record, terms: np.record, tree: np.record, context: np.record, full: int
) -> None:
    """Plan the halving; a search that teaches nothing plays its best, without noise."""
    count = terms.playouts if full else terms.fast_playouts
    plan_gumbel(tree, context, rule.considered, rule.noise if full else 0.0, count)


@kernel
def _plan_nothing(
    rule: np.record, terms: np.record, tree: np.record, context: np.record, full: int
) -> None:
    """Plan nothing: other rules choose anew at every playout."""


plan = kernel_by_class({"Gumbel": _plan}, _plan_nothing)


@kernel
def prepare(
    terms: np.record, rule: np.record, game: np.record, tree: np.record, context: np.record
) -> None:
    """Decide how long an expanded root is searched, and mix its noise."""
    game.full = terms.full >= 1.0 or random_unit(game) < terms.full
    noise = terms.noise if game.full else 0.0
    mix_noise(tree, context, noise, terms.noise_alpha, terms.noise_scaled != 0)
    plan(rule, terms, tree, context, signed(game.full))
    game.target = 1 + (terms.playouts if game.full else terms.fast_playouts)
    game.known = signed(edge_at(tree, 0).visits)
    game.due = game.known + terms.kl_interval
    first = signed(node_at(tree, 0).first)
    for index in range(signed(node_at(tree, 0).count)):
        game.earlier[index] = edge_at(tree, first + index).visits


@kernel
def playouts_left(game: np.record, tree: np.record) -> int:
    """Playouts until the search is done; none once the root is proved."""
    if is_settled(signed(cold_at(tree, 0).proof)):
        return 0
    return max(0, signed(game.target) - signed(edge_at(tree, 0).visits))


@kernel
def stop_if_calm(terms: np.record, game: np.record, tree: np.record) -> None:
    """End the search if the last playouts have hardly changed the distribution of visits.

    lc0's measure: the divergence of the distribution now from that of the last check, for each
    playout in between, is below `kl_gain`.
    """
    record = node_at(tree, 0)
    first, count = signed(record.first), signed(record.count)
    before, now = 0, 0
    for index in range(count):
        before += signed(game.earlier[index])
        now += signed(edge_at(tree, first + index).visits)
    gain = 0.0
    for index in range(count):
        old = signed(game.earlier[index])
        new = signed(edge_at(tree, first + index).visits)
        if old > 0 and before > 0:
            gain += old / before * math.log((old / before) / (new / now))
        game.earlier[index] = new
    if before > 0 and now > before and gain / (now - before) < terms.kl_gain:
        game.target = 0


# --- the choice -----------------------------------------------------------------------------------


@kernel
def _rank(tree: np.record, edge: int) -> int:
    """How good the proof of a move is: above 0 if it wins, below if it loses."""
    proof = signed(cold_at(tree, edge).proof)
    return rank_of(proof) if is_settled(proof) and proof != DRAW else 0


@kernel
def _best_of_root(tree: np.record) -> int:
    """The best move by proof, visits, value, prior; of equals the first."""
    first = signed(node_at(tree, 0).first)
    best = first
    for edge in range(first + 1, first + signed(node_at(tree, 0).count)):
        candidate, top = edge_at(tree, edge), edge_at(tree, best)
        rank, highest = _rank(tree, edge), _rank(tree, best)
        if rank != highest:
            better = rank > highest
        elif candidate.visits != top.visits:
            better = candidate.visits > top.visits
        elif candidate.visits > 0 and candidate.value != top.value:
            better = candidate.value > top.value
        else:
            better = candidate.prior > top.prior
        if better:
            best = edge
    return best


@kernel
def temperature_at_ply(terms: np.record, ply: int) -> float:
    """Temperature at which the move of a ply is drawn."""
    if ply < terms.temperature_plies:
        return float(terms.temperature)
    left = 0.0
    if terms.temperature_decay > 0:
        left = 1.0 - (ply - terms.temperature_plies) / terms.temperature_decay
    return float(max(terms.temperature_end, terms.temperature * left))


@kernel
def _weight(terms: np.record, tree: np.record, edge: int, best: int, temperature: float) -> float:
    """Of a move in the draw: ((N + offset) / most)^(1 / temperature), 0 if it is out."""
    candidate, top = edge_at(tree, edge), edge_at(tree, best)
    tried = signed(candidate.visits) + terms.visit_offset
    most = signed(top.visits) + terms.visit_offset
    if (
        _rank(tree, edge) != _rank(tree, best)
        or tried <= 0.0
        or most <= 0.0
        or candidate.visits == 0
    ):
        return 0.0
    if candidate.value < top.value - 2.0 * terms.value_cutoff:
        return 0.0
    return float((tried / most) ** (1.0 / temperature))


@kernel
def _choose_by_visits(
    rule: np.record, terms: np.record, game: np.record, tree: np.record, context: np.record
) -> int:
    """The best move or, at a temperature, one drawn by visits from those of equal proof."""
    best = _best_of_root(tree)
    temperature = temperature_at_ply(terms, signed(game.ply))
    if temperature <= 0.0 or edge_at(tree, best).visits == 0:
        return best
    first = signed(node_at(tree, 0).first)
    end = first + signed(node_at(tree, 0).count)
    total = 0.0
    for edge in range(first, end):
        total += _weight(terms, tree, edge, best, temperature)
    left = random_unit(game) * total
    chosen = best
    for edge in range(first, end):
        weight = _weight(terms, tree, edge, best, temperature)
        if weight > 0.0:
            chosen = edge
            left -= weight
            if left < 0.0:
                break
    return chosen


@kernel
def _choose_by_gumbel(
    rule: np.record, terms: np.record, game: np.record, tree: np.record, context: np.record
) -> int:
    """The Gumbel rule's own choice, unless proofs say more."""
    best = _best_of_root(tree)
    proof = signed(cold_at(tree, best).proof)
    return best if is_settled(proof) else gumbel_choice(tree, context, rule)


choose = kernel_by_class({"Gumbel": _choose_by_gumbel}, _choose_by_visits)

# --- the end of a move ----------------------------------------------------------------------------


@kernel
def finish_move(
    terms: np.record, rule: np.record, game: np.record, tree: np.record, context: np.record
) -> None:
    """Keep what the search has found, play a move, and see whether the game is to go on."""
    number = signed(game.ply)
    ply, position = ply_at(game, number), line_at(game, number)
    value, draw = searched_value(tree)
    ply.value = value
    ply.draw = draw
    ply.root_value = node_at(tree, 0).raw
    ply.flags = 0 if game.full else NOT_A_POLICY
    game.playouts += signed(edge_at(tree, 0).visits) - game.known
    edge = choose(rule, terms, game, tree, context)
    ply.move = cold_at(tree, edge).move
    if game.full:
        _keep_policy(rule, game, tree, context)
    ply.visits_end = game.visits_used
    play(position, line_at(game, number + 1), ply.move)
    game.ply = number + 1
    game.searching = 0
    adjudicate(terms, game, number, signed(position.side), value)


@kernel
def _keep_policy(rule: np.record, game: np.record, tree: np.record, context: np.record) -> None:
    """Write the policy to learn: moves with counts."""
    first, used = signed(node_at(tree, 0).first), signed(game.visits_used)
    root_counts(rule, tree, context.scores, context.order)
    for index in range(signed(node_at(tree, 0).count)):
        if context.order[index] > 0:
            visit = visit_at(game, used)
            visit.move = cold_at(tree, first + index).move
            visit.count = context.order[index]
            used += 1
    game.visits_used = used


@kernel
def adjudicate(terms: np.record, game: np.record, ply: int, side: int, value: float) -> None:
    """Count how long a side has been lost, or both level, and end the game where that is agreed."""
    lost = terms.resign > 0.0 and value < -terms.resign
    game.lost[side] = game.lost[side] + 1 if lost else 0
    if game.lost[side] >= terms.resign_plies and game.given_up == 0:
        game.given_up = 1 + side
        if not game.played_out:
            game.end = RESIGNED
            game.result = 1 if side else -1
    level = terms.draw > 0.0 and abs(value) <= terms.draw
    game.level = game.level + 1 if level else 0
    if game.end == ONGOING and game.level >= terms.draw_plies and ply >= terms.draw_from:
        game.end = LEVEL
