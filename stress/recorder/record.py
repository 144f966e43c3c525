"""The recorder: several threads call one object at the same time, and their calls are logged with as little overhead as
possible.

All calls of a batch are prepared before its threads start. They are made in rounds: a barrier separates one round from
the next, so no operation runs when a round begins, and a checker can cut the history there. In a round a thread does
only

    call = now(); result = method(*args); log((call, now(), result))

**Clocks.** The default is a ticket: one `itertools.count` from which all threads draw. A draw is atomic on every build
of CPython, so tickets are unique, and an operation that returned with a smaller ticket than the one with which another
was called did happen before it. `monotonic` takes time stamps instead. It writes nothing that threads share, so it
cannot order accesses that the object under test failed to order. Equal stamps count as overlapping.

**Overlap.** During a recording the interpreter's switch interval is one microsecond. If that is not enough (it rarely
is with a global interpreter lock), `yields` makes threads yield, with that probability, before every *bytecode
instruction* of the Python source under test, also in threads that the object starts. C code and the standard library
run unchanged. The seed determines where threads yield.

**Deferred answers.** A snapshot is taken at one moment and read at another. An operation may answer with a `Deferred`:
it is read when the round is over, and once more at the end of the batch, after all later changes. If the two readings
differ, the answer becomes `Raised("SnapshotChanged")`, which no specification allows.
"""

from __future__ import annotations

import inspect
import itertools
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from random import Random
from types import FrameType
from typing import Any, Final

from stress.answers import as_it_is
from stress.checker.waiting import wait_as_they_should
from stress.history import ANSWERS, UNSEEN, History, Operation, Raised, freeze, renumbered, show, steady
from stress.process_wide import COLLECTOR, SWITCH_INTERVAL, TRACE_OF_NEW_THREADS
from stress.processes import forks, gil_enabled
from stress.recorder.progress_log import Plan, ProgressLog
from stress.recorder.workload import refuse_misfits
from stress.reference import name_of
from stress.rest import end_of, rest_of
from stress.source import is_ours, is_standard
from stress.spec import Spec
from stress.values import fresh

_LOOK: Final = 0.05
"""Seconds between two checks of the time and of the progress."""
_TO_END: Final = 0.2
"""Seconds in which threads should end after an interruption."""

_OFTEN: Final = 1e-6
"""Seconds after which the interpreter lets another thread run: as few as it allows."""
_SPINS: Final = 1000
"""How often a thread checks for the others before it begins to yield: longer than a thread takes to wake up."""

Entry = tuple[int, int, Any]
"""The times at which a call was made and returned, and its answer."""

CLOCKS: Final[dict[str, Callable[[], Callable[[], int]]]] = {
    "ticket": lambda: itertools.count().__next__,
    "monotonic": lambda: time.monotonic_ns,
}


class Deferred:
    """An answer that is read after the round, and again after the batch; see the module's docstring.

    Args:
        read: gives the content; called when no operation is running.
    """

    def __init__(self, read: Callable[[], Any]) -> None:
        self._read = read
        self.first: Any = UNSEEN

    def read(self) -> Any:
        """The present content, or the exception that reading it raised."""
        try:
            return freeze(self._read())
        except ANSWERS as error:
            return Raised.of(error)

    def read_alone(self) -> Any:
        """The content, where no other thread can change it."""
        return self.read()

    def answer(self) -> Any:
        """The result of the first reading, if a second one now gives the same. UNSEEN if its round did not end."""
        if self.first is UNSEEN:
            return UNSEEN
        second = self.read()
        if second == self.first:
            return second
        return Raised("SnapshotChanged", f"first {show(self.first)}, later {show(second)}")


class Stuck(Exception):
    """A thread has been inside one operation for too long. `history` is what was recorded until then, `stacks` tells
    where every thread was; `waits` means that all of them were found to wait as the specification says.
    """

    def __init__(self, history: History, seconds: float, stacks: str = "", *, waits: bool = False) -> None:
        self.history, self.stacks, self.waits = history, stacks, waits
        super().__init__(f"nothing has moved for {seconds:g} s: {pending_calls(history)}")


def pending_calls(history: Iterable[Operation]) -> str:
    """The calls that never returned, with their threads."""
    return ", ".join(f"thread {each.thread} in {each.describe()}" for each in history if each.pending)


class _Recording:
    """The shared data of the threads of one batch."""

    def __init__(
        self,
        plans: Sequence[Plan],
        now: Callable[[], int],
        subject: Any,
        until: float | None,
        log: ProgressLog | None,
    ) -> None:
        self.plans, self.now, self.subject, self.until, self.log = plans, now, subject, until, log
        self.stop: list[bool] = []
        """Not empty: no more calls are made."""
        self.over = False
        self.logs: list[list[Entry]] = [[] for _ in plans]
        self.seen, self.awake = [0 for _ in plans], [0 for _ in plans]
        self.forks = forks()
        self.barrier = threading.Barrier(len(plans), action=self.read_deferred)

    def read_deferred(self) -> None:
        """Read the deferred answers of the finished round for the first time. Called between two rounds. Afterwards
        check whether time is up.
        """
        self.over = bool(self.stop) or self.is_late()
        for number, log in enumerate(self.logs):
            for _, _, result in log[self.seen[number] :]:
                if type(result) is Deferred:
                    result.first = result.read()
            self.seen[number] = len(log)

    def is_late(self) -> bool:
        """Whether time is up. It is not before something was called, however long it took to begin."""
        return self.until is not None and time.monotonic() >= self.until and any(self.logs)

    def work(self, number: int, tracer: Callable[..., Any] | None) -> None:
        """Make the calls of one thread: its rounds, each after the barrier."""
        sys.settrace(None)  # it has that of threads which the object starts, and would yield here
        plan = self.plans[number]
        methods = {op: getattr(self.subject, op) for calls in plan for op, _ in calls}
        rounds = [[(methods[op], fresh(args)) for op, args in calls] for calls in plan]
        log: Callable[[Entry], None] = self.logs[number].append
        if self.log is not None:
            log = _counted(log, self.log.returned, number)
        try:
            for round_number, calls in enumerate(rounds, start=1):
                self.barrier.wait()
                if self.over:
                    return
                if not self.meet(number, round_number):
                    return
                sys.settrace(tracer)
                _perform(calls, self.now, log, self.stop)
                sys.settrace(None)
                if forks() != self.forks:
                    os._exit(0)  # a call has forked, and the child has come back from it
            self.barrier.wait()
        except threading.BrokenBarrierError:
            return  # the batch was given up: only what is in the log counts

    def meet(self, number: int, round_number: int) -> bool:
        """Wait until all threads are awake: the barrier wakes them one after another. False if the batch was given up
        meanwhile.
        """
        awake = self.awake
        awake[number] = round_number
        turns = itertools.count()
        while min(awake) < round_number:
            if self.barrier.broken:
                return False
            if next(turns) > _SPINS:
                time.sleep(0)
        return True

    def is_calling(self, number: int) -> bool:
        """Whether a thread makes the calls of the latest round. None does before all have begun it (`meet`)."""
        begun = self.plans[number][: min(self.awake)]
        return len(self.logs[number]) < sum(map(len, begun))


def _counted(log: Callable[[Entry], None], returned: Any, number: int) -> Callable[[Entry], None]:
    def keep(entry: Entry) -> None:
        log(entry)
        returned[number] += 1

    return keep


def _perform(
    calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]],
    now: Callable[[], int],
    log: Callable[[Entry], None],
    stop: list[bool],
) -> None:
    for method, args in calls:
        if stop:
            return
        call = now()
        try:
            result = as_it_is(method(*args))
        except BaseException as error:  # noqa: BLE001 - an exception is an answer
            result = error
        log((call, now(), result))


def record(
    subject: Any,
    plans: Sequence[Plan],
    spec: Spec,
    *,
    clock: str = "ticket",
    yields: float = 0.0,
    seed: int | str = 0,
    collect: bool = False,
    patience: float = 30.0,
    until: float | None = None,
    log: ProgressLog | None = None,
) -> History:
    """Let one thread for each plan call `subject`, and return their history.

    Args:
        subject: the object; an operation is a method of it.
        plans: for each thread its rounds, each a sequence of `(op, args)`. All have the same number of
            rounds.
        spec: its `normalise` reduces an answer to the part that counts.
        clock: "ticket" or "monotonic".
        yields: the probability with which a thread yields before a bytecode instruction of the subject's Python source.
        seed: decides where threads yield.
        collect: whether the garbage collector may run.
        patience: seconds without any progress after which the batch is given up.
        until: the time, as of `time.monotonic`, after which no more calls are made, once there is one.
        log: gets the number of calls that have returned, in case the process dies.

    Returns:
        the history. Recording adds about 0.2 microseconds to an operation.

    Raises:
        Stuck: an operation did not return.
        AttributeError: the subject has no method with the name of an operation.
        ValueError: a method does not take as many arguments as an operation gives.
    """
    refuse_misfits(subject, (call for plan in plans for calls in plan for call in calls))
    batch = _Recording(plans, CLOCKS[clock](), subject, until, log)
    tracers = [_yielder(yields, Random(f"{seed}/{number}")) if yields else None for number in range(len(plans))]
    threads = [
        threading.Thread(target=batch.work, args=(number, tracer), name=f"stress-{number}", daemon=True)
        for number, tracer in enumerate(tracers)
    ]
    collector = nullcontext() if collect else COLLECTOR.held(False)
    with SWITCH_INTERVAL.held(_OFTEN), collector, threads_yielding(yields, seed):
        waits = _join(
            threads, batch, patience,
            lambda: wait_as_they_should(_operations(batch, spec, _inside(threads, batch)), spec),
        )  # fmt: skip
    inside = _inside(threads, batch)
    stacks = "" if waits is None else stacks_of(threads)
    header = {
        "spec": name_of(spec), **spec.options(), "clock": clock, "threads": len(plans), "seed": seed,
        "python": sys.version.split()[0], "gil": gil_enabled(),
    }  # fmt: skip
    history = History(_operations(batch, spec, inside), header)
    if waits is not None:
        raise Stuck(history, patience, stacks, waits=waits)
    return history


_STILL: Final = 0.05
"""Seconds without any progress after which the specification is asked whether all threads may wait, if all sleep."""
_BUSY: Final = 1.0
"""The same if some do not: they may wait by trying again."""


def stacks_of(threads: Iterable[threading.Thread]) -> str:
    """The present stacks of threads, without this package's frames, each with the latest call last."""
    frames = sys._current_frames()
    told = []
    for thread in threads:
        if thread.ident in frames:
            stack = [each for each in traceback.extract_stack(frames[thread.ident]) if not is_ours(each.filename)]
            told += [thread.name, *"".join(traceback.format_list(stack)).splitlines()] if stack else []
    return "\n".join(told)


@contextmanager
def threads_yielding(probability: float, seed: int | str) -> Iterator[None]:
    """Within the block, threads that the object starts yield, too."""
    its_own = _yielder(probability, Random(f"{seed}/its own")) if probability else None
    with TRACE_OF_NEW_THREADS.held(its_own) if its_own else nullcontext():
        yield


def _inside(threads: Sequence[threading.Thread], batch: _Recording) -> set[int]:
    """The threads that are in a call."""
    return {number for number, thread in enumerate(threads) if thread.is_alive() and batch.is_calling(number)}


def _all_sleep(threads: Sequence[threading.Thread]) -> bool:
    """Whether no thread works, or is about to: one that the system has not let run yet does not sleep."""
    return all(rest_of(thread.native_id)[0] for thread in threads if thread.is_alive())


def _join(
    threads: Sequence[threading.Thread], batch: _Recording, patience: float, may_wait: Callable[[], bool]
) -> bool | None:
    """Start the threads, and wait for their end, or until nothing has moved for `patience` seconds. None if all calls
    returned, else whether all of them wait as they should. An exception from outside, such as Ctrl-C, gives the batch
    up."""
    done, since, asked = -1, time.monotonic(), False
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(_LOOK)
                if batch.is_late() and not batch.stop:
                    batch.stop.append(True)
                moved = sum(map(len, batch.logs))
                if moved != done:
                    done, since, asked = moved, time.monotonic(), False
                    continue
                still, waits = time.monotonic() - since, False
                if still > _STILL and not asked and (still > _BUSY or _all_sleep(threads)):
                    asked = bool(_inside(threads, batch))
                    waits = asked and may_wait()
                if waits or still > patience:
                    batch.barrier.abort()
                    for other in threads:  # threads that only waited for the others end here
                        other.join(_LOOK)
                    return waits
    except BaseException:  # such as Ctrl-C, or what a handler of a signal raises
        batch.stop.append(True)
        batch.barrier.abort()
        end_of(threads, _TO_END)  # those whose calls return
        raise
    return None


def _operations(batch: _Recording, spec: Spec, inside: Collection[int]) -> tuple[Operation, ...]:
    def answer_of(op: str, result: Any) -> Hashable:
        answer: Hashable = result.answer() if type(result) is Deferred else result
        if answer is UNSEEN:
            return UNSEEN
        try:
            return spec.normalise(op, answer)
        except Exception:
            if isinstance(answer, (BaseException, Raised)):  # `normalise` reads answers: an exception is itself
                return freeze(answer)
            raise

    found = []
    for thread, (plan, log) in enumerate(zip(batch.plans, batch.logs, strict=True)):
        calls = [(op, tuple(map(steady, args))) for calls in plan for op, args in calls]
        for (op, args), (called, returned, answer) in zip(calls, log, strict=False):
            found.append(Operation(0, thread, called, returned, op, args, answer_of(op, answer)))
        if thread in inside and len(log) < len(calls):  # it began this call at some moment after its last return
            op, args = calls[len(log)]
            found.append(Operation(0, thread, log[-1][1] if log else -1, None, op, args, UNSEEN))
    return renumbered(found)


def _yielder(probability: float, random: Random) -> Callable[[FrameType, str, Any], Any]:
    """A trace function that makes a thread yield, with this probability, before an instruction of the source under
    test.
    """
    draw, untouched = random.random, _untouched

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if event == "call":
            code = frame.f_code
            if untouched(code.co_filename):
                return None
            if code.co_flags & _GENERATOR and (frame.f_back is None or code not in frame.f_back.f_code.co_consts):
                # Not the function in which it is written takes an item. So threads may share it, and the interpreter
                # crashes where one that is traced is run twice.
                return None
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
        elif draw() < probability:
            time.sleep(0)
        return trace

    return trace


_GENERATOR: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@cache
def _untouched(filename: str) -> bool:
    """Whether code of that file runs without yields: this module, the standard library, and the interpreter's own."""
    return is_standard(filename) or filename == __file__
