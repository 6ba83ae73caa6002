"""The root: its own evaluation, the moves it may choose from, noise and plans.

Kernels first, then the Python that prepares a search: both run once per search, not per playout.
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.evaluator.inline import logits_of, value_of
from kibitz.kernel.compile import kernel
from kibitz.kernel.records import as_record
from kibitz.position.moves import generate
from kibitz.search.mcts.playout.expand import expand
from kibitz.search.mcts.playout.leaf import adjusted
from kibitz.search.mcts.rules.from_settings import noise_concentration
from kibitz.search.mcts.rules.gumbel import completed_logits
from kibitz.search.mcts.rules.parameters import Gumbel, Rule
from kibitz.search.mcts.tree.context import position_at
from kibitz.search.mcts.tree.nodes import NONE, TreeMemory, block_of, edge_at, node_at
from kibitz.search.params import Settings

PLANNED = 4096  # playouts planned by the Gumbel rule where the search's end is not known


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
    count = generate(position, context.moves)
    value, draw = value_of(evaluator, scratch, position)
    logits_of(evaluator, scratch, position, context.moves, count, context.logits)
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


def mix_noise(memory: TreeMemory, settings: Settings, generator: np.random.Generator) -> None:
    """Blend Dirichlet noise into the priors of the root's moves and sort them again.

    Called at every search, also on a tree kept from the last one: the noise of an earlier search of
    the same root goes first. An epsilon of 0 leaves the priors without noise.
    """
    epsilon = settings.noise_epsilon
    take_noise_out(memory)
    if epsilon == 0.0:
        return
    edges = memory.edges[block_of(memory)]
    memory.root[0]["noisy"], memory.root[0]["clean"][: len(edges)] = 1, edges["prior"]
    concentration = noise_concentration(settings, len(edges))
    noise = generator.standard_gamma(concentration, len(edges))
    noise /= max(noise.sum(), np.finfo(float).tiny)
    priors = (edges["prior"] + 1.0) / 65536.0
    mixed = (1.0 - epsilon) * priors + epsilon * noise
    edges["prior"] = np.floor(np.maximum(1 / 65536, mixed) * 65536 + 0.5 - 1)
    reorder(memory, np.argsort(-edges["prior"].astype(np.int64), kind="stable"))


def take_noise_out(memory: TreeMemory) -> None:
    """Give the moves of the root the priors they had before noise was mixed in, if it was."""
    root, block = memory.root[0], block_of(memory)
    if not root["noisy"]:
        return
    edges, clean = memory.edges[block], root["clean"][: block.stop - block.start]
    lost = memory.cold["proof"][block] < 0  # may have lost its prior since (LossPriorClearing)
    edges["prior"] = np.where(lost, np.minimum(edges["prior"], clean), clean)
    root["noisy"] = 0
    reorder(memory, np.argsort(-edges["prior"].astype(np.int64), kind="stable"))


def reorder(memory: TreeMemory, order: np.ndarray) -> None:
    """Put the root's edges in a new order; from now on all of them count as opened.

    Only unvisited moves in order of prior may stand behind `opened`, and visited ones need not
    come first any more.
    """
    block = block_of(memory)
    memory.edges[block] = memory.edges[block][order]
    memory.cold[block] = memory.cold[block][order]
    clean = memory.root[0]["clean"]
    clean[: len(order)] = clean[: len(order)][order]
    children = memory.cold["child"][block]
    visited = children != NONE
    memory.nodes["parent_edge"][children[visited]] = np.arange(
        block.start, block.stop, dtype=np.uint32
    )[visited]
    memory.nodes["opened"][0] = block.stop - block.start


def halving_rounds(considered: int, playouts: int) -> list[tuple[int, int]]:
    """Sequential halving: for each round the playouts before it and the moves that take part.

    All of the `considered` moves get the same number of visits, then the better half of them, and
    so on; two moves share what is left.

    >>> halving_rounds(8, 96)
    [(0, 8), (32, 4), (64, 2)]
    """
    halvings = math.ceil(math.log2(considered)) if considered > 1 else 1
    rounds, start = [], 0
    while start < playouts:
        rounds.append((start, considered))
        if considered <= 2:
            break
        start += max(1, playouts // (halvings * considered)) * considered
        considered = max(2, considered // 2)
    return rounds


def plan_gumbel(
    memory: TreeMemory, rule: Gumbel, playouts: int | None, generator: np.random.Generator
) -> None:
    """Draw the Gumbel noise of the root's moves and plan the playouts of a fresh root.

    Where the search has another limit than their number (None), the first ones are planned.
    """
    block, root = block_of(memory), memory.root[0]
    count = block.stop - block.start
    noise = rule.noise * generator.gumbel(size=count)
    logits = np.log((memory.edges["prior"][block] + 1.0) / 65536.0)
    order = np.argsort(-(noise + logits), kind="stable")
    noise[order[rule.considered :]] = -np.inf  # such a move is never visited, whatever it is worth
    root["gumbel"][:count] = noise
    playouts = PLANNED if playouts is None else playouts
    rounds = halving_rounds(min(rule.considered, count), playouts)
    root["rounds"] = len(rounds)
    root["starts"][: len(rounds) + 1] = [start for start, _ in rounds] + [playouts]
    root["survivors"][: len(rounds)] = [survivors for _, survivors in rounds]
    memory.nodes["opened"][0] = count


def prepare_root(
    memory: TreeMemory,
    rule: Rule,
    settings: Settings,
    playouts: int | None,
    generator: np.random.Generator,
) -> None:
    """Mix noise into the root's priors and, with the Gumbel rule, plan its playouts."""
    mix_noise(memory, settings, generator)
    if isinstance(rule, Gumbel):
        plan_gumbel(memory, rule, playouts, generator)


def gumbel_choice(memory: TreeMemory, context: np.record, rule: Gumbel) -> int:
    """Of the most visited edges the best by Gumbel noise + logit + sigma(Q)."""
    completed_logits(as_record(rule), memory.record, 0, context.scores)
    block = block_of(memory)
    count, visits = block.stop - block.start, memory.edges["visits"][block]
    scores = context.scores[:count] + memory.root[0]["gumbel"][:count]
    return block.start + int(np.where(visits == visits.max(), scores, -np.inf).argmax())
