"""What all tests share: how hypothesis looks for examples."""

from hypothesis import settings

# No deadline: the first example may compile a kernel, and speed is never asserted in a test.
# Derandomised: a failure on one machine is a failure on every machine.
settings.register_profile("kibitz", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("kibitz")
