"""Files behind URLs: sent whole or not at all, asked for again when a connection breaks.

fsspec has the file systems that serve URLs.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from kibitz.core.errors import (
    FileError,
    InputError,
    KibitzError,
    MissingExtraError,
    missing_extra,
    shorten,
)

TRIES = 3  # beside those of the file system itself
WAIT_SECONDS = 0.5  # before the second try, and twice as long before each further one

# What another try does not change; file systems raise ValueError for addresses that they cannot
# have, and NotImplementedError where they can only be read.
_LASTING = (
    *(PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError),
    *(ValueError, NotImplementedError),
)

# What broken connections raise that is no error of the operating system, by the module that
# defines it: only a module that is loaded can have raised one.
_FOREIGN = {
    "botocore.exceptions": "BotoCoreError",  # s3fs
    "aiohttp": "ClientError",  # s3fs, gcsfs, http
    "gcsfs.retry": "HttpError",
    "google.auth.exceptions": "TransportError",  # gcsfs
    "azure.core.exceptions": "AzureError",  # adlfs
    "paramiko": "SSHException",  # sftp
}

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


def ask(url: str, work: Callable[[Any, str], Found]) -> Found:
    """What a file system answers; `work` gets it, its listings fresh, and the path in it."""
    for number in range(TRIES):
        try:
            system = filesystem(url)
            system.invalidate_cache()
            return work(system, system._strip_protocol(url))
        except (FileNotFoundError, KibitzError):
            raise
        except _LASTING as error:
            raise FileError(f"it cannot be used ({_reason(error)})", value=url) from error
        except _broken() as error:
            if number == TRIES - 1:
                raise no_answer(url, error) from error
            time.sleep(WAIT_SECONDS * 2**number)
    raise AssertionError


def fetch(url: str) -> bytes:
    """The whole content."""
    content: bytes = ask(url, lambda system, path: system.cat_file(path))
    return content


def send(source: Path, url: str) -> None:
    """Replace the content by that of a file: a reader sees the old one or the new one.

    An object store shows an object when all of it has arrived. Elsewhere it gets another name
    first.
    """
    from fsspec.asyn import AsyncFileSystem

    if isinstance(filesystem(url), AsyncFileSystem):
        ask(url, lambda system, path: system.put_file(str(source), path))
        return
    folder, _, name = url.rpartition("/")
    partial = f"{folder}/.{name}.{secrets.token_hex(6)}.partial"
    ask(folder, lambda system, path: system.makedirs(path, exist_ok=True))
    ask(partial, lambda system, path: system.put_file(str(source), path))
    ask(url, lambda system, path: system.mv(system._strip_protocol(partial), path))


def state_of(url: str) -> str:
    """A text that changes with the content."""
    return str(ask(url, lambda system, path: system.ukey(path)))


def _broken() -> tuple[type[Exception], ...]:
    return (OSError, EOFError, *foreign_errors())


def foreign_errors() -> tuple[type[Exception], ...]:
    """What broken connections may raise beside errors of the operating system."""
    loaded = [(sys.modules[name], kind) for name, kind in _FOREIGN.items() if name in sys.modules]
    return tuple(getattr(module, kind) for module, kind in loaded)


def no_answer(url: str, error: Exception) -> FileError:
    """The error of a connection that stays broken."""
    fix = "see that the store can be reached, then repeat the command"
    return FileError(f"no answer ({_reason(error)})", value=url, fix=fix)


def _reason(error: Exception) -> str:
    return shorten(" ".join(str(error).split()), 200) or type(error).__name__
