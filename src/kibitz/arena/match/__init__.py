"""Games between players, and what they prove: clocks, forfeits, Elo with intervals, SPRT, suites.

players, openings -> **match** -> records of games -> Elo, SPRT, tables

Openings are read and chosen in the room data.
"""
