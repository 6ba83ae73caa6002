"""Every word about bad moves in English: causes, alternatives, and what they do to a game."""

from __future__ import annotations

FAULTS: dict[str, tuple[str, ...]] = {
    "EnPrise": (
        "{piece} can be taken: {reply}.",
        "{piece} is lost there to {reply}.",
        "That puts {piece} where {reply} takes it.",
    ),
    "GivesTooMuch": (
        "{mover} gives {lost} for {won}, which is too little: {line}.",
        "This gives {lost} for only {won}: {line}.",
    ),
    "Abandons": (
        "{guard} no longer guards {target}, and {reply} takes it.",
        "This takes a guard away from {target}: {reply}.",
    ),
    "Abandons.why": ("{guard} no longer guards {target}: {reply} takes it and {why}.",),
    "Unblocks": (
        "The line from {by} to {target} is open now.",
        "Nothing stands between {by} and {target} any more.",
    ),
    "Shuts": (
        "{piece} now stands between {guard} and {target}.",
        "This shuts {guard} off from {target}, which it guarded.",
    ),
    "Unguards": ("{guard} no longer guards {target}.",),
    "TakesOwnSquare": ("The pawn takes {square} away from {piece}.",),
    "ShutsInOwn": ("This shuts in {piece}.", "This leaves {piece} shut in."),
    "GoesToEdge": ("{piece} stands at the edge of the board.",),
    "UnguardsSquare": ("This gives up the guard of {square}.",),
    "PinnedGuard": ("{guard} is pinned and cannot take back on {at}.",),
    "IntoPin": ("{target} is pinned to {to} there.", "There {target} is pinned to {to}."),
    "LiftsBlockade": (
        "{piece} no longer blocks the pawn on {square}.",
        "This gives up the blockade of the pawn on {square}.",
    ),
    "OpensOwnKing": (
        "This opens the {file}-file beside {mover}'s own king.",
        "The {file}-file beside {mover}'s own king is open now.",
    ),
    "Overlooks": (
        "{other} was threatening {reply}, and still is.",
        "This does nothing against {reply}.",
        "The threat was {reply}, and it is not met.",
    ),
    "Overlooks.why": (
        "{other} was threatening {reply}, which {why}.",
        "This does nothing against {reply}, which {why}.",
        "The threat was {reply}, which {why}.",
    ),
    "AllowsMate": (
        "This allows mate in {moves}, beginning with {reply}.",
        "{reply} begins a mate in {moves}.",
        "{other} now mates in {moves}, with {reply} first.",
    ),
    "AllowsMate.1": ("This allows {reply}.", "{reply} is possible now.", "It runs into {reply}."),
    "LosesEnding": (
        "The pawn ending is lost: {line}.",
        "This goes into a lost pawn ending: {line}.",
    ),
    "LosesEnding.worse": (
        "The pawn ending is worse for {mover}: {line}.",
        "This goes into a worse pawn ending: {line}.",
    ),
    "WalksInto": ("{side} walks into the {trap}.",),
    "WalksInto.line": ("{side} walks into the {trap}: {line}.",),
    "WalksInto.wins": ("{side} walks into the {trap}: {line} wins {won}.",),
    "WalksInto.for": ("{side} walks into the {trap}: {line} wins {won} for {lost}.",),
    "EarlyQueen": (
        "The queen comes out early, before knights and bishops.",
        "This brings the queen out before the knights and bishops.",
    ),
    "GoesBack": (
        "The {kind} goes back to {square}, which costs two moves.",
        "The {kind} is back on {square}: two moves are gone.",
    ),
    "GoesBack.line": (
        "After {line} the {kind} is back on {square}: two moves are gone.",
        "After {line} the {kind} is back where it was, and two moves are gone.",
    ),
    "Stalemates": ("The better game is gone.",),
    "WrongBishop": ("That leaves a bishop of the wrong colour: {other}'s king holds the corner.",),
    "CastlesInto": ("This castles into an attack: {pieces} pieces look at the king's squares.",),
    "Allows": ("{other} answers {line}.", "The answer is {line}.", "The trouble is {line}."),
    "Allows.worth": (
        "After {line} the score is {has}.",
        "{line} leads to a score of {has}.",
        "The answer is {line}, with a score of {has}.",
    ),
    "Allows.why": (
        "This allows {reply}, which {why}.",
        "{reply} now {why}.",
        "The answer is {reply}, which {why}.",
        "The trouble is {reply}: it {why}.",
    ),
    "WinsBy": ("The point is {line}, which {why}.", "The point is {line}: the last move {why}."),
    "Allows.later": (
        "The trouble is {line}, which {why}.",
        "{other} answers {line}, which {why}.",
        "The trouble is {line}: the last move {why}.",
    ),
    "Better": (
        "Better was {step}.",
        "{step} was better.",
        "The right move was {step}.",
        "{mover} should have played {step}.",
    ),
    "Better.chance": (
        "{mover} missed {step}.",
        "{step} was possible.",
        "{mover} could have played {step}.",
    ),
    "Better.chance.why": (
        "{mover} missed {step}, which {why}.",
        "{mover} could have played {step}, which {why}.",
        "{step} was possible: it {why}.",
    ),
    "Better.later": (
        "Better was {line}, which {why}.",
        "Better was {line}: the last move {why}.",
        "{mover} should have played {line}, which {why}.",
    ),
    "Better.worth": (
        "Better was {step} ({had} instead of {has}).",
        "{step} was better: {had} instead of {has}.",
        "With {step} the score would be {had}, not {has}.",
    ),
    "Better.why": (
        "Better was {step}, which {why}.",
        "Instead, {step} {why}.",
        "The right move was {step}: it {why}.",
        "{step} was the move: it {why}.",
        "{mover} had {step}, which {why}.",
    ),
    "MissesMate": (
        "{step} would have mated in {moves}.",
        "There was a mate in {moves} with {step}.",
        "{mover} misses mate in {moves}: {step}.",
    ),
    "MissesMate.1": ("{step} would have been mate.", "{mover} misses mate with {step}."),
}

# How a mistake changes the game, from one standing of the mover to another.
TURNS: dict[str, tuple[str, ...]] = {
    "2.1": ("The win is not so clear any more.", "The win is a harder one now."),
    "2.0": ("The win is gone.", "A won game is level now.", "{mover} is not winning any more."),
    "2.-1": ("The win is gone, and {other} is better now.", "From winning to worse."),
    "2.-2": ("A won game is lost now.", "{other} is winning now, not {mover}."),
    "1.0": ("The advantage is gone.", "The game is level now.", "{mover} is not better any more."),
    "1.-1": ("Now {other} is better.", "The advantage is {other}'s now."),
    "1.-2": ("{mover} was better and is lost now.", "From better to lost."),
    "0.-1": ("{other} is better now.", "{mover} is worse now.", "The advantage is with {other}."),
    "0.-2": ("{mover} is lost now.", "{other} is winning now.", "From level to lost."),
    "-1.-2": ("A difficult position is a lost one now.", "{mover} is lost now."),
}
