"""Notices of interest, and counts: what a SubscriptionTrie tells about its filters."""

from __future__ import annotations

import contextlib
import itertools
import random
import signal
import sys
import textwrap
from functools import partial
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctrie._ctrie import COMPILED
from stress.explorer.bounded import bounded
from subtrie import MQTT, NATS, SubscriptionTrie
from tests.own_code import is_own
from tests.scripts import run_script
from tests.subtrie.support import subscription_twin
from tests.threads import run_together
from tests.twins import Together


class Told:
    """A listener that accepts only valid sequences: for each filter, True and False in turn, with True first."""

    def __init__(self) -> None:
        self.wanted: set[str] = set()
        self.notices: list[tuple[str, bool]] = []

    def __call__(self, filter: str, wanted: bool) -> None:
        assert wanted is (filter not in self.wanted), "the same twice"
        (self.wanted.add if wanted else self.wanted.remove)(filter)
        self.notices.append((filter, wanted))


FILTERS = ["a", "a.b", "a.*", ">"]


@pytest.mark.parametrize("index", [False, True])
@given(steps=st.lists(st.tuples(st.sampled_from("suac"), st.sampled_from(FILTERS), st.sampled_from("xy"))))
def test_alone_every_crossing_is_told_at_once(index: bool, steps: list[tuple[str, str, str]]) -> None:
    told = Told()
    trie = SubscriptionTrie(NATS, index=index, on_interest=told)
    for action, filter, subscriber in steps:
        before = set(told.wanted)
        match action:
            case "s":
                trie.subscribe(filter, subscriber)
            case "u":
                trie.unsubscribe(filter, subscriber)
            case "a":
                trie.unsubscribe_all(subscriber)
            case _:
                trie.clear()
        assert told.wanted == {one.filter for one in trie.subscriptions()}
        changed = len(before ^ told.wanted)
        assert len(told.notices) == changed
        told.notices.clear()
    trie.check()


def test_groups_are_interest_in_the_filter_behind_them() -> None:
    told = Told()
    trie = SubscriptionTrie(MQTT, on_interest=told)
    trie.subscribe("$share/g/a/+", 1)
    trie.subscribe("$share/h/a/+", 1)
    trie.subscribe("a/+", 1)
    trie.unsubscribe("a/+", 1)
    trie.unsubscribe("$share/g/a/+", 1)
    assert told.notices == [("a/+", True)]
    trie.unsubscribe("$share/h/a/+", 1)
    assert told.notices[1:] == [("a/+", False)]
    trie.check()


def test_a_listener_may_change_the_trie() -> None:
    notices: list[tuple[str, bool]] = []

    def follow(filter: str, wanted: bool) -> None:
        notices.append((filter, wanted))
        if filter == "a":
            (trie.subscribe if wanted else trie.unsubscribe)("b", "follower")

    trie = SubscriptionTrie(on_interest=follow)
    trie.subscribe("a", 1)
    trie.unsubscribe("a", 1)
    assert notices == [("a", True), ("b", True), ("a", False), ("b", False)]
    trie.check()


def test_what_a_listener_raises_reaches_the_caller_and_the_change_stands() -> None:
    told: list[tuple[str, bool]] = []

    def sore(filter: str, wanted: bool) -> None:
        told.append((filter, wanted))
        raise ZeroDivisionError

    trie = SubscriptionTrie(on_interest=sore)
    for change, wanted in ((trie.subscribe, True), (trie.unsubscribe, False)):
        with pytest.raises(ZeroDivisionError):
            change("a", 1)
        assert trie.has_match("a") is wanted
    assert told == [("a", True), ("a", False)]
    trie.check()


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, MemoryError])
def test_a_listener_that_is_interrupted_is_told_again_and_the_rest_later(raised: type[BaseException]) -> None:
    told: list[tuple[str, bool]] = []

    def listen(filter: str, wanted: bool) -> None:
        told.append((filter, wanted))
        if len(told) == 1:
            trie.subscribe_many([("b", 1), ("c", 1)])
            raise raised

    trie = SubscriptionTrie(on_interest=listen)
    with contextlib.nullcontext() if raised is MemoryError else pytest.raises(raised):
        trie.subscribe("a", 1)  # without memory the change stands, and its notice waits
    assert told == [("a", True)]
    trie.subscribe("d", 1)
    assert told == [("a", True), ("a", True), ("b", True), ("c", True), ("d", True)]
    trie.check()


def test_what_could_not_be_looked_at_is_told_later() -> None:
    told: set[str] = set()
    trie = SubscriptionTrie(on_interest=lambda filter, wanted: told.add(filter))
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
    trie.check()


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
        told = Told()
        trie = SubscriptionTrie(index=True, on_interest=told)
        trie.subscribe_many([("a", Sore()), ("b", 1)])  # 1 has the same hash
        Sore.comparisons_left = allowed
        try:
            trie.unsubscribe("a", Sore())
        except ZeroDivisionError:
            raised += 1
        Sore.comparisons_left = 1_000
        assert told.wanted == set(trie.topics())
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


CHANGES = {
    "subscribe": lambda trie: trie.subscribe("a", "x"),
    "subscribe another": lambda trie: trie.subscribe("a", "y"),
    "unsubscribe": lambda trie: trie.unsubscribe("a", "x"),
    "clear": lambda trie: trie.clear(),
}


@pytest.mark.once  # a copy of the interpreted source, in one thread, whatever twin the tests run
@pytest.mark.parametrize("here", [False, True])
@pytest.mark.parametrize("first", CHANGES)
@pytest.mark.parametrize("second", CHANGES)
def test_every_schedule_of_two_changes(first: str, second: str, here: bool) -> None:
    twin = subscription_twin()
    told = Told()

    def make() -> Any:
        told.__init__()  # type: ignore[misc]
        trie = twin.modules["subtrie"].SubscriptionTrie(on_interest=told)
        if here:
            trie.subscribe("a", "x")
        return trie

    def judge(trie: Any, *_: object) -> None:
        assert told.wanted == set(trie.topics())
        trie.check()

    assert len(list(bounded(Together(twin, make, [CHANGES[first], CHANGES[second]], judge), 1))) > 1


@pytest.mark.parametrize("seed", range(2))
def test_real_threads(seed: int) -> None:
    told = Told()
    trie = SubscriptionTrie(NATS, index=bool(seed), exact=bool(seed), on_interest=told)

    def work(number: int) -> None:
        rng = random.Random(f"{seed}, {number}")
        for _ in range(300):
            filter, subscriber = rng.choice(FILTERS), rng.choice("xy")
            (trie.subscribe if rng.random() < 0.5 else trie.unsubscribe)(filter, subscriber)

    print(f"seed {seed}")
    run_together([partial(work, number) for number in range(3)])
    assert told.wanted == {one.filter for one in trie.subscriptions()}
    trie.check()


class TestCounts:
    def test_nodes(self) -> None:
        trie = SubscriptionTrie()
        assert trie.stats()["nodes"] == 2  # the root's I-node and its main node
        trie.subscribe("a.b", 1)
        assert trie.stats()["nodes"] == 3  # and a branch
        trie.subscribe("a.*", 1)
        assert trie.stats()["nodes"] == 7  # two levels, three branches; a wildcard never shares a place with a word
        trie.unsubscribe("a.*", 1)
        assert trie.stats()["nodes"] == 3
        trie.unsubscribe("a.b", 1)
        assert trie.stats()["nodes"] == 2
        trie.check()

    def test_groups(self) -> None:
        trie = SubscriptionTrie(NATS)
        trie.subscribe("a", 1)
        trie.subscribe("a", 1, queue="g")
        trie.subscribe("a", 2, queue="g")
        trie.subscribe("b", 1, queue="g")
        counts = trie.stats()
        assert (counts["filters"], counts["subscriptions"], counts["groups"], counts["widest_fanout"]) == (2, 4, 2, 3)
        trie.check()

    @pytest.mark.once  # the same
    def test_retries(self) -> None:
        twin = subscription_twin()
        counted = []

        def make() -> Any:
            trie = twin.modules["subtrie"].SubscriptionTrie()
            trie.subscribe("a", 1)
            trie.unsubscribe("a", 1)
            trie.fork().subscribe("b", 1)
            assert trie.stats()["retries"] == 0
            return trie

        def judge(trie: Any, *_: object) -> None:
            counted.append(trie.stats()["retries"])
            trie.check()

        subscribe = [lambda trie: trie.subscribe("a", 1), lambda trie: trie.subscribe("b", 1)]
        for _ in bounded(Together(twin, make, subscribe, judge), 1):
            pass
        assert set(counted) == {0, 1}


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

    def test_in_the_listener(self) -> None:
        told: dict[str, bool] = {}
        calls: list[str] = []

        def listener(filter: str, wanted: bool) -> None:
            told[filter] = wanted
            calls.append(filter)
            if len(calls) == 1:
                raise KeyboardInterrupt

        trie = SubscriptionTrie(on_interest=listener)
        with pytest.raises(KeyboardInterrupt):
            trie.subscribe("a", 1)
        self.settle(trie, told)

    @pytest.mark.slow
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
