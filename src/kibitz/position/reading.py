"""Reading PGN as text: lines and their encodings, letters of pieces in other languages."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping

import chess
import chess.pgn

from kibitz.position.notation import RESULTS

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
    rf"|(?<![\w$%-])(?P<piece>(?:\u041a\u0440|[{_UPPER}]|[\u2654-\u265f]\ufe0e?)\s?)?"
    r"(?P<squares>[a-z]?\d?[x:\u00d7-]?[a-z]\d{1,2})"
    # A promotion, in brackets that are closed: a bracket alone ends a variation.
    rf"(?:=(?P<opens>\()?(?P<named>[a-z{_UPPER}\u2654-\u265f])(?(opens)\))"
    rf"|(?<=[a-h][18])(?P<bracket>\()?(?P<bare>[nbrqk{_UPPER}\u2654-\u265f])(?(bracket)\)))?"
    r"(?P<sign>e\.?p\b\.?|mate|[ND])?(?!\w)"  # en passant, mate; a new move, a diagram
    # Words with a square that are no moves: E4, P-K4, eE4; a parser might see half of one.
    r"|(?<![\w$%-])(?![A-E]\d\d\b)(?=[\w-]*(?:[A-Ha-h\u0410-\u044f]|[-x][KQRBN]+)[1-8](?!\d))[\w-]+",
    re.MULTILINE,
)
_SQUARES = re.compile(r"[a-h]?[1-8]?[x:\u00d7-]?[a-h][1-8]")


class MoveTexts:
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
                self.pieces.add(piece.rstrip())

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
            if word["squares"] is None and word[0][0] in "%[{;":
                return word[0]
            if word["squares"] is None:
                unreadable.append(word[0])
                return UNREADABLE
            piece = _letter(word["piece"], letters)
            promotion = _letter(word["named"] or word["bare"], letters)
            is_move = piece is not None and promotion is not None
            if not is_move or not _SQUARES.fullmatch(word["squares"]):
                unreadable.append(word[0])
                return UNREADABLE
            squares = re.sub("[:\u00d7]", "x", word["squares"])
            return f"{piece}{squares}{promotion and f'={promotion}'}"

        return _WORD.sub(english, self.text), unreadable


def _letter(piece: str | None, letters: Mapping[str, str]) -> str | None:
    """A piece by its English letter; empty for none, None for a letter of no piece.

    A letter apart is none: `N a6` may be a knight's move, or a novelty and a pawn's.
    """
    if not piece:
        return ""
    if piece[0] not in _FIGURES and piece[-1].isspace():
        return None
    piece = piece.rstrip("\ufe0e \u00a0\n")
    return piece if piece in "nbrqk" else letters.get(piece)


# --- lines of a file ------------------------------------------------------------------------------
#
# What python-chess's parser of PGN is given, line by line, and what it builds of it.
#
# Lines are looked at in advance, and cut where a game ends; each is read once.


TAG = re.compile(r'\[\w+[ \t]+"')
_COMMENT = re.compile(r"\{[^}]*\}?|;[^\n]*")
_ESCAPED = re.compile(r'\\(["\\])')
DEEPEST = 1000  # variations within variations; more is nobody's comment, and fills the memory
LAST_MARK = 255  # the last NAG of the standard
LONG = 4096  # characters of a line from which on it is handed out in pieces
FURTHEST = 10_000  # lines in which the end of a comment is looked for


class Lines:
    """Lines of text as python-chess reads them, with some looked at in advance."""

    def __init__(self, source: Iterator[str], before: int = 0) -> None:
        self._source = source
        self._ahead: deque[str] = deque()
        self._unclosed = 0  # of the lines ahead, the first so many have no }
        self._read = before  # lines of the file
        self._in_comment = False  # after the lines that were taken
        self._in_moves = False  # whether one of them has moves
        self.taken: list[str] = []  # what was read of the game
        self.swallows = False  # whether a comment of the game goes on into the next game

    @property
    def number(self) -> int:
        """Of the next line, from 1."""
        return self._read + 1

    def begin(self) -> None:
        """Begin a game with the next line."""
        self.taken.clear()
        self._in_comment = self._in_moves = self.swallows = False

    def readline(self) -> str:
        """The next line, or a piece of it; empty at the end of the text, and of a game.

        A game ends, for python-chess, at an empty line after its moves; here at a tag, too.
        """
        line = self._peek()
        if self._in_moves and not self._in_comment and TAG.match(line):
            return ""
        if self._in_comment and self._begins_game(line):
            self.swallows = True
            return ""
        if len(line) > LONG:
            line = self._cut(line)
        if line:
            self._ahead.popleft()
            self._unclosed = max(0, self._unclosed - 1)
            self._read += line.endswith("\n")
            self.taken.append(line)
            return self._kept(line)
        return line

    def _kept(self, line: str) -> str:
        """A line that was taken, as python-chess keeps its comments; among tags it has none."""
        inside, started = self._in_comment, self._in_moves
        self._in_moves = started or has_moves(line, inside)
        self._in_comment = ends_in_comment(line, inside)
        in_braces = ";" in line and (started or self._in_moves)
        return with_braces(line, inside) if in_braces else line

    def _peek(self, distance: int = 0) -> str:
        while len(self._ahead) <= distance:
            line = next(self._source, "")
            if not line:
                return ""
            self._ahead.append(line)
        return self._ahead[distance]

    def _begins_game(self, line: str) -> bool:
        """Whether a line within a comment is the first of another game.

        A comment may speak of a tag; of more than one, or without an end, it is no comment.
        """
        if not line.startswith("[Event ") or not self.taken or self.taken[-1].strip():
            return False
        return bool(TAG.match(self._peek(1))) or not self._is_closed()

    def _is_closed(self) -> bool:
        """Whether a } follows before long; lines that were looked at are not looked at again."""
        for distance in range(self._unclosed, FURTHEST):
            line = self._peek(distance)
            if not line or "}" in line:
                return bool(line)
            self._unclosed = distance + 1
        return False

    def _cut(self, line: str) -> str:
        """Cut a long line behind comments; its first piece.

        python-chess copies the rest of a line for each comment in it.
        """
        pieces = pieces_of(line, self._in_comment)
        if len(pieces) > 1:
            self._ahead.popleft()
            self._ahead.extendleft(reversed(pieces))
            self._unclosed = 0
        return pieces[0]

    def at_tag(self) -> bool:
        """Whether the next line is a tag."""
        return self._peek().startswith("[")

    def at_games(self) -> Iterator[None]:
        """Go to the next game, as long as there is one."""
        self.begin()
        while self._skip_blank():
            self.begin()
            yield
            self.begin()

    def _skip_blank(self) -> bool:
        """Go to the next line with text on it; whether there is one."""
        while self._peek() and not self._peek().strip("\ufeff \t\r\n"):
            self.readline()
        return bool(self._peek())

    def take_game(self) -> list[str]:
        """The lines of a regular game: tags, an empty line, moves, an empty line."""
        lines: list[str] = []
        while self.at_tag() and (line := self.readline()):  # none after moves among the tags
            lines.append(line)
        for _ in range(2):  # to the empty line after the tags, and to the one after the moves
            while line := self.readline():
                lines.append(line)
                if line.isspace():
                    break
        return lines

    def put_back(self, lines: list[str]) -> None:
        """Have the lines of a game read again."""
        self._ahead.extendleft(reversed(lines))
        self._read -= sum(line.endswith("\n") for line in lines)
        self._unclosed = 0
        self.begin()

    def skip_game(self) -> None:
        """Go past the rest of a game that could not be read: to tags after an empty line."""
        empty = False
        while self._peek() and not (empty and self.at_tag()):
            empty = not self._peek().strip()
            if not self.readline():
                return


def has_moves(line: str, inside: bool) -> bool:
    """Whether anything but tags and comments is on a line; `inside`: it begins in a comment."""
    if inside:
        line = line.partition("}")[2]
    elif line.startswith("%") or TAG.match(line.lstrip("\ufeff")):
        return False
    return bool(_COMMENT.sub("", line).strip())


def ends_in_comment(line: str, inside: bool) -> bool:
    """Whether a comment is open at the end of a line."""
    start = 0
    if inside:
        start = line.find("}") + 1
        if not start:
            return True
    elif line.startswith(("%", ";")) or TAG.match(line):
        return False
    last = ""
    for comment in _COMMENT.finditer(line, start):
        last = comment[0]
    return last.startswith("{") and not last.endswith("}")


def with_braces(line: str, inside: bool) -> str:
    """A line of moves, its comment behind a semicolon in braces: python-chess drops others."""
    start = line.find("}") + 1 if inside else 0
    if (inside and not start) or (not inside and line.startswith("%")):
        return line
    for comment in _COMMENT.finditer(line, start):
        said = comment[0][1:].replace("}", "").strip()  # no comment in braces can have one
        if comment[0].startswith(";") and said:
            # The space, as to python-chess nothing behind a comment is the text's end.
            return f"{line[: comment.start()]}{{{said}}} {line[comment.end() :]}"
    return line


def pieces_of(line: str, inside: bool) -> list[str]:
    """A long line cut behind comments; a space before each piece keeps it from being a tag."""
    if not inside and (line.startswith(("%", ";")) or TAG.match(line)):
        return [line]
    start = line.find("}") + 1 if inside else 0
    if inside and not start:
        return [line]
    cuts = [0]
    for comment in _COMMENT.finditer(line, start):
        if comment[0].endswith("}") and comment[0][0] == "{" and comment.end() - cuts[-1] > LONG:
            cuts.append(comment.end())
    pieces = [line[cut:end] for cut, end in zip(cuts, [*cuts[1:], len(line)], strict=True)]
    if len(pieces) > 1 and not pieces[-1].strip():
        pieces[-2:] = ["".join(pieces[-2:])]
    # Nor may a piece end with its comment: to python-chess nothing behind one is the text's end.
    whole = [f"{piece} " for piece in pieces[:-1]] + pieces[-1:]
    return [whole[0], *(f" {piece}" for piece in whole[1:])]


# --- building -------------------------------------------------------------------------------------


class Builder(chess.pgn.GameBuilder[chess.pgn.Game]):
    """Collects errors for the caller, in plain words; reads escaped tags, in linear time.

    python-chess joins each comment to all before it, and copies all moves for each variation.
    """

    def __init__(self, most_moves: int | None = None) -> None:
        super().__init__(Game=chess.pgn.Game)
        self._most_moves, self._moves = most_moves, 0  # variations included
        self._starting: list[str] = []
        self._boards: list[chess.Board] = []  # of python-chess, of each variation that is open
        self._is_lost = self._is_too_deep = False  # what the rest of a variation is skipped for
        self._comments: dict[int, tuple[chess.pgn.GameNode, list[str]]] = {}

    def visit_header(self, tagname: str, tagvalue: str) -> None:
        """A tag, its quotes and backslashes without their escapes."""
        super().visit_header(tagname, _ESCAPED.sub(r"\1", tagvalue))

    def visit_comment(self, comment: str) -> None:
        """Keep a comment; those of a move are joined at the end of the game."""
        node = self.variation_stack[-1]
        if self.in_variation or (node.parent is None and node.is_end()):
            self._comments.setdefault(id(node), (node, []))[1].append(comment)
        else:
            self._starting.append(comment)

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        """A move, with the comments before it; an error if it is one too many."""
        self._moves += 1
        if self._most_moves is not None and self._moves > self._most_moves:
            raise ValueError(f"the game has too many moves; {self._most_moves} are the most")
        self.starting_comment = " ".join(filter(None, self._starting))
        self._starting.clear()
        super().visit_move(board, move)

    def visit_nag(self, nag: int) -> None:
        """A mark of the standard; other numbers say nothing."""
        if nag <= LAST_MARK:
            super().visit_nag(nag)

    def visit_board(self, board: chess.Board) -> None:
        """Forget the moves before the last, which is taken back for a variation."""
        del board.move_stack[:-1], board._stack[:-1]
        self._boards[-1:] = [board]

    def begin_variation(self) -> chess.pgn.SkipType | None:  # type: ignore[override]
        """Go into a variation, or past one that lies too deep."""
        super().begin_variation()
        if len(self.variation_stack) <= DEEPEST + 1:
            self._boards.append(self._boards[-1])  # until its first move
            return None
        self.handle_error(ValueError(f"a variation within {DEEPEST} others"))
        self._is_too_deep = True
        return chess.pgn.SKIP

    def end_variation(self) -> None:
        """Go back to the moves that a variation was written for.

        python-chess goes on from the position of a variation that could not be read to its end.
        """
        super().end_variation()
        if self._is_lost and len(self._boards) > 1:
            last = self._boards.pop()
            last.__dict__.update(self._boards[-1].copy().__dict__)
            self._boards[-1] = last
        elif not self._is_too_deep:
            self._boards.pop()
        self._is_lost = self._is_too_deep = False

    def end_game(self) -> None:
        """Say so if a variation is still open: what follows it may be the game's."""
        if len(self.variation_stack) > 1:
            node = self.variation_stack[-1]
            while not node.starts_variation() and node.parent is not None:
                node = node.parent
            self.handle_error(UnclosedVariationError(node))

    def result(self) -> chess.pgn.Game:
        """The game with its comments."""
        for node, comments in self._comments.values():
            node.comment = " ".join(filter(None, comments))
        return super().result()

    def parse_san(self, board: chess.Board, san: str) -> chess.Move:
        """The move that SAN means, or what is wrong with it.

        python-chess takes a result in or after a variation for a move.
        """
        if san in RESULTS:
            self._is_lost = True
            if len(self._boards) == 1:
                self.visit_result(san)
            raise _ResultError
        try:
            return super().parse_san(board, san)
        except ValueError as error:
            self._is_lost = True
            raise UnreadableMoveError(board, san, error, len(self._boards) > 1) from error

    def handle_error(self, error: Exception) -> None:
        """Keep an error for the caller."""
        if not isinstance(error, _ResultError):
            self.game.errors.append(error)


class _ResultError(ValueError):
    """A result stands where python-chess wants a move: the variation, or the game, ends."""


class UnclosedVariationError(ValueError):
    """A variation without an end."""

    def __init__(self, first: chess.pgn.GameNode) -> None:
        begins = first.san() if isinstance(first, chess.pgn.ChildNode) else "no move"
        super().__init__(f"a variation that begins with {begins} is never closed")


class UnreadableMoveError(ValueError):
    """What is wrong with a move, in words for a player of chess."""

    def __init__(self, board: chess.Board, san: str, error: ValueError, in_variation: bool) -> None:
        self.in_variation = in_variation
        dots = "." if board.turn else "..."
        self.move, self.fen = f"{board.fullmove_number}{dots} {san}", board.fen()
        side = "White" if board.turn else "Black"
        wrong = f"is not a legal move{f': {side} is in check' if board.is_check() else ''}"
        if san == UNREADABLE:
            wrong = "is not a move in algebraic notation"
        elif isinstance(error, chess.AmbiguousMoveError):
            wrong = "can be the move of more than one piece"
        super().__init__(f"{self.move} {wrong}")
