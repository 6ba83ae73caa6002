"""A file whose checksum is not its content's is refused, wherever the checksum stands."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from kibitz.core.files import (
    HEADER_KEY,
    ZEROS,
    ChecksumError,
    check_header,
    fill_header,
    sha256_of,
    with_ending,
    without_ending,
)


def test_checksums(tmp_path: Path) -> None:
    path = tmp_path / "net.bin"
    path.write_bytes(b"bishop" * 1000)
    right = hashlib.sha256(b"bishop" * 1000).hexdigest()
    assert sha256_of(path) == right


@pytest.mark.parametrize("as_hex", [False, True])
@pytest.mark.parametrize("mark", [b"", b"a mark"])
def test_a_checksum_at_the_end(mark: bytes, as_hex: bool) -> None:
    content = with_ending(b"queen", mark, as_hex=as_hex)
    digest = hashlib.sha256(b"queen")
    assert content == b"queen" + mark + (digest.hexdigest().encode() if as_hex else digest.digest())
    assert without_ending(content, mark, as_hex=as_hex) == b"queen"
    assert without_ending(with_ending(b"", mark, as_hex=as_hex), mark, as_hex=as_hex) == b""
    for place in range(len(content)):
        changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        for wrong in (changed, content[:place], content + content[: place + 1]):
            with pytest.raises(ChecksumError):
                without_ending(wrong, mark, as_hex=as_hex)


def test_a_checksum_in_a_header() -> None:
    arrays = {"a": np.arange(5)}
    empty = safetensors.numpy.save(arrays, {HEADER_KEY: ZEROS, "more": "text"})
    content = fill_header(empty)
    check_header(content)
    assert hashlib.sha256(empty).hexdigest().encode() in content
    assert safetensors.numpy.load(content)["a"].tolist() == [0, 1, 2, 3, 4]
    for place in range(len(content)):
        changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        for wrong in (changed, content[:place]):
            with pytest.raises(ChecksumError):
                check_header(wrong)


def test_a_file_without_a_checksum_is_told_from_a_damaged_one() -> None:
    with pytest.raises(ChecksumError) as missing:
        check_header(safetensors.numpy.save({"a": np.arange(5)}))
    assert missing.value.expected == ""
    with pytest.raises(ChecksumError) as wrong:
        without_ending(b"Queen" + with_ending(b"queen", b"mark")[5:], b"mark")
    assert wrong.value.expected == hashlib.sha256(b"queen").hexdigest()
    assert wrong.value.actual == hashlib.sha256(b"Queen").hexdigest()
