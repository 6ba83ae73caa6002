"""Dense records: python-chess writes them, training reads them as it reads games."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.data.batches.batch import make, recipe
from kibitz.data.batches.records import held_out_records, samples_of
from kibitz.data.batches.sample import Samples, replay
from kibitz.data.batches.window import Source, Window
from kibitz.data.dense import DenseGames, DenseHeader, read_dense_shard, write_dense
from kibitz.data.shard import UNKNOWN_RESULT, Shard
from kibitz.data.shard import write as write_games
from kibitz.nets.models.sizes import new_card
from tests.data.batches.makers import board_of, dense_record, dense_records, random_shard, together

SCALE = 220.0


@pytest.fixture(scope="module")
def samples(shard: Shard) -> Samples:
    return replay(shard)


def taught(samples: Samples) -> list[int]:
    moved = (samples.played != 0) & (samples.results != UNKNOWN_RESULT)
    return np.flatnonzero(moved).tolist()


def recorded(samples: Samples, row: int, score: int = 0) -> np.ndarray:
    result = int(samples.results[row]) + 1
    return dense_record(board_of(samples, row), int(samples.played[row]), score, result, 7)


def test_records_of_python_chess_are_the_positions_of_the_games(samples: Samples) -> None:
    rows = taught(samples)
    records = together([recorded(samples, row) for row in rows])
    found = samples_of(records, SCALE)
    for name in ("occupied", "low", "high"):
        assert np.array_equal(found.positions[name], samples.positions[rows][name]), name
    clock_square_side = np.uint64(0xFFFF_0000_FFFF)
    expected = samples.positions[rows]["state"]
    assert np.array_equal(
        found.positions["state"] & clock_square_side, expected & clock_square_side
    )
    assert set((found.positions["state"] >> np.uint64(16) & np.uint64(0xFFFF)).tolist()) == {7}
    assert np.array_equal(found.results, samples.results[rows])
    assert np.array_equal(found.target_moves, samples.played[rows])
    states = samples.positions[rows]["state"] >> np.uint64(32)
    assert {int(state) >> 8 & 1 for state in states} == {0, 1}
    assert any(int(state) & 0xFF != 64 for state in states)  # en passant is among them


@pytest.mark.parametrize("size", ["sparse-8-tactics", "sparse-8-threats-both", "plain-1x8"])
def test_batches_are_those_of_games_that_say_the_same(samples: Samples, size: str) -> None:
    """Blended in one place: a score is the value whose odds it is."""
    rows = taught(samples)[:60]
    scores = np.random.default_rng(1).integers(-2000, 2000, len(rows))
    pairs = zip(rows, scores, strict=True)
    records = together([recorded(samples, row, int(score)) for row, score in pairs])
    how = recipe(new_card(size), 0.3, 0.5, SCALE)
    chosen = np.arange(len(rows))[::-1]
    batch = make(records, chosen, how)
    values = [2 / (1 + math.exp(-score / SCALE)) - 1 for score in scores]
    expected = 0.7 * np.array(values) + 0.3 * samples.results[rows]
    np.testing.assert_allclose(batch.value, expected[::-1], atol=1e-6)
    np.testing.assert_allclose(batch.search_value, values[::-1], atol=1e-6)
    np.testing.assert_allclose(batch.wdl.sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(batch.wdl[:, 0] - batch.wdl[:, 2], expected[::-1], atol=1e-6)
    of_games = make(samples, np.array(rows)[::-1], how)
    if size != "plain-1x8":  # its planes tell the clock alone, which the records have, too
        assert np.array_equal(batch.inputs[0], of_games.inputs[0])
    assert np.array_equal(batch.moves, of_games.moves)
    assert batch.policy.sum() == batch.policy_weight.sum() == 30
    assert not batch.plies_left_weight.any()  # how far the end was is not recorded


def test_a_flipped_byte_is_named(tmp_path: Path) -> None:
    records, path = dense_records(), tmp_path / "a.dense"
    write_dense(path, records)
    write_dense(tmp_path / "b.dense", records)
    content = path.read_bytes()
    for place in range(0, len(content), len(content) // 10):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(DamagedFileError, match=r"a\.dense"):
            Window((Source(tmp_path),))


def test_a_record_without_a_move_teaches_its_value_alone() -> None:
    records = dense_records()[:4]
    records["move"][[0, 2]] = 0
    batch = make(records, np.arange(4), recipe(new_card("sparse-8"), 0.0))
    assert batch.policy_weight.tolist() == [0, 1, 0, 1]
    assert batch.value_weight.tolist() == [1, 1, 1, 1]
    assert batch.policy.sum() == 2


def test_games_are_held_out_whole(tmp_path: Path) -> None:
    records, path = dense_records(60), tmp_path / "a.dense"
    write_dense(path, records)  # records alone: a game ends where the plies begin anew
    held_out = held_out_records(read_dense_shard(path), 0.3)
    assert 0.1 < held_out.mean() < 0.6
    same_game = records["ply"][1:] > records["ply"][:-1]
    assert np.array_equal(held_out[1:][same_game], held_out[:-1][same_game])
    assert not held_out_records(read_dense_shard(path), 0.0).any()


def test_games_of_a_shard_are_held_out_whole_whatever_their_plies(tmp_path: Path) -> None:
    every = dense_records(60)
    records = every[every["result"] == 1]
    records["ply"] = 8
    count = len(records) // 5
    games = DenseGames(
        offsets=np.append(np.arange(count) * 5, len(records)),
        results=np.zeros(count, np.int8),
        ends=np.zeros(count, np.uint8),
        plies=np.zeros(count, np.uint16),
        openings=np.zeros(count, np.uint64),
    )
    write_dense(tmp_path / "a.dense", records, games, DenseHeader(ends=("agreed",)))
    held_out = held_out_records(read_dense_shard(tmp_path / "a.dense"), 0.5)
    parts = [set(held_out[slice(*pair)].tolist()) for pair in pairwise(games.offsets)]
    assert {len(part) for part in parts} == {1}
    assert set.union(*parts) == {True, False}


def test_epochs_of_dense_shards_show_each_record_once(tmp_path: Path) -> None:
    parts = [dense_records(seed=seed) for seed in range(4)]
    for number, part in enumerate(parts):
        write_dense(tmp_path / f"{number}.dense", part)
    whole = Window((Source(tmp_path),), validation=0.2)
    assert whole.positions == sum(map(len, parts))
    parted = Window((Source(tmp_path),), validation=0.2, memory=whole.positions // 2 + 1)
    assert parted.chunks > whole.chunks == 1
    shown = []
    for window in (whole, parted):
        chunks = [window.chunk(0, number) for number in range(window.chunks)]
        shown.append(
            sorted(
                chunk.samples[row].tobytes()
                for chunk in chunks
                if isinstance(chunk.samples, np.ndarray)
                for row in chunk.drawn(0, np.uint64(1), 0, chunk.size)
            )
        )
    assert shown[0] == shown[1]
    held_out, rows = whole.validation_rows(10**6)
    assert len(rows) + len(shown[0]) == whole.positions
    again, _ = parted.validation_rows(10**6)
    assert isinstance(held_out, np.ndarray)
    assert isinstance(again, np.ndarray)
    assert sorted(map(bytes, held_out[rows])) == sorted(map(bytes, again))


def test_records_and_games_are_not_mixed(tmp_path: Path) -> None:
    write_dense(tmp_path / "dense" / "a.dense", dense_records())
    write_games(tmp_path / "games" / "a.shard", random_shard(5, 10))
    with pytest.raises(InputError, match="dense records and games"):
        Window((Source(tmp_path / "dense"), Source(tmp_path / "games")))
