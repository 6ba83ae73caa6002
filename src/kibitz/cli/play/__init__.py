"""Commands that play: in the browser, in the terminal, on Lichess."""
