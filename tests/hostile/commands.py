"""Every command with arguments that are wrong in some way; none gets as far as a search."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from unittest import mock

import uvicorn

from kibitz.cli import COMMANDS, GLOBAL
from kibitz.uci.proxy import Server
from tests.hostile.kind import Answer, Kind, Target, run_command

# What a command may be given; no word names a place outside of the folder.
LINES = (
    "annotate games.pgn --level club --side white --moments key -o out.pgn",
    "comment --fen 6k1/5ppp/8/8/8/8/8/R5K1_w_-_-_0_1 --move Ra8 --level club --nodes 0 --words table",
    "perft --depth 2 --fen 8/8/8/8/8/4k3/4p3/4K3_w_-_-_0_1 --divide --json",
    "bench position --json",
    "lichess --network material --dry-run",
    "match material,nodes=1 uniform,CPuct=2 --games 2 --plies 3 --nodes 1 --sprt 0,5 --tc 1+0.1",
    "net new plain-1x8 -o net.safetensors --seed 1",
    "net show material",
    "net quantise net.safetensors -o out.safetensors --positions 5",
    "data import games.pgn -o out --rating 1000 --games 2",
    "data label -o out --engine uci:nowhere --games 2 --set nodes=2",
    "data fetch lichess 2013-01 -o out --dry-run",
    "data inspect games.pgn --games 1 --json",
    "doctor --json",
    "puzzle find games.pgn -o out.csv --nodes 20 --limit 1",
    "puzzle solve games.pgn",
    "play --network material --elo 1500 --side white --clock 1+0",
    "analyse games.pgn --network material --nodes 2 --lines 2",
    "uci --network material --serve :0 --token a",
    "search --network material --nodes 5 --time 1 --option CPuct=2.5 --json",
    "selfplay out --network material --games 1 --set selfplay.nodes=2 --seed 1",
    "show --fen 8/8/8/8/8/4k3/4p3/4K3_w_-_-_0_1 --svg out.svg --json",
    "suite games.epd --player material --nodes 2 --limit 1",
    "train games -o out --set run.steps=1 --set run.network=plain-1x8",
    "learn games.pgn --status --set learn.generations=1",
    "cycle games.toml -o out",
    "curve games.jsonl -o out.svg --force",
    "strength material --nodes 1 --games 2 --endings 1",
    "web games --port 8000 --engines 1 --threads 1 --hash 16 --no-open",
    "tune games.toml --games 2 --json",
    "technique material --nodes 1",
)
VALUES = (
    *(
        "",
        "-",
        "--",
        "=",
        "0",
        "-1",
        "1e999",
        "nan",
        "inf",
        "9" * 5000,
        "0x10",
        "1_000",
        "2147483648",
    ),
    *(
        "99999999999999999999",
        "\u0663",
        "\U0001f600",
        "{data}",
        "%s",
        "null",
        "true",
        "a b",
        "x" * 9000,
    ),
    *(
        "'",
        '"',
        "[",
        "[[",
        "{",
        "e2e4,e7e5",
        "a=b",
        "a=",
        "=b",
        "--set",
        "--option",
        "--set=x",
        "-o",
    ),
    *(
        "--config",
        "--config=games.pgn",
        "--cluster=x:y",
        "--no-json",
        "--nodes=-5",
        "--fen=x",
        "Hash=-1",
    ),
    *(
        "Threads=99999",
        "SyzygyPath=games.pgn",
        "WeightsFile=games.pgn",
        "Search=nothing",
        "--json=maybe",
    ),
    *(
        "\ud800",
        "\x1b[2J",
        "\n",
        "games.pgn",
        "games.epd",
        "games.toml",
        "games",
        "nowhere",
        "material",
    ),
)
# What stops a command that would begin its work: nothing takes it.
END = "--no-such-option"
CHEAP = (
    *("show", "comment", "curve", "data inspect", "net show", "net new", "report"),
    *("doctor", "puzzle solve"),
)


def changed(content: bytes, generator: random.Random) -> bytes:
    """The words of a command line with a few of them others, gone, twice or elsewhere."""
    words = content.decode(errors="surrogatepass").split("\0")
    for _ in range(generator.choice((1, 1, 2, 3, 5))):
        place = generator.randrange(1, len(words) + 1)
        match generator.randrange(6):
            case 0 if place < len(words):
                words[place] = generator.choice(VALUES)
            case 1 if place < len(words) > 2:
                del words[place]
            case 2 if place < len(words):
                words.insert(generator.randrange(1, len(words)), words[place])
            case 3 if place < len(words):
                name, equals, _ = words[place].partition("=")
                words[place] = f"{name}{equals or '='}{generator.choice(VALUES)}"
            case 4:
                words.insert(place, generator.choice(tuple(GLOBAL)))
            case _:
                words.insert(place, generator.choice(VALUES))
    return "\0".join(words).encode(errors="surrogatepass")


def _give(content: bytes, _: Path, *, ends: bool) -> Answer:
    """Run a command line in a folder of small files; servers start and end at once."""
    words = content.decode(errors="surrogatepass").split("\0")
    with mock.patch.object(uvicorn.Server, "run"), mock.patch.object(Server, "serve_forever"):
        return run_command([*words, END] if ends else words)


def targets(folder: Path) -> Sequence[Target]:
    """A line of each command, and each command alone."""
    work = folder.parent  # where commands run
    (work / "games.pgn").write_text("1. e4 e5 *\n")
    (work / "games.epd").write_text("6k1/5ppp/8/8/8/8/8/R5K1 w - - bm Ra8#;\n")
    (work / "games.toml").write_text("[search]\ncpuct = 2.0\n")
    (work / "games.jsonl").write_text('{"step":1,"loss":2.0}\n')
    (work / "games").mkdir(exist_ok=True)
    listed = []
    for line in (*LINES, *COMMANDS):
        words = "\0".join(word.replace("_", " ") for word in line.split())
        give = partial(_give, ends=not line.startswith(CHEAP) or line in COMMANDS)
        listed.append(Target(line, words.encode(), give, mutate=changed))
    return listed


COMMAND_LINES = Kind("commands", lambda _: [], targets)
