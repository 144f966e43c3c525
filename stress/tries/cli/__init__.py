"""What the tries bring to the command line: structures to run and to explore, and mutants."""

from typing import Final

from stress.cli.known import Known
from stress.tries.scenarios import STARTS
from stress.tries.targets import TARGETS

__all__ = ["KNOWN"]

KNOWN: Final = Known(
    workloads=TARGETS,
    explored=tuple(STARTS),
    explorer="stress.tries.cli.explore",
    tokens=("x1.", "c1."),
    commands={"mutants": ("let seeded faults show that the tests would catch them", "stress.tries.cli.mutants")},
)
