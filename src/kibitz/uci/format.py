"""What the engine says, as lines of the protocol.

Report, Result -> **text** -> GUI

Scores are for the side to move, as the protocol wants them; times are milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kibitz.position.board import Board, Termination
from kibitz.position.notation import Move
from kibitz.search.report import Line, Report

if TYPE_CHECKING:
    from kibitz.evaluator.cache import CacheUse


def info_lines(report: Report, *, chess960: bool = False, wdl: bool = False) -> list[str]:
    """A line for each of the best moves, the best first."""
    return [info_line(report, line, chess960, wdl) for line in report.lines]


def info_line(report: Report, line: Line, chess960: bool, wdl: bool) -> str:
    """Depth to principal variation, in the order GUIs know."""
    chances = " wdl {} {} {}".format(*line.wdl) if wdl else ""
    depth = max(1, report.depth)
    text = (
        f"info depth {depth} seldepth {max(depth, report.seldepth)} time {report.milliseconds}"
        f" nodes {report.nodes} score {line.score}{chances} hashfull {report.hashfull}"
        f" nps {report.nps} tbhits {report.tbhits} multipv {line.number}"
    )
    return f"{text} pv {moves_text(line.moves, chess960)}" if line.moves else text


def moves_text(moves: Iterable[Move], chess960: bool) -> str:
    """Moves in UCI, castling as the option UCI_Chess960 says."""
    return " ".join(move_text(move, chess960) for move in moves)


def move_text(move: Move, chess960: bool) -> str:
    """A move in UCI."""
    return move.uci(True if chess960 else None)


def best_line(move: Move | None, ponder: Move | None, chess960: bool) -> str:
    """The answer to `go`."""
    if move is None:
        return "bestmove (none)"
    expected = "" if ponder is None else f" ponder {move_text(ponder, chess960)}"
    return f"bestmove {move_text(move, chess960)}{expected}"


def over_line(board: Board) -> str | None:
    """What is said of a game that is over; None if it is not."""
    end = board.outcome()
    if end is None:
        return None
    mated = end.termination is Termination.CHECKMATE
    return f"info depth 0 score {'mate' if mated else 'cp'} 0"


def cache_text(use: CacheUse) -> str:
    """How the prediction cache was used, since the game began."""
    return (
        f"cache hits {use.hits} misses {use.misses} evictions {use.evictions}"
        f" hashfull {use.hashfull}"
    )


def string_line(text: str) -> str:
    """A message for people, on one line."""
    return f"info string {' '.join(text.split())}"
