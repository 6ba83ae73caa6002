"""Records of games as PGN, with what the players said about every move.

    PlayedGame -> **PGN** -> any chess program

Comments are written as fastchess and cutechess do: `{+0.31/12 1.500s, n=4711}` is a score for the
mover in pawns (`+M5` for a mate in five), the depth, the time and the nodes.
"""

from __future__ import annotations

import datetime
import hashlib
import re
import secrets
from collections.abc import Sequence
from pathlib import Path

from kibitz.errors import FileError
from kibitz.files import data_folder, dated, has_dates, write_bytes
from kibitz.log import say
from kibitz.match.control import Control
from kibitz.match.journal import FORFEITS, TIME_FORFEIT, GrowingFile, PlayedGame, PlayedMove
from kibitz.position.board import Board
from kibitz.position.pgn import Game, game_of

EVENT = "Kibitz match"
_EVENT_TAG = f'[Event "{EVENT}"]'.encode()
_WHOLE = re.compile(rb"(1-0|0-1|1/2-1/2|\*)\s*\Z")  # a game ends with its result
_TAGS = re.compile(rb'\[(?:Round|White|Black|GameEndTime) "[^"]*"\]')


def to_game(record: PlayedGame, names: Sequence[str], controls: Sequence[Control]) -> Game:
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


def _tags(record: PlayedGame, names: Sequence[str], controls: Sequence[Control]) -> dict[str, str]:
    white, black = controls[record.white], controls[record.black]
    date = dated(datetime.datetime.fromisoformat(record.ended)) if record.ended else ""
    tags = {
        "Event": EVENT,
        "Site": "?",
        "Date": date[:10].replace("-", ".") or "????.??.??",
        "Round": f"{record.number // 2 + 1}.{record.number % 2 + 1}",
        "White": names[record.white],
        "Black": names[record.black],
        "Result": record.result,
        "GameEndTime": record.ended if has_dates() else "",
        "PlyCount": str(len(record.book) + len(record.moves)),
        "Termination": _termination(record),
    }
    tags = {name: text for name, text in tags.items() if text}
    if white == black:
        return tags | {"TimeControl": str(white)}
    return tags | {"WhiteTimeControl": str(white), "BlackTimeControl": str(black)}


def _termination(record: PlayedGame) -> str:
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


def _comment(move: PlayedMove) -> str:
    seconds = f" {move.milliseconds / 1000:.3f}s" if has_dates() else ""
    score = ""
    if move.mate is not None:
        score = f"{'-' if move.mate < 0 else '+'}M{abs(move.mate)}"
    elif move.cp is not None:
        score = f"{move.cp / 100:+.2f}"
    depth = f"/{move.depth}" if score and move.depth is not None else ""
    nodes = "" if move.nodes is None else f", n={move.nodes}"
    return f"{score}{depth}{seconds}{nodes}".strip(", ")


class PgnFile:
    """A file of games that grows by a game at a time, and never loses one that is in it.

    Games that do not fit, on a full disk, are kept in memory and tried again with the next one.
    Those left at the end stay in `journal`, if the match has one, else go to the data folder.
    """

    def __init__(
        self,
        path: Path,
        names: Sequence[str],
        controls: Sequence[Control],
        journal: Path | None = None,
    ) -> None:
        self._names, self._controls, self._journal = names, controls, journal
        self._file, self._waiting = GrowingFile(path), list[bytes]()
        self._there = self._read(path)

    def _read(self, path: Path) -> set[tuple[bytes, ...]]:
        """The games of the file, known by their tags; one that a crash cut off is taken out."""
        content = self._file.read()
        last = max(0, content.rfind(b"[Event "))
        if content[last:].startswith(_EVENT_TAG) and not _WHOLE.search(content, last):
            self._file.cut(last)
            say(f"{path}: cut off a game that was not written to its end")
            content = content[:last]
        if content and not content.endswith(b"\n\n"):
            self._file.add(b"\n\n")
        return {_known_by(game) for game in content.split(b"[Event ")[1:]}

    def add(self, record: PlayedGame) -> None:
        """Add a game unless it is there; it is with the operating system when this returns."""
        text = str(to_game(record, self._names, self._controls)).encode()
        if _known_by(text) not in self._there:
            self._there.add(_known_by(text))
            self._waiting.append(text + b"\n\n")
            refused = self._write()
            if refused is not None and len(self._waiting) == 1:
                say(f"{refused}; games are kept in memory and tried again")

    def _write(self) -> FileError | None:
        """Write the games that wait; what kept one of them back."""
        try:
            while self._waiting:
                self._file.add(self._waiting[0])
                self._waiting.pop(0)
        except FileError as error:
            return error
        return None

    def close(self) -> None:
        """Close the file; what was added is on the disk, what did not fit elsewhere."""
        refused = self._write()
        self._file.close()
        if refused is not None:
            refused.fix = self._rescued()
            raise refused

    def _rescued(self) -> str:
        count = f"{len(self._waiting)} games"
        if self._journal is not None:
            return f"{count} are in {self._journal} only; make room and repeat the command"
        path = data_folder() / "unwritten" / f"{self._file.path.name}-{secrets.token_hex(4)}.pgn"
        try:
            write_bytes(path, b"".join(self._waiting))
        except OSError as error:
            return f"{count} are lost, as they could not be written to {path} either ({error})"
        return f"{count} were written to {path} instead"

    def __enter__(self) -> PgnFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _known_by(game: bytes) -> tuple[bytes, ...]:
    """The tags by which a game is known again: round, players, and when it ended.

    Without the last, which dates left out take away, only the same game is the same.
    """
    tags = tuple(sorted(_TAGS.findall(game)))
    if any(tag.startswith(b"[GameEndTime ") for tag in tags):
        return tags
    return (*tags, hashlib.sha256(game.removeprefix(b"[Event ").strip()).digest())
