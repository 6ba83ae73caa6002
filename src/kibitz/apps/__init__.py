"""Where people meet Kibitz: the page in the browser, the bot on Lichess."""
