"""The settings file: TOML into the tables of options, layer upon layer, and back.

Later layers win: defaults, the file, the tables ``[networks.small.*]`` of the chosen network, the
overrides of the command line::

    settings = load(Settings, "kibitz.toml", network="small", overrides=["search.threads=4"])

Every layer is checked, also the tables of networks that are not chosen, because a misspelt key
that waits for its day is the worst kind. TOML has no null: a key of type ``X | None`` defaults to
None and is left out to say None.

One file holds the tables of several rooms: each loads its own, and `use_file` checks all of them.
"""

from __future__ import annotations

import dataclasses
import math
import os
import pkgutil
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kibitz.core.errors import ConfigError, did_you_mean
from kibitz.core.files import Location, data_folder, read_bytes
from kibitz.core.log import say
from kibitz.core.options import Option, checked, options_of

Record = TypeVar("Record")
Table = dict[str, Any]

NETWORKS = "networks"
FLAGS = "commands"  # the table of commands' flags, one table in it for each command
FILE = "kibitz.toml"
VARIABLE = "KIBITZ_CONFIG"

# Where the keys of each table are declared; only tables that a file has are imported.
TABLES = {
    "search": "kibitz.search.options:Settings",
    "engine": "kibitz.engine.options:EngineOptions",
    "selfplay": "kibitz.zero.selfplay.config:SelfPlay",
    "label": "kibitz.data.labels.evaluating:Labelling",
    "learn": "kibitz.zero.config:Learn",
    "tune": "kibitz.arena.tuning.config:Tuning",
    "run": "kibitz.train.config:RunSettings",
    "data": "kibitz.train.config:DataSettings",
    "optimiser": "kibitz.train.config:OptimiserSettings",
    "schedule": "kibitz.train.config:Schedule",
    "loss": "kibitz.train.config:LossWeights",
    "average": "kibitz.train.config:AverageSettings",
    "lichess": "kibitz.apps.lichess.config:Lichess",
    "comment": "kibitz.comment.words.languages:Commentary",
    "distill": "kibitz.train.config:DistillSettings",
}

_used: Location | None = None


# --- which file -----------------------------------------------------------------------------------


def use(path: Location | None) -> None:
    """Choose the settings file of this process; None: no file."""
    global _used
    _used = path


def used() -> Location | None:
    """Return the settings file of this process."""
    return _used


def usual_file() -> Location | None:
    """Return the file that is read unless another is named: KIBITZ_CONFIG's, or the user's own.

    Settings can start programs, so that a file of that name in the current folder, which may have
    come with a download, is read only where it is named.
    """
    if VARIABLE in os.environ:
        return os.environ[VARIABLE] or None
    own = data_folder() / FILE
    return own if own.is_file() else None


def use_file(path: Location | None) -> None:
    """Check a settings file and use it from now on; by default the usual one, if there is one."""
    use(None)
    file = path or usual_file()
    if file is not None:
        say(f"settings: {file}")
        check_file(file)
        use(file)
    elif path is None and VARIABLE not in os.environ and Path(FILE).is_file():
        say(f"{FILE} in this folder is not read; name it to use it: --config {FILE}")


def check_file(path: Location) -> None:
    """Refuse a file with any wrong key or value in any table."""
    document = parse(path)
    networks = document.get(NETWORKS, {})
    parts = [document, *(networks.values() if isinstance(networks, dict) else ())]
    present = {name for part in parts if isinstance(part, dict) for name in part}
    empty = dataclasses.make_dataclass("Empty", [])
    fields: list[tuple[str, Any]] = [
        (name, _table_class(home) if name in present else empty) for name, home in TABLES.items()
    ]
    file_values(dataclasses.make_dataclass("File", [*fields, (FLAGS, dict)]), path)
    for name, table in networks.items():
        where = f"{path}: [{NETWORKS}.{name}"
        if "weights" in table.get("engine", {}):  # a network's table cannot say which one it is
            fix = "it belongs in [engine]"
            raise ConfigError(f"{where}.engine]: unknown key", value="weights", fix=fix)
        if FLAGS in table:
            raise ConfigError(f"{where}]: unknown table", value=FLAGS, fix=f"give it as [{FLAGS}]")


def _table_class(home: str) -> Any:
    return pkgutil.resolve_name(home)


# --- reading --------------------------------------------------------------------------------------


def load(
    cls: type[Record],
    path: Location | None = None,
    network: str | None = None,
    overrides: Iterable[str] = (),
    *,
    partial: bool = False,
) -> Record:
    """Read settings of class ``cls``; ``overrides`` are texts such as ``search.threads=4``.

    With ``partial``, tables of the file that ``cls`` does not have are left to others.
    """
    merged = file_values(cls, path, network, partial=partial)
    for text in overrides:
        _merge(merged, _parse_override(cls, text))
    return _build(cls, merged)


def file_values(
    cls: type, path: Location | None, network: str | None = None, *, partial: bool = False
) -> Table:
    """Return what a file sets for a network, and nothing that it leaves to the defaults."""
    source = "defaults" if path is None else str(path)
    document = {} if path is None else parse(path)
    networks = document.pop(NETWORKS, {})
    values = _checked_table(cls, document, source, partial=partial)
    if not isinstance(networks, dict):
        raise ConfigError(f"{source}: expected tables [networks.NAME]", value=networks)
    for name, table in networks.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{source}: expected a table [networks.{name}]", value=table)
        own = _checked_table(cls, table, source, f"{NETWORKS}.{name}", partial=partial)
        if name == network:
            _merge(values, own)
    return values


def load_table(
    cls: type[Record], name: str, overrides: Sequence[str], changes: Mapping[str, Any] | None = None
) -> Record:
    """Settings that a table of the file in use has, with changes to it, below the overrides.

    A key may be written with the table's name, `selfplay.rule=puct`, as commands of several tables
    want it.
    """
    overrides = [text.removeprefix(f"{name}.") for text in overrides]
    keys = {text.partition("=")[0].strip() for text in overrides}
    typed = load(cls, overrides=overrides)
    file = dataclasses.make_dataclass("File", [(name, _table_class(TABLES[name]))])
    values = {**file_values(file, _used, partial=True).get(name, {}), **(changes or {})}
    wanted = {option.name for option in options_of(cls)} - keys
    table = {key: value for key, value in values.items() if key in wanted}
    return dataclasses.replace(typed, **table)  # type: ignore[type-var]


def parse(path: Location) -> Table:
    """Return a TOML file as tables, unchecked."""
    try:
        # Notepad starts files with a byte order mark; TOML does not allow it.
        return tomllib.loads(read_bytes(path).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text", fix="save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:  # TOML's own, too long numbers, deep tables
        raise ConfigError(f"{path}: not TOML", fix=str(error)) from error


def flags(path: Location) -> Table:
    """Return the commands' flags that a file sets, a table for each command."""
    table: Table = parse(path).get(FLAGS, {})
    return table


def _checked_table(
    cls: type, table: Mapping[str, Any], source: str, name: str = "", *, partial: bool = False
) -> Table:
    """Return the table with every key known and every value converted to its option's type."""
    options = {option.name: option for option in options_of(cls)}
    where = f"{source}: [{name}]" if name else source
    result: Table = {}
    for key, value in table.items():
        if key not in options and partial:
            continue
        if key not in options:
            # A file has them, --set and the tables of a plan have not.
            names = [*options] if name or key == NETWORKS else [*options, NETWORKS]
            kind = "table" if isinstance(value, dict) else "key"
            tables = [option.name for option in options.values() if key in _keys_of(option.kind)]
            fix = f"did you mean {tables[0]}.{key}?" if tables else did_you_mean(key, names)
            raise ConfigError(f"{where}: unknown {kind}", value=key, fix=fix)
        if not dataclasses.is_dataclass(options[key].kind):
            result[key] = checked(options[key], value, f"{where}: {key}")
        elif isinstance(value, dict):
            inner = f"{name}.{key}" if name else key
            result[key] = _checked_table(options[key].kind, value, source, inner)
        else:
            raise ConfigError(f"{where}: {key} is a table, found", value=value)
    return result


def _keys_of(kind: Any) -> set[str]:
    """The keys of a table; none for what is no table."""
    return {option.name for option in options_of(kind)} if dataclasses.is_dataclass(kind) else set()


def _parse_override(cls: type, text: str) -> Table:
    """Turn ``search.threads=4`` into the checked table it stands for."""
    dotted, equals, written = text.partition("=")
    names = [name.strip() for name in dotted.split(".")]
    if not equals:
        raise ConfigError("command line: expected KEY=VALUE, found", value=text)
    value = _parse_value(written.strip(), _option_of(cls, names))
    for name in reversed(names):
        value = {name: value}
    return _checked_table(cls, value, "command line")


def _option_of(cls: type, names: list[str]) -> Option | None:
    """Return the option of a dotted key, or None where there is none."""
    kind: Any = cls
    option = None
    for name in names:
        options = options_of(kind) if dataclasses.is_dataclass(kind) else ()
        option = next((each for each in options if each.name == name), None)
        kind = None if option is None else option.kind
    return option


def _parse_value(written: str, option: Option | None) -> Any:
    """Read a value as TOML, except that texts need no quotes on a command line."""
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except ValueError:
        return written
    if option is None or option.many or isinstance(value, str):
        return value
    return written if option.kind in (str, Path) else value  # a network may well be called 2026


def _merge(base: Table, layer: Table) -> None:
    """Lay one checked table over another, key by key."""
    for key, value in layer.items():
        if isinstance(value, dict):
            _merge(base.setdefault(key, {}), value)
        else:
            base[key] = value


def _build(cls: type[Record], table: Table) -> Record:
    kinds = {option.name: option.kind for option in options_of(cls)}
    arguments = {
        key: _build(kinds[key], value) if isinstance(value, dict) else value
        for key, value in table.items()
    }
    return cls(**arguments)


# --- writing --------------------------------------------------------------------------------------


def dump(settings: Any) -> str:
    """Return the settings as TOML text that ``load`` reads back as the same settings."""
    return "\n".join(_dump_table(settings, "")).lstrip("\n") + "\n"


def _dump_table(settings: Any, name: str) -> list[str]:
    """Return the lines of a table: its own keys first, then the tables inside it."""
    keys: list[str] = []
    tables: list[str] = []
    for option in options_of(type(settings)):
        value = getattr(settings, option.name)
        if dataclasses.is_dataclass(value):
            tables += _dump_table(value, f"{name}.{option.name}" if name else option.name)
        elif value is not None:
            comment = " ".join(option.help.split())
            keys += [f"# {comment}"] if comment else []
            keys.append(f"{option.name} = {as_toml(value)}")
    heading = ["", f"[{name}]"] if name and keys else []
    return heading + keys + tables


def as_toml(value: Any) -> str:
    """Write a value, a tuple as an array, a path or URL as a text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(as_toml(item) for item in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # inf, -inf and nan are TOML's words too
    return repr(value) if isinstance(value, (int, float)) else _quote(str(value))


def _quote(text: str) -> str:
    """Write a TOML basic string: JSON's, but for one control character JSON lets pass."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
