"""The plan of the house: who may import whom, how large a module is, what starting up costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "kibitz"

LONGEST_MODULE = 400

GROUND = {
    "checksums",
    "options",
    "settings",
    "errors",
    "files",
    "locks",
    "places",
    "log",
    "workers",
}

# From the ground up. A room imports from lower floors only, never from its neighbours. A module
# with a floor of its own stands there, not where its room stands.
FLOORS = [
    GROUND,
    {"kernel"},
    {"position"},
    {"uci.client"},  # the other end of UCI: teachers of games use it as matches do
    {"games", "encoding"},
    {"network"},
    {"evaluator"},
    {"search"},
    {"engine", "selfplay"},
    {"match", "commentary", "dataset"},
    {"training", "tuning", "experiments", "puzzles"},
    {"bench"},
    {"uci", "web", "lichess", "cluster"},
    {"commands"},
    {"__main__"},
]

FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}

# torch takes seconds to import. A name ending in a dot stands for a whole room.
MAY_IMPORT_TORCH = (
    "network.",
    "training.",
    "dataset.loader",
    "evaluator.torch",
    "commentary.decoder",
)
MUST_NOT_IMPORT_TORCH = ("network", "network.card", "training", "evaluator", "commentary")

# Functions are compiled by the one decorator in jit.py; others extend numba at most.
MAY_IMPORT_NUMBA = ("kernel.",)
EXTENDS_NUMBA = ("numba.extending.", "numba.core.", "numba.types")

MODULES = sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    """Name a module within the package; the package itself has an empty name."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(path: Path) -> set[str]:
    """Return the full names a module imports, at its top or inside its functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room_of(name: str) -> str:
    """Return the room of a module or of a name in it; some modules have a floor of their own."""
    parts = name.split(".")
    module = ".".join(parts[:2])
    return module if module in FLOOR else parts[0]


def rooms_imported(path: Path) -> set[str]:
    """Return the rooms of this package that a module imports from."""
    inside = {name.removeprefix("kibitz.") for name in imports(path) if name.startswith("kibitz.")}
    return {room_of(name) for name in inside} - {"__version__"}


def allowed(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name == pattern or name.startswith(pattern) for pattern in patterns)


def test_the_walls_are_looked_at() -> None:
    assert {"errors", "commands", "commands.output"} <= {module_name(path) for path in MODULES}
    assert "kibitz.errors.KibitzError" in imports(PACKAGE / "commands" / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_go_one_way(path: Path) -> None:
    room = room_of(module_name(path))
    if not room:
        return  # the package itself loads its public names on demand
    assert room in FLOOR, f"{room} has no floor in the plan"
    above = {
        other
        for other in rooms_imported(path) - {room}
        if FLOOR[other] >= FLOOR[room] and not {room, other} <= GROUND
    }
    assert above == set()


def test_the_tree_search_stands_on_its_tree() -> None:
    """A folder of the tree search imports from itself and the folders before it only."""
    room, floors = "kibitz.search.mcts.", ("tree", "rules", "playout")
    for height, folder in enumerate(floors):
        for path in (PACKAGE / "search" / "mcts" / folder).glob("*.py"):
            inside = {name.removeprefix(room) for name in imports(path) if name.startswith(room)}
            assert {name.split(".")[0] for name in inside} <= {*floors[: height + 1]}, path


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_modules_are_short_and_introduce_themselves(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_MODULE
    introduction = ast.get_docstring(ast.parse(text))
    assert introduction
    assert introduction.splitlines()[0].endswith((".", ":", ";", ",")) or "\n" in introduction


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_heavy_packages_have_few_doors(path: Path) -> None:
    name = module_name(path)
    packages = {imported.split(".")[0] for imported in imports(path)}
    if "torch" in packages:
        assert allowed(name, MAY_IMPORT_TORCH)
        assert name not in MUST_NOT_IMPORT_TORCH
    if not allowed(name, MAY_IMPORT_NUMBA):
        numba = {imported for imported in imports(path) if imported.split(".")[0] == "numba"}
        assert {imported for imported in numba if not imported.startswith(EXTENDS_NUMBA)} == set()


def loaded_by(module: str) -> set[str]:
    """Return the packages that importing a module brings into a fresh process."""
    script = f"import {module}, sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    return set(done.stdout.split())


LIGHT = [
    "kibitz",
    "kibitz.commands",
    "kibitz.options",
    "kibitz.settings",
    "kibitz.errors",
    "kibitz.files",
    "kibitz.log",
]


@pytest.mark.parametrize("module", LIGHT)
def test_starting_is_light(module: str) -> None:
    loaded = loaded_by(module)
    assert "kibitz" in loaded
    assert loaded & {"numpy", "numba", "torch", "chess", "onnxruntime"} == set()


def test_a_public_name_is_loaded_when_used_and_only_then() -> None:
    import kibitz

    assert set(kibitz.__all__) <= set(dir(kibitz))
    with pytest.raises(AttributeError, match="no attribute 'Bored'"):
        _ = kibitz.Bored
    for name in kibitz.__all__:
        assert getattr(kibitz, name) is getattr(kibitz, name)
