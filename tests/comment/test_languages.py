"""Every language says what English does, and German says it in German."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

import chess
import pytest

from kibitz.comment.annotate import comment_on
from kibitz.comment.claims.claim import Claim
from kibitz.comment.claims.lines.outlook import Names
from kibitz.comment.facts import Scene
from kibitz.comment.openings import TRAPS
from kibitz.comment.select.rank import FEATURES, kind_of
from kibitz.comment.words.english import ENGLISH
from kibitz.comment.words.german import GERMAN
from kibitz.comment.words.language import Language
from kibitz.comment.words.languages import LANGUAGES, language_of
from kibitz.comment.words.speaker import Speaker
from kibitz.core.errors import InputError
from kibitz.engine import Engine
from kibitz.position.board import Board
from tests.comment.test_features import CASES as OF_FEATURES
from tests.comment.test_features import scene as scene_of
from tests.comment.test_proofs import CASES as OF_CLAIMS

TABLES = ("predicates", "beginner", "faults", "turns", "story", "labels", "rules", "ordinals")
MOST_LACKING = 0.05  # of the keys of English: what is new there may be said here later
KINDS = range(1, 7)
UNITS = ("piece", "to", "by", "front", "behind", "guard", "target", "slider", "through")
HAULS = ((1,), (5,), (4, 1, 1), (3, 2), (5, 5), (2, 2, 1))
GIFTS = (((4,), (3,)), ((5,), ()), ((2,), (1, 1)), ((3,), (5,)))
ENGLISH_WORDS = re.compile(
    r"\b(the|and|of|is|which|with|on|for|to|pawns?|knights?|bishops?|rooks?|queens?|kings?|move|White|Black)\b"
)
WRONG = re.compile(
    "  |[{}]| [,.]|None|"
    r"\b(?:den|dem|des|ein|einen|einem|eines) Dame\b|"
    r"\b(?:die|eine|einer) (?:Springer|Läufer|Turm|König|Bauer|Bauern)\b(?! auf [a-h][1-8] und)|"
    r"\b(?:den|dem|des|einen|einem) Bauer\b|\b(?:der|ein) Bauern\b|\bdes (?:Springer|Turm|König)\b|"
    r"\b(?:für|gegen|durch|um) (?:der|dem|ein|einem|einer)\b|"
    r"\b(?:mit|von|bei|zu|aus) (?:den (?!benannten)|die|ein |eine |einen )|"
    r"\bvon dem\b|\bbei dem\b|\bzu dem\b"
)


def texts_of(language: Language) -> Iterator[tuple[str, str]]:
    """All texts of a language's sentences about moves and games, with their keys."""
    for name in ("predicates", "beginner", "faults", "turns", "story"):
        for key, forms in getattr(language, name).items():
            yield from ((f"{name} {key}", form) for form in forms)
    for name in ("played", "played_more", "played_but", "theory"):
        yield from ((name, form) for form in getattr(language, name))


def values_of(name: str, key: str) -> list[str]:
    """What may stand in the braces of a name, in German."""
    if name in UNITS:
        return [GERMAN.unit(kind, f"{'abcdefgh'[kind]}{kind}") for kind in KINDS]
    if name in ("targets", "pieces"):
        pairs = product(KINDS, KINDS)
        return [GERMAN.joined([GERMAN.unit(a, "b2"), GERMAN.unit(b, "c7")]) for a, b in pairs]
    if name in ("kind", "own", "taker"):
        return [GERMAN.pieces[kind] for kind in KINDS]
    if name == "kinds":
        return [GERMAN.plural(kind) for kind in KINDS]
    if name in ("mover", "other", "side", "winner", "loser"):
        return [*GERMAN.sides.values()]
    if name == "gift":
        return [GERMAN.gift(*one) for one in GIFTS]
    if name in ("won", "lost", "material", "against") or (name == "has" and "imbalance" in key):
        return [GERMAN.haul(kinds) for kinds in HAULS]
    if name.startswith("count"):
        return [GERMAN.number(3)]
    return ["2"]


def filled(key: str, form: str) -> Iterator[str]:
    """A text with everything that may stand in its braces, two names changing at a time."""
    names = [*dict.fromkeys(re.findall(r"\{([a-z]+\d?)", form))]
    values = {name: values_of(name, key) for name in names}
    first = {name: each[0] for name, each in values.items()}
    for one, other in product(names or [""], names or [""]):
        for chosen in product(values.get(one, [""]), values.get(other, [""])):
            slots = first | {one or "no": chosen[0], other or "no": chosen[1]}
            yield form.format("gewinnt", "fesselt", **slots)


def wrong_in(text: str) -> str:
    """What is no German in a text, as far as this test knows."""
    found = WRONG.search(text) or ENGLISH_WORDS.search(text)
    return found[0] if found else ""


@pytest.mark.parametrize("code", LANGUAGES)
def test_nearly_all_that_english_says_has_a_sentence(code: str) -> None:
    lacking = [
        f"{name} {key}"
        for name in TABLES
        for key in getattr(ENGLISH, name)
        if key not in getattr(LANGUAGES[code], name)
    ]
    count = sum(len(getattr(ENGLISH, name)) for name in TABLES)
    assert len(lacking) <= MOST_LACKING * count, lacking


@pytest.mark.parametrize(
    "text", ["einen Dame", "gegen dem Turm", "mit die Dame", "den Bauer", "a  b", "the rook", "{x}"]
)
def test_the_signs_of_wrong_german_are_seen(text: str) -> None:
    assert wrong_in(text)


def test_every_sentence_of_german_is_german_for_all_pieces_and_sides() -> None:
    count = 0
    for key, form in texts_of(GERMAN):
        for text in filled(key, form):
            assert not wrong_in(text), (key, text, wrong_in(text))
            count += 1
    assert count > 5000


def test_a_case_has_its_article_and_its_ending() -> None:
    forms = ("der", "den", "dem", "des", "er", "ihn", "welcher", "welchen", "vom", "beim", "stem")
    pawn, queen = GERMAN.unit(1, "e4"), GERMAN.unit(5, "d8")
    assert [f"{pawn:{form}}" for form in forms] == [
        *("der Bauer auf e4", "den Bauern auf e4", "dem Bauern auf e4", "des Bauern auf e4"),
        *("er", "ihn", "der", "den", "vom Bauern auf e4", "beim Bauern auf e4", "Bauern"),
    ]
    assert [f"{queen:{form}}" for form in forms] == [
        *("die Dame auf d8", "die Dame auf d8", "der Dame auf d8", "der Dame auf d8"),
        *("sie", "sie", "die", "die", "von der Dame auf d8", "bei der Dame auf d8", "Damen"),
    ]
    assert f"{GERMAN.haul((4, 1, 1)):dem}" == "einem Turm und zwei Bauern"
    assert f"{GERMAN.haul((4, 4)):dem}" == "zwei Türmen"
    both = GERMAN.joined([GERMAN.unit(6, "g8"), queen])
    assert f"{both:den}, {both:welchen}" == "den König und die Dame auf d8, die"
    assert f"{GERMAN.sides[False]:weißen}" == "schwarzen"


def test_moves_have_german_letters() -> None:
    english, german = "12.Nxe5 Qd7 13.O-O-O b8=Q+ 14.Kf2", "12.Sxe5 Dd7 13.0-0-0 b8=D+ 14.Kf2"
    assert GERMAN.notation(english) == german
    assert ENGLISH.notation("12.Nxe5") == "12.Nxe5"


def test_openings_have_german_names_or_none() -> None:
    assert GERMAN.opening("Sicilian Defense: Najdorf Variation, English Attack") == (
        "Sizilianische Verteidigung, Najdorf-Variante"
    )
    assert GERMAN.opening("King's Gambit Accepted") == "Angenommenes Königsgambit"
    assert GERMAN.opening("Hippopotamus Defense") == ""
    assert all(GERMAN.opening(name) for name, _ in TRAPS)
    board = chess.Board()
    for name, german in (("Sicilian Defense", "Sizilianische"), ("Hippopotamus Defense", "")):
        scene = Scene(board, chess.Move.from_uci("e2e4"), ())
        told = Speaker("club", GERMAN).sentence_of(scene, Names(name))
        assert german in told
        assert bool(told) is bool(german)


def said_of(claim: Claim, scene: Scene, speaker: Speaker) -> Iterator[str]:
    """A claim in all its forms."""
    for _ in range(6):
        yield speaker.sentence_of(scene, claim)


@pytest.mark.parametrize("level", ["beginner", "club"])
def test_every_claim_is_said_in_german(level: str) -> None:
    speaker = Speaker("beginner" if level == "beginner" else "club", GERMAN)
    for claim, scene, _ in OF_CLAIMS:
        for text in said_of(claim, scene, speaker) if is_sentence(claim, scene) else ():
            assert text or lacks(claim), claim
            assert not wrong_in(text), (claim, text, wrong_in(text))


@pytest.mark.parametrize("language", [ENGLISH, GERMAN])
def test_words_for_beginners_name_nothing_that_a_form_of_the_claim_lacks(
    language: Language,
) -> None:
    """They stand for all forms of a claim for which beginners have no words of their own."""

    def named(texts: Sequence[str]) -> list[set[str]]:
        return [set(re.findall(r"{(\w+)", text)) for text in texts]

    for name, texts in language.beginner.items():
        for key, forms in language.predicates.items():
            if key.startswith(f"{name}.") and key not in language.beginner:
                assert set().union(*named(texts)) <= set.intersection(*named(forms)), (name, key)


def lacks(claim: Claim) -> bool:
    """Whether German has no sentence for a claim yet, which is counted above."""
    return not [key for name in TABLES for key in getattr(GERMAN, name) if kind_of(claim) in key]


def is_sentence(claim: Claim, scene: Scene) -> bool:
    """Whether a claim is said by itself: in English, it is."""
    try:
        return bool(Speaker("club").sentence_of(scene, claim))
    except (KeyError, AttributeError):
        return False


def test_every_feature_is_said_in_german() -> None:
    said = set()
    for _, fen, line in OF_FEATURES:
        scene = scene_of(fen, *line)
        for feature in (one for find in FEATURES for one in find(scene)):
            for text in said_of(feature, scene, Speaker("club", GERMAN)):
                assert text.endswith("."), feature
                assert not wrong_in(text), (text, wrong_in(text))
            said.add(feature.name)
    assert len(said) > 25


def test_what_a_language_lacks_is_left_out_and_not_said_in_another() -> None:
    fen, move = "q3k3/p4ppp/8/3N4/8/8/P4PPP/4K3 w - - 0 1", "Nc7+"
    board = chess.Board(fen)
    scene = Scene(board, board.parse_san(move), ())
    fork = Speaker("club", GERMAN).comment(scene)
    assert "gabel" in fork.text or "greift" in fork.text
    without = {key: forms for key, forms in GERMAN.predicates.items() if "Fork" not in key}
    silent = Speaker("club", GERMAN._replace(predicates=without, beginner={})).comment(scene)
    assert not [one for one in silent.claims if type(one).__name__ == "Fork"]
    assert silent.text != fork.text


def test_a_move_is_spoken_of_in_german() -> None:
    board = Board("r1bqk2r/ppp2ppp/2np4/4p1N1/2B1n3/8/PPPP1PPP/RNBQ1RK1 w kq - 0 1")
    with Engine("material", search="alphabeta", multipv=2, hash=16) as engine:
        text = comment_on(engine, board, "Nxf7", language=language_of("de"))
    assert "die Dame auf d8" in text or "der Dame auf d8" in text
    with pytest.raises(InputError, match="no such language: 'dt'"):
        language_of("dt")
