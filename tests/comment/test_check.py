"""What others say of a position: true, false with the reason, or not checkable."""

from __future__ import annotations

import json
from pathlib import Path

import chess
import pytest

import kibitz
from kibitz.cli import main
from kibitz.comment.check.readers import sentences
from kibitz.comment.check.verdict import MOST_TEXT, Setting, judge
from kibitz.core.errors import InputError, NotationError

SPANISH = "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"
PINNED = "rnbqk1nr/ppp2ppp/4p3/3p4/1b1PP3/2N5/PPP2PPP/R1BQKBNR w KQkq - 2 4"
MATED = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3"
SCHOLAR = "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 3 3"
PASSED = "4k3/8/8/3P4/8/5p2/5P2/4K3 w - - 0 1"
CHAIN = "4k3/8/4P3/3P4/8/8/8/4K3 w - - 0 1"
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
    (PASSED, "The passed pawn on d5 is strong.", "true"),
    (PASSED, "The passed pawn on f2 is strong.", "false"),
    (PASSED, "White has an isolated pawn on d5.", "true"),
    (PASSED, "The open e-file matters.", "true"),
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
    (PASSED, "White is a pawn up, but it does not seem enough.", "true"),
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
    (PASSED, "White's pawns are isolated.", "not checkable"),  # all, or those that matter
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


def test_sentences_are_split() -> None:
    text = "After 12. Qh5 it is over. E.g. this, i.e. that... and so on!? Yes (yes.) J. R. wins."
    spans = [text[start:end] for start, end in sentences(text)]
    assert spans == [
        *("After 12. Qh5 it is over.", "E.g. this, i.e. that... and so on!?"),
        *("Yes (yes.)", "J. R. wins."),
    ]


@pytest.mark.parametrize(
    "part", ["." * 9 + " ", "(" * 9, "the ", "Nf3 ", "\t ", "is pinned by ", "[%", "K"]
)
def test_hostile_text_takes_time_in_step_with_its_length(part: str) -> None:
    text = part * (200_000 // len(part))
    judged = judge(text, Setting(chess.Board(SPANISH)))
    assert all(one.verdict == "not checkable" for one in judged)


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


def test_variations_of_any_depth() -> None:
    moves = ["e4", "d4", "c4", "f4"]
    text = "1. Nf3 " + "".join(f"( 1. {moves[at % 4]} " for at in range(200)) + ") " * 200 + "*"
    assert kibitz.check(f"{text}\n").findings == []
