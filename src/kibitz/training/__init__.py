"""Batches -> losses -> weights: how networks learn.

`dataset` makes the batches, `network` the networks. Importing the room loads no torch, its modules
do.
"""
