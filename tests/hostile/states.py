"""Files that work leaves behind: journals, checkpoints, a learning run, games of a coach, books."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from kibitz.coach.tree import MARK
from kibitz.core.errors import KibitzError
from kibitz.core.files import with_ending, without_ending
from kibitz.core.settings import dump
from kibitz.search.bestfirst.worker import Calibration, write_calibration
from kibitz.train import checkpoint
from kibitz.train.checkpoint import Checkpoint
from kibitz.zero.config import LearnSettings
from tests.hostile.kind import Answer, Attack, Kind, Target, file_target, run_command
from tests.hostile.networks import resealed

MATCH = "match material,nodes=1 uniform,nodes=1 --games 2 --max-moves 1 --resume"
FEW = "--nodes 5 --network material"
GAME = '[Event "a"]\n[Result "1-0"]\n\n1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n'
SPEAK = (
    "comment --fen 6k1/5ppp/8/8/8/8/8/R5K1_w_-_-_0_1 --move Ra8 "
    "--nodes 0 --words decoder --model FILE"
)


def attacks(folder: Path) -> list[Attack]:
    """Journals and decoders that are something else altogether."""
    found = []
    for name, content in (("binary", bytes(range(256)) * 40), ("deep", b"[" * 100_000 + b"\n")):
        (folder / name).write_bytes(content)
        words = (*MATCH.split(), str(folder / name))
        found.append(Attack(f"journal: {name}", words, "kibitz: error"))
    bomb = folder / "bomb.words"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("card.json", bytes(300 << 20))
    words = tuple(word.replace("_", " ").replace("FILE", str(bomb)) for word in SPEAK.split())
    found.append(Attack("decoder: bomb", words, "times its size"))
    return found


def _loaded(read: Callable[[Path], object], name: str) -> Callable[[bytes, Path], Answer]:
    """Reads a file without a command; what it refuses is told as the command line tells it."""

    def give(content: bytes, folder: Path) -> Answer:
        (folder / name).write_bytes(content)
        try:
            read(folder / name)
        except KibitzError as error:
            return Answer(2, f"kibitz: error: {error}")
        return Answer(0, "")

    return give


def _decoder() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("card.json", "{}")
        for name in ("tokens.model", "encode.onnx", "next.onnx"):
            archive.writestr(name, b"\x08\x0a")
    return out.getvalue()


def _of_a_coach(folder: Path) -> Sequence[Target]:
    """A player's database, a tree of openings and a Polyglot book."""
    games, tree, book = folder / "own.pgn", folder / "some.tree", folder / "some.bin"
    games.write_text(GAME.replace('"a"]', '"a"]\n[White "Ann"]\n[Black "Ben"]', 1))
    database = folder / "games.db"
    for command in (
        f"coach add {games} --player Ann --database {database}",
        f"coach analyse --nodes 20 --network material --workers 1 --database {database}",
        f"coach tree {games} -o {tree}",
        f"coach tree {games} -o {book} --fewest 1",
    ):
        answer = run_command(command.split())
        assert answer.code == 0, (command, answer.told)
    arrays = without_ending(tree.read_bytes(), MARK)
    show = "coach tree FILE --moves e4"
    return [
        file_target("some.tree", arrays, show, lambda body: with_ending(body, MARK)),
        file_target("some.tree", tree.read_bytes(), show),
        file_target("some.bin", book.read_bytes(), show),
        *(
            file_target("games.db", database.read_bytes(), f"{command} --database FILE")
            for command in ("coach profile --games 1", "coach tree", "coach deck -o OUT.pgn")
        ),
    ]


def targets(folder: Path) -> Sequence[Target]:
    """What a match, a training and a learning run have left, and what goes on from it."""
    run_command([*MATCH.split(), str(folder / "match")])
    journal = (folder / "match").read_bytes()
    saved = Checkpoint({"network.a": torch.zeros(3)}, {"step": 1})
    checkpoint.save(folder / "step-000000001.safetensors", saved)
    kept = (folder / "step-000000001.safetensors").read_bytes()
    load = _loaded(checkpoint.load, "step-000000001.safetensors")
    learn = dump(LearnSettings()).encode()
    bins = Calibration(0.1, 0.2, np.array([3.0, 2.0, 1.0]), "material")
    write_calibration(folder / "bins.json", bins)
    calibration = (folder / "bins.json").read_bytes()
    search = "search --network material --nodes 9 --option Search=bestfirst --option"
    return [
        file_target("match", journal, f"{MATCH} FILE"),
        Target("checkpoint", kept, load),
        Target("checkpoint, sealed", kept, load, resealed),
        file_target("learn.toml", learn, "learn DIR --status"),
        file_target("some.words", _decoder(), SPEAK),
        file_target("bins.json", calibration, f"{search} BestFirstFile=FILE"),
        file_target("games.pgn", GAME.encode(), f"annotate FILE -o OUT.pgn {FEW}", most=2000),
        *_of_a_coach(folder),
    ]


STATES = Kind("states", attacks, targets)
