"""`python -m kibitz`: the command line."""

import sys

from kibitz.cli import main

sys.exit(main())
