"""`stress` under a name that nobody else has: always the package of the subtrie distribution (`subtrie._ours`)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stress import *  # noqa: F403
else:
    from subtrie._ours import reach

    reach(__name__)
