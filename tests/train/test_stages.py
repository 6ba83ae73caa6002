"""Stages killed, changed and damaged at every point: what is done stays done, the rest is made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kibitz.core.errors import ConfigError, DamagedFileError, InputError
from kibitz.core.log import Stop
from kibitz.zero.cycle import Context, Kind, marker_of, read_cycle, read_marker, run_cycle


class Append(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a stage that adds its word to what the stage before it made."""

    word: str
    after: str = ""
    source: str = ""


class Workshop:
    """A list of stages whose runs are counted, and which can be made to fail in the middle."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ran = folder, list[str]()
        self.fail_at = ""
        self.stop = Stop()
        self.kinds = {"append": Kind(Append, self.inputs, self.run)}

    def inputs(self, settings: Append, context: Context) -> list[Path]:
        found = context.outputs(settings.after, context.iteration) if settings.after else []
        return found + ([Path(settings.source)] if settings.source else [])

    def run(self, settings: Append, context: Context) -> list[Path] | None:
        name = f"{context.iteration}{settings.word}"
        self.ran.append(name)
        half = context.home / "half"
        if half.exists():
            self.ran[-1] += "+"  # goes on
        half.write_text(settings.word, encoding="utf-8")
        if name == self.fail_at:
            raise KeyboardInterrupt
        if self.stop.requested:
            return None
        told = "".join(path.read_text("utf-8") for path in self.inputs(settings, context))
        made = context.home / "made"
        made.write_text(told + settings.word, encoding="utf-8")
        half.unlink()
        return [made]

    def go(self, *stages: dict[str, Any], iterations: int = 1) -> str:
        """Run the list; returns which stages ran."""
        self.ran = []
        path = self.folder / "cycle.toml"
        lines = [f"folder = {json.dumps(str(self.folder / 'work'))}", f"iterations = {iterations}"]
        for stage in stages:
            lines.append("[[stages]]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in stage.items()]
        path.write_text("\n".join(lines), encoding="utf-8")
        cycle, checked = read_cycle(path, self.kinds)
        finished = run_cycle(cycle, checked, self.stop)
        assert finished == (not self.stop.requested)
        return " ".join(self.ran)

    def made(self, name: str, iteration: int = 1) -> str:
        return (self.folder / "work" / f"{iteration:04}" / name / "made").read_text("utf-8")


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def chain(*words: str) -> list[dict[str, Any]]:
    """A stage for each word, each after the one before it."""
    stages: list[dict[str, Any]] = []
    for word in words:
        after = {"after": stages[-1]["name"]} if stages else {}
        stages.append({"kind": "append", "name": f"s{len(stages)}", "word": word, **after})
    return stages


def test_a_second_run_has_nothing_to_do(workshop: Workshop) -> None:
    assert workshop.go(*chain("a", "b", "c"), iterations=2) == "1a 1b 1c 2a 2b 2c"
    assert workshop.made("s2") == "abc"
    assert workshop.go(*chain("a", "b", "c"), iterations=2) == ""
    assert workshop.go(*chain("a", "b", "c"), iterations=3) == "3a 3b 3c"
    assert workshop.go(*chain("a", "b", "c", "d"), iterations=1) == "1d"
    assert workshop.made("s3") == "abcd"


@pytest.mark.parametrize("at", ["1a", "1b", "1c", "2a", "2b", "2c"])
def test_killed_anywhere_it_goes_on_there(workshop: Workshop, at: str) -> None:
    workshop.fail_at = at
    with pytest.raises(KeyboardInterrupt):
        workshop.go(*chain("a", "b", "c"), iterations=2)
    before, workshop.fail_at = workshop.ran, ""
    assert before[-1] == at
    after = workshop.go(*chain("a", "b", "c"), iterations=2).split()
    assert after[0] == f"{at}+"  # it found what it had left
    assert [*before[:-1], at, *after[1:]] == ["1a", "1b", "1c", "2a", "2b", "2c"]
    assert workshop.made("s2", 2) == "abc"


def test_asked_to_stop_it_stops_and_goes_on(workshop: Workshop) -> None:
    workshop.stop.request()
    assert workshop.go(*chain("a", "b")) == ""
    workshop.stop = Stop()
    workshop.kinds = {"append": Kind(Append, workshop.inputs, workshop.run)}
    assert workshop.go(*chain("a", "b")) == "1a 1b"


def test_a_stage_that_stops_is_not_done(workshop: Workshop) -> None:
    work = workshop.run

    def stopping(settings: Append, context: Context) -> list[Path] | None:
        if settings.word == "b":
            workshop.stop.request()
        return work(settings, context)

    workshop.kinds = {"append": Kind(Append, workshop.inputs, stopping)}
    assert workshop.go(*chain("a", "b", "c")) == "1a 1b"
    workshop.stop, workshop.kinds = Stop(), {"append": Kind(Append, workshop.inputs, work)}
    assert workshop.go(*chain("a", "b", "c")) == "1b+ 1c"


def test_changed_settings_make_the_stage_and_what_follows_again(workshop: Workshop) -> None:
    workshop.go(*chain("a", "b", "c"))
    stray = workshop.folder / "work" / "0001" / "s1" / "stray"
    stray.write_text("old", encoding="utf-8")
    assert workshop.go(*chain("a", "B", "c")) == "1B 1c"
    assert workshop.made("s2") == "aBc"
    assert not stray.exists()  # nothing of the old one is left


def test_a_cut_short_stage_with_other_settings_begins_again(workshop: Workshop) -> None:
    workshop.fail_at = "1b"
    with pytest.raises(KeyboardInterrupt):
        workshop.go(*chain("a", "b"))
    workshop.fail_at = ""
    assert workshop.go(*chain("a", "x")) == "1x"


def test_changed_inputs_make_the_stage_again_but_only_if_the_content_changed(
    workshop: Workshop,
) -> None:
    source = workshop.folder / "source.txt"
    source.write_text("one", encoding="utf-8")
    stages = chain("a", "b")
    stages[0]["source"] = str(source)
    assert workshop.go(*stages) == "1a 1b"
    os.utime(source, (1, 1))
    assert workshop.go(*stages) == ""
    source.write_text("two", encoding="utf-8")
    assert workshop.go(*stages) == "1a 1b"
    assert workshop.made("s1") == "twoab"
    source.unlink()  # it was used in time
    assert workshop.go(*stages) == ""


@pytest.mark.parametrize("damage", ["change", "remove"])
def test_damaged_outputs_are_made_again(workshop: Workshop, damage: str) -> None:
    workshop.go(*chain("a", "b"))
    made = workshop.folder / "work" / "0001" / "s0" / "made"
    if damage == "remove":
        made.unlink()
    else:
        made.write_text("x", encoding="utf-8")
        os.utime(made, (1, 1))
    # The same content comes out again, so what follows is still good.
    assert workshop.go(*chain("a", "b")) == "1a"
    assert workshop.made("s0") == "a"


def test_a_damaged_marker_is_named(workshop: Workshop) -> None:
    workshop.go(*chain("a"))
    path = marker_of(workshop.folder / "work", 1, "s0")
    assert read_marker(path) is not None
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DamagedFileError, match=r"s0\.json"):
        workshop.go(*chain("a"))


WRONG = [
    ({"kind": "apend", "word": "a"}, "known kinds: append"),
    ({"word": "a"}, "no such kind of stage"),
    ({"kind": "append"}, "word"),
    ({"kind": "append", "word": 3}, "word"),
    ({"kind": "append", "word": "a", "wrod": "b"}, "wrod"),
    ({"kind": "append", "word": "a", "name": "../up"}, "name of a stage"),
    ({"kind": "append", "word": "a", "after": "s9"}, "no such stage"),
]


@pytest.mark.parametrize(("stage", "reason"), WRONG)
def test_what_cannot_be_meant_is_refused(
    workshop: Workshop, stage: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        workshop.go(stage)
    assert workshop.ran == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("folder = 'x'\nstages = []", "nothing to do"),
        ("folder = 'x'\niterations = 0\n[[stages]]\nkind = 'append'\nword = 'a'", "nothing to do"),
        ("[[stages]]\nkind = 'append'", "folder"),
        ("folder = 'x'\nspeed = 1\nstages = []", "speed"),
        ("folder = ", "not a file of stages"),
        ("folder = 'x'\n" + 2 * "[[stages]]\nkind = 'append'\nword = 'a'\n", "two stages"),
    ],
)
def test_a_file_that_says_nothing_sensible_is_refused(
    workshop: Workshop, tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "cycle.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=reason):
        read_cycle(tmp_path / "cycle.toml", workshop.kinds)


def test_two_processes_do_not_share_a_folder(workshop: Workshop) -> None:
    found: list[str] = []

    def nested(_settings: Append, context: Context) -> list[Path]:
        again: Callable[[], bool] = lambda: run_cycle(*read_cycle(path, kinds), Stop())  # noqa: E731
        with pytest.raises(InputError, match="another cycle is running here"):
            again()
        found.append(context.home.name)
        return []

    path, kinds = workshop.folder / "cycle.toml", {"append": Kind(Append, workshop.inputs, nested)}
    workshop.kinds = kinds
    workshop.go({"kind": "append", "word": "a"})
    assert found == ["append"]


KILLED = """
import os, sys
from pathlib import Path
from kibitz.core.log import Stop
from kibitz.zero.cycle import read_cycle, run_cycle
sys.path.insert(0, {tests!r})
from tests.train.test_stages import Append, Kind, Workshop
workshop = Workshop(Path({folder!r}))
def run(settings, context):
    if settings.word == "b" and context.iteration == 2:
        (context.home / "half").write_text("b")
        os.kill(os.getpid(), 9)
    return workshop.run(settings, context)
kinds = {{"append": Kind(Append, workshop.inputs, run)}}
run_cycle(*read_cycle(workshop.folder / "cycle.toml", kinds), Stop())
"""


def test_a_process_killed_for_good_leaves_a_folder_to_go_on_in(workshop: Workshop) -> None:
    workshop.go(*chain("a", "b", "c"), iterations=1)
    path = workshop.folder / "cycle.toml"
    path.write_text(path.read_text("utf-8").replace("iterations = 1", "iterations = 2"), "utf-8")
    script = KILLED.format(tests=str(Path(__file__).parents[2]), folder=str(workshop.folder))
    killed = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert killed.returncode == -9, killed.stderr
    assert workshop.go(*chain("a", "b", "c"), iterations=2) == "2b+ 2c"
