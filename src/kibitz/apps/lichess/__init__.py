"""A bot that plays on Lichess: rules for challenges, games, thinking time, chat.

config.py has its settings, rules.py says which challenges it accepts and makes, server.py speaks
with Lichess, bot.py runs it all, game.py plays one game and archive.py keeps what was played.
"""
