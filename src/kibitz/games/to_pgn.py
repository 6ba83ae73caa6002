"""Games of a shard as PGN, evaluations as [%eval]; shard -> **to_pgn** -> PGN.

The evaluation behind a move is that of the next position, in pawns and White's view: the score
whose value by the label model is the recorded one. A value of +-1, a mate of unknown length or more
than any score says, becomes +-100 pawns.
"""

from __future__ import annotations

import math

import chess
import chess.pgn

from kibitz.games.labels import LabelModel, score_of_value
from kibitz.games.record import RESULT_TEXTS, Game
from kibitz.games.shard import UNKNOWN_END
from kibitz.position.fen import START
from kibitz.position.moves import PROMOTION

CAP = 100.0  # pawns
_FLIP = 56


def tree_of(game: Game, number: int) -> chess.pgn.Game:
    """The game for python-chess, which writes it."""
    board = chess.Board(game.start, chess960=True)
    board.chess960 = board.has_chess960_castling_rights()
    tree = chess.pgn.Game()
    tree.headers.update(_tags(game, number))
    if game.start != START and board.fen() != chess.STARTING_FEN:
        tree.setup(board)
    model = LabelModel(**game.source.get("labels", {}))
    node: chess.pgn.GameNode = tree
    for ply in game.plies:
        node.comment = _evaluation(ply.value, board.turn, model)
        if ply.move:
            move = _move(ply.move, board)
            node = node.add_variation(move)
            board.push(move)
    return tree


def _tags(game: Game, number: int) -> dict[str, str]:
    source = game.source
    player = str(source.get("teacher") or source.get("network") or "?")
    tags: dict[str, str] = {
        "Event": str(source.get("event") or source.get("kind") or "?"),
        "Date": str(source.get("date", "????.??.??")),
        "Round": str(number),
        "White": str(source.get("white", player)),
        "Black": str(source.get("black", player)),
        "Result": RESULT_TEXTS[game.result],
    }
    if game.end != UNKNOWN_END:
        tags["Termination"] = game.end
    tags |= source.get("tags", {})  # as they were written, the termination among them
    return tags


def _evaluation(value: float, turn: chess.Color, model: LabelModel) -> str:
    if math.isnan(value):
        return ""
    pawns = max(-CAP, min(CAP, score_of_value(value, model) / 100))
    return f"[%eval {pawns if turn else -pawns:.2f}]"


def _move(code: int, board: chess.Board) -> chess.Move:
    """A kernel's move; python-chess writes castling as this board does."""
    view = 0 if board.turn else _FLIP
    kind = code >> 12
    promotion = kind - PROMOTION + chess.KNIGHT if kind >= PROMOTION else None
    move = chess.Move((code & 63) ^ view, (code >> 6 & 63) ^ view, promotion)
    return board.parse_uci(move.uci())  # castling as this board writes it, and only legal moves
