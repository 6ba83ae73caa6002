"""The contract of inline evaluators, from kernels and with the compiler off."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from kibitz.jit.compile import kernel
from kibitz.nets.evaluators.inline import (
    InlineEvaluator,
    Material,
    Uniform,
    inline_evaluator,
    logits_of,
    value_of,
)
from kibitz.position.fen import START, parse_fen
from kibitz.position.moves import MAX_MOVES, generate


@kernel
def judge(evaluator: Any, scratch: Any, position: Any, moves: Any, logits: Any) -> Any:
    count = generate(position, moves)
    logits_of(evaluator, scratch, position, moves, count, logits)
    return value_of(evaluator, scratch, position), count


def judged(evaluator: InlineEvaluator, fen: str) -> tuple[float, float, list[float]]:
    moves, logits = np.zeros(MAX_MOVES, np.uint16), np.full(MAX_MOVES, 9, np.float32)
    scratch = evaluator.new_scratch()
    (value, draw), count = judge(evaluator.record, scratch.record, parse_fen(fen), moves, logits)
    return value, draw, logits[:count].tolist()


def test_uniform_says_what_it_was_told() -> None:
    assert judged(inline_evaluator(Uniform(0.25, 0.5)), START) == (0.25, 0.5, [0.0] * 20)


@pytest.mark.parametrize(
    ("fen", "centipawns"),
    [
        (START, 0),
        ("4k3/8/8/8/8/8/8/Q3K3 w - - 0 1", 950),
        ("4k3/8/8/8/8/8/8/Q3K3 b - - 0 1", -950),
        ("4k1n1/8/8/8/8/8/P7/R1B1K3 w Q - 0 1", 100 + 500 + 330 - 310),
    ],
)
def test_material_is_for_the_side_to_move(fen: str, centipawns: int) -> None:
    value, draw, _ = judged(inline_evaluator(Material(300.0)), fen)
    assert value == pytest.approx(math.tanh(centipawns / 300.0), abs=1e-12)
    assert draw == 0


SCRIPT = """
import numpy as np
from kibitz.nets.evaluators.inline import inline_evaluator, logits_of, value_of
from kibitz.nets.evaluators.inline import Material, Uniform
from kibitz.position.fen import parse_fen
position = parse_fen("4k3/8/8/8/8/8/8/Q3K3 b - - 0 1")
for numbers in (Uniform(0.25, 0.5), Material()):
    evaluator, logits = inline_evaluator(numbers), np.ones(3, np.float32)
    scratch = evaluator.new_scratch()
    print(*map(float, value_of(evaluator.record, scratch.record, position)))
    logits_of(evaluator.record, scratch.record, position, np.zeros(3, np.uint16), 3, logits)
    print(*logits.tolist())
"""


def test_plain_python_dispatches_alike() -> None:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", SCRIPT]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    values = [line.split() for line in run.stdout.splitlines()]
    assert values[0] == ["0.25", "0.5"]
    assert values[2] == [str(math.tanh(-950 / 400)), "0.0"]
    assert values[1] == values[3] == ["0.0"] * 3
