"""Either twin to explore, an interpreted copy or the compiled modules of this process, reports on findings in it, and
replay tokens: an execution as a short text, to be given to `python -m tests.tries replay`.

A token holds the scenario, the threads that made the steps (as run lengths), and the name of the mutant that was run,
if any. It has another prefix if the compiled twin was run, whose steps differ. If the source has changed since, the
steps may mean something else.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from stress.explorer.experiment import Finding
from stress.explorer.scenario import Scenario
from stress.explorer.token import DAMAGED, OBJECT_PREFIX, TokenError, order_of, pack, runs_of, unpack
from stress.explorer.trace import report_on_finding
from stress.reports.report import Report
from tests.tries.compiled import CompiledCopy, CompiledExperiment, load_compiled
from tests.tries.experiment import TrieExperiment
from tests.tries.scenarios import STARTS
from tests.tries.source_copy import Change
from tests.tries.trie_copy import TrieCopy, load_copy


def load_twin(compiled: bool, ideal: bool = False, order: Any = None, changes: Sequence[Change] = ()) -> TrieCopy:
    """The compiled twin, which writes each schedule into the buffer `order` as it goes, if that is given; or a copy of
    the interpreted twin with `changes` applied.

    Raises:
        NotBuilt: there is no compiled twin that can be explored.
    """
    if not compiled:
        return load_copy(changes)
    twin = load_compiled(ideal)
    if order is not None:
        twin.seam.native.write_order(memoryview(order).cast("B"))
    return twin


def experiment_on(twin: TrieCopy, scenario: Scenario) -> TrieExperiment:
    """A scenario on a twin of either kind.

    Raises:
        BrokenStart: its start cannot be made.
    """
    return CompiledExperiment(twin, scenario) if isinstance(twin, CompiledCopy) else TrieExperiment(twin, scenario)


def report_on_trie(twin: TrieCopy, finding: Finding, mutant: str = "") -> Report:
    """The report on a finding, which is executed once more for it."""
    compiled = isinstance(twin, CompiledCopy)
    facts = {"mutant": mutant} if mutant else {"twin": "compiled"} if compiled else {}
    token = Token(finding.scenario, finding.order, mutant, compiled)
    return report_on_finding(experiment_on(twin, finding.scenario), finding, token.command, facts)


_PREFIX: Final = "x1."
_COMPILED: Final = "c1."


@dataclass(frozen=True)
class Token:
    """The content of a token."""

    scenario: Scenario
    order: tuple[int, ...]
    mutant: str = ""
    compiled: bool = False

    @property
    def command(self) -> str:
        """The command that executes it again."""
        return f"{'make explored REPLAY=' if self.compiled else 'python -m tests.tries replay '}{encode(self)}"


def encode(token: Token) -> str:
    """The token as text."""
    scenario = token.scenario
    said = [scenario.target, scenario.start, scenario.threads, runs_of(token.order), token.mutant]
    return pack(_COMPILED if token.compiled else _PREFIX, said)


def decode(text: str) -> Token:
    """The token that `text` represents.

    Raises:
        TokenError: it is not a token.
    """
    if text.startswith(OBJECT_PREFIX):
        raise TokenError("the object that this token is of is not known here: give it to stress.explore as `replay`")
    prefix = _COMPILED if text.startswith(_COMPILED) else _PREFIX
    if not text.startswith(prefix):
        raise TokenError(f"neither a file nor a token of the explorer, which begins with {_PREFIX}")
    try:
        target, start, threads, runs, mutant = unpack(prefix, text)
        order = order_of(runs)
        scenario = Scenario(target, start, _tuples(threads))
        known = start in STARTS[target]
    except (ValueError, TypeError, LookupError):
        raise TokenError(DAMAGED) from None
    if not known:
        raise TokenError(f"the token is of a start that there is no more: {start!r}")
    return Token(scenario, order, mutant, prefix == _COMPILED)


def _tuples(value: Any) -> Any:
    """Turn the lists that JSON has made back into tuples. Equal names become one object, as they were when explored:
    otherwise a search that compares identity first would take other steps.
    """
    if isinstance(value, str):
        return sys.intern(value)
    return tuple(map(_tuples, value)) if isinstance(value, Sequence) else value
