"""How fast the search is, and signatures of what it does; for `kibitz bench search`.

The signature changes if and only if a search of fixed positions with fixed nodes on one thread
visits anything else: a change that is meant to leave the search as it is must keep it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import NamedTuple

import numpy as np

from kibitz.nets.discover import resolve
from kibitz.nets.evaluators.batched import BatchedEvaluator
from kibitz.nets.evaluators.cache import CachedEvaluator, PredictionCache
from kibitz.nets.evaluators.cachetable import BUCKET_BYTES, SLOTS
from kibitz.nets.evaluators.inline import InlineEvaluator, Material, Uniform, inline_evaluator
from kibitz.nets.evaluators.load_sparse import evaluator_of
from kibitz.nets.load import load_evaluator
from kibitz.nets.models.make import quantise, random_weights
from kibitz.nets.models.sizes import new_card
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from kibitz.search.mcts.rules.parameters import RULES as SEARCH_RULES
from kibitz.search.mcts.rules.parameters import names_with
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.mcts.tree.nodes import COLD, EDGE, MOVED, NODE
from kibitz.search.method import open_search
from kibitz.search.options import Settings
from kibitz.search.report import Report
from kibitz.search.searcher import BaseSearcher

# From the start, a sharp middlegame, a quiet one, an endgame, a won endgame.
POSITIONS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "8/8/4k3/8/8/3K4/3Q4/8 w - - 0 1",
)
TIMED = POSITIONS[:4]
_EMPTY = (0, 0.0)  # nodes, average depth
RULES = names_with(lambda rule: rule.in_bench)
SIGNATURE_NODES, SIGNATURE_DEPTH = 3_000, 8  # of the tree search, and of alpha-beta
SPARSE_SIZE = "sparse-512x256-threats"
# lc0's form, whose trees others' figures are about, and the Gumbel rule as it makes targets.
PLAIN = Settings(variance_scaling=0.0, **SEARCH_RULES["gumbel"].for_targets)
CACHED = 200_000  # positions, as engines remember by default
NODES_A_PLAYOUT = 5  # alpha-beta searches so many nodes for every playout of the other rows
CONTEMPT_LIMIT = 28  # search-contempt's own setting for odds games


class Speed(NamedTuple):
    """One row of the bench."""

    evaluator: str
    rule: str
    threads: int
    playouts_per_second: int
    average_depth: float
    bytes_a_node: float  # of the last tree: its nodes and edges, by its nodes
    bytes_an_edge: int


class AlphaBetaSpeed(NamedTuple):
    """One row of the bench of alpha-beta; the depth is the mean of what was reached."""

    evaluator: str
    threads: int
    nodes_per_second: int
    average_depth: float


class BatchedSpeed(NamedTuple):
    """One row of the bench of a batched network; the cache's figures are of all positions."""

    evaluator: str
    batch: int
    nodes_per_second: int
    average_depth: float
    bytes_a_node: float
    bytes_an_edge: int
    cache_hits: int
    cache_misses: int
    cache_evictions: int
    cache_hashfull: int  # per mille


def signature(nodes: int = SIGNATURE_NODES) -> str:
    """Eight hexadecimal digits of every root visit of every rule in every position."""
    digest = hashlib.sha256()
    plain = [PLAIN.with_(search_rule=rule) for rule in RULES]
    for settings in (*plain, contempt_settings(), Settings()):
        with Searcher(inline_evaluator(Material()), settings.with_(hash=16)) as searcher:
            for fen in POSITIONS:
                searcher.new_game()
                report = searcher.search(Board(fen), Limits(nodes=nodes)).report
                for row in sorted(report.moves, key=lambda row: row.code):
                    digest.update(np.array([row.code, row.visits], np.uint32).tobytes())
    return digest.hexdigest()[:8]


def alphabeta_signature(depth: int = SIGNATURE_DEPTH) -> str:
    """Eight hexadecimal digits of the nodes that alpha-beta takes to every depth, everywhere."""
    digest = hashlib.sha256()
    settings = Settings(search="alphabeta", hash=16)
    with closing(open_search(inline_evaluator(Material()), settings)) as search:
        for fen in POSITIONS:
            search.new_game()
            for plies in range(1, depth + 1):
                report = search.search(Board(fen), Limits(depth=plies)).report
                digest.update(np.array([plies, report.nodes], np.uint64).tobytes())
    return digest.hexdigest()[:8]


def contempt_settings() -> Settings:
    """PUCT with search-contempt."""
    return PLAIN.with_(sc_limit=CONTEMPT_LIMIT)


def sparse_of_random_weights(size: str = SPARSE_SIZE) -> InlineEvaluator:
    """A sparse network of random weights, which is as fast as a trained one."""
    card = new_card(size)
    weights = random_weights(card)
    return evaluator_of(f"{size} (random)", quantise(weights).network, card.encoding)


EVALUATORS = 3


def evaluators() -> list[InlineEvaluator]:
    """What the bench searches with, as many as EVALUATORS."""
    return [inline_evaluator(Uniform()), inline_evaluator(Material()), sparse_of_random_weights()]


def measure(threads: int, megabytes: int, nodes: int, rounds: int) -> Iterator[list[Speed]]:
    """Search with every evaluator and rule; the rows so far after every round."""
    runs = [PLAIN.with_(search_rule=rule) for rule in RULES]
    runs += [contempt_settings(), Settings()]
    if threads > 1:
        runs.append(PLAIN.with_(threads=threads))
    runs = [settings.with_(hash=megabytes) for settings in runs]
    done: list[Speed] = []
    for evaluator in evaluators():
        rows: list[Speed] = []
        for rows in _measure_runs(evaluator, runs, nodes, rounds):
            yield done + rows
        done += rows


def _measure_runs(
    evaluator: InlineEvaluator, runs: Sequence[Settings], nodes: int, rounds: int
) -> Iterator[list[Speed]]:
    """Search every position with `nodes`; after every round, what the fastest rounds come to.

    All settings have a turn in a round: a machine whose speed drifts drifts for all of them.
    """
    with ExitStack() as stack:
        searchers = [stack.enter_context(Searcher(evaluator, settings)) for settings in runs]
        for searcher in searchers:
            searcher.search(Board(), Limits(nodes=nodes))  # loads kernels, touches the memory
        fastest = [[float("inf")] * len(TIMED) for _ in runs]
        reports = [[_EMPTY] * len(TIMED) for _ in runs]
        for _ in range(rounds):
            for place in range(len(TIMED)):
                for run, searcher in enumerate(searchers):
                    report = _timed(searcher, place, nodes, fastest[run])
                    reports[run][place] = report.nodes, report.mean_depth
            yield [
                Speed(
                    evaluator.name,
                    _rule(settings),
                    settings.threads,
                    *_summed(reports[run], fastest[run]),
                    *bytes_of(searchers[run]),
                )
                for run, settings in enumerate(runs)
            ]


def measure_alphabeta(
    threads: int, megabytes: int, nodes: int, rounds: int
) -> Iterator[list[AlphaBetaSpeed]]:
    """Search with alpha-beta and the shipped network; after every round, the fastest so far."""
    evaluator, counts = load_evaluator(resolve("default")), sorted({1, threads})
    runs = [Settings(search="alphabeta", threads=count, hash=megabytes) for count in counts]
    with ExitStack() as stack:
        searches = [
            stack.enter_context(closing(open_search(evaluator, run_settings)))
            for run_settings in runs
        ]
        for search in searches:
            search.search(Board(), Limits(nodes=nodes))  # loads kernels, touches the memory
        fastest = [[float("inf")] * len(TIMED) for _ in runs]
        for _ in range(rounds):
            rows = []
            for search, count, seconds in zip(searches, counts, fastest, strict=True):
                reports = [_timed(search, place, nodes, seconds) for place in range(len(TIMED))]
                reached = [(report.nodes, float(report.depth)) for report in reports]
                rows.append(AlphaBetaSpeed(evaluator.name, count, *_summed(reached, seconds)))
            yield rows


def measure_batches(
    evaluator: BatchedEvaluator, batches: Sequence[int], megabytes: int, nodes: int, rounds: int
) -> Iterator[list[BatchedSpeed]]:
    """Search every position with batches of each size; after every round, the fastest so far.

    The prediction cache, of the size that engines have, is empty at the start of a round.
    """
    cache = PredictionCache(CACHED // SLOTS * BUCKET_BYTES)
    cached = CachedEvaluator(evaluator, cache)
    with ExitStack() as stack:
        searchers = [
            stack.enter_context(Searcher(cached, PLAIN.with_(hash=megabytes, minibatch_size=size)))
            for size in batches
        ]
        searchers[0].search(Board(), Limits(nodes=nodes))  # loads kernels, touches the memory
        fastest = [[float("inf")] * len(TIMED) for _ in batches]
        for _ in range(rounds):
            rows = []
            for size, searcher, seconds in zip(batches, searchers, fastest, strict=True):
                cache.clear()
                reports = [_timed(searcher, place, nodes, seconds) for place in range(len(TIMED))]
                reached = [(report.nodes, report.mean_depth) for report in reports]
                speed, sizes = _summed(reached, seconds), bytes_of(searcher)
                rows.append(BatchedSpeed(cached.name, size, *speed, *sizes, *cache.use()))
            yield rows


def _timed(searcher: BaseSearcher, place: int, nodes: int, seconds: list[float]) -> Report:
    """Search a position, note its time if it is the shortest; what the search reports."""
    searcher.new_game()
    started = time.perf_counter()
    report = searcher.search(Board(TIMED[place]), Limits(nodes=nodes)).report
    seconds[place] = min(seconds[place], time.perf_counter() - started)
    return report


def bytes_of(searcher: Searcher) -> tuple[float, int]:
    """Bytes of the tree's nodes and edges in use, by its nodes, and bytes of an edge."""
    tree, edge = searcher.memory.record, EDGE.itemsize + COLD.itemsize
    used = tree.nodes_used * (NODE.itemsize + MOVED.itemsize) + tree.edges_used * edge
    return round(used / tree.nodes_used, 1), edge


def _summed(reports: list[tuple[int, float]], seconds: list[float]) -> tuple[int, float]:
    """Nodes a second over all positions, and the average depth."""
    nodes, depths = zip(*reports, strict=True)
    return round(sum(nodes) / sum(seconds)), sum(depths) / len(depths)


def _rule(settings: Settings) -> str:
    """Name of the rule in a row of the bench."""
    if settings.sc_limit <= CONTEMPT_LIMIT:
        return "puct+contempt"
    varies = settings.search_rule == "puct" and settings.variance_scaling > 0.0
    return "puct+variance" if varies else settings.search_rule
