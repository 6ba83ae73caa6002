"""The same tree with the compiler off, where plain Python runs the kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import chess
from kibitz.search.mcts.rules.parameters import Behaviour
from kibitz.search.mcts.rules.parameters import (Puct, Sble)
from tests.search.compiled import Compiled
from tests.search.hashed import HASHED

board = chess.Board("r3k2r/pP3ppp/8/3pP3/8/8/PPP2PPP/R3K2R w KQkq d6 0 9")
for rule in (Puct(), Sble()):
    compiled = Compiled(board, rule, Behaviour(policy_temperature=1.5), HASHED)
    compiled.run(150)
    edges = compiled.memory.edges
    print(*(f"{line}: {edges['visits'][edge]}" for line, edge in compiled.edges()), sep="\\n")
"""


def lines_of(**environment: str) -> list[str]:
    command, top = [sys.executable, "-c", SCRIPT], Path(__file__).parents[2]
    run = subprocess.run(
        command, env=os.environ | environment, cwd=top, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def test_plain_python_grows_the_same_tree() -> None:
    plain, compiled = lines_of(NUMBA_DISABLE_JIT="1"), lines_of(NUMBA_DISABLE_JIT="0")
    assert len(plain) > 100
    assert plain == compiled
