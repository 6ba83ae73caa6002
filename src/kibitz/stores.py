"""Files behind URLs: sent whole or not at all, asked for again when a connection breaks.

URL -> the file system of fsspec that serves it -> **send**, **fetch**, **state_of**
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from kibitz.errors import FileError, InputError, KibitzError, MissingExtraError, missing_extra

TRIES = 3  # beside those of the file system itself
WAIT_SECONDS = 0.5  # before the second try, and twice as long before each further one

# What another try does not change: no such file, no permission, mistakes.
_LASTING = (
    *(FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError),
    *(TypeError, ValueError, AttributeError, LookupError, NotImplementedError, KibitzError),
)

Found = TypeVar("Found")


def filesystem(url: str) -> Any:
    """Return the fsspec file system that serves a URL."""
    try:
        import fsspec
    except ImportError as error:
        raise missing_extra(f"the URL {url}", "fsspec", "cloud") from error
    try:
        return fsspec.core.url_to_fs(url)[0]
    except ImportError as error:  # fsspec is here but the package for this scheme is not
        raise MissingExtraError(f"the URL {url} needs one more package", fix=str(error)) from error
    except ValueError as error:
        raise InputError("no file system serves this URL", value=url, fix=str(error)) from error


def fetch(url: str) -> bytes:
    """The whole content."""
    system = filesystem(url)
    content: bytes = patiently(url, lambda: system.cat_file(system._strip_protocol(url)))
    return content


def send(source: Path, url: str) -> None:
    """Replace the content by that of a file: a reader sees the old one or the new one.

    An object store shows an object when all of it has arrived. Elsewhere it gets another name
    first.
    """
    from fsspec.asyn import AsyncFileSystem

    system = filesystem(url)
    target = system._strip_protocol(url)
    if isinstance(system, AsyncFileSystem):
        patiently(url, lambda: system.put_file(str(source), target))
        return
    folder, _, name = target.rpartition("/")
    partial = f"{folder}/.{name}.{secrets.token_hex(6)}.partial"
    system.makedirs(folder, exist_ok=True)
    patiently(url, lambda: system.put_file(str(source), partial))
    patiently(url, lambda: system.mv(partial, target))


def state_of(url: str) -> str:
    """A text that changes with the content."""
    system = filesystem(url)
    system.invalidate_cache()
    return str(patiently(url, lambda: system.ukey(system._strip_protocol(url))))


def patiently(url: str, work: Callable[[], Found]) -> Found:
    """Do what needs a connection; several times if need be."""
    for number in range(TRIES):
        try:
            return work()
        except _LASTING:
            raise
        except Exception as error:
            if number == TRIES - 1:
                reason = str(error).strip().partition("\n")[0] or type(error).__name__
                fix = "see that the store can be reached, then repeat the command"
                raise FileError(f"no answer ({reason})", value=url, fix=fix) from error
            time.sleep(WAIT_SECONDS * 2**number)
    raise AssertionError
