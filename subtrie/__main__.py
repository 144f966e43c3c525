"""``python -m subtrie``: see `subtrie.cli`."""

import sys

from subtrie.cli import main

sys.exit(main())
