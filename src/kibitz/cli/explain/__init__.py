"""Commands that explain: games, moves, positions, puzzles."""
