"""Checksums: of whole files, and inside files that are checked whenever they are read.

Two places inside a file are in use. A checksum at the end follows a mark and covers all before the
mark. One in a header stands in the metadata of a safetensors file as `"seal":"..."` and covers the
whole file with the checksum's own digits replaced by zeros.
"""

from __future__ import annotations

import hashlib
import io
import re
import zlib

from kibitz.core.errors import InputError
from kibitz.core.files import Location, open_read

HEADER_KEY = "seal"
ZEROS = "0" * 64  # what the header holds before `fill_header`

_DIGEST_BYTES = 32
_IN_HEADER = re.compile(rb'"seal":"([0-9a-f]{64})"')


class ChecksumError(ValueError):
    """A content without a checksum (`expected` is empty), or with the checksum of another."""

    def __init__(self, expected: str = "", found: str = "") -> None:
        super().__init__(f"expected checksum {expected[:16]}, found {found[:16]}")
        self.expected, self.found = expected, found

    def why(self, kind: str) -> str:
        """What is wrong with a file that should be of a kind."""
        if self.expected:
            return "the content does not match its checksum"
        return f"no checksum: the file is cut, or no {kind}"


def crc32_of(content: bytes) -> str:
    """Return the CRC-32 as 8 hex digits, for short texts that a crash may have cut."""
    return f"{zlib.crc32(content):08x}"


def newer_format(what: str, found: int, known: int, value: object) -> InputError:
    """Build the error for a file of a format that is not known yet."""
    text = f"{what} format {found}, this Kibitz reads up to {known}"
    return InputError(text, value=value, fix="update Kibitz")


# --- whole files ----------------------------------------------------------------------------------


def sha256_of(location: Location) -> str:
    """Return the SHA-256 of a file as 64 hex digits, without holding the file in memory."""
    with open_read(location) as file:
        if isinstance(file, io.BufferedReader):
            return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
        return digest.hexdigest()


# --- at the end -----------------------------------------------------------------------------------


def with_ending(content: bytes, mark: bytes = b"", *, as_hex: bool = False) -> bytes:
    """Return the content, the mark and the content's SHA-256 as 32 bytes or 64 hex digits."""
    digest = hashlib.sha256(content)
    return content + mark + (digest.hexdigest().encode() if as_hex else digest.digest())


def without_ending(content: bytes, mark: bytes = b"", *, as_hex: bool = False) -> bytes:
    """Return what precedes the mark and the checksum, or raise ChecksumError."""
    size = len(mark) + _DIGEST_BYTES * (1 + as_hex)
    body, ending = content[:-size], content[-size:]
    if len(ending) < size or not ending.startswith(mark):
        raise ChecksumError
    digest = ending[len(mark) :]
    _compare(body, digest.decode("latin1") if as_hex else digest.hex())
    return body


# --- in the header of a safetensors file ----------------------------------------------------------


def fill_header(content: bytes) -> bytes:
    """Put the checksum into a file that was written with `"seal": ZEROS` in its metadata."""
    return content.replace(_entry(ZEROS), _entry(hashlib.sha256(content).hexdigest()), 1)


def check_header(content: bytes) -> None:
    """Raise ChecksumError unless every byte is as `fill_header` left it."""
    entry = _IN_HEADER.search(content)
    if entry is None:
        raise ChecksumError
    _compare(content.replace(entry[0], _entry(ZEROS), 1), entry[1].decode())


def _entry(digits: str) -> bytes:
    return f'"{HEADER_KEY}":"{digits}"'.encode()


def _compare(content: bytes, expected: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise ChecksumError(expected, found)
