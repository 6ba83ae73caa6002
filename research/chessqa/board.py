"""Answers what the board alone tells: ChessQA's Structural and Motifs, by their definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import chess

from kibitz.comment.facts import SLIDERS, WORTH, ray_beyond

Row: TypeAlias = dict[str, Any]
Answer: TypeAlias = set[str]
COLOURS = ((chess.WHITE, "White"), (chess.BLACK, "Black"))
STRAIGHT, DIAGONAL = (chess.ROOK, chess.QUEEN), (chess.BISHOP, chess.QUEEN)
name = chess.square_name


def _titled(board: chess.Board, square: int) -> str:
    white, kind = board.color_at(square), board.piece_type_at(square) or 0
    return f"{'White' if white else 'Black'} {chess.piece_name(kind).title()} at {name(square)}"


def _arrangement(board: chess.Board) -> Answer:
    parts = []
    for white, colour in COLOURS:
        for kind in reversed(chess.PIECE_TYPES):
            squares = sorted(map(name, board.pieces(kind, white)))
            if squares:
                parts.append(f"{colour} {chess.piece_name(kind).title()}: {squares}")
    return {", ".join(parts)}


def _tracked(row: Row) -> Answer:
    fen, _, moves = row["input"].partition("|")
    board = chess.Board(fen.strip())
    for move in moves.split():
        board.push_uci(move)
    return {board.fen()}


def _reached(board: chess.Board, square: int) -> chess.SquareSet:
    """What a piece attacks; nothing if it is pinned, as the questions have it."""
    pinned = board.is_pinned(bool(board.color_at(square)), square)
    return chess.SquareSet() if pinned else board.attacks(square)


def _protected(board: chess.Board, square: int) -> Answer:
    own = board.occupied_co[bool(board.color_at(square))] & ~board.kings
    return {name(one) for one in _reached(board, square) & own}


def _capturable(board: chess.Board, square: int) -> Answer:
    theirs = board.occupied_co[not board.color_at(square)]
    return {name(one) for one in _reached(board, square) & theirs}


def _controlled(board: chess.Board, square: int) -> Answer:
    return {name(one) for one in _reached(board, square) & ~board.occupied}


def _checking_moves(board: chess.Board) -> Answer:
    return {move.uci() for move in board.legal_moves if board.gives_check(move)}


# --- motifs ---------------------------------------------------------------------------------------


def _forks(board: chess.Board) -> Answer:
    forks = set()
    for square in chess.scan_forward(board.occupied):
        attacked = board.attacks(square) & board.occupied_co[not board.color_at(square)]
        if len(attacked) > 1:
            forks.add(f"{name(square)}>{'-'.join(sorted(map(name, attacked)))}")
    return forks


def _rays(board: chess.Board) -> Iterator[tuple[int, int, int]]:
    """Sliders, the enemy pieces they attack and pieces of the same side behind those."""
    for square in chess.scan_forward(board.occupied):
        if board.piece_type_at(square) not in SLIDERS:
            continue
        for front in board.attacks(square) & board.occupied_co[not board.color_at(square)]:
            behind = ray_beyond(board, square, front)
            if behind is not None and board.color_at(behind) == board.color_at(front):
                yield square, front, behind


def _written(squares: tuple[int, ...]) -> str:
    return ">".join(map(name, squares))


def _pins(board: chess.Board) -> Answer:
    return {_written(ray) for ray in _rays(board) if board.kings & chess.BB_SQUARES[ray[2]]}


def _skewers(board: chess.Board) -> Answer:
    worth = [WORTH.get(board.piece_type_at(square) or 0, 0) for square in chess.SQUARES]
    return {_written(ray) for ray in _rays(board) if worth[ray[1]] > worth[ray[2]]}


def _batteries(board: chess.Board) -> Answer:
    """Chains of sliders of a side that move along the line they stand on."""
    batteries = set()
    for square in chess.scan_forward(board.occupied):
        for kinds in (STRAIGHT, DIAGONAL):
            for other in _next_in_line(board, square, kinds):
                chain = [square, other]
                while (more := _further(board, chain, kinds)) is not None:
                    chain.append(more)
                if _further(board, chain[::-1], kinds) is None:
                    batteries.add(_written(tuple(sorted(chain))))
    return batteries


def _next_in_line(board: chess.Board, square: int, kinds: tuple[int, ...]) -> list[int]:
    if board.piece_type_at(square) not in kinds:
        return []
    own = board.attacks(square) & board.occupied_co[bool(board.color_at(square))]
    return [
        one
        for one in own
        if board.piece_type_at(one) in kinds and _is_straight(square, one) == (kinds == STRAIGHT)
    ]


def _is_straight(first: int, second: int) -> bool:
    return first & 7 == second & 7 or first >> 3 == second >> 3


def _further(board: chess.Board, chain: list[int], kinds: tuple[int, ...]) -> int | None:
    """The piece that continues a chain beyond its end."""
    beyond = ray_beyond(board, chain[-2], chain[-1])
    if beyond is None or board.piece_type_at(beyond) not in kinds:
        return None
    return beyond if board.color_at(beyond) == board.color_at(chain[0]) else None


def _checks_after(board: chess.Board, is_one: Callable[[chess.Board, chess.Move], bool]) -> Answer:
    """Moves after which something holds, without what a pawn becomes."""
    moves = set()
    for move in board.legal_moves:
        after = board.copy(stack=False)
        after.push(move)
        if is_one(after, move):
            moves.add(move.uci()[:4])
    return moves


def _discovered(board: chess.Board) -> Answer:
    return _checks_after(
        board, lambda after, move: any(square != move.to_square for square in after.checkers())
    )


def _double(board: chess.Board) -> Answer:
    return _checks_after(board, lambda after, _: len(after.checkers()) == 2)


WHOLE: dict[str, Callable[[chess.Board], Answer]] = {
    "structural_piece_arrangement": _arrangement,
    "structural_legal_move_all": lambda board: {move.uci() for move in board.legal_moves},
    "structural_check_in_1": _checking_moves,
    "structural_check_detection": lambda board: {
        _titled(board, square) for square in board.checkers()
    },
    "motifs_fork": _forks,
    "motifs_pin": _pins,
    "motifs_skewer": _skewers,
    "motifs_battery": _batteries,
    "motifs_discovered_check": _discovered,
    "motifs_double_check": _double,
}
OF_SQUARE: dict[str, Callable[[chess.Board, int], Answer]] = {
    "structural_legal_move_piece": lambda board, square: {
        move.uci() for move in board.legal_moves if move.from_square == square
    },
    "structural_protect_squares": _protected,
    "structural_capture_squares": _capturable,
    "structural_control_squares": _controlled,
}


def answered(row: Row) -> Answer:
    """The answer to a question of Structural or Motifs, as a set of what is to be listed."""
    task = row["task_type"]
    if task.startswith("structural_state_tracking"):
        return _tracked(row)
    board = chess.Board(row["input"])
    if task in WHOLE:
        return WHOLE[task](board)
    return OF_SQUARE[task](board, chess.parse_square(row["metadata"]["target_square"]))


def wanted(row: Row) -> Answer:
    """The right answer of a question."""
    if row["answer_type"] == "multi":
        return {part.strip() for part in row["correct_answer"].split(",")}
    return {row["correct_answer"].strip()}
