"""`python -m stress`: see `stress.commands`."""

import sys

from stress.commands import main

if __name__ == "__main__":
    sys.exit(main())
