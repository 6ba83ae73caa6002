"""The root: its own evaluation, the moves it may choose from, noise, plans and the last choice.

All of it runs once per search, not per playout. Random numbers are the context's own.
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.nets.evaluators.inline import logits_of, value_of
from kibitz.position.moves import generate
from kibitz.search.mcts.playout.expand import expand
from kibitz.search.mcts.playout.leaf import adjusted
from kibitz.search.mcts.rules.gumbel import completed_logits
from kibitz.search.mcts.rules.parameters import Gumbel, Rule
from kibitz.search.mcts.tree.context import position_at, random_unit
from kibitz.search.mcts.tree.nodes import (
    NONE,
    TreeMemory,
    cold_at,
    cold_words_at,
    edge_at,
    edge_words_at,
    node_at,
    prior_of,
    root_at,
)
from kibitz.search.options import Settings

PLANNED = 4096  # playouts planned by the Gumbel rule where the search's end is not known
TINY = 2.0**-1022
SMALLEST_UNIT = 2.0**-54  # keeps a random number away from 0


@kernel
def evaluate_root(
    tree: np.record,
    context: np.record,
    behaviour: np.record,
    evaluator: np.record,
    scratch: np.record,
) -> int:
    """First visit of the root; leaves its moves and logits in the context, returns their number."""
    position = position_at(context, 0)
    count = generate(position, context.moves[:])
    value, draw = value_of(evaluator, scratch, position)
    logits_of(evaluator, scratch, position, context.moves[:], count, context.logits)
    set_root_value(tree, adjusted(behaviour, position, value), draw)
    return count


@kernel
def set_root_value(tree: np.record, value: float, draw: float) -> None:
    """Record the root's own evaluation as its first visit."""
    root, above = node_at(tree, 0), edge_at(tree, 0)
    root.raw = value
    root.draw = draw
    root.square = value * value
    if above.visits == 0:
        above.value = -value
        above.visits = 1


@kernel
def expand_root(tree: np.record, context: np.record, behaviour: np.record, count: int) -> bool:
    """Give the root the first `count` moves of the context; False if the tree is full."""
    return expand(tree, context, behaviour, 0, count, behaviour.root_policy_temperature)


def keep_moves(context: np.record, count: int, allowed: frozenset[int]) -> int:
    """Drop the moves that are not among `allowed` (16-bit codes); returns how many stay."""
    kept = [index for index in range(count) if int(context.moves[index]) in allowed]
    context.moves[: len(kept)] = context.moves[kept]
    context.logits[: len(kept)] = context.logits[kept]
    return len(kept)


# --- noise ----------------------------------------------------------------------------------------


@kernel
def mix_noise(
    tree: np.record, context: np.record, epsilon: float, alpha: float, scaled: bool
) -> None:
    """Blend Dirichlet noise into the priors of the root's moves and sort them again.

    Called at every search, also on a tree kept from the last one: the noise of an earlier search of
    the same root goes first. An epsilon of 0 leaves the priors without noise. `scaled`: the
    concentration is alpha * 361 / moves, as in KataGo.
    """
    take_noise_out(tree)
    if epsilon == 0.0:
        return
    record, root = node_at(tree, 0), root_at(tree, 0)
    first, count = signed(record.first), signed(record.count)
    root.noisy = 1
    total = 0.0
    for index in range(count):
        root.clean[index] = edge_at(tree, first + index).prior
        noise = random_gamma(context, alpha * 361 / count if scaled else alpha)
        context.scores[index] = noise
        total += noise
    share = epsilon / max(total, TINY)
    for index in range(count):
        edge = edge_at(tree, first + index)
        mixed = (1.0 - epsilon) * prior_of(signed(edge.prior)) + share * context.scores[index]
        edge.prior = int(max(1.0 / 65536.0, mixed) * 65536.0 - 0.5)
    sort_root(tree)


@kernel
def take_noise_out(tree: np.record) -> None:
    """Give the moves of the root the priors they had before noise was mixed in, if it was."""
    record, root = node_at(tree, 0), root_at(tree, 0)
    if root.noisy == 0:
        return
    first = signed(record.first)
    for index in range(signed(record.count)):
        edge, clean = edge_at(tree, first + index), root.clean[index]
        # A lost move may have lost its prior since (LossPriorClearing).
        lost = cold_at(tree, first + index).proof < 0
        edge.prior = min(edge.prior, clean) if lost else clean
    root.noisy = 0
    sort_root(tree)


@kernel
def sort_root(tree: np.record) -> None:
    """Put the root's edges in order of their priors; from now on all of them count as tried.

    Only unvisited moves in order of prior may stand behind `tried`, and visited ones need not
    come first any more.
    """
    record, root = node_at(tree, 0), root_at(tree, 0)
    first, count = signed(record.first), signed(record.count)
    for end in range(first + 1, first + count):
        place = end
        while place > first and edge_at(tree, place - 1).prior < edge_at(tree, place).prior:
            swap_edges(tree, place - 1, place)
            index = place - first
            clean = root.clean[index]
            root.clean[index], root.clean[index - 1] = root.clean[index - 1], clean
            place -= 1
    for edge in range(first, first + count):
        child = signed(cold_at(tree, edge).child)
        if child != NONE:
            node_at(tree, child).parent_edge = edge
    record.tried = count


@kernel
def swap_edges(tree: np.record, first: int, second: int) -> None:
    """Swap two edges; the nodes below do not know of it yet."""
    left, right = edge_words_at(tree, first), edge_words_at(tree, second)
    left.value, right.value = right.value, left.value
    left.counts, right.counts = right.counts, left.counts
    left_cold, right_cold = cold_words_at(tree, first), cold_words_at(tree, second)
    left_cold.child_block, right_cold.child_block = right_cold.child_block, left_cold.child_block
    frozen = left_cold.frozen_move_proof
    left_cold.frozen_move_proof, right_cold.frozen_move_proof = right_cold.frozen_move_proof, frozen


@kernel
def random_gamma(context: np.record, shape: float) -> float:
    """A number of the gamma distribution of scale 1 (Marsaglia and Tsang's method)."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - random_unit(context)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        radius = math.sqrt(-2.0 * math.log(1.0 - random_unit(context)))
        normal = radius * math.cos(2.0 * math.pi * random_unit(context))
        cubed = (1.0 + c * normal) ** 3
        if cubed > 0.0:
            limit = 0.5 * normal * normal + d * (1.0 - cubed + math.log(cubed))
            if math.log(1.0 - random_unit(context)) < limit:
                return d * cubed * boost


# --- the Gumbel rule ------------------------------------------------------------------------------


@kernel
def plan_gumbel(
    tree: np.record, context: np.record, considered: int, scale: float, playouts: int
) -> None:
    """Draw the Gumbel noise of a fresh root's moves, times `scale`, and plan its playouts.

    Only the best `considered` moves by noise + log prior are ever visited.
    """
    record, root = node_at(tree, 0), root_at(tree, 0)
    first, count = signed(record.first), signed(record.count)
    for index in range(count):
        noise = 0.0
        if scale > 0.0:
            noise = -scale * math.log(-math.log(random_unit(context) + SMALLEST_UNIT))
        root.gumbel[index] = noise
        prior = prior_of(signed(edge_at(tree, first + index).prior))
        context.scores[index] = noise + math.log(prior)
    for _ in range(considered):
        best = -1
        for index in range(count):
            score = context.scores[index]
            if score > -np.inf and (best < 0 or score > context.scores[best]):
                best = index
        if best >= 0:
            context.scores[best] = -np.inf
    for index in range(count):
        if context.scores[index] > -np.inf:
            root.gumbel[index] = -np.inf
    plan_rounds(root, min(considered, count), playouts)
    record.tried = count


@kernel
def plan_rounds(root: np.record, considered: int, playouts: int) -> None:
    """Sequential halving: of each round the playouts before it and the moves that take part.

    All of the `considered` moves get the same number of visits, then the better half of them, and
    so on; two moves share what is left. Eight moves and 96 playouts: rounds of 8, 4 and 2 moves
    that begin after 0, 32 and 64 playouts.
    """
    halvings = max(1, math.ceil(math.log2(considered)))
    number, start = 0, 0
    while start < playouts:
        root.starts[number] = start
        root.survivors[number] = considered
        number += 1
        if considered <= 2:
            break
        start += max(1, playouts // (halvings * considered)) * considered
        considered = max(2, considered // 2)
    root.rounds = number
    root.starts[number] = playouts


@kernel
def gumbel_choice(tree: np.record, context: np.record, rule: np.record) -> int:
    """Of the most visited edges the best by Gumbel noise + logit + sigma(Q)."""
    completed_logits(rule, tree, 0, context.scores)
    record, root = node_at(tree, 0), root_at(tree, 0)
    first, most = signed(record.first), 0
    for index in range(signed(record.count)):
        most = max(most, signed(edge_at(tree, first + index).visits))
    best, highest = 0, -np.inf
    for index in range(signed(record.count)):
        score = context.scores[index] + root.gumbel[index]
        if signed(edge_at(tree, first + index).visits) == most and score > highest:
            best, highest = index, score
    return first + best


# --- before a search ------------------------------------------------------------------------------


def prepare_root(
    memory: TreeMemory, context: np.record, rule: Rule, settings: Settings, playouts: int | None
) -> None:
    """Mix noise into the root's priors and, with the Gumbel rule, plan its playouts.

    Where the search has another limit than their number (None), the first ones are planned.
    """
    epsilon = settings.noise_epsilon
    if epsilon or memory.root[0]["noisy"]:
        alpha, scaled = settings.noise_alpha, settings.noise_scaled
        mix_noise(memory.record, context, epsilon, alpha, scaled)
    if isinstance(rule, Gumbel):
        planned = PLANNED if playouts is None else playouts
        plan_gumbel(memory.record, context, rule.considered, rule.noise, planned)
