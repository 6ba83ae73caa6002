"""The numbers of the search that are chosen and not computed, in one table, each with its test.

"log, DATE" is an entry of the research log. "untested" means that the number is usual in engines
of this kind and that no match of its own stands behind it; a match at 10 000 nodes a game says
whether another one is better (CONTRIBUTING.md). Margins and scores are centipawns, depths plies.
"""

# --- scores ---------------------------------------------------------------------------------------

# Centipawns for each unit of the logarithm of the odds; 180 was some 50 Elo weaker.
ODDS_SCALE = 220.0
MOST_CERTAIN = 1.0 - 1e-9  # that a value comes to certainty: 4 700 centipawns; a limit of numbers
# A score fades with the 50-move counter: by this many plies it would be 0. Untested.
FADE_PLIES, MOST_FADED_PLIES = 220, 100
OLD_CLOCK = 90  # from this 50-move counter on no score of the table is believed; untested

# --- iterative deepening --------------------------------------------------------------------------

ASPIRATION_WINDOW, WIDEST_WINDOW = 20, 400  # to either side, doubled after a miss; untested
ASPIRATION_DEPTH = 5  # first iteration with a window; untested
FAIL_HIGH_REDUCTION = 2  # most plies less after scores above the window; untested

# --- pruning of a position ------------------------------------------------------------------------

REVERSE_FUTILITY_MARGIN, REVERSE_FUTILITY_DEPTH = 75, 7  # for each ply; untested
IIR_DEPTH = 4  # least depth; untested
NULL_MOVE_DEPTH = 3  # least depth; untested
NULL_MOVE_MARGIN = 20  # the static evaluation may be so much below beta; untested
# Plies less: 3, which 4 did not beat (+12 +/- 39 Elo, 200 games; log, 2026-11-23), one more for
# each 4 plies of depth, one more for each 150 above beta, 3 of these at most.
NULL_MOVE_REDUCTION, NULL_MOVE_DEPTH_STEP, NULL_MOVE_EVAL_STEP, NULL_MOVE_MOST = 3, 4, 150, 3

# --- singular extension ---------------------------------------------------------------------------

SINGULAR_DEPTH = 7  # least depth; untested
SINGULAR_ENTRY_DEPTH = 3  # the table's entry may be so much less deep; untested
SINGULAR_MARGIN = 2  # for each ply; untested
# Two plies if all others are so far below, so often in a line: part of +34 +/- 25 Elo (500 games
# at 10 000 nodes, with correction by pieces and longer continuations; log, 2026-11-23).
DOUBLE_EXTENSION_MARGIN, MOST_DOUBLE_EXTENSIONS = 18, 7
EXTENSION_LIMIT = 2  # no extension beyond so many times the depth of the iteration; untested

# --- pruning of a move ----------------------------------------------------------------------------

# Quiet moves searched at a depth: (4 + depth * depth), half of it where not improving; untested.
LATE_MOVE_BASE, LATE_MOVE_DEPTH = 4, 8
FUTILITY_BASE, FUTILITY_STEP, FUTILITY_DEPTH = 90, 80, 6  # step for each ply; untested
HISTORY_PRUNING_STEP, HISTORY_PRUNING_DEPTH = -3_500, 3  # for each ply; untested
SEE_QUIET_STEP, SEE_QUIET_DEPTH = -25, 7  # times the square of the plies that are left; untested
SEE_CAPTURE_STEP, SEE_CAPTURE_DEPTH = -100, 6  # for each ply; untested
DELTA_MARGIN = 180  # what a capture may gain beside the captured piece; untested

# --- late move reductions -------------------------------------------------------------------------

# Plies less: 0.4 + ln(depth) ln(move count) / 2.2. From 0.8 on, with 2 more at cut nodes, it was
# no better (-9 +/- 43 Elo, 200 games; log, 2026-11-23).
REDUCTION_BASE, REDUCTION_DIVISOR = 0.4, 2.2
REDUCTION_DEPTH = 2  # least depth; untested
# One ply less or more for each 8 000 of history, two at most; untested.
REDUCTION_HISTORY, MOST_HISTORY_PLIES = 8_000, 2

# --- histories ------------------------------------------------------------------------------------

HISTORY_LIMIT = 16_384  # of a sum; a power of two, as it divides
# min(16 depth^2 + 32 depth, 1 600); untested.
BONUS_SQUARE, BONUS_LINEAR, LARGEST_BONUS = 16, 32, 1_600
CONTINUATIONS = 3  # 1, 2 and 4 plies back; the last was part of the +34 +/- 25 above
CAPTURE_DIVISOR = 4  # of its history beside a capture's material; untested
VICTIM_WEIGHT = 16  # times its value a victim counts, its attacker once; untested
QUEEN_BONUS = 16 * 750  # of a promotion; untested
# Corrections are in 256ths of a centipawn and move by a share of depth / 256 towards the error.
# The tables by pieces were part of the +34 +/- 25 above; these numbers are untested.
CORRECTION_GRAIN, LARGEST_SHARE, LARGEST_CORRECTION = 256, 16, 64

# --- table of positions ---------------------------------------------------------------------------

AGE_DEPTH = 4  # plies of depth that one search of age costs an entry; untested

# --- time and choice of the move ------------------------------------------------------------------

# Shares of the soft limit: no iteration begins after the first, one is given up after the second.
ITERATION_SHARE, ABORT_SHARE = 0.55, 2.0  # untested
# A mate is believed to be the shortest after an iteration of twice its plies and these; untested.
MATE_MARGIN_PLIES = 4
TEMPERATURE_SCALE = 100.0  # centipawns that cost a factor of e at a temperature of 1; untested
