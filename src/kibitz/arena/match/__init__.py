"""Games between players, and what they prove: clocks, forfeits, Elo with intervals, SPRT, suites.

players, openings (chosen by data/openings.py) -> **match** -> records of games -> Elo, SPRT, tables
"""
