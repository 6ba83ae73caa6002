"""The ways in which people say something of a position: patterns, and how each is read.

A pattern that matches gives statements; `grammar` decides by the words around whether they count.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kibitz.comment.check import readers
from kibitz.comment.check.readers import KIND, LAST, SIDE, SQUARE, SUBJECT, Reader, piece, target


class Form(NamedTuple):
    """A way to say something: the pattern, how it is read, and what may be around it."""

    pattern: re.Pattern[str]
    read: Reader
    moves: bool = False  # other moves may be named in the sentence
    near: bool = True  # it may be meant of the position before, or of the next
    sure: bool = False  # the pattern sees to the words around itself


def form(
    pattern: str, read: Reader, *, moves: bool = False, near: bool = True, sure: bool = False
) -> Form:
    """A form whose pattern matches letters of both cases."""
    return Form(re.compile(pattern, re.IGNORECASE), read, moves, near, sure)


IS = r"\s+(?:is|are|stands?|remains?)\s+(?:(?:now|also|still|already|currently|both)\s+)?"
HOW = (
    r"(?:(?:roughly|approximately|about|fairly|relatively|dynamically|materially|more\s+or\s+less|clearly|much|slightly|completely|totally|simply|already|now|just|easily|definitely|still"
    r"|absolutely|obviously|strategically|theoretically|a\s+(?:little|bit|lot)|far|even)\s+)*"
)
NOT = r"(?P<no>not\s+)?"
TO_PIECE = (
    r"(?:\s+(?:to|against)\s+(?:(?:the|his|its|her|their|(?:white|black)'s)\s+)"
    rf"(?:(?:white|black)\s+)?(?P<behind>{KIND})\b(?:\s+on\s+{SQUARE})?)?"
)
AIMS = (
    r"target(?:s|ing)?|eye(?:s|ing)?|(?:is\s+)?(?:aim|point|look)(?:s|ed|ing)?\s+at|bear(?:s|ing)?\s+down\s+on"
    r"|pressur(?:es?|ing)|(?:put|exert)(?:s|ting|ing)?\s+pressure\s+on"
)
BY = r"(?!\s+(?:only\s+)?(?:once|twice|by|three|two)\b)"  # a form of its own
COUNT = r"(?P<count>an?|the|one|no|two|three|four)"
# "A file" is any, "an a-file" is one.
FILE = r"(?:(?P<file>(?-i:[a-h])(?=-)|(?-i:[b-h])(?=\s))[-\s]file)"
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
    form(rf"\b{piece('p')}", readers.read_stands),
    form(
        rf"\b{piece('p')}{IS}{NOT}(?:placed\s+|(?:un|not\s+)developed\s+)?(?:on|at)\s+"
        rf"(?P<square>{SQUARE})(?:\s+and\s+(?P<second>{SQUARE})(?![\w-]))?",
        readers.read_placed,
    ),
    form(
        rf"\b{SIDE}\s+(?:now\s+|still\s+|also\s+)?has\s+(?:(?:a|the|one|two|his|her|its)\s+)?"
        rf"(?P<kind>{KIND})s?\s+(?:on|at)\s+(?P<square>{SQUARE})(?:\s+and\s+(?P<second>{SQUARE})(?![\w-]))?",
        readers.read_placed,
    ),
    form(
        rf"{SUBJECT}\s*(?:is\s+|are\s+)?(?:now\s+|also\s+|both\s+|still\s+|immediately\s+)*"
        rf"(?:attack(?:s|ing)|hits|hitting|(?P<forks>fork(?:s|ing)))\s+(?:both\s+)?"
        rf"{target('one')}(?:\s*(?:and|,)\s*{target('two')}{LAST})?",
        readers.read_attacks,
    ),
    form(
        rf"{SUBJECT}\s*(?:is\s+|are\s+)?(?:now\s+|also\s+|still\s+|directly\s+)*(?P<aims>{AIMS})\s+"
        rf"{target('one')}",
        readers.read_attacks,
    ),
    form(
        rf"\b{piece('by')}\s+and\s+{piece('also')}\s+(?:are\s+)?(?:now\s+)?(?:both\s+)?"
        rf"(?:attack(?:ing)?|(?P<aims>{AIMS})|(?P<guards>(?:defend|protect|guard|control|cover)(?:ing)?))\s+"
        rf"{target('one')}",
        readers.read_both_attack,
    ),
    form(
        rf"{SUBJECT}\s*(?:is\s+)?(?:now\s+|also\s+)*threaten(?:s|ing)\s+{piece('one')}",
        readers.read_attacks,
    ),
    form(
        rf"{SUBJECT}\s*(?:is\s+|are\s+)?(?:now\s+|also\s+|still\s+)*"
        rf"(?:(?:protect|defend|guard|controll?|cover)(?:s|ing)|(?P<supports>support(?:s|ing)))\s+{target('one')}",
        readers.read_guards,
    ),
    form(
        rf"\b{piece('p')}{IS}{NOT}(?P<only>only\s+)?(?:being\s+)?(?:attacked|under\s+attack)\b{BY}",
        readers.read_attacked,
    ),
    form(
        rf"\b{piece('p')}{IS}{NOT}(?:absolutely\s+)?pinned\b{TO_PIECE}(?:\s+by\s+{piece('by')})?",
        readers.read_pinned,
    ),
    form(rf"\bpinned\s+{piece('p')}", readers.read_pinned),
    form(
        rf"{SUBJECT}\s*(?:is\s+)?(?:now\s+|also\s+)*pin(?:s|ning)\s+{piece('one')}{TO_PIECE}",
        readers.read_pins,
    ),
    form(
        rf"\b{piece('p')}{IS}{NOT}(?:left\s+)?(?P<state>hanging|en\s+prise|undefended|unprotected"
        rf"|unguarded|loose|(?:well[-\s])?(?:protected|defended|guarded))\b{BY}",
        readers.read_guarded,
    ),
    form(
        rf"\b{piece('p')}\s+has\s+(?P<no>)(?P<state>no)\s+(?:defenders?|protection)(?=\s*[.,;!]|\s+and\b|$)",
        readers.read_guarded,
    ),
    form(
        rf"\b{piece('p')}\s+(?P<no>)(?P<state>hangs)(?=\s*[.,;!]|\s+and\b|$)", readers.read_guarded
    ),
    form(
        rf"\b(?:{SIDE}(?:'s)?\s+)?(?:unguarded|undefended|unprotected)\s+{piece('p')}",
        readers.read_bare,
    ),
    form(
        rf"(?P<by_it>^this(?:\s+move)?)\s+(?P<aims>strikes\s+at|challenges|goes\s+after|turns\s+on"
        rf"|puts\s+the\s+question\s+to)\s+{target('one')}",
        readers.read_attacks,
    ),
    form(
        rf"^this(?:\s+move)?\s+(?:leaves\s+{SIDE}\s+with|gives\s+(?P<whose>white|black)|creates)\s+{COUNT}\s+{PAWNS}{WHERE}",
        readers.read_pawn,
    ),
    form(rf"\b(?P<side>white|black){IS}{NOT}in\s+check\b(?!mate)", readers.read_condition("check")),
    form(
        r"^(?P<no>neither|no)\s+(?:king|side|player)\s+is\s+in\s+check(?=\s*[.,;!]|\s+(?:here|now)\b|$)",
        readers.read_condition("check"),
        near=False,
        sure=True,
    ),
    form(
        r"^there\s+is\s+(?P<no>no)\s+check(?=\s*[.!]|\s+(?:here|now|on\s+the\s+board|in\s+(?:this|the)\s+position)\b|$)",
        readers.read_condition("check"),
        near=False,
    ),
    form(
        rf"\b(?P<side>white|black)(?:'s\s+king)?{IS}{NOT}in\s+(?:a\s+)?double[-\s]check\b",
        readers.read_condition("double check"),
    ),
    form(
        rf"\b(?P<side>white|black)(?:'s)?\s+king(?:\s+on\s+{SQUARE})?{IS}{NOT}in\s+check\b(?!mate)",
        readers.read_condition("check"),
    ),
    form(r"^(?:with\s+)?check[!.]", readers.read_condition("check")),
    form(
        r"^(?:a\s+|it\s+is\s+(?:a\s+)?)?double[-\s]check\b", readers.read_condition("double check")
    ),
    form(
        rf"^(?:and\s+)?(?:now\s+)?(?P<side>white|black)(?:'s\s+king)?{IS}{NOT}(?:check)?mated[!.]",
        readers.read_condition("mate"),
    ),
    form(
        r"^(?:and\s+)?(?:(?:(?:it|this(?:\s+move)?)\s+(?:is|delivers|gives)\s+|it's\s+)?(?:check)?mate"
        r"|(?:it|this(?:\s+move)?)\s+(?:check)?mates)(?=\s*(?:[!.,:]|$)|\s+and\b)",
        readers.read_condition("mate"),
    ),
    form(
        rf"^(?:and\s+)?(?P<side>white|black){IS}{NOT}stalemated[!.]",
        readers.read_condition("stalemate"),
    ),
    form(
        r"^(?:and\s+)?(?:it\s+is\s+|it's\s+)?(?:a\s+)?stalemate[!.]",
        readers.read_condition("stalemate"),
    ),
    form(
        rf"^(?:now\s+|here\s+)?{SIDE}\s+(?:is\s+)?to\s+(?:move|play)(?=\s*[.,!;]|\s+(?:and|in|here|now)\b|$)",
        readers.read_turn,
        near=False,
    ),
    form(
        rf"\b(?:it(?:\s+is|'s)\s+(?:now\s+)?{SIDE}'s\s+(?:turn|move)"
        r"|(?P<by_who>white|black)\s+has\s+the\s+move)\b",
        readers.read_turn,
        near=False,
    ),
    form(
        rf"{SUBJECT}\s*(?:is\s+)?(?:now\s+|also\s+)*(?:gives?|giving|delivers?)\s+(?:a\s+)?check"
        r"(?:\s+to\s+(?:the\s+(?:(?:white|black)\s+)?|(?:white|black)'s\s+)king\b)?(?=\s*[.!,;]|\s+(?:and|but)\b|$)",
        readers.read_gives_check,
    ),
    form(
        r"(?P<by_it>^(?:this(?:\s+move)?|it))\s+is\s+(?:a\s+)?check(?=\s*[.!,]|$)",
        readers.read_gives_check,
    ),
    form(
        rf"\b{SIDE}\s+has\s+(?:now\s+|already\s+|just\s+)?(?P<verb>won|lost)\s+(?:a|an|the|one|his|her|their)\s+(?P<what>{KIND})"
        r"(?=\s*[.!,]|\s+for\b|$)",
        readers.read_has_won,
    ),
    form(
        rf"\b{SIDE}{IS}(?:temporarily\s+)?(?P<only>only\s+|just\s+|exactly\s+)?(?P<count>a|an|the|one|two|three|four)\s+(?:full\s+|whole\s+|clear\s+)?"
        rf"(?P<what>pawn|piece|exchange|knight|bishop|rook|queen)s?\s+(?P<way>up|ahead|down|behind|to\s+the\s+good)\b(?!\s+(?:a|an|the|for|but))",
        readers.read_ahead,
    ),
    form(
        rf"\b{SIDE}{IS}(?P<way>up|down)\s+(?P<only>only\s+|just\s+|exactly\s+)?(?P<count>a|an|the|one|two|three|four)\s+(?:full\s+|whole\s+|clear\s+)?"
        rf"(?P<what>pawn|piece|exchange|knight|bishop|rook|queen)s?\b(?!\s+(?:for|and))",
        readers.read_ahead,
    ),
    form(
        rf"\b{SIDE}\s+(?:now\s+)?has\s+(?P<count>an|one|two)\s+(?P<way>extra)\s+(?P<what>pawn|piece|exchange)s?\b",
        readers.read_ahead,
    ),
    form(
        rf"{SUBJECT}\s*(?:is\s+)?(?:now\s+|also\s+|again\s+|finally\s+|simply\s+|just\s+|decides\s+to\s+)*"
        rf"(?:captures|capturing|capture|takes|taking)\s+(?:on\s+)?{target('one')}",
        readers.read_takes,
    ),
    form(
        rf"^(?:and\s+)?(?P<by_who>white|black)\s+(?:now\s+|also\s+|simply\s+|finally\s+)*"
        rf"(?P<verb>wins|loses)\s+{piece('one')}(?:\s+on\s+the\s+next\s+move)?(?=\s*[.!,]|\s+and|$)",
        readers.read_wins,
    ),
    form(
        r"^(?P<by_it>this(?:\s+move)?|the\s+move)\s+(?:simply\s+|also\s+|just\s+)?"
        rf"(?P<verb>wins|loses|hangs|drops|blunders)\s+{piece('one')}"
        r"(?=\s*[.!,]|\s+and|\s+for\s+(?:free|nothing)|\s+by\s+force|$)",
        readers.read_wins,
        near=False,
    ),
    form(
        rf"^(?:and\s+)?(?:now\s+)?{SIDE}\s+(?:checkmates|mates)(?P<count>)(?=\s*[.!]|$)",
        readers.read_mate_in,
    ),
    form(
        r"^(?:excellent[,!]\s+)?(?:now\s+)?(?P<by_it>it|this(?:\s+move)?)"
        r"(?:'s|\s+is|(?P<forces>\s+leads\s+to|\s+forces|\s+begins|\s+starts|))\s+(?:a\s+)?(?:forced\s+)?"
        r"(?:check)?mates?\s+in\s+(?P<count>\w+)\b(?:\s+moves?\b)?",
        readers.read_mate_in,
    ),
    form(
        rf"\b(?:the\s+)?material(?:\s+(?:count|balance))?{IS}{NOT}(?:completely\s+|exactly\s+|perfectly\s+)?"
        r"(?:even|equal|level|balanced)\b",
        readers.read_even,
    ),
    form(
        rf"\b{SIDE}\s+(?:now\s+|still\s+)?has\s+(?:only\s+)?(?P<count>two|three|four|five|six)\s+"
        rf"(?P<kind>pawn|knight|bishop|rook|queen)s\b(?!\s+(?:on\s+the|for)\b)",
        readers.read_counts,
    ),
    form(
        rf"\b{SIDE}{IS}(?P<way>up|ahead\s+(?:on|in)|down|behind\s+(?:on|in))\s+(?P<what>material)\b",
        readers.read_ahead,
    ),
    form(
        rf"\b{SIDE}\s+has\s+(?:a\s+(?:slight\s+|small\s+|clear\s+|big\s+|large\s+|significant\s+)?"
        r"(?P<what>material)\s+(?:advantage|edge|lead)|more\s+material)(?P<way>)\b",
        readers.read_ahead,
    ),
    form(
        rf"\b{SIDE}{IS}{HOW}(?P<how>winning|won|lost|losing|better|worse)\b"
        rf"(?!\s+(?:a|an|the|one|two|material|his|off|placed|developed|time|tempo|chances|to|for|in|at|on|with|by|back|prepared|equipped|than))",
        readers.read_standing,
    ),
    form(
        rf"\b{SIDE}\s+(?:now\s+|still\s+|already\s+)?has\s+(?:now\s+)?a\s+(?:very\s+)?"
        rf"(?P<how>winning|won|lost|decisive|clear|big|large|huge|significant)\s+"
        rf"(?:position|advantage|endgame|ending)\b(?!\s+(?:in|of|on|over))",
        readers.read_standing,
    ),
    form(
        rf"\b{SIDE}\s+(?:now\s+|still\s+|already\s+)?(?:has|enjoys|holds)\s+(?:now\s+)?"
        r"(?:a\s+(?:very\s+)?(?:slight|small|minimal|tiny|modest)\s+|an\s+|the\s+)"
        r"(?:edge|advantage|pull|plus)\b(?!\s+(?:in|of|on|over|with|when|that))",
        readers.read_standing,
    ),
    form(
        rf"^(?:and\s+)?(?:now\s+)?{SIDE}\s+(?:now\s+|also\s+|easily\s+|simply\s+|again\s+)*(?P<how>wins|loses)\s*[!.]",
        readers.read_standing,
    ),
    form(
        rf"^(?:and\s+)?{SIDE}\s+to\s+(?:move|play)\s+and\s+(?P<how>win|draw)s?(?=\s*[.!]|$)",
        readers.read_task,
        near=False,
    ),
    form(
        rf"\b(?:the\s+)?(?:position|endgame|ending){IS}{HOW}(?:equal|level|balanced|even|drawn|a\s+draw)\b",
        readers.read_equal,
    ),
    form(
        r"^(?:and\s+)?(?:white|black)\s+(?:also\s+|is\s+(?:just\s+)?in\s+time\s+to\s+)?"
        r"(?:makes?\s+a\s+draw|draws|saves?\s+the\s+draw)[!.]",
        readers.read_equal,
    ),
    form(
        rf"\b(?:the\s+|this\s+)?(?:position|endgame|ending){IS}{HOW}(?P<how>winning|won|lost|better)\s+for\s+{SIDE}\b",
        readers.read_standing,
    ),
    form(
        r"^(?:this\s+is\s+|it\s+is\s+|it's\s+)(?:now\s+)?(?:a\s+)?(?:check)?mate\s+in\s+(?P<count>\w+)\b(?:\s+moves?\b)?",
        readers.read_mate_in,
    ),
    form(
        rf"\b{SIDE}\s+(?:to\s+(?:move|play)\s+and\s+)?(?:can\s+)?(?:(?:to\s+)?mates?|has\s+(?:a\s+)?(?:forced\s+)?mate)\s+in\s+(?P<count>\w+)\b(?!\s+(?:line|variation))",
        readers.read_mate_in,
    ),
    form(
        rf"\b{SIDE}(?:'s|\s+(?:(?:now|still|already|also)\s+)*(?:has|owns|possesses|enjoys)"
        rf"(?:\s+(?:now|still|already|also|got|obtained|created))*(?:\s+{COUNT})?)\s+{PAWNS}{WHERE}",
        readers.read_pawn,
    ),
    form(
        rf"\bthe\s+(?:(?P<whose>white|black)\s+)?{PAWNS}{WHERE}",
        readers.read_pawn,
    ),
    form(
        rf"\bthere(?:\s+is|'s)\s+(?:(?:now|also)\s+)?{COUNT}\s+(?:(?P<whose>white|black)\s+)?{PAWNS}{WHERE}",
        readers.read_pawn,
    ),
    form(
        rf"\b(?P<none>(?:no|none\s+of(?:\s+the)?)\s+)?(?:(?P<whose>white|black)(?:'s)?\s+)?(?:(?P<file>(?-i:[a-h]))-|(?P<first>{SQUARE})[-\s])?"
        rf"pawn(?P<all>s)?{WHERE}{IS}{NOT}(?:{COUNT}\s+)?{QUALITY}(?P<trait>passed|isolated|doubled)\b(?:\s+pawns?)?",
        readers.read_pawn,
    ),
    form(
        rf"\b(?:{SIDE}(?:'s|\s+has)\s+)?(?:the\s+|an?\s+)?(?P<half>(?:half|semi)[-\s])?open\s+{FILE}\b",
        readers.read_file,
    ),
    form(
        rf"\b(?:the\s+)?{FILE}{IS}{NOT}(?:completely\s+|fully\s+)?(?P<half>(?:half|semi)[-\s])?open\b(?:\s+for\s+{SIDE}\b)?",
        readers.read_file,
    ),
    form(
        rf"\b{SIDE}\s+(?:now\s+|still\s+)?has\s+(?:now\s+)?(?:the\s+(?:bishop\s+pair|pair\s+of\s+bishops|two\s+bishops))\b",
        readers.read_bishops,
    ),
    form(
        rf"\b{SIDE}'s\s+(?P<of>passed|isolated|doubled)\s+(?:(?P<file>(?-i:[a-h]))-)?pawns?{IS}{NOT}(?P<trait>passed|isolated|doubled)\b(?P<quality>)",
        readers.read_pawn,
    ),
    form(
        rf"\b{SIDE}'s\s+pawns{IS}(?P<quality>both|all)\s+(?P<trait>passed|isolated|doubled)\b",
        readers.read_pawn,
    ),
    form(
        rf"^(?P<both>both\s+(?:sides|players|white\s+and\s+black)\s+have|each\s+side\s+has)\s+(?:{COUNT}\s+)?{PAWNS}(?=\s*[.,;]|\s+and\b|$)",
        readers.read_pawn,
        sure=True,
    ),
    form(
        rf"\b(?:{SIDE}(?:'s)?|(?P<any>the))\s+passed\s+pawn{WHERE}{IS}{NOT}(?:protected|defended|guarded|supported)\s+(?P<quality>by\s+a|by\s+another)\s+(?P<trait>)pawn\b",
        readers.read_pawn,
    ),
    form(
        rf"\b{SIDE}\s+(?:(?:now|still|also)\s+)?has\s+an?\s+(?P<isolani>IQP|isolani)\b(?P<trait>)(?P<quality>)",
        readers.read_pawn,
    ),
    form(
        r"^both\s+(?P<both>sides|players)\s+have\s+(?:the\s+bishop\s+pair|both\s+bishops|(?:the\s+)?two\s+bishops)(?=\s*[.,;!]|\s+and\b|$)",
        readers.read_bishops,
        sure=True,
    ),
    form(
        r"^(?:(?:this|it)\s+is\s+an?\s+(?:ending|endgame|position)\s+with\s+|there\s+are\s+|the\s+|)"
        r"(?:bishops\s+(?:are\s+)?of\s+the\s+(?P<same>same)\s+colou?rs?|(?P<same_too>same)[-\s]colou?red\s+bishops)(?=\s*[.,;!]|\s+and\b|$)",
        readers.read_bishops,
        sure=True,
    ),
    form(
        r"\b(?:there\s+are\s+(?:now\s+)?|(?:the\s+)?)bishops\s+(?:are\s+)?of\s+(?:different|opposite|opposing)\s+colou?rs?\b"
        r"|\b(?:there\s+are\s+)?opposite[-\s]colou?red\s+bishops\b",
        readers.read_bishops,
    ),
    form(
        rf"(?:\b(?P<by_who>white|black)\s+(?:now\s+|also\s+|still\s+|again\s+)*|,\s*|^|^(?:this(?:\s+move)?|it)\s+)"
        rf"threaten(?:s|ing)\s+{SAN}(?P<mates>\s+(?:check)?mate\b)?(?!\w|-|[+#]|\s+(?:followed|then|or)\b)",
        readers.read_threat,
        moves=True,
    ),
    form(
        rf"(?:\b(?P<by_who>white|black)\s+(?:now\s+|also\s+)*|,\s*|^(?:this(?:\s+move)?|it)\s+)"
        rf"threaten(?:s|ing)\s+(?P<mates>(?:check)?mate)\s+(?:with|by)\s+(?:\d+\.+\s?)?{SAN}(?![\w-])",
        readers.read_threat,
        moves=True,
    ),
    form(
        rf"\b(?P<by_who>white|black)\s+can(?P<no>not|'t)?\s+(?:now\s+|also\s+)?play\s+{SAN}(?P<mates>#)?"
        r"(?!\w|-|\s+(?:because|due|as|since|for|or))",
        readers.read_possible,
        moves=True,
    ),
    form(
        rf"^{SAN}\s+is\s+(?:(?P<no>not\s+(?:legal|possible)|illegal|impossible)|(?P<mates>(?:check)?mate)|legal|possible)\b",
        readers.read_possible,
        moves=True,
    ),
    form(
        r"(?:\b(?P<by_who>white|black)\s+(?:now\s+|also\s+|still\s+)*|,\s*|^|\band\s+|^(?:this(?:\s+move)?|it)\s+)"
        r"threaten(?:s|ing)\s+(?:a\s+)?(?:check)?mate\b(?!\s+(?:with|by)\b)(?:\s+in\s+one(?:\s+move)?)?",
        readers.read_threat_of_mate,
        near=False,
    ),
)
