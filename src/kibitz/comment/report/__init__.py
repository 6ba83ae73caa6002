"""An annotated game as one page for the browser."""
