"""BackendOptions and NNCacheSize: what is read, what is refused, and that both have an effect."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
import torch

import kibitz.engine.options
from kibitz import Board, Engine
from kibitz.core.errors import ConfigError, InputError
from kibitz.engine.options import KEYS, open_evaluator, parse_backend_options
from kibitz.nets.evaluators.cache import CachedEvaluator
from kibitz.nets.evaluators.torch import TorchEvaluator
from kibitz.nets.models import build
from kibitz.nets.models.make import create
from kibitz.nets.models.sizes import new_card
from tests.uci.scripted import Gui

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("networks") / "little.safetensors"
    create("sparse-64", file)
    return str(file)


def test_the_line_is_read_with_commas_or_blanks() -> None:
    text = "threads=2,backend=torch  precision=bfloat16 batch=64,graphs=false"
    assert parse_backend_options(text) == {
        "threads": 2,
        "backend": "torch",
        "precision": "bfloat16",
        "batch": 64,
        "graphs": False,
    }
    assert parse_backend_options("") == {}
    assert doctest.testmod(kibitz.engine.options).failed == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("thread=2", "did you mean 'threads'"),
        ("threads=0", "threads: '0'; expected 1 to 256"),
        ("threads=many", "threads"),
        ("threads", "threads"),
        ("batch=1e3", "batch"),
        ("device=gpu", "expected cpu, cuda"),
        ("device=cuda:0+cudda:1", "device"),
        ("precision=int4", "precision"),
        ("=3", "no such key"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name_and_changes_nothing(text: str, told: str) -> None:
    engine = Engine("material")
    with pytest.raises(InputError, match=told):
        engine.set_option("BackendOptions", text)
    assert engine.options.backend_options == ""
    with pytest.raises(ConfigError, match="NNCacheSize"):
        engine.set_option("NNCacheSize", "-1")


def test_the_options_reach_the_evaluator(network: str) -> None:
    opened = open_evaluator(network, "auto", "backend=torch batch=7 precision=bfloat16", 0)
    assert isinstance(opened.evaluator, TorchEvaluator)
    assert opened.evaluator.largest == 7
    assert "bfloat16" in opened.evaluator.name
    assert opened.cache is None
    assert opened.unused == []


def test_what_a_network_has_no_use_for_is_said(network: str) -> None:
    with Gui(Engine(network)) as gui:
        gui.say("setoption name BackendOptions value threads=2,graphs=true")
        lines = gui.ask("isready", "readyok")
        for name in ("threads", "graphs"):
            assert f"info string BackendOptions: {name} is of no use to inline" in lines
        assert gui.ask("isready", "readyok") == ["readyok"], "it is said once"
        gui.say("setoption name BackendOptions value thread=2", "position startpos")
        assert any("no such key: 'thread'" in line for line in gui.ask("go nodes 10", "bestmove"))
        gui.say("go infinite")
        for line in ("BackendOptions value threads=1", "NNCacheSize value 5"):
            gui.ask(f"setoption name {line}", "info string .*refused while searching")
        gui.ask("stop", "bestmove")


def test_positions_are_remembered_until_the_next_game(network: str) -> None:
    with Engine(network, backend="torch", hash=4, cache_size=3000, minibatch_size=8) as engine:
        engine.play(Board(), nodes=200)
        evaluator, cache = engine._network.evaluator, engine._network.cache
        assert isinstance(evaluator, CachedEvaluator)
        assert cache is not None
        assert cache.size <= 3000 * 150
        first = cache.use()
        assert first.misses > 100
        engine.play(Board("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"), nodes=201)
        engine.new_game()
        assert cache.use() == (0, 0, 0, 0)
        moves = engine.play(Board(), nodes=100).report.moves
        engine.new_game()
        assert engine.play(Board(), nodes=100).report.moves == moves
        engine.configure(cache_size=0)
        engine.ready()
        assert engine._network.cache is None


def test_a_transposition_is_not_asked_about_twice(network: str) -> None:
    with Engine(network, backend="torch", hash=4, minibatch_size=1) as engine:
        engine.play(Board(moves=["g1f3", "g8f6", "b1c3"]), nodes=1)
        assert engine._network.cache is not None
        before = engine._network.cache.use()
        engine.play(Board(moves=["b1c3", "g8f6", "g1f3"]), nodes=1)
        after = engine._network.cache.use()
        assert (after.hits - before.hits, after.misses - before.misses) == (1, 0)


def test_a_new_network_starts_with_an_empty_cache(network: str, tmp_path: Path) -> None:
    other = tmp_path / "other.safetensors"
    create("sparse-64", other)
    with Engine(network, backend="torch", hash=4, minibatch_size=1) as engine:
        engine.play(Board(), nodes=1)
        before = engine.cache_use
        assert before is not None
        assert before[:2] == (0, 1), "warming up was counted"
        engine.set_option("WeightsFile", str(other))
        engine.ready()
        engine.play(Board(), nodes=1)
        after = engine.cache_use
        assert after is not None
        assert after[:2] == (0, 1), "an answer of the last network was found"
        engine.set_option("WeightsFile", "material")
        engine.ready()
        assert engine.cache_use is None


def test_the_use_of_the_cache_is_said_before_the_last_score(network: str) -> None:
    with Gui(Engine(network, backend="torch", hash=4, minibatch_size=4)) as gui:
        gui.ask("isready", "readyok")
        lines = gui.ask("go nodes 60", "bestmove")
        use = gui.session.engine.cache_use
        assert use is not None
        told = (
            f"info string cache hits {use.hits} misses {use.misses} evictions {use.evictions}"
            f" hashfull {use.hashfull}"
        )
        assert told in lines
        assert use.hits + use.misses > 50
        assert " score " in lines[-2]
    with Gui(Engine("material", hash=4)) as gui:
        assert not any("cache" in line for line in gui.ask("go nodes 60", "bestmove"))


# --- colours --------------------------------------------------------------------------------------

BLACK_TO_MOVE = "r1bqk2r/ppp2ppp/2n2n2/3pp3/1b2P3/2NP1N2/PPPB1PPP/R2QKB1R b KQkq - 3 6"
MIRRORED = "r2qkb1r/pppb1ppp/2np1n2/1B2p3/3PP3/2N2N2/PPP2PPP/R1BQK2R w KQkq - 3 6"


def evaluation(engine: Engine, fen: str) -> tuple[float, dict[int, float]]:
    """Value of the root and priors by moves as the side to move sees them."""
    engine.new_game()
    report = engine.play(Board(fen), nodes=1).report
    return report.root.raw, {row.code: row.prior for row in report.moves}


@pytest.mark.parametrize("encoding", ["colour21", "colour22", "oriented22"])
def test_swapped_colours_give_the_evaluation_of_the_mirrored_position(
    encoding: str, tmp_path: Path
) -> None:
    """Also where every plane belongs to a colour, and the board is not turned to who moves."""
    torch.manual_seed(3)
    card = new_card("plain-1x8", encoding=encoding)
    network = str(tmp_path / "seeing-colours.safetensors")
    build.save_network(Path(network), build.build(card), card)
    plain = Engine(network, backend="torch", hash=4)
    swapped = Engine(network, backend="torch", hash=4, swap_colours=True)
    with plain, swapped:
        expected, found = evaluation(plain, MIRRORED), evaluation(swapped, BLACK_TO_MOVE)
        assert found == expected
        assert evaluation(swapped, MIRRORED) == evaluation(plain, BLACK_TO_MOVE)
        assert abs(found[0] - evaluation(plain, BLACK_TO_MOVE)[0]) > 1e-3
        assert swapped.problems == []
        lines = searched(plain, MIRRORED), searched(swapped, BLACK_TO_MOVE)
        assert lines[0] == lines[1]


def searched(engine: Engine, fen: str) -> list[tuple[int, int, float]]:
    """Moves as the side to move sees them, their visits and values, after a search."""
    engine.new_game()
    moves = engine.play(Board(fen), nodes=200).report.moves
    return sorted((row.code, row.visits, row.value) for row in moves)


def test_swapped_colours_without_use_are_said(network: str, tmp_path: Path) -> None:
    tower = tmp_path / "tower.safetensors"
    create("tower-1x8", tower)
    for weights, backend in ((network, "inline"), (str(tower), "torch")):
        opened = open_evaluator(weights, "auto", f"backend={backend}", 0, False, True)
        assert len(opened.unused) == 1
        assert "SwapColors is of no use to" in opened.unused[0]


def test_a_history_is_told_apart_unless_it_is_merged(tmp_path: Path) -> None:
    tower = tmp_path / "tower.safetensors"
    create("tower-1x8", tower)
    games = (["g1f3", "g8f6", "b1c3"], ["b1c3", "g8f6", "g1f3"])
    for merged, hits in ((False, 0), (True, 1)):
        with Engine(str(tower), backend="torch", hash=4, merge_cached=merged) as engine:
            engine.ready()
            engine.new_game()
            for moves in games:
                engine.play(Board(moves=moves), nodes=1)
            assert engine.cache_use is not None
            assert engine.cache_use[:2] == (hits, 2 - hits)


def test_the_page_has_every_key() -> None:
    page = (PROJECT / "docs" / "uci.md").read_text(encoding="utf-8")
    table = page.split("<!-- backend options -->\n")[1].split("\n\n")[0].splitlines()[2:]
    assert table == [
        f"| `{name}` | {key.expected} | {', '.join(key.backends)} | {key.help} |"
        for name, key in KEYS.items()
    ]
