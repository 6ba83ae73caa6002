"""Chooses the comment that fits a position and a move: ChessQA's Semantic, one question at a time.

What a comment says is compared with the board: statements that `kibitz check` proves or refutes,
pieces, squares, files, moves and move numbers that it names, the phase, captures, checks, wings,
who is better. A weight for each such feature is fitted on human commentary of other games (`fit`).
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import chess
import numpy as np

from kibitz.comment.check.readers import PLAYED, side_of
from kibitz.comment.check.statements import parsed
from kibitz.comment.check.verdict import Setting, judge
from kibitz.comment.facts import balance, phase
from kibitz.comment.force import loss_on

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
)
# Fitted by `python -m research.chessqa fit`.
WEIGHTS = (
    *(1.45, -1.42, 0.89, -1.49, 1.44, 0.39, 1.29, -1.03, 1.32, -1.02, 0.5, 1.36, 0.31, -0.07, 1.03),
    *(0.17, 0.1, 0.25, -0.37, 0.55, -0.7, -0.24, 0.41, 0.6, 0.02, 0.26, 0.02, 0.14, -0.28),
)

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
    for found in list(PLAYED.finditer(text))[:6]:
        san = re.sub(r"^[\d.\s]+", "", found[0])
        possible = any(parsed(board, san) is not None for board in (before, after))
        legal, illegal = legal + possible, illegal + (not possible)
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
