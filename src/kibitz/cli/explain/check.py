"""`kibitz check`: what is true and what is false in anybody's comments."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kibitz.cli.output import EXIT_STOPPED, EngineFlag, JsonFlag, at_least, columns, emit
from kibitz.comment.batch import check_output
from kibitz.comment.check.games import (
    MOST_TEXT,
    NODES,
    Checked,
    check_game,
    check_text,
    searching,
)
from kibitz.comment.check.verdict import Search
from kibitz.core.errors import InputError
from kibitz.core.files import open_read
from kibitz.core.journal import GrowingFile
from kibitz.core.log import Stop, graceful_stop, progress, say
from kibitz.core.places import place
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER
from kibitz.position.board import Board
from kibitz.position.pgn import BadGame, read_games

LONGEST_PATH = 255  # characters; a longer argument is a text
ODD = 0.1  # share of letters that no text has; with more of them a file is none
SHOWN = 160  # characters of a sentence in the table; JSON has them all


def check(
    source: Annotated[
        str,
        Parameter(
            help="PGN file; with --fen a text on the position, or its file; - for the input.",
            allow_leading_hyphen=True,
        ),
    ],
    *,
    fen: Annotated[str | None, Parameter(help="The position that a text is about.")] = None,
    move: Annotated[str | None, Parameter(help="The move of it that a text is about.")] = None,
    output: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], help="PGN to write, with notes beside false sentences."),
    ] = None,
    nodes: Annotated[int | None, Parameter(help="Nodes of a search; 0 for none.")] = None,
    network: EngineFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Check comments: each sentence is true, false with the reason, or not checkable."""
    at_least(0, nodes=nodes)
    if source != "-" and source.startswith("-"):
        raise InputError("no such option", value=source, fix="see --help")
    if fen is None and move is not None:
        raise InputError("--move of no position", value=move, fix="give --fen, too")
    if fen is not None and output is not None:
        raise InputError("-o is for games", value=str(output), fix="leave it out, or --fen")
    spent = NODES if nodes is None else nodes
    with graceful_stop() as stop:
        if not spent:
            checked = _checked(source, fen, move, output, None, stop)
        else:
            with Engine(network, search="alphabeta", multipv=2, hash=16) as engine:
                checked = _checked(source, fen, move, output, searching(engine, spent), stop)
    _tell(checked, json=json)
    return EXIT_STOPPED if stop.requested else 1 if checked.skipped else 0


def _checked(
    source: str,
    fen: str | None,
    move: str | None,
    output: Path | None,
    search: Search | None,
    stop: Stop,
) -> Checked:
    if fen is None:
        return _of_games(source, output, search, stop)
    return check_text(_text(source), Board(fen), move, search)


def _text(source: str) -> str:
    """What is said: the input, a file's text, or the argument itself."""
    if source == "-":
        return _readable(sys.stdin.read(MOST_TEXT + 1), "the input")
    if len(source) > LONGEST_PATH or not Path(source).is_file():
        return source
    with open_read(source) as file:
        content = file.read(4 * MOST_TEXT + 1)  # at most 4 bytes a character
    return _readable(content.decode(errors="replace"), source)


def _readable(text: str, source: str) -> str:
    """A text, unless much of it is none: a picture, an archive, a program."""
    odd = sum(not (letter.isprintable() or letter.isspace()) for letter in text)
    odd += text.count("\ufffd")
    if "\0" in text or odd > len(text) * ODD:
        raise InputError("not a text", value=source, fix="give a file of plain text")
    return text


def _of_games(source: str, output: Path | None, search: Search | None, stop: Stop) -> Checked:
    """The comments in a file's games."""
    games = Path("/dev/stdin") if source == "-" else place(source)
    if output is not None:
        check_output(games, output)
        if output.exists():
            raise InputError("the output exists", value=str(output), fix="give another -o")
    checked, bad = Checked(), list[BadGame]()

    def skip(game: BadGame) -> None:
        bad.append(game)
        say(str(game))

    with ExitStack() as stack:
        bar = stack.enter_context(progress(source))
        number, written = 0, None
        for game in bar.over(read_games(games, skip), stop):
            number = game.number
            check_game(game, checked, search)
            if output is not None:
                written = written or stack.enter_context(closing(GrowingFile(output)))
                written.add(f"{game}\n\n".encode(errors="replace"))
    if not number:
        fix = f"{len(bad)} skipped" if bad else "give a PGN file, or a text with --fen"
        raise InputError("no game to check", value=source, fix=fix)
    checked.skipped = len(bad)
    return checked


def _shown(text: str) -> str:
    """A text for the table: no letters that a terminal obeys, and not the whole of a long one."""
    plain = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return plain if len(plain) <= SHOWN else f"{plain[: SHOWN - 3]}..."


def _tell(checked: Checked, *, json: bool) -> None:
    if json:
        emit(checked.facts(), as_json=True)
        return
    rows = [
        (
            f"{finding.game} {finding.move}".removeprefix("0 ").strip(),
            finding.verdict,
            _shown(finding.sentence),
            _shown(finding.reason),
        )
        for finding in checked.findings
        if finding.verdict == "false" or not finding.game
    ]
    if rows:
        emit({}, as_json=False, table=columns(("move", "verdict", "sentence", "why"), rows))
    emit(checked.tally.facts(), as_json=False)
