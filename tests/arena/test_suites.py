"""Suites and endings: points, nodes required, ratings, and what the commands print."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kibitz.arena.match.elo import wilson
from kibitz.arena.match.game import Control
from kibitz.arena.match.player import Answer, Head
from kibitz.arena.match.spec import parse_player
from kibitz.arena.match.suites import (
    ENDINGS,
    graded,
    points_for,
    random_position,
    run_suite,
    run_technique,
    solve,
    sts_rating,
    summary,
)
from kibitz.cli import main
from kibitz.core.errors import InputError
from kibitz.position.board import Board
from kibitz.position.epd import parse_epd
from kibitz.search.limits import Limits

STS = (
    "1kr5/3n4/q3p2p/p2n2p1/PppB1P2/5BP1/1P2Q2P/3R2K1 w - - bm f5; "
    'id "STS(v1.0) Undermine.001"; c0 "f5=10, Be5+=2, Bf2=3, Bg4=2"; '
)
LISTS = 'c7 "f5 Be5+ Bf2 Bg4"; c8 "10 2 3 2";'
MATE = '6k1/5ppp/8/8/8/8/8/R5K1 w - - bm Ra8#; id "mate";'
AVOID = '7k/5KQ1/8/8/8/8/8/8 w - - am Kf8; id "none";'


def test_the_rating_of_sts() -> None:
    assert round(sts_rating(11_994), 2) == 3317.21


@pytest.mark.parametrize("line", [STS + LISTS, STS, STS.replace("c0", "c1") + LISTS])
def test_points_of_sts(line: str) -> None:
    epd = parse_epd(line)
    board = epd.board()
    for text, points in (("f5", 10), ("Be5", 2), ("Bf2", 3), ("Kh1", 0)):
        assert points_for(epd, board.parse(text)) == (points, 10)


def test_points_of_other_suites() -> None:
    best = parse_epd(MATE)
    assert points_for(best, best.board().parse("Ra8")) == (1, 1)
    assert points_for(best, best.board().parse("Ra7")) == (0, 1)
    avoid = parse_epd("7k/8/8/8/8/8/R7/K7 w - - am Ra8+;")
    assert points_for(avoid, avoid.board().parse("Ra8")) == (0, 1)
    assert points_for(avoid, avoid.board().parse("Rb2")) == (1, 1)
    assert points_for(parse_epd("7k/8/8/8/8/8/R7/K7 w - -"), avoid.board().parse("Rb2")) == (0, 0)
    with pytest.raises(InputError, match="do not go together"):
        graded(parse_epd(STS + 'c7 "f5 Bf2"; c8 "10";'))


class Told:
    """Changes its mind as the script says."""

    def __init__(self, *heads: tuple[int, str], nodes: int) -> None:
        self._heads, self._nodes = heads, nodes

    def new_game(self, seed: int) -> None:
        assert seed == 0

    def think(self, board: Board, limits: Limits, patience: float) -> Answer:
        assert limits.nodes
        assert patience > 0
        move = board.parse(self._heads[-1][1])
        heads = tuple(Head(nodes, text) for nodes, text in self._heads)
        return Answer(move, 1.0, nodes=self._nodes, heads=heads)

    def close(self) -> None:
        return


def test_nodes_required_count_from_the_last_change_of_mind() -> None:
    epd, control = parse_epd(STS + LISTS), Control(nodes=900)
    wavering = Told((1, "f4f5"), (50, "d4f2"), (300, "f4f5"), nodes=900)
    found = solve(epd, wavering, control)
    assert (found.points, found.nodes, found.required, found.solved) == (10, 900, 300, True)
    wrong = solve(epd, Told((1, "f4f5"), (50, "d4f2"), nodes=900), control)
    assert (wrong.points, wrong.required, wrong.solved) == (3, None, False)
    total = summary([found, wrong])
    assert (total.points, total.most, total.required, total.failed) == (13, 20, 300, 900)
    assert total.rating == pytest.approx(sts_rating(13 / 20 * 15_000))


def test_nodes_required_by_a_search_by_time_are_not_all_of_its_nodes() -> None:
    epds = [parse_epd('3q1rk1/5ppp/8/8/8/8/5PPP/3R2K1 w - - bm Rxd8; id "queen";')]
    [found] = run_suite(epds, parse_player("material,Search=alphabeta"), Control(movetime=110))
    assert found.solved
    assert found.required is not None
    assert found.required < found.nodes / 2


def test_a_search_solves_mates_in_parallel() -> None:
    epds = [parse_epd(MATE)] * 6
    spec = parse_player("material")
    seen: list[str] = []
    found = run_suite(
        epds, spec, Control(nodes=500), concurrency=2, advance=lambda one: seen.append(one.move)
    )
    assert seen == [one.move for one in found] == ["Ra8#"] * 6
    assert all(one.solved and one.required and one.required <= one.nodes <= 501 for one in found)
    assert summary(found).rating is None, "no graded moves, no rating"


WHEN_FOUND = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - bm Qxf7#;"


@pytest.mark.parametrize("line", [WHEN_FOUND, STS + LISTS])
def test_nodes_required_are_those_until_the_solution_is_kept(line: str) -> None:
    epd, spec, budget = parse_epd(line), parse_player("material"), 1500
    found = run_suite([epd], spec, Control(nodes=budget))[0]
    moves = {}  # searches that are not watched, of all lengths around the number that is told
    if found.required is None:
        found = found._replace(required=budget // 2)
    assert found.required is not None
    for nodes in (found.required, 2 * found.required, budget):
        player = spec.open()
        player.new_game(0)
        moves[nodes] = epd.board().san(player.think(epd.board(), Limits(nodes=nodes), 1e4).move)
        player.close()
    assert moves[budget] == found.move, "being watched does not change a search"
    if found.solved:
        assert found.required < budget / 2
        assert set(moves.values()) == {found.move}


def test_a_search_that_may_end_early_finds_the_same_and_stops() -> None:
    epds = [parse_epd(MATE), parse_epd(STS + LISTS)]
    spec, control = parse_player("material,Search=mcts"), Control(nodes=20_000)
    whole = run_suite(epds, spec, control)
    early = run_suite(epds, spec, control, early=True)
    for one, other in zip(early, whole, strict=True):
        assert one.nodes <= 20_000
        if one.solved:
            assert one.required is not None
            assert one.required <= one.nodes <= max(2 * 1.25 * one.required + 2, 80)
            assert one.nodes < 20_000
        else:
            assert (one.move, one.nodes) == (other.move, other.nodes)
    assert early[0].solved
    timed = run_suite(epds[1:], spec, Control(movetime=60), early=True)
    assert timed[0].milliseconds < 2_000
    for player in ("greedy", "material"):
        with pytest.raises(InputError, match="--early"):
            run_suite(epds, parse_player(player), control, early=True)


def test_the_suite_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    path, out = tmp_path / "few.epd", tmp_path / "out.json"
    path.write_text(f"{MATE}\n{STS}{LISTS}\n")
    assert main(["suite", str(path), "--nodes", "200", "--out", str(out), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["suites"][0]["positions"] == 2
    written = json.loads(out.read_text())
    assert [one["name"] for one in written["positions"][str(path)]] == [
        "mate",
        "STS(v1.0) Undermine.001",
    ]
    assert written["suites"][0]["milliseconds"] > 0
    assert main(["--reproducible", "suite", str(path), "--nodes", "200", "--out", str(out)]) == 0
    bare = json.loads(out.read_text())
    times = [row["milliseconds"] for row in (*bare["suites"], *bare["positions"][str(path)])]
    assert times == [0, 0, 0]
    capsys.readouterr()
    assert main(["suite", str(path), "--nodes", "200", "--limit", "1"]) == 0
    assert "1/1" in capsys.readouterr().out
    assert main(["suite", str(path), "--player", "random", "--out", "/dev/full", "--json"]) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out)["suites"][0]["positions"] == 2, "results went with the file"
    assert "No space left on device" in shown.err
    assert main(["suite"]) == 2
    path.write_text("\n")
    assert main(["suite", str(path), "--player", "material"]) == 2
    assert "no position in this suite" in capsys.readouterr().err


def test_positions_without_a_solution_are_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, bare = tmp_path / "some.epd", '6k1/5ppp/8/8/8/8/8/R5K1 w - - id "bare"; c0 "quiet";\n'
    path.write_text(f"{bare}{MATE}\n{bare}{STS}\n")
    solving = ["suite", str(path), "--nodes", "100", "--player", "material"]
    measuring = ["strength", "material", "--games", "0", "--endings", "0"]
    measuring += ["--suite", str(path), "--suite-nodes", "100", "--resume", str(tmp_path / "kept")]
    for command in (solving, measuring, measuring):
        assert main([*command, "--limit", "2", "--json"]) == 0
        shown = capsys.readouterr()
        row = json.loads(shown.out)["suites"][0]
        assert (row["positions"], row["skipped"], row["most"]) == (2, 2, 11)
        assert "some.epd: positions left out, as they have no bm, am or points: 2" in shown.err
    path.write_text(bare)
    for command in (solving, [*measuring[:-1], str(tmp_path / "other")]):
        assert main(command) == 2
        told = capsys.readouterr().err
        assert f"no position of this suite has bm, am or points: '{path}'" in told


def test_suites_that_cannot_be_counted_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "one.epd"
    path.write_text(f"{MATE}\n")
    assert main(["suite", str(path), f"{tmp_path}/./one.epd", "--player", "random"]) == 2
    assert f"two suites of one name: '{path}'; name it once" in capsys.readouterr().err
    path.write_text(STS + 'c7 "f5 Bf2"; c8 "10";\n')
    assert main(["suite", str(path), "--player", "random"]) == 2
    assert f"{path}: STS(v1.0) Undermine.001: c7 and c8" in capsys.readouterr().err


def test_failed_positions_may_count_among_the_nodes_required(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mixed.epd"
    path.write_text(f"{MATE}\n" + MATE.replace("bm", "am") + "\n")
    command = ["suite", str(path), "--nodes", "300", "--player", "material,Search=mcts"]
    found = []
    for more in ([], ["--failure-nodes", "5000"]):
        assert main([*command, *more, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    apart, together = (one["suites"][0] for one in found)
    assert (apart["positions"], apart["solved"]) == (2, 1)
    assert together["required"] == apart["required"] + 5000
    assert together["failed"] == apart["failed"] > 0
    assert [one["failure_nodes"] for one in found] == [0, 5000]
    assert main([*command, "--failure-nodes", "5000"]) == 0
    shown = capsys.readouterr().out
    assert f"{together['required']:,}" in shown
    assert "material,Search=mcts: network material, 300 nodes" in shown
    assert "5,000 nodes required of a position not solved" in shown
    assert main([*command, "--failure-nodes", "-1"]) == 2
    assert "--failure-nodes: -1" in capsys.readouterr().err


def test_an_output_that_is_a_folder_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "one.epd"
    path.write_text(f"{MATE}\n")
    command = ["suite", str(path), "--nodes", "10", "--player", "material", "--out"]
    assert main([*command, str(tmp_path)]) == 2
    shown = capsys.readouterr()
    assert "the output is a folder" in shown.err
    assert not shown.out
    assert main([*command, "/proc/nowhere/out.json"]) != 0
    shown = capsys.readouterr()
    assert "cannot write: no such folder: '/proc/nowhere/out.json'" in shown.err
    assert "one.epd" in shown.out  # what was found is not lost


def test_the_player_may_be_called_a_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "one.epd"
    path.write_text(f"{MATE}\n")
    for command in (
        ["suite", str(path), "--nodes", "100"],
        ["technique", "KQK", "--games", "1", "--nodes", "10", "--defender", "random"],
        ["strength", "--games", "0", "--endings", "0", "--suite", str(path), "--suite-nodes", "9"],
    ):
        shown = []
        for option in ("--player", "--network"):
            assert main([*command, option, "material", "--json"]) == 0
            shown.append(json.loads(capsys.readouterr().out))
        assert [one.get("player", one.get("settings", {}).get("player")) for one in shown] == [
            "material"
        ] * 2


# --- endings --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
def test_positions_are_of_the_ending_and_repeat_by_seed(ending: str) -> None:
    import random

    boards = [random_position(ending, random.Random(number)) for number in range(30)]
    for number, board in enumerate(boards):
        letters = sorted(one for one in board.fen().split()[0] if one.isalpha())
        assert letters == sorted(["K", "k", *ENDINGS[ending]])
        assert board.turn == "white"
        assert random_position(ending, random.Random(number)) == board
    assert len({board.key for board in boards}) > 25


def test_a_queen_mates_a_lonely_king() -> None:
    spec = parse_player("material")
    found = run_technique("KQK", spec, parse_player("random"), Control(nodes=1500), tries=2)
    assert (found.tries, found.forfeits) == (2, 0)
    assert found.wins >= 1
    assert found.plies is not None
    assert 0 < found.plies <= found.longest < 150


def test_a_random_mover_has_no_technique() -> None:
    random = parse_player("random")
    found = run_technique("KRK", random, random, Control(), tries=5)
    assert found.tries == 5
    assert found.wins <= 1


def test_a_defender_that_crashes_is_no_forfeit_of_the_attacker() -> None:
    program = f"uci:{sys.executable} {Path(__file__).parent / 'fake_engine.py'} crash 0"
    white, black = parse_player("greedy"), parse_player(program)
    found = run_technique("KBNK", white, black, Control(nodes=1), tries=2)
    assert (found.wins, found.forfeits, found.their_forfeits) == (0, 0, 2)
    found = run_technique("KBNK", black, white, Control(nodes=1), tries=2)
    assert (found.wins, found.forfeits, found.their_forfeits) == (0, 2, 0)


def test_the_interval_of_a_share() -> None:
    low, high = wilson(20, 20)
    assert high == 1.0
    assert 0.8 < low < 0.87
    assert wilson(0, 0) == (0.0, 1.0)


def test_the_technique_command(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["krk", "--games", "2", "--player", "greedy", "--defender", "random"]
    assert main(["technique", *arguments, "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["endings"]
    assert (row["ending"], row["tries"]) == ("KRK", 2)
    lost = ["kqk", "KQK", "--games", "1", "--player", "random", "--nodes", "5"]
    assert main(["technique", *lost, "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["endings"]
    assert (row["wins"], row["plies"]) == (0, None)
    assert main(["technique", *lost]) == 0
    shown = capsys.readouterr().out
    assert "random vs material (network material), 5 nodes" in shown
    assert "nan" not in shown
    assert main(["technique", "KPK"]) == 2
