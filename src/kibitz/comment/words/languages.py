"""The languages that commentary speaks, and which of them the settings choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kibitz.comment.words.english import ENGLISH as ENGLISH
from kibitz.comment.words.language import Language
from kibitz.core.errors import InputError, did_you_mean
from kibitz.core.options import check, setting
from kibitz.core.settings import load_table

Code: TypeAlias = Literal["en"]
LANGUAGES: Mapping[str, Language] = {"en": ENGLISH}


@dataclass(frozen=True)
class Commentary:
    """The table [comment] of the settings."""

    language: Code = setting("en", "of comments, stories and reports")

    def __post_init__(self) -> None:
        check(self)


def language_of(code: str | None) -> Language:
    """The language of a code; None is that of the settings."""
    code = code or load_table(Commentary, "comment", []).language
    if code not in LANGUAGES:
        fix = did_you_mean(code, LANGUAGES)
        raise InputError("no such language", value=code, fix=fix)
    return LANGUAGES[code]
