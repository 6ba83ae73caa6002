"""Records of games as PGN, with what the players said about every move.

    GameRecord -> **PGN** -> any chess program

Comments are written as fastchess and cutechess do: `{+0.31/12 1.500s, n=4711}` is a score for the
mover in pawns (`+M5` for a mate in five), the depth, the time and the nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kibitz.files import Location
from kibitz.match.control import Control
from kibitz.match.play import FORFEITS, TIME_FORFEIT
from kibitz.match.record import GameRecord, MoveRecord
from kibitz.position.board import Board
from kibitz.position.pgn import Game, game_of, write_games

EVENT = "Kibitz match"


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


def write_pgn(
    location: Location,
    records: Iterable[GameRecord],
    names: Sequence[str],
    controls: Sequence[Control],
) -> int:
    """Write all games, replacing the file at once; returns how many."""
    return write_games(location, (to_game(record, names, controls) for record in records))
