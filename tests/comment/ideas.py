"""Plain rules for what comments say of endings, traps and plans, for `checker`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

import chess


class Move(Protocol):
    """The move that a statement is about."""

    before: chess.Board
    move: chess.Move
    after: chess.Board

    @property
    def mover(self) -> bool: ...


def pushed(board: chess.Board, move: chess.Move) -> chess.Board:
    after = board.copy()
    after.push(move)
    return after


def takes(at: Move) -> list[chess.Board]:
    """The positions after what takes the piece that has moved."""
    replies = at.after.legal_moves
    return [pushed(at.after, one) for one in replies if one.to_square == at.move.to_square]


def stalemates_taker(at: Move, _: str) -> bool:
    return bool(takes(at)) and all(one.is_stalemate() for one in takes(at))


def less_than_a_queen(at: Move, text: str) -> bool:
    """What it became, and what a queen would have done."""
    if at.move.promotion in (None, chess.QUEEN):
        return False
    queen = pushed(at.before, chess.Move(at.move.from_square, at.move.to_square, chess.QUEEN))
    named = str(chess.PIECE_NAMES[at.move.promotion or 0]) in text
    if "stalemate" in text:
        return named and queen.is_stalemate()
    return named and ("check" not in text or (at.after.is_check() and not queen.is_check()))


def nothing_to_pass_with(at: Move, _: str) -> bool:
    """The side to move is not in check, has moves, and few pieces are left."""
    pieces = at.after.occupied & ~at.after.pawns & ~at.after.kings
    return not at.after.is_check() and any(at.after.legal_moves) and chess.popcount(pieces) <= 6


def move_lost(at: Move, text: str) -> bool:
    """The same pieces stood there a few moves ago, with the other side to move."""
    board = at.after.copy()
    for _ in range(8):
        if not board.move_stack:
            return False
        board.pop()
        if board.board_fen() == at.after.board_fen():
            return board.turn != at.after.turn and ("White" in text) == at.after.turn
    return False


def caught(board: chess.Board, pawn: int) -> bool:
    """Whether a king comes to a pawn in time, both running straight on."""
    white = board.color_at(pawn)
    king, turn, square = board.king(not white), board.turn, pawn
    assert king is not None
    goal = chess.square(pawn % 8, 7 if white else 0)
    while square != goal:
        if turn == white:
            start = square // 8 == (1 if white else 6)
            square += (16 if start else 8) * (1 if white else -1)
        else:
            near = (one for one in chess.SquareSet(chess.BB_KING_ATTACKS[king]))
            king = min(near, key=lambda one: (chess.square_distance(one, goal), one))
        turn = not turn
    return (chess.square_distance(king, goal) <= 1 and turn != white) or king == goal


def out_of_reach(at: Move, text: str) -> bool:
    pawn = chess.parse_square(re.findall(r"pawn on (\w\d)", text)[0])
    return at.after.piece_type_at(pawn) == chess.PAWN and not caught(at.after, pawn)


def in_reach(at: Move, text: str) -> bool:
    pawn = chess.parse_square(re.findall(r"pawn on (\w\d)", text)[0])
    return at.after.piece_type_at(pawn) == chess.PAWN and caught(at.after, pawn)


def helps_pawn(at: Move, text: str) -> bool:
    """The king has come nearer to the square before a passed pawn of its side."""
    pawn = chess.parse_square(re.findall(r"pawn on (\w\d)", text)[0])
    ahead, came, went = pawn + (8 if at.mover else -8), at.move.from_square, at.move.to_square
    king = at.after.piece_type_at(went) == chess.KING
    nearer = chess.square_distance(went, ahead) < chess.square_distance(came, ahead)
    return king and nearer and at.after.piece_at(pawn) == chess.Piece(chess.PAWN, at.mover)


def only_pawns(board: chess.Board) -> bool:
    return board.occupied == board.pawns | board.kings


def breaks(at: Move, _: str) -> bool:
    pawns = [one.is_valid() for one in takes(at)]
    return only_pawns(at.before) and bool(pawns)


def trades_down(at: Move, _: str) -> bool:
    """Something that takes back leaves kings and pawns."""
    return at.before.is_capture(at.move) and any(map(only_pawns, takes(at)))


def outside(at: Move, text: str) -> bool:
    square = chess.parse_square(re.findall(r"\b[a-h][1-8]\b", text)[-1])
    theirs = at.after.pieces(chess.PAWN, not at.mover)
    return only_pawns(at.after) and all(abs(one % 8 - square % 8) > 2 for one in theirs)


def rooks_and_pawn(at: Move, text: str) -> bool:
    """Rook and pawn against rook, the named set-up: rook on the sixth, or king before its pawn."""
    board = at.after
    if sorted(one.symbol().lower() for one in board.piece_map().values()) != list("kkprr"):
        return False
    pawn = next(iter(chess.SquareSet(board.pawns)))
    white = bool(board.color_at(pawn))
    if "Philidor" in text:
        rook = next(iter(board.pieces(chess.ROOK, not white)))
        return white != at.mover and rook // 8 == (5 if white else 2)
    goal = pawn + (8 if white else -8)
    return white == at.mover and board.king(white) == goal and goal // 8 in (0, 7)


def wrong_corner(at: Move, text: str) -> bool:
    side = "White" in text
    king, bishops = at.after.king(side), list(at.after.pieces(chess.BISHOP, not side))
    if king not in (chess.A1, chess.A8, chess.H1, chess.H8) or not bishops:
        return False
    return all((one // 8 + one % 8 + king // 8 + king % 8) % 2 for one in bishops)


def nowhere_to_go(at: Move, text: str) -> bool:
    """Every move of the piece that is named can be answered by taking it."""
    square = chess.parse_square(re.findall(r"on (\w\d)", text)[0])
    moves = [one for one in at.after.legal_moves if one.from_square == square]
    boards = [pushed(at.after, one) for one in moves]
    return bool(moves) and all(
        board.is_attacked_by(at.mover, one.to_square)
        for board, one in zip(boards, moves, strict=True)
    )


def lost_anyway(at: Move, _: str) -> bool:
    square = at.move.from_square
    attacked = at.before.is_attacked_by(not at.mover, square)
    return attacked and at.before.is_capture(at.move) and bool(takes(at))


def discovered(at: Move, _: str) -> bool:
    return at.after.is_check() and at.move.to_square not in at.after.checkers()


def is_quiet(at: Move, _: str) -> bool:
    return not at.before.is_capture(at.move) and not at.after.is_check()


def minority(at: Move, _: str) -> bool:
    pawns = [
        sum(one % 8 < 3 for one in at.after.pieces(chess.PAWN, side))
        for side in (at.mover, not at.mover)
    ]
    return pawns == [2, 3] and at.move.to_square % 8 == 1


def knight_and_bishop(at: Move, text: str) -> bool:
    board = at.after
    knights = board.pieces(chess.KNIGHT, at.mover)
    return len(knights) == 1 and ("White" in text) == at.mover and bool(board.bishops)


def shade_left(at: Move, text: str) -> bool:
    """A bishop on squares of that colour was taken, and the side that is named has none."""
    side, light = "White" in text, "light" in text
    left = [one for one in at.after.pieces(chess.BISHOP, side) if (one // 8 + one % 8) % 2 == light]
    return at.before.is_capture(at.move) and side != at.mover and not left


def file_to_king(at: Move, text: str) -> bool:
    file = ord(re.findall(r"the (\w)-file", text)[0]) - ord("a")
    king = at.after.king(not at.mover)
    pawns = [one for one in chess.SquareSet(at.after.pawns) if one % 8 == file]
    return king is not None and king % 8 == file and not pawns


def into_attack(at: Move, text: str) -> bool:
    king = at.after.king(at.mover)
    assert king is not None
    ring = chess.SquareSet(chess.BB_KING_ATTACKS[king])
    pieces = (chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)
    units = [one for kind in pieces for one in at.after.pieces(kind, not at.mover)]
    near = sum(bool(at.after.attacks(one) & ring) for one in units)
    return at.before.is_castling(at.move) and f" {near} pieces" in text


def through(at: Move, text: str) -> bool:
    """The square and the piece that is named lie on a line with a slider of the mover."""
    square, by = (chess.parse_square(one) for one in re.findall(r"\b[a-h][1-8]\b", text)[:2])
    sliders = chess.SquareSet(at.before.rooks | at.before.queens | at.before.bishops)
    return any(
        by in chess.SquareSet(chess.between(one, square))
        for one in sliders
        if at.before.color_at(one) == at.mover
    )


def answered(at: Move, text: str) -> bool:
    """The answer that is named can be given to the other move, or to the one it is about."""
    named = [one.rstrip(".,") for one in re.findall(r"\d+\.+(\S+)", text)]
    board = at.before.copy() if len(named) > 1 else at.after.copy()
    try:
        for one in named:
            board.push_san(one)
    except ValueError:
        return False
    return bool(named)


def fails_after(at: Move, text: str) -> bool:
    """The other side can take the piece named, and the answer named can be given."""
    capture, answer = [one.rstrip(".,") for one in re.findall(r"\d+\.+(\S+)", text)][:2]
    try:
        taken = at.after.parse_san(capture)
        pushed(at.after, taken).parse_san(answer)
    except ValueError:
        return False
    return chess.square_name(taken.to_square) in text and at.after.is_capture(taken)


Check = Callable[[Move, str], bool]
IDEAS: list[tuple[str, str, Check]] = [
    ("stalemate trick", r"to take it is stalemate", stalemates_taker),
    ("stalemated", r"^This is stalemate", lambda at, _: at.after.is_stalemate()),
    ("underpromotion", r"\bmakes a \w+, (?:as|which)", less_than_a_queen),
    ("zugzwang", r"in zugzwang|mutual zugzwang", nothing_to_pass_with),
    ("triangulation", r"triangulation", move_lost),
    ("out of reach", r"outside the square", out_of_reach),
    ("in reach", r"into the square of", in_reach),
    ("helps pawn", r"(?:help|aid of) the passed pawn", helps_pawn),
    ("breakthrough", r"breaks through", breaks),
    ("trades down", r"simplifies into", trades_down),
    ("outside passed", r"outside passed", outside),
    ("named ending", r"Philidor's defence: the rook|Lucena position", rooks_and_pawn),
    ("wrong bishop", r"wrong colour", wrong_corner),
    ("domination", r"without a safe move", nowhere_to_go),
    ("desperado", r"as dearly as", lost_anyway),
    ("windmill", r"windmill", discovered),
    ("quiet", r"is a quiet move", is_quiet),
    ("minority", r"minority attack", minority),
    ("good knight", r"good knight", knight_and_bishop),
    ("weak squares", r"(?:dark|light) squares around", shade_left),
    ("king's file", r"king in the centre", file_to_king),
    ("into attack", r"castles into", into_attack),
    ("x-ray", r"guards \w\d through", through),
    ("natural", r"which fails to", answered),
    ("indirectly", r"\w\d (?:indirectly|by tactics): .* fails to", fails_after),
    ("named trap", r"springs the", lambda at, _: at.after.fullmove_number <= 20),
]
