"""Games against itself: played, adjudicated and written as shards to learn from.

config      the settings; game: the memory of a game; moves: how moves are chosen and games end
loop        whole games in one kernel, by tree search or by alpha-beta
players     who plays: inline networks, networks in batches, processes
play        a run: numbers of games to shards, what was not finished is kept
targets     what a search teaches; reanalyse: stored games searched again
"""
