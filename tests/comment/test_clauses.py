"""Sentences of several clauses: true only if each word is accounted for, false if any part is."""

from __future__ import annotations

import io
import json
from pathlib import Path

import chess
import pytest

import kibitz
from kibitz.cli import main
from kibitz.comment.check.games import Checked, check_game
from kibitz.comment.check.verdict import Setting, judge
from kibitz.position.pgn import read_games

POSITION = "rn2kb1r/p3qppp/2p2n2/1p2p1B1/2B1P3/1QN5/PPP2PPP/R3K2R w KQkq - 0 10"
HALF = "4k3/4p3/8/8/8/8/8/4K3 w - - 0 1"
PAWN = "8/5k2/8/1P3K2/8/8/6p1/8 w - - 0 1"
RUY = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Bxc6 dxc6"
SCHOLAR = "1. e4 e5 2. Qh5 Nc6 3. Bc4"

# Sentence, verdict; no search is asked.
CASES = [
    # Predicates that are joined.
    ("10.Nxb5 takes a pawn and gives check.", "false"),
    ("10.Nxb5 takes a pawn and attacks the queen on e7.", "false"),
    ("10.Nxb5 takes a pawn and attacks the pawn on a7.", "true"),
    ("10.Nd5 attacks the queen and mates.", "false"),
    ("10.Bxb5 captures a pawn and forks king and queen.", "false"),
    ("10.Bxb5 attacks the pawn on c6 with check.", "false"),
    ("The bishop on c4 is attacked and unguarded.", "false"),
    ("The bishop on c4 is attacked and guarded.", "true"),
    ("The pawn on b5 is attacked and pinned.", "not checkable"),  # to the knight behind it
    ("The knight on f6 attacks the pawn on e4 and is pinned to the king.", "false"),
    ("The queen on e7 is on the e-file and attacks the king on e1.", "false"),
    ("The bishop on c4 is attacked by the pawn on b5 and defended by the knight on c3.", "false"),
    ("The bishop on c4 is attacked by the pawn on b5 and defended by the queen on b3.", "true"),
    ("White has not castled and is in check.", "false"),
    # Things that are listed.
    ("The queen on e7 guards the knight on f6 and the rook on a8.", "false"),
    ("The queen on e7 guards the knight on f6 and the bishop on f8.", "true"),
    ("The pawn on c6 guards the pawn on b5 and the knight on f6.", "false"),
    ("The queen on e7 defends f6 and a8.", "false"),
    ("The queen on e7 defends f6 and f8.", "true"),
    ("The knight on c3 controls d5 and f5.", "false"),
    ("The knight on c3 attacks the pawn on b5, and the rook on h8.", "false"),
    ("The bishop on c4 is attacked by the pawn on b5 and by the knight on f6.", "false"),
    ("The knight on f6 is guarded by the queen, the g-pawn and the knight on b8.", "false"),
    ("The knight on f6 is guarded by the queen and by the g-pawn.", "true"),
    ("The knight on f6 is only guarded by the queen and the g-pawn.", "true"),
    ("White has a rook on a1 and a queen on e4.", "false"),
    ("White has a rook on a1, a bishop on c4, and a knight on c3.", "true"),
    ("White has the bishop pair and a passed pawn.", "false"),
    ("White has the bishop pair and the move.", "true"),
    ("White has the bishop pair and the move, but is a pawn down.", "false"),
    # What is behind "which", "but" and "because".
    ("The queen on b3 attacks the pawn on b5, which is isolated.", "false"),
    ("The queen on b3 attacks the pawn on b5, which is guarded by the queen on e7.", "false"),
    ("The queen on b3 attacks the pawn on b5, which is guarded by the pawn on c6.", "true"),
    ("The bishop on c4 attacks the pawn on b5, which nothing guards.", "false"),
    ("Black has not castled, but White has.", "false"),
    ("The d-file is open because the knight on f6 is pinned to the king.", "false"),
    ("The d-file is open because the knight on f6 is pinned to the queen.", "not checkable"),
    # A word that is not understood.
    ("White can castle kingside but not queenside.", "not checkable"),
    ("The good bishop on c4 attacks f7.", "not checkable"),
    ("The bishop on c4 attacks f7 without attacking a7.", "not checkable"),
    ("The unguarded bishop on g5 attacks f6.", "true"),
    ("The unguarded bishop on c4 attacks f7.", "false"),
    ("Of course, the bishop on c4 attacks the pawn on b5 here as well.", "true"),
    # What is not certain of a part.
    ("If White plays Nxb5, the pawn on a7 is attacked and unguarded.", "not checkable"),
    ("The bishop on c4 attacks f7, and the rook on h8 after castling.", "not checkable"),
    ("The bishop on c4 attacks f7, and the rook on h8, if Black castles.", "not checkable"),
    # A list's last thing is no subject of what follows.
    ("The pawn on a7 is guarded by the rook on a8, and the knight on b8 is tame.", "not checkable"),
    ("The bishop on c4 attacks f7 and the knight on c3 attacks d5.", "true"),
    # Nor is the object of what is not understood.
    ("This sneaks up on the pawn on a7 and attacks the rook on a8.", "not checkable"),
    ("The bishop on g5 x-rays the rook on h8.", "false"),
    ("The bishop on g5 x-rays the queen on e7.", "true"),
    ("Der Springer auf f6 ist gefesselt.", "not checkable"),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_every_part_counts(text: str, expected: str) -> None:
    (judged,) = judge(text, Setting(chess.Board(POSITION), text=True))
    assert judged.verdict == expected


def test_a_part_that_is_not_understood_is_named() -> None:
    text = Setting(chess.Board(POSITION), text=True)
    for said, reason in (
        ("The bishop on c4 attacks f7 and wins.", 'not understood: "and wins"; the rest is true'),
        ("Der Läufer auf c4 greift an.", "not English"),
    ):
        assert judge(said, text)[0][1:] == ("not checkable", reason)


def test_what_a_study_asks_for_is_never_false() -> None:
    level = "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"
    for text, expected in (
        ("Black is winning.", "false"),
        ("Black to play and win!", "not checkable"),
        ("White to play and win!", "false"),  # it is not his turn
    ):
        assert kibitz.check(text, fen=level).findings[0].verdict == expected
    won = "4k3/8/8/8/8/8/8/QQ2K3 w - - 0 1"
    assert kibitz.check("White to play and win!", fen=won).findings[0].verdict == "true"


def test_a_search_judges_each_part() -> None:
    for text in (
        "10.Nxb5 is the best move and mates in three.",
        "White is better because the knight on f6 is pinned to the king.",
    ):
        assert kibitz.check(text, fen=POSITION).findings[0].verdict == "false"
    said = "10.Bxf6 takes the knight and wins the queen."
    assert kibitz.check(said, fen=POSITION).findings[0].verdict != "true"


@pytest.mark.parametrize(
    ("fen", "text", "expected"),
    [
        (POSITION, "The e-file is half-open for White.", "false"),
        (HALF, "The e-file is half-open for White.", "true"),
        (HALF, "The e-file is half-open for Black.", "false"),
        (HALF, "The e-file is half-open.", "true"),
        (HALF, "White has the half-open e-file.", "true"),
        (PAWN, "White's king catches the pawn on g2.", "not checkable"),
    ],
)
def test_other_positions(fen: str, text: str, expected: str) -> None:
    (judged,) = judge(text, Setting(chess.Board(fen), text=True))
    assert judged.verdict == expected


@pytest.mark.parametrize(
    ("moves", "text", "expected"),
    [
        (
            "1. e4 e5 2. Nf3 Nc6",
            "The knight on c6 guards the pawn on e5 and the rook on a8.",
            "false",
        ),
        ("1. e4 e5 2. Nf3 Nc6", "The knight on c6 guards the pawn on e5.", "true"),
        (RUY, "Black has the bishop pair and an isolated queen's pawn.", "false"),
        (RUY, "Black has the bishop pair and doubled pawns on the c-file.", "true"),
        # The game's own move.
        (SCHOLAR, "3.Bc4 threatens 4.Qxf7#.", "true"),
        (SCHOLAR, "3.Bc4 threatens 4.Qxe5#.", "false"),
        (SCHOLAR, "Bc4 attacks the pawn on f7.", "true"),
        (SCHOLAR, "3.Bc4 attacks the pawn on f7 and the knight on c6.", "false"),
        (SCHOLAR, "5.Bc4 attacks the knight on c6.", "not checkable"),  # another one
        (f"{SCHOLAR} Nf6 4. Qxf7#", "4.Qxf7# is mate.", "true"),
        (f"{SCHOLAR} Nf6 4. Qxf7#", "4.Qxf7# takes a pawn and is mate.", "true"),
        (f"{SCHOLAR} Nf6 4. Qxf7#", "4.Qxf7# takes a knight and is mate.", "false"),
        (f"{SCHOLAR} Nf6", "3...Nf6 is mate.", "false"),
    ],
)
def test_comments_of_a_game(moves: str, text: str, expected: str) -> None:
    checked = Checked()
    (game,) = read_games(io.StringIO(f"{moves} {{ {text} }} *\n"), print)
    check_game(game, checked, None)
    assert [one.verdict for one in checked.findings] == [expected]


def test_what_is_no_text_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in (("picture", bytes(range(256)) * 8), ("noise", b"\x80\x90\xff" * 99)):
        source = tmp_path / name
        source.write_bytes(content)
        assert main(["check", str(source), "--fen", POSITION, "--nodes", "0"]) == 2
        said = capsys.readouterr().err
        assert "not a text" in said
        assert name in said


def test_the_table_has_no_control_letters_and_no_endless_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "The \x1b[31mbishop\x07 is red. " + "word " * 2_000
    assert main(["check", text, "--fen", POSITION, "--nodes", "0"]) == 0
    printed = capsys.readouterr().out
    assert "bishop" in printed
    assert not {"\x1b", "\x07"} & {*printed}
    assert max(map(len, printed.splitlines())) < 400
    assert main(["check", text, "--fen", POSITION, "--nodes", "0", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert len(findings[-1]["sentence"]) > 9_000
