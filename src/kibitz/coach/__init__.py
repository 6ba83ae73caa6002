"""What helps a player to get better: the player's own games, and puzzles from games.

    fetch, games -> database -> analyse -> profile, deck -> train

`fetch` gets games from the sites, `games` reads them, `database` keeps them, `analyse` searches
them. `profile` counts what costs points, `deck` makes mistakes into items and keeps them, `train`
asks what is due and exports them. `tree` has openings and books, `repertoire` compares them with
practice. `human` says what people of a rating play. `puzzles` finds positions to solve.
"""
