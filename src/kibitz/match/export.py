"""Records of games as PGN, with what the players said about every move.

    GameRecord -> **PGN** -> any chess program

Comments are written as fastchess and cutechess do: `{+0.31/12 1.500s, n=4711}` is a score for the
mover in pawns (`+M5` for a mate in five), the depth, the time and the nodes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from kibitz.errors import FileError
from kibitz.log import say
from kibitz.match.control import Control
from kibitz.match.play import FORFEITS, TIME_FORFEIT
from kibitz.match.record import GameRecord, MoveRecord
from kibitz.position.board import Board
from kibitz.position.pgn import Game, game_of

EVENT = "Kibitz match"
_EVENT_TAG = f'[Event "{EVENT}"]'.encode()
_WHOLE = re.compile(rb"(1-0|0-1|1/2-1/2|\*)\s*\Z")  # a game ends with its result
_TAGS = re.compile(rb'\[(?:Round|White|Black|GameEndTime) "[^"]*"\]')


def to_game(record: GameRecord, names: Sequence[str], controls: Sequence[Control]) -> Game:
    """A record as a game with tags and comments; names and controls by place in the match."""
    moves = (*record.book, *(move.uci for move in record.moves))
    board = Board(record.fen, moves, chess960=record.chess960)
    game = game_of(board, _tags(record, names, controls))
    node = game.tree.end()
    for move in reversed(record.moves):
        assert node.parent is not None
        node.comment = _comment(move)
        node = node.parent
    while node.parent is not None:
        node.comment = "book"
        node = node.parent
    if record.detail:
        end = game.tree.end()
        end.comment = f"{end.comment} {record.termination}: {_bare(record.detail)}".strip()
    return game


def _tags(record: GameRecord, names: Sequence[str], controls: Sequence[Control]) -> dict[str, str]:
    white, black = controls[record.white], controls[record.black]
    tags = {
        "Event": EVENT,
        "Site": "?",
        "Date": record.ended[:10].replace("-", ".") or "????.??.??",
        "Round": f"{record.number // 2 + 1}.{record.number % 2 + 1}",
        "White": names[record.white],
        "Black": names[record.black],
        "Result": record.result,
        "GameEndTime": record.ended,
        "PlyCount": str(len(record.book) + len(record.moves)),
        "Termination": _termination(record),
    }
    if white == black:
        return tags | {"TimeControl": str(white)}
    return tags | {"WhiteTimeControl": str(white), "BlackTimeControl": str(black)}


def _termination(record: GameRecord) -> str:
    """The tag's words as the PGN standard and fastchess have them."""
    if record.termination == TIME_FORFEIT or record.termination.startswith("adjudication"):
        return record.termination.partition(":")[0]
    if record.termination in FORFEITS:
        other = {"crash": "abandoned", "hang": "stalled connection"}
        return other.get(record.termination, record.termination)
    return "normal"


def _bare(text: str) -> str:
    """A text that may stand in a comment."""
    return text.replace("{", "(").replace("}", ")")


def _comment(move: MoveRecord) -> str:
    seconds = f"{move.milliseconds / 1000:.3f}s"
    score = ""
    if move.mate is not None:
        score = f"{'-' if move.mate < 0 else '+'}M{abs(move.mate)}"
    elif move.cp is not None:
        score = f"{move.cp / 100:+.2f}"
    depth = f"/{move.depth}" if score and move.depth is not None else ""
    nodes = "" if move.nodes is None else f", n={move.nodes}"
    return f"{score}{depth} {seconds}{nodes}".strip()


class PgnFile:
    """A file of games that grows by a game at a time, and never loses one that is in it."""

    def __init__(self, path: Path, names: Sequence[str], controls: Sequence[Control]) -> None:
        self._names, self._controls = names, controls
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._file = path.open("a+b")
        except OSError as error:
            raise FileError(f"cannot write ({error.strerror})", value=str(path)) from error
        self._there = self._read(path)

    def _read(self, path: Path) -> set[tuple[bytes, ...]]:
        """The games of the file, known by their tags; one that a crash cut off is taken out."""
        self._file.seek(0)
        content = self._file.read()
        last = max(0, content.rfind(b"[Event "))
        if content[last:].startswith(_EVENT_TAG) and not _WHOLE.search(content, last):
            self._file.truncate(last)
            say(f"{path}: cut off a game that was not written to its end")
            content = content[:last]
        if content and not content.endswith(b"\n\n"):
            self._write(b"\n\n")
        return {_known_by(game) for game in content.split(b"[Event ")[1:]}

    def add(self, record: GameRecord) -> None:
        """Add a game unless it is there; it is with the operating system when this returns."""
        text = str(to_game(record, self._names, self._controls)).encode()
        if _known_by(text) not in self._there:
            self._there.add(_known_by(text))
            self._write(text + b"\n\n")

    def _write(self, content: bytes) -> None:
        self._file.write(content)
        self._file.flush()

    def close(self) -> None:
        """Close the file; what was added is on its way to the disk."""
        os.fsync(self._file.fileno())
        self._file.close()

    def __enter__(self) -> PgnFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _known_by(game: bytes) -> tuple[bytes, ...]:
    """The tags by which a game is known again: round, players, and when it ended."""
    return tuple(sorted(_TAGS.findall(game)))
