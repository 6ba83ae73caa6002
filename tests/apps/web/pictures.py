"""The pictures of docs/web.md, drawn anew: `python -m tests.apps.web.pictures`."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path

from tests.apps.web.conftest import GAMES, Server, files_for_tests
from tests.apps.web.steps import moves_are, press, show, type_move, wait
from tests.apps.web.test_coach import fill
from tests.comment.browser import Tab, browser

DOCS = Path(__file__).parents[3] / "docs"
MIDDLE = "analyse/r1bq1rk1/pp2bppp/2n1pn2/3p4/3P1B2/2N1PN2/PP2BPPP/R2Q1RK1_w_-_-_0_10"
VISITS = 20_000  # that a search has in the pictures, at least
LARGEST = 150_000  # bytes of a picture
QUALITY = 80  # per cent


def main() -> None:
    """Draw them all."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        fill(work / "games.db")
        server = Server(files_for_tests(work), "--database", str(work / "games.db"))
        try:
            with browser(work / "profile") as tab:
                draw(tab, server)
        finally:
            server.stop()


def draw(tab: Tab, server: Server) -> None:
    """Analyse by day, thinking and comparing, play by night, on a phone."""
    tab.size(1280, 860)
    show(tab, server, MIDDLE)
    tab.js("document.querySelector('.think').open = true")
    tab.js("document.querySelector('.switch').click()")
    searched(tab)
    save(tab, "web-think.webp")
    tab.size(1280, 620)
    show(tab, server, "coach")
    press(tab, "Hint")
    wait(tab, "document.querySelector('.outcome').innerText.startsWith('White to move')")
    type_move(tab, "d4")
    wait(tab, "document.querySelector('.reasons').innerText.includes('It is mate')")
    save(tab, "web-coach.webp")
    tab.size(1480, 760)
    show(tab, server, MIDDLE)
    tab.js("document.querySelectorAll('.think').forEach((one) => { one.open = true; })")
    tab.js("document.querySelector('.switch').click()")
    press(tab, "Compare")
    searched(tab, 2)
    save(tab, "web-compare.webp")
    tab.size(1280, 760)
    show(tab, server, "analyse")
    tab.js(f"document.querySelector('textarea').value = {GAMES.split('[Event')[1]!r}.slice(8)")
    press(tab, "Open")
    moves_are(tab, "e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6", "Qxf7#")
    press(tab, "Review")
    wait(tab, "document.querySelector('.keys:not([hidden]) .move')")
    wait(tab, "document.querySelectorAll('.lines li').length")
    save(tab, "web-analyse.webp")
    tab("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    tab.size(390, 780, mobile=True)
    show(tab, server, "play")
    press(tab, "Play")
    for number, move in enumerate(("e4", "Nf3"), start=1):
        wait(tab, "document.querySelector('.outcome').textContent === 'Your move'")
        type_move(tab, move)
        wait(tab, f"document.querySelectorAll('.moves .move').length === {2 * number}")
    save(tab, "web-play.webp")


def searched(tab: Tab, panels: int = 1) -> None:
    """Wait until every panel's search has visits enough."""
    seen = "[...document.querySelectorAll('.engine:not([hidden]) .time .facts')]"
    visits = f"{seen}.map((one) => Number(one.textContent.split('·')[1]?.replace(/\\D/g, '')))"
    wait(tab, f"{visits}.filter((one) => one > {VISITS}).length === {panels}")


def save(tab: Tab, name: str) -> None:
    """Save what is seen, once all that moves has come to rest."""
    tab.js("Promise.allSettled(document.getAnimations().map((one) => one.finished))")
    found = tab("Page.captureScreenshot", format="webp", quality=QUALITY)
    (DOCS / name).write_bytes(base64.b64decode(found["data"]))
    size = (DOCS / name).stat().st_size
    assert size <= LARGEST, f"{name} has {size} bytes"


if __name__ == "__main__":
    main()
