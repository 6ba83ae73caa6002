"""`python -m research.chessqa`: all five categories of ChessQA, without a language model."""

from __future__ import annotations

import json as jsonlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import chess
from cyclopts import App, Parameter

from kibitz.arena.match.elo import wilson
from kibitz.cli.output import EXIT_STOPPED, JsonFlag, NetworkFlag, at_least, columns, emit
from kibitz.core.errors import InputError, did_you_mean
from kibitz.core.log import graceful_stop, progress
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER, chosen
from kibitz.nets.discover import named
from kibitz.position.board import Board
from research.chessqa.board import Row, answered, wanted
from research.chessqa.semantic import FEATURES, Value, fit
from research.chessqa.semantic import chosen as fitting
from research.command import carry_out
from research.scale import judged

app = App(name="chessqa", help="Answer ChessQA (arXiv 2510.23948).", result_action="return_value")
FILES = ("structural", "motifs", "short_tactics", "position_judgement", "semantic")
# What large language models reach, by the paper.
PUBLISHED = {"short_tactics": "from 17 %", "semantic": "78-85 %"}
QUICK = 2_000  # nodes that say who is better where a comment is matched


def rows_of(folder: Path, name: str) -> list[Row]:
    """The questions of a category."""
    path = folder / f"{name}.jsonl"
    try:
        return [jsonlib.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        fix = f"give a folder with ChessQA's {', '.join(FILES)} as .jsonl"
        raise InputError("no questions", value=str(path), fix=fix) from error


def is_right(row: Row, engine: Engine, nodes: int) -> bool:
    """Whether a question is answered as it should be; each is looked at by itself."""
    task = row["task_type"]
    if task.startswith(("structural", "motifs")):
        return answered(row) == wanted(row)
    if task.startswith("short_tactics"):
        engine.new_game()
        board = Board(row["input"])
        best = engine.play(board, nodes=nodes).move
        return best is not None and board.uci(best) == str(row["correct_answer"])
    if task.startswith("position_judgement"):
        options = tuple(row["metadata"]["options"])
        fen = " ".join([*row["input"].split(), "0", "1"][:6])
        question = {"fen": fen, "answer": int(row["correct_answer"]), "options": options}
        return judged(engine, question, nodes).right
    move = chess.Move.from_uci(row["metadata"]["move_uci"])
    place = fitting(row["metadata"]["options"], chess.Board(row["input"]), move, valued(engine))
    return "ABCD"[place] == str(row["correct_answer"])


def valued(engine: Engine) -> Value:
    """What a short search says of positions, for White."""

    def value(board: chess.Board) -> float:
        position = Board.from_chess(board)
        if position.outcome() is not None:
            return 0.0
        engine.new_game()
        best = engine.play(position, nodes=QUICK).report.best
        return best.value if board.turn else -best.value

    return value


def _counted(rows: Iterable[Row], is_one: Callable[[Row], bool]) -> Iterator[tuple[str, bool]]:
    for row in rows:
        yield row["task_type"], is_one(row)


# --- commands -------------------------------------------------------------------------------------


@app.default
def answer(
    folder: Annotated[Path, Parameter(help="Folder of ChessQA's five files.")],
    *,
    only: Annotated[tuple[str, ...], Parameter(help="Categories; all by default.")] = (),
    nodes: Annotated[int, Parameter(help="Nodes for a tactic.")] = 200_000,
    judgement_nodes: Annotated[int, Parameter(help="Nodes for a judgement.")] = 400_000,
    network: NetworkFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Answer all five categories from facts, claims and searches, one question at a time."""
    at_least(1, nodes=nodes, judgement_nodes=judgement_nodes)
    for name in only:
        if name not in FILES:
            raise InputError("no such category", value=name, fix=did_you_mean(name, FILES))
    questions = {name: rows_of(folder, name) for name in only or FILES}
    right, asked = Counter[str](), Counter[str]()
    shown = progress("chessqa", total=sum(map(len, questions.values())))
    with (
        Engine(chosen(network), search="alphabeta", hash=16) as engine,
        shown as bar,
        graceful_stop() as stop,
    ):
        for name, rows in questions.items():
            spent = judgement_nodes if name == "position_judgement" else nodes
            ask = partial(is_right, engine=engine, nodes=spent)
            for task, good in bar.over(_counted(rows, ask), stop):
                for label in (name, task):
                    asked[label] += 1
                    right[label] += good
    lines = [_line(label, right[label], asked[label]) for label in sorted(asked, key=_order)]
    facts = {"network": named(chosen(network)), "nodes": nodes, "judgement_nodes": judgement_nodes}
    cells = [tuple(one.values()) for one in lines]
    headings = ("task", "right", "of", "share", "95 %", "language models")
    emit(facts | {"rows": lines}, as_json=json, table=columns(headings, cells))
    return EXIT_STOPPED if stop.requested else 0


def _order(label: str) -> tuple[int, str]:
    name = next(one for one in FILES if label.startswith(one))
    return FILES.index(name), label


def _line(label: str, right: int, asked: int) -> dict[str, Any]:
    low, high = wilson(right, asked)
    return {
        "task": label,
        "right": right,
        "of": asked,
        "share": f"{right / asked:.1%}",
        "interval": f"{low:.1%} to {high:.1%}",
        "published": PUBLISHED.get(label, ""),
    }


@app.command(name="fit")
def fit_command(
    table: Annotated[Path, Parameter(help="Table of human comments: fen_before, uci, comment.")],
    *,
    comments: Annotated[int, Parameter(help="At most so many.")] = 1500,
    seed: int = 1,
    network: NetworkFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Fit the weights by which a comment is matched to a move, on commentary of other games."""
    at_least(1, comments=comments)
    with Engine(chosen(network), search="alphabeta", hash=16) as engine:
        weights, count = fit(table, valued(engine), seed, comments)
    rows = [(name, round(float(one), 2)) for name, one in zip(FEATURES, weights, strict=True)]
    facts = {"comments": count, "seed": seed, "weights": dict(rows)}
    emit(facts, as_json=json, table=columns(("feature", "weight"), rows))
    return 0


if __name__ == "__main__":
    sys.exit(carry_out(app))
