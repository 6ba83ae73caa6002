"""From games to batches: shards -> **window -> samples -> batch -> loader** -> training.

Only `loader` needs torch.
"""
