"""Patterns for pieces, squares and sides, and how what a pattern has matched becomes statements.

All patterns here are without nested repetition, so that reading takes time in step with the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias, get_args

import chess

from kibitz.comment.check import judgements
from kibitz.comment.check import statements as said
from kibitz.comment.check.statements import Statement, Thing

KIND = "king|queen|rook|bishop|knight|pawn"
NAMED = re.compile(rf"\b({KIND}) on ([a-h][1-8])")


def side_of(word: str | None) -> bool | None:
    """True for White, False for Black, None for neither."""
    return {"white": True, "black": False}.get((word or "").lower().removesuffix("'s"))


def kind_named(word: str) -> int:
    """The kind of piece that a word names.

    >>> kind_named("Rooks")
    4
    """
    return chess.PIECE_NAMES.index(word.lower().removesuffix("s"))


NUMBERS = {
    name: count for count, name in enumerate(("zero", "one", "two", "three", "four", "five", "six"))
}
NUMBERS |= {"a": 1, "an": 1, "the": 1, "another": 1} | {str(n): n for n in range(1, 21)}

SQUARE = "(?-i:[a-h][1-8])"
SIDE = r"(?P<side>white|black)"
ADJECTIVE = (
    r"(?:strong|weak|powerful|bad|good|lone|passed|isolated|doubled|advanced"
    r"|last|free|only|offered|remaining|own|poor|active|passive|fianchettoed|important|central|unprotected|undefended|unguarded)"
)


# Behind a square that no "on" stands before: "the pawn g7 is pinned", not "gives the knight c5".
VERB = r"\s+(?:now\s+|also\s+|still\s+)?(?:is|has|(?:attack|defend|guard|protect|control|pin)s)\b"


def piece(name: str) -> str:
    """A pattern for a piece: its determiner, side, square or file, kind and square."""
    return (
        rf"(?:(?P<{name}_the>the|its|his|her|their|our|my|your|this|that|both|a|an|white's|black's)"
        rf"\s+)?(?:(?P<{name}_side>white|black)(?:'s)?\s+)?(?:{ADJECTIVE}\s+)?"
        rf"(?:(?P<{name}_shade>light|dark)[-\s]squared?\s+)?(?:(?P<{name}_at>{SQUARE})[-\s])?(?:(?P<{name}_file>(?-i:[a-h]))-)?"
        rf"(?P<{name}_kind>{KIND})s?(?:\s+(?:on\s+|at\s+|(?={SQUARE}{VERB}))(?P<{name}_on>{SQUARE}))?(?![\w-])"
    )


def target(name: str) -> str:
    """A pattern for a piece or a bare square."""
    bare = rf"(?:the\s+)?(?:squares?\s+)?(?P<{name}_bare>{SQUARE})(?:[-\s]square)?(?![\w-])"
    return rf"(?:{piece(name)}|{bare})"


# Behind the last thing of a list: it is no subject of the next clause.
LAST = (
    rf"(?!\s+(?:(?:on|at)\s+{SQUARE}"
    r"|(?:now\s+|also\s+|both\s+)?(?:is|are|has|have|can|will|by|\w+[^\Ws]s)\b))"
)
SUBJECT = rf"(?:{piece('by')}|(?P<by_who>white|black)|(?P<by_it>it|this(?:\s+move)?|we|,|^))"


class Context(NamedTuple):
    """What is known to a reader of a comment: who has moved, and the move."""

    mover: bool | None = None  # None: a position without a move
    san: str = ""  # the move, without marks
    number: str = ""  # of the move, with its dots
    text: bool = False  # what is said of a position, and no comment in a game


class Hit(NamedTuple):
    """What a pattern has matched, and the comment's context."""

    match: re.Match[str]
    context: Context


Made: TypeAlias = Iterator[tuple[Statement, bool]]
Reader: TypeAlias = Callable[[Hit], Made]


def thing(
    match: re.Match[str], name: str, other: bool | None = None, *, loose: bool = False
) -> Thing | None:
    """What a pattern for a piece has matched; None where it is no definite thing.

    `other` is the side it has where no side is named; `loose`: it may be any that is so called.
    """
    groups = match.groupdict()
    bare = groups.get(f"{name}_bare")
    if bare:
        return Thing(square=chess.parse_square(bare))
    kind, the = groups.get(f"{name}_kind"), (groups.get(f"{name}_the") or "").lower()
    if not kind:
        return None
    at = groups.get(f"{name}_on") or groups.get(f"{name}_at")
    white = side_of(groups.get(f"{name}_side") or the)
    first = white is not None and at and not match.start()
    named = the or groups.get(f"{name}_at") or first
    if not loose and (the in ("a", "an") or not named):
        return None
    if not loose and not at and white is None and other is None:
        return None  # "the rook" of no side may be any rook
    file, shade = groups.get(f"{name}_file"), groups.get(f"{name}_shade")
    return Thing(
        kind_named(kind),
        other if white is None else white,
        chess.parse_square(at) if at else None,
        ord(file) - ord("a") if file else None,
        shade.lower() == "light" if shade else None,
    )


def spoken(hit: Hit, name: str, other: bool | None = None) -> Thing | None:
    """A piece that is spoken of; in a text on a position "the rook" may be that of either side."""
    the = (hit.match.groupdict().get(f"{name}_the") or "").lower() == "the"
    return thing(hit.match, name, other, loose=hit.context.text and the)


def doer(hit: Hit) -> Thing | None:
    """Who does something: a piece, a side, or the side that has moved."""
    groups = hit.match.groupdict()
    if groups.get("by_kind"):
        return thing(hit.match, "by") or _moved(hit) or spoken(hit, "by")
    if groups.get("by_who"):
        return Thing(white=side_of(groups["by_who"]))
    return None if hit.context.mover is None else Thing(white=hit.context.mover)


def moved(context: Context) -> Thing | None:
    """The piece that has just moved, where it stands."""
    move = re.fullmatch(r"([KQRBN]?)[a-h]?[1-8]?x?([a-h][1-8])[+#]?", context.san)
    if move is None or context.mover is None:
        return None
    kind = chess.Piece.from_symbol(move[1] or "P").piece_type
    return Thing(kind, context.mover, chess.parse_square(move[2]))


def _moved(hit: Hit) -> Thing | None:
    """The piece that has just moved, where one of its kind and no other is spoken of."""
    groups, piece = hit.match.groupdict(), moved(hit.context)
    the, side = (groups.get("by_the") or "").lower(), groups.get("by_side")
    if piece is None or the not in ("the", "this") or groups.get("by_file"):
        return None
    same = piece.kind == kind_named(groups["by_kind"])
    return piece if same and side_of(side) in (None, piece.white) else None


def against(by: Thing) -> bool | None:
    """The other side than a piece's, if that is known."""
    return None if by.white is None else not by.white


def read_stands(hit: Hit) -> Made:
    """That a piece stands where it is said to."""
    named = thing(hit.match, "p")
    if named is not None and named.square is not None:
        yield said.Stands(named), True


def read_placed(hit: Hit) -> Made:
    """That a side has a piece on a square, or that its piece is there."""
    groups = hit.match.groupdict()
    side = side_of(groups.get("side") or groups.get("p_side") or groups.get("p_the"))
    kind, shade = kind_named(groups.get("kind") or groups["p_kind"]), groups.get("p_shade")
    light = shade.lower() == "light" if shade else None
    for name in ("square", "second"):
        if groups.get(name):
            square = chess.parse_square(groups[name])
            yield said.Stands(Thing(kind, side, square, light=light)), not groups.get("no")


def read_attacks(hit: Hit) -> Made:
    """That a piece or a side attacks things."""
    by = doer(hit)
    if by is None:
        return
    forks = hit.match.groupdict().get("forks") is not None
    if forks and hit.match.groupdict().get("by_it"):
        by = moved(hit.context) or by
    targets = [
        thing(hit.match, name, against(by), loose=True) if forks else spoken(hit, name, against(by))
        for name in ("one", "two")
    ]
    things = tuple(target for target in targets if target is not None)
    if things and things[0] is targets[0]:
        aims = bool(hit.match.groupdict().get("aims"))
        yield said.Attacks(by, things, aims=aims, moved=_made(hit)), True


def _made(hit: Hit) -> Thing | None:
    """The piece that has moved, where "this move" is what does something."""
    this = (hit.match.groupdict().get("by_it") or "").lower().startswith("this")
    return moved(hit.context) if this else None


def read_both_attack(hit: Hit) -> Made:
    """That two pieces attack something, or guard it."""
    groups = hit.match.groupdict()
    by = [thing(hit.match, name, loose=True) for name in ("by", "also")]
    white = next((each.white for each in by if each is not None and each.white is not None), None)
    guards = bool(groups.get("guards"))
    for each in by:
        if each is None:
            return
        owner = replace(each, white=white if each.white is None else each.white)
        target = thing(hit.match, "one", owner.white if guards else against(owner))
        if target is not None:
            aims = bool(groups.get("aims"))
            yield said.Attacks(owner, (target,), guards, aims), True


def read_guards(hit: Hit) -> Made:
    """That a piece or a side guards something, or supports it."""
    by = doer(hit)
    target = None if by is None else thing(hit.match, "one", by.white)
    if by is not None and target is not None:
        supports = bool(hit.match.groupdict().get("supports"))
        made = _made(hit)
        yield said.Attacks(by, (target,), guards=True, supports=supports, moved=made), True


def read_attacked(hit: Hit) -> Made:
    """That a piece is attacked."""
    named = spoken(hit, "p")
    if named is not None and not hit.match["only"]:
        yield said.Attacks(Thing(white=against(named)), (named,)), not hit.match["no"]


def read_pinned(hit: Hit) -> Made:
    """That a piece is pinned."""
    named = spoken(hit, "p")
    if named is not None:
        yield said.Pinned(named, _behind(hit)), not hit.match.groupdict().get("no")
        by = thing(hit.match, "by", against(named), loose=True)
        if by is not None and not hit.match.groupdict().get("no"):
            yield said.Attacks(by, (named,)), True


def _behind(hit: Hit) -> int | None:
    """What a piece is said to be pinned to."""
    kind = hit.match.groupdict().get("behind")
    return kind_named(kind) if kind else None


def read_pins(hit: Hit) -> Made:
    """That a piece is pinned by the one that moved, or another."""
    by = doer(hit)
    named = None if by is None else thing(hit.match, "one", against(by))
    if by is not None and named is not None:
        yield said.Pinned(named, _behind(hit)), True
        yield said.Attacks(by, (named,)), True


def read_guarded(hit: Hit) -> Made:
    """That a piece is guarded, or hangs."""
    named = spoken(hit, "p")
    if named is None or named.kind == chess.KING:
        return
    word = hit.match["state"].lower()
    if word.startswith(("hang", "en prise")):
        yield said.Hangs(named), not hit.match["no"]
    else:
        bare = word.startswith(("un", "loose", "no"))
        yield said.Guarded(named), bool(hit.match["no"]) == bare


def read_bare(hit: Hit) -> Made:
    """That a piece is unguarded, where it is called so."""
    named = thing(hit.match, "p", loose=True)
    if named is not None and named.square is not None:
        yield said.Guarded(replace(named, white=side_of(hit.match["side"]))), False


def read_condition(name: Literal["check", "mate", "stalemate", "double check"]) -> Reader:
    """That a side is in check, mated or stalemated."""

    def read(hit: Hit) -> Made:
        side = side_of(hit.match.groupdict().get("side"))
        if name == "mate" and side is None and hit.context.mover is not None:
            side = not hit.context.mover
        yield said.Condition(name, side), not hit.match.groupdict().get("no")

    return read


def read_turn(hit: Hit) -> Made:
    """Whose turn it is."""
    side = side_of(hit.match["side"] or hit.match.groupdict().get("by_who"))
    assert side is not None
    yield said.ToMove(side), True


def read_gives_check(hit: Hit) -> Made:
    """That a piece or a side gives check."""
    by = doer(hit)
    if by is not None:
        yield said.Condition("check", against(by)), True
        if by.kind is not None:
            yield said.Attacks(by, (Thing(chess.KING, against(by)),)), True


def read_has_won(hit: Hit) -> Made:
    """That a side has won something."""
    side, kind = side_of(hit.match["side"]), kind_named(hit.match["what"])
    if side is not None and kind != chess.KING:
        yield judgements.HasWon(side == (hit.match["verb"].lower() == "won"), kind), True


def read_ahead(hit: Hit) -> Made:
    """That a side has more."""
    side, groups = side_of(hit.match["side"]), hit.match.groupdict()
    count = NUMBERS.get((groups.get("count") or "a").lower())
    if side is None or count is None:
        return
    behind = groups["way"].lower().startswith(("down", "behind"))
    only = bool(groups.get("only"))
    yield judgements.Ahead(side != behind, groups["what"].lower().rstrip("s"), count, only), True


def read_even(hit: Hit) -> Made:
    """That material is even."""
    yield judgements.Ahead(None), not hit.match["no"]


def read_counts(hit: Hit) -> Made:
    """That a side has so many pieces of a kind."""
    side, count = side_of(hit.match["side"]), NUMBERS.get(hit.match["count"].lower())
    if (
        side is not None
        and count is not None
        and hit.match["count"].lower() not in ("the", "another")
    ):
        yield judgements.Counts(side, kind_named(hit.match["kind"]), count), True


_SIZES = {
    "winning": 2,
    "won": 2,
    "wins": 2,
    "decisive": 2,
    "lost": -2,
    "losing": -2,
    "loses": -2,
}
_SIZES |= {"better": 1, "worse": -1, "clear": 1, "big": 1, "large": 1, "huge": 1, "significant": 1}
_SIZES |= {"ahead": 1, "stable": 1, "comfortable": 1, "lasting": 1}
_SLIGHT = re.compile(
    r"\b(?:slight(?:ly)?|small|minimal|tiny|modest|a\s+(?:little|bit))\b", re.IGNORECASE
)


def read_standing(hit: Hit) -> Made:
    """That a side is winning, better, worse or lost."""
    side, how = side_of(hit.match["side"]), hit.match.groupdict().get("how")
    size = _SIZES[how.lower()] if how else 1
    slight = abs(size) == 1 and bool(_SLIGHT.search(hit.match[0]))
    yield judgements.Standing(side, size, slight=slight), True


def read_task(hit: Hit) -> Made:
    """That a side is to play, and to win or draw."""
    side, wins = side_of(hit.match["side"]), hit.match["how"].lower() == "win"
    assert side is not None
    yield said.ToMove(side), True
    yield judgements.Standing(side if wins else None, 2 * wins, task=True), True


def read_equal(hit: Hit) -> Made:
    """That the position is equal or drawn."""
    drawn = "draw" in hit.match[0].lower()
    yield judgements.Standing(None, 0, slight=not drawn), True


def read_takes(hit: Hit) -> Made:
    """That a side captures something; what a move has captured is for `moves`."""
    if hit.match["by_it"] and hit.context.mover is not None:
        return
    by = doer(hit)
    target = None if by is None else thing(hit.match, "one", against(by))
    if by is not None and by.white is not None and target is not None and target.kind:
        yield said.Takes(by.white, target), True


def read_wins(hit: Hit) -> Made:
    """That a side wins or loses something."""
    by, kind = doer(hit), hit.match["one_kind"]
    side = None if by is None else by.white
    loses = not hit.match["verb"].lower().startswith("win")
    own = (hit.match["one_the"] or "").lower() in ("his", "her", "their", "my", "our")
    if side is not None and (loses or not own):
        what = Thing(kind_named(kind), side == loses)
        yield judgements.Wins(side != loses, what, by_move=hit.context.text), True


def read_mate_in(hit: Hit) -> Made:
    """That there is a mate in so many moves."""
    word = hit.match["count"].lower()
    count = NUMBERS.get(word)
    side = side_of(hit.match.groupdict().get("side"))
    if hit.match.groupdict().get("forces"):
        side = hit.context.mover
    if count or not word:
        yield judgements.MateIn(side, count), True


Trait: TypeAlias = Literal["passed", "isolated", "doubled"]
TRAITS: dict[str, Trait] = {trait: trait for trait in get_args(Trait)}
_QUALITIES = {"both": "every", "all": "every", "by a": "by another"}


def read_pawn(hit: Hit) -> Made:
    """That pawns are passed, isolated or doubled."""
    groups = hit.match.groupdict()
    side, count = side_of(groups.get("side") or groups.get("whose")), groups.get("count") or "a"
    isolani = groups.get("isolani")
    queens = groups.get("queen") or isolani
    file = groups.get("file") or groups.get("on_file") or ("d" if queens else None)
    squares = [groups[name] for name in ("at", "two", "first") if groups.get(name)]
    both, of = groups.get("both"), TRAITS.get((groups.get("of") or "").lower(), "")
    if not (squares or both or groups.get("any")) and file is None and side is None:
        return
    pawn = Thing(chess.PAWN, side, file=None if file is None else chess.FILE_NAMES.index(file))
    trait = TRAITS["isolated" if isolani else (groups["trait"] or "passed").lower()]
    quality = (groups["quality"] or "").lower()
    quality = _QUALITIES.get(quality, quality)
    if groups.get("all") and not (squares or groups.get("none")) and file is None:
        quality = "all"
    no = count.lower() == "no"
    least = 1 if no or squares else NUMBERS[count.lower()]
    for there in map(chess.parse_square, squares) if squares else [None]:
        for white in (True, False) if both else [side]:
            this = replace(pawn, square=there, white=white)
            no = bool(no or groups.get("no") or groups.get("none"))
            yield judgements.PawnIs(trait, this, least, quality, of), not no


def read_file(hit: Hit) -> Made:
    """That a file is open or half-open."""
    half, side = bool(hit.match["half"]), side_of(hit.match["side"])
    file = judgements.FileIs(ord(hit.match["file"]) - ord("a"), half, side if half else None)
    yield file, not hit.match.groupdict().get("no")


def read_bishops(hit: Hit) -> Made:
    """That a side has both bishops, or that they are of opposite colours."""
    groups = hit.match.groupdict()
    same = bool(groups.get("same") or groups.get("same_too"))
    for side in (True, False) if groups.get("both") else [side_of(groups.get("side"))]:
        yield judgements.Bishops(side, same), True


def read_threat(hit: Hit) -> Made:
    """That a side threatens a move."""
    side = side_of(hit.match.groupdict().get("by_who"))
    side = hit.context.mover if side is None else side
    if side is None:
        return
    mates = bool(hit.match["mates"]) or hit.match["san"].endswith("#")
    yield said.Possible(hit.match["san"].rstrip("#+!"), side, mates, threat=True), True


def read_possible(hit: Hit) -> Made:
    """That a move is possible, or mates."""
    side = side_of(hit.match.groupdict().get("by_who"))
    mates = bool(hit.match["mates"]) or hit.match["san"].endswith("#")
    if not (hit.match["no"] and side is not None):  # "cannot play" often means that it is bad
        yield said.Possible(hit.match["san"].rstrip("#+!"), side, mates), not hit.match["no"]


def read_threat_of_mate(hit: Hit) -> Made:
    """That a side threatens mate."""
    side = side_of(hit.match.groupdict().get("by_who"))
    side = hit.context.mover if side is None else side
    if side is not None:
        yield judgements.ThreatensMate(side), True
