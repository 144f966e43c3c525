"""The search through one segment: Wing and Gong's algorithm with Lowe's memoisation.

`Segment.end_states` walks the operations of a segment in every order that respects real time. It yields each state in
which the object can end exactly once:

* the calls and returns of completed operations are in a doubly linked list by time. An operation may take effect next
  if its call is before the first return. To take effect *lifts* both out of the list, and backtracking puts them back
  (Wing and Gong; Lowe);
* a pair of (set of operations done, state) is tried once (Lowe). The set is represented by the last call in it and by
  the earlier calls that are not in it. There are no more of these than operations that ran at once, however long the
  history;
* a read that fits now, and that with its answer can never change any state, is lifted at once and never reconsidered:
  moving it earlier leaves everything else as legal as it was.

Pending operations may take effect at any time after their call, or never. They are tried when no completed operation
fits any more. Five more rules limit their number:

* those whose last argument the next operation to return names, or shows, are tried first, the others by time;
* one that leads to a state directly after another pending operation, and would have led there without it, is left out;
* of several that are alike, only the earliest called is tried;
* one that would not change the state is left out, since it may as well never happen;
* what was tried with few of them done is not tried again with more of them done: the first attempt had more choice.

The walk is a generator that returns control every few hundred steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from stress.history import Operation
from stress.spec import Spec, State

SLICE: Final = 256
"""Steps between two returns of control."""


_ORDERS: Final = 256
"""The orders of trial that are remembered."""


class Pause(Enum):
    """No state, but control."""

    PAUSE = 0


PAUSE: Final = Pause.PAUSE
EndStates = Generator[State | Pause, None, None]


class Segment:
    """The operations of one segment, prepared for the search: first the completed ones, then the pending ones.

    Position 0 of the list of calls and returns is its head, the last position its end. States are numbered in order of
    appearance. `moves` remembers where each operation leads from each state, so that the specification is asked once.
    """

    def __init__(self, operations: Sequence[Operation], spec: Spec, spent: list[int] | None = None) -> None:
        self.spec, self.spent = spec, spent or [0]
        operations = sorted(operations, key=lambda each: each.call)
        completed = [each for each in operations if each.returned is not None]
        pending = [
            each
            for each in operations
            if each.returned is None and not spec.is_read_only(each.op, each.args, each.result)
        ]
        self.operations = completed + pending
        self.completed = len(completed)
        self.reads = [spec.is_read_only(each.op, each.args, each.result) for each in completed]
        self.alike_before = _alike_before(self.operations, self.completed)
        self.naming = defaultdict[Any, list[int]](list)  # an argument, or all of them: the pending ones that name it
        for number, each in enumerate(pending, start=self.completed):
            for named in (each.args, *each.args[-1:]):
                self.naming[named].append(number)
        self.in_order_of_trial = lru_cache(_ORDERS)(self._in_order_of_trial)
        self._states: list[State] = []
        self._numbers: dict[State, int] = {}
        self._moves: list[dict[int, tuple[int, ...]]] = [{} for _ in self.operations]
        self._lay_out()

    def _lay_out(self) -> None:
        """Assign positions to the calls and returns of completed operations, and find where pending ones come in."""
        events = [(each.call, 0, number) for number, each in enumerate(self.operations)]
        events += [(each.returned or 0, 1, number) for number, each in enumerate(self.operations[: self.completed])]
        self.called_at, self.call_position = [-1], [0] * len(self.operations)
        self.return_position = [0] * self.completed
        for _, is_return, number in sorted(events):
            (self.return_position if is_return else self.call_position)[number] = len(self.called_at)
            if number < self.completed:
                self.called_at.append(-1 if is_return else number)
        self.called_at.append(-1)
        self.returning = {position: number for number, position in enumerate(self.return_position)}
        self.slots = _slots(self.called_at, self.returning)

    def _in_order_of_trial(self, number: int) -> list[int]:
        """The pending operations; first those whose last argument a completed one names, or shows. Only a guess."""
        args, result = self.operations[number][5:]
        shown = {*args, result, *(result if isinstance(result, (tuple, frozenset)) else ())}
        wanted = sorted(number for each in shown for number in self.naming.get(each, ()))
        return list(dict.fromkeys([*wanted, *range(self.completed, len(self.operations))]))

    def _number(self, state: State) -> int:
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def _move(self, operation: int, state: int) -> tuple[int, ...]:
        _, _, _, _, op, args, result = self.operations[operation]
        after = self.spec.successors(self._states[state], op, args, result)
        if operation < self.completed and self.reads[operation]:
            found = tuple(state for _ in after)
        else:
            found = tuple(map(self._number, after))
        self._moves[operation][state] = found
        return found

    def end_states(self, start: State) -> EndStates:
        """Every state that the segment can end in when it begins in `start`, each once, and `PAUSE` now and then.

        If operations are pending, not every end state is found; but if there is any, at least one is found.
        """
        completed, called_at, reads, moves = self.completed, self.called_at, self.reads, self._moves
        call_position, return_position, returning = self.call_position, self.return_position, self.returning
        alike_before = self.alike_before
        following = [*range(1, len(called_at)), 0]
        preceding = [0, *range(len(called_at) - 1)]
        any_reads, any_pending = any(reads), len(self.operations) > completed
        slots, last = self.slots, (1 << completed.bit_length()) - 1
        tried: defaultdict[int, set[int]] = defaultdict(set)
        tried_with: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        ended: set[int] = set()
        frames: list[tuple[int, int, int, int, int, int, list[int], tuple[int, ...]]] = []
        spent, state, left = self.spent, self._number(start), completed
        done = 0  # of completed operations: how many were called until the last one done, and `slots` of those left out
        taken = 0  # of pending operations: one bit for each

        def lift(number: int) -> None:
            for position in (call_position[number], return_position[number]):
                before, after = preceding[position], following[position]
                following[before] = after
                preceding[after] = before

        def put_back(number: int) -> None:
            for position in (return_position[number], call_position[number]):
                following[preceding[position]] = position
                preceding[following[position]] = position

        def with_done(number: int) -> int:
            called = done & last
            if number < called:
                return done ^ slots[number]
            left_out = done - called
            for between in range(called, number):
                left_out |= slots[between]
            return left_out | number + 1

        def lift_reads() -> list[int]:
            """Lift every read that may take effect now and fits; its answer cannot fit better later."""
            lifted = []
            before = 0
            while (number := called_at[position := following[before]]) >= 0:
                if reads[number] and (moves[number][state] if state in moves[number] else self._move(number, state)):
                    lift(number)
                    lifted.append(number)
                else:
                    before = position
            return lifted

        def pending_from(place: int) -> tuple[int, int]:
            """The first pending operation that may take effect now, searched from `place` in the order of trial, and
            its place; -1 if there is none.
            """
            first_return = following[0]
            while called_at[first_return] >= 0:
                first_return = following[first_return]
            order = self.in_order_of_trial(returning[first_return])
            for at in range(place, len(order)):
                candidate = order[at]
                alike = alike_before[candidate]
                is_first = alike < 0 or taken >> alike - completed & 1
                is_taken = taken >> candidate - completed & 1
                if is_first and call_position[candidate] <= first_return and not is_taken:
                    return candidate, at
            return -1, len(order)

        def without_detour(options: tuple[int, ...]) -> tuple[int, ...]:
            """The states after a pending operation, without those it could reach without the pending one just taken."""
            if not frames or frames[-1][0] < completed or frames[-1][6]:
                return options
            before = frames[-1][2]
            direct = moves[number][before] if before in moves[number] else self._move(number, before)
            return tuple(after for after in options if after not in direct)

        def is_new(state: int, done: int, taken: int) -> bool:
            if not any_pending:
                known = tried[state]
                size = len(known)
                known.add(done)
                return len(known) > size
            smaller = tried_with[state, done]
            if any(few & taken == few for few in smaller):
                return False
            smaller[:] = [few for few in smaller if few & taken != taken]
            smaller.append(taken)
            return True

        lifted = lift_reads() if any_reads else []
        left -= len(lifted)
        for number in lifted:
            done = with_done(number)
        # The next candidate: a position in the list, or the negative of a place in the trial order of pending
        # operations.
        cursor = following[0]
        options: tuple[int, ...] = ()
        while True:
            if not options:
                number = called_at[cursor] if left and cursor > 0 else -1
                if number >= 0 and reads[number]:
                    cursor = following[cursor]
                    continue
                if number < 0 and any_pending and left:  # the one that returns here does not fit
                    number, place = pending_from(-min(cursor, 0))
                    cursor = -place
                if number < 0:
                    if not left and state not in ended:
                        ended.add(state)
                        yield self._states[state]
                    if not frames:
                        spent[0] += 1  # for a walk that takes no other step
                        if spent[0] % SLICE == 0:
                            yield PAUSE
                        return
                    number, cursor, state, done, taken, left, lifted, options = frames.pop()
                    for read in reversed(lifted):
                        put_back(read)
                    if number < completed:
                        put_back(number)
                    if not options:
                        cursor = following[cursor] if cursor > 0 else cursor - 1
                    continue
                options = moves[number][state] if state in moves[number] else self._move(number, state)
                if number >= completed:
                    options = without_detour(options)
                spent[0] += 1
                if spent[0] % SLICE == 0:
                    yield PAUSE
                if not options:
                    cursor = following[cursor] if cursor > 0 else cursor - 1
                    continue
            after, options = options[0], options[1:]
            if number < completed:
                then_done, then_taken = with_done(number), taken
            else:
                then_done, then_taken = done, taken | 1 << number - completed
            if (after == state and number >= completed) or not is_new(after, then_done, then_taken):
                if not options:
                    cursor = following[cursor] if cursor > 0 else cursor - 1
                continue
            if number < completed:
                lift(number)
            before, state = state, after
            lifted = lift_reads() if any_reads else []
            frames.append((number, cursor, before, done, taken, left, lifted, options))
            left -= len(lifted) + (number < completed)
            done, taken = then_done, then_taken
            for read in lifted:
                done = with_done(read)
            cursor, options = following[0], ()


def _slots(called_at: Sequence[int], returning: Mapping[int, int]) -> list[int]:
    """For each completed operation a bit that no other one has while it runs, above the bits of the counter."""
    free: list[int] = []
    most = 1 << len(returning).bit_length()
    slots = [0] * len(returning)
    for position, number in enumerate(called_at):
        if number >= 0:
            if not free:
                free.append(most)
                most <<= 1
            slots[number] = free.pop()
        elif position in returning:
            free.append(slots[returning[position]])
    return slots


def _alike_before(operations: Sequence[Operation], completed: int) -> list[int]:
    """For each pending operation, the latest earlier pending one of the same name and arguments, else -1."""
    latest: dict[tuple[str, Any], int] = {}
    before = [-1] * len(operations)
    for number in range(completed, len(operations)):
        kind = (operations[number].op, operations[number].args)
        before[number] = latest.get(kind, -1)
        latest[kind] = number
    return before
