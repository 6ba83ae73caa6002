"""Who can use the page: words, contrast, keys, screen readers, zoom; how it looks and sounds."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from kibitz.nets.discover import shipped
from tests.apps.web.conftest import GAMES, Server
from tests.apps.web.steps import (
    choose,
    drag,
    moves_are,
    paste,
    press,
    show,
    texts,
    type_move,
    unfold,
    wait,
)
from tests.comment.browser import Tab

VIEWS = ("analyse", "play", "coach", "puzzles", "training", "networks")
JARGON = ("PUCT", "SBLE", "Gumbel", "Read", "MCTS", "alphabeta", "contempt", "prior", "playouts")
LIGHT = 150_000
UNITS = ("seldepth", "nps", "nodes")
# `npm install axe-core` beside this project, or a file that the variable names.
ROOT = Path(__file__).parents[3]
AXE = Path(os.environ.get("AXE_CORE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SILENT = """window.tones = 0;
  class Fake {
    constructor() {
      this.currentTime = 0;
      this.frequency = {};
      this.gain = { setValueAtTime() {}, exponentialRampToValueAtTime() {} };
    }
    createOscillator() { window.tones++; return new Fake(); }
    createGain() { return new Fake(); }
    connect(to) { return to; }
    start() {}
    stop() {}
  }
  window.AudioContext = Fake;"""


def test_the_first_screen_has_words_that_a_newcomer_knows(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    tab.js("document.querySelector('.switch').click()")
    wait(tab, "document.querySelectorAll('.lines li').length === 3")
    analyse = texts(tab, "body")[0]
    show(tab, server, "play")
    wait(tab, "document.querySelector('#start-game')")
    networks = [network.file.name.split(".")[0] for network in shipped()]
    for text in (analyse, *texts(tab, "body")):
        words = {*re.findall(r"[\w-]+", text.casefold())}
        assert not words & {word.casefold() for word in (*JARGON, *UNITS, *networks)}


def test_the_page_is_light(tab: Tab, server: Server) -> None:
    """What its first view loads, and what all of them do as it is sent, in bytes."""
    loaded = (
        "['decodedBodySize', 'transferSize'].map((size) => ['resource', 'navigation']"
        ".flatMap((kind) => performance.getEntriesByType(kind))"
        ".reduce((sum, one) => sum + one[size], 0))"
    )
    tab("Network.clearBrowserCache")
    show(tab, server, "analyse")
    wait(tab, "document.querySelector('.status').textContent.includes('White to move')")
    assert 50_000 < tab.js(loaded)[0] < LIGHT
    for view in VIEWS[1:]:
        tab.js(f"location.hash = '#{view}'")
        wait(tab, f"document.title === '{view.capitalize()} · Kibitz'")
        wait(tab, "document.querySelector('#view .squares')")
    everything, sent = tab.js(loaded)
    assert everything > 150_000
    assert sent < LIGHT


def test_axe_finds_nothing(tab: Tab, server: Server) -> None:
    if not AXE.exists():
        pytest.skip("no axe-core here: npm install axe-core")
    axe = AXE.read_text(encoding="utf-8")
    found = []
    try:
        for theme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": theme}]
            tab("Emulation.setEmulatedMedia", features=features)
            for view in VIEWS:
                show(tab, server, view)
                if view == "analyse":
                    paste(tab, GAMES.split("\n\n[Event")[0])
                    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
                    press(tab, "Review")
                    wait(tab, "document.querySelector('.keys:not([hidden]) .move')")
                    for summary in ("Watch it think", "Openings", "Saved games"):
                        unfold(tab, summary)
                    wait(tab, "document.querySelectorAll('.engine tbody tr').length")
                wait(tab, "document.querySelector('#view .squares rect')")
                wait(tab, "!document.getAnimations().some((one) => one.playState === 'running')")
                run = f"axe.run(document, {{ runOnly: {json.dumps(RULES)} }})"
                broken = "one.nodes.map((node) => node.html + node.failureSummary)"
                listed = f"({{ violations }}) => violations.map((one) => [one.id, {broken}])"
                found += [(theme, view, *one) for one in tab.js(f"{axe}\n;{run}.then({listed})")]
    finally:
        tab("Emulation.setEmulatedMedia", features=[])
    assert not found, found


@pytest.mark.parametrize(  # of 1 280 pixels at 200 % and 400 %
    "width", [pytest.param(640, marks=pytest.mark.slow), 320]
)
def test_all_views_are_whole_when_they_are_zoomed(tab: Tab, server: Server, width: int) -> None:
    tab.size(width, 512)
    try:
        for view in VIEWS:
            show(tab, server, view)
            wait(tab, "document.querySelector('#view .squares')")
            assert tab.js("document.documentElement.scrollWidth") <= width, view
    finally:
        tab.size(1280, 900)


def test_moves_are_spoken_and_the_board_is_a_grid(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    wait(tab, "document.querySelector('.status').textContent.includes('White to move')")
    assert tab.js("document.querySelectorAll('#view [role=grid] [role=gridcell]').length") == 64
    live = "document.querySelector('#view .playboard [aria-live]').textContent"
    spoken = {"e4": "e4", "d5": "d5", "exd5": "e takes d5", "Qxd5": "queen takes d5"}
    spoken |= {"Nf3": "knight f3", "Qe4+": "queen e4, check"}
    for move, said in spoken.items():
        type_move(tab, move)
        wait(tab, f"{live} === {json.dumps(said)}")
    active = "document.querySelector('#view .cells').getAttribute('aria-activedescendant')"
    cell = f"document.getElementById({active})"
    tab.js("document.querySelector('#view .cells').focus()")
    tab.key("ArrowUp")
    tab.key("ArrowUp")
    assert tab.js(f"{cell}.textContent") == "e3 empty"
    for _ in range(2):
        tab.key("ArrowDown")
    assert tab.js(f"{cell}.textContent") == "e1 white king"


def test_a_threat_is_shown_and_a_link_holds_the_game(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse/rnbqkbnr/pppp1ppp/8/4p3/2B1P2Q/8/PPPP1PPP/RNB1K1NR_b_KQkq_-_0_3")
    wait(tab, "document.querySelector('.status').textContent.includes('Black to move')")
    tab.js("document.activeElement.blur()")
    tab.key("t")
    wait(tab, "document.querySelector('.status').textContent.startsWith('The threat is ')")
    wait(tab, "document.querySelectorAll('.arrow.mark-R').length === 1")
    paste(tab, GAMES.split("\n\n[Event")[0])
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    tab.js("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    press(tab, "Copy link")
    wait(tab, "window.copied")
    link = tab.js("window.copied")
    assert link.startswith(f"{server.url}#game/")
    tab.js("localStorage.clear(); sessionStorage.clear()")
    sent = len(tab.requests)
    tab.open(link)
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    wait(tab, "document.querySelector('.names').innerText.startsWith('Anna')")
    assert not any(link.split("/")[-1] in url.partition("#")[0] for url in tab.requests[sent:])
    tab.open(link[:-30])
    wait(tab, "document.querySelector('.toast').innerText.includes('no whole game')")
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")  # what was there before


def test_boards_pieces_and_sounds_are_chosen(tab: Tab, server: Server) -> None:
    script = tab("Page.addScriptToEvaluateOnNewDocument", source=SILENT)["identifier"]
    show(tab, server, "analyse")
    type_move(tab, "e4")
    moves_are(tab, "e4")
    assert tab.js("window.tones") == 0  # off by default
    square = "getComputedStyle(document.querySelector('#view .square.dark')).fill"
    green = tab.js(square)
    tab.js("document.getElementById('look').click()")
    choose(tab, "Board", "brown", "dialog")
    choose(tab, "Pieces", "plain", "dialog")
    tab.js("document.querySelector('dialog input[type=checkbox]').click()")
    press(tab, "Close", "dialog")
    assert tab.js("window.tones") == 2  # how it sounds
    type_move(tab, "e5")
    moves_are(tab, "e4", "e5")
    assert tab.js("window.tones") == 3
    show(tab, server, "analyse", keep=True)
    assert tab.js(square) != green
    assert tab.js("document.querySelectorAll('#piece-K .plain-piece.white').length") == 1
    tab("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    tab.js("localStorage.clear()")


def test_a_move_made_ahead_is_played_when_its_turn_comes(tab: Tab, server: Server) -> None:
    slow = """const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (text) {
        if (text.includes('"do":"think"')) window.goOn = () => send.call(this, text);
        else send.call(this, text);
      };"""
    script = tab("Page.addScriptToEvaluateOnNewDocument", source=slow)["identifier"]
    show(tab, server, "play")
    wait(tab, "document.querySelector('#start-game')")
    choose(tab, "Start", "fen")
    choose(tab, "FEN", "7k/8/8/8/8/8/P7/K7 w - - 0 1")
    choose(tab, "Time", "1")
    press(tab, "Play")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    type_move(tab, "a4")
    wait(tab, "window.goOn")
    drag(tab, "a4", "a5")
    wait(tab, "document.querySelectorAll('#view .premove').length === 2")
    drag(tab, "a1", "a2")  # the last one counts
    wait(tab, "document.querySelectorAll('#view .premove').length === 2")
    tab.js("goOn()")
    wait(tab, "document.querySelectorAll('#view .moves .move').length >= 3")
    wait(tab, "document.querySelectorAll('#view .moves .move')[2].innerText.includes('Ka2')")
    assert not tab.js("document.querySelectorAll('#view .premove').length")
    tab("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
