"""The ways in which people say something of a position: patterns, and how each is read.

A pattern that matches gives statements; `grammar` decides by the words around whether they count.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kibitz.comment.check import readers
from kibitz.comment.check.readers import (
    ELSEWHERE,
    KIND,
    PLAYED,
    SIDE,
    SQUARE,
    SUBJECT,
    Context,
    Hit,
    Reader,
    piece,
    target,
)
from kibitz.comment.check.statements import Statement


class Form(NamedTuple):
    """A way to say something: the pattern, how it is read, and what may be around it."""

    pattern: re.Pattern[str]
    read: Reader
    moves: bool = False  # other moves may be named in the sentence
    near: bool = True  # it may be meant of the position before, or of the next


def _form(pattern: str, read: Reader, *, moves: bool = False, near: bool = True) -> Form:
    return Form(re.compile(pattern, re.IGNORECASE), read, moves, near)


IS = r"\s+(?:is|are|stands?|remains?)\s+(?:(?:now|also|still|already|currently)\s+)?"
HOW = (
    r"(?:(?:clearly|much|slightly|completely|totally|simply|already|now|just|easily|definitely|still"
    r"|absolutely|obviously|strategically|theoretically|a\s+(?:little|bit|lot)|far|even)\s+)*"
)
NOT = r"(?P<no>not\s+)?"
TO_KING = r"(?:\s+(?:to|against)\s+(?:the|his|its|her|their)\s+(?P<king>king)\b)?"
WING = (
    r"(?:\s+(?:on\s+the\s+)?(?:(?P<short>king-?side|short)|(?P<long>queen-?side|long))(?![\w-]))?"
)
COUNT = r"(?P<count>an?|the|one|no|two|three|four)"
# Of a pawn: words that say how good it is, and one that says what it is.
QUALITY = (
    r"(?:(?:very|strong|weak|dangerous|powerful|far|(?:far-)?advanced|extra|free|nice|good|bad|huge|big"
    r"|lone|single|valuable|mighty|beautiful)\s+)*"
    r"(?:(?P<quality>protected|connected|outside|distant|remote|supported|blockaded)\s+)?"
)
PAWNS = (
    rf"{QUALITY}(?:(?P<trait>passed|isolated|doubled)\s+"
    rf"(?:(?P<file>(?-i:[a-h]))-|(?P<first>{SQUARE})[-\s]|(?P<queen>queen'?s?)\s+)?pawn|passer)s?(?!['\w-])"
)
WHERE = (
    rf"(?:\s+(?:on|at)\s+(?:(?P<at>{SQUARE})(?:(?:,|,?\s+and)\s+(?P<two>{SQUARE}))?"
    r"|the\s+(?P<on_file>(?-i:[a-h]))-file))?(?![\w-])"
)
SAN = r"(?P<san>(?-i:[KQRBN][a-h]?[1-8]?x?[a-h][1-8]|[a-h]x[a-h][1-8]|O-O(?:-O)?)[+#]?!?)"
FORMS: tuple[Form, ...] = (
    _form(rf"\b{piece('p')}", readers.read_stands),
    _form(
        rf"\b{piece('p')}{IS}{NOT}(?:placed\s+)?(?:on|at)\s+(?P<square>{SQUARE})",
        readers.read_placed,
    ),
    _form(
        rf"\b{SIDE}\s+(?:now\s+|still\s+|also\s+)?has\s+(?:a|the|one|his|her|its)\s+(?P<kind>{KIND})\s+"
        rf"(?:on|at)\s+(?P<square>{SQUARE})",
        readers.read_placed,
    ),
    _form(
        rf"{SUBJECT}\s*(?:is\s+|are\s+)?(?:now\s+|also\s+|both\s+|still\s+|immediately\s+)*"
        rf"(?:attack(?:s|ing)|hits|hitting|fork(?:s|ing))\s+(?:both\s+)?"
        rf"{target('one')}(?:\s*(?:and|,)\s*{target('two')})?",
        readers.read_attacks,
    ),
    _form(
        rf"{SUBJECT}\s*(?:is\s+)?(?:now\s+|also\s+)*threaten(?:s|ing)\s+{piece('one')}",
        readers.read_attacks,
    ),
    _form(
        rf"{SUBJECT}\s*(?:is\s+|are\s+)?(?:now\s+|also\s+|still\s+)*"
        rf"(?:protect|defend|guard|control|cover)(?:s|ing)\s+{target('one')}",
        readers.read_guards,
    ),
    _form(
        rf"\b{piece('p')}{IS}{NOT}(?P<only>only\s+)?(?:being\s+)?(?:attacked|under\s+attack)\b",
        readers.read_attacked,
    ),
    _form(rf"\b{piece('p')}{IS}{NOT}(?:absolutely\s+)?pinned\b{TO_KING}", readers.read_pinned),
    _form(rf"\bpinned\s+{piece('p')}", readers.read_pinned),
    _form(
        rf"{SUBJECT}\s*(?:is\s+)?(?:now\s+|also\s+)*pin(?:s|ning)\s+{piece('one')}{TO_KING}",
        readers.read_pins,
    ),
    _form(
        rf"\b{piece('p')}{IS}{NOT}(?:left\s+)?(?P<state>hanging|en\s+prise|undefended|unprotected"
        rf"|unguarded|loose|(?:well[-\s])?(?:protected|defended|guarded))\b",
        readers.read_guarded,
    ),
    _form(
        rf"\b(?P<side>white|black){IS}{NOT}in\s+check\b(?!mate)", readers.read_condition("check")
    ),
    _form(
        rf"\b(?P<side>white|black)(?:'s)?\s+king{IS}{NOT}in\s+check\b",
        readers.read_condition("check"),
    ),
    _form(r"^(?:with\s+)?check[!.]", readers.read_condition("check")),
    _form(r"^(?:a\s+|it\s+is\s+a\s+)?double[-\s]check\b", readers.read_condition("double check")),
    _form(
        rf"^(?:and\s+)?(?:now\s+)?(?P<side>white|black)(?:'s\s+king)?{IS}{NOT}(?:check)?mated[!.]",
        readers.read_condition("mate"),
    ),
    _form(
        r"^(?:and\s+)?(?:it\s+is\s+|it's\s+|this\s+is\s+)?(?:check)?mate[!.]",
        readers.read_condition("mate"),
    ),
    _form(
        rf"^(?:and\s+)?(?P<side>white|black){IS}{NOT}stalemated[!.]",
        readers.read_condition("stalemate"),
    ),
    _form(
        r"^(?:and\s+)?(?:it\s+is\s+|it's\s+)?(?:a\s+)?stalemate[!.]",
        readers.read_condition("stalemate"),
    ),
    _form(
        rf"^(?:now\s+|here\s+)?{SIDE}\s+(?:is\s+)?to\s+(?:move|play)\b",
        readers.read_turn,
        near=False,
    ),
    _form(
        rf"\bit(?:\s+is|'s)\s+(?:now\s+)?{SIDE}'s\s+(?:turn|move)\b", readers.read_turn, near=False
    ),
    _form(
        rf"\b{SIDE}\s+has\s+(?P<no>not\s+)?(?:already\s+|yet\s+)?(?P<word>castled)\b",
        readers.read_castling,
    ),
    _form(
        rf"\b{SIDE}\s+(?:can\s+still|may\s+still|still\s+has\s+the\s+right\s+to|(?P<no>can\s+no\s+longer"
        rf"|has\s+lost\s+the\s+right\s+to))\s+(?P<word>castle)\b{WING}",
        readers.read_castling,
    ),
    _form(
        rf"\b{SIDE}\s+can(?P<no>not|'t)?\s+(?P<now>castle)\b{WING}(?!\s+(?:because|due|as|since|into|with))",
        readers.read_castling_now,
    ),
    _form(
        rf"{SUBJECT}\s*(?:is\s+)?(?:now\s+|also\s+)*(?:gives?|giving|delivers?)\s+(?:a\s+)?check"
        r"(?=\s*[.!,;]|\s+to\s+the\s+king\b)",
        readers.read_gives_check,
    ),
    _form(
        r"(?P<by_it>^(?:this(?:\s+move)?|it))\s+is\s+(?:a\s+)?check(?=\s*[.!])",
        readers.read_gives_check,
    ),
    _form(
        rf"\b{SIDE}\s+has\s+(?:now\s+|already\s+|just\s+)?won\s+(?:a|an|the|one)\s+(?P<what>{KIND})(?=\s*[.!,])",
        readers.read_has_won,
    ),
    _form(
        rf"\b{SIDE}{IS}(?:temporarily\s+)?(?P<count>a|an|the|one|two|three|four)\s+(?:full\s+|whole\s+|clear\s+)?"
        rf"(?P<what>pawn|piece|exchange|knight|bishop|rook|queen)s?\s+(?P<way>up|ahead|down|behind)\b(?!\s+(?:a|an|the|for|but))",
        readers.read_ahead,
    ),
    _form(
        rf"\b{SIDE}{IS}(?P<way>up|down)\s+(?P<count>a|an|the|one|two|three|four)\s+(?:full\s+|whole\s+|clear\s+)?"
        rf"(?P<what>pawn|piece|exchange|knight|bishop|rook|queen)s?\b(?!\s+(?:for|and))",
        readers.read_ahead,
    ),
    _form(
        rf"\b{SIDE}\s+(?:now\s+)?has\s+(?P<count>an|one|two)\s+(?P<way>extra)\s+(?P<what>pawn|piece|exchange)s?\b",
        readers.read_ahead,
    ),
    _form(
        rf"{SUBJECT}\s*(?:is\s+)?(?:now\s+|also\s+|again\s+|finally\s+|simply\s+|just\s+|decides\s+to\s+)*"
        rf"(?:captures|capturing|capture|takes|taking)\s+(?:on\s+)?{target('one')}",
        readers.read_takes,
    ),
    _form(
        rf"^(?:and\s+)?(?P<by_who>white|black)\s+(?:now\s+|also\s+|simply\s+|finally\s+)*"
        rf"(?P<verb>wins|loses)\s+{piece('one')}(?=\s*[.!,]|\s+and|\s+on\s+the\s+next)",
        readers.read_wins,
    ),
    _form(rf"\bmaterial{IS}{NOT}(?:even|equal|level|balanced)\b", readers.read_even),
    _form(
        rf"\b{SIDE}\s+(?:now\s+|still\s+)?has\s+(?:only\s+)?(?P<count>two|three|four|five|six)\s+"
        rf"(?P<kind>pawn|knight|bishop|rook|queen)s\b",
        readers.read_counts,
    ),
    _form(
        rf"\b{SIDE}{IS}{HOW}(?P<how>winning|won|lost|losing|better|worse)\b"
        rf"(?!\s+(?:a|an|the|one|two|material|his|off|placed|developed|time|tempo|chances|to|for|in|at|on|with|by|back|prepared|equipped|than))",
        readers.read_standing,
    ),
    _form(
        rf"\b{SIDE}\s+(?:now\s+|still\s+|already\s+)?has\s+(?:now\s+)?a\s+(?:very\s+)?"
        rf"(?P<how>winning|won|lost|decisive|clear|big|large|huge|significant)\s+"
        rf"(?:position|advantage|endgame|ending)\b(?!\s+(?:in|of|on|over))",
        readers.read_standing,
    ),
    _form(
        rf"^(?:and\s+)?(?:now\s+)?{SIDE}\s+(?:now\s+|also\s+|easily\s+|simply\s+|again\s+)*(?P<how>wins|loses)\s*[!.]",
        readers.read_standing,
    ),
    _form(
        rf"\b(?:the\s+)?(?:position|endgame|ending){IS}{HOW}(?:equal|level|balanced|drawn|a\s+draw)\b",
        readers.read_equal,
    ),
    _form(
        r"^(?:and\s+)?(?:white|black)\s+(?:also\s+|is\s+(?:just\s+)?in\s+time\s+to\s+)?"
        r"(?:makes?\s+a\s+draw|draws|saves?\s+the\s+draw)[!.]",
        readers.read_equal,
    ),
    _form(
        rf"\b(?:the\s+|this\s+)?(?:position|endgame|ending){IS}{HOW}(?P<how>winning|won|lost|better)\s+for\s+{SIDE}\b",
        readers.read_standing,
    ),
    _form(
        r"^(?:this\s+is\s+|it\s+is\s+|it's\s+)(?:now\s+)?(?:a\s+)?(?:check)?mate\s+in\s+(?P<count>\w+)\b",
        readers.read_mate_in,
    ),
    _form(
        rf"\b{SIDE}\s+(?:to\s+(?:move|play)\s+and\s+)?(?:can\s+)?(?:(?:to\s+)?mates?|has\s+(?:a\s+)?mate)\s+in\s+(?P<count>\w+)\b(?!\s+(?:line|variation))",
        readers.read_mate_in,
    ),
    _form(
        rf"\b{SIDE}(?:'s|\s+(?:(?:now|still|already|also)\s+)*(?:has|owns|possesses|enjoys)"
        rf"(?:\s+(?:now|still|already|also|got|obtained|created))*(?:\s+{COUNT})?)\s+{PAWNS}{WHERE}",
        readers.read_pawn,
    ),
    _form(
        rf"\bthe\s+(?:(?P<whose>white|black)\s+)?{PAWNS}{WHERE}",
        readers.read_pawn,
    ),
    _form(
        rf"\bthere(?:\s+is|'s)\s+(?:(?:now|also)\s+)?{COUNT}\s+(?:(?P<whose>white|black)\s+)?{PAWNS}{WHERE}",
        readers.read_pawn,
    ),
    _form(
        rf"\b(?:(?P<whose>white|black)(?:'s)?\s+)?(?:(?P<file>(?-i:[a-h]))-|(?P<first>{SQUARE})[-\s])?"
        rf"pawn(?P<all>s)?{WHERE}{IS}{NOT}(?:{COUNT}\s+)?{QUALITY}(?P<trait>passed|isolated|doubled)\b(?:\s+pawns?)?",
        readers.read_pawn,
    ),
    _form(
        r"\b(?:the\s+|an?\s+)?(?P<half>(?:half|semi)-)?open\s+(?P<file>(?-i:[a-h]))-file\b",
        readers.read_file,
    ),
    _form(
        rf"\b(?P<file>(?-i:[a-h]))-file{IS}{NOT}(?P<half>(?:half|semi)-)?open\b", readers.read_file
    ),
    _form(
        rf"\b{SIDE}\s+has\s+(?:now\s+)?(?:the\s+(?:bishop\s+pair|pair\s+of\s+bishops|two\s+bishops))\b",
        readers.read_bishops,
    ),
    _form(
        r"\bbishops\s+of\s+(?:different|opposite|opposing)\s+colou?rs?\b|\bopposite[-\s]colou?red\s+bishops\b",
        readers.read_bishops,
    ),
    _form(
        r"\bhas\s+only\s+(?P<count>one|two|three)\s+(?:legal|possible)\s+moves?\b",
        readers.read_only,
        near=False,
    ),
    _form(
        rf"(?:\b(?P<by_who>white|black)\s+(?:now\s+|also\s+|still\s+|again\s+)*|,\s*|^)"
        rf"threaten(?:s|ing)\s+{SAN}(?P<mates>\s+(?:check)?mate\b)?(?!\w|-|\s+(?:and|followed|then|or))",
        readers.read_threat,
        moves=True,
    ),
    _form(
        rf"\b(?P<by_who>white|black)\s+can(?P<no>not|'t)?\s+(?:now\s+|also\s+)?play\s+{SAN}(?P<mates>#)?"
        r"(?!\w|-|\s+(?:because|due|as|since|for|or))",
        readers.read_possible,
        moves=True,
    ),
    _form(
        rf"^{SAN}\s+is\s+(?:(?P<no>not\s+(?:legal|possible)|illegal|impossible)|(?P<mates>(?:check)?mate)|legal|possible)\b",
        readers.read_possible,
        moves=True,
    ),
    _form(
        r"(?:\b(?P<by_who>white|black)\s+(?:now\s+|also\s+|still\s+)*|,\s*|^|\band\s+)"
        r"threaten(?:s|ing)\s+(?:a\s+)?(?:check)?mate\b",
        readers.read_threat_of_mate,
        near=False,
    ),
)


# --- grammar --------------------------------------------------------------------------------------
#
# Reads a sentence into statements: what is understood for certain, and nothing else.
#
# A sentence that is conditional, past or a question says nothing certain of the position, nor does
# one in which other moves come first.


# Words that make a sentence a guess, a wish, a rule, a story or a question.
HEDGES = re.compile(
    r"\b(?:if|would|could|should|might|may|maybe|perhaps|probably|unless|suppos\w+|imagin\w+|assum\w+|"
    r"were|was|had|did|didn't|hop(?:e[ds]?|ing)|wish\w*|instead|otherwise|whether|almost|nearly|"
    r"seem\w*|appear\w*|looks?|looked|potential\w*|possibl\w+|usual\w*|often|normal\w*|general\w*|"
    r"typical\w*|sometimes|always|ever|never|example|e\.g|such as|like|idea|plan\w*|hardly|"
    r"went|played|came|took|thought|felt|think|believe|guess|want\w*|tried|supposed|theor\w+|rule|"
    r"when(?:ever)?|once|until|till|before|unlike|compare\w*|imagined|anyone|someone|both players|"
    r"principle|known as|called|neither|nor|either|any|some|many|most|every|each|rather|too|enough|"
    r"nothing|nobody|game|games|puzzle|study|variation|variations|line|lines|main|pretend\w*|"
    r"has to|have to|merely|"
    r"previous\w*|earlier|original\w*|start(?:ed|ing)?|diagram)\b|\?|\bas in\b",
    re.IGNORECASE,
)
# Before a statement: it is of another time, or of somebody's intention.
BEFORE = re.compile(
    r"\b(?:after|then|will|shall|won't|try(?:ing)?|tries|allow\w*|lets?|prevent\w*|"
    r"avoid\w*|so that|"
    r"in order|intend\w*|aim\w*|threat\w*|need\w*|going to|next|soon|later|eventually|without|"
    r"because of|in case|can|can't|cannot|must|to|for|forc\w+|prepar\w+|stops?|stopping|"
    r"instead of|make[s]?|making|gives?|giving|leav\w+|follow\w*|lead\w*|about|renews?|"
    r"the threat|along with|with|because|by|from|since|due|despite|as|than|not|no longer|"
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
CLAUSE = re.compile(r"[;:]|,\s+(?:but|so|and|which|although|though|while|since)\b|\s-\s")


class Claimed(NamedTuple):
    """A statement, or its opposite, and where it is in the sentence."""

    statement: Statement
    positive: bool
    start: int
    end: int
    near: bool = True  # a position before or after may be meant


class Reading(NamedTuple):
    """What a sentence says, and whether it leads away from the position of its comment."""

    claims: tuple[Claimed, ...] = ()
    away: bool = False


def read(sentence: str, context: Context) -> Reading:
    """The statements of a sentence about the position that its comment belongs to."""
    moves = [match for match in PLAYED.finditer(sentence) if not _is(match[0], context.san)]
    elsewhere = bool(ELSEWHERE.search(sentence))
    away = elsewhere or len(moves) > 1 or any(move[0][0].isdigit() for move in moves)
    if elsewhere or sentence.rstrip("\"')").endswith(("?", ":", "...")):
        return Reading((), away or bool(moves))
    claims = []
    for form in FORMS:
        if moves and not form.moves:
            continue
        for match in form.pattern.finditer(sentence):
            if _is_hedged(sentence, match) or (form.moves and len(moves) > 1):
                continue
            near = form.near and not _is_of_the_move(match, context)
            claims += [
                Claimed(statement, positive, *match.span(), near)
                for statement, positive in form.read(Hit(match, context))
            ]
    return Reading(tuple(claims), away or (bool(moves) and not claims))


def _is_of_the_move(match: re.Match[str], context: Context) -> bool:
    """Whether a statement is about the move that was made, and no other."""
    doer = (match.groupdict().get("by_it") or "").lower()
    return context.mover is not None and doer.startswith(("it", "this"))


def _is_hedged(sentence: str, match: re.Match[str]) -> bool:
    """Whether the words around a statement make it one about another time."""
    start, clause = match.start(), CLAUSE.search(sentence, match.end())
    if HEDGES.search(sentence, 0, clause.start() if clause else len(sentence)):
        return True
    before = sentence[max(0, start - 60) : start]
    before = before if before.endswith(" ") or not before else before + " "
    return bool(BEFORE.search(before) or BEHIND.search(sentence[match.end() : match.end() + 30]))


def _is(text: str, san: str) -> bool:
    """Whether a move in a text is a certain one, whatever number and marks it has."""
    return bool(san) and re.sub(r"^[\d.\s]+|[+#!?]+$", "", text) == san.rstrip("+#")


_AFTER = re.compile(
    r"^(?:and\s+)?after\s+(?P<moves>.+?)\s*,?\s+(?=(?:white|black|the|it)\b)", re.IGNORECASE
)


def variation(sentence: str) -> tuple[list[str], str]:
    """The moves after which a sentence says something, and the rest of it; none if it has none."""
    match = _AFTER.match(sentence[:300])
    if match is None:
        return [], sentence
    words = re.sub(r"\d{1,3}\s?\.{1,3}|\.{3}|,|\band\b|[!?]", " ", match["moves"]).split()
    return words, sentence[match.end() :]
