"""How fast positions are encoded on one core: encoding -> **positions a second** -> bench, docs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.bench import Work, best_rate
from kibitz.encoding.features import MAX_ACTIVE, PLAIN, TACTICS, THREATS, batch_features
from kibitz.encoding.layouts import LAYOUTS, ORDERS, encode, encode_words, policy_indices
from kibitz.encoding.leaves import Leaves, random_leaves
from kibitz.encoding.packing import WORDS, pack_batch, unpack_batch
from kibitz.position.compact import new_compact, pack_compact_batch, unpack_compact_batch
from kibitz.position.state import new_positions


class Speed(NamedTuple):
    """One line of the table."""

    layout: str
    positions_per_second: int
    bytes_per_position: float  # of what is written


def encoding_speed(batch: int = 512, rounds: int = 5) -> list[Speed]:
    """Measure every layout, policy order, feature set and packed form; the best round counts."""
    leaves = random_leaves(batch)
    return [
        Speed(name, round(best_rate(work, batch, rounds)), round(out.nbytes / batch, 1))
        for name, work, out in [*_plane_works(leaves), *_policy_works(leaves), *_others(leaves)]
    ]


def _plane_works(leaves: Leaves) -> list[tuple[str, Work, np.ndarray]]:
    return [work for name in LAYOUTS for work in _layout_works(name, leaves)]


def _layout_works(name: str, leaves: Leaves) -> list[tuple[str, Work, np.ndarray]]:
    batch, planes = len(leaves.known), LAYOUTS[name].planes
    out = np.zeros((batch, planes, 8, 8), dtype=np.float32)
    words = np.zeros((batch, planes), dtype=np.uint64)
    return [
        (name, lambda: encode(name, leaves, out), out),
        (f"{name} words", lambda: encode_words(name, leaves, words), words),
    ]


def _policy_works(leaves: Leaves) -> list[tuple[str, Work, np.ndarray]]:
    out = np.zeros(len(leaves.moves), dtype=np.int32)
    return [(f"policy {order}", _policy_work(order, leaves, out), out) for order in ORDERS]


def _policy_work(order: str, leaves: Leaves, out: np.ndarray) -> Work:
    encoding = "sparse768" if order == "table1858" else "oriented22"
    return lambda: policy_indices(order, encoding, leaves, out)


def _others(leaves: Leaves) -> list[tuple[str, Work, np.ndarray]]:
    positions, batch = np.ascontiguousarray(leaves.positions[:, 0]), len(leaves.known)
    indices = np.zeros((1, MAX_ACTIVE * batch), dtype=np.int32)
    offsets = np.zeros(batch + 1, dtype=np.int64)
    counts = np.zeros(batch, dtype=np.uint8)
    words, packed = np.zeros((batch, WORDS), dtype=np.uint64), new_compact(batch)
    back = new_positions(batch)
    return [
        ("sparse768", lambda: batch_features(positions, PLAIN, indices, offsets), indices),
        ("threat3072", lambda: batch_features(positions, THREATS, indices, offsets), indices),
        ("tactic3072", lambda: batch_features(positions, TACTICS, indices, offsets), indices),
        ("pack 18 words", lambda: pack_batch(positions, counts, words), words),
        ("unpack 18 words", lambda: unpack_batch(words, back, counts), back),
        ("pack 32 bytes", lambda: pack_compact_batch(positions, counts, packed), packed),
        ("unpack 32 bytes", lambda: unpack_compact_batch(packed, back, counts), back),
    ]
