"""A bot that plays on Lichess: rules for challenges, games, thinking time, chat.

config.py has its settings, rules.py says which challenges it accepts, server.py speaks with
Lichess, bot.py runs it all and game.py plays one game.
"""
