"""Experiments: each module asks one question, runs the games or searches, and prints its table."""
