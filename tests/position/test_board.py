"""Board: games end at the exact ply, history is kept, copies are independent, pictures right."""

from __future__ import annotations

import copy
import doctest
import pickle
from typing import Any

import chess
import chess.variant
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import kibitz
from kibitz.core.errors import InputError, MoveError, NotationError, PositionError
from kibitz.position import board as board_module
from kibitz.position.board import Board, Outcome, Termination
from kibitz.position.notation import NULL
from kibitz.position.state import compute_key

ROOK_ENDING = "4k3/8/8/8/8/8/8/R3K3 w - - {} 80"
THERE_AND_BACK = ("Nf3", "Nf6", "Ng1", "Ng8")


def termination(board: Board, *, claim: bool = False) -> Termination | None:
    end = board.outcome(claim=claim)
    return None if end is None else end.termination


def test_fools_mate() -> None:
    board = Board(moves=["f3", "e5", "g4"])
    assert board.outcome() is None
    board.push("Qh4#")
    assert board.outcome() == Outcome(Termination.CHECKMATE, "black")
    assert (board.outcome(claim=True), board.legal_moves) == (board.outcome(), [])
    end = board.outcome()
    assert end is not None
    assert end.result == "0-1"
    assert board.checkers() == [chess.H4]


def test_stalemate() -> None:
    end = Board("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1").outcome()
    assert end == Outcome(Termination.STALEMATE, None)
    assert end is not None
    assert end.result == "1/2-1/2"


def test_fifty_moves_are_a_hundred_plies() -> None:
    board = Board(ROOK_ENDING.format(98))
    assert termination(board, claim=True) is None
    board.push("Ra2")
    assert (board.rule50, termination(board, claim=True)) == (99, None)
    board.push("Kd8")
    assert (board.rule50, termination(board, claim=True)) == (100, Termination.FIFTY_MOVES)
    assert board.outcome() is None


def test_seventy_five_moves_need_no_claim() -> None:
    board = Board(ROOK_ENDING.format(148))
    board.push("Ra2")
    assert board.outcome() is None
    board.push("Kd8")
    assert (board.rule50, termination(board)) == (150, Termination.SEVENTY_FIVE_MOVES)


def test_mate_on_the_last_ply_wins() -> None:
    board = Board("4k3/8/4K3/8/8/8/8/R7 w - - 149 200", moves=["Ra8"])
    assert board.outcome() == Outcome(Termination.CHECKMATE, "white")
    assert board.rule50 == 150


def test_a_pawn_move_starts_the_clock_again() -> None:
    board = Board("4k3/8/8/8/8/8/P7/R3K3 w - - 149 200", moves=["a4"])
    assert (board.rule50, board.outcome()) == (0, None)


def test_threefold_and_fivefold_at_the_exact_ply() -> None:
    board = Board()
    for ply in range(1, 17):
        board.push(THERE_AND_BACK[(ply - 1) % 4])
        # The start position comes back at plies 4, 8, 12, 16: twofold, threefold, ...
        assert board.repetitions() == 1 + ply // 4
        assert (termination(board, claim=True) is not None) == (ply >= 8)
        assert (termination(board) is not None) == (ply == 16)
    assert termination(board) is Termination.FIVEFOLD_REPETITION
    board.pop()
    assert termination(board, claim=True) is Termination.THREEFOLD_REPETITION


def test_a_lost_right_makes_another_position() -> None:
    start = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    board = Board(start, moves=["Ke2", "Ke7", "Ke1", "Ke8"])
    assert board.repetitions() == 1
    assert board.key != Board(start).key
    for move in ("Ke2", "Ke7", "Ke1", "Ke8"):
        board.push(move)
    assert board.repetitions() == 2


def test_en_passant_makes_another_position_only_if_legal() -> None:
    """After 1.e4 nobody can capture: the position with e3 as target is the same."""
    quiet = Board(moves=["e4"])
    assert quiet.key == Board("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1").key
    legal = "4k3/8/8/8/3pP3/8/8/4K3 b - {} 0 1"
    assert Board(legal.format("e3")).key != Board(legal.format("-")).key
    pinned = "4k3/8/8/8/r2pPK2/8/8/8 b - {} 0 1"
    assert Board(pinned.format("e3")).key != Board(pinned.format("-")).key
    bare = "8/8/8/8/k2pP2R/8/8/4K3 b - {} 0 1"
    assert Board(bare.format("e3")).key == Board(bare.format("-")).key


def test_every_right_and_file_has_its_own_key() -> None:
    rights = ["-", "K", "Q", "k", "q", "KQ", "Kk", "Kq", "Qk", "Qq", "kq", "KQk", "KQq", "Kkq"]
    rights += ["Qkq", "KQkq"]
    boards = [Board(f"r3k2r/8/8/8/8/8/8/R3K2R {s} {r} - 0 1") for r in rights for s in "wb"]
    assert len({board.key for board in boards}) == 32
    passes = {Board(f"4k3/8/8/pPpPpPpP/8/8/8/4K3 w - {file}6 0 1").key for file in "aceg"}
    passes.add(Board("4k3/8/8/pPpPpPpP/8/8/8/4K3 w - - 0 1").key)
    assert len(passes) == 5


def test_transpositions_meet() -> None:
    one = Board(moves=["Nf3", "Nf6", "Nc3", "Nc6"])
    other = Board(moves=["Nc3", "Nc6", "Nf3", "Nf6"])
    assert (one.key, one) == (other.key, other)
    assert hash(one) == hash(other)
    assert one != Board()
    assert one != "a board"


@pytest.mark.parametrize(
    ("board", "dead"),
    [
        ("4k3/8/8/8/8/8/8/4K3", True),
        ("4k3/8/8/8/8/8/8/4KB2", True),
        ("4kn2/8/8/8/8/8/8/4K3", True),
        ("2b1k3/8/8/8/8/8/8/4KB2", True),  # both on light squares
        ("1b2k3/8/8/8/8/8/8/4KB2", False),
        ("4kb2/8/8/8/8/8/8/4KB2", False),
        ("4k3/8/8/8/8/8/8/4KNN1", False),
        ("4kn2/8/8/8/8/8/8/4KN2", False),
        ("4kb2/8/8/8/8/8/8/4KN2", False),
        ("4k3/8/8/8/8/8/P7/4K3", False),
        ("4k3/8/8/8/8/8/8/R3K3", False),
        ("3qk3/8/8/8/8/8/8/4K3", False),
        ("B1B1k3/8/8/8/8/8/8/B1B1K3", False),
        ("B1B1k3/8/8/8/8/8/8/4K3", True),
    ],
)
def test_insufficient_material(board: str, dead: bool) -> None:
    fen = f"{board} w - - 0 1"
    assert (termination(Board(fen)) is Termination.INSUFFICIENT_MATERIAL) == dead
    assert chess.Board(fen).is_insufficient_material() == dead


def test_pushing_and_popping() -> None:
    board = Board()
    before = board.fen()
    pushed = [board.push(text) for text in ("e4", "c7c5", "Nf3", "Nc6", "Bb5", "g6", "O-O")]
    assert board.moves == tuple(pushed)
    assert (board.turn, board.ply) == ("black", 7)
    assert [board.pop() for _ in pushed] == pushed[::-1]
    assert (board.fen(), board.moves) == (before, ())
    with pytest.raises(MoveError, match="no move to take back"):
        board.pop()


def test_refused_moves_leave_the_board_alone() -> None:
    board = Board()
    illegal = Board("4k3/8/8/8/8/8/8/R3K3 w - - 0 1").legal_moves[-1]
    for move, error in (
        ("e5", MoveError),
        ("e2e5", MoveError),
        (illegal, MoveError),
        ("knight to f3", NotationError),
    ):
        with pytest.raises(error):
            board.push(move)
    assert (board.fen(), board.moves) == (Board().fen(), ())


def test_the_longest_games_fit() -> None:
    board = Board()
    for ply in range(1000):
        board.push(THERE_AND_BACK[ply % 4])
    assert len(board.moves) == board.rule50 == len(board.keys()) == 1000
    assert board.repetitions() == 251
    for _ in range(1000):
        board.pop()
    assert board == Board()


def test_keys_go_back_to_the_last_capture_or_pawn_move() -> None:
    board = Board(moves=["Nf3", "e5"])
    assert board.keys().tolist() == []
    irreversible = board.key
    board.push("Nc3")
    assert board.keys().tolist() == [irreversible]
    board.push("Nc6")
    assert len(board.keys()) == 2
    keys = board.keys()
    keys[:] = 0  # the caller's own
    assert np.all(board.keys() != 0)
    assert board.keys().flags.c_contiguous


def test_null_moves() -> None:
    board = Board(moves=["e4", "--"])
    assert (board.turn, board.fen()) == (
        "white",
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 1 2",
    )
    assert board.key == int(compute_key(board.position))
    assert board.to_chess().fen() == board.fen()
    assert Board.from_chess(board.to_chess()).moves == board.moves
    assert board.pop() == NULL
    with pytest.raises(MoveError, match="cannot pass in check"):
        Board("4k3/8/8/8/8/8/8/4RK2 b - - 0 1").push("--")


def test_copies_are_independent() -> None:
    board = Board(moves=["e4", "e5"])
    twin, bare = board.copy(), board.copy(history=False)
    twin.push("Nf3")
    assert (board.fen(), board.moves) == (bare.fen(), twin.moves[:2])
    assert bare.moves == ()
    assert copy.deepcopy(board) == board


@given(st.integers(0, 959), st.lists(st.integers(0, 200), max_size=30))
def test_pickling(number: int, choices: list[int]) -> None:
    board = Board.start960(number)
    for choice in choices:
        if moves := board.legal_moves:
            board.push(moves[choice % len(moves)])
    again = pickle.loads(pickle.dumps(board))
    assert (again, again.moves, again.chess960) == (board, board.moves, True)
    assert again.keys().tolist() == board.keys().tolist()
    assert eval(repr(board)) == board


def test_mirror_keeps_the_game() -> None:
    board = Board(moves=["e4", "d5", "exd5", "Qxd5", "Nc3", "Qe5", "Be2"])
    mirrored = board.mirror()
    assert mirrored.turn == "white"
    assert [move.uci() for move in mirrored.moves][:3] == ["e7e5", "d2d4", "e5d4"]
    assert len(mirrored.legal_moves) == len(board.legal_moves)
    assert mirrored.mirror().moves == board.moves


def test_conversion_from_python_chess() -> None:
    reference = chess.Board("4k3/8/8/8/8/8/8/1R2K1R1 w GB - 0 1", chess960=True)
    board = Board.from_chess(reference)
    assert board.chess960
    assert sorted(board.uci(move) for move in board) == sorted(
        reference.uci(move) for move in reference.legal_moves
    )
    assert board.to_chess() == reference
    # Castling as python-chess's ordinary boards write it.
    played = chess.Board("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    played.push_san("O-O")
    played.push_san("O-O-O")
    assert [str(move) for move in Board.from_chess(played).moves] == ["e1g1", "e8c8"]


def test_other_variants_and_impossible_boards_are_refused() -> None:
    with pytest.raises(PositionError, match="not ordinary chess"):
        Board.from_chess(chess.variant.AtomicBoard())
    with pytest.raises(PositionError, match="exactly one king"):
        Board.from_chess(chess.Board(None))


def test_pictures() -> None:
    board = Board(moves=["e4", "e5", "Qh5", "Nc6", "Bc4", "Nf6", "Qxf7#"])
    rows = str(board).splitlines()
    assert rows[1] == "7 p p p p . Q p p"
    assert rows[-1] == "  a b c d e f g h"
    assert [row[2:] for row in rows[:8]] == str(board.to_chess()).splitlines()
    assert (board.piece_at("f7"), board.piece_at(chess.E8), board.piece_at("e2")) == (
        *("Q", "k"),
        None,
    )
    console = Console(color_system="truecolor", force_terminal=True, width=80)
    with console.capture() as captured:
        console.print(board)
    assert captured.get().count("♟") == 15
    svg = board._repr_svg_()
    assert svg.startswith("<svg")
    assert "check" in svg
    assert Board()._repr_svg_().startswith("<svg")


@pytest.mark.parametrize(
    "how", [{"color_system": None}, {"color_system": "standard"}, {"no_color": True}]
)
def test_without_many_colours_the_sides_differ_by_their_letters(how: dict[str, Any]) -> None:
    given = {"color_system": "truecolor", "force_terminal": True, "highlight": False, **how}
    console = Console(width=80, **given)
    with console.capture() as captured:
        console.print(Board(moves=["e2e4"]))
    plain = str(Board(moves=["e2e4"]))
    marked = plain.replace(". P . . .", ".[P]. . .").replace("P . P P P", "P[.]P P P")
    assert captured.get().rstrip("\n") == marked != plain


def test_the_face_of_the_package() -> None:
    assert kibitz.Board is Board
    assert Board("4k3/8/8/8/8/8/8/4K3 b - - 5 9").ply == 17
    with pytest.raises(ValueError, match="side to move"):
        Board("8/8/8/8/8/8/8/8 x - - 0 1")


def test_the_example_in_the_documentation() -> None:
    tried = doctest.testmod(board_module)
    assert (tried.failed, tried.attempted) == (0, 3)


@pytest.mark.parametrize("text", ["1.e4", "1. e4", "12...e4", "...e4", "1.e2e4", "1\u2026e4"])
def test_a_move_may_have_a_number(text: str) -> None:
    assert str(Board().parse(text)) == "e2e4"


@pytest.mark.parametrize("text", ["1 e4", "1.", "e4.", "1.e5", "1.2.e4"])
def test_a_number_alone_makes_no_move(text: str) -> None:
    with pytest.raises(InputError):
        Board().parse(text)
