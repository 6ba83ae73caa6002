"""What centipawns and mates are worth, and labelled positions in CSV, joined to games again.

    win = sigmoid((cp - a) / b)    loss = sigmoid((-cp - a) / b)    draw = 1 - win - loss
    value = win - loss             a mate: value +-1, draw 0

An ordered logit in cp: its log-likelihood is concave in (a / b, 1 / b), so Newton's method finds
the one best pair from any start. The columns of a CSV are

    seed,game,fen,cp,mate,best,result

Scores are for the side to move; best is UCI; the result is White's. Lines of a game follow each
other. The move played is the one that leads to the next line's position; where none does, a new
record begins. A heading may name the columns in another order, and fewer of them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np

from kibitz.core.errors import InputError, KibitzError, shorten
from kibitz.data.shard import (
    UNKNOWN_END,
    UNKNOWN_RESULT,
    Header,
    Shard,
    counted,
    offsets_of,
    pack_starts,
)
from kibitz.position.attacks import square_name
from kibitz.position.fen import fen_of, read_fen
from kibitz.position.moves import MAX_MOVES, NO_MOVE, PROMOTION
from kibitz.position.play import recognise, reconstruct
from kibitz.position.state import new_positions

MATE = 32_000  # centipawns of a mate in no moves in arrays of scores; mates count down from it
LONGEST_MATE = 1_000
_STEPS = 60
_SMALL = 1e-12


class LabelModel(NamedTuple):
    """Centipawns to win, draw and loss; `a` is where a win is as likely as not, `b` the slope.

    The defaults were fitted to 622 thousand positions of balanced openings, searched by Stockfish
    17.1 at 2 000 nodes and played on at that strength with up to 4 % random moves.
    """

    a: float = 202.7
    b: float = 202.6


def wdl(cp: np.ndarray, model: LabelModel) -> tuple[np.ndarray, np.ndarray]:
    """Values and draw probabilities, float32 [N], of scores (float or int [N], see score_of)."""
    scores = np.asarray(cp, dtype=np.float64)
    win, loss = _sigmoid((scores - model.a) / model.b), _sigmoid((-scores - model.a) / model.b)
    values, draws = win - loss, 1.0 - win - loss
    mates = np.abs(scores) > MATE - LONGEST_MATE
    values[mates], draws[mates] = np.sign(scores[mates]), 0.0
    return values.astype(np.float32), draws.astype(np.float32)


@lru_cache(1 << 16)
def wdl_of_score(score: float, model: LabelModel) -> tuple[float, float]:
    """Value and draw probability of one score; most of them come again and again."""
    values, draws = wdl(np.array([score]), model)
    return float(values[0]), float(draws[0])


def score_of_value(value: float, model: LabelModel) -> float:
    """Centipawns that are worth a value in [-1, 1]; infinite for +-1.

    With x = exp(cp / b) and k = exp(a / b) the value is x / (x + k) - 1 / (1 + k x), which is a
    quadratic equation in x; it is solved for the positive side, where nothing cancels.
    """
    if abs(value) >= 1:
        return math.copysign(math.inf, value)
    k, size = math.exp(model.a / model.b), abs(value)
    half = size * (1 + k * k)
    x = (half + math.sqrt(half * half + 4 * k * k * (1 - size * size))) / (2 * k * (1 - size))
    return math.copysign(model.b * math.log(x), value)


def score_of(cp: int | None, mate: int | None) -> float:
    """One number for a score of a UCI engine, for the side to move; NaN if there is none.

    `mate 0` is said where the side to move has been mated.
    """
    if mate is not None:
        distance = min(abs(mate), LONGEST_MATE - 1)
        return float(MATE - distance if mate > 0 else distance - MATE)
    if cp is None:
        return math.nan
    return float(max(LONGEST_MATE - MATE, min(MATE - LONGEST_MATE, cp)))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * x))  # does not overflow
    return result


# --- fitting ------------------------------------------------------------------------------------


class Fit(NamedTuple):
    """The most likely model, its mean log-likelihood per position, and on how many."""

    model: LabelModel
    log_likelihood: float
    positions: int


def fit(cp: np.ndarray, results: np.ndarray) -> Fit:
    """Find a and b from scores [N] and results [N], both of the side to move; mates left out."""
    cp, results = np.asarray(cp, dtype=np.float64), np.asarray(results)
    used = (np.abs(cp) <= MATE - LONGEST_MATE) & np.isin(results, (-1, 0, 1))
    pairs, counts = np.unique(np.stack((cp[used], results[used])), axis=1, return_counts=True)
    signs = {sign for sign in (-1, 0, 1) if (pairs[1] == sign).any()}
    if signs != {-1, 0, 1}:
        fix = "use games that were won, drawn and lost"
        raise InputError("cannot fit the label model: some result never occurs", fix=fix)
    scores, outcomes = pairs
    at = np.array([1.0, 0.01])  # a / b and 1 / b
    best = _log_likelihood(at, scores, outcomes, counts)
    for _ in range(_STEPS):
        step = _newton_step(at, scores, outcomes, counts)
        while True:
            tried = at + step
            reached = _log_likelihood(tried, scores, outcomes, counts)
            if reached >= best or np.abs(step).max() < _SMALL:
                break
            step = step / 2
        gained, at, best = reached - best, tried, max(best, reached)
        if gained < 1e-9 * counts.sum():
            break
    model = LabelModel(float(at[0] / at[1]), float(1.0 / at[1]))
    return Fit(model, float(best / counts.sum()), int(counts.sum()))


def _parts(
    at: np.ndarray, scores: np.ndarray, outcomes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Win, loss and what was observed, each a probability per pair."""
    win, loss = _sigmoid(at[1] * scores - at[0]), _sigmoid(-at[1] * scores - at[0])
    draw = np.maximum(1.0 - win - loss, _SMALL)
    chance = np.where(outcomes == 1, win, np.where(outcomes == -1, loss, draw))
    return win, loss, np.maximum(chance, _SMALL)


def _log_likelihood(
    at: np.ndarray, scores: np.ndarray, outcomes: np.ndarray, counts: np.ndarray
) -> float:
    if at[0] <= 0 or at[1] <= 0:  # no room for draws, or worse scores win more
        return -math.inf
    return float(counts @ np.log(_parts(at, scores, outcomes)[2]))


def _newton_step(
    at: np.ndarray, scores: np.ndarray, outcomes: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """The step uphill, with the outer products of the gradients for the second derivatives."""
    win, loss, chance = _parts(at, scores, outcomes)
    steep_win, steep_loss = win * (1 - win), loss * (1 - loss)
    by_win = np.where(outcomes == 1, steep_win, np.where(outcomes == 0, -steep_win, 0.0)) / chance
    by_loss = (
        np.where(outcomes == -1, steep_loss, np.where(outcomes == 0, -steep_loss, 0.0)) / chance
    )
    gradients = np.stack((-by_win - by_loss, scores * (by_win - by_loss)))
    curvature = (gradients * counts) @ gradients.T
    step: np.ndarray = np.linalg.solve(curvature, gradients @ counts)
    return step


# --- labelled positions ---------------------------------------------------------------------------


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
    scores: np.ndarray  # float64 [N], see score_of
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
    try:
        names = [name.strip().lower() for name in _fields(heading)]
    except csv.Error:  # no heading, then, and named later as a line
        names = []
    if "fen" not in names:
        yield from filter(None, (heading,))
        yield from rest
        return
    yield "\n"
    unknown = [name for name in names if name not in COLUMNS]
    if unknown:
        say(f"columns that are not read: {', '.join(unknown)}")
    for line in rest:
        try:
            pairs = list(zip(names, _fields(line), strict=False))
        except csv.Error:  # it stays, and is named later
            yield line
            continue
        fields = dict(reversed(pairs))  # of two columns with one name, the first counts
        yield line if line.isspace() else ",".join(fields.get(name, "") for name in COLUMNS) + "\n"


def of_json(lines: Iterable[str]) -> Iterator[str]:
    """Our columns from lines of JSON as Lichess evaluates positions; the deepest search counts.

    Every position is a game of its own. A line that is something else stays, and is named later.
    """
    for number, line in enumerate(lines):
        try:
            record = msgspec.json.decode(line, type=_Evaluated)
        except msgspec.MsgspecError:
            yield line
            continue
        best = max(record.evals, key=lambda search: search.depth).pvs[0]
        sign = -1 if record.fen.split()[1:2] == ["b"] else 1  # Lichess's view is White's
        scores = ["" if score is None else str(sign * score) for score in (best.cp, best.mate)]
        move, fen = best.line.partition(" ")[0], " ".join([*record.fen.split(), "0", "1"][:6])
        run, game = divmod(number, 1 << 24)
        yield ",".join([str(run), str(game), fen, *scores, move, "\n"])


class _Line(msgspec.Struct):
    """A line of play of an evaluation, White's view."""

    line: str
    cp: int | None = None
    mate: int | None = None


class _Search(msgspec.Struct):
    """One search of a position, its best line first."""

    depth: int
    pvs: Annotated[list[_Line], msgspec.Meta(min_length=1)]


class _Evaluated(msgspec.Struct):
    """A position of Lichess's database of evaluations."""

    fen: str
    evals: Annotated[list[_Search], msgspec.Meta(min_length=1)]


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
