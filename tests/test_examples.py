"""The scripts in examples/ run, and print what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

# A script, and what its output has to hold.
PROMISES = {
    "analyse_a_position": "visits  value",
    "cluster_plan": "ray start --head",
    "compare_rules": "gumbel",
    "games_to_network": "its first move:",
    "own_evaluator": "2000 nodes, value",
    "play_a_game": '[White "Kibitz"]',
}
NEEDS = {"games_to_network": "torch", "cluster_plan": "yaml"}
LONG = "games_to_network"
GIVEN = {"cluster_plan": ["cluster.yaml"]}  # files that are its arguments


def test_every_example_is_run() -> None:
    with_ray = {"local_cluster"}  # tests/core/test_cluster.py runs it
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(PROMISES) | with_ray


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == LONG)) for name in sorted(PROMISES)],
)
def test_examples_run(name: str, tmp_path: Path) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    given = [str(EXAMPLES / file) for file in GIVEN.get(name, [])]
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *given]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert PROMISES[name] in done.stdout
    assert list(tmp_path.iterdir()) == []  # an example leaves nothing behind
