"""Every error that Kibitz raises on purpose.

The tree::

    KibitzError                       catch this to catch them all
    ├── InputError (ValueError)       what was given is not what it should be
    │   ├── PositionError             a FEN or EPD that describes no legal position
    │   ├── MoveError                 a move that is not legal here
    │   ├── NotationError             text that is not SAN, UCI or PGN
    │   └── ConfigError               a setting that does not exist or has a wrong value
    ├── FileError (OSError)           a file that cannot be found, read or written
    │   └── DamagedFileError          a file whose content is not what was once written
    ├── EvaluationError               a network that answers with what is not a finite number
    └── MissingExtraError (ImportError)  an optional package that is not installed

An error says what is wrong, shows the offending value and, where one is known, the way to mend it.
Mistakes of our own are not in the tree: they are assertions, TypeErrors and the like.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

LONGEST_VALUE = 100


class KibitzError(Exception):
    """Something the user can correct: what is wrong, the offending value, and the fix."""

    def __init__(self, what: str, *, value: object = None, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.value = value
        self.fix = fix

    def __str__(self) -> str:
        value = os.fspath(self.value) if isinstance(self.value, os.PathLike) else self.value
        shown = "" if value is None else f": {shorten(repr(value))}"
        return f"{self.what}{shown}" + (f"; {self.fix}" if self.fix else "")


class InputError(KibitzError, ValueError):
    """What was given is not what it should be."""


class PositionError(InputError):
    """A FEN or EPD that describes no legal position."""


class MoveError(InputError):
    """A move that is not legal in its position."""


class NotationError(InputError):
    """Text that is not SAN, UCI or PGN."""


class ConfigError(InputError):
    """A setting that does not exist or has a wrong value."""


class FileError(KibitzError, OSError):
    """A file that cannot be found, read or written."""


class DamagedFileError(FileError):
    """A file whose content is not what was once written."""


class EvaluationError(KibitzError):
    """A network whose output is not a finite number."""


class MissingExtraError(KibitzError, ImportError):
    """An optional package that is not installed."""


def at_the_board(error: KibitzError) -> str:
    """What to say to somebody who sees the board: which position it is needs no telling."""
    if isinstance(error, MoveError) and error.what.startswith("illegal move in "):
        error.what = "not legal here"
    return str(error)


def missing_extra(purpose: str, package: str, extra: str) -> MissingExtraError:
    """Build the error for a purpose that needs ``package`` from one of Kibitz's extras."""
    return MissingExtraError(f"{purpose} needs {package}", fix=f"pip install 'kibitz[{extra}]'")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the known name that ``name`` was probably meant to be, if any comes close."""
    import difflib

    by_folded = {candidate.casefold(): candidate for candidate in names}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the fix for a wrong name: the nearest known one, else all of them."""
    names = sorted(names)
    close = nearest(name, names)
    if close is not None:
        return f"did you mean {close!r}?"
    return f"known here: {', '.join(names)}" if names else "nothing is known here"


def shorten(text: str, longest: int = LONGEST_VALUE) -> str:
    """Cut the middle out of a text that would make an error message unreadable."""
    if len(text) <= longest:
        return text
    half = (longest - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


# What libraries raise where a content or a number is not what it should be, by their modules:
# only one that is loaded can have raised it. Errors that a room expects are caught there.
_OF_LIBRARIES = {
    "csv": "Error",
    "json": "JSONDecodeError",
    "msgspec": "MsgspecError",
    "safetensors": "SafetensorError",
    "struct": "error",
    "zlib": "error",
    "zstandard": "ZstdError",
}


def unreadable() -> tuple[type[BaseException], ...]:
    """The errors of the libraries that are loaded, and of Python's own where input is too much."""
    loaded = [
        (sys.modules[name], kind) for name, kind in _OF_LIBRARIES.items() if name in sys.modules
    ]
    foreign = (getattr(module, kind) for module, kind in loaded)
    return MemoryError, RecursionError, OverflowError, UnicodeError, *foreign


def of_input(error: BaseException, tokens: Sequence[str]) -> str:
    """What to say of such an error: the command is the value, as no file is known."""
    reason = shorten(str(error) or type(error).__name__, 200)
    command = shorten(" ".join(tokens))
    if isinstance(error, MemoryError):
        return f"not enough memory ({reason}): {command!r}; give smaller files or numbers"
    if isinstance(error, OverflowError):
        return f"a number is too large ({reason}): {command!r}; give a smaller one"
    return (
        f"what was given cannot be read ({reason}): {command!r}; "
        "check its files and texts, or see where with KIBITZ_DEBUG=1"
    )
