"""The page in a browser: played on, analysed with, looked into, lost and found again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.apps.web.conftest import GAMES, PUZZLES, Server
from tests.apps.web.steps import (
    choose,
    drag,
    moves_are,
    paste,
    point,
    press,
    show,
    texts,
    tick,
    touch,
    type_move,
    wait,
)
from tests.comment.browser import Tab

ATTACK = "<img src=x onerror=alert(1)>"


def test_a_game_is_played_with_clicks_and_drags(tab: Tab, server: Server) -> None:
    show(tab, server, "play")
    wait(tab, "document.querySelector('#view input[type=range]')")
    choose(tab, "Opponent", "500")
    assert tab.js("document.querySelector('#view input[type=range]').value") == "500"
    choose(tab, "What it judges by", "material")
    press(tab, "Play")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    tab.click(*point(tab, "e2"))
    wait(tab, "document.querySelectorAll('.target').length === 2")
    tab.click(*point(tab, "e4"))
    wait(tab, "document.querySelectorAll('.moves .move').length === 2")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    drag(tab, "g1", "f3")
    wait(tab, "document.querySelectorAll('.moves .move').length === 4")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    show(tab, server, "play", keep=True)  # a reload goes on with the game
    wait(tab, "document.querySelectorAll('.moves .move').length === 4")
    press(tab, "Take back")
    wait(tab, "document.querySelectorAll('.moves .move').length === 2")
    press(tab, "Hint")
    wait(tab, "document.querySelector('.outcome').textContent.startsWith('Perhaps')")
    press(tab, "Resign")
    press(tab, "Play on", "dialog")
    assert texts(tab, ".outcome")[0].startswith("Perhaps")
    press(tab, "Resign")
    press(tab, "Resign", "dialog")
    wait(tab, "document.querySelector('.outcome').textContent === '0-1, you resigned'")
    show(tab, server, "play", keep=True)  # nor does a reload lose the game that has ended
    wait(tab, "document.querySelector('.outcome').textContent === '0-1, you resigned'")
    answer = texts(tab, "#view .moves .move")[1]
    press(tab, "Analyse")
    wait(tab, "location.hash.startsWith('#analyse')")
    moves_are(tab, "e4", answer)
    tab.js("new Promise((done) => setTimeout(done, 500))")
    moves_are(tab, "e4", answer)


def test_a_pawn_is_promoted_and_arrows_are_drawn(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse/8/P6k/8/8/8/8/8/K7_w_-_-_0_1")
    wait(tab, "document.querySelector('.status').textContent.includes('White to move')")
    drag(tab, "h7", "h6", "right")
    wait(tab, "document.querySelectorAll('.arrow').length === 1")
    drag(tab, "a7", "a8")
    wait(tab, "document.querySelectorAll('.promotion:not([hidden]) button').length === 4")
    tab.js("document.querySelector('.promotion [data-piece=n]').click()")
    moves_are(tab, "a8=N")
    wait(tab, "document.querySelectorAll('.arrow').length === 0")
    press(tab, "\u00ab", "#view .controls")
    for square in ("a7", "a8", "a6"):  # the third button, the rook
        touch(tab, *point(tab, square))
    moves_are(tab, "a8=N", "a8=R")


def test_a_position_is_there_before_anything_can_be_done(tab: Tab, server: Server) -> None:
    """An answer that comes late takes no arrow away, and brings no view back that was left."""
    show(tab, server, "analyse")
    type_move(tab, "a4")
    moves_are(tab, "a4")
    slow = """const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (text) {
        setTimeout(() => send.call(this, text), text.includes('"do":"read"') ? 700 : 0);
      };"""
    script = tab("Page.addScriptToEvaluateOnNewDocument", source=slow)["identifier"]
    show(tab, server, "analyse/8/P6k/8/8/8/8/8/K7_w_-_-_0_1", keep=True)
    wait(tab, "document.querySelector('.status').textContent.includes('White to move')")
    assert tab.js("document.querySelectorAll('#view .squares use[data-at]').length") == 3
    drag(tab, "h7", "h6", "right")
    wait(tab, "document.querySelectorAll('.arrow').length === 1")
    tab.js("location.hash = '#analyse/8/P6k/8/8/8/8/8/1K6_b_-_-_0_1'")
    wait(tab, "document.querySelector('.status').textContent.includes('Black to move')")
    tab.js("location.hash = '#play'; location.hash = '#puzzles'; location.hash = '#networks'")
    wait(tab, "document.title === 'Networks · Kibitz'")
    assert tab.js("location.hash") == "#networks"
    tab.js("location.hash = '#analyse/8/P6k/8/8/8/8/8/K7_w_-_-_0_1'")
    wait(tab, "document.querySelector('.status').textContent.includes('White to move')")
    tab("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def test_keys_alone_are_enough(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    wait(tab, "document.querySelector('.status').textContent.includes('White to move')")
    tab.js("document.querySelector('#view .cells').focus()")
    for key in ("ArrowUp", "Enter", "ArrowUp", "ArrowUp", "Enter"):
        tab.key(key)
    moves_are(tab, "e4")
    spoken = tab.js("document.querySelector('#view .squares').getAttribute('aria-label')")
    assert "pawn e4" in spoken
    assert "Black to move" in spoken
    type_move(tab, "c5")
    moves_are(tab, "e4", "c5")
    tab.js("document.activeElement.blur()")
    tab.key("Home")
    wait(tab, "!document.querySelector('.moves [aria-current]')")
    type_move(tab, "d2d4")
    moves_are(tab, "e4", "d4", "c5")


def test_the_search_is_watched_and_looked_into(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    assert not {"PUCT", "Read", "Network"} & set(texts(tab, "#view")[0].split())
    tab.js("document.querySelector('.switch').click()")
    wait(tab, "document.querySelectorAll('.lines li').length === 3")
    line = "document.querySelector('.line-moves')"
    assert tab.js(f"getComputedStyle({line}).maskImage") == "none"
    assert tab.js(f"getComputedStyle({line}).flexWrap") == "wrap"  # no move is cut
    assert tab.js("document.querySelector('.wdl').getAttribute('aria-label')")
    tab.js("document.querySelector('.think').open = true")
    wait(tab, "document.querySelectorAll('.engine tbody tr').length === 20")
    tab.js(
        "document.querySelector('.engine tr[data-move=e2e4] button').click()"
    )  # rows change places
    wait(tab, "document.querySelector('.crumbs').innerText.includes('e4')")
    wait(tab, "document.querySelector('.engine tr[data-move=e7e5] .visits').innerText")
    before = texts(tab, ".engine tr[data-move=e7e5] .visits")[0]
    now = "document.querySelector('.engine tr[data-move=e7e5] .visits').innerText"
    wait(tab, f"{now} !== {json.dumps(before)}")
    press(tab, "Back", ".crumbs")
    wait(tab, "document.querySelectorAll('.engine tr[data-move=e2e4]').length")
    wait(tab, "Number(document.querySelector('.time input').max) > 0")
    tab.js(
        "(() => { const one = document.querySelector('.time input');"
        " one.value = 0; one.dispatchEvent(new Event('input')); })()"
    )
    wait(tab, "document.querySelector('.time').innerText.includes('earlier')")
    tab.js("document.querySelector('.line-moves button').dispatchEvent(new Event('mouseenter'))")
    wait(tab, "document.querySelector('.squares.previewed')")
    tab.js("document.querySelector('.lines').dispatchEvent(new Event('mouseleave'))")
    wait(tab, "!document.querySelector('.squares.previewed')")


def test_what_comes_before_its_name_is_not_lost(tab: Tab, server: Server) -> None:
    """A search that ends at once tells its result once, perhaps before the page knows its topic."""
    slow = """Object.defineProperty(WebSocket.prototype, "onmessage", { set(hear) {
      this.addEventListener("message", (event) => {
        const named = event.data.includes('"id"') && event.data.includes('"topic":"watch');
        setTimeout(() => hear.call(this, event), named ? 700 : 0);
      });
    } });"""
    script = tab("Page.addScriptToEvaluateOnNewDocument", source=slow)["identifier"]
    show(tab, server, "analyse/6k1/5ppp/8/8/8/8/5PPP/1R4K1_w_-_-_0_1")
    wait(tab, "document.querySelector('.status').textContent.includes('White to move')")
    for _ in range(2):  # the second time it is proved already
        tab.js("document.querySelector('.switch').click()")
        wait(tab, "document.querySelector('.big-score').textContent === '#1'")
        tab.js("document.querySelector('.switch').click()")
        tab.js("document.querySelector('.big-score').textContent = ''")
    tab("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def test_two_settings_stand_side_by_side(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse/8/8/8/4k3/8/8/4P3/4K3_w_-_-_0_1")
    press(tab, "Compare")
    second = ".engine[aria-label='Engine 2']"
    press(tab, "Settings", second)
    choose(tab, "Contempt", "", second)
    choose(tab, "Network", "material", second)
    tab.js("document.querySelectorAll('.switch').forEach((one) => one.click())")
    wait(tab, "[...document.querySelectorAll('.big-score')].every((one) => one.textContent)")
    assert any("material" in text for text in texts(tab, ".engine-name"))


@pytest.mark.slow
def test_the_page_comes_back_when_the_server_does(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    type_move(tab, "e4")
    tab.js("document.querySelector('.switch').click()")
    wait(tab, "document.querySelector('.engine-about .facts').textContent.includes('positions')")
    server.stop()
    wait(tab, "document.body.dataset.connection === 'lost'")
    wait(tab, "document.querySelector('#connection').textContent.includes('connecting')")
    facts = texts(tab, ".engine-about .facts")[0]
    server.start()
    wait(tab, "document.body.dataset.connection === 'open'")
    now = "document.querySelector('.engine-about .facts').textContent"
    wait(tab, f"{now}.includes('positions') && {now} !== {json.dumps(facts)}")
    type_move(tab, "e5")
    moves_are(tab, "e4", "e5")
    tab.trouble.clear()  # the browser complains of the server that was away


def test_what_is_pasted_is_read_or_refused_in_a_sentence(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    type_move(tab, "e4")
    moves_are(tab, "e4")
    paste(tab, "1. Kd7 *")
    wait(tab, "document.querySelector('.toast').innerText.includes('Kd7 is not a legal move')")
    moves_are(tab, "e4")
    paste(tab, '[White "Anna"]\n[Black "Ben"]\n\n1. d4 d5 2. Kd7 *')
    wait(tab, "document.querySelector('.toast').innerText.includes('from 2. Kd7 on')")
    assert len(texts(tab, ".toast")) == 1
    bottom = tab.js("document.querySelector('.toast').getBoundingClientRect().bottom")
    assert bottom <= tab.js("document.querySelector('#view .squares').getBoundingClientRect().top")
    moves_are(tab, "d4", "d5")
    assert texts(tab, ".names") == ["Anna \u2013 Ben"]
    paste(tab, "{" + 1_100_000 * "x" + "} 1. e4 *")
    wait(tab, "document.querySelector('#toasts').innerText.includes('too long to send')")
    paste(tab, f"1. d4 {{{ATTACK}}} d5 (1... Nf6 2. c4) 2. c4 *")
    moves_are(tab, "d4", "d5", "Nf6", "c4", "c4")
    assert ATTACK in texts(tab, ".moves .comment")
    paste(tab, GAMES)
    wait(tab, "document.querySelector('#view .right').innerText.includes('2 games')")
    paste(tab, "6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1")
    wait(tab, "!document.querySelector('.moves .move')")
    type_move(tab, "Rb8")
    wait(tab, "document.querySelector('.status').textContent.includes('1-0, checkmate')")


def test_a_game_is_annotated(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    paste(tab, GAMES.split("\n\n[Event")[0])
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    press(tab, "Annotate")
    choose(tab, "Nodes", "200", "dialog")
    press(tab, "Annotate", "dialog")
    wait(tab, "document.querySelector('.progress a')")
    assert any("mate" in text for text in texts(tab, ".moves .comment"))
    assert tab.js("document.querySelector('.moves .blunder')") is not None
    page = tab.js("fetch(document.querySelector('.progress a').href).then((one) => one.text())")
    assert "Content-Security-Policy" in page
    assert "Key moments" in page


def test_one_click_reviews_a_game_and_opens_where_it_turned(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    paste(tab, GAMES.split("\n\n[Event")[0])
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    press(tab, "Review")
    wait(tab, "document.querySelector('.keys:not([hidden]) .move')")
    wait(tab, "document.querySelector('.keys .move[aria-current]').innerText === '3… Nf6'")
    wait(tab, "document.querySelector('.moves [aria-current]').innerText.includes('Nf6')")
    assert tab.js("document.querySelectorAll('.graph .fault.blunder').length") == 1
    wait(tab, "document.querySelectorAll('.lines li').length")  # the engine is on
    tab.js("document.querySelector('.moves .move').click()")
    wait(tab, "!document.querySelector('.keys .move[aria-current]')")
    press(tab, "3… Nf6", ".keys")
    wait(tab, "document.querySelector('.moves [aria-current]').innerText.includes('Nf6')")
    show(tab, server, "analyse", keep=True)
    wait(tab, "document.querySelector('.keys .move[aria-current]').innerText === '3… Nf6'")


def test_training_data_networks_and_puzzles_are_looked_at(tab: Tab, server: Server) -> None:
    show(tab, server, "training")
    wait(tab, "document.querySelector('.policy').innerText.includes('e4')")
    press(tab, "\u203a")  # the next position
    wait(tab, "document.querySelector('.policy').innerText.includes('c5')")
    press(tab, "+1")
    wait(tab, "document.querySelector('h3').innerText.startsWith('Game 2 of 2')")
    show(tab, server, "networks")
    wait(tab, "document.querySelectorAll('.policy li').length === 16")
    wait(tab, "document.querySelector('.facts-table').innerText.includes('sparse')")
    show(tab, server, "puzzles")
    wait(tab, "document.querySelector('.outcome').innerText.startsWith('White to move')")
    type_move(tab, "Rc1")
    wait(tab, "document.querySelector('.outcome').innerText.includes('is not it')")
    type_move(tab, "Rb8")
    moves_are(tab, "Ra8", "Rb8+", "Rxb8")
    type_move(tab, "g3")
    wait(tab, "document.querySelector('.outcome').innerText.includes('the last puzzle')")
    assert tab.js(
        "[...document.querySelectorAll('button')].find((one) => one.innerText === 'Next').disabled"
    )


def test_positions_are_set_up_and_suites_solved(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse/bqnbrkr1/pppppppp/8/8/8/8/PPPPPPPP/BQNBRKR1_w_GEge_-_0_1")
    wait(tab, "document.querySelector('#view .squares').ariaLabel.includes('king f1')")
    wait(tab, "document.querySelector('.status').textContent.includes('White to move')")
    drag(tab, "f1", "g1")  # the king onto its rook
    moves_are(tab, "O-O")
    press(tab, "Set up")
    press(tab, "Empty", "dialog")
    press(tab, "Use it", "dialog")
    wait(tab, "document.querySelector('dialog .message').innerText.includes('one king')")
    press(tab, "Start position", "dialog")
    press(tab, "Use it", "dialog")
    wait(tab, "!document.querySelector('.moves .move')")
    press(tab, "Files")
    press(tab, "suite.epd", "dialog")
    wait(tab, "document.querySelector('#view .right').innerText.includes('1 position')")
    press(tab, "Solve")
    wait(tab, "document.querySelector('#view .right').innerText.includes(': solved (Rb8#)')")
    tab.js(f"""(() => {{
      const files = new DataTransfer();
      files.items.add(new File([{json.dumps(GAMES)}], "games.pgn"));
      const event = new DragEvent("drop", {{ dataTransfer: files, bubbles: true }});
      document.querySelector(".desk").dispatchEvent(event);
    }})()""")
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")


def test_a_game_with_clocks_is_won_and_reviewed(tab: Tab, server: Server) -> None:
    show(tab, server, "play")
    wait(tab, "document.querySelector('#start-game')")
    choose(tab, "Start", "fen")
    choose(tab, "FEN", "6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1")
    choose(tab, "Time", "60+0")
    press(tab, "Play")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    wait(tab, "[...document.querySelectorAll('.clock')].some((one) => one.innerText === '0:59')")
    type_move(tab, "Rb8")
    wait(tab, "document.querySelector('.outcome').textContent === '1-0, checkmate'")
    press(tab, "Review")
    wait(tab, "location.hash.startsWith('#analyse')")
    wait(tab, "document.querySelector('.keys:not([hidden])')")


def test_it_plays_for_the_mistakes_of_the_person_at_full_strength(tab: Tab, server: Server) -> None:
    show(tab, server, "play")
    wait(tab, "document.querySelector('#start-game')")
    choose(tab, "Opponent", "1400")
    choose(tab, "It plays for your mistakes", "1500")
    wait(tab, "document.querySelector('.form output').textContent === 'full strength'")
    choose(tab, "You play", "b")
    choose(tab, "Time", "1")
    press(tab, "Play")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    wait(tab, "document.querySelectorAll('.moves .move').length === 1")
    press(tab, "New game")
    choose(tab, "Opponent", "1400")
    wait(
        tab, "[...document.querySelectorAll('select')].every((one) => one.value !== '1500')"
    )  # a limited strength plays for no mistakes


def test_of_two_moves_in_one_position_the_first_counts(tab: Tab, server: Server) -> None:
    slow = """const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (text) {
        setTimeout(() => send.call(this, text), text.includes('"do":"position"') ? 500 : 0);
      };"""
    script = tab("Page.addScriptToEvaluateOnNewDocument", source=slow)["identifier"]
    show(tab, server, "play")
    wait(tab, "document.querySelector('#start-game')")
    choose(tab, "Time", "1")
    press(tab, "Play")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    type_move(tab, "e4")
    type_move(tab, "Nf3")
    wait(tab, "document.querySelectorAll('.moves .move').length === 2")
    first, _ = texts(tab, ".moves .move")
    assert first == "1.e4"
    tab("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def test_a_mistake_is_named_and_may_be_taken_back(tab: Tab, server: Server) -> None:
    show(tab, server, "play")
    wait(tab, "document.querySelector('#start-game')")
    choose(tab, "Start", "fen")
    choose(tab, "FEN", "6k1/5ppp/8/3p4/8/4P3/5PPP/3R2K1 w - - 0 1")
    choose(tab, "Opponent", "3100")
    choose(tab, "Time", "1")
    tick(tab, "Tell me of a mistake")
    press(tab, "Play")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    type_move(tab, "Rxd5")  # good: Black, whose king has no air, cannot take it
    wait(tab, "document.querySelectorAll('.moves .move').length === 2")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    said = texts(tab, "#view .moves .move")
    type_move(tab, "Rd1")
    wait(tab, "document.querySelectorAll('.moves .move').length > 2")
    assert said == texts(tab, "#view .moves .move")[:2]
    show(tab, server, "play")
    choose(tab, "Start", "fen")
    choose(tab, "FEN", "r2q2k1/5ppp/8/8/8/8/5PPP/R2Q2K1 w - - 0 1")
    choose(tab, "Opponent", "3100")
    tick(tab, "Tell me of a mistake")
    press(tab, "Play")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    type_move(tab, "Qa4")
    wait(tab, "document.querySelector('.outcome').textContent === 'Qa4 is a mistake.'")
    assert "Rxa4" in texts(tab, "#view .words")[0]
    assert "Qxd8" not in texts(tab, "#view")[0]  # what was better
    press(tab, "Take it back")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    type_move(tab, "Qa4")
    press(tab, "Play it all the same")
    moves_are(tab, "Qa4", "Rxa4")


def test_a_lost_engine_takes_a_draw(tab: Tab, server: Server) -> None:
    show(tab, server, "play")
    wait(tab, "document.querySelector('#start-game')")
    choose(tab, "Start", "fen")
    choose(tab, "FEN", "7k/8/8/8/8/8/8/1Q2K3 w - - 0 40")
    choose(tab, "Time", "1")
    press(tab, "Play")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    type_move(tab, "Qb7")
    wait(tab, "document.querySelectorAll('.moves .move').length === 2")
    press(tab, "Draw")
    wait(tab, "document.querySelector('.outcome').textContent.endsWith('draw agreed')")


@pytest.mark.slow
def test_tabs_keep_their_own_games_and_engines(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    type_move(tab, "e4")
    moves_are(tab, "e4")
    tab.js("document.querySelector('.switch').click()")
    wait(tab, "document.querySelectorAll('.lines li').length === 3")
    other = tab.sibling()
    try:
        show(other, server, "analyse", keep=True)
        type_move(other, "d4")
        moves_are(other, "d4")
        assert other.js("document.querySelector('.switch').ariaChecked") == "false"
    finally:
        other.close()
    show(tab, server, "analyse", keep=True)
    moves_are(tab, "e4")
    wait(tab, "document.querySelectorAll('.lines li').length === 3")
    press(tab, "New")
    wait(tab, "!document.querySelector('#view .moves .move')")
    press(tab, "Bring it back", "#toasts")
    moves_are(tab, "e4")
    press(tab, "Remove move")
    press(tab, "Undo", "#toasts")
    moves_are(tab, "e4")


def test_a_game_is_kept_from_its_first_moment_and_its_clocks_wait(tab: Tab, server: Server) -> None:
    slow = """const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (text) {
        if (text.includes('"do":"ready"')) window.goOn = () => send.call(this, text);
        else send.call(this, text);
      };"""
    script = tab("Page.addScriptToEvaluateOnNewDocument", source=slow)["identifier"]
    show(tab, server, "play")
    wait(tab, "document.querySelector('#start-game')")
    choose(tab, "Start", "960")
    choose(tab, "The engine gives", "q")
    choose(tab, "Time", "60+0")
    press(tab, "Play")
    wait(tab, "window.goOn")
    tab.js("new Promise((done) => setTimeout(done, 1300))")
    assert set(texts(tab, ".clock")) == {"1:00"}
    spoken = tab.js("document.querySelector('#view .squares').ariaLabel")
    assert spoken.count("queen") == 1
    assert "Black: king" in spoken
    show(tab, server, "play", keep=True)  # before the first move
    wait(tab, "window.goOn")
    tab.js("goOn()")
    wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
    assert tab.js("document.querySelector('#view .squares').ariaLabel") == spoken
    wait(tab, "[...document.querySelectorAll('.clock')].some((one) => one.innerText === '0:59')")
    press(tab, "Draw")
    wait(tab, "document.querySelector('.toast').innerText.includes('declines')")
    press(tab, "New game")
    press(tab, "Play on", "dialog")
    assert texts(tab, ".outcome") == ["Your move"]
    tab("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def test_nothing_came_from_elsewhere_and_nothing_failed(tab: Tab, server: Server) -> None:
    assert tab.trouble == []
    elsewhere = [url for url in tab.requests if not url.startswith((server.url, "data:", "about:"))]
    assert elsewhere == []


@pytest.mark.slow
def test_a_rested_engine_goes_on_and_a_reload_keeps_a_puzzle(tab: Tab, tmp_path: Path) -> None:
    columns, puzzle = PUZZLES.splitlines()
    two = [columns, puzzle, puzzle.replace("test1", "test2")]
    (tmp_path / "two.csv").write_text("\n".join([*two, ""]))
    server = Server(tmp_path, "--minutes", "0.05")
    try:
        show(tab, server, "analyse")
        tab.js("document.querySelector('.switch').click()")
        wait(tab, "document.body.innerText.includes('The engine rests')")
        tab.js("document.querySelector('.lines').replaceChildren()")
        press(tab, "Go on")
        wait(tab, "document.querySelectorAll('.lines li').length === 3")
        wait(tab, "document.body.innerText.includes('The engine rests')")
        tab.size(390, 844)
        height = "document.querySelector('.lines li').offsetHeight"
        cut = tab.js(height)
        tab.js("document.querySelector('.line-more').click()")
        assert tab.js(height) > cut  # all moves of the line are there
        assert tab.js("document.querySelector('.line-more').ariaExpanded") == "true"
        tab.js("document.querySelector('.line-more').click()")
        assert tab.js(height) == cut
        tab.size(1280, 900)
        show(tab, server, "puzzles")
        press(tab, "Next")
        wait(tab, "JSON.parse(sessionStorage['kibitz-puzzles']).value.number === 1")
        show(tab, server, "puzzles", keep=True)
        wait(tab, "document.querySelector('.outcome').innerText.startsWith('White to move')")
        assert tab.js("JSON.parse(sessionStorage['kibitz-puzzles']).value.number") == 1
    finally:
        server.stop()


def test_files_of_the_page_are_short() -> None:
    import kibitz.apps.web

    for file in (Path(kibitz.apps.web.__file__).parent / "static").glob("*.js"):
        assert len(file.read_text(encoding="utf-8").splitlines()) <= 400, file
