"""Checks specifications by brute force, the first time that a history is judged by one.

A checker relies on what a specification declares: that an operation is `read_only`, and which elements it touches
(`footprint`). A wrong declaration refutes correct objects, or accepts wrong ones. So some states are visited first,
along the history and at random, and the declarations for the operations of the history are compared with what the
operations do there:

* a step neither changes its state nor gives a different result the next time (of states that are not hashable, it gets
  copies: `frozen_states`);
* a read-only operation changes no state;
* operations with disjoint footprints do not affect each other, and depend only on the part of the state in their
  footprint.

A contradiction that is found is reported in one sentence. The check proves nothing: it looks at some
thousand steps, which takes some dozens of milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product, zip_longest
from random import Random
from typing import Any, Final

from stress.alike import typed_key
from stress.checker.components import universe_of
from stress.frozen_states import class_of, is_hashable, thawed, with_frozen_states
from stress.history import UNSEEN, Operation, show
from stress.source import PACKAGE, module_of
from stress.spec import EVERYTHING, Spec, SpecError, State

_STATES: Final = 24
_CALLS: Final = 24
_ANSWERS: Final = 4
"""Answers to each call that are checked."""
_LOOKS: Final = 600
"""The most pairs of a state and an operation that are looked at, ..."""
_OTHERS: Final = 4
"""... each with so many other operations."""
_WALK: Final = 200
"""Operations of the history that are followed to find states."""

_tested: dict[Any, Spec] = {}
"""By class, attributes and names of operations. An attribute may be known by its address in memory; so the
specifications are kept alive, ...
"""
_MOST_TESTED: Final = 1_000
"""... until there are so many."""


def as_instance(spec: Any) -> Spec:
    """`spec`, after a check that it is a specification; if its states are not hashable, one like it that freezes them.

    Raises:
        SpecError: it is something else, such as the class of one.
    """
    if isinstance(spec, Spec):
        if hasattr(spec, "meetings"):  # to ignore them would accuse objects that are right
            raise SpecError(f"{type(spec).__name__} has `meetings`, which are not judged: give an `invariant` instead")
        return with_frozen_states(spec)
    if isinstance(spec, type) and issubclass(spec, Spec):
        raise SpecError(f"{spec.__name__} is the class of a specification: give an instance, {spec.__name__}()")
    raise SpecError(f"a specification is an instance of a subclass of stress.Spec, not {spec!r}")


def check_spec(spec: Spec, operations: Sequence[Operation], starts: Sequence[State] | None = None) -> None:
    """Compare the declarations of `spec` with its behaviour, unless that was done before for operations of these names.
    Specifications that come with the package are left to its own tests.

    Raises:
        SpecError: it contradicts itself.
    """
    begins = [spec.initial] if starts is None else starts
    for state in begins:
        _hashable(spec, state, "its start state")
    key = (
        class_of(spec),
        frozenset((name, typed_key(each) if is_hashable(each) else id(each)) for name, each in vars(spec).items()),
        frozenset(operation.op for operation in operations),
    )
    if key not in _tested and not module_of(type(spec)).startswith(f"{PACKAGE}."):
        _SelfTest(spec, operations, begins).run()
        if len(_tested) >= _MOST_TESTED:
            _tested.clear()
        _tested[key] = spec


def _hashable(spec: Spec, state: Any, what: str) -> None:
    """Refuse a state that is not hashable although the start state is."""
    if not is_hashable(state):
        raise SpecError(
            f"{type(spec).__name__} starts in a state that is hashable, {show(spec.initial)}, and {what} is not, "
            f"{show(state)}: let `initial` be of type {type(state).__name__}, too"
        )


def _is_only_itself(state: Any) -> bool:
    """Whether a state is equal to no other object, whatever that holds."""
    hashed_by: Any = type(state).__hash__
    return hashed_by is object.__hash__ and hasattr(state, "__dict__")


def _seen(state: Any) -> str:
    """What can be seen of a state, also inside of objects in it that do not show it."""
    return " ".join([show(state), *(str(vars(each)) for each in _parts(thawed(state)) if _is_only_itself(each))])


def _parts(state: Any) -> Iterator[Any]:
    yield state
    if isinstance(state, (list, tuple, set, frozenset, dict)):
        for each in (*state, *(state.values() if isinstance(state, dict) else ())):
            yield from _parts(each)


class _SelfTest:
    """The states to visit, and the checks in each."""

    def __init__(self, spec: Spec, operations: Sequence[Operation], starts: Sequence[State]) -> None:
        self._spec, self._random = spec, Random(0)
        self._calls = _one_of_each(operations)
        self._states = self._some_states(operations, starts)
        self._answered = [each for call in self._calls for each in self._answers(call)]
        self._universe = universe_of(self._answered, spec, self._states)

    def run(self) -> None:
        pairs = [*product(self._states, self._answered)]
        self._random.shuffle(pairs)
        for state, each in pairs[:_LOOKS]:
            for reason in self._contradictions(state, each):
                raise SpecError(f"{type(self._spec).__name__} contradicts itself: {_call(each)} {reason}")

    # The states, and the answers.

    def _after(self, state: State, operation: Operation) -> list[State]:
        """The states after an operation; none if the specification raises. The search reports that if it gets there."""
        spec = self._spec
        try:
            found = list(spec.successors(state, operation.op, operation.args, operation.result))
        except Exception as error:
            if isinstance(error, SpecError) and error.__cause__ is None:  # it is no error of `step`
                raise
            return []
        for each in found:
            _hashable(spec, each, f"the one after {_call(operation)} in state {show(state)}")
        return found

    def _some_states(self, operations: Sequence[Operation], starts: Sequence[State]) -> list[State]:
        """Some states: those of the history when its operations are taken in the order of their calls, and others."""
        found = dict.fromkeys(starts)
        for start in starts:
            state = start
            for operation in sorted(operations[: 10 * _WALK], key=lambda each: each.call)[:_WALK]:
                after = self._after(state, operation) or self._after(state, operation._replace(result=UNSEEN))
                state = after[0] if after else state
                if len(found) < _STATES // 2:
                    found[state] = None
        unseen = [call._replace(result=UNSEEN) for call in self._calls]
        for _ in range(4 * _STATES):
            state = self._random.choice(starts)
            for call in self._random.choices(unseen, k=self._random.randrange(1, 9)) if unseen else ():
                state = next(iter(self._after(state, call)), state)
            found[state] = None
            if len(found) >= _STATES:
                break
        return list(found)

    def _answers(self, call: Operation) -> list[Operation]:
        """The call with answers that are possible in some state, as recorded or as given by `step`."""
        found = {call.result: call} if call.result is not UNSEEN else {}
        for state in self._states:
            try:
                answer = self._spec.normalise(call.op, self._spec.step(state, call.op, call.args)[1])
                found.setdefault(answer, call._replace(result=answer, returned=call.call + 1))
            except Exception:  # noqa: BLE001 - it may have `successors` instead, or not be able to take this step
                continue
            if len(found) >= _ANSWERS:
                break
        return [call._replace(result=UNSEEN, returned=call.call + 1), *found.values()]

    # The checks.

    def _contradictions(self, state: State, each: Operation) -> Iterator[str]:
        """What contradicts a declaration for an operation that is taken in a state."""
        spec, was = self._spec, _seen(state)
        after, again = self._after(state, each), self._after(state, each)
        if _seen(state) != was:
            yield f"changes the state that it is given, {was}: it must return a changed copy"
        same = [*map(typed_key, after)] == [*map(typed_key, again)]
        if not same and [*map(show, after)] != [*map(show, again)]:  # a NaN is not equal to another one
            equal = any(map(_is_only_itself, after))
            why = ": the states must be equal if they hold the same, as those of a dataclass are" if equal else ""
            yield f"does not have the same effect twice in state {was}{why}"
        for then in after if spec.is_read_only(each.op, each.args, each.result) else ():
            if then != state:
                yield f"is declared read-only, but turns {show(state)} into {show(then)}"
        footprint = spec.footprint(each, self._universe)
        if footprint is EVERYTHING:
            return
        part = spec.restrict(state, footprint)
        if {spec.restrict(then, footprint) for then in after} != {
            spec.restrict(then, footprint) for then in self._after(part, each)
        }:
            yield (
                f"is declared to touch only {show(frozenset(footprint))}, but does not do the same in state "
                f"{show(state)} as in its part {show(part)}"
            )
        for other in self._random.sample(self._answered, min(_OTHERS, len(self._answered))):
            others = spec.footprint(other, self._universe)
            is_disjoint = others is not EVERYTHING and set(footprint).isdisjoint(others)
            for between in self._after(state, other)[:2] if is_disjoint else ():
                if bool(after) != bool(self._after(between, each)):
                    yield (
                        f"is declared to touch nothing that {_call(other)} touches, but in state {show(state)} it "
                        "matters whether that has been called"
                    )


def _call(operation: Operation) -> str:
    """The call, and its answer if there is one."""
    call = f"{operation.op}({', '.join(map(show, operation.args))})"
    return call if operation.result is UNSEEN else f"{call} -> {show(operation.result)}"


def _one_of_each(operations: Iterable[Operation]) -> list[Operation]:
    """Operations with different calls: some of each name, in turn."""
    by_name: dict[str, dict[Any, Operation]] = {}
    for operation in islice(operations, 10 * _WALK):
        by_name.setdefault(operation.op, {}).setdefault(operation.args, operation)
    turns = zip_longest(*(found.values() for found in by_name.values()))
    return [each for turn in turns for each in turn if each is not None][:_CALLS]
