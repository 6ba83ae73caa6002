"""Annotates games: searches every position, then writes marks, values, arrows, lines and comments.

PGN -> searches -> scenes -> comments -> **PGN**
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import chess
import chess.engine
import chess.pgn
import chess.svg

from kibitz.commentary import english as language
from kibitz.commentary.choice import Level, Memory, worth_saying
from kibitz.commentary.claims import Claim, Step
from kibitz.commentary.facts import RECENT, Scene, Unit, taken_by
from kibitz.commentary.judge import Label, Seen, label, seen
from kibitz.commentary.openings import Opening, opening_of
from kibitz.commentary.prover import Prover
from kibitz.commentary.story import Told, story_of
from kibitz.commentary.words import Comment, Speaker
from kibitz.position.board import Board
from kibitz.position.pgn import Game
from kibitz.search.limits import Limits
from kibitz.search.report import Score

if TYPE_CHECKING:
    from kibitz.engine import Engine

Sides: TypeAlias = Literal["white", "black", "both"]
NODES = 20_000  # of the search of every position
AGAIN = 5  # times as many where a move seems to be bad
LONGEST = 8  # plies of a variation
LONGEST_OPENING = 40  # plies in which names are looked for
GREEN, RED, YELLOW = "green", "red", "yellow"  # what was better, what refutes, what is spoken of


@dataclass(frozen=True)
class Style:
    """For whom and how thoroughly games are annotated."""

    level: Level = "club"
    sides: Sides = "both"
    limits: Limits = field(default_factory=lambda: Limits(nodes=NODES))

    @property
    def again(self) -> Limits:
        """The limits of the second look at a move that seems to be bad."""
        nodes, time = self.limits.nodes, self.limits.movetime
        return Limits(
            nodes=None if nodes is None else AGAIN * nodes,
            movetime=None if time is None else AGAIN * time,
        )

    def speaks_of(self, white: bool) -> bool:
        """Whether the moves of a side are commented on."""
        return self.sides in ("both", "white" if white else "black")


class Annotated(NamedTuple):
    """What was found in a game."""

    game: Game
    told: Told | None  # None for a game that was left as it is
    comments: list[Comment]  # of every move


def annotate(
    game: Game,
    engine: Engine,
    style: Style,
    on_ply: Callable[[], None] = lambda: None,
    speaker: Speaker | None = None,
) -> Annotated:
    """Annotate the main line of a game, in place; what it had of comments stays."""
    tree = game.tree
    nodes = list(tree.mainline())
    views = _searched(tree, engine, style, on_ply)
    named, opening = _named(nodes)
    speaker, prover = speaker or Speaker(style.level), Prover()
    comments: list[Comment] = []
    labels: list[Label] = []
    board = tree.board()
    for ply, node in enumerate(nodes):
        scene = _scene(board, node.move, views[ply], views[ply + 1], prover)
        board.push(node.move)
        labels.append(label(views[ply], views[ply + 1]))
        comment = Comment()
        if style.speaks_of(scene.mover):
            comment = speaker.comment(scene)
            _mark(node, scene, labels[-1], comment, style)
        texts = [_opening_text(opening) if ply == named else "", comment.text, _end_text(board)]
        _write(node, scene, comment, views[ply + 1], " ".join(text for text in texts if text))
        comments.append(comment)
    signs = [1 if view_ply(tree, ply) else -1 for ply in range(len(views))]
    values = tuple(sign * one.value for sign, one in zip(signs, views, strict=True))
    told = Told(values, tuple(labels), opening)
    if nodes:
        tree.comment = _added(tree.comment, story_of(tree, told, comments))
    return Annotated(game, told, comments)


def _named(nodes: Sequence[chess.pgn.ChildNode]) -> tuple[int, Opening | None]:
    """The last ply, from 0, whose position has a name, and the opening."""
    found: tuple[int, Opening | None] = (-1, None)
    for ply, node in enumerate(nodes[:LONGEST_OPENING]):
        opening = opening_of(node.board())
        found = found if opening is None else (ply, opening)
    return found


def view_ply(tree: chess.pgn.Game, ply: int) -> bool:
    """Whether White is to move so many plies after the start."""
    return tree.board().turn == (ply % 2 == 0)


def comment_on(
    engine: Engine,
    board: Board,
    move: str,
    level: Level = "club",
    limits: Limits | None = None,
    speaker: Speaker | None = None,
) -> str:
    """What is to be said of one move of a position; without limits nothing is searched."""
    speaker = speaker or Speaker(level)
    before = board.to_chess()
    made = chess.Move.from_uci(board.uci(board.parse(move)))
    after = board.copy()
    after.push(move)
    if limits is None:
        scene = Scene(before, made, (), Prover())
        return speaker.comment(scene).text
    style = Style(level, limits=limits)
    had, has = (_search(engine, one, style.again) for one in (board, after))
    return speaker.comment(_scene(before, made, had, has, Prover())).text


# --- searching ------------------------------------------------------------------------------------


def _searched(
    tree: chess.pgn.Game, engine: Engine, style: Style, on_ply: Callable[[], None]
) -> list[Seen]:
    """What searches see in every position, those around moves that seem bad a second time."""
    line = Board.from_chess(tree.end().board())
    engine.new_game()
    views = _looked_at(engine, line, style.limits, {}, on_ply)
    doubtful = [
        ply for ply in range(len(views) - 1) if label(views[ply], views[ply + 1]) is not Label.NONE
    ]
    kept = dict(enumerate(views))
    for ply in {*doubtful, *(ply + 1 for ply in doubtful)}:
        del kept[ply]
    return _looked_at(engine, line, style.again, kept, lambda: None) if doubtful else views


def _looked_at(
    engine: Engine, line: Board, limits: Limits, kept: dict[int, Seen], on_ply: Callable[[], None]
) -> list[Seen]:
    """What searches see along a game, but for the plies whose view is kept."""
    board = Board.from_chess(line.to_chess().root())
    views: list[Seen] = []
    for ply, move in enumerate([*line.moves, None]):
        views.append(kept[ply] if ply in kept else _search(engine, board, limits))
        on_ply()
        if move is not None:
            board.push(move)
    return views


def _search(engine: Engine, board: Board, limits: Limits) -> Seen:
    end = board.outcome()
    if end is not None:
        mated = end.winner is not None
        score = Score("mate", 0) if mated else Score("cp", 0)
        return Seen(score, -1.0 if mated else 0.0, ())
    return seen(board.to_chess(), engine.play(board, limits).report)


def _scene(board: chess.Board, move: chess.Move, had: Seen, has: Seen, prover: Prover) -> Scene:
    before = board.copy(stack=RECENT)
    last, took = None, None
    if before.move_stack:
        earlier = before.copy(stack=1)
        last = earlier.pop()
        took = taken_by(earlier, last)
    return Scene(before, move, has.line, prover, last, took.kind if took else None, had, has)


# --- writing --------------------------------------------------------------------------------------


def _opening_text(opening: Opening | None) -> str:
    return language.OPENING[0].format(name=opening.name, eco=opening.eco) if opening else ""


def _end_text(board: chess.Board) -> str:
    """What a position means for the game by the rules."""
    side = language.SIDES[board.turn]
    if board.is_stalemate():
        return language.ENDS["stalemate"].format(side=side)
    if board.is_insufficient_material():
        return language.ENDS["material"]
    for count in (5, 4, 3):
        if board.is_repetition(count):
            return language.ENDS["repetition"].format(count=language.ORDINALS[count])
    return language.ENDS["fifty"] if board.halfmove_clock == 100 else ""


def _mark(
    node: chess.pgn.ChildNode, scene: Scene, mark: Label, comment: Comment, style: Style
) -> None:
    """NAGs, and the lines that a comment on a bad move speaks of, as variations."""
    if mark is not Label.NONE:
        node.nags = {one for one in node.nags if not 1 <= one <= 6} | {int(mark)}
    kinds = {type(claim).__name__ for claim in comment.claims}
    if kinds & {"Better", "MissesMate"} and scene.had is not None:
        _add_line(node.parent, scene.instead(), style)
    refutes = kinds & {"Allows", "AllowsMate", "EnPrise", "Abandons", "Overlooks"}
    # After the last move of a game a line would be taken for more of the game.
    if refutes and node.variations and scene.reply not in (None, node.variations[0].move):
        _add_line(node, scene.other, style)


def _add_line(parent: chess.pgn.GameNode, scene: Scene, style: Style) -> None:
    """A variation with words of its own where the line has a point."""
    if parent.has_variation(scene.move):
        return
    memory = Memory()
    speaker = Speaker(style.level)
    node: chess.pgn.GameNode = parent
    moves = (scene.move, *scene.follow)[:LONGEST]
    later: Scene | None = scene.later()
    for ply, move in enumerate(moves):
        node = node.add_variation(move)
        if ply and ply % 2 == 0 and later is not None:
            claims = worth_saying(later, memory, style.level, 1)
            points = [one for one in claims if type(one).__module__.endswith(".tactical")]
            if points and not any(one.comment for one in _branch(node, parent)):
                node.comment = speaker.told(later, points)
            later = later.later()


def _branch(node: chess.pgn.GameNode, parent: chess.pgn.GameNode) -> Sequence[chess.pgn.GameNode]:
    found: list[chess.pgn.GameNode] = []
    while node is not parent and node.parent is not None:
        found.append(node)
        node = node.parent
    return found


def _write(
    node: chess.pgn.ChildNode, scene: Scene, comment: Comment, view: Seen, text: str
) -> None:
    """The value of a position and arrows as Lichess writes them, then the comment."""
    if view.line:
        node.set_eval(_pov(view, scene.after.turn))
    had = node.arrows()
    drawn = {one.pgn() for one in had}
    arrows = [one for one in _arrows(comment) if one.pgn() not in drawn]
    if arrows:
        node.set_arrows([*had, *arrows])
    node.comment = _added(node.comment, text)


def _added(comment: str, text: str) -> str:
    """A comment with a text at its end, unless it says so already."""
    return comment if text in " ".join(comment.split()) else f"{comment} {text}".strip()


def _pov(view: Seen, turn: bool) -> chess.engine.PovScore:
    if view.mate is not None:
        return chess.engine.PovScore(chess.engine.Mate(view.mate), turn)
    return chess.engine.PovScore(chess.engine.Cp(view.score.amount), turn)


def _arrows(comment: Comment) -> list[chess.svg.Arrow]:
    """Arrows for what a comment speaks of, each once."""
    found: dict[tuple[int, int], str] = {}
    for claim in comment.claims:
        for tail, head, color in _lines_of(claim):
            found.setdefault((tail, head), color)
    return [chess.svg.Arrow(tail, head, color=color) for (tail, head), color in found.items()]


def _lines_of(claim: Claim) -> list[tuple[int, int, str]]:
    """Tail, head and colour of the arrows and squares of a claim."""
    steps = {"step": GREEN, "reply": RED}
    found = [
        (one.move.from_square, one.move.to_square, color)
        for name, color in steps.items()
        if isinstance(one := getattr(claim, name, None), Step)
    ]
    if type(claim).__name__ in ("Threatens", "Parries"):
        found = [(tail, head, RED) for tail, head, _ in found]
    by = getattr(claim, "by", None)
    for name in ("targets", "target", "piece", "front", "behind"):
        value = getattr(claim, name, None)
        aims = value if isinstance(value, tuple) and not isinstance(value, Unit) else (value,)
        for one in aims:
            if isinstance(one, Unit):
                tail = by.square if isinstance(by, Unit) else one.square
                found.append((tail, one.square, YELLOW))
    if type(claim).__module__.endswith(".positional"):
        found += [
            (one.square, one.square, YELLOW)
            for name in ("pawn", "rook")
            if isinstance(one := getattr(claim, name, None), Unit)
        ]
    return found
