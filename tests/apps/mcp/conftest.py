"""Games, puzzles and a service for the tests of tools for language models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from kibitz.apps.mcp.calls import Engines, Shelf
from kibitz.apps.mcp.server import Service
from kibitz.cli import main

PGN = """[Event "One"]
[White "Anna"]
[Black "Ben"]
[Result "1-0"]

1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0
"""
PUZZLES = """PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags
one,6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1,a2a8 b1b8 a8b8 g2g3,900,80,90,100,backRank,x,
two,6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1,a2a8 b1b8,1900,80,90,100,backRank short,x,
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that a server is started with, and a player's games, one of them analysed."""
    folder = tmp_path_factory.mktemp("mcp")
    (folder / "games.pgn").write_text(PGN)
    (folder / "puzzles.csv").write_text(PUZZLES)
    database = ["--database", str(folder / "games.db")]
    assert main(["coach", "add", str(folder / "games.pgn"), "--player", "Anna", *database]) == 0
    few = ["--nodes", "50", "--workers", "1", "--network", "material"]
    assert main(["coach", "analyse", *few, *database]) == 0
    words = ["coach", "tree", str(folder / "games.pgn"), "--workers", "1", "--fewest", "1"]
    for name in ("own.tree", "own.bin"):
        assert main([*words, "-o", str(folder / name)]) == 0
    return folder


@pytest.fixture
def service(folder: Path) -> Iterator[Service]:
    """A service with one engine, which knows the files."""
    files = {path.name: path for path in folder.iterdir() if path.suffix != ".db"}
    service = Service(Engines(1, "material"), Shelf(folder / "games.db", files))
    yield service
    service.engines.close()
