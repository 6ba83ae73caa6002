"""The reproduction report: verdicts, sentences of pages, results that are kept, bad catalogues."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kibitz.cli import main
from kibitz.core.errors import ConfigError
from kibitz.experiments.report import Results, of_paper
from kibitz.experiments.report_numbers import rows, written

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


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a page and a result."""
    folder = tmp_path / "docs" / "results"
    folder.mkdir(parents=True)
    (folder / "report.toml").write_text(CATALOGUE)
    (folder / "stored.json").write_text(json.dumps({"command": "x", "result": RESULT}))
    (tmp_path / "README.md").write_text("It solved 11 of\n15 000 (83 %), twice and 3 more.\n")
    return tmp_path


def test_every_verdict(project: Path) -> None:
    papers, pages = rows(Results(project / "docs" / "results", ""), project)
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
    words = ["report", "--root", str(project), "--write", "--stored"]
    assert main([*words, "-o", str(project / "out")]) == 1
    assert "differs" not in capsys.readouterr().out.casefold()
    page = (project / "README.md").read_text()
    assert page == "It solved 12 of\n15 000 (83 %), twice and 3 more.\n"  # its lines stay
    parser = HTMLParser()
    parser.feed((project / "out" / "report.html").read_text())
    text = (project / "out" / "report.md").read_text()
    assert "**NO RESULT**" in text
    assert "README.md: 3 as measured, 1 no result, 1 not in the text" in text
    assert (project / "out" / "report.svg").read_text().startswith("<svg")


def test_a_result_is_kept_as_it_was_printed(project: Path) -> None:
    catalogue = project / "docs" / "results" / "report.toml"
    printed = """python -c \\"print('{{\\\\\\"count\\\\\\": 3}}')\\" """
    catalogue.write_text(CATALOGUE.replace("python -c 'print(7)'", printed))
    results = Results(project / "docs" / "results", "")
    results.run("made", keep=True)
    stored = json.loads((project / "docs" / "results" / "made.json").read_text())
    assert stored["result"] == {"count": 3}
    assert results.value("made", "count") == 3
    assert results.value("made", "other/thing") is None
    assert of_paper(results.papers[2], results).verdict == "not measured"


def test_mistakes_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--root", str(project), "--run", "mode"]) == 2
    assert "no such measurement: 'mode'" in capsys.readouterr().err
    assert main(["report", "--root", str(project / "docs")]) == 2
    catalogue = project / "docs" / "results" / "report.toml"
    catalogue.write_text(CATALOGUE.replace("within", "witin"))
    with pytest.raises(ConfigError, match="witin"):
        Results(catalogue.parent, "")


def test_results_that_are_damaged_are_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = project / "docs" / "results" / "stored.json"
    words = ["report", "--root", str(project), "--stored"]
    for content in (b'{"result":', b"\xff\xfe\xfa"):
        stored.write_bytes(content)
        assert main(words) == 2
        assert "kibitz report --run stored" in capsys.readouterr().err
    damaged: list[object] = [5, [], {"rows": 3, "count": "12"}]
    for result in damaged:
        stored.write_text(json.dumps({"result": result}))
        assert main([*words, "--write"]) == 1
        assert "12 of" not in (project / "README.md").read_text()
        assert "NO RESULT" in capsys.readouterr().out


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
    _, pages = rows(Results(root / "docs" / "results", ""), root)
    return [(row.theirs, row.verdict) for row in pages]


def test_every_number_of_a_page_has_a_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables line by line, dated entries with a command, settings but no measurement among them."""
    folder = tmp_path / "docs" / "results"
    folder.mkdir(parents=True)
    (folder / "report.toml").write_text(ACCOUNTS)
    speeds = [{"net": "small", "speed": 120}, {"net": "large", "speed": 8}]
    (folder / "speed.json").write_text(json.dumps({"result": {"rows": speeds}}))
    (tmp_path / "README.md").write_text(PAGE)
    log = tmp_path / "docs" / "log.md"
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
    assert main(["report", "--root", str(tmp_path), "--stored"]) == 1
    assert "NO SOURCE       500 / -                  line 12: " in capsys.readouterr().out
    log.write_text("## 2020-01-01: how long?\n\nFor 13 s in 2020, `kibitz x`.\n")
    assert ("12", "not in the log") in accounts(tmp_path)
    log.write_text("## 2020-01-01: how long?\n\nFor 12 s in 2020, without a command.\n")
    assert ("2020", "not in the log") in accounts(tmp_path)
    catalogue = folder / "report.toml"
    catalogue.write_text(ACCOUNTS.replace('"README.md"\nwhy', '"docs/gone.md"\nwhy'))
    assert ("", "not in the text") in accounts(tmp_path)
    assert main(["report", "--root", str(tmp_path), "--stored", "--write"]) == 1
    assert "no such page" in capsys.readouterr().out
    catalogue.write_text(ACCOUNTS)
    (tmp_path / "README.md").write_text(PAGE.replace("# Settings", "# Options"))
    assert ("", "not in the text") in accounts(tmp_path)
    assert ("64", "no source") in accounts(tmp_path)


def test_our_own_catalogue_is_in_order() -> None:
    """Every page says what the results say, and every name is that of a measurement."""
    root = Path(__file__).parents[2]
    results = Results(root / "docs" / "results", "")
    papers, pages = rows(results, root)
    assert [row for row in (*papers, *pages) if row.bad] == []  # not one number without a source
    names = {one.of.partition(":")[0] for one in results.papers} - {""}
    assert names <= {*results.catalogue.measure}
    for path in results.folder.glob("*.json"):
        assert path.stem in results.catalogue.measure, path
