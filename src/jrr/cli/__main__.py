"""`python -m jrr.cli`, where the script `jrr` is not on the path."""

import sys

from jrr.cli import main

sys.exit(main())
