"""The recipes of docs/extending.md, followed in a copy of the package: what they add works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kibitz.jit.compile import COMPILED

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "extending.md"
MOST_WORDS = 1050
MOST_FILES = 2


def recipes() -> dict[str, list[tuple[str, list[str]]]]:
    """Files and lines of the blocks below each heading."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {
        section.splitlines()[0]: [
            (block.splitlines()[0].removeprefix("+++ "), block.splitlines()[1:])
            for block in re.findall(r"^```diff\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        ]
        for section in sections
    }


def hunks(lines: list[str]) -> list[tuple[str, str]]:
    """What stands in a file before and after, for each part of a block."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if line == "@@":
            parts.append([])
        else:
            parts[-1].append(line)
    return [(_text(part, "+"), _text(part, "-")) for part in parts]


def _text(lines: list[str], without: str) -> str:
    return "".join(f"{line[1:]}\n" for line in lines if line[0] != without)


def follow(recipe: str, root: Path) -> None:
    """Do what a recipe says in a copy of the package below `root`."""
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name, lines in recipes()[recipe]:
        path = root / name
        if not path.exists():
            path.write_text("".join(f"{line[1:]}\n" for line in lines), encoding="utf-8")
            continue
        text = path.read_text(encoding="utf-8")
        for before, after in hunks(lines):
            assert text.count(before) == 1, f"{name} has not, or not once:\n{before}"
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")


def run(root: Path, *words: str, compiled: bool) -> str:
    """What a program says that uses the copy; kernels that are not compiled run as Python."""
    environment = {"PYTHONPATH": str(root / "src")} | (
        {} if compiled else {"NUMBA_DISABLE_JIT": "1"}
    )
    done = subprocess.run(
        [sys.executable, *words],
        env=os.environ | environment,
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


USES = {
    "A search rule": (
        "from kibitz.nets.evaluators.inline import inline_evaluator\n"
        "from kibitz.nets.evaluators.inline import Uniform\n"
        "from kibitz.position.board import Board\n"
        "from kibitz.search.clock import Limits\n"
        "from kibitz.search.mcts.searcher import Searcher\n"
        "from kibitz.search.options import Settings\n"
        "with Searcher(inline_evaluator(Uniform()), Settings(search_rule='prior', hash=1)) as s:\n"
        "    moves = s.search(Board(), Limits(nodes=61)).report.moves\n"
        "print(sorted(row.visits for row in moves) == [3] * 20)\n",
        "True\n",
    ),
    "A claim of commentary": (
        "import chess\n"
        "from kibitz.comment.select.rank import Memory, worth_saying\n"
        "from kibitz.comment.words.speaker import Speaker\n"
        "from kibitz.comment.facts import Scene\n"
        "board = chess.Board('4k3/8/8/8/8/8/3Q4/6K1 w - - 0 1')\n"
        "for move in ('d2d1', 'd2e1'):\n"
        "    scene = Scene(board, chess.Move.from_uci(move), ())\n"
        "    claims = worth_saying(scene, Memory(), 'beginner', 5)\n"
        "    texts = [Speaker('beginner').predicate(claim, scene) for claim in claims]\n"
        "    print('brings the queen back to d1' in texts)\n",
        "True\nFalse\n",
    ),
    "A language": (
        "import chess\n"
        "from kibitz.comment.facts import Scene\n"
        "from kibitz.comment.words.languages import language_of\n"
        "from kibitz.comment.words.speaker import Speaker\n"
        "board = chess.Board('6k1/5pp1/7p/3q4/8/8/5PPP/R3QRK1 w - - 0 1')\n"
        "for move in ('e1e2', 'h2h3'):\n"
        "    scene = Scene(board, chess.Move.from_uci(move), ())\n"
        "    print(Speaker('club', language_of('fr')).comment(scene).text)\n",
        "Cela relie les tours.\n\n",
    ),
    "A command": (
        "from kibitz.cli import main\nmain(['hello', 'White'])\n",
        "Hello, White.\n",
    ),
    "A network family": (
        "from kibitz.nets.models.build import build, count_parameters\n"
        "print(count_parameters(build('narrow-1x8')) > 1000)\n",
        "True\n",
    ),
    "An option": (
        "from kibitz.search.options import OPTIONS, Settings, option_of\n"
        "from kibitz.search.method import why_without_effect\n"
        "option, settings = option_of('greeting'), Settings(search='mcts')\n"
        "print(option.line, settings.parse({'Greeting': '5'}).greeting, option.step)\n"
        "print(why_without_effect(option, settings, batched=False))\n",
        "option name Greeting type spin default 3 min 0 max 9 5 1\nwithout ScLimit\n",
    ),
}


CHANGE_KERNELS = {"A search rule"}  # which takes longer to compile than it runs as Python


@pytest.mark.parametrize("recipe", USES)
def test_a_recipe_works(recipe: str, tmp_path: Path) -> None:
    program, shown = USES[recipe]
    compiled = COMPILED and recipe not in CHANGE_KERNELS
    with pytest.raises(AssertionError):
        assert run(ROOT, "-c", program, compiled=compiled) == shown  # without it, it does not
    follow(recipe, tmp_path)
    assert run(tmp_path, "-c", program, compiled=compiled) == shown


def test_recipes_are_short() -> None:
    assert set(recipes()) == set(USES)
    assert {name for name, blocks in recipes().items() if len(blocks) > MOST_FILES} == set()
    assert len(PAGE.read_text(encoding="utf-8").split()) <= MOST_WORDS
