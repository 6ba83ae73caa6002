"""FEN text to position records and back, with the castling letters of X-FEN and Shredder-FEN.

Boards are read as 64-digit binary numbers, one per kind of piece, so that a record costs about
ten microseconds. Then a kernel says whether the position is playable and completes it by its key
and the legal en passant square. Impossible but playable positions (three checkers, nine queens)
pass: kernels can handle them.
"""

from __future__ import annotations

import re

import numpy as np

from kibitz.core.errors import PositionError
from kibitz.jit.bits import bit, lowest, popcount, signed
from kibitz.jit.compile import kernel
from kibitz.position.attacks import FLIP, NO_SQUARE, RANK_1, RANK_8, parse_square, square_name
from kibitz.position.play import legal_en_passant
from kibitz.position.state import compute_key, gives_away_king, new_positions

# --- whether a position is playable ---------------------------------------------------------------


VALID = 0
WRONG_KINGS = 1  # not exactly one of each side
TOO_MANY_PIECES = 2  # more than sixteen of one side
TOO_MANY_PAWNS = 3  # more than eight of one side
PAWN_ON_EDGE = 4  # a pawn on the first or last rank
KING_CAPTURABLE = 5  # the side that is not to move is in check
WRONG_CASTLING = 6  # a right without its king and rook on the first rank
WRONG_EN_PASSANT = 7  # no pawn has just passed the square

MOST_PIECES, MOST_PAWNS = 16, 8
FIRST_TARGET, LAST_TARGET = 40, 47  # en passant squares: rank 6 in the view of the side to move


@kernel
def _wrong_castling(kings: np.uint64, rooks: np.uint64, rights: np.uint64) -> bool:
    """One side's rights: all on rooks, beside a king on their rank, at most one on each hand."""
    if not rights:
        return False
    if rights & ~rooks:
        return True
    king = lowest(kings)
    if king >> 3 != lowest(rights) >> 3:
        return True
    below = popcount(rights & (bit(king) - np.uint64(1)))
    return below > 1 or popcount(rights) - below > 1


@kernel
def _wrong_en_passant(position: np.record, square: int) -> bool:
    if square == NO_SQUARE:
        return False
    if square < FIRST_TARGET or square > LAST_TARGET:
        return True
    passed = bit(square - 8)
    empty = bit(square) | bit(square + 8)
    if not passed & position.pawns & position.their:
        return True
    return (position.own | position.their) & empty != np.uint64(0)


@kernel
def problem(position: np.record) -> int:
    """VALID or the first thing that is wrong."""
    own, their = position.own, position.their
    if popcount(position.kings & own) != 1 or popcount(position.kings & their) != 1:
        return WRONG_KINGS
    if popcount(own) > MOST_PIECES or popcount(their) > MOST_PIECES:
        return TOO_MANY_PIECES
    pawns = position.pawns
    if popcount(pawns & own) > MOST_PAWNS or popcount(pawns & their) > MOST_PAWNS:
        return TOO_MANY_PAWNS
    if pawns & (RANK_1 | RANK_8):
        return PAWN_ON_EDGE
    kings, rooks, rights = position.kings, position.rooks, position.castling
    if (
        rights & ~(RANK_1 | RANK_8)
        or _wrong_castling(kings & own, rooks & own, rights & RANK_1)
        or _wrong_castling(kings & their, rooks & their, rights & RANK_8)
    ):
        return WRONG_CASTLING
    if _wrong_en_passant(position, signed(position.en_passant)):
        return WRONG_EN_PASSANT
    return KING_CAPTURABLE if gives_away_king(position) else VALID


@kernel
def complete(positions: np.ndarray, index: int) -> int:
    """Check positions[index]; if valid, keep en passant only where it is legal and set the key."""
    position = positions[index]
    wrong = problem(position)
    if wrong == VALID:
        square = signed(position.en_passant)
        if square != NO_SQUARE:
            position.en_passant = legal_en_passant(position, square)
        position.key = compute_key(position)
    return wrong


# --- text -----------------------------------------------------------------------------------------


START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
LARGEST_NUMBER = 9999  # of both clocks; the longest known game has 17 697 plies

_LETTERS = "pnbrqkPNBRQK"
_EMPTIES = [(str(count), "." * count) for count in range(1, 9)]
_TWO_DIGITS = re.compile(r"[1-8]{2}")


def _marks(letters: str) -> bytes:
    """Translation of a board of letters to binary digits: 1 for the letters, 0 for the rest."""
    table = bytearray(b"0" * 256)
    for letter in letters.encode():
        table[letter] = ord("1")
    return bytes(table)


_PAWNS, _KNIGHTS, _BISHOPS = _marks("Pp"), _marks("Nn"), _marks("Bb")
_ROOKS, _QUEENS, _KINGS = _marks("Rr"), _marks("Qq"), _marks("Kk")
_SIDES = (_marks("PNBRQK"), _marks("pnbrqk"))
_KING_AT_HOME = (1 << 4, 1 << 60)  # e1, e8: seen from the side to move, both are on e


def _classic_rights(side: int) -> dict[str, tuple[int, int]]:
    """Rights of ordinary chess: text to (own rooks, their rooks) in the mover's view."""
    squares = {"K": 7, "Q": 0, "k": 63, "q": 56}
    rights = {"-": (0, 0)}
    for chosen in range(1, 16):
        text = "".join(letter for bit, letter in enumerate("KQkq") if chosen >> bit & 1)
        board = sum(1 << (squares[letter] ^ FLIP * side) for letter in text)
        rights[text] = (board & 0xFF, board & ~0xFF)
    return rights


_CLASSIC = (_classic_rights(0), _classic_rights(1))
_SIDE_OF = {"w": 0, "b": 1}


def parse_fen(text: str) -> np.record:
    """Return the position that a FEN describes; all fields behind the side may be left out."""
    positions = new_positions(1)
    read_fen(text, positions, 0)
    record: np.record = positions[0]
    return record


def read_fen(text: str, positions: np.ndarray, index: int) -> None:
    """Write the position of a FEN to positions[index] (POSITION [n]); raises PositionError."""
    fields = text.split()
    if 2 <= len(fields) < 4:  # without castling rights and en passant
        fields += ["-"] * (4 - len(fields))
    if not 4 <= len(fields) <= 6:
        count = f"found {len(fields)} field{'s' * (len(fields) != 1)}"
        fix = "expected board and side, perhaps castling, en passant and two clocks"
        raise PositionError(f"FEN: {count}", value=text, fix=fix)
    side = _SIDE_OF.get(fields[1], -1)
    if side < 0:
        raise PositionError("FEN side to move", value=fields[1], fix="expected w or b")
    board = _digits(fields[0], side)
    pawns, knights, bishops = _read(board, _PAWNS), _read(board, _KNIGHTS), _read(board, _BISHOPS)
    rooks, queens, kings = _read(board, _ROOKS), _read(board, _QUEENS), _read(board, _KINGS)
    own, their = _read(board, _SIDES[side]), _read(board, _SIDES[1 - side])
    if (own & kings).bit_count() != 1 or (their & kings).bit_count() != 1:
        raise _explained(WRONG_KINGS, fields)
    castling = _rights(fields[2], side, rooks, kings, own)
    target = NO_SQUARE if fields[3] == "-" else _target(fields[3], side)
    clock = _number(fields[4], "halfmove clock") if len(fields) > 4 else 0
    number = max(_number(fields[5], "move number"), 1) if len(fields) > 5 else 1
    positions[index] = (
        *(pawns, knights, bishops, rooks, queens, kings, own, their, castling),
        *(0, clock, 2 * (number - 1) + side, target, side),
    )
    wrong = complete(positions, index)
    if wrong != VALID:
        raise _explained(wrong, fields)


def _digits(placement: str, side: int) -> bytes:
    """The board as 64 letters, h8 first and a1 last, flipped vertically for Black."""
    board = _spread(placement)
    if (
        len(board) != 71
        or board[8::9] != "///////"
        or board.count("/") != 7
        or placement.strip("pnbrqkPNBRQK12345678/")
        or _TWO_DIGITS.search(placement)
    ):
        raise _misplaced(placement)
    rows = board.split("/")
    if side == 0:
        rows.reverse()
    return "".join(rows)[::-1].encode("ascii")


def _spread(placement: str) -> str:
    """Write empty squares as dots (replacements are ten times faster than str.translate)."""
    for digit, dots in _EMPTIES:
        placement = placement.replace(digit, dots)
    return placement


def _read(board: bytes, marks: bytes) -> int:
    return int(board.translate(marks), 2)


def _misplaced(placement: str) -> PositionError:
    """Say what is wrong with a board that is not eight rows of eight."""
    rows = placement.split("/")
    if len(rows) != 8:
        return PositionError(f"FEN board: {len(rows)} ranks", value=placement, fix="expected 8")
    for rank, row in zip("87654321", rows, strict=True):
        where = f"FEN board: rank {rank}"
        for letter in row:
            if letter not in _LETTERS + "12345678":
                fix = f"expected one of {_LETTERS} or a digit 1 to 8, found {letter!r}"
                return PositionError(where, value=row, fix=fix)
        if _TWO_DIGITS.search(row):
            return PositionError(where, value=row, fix="write empty squares as one digit")
        width = len(_spread(row))
        if width != 8:
            return PositionError(f"{where} has {width} squares", value=row, fix="expected 8")
    raise AssertionError(placement)


def _rights(text: str, side: int, rooks: int, kings: int, own: int) -> int:
    """Rooks that may still castle; classic letters on classic squares take the short way."""
    mine, theirs = _CLASSIC[side].get(text, (-1, -1))
    at_home, at_theirs = _KING_AT_HOME
    if (
        mine >= 0
        and rooks & own & mine == mine
        and rooks & ~own & theirs == theirs
        and (not mine or kings & own == at_home)
        and (not theirs or kings & ~own == at_theirs)
    ):
        return mine | theirs
    rights = 0
    for letter in text:
        is_own = letter.isupper() == (side == 0)
        mask = own & 0xFF if is_own else ~own & 0xFF << 56
        right = _right(letter, rooks & mask, kings & mask)
        if not right or right & rights:
            reason = "named twice" if right else "no such rook beside a king on its first rank"
            fix = f"{letter!r}: {reason}; expected -, KQkq or the files of rooks"
            raise PositionError("FEN castling", value=text, fix=fix)
        rights |= right
    return rights


def _right(letter: str, rooks: int, king: int) -> int:
    """The rook that one castling letter means, 0 if none; both boards of one side's first rank."""
    if not king:
        return 0
    name = letter.lower()
    if name == "k":  # the outermost rook on that hand
        right = 1 << max(rooks.bit_length() - 1, 0)
        return right & rooks if right > king else 0
    if name == "q":
        right = rooks & -rooks
        return right if right < king else 0
    if name not in "abcdefgh":
        return 0
    column = 0x0100_0000_0000_0001 << "abcdefgh".index(name)
    return rooks & column


def _target(text: str, side: int) -> int:
    """The en passant square in the mover's view."""
    if len(text) != 2 or text[0] not in "abcdefgh" or text[1] != "63"[side]:
        fix = f"expected - or a square on rank {'63'[side]}"
        raise PositionError("FEN en passant square", value=text, fix=fix)
    return parse_square(text) ^ FLIP * side


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text[:9]) <= LARGEST_NUMBER):
        fix = f"expected a number from 0 to {LARGEST_NUMBER}"
        raise PositionError(f"FEN {name}", value=text, fix=fix)
    return int(text)


_PROBLEMS = {
    WRONG_KINGS: (0, "board: each side needs exactly one king", "put one K and one k"),
    TOO_MANY_PIECES: (0, "board: more than 16 pieces of one side", "take some off"),
    TOO_MANY_PAWNS: (0, "board: more than 8 pawns of one side", "take some off"),
    PAWN_ON_EDGE: (0, "board: pawn on rank 1 or 8", "move or promote it"),
    KING_CAPTURABLE: (1, "side to move: could capture the king", "is it the other side's turn?"),
    WRONG_CASTLING: (2, "castling: two rooks on one side of the king", "name one on each side"),
    WRONG_EN_PASSANT: (3, "en passant square: no pawn has just passed it", "write -"),
}


def _explained(wrong: int, fields: list[str]) -> PositionError:
    """The error for a code of `problem`."""
    field, what, fix = _PROBLEMS[wrong]
    shown = " ".join(fields) if field else fields[0]
    return PositionError(f"FEN {what}", value=shown, fix=fix)


# --- writing ------------------------------------------------------------------------------------


def fen_of(position: np.record, shredder: bool = False) -> str:
    """The FEN of a position; castling as KQkq where that is unambiguous (X-FEN), or as files."""
    *boards, own, _their, castling, _key, clock, ply, target, side = position.item()
    passed = "-" if target == NO_SQUARE else square_name(target ^ FLIP * side)
    rights = _rights_text(castling, boards[3], boards[5], own, side, shredder)
    return f"{_board_text(boards, own, side)} {'wb'[side]} {rights} {passed} {clock} {ply // 2 + 1}"


def _board_text(boards: list[int], own: int, side: int) -> str:
    squares = ["1"] * 64
    for letter, board in zip("PNBRQK", boards, strict=True):
        letters = (letter, letter.lower()) if side == 0 else (letter.lower(), letter)
        while board:
            lowest = board & -board
            squares[lowest.bit_length() - 1] = letters[not own & lowest]
            board ^= lowest
    ranks = range(7, -1, -1) if side == 0 else range(8)
    text = "/".join("".join(squares[8 * rank : 8 * rank + 8]) for rank in ranks)
    for count in range(8, 1, -1):
        text = text.replace("1" * count, str(count))
    return text


def _rights_text(castling: int, rooks: int, kings: int, own: int, side: int, shredder: bool) -> str:
    text = ""
    for colour in (0, 1):
        first_rank = 0xFF if colour == side else 0xFF << 56
        mask = first_rank & (own if colour == side else ~own)
        for board in (castling & mask & -(kings & mask), castling & mask & ((kings & mask) - 1)):
            if board:
                letter = _right_text(board, rooks & mask, kings & mask, shredder)
                text += letter.upper() if colour == 0 else letter
    return text or "-"


def _right_text(right: int, rooks: int, king: int, shredder: bool) -> str:
    name = "k" if right > king else "q"
    if not shredder and _right(name, rooks, king) == right:
        return name
    return "abcdefgh"[(right.bit_length() - 1) & 7]


_CORNERS = 0x81 << 56 | 0x81
_HOMES = ((0xFF, 1 << 4), (0xFF << 56, 1 << 60))  # a back rank, where its king begins


def castles960(position: np.record) -> bool:
    """Whether a right to castle is one that ordinary chess does not have."""
    castling, own = int(position.castling), int(position.own)
    for (rank, home), side in zip(_HOMES, (own, ~own), strict=True):
        rooks, king = castling & rank, int(position.kings) & side & rank
        if rooks and (rooks & ~_CORNERS or king != home):
            return True
    return False


# --- Chess960 start positions -------------------------------------------------------------------

_KNIGHT_PLACES = [(first, second) for first in range(5) for second in range(first + 1, 5)]


def chess960_fen(number: int) -> str:
    """The start position with a number from 0 to 959 (518 is ordinary chess), as X-FEN."""
    if not 0 <= number < 960:
        raise PositionError("Chess960 start position", value=number, fix="expected 0 to 959")
    row = [""] * 8
    rest, light = divmod(number, 4)
    rest, dark = divmod(rest, 4)
    knights, queen = divmod(rest, 6)
    row[2 * light + 1] = row[2 * dark] = "b"
    _place(row, queen, "q")
    first, second = _KNIGHT_PLACES[knights]
    _place(row, second, "n")  # the further one first, so that the nearer keeps its count
    _place(row, first, "n")
    for piece in "rkr":
        _place(row, 0, piece)
    back = "".join(row)
    return f"{back}/pppppppp/8/8/8/8/PPPPPPPP/{back.upper()} w KQkq - 0 1"


def _place(row: list[str], free: int, piece: str) -> None:
    """Put a piece on the given one of the squares that are still free."""
    row[[file for file, there in enumerate(row) if not there][free]] = piece
