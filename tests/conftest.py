"""What all tests share: how hypothesis looks for examples, and files without today's date."""

import os

from hypothesis import settings

# 2000-01-01: the same work gives the same bytes whenever it is done, in processes of tests, too.
os.environ["SOURCE_DATE_EPOCH"] = "946684800"

# No deadline: the first example may compile a kernel, and speed is never asserted in a test.
# Derandomised: a failure on one machine is a failure on every machine.
settings.register_profile("kibitz", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("kibitz")
