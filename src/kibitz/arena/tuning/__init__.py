"""Options tuned by experiment: what to try next, what came of it, and whether it is any better."""
