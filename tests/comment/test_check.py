"""What others say of a position: true, false with the reason, or not checkable."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import chess
import pytest

import kibitz
from kibitz.cli import main
from kibitz.comment.check.games import MOST_TEXT, check_text
from kibitz.comment.check.text import sentences
from kibitz.comment.check.verdict import Setting, judge
from kibitz.comment.facts import played
from kibitz.comment.judge import Evaluation
from kibitz.core.errors import InputError, NotationError
from kibitz.position.board import Board
from kibitz.search.report import Score

SPANISH = "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"
PINNED = "rnbqk1nr/ppp2ppp/4p3/3p4/1b1PP3/2N5/PPP2PPP/R1BQKBNR w KQkq - 2 4"
MATED = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3"
SCHOLAR = "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 3 3"
PASSED = "4k3/8/8/3P4/8/5p2/5P2/4K3 w - - 0 1"
CHAIN = "4k3/8/4P3/3P4/8/8/8/4K3 w - - 0 1"
ITALIAN = "r1bqk1nr/pppp1ppp/2n5/2b1p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4"
KNIGHTS = "r1bqkb1r/ppp2ppp/2n5/3np1N1/2B5/8/PPPP1PPP/RNBQK2R w KQkq - 0 6"
MIDDLE = "r2q1rk1/pb2bppp/1p2pn2/2ppN3/3P4/1P1BP3/PB1N1PPP/R2Q1RK1 w - - 0 11"
ROOKS = "3r2k1/5ppp/8/8/8/8/3R1PPP/3R2K1 w - - 0 1"
ENDING = "8/5pk1/6p1/1r5p/1P5P/R4PP1/6K1/8 w - - 0 1"
BACKWARD = "4k3/8/3p4/2p1p3/4P3/8/8/4K3 w - - 0 1"
AHEAD = "rnbqkbnr/ppp2ppp/3p4/4p3/2B1P3/2N2N2/PPPP1PPP/R1BQK2R b KQkq - 1 4"
OUTPOST = "4k3/pp3ppp/8/3N4/4P3/6N1/PP4PP/4K3 w - - 0 1"
PIECE = "4k3/ppppp3/8/8/8/8/PP2N3/4K3 w - - 0 1"
HELD = "4r1k1/1p3ppp/8/8/3q4/8/4NPPP/4KB1R {} K - 0 1"  # the knight that attacks d4 is pinned
FREED = "4r1k1/1p3ppp/8/8/3q4/2P5/4NPPP/4KB1R b K - 0 1"
EXCHANGE = "4k3/8/8/8/8/2n5/PP3PPP/R3K3 w Q - 0 1"

# Position, sentence, verdict; no search is asked.
CASES = [
    (SPANISH, "The bishop on b5 attacks the knight on c6.", "true"),
    (SPANISH, "The bishop on b5 attacks the knight on f6.", "false"),
    (SPANISH, "The bishop on b5 attacks the queen on d8.", "false"),
    (SPANISH, "White's knight on f3 attacks the e5 pawn.", "true"),
    (SPANISH, "Black's knight on c6 guards e5.", "true"),
    (SPANISH, "The knight on f3 guards b5.", "false"),
    (SPANISH, "White attacks e5.", "true"),
    (SPANISH, "White attacks h2.", "not checkable"),  # its own pawn
    (SPANISH, "The knight on c6 is pinned.", "not checkable"),  # the queen's pawn is behind it
    (PINNED, "The knight on c3 is pinned.", "true"),
    (PINNED, "The knight on g8 is pinned.", "false"),
    (PINNED, "The knight on c3 is not pinned.", "false"),
    (SPANISH, "The pawn on e5 is undefended.", "false"),
    (SPANISH, "The bishop on b5 is undefended.", "true"),
    (SPANISH, "The knight on g8 is hanging.", "false"),
    (HELD.format("b"), "The queen on d4 is hanging.", "false"),
    (HELD.format("w"), "The queen on d4 is hanging.", "false"),
    (HELD.format("w"), "The queen on d4 is not hanging.", "true"),
    (HELD.format("b").replace("4r1", "6"), "The queen on d4 is hanging.", "true"),
    (FREED, "The queen on d4 is hanging.", "true"),  # the pawn takes it
    # The rook takes a guarded knight, and the bishop that would take back is pinned.
    ("1k2r3/8/2p5/3n4/2B5/4B3/8/3RK3 w - - 0 1", "The knight on d5 is hanging.", "true"),
    ("1k2r3/8/2p5/3n4/8/1B6/4B3/4K3 w - - 0 1", "The knight on d5 is hanging.", "false"),
    (MATED, "White is checkmated!", "true"),
    (MATED, "Black is checkmated!", "false"),
    (SPANISH, "Black to move.", "true"),
    (SPANISH, "White to move and win.", "false"),
    (SPANISH, "Black has already castled.", "false"),
    (SPANISH, "Black can no longer castle.", "false"),
    (PASSED, "White is a pawn up.", "true"),
    (PASSED, "Black is a pawn up.", "false"),
    (PASSED, "Material is even.", "not checkable"),  # near enough to be meant so
    (EXCHANGE, "Black is up the exchange.", "false"),
    (PASSED, "The passed pawn on d5 is strong.", "not checkable"),
    (PASSED, "The passed pawn on f2 is strong.", "false"),
    (PASSED, "White has an isolated pawn on d5.", "true"),
    (PASSED, "The open e-file matters.", "not checkable"),
    (PASSED, "The open e-file!", "true"),
    (PASSED, "The open f-file matters.", "false"),
    (SPANISH, "White has the bishop pair.", "true"),
    (SCHOLAR, "White threatens Qxf7#.", "true"),
    (SCHOLAR, "White threatens Qxf7 mate.", "true"),
    (SCHOLAR, "White threatens Qxe5#.", "false"),
    (SCHOLAR, "White threatens Bxf7+.", "true"),
    (SPANISH, "White threatens Nxe5.", "not checkable"),  # it loses the knight for a pawn
    (SCHOLAR, "White threatens Nxf7.", "false"),
    ("8/8/8/8/5Q2/8/5K2/7k b - - 0 1", "White threatens Qh6#.", "not checkable"),  # stalemate
    (SPANISH, "After 3...Nxe4 White is in check.", "false"),  # no such move
    (SPANISH, "After 3...a6 4.Bxc6 the bishop on c6 attacks the king on e8.", "false"),
    (SPANISH, "After 3...a6 4.Bxc6 dxc6 Black has the bishop pair.", "true"),
    (SPANISH, "After 3...a6 4.Bxc6 dxc6 White has the bishop pair.", "false"),
    (SPANISH, "The bishop on b5 pins the knight on f6.", "false"),
    (PASSED, "White is a pawn up, but it does not seem enough.", "not checkable"),
    (PASSED, "Black is a pawn up, if the pawn on d5 falls.", "not checkable"),
    (SPANISH, "With a knight on d5 or the bishop on c4 this wins.", "not checkable"),
    (SPANISH, "The bishop on b5 pins the knight on c6 to the king.", "false"),
    (PINNED, "The bishop on b4 pins the knight on c3 to the king.", "true"),
    (PINNED, "The knight on c3 is not pinned to the king.", "false"),
    (SPANISH, "White can castle kingside.", "true"),
    (SPANISH, "White can castle queenside.", "not checkable"),  # the right is there, not the way
    (EXCHANGE, "White can castle kingside.", "false"),
    (EXCHANGE, "Black can castle.", "false"),
    (EXCHANGE, "Black cannot castle.", "true"),
    (EXCHANGE, "White cannot castle queenside.", "not checkable"),  # the knight attacks d1
    (SPANISH, "White gives check.", "false"),
    (MATED, "Black gives check.", "true"),
    (MATED, "The queen on h4 gives check to the king.", "true"),
    (MATED, "The bishop on f8 gives check.", "false"),
    (SPANISH, "White has won a pawn.", "false"),
    (SPANISH, "White has won the queen.", "false"),
    (PASSED, "White has won a rook.", "not checkable"),
    (SPANISH, "White has a bishop on b5.", "true"),
    (SPANISH, "White has a rook on d1.", "false"),
    (SPANISH, "The white queen is on d1.", "true"),
    (SPANISH, "The black king is not on e8.", "false"),
    (SPANISH, "The knight on f3 attacks g1.", "true"),  # whatever stands there
    (SPANISH, "Black is to move.", "true"),
    (EXCHANGE, "White now has doubled pawns on the b-file.", "false"),
    (PASSED, "White has no passed pawns.", "false"),
    (PASSED, "Black has no passed pawns.", "true"),
    (PASSED, "White has two passed pawns.", "false"),
    (PASSED, "The pawn on d5 is a passed pawn.", "true"),
    (PASSED, "The pawn on f2 is not a passed pawn.", "true"),
    (PASSED, "There is a passed pawn on d5.", "true"),
    (PASSED, "White has created a passer on d5.", "true"),
    (PASSED, "White has a far advanced passed pawn on the d-file.", "true"),
    (PASSED, "White has passed pawns on d5 and f2.", "false"),
    (PASSED, "White has a protected passed pawn.", "false"),
    (PASSED, "White has an outside passed pawn.", "not checkable"),
    (PASSED, "Black has an outside passed pawn.", "false"),
    (PASSED, "White's pawns are isolated.", "true"),
    (PASSED.replace("5P2", "5PP1"), "White's pawns are isolated.", "not checkable"),  # some
    (PASSED.replace("5P2", "5PP1"), "White's pawns are all isolated.", "false"),
    (PASSED, "White has an isolated queen's pawn.", "true"),
    (CHAIN, "White has two connected passed pawns.", "true"),
    (CHAIN, "White has a protected passed pawn on e6.", "true"),
    (CHAIN, "White has three passed pawns.", "false"),
    # Where pieces stand is not all that is said.
    (SPANISH, "This blocks the knight on c6.", "not checkable"),
    (SPANISH, "The knight on c6 is a monster.", "not checkable"),
    (SPANISH, "The e5 pawn is passed.", "false"),
    (SPANISH, "The e4-pawn is isolated.", "false"),
    (SPANISH, "After 3...a6 4.Bxc6 dxc6 the pawn on c6 is a weakling.", "not checkable"),
    (SPANISH, "The bishop skewers the knight on c6.", "not checkable"),
    # What is conditional, past, general, a question or no chess is not judged.
    (SPANISH, "If the bishop on b5 attacks the queen on d8, Black resigns.", "not checkable"),
    (SPANISH, "White could have played Qxf7#.", "not checkable"),
    (SPANISH, "The knight on f6 was pinned.", "not checkable"),
    (SPANISH, "Is the knight on f6 pinned?", "not checkable"),
    (SPANISH, "A knight on f5 attacks g7.", "not checkable"),
    (SPANISH, "Then the knight on f6 is pinned.", "not checkable"),
    (SPANISH, "Der Läufer auf b5 greift den Springer auf f6 an.", "not checkable"),
    (SPANISH, "What a wonderful idea {data}!", "not checkable"),
    (SPANISH, "P-K4; Kt-KB3 attacks the knight on f6.", "not checkable"),
]
# The same of a text on a position, as language models write it.
SAID = [
    (ITALIAN, "White's bishop on c4 targets the f7 pawn.", "true"),
    (ITALIAN, "White's bishop on c4 targets h7.", "false"),
    (ITALIAN, "The bishop on c4 eyes g8.", "not checkable"),  # through a pawn
    (MIDDLE, "White's bishop on d3 and queen on d1 both target h5.", "false"),
    (ITALIAN, "The f7 pawn is only defended by the king.", "true"),
    (ITALIAN, "The e5 pawn is only defended by the king.", "false"),
    (ITALIAN, "The e5 pawn is defended by the bishop on c5.", "false"),
    (ITALIAN, "Black's pawn on e5 is protected by the knight on c6.", "true"),
    (ITALIAN, "The e5 pawn is attacked by the knight on f3.", "true"),
    (ITALIAN, "The e5 pawn is attacked twice.", "false"),
    (KNIGHTS, "The f7 pawn is attacked twice.", "false"),  # the knight on d5 is in the way
    (KNIGHTS, "The knight on d5 is pinned to the queen.", "false"),
    (KNIGHTS, "The knight on g5 is undefended.", "true"),
    (KNIGHTS, "The pawn on d2 blocks the bishop on c1.", "true"),
    (KNIGHTS, "White's bishop on c1 is blocked by the pawn on a2.", "false"),
    (MIDDLE, "White's queen on d1 is trapped.", "false"),
    (ITALIAN, "There are no open files.", "true"),
    (ROOKS, "There are no open files.", "false"),
    (ROOKS, "There is only one open file.", "false"),
    (ITALIAN, "The d-file is closed.", "true"),
    (ROOKS, "The d-file is closed.", "false"),
    (ROOKS, "The c- and d-files are open.", "not checkable"),
    (ROOKS, "White's rooks are doubled on the d-file.", "true"),
    (ROOKS, "White's rooks are doubled on the e-file.", "false"),
    (ROOKS, "White's rooks are connected.", "true"),
    (ITALIAN, "White's rooks are connected.", "false"),
    (ROOKS, "The rook on d2 controls the open d-file.", "true"),
    (ROOKS, "White's rook on d2 controls the e-file.", "false"),
    (MIDDLE, "White's bishop on d3 controls the b1-h7 diagonal.", "true"),
    (MIDDLE, "White's bishop on d3 controls the a1-h8 diagonal.", "false"),
    (MIDDLE, "The a1-h8 diagonal is open.", "false"),
    (PIECE, "The a1-h8 diagonal is open.", "not checkable"),
    (MIDDLE, "White's bishop on b2 is fianchettoed.", "true"),
    (MIDDLE, "White's bishop on d3 is fianchettoed.", "false"),
    (MIDDLE, "The rook on a1 is on the edge.", "true"),
    (MIDDLE, "The knight on d2 is on the rim.", "false"),
    ("4k3/8/8/8/8/3B4/2Q5/4K3 w - - 0 1", "The queen and bishop form a battery.", "true"),
    (MIDDLE, "White's queen on d1 and bishop on b2 form a battery.", "false"),
    (BACKWARD, "Black has a backward pawn on d6.", "true"),
    (BACKWARD, "Black has a backward pawn on c5.", "false"),
    (OUTPOST, "White has an outpost on d5.", "true"),
    (BACKWARD, "White has an outpost on d4.", "false"),
    (ENDING, "White has two pawn islands.", "true"),
    (ENDING, "White has three pawn islands.", "false"),
    (ENDING, "White has a queenside majority.", "true"),
    (ENDING, "Black has a queenside majority.", "false"),
    (ENDING, "White has one pawn on the queenside.", "true"),
    (ENDING, "Black has two pawns on the queenside.", "false"),
    (CHAIN, "White's pawns on d5 and e6 are connected.", "true"),
    (PASSED, "White's pawns on d5 and f2 are connected.", "false"),
    (MIDDLE, "Both sides have castled.", "true"),
    (ITALIAN, "Both sides have castled.", "false"),
    (ITALIAN, "Neither side has castled yet.", "true"),
    (MIDDLE, "Neither side has castled.", "false"),
    (MIDDLE, "Black has castled kingside.", "true"),
    (MIDDLE, "White has castled queenside.", "false"),
    (EXCHANGE, "White has castled, while Black has not.", "false"),
    (SPANISH, "White can castle kingside right away.", "true"),
    (SPANISH, "White can castle queenside right away.", "false"),
    (SPANISH, "White can castle on either side.", "true"),
    (EXCHANGE, "White can castle on either side.", "false"),
    (ITALIAN, "White's king is still in the center.", "true"),
    (chess.STARTING_FEN, "Black's king is stuck in the centre.", "not checkable"),
    (ITALIAN, "White's king is stuck in the centre.", "false"),  # it can castle
    (ITALIAN.replace("KQkq", "kq"), "White's king is stuck in the centre.", "true"),
    (MIDDLE, "White's king is in the center.", "false"),
    (MIDDLE, "White has developed all his minor pieces.", "true"),
    (ITALIAN, "Both sides have developed their knights.", "false"),
    (ITALIAN, "Black's light-squared bishop is undeveloped.", "true"),
    (ITALIAN, "Both kings are still in the center.", "true"),
    (ITALIAN, "White is ahead in development.", "not checkable"),
    (AHEAD, "White has a lead in development.", "true"),
    (AHEAD, "Black is ahead in development.", "false"),
    (OUTPOST, "White has no d-pawn.", "true"),
    (OUTPOST, "White has no e-pawn.", "false"),
    (ITALIAN, "The knight on f3 controls the squares d4 and e5.", "true"),
    (ITALIAN, "White can play b4, attacking the bishop on c5.", "true"),
    (ITALIAN, "White can play b4, attacking the knight on c6.", "false"),
    (ITALIAN, "Black to move plays Nf6.", "not checkable"),
    (ITALIAN, "Black's dark-squared bishop is undeveloped.", "false"),
    (ITALIAN, "Black's dark-squared bishop is still on f8.", "false"),
    (ITALIAN, "White has knights on b1 and f3.", "true"),
    (ITALIAN, "White has knights on c3 and f3.", "false"),
    (ITALIAN, "Each side has two knights and two bishops.", "true"),
    (EXCHANGE, "Each side has two knights.", "false"),
    (PIECE, "White is up a piece for three pawns.", "true"),
    (PIECE, "Black is up a rook for a knight.", "false"),
    (PIECE, "White is ahead in material.", "false"),
    (PASSED, "White has a material advantage.", "true"),
    (EXCHANGE, "Black has no rooks.", "true"),
    (EXCHANGE, "White has no rooks.", "false"),
    (ENDING, "The queens are off the board.", "true"),
    (MIDDLE, "The queens have been traded.", "false"),
    (ENDING, "This is a rook endgame.", "true"),
    (ENDING, "This is a pawn endgame.", "false"),
    (ITALIAN, "This is the Italian Game.", "true"),
    (ITALIAN, "This is the Sicilian Defense.", "false"),
    (ITALIAN, "This is the Ruy Lopez.", "not checkable"),
    (ITALIAN, "White can capture the pawn on e5.", "true"),
    (ITALIAN, "The pawn on e5 can be captured by the bishop.", "false"),
    (ITALIAN, "White threatens to capture the bishop on c5.", "false"),
    (ITALIAN, "The best move is Qh5.", "false"),  # it is not legal
    ("7k/5Q2/8/8/8/8/8/K7 b - - 0 1", "Kh8 is the only legal move.", "false"),
    ("k7/2Q5/8/8/8/8/8/7K b - - 0 1", "White is stalemated!", "false"),
    # What a move does is proved of the position that it leads to.
    (PINNED, "The knight c3 is pinned.", "true"),
    (PINNED, "The knight g8 is pinned.", "false"),
    (PINNED, "This denies the knight g5.", "not checkable"),
    (KNIGHTS, "Nxf7 forks the queen and the rook.", "true"),
    (KNIGHTS, "White can play 6.Nxf7, forking queen and rook.", "true"),
    (KNIGHTS, "White can play Nxf7, forking the king and the bishop on f8.", "false"),
    (KNIGHTS, "White cannot play Nxf7, forking queen and rook.", "not checkable"),
    (KNIGHTS, "Nxf7 attacks the knight on c6.", "false"),
    (KNIGHTS, "Nxf7 captures a pawn.", "true"),
    (KNIGHTS, "Nxf7 captures a knight.", "false"),
    (KNIGHTS, "Bxd5 gives check.", "false"),
    (KNIGHTS, "Nc3 develops the knight.", "true"),
    (KNIGHTS, "Nc3 develops the bishop.", "false"),
    (KNIGHTS, "Bxd5 opens the e-file.", "false"),
    (KNIGHTS, "After Nxf7 Kxf7 White has lost a knight.", "true"),
    (KNIGHTS, "After Nxf7 Kxf7 White has won a rook.", "false"),
    (KNIGHTS, "After 6.Nxd6 White is better.", "false"),  # no such move
    (KNIGHTS, "After 6.Nxf7 Qxf7 White is better.", "false"),  # no such reply
    (KNIGHTS, "After 6.Nxf7 Nc3 White is better.", "not checkable"),  # his next move, perhaps
    (KNIGHTS, "After Nxf7, Qf3 and Bxd5 White is better.", "not checkable"),
    # Signs of a list, a heading, a name before the statement.
    (ITALIAN, "- **Material:** Material is even.", "true"),
    (ITALIAN, "### Key points", "not checkable"),
    (ITALIAN, "However, the ♗ on c4 attacks f7.", "not checkable"),
]
GAME = """[Event "?"]

{ The knight on e5 is strong. } 1. e4 { The pawn on e4 attacks d5. } e5 2. Nf3
( 2. f4 { The knight on f3 attacks the queen on d8. } ) 2... Nc6 { White is in check. } *
"""


def verdict(fen: str, text: str) -> str:
    (judged,) = judge(text, Setting(chess.Board(fen)))
    return judged.verdict


@pytest.mark.parametrize(("fen", "text", "expected"), CASES, ids=[text for _, text, _ in CASES])
def test_sentences(fen: str, text: str, expected: str) -> None:
    assert verdict(fen, text) == expected


DENIED = (
    "It is wrong that Black has two rooks.",
    "It is out of the question that Black has two rooks.",
    "The claim that Black has two rooks doesn't hold.",
    "That Black has two rooks is wrong.",
    "Black has two rooks is a false statement.",
    "Wrong: Black has two rooks.",
    "Misconception: the rook on d8 is guarded by the knight.",
    "After the trade: the rook on d8 is guarded by the knight.",
    "The rook on d8 is guarded by the knight, yet.",
    "Allegedly the knight on c6 is unprotected.",
    "The knight on c6 is unprotected as soon as the b-pawn moves.",
    "Should Black wait, Black has two rooks.",
    "The knight on e5 attacked the bishop on b3 a move ago.",
    "The knight on g3 will support an attack.",
    "The knight on e5 has retreated to c6.",
    "White is a pawn up.",  # in points, with a queen for rook and knight
)


@pytest.mark.parametrize("text", DENIED)
def test_what_is_denied_or_told_of_another_time_is_not_judged(text: str) -> None:
    fen = "3r2k1/1p3ppp/p1n5/8/8/1P2Q2P/P4PP1/6K1 w - - 0 1"
    (judged,) = judge(text, Setting(chess.Board(fen), text=True))
    assert judged.verdict == "not checkable"


def test_it_is_a_piece_of_the_sentence_before_where_that_is_of_the_position() -> None:
    fen = "8/5pk1/3b2p1/1p1P4/1P2B2p/5P1P/6P1/6K1 b - - 0 1"
    said = {
        "The bishop on d6 stops the d-pawn. It attacks b4.": "true",
        "The bishop on d6 stops the d-pawn. It attacks g2.": "false",
        "With the pawn on g3 the game is lost. It attacks g2.": "not checkable",
        "The bishop on d6 stops the d-pawn. It is a draw.": "not checkable",
    }
    for text, expected in said.items():
        assert judge(text, Setting(chess.Board(fen), text=True))[-1].verdict == expected


def test_sentences_of_a_tester() -> None:
    """Labelled by hand before the program saw them; none of these needs a search."""
    table = Path(__file__).parent / "data" / "sentences.tsv"
    lines = table.read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(lines, delimiter="\t"):
        checked = check_text(row["sentence"], Board(row["fen"]), row["move"] or None, None)
        assert (row["fen"], row["sentence"], checked.findings[-1].verdict) == (
            row["fen"],
            row["sentence"],
            row["label"],
        )


@pytest.mark.parametrize(("fen", "text", "expected"), SAID, ids=[text for _, text, _ in SAID])
def test_texts_on_a_position(fen: str, text: str, expected: str) -> None:
    (judged,) = judge(text, Setting(chess.Board(fen), text=True))
    assert judged.verdict == expected


def test_a_move_that_is_named_does_not_lead_away_from_a_text() -> None:
    said = ["Black wants Nf6.", "The e-file is open.", "The bishop on c5 attacks f2."]
    text = Setting(chess.Board(ITALIAN), text=True)
    verdicts = [one.verdict for one in judge(" ".join(said), text)]
    assert verdicts == ["not checkable", "false", "true"]


def test_a_line_leads_away_to_the_end_of_its_passage() -> None:
    line, after = "After 4.Bxf7+ Kxf7 Black is better.", "The bishop on c4 attacks f7."
    text = Setting(chess.Board(ITALIAN), text=True)
    together = judge(f"{line} {after} The king on f7 is safe.", text)
    assert {one.verdict for one in together} == {"not checkable"}
    assert judge(f"{line}\n\n{after}", text)[-1].verdict == "true"
    # Of no position of the line, nor of the one before it.
    assert judge(f"{line} The knight on g5 is strong.", text)[-1].verdict == "false"
    # A game's comment may go on from there.
    assert judge(f"{line} The knight on g5 is strong.", Setting(text.now))[-1].reason == ""


@pytest.mark.parametrize(
    ("san", "text", "expected"),
    [
        ("exd5", "This opens the e-file.", "true"),
        ("exd5", "This opens the c-file.", "false"),
        ("h4", "This opens the h-file.", "not checkable"),
        ("Nc3", "This attacks the pawn on d5.", "true"),
        ("Nc3", "This attacks the knight on f6.", "false"),
        ("h4", "This attacks the pawn on d5.", "not checkable"),  # another pawn does
        ("exd5", "This move captures the pawn.", "true"),
        ("exd5", "This captures a knight.", "false"),
        ("exd5", "White takes the pawn.", "true"),
        ("exd5", "White takes the knight.", "false"),
        ("Nc3", "White takes the pawn.", "not checkable"),  # with his next move, perhaps
        ("Nc3", "This move develops the knight.", "true"),
        ("Bd3", "This move develops the knight.", "false"),
        ("Bb5+", "This prevents O-O.", "true"),
        ("Nc3", "This prevents Nc6.", "false"),
        ("Nc3", "Discovered check!", "false"),
    ],
)
def test_what_a_move_has_done(san: str, text: str, expected: str) -> None:
    fen = "rnbqk2r/ppp1bppp/4pn2/3p4/3PP3/8/PPP2PPP/RNBQKBNR w KQkq - 1 4"
    board = chess.Board(fen)
    move = board.parse_san(san)
    after = board.copy()
    after.push(move)
    (judged,) = judge(text, Setting(after, board, move))
    assert judged.verdict == expected


def test_false_sentences_say_what_the_position_shows() -> None:
    (judged,) = judge("The bishop on c4 is strong.", Setting(chess.Board(SPANISH)))
    assert judged == ("The bishop on c4 is strong.", "false", "no bishop on c4: c4 is empty")


def test_the_piece_that_moved_is_the_one_that_does_it() -> None:
    """A pin through another piece is none for certain; the attack alone does not make it one."""
    before = chess.Board("r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3")
    at = Setting(chess.Board(SPANISH), before, before.parse_san("Bb5"))
    said = ("attacks the knight on c6", "pins the knight on c6", "forks d7 and d8")
    text = " ".join(f"The bishop {words}." for words in said)
    assert [one.verdict for one in judge(text, at)] == ["true", "not checkable", "false"]


def test_what_is_true_before_the_move_or_soon_after_it_is_not_false() -> None:
    board = chess.Board(SPANISH)
    after = board.copy()
    after.push_san("Nf6")
    text = "The knight on g8 is passive."
    assert judge(text, Setting(after))[0].verdict == "false"
    assert judge(text, Setting(after, board, after.peek()))[0].verdict == "not checkable"
    assert judge("The knight on f6 is fine.", Setting(board, nearby=(after,)))[0].reason == ""


def test_behind_other_moves_nothing_is_certain() -> None:
    text = "12. Nd5 Qd8 13. Nxe7 is the main way. The knight on a1 is strong."
    assert {one.verdict for one in judge(text, Setting(chess.Board(SPANISH)))} == {"not checkable"}


def test_a_search_judges_who_is_better() -> None:
    lost = "4k3/8/8/8/8/8/8/QQ2K3 b - - 0 1"
    for text, expected in (
        ("White is winning.", "true"),
        ("Black is winning.", "false"),
        ("The position is equal.", "false"),
        ("White threatens mate.", "true"),
    ):
        checked = kibitz.check(text, fen=lost)
        assert [one.verdict for one in checked.findings] == [expected], text
    assert verdict(lost, "Black is winning.") == "not checkable"  # without one


def test_a_search_judges_moves() -> None:
    for text, expected in (
        ("The best move is Bxf7+.", "false"),
        ("Bxf7+ is a blunder.", "true"),
        ("Bxf7+ is a good move.", "false"),
        ("Black is winning.", "false"),
        ("The position is roughly equal.", "true"),
    ):
        (one,) = kibitz.check(text, fen=ITALIAN).findings
        assert one.verdict == expected, text
    free = kibitz.check("Nxd5 is the best move.", fen="4k3/8/8/3q4/8/2N5/8/4K3 w - - 0 1")
    assert free.findings[0].verdict == "true"
    start = chess.STARTING_FEN
    for text, fen, move, expected in (
        ("A blunder.", start, "e4", "false"),
        ("A serious mistake.", ITALIAN, "Bxf7+", "true"),
        ("White wins a queen.", "4k3/8/8/3q4/8/2N5/8/4K3 w - - 0 1", "Nxd5", "true"),
    ):
        (one,) = kibitz.check(text, fen=fen, move=move).findings
        assert one.verdict == expected, text
    assert verdict(ITALIAN, "The best move is Bxf7+.") == "not checkable"  # without one


@pytest.mark.parametrize(
    ("second", "expected"), [(0.1, "false"), (0.02, "not checkable"), (-0.2, "true")]
)
def test_a_move_is_the_only_one_if_the_others_are_worse(second: float, expected: str) -> None:
    board, move = chess.Board(), chess.Move.from_uci("e2e4")
    seen = Evaluation(Score("cp", 27), 0.1, (move,), second)
    at = Setting(played(board, move), board, move)
    assert judge("The only move.", at, lambda *_: seen)[0].verdict == expected
    assert judge("Black's only move.", at, None)[0].verdict == "not checkable"


def test_sentences_are_split() -> None:
    text = "After 12. Qh5 it is over. E.g. this, i.e. that... and so on!? Yes (yes.) J. R. wins."
    spans = [text[start:end] for start, end in sentences(text)]
    assert spans == [
        *("After 12. Qh5 it is over.", "E.g. this, i.e. that... and so on!?"),
        *("Yes (yes.)", "J. R. wins."),
    ]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Nf3 attacks e5. e4 opens the centre! exd5 takes.", 3),
        ("White mates in 2. White has a forced mate.", 2),
        ("Black won on move 27. Accuracy: 90.", 2),
        ("Mate in 3. 27.Qh7+ is how.", 2),
        ("After 27. e4 and 1. e4 e5 2. Nf3 Nc6 3. O-O White is better.", 1),
        ("1. d4! d5 2. 0-0 and 12... e5 or 12. ...e5 wins.", 1),
        ("See e.g. e4, or vs. e4 ... e5.", 1),
        ("Plans: 1. The knight goes to e5.", 1),
        ("1. P-K4 P-K4 2. Kt-KB3 is old.", 1),
    ],
)
def test_a_sentence_ends_before_a_pawn_move_and_behind_a_number(text: str, count: int) -> None:
    assert len(list(sentences(text))) == count


@pytest.mark.parametrize(
    "part", ["." * 9 + " ", "(" * 9, "the ", "Nf3 ", "\t ", "is pinned by ", "[%", "K", "Nf6 Nc3. "]
)
def test_hostile_text_takes_time_in_step_with_its_length(part: str) -> None:
    text = part * (200_000 // len(part))
    judged = judge(text, Setting(chess.Board(SPANISH)))
    assert all(one.verdict == "not checkable" for one in judged)
    said = judge(part * (50_000 // len(part)), Setting(chess.Board(SPANISH), text=True))
    assert "true" not in {one.verdict for one in said[-1:]}


def test_too_much_text_is_refused() -> None:
    with pytest.raises(InputError, match="too long"):
        kibitz.check("a" * (MOST_TEXT + 1), fen=SPANISH)
    with pytest.raises(InputError, match="of no position"):
        kibitz.check("a", move="e4")
    with pytest.raises(NotationError, match="PGN"):
        kibitz.check("1. e4 e5 2. Ke3 { Oh. } *")


def test_comments_of_games_and_variations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "game.pgn", tmp_path / "checked.pgn"
    source.write_bytes(GAME.encode() + b'\n[Event "caf\xe9"]\n\n1. e4 { caf\xe9 } *\n')
    words = ["check", str(source), "-o", str(output), "--nodes", "0", "--json"]
    assert main(words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [(one["move"], one["verdict"]) for one in facts["findings"]] == [
        *(("", "not checkable"), ("1.e4", "true"), ("2...Nc6", "false"), ("2.f4", "false")),
        ("1.e4", "not checkable"),
    ]
    assert facts["false"] == 2
    assert facts["false_share"] == round(2 / 3, 4)
    text = output.read_text()
    assert text.count("[check: ") == 2
    assert "The knight on e5 is strong." in text
    again = tmp_path / "again.pgn"
    assert main(["check", str(output), "-o", str(again), "--nodes", "0"]) == 0
    assert again.read_text().count("[check: ") == 2  # notes are replaced
    assert main(["check", str(source), "-o", str(again)]) == 2  # and files are not
    assert "the output exists" in capsys.readouterr().err


def test_a_text_on_a_move(capsys: pytest.CaptureFixture[str]) -> None:
    text = "This attacks the queen on d8."
    words = ["check", text, "--fen", SPANISH, "--move", "Nf6", "--nodes", "0", "--json"]
    assert main(words) == 0
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["move"], finding["verdict"]) == ("3...Nf6", "false")
    assert main(["check", "text", "--move", "e4"]) == 2
    assert main(["check", "text", "--fen", SPANISH, "-o", "x.pgn"]) == 2


def test_a_text_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "said.txt"
    source.write_bytes(b"The knight on f3 attacks e5. Caf\xe9.\n")
    assert main(["check", str(source), "--fen", SPANISH, "--nodes", "0", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [one["verdict"] for one in findings] == ["true", "not checkable"]


def test_variations_of_any_depth() -> None:
    moves = ["e4", "d4", "c4", "f4"]
    text = "1. Nf3 " + "".join(f"( 1. {moves[at % 4]} " for at in range(200)) + ") " * 200 + "*"
    assert kibitz.check(f"{text}\n").findings == []
