"""Records of games: what every producer writes and every consumer reads.

    PGN, CSV, a teacher's searches, self-play -> games -> shards in a store -> dataset, PGN

* The contract: shard.py is the file and a game in Python, store.py a folder of shards and
  what puts shards together and cuts them.
* Files of games: pgn.py reads and writes PGN, labels.py says what centipawns are worth and reads
  CSV, importing.py does it for many files in several processes, openings.py reads where games
  start.
* An engine as a teacher: evaluating.py for one game, teaching.py for many.
"""
