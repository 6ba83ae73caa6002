"""Games as the database keeps them, from PGN texts of sites and of the player's own files.

A game's text is kept whole, with its clocks and comments.
"""

from __future__ import annotations

import datetime
import hashlib
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import IO, Literal, NamedTuple

import chess
import chess.pgn
import numpy as np

from kibitz.coach.database import BLACK, WHITE, Database, StoredGame
from kibitz.comment.openings import opening_of
from kibitz.core.errors import InputError, nearest
from kibitz.core.files import Location
from kibitz.core.log import Stop
from kibitz.core.places import Place
from kibitz.data.pgn import Pace, main_lines, pace_of
from kibitz.position.notation import absolute
from kibitz.position.pgn import BadGame
from kibitz.position.regular import MainLine

Site = Literal["lichess", "chesscom", "file"]
KEPT_PLIES = 60  # whose keys and moves are kept, for the tree of openings
PLAYERS_NAMED = 5  # at most, where the player is none of them
BATCH = 50  # games that are written at a time
_LICHESS_ID = re.compile(r"https://lichess\.org/(\w{8})(?:\w{4})?(?:/white|/black)?(?:#\d+)?")
_CHESSCOM_ID = re.compile(r"https://www\.chess\.com/(?:game/|analysis/game/)(live|daily)/(\d+)")


class Wanted(NamedTuple):
    """Which games are kept; all by default."""

    since: int = 0  # seconds since 1970
    speeds: tuple[Pace, ...] = ()  # any of them; all if empty
    rated: bool = False  # only rated ones

    def takes(self, game: StoredGame) -> bool:
        """Whether a game is one of them; what is not known counts as not wanted."""
        if game.played < self.since or (self.rated and not game.rated):
            return False
        return not self.speeds or game.pace in self.speeds

    def __str__(self) -> str:
        return f"since {self.since}, {' '.join(sorted(self.speeds)) or 'all'}, rated {self.rated}"


class Added(Counter[str]):
    """How many games are new, there already, without moves, of variants and so on."""


def games_of(
    text: str, names: Collection[str], skipped: Counter[str], site: Site = "file"
) -> Iterator[StoredGame]:
    """The player's games in a PGN text; `skipped` counts the others by the reason."""
    return games_in(io.StringIO(text), names, skipped, site)


def games_in(
    source: Location | IO[str],
    names: Collection[str],
    skipped: Counter[str],
    site: Site = "file",
) -> Iterator[StoredGame]:
    """The player's games in a PGN file or an open text, each with its own text."""

    def skip(bad: BadGame) -> None:
        skipped["of a variant" if "variant" in bad.reason else "not readable"] += 1

    folded = {name.casefold() for name in names}
    for line in main_lines(source, site, skip):
        white, black = (line.tags.get(name, "?") for name in ("White", "Black"))
        if not {white.casefold(), black.casefold()} & folded:
            skipped["of others"] += 1
        elif not len(line.moves):
            skipped["without moves"] += 1
        else:
            side = WHITE if white.casefold() in folded else BLACK
            yield _stored(line, site, side)


def _stored(line: MainLine, site: Site, side: int) -> StoredGame:
    tags, kept = line.tags, min(KEPT_PLIES, len(line.moves))
    control = tags.get("TimeControl", "")
    pace = _pace_of(control, tags.get("Event", ""))
    eco, opening = _opening_of(line)
    site, name = _identity(line, site)
    return StoredGame(
        site, name, _played(tags), tags.get("White", "?"), tags.get("Black", "?"), side,
        tags.get("Result", "*"), _rating(tags, "WhiteElo"), _rating(tags, "BlackElo"),
        control, pace, _is_rated(tags), eco, opening, len(line.moves),
        np.ascontiguousarray(line.positions["key"][: kept + 1]).tobytes(),
        line.moves[:kept].tobytes(), line.text.strip() + "\n",
    )  # fmt: skip


def _identity(line: MainLine, site: Site) -> tuple[Site, str]:
    """The site of a game and what it is called there; of others a digest of what was played."""
    tags = line.tags
    for name in ("Site", "Link", "GameId"):
        lichess = _LICHESS_ID.fullmatch(tags.get(name, ""))
        if lichess:
            return "lichess", lichess[1]
        chesscom = _CHESSCOM_ID.match(tags.get(name, ""))
        if chesscom:
            return "chesscom", f"{chesscom[1]}/{chesscom[2]}"
    played = [tags.get(name, "") for name in ("White", "Black", "Date", "UTCDate", "UTCTime")]
    digest = hashlib.sha256("\n".join([*played, line.start]).encode() + line.moves.tobytes())
    return site, digest.hexdigest()[:16]


def _played(tags: chess.pgn.Headers) -> int:
    day = next((tags[name] for name in ("UTCDate", "Date") if "?" not in tags.get(name, "?")), "")
    time = tags.get("UTCTime", "") or "00:00:00"
    try:
        moment = datetime.datetime.strptime(f"{day} {time}", "%Y.%m.%d %H:%M:%S")
    except ValueError:
        return 0
    return max(0, int(moment.replace(tzinfo=datetime.UTC).timestamp()))


def _rating(tags: chess.pgn.Headers, name: str) -> int | None:
    text = tags.get(name, "")
    return int(text) if re.fullmatch(r"\d{2,4}", text) else None


def _pace_of(control: str, event: str) -> str:
    """The pace by the clock; chess.com writes days for a move as 1/86400."""
    if re.fullmatch(r"1/\d+", control) or "correspondence" in event.casefold():
        return "correspondence"
    return pace_of(control) or ""


def _is_rated(tags: chess.pgn.Headers) -> bool | None:
    """Whether a game was rated, by what sites write into the event."""
    words = {*re.findall(r"\w+", tags.get("Event", "").casefold())}
    if "rated" in words:
        return True
    return False if words & {"casual", "unrated"} else None


def _opening_of(line: MainLine) -> tuple[str, str]:
    """ECO code and name: of the tags if they are Lichess's, else by the positions."""
    tags = line.tags
    if tags.get("Opening", "?") != "?" and tags.get("ECO", "?") != "?":
        return tags["ECO"], tags["Opening"]
    board = chess.Board(line.start, chess960=True)  # castling is king takes rook in all games
    named = ("", "")
    for position, code in zip(line.positions[:40], line.moves[:40].tolist(), strict=False):
        board.push(board.parse_uci(absolute(position, code).uci(chess960=True)))
        opening = opening_of(board)
        named = named if opening is None else (opening.eco, opening.name)
    return named


def add_files(
    database: Database, files: Iterable[Place], wanted: Wanted, stop: Stop, added: Added
) -> None:
    """Add the player's games of PGN files; those that are there already are left as they are."""
    names = database.names()
    if not names:
        fix = "give --player NAME, as it stands in the tags White and Black"
        raise InputError("whose games are these?", fix=fix)
    for path in files:
        games = games_in(path, names, added)
        while not stop.requested and (batch := _batch(games, stop)):
            with database.transaction():
                add_games(database, batch, wanted, added)


def other_players(files: Iterable[Place], name: str) -> str:
    """What to say where no player in some files has a name: near ones, or who plays there."""
    counts = Counter(
        player
        for path in files
        for line in main_lines(path, path.name, lambda _: None)
        for player in (line.tags.get("White", ""), line.tags.get("Black", ""))
        if player.strip("?. ")
    )
    close = nearest(name, counts)
    if close is not None:
        return f"did you mean {close!r}?"
    most = ", ".join(repr(player) for player, _ in counts.most_common(PLAYERS_NAMED))
    return f"there play {most}" if most else "the files have no names of players"


def _batch(games: Iterator[StoredGame], stop: Stop) -> list[StoredGame]:
    batch: list[StoredGame] = []
    for game in games:
        batch.append(game)
        if len(batch) >= BATCH or stop.requested:
            break
    return batch


def add_games(
    database: Database, games: Iterable[StoredGame], wanted: Wanted, added: Added
) -> None:
    """Add games; to be called within a transaction."""
    for game in games:
        if not wanted.takes(game):
            added["not wanted"] += 1
        else:
            added["new" if database.add_game(game) else "there already"] += 1
