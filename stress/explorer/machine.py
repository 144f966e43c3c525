"""The machine: runs the threads of a scenario one at a time. Before every access it asks a strategy which thread makes
it.

An execution is a sequence of *steps*. A step is one access of a slot and everything that its thread does until its next
access. Decision n comes before step n. A call begins with its first access and has returned with its last one: no
schedule can give it a shorter interval, and a longer one would only allow more explanations.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple, Protocol

from stress.answers import as_it_is, space_of
from stress.explorer.coroutines import MAIN, Abandoned, Coroutines, new_coroutines
from stress.explorer.policy import HERE, Refused
from stress.explorer.slots import A_LONG_TIME, CLOCK, LOAD, Place, Seam, Several, meet
from stress.history import ANSWERS
from stress.outside import Outside

__all__ = [
    "LIVELOCK", "NO_STEPS", "BoundCall", "Drift", "Execution", "Machine", "Step", "Strategy", "frames", "lowest",
    "name_of", "standing", "stands",
]  # fmt: skip

LIVELOCK: Final = 1_000
"""Steps without the return of any call; a scenario that makes progress needs less than a third of them."""

BoundCall = tuple[Callable[..., Any], tuple[Any, ...]]


class Strategy(Protocol):
    """Decides which thread of `machine` makes the next step."""

    machine: Machine

    def begin(self, machine: Machine) -> None:
        """Called before every execution."""
        self.machine = machine

    def decide(self, me: int) -> int:
        """The thread that makes step `machine.step`. `me` made the previous step; it is `MAIN` if that thread has ended
        or waits. The answer must be among `machine.enabled`; `MAIN` ends the execution.
        """


def name_of(slot: Any) -> Any:
    """The place that a step on a slot accesses: the slot's name, or the slot itself if it is older than the execution.
    An object that is not a slot has no name.
    """
    name = getattr(slot, "_name", None)
    return slot if name is None else name


class Step(NamedTuple):
    """What matters when a step is swapped with a step of another thread. `slot` is the slot's name (`name_of`).

    Executions that differ only by swaps of neighbouring steps that do not depend on each other have the same visible
    result.
    """

    slot: Any
    wrote: bool
    calls: bool
    returns: bool

    def depends_on(self, other: Step) -> bool:
        """Whether the order of the two matters: if both access one slot, and one of them changes it (a failing
        compare-and-set is a read), or one of them returns from a call and the other one begins a call, since their
        order is the real-time order of the history.
        """
        if self.wrote or other.wrote:
            mine, its = self.slot, other.slot
            if mine == its or ((type(mine) is Several or type(its) is Several) and meet(mine, its)):
                return True
        return (self.calls and other.returns) or (self.returns and other.calls)


@dataclass(slots=True)
class Execution:
    """The record of an execution: step n was made by `order[n]` on `slots[n]`, and changed it if n is in `wrote`.

    `enabled[n]` are the threads that could have made it, as bits. Steps in `called` begin a call, those in `returned`
    end one. `cut` tells that the strategy ended it early. `logs` has, for each thread, the completed calls as
    (time of call, time of return, answer); `begun` has the times at which the running calls were called, -1 for none.
    `answers` are those of the logs, one after another, in the form that the specification uses; the code that judges
    sets them. `waiting` tells in words what threads wait for in a deadlock.
    """

    order: list[int] = field(default_factory=list)
    slots: list[Any] = field(default_factory=list)
    wrote: set[int] = field(default_factory=set)
    enabled: list[int] = field(default_factory=list)
    called: set[int] = field(default_factory=set)
    returned: set[int] = field(default_factory=set)
    logs: list[list[tuple[int, int, Any]]] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)
    answers: tuple[Any, ...] = ()
    taken: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The steps that waited for a lock if need be: the latest that took it before, and the one that released it."""
    blocked: dict[int, tuple[Any, int]] = field(default_factory=dict)
    """The threads that wait for a lock in the end: the lock, and the step that took it. -1 is before the execution."""
    trouble: str = ""
    cut: bool = False
    waiting: dict[int, str] = field(default_factory=dict)

    def step(self, at: int) -> Step:
        """Step number `at`."""
        return Step(name_of(self.slots[at]), at in self.wrote, at in self.called, at in self.returned)

    def names(self) -> list[Any]:
        """The name of the slot of each step; None for those that are older than the execution, or no slots."""
        return [getattr(slot, "_name", None) for slot in self.slots]

    def precedence(self) -> tuple[int, ...]:
        """Which calls came before which returns, and the reverse: all that a checker can use of the times. For each
        call of each thread it has the number of returns before it and, if it has returned, that of calls before that.
        """
        calls, returns = sorted(self.called), sorted(self.returned)
        found: list[int] = []
        for log, begun in zip(self.logs, self.begun, strict=True):
            for called, returned, _ in log:
                found.append(bisect_left(returns, called >> 1))
                found.append(bisect_right(calls, returned >> 1))
            if begun >= 0:
                found.append(bisect_left(returns, begun >> 1))
            found.append(-1)
        return tuple(found)


_OTHERWISE: Final = "a schedule that begins as an earlier one accesses something else, or changes it otherwise"


class Drift(BaseException):
    """The code has changed since a schedule was recorded, or it is not deterministic."""

    def __init__(self, told: str = _OTHERWISE) -> None:
        super().__init__(told)

    @classmethod
    def at(cls, thread: int, step: int) -> Drift:
        """A strategy chose a thread that has no step to make."""
        return cls(f"thread {thread} has no step number {step} to make")


class _Livelock(BaseException):
    """No call has returned for more steps than any call needs."""


_NOWHERE: Final = Place(None, "(no access)")
"""The slot of a step whose call accesses nothing."""


class _Circle:
    """The wait of a thread that goes in a circle: for a change of one of the places that it reads there."""

    def __init__(self, places: frozenset[Any]) -> None:
        self.places = places

    def waits_for(self) -> str:
        """As a primitive's `waits_for`."""
        return "something that it reads again and again"


def lowest(bits: int) -> int:
    """The number of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1


class Machine:
    """Runs executions on one seam. `step` is the number of the next step, `enabled` has a bit for each thread that can
    make it. If it reaches step `limit` without the return of any call, that is a livelock. `observe` is called before
    every step, unless it is None.

    A `fair` machine handles a thread that goes in a circle: the thread reads what it has read, with the same values in
    its variables, and nothing has been changed since. Such a thread makes no more steps until a place that it reads
    there is changed, or until no other thread can continue. So a thread that waits by trying again is treated like any
    other waiting thread. Some loops that look so come to an end by themselves, since a variable does not show all: how
    far an iterator is, what an object holds. Therefore `is_circle` is asked. Where it does not know, the thread goes on
    alone until its call returns, or 2,000 steps are made, and `learn_circle` is told.
    """

    def __init__(self, seam: Seam, coroutines: Coroutines | None = None) -> None:
        self.seam = seam
        self.coroutines = new_coroutines() if coroutines is None else coroutines
        self.observe: Callable[..., None] | None = None
        self.most = LIVELOCK
        self.fair = False
        self.begins_late = False
        """Whether each call of a thread begins just before its first step."""
        self.between = False
        """Whether threads stop between steps, too (`pause`). Then the beginning and the end of a call are steps."""
        self.outside = Outside()
        self._decide: Callable[[int], int] = lambda me: MAIN
        self._switch = self.coroutines.switch
        self._begin(())

    def _begin(self, plans: Sequence[Sequence[BoundCall]]) -> None:
        """Make all anew that belongs to one execution."""
        size = len(plans)
        self._plans = plans
        self.execution = Execution(logs=[[] for _ in plans], begun=[-1] * size)
        self._begun = self.execution.begun
        self._made_by: Callable[[int], None] = self.execution.order.append
        self._made_on: Callable[[Any], None] = self.execution.slots.append
        self._could_be: Callable[[int], None] = self.execution.enabled.append
        self.step, self.enabled, self.limit = 0, (1 << size) - 1, self.most
        self._current = MAIN
        self._granted = False
        self._names = [number << 32 for number in range(size)]
        self._waiting: dict[int, Any] = {}
        self._looks_for_circles = self.fair
        self._stands: tuple[Any, ...] = ()
        """Where a thread stood in its loop after all had gone in circles."""
        self._read: list[dict[Any, Any]] = [{} for _ in plans]
        self.locks_held = [0] * size
        self._turns = [0] * size
        """How often a loop of each thread that no iterator ends has begun again."""
        self._released = [0] * size
        """How often each thread has released a lock."""
        self._wanted: list[Any] = [None] * size
        """The lock that each thread takes with its next step."""
        self._lock_steps: dict[Any, list[int]] = {}
        """Of each lock, the latest step that took it and that released it."""
        self._starts = False
        """Whether threads go to their first accesses, one after another, before any step is made: so it is known who
        waits."""
        self._alone: str | None = None
        """The loop whose end is tried: its thread makes all steps."""
        self._passed: list[list[Any]] = [[] for _ in plans]
        """Where each thread has let time pass in the present call."""
        self._escaped: BaseException | None = None
        Refused.told = ""

    def run(self, plans: Sequence[Sequence[BoundCall]], strategy: Strategy) -> Execution:
        """Make the calls of each plan in a thread, as `strategy` decides.

        Raises:
            Drift: the strategy chose a thread that cannot make the step.
        """
        size = len(plans)
        self._begin(plans)
        execution = self.execution
        strategy.begin(self)
        self._decide = strategy.decide
        self.coroutines.start(self._body, size)
        self.seam.before, self.seam.scheduler = self._before, self
        try:
            self._starts = self.fair and not (self.begins_late or self.between)
            for me in range(size):
                if self._starts and self.enabled >> me & 1:
                    self._resume(me)
            self._starts = False
            while not execution.trouble and (self.enabled or self._relent()):
                to = self._decide(MAIN)
                if to != MAIN:
                    self._resume(to)
                elif self.enabled:
                    break
            if self._waiting and not (self.enabled or execution.trouble):
                execution.trouble = "deadlock"
                execution.waiting = {thread: _words(awaited) for thread, awaited in self._waiting.items()}
                for thread in self._waiting:
                    if self._begun[thread] == -2:  # it waits for a lock, and has made no step
                        self._begun[thread] = 2 * self.step
            for thread, awaited in self._waiting.items():
                if awaited is self._wanted[thread]:
                    execution.blocked[thread] = awaited, self._lock_steps.get(name_of(awaited), NO_STEPS)[0]
        finally:
            self.seam.before = self.seam.scheduler = None
            self.coroutines.abandon()
        self.outside.raise_again()
        if self._escaped is not None:
            raise self._escaped
        if Refused.told:
            raise Refused(Refused.told)
        execution.cut = self.enabled != 0 and not execution.trouble
        return execution

    def _resume(self, to: int) -> None:
        self._current = to
        self.coroutines.resume(to)

    def waits(self, thread: int) -> bool:
        """Whether a thread waits for another one, or for a time."""
        return thread in self._waiting

    def _relent(self) -> bool:
        """No thread can continue: let threads that go in circles continue. Returns whether there are any."""
        circling = [thread for thread, awaited in self._waiting.items() if type(awaited) is _Circle]
        self._looks_for_circles = False
        for thread in circling:
            self._let_on(thread)
        return bool(circling)

    def _let_on(self, thread: int) -> None:
        lock = self._wanted[thread]
        if lock is not None and lock._value:
            self._waiting[thread] = lock
            return
        del self._waiting[thread]
        self.enabled |= 1 << thread

    def _body(self, me: int) -> None:
        """Make the calls of a thread."""
        log, begun = self.execution.logs[me], self._begun
        self._granted = not self._starts  # the decision to let it begin includes its first access
        try:
            for method, args in self._plans[me]:
                begun[me] = -2
                if self.begins_late:
                    self._await_first(me)
                elif self.between:
                    self._before(_NOWHERE)
                try:
                    answer = method(*args)
                except ANSWERS as error:
                    if self.outside.behind(error) is not None:
                        raise
                    answer = error
                if self._alone is not None:
                    self._concludes(is_circle=False)
                if self.seam.before is None:
                    raise Abandoned  # the call has caught the exception that was to end it
                has_time = begun[me] != -2 and not self._granted
                if not has_time or self.between:
                    self._before(_NOWHERE)
                returned = 2 * self.step - 1
                log.append((begun[me], returned, as_it_is(answer)))
                begun[me] = -1
                self._read[me].clear()
                self._passed[me].clear()
                self.limit = self.step + self.most
                self.execution.returned.add(self.step - 1)
            self.enabled &= ~(1 << me)
        except _Livelock as error:
            self.execution.trouble = "livelock"
            self._escaped = self.outside.behind(error) or self._escaped
        except Abandoned as error:
            self._escaped = self.outside.behind(error) or self._escaped
            raise
        except BaseException as error:  # noqa: BLE001 - not an answer: re-raised for the caller of the machine
            self._escaped, self.enabled = self.outside.behind(error) or error, 0

    def _await_first(self, me: int) -> None:
        """Begin a call when it is decided that this thread makes the next step."""
        if not self._granted:
            to = self._decide(me)
            if to != me:
                self._hand_over(me, to)
            self._granted = True

    def pause(self, decide: Callable[[int], int]) -> None:
        """Let another thread run, if `decide` says so, where the running one is about to make no step."""
        me = self._current
        if me < 0 or self._begun[me] == -1 or self._alone is not None:
            return
        to = decide(me)
        if to != me:
            granted, self._granted = self._granted, False
            self._hand_over(me, to)
            self._granted = granted

    def _before(self, slot: Any, expected: Any = LOAD, desired: Any = None) -> None:
        """Called before every access: ask for the next decision, unless it was already made in favour of this
        thread."""
        me, begun = self._current, self._begun
        if me < 0 or begun[me] == -1:
            return  # what an earlier execution has left behind ends now, and no call is under way
        if self._looks_for_circles and not self._granted and (expected is LOAD or type(slot) is not Place):
            self._look_for_circle(me, slot, expected)
        if self._granted:
            self._granted = False
        elif self._starts:
            self._hand_over(me, MAIN)
        elif self._alone is None:
            to = self._decide(me)
            if to != me:
                self._current = to
                self._switch(me, to)
        step = self.step
        if step >= self.limit:
            self._reaches_limit(me)
        self._made_by(me)
        self._made_on(slot)
        self._could_be(self.enabled)
        if expected is not LOAD and slot._value is expected:
            self.execution.wrote.add(step)
            if self.fair:
                if type(slot) is Place and slot._name is not CLOCK:
                    for read in self._read:
                        read.clear()
                else:
                    self._note_change(me, slot, expected)
            for awaited in self._waiting.values():
                if type(awaited) is _Circle:
                    self._let_circles_on(name_of(slot))
                    break
        if begun[me] == -2:
            begun[me] = 2 * step
            self.execution.called.add(step)
        if self.observe is not None:
            self.observe(me, slot, expected, desired)
        self.step = step + 1

    def take(self, lock: Any, doing: str) -> bool:
        """Take a lock. A thread that has come so far makes no step until the lock is free and it is its turn: to find
        that it is not free would be a step that nobody can tell from none. Answers whether the lock was taken.
        """
        me = self._current
        if self._begun[me] == -1:
            return not lock._value  # as for any step
        if self._granted:  # the thread has begun with this step
            self._before(lock, False, doing)
            if not lock._value:
                return True
        self._wanted[me] = lock
        if self._looks_for_circles:
            self._look_for_circle(me, lock, False)
        if not self._granted:
            self._await_turn(me, lock)
        self._granted = True
        self._wanted[me] = None
        taken, freed = self._lock_steps.get(name_of(lock), NO_STEPS)
        if freed >= 0:
            self.execution.taken[self.step] = taken, freed
        self._before(lock, False, doing)
        return True

    def _await_turn(self, me: int, lock: Any) -> None:
        if lock._value:
            self._waiting[me] = lock
            self.enabled &= ~(1 << me)
        elif self._alone is not None:
            return
        to = MAIN if self._starts or not self.enabled else self._decide(MAIN if lock._value else me)
        if to != me:
            self._hand_over(me, to)

    def _reaches_limit(self, me: int) -> None:
        """No call has returned for long. That is a livelock if all have gone in circles and no other one can continue.
        Else the call may be long, or wait for others that could continue: its loop changes something at every turn, so
        nothing shows that.
        """
        if self._alone is not None:
            self._concludes(is_circle=True)
        if not self.locks_held[me] or self.step >= self.limit + _GRACE:
            raise (Refused(_LONG) if self.fair and (self.enabled != 1 << me or self._looks_for_circles) else _Livelock)

    def _look_for_circle(self, me: int, slot: Any, expected: Any) -> None:
        """Note what a thread is about to read, and park it if it goes in a circle. If the circle passes a lock, that is
        done where the thread takes it again: with the lock, it would let nobody on.
        """
        read, place = self._read[me], name_of(slot)
        if expected is not LOAD and slot._value is expected:
            if expected is not False or not getattr(slot, "is_lock", False):
                return
            place = (_ENTERS, place)
        turns = self._turns[me]
        if place not in read:
            read[place] = turns, None
        elif read[place][0] != turns:
            self._mind_circle(me, read, place)

    def _note_change(self, me: int, slot: Any, expected: Any) -> None:
        """What threads have read is no longer so. But to take a lock and to release it changes nothing for the thread
        itself, nor for those that have not seen the lock. It is the same with a sleep, and a wait that ends in vain.
        """
        place = name_of(slot)
        if getattr(slot, "is_lock", False):
            if expected is False:
                self.locks_held[me] += 1
            else:
                self._released[me] += 1
                if slot._holder >= 0:  # another thread may release it
                    self.locks_held[slot._holder] -= 1
            if place not in self._lock_steps:
                self._lock_steps[place] = [-1, -1]
            self._lock_steps[place][expected is not False] = self.step
            if expected is False:
                for thread, wanted in enumerate(self._wanted):
                    if wanted is slot and self.enabled >> thread & 1:
                        self._waiting[thread] = slot
                        self.enabled &= ~(1 << thread)
        elif place is not CLOCK and not getattr(slot, "is_quiet", False):
            for read in self._read:
                read.clear()
            return
        for thread, read in enumerate(self._read):
            if thread != me and place in read:
                read.clear()

    def _mind_circle(self, me: int, read: dict[Any, Any], place: Any) -> None:
        """Make a thread wait that is about to read what it has read before, if it is in the same state."""
        now = (self._released[me] if self.locks_held[me] else None, *standing())
        if now != read[place][1]:
            read[place] = self._turns[me], now
            return
        if self._alone is not None:
            return
        where = _where()
        is_circle = self.is_circle(where)
        if is_circle is None:
            self._alone = where
            self.limit = min(self.limit, self.step + _TRIED)
        elif is_circle:
            if self._waits_for_time(me, now):
                self.seam.clock += A_LONG_TIME
            else:
                self._park(me, _Circle(frozenset(read)))

    def _waits_for_time(self, me: int, now: Any) -> bool:
        """Whether time may bring a thread further that goes in a circle: it looks at the clock there, and has not yet
        come back in the same state after a long time.
        """
        passed, read = self._passed[me], self._read[me]
        if CLOCK not in read or read[CLOCK][0] < self._turns[me] - 1 or now in passed:
            return False
        if len(passed) == _MOST_PASSED:
            raise Refused(_LOOKS_ON)
        passed.append(now)
        return True

    def goes_round(self, rounds: int, changes: bool) -> bool:
        """As `OneThread.goes_round`. To look at the clock is a step here. A loop that is tried, and changes nothing,
        goes in a circle. If all go in circles, or wait, this one goes on in vain.
        """
        if rounds <= _ROUNDS_TRIED or changes:
            return False
        self._concludes(is_circle=True)
        stands, self._stands = self._stands, () if self._looks_for_circles else standing()
        is_in_vain = self._stands != () and self._stands == stands
        if is_in_vain and not self.enabled & ~(1 << self._current):
            raise _Livelock
        return is_in_vain

    def is_circle(self, where: str) -> bool | None:
        """Whether a loop that reads the same again goes in a circle, as far as is known. In code of which all state is
        in variables, it does."""
        return True

    def learn_circle(self, where: str, is_circle: bool) -> None:
        """A loop was tried."""

    def _concludes(self, *, is_circle: bool) -> None:
        where, self._alone = self._alone, None
        if where is not None:
            self.learn_circle(where, is_circle)

    def _let_circles_on(self, place: Any) -> None:
        """Let threads continue that go in circles where they read what is changed now."""
        for thread, awaited in list(self._waiting.items()):
            if type(awaited) is _Circle and any(meet(place, each) for each in awaited.places):
                self._let_on(thread)

    def _park(self, me: int, awaited: Any) -> None:
        """Make no step until another thread has resumed this one, with the decision that it makes the next step."""
        self._waiting[me], self._granted = awaited, False
        self.enabled &= ~(1 << me)
        self._hand_over(me, self._decide(MAIN) if self.enabled else MAIN)
        self._granted = True  # the decision to continue here includes the access

    def _hand_over(self, me: int, to: int) -> None:
        if self._alone is not None:
            self._concludes(is_circle=True)
        self._current = to
        self._switch(me, to)

    def turn(self) -> None:
        """A loop of the running thread that no iterator ends begins again. What is read in its turn for the first time
        is compared with the turn before: within one turn, C code or an iterator may go on where no variable shows it.
        """
        self._turns[self._current] += 1

    # The other methods that the seam needs.

    def name(self) -> int:
        """As `Seam` says of `name`."""
        self._names[self._current] += 1
        return self._names[self._current]

    def identity(self) -> int:
        """As `Seam` says of `identity`."""
        return self._current

    caller = identity

    def wait(self, event: Any) -> None:
        """As `Seam` says of `wait`. A waiting thread is not enabled; the end of a wait is a read of the event."""
        while not event._value:
            self._park(self._current, event)
        self._before(event)

    def park(self, awaited: Any, timeout: float | None) -> bool:
        """Wait until `awaited` is changed; False if the timeout comes first. A thread that waits with a timeout can
        make a step at any time: the one that finds that its time is up.
        """
        me = self._current
        if timeout is None:
            self._park(me, awaited)
            return True
        if self._alone is not None:
            self._concludes(is_circle=True)
        self._waiting[me] = awaited
        to = self._decide(MAIN)
        if to != me:
            self._hand_over(me, to)
        self._granted = True
        if self._waiting.pop(me, None) is None:
            return True
        self.seam.clock += timeout
        return False

    def wake(self, event: Any) -> None:
        """As `Seam` says of `wake`."""
        if self._waiting:
            for number in [number for number, other in self._waiting.items() if other is event]:
                self._let_on(number)


NO_STEPS: Final = (-1, -1)
_ENTERS: Final = object()
_GRACE: Final = 1_000
_TRIED: Final = 2_000
"""Steps that a loop is given to end by itself."""
_ROUNDS_TRIED: Final = 10
_MOST_PASSED: Final = 10
_LOOKS_ON: Final = (
    "a loop looks at the clock again and again, and goes on however late it is: nothing shows how long it waits"
)
_LONG: Final = (
    "a call makes thousands of steps: it is long, or goes round and round, and every round changes something, so that "
    "its schedules have no end"
)


_PLAIN: Final = frozenset({type(None), bool, int, float, str, bytes, frozenset})


def frames() -> Iterator[FrameType]:
    """The frames of the running call, the innermost one first that is not the explorer's."""
    frame: FrameType | None = sys._getframe(1)
    is_own = True
    while frame is not None and frame.f_code is not _BODY:
        is_own = is_own and frame.f_code.co_filename.startswith(HERE)
        if not is_own:
            yield frame
        frame = frame.f_back


def standing() -> tuple[Any, ...]:
    """The position of the running call: its present instructions, and the values of its local variables."""
    return tuple(map(stands, frames()))


def stands(frame: FrameType) -> tuple[Any, ...]:
    """The position of one function."""
    return frame.f_code, frame.f_lasti, *map(_value_of, frame.f_locals.values())


def _value_of(value: Any, is_part: bool = False) -> Any:
    """The identity of a variable's value, and of its attributes; how many items it has."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple:
        return tuple(_value_of(each, is_part) for each in value)
    if kind in _SIZED:
        return id(value), len(value)
    space = None if is_part or issubclass(kind, (type, FunctionType, ModuleType)) else space_of(value)
    attributes = space.items() if type(space) is dict else ()
    return id(value), *((name, _value_of(each, True)) for name, each in attributes)


def _where() -> str:
    """The position of the running call, as lines."""
    codes = ((each.f_code, each.f_lineno) for each in frames())
    return "<".join(f"{code.co_qualname}:{line}" for code, line in codes if not code.co_filename.startswith(HERE))


_SIZED: Final = frozenset({list, dict, set, deque, bytearray})
_BODY: Final = Machine._body.__code__


def _words(awaited: Any) -> str:
    """A description of what a thread waits for."""
    told = getattr(awaited, "waits_for", None)
    return "an event" if told is None else str(told())
