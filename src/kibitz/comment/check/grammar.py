"""Reads a sentence into statements: what is understood for certain, and nothing else.

A sentence that is conditional, past or a question says nothing certain of the position, nor does
one in which other moves come first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import chess

from kibitz.comment.check import (
    contacts,
    forms,
    kings,
    lines,
    material,
    moves,
    readers,
    structure,
)
from kibitz.comment.check.forms import Form
from kibitz.comment.check.readers import Context, Hit
from kibitz.comment.check.statements import Statement, is_ambiguous, parsed, turned
from kibitz.comment.check.text import ELSEWHERE, MOVE, OLD, PLAYED
from kibitz.comment.facts import played

FORMS = (
    *forms.FORMS,
    *kings.FORMS,
    *contacts.FORMS,
    *structure.FORMS,
    *lines.FORMS,
    *material.FORMS,
    *moves.FORMS,
)


# How things are named; what is said of them, if there is a verb.
NAMING = (
    readers.read_stands,
    readers.read_bare,
    readers.read_pinned,
    readers.read_pawn,
    readers.read_file,
    readers.read_bishops,
    structure.read_backward,
    structure.read_outpost,
)
_CLAUSE = re.compile(
    r"\b(?:is|are|has|have|owns|possesses|enjoys|stands?|remains?|leaves|gives|creates)\b|\bthere's\b",
    re.IGNORECASE,
)
# Words that make a sentence a guess, a wish, a rule, a story or a question.
HEDGES = re.compile(
    r"\b(?:if|would|could|should|might|may|maybe|perhaps|probably|unless|suppos\w+|imagin\w+|assum\w+|"
    r"were|was|had|did|didn't|hop(?:e[ds]?|ing)|wish\w*|instead|otherwise|whether|almost|nearly|"
    r"seem\w*|appear\w*|looks?|looked|potential\w*|possibl\w+|usual\w*|often|normal\w*|general\w*|"
    r"typical\w*|sometimes|always|ever|never|example|e\.g|such as|like|idea|plan\w*|hardly|"
    r"went|played|came|took|thought|felt|think|believe|guess|want\w*|tried|supposed|theor\w+|rule|"
    r"when(?:ever)?|(?<!at )once(?=\s+(?!more|and|by|again)\w)|until|till|before|unlike|"
    r"compare\w*|imagined|anyone|someone|"
    r"both players|"
    r"principle|known as|called|neither|nor|either|any|some|many|most|every|each|rather|too|enough|"
    r"nothing|nobody|game|games|puzzle|study|variation|variations|line|lines|main|pretend\w*|"
    r"has to|have to|merely|"
    r"previous\w*|earlier|resulting|original\w*|start(?:ed|ing)?|diagram)\b|\?|\bas in\b",
    re.IGNORECASE,
)
# The same where a form sees to "both sides", "neither" and the like itself.
GUESSES = re.compile(
    r"\b(?:if|would|could|might|may|maybe|perhaps|probably|unless|were|was|had|did|"
    r"when(?:ever)?|(?<!at )once|until|after|before|then|almost|nearly|"
    r"seem\w*|appear\w*|usual\w*|often|normal\w*|sometimes|never|hardly)\b|\?",
    re.IGNORECASE,
)
# Words that deny what stands beside them, or tell it of somebody else, another time or place.
DENIALS = re.compile(
    r"\b(?:wrong(?![- ](?:colou?r|bishop|corner|square|side))|wrongly|untrue|not true|nonsense"
    r"|illusion|error that|unlikely|impossible that|out of the question|claims?|claimed|deny|denies"
    r"|denied|doubt\w*|myth|rumou?r\w*|legend|alleged\w*|supposedly|ostensibly|false\w*|lie"
    r"|absurd|misconception|fiction|incorrect\w*|mistakenly|disagree\w*|critics"
    r"|says?|said|thinks?|formerly|ago|initially|yesterday|in the past|shortly|in a moment"
    r"|in the long run|seldom|rarely|nowhere|elsewhere|wherever|provided|on condition|as soon as"
    r"|hypothetical\w*|on paper|in name|mirror|dreams?|else|at best|barring|by no means"
    r"|of course not|long gone|early|last moves?|chased|kicked|later|given time|colours reversed"
    r"|only after|has (?:just |already )?(?:retreated|gone|left|moved|returned|dropped back))\b"
    r"|^should\b|,\s+not\s*[.!]|^(?!.*(?:\bnot?\b|n't|neither)).*\byet\s*[.!]$"
    rf"|\b(?:{readers.KIND})(?: on [a-h][1-8])?\s+"
    r"(?:(?:attacked|hit|guarded|defended|pinned)\b(?!\s+by)|will\b|is\s+going\b)",
    re.IGNORECASE,
)
# What a colon follows, and is no name of what is said.
_LABEL = re.compile(
    r"^[^:.]{0,40}\b(?:after|before|later|next|then|last|soon|threat\w*|plan\w*|no|not|question|joke"
    r"|position \d)\b[^:.]{0,40}:\s",
    re.IGNORECASE,
)
# Before a statement: it is of another time, or of somebody's intention.
BEFORE = re.compile(
    r"\b(?:after|then|will|shall|won't|try(?:ing)?|tries|allow\w*|lets?|prevent\w*|"
    r"avoid\w*|so that|"
    r"in order|intend\w*|aim\w*|threat\w*|need\w*|going to|next|soon|later|eventually|without|"
    r"because of|in case|can|can't|cannot|must|to|for|forc\w+|prepar\w+|stops?|stopping|"
    r"instead of|make[s]?|making|gives?|giving|leav\w+|follow\w*|lead\w*|about|renews?|"
    r"the threat|along with|with|because|by|from|since|due|despite|as|than|not?|none of|no longer|"
    r"isn't|aren't|hasn't|doesn't|don't|or|only)\s+(?:[\w'-]+\s+){0,4}$",
    re.IGNORECASE,
)
# Behind a statement: it holds after something else.
BEHIND = re.compile(
    r"^\W{0,2}\s*(?:after|if|when|once|in case|unless|next move|soon|later|"
    r"until|then|in \w+ moves?|"
    r"again|or|by force|is gone|has been|to the defen[cs]e|again|with a|from|via|file|square|twice|"
    r"already)\b|^['-]\w",
    re.IGNORECASE,
)
# Where a clause begins that does not bear on what was said before it.
CLAUSE = re.compile(
    r"[;:]|,\s+(?:but|so|and|which|although|though|while|since|with\s+(?:each|both))\b|\s-\s"
)


# A question, what introduces something, or what the next move in the game brings to its end.
_UNFINISHED = re.compile(r"[?:][\"')]*$|^(?:[a-z]|\w+ing\b).*\.\.\.[\"')]*$")


class Claimed(NamedTuple):
    """A statement, or its opposite, and where it is in the sentence."""

    statement: Statement
    positive: bool
    start: int
    end: int
    near: bool = True  # a position before or after may be meant
    names: bool = False  # a thing of which nothing is said, besides that it is there


class Reading(NamedTuple):
    """What a sentence says, and whether it leads away from the position of its comment."""

    claims: tuple[Claimed, ...] = ()
    away: bool = False


def read(sentence: str, context: Context) -> Reading:
    """The statements of a sentence about the position that its comment belongs to."""
    named = [match for match in PLAYED.finditer(sentence) if not _is(match[0], context.san)]
    elsewhere = bool((OLD if context.text else ELSEWHERE).search(sentence))
    away = elsewhere or len(named) > 1 or any(move[0][0].isdigit() for move in named)
    if elsewhere or _UNFINISHED.search(sentence):
        return Reading((), away or bool(named))
    if _LABEL.match(sentence):
        return Reading((), away=True)
    # What a text says before it comes to a move is of the position; a game's comment is less plain.
    until = named[0].start() if named and context.text else 0 if named else len(sentence)
    claims = []
    for form in FORMS:
        for match in form.pattern.finditer(sentence):
            if (form.moves and len(named) > 1) or not (form.moves or match.end() <= until):
                continue
            if _is_hedged(sentence, match, form):
                continue
            near = form.near and not _is_of_the_move(match, context)
            claims += [
                Claimed(statement, positive, *match.span(), near, _names(form, match))
                for statement, positive in form.read(Hit(match, context))
            ]
    return Reading(tuple(claims), away or (bool(named) and not claims))


def _names(form: Form, match: re.Match[str]) -> bool:
    """Whether words name a thing, as "the open e-file", and are no clause of their own."""
    return form.read in NAMING and (
        form.read is readers.read_stands or not _CLAUSE.search(match[0])
    )


def _is_of_the_move(match: re.Match[str], context: Context) -> bool:
    """Whether a statement is about the move that was made, and no other."""
    doer = (match.groupdict().get("by_it") or "").lower()
    return context.mover is not None and doer.startswith(("it", "this"))


def _is_hedged(sentence: str, match: re.Match[str], form: Form) -> bool:
    """Whether the words around a statement make it one about another time."""
    start, clause = match.start(), CLAUSE.search(sentence, match.end())
    hedges = GUESSES if form.sure else HEDGES
    if hedges.search(sentence, 0, clause.start() if clause else len(sentence)):
        return True
    if DENIALS.search(sentence):
        return True
    if form.sure:
        return False
    before = sentence[max(0, start - 60) : start]
    before = before if before.endswith(" ") or not before else before + " "
    return bool(BEFORE.search(before) or BEHIND.search(sentence[match.end() : match.end() + 30]))


def _is(text: str, san: str) -> bool:
    """Whether a move in a text is a certain one, whatever number and marks it has."""
    return bool(san) and re.sub(r"^[\d.\s]+|[+#!?]+$", "", text) == san.rstrip("+#")


# --- moves that a sentence names ------------------------------------------------------------------


# What stands before the statement: a name in a list, or how the sentence is joined to the last one.
_OPENING = re.compile(
    r"^(?:[A-Z][\w']*(?:[ /-][\w']+){0,3}:\s+(?=\S)|(?:however|currently|additionally|moreover"
    r"|furthermore|also|here|in\s+(?:this|the\s+current|the\s+given)\s+position|at\s+the\s+moment"
    r"|right\s+now|overall|importantly|meanwhile|as\s+a\s+result|for\s+now|(?:note|notice)\s+that)"
    r"\s*,?\s+)",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"^(?:and\s+)?(?:after|with)\s+(?P<moves>.+?)\s*,?\s+(?=(?:white|black|the|it|both|there|material)\b)",
    re.IGNORECASE,
)
_MOVE = (
    r"(?:[KQRBN][a-h]?[1-8]?x?[a-h][1-8]|[a-h]x[a-h][1-8](?:=?[QRBN])?|[a-h][18]=[QRBN]"
    r"|[O0]-[O0](?:-[O0])?)"
)
_DEEDS = (
    "attacking attacks, forking forks, pinning pins, winning wins, threatening threatens, "
    "defending defends, guarding guards, protecting protects, targeting targets, eyeing eyes, "
    "controlling controls, supporting supports, hitting hits, blocking blocks, opening opens, "
    "hanging hangs, "
    "dropping drops, blundering blunders, losing loses, developing develops, capturing captures, "
    "preventing prevents, stopping stops, taking takes, giving gives, delivering delivers, "
    "mating mates, leading leads, forcing forces, being is"
)
_THIRD = dict(pair.split() for pair in _DEEDS.split(", "))  # participle: what "it" does
_DOES = re.compile(
    rf"(?<![\w-])(?P<move>(?-i:{_MOVE}|(?:(?<=play\s)|(?<=push\s)|(?<=\d\.)|(?<=\d\.\s))[a-h][1-8]))[+#]?[!?]{{0,2}}(?P<comma>,)?\s+(?:which\s+|and\s+)?"
    r"(?:(?:now|also|simply|immediately|just)\s+)?(?P<verb>[a-z]+)\s+(?P<rest>\S.*)",
    re.IGNORECASE,
)
_LINE = rf"(?:(?:\d{{1,3}}\s?)?\.{{1,3}}\s?)?(?:{_MOVE}|[a-h][1-8](?:=[QRBN])?)[+#]?[!?]{{0,2}}"
_LEAVES = re.compile(
    rf"^(?:then\s+)?(?P<moves>(?-i:{_LINE}(?:[\s,]+{_LINE}){{0,5}}))\s+(?:would\s+|will\s+)?leaves?\s+(?P<side>white|black)\s+with\s+(?P<what>\S.*)",
    re.IGNORECASE,
)
_ANSWERED = re.compile(
    rf"^(?P<first>(?-i:{_LINE}))\s+(?P<how>runs\s+into|loses\s+to|fails\s+to|can\s+be\s+(?:answered|met)\s+(?:by|with))\s+(?P<moves>(?-i:{_LINE}(?:[\s,]+(?:and\s+)?{_LINE}){{0,7}}))\s*[.!;]?$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w-])\d{1,3}\s?\.{1,3}\s?(?=[KQRBNO0]|[a-h]x)")
_NOT = re.compile(
    r"(?:\bnot?|n't|cannot|\b(?:avoid|prevent|stop|after|instead of)\w*)\b", re.IGNORECASE
)
_LEADS = ("", "the move", "and", "now", "the capture")
_PLAYS = re.compile(
    r"|(?:now\s+)?(?:the\s+(?:move|capture)|and|(?:white|black)\s+can\s+(?:now\s+|also\s+)?(?:play|push))|now"
)
_OWN = re.compile(
    rf"^(?:(?:the\s+move|here|now)\s+)?(?P<number>\d{{1,3}}\s?\.{{1,3}}\s?)?(?P<san>{MOVE})[!?]{{0,2}}(?=\s)"
)


_MATES = re.compile(
    r"^(?P<side>white|black)\s+(?:has\s+(?:a\s+)?(?:forced\s+)?mate|mates|can\s+(?:force\s+)?mate)\s+in\s+(?P<count>\w+)"
    rf"(?:\s+moves?)?\s+(?:with|by|after|starting\s+with)\s+(?:\d{{1,3}}\s?\.{{1,3}}\s?)?(?P<move>(?-i:{_MOVE}|(?<=\.)[a-h][1-8]))[+#]?[!]{{0,2}}(?=\s*[.,;]|$)",
    re.IGNORECASE,
)


_GAINS = re.compile(
    r"^(?P<side>white|black)\s+(?:(?:now|simply|also|just|can)\s+)?(?P<verb>wins|loses)\s+(?P<what>(?:an?|the)\s+(?:\w+\s+)?\w+)"
    rf"\s+(?:with|by)\s+(?:\d{{1,3}}\s?\.{{1,3}}\s?)?(?P<move>(?-i:{_MOVE}))[+#]?[!]{{0,2}}(?=\s*[.,;]|$)",
    re.IGNORECASE,
)


def bare(sentence: str, *, numbers: bool = True) -> str:
    """A sentence without what joins it to others, as "However," and a name in a list.

    Without `numbers` the one before its only move is left out.
    """
    if not numbers and len(PLAYED.findall(sentence)) == 1:
        sentence = _NUMBER.sub("", sentence)
    opening = _OPENING.match(sentence[:80])
    words = opening[0] if opening is not None else ""
    if opening is None or any(
        pattern.search(words) for pattern in (HEDGES, DENIALS, PLAYED, _LABEL)
    ):
        return sentence
    return sentence[opening.end() :]


def of_the_move(sentence: str, context: Context) -> str:
    """A sentence whose subject is the move that was made, as one on "this move".

    >>> of_the_move("4.Qxf7# is mate.", Context(mover=True, san="Qxf7#", number="4."))
    'This move is mate.'
    """
    match = _OWN.match(sentence)
    if match is None or not _is(match["san"], context.san):
        return sentence
    if match["number"] and "".join(match["number"].split()) != context.number:
        return sentence
    return f"This move{sentence[match.end() :]}"


def variation(sentence: str) -> tuple[list[str], str]:
    """The moves after which a sentence says something, and the rest of it; none if it has none."""
    match = _AFTER.match(sentence[:300])
    if match is not None:
        return _words(match["moves"]), sentence[match.end() :]
    leaves = _LEAVES.match(sentence)
    if leaves is None:
        return [], sentence
    return _words(leaves["moves"]), f"{leaves['side'].capitalize()} has {leaves['what']}"


def _words(moves: str) -> list[str]:
    """The moves of a line, without numbers and marks."""
    return re.sub(r"\d{1,3}\s?\.{1,3}|\.{3}|,|\band\b|[!?]", " ", moves).split()


class Reply(NamedTuple):
    """A move, what is said to come of it, and the line that shows it."""

    moves: list[str]
    loses: bool = False  # the first one is said to be bad for who makes it


def reply(sentence: str) -> Reply | None:
    """What a sentence says of how one move is answered; None if it says nothing else of that kind.

    >>> reply("7...Kg8 loses to 8.Bxd5+.")
    Reply(moves=['Kg8', 'Bxd5+'], loses=True)
    """
    match = _ANSWERED.match(sentence)
    if match is None:
        return None
    loses = match["how"].lower().startswith(("loses", "fails", "runs"))
    return Reply([*_words(match["first"]), *_words(match["moves"])], loses)


class Deed(NamedTuple):
    """The only move of a sentence, and what it is said to do."""

    san: str
    said: str  # as a sentence of its own
    threat: bool  # it is one of the side that is not to move
    start: int  # where the words that say so begin
    white: bool | None = None  # whose it has to be


def deed(sentence: str, *, numbered: bool = False) -> Deed | None:
    """What a sentence says of the only move that it names; one with a number, if `numbered`.

    >>> deed("White can play Bb5+, winning the queen.").said
    'This move wins the queen.'
    """
    match = _DOES.search(sentence)
    mates = _MATES.match(sentence)
    if mates is not None and len(PLAYED.findall(sentence)) == 1:
        side, said = mates["side"], f"This move leads to mate in {mates['count']}."
        return Deed(mates["move"], said, threat=False, start=0, white=side.lower() == "white")
    gains = _GAINS.match(sentence)
    if gains is not None and len(PLAYED.findall(sentence)) == 1:
        said = f"This move {gains['verb']} {gains['what']}."
        white = gains["side"].lower() == "white"
        return Deed(gains["move"], said, threat=False, start=0, white=white)
    if match is None:
        return None
    named = (one.span() for one in PLAYED.finditer(sentence))
    if any(not start <= match.start() < end for start, end in named):
        return None
    verb, leads = match["verb"].lower(), sentence[: match.start()].strip().lower()
    what = match["rest"]
    if verb == "would":
        does, _, what = what.partition(" ")
        verb = f"{does}s"
    leads = re.sub(r"(?:^|\s)\d{1,3}\s?\.{1,3}$", "", leads) if numbered else leads
    if match["comma"] or verb in _THIRD:
        third = None if _NOT.search(leads) else _THIRD.get(verb)
    else:
        third = verb if leads in _LEADS and verb in _THIRD.values() else None
    said = f"This move {third} {what}"
    start = 0 if _PLAYS.fullmatch(leads) else match.start()
    return Deed(match["move"], said, "threat" in leads, start) if third else None


_TOKEN = re.compile(
    r"(?<![\w-])(?P<number>\d{1,3}\s?\.{1,3}\s?|\.{2,3}\s?)?"
    rf"(?P<san>{_MOVE}|[a-h][1-8])(?P<mark>[+#]?[!?]{{0,2}})(?![\w-])"
)
_MADE = re.compile(r"\b(?:play|plays|playing|push|pushing|after|move|is|with)\s+$", re.IGNORECASE)


def _tokens(sentence: str) -> Iterator[tuple[str, bool]]:
    """The moves that a sentence names, and whether it is certain that each is one.

    A square is a move of a pawn where a number, a mark or another move stands before it.
    """
    end = -9
    for match in _TOKEN.finditer(sentence):
        start, san = match.start(), match["san"]
        joined = start - end <= 2 and not sentence[end:start].strip()
        certain = len(san) > 2 or bool(match["number"] or match["mark"]) or joined
        if certain or _MADE.search(sentence[max(0, start - 12) : start]):
            yield san, certain
            end = match.end()


def followed(sentence: str, starts: Sequence[chess.Board]) -> tuple[list[chess.Board], bool]:
    """The positions that a sentence's moves lead to, and whether all of them were understood."""
    boards, at, known = [*starts], list[chess.Board](), True
    boards += [other for start in starts if (other := turned(start, not start.turn)) is not None]
    first = len(boards)
    for san, certain in _tokens(sentence):
        for board in (*at, *boards):
            move = parsed(board, san)
            if move is not None:
                at = [played(board, move)]
                boards += at
                break
        else:
            # A first move that is not legal leads nowhere.
            nowhere = not at and not any(is_ambiguous(board, san) for board in boards)
            known = known and (not certain or nowhere or _stands(san, boards))
            if nowhere and certain and len(san) > 2:
                break
    return boards[first:], known


def _stands(san: str, boards: Sequence[chess.Board]) -> bool:
    """Whether what looks like a move names a piece where it stands, as in "the Nf3"."""
    if re.fullmatch(r"[KQRBN][a-h][1-8]", san) is None:
        return False
    kind = chess.Piece.from_symbol(san[0]).piece_type
    return any(board.piece_type_at(chess.parse_square(san[1:])) == kind for board in boards)
