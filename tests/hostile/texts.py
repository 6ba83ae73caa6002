"""Files of text: games, suites, openings, labels, puzzles, settings, journals; packed ones, too."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import zstandard

from tests.hostile.kind import Attack, Kind, Target, file_target

GAMES = b"""[Event "one"]
[Site "?"]
[White "A"]
[Black "B"]
[Result "1-0"]

1. e4 {[%eval 0.2] [%clk 0:01:00]} e5 2. Qh5 (2. Nf3 Nc6 $1) Nc6 3. Bc4 Nf6 4. Qxf7# 1-0

[Event "two"]
[Result "0-1"]
[SetUp "1"]
[FEN "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2"]

2... Qh4# 0-1
"""
EPD = b"""6k1/5ppp/8/8/8/8/8/R5K1 w - - bm Ra8#; dm 1; id "one"; c0 "a 10";
r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/8/PPPP1PPP/RNBQK1NR w KQkq - 2 3 acd 5; ce 40; pv Qh5 Nf6;
"""
PERFT = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 ;D1 20 ;D2 400\n"
LABELS = b"""seed,game,fen,cp,mate,best,result
7,1,rnbqkb1r/1pppppp1/p4n2/7p/P2P1P2/8/1PP1P1PP/RNBQKBNR w KQkq - 0 1,7,,g1f3,0
7,2,6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1,,1,a1a8,1
"""
LICHESS = (
    b'{"fen":"6k1/5ppp/8/8/8/8/8/R5K1 w - -",'
    b'"evals":[{"pvs":[{"mate":1,"line":"a1a8"}],"knodes":3,"depth":9}]}\n'
)
PUZZLES = (
    b"PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n"
    b"00001,6k1/5ppp/8/8/8/8/8/R4NK1 w - - 0 1,f1e3 g8f8,1500,75,90,10,mate mateIn1,"
    b"https://lichess.org/x,\n"
)
SETTINGS = b"""[search]
cpuct = 2.5
hash = 8
threads = 1

[engine]
weights = "uniform"

[networks.material.search]
cpuct = 3.5

[commands.show]
fen = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
"""
OPENINGS = b"e4 e5 Nf3\nd2d4 d7d5\n# comment\n"
METRICS = b"""{"step":1,"time":1.0,"loss":2.5,"value":0.5}
{"step":2,"time":2.0,"loss":2.25,"value":0.25}
"""
FENS = (
    b"6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1\nrnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n"
)

# A file by its name, its sound content, and the commands that read it.
READ: tuple[tuple[str, bytes, tuple[str, ...]], ...] = (
    (
        "some.pgn",
        GAMES,
        (
            "data import FILE -o OUT",
            "data combine FILE -o OUT.pgn",
            "analyse FILE --network material --nodes 2",
            "annotate FILE --network material --nodes 8",
            "puzzle find FILE -o OUT.csv --network material --nodes 20 --shallow 2 --limit 1",
            "puzzle solve FILE",
            "match material,nodes=1 uniform,nodes=1 --games 2 --max-moves 1 --openings FILE",
        ),
    ),
    (
        "some.epd",
        EPD,
        (
            "suite FILE --player material --nodes 2",
            "puzzle solve FILE",
            "net compare material uniform --positions 2 --from FILE",
            "match material,nodes=1 uniform,nodes=1 --games 2 --max-moves 1 --openings FILE",
        ),
    ),
    ("perft.epd", PERFT, ("perft --suite FILE --limit 500",)),
    ("some.fen", FENS, ("net compare material uniform --positions 2 --from FILE",)),
    ("some.csv", LABELS, ("data import FILE -o OUT", "data fit-labels FILE")),
    ("some.jsonl", LICHESS, ("data import FILE -o OUT",)),
    ("puzzles.csv", PUZZLES, ("puzzle solve FILE",)),
    (
        "lines.txt",
        OPENINGS,
        ("match material,nodes=1 uniform,nodes=1 --games 2 --max-moves 1 --openings FILE",),
    ),
    (
        "some.toml",
        SETTINGS,
        (
            "show --config FILE",
            "search --nodes 2 --config FILE",
            "cycle FILE",
        ),
    ),
    ("metrics.jsonl", METRICS, ("curve FILE -o OUT.svg --force",)),
)


# Bytes that are given to commands that search every position, or play from every opening.
SLOW = {"annotate": 2000, "analyse": 2000, "suite": 4000, "match": 20_000}


def _zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("some.pgn", content)
    return out.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
    ".zip": _zipped,
}


def _zeros(packing: str, size: int) -> bytes:
    """Zeros packed, by the mebibyte where all at once would take their memory."""
    if packing != ".zst":
        return PACKERS[packing](bytes(size))
    packer = zstandard.ZstdCompressor().compressobj()
    block = bytes(1 << 20)
    return b"".join(packer.compress(block) for _ in range(size >> 20)) + packer.flush()


def attacks(folder: Path) -> list[Attack]:
    """Bombs of every packing, binaries in place of texts, lines without an end."""
    found = []

    def add(name: str, content: bytes, command: str, told: str, code: int = 2) -> None:
        (folder / name).write_bytes(content)
        words = command.replace("FILE", str(folder / name)).replace("OUT", str(folder / "out"))
        found.append(Attack(f"file: {name}, {words.split()[0]}", tuple(words.split()), told, code))

    for packing in PACKERS:
        bomb = _zeros(packing, (3 << 30) if packing == ".zst" else (100 << 20))
        add(f"bomb.pgn{packing}", bomb, "data import FILE -o OUT", "more than", 1)
        add(f"bomb.epd{packing}", bomb, "suite FILE --nodes 2", "times its size")
    add("line.pgn", b"x" * (40 << 20), "data import FILE -o OUT", "characters", 1)
    add("words.pgn", b"ab c\n" * (1 << 18), "data import FILE -o OUT", "nothing was imported", 1)
    add("binary.pgn", bytes(range(256)) * 400, "puzzle find FILE -o OUT.csv", "no game")
    add("binary.toml", bytes(range(256)), "show --config FILE", "not UTF-8")
    add("binary.toml", bytes(range(256)), "doctor --config FILE", "not UTF-8")
    add("deep.toml", b"a = " + b"[" * 100_000, "show --config FILE", "kibitz: error")
    add("number.toml", b"[search]\ncpuct = " + b"9" * 5000, "show --config FILE", "kibitz: error")
    add("deep.jsonl", b'{"fen":' + b"[" * 100_000 + b"\n", "data import FILE -o OUT", "skipped", 1)
    add(
        "huge.csv",
        b"fen,cp\n" + b"a" * (1 << 20) + b"," + b"9" * 5000,
        "data import FILE -o OUT",
        "",
        1,
    )
    return found


def targets(folder: Path) -> Sequence[Target]:
    """Every text to every command that reads it, and packed games."""
    assert folder.is_dir()
    found = [
        file_target(name, content, command, most=SLOW.get(command.split()[0], 1 << 21))
        for name, content, commands in READ
        for command in commands
    ]
    for packing, pack in PACKERS.items():
        name, command = f"some.pgn{packing}", "data import FILE -o OUT"
        found.append(file_target(name, pack(GAMES), command))
        found.append(file_target(name, GAMES, command, pack))
    return found


TEXTS = Kind("texts", attacks, targets)
