"""The tree of openings against a count by python-chess; books against python-chess's reader."""

from __future__ import annotations

import io
import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import chess
import chess.pgn
import chess.polyglot
import numpy as np
import pytest
import safetensors.numpy

from kibitz.cli import main
from kibitz.coach.analyse import Analysed, keep
from kibitz.coach.database import Database, View
from kibitz.coach.games import Added, games_of
from kibitz.coach.repertoire import practised, read_repertoire
from kibitz.coach.tree import (
    EMPTY,
    MARK,
    book_moves,
    merged,
    moves_at,
    read_tree,
    tree_of_files,
    tree_of_games,
    write_book,
    write_tree,
)
from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import with_ending
from kibitz.position.board import Board
from tests.coach.stand_in import NAME, game_of

RESULTS = ("1-0", "0-1", "1/2-1/2")
POINTS = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}
PLIES = 10
# Few moves, of both sides, so that games meet again by other orders; castling is among them.
FIRST = (
    ("e4", "Nf3", "Bc4", "O-O", "d3", "c4", "Nc3"),
    ("e5", "Nf6", "Bc5", "O-O", "d6", "c5", "Nc6"),
)


def random_game(seed: int) -> str:
    generator, board = random.Random(seed), chess.Board()
    game = chess.pgn.Game()
    for _ in range(generator.randrange(1, 14)):
        texts = [board.san(move) for move in board.legal_moves]
        usual = [text for text in FIRST[not board.turn] if text in texts]
        board.push_san(generator.choice(usual or texts))
    game.add_line(board.move_stack)
    result = generator.choice(RESULTS)
    ratings = {"WhiteElo": generator.choice(("1500", "1600", "?")), "BlackElo": "1550"}
    game.headers.update({"Result": result, "White": NAME, "Event": str(seed), **ratings})
    return str(game)


class Count(NamedTuple):
    """What python-chess counts: moves of positions by result, opponents' ratings, arrivals."""

    results: Counter[tuple[str, str, str]]  # position, move, result
    ratings: dict[tuple[str, str], list[int]]
    points: dict[tuple[str, str], list[float]]
    arrivals: dict[str, set[int]]


def counted(text: str) -> Count:
    count, stream, number = Count(Counter(), {}, {}, {}), io.StringIO(text), 0
    while (game := chess.pgn.read_game(stream)) is not None:
        board, number, seen = game.board(), number + 1, set[tuple[str, str]]()
        for move in list(game.mainline_moves())[:PLIES]:
            place = (board.epd(), board.san(move))
            if place not in seen:
                seen.add(place)
                result = game.headers["Result"]
                count.results[(*place, result)] += 1
                rating = game.headers["BlackElo" if board.turn else "WhiteElo"]
                if rating != "?":
                    count.ratings.setdefault(place, []).append(int(rating))
                points = POINTS[result] if board.turn else 1 - POINTS[result]
                count.points.setdefault(place, []).append(points)
            board.push(move)
            count.arrivals.setdefault(board.epd(), set()).add(number)
    return count


@pytest.fixture(scope="module")
def text() -> str:
    return "\n\n".join(random_game(seed) for seed in range(600)) + "\n"


def positions_of(text: str) -> list[chess.Board]:
    boards: dict[str, chess.Board] = {}
    stream = io.StringIO(text)
    while (game := chess.pgn.read_game(stream)) is not None:
        board = game.board()
        for move in list(game.mainline_moves())[:PLIES]:
            boards.setdefault(board.epd(), board.copy())
            board.push(move)
    return list(boards.values())


def test_counts_are_those_of_python_chess(text: str, tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(text)
    tree, counts = tree_of_files([path], PLIES)
    assert counts == {"games": 600}
    oracle, met = counted(text), 0
    by_position = Counter[str]()
    for (epd, _, _), number in oracle.results.items():
        by_position[epd] += number
    boards = positions_of(text)
    for board in boards:
        moves = moves_at(tree, Board.from_chess(board))
        for move in moves:
            place = (board.epd(), move.san)
            told = (move.white, move.black, move.draws)
            assert told == tuple(oracle.results[(*place, result)] for result in RESULTS)
            after = board.copy()
            after.push_san(move.san)
            # A game counts where it went on, or where it made this very move.
            assert move.games <= move.reached <= len(oracle.arrivals[after.epd()])
            met += move.reached > move.games
            assert move.performance == performance(oracle, place)
        assert sum(move.games for move in moves) == by_position[board.epd()]
    assert len(boards) > 500
    assert met > 50  # transpositions


def performance(oracle: Count, place: tuple[str, str]) -> int | None:
    ratings, points = oracle.ratings.get(place), oracle.points[place]
    if not ratings:
        return None
    mean, share = sum(ratings) / len(ratings), sum(points) / len(points)
    if share in (0, 1):
        return round(mean + (800 if share else -800))
    return round(mean + max(-800, min(800, 400 * math.log10(share / (1 - share)))))


def test_pieces_and_parts_make_the_same_tree(text: str, tmp_path: Path) -> None:
    whole, first, second = (tmp_path / name for name in ("a.pgn", "b.pgn", "c.pgn"))
    games = text.split("\n\n[Event")
    whole.write_text(text)
    first.write_text("\n\n[Event".join(games[:150]) + "\n")
    second.write_text("[Event" + "\n\n[Event".join(games[150:]))
    tree, _ = tree_of_files([whole], PLIES)
    parts = merged([tree_of_files([path], PLIES)[0] for path in (first, second)])
    write_tree(tmp_path / "a.tree", parts)
    for one, other in zip(tree, read_tree(tmp_path / "a.tree"), strict=True):
        assert (one == other).all()
    content = bytearray((tmp_path / "a.tree").read_bytes())
    content[2000] ^= 1
    (tmp_path / "a.tree").write_bytes(content)
    with pytest.raises(DamagedFileError, match="make it again"):
        read_tree(tmp_path / "a.tree")


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("keys", np.array([3, 2], dtype=np.uint64)),
        ("moves", np.zeros(3, dtype=np.uint16)),
        ("counts", np.ones((2, 2), dtype=np.uint32)),
        ("counts", np.zeros((2, 3), dtype=np.uint32)),
        ("scores", np.zeros(1, dtype=np.int64)),
        ("other", np.zeros(1, dtype=np.int64)),
    ],
)
def test_a_file_whose_arrays_contradict_each_other(
    name: str, array: np.ndarray, tmp_path: Path
) -> None:
    arrays: dict[str, np.ndarray] = {
        "keys": np.array([2, 3], dtype=np.uint64),
        "moves": np.zeros(2, dtype=np.uint16),
        "counts": np.ones((2, 3), dtype=np.uint32),
        "ratings": np.zeros((2, 2), dtype=np.uint32),
        "evaluated": np.array([5], dtype=np.uint64),
        "scores": np.zeros(1, dtype=np.int16),
    }
    path = tmp_path / "a.tree"
    for changed in (arrays, arrays | {name: array}):
        path.write_bytes(with_ending(safetensors.numpy.save(changed), MARK))
        if changed is arrays:
            assert len(read_tree(path).keys) == 2
    with pytest.raises(DamagedFileError, match=r"no tree of openings.*make it again"):
        read_tree(path)
    path.write_bytes(with_ending(b"no arrays at all", MARK))
    with pytest.raises(DamagedFileError, match="no tree"):
        read_tree(path)


def test_a_move_that_is_not_legal_where_a_tree_has_it() -> None:
    keys = np.array([Board().key], dtype=np.uint64)
    counts, ratings = np.ones((1, 3), dtype=np.uint32), np.zeros((1, 2), dtype=np.uint32)
    moves = np.array([0x7FFF], dtype=np.uint16)
    tree = EMPTY._replace(keys=keys, moves=moves, counts=counts, ratings=ratings)
    with pytest.raises(DamagedFileError, match="a move that is not legal"):
        moves_at(tree, Board())


def test_evaluations_of_games(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    moves = "1. e4 { [%eval 0.35] } 1... f6 { [%eval 1.2,20] } 2. d4 g5 { [%eval #1] } 3. Qh5# 1-0"
    path.write_text(f'[Event "a"]\n[Result "1-0"]\n\n{moves}\n')
    tree, _ = tree_of_files([path])
    board, scores = Board(), []
    for san in ("e4", "f6", "d4", "g5"):
        scores.append(moves_at(tree, board)[0].score)
        board.push(san)
    assert scores == [35, 120, None, 10_000]


def test_a_book_is_read_by_python_chess_and_back(text: str, tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(text)
    tree, _ = tree_of_files([path], PLIES)
    book = tmp_path / "book.bin"
    written, castlings = write_book(book, tree, least=3), 0
    entries = 0
    with chess.polyglot.open_reader(book) as reader:
        assert len(reader) == written
        for board in positions_of(text):
            moves = moves_at(tree, Board.from_chess(board))
            wanted = {
                move.san: round(2 * move.points(board.turn) * move.games)
                for move in moves
                if move.games >= 3
            }
            had = {board.san(entry.move): entry.weight for entry in reader.find_all(board)}
            if had:  # a position that only rare moves lead to is not in the book
                assert had == {san: weight for san, weight in wanted.items() if weight}
                assert [*had.values()] == sorted(had.values(), reverse=True)
                ours = book_moves(book, Board.from_chess(board))
                assert [(entry.san, entry.weight) for entry in ours] == list(had.items())
            entries += len(had)
            castlings += "O-O" in had
    assert entries == written
    assert castlings
    with pytest.raises(InputError, match="no move was made so often"):
        write_book(book, tree, least=10_000)
    book.write_bytes(book.read_bytes()[:-3])
    with pytest.raises(DamagedFileError, match="no Polyglot book"):
        book_moves(book, Board())


# --- own games ------------------------------------------------------------------------------------


LINES = (
    ("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6", 3),
    ("1. Nf3 Nc6 2. e4 e5 3. Bc4 Nf6", 2),  # comes to the repertoire late, and leaves it
    ("1. e4 e5 2. Nf3 f5 3. exf5 e4", 4),  # the opponent does
    ("1. d4 d5 2. c4 e6", 1),  # it never was there
)
REPERTOIRE = '[Event "?"]\n\n1. e4 (1. c4 e5) 1... e5 (1... c5 2. Nf3) 2. Nf3 Nc6 3. Bb5 *\n'


def own_games(path: Path) -> Database:
    database, number = Database(path), 0
    with database.transaction():
        for moves, count in LINES:
            for _ in range(count):
                number += 3  # of White, and won
                pgn = game_of(number + 1, moves=moves)["pgn"].replace(" 0-1\n", " 1-0\n")
                for game in games_of(pgn, (NAME,), Added(), "lichess"):
                    database.add_game(game._replace(result="0-1" if "Bc4" in moves else "1-0"))
    return database


def test_own_games_and_their_evaluations(tmp_path: Path) -> None:
    database = own_games(tmp_path / "games.db")
    keep(database, Analysed(1, [View("cp", 20), View("cp", -33), View("mate", 3)], []), "test")
    tree = tree_of_games(database, "white")
    moves = moves_at(tree, Board())
    assert [(move.san, move.games, move.score) for move in moves] == [
        ("e4", 7, 33), ("Nf3", 2, None), ("d4", 1, None),
    ]  # fmt: skip
    assert moves_at(tree, Board(moves=["e4"]))[0].score == 10_000
    after = moves_at(tree, Board(moves=["e4", "e5", "Nf3"]))
    assert {move.san: move.reached for move in after} == {"Nc6": 5, "f5": 4}
    assert moves_at(tree_of_games(database, side="black"), Board()) == []
    database.close()


def test_where_a_repertoire_is_left(tmp_path: Path) -> None:
    path = tmp_path / "repertoire.pgn"
    path.write_text(REPERTOIRE)
    database = own_games(tmp_path / "games.db")
    practice = practised(database, read_repertoire(path), "white")
    assert (practice.games, practice.entered, practice.held) == (10, 10, 3)
    assert practice.usual == 0.8
    told = {
        (leave.line, leave.move, leave.by, leave.prepared, len(leave.points))
        for leave in practice.leaves
    }
    assert told == {
        (("e4", "e5", "Nf3", "Nc6"), "Bc4", "you", ("Bb5",), 2),
        (("e4", "e5", "Nf3"), "f5", "opponent", ("Nc6",), 4),
        ((), "d4", "you", ("e4", "c4"), 1),
    }
    assert practice.leaves[0].move == "Bc4"  # two losses where eight points of ten are usual
    assert practice.leaves[0].lost(practice.usual) == pytest.approx(1.6)
    path.write_text('[FEN "4k3/8/8/8/8/8/8/4K2R w K - 0 1"]\n[SetUp "1"]\n\n1. O-O *\n')
    with pytest.raises(InputError, match="another start"):
        read_repertoire(path)
    database.close()


def test_the_command(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pgn, book, kept = (tmp_path / name for name in ("games.pgn", "games.bin", "games.tree"))
    pgn.write_text(text)
    for output in (book, kept):
        assert main(["coach", "tree", str(pgn), "-o", str(output), "--workers", "1"]) == 0
    capsys.readouterr()
    assert main(["coach", "tree", str(kept), "--moves", "1.e4", "e5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["moves"]
    assert main(["coach", "tree", str(book), "--moves", "e4 e5", "--json"]) == 0
    heavy = json.loads(capsys.readouterr().out)["moves"]
    assert {entry["san"] for entry in heavy} <= {move["san"] for move in told}
    database = own_games(tmp_path / "games.db")
    database.close()
    pgn.write_text(REPERTOIRE)
    words = ["coach", "tree", "--repertoire", str(pgn), "--database", str(tmp_path / "games.db")]
    assert main([*words, "--side", "white", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["leaves"][0]["move"] == "Bc4"
    assert main(words) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.pgn", "--side", "white"], "only your own games have a colour"),
        (["a.tree", "--database", "games.db"], "only your own games have a colour"),
        (["a.bin", "b.pgn"], "a Polyglot book is only looked into"),
        (["a.BIN", "-o", "b.tree"], "a Polyglot book is only looked into"),
        (["a.pgn", "--repertoire", "b.pgn", "--side", "white"], "your own games alone"),
        (["--repertoire", "b.pgn", "--side", "white", "-o", "a.tree"], "your own games alone"),
    ],
)
def test_what_would_not_be_used_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["coach", "tree", *words]) == 2
    assert said in capsys.readouterr().err
