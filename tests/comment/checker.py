"""Reads annotated games, takes every statement out of their comments and counts the false ones.

    python -m tests.comment.checker ANNOTATED.pgn [--engine STOCKFISH] [--nodes N] [--show]

It shares no code with what makes comments: python-chess, plain rules and, for what is tactical, an
outside engine. A sentence with no statement that is understood is counted apart.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path

import chess
import chess.engine
import chess.pgn
import chess.syzygy

from tests.comment.ideas import IDEAS
from tests.comment.stories import (
    KEPT,
    LOOSE,
    Turn,
    better_named,
    limits_of,
    sentences,
    story_statements,
)

KINDS = {name: kind for kind, name in enumerate(chess.PIECE_NAMES) if name}
WORTH = {1: 1, 2: 3, 3: 3, 4: 5, 5: 9, 6: 0}
UNIT = r"the (?:king|(?:pawn|knight|bishop|rook|queen) on [a-h][1-8])"
MOVE = r"\d+\.(?:\.\.)?(?:O-O(?:-O)?|[KQRBNa-h][\w=]*)[+#]?"
SAN = r"(?:O-O(?:-O)?|[KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](?:=[QRBN])?)[+#]?"
LINE = rf"{MOVE}(?: (?:\d+\.)?{SAN})+"  # an answer and the moves after it
SQUARE = re.compile(r"\b[a-h][1-8]\b")
COUNTS = {"a": 1, "two": 2, "three": 3, "four": 4, "five": 5, "no": 0}


@dataclass
class At:
    """The move that a statement is about."""

    before: chess.Board
    move: chess.Move
    after: chess.Board
    played: chess.Move | None = None  # in its place, if this move was not made
    values: frozenset[str] = frozenset()  # scores that the PGN has around it

    @property
    def mover(self) -> bool:
        return self.before.turn


def subject(board: chess.Board, text: str) -> At | None:
    """A numbered move of a position, if it is legal there."""
    number, _, san = text.rpartition(".")
    black = number.endswith("..")
    if board.turn == black or int(number.strip(".")) != board.fullmove_number:
        return None
    try:
        move = board.parse_san(san)
    except ValueError:
        return None
    after = board.copy()
    after.push(move)
    return At(board, move, after)


def units(text: str) -> list[tuple[int, int | None]]:
    """The pieces named in a text; a king has no square."""
    found = []
    for name, square in re.findall(
        r"the (king|pawn|knight|bishop|rook|queen)(?: on ([a-h][1-8]))?", text
    ):
        if name == "king" or square:
            found.append((KINDS[name], chess.parse_square(square) if square else None))
    return found


def place(board: chess.Board, piece: tuple[int, int | None], white: bool) -> int | None:
    """The square of a named piece of a side, if it is there."""
    kind, square = piece
    if square is None:
        return board.king(white)
    return square if board.piece_at(square) == chess.Piece(kind, white) else None


def attacked(at: At, text: str) -> bool:
    """All pieces named are the other side's and attacked by the piece that moved."""
    squares = [place(at.after, one, not at.mover) for one in units(text)]
    seen = at.after.attacks(at.move.to_square)
    return bool(squares) and all(one is not None and one in seen for one in squares)


def pinned(at: At, text: str) -> bool:
    """The first piece stands between an attacker of the mover and the second."""
    pieces = [place(at.after, one, not at.mover) for one in units(text)]
    if len(pieces) < 2 or None in pieces[:2]:
        return False
    front, back = pieces[0], pieces[1]
    assert front is not None
    assert back is not None
    without = at.after.copy()
    without.remove_piece_at(front)
    new = without.attackers(at.mover, back) - at.after.attackers(at.mover, back)
    return any(front in at.after.attacks(one) for one in new)


def into_pin(at: At, text: str) -> bool:
    """The moved piece stands between an enemy piece and the other that is named."""
    front, back = (place(at.after, one, at.mover) for one in units(text.lower())[:2])
    if front != at.move.to_square or back is None:
        return False
    without = at.after.copy()
    without.remove_piece_at(front)
    new = without.attackers(not at.mover, back) - at.after.attackers(not at.mover, back)
    return any(front in at.after.attacks(one) for one in new)


def pressed(at: At, text: str) -> bool:
    """A piece that is pinned already is attacked by one more, if only through another attacker."""
    board, front = at.after.copy(), place(at.after, units(text)[0], not at.mover)
    if front is None or not pinned(replace(at, after=at.before), text):
        return False
    for one in chess.SquareSet(chess.between(at.move.to_square, front)):
        if board.is_attacked_by(at.mover, front) and front in board.attacks(one):
            board.remove_piece_at(one)
    return front in board.attacks(at.move.to_square)


def discovered(at: At, text: str) -> bool:
    """A piece of the mover, not the one that moved, attacks a piece that it did not attack."""
    pieces = units(text)
    by = next((s for one in pieces if (s := place(at.after, one, at.mover)) is not None), None)
    target = next(
        (s for one in pieces if (s := place(at.after, one, not at.mover)) is not None), None
    )
    if "check" in text:
        by = place(at.after, pieces[0], at.mover) if pieces else None
        target = at.after.king(not at.mover)
    if by is None or target is None or by == at.move.to_square:
        return False
    return target in at.after.attacks(by) and target not in at.before.attacks(by)


def passed(board: chess.Board, square: int, white: bool) -> bool:
    """No enemy pawn on the three files before the pawn, and it is a pawn."""
    if board.piece_at(square) != chess.Piece(chess.PAWN, white):
        return False
    for enemy in board.pieces(chess.PAWN, not white):
        ahead = enemy // 8 > square // 8 if white else enemy // 8 < square // 8
        if ahead and abs(enemy % 8 - square % 8) <= 1:
            return False
    return True


def isolated(board: chess.Board, square: int, white: bool) -> bool:
    if board.piece_at(square) != chess.Piece(chess.PAWN, white):
        return False
    return all(abs(one % 8 - square % 8) != 1 for one in board.pieces(chess.PAWN, white))


def side(text: str) -> bool:
    return "White" in text


def square_in(text: str) -> int:
    """The last square named, not one of a line that follows a colon."""
    said, _, line = text.partition(": ")
    return chess.parse_square((SQUARE.findall(said) or SQUARE.findall(line))[-1])


def pawns_on(board: chess.Board, white: bool, text: str) -> int:
    file = ord(re.findall(r"\b([a-h])-(?:file|pawn)", text)[0]) - ord("a")
    return sum(one % 8 == file for one in board.pieces(chess.PAWN, white))


def pair(board: chess.Board, white: bool) -> bool:
    shades = {(one // 8 + one % 8) % 2 for one in board.pieces(chess.BISHOP, white)}
    return len(shades) == 2


# What a threat does.
THREATENED = re.compile(rf"(?:threat(?:ens)?|prepares) ({MOVE}), and that(?: (.*)|$)")


def threatened(at: At, text: str) -> tuple[At, str] | None:
    """The move that is said to be threatened, as a move after a pass, and what it is said to do."""
    found = THREATENED.search(text)
    if found is None or found[2] is None or at.after.is_check():
        return None
    board = at.after.copy()
    board.push(chess.Move.null())
    about = subject(board, found[1])
    return None if about is None else (about, found[2])


def of_what_is_met(at: At, text: str) -> tuple[At, str] | None:
    """A reply that is met, and what it is said to threaten."""
    found = re.search(rf"(?:meets|answers) ({MOVE}), which (threatens {MOVE})", text)
    then = subject(at.after, found[1]) if found else None
    return (then, found[2]) if found and then is not None else None


def threat(at: At, text: str) -> bool:
    """The move named is legal after a pass, and takes something or mates; or a mate is there.

    Where it is said what else it does, that is read by itself. What a move that is met threatens
    is a threat of that move.
    """
    if (met_there := of_what_is_met(at, text)) is not None:
        return threat(*met_there)
    if at.after.is_check():
        return False
    board = at.after.copy()
    board.push(chess.Move.null())
    if mate := re.search(r"threat\w* (?:of )?mate in (\d)", text):
        return mates_in(board, int(mate[1]))
    san = re.findall(MOVE, text)[-1].rpartition(".")[2]
    try:
        move = board.parse_san(san)
    except ValueError:
        return False
    captures = board.is_capture(move) or THREATENED.search(text) is not None
    board.push(move)
    return board.is_checkmate() if "mate" in text or "#" in san else captures


def takes_that_kind(at: At, text: str) -> bool:
    """Of a knight and a bishop it is not the other one that is won by what a move takes."""
    minors = {chess.KNIGHT: "knight", chess.BISHOP: "bishop"}
    taken = at.before.piece_type_at(at.move.to_square) if at.before.is_capture(at.move) else None
    if taken not in minors or at.played is not None or ":" in text:
        return True
    won = re.search(r"(?:wins|nets|gains) ([^:]*)", text.partition(" for ")[0])
    named = {name for name in minors.values() if won and name in won[1]}
    return not named or minors[taken] in named


def parried(at: At, text: str) -> bool:
    """A named piece of the mover stands, or a named move of the other side is no mate any more."""
    named = re.findall(MOVE, text)
    pieces = [place(at.before, one, at.mover) for one in units(text)]
    if pieces and None in pieces:
        return False
    if named and "#" in named[0]:
        try:
            move = at.after.parse_san(named[0].rpartition(".")[2])
        except ValueError:
            return True
        board = at.after.copy()
        board.push(move)
        return not board.is_checkmate()
    return bool(pieces or named or "mate" in text)


def named_pieces_exist(at: At, text: str) -> bool:
    """Every piece named stands there before or after the move."""
    return all(
        any(
            place(board, one, white) is not None
            for board in (at.before, at.after)
            for white in (True, False)
        )
        for one in units(text)
    )


def guard_taken(at: At, text: str) -> bool:
    pieces = units(text)
    if len(pieces) < 2:
        return False
    taken, target = pieces[0], pieces[-1]
    square = place(at.before, taken, not at.mover)
    goal = place(at.before, target, not at.mover)
    return square == at.move.to_square and goal is not None and goal in at.before.attacks(square)


def loose(at: At, text: str) -> bool:
    if not units(text):
        return False
    square = place(at.before, units(text)[0], not at.mover)
    return square == at.move.to_square and not at.before.attackers(not at.mover, square)


def file_taken(at: At, text: str) -> bool:
    rook = at.after.piece_type_at(at.move.to_square) == chess.ROOK
    own = pawns_on(at.after, at.mover, text)
    other = pawns_on(at.after, not at.mover, text)
    return rook and own == 0 and (other > 0) == ("half-open" in text)


def outpost(at: At, text: str) -> bool:
    square = square_in(text)
    return square == at.move.to_square and is_outpost(at.after, square, at.mover)


def is_outpost(board: chess.Board, square: int, white: bool) -> bool:
    """Whether a pawn guards the square, and none of the other side can ever attack it."""
    guards = board.attackers(white, square) & board.pieces(chess.PAWN, white)
    enemies = [
        one
        for one in board.pieces(chess.PAWN, not white)
        if abs(one % 8 - square % 8) == 1
        and (one // 8 > square // 8) == white
        and one // 8 != square // 8
    ]
    return bool(guards) and not enemies


def knight_in(at: At, text: str) -> bool:
    """A knight of the mover stands on an outpost after the line."""
    board, square = after_line(at, text), square_in(text)
    there = board.piece_at(square) == chess.Piece(chess.KNIGHT, at.mover)
    return there and is_outpost(board, square, at.mover)


def seventh(at: At, text: str) -> bool:
    rank = 6 if "seventh" in text else 1
    return (
        at.move.to_square // 8 == rank and at.after.piece_type_at(at.move.to_square) == chess.ROOK
    )


def one_piece_each(at: At, text: str) -> bool:
    """Each side has one piece beside king and pawns, of the kinds named."""
    kinds = [
        [
            chess.PIECE_NAMES[piece.piece_type]
            for piece in at.after.piece_map().values()
            if piece.color == side and piece.piece_type not in (chess.PAWN, chess.KING)
        ]
        for side in (at.mover, not at.mover)
    ]
    named = re.findall(r"knight|bishop|rook", text)
    return [len(pieces) for pieces in kinds] == [1, 1] and {*kinds[0], *kinds[1]} == {*named}


def way_made(at: At, text: str) -> bool:
    """A pawn has left a square that the piece named attacked from behind it."""
    by = place(at.after, units(text)[0], at.mover)
    pawn = at.before.piece_type_at(at.move.from_square) == chess.PAWN
    return pawn and by is not None and at.move.from_square in at.after.attacks(by)


def no_pawn_beside(at: At, _: str) -> bool:
    """No pawn of the king in check stands beside it or nearer to the middle of the board."""
    king = at.after.king(not at.mover)
    assert king is not None
    forward = -1 if at.mover else 1
    return at.after.is_check() and not any(
        at.after.piece_at(square) == chess.Piece(chess.PAWN, not at.mover)
        and chess.square_rank(square) - chess.square_rank(king) in (0, forward)
        for square in chess.SquareSet(chess.BB_KING_ATTACKS[king])
    )


def opposite_bishops(at: At, _: str) -> bool:
    shades = [
        {(one // 8 + one % 8) % 2 for one in at.after.pieces(chess.BISHOP, white)}
        for white in (True, False)
    ]
    return len(shades[0]) == len(shades[1]) == 1 and shades[0] != shades[1]


def opposite_wings(at: At, _: str) -> bool:
    kings = [at.after.king(white) for white in (True, False)]
    files = sorted((king or 0) % 8 for king in kings)
    return at.before.is_castling(at.move) and files[0] <= 2 and files[1] >= 5


def can_castle_no_more(at: At, _: str) -> bool:
    return at.before.has_castling_rights(at.mover) and not at.after.has_castling_rights(at.mover)


def lined_up(at: At, text: str) -> bool:
    """Two named sliders and a square next to the king lie on one line with nothing between."""
    pieces = [place(at.after, one, at.mover) for one in units(text) if one[1] is not None]
    goal, king = square_in(text), at.after.king(not at.mover)
    if len(pieces) != 2 or None in pieces or king is None:
        return False
    back, front = (one or 0 for one in pieces)
    steps = [(goal % 8 - one % 8, goal // 8 - one // 8) for one in (front, back)]
    same = steps[0][0] * steps[1][1] == steps[0][1] * steps[1][0]
    near = max(abs(goal % 8 - king % 8), abs(goal // 8 - king // 8)) == 1
    seen = goal in at.after.attacks(front) and front in at.after.attacks(back)
    return same and near and seen and at.move.to_square in pieces


def rooks_on_file(at: At, text: str) -> bool:
    file = ord(re.findall(r"\b([a-h])-file", text)[0]) - ord("a")
    rooks = [one for one in at.after.pieces(chess.ROOK, at.mover) if one % 8 == file]
    return len(rooks) > 1 and pawns_on(at.after, at.mover, text) == 0


def rooks_linked(at: At, _: str) -> bool:
    home = 0 if at.mover else 7
    rooks = [one for one in at.after.pieces(chess.ROOK, at.mover) if one // 8 == home]
    between = range(min(rooks) + 1, max(rooks)) if len(rooks) == 2 else range(1)
    return len(rooks) == 2 and not any(at.after.piece_at(one) for one in between)


def minors_out(board: chess.Board, white: bool) -> int:
    start = chess.Board()
    return sum(
        start.piece_at(one) != chess.Piece(kind, white)
        for kind in (chess.KNIGHT, chess.BISHOP)
        for one in board.pieces(kind, white)
    )


def developed(at: At, text: str) -> bool:
    words = ["none", "one", "two", "three", "four"]
    mine, theirs = (minors_out(at.after, white) for white in (at.mover, not at.mover))
    return f"{words[mine]} minor pieces" in text and f"against {words[theirs]}" in text


def before_passed(at: At, text: str) -> bool:
    square = square_in(text)
    ahead = square + (-8 if at.mover else 8)
    return passed(at.after, square, not at.mover) and at.move.to_square == ahead


def before_isolated(at: At, text: str) -> bool:
    square = square_in(text)
    ahead = square + (-8 if at.mover else 8)
    return isolated(at.after, square, not at.mover) and at.move.to_square == ahead


def rook_behind(at: At, text: str) -> bool:
    square, rook = square_in(text), at.move.to_square
    pawn = at.after.piece_at(square)
    return (
        pawn is not None
        and passed(at.after, square, pawn.color)
        and at.after.piece_type_at(rook) == chess.ROOK
        and rook % 8 == square % 8
        and (rook < square) == pawn.color
    )


def cheaper_attacks(at: At, text: str) -> bool:
    by = WORTH[at.after.piece_type_at(at.move.to_square) or 6]
    target = units(text)[0]
    return attacked(at, text) and WORTH[target[0]] > by


def left_a_trade(at: At, _: str) -> bool:
    """Something of the same worth attacked the piece where it stood, and does not now."""
    left, kind = at.move.from_square, at.after.piece_type_at(at.move.to_square) or 6
    return any(
        WORTH[at.before.piece_type_at(one) or 6] == WORTH[kind]
        and at.move.to_square not in at.after.attacks(one)
        for one in at.before.attackers(not at.mover, left)
    )


def after_a_pass(at: At) -> chess.Board:
    board = at.after.copy()
    board.push(chess.Move.null())
    return board


def may_castle_now(at: At, _: str) -> bool:
    """The mover could castle next, and could not before the move."""
    now, had = after_a_pass(at).legal_moves, [*at.before.legal_moves]
    return any(at.before.is_castling(one) and one not in had for one in now)


def may_go_on(at: At, text: str) -> bool:
    """What moved could go on to the square, or by the move, that is named."""
    board = after_a_pass(at)
    to = SQUARE.findall(text)[-1]
    return any(
        one.from_square == at.move.to_square and chess.square_name(one.to_square) == to
        for one in board.legal_moves
    )


def pawn_attacks(at: At, text: str) -> bool:
    return at.after.piece_type_at(at.move.to_square) == chess.PAWN and attacked(at, text)


def ahead_in_trade(at: At, text: str) -> bool:
    more = material(at.after, at.mover) > 0
    kind = KINDS[re.findall(r"trades (\w+)s\b", text)[0]]
    return more and at.before.piece_type_at(at.move.to_square) == kind


def two_passed(at: At, text: str) -> bool:
    squares = [chess.parse_square(one) for one in re.findall(r"\b[a-h][1-8]\b", text)]
    beside = len(squares) == 2 and abs(squares[0] % 8 - squares[1] % 8) == 1
    return beside and all(passed(at.after, one, at.mover) for one in squares)


def left_behind(at: At, text: str) -> bool:
    """A pawn whose neighbours are all ahead, on a half-open file, before a watched square."""
    square, white = square_in(text), side(text)
    if at.after.piece_at(square) != chess.Piece(chess.PAWN, white):
        return False
    way = 1 if white else -1
    near = [one for one in at.after.pieces(chess.PAWN, white) if abs(one % 8 - square % 8) == 1]
    enemies = at.after.pieces(chess.PAWN, not white)
    stop = (square % 8, square // 8 + way)
    watched = any((abs(e % 8 - stop[0]), e // 8 - stop[1]) == (1, way) for e in enemies)
    half_open = not any(one % 8 == square % 8 for one in enemies)
    return (
        bool(near)
        and all((one // 8 - square // 8) * way > 0 for one in near)
        and (watched and half_open)
    )


def hanging(at: At, text: str) -> bool:
    white = side(text)
    squares = {chess.parse_square(one) for one in re.findall(r"\b[a-h][1-8]\b", text)}
    pawns = at.after.pieces(chess.PAWN, white)
    near = {one for one in pawns if 1 <= one % 8 <= 4}
    enemies = {one % 8 for one in at.after.pieces(chess.PAWN, not white)}
    return near == squares and len({one // 8 for one in squares}) == 1 and not enemies & {2, 3}


def shut_in(at: At, text: str) -> bool:
    square, white = units(text)[0][1], side(text)
    if square is None or at.after.piece_at(square) != chess.Piece(chess.BISHOP, white):
        return False
    fixed = [
        one
        for one in at.after.pieces(chess.PAWN, white)
        if (one % 8 + one // 8 - square % 8 - square // 8) % 2 == 0
        and at.after.piece_at(one + (8 if white else -8)) == chess.Piece(chess.PAWN, not white)
    ]
    words = ["none", "one", "two", "three", "four", "five"]
    return len(fixed) >= 3 and f"{words[len(fixed)]} of" in text


def file_opened(at: At, text: str) -> bool:
    own, other = (pawns_on(at.after, white, text) for white in (True, False))
    had = sum(pawns_on(at.before, white, text) for white in (True, False))
    return own + other == 0 < had


def king_bared(at: At, text: str) -> bool:
    """The file that is named, beside the king of the side that is, has lost its pawns."""
    white = "White" in text
    king, found = at.after.king(white), re.search(r"\b([a-h])-pawn", text)
    assert king is not None
    assert found is not None
    near = abs("abcdefgh".index(found[1]) - king % 8) <= 1
    return near and pawns_on(at.after, white, text) == 0 < pawns_on(at.before, white, text)


def escape(at: At, text: str) -> bool:
    square, king = square_in(text), at.after.king(at.mover)
    assert king is not None
    near = max(abs(square % 8 - king % 8), abs(square // 8 - king // 8)) == 1
    free = at.after.piece_at(square) is None
    return near and free and not at.after.attackers(not at.mover, square)


def king_nearer(at: At, _: str) -> bool:
    def far(square: int) -> float:
        return max(abs(square % 8 - 3.5), abs(square // 8 - 3.5))

    king = at.after.piece_type_at(at.move.to_square) == chess.KING
    return king and far(at.move.to_square) < far(at.move.from_square)


def opposed(at: At, _: str) -> bool:
    one, two = at.after.king(True), at.after.king(False)
    assert one is not None
    assert two is not None
    apart = sorted((abs(one % 8 - two % 8), abs(one // 8 - two // 8)))
    return apart == [0, 2] and not at.after.occupied & ~(at.after.kings | at.after.pawns)


def on_the_way(at: At, text: str) -> bool:
    """The knight can go on to the outpost named."""
    square = square_in(text)
    there = At(at.before, chess.Move(at.move.to_square, square), at.after)
    return square in at.after.attacks(at.move.to_square) and outpost(there, text)


def supported(at: At, text: str) -> bool:
    """The pawn move named is legal after a pass, and the piece that moved guards its goal."""
    board = at.after.copy()
    board.push(chess.Move.null())
    try:
        move = board.parse_san(re.findall(MOVE, text)[-1].rpartition(".")[2])
    except ValueError:
        return False
    seen = move.to_square in at.after.attacks(at.move.to_square)
    return board.piece_type_at(move.from_square) == chess.PAWN and seen


def unlike_pieces(at: At, text: str) -> bool:
    """The pieces that each side has more of, as they are named."""
    mine, theirs = re.findall(r"with (.*) against (.*)", text)[0]
    found = []
    for words in (mine, theirs):
        numbers = re.findall(r"(a|two|three) (queen|rook|bishop|knight)", words)
        found.append({KINDS[name]: COUNTS[number] for number, name in numbers})
    white = at.mover
    for kind in (2, 3, 4, 5):
        more = len(at.after.pieces(kind, white)) - len(at.after.pieces(kind, not white))
        if found[0].get(kind, 0) - found[1].get(kind, 0) != more:
            return False
    return True


def impossible(at: At, text: str) -> bool:
    """The move named of the other side is not legal after the move."""
    try:
        at.after.parse_san(re.findall(MOVE, text)[-1].rpartition(".")[2])
    except ValueError:
        return True
    return False


def mates_in(board: chess.Board, moves: int) -> bool:
    """Whether the side to move mates within so many moves, by trying everything."""
    for move in board.legal_moves:
        board.push(move)
        found = board.is_checkmate() or (moves > 1 and mated_in(board, moves - 1))
        board.pop()
        if found:
            return True
    return False


def mated_in(board: chess.Board, moves: int) -> bool:
    """Whether every move of the side to move allows mate within so many moves."""
    replies = list(board.legal_moves)
    for move in replies:
        board.push(move)
        found = mates_in(board, moves)
        board.pop()
        if not found:
            return False
    return bool(replies)


def mate_statement(at: At, text: str) -> bool:
    """Mate in so many moves after the move, or with it as the first one."""
    found = re.search(r"mate[sd]? in (\d+)", text)
    count = int(found.group(1)) if found else 1
    if count > 2:
        return True  # left to the engine
    named = re.findall(MOVE, text)
    if named:  # a mate that begins with another move, of either side
        for board in (at.after, at.before):
            other = subject(board, named[0])
            if other is not None:
                return (
                    count > 1 and mated_in(other.after, count - 1)
                ) or other.after.is_checkmate()
        return False
    if "force" in text or "by force" in text or "next move" in text:
        return mated_in(at.after.copy(), count)
    return at.after.is_checkmate() if count == 1 else mated_in(at.after.copy(), count - 1)


def given(at: At, text: str) -> bool:
    """The piece named can be taken; a king kept from castling had the right, one is driven out."""
    found = anywhere(text)
    named = place(at.after, found[0], at.mover) if found else None
    takes = [
        at.after.piece_type_at(move.to_square)
        for move in at.after.legal_moves
        if at.after.is_capture(move) and named in (None, move.to_square)
    ]
    rights = "castling" not in text or at.before.has_castling_rights(not at.mover)
    rank = square_in(text) // 8 if "drive" in text else 0
    out = "drive" not in text or (7 - rank if at.mover else rank) >= 2
    return kind_given(text) in takes and rights and out


def mate_if_taken(at: At, text: str) -> bool:
    """Whatever takes the piece named, the mover mates, by the move named or in so many moves."""
    square = place(at.after, anywhere(text)[0], at.mover)
    takes = [one for one in at.after.legal_moves if one.to_square == square]
    moves, named = re.search(r"mate in (\d+)", text), re.search(MOVE, text)
    for take in takes:
        board = at.after.copy()
        board.push(take)
        mate = subject(board, named.group()) if named else None
        if named and not moves and not (mate and mate.after.is_checkmate()):
            return False
        if moves and int(moves[1]) <= 2 and not mates_in(board, int(moves[1])):
            return False  # longer ones are left to the engine
    return bool(takes) and bool(moves or named)


def kind_given(text: str) -> int:
    """The kind of piece that a sentence says is given, 0 for none."""
    word = re.search(r"(?:sacrifices|gives up|offers) (?:a|the) (\w+)", text)
    return 4 if word and word[1] == "exchange" else KINDS.get(word[1], 0) if word else 0


def mate_now(at: At, text: str) -> bool:
    """Checkmate: by two checks, or by a piece that only the other piece named guards."""
    squares = [place(at.after, one, at.mover) for one in units(text)]
    if len(squares) == 2:
        two = {one for one in squares if one is not None}
        guards = set(at.after.attackers(at.mover, at.move.to_square))
        if two != {at.move.to_square, *guards} or len(guards) != 1:
            return False
    double = "double" not in text or len(at.after.checkers()) == 2
    return at.after.is_checkmate() and double


def anywhere(text: str) -> list[tuple[int, int]]:
    """Pieces named with their squares, whatever word stands before them."""
    found = re.findall(r"(pawn|knight|bishop|rook|queen) on ([a-h][1-8])", text)
    return [(KINDS[name], chess.parse_square(square)) for name, square in found]


def taken(at: At, text: str) -> bool:
    """The move takes the piece named."""
    return any(at.move.to_square == place(at.before, one, not at.mover) for one in units(text))


def unguarded(at: At, text: str) -> bool:
    """The piece that moved attacks the one named, which no piece of its own side guards.

    What is threatened may be attacked by another one.
    """
    square = place(at.after, anywhere(text)[0], not at.mover)
    if square is None or at.after.attackers(not at.mover, square):
        return False
    other = bool(re.search(MOVE, text)) and bool(at.after.attackers(at.mover, square))
    return other or square in at.after.attacks(at.move.to_square)


def worth_more(at: At, text: str) -> bool:
    """The piece named is worth more than the one that would take it."""
    board = at.after.copy()
    board.push(chess.Move.null())
    taker = board.parse_san(re.findall(MOVE, text)[0].rpartition(".")[2]).from_square
    kind, word = board.piece_type_at(taker) or 6, re.findall(r"than the (\w+)", text)[0]
    return KINDS[word] == kind and WORTH[anywhere(text)[0][0]] > WORTH[kind]


def newly_guarded(at: At, text: str) -> bool:
    """The piece named was attacked and not guarded, and the piece that moved guards it."""
    square = place(at.after, anywhere(text)[0], at.mover)
    if square is None or at.before.attackers(at.mover, square):
        return False
    attackers = at.before.attackers(not at.mover, square)
    return bool(attackers) and square in at.after.attacks(at.move.to_square)


def attacked_by(at: At, text: str) -> bool:
    """The last piece named attacked the first one."""
    target, by = (units(text)[one] for one in (0, -1))
    aim, origin = place(at.before, target, at.mover), place(at.before, by, not at.mover)
    return aim is not None and origin is not None and aim in at.before.attacks(origin)


def occurs(at: At, text: str) -> bool:
    """The position has occurred so many times."""
    times = {"second": 2, "third": 3, "fourth": 4, "fifth": 5}
    return at.after.is_repetition(times[re.findall(r"for the (\w+) time", text)[0]])


def reply_named(at: At, text: str) -> chess.Move | None:
    """The move of the other side that a text names, if it is legal."""
    found = subject(at.after, re.findall(MOVE, text)[-1])
    return found.move if found else None


def can_be_taken(at: At, text: str) -> bool:
    """The piece that moved is the one named, and the reply named takes it."""
    reply = reply_named(at, text)
    square = place(at.after, anywhere(text)[0], at.mover)
    return square == at.move.to_square and reply is not None and reply.to_square == square


def abandoned(at: At, text: str) -> bool:
    """The piece named last was guarded by the one that moved, is so no more, and can be taken."""
    reply, square = reply_named(at, text), units(text)[-1][1]
    assert square is not None
    guarded = square in at.before.attacks(at.move.from_square)
    still = square in at.after.attacks(at.move.to_square)
    takes = reply is not None and reply.to_square == square
    return guarded and not still and takes and place(at.after, units(text)[-1], at.mover) == square


def let_go(at: At, text: str) -> bool:
    """The piece that moved guarded the other one named, and does so no more."""
    squares = {square for _, square in anywhere(text)} - {at.move.to_square}
    guarded = squares & {*at.before.attacks(at.move.from_square)}
    return bool(squares) and squares == guarded - {*at.after.attacks(at.move.to_square)}


def guards(at: At, text: str) -> bool:
    """The piece that moved guards the one named, of its own side."""
    square = place(at.after, anywhere(text)[0], at.mover)
    return square is not None and square in at.after.attacks(at.move.to_square)


def met(at: At, text: str) -> bool:
    """The reply named, and its answer, are possible; what is lost to it is not just exchanged."""
    board = at.after.copy()
    reply, answer = (move.rpartition(".")[2] for move in re.findall(MOVE, text)[-2:])
    try:
        board.push_san(reply)
        goal = board.parse_san(answer).to_square
    except ValueError:
        return False
    there = board.piece_type_at(goal)
    if " loses the " not in text or there is None:
        return True
    return won_on(board, goal) >= min(WORTH[there], 2)


def won_on(board: chess.Board, square: int) -> int:
    """Pawns' worth that the side to move wins by captures on a square, if it wants to."""
    takes = list(board.generate_legal_captures(to_mask=chess.BB_SQUARES[square]))
    there = board.piece_type_at(square)
    if not takes or there is None:
        return 0
    least = min(takes, key=lambda move: WORTH[board.piece_type_at(move.from_square) or 6] or 99)
    then = board.copy(stack=False)
    then.push(least)
    return max(0, WORTH[there] - won_on(then, square))


def blocks_no_more(at: At, text: str) -> bool:
    """The piece that moved stood right before the pawn named, of the other side."""
    kind, square = anywhere(text)[-1]
    before = square + (8 if not at.mover else -8)
    pawn = place(at.before, (kind, square), not at.mover)
    return kind == chess.PAWN and pawn == square and at.move.from_square == before


def file_left(at: At, text: str) -> bool:
    """A pawn of the mover's has left the file, no pawn is there any more, and its king is near."""
    left = at.before.piece_type_at(at.move.from_square) == chess.PAWN
    file, king = "abcdefgh".index(text[text.index("-file") - 1]), at.after.king(at.mover)
    assert king is not None
    gone = not at.after.pawns & chess.BB_FILES[file]
    return left and gone and at.move.from_square % 8 == file and abs(king % 8 - file) <= 1


def cannot_take_back(at: At, text: str) -> bool:
    """Something takes on the square named, the piece named is pinned then, and nothing retakes."""
    piece, goal = anywhere(text)[0], chess.parse_square(SQUARE.findall(text)[-1])
    for move in at.after.generate_legal_captures(to_mask=chess.BB_SQUARES[goal]):
        board = at.after.copy()
        board.push(move)
        square = place(board, piece, at.mover)
        back = any(board.generate_legal_moves(to_mask=chess.BB_SQUARES[goal]))
        if square is not None and board.is_pinned(at.mover, square) and not back:
            return True
    return False


def line_open(at: At, text: str) -> bool:
    """The moved piece stood between the two pieces, on a line with them."""
    [by, target] = [square for _, square in units(text)[:2]]
    if by is None or target is None:
        return False
    there = at.before.color_at(by) == (not at.mover) and at.before.color_at(target) == at.mover
    return there and bool(chess.between(by, target) & chess.BB_SQUARES[at.move.from_square])


def gone_back(at: At, text: str) -> bool:
    """The moved piece stands where it was: after the line, or before an earlier move of its own."""
    if line := re.search(rf"{MOVE}(?: (?:\d+\.)?{SAN})*", text):
        home, after = at.move.from_square, after_line(at, line.group())
        return after.piece_at(home) == at.before.piece_at(home)
    moves = (move for move in reversed(at.before.move_stack))
    came = next((move for move in moves if move.to_square == at.move.from_square), None)
    return came is not None and came.from_square == at.move.to_square


def square_taken(at: At, text: str) -> bool:
    """What moved attacks a square to which the named piece may go."""
    square, (_, piece) = chess.parse_square(SQUARE.findall(text)[0]), units(text)[0]
    if piece is None or square not in at.after.attacks(at.move.to_square):
        return False
    return chess.Move(piece, square) in at.after.pseudo_legal_moves


def shut_off(at: At, text: str) -> bool:
    """The moved piece has come between another of its side and what that guarded."""
    guard, target = (square for _, square in units(text)[-2:])
    if guard is None or target is None:
        return False
    own = at.after.color_at(guard) == at.after.color_at(target) == at.mover
    guarded = target in at.before.attacks(guard) and target not in at.after.attacks(guard)
    return (
        own and guarded and bool(chess.between(guard, target) & chess.BB_SQUARES[at.move.to_square])
    )


def outnumbered(at: At, text: str) -> bool:
    """The moved piece attacks it, if only through its own, and at least as many do as guard it."""
    square = next(square for _, square in units(text) if square is not None)
    board, by = at.after.copy(stack=False), at.move.to_square
    attackers, guards = (len(board.attackers(side, square)) for side in (at.mover, not at.mover))
    if by not in board.attackers(at.mover, square):  # behind another piece
        for between in chess.SquareSet(chess.between(by, square)):
            board.remove_piece_at(between)
        attackers += 1
    elif board.piece_type_at(by) == chess.PAWN:  # which opens the line behind it as it takes
        board.remove_piece_at(by)
        attackers = max(attackers, 1 + len(board.attackers(at.mover, square)))
        board.set_piece_at(by, chess.Piece(chess.PAWN, at.mover))
    return by in board.attackers(at.mover, square) and attackers >= guards


def was_threatened(at: At, text: str) -> bool:
    """The move named was legal before, had the mover passed, and is legal now."""
    reply, board = reply_named(at, text), at.before.copy()
    board.push(chess.Move.null())
    return reply is not None and reply in board.legal_moves


def out_of_reach(at: At, text: str) -> bool:
    """The piece named attacked the one that has moved, which was worth more."""
    attacker = anywhere(text)[0]
    square = place(at.before, attacker, not at.mover)
    kind = at.after.piece_type_at(at.move.to_square) or 0
    named = re.search(rf"the {chess.piece_name(kind)} (?:away|out)", text)
    attacked = square is not None and at.move.from_square in at.before.attacks(square)
    still = square is not None and at.move.to_square in at.after.attacks(square)
    return attacked and not still and named is not None and WORTH[kind] > WORTH[attacker[0]]


def trade(at: At, text: str) -> bool:
    """A piece of the kind named may now be taken by one of its kind, and could not before."""
    kind = KINDS[re.findall(r"(knight|bishop|rook|queen)s", text)[0]]
    idle = at.before.copy()
    idle.push(chess.Move.null())
    return any(
        at.after.piece_type_at(move.from_square) == kind == at.after.piece_type_at(move.to_square)
        and (move.to_square == at.move.to_square or move not in idle.legal_moves)
        for move in at.after.legal_moves
    )


def space(at: At, text: str) -> bool:
    """A pawn on its fifth rank that a pawn guards and no enemy pawn attacks."""
    square, white = square_in(text), at.mover
    pawns = [at.after.pieces(chess.PAWN, one) for one in (white, not white)]
    guards = at.after.attackers(white, square) & pawns[0]
    attackers = at.after.attackers(not white, square) & pawns[1]
    fifth = square // 8 == (4 if white else 3)
    return fifth and square in pawns[0] and bool(guards) and not attackers


def unpinned(at: At, text: str) -> bool:
    square = place(at.after, anywhere(text)[0], at.mover)
    if square is None or not at.before.is_pinned(at.mover, square):
        return False
    return not at.after.is_pinned(at.mover, square)


def near_king(at: At, text: str) -> bool:
    """So many pieces, pawns and kings not counted, attack squares around the other king."""
    king = at.after.king(not at.mover)
    assert king is not None
    ring = [one for one in chess.SQUARES if chess.square_distance(one, king) == 1]
    near = [
        one
        for one in chess.SquareSet(at.after.occupied_co[at.mover])
        if at.after.piece_type_at(one) not in (chess.PAWN, chess.KING)
        and any(square in at.after.attacks(one) for square in ring)
    ]
    words = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight"]
    return at.move.to_square in near and words[len(near)] in text


@cache
def named_positions() -> frozenset[str]:
    """Digests of the positions that have a name, or lead to one, from the package's list."""
    packed = resources.files("kibitz.comment").joinpath("openings.tsv.xz").read_bytes()
    return frozenset(line[:12] for line in lzma.decompress(packed).decode().splitlines())


def opening_named(at: At, text: str) -> bool:
    """The package's list has this name for the position; its rows are digest, code, name."""
    digest = hashlib.sha256(at.after.epd().encode()).hexdigest()[:12]
    packed = resources.files("kibitz.comment").joinpath("openings.tsv.xz").read_bytes()
    rows = lzma.decompress(packed).decode().splitlines()
    return any(
        row.split("\t")[1:] == [text[-4:-1], text[:-6].strip()]
        for row in rows
        if row.startswith(digest)
    )


def leaves_names(at: At, _: str) -> bool:
    """The position before the move is in the list, the one after it is not."""
    had, has = (
        hashlib.sha256(one.epd().encode()).hexdigest()[:12] in named_positions()
        for one in (at.before, at.after)
    )
    return had and not has


TABLES = chess.syzygy.Tablebase()


def by_tables(at: At, text: str) -> bool:
    """The tables agree, as python-chess reads them; the 50-move counter is taken as 0."""
    found = -TABLES.probe_wdl(at.after)
    if abs(found) == 1:
        found = 0
    word = "win" if found > 0 else "draw" if found == 0 else "lo"
    return word in text


EDGE = chess.BB_FILE_A | chess.BB_FILE_H | chess.BB_RANK_1 | chess.BB_RANK_8
SCORE = re.compile(r"[+\u2212]\d+\.\d\d|\b0\.00")


def stated(at: At, text: str) -> bool:
    """The scores are values that the PGN gives for the move, the one before or the other ones."""
    return set(SCORE.findall(text)) <= at.values


def goes_on(at: At, text: str) -> bool:
    """The moves of a line, the first of them the answer, are legal one after the other."""
    board, found = at.after.copy(), re.search(LINE, text)
    assert found is not None
    for number, one in enumerate(found.group().split()):
        told, _, san = one.rpartition(".")
        numbered = board.turn == chess.WHITE or number == 0
        wanted = f"{board.fullmove_number}{'' if board.turn else '..'}" if numbered else ""
        if told != wanted:
            return False
        board.push_san(san)  # ValueError if it is not legal
    return True


def after_line(at: At, text: str) -> chess.Board:
    """The position after the line that a statement ends with."""
    board, found = at.after.copy(), re.search(rf"{MOVE}(?: (?:\d+\.)?{SAN})*$", text.strip(" .,"))
    for one in found.group().split() if found else ():
        board.push_san(one.rpartition(".")[2])
    return board


def gained(at: At, text: str) -> bool:
    """The mover has more material after the line than it had, or than before it was taken from."""
    board, starts = after_line(at, text), [at.before]
    for _ in range(2):
        if starts[-1].move_stack:
            starts.append(starts[-1].copy())
            starts[-1].pop()
    return any(material(board, at.mover) > material(start, at.mover) for start in starts)


def regained(at: At, text: str) -> bool:
    """The mover has as much after the line as before the move."""
    return material(after_line(at, text), at.mover) >= material(at.before, at.mover)


def undermined(at: At, text: str) -> bool:
    """The pawn that moved attacks the first piece named, which guards the second."""
    (_, pawn), (_, target) = units(text)[:2]
    assert pawn is not None
    assert target is not None
    by = at.after.piece_type_at(at.move.to_square)
    attacks = pawn in at.after.attacks(at.move.to_square)
    return by == chess.PAWN and attacks and target in at.after.attacks(pawn)


def king_takes(at: At, text: str) -> bool:
    """The last move of the line is the king's, and takes the passed pawn that was named."""
    square, board = square_in(text), after_line(at, text)
    there = at.before.piece_at(square) == chess.Piece(chess.PAWN, not at.mover)
    return there and board.king(at.mover) == square and board.peek().to_square == square


def hemmed_in(at: At, text: str) -> bool:
    """The piece has fewer squares than before, and one at most."""
    had, has = (
        [to for to in board.attacks(square_in(text)) if board.color_at(to) != at.before.turn]
        for board in (at.before, at.after)
    )
    return len(has) <= 1 < len(had)


def only_pawns(at: At, text: str) -> bool:
    """The first move of the line takes the last piece, or what takes back there does."""
    board, bare = at.after.copy(), []
    line = re.search(rf"{MOVE}(?: (?:\d+\.)?{SAN})*", text)
    for san in line[0].split()[:2] if line else ():
        move = board.parse_san(san.rpartition(".")[2])
        bare.append(board.is_capture(move))
        board.push(move)
        bare.append(board.occupied == board.pawns | board.kings)
    return bare[:2] == [True, True] or bare == [True, False, True, True]


def kept_by(at: At, text: str) -> bool:
    """The move takes what is named; it may be taken back so, and answered so."""
    (kind, square), moves = units(text)[0], re.findall(rf"{MOVE}", text)
    there = at.before.piece_at(square or 0) == chess.Piece(kind, not at.mover)
    board = at.after.copy()
    for one in moves:
        board.push_san(one.rpartition(".")[2])
    back = board.move_stack[-2].to_square == at.move.to_square
    return there and at.before.is_capture(at.move) and back


def got_through(at: At, text: str) -> bool:
    """A pawn of the mover stands there after the line."""
    there = chess.parse_square(re.findall(r"through to (\w\d)", text)[0])
    board = after_line(at, text) if ":" in text else None
    return board is None or board.piece_at(there) == chess.Piece(chess.PAWN, at.mover)


def driven_off(at: At, text: str) -> bool:
    """The last move of the line attacks the named piece with less, or nothing guards that."""
    board, (kind, square) = after_line(at, text), units(text)[0]
    assert square is not None
    by = board.piece_at(board.peek().to_square)
    there = board.piece_at(square) == chess.Piece(kind, not at.mover)
    seen = square in board.attacks(board.peek().to_square)
    loose = not board.attackers(not at.mover, square)
    return there and seen and by is not None and (loose or WORTH[by.piece_type] < WORTH[kind])


def picked_up(at: At, text: str) -> bool:
    """A move of the line, or the one before it, takes the named piece where it stood at first."""
    kind, square = units(text)[0]
    there, board = at.before.piece_at(square or 0), at.before
    if there != chess.Piece(kind, not at.mover):
        return False
    last = after_line(at, text).copy()
    moves = [last.pop() for _ in range(len(last.move_stack) - len(board.move_stack))]
    taken = [move for move in moves[::-1][::2] if move.to_square == square]
    return bool(taken)


def queen_first(at: At, _: str) -> bool:
    """The queen has left home, and most knights and bishops have not."""
    rank = chess.BB_RANK_1 if at.mover else chess.BB_RANK_8
    own = at.after.occupied_co[at.mover] & rank & (at.after.knights | at.after.bishops)
    return at.after.piece_type_at(at.move.to_square) == chess.QUEEN and own.bit_count() >= 3


def out_in_the_end(at: At, text: str) -> bool:
    """The other king is two ranks from home after the line, or further."""
    king = after_line(at, text).king(not at.mover)
    assert king is not None
    return (7 - king // 8 if at.mover else king // 8) >= 2


BETTER = r"#better"  # see named_moves
ANSWER = r"#answer"
Check = Callable[[At, str], bool]
# Words about how the game stands for a side: least and most of its winning chances.
STANDINGS: list[tuple[str, float, float]] = [
    (r"(?P<side>White|Black) is (?:winning|close to winning) now", 0.35, 1.0),
    (r"(?P<side>White|Black) is lost now|lost one now|to lost", -1.0, -0.35),
    (
        r"(?P<side>White|Black) is better now|Now (?P<more>White|Black) is better"
        r"|advantage is (?:with )?(?P<also>White|Black)",
        0.05,
        1.0,
    ),
    (r"(?P<side>White|Black) is worse now|to worse", -1.0, -0.05),
    (r"(?P<side>White|Black) is not better|advantage is gone", -1.0, 0.3),
    (r"level now", -0.35, 0.3),
    (r"(?:^\s*|game )is lost now", -1.0, -0.35),
    (r"(?P<side>White|Black) was better", 0.05, 1.0),
    (r"win is not so clear|win is a harder one", 0.0, 0.85),
    (r"(?P<side>White|Black) is not winning|win is gone", -1.0, 0.6),
    (r"keeps the win|keeps (?P<side>White|Black) winning", 0.35, 1.0),
    (r"keeps the better|keeps (?P<side>White|Black) better", 0.05, 1.0),
    (r"keeps the game level|holds the balance", -0.35, 1.0),
    (r"in the game|limits the damage", -0.75, 1.0),
    (r"winning all the same", 0.35, 1.0),
    (r"better all the same|more than enough", 0.05, 1.0),
    (r"has enough for it|stays level", -0.35, 1.0),
]

BARE = "|".join(re.sub(r"\?P<\w+>", "?:", form) for form, _, _ in STANDINGS)

STATEMENTS: list[tuple[str, str, Check]] = [
    (
        "fork",
        r"\b(?:forks|hits .* at once|attacks (?:both|.* at the same time|.* all at once))",
        attacked,
    ),
    ("pin", r"\bpins\b|in a pin to", pinned),
    ("pressed", "once more, which is pinned to", pressed),
    (
        "attacked in a pin",
        r"attacks the \w+ on \w\d, which is pinned to",
        lambda at, t: attacked(at, t.partition(", which")[0]),
    ),
    ("skewer", r"\bskewers\b|and, behind it,", pinned),
    (
        "pinned",
        r"(?<!once more, )which is pinned to|pinned to the king as it is",
        lambda at, t: any(
            (s := place(at.after, one, not at.mover)) is not None
            and at.after.is_pinned(not at.mover, s)
            for one in units(t)
        ),
    ),
    (
        "discovery",
        r"uncovers|opens the line of|discovers an attack|(?<!one )discovered check",
        discovered,
    ),
    ("double check", r"double check", lambda at, _: len(at.after.checkers()) == 2),
    ("guard", r"removes the|, which guarded", guard_taken),
    ("loose", r"which nothing guarded|left unguarded", loose),
    (
        "promotes",
        r"promotes the pawn|brings the pawn to the last rank",
        lambda at, _: at.move.promotion is not None,
    ),
    (
        "passed",
        r"(?<!blocks the )(?<!halts the )(?<!of the )(?<!behind the )passed pawn"
        r"(?! on \w\d (?:in time|with the king))",
        lambda at, t: passed(after_line(at, t), square_in(t), at.mover),
    ),
    ("isolated", r"isolates|an isolated", lambda at, t: isolated(at.after, square_in(t), side(t))),
    (
        "doubled",
        r"double[sd]\b.*pawns|doubled pawns",
        lambda at, t: pawns_on(after_line(at, t), side(t), t) > 1,
    ),
    ("file", r"takes the (?:half-)?open|on the (?:half-)?open", file_taken),
    ("rank", r"seventh rank|second rank", seventh),
    ("outpost", r"(?<!heads for )an outpost (?:for|on)", outpost),
    ("square taken", r"(?<!The pawn )takes (?:the square )?\w\d (?:away )?from", square_taken),
    (
        "given",
        r"gives an? \w+ for ",
        lambda at, t: material(after_line(at, t), at.mover) < material(at.before, at.mover),
    ),
    (
        "bishop pair",
        r"bishop pair|both bishops",
        lambda at, t: (
            [pair(after_line(at, t), white) for white in (side(t), not side(t))] == [True, False]
        ),
    ),
    ("castling", r"right to castle|no longer castle", can_castle_no_more),
    ("wings", r"opposite wings|opposite sides", opposite_wings),
    (
        "queens",
        r"queens off(?!: | in the line|, with)|without queens",
        lambda at, _: not at.after.queens,
    ),
    (
        "pawn ending",
        r"(?<!won )(?<!lost )(?<!worse )pawn ending(?! is)|only kings and pawns",
        lambda at, _: at.after.occupied == at.after.pawns | at.after.kings,
    ),
    (
        "ending",
        r"(?:rook|knight) ending|bishops on the same colour|with a (?:knight|bishop) against a",
        one_piece_each,
    ),
    ("makes way", r"(?:makes|opens the) way for", way_made),
    ("bare king", r"no pawns for cover", no_pawn_beside),
    ("opposite bishops", r"opposite colours|opposite-coloured", opposite_bishops),
    (
        "king's file",
        r"-file beside \w+'s king|in front of \w+'s king",
        lambda at, t: (
            pawns_on(
                at.after,
                side(t.rpartition(" of ")[2] if " of " in t else t.rpartition("beside")[2]),
                t,
            )
            == 0
        ),
    ),
    ("battery", r"lines up|battery", lined_up),
    ("doubled rooks", r"doubles rooks|both rooks", rooks_on_file),
    ("connected rooks", r"the rooks (?:on the back rank)?|connects the rooks", rooks_linked),
    ("development", r"in development", developed),
    (
        "last minor",
        r"minor pieces (?:are )?out$|last of \w+'s minor",
        lambda at, t: minors_out(at.after, at.mover) == 4 or "against" in t,
    ),
    ("blockade", r"(?:blocks|halts|way of) the passed pawn", before_passed),
    ("blocked", r"(?:blocks|way of) the isolated pawn", before_isolated),
    ("behind", r"behind the passed pawn", rook_behind),
    (
        "unguarded",
        r"nothing (?:guards|to guard)|which is not guarded(?! often)|the unguarded",
        unguarded,
    ),
    ("worth", r"is worth more than", worth_more),
    (
        "guard",
        r"which was attacked|the guard that it needs"
        r"|\b(?:guards|protects|covers) the \w+ on \w\d(?:, which the| from| against)",
        newly_guarded,
    ),
    (
        "covers",
        r"keeps .* guarded|(?<!nothing )(?<!longer )(?<!on \w\d )(?<!the king )"
        r"(?:(?<!which )|^, which )guards the \w+ on \w\d$",
        guards,
    ),
    ("meets", rf"\b(?:meets|answers) {MOVE} with|{MOVE} loses the \w+ to {MOVE}", met),
    ("blockade", r"no longer blocks|gives up the blockade", blocks_no_more),
    ("own king", r"-file beside \w+'s own king", file_left),
    (
        "square let go",
        r"gives up the guard of \w\d",
        lambda at, t: (
            square_in(t) in at.before.attacks(at.move.from_square)
            and square_in(t) not in at.after.attacks(at.move.to_square)
        ),
    ),
    (
        "own square",
        r"^The pawn takes \w\d away from the knight on g[18]",
        lambda at, t: at.move.uci() in ("f2f3", "f7f6") and at.move.uci()[2:] in t,
    ),
    ("own piece", r"[Tt]his shuts in [^:]+$|leaves the \w+ on \w\d shut in", hemmed_in),
    (
        "edge",
        r"stands at the edge",
        lambda at, t: (
            square_in(t) == at.move.to_square and bool(chess.BB_SQUARES[square_in(t)] & EDGE)
        ),
    ),
    ("into a pin", r"^(?:There )?[Tt]he \w+ on \w\d is pinned to", into_pin),
    ("pinned guard", r"is pinned and cannot take back", cannot_take_back),
    (
        "attacker",
        r"on \w\d, which the .* attacks|protects .* from the|against the attack by",
        attacked_by,
    ),
    ("step away", r"(?:gets|takes|moves) the \w+ (?:away from|out of)", out_of_reach),
    ("trade", r"(?:offers|invites) (?:a trade|to exchange)", trade),
    (
        "centre",
        r"centralises|middle of the board",
        lambda at, _: chess.square_name(at.move.to_square) in ("d4", "e4", "d5", "e5"),
    ),
    (
        "long diagonal",
        r"fianchetto|long diagonal",
        lambda at, _: chess.square_name(at.move.to_square) in ("b2", "g2", "b7", "g7"),
    ),
    ("space", r"(?:gains|takes) space", space),
    ("aims", r"takes aim at|puts pressure on", attacked),
    ("trade avoided", r"avoids (?:a|the) trade", left_a_trade),
    ("castling next", r"prepares to castle", may_castle_now),
    ("goes on", rf"prepares {MOVE}$|(?:heads for|on the way to) [a-h][1-8]$", may_go_on),
    ("unpin", r"from the pin|breaks the pin", unpinned),
    ("near the king", r"attack squares beside", near_king),
    ("occurs", r"^The position occurs", occurs),
    ("stalemate", r"^Stalemate", lambda at, _: at.after.is_stalemate()),
    ("no mate", r"has the material to mate", lambda at, _: at.after.is_insufficient_material()),
    ("fifty", r"^Fifty moves", lambda at, _: at.after.halfmove_clock >= 100),
    ("opening", r"\([A-E]\d\d\)$", opening_named),
    ("taken", r"(?<!behind it )can be taken|is lost there|puts .* where", can_be_taken),
    ("line open", r"^[Tt]he line .* is open now|(?<!rooks: )[Nn]othing stands between", line_open),
    ("shut off", r"now stands between|shuts .* off from", shut_off),
    ("outnumbered", r"guarded often enough|more than it is guarded", outnumbered),
    ("abandoned", r"no longer guards .*, and|takes a guard away", abandoned),
    ("let go", r"no longer guards [^,]*$|no longer guarded by", let_go),
    ("overlooked", r"was threatening \d|nothing against|[Tt]hreat was", was_threatened),
    ("theory", r"have a name|named opening", leaves_names),
    (
        "chase",
        r"gains time(?! on)"
        r"|\b(?:attacks|hits) the (?!unguarded|.* (?:at once|time|behind it|nothing guards"
        r"|once more|often enough|pinned to))"
        r"|makes the .* move",
        cheaper_attacks,
    ),
    ("ahead", r"trades \w+s", ahead_in_trade),
    ("strike", r"strikes at|challenges|puts the question", pawn_attacks),
    ("connected passed", r"connected passed", two_passed),
    ("backward", r"backward", left_behind),
    ("hanging pawns", r"hanging pawns", hanging),
    ("bad bishop", r"shuts in [^:]*:|a bad one", shut_in),
    ("open file", r"opens the \w-file|file of pawns", file_opened),
    ("king's pawn", r"-pawn (?:away from|in front of)", king_bared),
    ("escape", r"escape square|king air", escape),
    ("king", r"towards the centre|nearer to the centre|activates the king", king_nearer),
    ("opposition", r"the opposition", opposed),
    ("heads for", r"heads for an outpost|the outpost \w\w within", on_the_way),
    ("supports", r"(?:supports|prepares) the advance", supported),
    (
        "repeats",
        r"repeats the position|same position for the second",
        lambda at, _: at.after.is_repetition(2),
    ),
    (
        "fifty",
        r"moves without a capture",
        lambda at, t: str(at.after.halfmove_clock // 2) in t,
    ),
    ("imbalance", r"with (?!a good).* against (?:a|two|three) (?!.*minor)", unlike_pieces),
    ("prevents", r"does not allow|rules out|leaves no room", impossible),
    (
        "threat",
        r"threatens|(?:carries|creates|sets up|has) the threat|sets up \d|a threat\b",
        threat,
    ),
    ("parry", r"\b(?:saves|meets the threat|secures|stops|parries)\b", parried),
    ("mate pattern", r"is a (?:back-rank|smothered) mate", lambda at, _: at.after.is_checkmate()),
    ("mate now", r"is (?:check)?mate\b(?! in| next)|This mates$", mate_now),
    ("mate if taken", r"to take it allows", mate_if_taken),
    (
        "mate",
        r"(?<!take it allows )(?<!threatens )(?<!threat of )mate[sd]? in \w+|mate next move",
        mate_statement,
    ),
    (
        "sacrifice",
        r"\bsacrifices\b|gives up (?!the right|the blockade|the guard)"
        r"|\boffers (?!a trade|to exchange|to trade|.* is stalemate)",
        given,
    ),
    ("better", BETTER, lambda at, _: at.played not in (None, at.move)),
    ("answer", ANSWER, lambda at, _: at.played is None),
    ("wins back", r"\bwins back material", lambda *_: True),
    (
        "wins",
        r"comes out .* ahead|comes to win|\b(?:wins|nets|gains)\b"
        r"(?![^:]* in the main line| it back| back| as| the game| time| an outpost"
        r"| the opposition| space)",
        takes_that_kind,
    ),
    ("avoids", r"avoids the loss|loses nothing|keeps the material", lambda *_: True),
    (
        "only",
        r"only good move|one good move|only move: all|has to be played: all|only move that"
        r"|no check and no capture is nearly"
        r"|\balone\b",
        lambda *_: True,
    ),
    ("trap", r"\btraps\b|without a safe square", named_pieces_exist),
    (
        "other tactics",
        r"lures|deflects|overloads|one job too many|draws the|decoys|cuts|in between|in-between"
        r"|clears|vacates|is safe from",
        named_pieces_exist,
    ),
    ("gain in a line", r"\b(?:wins|ahead)\b[^:]*: \d", gained),
    ("back in a line", r"gets (?:it )?back|regains it", regained),
    ("undermined", "undermines", undermined),
    ("kept by", r"takes the [^:]*, and \d\S+ is met by \d", kept_by),
    ("king to pawn", r"passed pawn on \w\d (?:in time|with the king)", king_takes),
    ("pawn ending", r"(?:lost|worse) pawn ending|pawn ending is", only_pawns),
    (
        "bishops left",
        r"different colours: \d",
        lambda at, t: opposite_bishops(At(at.before, at.move, after_line(at, t)), t),
    ),
    ("through", r"gets a pawn through(?! to promotion)", got_through),
    ("time", r"gains time on|drives away|comes to attack|goes on to hit", driven_off),
    ("takes", rf"\btakes {UNIT}(?=$|, which nothing| for )", taken),
    ("picked up", r"picks up the .*: \d", picked_up),
    ("queened", r"(?:promotion|queens a pawn): \d", lambda _, t: "=" in t),
    ("early queen", r"before (?:the )?knights and bishops", queen_first),
    ("king out", r"king (?:out|far from home): \d", out_in_the_end),
    (
        "rook in",
        r"brings a rook to \w\d: \d",
        lambda at, t: after_line(at, t).piece_at(square_in(t)) == chess.Piece(4, at.mover),
    ),
    ("knight in", r"(?:brings|gets) a knight to [^:]*: \d", knight_in),
    ("queens later", r"queens off[^:]*: \d", lambda at, t: not after_line(at, t).queens),
    ("castles soon", r"castle soon", lambda _, t: "O-O" in t),
    (
        "castles never",
        r"from castling: \d",
        lambda at, t: not after_line(at, t).has_castling_rights(not at.mover),
    ),
    ("draws", r"stalemate: \d", lambda at, t: after_line(at, t).is_stalemate()),
    (
        "perpetual",
        r"perpetual check in the main line",
        lambda at, t: not re.search(r"line: \d", t) or after_line(at, t).is_repetition(2),
    ),
    ("goes back", r"is back (?:on|where)|goes back to", gone_back),
    (
        "moves again",
        r"has to move again|makes the .* move again",
        lambda at, t: at.before.peek().to_square == square_in(t),
    ),
    (
        "takes back",
        r"takes back with",
        lambda at, _: at.before.peek().to_square == at.move.to_square,
    ),
    ("standing", BARE, lambda *_: True),
    ("line", LINE, goes_on),
    ("score", SCORE.pattern, stated),
]

RULES = [(kind, re.compile(form), rule) for kind, form, rule in [*STATEMENTS, *IDEAS]]


# What is left of a sentence whose statement is the answer or the better move that it names.
NAMES_A_MOVE = re.compile(
    r"answer|trouble is|have been mate|possible now|runs into|[Tt]his allows|takes it$|^ follows"
    r"|has it back|Better was|right move was|(?:was|were) (?:better|possible|the move)"
    r"|miss(?:es|ed) |could have|should have|There was|better than|preferred to|fails to"
    r"|is met by|loses the \w+ to"
)
REFUTES = (
    r"answer|trouble|After|leads to a score|This allows|runs into|guard away|no longer guards"
    r"|\d\.+\S+ now (?:[a-z]+s|can)\b"
    r"|threat was|nothing against|was threatening|possible now|be taken|lost there|takes it"
)


def values_around(node: chess.pgn.ChildNode) -> frozenset[str]:
    """The values of a position, the one before and those after other moves, as texts have them."""
    found = [one.eval() for one in (node, node.parent, *node.parent.variations)]
    points = [one.white().score() for one in found if one is not None]
    texts = (f"{one / 100:+.2f}".replace("-", "\u2212") for one in points if one is not None)
    return frozenset(text if float(text.replace("\u2212", "-")) else "0.00" for text in texts)


# Another move, its answer, and what that does.
NEXT_FAILS = re.compile(r"(?:better than|preferred to) ([^\s:]+)(:) (\S+) then (.*)")


def answered(own: At, fails: re.Match[str]) -> At | None:
    """The answer to another move as what a statement is about."""
    board = own.before.copy()
    board.push_san(fails[1].rpartition(".")[2])
    before = board.copy()
    move = board.push_san(fails[3].rpartition(".")[2])
    return At(before, move, board, played=None)


def statements(node: chess.pgn.ChildNode) -> Iterator[tuple[str, At, str]]:
    """The sentences of a comment with the move each is about, and the clauses of a sentence."""
    own = At(node.parent.board(), node.move, node.board(), values=values_around(node))
    for sentence in sentences(node.comment):
        about = own
        rest = sentence
        if (fails := NEXT_FAILS.search(sentence)) and (answer := answered(own, fails)):
            yield sentence, answer, fails[4]
            rest = sentence = sentence[: fails.start(2)]
        for number, found in enumerate(re.finditer(MOVE, sentence)):
            earlier = sentence[: found.start()]
            threat = re.search(
                "threatens|threat of|sets up|creates|makes|rules out|not allow|no room|stops|saves"
                "|better than|preferred to",
                earlier,
            )
            reply, other = (subject(one, found.group()) for one in (own.after, own.before))
            beaten = re.search("(?:better than|preferred to) $", earlier)
            if other is not None and beaten:
                yield sentence, replace(own, played=other.move), "#better"
            elif other is not None and other.move != own.move and not threat:
                other.played = own.move
                yield sentence, other, "#better"
            elif reply is not None and number == 0 and re.search(REFUTES, sentence):
                yield sentence, reply, "#answer"
            if about is own and (last := last_of_line(other or reply, sentence[found.start() :])):
                about, rest = last
            verb = re.match(
                r"(?:, which| now| can|:? it| (?!loses the \w+ to)[a-z]+s\b)",
                sentence[found.end() :],
            )
            if (reply or other) is not None and verb and not threat and about is own:
                about, rest = reply or other or own, sentence[found.end() :]
        if idea := threatened(about, rest):
            yield sentence, *idea
            rest = rest.replace(idea[1], "")
        clauses = re.split(r"(?:,? and so| and|, but) (?=[a-z]+s\b|can )(?!the |pawns)|; ", rest)
        about.values = own.values
        for clause in clauses:
            yield sentence, about, clause


def last_of_line(first: At | None, text: str) -> tuple[At, str] | None:
    """The last move of a line at the start of a text, if what follows is said of it; and that."""
    line = re.match(rf"({LINE})(?:, which|: the last move)", text)
    if first is None or line is None:
        return None
    board = first.before.copy()
    *_, last = [board.push_san(each.rpartition(".")[2]) for each in line[1].split()]
    after = board.copy()
    board.pop()
    return At(board, last, after), text[line.end() :]


def skeleton(sentence: str) -> str:
    """A sentence without its moves, pieces, squares, sides and numbers."""
    text = re.sub(rf"{LINE}|{MOVE}", "M", sentence)
    text = re.sub(rf"(?:(?:, | and )?{UNIT})+", " P", text)
    text = re.sub(r"White|Black", "S", text)
    return re.sub(r"\b[a-h][1-8]\b|\b[a-h]-(?=file|pawn)|[+\u2212]?\d[\d.]*", "Q", text)


@dataclass
class Count:
    """What was found in annotated games of one reader's level."""

    made: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)  # by plain rules
    unsure: Counter[str] = field(default_factory=Counter)  # not confirmed by the engine
    opposed: Counter[str] = field(default_factory=Counter)  # of them, the engine says the opposite
    unknown: Counter[str] = field(default_factory=Counter)
    skeletons: Counter[str] = field(default_factory=Counter)
    sentences: Counter[str] = field(default_factory=Counter)
    sizes: list[int] = field(default_factory=list)  # statements of each comment
    lengths: list[int] = field(default_factory=list)  # words of each comment
    games: int = 0
    plies: int = 0
    spoken: int = 0  # moves of the game with a comment
    bad: int = 0  # mistakes and blunders
    silent: int = 0  # of them, those of which neither an answer nor a better move is named
    keys: int = 0  # mistakes, blunders and moves after which the chances are very different
    silent_keys: int = 0


def read(node: chess.pgn.ChildNode, count: Count, judge: Judge | None) -> None:
    """Count the statements of one comment and name the false ones."""
    number, names = 0, set()
    sentences = set()
    for sentence, at, clause in statements(node):
        sentences.add(sentence)
        known = [(kind, rule) for kind, form, rule in RULES if form.search(clause)]
        if not named_pieces_exist(at, clause) and not re.search(
            "threat|saves|allow|gains time on|drives away|comes to attack|goes on to hit", clause
        ):
            known.append(("piece", named_pieces_exist))
        if not known and not NAMES_A_MOVE.search(clause):
            count.unknown[skeleton(clause)] += 1
        for kind, rule in known:
            number += 1
            names.add(kind)
            count.made[kind] += 1
            try:
                true = rule(at, clause)
            except (IndexError, KeyError, ValueError):
                true = False
            if not true:
                count.false[kind] += 1
                tell("FALSE", kind, clause, sentence, at)
            elif judge is not None and (doubt := judge.doubt(kind, at, clause, sentence)):
                count.unsure[kind] += 1
                count.opposed[kind] += doubt > 1
                tell(("NOT CONFIRMED", "OPPOSED")[doubt - 1], kind, clause, sentence, at)
    for sentence in sentences:
        count.skeletons[skeleton(sentence)] += 1
        count.sentences[sentence] += 1
    if number:
        count.sizes.append(number)
        count.lengths.append(sum(len(one.split()) for one in sentences))
    if node.nags & {2, 4}:
        count.bad += 1
        silent = not names & {"better", "answer", "mate"} and not node.starts_variation()
        count.silent += silent
        if silent:
            sys.stdout.write(f"NO ANSWER: {node.parent.board().fen()} {node.move} {sentences}\n")
    if node.is_mainline():
        count.spoken += bool(sentences)
        key = bool(node.nags & {2, 4}) or swing(node) >= KEY_SWING
        count.keys += key
        count.silent_keys += key and not sentences
        if key and not sentences:
            place_of = node.parent.board()
            sys.stdout.write(f"SILENT: {place_of.fen()} {node.move} {node.parent.eval()}\n")


KEY_SWING = 0.3  # of winning chances


def swing(node: chess.pgn.ChildNode) -> float:
    """How much a move changes the winning chances, by the values in the PGN."""
    had, has = node.parent.eval(), node.eval()
    return abs(chance(has.white()) - chance(had.white())) if had and has else 0.0


def tell(how: str, kind: str, clause: str, sentence: str, at: At) -> None:
    """Print a statement that does not hold."""
    sys.stdout.write(f"{how} {kind}: {clause} | {sentence} | {at.before.fen()} {at.move}\n")
    sys.stdout.flush()


def level_of(game: chess.pgn.Game) -> str:
    """For whom a game was annotated."""
    found = re.findall("beginner|club|expert", game.headers.get("Annotator", ""))
    return found[-1] if found else "unknown"


def main() -> None:
    """Count statements by kind, and those that are false, for every level of readers."""
    options = argparse.ArgumentParser()
    options.add_argument("files", nargs="+")
    options.add_argument("--engine")
    options.add_argument("--nodes", type=int, default=200_000)
    options.add_argument("--tables", help="folder of Syzygy tables, for what is said of them")
    options.add_argument("--show", action="store_true")
    asked = options.parse_args()
    judge = Judge(asked.engine, asked.nodes) if asked.engine else None
    if asked.tables:
        TABLES.add_directory(asked.tables)
    counts: defaultdict[str, Count] = defaultdict(Count)
    for path in asked.files:
        with Path(path).open(encoding="utf-8") as file:
            while (game := chess.pgn.read_game(file)) is not None:
                read_game(game, counts[level_of(game)], judge)
    if judge is not None:
        judge.engine.quit()
    tell_all(counts, asked.show)


def read_game(game: chess.pgn.Game, count: Count, judge: Judge | None) -> None:
    """Count the statements of a game."""
    count.games += 1
    count.plies += sum(1 for _ in game.mainline())
    for node in everything(game):
        read(node, count, judge)
    read_story(game, count, judge)


def read_story(game: chess.pgn.Game, count: Count, judge: Judge | None) -> None:
    """Count the statements of what stands before the first move."""
    for kind, true, sentence, turn in story_statements(game):
        if not kind:
            count.unknown[skeleton(sentence)] += 1
            continue
        count.made[kind] += 1
        at = At(game.board(), chess.Move.null(), game.board()) if turn is None else turn_made(turn)
        if not true:
            count.false[kind] += 1
            tell("FALSE", kind, sentence, sentence, at)
        elif turn is None or judge is None:
            continue
        elif doubt := judge.doubt(kind, at, turn.text, sentence):
            count.unsure[kind] += 1
            count.opposed[kind] += doubt > 1
            tell(("NOT CONFIRMED", "OPPOSED")[doubt - 1], kind, turn.text, sentence, at)


def turn_made(turn: Turn) -> At:
    """The move on which a game turned; of a better one that is named and legal, that one."""
    board, made = turn.tale.boards[turn.ply], turn.tale.moves[turn.ply]
    played = subject(board, made)
    assert played is not None
    named = (subject(board, better_named(turn)) if "would have" in turn.text else None) or played
    named.played = played.move
    return named


def tell_all(counts: Mapping[str, Count], show: bool) -> None:
    """Print what was found, by level and by kind."""
    for level, count in counts.items():
        report(level, count, show)
    table(list(counts.values()))


def report(level: str, count: Count, show: bool) -> None:
    """Print what a level's comments are like; with `show` the commonest sentences, too."""
    if show:
        for text, number in count.unknown.most_common(40):
            sys.stdout.write(f"not understood {number}: {text}\n")
        for text, number in count.skeletons.most_common(12):
            share = 100 * number / count.skeletons.total()
            sys.stdout.write(f"{share:5.2f} % {text}\n")
    sizes, comments = sorted(count.sizes), len(count.sizes)
    middle = sizes[comments // 2] if sizes else 0
    common = count.skeletons.most_common(1)
    share = 100 * common[0][1] / count.skeletons.total() if common else 0.0
    sys.stdout.write(
        f"{level}: {count.games} games, {count.plies} plies, {comments} comments, on "
        f"{100 * count.spoken / max(1, count.plies):.1f} % of the moves; {count.made.total()} "
        f"statements, a comment has {sum(sizes) / max(1, comments):.2f} of them, median {middle}, "
        f"and {sum(count.lengths) / max(1, comments):.1f} words; {len(count.sentences)} distinct "
        f"sentences of {count.sentences.total()}, the commonest form {share:.2f} %; "
        f"{count.unknown.total()} clauses not understood; {count.keys} key moments, "
        f"{count.silent_keys} silent; {count.bad} mistakes and blunders, {count.silent} without "
        f"answer or better move\n"
    )


def table(counts: list[Count]) -> None:
    """Print statements by kind: how many, and how many do not hold."""
    names = ("made", "false", "unsure", "opposed")
    made, false, unsure, opposed = (
        sum((getattr(one, name) for one in counts), Counter[str]()) for name in names
    )
    sys.stdout.write(f"{'kind':18} {'made':>6} false not-confirmed opposed\n")
    for kind, number in made.most_common():
        line = f"{kind:18} {number:6} {false[kind]:5} {unsure[kind]:13} {opposed[kind]:7}"
        sys.stdout.write(f"{line}\n")
    judged = sum(made[kind] for kind in JUDGED)
    comments = sum(len(one.sizes) for one in counts)
    sys.stdout.write(
        f"all: {comments} comments, {made.total()} statements, {false.total()} false by plain "
        f"rules; judged {judged}, not confirmed {unsure.total()}, opposed {opposed.total()}\n"
    )


class Judge:
    """An outside engine that is asked about statements, each position once.

    What it does not confirm is asked again with ten times the nodes before it is called false.
    """

    def __init__(self, command: str, nodes: int) -> None:
        self.engine = chess.engine.SimpleEngine.popen_uci(command)
        self.engine.configure({"Hash": 64})
        self.nodes = nodes
        self._known: dict[tuple[str, str, int, int], list[chess.engine.InfoDict]] = {}

    def doubt(self, kind: str, at: At, clause: str, sentence: str) -> int:
        """0 if the engine agrees with a statement that is true of the board, 1 if not.

        2 if it says the opposite by a margin, at ten times the nodes.
        """
        rule = JUDGED.get(kind)
        if rule is None:
            return 0
        asked = at, clause, sentence
        if any(rule(self, *asked, nodes, 0.0) for nodes in (self.nodes, 10 * self.nodes)):
            return 0
        return 1 if rule(self, *asked, 10 * self.nodes, MARGIN) else 2

    def lines(
        self, board: chess.Board, nodes: int, move: chess.Move | None = None, count: int = 1
    ) -> list[chess.engine.InfoDict]:
        key = (board.fen(), move.uci() if move else "", nodes, count)
        if key not in self._known:
            if len(self._known) > 5_000:
                self._known.clear()
            self._known[key] = self.engine.analyse(
                board.copy(stack=8 if all(board.move_stack[-8:]) else False),
                chess.engine.Limit(nodes=nodes),
                multipv=count,
                root_moves=[move] if move else None,
            )
        return self._known[key]

    def expected(self, board: chess.Board, nodes: int) -> list[chess.Move]:
        """The engine's line; where it ends early, as lines from its memory do, the next one."""
        line: list[chess.Move] = []
        at = board.copy()
        for _ in range(3):
            found = [] if at.is_game_over() else self.lines(at, nodes)[0].get("pv", [])
            for move in found:
                at.push(move)
            line += found
            if len(line) >= 8 or not found:
                break
        return line

    def value(self, board: chess.Board, white: bool, nodes: int, move: chess.Move | None) -> float:
        """Winning chances of a side, with a first move if it is given."""
        if board.is_game_over():
            result = board.result()
            return 0.0 if result == "1/2-1/2" else 1.0 if (result == "1-0") == white else -1.0
        return chance(self.lines(board, nodes, move)[0]["score"].pov(white))


FEW_REPLIES = 6  # of a position whose mate in 3 is looked for by trying everything
ALL_BUT_WON = 0.9  # chances with which the engine may miss a mate
WINNING = 0.6  # chances with which the engine may leave material that it could win
MARGIN = 0.1  # of winning chances, about 55 centipawns in a level game


def judged_mate(judge: Judge, at: At, text: str, _: str, nodes: int, slack: float) -> bool:
    """The engine has a mate as short; by a margin, it is won, and only the mate is not seen."""
    found = re.search(r"mate[sd]? in (\d+)", text)
    if not found or int(found.group(1)) <= 2:
        return True
    scores = [judge.lines(board, nodes)[0]["score"].relative for board in (at.after, at.before)]
    if any(one.is_mate() and abs(one.mate() or 0) <= int(found.group(1)) for one in scores):
        return True
    if slack > 0 and any(abs(chance(one)) >= ALL_BUT_WON for one in scores):
        return True
    few = at.after.legal_moves.count() <= FEW_REPLIES and int(found.group(1)) == 3
    return few and nodes > judge.nodes and mated_in(at.after.copy(), 3)


def judged_wins(judge: Judge, at: At, _: str, __: str, nodes: int, slack: float) -> bool:
    """The engine's line has the gain; by a margin, or it is winning and goes another way."""
    if gains(at, judge, nodes):
        return True
    return slack > 0 and judge.value(at.after, at.mover, nodes, None) >= WINNING


def judged_back(judge: Judge, at: At, _: str, __: str, nodes: int, _slack: float) -> bool:
    """The engine's line leaves the mover with more than before the move."""
    board, had = at.after.copy(), material(at.before, at.mover)
    for move in judge.expected(at.after, nodes):
        board.push(move)
    return material(board, at.mover) > had


def judged_avoids(judge: Judge, at: At, _: str, __: str, nodes: int, _slack: float) -> bool:
    """The engine's line does not end with less material for the mover than there was."""
    if at.after.is_game_over():
        return True
    info = judge.lines(at.after, nodes)[0]
    board, found = at.after.copy(), [material(at.after, at.mover)]
    for move in info.get("pv", []):
        board.push(move)
        found.append(material(board, at.mover))
    mated = info["score"].pov(at.mover)
    lost = mated.is_mate() and (mated.mate() or 0) < 0
    return not lost and max(found[-2:]) >= material(at.before, at.mover)


def judged_parry(judge: Judge, at: At, text: str, sentence: str, nodes: int, slack: float) -> bool:
    """The engine does not go on to take the piece named, or gets nothing by it."""
    named = place(at.after, anywhere(text)[0], at.mover) if anywhere(text) else None
    if at.after.is_game_over() or named is None:
        return True
    reply = judge.lines(at.after, nodes)[0]["pv"][0]
    return reply.to_square != named or judged_avoids(judge, at, text, sentence, nodes, slack)


def judged_threat(judge: Judge, at: At, text: str, _: str, nodes: int, slack: float) -> bool:
    """What is threatened, after a pass, leaves more material than there was."""
    if (met_there := of_what_is_met(at, text)) is not None:
        return judged_threat(judge, *met_there, "", nodes, slack)
    board = at.after.copy()
    board.push(chess.Move.null())
    try:
        move = board.parse_san(re.findall(MOVE, text)[-1].rpartition(".")[2])
    except (ValueError, IndexError):
        return True
    before = board.copy(stack=False)
    board.push(move)
    return board.is_checkmate() or gains(At(before, move, board), judge, nodes)


def judged_better(judge: Judge, at: At, _: str, __: str, nodes: int, slack: float) -> bool:
    """The move named is better than the one made (which `at` carries as its played one)."""
    assert at.played is not None
    best, played = (judge.value(at.before, at.mover, nodes, move) for move in (at.move, at.played))
    return best > played - slack or min(best, played) > 0.9  # won is won


def judged_answer(judge: Judge, at: At, _: str, __: str, nodes: int, slack: float) -> bool:
    """The answer named is about as good as the engine's own."""
    own = judge.value(at.before, at.mover, nodes, None)
    return judge.value(at.before, at.mover, nodes, at.move) >= own - 0.15 - slack


def judged_only(judge: Judge, at: At, _: str, __: str, nodes: int, slack: float) -> bool:
    lines = judge.lines(at.before, nodes, count=2)
    if len(lines) < 2:
        return True
    best, second = (chance(one["score"].pov(at.mover)) for one in lines)
    return lines[0]["pv"][0] == at.move and best - second >= 0.1 - slack


def judged_sacrifice(judge: Judge, at: At, text: str, _: str, nodes: int, slack: float) -> bool:
    """The value holds; what is to come back comes back, and a king is not well, in the line."""
    had, has = (judge.value(board, at.mover, nodes, None) for board in (at.before, at.after))
    if has < min(had - 0.15, 0.9) - slack or has < -0.3 - slack:
        return False
    if "to take it allows" in text:
        takes = (one for one in at.after.legal_moves if at.after.is_capture(one))
        square = place(at.after, anywhere(text)[0], at.mover)
        return all(
            judge.value(at.after, at.mover, nodes, one) >= 0.9 - slack  # a mate is 0.95
            for one in takes
            if one.to_square == square
        )
    if "better not accept" in text or "best declined" in text:
        return is_best_declined(judge, at, kind_given(text), nodes, slack)
    info = judge.lines(at.after, nodes)[0]
    board, most = at.after.copy(), -99
    for ply, move in enumerate(info.get("pv", [])):
        board.push(move)
        most = max(most, material(board, at.mover)) if ply else most
    if "best play" in text and not info["score"].relative.is_mate():
        return most >= material(at.before, at.mover)
    return "castling" not in text or not board.has_castling_rights(not at.mover)


def is_best_declined(judge: Judge, at: At, kind: int, nodes: int, slack: float) -> bool:
    """Taking a piece of some kind is no better for who may than the best other move."""
    takes = [
        move
        for move in at.after.legal_moves
        if at.after.is_capture(move) and at.after.piece_type_at(move.to_square) == kind
    ]
    lines = judge.lines(at.after, nodes, count=len(takes) + 1)
    others = [one for one in lines if one["pv"][0] not in takes]
    accepted = min(judge.value(at.after, at.mover, nodes, move) for move in takes)
    return bool(others) and accepted >= chance(others[0]["score"].pov(at.mover)) - slack


def judged_standing(judge: Judge, at: At, text: str, _: str, nodes: int, slack: float) -> bool:
    for form, least, most in STANDINGS:
        found = re.search(form, text)
        if found:
            names = [one for one in found.groupdict().values() if one]
            white = names[0] == "White" if names else at.mover
            board = at.before if re.search(r"(?:White|Black) was", text) else at.after
            value = judge.value(board, white, nodes, None)
            return least - slack <= value <= most + slack
    return True


def judged_score(judge: Judge, at: At, text: str, _: str, nodes: int, slack: float) -> bool:
    """The last score named is near the engine's; by a margin, it has the same side ahead."""
    amount = float(SCORE.findall(text)[0 if at.played else -1].replace("\u2212", "-"))
    said = chance(chess.engine.Cp(round(100 * amount)))
    value = judge.value(at.after, True, nodes, None)
    return abs(said - value) <= NEAR + slack or (slack > 0 and said * value > 0)


def judged_turn(judge: Judge, at: At, text: str, _: str, nodes: int, slack: float) -> bool:
    """The mover's chances before and after the move are about what the words say."""
    pairs = zip((at.before, at.after), limits_of(text), strict=True)
    return all(
        LOOSE[limits][0] - slack <= judge.value(board, at.mover, nodes, None)
        and judge.value(board, at.mover, nodes, None) <= LOOSE[limits][1] + slack
        for board, limits in pairs
    )


def judged_kept(judge: Judge, at: At, text: str, _: str, nodes: int, slack: float) -> bool:
    """The move named keeps what it is said to keep, and is better than the one made."""
    limits = next(limits for words, limits in KEPT.items() if words in text)
    value = judge.value(at.before, at.mover, nodes, at.move)
    better = judged_better(judge, at, text, text, nodes, slack)
    return better and value >= LOOSE[limits][0] - slack


def judged_why(judge: Judge, at: At, text: str, _: str, nodes: int, slack: float) -> bool:
    """The other side mates, or wins something; or the mover had a mate."""
    board = at.before if "missed" in text else at.after
    score = judge.lines(board, nodes)[0]["score"].relative
    if score.is_mate():
        return (score.mate() or 0) > 0
    if "mate" in text:
        return False
    answer = judge.lines(board, nodes)[0]["pv"][0]
    after = board.copy()
    after.push(answer)
    return judged_wins(judge, At(board, answer, after), text, text, nodes, slack)


NEAR = 0.3  # of winning chances by which scores of two engines may differ
JUDGED = {
    "score": judged_score,
    "mate": judged_mate,
    "wins": judged_wins,
    "wins back": judged_back,
    "avoids": judged_avoids,
    "parry": judged_parry,
    "threat": judged_threat,
    "better": judged_better,
    "answer": judged_answer,
    "only": judged_only,
    "sacrifice": judged_sacrifice,
    "standing": judged_standing,
    "story turn": judged_turn,
    "story better": judged_kept,
    "story why": judged_why,
}


def gains(at: At, judge: Judge, nodes: int) -> bool:
    """The engine's main line leaves the mover with more material than some plies before.

    What was taken back at once was never had.
    """
    past = at.before.copy()
    had = [material(past, at.mover)]
    while past.move_stack and len(had) <= 16:
        past.pop()
        had.append(material(past, at.mover))
    least = max([had[0], *map(min, pairwise(had))])
    if at.after.is_checkmate():
        return True
    score = judge.lines(at.after, nodes)[0]["score"].pov(at.mover)
    if score.is_mate():
        return (score.mate() or 0) >= 0
    board, best = at.after.copy(), -99
    for ply, move in enumerate(judge.expected(at.after, nodes)):
        board.push(move)
        if ply % 2 == 0:
            best = max(best, material(board, at.mover))
    return best > least or material(board, at.mover) > least


def material(board: chess.Board, white: bool) -> int:
    return sum(
        worth * (len(board.pieces(kind, white)) - len(board.pieces(kind, not white)))
        for kind, worth in WORTH.items()
    )


def chance(score: chess.engine.Score) -> float:
    """Winning chances in [-1, 1], with Lichess's slope."""
    amount = score.score(mate_score=100_000)
    assert amount is not None
    return 2.0 / (1.0 + math.exp(-0.00368208 * max(-1000, min(1000, amount)))) - 1.0


def everything(game: chess.pgn.GameNode) -> Iterator[chess.pgn.ChildNode]:
    """All moves with a comment, variations included."""
    stack = list(game.variations)
    while stack:
        node = stack.pop()
        if node.comment or node.nags & {2, 4}:
            yield node
        stack.extend(node.variations)


if __name__ == "__main__":
    main()
