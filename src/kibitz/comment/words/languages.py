"""The languages that commentary speaks, and which of them the settings choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kibitz.comment.words.english import ENGLISH as ENGLISH
from kibitz.comment.words.german import GERMAN
from kibitz.comment.words.language import Language
from kibitz.core.errors import InputError, did_you_mean
from kibitz.core.options import check, setting
from kibitz.core.settings import load_table

Code: TypeAlias = Literal["en", "de"]
LANGUAGES: Mapping[str, Language] = {"en": ENGLISH, "de": GERMAN}


@dataclass(frozen=True)
class Commentary:
    """The table [comment] of the settings."""

    language: Code = setting("en", "of comments, stories and reports")

    def __post_init__(self) -> None:
        check(self)


def language_of(code: str | None) -> Language:
    """The language of a code; None is that of the settings."""
    code = code or chosen_language()
    if code not in LANGUAGES:
        raise InputError("no such language", value=code, fix=did_you_mean(code, LANGUAGES))
    return LANGUAGES[code]


def chosen_language(code: Code | None = None) -> Code:
    """A code that was given, or else that of the settings."""
    return code or load_table(Commentary, "comment", []).language
