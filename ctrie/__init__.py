"""Concurrent tries for Python: a hash map and a set that threads share without locks, with snapshots in O(1).

`Ctrie` is the map, `CtrieSet` the set, `AtomicReference` the compare-and-set primitive. The package runs compiled
(`twin == "compiled"`) if its extensions were built, else interpreted from the same source. The environment variable
CTRIE_TWIN=interpreted selects the latter, for debugging and coverage.
"""

from ctrie import _build_choice

_build_choice.choose(__path__)

from ctrie._slot import AtomicReference, drain  # first: it says what to do where nothing was compiled

try:
    from ctrie._ctrie import COMPILED, Ctrie
except ModuleNotFoundError as error:
    if error.name != "cython":
        raise
    raise ImportError("the interpreted twin needs the package cython: pip install 'subtrie[portable]'") from error
from ctrie._set import CtrieSet
from ctrie._version import __version__ as __version__

twin = "compiled" if COMPILED else "interpreted"
_build_choice.confirm(twin)

__all__ = ["AtomicReference", "Ctrie", "CtrieSet", "drain", "twin"]
