"""Every word of a game's story, in English; a module with the same names is another language.

Names in braces are filled in by `story`: {mover} made the move, {side} is the other one.
"""

from __future__ import annotations

STORY: dict[str, tuple[str, ...]] = {
    "opening": ("The opening was the {name} ({eco}).", "They played the {name} ({eco})."),
    "calm": (
        "Until move {number} neither side was better.",
        "The game was level for {before} moves.",
        "For {before} moves little separated the two.",
    ),
    "outplayed": (
        "All in all {side} outplayed {other} {where}.",
        "{where} it was {side} who found the better moves, one after the other.",
        "Move by move {side} got the better of {other} {where}.",
    ),
    # of the turning points, by the standing of the mover before and after: see judge.standing
    "2.1": ("{move}{why} let {side} back into the game.", "{move}{why} made the win harder."),
    "2.0": (
        "With {move}{why} {mover} let a win slip.",
        "{move}{why} threw a win away.",
        "{mover} was winning until {move}{why}.",
    ),
    "2.-1": (
        "{mover} was winning, but {move}{why} turned the game round.",
        "{move}{why} turned a win into the worse game.",
    ),
    "2.-2": (
        "{mover} was winning, but {move}{why} turned the game round.",
        "{move}{why} turned a win into a lost game.",
    ),
    "1.0": (
        "{mover}'s advantage was gone after {move}{why}.",
        "{move}{why} gave {mover}'s advantage back.",
        "{mover} was better until {move}{why}.",
    ),
    "1.-1": ("{move}{why} turned the better game into the worse one for {mover}.",),
    "1.-2": (
        "{move}{why} turned the better game into a lost one for {mover}.",
        "{mover} stood better, but {move}{why} handed the game to {side}.",
    ),
    "0.-1": (
        "{move}{why} gave {side} the better game.",
        "{mover} erred with {move}{why}, and {side} was better.",
        "{side} got the upper hand after {move}{why}.",
    ),
    "0.-2": (
        "{move}{why} cost {mover} a level game.",
        "In a level position {mover} went wrong with {move}{why}.",
        "{mover} held the balance until {move}{why}.",
    ),
    "-1.-2": (
        "{move}{why} made a difficult position a lost one.",
        "{mover} was worse already when {move}{why} lost the game's thread.",
    ),
    "up": ("{mover} found {move}, and the game turned.", "{move} changed the game."),
    "decided": ("The decisive mistake was {move}{why}.", "{move}{why} decided the game."),
    "right": ("{step} would have {kept}.", "There was {step}, which would have {kept}."),
    "kept.2": ("kept the win",),
    "kept.1": ("kept the better game",),
    "kept.0": ("held the balance",),
    "kept.-1": ("kept {mover} in the game",),
    "worst": ("Nothing cost {mover} more than {move}{why}.", "{mover}'s worst was {move}{why}."),
    "mated": (", which allowed mate,",),
    "lost": (", which lost {won},",),
    "missed": (", which missed a mate,",),
    "opening phase": ("in the opening",),
    "middlegame phase": ("in the middlegame",),
    "endgame phase": ("in the endgame",),
    "regained": ("In the moves that followed {winner} took over.",),
    "regained.slowly": (
        "In the moves that followed {winner} took over.",
        "After that the game slipped to {winner} in small steps.",
    ),
    "gradual": (
        "No single move decided the game: bit by bit {winner} got the upper hand.",
        "There was no one mistake to name; {winner} made more of small things.",
    ),
    "still": (
        "Neither side made a mistake that changed how the game stood.",
        "The balance never shifted far.",
    ),
    "mate": ("{winner} mated on move {number}.",),
    "time": ("{loser} lost on time on move {number}.",),
    "time.won": ("{loser} lost on time on move {number}, in a winning position.",),
    "resigned.level": (
        "{winner} won on move {number}, from a position that looks level.",
        "{winner} was given the point on move {number}, with the game still level.",
    ),
    "resigned.odd": (
        "{winner} won on move {number}, though {loser} was better in the last position.",
    ),
    "resigned": ("{winner} won on move {number}.", "After {number} moves {winner} had won."),
    "drawn": ("It ended in a draw on move {number}.", "A draw was the result on move {number}."),
    "drawn.repetition": ("A draw by repetition ended it on move {number}.",),
    "drawn.stalemate": ("Stalemate on move {number} made it a draw.",),
    "drawn.material": ("It was a draw on move {number}, with too little material left to mate.",),
    "drawn.fifty": ("A draw by the fifty-move rule ended it on move {number}.",),
    "drawn.won": ("A draw on move {number} ended it, though {winner} was winning.",),
    "open": ("The record ends with move {number}.",),
    "accuracy": ("Accuracy: White {white} %, Black {black} %.",),
    "counts": ("{side}: {counts}.",),
}
LABELS = {2: ("mistake", "mistakes"), 4: ("blunder", "blunders"), 6: ("inaccuracy", "inaccuracies")}
