"""What is said of a move in German, in simpler words: for the beginner's level."""

from __future__ import annotations

BEGINNER: dict[str, tuple[str, ...]] = {
    "Fork": ("greift {targets:den} gleichzeitig an: eine Gabel", "gabelt {targets:den}"),
    "Pins": (
        "fesselt {piece:den}: Zieht {piece:er} weg, kann dahinter {to:der} geschlagen werden",
        "fesselt {piece:den} an {to:den}",
    ),
    "Pins.king": (
        "fesselt {piece:den}: {piece:Er} darf nicht ziehen, sonst stünde der König im Schach",
        "fesselt {piece:den} an {to:den}",
    ),
    "Skewers": ("spießt {front:den} auf: Weicht {front:er} aus, fällt dahinter {behind:der}",),
    "guards": (
        "deckt {piece:den}, {piece:welchen} {by:der} angreift",
        "schützt {piece:den} vor {by:dem}",
        "verteidigt {piece:den} gegen den Angriff {by:des}",
    ),
    "Wins.exchange": ("gewinnt einen Turm für eine Leichtfigur",),
    "Nets.exchange": ("gewinnt am Ende einen Turm für eine Leichtfigur",),
    "ComesOut.exchange.line": ("gewinnt einen Turm für eine Leichtfigur: {line}",),
    "Discovers": ("gibt {by:dem} den Weg frei, {by:welcher} nun {target:den} angreift",),
    "Discovers.check": ("gibt Abzugsschach mit {by:dem}, {by:welchem} nun nichts im Weg steht",),
    "Deflects.square": ("lenkt {guard:den} vom Feld {square} ab, das {guard:er} decken muss",),
    "Deflects": ("lenkt {guard:den} {target:vom} ab, {target:welchen} {guard:er} decken muss",),
    "PassedPawn": (
        "verschafft {mover} einen Freibauern auf {square}: Kein Bauer kann ihn mehr aufhalten",
        "schafft einen Freibauern auf {square}, den kein Bauer mehr aufhalten kann",
    ),
    "IsolatedPawn": (
        "hinterlässt {side} einen isolierten Bauern auf {square}: Kein Nachbar kann ihn je decken",
    ),
    "DoubledPawns": (
        "verdoppelt die {side:weißen} Bauern auf der {file}-Linie, wo keiner den anderen deckt",
    ),
    "TakesFile": ("besetzt die offene {file}-Linie, auf der kein Bauer steht",),
    "TakesFile.half": (
        "besetzt die halboffene {file}-Linie, auf der kein {mover:weißer} Bauer steht",
    ),
    "Outpost": (
        "besetzt {square}, einen Vorposten für {kind:den}: Kein Bauer kann {kind:ihn} je "
        "vertreiben",
        "verschafft {kind:dem} einen Vorposten auf {square}: Kein Bauer kann {kind:ihn} je "
        "vertreiben",
    ),
    "connected_rooks": ("verbindet die Türme: Zwischen ihnen steht nichts mehr",),
    "escape_square": ("schafft dem König ein Luftloch auf {square}, gegen Grundreihenmatts",),
    "opposition": (
        "nimmt die Opposition ein: Die Könige stehen sich gegenüber, und {other} muss ziehen",
    ),
    "fianchetto": ("stellt den Läufer auf die lange Diagonale, die von Ecke zu Ecke reicht",),
}
