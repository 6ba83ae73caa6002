"""Every word about bad moves in German: causes, alternatives, and what they do to a game."""

from __future__ import annotations

FAULTS: dict[str, tuple[str, ...]] = {
    "EnPrise": (
        "{piece:der} kann einfach geschlagen werden: {reply}.",
        "{piece:der} geht dort durch {reply} verloren.",
        "Das stellt {piece:den} ein: {reply}.",
    ),
    "GivesTooMuch": ("Das gibt {lost:den} für {won:den}, und das ist zu wenig: {line}.",),
    "Abandons": (
        "{guard:der} deckt {target:den} nicht mehr, und {reply} schlägt {target:ihn}.",
        "Das nimmt {target:dem} eine Deckung: {reply}.",
    ),
    "Abandons.why": (
        "{guard:der} deckt {target:den} nicht mehr; {reply} schlägt {target:ihn} und {why}.",
    ),
    "Unblocks": ("Zwischen {by:dem} und {target:dem} steht nun nichts mehr.",),
    "Shuts": ("{piece:der} steht nun zwischen {guard:dem} und {target:dem}.",),
    "Unguards": ("{guard:der} deckt {target:den} nicht mehr.",),
    "TakesOwnSquare": ("Der Bauer nimmt {piece:dem} das Feld {square}.",),
    "ShutsInOwn": ("Das sperrt {piece:den} ein.",),
    "GoesToEdge": ("{piece:der} steht am Rand.",),
    "UnguardsSquare": ("Das gibt die Deckung von {square} auf.",),
    "PinnedGuard": ("{guard:der} ist gefesselt und kann auf {at} nicht zurückschlagen.",),
    "IntoPin": ("{target:der} ist dort an {to:den} gefesselt.",),
    "LiftsBlockade": ("{piece:der} blockiert den Bauern auf {square} nicht mehr.",),
    "OpensOwnKing": ("Das öffnet die {file}-Linie neben dem eigenen König.",),
    "Overlooks": (
        "{other} drohte {reply}, und die Drohung bleibt.",
        "Gegen {reply} tut der Zug nichts.",
        "Die Drohung war {reply}, und sie ist nicht pariert.",
    ),
    "Overlooks.why": (
        "{other} drohte {reply}, und das {why}.",
        "Das übersieht {reply}, und das {why}.",
        "Die Drohung war {reply}: Das {why}.",
    ),
    "AllowsMate": (
        "Das erlaubt Matt in {moves}, beginnend mit {reply}.",
        "{reply} beginnt ein Matt in {moves}.",
        "{other} setzt nun in {moves} Zügen matt, zuerst mit {reply}.",
    ),
    "AllowsMate.1": (
        "Das erlaubt {reply}.",
        "Jetzt ist {reply} möglich.",
        "Das läuft in {reply} hinein.",
    ),
    "LosesEnding": ("Das Bauernendspiel ist verloren: {line}.",),
    "LosesEnding.worse": ("Das Bauernendspiel ist schlechter: {line}.",),
    "WalksInto": ("{side} tappt in die Falle „{trap}“.",),
    "WalksInto.line": ("{side} tappt in die Falle „{trap}“: {line}.",),
    "WalksInto.wins": ("{side} tappt in die Falle „{trap}“: {line} gewinnt {won:den}.",),
    "WalksInto.for": (
        "{side} tappt in die Falle „{trap}“: {line} gewinnt {won:den} für {lost:den}.",
    ),
    "EarlyQueen": (
        "Die Dame kommt früh heraus, vor den Springern und Läufern.",
        "Das bringt die Dame vor den Springern und Läufern ins Spiel.",
    ),
    "GoesBack": ("{piece:der} steht wieder am alten Platz: Das kostet zwei Züge.",),
    "GoesBack.line": (
        "Nach {line} steht {piece:der} wieder am alten Platz: Das kostet zwei Züge.",
    ),
    "Stalemates": ("Der Vorteil ist dahin.",),
    "WrongBishop": (
        "Das lässt einen Läufer der falschen Farbe: Der {other:weiße} König hält die Ecke.",
    ),
    "CastlesInto": (
        "Das rochiert in einen Angriff hinein: {pieces} Figuren zielen auf Felder um den König.",
    ),
    "Allows": ("{other} antwortet {line}.", "Die Antwort ist {line}.", "Das Problem ist {line}."),
    "Allows.worth": (
        "Nach {line} ist die Bewertung {has}.",
        "{line} führt zu einer Bewertung von {has}.",
        "Die Antwort ist {line}, mit einer Bewertung von {has}.",
    ),
    "Allows.why": (
        "Das erlaubt {reply}, und das {why}.",
        "{reply} {why}.",
        "Die Antwort ist {reply}, und das {why}.",
        "Das Problem ist {reply}: Das {why}.",
    ),
    "WinsBy": (
        "Die Pointe ist {line}, und das {why}.",
        "Die Pointe ist {line}: Der letzte Zug {why}.",
    ),
    "Allows.later": (
        "Das Problem ist {line}, und das {why}.",
        "{other} antwortet {line}, und das {why}.",
        "Das Problem ist {line}: Der letzte Zug {why}.",
    ),
    "Better": (
        "Besser war {step}.",
        "{step} war besser.",
        "Richtig war {step}.",
        "{mover} hätte {step} spielen sollen.",
    ),
    "Better.chance": (
        "{mover} verpasste {step}.",
        "{step} war möglich.",
        "{mover} hätte {step} spielen können.",
    ),
    "Better.chance.why": (
        "{mover} verpasste {step}: Das {why}.",
        "{mover} hätte {step} spielen können: Das {why}.",
        "{step} war möglich und {why}.",
    ),
    "Better.later": (
        "Besser war {line}, denn das {why}.",
        "Besser war {line}: Der letzte Zug {why}.",
        "{mover} hätte {line} spielen sollen, denn das {why}.",
    ),
    "Better.worth": (
        "Besser war {step} ({had} statt {has}).",
        "{step} war besser: {had} statt {has}.",
        "Mit {step} wäre die Bewertung {had}, nicht {has}.",
    ),
    "Better.why": (
        "Besser war {step}, denn das {why}.",
        "Richtig war {step}, denn das {why}.",
        "Besser war {step}: Das {why}.",
        "{mover} hatte {step}: Das {why}.",
    ),
    "MissesMate": (
        "{step} hätte in {moves} mattgesetzt.",
        "Mit {step} gab es ein Matt in {moves}.",
        "{mover} verpasst Matt in {moves}: {step}.",
    ),
    "MissesMate.1": ("{step} wäre matt gewesen.", "{mover} verpasst das Matt durch {step}."),
}

# How a mistake changes the game, from one standing of the mover to another.
TURNS: dict[str, tuple[str, ...]] = {
    "2.1": ("Der Gewinn ist nicht mehr so klar.", "Das erschwert den Gewinn."),
    "2.0": (
        "Der Gewinn ist dahin.",
        "Die Gewinnstellung ist jetzt ausgeglichen.",
        "{mover} steht nicht mehr auf Gewinn.",
    ),
    "2.-1": (
        "Der Gewinn ist dahin, und {other} steht jetzt besser.",
        "Aus der Gewinnstellung ist die schlechtere geworden.",
    ),
    "2.-2": (
        "Die Gewinnstellung ist jetzt verloren.",
        "Auf Gewinn steht jetzt {other}, nicht {mover}.",
    ),
    "1.0": (
        "Der Vorteil ist dahin.",
        "Die Partie ist jetzt ausgeglichen.",
        "{mover} steht nicht mehr besser.",
    ),
    "1.-1": ("Jetzt steht {other} besser.", "Der Vorteil liegt jetzt bei {other}."),
    "1.-2": (
        "{mover} stand besser und steht jetzt auf Verlust.",
        "Aus dem Vorteil ist eine Verluststellung geworden.",
    ),
    "0.-1": (
        "{other} steht jetzt besser.",
        "{mover} steht jetzt schlechter.",
        "Der Vorteil liegt bei {other}.",
    ),
    "0.-2": (
        "{mover} steht jetzt auf Verlust.",
        "{other} steht jetzt auf Gewinn.",
        "Aus dem Gleichgewicht ist eine Verluststellung geworden.",
    ),
    "-1.-2": (
        "Aus der schwierigen Stellung ist eine verlorene geworden.",
        "{mover} steht jetzt auf Verlust.",
    ),
}
