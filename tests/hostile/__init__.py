"""What strangers may send: hostile inputs by name, and mutated ones by thousands.

`python -m tests.hostile` gives each named input to a process of its own and prints its time and
memory; `python -m tests.hostile --count 5000` then mutates sound inputs of all kinds. A kind is a
module with `attacks` and `targets` (see kind.py), listed in kinds.py: a file, a frame, a protocol.
"""
