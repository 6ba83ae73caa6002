"""Whether centipawns keep their promise: against results of games, and against judged positions.

+1.00 is an even chance to win. Ten bins of scores say what games from there came to; ChessQA's
Position Judgements (arXiv 2510.23948) ask which of some scores a strong engine would give, and
games with evaluations, as Lichess exports them, ask the same of other positions. `marks` asks of
such games whether Lichess's evaluations and ours mark the same moves; those of another program,
asked in our place, show how far two strong engines agree.
"""

from __future__ import annotations

import json as jsonlib
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import fmean, pstdev
from typing import Annotated, Any, NamedTuple

import chess.engine
import chess.pgn
import numpy as np
from cyclopts import App, Parameter

from kibitz.cli.output import EXIT_STOPPED, JsonFlag, NetworkFlag, at_least, columns, emit
from kibitz.comment.analyse import analyse
from kibitz.comment.annotate import figures_of
from kibitz.comment.cache import AnalysisCache
from kibitz.comment.judge import Label, accuracy, graded
from kibitz.comment.searches import NODES, Effort, Searches
from kibitz.comment.words.story import Figures, figures_in
from kibitz.core.errors import InputError
from kibitz.core.log import graceful_stop, progress, say
from kibitz.data.labels.labels import LONGEST_MATE, MATE
from kibitz.data.pgn import read_scores
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER, chosen
from kibitz.nets.discover import named
from kibitz.position.board import Board
from kibitz.position.pgn import read_games
from kibitz.search.limits import Limits
from kibitz.search.report import PERMILLE, Score, common_wdl
from research.command import carry_out

app = App(
    name="scale",
    help="Centipawns against results and judged positions.",
    result_action="return_value",
)

# Lower ends of the bins, in centipawns of the side that is ahead; the last has no upper end.
BINS = (0, 15, 30, 50, 75, 100, 135, 180, 250, 400)
MATE_CENTIPAWNS = 100_000
# ChessQA's options, and how far from one a score may lie that is asked for.
OPTIONS, NEARNESS = (-400, -200, 0, 200, 400), 50
FIRST_PLY = 8


class Bin(NamedTuple):
    """Positions of one side's scores, and how their games ended for it; shares of 1."""

    low: int
    positions: int
    games: int
    centipawns: float  # their mean
    expected: float  # wins less losses, that the scores promise
    scored: float  # and that the games gave
    error: float  # 95 %, by games: the positions of one are not independent
    wins_expected: float
    wins: float


def bins_of(files: Iterable[Path]) -> list[Bin]:
    """The ten bins of all scores in PGN files; mates are left out."""
    rows = np.concatenate([np.zeros((0, 3)), *_rows(files)])
    if not len(rows):
        raise InputError("no score in a finished game", fix="name PGN files with evaluations")
    places = np.searchsorted(BINS, np.abs(rows[:, 1]), side="right") - 1
    return [_bin(BINS[at], rows[places == at]) for at in range(len(BINS)) if (places == at).any()]


def _rows(files: Iterable[Path]) -> Iterator[np.ndarray]:
    """Game, score and result of each position, float64 [N, 3], for the side to move."""
    number = 0
    for path in files:
        for result, scores in read_scores(path, str(path), lambda bad: say(str(bad))):
            number += 1
            used = scores[np.abs(scores) <= MATE - LONGEST_MATE]
            yield np.stack(np.broadcast_arrays(float(number), used, float(result)), axis=1)


def _bin(low: int, rows: np.ndarray) -> Bin:
    ahead = np.where(rows[:, 1] < 0, -1.0, 1.0)
    scores, results = ahead * rows[:, 1], ahead * rows[:, 2]
    wdl = np.array([common_wdl(Score("cp", round(score))) for score in scores]) / PERMILLE
    scored = float(results.mean())
    _, game = np.unique(rows[:, 0], return_inverse=True)
    off = np.bincount(game, weights=results - scored)  # of each game
    return Bin(
        low=low,
        positions=len(rows),
        games=len(off),
        centipawns=float(scores.mean()),
        expected=float((wdl[:, 0] - wdl[:, 2]).mean()),
        scored=scored,
        error=float(1.96 * np.sqrt((off * off).sum()) / len(rows)),
        wins_expected=float(wdl[:, 0].mean()),
        wins=float((results == 1).mean()),
    )


class Judgement(NamedTuple):
    """A Position Judgement: the score asked for, of which options, and ours; White's view."""

    fen: str
    answer: int
    options: tuple[int, ...]
    centipawns: int

    @property
    def right(self) -> bool:
        """Whether the nearest option is the answer."""
        return nearest(self.centipawns, self.options) == self.answer


def nearest(centipawns: int, options: Iterable[int]) -> int:
    """The option nearest to a score.

    >>> nearest(-310, (-400, -200, 0, 200, 400))
    -400
    """
    return min(options, key=lambda option: abs(option - centipawns))


def questions_of_games(path: Path, each: int) -> list[dict[str, Any]]:
    """Positions of games with evaluations: at most `each` an option, and one an option and game."""
    questions: dict[int, list[dict[str, Any]]] = {option: [] for option in OPTIONS}
    for game in read_games(path):
        full = {option for option, rows in questions.items() if len(rows) >= each}
        if len(full) == len(OPTIONS):
            break
        for node in game.tree.mainline():
            evaluation = node.eval()
            early = node.ply() < FIRST_PLY
            score = None if evaluation is None or early else evaluation.white().score()
            option = None if score is None else nearest(score, OPTIONS)
            if score is None or option is None or abs(score - option) > NEARNESS:
                continue
            if option not in full and any(node.board().legal_moves):
                full.add(option)
                fen = node.board().fen()
                questions[option].append({"fen": fen, "answer": option, "options": OPTIONS})
    rows = [row for rows in questions.values() for row in rows]
    if not rows:
        fix = "name games with [%eval] as Lichess exports them"
        raise InputError("no evaluation that an option is near", value=str(path), fix=fix)
    return rows


def questions_of(path: Path) -> list[dict[str, Any]]:
    """The questions of a file of ChessQA's, of position_judgement.jsonl."""
    try:
        rows = [jsonlib.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [
            {
                "fen": " ".join([*row["input"].split(), "0", "1"][:6]),
                "answer": int(row["correct_answer"]),
                "options": tuple(row["metadata"]["options"]),
            }
            for row in rows
        ]
    except (ValueError, KeyError, TypeError) as error:
        fix = "give ChessQA's position_judgement.jsonl"
        raise InputError("no file of Position Judgements", value=str(path), fix=fix) from error


def judged(engine: Engine, question: dict[str, Any], nodes: int) -> Judgement:
    """What an engine answers; every question begins with an empty memory."""
    board = Board(question["fen"])
    engine.new_game()
    score = engine.play(board, nodes=nodes).report.best.score
    sign = 1 if board.turn == "white" else -1
    size = score.amount if score.kind == "cp" else MATE_CENTIPAWNS * (1 if score.amount > 0 else -1)
    return Judgement(**question, centipawns=sign * size)


# --- marks ----------------------------------------------------------------------------------------

WORSE = (Label.NONE, Label.INACCURACY, Label.MISTAKE, Label.BLUNDER)
KINDS = {"mistakes": Label.MISTAKE, "any": Label.INACCURACY}  # and what is worse
TOLERANCE = 0.05  # of chances in [-1, 1]: a quarter of what makes a mistake
START = "[%eval 0.15]"  # what Lichess says of the first position, which it does not write


def evaluated_games(path: Path, most: int) -> Iterator[chess.pgn.Game]:
    """The first games of a file whose moves all have an evaluation; a mate needs none."""
    count = 0
    for game in read_games(path):
        *_, last = [game.tree, *game.tree.mainline()]
        game.tree.comment = START
        if last.eval() is None and last.board().is_checkmate():
            last.comment = "[%eval #0]"
        if count < most and figures_in(game.tree) is not None:
            count += 1
            yield game.tree


class Comparison(NamedTuple):
    """How bad a move is by our evaluations and by Lichess's, and at most within the tolerance."""

    ours: Label
    theirs: Label
    ours_near: Label
    theirs_near: Label


def compared(ours: Figures, theirs: Figures, white: bool) -> Iterator[Comparison]:
    """The marks of a game's moves; `white` has the first one."""
    for ply, labels in enumerate(zip(ours.labels, theirs.labels, strict=True)):
        sign = 1 if white == (ply % 2 == 0) else -1
        near = []
        for label, values in zip(labels, (ours.values, theirs.values), strict=True):
            had, has = (sign * value for value in values[ply : ply + 2])
            wider = graded(had + TOLERANCE / 2, has - TOLERANCE / 2)
            near.append(max(label, wider, key=WORSE.index))
        yield Comparison(*labels, *near)


def precision_and_recall(counts: Counter[Comparison], least: Label) -> dict[str, Any]:
    """Of our marks, from one on, how many are Lichess's, and of Lichess's how many are ours."""

    def count(*names: str) -> int:
        worst = WORSE.index(least)
        return sum(
            number
            for each, number in counts.items()
            if all(WORSE.index(getattr(each, name)) >= worst for name in names)
        )

    ours, theirs, both = count("ours"), count("theirs"), count("ours", "theirs")
    return {
        "ours": ours,
        "theirs": theirs,
        "both": both,
        "precision": round(both / max(1, ours), 3),
        "recall": round(both / max(1, theirs), 3),
        "precision_near": round(count("ours", "theirs_near") / max(1, ours), 3),
        "recall_near": round(count("theirs", "ours_near") / max(1, theirs), 3),
    }


def our_figures(tree: chess.pgn.Game, searches: Searches, cache: AnalysisCache) -> Figures:
    """A game in numbers by our searches; an analysis that is kept is not made again."""
    start, moves = tree.board(), tuple(node.move for node in tree.mainline())
    analysis = cache.find(start, moves)
    if analysis is None:
        analysis = analyse(start, moves, 0, searches, cache.effort)
        cache.keep(analysis)
    return figures_of(tree, analysis.views)[0]


def figures_by(program: chess.engine.SimpleEngine, nodes: int, tree: chess.pgn.Game) -> Figures:
    """A game in numbers by another program, which has a new table for each position."""
    for node in [tree, *tree.mainline()]:
        board = node.board()
        if board.is_checkmate():
            node.comment = "[%eval #0]"
            continue
        info = program.analyse(board, chess.engine.Limit(nodes=nodes), game=object())
        node.comment = ""
        node.set_eval(info["score"])
    figures = figures_in(tree)
    assert figures is not None
    return figures


# --- commands -------------------------------------------------------------------------------------


@app.command(name="games")
def games_command(
    *files: Annotated[Path, Parameter(help="PGN files with scores, as kibitz match writes them.")],
    json: JsonFlag = False,
) -> int:
    """Compare centipawns with results: ten bins of what games came to, and what was promised."""
    bins = bins_of(files)
    headings = ("from", "positions", "games", "mean", "expected", "scored", "95 %", "to win", "won")
    rows = []
    for row in bins:
        shares = (f"{share:.3f}" for share in row[4:])
        rows.append((row.low, row.positions, row.games, f"{row.centipawns:.0f}", *shares))
    emit({"rows": [row._asdict() for row in bins]}, as_json=json, table=columns(headings, rows))
    return 0


@app.command(name="judgement")
def judgement_command(
    file: Annotated[
        Path, Parameter(help="ChessQA's position_judgement.jsonl, or games with [%eval].")
    ],
    *,
    nodes: Annotated[int, Parameter(help="Nodes for each position.")] = 50_000,
    each: Annotated[int, Parameter(help="Of games: most positions for each answer.")] = 50,
    network: NetworkFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Answer ChessQA's Position Judgements by the option nearest to the centipawns of a search."""
    at_least(1, nodes=nodes, each=each)
    questions = questions_of(file) if file.suffix == ".jsonl" else questions_of_games(file, each)
    shown = progress("judgement", total=len(questions))
    with Engine(chosen(network)) as engine, shown as bar, graceful_stop() as stop:
        answers = list(bar.over((judged(engine, question, nodes) for question in questions), stop))
    right = sum(answer.right for answer in answers)
    options = sorted({answer.answer for answer in answers})
    rows = [(at, *_right_of([each for each in answers if each.answer == at])) for at in options]
    facts = {
        "network": named(chosen(network)),
        "nodes": nodes,
        "questions": len(answers),
        "right": right,
        "rows": [answer._asdict() for answer in answers],
    }
    below = ("all", right, len(answers))
    emit(facts, as_json=json, table=columns(("answer", "right", "of"), [*rows, below]))
    return EXIT_STOPPED if stop.requested else 0


@app.command(name="marks")
def marks_command(
    *files: Annotated[Path, Parameter(help="PGN files with [%eval], as Lichess exports them.")],
    games: Annotated[int, Parameter(help="Of each file, those with all evaluations.")] = 37,
    nodes: Annotated[int, Parameter(help="Nodes for each position.")] = NODES,
    network: NetworkFlag = AUTODISCOVER,
    engine: Annotated[
        str, Parameter(help="Command of a UCI program that evaluates in our place.")
    ] = "",
    json: JsonFlag = False,
) -> int:
    """Compare marks and accuracies with those that Lichess's evaluations give by the same formula.

    "Near" counts a move as marked, too, that lacks no more than 0.05 of chances in [-1, 1]. After a
    stop the same command goes on, as analyses are kept.
    """
    at_least(1, games=games, nodes=nodes)
    if engine and network != AUTODISCOVER:
        fix = "leave one of them out: the program has its own"
        raise InputError("--network has no effect with --engine", value=network, fix=fix)
    counts, apart = Counter[Comparison](), list[float]()
    trees = [tree for path in files for tree in evaluated_games(path, games)]
    if not trees:
        raise InputError("no game with all evaluations", fix="name games with [%eval]")
    shown, done = progress("games", total=len(trees)), 0
    with _evaluating(engine, network, nodes) as figures, shown as bar, graceful_stop() as stop:
        for tree in bar.over(trees, stop):
            theirs, white = figures_in(tree), tree.turn()
            assert theirs is not None
            ours = figures(tree)
            counts.update(compared(ours, theirs, white))
            sides = [accuracy(each.values, white) for each in (ours, theirs)]
            apart += [a - b for a, b in zip(*sides, strict=True) if a is not None and b is not None]
            done += 1
    rows = {name: precision_and_recall(counts, least) for name, least in KINDS.items()}
    error = 1.96 * pstdev(apart) / len(apart) ** 0.5
    away = {"higher": fmean(apart), "error": error, "away": fmean(map(abs, apart))}
    accuracies = {"sides": len(apart), **{name: round(n, 2) for name, n in away.items()}}
    facts = {
        **({"program": engine} if engine else {"network": named(chosen(network))}),
        "nodes": nodes,
        "games": done,
        "moves": counts.total(),
        "marks": rows,
        "accuracy": accuracies,
    }
    headings = ("", *next(iter(rows.values())))
    lines = [(name, *row.values()) for name, row in rows.items()]
    emit(facts, as_json=json, table=columns(headings, lines))
    if not json:
        emit({"games": done, "moves": counts.total(), **accuracies}, as_json=False)
    return EXIT_STOPPED if stop.requested else 0


@contextmanager
def _evaluating(
    program: str, network: str, nodes: int
) -> Iterator[Callable[[chess.pgn.Game], Figures]]:
    """What makes figures of a game: our searches, or a program where one is named."""
    if program:
        with chess.engine.SimpleEngine.popen_uci(shlex.split(program)) as running:
            yield partial(figures_by, running, nodes)
        return
    with Engine(chosen(network), search="alphabeta", multipv=2, hash=16) as engine:
        searches = Searches(engine)
        cache = AnalysisCache(engine, Effort(Limits(nodes=nodes)))
        yield partial(our_figures, searches=searches, cache=cache)


def _right_of(answers: Sequence[Judgement]) -> tuple[int, int]:
    return sum(answer.right for answer in answers), len(answers)


if __name__ == "__main__":
    sys.exit(carry_out(app))
