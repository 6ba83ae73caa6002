"""The corpus: which comments are kept and why, what an example knows, how games are split."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import chess
import msgspec
import pytest

from kibitz.comment.decoder.corpus import (
    KEPT,
    Example,
    Table,
    cleaned,
    digest,
    examples_of,
    is_held_out,
    read_examples,
    write_examples,
)
from kibitz.core.errors import DamagedFileError
from kibitz.position.pgn import parse_game

PGN = """[Event "?"]

{ A game of long ago. } 1. e4 { [%eval 0.3] The best move by test, as many say. }
e5 { [%csl Gd4] } ( 1... c5 { This is the sharp reply, and the most played one. }
2. Nf3 { White is ready to open the centre. } ) 2. -- { White passes, to show the threat. }
Qh4 { This queen move is too early here. } { This queen move is too early here. } *
"""


@pytest.mark.parametrize(
    ("text", "kept", "rule"),
    [
        ("White has a strong attack on the king.", "White has a strong attack on the king.", KEPT),
        ("[%eval 1.2] A good move for the knight", "A good move for the knight", KEPT),
        ('"(The pawn can not be taken here)"', "The pawn can not be taken here", KEPT),
        ("+- $14 ... and now the rook is lost", "and now the rook is lost", KEPT),
        ("N a new move in this position", "a new move in this position", KEPT),
        ("<p>White has a <b>strong</b> attack<br/></p>", "White has a strong attack", KEPT),
        (
            "A pawn &amp; a knight are &lt;i&gt;lost&lt;/i&gt; here",
            "A pawn & a knight are lost here",
            KEPT,
        ),
        ('The <a href="x?a=1&b=2">rook</a> is lost', "The rook is lost", KEPT),
        ("with a < b the king is < safe", "with a < b the king is < safe", KEPT),
        ("<!-- kept by the site --> The king is safe", "The king is safe", KEPT),
        ("[%clk 0:01:00]", "", "empty"),
        ("x" * 500, "x" * 500, "500 characters or more"),
        ("a " * 250 + "king", None, "500 characters or more"),
        ("see www.chess.example for more", None, "link, advertisement or question"),
        ("Subscribe to my channel", None, "link, advertisement or question"),
        ("Can you find the winning move?", None, "link, advertisement or question"),
        ("Weiss steht hier etwas besser", None, "too few English words"),
        ("Nf3 Nc6 Bb5 a6 Ba4 is best", None, "too few English words"),
        ("Good!", None, "too few English words"),
        ("the longestwordsofaliteraturethatcannotberead of", None, "too few English words"),
    ],
)
def test_rules_of_cleaning(text: str, kept: str | None, rule: str) -> None:
    found, why = cleaned(text)
    assert why == rule
    assert kept is None or found == kept


def test_comments_of_a_game() -> None:
    game, table = parse_game(PGN), Table()
    found = list(examples_of(game, table, "here", "CC0"))
    assert [(one.move, one.text.split()[0], one.last, one.next) for one in found] == [
        ("e2e4", "The", "", "e7e5"),
        ("d8h4", "This", "", ""),
        ("c7c5", "This", "e2e4", "g1f3"),
        ("g1f3", "White", "c7c5", ""),
    ]
    for one in found:
        assert chess.Move.from_uci(one.move) in chess.Board(one.fen).legal_moves
        assert (one.source, one.licence, one.game) == ("here", "CC0", digest(game))
    assert table.counts == Counter(
        {KEPT: 4, "before the first move": 1, "empty": 1, "no move, but a pass": 1}
    )
    assert table.rows()[0][:2] == (KEPT, 4)


def test_files_are_read_as_written(tmp_path: Path) -> None:
    examples = [
        Example("words", chess.STARTING_FEN, "e2e4", game=str(number)) for number in range(9)
    ]
    path = tmp_path / "corpus.jsonl"
    assert write_examples(path, examples) == 9
    assert list(read_examples(path)) == examples
    path.write_bytes(path.read_bytes() + b'{"text": 1}\n')
    with pytest.raises(DamagedFileError, match="line 10"):
        list(read_examples(path))


def test_games_are_never_cut_in_two() -> None:
    examples = [
        Example(str(one), "", "", game=str(game)) for game in range(2000) for one in range(2)
    ]
    held = [one for one in examples if is_held_out(one, 0.05)]
    assert Counter(Counter(one.game for one in held).values()).keys() == {2}
    assert 60 <= len(held) / 2 <= 140  # 100 expected
    renamed = [msgspec.structs.replace(one, text="other") for one in held]
    assert all(is_held_out(one, 0.05) for one in renamed)
    assert all(is_held_out(one, 0.1) for one in held)
