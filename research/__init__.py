"""Research: run from a checkout, not part of the package; README.md says what there is."""
