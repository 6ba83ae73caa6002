"""What is said of a move in German.

Texts of claims are predicates whose first word is the verb: "gabelt {targets:den}" follows "Das",
"23.Sf3+" or "denn das". `grammar.py` says which forms stand behind the colons.
"""

from __future__ import annotations

PREDICATES: dict[str, tuple[str, ...]] = {
    "Fork": (
        "gabelt {targets:den}",
        "ist eine {by:stem}gabel gegen {targets:den}",
        "greift {targets:den} zugleich an",
    ),
    "Fork.many": (
        "gabelt {targets:den}",
        "ist eine {by:stem}gabel gegen {targets:den}",
        "greift {targets:den} auf einmal an",
    ),
    "Pins": (
        "fesselt {piece:den} an {to:den}",
        "fesselt {piece:den}, hinter {piece:welchem} {to:der} steht",
    ),
    "UsesPin": (
        "braucht {piece:den} nicht zu fürchten, {piece:welcher} an {to:den} gefesselt ist",
        "nutzt aus, dass {piece:der} an {to:den} gefesselt ist",
    ),
    "UsesPin.hit": ("greift {piece:den} an, {piece:welcher} an {to:den} gefesselt ist",),
    "Skewers": (
        "ist ein Spieß gegen {front:den} und {behind:den}",
        "spießt {front:den} auf, dahinter steht {behind:der}",
    ),
    "Discovers": (
        "ist ein Abzugsangriff {by:des} auf {target:den}",
        "öffnet die Linie {by:des} gegen {target:den}",
        "gibt {by:dem} den Weg zum Angriff auf {target:den} frei",
    ),
    "Discovers.check": ("gibt Abzugsschach mit {by:dem}", "ist ein Abzugsschach durch {by:den}"),
    "DoubleCheck": ("gibt Doppelschach, sodass der König ziehen muss", "ist ein Doppelschach"),
    "Deflects": (
        "lenkt {guard:den} {target:vom} ab",
        "lenkt {guard:den} von der Deckung {target:des} ab",
    ),
    "Deflects.square": ("lenkt {guard:den} von {square} ab", "lockt {guard:den} von {square} weg"),
    "Deflects.overloaded": (
        "zeigt, dass {guard:der} überlastet ist: {guard:Er} muss auch {target:den} decken",
        "überlastet {guard:den}, {guard:welcher} auch {target:den} decken muss",
    ),
    "Attracts": (
        "lockt {piece:den} für {then} nach {square}",
        "lenkt {piece:den} für {then} nach {square}",
    ),
    "RemovesGuard": (
        "beseitigt {guard:den}, die einzige Deckung {target:des}",
        "schlägt {guard:den}, {guard:welcher} {target:den} deckte",
    ),
    "Interferes": ("schneidet {slider:den} {target:vom} ab",),
    "Intermezzo": (
        "ist ein Zwischenzug: Das Zurückschlagen auf {square} kann warten",
        "schiebt vor dem Zurückschlagen auf {square} einen Zwischenzug ein",
    ),
    "Clears": ("macht {piece:dem} den Weg frei", "räumt {square} für {piece:den}"),
    "Traps": ("fängt {piece:den}", "lässt {piece:dem} kein sicheres Feld"),
    "Promotes": ("wandelt den Bauern um", "bringt den Bauern auf die letzte Reihe"),
    "TakesLoose": (
        "schlägt {piece:den}, {piece:welchen} nichts deckte",
        "schlägt {piece:den}, {piece:welcher} ungedeckt war",
    ),
    "TakesLoose.dear": ("schlägt {piece:den}",),
    "GivesUp": ("opfert {gift:den}", "gibt {gift:den} her"),
    "GivesUp.mate": ("opfert {piece:den} und erzwingt Matt in {moves} weiteren Zügen",),
    "GivesUp.mate1": (
        "opfert {piece:den} für Matt im nächsten Zug",
        "gibt {piece:den} her und setzt im nächsten Zug matt",
    ),
    "GivesUp.mate1.line": ("opfert {piece:den} für {line}", "gibt {piece:den} her für {line}"),
    "GivesUp.mate1.smothered": ("opfert {piece:den} und setzt erstickt matt: {line}",),
    "GivesUp.mate1.back rank": ("opfert {piece:den} für Matt auf der Grundreihe: {line}",),
    "GivesUp.mate1.double check": ("opfert {piece:den} für Matt durch Doppelschach: {line}",),
    "GivesUp.interest": (
        "opfert {gift:den} und gewinnt bei bestem Spiel mit {later} mehr zurück",
        "gibt {gift:den} vorübergehend her: Bei bestem Spiel holt {later} mehr zurück",
    ),
    "GivesUp.interest.line": ("opfert {gift:den} und holt mehr zurück, zum Beispiel: {line}",),
    "GivesUp.back.line": ("opfert {gift:den} und gewinnt alles zurück, zum Beispiel: {line}",),
    "GivesUp.back": (
        "opfert {gift:den} auf Zeit: Bei bestem Spiel holt {later} das Material zurück",
        "gibt {gift:den} her und hat bei bestem Spiel mit {later} alles wieder",
    ),
    "GivesUp.offer": (
        "bietet {gift:den} an, doch {other} sollte das besser nicht annehmen",
        "bietet {gift:den} an, was man besser ablehnt",
    ),
    "GivesUp.mated": ("bietet {piece:den} an: Die Annahme erlaubt Matt in {moves}",),
    "GivesUp.mated.line": ("bietet {piece:den} an: Die Annahme erlaubt {later}, matt in {moves}",),
    "GivesUp.mated1": ("bietet {piece:den} an: Die Annahme erlaubt {later}",),
    "GivesUp.offered": ("bietet {gift:den} an, was {later} bei Annahme zurückgewinnt",),
    "GivesUp.checks": ("bietet {gift:den} an und gewinnt alles mit Schachgeboten zurück",),
    "GivesUp.checks.line": (
        "bietet {gift:den} an und gewinnt alles mit Schachgeboten zurück: {line}",
    ),
    "GivesUp.castling": (
        "opfert {gift:den}, um den {other:weißen} König an der Rochade zu hindern",
    ),
    "GivesUp.king": ("opfert {gift:den}, um den König nach {square} zu treiben",),
    "GivesUp.winning": ("opfert {gift:den}, und {mover} steht trotzdem auf Gewinn",),
    "GivesUp.better": ("opfert {gift:den}, und {mover} steht trotzdem besser",),
    "GivesUp.winning.line": ("opfert {gift:den}, und {mover} steht trotzdem auf Gewinn: {line}",),
    "GivesUp.better.line": ("opfert {gift:den}, und {mover} steht trotzdem besser: {line}",),
    "GivesUp.level.line": ("opfert {gift:den} für ausreichende Kompensation: {line}",),
    "GivesUp.level": ("opfert {gift:den} für ausreichende Kompensation",),
    "Mates": ("setzt matt", "ist matt", "ist Schachmatt"),
    "Mates.guarded": (
        "setzt matt: {guard:Der} deckt {piece:den}",
        "ist matt, denn {guard:der} deckt {piece:den}",
    ),
    "Mates.double check": ("ist matt durch Doppelschach: Kein Zug pariert beide Schachs",),
    "Mates.back rank": (
        "ist ein Grundreihenmatt: Die eigenen Steine versperren dem König den Weg",
    ),
    "Mates.smothered": ("ist ein ersticktes Matt: Die eigenen Steine mauern den König ein",),
    "MateIn": (
        "erzwingt Matt in {moves} weiteren Zügen",
        "führt zwingend zum Matt in {moves} weiteren Zügen",
    ),
    "MateIn.1": (
        "erzwingt Matt im nächsten Zug",
        "lässt keine Verteidigung gegen das Matt im nächsten Zug",
    ),
    "Wins": ("gewinnt {won:den}", "gewinnt zwangsläufig {won:den}", "erobert {won:den}"),
    "Wins.for": ("gewinnt {won:den} für {lost:den}", "erobert {won:den} für {lost:den}"),
    "Wins.exchange": ("gewinnt die Qualität", "gewinnt einen Turm für eine Leichtfigur"),
    "Wins.some": ("gewinnt Material", "gewinnt zwangsläufig Material"),
    "Nets": ("gewinnt am Ende {won:den}", "gewinnt bald {won:den}", "bringt am Ende {won:den} ein"),
    "Nets.for": (
        "gewinnt am Ende {won:den} für {lost:den}",
        "erobert bald {won:den} für {lost:den}",
    ),
    "Nets.exchange": ("gewinnt am Ende die Qualität", "gewinnt bald die Qualität"),
    "AvoidsLoss": ("vermeidet den Verlust", "verliert nichts", "hält das Material zusammen"),
    "Verdict.1": (
        "ist laut Endspieltabelle gewonnen",
        "erreicht eine laut Endspieltabelle gewonnene Stellung",
    ),
    "Verdict.0": (
        "ist laut Endspieltabelle remis",
        "erreicht laut Endspieltabelle eine Remisstellung",
    ),
    "Verdict.-1": (
        "ist laut Endspieltabelle verloren",
        "führt in eine laut Endspieltabelle verlorene Stellung",
    ),
    "Threatens": (
        "droht {step}",
        "droht, {target:den} mit {step} zu schlagen",
        "enthält die Drohung {step}",
        "stellt die Drohung {step} auf",
    ),
    "Threatens.loose": (
        "droht {step}: {target:Der} ist ungedeckt",
        "droht {step}, da {target:der} ungedeckt ist",
        "stellt die Drohung {step} auf, denn {target:den} deckt nichts",
        "macht {step} zur Drohung, weil {target:der} ungedeckt ist",
        "enthält die Drohung {step}: {target:Den} deckt nichts",
    ),
    "Threatens.hits": ("greift {target:den} an",),
    "Threatens.more": (
        "droht {step}: {target:Der} ist mehr wert als {taker:der}",
        "droht {step}, da {target:der} mehr wert ist als {taker:der}",
        "macht {step} zur Drohung: {target:Der} ist mehr wert als {taker:der}",
    ),
    "Threatens.mate": ("droht Matt durch {step}", "droht {step}"),
    "ThreatensMate": ("droht Matt in {moves}",),
    "Parries": (
        "rettet {target:den} vor {step}",
        "pariert die Drohung gegen {target:den}",
    ),
    "Parries.mate": ("verhindert {step}", "pariert die Drohung {step}", "deckt das Matt auf {at}"),
    "OnlyMove": (
        "ist hier der einzige gute Zug",
        "ist der einzige Zug: Alles andere ist viel schlechter",
        "muss gespielt werden: Alles andere ist viel schlechter",
    ),
    "OnlyGood.2": (
        "ist der einzige Zug, der den Gewinn festhält",
        "hält als einziger Zug den Gewinn fest",
    ),
    "OnlyGood.1": (
        "ist der einzige Zug, der den Vorteil bewahrt",
        "bewahrt als einziger Zug den Vorteil",
    ),
    "OnlyGood.0": (
        "ist der einzige Zug, der das Gleichgewicht hält",
        "hält als einziger Zug das Gleichgewicht",
    ),
    "OnlyGood": ("ist der einzige Zug, der kein Fehler ist",),
    "OnlyMove.hard": (
        "ist der einzige gute Zug, und er ist schwer zu finden",
        "ist hier der einzige gute Zug und alles andere als naheliegend",
    ),
    # structure
    "PassedPawn": (
        "verschafft {mover} einen Freibauern auf {square}",
        "schafft einen Freibauern auf {square}",
    ),
    "PassedPawnAdvances": (
        "bringt den Freibauern nach {square}",
        "schiebt den Freibauern nach {square} vor",
        "lässt den Freibauern nach {square} laufen",
    ),
    "IsolatedPawn": (
        "hinterlässt {side} einen isolierten Bauern auf {square}",
        "vereinzelt den {side:weißen} Bauern auf {square}",
    ),
    "DoubledPawns": (
        "beschert {side} einen Doppelbauern auf der {file}-Linie",
        "verdoppelt die {side:weißen} Bauern auf der {file}-Linie",
    ),
    "TakesFile": ("besetzt die offene {file}-Linie", "stellt den Turm auf die offene {file}-Linie"),
    "TakesFile.half": (
        "besetzt die halboffene {file}-Linie",
        "stellt den Turm auf die halboffene {file}-Linie",
    ),
    "Seventh": ("bringt den Turm auf die siebte Reihe", "stellt den Turm auf die siebte Reihe"),
    "Seventh.black": ("bringt den Turm auf die zweite Reihe", "stellt den Turm auf die 2. Reihe"),
    "TakesSquare": ("nimmt {piece:dem} das Feld {square}",),
    "Outpost": (
        "besetzt {square}, einen Vorposten für {kind:den}",
        "verschafft {kind:dem} einen Vorposten auf {square}",
        "stellt {kind:den} auf den Vorposten {square}",
    ),
    "BishopPair": (
        "lässt nur {side} das Läuferpaar",
        "lässt {side} als einziger Seite das Läuferpaar",
    ),
    "LosesCastling": ("gibt das Rochaderecht auf", "kostet {mover} das Rochaderecht"),
    "OppositeCastling": (
        "bringt die Könige auf verschiedene Flügel",
        "lässt die Könige auf verschiedenen Flügeln stehen",
    ),
    "QueensLeave": ("tauscht die Damen", "führt zu einem Spiel ohne Damen"),
    "shuts_off": ("schneidet {piece:den} von {square} ab, wo sich der Bauer umwandeln wird",),
    "PawnEnding.drawn": ("führt in ein Bauernendspiel, das remis ist",),
    "PawnEnding": ("führt ins Bauernendspiel", "lässt nur Könige und Bauern auf dem Brett"),
    "Triangle": (
        "beginnt ein Dreieck, das ein Tempo verliert: {line} führt zurück, mit {other} am Zug",
    ),
    "NearsBoth": ("nähert sich zugleich {target:dem} und {to:dem}",),
    "OppositeBishops": ("führt zu ungleichfarbigen Läufern", "lässt ungleichfarbige Läufer übrig"),
    "OpensKing": ("entfernt den {file}-Bauern vom {side:weißen} König",),
    "OpensKing.taken": (
        "schlägt den {file}-Bauern vor dem {side:weißen} König",
        "nimmt dem {side:weißen} König den {file}-Bauern",
    ),
    # plain features
    "battery": (
        "richtet {pieces:den} gegen {square} neben dem {other:weißen} König",
        "bildet mit {pieces:dem} eine Batterie gegen {square} neben dem König",
    ),
    "doubled_rooks": (
        "verdoppelt die Türme auf der {file}-Linie",
        "stellt beide Türme auf die {file}-Linie",
    ),
    "connected_rooks": ("verbindet die Türme", "verbindet die Türme auf der Grundreihe"),
    "development": (
        "bringt {side} in Entwicklungsvorsprung, mit {count0} entwickelten Leichtfiguren "
        "gegen {count1}",
        "verschafft {side} Entwicklungsvorsprung, mit {count0} entwickelten Leichtfiguren "
        "gegen {count1}",
    ),
    "last_minor": (
        "entwickelt die letzte {side:weiße} Leichtfigur",
        "schließt die Entwicklung der {side:weißen} Leichtfiguren ab",
    ),
    "bars_castling": ("greift {square} an, sodass der König nicht darüber rochieren kann",),
    "blockade": (
        "blockiert den Freibauern auf {at}",
        "stellt sich dem Freibauern auf {at} in den Weg",
        "hält den Freibauern auf {at} auf",
    ),
    "blocks_isolated": (
        "blockiert den isolierten Bauern auf {at}",
        "stellt sich dem isolierten Bauern auf {at} in den Weg",
    ),
    "behind_passed": (
        "stellt den Turm hinter den Freibauern auf {at}",
        "bringt den Turm hinter den Freibauern auf {at}",
    ),
    "chases": (
        "greift {piece:den} mit Tempo an",
        "vertreibt {piece:den}",
        "gewinnt Zeit durch den Angriff auf {piece:den}",
    ),
    "trades_ahead": (
        "tauscht {kinds} ab, was {mover} mit mehr Material entgegenkommt",
        "tauscht {kinds} ab, während {mover} mehr Material hat",
    ),
    "strikes": (
        "attackiert {piece:den}",
        "stellt {piece:den} infrage",
        "setzt {piece:beim} den Hebel an",
    ),
    "connected_passed": (
        "verschafft {side} verbundene Freibauern auf {squares}",
        "gibt {side} verbundene Freibauern auf {squares}",
    ),
    "backward": (
        "hinterlässt {side} einen rückständigen Bauern auf {at}",
        "macht den {side:weißen} Bauern auf {at} rückständig",
    ),
    "hanging_pawns": ("hinterlässt {side} hängende Bauern auf {squares}",),
    "bad_bishop": (
        "sperrt {piece:den} ein, denn {count0} eigene Bauern stehen auf seiner Farbe fest",
        "macht {piece:den} schlecht, denn auf seiner Farbe stehen {count0} eigene Bauern fest",
    ),
    "opens_file": ("öffnet die {file}-Linie", "räumt die {file}-Linie von Bauern"),
    "escape_square": (
        "schafft dem König ein Luftloch auf {square}",
        "gibt dem König auf {square} Luft",
    ),
    "king_to_centre": (
        "führt den König zum Zentrum",
        "aktiviert den König",
        "bringt den König näher an die Mitte",
    ),
    "escorts": (
        "führt den König zum Freibauern auf {at}, um ihm zu helfen",
        "kommt dem Freibauern auf {at} mit dem König zu Hilfe",
    ),
    "opposition": ("nimmt die Opposition ein", "gewinnt die Opposition"),
    "heads_for": (
        "strebt zum Vorposten {square}",
        "bringt den Vorposten {square} in die Reichweite des Springers",
    ),
    "backs_up": ("bereitet den Vorstoß {step} vor", "unterstützt den Vorstoß {step}"),
    "makes_way": ("macht {piece:dem} Platz", "öffnet {piece:dem} den Weg"),
    "repeats": ("wiederholt die Stellung", "führt dieselbe Stellung zum zweiten Mal herbei"),
    "fifty_moves": ("macht {count0} Züge ohne Schlag- und Bauernzug voll",),
    "reaches_ending.44": ("führt ins Turmendspiel", "lässt ein Turmendspiel übrig"),
    "reaches_ending.22": ("führt ins Springerendspiel",),
    "reaches_ending.33": ("führt ins Endspiel gleichfarbiger Läufer",),
    "reaches_ending.23": ("führt {mover} in ein Endspiel mit Springer gegen Läufer",),
    "reaches_ending.32": ("führt {mover} in ein Endspiel mit Läufer gegen Springer",),
    "imbalance": ("gibt {side} {has:den} gegen {against:den}",),
    "attacks_two": ("greift {piece:den} und {by:den} zugleich an",),
    "presses": ("greift {piece:den}, {piece:welcher} an {by:den} gefesselt ist, noch einmal an",),
    "outnumbers": ("greift {piece:den} an, {piece:welcher} nicht oft genug gedeckt ist",),
    "attacks_loose": (
        "greift {piece:den} an, {piece:welchen} nichts deckt",
        "nimmt {piece:den} aufs Korn, {piece:welcher} ungedeckt ist",
        "greift {piece:den} an, {piece:welcher} ungedeckt ist",
        "zielt auf {piece:den}, {piece:welchen} nichts deckt",
    ),
    "guards": (
        "deckt {piece:den}, {piece:welcher} angegriffen war",
        "gibt {piece:dem} die nötige Deckung",
        "schützt {piece:den}, {piece:welcher} angegriffen und ungedeckt war",
    ),
    "steps_away": (
        "bringt {own:den} vor {piece:dem} in Sicherheit",
        "zieht {own:den} aus der Reichweite {piece:des}",
        "entzieht {own:den} dem Angriff {piece:des}",
    ),
    "offers_trade": (
        "bietet {kinds:stem}tausch an",
        "schlägt den {kinds:stem}tausch vor",
        "lädt zum {kinds:stem}tausch ein",
    ),
    "centralises": ("zentralisiert den Springer", "stellt den Springer ins Zentrum"),
    "fianchetto": ("fianchettiert den Läufer", "stellt den Läufer auf die lange Diagonale"),
    "gains_space": (
        "gewinnt Raum mit dem Bauern auf {at}",
        "bringt Raumgewinn: Den Bauern auf {at} deckt ein Bauer und greift keiner an",
        "setzt raumgreifend einen Bauern auf {at} fest",
    ),
    "unpins": ("befreit {piece:den} aus der Fesselung", "hebt die Fesselung {piece:des} auf"),
    "closes_in": (
        "richtet nun {count0} Figuren auf Felder neben dem {other:weißen} König",
        "bringt eine weitere Figur gegen den {other:weißen} König, sodass nun {count0} auf Felder "
        "neben ihm zielen",
    ),
    # endings
    "stalemate_trick": ("bietet {piece:den} an: Das Schlagen wäre patt",),
    "underpromotes.0": ("verwandelt den Bauern in {own:einen}, da eine Dame patt setzen würde",),
    "underpromotes.1": (
        "verwandelt den Bauern in {own:einen}, {own:welcher} Schach gibt, anders als eine Dame",
    ),
    "underpromotes.2": (
        "verwandelt den Bauern in {own:einen}, da eine Dame nicht gewinnen würde: {step}",
    ),
    "underpromotes.3": (
        "verwandelt den Bauern in {own:einen}, {own:welcher} anders als eine Dame mattsetzt",
    ),
    "zugzwang": ("bringt {side} in Zugzwang: Jeder Zug verliert etwas",),
    "mutual_zugzwang.1": (
        "nimmt die Opposition, und es herrscht gegenseitiger Zugzwang: Wer zieht, verdirbt alles",
    ),
    "mutual_zugzwang.2": (
        "ist ein Reservezug des Bauern, der {other} in gegenseitigem Zugzwang ziehen lässt",
    ),
    "avoids_zugzwang": ("vermeidet {step} mit gegenseitigem Zugzwang und {mover} am Zug",),
    "mutual_zugzwang.0": (
        "führt zu gegenseitigem Zugzwang mit {other} am Zug: Wer ziehen muss, verdirbt die Partie",
    ),
    "triangulation": (
        "verliert mit einem Dreiecksmanöver ein Tempo: dieselbe Stellung, mit {other} am Zug",
    ),
    "outruns": ("lässt den {other:weißen} König außerhalb des Quadrats des Bauern auf {at}",),
    "enters_square": ("bringt den König gerade noch ins Quadrat des Bauern auf {at}",),
    "breakthrough": (
        "bricht durch: Der Bauer auf {at} wird gegeben, damit ein anderer sich umwandelt",
    ),
    "diverts": ("lenkt mit dem Freibauern auf {at} den {other:weißen} König ab",),
    "keeps_opposition": ("lässt {mover} auf {step} die Opposition auf {square} nehmen",),
    "outside_passed": ("verschafft {side} einen entfernten Freibauern auf {at}",),
    "simplifies.1": ("wickelt in ein besseres Bauernendspiel ab",),
    "simplifies.2": ("wickelt in ein gewonnenes Bauernendspiel ab",),
    "philidor": (
        "baut die Philidor-Stellung auf: Der Turm hält den König von dessen sechster Reihe fern",
    ),
    "checks_from_behind": (
        "geht weit hinter den Bauern, um von dort Schach zu geben: Der Bauer schützt seinen König "
        "nicht mehr davor",
    ),
    "readies_bridge": ("drängt den König weiter ab, damit der Turm eine Brücke bauen kann",),
    "bridge": ("baut eine Brücke: Von der vierten Reihe aus wird der Turm den König abschirmen",),
    "lucena": ("erreicht die Lucena-Stellung, in der ein Brückenbau mit dem Turm gewinnt",),
    "rook_fortress": (
        "baut eine Festung: Der Bauer deckt den Turm, und die Dame allein kommt nicht weiter",
    ),
    "wrong_bishop": (
        "lässt einen Läufer der falschen Farbe übrig: Der {side:weiße} König hält die Ecke",
    ),
    # ideas
    "dominates": ("lässt {piece:dem} keinen sicheren Zug",),
    "desperado": ("verkauft {kind:den} so teuer wie möglich, da {kind:er} ohnehin verloren ist",),
    "windmill": ("setzt eine Zwickmühle in Gang: ein Abzugsschach nach dem anderen",),
    "quiet_killer.1": ("ist ein stiller Zug, nach dem das Matt nicht mehr zu verhindern ist",),
    "quiet_killer.0": ("ist ein stiller Zug, der forciert gewinnt, obwohl er nichts schlägt",),
    "quiet_only": ("ist ein stiller Zug: Kein Schach und kein Schlagzug ist annähernd so gut",),
    "bare_king": ("greift einen König an, neben und vor dem kein eigener Bauer steht",),
    "Fails": ("ist besser als {step}, denn darauf folgt {reply}",),
    "Poisons": (
        "deckt {piece:den} indirekt: {step} scheitert an {reply}",
        "schützt {piece:den} taktisch: {step} scheitert an {reply}",
    ),
    "Springs": ("lässt die Falle „{trap}“ zuschnappen",),
    "Springs.line": ("lässt die Falle „{trap}“ zuschnappen: {line}",),
    "Springs.wins": ("lässt die Falle „{trap}“ zuschnappen: {line} gewinnt {won:den}",),
    "Springs.for": (
        "lässt die Falle „{trap}“ zuschnappen: {line} gewinnt {won:den} für {lost:den}",
    ),
    "WalksInto": ("tappt in die Falle „{trap}“",),
    "WalksInto.line": ("tappt in die Falle „{trap}“: {line}",),
    "WalksInto.wins": ("tappt in die Falle „{trap}“: {line} gewinnt {won:den}",),
    "WalksInto.for": ("tappt in die Falle „{trap}“: {line} gewinnt {won:den} für {lost:den}",),
    "minority_attack": ("treibt den Minoritätsangriff voran: zwei Bauern gegen drei",),
    "keeps_from": ("hält {piece:den} von {square} fern",),
    "trades_cover.1": (
        "tauscht den Läufer, der die hellen Felder um den {other:weißen} König deckt",
    ),
    "trades_cover.0": (
        "tauscht den Läufer, der die dunklen Felder um den {other:weißen} König deckt",
    ),
    "trades_cover.11": (
        "bietet den Tausch des Läufers an, der die hellen Felder am {other:weißen} König deckt",
    ),
    "trades_cover.01": (
        "bietet den Tausch des Läufers an, der die dunklen Felder am {other:weißen} König deckt",
    ),
    "greek_gift": ("ist das klassische Läuferopfer: Es lockt den König für {square} heraus",),
    "Forestalls": ("verhindert {step}, was stark gewesen wäre",),
    "Offers": ("bietet {piece:den} an: Auf {step} folgt {reply}",),
    "good_knight": ("verschafft {mover} einen guten Springer gegen einen schlechten Läufer",),
    "weak_squares.0": ("lässt schwache schwarze Felder um den {side:weißen} König zurück",),
    "weak_squares.1": ("lässt schwache weiße Felder um den {side:weißen} König zurück",),
    "opens_centre": ("öffnet die {file}-Linie gegen den König in der Mitte",),
    "XRay": ("hat {by:den} hinter sich, {by:welcher} {square} durch {through:den} hindurch deckt",),
}
