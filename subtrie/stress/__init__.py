"""`stress` under a name that nobody else has: always the package of the subtrie distribution (`subtrie._aliases`)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stress import *  # noqa: F403
else:
    from subtrie._aliases import reach

    reach(__name__)
