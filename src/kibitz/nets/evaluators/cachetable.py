"""The table of the prediction cache: values and priors by key, for kernels on any thread.

Buckets of 1024 bytes: eight keys, then eight entries of 120 bytes; 64 bytes of counters for each
bucket are in an array of their own. All words are written and read without locks. An entry is used
only if its checksum, over the key and everything in it, is right: an entry that another thread was
writing at that moment is not. As in ChessCoach's cache the priors must besides add up to one,
which catches a wrong list of moves under the right key.

    entry   checksum, summary (value 32 bits, draw 16, moves 8, part 8), 52 priors of 16 bits
    counts  32-bit numbers: ticks, probes, hits, evictions, then the tick at which each entry was
            last used; the age of an entry is the ticks since

A position with more than 52 moves takes several entries of its bucket, under keys that follow from
its own, each checksum continuing the one before: parts of different evaluations do not fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.jit.atomics import atomic_add, atomic_load, atomic_store
from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.jit.records import record_at

WORD = np.dtype([("word", np.uint64)])
COUNTER = np.dtype([("count", np.uint32)])
BUCKET_WORDS, BUCKET_COUNTERS = 128, 16
BUCKET_BYTES = 8 * BUCKET_WORDS + 4 * BUCKET_COUNTERS
SLOTS, ENTRY_WORDS = 8, 15
TICKS, PROBES, HITS, EVICTIONS, USED_AT = 0, 1, 2, 3, 4
CHECK, SUMMARY, PRIORS = 0, 1, 2
PRIORS_EACH = 52
TOLERANCE = 120  # of the sum, in units of 1/65536; rounding adds one per move at most
NOT_FOUND = -1

MULTIPLIER = np.uint64(0x9E37_79B9_7F4A_7C15)
PART_STEP = np.uint64(0xD6E8_FEB8_6659_FD93)
HALF_BITS, HALF_MASK = np.uint64(32), np.uint64(0xFFFF_FFFF)
PRIOR_MASK = np.uint64(0xFFFF)
VALUE_TOP, DRAW_TOP, PRIOR_ONE = 4_294_967_295.0, 65_535.0, 65_536
DRAW_BIT, MOVES_BIT, PART_BIT, SIXTEEN = (np.uint64(n) for n in (32, 48, 56, 16))
EIGHT_BITS = np.uint64(0xFF)

word_at = record_at(WORD, "words")
counter_at = record_at(COUNTER, "counters")


class Cache(NamedTuple):
    """A cache to kernels: its two arrays by address, and its numbers."""

    words: int  # uint64 [buckets, BUCKET_WORDS]
    words_size: int
    counters: int  # uint32 [buckets, BUCKET_COUNTERS]
    counters_size: int
    buckets: int
    salt: int  # changes when the cache is cleared
    faults: int = 0  # counted in debug builds


@kernel
def mixed(total: np.uint64, word: np.uint64) -> np.uint64:
    """A checksum with one more word in it."""
    total = np.uint64(np.uint64(total ^ word) * MULTIPLIER)
    return total ^ (total >> HALF_BITS)


@kernel
def bucket_of(cache: np.record, key: np.uint64) -> int:
    """Number of the bucket a salted key belongs to."""
    high = np.uint64(key * MULTIPLIER) >> HALF_BITS
    return signed(np.uint64(high * np.uint64(cache.buckets)) >> HALF_BITS)


@kernel
def salted(cache: np.record, key: np.uint64) -> np.uint64:
    """The key in this generation of the cache; never zero, which is an empty entry's."""
    key = mixed(np.uint64(cache.salt), key)
    return key if key else MULTIPLIER


@kernel
def count_up(cache: np.record, bucket: int, number: int) -> int:
    """Add one to a counter of a bucket; returns what it was."""
    return signed(atomic_add(counter_at(cache, bucket * BUCKET_COUNTERS + number), "count", 1))


@kernel
def entry_place(bucket: int, slot: int) -> int:
    """Index of an entry's first word."""
    return bucket * BUCKET_WORDS + SLOTS + slot * ENTRY_WORDS


@kernel
def find(cache: np.record, bucket: int, key: np.uint64) -> int:
    """Slot of the entry with a key, or NOT_FOUND."""
    for slot in range(SLOTS):
        if atomic_load(word_at(cache, bucket * BUCKET_WORDS + slot), "word") == key:
            return slot
    return NOT_FOUND


@kernel
def read_entry(
    cache: np.record,
    place: int,
    before: np.uint64,
    key: np.uint64,
    wanted: int,
    part: int,
    priors: np.ndarray,
) -> tuple[bool, np.uint64, np.uint64, int]:
    """Read an entry: whether it is sound, its checksum, its summary, the sum of its priors.

    Priors are written to float32 [wanted], at the place of the part, unless none are wanted; then
    entries of any number of moves will do.
    """
    summary = atomic_load(word_at(cache, place + SUMMARY), "word")
    moves = signed((summary >> MOVES_BIT) & EIGHT_BITS)
    if (wanted and moves != wanted) or signed(summary >> PART_BIT) != part:
        return False, before, summary, 0
    check = mixed(mixed(before, key), summary)
    total = 0
    first = part * PRIORS_EACH
    last = min(moves, first + PRIORS_EACH)
    for at in range(first, last, 4):
        packed = atomic_load(word_at(cache, place + PRIORS + ((at - first) >> 2)), "word")
        check = mixed(check, packed)
        for index in range(at, min(at + 4, last)):
            prior = signed(packed & PRIOR_MASK) + 1
            packed = packed >> SIXTEEN
            total += prior
            if wanted:
                priors[index] = prior_of(prior)
    sound = check == atomic_load(word_at(cache, place + CHECK), "word")
    return sound, check, summary, total


@kernel
def probe(
    cache: np.record, key: np.uint64, count: int, priors: np.ndarray
) -> tuple[bool, float, float]:
    """Look a position up: whether it is there, its value in [-1, 1], its probability of a draw.

    With `count` legal moves their priors are written to float32 [count], garbage after a miss; with
    none only the value is looked up.
    """
    key = salted(cache, key)
    bucket = bucket_of(cache, key)
    tick = count_up(cache, bucket, TICKS) + 1
    count_up(cache, bucket, PROBES)
    parts = max(1, (count + PRIORS_EACH - 1) // PRIORS_EACH)
    total = 0
    check, summary = MULTIPLIER, MULTIPLIER
    for part in range(parts):
        part_key = np.uint64(key + np.uint64(np.uint64(part) * PART_STEP))
        slot = find(cache, bucket, part_key)
        if slot == NOT_FOUND:
            return False, 0.0, 0.0
        place = entry_place(bucket, slot)
        sound, check, summary, some = read_entry(cache, place, check, part_key, count, part, priors)
        if not sound:
            return False, 0.0, 0.0
        total += some
        touch(cache, bucket, slot, tick)
    if count and abs(total - PRIOR_ONE) > TOLERANCE + count:
        return False, 0.0, 0.0
    count_up(cache, bucket, HITS)
    return True, value_of(summary), draw_of(summary)


@kernel
def touch(cache: np.record, bucket: int, slot: int, tick: int) -> None:
    """Note when an entry was used."""
    place = counter_at(cache, bucket * BUCKET_COUNTERS + USED_AT + slot)
    atomic_store(place, "count", np.uint32(tick))


@kernel
def victim(cache: np.record, bucket: int, key: np.uint64, tick: int) -> int:
    """Slot to write a key to: its own, an empty one, or the one used longest ago."""
    oldest, oldest_age = 0, -1
    for slot in range(SLOTS):
        entry = atomic_load(word_at(cache, bucket * BUCKET_WORDS + slot), "word")
        if entry == key:
            return slot
        used = atomic_load(counter_at(cache, bucket * BUCKET_COUNTERS + USED_AT + slot), "count")
        age = (tick - signed(used)) & 0xFFFF_FFFF
        if not entry:
            age = 1 << 32
        if age > oldest_age:
            oldest, oldest_age = slot, age
    if oldest_age < 1 << 32:
        count_up(cache, bucket, EVICTIONS)
    return oldest


@kernel
def summary_of(value: float, draw: float, count: int, part: int) -> np.uint64:
    """Value, draw, number of moves and part in one word."""
    whole = min(max((value + 1.0) / 2.0, 0.0), 1.0) * VALUE_TOP
    summary = np.uint64(whole) | np.uint64(min(max(draw, 0.0), 1.0) * DRAW_TOP + 0.5) << DRAW_BIT
    return summary | np.uint64(count) << MOVES_BIT | np.uint64(part) << PART_BIT


@kernel
def value_of(summary: np.uint64) -> float:
    """The value in a summary."""
    return 2.0 * (signed(summary & HALF_MASK) / VALUE_TOP) - 1.0


@kernel
def draw_of(summary: np.uint64) -> float:
    """The probability of a draw in a summary."""
    return signed((summary >> DRAW_BIT) & PRIOR_MASK) / DRAW_TOP


@kernel
def steps_of(prior: float) -> int:
    """A prior in the steps that entries have, from 1 to PRIOR_ONE."""
    return min(max(int(prior * PRIOR_ONE + 0.5), 1), PRIOR_ONE)


@kernel
def prior_of(steps: int) -> np.float32:
    """The prior of so many steps."""
    return np.float32(steps / PRIOR_ONE)


@kernel
def write_entry(
    cache: np.record,
    place: int,
    before: np.uint64,
    key: np.uint64,
    summary: np.uint64,
    priors: np.ndarray,
    first: int,
    last: int,
) -> np.uint64:
    """Write what belongs to a key, with the priors `first` to `last` - 1; returns the checksum."""
    atomic_store(word_at(cache, place + SUMMARY), "word", summary)
    check = mixed(mixed(before, key), summary)
    for at in range(first, last, 4):
        packed = np.uint64(0)
        for index in range(min(at + 4, last) - 1, at - 1, -1):
            packed = packed << SIXTEEN | np.uint64(steps_of(priors[index]) - 1)
        check = mixed(check, packed)
        atomic_store(word_at(cache, place + PRIORS + ((at - first) >> 2)), "word", packed)
    atomic_store(word_at(cache, place + CHECK), "word", check)
    return check


@kernel
def store(
    cache: np.record, key: np.uint64, value: float, draw: float, count: int, priors: np.ndarray
) -> None:
    """Keep a position's value and the priors of its `count` legal moves, float32 adding up to 1.

    With a count of zero only the value is kept.
    """
    key = salted(cache, key)
    bucket = bucket_of(cache, key)
    tick = count_up(cache, bucket, TICKS) + 1
    check = MULTIPLIER
    for part in range(max(1, (count + PRIORS_EACH - 1) // PRIORS_EACH)):
        part_key = np.uint64(key + np.uint64(np.uint64(part) * PART_STEP))
        slot = victim(cache, bucket, part_key, tick)
        touch(cache, bucket, slot, tick)
        atomic_store(word_at(cache, bucket * BUCKET_WORDS + slot), "word", part_key)
        first = part * PRIORS_EACH
        last = min(count, first + PRIORS_EACH)
        summary = summary_of(value, draw, count, part)
        place = entry_place(bucket, slot)
        check = write_entry(cache, place, check, part_key, summary, priors, first, last)
