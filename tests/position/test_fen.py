"""FEN: round trips, the castling letters of three dialects, and every way to get it wrong."""

from __future__ import annotations

import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.core.errors import PositionError
from kibitz.position.attacks import NO_SQUARE
from kibitz.position.board import Board
from kibitz.position.fen import (
    PAWN_ON_EDGE,
    START,
    VALID,
    WRONG_CASTLING,
    WRONG_EN_PASSANT,
    WRONG_KINGS,
    castles960,
    chess960_fen,
    fen_of,
    parse_fen,
    problem,
)
from kibitz.position.state import new_positions

# Given, and as it is written back.
DIALECTS = {
    "r3k2r/8/8/8/8/8/8/R3K2R w HAha - 3 7": "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 3 7",
    "r3k2r/8/8/8/8/8/8/R3K2R b qK - 3 7": "r3k2r/8/8/8/8/8/8/R3K2R b Kq - 3 7",
    "1rk3r1/8/8/8/8/8/8/1RK3R1 w KQkq - 0 1": "1rk3r1/8/8/8/8/8/8/1RK3R1 w KQkq - 0 1",
    # Two rooks on one side: the outermost is meant by K, the other by its file.
    "4k3/8/8/8/8/8/8/1K3RR1 w F - 0 1": "4k3/8/8/8/8/8/8/1K3RR1 w F - 0 1",
    "4k3/8/8/8/8/8/8/1K3RR1 w K - 0 1": "4k3/8/8/8/8/8/8/1K3RR1 w K - 0 1",
    "4k3/8/8/8/8/8/8/1K3RR1 w G - 0 1": "4k3/8/8/8/8/8/8/1K3RR1 w K - 0 1",
    "rr2k3/8/8/8/8/8/8/4K3 b b - 0 1": "rr2k3/8/8/8/8/8/8/4K3 b b - 0 1",
    # No clocks, as in EPD; one clock; a move number of 0, which some programs write.
    "8/8/8/4k3/8/8/8/4K3 b - -": "8/8/8/4k3/8/8/8/4K3 b - - 0 1",
    "8/8/8/4k3/8/8/8/4K3 b - - 12": "8/8/8/4k3/8/8/8/4K3 b - - 12 1",
    "8/8/8/4k3/8/8/8/4K3 b - - 12 0": "8/8/8/4k3/8/8/8/4K3 b - - 12 1",
    "  8/8/8/4k3/8/8/8/4K3  w -  - 1   2 ": "8/8/8/4k3/8/8/8/4K3 w - - 1 2",
    # En passant: kept if it is legal; gone if nobody can, or if the king would be bare.
    "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2": "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2",
    "4k3/8/8/3p4/8/8/8/4K3 w - d6 0 2": "4k3/8/8/3p4/8/8/8/4K3 w - - 0 2",
    "8/8/8/K2pP2q/8/8/8/4k3 w - d6 0 2": "8/8/8/K2pP2q/8/8/8/4k3 w - - 0 2",
    "4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 2": "4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 2",
}

BAD = {
    "": "found 0 fields",
    "8/8/8/8": "found 1 field",
    f"{START} 7": "found 7 fields",
    START.replace(" w ", " x "): "side to move: 'x'; expected w or b",
    START.replace(" w ", " W "): "side to move: 'W'",
    "8/8/8/8/8/8/4K2k w - - 0 1": "board: 7 ranks",
    "8/8/8/8/8/8/8/8/4K2k w - - 0 1": "board: 9 ranks",
    "8/8/8/8/8/8/9/4K2k w - - 0 1": "rank 2: '9'; expected one of",
    "8/8/8/8/8/8/x7/4K2k w - - 0 1": "rank 2: 'x7'; expected one of pnbrqkPNBRQK or a digit",
    "8/8/8/8/8/8/٣5/4K2k w - - 0 1": "rank 2: '٣5'",
    "8/8/8/8/7/8/8/4K2k w - - 0 1": "rank 4 has 7 squares: '7'; expected 8",
    "ppppppppp/8/8/8/8/8/8/4K2k w - - 0 1": "rank 8 has 9 squares",
    "44/8/8/8/8/8/8/4K2k w - - 0 1": "rank 8: '44'; write empty squares as one digit",
    "8//8/8/8/8/8/4K2k w - - 0 1": "rank 7 has 0 squares",
    "8/8/8/8/8/8/8/7k w - - 0 1": "each side needs exactly one king",
    "8/8/8/8/8/8/8/K6K w - - 0 1": "each side needs exactly one king",
    "k7/8/8/8/8/8/8/K5K1 b - - 0 1": "each side needs exactly one king",
    "k6P/8/8/8/8/8/8/K7 w - - 0 1": "pawn on rank 1 or 8",
    "k7/8/8/8/8/8/8/K6p b - - 0 1": "pawn on rank 1 or 8",
    "k7/8/8/8/P7/P7/PPPPPPPP/K7 w - - 0 1": "more than 8 pawns",
    "k7/8/QQQQQQQQ/QQQQQQQQ/8/8/8/K7 b - - 0 1": "more than 16 pieces",
    "k7/8/8/8/8/8/8/K6r b - - 0 1": "could capture the king",
    START.replace("KQkq", "KQxq"): "castling: 'KQxq'; 'x': no such rook",
    START.replace("KQkq", "KK"): "castling: 'KK'; 'K': named twice",
    START.replace("KQkq", "KH"): "castling: 'KH'; 'H': named twice",
    START.replace("KQkq", "B"): "castling: 'B'; 'B': no such rook",
    START.replace("KQkq", "K-"): "castling: 'K-'",
    "4k3/8/8/8/8/8/8/4K3 w K - 0 1": "castling: 'K'; 'K': no such rook",
    "4k3/8/8/8/8/8/4K3/7R w K - 0 1": "castling: 'K'; 'K': no such rook",
    "4k3/8/8/8/8/8/8/R3K3 w K - 0 1": "castling: 'K'; 'K': no such rook",
    "4k2r/8/8/8/8/8/8/4K2R w Kq - 0 1": "castling: 'Kq'; 'q': no such rook",
    "4k3/8/8/8/8/8/8/1K3RR1 w FG - 0 1": "two rooks on one side of the king",
    START.replace("- 0", "e9 0"): "en passant square: 'e9'; expected - or a square on rank 6",
    START.replace("- 0", "e3 0"): "en passant square: 'e3'; expected - or a square on rank 6",
    START.replace("- 0", "e6 0"): "no pawn has just passed it",
    "4k3/8/4p3/4p3/8/8/8/4K3 w - e6 0 1": "no pawn has just passed it",
    "4k3/4p3/8/4p3/8/8/8/4K3 w - e6 0 1": "no pawn has just passed it",
    START.replace(" 0 1", " -1 1"): "halfmove clock: '-1'; expected a number from 0 to 9999",
    START.replace(" 0 1", " x 1"): "halfmove clock: 'x'",
    START.replace(" 0 1", " 1.5 1"): "halfmove clock: '1.5'",
    START.replace(" 0 1", " 10000 1"): "halfmove clock: '10000'",
    START.replace(" 0 1", " 0 -3"): "move number: '-3'",
    START.replace(" 0 1", " 0 ²"): "move number: '²'",
    START.replace(" 0 1", f" 0 {10**30}"): "move number",
}


@pytest.mark.parametrize(("given_text", "written"), DIALECTS.items())
def test_dialects(given_text: str, written: str) -> None:
    assert fen_of(parse_fen(given_text)) == written
    assert parse_fen(fen_of(parse_fen(given_text), shredder=True)).item() == (
        parse_fen(written).item()
    )


@pytest.mark.parametrize(("text", "fault"), BAD.items())
def test_malformed_input_is_named(text: str, fault: str) -> None:
    with pytest.raises(PositionError) as caught:
        parse_fen(text)
    assert fault in str(caught.value)
    assert str(caught.value).startswith("FEN")


@given(st.text(alphabet="pnbrqkPNBRQK12345678/ -wbKQkqae36019", max_size=90))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        position = parse_fen(text)
    except PositionError:
        return
    assert parse_fen(fen_of(position)).item() == position.item()


@given(st.data())
def test_damaged_fens_are_read_or_refused(data: st.DataObject) -> None:
    text = list(START)
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.sampled_from("pKQk/81 w-a"))
    try:
        position = parse_fen("".join(text))
    except PositionError:
        return
    assert problem(position) == VALID
    status = chess.Board(fen_of(position, shredder=True), chess960=True).status()
    assert status & ~(chess.STATUS_TOO_MANY_CHECKERS | chess.STATUS_IMPOSSIBLE_CHECK) == 0


@given(st.integers(0, 959))
def test_chess960_numbers_are_python_chess_numbers(number: int) -> None:
    ours = parse_fen(chess960_fen(number))
    reference = chess.Board.from_chess960_pos(number)
    assert fen_of(ours) == reference.fen()
    assert fen_of(ours, shredder=True) == reference.shredder_fen()


def test_chess960_numbers_end_at_959() -> None:
    assert chess960_fen(518) == START
    for number in (-1, 960):
        with pytest.raises(PositionError, match="expected 0 to 959"):
            chess960_fen(number)


def test_records_that_no_text_gives() -> None:
    positions = new_positions(1)
    assert problem(positions[0]) == WRONG_KINGS
    positions[0] = parse_fen(START)
    assert problem(positions[0]) == VALID
    for field, value, fault in (
        ("castling", 1 << 20, WRONG_CASTLING),
        ("castling", 1 << 1, WRONG_CASTLING),
        ("en_passant", 20, WRONG_EN_PASSANT),
        ("en_passant", NO_SQUARE + 1, WRONG_EN_PASSANT),
        ("pawns", 1 << 3, PAWN_ON_EDGE),
    ):
        positions[0] = parse_fen(START)
        positions[field] = value
        assert problem(positions[0]) == fault, field


def test_rights_of_chess960_are_told_from_ordinary_ones() -> None:
    other = {number: chess.Board.from_chess960_pos(number) for number in range(0, 960, 7)}
    other[518] = chess.Board()
    for number, board in other.items():
        for text in ("", "a2a3", "h7h6", "a1a2", "h8h7"):
            if text and chess.Move.from_uci(text) in board.legal_moves:
                board.push_uci(text)
            found = castles960(Board.from_chess(board).position)
            assert found == board.has_chess960_castling_rights(), (number, board.fen())
    assert castles960(Board("4k3/8/8/8/8/8/8/RK5R w KQ - 0 1").position)
    assert not castles960(Board("4k3/8/8/8/8/8/8/RK5R w - - 0 1").position)


@pytest.mark.parametrize("rest", ["", " -", " - -", " - - 0", " - - 0 1"])
def test_fields_behind_the_side_may_be_left_out(rest: str) -> None:
    placement = "r3k2r/8/8/8/3pP3/8/8/R3K2R b"
    assert fen_of(parse_fen(placement + rest)) == f"{placement} - - 0 1"
