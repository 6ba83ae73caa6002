"""The positions of games that exist, judged by a teacher; Game, searches -> **judging** -> Game."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from kibitz.errors import InputError
from kibitz.games.labels import LabelModel, score_of, wdl
from kibitz.games.record import Game, Ply
from kibitz.games.shard import NOT_A_POLICY, Shard
from kibitz.games.teacher import PATIENCE, Judgement, Teacher, TeacherError
from kibitz.options import setting
from kibitz.position.board import Board
from kibitz.position.fen import castles960
from kibitz.position.moves import NO_MOVE
from kibitz.position.notation import Move, absolute, parse_uci, relative

POLICY_COUNTS = 1000  # visits that several lines share
JUDGED = "judged"  # in the source of a game: by whom, and how


@dataclass(frozen=True)
class Judging:
    """How positions are judged."""

    nodes: int = setting(2000, low=0, about="nodes of a search, 0: no limit")
    depth: int = setting(0, low=0, about="depth of a search, 0: no limit")
    lines: int = setting(1, low=1, high=256, about="moves that are judged (MultiPV)")
    temperature: float = setting(0.1, low=1e-3, about="of the policy of several lines, in value")

    @property
    def limit(self) -> str:
        """The words after `go`."""
        parts = [f"{name} {getattr(self, name)}" for name in ("nodes", "depth")]
        return " ".join(part for part in parts if not part.endswith(" 0"))

    def check(self) -> None:
        """Refuse what the ranges of the single settings let through."""
        if not self.limit:
            raise InputError("nothing ends a search", fix="set nodes or depth")


@dataclass(frozen=True)
class Judges:
    """What a worker needs to judge positions: an engine, and what its scores are worth."""

    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    judging: Judging
    model: LabelModel
    source: dict[str, Any]  # what the shards say about how it was done
    patience: float = PATIENCE

    def teacher(self) -> Teacher:
        """Start the engine."""
        lines = self.judging.lines
        several = {"MultiPV": str(lines)} if lines > 1 else {}
        return Teacher(self.command, {**several, **dict(self.options)}, self.patience)


def judge(game: Game, judges: Judges, teacher: Teacher) -> Game:
    """Judge all positions of a game in which there is a move; raises TeacherError.

    The last position gets a ply without a move. Moves, result and random moves stay what they are.
    """
    board = Board(game.start)
    board.chess960 = castles960(board.position)
    start, moves = board.fen(), ""
    teacher.new_game(board.chess960)
    plies: list[Ply] = []
    rest = game.plies if game.plies and game.plies[-1].move == NO_MOVE else (*game.plies, Ply(0))
    for ply in rest:
        if not board.legal_moves:
            break
        judged = teacher.judge(f"fen {start}{moves and ' moves'}{moves}", judges.judging.limit)
        found = ply_of(board, judged, judges)
        flags = ply.flags & ~NOT_A_POLICY
        plies.append(replace(found, move=ply.move, flags=flags, root_value=ply.root_value))
        if ply.move != NO_MOVE:
            move = absolute(board.position, ply.move)
            board.push(move)
            moves += f" {move.uci(board.chess960)}"
    labels = {"labels": judges.model._asdict()}
    return replace(game, plies=tuple(plies), source=game.source | labels | judges.source)


def ply_of(board: Board, judged: Judgement, judges: Judges) -> Ply:
    """The record of a search, as if the best move were played.

    Several lines become a policy: visits in the ratio exp(value / temperature).
    """
    scores = [score_of(line.cp, line.mate) for line in judged.lines]
    values, draws = wdl(np.array(scores), judges.model)
    best = int(relative(board.position, legal(board, judged.best)))
    visits: tuple[tuple[int, int], ...] = ((best, 1),)
    if len(scores) > 1:
        codes = [int(relative(board.position, legal(board, line.move))) for line in judged.lines]
        weights = np.exp((values - values.max()) / judges.judging.temperature)
        counts = np.rint(POLICY_COUNTS * weights / weights.sum()).astype(int).tolist()
        visits = tuple((code, n) for code, n in zip(codes, counts, strict=True) if n)
    return Ply(best, float(values[0]), float(draws[0]), visits=visits)


def legal(board: Board, text: str) -> Move:
    """The move of an answer."""
    try:
        return parse_uci(board.position, text)
    except InputError as error:
        raise TeacherError(f"answered {text!r} in {board.fen()}") from error


def identities(shard: Shard) -> list[bytes]:
    """What tells a game from others, judged or not: its start, moves, source, result and seed."""
    sources = [_identity_of_source(source) for source in shard.header.sources]
    found = []
    for game in range(shard.games):
        moves = shard.moves[shard.offsets[game] : shard.offsets[game + 1]]
        digest = hashlib.blake2b(sources[shard.sources[game]], digest_size=16)
        digest.update(shard.starts[game].tobytes())
        digest.update(moves[moves != NO_MOVE].tobytes())
        digest.update(shard.results[game].tobytes() + shard.seeds[game].tobytes())
        found.append(digest.digest())
    return found


def _identity_of_source(source: dict[str, Any]) -> bytes:
    kept = {name: value for name, value in source.items() if name not in (JUDGED, "labels")}
    return msgspec.json.encode(kept, order="deterministic")
