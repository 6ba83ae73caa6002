"""Settings: layers, checks, messages, and the way to TOML and back."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.core.errors import ConfigError, FileError
from kibitz.core.options import setting
from kibitz.core.settings import dump, load


@dataclass(frozen=True)
class Clock:
    overhead: float = setting(30.0, low=0, about="milliseconds lost\non the way")


@dataclass(frozen=True)
class Lists:
    books: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Search:
    threads: int = setting(1, low=1, high=512, about="search threads")
    exploration: float = setting(1.5, low=0.0)
    ponder: bool = False
    rule: Literal["puct", "gumbel"] = "puct"
    level: Literal[0, 1] = 1
    clock: Clock = field(default_factory=Clock)


@dataclass(frozen=True)
class Everything:
    name: str = "Kibitz"
    book: Path | None = None
    tables: tuple[str, ...] = ()
    weights: tuple[float, ...] = setting((1.0,), low=0)
    search: Search = field(default_factory=Search)


def write(folder: Path, text: str) -> Path:
    path = folder / "kibitz.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(text: str, folder: Path, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(Everything, write(folder, text), overrides=overrides)
    return str(caught.value)


def test_defaults() -> None:
    assert load(Everything) == Everything()


def test_each_layer_wins_over_the_one_before(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        name = "file"
        [search]
        threads = 2
        exploration = 2
        [search.clock]
        overhead = 10
        [networks.small.search]
        threads = 3
        rule = "gumbel"
        [networks.large.search]
        threads = 4
        """,
    )
    assert load(Everything, path).search.threads == 2
    small = load(Everything, path, network="small")
    assert (small.search.threads, small.search.rule) == (3, "gumbel")
    assert (small.search.exploration, small.search.clock.overhead) == (2.0, 10.0)
    assert load(Everything, path, network="large").search.rule == "puct"
    assert load(Everything, path, network="other") == load(Everything, path)
    chosen = load(Everything, path, "small", ["search.threads=5", "search.clock.overhead=0.5"])
    assert (chosen.search.threads, chosen.search.clock.overhead) == (5, 0.5)
    assert chosen.search.rule == "gumbel"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[search]\nthread = 1", ["kibitz.toml: [search]", "'thread'", "did you mean 'threads'?"]),
        ("[serach]\nthreads = 1", ["unknown table", "'serach'", "did you mean 'search'?"]),
        ("[network.a]", ["unknown table", "did you mean 'networks'?"]),
        ("[search.clock]\nlag = 1", ["[search.clock]", "'lag'", "known here: overhead"]),
        ("[networks.a.search]\nthread = 1", ["[networks.a.search]", "did you mean 'threads'?"]),
        ("[networks.a]\nnetworks = 1", ["[networks.a]", "unknown key", "'networks'"]),
        ("networks = 1", ["[networks.NAME]", "1"]),
        ("networks.a = 1", ["[networks.a]", "1"]),
        ("search = 1", ["search is a table", "1"]),
        ("[search]\nthreads = 'four'", ["[search]: threads", "a whole number", "'four'"]),
        ("[search]\nthreads = true", ["a whole number", "True"]),
        ("[search]\nthreads = 1.0", ["a whole number", "1.0"]),
        ("[search]\nponder = 1", ["true or false", "1"]),
        ("[search]\nrule = 'ucb'", ["one of 'puct', 'gumbel'", "'ucb'"]),
        ("[search]\nlevel = true", ["one of 0, 1", "True"]),
        ("[search]\nthreads = 0", ["at least 1 and at most 512", "0"]),
        ("[search]\nthreads = 513", ["at least 1 and at most 512", "513"]),
        ("[search]\nexploration = nan", ["at least 0.0", "nan"]),
        ("[search]\nexploration = " + "9" * 400, ["[search]: exploration", "a number"]),
        ("weights = [1.0, -1]", ["weights: must be at least 0", "-1.0"]),
        ("tables = 'one'", ["a list", "'one'"]),
        ("tables = ['one', 2]", ["a text", "2"]),
        ("book = 3", ["a text", "3"]),
        ("name = ?", ["not TOML", "line 1"]),
        ("name = " + "9" * 5000, ["not TOML", "digits"]),
    ],
)
def test_refusals_name_the_place_the_value_and_the_fix(
    text: str, parts: list[str], tmp_path: Path
) -> None:
    message = refusal(text, tmp_path)
    assert "kibitz.toml" in message
    assert [part for part in parts if part not in message] == []


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("search.thread=1", ["command line: [search]", "did you mean 'threads'?"]),
        ("search.threads", ["KEY=VALUE", "'search.threads'"]),
        ("search.threads=x", ["a whole number", "'x'"]),
        ("search.threads=", ["a whole number", "''"]),
        ("search.threads.x=1", ["a whole number"]),
        ("search=1", ["search is a table"]),
        ("=1", ["unknown key", "''"]),
    ],
)
def test_overrides_are_checked_alike(override: str, parts: list[str], tmp_path: Path) -> None:
    message = refusal("", tmp_path, override)
    assert [part for part in parts if part not in message] == []


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("name=Deep Thought", Everything(name="Deep Thought")),
        ("name='quoted'", Everything(name="quoted")),
        ("name=2026", Everything(name="2026")),
        ("name=a=b", Everything(name="a=b")),
        ("book=C:\\book.bin", Everything(book=Path("C:\\book.bin"))),
        ("book=file:///tmp/book.bin", Everything(book=Path("/tmp/book.bin"))),
        ("tables=['a', 'b']", Everything(tables=("a", "b"))),
        ("weights=[1, 2.5]", Everything(weights=(1.0, 2.5))),
        ("search.ponder=true", Everything(search=Search(ponder=True))),
        ("search.rule=gumbel", Everything(search=Search(rule="gumbel"))),
        ("search.level=0", Everything(search=Search(level=0))),
    ],
)
def test_overrides_need_no_quotes(override: str, expected: Everything) -> None:
    assert load(Everything, overrides=[override]) == expected


def test_files_that_are_no_settings(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        load(Everything, tmp_path / "missing.toml")
    path = tmp_path / "kibitz.toml"
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(Everything, path)
    path.write_bytes(b"\xef\xbb\xbfname = 'from Notepad'\r\n")
    assert load(Everything, path).name == "from Notepad"


def test_dump_is_readable() -> None:
    lines = dump(Everything()).splitlines()
    assert lines[0] == 'name = "Kibitz"'
    assert lines[lines.index("[search]") + 1] == "# search threads"
    assert "# milliseconds lost on the way" in lines


finite = st.floats(min_value=0, allow_nan=False)


@given(
    st.builds(
        Everything,
        name=st.text(),
        book=st.none() | st.text(st.characters(exclude_characters="\0"), min_size=1).map(Path),
        tables=st.lists(st.text()).map(tuple),
        weights=st.lists(finite).map(tuple),
        search=st.builds(
            Search,
            threads=st.integers(1, 512),
            exploration=finite,
            ponder=st.booleans(),
            rule=st.sampled_from(["puct", "gumbel"]),
            clock=st.builds(Clock, overhead=finite),
        ),
    )
)
def test_round_trip(settings: Everything) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kibitz.toml"
        path.write_bytes(dump(settings).encode())
        assert load(Everything, path) == settings


@pytest.mark.parametrize(
    ("override", "told"), [("books=a.bin", 'write ["a.bin"]'), ("sizes=3", "write a list like")]
)
def test_a_text_that_is_no_list_is_shown_as_one(override: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(Lists, overrides=[override])
    assert told in str(caught.value)
