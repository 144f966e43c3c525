"""What a specification may tell about its operations so that the checker is quick. Each method is optional, and its
answer must be true: `spec_check` tries them.

* `is_read_only` lets the checker take an operation at the first moment where it fits and never reconsider it;
* `elements`, `footprint` and `restrict` let it split a history into parts that share nothing (Herlihy and
  Wing's locality);
* `project` lets it refute a history by one element alone;
* `shows`, `brings` and `content` let it refute an answer that shows something that was not in the object by then;
* `glance` proposes a narrower object or a small refutation, where a search for either is hopeless.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from stress.history import Operation
from stress.terms import EVERYTHING, Element, Everything, Excerpt, Footprint, State

if TYPE_CHECKING:
    from stress.spec import Spec

__all__ = ["Locality"]


class Locality:
    """What the checker may know of a specification."""

    read_only: ClassVar[frozenset[str]] = frozenset()
    """Operations that never change any state, whatever they answer."""

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        """Whether `op(*args)`, if it answers `result`, can change *no* state at all.

        It is not enough that it leaves the present state unchanged: a blind write of the value that is already there is
        not a read. For `UNSEEN` it must hold for every answer.
        """
        return op in self.read_only

    def elements(self, operation: Operation) -> Iterable[Element]:
        """The elements of the object (keys, members) that `operation` names."""
        return ()

    def elements_of(self, state: Any) -> Iterable[Element]:
        """The elements that are present in `state`."""
        return ()

    def footprint(self, operation: Operation, universe: Collection[Element]) -> Footprint:
        """Which of the elements in `universe` the answer or the effect of `operation` may depend on or
        change.
        """
        return EVERYTHING

    def restrict(self, state: Any, elements: Collection[Element]) -> State:
        """`state` without everything outside `elements`; it may also be returned whole."""
        return state

    def project(self, operation: Operation, element: Element, universe: Collection[Element]) -> Operation | None:
        """What `operation` says about `element` alone, as an operation of this same spec; None: nothing.

        Whenever the operation is legal in a state, its projection must be legal in that state restricted to
        `element`.
        """
        return None

    def shows(self, operation: Operation) -> Iterable[Hashable]:
        """The content of the object that the answer shows: values, members, or pairs of key and value that were there
        when `operation` took effect, or that it brought.

        Whenever the operation takes a state to another one with this answer, all of it must be in the `content` of the
        first state or in what the operation `brings`.
        """
        return ()

    def brings(self, operation: Operation) -> Collection[Hashable] | Everything:
        """What `operation` may bring into the object: everything that is in the `content` of a state after it, but not
        before it. `EVERYTHING`: unknown.
        """
        return EVERYTHING

    def content(self, state: Any) -> Collection[Hashable]:
        """The content of the object in `state`, in the terms of `shows` and `brings`."""
        return ()

    def glance(self, operations: Sequence[Operation], start: Any) -> Spec | Excerpt | None:
        """What can be told without a search, where a search is hopeless. Either a narrower object, which allows nothing
        that this one does not and is quick to search; or an excerpt that may have no linearization.
        """
        return None
