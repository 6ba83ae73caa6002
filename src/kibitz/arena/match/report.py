"""What a match leaves behind: its games as PGN, and how it stands, in words.

Comments are written as fastchess and cutechess do: `{+0.31/12 1.500s, n=4711}` is a score for the
mover in pawns (`+M5` for a mate in five), the depth, the time and the nodes. Words are fastchess's
block, a crosstable, ratings, pairs, forfeits.
"""

from __future__ import annotations

import datetime
import hashlib
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kibitz.arena.match.elo import block, draw_ratio, of_games, of_pairs, pairs_ratio
from kibitz.arena.match.game import Control
from kibitz.arena.match.journal import FORFEITS, TIME_FORFEIT, PlayedGame, PlayedMove, Results
from kibitz.arena.match.rating import Rating, ratings
from kibitz.arena.match.runner import Setup, meetings
from kibitz.core.errors import FileError
from kibitz.core.files import data_folder, dated, has_dates, write_bytes
from kibitz.core.journal import GrowingFile
from kibitz.core.log import say
from kibitz.position.board import Board
from kibitz.position.pgn import Game, game_of

EVENT = "Kibitz match"
_EVENT_TAG = f'[Event "{EVENT}"]'.encode()
_WHOLE = re.compile(rb"(1-0|0-1|1/2-1/2|\*)\s*\Z")  # a game ends with its result
_TAGS = re.compile(rb'\[(?:Round|White|Black|GameEndTime) "[^"]*"\]')


def to_game(played: PlayedGame, names: Sequence[str], controls: Sequence[Control]) -> Game:
    """A game of a match as PGN with tags and comments; names and controls by place in the match."""
    moves = (*played.book, *(move.uci for move in played.moves))
    board = Board(played.fen, moves, chess960=played.chess960)
    game = game_of(board, _tags(played, names, controls))
    node = game.tree.end()
    for move in reversed(played.moves):
        assert node.parent is not None
        node.comment = _comment(move)
        node = node.parent
    while node.parent is not None:
        node.comment = "book"
        node = node.parent
    if played.detail:
        end = game.tree.end()
        end.comment = f"{end.comment} {played.termination}: {_bare(played.detail)}".strip()
    return game


def _tags(played: PlayedGame, names: Sequence[str], controls: Sequence[Control]) -> dict[str, str]:
    white, black = controls[played.white], controls[played.black]
    date = dated(datetime.datetime.fromisoformat(played.ended)) if played.ended else ""
    tags = {
        "Event": EVENT,
        "Site": "?",
        "Date": date[:10].replace("-", ".") or "????.??.??",
        "Round": f"{played.number // 2 + 1}.{played.number % 2 + 1}",
        "White": names[played.white],
        "Black": names[played.black],
        "Result": played.result,
        "GameEndTime": played.ended if has_dates() else "",
        "PlyCount": str(len(played.book) + len(played.moves)),
        "Termination": _termination(played),
    }
    tags = {name: text for name, text in tags.items() if text}
    if white == black:
        return tags | {"TimeControl": str(white)}
    return tags | {"WhiteTimeControl": str(white), "BlackTimeControl": str(black)}


def _termination(played: PlayedGame) -> str:
    """The tag's words as the PGN standard and fastchess have them."""
    if played.termination == TIME_FORFEIT or played.termination.startswith("adjudication"):
        return played.termination.partition(":")[0]
    if played.termination in FORFEITS:
        other = {"crash": "abandoned", "hang": "stalled connection"}
        return other.get(played.termination, played.termination)
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
        self._games_in_file = self._read(path)

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

    def add(self, played: PlayedGame) -> None:
        """Add a game unless it is there; it is with the operating system when this returns."""
        text = str(to_game(played, self._names, self._controls)).encode()
        if _known_by(text) not in self._games_in_file:
            self._games_in_file.add(_known_by(text))
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
        """Close the file; games that could not be written to it are written elsewhere."""
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


# --- how a match stands ---------------------------------------------------------------------------


RULE = "-" * 50


def title(
    setup: Setup, resources: list[tuple[str, str]], first: int, second: int, book: str
) -> str:
    """`A vs B (10+0.1, 1t, 64MB, book.epd)`; what differs between the two is shown twice."""
    specs = setup.players[first], setup.players[second]
    facts = [tuple(str(setup.control_of(spec)) for spec in specs)]
    facts += list(zip(resources[first], resources[second], strict=True))
    shown = [ours if ours == other else f"{ours} - {other}" for ours, other in facts]
    return f"{specs[0].name} vs {specs[1].name} ({', '.join([*shown, book])})"


def match_lines(setup: Setup, results: Results, heading: str) -> list[str]:
    """The block about a match of two, with the line of its SPRT."""
    tally, pairs = results.tally(0, 1), results.pairs(0, 1)
    sprt = setup.sprt
    if sprt is None:
        return [RULE, *block(heading, tally, pairs), RULE]
    lines = [RULE, *block(heading, tally, pairs), sprt.line(pairs), RULE]
    verdict = sprt.verdict(pairs)
    if verdict is not None:
        bounds = f"[{sprt.elo0:.2f}, {sprt.elo1:.2f}]"
        lines.append(f"SPRT ({bounds}, {sprt.model} Elo) completed - {verdict} was accepted")
    return lines


def rated(setup: Setup, results: Results) -> list[Rating]:
    """All players by their ratings."""
    names = [spec.name for spec in setup.players]
    met = meetings(len(names), gauntlet=setup.gauntlet)
    return ratings(names, {pair: results.tally(*pair) for pair in met})


def crosstable(setup: Setup, results: Results) -> tuple[list[str], list[list[Any]]]:
    """Headings and rows: rating with its interval, points, and wins-draws-losses of every two."""
    places = {spec.name: index for index, spec in enumerate(setup.players)}
    order = rated(setup, results)
    numbers = (str(number) for number in range(1, len(order) + 1))
    headings = ["", "player", "Elo", "+/-", "points", "games", *numbers]
    rows: list[list[Any]] = []
    for number, row_player in enumerate(order, start=1):
        elo = round(row_player.elo, 1) + 0.0  # never -0.0
        shown = [
            f"{elo:+.1f}",
            f"{row_player.error:.1f}",
            f"{row_player.points:g}",
            row_player.games,
        ]
        cells = []
        for other in order:
            tally = results.tally(places[row_player.name], places[other.name])
            cells.append("·" if other is row_player else tally.text if tally.games else "")
        rows.append([number, row_player.name, *shown, *cells])
    return headings, rows


def pair_rows(setup: Setup, results: Results) -> list[list[Any]]:
    """A row for every two who met: names, W-D-L, Elo with its interval, LOS, pentanomial."""
    rows: list[list[Any]] = []
    for first, second in meetings(len(setup.players), gauntlet=setup.gauntlet):
        tally, pairs = results.tally(first, second), results.pairs(first, second)
        estimate = of_pairs(pairs)
        names = f"{setup.players[first].name} vs {setup.players[second].name}"
        los = "-" if estimate.los is None else f"{100 * estimate.los:.1f} %"
        rows.append([names, tally.text, estimate.text(), los, " ".join(map(str, pairs.five))])
    return rows


PAIR_HEADINGS = ("pair", "W-D-L", "Elo", "LOS", "Ptnml(0-2)")


def network_lines(setup: Setup) -> list[str]:
    """Which network each of our own engines played with, and with which options."""
    return [
        f"Network of {spec.name}: {spec.network}" + (f" ({spec.text})" if "," in spec.text else "")
        for spec in setup.players
        if spec.network
    ]


def forfeit_lines(setup: Setup, results: Results) -> list[str]:
    """Who forfeited how often and why; one line says so if there was none."""
    lines = []
    for index, spec in enumerate(setup.players):
        counts = results.forfeits(index)
        if counts:
            reasons = ", ".join(f"{counts[word]} x {word}" for word in FORFEITS if counts[word])
            lines.append(f"Forfeits of {spec.name}: {reasons}")
    return lines or ["Forfeits: none"]


def as_json(setup: Setup, results: Results) -> dict[str, Any]:
    """Everything above for programs; numbers that do not exist are null."""
    ratings_of = {row.name: row for row in rated(setup, results)}
    report: dict[str, Any] = {
        "players": [
            {
                "name": spec.name,
                "player": spec.text,
                **spec.facts(),
                "control": str(setup.control_of(spec)),
                "elo": ratings_of[spec.name].elo,
                "error": ratings_of[spec.name].error,
                "points": ratings_of[spec.name].points,
                "games": ratings_of[spec.name].games,
                "forfeits": dict(results.forfeits(index)),
            }
            for index, spec in enumerate(setup.players)
        ],
        "pairs": [
            _pair_json(setup, results, first, second)
            for first, second in meetings(len(setup.players), gauntlet=setup.gauntlet)
        ],
        "games": len(results.games),
        "planned": setup.games,
        "terminations": dict(results.terminations()),
    }
    sprt, pairs = setup.sprt, results.pairs(0, 1)
    if sprt is not None:
        report["sprt"] = {
            "elo0": sprt.elo0,
            "elo1": sprt.elo1,
            "model": sprt.model,
            "llr": sprt.llr(pairs),
            "bounds": [sprt.lower, sprt.upper],
            "accepted": sprt.verdict(pairs),
        }
    return report


def _pair_json(setup: Setup, results: Results, first: int, second: int) -> dict[str, Any]:
    tally, pairs = results.tally(first, second), results.pairs(first, second)
    return {
        "first": setup.players[first].name,
        "second": setup.players[second].name,
        **tally._asdict(),
        "pentanomial": list(pairs.five),
        "draw_ratio": draw_ratio(pairs),
        "pairs_ratio": pairs_ratio(pairs),
        "by_pairs": of_pairs(pairs).as_json(),
        "by_games": of_games(tally).as_json(),
    }
