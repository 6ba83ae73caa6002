"""Annotates games: writes marks, values, arrows, lines and comments by what `analyse` has seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import chess
import chess.pgn

from kibitz.comment.analyse import NODES, Effort, OnPly, Searches, seen_along
from kibitz.comment.claims.choice import LEVELS, Level
from kibitz.comment.claims.claim import step
from kibitz.comment.english import english as language
from kibitz.comment.english.comment import Comment, Speaker
from kibitz.comment.english.story import Told, story_of
from kibitz.comment.facts import RECENT, REMEMBERED, Scene, played, taken_by
from kibitz.comment.judge import Label, Seen, key_moments, labels_of
from kibitz.comment.marks import ANNOTATOR, add_lines, forget, put_mark, put_words, signed
from kibitz.comment.openings import Opening, opening_in
from kibitz.comment.prover import Prover
from kibitz.core.errors import InputError, did_you_mean
from kibitz.engine.options import chosen
from kibitz.nets.discover import named
from kibitz.position.board import Board
from kibitz.position.pgn import Game
from kibitz.search.limits import Limits

if TYPE_CHECKING:
    from kibitz.engine import Engine

Sides: TypeAlias = Literal["white", "black", "both"]
Moments: TypeAlias = Literal["all", "key"]
KNOWN = 6  # plies of a known opening from which on leaving it is worth words
NOTHING = "Nothing stands out about this move."


class Words(NamedTuple):
    """Who puts claims into words, for the annotator's tag and for every game anew."""

    name: str = "table"
    speaker: Callable[[Level], Speaker] = Speaker


TABLE = Words()


@dataclass(frozen=True)
class Style:
    """For whom and how thoroughly games are annotated."""

    level: Level = "club"
    sides: Sides = "both"
    moments: Moments = "all"
    limits: Limits = field(default_factory=lambda: Limits(nodes=NODES))
    words: Words = TABLE

    def speaks_of(self, white: bool) -> bool:
        """Whether the moves of a side are commented on."""
        return self.sides in ("both", "white" if white else "black")


class Annotated(NamedTuple):
    """What was found in a game."""

    game: Game
    told: Told
    comments: list[Comment]  # of every move


def annotate(
    game: Game,
    engine: Engine,
    style: Style,
    on_ply: OnPly = lambda: None,
    more: Sequence[Engine] = (),
) -> Annotated:
    """Annotate the main line of a game, in place; what others wrote in it stays.

    Of each move is said what `comment` says of it in this game, but for what the reader has been
    told before. `more` engines of the same network and options share the searching.
    """
    tree = game.tree
    forget(tree)
    nodes = list(tree.mainline())
    searches = Searches(engine, *more)
    views, scenes = scenes_of(tree, searches, style.limits, on_ply)
    told, opened = _told(tree, views)
    keys = key_moments(told.values, told.labels)
    spoken = [
        scene
        for ply, scene in enumerate(scenes)
        if style.speaks_of(scene.mover) and (style.moments == "all" or ply in keys)
    ]
    for _ in searches.all(partial(Speaker(style.level).comment, scene) for scene in spoken):
        pass  # what it proves is known to the scenes when they are spoken of in order
    speaker = style.words.speaker(style.level)
    speaker.sparing = True
    comments: list[Comment] = []
    board = tree.board()
    for ply, node in enumerate(nodes):
        scene = scenes[ply]
        leaves = ""
        fine = told.labels[ply] is Label.NONE
        if fine and KNOWN <= ply == opened + 1 and style.level != "beginner":
            leaves = _theory_text(board, node.move)
        board.push(node.move)
        comment = Comment()
        if style.speaks_of(scene.mover):
            put_mark(node, told.labels[ply])
            if style.moments == "all" or ply in keys:
                comment = speaker.comment(scene)
                add_lines(node, scene, comment, style.level)
        name = _opening_text(told.opening) if ply == opened else ""
        texts = [name, leaves, comment.text]
        texts.append(_end_text(board))
        text = " ".join(text for text in texts if text)
        put_words(node, views[ply + 1], comment, text, board.turn)
        comments.append(comment)
    story = story_of(tree, told, comments) if nodes else ""
    put_words(tree, views[0], Comment(), story, tree.board().turn)
    tags = tree.headers
    tags[ANNOTATOR] = signed(tags.get(ANNOTATOR, ""), signature(engine, style))
    return Annotated(game, told, comments)


def signature(engine: Engine, style: Style) -> str:
    """How games are annotated, for a tag: the network, the level, the sides and the limits."""
    limits = " ".join(f"{name} {value}" for name, value in style.limits.given().items())
    level = style.level if style.moments == "all" else f"{style.level} key moments"
    level += "" if style.words.name == TABLE.name else f", words {style.words.name}"
    return f"kibitz ({named(chosen(engine.options.weights))}, {level}, {style.sides}, {limits})"


def _told(tree: chess.pgn.Game, views: Sequence[Seen]) -> tuple[Told, int]:
    """A game in numbers, and the last ply, from 0, whose position has a name."""
    white = tree.board().turn
    signs = [1 if white == (ply % 2 == 0) else -1 for ply in range(len(views))]
    values = tuple(sign * one.value for sign, one in zip(signs, views, strict=True))
    ply, opening = opening_in(tree)
    return Told(values, labels_of(values, white), opening), ply


def comment_on(
    engine: Engine, board: Board, move: str, level: Level = "club", limits: Limits | None = None
) -> str:
    """What is to be said of one move of a position; without limits nothing is searched."""
    if level not in LEVELS:
        raise InputError("no such level of readers", value=level, fix=did_you_mean(level, LEVELS))
    return Speaker(level).comment(scene_on(engine, board, move, limits)).text


def silence(move: str) -> str:
    """What stands for the words on a move, in SAN, of which there is nothing to say."""
    return f"{move} is checkmate." if move.endswith("#") else NOTHING


def scene_on(
    engine: Engine, board: Board, move: str, limits: Limits | None, more: Sequence[Engine] = ()
) -> Scene:
    """One move of a position, as `scenes_of` sees it in a game that ends with it.

    Moves that the board remembers count as made before: what they have taken is no gain, and what
    occurs again is a repetition. `more` engines of the same kind share the work.
    """
    before = board.to_chess()
    made = chess.Move.from_uci(board.uci(board.parse(move)))
    if limits is None:
        return Scene(before, made, (), Prover())
    searches, effort = Searches(engine, *more), Effort(limits)
    boards = [before, played(before, made, stack=RECENT)]
    had, has = seen_along(boards, [made], searches, effort)
    return _scene(before, made, had, has, _prover(searches, effort))


def scenes_of(
    tree: chess.pgn.Game, searches: Searches, limits: Limits, on_ply: OnPly = lambda: None
) -> tuple[list[Seen], list[Scene]]:
    """What is seen in the positions of a game's main line, and its moves with what is seen."""
    effort, moves = Effort(limits), [node.move for node in tree.mainline()]
    views = seen_along(_positions(tree), moves, searches, effort, on_ply)
    prover = _prover(searches, effort)
    scenes, board = [], tree.board()
    for ply, move in enumerate(moves):
        scenes.append(_scene(board, move, views[ply], views[ply + 1], prover))
        board.push(move)
    return views, scenes


def _prover(searches: Searches, effort: Effort) -> Prover:
    """Proves claims, by a deeper search where they depend on one."""

    def look(board: chess.Board, times: int) -> Seen:
        return searches.see(board, effort.deep(times))

    return Prover(tables=searches.tables, look=look)


def _positions(tree: chess.pgn.Game) -> list[chess.Board]:
    """The positions of a game, each with those before it that may be repeated."""
    board = tree.board()
    boards = [board.copy(stack=False)]
    for node in tree.mainline():
        board.push(node.move)
        boards.append(board.copy(stack=min(board.halfmove_clock, REMEMBERED)))
    return boards


def _scene(board: chess.Board, move: chess.Move, had: Seen, has: Seen, prover: Prover) -> Scene:
    before = board.copy(stack=RECENT)
    last, took = None, None
    if before.move_stack:
        earlier = before.copy(stack=1)
        last = earlier.pop()
        took = taken_by(earlier, last)
    return Scene(before, move, has.line, prover, last, took.kind if took else None, had, has)


# --- words beside the comments --------------------------------------------------------------------


def _opening_text(opening: Opening | None) -> str:
    return language.OPENING[0].format(name=opening.name, eco=opening.eco) if opening else ""


def _theory_text(board: chess.Board, move: chess.Move) -> str:
    """That a move leaves the openings that have a name."""
    forms = language.THEORY
    made = step(board, move).text
    return forms[sum(map(ord, made)) % len(forms)].format(move=made)


def _end_text(board: chess.Board) -> str:
    """What a position means for the game by the rules."""
    side = language.SIDES[board.turn]
    if board.is_stalemate():
        return language.ENDS["stalemate"].format(side=side)
    before = board.copy(stack=1)
    before.pop()
    if board.is_insufficient_material() and not before.is_insufficient_material():
        return language.ENDS["material"]
    for count in (5, 4, 3):
        if board.is_repetition(count):
            return language.ENDS["repetition"].format(count=language.ORDINALS[count])
    return language.ENDS["fifty"] if board.halfmove_clock == 100 else ""
