"""Game records: what every producer writes and every consumer reads, import, export and labels.

shard.py is the file, record.py a game in Python, store.py a folder of shards; the other modules
bring games in from CSV, PGN and a teacher's searches, and out again.
"""
