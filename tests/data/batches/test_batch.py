"""Batches against python-chess, plain Python and the encoders that are given whole games."""

from __future__ import annotations

from collections.abc import Iterator

import chess
import numpy as np
import pytest

from kibitz.data.batches.batch import leaves_at, make, recipe
from kibitz.data.batches.sample import Samples, replay
from kibitz.data.shard import UNKNOWN_RESULT, Shard
from kibitz.nets.encodings.leaves import leaves_of
from kibitz.nets.encodings.planes import encode_words, layout_of, policy_indices
from kibitz.nets.models.sizes import new_card
from kibitz.position import fen
from kibitz.position.moves import MAX_MOVES, generate
from kibitz.position.packed import unpack_position
from kibitz.position.state import new_positions

SPARSE = "sparse-8-threats-both"
SIZES = ("tower-1x8", "plain-1x8", "sparse-8", SPARSE)


@pytest.fixture(scope="module")
def samples(shard: Shard) -> Samples:
    return replay(shard)


def shuffled_rows(samples: Samples) -> np.ndarray:
    return np.random.default_rng(0).permutation(len(samples.game))


def positions_of(samples: Samples, row: int) -> np.ndarray:
    """The game up to a row, POSITION [n], oldest first."""
    first = row - int(samples.since_start[row])
    game = new_positions(row + 1 - first)
    for at in range(len(game)):
        unpack_position(samples.positions[first + at], game[at])
    return game


def board_of(samples: Samples, row: int) -> chess.Board:
    position = positions_of(samples, row)[-1]
    return chess.Board(fen.fen_of(position, shredder=True), chess960=True)


def features_by_python(board: chess.Board, perspective: bool, threats: bool) -> set[int]:
    """Features written from their definition; `perspective` is a colour of python-chess."""
    king = board.king(perspective)
    assert king is not None
    mask = (0 if perspective else 56) ^ (7 if king & 4 else 0)
    found = set()
    for square, piece in board.piece_map().items():
        kind = piece.piece_type - 1 + (0 if piece.color == perspective else 6)
        index = 64 * kind + (square ^ mask)
        if threats:
            index += 768 * board.is_attacked_by(not piece.color, square)
            index += 1536 * board.is_attacked_by(piece.color, square)
        found.add(index)
    return found


@pytest.mark.parametrize("size", ["sparse-8", "sparse-8-threats", SPARSE])
def test_features_are_those_of_python_chess(samples: Samples, size: str) -> None:
    rows = shuffled_rows(samples)[:200]
    features, offsets = make(samples, rows, recipe(new_card(size), 0.0)).inputs
    assert len(features) == (2 if "both" in size else 1)
    for at, row in enumerate(rows):
        board = board_of(samples, int(row))
        for view, colour in zip(features, (board.turn, not board.turn), strict=False):
            mine = view[offsets[at] : offsets[at + 1]].tolist()
            assert len(mine) == len(board.piece_map())
            assert set(mine) == features_by_python(board, colour, "threats" in size)


@pytest.mark.parametrize("size", ["tower-1x8", "plain-1x8"])
def test_planes_are_those_of_the_whole_game(samples: Samples, size: str) -> None:
    card = new_card(size)
    rows = shuffled_rows(samples)[:150]
    (words,) = make(samples, rows, recipe(card, 0.0)).inputs
    history = layout_of(card.encoding).history
    for at, row in enumerate(rows):
        leaves = leaves_of([positions_of(samples, int(row))], history)
        expected = np.empty((1, words.shape[1]), dtype=np.uint64)
        encode_words(card.encoding, leaves, expected)
        assert np.array_equal(words[at], expected[0]), row


def test_history_knows_repetitions(samples: Samples) -> None:
    """In some row an earlier position of the game had itself occurred before."""
    rows = np.arange(len(samples.game))
    leaves = leaves_at(samples, rows, 8)
    told = [leaves.repetitions[at, 1 : leaves.known[at]].max(initial=0) for at in rows]
    assert max(told) >= 2


def moves_with_targets(samples: Samples, row: int) -> Iterator[tuple[int, float]]:
    """Each legal move of a row and its target, by looking it up."""
    position = positions_of(samples, row)[-1]
    legal = np.zeros(MAX_MOVES, dtype=np.uint16)
    moves = legal[: generate(position, legal)].tolist()
    assert len(moves) == board_of(samples, row).legal_moves.count()
    entries = slice(*samples.target_offsets[row : row + 2])
    targets = dict(
        zip(
            samples.target_moves[entries].tolist(),
            samples.target_weights[entries].tolist(),
            strict=True,
        )
    )
    assert set(targets) <= set(moves)
    for move in moves:
        yield move, targets.get(move, 0.0)


@pytest.mark.parametrize("size", SIZES)
def test_policy_targets_lie_beside_their_moves(samples: Samples, size: str) -> None:
    card = new_card(size)
    rows = shuffled_rows(samples)[:200]
    batch = make(samples, rows, recipe(card, 0.0))
    assert len(batch.moves) == len(batch.policy) == batch.move_offsets[-1]
    for at, row in enumerate(rows):
        expected = list(moves_with_targets(samples, int(row)))
        here = slice(*batch.move_offsets[at : at + 2])
        leaves = leaves_of([positions_of(samples, int(row))], 1)
        indices = np.empty(len(leaves.moves), dtype=np.int32)
        policy_indices(card.policy_order, card.encoding, leaves, indices)
        assert leaves.moves.tolist() == [move for move, _ in expected]
        assert np.array_equal(batch.moves[here], indices)
        np.testing.assert_array_equal(batch.policy[here], [target for _, target in expected])
        assert batch.policy_weight[at] == any(target for _, target in expected)


@pytest.mark.parametrize("size", ["sparse-8-tactics", "tower-1x8"])
def test_a_share_of_a_batch_comes_with_moves(samples: Samples, size: str) -> None:
    """What teaches no value has to come with its moves, and does so first."""
    chosen, card = shuffled_rows(samples)[:80], new_card(size)
    valueless = np.isnan(samples.values[chosen]) & (samples.results[chosen] == UNKNOWN_RESULT)
    without = int(valueless.sum())
    assert 0 < without < 40
    rows = np.concatenate([chosen[valueless], chosen[~valueless]])
    whole = make(samples, rows, recipe(card, 0.0))
    for share in (0.3, 0.01, 0.0):
        part = make(samples, chosen, recipe(card, 0.0, share))
        taught = without + int(np.ceil(share * (80 - without)))
        moves = whole.move_offsets[taught]
        assert np.array_equal(part.move_offsets, np.minimum(whole.move_offsets, moves))
        assert np.array_equal(part.moves, whole.moves[:moves])
        assert np.array_equal(part.policy, whole.policy[:moves])
        assert np.array_equal(part.policy_weight[:taught], whole.policy_weight[:taught])
        assert not part.policy_weight[taught:].any()
        assert np.array_equal(part.value_weight[:without], np.zeros(without))
        assert np.array_equal(part.wdl, whole.wdl, equal_nan=True)
        assert np.array_equal(part.inputs[0], whole.inputs[0])


def mixed_by_python(
    value: float, draw: float, result: int, share: float
) -> tuple[float, float, float] | None:
    """Win, draw and loss as the documentation says."""
    parts = []
    if not np.isnan(value):
        possible = 1 - abs(value)
        drawn = possible / 2 if np.isnan(draw) else min(draw, possible)
        parts.append((1 - share, ((1 - drawn + value) / 2, drawn, (1 - drawn - value) / 2)))
    if result != 2:
        parts.append((share, (float(result == 1), float(result == 0), float(result == -1))))
    if len(parts) == 1:
        return parts[0][1]
    if not parts:
        return None
    return tuple(sum(w * wdl[i] for w, wdl in parts) for i in range(3))  # type: ignore[return-value]


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_values_are_mixed_as_documented(samples: Samples, share: float) -> None:
    rows = shuffled_rows(samples)
    batch = make(samples, rows, recipe(new_card("sparse-8"), share))
    unknown = 0
    for at, row in enumerate(rows):
        value, draw = float(samples.values[row]), float(samples.draws[row])
        expected = mixed_by_python(value, draw, int(samples.results[row]), share)
        assert batch.search_weight[at] == (not np.isnan(value))
        if not np.isnan(value):
            assert batch.search_value[at] == np.float32(value)
        assert batch.value_weight[at] == (expected is not None)
        if expected is None:
            unknown += 1
            continue
        np.testing.assert_allclose(batch.wdl[at], expected, atol=1e-6)
        np.testing.assert_allclose(batch.value[at], expected[0] - expected[2], atol=1e-6)
    assert unknown
    assert np.isfinite(batch.wdl).all()
    assert (batch.wdl >= -1e-7).all()
    np.testing.assert_allclose(batch.wdl.sum(1), 1, atol=1e-6)
