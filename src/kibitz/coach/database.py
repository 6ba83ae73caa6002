"""A player's games, analyses and deck in one SQLite file.

    sites and files -> `games` -> **database** -> `analyse` -> `deck`, `profile`, `tree`

The file has a version of its schema and is looked through when it is opened. It is written ahead
(WAL), so that readers and a writer do not wait for each other and a crash loses no finished piece.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import chess.pgn
import msgspec

from kibitz.core.errors import DamagedFileError, FileError, InputError, KibitzError
from kibitz.core.files import data_folder, named_failures, newer_format
from kibitz.core.journal import with_lock
from kibitz.position.pgn import parse_game

APPLICATION = 0x6B62636F  # how SQLite tells our files from those of others
SCHEMA = 1
PATIENCE = 10.0  # seconds that a writer waits for another one
WHITE, BLACK = 0, 1
YEAR_10000 = 253_402_300_800  # seconds since 1970
_MOVE = "^([a-h][1-8][a-h][1-8][nbrqNBRQ]?)?$"
_TABLES = """
CREATE TABLE players (name TEXT PRIMARY KEY COLLATE NOCASE);
CREATE TABLE games (
    id INTEGER PRIMARY KEY,
    site TEXT NOT NULL, site_id TEXT NOT NULL,
    played INTEGER NOT NULL,
    white TEXT NOT NULL, black TEXT NOT NULL, side INTEGER NOT NULL, result TEXT NOT NULL,
    white_rating INTEGER, black_rating INTEGER,
    control TEXT NOT NULL, pace TEXT NOT NULL, rated INTEGER,
    eco TEXT NOT NULL, opening TEXT NOT NULL,
    plies INTEGER NOT NULL, keys BLOB NOT NULL, moves BLOB NOT NULL, pgn TEXT NOT NULL,
    UNIQUE (site, site_id)
);
CREATE INDEX games_by_time ON games (played);
CREATE TABLE sources (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, filters TEXT NOT NULL,
    newest INTEGER NOT NULL DEFAULT 0,
    UNIQUE (name, filters)
);
CREATE TABLE archives (
    source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    month TEXT NOT NULL, tag TEXT NOT NULL, final INTEGER NOT NULL,
    PRIMARY KEY (source, month)
);
CREATE TABLE analyses (
    game INTEGER PRIMARY KEY REFERENCES games ON DELETE CASCADE,
    signature TEXT NOT NULL, views TEXT NOT NULL
);
CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    game INTEGER NOT NULL REFERENCES games ON DELETE CASCADE,
    ply INTEGER NOT NULL, deck TEXT NOT NULL, position TEXT NOT NULL, content TEXT NOT NULL,
    due INTEGER NOT NULL DEFAULT 0, card TEXT NOT NULL DEFAULT '',
    UNIQUE (game, ply), UNIQUE (deck, position)
);
CREATE INDEX items_by_due ON items (deck, due);
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY,
    item INTEGER NOT NULL REFERENCES items ON DELETE CASCADE,
    reviewed INTEGER NOT NULL, grade INTEGER NOT NULL, seconds REAL NOT NULL
);
"""


class StoredGame(NamedTuple):
    """A game of the player's."""

    site: str  # lichess, chesscom or file
    site_id: str  # what the site calls it, or a digest of its moves
    played: Annotated[int, msgspec.Meta(ge=0, lt=YEAR_10000)]  # seconds since 1970, UTC; 0: unknown
    white: str
    black: str
    side: Annotated[int, msgspec.Meta(ge=WHITE, le=BLACK)]  # the player's
    result: str  # 1-0, 0-1, 1/2-1/2 or *
    white_rating: int | None
    black_rating: int | None
    control: str  # as the tag TimeControl has it
    pace: str  # as Lichess calls it; empty if not known
    rated: bool | None
    eco: str
    opening: str
    plies: int
    keys: bytes  # of the first positions, uint64; the start is the first
    moves: bytes  # made in them, uint16, as kernels see them
    pgn: str

    @property
    def points(self) -> float | None:
        """The player's; None if the game has no result."""
        if self.result not in POINTS:
            return None
        return POINTS[self.result] if self.side == WHITE else 1 - POINTS[self.result]

    @property
    def rating(self) -> int | None:
        """The player's."""
        return self.black_rating if self.side else self.white_rating


POINTS = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}  # White's
_COLUMNS = ", ".join(StoredGame._fields)


class View(msgspec.Struct, frozen=True, array_like=True):
    """What a search has seen of a position, for the side to move."""

    kind: Literal["cp", "mate"]
    amount: int
    best: Annotated[str, msgspec.Meta(pattern=_MOVE)] = ""  # UCI
    second: float | None = None  # value of the second best move
    then: tuple[str, ...] = ()  # what follows the best move

    @property
    def line(self) -> list[str]:
        """The best move and what follows it; empty if there is no move."""
        return [self.best, *self.then] if self.best else []


def usual_path() -> Path:
    """Where a player's games are kept, if nothing else is said."""
    return data_folder() / "coach" / "games.db"


@contextmanager
def open_games(path: Path | None, must_exist: bool = True) -> Iterator[Database]:
    """The database of a command, or of a request of the page."""
    path = path or usual_path()
    if must_exist and not path.exists():
        fix = "kibitz coach add lichess:NAME, chesscom:NAME or FILES"
        raise InputError("no games yet", value=str(path), fix=fix)
    with closing(Database(path)) as database:
        yield database


class Database:
    """The open file. Errors name it and what helps."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with named_failures(path, "cannot write"):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self.named():
            self._file = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        try:
            with self.named():
                self._prepare()
        except BaseException:
            self._file.close()
            raise

    def working(self, work: str) -> AbstractContextManager[None]:
        """Keep a second process from the same work; others may read and write meanwhile."""
        return with_lock(self.path.with_name(f"{self.path.name}.{work}"), work)

    def _prepare(self) -> None:
        """Make the tables of a new file; refuse one that is another's, newer or damaged."""
        application, version = (
            self.value("PRAGMA application_id"),
            self.value("PRAGMA user_version"),
        )
        if version > SCHEMA and application == APPLICATION:
            raise newer_format("a coach's database of", version, SCHEMA, str(self.path))
        self._file.execute("PRAGMA foreign_keys = ON")
        if application != APPLICATION:
            self._create()
        state = self.value("PRAGMA quick_check(1)")
        if state != "ok":
            raise sqlite3.DatabaseError(state)
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = FULL")

    def _create(self) -> None:
        with self._exclusive():
            if self.value("PRAGMA application_id") == APPLICATION:
                return  # another process was as new, and faster
            if self.value("SELECT count(*) FROM sqlite_master"):
                fix = "give another --database"
                raise InputError("a database of another program", value=str(self.path), fix=fix)
            for statement in filter(str.strip, _TABLES.split(";")):
                self._file.execute(statement)
            self._file.execute(f"PRAGMA application_id = {APPLICATION}")
            self._file.execute(f"PRAGMA user_version = {SCHEMA}")

    def close(self) -> None:
        """Close the file."""
        with self.named():
            self._file.close()

    @contextmanager
    def named(self) -> Iterator[None]:
        """Have what SQLite refuses say which file it is, why, and what helps."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "decode" in str(error):  # a text that is no UTF-8 any more; it may be a long one
                raise self.damaged(str(error).partition(" with text")[0]) from error
            raise self._failure(str(error)) from error
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                raise
            raise self.damaged(str(error)) from error
        except OverflowError as error:  # of what was asked for: SQLite's numbers have 64 bits
            raise InputError("no such number here", fix="give one of less than 2^63") from error

    @contextmanager
    def intact(self, what: str) -> Iterator[None]:
        """Have contents that are not as they were written say so: SQLite has no checksums."""
        try:
            yield
        except (msgspec.MsgspecError, LookupError, TypeError, ValueError) as error:
            reason = error.what if isinstance(error, KibitzError) else error
            raise self.damaged(f"{what}: {reason}") from error

    def damaged(self, reason: str) -> DamagedFileError:
        """The error for a file whose content is not what was written."""
        fix = "put it aside, or bring back a copy; what sites have can be fetched again"
        what = f"a damaged database ({' '.join(reason.split())})"
        return DamagedFileError(what, value=str(self.path), fix=fix)

    def _failure(self, reason: str) -> FileError:
        fix = "is it a folder, or read-only? give another --database"
        if "locked" in reason or "busy" in reason:
            fix = "another process writes to it; try again when it has ended"
        elif "no such" in reason:
            fix = "a part of it is missing: put it aside, or bring back a copy"
        elif "full" in reason:
            fix = "make room and repeat the command; what was finished is kept"
        elif "disk I/O" in reason:
            fix = "is the disk in order, and not full? what was finished is kept"
        return FileError(f"cannot use this database ({reason})", value=str(self.path), fix=fix)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            raise
        self._file.execute("COMMIT")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written within it, or nothing."""
        with self.named(), self._exclusive():
            yield

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What a query finds."""
        with self.named():
            return self._file.execute(query, values).fetchall()

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        """The first value of the first row; None if there is none."""
        row = self._file.execute(query, values).fetchone()
        return None if row is None else row[0]

    def write(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Carry out a statement; how many rows it has changed."""
        with self.named():
            return self._file.execute(statement, values).rowcount

    # --- games ----------------------------------------------------------------------------------

    def add_game(self, game: StoredGame) -> bool:
        """Keep a game; False if it is there."""
        marks = ", ".join("?" * len(game))
        statement = f"INSERT OR IGNORE INTO games ({_COLUMNS}) VALUES ({marks})"
        return self.write(statement, game) == 1

    def games(
        self, where: str = "1", values: Sequence[Any] = ()
    ) -> Iterator[tuple[int, StoredGame]]:
        """Numbers and games, the earliest first."""
        query = f"SELECT id, {_COLUMNS} FROM games WHERE {where} ORDER BY played, id"
        for number, *columns in self.rows(query, values):
            with self.intact(f"game {number}"):
                game = msgspec.convert(columns, StoredGame, strict=False)
                if not 0 < len(game.moves) == (len(game.keys) - 8) / 4:
                    raise ValueError("no position behind each move")
            yield number, game

    def tree(self, number: int, game: StoredGame) -> chess.pgn.Game:
        """The moves, comments and variations of a game."""
        with self.intact(f"game {number}"):
            tree = parse_game(game.pgn).tree
            if sum(1 for _ in tree.mainline()) != game.plies:
                raise ValueError(f"not its {game.plies} moves")
        return tree

    def count(self, table: str) -> int:
        """Rows of a table."""
        with self.named():
            return int(self.value(f"SELECT count(*) FROM {table}"))

    def names(self) -> list[str]:
        """The names that the player has."""
        return [name for (name,) in self.rows("SELECT name FROM players ORDER BY name")]

    def add_name(self, name: str) -> None:
        """Remember a name of the player's."""
        self.write("INSERT OR IGNORE INTO players VALUES (?)", (name,))

    def forget_name(self, name: str) -> None:
        """Forget a name that was none of the player's."""
        self.write("DELETE FROM players WHERE name = ?", (name,))

    def views(self, game: int) -> list[View]:
        """What was seen of the positions of a game; empty if it is not analysed."""
        with self.named():
            text = self.value("SELECT views FROM analyses WHERE game = ?", (game,))
        with self.intact(f"the analysis of game {game}"):
            return [] if text is None else msgspec.json.decode(text, type=list[View])

    def copy_to(self, path: Path) -> None:
        """Write a whole copy, even while others write; a file that is there is refused."""
        if path.exists():
            raise InputError("the file is there already", value=str(path), fix="name another one")
        try:
            with self.named(), closing(sqlite3.connect(path)) as target:
                self._file.backup(target)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
