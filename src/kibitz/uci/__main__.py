"""`python -m kibitz.uci`: speak UCI on standard input and output."""

import sys

from kibitz.uci.loop import main

sys.exit(main())
