"""What costs a player points: by phase, motif, opening, ending, clock, colour, and month.

A move costs the points (a win is one) that it takes from the expected result. A figure is the mean
of such points over games, with its 95 % interval, and the dearest moves as examples.
"""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

import chess
import chess.pgn

from kibitz.coach.database import WHITE, Database, StoredGame, View
from kibitz.coach.deck import THEMES, takes_back
from kibitz.coach.puzzles.solve import motifs_of
from kibitz.comment.facts import phase
from kibitz.comment.judge import value_of
from kibitz.comment.words.language import Language
from kibitz.engine.levels import People
from kibitz.nets.encodings.leaves import leaves_of
from kibitz.position.board import Board
from kibitz.position.notation import absolute
from kibitz.position.pgn import move_number, seconds_of
from kibitz.search.report import Score

SERIOUS = 0.1  # points that a move costs, from which on it is a mistake (Lichess's limit)
AFTERWARDS = 5  # own moves after a mistake
SURE = 1.96  # standard errors on either side of a mean
EXAMPLES = 3
ALL = "all"
PAST = 8  # plies that the networks of people see
AHEAD, BEHIND = 0.75, 0.25  # expected points, as of +3.0 and -3.0: to be won, or saved
CLOCKS = ((0.1, "under 10 %"), (0.3, "10 to 30 %"), (1e9, "above 30 %"))
_BASE = re.compile(r"(\d{1,6})(?:\+\d+)?")


class Lapse(NamedTuple):
    """A move of the player's: what it cost, and when it was made."""

    ply: int
    cost: float  # points
    phase: str
    clock: str  # share of the base time that was left before it; empty if not known
    after_mistake: bool
    missed: tuple[str, ...]  # motifs of the better move
    allowed: tuple[str, ...]  # motifs of the best reply


class Chance(NamedTuple):
    """A position of the player's with one good move."""

    ply: int
    board: chess.Board  # with the moves before it
    good: chess.Move
    was_played: bool
    motifs: tuple[str, ...]  # of the good move


class Played(NamedTuple):
    """A game with its moves, and the ending that came about."""

    number: int
    game: StoredGame
    lapses: list[Lapse]
    chances: list[Chance]
    ending: str  # empty if there was none
    expected: float  # points when the ending began


class Example(NamedTuple):
    """A move that cost much."""

    game: int  # number in the database
    ply: int
    address: str


class Figure(NamedTuple):
    """What something costs."""

    group: str
    name: str
    games: int  # over which the mean is
    moves: int  # of the player's
    cost: float  # points a game
    error: float  # half of the 95 % interval
    examples: list[Example]


class Finding(NamedTuple):
    """How often the player finds the one good move, and how often people of the rating do."""

    name: str  # of a motif, or all of them
    chances: int
    played: float  # share of them in which it was played
    expected: float  # share that people of the player's rating play, by the networks of Maia
    error: float  # half of the 95 % interval of the difference
    examples: list[Example]  # missed ones that most people find


def figure_name(row: Figure | Finding, language: Language) -> str:
    """What a figure is called: a motif as the commentary calls it."""
    return language.motifs[row.name][0] if row.name in language.motifs else row.name


class Conversion(NamedTuple):
    """How endings of a kind ended."""

    ending: str
    ahead: int  # games that were to be won
    won: int
    behind: int  # games that were to be saved
    saved: int  # drawn or won


def points_of(view: View) -> float:
    """The expected result of a position for the side to move, from 0 to 1."""
    return (value_of(Score(view.kind, view.amount)) + 1) / 2


def played_games(database: Database) -> Iterator[Played]:
    """The games that are analysed."""
    for number, game in database.games("id IN (SELECT game FROM analyses)"):
        tree, views = database.tree(number, game), database.views(number)
        with database.intact(f"the analysis of game {number}"):
            _check(tree, views)
        yield _played(number, game, tree, views)


def _check(tree: chess.pgn.Game, views: Sequence[View]) -> None:
    """Refuse views that are not those of the positions."""
    board = tree.board()
    moves = list(tree.mainline_moves())
    if len(views) != len(moves) + 1:
        raise ValueError(f"{len(views)} positions, not {len(moves) + 1}")
    for view, move in zip(views, moves, strict=False):
        if view.best and not board.is_legal(chess.Move.from_uci(view.best)):
            raise ValueError(f"{view.best} is not legal")
        board.push(move)


def _played(number: int, game: StoredGame, tree: chess.pgn.Game, views: Sequence[View]) -> Played:
    white = game.side == WHITE
    board, lapses, clocks = tree.board(), list[Lapse](), _clocks(tree, game.control)
    chances = list[Chance]()
    ending, expected, last_mistake = "", 0.0, -1_000
    for ply, node in enumerate(tree.mainline()):
        stage = phase(board)
        if stage == "endgame" and not ending:
            ending, seen = kind_of_ending(board), points_of(views[ply])
            expected = seen if board.turn == white else 1 - seen
        if board.turn == white:
            cost = max(0.0, points_of(views[ply]) + points_of(views[ply + 1]) - 1)
            after = ply - last_mistake <= 2 * AFTERWARDS
            motifs = (
                _motifs(board, node.move, views[ply : ply + 2]) if cost >= SERIOUS else ((), ())
            )
            lapses.append(Lapse(ply, cost, stage, clocks.get(ply, ""), after, *motifs))
            last_mistake = ply if cost >= SERIOUS else last_mistake
            chances += _chance(board, ply, node.move, views[ply])
        board.push(node.move)
    return Played(number, game, lapses, chances, ending, expected)


def _chance(board: chess.Board, ply: int, played: chess.Move, view: View) -> list[Chance]:
    """The position, if it has one good move: better by SERIOUS, not lost with it, no recapture."""
    if view.second is None or not view.best:
        return []
    good, points = chess.Move.from_uci(view.best), points_of(view)
    if points - (view.second + 1) / 2 < SERIOUS or points < BEHIND or takes_back(board, good):
        return []
    motifs = set[str]()
    if board.move_stack:
        before = board.copy()
        motifs = motifs_of(before, before.pop(), view.line) & {*THEMES}
    chance = Chance(ply, board.copy(stack=PAST), good, played == good, tuple(sorted(motifs)))
    return [chance]


def _motifs(
    board: chess.Board, move: chess.Move, views: Sequence[View]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Motifs of the move that was better, and of the reply to the one that was made."""
    missed, allowed = set[str](), set[str]()
    if board.move_stack and views[0].best:
        before = board.copy()
        last = before.pop()
        missed = motifs_of(before, last, views[0].line) & {*THEMES}
    if views[1].best:
        allowed = motifs_of(board, move, views[1].line) & {*THEMES}
    return tuple(sorted(missed)), tuple(sorted(allowed))


def kind_of_ending(board: chess.Board) -> str:
    """What pieces are left beside kings and pawns."""
    kinds = {
        name
        for piece, name in ((chess.QUEEN, "queens"), (chess.ROOK, "rooks"))
        if board.pieces_mask(piece, chess.WHITE) | board.pieces_mask(piece, chess.BLACK)
    }
    if board.knights | board.bishops:
        kinds.add("minor pieces")
    return " and ".join(sorted(kinds)) or "pawns"


def _clocks(tree: chess.pgn.Game, control: str) -> dict[int, str]:
    """The share of the base time that each move's player had left, by ply."""
    base = _BASE.fullmatch(control)
    if base is None or not int(base[1]):
        return {}
    shares: dict[int, str] = {}
    for ply, node in enumerate(tree.mainline()):
        left = seconds_of(node, "clk")
        if left is not None:  # what is left after a move is there before the same player's next one
            shares[ply + 2] = next(name for most, name in CLOCKS if left / int(base[1]) < most)
    return shares


# --- figures --------------------------------------------------------------------------------------


def _by_after(lapse: Lapse) -> tuple[str, ...]:
    return ("within five moves of a mistake" if lapse.after_mistake else "other moves",)


# What names a move has in a group; each game counts in each figure.
_OF_MOVES: dict[str, Callable[[Lapse], tuple[str, ...]]] = {
    "phase": lambda lapse: (lapse.phase,),
    "motif missed": lambda lapse: lapse.missed,
    "motif allowed": lambda lapse: lapse.allowed,
    "clock": lambda lapse: (lapse.clock,) if lapse.clock else (),
    "after a mistake": _by_after,
}


def _month(game: StoredGame) -> str:
    moment = datetime.datetime.fromtimestamp(game.played, datetime.UTC)
    return f"{moment:%Y-%m}" if game.played else ""


# What name a game has in a group; only games of the name count in its figure.
_OF_GAMES: dict[str, Callable[[StoredGame], str]] = {
    "colour": lambda game: "Black" if game.side else "White",
    "time control": lambda game: game.pace,
    "opening": lambda game: game.opening.partition(":")[0],
    "month": _month,
}


def figures(games: Sequence[Played]) -> list[Figure]:
    """All figures, group by group; the dearest first within each, months by time."""
    rows = [_figure("all", "all games", games, [game.lapses for game in games])]
    for group, names_of in _OF_MOVES.items():
        names = sorted(
            {name for game in games for lapse in game.lapses for name in names_of(lapse)}
        )
        rows += _dearest(
            _figure(
                group,
                name,
                games,
                [[lapse for lapse in game.lapses if name in names_of(lapse)] for game in games],
            )
            for name in names
        )
    for group, name_of in _OF_GAMES.items():
        by_name: dict[str, list[Played]] = defaultdict(list)
        for game in games:
            by_name[name_of(game.game)].append(game)
        named = [
            _figure(group, name, some, [game.lapses for game in some])
            for name, some in sorted(by_name.items())
            if name
        ]
        rows += named if group == "month" else _dearest(named)
    return rows


def _dearest(rows: Iterable[Figure]) -> list[Figure]:
    return sorted(rows, key=lambda row: -row.cost)


def _figure(
    group: str, name: str, games: Sequence[Played], lapses: Sequence[Sequence[Lapse]]
) -> Figure:
    """The mean over games of what some moves of each have cost."""
    costs = [sum(lapse.cost for lapse in some) for some in lapses]
    error = SURE * stdev(costs) / math.sqrt(len(costs)) if len(costs) > 1 else math.nan
    moves = [
        (lapse.cost, game, lapse.ply)
        for game, some in zip(games, lapses, strict=True)
        for lapse in some
    ]
    worst = sorted(moves, key=lambda move: (-move[0], move[1].number, move[2]))[:EXAMPLES]
    examples = [
        Example(game.number, ply, address(game.game, ply))
        for cost, game, ply in worst
        if cost >= SERIOUS
    ]
    mean = fmean(costs) if costs else 0.0
    return Figure(group, name, len(costs), len(moves), mean, error, examples)


def address(game: StoredGame, ply: int) -> str:
    """Where the position before a move is found."""
    if game.site == "lichess":
        return f"https://lichess.org/{game.site_id}{'/black' if game.side else ''}#{ply}"
    place = f"https://www.chess.com/game/{game.site_id}" if game.site == "chesscom" else ""
    return f"{place or f'{game.white} - {game.black}'}, move {move_number(ply)}"


def conversions(games: Iterable[Played]) -> list[Conversion]:
    """How the endings ended, by their kinds, the most frequent first."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for game in games:
        points = game.game.points
        if game.ending and points is not None:
            count = counts[game.ending]
            count["games"] += 1
            count["ahead"] += game.expected >= AHEAD
            count["won"] += game.expected >= AHEAD and points == 1
            count["behind"] += game.expected <= BEHIND
            count["saved"] += game.expected <= BEHIND and points > 0
    order = sorted(counts.items(), key=lambda item: (-item[1]["games"], item[0]))
    names = ("ahead", "won", "behind", "saved")
    return [Conversion(ending, *(count[name] for name in names)) for ending, count in order]


# --- beside people of the rating ------------------------------------------------------------------


def findings(games: Sequence[Played], people: People) -> list[Finding]:
    """The one good move, found by the player and by people of the rating: all, then by motif.

    Games without the player's rating are left out. The interval is that of a mean of differences.
    """
    by_name: dict[str, list[tuple[bool, float, Played, Chance]]] = defaultdict(list)
    for game in games:
        rating = game.game.white_rating if game.game.side == WHITE else game.game.black_rating
        if rating is not None and game.chances:
            for chance, share in zip(game.chances, _shares(game, rating, people), strict=True):
                for name in (ALL, *chance.motifs):
                    by_name[name].append((chance.was_played, share, game, chance))
    order = sorted(by_name.items(), key=lambda item: (item[0] != ALL, -len(item[1]), item[0]))
    return [_finding(name, rows) for name, rows in order]


def _shares(game: Played, rating: int, people: People) -> list[float]:
    """The share of people of a rating that plays the good move of each chance of a game."""
    boards = [Board.from_chess(chance.board) for chance in game.chances]
    leaves = leaves_of([board.positions() for board in boards])
    likely = people.likely(leaves, rating)
    shares = []
    for row, (board, chance) in enumerate(zip(boards, game.chances, strict=True)):
        begin, end = leaves.offsets[row], leaves.offsets[row + 1]
        codes = (int(code) for code in leaves.moves[begin:end])
        moves = [board.uci(absolute(board.position, code)) for code in codes]
        shares.append(float(likely[begin + moves.index(chance.good.uci())]))
    return shares


def _finding(name: str, rows: Sequence[tuple[bool, float, Played, Chance]]) -> Finding:
    differences = [played - share for played, share, *_ in rows]
    error = math.nan
    if len(rows) > 1:
        error = SURE * stdev(differences) / math.sqrt(len(rows))
    missed = sorted(
        ((share, game, chance.ply) for played, share, game, chance in rows if not played),
        key=lambda row: (-row[0], row[1].number, row[2]),
    )
    return Finding(
        name=name,
        chances=len(rows),
        played=fmean(played for played, *_ in rows),
        expected=fmean(share for _, share, *_ in rows),
        error=error,
        examples=[
            Example(game.number, ply, address(game.game, ply)) for _, game, ply in missed[:EXAMPLES]
        ],
    )
