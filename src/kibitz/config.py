"""Settings: one TOML file into frozen dataclasses, and back; the ground under every room.

A dataclass is a table, its fields are the keys, their defaults are the defaults::

    @dataclass(frozen=True)
    class Search:
        threads: int = setting(1, low=1, high=512, about="search threads")

    @dataclass(frozen=True)
    class Settings:
        search: Search = field(default_factory=Search)

    settings = load(Settings, "kibitz.toml", network="small", overrides=["search.threads=4"])

Later layers win: defaults, the file, the tables ``[networks.small.*]`` of the chosen network, the
overrides. Every layer is checked, also the tables of networks that are not chosen, because a
misspelt key that waits for its day is the worst kind. TOML has no null: a key of type ``X | None``
defaults to None and is left out to say None.

One file may hold the tables of several rooms: each loads its own table, and settings.py, which
knows them all, checks the whole file. `use` says which file a program reads.
"""

from __future__ import annotations

import dataclasses
import math
import os
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from kibitz.errors import ConfigError, did_you_mean
from kibitz.files import Location, data_folder, local_path, read_bytes

Record = TypeVar("Record")
Value = TypeVar("Value")
Table = dict[str, Any]

NETWORKS = "networks"
FILE = "kibitz.toml"
VARIABLE = "KIBITZ_CONFIG"

_used: Location | None = None

_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    dict: "a table",
}


def setting(
    default: Value, *, low: float | None = None, high: float | None = None, about: str = ""
) -> Value:
    """Declare a key with its default, its allowed range and a line about it."""
    metadata = {"low": low, "high": high, "about": about}
    return dataclasses.field(default=default, metadata=metadata)


def use(path: Location | None) -> None:
    """Choose the settings file of this process; None: no file."""
    global _used
    _used = path


def used() -> Location | None:
    """Return the settings file of this process."""
    return _used


def usual_file() -> Location | None:
    """Return the file that is read unless another is named: KIBITZ_CONFIG, or the usual places."""
    if VARIABLE in os.environ:
        return os.environ[VARIABLE] or None
    places = (Path(FILE), data_folder() / FILE)
    return next((place for place in places if place.is_file()), None)


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
    merged = told(cls, path, network, partial=partial)
    for text in overrides:
        _merge(merged, _parse_override(cls, text))
    return _build(cls, merged)


def told(
    cls: type, path: Location | None, network: str | None = None, *, partial: bool = False
) -> Table:
    """Return what a file says for a network, and nothing that it leaves to the defaults."""
    source = "defaults" if path is None else str(path)
    document = {} if path is None else parse(path)
    networks = document.pop(NETWORKS, {})
    said = _checked(cls, document, source, partial=partial)
    by_network = _check_networks(cls, networks, source, partial)
    _merge(said, by_network.get(network, {}) if network is not None else {})
    return said


def dump(settings: Any) -> str:
    """Return the settings as TOML text that ``load`` reads back as the same settings."""
    return "\n".join(_dump_table(settings, "")).lstrip("\n") + "\n"


def parse(path: Location) -> Table:
    """Return a TOML file as tables, unchecked."""
    try:
        # Notepad starts files with a byte order mark; TOML does not know it.
        return tomllib.loads(read_bytes(path).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text", fix="save the file as UTF-8") from error
    except ValueError as error:  # TOMLDecodeError, or a number too long for Python
        raise ConfigError(f"{path}: not TOML", fix=str(error)) from error


def _check_networks(cls: type, networks: Any, source: str, partial: bool) -> dict[str, Table]:
    if not isinstance(networks, dict):
        raise ConfigError(f"{source}: expected tables [networks.NAME]", value=networks)
    for name, table in networks.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{source}: expected a table [networks.{name}]", value=table)
    return {
        name: _checked(cls, table, source, f"{NETWORKS}.{name}", partial=partial)
        for name, table in networks.items()
    }


def _fields(cls: type) -> dict[str, tuple[dataclasses.Field[Any], Any]]:
    """Return the keys of a table: name to field and resolved type."""
    hints = get_type_hints(cls)
    return {field.name: (field, hints[field.name]) for field in dataclasses.fields(cls)}


def _checked(
    cls: type, table: Mapping[str, Any], source: str, name: str = "", *, partial: bool = False
) -> Table:
    """Return the table with every key known and every value converted to its field's type."""
    fields = _fields(cls)
    where = f"{source}: [{name}]" if name else source
    result: Table = {}
    for key, value in table.items():
        if key not in fields and partial:
            continue
        if key not in fields:
            known = [*fields] if name else [*fields, NETWORKS]
            kind = "table" if isinstance(value, dict) else "key"
            raise ConfigError(f"{where}: unknown {kind}", value=key, fix=did_you_mean(key, known))
        field, kind_of_value = fields[key]
        if dataclasses.is_dataclass(kind_of_value):
            if not isinstance(value, dict):
                raise ConfigError(f"{where}: {key} is a table, found", value=value)
            inner = f"{name}.{key}" if name else key
            result[key] = _checked(cast(type, kind_of_value), value, source, inner)
        else:
            converted = _convert(value, kind_of_value, f"{where}: {key}")
            result[key] = _in_range(converted, field, f"{where}: {key}")
    return result


def _convert(value: Any, kind: Any, where: str) -> Any:
    """Return the value as the field's type; TOML has no paths, tuples or whole floats."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        (kind,) = (argument for argument in arguments if argument is not NoneType)
        return _convert(value, kind, where)
    if origin is Literal:
        # The types too, because to Python 1 equals true.
        if (type(value), value) not in [(type(choice), choice) for choice in arguments]:
            choices = ", ".join(repr(choice) for choice in arguments)
            raise ConfigError(f"{where}: expected one of {choices}, found", value=value)
        return value
    if origin is tuple:
        if not isinstance(value, list):
            fix = "write a list like [1, 2]"
            raise ConfigError(f"{where}: expected a list, found", value=value, fix=fix)
        return tuple(_convert(item, arguments[0], where) for item in value)
    return _convert_scalar(value, kind, where)


def _convert_scalar(value: Any, kind: Any, where: str) -> Any:
    if kind is Path and isinstance(value, str):
        path = local_path(value)
        if path is None:
            fix = "name a path on this machine"
            raise ConfigError(f"{where}: nothing can be kept behind a URL", value=value, fix=fix)
        return path
    if kind is float and type(value) is int and abs(value) <= sys.float_info.max:
        return float(value)
    expected = str if kind is Path else kind
    if type(value) is not expected:  # isinstance would take true for a whole number
        raise ConfigError(f"{where}: expected {_NAMES[expected]}, found", value=value)
    return value


def _in_range(value: Any, field: dataclasses.Field[Any], where: str) -> Any:
    low, high = field.metadata.get("low"), field.metadata.get("high")
    for number in value if isinstance(value, tuple) else (value,):
        # Written so that nan, which compares false with everything, is refused.
        if (low is not None and not number >= low) or (high is not None and not number <= high):
            bounds = [("at least", low), ("at most", high)]
            allowed = " and ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)
            raise ConfigError(f"{where}: must be {allowed}, found", value=number)
    return value


def _parse_override(cls: type, text: str) -> Table:
    """Turn ``search.threads=4`` into the checked table it stands for."""
    dotted, equals, written = text.partition("=")
    names = [name.strip() for name in dotted.split(".")]
    if not equals:
        raise ConfigError("command line: expected KEY=VALUE, found", value=text)
    value = _parse_value(written.strip(), _kind_of(cls, names))
    for name in reversed(names):
        value = {name: value}
    return _checked(cls, value, "command line")


def _kind_of(cls: type, names: list[str]) -> Any:
    """Return the type of a dotted key, or None when it does not exist."""
    kind: Any = cls
    for name in names:
        fields = _fields(kind) if isinstance(kind, type) and dataclasses.is_dataclass(kind) else {}
        kind = fields[name][1] if name in fields else None
    return kind


def _parse_value(written: str, kind: Any) -> Any:
    """Read a value as TOML, except that texts need no quotes on a command line."""
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except ValueError:
        return written
    if get_origin(kind) is tuple or isinstance(value, str):
        return value
    textual = {str, Path} & {kind, *get_args(kind), *map(type, get_args(kind))}
    return written if textual else value  # a network may well be called 2026


def _merge(base: Table, layer: Table) -> None:
    """Lay one checked table over another, key by key."""
    for key, value in layer.items():
        if isinstance(value, dict):
            _merge(base.setdefault(key, {}), value)
        else:
            base[key] = value


def _build(cls: type[Record], table: Table) -> Record:
    fields = _fields(cls)
    arguments = {
        key: _build(fields[key][1], value) if isinstance(value, dict) else value
        for key, value in table.items()
    }
    return cls(**arguments)


def _dump_table(settings: Any, name: str) -> list[str]:
    """Return the lines of a table: its own keys first, then the tables inside it."""
    keys: list[str] = []
    tables: list[str] = []
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            tables += _dump_table(value, f"{name}.{field.name}" if name else field.name)
        elif value is not None:
            comment = " ".join(field.metadata.get("about", "").split())
            keys += [f"# {comment}"] if comment else []
            keys.append(f"{field.name} = {_dump_value(value)}")
    heading = ["", f"[{name}]"] if name and keys else []
    return heading + keys + tables


def _dump_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(_dump_value(item) for item in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # inf, -inf and nan are TOML's words too
    return repr(value) if isinstance(value, (int, float)) else _quote(str(value))


def _quote(text: str) -> str:
    """Write a TOML basic string: JSON's, but for one control character JSON lets pass."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
