"""`python -m kibitz`: the command line."""

import sys

from kibitz.commands import main

sys.exit(main())
