"""What searches teach: targets for training from a search's tree, and stored games searched again.

games -> reanalyse (search, targets) -> games with better policies and values
"""
