"""The tree of errors: what users read, and what programs can catch."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.core import errors
from kibitz.core.errors import KibitzError


def tree() -> list[type[KibitzError]]:
    return [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, KibitzError)
    ]


def test_message_has_what_the_value_and_the_fix() -> None:
    error = errors.MoveError("no such move", value="e2e5", fix="try e2e4")
    assert str(error) == "no such move: 'e2e5'; try e2e4"
    assert str(errors.MoveError("no move")) == "no move"
    assert str(errors.MoveError("no depth", value=0)) == "no depth: 0"
    assert str(errors.FileError("no file", value=Path("here"))) == "no file: 'here'"


def test_a_long_value_is_cut_in_the_middle() -> None:
    text = str(errors.PositionError("bad FEN", value="a" * 500 + "z" * 500))
    assert len(text) < 130
    assert "aaa...zzz" in text


@pytest.mark.parametrize("kind", tree())
def test_every_error_survives_the_way_between_processes(kind: type[KibitzError]) -> None:
    error = kind("what", value=[1, 2], fix="mend it")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert (str(copy), copy.value, copy.fix) == (str(error), [1, 2], "mend it")


@pytest.mark.parametrize("kind", tree())
def test_every_error_is_in_the_drawing(kind: type[KibitzError]) -> None:
    assert f" {kind.__name__} " in (errors.__doc__ or "").replace("\n", " \n")


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.PositionError, ValueError),
        (errors.ConfigError, ValueError),
        (errors.DamagedFileError, OSError),
        (errors.MissingExtraError, ImportError),
    ],
)
def test_python_programs_can_catch_the_builtin(
    kind: type[KibitzError], builtin: type[Exception]
) -> None:
    with pytest.raises(builtin, match="what"):
        raise kind("what")


def test_missing_extra_names_the_line_to_type() -> None:
    error = errors.missing_extra("the URL s3://x", "fsspec", "cloud")
    assert str(error) == "the URL s3://x needs fsspec; pip install 'kibitz[cloud]'"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("thread", "threads"), ("Thredas", "threads"), ("dpeth", "depth"), ("zzzz", None)],
)
def test_nearest(typed: str, meant: str | None) -> None:
    assert errors.nearest(typed, ["depth", "threads", "hash"]) == meant


def test_without_a_near_name_all_are_listed() -> None:
    assert errors.did_you_mean("zzzz", ["hash", "depth"]) == "known here: depth, hash"
    assert errors.did_you_mean("zzzz", []) == "nothing is known here"


@given(st.text(min_size=1), st.sets(st.text(min_size=1)))
def test_a_known_name_is_its_own_nearest_but_for_case(name: str, others: set[str]) -> None:
    found = errors.nearest(name, [*others, name])
    assert found is not None
    assert found.casefold() == name.casefold()
