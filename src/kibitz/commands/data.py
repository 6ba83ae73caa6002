"""`kibitz data`: games in and out, labelled, looked at, split, put together, checked.

games room -> **command line**; the sub-commands are in data_*.py, imported when they are used
"""

from __future__ import annotations

from cyclopts import App

data = App(
    name="data",
    help="Import, label, inspect, split, combine, verify and export games.",
    result_action="return_value",
)

_COMMANDS = {
    "import": ("data_import:import_games", "Bring games (PGN) or labelled positions (CSV) in."),
    "label": ("data_label:label_games", "Make games in which an engine judges every position."),
    "fit-labels": ("data_import:fit_labels", "Fit what centipawns are worth to games' results."),
}

for _name, (_home, _help) in _COMMANDS.items():
    data.command(f"kibitz.commands.{_home}", name=_name, help=_help)
