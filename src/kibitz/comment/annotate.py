"""Annotates games: writes marks, values, arrows, lines and comments by what `analyse` has seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import chess
import chess.pgn

from kibitz.comment.analyse import OnPly, analyse, good_moves
from kibitz.comment.analysis import Analysis
from kibitz.comment.cache import AnalysisCache
from kibitz.comment.claims.claim import step
from kibitz.comment.claims.faults import CAUSES
from kibitz.comment.claims.grades import Grade, OfTrap, grade_of
from kibitz.comment.claims.lines.outlook import mark_of
from kibitz.comment.facts import Scene, played, scenes_of
from kibitz.comment.judge import (
    DECIDED,
    MARKS,
    Evaluation,
    Label,
    key_moments,
    labels_of,
    score_before,
    turning_points,
)
from kibitz.comment.marks import (
    ANNOTATOR,
    Line,
    add_lines,
    forget,
    lines_of,
    put_mark,
    put_words,
    signed,
)
from kibitz.comment.openings import (
    Opening,
    book_ends,
    family_in,
    is_book,
    opening_in,
    without_book,
)
from kibitz.comment.searches import NODES, Effort, Searches
from kibitz.comment.select.rank import LEVELS, Level, Memory, kind_of
from kibitz.comment.select.reasons import reasons
from kibitz.comment.select.selection import Selection, Tone, select
from kibitz.comment.words.language import Language
from kibitz.comment.words.languages import ENGLISH, Code, language_of
from kibitz.comment.words.speaker import Comment, Speaker
from kibitz.comment.words.story import Figures, story_of
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
COMMANDS = re.compile(r"\[%[^\]]*\]")  # in a comment: clocks, values, arrows
MOST_REASONS = 2  # of a hint
KNOWN = 6  # plies of a known opening from which on leaving it is worth words
SWING = 0.05  # of White's chances in [-1, 1], from which on a move changes something


class Words(NamedTuple):
    """Who puts claims into words, for the annotator's tag and for every game anew."""

    name: str = "table"
    speaker: Callable[[Level, Language], Speaker] = Speaker


TABLE = Words()


@dataclass(frozen=True)
class Style:
    """For whom and how thoroughly games are annotated."""

    level: Level = "club"
    sides: Sides = "both"
    moments: Moments = "all"
    limits: Limits = field(default_factory=lambda: Limits(nodes=NODES))
    words: Words = TABLE
    language: Code = "en"

    def speaks_of(self, white: bool) -> bool:
        """Whether the moves of a side are commented on."""
        return self.sides in ("both", "white" if white else "black")


class Annotated(NamedTuple):
    """What was found in a game."""

    game: Game
    figures: Figures
    comments: list[Comment]  # of every move


def annotate(
    game: Game,
    engine: Engine,
    style: Style,
    on_ply: OnPly = lambda: None,
    more: Sequence[Engine] = (),
    cache: AnalysisCache | None = None,
) -> Annotated:
    """Annotate the main line of a game, in place; what others wrote in it stays.

    Of each move is said what `comment` says of it in this game, but for what the reader has been
    told before. `more` engines of the same network and options share the searching; what `kept`
    has of the game is not searched again.
    """
    tree = game.tree
    forget(tree)
    searches, effort = Searches(engine, *more), Effort(style.limits)
    analysis = _analysis_of(tree, searches, effort, on_ply, cache)
    answers = analysis.size
    figures, named = figures_of(tree, analysis.views)
    remarks = _said(analysis, figures, style, searches, tones_of(tree, figures))
    good = _good(tree, analysis, figures, searches, effort)
    bad = _bad(analysis, figures, searches)
    if cache is not None and analysis.size > answers:
        cache.keep(analysis)
    _write(tree, analysis, figures, named, remarks, good, bad, style)
    tags = tree.headers
    tags[ANNOTATOR] = signed(tags.get(ANNOTATOR, ""), signature(engine, style))
    return Annotated(game, figures, [remark.comment for remark in remarks])


def _good(
    tree: chess.pgn.Game, analysis: Analysis, figures: Figures, searches: Searches, effort: Effort
) -> dict[int, str]:
    """The good moves in place of each mistake, by its ply, as a command in a comment."""
    bad = [ply for ply, mark in enumerate(figures.labels) if mark in (Label.MISTAKE, Label.BLUNDER)]
    nodes: list[chess.pgn.GameNode] = [tree, *tree.mainline()]
    work = (partial(good_moves, analysis, nodes[ply].board(), ply, searches, effort) for ply in bad)
    answers = zip(bad, searches.all(work), strict=True)
    return {ply: f"[%good {','.join(map(str, moves))}]" for ply, moves in answers if moves}


def _bad(analysis: Analysis, figures: Figures, searches: Searches) -> list[Selection]:
    """What the story of a game knows of its bad moves, whatever is said to which reader."""
    work = (
        partial(select, scene, Memory(), "club") if mark is not Label.NONE else Selection
        for scene, mark in zip(scenes_of(analysis), figures.labels, strict=True)
    )
    return [*searches.all(work)]


class Remark(NamedTuple):
    """A comment on a move, its lines, and what the move is, beside its cost."""

    comment: Comment = Comment()
    lines: Sequence[Line] = ()
    grade: Grade | None = None


def _analysis_of(
    tree: chess.pgn.Game,
    searches: Searches,
    effort: Effort,
    on_ply: OnPly = lambda: None,
    cache: AnalysisCache | None = None,
) -> Analysis:
    """What searches see of a game's main line: that which is kept, or a new one."""
    start, moves = tree.board(), tuple(node.move for node in tree.mainline())
    analysis = None if cache is None else cache.find(start, moves)
    if analysis is not None:
        for _ in analysis.views:
            on_ply()
        return searches.serve(analysis, effort)
    return analyse(start, moves, 0, searches, effort, on_ply)


def tones_of(tree: chess.pgn.Game, figures: Figures) -> list[Tone]:
    """How readily each move is spoken of.

    A reader asks why where people gave a good mark, the game turned or it ends, and of every move
    that changes something, but for a recapture and between two decided positions.
    """
    turns, tones = turning_points(figures.values), list[Tone]()
    board, taken_on = tree.board(), None
    for ply, node in enumerate(tree.mainline()):
        changes = _changes(figures, ply) and node.move.to_square != taken_on
        keen = node.nags & {1, 3, 5} or ply in turns or node.is_end() or changes
        written = COMMANDS.sub("", node.comment).strip()
        tones.append(Tone.KEEN if keen else Tone.PLAIN if written else Tone.SPARING)
        taken_on = node.move.to_square if board.is_capture(node.move) else None
        board.push(node.move)
    return tones


def _changes(figures: Figures, ply: int) -> bool:
    """Whether a move is marked or swings the chances of a game that is open."""
    had, has = figures.values[ply : ply + 2]
    is_open = min(abs(had), abs(has)) < DECIDED
    return is_open and (abs(had - has) >= SWING or figures.labels[ply] is not Label.NONE)


def _said(
    analysis: Analysis,
    figures: Figures,
    style: Style,
    searches: Searches,
    tones: Sequence[Tone],
) -> list[Remark]:
    """What is said of every move; what claims need for it is searched, and kept.

    First every move is spoken of as if it were the only one, side by side, those with a mark first,
    as they take longest; then all in their order, as what was said before decides what is said now.
    """
    scenes, language = scenes_of(analysis), language_of(style.language)
    keys = key_moments(figures.values, figures.labels)
    spoken = [
        style.speaks_of(scene.mover) and (style.moments == "all" or ply in keys)
        for ply, scene in enumerate(scenes)
    ]

    def by_itself(scene: Scene, tone: Tone) -> None:
        lines_of(scene, select(scene, Memory(), style.level, tone), style.level, language)

    plies = [ply for ply, speaks in enumerate(spoken) if speaks]
    plies.sort(key=lambda ply: figures.labels[ply] is Label.NONE)
    list(searches.all(partial(by_itself, scenes[ply], tones[ply]) for ply in plies))
    return _spoken(scenes, spoken, tones, style)


def _spoken(
    scenes: Sequence[Scene],
    spoken: Sequence[bool],
    tones: Sequence[Tone],
    style: Style,
) -> list[Remark]:
    """What is said of every move in its order."""
    language = language_of(style.language)
    speaker, remarks = style.words.speaker(style.level, language), list[Remark]()
    for scene, speaks, tone in zip(scenes, spoken, tones, strict=True):
        speaker.tone = tone
        grade = grade_of(scene) if style.speaks_of(scene.mover) else None
        comment = speaker.comment(scene) if speaks else Comment()
        lines = lines_of(scene, comment, style.level, language) if speaks else []
        remarks.append(Remark(comment, lines, grade))
    return remarks


def _write(
    tree: chess.pgn.Game,
    analysis: Analysis,
    figures: Figures,
    named_until: int,
    remarks: Sequence[Remark],
    good: Mapping[int, str],
    bad: Sequence[Selection],
    style: Style,
) -> None:
    """Write marks, values, words and lines into a game."""
    nodes, board, language = list(tree.mainline()), tree.board(), language_of(style.language)
    families, told = dict([family_in(tree, figures.opening)]), ""
    book_until = book_ends(tree)
    for ply, (node, (comment, lines, grade)) in enumerate(zip(nodes, remarks, strict=True)):
        leaves, mark, words = "", "", comment.text
        fine = figures.labels[ply] is Label.NONE
        if fine and KNOWN <= ply == book_until + 1 and style.level != "beginner":
            leaves, words = _theory_texts(board, node.move, words, language)
        if style.speaks_of(board.turn):
            mark = put_mark(node, figures.labels[ply], grade)
            mark += good.get(ply, "")
            add_lines(node, lines)
        board.push(node.move)
        named = figures.opening if ply == named_until else families.get(ply)
        name = _opening_text(named, language)
        name, told = "" if name == told else name, name or told
        texts = [name, leaves, words, _end_text(board, language)]
        text = " ".join(text for text in texts if text)
        put_words(node, analysis.views[ply + 1], comment, text, board.turn, mark)
    story = story_of(tree, figures, bad, language) if nodes else ""
    put_words(tree, analysis.views[0], Comment(), story, tree.board().turn)


def signature(engine: Engine, style: Style) -> str:
    """How games are annotated, for a tag: the network, the level, the sides and the limits."""
    limits = " ".join(f"{name} {value}" for name, value in style.limits.given().items())
    level = style.level if style.moments == "all" else f"{style.level} key moments"
    level += "" if style.language == "en" else f", {language_of(style.language).name}"
    level += "" if style.words.name == TABLE.name else f", words {style.words.name}"
    return f"kibitz ({named(chosen(engine.options.weights))}, {level}, {style.sides}, {limits})"


def figures_of(tree: chess.pgn.Game, views: Sequence[Evaluation]) -> tuple[Figures, int]:
    """A game in numbers, and the last ply, from 0, whose position has a name."""
    white = tree.board().turn
    signs = [1 if white == (ply % 2 == 0) else -1 for ply in range(len(views))]
    values = tuple(sign * view.value for sign, view in zip(signs, views, strict=True))
    ply, opening = opening_in(tree)
    mates = {
        ply for ply, (had, has) in enumerate(pairwise(views)) if had.mate == 1 and has.mate != 0
    }
    labels = without_book(tree, labels_of(values, white, mates))
    return Figures(values, labels, opening), ply


def comment_on(
    engine: Engine,
    board: Board,
    move: str,
    level: Level = "club",
    limits: Limits | None = None,
    language: Language = ENGLISH,
) -> str:
    """What is to be said of one move of a position; without limits nothing is searched."""
    if level not in LEVELS:
        raise InputError("no such level of readers", value=level, fix=did_you_mean(level, LEVELS))
    scene, speaker = scene_on(engine, board, move, limits), Speaker(level, language)
    speaker.tone = Tone.ASKED
    return _with_end(scene, speaker.comment(scene), speaker)


def reason_on(
    engine: Engine,
    board: Board,
    move: str,
    level: Level,
    limits: Limits,
    language: Language = ENGLISH,
) -> str:
    """What a move is good for that might be made, slight reasons, too, where there is no other."""
    scene, speaker = scene_on(engine, board, move, limits), Speaker(level, language)
    return speaker.comment(scene).text or speaker.text_of(
        scene, reasons(scene, level, MOST_REASONS)
    )


def mistake_on(
    engine: Engine,
    board: Board,
    move: str,
    level: Level,
    limits: Limits,
    language: Language = ENGLISH,
) -> str:
    """Why a move is a mistake, without a word of what was better; empty if it is none."""
    scene = scene_on(engine, board, move, limits)
    if mark_of(scene) not in (Label.MISTAKE, Label.BLUNDER):
        return ""
    speaker = Speaker(level, language)
    causes = [claim for claim in select(scene, Memory(), level).claims if isinstance(claim, CAUSES)]
    texts = [speaker.sentence_of(scene, claim) for claim in causes]
    return " ".join(texts) or language.clearly_better


def silence(move: str, language: Language = ENGLISH) -> str:
    """What stands for the words on a move, in SAN, of which there is nothing to say."""
    mates = move.endswith("#")
    return language.mates.format(move=language.notation(move)) if mates else language.nothing


def scene_on(
    engine: Engine,
    board: Board,
    move: str,
    limits: Limits | None,
    more: Sequence[Engine] = (),
) -> Scene:
    """One move of a position, as in a game that ends with it.

    Moves that the board remembers count as made before: what they have taken is no gain, and what
    occurs again is a repetition. `more` engines of the same kind share the work.
    """
    before = board.to_chess()
    made = chess.Move.from_uci(board.uci(board.parse(move)))
    if limits is None:
        return Scene(before, made, ())
    searches, effort = Searches(engine, *more), Effort(limits)
    moves = [*before.move_stack, made]
    analysis = analyse(before.root(), moves, len(moves) - 1, searches, effort)
    return scenes_of(analysis)[0]


def scene_of_game(
    game: Game,
    move: str,
    limits: Limits | None,
    engines: Sequence[Engine],
    on_ply: OnPly = lambda: None,
) -> Scene:
    """A move of a game's main line, numbered as in 12...Nf6, as it is seen in the whole game."""
    wanted = move.replace(" ", "").replace("\u2026", "...").rstrip("+#")
    moves = [step(node.parent.board(), node.move) for node in game.tree.mainline()]
    texts = [made.text.rstrip("+#") for made in moves]
    if wanted not in texts:
        fix = "write it with its number, as in 12...Nf6"
        raise InputError("no such move in the game", value=move, fix=fix)
    ply = texts.index(wanted)
    if limits is None:
        node = [*game.tree.mainline()][ply]
        return Scene(node.parent.board(), node.move, ())
    searches, effort = Searches(*engines), Effort(limits)
    analysis = _analysis_of(game.tree, searches, effort, on_ply)
    return scenes_of(analysis)[ply]


def move_facts(scene: Scene, speaker: Speaker) -> dict[str, Any]:
    """What is said of a move, the claims behind it, its mark and scores, as the mover sees them."""
    facts: dict[str, Any] = {"fen": Board.from_chess(scene.before).fen()}
    facts |= {"move": scene.before.san(scene.move), "level": speaker.level}
    speaker.tone = Tone.ASKED
    comment, plain = speaker.comment(scene), Speaker(speaker.level, speaker.language)
    facts["comment"] = _with_end(scene, _with_theory(scene, comment, speaker), speaker)
    facts["claims"] = [
        {"kind": kind_of(claim), "text": plain.sentence_of(scene, claim)}
        for claim in comment.claims
    ]
    if scene.had is None or scene.has is None:
        return facts
    lost = max(0.0, scene.had.value + scene.has.value)
    before, after = scene.had.score, score_before(scene.has)
    scores = {"before": {before.kind: before.amount}, "after": {after.kind: after.amount}}
    grade = grade_of(scene)
    facts["mark"] = MARKS[mark_of(scene)] or (grade.mark if grade else "")
    facts["grade"] = "" if grade is None else grade.value
    return facts | {"score": {**scores, "loss": round(lost / 2, 3)}}


# --- words beside the comments --------------------------------------------------------------------


def _opening_text(opening: Opening | None, language: Language) -> str:
    name = "" if opening is None else language.opening(opening.name)
    return language.named.format(name=name, eco=opening.eco) if opening and name else ""


def _theory_texts(
    board: chess.Board, move: chess.Move, words: str, language: Language
) -> tuple[str, str]:
    """That a move leaves the openings that have a name, and its comment, which names it no more."""
    made = language.notation(step(board, move).text)
    form = language.theory[sum(map(ord, made)) % len(language.theory)]
    this = language.played[0].partition("{")[0]
    words = this + words.removeprefix(f"{made} ") if words.startswith(f"{made} ") else words
    return form.format(move=made), words


def _with_theory(scene: Scene, comment: Comment, speaker: Speaker) -> Comment:
    """A comment that says first that its move leaves the openings that have a name."""
    known = scene.before.ply() >= KNOWN and is_book(scene.before) and not is_book(scene.after)
    trap = any(isinstance(claim, OfTrap) for claim in comment.claims)  # which has a name
    if not known or trap or mark_of(scene) is not Label.NONE or speaker.level == "beginner":
        return comment
    texts = _theory_texts(scene.before, scene.move, comment.text, speaker.language)
    return comment._replace(text=" ".join(filter(None, texts)))


def _with_end(scene: Scene, comment: Comment, speaker: Speaker) -> str:
    """A comment, and what the move means for the game by the rules."""
    after = played(scene.before, scene.move, stack=len(scene.before.move_stack) + 1)
    return " ".join(filter(None, [comment.text, _end_text(after, speaker.language)]))


def _end_text(board: chess.Board, language: Language) -> str:
    """What a position means for the game by the rules."""
    side = language.sides[board.turn]
    if board.is_stalemate():
        return language.rules["stalemate"].format(side=side)
    before = board.copy(stack=1)
    before.pop()
    if board.is_insufficient_material() and not before.is_insufficient_material():
        return language.rules["material"]
    for count in (5, 4, 3):
        if board.is_repetition(count):
            return language.rules["repetition"].format(count=language.ordinals[count])
    return language.rules["fifty"] if board.halfmove_clock == 100 else ""
