"""Folders of shards, their weights, and what of them is in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.data.batches.order import held_out, key_of
from kibitz.data.batches.sample import has_value, replay, teaching
from kibitz.data.batches.window import Source, Window, parse_source, shards_in
from kibitz.data.shard import write
from tests.data.batches.makers import random_shard

SHARDS = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six shards of different sizes."""
    place = tmp_path_factory.mktemp("games")
    for number in range(SHARDS):
        write(place / f"part-{number}.shard", random_shard(10 + number, 20, seed=number))
    return place


def test_weights_are_read_from_the_names() -> None:
    assert parse_source("some/where") == Source(Path("some/where"), 1.0)
    assert parse_source("a=b/c=0.5") == Source(Path("a=b/c"), 0.5)
    assert parse_source("a=b") == Source(Path("a=b"), 1.0)
    for text in ("games=0", "games=-1", "games=nan", "games=inf"):
        with pytest.raises(InputError, match="weight of data"):
            parse_source(text)


def test_an_empty_folder_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        Window((Source(tmp_path),))


def test_training_and_held_out_rows_are_all_that_teach(folder: Path) -> None:
    window = Window((Source(folder),), validation=0.3)
    chunk = window.chunk(0, 0)
    useful = np.flatnonzero(teaching(chunk.samples))
    assert sorted([*chunk.rows[0], *chunk.held_out]) == useful.tolist()
    games = chunk.samples.game
    assert not set(games[chunk.rows[0]]) & set(games[chunk.held_out])
    expected = [
        game
        for number in range(SHARDS)
        for game in held_out(random_shard(10 + number, 20, seed=number), 0.3)
    ]
    assert set(games[chunk.held_out]) <= set(np.flatnonzero(expected))


def test_a_share_of_what_teaches_a_policy_alone_is_trained_on(folder: Path) -> None:
    whole, part, none = (
        Window((Source(folder),), validation=0.2, policy_share=share).chunk(0, 0)
        for share in (1.0, 0.5, 0.0)
    )
    samples = whole.samples
    valued = has_value(samples, slice(None))
    alone = whole.rows[0][~valued[whole.rows[0]]]
    assert set(none.rows[0]) == set(whole.rows[0]) - set(alone)
    kept = set(part.rows[0]) & set(alone)
    assert 0.2 < len(kept) / len(alone) < 0.8
    assert set(part.rows[0]) - kept == set(none.rows[0])
    assert np.array_equal(whole.held_out, none.held_out)


def test_an_epoch_shows_each_position_once(folder: Path) -> None:
    chunk = Window((Source(folder),)).chunk(0, 0)
    drawn = chunk.drawn(0, key_of(1, 0, 0), 0, chunk.size)
    assert sorted(drawn) == chunk.rows[0].tolist()
    parts = [chunk.drawn(0, key_of(1, 0, 0), a, a + 100) for a in range(0, chunk.size, 100)]
    assert np.array_equal(np.concatenate(parts), drawn)


def test_weights_are_how_often_an_epoch_shows_a_source(folder: Path) -> None:
    paths = sorted(folder.iterdir())
    sources = (Source(paths[0], 2.0), Source(paths[1], 0.5), Source(paths[2], 1.5))
    chunk = Window(sources).chunk(0, 0)
    shown = [np.zeros(len(chunk.samples.game), dtype=int) for _ in range(4)]
    for epoch in range(4):
        np.add.at(shown[epoch], chunk.drawn(epoch, key_of(epoch), 0, chunk.size), 1)
    twice, half, more = chunk.rows
    assert all((shown[epoch][twice] == 2).all() for epoch in range(4))
    for epoch in range(4):
        assert shown[epoch][half].sum() == round(0.5 * len(half))
        assert set(shown[epoch][more]) == {1, 2}
    # Two halves are the whole, whichever half came first.
    assert np.abs(sum(shown)[half] - 2).max() <= 1  # type: ignore[index]


def test_the_newest_shards_and_generations(folder: Path, tmp_path: Path) -> None:
    sizes = [random_shard(10 + number, 20, seed=number).plies for number in range(SHARDS)]
    window = Window((Source(folder),), newest=sizes[-1] + 1)
    assert [path.name for path in window.files] == ["part-4.shard", "part-5.shard"]
    for generation in range(3):
        for part in range(2):
            write(tmp_path / f"gen-{generation}" / f"{part}.shard", random_shard(2, 5))
    kept = shards_in(tmp_path, generations=2)
    assert ["/".join(path.parts[-2:]) for path in kept] == [
        f"gen-{generation}/{part}.shard" for generation in (1, 2) for part in range(2)
    ]


def test_in_parts_an_epoch_shows_everything_too(folder: Path) -> None:
    """What is larger than memory comes in chunks; every shard is in one of them."""
    whole = Window((Source(folder),), validation=0.2)
    parts = Window((Source(folder),), validation=0.2, memory=whole.positions // 3, seed=5)
    assert whole.chunks == 1
    assert parts.chunks == 4  # a third of the positions is rounded down
    expected = whole.chunk(0, 0)
    wanted = expected.samples.positions[expected.rows[0]]
    orders = []
    for epoch in range(2):
        chunks = [parts.chunk(epoch, number) for number in range(parts.chunks)]
        shown = np.concatenate([c.samples.positions[c.rows[0]] for c in chunks])
        assert sorted(shown.tolist()) == sorted(wanted.tolist())
        orders.append(shown.tobytes())
    assert orders[0] != orders[1]


def test_validation_rows_are_the_same_with_less_memory(folder: Path) -> None:
    whole = Window((Source(folder),), validation=0.3)
    parts = Window((Source(folder),), validation=0.3, memory=whole.positions // 3)
    found = []
    for window in (whole, parts):
        samples, rows = window.validation_rows(10**6)
        found.append(sorted(samples.positions[row].tobytes() for row in rows))
    assert found[0] == found[1]
    samples, rows = whole.validation_rows(7)
    assert len(rows) == len(set(rows)) == 7
    assert set(rows) <= set(whole.chunk(0, 0).held_out)


def test_a_damaged_shard_is_named(folder: Path, tmp_path: Path) -> None:
    content = bytearray((folder / "part-2.shard").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "bad.shard").write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"bad\.shard"):
        Window((Source(tmp_path),))


def test_games_that_teach_nothing_are_refused(tmp_path: Path) -> None:
    shard = random_shard(5, 5)
    silent = shard._replace(
        values=np.full_like(shard.values, np.nan),
        results=np.full_like(shard.results, 2),
        flags=np.full_like(shard.flags, 2),
    )
    write(tmp_path / "silent.shard", silent)
    assert not teaching(replay(silent)).any()
    with pytest.raises(InputError, match="nothing to learn"):
        Window((Source(tmp_path),))
