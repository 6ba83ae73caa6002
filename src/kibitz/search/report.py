"""What a search says: scores for people and programs, and reports with lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from kibitz.position.board import Board
from kibitz.position.notation import Move, absolute
from kibitz.search.options import Settings
from kibitz.search.proof import DRAW, TABLEBASE, UNPROVED
from kibitz.search.tablebase import RootMove

PERMILLE = 1000
# Centipawns for each unit of the logarithm of the odds: near 0, where the network is more modest
# than Stockfish, and far from it; the logarithm half-way. The fit: research/README.md.
NEAR_SLOPE, FAR_SLOPE, HALF_WAY = 400.0, 280.0, 0.65
# Below so many centipawns less than half is shown of a score, as little material wins less: so
# many with bare kings, none from so much material on; and in endings with bishops of opposite
# colours alone.
DRAWISH, ENOUGH_MATERIAL, OPPOSITE_BISHOPS = 180.0, 50, 200.0
# The score of a 50 % chance to win, and the spread of results around it.
EVEN_CHANCE, SPREAD = 100.0, 50.0
NEARLY_SURE = 1.0 - 1e-9  # 6 000 centipawns
PIECE_VALUES = {"pawns": 1, "knights": 3, "bishops": 3, "rooks": 5, "queens": 9}
DARK_SQUARES = 0xAA55AA55AA55AA55
# A win by tablebase, less the plies to the next capture, pawn move or mate; Stockfish's number.
TABLE_CENTIPAWNS = 20_000

TANGENT_CENTIPAWNS, TANGENT_ANGLE = 45.0, 1.56728071628
TANGENT_2019_CENTIPAWNS, TANGENT_2019_ANGLE = 111.714640912, 1.5620688421


class Wdl(NamedTuple):
    """Wins, draws and losses of the side to move, per mille; they add up to 1000."""

    wins: int
    draws: int
    losses: int


class Score(NamedTuple):
    """`cp` centipawns for the side to move, or `mate` in moves, negative when it is mated."""

    kind: Literal["cp", "mate"]
    amount: int

    def __str__(self) -> str:
        return f"{self.kind} {self.amount}"


def chances(value: float, draw: float) -> tuple[float, float]:
    """Probabilities to win and to lose of a value in [-1, 1] and a probability of a draw.

    >>> chances(0.25, 0.5)
    (0.375, 0.125)
    """
    value = min(1.0, max(-1.0, value))
    draw = min(1.0 - abs(value), max(0.0, draw))
    return (1.0 - draw + value) / 2.0, (1.0 - draw - value) / 2.0


def wdl_of(value: float, draw: float) -> Wdl:
    """Per mille of wins, draws, losses.

    >>> wdl_of(0.25, 0.5)
    Wdl(wins=375, draws=500, losses=125)
    """
    win, loss = chances(value, draw)
    wins = round(PERMILLE * win)
    losses = min(round(PERMILLE * loss), PERMILLE - wins)
    return Wdl(wins, PERMILLE - wins - losses, losses)


# --- centipawns -----------------------------------------------------------------------------------


def centipawns_common(value: float, drawish: float = 0.0) -> float:
    """On the common scale, with what is `drawish` in the position.

    It grows with the value: the slopes lie between NEAR_SLOPE and FAR_SLOPE less an eighth of their
    difference, and x^3 / (x^2 + d^2) grows with x.

    >>> [round(centipawns_common(value)) for value in (0.13, 0.5, 0.99)]
    [100, 342, 1492]
    >>> round(centipawns_common(0.13, drawish=180.0))
    24
    """
    value = min(NEARLY_SURE, max(-NEARLY_SURE, value))
    odds = 2.0 * math.atanh(value)  # their logarithm
    nearness = 1.0 / (1.0 + (odds / HALF_WAY) ** 2)
    score = odds * (FAR_SLOPE + (NEAR_SLOPE - FAR_SLOPE) * nearness)
    if not score:
        return 0.0
    lost = drawish / score
    return score / (1.0 + lost * lost)


def drawish_below(position: np.record) -> float:
    """Centipawns below which less than half of a score is shown in a position, 0 for none."""
    if has_opposite_bishops(position):
        return OPPOSITE_BISHOPS
    lacking = max(0, ENOUGH_MATERIAL - material(position))
    return DRAWISH * lacking / ENOUGH_MATERIAL


def material(position: np.record) -> int:
    """Of both sides: 1 for a pawn, 3 for a knight or bishop, 5 for a rook, 9 for a queen."""
    return sum(value * int(position[kind]).bit_count() for kind, value in PIECE_VALUES.items())


def has_opposite_bishops(position: np.record) -> bool:
    """Whether each side has one bishop, the two on squares of different colours, and pawns only."""
    if int(position.knights | position.rooks | position.queens):
        return False
    bishops = int(position.bishops)
    one_each = all(
        (bishops & int(side)).bit_count() == 1 for side in (position.own, position.their)
    )
    return one_each and (bishops & DARK_SQUARES).bit_count() == 1


def spelled(score: Score) -> str:
    """A score for people, for the side to move: +0.25 or #3."""
    return f"#{score.amount}" if score.kind == "mate" else f"{score.amount / 100:+.2f}"


def common_wdl(score: Score, draw: bool = False) -> Wdl:
    """Wins, draws and losses that a score on the common scale stands for; `draw`: it is proved.

    >>> common_wdl(Score("cp", 100)), common_wdl(Score("mate", -2))
    (Wdl(wins=500, draws=482, losses=18), Wdl(wins=0, draws=0, losses=1000))
    """
    if draw:
        return Wdl(0, PERMILLE, 0)
    if score.kind == "mate":
        return Wdl(PERMILLE, 0, 0) if score.amount > 0 else Wdl(0, 0, PERMILLE)
    wins, losses = (
        round(PERMILLE / (1.0 + math.exp(min(700.0, (EVEN_CHANCE - amount) / SPREAD))))
        for amount in (score.amount, -score.amount)
    )
    return Wdl(wins, PERMILLE - wins - losses, losses)


def centipawns_tangent(value: float) -> float:
    """lc0: 45 tan(1.56728 value)."""
    return TANGENT_CENTIPAWNS * math.tan(TANGENT_ANGLE * min(1.0, max(-1.0, value)))


def centipawns_2019(value: float) -> float:
    """ChessCoach and DLChess: 111.7 tan(1.562 value); 12800 for a win."""
    return TANGENT_2019_CENTIPAWNS * math.tan(TANGENT_2019_ANGLE * min(1.0, max(-1.0, value)))


def value_of_2019(centipawns: float) -> float:
    """The value in [-1, 1] that `centipawns_2019` turns into those centipawns."""
    return math.atan(centipawns / TANGENT_2019_CENTIPAWNS) / TANGENT_2019_ANGLE


COMMON = "WDL_mu"
CENTIPAWNS: dict[str, Callable[[float], float]] = {
    COMMON: centipawns_common,
    "centipawn": centipawns_tangent,
    "centipawn_2019": centipawns_2019,
}


def centipawns(score_type: str, value: float) -> int:
    """Whole centipawns of a value for the side to move, by the name of ScoreType."""
    return round(CENTIPAWNS[score_type](value))


# --- scores of proofs -----------------------------------------------------------------------------


def mate_moves(proof: int) -> int | None:
    """Moves until mate, negative for the one who is mated; None if the proof is not of a mate.

    `proof` is that of a move (see proof.py), so mating with it is mate in 1.
    """
    if proof in (0, DRAW) or abs(proof) >= TABLEBASE:
        return None
    return (proof + 1) // 2 if proof > 0 else -(-proof // 2)


def score_of(
    score_type: str, value: float, proof: int, distance: int = 0, position: np.record | None = None
) -> Score:
    """Centipawns, or the mate if one is proved; `distance` in plies is that of a tablebase's win.

    `position` is the root's, whose material counts on the common scale.

    >>> str(score_of("WDL_mu", 1.0, TABLEBASE, distance=19))
    'cp 19981'
    """
    mate = mate_moves(proof)
    if mate is not None:
        return Score("mate", mate)
    if abs(proof) == TABLEBASE:
        amount = TABLE_CENTIPAWNS - abs(distance)
        return Score("cp", amount if proof > 0 else -amount)
    if score_type == COMMON and position is not None:
        return Score("cp", round(centipawns_common(value, drawish_below(position))))
    return Score("cp", centipawns(score_type, value))


# --- reports --------------------------------------------------------------------------------------
#
# What a search reports: scores, lines, the moves of the root, counts; the same for every kind.
#
# All values are for the side to move at the root; moves are in White's view. How values become
# scores stands above.


# --- reports --------------------------------------------------------------------------------------


class MoveStatistics(NamedTuple):
    """One move of the root; values in [-1, 1] for the player who makes it."""

    move: Move
    code: int  # 16 bits, in the view of the side to move
    edge: int
    visits: int
    pending: int
    prior: float
    value: float  # average of the visits, or what is proved; unvisited: the first-play value
    draw: float  # average probability of a draw
    deviation: float  # standard deviation of the values of the visits
    bonus: float  # what the rule's exploration adds to the value; 0 for rules without one
    raw: float | None  # the evaluator's own value; None if the move has no node
    proof: int  # see proof.py; the tree's, or else the tablebases'
    table: RootMove | None = None  # what tablebases say of the move
    scored: bool = True  # False: the search has no value of the move; this is the network's

    @property
    def score(self) -> float:
        """Value and exploration, by which the rule selects."""
        return self.value + self.bonus


class RootStatistics(NamedTuple):
    """The root itself; values in [-1, 1] for the side to move."""

    visits: int
    pending: int
    value: float
    draw: float
    raw: float
    proof: int  # for the side to move, of its best move
    tried_mass: float  # prior probability of the moves that have been visited


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What a search has counted."""

    nodes: int = 0  # playouts of this search
    milliseconds: int = 0
    depth: int = 0  # see limits.depth_of
    seldepth: int = 0  # plies of the longest playout
    tbhits: int = 0
    hashfull: int = 0  # per mille
    mean_depth: float = 0.0  # plies of an average playout
    no_mate: int = 0  # moves within which there is none, if that was the question
    notes: tuple[str, ...] = ()  # what this kind of search says of its work

    @property
    def nps(self) -> int:
        """Nodes a second."""
        return round(1000 * self.nodes / max(1, self.milliseconds))


class Line(NamedTuple):
    """A move of the root and what the search expects after it."""

    number: int  # 1 for the best
    score: Score
    wdl: Wdl
    value: float
    moves: tuple[Move, ...]  # empty if the game is over
    common: Score | None = None  # the score on the common scale; None: as `score`

    @property
    def lacks(self) -> int:
        """Plies that the moves are short of the mate, 0 if they are not or it is none."""
        kind, amount = self.score
        plies = 2 * amount - 1 if amount > 0 else -2 * amount
        return max(0, plies - len(self.moves)) if kind == "mate" else 0


@dataclass(frozen=True, kw_only=True)
class Report(Totals):
    """How a search stands."""

    lines: tuple[Line, ...]  # best first, never empty
    moves: tuple[MoveStatistics, ...]  # all moves of the root, best first
    root: RootStatistics

    @property
    def best(self) -> Line:
        """The first line."""
        return self.lines[0]


def line_of(
    row: MoveStatistics,
    moves: tuple[Move, ...],
    settings: Settings,
    position: np.record,
    distance: int = 0,
) -> Line:
    """The line of a move of the root's `position`, not numbered yet.

    `distance` is for proofs by tables not at the root.
    """
    distance = distance if row.table is None else row.table.dtz
    return shown(row.value, row.proof, row.draw == 1.0, moves, settings, position, distance)


def shown(
    value: float,
    proof: int,
    drawn: bool,
    moves: tuple[Move, ...],
    settings: Settings,
    position: np.record,
    distance: int = 0,
) -> Line:
    """A line, not numbered yet, with score and chances that agree; `drawn`: nothing else comes."""
    score = score_of(settings.score_type, value, proof, distance, position)
    common = score_of(COMMON, value, proof, distance, position)
    return Line(0, score, common_wdl(common, drawn), value, moves, common)


def numbered(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Lines with their numbers, from 1."""
    return tuple(line._replace(number=number) for number, line in enumerate(lines, start=1))


class Result(NamedTuple):
    """What a search came to; `move` is None if there was no legal move."""

    move: Move | None
    ponder: Move | None  # the reply that is expected
    report: Report


Listener = Callable[[Report], None]


# --- moves drawn by chance ------------------------------------------------------------------------


def drawn(merits: np.ndarray, temperature: float, generator: np.random.Generator) -> int:
    """Index of one of the moves; a merit lower by the temperature costs a factor of e.

    `merits` is float64 [moves].
    """
    odds = np.exp((merits - merits.max()) / temperature)
    return int(generator.choice(len(odds), p=odds / odds.sum()))


# --- reports of games that are over, and of searches by scores -----------------------------------


def report_of_end(board: Board) -> Report:
    """The report of a game that is over."""
    mated = board.is_check() and not board.legal_moves
    value, draw = (-1.0, 0.0) if mated else (0.0, 1.0)
    score = Score("mate" if mated else "cp", 0)
    line = Line(1, score, wdl_of(value, draw), value, ())
    root = RootStatistics(0, 0, value, draw, value, UNPROVED, 0.0)
    return Report(lines=(line,), moves=(), root=root)


class SearchedMove(NamedTuple):
    """What a search by scores knows of a move of the root."""

    code: int
    nodes: int
    value: float  # for the player who makes it; what is proved goes before value and draw
    draw: float
    proof: int
    line: tuple[Move, ...]  # the move itself first
    scored: bool = True  # False: the search has not got to it
    distance: int = 0  # plies until what tablebases know inside the search, if they prove it
    prior: float = 0.0


def report_of(
    board: Board,
    searched: Sequence[SearchedMove],
    settings: Settings,
    outcomes: Mapping[int, RootMove],
    totals: Totals,
    mating: tuple[Move, ...],
    raw: float | None = None,
) -> Report:
    """A report on the moves of the root: mates, tablebases, then the order of `searched`.

    `mating` is a mate found beside the search, `raw` the evaluator's own value of the root.
    """

    def rank(move: SearchedMove) -> int:
        if mating and absolute(board.position, move.code) == mating[0]:
            return 2 * TABLEBASE
        if 0 < move.proof < TABLEBASE:
            return TABLEBASE
        return outcomes[move.code].rank if move.code in outcomes else 0

    if mating or outcomes:
        searched = sorted(searched, key=rank, reverse=True)
    rows = [
        _row(board, index, move, outcomes.get(move.code)) for index, move in enumerate(searched)
    ]
    places = [at for at, row in enumerate(rows) if row.scored or at == 0][: settings.multipv]
    position = board.position
    lines = [
        line_of(rows[at], searched[at].line, settings, position, searched[at].distance)
        for at in places
    ]
    if mating:
        lines[0] = Line(0, Score("mate", (len(mating) + 1) // 2), Wdl(1000, 0, 0), 1.0, mating)
    best = rows[0]
    own = best.value if raw is None else raw
    root = RootStatistics(totals.nodes, 0, best.value, best.draw, own, best.proof, 0.0)
    return Report(**vars(totals), lines=numbered(lines), moves=tuple(rows), root=root)


def end_of(board: Board, line: tuple[Move, ...]) -> Board:
    """A board on which a line has been played."""
    end = board.copy()
    for move in line:
        end.push(move)
    return end


def _ends_in_draw(board: Board, line: tuple[Move, ...]) -> bool:
    """Whether the game, or the search after one repetition, calls the end of a line a draw."""
    end = end_of(board, line)
    return end.outcome(claim=True) is not None or end.repetitions() > 1


def _row(
    board: Board, index: int, searched: SearchedMove, table: RootMove | None
) -> MoveStatistics:
    value, draw, proof = searched.value, searched.draw, searched.proof
    if proof == UNPROVED and table is not None:
        proof = table.proof
    if proof != UNPROVED:
        value, draw = (0.0, 1.0) if proof == DRAW else (math.copysign(1.0, proof), 0.0)
    elif searched.scored and value == 0.0 and _ends_in_draw(board, searched.line):
        draw = 1.0
    return MoveStatistics(
        move=absolute(board.position, searched.code),
        code=searched.code,
        edge=index,
        visits=searched.nodes,
        pending=0,
        prior=searched.prior,
        value=value,
        draw=draw,
        deviation=0.0,
        bonus=0.0,
        raw=None,
        proof=proof,
        table=table,
        scored=searched.scored or table is not None,
    )
