"""The settings file reaches every command: flags, then a network's table, then the file's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kibitz import Board, Engine
from kibitz.arena.match.spec import parse_player
from kibitz.cli import main
from kibitz.core import settings
from kibitz.core.settings import TABLES, check_file
from kibitz.nets.models.make import create
from kibitz.train.config import from_file
from tests.uci.scripted import Gui

EPD = "6k1/5ppp/8/8/8/8/8/R5K1 w - - bm Ra8#;\n"
TOML = """
[search]
cpuct = 2.5
hash = 8

[engine]
weights = "uniform"

[networks.material.search]
cpuct = 3.5
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own folder, where he is, with a settings file and a suite."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KIBITZ_DATA", str(tmp_path))
    monkeypatch.delenv(settings.VARIABLE, raising=False)
    (tmp_path / "kibitz.toml").write_text(TOML)
    (tmp_path / "one.epd").write_text(EPD)
    return tmp_path


Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(place: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command with --json; its result."""
    assert place.is_dir()

    def command(*words: str) -> dict[str, Any]:
        capsys.readouterr()
        assert main([*words, "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return command


# How each command is told a network, and where its result says what settings it used.
COMMANDS: list[tuple[list[str], str, Callable[[dict[str, Any]], dict[str, Any]]]] = [
    (["search", "--nodes", "20"], "--network=", lambda found: found),
    (["analyse", "--nodes", "20"], "--network=", lambda found: found),
    (["suite", "one.epd", "--nodes", "20"], "--player=", lambda found: found),
    (["technique", "KQK", "--games", "1", "--nodes", "9"], "--player=", lambda found: found),
    (
        ["match", "random", "--games", "2", "--nodes", "5", "--max-moves", "2"],
        "",
        lambda found: dict(found["players"][1]),
    ),
    (
        ["strength", "--games", "0", "--endings", "0", "--suite", "one.epd", "--suite-nodes", "9"],
        "",
        lambda found: dict(found["settings"]),
    ),
]


@pytest.mark.parametrize(("words", "flag", "used"), COMMANDS, ids=lambda value: str(value)[:16])
def test_every_command_that_searches_obeys_the_file(
    words: list[str],
    flag: str,
    used: Callable[[dict[str, Any]], dict[str, Any]],
    run: Run,
) -> None:
    player = f"{flag}default"
    plain = used(run(*words, player))
    assert plain["network"] == "uniform"
    assert plain["settings"].items() >= {"cpuct": 2.5, "hash": 8}.items()
    chosen = used(run(*words, f"{flag}material"))
    assert chosen["network"] == "material"
    assert chosen["settings"]["cpuct"] == 3.5
    without = used(run(*words, f"{flag}material", "--config", ""))
    assert "cpuct" not in without["settings"]


def test_flags_go_before_the_file_and_its_tables_of_networks(run: Run) -> None:
    option = run("search", "--nodes", "9", "--network", "material", "--option", "CPuct=4.5")
    assert option["settings"]["cpuct"] == 4.5
    preset = run("search", "--nodes", "9", "--preset", "alphazero")
    assert (preset["settings"]["cpuct"], preset["settings"]["hash"]) == (1.25, 8)
    written = "material,CPuct=5.5,Hash=2"
    found = run("match", written, "random", "--games", "2", "--nodes", "5", "--max-moves", "2")
    assert found["players"][0]["settings"] == {"cpuct": 5.5, "hash": 2}
    assert run("analyse", "--nodes", "9", "--lines", "2")["settings"]["multipv"] == 2


def test_a_search_differs_because_of_the_file(run: Run, place: Path) -> None:
    told = "6k1/5ppp/8/3q4/8/8/3R4/3R2K1 w - - 0 1", "--network", "material", "--nodes", "400"
    before = run("search", *told, "--config", "")["moves"]
    (place / "other.toml").write_text("[search]\ncpuct = 90.0\n")
    assert run("search", *told, "--config=other.toml")["moves"] != before
    assert run("search", *told, "--option", "CPuct=90")["moves"] != before


def test_flags_of_every_command_can_stand_in_the_file(run: Run, place: Path) -> None:
    (place / "kibitz.toml").write_text(
        '[commands.search]\nnodes = 33\nnetwork = "material"\n[commands.net.new]\nseed = 5\n'
    )
    found = run("search")
    assert (found["network"], found["nodes"]) == ("material", 33)
    assert run("search", "--nodes", "44")["nodes"] == 44
    made = run("net", "new", "sparse-32")["sha256"]
    again = ("net", "new", "sparse-32", "--force", "--config", "")
    assert made == run(*again, "--seed", "5")["sha256"]
    assert made != run(*again)["sha256"]


def test_the_engine_of_chess_programs_obeys_it(place: Path) -> None:
    settings.use(place / "kibitz.toml")
    try:
        with Gui(Engine()) as gui:
            lines = gui.ask("uci", "uciok")
            assert "option name CPuct type string default 2.5" in lines
            assert "option name Hash type spin default 8 min 1 max 131072" in lines
            assert "option name WeightsFile type string default uniform" in lines
            assert "info string evaluator uniform" in gui.ask("isready", "readyok")
            engine = gui.session.engine
            gui.say("setoption name WeightsFile value material")
            assert "info string evaluator material" in gui.ask("isready", "readyok")
            assert engine.settings.cpuct == 3.5
            engine.set_option("CPuct", "6")
            engine.set_option("WeightsFile", "uniform")
            assert engine.settings.cpuct == 6.0, "what a program sets, it keeps"
        with Gui(Engine(), remote=True) as gui:
            shown = [line for line in gui.ask("uci", "uciok") if "WeightsFile" in line]
            assert shown == ["option name WeightsFile type string default <autodiscover>"]
    finally:
        settings.use(None)
    assert Engine().settings.cpuct == 1.745


def test_a_match_is_another_one_with_other_settings(place: Path) -> None:
    plain = parse_player("material").identity
    settings.use(place / "kibitz.toml")
    try:
        assert parse_player("material").identity == f"{plain} cpuct=3.5 hash=8"
    finally:
        settings.use(None)


def test_a_training_reads_its_tables_by_the_name_of_its_network(place: Path) -> None:
    path = place / "kibitz.toml"
    path.write_text(
        TOML + "[run]\nsteps = 7\n[schedule]\nrate = 0.5\n[networks.small.schedule]\nrate = 0.25\n"
    )
    assert (from_file(path).run.steps, from_file(path).schedule.rate) == (7, 0.5)
    assert from_file(path, ["run.name=small"]).schedule.rate == 0.25
    assert from_file(path, ["run.output=runs/small"]).schedule.rate == 0.25
    assert from_file(path, ["run.name=small", "schedule.rate=2"]).schedule.rate == 2
    assert from_file(path, [], "small").schedule.rate == 0.25


def test_the_games_that_an_engine_labels_are_set_in_the_file(place: Path) -> None:
    from kibitz.core.settings import load_table
    from kibitz.data.labels.evaluating import Evaluating, Labelling

    path = place / "kibitz.toml"
    path.write_text("[label]\nnodes = 77\nwin_cp = 900\n")
    settings.use(path)
    try:
        playing = load_table(Labelling, "label", ())
        assert (playing.nodes, playing.win_cp) == (77, 900)
        assert load_table(Evaluating, "label", ()).nodes == 77
        assert load_table(Evaluating, "label", ("nodes=78",)).nodes == 78
    finally:
        settings.use(None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[search]\ncpukt = 1.0", "[search]: unknown key: 'cpukt'; did you mean 'cpuct'?"),
        ("[serach]\ncpuct = 1.0", "unknown table: 'serach'; did you mean 'search'?"),
        ("[networks.a.engine]\nhsah = 1", "[networks.a.engine]: unknown key: 'hsah'"),
        ("[networks.a.engine]\nweights = 'b'", "it belongs in [engine]"),
        ("[networks.a.commands.play]\nnodes = 1", "[networks.a]: unknown table: 'commands'"),
        ("[search]\nthreads = 0", "[search]: threads: must be at least 1"),
        ("[label]\nnode = 1", "did you mean 'nodes'?"),
        ("[schedule]\nrat = 1", "did you mean 'rate'?"),
        ("[commands.serach]\nnodes = 1", "did you mean 'search'?"),
        ("[commands.show]\nsgv = 'a'", "[commands.show]: unknown flag: 'sgv'; did you mean 'svg'?"),
        ("commands = 3", "commands"),
        ("[commands]\nshow = 3", "[commands]: show is a table, found: 3"),
        ("networks = 3", "networks"),
        ("[search", "not TOML"),
    ],
)
def test_a_wrong_key_in_any_table_ends_every_command(
    text: str, told: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "kibitz.toml").write_text(text)
    assert main(["show", "--json"]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert "kibitz.toml" in error
    assert main(["show", "--config", "", "--json"]) == 0
    assert main(["--help"]) == 0


@pytest.mark.parametrize(
    "text",
    [
        "[commands.net.lits]\njson = true",
        "[commands.net]\nlits = 3",
        "[commands.net.list.lits]\njson = true",
    ],
)
def test_a_wrong_table_within_a_command_is_named(
    text: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "kibitz.toml").write_text(text)
    assert main(["net", "list"]) == 2
    assert "'lits'" in capsys.readouterr().err


def test_where_the_file_is_found(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show"]) == 0
    assert f"settings: {place / 'kibitz.toml'}" in capsys.readouterr().err.replace("\n", "")
    (place / "mine.toml").write_text("[search]\ncpuct = -1")
    for words in (["--config", "mine.toml", "show"], ["show", "--config=mine.toml"]):
        assert main(words) == 2
        assert "mine.toml" in capsys.readouterr().err
    monkeypatch.setenv(settings.VARIABLE, "mine.toml")
    assert main(["show"]) == 2
    monkeypatch.setenv(settings.VARIABLE, "")
    assert main(["show"]) == 0
    monkeypatch.delenv(settings.VARIABLE)
    (place / "kibitz.toml").rename(place / "away.toml")
    assert settings.usual_file() is None
    assert main(["show", "--config", "none.toml"]) == 2
    assert "none.toml" in capsys.readouterr().err
    assert main(["show", "--config"]) == 2


def test_a_file_in_the_current_folder_is_read_only_where_it_is_named(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may be a stranger's, and opponents like `uci:PROGRAM` in it are started."""
    strange = place / "downloaded"
    strange.mkdir()
    (strange / "kibitz.toml").write_text("[search]\ncpuct = -1")
    monkeypatch.chdir(strange)
    (place / "kibitz.toml").unlink()
    assert main(["show"]) == 0
    assert "not read; name it to use it: --config kibitz.toml" in capsys.readouterr().err
    assert main(["show", "--config", "kibitz.toml"]) == 2
    told = capsys.readouterr().err
    assert "settings: kibitz.toml" in told
    assert "cpuct" in told


def test_every_table_of_the_file_is_documented_with_who_reads_it(place: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    assert [name for name in TABLES if f"| `[{name}]` |" not in page] == []
    (place / "all.toml").write_text("\n".join(f"[{name}]" for name in TABLES))
    check_file(place / "all.toml")


def test_the_network_that_is_taken_unnamed_is_announced(
    run: Run, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "kibitz.toml").unlink()
    mine = str(place / "mine.safetensors")
    create("sparse-32", Path(mine))
    assert main(["search", "--nodes", "9", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["network"] == mine
    assert f"network: {mine}" in told.err
    assert "shipped" in told.err
    shipped = run("search", "--nodes", "9", "--network", "shipped")["network"]
    assert shipped not in (mine, "material")
    words = "--games", "2", "--nodes", "2", "--max-moves", "2"
    players = run("match", "default", "shipped", *words)["players"]
    assert [player["network"] for player in players] == [mine, shipped]
    capsys.readouterr()
    assert main(["search", "--nodes", "9"]) == 0
    assert f"network{mine}" in "".join(capsys.readouterr().out.split())
    assert main(["match", "default", "shipped", *words]) == 0
    shown = capsys.readouterr().out
    assert f"Network of default: {mine}" in shown
    assert f"Network of shipped: {shipped}" in shown


def test_a_game_in_the_terminal_names_its_network(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert place.is_dir()
    monkeypatch.setattr("sys.stdin", iter(()))
    with Engine("material", hash=4) as engine:
        from kibitz.cli.play.play import Game

        Game(engine, Board(), "white").play(["quit"])
    assert "network material" in capsys.readouterr().out
