"""Records of games: what every producer writes and every consumer reads.

    PGN, CSV, a teacher's searches, self-play -> games -> shards in a store -> batches, PGN

* The contract: shard.py is the file and a game in Python, store.py a folder of shards and
  what puts shards together and cuts them.
* Files of games: pgn.py reads, chooses and writes games of PGN, importing.py does it for many
  files in several processes, openings.py reads where games start, catalogue.py names what can be
  fetched.
* Values from a teacher: labels/, an engine for one game or for many, or numbers in a CSV file.
* Batches to learn from: batches/.
"""
