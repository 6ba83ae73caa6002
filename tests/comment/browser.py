"""Chromium without a window, driven over a pipe by the DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FOUND = next((path for name in NAMES if (path := shutil.which(name))), None)
PATIENCE = 300  # seconds of silence after which a browser is held to hang
TROUBLE = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")


class Tab:
    """A page of the browser; what it logs and what it loads is kept."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back, self._rest, self._number = to, back, b"", 0
        self._session: str | None = None
        self.trouble: list[str] = []
        self.requests: list[str] = []
        self._target = self("Target.createTarget", url="about:blank")["targetId"]
        attach = {"targetId": self._target, "flatten": True}
        self._session = self("Target.attachToTarget", **attach)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **params: Any) -> Any:
        """The result of a command of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        session = {"sessionId": self._session} if self._session else {}
        os.write(self._to, json.dumps(message | session).encode() + b"\0")
        while (answer := self._read()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def sibling(self) -> Tab:
        """Another tab of the same browser; this one rests until that is closed."""
        return Tab(self._to, self._back)

    def close(self) -> None:
        """Close the tab."""
        self("Target.closeTarget", targetId=self._target)

    def _read(self) -> Any:
        while b"\0" not in self._rest:
            assert select.select([self._back], [], [], PATIENCE)[0], "the browser hangs"
            chunk = os.read(self._back, 1 << 16)
            assert chunk, "the browser has ended"
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\0")
        event = json.loads(line)
        if event.get("method") in TROUBLE:
            self.trouble.append(json.dumps(event["params"])[:500])
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])
        return event

    def open(self, url: str) -> None:
        """Load a page, and wait until it is there."""
        self("Page.navigate", url="about:blank")
        self("Page.navigate", url=url)
        while (
            self.js("document.readyState") != "complete"
            or self.js("location.href") == "about:blank"
        ):
            pass

    def js(self, code: str) -> Any:
        """The value of an expression in the page."""
        found = self("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def key(self, name: str) -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self("Input.dispatchKeyEvent", type=kind, key=name)

    def click(self, x: float, y: float) -> None:
        """Press and release the mouse."""
        for kind in ("mousePressed", "mouseReleased"):
            self(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                clickCount=1,
                buttons=1,
            )

    def size(self, width: int, height: int, mobile: bool = False) -> None:
        """The size of the window."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self("Emulation.setDeviceMetricsOverride", **metrics)

    def picture(self, path: Path, whole: bool = False) -> None:
        """Save what is seen, or the whole page, as PNG."""
        found = self("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """A tab of a browser that is closed in the end."""
    assert FOUND is not None
    (theirs, to), (back, back_theirs) = os.pipe(), os.pipe()

    def give_pipes() -> None:
        # The protocol is spoken on 3 and 4, which one of the pipes may have now.
        first, second = os.dup(theirs), os.dup(back_theirs)
        os.dup2(first, 3)
        os.dup2(second, 4)

    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
    flags += [f"--user-data-dir={profile}", "--no-first-run", "--disable-background-networking"]
    process = subprocess.Popen(
        [FOUND, *flags],
        pass_fds=(3, 4, theirs, back_theirs),
        preexec_fn=give_pipes,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    os.close(back_theirs)
    try:
        yield Tab(to, back)
    finally:
        process.terminate()
        process.wait()
        os.close(to)
        os.close(back)
