"""`kibitz compile` and `kibitz completion`: what is made once, for this machine or for a wheel.

What people usually need is compiled ahead; a script lets the shell complete commands and flags.

Each of a few short commands runs in a process of its own, and the kernels that it needs are kept.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from kibitz.core.files import cache_folder
from kibitz.core.journal import lock, open_lock
from kibitz.core.log import say
from kibitz.jit.process import VARIABLE
from kibitz.jit.target import TOOLCHAIN, note_ready

GAME = """[White "Morphy"]
[Black "Duke Karl / Count Isouard"]
[Result "1-0"]

1. e4 e5 2. Nf3 d6 3. d4 Bg4 4. dxe5 Bxf3 5. Qxf3 dxe5 6. Bc4 Nf6 7. Qb3 Qe7 8. Nc3 c6 9. Bg5 b5
10. Nxb5 cxb5 11. Bxb5+ Nbd7 12. O-O-O Rd8 13. Rxd7 Rxd7 14. Rd1 Qe6 15. Bxd7+ Nxd7 16. Qb8+ Nxb8
17. Rd8# 1-0
"""
LOWEST = 19  # priority
COMMANDS = (  # and what is typed
    ("annotate {game} --nodes 2000 --html {report}", ""),
    ("annotate {game} --nodes 2000", ""),
    ("search --nodes 500", ""),
    ("search --search alphabeta --nodes 5000", ""),
    ("analyse {game} --nodes 500", ""),
    ("play --level 1500 --coach", "e4\nhint\ntakeback\nd4\nmoves\nquit\n"),
    ("puzzle find {game} --nodes 500 --output {report}.pgn", ""),
    ("human --nodes 0", ""),
    ("check {game}", ""),
)


def compile_kernels(
    wheel: Annotated[
        Path | None,
        Parameter(help="Into this folder, for the processors of wheels."),
    ] = None,
    *,
    idle: Annotated[bool, Parameter(help="Give way to all other programs.")] = False,
) -> int:
    """Compile what is usually needed, for this processor, or for a wheel."""
    if idle and hasattr(os, "nice"):
        os.nice(LOWEST)
    if wheel is not None:
        with tempfile.TemporaryDirectory() as cache:
            failed = _run_all("wheel", Path(cache))
            _copy(Path(cache) / "kernels" / TOOLCHAIN, wheel / TOOLCHAIN)
        for fault in failed:
            say(fault)
        return 1 if failed else 0
    with open_lock(cache_folder() / "kernels" / "compile.lock") as file:
        if not lock(file, wait=False):
            say("another process is compiling")
            return 0
        for fault in _run_all("own", cache_folder()):  # what it lacks is compiled when it is needed
            say(fault)
        note_ready()
    return 0


def _run_all(target: str, cache: Path) -> list[str]:
    """Run the commands; what those said last that failed."""
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        game, report = Path(folder) / "game.pgn", Path(folder) / "report.html"
        game.write_text(GAME, encoding="utf-8")
        environment = os.environ | {
            VARIABLE: target,
            "KIBITZ_CACHE": str(cache),
            "KIBITZ_CONFIG": "",
            "KIBITZ_DATA": folder,
        }
        for command, typed in COMMANDS:
            words = [word.format(game=game, report=report) for word in command.split()]
            done = subprocess.run(
                [sys.executable, "-P", "-m", "kibitz", *words],
                env=environment,
                input=typed,
                text=True,
                capture_output=True,
                check=False,
            )
            if done.returncode != 0:
                failed.append(f"kibitz {command}: {done.stderr.strip().splitlines()[-1:]}")
            say(f"compiled for kibitz {words[0]}")
    return failed


def _copy(compiled: Path, folder: Path) -> None:
    """The kernels alone, without the files by which processes take turns."""
    for file in [*compiled.glob("*/*.nbi"), *compiled.glob("*/*.nbc")]:
        (folder / file.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / file.parent.name / file.name)


# --- completion -----------------------------------------------------------------------------------

# The script of zsh only defines a function. A file of a folder in $fpath is run to complete words
# and must call it; a file that is sourced has to say what it is for.
OF_ZSH = """
if [[ ${zsh_eval_context[-1]} == (loadautofunc|shfunc) ]]; then
  _cyclopts_kibitz "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit; compinit }
  compdef _cyclopts_kibitz kibitz
fi
"""


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="Whose script.")],
) -> int:
    """Print a script that completes commands and flags; docs/install.md says where it goes."""
    from kibitz.cli import app

    script = app.generate_completion(prog_name="kibitz", shell=shell).rstrip() + "\n"
    sys.stdout.write(script + (OF_ZSH if shell == "zsh" else ""))
    return 0
