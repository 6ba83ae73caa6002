"""Games that the browser saves, openings beside the board, panels that stay as they were."""

from __future__ import annotations

import json

import pytest

from tests.apps.web.conftest import GAMES, Server
from tests.apps.web.steps import (
    choose,
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

TITLE = "Anna \u2013 Ben · 1-0"


def test_games_are_saved_for_all_tabs_and_none_is_lost(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    paste(tab, GAMES.split("\n\n[Event")[0])
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    press(tab, "New")
    type_move(tab, "d4")
    moves_are(tab, "d4")
    unfold(tab, "Saved games")
    entries = "#view .files li button:first-child"
    wait(tab, f"document.querySelectorAll('{entries}').length === 2")
    assert texts(tab, entries) == ["1.d4", TITLE]
    press(tab, TITLE)
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    other = tab.sibling()
    try:
        show(other, server, "analyse", keep=True)
        press(other, TITLE)
        moves_are(other, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
        press(other, "«", "#view .controls")
        type_move(other, "c4")
        moves_are(other, "e4", "c4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
        assert len(texts(other, entries)) == 2  # the same game, changed
    finally:
        other.close()
    press(tab, "«", "#view .controls")
    type_move(tab, "g3")  # meanwhile changed elsewhere: both are kept
    wait(tab, f"document.querySelectorAll('{entries}').length === 3")
    show(tab, server, "analyse", keep=True)
    moves_are(tab, "e4", "g3", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    wait(tab, f"document.querySelectorAll('{entries}').length === 3")
    tab.js("document.querySelector('#view .files .quiet').click()")
    wait(tab, f"document.querySelectorAll('{entries}').length === 2")
    press(tab, "Undo", "#toasts")
    wait(tab, f"document.querySelectorAll('{entries}').length === 3")
    press(tab, TITLE)
    press(tab, "Review")
    wait(tab, "document.querySelector('.keys:not([hidden])')")
    assert len(texts(tab, entries)) == 3  # it is the same game
    press(tab, "Files")
    press(tab, "games.pgn", "dialog")  # lies elsewhere: it is saved once it is changed
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    assert len(texts(tab, entries)) == 3
    press(tab, "Remove move")
    press(tab, "\u00bb", "#view .controls")
    press(tab, "Remove move")
    wait(tab, f"document.querySelectorAll('{entries}').length === 4")


def test_openings_stand_beside_the_board(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    unfold(tab, "Openings")
    wait(tab, "document.querySelector('.openings').innerText.includes('no games yet')")
    choose(tab, "From", "/0/games.pgn")
    wait(tab, "document.querySelector('.explorer tbody').innerText.includes('e4')")
    tab.js("document.querySelector('.explorer .line-move').click()")
    moves_are(tab, "e4")
    wait(tab, "document.querySelector('.explorer tbody').innerText.includes('e5')")
    paste(tab, GAMES.replace('"*"', '"1/2-1/2"').replace(" *", " 1/2-1/2"))
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    choose(tab, "From", "text")
    wait(tab, "document.querySelector('.explorer tbody').rows.length === 2")  # e4 and d4
    said = tab.js("[...document.querySelectorAll('.explorer .wdl')].map((one) => one.ariaLabel)")
    assert sorted(said) == [
        "White wins 0, draws 1, Black wins 0",
        "White wins 1, draws 0, Black wins 0",
    ]


def test_panels_are_after_a_reload_as_they_were(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    type_move(tab, "e4")
    moves_are(tab, "e4")
    for summary in ("Watch it think", "Openings", "Saved games"):
        unfold(tab, summary)
    press(tab, "Settings")
    wait(tab, "document.querySelector('.settings .field')")
    wait(tab, "document.querySelector('.openings').innerText.includes('no games yet')")
    box = tab.js(
        "(() => { const one = document.querySelector('.moves').getBoundingClientRect();"
        " return [one.right, one.bottom, one.height]; })()"
    )
    for kind, down in (("mousePressed", 0), ("mouseMoved", 90), ("mouseReleased", 90)):
        place = {"x": box[0] - 4, "y": box[1] - 4 + down, "button": "left", "buttons": 1}
        tab("Input.dispatchMouseEvent", type=kind, clickCount=1, **place)
    tab.js("document.querySelector('.switch').click()")
    state = (
        "JSON.stringify([document.querySelector('.moves').offsetHeight,"
        " [...document.querySelectorAll('#view details')].map((one) => one.open),"
        " document.querySelector('.settings').hidden,"
        " document.querySelector('.switch').ariaChecked])"
    )
    before = tab.js(state)
    assert json.loads(before)[0] == pytest.approx(box[2] + 90, abs=2)
    assert json.loads(before)[1:] == [[True, False, True, True], False, "true"]
    wait(
        tab, f"JSON.parse(localStorage['kibitz-panels']).moves?.height === {json.loads(before)[0]}"
    )
    show(tab, server, "analyse", keep=True)
    wait(tab, f"{state} === {json.dumps(before)}")


def test_openings_follow_the_games_that_are_opened(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    unfold(tab, "Openings")
    games = GAMES.replace('"*"', '"1/2-1/2"').replace(" *", " 1/2-1/2")
    paste(tab, games)
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    choose(tab, "From", "text")
    wait(tab, "document.querySelector('.explorer tbody').innerText.includes('d4')")
    paste(tab, games.replace("1. d4 d5", "1. c4 c5"))  # as long as the other text
    wait(tab, "document.querySelector('.explorer tbody').innerText.includes('c4')")
    assert not any("d4" in text for text in texts(tab, ".explorer tbody th"))
    assert tab.js("document.querySelector('.openings select').value") == "text"


def test_an_annotation_takes_the_place_of_no_other_game(tab: Tab, server: Server) -> None:
    slow = """const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (text) {
        setTimeout(() => send.call(this, text), text.includes('"do":"annotate"') ? 1500 : 0);
      };"""
    script = tab("Page.addScriptToEvaluateOnNewDocument", source=slow)["identifier"]
    show(tab, server, "analyse")
    paste(tab, GAMES.split("\n\n[Event")[0])
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    press(tab, "Review")
    press(tab, "New")
    type_move(tab, "d4")
    wait(tab, "document.querySelector('#toasts').innerText.includes('annotation')")
    moves_are(tab, "d4")
    press(tab, "Show it", "#toasts")
    wait(tab, "document.querySelector('.keys:not([hidden]) .move')")
    tab("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


@pytest.mark.slow
def test_an_annotation_is_followed_over_a_reload(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    paste(tab, GAMES.split("\n\n[Event")[0])
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    press(tab, "Annotate")
    press(tab, "Annotate", "dialog")
    wait(tab, "document.querySelector('.progress progress')")
    show(tab, server, "analyse", keep=True)
    wait(tab, "document.querySelector('.progress a')")
    assert tab.js("document.querySelector('.moves .blunder')") is not None


def test_texts_and_addresses_that_were_cut_are_answered(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    tab.js("document.querySelector('textarea').value = '[White \"\\ud83d\"]\\n\\n1. e4 e5 *'")
    press(tab, "Open")
    moves_are(tab, "e4", "e5")
    tab.js("location.hash = '#analyse/%E0%A4'")
    wait(tab, "document.querySelector('#toasts').innerText.includes('was it cut?')")
