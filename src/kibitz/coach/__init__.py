"""What helps a player to get better: the player's own games, and puzzles from games."""
