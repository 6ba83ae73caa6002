"""The same encodings with the compiler off, where plain Python runs the kernels."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import hashlib
import numpy as np
from kibitz.position.packed import new_packed, pack_positions, unpack_positions
from kibitz.nets.encodings.features import TACTICS, THREATS, batch_features
from kibitz.nets.encodings.planes import LAYOUTS, ORDERS, encode, policy_indices
from kibitz.nets.encodings.leaves import leaves_of, swap_colours
from kibitz.nets.encodings.move_features import batch_move_features
from kibitz.nets.encodings.planes import pack_batch, unpack_batch
from kibitz.position.fen import parse_fen
from kibitz.position.play import play
from kibitz.position.state import new_positions

FENS = (
    "r3k2r/pP3ppp/8/3pP3/8/8/PPP2PPP/R3K2R w KQkq d6 0 9",
    "1k2r1r1/8/8/8/8/8/5p1P/RKR4B b ACe - 11 30",
)
np.seterr(over="ignore")
games = []
for fen in FENS:
    game = new_positions(3)
    game[0] = parse_fen(fen)
    for ply in range(2):
        play(game[ply], game[ply + 1], int(leaves_of([game[: ply + 1]], 1).moves[0]))
    games += [game[:1], game]
leaves = leaves_of(games)
digest = hashlib.sha256(leaves.moves.tobytes())
for shown in (leaves, swap_colours(leaves)):
    for name, layout in LAYOUTS.items():
        out = np.zeros((len(games), layout.planes, 8, 8), dtype=np.float32)
        encode(name, shown, out)
        digest.update(out.tobytes())
for order in ORDERS:
    for encoding in ("history109", "oriented22", "sparse768"):
        out = np.zeros(len(leaves.moves), dtype=np.int32)
        policy_indices(order, encoding, leaves, out)
        digest.update(out.tobytes())
first = leaves.positions[:, 0]
indices = np.zeros((2, 32 * len(games)), dtype=np.int32)
offsets = np.zeros(len(games) + 1, dtype=np.int64)
for detail in (THREATS, TACTICS):
    batch_features(first, detail, indices, offsets)
    digest.update(indices.tobytes())
digest.update(batch_move_features(leaves).tobytes())
words, packed = np.zeros((len(games), 18), dtype=np.uint64), new_packed(len(games))
counts, back = np.zeros(len(games), dtype=np.uint8), new_positions(len(games))
pack_batch(first, counts, words)
unpack_batch(words, back, counts)
assert np.array_equal(back, first)
pack_positions(first, counts, packed)
unpack_positions(packed, back, counts)
assert np.array_equal(back, first)
digest.update(words.tobytes() + packed.tobytes())
print(digest.hexdigest())
"""


def digest_of(**environment: str) -> str:
    command = [sys.executable, "-c", SCRIPT]
    run = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_plain_python_agrees_with_the_compiled_kernels() -> None:
    assert digest_of(NUMBA_DISABLE_JIT="1") == digest_of(NUMBA_DISABLE_JIT="0")
