"""Shards made up on the spot: random games with searched values, visits, results and flags."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from kibitz.data.shard import Header, Shard, counted
from kibitz.position.fen import parse_fen
from kibitz.position.moves import MAX_MOVES, generate
from kibitz.position.packed import PACKED, new_packed, pack_position
from kibitz.position.play import play
from kibitz.position.state import copy_position, new_positions

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
STARTS = (
    START,
    "1n2k1n1/P1P3P1/8/8/8/8/p1p3p1/1N2K1N1 w - - 3 40",  # promotions
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",  # en passant
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 b - - 5 10",  # Black to move
    "1k2r1r1/pppppppp/8/8/8/8/PPPPPPPP/RKR4B w ACe - 0 1",  # what only Chess960 has
    "8/8/4k3/8/8/3QK3/8/8 w - - 0 1",  # soon mate or stalemate, many repetitions
)


def turned(move: int) -> int:
    """The ordinary move back."""
    return (move & 63) << 6 | (move >> 6) & 63


def random_shard(games: int, plies: int, seed: int = 0, starts: Sequence[str] = (START,)) -> Shard:
    """Games of up to `plies` plies; some values, draws, visits and results are unknown."""
    chance = random.Random(seed)
    records = new_packed(games)
    offsets, results, moves = [0], [], []
    values, draws, flags = [], [], []
    visit_offsets, visit_moves, visit_counts = [0], [], []
    now, after = new_positions(2)
    legal = np.zeros(MAX_MOVES, dtype=np.uint16)
    for game in range(games):
        copy_position(parse_fen(starts[game % len(starts)]), now)
        pack_position(now, 0, records[game])
        for ply in range(chance.randrange(1, plies + 1)):
            choices = legal[: generate(now, legal)].tolist()
            if not choices:
                if ply == 0:
                    raise AssertionError("a start position that is the end of its game")
                break
            last = ply and chance.random() < 0.01
            moves.append(0 if last else chance.choice(choices))
            values.append(chance.choice([np.nan, 0.0, *[chance.uniform(-1, 1)] * 6]))
            draws.append(chance.choice([np.nan, *[chance.random()] * 5]))
            flags.append(chance.choice([0, 0, 0, 1, 2]))
            visited = chance.sample(choices, chance.randrange(len(choices) + 1))
            visit_moves += visited
            visit_counts += [chance.randrange(1, 100) for _ in visited]
            visit_offsets.append(len(visit_moves))
            if last:
                break
            if ply > 1 and chance.random() < 0.4:  # back where the piece came from, if it may
                back = turned(moves[-3])
                moves[-1] = back if back in choices else moves[-1]
            play(now, after, moves[-1])
            now, after = after, now
        offsets.append(len(moves))
        results.append(chance.choice([-1, 0, 1, 2]))
    arrays: dict[str, np.ndarray] = {
        "starts": np.asarray(records, dtype=PACKED).view(np.uint64).reshape(games, 4),
        "offsets": np.array(offsets, dtype=np.int64),
        "results": np.array(results, dtype=np.int8),
        "ends": np.zeros(games, dtype=np.uint8),
        "sources": np.zeros(games, dtype=np.uint16),
        "seeds": np.arange(games, dtype=np.uint64),
        "moves": np.array(moves, dtype=np.uint16),
        "values": np.array(values, dtype=np.float32),
        "draws": np.array(draws, dtype=np.float32),
        "root_values": np.full(len(moves), np.nan, dtype=np.float32),
        "flags": np.array(flags, dtype=np.uint8),
        "visit_offsets": np.array(visit_offsets, dtype=np.int64),
        "visit_moves": np.array(visit_moves, dtype=np.uint16),
        "visit_counts": np.array(visit_counts, dtype=np.uint32),
    }
    return counted(Shard(Header(sources=({"kind": "random"},)), **arrays))
