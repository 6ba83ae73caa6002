"""Evaluators: value and move probabilities of positions, for the search.

Two kinds: *inline* evaluators are kernels the compiled search calls once per node (`inline.py`
lists them); *batched* ones are called from Python once per batch of leaves (`batched.py`).
"""
