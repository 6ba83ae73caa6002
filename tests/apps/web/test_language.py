"""Words in the person's language: that of the server, or the one that was chosen in the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apps.web.conftest import Server
from tests.apps.web.steps import choose, moves_are, press, show, tick, type_move, wait
from tests.apps.web.test_coach import fill
from tests.apps.web.test_server import Page, talk
from tests.comment.browser import Tab

LOSES = "r2q2k1/5ppp/8/8/8/8/5PPP/R2Q2K1 w - - 0 1"  # a queen, with Qa4


@pytest.fixture
def german(tmp_path: Path) -> Iterator[Server]:
    """A server that speaks German; its deck was made in English."""
    fill(tmp_path / "games.db")
    (tmp_path / "files").mkdir()
    options = ("--database", str(tmp_path / "games.db"), "--language", "de")
    server = Server(tmp_path / "files", *options)
    yield server
    server.stop()


def test_the_coach_speaks_the_language_of_the_server(german: Server) -> None:
    async def work(page: Page) -> None:
        hello = (await page.ask("hello"))["ok"]
        assert hello["language"] == "de"
        assert ["en", "English"] in hello["languages"]
        question = (await page.ask("question", deck="own"))["ok"]
        item = question["item"]
        hints = [(await page.ask("itemhint", item=item, which=which))["ok"] for which in range(3)]
        assert hints == [
            "Es gibt ein erzwungenes Matt.",
            "Eine Dame solltest du ziehen.",
            "Es ist die Dame auf h5.",
        ]
        english = await page.ask("itemhint", item=item, which=0, language="en")
        assert english["ok"] == "There is a forced mate."
        tried = {"item": item, "due": question["due"], "seconds": 9.0, "move": "d2d4"}
        right, best, other, played, _ = (await page.ask("answer", **tried))["ok"]["reasons"]
        assert (right, best) == ("d4 ist richtig.", "Am besten ist 3.Dxe5# (Matt in 1).")
        assert other == "Auch gut: d4."
        assert played.startswith("Du hast 3.Sf3 gespielt.")
        assert "Dxe5" in played.removeprefix("Du hast")  # said anew
        names = {row["name"] for row in (await page.ask("profile"))["ok"]["figures"]}
        assert "Matt" in names
        place = {"moves": ["f2f3", "e7e5", "g2g4", "d8h4"]}
        assert "Narrenmatt" in (await page.ask("comment", place=place))["ok"]

    talk(german, work)


@pytest.mark.slow
def test_a_language_that_is_chosen_in_the_page_holds_for_all_its_words(
    tab: Tab, server: Server
) -> None:
    show(tab, server, "analyse")
    tab.js("document.querySelector('#look').click()")
    wait(tab, "document.querySelector('dialog option[value=de]')")
    choose(tab, "Language of comments", "de", "dialog")
    press(tab, "Close", "dialog")
    moves = ("f3", "e5", "g4", "Qh4#")
    for number, move in enumerate(moves, 1):
        type_move(tab, move)
        moves_are(tab, *moves[:number])
    press(tab, "Comment")
    wait(tab, "document.querySelector('.words').innerText.includes('Narrenmatt')")
    press(tab, "Review")
    wait(tab, "document.querySelector('.keys:not([hidden])')")
    wait(tab, "document.querySelector('#view .moves').innerText.includes('Narrenmatt')")
    report = tab.js("fetch(document.querySelector('.progress a').href).then((one) => one.text())")
    assert '<html lang="de"' in report
    show(tab, server, "play", keep=True)
    choose(tab, "Start", "fen")
    choose(tab, "FEN", LOSES)
    choose(tab, "Opponent", "3100")
    tick(tab, "Tell me of a mistake")
    press(tab, "Play")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    type_move(tab, "Qa4")
    wait(tab, "document.querySelector('#view .words').innerText.includes('Txa4')")
