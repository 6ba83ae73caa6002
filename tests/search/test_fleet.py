"""Searches in step: each is the search it would have been alone, and every leaf is settled."""

from __future__ import annotations

import numpy as np
import pytest

from kibitz.encoding.leaves import Leaves
from kibitz.errors import InputError
from kibitz.evaluator.batched import Evaluations, InlineBatch
from kibitz.evaluator.inline import inline_evaluator
from kibitz.evaluator.simple import Material
from kibitz.position.board import Board
from kibitz.search.mcts.fleet import Fleet
from kibitz.search.mcts.tree.nodes import TreeMemory, block_of
from kibitz.search.params import Settings
from tests.search.consistency import pending

FENS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "7k/8/8/8/8/8/5KQ1/8 w - - 0 1",
)


class Counting(InlineBatch):
    """Material, and how large the batches were."""

    def __init__(self) -> None:
        super().__init__(inline_evaluator(Material()))
        self.batches: list[int] = []

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        self.batches.append(len(leaves.known))
        super().evaluate(leaves, out)


def root_visits(memory: TreeMemory) -> list[int]:
    counts: list[int] = memory.edges["visits"][block_of(memory)].tolist()
    return counts


def test_together_is_as_alone() -> None:
    settings = Settings(noise_epsilon=0.25)
    together = Fleet(Counting(), settings, len(FENS)).search([Board(fen) for fen in FENS], 300)
    first = Fleet(Counting(), settings, 1).search([Board(FENS[0])], 300)
    assert root_visits(first[0]) == root_visits(together[0])
    assert [int(memory.edges[0]["visits"]) for memory in together] == [300] * 3


def test_one_call_serves_all_games() -> None:
    evaluator = Counting()
    Fleet(evaluator, Settings(), 8, leaves_each=2).search([Board() for _ in range(8)], 100)
    assert evaluator.batches[0] == 8  # the roots
    assert max(evaluator.batches) == 16
    assert sum(evaluator.batches) <= 8 * 100


def test_nothing_stays_pending_and_full_trees_go_on() -> None:
    fleet = Fleet(Counting(), Settings(), 2, leaves_each=4, megabytes_each=0.2)
    for memory in fleet.search([Board(FENS[0]), Board(FENS[1])], 3_000):
        assert pending(memory) == 0
        assert int(memory.edges[0]["visits"]) >= 3_000


def test_a_game_goes_on_with_its_subtree_and_a_finished_one_rests() -> None:
    fleet = Fleet(Counting(), Settings(), 2)
    board, over = Board(), Board("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")  # stalemate
    fleet.search([board, over], 200)
    assert not fleet.games[1].is_open
    board.push("e4")
    board.push("e5")
    fleet.search([board, over], 50)
    assert fleet.games[0].visits >= 50


def test_gumbel_searches_in_step() -> None:
    fleet = Fleet(Counting(), Settings(search_rule="gumbel", gumbel_considered=4), 2)
    for memory in fleet.search([Board(FENS[0]), Board(FENS[1])], 33):
        visited = [count for count in root_visits(memory) if count]
        assert len(visited) == 4


def test_without_noise_gumbel_considers_the_likeliest_moves_in_every_game() -> None:
    settings = Settings(search_rule="gumbel", gumbel_considered=4, gumbel_noise=0.0)
    for board in (Board(fen) for fen in FENS[:2]):
        memories = Fleet(Counting(), settings, 3).search([board.copy() for _ in range(3)], 33)
        visits = [root_visits(memory) for memory in memories]
        assert all(np.array_equal(visits[0], other) for other in visits[1:])
        first, count = int(memories[0].nodes[0]["first"]), int(memories[0].nodes[0]["count"])
        priors = memories[0].edges["prior"][first : first + count].astype(int)
        tried = [prior for prior, made in zip(priors, visits[0], strict=True) if made]
        assert len(tried) == 4
        assert sorted(tried) == sorted(priors)[-4:]


def test_the_number_of_boards_is_checked() -> None:
    with pytest.raises(InputError, match="boards"):
        Fleet(Counting(), Settings(), 2).search([Board()], 10)


def test_seeds_differ_from_game_to_game() -> None:
    fleet = Fleet(Counting(), Settings(noise_epsilon=0.5), 2)
    first, second = fleet.search([Board(), Board()], 200)
    assert not np.array_equal(root_visits(first), root_visits(second))


def test_an_inline_evaluator_searches_as_a_batched_one_does() -> None:
    settings = Settings(expand_at=1)
    boards = [Board(fen) for fen in FENS[:2]]
    inline = Fleet(inline_evaluator(Material()), settings, 2).search(boards, 200)
    batched = Fleet(Counting(), settings, 2).search(boards, 200)
    assert [root_visits(memory) for memory in inline] == [root_visits(memory) for memory in batched]
