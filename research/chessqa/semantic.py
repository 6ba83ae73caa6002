"""Chooses the comment that fits a position and a move: ChessQA's Semantic, one question at a time.

What a comment says is compared with the board: statements that `kibitz check` proves or refutes,
pieces, squares, files, moves and move numbers that it names, the phase, captures, checks, wings,
who is better. A weight for each such feature is fitted on human commentary of other games (`fit`).
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import chess
import numpy as np

from kibitz.comment.check.readers import side_of
from kibitz.comment.check.statements import parsed
from kibitz.comment.check.text import PLAYED
from kibitz.comment.check.verdict import Setting, judge
from kibitz.comment.claims.claim import passed
from kibitz.comment.facts import (
    balance,
    doubled_files,
    has_bishop_pair,
    is_isolated,
    is_open,
    is_passed,
    phase,
    played,
    units,
)
from kibitz.comment.force import loss_on
from kibitz.comment.openings import opening_of

Value: TypeAlias = Callable[[chess.Board], float]  # of a position, for White, in [-1, 1]

FEATURES = (
    *("true", "false", "mover's piece", "absent kinds", "goes to", "comes from", "legal moves"),
    *(
        "illegal moves",
        "same number",
        "other number",
        "endgame",
        "opening",
        "capture",
        "no capture",
    ),
    *(
        "check",
        "castling",
        "mover first",
        "wing",
        "other wing",
        "file",
        "empty squares",
        "pawn move",
    ),
    *("sacrifice", "standing", "exchange", "attack", "queens", "is loose", "words"),
    *("on the board", "not on the board", "other side's kind", "early", "late", "result"),
    *("opening's name", "goes back", "goes forward", "develops", "king moves", "within reach"),
)
# Fitted by `python -m research.chessqa fit`.
WEIGHTS = (
    *(1.28, -1.43, 0.83, -1.33, 0.98, -0.14, 1.19, -1.55, 1.25, -0.99, 0.5, 1.31, 0.4, -0.08, 1.08),
    *(0.23, 0.1, 0.24, -0.38, 0.56, -0.87, -0.22, 0.38, 0.56, 0.01, 0.21, 0.04, 0.02, -0.29, 0.49),
    *(-0.67, -0.58, 0.09, 0.14, 0.15, 0.9, 0.12, 0.2, 0.38, 0.04, 1.08),
)


def has_opposite_bishops(board: chess.Board) -> bool:
    """Whether each side has one bishop, on squares of different colours."""
    own, their = (board.pieces_mask(chess.BISHOP, side) for side in chess.COLORS)
    one_each = own.bit_count() == 1 == their.bit_count()
    return one_each and bool(own & chess.BB_LIGHT_SQUARES) != bool(their & chess.BB_LIGHT_SQUARES)


_KINDS = {kind: chess.PIECE_NAMES[kind] for kind in chess.PIECE_TYPES}
_SQUARE = re.compile(r"(?<![\w-])[a-h][1-8](?![\w-])")
_FILE = re.compile(r"\b([a-h])-?\s?(?:file|pawn)")
_NUMBER = re.compile(r"(?<![\d.])(\d{1,3})\.{0,3}\s?(?:[KQRBN][a-h1-8x]|[a-h][1-8x])")
_BETTER = re.compile(
    r"\b(white|black)(?:'s)?\s+(?:\w+\s+){0,3}?(winning|better|advantage|initiative|decisive|wins|"
    r"edge|dominat\w+|pressure|worse|lost|losing|weak\w*|passive|difficult\w*|trouble|bad)\b",
    re.IGNORECASE,
)
_GOOD = ("winning", "better", "advantage", "initiative", "decisive", "wins", "edge", "pressure")


def features(text: str, before: chess.Board, move: chess.Move, value: Value) -> np.ndarray:
    """How a comment fits a move, float64 [FEATURES]."""
    after = before.copy(stack=False)
    after.push(move)  # the only one on its stack
    low = text.lower()
    words = set(re.findall(r"[a-z]+", low))
    verdicts = [one.verdict for one in judge(text, Setting(after, before, move))]
    return np.array(
        [
            *(verdicts.count("true"), verdicts.count("false")),
            *_of_pieces(words, before, move),
            *_of_moves(text, before, after, move),
            *_of_numbers(text, before),
            *_of_phase(words, after),
            *_of_kind(low, words, before, after, move),
            *_of_side(low, before),
            *_of_places(low, before, after, move),
            *_of_worth(low, words, before, after, value),
            min(len(words), 100) / 100,
            *_of_notions(low, after),
            *_of_time(low, words, after),
            *_of_manner(words, before, move),
            _within_reach(text, before, after),
        ],
        float,
    )


def _of_pieces(words: set[str], before: chess.Board, move: chess.Move) -> list[float]:
    """Whether the piece that moves is named, and how many kinds that are not on the board."""
    moved = _KINDS[before.piece_type_at(move.from_square) or chess.PAWN]
    named = {kind for kind, word in _KINDS.items() if {word, f"{word}s"} & words}
    absent = sum(
        not before.pieces_mask(kind, True) | before.pieces_mask(kind, False) for kind in named
    )
    return [float(bool({moved, f"{moved}s"} & words)), float(absent)]


def _of_moves(text: str, before: chess.Board, after: chess.Board, move: chess.Move) -> list[float]:
    """Whether squares of the move are named; moves named that are legal here, and that are not."""
    squares = {chess.parse_square(one) for one in _SQUARE.findall(text)}
    legal = illegal = 0
    goals = {chess.parse_square(one[-2:]) for one in re.findall(r"[KQRBN]x?[a-h][1-8]", text)}
    boards = [after, before]  # and those that the moves named lead to, the last first
    boards += [board for board in map(passed, (after, before)) if board is not None]
    for found in list(PLAYED.finditer(text))[:6]:
        san = re.sub(r"^[\d.\s]+", "", found[0])
        moves = ((board, parsed(board, san)) for board in boards)
        at, made = next((pair for pair in moves if pair[1] is not None), (None, None))
        legal, illegal = legal + (made is not None), illegal + (made is None)
        if at is not None and made is not None:
            boards.insert(0, played(at, made))
    return [
        float(move.to_square in squares | goals),
        float(move.from_square in squares),
        *(min(legal, 3), min(illegal, 3)),
    ]


def _of_numbers(text: str, before: chess.Board) -> list[float]:
    """Whether moves have the number of this one or the next, or quite another."""
    numbers = [int(one) for one in _NUMBER.findall(text)]
    near = any(0 <= one - before.fullmove_number <= 2 for one in numbers)
    return [float(near), float(bool(numbers) and not near)]


def _of_phase(words: set[str], after: chess.Board) -> list[float]:
    """Whether words of the endgame and of the opening agree with the phase."""
    now = phase(after)
    ends = bool(words & {"endgame", "ending", "endings", "rook-ending", "technique"})
    opens = bool(words & {"opening", "development", "develop", "develops", "line", "variation"})
    return [
        ends * (1.0 if now == "endgame" else -1.0),
        opens * (1.0 if now == "opening" else -1.0 if now == "endgame" else -0.3),
    ]


def _of_kind(
    low: str, words: set[str], before: chess.Board, after: chess.Board, move: chess.Move
) -> list[float]:
    """Whether it is spoken of captures, checks and castling as the move is one or not."""
    takes = bool(
        re.search(r"\b(?:captur|tak|recaptur|exchang|trad|swap|eliminat|grab|win)\w*", low)
    )
    castles = "castle" in low or "castling" in low
    captures = before.is_capture(move)
    checks = bool(words & {"check", "checks", "mate", "checkmate"})
    return [
        float(takes and captures),
        float(takes and not captures),
        checks * (1.0 if after.is_check() else -0.3),
        castles * (1.0 if before.is_castling(move) else -0.2),
    ]


def _of_side(low: str, before: chess.Board) -> list[float]:
    """Whether the side that is named first has moved."""
    first = re.search(r"\b(white|black)\b", low)
    return [0.0 if first is None else 1.0 if side_of(first[1]) == before.turn else -1.0]


def _of_places(low: str, before: chess.Board, after: chess.Board, move: chess.Move) -> list[float]:
    """Whether wings, files, squares and pawns that are named are those of the move."""
    file = move.to_square & 7
    wings = (("queenside", file <= 2), ("kingside", file >= 5), ("cent", 2 <= file <= 5))
    right = sum(word in low and here for word, here in wings)
    wrong = sum(word in low and not here for word, here in wings)
    files = {ord(one) - ord("a") for one in _FILE.findall(low)}
    squares = [chess.parse_square(one) for one in _SQUARE.findall(low)]
    empty = [not after.piece_at(one) and not after.attackers_mask(True, one) for one in squares]
    pawn = before.piece_type_at(move.from_square) == chess.PAWN
    return [
        *(float(right), float(wrong)),
        float(bool(files & {file, move.from_square & 7})),
        sum(empty) / max(1, len(empty)),
        float("pawn" in low) * (1.0 if pawn else -0.3),
    ]


def _of_worth(
    low: str, words: set[str], before: chess.Board, after: chess.Board, value: Value
) -> list[float]:
    """Whether sacrifices, judgements, exchanges and attacks are spoken of as the board has them."""
    square = after.peek().to_square
    loose = after.piece_at(square) is not None and loss_on(after, square) > 0
    stands, standing = value(after), 0.0
    for side, word in _BETTER.findall(low):
        sign = (1 if side_of(side) else -1) * (1 if word in _GOOD else -1)
        standing += max(-1.0, min(1.0, 2 * sign * stands))
    heavy = bool(after.queens)
    given = balance(after, before.turn) < 0
    return [
        ("sacrific" in low) * (1.0 if loose or given else -0.5),
        max(-1.5, min(1.5, standing)),
        ("exchange" in low) * float(abs(balance(after, True)) in (1, 2)),
        ("attack" in low) * (1.0 if heavy else -1.0),
        (float("queen" in low) + bool(words & {"queens"})) * (1.0 if heavy else -1.0),
        float(loose and "protect" in low),
    ]


_LONG: int = chess.BB_B2 | chess.BB_G2 | chess.BB_B7 | chess.BB_G7  # of a fianchetto
# What a text may name, and whether a position has it.
_NOTIONS: tuple[tuple[str, Callable[[chess.Board], bool]], ...] = (
    (r"pass(?:ed|er)[\s-]?(?:\w+\s)?pawn|passer", lambda board: any(_passed(board))),
    (r"isolated|isolani", lambda board: any(_isolated(board))),
    (
        r"doubled (?:\w-)?pawn",
        lambda board: any(doubled_files(board, side) for side in chess.COLORS),
    ),
    (
        r"bishop pair|pair of bishops|two bishops",
        lambda board: any(has_bishop_pair(board, side) for side in chess.COLORS),
    ),
    (r"opposite[\s-]colou?r(?:ed)? bishop|bishops of opposite", has_opposite_bishops),
    (r"open (?:\w-)?file", lambda board: any(is_open(board, file) for file in range(8))),
    (
        r"\b(?:un)?pin(?:s|ned|ning)?\b",
        lambda board: any(
            board.is_pinned(side, piece.square)
            for side in chess.COLORS
            for piece in units(board, side)
        ),
    ),
    (r"fianchett", lambda board: bool(board.bishops & _LONG)),
    (r"back[\s-]rank", lambda board: bool(board.rooks | board.queens)),
    (
        r"promot|queening|underpromot",
        lambda board: (
            bool(
                board.pawns
                & (chess.BB_RANK_2 | chess.BB_RANK_7 | chess.BB_RANK_3 | chess.BB_RANK_6)
            )
            and phase(board) == "endgame"
        ),
    ),
    (r"opposition|zugzwang|stalemate", lambda board: phase(board) == "endgame"),
    (
        r"uncastled|king (?:is )?(?:still )?(?:stuck )?in the cent",
        lambda board: bool(board.kings & (chess.BB_FILE_D | chess.BB_FILE_E)),
    ),
    (r"light[\s-]squared? bishop", lambda board: bool(board.bishops & chess.BB_LIGHT_SQUARES)),
    (r"dark[\s-]squared? bishop", lambda board: bool(board.bishops & chess.BB_DARK_SQUARES)),
    (r"\brooks\b", lambda board: board.rooks.bit_count() > 2),
    (r"minor pieces", lambda board: (board.knights | board.bishops).bit_count() > 1),
    (r"pawn ending|pawn endgame", lambda board: not board.queens),
    (r"rook ending|rook endgame", lambda board: bool(board.rooks) and not board.queens),
)
_EARLY = {
    *("theory", "theoretical", "book", "novelty", "opening", "variation", "gambit", "defence"),
    *("defense", "popular", "repertoire", "development", "developing", "develop", "develops"),
    *("develop", "castle", "castling", "castled", "mainline", "transpose", "transposes", "modern"),
}
_LATE = {
    *("resign", "resigned", "resigns", "technique", "convert", "conversion", "endgame", "ending"),
    *("endings", "trouble", "winning", "drawn", "draw", "promote", "promotion", "passed"),
    *("hopeless", "finish", "final", "finally", "decisive", "control"),
}
_RESULT = re.compile(r"\b(resign\w*|hopeless|winning|wins|won|lost|losing|decisive|decided)\b")
_DRAW = re.compile(r"\b(draw\w*|equal\w*|balanced?|level)\b")
_NAMES = re.compile(
    r"\b(sicilian|french|caro|slav|najdorf|dragon|sveshnikov|scheveningen|taimanov|spanish|lopez|"
    r"berlin|italian|scotch|petroff|petrov|philidor|vienna|king's gambit|queen's gambit|catalan|"
    r"grunfeld|gr\u00fcnfeld|nimzo|benoni|benko|dutch|english|reti|r\u00e9ti|pirc|alekhine|"
    r"scandinavian|king's indian|queen's indian|london|trompowsky|evans|breyer|marshall|winawer|"
    r"cent(?:er|re) game|cent(?:er|re) gambit|bogo|budapest|modern|four knights|two knights)\b"
)


def _passed(board: chess.Board) -> Iterator[bool]:
    return (is_passed(board, square, side) for side, square in _pawns(board))


def _isolated(board: chess.Board) -> Iterator[bool]:
    return (is_isolated(board, square, side) for side, square in _pawns(board))


def _pawns(board: chess.Board) -> Iterator[tuple[bool, int]]:
    return ((side, square) for side in chess.COLORS for square in board.pieces(chess.PAWN, side))


def _of_notions(low: str, after: chess.Board) -> list[float]:
    """How many notions that are named the board has, and has not; pieces of a side it has not."""
    named = [has(after) for form, has in _NOTIONS if re.search(form, low)]
    missing = 0
    for side, word in re.findall(
        r"\b(white|black)(?:'s)?\s+(?:\w+[\s-]){0,2}?(queen|rook|bishop|knight)s?\b", low
    ):
        missing += not after.pieces_mask(chess.PIECE_NAMES.index(word), side == "white")
    return [float(min(sum(named), 3)), float(min(len(named) - sum(named), 3)), float(missing)]


def _of_time(low: str, words: set[str], after: chess.Board) -> list[float]:
    """Whether words of the early game, of the late one, and of results agree with the position."""
    stage = max(-1.0, min(1.0, (after.fullmove_number - 18) / 12))
    opening = opening_of(after)
    name = opening.name.lower() if opening else ""
    named = {word.replace("center", "centre") for word in _NAMES.findall(low)}
    is_named = any(word.split()[0] in name.replace("center", "centre") for word in named)
    return [
        -stage * min(3, len(words & _EARLY)),
        stage * min(3, len(words & _LATE)),
        stage * bool(_RESULT.search(low) or _DRAW.search(low)),
        len(named) and (1.0 if is_named else -max(0.0, stage) - 0.5 * bool(name)),
    ]


def _of_manner(words: set[str], before: chess.Board, move: chess.Move) -> list[float]:
    """Whether it is said to go back or forward, to develop, or to be the king's, as it is."""
    sign = 1 if before.turn else -1
    ranks = sign * ((move.to_square >> 3) - (move.from_square >> 3))
    kind = before.piece_type_at(move.from_square)
    home = move.from_square >> 3 == (0 if before.turn else 7)
    minor = kind in (chess.KNIGHT, chess.BISHOP)
    back = bool(words & {"retreat", "retreats", "back", "returns", "withdraws", "retreating"})
    forth = bool(words & {"advance", "advances", "push", "pushes", "thrust", "break", "breaks"})
    develops = bool(words & {"develops", "developing", "develop", "development"})
    king = bool(words & {"king", "kings"})
    return [
        back * (1.0 if ranks < 0 else -0.4),
        forth * (1.0 if kind == chess.PAWN and ranks > 0 else -0.3),
        develops * (1.0 if minor and home else -0.3),
        king * (1.0 if kind == chess.KING else 0.0),
    ]


def _within_reach(text: str, before: chess.Board, after: chess.Board) -> float:
    """Which share of the squares that are named the piece that moves attacks, leaves or enters."""
    move = after.peek()
    squares = [chess.parse_square(name) for name in _SQUARE.findall(text)]
    reach = after.attacks(move.to_square) | before.attacks(move.from_square)
    near = reach | {move.from_square, move.to_square}
    return sum(square in near for square in squares) / max(1, len(squares))


def chosen(options: Sequence[str], before: chess.Board, move: chess.Move, value: Value) -> int:
    """The option that fits best, by its place."""
    scores = [float(features(one, before, move, value) @ np.array(WEIGHTS)) for one in options]
    return max(range(len(options)), key=lambda at: scores[at])


# --- fitting --------------------------------------------------------------------------------------

OTHERS = 7  # comments of other moves beside each right one
ROUNDS, RATE, DECAY = 400, 0.5, 1e-3


def fit(path: Path, value: Value, seed: int, most: int) -> tuple[np.ndarray, int]:
    """Weights under which the comments of a table fit their own moves better than others do.

    And of how many comments; a conditional logit, by gradient ascent.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    usable = [row for row in rows if row["uci"] and row["fen_before"] and len(row["comment"]) > 40]
    draw = random.Random(seed)
    draw.shuffle(usable)
    sets = []
    for row in usable[:most]:
        board, move = chess.Board(row["fen_before"]), chess.Move.from_uci(row["uci"])
        if move not in board.legal_moves:
            continue
        others = [one["comment"] for one in draw.sample(usable, OTHERS)]
        sets.append([features(text, board, move, value) for text in (row["comment"], *others)])
    return _ascended(np.array(sets)), len(sets)


def _ascended(sets: np.ndarray) -> np.ndarray:
    """Weights of a conditional logit; `sets`: float64 [N, 1 + OTHERS, F], the right one first."""
    weights = np.zeros(sets.shape[2])
    for _ in range(ROUNDS):
        scores = sets @ weights
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        expected = (shares[:, :, None] * sets).sum(axis=1)
        weights += RATE * ((sets[:, 0] - expected).mean(axis=0) - DECAY * weights)
    return weights
