"""Calls that answer many messages let other threads in, however slow a message is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from subtrie.fields import Equals, FieldMatcher, Not, RoutingMatcher

pytestmark = pytest.mark.compiled  # between two lines of Python the interpreter lets others in


def _many(name: str, size: int) -> Callable[[Iterator[dict[str, int]]], list[Any]]:
    """Return a call for many messages; it compares one that nobody wants with all subscriptions."""
    asked = [([Not(Equals("a", 1)), Not(Equals("b", number))], number) for number in range(size)]
    if name.startswith("routes."):
        routes: RoutingMatcher[int] = RoutingMatcher()
        routes.subscribe_many([("t", *one) for one in asked])
        call = routes.match_many if name == "routes.match_many" else routes.deliveries_many
        return lambda messages: call(("t", message) for message in messages)
    fields: FieldMatcher[int] = FieldMatcher()
    fields.subscribe_many(asked)
    return fields.match_many if name == "match_many" else fields.deliveries_many


@pytest.mark.parametrize("name", ["match_many", "deliveries_many", "routes.match_many", "routes.deliveries_many"])
@pytest.mark.parametrize("size", [100, 20_000], ids=["fast", "slow"])
def test_a_long_call_lets_another_thread_in(name: str, size: int) -> None:
    """A thread that waits for the GIL asks for it after the switch interval, which never ends here; so it gets the GIL
    only from a call that gives it away by itself."""
    call = _many(name, size)
    may_run, has_run = threading.Lock(), threading.Event()
    may_run.acquire()

    def other() -> None:
        with may_run:
            has_run.set()

    def messages() -> Iterator[dict[str, int]]:
        for _ in range(40_000_000 // size):  # several seconds: enough for anybody to be let in
            if has_run.is_set():
                return
            yield {"a": 1, "b": -1}

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=other)
    thread.start()
    sys.setswitchinterval(1_000)
    try:
        may_run.release()
        answers = call(messages())
        let_in = has_run.is_set()
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert let_in
    assert not any(answers)
