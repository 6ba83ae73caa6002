"""What a person does in the page, step by step."""

from __future__ import annotations

import json

from tests.apps.web.conftest import Server
from tests.comment.browser import Tab

PATIENCE = 240_000  # milliseconds in which anything must have happened


def show(tab: Tab, server: Server, view: str, *, keep: bool = False) -> None:
    """Open a view of the page as a new visitor."""
    if not keep and server.url in str(tab.js("location.href")):
        tab.js("localStorage.clear(); sessionStorage.clear()")
    tab.open(f"{server.url}#{view}")
    wait(tab, "document.body.dataset.connection === 'open'")
    wait(tab, "document.querySelector('#view').children.length")


def wait(tab: Tab, condition: str) -> None:
    """Wait until an expression of the page is true."""
    code = f"""new Promise((done) => {{
      const end = Date.now() + {PATIENCE};
      const look = () => {{
        let found = false;
        try {{ found = Boolean({condition}); }} catch {{ found = false; }}
        if (found || Date.now() > end) done(found);
        else setTimeout(look, 30);
      }};
      look();
    }})"""
    assert tab.js(code), f"{condition}: {tab.js('document.body.innerText')}"


def press(tab: Tab, text: str, within: str = "#view") -> None:
    """Click the button with a text."""
    buttons = f"[...document.querySelectorAll({json.dumps(within + ' button')})]"
    found = f"{buttons}.find((one) => one.innerText === {json.dumps(text)} && one.offsetParent)"
    wait(tab, found)
    tab.js(f"{found}.click()")


def unfold(tab: Tab, text: str) -> None:
    """Click the heading of a part that can be folded."""
    headings = "[...document.querySelectorAll('#view summary')]"
    tab.js(f"{headings}.find((one) => one.innerText === {json.dumps(text)}).click()")


def tick(tab: Tab, text: str) -> None:
    """Click the box whose label begins with a text."""
    boxes = "[...document.querySelectorAll('#view .tick')]"
    found = f"{boxes}.find((one) => one.innerText.startsWith({json.dumps(text)}))"
    wait(tab, found)
    tab.js(f"{found}.querySelector('input').click()")


def texts(tab: Tab, selector: str) -> list[str]:
    found = tab.js(
        f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.innerText)"
    )
    assert isinstance(found, list)
    return found


def moves_are(tab: Tab, *sans: str) -> None:
    """Wait until the list of moves has these."""
    found = "[...document.querySelectorAll('#view .moves .move')].map((one) => one.innerText)"
    bare = f"{found}.map((one) => one.replace(/^\\d+[.…]/, '')).join(' ')"
    wait(tab, f"{bare} === {json.dumps(' '.join(sans))}")


def point(tab: Tab, square: str) -> tuple[float, float]:
    """Where the middle of a square is, White below."""
    box = tab.js(
        "(() => { const one = document.querySelector('#view .squares').getBoundingClientRect();"
        " return [one.left, one.top, one.width]; })()"
    )
    size = box[2] / 8
    return box[0] + size * (ord(square[0]) - 96.5), box[1] + size * (8.5 - int(square[1]))


def touch(tab: Tab, x: float, y: float) -> None:
    """A tap of a finger."""
    tab("Emulation.setTouchEmulationEnabled", enabled=True)
    tab("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    tab("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    tab("Emulation.setTouchEmulationEnabled", enabled=False)


def drag(tab: Tab, start: str, end: str, button: str = "left") -> None:
    buttons = {"left": 1, "right": 2}[button]
    for kind, square in (("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)):
        x, y = point(tab, square)
        tab(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            button=button,
            clickCount=1,
            buttons=buttons,
        )


def type_move(tab: Tab, text: str) -> None:
    tab.js("document.querySelector('#view .typed').focus()")
    tab("Input.insertText", text=text)
    tab("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r")
    tab("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter")


KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38}
KEYS |= {"ArrowRight": 39, "ArrowDown": 40}
FOCUS = "(document.activeElement ?? document.body)"
MOST_TABS = 200


def strike(tab: Tab, *names: str) -> None:
    """Press keys one after the other, with what the browser does by itself."""
    for name in names:
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        code = KEYS.get(name, ord(name[0].upper()))
        key = {"key": name, "code": name, "windowsVirtualKeyCode": code}
        tab("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **key)
        tab("Input.dispatchKeyEvent", type="keyUp", **key)


def tab_to(tab: Tab, wanted: str) -> None:
    """Press Tab until what has the focus, `at`, is what is wanted: an expression of JavaScript."""
    for _ in range(MOST_TABS):
        strike(tab, "Tab")
        if tab.js(f"((at) => Boolean({wanted}))({FOCUS})"):
            return
    raise AssertionError(f"Tab does not come to {wanted}")


def focused(tab: Tab) -> str:
    """What has the focus: its name or text; fails if nothing has it."""
    wait(tab, f"{FOCUS} !== document.body && {FOCUS}.checkVisibility()")
    return str(tab.js(f"{FOCUS}.ariaLabel ?? {FOCUS}.innerText"))


def choose(tab: Tab, label: str, value: str, within: str = "#view") -> None:
    """Choose an entry of a list, or fill a field in, by its label."""
    fields = f"[...document.querySelectorAll({json.dumps(within + ' .field')})]"
    field = f"{fields}.find((one) => one.textContent.startsWith({json.dumps(label)}))"
    wait(tab, field)
    tab.js(
        f"(() => {{ const one = {field}.querySelector('select, input');"
        f" one.value = {json.dumps(value)};"
        " one.dispatchEvent(new Event('change')); one.dispatchEvent(new Event('input')); })()"
    )


def paste(tab: Tab, text: str) -> None:
    tab.js(f"document.querySelector('textarea').value = {json.dumps(text)}")
    press(tab, "Open")
