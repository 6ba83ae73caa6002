"""Games by alpha-beta at fixed nodes, whole games in one kernel.

The best move is played and is the policy to learn. The search's score is the value to learn unless
the position is in check, the best move captures or promotes, or the score is a mate: there a static
evaluation is not what a search would say (NOT_A_VALUE).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.data.shard import NOT_A_VALUE
from kibitz.jit.bits import popcount, signed
from kibitz.jit.compile import kernel
from kibitz.position.attacks import EMPTY
from kibitz.position.outcome import ONGOING
from kibitz.position.play import play
from kibitz.position.state import checkers
from kibitz.search.alphabeta.constants import ODDS_SCALE
from kibitz.search.alphabeta.order import is_quiet
from kibitz.search.alphabeta.root import search_nodes
from kibitz.search.alphabeta.thread import (
    DECISIVE,
    MAX_HISTORY,
    NO_EVAL,
    Context,
    frame_at,
    position_at,
    root_at,
)
from kibitz.zero.selfplay.config import SelfPlay
from kibitz.zero.selfplay.game import BEGUN_LOPSIDED, line_at, ply_at
from kibitz.zero.selfplay.moves import adjudicate, put_position, see_end


class AlphaBetaTerms(NamedTuple):
    """The numbers of SelfPlay that these kernels need."""

    nodes: int
    most_nodes: int
    first_value: float
    most_plies: int
    resign: float
    resign_plies: int
    draw: float
    draw_plies: int
    draw_from: int
    tablebase_pieces: int  # the most that tables know; 0: there are none


def alphabeta_terms(settings: SelfPlay, tablebase_pieces: int) -> AlphaBetaTerms:
    """What the kernels are told."""
    same = {
        name: getattr(settings, name)
        for name in AlphaBetaTerms._fields
        if name not in ("most_nodes", "tablebase_pieces")
    }
    most = round(settings.nodes * settings.most_nodes)
    return AlphaBetaTerms(**same, most_nodes=most, tablebase_pieces=tablebase_pieces)


@kernel
def play_by_alphabeta(terms: np.record, game: np.record, context: Context, moves: int) -> bool:
    """Play at most `moves` moves of a game; True, and the game waits, where tables may know it."""
    for _ in range(moves):
        root = position_at(context.thread, 0)
        put_position(game, context.thread, root, MAX_HISTORY)
        see_end(terms, game, context.thread, root)
        if game.end != ONGOING:
            return False
        number = signed(game.ply)
        position = line_at(game, number)
        score, _ = search_nodes(context, signed(terms.nodes), signed(terms.most_nodes))
        game.playouts += context.thread.nodes
        value = math.tanh(score / (2.0 * ODDS_SCALE))
        if number == 0 and abs(value) > terms.first_value:
            game.end = BEGUN_LOPSIDED
            return False
        _keep_ply(game, context.thread, score, value)
        after = line_at(game, number + 1)
        play(position, after, ply_at(game, number).move)
        game.ply = number + 1
        adjudicate(terms, game, number, signed(position.side), value)
        if game.end == ONGOING and after.rule50 == 0:
            pieces = popcount(after.own | after.their)
            if after.castling == EMPTY and pieces <= terms.tablebase_pieces:
                return True
    return False


@kernel
def _keep_ply(game: np.record, thread: np.record, score: int, value: float) -> None:
    """Write the best move, the value and what is not learnt of it."""
    position, root, raw_eval = (
        position_at(thread, 0),
        root_at(thread, 0),
        frame_at(thread, 0).raw_eval,
    )
    ply = ply_at(game, signed(game.ply))
    move = signed(root.move)
    ply.move = move
    ply.value = value
    ply.draw = math.nan
    ply.root_value = math.nan
    noisy = checkers(position) != EMPTY or not is_quiet(position, move)
    if checkers(position) == EMPTY and raw_eval != NO_EVAL:
        ply.root_value = math.tanh(raw_eval / (2.0 * ODDS_SCALE))
    ply.flags = NOT_A_VALUE if noisy or abs(score) >= DECISIVE else 0
    ply.visits_end = game.visits_used
