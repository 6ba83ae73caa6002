"""What networks see and say: position -> **encoding** -> network. Compiled, without torch.

`leaves.py` is the batch every evaluator is given; `layouts.py` is the face of the room: planes and
policy indices by name. Features, packed forms and mirrors are in modules of their own.
"""
