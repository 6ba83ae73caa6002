"""Curves from files written by hand: what is read, what is said, and what an SVG reader sees."""

from __future__ import annotations

import io
import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from kibitz.cli import main
from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import read_bytes
from kibitz.core.log import Metrics
from kibitz.train.curve import Line, Panel, draw, figure, names_of, tables, thinned, ticks
from kibitz.train.metrics import read_metrics, read_run

SPACE = "{http://www.w3.org/2000/svg}"


def write_training(folder: Path, first: float, steps: int = 10) -> Path:
    """A value loss that falls by 0.1 a step, a validation every fifth step."""
    with Metrics(folder / "metrics.jsonl") as metrics:
        for step in range(1, steps + 1):
            metrics.write(step, value=first - 0.1 * step, rate=0.5)
            if step % 5 == 0:
                found = {
                    "validation_value": first - 0.1 * step + 0.05,
                    "validation_top1": step / 50,
                }
                metrics.write(step, **found, validation_positions=99)
    return folder


def write_strength(folder: Path, elo: float | None, opponent: str = "material") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    error = None if elo is None else 20.0
    report = {"opponent": opponent, "score": 1.0, "elo": elo, "error": error}
    (folder / "strength-0.json").write_text(json.dumps(report), encoding="utf-8")


def test_a_training_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = read_run(write_training(tmp_path / "small", 2.0))
    assert (run.name, run.steps) == ("small", 10)
    assert [step for step, _ in run.figures["value"]] == list(range(1, 11))
    assert [value for _, value in run.figures["value"]] == pytest.approx(
        [2 - k / 10 for k in range(1, 11)]
    )
    assert run.figures["validation_top1"] == [(5, 0.1), (10, 0.2)]
    assert run.figures.keys() == {"value", "rate", "validation_value", "validation_top1"}
    assert read_run(tmp_path / "small" / "metrics.jsonl") == run
    assert names_of([run]) == ["value", "top1", "rate"]


def test_steps_go_on_from_one_iteration_to_the_next(tmp_path: Path) -> None:
    for iteration in (1, 2, 3):
        folder = tmp_path / f"{iteration:04}"
        write_training(folder / "train", 3.0 - iteration)
        write_strength(folder / "strength", 100.0 * iteration)
    run = read_run(tmp_path)
    assert run.steps == 30
    assert [step for step, _ in run.figures["value"]] == list(range(1, 31))
    assert [(one.step, one.elo) for one in run.strength] == [(10, 100), (20, 200), (30, 300)]


def test_the_first_iteration_of_a_cycle_has_its_strength_too(tmp_path: Path) -> None:
    write_training(tmp_path / "0001" / "train", 2.0)
    write_strength(tmp_path / "0001" / "strength", 50.0)
    assert [one.elo for one in read_run(tmp_path).strength] == [50]


def test_a_match_won_in_every_game_is_shown_by_its_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_training(tmp_path, 2.0)
    bound = {"elo": None, "error": None, "low": 286.6, "high": None, "interval": "wilson"}
    report = {"opponent": "material", "score": 1.0, **bound}
    (tmp_path / "strength-0.json").write_text(json.dumps(report), encoding="utf-8")
    run = read_run(tmp_path)
    assert [(one.score, one.elo, one.low, one.high) for one in run.strength] == [
        (1, None, 286.6, None)
    ]
    panel = panels_of(figure([run]))["Elo against material"]
    assert len(list(panel.iter(f"{SPACE}circle"))) == 1
    assert main(["curve", str(tmp_path), "-o", str(tmp_path / "curve.svg")]) == 0
    assert "above +287" in capsys.readouterr().out


def test_an_old_report_without_a_bound_is_read(tmp_path: Path) -> None:
    write_strength(write_training(tmp_path, 2.0), None)
    assert "Elo" not in figure([read_run(tmp_path)])


def test_rows_are_spread_and_training_figures_are_means(tmp_path: Path) -> None:
    run = read_run(write_training(tmp_path, 2.0))
    (_, headings, rows), (title, held_out, validated) = tables(run, 2)
    assert headings == ["step", "value", "rate"]
    assert rows == [[5, pytest.approx(1.7), 0.5], [10, pytest.approx(1.2), 0.5]]
    assert title.endswith("held-out games")
    assert held_out == ["step", "value", "top1"]
    assert validated == [[5, pytest.approx(1.55), 0.1], [10, pytest.approx(1.05), 0.2]]
    assert [row[0] for row in tables(run, 100)[0][2]] == list(range(1, 11))


def test_trainings_follow_one_another_as_they_ran(tmp_path: Path) -> None:
    """Not by name: the student, before the trainer in the alphabet, learned after it."""
    home = tmp_path / "0001"
    for name, time, value in (("train", 100.0, 3.0), ("student", 200.0, 1.0)):
        (home / name).mkdir(parents=True)
        lines = [{"step": step, "time": time + step, "value": value} for step in (1, 2)]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (home / name / "metrics.jsonl").write_text(text, encoding="utf-8")
    for name, time in (("late", 300.0), ("between", 150.0)):
        (home / name).mkdir()
        report = {"opponent": name, "score": 0.5, "elo": 0.0, "error": 9.0, "time": time}
        report |= {"player": "small-0001", "control": "8 nodes"}
        (home / name / "strength-0.json").write_text(json.dumps(report), encoding="utf-8")
    run = read_run(tmp_path)
    assert run.figures["value"] == [(1, 3), (2, 3), (3, 1), (4, 1)]
    assert [(one.step, one.opponent) for one in run.strength] == [(2, "between"), (4, "late")]
    assert {(one.player, one.control) for one in run.strength} == {("small-0001", "8 nodes")}


def test_tables_fit_into_eighty_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"a_figure_with_a_name_{number}" for number in range(9)]
    with Metrics(tmp_path / "metrics.jsonl") as metrics:
        for step in (1000, 2000):
            found = {f"validation_{name}": step / 7 for name in names}
            metrics.write(step, **dict.fromkeys(names, 123456.7), **found)
    assert main(["curve", str(tmp_path), "-o", str(tmp_path / "curve.svg")]) == 0
    printed = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in printed.splitlines()) <= 80
    for name in names:
        assert printed.count(name.replace("_", " ")) == 2  # whole, training and held out


def test_a_figure_is_not_replaced_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["curve", str(write_training(tmp_path, 2.0)), "-o", str(tmp_path / "curve.svg")]
    (tmp_path / "curve.svg").write_text("mine")
    assert main(words) == 2
    assert "--force" in capsys.readouterr().err
    assert (tmp_path / "curve.svg").read_text() == "mine"
    assert main([*words, "--force"]) == 0
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(("answer", "replaced"), [("y\n", True), ("\n", False), ("", False)])
def test_on_a_terminal_it_is_asked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    replaced: bool,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    file = tmp_path / "curve.svg"
    file.write_text("mine")
    assert main(["curve", str(write_training(tmp_path, 2.0)), "-o", str(file)]) == 0
    assert (file.read_text() != "mine") == replaced
    assert "value" in capsys.readouterr().out  # the tables are shown, whatever the answer
    assert (f"{file} is as it was" in terminal.getvalue()) != replaced


def test_a_figure_may_go_behind_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["curve", str(write_training(tmp_path / "a", 2.0)), "-o", "memory://curves/a.svg"]
    assert main(words) == 0
    assert read_bytes("memory://curves/a.svg").startswith(b"<svg")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert main(words) == 2  # it is there already


def test_a_line_being_written_is_left_out_and_nan_too(tmp_path: Path) -> None:
    path = write_training(tmp_path, 2.0) / "metrics.jsonl"
    with path.open("a", encoding="utf-8") as file:
        file.write('{"step": 11, "value": "nan"}\n{"step": 12, "val')
    assert len(read_metrics(path)) == 13
    run = read_run(path)
    assert run.steps == 11
    assert run.figures["value"][-1][0] == 10


@pytest.mark.parametrize("line", ["{broken", '{"value": 3}', "[1, 2]", '{"step": "one"}'])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    path = write_training(tmp_path, 2.0) / "metrics.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], line, *lines[1:]]) + "\n", encoding="utf-8")
    with pytest.raises(DamagedFileError, match="line 2"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    "content", ["", "{}", '{"opponent": "x", "elo": "high", "error": 1}', "[]"]
)
def test_a_damaged_strength_report_is_named(tmp_path: Path, content: str) -> None:
    write_training(tmp_path, 2.0)
    (tmp_path / "strength-0.json").write_text(content, encoding="utf-8")
    with pytest.raises(DamagedFileError, match=r"strength-0\.json"):
        read_run(tmp_path)


def test_a_folder_without_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no training here"):
        read_run(tmp_path)


def panels_of(text: str) -> dict[str, ElementTree.Element]:
    """The groups of an SVG by their titles; parsing it is the check that it is one."""
    found = {}
    for group in ElementTree.fromstring(text).iter(f"{SPACE}g"):
        title = group.find(f"{SPACE}text")
        assert title is not None
        found[title.text or ""] = group
    return found


def curves(group: ElementTree.Element) -> list[ElementTree.Element]:
    return [path for path in group.iter(f"{SPACE}path") if path.get("fill") == "none"]


def points(path: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = (path.get("d") or "")[1:].split("L")
    return [(float(pair.split()[0]), float(pair.split()[1])) for pair in pairs]


def test_the_figure_has_a_panel_for_each_figure_and_a_line_for_each_run(tmp_path: Path) -> None:
    runs = [read_run(write_training(tmp_path / name, 2.0 + k)) for k, name in enumerate("ab")]
    write_strength(tmp_path / "b" / "late", 70.0, 'uci:x <fast> & "quoted"')
    runs[1] = read_run(tmp_path / "b")
    panels = panels_of(figure(runs))
    assert list(panels) == ["value", "top1", "rate", 'Elo against uci:x <fast> & "quoted"']
    assert len(curves(panels["value"])) == 4  # training and validation of two runs
    assert len(curves(panels["top1"])) == 2
    lower, upper = points(curves(panels["top1"])[0])
    assert lower[0] < upper[0]
    assert lower[1] > upper[1]  # pixels count downwards
    assert len(list(panels['Elo against uci:x <fast> & "quoted"'].iter(f"{SPACE}circle"))) == 1


def test_pixels_are_in_proportion() -> None:
    line = Line([(0, 10.0), (25, 30.0), (100, 20.0)], "#000")
    (path,) = curves(panels_of(draw([Panel("one", [line])], []))["one"])
    (x0, y0), (x1, y1), (x2, y2) = points(path)
    assert (x1 - x0) / (x2 - x0) == pytest.approx(0.25, abs=0.01)
    assert (y0 - y2) / (y0 - y1) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.9, 3.1, [1, 1.5, 2, 2.5, 3]),
        (-120, 60, [-100, -50, 0, 50]),
        (0, 5e6, [0, 1e6, 2e6, 3e6, 4e6, 5e6]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_thinning_keeps_the_mean() -> None:
    many = [(float(x), float(x % 7)) for x in range(7000)]
    few = thinned(many, 100)
    assert len(few) == 100
    assert sum(y for _, y in few) / 100 == pytest.approx(3, abs=0.01)
    assert thinned(many[:50], 100) == many[:50]


def test_one_point_and_equal_points_can_be_drawn(tmp_path: Path) -> None:
    for points_ in ([(0.0, 0.0)], [(3.0, 5.0)], [(1.0, 2.0), (2.0, 2.0)]):
        assert panels_of(draw([Panel("flat", [Line(points_, "#000")])], [("a", "#000")]))
    write_training(tmp_path, 1.0, steps=1)
    assert "nan" not in figure([read_run(tmp_path)])


def test_the_command_prints_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KIBITZ_DEBUG", raising=False)
    run, picture = write_training(tmp_path / "small", 2.0), tmp_path / "out" / "curve.svg"
    write_strength(run, 42.0)
    assert main(["curve", str(run), "-o", str(picture), "--rows", "3"]) == 0
    shown = capsys.readouterr().out
    assert "held-out games" in shown
    assert "+42 +/- 20" in shown
    assert "value" in panels_of(picture.read_text(encoding="utf-8"))
    assert main(["curve", str(run), "-o", str(picture), "--force", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["runs"][0]["figures"]["validation_top1"] == [[5, 0.1], [10, 0.2]]
    for wrong in (["curve"], ["curve", str(run), "--rows", "0"], ["curve", str(tmp_path / "x")]):
        assert main(wrong) == 2
