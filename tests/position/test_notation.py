"""Moves as text: castling in every notation, what SAN forgives and what it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.core.errors import MoveError, NotationError
from kibitz.position.attacks import KNIGHT, QUEEN
from kibitz.position.board import Board
from kibitz.position.fen import START, parse_fen
from kibitz.position.moves import CASTLING, DOUBLE_PUSH, EN_PASSANT, MAX_MOVES
from kibitz.position.notation import (
    NULL,
    Move,
    legal_codes,
    legal_moves,
    legal_sans,
    parse_san,
    parse_uci,
    san_of,
)

CASTLES = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
BLACK_CASTLES = CASTLES.replace(" w ", " b ")
INSIDE = "4k3/8/8/8/8/8/8/1RK2R2 w BF - 0 1"  # O-O-O leaves the king where it is
STEP = "4k3/8/8/8/8/8/8/5K1R w K - 0 1"  # f1g1 is a step of the king, not castling
PROMOTES = "3n3k/4P3/8/8/8/8/8/K7 w - - 0 1"
TWO_KNIGHTS = "7k/8/8/8/8/5N2/8/1N5K w - - 0 1"
THREE_QUEENS = "8/k7/8/8/4Q2Q/8/8/K6Q w - - 0 1"
PASSES = "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2"


@pytest.mark.parametrize(
    ("fen", "text", "standard", "chess960"),
    [
        (CASTLES, "e1g1", "e1g1", "e1h1"),
        (CASTLES, "e1h1", "e1g1", "e1h1"),
        (CASTLES, "e1c1", "e1c1", "e1a1"),
        (CASTLES, "e1a1", "e1c1", "e1a1"),
        (BLACK_CASTLES, "e8g8", "e8g8", "e8h8"),
        (BLACK_CASTLES, "e8a8", "e8c8", "e8a8"),
        (INSIDE, "c1b1", "c1c1", "c1b1"),
        (INSIDE, "c1c1", "c1c1", "c1b1"),
        (INSIDE, "c1g1", "c1g1", "c1f1"),
        (STEP, "f1h1", "f1g1", "f1h1"),
    ],
)
def test_castling_in_uci(fen: str, text: str, standard: str, chess960: str) -> None:
    move = parse_uci(parse_fen(fen), text)
    assert move.is_castling
    assert (move.uci(False), move.uci(True)) == (standard, chess960)
    assert move.uci() == (standard if fen in (CASTLES, BLACK_CASTLES) else chess960)


def test_a_step_of_the_king_goes_before_castling() -> None:
    assert not parse_uci(parse_fen(STEP), "f1g1").is_castling


@pytest.mark.parametrize("text", ["O-O", "0-0", "o-o", "OO", "O-O!", "0-0+"])
def test_castling_in_san(text: str) -> None:
    assert parse_san(parse_fen(CASTLES), text).uci(True) == "e1h1"
    assert parse_san(parse_fen(BLACK_CASTLES), text).uci(True) == "e8h8"
    assert (
        parse_san(parse_fen(CASTLES), text.rstrip("!+") + text[1:2].strip("Oo") + text[0]).uci(True)
        == "e1a1"
    )


@pytest.mark.parametrize(
    ("fen", "text", "san"),
    [
        (PROMOTES, "e8=Q", "e8=Q+"),
        (PROMOTES, "e8Q", "e8=Q+"),
        (PROMOTES, "e8q", "e8=Q+"),
        (PROMOTES, "e8(N)", "e8=N"),
        (PROMOTES, "e8/R+", "e8=R+"),
        (PROMOTES, "exd8=B", "exd8=B"),
        (PROMOTES, "ed8B!?", "exd8=B"),
        (PROMOTES, "e7-e8=R", "e8=R+"),
        (TWO_KNIGHTS, "Nbd2", "Nbd2"),
        (TWO_KNIGHTS, "Nb1-d2", "Nbd2"),
        (TWO_KNIGHTS, "N3d2", "Nfd2"),
        (THREE_QUEENS, "Qh4e1", "Qh4e1"),
        (PASSES, "exd6", "exd6"),
        (PASSES, "ed6 e.p.", "exd6"),
        (PASSES, "exd6ep", "exd6"),
        (START, "Pe4", "e4"),
        (START, "e2e4", "e4"),
        (START, "e2-e4", "e4"),
        (START, " Nf3?! ", "Nf3"),
        (START, "Ng1-f3", "Nf3"),
        (START, "Nxf3", "Nf3"),
    ],
)
def test_forgiving_san(fen: str, text: str, san: str) -> None:
    position = parse_fen(fen)
    assert san_of(position, parse_san(position, text)) == san


@pytest.mark.parametrize("text", ["", "e", "e9", "Ke", "hello", "Nf3x", "O-O-O-O", "e4=", "e2e4e5"])
def test_what_is_no_san(text: str) -> None:
    with pytest.raises(NotationError, match="not a move in algebraic notation"):
        parse_san(parse_fen(START), text)


@pytest.mark.parametrize("text", ["e2", "e2e9", "E2E4", "e2e4k", "e2-e4", "", "e1 g1", "e2e4qq"])
def test_what_is_no_uci(text: str) -> None:
    with pytest.raises(NotationError, match="not a move in UCI notation"):
        parse_uci(parse_fen(START), text)


@pytest.mark.parametrize("text", ["e5", "Nd2", "O-O", "exd3", "e4=Q", "Ke2", "d1"])
def test_illegal_san_names_the_position(text: str) -> None:
    with pytest.raises(MoveError, match="illegal move in rnbqkbnr/pppppppp/8/8/8/8/") as caught:
        parse_san(parse_fen(START), text)
    assert caught.value.value == text


@pytest.mark.parametrize("text", ["e2e5", "e1g1", "e2e4q", "a1a1", "e7e5"])
def test_illegal_uci(text: str) -> None:
    with pytest.raises(MoveError, match="illegal move in"):
        parse_uci(parse_fen(START), text)


def test_ambiguous_san_lists_the_candidates() -> None:
    with pytest.raises(MoveError, match="'Nd2'; write Nbd2 or Nfd2"):
        parse_san(parse_fen(TWO_KNIGHTS), "Nd2")
    with pytest.raises(MoveError, match="'Q4e1'; write Qee1 or Qh4e1"):
        parse_san(parse_fen(THREE_QUEENS), "Q4e1")


def test_a_promotion_must_name_the_piece() -> None:
    for parse, text in ((parse_san, "e8"), (parse_san, "exd8")):
        with pytest.raises(MoveError, match="promote to a piece"):
            parse(parse_fen(PROMOTES), text)
    with pytest.raises(MoveError):
        parse_uci(parse_fen(PROMOTES), "e7e8")


def test_fields_of_moves() -> None:
    promotion = parse_uci(parse_fen(PROMOTES), "e7d8q")
    assert (promotion.origin, promotion.destination, promotion.promotion) == (52, 59, QUEEN)
    assert parse_uci(parse_fen(PROMOTES), "e7e8n").promotion == KNIGHT
    castling = parse_uci(parse_fen(BLACK_CASTLES), "e8g8")
    assert (castling.origin, castling.destination, castling.promotion) == (60, 63, None)
    kinds = {
        "e2e4": (START, DOUBLE_PUSH),
        "e1c1": (CASTLES, CASTLING),
        "e5d6": (PASSES, EN_PASSANT),
    }
    for text, (fen, kind) in kinds.items():
        assert parse_uci(parse_fen(fen), text).code >> 12 == kind
    assert len({Move(5), Move(5), NULL}) == 2
    assert (str(NULL), repr(promotion)) == ("0000", "<Move e7d8q>")
    with pytest.raises(AttributeError):
        promotion.code = 3  # type: ignore[misc]


@pytest.mark.parametrize("text", ["--", "Z0", "0000", "@@@@"])
def test_the_null_move(text: str) -> None:
    assert parse_san(parse_fen(START), text) == NULL
    assert san_of(parse_fen(START), NULL) == "--"


def test_the_position_with_most_moves() -> None:
    position = parse_fen("R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1")
    assert len(legal_codes(position)) == 218 < MAX_MOVES
    assert len(set(legal_sans(position))) == 218


@given(st.data())
def test_text_and_moves_there_and_back(data: st.DataObject) -> None:
    board = Board.start960(data.draw(st.integers(0, 959)))
    for _ in range(data.draw(st.integers(0, 12))):
        moves = board.legal_moves
        if not moves:
            return
        move = data.draw(st.sampled_from(moves))
        position = board.position
        assert parse_san(position, san_of(position, move)) == move
        assert parse_uci(position, move.uci(True)) == move
        board.push(move)
    assert board.legal_moves == legal_moves(parse_fen(board.fen()))


@given(st.text(alphabet="NBRQKabcdefgh12345678xO-0=+#!? ", max_size=8))
def test_any_text_is_a_move_or_refused(text: str) -> None:
    position = parse_fen(CASTLES)
    try:
        move = parse_san(position, text)
    except (MoveError, NotationError):
        return
    assert move == NULL or move in legal_moves(position)
