"""Bishop and knight against a king: solved, and fitted by a small network for alpha-beta."""
