"""`kibitz search`, `kibitz human` and `kibitz bench search` as a user types them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from kibitz.cli import main
from kibitz.coach.human import people_facts
from kibitz.position.board import Board
from kibitz.search.method import preset
from kibitz.search.report import Line, Score, Wdl

SIGNATURE = "6831b83c"  # of `kibitz bench search`
SCHOLAR = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"


def test_one_object_with_legal_moves(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", SCHOLAR, "--nodes", "2000", "--option", "Hash=8", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["best_move"], found["score"]) == ("h5f7", "mate 1")
    assert found["nodes"] < 100  # a proved root ends the search
    legal = {move.uci() for move in Board(SCHOLAR).legal_moves}
    assert {row["move"] for row in found["moves"]} == legal
    assert sum(row["visits"] for row in found["moves"]) == found["nodes"] - 1


def test_the_result_names_position_and_limits(capsys: pytest.CaptureFixture[str]) -> None:
    fen = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
    words = ["--network", "material", "--nodes", "20", "--moves", "Kf1"]
    assert main(["search", fen, *words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["fen"] == fen
    assert result["limits"] == {"nodes": 20, "searchmoves": ["Kf1"]}


def test_only_the_moves_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["search", SCHOLAR, "--nodes", "500", "--moves", "a2a3", "--moves", "Nh3", "--json"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["move"] for row in found["moves"]} == {"a2a3", "g1h3"}


def test_several_lines(capsys: pytest.CaptureFixture[str]) -> None:
    start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    arguments = ["search", start, "--network", "material", "--nodes", "300"]
    assert main([*arguments, "--option", "MultiPV=3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["lines"]) == len({line["pv"].split()[0] for line in found["lines"]}) == 3
    assert found["lines"][0]["pv"].split() == found["pv"]
    assert main([*arguments, "--option", "MultiPV=3"]) == 0
    assert capsys.readouterr().out.count("cp ") == 3


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", SCHOLAR, "--nodes", "1500"]) == 0
    shown = capsys.readouterr()
    assert "Qxf7#" in shown.out
    assert "best move Qxf7#" in shown.err


MIDDLEGAME = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"
SEARCH_PAGE = Path(__file__).parents[2] / "docs" / "search.md"
OTHERS = [
    shlex.split(line)[1:]
    for line in SEARCH_PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("kibitz search --preset ")
]


@pytest.mark.parametrize("words", OTHERS, ids=[words[2] for words in OTHERS])
def test_the_commands_of_the_page_search_as_other_systems_do(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    quick = ["--network", "material", "--nodes", "300", "--option", "Hash=8"]
    assert main([*words, *quick, "--json"]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert found["best_move"] in {move.uci() for move in Board().legal_moves}
    assert found["settings"].items() >= (preset(words[2]).changed() | {"hash": 8}).items()
    assert "no effect" not in told.err


def test_the_page_has_a_command_for_each_of_the_others() -> None:
    assert {words[2] for words in OTHERS} >= {"chesscoach", "dlchess", "batchfirst"}


def both(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    quick = ["--network", "material", "--nodes", "400", "--option", "Hash=8"]
    assert main(["search", MIDDLEGAME, *quick, *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_two_searches_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    alone = both(capsys)
    pair = both(capsys, "--against", "material,Hash=8,CPuct=4,name=wide")
    assert pair["sides"][0]["moves"] == alone["moves"]
    assert pair["sides"][1]["moves"] == both(capsys, "--option", "CPuct=4")["moves"]
    assert pair["sides"][0]["moves"] != pair["sides"][1]["moves"]
    assert pair["differing"] == {"cpuct": [1.745, 4.0]}
    assert [side["nodes"] for side in pair["sides"]] == [400, 400]


def test_both_trees_are_in_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["search", SCHOLAR, "--nodes", "200", "--network", "material", "--option", "Hash=8"]
    assert main([*words, "--against", "material,Search=alphabeta,name=ab"]) == 0
    table = capsys.readouterr().out
    assert "visits 1" in table
    assert "visits 2" in table
    assert "2 ab: network material" in table
    row = next(line.split() for line in table.splitlines() if line.split()[:1] == ["Qxf7#"])
    assert len(row) > 4


@pytest.mark.parametrize(
    ("player", "message"),
    [
        ("random", "no tree to show of"),
        ("greedy", "no tree to show of"),
        ("material,nodes=9", "leave its limit out"),
        ("material,CPuctt=3", "did you mean 'CPuct'"),
    ],
)
def test_who_has_no_tree_is_refused(
    player: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "--network", "material", "--nodes", "5", "--against", player]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--option", "CPuctt=3"], "did you mean 'CPuct'"),
        (["--option", "CPuct"], "Name=value"),
        (["--option", "CPuct=many"], "CPuct"),
        (["--preset", "lc1"], "lc0"),
        (["--nodes", "0"], "nodes"),
        (["--nodes", "9" * 23], "at most"),
        (["--time", "-1"], "--time"),
        (["--time", "nan"], "--time"),
        (["--time", "inf"], "--time"),
        (["8/8/8/8/8/8/8/8 w - - 0 1"], "king"),
        (["--network", "nowhere.safetensors"], "nowhere.safetensors"),
        (["--network", "nobody"], "--network: no such network"),
        (["--nodes", "9" * 23], "--nodes: '999"),
        (["--option", "CPuctt=3"], "--option: no such option"),
        (["--option", "CPuct=many"], "--option: CPuct"),
        (["--preset", "lc1"], "--preset: no such preset"),
        (["--moves", "e2e5"], "--moves: illegal move"),
        (["--moves", "e9"], "--moves: not a move"),
        (["--against", "nobody"], "--against: neither a player"),
    ],
)
def test_mistakes_take_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_the_signature_of_the_search(capsys: pytest.CaptureFixture[str]) -> None:
    """A change that is meant to leave the search as it is keeps it; another one says so here."""
    from kibitz.arena.bench.search import signature

    assert signature() == SIGNATURE
    capsys.readouterr()


@pytest.mark.slow
def test_the_bench_says_what_it_searched(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "search", "--nodes", "50", "--rounds", "1", "--hash", "8"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["nodes"] == 50
    assert Board(found["positions"][1]).legal_moves
    rows = {(row["evaluator"].split("-")[0], row["rule"], row["threads"]) for row in found["rows"]}
    assert {(name, "puct", count) for name in ("uniform", "sparse") for count in (1, 2)} < rows
    assert min(row["playouts_per_second"] for row in found["rows"]) > 0
    assert found["alphabeta_nodes"] == 250
    assert [row["threads"] for row in found["alphabeta"]] == [1, 2]
    assert min(row["nodes_per_second"] for row in found["alphabeta"]) > 0
    assert main([*arguments, "--threads", "0"]) == 2


def test_the_bench_measures_batches(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "search", "--batches", "1,8", "--nodes", "60", "--rounds", "2"]
    arguments += ["--hash", "4"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["batch"] for row in found["rows"]] == [1, 8]
    for row in found["rows"]:
        assert row["nodes_per_second"] > 0
        # Leaves that end the game are not asked about; all else is a hit or a miss.
        assert 200 < row["cache_hits"] + row["cache_misses"] <= 4 * 60
        assert row["cache_evictions"] == 0
        assert row["bytes_an_edge"] == 32
        assert 32 < row["bytes_a_node"] < 36 + 64 * 32
    assert main(arguments) == 0
    assert "kibitz-plain-4x64" in capsys.readouterr().out
    assert main([*arguments, "--network", "kibitz-64x256"]) == 2
    assert "not asked in batches: 'kibitz-64x256'" in capsys.readouterr().err
    assert main(["bench", "search", "--batches", "1,x"]) == 2
    capsys.readouterr()
    assert main(["bench", "search", "--network", "kibitz-plain-4x64"]) == 2
    assert "--network is that of --batches" in capsys.readouterr().err
    assert main([*arguments, "--threads", "2"]) == 2
    assert "--batches are of one thread" in capsys.readouterr().err
    assert main(["bench", "search", "--backend-options", "threads=1"]) == 2
    assert "--backend-options are of --batches" in capsys.readouterr().err


def test_the_bench_plays_with_the_network_of_the_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--seconds", "0.2", "--threads", "1", "--backend-options", "threads=1"]
    assert main(["bench", "selfplay", *arguments, "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert row["network"] == "kibitz-plain-4x64 (float32, onnx)"
    assert row["batch_fill"] is not None  # it was asked in batches


def test_moves_without_a_score_show_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Alpha-beta shows of most moves only that they are worse than the best."""
    words = ["search", "--search", "alphabeta", "--nodes", "3000"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    values = [row["value"] for row in found["moves"]]
    assert values[0] == pytest.approx(found["value"])
    assert None in values[1:]
    assert {row["prior"] for row in found["moves"]} == {None}
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    [heading] = [at for at, line in enumerate(lines) if line.split()[:1] == ["move"]]
    assert lines[heading].split() == ["move", "nodes", "value", "draw", "proof"]
    lengths = {len(line.split()) for line in lines[heading + 2 :]}
    assert lengths >= {2, 5}  # move, nodes; and value and draw %


@pytest.mark.parametrize(
    ("fen", "told"),
    [
        ("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "checkmate"),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "stalemate"),
        ("8/8/8/8/8/8/8/k1K5 w - - 0 1", "insufficient material"),
    ],
)
def test_how_a_game_is_over_is_said(
    fen: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", fen, "--network", "material", "--nodes", "10"]) == 0
    assert f"the game is over: {told}" in capsys.readouterr().err


def test_a_rule_or_preset_beside_a_search_without_rules_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["search", "--network", "material", "--nodes", "50", "--search", "alphabeta"]
    assert main([*words, "--rule", "gumbel"]) == 0
    assert "--rule has no effect with Search alphabeta" in capsys.readouterr().err
    assert main([*words, "--preset", "lc0"]) == 0
    told = "of --preset lc0 counts only what Search alphabeta heeds"
    assert told in capsys.readouterr().err
    assert main([*words, "--option", "Search=mcts"]) == 2
    assert "--search and --option Search" in capsys.readouterr().err


# --- human ----------------------------------------------------------------------------------------

GAME = '[Event "one"]\n[Result "*"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 *\n'


def test_likely_moves_mistakes_and_how_many_find_the_best(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["human", SCHOLAR, "--rating", "1300", "--nodes", "5000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["networks"] == {"1100": 0.5, "1500": 0.5}
    assert {row["move"] for row in told["moves"]} == {str(m) for m in Board(SCHOLAR).legal_moves}
    assert sum(row["share"] for row in told["moves"]) == pytest.approx(1.0)
    first = told["moves"][0]
    assert (first["san"], first["score"], first["mark"]) == ("Qxf7#", "#1", "")
    assert told["best"]["san"] == "Qxf7#"
    assert set(told["best"]["by_rating"]) == {"1100", "1300", "1500", "1900"}
    assert told["best"]["by_rating"]["1300"] == told["best"]["share"] == first["share"]
    marks = {row["san"]: row.get("mark") for row in told["moves"]}
    assert marks["Qf3"] in ("?", "??")


@pytest.mark.parametrize(
    ("played", "marks"),
    [([], {"d4": "", "b3": "", "a3": "?"}), (["a3", "a6"], {"d4": "", "b3": "?!", "h3": "?"})],
)
def test_named_openings_are_no_inaccuracies(played: list[str], marks: dict[str, str]) -> None:
    board = Board()
    for san in played:
        board.push(san)
    lines = [
        Line(1, Score("cp", amount), Wdl(0, 1000, 0), 0.0, (board.parse(san),))
        for san, amount in zip(marks, (80, 20, -80), strict=True)
    ]
    rows = {row["san"]: row for row in people_facts(board, 1500, lines)["moves"]}
    assert {san: rows[san]["mark"] for san in marks} == marks


def test_history_comes_from_moves_or_from_a_game(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "game.pgn"
    file.write_text(GAME)
    said = []
    for words in (
        [str(file), "--ply", "4"],
        ["--moves", "e4", "e5", "Nf3", "Nc6"],
        ["--moves", "e4", "e7e5", "--moves", "Nf3", "--moves", "b8c6"],
        ["--moves", "1. e4 e5 2.Nf3", "2...Nc6"],
        ["r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"],
    ):
        assert main(["human", *words, "--nodes", "0", "--json"]) == 0
        said.append(json.loads(capsys.readouterr().out)["moves"])
    assert said[0] == said[1] == said[2] == said[3] != said[4]
    assert "score" not in said[0][0]


@pytest.mark.parametrize(
    "words", [["a2a3", "--moves", "Nh3"], ["a2a3", "Nh3"], ["1.a3 Nh3"], ["1. a3", "1. Nh3"]]
)
def test_moves_are_searched_in_every_form_of_a_list(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["search", "--network", "material", "--nodes", "50", "--json", "--moves"]
    assert main([*command, *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["move"] for row in found["moves"]} == {"a2a3", "g1h3"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--rating", "1099"], "--rating: 1099; give 1100 to 1900"),
        (["--rating", "2500"], "--rating: 2500; give 1100 to 1900"),
        (["--moves", "e5"], "--moves"),
        (["--ply", "3"], "it is for PGN files"),
        (["nonsense"], "FEN"),
        (["--nodes", "-1"], "--nodes: -1"),
    ],
)
def test_what_cannot_be_is_refused(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["human", *words]) == 2
    assert told in capsys.readouterr().err


def test_a_game_that_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["human", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"]) == 0
    assert "the game is over" in capsys.readouterr().err
