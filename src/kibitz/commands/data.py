"""`kibitz data`: games in and out, labelled, looked at, split, put together, checked.

games room -> **command line**; the sub-commands are in data_*.py, imported when they are used
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from cyclopts import App, Parameter

from kibitz.places import Place, place


def _place(_: Any, tokens: Any) -> Place:
    return place(tokens[0].value)


# An argument that names a file or folder, by a path or a URL.
At: TypeAlias = Annotated[Place, Parameter(converter=_place, n_tokens=1, accepts_keys=False)]

data = App(
    name="data",
    help="Import, label, inspect, split, combine, verify and export games.",
    result_action="return_value",
)

_COMMANDS = {
    "import": ("data_import:import_games", "Bring games (PGN) or labelled positions (CSV) in."),
    "label": ("data_label:label_games", "Make games in which an engine judges every position."),
    "reanalyse": ("data_reanalyse:reanalyse_games", "Search stored games again, for policies."),
    "inspect": ("data_inspect:inspect", "Say what is in shards."),
    "split": ("data_split:split", "Part games into training and validation."),
    "combine": ("data_split:combine", "Put shards together or cut them up."),
    "verify": ("data_inspect:check", "Check shards; exit code 1 if one is damaged."),
    "export": ("data_export:export", "Write PGN, Parquet, or DLChess's experience."),
    "prune": ("data_inspect:prune", "Delete shards of old generations."),
    "fit-labels": ("data_import:fit_labels", "Fit what centipawns are worth to games' results."),
}

for _name, (_home, _help) in _COMMANDS.items():
    data.command(f"kibitz.commands.{_home}", name=_name, help=_help)
