"""Annotates files of games one by one, and goes on where an earlier run has stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import chess.pgn

from kibitz.commentary.annotate import Annotated, Style, annotate
from kibitz.engine import Engine
from kibitz.errors import InputError
from kibitz.files import atomic_write
from kibitz.log import Stop, progress, say
from kibitz.places import Place
from kibitz.position.pgn import BadGame, Game, read_games

ANNOTATOR = "Annotator"  # the tag that says how a game was annotated


def annotate_file(
    source: Place, output: Path | None, engine: Engine, style: Style, stop: Stop
) -> Iterator[Annotated]:
    """Annotate the games of a file; each is in the output before it is yielded."""
    bad: list[BadGame] = []

    def skip(one: BadGame) -> None:
        bad.append(one)
        say(str(one))

    by = annotator(engine, style)
    done = _done(source, output, by) if output else []
    found = 0
    for game in read_games(source, skip):
        if stop.requested:
            return
        found += 1
        if found <= len(done):
            _same(game, done[found - 1], output)
            continue
        yield _one(game, output, engine, style, by)
    if not found:
        reason = f"{len(bad)} skipped" if bad else "it is empty"
        raise InputError("no game to annotate", value=str(source), fix=reason)
    if found == len(done):
        say(f"{output}: all games are annotated ({found})")


def annotator(engine: Engine, style: Style) -> str:
    """How games are annotated, in a tag: the network, the level and the limits."""
    limits = " ".join(f"{name} {value}" for name, value in style.limits.given().items())
    return f"kibitz ({engine.source}, {style.level}, {style.sides}, {limits})"


def _one(game: Game, output: Path | None, engine: Engine, style: Style, by: str) -> Annotated:
    plies = len(list(game.tree.mainline()))
    title = f"{game.tags.get('White', '?')} - {game.tags.get('Black', '?')}"
    passes = any(not node.move for node in game.tree.mainline())
    if passes:
        say(f"game {game.number} ({title}) passes a move and is left as it is")
        result = Annotated(game, None, [])
    else:
        with progress(f"game {game.number}, {title}", total=plies + 1) as bar:
            result = annotate(game, engine, style, bar.advance)
    game.tree.headers[ANNOTATOR] = by
    if output is not None:
        with output.open("a", encoding="utf-8") as file:
            file.write(f"{game}\n\n")
            file.flush()
            os.fsync(file.fileno())
    return result


def _done(source: Place, output: Path, by: str) -> list[Game]:
    """The games an earlier run has left; one that a crash has cut is taken away."""
    if not output.parent.is_dir():
        fix = "make it, or give another -o"
        raise InputError("no such folder for the output", value=str(output.parent), fix=fix)
    if not output.exists():
        return []
    if isinstance(source, Path) and source.exists() and output.samefile(source):
        raise InputError("the output is the input", value=str(output), fix="give another -o")
    content = output.read_bytes()
    broken: list[BadGame] = []
    games = list(read_games(output, broken.append))
    cut = bool(broken) or not content.endswith(b"\n\n")
    whole = games[:-1] if cut and not broken else games
    theirs = any(game.tags.get(ANNOTATOR) != by for game in games)
    if theirs or (content and by.encode() not in content):
        what = "the output exists and was made in another way"
        raise InputError(what, value=str(output), fix="give another -o, or remove it")
    if cut:
        with atomic_write(output) as file:
            file.write("".join(f"{game}\n\n" for game in whole).encode())
    return whole


def _same(game: Game, other: Game, output: Path | None) -> None:
    """Refuse to go on with an output of other games."""
    if _moves(game.tree) != _moves(other.tree):
        fix = "give another -o, or remove the file"
        what = f"game {game.number} of the output is not that of the input"
        raise InputError(what, value=str(output), fix=fix)


def _moves(tree: chess.pgn.Game) -> list[str]:
    return [node.move.uci() for node in tree.mainline()]
