"""BackendOptions and NNCacheSize: what is read, what is refused, and that both have an effect."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import kibitz.engine.backend
from kibitz import Board, Engine
from kibitz.engine.backend import KEYS, open_evaluator, parse_backend_options
from kibitz.errors import ConfigError, InputError
from kibitz.evaluator.cache import CachedEvaluator
from kibitz.evaluator.torch import TorchEvaluator
from kibitz.network.make import create
from tests.uci.scripted import Gui

PROJECT = Path(__file__).parents[1]


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
        "precision": True,
        "batch": 64,
        "graphs": False,
    }
    assert parse_backend_options("") == {}
    assert doctest.testmod(kibitz.engine.backend).failed == 0


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
        evaluator, cache = engine._evaluator, engine._cache
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
        assert engine._cache is None


def test_a_transposition_is_not_asked_about_twice(network: str) -> None:
    with Engine(network, backend="torch", hash=4, minibatch_size=1) as engine:
        engine.play(Board(moves=["g1f3", "g8f6", "b1c3"]), nodes=1)
        assert engine._cache is not None
        before = engine._cache.use()
        engine.play(Board(moves=["b1c3", "g8f6", "g1f3"]), nodes=1)
        after = engine._cache.use()
        assert (after.hits - before.hits, after.misses - before.misses) == (1, 0)


def test_the_page_has_every_key() -> None:
    page = (PROJECT / "docs" / "uci.md").read_text(encoding="utf-8")
    table = page.split("<!-- backend options -->\n")[1].split("\n\n")[0].splitlines()[2:]
    assert table == [
        f"| `{name}` | {key.expected} | {', '.join(key.backends)} | {key.help} |"
        for name, key in KEYS.items()
    ]
