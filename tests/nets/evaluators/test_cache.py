"""The prediction cache: what comes back, what is refused, and two threads tearing at it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from kibitz.core.errors import InputError
from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.nets.encodings.features import DETAILS, MAX_ACTIVE, batch_features
from kibitz.nets.encodings.leaves import Leaves, leaves_of
from kibitz.nets.encodings.planes import LAYOUTS, VIEWS, Sight, encode_words, sight_of
from kibitz.nets.evaluators import cachetable
from kibitz.nets.evaluators.batched import Evaluations, InlineBatch, evaluated
from kibitz.nets.evaluators.cache import CachedEvaluator, PredictionCache, put_keys
from kibitz.nets.evaluators.cachetable import BUCKET_BYTES, probe, store
from kibitz.nets.evaluators.load_sparse import sparse_evaluator
from kibitz.nets.models.make import random_weights
from kibitz.nets.models.sizes import new_card
from kibitz.position.fen import START, parse_fen
from kibitz.position.moves import MAX_MOVES, generate
from kibitz.position.play import play
from kibitz.position.state import new_positions


def random_priors(count: int, seed: int = 0) -> Any:
    powers = np.exp(np.random.default_rng(seed).normal(0, 2, count))
    return (powers / powers.sum()).astype(np.float32)


def look(cache: PredictionCache, key: int, count: int) -> tuple[bool, float, float, np.ndarray]:
    priors = np.zeros(MAX_MOVES, np.float32)
    found, value, draw = probe(cache.record, np.uint64(key), count, priors)
    return found, value, draw, priors[:count]


@pytest.mark.parametrize("count", [1, 2, 51, 52, 53, 104, 105, 218])
def test_what_goes_in_comes_out(count: int) -> None:
    cache, priors = PredictionCache(4 * BUCKET_BYTES), random_priors(count)
    store(cache.record, np.uint64(77), -0.3125, 0.25, count, priors)
    found, value, draw, back = look(cache, 77, count)
    assert found
    assert value == pytest.approx(-0.3125, abs=1e-9)
    assert draw == pytest.approx(0.25, abs=1e-5)
    assert np.abs(back - priors).max() <= 1 / 65536
    assert cache.use()[:3] == (1, 0, 0)
    assert not look(cache, 78, count)[0]
    assert cache.use()[:3] == (1, 1, 0)


def test_a_wrong_number_of_moves_is_refused() -> None:
    cache = PredictionCache(BUCKET_BYTES)
    store(cache.record, np.uint64(5), 0.0, 0.0, 30, random_priors(30))
    assert not look(cache, 5, 29)[0]
    assert not look(cache, 5, 60)[0]
    assert look(cache, 5, 30)[0]


def test_a_value_may_stand_alone_and_be_asked_alone() -> None:
    cache = PredictionCache(BUCKET_BYTES)
    store(cache.record, np.uint64(5), 0.5, 0.0, 0, random_priors(1))
    assert look(cache, 5, 0)[0]
    assert look(cache, 5, 0)[1] == pytest.approx(0.5)
    assert not look(cache, 5, 20)[0]
    store(cache.record, np.uint64(5), 0.5, 0.0, 60, random_priors(60))
    assert look(cache, 5, 0)[0]
    assert look(cache, 5, 60)[0]
    assert cache.use().evictions == 0


def test_priors_that_do_not_add_up_are_refused() -> None:
    cache = PredictionCache(BUCKET_BYTES)
    store(cache.record, np.uint64(5), 0.5, 0.0, 20, np.float32(0.97) * random_priors(20))
    assert not look(cache, 5, 20)[0]


def test_every_damaged_bit_is_noticed() -> None:
    cache = PredictionCache(BUCKET_BYTES)
    store(cache.record, np.uint64(5), 0.5, 0.25, 30, random_priors(30))
    words = cache._table[0]
    slot = int(np.flatnonzero(words[: cachetable.SLOTS])[0])
    first = cachetable.entry_place(0, slot)
    used = [slot, *range(first, first + 2 + 8)]  # key, checksum, summary, 30 priors in 8 words
    for place in used:
        for bit in range(64):
            if place == used[-1] and bit >= 32:
                continue  # beyond the last prior; see below
            words[place] ^= np.uint64(1) << np.uint64(bit)
            assert not look(cache, 5, 30)[0]
            words[place] ^= np.uint64(1) << np.uint64(bit)
    words[used[-1]] ^= np.uint64(1) << np.uint64(40)
    assert not look(cache, 5, 30)[0]


def test_the_entry_used_longest_ago_is_given_up() -> None:
    cache, priors = PredictionCache(BUCKET_BYTES), random_priors(20)
    for key in range(8):
        store(cache.record, np.uint64(key), 0.0, 0.0, 20, priors)
    for key in (0, 1, 2, 4, 5, 6, 7):
        assert look(cache, key, 20)[0]
    store(cache.record, np.uint64(8), 0.0, 0.0, 20, priors)
    assert [key for key in range(9) if not look(cache, key, 20)[0]] == [3]
    use = cache.use()
    assert use.evictions == 1
    assert use.hashfull == 1000


def test_size_is_never_exceeded() -> None:
    for size in (BUCKET_BYTES, 10**6, 2**20):
        assert size - BUCKET_BYTES < PredictionCache(size).size <= size
    with pytest.raises(InputError, match="cache size"):
        PredictionCache(BUCKET_BYTES - 1)


# --- keys -----------------------------------------------------------------------------------------


STARTS = (
    "8/5k2/8/8/8/2K5/4R3/8 w - - 0 1",  # moves to and fro
    "r3k2r/pp4pp/8/2pPp3/8/8/PP4PP/R3K2R w KQkq c6 0 10",  # castling, en passant
    START,
)


def walked(fen: str, length: int, chance: np.random.Generator) -> Any:
    """A game in which every position has three moves, so that positions come again."""
    game, moves = new_positions(length + 1), np.empty(MAX_MOVES, np.uint16)
    game[0] = parse_fen(fen)
    for ply in range(length):
        count = int(generate(game[ply], moves))
        if count == 0:
            return game[: ply + 1]
        few = moves[: min(3, count)] if chance.integers(8) else moves[:count]
        play(game[ply], game[ply + 1], int(chance.choice(few)))
    return game


@pytest.fixture(scope="module")
def crowd() -> Leaves:
    """Every position of some games with the game so far: transpositions, repetitions, clocks."""
    chance = np.random.default_rng(3)
    games = [walked(fen, 40, chance) for fen in STARTS for _ in range(25)]
    return leaves_of([game[: ply + 1] for game in games for ply in range(len(game))])


def keys_of(leaves: Leaves, sees: Sight, merged: bool = False) -> np.ndarray:
    keys = np.empty(len(leaves.known), np.uint64)
    put_keys(leaves, sees, merged, keys)
    return keys


def shown(encoding: str, leaves: Leaves) -> list[bytes]:
    """All that a network of an encoding is told of each leaf, its moves included."""
    if encoding in LAYOUTS:
        inputs = np.empty((len(leaves.known), LAYOUTS[encoding].planes), np.uint64)
        encode_words(encoding, leaves, inputs)
        rows = [row.tobytes() for row in inputs]
    else:
        features = np.empty((2, MAX_ACTIVE * len(leaves.known)), np.int32)
        offsets = np.zeros(len(leaves.known) + 1, np.int64)
        positions = np.ascontiguousarray(leaves.positions[:, 0])
        batch_features(positions, DETAILS[encoding], features, offsets)
        rows = [features[:, a:b].tobytes() for a, b in pairwise(offsets)]
    moves = [leaves.moves[a:b].tobytes() for a, b in pairwise(leaves.offsets)]
    return [row + legal for row, legal in zip(rows, moves, strict=True)]


def apart(keys: np.ndarray, told: list[bytes]) -> int:
    """How many leaves are told otherwise than the first one of their key."""
    first: dict[int, bytes] = {}
    return sum(first.setdefault(int(key), one) != one for key, one in zip(keys, told, strict=True))


@pytest.mark.parametrize("encoding", sorted(VIEWS))
def test_leaves_of_one_key_look_alike(encoding: str, crowd: Leaves) -> None:
    told = shown(encoding, crowd)
    keys = keys_of(crowd, sight_of(encoding))
    assert len(set(keys.tolist())) < len(keys) - 150, "nothing comes again"
    assert apart(keys, told) == 0


@pytest.mark.parametrize("encoding", sorted(VIEWS))
def test_keys_tell_no_more_apart_than_is_seen(encoding: str, crowd: Leaves) -> None:
    sides = crowd.positions[:, 0]["side"].tolist()  # every key tells them, not every encoding
    seen = set(zip(shown(encoding, crowd), sides, strict=True))
    assert len(set(keys_of(crowd, sight_of(encoding)).tolist())) == len(seen)


def test_merged_keys_confuse_what_is_seen_and_find_more(crowd: Leaves) -> None:
    for encoding in ("history109", "colour22", "oriented22"):
        keys, merged = (keys_of(crowd, sight_of(encoding), choice) for choice in (False, True))
        assert len(set(merged.tolist())) < len(set(keys.tolist()))
        assert apart(merged, shown(encoding, crowd)) > 0


def test_clocks_and_occurrences_have_keys_of_their_own() -> None:
    keys, merged = set(), set()
    for clock in range(140):
        game = new_positions(1)
        game[0] = parse_fen(f"8/5k2/8/8/8/2K5/4R3/8 w - - {clock} 90")
        leaves = leaves_of([game])
        for leaves.repetitions[0, 0] in range(3):
            keys.add(int(keys_of(leaves, sight_of("oriented22"))[0]))
            merged.add(int(keys_of(leaves, sight_of("oriented22"), True)[0]))
    assert len(keys) == 3 * 140
    assert len(merged) == 2 * (1 + 60)  # clocks below 80 share theirs


# --- in front of an evaluator ---------------------------------------------------------------------


class Counting:
    """Counts what it is asked."""

    def __init__(self, evaluator: InlineBatch) -> None:
        self.evaluator, self.asked = evaluator, 0
        self.name, self.sees = evaluator.name, evaluator.sees

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        self.asked += len(leaves.known)
        self.evaluator.evaluate(leaves, out)


def softmax(logits: np.ndarray) -> Any:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def test_only_unknown_leaves_are_evaluated(leaves: Leaves) -> None:
    card = new_card("sparse-64")
    counting = Counting(InlineBatch(sparse_evaluator(card, random_weights(card))))
    cached = CachedEvaluator(counting, PredictionCache(2**22))
    plain = evaluated(counting.evaluator, leaves)
    first, second = evaluated(cached, leaves), evaluated(cached, leaves)
    assert counting.asked == 300
    assert np.array_equal(first.wdl, plain.wdl)
    assert np.array_equal(first.logits, plain.logits)
    assert np.allclose(second.wdl, plain.wdl, atol=2e-5)
    for start, end in zip(leaves.offsets[:-1], leaves.offsets[1:], strict=True):
        if start < end:
            difference = softmax(second.logits[start:end]) - softmax(plain.logits[start:end])
            assert np.abs(difference).max() < 1e-3


# --- threads --------------------------------------------------------------------------------------


MULTIPLIER, STEP = np.uint64(6364136223846793005), np.uint64(1442695040888963407)


@kernel
def hammer(cache: Any, seed: int, rounds: int, keys: int, priors: Any, back: Any) -> Any:
    """Store and probe few keys at random; returns hits and wrong answers.

    Every thread stores other values and priors under the same key, but of a key and its value the
    number of moves and all priors follow.
    """
    state = np.uint64(seed)
    hits, wrong = 0, 0
    for _ in range(rounds):
        state = np.uint64(np.uint64(state * MULTIPLIER) + STEP)
        key = signed(np.uint64(state >> np.uint64(33)) % np.uint64(keys))
        version = signed(np.uint64(state >> np.uint64(40)) & np.uint64(7))
        count = 20 + (key * 7) % 100
        if np.uint64(state >> np.uint64(60)) < np.uint64(8):
            fill(priors, key, version, count)
            store(cache, np.uint64(key), version / 8.0, 0.0, count, priors)
        else:
            found, value, _ = probe(cache, np.uint64(key), count, back)
            if found:
                hits += 1
                fill(priors, key, int(value * 8.0 + 0.5), count)
                wrong += differs(priors, back, count)
    return hits, wrong


@kernel
def fill(priors: Any, key: int, version: int, count: int) -> None:
    """Priors that follow from key and version: one large, the others equal."""
    large = (key + 3 * version) % count
    for index in range(count):
        priors[index] = np.float32(0.5 / (count - 1))
    priors[large] = np.float32(0.5)


@kernel
def differs(priors: Any, back: Any, count: int) -> int:
    for index in range(count):
        if abs(priors[index] - back[index]) > 2.0 / 65536.0:
            return 1
    return 0


def test_threads_never_get_a_torn_entry() -> None:
    cache = PredictionCache(2 * BUCKET_BYTES)  # two buckets, so that they meet all the time
    results: list[tuple[int, int]] = []

    def work(seed: int) -> None:
        room = np.zeros(MAX_MOVES, np.float32), np.zeros(MAX_MOVES, np.float32)
        results.append(hammer(cache.record, seed, 1_000_000, 10, *room))

    work(1)
    hits_alone = results[0][0]
    threads = [threading.Thread(target=work, args=(seed,)) for seed in (2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [wrong for _, wrong in results] == [0] * 4
    assert min(hits for hits, _ in results) > hits_alone / 10


# --- without the compiler -------------------------------------------------------------------------

SCRIPT = """
import numpy as np
np.seterr(over="ignore")
from kibitz.nets.evaluators.cache import PredictionCache
from kibitz.nets.evaluators.cachetable import probe, store
cache = PredictionCache(3 * 1088)
for key in range(40):
    count = 1 + 5 * key % 130
    store(cache.record, np.uint64(key), key / 40, 0.5, count, np.full(count, 1 / count, np.float32))
priors = np.zeros(256, np.float32)
for key in range(40):
    found, value, draw = probe(cache.record, np.uint64(key), 1 + 5 * key % 130, priors)
    print(key, bool(found), float(value), float(draw), priors[0] if found else 0)
print(*cache.use())
"""


def said_by(**environment: str) -> str:
    command = [sys.executable, "-c", SCRIPT]
    run = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_plain_python_agrees_with_the_compiled_kernels() -> None:
    plain = said_by(NUMBA_DISABLE_JIT="1")
    assert plain == said_by(NUMBA_DISABLE_JIT="0")
    assert "True" in plain
    assert "False" in plain
