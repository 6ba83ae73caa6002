"""The numbers of alpha-beta that are chosen and not computed: a table to tune, and what is fixed.

Each row of `Constants` is declared once: its default, its range, its step for tuning, what it does.
They are hidden options of UCI, settings and players (`kibitz match kibitz,NullMoveReduction=4
kibitz`), so that a match or a tuning reaches them. `python -m research.report.constants` prints the
test that stands behind each; a figure beside a row is of an entry of the research log. Margins and
scores are centipawns, depths plies. A depth at the end of its range switches its part off.

Nineteen of the defaults were tested together: +39 +/- 18 Elo (772 games at 10 000 nodes, the test
`nineteen`; log, 2026-11-27).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from kibitz.core.options import Need, Where, number

if TYPE_CHECKING:
    import numpy as np

ALPHABETA = Where(need=Need(("search",), ("alphabeta",)))
NEVER = 127  # a depth that no search reaches


def _constant(uci: str, default: int, low: int, high: int, step: int, about: str) -> int:
    return number(uci, default, low, high, step, about, ALPHABETA, "debug")


@dataclass(frozen=True)
class Constants:
    """The numbers that may be changed without compiling anything anew."""

    # --- iterative deepening
    aspiration_window: int = _constant(
        "AspirationWindow", 15, 1, 400, 4, "first window to either side; doubled after a miss"
    )
    fail_high_reduction: int = _constant(
        "FailHighReduction", 2, 0, 10, 1, "most plies less after scores above the window"
    )

    # --- pruning of a position
    reverse_futility_margin: int = _constant(
        "ReverseFutilityMargin", 90, 0, 1_000, 8, "so far above beta for each ply"
    )
    reverse_futility_depth: int = _constant(
        "ReverseFutilityDepth", 7, 0, NEVER, 1, "greatest depth; 0: off"
    )
    iir_depth: int = _constant(
        "IirDepth", 4, 1, NEVER, 1, "internal iterative reduction: least depth; 127: off"
    )
    null_move_depth: int = _constant("NullMoveDepth", 3, 1, NEVER, 1, "least depth; 127: off")
    null_move_margin: int = _constant(
        "NullMoveMargin", 20, -1_000, 1_000, 8, "the static evaluation may be so much below beta"
    )
    # 4 did not beat 3: +12 +/- 39 Elo (200 games; log, 2026-11-23).
    null_move_reduction: int = _constant("NullMoveReduction", 3, 1, 20, 1, "plies less")
    null_move_depth_step: int = _constant(
        "NullMoveDepthStep", 4, 1, NEVER, 1, "one ply less for so many of depth"
    )
    null_move_eval_step: int = _constant(
        "NullMoveEvalStep", 165, 1, 10_000, 20, "one ply less for so much above beta,"
    )
    null_move_most: int = _constant("NullMoveMost", 3, 0, 20, 1, "at most so many of these")

    # --- singular extension
    singular_depth: int = _constant("SingularDepth", 6, 3, NEVER, 1, "least depth; 127: off")
    singular_entry_depth: int = _constant(
        "SingularEntryDepth", 2, 0, NEVER, 1, "the table's entry may be so much less deep"
    )
    singular_margin: int = _constant("SingularMargin", 2, 0, 100, 1, "for each ply")
    # Part of +34 +/- 25 Elo (500 games at 10 000 nodes, with correction by pieces and longer
    # continuations; log, 2026-11-23).
    double_extension_margin: int = _constant(
        "DoubleExtensionMargin", 18, 0, 10_000, 3, "two plies if all others are so far below"
    )

    # Part of +23 +/- 13 Elo (1 286 games at 25 000 nodes; log, 2026-11-28), as are repetitions
    # ahead, the histories' bonuses and what corrections may add.
    check_extension_depth: int = _constant(
        "CheckExtensionDepth", 7, 0, NEVER, 1, "greatest depth of check extensions; 0: off"
    )

    # --- pruning of a move
    late_move_base: int = _constant(
        "LateMoveBase", 4, 0, 100, 1, "quiet moves: this + depth * depth, half if not improving"
    )
    late_move_depth: int = _constant("LateMoveDepth", 6, 0, NEVER, 1, "greatest depth; 0: off")
    futility_base: int = _constant("FutilityBase", 55, -1_000, 2_000, 12, "margin at no depth")
    futility_step: int = _constant("FutilityStep", 80, 0, 1_000, 10, "and for each ply")
    futility_depth: int = _constant("FutilityDepth", 6, -1, NEVER, 1, "greatest depth; -1: off")
    history_pruning_margin: int = _constant(
        "HistoryPruningMargin", 4_500, 0, 100_000, 400, "history below minus this for each ply"
    )
    history_pruning_depth: int = _constant(
        "HistoryPruningDepth", 3, -1, NEVER, 1, "greatest depth; -1: off"
    )
    see_quiet_margin: int = _constant(
        "SeeQuietMargin", 19, 0, 1_000, 4, "a quiet move may lose this times the squared depth"
    )
    see_quiet_depth: int = _constant("SeeQuietDepth", 7, -1, NEVER, 1, "greatest depth; -1: off")
    see_capture_margin: int = _constant(
        "SeeCaptureMargin", 100, 0, 1_000, 12, "a capture may lose this for each ply"
    )
    see_capture_depth: int = _constant("SeeCaptureDepth", 6, 0, NEVER, 1, "greatest depth; 0: off")
    delta_margin: int = _constant(
        "DeltaMargin", 130, 0, 10_000, 20, "what a capture may gain beside the captured piece"
    )

    # --- late move reductions
    # From 0.8 on, with 2 more at cut nodes: -9 +/- 43 Elo (200 games; log, 2026-11-23).
    reduction_base: int = _constant(
        "ReductionBase", 48, -500, 500, 15, "hundredths of a ply, plus ln(depth) ln(move number) /"
    )
    reduction_divisor: int = _constant("ReductionDivisor", 212, 50, 2_000, 15, "hundredths")
    reduction_depth: int = _constant("ReductionDepth", 2, 2, NEVER, 1, "least depth; 127: off")
    deeper_margin: int = _constant(
        "DeeperMargin", 20, 0, 10_000, 4, "a reduced move so far above the best: a ply deeper"
    )
    shallower_margin: int = _constant(
        "ShallowerMargin", 5, 0, 1_000, 2, "one not so far above it: a ply less deep"
    )
    reduction_history: int = _constant(
        "ReductionHistory", 8_000, 100, 100_000, 800, "history that makes a ply"
    )
    most_history_plies: int = _constant("MostHistoryPlies", 3, 0, 10, 1, "most of these plies")

    # --- histories
    bonus_square: int = _constant("BonusSquare", 20, 0, 500, 3, "bonus: for each squared ply")
    bonus_linear: int = _constant("BonusLinear", 85, 0, 5_000, 12, "and for each ply,")
    largest_bonus: int = _constant("LargestBonus", 2_200, 1, 16_000, 160, "at most")
    # Part of +44 +/- 19 Elo (626 games at 25 000 nodes; log, 2026-11-27), as `piece_threat` is.
    eval_bonus: int = _constant(
        "EvalBonus", 8, 0, 1_000, 1, "of a move, for each centipawn that the evaluation rises"
    )
    capture_history_weight: int = _constant(
        "CaptureHistoryWeight", 4, 0, 64, 1, "16ths of its history in the order of a capture"
    )
    victim_weight: int = _constant(
        "VictimWeight", 16, 1, 64, 2, "times its value a victim counts, its attacker once"
    )
    pawn_threat: int = _constant(
        "PawnThreat", 12_000, 0, 100_000, 1_200, "order: leaving a pawn's attack; less to enter one"
    )
    piece_threat: int = _constant(
        "PieceThreat",
        13_000,
        0,
        100_000,
        1_200,
        "order: a rook leaving a lesser piece's attack; twice for a queen",
    )
    # The tables by pieces were part of the +34 +/- 25 above.
    largest_share: int = _constant(
        "CorrectionShare", 9, 1, 256, 2, "256ths by which corrections move, at most"
    )
    correction_weight: int = _constant(
        "CorrectionWeight", 310, 0, 4_096, 24, "256ths that a correction counts"
    )
    largest_correction: int = _constant(
        "CorrectionLimit", 100, 0, NEVER, 8, "centipawns of each correction, at most; 0: off"
    )

    # --- table of positions
    expected_depth: int = _constant(
        "ExpectedDepth", 5, 0, NEVER, 1, "up to which its score has to be on the expected side"
    )
    age_depth: int = _constant("AgeDepth", 4, 0, 100, 1, "plies that a search of age costs")

    # --- time
    iteration_share: int = _constant(
        "IterationShare", 55, 1, 1_000, 5, "% of the soft limit after which no iteration begins"
    )
    # +42 +/- 18 Elo (634 games at 1+0.01; log, 2026-11-28).
    doubt_time: int = _constant(
        "DoubtTime", 190, 1, 1_000, 10, "% of it where no node goes into the best move,"
    )
    sure_time: int = _constant("SureTime", 120, 0, 1_000, 10, "less by so much where all nodes do")
    abort_share: int = _constant(
        "AbortShare", 200, 1, 10_000, 20, "% of the soft limit after which one is given up"
    )


NAMES = tuple(field.name for field in fields(Constants))
OF_CLOCKS = (
    "iteration_share",
    "abort_share",
    "doubt_time",
    "sure_time",
)  # without effect where there is no clock

# --- what is fixed --------------------------------------------------------------------------------

# Centipawns for each unit of the logarithm of the odds; 180 was some 50 Elo weaker.
ODDS_SCALE = 220.0
MOST_CERTAIN = 1.0 - 1e-9  # that a value comes to certainty: 4 700 centipawns; a limit of numbers
# A score fades with the 50-move counter: by this many plies it would be 0.
FADE_PLIES, MOST_FADED_PLIES = 220, 100
OLD_CLOCK = 90  # from this 50-move counter on no score of the table is believed
WIDEST_WINDOW = 400  # of aspiration
ASPIRATION_DEPTH = 5  # first iteration with a window
MOST_DOUBLE_EXTENSIONS = 7  # in a line
EXTENSION_LIMIT = 2  # no extension beyond so many times the depth of the iteration
HISTORY_LIMIT = 16_384  # of a sum; a power of two, as it divides
CONTINUATIONS = 3  # 1, 2 and 4 plies back; the last was part of the +34 +/- 25 above
MOST_EVAL_BONUS = 700  # of a move, by the evaluation
QUEEN_BONUS = 16 * 750  # of a promotion in the order of captures
CORRECTION_GRAIN = 256  # of a centipawn
# A mate is believed to be the shortest after an iteration of twice its plies and these.
MATE_MARGIN_PLIES = 4
TEMPERATURE_SCALE = 100.0  # centipawns that cost a factor of e at a temperature of 1
# Of bishop and knight against a king; made by `python -m research.endings`.
ENDING_FILE = Path(__file__).with_name("bishop_and_knight.npy")


def bishop_and_knight() -> np.ndarray:
    """The weights of what is known of that ending, int16 [n]; endings.py says in which order."""
    import numpy as np

    table: np.ndarray = np.load(ENDING_FILE)
    return table.ravel()
