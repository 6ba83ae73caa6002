"""German nouns as texts bring them: in the four cases, with articles, as pronouns and stems.

A form is asked for behind a colon, by the word that a man's noun would have there:
{piece:der} Springer, {piece:den}, {piece:dem}, {piece:des}; {piece:er}, {piece:ihn};
{piece:welcher} and {piece:welchen} for the relative pronoun; {piece:vom}, {piece:beim};
{kind:einen}; {side:weiße}, {side:weißen} for the adjective of a side; {kind:stem} for compounds.
With a capital it begins a sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

CASES = ("der", "den", "dem", "des")
ADJECTIVES = ("weiße", "weißen", "weißer", "weißes", "weißem")
# Nominative, the other singular cases (accusative, dative, genitive), plural and its dative, stem.
NOUNS = {
    1: ("Bauer", "Bauern", "Bauern", "Bauern", "Bauern", "Bauern", "Bauern"),
    2: ("Springer", "Springer", "Springer", "Springers", "Springer", "Springern", "Springer"),
    3: ("Läufer", "Läufer", "Läufer", "Läufers", "Läufer", "Läufern", "Läufer"),
    4: ("Turm", "Turm", "Turm", "Turms", "Türme", "Türmen", "Turm"),
    5: ("Dame", "Dame", "Dame", "Dame", "Damen", "Damen", "Damen"),
    6: ("König", "König", "König", "Königs", "Könige", "Königen", "Königs"),
}
QUEEN, KING = 5, 6
NUMBERS = ("keine", "eine", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht")
# The same words for a woman's noun, and for several things.
FEMININE = dict(zip(CASES, ("die", "die", "der", "der"), strict=True)) | {
    "er": "sie",
    "ihn": "sie",
    "ihm": "ihr",
    "welcher": "die",
    "welchen": "die",
    "welchem": "der",
}
MASCULINE = {name: name for name in FEMININE} | {
    "welcher": "der",
    "welchen": "den",
    "welchem": "dem",
}
PLURAL = {"er": "sie", "ihn": "sie", "ihm": "ihnen"} | {
    "welcher": "die",
    "welchen": "die",
    "welchem": "denen",
}


class Phrase(str):
    """A text that has more forms than the one it is."""

    forms: Mapping[str, str]

    def __new__(cls, text: str, forms: Mapping[str, str]) -> Phrase:
        """A text and its forms by their names."""
        phrase = super().__new__(cls, text)
        phrase.forms = forms
        return phrase

    def __format__(self, name: str) -> str:
        """The form of a name; the text itself without one."""
        if not name:
            return str(self)
        if name in self.forms:
            return self.forms[name]
        form = self.forms[name[:1].lower() + name[1:]]
        return form[:1].upper() + form[1:]


def noun(kind: int, where: str = "") -> Phrase:
    """A kind of piece; with the article it may stand on a square."""
    words = FEMININE if kind == QUEEN else MASCULINE
    forms = {**words, "stem": NOUNS[kind][-1]}
    forms["einen"] = f"{'eine' if kind == QUEEN else 'einen'} {NOUNS[kind][1]}"
    for word, two in (("vom", "von der"), ("beim", "bei der")):
        forms[word] = f"{two if kind == QUEEN else word} {NOUNS[kind][2]}{where}"
    for case, form in zip(CASES, NOUNS[kind], strict=False):
        forms[case] = f"{words[case]} {form}{where}"
    return Phrase(NOUNS[kind][0], forms)


def unit(kind: int, square: str) -> Phrase:
    """A piece on its square."""
    phrase = noun(kind, "" if kind == KING else f" auf {square}")
    return Phrase(phrase.forms["der"], phrase.forms)


def plural(kind: int) -> Phrase:
    """Pieces of a kind."""
    return Phrase(NOUNS[kind][4], {"dem": NOUNS[kind][5], "stem": NOUNS[kind][6]})


def side(white: bool) -> Phrase:
    """A side, which has no article."""
    name = "Weiß" if white else "Schwarz"
    forms = dict.fromkeys(CASES, name) | {"des": f"von {name}"}
    stem = name.lower()
    return Phrase(name, forms | {word: stem + word.removeprefix("weiß") for word in ADJECTIVES})


def joined(texts: Sequence[str]) -> str:
    """A list in words: a, b und c; a clause before the last is ended by a comma."""
    if len(texts) < 2:
        return texts[0] if texts else ""
    phrases = [text for text in texts if isinstance(text, Phrase)]
    if len(phrases) < len(texts):
        comma = "," if any("," in text for text in texts[:-1]) else ""
        return f"{', '.join(texts[:-1])}{comma} und {texts[-1]}"
    forms = {}
    for case in CASES:
        each = [phrase.forms[case] for phrase in phrases]
        forms[case] = f"{', '.join(each[:-1])} und {each[-1]}"
    return Phrase(forms["der"], forms | PLURAL)


def haul(kinds: Sequence[int]) -> str:
    """Pieces that are won: ein Turm und zwei Bauern."""
    counted = sorted(Counter(kinds).items(), reverse=True)
    return joined([_counted(kind, count) for kind, count in counted])


def _counted(kind: int, count: int) -> Phrase:
    names = NOUNS[kind]
    if count > 1:
        number = NUMBERS[count] if count < len(NUMBERS) else str(count)
        many, dative = f"{number} {names[4]}", f"{number} {names[5]}"
        return Phrase(many, {"der": many, "den": many, "dem": dative, "des": f"von {dative}"})
    articles = ("eine", "eine", "einer", "einer") if kind == QUEEN else ()
    articles = articles or ("ein", "einen", "einem", "eines")
    each = [f"{article} {name}" for article, name in zip(articles, names, strict=False)]
    return Phrase(each[0], dict(zip(CASES, each, strict=True)))


def gift(lost: Sequence[int], won: Sequence[int]) -> str:
    """Material that is given: ein Springer für zwei Bauern."""
    if tuple(lost) == (4,) and tuple(won) in ((2,), (3,)):
        cases = {case: f"{FEMININE[case]} Qualität" for case in CASES}
        return Phrase(cases["der"], cases)
    gift = noun(QUEEN) if tuple(lost) == (QUEEN,) else haul(lost)
    end = f" für {haul(won):den}" if won else ""
    forms = {case: f"{gift:{case}}{end}" for case in CASES}
    return Phrase(forms["der"], forms)
