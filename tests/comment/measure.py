"""Annotates games for every level of readers and checks what was written; run by hand.

    python -m tests.comment.measure GAMES.pgn OUT.pgn --nodes 1000 --engine stockfish

A game is searched once for all levels. A game is in the output before the next one begins, and the
same command goes on where an earlier one was stopped; games without mistakes of form only. With
`--engine` the judged statements are asked about; what is found is printed at the end (and the false
statements as they are found). `--labels` asks about the marks of all moves instead, by Lichess's
limits of winning chances, and annotates for one level, as they are the same for all. With Lichess's
evaluations they are compared by `python -m research.scale marks`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import chess.pgn

from kibitz.comment.annotate import Style, annotate
from kibitz.comment.select.rank import LEVELS, Level
from kibitz.engine import Engine
from kibitz.position.board import Board
from kibitz.position.pgn import Game, parse_game, read_games
from kibitz.search.limits import Limits
from kibitz.search.report import Result
from tests.comment.checker import Count, Judge, level_of, read_game, tell_all


class Remembering(Engine):
    """An engine that searches a position of a game once for all levels of readers."""

    def __init__(self) -> None:
        super().__init__(search="alphabeta", multipv=2)
        self.known: dict[tuple[str, str], Result] = {}

    def play(
        self,
        board: Board,
        limits: Limits | None = None,
        *,
        nodes: int | None = None,
        movetime: int | None = None,
        depth: int | None = None,
    ) -> Result:
        """The search of a position, or what it has found before."""
        key = (f"{board.fen()} {len(board.moves)}", f"{limits} {nodes} {movetime} {depth}")
        if key not in self.known:
            self.known[key] = super().play(
                board, limits, nodes=nodes, movetime=movetime, depth=depth
            )
        return self.known[key]


def annotated(
    source: Path, output: Path, nodes: int, levels: Sequence[Level]
) -> Iterator[chess.pgn.Game]:
    """The games of a file for each level, those that the output has already as they are there."""
    done = list(read_games(output)) if output.exists() else []
    yield from (game.tree for game in done)
    with Remembering() as engine, output.open("a", encoding="utf-8") as file:
        for game in read_games(source):
            if game.number * len(levels) <= len(done):
                continue
            engine.known.clear()
            text = str(game)
            versions: list[Game] = []
            for level in levels:
                twin = parse_game(text)
                annotate(twin, engine, Style(level, limits=Limits(nodes=nodes)))
                versions.append(twin)
            file.writelines(f"{one}\n\n" for one in versions)
            file.flush()
            yield from (one.tree for one in versions)


STEPS = {"": 0, "?!": 6, "?": 2, "??": 4}  # marks and their numbers in PGN, the worst last
LIMITS = (0.1, 0.2, 0.3)  # of winning chances lost, from which on Lichess gives these marks


def compare_labels(game: chess.pgn.Game, judge: Judge, found: Counter[tuple[int, int]]) -> None:
    """Count the moves of a game by how bad we and how bad the engine call them."""
    marks = list(STEPS.values())
    for node in game.mainline():
        board, mover = node.parent.board(), not node.turn()
        values = [judge.value(one, mover, judge.nodes, None) for one in (board, node.board())]
        ours = max(step for step, mark in enumerate(marks) if not mark or mark in node.nags)
        theirs = sum(values[0] - values[1] >= limit for limit in LIMITS)
        found[ours, theirs] += 1


def tell_labels(found: Counter[tuple[int, int]]) -> None:
    """Print how many of our labels the engine gives, too, and how many of its own we give."""
    for step, name in enumerate(STEPS):
        row = [found[step, theirs] for theirs in range(len(STEPS))]
        sys.stdout.write(f"ours {name or 'none':4} theirs none, ?!, ?, ??: {row}\n")
    for name, at in (("ours", 0), ("theirs", 1)):
        marked = Counter({pair: number for pair, number in found.items() if pair[at]})
        same = sum(number for pair, number in marked.items() if pair[0] == pair[1])
        near = sum(number for pair, number in marked.items() if abs(pair[0] - pair[1]) <= 1)
        bad = Counter({pair: number for pair, number in marked.items() if pair[at] > 1})
        as_bad = sum(number for pair, number in bad.items() if min(pair) > 1)
        sys.stdout.write(
            f"marked, {name}: {marked.total()}, the same {same}, within a step {near}; mistakes "
            f"and blunders {bad.total()}, so called by both {as_bad}\n"
        )


def main() -> None:
    """Annotate, check and print."""
    options = argparse.ArgumentParser()
    options.add_argument("source", type=Path)
    options.add_argument("output", type=Path)
    options.add_argument("--nodes", type=int, default=1_000)
    options.add_argument("--engine")
    options.add_argument("--judge-nodes", type=int, default=60_000)
    options.add_argument("--labels", action="store_true")
    asked = options.parse_args()
    if asked.labels and not asked.engine:
        options.error("--labels needs --engine")
    judge = Judge(asked.engine, asked.judge_nodes) if asked.engine else None
    counts: defaultdict[str, Count] = defaultdict(Count)
    labels: Counter[tuple[int, int]] = Counter()
    levels = LEVELS[:1] if asked.labels else LEVELS
    for game in annotated(asked.source, asked.output, asked.nodes, levels):
        if asked.labels and judge is not None:
            compare_labels(game, judge, labels)
        else:
            read_game(game, counts[level_of(game)], judge)
    if judge is not None:
        judge.engine.quit()
    if asked.labels:
        tell_labels(labels)
    else:
        tell_all(counts, show=True)


if __name__ == "__main__":
    main()
