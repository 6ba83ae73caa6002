"""The plan of the house: who may import whom, how large a module is, what starting up costs."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import TypeAlias

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "kibitz"
RESEARCH = Path(__file__).parents[1] / "research"  # beside the package, and above all its rooms

LONGEST_MODULE = 500  # lines
LONGEST_FUNCTION = 45  # lines of a body, without the docstring
LONGEST_KERNEL = 60
LARGEST_FOLDER = 16  # modules beside __init__.py; a larger one has floors, and shows them

# In the order in which they may import: a room imports from those before it only.
ROOMS = [
    "core",
    "jit",
    "position",
    "nets",
    "search",
    "engine",
    "comment",
    "uci",
    "data",
    "train",
    "arena",
    "zero",
    "coach",
    "apps",
    "cli",
    "__main__",
    "research",
]

STARTED = 'if __name__ == "__main__":'  # in what `python -m` runs
FLOOR = {room: height for height, room in enumerate(ROOMS)}

# torch takes seconds to import. A name ending in a dot stands for a whole room.
MAY_IMPORT_TORCH = (
    "nets.models.",
    "train.",
    "data.batches.loader",
    "nets.evaluators.torch",
    "comment.decoder.transformer",
    "zero.cycle_stages",
    "research.endings.fit",
)
MUST_NOT_IMPORT_TORCH = ("nets", "nets.card", "train", "nets.evaluators", "comment")

# Functions are compiled by the decorators of one room, which alone knows the compiler.
MAY_IMPORT_COMPILERS = ("jit.",)

KERNEL_DECORATORS = {"kernel", "called_kernel", "inlined_kernel", "sum_kernel"}
# What a module with kernels may import beside rooms above the ground, and not call.
BESIDE_KERNELS = {"__future__", "collections", "dataclasses", "math", "numpy", "re", "typing"}
OUTSIDE = {"input", "open", "print"}
OF_LIBRARIES = {"_asdict", "_commands", "_exit", "_fields", "_make", "_replace", "_repr_svg_"} | {
    "_transposition_key"
}
PATCHES = {"setattr", "delattr"}
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "time"}

MODULES = [*sorted(PACKAGE.rglob("*.py")), *sorted(RESEARCH.rglob("*.py"))]
TESTS = sorted(Path(__file__).parent.rglob("*.py"))
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


@functools.cache
def module_name(path: Path) -> str:
    """Name a module within the package, which itself has an empty name, or in research."""
    root = RESEARCH.parent if path.is_relative_to(RESEARCH) else PACKAGE
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


NAMES = {module_name(path) for path in MODULES} - {""}
TEXTS = [path.read_text(encoding="utf-8") for path in MODULES]


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """Return all that a module's text consists of."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@functools.cache
def imports(path: Path) -> set[str]:
    """Return the full names a module imports, at its top or inside its functions."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room_of(name: str) -> str:
    """Return the room of a module or of a name in it."""
    return name.partition(".")[0]


def packages(path: Path) -> set[str]:
    """Return the packages that a module imports from."""
    return {name.split(".")[0] for name in imports(path)}


def rooms_imported(path: Path) -> set[str]:
    """Return the rooms of this package that a module imports from."""
    return {room_of(name) for name in ours(imports(path))} - {"__version__"}


def ours(names: set[str]) -> set[str]:
    """Return which full names are of this project, as `module_name` has them."""
    inside = {name.removeprefix("kibitz.") for name in names if name.startswith("kibitz.")}
    return inside | {name for name in names if room_of(name) == "research"}


def allowed(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name == pattern or name.startswith(pattern) for pattern in patterns)


def test_the_walls_are_looked_at() -> None:
    assert {"core.errors", "cli", "cli.output"} <= {module_name(path) for path in MODULES}
    assert "kibitz.core.errors.KibitzError" in imports(PACKAGE / "cli" / "__init__.py")


# In docstrings of folders: what is written like a module and is a word, a file or a name in code.
NO_MODULES = {"ucinewgame", "quit", "heads", "kibitz", "help"}


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.name == "__init__.py"], ids=module_name
)
def test_folders_name_modules_that_exist(path: Path) -> None:
    """A stranger finds his way by them."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    written = re.findall(r"\b(\w+)\.py\b|`(\w+)/?`", text)
    named = {name for either in written for name in either}
    there = {other.stem for other in path.parent.rglob("*") if other.stem != "__init__"}
    missing = named - {""} - there - NO_MODULES
    assert not {name for name in missing if name.islower()}
    for word in re.findall(r"(?m)^    (\w+)   +\w", text):
        assert word in there, word


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_go_one_way(path: Path) -> None:
    room = room_of(module_name(path))
    if not room:
        return  # the package itself loads its public names on demand
    assert room in FLOOR, f"{room} has no floor in the plan"
    above = {other for other in rooms_imported(path) - {room} if FLOOR[other] >= FLOOR[room]}
    assert above == set()


def test_nothing_of_the_package_uses_research() -> None:
    users = {path for path in MODULES if "research" in packages(path)}
    assert users
    assert [path for path in users if not path.is_relative_to(RESEARCH)] == []


def test_the_tree_search_stands_on_its_tree() -> None:
    """A folder of the tree search imports from itself and the folders before it only."""
    room, floors = "kibitz.search.mcts.", ("tree", "rules", "playout")
    for height, folder in enumerate(floors):
        for path in (PACKAGE / "search" / "mcts" / folder).glob("*.py"):
            inside = {name.removeprefix(room) for name in imports(path) if name.startswith(room)}
            assert {name.split(".")[0] for name in inside} <= {*floors[: height + 1]}, path


FLOORS_OF_COMMENTARY = (  # from the bottom up; a folder stands for all its modules
    {"tactics", "judge"},
    {"force", "analysis", "three_men"},
    {"searches", "facts", "openings"},
    {"analyse", "cache"},
    {"claims"},
    {"select", "check"},
    {"words"},
    {"marks", "annotate", "batch", "engine", "report"},
    {"decoder"},
)


def test_what_is_selected_stands_on_what_is_ranked() -> None:
    floors = ["rank", "kinds", "contrast", "further", "criticism", "selection"]
    for at, name in enumerate(floors):
        used = imports(PACKAGE / "comment" / "select" / f"{name}.py")
        assert not used & {f"kibitz.comment.select.{above}" for above in floors[at + 1 :]}


def test_commentary_stands_on_facts() -> None:
    """Facts, claims, words: what is below knows nothing of what is above."""
    room = "kibitz.comment."
    height = {name: at for at, names in enumerate(FLOORS_OF_COMMENTARY) for name in names}
    for path in (PACKAGE / "comment").rglob("*.py"):
        own = path.relative_to(PACKAGE / "comment").with_suffix("").parts[0]
        if own == "__init__":
            continue
        inside = {name.removeprefix(room) for name in imports(path) if name.startswith(room)}
        above = {name for name in inside if height[name.split(".")[0]] > height[own]}
        assert above == set(), path


def test_nothing_after_the_analysis_searches() -> None:
    """From the record of an analysis on, no module of commentary can start an engine."""
    room = PACKAGE / "comment"
    pure = [room / "analysis.py", room / "facts.py", room / "marks.py"]
    pure += (room / "select").glob("*.py")
    for path in [*pure, *(room / "claims").rglob("*.py"), *(room / "words").rglob("*.py")]:
        assert not {name for name in imports(path) if name.startswith("kibitz.engine")}, path
        assert "Searches" not in path.read_text(encoding="utf-8"), path


def test_large_folders_have_floors() -> None:
    for folder in {path.parent for path in MODULES}:
        assert len({*folder.glob("*.py")} - {folder / "__init__.py"}) <= LARGEST_FOLDER, folder


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
    if "torch" in packages(path):
        assert allowed(name, MAY_IMPORT_TORCH)
        assert name not in MUST_NOT_IMPORT_TORCH
    if packages(path) & {"numba", "llvmlite"}:
        assert allowed(name, MAY_IMPORT_COMPILERS)


Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def functions(path: Path) -> list[Function]:
    """Return all functions and methods of a module."""
    return [node for node in nodes(path) if isinstance(node, Function)]


def is_kernel(function: Function) -> bool:
    """Whether a function is compiled: `@kernel`, `@compile.kernel` or `@kernel(...)`."""
    marks = [getattr(mark, "func", mark) for mark in function.decorator_list]
    return any(
        getattr(mark, "id", getattr(mark, "attr", "")) in KERNEL_DECORATORS for mark in marks
    )


def length(function: Function) -> int:
    """Return how many lines the body of a function has, without its docstring."""
    first = function.body[0]
    described = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    start = first.end_lineno or 0 if described else first.lineno - 1
    return (function.end_lineno or 0) - start


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_functions_are_short(path: Path) -> None:
    too_long = {
        function.name: length(function)
        for function in functions(path)
        if length(function) > (LONGEST_KERNEL if is_kernel(function) else LONGEST_FUNCTION)
    }
    assert too_long == {}


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_kernels_stand_apart_from_files_processes_and_clocks(path: Path) -> None:
    """Beside kernels stand what they work on and who allocates it, nothing that does things."""
    name = module_name(path)
    if name.startswith("arena.bench.") or not any(
        is_kernel(function) for function in functions(path)
    ):
        return  # measurements take the time of kernels
    compilers = {"numba", "llvmlite"} if allowed(name, MAY_IMPORT_COMPILERS) else set()
    assert packages(path) - BESIDE_KERNELS - compilers <= {"kibitz"}
    grounds = {name for name in imports(path) if name.startswith("kibitz.core.")}
    assert {name.split(".")[2] for name in grounds} <= {"errors"}
    calls = [node.func for node in nodes(path) if isinstance(node, ast.Call)]
    assert {getattr(call, "id", "") for call in calls} & OUTSIDE == set()


def modules_imported(path: Path, *, for_types: bool = True) -> set[str]:
    """Return the modules of this package that a module imports, or does when it runs."""
    found = imports(path) if for_types else imports(path) - imports_for_types(path)
    names = ours(found)
    return {known for name in names for known in (name, name.rpartition(".")[0])} & NAMES


def imports_for_types(path: Path) -> set[str]:
    """Return what a module imports for type checkers only."""
    blocks = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    ]
    return {
        f"{node.module}.{alias.name}"
        for block in blocks
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_no_circle_of_imports() -> None:
    """Not even for types: what two modules know of each other belongs into a third one."""
    above = {module_name(path): modules_imported(path) for path in MODULES}
    while above:  # take away, again and again, what imports nothing that is left
        ready = {name for name, needed in above.items() if not needed & set(above) - {name}}
        assert ready, f"modules import each other: {sorted(above)}"
        above = {name: needed for name, needed in above.items() if name not in ready}


def test_every_module_is_used() -> None:
    used = {name for path in MODULES for name in modules_imported(path)}
    named = {word for text in TEXTS for word in re.findall(r"[\".](\w+):\w", text)}
    by_text = {name for name in NAMES if name.rpartition(".")[2] in named}
    packages = {module_name(path) for path in MODULES if path.name == "__init__.py"}
    entries = {
        module_name(path)
        for path, text in zip(MODULES, TEXTS, strict=True)
        if path.name == "__main__.py" or (path.is_relative_to(RESEARCH) and STARTED in text)
    }
    assert NAMES - used - by_text - packages <= entries


def reads_a_clock(code: ast.AST, names: set[str]) -> bool:
    """Whether an expression calls a clock, or has a variable of those names."""
    return any(
        getattr(part, "attr", "") in CLOCKS
        or (isinstance(part, ast.Name) and part.id in names | CLOCKS - {"time"})
        for part in ast.walk(code)
    )


def asserted_times(function: Function) -> list[int]:
    """Return the lines of a function's assertions about what a clock said, also by a variable."""
    parts, times = list(ast.walk(function)), set[str]()
    asserts = [part for part in parts if isinstance(part, ast.Assert)]
    if not asserts:
        return []
    for _ in range(3):  # a variable may be made of another one
        for part in parts:
            if isinstance(part, ast.Assign) and reads_a_clock(part.value, times):
                targets = [name for target in part.targets for name in ast.walk(target)]
                times |= {name.id for name in targets if isinstance(name, ast.Name)}
    return [part.lineno for part in asserts if reads_a_clock(part.test, times)]


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_no_simple_queue_is_waited_at_for_a_time(path: Path) -> None:
    """SimpleQueue.get(timeout=...) waits for ever when a signal is handled as the time runs out."""
    text = path.read_text()
    assert "SimpleQueue" not in text or ".get(timeout" not in text


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_no_time_is_asserted(path: Path) -> None:
    """How fast things are is measured by `kibitz bench`; a test that waits has no deadline."""
    assert [line for function in functions(path) for line in asserted_times(function)] == []


@functools.cache
def private_names(room: str) -> set[str]:
    """Return what a room's own code calls private."""
    texts = [
        text for path, text in zip(MODULES, TEXTS, strict=True) if in_room(module_name(path), room)
    ]
    return {name for text in texts for name in re.findall(r"\b_[a-z]\w*", text)}


def in_room(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def full_names_used(path: Path) -> set[str]:
    """Return the names in the package that a test imports or patches by their full names."""
    calls = [node for node in nodes(path) if isinstance(node, ast.Call)]
    patches = [call for call in calls if getattr(call.func, "attr", "") in PATCHES]
    texts = [part.value for call in patches for part in call.args if isinstance(part, ast.Constant)]
    return {name for name in imports(path) | {str(text) for text in texts} if "kibitz." in name}


def attributes_used(path: Path) -> set[str]:
    """Return the attributes that a test reads, but its own, or names to `monkeypatch`."""
    calls = [node for node in nodes(path) if isinstance(node, ast.Call)]
    patches = [call for call in calls if getattr(call.func, "attr", "") in PATCHES]
    named = {part.value for call in patches for part in call.args if isinstance(part, ast.Constant)}
    reads = [node for node in nodes(path) if isinstance(node, ast.Attribute)]
    return {str(name) for name in named} | {
        node.attr for node in reads if getattr(node.value, "id", "") not in ("self", "cls")
    }


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("_")


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_tests_leave_other_rooms_private_names_alone(path: Path) -> None:
    parts = path.relative_to(Path(__file__).parent).parts
    room = parts[0] if len(parts) > 1 else path.stem.removeprefix("test_")
    used = {name for name in attributes_used(path) if is_private(name)}
    assert used - private_names(room) - OF_LIBRARIES == set()
    full = {name for name in full_names_used(path) if is_private(name.rpartition(".")[2])}
    assert {name for name in full if name.split(".")[1] != room} == set()


def test_the_page_on_architecture_names_what_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    root = PAGE.parents[1]
    scripts = sorted(PACKAGE.rglob("*.js"))
    files = [path.relative_to(root).as_posix() for path in (*MODULES, *TESTS, *scripts)]
    named = set(re.findall(r"`([\w/]+\.(?:py|js))`", text))
    assert len(named) > 30
    missing = {name for name in named if not any(f"/{one}".endswith(f"/{name}") for one in files)}
    assert missing == set()
    tests = [path.read_text(encoding="utf-8") for path in TESTS]
    words = set(re.findall(r"\w+", "\n".join((*TEXTS, *tests))))
    code = set(re.findall(r"`(?:\w+\.)?(_?[a-zA-Z]\w+)(?:\([^`]*)?`", text)) - NAMES
    assert len(code) > 40
    assert {name for name in code if name not in words and "NAME" not in name} == set()


def loaded_by(module: str, then: str = "pass") -> set[str]:
    """Return the packages that a fresh process has after an import, and what it does then."""
    names = "print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}, sys; {then}; {names}"],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(done.stdout.split())


LIGHT = [
    "kibitz",
    "kibitz.cli",
    "kibitz.core.options",
    "kibitz.core.settings",
    "kibitz.core.errors",
    "kibitz.core.files",
    "kibitz.core.log",
]


@pytest.mark.parametrize("module", LIGHT)
def test_starting_is_light(module: str) -> None:
    loaded = loaded_by(module)
    assert "kibitz" in loaded
    assert loaded & {"numpy", "numba", "torch", "chess", "onnxruntime"} == set()


def test_the_engine_plays_without_torch() -> None:
    play = "from kibitz import Board, Engine; Engine().play(Board(), nodes=20)"
    loaded = loaded_by("kibitz.uci.loop", play)
    assert "numba" in loaded
    assert "torch" not in loaded


def test_a_public_name_is_loaded_when_used_and_only_then() -> None:
    import kibitz

    assert set(kibitz.__all__) <= set(dir(kibitz))
    with pytest.raises(AttributeError, match="no attribute 'Bored'"):
        _ = kibitz.Bored
    for name in kibitz.__all__:
        assert getattr(kibitz, name) is getattr(kibitz, name)
