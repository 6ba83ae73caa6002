"""Pictures of positions and games: written by the page, read here."""

from __future__ import annotations

import base64
import io
from xml.etree import ElementTree

import chess
import pytest
from PIL import Image, ImageChops, ImageSequence, ImageStat

from tests.apps.web.conftest import GAMES, Server
from tests.apps.web.steps import moves_are, paste, press, show, type_move, wait
from tests.comment.browser import Tab

SVG = "{http://www.w3.org/2000/svg}"
BROWN = {"light": (240, 220, 189), "dark": (181, 136, 99)}  # as in style.css
KEEP = """window.saved = null;
  URL.createObjectURL = (blob) => { window.saved = blob; return "data:,"; };"""
READ = """saved.arrayBuffer().then((bytes) => {
  let text = "";
  for (const byte of new Uint8Array(bytes)) text += String.fromCharCode(byte);
  return btoa(text);
})"""
SLOW = """const decode = HTMLImageElement.prototype.decode;
  HTMLImageElement.prototype.decode = async function () {
    await new Promise((done) => setTimeout(done, 500));
    return decode.call(this);
  };"""


def saved(tab: Tab, kind: str) -> bytes:
    """The file that a button of the dialog saves."""
    tab.js(KEEP)
    press(tab, "Picture")
    press(tab, kind, "dialog")
    wait(tab, "window.saved")
    return base64.b64decode(str(tab.js(READ)))


@pytest.mark.slow
def test_a_game_is_an_animation_with_a_frame_for_each_position(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    tab.js("document.documentElement.dataset.board = 'brown'")
    paste(tab, GAMES.split("\n\n[Event")[0])
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    press(tab, "Flip")
    picture = Image.open(io.BytesIO(saved(tab, "Game as GIF")))
    assert picture.info["loop"] == 0
    frames, times = [], []
    for frame in ImageSequence.Iterator(picture):
        times.append(frame.info["duration"])
        frames.append(frame.convert("RGB"))
    assert times == [*[1000] * 7, 3000]
    board = chess.Board()
    for frame, san in zip(
        frames, ("e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#", ""), strict=True
    ):
        assert occupied(frame) == {*board.piece_map()}
        if san:
            board.push_san(san)
    corner = frames[0].getpixel((7 * 60 + 5, 5))  # a1, in the upper right corner
    assert corner == BROWN["dark"]
    for move in range(1, 8):  # what a frame says is in its file
        assert frames[move].tobytes() != frames[move - 1].tobytes()
    drawn = Image.open(io.BytesIO(saved(tab, "Position as PNG"))).convert("RGB")
    assert drawn.size == (960, 960)
    press(tab, "\u00ab", "#view .controls")
    first = Image.open(io.BytesIO(saved(tab, "Position as PNG"))).convert("RGB").resize((480, 480))
    assert max(ImageStat.Stat(ImageChops.difference(first, frames[0])).mean) < 3.0
    tab.js("delete document.documentElement.dataset.board")


def occupied(picture: Image.Image) -> set[int]:
    """The squares with a piece, Black below: those with other colours inside than at an edge."""
    size = picture.width // 8
    squares = set()
    for square in chess.SQUARES:
        left, top = (7 - chess.square_file(square)) * size, chess.square_rank(square) * size
        inside = picture.crop((left + 15, top + 15, left + size - 15, top + size - 15))
        if len(inside.getcolors(900) or []) != 1:
            squares.add(square)
    return squares


def test_a_position_is_a_picture_that_needs_no_page(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse/8/P6k/8/8/8/8/8/K7_w_-_-_0_1")
    wait(tab, "document.querySelector('.status').textContent.includes('White to move')")
    tab.js(KEEP)
    press(tab, "Picture")
    wait(tab, "document.querySelector('dialog')")
    assert not tab.js("document.querySelector('dialog').innerText.includes('GIF')")
    press(tab, "Cancel", "dialog")
    type_move(tab, "a8=Q")
    moves_are(tab, "a8=Q")
    picture = ElementTree.fromstring(saved(tab, "as SVG"))
    pieces = {one.get("id") for one in picture.iterfind(f"{SVG}defs/{SVG}g")}
    assert pieces == {"piece-K", "piece-Q", "piece-k"}
    assert [one.text for one in picture.iterfind(f"{SVG}text")].count("h") == 1
    squares = [one.get("fill") for one in picture.iterfind(f"{SVG}rect")]
    assert len(squares) == 64
    assert sorted(map(squares.count, {*squares})) == [1, 1, 31, 31]  # the last move is seen
    assert not [one for one in picture.iter() if one.get("class") or one.get("style")]


def test_an_animation_may_end_where_one_is_and_be_stopped(tab: Tab, server: Server) -> None:
    show(tab, server, "analyse")
    paste(tab, GAMES.split("\n\n[Event")[0])
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    press(tab, "\u00ab", "#view .controls")
    press(tab, "\u203a", "#view .controls")
    picture = Image.open(io.BytesIO(saved(tab, "GIF up to here")))
    assert len([*ImageSequence.Iterator(picture)]) == 2
    tab.js(KEEP + SLOW)
    press(tab, "Picture")
    press(tab, "Game as GIF", "dialog")
    press(tab, "Stop", "dialog")
    wait(tab, "!document.querySelector('dialog')")
    tab.js("new Promise((done) => setTimeout(done, 1000))")
    assert tab.js("window.saved") is None
