"""Folders that commands go on in: what learning, measuring, labelling, tuning and tables keep."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from kibitz.zero.config import LearnSettings
from kibitz.zero.folder import Folder, Group, Rated, Result, Trained
from kibitz.zero.status import keep_log
from tests.hostile.kind import Answer, Kind, Target, replaced, run_command

WRITTEN = (".html", ".csv")  # for people: never read again
FEN = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
SYZYGY = Path(__file__).parents[1] / "fixtures" / "syzygy"
GAMES = "1. e4 *\n"
EPD = f"{FEN[:-4]} bm Ra8#;\n"
ENGINE = """next=e2e4 after=e7e5
while read word rest
do case $word in
    uci) echo uciok;;
    isready) echo readyok;;
    go) echo info depth 1 score cp 5 pv $next
        echo bestmove $next; now=$next next=$after after=$now;;
    quit) exit;;
esac; done
"""
STRENGTH = (
    "strength material --games 0 --endings 0 --suite DIR/some.epd --suite-nodes 5 --resume DIR/kept"
)
PUZZLES = "puzzle find DIR/some.pgn -o DIR/out.csv --nodes 20 --shallow 2 --network material"
LABEL = "data label DIR/some.pgn -o DIR/out --engine 'sh DIR/engine' --set nodes=1 --workers 1"
TUNE = (
    "tune DIR/kept --parameter CPuct=1:3 --metric points --suite DIR/some.epd "
    "--player material,Search=mcts --nodes 2 --trials 2 --set confirm=0"
)
SEARCH = (
    "search '8/8/8/8/8/8/R7/K1k5 w - - 0 1' --network material --nodes 9 --option SyzygyPath=DIR"
)


def _run(command: str, folder: Path) -> Answer:
    return run_command([replaced(word, {"DIR": str(folder)}) for word in shlex.split(command)])


def _kept(home: Path, name: str, command: str) -> Target:
    """A file of a folder, given with all that is beside it to what goes on there."""

    def give(content: bytes, folder: Path) -> Answer:
        shutil.copytree(home, folder, dirs_exist_ok=True)
        (folder / name).write_bytes(content)
        return _run(command, folder)

    return Target(f"{command} ({name})", (home / name).read_bytes(), give)


def _made(home: Path, command: str) -> list[Target]:
    """Every file that a command leaves beside what it has read, given to the same command."""
    home.mkdir()
    for name, text in (("some.pgn", GAMES), ("some.epd", EPD), ("engine", ENGINE)):
        (home / name).write_text(text)
    before = {*home.rglob("*")}
    answer = _run(command, home)
    assert answer.code == 0, answer.told
    left = sorted(path for path in {*home.rglob("*")} - before if path.is_file())
    sound = [path for path in left if path.stat().st_size and path.suffix not in WRITTEN]
    assert sound, command
    return [_kept(home, str(path.relative_to(home)), command) for path in sound]


def _learning(home: Path) -> list[Target]:
    """Every record of a run of learning, given to what shows it, draws it and tidies it up."""
    run = Folder(home)
    run.begin(LearnSettings())
    games = {"games": 8, "positions": 90, "playouts": 900, "white": 3, "draws": 2, "black": 3}
    group = Group(**games, seconds=1.0, processor=1.0, playouts_set=9, sc_limit=0)
    run.write(run.group_file(0, 0), group)
    trained = Trained(
        generation=1, size="plain-1x8", plays=1, window=90, steps=3, rate=0.1,
        losses={"loss": 2.0}, validation={"loss": 2.5}, processor=1.0,
    )  # fmt: skip
    run.write(home / "trained" / "0001.json", trained)
    result = Result(opponent="uniform", wins=3, draws=1, losses=0, pairs=(0, 0, 1, 1, 0))
    run.write(home / "rated" / "0001.json", Rated(generation=1, results=(result,), processor=1.0))
    keep_log(run)
    files = sorted(path for path in home.rglob("*") if path.suffix in (".json", ".toml"))
    commands = "learn DIR --status", "curve DIR -o DIR/out.svg", "learn DIR --prune --json"
    records = [
        _kept(home, str(path.relative_to(home)), command) for path in files for command in commands
    ]
    name = "generations.jsonl"
    return [*records, _kept(home, name, f"curve DIR/{name} -o DIR/out.svg")]


def targets(folder: Path) -> Sequence[Target]:
    """What each of these commands has left behind."""
    made = [
        target
        for number, command in enumerate((STRENGTH, PUZZLES, LABEL, TUNE))
        for target in _made(folder / f"made{number}", command)
    ]
    (folder / "tables").mkdir()
    for path in SYZYGY.glob("KRvK.*"):
        shutil.copy(path, folder / "tables")
    tables = [_kept(folder / "tables", f"KRvK.{end}", SEARCH) for end in ("rtbw", "rtbz")]
    return [*made, *_learning(folder / "learning"), *tables]


FOLDERS = Kind("folders", lambda _: [], targets)
