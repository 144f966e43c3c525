"""Whatever can be called cannot end the process, internal functions and classes too (tests/odd_calls.py)."""

from __future__ import annotations

import pytest

from tests.scripts import run_script


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [1])
def test_odd_calls_of_internals_end_in_an_exception_or_a_result(seed: int) -> None:
    status, ended, errors = run_script(
        f"from tests.odd_calls import ended_by; print(*ended_by({seed}), sep='\\n', end='')", PYTHONHASHSEED="0"
    )
    assert (status, ended) == (0, ""), errors[-2000:]


# A pickle that names only our modules, for an unpickler that admits only them.
FORGED = """
import io, pickle
import subtrie._trie.queries.listing as listing
import subtrie._trie.trie as trie
from ctrie._nodes import INode

class Only(pickle.Unpickler):
    def find_class(self, module, name):
        assert module.partition(".")[0] in ("ctrie", "subtrie"), (module, name)
        return super().find_class(module, name)

class Forged:
    def __init__(self, function, *arguments):
        self.call = function, arguments
    def __reduce__(self):
        return self.call

for call in (
    (trie.subscription_count, None),
    (listing.literal_filters, None, None),
    (listing.statistics, Forged(INode), "."),
    (INode,),
):
    try:
        tuple(Only(io.BytesIO(pickle.dumps(Forged(*call)))).load())
    except TypeError:
        continue
    raise AssertionError(call)
"""


@pytest.mark.compiled
def test_a_pickle_that_names_only_our_modules_does_not_end_the_process() -> None:
    status, _, errors = run_script(FORGED)
    assert status == 0, errors[-2000:]
