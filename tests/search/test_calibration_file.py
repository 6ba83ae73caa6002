"""Calibration files: those of no use are refused by name, those of another network are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.engine import Engine
from kibitz.nets.encodings.leaves import leaves_of
from kibitz.nets.evaluators.batched import InlineBatch
from kibitz.nets.evaluators.inline import Material, Uniform, inline_evaluator
from kibitz.position.board import Board
from kibitz.search.bestfirst.searcher import BestFirst
from kibitz.search.bestfirst.worker import (
    Calibration,
    calibrate,
    is_for,
    read_calibration,
    write_calibration,
)
from kibitz.search.options import Settings
from tests.uci.scripted import Gui

BINS = Calibration(-3.0, 0.0, np.linspace(3.0, 0.0, 50), "uniform")


@pytest.mark.parametrize(
    ("fact", "value", "told"),
    [
        ("boundaries", [0.0, 1.0, 2.0], "boundaries that do not descend"),
        ("boundaries", [], "not a calibration"),
        ("mean", None, "not a calibration"),
        ("format", "another", "not a calibration"),
        ("shift", 9000, "shift: 9000.0; expected at most 5000 points either way"),
        ("shift", -5001.5, "shift: -5001.5; expected"),
    ],
)
def test_a_file_of_no_use_is_refused_by_name(
    tmp_path: Path, fact: str, value: Any, told: str
) -> None:
    file = tmp_path / "bins.json"
    write_calibration(file, BINS)
    assert read_calibration(file).network == "uniform"
    facts = json.loads(file.read_text())
    file.write_text(json.dumps({**facts, fact: value}))
    with pytest.raises(InputError) as refused:
        read_calibration(file)
    shown = str(refused.value)
    assert told in shown
    assert str(file) in shown
    assert "array" not in shown
    del facts[fact]
    file.write_text(json.dumps(facts))
    with pytest.raises(InputError, match="not a calibration"):
        read_calibration(file)


@pytest.mark.parametrize(("fact", "value"), [("boundaries", [1.0]), ("mean", -3.1), ("sha256", "")])
def test_a_file_that_was_changed_is_refused(tmp_path: Path, fact: str, value: Any) -> None:
    file = tmp_path / "bins.json"
    write_calibration(file, BINS)
    facts = json.loads(file.read_text())
    file.write_text(json.dumps({**facts, fact: value}))
    with pytest.raises(DamagedFileError, match=r"was changed.*bins\.json"):
        read_calibration(file)


def test_positions_that_are_not_even_make_no_shift() -> None:
    evaluator = InlineBatch(inline_evaluator(Material()))
    won = leaves_of([Board("7k/8/8/8/8/8/QR6/1K6 w - - 0 1").positions()], 1)
    with pytest.raises(InputError, match=r"mean value of the draws: .*positions that are even"):
        calibrate(evaluator, won, won)


def test_a_file_of_another_network_is_named() -> None:
    class Named:
        def __init__(self, name: str) -> None:
            self.name, self.sees = name, InlineBatch.sees

        def evaluate(self, *_: object) -> None:
            raise AssertionError

    made = BINS._replace(network="one (float32, onnx) with other (bfloat16, torch cuda)")
    assert is_for(made, Named("one (int8, onnx) with other, colours swapped"))
    assert not is_for(made, Named("one (float32, onnx)"))
    assert not is_for(made, Named("other (float32, onnx) with one (float32, onnx)"))


def test_the_engine_says_once_that_a_file_is_of_another_network(tmp_path: Path) -> None:
    file = tmp_path / "bins.json"
    write_calibration(file, BINS)
    settings = Settings().with_(hash=4, bestfirst_file=str(file))
    for network, wrong in ((Uniform(), False), (Material(), True)):
        search = BestFirst(inline_evaluator(network), settings)
        told = f"BestFirstFile: {file} was made for uniform, not for material"
        assert search.problems == ([told] if wrong else [])
        search.close()
    with Gui(Engine("material", hash=4)) as gui:
        gui.say(
            "setoption name Search value bestfirst", f"setoption name BestFirstFile value {file}"
        )
        gui.ask("isready", "readyok")
        gui.ask("isready", "readyok")
        gui.say(f"setoption name BestFirstFile value {tmp_path}/gone.json")
        gui.ask("isready", "readyok")
        gui.ask("isready", "readyok")
        gui.ask("go depth 1", "bestmove [a-h]")
        strings = [line for line in gui.all if "BestFirstFile" in line]
    missing = f"BestFirstFile: no such file: '{tmp_path}/gone.json'; check the path"
    assert strings == [f"info string {told}", f"info string {missing}"]
