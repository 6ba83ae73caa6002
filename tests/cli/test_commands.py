"""The command line as a shell sees it: output, exit codes, one line for every mistake."""

import gc
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zlib
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table
from safetensors import SafetensorError

import kibitz
from kibitz import cli as commands
from kibitz.cli import COMMANDS, SUBJECTS, app, main
from kibitz.cli.output import columns, emit
from kibitz.core import log
from kibitz.core.errors import MoveError
from kibitz.core.workers import SELDOM

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def failing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Register a command that fails as the test wants, for the time of the test."""

    def fail(depth: int = 1) -> None:
        if depth:
            raise request.param

    app.command(fail, name="fail")
    monkeypatch.delenv("KIBITZ_DEBUG", raising=False)
    yield "fail"
    app._commands.pop("fail")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{kibitz.__version__}\n"


def test_a_start_looks_for_no_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(gc, "set_threshold", given.append)
    assert main(["--version"]) == 0
    assert given == [SELDOM]


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in COMMANDS if name not in shown] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists_and_explains_itself(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert COMMANDS[name].help.split()[0] in shown
    assert "--empty-" not in shown


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["perfd"], "no such command: 'perfd'; did you mean 'perft'?"),
        (["perfd", "--help"], "no such command: 'perfd'; did you mean 'perft'?"),
        (["--help", "perfd"], "no such command: 'perfd'; did you mean 'perft'?"),
        (["--quiet", "perfd", "--depth", "3", "-h"], "no such command: 'perfd'"),
        (["data", "nosuch", "--help"], '"nosuch"'),
        (["--jsno"], "--jsno"),
        (["perft", "--dpeth", "3"], "--dpeth"),
        (["perft", "3"], "not expected: '3'; see kibitz perft --help"),
        (["net", "list", "a", "b"], "not expected: 'a' 'b'; see kibitz net list --help"),
        (["perft", "--depth", "deep"], '"deep"'),
    ],
)
def test_what_cannot_be_parsed_takes_one_line(
    arguments: list[str],
    named: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KIBITZ_DEBUG", raising=False)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("kibitz: error: ")
    assert captured.err.count("\n") == 1
    assert named in captured.err


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["perfd"], ["--jsno"]])
def test_no_command_is_imported_before_one_is_called(arguments: list[str]) -> None:
    script = (
        "import sys; from kibitz.cli import COMMANDS, main\n"
        "main(sys.argv[1:])\n"
        "homes = {command.home.partition(':')[0] for command in COMMANDS.values()}\n"
        "sys.exit(len(homes & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], check=False, capture_output=True
    )
    assert done.returncode == 0


@pytest.mark.parametrize(
    "failing", [MoveError("no such\nmove", value="e2e5", fix="look")], indirect=True
)
def test_what_the_user_can_mend_takes_one_line(
    failing: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([failing]) == 2
    assert capsys.readouterr().err == "kibitz: error: no such move: 'e2e5'; look\n"
    monkeypatch.setenv("KIBITZ_DEBUG", "1")
    with pytest.raises(MoveError):
        main([failing])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("selfplay|", "FOLDER: ''; name a file or a folder; . is this one"),
        ("learn|", "FOLDER: ''; name a file or a folder; . is this one"),
        ("data|import|games.pgn|-o|", "--output: ''; name a file or a folder; . is this one"),
        ("data|import|games.pgn", "--output is missing"),
        ("train|--set|run.clip=1|--set|run.clip=2", "--set run.clip: 'run.clip=2'; give it once"),
        ("search|--option|CPuct=1|--option=CPuct=1", "--option CPuct: 'CPuct=1'; give it once"),
        ("search|--nodes|0", "--nodes: 0; give 1 or more"),
        (
            "match|material|uniform|--nodes|9|--games|0",
            "--games: 0; give an even number, 2 or more",
        ),
        ("match|uniform|material,CPuct=1,CPuct=2|--nodes|9", "CPuct is given twice: '2'"),
        ("match|random|greedy|--nodes|1|--plies|2000", "--plies of random openings: 2000; give 40"),
        ("selfplay|new|--set|random_plies=[]", "random_plies: (); give the least and the most"),
        ("selfplay|new|--set|selfplay.rule=foo", "rule: expected one of 'preset',"),
        ("learn|new|--set|generations=-1", "'generations'; did you mean learn.generations?"),
    ],
)
def test_wrong_words_are_named_with_the_fix(
    arguments: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments.split("|")) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert said.lower() in error.lower()


@pytest.mark.parametrize("failing", [PermissionError(13, "Refused", "some/file")], indirect=True)
def test_what_the_system_refuses_takes_one_line(
    failing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([failing]) == 2
    assert capsys.readouterr().err == "kibitz: error: Refused: 'some/file'\n"


@pytest.mark.parametrize(
    "failing", [ZeroDivisionError("ours"), OSError(5, "of no file")], indirect=True
)
def test_our_own_mistakes_are_not_dressed_up(failing: str) -> None:
    assert main([failing, "--depth", "0"]) == 0
    with pytest.raises((ZeroDivisionError, OSError)):
        main([failing])


@pytest.mark.parametrize("failing", [KeyboardInterrupt()], indirect=True)
def test_an_interrupt_has_the_exit_code_shells_know(failing: str) -> None:
    assert main([failing]) == 130


@pytest.mark.parametrize("failing", [MoveError("none")], indirect=True)
@pytest.mark.parametrize(
    ("flags", "level"),
    [([], log.Level.NORMAL), (["--quiet"], log.Level.QUIET), (["--verbose"], log.Level.VERBOSE)],
)
def test_levels_go_before_or_after_the_command(
    failing: str, flags: list[str], level: log.Level
) -> None:
    # Files of `data import` may be called `-`, so what begins with a hyphen might be one.
    hyphens = ["data", "import", "nothing.csv", "--output", "nowhere", *flags]
    for arguments in ([*flags, failing], [failing, *flags], hyphens):
        log.set_level(log.Level.NORMAL)
        main(arguments)
        assert log.level() is level
    log.set_level(log.Level.NORMAL)


def test_a_reader_that_leaves_is_no_error() -> None:
    script = (
        "import sys; from kibitz.cli import app, main\n"
        "from kibitz.cli.output import emit\n"
        "@app.command\n"
        "def flood():\n"
        "    for _ in range(100000): emit({'nodes': 1}, as_json=True)\n"
        "sys.exit(main(['flood']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == commands.EXIT_PIPE_CLOSED


@pytest.mark.parametrize("epoch", ["", "yesterday", "-5", "9" * 20])
def test_a_date_for_files_that_is_none_is_refused(
    epoch: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert main(["show"]) == 2
    assert f"error: SOURCE_DATE_EPOCH: {epoch!r}; give seconds" in capsys.readouterr().err


RESULT = {"nodes": np.uint64(4865609), "seconds": 0.125, "fen": "[w] KQkq", "ok": True}


def test_json_is_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    emit(RESULT, as_json=True)
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {**RESULT, "nodes": 4865609}
    assert captured.out.count("\n") == 1
    assert captured.err == ""


def test_people_get_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    emit({**RESULT, "line": "e4 " * 40}, as_json=False)
    shown = capsys.readouterr().out
    for text in ("4,865,609", "0.125", "[w] KQkq", "True", "e4 " * 39):
        assert text in shown


def test_a_table_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[list[Any]] = [["start", 20], ["kiwipete", 48]]
    emit({}, as_json=False, table=columns(["position", "nodes"], rows, title="Perft"))
    shown = capsys.readouterr().out.split()
    assert [word for word in shown if word.isalnum()] == [
        "Perft", "position", "nodes", "start", "20", "kiwipete", "48",
    ]  # fmt: skip


def shown(table: Table, width: int) -> str:
    console = Console(file=StringIO(), width=width)
    with console.capture() as captured:
        console.print(table)
    assert max(map(len, captured.get().splitlines())) <= width
    assert "\N{HORIZONTAL ELLIPSIS}" not in captured.get()
    return captured.get()


def test_a_row_too_wide_for_the_terminal_is_a_table_of_its_own() -> None:
    name = "a-network-with-a-name-of-many-letters-" + "x" * 40
    rows = [[name, f"/home/{name}.safetensors", 1234567], ["short", "/short", 7]]
    lines = shown(columns(["name", "file", "trained on"], rows, "found"), 80).splitlines()
    assert lines[0] == "found"
    # Joined line by line, the pieces of each column are its cell.
    cells = "".join(line[14:].strip() for line in lines[1:])
    assert cells == f"{name}/home/{name}.safetensors1,234,567short/short7"
    assert [line[2:12] for line in lines].count("trained on") == len(rows)


def test_a_table_that_fits_at_blanks_breaks_no_word() -> None:
    line = "d2d4 " * 30
    text = shown(columns(["nodes", "network", "line"], [[123456789, "x" * 40, line]]), 80)
    assert "123,456,789" in text
    assert "x" * 40 in text
    assert text.count("d2d4") == 30


@pytest.mark.parametrize(("width", "kept"), [(80, True), (50, False)])
def test_spare_columns_are_left_out_where_there_is_no_room(width: int, kept: bool) -> None:
    address = "https://lichess.org/EBxW4VjA/black#89"
    rows = [["motif missed", "hanging piece", 0.25, address]]
    text = shown(columns(["what", "name", "points", "for example"], rows, spare=1), width)
    assert [name in text for name in ("for example", address)] == [kept, kept]
    (row,) = [line for line in text.splitlines() if "hanging" in line]
    assert "0.250" in row  # a table still


@pytest.mark.parametrize("arguments", [["show"], ["show", "--json"], ["--help"], ["net", "list"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_takes_one_line(arguments: list[str], unbuffered: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    command = [sys.executable, "-m", "kibitz", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
    assert ended.returncode == 2
    *before, told = ended.stderr.splitlines()
    assert told == "kibitz: error: the output is lost: No space left on device"
    assert [line for line in before if not line.startswith("compiling")] == []


@pytest.mark.parametrize("words", ["net list", "--help"])
def test_what_is_lost_at_a_closed_output_is_said(words: str) -> None:
    command = f'"{sys.executable}" -m kibitz {words} >&-'
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "kibitz: error: the output is lost: standard output is closed\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [("annotate one.pgn -o out.pgn >&-", 0), ("net list >&- 2>&-", 2), ("net list 2>&-", 0)],
)
def test_a_closed_stream_ends_no_work(words: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "one.pgn").write_text("1. e4 *\n")
    command = f'"{sys.executable}" -m kibitz --quiet {words}'
    ended = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (code, "")


def test_a_table_gives_up_space_before_its_cells_are_folded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = ["a-suite-of-its-own.epd", "1234/1500", "11994/15000", "1,234,567", "3317"]
    table = columns(["suite", "solved", "points", "nodes\nrequired", "rating"], [cells])
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    emit({}, as_json=False, table=table)
    *_, row = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert row.split() == cells
    assert len(row) <= 70


@pytest.mark.parametrize(("width", "lines"), [("40", 4), ("", 1), ("wide", 1)])
def test_a_pipe_has_the_width_that_the_user_names(
    width: str, lines: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = columns(["sentence", "why"], [["so", " ".join(["word"] * 20)]])
    monkeypatch.setenv("COLUMNS", width)
    emit({}, as_json=False, table=table)
    told = [line for line in capsys.readouterr().out.splitlines() if "word" in line]
    assert len(told) == lines
    assert max(map(len, told)) <= int(width if width.isdecimal() else 1_000)


def test_every_extra_installs_what_some_module_uses() -> None:
    document = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    extras = document["project"]["optional-dependencies"]
    code = "\n".join(path.read_text() for path in (PROJECT / "src").rglob("*.py"))
    packages = {
        re.split(r"[<>=]", package)[0]
        for name, listed in extras.items()
        if name not in ("dev", "docs")  # of these no module of ours knows
        for package in listed
    }
    # torch's export imports onnx and onnxscript, which the module that calls it names.
    used = {one for one in packages if re.search(rf'import {one}\b|"{one}"', code)}
    assert used == packages


def test_the_entry_point_is_where_the_package_says() -> None:
    scripts = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {
        "kibitz": f"{main.__module__}:{main.__name__}",
        "kibitz-uci": "kibitz.uci.__main__:main",
    }


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "net compare material uniform --from FILE --positions 99999999999999999999",
            "--positions: '99999999999999999999'; give at most 9223372036854775807",
        ),
        (
            "comment corpus FILE -o OUT --games -99999999999999999999",
            "--games: '-99999999999999999999'; give at most 9223372036854775807",
        ),
        (
            "data combine FILE -o OUT\0",
            "--output: '{}\\x00'; leave out the null character",
        ),
        ("perft --depth 2.7", "--depth: '2.7'; expected a whole number"),
        ("match material random --games=2.", "--games: '2.'; expected a whole number"),
        ("match material random --config FILE", "--games: '2.5'; expected a whole number"),
        ("show --config FILE", "fen: '\\x00'; leave out the null character"),
    ],
)
def test_values_that_no_system_takes_are_refused(
    words: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "some.toml", tmp_path / "out"
    file.write_text('[commands.show]\nfen = "\\u0000"\n[commands.match]\ngames = 2.5\n')
    given = [word.replace("FILE", str(file)).replace("OUT", str(out)) for word in words.split(" ")]
    assert main(given) == 2
    assert told.format(out) in capsys.readouterr().err


def test_a_misspelt_flag_before_a_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Commands that read `-` take what begins with a hyphen for a file."""
    for words in (["annotate", "--nodez", "5", "g.pgn"], ["data", "import", "--outputt", "x", "y"]):
        assert main(words) == 2
        fault = capsys.readouterr().err
        assert "Unknown option: --nodez. Did you mean --nodes?" in fault or (
            "Unknown option: --outputt. Did you mean --output?" in fault
        )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError("Unable to allocate 20 GiB"), "not enough memory (Unable to allocate 20 GiB)"),
        (OverflowError("int too large"), "a number is too large (int too large)"),
        (RecursionError("depth"), "cannot be read (depth)"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start"), "invalid start"),
        (zlib.error("invalid block type"), "cannot be read (invalid block type)"),
        (SafetensorError("header too large"), "cannot be read (header too large)"),
    ],
)
def test_what_libraries_raise_takes_one_line_that_names_the_command(
    error: Exception, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr("kibitz.cli._check_command", fail)
    monkeypatch.delenv("KIBITZ_DEBUG", raising=False)
    assert main(["data", "inspect", "some.shard"]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert told in shown
    assert "'data inspect some.shard'" in shown
    monkeypatch.setenv("KIBITZ_DEBUG", "1")
    with pytest.raises(type(error)):
        main(["data", "inspect", "some.shard"])


def test_help_groups_the_commands_by_subject(capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of a user's way, each command once; what all commands take comes last."""
    assert sorted(name for names in SUBJECTS.values() for name in names) == sorted(COMMANDS)
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    places = [shown.index(f" {subject} ") for subject in (*SUBJECTS, "For all commands")]
    assert places == sorted(places)
    assert main(["perft", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("--depth") < shown.index("--cluster")


@pytest.mark.parametrize(
    ("tokens", "command"),
    [
        (["game.pgn", "--nodes", "100"], "annotate"),
        (["--quiet", "games.PGN.zst"], "annotate"),
        (["8/8/8/8/8/5k2/6q1/7K w - - 0 1", "--json"], "analyse"),
        (["--config", "my.pgn", "8/8/8/8/8/5k2/6q1/7K b"], "analyse"),
    ],
)
def test_a_game_or_a_position_alone_is_annotated_or_analysed(
    tokens: list[str], command: str
) -> None:
    meant = commands._with_command(tokens)
    assert commands._typed(meant).command == command
    meant.remove(command)
    assert meant == tokens


def test_a_position_alone_is_analysed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["8/8/8/8/8/5k2/6q1/7K w - - 0 1", "--json"]) == 0
    (position,) = json.loads(capsys.readouterr().out)["positions"]
    assert position["fen"].startswith("8/8/8/8/8/5k2/6q1/7K w")
    assert main(["missing.pgn"]) == 2
    assert "missing.pgn" in capsys.readouterr().err


def test_without_words_the_program_says_what_to_begin_with(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert main([]) == 0
    named = re.findall(r"^  kibitz (\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert [*named] == ["play", "web", "coach"]


IMPORT_ALL = """
import importlib, sys

class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
from kibitz.cli import COMMANDS
for command in COMMANDS.values():
    importlib.import_module(command.home.partition(":")[0])
"""


def test_commands_are_there_without_the_extras() -> None:
    extras = ["berserk", "fsrs", "fsspec", "genanki", "matplotlib", "mcp", "onnx", "optuna"]
    extras += ["pyarrow", "ray", "scipy", "sentencepiece", "starlette", "torch", "uvicorn"]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *extras], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="desktop entries are of Linux")
def test_the_page_gets_into_the_menu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    games = tmp_path / 'my "100%" games'
    assert commands.main(["web", "--install", str(games)]) == 0
    entry = (tmp_path / "applications" / "kibitz.desktop").read_text()
    (line,) = re.findall("Exec=(.*)", entry)
    escaped = line.replace("%%", "%").encode().decode("unicode_escape")  # as a desktop reads it
    assert shlex.split(escaped) == [sys.executable, "-m", "kibitz", "web", str(games)]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_shell_completes_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert commands.main(["completion", "bash"]) == 0
    script = tmp_path / "kibitz.bash"
    script.write_text(capsys.readouterr().out)
    asked = (
        f"source {script}; COMP_WORDS=(kibitz ann); COMP_CWORD=1; _kibitz; echo ${{COMPREPLY[@]}}"
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["annotate"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize("way", ["source $0/_kibitz; ${_comps[kibitz]}", "kibitz_by_fpath"])
def test_zsh_completes_commands(
    way: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Whether it is sourced or lies where zsh looks, each time that words are completed."""
    assert commands.main(["completion", "zsh"]) == 0
    (tmp_path / "_kibitz").write_text(capsys.readouterr().out)
    asked = (
        "_arguments() { echo asked for ${words[1]} }; words=(kibitz ann); autoload -U compinit; "
        f"fpath=($0 $fpath); compinit -D -u; kibitz_by_fpath() {{ ${{_comps[kibitz]}} }}; {way}; "
    )
    ask = ["zsh", "-f", "-c", asked + way.rpartition("; ")[2], str(tmp_path)]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["asked for kibitz"] * 2, done.stderr


def test_onnx_runtime_reports_to_nobody(tmp_path: Path) -> None:
    own = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    code = "import kibitz, onnxruntime, os; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    ask = [sys.executable, "-c", code]
    said = subprocess.check_output(ask, env={**own, "HOME": str(tmp_path)}, text=True)
    assert said == "1\n"
    assert [*tmp_path.rglob("*")] == []  # neither a number of this machine nor a queue


def test_a_seed_of_thousands_of_digits_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["technique", "KQK", "--player", "material", "--nodes", "1", "--games", "1"]
    assert commands.main([*words, "--seed", "9" * 5000]) == 2
    assert "Traceback" not in capsys.readouterr().err
