"""The value after captures against plain minimax over winning captures."""

from __future__ import annotations

import random
from typing import Any

import chess
import numpy as np
import pytest

from kibitz.evaluator.inline import InlineEvaluator, inline_evaluator, value_of
from kibitz.evaluator.load_sparse import sparse_evaluator
from kibitz.evaluator.simple import Material
from kibitz.network.sizes import new_card
from kibitz.network.sparse_random import random_weights
from kibitz.position.board import Board
from kibitz.position.exchange import MAX_CAPTURES, exchange_value
from kibitz.position.fen import parse_fen
from kibitz.position.moves import EN_PASSANT, destination_of, generate, kind_of
from kibitz.position.play import play
from kibitz.position.state import new_positions
from kibitz.search.limits import Limits
from kibitz.search.params import Settings
from kibitz.search.quiet import QUEENING, quiet_value
from kibitz.search.searcher import Searcher
from kibitz.search.walk import WalkMemory

HANGING = "rnb1kbnr/pppp1ppp/8/4p1q1/3P4/2N5/PPP1PPPP/R1BQKBNR w KQkq - 0 1"


def evaluators() -> list[InlineEvaluator]:
    card = new_card("sparse-64-tactics")
    return [inline_evaluator(Material()), sparse_evaluator(card, random_weights(card))]


def plain(evaluator: InlineEvaluator, scratch: Any, position: Any, plies: int) -> float:
    best = float(value_of(evaluator.record, scratch, position)[0])
    moves = np.zeros(256, dtype=np.uint16)
    gains = np.zeros(MAX_CAPTURES, dtype=np.int64)
    for move in moves[: generate(position, moves) if plies else 0].tolist():
        taking = int(position.their) >> destination_of(move) & 1
        if not taking and kind_of(move) not in (EN_PASSANT, QUEENING):
            continue
        if exchange_value(position, move, gains) > 0:
            after = new_positions(1)[0]
            play(position, after, move)
            best = max(best, -plain(evaluator, scratch, after, plies - 1))
    return best


def random_fens(count: int) -> list[str]:
    dice, found = random.Random(3), []
    while len(found) < count:
        board = chess.Board()
        for _ in range(dice.randrange(8, 60)):
            if board.is_game_over():
                break
            board.push(dice.choice(list(board.legal_moves)))
        found.append(board.fen())
    return found


@pytest.mark.parametrize("plies", [0, 1, 3, 8])
@pytest.mark.parametrize("evaluator", evaluators(), ids=["material", "sparse"])
def test_the_value_is_that_of_plain_minimax(evaluator: InlineEvaluator, plies: int) -> None:
    walk, scratch, changed = WalkMemory(0), evaluator.new_scratch().record, 0
    for fen in random_fens(60):
        line = new_positions(1)
        line[0] = parse_fen(fen)
        walk.set_line(line)
        value, draw = quiet_value(evaluator.record, scratch, walk.record, 0, plies)
        assert value == pytest.approx(plain(evaluator, scratch, line[0], plies), abs=1e-12)
        assert 0 <= draw <= 1 - abs(value) + 1e-9
        changed += value != pytest.approx(value_of(evaluator.record, scratch, line[0])[0])
    assert (changed > 10) == (plies > 0)


def test_a_hanging_queen_is_seen_by_the_leaf_itself() -> None:
    evaluator = inline_evaluator(Material())
    values = []
    for plies in (0, 2):
        with Searcher(evaluator, Settings(hash=4, quiet_plies=plies)) as searcher:
            result = searcher.search(Board(HANGING), Limits(nodes=1))
        values.append(result.report.root.raw)
    assert values[1] > values[0] + 0.3
