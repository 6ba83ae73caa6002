"""Verification: every text of the table holds, and no hostile sentence gets through."""

from __future__ import annotations

import re
from dataclasses import replace

import chess
import pytest

from kibitz.comment.claims.claim import Claim
from kibitz.comment.claims.features import Feature, connected_rooks, development
from kibitz.comment.claims.positional import DoubledPawns
from kibitz.comment.claims.structure import centralises
from kibitz.comment.decoder.comments import SUITE
from kibitz.comment.decoder.spelling import spelled
from kibitz.comment.decoder.verify import verified
from kibitz.comment.facts import Scene
from kibitz.comment.judge import Evaluation
from kibitz.comment.words.speaker import Comment, Speaker
from kibitz.search.report import Score

# The knight on c7 forks the king on e8 and the queen on a8.
FORK = "q3k3/p4ppp/8/3N4/8/8/P4PPP/4K3 w - - 0 1"
PIN = "rnbqkbnr/ppp2ppp/4p3/3p4/3PP3/2N5/PPP2PPP/R1BQKBNR b KQkq - 1 3"
BLUNDER = "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 3 3"

CENTRE = Feature(centralises, white=True)
LINKED = Feature(connected_rooks, white=True)
AHEAD = Feature(development, white=True, counts=(3, 0))
DOUBLED = DoubledPawns(white=True, file=0)


def scene_of(fen: str, san: str, *follow: str) -> Scene:
    board = chess.Board(fen)
    move = board.parse_san(san)
    return Scene(board, move, tuple(map(chess.Move.from_uci, follow)))


def blunder() -> Scene:
    """3...Nf6 lets White mate; the search saw 3...Qe7."""
    queen, mate = chess.Move.from_uci("d8e7"), chess.Move.from_uci("h5f7")
    had, has = (
        Evaluation(Score("cp", 20), 0.04, (queen,)),
        Evaluation(Score("mate", 1), 1.0, (mate,)),
    )
    return replace(scene_of(BLUNDER, "Nf6", "h5f7"), had=had, has=has)


def comment_on(scene: Scene) -> Comment:
    return Speaker().comment(scene)


@pytest.fixture(scope="module")
def fork() -> tuple[Scene, Comment]:
    scene = scene_of(FORK, "Nc7+")
    comment = comment_on(scene)
    assert [type(claim).__name__ for claim in comment.claims] == ["Fork", "Wins"]
    return scene, comment


@pytest.mark.parametrize("case", SUITE, ids=lambda case: case.name)
def test_what_the_table_says_holds(case: object) -> None:
    scene = scene_of(case.fen, case.move)  # type: ignore[attr-defined]
    for level in ("beginner", "club", "expert"):
        comment = Speaker(level).comment(scene)
        assert not comment.text or verified(comment.text, scene, comment).holds


@pytest.mark.parametrize(
    ("claims", "joint"),
    [
        ([CENTRE, LINKED], r".* knight [^.,]* and [a-z]+s the rooks[^.]*\."),
        ([CENTRE, DOUBLED], r".* knight [^.,]*, but [a-z]+s [^.]*pawns on the a-file\."),
        ([DOUBLED, DOUBLED], r"This (?:doubles .* and leaves|leaves .* and doubles) [^.]*\."),
        ([AHEAD, LINKED], r".*development[,:] [^.]*\. (?:It also|At the same time it) .*"),
        ([AHEAD, DOUBLED], r".*development[,:] [^.]*\. But it [^.]*\."),
    ],
)
def test_two_things_share_a_sentence_if_both_are_short(claims: list[Claim], joint: str) -> None:
    text = Speaker().text_of(scene_of(FORK, "Nc7+"), claims)
    assert re.fullmatch(joint, text), text


def test_faults_hold_and_their_parts_are_proved() -> None:
    scene = blunder()
    comment = comment_on(scene)
    verdict = verified(comment.text, scene, comment)
    assert verdict.holds, (comment.text, verdict)
    assert spelled(scene, comment).startswith("Black 3...Nf6??: WalksInto trap=Scholar's Mate")
    for text in ("This allows 4.Qxf7#.", "3...Qe7 was better.", "It runs into Qxf7#."):
        assert verified(text, scene, comment).holds, text
    for text in (
        "This allows 4.Qxe5#.",
        "3...g6 was better.",
        "This allows mate in 2, beginning with 4.Qxf7#.",
        "3...Qe7 was better, which wins a queen.",
        "Better was 3...Qe7, which forks the king and the queen on h5.",
        "White should have played 3...Qe7.",
        "From winning to worse.",
    ):
        assert not verified(text, scene, comment).holds, text


@pytest.mark.parametrize(
    "text",
    [
        "This forks the king and the queen on a8.",
        "1.Nc7+ attacks both the king and the queen on a8.",
        "Nc7+ forks the king and the queen.",
        "White forks the king and the queen on a8.",
        "The knight forks the king and the queen on a8, and wins a queen.",
        "The knight on c7 gives check and wins material.",
        "This is a fork of the king and the queen on a8. It also nets a queen.",
    ],
)
def test_other_words_for_the_same_hold(fork: tuple[Scene, Comment], text: str) -> None:
    verdict = verified(text, *fork)
    assert verdict.holds, verdict.refused
    assert verdict.statements


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("This forks the king and the rook on a8.", "no rook on a8"),
        ("This forks the king and the queen on b8.", "no queen on b8"),
        ("The knight on e7 forks the king and the queen on a8.", "not about this move"),
        ("The bishop forks the king and the queen on a8.", "not about this move"),
        ("Black forks the king and the queen on a8.", "not about this move"),
        ("2.Nc7+ forks the king and the queen on a8.", "not about this move"),
        ("1.Nb6 forks the king and the queen on a8.", "not about this move"),
        ("This pins the queen on a8 to the king.", "not proved: Pins"),
        ("This forks the queen on a8 and the pawn on a7.", "not proved: Fork"),
        ("This forks the king.", "not proved: Fork"),
        ("This wins a rook.", "not proved: Wins"),
        ("This wins two queens.", "not proved: Wins"),
        ("This forces mate in 3.", "not proved: MateIn"),
        ("This is checkmate.", "not proved: Mates"),
        ("This takes the queen on a8.", "not proved: Captures"),
        ("This castles.", "not proved: Castles"),
        ("This wins a queen by brilliant play.", "not proved: Wins"),
        ("This brilliantly wins a queen.", "not proved: Wins"),
        ("White is winning now.", "not proved"),
        ("This wins a queen and forks the king and the rook on a8.", "no rook on a8"),
        ("This wins a queen. Better was 1.Nb6.", "not proved: Better"),
        ("This wins a queen. It also traps the queen on a8.", "not proved: Traps"),
        ("What a lovely move.", "not understood"),
        ("This wins a queen", "it does not end with a full stop"),
        ("This wins a queen, this wins a queen.", "not proved: Wins"),
        ("", "it does not end with a full stop"),
        (".", "not understood"),
    ],
)
def test_hostile_sentences_are_refused(fork: tuple[Scene, Comment], text: str, why: str) -> None:
    verdict = verified(text, *fork)
    assert not verdict.holds
    assert why in verdict.refused


def test_roles_are_not_exchanged() -> None:
    scene = scene_of(PIN, "Bb4")
    comment = comment_on(scene)
    assert verified("This pins the knight on c3 to the king.", scene, comment).holds
    assert verified("The bishop pins the knight.", scene, comment).holds
    for text in (
        "This pins the king to the knight on c3.",
        "This pins the bishop on b4 to the king.",
        "The knight on c3 pins the bishop on b4.",
    ):
        assert not verified(text, scene, comment).holds, text


def test_a_claim_that_is_not_proved_any_more_refuses_its_words(
    fork: tuple[Scene, Comment],
) -> None:
    """The claims given are not believed: they are proved again."""
    scene, comment = fork
    other = scene_of(FORK.replace("q3k3", "3qk3"), "Nc7+")
    text = "This forks the king and the queen."
    assert verified(text, scene, comment).holds
    assert not verified(text, other, comment).holds
