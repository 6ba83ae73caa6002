"""From games to batches.

    folders of shards -> window -> replay, sample -> batch -> loader -> training

order.py says in which order positions come and which games are held out; exports.py writes
positions for other programs. Only `loader` needs torch.
"""
