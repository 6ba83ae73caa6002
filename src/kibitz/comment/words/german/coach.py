"""The coach in German: motifs by Lichess's names, each as a word and as a hint, and sentences."""

from __future__ import annotations

MOTIFS: dict[str, tuple[str, str]] = {
    "mate": ("Matt", "Es gibt ein erzwungenes Matt."),
    "fork": ("Gabel", "Ein Zug greift zweierlei zugleich an."),
    "pin": ("Fesselung", "Eine Figur ist gefesselt."),
    "discoveredAttack": ("Abzugsangriff", "Eine Figur kann aus der Linie einer anderen treten."),
    "doubleCheck": ("Doppelschach", "Zweimal Schach zugleich."),
    "promotion": ("Umwandlung", "Ein Bauer kann sich umwandeln."),
    "skewer": ("Spieß", "Zwei Figuren stehen hintereinander."),
    "deflection": ("Ablenkung", "Eine Deckung lässt sich weglocken."),
    "attraction": ("Hinlenkung", "Eine Figur lässt sich auf ein schlechtes Feld locken."),
    "capturingDefender": ("Beseitigung der Deckung", "Eine Deckung lässt sich schlagen."),
    "interference": ("Verstellung", "Eine Linie der Verteidigung lässt sich unterbrechen."),
    "intermezzo": ("Zwischenzug", "Etwas anderes kommt zuerst."),
    "xRayAttack": ("Röntgenangriff", "Sieh durch eine Figur hindurch."),
    "clearance": ("Räumung", "Ein Feld oder eine Linie muss geräumt werden."),
    "trappedPiece": ("gefangene Figur", "Eine Figur hat kein Feld mehr."),
    "hangingPiece": ("hängende Figur", "Etwas steht ungedeckt."),
    "sacrifice": ("Opfer", "Etwas muss geopfert werden."),
    "enPassant": ("en passant", "Ein Bauer kann im Vorübergehen geschlagen werden."),
}
COACH: dict[str, str] = {
    "defend": "Sieh nach, was der Gegner vorhat.",
    "piece": "{piece:Einen} solltest du ziehen.",
    "square": "Es ist {piece:der} auf {square}.",
    "right": "{move} ist richtig.",
    "wrong": "{move} ist nicht gut genug.",
    "best": "Am besten ist {line} ({score}).",
    "mate": "erzwungenes Matt",
    "mate1": "Matt in 1",
    "line": "Erwartet wird {line}.",
    "others": "Auch gut: {moves}.",
    "own": "Du hast {move} gespielt.",
    "opponent": "Dein Gegner hat {move} gespielt.",
}
