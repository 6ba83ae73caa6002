"""`kibitz completion`: commands and flags are completed by the shell."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from cyclopts import Parameter

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
