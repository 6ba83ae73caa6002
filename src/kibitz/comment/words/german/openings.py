"""Openings in German: families by their names, variations that bear a person's or a place's."""

from __future__ import annotations

import re

FAMILIES = {
    "Alekhine Defense": "Aljechin-Verteidigung",
    "Benko Gambit": "Wolga-Gambit",
    "Benoni Defense": "Benoni-Verteidigung",
    "Bishop's Opening": "Läuferspiel",
    "Catalan Opening": "Katalanische Eröffnung",
    "Center Game": "Mittelgambit",
    "Danish Gambit": "Nordisches Gambit",
    "Dutch Defense": "Holländische Verteidigung",
    "Elephant Gambit": "Mittelgambit im Nachzug",
    "English Defense": "Englische Verteidigung",
    "English Opening": "Englische Eröffnung",
    "Four Knights Game": "Vierspringerspiel",
    "French Defense": "Französische Verteidigung",
    "Hungarian Opening": "Ungarische Eröffnung",
    "Indian Defense": "Indische Verteidigung",
    "Italian Game": "Italienische Partie",
    "King's Gambit": "Königsgambit",
    "King's Indian Attack": "Königsindischer Angriff",
    "King's Indian Defense": "Königsindische Verteidigung",
    "King's Knight Opening": "Königsspringerspiel",
    "King's Pawn Game": "Königsbauernspiel",
    "King's Pawn Opening": "Königsbauernspiel",
    "Latvian Gambit": "Lettisches Gambit",
    "Modern Defense": "Moderne Verteidigung",
    "Old Indian Defense": "Altindische Verteidigung",
    "Petrov's Defense": "Russische Verteidigung",
    "Philidor Defense": "Philidor-Verteidigung",
    "Polish Opening": "Orang-Utan-Eröffnung",
    "Queen's Gambit": "Damengambit",
    "Queen's Indian Defense": "Damenindische Verteidigung",
    "Queen's Pawn Game": "Damenbauernspiel",
    "Ruy Lopez": "Spanische Partie",
    "Scandinavian Defense": "Skandinavische Verteidigung",
    "Scotch Game": "Schottische Partie",
    "Semi-Slav Defense": "Halbslawische Verteidigung",
    "Sicilian Defense": "Sizilianische Verteidigung",
    "Slav Defense": "Slawische Verteidigung",
    "Three Knights Opening": "Dreispringerspiel",
    "Van Geet Opening": "Van-Geet-Eröffnung",
    "Vienna Gambit": "Wiener Gambit",
    "Vienna Game": "Wiener Partie",
    "Accelerated Dragon": "Beschleunigter Drache",
    "Advance Variation": "Vorstoßvariante",
    "Austrian Attack": "Österreichischer Angriff",
    "Berlin Defense": "Berliner Verteidigung",
    "Classical Defense": "Klassische Verteidigung",
    "Classical Variation": "Klassische Variante",
    "Closed": "Geschlossene Variante",
    "Dragon Variation": "Drachenvariante",
    "Evans Gambit": "Evans-Gambit",
    "Exchange Variation": "Abtauschvariante",
    "Fianchetto Variation": "Fianchettovariante",
    "Four Pawns Attack": "Vierbauernangriff",
    "Giuoco Piano": "Giuoco Piano",
    "Giuoco Pianissimo": "Giuoco Pianissimo",
    "Main Line": "Hauptvariante",
    "Modern Variation": "Moderne Variante",
    "Normal Variation": "Normalvariante",
    "Open": "Offene Variante",
    "Orthodox Defense": "Orthodoxe Verteidigung",
    "Symmetrical Variation": "Symmetrievariante",
    "Two Knights Defense": "Zweispringerspiel",
    "Two Knights Variation": "Zweispringervariante",
    "Winawer Variation": "Winawer-Variante",
    "Yugoslav Attack": "Jugoslawischer Angriff",
    # traps
    "Blackburne Shilling Trap": "Blackburne-Schilling-Falle",
    "Cambridge Springs trap": "Cambridge-Springs-Falle",
    "Damiano Defense trap": "Damiano-Falle",
    "Damiano Variation trap": "Abzugsfalle der Russischen Partie",
    "Elephant Trap": "Elefantenfalle",
    "Englund Gambit trap": "Englund-Falle",
    "Fishing Pole Trap": "Angelrutenfalle",
    "Fool's Mate": "Narrenmatt",
    "From's Gambit mate": "Matt im From-Gambit",
    "Greco Trap": "Greco-Falle",
    "Halosar Trap": "Halosar-Falle",
    "Hanham Trap": "Hanham-Falle",
    "Kieninger Trap": "Kieninger-Falle",
    "Lasker Trap": "Lasker-Falle",
    "Légal Trap": "Seekadettenmatt",
    "Magnus Smith Trap": "Magnus-Smith-Falle",
    "Marshall Trap": "Marshall-Falle",
    "Milner-Barry trap": "Milner-Barry-Falle",
    "Monticelli Trap": "Monticelli-Falle",
    "Mortimer Trap": "Mortimer-Falle",
    "Noah's Ark Trap": "Arche Noah",
    "Rubinstein Trap": "Rubinstein-Falle",
    "Scholar's Mate": "Schäfermatt",
    "Siberian Trap": "Sibirische Falle",
    "Stafford Gambit trap": "Stafford-Falle",
    "Tarrasch Trap": "Tarrasch-Falle",
    "knight trap of the Caro-Kann": "Springerfalle im Caro-Kann",
    "queen check of the Sicilian": "Damenschach im Sizilianer",
    "queen trap of the Scandinavian": "Damenfang im Skandinavier",
    "trap of the Queen's Gambit Accepted": "Damengambit-Falle",
    "trap of the Trompowsky Attack": "Trompowsky-Falle",
}
KINDS = {
    "Attack": "Angriff",
    "Countergambit": "Gegengambit",
    "Defense": "Verteidigung",
    "Gambit": "Gambit",
    "Opening": "Eröffnung",
    "System": "System",
    "Variation": "Variante",
}
TAKEN = {"Accepted": "Angenommenes", "Declined": "Abgelehntes"}  # gambits
NAMES = (  # of persons and places, each between spaces
    " Alapin Albin Alekhine Amar Anderssen Averbakh Barnes Benoni Bernstein Bird Blackmar- "
    "Diemer Blumenfeld Bogo-Indian Bogoljubow Botvinnik Breyer Bronstein Budapest Capablanca "
    "Caro-Kann Charousek Chigorin Clemenz Colle Damiano Duras Englund Euwe Evans Falkbeer "
    "Flohr Gligoric Goering Greco Grob Grünfeld Harrwitz Horwitz Jaenisch Janowski "
    "Kalashnikov Kan Karpov Keres Kieseritzky Korchnoi Larsen Lasker Leningrad Löwenthal "
    "London Marshall Maróczy McCutcheon McDonnell Meran Mieses Mikenas Moscow Morphy Muzio "
    "Najdorf Nimzo-Indian Nimzo-Larsen Nimzowitsch Owen O'Kelly Panov Paulsen Petrosian "
    "Philidor Pirc Polerio Ponziani Prins Richter-Rauzer Richter-Veresov Robatsch Romanishin "
    "Rossolimo Rubinstein Réti Sämisch Saragossa Scheveningen Schlechter Smith-Morra Smyslov "
    "Sozin Spassky Spielmann Staunton Steiner Steinitz Stonewall Sveshnikov Taimanov Tarrasch "
    "Tartakower Torre Trompowsky Uhlmann Velimirovic Winawer Zukertort "
)
SPELLED = {
    "Alekhine": "Aljechin",
    "Averbakh": "Awerbach",
    "Botvinnik": "Botwinnik",
    "Budapest": "Budapester",
    "Chigorin": "Tschigorin",
    "Korchnoi": "Kortschnoi",
    "London": "Londoner",
    "Leningrad": "Leningrader",
    "Moscow": "Moskauer",
    "Nimzo-Indian": "Nimzo-Indische",
    "Bogo-Indian": "Bogo-Indische",
    "Petrosian": "Petrosjan",
    "Scheveningen": "Scheveninger",
    "Smyslov": "Smyslow",
    "Sveshnikov": "Sweschnikow",
    "Taimanov": "Taimanow",
    "Panov": "Panow",
}


def opening(name: str) -> str:
    """An opening's name and that of its variation, where they have one; else empty."""
    family, _, rest = name.partition(":")
    named = _named(family.split(",")[0])
    variation = _named(rest.split(",")[0].strip())
    return f"{named}, {variation}" if named and variation else named


def _named(name: str) -> str:
    """A family or a variation in German; empty where there is no word for it."""
    if name in FAMILIES:
        return FAMILIES[name]
    if (gambit_name := re.fullmatch(r"(.+) (Accepted|Declined)", name)) and "Gambit" in name:
        gambit = _named(gambit_name[1])
        return f"{TAKEN[gambit_name[2]]} {gambit}" if gambit else ""
    who, _, kind = name.rpartition(" ")
    if kind not in KINDS or f" {who} " not in NAMES:
        return ""
    spelled = SPELLED.get(who, who)
    place = spelled.endswith(("er", "Indische")) and who in SPELLED
    return f"{spelled} {KINDS[kind]}" if place else f"{spelled}-{KINDS[kind]}"
