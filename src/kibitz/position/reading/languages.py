"""Notations of games: pieces by their letters in other languages or as figurines, put into English.

Which language a game is in is told by what is legal over all of it (`pgn`), never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# King, queen, rook, bishop, knight and, where it is written, pawn.
LETTERS: Mapping[str, str] = {
    "English": "K Q R B N P",
    "German": "K D T L S B",  # also Danish, Norwegian, Swedish, Croatian, Slovene
    "French": "R D T F C P",
    "Spanish or Italian": "R D T A C P",
    "Portuguese": "R D T B C P",
    "Dutch": "K D T L P",
    "Polish": "K H W G S",
    "Czech": "K D V S J",
    "Hungarian": "K V B F H",
    "Finnish": "K D T L R",
    "Romanian": "R D T N C P",
    "Icelandic": "K D H B R",
    "Estonian": "K L V O R",
    "Russian": "\u041a\u0440 \u0424 \u041b \u0421 \u041a",
}
ENGLISH, FIGURINE = "English", "figurine"
_ORDER = ("K", "Q", "R", "B", "N", "")
_FIGURES = {chr(0x2654 + number): _ORDER[number % 6] for number in range(12)}
UNREADABLE = (
    "P@a1"  # stands for a word that is no move: python-chess reads it, and no board plays it
)
_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0410-\u042f"
_WORD = re.compile(
    r"^%[^\n]*|^\[\w+[ \t]+\"[^\n]*|\{[^}]*\}?|;[^\n]*"  # lines of no moves, tags, comments
    rf"|(?<![\w$%-])(?P<piece>\u041a\u0440|[{_UPPER}]|[\u2654-\u265f]\ufe0e?)?"
    r"(?P<squares>[a-z]?\d?[x:\u00d7-]?[a-z]\d{1,2})"
    rf"(?:=\(?(?P<named>[a-z{_UPPER}\u2654-\u265f])\)?"
    rf"|(?<=[a-h][18])\(?(?P<bare>[nbrqk{_UPPER}\u2654-\u265f])\)?)?(?!\w)",
    re.MULTILINE,
)
_SQUARES = re.compile(r"[a-h]?[1-8]?[x:\u00d7-]?[a-h][1-8]")


class Words:
    """The moves of a text of games, as they are written."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: set[str] = set()  # letters, without figurines
        self.has_figurines = False
        for word in _WORD.finditer(text):
            if word["squares"] is not None:
                self._note(word["piece"], word["named"] or word["bare"])

    def _note(self, *pieces: str | None) -> None:
        for piece in pieces:
            if piece and piece[0] in _FIGURES:
                self.has_figurines = True
            elif piece and not piece.islower():
                self.pieces.add(piece)

    def languages(self) -> list[str]:
        """The notations that know all letters of the moves, English first."""
        return [name for name, letters in LETTERS.items() if self.pieces <= set(letters.split())]

    def named(self, language: str) -> str:
        """What a notation is called, figurines included; empty for English letters."""
        if language != ENGLISH:
            return language
        return FIGURINE if self.has_figurines else ""

    def in_english(self, language: str) -> tuple[str, list[str]]:
        """The text in English, and the words that are no moves; UNREADABLE stands for those."""
        letters = dict(zip(LETTERS[language].split(), _ORDER, strict=False)) | _FIGURES
        unreadable: list[str] = []

        def english(word: re.Match[str]) -> str:
            if word["squares"] is None:
                return word[0]
            piece = _letter(word["piece"], letters)
            promotion = _letter(word["named"] or word["bare"], letters)
            known = piece is not None and promotion is not None
            if not known or not _SQUARES.fullmatch(word["squares"]):
                unreadable.append(word[0])
                return UNREADABLE
            squares = re.sub("[:\u00d7]", "x", word["squares"])
            return f"{piece}{squares}{promotion and f'={promotion}'}"

        return _WORD.sub(english, self.text), unreadable


def _letter(piece: str | None, letters: Mapping[str, str]) -> str | None:
    """A piece by its English letter; empty for none, None for a letter of no piece."""
    if not piece:
        return ""
    piece = piece.rstrip("\ufe0e")
    return piece if piece in "nbrqk" else letters.get(piece)
