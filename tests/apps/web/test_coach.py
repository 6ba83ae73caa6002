"""The coach in the page: the deck, what costs points, openings, games that are added."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from kibitz.coach.analyse import Analysed, keep
from kibitz.coach.database import Database, View
from kibitz.coach.deck import Good
from kibitz.coach.games import Added, games_of
from tests.apps.web.conftest import Server
from tests.apps.web.steps import choose, moves_are, press, show, texts, type_move, wait
from tests.apps.web.test_server import Page, talk
from tests.coach.stand_in import NAME, game_of
from tests.coach.test_deck import stored_item
from tests.comment.browser import Tab

MOVES = "1. e4 e5 2. Qh5 Ke7 3. Nf3"
ANSWER = ("h5e5", "Qxe5", "d2d4", '"d4"', "is mate", "lets the king go")


def fill(path: Path, games: int = 6) -> None:
    """A database with analysed games and an item of either deck."""
    database = Database(path)
    for number in range(1, games + 1):
        pgn = game_of(3 * number + 1, moves=MOVES)["pgn"]
        with database.transaction():
            database.add_name(NAME)
            for game in games_of(pgn, (NAME,), Added(), "lichess"):
                database.add_game(game)
    item = stored_item((Good("h5e5", "mate", 1), Good("d2d4", "cp", 400)))
    other = msgspec.structs.replace(item, ply=3, deck="opponent")
    views = [View("cp", 20, "e2e4"), View("cp", -20, "e7e5"), View("cp", 20, "g1f3")]
    views += [View("cp", 0, "b8c6"), View("mate", 1, "h5e5", 0.4), View("cp", 300, "d7d6")]
    for number in range(1, games + 1):
        keep(database, Analysed(number, views, [item, other] if number == 1 else []), "test")
    database.close()


@pytest.fixture
def coach(tmp_path: Path) -> Iterator[Server]:
    fill(tmp_path / "games.db")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "others.pgn").write_text('[Result "1-0"]\n\n1. c4 e5 1-0\n')
    server = Server(tmp_path / "files", "--database", str(tmp_path / "games.db"))
    yield server
    server.stop()


def test_an_item_is_asked_once_and_its_answer_comes_after_the_try(coach: Server) -> None:
    async def work(page: Page) -> None:
        question = (await page.ask("question", deck="own"))["ok"]
        hints = [
            (await page.ask("itemhint", item=question["item"], which=which))["ok"]
            for which in range(question["hints"])
        ]
        assert hints[0] == "There is a forced mate."
        assert not any(text in json.dumps([question, hints]) for text in ANSWER)
        assert "no such hint" in (await page.ask("itemhint", item=1, which=9))["error"]
        asked = {"item": question["item"], "due": question["due"], "seconds": 12.0}
        assert "error" in await page.ask("answer", **asked, move="h5h1")  # illegal: not counted
        right = await page.ask("answer", **asked, move="d2d4")
        assert right["ok"]["right"]
        assert right["ok"]["again"].startswith("in ")
        assert any("It is mate." in text for text in right["ok"]["reasons"])
        twice = await page.ask("answer", **asked, move="a2a3")
        assert "answered already" in twice["error"]
        assert (await page.ask("question", deck="own"))["ok"] is None
        standing = (await page.ask("coach"))["ok"]["decks"]
        assert (standing["own"]["due"], standing["opponent"]["due"]) == (0, 1)
        assert standing["own"]["next"].startswith("in ")

    talk(coach, work)
    database = Database(coach.folder.parent / "games.db")
    assert database.rows("SELECT grade FROM reviews") == [(4,)]
    database.close()


@pytest.mark.parametrize(
    ("width", "mobile"), [(1280, False), pytest.param(390, True, marks=pytest.mark.slow)]
)
def test_a_mistake_is_solved_on_the_board(
    tab: Tab, coach: Server, width: int, mobile: bool
) -> None:
    tab.size(width, 900, mobile=mobile)
    try:
        show(tab, coach, "coach")
        wait(tab, "document.querySelector('.outcome').innerText.startsWith('White to move')")
        assert tab.js("document.documentElement.scrollWidth") <= width
        press(tab, "Hint")
        wait(tab, "document.querySelector('#view').innerText.includes('There is a forced mate')")
        page = tab.js("document.documentElement.outerHTML")
        assert not any(text in page for text in ANSWER)
        show(tab, coach, "coach", keep=True)  # a hint stays a hint
        wait(tab, "document.querySelector('#view').innerText.includes('There is a forced mate')")
        wait(tab, "document.querySelector('.outcome').innerText.startsWith('White to move')")
        type_move(tab, "d4")  # not the best, but good
        wait(tab, "document.querySelector('.outcome').innerText === 'Right.'")
        wait(tab, "document.querySelector('.reasons').innerText.includes('It is mate')")
        assert "You played 3.Nf3" in texts(tab, ".reasons")[0]
        wait(tab, "document.querySelector('[data-deck=own]').innerText.includes('0 due')")
        press(tab, "Back to the game")
        wait(tab, "location.hash.startsWith('#analyse')")
        moves_are(tab, "e4", "e5", "Qh5", "Ke7", "Nf3")
        wait(tab, "document.querySelector('.moves [aria-current]').innerText.includes('Ke7')")
        wait(tab, "document.querySelector('.graph:not([hidden])')")  # from the analysis
        show(tab, coach, "coach", keep=True)
        wait(tab, "document.querySelector('.outcome').innerText.startsWith('Nothing is due')")
        tab.js("document.querySelector('[data-deck=opponent]').click()")
        wait(tab, "document.querySelector('.outcome').innerText.startsWith('White to move')")
        type_move(tab, "a3")
        wait(tab, "document.querySelector('.outcome').innerText === 'a3 is not good enough.'")
        assert "Best is 3.Qxe5#" in texts(tab, ".reasons")[0]
        assert tab.js("document.documentElement.scrollWidth") <= width
    finally:
        tab.size(1280, 900)


@pytest.mark.slow
def test_figures_open_their_examples_and_openings_are_walked(tab: Tab, coach: Server) -> None:
    show(tab, coach, "coach")
    press(tab, "What costs you points")
    wait(tab, "document.querySelectorAll('.figure').length > 3")
    tab.js("document.querySelector('.figure summary').click()")
    tab.js("document.querySelector('.figure .line-move').click()")
    wait(tab, "document.querySelector('.profile').innerText.includes('3. Nf3 was played')")
    spoken = "document.querySelector('#view .squares').ariaLabel"
    wait(tab, f"{spoken}.includes('queen h5') && {spoken}.includes('king e7')")
    people = "document.querySelector('.profile').innerText"
    wait(tab, f"{people}.includes('people of your rating')")
    assert "you 0 %, others" in tab.js(people)  # the mate in one was missed in all six games
    press(tab, "Openings")
    wait(tab, "document.querySelector('.explorer tbody').innerText.includes('e4')")
    assert texts(tab, ".explorer tbody td")[0] == "6"
    tab.js("document.querySelector('.explorer .line-move').click()")
    wait(tab, "document.querySelector('.explorer tbody').innerText.includes('e5')")
    press(tab, "To the start")
    choose(tab, "From", "/0/others.pgn")
    wait(tab, "document.querySelector('.explorer tbody').innerText.includes('c4')")
    show(tab, coach, "coach", keep=True)
    wait(tab, "document.querySelector('.explorer tbody').innerText.includes('c4')")  # still there


def test_numbers_that_no_database_has_are_refused(coach: Server) -> None:
    async def work(page: Page) -> None:
        huge = 10**30
        for number in (huge, -huge):
            answer = {"item": number, "due": huge, "seconds": 1.0}
            for name, asked in (
                ("itemhint", {"item": number, "which": 0}),
                ("answer", answer),
                ("owngame", {"game": number}),
            ):
                assert "no such number here" in (await page.ask(name, **asked))["error"]
        assert "no such hint" in (await page.ask("itemhint", item=1, which=huge))["error"]
        assert "no such game" in (await page.ask("owngame", game=99))["error"]
        assert "ok" in await page.ask("owngame", game=1)

    talk(coach, work)


def test_what_solving_lacks_is_said_before_a_question(
    tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "games.db")
    (tmp_path / "sitecustomize.py").write_text("import sys\n\nsys.modules['fsrs'] = None\n")
    paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    (tmp_path / "files").mkdir()
    server = Server(tmp_path / "files", "--database", str(tmp_path / "games.db"))
    try:
        show(tab, server, "coach")
        said = "document.querySelector('.outcome').innerText"
        wait(tab, f"{said}.includes(\"pip install 'kibitz[coach]'\")")
        assert tab.js("document.querySelector('.reasons').innerText") == ""
        assert "Hint" not in tab.js("document.querySelector('#view').innerText")
        press(tab, "What costs you points")
        wait(tab, "document.querySelectorAll('.figure').length > 3")  # needs no more than it has
    finally:
        server.stop()


def test_a_database_that_cannot_be_read_is_not_taken_for_none(tab: Tab, tmp_path: Path) -> None:
    (tmp_path / "games.db").write_bytes(b"of another kind" * 500)
    (tmp_path / "files").mkdir()
    server = Server(tmp_path / "files", "--database", str(tmp_path / "games.db"))
    try:
        show(tab, server, "coach")
        shown = "document.querySelector('#view .right').innerText"
        wait(tab, f"{shown}.includes('a damaged database')")  # stays, unlike the message above it
        press(tab, "What costs you points")
        wait(tab, "!document.querySelector('.profile').hidden")
        text = tab.js(shown)
        assert "No games yet" not in text
        assert "Analyse the games" not in text
    finally:
        server.stop()


@pytest.mark.slow
def test_keys_stay_where_they_are_while_a_deck_is_read_anew(tab: Tab, coach: Server) -> None:
    show(tab, coach, "coach")
    wait(tab, "document.querySelector('.outcome').innerText.startsWith('White to move')")
    tab.js("document.querySelector('[data-deck=opponent]').focus()")
    tab.js("document.activeElement.click()")
    wait(tab, "document.querySelector('[data-deck=opponent]').ariaPressed === 'true'")
    assert tab.js("document.activeElement.dataset.deck") == "opponent"


def test_games_are_added_and_analysed_from_the_page(tab: Tab, tmp_path: Path) -> None:
    server = Server(tmp_path, "--database", str(tmp_path / "new.db"))
    try:
        show(tab, server, "coach")
        wait(tab, "document.querySelector('#view').innerText.includes('kibitz coach add lichess')")
        games = [game_of(number, moves="1. e4 e5")["pgn"] for number in range(2, 11)]
        long = [pgn.replace(" e5", f" e5 {{{'x' * 150_000}}}") for pgn in games]
        text = "\n".join([*long, game_of(1, moves=MOVES)["pgn"]])  # too long to be sent at once
        tab.js(f"""(() => {{
          document.querySelector('#view details summary').click();
          const files = new DataTransfer();
          files.items.add(new File([{json.dumps(text)}], "games.pgn"));
          document.querySelector('#view input[type=file]').files = files.files;
        }})()""")
        press(tab, "Openings")
        wait(tab, "document.querySelector('.openings').innerText.includes('no games yet')")
        press(tab, "Add")
        wait(tab, "document.querySelector('.toast').innerText.includes('whose games')")
        choose(tab, "Your name", NAME)
        press(tab, "Add")
        wait(tab, "document.querySelector('.toast').innerText.startsWith('10 new')")
        wait(tab, "document.querySelector('.explorer tbody').innerText.includes('e4')")
        press(tab, "Solve")
        press(tab, "Analyse the games")
        wait(
            tab,
            "document.querySelector('#view').innerText.includes('10 games of Anna, 10 analysed')",
        )
        wait(tab, "document.querySelector('.outcome').innerText.startsWith('White to move')")
    finally:
        server.stop()
