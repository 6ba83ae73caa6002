"""Hostile inputs in this process: the named ones, and some of the mutated ones.

`python -m tests.hostile` runs more of them, and measures.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.fuzz import fuzz
from tests.hostile.kind import Kind, fault_of, run_command, working_in
from tests.hostile.kinds import KINDS
from tests.hostile.mutate import MUTATIONS, mutated
from tests.hostile.networks import NETWORKS

COUNT = 20  # of each kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_named_input_is_refused_by_name(kind: Kind, tmp_path: Path) -> None:
    with working_in(tmp_path):
        for attack in kind.attacks(tmp_path):
            answer = run_command(attack.words)
            assert not fault_of(answer), (attack.name, answer.told)
            assert answer.code == attack.code, (attack.name, answer.told)
            assert attack.told in " ".join(answer.told.split()), attack.name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_mutated_inputs_of_all_kinds_are_answered(kind: Kind, tmp_path: Path) -> None:
    report = fuzz([kind], tmp_path / "fuzz", COUNT)
    assert report.falls == [], "\n".join(map(str, report.falls))
    assert report.codes.keys() & {1, 2}  # what is refused
    if kind is not NETWORKS:  # a checksum of the weights refuses nearly all of them
        assert report.codes.get(0, 0) > 0  # what is still sound


def test_mutations_change_what_they_get() -> None:
    import random

    content = b"[search]\ncpuct = 2.5\n" * 9
    for number, mutation in enumerate(MUTATIONS):
        assert any(
            mutation(content, random.Random(n)) != content for n in range(number, number + 9)
        )
        assert isinstance(mutation(b"", random.Random(number)), bytes)
    assert mutated(content, random.Random(1)) == mutated(content, random.Random(1))
