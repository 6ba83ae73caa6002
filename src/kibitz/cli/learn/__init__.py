"""Commands that learn: games, networks, training."""
