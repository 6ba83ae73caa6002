"""Judges the comments of games, and texts on a position; counts what became of their sentences.

games or text -> settings of comments -> `verdict.judge` -> findings, notes in the PGN
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import chess
import chess.pgn

from kibitz.comment.check.verdict import VERDICTS, Judged, Search, Setting, Verdict, judge
from kibitz.comment.claims.claim import step
from kibitz.comment.facts import played
from kibitz.comment.judge import Evaluation
from kibitz.comment.searches import Searches
from kibitz.core.errors import InputError
from kibitz.position.board import Board
from kibitz.position.pgn import Game
from kibitz.search.limits import Limits

if TYPE_CHECKING:
    from kibitz.engine import Engine

# --- sums -----------------------------------------------------------------------------------------


@dataclass
class Tally:
    """How many sentences became what."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, judged: Iterable[Judged]) -> None:
        """Count some more."""
        self.counts.update(sentence.verdict for sentence in judged)

    def facts(self) -> dict[str, float]:
        """Counts, the share that could be checked, and the share of that which is false."""
        total, checked = self.counts.total(), self.counts["true"] + self.counts["false"]
        counts: dict[str, float] = {name: self.counts[name] for name in VERDICTS}
        return {
            "sentences": total,
            **counts,
            "checkable_share": round(checked / total, 4) if total else 0.0,
            "false_share": round(self.counts["false"] / checked, 4) if checked else 0.0,
        }


# --- games ----------------------------------------------------------------------------------------


NODES = 40_000  # of a search that judges a position
CONFIRMS = 10  # times as many before anything is called false by a search
MOST_TEXT = 8_000_000  # characters that are checked at once
BEFORE, BEHIND = 2, 3  # plies around a move that its comment may speak of
_NOTE = re.compile(r"\[check: [^\[\]]*\]")


class Finding(NamedTuple):
    """A sentence, where it stands and what became of it."""

    game: int  # from 1; 0 for a text
    move: str  # with its number; empty for a position alone
    fen: str
    sentence: str
    verdict: Verdict
    reason: str


@dataclass
class Checked:
    """All sentences of games or of a text."""

    findings: list[Finding] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    skipped: int = 0  # games that could not be read

    def add(self, game: int, setting: Setting, judged: Sequence[Judged]) -> None:
        """Keep what became of a comment."""
        move = (
            ""
            if not setting.before or not setting.move
            else step(setting.before, setting.move).text
        )
        fen = setting.now.fen()
        self.findings += [Finding(game, move, fen, *sentence) for sentence in judged]
        self.tally.add(judged)

    def facts(self) -> dict[str, object]:
        """The sums and the sentences, as JSON has them."""
        return {**self.tally.facts(), "findings": [finding._asdict() for finding in self.findings]}


def searching(engine: Engine, nodes: int = NODES) -> Search:
    """What an engine sees of a position, at first and to confirm."""
    searches = Searches(engine)

    def search(board: chess.Board, confirm: bool) -> Evaluation:
        return searches.see(board, Limits(nodes=nodes * (CONFIRMS if confirm else 1)))

    return search


def check_text(text: str, board: Board, move: str | None, search: Search | None) -> Checked:
    """What a text says of a position, or of a move in it."""
    refuse_long(text)
    before = board.to_chess()
    made = None if move is None else chess.Move.from_uci(board.uci(board.copy().push(move)))
    now = before if made is None else played(before, made)
    setting = Setting(now, None if made is None else before, made, text=True)
    checked = Checked()
    checked.add(0, setting, judge(text, setting, search))
    return checked


def refuse_long(text: str) -> None:
    """Refuse a text of more characters than are checked at once."""
    if len(text) > MOST_TEXT:
        fix = f"give at most {MOST_TEXT:,} characters at a time"
        raise InputError("the text is too long", value=f"{len(text):,} characters", fix=fix)


def check_game(
    game: Game,
    checked: Checked,
    search: Search | None,
    on_comment: Callable[[], None] = lambda: None,
) -> None:
    """Judge the comments of a game and of its variations, and note beside them what is false."""
    for node, setting, attribute in _comments(game.tree):
        text = _NOTE.sub("", getattr(node, attribute)).strip()
        judged = judge(text, setting, search)
        checked.add(game.number, setting, judged)
        notes = [_note(sentence) for sentence in judged if sentence.verdict == "false"]
        setattr(node, attribute, " ".join([text, *notes]))
        on_comment()


def _note(judged: Judged) -> str:
    """What stands in a comment beside a false sentence."""
    start = judged.text if len(judged.text) <= 40 else f"{judged.text[:37]}..."
    note = f'[check: "{start}" is false: {judged.reason}'
    return "[" + re.sub(r"[\[\]{}]", " ", note[1:]) + "]"


def _comments(
    tree: chess.pgn.Game,
) -> Iterator[tuple[chess.pgn.GameNode, Setting, str]]:
    """The comments of a game with what they may be about, without recursion."""
    stack: list[tuple[chess.pgn.GameNode, tuple[chess.Board, ...]]] = [(tree, (tree.board(),))]
    while stack:
        node, boards = stack.pop()
        if node.comment or getattr(node, "starting_comment", ""):
            yield from _of_node(node, boards)
        for child in reversed(node.variations):
            after = played(boards[-1], child.move)
            stack.append((child, (*boards[-BEFORE - 1 :], after)))


def _of_node(
    node: chess.pgn.GameNode, boards: tuple[chess.Board, ...]
) -> Iterator[tuple[chess.pgn.GameNode, Setting, str]]:
    """The comments before and behind a move."""
    if isinstance(node, chess.pgn.ChildNode) and node.starting_comment:
        yield node, Setting(boards[-2], nearby=(boards[-1], *boards[:-2])), "starting_comment"
    if not node.comment:
        return
    nearby = (*boards[:-2], *_following(node, boards[-1]))
    if not isinstance(node, chess.pgn.ChildNode):
        fresh = bool(node.variations) and boards[-1].board_fen() == chess.STARTING_BOARD_FEN
        yield node, Setting(boards[-1], nearby=nearby, introduces=fresh), "comment"
    else:
        yield node, Setting(boards[-1], boards[-2], node.move, nearby), "comment"


def _following(node: chess.pgn.GameNode, board: chess.Board) -> Iterator[chess.Board]:
    """The positions that follow in the game."""
    at = node
    for _ in range(BEHIND):
        if not at.variations:
            return
        at = at.variations[0]
        board = played(board, at.move)
        yield board
