"""Every word that commentary says, in English; a module with the same names is another language.

Texts of claims are predicates: "forks {targets}" follows "This", "23.Nf3+" or "which". Names in
braces are fields of the claim, or what `words` adds to them: {mover}, {other}, {move}, {unit}.
"""

from __future__ import annotations

from collections.abc import Sequence

from kibitz.comment.english.mistakes import FAULTS as FAULTS
from kibitz.comment.english.mistakes import TURNS as TURNS

PIECES = {1: "pawn", 2: "knight", 3: "bishop", 4: "rook", 5: "queen", 6: "king"}
SIDES = {True: "White", False: "Black"}
NUMBERS = ("no", "a", "two", "three", "four", "five", "six", "seven", "eight")
AND = " and "


def joined(texts: Sequence[str]) -> str:
    """A list in words: a, b and c."""
    if len(texts) < 2:
        return "".join(texts)
    return ", ".join(texts[:-1]) + AND + texts[-1]


def unit(kind: int, square: str) -> str:
    """A piece on its square."""
    return "the king" if kind == 6 else f"the {PIECES[kind]} on {square}"


def haul(kinds: Sequence[int]) -> str:
    """Pieces that are won: a rook and two pawns."""
    counted = [(kind, list(kinds).count(kind)) for kind in sorted(set(kinds), reverse=True)]
    return joined(
        [f"{NUMBERS[count]} {PIECES[kind]}{'s' if count > 1 else ''}" for kind, count in counted]
    )


def gift(lost: Sequence[int], won: Sequence[int]) -> str:
    """Material that is given: a knight for two pawns."""
    if tuple(lost) == (4,) and tuple(won) in ((2,), (3,)):
        return "the exchange"
    given = "the queen" if tuple(lost) == (5,) else haul(lost)
    return f"{given} for {haul(won)}" if won else given


def worth(*scores: int) -> dict[str, str]:
    """The scores of two moves in pawns."""
    texts = [score(one) for one in scores]
    return dict(zip(("had", "has"), texts, strict=True)) if texts else {}


def score(centipawns: int) -> str:
    """A score in pawns."""
    return f"{centipawns / 100:+.2f}".replace("-", "\u2212")


def no_escape(blocked: Sequence[str], covered: Sequence[str]) -> str:
    """Why a king has no square to go to."""
    shut = f"its own men stand on {joined(blocked)}" if blocked else ""
    verb = "are" if len(covered) > 1 else "is"
    return ", and ".join([one for one in (shut, f"{joined(covered)} {verb} attacked") if one])


def count(number: int) -> str:
    """A small number in words."""
    words = ("none", "one", *NUMBERS[2:])
    return words[number] if number < len(words) else str(number)


# --- what is said of a move -----------------------------------------------------------------------

PREDICATES: dict[str, tuple[str, ...]] = {
    "Fork": ("forks {targets}", "hits {targets} at once", "attacks both {targets}"),
    "Fork.many": ("forks {targets}", "attacks {targets} all at once"),
    "Pins": ("pins {piece} to {to}", "pins {piece} against {to}", "puts {piece} in a pin to {to}"),
    "UsesPin": (
        "is safe from {piece}, which is pinned to {to}",
        "can ignore {piece}, pinned to {to} as it is",
    ),
    "Skewers": ("skewers {front} and {behind}", "hits {front} and, behind it, {behind}"),
    "Discovers": (
        "uncovers an attack by {by} on {target}",
        "opens the line of {by} to {target}",
        "discovers an attack on {target} by {by}",
    ),
    "Discovers.check": ("gives a discovered check with {by}", "uncovers a check from {by}"),
    "DoubleCheck": ("gives double check, so that the king has to move", "is a double check"),
    "Deflects": ("lures {guard} away from {target}", "deflects {guard} from guarding {target}"),
    "Deflects.square": ("lures {guard} away from {square}", "deflects {guard} from {square}"),
    "Deflects.overloaded": (
        "shows that {guard} has one job too many: it also has to guard {target}",
        "overloads {guard}, which also has to guard {target}",
    ),
    "Attracts": ("draws {piece} to {square}", "decoys {piece} to {square}"),
    "RemovesGuard": (
        "removes {guard}, the only guard of {target}",
        "takes {guard}, which guarded {target}",
    ),
    "Interferes": ("cuts {slider} off from {target}",),
    "Intermezzo": (
        "comes in between: the recapture on {square} can wait",
        "is an in-between move before the recapture on {square}",
    ),
    "Clears": ("clears the way for {piece}", "vacates {square} for {piece}"),
    "Traps": ("traps {piece}", "leaves {piece} without a safe square"),
    "TakesLoose": ("takes {piece}, which nothing guarded", "takes {piece} for nothing"),
    "GivesUp": ("sacrifices {gift}", "gives up {gift}"),
    "GivesUp.mate": ("gives up {piece} to force mate in {moves}",),
    "GivesUp.mate1": ("gives up {piece} for mate next move", "sacrifices {piece}: mate next move"),
    "GivesUp.interest": (
        "sacrifices {gift} and on best play wins it back with interest, by {later}",
        "gives up {gift} for a while: on best play {later} wins back more",
    ),
    "GivesUp.back": (
        "sacrifices {gift} for a while: on best play {later} wins it back",
        "gives up {gift} and has it back with {later} on best play",
    ),
    "GivesUp.offer": (
        "offers {gift}, and {other} had better not accept it",
        "offers {gift}, which is best declined",
    ),
    "GivesUp.mated": ("offers {piece}: to take it allows mate in {moves}",),
    "GivesUp.mated1": ("offers {piece}: to take it allows {later}",),
    "GivesUp.offered": ("offers {gift}, which {later} wins back if it is taken",),
    "GivesUp.castling": ("sacrifices {gift} to keep {other}'s king from castling",),
    "GivesUp.king": ("sacrifices {gift} to drive the king to {square}",),
    "GivesUp.winning": ("sacrifices {gift} and is winning all the same",),
    "GivesUp.better": ("sacrifices {gift} and is better all the same",),
    "GivesUp.level": ("sacrifices {gift} and has enough for it",),
    "Mates": ("is mate", "mates", "is checkmate"),
    "Mates.guarded": (
        "is mate: {guard} guards {piece}",
        "is checkmate, with {piece} guarded by {guard}",
    ),
    "Mates.double check": ("is mate by double check: no reply answers both checks",),
    "Mates.back rank": ("is a back-rank mate: the king's own men block its way out",),
    "Mates.smothered": ("is a smothered mate: the king is walled in by its own men",),
    "MateIn": ("forces mate in {moves}", "leads to mate in {moves} by force"),
    "MateIn.1": ("forces mate next move", "leaves no defence to mate next move"),
    "Wins": ("wins {won}", "wins {won} by force", "nets {won}"),
    "Wins.for": ("wins {won} for {lost}", "gains {won} for {lost}"),
    "Wins.exchange": ("wins the exchange", "wins a rook for a minor piece"),
    "Wins.some": ("wins material", "wins material by force"),
    "Nets": ("wins {won} in the end", "wins {won} before long", "comes out {won} ahead"),
    "Nets.for": ("wins {won} for {lost} in the end", "comes to win {won} for {lost}"),
    "Nets.exchange": ("wins the exchange in the end", "wins the exchange before long"),
    # by the line that is expected
    "ComesOut": ("wins {won} in the line that follows", "comes out {won} ahead"),
    "ComesOut.line": ("wins {won}: {line}", "comes out {won} ahead: {line}"),
    "ComesOut.for": ("wins {won} for {lost} in the line that follows",),
    "ComesOut.for.line": ("wins {won} for {lost}: {line}",),
    "ComesOut.exchange": ("wins the exchange in the line that follows",),
    "ComesOut.exchange.line": ("wins the exchange: {line}",),
    "ComesOut.some": ("wins material in the line that follows",),
    "ComesOut.some.line": ("wins material: {line}",),
    "MatesLater": ("forces mate in {moves} at most", "leads to mate in {moves} at most"),
    "Draws.stalemate": ("ends in stalemate",),
    "Draws.stalemate.line": ("ends in stalemate: {line}",),
    "Draws.check": ("gives perpetual check",),
    "Draws.check.line": ("gives perpetual check: {line}",),
    "Draws.repetition": ("draws by repetition",),
    "Draws.repetition.line": ("draws by repetition: {line}",),
    "OpensUp": ("opens up {other}'s king", "tears open {other}'s king position"),
    "OpensUp.line": ("opens up {other}'s king: {line}",),
    "Runs": ("gets a pawn through to {square}",),
    "Runs.line": ("gets a pawn through to {square}: {line}",),
    "Uncastles": ("keeps {other}'s king from castling",),
    "Uncastles.line": ("keeps {other}'s king from castling: {line}",),
    "TradesQueens": ("takes the queens off in the line that follows",),
    "TradesQueens.line": ("takes the queens off: {line}",),
    "Castles.line": ("lets {mover} castle soon: {line}",),
    "TakesBack": ("takes back with the {kind}",),
    "HitsAgain": ("makes {piece} move again", "gains time, as {piece} has to move again"),
    "AvoidsLoss": ("avoids the loss", "loses nothing", "keeps the material together"),
    "Verdict.1": ("is a win by the tablebases", "reaches a win that is in the tablebases"),
    "Verdict.0": ("is a draw by the tablebases", "reaches a draw that is in the tablebases"),
    "Verdict.-1": ("is lost by the tablebases", "is a loss that is in the tablebases"),
    "Threatens": (
        "threatens {step}",
        "threatens to take {target} with {step}",
        "carries the threat of {step}",
        "sets up the threat of {step}",
    ),
    "Threatens.loose": (
        "threatens {step}: nothing guards {target}",
        "threatens {step}, as nothing guards {target}",
        "sets up {step}, with nothing to guard {target}",
        "makes {step} a threat, since nothing guards {target}",
        "has the threat of {step}, with nothing to guard {target}",
        "creates the threat of {step}: nothing guards {target}",
        "carries the threat of {step}, for nothing guards {target}",
    ),
    "Threatens.more": (
        "threatens {step}: {target} is worth more than the {taker}",
        "threatens {step}, as {target} is worth more than the {taker} that takes it",
        "makes {step} a threat: {target} is worth more than the {taker}",
    ),
    "Threatens.mate": ("threatens mate with {step}", "threatens {step}"),
    "Parries": ("saves {target} from {step}", "meets the threat to {target}", "secures {target}"),
    "Parries.mate": ("stops {step}", "meets the threat of {step}", "parries the mate on {at}"),
    "OnlyMove": (
        "is the only good move here",
        "is the only move: all others are much worse",
        "has to be played: all other moves are much worse",
    ),
    "OnlyGood.2": ("is the only move that keeps the win", "alone keeps the win"),
    "OnlyGood.1": ("is the only move that keeps the better game", "alone keeps {mover} better"),
    "OnlyGood.0": ("is the only move that keeps the game level", "alone holds the balance"),
    "OnlyMove.hard": (
        "is the only good move, and a hard one to find",
        "is the one good move here, and far from obvious",
    ),
    # structure
    "PassedPawn": (
        "gives {mover} a passed pawn on {square}",
        "creates a passed pawn on {square}",
        "leaves {mover} with a passed pawn on {square}",
    ),
    "PassedPawnAdvances": (
        "brings the passed pawn to {square}",
        "pushes the passed pawn on to {square}",
        "runs on with the passed pawn to {square}",
    ),
    "IsolatedPawn": (
        "leaves {side} with an isolated pawn on {square}",
        "isolates {side}'s pawn on {square}",
    ),
    "DoubledPawns": (
        "doubles {side}'s pawns on the {file}-file",
        "leaves {side} with doubled pawns on the {file}-file",
    ),
    "TakesFile": ("takes the open {file}-file", "puts the rook on the open {file}-file"),
    "TakesFile.half": (
        "takes the half-open {file}-file",
        "puts the rook on the half-open {file}-file",
    ),
    "Seventh": ("brings the rook to the seventh rank", "puts the rook on the seventh rank"),
    "Seventh.black": ("brings the rook to the second rank", "puts the rook on White's second rank"),
    "Outpost": (
        "settles on {square}, an outpost for the {kind}",
        "gains an outpost for the {kind} on {square}",
        "gives the {kind} an outpost on {square}",
    ),
    "BishopPair": (
        "leaves {side} alone with the bishop pair",
        "leaves {side} as the only one with a bishop pair",
    ),
    "LosesCastling": ("gives up the right to castle", "means that {mover} can no longer castle"),
    "OppositeCastling": ("puts the kings on opposite wings", "leaves the kings on opposite wings"),
    "QueensLeave": ("takes the queens off", "leaves the board without queens"),
    "PawnEnding": ("leads to a pawn ending", "leaves only kings and pawns"),
    "OppositeBishops": ("leaves bishops of opposite colours", "leads to opposite-coloured bishops"),
    "OpensKing": (
        "clears the {file}-pawn from in front of {side}'s king",
        "takes the {file}-pawn from in front of {side}'s king",
    ),
    # plain features
    "battery": (
        "lines up {pieces} towards {square}, beside {other}'s king",
        "makes a battery of {pieces}, aimed at {square} next to the king",
    ),
    "doubled_rooks": ("doubles rooks on the {file}-file", "puts both rooks on the {file}-file"),
    "connected_rooks": ("connects the rooks", "links the rooks on the back rank"),
    "development": (
        "puts {side} ahead in development, with {count0} minor pieces out against {count1}",
        "gives {side} a lead in development: {count0} minor pieces are out against {count1}",
    ),
    "last_minor": (
        "brings out the last of {side}'s minor pieces",
        "means that all of {side}'s minor pieces are out",
    ),
    "blockade": (
        "blocks the passed pawn on {at}",
        "stands in the way of the passed pawn on {at}",
        "halts the passed pawn on {at}",
    ),
    "behind_passed": (
        "puts the rook behind the passed pawn on {at}",
        "gets the rook behind the passed pawn on {at}",
    ),
    "chases": (
        "gains time by attacking {piece}",
        "attacks {piece}",
        "makes {piece} move",
        "hits {piece}",
    ),
    "trades_ahead": (
        "trades {kinds}, which suits {mover}, who has more material",
        "trades {kinds} while {mover} is ahead in material",
    ),
    "strikes": ("strikes at {piece}", "challenges {piece}", "puts the question to {piece}"),
    "connected_passed": (
        "gives {side} connected passed pawns on {squares}",
        "leaves {side} with connected passed pawns on {squares}",
    ),
    "backward": (
        "leaves {side} with a backward pawn on {at}",
        "makes {side}'s pawn on {at} a backward one",
    ),
    "hanging_pawns": ("leaves {side} with hanging pawns on {squares}",),
    "bad_bishop": (
        "shuts in {piece}: {count0} of {side}'s own pawns are fixed on its colour",
        "makes {piece} a bad one, with {count0} of {side}'s pawns fixed on its colour",
    ),
    "opens_file": ("opens the {file}-file", "clears the {file}-file of pawns"),
    "escape_square": (
        "makes an escape square on {square} for the king",
        "gives the king air on {square}",
    ),
    "king_to_centre": (
        "brings the king towards the centre",
        "activates the king",
        "walks the king nearer to the centre",
    ),
    "opposition": ("takes the opposition", "gains the opposition"),
    "heads_for": (
        "heads for an outpost on {square}",
        "brings the outpost {square} within the knight's reach",
    ),
    "backs_up": ("prepares the advance {step}", "supports the advance {step}"),
    "repeats": ("repeats the position", "brings about the same position for the second time"),
    "fifty_moves": ("makes it {count0} moves without a capture or a pawn move",),
    "imbalance": ("leaves {side} with {has} against {against}",),
    "attacks_loose": (
        "attacks {piece}, which nothing guards",
        "turns on {piece}, which is not guarded",
        "goes after {piece}, which nothing guards",
        "aims at the unguarded {kind} on {at}",
        "attacks the unguarded {kind} on {at}",
    ),
    "guards": (
        "guards {piece}, which was attacked",
        "gives {piece} the guard that it needs",
        "comes to guard {piece}, which was attacked",
        "protects {piece}, which was attacked and not guarded",
    ),
    "steps_away": (
        "gets the {own} away from {piece}",
        "takes the {own} out of reach of {piece}",
        "moves the {own} out of the attack by {piece}",
    ),
    "offers_trade": (
        "offers a trade of {kinds}",
        "offers to exchange {kinds}",
        "invites a trade of {kinds}",
    ),
    "centralises": ("centralises the knight", "puts the knight in the middle of the board"),
    "fianchetto": ("fianchettoes the bishop", "puts the bishop on the long diagonal"),
    "gains_space": (
        "gains space with the pawn on {at}",
        "takes space: the pawn on {at} is guarded by a pawn and attacked by none",
        "plants a pawn on {at}, which gains space",
    ),
    "unpins": ("frees {piece} from the pin", "breaks the pin on {piece}"),
    "closes_in": (
        "makes it {count0} pieces that attack squares beside {other}'s king",
        "brings another piece near {other}'s king: {count0} now attack squares beside it",
    ),
    # what the best move keeps; numbers as in judge.standing
    "Prevents": ("does not allow {reply}", "rules out {reply}", "leaves no room for {reply}"),
    # where a move leads
    "Continues": ("is likely to be followed by {line}", "should lead to {line}"),
    "Leaves.2": ("leaves {mover} winning",),
    "Leaves.1": ("leaves {mover} better",),
    "Leaves.0": ("leaves the game level",),
    "Leaves.-1": ("leaves {mover} worse",),
    "Leaves.-2": ("leaves {mover} lost",),
    "BeatsNext": ("is better than {step}, the next best move", "is to be preferred to {step}"),
    "Scored": ("leaves a score of {score}", "leads to a score of {score}"),
    "Marked.6": ("is an inaccuracy", "is not the most exact move"),
    "Marked.2": ("is a mistake",),
    "Marked.4": ("is a blunder", "is a bad mistake"),
    "Develops": ("develops the {kind}", "brings the {kind} into play"),
    "NearsGoal": (
        "brings the pawn within {squares} squares of promotion",
        "leaves the passed pawn {squares} squares to go",
    ),
    "Names": ("enters the {opening}", "brings about the {opening}"),
    "OnlyMate": ("is the only move that mates at once", "is the one move that ends the game"),
    "NoEscape": ("leaves the king no square: {why}", "takes all squares from the king: {why}"),
    "Keeps.2": ("keeps the win", "keeps {mover} winning"),
    "Keeps.1": ("keeps the better game", "keeps {mover} better"),
    "Keeps.0": ("keeps the game level", "holds the balance"),
}

# Texts in simpler words, for the beginner's level.
BEGINNER: dict[str, tuple[str, ...]] = {
    "Fork": ("attacks {targets} at the same time: a fork", "forks {targets}"),
    "Pins": ("pins {piece}: if it moves, {to} behind it can be taken", "pins {piece} to {to}"),
    "Pins.king": (
        "pins {piece}: it may not move, or the king would be in check",
        "pins {piece} to {to}",
    ),
    "Skewers": ("skewers {front}: when it steps aside, {behind} behind it falls",),
    "guards": (
        "guards {piece}, which {by} attacks",
        "protects {piece} from {by}",
        "covers {piece} against the attack by {by}",
    ),
    "Wins.exchange": ("wins a rook for a minor piece",),
}

# --- sentences ------------------------------------------------------------------------------------

PLAYED = ("This {0}.", "{move} {0}.")
PLAYED_MORE = ("It also {0}.", "At the same time it {0}.")
PLAYED_BUT = ("But it {0}.",)  # one of the two speaks against the move
BOTH = "{0} and {1}"
BUT = "{0}, but {1}"
SO = "{0}, and so {1}"  # what a tactic wins

OPENING = ("{name} ({eco}).",)
THEORY = (
    "{move} leaves the openings that have a name.",
    "With {move} the game leaves the lines that have a name.",
    "No named opening goes on with {move}.",
    "{move} is a step away from the named openings.",
    "With {move} the named openings end.",
    "{move} goes beyond the lines that have a name.",
)

ENDS: dict[str, str] = {
    "stalemate": "Stalemate: {side} to move has no legal move and is not in check.",
    "material": "A draw: neither side has the material to mate.",
    "repetition": "The position occurs for the {count} time.",
    "fifty": "Fifty moves have gone by without a capture or a pawn move.",
}
ORDINALS = {3: "third", 4: "fourth", 5: "fifth"}
