"""Small classes in bad faith: each hides its state, or its steps, in another corner of Python. `CASES` has for each name
whether it is right, the class, the specification and the calls of each thread.
"""

from tests.stress.in_bad_faith import (
    attributes,
    containers,
    corners,
    functions,
    library,
    lives,
    made_before,
    new_objects,
    outliving,
    outside,
    read_by_c,
    threads_and_time,
    without_a_lock,
)
from tests.stress.in_bad_faith.cases import CASES, TWICE
from tests.stress.in_bad_faith.outside import PLACE

__all__ = [
    "CASES",
    "PLACE",
    "TWICE",
    "attributes",
    "containers",
    "corners",
    "functions",
    "library",
    "lives",
    "made_before",
    "new_objects",
    "outliving",
    "outside",
    "read_by_c",
    "threads_and_time",
    "without_a_lock",
]
