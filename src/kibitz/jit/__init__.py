"""Compiled code: the `@kernel` decorator, its disk cache, records, atomic operations, lanes.

The only room that names the inner parts of numba and llvmlite.
"""
