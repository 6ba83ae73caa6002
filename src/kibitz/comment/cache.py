"""Analyses that are kept on this machine, so that another level of a game searches nothing anew."""

from __future__ import annotations

import zlib
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import chess
import msgspec

import kibitz
from kibitz.comment import analysis
from kibitz.comment.analysis import Analysis
from kibitz.comment.searches import Effort
from kibitz.core.errors import FileError
from kibitz.core.files import cache_folder, read_bytes, sha256_of, write_bytes
from kibitz.core.log import say
from kibitz.core.places import make_room
from kibitz.engine.options import chosen
from kibitz.jit.cache import source_stamp
from kibitz.nets.discover import files_of

if TYPE_CHECKING:
    from kibitz.engine import Engine

FOLDER = "analyses"  # in the cache folder
COMMENT = ("analyse.py", "searches.py", "judge.py", "three_men.py")
SEARCHING = (*(f"comment/{name}" for name in COMMENT), "engine/engine.py")
CODE = [Path(kibitz.__file__).parent / name for name in SEARCHING]
ROOM = 200 << 20  # bytes; those that were not read for longest go first


class AnalysisCache:
    """The analyses of one way to search: an engine's network and options, and the effort."""

    def __init__(self, engine: Engine, effort: Effort, folder: Path | None = None) -> None:
        self._engine, self.effort = engine, effort
        self._folder = cache_folder() / FOLDER if folder is None else folder

    def find(self, start: chess.Board, moves: tuple[chess.Move, ...]) -> Analysis | None:
        """What is kept of a game; nothing where the file is damaged, and it is made anew."""
        path = self._path(start, moves)
        if not path.is_file():
            return None
        try:
            return analysis.read(zlib.decompress(read_bytes(path)))
        except (zlib.error, msgspec.MsgspecError) as error:
            say(f"{path}: damaged ({error}), the game is searched again")
            return None

    def keep(self, made: Analysis) -> None:
        """Keep an analysis; where it cannot be written, say so and go on."""
        path = self._path(made.board(), made.moves)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, zlib.compress(analysis.written(made)))
            make_room(path.parent, ROOM)
        except (FileError, OSError) as error:
            say(f"the analysis is not kept: {error}")

    def _path(self, start: chess.Board, moves: tuple[chess.Move, ...]) -> Path:
        """Where a game's analysis lies: by the game, how it is searched, and by which code."""
        begins = f"{start.shredder_fen(en_passant='fen')} {start.chess960}"
        engine = self._engine
        key = [kibitz.__version__, *map(source_stamp, CODE), begins]
        key += [str(engine.settings), network_stamp(chosen(engine.options.weights))]
        key += [str(self.effort), " ".join(map(str, moves))]
        return self._folder / f"{sha256(chr(10).join(key).encode()).hexdigest()[:32]}.json.zlib"


@cache
def network_stamp(network: str) -> str:
    """The identity of a network: the checksums of its files, or its name if it has none."""
    return " ".join(map(sha256_of, files_of(network))) or network
