"""A fast network of what people play: games that the networks of people play with themselves.

Each move is drawn from the policy of one rating's network, so that positions are those which people
of that rating reach; the policies of all ratings are written, a folder of shards each. Trained on
such a folder (`kibitz train`), a sparse network does what the slow one does, as far as it can.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from cyclopts import App, Parameter

from kibitz.cli.output import EXIT_STOPPED, JsonFlag, at_least, emit
from kibitz.core.log import graceful_stop, progress
from kibitz.data.shard import RESULTS, UNKNOWN_RESULT, Game, Ply, provenance, shard_of
from kibitz.data.store import add
from kibitz.engine.levels import People
from kibitz.nets.encodings.leaves import leaves_of
from kibitz.position.board import Board
from kibitz.position.notation import absolute
from research.command import carry_out

app = App(
    name="distil",
    help="Games by the networks of people, to train a fast one on.",
    result_action="return_value",
)

SEATS = 256  # games at a time: a batch
SHORTEST = 20  # plies, from which on
ABANDONED = 0.02  # of the games end at every ply: people resign, or their time is up
COUNTS = 10_000  # visits that stand for a policy
LEAST = 20  # of them that a move has: likelihoods below that are noise


class Seat(NamedTuple):
    """A game that is being played."""

    board: Board
    rating: int  # of both players
    plies: dict[int, list[Ply]]  # by the rating whose policy they have


def games(people: People, random: np.random.Generator) -> Iterator[dict[int, Game]]:
    """Games without end, each with the policies of every rating."""
    seats = [_seat(people, random) for _ in range(SEATS)]
    while True:
        leaves = leaves_of([seat.board.positions() for seat in seats])
        said = {rating: people.likely(leaves, rating) for rating in people.ratings}
        for at, seat in enumerate(seats):
            span = slice(leaves.offsets[at], leaves.offsets[at + 1])
            codes = leaves.moves[span]
            drawn = int(random.choice(len(codes), p=said[seat.rating][span]))
            for rating, shares in said.items():
                visits = _visits(codes, shares[span])
                seat.plies[rating].append(Ply(int(codes[drawn]), visits=visits))
            seat.board.push(absolute(seat.board.position, int(codes[drawn])))
            if _is_over(seat.board, random):
                yield _finished(seat)
                seats[at] = _seat(people, random)


def _seat(people: People, random: np.random.Generator) -> Seat:
    return Seat(Board(), int(random.choice(people.ratings)), {r: [] for r in people.ratings})


def _visits(codes: np.ndarray, shares: np.ndarray) -> tuple[tuple[int, int], ...]:
    """A policy as counts."""
    counts = np.rint(COUNTS * shares).astype(int)
    kept = counts >= min(LEAST, counts.max())
    return tuple(zip(codes[kept].tolist(), counts[kept].tolist(), strict=True))


def _is_over(board: Board, random: np.random.Generator) -> bool:
    abandoned = len(board.moves) >= SHORTEST and random.random() < ABANDONED
    return abandoned or board.outcome(claim=True) is not None


def _finished(seat: Seat) -> dict[int, Game]:
    outcome = seat.board.outcome(claim=True)
    result = RESULTS[outcome.result] if outcome else UNKNOWN_RESULT
    source = {"kind": "people", "rating": seat.rating}
    return {
        rating: Game(tuple(plies), result=result, source=source)
        for rating, plies in seat.plies.items()
    }


@app.command(name="games")
def write_games(
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="Folder for a folder each.")],
    *,
    count: Annotated[int, Parameter(help="Games, about 55 positions each.")] = 20_000,
    piece: Annotated[int, Parameter(help="Games of a shard.")] = 500,
    seed: int = 0,
    json: JsonFlag = False,
) -> int:
    """Write games with what people of each rating that has a network would play."""
    at_least(1, count=count, piece=piece)
    people, waiting, positions = People(), list[dict[int, Game]](), 0
    with graceful_stop() as stop, progress("games", total=count) as bar:
        for number, game in enumerate(games(people, np.random.default_rng(seed)), start=1):
            waiting.append(game)
            bar.advance()
            last = number == count or stop.requested
            if last or len(waiting) == piece:
                positions += _write(output, people.ratings, waiting)
                waiting = []
            if last:
                break
    emit({"ratings": people.ratings, "positions": positions}, as_json=json)
    return EXIT_STOPPED if stop.requested else 0


def _write(output: Path, ratings: Sequence[int], played: list[dict[int, Game]]) -> int:
    """Add a shard to the folder of each rating; returns how many positions it has."""
    for rating in ratings:
        shard = shard_of([game[rating] for game in played], provenance(f"distil {rating}"))
        add(output / str(rating), shard, "people")
    return shard.plies


if __name__ == "__main__":
    sys.exit(carry_out(app))
