"""What helps a player to get better: puzzles from games."""
