"""Puzzles, and the files that hold them: CSV with Lichess's columns, EPD, PGN."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias, get_args

import chess
import chess.pgn
import msgspec

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import Location, read_bytes, write_bytes
from kibitz.core.places import Place
from kibitz.position.board import Board
from kibitz.position.epd import Epd, named_place, read_epd
from kibitz.position.pgn import read_games, text_of


class Puzzle(msgspec.Struct, frozen=True, kw_only=True):
    """A position with its solution; moves are UCI, castling as the king takes the rook."""

    fen: str  # X-FEN; the solver is to move
    moves: tuple[str, ...]  # the solver's and the opponent's in turn, from and to the solver
    before: str = ""  # the position before the opponent's last move; empty if it is not known
    last: str = ""  # that move
    score: str = ""  # "cp 512" or "mate 3" for the solver
    rating: int = 0  # as Lichess rates puzzles, estimated
    nodes: int = 0  # that alpha-beta needs to find every move of the solver
    themes: tuple[str, ...] = ()
    game: str = ""  # where it was found: an address, or file and game
    opening: str = ""
    name: str = ""  # its id

    @property
    def solver_moves(self) -> int:
        """How many moves are to be found."""
        return len(self.moves) // 2 + 1

    def board(self) -> Board:
        """The position to solve, after the opponent's move if that is known."""
        return Board(self.before, [self.last]) if self.last else Board(self.fen)

    def positions(self) -> list[Board]:
        """The positions in which the solver has to find a move."""
        board = self.board()
        boards = [board.copy(history=False)]
        for at, move in enumerate(self.moves):
            board.push(move)
            if at % 2 and at + 1 < len(self.moves):
                boards.append(board.copy(history=False))
        return boards


def key_of(board: Board) -> str:
    """A position's key, the same with colours exchanged."""
    position = board if board.turn == "white" else board.copy(history=False).mirror()
    return " ".join(position.fen(shredder=True).split()[:4])


def name_of(key: str) -> str:
    """A short name that is always the same for a position."""
    return hashlib.sha256(key.encode()).hexdigest()[:8]


# --- files ----------------------------------------------------------------------------------------
#
# Files of puzzles: CSV with Lichess's columns, EPD, PGN; each is written and read.


Format: TypeAlias = Literal["csv", "epd", "pgn"]
FORMATS: dict[str, Format] = {name: name for name in get_args(Format)}
COLUMNS = (
    *("PuzzleId", "FEN", "Moves", "Rating", "RatingDeviation", "Popularity", "NbPlays"),
    *("Themes", "GameUrl", "OpeningTags"),
)
DEVIATION = 350  # of a rating without plays, as Glicko has it


def format_of(path: Place, given: Format | None = None) -> Format:
    """The format that is asked for, or that the file's name ends in."""
    kind = given or FORMATS.get(path.suffix.lower().removeprefix("."))
    if kind is None:
        fix = "end its name in .csv, .epd or .pgn, or give --format"
        raise InputError("no format of puzzles", value=path.name, fix=fix)
    return kind


def write_puzzles(path: Location, puzzles: Sequence[Puzzle], form: Format) -> None:
    """Replace a file by these puzzles, atomically."""
    write_bytes(path, _WRITERS[form](puzzles).encode())


def read_puzzles(path: Place, given: Format | None = None) -> list[Puzzle]:
    """The puzzles of a file; those that are wrong are named by the line or the game."""
    puzzles = list(_READERS[format_of(path, given)](path))
    if not puzzles:
        raise InputError("no puzzle in", value=str(path), fix="is it a file of puzzles?")
    return puzzles


# --- CSV ------------------------------------------------------------------------------------------


def _csv_of(puzzles: Sequence[Puzzle]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for puzzle in puzzles:
        moves, themes = " ".join((puzzle.last, *puzzle.moves)), " ".join(puzzle.themes)
        tags = puzzle.opening.replace(" ", "_")
        first = (puzzle.name, puzzle.before, moves, puzzle.rating, DEVIATION, 0, 0)
        row = (*first, themes, puzzle.game, tags)
        writer.writerow(row)
    return text.getvalue()


def _read_csv(path: Place) -> Iterator[Puzzle]:
    lines = csv.DictReader(io.StringIO(read_bytes(path).decode("utf-8-sig", "replace")))
    try:
        yield from _read_rows(path, lines)
    except csv.Error as error:  # a field that does not end
        what = f"line {lines.line_num} is no CSV ({error})"
        raise DamagedFileError(what, value=str(path), fix="make or fetch the file again") from error


def refuse_without(row: dict[str, str], *needed: str) -> None:
    """Refuse a row without these fields: one that is too short has None for them."""
    for name in needed:
        if not (row.get(name) or "").strip():
            found = sum(field is not None for field in row.values())
            columns = ", ".join(filter(None, row))  # None has what is more than the columns
            raise InputError(f"{found} columns, and no {name}", fix=f"expected {columns}")


def _read_rows(path: Place, lines: csv.DictReader[str]) -> Iterator[Puzzle]:
    missing = {"FEN", "Moves"} - {*(lines.fieldnames or ())}
    if missing:
        raise InputError("no such column", value=sorted(missing)[0], fix=f"look at {path}")
    for row in lines:
        with named_place(f"{path}, line {lines.line_num}"):
            refuse_without(row, "FEN", "Moves")
            last, *moves = row["Moves"].split()
            yield checked(
                Puzzle(
                    fen=Board(row["FEN"], [last]).fen(),
                    moves=tuple(moves),
                    before=row["FEN"],
                    last=last,
                    rating=_number(row.get("Rating")),
                    themes=tuple((row.get("Themes") or "").split()),
                    game=row.get("GameUrl") or "",
                    opening=(row.get("OpeningTags") or "").replace("_", " "),
                    name=row.get("PuzzleId") or "",
                )
            )


# --- EPD ------------------------------------------------------------------------------------------


def _epd_of(puzzles: Sequence[Puzzle]) -> str:
    return "".join(f"{_line_of(puzzle)}\n" for puzzle in puzzles)


def _line_of(puzzle: Puzzle) -> Epd:
    line = Board(puzzle.fen, puzzle.moves).moves
    kind, amount = puzzle.score.split() if puzzle.score else ("", "0")
    about = {
        "c0": " ".join(puzzle.themes),
        "c1": puzzle.before,
        "c2": puzzle.last,
        "c3": str(puzzle.rating),
    }
    return Epd(
        fen=puzzle.fen,
        best=(line[0],),
        line=line,
        name=puzzle.name,
        comments={**about, "c4": puzzle.game},
        nodes=puzzle.nodes or None,
        centipawns=int(amount) if kind == "cp" else None,
        mate_in=int(amount) if kind == "mate" else None,
    )


def _read_epd(path: Place) -> Iterator[Puzzle]:
    for number, line in enumerate(read_epd(path), start=1):
        about, board = line.comments, line.board()
        moves = line.line or line.best[:1]
        ours = about.get("c3", "").isdigit()  # others' comments mean other things
        with named_place(f"{path}, position {number}"):
            yield checked(
                Puzzle(
                    fen=line.fen,
                    moves=tuple(move.uci() for move in moves),
                    before=about.get("c1", "") if ours else "",
                    last=about.get("c2", "") if ours else "",
                    rating=int(about["c3"]) if ours else 0,
                    themes=tuple(about.get("c0", "").split()) if ours else (),
                    game=about.get("c4", "") if ours else "",
                    nodes=line.nodes or 0,
                    name=line.name or name_of(key_of(board)),
                )
            )


# --- PGN ------------------------------------------------------------------------------------------


def _pgn_of(puzzles: Sequence[Puzzle]) -> str:
    return "".join(f"{text_of(_tree_of(puzzle))}\n\n" for puzzle in puzzles)


def _tree_of(puzzle: Puzzle) -> chess.pgn.Game:
    tree = chess.pgn.Game()
    tree.setup(Board(puzzle.before).to_chess())
    tree.headers["Event"] = f"Puzzle {puzzle.name}"
    tree.headers["Site"] = puzzle.game
    about = {"PuzzleId": puzzle.name, "PuzzleRating": str(puzzle.rating), "Score": puzzle.score}
    for name, value in {
        **about,
        "Themes": " ".join(puzzle.themes),
        "Opening": puzzle.opening,
    }.items():
        tree.headers[name] = value
    node: chess.pgn.GameNode = tree
    for text in (puzzle.last, *puzzle.moves):
        node = node.add_variation(chess.Move.from_uci(text))
    return tree


def _read_pgn(path: Place) -> Iterator[Puzzle]:
    for game in read_games(path):
        last, *moves = [node.move.uci() for node in game.tree.mainline()] or [""]
        tags, before = game.tags, game.start.fen()
        with named_place(f"{path}, game {game.number}"):
            yield checked(
                Puzzle(
                    fen=Board(before, [last]).fen(),
                    moves=tuple(moves),
                    before=before,
                    last=last,
                    score=tags.get("Score", ""),
                    rating=_number(tags.get("PuzzleRating")),
                    themes=tuple(tags.get("Themes", "").split()),
                    game=tags.get("Site", ""),
                    opening=tags.get("Opening", ""),
                    name=tags.get("PuzzleId", ""),
                )
            )


# --- both -----------------------------------------------------------------------------------------


def checked(puzzle: Puzzle) -> Puzzle:
    """The puzzle, if its moves are legal and the last one is the solver's."""
    if len(puzzle.moves) % 2 == 0:
        fix = "expected the opponent's move, then moves in turn, the solver's last"
        raise InputError("no solution", value=" ".join(puzzle.moves), fix=fix)
    board = puzzle.board()
    for text in puzzle.moves:
        board.push(text)
    return puzzle


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0


_WRITERS: dict[Format, Callable[[Sequence[Puzzle]], str]] = {
    "csv": _csv_of,
    "epd": _epd_of,
    "pgn": _pgn_of,
}
_READERS: dict[Format, Callable[[Place], Iterator[Puzzle]]] = {
    "csv": _read_csv,
    "epd": _read_epd,
    "pgn": _read_pgn,
}
