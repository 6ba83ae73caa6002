"""Games get values and best moves from a teacher: an engine, or numbers in a file."""
