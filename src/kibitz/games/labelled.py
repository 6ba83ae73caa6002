"""Labelled positions in CSV, with games put together again; CSV lines -> **labelled** -> shard.

    seed,game,fen,cp,mate,best,result

Scores are for the side to move, one of cp and mate is given; best is UCI; the result is White's.
Lines of a game follow each other. The move played is the one that leads to the next line's
position; where none does, a new record begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from kibitz.errors import InputError, KibitzError
from kibitz.games.combine import offsets_of
from kibitz.games.labels import LabelModel, score_of, wdl
from kibitz.games.link import link, recognise
from kibitz.games.record import pack_starts
from kibitz.games.shard import UNKNOWN_END, UNKNOWN_RESULT, Header, Shard, counted
from kibitz.position.fen import fen_of, read_fen
from kibitz.position.moves import MAX_MOVES, NO_MOVE, PROMOTION
from kibitz.position.squares import square_name
from kibitz.position.state import new_positions

COLUMNS = 7
_GAME_BITS = 24  # of a record's seed; above them is the seed of the run
_SQUARES = {square_name(square): square for square in range(64)}
_RESULTS = {"1": 1, "0": 0, "-1": -1, "": UNKNOWN_RESULT}
_PIECES = {"": 0, "n": PROMOTION, "b": PROMOTION + 1, "r": PROMOTION + 2, "q": PROMOTION + 3}


class Lines(NamedTuple):
    """The parsed columns of N lines."""

    seeds: np.ndarray  # uint64 [N]: run and game, so that all records of a game share one
    positions: np.ndarray  # POSITION [N]
    scores: np.ndarray  # float64 [N], see labels.score_of
    best: np.ndarray  # uint16 [N], as link.recognise wants them
    results: np.ndarray  # int8 [N], White's view


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


def parse(lines: Sequence[str], name: str = "lines", first: int = 1) -> Lines:
    """Read lines; an error names the file and the line."""
    rows = [line for line in lines if not line.isspace()]
    count = len(rows)
    seeds, scores = np.zeros(count, dtype=np.uint64), np.zeros(count)
    positions = new_positions(count)
    best, results = np.zeros(count, dtype=np.uint16), np.zeros(count, dtype=np.int8)
    for row, line in enumerate(rows):
        try:
            seed, game, fen, cp, mate, move, result = line.rstrip("\r\n").split(",")
            seeds[row] = (int(seed) << _GAME_BITS) + int(game)
            read_fen(fen, positions, row)
            scores[row] = score_of(int(cp) if cp else None, int(mate) if mate else None)
            best[row], results[row] = _squares(move), _RESULTS[result]
        except (ValueError, KeyError, OverflowError) as error:
            why = error.what if isinstance(error, KibitzError) else "not a labelled position"
            fix = "expected seed,game,fen,cp,mate,best,result"
            where = f"{name}, line {first + row}"
            raise InputError(f"{where}: {why}", value=line.strip(), fix=fix) from error
    return Lines(seeds, positions, scores, best, results)


def _squares(move: str) -> int:
    """Squares and promotion of a move in UCI, 0 for none."""
    if not move:
        return 0
    return _SQUARES[move[:2]] | _SQUARES[move[2:4]] << 6 | _PIECES[move[4:]] << 12


def shard_of_lines(
    lines: Lines, model: LabelModel, source: dict[str, Any], provenance: dict[str, Any]
) -> Shard:
    """The games of the lines; best moves become one visit each."""
    count = len(lines.scores)
    moves, best = np.zeros(count, dtype=np.uint16), np.zeros(count, dtype=np.uint16)
    buffer = np.zeros(MAX_MOVES, dtype=np.uint16)
    link(lines.positions, lines.seeds, buffer, new_positions(1), moves)
    wrong = recognise(lines.positions, lines.best, buffer, best)
    if wrong >= 0:
        fen = fen_of(lines.positions[wrong])
        raise InputError("labels: the best move is illegal in", value=fen, fix="mend the file")
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
