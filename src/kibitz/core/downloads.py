"""Downloads over HTTP: questions that are tried again, and files that go on where they stopped.

What is not complete yet is FILE.part.

A part is continued only if the server says that the file is still the same (If-Range). A file has
its name only when it is complete and, where a checksum is published, proved to be the right one.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, TypeVar

import kibitz
from kibitz.core.errors import DamagedFileError, FileError, KibitzError, shorten
from kibitz.core.files import named_failures
from kibitz.core.log import say

AGAIN = (408, 425, 429, 500, 502, 503, 504)  # answers after which the same question makes sense
RANGE_REFUSED = 416
PARTIAL = 206
AGENT = f"kibitz/{kibitz.__version__}"
TRIES = 5
TIMEOUT = 30.0  # seconds
LONGEST_WAIT = 60.0  # seconds before a question is asked again, unless the server wants more
TOO_MANY, LIMITED_WAIT = 429, 60.0  # seconds after so many requests, if the server says no number
PATIENCE = 3600.0  # seconds; the longest wait that a server may ask for
MOST_SUMS = 1 << 24  # bytes of a list of checksums
TOKEN_LENGTHS = range(8, 129)  # of the characters of Lichess's tokens, with much to spare
_BLOCK = 1 << 20

Answer = TypeVar("Answer")
Pause = Callable[[int, float], None]  # gets the number of failures, and the seconds of Retry-After


class FetchError(FileError):
    """What cannot be had from a server; the message says why."""


def back_off(failures: int, after: float) -> None:
    """Wait longer after every failure, and at least as long as the server wants."""
    if failures:
        time.sleep(max(after, min(2.0**failures, LONGEST_WAIT)))


def with_retries(
    url: str | Callable[[], str],
    use: Callable[[HTTPResponse], Answer],
    *,
    headers: Callable[[], Mapping[str, str]] = dict,
    tries: int = TRIES,
    timeout: float = TIMEOUT,
    agent: str = AGENT,
    pause: Pause = back_off,
) -> Answer:
    """What `use` makes of the answer, after some tries; HTTPError for what is refused for good.

    The address may depend on what earlier tries have brought.
    """
    reason, after = "", 0.0
    for failures in range(tries):
        pause(failures, after)
        address = url if isinstance(url, str) else url()
        request = urllib.request.Request(address, headers={"User-Agent": agent, **headers()})
        try:
            with _opener().open(request, timeout=timeout) as answer:
                return use(answer)
        except urllib.error.HTTPError as error:
            error.close()  # the connection; what the headers say stays
            if error.code not in AGAIN:
                raise
            usual = LIMITED_WAIT if error.code == TOO_MANY else 0
            reason, after = str(error.code), float(_whole(error.headers, "Retry-After") or usual)
            if after > PATIENCE:
                what = f"the server wants {after:,.0f} seconds of pause ({reason})"
                raise FetchError(what, fix="ask again later") from error
        except KibitzError:
            raise  # of our own disk
        except (http.client.HTTPException, OSError) as error:
            reason, after = _reason(error), 0.0  # cut off, refused, or no answer in time
    raise FetchError(f"no answer after {tries} tries ({reason})")


def _reason(error: Exception) -> str:
    """Why there is no answer, in the words of the system where it has some."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoDowngrade)


class _NoDowngrade(urllib.request.HTTPRedirectHandler):
    """Follows redirections, but not from https to what anybody on the way can change.

    A token is for the server that was asked, and goes to no other.
    """

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the question that a redirection leads to."""
        if req.type == "https" and not newurl.lower().startswith("https:"):
            what = "leads from https to an address that is not"
            raise FetchError(what, value=newurl, fix="fetch it from another server")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and request.host != req.host:
            request.remove_header("Authorization")
        return request


def _whole(headers: Any, name: str) -> int | None:
    """A whole number in a header; None if there is none, or something else."""
    text = str(headers.get(name) or "")
    return int(text[:18]) if text.isdecimal() and text.isascii() else None


# --- files ----------------------------------------------------------------------------------------


class _Part:
    """What there is of a file, and what the server called that state of it."""

    def __init__(self, path: Path, on_bytes: Callable[[int], None]) -> None:
        self.file = path.with_name(f"{path.name}.part")
        self._note = path.with_name(f"{path.name}.part.tag")
        self._on_bytes = on_bytes

    @property
    def size(self) -> int:
        """The bytes that need not be asked for; none if the server gave that state no name."""
        state = self._note.is_file() and self._note.read_text("utf-8")
        return self.file.stat().st_size if state and self.file.is_file() else 0

    def headers(self) -> dict[str, str]:
        """Ask for the rest, or for all if the file is another one by now."""
        size = self.size
        if not size:
            return {"Accept-Encoding": "identity"}
        state = self._note.read_text("utf-8")
        return {"Accept-Encoding": "identity", "Range": f"bytes={size}-", "If-Range": state}

    def take(self, answer: HTTPResponse) -> None:
        """Write what comes; an error where it ends too early."""
        length, size = _whole(answer.headers, "Content-Length"), self.size
        goes_on = answer.status == PARTIAL
        if goes_on and not self._continues(answer, size):
            self.forget()
            raise http.client.HTTPException("not the rest of this file")
        self._room(length or 0)
        with named_failures(self.file, "cannot write"):
            file = self.file.open("ab" if goes_on else "wb", buffering=0)
        got = 0
        with file:
            if not goes_on:  # emptied first: no bytes of one state under the name of another
                self._note.write_text(_state(answer), "utf-8")
            while block := answer.read(_BLOCK):
                with named_failures(self.file, "cannot write"):
                    left = memoryview(block)
                    while left:
                        left = left[file.write(left) :]
                got += len(block)
                self._on_bytes(len(block))
        if length is not None and got < length:
            raise http.client.IncompleteRead(b"", length - got)

    def _continues(self, answer: HTTPResponse, size: int) -> bool:
        begin = re.match(r"bytes (\d{1,19})-", answer.headers.get("Content-Range", ""))
        same = _state(answer) in ("", self._note.read_text("utf-8"))
        return begin is not None and int(begin[1]) == size and same

    def _room(self, wanted: int) -> None:
        free = shutil.disk_usage(self.file.parent).free
        if wanted > free:
            what = f"no room: {wanted:,} bytes are wanted, {free:,} are free"
            raise FileError(what, value=str(self.file.parent), fix="name another folder with -o")

    def forget(self) -> None:
        """Begin anew."""
        self.file.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def finish(self, path: Path) -> None:
        """Give the file its name."""
        self.file.replace(path)
        self._note.unlink(missing_ok=True)


def _state(answer: HTTPResponse) -> str:
    """How the server names this state of a file in If-Range; weak names are none."""
    tag = answer.headers.get("ETag", "")
    if tag and not tag.startswith("W/"):
        return str(tag)
    return str(answer.headers.get("Last-Modified", ""))


def download(
    url: str,
    path: Path,
    sha256: str = "",
    *,
    on_bytes: Callable[[int], None] = lambda _: None,
    tries: int = TRIES,
    pause: Pause = back_off,
) -> bool:
    """Bring a file here; False if it is there. What was stopped goes on, what is wrong is removed.

    A connection may break as often as it likes, as long as every few tries bring some bytes.
    """
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _Part(path, on_bytes)
    while True:
        before = part.size
        if before:
            say(f"{path.name}: {before:,} bytes are here")
        try:
            with_retries(url, part.take, headers=part.headers, tries=tries, pause=pause)
            break
        except FetchError as error:
            if part.size <= before:
                fix = "the same command goes on from here" if before else "is the address right?"
                raise FetchError(error.what, value=url, fix=fix) from error
        except urllib.error.HTTPError as error:
            if error.code != RANGE_REFUSED or not before:
                raise FetchError(f"{error.code} {error.reason}", value=url) from error
            if error.headers.get("Content-Range", "").endswith(f"/{before}"):
                break  # all of it came before the last run was stopped
            part.forget()
    _check(part, url, sha256)
    part.finish(path)
    return True


def _check(part: _Part, url: str, sha256: str) -> None:
    """Refuse a file that has another checksum than its publisher says."""
    if not sha256:
        return
    with part.file.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        part.forget()
        what = f"not what was published: its checksum is {digest[:16]}..., not {sha256[:16]}..."
        raise DamagedFileError(what, value=url, fix="it is removed; fetch it again")


def published(url: str, *, tries: int = TRIES, pause: Pause = back_off) -> dict[str, str]:
    """Checksums by names of files, from a list as `sha256sum` writes it; anything else is refused.

    What stands in for the list, a page that asks to log in for one, must not let files through.
    """
    try:
        content = with_retries(url, lambda answer: answer.read(MOST_SUMS), tries=tries, pause=pause)
    except urllib.error.HTTPError as error:
        raise FetchError(f"{error.code} {error.reason}", value=url) from error
    except FetchError as error:
        raise FetchError(error.what, value=url, fix="is the network there?") from error
    sums: dict[str, str] = {}
    for line in content.decode("utf-8", "replace").splitlines():
        entry = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](\S.*)", line.strip())
        if entry:
            sums[entry[2].rsplit("/", 1)[-1]] = entry[1].lower()
        elif line.strip():
            what = f"no list of SHA-256 checksums: it has the line {shorten(line.strip())!r}"
            raise DamagedFileError(what, value=url, fix="nothing is fetched without them")
    if not sums:
        fix = "nothing is fetched without them"
        raise DamagedFileError("an empty list of checksums", value=url, fix=fix)
    return sums


def fault_of_token(token: str) -> str:
    """Why a text is no token of Lichess's, without a word of it; empty if it may be one.

    >>> fault_of_token("lip_secret"), fault_of_token("lip secret")
    ('', 'there are blanks in it')
    """
    if len(token.split()) > 1:
        return "there are blanks in it"
    if re.fullmatch("[A-Za-z0-9_]*", token) is None:
        return "it has other characters than letters, digits and _"
    if len(token) not in TOKEN_LENGTHS:
        expected = f"{TOKEN_LENGTHS[0]} to {TOKEN_LENGTHS[-1]}"
        return f"it has {len(token)} characters where {expected} are expected"
    return ""
