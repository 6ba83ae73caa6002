"""From games to a network that plays, by the commands of the terminal."""

import subprocess
import sys
import tempfile
from pathlib import Path

from kibitz import Board, Engine


def kibitz(*words: str) -> None:
    """Run a command as you would type it, and stop here if it fails."""
    print("$ kibitz", *words, flush=True)
    subprocess.run([sys.executable, "-m", "kibitz", *words], check=True)


def main() -> None:
    """Play some games, make shards of them, train a tiny network and ask it for a move."""
    with tempfile.TemporaryDirectory() as folder:
        games, shards, run = (str(Path(folder) / name) for name in ("games.pgn", "shards", "run"))
        kibitz("match", "material", "greedy", "--games", "8", "--nodes", "50", "--pgn", games)
        kibitz("data", "import", games, "--output", shards)
        kibitz(
            *("train", "--network", "sparse-16x16", "--data", shards, "--output", run),
            *("--steps", "40", "--batch", "64", "--set", "data.validation=0"),
        )
        network = max(Path(run).glob("*.safetensors"), key=lambda path: path.stat().st_mtime)
        with Engine(network) as engine:
            print("its first move:", engine.play(Board(), nodes=100).move)


if __name__ == "__main__":
    main()
