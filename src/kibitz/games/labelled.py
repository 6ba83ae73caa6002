"""Labelled positions in CSV, with games put together again.

    seed,game,fen,cp,mate,best,result

Scores are for the side to move; best is UCI; the result is White's. Lines of a game follow each
other. The move played is the one that leads to the next line's position; where none does, a new
record begins. A heading may name the columns in another order, and fewer of them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from kibitz.errors import InputError, KibitzError, shorten
from kibitz.games.combine import offsets_of
from kibitz.games.labels import LONGEST_MATE, LabelModel, score_of, wdl
from kibitz.games.reconstruct import recognise, reconstruct
from kibitz.games.record import pack_starts
from kibitz.games.shard import UNKNOWN_END, UNKNOWN_RESULT, Header, Shard, counted
from kibitz.position.fen import fen_of, read_fen
from kibitz.position.moves import MAX_MOVES, NO_MOVE, PROMOTION
from kibitz.position.squares import square_name
from kibitz.position.state import new_positions

COLUMNS = ("seed", "game", "fen", "cp", "mate", "best", "result")
MOST_CENTIPAWNS = 100_000  # which some programs write for a mate
GAME_BITS = 24  # of a record's seed; above them is the seed of the run
_PEEKED = 20  # lines that tell whether a file holds positions
_SQUARES = {square_name(square): square for square in range(64)}
_RESULTS = {"1": 1, "0": 0, "-1": -1, "": UNKNOWN_RESULT}
_PIECES = {"": 0, "n": PROMOTION, "b": PROMOTION + 1, "r": PROMOTION + 2, "q": PROMOTION + 3}


class Lines(NamedTuple):
    """The parsed columns of N lines."""

    seeds: np.ndarray  # uint64 [N]: run and game, so that all records of a game share one
    positions: np.ndarray  # POSITION [N]
    scores: np.ndarray  # float64 [N], see labels.score_of
    best: np.ndarray  # uint16 [N]: legal moves of the side to move, NO_MOVE for none
    results: np.ndarray  # int8 [N], White's view
    bad: tuple[str, ...] = ()  # lines that were skipped: file, line and reason


def chunks(file: Iterable[str], plies: int) -> Iterator[tuple[int, list[str]]]:
    """Lines of whole games, at least so many but for the last, with the number of the first."""
    lines: list[str] = []
    first = 1
    for number, line in enumerate(file, start=1):
        if len(lines) >= plies and _game_of(line) != _game_of(lines[-1]):
            yield first, lines
            first, lines = number, []
        lines.append(line)
    if lines:
        yield first, lines


def _game_of(line: str) -> str:
    return ",".join(line.split(",", 2)[:2])


def in_order(lines: Iterable[str], say: Callable[[str], None]) -> Iterator[str]:
    """The lines with the columns in our order; a heading becomes an empty line.

    A heading is a first line with the column `fen`. Columns it does not name are empty; `say`
    hears of those that are not known here.
    """
    rest = iter(lines)
    heading = next(rest, "").removeprefix("\ufeff")
    names = [name.strip().lower() for name in _fields(heading)]
    if "fen" not in names:
        yield from filter(None, (heading,))
        yield from rest
        return
    yield "\n"
    unknown = [name for name in names if name not in COLUMNS]
    if unknown:
        say(f"columns that are not read: {', '.join(unknown)}")
    for line in rest:
        pairs = list(zip(names, _fields(line), strict=False))
        fields = dict(reversed(pairs))  # of two columns with one name, the first counts
        yield line if line.isspace() else ",".join(fields.get(name, "") for name in COLUMNS) + "\n"


def _fields(line: str) -> list[str]:
    return next(csv.reader([line.rstrip("\r\n")]), [])


def peek(lines: Iterable[str]) -> tuple[list[str], str]:
    """The first lines of a file, and why it holds no positions; an empty text if it does."""
    first = list(islice(lines, _PEEKED))
    parsed = parse(first)
    faults = () if len(parsed.scores) else (*parsed.bad, "no position in it")
    return first, next(iter(faults), "")


def parse(lines: Sequence[str], first: int = 1) -> Lines:
    """Read lines, of which the first has this number in its file; bad ones are left out, named."""
    numbers = [number for number, line in enumerate(lines, first) if not line.isspace()]
    count = len(numbers)
    seeds, scores = np.zeros(count, dtype=np.uint64), np.zeros(count)
    positions = new_positions(count)
    written, results = np.zeros(count, dtype=np.uint16), np.zeros(count, dtype=np.int8)
    bad: dict[int, str] = {}
    for row, number in enumerate(numbers):
        line = lines[number - first]
        try:
            seed, game, fen, cp, mate, move, result = line.rstrip("\r\n").split(",")
            seeds[row] = _seed(int(seed or 0), int(game or 0))
            read_fen(fen, positions, row)
            scores[row] = _score(cp, mate)
            written[row], results[row] = _squares(move), _RESULTS[result]
        except (ValueError, KeyError, OverflowError) as error:
            why = error.what if isinstance(error, KibitzError) else "not a labelled position"
            bad[row] = f"line {number}: {why}: {shorten(repr(line.strip()))}"
    sound = np.array([row not in bad for row in range(count)], dtype=bool)
    best = np.zeros(count, dtype=np.uint16)
    recognise(positions, np.where(sound, written, 0).astype(np.uint16), _moves(), best)
    for row in np.flatnonzero(sound & (written != 0) & (best == NO_MOVE)).tolist():
        move, fen = lines[numbers[row] - first].split(",")[5], fen_of(positions[row])
        bad[row] = f"line {numbers[row]}: the best move {move!r} is illegal in {fen!r}"
        sound[row] = False
    texts = tuple(bad[row] for row in sorted(bad))
    return Lines(seeds[sound], positions[sound], scores[sound], best[sound], results[sound], texts)


def _seed(run: int, game: int) -> int:
    if not 0 <= game < 1 << GAME_BITS or not 0 <= run < 1 << 64 - GAME_BITS:
        raise InputError(f"seed {run}, game {game}: out of range")
    return (run << GAME_BITS) + game


def _score(cp: str, mate: str) -> float:
    """The score of a line; a mate counts where both are given."""
    centipawns, moves = int(cp) if cp else None, int(mate) if mate else None
    if moves is not None and abs(moves) > LONGEST_MATE:
        raise InputError(f"a mate in {moves} is longer than {LONGEST_MATE}")
    if centipawns is not None and abs(centipawns) > MOST_CENTIPAWNS:
        raise InputError(f"a score of {centipawns} is beyond {MOST_CENTIPAWNS} centipawns")
    return score_of(centipawns, moves)


def _squares(move: str) -> int:
    """Squares and promotion of a move in UCI, 0 for none."""
    if not move:
        return 0
    if move[:2] == move[2:4]:
        raise InputError(f"the best move {move!r} goes nowhere")
    return _SQUARES[move[:2]] | _SQUARES[move[2:4]] << 6 | _PIECES[move[4:]] << 12


def _moves() -> np.ndarray:
    """Room for the legal moves of a position."""
    return np.zeros(MAX_MOVES, dtype=np.uint16)


def shard_of_lines(
    lines: Lines, model: LabelModel, source: dict[str, Any], provenance: dict[str, Any]
) -> Shard:
    """The games of the lines; best moves become one visit each."""
    count = len(lines.scores)
    moves, best = np.zeros(count, dtype=np.uint16), lines.best
    reconstruct(lines.positions, lines.seeds, _moves(), new_positions(1), moves)
    begins = np.ones(count, dtype=bool)
    begins[1:] = moves[:-1] == NO_MOVE
    rows = np.flatnonzero(begins)
    values, draws = wdl(lines.scores, model)
    header = Header(
        sources=(source | {"labels": model._asdict()},), ends=(UNKNOWN_END,), provenance=provenance
    )
    shard = Shard(
        header=header,
        starts=pack_starts(lines.positions[rows]),
        offsets=offsets_of(np.diff(np.append(rows, count))),
        results=lines.results[rows],
        ends=np.zeros(len(rows), dtype=np.uint8),
        sources=np.zeros(len(rows), dtype=np.uint16),
        seeds=lines.seeds[rows],
        moves=moves,
        values=values,
        draws=draws,
        root_values=np.full(count, math.nan, dtype=np.float32),
        flags=np.zeros(count, dtype=np.uint8),
        visit_offsets=offsets_of((best != NO_MOVE).astype(np.int64)),
        visit_moves=best[best != NO_MOVE],
        visit_counts=np.ones(int((best != NO_MOVE).sum()), dtype=np.uint32),
    )
    return counted(shard)
