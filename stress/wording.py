"""How operations, answers and states of a specification stand in files and in reports. Each method is optional."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, ClassVar

from stress.history import Operation, freeze, show
from stress.outcomes import Outcomes
from stress.terms import WAITS, State

__all__ = ["Wording", "arity"]


class Wording(Outcomes):
    """The words for an object: `normalise` reduces a raw answer to the part that counts, `complaint` refuses calls in
    files that the object does not have. How events of other tools' histories become operations is in
    `formats/readers.py`.
    """

    name: ClassVar[str] = ""
    initial: State = None
    """The state of a fresh object."""
    vocabulary: ClassVar[frozenset[str]] = frozenset()
    """The operations that exist. Empty: not declared, so a reader of files accepts every name."""

    parameters: ClassVar[Mapping[str, str]] = {}
    """The parameters of operations, written as in Python: ``{"pop": "key, default=None"}``. An operation that is not
    named here accepts any arguments.
    """

    def normalise(self, op: str, result: Any) -> Hashable:
        """The part of a raw answer that counts, as an immutable value (`match`, for example, may answer in any
        order)."""
        return freeze(result)

    def describe(self, state: Any) -> str:
        """`state` as a reader of reports sees it."""
        return show(state)

    def options(self) -> dict[str, Any]:
        """The arguments that make an equal specification, for the header of a file."""
        return {"initial": self.initial}

    def refusal(self, state: Any, operation: Operation) -> str:
        """Why `operation` cannot take effect in `state`, in a few words."""
        here = self.describe(state)
        try:
            found = self.step(state, operation.op, operation.args)
        except NotImplementedError:
            return f"is not possible in state {here}"
        if found is WAITS:
            return f"would wait in state {here}, and answered {show(operation.result)}"
        _, answer = found
        return f"would answer {show(answer)} in state {here}, and answered {show(operation.result)}"

    def complaint(self, operation: Operation) -> str | None:
        """The fault of an operation in a file, if this object has no such operation. `step` and the other methods need
        not handle it.

        >>> from stress import Register
        >>> Register().complaint(Operation(0, 0, 1, 2, "cas", (3,), True))
        'the call is cas(old, new), not cas(3)'
        """
        op, args = operation.op, operation.args
        if self.vocabulary and op not in self.vocabulary:
            return f"{self.name} has no operation {op}: it has {', '.join(sorted(self.vocabulary))}"
        least, most = arity(self.parameters.get(op))
        if least <= len(args) <= most:
            return None
        return f"the call is {op}({self.parameters[op]}), not {op}({', '.join(map(show, args))})"


@cache
def arity(parameters: str | None) -> tuple[int, float]:
    """The least and the greatest number of arguments. None: the parameters are not known."""
    if parameters is None:
        return 0, float("inf")
    names = parameters.split(", ") if parameters else []
    return sum("=" not in name for name in names), len(names)
