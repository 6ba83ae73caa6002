"""Every view by the keyboard alone, where the focus is never lost; all fit every width."""

from __future__ import annotations

import pytest

from tests.apps.web.conftest import Server
from tests.apps.web.steps import focused, moves_are, show, strike, tab_to, texts, wait
from tests.apps.web.test_coach import coach as coach  # a fixture
from tests.comment.browser import Tab

BOARD = "at.matches('#view .cells')"
WIDTHS = (390, 640, 768, 1280)  # 640: 1280 at a zoom of 200 %


def button(text: str) -> str:
    return f"at.tagName === 'BUTTON' && at.innerText === {text!r}"


def open_and_close(tab: Tab, opener: str) -> None:
    """A dialog gets the focus, and gives it back where it was."""
    tab_to(tab, opener)
    before = focused(tab)
    strike(tab, "Enter")
    wait(tab, "document.querySelector('dialog')?.contains(document.activeElement)")
    strike(tab, "Escape")
    wait(tab, "!document.querySelector('dialog')")
    assert focused(tab) == before


def test_analyse(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    wait(tab, "document.querySelector('.status').textContent.includes('White to move')")
    tab_to(tab, BOARD)
    strike(tab, "ArrowUp", "Enter", "ArrowUp", "ArrowUp", "Enter")
    moves_are(tab, "e4")
    assert focused(tab).startswith("Board.")
    for name in ("Annotate", "Set up", "Files", "Picture"):
        open_and_close(tab, button(name))
    open_and_close(tab, "at.id === 'look'")
    tab_to(tab, button("Remove move"))
    strike(tab, "Enter")
    wait(tab, "!document.querySelector('#view .moves .move')")
    focused(tab)  # although the button is away
    tab_to(tab, button("Undo"))
    strike(tab, "Enter")
    moves_are(tab, "e4")
    focused(tab)
    tab_to(tab, "at.matches('.moves .move')")
    strike(tab, "Enter", "ArrowLeft")
    wait(tab, "!document.querySelector('.moves [aria-current]')")


def test_a_position_is_set_up(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse/8/7P/8/8/8/8/8/K1k5_w_-_-_0_1")
    wait(tab, "document.querySelector('.status').textContent.includes('White to move')")
    tab_to(tab, button("Set up"))
    strike(tab, "Enter")
    wait(tab, "document.querySelector('dialog')")
    tab_to(tab, "at.matches('dialog .cells')")
    strike(tab, "ArrowUp", "Q", "Enter", "ArrowUp", "p", "Enter")  # e2 and e3
    tab_to(tab, button("Use it"))
    strike(tab, "Enter")
    wait(tab, "location.hash.startsWith('#analyse/8/7P/8/8/8/4p3/4Q3/K1k5')")
    focused(tab)


def test_play(tab: Tab, server: Server) -> None:
    show(tab, server, "play")
    tab_to(tab, "at.id === 'start-game'")
    strike(tab, "Enter")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    focused(tab)
    tab_to(tab, BOARD)
    strike(tab, "ArrowUp", "Enter", "ArrowUp", "ArrowUp", "Enter")
    wait(tab, "document.querySelectorAll('.moves .move').length === 2")
    assert focused(tab).startswith("Board.")
    for name in ("New game", "Resign"):
        open_and_close(tab, button(name))
    strike(tab, "Enter")
    wait(tab, "document.querySelector('dialog')")
    tab_to(tab, f"at.closest('dialog') && {button('Resign')}")
    strike(tab, "Enter")
    wait(tab, "document.querySelector('.outcome').textContent === '0-1, you resigned'")
    focused(tab)


def test_puzzles(tab: Tab, server: Server) -> None:
    show(tab, server, "puzzles")
    wait(tab, "document.querySelector('.outcome')?.innerText.startsWith('White to move')")
    tab_to(tab, BOARD)
    strike(tab, "ArrowUp", "ArrowDown", *["ArrowLeft"] * 3, "Enter", *["ArrowUp"] * 7, "Enter")
    wait(tab, "document.querySelector('.outcome').innerText === 'Right; go on.'")
    wait(tab, "document.querySelectorAll('.moves .move').length === 3")
    strike(tab, *["ArrowRight"] * 5, *["ArrowDown"] * 6, "Enter", "ArrowUp", "Enter")
    wait(tab, "document.querySelector('.outcome').innerText.startsWith('Solved.')")
    assert focused(tab).startswith("Board.")


def test_coach(tab: Tab, coach: Server) -> None:
    show(tab, coach, "coach")
    wait(tab, "document.querySelector('.outcome').innerText.startsWith('White to move')")
    tab_to(tab, BOARD)
    strike(tab, "ArrowUp", "ArrowLeft", "Enter", "ArrowUp", "ArrowUp", "Enter")
    wait(tab, "document.querySelector('.outcome').innerText === 'Right.'")
    wait(tab, f"(({button('Next')}))".replace("at.", "document.activeElement."))
    strike(tab, "Enter")
    wait(tab, "document.querySelector('.outcome').innerText.startsWith('Nothing is due')")
    focused(tab)
    tab_to(tab, button("What costs you points"))
    strike(tab, "Enter")
    wait(tab, "document.querySelectorAll('.figure').length > 3")
    tab_to(tab, "at.matches('.figure summary')")
    strike(tab, "Enter")
    tab_to(tab, "at.matches('.figure .line-move')")
    strike(tab, "Enter")
    wait(tab, "document.querySelector('.profile').innerText.includes('3. Nf3 was played')")
    focused(tab)
    assert "mate" in texts(tab, ".figure summary span")


@pytest.mark.parametrize(
    "width", [pytest.param(n, marks=[pytest.mark.slow] * (n in WIDTHS[:3])) for n in WIDTHS]
)
def test_all_views_fit_a_width(tab: Tab, server: Server, coach: Server, width: int) -> None:
    phone = width == min(WIDTHS)
    tab.size(width, 844, mobile=phone)
    try:
        for view in ("analyse", "play", "coach", "puzzles", "training", "networks"):
            show(tab, coach if view == "coach" else server, view)
            wait(tab, "document.querySelector('#view .squares')")
            assert tab.js("document.documentElement.scrollWidth") <= width, view
            assert tab.js("document.querySelector('.squares').clientWidth") >= 310, view
        if phone:
            show(tab, server, "play")
            wait(tab, "document.querySelector('.squares text')")
            assert tab.js("document.querySelector('.squares text').getBBox().height") > 13
            assert not tab.js("document.querySelectorAll('.squares text ~ use').length")  # pieces
    finally:
        tab.size(1280, 900)
