"""Stored games searched again: the same games, other policies, whatever the number of workers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kibitz.cli import main
from kibitz.data.shard import NOT_A_POLICY, RANDOM_MOVE, Game, Ply, games_of, read, shard_of
from kibitz.data.store import add, shards_in
from kibitz.jit.compile import COMPILED
from kibitz.jit.records import as_record
from kibitz.nets.evaluators.inline import Material, inline_evaluator
from kibitz.position.board import Board
from kibitz.position.moves import NO_MOVE
from kibitz.position.notation import relative
from kibitz.search.limits import Limits
from kibitz.search.mcts.rules.gumbel import completed_policy
from kibitz.search.mcts.rules.parameters import RULES
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.options import Settings
from kibitz.zero.selfplay.targets import SHARES, policy_target

pytestmark = pytest.mark.skipif(not COMPILED, reason="searches thousands of positions")

MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1"
NODES = 24


def played(generator: random.Random, plies: int, start: Board) -> Game:
    """A game of random moves; its last position is recorded without a move."""
    board, made = start, []
    first = board.fen()
    for _ in range(plies):
        moves = board.legal_moves
        if not moves:
            break
        move = generator.choice(moves)
        code = int(relative(board.position, move))
        made.append(Ply(code, 0.25, 0.5, visits=((code, 1),), flags=RANDOM_MOVE))
        board.push(move)
    made.append(Ply(NO_MOVE, -0.5, 0.1, flags=NOT_A_POLICY))
    return Game(
        tuple(made), first, 1, "resigned", {"kind": "test"}, seed=generator.randrange(1 << 40)
    )


@pytest.fixture
def store(tmp_path: Path) -> Path:
    generator = random.Random(7)
    games = [played(generator, 12, Board()), played(generator, 9, Board.start960(17))]
    add(tmp_path / "store", shard_of(games), "some")
    add(tmp_path / "store", shard_of([played(generator, 5, Board(MATE_IN_ONE))]), "more")
    return tmp_path / "store"


def reanalysed(
    store: Path, output: Path, capsys: Any, *more: str, nodes: int = NODES
) -> dict[str, Any]:
    words = ["data", "reanalyse", str(store), "-o", str(output), "--network", "material"]
    assert main([*words, "--nodes", str(nodes), "--json", *more]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def plies_of(folder: Path) -> list[tuple[str, Ply]]:
    return [
        (game.start, ply)
        for path in shards_in(folder)
        for game in games_of(read(path))
        for ply in game.plies
    ]


def test_games_stay_and_policies_become_visits(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = reanalysed(store, tmp_path / "new", capsys)
    before, after = plies_of(store), plies_of(tmp_path / "new")
    assert result["positions"] == len(before) == len(after)
    for (start, old), (same, new) in zip(before, after, strict=True):
        assert (start, old.move, old.value, old.draw) == (same, new.move, new.value, new.draw)
        assert bool(new.flags & NOT_A_POLICY) == (not new.visits)
        assert new.flags & RANDOM_MOVE == old.flags & RANDOM_MOVE
        if new.visits:
            # A root has been visited once before its moves are; a mate that is found ends it.
            assert sum(count for _, count in new.visits) <= NODES - 1
            assert len(new.visits) > 1
    headers = [read(path).header for path in shards_in(tmp_path / "new")]
    for header in headers:
        assert header.sources[0]["kind"] == "test"
        assert header.sources[0]["reanalysis"]["nodes"] == NODES
        assert header.provenance["command"] == "data reanalyse"


def test_shards_are_the_same_for_any_number_of_workers_and_are_not_made_twice(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--rule", "gumbel", "--option", "Seed=3")
    for folder, workers in (("one", "1"), ("two", "2")):
        reanalysed(store, tmp_path / folder, capsys, *options, "--workers", workers)
    names = [[path.name for path in shards_in(tmp_path / folder)] for folder in ("one", "two")]
    assert names[0] == names[1]
    again = reanalysed(store, tmp_path / "one", capsys, *options)
    assert (again["shards"], again["positions"]) == (2, 0)
    assert [path.name for path in shards_in(tmp_path / "one")] == names[0]
    other = reanalysed(store, tmp_path / "one", capsys, "--rule", "gumbel", "--option", "Seed=4")
    assert other["positions"] > 0
    assert len(shards_in(tmp_path / "one")) == 4


def test_the_shipped_network_is_the_default(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["data", "reanalyse", str(store), "-o", str(tmp_path / "new"), "--nodes", "4"]
    assert main([*words, "--quiet"]) == 0, capsys.readouterr().err
    (source, *_) = read(shards_in(tmp_path / "new")[0]).header.sources
    assert source["reanalysis"]["network"].startswith("kibitz-")  # no path of this machine


def test_values_are_replaced_if_that_is_wanted(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reanalysed(store, tmp_path / "new", capsys, "--values", nodes=100)
    values = {ply.value for _, ply in plies_of(tmp_path / "new") if ply.visits}
    assert len(values) > 5
    assert 0.25 not in values
    mate = next(ply for start, ply in plies_of(tmp_path / "new") if start.startswith("6k1"))
    assert (mate.value, mate.draw) == (1.0, 0.0)


def test_the_gumbel_rule_teaches_its_completed_policy() -> None:
    settings = Settings(search_rule="gumbel", hash=4, **RULES["gumbel"].for_targets)
    with Searcher(inline_evaluator(Material()), settings) as searcher:
        searcher.search(Board(), Limits(nodes=16))
        target = dict(policy_target(searcher.memory, searcher.rule))
        block = searcher.memory.nodes[0]
        policy = np.zeros(int(block["count"]))
        completed_policy(as_record(searcher.rule), searcher.memory.record, 0, policy)
    assert len(target) == 20  # every move, visited or not
    assert sorted(target.values()) == sorted(np.rint(SHARES * policy).astype(int).tolist())
    assert abs(sum(target.values()) - SHARES) <= 20


def test_a_won_move_gets_most_of_the_policy() -> None:
    board = Board(MATE_IN_ONE)
    for rule in ("puct", "gumbel"):
        settings = Settings(search_rule=rule, hash=4, **RULES["gumbel"].for_targets)
        with Searcher(inline_evaluator(Material()), settings) as searcher:
            searcher.search(board, Limits(nodes=64))
            target = dict(policy_target(searcher.memory, searcher.rule))
        best = max(target, key=lambda code: target[code])
        assert best == int(relative(board.position, board.parse("b1b8"))), rule


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--nodes", "1"], "--nodes"),
        (["--workers", "0"], "--workers"),
        (["--option", "Nonsense=1"], "Nonsense"),
        (["--network", "no-such-network"], "no-such-network"),
    ],
)
def test_bad_words_are_named(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main(["data", "reanalyse", str(store), "-o", str(tmp_path / "new"), *words]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_shards_do_not_go_where_they_came_from(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "reanalyse", str(store), "-o", str(store)]) == 2
    assert "another" in capsys.readouterr().err
