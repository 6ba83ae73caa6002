"""What the decoder learns from: comments of annotated games, cleaned, and the annotator's own.

docs/decoder.md describes the file.
"""

from __future__ import annotations

import hashlib
import html
import lzma
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from math import ceil

import chess
import chess.pgn
import msgspec

from kibitz.comment.annotate import Style, Words, annotate
from kibitz.comment.decoder.spelling import spelled
from kibitz.comment.decoder.verify import verified
from kibitz.comment.facts import Scene, played
from kibitz.comment.select.rank import Level
from kibitz.comment.words.speaker import Comment, Speaker
from kibitz.core.errors import DamagedFileError, shorten
from kibitz.core.files import Location, atomic_write
from kibitz.core.unpacking import open_unpacked
from kibitz.engine import Engine
from kibitz.position.pgn import Game

HUMAN, TABLE = "human", "table"  # who wrote a comment
OWN_LICENCE = "GPL-3.0-or-later"
LONGEST = 500  # characters; from here on a comment is dropped
UNWANTED = (
    *("http", "www.", ".com", ".org", ".net", "youtu", "twitch", "patreon", "subscribe"),
    *("my channel", "my blog", "my book", "my video", "my stream", "copyright", "e-mail"),
    *("can you find", "can you see", "what would you", "what should", "find the", "your turn"),
    *("quiz", "puzzle", "to play and", "to move and", "click", "next chapter", "press "),
    *("chapter", "lecture", "lesson", "well done", "correct!", "try again", "good job"),
)
WRAPPERS = ("()", "[]", "{}", '""', "''", "<>", "\u201c\u201d")
NOISE = re.compile(
    r"^(?:\$\d+|[-\u2013\u2014=+\u00b1\u2213\u221e*|/:;,.!?#_~<>\u25b3\u2191\u2192]+|[ND](?= ))\s*"
)
COMMANDS = re.compile(r"\[%[^\[\]]*\]")
# Elements of HTML and comments in it: <br />, </p>, <a href="...">; a bare < is a sign of text.
ELEMENT = re.compile(r"<(?:/?[A-Za-z][^<>]*|!--[^<>]*--)>")
WORD = re.compile(r"\b[a-z]+(?:'[a-z]+)?\b")


class Example(msgspec.Struct, frozen=True, omit_defaults=True):
    """A comment with what it is about."""

    text: str
    fen: str  # of the position before the move
    move: str  # in UCI
    claims: str = ""  # what is proved of the move, as `spelling` writes it
    author: str = HUMAN
    game: str = ""  # the same for all comments of a game
    last: str = ""  # the move before
    next: str = ""  # and the one after it
    source: str = ""
    licence: str = ""


@dataclass
class Table:
    """What became of comments: by rule, how many, and the first few of them."""

    counts: Counter[str] = field(default_factory=Counter)
    shown: dict[str, list[str]] = field(default_factory=dict)

    def add(self, rule: str, text: str) -> None:
        """Count a comment under a rule."""
        self.counts[rule] += 1
        if len(samples := self.shown.setdefault(rule, [])) < 3:
            samples.append(shorten(text, 70))

    def rows(self) -> list[tuple[str, int, str]]:
        """Rule, count and an example, the kept ones first."""
        order = sorted(self.counts, key=lambda rule: (rule != KEPT, -self.counts[rule]))
        return [(rule, self.counts[rule], self.shown[rule][0]) for rule in order]


# --- cleaning -------------------------------------------------------------------------------------

KEPT = "kept"


def cleaned(text: str) -> tuple[str, str]:
    """A comment without what is no part of its words, and the rule that keeps or drops it."""
    text = html.unescape(ELEMENT.sub(" ", html.unescape(COMMANDS.sub(" ", text))))
    text = " ".join(ELEMENT.sub(" ", text).split())
    if not text:
        return text, "empty"
    if len(text) >= LONGEST:
        return text, f"{LONGEST} characters or more"
    lowered = text.lower()
    if any(phrase in lowered for phrase in UNWANTED):
        return text, "link, advertisement or question"
    text = _without_noise(text)
    words = WORD.findall(text.lower())
    english = sum(word.partition("'")[0] in english_words() for word in words)
    least = max(2, ceil(len(text.split()) / 3), ceil(len(text) / 21))
    return text, KEPT if english >= least else "too few English words"


def _without_noise(text: str) -> str:
    """A text without brackets around it and marks before it."""
    before = ""
    while before != text:
        before = text
        text = NOISE.sub("", text).strip()
        ends = text[:1] + text[-1:]
        if ends in WRAPPERS and text.count(ends[0]) == (2 if ends[0] == ends[1] else 1):
            text = text[1:-1].strip()
    return text


@cache
def english_words() -> frozenset[str]:
    """Words of English: those of old chess books that are in the public domain."""
    packed = resources.files("kibitz.comment.decoder").joinpath("english.txt.xz").read_bytes()
    return frozenset(lzma.decompress(packed).decode().split())


# --- from games -----------------------------------------------------------------------------------


def examples_of(game: Game, table: Table, source: str = "", licence: str = "") -> Iterator[Example]:
    """The comments of a game, variations included, that the cleaning rules keep."""
    number = digest(game)
    pairs: set[tuple[str, str]] = set()
    if game.tree.comment:
        table.add("before the first move", game.tree.comment)
    start = game.tree.board()
    nodes = [(node, start) for node in reversed(game.tree.variations)]
    while nodes:
        node, before = nodes.pop()
        after = played(before, node.move)
        nodes.extend((variation, after) for variation in reversed(node.variations))
        for raw in filter(None, (node.starting_comment, node.comment)):
            text, rule = cleaned(raw)
            fen = before.fen()
            if not node.move:
                rule = "no move, but a pass"
            elif rule == KEPT and (fen, text) in pairs:
                rule = "said already"
            table.add(rule, raw)
            if rule == KEPT:
                pairs.add((fen, text))
                earlier = node.parent.move
                yield Example(
                    *(text, fen, node.move.uci(), "", HUMAN, number),
                    *(earlier.uci() if earlier else "", _next(node), source, licence),
                )


def _next(node: chess.pgn.ChildNode) -> str:
    return node.variations[0].move.uci() if node.variations else ""


def digest(game: Game) -> str:
    """A short name of a game that copies of it share: by its start and the moves of its line."""
    moves = " ".join(node.move.uci() for node in game.tree.mainline())
    content = f"{game.tree.board().fen()} {moves}"
    return hashlib.blake2b(content.encode(), digest_size=6).hexdigest()


def with_claims(example: Example) -> Example:
    """An example with what can be proved of its move without a search by the engine."""
    board, move = chess.Board(example.fen), chess.Move.from_uci(example.move)
    follow = (chess.Move.from_uci(example.next),) if example.next else ()
    scene = Scene(board, move, follow)
    claims = spelled(scene, Speaker("club").comment(scene))
    return msgspec.structs.replace(example, claims=claims)


class _Recorder(Speaker):
    """The table's speaker, which hands on what it says with the scene it says it of."""

    def __init__(self, level: Level, on_comment: Callable[[Scene, Comment], None]) -> None:
        super().__init__(level)
        self._on_comment = on_comment

    def comment(self, scene: Scene) -> Comment:
        """The comment of the table."""
        comment = super().comment(scene)
        if comment.text:
            self._on_comment(scene, comment)
        return comment


def own_examples(game: Game, engine: Engine, style: Style, source: str = "") -> list[Example]:
    """What the annotator says of a game's moves, with its claims; all of it is verified."""
    number, examples = digest(game), []

    def keep(scene: Scene, comment: Comment) -> None:
        if verified(comment.text, scene, comment).holds:
            last = scene.last.uci() if scene.last else ""
            following = scene.reply.uci() if scene.reply else ""
            claims = spelled(scene, comment)
            examples.append(
                Example(
                    *(comment.text, scene.before.fen(), scene.move.uci(), claims, TABLE, number),
                    *(last, following, source, OWN_LICENCE),
                )
            )

    words = Words(TABLE, lambda level, _: _Recorder(level, keep))
    annotate(game, engine, replace(style, words=words))
    return examples


# --- files ----------------------------------------------------------------------------------------


def is_held_out(example: Example, share: float) -> bool:
    """Whether the game of an example is one of those to validate on; always the same ones."""
    mixed = hashlib.blake2b(example.game.encode(), digest_size=8).digest()
    return int.from_bytes(mixed, "little") < share * 2.0**64


def write_examples(location: Location, examples: Iterable[Example]) -> int:
    """Write a corpus, atomically; returns how many examples."""
    encoder, count = msgspec.json.Encoder(), 0
    with atomic_write(location) as file:
        for example in examples:
            file.write(encoder.encode(example) + b"\n")
            count += 1
    return count


def read_examples(location: Location) -> Iterator[Example]:
    """The examples of a corpus, packed or not."""
    decoder = msgspec.json.Decoder(Example)
    with open_unpacked(location) as file:
        for number, line in enumerate(file, start=1):
            try:
                yield decoder.decode(line)
            except msgspec.DecodeError as error:
                where = f"{location}, line {number}"
                raise DamagedFileError(f"no example ({error})", value=where) from error
