"""How often the networks of people say what people played, by rating, on games not seen before.

Agreement is the share of moves that are the network's likeliest. The paper on Maia (arXiv
2006.01855) counts from the tenth ply on, only while the player has half a minute, and no bullet;
these are the `careful` moves here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from cyclopts import App, Parameter

from kibitz.cli.output import JsonFlag, columns, emit
from kibitz.core.errors import InputError
from kibitz.core.log import progress
from kibitz.data.pgn import pace_of
from kibitz.engine import Engine
from kibitz.engine.levels import People, blend, blunder_filtered_policy, human_level_of, policy_of
from kibitz.nets.discover import resolve, short_name
from kibitz.nets.encodings.leaves import leaves_of
from kibitz.nets.evaluators.batched import BatchedEvaluator
from kibitz.nets.load import load_batched
from kibitz.position.board import Board
from kibitz.position.notation import absolute
from kibitz.position.pgn import Game, read_games
from research.command import carry_out

app = App(
    name="people",
    help="Agreement of the networks of people with people.",
    result_action="return_value",
)

WIDTH = 200  # of a band of ratings, around its middle
FIRST_PLY, LEAST_SECONDS = 10, 30.0  # of a careful move
BULLET = ("ultrabullet", "bullet")
BLEND = "blend"  # of the two networks nearest to the player's rating


class Move(NamedTuple):
    """A move that was played, and the comment on it."""

    game: int
    rating: int
    careful: bool
    hits: dict[str, bool]  # by network, whether it was the likeliest
    shares: dict[str, float]  # and how likely it was


def ratings_of(game: Game) -> tuple[int, int] | None:
    """The ratings of White and Black, if both are given."""
    texts = [game.tags.get(name, "") for name in ("WhiteElo", "BlackElo")]
    return (int(texts[0]), int(texts[1])) if all(text.isdecimal() for text in texts) else None


Networks = Mapping[str, BatchedEvaluator]


def moves_of(game: Game, number: int, people: People, others: Networks) -> Iterator[Move]:
    """Every move of a game, both sides', with what `others` say beside the networks of people."""
    ratings, played = ratings_of(game), game.moves
    if ratings is None or not played:
        return
    is_bullet = pace_of(game.tags.get("TimeControl", "-")) in BULLET
    clocks = [node.clock() for node in game.tree.mainline()]
    board, lines = game.start, list[np.ndarray]()
    boards = list[Board]()
    for move in played:
        boards.append(board.copy())
        lines.append(boards[-1].positions())
        board.push(move)
    leaves = leaves_of(lines)
    likely = {network: people.likely(leaves, network) for network in people.ratings}
    theirs = {name: policy_of(network, leaves) for name, network in others.items()}
    for ply, move in enumerate(played):
        rating = ratings[ply % 2 if game.start.turn == "white" else 1 - ply % 2]
        span = slice(leaves.offsets[ply], leaves.offsets[ply + 1])
        codes = [absolute(boards[ply].position, int(code)) for code in leaves.moves[span]]
        said = {str(network): numbers[span] for network, numbers in likely.items()}
        weights = blend(rating, people.ratings)
        said[BLEND] = np.sum(
            [share * said[str(network)] for network, share in weights.items()], axis=0
        )
        said |= {name: numbers[span] for name, numbers in theirs.items()}
        at = codes.index(move)
        before = clocks[ply - 2] if ply >= 2 else None  # what was left before this move
        in_time = before is None or before >= LEAST_SECONDS
        careful = ply >= FIRST_PLY and in_time and not is_bullet
        hits = {name: int(numbers.argmax()) == at for name, numbers in said.items()}
        yield Move(number, rating, careful, hits, {n: float(s[at]) for n, s in said.items()})


class Agreement(NamedTuple):
    """A band of ratings."""

    band: int  # its middle
    careful: bool
    games: int
    moves: int
    agreement: dict[str, float]  # in per cent, by network
    error: float  # 95 %, of the blend's, by games: the moves of one are not independent
    share: float  # mean probability that the blend gives to the move played, in per cent


def agreements(moves: list[Move]) -> Iterator[Agreement]:
    """By bands, all moves and the careful ones."""
    bands = sorted({_band(move.rating) for move in moves})
    for careful in (False, True):
        for band in bands:
            chosen = [m for m in moves if _band(m.rating) == band and m.careful >= careful]
            if chosen:
                yield _agreement(band, careful, chosen)


def _band(rating: int) -> int:
    return 100 + WIDTH * ((rating - 100 + WIDTH // 2) // WIDTH)


def _agreement(band: int, careful: bool, moves: list[Move]) -> Agreement:
    rates = {
        name: 100 * float(np.mean([move.hits[name] for move in moves])) for name in moves[0].hits
    }
    residuals: dict[int, float] = {}
    for move in moves:
        surplus = move.hits[BLEND] - rates[BLEND] / 100
        residuals[move.game] = residuals.get(move.game, 0.0) + surplus
    spread = float(np.sqrt(sum(value**2 for value in residuals.values())))
    share = 100 * float(np.mean([move.shares[BLEND] for move in moves]))
    error = 196 * spread / len(moves)
    return Agreement(band, careful, len(residuals), len(moves), rates, error, share)


@app.default
def agreement(
    files: Annotated[list[Path], Parameter(help="PGN with the tags WhiteElo and BlackElo.")],
    *,
    network: Annotated[
        tuple[str, ...], Parameter(help="Another network, as a fast one; may be repeated.")
    ] = (),
    games: Annotated[int | None, Parameter(help="Read only so many.")] = None,
    json: JsonFlag = False,
) -> None:
    """Print agreement by bands of ratings."""
    people, moves = People(), list[Move]()
    others = {short_name(name): load_batched(resolve(name)) for name in network}
    with progress("games", total=games) as bar:
        every = (game for file in files for game in read_games(file))
        for number, game in enumerate(islice(every, games)):
            moves += moves_of(game, number, people, others)
            bar.advance()
    if not moves:
        fix = "give games with the tags WhiteElo and BlackElo"
        raise InputError("no move of a rated player", value=[str(file) for file in files], fix=fix)
    bands = list(agreements(moves))
    facts = {"files": [file.name for file in files], "bands": [row._asdict() for row in bands]}
    emit(facts, as_json=json, table=None if json else _table(bands))


def _table(bands: list[Agreement]) -> Any:
    names = list(bands[0].agreement)
    head = ("rating", "moves of", "games", "moves", *names, "+/-", f"share of {BLEND}")
    rows = [
        (
            f"{row.band - WIDTH // 2} to {row.band + WIDTH // 2 - 1}",
            "careful" if row.careful else "all",
            row.games,
            row.moves,
            *(f"{row.agreement[name]:.1f}" for name in names),
            f"{row.error:.1f}",
            f"{row.share:.1f}",
        )
        for row in bands
    ]
    return columns(head, rows)


@app.command
def levels(
    files: Annotated[list[Path], Parameter(help="PGN with the tags WhiteElo and BlackElo.")],
    *,
    positions: Annotated[int, Parameter(help="Of each level.")] = 400,
    json: JsonFlag = False,
) -> None:
    """Print how often levels would play what players of their rating played.

    Every level is shown careful moves of its band, the first of the files.
    """
    people, measured = People(), list[dict[str, Any]]()
    for rating in range(1100, 1901, 200):
        level = human_level_of(rating)
        assert level is not None
        shares: list[tuple[float, float, bool]] = []
        with Engine(hash=16, limit_strength=True, elo=rating) as engine:
            for board, move in islice(_asked(files, rating), positions):
                raw = people.shares(board, rating)
                engine.play(board, nodes=level.nodes)
                report = engine.stats()
                assert report is not None
                odds = blunder_filtered_policy(report, raw, level)
                likeliest = max(odds, key=odds.__getitem__) == move
                shares.append((raw[move], odds.get(move, 0.0), likeliest))
        means = 100 * np.mean(shares, axis=0)
        names = ("share", "share_of_level", "agreement_of_level")
        row = {"rating": rating, "positions": len(shares)}
        measured.append(row | dict(zip(names, means.tolist(), strict=True)))
    rows = [
        tuple(f"{n:.1f}" if isinstance(n, float) else n for n in row.values()) for row in measured
    ]
    emit({"levels": measured}, as_json=json, table=columns(tuple(measured[0]), rows))


def _asked(files: list[Path], rating: int) -> Iterator[tuple[Board, Any]]:
    """Positions after the opening with what a player of the band of a rating played there."""
    for game in (game for file in files for game in read_games(file)):
        ratings, board = ratings_of(game), game.start
        if ratings is None or pace_of(game.tags.get("TimeControl", "-")) in BULLET:
            continue
        for ply, move in enumerate(game.moves):
            if ply >= FIRST_PLY and _band(ratings[ply % 2]) == rating:
                yield board.copy(), move
            board.push(move)


if __name__ == "__main__":
    sys.exit(carry_out(app))
