"""Mutations of any content: bytes change, parts move, numbers grow, texts nest."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

LONGEST = 1 << 21  # bytes of a mutated content
NUMBERS = (
    *(b"0", b"-1", b"1e999", b"-0", b"99999999999999999999", b"9" * 5000, b"0.1", b"nan", b"inf"),
    *("\u0663".encode(), b"0x10", b"1_000", b"2147483648", b"-9223372036854775809", b"65536"),
)
BITS = (
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\n\n", b"\x1b[2J", b"{", b"}", b"[", b"]"),
    *(
        b'"',
        b"\\",
        b"'''",
        b"%",
        b";",
        b"(",
        b")",
        b"=",
        b"[x]",
        b"\xf0\x9f\x98\x80",
        b"\xed\xa0\x80",
    ),
    *(
        "\u2028".encode(),
        b"../../../etc/passwd",
        b"{data}",
        b"$(id)",
        b"null",
        b"true",
        b"[[",
        b",",
    ),
)
Mutation = Callable[[bytes, random.Random], bytes]


def mutated(content: bytes, generator: random.Random) -> bytes:
    """The content with a few mutations."""
    for _ in range(generator.choice((1, 1, 1, 2, 2, 3, 6))):
        content = generator.choice(MUTATIONS)(content, generator)[:LONGEST]
    return content


def _place(content: bytes, generator: random.Random) -> int:
    return generator.randrange(len(content) + 1)


def _part(content: bytes, generator: random.Random) -> slice:
    start = _place(content, generator)
    length = generator.choice((1, 2, 8, 40, 400, 4000))
    return slice(start, min(start + generator.randint(1, length), len(content)))


def flip(content: bytes, generator: random.Random) -> bytes:
    """Some bits changed."""
    changed = bytearray(content)
    for _ in range(generator.randint(1, 8)):
        if changed:
            changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
    return bytes(changed)


def cut(content: bytes, generator: random.Random) -> bytes:
    """The front alone."""
    return content[: _place(content, generator)]


def drop(content: bytes, generator: random.Random) -> bytes:
    """A part left out."""
    part = _part(content, generator)
    return content[: part.start] + content[part.stop :]


def repeat(content: bytes, generator: random.Random) -> bytes:
    """A part again and again."""
    part = _part(content, generator)
    times = generator.choice((1, 2, 10, 300))
    return content[: part.stop] + content[part] * times + content[part.stop :]


def move(content: bytes, generator: random.Random) -> bytes:
    """A part somewhere else."""
    part = _part(content, generator)
    rest = content[: part.start] + content[part.stop :]
    place = _place(rest, generator)
    return rest[:place] + content[part] + rest[place:]


def insert(content: bytes, generator: random.Random) -> bytes:
    """Something that means something somewhere, perhaps many times."""
    place, bit = _place(content, generator), generator.choice(BITS)
    times = generator.choice((1, 1, 1, 3, 2000))
    return content[:place] + bit * times + content[place:]


def renumber(content: bytes, generator: random.Random) -> bytes:
    """Another number for one that stands in the text."""
    found = list(re.finditer(rb"\d+(?:\.\d+)?", content[:200_000]))
    if not found:
        return flip(content, generator)
    one = generator.choice(found)
    return content[: one.start()] + generator.choice(NUMBERS) + content[one.end() :]


def noise(content: bytes, generator: random.Random) -> bytes:
    """A part of random bytes."""
    part = _part(content, generator)
    return (
        content[: part.start] + generator.randbytes(part.stop - part.start) + content[part.stop :]
    )


def swap_lines(content: bytes, generator: random.Random) -> bytes:
    """Lines in another order."""
    lines = content.splitlines(keepends=True)
    generator.shuffle(lines)
    return b"".join(lines)


MUTATIONS: tuple[Mutation, ...] = (
    *(flip, cut, drop, repeat, move, insert, insert, renumber, renumber, noise, swap_lines),
)
