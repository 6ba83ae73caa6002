"""Writes annotated games as one HTML file: a board that steps through them, graph, key moments.

Texts of games reach the page as JSON only, and its code puts them there as texts. The page's
Content-Security-Policy lets nothing run or load but the code and the styles written here.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

import chess
import chess.pgn
import chess.svg

from kibitz import __version__
from kibitz.comment.facts import played
from kibitz.comment.judge import SYMBOLS, accuracy, key_moments
from kibitz.comment.openings import opening_in
from kibitz.comment.report.numbers import CONTROL, marked, phases, quiz, spent, times
from kibitz.comment.words.language import Language
from kibitz.comment.words.languages import ENGLISH, LANGUAGES
from kibitz.comment.words.story import figures_in, white_value
from kibitz.core.files import Location, atomic_write
from kibitz.position.pgn import Game, eval_of, text_of

ASSETS = Path(__file__).parent / "static"
HEAD = 8192  # bytes within which a page has its title
LONGEST_TAG = 120  # letters of a name that are shown
DRAWN = "½-½"
ABOUT = ("Event", "Site", "Date", "Round", "TimeControl", "Variant")  # tags that are shown
ADDRESS = re.compile(r"\w+://|www\.|^\S+\.\w{2,}/")  # left out of the heading

# Letters that no text needs, and those that turn its direction round.
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_STYLE = re.compile(r'style="([^"]*)"')

Node: TypeAlias = dict[str, object]


class Report:
    """Collects annotated games and writes them as a page of a language."""

    def __init__(self, language: Language = ENGLISH) -> None:
        self._language = language
        self._games: list[str] = []
        self._titles: list[tuple[str, str, str]] = []

    @property
    def games(self) -> int:
        """How many games it has."""
        return len(self._games)

    def add(self, game: Game) -> None:
        """Add a game as it stands in an annotated PGN."""
        tags = {name: shown(value)[:LONGEST_TAG] for name, value in game.tags.items()}
        names = [tags.get(name, "?") for name in ("White", "Black")]
        event = tags.get("Event", "").strip("?")
        nameless = event and not "".join(names).strip("?")
        title = event if nameless else " – ".join(names)  # noqa: RUF001 - a dash
        result = tags.get("Result", "*").replace("1/2-1/2", DRAWN)
        self._titles.append((title, result, tags.get("Date", "").strip(".?")))
        facts = described(game.tree, tags, self._language)
        text = json.dumps(facts, ensure_ascii=False, allow_nan=False)
        for letter in "<>&\u2028\u2029":  # nothing in it ends the element it stands in
            text = text.replace(letter, f"\\u{ord(letter):04x}")
        self._games.append(text)

    def write(self, output: Location) -> None:
        """Write the page, atomically."""
        texts = self._language.page
        several = texts["several"].format(count=len(self._titles))
        title = self._titles[0][0] if len(self._titles) == 1 else several
        script, style = _script(texts), _asset("board.css") + _asset("report.css")
        footer = {"footer": texts["footer"].format(version=__version__)}
        parts = {
            **{f"t_{name}": html.escape(text) for name, text in {**texts, **footer}.items()},
            "lang": self._language.tag,
            "title": html.escape(f"{title} · Kibitz"),
            "script": script,
            "style": style,
            "script_hash": _hash(script),
            "style_hash": _hash(style),
            "pieces": pieces(),
            "games": self._list(),
        }
        # The template is cut before anything is put in, so that no text of a game is taken for a
        # place in it.
        start, end = (_filled(half, parts) for half in _asset("report.html").split("{data}"))
        with atomic_write(output) as file:
            file.write(start.encode())
            for number, game in enumerate(self._games, 1):
                start_tag = f'<script type="application/json" class="game" id="game-{number}">'
                file.write(f"{start_tag}{game}</script>\n".encode("utf-8", "replace"))
            file.write(end.encode())

    def _list(self) -> str:
        """A button for each of several games."""
        if len(self._titles) < 2:
            return ""
        entries = [
            f'<li><button type="button"><span><bdi>{html.escape(title)}</bdi></span>'
            f"<small>{html.escape(date)}</small><b>{html.escape(result)}</b></button></li>"
            for title, result, date in self._titles
        ]
        games = html.escape(self._language.page["games"])
        return f'<nav id="games" aria-label="{games}"><ol>{"".join(entries)}</ol></nav>'


def is_report(page: Path) -> bool:
    """Whether a file is a page of annotated games, by its title."""
    with page.open("rb") as file:
        return b"\xc2\xb7 Kibitz</title>" in file.read(HEAD)


def _filled(template: str, parts: dict[str, str]) -> str:
    """A template with its parts put in, each word in braces once."""
    return re.sub(r"\{(\w+)\}", lambda match: parts.get(match[1], match[0]), template)


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _script(texts: Mapping[str, str]) -> str:
    """Both modules as one, which needs no file to import from, and its words."""
    words = json.dumps(dict(texts), ensure_ascii=False)
    code = f"{_asset('board.js')}\n{_asset('report.js')}"
    return f"const TEXTS = {words};\n" + re.sub(
        r"^import .*$|^export (?=\w)", "", code, flags=re.MULTILINE
    )


def _hash(text: str) -> str:
    """The hash of a script or style in the Content-Security-Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def pieces() -> str:
    """A symbol for each piece; attributes in place of styles, which the page forbids."""
    return "".join(
        f'<g id="piece-{letter}">{_STYLE.sub(_attributes, re.sub(" id=.[^ ]*", "", drawn))}</g>'
        for letter, drawn in chess.svg.PIECES.items()
    )


def _attributes(match: re.Match[str]) -> str:
    pairs = (style.split(":") for style in match[1].split(";") if style.strip())
    return " ".join(f'{name.strip()}="{value.strip()}"' for name, value in pairs)


# --- a game ---------------------------------------------------------------------------------------


class VisitedNode(NamedTuple):
    """A node of a game with its variations, as `_in_order` comes to it."""

    node: chess.pgn.GameNode
    depth: int  # 0 for the game's own moves
    begins: bool  # whether a variation begins with its move
    before: chess.Board  # the position before its move


def described(tree: chess.pgn.Game, tags: dict[str, str], language: Language = ENGLISH) -> Node:
    """A game as the page's code reads it."""
    nodes = list(_in_order(tree))
    index = {id(visited.node): number for number, visited in enumerate(nodes)}
    figures, first_white = figures_in(tree), tree.board().turn
    accuracies = (None, None) if figures is None else accuracy(figures.values, first_white)
    main = [tree, *tree.mainline()]
    keys = key_moments(figures.values, figures.labels) if figures else []
    story, seconds = _without_numbers(shown(tree.comment)), spent(tree)
    described_nodes = [_described(visited, index, language) for visited in nodes]
    for node, took in zip(main[1:], seconds, strict=True):
        described_nodes[index[id(node)]] |= {} if took is None else {"spent": round(took)}
    return {
        "white": tags.get("White", "?"),
        "black": tags.get("Black", "?"),
        "whiteElo": tags.get("WhiteElo", "").strip("?"),
        "blackElo": tags.get("BlackElo", "").strip("?"),
        "result": tags.get("Result", "*").replace("1/2-1/2", DRAWN),
        "about": _about(tree, tags, language),
        "story": story,
        "accuracy": [None if percent is None else round(percent) for percent in accuracies],
        "phases": [] if figures is None else phases(tree, figures),
        "times": times(seconds, first_white),
        "marks": marked(tree, index),
        "keys": [index[id(main[ply + 1])] for ply in keys],
        "nodes": described_nodes,
        "pgn": _HIDDEN.sub("", text_of(tree)),
    }


def _without_numbers(story: str) -> str:
    """A story, in whatever language, without the numbers that the report has in a table."""
    for language in LANGUAGES.values():
        head, sentence, rest = story.partition(language.story["accuracy"][0].partition("{")[0])
        if sentence:
            counts = tuple(f"{side}: " for side in language.sides.values())
            sentences = re.split(r"(?<=\.) ", rest)[1:]
            return " ".join([head.strip(), *(s for s in sentences if not s.startswith(counts))])
    return story


def _about(tree: chess.pgn.Game, tags: dict[str, str], language: Language) -> list[str]:
    """Return the text below the title of a game: what its tags say, but for addresses."""
    named = {name: "" if ADDRESS.search(tag) else tag for name, tag in tags.items()}
    named["Date"] = named.get("Date", "").rstrip("?.")
    if number := named.get("Round", "").strip("?-"):
        named["Round"] = language.page["round"].format(round=number)
    if control := CONTROL.fullmatch(named.get("TimeControl", "")):
        minutes = f"{int(control[1]) / 60:.3g}"
        named["TimeControl"] = language.page["control"].format(
            minutes=minutes, seconds=control[2] or 0
        )
    tagged = [named[name] for name in ABOUT if named.get(name, "").strip("?.- ")]
    opening = opening_in(tree)[1]
    name = language.opening(opening.name) if opening else ""
    return [*tagged, f"{name} ({opening.eco})"] if opening and name else tagged


def _in_order(tree: chess.pgn.Game) -> Iterator[VisitedNode]:
    """The positions as they are read: a move, what else could be played, then how it goes on."""
    waiting = [(VisitedNode(tree, 0, False, tree.board()), False)]
    while waiting:
        visited, visited_before = waiting.pop()
        node, depth, _, board = visited
        if not visited_before:
            yield visited
        if isinstance(node, chess.pgn.ChildNode):
            board = played(board, node.move)
        if node.variations:
            main, *others = node.variations
            yield VisitedNode(main, depth, False, board)
            waiting.append((VisitedNode(main, depth, False, board), True))
            lines = [
                (VisitedNode(variation, depth + 1, True, board), False) for variation in others
            ]
            waiting.extend(reversed(lines))


def _described(visited: VisitedNode, index: dict[int, int], language: Language) -> Node:
    node, depth, begins, before = visited
    facts: Node = {"board": before.board_fen(), "depth": depth, "move": "", "marks": _marks(node)}
    root = not isinstance(node, chess.pgn.ChildNode)
    score = eval_of(node, before.turn if root else not before.turn)
    if score is not None:
        white = score.white()
        facts["value"] = round(white_value(score), 3)
        facts["text"] = (
            f"#{white.mate()}" if white.is_mate() else language.score(white.score() or 0)
        )
    if isinstance(node, chess.pgn.ChildNode):
        dots = "." if before.turn == chess.WHITE else "..."
        glyph = next((SYMBOLS[nag] for nag in sorted(node.nags) if nag in SYMBOLS), "")
        extra = {"begins": begins, "glyph": glyph, "before": shown(node.starting_comment)}
        extra |= {} if depth else {"quiz": quiz(node, language.notation)}
        facts |= {
            "board": played(before, node.move).board_fen(),
            "parent": index[id(node.parent)],
            "number": f"{before.fullmove_number}{dots}",
            "san": language.notation(before.san(node.move)) if node.move else "--",
            "move": _squares(before, node.move),
            "comment": shown(node.comment),
        }
        facts |= {name: value for name, value in extra.items() if value}
    return facts


def _squares(board: chess.Board, move: chess.Move) -> str:
    """From where to where a move goes; castling is the king's move. Empty for a pass."""
    if not move:
        return ""
    head = move.to_square
    if board.is_castling(move):
        file = 6 if board.is_kingside_castling(move) else 2
        head = chess.square(file, chess.square_rank(move.from_square))
    return chess.square_name(move.from_square) + chess.square_name(head)


def _marks(node: chess.pgn.GameNode) -> list[list[str]]:
    letters = {"green": "G", "red": "R", "yellow": "Y", "blue": "B"}
    return [
        [letters[arrow.color], chess.square_name(arrow.tail), chess.square_name(arrow.head)]
        for arrow in node.arrows()
    ]


def shown(text: str) -> str:
    """A text of a PGN without its commands and without letters that only do harm."""
    return " ".join(_HIDDEN.sub("", without_commands(text)).split())


def without_commands(text: str) -> str:
    """A text with a space in place of each command as [%eval 0.3].

    Each letter is looked at once, also where brackets are opened and never closed.
    """
    parts, end = [], 0
    while (start := text.find("[%", end)) >= 0 and (close := text.find("]", start)) >= 0:
        parts.append(text[end:start])
        end = close + 1
    return " ".join([*parts, text[end:]])
