"""The reproduction report: verdicts, sentences of pages, results that are kept, bad catalogues."""

from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

import kibitz
from kibitz.cli import app as main_app
from kibitz.cli import main
from kibitz.core.errors import ConfigError
from research.command import carry_out
from research.report.__main__ import app
from research.report.findings import LOG, findings, page
from research.report.numbers import PLACE, rows, written
from research.report.results import Results, of_paper

CATALOGUE = """
[measure.stored]
command = "kibitz nothing --json"

[measure.never]
command = "kibitz nothing --json"

[measure.made]
command = "python -c 'print(7)'"

[[paper]]
source = "A"
what = "inside its interval"
figure = 1.5
of = "stored:rows/name=b&limit=2/value"
low = "rows/1/low"
high = "rows/1/high"
chart = "c"

[[paper]]
source = "A"
what = "too far"
figure = 10
within = 1
of = "stored:count"

[[paper]]
source = "A"
what = "still to do"
figure = 1
of = "never:count"

[[paper]]
source = "A"
what = "another machine"
figure = 1
why_not = "slow"

[[document]]
file = "README.md"
of = "stored"
text = "solved {count} of {all|_} ({share|.0%}), twice"

[[document]]
file = "README.md"
of = "never"
text = "and {count} more."

[[document]]
file = "README.md"
of = "stored"
text = "no such {count} words"
"""
RESULT = {
    "count": 12,
    "all": 15000,
    "share": 0.834,
    "rows": [
        {"name": "b", "limit": 1},
        {"name": "b", "limit": 2, "value": 1.2, "low": 1.0, "high": 1.6},
    ],
}


ABOUT = {
    "command": "kibitz nothing --json",
    "version": kibitz.__version__,
    "commit": "0" * 12,
    "networks": {},
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a page and a result."""
    folder = tmp_path / "research" / "results"
    folder.mkdir(parents=True)
    (folder / "report.toml").write_text(CATALOGUE)
    (folder / "stored.json").write_text(json.dumps({**ABOUT, "result": RESULT}))
    (tmp_path / "README.md").write_text("It solved 11 of\n15 000 (83 %), twice and 3 more.\n")
    return tmp_path


def test_every_verdict(project: Path) -> None:
    papers, pages = rows(Results(project / "research" / "results", ""), project)
    assert [row.verdict for row in papers] == [
        "reproduced",
        "not reproduced",
        "not measured",
        "not comparable",
    ]
    found = [(row.theirs, row.ours, row.verdict) for row in pages]
    assert found == [
        ("11", "12", "differs"),
        ("15 000", "15 000", "as measured"),
        ("83 %", "83 %", "as measured"),
        ("3", "", "no result"),
        ("", "", "not in the text"),
    ]
    assert [row.bad for row in pages] == [True, False, False, True, True]


def test_pages_get_what_was_measured(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--root", str(project), "--write", "--stored"]
    assert carry_out(app, [*words, "-o", str(project / "out")]) == 1
    assert "differs" not in capsys.readouterr().out.casefold()
    page = (project / "README.md").read_text()
    assert page == "It solved 12 of\n15 000 (83 %), twice and 3 more.\n"  # its lines stay
    parser = HTMLParser()
    parser.feed((project / "out" / "report.html").read_text())
    text = (project / "out" / "report.md").read_text()
    assert "**NO RESULT**" in text
    assert "README.md: 3 as measured, 1 no result, 1 not in the text" in text
    assert (project / "out" / "report.svg").read_text().startswith("<svg")


def test_a_result_is_kept_as_it_was_printed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    catalogue = project / "research" / "results" / "report.toml"
    command = "kibitz perft --depth 1 --json"
    catalogue.write_text(CATALOGUE.replace("python -c 'print(7)'", command))
    results = Results(project / "research" / "results", "")
    assert results.run("made", keep=True)
    stored = json.loads((project / "research" / "results" / "made.json").read_text())
    assert stored["result"]["nodes"] == 20
    assert stored["command"] == command
    known = {"command", "version", "commit", "seed", "networks", "processor", "cores", "date"}
    assert set(stored) == known | {"seconds", "result"}
    assert results.doubt("made") is None
    assert results.value("made", "nodes") == 20
    assert results.value("made", "other/thing") is None
    assert of_paper(results.papers[2], results).verdict == "not measured"


def test_what_cannot_be_measured_is_an_exit_code(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "research.report.results.subprocess.run",
        lambda *_, **__: subprocess.CompletedProcess([], 2, stdout=""),
    )
    assert not Results(project / "research" / "results", "").run("made", keep=True)
    assert "made: exit code 2 of" in capsys.readouterr().err


def test_mistakes_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert carry_out(app, ["--root", str(project), "--run", "mode"]) == 2
    assert "no such measurement: 'mode'" in capsys.readouterr().err
    assert carry_out(app, ["--root", str(project / "docs")]) == 2
    catalogue = project / "research" / "results" / "report.toml"
    catalogue.write_text(CATALOGUE.replace("within", "witin"))
    with pytest.raises(ConfigError, match="witin"):
        Results(catalogue.parent, "")


def test_results_that_are_damaged_are_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = project / "research" / "results" / "stored.json"
    words = ["--root", str(project), "--stored"]
    for content in (b'{"result":', b"\xff\xfe\xfa"):
        stored.write_bytes(content)
        assert carry_out(app, words) == 2
        assert "python -m research.report --run stored" in capsys.readouterr().err
    damaged: list[object] = [5, [], {"rows": 3, "count": "12"}]
    for result in damaged:
        stored.write_text(json.dumps({"result": result}))
        assert carry_out(app, [*words, "--write"]) == 1
        assert "12 of" not in (project / "README.md").read_text()
        assert "NO RESULT" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"command": "kibitz other"}, "other command"),
        ({"version": "0.0.1"}, "other version"),
        ({"networks": {"kibitz-64x256": "0" * 64}}, "other network"),
        ({"networks": {"no-longer-shipped": "0" * 64}}, "other network"),
    ],
)
def test_a_result_of_another_command_network_or_version_is_red(
    change: dict[str, object], verdict: str, project: Path
) -> None:
    stored = project / "research" / "results" / "stored.json"
    stored.write_text(json.dumps({**ABOUT, **change, "result": RESULT}))
    _, pages = rows(Results(stored.parent, ""), project)
    assert [(row.verdict, row.bad) for row in pages][1:3] == [(verdict, True)] * 2


def test_a_result_that_does_not_say_where_it_comes_from_is_stale(project: Path) -> None:
    stored = project / "research" / "results" / "stored.json"
    stored.write_text(json.dumps({"command": "kibitz nothing --json", "result": RESULT}))
    _, pages = rows(Results(stored.parent, ""), project)
    assert [(row.verdict, row.bad) for row in pages][1:3] == [("stale", False)] * 2


def test_figures_of_papers_say_what_is_doubtful_too(project: Path) -> None:
    stored = project / "research" / "results" / "stored.json"
    for change, verdict in (({"version": "0.0.1"}, "other version"), ({}, "reproduced")):
        stored.write_text(json.dumps({**ABOUT, **change, "result": RESULT}))
        papers, _ = rows(Results(stored.parent, ""), project)
        assert (papers[0].verdict, papers[0].bad) == (verdict, bool(change))
    stored.write_text(json.dumps({"command": "kibitz nothing --json", "result": RESULT}))
    papers, _ = rows(Results(stored.parent, ""), project)
    assert [(row.what, row.verdict) for row in papers[:2]] == [
        ("inside its interval (reproduced)", "stale"),
        ("too far (not reproduced)", "stale"),
    ]


def test_a_page_names_the_command_of_its_numbers(project: Path) -> None:
    """In the section of the numbers; other sections and other kinds of commands are free."""
    folder = project / "research" / "results"
    command = "kibitz suite {data}/suites/wac.epd --nodes 20 -o {work}/x --json"
    text = CATALOGUE.replace("kibitz nothing --json", command)
    (folder / "report.toml").write_text(text)
    about = {**ABOUT, "command": command}
    (folder / "stored.json").write_text(json.dumps({**about, "result": RESULT}))
    said = "# One\n\n{}\n\nIt solved 12 of 15 000 (83 %), twice.\n\n# Two\n\n`kibitz suite x.epd`\n"
    for named, wrong in (
        ("`kibitz suite wac.epd --nodes 20`", False),
        ("```sh\nkibitz suite \\\n    wac.epd --nodes 20\n```", False),
        ("`kibitz suite`, `kibitz perft --depth 3`", False),
        ("`kibitz suite wac.epd --nodes 2`", True),
        ("`kibitz suite wac.epd`", True),
        ("`kibitz suite wac.epd --nodes 20 --early`", True),
    ):
        (project / "README.md").write_text(said.format(named))
        _, pages = rows(Results(folder, ""), project)
        found = [row for row in pages if row.verdict == "other command"]
        assert [row.bad for row in found] == [True] * wrong, named


def test_numbers_as_pages_write_them() -> None:
    assert written(15000, "_") == "15 000"
    assert written(0.984, ".1%") == "98.4 %"
    assert written(70.43, "+.1f") == "+70.4"


PAGE = """# Speed

| net | a second |
|---|---|
| small | 120 |
| large | 7 |

It took 12 s in 2020, as `kibitz x 99` says.

## Settings

Up to 64 of them, 3 a row; and 500 Elo, or 70 nodes a second.
"""
ACCOUNTS = """
[measure.speed]
command = "kibitz nothing --json"

[[document]]
file = "README.md"
of = "speed"
text = "| $0 | {rows/net=$0/speed} |"
keys = [["small"], ["large"]]

[[logged]]
file = "README.md"
entry = "2020-01-01: how long"
text = "took 12 s in 2020"

[[given]]
file = "README.md"
why = "settings"
section = ["Settings"]
"""


def accounts(root: Path) -> list[tuple[str, str]]:
    _, pages = rows(Results(root / "research" / "results", ""), root)
    return [(row.theirs, row.verdict) for row in pages]


def test_every_number_of_a_page_has_a_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables line by line, dated entries with a command, settings but no measurement among them."""
    folder = tmp_path / "research" / "results"
    folder.mkdir(parents=True)
    (folder / "report.toml").write_text(ACCOUNTS)
    speeds = [{"net": "small", "speed": 120}, {"net": "large", "speed": 8}]
    (folder / "speed.json").write_text(json.dumps({**ABOUT, "result": {"rows": speeds}}))
    (tmp_path / "README.md").write_text(PAGE)
    log = tmp_path / "research" / "log" / "2020-01.md"
    log.parent.mkdir()
    log.write_text("## 2020-01-01: how long?\n\nFor 12 s in 2020, `kibitz x`.\n")
    assert accounts(tmp_path) == [
        ("120", "as measured"),
        ("7", "differs"),
        ("12", "as logged"),
        ("2020", "as logged"),
        ("64", "given"),
        ("3", "given"),
        ("500", "no source"),
        ("70", "no source"),
    ]
    assert carry_out(app, ["--root", str(tmp_path), "--stored"]) == 1
    assert "NO SOURCE       500 / -                  line 12: " in capsys.readouterr().out
    log.write_text("## 2020-01-01: how long?\n\nFor 13 s in 2020, `kibitz x`.\n")
    assert ("12", "not in the log") in accounts(tmp_path)
    log.write_text("## 2020-01-01: how long?\n\nFor 12 s in 2020, without a command.\n")
    assert ("2020", "not in the log") in accounts(tmp_path)
    catalogue = folder / "report.toml"
    catalogue.write_text(ACCOUNTS.replace('"README.md"\nwhy', '"docs/gone.md"\nwhy'))
    assert ("", "not in the text") in accounts(tmp_path)
    assert carry_out(app, ["--root", str(tmp_path), "--stored", "--write"]) == 1
    assert "no such page" in capsys.readouterr().out
    catalogue.write_text(ACCOUNTS)
    (tmp_path / "README.md").write_text(PAGE.replace("# Settings", "# Options"))
    assert ("", "not in the text") in accounts(tmp_path)
    assert ("64", "no source") in accounts(tmp_path)


def test_numbers_in_words_have_a_source_too(tmp_path: Path) -> None:
    folder = tmp_path / "research" / "results"
    folder.mkdir(parents=True)
    sentence = ACCOUNTS.partition("[[document]]")[0]
    sentence += '[[document]]\nfile = "README.md"\nof = "speed"\ntext = "{won|word} of ten won"\n'
    (folder / "report.toml").write_text(sentence)
    (folder / "speed.json").write_text(json.dumps({**ABOUT, "result": {"won": 9}}))
    (tmp_path / "README.md").write_text("All ten of ten won; four of 59 lost; one of two.\n")
    assert accounts(tmp_path) == [("ten", "differs"), ("four", "no source"), ("59", "no source")]
    (tmp_path / "README.md").write_text("Sure, nine of ten won.\n")
    assert accounts(tmp_path) == [("nine", "as measured")]


def test_our_own_catalogue_is_in_order() -> None:
    """Every page says what the results say, and every name is that of a measurement."""
    root = Path(__file__).parents[2]
    results = Results(root / "research" / "results", "")
    papers, pages = rows(results, root)
    assert [row for row in (*papers, *pages) if row.bad] == []  # not one number without a source
    names = {one.of.partition(":")[0] for one in results.papers} - {""}
    assert names <= {*results.catalogue.measure}
    for path in results.folder.glob("*.json"):
        assert path.stem in results.catalogue.measure, path


@pytest.mark.parametrize(
    "name",
    ["docs/rules.md", pytest.param("research/contempt/README.md", marks=pytest.mark.slow)],
)
def test_one_number_changed_by_hand_makes_our_own_report_red(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    root = Path(__file__).parents[2]
    for path in ("README.md", "docs", "research/README.md", "research/results", "research/log"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (root / path).is_dir() else shutil.copyfile
        copy(root / path, tmp_path / path)
    (tmp_path / "research/contempt").mkdir()
    shutil.copyfile(root / "research/contempt/README.md", tmp_path / "research/contempt/README.md")
    words = ["--root", str(tmp_path), "--stored"]
    assert carry_out(app, words) == 0
    capsys.readouterr()
    page, results = tmp_path / name, Results(tmp_path / "research" / "results", "")
    sentence = next(each for each in results.sentences if each.file == name)
    path, form = PLACE.findall(sentence.text)[0]
    before, measured = sentence.text.partition("{")[0], results.value(sentence.of, path)
    right, wrong = written(measured, form), written(measured + 1, form)
    assert f"{before}{right}" in page.read_text()
    page.write_text(page.read_text().replace(f"{before}{right}", f"{before}{wrong}", 1))
    assert carry_out(app, words) == 1
    (red,) = [each for each in capsys.readouterr().out.splitlines() if "DIFFERS" in each]
    assert f"{wrong} / {right}" in red


def test_the_table_of_findings_is_that_of_the_log() -> None:
    """After an entry was added: python -m research.report.findings."""
    assert page(LOG) == (LOG / "README.md").read_text("utf-8")
    rows = [*findings(LOG)]
    assert len(rows) > 100
    assert [row.heading for row in rows if not row.answer] == []


def test_a_finding_is_an_entry_with_its_answer(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Log\n")
    (tmp_path / "2020-01.md").write_text("# One\n\n## 2020-01-02: why?\n\n**So |\nit is.** Yes.\n")
    (tmp_path / "2020-02.md").write_text("# Two\n\n## 2020-02-01: how?\n\nNo answer.\n")
    first, second = findings(tmp_path)
    assert (first.file, first.answer) == ("2020-02.md", "")
    assert second.answer == "So |\nit is."
    row = "| 2020-01-02 | [why?](2020-01.md#2020-01-02-why) | So \\| it is. |\n"
    assert page(tmp_path).endswith(row)


def test_research_takes_the_flags_of_kibitz_and_names_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from research.contempt.__main__ import app as contempt

    assert carry_out(contempt, ["wdl", "--help"]) == 0
    assert "Usage: python -m research.contempt wdl" in capsys.readouterr().out
    assert carry_out(contempt, ["--quiet", "wdl", "--set", "games=3"]) == 2
    assert "games: 3; give an even number" in capsys.readouterr().err
    assert "contempt" not in main_app


@pytest.mark.parametrize("name", ["experiment", "report"])
def test_what_left_the_command_line_says_where_it_went(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--stored"]) == 2
    assert "python -m research." in capsys.readouterr().err
