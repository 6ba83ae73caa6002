"""Every word of a game's story in German; its keys are explained in `words/story.py`."""

from __future__ import annotations

STORY: dict[str, tuple[str, ...]] = {
    "opening": ("Die Eröffnung: {name} ({eco}).", "Gespielt wurde: {name} ({eco})."),
    "calm": (
        "Bis zum {number}. Zug stand keine Seite besser.",
        "{before} Züge lang war die Partie ausgeglichen.",
        "{before} Züge lang trennte die beiden wenig.",
    ),
    "calm.edge": ("Bis zum {number}. Zug stand keine Seite klar besser.",),
    "outplayed": (
        "Alles in allem überspielte {side} {where} {other}.",
        "{where} fand {side} Zug um Zug die besseren Züge.",
        "Zug um Zug gewann {side} {where} die Oberhand über {other}.",
    ),
    # of the turning points, by the standing of the mover before and after: see judge.standing
    "2.1": (
        "{move}{why} erschwerte den Gewinn.",
        "Nach {move}{why} war der Gewinn fraglich.",
    ),
    "2.0": (
        "Mit {move}{why} ließ {mover} den Gewinn aus.",
        "{move}{why} warf den Gewinn weg.",
        "Nach {move}{why} war der Gewinn dahin.",
    ),
    "2.-1": (
        "{mover} stand auf Gewinn, aber {move}{why} drehte die Partie.",
        "{move}{why} machte aus dem Gewinn die schlechtere Stellung.",
    ),
    "2.-2": (
        "{mover} stand auf Gewinn, aber {move}{why} drehte die Partie.",
        "{move}{why} machte aus dem Gewinn eine Verluststellung.",
    ),
    "1.0": (
        "Nach {move}{why} war der {mover:weiße} Vorteil dahin.",
        "{move}{why} gab den {mover:weißen} Vorteil zurück.",
        "{mover} stand besser, doch {move}{why} glich alles aus.",
    ),
    "1.-1": ("{move}{why} machte für {mover} aus der besseren Stellung die schlechtere.",),
    "1.-2": (
        "{move}{why} machte für {mover} aus der besseren Stellung eine verlorene.",
        "{mover} stand besser, aber {move}{why} überließ {side} die Partie.",
    ),
    "0.-1": (
        "{move}{why} gab {side} die bessere Stellung.",
        "{mover} irrte mit {move}{why}, und {side} stand besser.",
        "Nach {move}{why} bekam {side} die Oberhand.",
    ),
    "0.-2": (
        "{move}{why} kostete {mover} die ausgeglichene Stellung.",
        "In ausgeglichener Stellung griff {mover} mit {move}{why} fehl.",
        "{mover} verlor mit {move}{why} das Gleichgewicht.",
    ),
    "-1.-2": (
        "{move}{why} machte aus einer schwierigen Stellung eine verlorene.",
        "{mover} stand schon schlechter, als {move}{why} die Partie verlor.",
    ),
    "rises": ("{mover} fand {move}, und die Partie drehte sich.", "{move} veränderte die Partie."),
    "swing": (
        "{move}{why} änderte die Bewertung von {from} auf {to}.",
        "Mit {move}{why} ging die Bewertung von {from} auf {to}.",
    ),
    "jumps": ("Wendepunkte waren {jumps}.",),
    "jump": ("{move} (von {from} auf {to})",),
    "decided": ("Der entscheidende Fehler war {move}{why}.", "{move}{why} entschied die Partie."),
    "right": ("{step} hätte {kept}.", "Möglich war {step}: Das hätte {kept}."),
    "kept.mate": ("das Matt erzwungen",),
    "kept.2": ("den Gewinn festgehalten",),
    "kept.1": ("den Vorteil bewahrt",),
    "kept.0": ("das Gleichgewicht gehalten",),
    "kept.-1": ("{mover} im Spiel gehalten",),
    "edge": (
        "Ab {move} stand {side} besser.",
        "Nach {move} stand {side} bis zum Schluss besser.",
    ),
    "edge.bad": ("{move}{why} gab {side} den bleibenden Vorteil.",),
    "swings": ("Der Vorteil wechselte {count}-mal die Seite.",),
    "worst": (
        "Nichts kostete {mover} mehr als {move}{why}.",
        "Der schwerste {mover:weiße} Fehler war {move}{why}.",
    ),
    "mated": (", was ein Matt zuließ,",),
    "lost": (", was {won:den} kostete,",),
    "missed": (", was ein Matt ausließ,",),
    "missed.gain": (", statt {won:den} zu gewinnen,",),
    "opening phase": ("in der Eröffnung",),
    "middlegame phase": ("im Mittelspiel",),
    "endgame phase": ("im Endspiel",),
    "regained": ("In den folgenden Zügen übernahm {winner} das Kommando.",),
    "regained.slowly": (
        "In den folgenden Zügen übernahm {winner} das Kommando.",
        "Danach glitt die Partie in kleinen Schritten zu {winner}.",
    ),
    "gradual": (
        "Kein einzelner Zug entschied die Partie: Nach und nach gewann {winner} die Oberhand.",
        "Es gab nicht den einen Fehler: {winner} machte mehr aus Kleinigkeiten.",
    ),
    "still": (
        "Keine Seite machte einen Fehler, der am Stand der Partie etwas änderte.",
        "Das Gleichgewicht verschob sich nie weit.",
    ),
    "mate": ("{winner} setzte im {number}. Zug matt.",),
    "mate.other": (
        "{winner} setzte im {number}. Zug matt, obwohl die Partie als {result} angegeben ist.",
    ),
    "stalemate.other": (
        "Ein Patt beendete sie im {number}. Zug, obwohl die Partie als {result} angegeben ist.",
    ),
    "time": ("{loser} verlor im {number}. Zug durch Zeitüberschreitung.",),
    "time.won": (
        "{loser} verlor im {number}. Zug durch Zeitüberschreitung, in einer Gewinnstellung.",
    ),
    "won.level": (
        "{winner} gewann im {number}. Zug, aus einer Stellung, die ausgeglichen aussieht.",
        "{winner} bekam im {number}. Zug den Punkt, bei noch ausgeglichener Partie.",
    ),
    "won.odd": (
        "{winner} gewann im {number}. Zug, obwohl {loser} in der letzten Stellung besser stand.",
    ),
    "won.behind": ("{winner} gewann im {number}. Zug, aus einer etwas schlechteren Stellung.",),
    "won": ("{winner} gewann im {number}. Zug{up}.",),
    "resigned": ("{loser} gab im {number}. Zug auf{down}.",),
    "resigned.odd": ("{loser} gab im {number}. Zug in der besseren Stellung auf.",),
    "resigned.behind": ("{loser} gab im {number}. Zug auf, in einer etwas besseren Stellung.",),
    "resigned.level": (
        "{loser} gab im {number}. Zug auf, in einer Stellung, die ausgeglichen aussieht.",
    ),
    "up": (", mit {material:dem} mehr",),
    "down": (", mit {material:dem} weniger",),
    "drawn": (
        "Im {number}. Zug endete die Partie remis.",
        "Remis war das Ergebnis im {number}. Zug.",
    ),
    "drawn.repetition": ("Im {number}. Zug endete sie durch Zugwiederholung remis.",),
    "drawn.check": ("Dauerschach {winner:des} machte die Partie im {number}. Zug remis.",),
    "drawn.stalemate": ("Ein Patt im {number}. Zug machte die Partie remis.",),
    "drawn.material": (
        "Im {number}. Zug wurde die Partie remis, mit zu wenig Material zum Mattsetzen.",
    ),
    "drawn.fifty": ("Die 50-Züge-Regel beendete die Partie im {number}. Zug mit Remis.",),
    "drawn.won": ("Im {number}. Zug endete die Partie remis, obwohl {winner} auf Gewinn stand.",),
    "open": ("Die Aufzeichnung endet mit dem {number}. Zug.",),
    "accuracy": ("Genauigkeit: Weiß {white} %, Schwarz {black} %.",),
    "counts": ("{side}: {counts}.",),
    "habit": ("{count} von {total} schlechten Zügen von {side} {habit}.",),
    "habit.hangs": ("stellten etwas ein; also vor dem Ziehen prüfen, was ungedeckt ist",),
    "habit.threats": (
        "parierten eine Drohung nicht; also fragen, was der letzte Zug des Gegners will",
    ),
    "habit.mated": ("erlaubten ein Matt; also zuerst die Schachs gegen den König ansehen",),
    "habit.mates": ("verpassten ein Matt; also jedes Schach ansehen",),
    "habit.gains": ("ließen Material liegen; also auf Schach, Schlagen und Angriff achten",),
}
LABELS = {
    2: ("Fehler", "Fehler"),
    4: ("grober Fehler", "grobe Fehler"),
    6: ("Ungenauigkeit", "Ungenauigkeiten"),
}
