"""Every command with values that are wrong in some way, as far as the place where it would work.

A command runs in a folder of tiny files, without a network, and ends with 0 where what it was given
is accepted and long work would begin: a search, a game, a training, a server.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shlex
import shutil
import socket
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from kibitz.cli import COMMANDS, GLOBAL
from kibitz.data.shard import write
from kibitz.nets.models.make import create
from kibitz.search.searcher import BaseSearcher
from tests.hostile.kind import Answer, Kind, Target, run_command
from tests.hostile.shards import sound_shard

FEN = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
# Sound lines, with as many values as they can have; no word names a place outside of the folder.
LINES = f"""
annotate games.pgn --level club --side white --moments key --nodes 9 --threads 1 -o out.pgn
annotate games.pgn --html out.html --time 0.1 --words table --network material
comment --fen '{FEN}' --move Ra8 --level club --nodes 0 --words table --sampling covet
comment --game games.pgn --move 1...e5 --nodes 0 --json
comment corpus games.pgn -o out.jsonl --games 1 --level club --licence CC0
check games.pgn --nodes 0 --network material -o out.pgn --json
check 'White has a rook on a1.' --fen '{FEN}' --move Ra8 --nodes 9
human '{FEN}' --rating 1500 --moves a1a8 --json
coach add games.pgn --name Anna --database out.db
coach tree games.pgn --moves e4 -o out.bin
coach profile --database out.db --json
coach deck out.csv --database out.db
perft --depth 2 --fen '{FEN}' --divide --threads 1 --json
bench search --nodes 9 --rounds 1 --threads 1 --hash 2
bench evaluate plain-1x8 --batches 1,2 --threads 1 --rounds 1
lichess --network material --dry-run --set max_base=60 --url https://lichess.org
mcp games.pgn puzzles.csv --network material --database out.db --engines 1
mcp --http --host 127.0.0.1 --port 0 --name a --network uniform
match material,nodes=1 uniform,CPuct=2 --games 2 --plies 3 --nodes 1 --sprt 0 5 --draw 9 3 5
match material uniform --tc 1+0.1 --openings games.epd --margin 5 --resume out.jsonl --pgn out.pgn
net new plain-1x8 -o net.safetensors --seed 1 --name a
net show float.safetensors --json
net quantise float.safetensors -o out.safetensors --positions 5 --policy int8 --from games.epd
net join float.safetensors -o out.safetensors --name a --licence CC0
net compare material uniform --positions 2 --from games.epd
net calibrate material -o out.json --positions 5
data import games.pgn -o out --rating 1000 --games 2 --plies 50 --workers 1 --time-control blitz
data import games.csv -o out --a 100 --b 50
data label games.pgn -o out --engine 'sh engine' --set nodes=2 --patience 2 --workers 1
data label -o out --engine 'sh engine' --games 2 --option Hash=1 --openings games.epd --seed 1
data reanalyse games -o out --network material --nodes 8 --rule gumbel --option CPuct=2
data fetch lichess-evaluations -o out --dry-run --tries 2 --mirror https://my.host
data inspect games --games 1 --json
data split games -o out --share 0.5 --plies 100
data combine games -o out --plies 100 --name a
data export games -o out.pgn --format pgn
data prune games --keep 1 --dry-run
data fit-labels games.csv
doctor --json
completion bash
puzzle find games.pgn -o out.csv --nodes 20 --shallow 2 --limit 1 --moves 1 --workers 1
puzzle solve puzzles.csv --start 1 --theme mate
play --network material --elo 1500 --side white --clock 1+0 --fen '{FEN}'
play material --side black --odds knight --nodes 5 --movetime 9 --pgn out.pgn
analyse games.pgn --network material --nodes 2 --lines 2 --threads 1 --search mcts
analyse '{FEN}' --network uniform --time 0.1
uci --network material --serve :0 --token a --most-memory 99 --most-threads 2
search '{FEN}' --network material --nodes 5 --time 1 --option CPuct=2.5 --option Hash=2 --moves a1a8
search --network uniform --nodes 5 --rule gumbel --preset lc0 --search mcts --json
search --network material --nodes 5 --against uniform,CPuct=2
selfplay out --network material --games 1 --set playouts=2 --seed 1 --generation 1 --first 0
show '{FEN}' --svg out.svg --json
suite games.epd --player material --nodes 2 --limit 1 --failure-nodes 9 --concurrency 1 --out a.json
train --data games -o out --steps 1 --batch 8 --network plain-1x8 --rate 0.1 --device cpu
train --data games -o out --set run.steps=1 --set schedule.shape=cosine --network sparse-8x8-tactics
learn out --hours 0.1 --games 9 --generations 1 --set selfplay.playouts=2
cycle cycle.toml --json
curve games.jsonl -o out.svg --rows 5 --force
strength material --nodes 1 --games 2 --endings 1 --suite games.epd --opponent uniform,rating=1000
web games --port 8000 --engines 1 --threads 1 --hash 16 --minutes 5 --name a --fen '{FEN}' --no-open
tune out --parameter CPuct=1:3 --trials 2 --games 2 --player material,Search=mcts --nodes 2
technique KQK KRK --player material --nodes 1 --games 1 --seed 1
""".strip().splitlines()
FILES = {
    "games.pgn": "1. e4 e5 *\n",
    "games.epd": f"{FEN[:-4]} bm Ra8#;\n",
    "games.csv": "seed,game,fen,cp,mate,best,result\n"
    + "".join(f"7,{game},{FEN},{7 * game},,a1a8,{game / 2}\n" for game in (0, 1, 2)),
    "puzzles.csv": (
        "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n"
        "1,6k1/5ppp/8/8/8/8/8/R4NK1 w - - 0 1,f1e3 g8f8,1500,75,90,10,mate,https://x.org,\n"
    ),
    "games.toml": "[search]\ncpuct = 2.0\n",
    "games.jsonl": '{"step":1,"loss":2.0}\n',
    "cycle.toml": (
        'folder = "out"\niterations = 1\n\n[[stages]]\nkind = "train"\n'
        'set = ["run.network=plain-1x8", "data.folders=[\'games\']", "run.steps=1"]\n'
    ),
    "engine": (  # a UCI engine, for sh
        "while read word rest; do case $word in isready) echo readyok;;"
        " uci) echo option name Hash type spin default 1 min 1 max 9; echo uciok;;"
        " quit) exit;; esac; done\n"
    ),
}
# Where long work begins.
WORK = (
    *("kibitz.apps.lichess.bot.warm_up", "kibitz.apps.web.server.serve"),
    *("kibitz.apps.mcp.server.serve_http", "kibitz.apps.mcp.server.serve_lines"),
    *("kibitz.arena.bench.evaluator.measure", "kibitz.arena.bench.evaluator.peaks"),
    *("kibitz.cli.system.doctor._program", "kibitz.uci.__main__.talk"),
    *("kibitz.cli.explain.puzzle.Collection.find", "kibitz.cli.learn.data_label.label"),
    *("kibitz.cli.learn.data_label.relabel", "kibitz.cli.learn.data_label.reanalyse"),
    *("kibitz.cli.learn.selfplay.play", "kibitz.cli.measure.position._last"),
    *("kibitz.cli.measure.match.run", "kibitz.cli.measure.strength.run_suites"),
    *("kibitz.cli.measure.suite.run_suite", "kibitz.cli.measure.suite.run_technique"),
    *("kibitz.cli.measure.tune.work", "kibitz.core.downloads.download"),
    *("kibitz.engine.Engine.begin", "kibitz.position.count.divide"),
    *("kibitz.nets.evaluators.compare.random_leaves", "kibitz.zero.loop.Learning._step"),
    *("kibitz.train.loop._steps", "kibitz.uci.proxy.Server.serve_forever"),
    "kibitz.zero.cycle._run",
)
NUMBERS = (
    *("0", "1", "2", "3", "0.5", "100", "-1", "1e999", "nan", "inf", "9" * 5000, "0x10", "1_000"),
    *("2147483648", "99999999999999999999", "\u0663", "1e-9", "65536", "-0", "1e300"),
)
NUMBER = re.compile(r"\d+(\.\d+)?")
TEXTS = (
    *("", "-", "--", "=", "\U0001f600", "{data}", "%s", "null", "true", "a b", "x" * 9000, "'"),
    *('"', "[", "[" * 5000, "{", "e2e4,e7e5", "a=b", "a=", "=b", "\ud800", "\x1b[2J", "\n", "\0"),
    *("games.pgn", "games.epd", "games.toml", "games", "nowhere", "material", "uniform", "kibitz"),
    *("club", "mcts", "alphabeta", "bestfirst", "gumbel", "uci:nowhere", "uci:sh engine", "1+1"),
    *("Threads=99999", "SyzygyPath=games.pgn", "WeightsFile=games.pgn", "Search=nothing", "Hash=1"),
    *(
        "Hash=-1",
        "MultiPV=2",
        "Ponder=true",
        "x:99999",
        "KQK",
        "8/8 w",
        "0 1",
        ":",
        "http://[",
        "é",
    ),
)
FLAGS = (
    *(
        "--set",
        "--option",
        "--set=x",
        "-o",
        "--config",
        "--config=games.toml",
        "--config=games.pgn",
    ),
    *("--cluster=x:y", "--no-json", "--nodes=-5", "--fen=x", "--json=maybe", "--json", *GLOBAL),
)


def changed(content: bytes, generator: random.Random) -> bytes:
    """The words of a command line, most often with other values, and with words gone or twice."""
    words = content.decode(errors="surrogatepass").split("\xff")
    for _ in range(generator.choice((1, 1, 1, 2, 3))):
        values = [at for at in range(1, len(words)) if words[at][:1] != "-"]
        flags = [at for at in values if words[at - 1][:1] == "-"]
        place = generator.choice(flags or values or [0])
        key, sign, old = words[place].rpartition("=")
        wanted = NUMBERS if NUMBER.fullmatch(old) else TEXTS
        value = generator.choice(wanted if generator.random() < 0.9 else TEXTS)
        match generator.randrange(12):
            case 0 if len(words) > 2:
                del words[generator.randrange(1, len(words))]
            case 1:
                words.insert(generator.randrange(len(words) + 1), generator.choice(FLAGS))
            case 2:
                words.append(value)
            case 3 | 4 if place and not sign:  # a part of it
                numbers = list(NUMBER.finditer(old))
                if numbers:
                    part = generator.choice(numbers)
                    number = generator.choice(NUMBERS)
                    words[place] = old[: part.start()] + number + old[part.end() :]
            case _ if place:
                words[place] = f"{key}{sign}{value}"
    return "\xff".join(words).encode(errors="surrogatepass")


def _begun(*_: object, **__: object) -> Any:
    raise SystemExit(0)


@contextlib.contextmanager
def _without_work() -> Iterator[None]:
    """Commands end where long work would begin; there is no network, and no browser."""
    nowhere = socket.gaierror(socket.EAI_NONAME, "there is no network")
    variables = {"LICHESS_BOT_TOKEN": "lip_word"}
    with contextlib.ExitStack() as stack:
        for name in WORK:
            stack.enter_context(mock.patch(name, _begun))
        for kind in [BaseSearcher, *BaseSearcher.__subclasses__()]:
            if "search" in vars(kind):
                stack.enter_context(mock.patch.object(kind, "search", _begun))
        stack.enter_context(mock.patch.object(socket, "getaddrinfo", side_effect=nowhere))
        stack.enter_context(mock.patch("webbrowser.open"))
        stack.enter_context(mock.patch.dict(os.environ, variables))
        yield


def _give(content: bytes, folder: Path, *, home: Path) -> Answer:
    """Run a command line in a folder of its own."""
    shutil.copytree(home, folder, dirs_exist_ok=True)
    words = content.decode(errors="surrogatepass").split("\xff")
    with contextlib.chdir(folder), _without_work():
        return run_command(words)


def targets(folder: Path) -> Sequence[Target]:
    """Lines of each command."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "games").mkdir()
    write(folder / "games" / "some.shard", sound_shard())
    create("sparse-8x8-tactics", folder / "float.safetensors")
    give = partial(_give, home=folder)
    # Of all commands; `compile` takes a minute and reads nothing but one folder's name.
    assert {line.split()[0] for line in LINES} == {*COMMANDS} - {"compile"}
    return [
        Target(line, "\xff".join(shlex.split(line)).encode(), give, mutate=changed)
        for line in LINES
    ]


COMMAND_LINES = Kind("commands", lambda _: [], targets)
