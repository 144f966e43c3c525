"""Notices of interest: what a listener does to a SubscriptionTrie and may expect of it, whatever happens to its calls.

`test_machine.py` has a listener of each kind in any sequence of changes, `test_threads.py` beside other threads, and
`test_linearizability.py` under every schedule.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import signal
import sys
import textwrap
from types import FrameType
from typing import Any

import pytest

from ctrie._ctrie import COMPILED
from subtrie import NATS, SubscriptionTrie
from tests.own_code import is_own
from tests.scripts import run_script
from tests.subtrie.support import Subscriber, made


def test_a_listener_may_change_the_trie() -> None:
    notices: list[tuple[str, bool]] = []

    def follow(filter: str, wanted: bool) -> None:
        notices.append((filter, wanted))
        if filter == "a":
            (trie.subscribe if wanted else trie.unsubscribe)("b", "follower")

    trie = made(on_interest=follow)
    trie.subscribe("a", 1)
    trie.unsubscribe("a", 1)
    assert notices == [("a", True), ("b", True), ("a", False), ("b", False)]


@pytest.mark.parametrize("kind", ["on_interest", "on_group_interest"])
def test_what_a_listener_raises_reaches_the_caller_and_the_change_stands(kind: str) -> None:
    """The next notice differs from the one that raised."""
    told: list[tuple[Any, ...]] = []

    def sore(*notice: Any) -> None:
        told.append(notice)
        raise ZeroDivisionError

    trie = made(NATS, **{kind: sore})  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        trie.subscribe("a", 1, queue="g")
    assert trie.subscribe("a", 1, queue="g") is False
    assert trie.has_match("a")
    with pytest.raises(ZeroDivisionError):
        trie.unsubscribe("a", 1, queue="g")
    assert not trie
    assert [(notice[0], notice[-1]) for notice in told] == [("a", True), ("a", False)]


def test_many_at_once_and_dead_members_are_told() -> None:
    told: list[tuple[Any, ...]] = []
    trie = made(NATS, weak=True, on_group_interest=lambda *notice: told.append(notice))
    people = [Subscriber() for _ in range(3)]
    trie.subscribe_many([("a", each, {"queue": "g"}) for each in people] + [("a", people[0])])
    assert told == [("a", "g", True), ("a", None, True)]
    people.clear()
    trie.subscribe("b", Subscriber())  # dies at once
    assert sorted(map(str, told[2:])) == sorted(
        map(str, [("a", "g", False), ("a", None, False), ("b", None, True), ("b", None, False)])
    )


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, MemoryError])
def test_a_listener_that_is_interrupted_is_told_again_and_the_rest_later(raised: type[BaseException]) -> None:
    told: list[tuple[str, bool]] = []

    def listen(filter: str, wanted: bool) -> None:
        told.append((filter, wanted))
        if len(told) == 1:
            trie.subscribe_many([("b", 1), ("c", 1)])
            raise raised

    trie = made(on_interest=listen)
    with contextlib.nullcontext() if raised is MemoryError else pytest.raises(raised):
        trie.subscribe("a", 1)  # without memory the change stands, and its notice waits
    assert told == [("a", True)]
    trie.subscribe("d", 1)
    assert told == [("a", True), ("a", True), ("b", True), ("c", True), ("d", True)]


def test_what_could_not_be_looked_at_is_told_later() -> None:
    told: set[str] = set()
    trie = made(on_interest=lambda filter, wanted: told.add(filter))
    returned: set[str] = set()

    def subscribe_at_the_end_of_the_stack(depth: int) -> None:
        try:
            subscribe_at_the_end_of_the_stack(depth + 1)
        except RecursionError:
            trie.subscribe(f"deep.{depth}", 1)
            returned.add(f"deep.{depth}")

    subscribe_at_the_end_of_the_stack(0)
    trie.subscribe("later", 1)
    assert told >= {"later", *returned}
    assert told <= set(trie.topics())


def test_what_a_subscriber_raises_after_the_change_is_no_reason_to_tell_nobody() -> None:
    class Sore:
        comparisons_left = 1_000

        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            if not Sore.comparisons_left:
                raise ZeroDivisionError
            Sore.comparisons_left -= 1
            return isinstance(other, Sore)

    raised = 0
    for allowed in range(6):
        told: dict[str, bool] = {}
        trie = SubscriptionTrie(index=True, on_interest=told.__setitem__)
        trie.subscribe_many([("a", Sore()), ("b", 1)])  # 1 has the same hash
        Sore.comparisons_left = allowed
        try:
            trie.unsubscribe("a", Sore())
        except ZeroDivisionError:
            raised += 1
        Sore.comparisons_left = 1_000
        assert {filter for filter, wanted in told.items() if wanted} == set(trie.topics())
    assert raised


def test_a_child_forked_while_another_thread_tells_is_told() -> None:
    script = """
        import os, threading
        from subtrie import SubscriptionTrie

        def listen(filter, wanted):
            if filter == "slow":
                running.set()
                go.wait()
            else:
                print(filter, wanted, flush=True)

        trie, running, go = SubscriptionTrie(on_interest=listen), threading.Event(), threading.Event()
        telling = threading.Thread(target=trie.subscribe, args=("slow", 1))
        telling.start()
        running.wait()
        trie.subscribe("before", 1)
        child = os.fork()
        if not child:
            trie.subscribe("child", 1)
            trie.check()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        go.set()
        telling.join()
    """
    assert run_script(textwrap.dedent(script)) == (0, "before True\nchild True\nbefore True\n", "")


class Awaited:
    async def __call__(self, filter: str, wanted: bool) -> None: ...


async def awaited(filter: str, wanted: bool) -> None: ...


@pytest.mark.parametrize("kind", ["on_interest", "on_group_interest"])
def test_listeners_that_are_refused(kind: str) -> None:
    for listener, text in (
        (1, f"{kind} must be callable or None, not int"),
        (awaited, f"{kind} must be a function that is called"),
    ):
        with pytest.raises(TypeError, match=text):
            SubscriptionTrie(**{kind: listener})  # type: ignore[arg-type]
    for nobody_would_await in (Awaited(), functools.partial(awaited)):
        with pytest.raises(TypeError, match="awaits"):
            SubscriptionTrie(**{kind: nobody_would_await})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="exclude each other"):
        SubscriptionTrie(on_interest=print, on_group_interest=print)


def test_nodes_are_counted() -> None:
    trie = made()
    assert trie.stats()["nodes"] == 2  # the root's I-node and its main node
    trie.subscribe("a.b", 1)
    assert trie.stats()["nodes"] == 3  # and a branch
    trie.subscribe("a.*", 1)
    assert trie.stats()["nodes"] == 7  # two levels, three branches; a wildcard never shares a place with a word
    for filter, left in (("a.*", 3), ("a.b", 2)):
        trie.unsubscribe(filter, 1)
        assert trie.stats()["nodes"] == left
    trie.subscribe_many((f"w{number}", 1) for number in range(100))
    assert trie.stats()["nodes"] >= 2 + 100 + 2  # one I-node has no room for so many branches


class TestCtrlC:
    """Whenever Ctrl-C comes, the listener learns the state of the trie in the end."""

    @staticmethod
    def settle(trie: SubscriptionTrie, told: dict[str, bool]) -> None:
        """Change something else, which delivers what is left, and compare. Between a change and its notice there are
        lines of the interpreted twin: a notice that Ctrl-C prevents there waits for the next change of its filter."""
        for filter in ["later"] if COMPILED else ["a", "a.b", "a.c"]:
            if trie.unsubscribe(filter, 1):
                trie.subscribe(filter, 1)
            else:
                trie.subscribe(filter, 1)
                trie.unsubscribe(filter, 1)
        assert {filter for filter, wanted in told.items() if wanted} == {one.filter for one in trie.subscriptions()}
        trie.check()

    @pytest.mark.parametrize("change", ["subscribe", "unsubscribe", "clear"])
    def test_when_a_function_begins_or_ends(self, change: str) -> None:
        """A function of ours, or the listener. The interpreter looks for signals there, and otherwise only in loops."""
        for nth in itertools.count():
            told: dict[str, bool] = {}

            def listener(filter: str, wanted: bool, told: dict[str, bool] = told) -> None:
                told[filter] = wanted

            trie = SubscriptionTrie(on_interest=listener)
            trie.subscribe("a.b", 1)
            left = nth

            def trace(frame: FrameType, event: str, argument: object) -> Any:
                nonlocal left
                ours = is_own(frame.f_code) or frame.f_code is listener.__code__
                if ours and event in ("call", "return"):
                    left -= 1
                    if left < 0:
                        sys.settrace(None)
                        raise KeyboardInterrupt(f"{frame.f_code.co_filename}:{frame.f_lineno}")
                return trace

            sys.settrace(trace)
            try:
                getattr(trie, change)(*{"subscribe": ("a.c", 1), "unsubscribe": ("a.b", 1)}.get(change, ()))
            except KeyboardInterrupt as interrupted:
                print("at", interrupted)  # a failure shows this
            finally:
                sys.settrace(None)
            self.settle(trie, told)
            if left >= 0:
                assert nth >= (2 if COMPILED else 6)  # compiled functions are no places: those of the listener are left
                return

    @pytest.mark.slow("20,000 times a signal comes when it likes; above, it comes at each place where it can")
    @pytest.mark.compiled
    @pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
    def test_from_a_timer(self) -> None:
        script = """
            import signal
            from subtrie import SubscriptionTrie

            def interrupt(*_):
                raise KeyboardInterrupt

            signal.signal(signal.SIGALRM, interrupt)
            told = {}
            trie = SubscriptionTrie(on_interest=told.__setitem__)
            interrupted = 0
            for number in range(20_000):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.00001 + number % 97 * 0.0000004)
                    trie.subscribe(f"f{number}", 1)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    interrupted += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            trie.subscribe("later", 1)
            assert interrupted
            print(len({one.filter for one in trie.subscriptions()} - {filter for filter, wanted in told.items() if wanted}))
            trie.check()
        """
        status, printed, _ = run_script(textwrap.dedent(script))
        assert (status, printed) == (0, "0\n")
