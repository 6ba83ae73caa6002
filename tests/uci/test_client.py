"""The client of outside programs: options, chatter, and each way to fail, named."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from kibitz.core.errors import InputError
from kibitz.uci.client import ProgramFault, UciClient, parse_info, parse_option

FAKE = Path(__file__).parents[1] / "arena" / "fake_engine.py"


def client(way: str, *more: object, patience: float = 20.0) -> UciClient:
    return UciClient([sys.executable, str(FAKE), way, *map(str, more)], {}, patience)


@pytest.mark.parametrize(
    ("way", "kind", "words"),
    [
        ("crash", "crash", "it ended with code 3"),
        ("close-output", "crash", "it closed its input or output"),
        ("close-input", "crash", "it closed its input or output"),
        ("hang", "hang", "no answer for 0.5 s"),
    ],
)
def test_a_fault_is_named(way: str, kind: str, words: str) -> None:
    program = client(way)
    assert program.search("startpos", "nodes 1").move == "a2a3"
    with pytest.raises(ProgramFault, match=words) as raised:
        program.search("startpos moves a2a3", "nodes 1", 0.5 if way == "hang" else None)
    assert raised.value.kind == kind
    program.kill()
    assert not program.running


def test_much_talk_is_read_past_and_the_time_is_that_of_the_search() -> None:
    program = client("flood")
    program.search("startpos", "nodes 1")
    time.sleep(0.2)
    found = program.search("startpos", "nodes 1")
    assert len(found.lines) == 1
    assert parse_info(found.lines[0]).cp == 13
    assert found.milliseconds > 0.0
    program.close()
    assert not program.running
    with pytest.raises(ProgramFault, match="it ended with code 0"):
        program.ready()


def test_a_program_that_was_asked_to_quit_may_take_its_time() -> None:
    class Unhurried(UciClient):
        def _send(self, text: str, patience: float | None = None) -> None:
            super()._send(text, patience)
            if text == "quit":
                time.sleep(0.5)  # the watch looks a few times at the closed input

    program = Unhurried([sys.executable, str(FAKE), "linger"], {})
    program.close()
    with pytest.raises(ProgramFault, match="it ended with code 7"):
        program.ready()


def test_options_are_checked_against_what_was_announced() -> None:
    program = client("good")
    assert program.options["threads"].default == "1"
    program.set_option("threads", "8")
    for value in ("9", "0", "two"):
        with pytest.raises(InputError, match=r"option Threads.*from 1 to 8"):
            program.set_option("Threads", value)
    with pytest.raises(InputError, match=r"no such option.*known: Threads"):
        program.set_option("Hash", "1")
    program.close()


def test_kinds_of_options() -> None:
    combo = parse_option("option name Move Style type combo default Normal var Solid var Normal")
    assert combo.name == "Move Style"
    assert combo.choices == ("Solid", "Normal")
    assert combo.command("Solid") == "setoption name Move Style value Solid"
    with pytest.raises(InputError, match="expected Solid, Normal"):
        combo.command("Risky")
    button = parse_option("option name Clear Hash type button")
    assert button.command("anything") == "setoption name Clear Hash"
    switch = parse_option("option name Ponder type check default false")
    assert switch.command("True").endswith("value true")
    with pytest.raises(InputError, match="expected true or false"):
        switch.command("yes")
    text = parse_option("option name Book File type string default <empty>")
    assert text.command("a b.bin").endswith("value a b.bin")


@pytest.mark.parametrize("rest", ["score cp", "score elo 9", "depth x", "nodes"])
def test_what_cannot_be_read_is_an_error(rest: str) -> None:
    with pytest.raises(ValueError, match=r"a score in|invalid literal"):
        parse_info(f"info {rest}")
