"""Tablebases: ranks against python-chess, technique in KRvK, missing and damaged files, probing."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import chess.syzygy
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.nets.evaluators.inline import Material, inline_evaluator
from kibitz.position.board import Board
from kibitz.position.fen import parse_fen
from kibitz.search.limits import Limits, Signals
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.method import open_search
from kibitz.search.options import SearchName, Settings
from kibitz.search.proof import AT_LEAST_DRAW, AT_MOST_DRAW, DRAW, TABLEBASE, UNPROVED
from kibitz.search.report import Report, Result
from kibitz.search.tablebase import (
    CERTAIN,
    DECISIVE,
    ProbeBudget,
    RootMove,
    Tablebases,
    best_on_top,
    best_ranked,
    chess_board,
    damage_of,
    rank_of_distance,
    split_paths,
)
from tests.search.test_proofs import mates_within

FILES = Path(__file__).parents[1] / "fixtures" / "syzygy"
ALL_FILES = Path(__file__).parents[3] / "shared" / "data" / "syzygy" / "3-4-men"

KRVK = "8/8/8/3k4/8/8/8/R3K3 w - - 0 1"


@pytest.fixture
def tables() -> Iterator[Tablebases]:
    opened = Tablebases(str(FILES))
    yield opened
    opened.close()


def random_board(generator: random.Random, pieces: str) -> chess.Board:
    """A legal position with the given pieces somewhere; pawns off the first and last rank."""
    while True:
        board = chess.Board(None)
        for square, letter in zip(generator.sample(range(64), len(pieces)), pieces, strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(letter))
        board.turn = generator.random() < 0.5
        if board.is_valid():
            return board


# --- ranks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtz", "clock", "repeated", "rank"),
    [
        (1, 0, False, 1000),
        (99, 0, False, 1000),
        (100, 0, False, 900),
        (30, 69, False, 1000),
        (30, 70, False, 900),
        (30, 0, True, 970),
        (101, 0, False, 899),
        (0, 99, True, 0),
        (-1, 0, False, -1000),
        (-49, 0, False, -1000),
        (-50, 0, False, -950),
        (-101, 0, False, -899),
        (-30, 39, False, -1000),
        (-30, 40, False, -930),
    ],
)
def test_chesscoachs_rank(dtz: int, clock: int, repeated: bool, rank: int) -> None:
    assert rank_of_distance(dtz, clock, repeated) == rank


def test_ranks_prove() -> None:
    move = Board().parse("e2e4")
    proofs = [RootMove(move, 0, rank, 0).proof for rank in (1000, 900, 899, 0, -899, -900)]
    assert proofs == [TABLEBASE, TABLEBASE, DRAW, DRAW, DRAW, -TABLEBASE]


@pytest.mark.parametrize("pieces", ["KQk", "KRk", "KPk", "KBk", "KNk", "Kqk", "Kpk"])
def test_distances_agree_with_python_chess(tables: Tablebases, pieces: str) -> None:
    generator = random.Random(pieces)
    with chess.syzygy.open_tablebase(str(FILES)) as oracle:
        for _ in range(10):
            reference = random_board(generator, pieces)
            ranked = tables.rank_root(Board(reference.fen()))
            assert len(ranked) == reference.legal_moves.count()
            if not ranked:
                continue
            wdl = oracle.probe_wdl(reference)
            best = max(row.rank for row in ranked)
            assert (best > 0) - (best < 0) == (wdl > 0) - (wdl < 0)
            # A table's distance may be one ply too long, where that changes no outcome.
            distances = [row.dtz for row in best_ranked(ranked)]
            assert abs(distances[0] - oracle.probe_dtz(reference)) <= 1


def test_the_position_for_python_chess_is_the_same() -> None:
    generator = random.Random(3)
    for pieces in ("KQRBNPkqrbnp", "Kk", "KPPkpp"):
        for _ in range(20):
            reference = random_board(generator, pieces)
            made = chess_board(parse_fen(reference.fen()))
            assert made.fen() == reference.fen()
    en_passant = "8/8/8/8/1k1pP3/8/8/4K3 b - e3 0 1"
    assert chess_board(parse_fen(en_passant)).ep_square == chess.E3


def test_only_moves_that_keep_the_win_within_fifty_moves_are_kept(tables: Tablebases) -> None:
    # A win in 13 plies by the best move and a clock that leaves just that many.
    fresh = best_ranked(tables.rank_root(Board("8/8/8/8/8/2k5/8/KQ6 w - - 0 1")))
    distance = fresh[0].dtz
    urgent = Board(f"8/8/8/8/8/2k5/8/KQ6 w - - {99 - distance} 90")
    kept = best_ranked(tables.rank_root(urgent), fastest=False)
    assert {row.rank for row in kept} == {CERTAIN}
    assert {row.dtz for row in kept} == {distance}
    late = Board(f"8/8/8/8/8/2k5/8/KQ6 w - - {101 - distance} 90")
    assert all(row.rank < DECISIVE for row in tables.rank_root(late))
    ignoring = Tablebases(str(FILES), rule50=False)
    assert all(row.proof == TABLEBASE for row in best_ranked(ignoring.rank_root(late)))
    ignoring.close()


def test_wins_by_tables_are_played_to_the_end(tables: Tablebases) -> None:
    generator = random.Random(5)
    for pieces in ("KRk", "KQk", "KRk"):
        reference = random_board(generator, pieces)
        reference.turn = chess.WHITE
        if not reference.is_valid():
            continue
        board = Board(reference.fen())
        plies = 0
        limit = best_ranked(tables.rank_root(board))[0].dtz
        while board.outcome(claim=True) is None:
            board.push(best_ranked(tables.rank_root(board))[0].move)
            plies += 1
        ending = board.outcome()
        assert ending is not None
        assert ending.winner == "white"
        assert plies <= limit + 1  # distances are rounded up by a ply at most


def test_a_repeated_win_makes_progress(tables: Tablebases) -> None:
    board = Board(KRVK)
    for move in ["a1a2", "d5e5", "a2a1", "e5d5"]:
        board.push(move)
    ranked = tables.rank_root(board)
    assert board.repetitions() == 2
    assert len({row.rank for row in ranked if row.rank > 0}) > 1
    assert best_ranked(ranked, fastest=False) == best_ranked(ranked)


def test_without_distances_outcomes_are_ranked(tmp_path: Path) -> None:
    for file in FILES.glob("*.rtbw"):
        shutil.copy(file, tmp_path)
    with chess.syzygy.open_tablebase(str(FILES)) as oracle:
        tables = Tablebases(str(tmp_path))
        board = Board("8/8/8/8/8/1k6/1P6/1K6 w - - 0 1")
        ranked = tables.rank_root(board)
        assert {row.dtz for row in ranked} == {0}
        assert {row.rank for row in ranked} <= {-1000, -899, 0, 899, 1000}
        for row in ranked:
            after = board.to_chess()
            after.push_uci(str(row.move))
            assert (row.rank > 0) == (oracle.probe_wdl(after) < 0)
        tables.close()


def test_castling_rights_and_many_pieces_are_not_asked_about(tables: Tablebases) -> None:
    assert tables.rank_root(Board()) == []
    assert tables.rank_root(Board("4k3/8/8/8/8/8/8/4K2R w K - 0 1")) == []
    assert tables.wdl(parse_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1")) is None
    assert tables.hits == 0


# --- in the tree ----------------------------------------------------------------------------------


def test_outcomes_in_the_tree(tables: Tablebases) -> None:
    assert tables.wdl(parse_fen(KRVK)) == 1
    assert tables.wdl(parse_fen(KRVK.replace(" w ", " b "))) == -1
    assert tables.wdl(parse_fen("8/8/8/3k4/8/8/8/B3K3 w - - 0 1")) == 0
    assert tables.hits == 3
    assert tables.wdl(parse_fen(KRVK)) == 1
    assert tables.hits == 4  # from the cache


def test_while_the_clock_runs_a_table_gives_a_bound(tables: Tablebases) -> None:
    late = KRVK.replace("0 1", "80 60")
    drawn = "8/8/8/3k4/8/8/8/B3K3 w - - 80 60"
    assert tables.proof(parse_fen(KRVK)) == TABLEBASE
    assert tables.proof(parse_fen(late)) == AT_LEAST_DRAW
    assert tables.proof(parse_fen(late.replace(" w ", " b "))) == AT_MOST_DRAW
    assert tables.proof(parse_fen(drawn)) == DRAW
    assert tables.proof(Board().position) == UNPROVED
    ignoring = Tablebases(str(FILES), rule50=False)
    assert ignoring.proof(parse_fen(late)) == TABLEBASE
    ignoring.close()


def test_probing_may_be_limited_to_few_pieces() -> None:
    tables = Tablebases(str(FILES), pieces=2)
    assert tables.pieces == 2
    assert tables.wdl(parse_fen(KRVK)) is None


def test_a_budget_is_a_share_of_the_time(tables: Tablebases) -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 0.01
        return now

    budget = ProbeBudget(0.25, clock, grace=0.0)
    probes = 0
    for _ in range(1000):
        if budget.may_probe():
            assert budget.probe(tables, parse_fen(KRVK)) == TABLEBASE
            probes += 1
    assert budget.spent == pytest.approx(0.25 * now, rel=0.1)
    assert 100 < probes < 1000
    assert not ProbeBudget(0.0, clock).may_probe()


# --- in a search ----------------------------------------------------------------------------------


def searched(fen: str, limits: Limits, **settings: Any) -> Result:
    evaluator, chosen = inline_evaluator(Material()), Settings(hash=8, syzygy_path=str(FILES))
    with Searcher(evaluator, chosen.with_(**settings)) as searcher:
        return searcher.search(Board(fen), limits)


@pytest.mark.parametrize(
    ("fen", "proof"),
    [
        (KRVK, TABLEBASE),
        (KRVK.replace(" w ", " b "), -TABLEBASE),
        ("8/8/8/8/8/2k5/8/KQ6 w - - 0 1", TABLEBASE),
        ("8/8/8/8/8/1k6/1P6/1K6 b - - 0 1", DRAW),
    ],
)
def test_a_root_that_tables_know_is_settled_and_scored(fen: str, proof: int) -> None:
    """The limit is out of reach: only the tables can end the search."""
    result = searched(fen, Limits(nodes=10**9))
    report, best = result.report, result.report.best
    assert report.root.proof == proof == report.moves[0].proof
    with chess.syzygy.open_tablebase(str(FILES)) as oracle:
        dtz = oracle.probe_dtz(chess.Board(fen))
    expected = (dtz > 0) - (dtz < 0)
    assert best.value == report.root.value == expected
    assert best.score.kind == "cp"
    assert abs(best.score.amount - expected * (20_000 - abs(dtz))) <= 2
    assert best.wdl == {1: (1000, 0, 0), 0: (0, 1000, 0), -1: (0, 0, 1000)}[expected]


@pytest.mark.skipif(not COMPILED, reason="takes too many positions")
@pytest.mark.parametrize("limits", [Limits(infinite=True), Limits(mate=4)])
@pytest.mark.parametrize(
    ("fen", "moves"),
    [
        ("k7/8/1K6/8/8/8/8/7R w - - 0 1", 1),
        ("k7/8/2K5/8/8/8/8/7R w - - 0 1", 2),
    ],
)
def test_a_mate_is_looked_for_at_a_root_that_tables_know(
    fen: str, moves: int, limits: Limits
) -> None:
    board = chess.Board(fen)
    assert mates_within(board, 2 * moves - 1)
    assert not mates_within(board, 2 * moves - 3)
    line = searched(fen, limits).report.best
    assert str(line.score) == f"mate {moves}"
    for move in line.moves:
        board.push_uci(str(move))
    assert board.is_checkmate()


@pytest.mark.parametrize(
    "fen", [KRVK, KRVK.replace(" w ", " b "), "8/8/8/8/8/1k6/1P6/1K6 b - - 0 1"]
)
def test_no_mate_is_said_where_tables_know_the_root(fen: str) -> None:
    """The move is one that the tables prefer, as without the question."""
    result, plain = searched(fen, Limits(mate=1)), searched(fen, Limits(nodes=100))
    assert result.report.no_mate == 1
    assert str(result.report.best.score) == str(plain.report.best.score)


@pytest.mark.parametrize("name", ["mcts", "alphabeta", "bestfirst"])
@pytest.mark.parametrize("limits", [Limits(infinite=True), Limits(mate=3)])
def test_a_win_beyond_the_searchs_horizon_is_kept(name: SearchName, limits: Limits) -> None:
    """Two moves win before the 50-move rule ends the game; no search of some plies sees that."""
    settings = Settings(search=name, hash=1, multipv=4, syzygy_path=str(FILES))
    stop = Signals()

    def end(report: Report) -> None:
        if report.depth >= 3 or report.nodes > 20_000:
            stop.stop.set()

    with open_search(inline_evaluator(Material()), settings) as search:
        limits = replace(limits, report_ms=1)
        result = search.search(Board("8/8/8/3k4/8/8/8/KR6 w - - 70 80"), limits, end, stop)
    assert str(result.move) in ("b1e1", "a1b2")
    amounts = [line.score.amount for line in result.report.lines]
    assert amounts == [19_971, 19_971, 0, 0]
    assert result.move == result.report.best.moves[0]


@pytest.mark.parametrize("name", ["mcts", "alphabeta", "bestfirst"])
def test_a_mate_and_the_tables_name_no_move_twice(name: SearchName) -> None:
    settings = Settings(search=name, hash=1, multipv=4, syzygy_path=str(FILES))
    with open_search(inline_evaluator(Material()), settings) as search:
        board = Board("k7/8/2K5/8/8/8/8/7R w - - 96 80")
        lines = search.search(board, Limits(mate=3)).report.lines
    assert str(lines[0].score) == "mate 2"
    assert {str(line.moves[0]) for line in lines[:2]} == {"c6b6", "c6c7"}
    assert len({line.moves[0] for line in lines}) == 4
    assert [str(line.score) for line in lines[2:]] == ["cp 0", "cp 0"]


def test_moves_that_tables_prefer_rank_first() -> None:
    """What a rank proves stays the same, also where the 50-move rule is off."""
    for rule50 in (True, False):
        tables = Tablebases(str(FILES), rule50=rule50)
        for side in "wb":
            board = Board(f"8/8/8/3k4/8/8/8/R3K3 {side} - - 40 50")
            ranked = tables.rank_root(board)
            rows = best_on_top(ranked, fastest=True)
            top = max(row.rank for row in rows)
            best = {row.move for row in best_ranked(ranked)}
            assert {row.move for row in rows if row.rank == top} == best
            assert [row.proof for row in rows] == [row.proof for row in ranked]
        tables.close()


def test_a_cursed_win_is_a_draw_unless_the_rule_is_off() -> None:
    fen = KRVK.replace("0 1", "90 60")
    drawn, won = (searched(fen, Limits(nodes=100), syzygy_rule50=on) for on in (True, False))
    assert str(drawn.report.best.score) == "cp 0"
    assert drawn.report.best.wdl == (0, 1000, 0)
    assert won.report.best.score.amount > 19_900


# --- files that are not as they should be ---------------------------------------------------------


def test_path_lists() -> None:
    assert split_paths("") == split_paths("<empty>") == split_paths(os.pathsep) == []
    assert split_paths(f"a {os.pathsep} b c") == ["a", "b c"]


def test_several_folders_are_one_set(tmp_path: Path) -> None:
    for file in FILES.glob("KRvK.*"):
        shutil.copy(file, tmp_path)
    tables = Tablebases(f"{tmp_path}{os.pathsep}{tmp_path / 'none'}")
    assert tables.wdl(parse_fen(KRVK)) == 1
    assert len(tables.problems) == 1
    assert "no folder" in tables.problems[0]
    tables.close()


def test_an_empty_folder_is_no_harm(tmp_path: Path) -> None:
    tables = Tablebases(str(tmp_path))
    assert tables.pieces == 0
    assert tables.rank_root(Board(KRVK)) == []
    assert tables.wdl(parse_fen(KRVK)) is None
    assert "no tables" in tables.problems[0]
    assert Tablebases().problems == []


@pytest.mark.parametrize("damage", ["empty", "cut", "other", "folder"])
def test_damaged_files_are_named_and_left_out(tmp_path: Path, damage: str) -> None:
    content = (FILES / "KQvK.rtbz").read_bytes()
    damaged = {"empty": b"", "cut": content[:-7], "other": b"PK" + content[2:]}
    for file in FILES.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "KQvK.rtbz").unlink()
    if damage == "folder":
        (tmp_path / "KQvK.rtbz").mkdir()
    else:
        (tmp_path / "KQvK.rtbz").write_bytes(damaged[damage])
    tables = Tablebases(str(tmp_path))
    assert len(tables.problems) == 1
    assert "KQvK.rtbz" in tables.problems[0]
    ranked = tables.rank_root(Board("8/8/8/8/8/2k5/8/KQ6 w - - 0 1"))
    assert max(row.rank for row in ranked) == CERTAIN  # by outcome
    assert {row.dtz for row in ranked} == {0}
    tables.close()


def test_damage_inside_a_file_is_survived(tmp_path: Path) -> None:
    content = bytearray((FILES / "KRvK.rtbw").read_bytes())
    content[5:60] = bytes(255 for _ in range(55))
    (tmp_path / "KRvK.rtbw").write_bytes(content)
    assert damage_of(tmp_path / "KRvK.rtbw") == ""
    tables = Tablebases(str(tmp_path))
    assert tables.wdl(parse_fen(KRVK)) in (None, 1, 0, -1)
    tables.close()


# --- all tables at hand ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not ALL_FILES.is_dir(), reason="no tables with four men here")
@pytest.mark.parametrize("file", sorted(ALL_FILES.glob("*.rtbz")), ids=lambda file: file.stem)
def test_every_table_agrees_with_python_chess(file: Path) -> None:
    strong, weak = file.stem.split("v")
    tables, generator = Tablebases(str(ALL_FILES)), random.Random(file.stem)
    assert tables.problems == []
    with chess.syzygy.open_tablebase(str(ALL_FILES)) as oracle:
        for _ in range(40):
            reference = random_board(generator, strong + weak.lower())
            if not reference.ep_square and any(reference.legal_moves):
                ranked = best_ranked(tables.rank_root(Board(reference.fen())))
                wdl, dtz = oracle.probe_wdl(reference), oracle.probe_dtz(reference)
                expected = CERTAIN if wdl == 2 else -CERTAIN if wdl == -2 else 0
                assert (ranked[0].rank > 0) - (ranked[0].rank < 0) == (wdl > 0) - (wdl < 0)
                assert ranked[0].rank == expected or abs(dtz) > 49
                assert abs(ranked[0].dtz - dtz) <= 1
                assert tables.wdl(parse_fen(reference.fen())) == (wdl > 1) - (wdl < -1)
    tables.close()
