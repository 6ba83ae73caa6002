"""Policy indices: five orders against independent oracles, golden numbers, and bijections."""

from __future__ import annotations

from typing import Any

import chess
import numpy as np
import pytest

from kibitz.core.errors import InputError
from kibitz.nets.encodings.leaves import Leaves, leaves_of
from kibitz.nets.encodings.planes import ORDERS, VIEWS, policy_codes, policy_indices
from kibitz.nets.encodings.policy import (
    LEELA1858,
    NO_INDEX,
    PAIRS,
    SECTIONS,
    TABLE1858,
    policy_table,
)
from kibitz.position.fen import chess960_fen, parse_fen
from kibitz.position.state import new_positions

SIZES = {"chesscoach": 4672, "dlchess": 4672, "batchfirst": 4672, "table1858": 1858}
SIZES["leela1858"] = 1858
COMBINATIONS = [
    (order, encoding)
    for order in ORDERS
    for encoding in ("history109", "colour22", "oriented22", "threat3072")
    if (order, encoding) not in (("table1858", "colour22"), ("leela1858", "colour22"))
]
CLASSICAL = {(4, 7): 6, (4, 0): 2}


def indices_of(order: str, encoding: str, leaves: Leaves) -> np.ndarray:
    out = np.full(len(leaves.moves), -1, dtype=np.int32)
    policy_indices(order, encoding, leaves, out)
    return out


def leaves_of_fens(*fens: str) -> Leaves:
    games = [new_positions(1) for _ in fens]
    for game, fen in zip(games, fens, strict=True):
        game[0] = parse_fen(chess.Board(fen, chess960=True).fen())
    return leaves_of(games, history=1)


# --- oracles: one index from files, ranks and the piece promoted to ---------------------------


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


def compass(right: int, up: int) -> str:
    return {1: "N", -1: "S", 0: ""}[sign(up)] + {1: "E", -1: "W", 0: ""}[sign(right)]


def chesscoach(origin: int, right: int, up: int, under: int) -> int:
    if under >= 0:
        plane = 64 + 3 * under + ["NW", "N", "NE", "SW", "S", "SE"].index(compass(right, up)) % 3
    elif {abs(right), abs(up)} == {1, 2}:
        jumps = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]
        plane = 56 + jumps.index((right, up))
    else:
        rose = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"]
        plane = 7 * rose.index(compass(right, up)) + max(abs(right), abs(up)) - 1
    return 64 * plane + origin


def dlchess(origin: int, right: int, up: int, under: int) -> int:
    delta = 8 * up + right
    if {abs(right), abs(up)} == {1, 2}:
        return 64 * (56 + [17, 10, -6, -15, -17, -10, 6, 15].index(delta)) + origin
    step = next((s for s in (8, 9, 7) if delta % s == 0), 1)
    axis = {8: 0, 9: 1, 7: 2, 1: 3}[step]
    direction = [("N", "S"), ("NE", "SW"), ("NW", "SE"), ("E", "W")][axis][delta < 0]
    number = ["N", "S", "NE", "SW", "NW", "SE", "E", "W"].index(direction)
    plane = 64 + 3 * axis + under if under >= 0 else 7 * number + abs(delta) // step - 1
    return 64 * plane + origin


def batchfirst(origin: int, right: int, up: int, under: int) -> int:
    if under >= 0:
        plane = 64 + 3 * (right + 1) + under
    elif {abs(right), abs(up)} == {1, 2}:
        # long files last; right before left; up before down
        plane = 56 + 4 * (abs(right) == 2) + 2 * (right < 0) + (up < 0)
    else:
        rose = ["N", "S", "E", "W", "NE", "SE", "NW", "SW"]
        plane = 7 * rose.index(compass(right, up)) + max(abs(right), abs(up)) - 1
    return 64 * plane + origin


def pairs() -> list[tuple[int, int]]:
    """Pairs that a queen or a knight reaches on an empty board."""
    queen, knight = chess.BaseBoard.empty(), chess.BaseBoard.empty()
    found = []
    for origin in chess.SQUARES:
        reached = chess.SquareSet()
        for piece, board in ((chess.QUEEN, queen), (chess.KNIGHT, knight)):
            board.set_piece_at(origin, chess.Piece(piece, chess.WHITE))
            reached |= board.attacks(origin)
            board.remove_piece_at(origin)
        found += [(origin, target) for target in reached]
    return found


PAIR_NUMBER = {pair: index for index, pair in enumerate(pairs())}
UNDER_NUMBER = {
    (48 + file, 56 + target, piece): 1792 + number
    for number, (file, target, piece) in enumerate(
        (file, target, piece)
        for file in range(8)
        for target in range(8)
        for piece in range(3)
        if abs(file - target) <= 1
    )
}


def table1858(origin: int, right: int, up: int, under: int) -> int:
    target = origin + 8 * up + right
    return PAIR_NUMBER[origin, target] if under < 0 else UNDER_NUMBER[origin, target, under]


def leela1858(origin: int, right: int, up: int, piece: int) -> int:
    """`piece` is what a pawn becomes; a knight is an ordinary move, then queen, rook, bishop."""
    target = origin + 8 * up + right
    if piece in (-1, chess.KNIGHT):
        return PAIR_NUMBER[origin, target]
    first = UNDER_NUMBER[origin, target, 0]
    return first + [chess.QUEEN, chess.ROOK, chess.BISHOP].index(piece)


def expected(order: str, encoding: str, board: chess.Board, move: chess.Move) -> int:
    flip = 0 if board.turn else 56
    origin, target = move.from_square ^ flip, move.to_square ^ flip
    if board.is_castling(move) and order not in ("chesscoach", "leela1858"):
        target = CLASSICAL.get((origin, target), target)
    king = board.king(board.turn)
    assert king is not None
    view = {
        "history109": 0,
        "colour22": flip,
        "oriented22": 0 if board.turn else 7,
        "threat3072": 7 if chess.square_file(king) >= 4 else 0,
    }[encoding]
    origin, target = origin ^ view, target ^ view
    right, up = (target & 7) - (origin & 7), (target >> 3) - (origin >> 3)
    under = move.promotion - 2 if move.promotion and move.promotion != chess.QUEEN else -1
    if order == "leela1858":
        return leela1858(origin, right, up, move.promotion or -1)
    oracle = {
        "chesscoach": chesscoach,
        "dlchess": dlchess,
        "batchfirst": batchfirst,
        "table1858": table1858,
    }[order]
    return oracle(origin, right, up, under)


def python_move(board: chess.Board, move: int) -> chess.Move:
    flip = 0 if board.turn else 56
    promotion = (move >> 12) - 2 if move >> 12 >= 4 else None
    return chess.Move(move & 63 ^ flip, (move >> 6 & 63) ^ flip, promotion)


@pytest.mark.parametrize(("order", "encoding"), COMBINATIONS)
def test_indices_are_the_oracles(order: str, encoding: str, games: Any) -> None:
    shown = [(game, ply) for game in games for ply in range(0, len(game.boards), 6)]
    leaves = leaves_of([game.positions[: ply + 1] for game, ply in shown], 1)
    boards = [game.boards[ply] for game, ply in shown]
    found = indices_of(order, encoding, leaves)
    for row, board in enumerate(boards):
        for at in range(leaves.offsets[row], leaves.offsets[row + 1]):
            move = python_move(board, int(leaves.moves[at]))
            assert found[at] == expected(order, encoding, board, move), (board.fen(), move)


def check_bijection(order: str, encoding: str, leaves: Leaves) -> None:
    found = indices_of(order, encoding, leaves)
    assert found.min() >= 0
    assert found.max() < SIZES[order]
    for row in range(len(leaves.known)):
        span = slice(leaves.offsets[row], leaves.offsets[row + 1])
        assert len(set(found[span].tolist())) == span.stop - span.start


@pytest.mark.parametrize(("order", "encoding"), COMBINATIONS)
def test_every_legal_move_has_its_own_index(order: str, encoding: str, games: Any) -> None:
    check_bijection(order, encoding, leaves_of([game.positions for game in games], 1))


@pytest.mark.slow
@pytest.mark.parametrize(("order", "encoding"), COMBINATIONS)
def test_every_legal_move_of_ten_thousand_positions_has_its_own_index(
    order: str, encoding: str, many_positions: Any
) -> None:
    every = [game[ply : ply + 1] for game in many_positions for ply in range(len(game))]
    assert len(every) >= 10_000
    check_bijection(order, encoding, leaves_of(every, 1))


@pytest.mark.parametrize(("order", "encoding"), COMBINATIONS)
def test_every_castling_of_every_chess960_start_is_unique(order: str, encoding: str) -> None:
    """Nothing beside king and rooks on the first rank: as many king moves as there can be."""
    ranks = {chess960_fen(number).split("/")[7].split()[0] for number in range(960)}
    ranks = {"".join(letter if letter in "RK" else "." for letter in rank) for rank in ranks}
    boards = []
    for rank in sorted(ranks):
        board = chess.Board("7k/8/8/8/8/8/PPPPPPPP/8 w - - 0 1", chess960=True)
        for file, letter in enumerate(rank):
            if letter != ".":
                board.set_piece_at(file, chess.Piece.from_symbol(letter))
        board.castling_rights = int(board.rooks)
        assert board.is_valid()
        assert len(list(board.generate_castling_moves())) >= 1
        boards += [board.fen(), board.mirror().fen()]
    assert len(boards) == 2 * 56  # ways to place a king between two rooks
    check_bijection(order, encoding, leaves_of_fens(*boards))


def by_name(order: str, encoding: str, fen: str) -> dict[str, int]:
    """Index by UCI move (castling as king takes rook)."""
    leaves = leaves_of_fens(fen)
    board = chess.Board(fen, chess960=True)
    moves = [python_move(board, int(move)).uci() for move in leaves.moves]
    return dict(zip(moves, indices_of(order, encoding, leaves).tolist(), strict=True))


def test_golden_indices_of_the_start() -> None:
    white = chess.STARTING_FEN
    black = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
    # e2 = 12; north by two is plane 1 in all three orders
    for order in ("chesscoach", "dlchess", "batchfirst"):
        assert by_name(order, "history109", white)["e2e4"] == 64 + 12
        assert by_name(order, "history109", black)["e7e5"] == 64 + 12
    # g1f3: one left, two up, from square 6
    assert by_name("chesscoach", "history109", white)["g1f3"] == 63 * 64 + 6
    assert by_name("dlchess", "oriented22", white)["g1f3"] == 63 * 64 + 6
    assert by_name("batchfirst", "onehot15", white)["g1f3"] == 58 * 64 + 6
    # DLChess: e7e5 is south by two from square 52 in White's view, north from d2 when rotated
    assert by_name("dlchess", "colour22", black)["e7e5"] == 8 * 64 + 52
    assert by_name("dlchess", "oriented22", black)["e7e5"] == 64 + 11
    # a1 reaches b1 ... h1, a2, b2, c2 (9 so far), b3, ...
    rook = by_name("table1858", "history109", "7k/8/8/8/8/8/8/RK6 w - - 0 1")
    assert rook["a1a2"] == 7
    # the king stands on e1: squares are mirrored for the sparse networks
    plain = by_name("table1858", "history109", white)
    mirrored = by_name("table1858", "sparse768", white)
    assert plain["e2e4"] == mirrored["d2d4"]


def test_golden_castling() -> None:
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    kings_rook, queens_rook = "e1h1", "e1a1"
    chesscoach_order = by_name("chesscoach", "history109", fen)
    assert chesscoach_order[kings_rook] == (14 + 2) * 64 + 4  # east by three
    assert chesscoach_order[queens_rook] == (42 + 3) * 64 + 4  # west by four
    dlchess_order = by_name("dlchess", "oriented22", fen)
    assert dlchess_order[kings_rook] == (42 + 1) * 64 + 4  # east by two
    assert dlchess_order[queens_rook] == (49 + 1) * 64 + 4
    assert dlchess_order["a1b1"] == 42 * 64
    assert by_name("batchfirst", "onehot15", fen)[queens_rook] == (21 + 1) * 64 + 4
    table = by_name("table1858", "history109", fen)
    assert table[kings_rook] == PAIR_NUMBER[4, 6]


def test_dlchess_takes_a_whole_rank_for_a_diagonal_step() -> None:
    rook = by_name("dlchess", "oriented22", "8/3k4/8/8/3K4/8/8/R7 w - - 0 1")
    assert rook["a1h1"] == 28 * 64  # as one step NW
    rook = by_name("dlchess", "oriented22", "8/3k4/8/8/3K4/8/8/7R w - - 0 1")
    assert rook["h1a1"] == 35 * 64 + 7  # as one step SE


@pytest.mark.parametrize(("order", "encoding"), COMBINATIONS)
def test_every_under_promotion_is_unique(order: str, encoding: str) -> None:
    """All 22 ways of a pawn to the last rank, for both sides."""
    whites, blacks = set(), set()
    for origin, target in ((a, b) for a in range(48, 56) for b in range(56, 64)):
        if abs((origin & 7) - (target & 7)) > 1:
            continue
        board = chess.Board("8/8/8/8/8/8/8/K6k w - - 0 1")
        board.set_piece_at(origin, chess.Piece(chess.PAWN, chess.WHITE))
        if target != origin + 8:
            board.set_piece_at(target, chess.Piece(chess.ROOK, chess.BLACK))
        for piece in (chess.KNIGHT, chess.BISHOP, chess.ROOK):
            move = chess.Move(origin, target, piece).uci()
            whites.add(by_name(order, encoding, board.fen())[move])
            move = chess.Move(origin ^ 56, target ^ 56, piece).uci()
            blacks.add(by_name(order, encoding, board.mirror().fen())[move])
    assert len(whites) == len(blacks) == 66
    lowest = {"table1858": 1792, "leela1858": 0}  # Leela's knights are ordinary moves
    assert min(whites | blacks) >= lowest.get(order, 64 * 64)


def test_tables_of_pairs_hold_every_number_once() -> None:
    table = policy_table().reshape(len(ORDERS), SECTIONS, PAIRS)
    for order, name in enumerate(ORDERS):
        numbers = table[order][table[order] != NO_INDEX]
        assert len(numbers) == len(set(numbers.tolist()))
        assert numbers.max() < SIZES[name]
        if order in (TABLE1858, LEELA1858):
            assert sorted(numbers.tolist()) == list(range(1858))


def test_mirrored_positions_share_their_sparse_indices(games: Any) -> None:
    """Without castling the sparse policy cannot tell a position from its mirror image."""
    boards = [game.boards[-1] for game in games if not game.boards[-1].clean_castling_rights()]
    assert len(boards) > 5
    originals = [new_positions(1) for _ in boards]
    mirrored = [new_positions(1) for _ in boards]
    for board, position, image in zip(boards, originals, mirrored, strict=True):
        position[0] = parse_fen(board.fen())
        image[0] = parse_fen(board.transform(chess.flip_horizontal).fen())
    one, other = leaves_of(originals, 1), leaves_of(mirrored, 1)
    first = indices_of("table1858", "threat3072", one)
    second = indices_of("table1858", "threat3072", other)
    for row in range(len(boards)):
        span = slice(one.offsets[row], one.offsets[row + 1])
        assert sorted(first[span].tolist()) == sorted(second[span].tolist())


def test_wrong_combinations_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'dlchess'"):
        policy_codes("dlches", "oriented22")
    with pytest.raises(InputError, match="unknown encoding"):
        policy_codes("dlchess", "nothing")
    with pytest.raises(InputError, match="no promotions down"):
        policy_codes("table1858", "colour21")
    assert set(VIEWS) >= {"history109", "sparse768"}
