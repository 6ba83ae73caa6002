"""Public data that `kibitz data fetch` knows: addresses, sizes, licences, checksums.

Sizes are as publishers and users state them, and grow; checksums are those that publishers list.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import chess.syzygy

from kibitz.core.errors import InputError, did_you_mean

MONTH = "YYYY-MM"
LICHESS = "https://database.lichess.org"
TABLES = "https://tablebase.lichess.ovh/tables/standard"
BOOKS = "https://github.com/official-stockfish/books/raw/master"


class Entry(NamedTuple):
    """Something that can be fetched."""

    name: str
    about: str
    size: str
    licence: str
    urls: tuple[str, ...]
    checksums: str = ""  # address of a list of SHA-256, if one is published
    then: str = ""  # what is done with it; {} is the file, or the folder where there are several


def _tables() -> tuple[str, ...]:
    kinds = (("3-4-5-wdl", "rtbw"), ("3-4-5-dtz", "rtbz"))
    names = list(chess.syzygy.tablenames(piece_count=5))
    return tuple(f"{TABLES}/{folder}/{name}.{kind}" for folder, kind in kinds for name in names)


CATALOGUE = (
    Entry(
        f"lichess-{MONTH}",
        "all rated games of a month on Lichess, from 2013-01 on; a part with [%eval]",
        "18 MB (2013-01) to 30 GB",
        "CC0",
        (f"{LICHESS}/standard/lichess_db_standard_rated_{MONTH}.pgn.zst",),
        f"{LICHESS}/standard/sha256sums.txt",
        "kibitz data import {} --evaluated --rating 2000 --output store",
    ),
    Entry(
        f"lichess960-{MONTH}",
        "rated games of Chess960 of a month",
        "not looked up",
        "CC0",
        (f"{LICHESS}/chess960/lichess_db_chess960_rated_{MONTH}.pgn.zst",),
        f"{LICHESS}/chess960/sha256sums.txt",
        "kibitz data import {} --output store",
    ),
    Entry(
        "lichess-evaluations",
        "410 million positions with evaluations by Stockfish",
        "22 GB",
        "CC0",
        (f"{LICHESS}/lichess_db_eval.jsonl.zst",),
        then="kibitz data import {} --output store",
    ),
    Entry(
        "lichess-puzzles",
        "six million puzzles with themes and ratings",
        "about 300 MB",
        "CC0",
        (f"{LICHESS}/lichess_db_puzzle.csv.zst",),
        then="zstd -dc {} | head -10001 > some.csv && kibitz puzzle solve some.csv",
    ),
    Entry(
        "tcec",
        "games of the Top Chess Engine Championship, without comments",
        "about 23 MB",
        "CC BY-SA 3.0",
        (
            "https://github.com/TCEC-Chess/tcecgames/releases/latest/download/TCEC-everything-compact.zip",
        ),
        then="kibitz data import {} --output store",
    ),
    Entry(
        "ccrl",
        "2.5 million games of engines, CCRL 40/40 and 40/4 until 2018",
        "539 MB",
        "none stated",
        ("https://storage.lczero.org/files/ccrl-pgn.tar.bz2",),
        then="kibitz data import {} --output store",
    ),
    Entry(
        "syzygy-3-4-5",
        "endgame tables of up to five pieces, WDL and DTZ",
        "939 MiB, 290 files",
        "none: results of computation",
        _tables(),
        f"{TABLES}/sha256",
        "set syzygy_path in the settings file, or the UCI option SyzygyPath, to {}",
    ),
    *(
        Entry(
            f"book-{name}",
            about,
            size,
            "CC0",
            (f"{BOOKS}/{file}.zip",),
            then="kibitz match A B --openings {}",
        )
        for name, file, about, size in (
            ("uho", "UHO_Lichess_4852_v1.epd", "unbalanced openings", "2,632,036 lines"),
            ("noob", "noob_3moves.epd", "openings of three moves", "150,000 lines"),
            ("8moves", "8moves_v3.pgn", "balanced openings of eight moves", "8 MB unpacked"),
        )
    ),
)


def entry(name: str) -> Entry:
    """The entry of a name; a month stands in it where the catalogue has YYYY-MM."""
    month = re.fullmatch(r"(.*-)(\d{4}-(?:0[1-9]|1[0-2]))", name)
    entry_name = month[1] + MONTH if month else name
    by_name = {listed.name: listed for listed in CATALOGUE}
    if entry_name not in by_name:
        raise InputError("not in the catalogue", value=name, fix=did_you_mean(entry_name, by_name))
    if entry_name.endswith(MONTH) and not month:
        raise InputError("which month?", value=name, fix=f"write {name.replace(MONTH, '2013-01')}")
    listed = by_name[entry_name]
    if not month:
        return listed
    urls = tuple(url.replace(MONTH, month[2]) for url in listed.urls)
    return listed._replace(name=name, urls=urls)
