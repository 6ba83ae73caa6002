"""Experiments that play games: what they count, how they go on, and what they refuse."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import pytest

from kibitz.arena.match.elo import Tally, elo_of, of_games
from kibitz.arena.match.journal import PlayedGame, PlayedMove
from kibitz.core.log import Stop
from kibitz.core.settings import load
from kibitz.engine import Engine
from kibitz.jit.records import as_record
from kibitz.position.fen import START
from kibitz.search.mcts.answer import temperature_at
from kibitz.search.options import Settings
from kibitz.zero.selfplay.config import SelfPlay
from kibitz.zero.selfplay.game import terms_of
from kibitz.zero.selfplay.moves import temperature_at_ply
from research.command import carry_out
from research.contempt import cells
from research.contempt.__main__ import app
from research.contempt.balance import (
    PAPER,
    PAPER_REPEATS,
    Controller,
    Repeats,
    SelfPlayPlan,
    Wdl,
    counted,
    repeats,
    trend,
)
from research.contempt.cells import Session
from research.contempt.contests import PAPER_MATCH, Compare, Match, Odds, hoped, trends
from research.contempt.counts import (
    Moves,
    decided_per_draw,
    mean_plies,
    of_pgn,
    repeat_rate,
    white_tally,
)
from research.contempt.pages import journalist, referee
from research.contempt.plan import TAU_1, TAU_2, Findings, Plan, caption, keep, result
from research.contempt.study import ODDS, Study, holm, odds_openings, traps

# Short games of a player whose kernels other tests have, too.
WDL = ["network=material", "nodes=8", "games=30", "most_moves=8", "limits=[1000000000]"]
KINDS = ['kinds=["name=a", "name=b", "name=c"]', "movetime=0"]
MATCH = ["network=random", "games=6", "most_moves=5"]
FOUR_GAMES = """
[Result "1-0"]

1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0

[Result "0-1"]

1. f3 e5 2. g4 Qh4# 0-1

[Result "1/2-1/2"]

1. e4 e5 2. Qh5 g6 1/2-1/2

[Result "*"]

1. d4 *

[Result "1-0"]

1. e4 e5 2. Qh5 Nc6 3. Bc4 a6 4. Qxf7# 1-0
"""


def games_of(tally: Tally) -> list[Moves]:
    """Games with these results, all different."""
    points = [1.0] * tally.wins + [0.5] * tally.draws + [0.0] * tally.losses
    return [Moves(START, (str(number),), one) for number, one in enumerate(points)]


def game(number: int, points: float, scores: tuple[int, ...] = (), mate: int = 0) -> PlayedGame:
    result = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}[points]
    moves = [PlayedMove("e2e4", 1.0, cp=cp) for cp in scores]
    moves += [PlayedMove("e2e4", 1.0, mate=mate)] if mate else []
    return PlayedGame(number=number, white=0, black=1, fen=START, result=result, moves=tuple(moves))


# --- counting -------------------------------------------------------------------------------------


def test_games_of_a_pgn_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(FOUR_GAMES)
    games = of_pgn(path)
    assert white_tally(games) == Tally(2, 1, 1)
    assert mean_plies(games) == (7 + 4 + 4 + 7) / 4
    assert decided_per_draw(white_tally(games)).value == 3.0
    # After one move three games are alike, after two moves two of them, after three none.
    assert [repeat_rate(games, 2 * m).value for m in (1, 2, 3, 4)] == [0.5, 0.25, 0.0, 0.0]


def test_repeated_beginnings_are_those_that_python_chess_sees(tmp_path: Path) -> None:
    random_numbers, written = random.Random(3), []
    for _ in range(30):
        board = chess.Board()
        for _ in range(6):
            moves = sorted(map(str, board.legal_moves))[:2]
            board.push_uci(random_numbers.choice(moves))
        tree = chess.pgn.Game.from_board(board)
        tree.headers["Result"] = "1/2-1/2"
        written.append(str(tree))
    path = tmp_path / "games.pgn"
    path.write_text("\n\n".join(written))
    again = [chess.pgn.read_game(io.StringIO(text)) for text in written]
    for plies in (2, 4, 6):
        lines = [[move.uci() for move in tree.mainline_moves()] for tree in again if tree]
        seen = Counter(" ".join(line[:plies]) for line in lines)
        rate = sum(times - 1 for times in seen.values()) / 30
        assert repeat_rate(of_pgn(path), plies).value == pytest.approx(rate)


def test_the_numbers_of_the_paper_come_out() -> None:
    """Search-contempt: A. Joshi, 2025, figure 2 and table 3, from its published games."""
    published = {"N_scl 5": 1.381, "N_scl 10": 0.786, "N_scl 32": 0.316, "N_scl 1000000": 0.087}
    published |= {"PUCT tau 1": 0.064, "PUCT tau 2": 1.381}
    for name, ratio in published.items():
        assert decided_per_draw(PAPER[name]).value == pytest.approx(ratio, abs=5e-4)
    assert white_tally(games_of(PAPER_MATCH)) == Tally(37, 46, 17)
    found = of_games(PAPER_MATCH)
    assert found.elo == pytest.approx(70.43, abs=0.01)
    assert found.elo == elo_of(0.6)
    assert found.low is not None
    assert found.high is not None
    assert (found.low, found.high) == pytest.approx((21, 122), abs=1)
    assert all(len(rates) == len(Repeats().depths) for rates in PAPER_REPEATS.values())


def test_intervals_hold_where_nothing_or_all_is_alike() -> None:
    assert decided_per_draw(Tally(5, 0, 5)).text() == "inf [2.60, inf]"
    alike = [Moves(START, ("e2e4",), 0.5)] * 10
    assert repeat_rate(alike, 2).value == 0.9
    different = games_of(Tally(0, 10, 0))
    assert repeat_rate(different, 2)[:2] == (0.0, 0.0)
    assert repeat_rate(different, 2).high == pytest.approx(0.2775, abs=1e-3)  # Wilson's


def test_intervals_of_repeat_rates_hold_the_truth() -> None:
    """Draws from 40 equally likely openings: about 95 in 100 intervals have the expected rate."""
    random_numbers, inside = random.Random(5), 0
    expected = 1 - 40 * (1 - (39 / 40) ** 60) / 60
    for _ in range(400):
        drawn = [Moves(START, (f"{random_numbers.randrange(40)}",), 0.5) for _ in range(60)]
        found = repeat_rate(drawn, 2)
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= expected <= found.high
    assert inside >= 0.92 * 400


# --- playing --------------------------------------------------------------------------------------


def results(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("wdl.*")}


@pytest.mark.slow
def test_a_stopped_experiment_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    plan = load(Wdl, overrides=WDL)
    keep(tmp_path / "whole", plan, "c", plan.find(Session(tmp_path / "whole", Stop())))
    folder, stop = tmp_path / "stopped", Stop()
    seen: list[int] = []

    def after_some() -> None:
        seen.append(1)
        if len(seen) == 13:
            stop.request()

    keep(folder, plan, "c", plan.find(Session(folder, stop, after_some)))
    assert len(seen) == 13
    assert json.loads((folder / "wdl.json").read_text())["rows"][0]["games"] == 10
    keep(folder, plan, "c", plan.find(Session(folder, Stop(), after_some)))
    assert len(seen) == 30
    assert results(folder) == results(tmp_path / "whole")
    assert set(results(folder)) == {"wdl.json", "wdl.svg"}


def test_a_stopped_match_goes_on_with_the_games_that_are_there(tmp_path: Path) -> None:
    plan, stop = load(Compare, overrides=[*MATCH, *KINDS]), Stop()
    whole = plan.find(Session(tmp_path / "whole", Stop()))
    seen: list[int] = []

    def after_two() -> None:
        seen.append(1)
        if len(seen) == 2:
            stop.request()

    plan.find(Session(tmp_path, stop, after_two))
    assert len(seen) == 2
    assert plan.find(Session(tmp_path, Stop(), after_two)) == whole
    assert len(seen) == 3 * 6


def test_experiments_share_the_games_they_have_in_common(tmp_path: Path) -> None:
    plan = load(Wdl, overrides=WDL)
    session = Session(tmp_path, Stop())
    plan.find(session)
    other = load(Repeats, overrides=WDL).cells()[0]
    assert len(other.there(session.folder)) == 30
    fewer = load(Wdl, overrides=[*WDL, "games=10"]).cells()[0]
    assert fewer.there(session.folder) == other.there(session.folder)[:10]
    for change in ("seed=2", "nodes=9", "tau_1.end=0.2", "network=uniform"):
        changed = load(Wdl, overrides=[*WDL, change]).cells()[0]
        assert changed.there(session.folder) == []


def test_both_rooms_draw_moves_by_the_same_temperature() -> None:
    for tau in (TAU_1, TAU_2):
        options = dict(text.split("=") for text in tau.options())
        engine = Settings().parse(options)
        terms = as_record(terms_of(replace(SelfPlay(), **tau.of_selfplay())))
        for ply in (0, 7, 8, 39, 41, 77, 120, 300):
            expected = temperature_at(engine, ply - ply % 2)
            assert temperature_at_ply(terms, ply - ply % 2) == pytest.approx(expected)
    # The paper's own options end the fall of its high temperature by a cutoff, one move earlier.
    cut = engine.with_(temp_cutoff_move=40)
    for ply in range(200):
        assert temperature_at(cut, ply) == pytest.approx(temperature_at(engine, ply), abs=0.016)


def test_who_gives_odds_always_has_white() -> None:
    plan = load(Odds, overrides=["network=material", 'opponents=["random"]', "games=4"])
    first = plan.cells()[0].setup
    assert {(one.white, one.black) for one in first.pairings()} == {(0, 1)}
    assert len({one.number for one in first.pairings()}) == 4
    board = first.openings[0].board()
    assert "Q" not in board.fen().split()[0]
    assert "q" in board.fen().split()[0]
    assert len(plan.cells()) == len(plan.givers) * len(plan.nodes)
    assert len({cell.name for cell in plan.cells()}) == len(plan.cells())


def test_what_the_giver_hopes_for_is_turned_back_into_a_score() -> None:
    scores = (0, 9999, round(111.714640912 * math.tan(1.5620688421 * 0.5)), -9999)
    assert hoped([game(0, 0.5, scores)]) == pytest.approx((0.5 + 0.75) / 2, abs=1e-3)
    assert hoped([game(0, 0.5, (0, 0), mate=-3)]) == pytest.approx(0.25)


@pytest.mark.parametrize("odds", ODDS)
def test_openings_at_odds_lack_the_piece_and_nothing_else(odds: str) -> None:
    openings = odds_openings(odds, 60, 1, 2)
    assert openings[:20] == odds_openings(odds, 20, 1, 2)
    assert openings != odds_openings(odds, 60, 2, 2)
    missing = {"none": "", "pawn": "P", "knight": "N", "bishop": "B", "rook": "R", "queen": "Q"}
    for opening in openings:
        board = chess.Board(opening.fen)
        for move in opening.moves:
            board.push_uci(move)
        assert board.turn == chess.WHITE
        assert not board.is_check()
        full = Counter(chess.STARTING_BOARD_FEN)
        lacking = full - Counter(board.board_fen())
        assert "".join(piece for piece in lacking.elements() if piece.isalpha()) == missing[odds]
    assert len({(opening.fen, opening.moves) for opening in openings}) > 40


def test_traps_are_replies_that_raise_the_hopes_of_the_giver() -> None:
    value = round(111.714640912 * math.tan(1.5620688421 * 0.5))  # 3/4 of the points
    assert traps(game(0, 1.0, (0, -value, value, 0, value, 0))) == 1
    assert traps(game(0, 0.0, (value, 0, 0, 0, value, 0), mate=3)) == 2
    assert traps(game(0, 0.0)) == 0


def test_holm_multiplies_the_smallest_by_their_number() -> None:
    assert holm([0.5, 0.001, 0.02]) == pytest.approx([0.5, 0.003, 0.04])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


class Scripted(Session):
    """Games whose points a table says, by odds, opponent and giver."""

    def __init__(self, folder: Path, points: dict[str, list[float]]) -> None:
        super().__init__(folder, Stop())
        self.points = points

    def play(self, cell: Any) -> Any:
        return [game(number, each) for number, each in enumerate(self.points[cell.name])]

    def play_together(self, cells: Any) -> None:
        """All are there."""


STUDY = [
    'givers=["material,name=a,Search=mcts", "material,name=b,Search=alphabeta"]',
    'controls=["b=a"]',
    'opponents=["random"]',
    'odds=["none", "queen"]',
    "judge=material",
    "judged=2",
    "judge_nodes=50",
    "annotated=1",
    "annotate_nodes=50",
]


def test_the_study_compares_givers_over_the_same_openings(tmp_path: Path) -> None:
    plan = load(Study, overrides=[*STUDY, "games=4", "judged=0"])
    assert [cell.name for cell in plan.cells()] == [
        f"{odds} random {giver}" for odds in ("none", "queen") for giver in "ab"
    ]
    starts = [cell.setup.openings for cell in plan.cells()]
    assert starts[0] == starts[1] != starts[2] == starts[3]
    for cell in plan.cells():
        assert {(pairing.white, pairing.black) for pairing in cell.setup.pairings()} == {(0, 1)}
    script = {
        "none random a": [0.0, 0.5, 1.0, 1.0],
        "none random b": [1.0, 0.5, 1.0, 1.0],
        "queen random a": [0.0, 0.0, 0.0, 0.0],
        "queen random b": [1.0, 1.0, 1.0, 0.5],
    }
    findings = plan.find(Scripted(tmp_path, script))
    first, second = findings.more["comparisons"]
    assert first["difference"] == 0.25
    assert first["error"] == pytest.approx(1.96 * 0.25, abs=1e-4)  # deviation 1/2 over root 4
    assert first["p_holm"] == pytest.approx(math.erfc(1 / math.sqrt(2)))
    assert second["difference"] == 0.875
    assert second["p_holm"] < 1e-6
    assert [row["score"] for row in findings.facts] == [0.625, 0.875, 0.0, 0.875]
    assert len(findings.panels) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('givers=["material,name=a", "material,name=a,CPuct=2", "material,name=b"]', "'a'"),
        ('opponents=["material,name=a,nodes=2"]', "2 players of one name: 'a'"),
        ('controls=["b=b"]', "its own control: 'b=b'"),
        ('givers=["random,name=a", "material,name=b"]', "'random,name=a'; name a network"),
        ("judge=nosuch", "'nosuch'"),
        ("judge=random", "the judge that is not our engine: 'random'"),
        (
            'givers=["material,name=a", "material,name=b,Search=alphabeta,rule=expectimax"]',
            "a rule without effect with Search alphabeta",
        ),
    ],
)
def test_a_study_that_would_show_something_else_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str, said: str
) -> None:
    named = change.partition("=")[0]
    texts = [*(text for text in STUDY if text.partition("=")[0] != named), change, "games=2"]
    words = [word for text in texts for word in ("--set", text)]
    assert carry_out(app, ["study", "--folder", str(tmp_path), *words]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())  # before the first game


def test_a_p_value_is_never_nothing(tmp_path: Path) -> None:
    plan = load(Study, overrides=[*STUDY, 'odds=["none"]', "games=40", "judged=0"])
    script = {"none random a": [0.0] * 40, "none random b": [1.0] * 36 + [0.0] * 4}
    (row,) = plan.find(Scripted(tmp_path, script)).more["comparisons"]
    assert 0 < row["p"] < 1e-40  # 18.7 deviations


def test_what_a_stop_leaves_says_so() -> None:
    plan = load(Study, overrides=[*STUDY, 'odds=["none"]', "games=4", "judged=0"])
    whole = Findings((), [], [], [], [])
    part = replace(whole, more={"stopped": "1 of 8 games"})
    assert "stopped before its end: 1 of 8 games are counted" in caption(plan, "c", part)
    assert len(caption(plan, "c", whole)) == 2
    assert "start: initial position with odds" in caption(plan, "c", whole)[0]
    assert result(plan, "c", part)["stopped"] == "1 of 8 games"


def test_pages_say_what_is_provisional_and_adjudicated(tmp_path: Path) -> None:
    def pages(*changes: str) -> tuple[str, str]:
        plan = load(Study, overrides=[*STUDY, 'odds=["none"]', "games=40", "judged=0", *changes])
        script = {f"none random {giver}": [0.0, 1.0] for giver in "ab"}
        found = plan.find(Scripted(tmp_path, script))
        return journalist(plan, found), referee(plan, found, "command")

    plain, formal = pages()
    assert "first games only" not in plain
    assert "interim" not in formal
    assert "no adjudication" in formal
    plain, formal = pages("share=0.5", "most_moves=60")
    assert "first games only" in plain
    assert "2 random moves" in plain
    assert "interim look at the share 0.5" in formal
    assert "drawn after 60 moves" in formal
    assert "no adjudication" not in formal


def test_a_study_is_played_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = [
        word for text in (*STUDY, "games=2", "nodes=4", "most_moves=4") for word in ("--set", text)
    ]
    command = ["study", "--folder", str(tmp_path), "--json", *changes]
    assert carry_out(app, command) == 0
    first = json.loads(capsys.readouterr().out)
    assert sum(row["games"] for row in first["rows"]) == 8
    assert (tmp_path / "study.svg").exists()
    before = sorted(tmp_path.glob("games/*.jsonl"))
    times = [path.stat().st_mtime_ns for path in before]
    assert carry_out(app, command) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == first["rows"]
    assert [path.stat().st_mtime_ns for path in before] == times


@pytest.mark.slow
def test_a_share_of_a_study_is_the_beginning_of_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def rows(*changes: str) -> Any:
        named = {text.partition("=")[0] for text in changes}
        usual = (text for text in STUDY if text.partition("=")[0] not in named)
        texts = (*usual, "games=8", "nodes=4", "most_moves=4", *changes)
        words = [word for text in texts for word in ("--set", text)]
        assert carry_out(app, ["study", "--folder", str(tmp_path), "--json", *words]) == 0
        return json.loads(capsys.readouterr().out)["rows"]

    def lines() -> int:
        return sum(len(path.read_text().splitlines()) - 1 for path in tmp_path.glob("games/*"))

    part = rows("share=0.25")
    assert [row["games"] for row in part] == [2] * 4
    assert lines() == 8
    assert [row["games"] for row in rows()] == [8] * 4
    assert lines() == 32
    assert rows("share=0.25") == part
    assert "Where differences come from" in (tmp_path / "referee.md").read_text()
    assert [row["reasons"] for row in rows("share=0.25", "judged=0")] == [None] * 4
    assert "Where differences come from" not in (tmp_path / "referee.md").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("short_looks")
def test_the_same_games_make_the_same_bundle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = (*STUDY, "games=2", "nodes=100", "most_moves=60")
    words = [word for text in changes for word in ("--set", text)]

    def bundle(name: str) -> dict[str, bytes]:
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert carry_out(app, ["study", "--folder", "out", "--reproducible", *words]) == 0
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    first = bundle("first")
    assert first == bundle("second")
    assert {name.removeprefix("out/") for name in first if name.count("/") == 1} == {
        *("study.json", "study.svg", "study.bib", "journalist.md", "referee.md", "annotated.pgn"),
        *("games.csv", "cells.csv", "comparisons.csv", "gains.csv"),
    }
    capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(first["out/games.csv"].decode())))
    for name in ("none-random-a", "queen-random-b"):
        games = pgn_of(first[f"out/pgn/{name}.pgn"])
        told = [row for row in rows if row["cell"] == name.replace("-", " ")]
        assert [game.headers["Result"] for game in games] == [row["result"] for row in told]
        for game, row in zip(games, told, strict=True):
            opening = len(row["opening"].split())
            assert len(list(game.mainline_moves())) == int(row["plies"]) + opening
    facts = json.loads(first["out/study.json"])
    for row in facts["rows"]:  # what the moves of both sides change leads from start to score
        why = row["reasons"]
        ends = row["score"] - why["start"]
        assert why["given"] - why["left"] == pytest.approx(ends, abs=1e-9)
        assert sum(why["phases"]) == pytest.approx(ends, abs=1e-9)
    for gain in facts["gains"]:
        # Both begin alike, so that their starts cancel.
        assert gain["own"] + gain["opponents"] == pytest.approx(gain["difference"], abs=1e-9)
        assert sum(gain["phases"]) == pytest.approx(gain["difference"], abs=1e-9)
    (game,) = pgn_of(first["out/annotated.pgn"])
    assert game.headers["Result"] == "1-0"
    assert any(node.comment for node in game.mainline())
    for page in ("journalist.md", "referee.md"):
        text = first[f"out/{page}"].decode()
        assert f"{facts['comparisons'][0]['giver']}" in text
        assert len(text.split()) < 1000
    assert "- b expects the best replies and gives up early" in first["out/journalist.md"].decode()


def pgn_of(content: bytes) -> list[chess.pgn.Game]:
    text = io.StringIO(content.decode())
    return list(iter(lambda: chess.pgn.read_game(text), None))


def test_all_givers_play_a_block_of_openings_before_the_next(tmp_path: Path) -> None:
    order: list[int] = []

    class Watched(Scripted):
        def play_together(self, cells: Any) -> None:
            order.extend(cell.games for cell in cells)

        def play(self, cell: Any) -> Any:  # noqa: ARG002 - nothing is there
            return []

    plan = load(Study, overrides=[*STUDY, "games=40", "share=0.5"])
    session = Watched(tmp_path, {})
    plan.find(session)
    assert order == [games for games in range(2, 22, 2) for _ in range(4)]
    session.stop.request()
    order.clear()
    plan.find(session)
    assert order == []  # only counted


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ('odds=["lady"]', "lady"),
        ('controls=["a=c"]', "a=c"),
        ('controls=["a"]', "GIVER=CONTROL"),
        ("network=material", "givers"),
    ],
)
def test_a_study_refuses_what_it_cannot_play(
    change: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = change.partition("=")[0]
    settings = [change, *(text for text in STUDY if not text.startswith(f"{key}="))]
    changes = [word for text in settings for word in ("--set", text)]
    assert carry_out(app, ["study", "--dry-run", *changes]) == 2
    assert words in capsys.readouterr().err


def test_the_controller_finds_the_limit_of_the_paper(tmp_path: Path) -> None:
    """The ratio is 1 between N_scl 5 and 10 in the published games, by interpolation at about 8."""
    power = math.log(1.381 / 0.316) / math.log(32 / 5)
    random_numbers = random.Random(1)

    class Published(Session):
        def play(self, cell: Any) -> Any:
            drawn = 1 / (1 + 1.381 * (5 / cell.settings.sc_limit) ** power)
            draws = sum(random_numbers.random() < drawn for _ in range(400))
            return games_of(Tally(400 - draws, draws, 0))

    plan = load(Controller, overrides=["network=material", "games=400", "limit=100"])
    found = plan.find(Published(tmp_path, Stop()))
    assert 6 < found.more["settled"] < 11
    assert len(found.rows) == plan.rounds


def test_kinds_of_search_meet_in_a_matrix(tmp_path: Path) -> None:
    plan = load(Compare, overrides=[*MATCH, *KINDS, "games=2"])
    found = plan.find(Session(tmp_path, Stop()))
    assert [row[1] for row in found.rows] == ["a", "b", "c"]
    pairs = found.facts[0]["pairs"]
    assert [(one["first"], one["second"], one["games"]) for one in pairs] == [
        ("a", "b", 2), ("a", "c", 2), ("b", "c", 2),
    ]  # fmt: skip
    assert len(found.panels) == 1


# --- the command ----------------------------------------------------------------------------------


def run(*words: str) -> int:
    return carry_out(app, ["--quiet", *words])


def with_keys(keys: list[str]) -> list[str]:
    return [word for text in keys for word in ("--set", text)]


def test_a_dry_run_plays_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["wdl", "--folder", str(tmp_path / "e"), *with_keys(WDL), "--dry-run", "--json"]
    assert run(*words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["games"] == 30
    assert told["nodes"] > 0
    assert told["hours"] is None
    assert not (tmp_path / "e").exists()


def test_a_dry_run_compiles_nothing_and_learns_from_games(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a dry run has begun a game")

    small = ["network=material", 'kinds=["CPuct=1","CPuct=2"]', "nodes=8", "movetime=0"]
    small += ["games=2", "most_moves=4"]
    words = ["compare", "--folder", str(tmp_path), *with_keys(small), "--json"]
    (cell,) = load(Compare, overrides=small).cells()
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "ready", refuse)
        patch.setattr(cells, "play", refuse)
        assert run(*words, "--dry-run") == 0
        assert run("wdl", "--folder", str(tmp_path), *with_keys(WDL), "--dry-run") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["hours"] is None
    assert cell.speed(tmp_path / "games") == (8, None)
    assert run(*words) == 0
    nodes, seconds = cell.speed(tmp_path / "games")
    assert nodes is not None
    assert 0 < nodes <= 8
    assert seconds is not None


def test_results_say_how_they_came_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('network = "material"\nnodes = 8\nlimits = [1000000000]\nmost_moves = 4\n')
    assert run("wdl", str(plan), "--folder", str(tmp_path), "--set", "games=2", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((tmp_path / "wdl.json").read_text())
    assert told["command"] == f"python -m research.contempt wdl {plan} --set games=2"
    for name in ("network", "limits", "opponent", "seed", "start"):
        assert str(told[name]) in (tmp_path / "wdl.svg").read_text()
    assert told["rows"][0]["games"] == 2
    assert run("wdl", str(plan), "--folder", str(tmp_path), "--set", "games=2") == 0
    shown = capsys.readouterr().out
    assert "material" in shown
    assert "seed: 1" in shown
    assert "python -m research.contempt wdl" in shown


@pytest.mark.parametrize(
    ("kind", "text", "named"),
    [
        ("wdl", "node = 100", "'node'"),
        ("wdl", "nodes = 0", "0"),
        ("wdl", "games = 7", "7"),
        ("wdl", "limits = 5", "5"),
        ("wdl", "limits = []", "limits"),
        ("wdl", "limits = [5, 5]", "5"),
        ("match", "games = 1000000000", "1000000000"),
        ("match", "seed = 10000000000", "10000000000"),
        ("controller", "ratio = inf", "inf"),
        ("odds", "opponents = []", "opponents"),
        ("odds", "opponents = ['random', 'random']", "random"),
        ("compare", "nodes = 0\nmovetime = 0", "movetime"),
        ("temperature", "limits = [5]", "'limits'"),
        ("repeats", "[tau_2]\nheat = 1", "'heat'"),
        ("temperature", 'options = ["Temperatur=1"]', "Temperatur"),
        ("match", 'network = "nothing.safetensors"', "nothing.safetensors"),
        ("odds", 'odds = "king"', "'king'"),
        ("odds", 'opponents = ["uci:nothing-there"]', "nothing-there"),
        ("controller", "ratio = -1", "-1"),
        ("compare", 'kinds = ["Search=chess"]', "chess"),
        ("wdl", "nodes = ", "not TOML"),
    ],
)
def test_a_plan_that_cannot_work_is_refused(
    kind: str, text: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(text)
    assert run(kind, str(plan), "--folder", str(tmp_path / "e"), "--dry-run") == 2
    said = capsys.readouterr().err
    assert named in said
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "e").exists()


def test_pgn_files_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(FOUR_GAMES)
    assert run("count", str(path), "--depth", "2", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["results"][0]["wins"], told["results"][0]["draws"]) == (2, 1)
    assert told["repeats"][0]["rates"] == [0.25]
    assert run("count", str(path)) == 0
    assert "2-1-1" in capsys.readouterr().out
    assert run("count", str(path), "--depth", "0") == 2
    assert run("count", str(path), str(path)) == 2
    other = tmp_path / "more" / "games.pgn"
    other.parent.mkdir()
    other.write_text(FOUR_GAMES)
    assert run("count", str(path), str(other), "--json", "--depth", "1") == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["search"] for row in told["results"]] == [str(path), str(other)]
    path.write_text("")
    assert run("count", str(path)) == 2


def test_the_rates_of_the_paper_stand_at_the_moves_that_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(FOUR_GAMES)
    (fact,) = repeats({"N_scl 5": of_pgn(path)}, (10, 1, 7)).facts
    assert fact["paper"] == [0.09, 0.70, None]


def test_games_that_a_crash_has_decided_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opponent = f"opponents = ['uci:{shutil.which('true')}']"
    plan = tmp_path / "plan.toml"
    plan.write_text(f"network = 'material'\ngames = 2\nnodes = [1]\ngivers = ['']\n{opponent}\n")
    assert run("odds", str(plan), "--folder", str(tmp_path), "--json") == 0
    assert json.loads(capsys.readouterr().out)["forfeits"] == [
        {"cell": "true PUCT 1", "player": "true", "games": {"crash": 2}}
    ]


def test_every_kind_is_a_command_of_its_own() -> None:
    kinds: list[type[Plan]] = [Wdl, Repeats, Match, Odds, Controller, Compare]
    for kind in kinds:
        assert kind.about
        assert load(kind).described()["network"]
    assert issubclass(Controller, SelfPlayPlan)
    assert counted({}).rows == []


# --- trends ---------------------------------------------------------------------------------------


def of_results(wins: int, draws: int, losses: int) -> dict[str, int]:
    return {"wins": wins, "draws": draws, "losses": losses}


def test_the_trend_over_the_limits_has_an_interval() -> None:
    """Of the paper's own games it falls; of games that are alike nothing can be said."""
    paper = [
        (32, of_results(14, 76, 10)),
        (5, of_results(33, 42, 25)),
        (10, of_results(19, 56, 25)),
    ]
    found = trend(paper)
    assert found is not None
    assert found["low"] < found["factor"] < found["high"] < 1
    assert (found["falls"], found["steps"]) == (2, 2)
    assert found["factor"] == pytest.approx((0.316 / 1.381) ** (1 / 2.68), abs=0.05)
    same = trend([(limit, of_results(10, 80, 10)) for limit in (1, 2, 4)])
    assert same is not None
    assert same["low"] < 1 < same["high"]
    assert same["factor"] == pytest.approx(1)
    assert trend(paper[:1]) is None


def test_givers_of_odds_rise_or_fall_with_their_nodes() -> None:
    paper = {"PUCT": (0.2343, 0.3525, 0.2540), "ScLimit=28": (0.3676, 0.5781, 0.8173)}
    scores = {**paper, "even": (0.5, 0.5), "down": (0.2, 0.1), "alone": (0.5,)}
    facts = [
        {"opponent": "a", "giver": giver, "nodes": nodes, "score": score}
        for giver, some in scores.items()
        for nodes, score in zip((100, 800, 20_000), some, strict=False)
    ]
    found = {one["giver"]: one["trend"] for one in trends(facts[::-1])}
    assert found == {
        "PUCT": "rises and falls",
        "ScLimit=28": "rises",
        "even": "stays",
        "down": "falls",
    }


def test_what_is_typed_next_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert carry_out(app, ["study", "a.toml", "b.toml"]) == 2
    assert "see python -m research.contempt study --help" in capsys.readouterr().err
    assert carry_out(app, ["study", "--set", "networks=3"]) == 2
    assert "did you mean 'network'?" in capsys.readouterr().err  # and not what was typed
