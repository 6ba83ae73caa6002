"""`kibitz completion`: commands and flags are completed by the shell."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from cyclopts import Parameter


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="Whose script.")],
) -> int:
    """Print a script that completes commands and flags; docs/install.md says where it goes."""
    from kibitz.cli import app

    sys.stdout.write(app.generate_completion(prog_name="kibitz", shell=shell).rstrip() + "\n")
    return 0
