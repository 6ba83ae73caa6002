"""Annotates games: searches every position, then writes marks, values, arrows, lines, comments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import chess
import chess.pgn

from kibitz.comment.claims.choice import LEVELS, Level
from kibitz.comment.claims.claim import step
from kibitz.comment.english import english as language
from kibitz.comment.english.comment import Comment, Speaker
from kibitz.comment.english.story import Told, story_of
from kibitz.comment.facts import RECENT, Scene, taken_by
from kibitz.comment.judge import (
    Label,
    Seen,
    as_made,
    in_hindsight,
    is_only_move,
    key_moments,
    label,
    labels_of,
    seen,
    tried,
)
from kibitz.comment.marks import ANNOTATOR, add_lines, forget, put_mark, put_words, signed
from kibitz.comment.openings import Opening, opening_in
from kibitz.comment.prover import LAST_LOOK, Prover
from kibitz.core.errors import InputError, did_you_mean
from kibitz.engine.options import chosen
from kibitz.nets.discover import named
from kibitz.position.board import Board
from kibitz.position.pgn import Game
from kibitz.search.limits import Limits
from kibitz.search.scores import Score

if TYPE_CHECKING:
    from kibitz.engine import Engine

Sides: TypeAlias = Literal["white", "black", "both"]
Moments: TypeAlias = Literal["all", "key"]
NODES = 20_000  # of the search of every position
KNOWN = 6  # plies of a known opening from which on leaving it is worth words
NOTHING = "Nothing stands out about this move."
AGAIN = 10  # times as many where a move seems to be bad, or the only good one
DEEP = 60_000  # at least, before what depends on a search is said


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

    @property
    def again(self) -> Limits:
        """The limits of the second look at a move that seems to be bad."""
        nodes, time = self.limits.nodes, self.limits.movetime
        return Limits(
            nodes=None if nodes is None else AGAIN * nodes,
            movetime=None if time is None else AGAIN * time,
        )

    @property
    def deep(self) -> Limits:
        """The limits of the look that confirms what is about to be said."""
        again = self.again
        return again if again.nodes is None else Limits(nodes=max(DEEP, again.nodes))

    def speaks_of(self, white: bool) -> bool:
        """Whether the moves of a side are commented on."""
        return self.sides in ("both", "white" if white else "black")


class Annotated(NamedTuple):
    """What was found in a game."""

    game: Game
    told: Told
    comments: list[Comment]  # of every move


def annotate(
    game: Game, engine: Engine, style: Style, on_ply: Callable[[], None] = lambda: None
) -> Annotated:
    """Annotate the main line of a game, in place; what others wrote in it stays."""
    tree = game.tree
    forget(tree)
    nodes = list(tree.mainline())
    prover = _prover(engine, style)
    views = _searched(tree, engine, style, prover, on_ply)
    told, opened = _told(tree, views)
    keys = key_moments(told.values, told.labels)
    speaker = style.words.speaker(style.level)
    speaker.sparing = True
    comments: list[Comment] = []
    board = tree.board()
    for ply, node in enumerate(nodes):
        scene = _scene(board, node.move, views[ply], views[ply + 1], prover)
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
        put_words(node, views[ply + 1], comment, text)
        comments.append(comment)
    put_words(tree, views[0], Comment(), story_of(tree, told, comments) if nodes else "")
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


def scene_on(engine: Engine, board: Board, move: str, limits: Limits | None) -> Scene:
    """One move of a position with what the engine sees before and after it."""
    before = board.to_chess()
    made = chess.Move.from_uci(board.uci(board.parse(move)))
    after = before.copy()
    after.push(made)
    if limits is None:
        return Scene(before, made, (), Prover())
    style = Style(limits=limits)
    prover = _prover(engine, style)
    had, has = (_search(engine, one, style.again) for one in (before, after))
    if label(had, has):
        had, has = prover.deeper(before) or had, prover.deeper(after) or has
    if label(had, has) and had.line[:1] != (made,):
        had = in_hindsight(_tried(had, before, prover), has, made)
    return _scene(before, made, had, has, prover)


def _prover(engine: Engine, style: Style) -> Prover:
    """Proves claims, by a deeper search where they depend on one."""

    def look(board: chess.Board, times: int) -> Seen:
        deep = style.deep.nodes  # time is the user's, and is not multiplied again
        limits = style.deep if deep is None else Limits(nodes=max(deep, times * DEEP))
        return _search(engine, board, limits)

    return Prover(tables=engine.settings.syzygy_path, look=look)


def _tried(had: Seen, board: chess.Board, prover: Prover) -> Seen:
    """What is seen before a move once the best one was tried by a search of its own."""
    after = board.copy()
    after.push(had.line[0])
    then = prover.deeper(after, LAST_LOOK)
    return had if then is None else tried(had, then)


def _among_others(
    had: Seen, board: chess.Board, move: chess.Move, engine: Engine, style: Style
) -> Seen:
    """What a long look at all moves but the one made sees.

    What is known of that move from the game says nothing of the others, and the second best of a
    search that expected it may be far from the best of them.
    """
    others = tuple(board.uci(one) for one in board.legal_moves if one != move)
    deep = style.deep
    nodes = None if deep.nodes is None else max(deep.nodes, LAST_LOOK * DEEP)
    found = _search(engine, board, replace(deep, nodes=nodes, searchmoves=others))
    return replace(found, priors=had.priors)


# --- searching ------------------------------------------------------------------------------------


def _searched(
    tree: chess.pgn.Game, engine: Engine, style: Style, prover: Prover, on_ply: Callable[[], None]
) -> list[Seen]:
    """What searches see in every position: again around what seems bad, deeper if it still does."""
    moves = [node.move for node in tree.mainline()]
    boards = _positions(tree)
    engine.new_game()
    views = []
    for board in boards:
        views.append(_search(engine, board, style.limits))
        on_ply()
    doubtful = {
        ply
        for ply, move in enumerate(moves)
        if label(views[ply], views[ply + 1])
        or is_only_move(views[ply], move)
        or in_hindsight(views[ply], views[ply + 1], move) is not views[ply]
    }
    for ply in {*doubtful, *(ply + 1 for ply in doubtful)}:
        views[ply] = _search(engine, boards[ply], style.again)
    _look_back(views, moves)
    looked: set[int] = set()
    tested: set[int] = set()
    while new := _labelled(views, moves) - tested:  # one correction may bring about another
        for ply in {*new, *(ply + 1 for ply in new)} - looked:
            times = 1 if ply in new else LAST_LOOK  # of the refutation
            views[ply] = prover.deeper(boards[ply], times) or views[ply]
            looked.add(ply)
        _look_back(views, moves)
        for ply in new & _labelled(views, moves):
            if views[ply].line[:1] not in ((), (moves[ply],)):
                at = _tried(views[ply], boards[ply], prover)
                other = _among_others(at, boards[ply], moves[ply], engine, style)
                if other.line and other.line[0] != at.line[0]:
                    other = _tried(other, boards[ply], prover)
                best = max(at, other, key=lambda one: one.value)
                own = prover.deeper(boards[ply + 1], LAST_LOOK) or views[ply + 1]
                if not label(best, own):  # what the game has shown, it shows of all moves
                    best = as_made(best, views[ply + 1], moves[ply])
                views[ply] = best
        _look_back(views, moves)
        tested |= new
    return views


def _labelled(views: Sequence[Seen], moves: Sequence[chess.Move]) -> set[int]:
    """The plies whose moves seem to be bad."""
    return {ply for ply in range(len(moves)) if label(views[ply], views[ply + 1])}


def _look_back(views: list[Seen], moves: Sequence[chess.Move]) -> None:
    """Correct what was seen by what the moves made have led to, from the end to the start."""
    for ply in reversed(range(len(moves))):
        views[ply] = in_hindsight(views[ply], views[ply + 1], moves[ply])
        if views[ply].line[:1] == (moves[ply],):
            longer = max(views[ply].line, (moves[ply], *views[ply + 1].line), key=len)
            views[ply] = replace(views[ply], line=longer)


def _positions(tree: chess.pgn.Game) -> list[chess.Board]:
    """The positions of a game, each with those before it that may be repeated."""
    board = tree.board()
    found = [board.copy(stack=False)]
    for node in tree.mainline():
        board.push(node.move)
        found.append(board.copy(stack=board.halfmove_clock))
    return found


def _search(engine: Engine, position: chess.Board, limits: Limits) -> Seen:
    board = Board.from_chess(position)
    end = board.outcome()
    if end is not None:
        mated = end.winner is not None
        score = Score("mate", 0) if mated else Score("cp", 0)
        return Seen(score, -1.0 if mated else 0.0, ())
    return seen(position, engine.play(board, limits).report)


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
