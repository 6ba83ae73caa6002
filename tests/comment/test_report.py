"""The HTML report: what is in the file, and what it does in a browser, hostile games included."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import chess
import pytest

from kibitz.comment.analyse import MANY
from kibitz.comment.annotate import Style, annotate
from kibitz.comment.cache import AnalysisCache
from kibitz.comment.report.page import Report, without_commands
from kibitz.comment.searches import Effort
from kibitz.comment.words.languages import ENGLISH, LANGUAGES
from kibitz.comment.words.story import figures_in
from kibitz.engine import Engine
from kibitz.position.pgn import BadGame, parse_game, read_games
from kibitz.search.limits import Limits
from tests.comment.browser import FOUND, Tab, browser

GAME = """[Event "Club evening"]
[Site "?"]
[Date "2026.11.22"]
[White "Anna"]
[Black "Ben"]
[WhiteElo "1500"]
[Result "1-0"]

{ [%eval 0.20] Ben overlooked a mate. Accuracy: White 99 %, Black 60 %. Black: 1 blunder.
Of Black's 2 bad moves 2 allowed a mate. }
1. e4 { [%eval 0.20] } e5 { [%eval 0.25] } 2. Bc4 { [%eval 0.10] } Nc6 { [%eval 0.15] }
3. Qh5 { [%eval 0.00] [%csl Yf7] [%cal Rh5f7] 3.Qh5 threatens 4.Qxf7#. } Nf6 $4
{ [%eval #1] [%cal Gg7g6] This does nothing against 4.Qxf7#. Instead, 3...g6 holds the balance. }
( 3... g6 { [%eval 0.00] } 4. Qf3 { This threatens mate again. } ( 4. Qd1 Bg7 ) 4... Nf6 )
4. Qxf7# { [%eval #0] 4.Qxf7# is mate. } 1-0

"""
ATTACK = "</script><script>document.title='hacked'</script><img src=x onerror=alert(1)>"
HOSTILE = f"""[Event "{ATTACK}"]
[White "\\"A\\" & {ATTACK} {"long " * 5000}"]
[Black "\u202egnp.exe \u2066x"]
[Result "*"]

{{ {ATTACK} \u2028 <!-- }}
1. e4 {{ [%eval 0.1] {ATTACK} &lt;b&gt; {{script}} ${{1}} }} (1. d4 {{ {ATTACK} }}) *

"""


def page_of(text: str, path: Path) -> Path:
    report = Report()
    for game in read_games(io.StringIO(text)):
        report.add(game)
    report.write(path)
    return path


class Outline(HTMLParser):
    """The elements of a page, their attributes, and the texts of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem:
            self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(GAME + HOSTILE, tmp_path_factory.mktemp("hostile") / "page.html")


@pytest.mark.parametrize(
    "name", ["{data}", "{script} {style}", "{{data}}", "</script>{data}", "'\\\"{title}", "{games}"]
)
def test_a_name_is_never_taken_for_a_place_of_the_template(name: str, tmp_path: Path) -> None:
    text = GAME.replace('"Anna"', f'"{name}"')
    page = page_of(text + text, tmp_path / "page.html").read_text(encoding="utf-8")
    found = [json.loads(one) for one in Outline(page).texts if one.startswith('{"')]
    assert [one["white"] for one in found] == [name.replace('\\"', '"')] * 2
    assert page.count("<script") == 3


class Counted(str):
    """A text that counts the letters which looking for a part of it passes over."""

    steps = 0

    def find(self, part: str, start: int = 0) -> int:  # type: ignore[override]
        at = super().find(part, start)
        Counted.steps += (len(self) if at < 0 else at) - start + 1
        return at


@pytest.mark.parametrize("part", ["[%", "[%eval 0.1]", "[%a", "]", "[%]["])
def test_commands_are_taken_out_in_linear_time(part: str) -> None:
    counts = []
    for size in (1000, 2000):
        Counted.steps = 0
        without_commands(Counted(part * size))
        counts.append(Counted.steps)
    assert counts[1] <= 2.1 * counts[0]
    assert without_commands("a [%eval 0.1] b [%csl Gd4]c [%no end") == "a   b  c [%no end"


def test_a_hostile_game_adds_no_element_and_no_script(hostile: Path) -> None:
    text = hostile.read_text(encoding="utf-8")
    outline = Outline(text)
    kinds = [attributes.get("type") for attributes in outline.all("script")]
    assert kinds == ["application/json", "application/json", "module"]
    assert outline.all("img") == []
    assert not re.search("[\u2028\u202a-\u202e\u2066-\u2069]", text)
    assert not [one for _, one in outline.found if any(name.startswith("on") for name in one)]
    assert not [one for _, one in outline.found if {"style", "src"} & {*one}]
    assert len(text) < 300_000


def test_nothing_runs_or_loads_but_what_the_policy_knows(hostile: Path) -> None:
    outline = Outline(hostile.read_text(encoding="utf-8"))
    [policy] = [one["content"] for one in outline.all("meta") if "http-equiv" in one]
    style, *_, script = outline.texts
    for text in (style, script):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in str(policy)
    assert str(policy).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in str(policy)
    assert not re.search(
        r"https?://(?!www\.w3\.org/2000/svg)|url\(|@import|\bfetch\(", style + script
    )


def test_the_page_knows_what_the_game_says(hostile: Path) -> None:
    _, first, second, _ = Outline(hostile.read_text(encoding="utf-8")).texts
    game: dict[str, Any] = json.loads(first)
    habit = "Of Black's 2 bad moves 2 allowed a mate."
    assert game["story"] == f"Ben overlooked a mate. {habit}"
    assert game["marks"] == [{"mark": "??", "moves": [[], [6]]}]
    sans = [(one.get("san"), one["depth"]) for one in game["nodes"][6:]]
    line = [("g6", 1), ("Qf3", 1), ("Qd1", 2), ("Bg7", 2), ("Nf6", 1), ("Qxf7#", 0)]
    assert sans == [("Nf6", 0), *line]
    blunder = game["nodes"][6]
    assert (blunder["value"], blunder["text"], blunder["glyph"]) == (1.0, "#1", "??")
    assert blunder["marks"] == [["G", "g7", "g6"]]
    assert game["keys"] == [6]
    assert blunder["quiz"]["good"] == ["g7g6"]
    assert blunder["quiz"]["legal"]["d8e7"] == "Qe7"
    assert [row[0] for row in game["phases"]] == ["opening"]
    assert game["phases"][0][1:] == pytest.approx(game["accuracy"], abs=0.5)
    assert json.loads(second)["white"].startswith('"A" & </script>')


CLOCKS = """[Event "https://lichess.org/tournament/x"]
[Site "https://lichess.org/abcd1234"]
[White "A"]
[Black "B"]
[TimeControl "180+2"]
[Result "*"]

{ [%eval 0.2] } 1. e4 { [%eval 0.2] [%clk 0:02:58] } e5 { [%eval 0.2] [%clk 0:03:00] }
2. f3 $2 { [%eval -0.9] [%good g1f3,f1c4,e4e6] [%grade miss] [%clk 0:02:00] }
Nc6 { [%eval -0.8] [%clk 0:01:50] } *

"""


def test_clocks_marks_and_good_moves_are_counted_and_addresses_left_out(tmp_path: Path) -> None:
    page = page_of(CLOCKS, tmp_path / "page.html").read_text(encoding="utf-8")
    _, first, _ = Outline(page).texts
    game = json.loads(first)
    assert game["about"] == ["3 min + 2 s", "King's Pawn Game: King's Head Opening (C20)"]
    assert game["times"] == [["time", 64.0, 74.0], ["longest", 60.0, 72.0]]
    assert [one.get("spent") for one in game["nodes"]] == [None, 4, 2, 60, 72]
    sides = {one["mark"]: one["moves"] for one in game["marks"]}
    assert sides == {"?": [[3], []], "miss": [[3], []]}
    assert game["nodes"][3]["quiz"]["good"] == ["g1f3", "f1c4"]  # e4e6 is no move there
    assert not re.search(r"lichess\.org", page.replace(game["pgn"], "").split('"pgn"')[0])


@pytest.mark.parametrize(
    ("tags", "title"),
    [
        ('[Event "club evening"]', "club evening"),
        ('[Event "club evening"]\n[White "Ada"]', "Ada – ?"),  # noqa: RUF001 - a dash
        ('[Event "?"]', "? – ?"),  # noqa: RUF001 - a dash
    ],
)
def test_a_game_without_names_has_that_of_its_event(tags: str, title: str, tmp_path: Path) -> None:
    report = Report()
    report.add(parse_game(f"{tags}\n\n1. e4 *"))
    report.write(tmp_path / "report.html")
    assert f"<title>{title}" in (tmp_path / "report.html").read_text("utf-8")


def test_a_report_is_in_the_language_that_is_asked_for(tmp_path: Path) -> None:
    report = Report(LANGUAGES["de"])
    for game in read_games(io.StringIO(GAME)):
        report.add(game)
    report.write(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<html lang="de">' in text
    assert "Schlüsselmomente" in text
    _, first, _ = Outline(text).texts
    found = json.loads(first)
    assert [one["san"] for one in found["nodes"][1:6]] == ["e4", "e5", "Lc4", "Sc6", "Dh5"]
    assert found["nodes"][1]["text"] == "+0,20"
    assert "4. Qxf7#" in found["pgn"]  # as all programs read it
    assert {*ENGLISH.page} == {*LANGUAGES["de"].page}


def test_an_annotated_game_names_the_moves_that_were_good(tmp_path: Path) -> None:
    game = next(read_games(io.StringIO("1. f3 e5 2. g4 Qh4# 0-1")))
    effort = Effort(Limits(nodes=300))
    with Engine("material", search="alphabeta", multipv=2, hash=16) as engine:
        cache = AnalysisCache(engine, effort, tmp_path)
        annotate(game, engine, Style(limits=effort.limits), cache=cache)
        first = str(game)
        annotate(game, engine, Style(limits=effort.limits), cache=cache)
    assert str(game) == first
    node = [*game.tree.mainline()][2]
    told = re.search(r"\[%good ([^]]*)\]", node.comment)
    assert told
    good = told[1].split(",")
    assert "g2g4" not in good
    assert len(good) == len({*good}) >= MANY  # all but this one are level
    for move in good:
        board = node.parent.board()
        board.push_uci(move)
        assert not any(is_mate(board, one) for one in board.legal_moves)


def is_mate(board: chess.Board, move: chess.Move) -> bool:
    board.push(move)
    mates = board.is_checkmate()
    board.pop()
    return mates


def test_the_examples_are_whole() -> None:
    folder = Path(__file__).parents[2] / "docs" / "examples"
    bad: list[BadGame] = []
    games = list(read_games(folder / "games.pgn", bad.append))
    annotated = list(read_games(folder / "annotated.pgn", bad.append))
    assert bad == []
    assert [one.moves for one in annotated] == [one.moves for one in games]
    assert len(games) == 10
    assert all(figures_in(game.tree) for game in annotated)
    assert {one.tags["Annotator"].partition("(")[0] for one in annotated} == {"kibitz "}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert len(Outline(page).all("script")) == len(games) + 1


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    if FOUND is None:
        pytest.skip("no Chromium here")
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def page(tab: Tab, hostile: Path) -> Iterator[Tab]:
    tab.size(1280, 900)
    tab.trouble.clear()
    tab.requests.clear()
    tab.open(hostile.as_uri())
    yield tab
    assert tab.trouble == []
    assert {*tab.requests} <= {hostile.as_uri(), "about:blank"}


def here(page: Tab) -> str:
    return str(page.js("document.getElementById('here').textContent"))


def middle(page: Tab, selector: str, across: float = 0.5) -> tuple[float, float]:
    """A point of an element, for a click."""
    code = f"JSON.stringify(document.querySelector({selector!r}).getBoundingClientRect())"
    box = json.loads(page.js(code))
    return box["x"] + across * box["width"], box["y"] + box["height"] / 2


def test_keys_clicks_and_variations_step_through_the_game(page: Tab) -> None:
    page.key("Home")
    assert here(page) == "Start"
    for name, expected in [
        ("ArrowRight", "1.e4"),
        ("End", "4.Qxf7#"),
        ("p", "3...Nf6??"),
        ("ArrowDown", "3...g6"),
        ("ArrowRight", "4.Qf3"),
        ("ArrowDown", "4.Qd1"),
        ("ArrowLeft", "3...g6"),
        ("ArrowUp", "3...Nf6??"),
        ("ArrowLeft", "3.Qh5"),
    ]:
        page.key(name)
        assert here(page) == expected
    assert "threatens" in page.js("document.getElementById('words').textContent")
    assert page.js("document.querySelectorAll('#board .arrow, #board .ring').length") == 2
    page.click(*middle(page, "#board", 0.9))
    assert here(page) == "3...Nf6??"
    page.click(*middle(page, "#words .said:last-of-type"))
    assert here(page) == "3...g6"
    page.click(*middle(page, "#ways .way"))
    assert here(page) == "3...Nf6??"
    page.click(*middle(page, "#move-1"))
    assert here(page) == "1.e4"
    assert "king e1" in page.js("document.getElementById('board').getAttribute('aria-label')")
    assert page.js("document.querySelectorAll('#board use').length") == 32


def on(page: Tab, square: str) -> tuple[float, float]:
    """The middle of a square of the board, White's side below."""
    code = "JSON.stringify(document.getElementById('board').getBoundingClientRect())"
    box = json.loads(page.js(code))
    file, rank = "abcdefgh".index(square[0]), 8 - int(square[1])
    each = box["width"] / 8
    return box["x"] + (file + 0.5) * each, box["y"] + (rank + 0.5) * each


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_reader_finds_a_better_move_than_the_one_played(
    page: Tab, hostile: Path, width: int, height: int
) -> None:
    page.size(width, height, mobile=width < 500)
    page.open(hostile.as_uri())  # at the first critical moment
    assert here(page) == "3...?"
    seen = "getComputedStyle(document.getElementById('moves')).visibility"
    assert page.js(seen) == "hidden"
    assert "Nf6" not in page.js("document.querySelector('.now').innerText")
    answer = "document.getElementById('answer').textContent"
    for start, end, text in (
        ("g8", "f6", "3...Nf6 is what was played"),
        ("a7", "a6", "3...a6 is not among the good moves"),
        ("g7", "g6", "3...g6 is right"),
    ):
        page.click(*on(page, start))
        assert page.js("document.querySelectorAll('#board .ring').length") > 1
        page.click(*on(page, end))
        assert page.js(answer).startswith(text)
    assert page.js(seen) == "visible"
    assert "holds the balance" in page.js("document.getElementById('words').textContent")
    assert page.js("document.documentElement.scrollWidth") <= width
    page.js("document.querySelector('#ways .way').click()")  # the best line, on the board
    assert here(page) == "3...g6"
    page.key("ArrowRight")
    assert here(page) == "4.Qf3"
    page.js("document.querySelector('#numbers button').click()")  # its blunder
    assert here(page) == "3...Nf6??"
    page.js("document.querySelector('#ways .try').click()")
    assert here(page) == "3...?"
    page.js("document.querySelector('#ways .try').click()")
    assert here(page) == "3...Nf6??"


def test_what_is_printed_hides_nothing(page: Tab) -> None:
    page("Emulation.setEmulatedMedia", media="print")
    for name in ("moves", "story", "keys"):
        style = f"getComputedStyle(document.getElementById('{name}'))"
        assert page.js(f"{style}.visibility") == "visible"
    assert page.js("getComputedStyle(document.querySelector('.controls')).display") == "none"
    page("Emulation.setEmulatedMedia", media="")


def test_the_graph_goes_to_a_move(page: Tab) -> None:
    page.click(*middle(page, "#graph", 6.1 / 7))
    assert here(page) == "3...Nf6??"
    page.click(*middle(page, "#graph", 0.01))
    assert here(page) == "Start"


def test_a_hostile_game_is_only_text(page: Tab) -> None:
    page.click(*middle(page, "nav li:last-child button"))
    assert "Anna" not in page.js("document.getElementById('title').textContent")
    page.key("ArrowRight")
    assert "<script>document.title=" in page.js("document.getElementById('words').textContent")
    assert page.js("document.title") == "2 games · Kibitz"
    assert page.js("document.querySelectorAll('img, main script').length") == 0


OTHERS = GAME.replace(
    "( 3... g6 {", "( 3... -- { A pass. } ) ( 3... a6 { Others. } ) ( 3... g6 {"
).replace("e4 { [%eval 0.20] }", "e4 { [%eval 0.20] [%emt 0:01:59.7] }")


def test_key_moments_show_what_we_found_better_and_no_move_of_others(
    tab: Tab, tmp_path: Path
) -> None:
    tab.size(1280, 900)
    tab.trouble.clear()
    address = page_of(OTHERS, tmp_path / "page.html").as_uri()
    tab.open(f"{address}#1.-3")  # before the start
    assert here(tab) == "Start"
    found = "Array.from(document.querySelectorAll('#keys .mark-G'), (one) => one.outerHTML)"
    (arrow,) = tab.js(found)
    assert 'points="289.3,76.5 ' in arrow  # from g7 on
    assert "2:00" in tab.js("document.getElementById('numbers').textContent")
    tab.open(f"{address}#1.8")
    assert tab.trouble == []


@pytest.mark.parametrize("name", ["1.3", "2.1"])
def test_a_phone_is_wide_enough(page: Tab, hostile: Path, name: str) -> None:
    page.size(360, 740, mobile=True)
    page.open(f"{hostile.as_uri()}#{name}")
    assert page.js("document.documentElement.scrollWidth") == 360
    page.requests.clear()


def test_dark_and_light(page: Tab, hostile: Path) -> None:
    color = "getComputedStyle(document.body).backgroundColor"
    seen = []
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page("Emulation.setEmulatedMedia", features=features)
        page.open(hostile.as_uri())
        seen.append(page.js(color))
    page.click(*middle(page, "#theme"))
    assert page.js(color) == seen[0] != seen[1]
    page.js("localStorage.clear()")
