"""Measuring strength: ratings against known ones, ladders, what is kept, and the command."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]
from scipy.stats import chi2  # type: ignore[import-untyped]

from kibitz.arena.match.assessment import kept
from kibitz.arena.match.elo import Tally, expected_score
from kibitz.arena.match.rating import (
    LIKELY_95,
    find_program,
    parse_opponent,
    rating_against,
    usual_opponents,
)
from kibitz.cli import main
from kibitz.core.errors import DamagedFileError, InputError

STOCKFISH = find_program("stockfish")
MATE = '6k1/5ppp/8/8/8/8/8/R5K1 w - - bm Ra8#; id "mate";\n'
LADDER = [(1350.0, Tally(30, 4, 6)), (1600.0, Tally(15, 6, 19)), (2000.0, Tally(1, 2, 37))]


def likelihood(elo: float, ladder: list[tuple[float, Tally]]) -> float:
    return sum(
        tally.points * math.log(expected_score(elo - other))
        + (tally.games - tally.points) * math.log(expected_score(other - elo))
        for other, tally in ladder
    )


def test_the_rating_is_the_likeliest_one() -> None:
    found = rating_against(LADDER)
    best = minimize_scalar(lambda elo: -likelihood(elo, LADDER), bounds=(0, 3000), method="bounded")
    assert found.elo == pytest.approx(best.x, abs=0.1)
    assert (found.points, found.games) == (52.0, 120)
    assert found.low < found.elo < found.high
    for end in (found.low, found.high):
        assert 2 * (likelihood(found.elo, LADDER) - likelihood(end, LADDER)) == pytest.approx(
            chi2.ppf(0.95, 1), abs=1e-3
        )
    assert pytest.approx(2 * LIKELY_95) == chi2.ppf(0.95, 1)


def test_one_opponent_is_the_formula_of_elo() -> None:
    found = rating_against([(1500.0, Tally(60, 0, 40))])
    assert found.elo == pytest.approx(1500 + 70.44, abs=0.01)
    more = rating_against([(1500.0, Tally(6000, 0, 4000))])
    assert (found.high - found.low) / (more.high - more.low) == pytest.approx(10, rel=0.05)


def test_who_wins_everything_has_only_a_lower_end() -> None:
    won, lost = (rating_against([(1500.0, tally)]) for tally in (Tally(10), Tally(0, 0, 10)))
    assert won.elo == won.high == math.inf
    assert lost.elo == lost.low == -math.inf
    # The lower end makes ten wins as likely as the ratio allows.
    assert 10 * math.log(expected_score(won.low - 1500)) == pytest.approx(-LIKELY_95, abs=1e-4)
    assert lost.high - 1500 == pytest.approx(1500 - won.low, abs=0.01)


def test_opponents_have_ratings_by_their_options() -> None:
    assert parse_opponent("random").rating is None
    assert parse_opponent("random,rating=-150").rating == -150
    assert parse_opponent("material,nodes=10,rating=800").spec.text == "material,nodes=10"
    program = f"uci:{shutil.which('true')}"
    limited = f"{program},UCI_LimitStrength=true,UCI_Elo=1700"
    assert parse_opponent(limited).rating == 1700
    assert parse_opponent(f"{limited},rating=1650").rating == 1650
    assert parse_opponent(f"{program},UCI_Elo=1700").rating is None
    with pytest.raises(InputError, match="give a number"):
        parse_opponent("random,rating=high")
    with pytest.raises(InputError, match="from -5000 to 5000"):
        parse_opponent("random,rating=1e9")
    names = [parse_opponent(text).spec.name for text in usual_opponents(None, quick=False)]
    assert names == ["random", "greedy", "material"]
    for text in usual_opponents(shutil.which("true"), quick=True)[2:]:
        assert parse_opponent(text).rating is not None


def test_a_result_is_made_once_and_only_for_the_same_settings(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> dict[str, int]:
        made.append(1)
        return {"points": 7}

    for _ in range(2):
        assert kept(tmp_path, "suite a/b", {"nodes": 5}, make) == {"points": 7}
    assert len(made) == 1
    with pytest.raises(InputError, match="with other nodes: 6"):
        kept(tmp_path, "suite a/b", {"nodes": 6}, make)
    with pytest.raises(InputError, match="does not say with which seed it was made"):
        kept(tmp_path, "suite a/b", {"seed": 0}, make)
    assert kept(tmp_path, "stopped", {}, lambda: None) is None
    assert kept(tmp_path, "stopped", {}, make) == {"points": 7}
    [file, _] = sorted(tmp_path.iterdir(), reverse=True)
    whole = file.read_text()
    file.write_text(whole.replace("7", "8"))
    with pytest.raises(DamagedFileError, match="was changed"):
        kept(tmp_path, "suite a/b", {"nodes": 5}, make)
    file.write_text("{")
    with pytest.raises(DamagedFileError, match=file.name):
        kept(tmp_path, "suite a/b", {"nodes": 5}, make)


@pytest.mark.slow
def test_the_command_measures_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite, folder = tmp_path / "mates.epd", tmp_path / "kept"
    suite.write_text(MATE * 3)
    command = ["strength", "material", "--quick", "--nodes", "30", "--games", "2"]
    command += ["--suite", str(suite), "--suite-nodes", "300", "--endings", "1"]
    command += ["--opponent", "random,rating=100", "--opponent", "greedy"]
    command += ["--opponent", "uniform,nodes=1"]
    command += ["--resume", str(folder)]
    assert main([*command, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["suites"][0]["solved"] == 3
    assert first["suites"][0]["nodes_a_position"] <= 300
    assert [(row["name"], row["games"]) for row in first["ladder"]] == [
        ("random", 2),
        ("greedy", 2),
        ("uniform", 2),
    ]
    assert [row["network"] for row in first["ladder"]] == [None, None, "uniform"]
    assert first["rating"]["games"] == 2
    assert [row["tries"] for row in first["endings"]] == [1, 1, 1]
    settings = first["settings"]
    assert (settings["control"], settings["suite_control"]) == ("30 nodes", "300 nodes")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert len(before) == 1 + 3 + 3
    (folder / "games-greedy.jsonl").unlink()
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == first, "seeded games repeat themselves"
    assert {file.name for file in folder.iterdir()} == set(before)
    assert main(command) == 0
    shown = capsys.readouterr().out
    for text in (
        "mates.epd",
        "random",
        "Rating: ",
        "KBNK",
        "seed 0",
        "Network of uniform: uniform",
    ):
        assert text in shown


GRADED = MATE.replace("bm Ra8#;", 'c7 "Ra8# Ra7"; c8 "10 3";')


@pytest.mark.parametrize(
    ("line", "other"),
    [
        (MATE, MATE.replace("Ra8#", "Ra7")),
        (MATE, MATE.replace("bm", "am")),
        (GRADED, GRADED.replace("10 3", "10 4")),
        (MATE.replace("bm", "am"), MATE.replace("bm Ra8#", "am Ra7")),
    ],
)
def test_a_suite_that_is_kept_is_refused_with_other_solutions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, other: str
) -> None:
    suite, folder = tmp_path / "s.epd", tmp_path / "kept"
    command = ["strength", "material", "--games", "0", "--endings", "0", "--suite", str(suite)]
    command += ["--suite-nodes", "100", "--resume", str(folder), "--json"]
    suite.write_text(line)
    assert main(command) == 0
    first = capsys.readouterr().out
    suite.write_text(f"# the same\n{line}")
    assert main(command) == 0
    assert capsys.readouterr().out == first
    for changed, told in ((other, "solutions"), (other.replace("6k1", "7k"), "positions")):
        suite.write_text(changed)
        assert main(command) == 2
        assert f"suite-s.json was made with other {told}; repeat" in capsys.readouterr().err


def test_without_dates_nothing_says_how_long_a_suite_took(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    suite, rows = tmp_path / "s.epd", []
    suite.write_text(MATE)
    command = ["strength", "material", "--games", "0", "--endings", "0", "--suite", str(suite)]
    for more in ((), ("--reproducible",)):
        assert main([*command, "--suite-nodes", "100", "--json", *more]) == 0
        rows += json.loads(capsys.readouterr().out)["suites"]
    timed, bare = rows
    assert timed["milliseconds"] > 0
    assert (bare["milliseconds"], bare["seconds_a_position"]) == (0, 0)


@pytest.mark.skipif(STOCKFISH is None, reason="Stockfish is not installed")
def test_levels_of_stockfish_are_a_ladder(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["strength", "random", "--games", "2", "--tc", "1+0.01", "--endings", "0", "--json"]
    for elo in (1350, 1600):
        # Time in hand: on a busy machine it has lost to random moves by its clock.
        limited = f"UCI_LimitStrength=true,UCI_Elo={elo},Move Overhead=400,name=level-{elo}"
        command += ["--opponent", f"uci:{STOCKFISH},{limited}"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["rating"] for row in found["ladder"]] == [1350, 1600]
    assert found["rating"]["games"] == 4
    assert found["rating"]["high"] < 1600


def test_mistakes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, told in (
        (["--games", "3"], "even number"),
        (["--limit", "0"], "--limit"),
        (["--endings", "-1"], "--endings"),
        (["--opponent", "random", "--opponent", "random"], "two opponents of one name"),
        (["--suite", "a/x.epd", "--suite", "b/x.epd"], "two suites of one name: 'x'"),
        (["--games", "0", "--endings", "0"], "nothing to measure; give --suite FILE, --games N"),
        (["--opponent", "nobody"], "neither a player nor a network"),
    ):
        assert main(["strength", "material", *arguments]) == 2
        assert told in capsys.readouterr().err
