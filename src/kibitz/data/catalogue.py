"""The public data of `kibitz data fetch`: addresses, sizes, licences, checksums.

Sizes are as publishers and users state them, and grow; checksums are those that publishers list,
or of the files that were looked at.
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
MAIA = (
    "https://github.com/CSSLab/maia-chess/raw/e464f161c295f4246c2082f7b36d646d9bd14e7c/maia_weights"
)


class Entry(NamedTuple):
    """Something that can be fetched."""

    name: str
    about: str
    size: str
    licence: str
    urls: tuple[str, ...]
    checksums: str = ""  # address of a list of SHA-256, if one is published
    then: str = ""  # what is done with it; {} is the file, or the folder where there are several
    sha256: tuple[str, ...] = ()  # of each file, where no list is published
    folder: str = ""  # in the data folder; by default of the entry's name


def _tables() -> tuple[str, ...]:
    kinds = (("3-4-5-wdl", "rtbw"), ("3-4-5-dtz", "rtbz"))
    names = list(chess.syzygy.tablenames(piece_count=5))
    return tuple(f"{TABLES}/{folder}/{name}.{kind}" for folder, kind in kinds for name in names)


_MAIA = {  # checksums of the files at that commit
    1100: "e1cf1cd0c96b8a4fa6a275f4b9fd54ed1ffebf9fe44641b9fceded310e9619c4",
    1200: "ead4ba953f233ae732999ebc1e2b675378148527ebcfad2f0acbc5e4c224d98e",
    1300: "36195f87bf4761834baa0bf87472b18509a7261a9d7d6f1a8443261369a733f2",
    1400: "d5353ea6766356dad2d28920c6692f37a5f30963767f1a3105d33b4d0af011e8",
    1500: "35ab6f20421d59e1df3b17c5a5016947af4c6761368ef84044a9a9c7619a9a00",
    1600: "d2c9e5948581acf4b9fc0b1e720c5dc0fe64ce80cfc4a239d3f8a42e1176c876",
    1700: "d277eacd792d340a30abb464dc65127254e65cac57abca17facc469889b96478",
    1800: "0031ad7c4256b1fd09fbebd28418d644d68b26cd2a45df4967ccf5c7ec9c4965",
    1900: "e2f565f42d7cd9f122557e6dc4eb84e5bbaedceda1d404dc485d3611c7c97a12",
}

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
    Entry(
        "maia",
        "networks that predict the moves of people rated 1100 to 1900; three of them are shipped",
        "9 files, 11.6 MB",
        "GPL-3.0",
        tuple(f"{MAIA}/maia-{rating}.pb.gz" for rating in _MAIA),
        then="kibitz human --rating 1600; they lie in {}",
        sha256=tuple(_MAIA.values()),
        folder="networks",
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
