"""Where people meet Kibitz: a page in the browser, a bot on Lichess, tools for language models."""
