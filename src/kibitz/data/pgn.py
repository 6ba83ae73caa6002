"""Games of PGN files: chosen by their tags, made records with their evaluations, written again.

Three kinds of evaluations are read, all in pawns: `[%eval 0.24]` and `[%eval #-3]` (White's view,
of the position after the move), `{0.24}` or `wv=0.24` (White's view, of the position where the
engine chose the move), and `{+0.24/18 1.2s}` (the same, in the view of the engine).

`[%eval]` is written. The evaluation behind a move is that of the next position: the score whose
value by the label model is the recorded one. A value of +-1, a mate of unknown length or more than
any score says, becomes +-100 pawns.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Literal, NamedTuple, get_args

import chess
import chess.pgn
import numpy as np

from kibitz.core.files import Location
from kibitz.data.labels.labels import LabelModel, score_of, score_of_value, wdl
from kibitz.data.shard import RESULT_TEXTS, RESULTS, UNKNOWN_END, UNKNOWN_RESULT, Game, Ply
from kibitz.position import outcome
from kibitz.position.board import Termination
from kibitz.position.fen import START, read_fen
from kibitz.position.moves import MAX_MOVES, PROMOTION, count_legal
from kibitz.position.pgn import LONGEST_MATE, BadGame, Progress, read_main_lines
from kibitz.position.pgn import Game as Tree
from kibitz.position.play import follow
from kibitz.position.regular import MainLine
from kibitz.position.state import new_positions

# What the standard knows as values of the tag Termination.
TERMINATIONS = {
    *("abandoned", "adjudication", "death", "emergency", "normal", "rules infraction"),
    *("time forfeit", "unterminated"),
}
OWN_KEYS = ("White", "Black", "Event", "Date")  # of a source, in small letters
IN_THE_GAME = ("Result", "FEN", "SetUp")  # tags that say again what the record of a game has
_NUMBER = r"([+-]?\d+(?:\.\d+)?)"
_BY_WHITE = re.compile(rf"{_NUMBER}|(?:.*[\s,])?wv={_NUMBER}(?:[\s,].*)?", re.DOTALL)
_BY_MOVER = re.compile(rf"(?:{_NUMBER}|([+-])M(\d+))/\d+(?:\s.*)?", re.DOTALL)
CAP = 100.0  # pawns, written for more than any score says
MOST_PAWNS = 1e6  # what a comment says beyond them is taken for them
_FLIP = 56  # between the views of White and Black of a square


Pace = Literal["ultrabullet", "bullet", "blitz", "rapid", "classical", "correspondence"]
PACES: tuple[Pace, ...] = get_args(Pace)
# Lichess's bounds in seconds, of a game that lasts 40 moves; above the last it is classical.
BOUNDS = (30, 180, 480, 1500)
MOVES = 40
LONGEST = 1 << 22  # characters of a piece that has no place to be cut at: it is no PGN
_TAG = re.compile(r'^\[(\w+)\s+"([^"]*)"', re.MULTILINE)
_CONTROL = re.compile(r"(?:\d+/)?(\d+)(?:\+(\d+(?:\.\d+)?))?")


# --- reading -------------------------------------------------------------------------------------


def main_lines(
    source: Location | IO[str],
    name: str,
    on_bad: Callable[[BadGame], None],
    progress: Progress | None = None,
) -> Iterator[MainLine]:
    """The main lines of a file's games; `on_bad` hears of games that are skipped."""
    for game in read_main_lines(source, on_bad, progress):
        line = game if isinstance(game, MainLine) else _main_line(game, name, on_bad)
        if line is not None:
            yield line


def read_pgn(
    source: Location | IO[str],
    model: LabelModel,
    name: str,
    on_bad: Callable[[BadGame], None],
    progress: Progress | None = None,
) -> Iterator[Game]:
    """The games of a file, those without a move too; `on_bad` hears of games that are skipped."""
    for line in main_lines(source, name, on_bad, progress):
        yield _converted(line, model, name)


def read_scores(
    source: Location | IO[str], name: str, on_bad: Callable[[BadGame], None]
) -> Iterator[tuple[int, np.ndarray]]:
    """White's result of each finished game, and its scores, float64 [plies + 1], for White.

    A position without a score has NaN.
    """
    for line in main_lines(source, name, on_bad):
        result = _result(line)
        if result != UNKNOWN_RESULT:
            sides = line.positions["side"].astype(np.int64)
            yield result, _scores(line.comments, sides.tolist()) * (1 - 2 * sides)


def _result(line: MainLine) -> int:
    return RESULTS.get(line.tags.get("Result", "*"), UNKNOWN_RESULT)


def _main_line(game: Tree, name: str, on_bad: Callable[[BadGame], None]) -> MainLine | None:
    """The main line of a tree; `on_bad` hears what is wrong with it."""
    tree = game.tree
    nodes = list(tree.mainline())
    start = tree.board().shredder_fen(en_passant="fen")
    positions = new_positions(len(nodes) + 1)
    read_fen(start, positions, 0)
    written = np.array([_squares(node.move) for node in nodes], dtype=np.uint16)
    moves = np.zeros(len(nodes), dtype=np.uint16)
    played = follow(positions, written, np.zeros(MAX_MOVES, dtype=np.uint16), moves)
    if played < len(nodes):
        what = "passes" if not nodes[played].move else "an illegal move"
        on_bad(BadGame(name, game.number, game.line, f"{what} after {played} plies"))
        return None
    comments = [tree.comment, *(node.comment for node in nodes)]
    return MainLine(tree.headers, start, positions, moves, comments, game.text)


def _converted(line: MainLine, model: LabelModel, name: str) -> Game:
    scores = _scores(line.comments, line.positions["side"].tolist())
    values, draws = wdl(scores, model)
    codes = line.moves.tolist()
    if codes and not math.isnan(scores[-1]) and count_legal(line.positions[-1]):
        codes.append(0)  # evaluated, but nothing was played there any more
    result = _result(line)
    return Game(
        plies=tuple(map(Ply, codes, values.tolist(), draws.tolist())),  # no value of a last end
        start=line.start,
        result=result,
        end=_end(line, result),
        source=_source(line.tags, name, model),
        seed=_seed(line.start, line.moves),
    )


def _squares(move: chess.Move) -> int:
    promotion = 0 if move.promotion is None else PROMOTION + move.promotion - chess.KNIGHT
    return move.from_square | move.to_square << 6 | promotion << 12


def _seed(start: str, moves: np.ndarray) -> int:
    """A number that two copies of a game share, so that no split separates them."""
    digest = hashlib.blake2b(start.encode() + moves.tobytes(), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def _source(tags: chess.pgn.Headers, name: str, model: LabelModel) -> dict[str, Any]:
    """What a shard says of a game: its file, its tags, and what its evaluations were taken for."""
    filled = {tag: text for tag, text in tags.items() if text.strip("?. ")}
    first = {tag.lower(): filled[tag] for tag in OWN_KEYS if tag in filled}
    others = {tag: text for tag, text in filled.items() if tag not in (*OWN_KEYS, *IN_THE_GAME)}
    more = {"tags": others} if others else {}
    return {"kind": "pgn", "file": name, "labels": model._asdict()} | first | more


def _end(line: MainLine, result: int) -> str:
    """How the game ended: by the rules, or as its tag says in one of the standard's words."""
    count = len(line.moves)
    keys = np.ascontiguousarray(line.positions["key"][:count])
    code = int(outcome.outcome(line.positions[count], keys, count, True))
    if code == outcome.CHECKMATE or (code != outcome.ONGOING and result == 0):
        return Termination(code).text
    said = line.tags.get("Termination", "").strip().lower()
    return said if said in TERMINATIONS else UNKNOWN_END


def _scores(comments: Sequence[str], sides: list[int]) -> np.ndarray:
    """Scores of all positions for the side to move, float64 [plies + 1]; NaN where unknown."""
    scores = np.full(len(comments), math.nan)
    for index, comment in enumerate(comments):
        if not comment:
            continue
        after = chess.pgn.EVAL_REGEX.search(comment)
        if after is not None:
            scores[index] = _score_after(after, 1 - 2 * sides[index])
        elif index and math.isnan(scores[index - 1]):
            scores[index - 1] = _engine_score(comment, sides[index - 1])
    return scores


def _score_after(match: re.Match[str], view: int) -> float:
    """The score of `[%eval ...]` for the side to move; `view` is 1 for White."""
    if match["mate"]:
        is_mate = len(match["mate"]) <= LONGEST_MATE
        return score_of(None, view * int(match["mate"])) if is_mate else math.nan
    return score_of(view * _centipawns(match["cp"]), None)


def _engine_score(comment: str, side: int) -> float:
    """The score an engine gave with its move, for itself."""
    text = comment.strip()
    match = _BY_WHITE.fullmatch(text)
    if match:
        return (1 - 2 * side) * score_of(_centipawns(match[1] or match[2]), None)
    match = _BY_MOVER.match(text)
    if not match:
        return math.nan
    if match[3]:
        if len(match[3]) > LONGEST_MATE:
            return math.nan
        return score_of(None, int(match[2] + match[3]))
    return score_of(_centipawns(match[1]), None)


def _centipawns(pawns: str) -> int:
    return round(100 * max(-MOST_PAWNS, min(MOST_PAWNS, float(pawns))))


# --- writing -------------------------------------------------------------------------------------


def tree_of(game: Game, number: int) -> chess.pgn.Game:
    """The game for python-chess, which writes it."""
    board = chess.Board(game.start, chess960=True)
    board.chess960 = board.has_chess960_castling_rights()
    tree = chess.pgn.Game()
    tree.headers.update(_tags(game, number))
    if game.start != START and board.fen() != chess.STARTING_FEN:
        tree.setup(board)
    model = LabelModel(**game.source.get("labels", {}))
    node: chess.pgn.GameNode = tree
    for ply in game.plies:
        node.comment = _evaluation(ply.value, board.turn, model)
        if ply.move:
            move = _move(ply.move, board)
            node = node.add_variation(move)
            board.push(move)
    return tree


def _tags(game: Game, number: int) -> dict[str, str]:
    source = game.source
    player = str(source.get("teacher") or source.get("network") or "?")
    tags: dict[str, str] = {
        "Event": str(source.get("event") or source.get("kind") or "?"),
        "Date": str(source.get("date", "????.??.??")),
        "Round": str(number),
        "White": str(source.get("white", player)),
        "Black": str(source.get("black", player)),
        "Result": RESULT_TEXTS[game.result],
    }
    if game.end != UNKNOWN_END:
        tags["Termination"] = game.end
    tags |= source.get("tags", {})  # as they were written, the termination among them
    return tags


def _evaluation(value: float, turn: chess.Color, model: LabelModel) -> str:
    if math.isnan(value):
        return ""
    pawns = max(-CAP, min(CAP, score_of_value(value, model) / 100))
    return f"[%eval {pawns if turn else -pawns:.2f}]"


def _move(code: int, board: chess.Board) -> chess.Move:
    """A kernel's move; python-chess writes castling as this board does."""
    view = 0 if board.turn else _FLIP
    kind = code >> 12
    promotion = kind - PROMOTION + chess.KNIGHT if kind >= PROMOTION else None
    move = chess.Move((code & 63) ^ view, (code >> 6 & 63) ^ view, promotion)
    return board.parse_uci(move.uci())  # castling as this board writes it, and only legal moves


# --- cutting a file into games, and choosing them -------------------------------------------------


class GameFilter(NamedTuple):
    """Which games are read; all by default."""

    rating: int = 0  # that both players have at least
    paces: tuple[Pace, ...] = ()  # any of them; all if empty
    evaluated: bool = False  # only with [%eval]

    def takes(self, text: str) -> bool:
        """Whether a game is wanted, by its tags and the text of its moves."""
        if self.evaluated and "[%eval" not in text:
            return False
        if not self.rating and not self.paces:
            return True
        tags = dict(_TAG.findall(text))
        ratings = [tags.get(name, "") for name in ("WhiteElo", "BlackElo")]
        if self.rating and not all(
            rating.isdecimal() and int(rating) >= self.rating for rating in ratings
        ):
            return False
        return not self.paces or pace_of(tags.get("TimeControl", "")) in self.paces


def pace_of(control: str) -> Pace | None:
    """What a tag TimeControl like 300+3 is called on Lichess; None if it is not known."""
    if control == "-":
        return "correspondence"
    match = _CONTROL.fullmatch(control)
    if match is None:
        return None
    seconds = int(match[1]) + MOVES * float(match[2] or 0)
    return PACES[sum(seconds >= bound for bound in BOUNDS)]


def whole_games(lines: Iterable[str], characters: int) -> Iterator[tuple[int, list[str]]]:
    """Lines of whole games, at least so many characters, with the number of the first; from 1.

    A cut is made before a tag that follows moves, and is in no comment. What has no such place for
    too long is cut anywhere, so that memory has an end. There is always a last piece, which may be
    empty.
    """
    piece: list[str] = []
    size, first = 0, 1
    inside = moves = False
    for number, line in enumerate(lines, start=1):
        tag = line.startswith("[") and not inside
        if (tag and moves and size >= characters) or size >= max(LONGEST, characters):
            yield first, piece
            piece, size, first = [], 0, number
        piece.append(line)
        size += len(line)
        moves = not tag and (moves or bool(line.strip()))  # tags may have empty lines between them
        inside = inside if tag else in_comment(line, inside)
    yield first, piece


def in_comment(line: str, inside: bool) -> bool:
    """Whether a comment in braces is open at the end of a line of moves."""
    if not inside and line.startswith("%"):
        return False
    if ";" not in line:  # the last brace says it
        last_open, last_close = line.rfind("{"), line.rfind("}")
        return inside if last_open == last_close else last_open > last_close
    while True:
        if inside:
            end = line.find("}")
            if end < 0:
                return True
            line, inside = line[end + 1 :], False
        start, rest_of_line = line.find("{"), line.find(";")
        if start < 0 or 0 <= rest_of_line < start:
            return False
        line, inside = line[start + 1 :], True


class FilteredText(NamedTuple):
    """A text in which unwanted games are empty lines, so that lines keep their numbers."""

    text: str
    kept: tuple[int, ...]  # the numbers of the games that are left, from 1
    games: int  # all there were


def choose(text: str, game_filter: GameFilter) -> FilteredText:
    """Leave out the games that are not wanted."""
    numbers, parts, games = [], [], 0
    for _, lines in whole_games(text.splitlines(keepends=True), 0):
        game = "".join(lines)
        if not game.strip():
            parts.append(game)
            continue
        games += 1
        if game_filter.takes(game):
            numbers.append(games)
            parts.append(game)
        else:
            parts.append("\n" * len(lines))
    return FilteredText("".join(parts), tuple(numbers), games)
