"""What alpha-beta knows of bishop and knight: by symmetry, by retrograde analysis, in games."""

from __future__ import annotations

import chess
import numpy as np
import pytest

from kibitz.arena.match.game import Control
from kibitz.arena.match.spec import parse_player
from kibitz.arena.match.suites import run_technique
from kibitz.jit.compile import COMPILED
from kibitz.position.board import Board
from kibitz.search.alphabeta.constants import ENDING_FILE
from kibitz.search.alphabeta.endings import (
    OF_A_PLY,
    STEP,
    WON,
    holds_the_corner,
    known_score,
    scaled_plies_to_mate,
)
from research.endings.fit import fit
from research.endings.retrograde import DARK, UNKNOWN, solve
from tests.search.test_proofs import mates_within

pytestmark = pytest.mark.skipif(not COMPILED, reason="too slow as plain Python")

PIECES = (chess.KING, chess.BISHOP, chess.KNIGHT)
LONGEST = 12


@pytest.fixture(scope="module")
def won() -> np.ndarray:
    return solve(LONGEST)


def score_of(board: chess.Board) -> int:
    return int(known_score(Board.from_chess(board).position))


def placed(squares: tuple[int, int, int, int], white: bool, turn: bool) -> chess.Board:
    board = chess.Board.empty()
    for kind, square in zip((*PIECES, chess.KING), squares, strict=True):
        own = white if len(board.piece_map()) < len(PIECES) else not white
        board.set_piece_at(square, chess.Piece(kind, own))
    board.turn = turn
    return board


def random_boards(count: int) -> list[chess.Board]:
    random, boards = np.random.default_rng(3), list[chess.Board]()
    while len(boards) < count:
        squares = tuple(random.choice(64, 4, replace=False).tolist())
        board = placed(squares, bool(random.integers(2)), bool(random.integers(2)))
        if board.is_valid():
            boards.append(board)
    return boards


@pytest.mark.parametrize("board", random_boards(20), ids=chess.Board.fen)
def test_a_mirror_changes_nothing(board: chess.Board) -> None:
    score, strong = score_of(board), bool(board.occupied_co[board.turn] & board.knights)
    assert score == score_of(board.transform(chess.flip_horizontal))
    assert score == score_of(board.mirror())
    assert (score > 0) == strong
    assert 0 < WON - abs(score) < 90 * STEP


@pytest.mark.parametrize(
    "fen",
    [
        "8/7k/8/8/8/8/8/2B1K3 w - - 0 1",
        "8/7k/8/8/8/8/8/2BBK3 w - - 0 1",
        "8/7k/8/8/8/8/8/2NNK3 w - - 0 1",
        "8/7k/8/8/8/8/n7/2B1K3 w - - 0 1",
        "8/7k/8/8/8/8/p7/1NB1K3 w - - 0 1",
        "8/7k/8/8/8/8/8/QNB1K3 w - - 0 1",
        "8/7k/8/8/8/8/b7/1N2K3 w - - 0 1",
        chess.STARTING_FEN,
    ],
)
def test_other_endings_are_left_to_the_network(fen: str) -> None:
    assert score_of(chess.Board(fen)) == 0


def test_retrograde_analysis_finds_the_shortest_mates(won: np.ndarray) -> None:
    random = np.random.default_rng(1)
    assert {*np.unique(won)} == {*range(1, LONGEST, 2), int(UNKNOWN)}
    assert not (won[:, [square for square in range(64) if square not in DARK]] != UNKNOWN).any()
    for plies in (1, 3):
        places = np.argwhere(won == plies)
        for place in places[random.choice(len(places), 12)].tolist():
            board = placed(tuple(place), white=True, turn=True)
            assert board.is_valid(), board.fen()
            assert mates_within(board, plies), board.fen()
            assert plies == 1 or not mates_within(board, plies - 2), board.fen()


def test_positions_that_are_not_won_have_no_short_mate(won: np.ndarray) -> None:
    random, seen = np.random.default_rng(2), 0
    while seen < 200:
        squares = tuple(random.choice(64, 4, replace=False).tolist())
        board = placed(squares, white=True, turn=True)
        if squares[1] in DARK and board.is_valid() and won[squares] == UNKNOWN:
            seen += 1
            assert not mates_within(board, 1), board.fen()


def test_what_is_known_follows_the_distance_to_mate(won: np.ndarray) -> None:
    random = np.random.default_rng(4)

    def mean(places: np.ndarray) -> float:
        some = places[random.choice(len(places), 400)].tolist()
        return float(np.mean([scaled_plies_to_mate(*place) / OF_A_PLY for place in some]))

    near, others = np.argwhere(won == LONGEST - 1), np.argwhere(won[:, DARK] == UNKNOWN)
    others[:, 1] = np.array(DARK)[others[:, 1]]
    assert mean(near) < 25 < 45 < mean(others)


def test_a_fit_learns_what_squares_say() -> None:
    random, made_up = np.random.default_rng(5), np.full((64, 64, 64, 64), UNKNOWN)
    places = random.choice(64, (50_000, 4))
    made_up[tuple(places.T)] = 20 + 5 * (places[:, 3] >> 3)  # the bare king's rank
    table, error = fit(made_up, epochs=50, seed=0)
    assert table.dtype == np.int16
    assert table.shape == np.load(ENDING_FILE).shape
    assert error < 0.5 * np.std(made_up[made_up != UNKNOWN])


def test_the_ending_is_played_out() -> None:
    white, black = parse_player("kibitz,Search=alphabeta"), parse_player("material")
    found = run_technique("KBNK", white, black, Control(nodes=1000), tries=6)
    assert (found.wins, found.forfeits) == (6, 0)


def corner_boards(count: int) -> list[chess.Board]:
    """Rook's pawns, at times with bishops, against a bare king in or next to a corner."""
    random, boards = np.random.default_rng(5), list[chess.Board]()
    while len(boards) < count:
        white, file = bool(random.integers(2)), int(random.choice((0, 7)))
        corner = chess.square(file, 7 if white else 0)
        near = [corner, *chess.SquareSet(chess.BB_KING_ATTACKS[corner])]
        board = chess.Board.empty()
        board.set_piece_at(int(random.choice(near)), chess.Piece(chess.KING, not white))
        for kind, most in ((chess.KING, 1), (chess.PAWN, 2), (chess.BISHOP, 2)):
            for _ in range(int(random.integers(kind != chess.BISHOP, most + 1))):
                rank = int(random.integers(1, 7))
                at = chess.square(file, rank) if kind == chess.PAWN else int(random.integers(64))
                if board.piece_at(at) is None:
                    board.set_piece_at(at, chess.Piece(kind, white))
        board.turn = bool(random.integers(2))
        if board.is_valid() and board.pawns:
            boards.append(board)
    return boards


def holds(board: chess.Board) -> bool:
    return bool(holds_the_corner(Board.from_chess(board).position))


def after(board: chess.Board, move: chess.Move) -> chess.Board:
    board = board.copy(stack=False)
    board.push(move)
    return board


def test_from_a_corner_that_is_held_no_move_leads_to_more() -> None:
    """With the bare king to move one of its moves holds it; with the other side, all moves do."""
    held = [board for board in corner_boards(3_000) if holds(board)]
    assert len(held) > 500
    for board in held:
        bare = board.occupied_co[board.turn].bit_count() == 1
        places = [after(board, move) for move in board.legal_moves]
        if bare:
            assert (not places and not board.is_check()) or any(map(safe, places))
        else:
            # What promotes is taken, or all moves of the king hold the corner.
            assert all(safe(there) or any(map(safe, replies(there))) for there in places)


def safe(board: chess.Board) -> bool:
    return holds(board) or board.is_insufficient_material() or board.is_stalemate()


def replies(board: chess.Board) -> list[chess.Board]:
    return [after(board, move) for move in board.legal_moves]


@pytest.mark.parametrize(
    ("fen", "held"),
    [
        ("7k/8/8/7P/4B1K1/8/8/8 b - - 0 1", True),  # the bishop is on light squares
        ("8/6k1/8/7P/4B1K1/8/8/8 w - - 0 1", True),
        ("7k/8/8/7P/5BK1/8/8/8 b - - 0 1", False),  # the right one
        ("8/5k2/8/7P/4B1K1/8/8/8 b - - 0 1", False),  # not there yet
        ("7k/8/8/6PP/4B1K1/8/8/8 b - - 0 1", False),
        ("7k/7p/8/7P/4B1K1/8/8/8 b - - 0 1", False),  # a pawn that may have to move
        ("k7/8/8/P7/8/2K5/8/8 w - - 0 1", True),  # no bishop at all
        ("8/8/8/8/p2b1k2/8/1K6/8 w - - 0 1", False),  # a1 is dark, and guarded
        ("8/8/8/8/p3bk2/8/1K6/8 w - - 0 1", True),
        ("7k/8/8/7P/4N1K1/8/8/8 b - - 0 1", False),
    ],
)
def test_corners_that_are_held(fen: str, held: bool) -> None:
    board = chess.Board(fen)
    assert holds(board) is held
    assert holds(board.mirror()) is held
    assert holds(board.transform(chess.flip_horizontal)) is held
