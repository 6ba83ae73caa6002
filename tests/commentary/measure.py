"""Annotates games for every level of readers and checks what was written; run by hand.

    python -m tests.commentary.measure GAMES.pgn OUT.pgn --nodes 1000 --engine stockfish

A game is searched once for all levels. A game is in the output before the next one begins, and the
same command goes on where an earlier one was stopped; games without mistakes of form only. With
`--engine` the judged statements are asked about; what is found is printed at the end (and the false
statements as they are found).
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import chess.pgn

from kibitz.commentary.annotate import Style, annotate
from kibitz.commentary.choice import LEVELS
from kibitz.engine import Engine
from kibitz.position.board import Board
from kibitz.position.pgn import Game, parse_game, read_games
from kibitz.search.limits import Limits
from kibitz.search.report import Result
from tests.commentary.checker import Count, Judge, level_of, read_game, tell_all


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


def annotated(source: Path, output: Path, nodes: int) -> Iterator[chess.pgn.Game]:
    """The games of a file for each level, those that the output has already as they are there."""
    done = list(read_games(output)) if output.exists() else []
    yield from (game.tree for game in done)
    with Remembering() as engine, output.open("a", encoding="utf-8") as file:
        for game in read_games(source):
            if game.number * len(LEVELS) <= len(done):
                continue
            engine.known.clear()
            text = str(game)
            versions: list[Game] = []
            for level in LEVELS:
                twin = parse_game(text)
                annotate(twin, engine, Style(level, limits=Limits(nodes=nodes)))
                versions.append(twin)
            file.writelines(f"{one}\n\n" for one in versions)
            file.flush()
            yield from (one.tree for one in versions)


def main() -> None:
    """Annotate, check and print."""
    options = argparse.ArgumentParser()
    options.add_argument("source", type=Path)
    options.add_argument("output", type=Path)
    options.add_argument("--nodes", type=int, default=1_000)
    options.add_argument("--engine")
    options.add_argument("--judge-nodes", type=int, default=60_000)
    asked = options.parse_args()
    judge = Judge(asked.engine, asked.judge_nodes) if asked.engine else None
    counts: defaultdict[str, Count] = defaultdict(Count)
    for game in annotated(asked.source, asked.output, asked.nodes):
        read_game(game, counts[level_of(game)], judge)
    if judge is not None:
        judge.engine.quit()
    tell_all(counts, show=True)


if __name__ == "__main__":
    main()
