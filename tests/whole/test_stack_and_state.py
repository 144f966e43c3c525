"""What users can call cannot end the process: calls that call themselves without end, long filters, and states set by hand."""

from __future__ import annotations

import pytest

from ctrie import Ctrie
from tests.scripts import run_script

NESTED = """
import threading
from ctrie import Ctrie, CtrieSet
from subtrie import AMQP, SubscriptionTrie
from subtrie.fields import Equals, FieldMatcher, Present, RoutingMatcher

asked = lambda one: False

class Again:
    def __init__(self, ask=None):
        self.ask = ask
    def __hash__(self):
        return 1
    def __eq__(self, other):
        return self is other or bool(asked(Again()))

class Anew(Again):
    __hash__ = Again.__hash__
    def __eq__(self, other):
        return bool(asked(Again()))

ctrie, members = Ctrie({Again(): 1}), CtrieSet([Again()])
trie, matcher, router = SubscriptionTrie(index=True), FieldMatcher(), RoutingMatcher(AMQP)
for filter in ("a.b", "a.*"):
    trie.subscribe(filter, Again())
matcher.subscribe([Equals("a", Again())], "someone")
router.subscribe("a.*", [Equals("a", Again())], "someone")
router.subscribe("a.b", [Present("a")], "someone", option=Again())
other, older = trie.fork(), router.snapshot()
other.subscribe("a.b", Again())
router.subscribe("a.b", [Present("a")], "someone", option=Again())
WAYS = {
    "get": ctrie.get, "set": lambda one: ctrie.__setitem__(one, 1), "get_many": lambda one: ctrie.get_many([one] * 3),
    "compute": lambda one: ctrie.compute(one, lambda value: 2), "in a set": members.__contains__,
    "match": lambda one: trie.match("a.b"), "match_many": lambda one: trie.match_many(["a.b", "a.c"] * 20),
    "deliveries": lambda one: trie.deliveries("a.b", merge="one"), "subscribe": lambda one: trie.subscribe("a.b", one),
    "unsubscribe": lambda one: trie.unsubscribe("a.b", one), "filters": trie.filters,
    "match_all": lambda one: matcher.match_all({"a": one}), "hits": lambda one: matcher.hits({"a": one}),
    "router": lambda one: router.match("a.b", {"a": one}), "==": lambda one: trie == other,
    "a criterion": lambda one: Equals("a", Anew()), "differences": lambda one: list(router.diff(older)),
}

def refused():
    try:
        asked(Again())
    except RecursionError:
        ended.append(True)

for kilobytes in (256, 512, 8192):
    threading.stack_size(kilobytes * 1024)
    for way, asked in WAYS.items():
        ended = []
        thread = threading.Thread(target=refused)
        thread.start()
        thread.join()
        assert ended, (way, kilobytes)
"""


def test_recursion_through_a_key_ends_in_an_error_on_small_stacks_too() -> None:
    status, output, errors = run_script(NESTED)
    assert (status, output) == (0, ""), errors[-2000:]


# Made by no function of ours, so their fields are what `__new__` leaves in them.
UNMADE = """
import subtrie
from subtrie._trie.queries.buffers import GrowingRows
from subtrie._trie.queries.columns import SetColumns
from subtrie._trie.reverse_index import ReverseIndex
from subtrie.fields import Not

index, rows = ReverseIndex.__new__(ReverseIndex), GrowingRows.__new__(GrowingRows)
CALLS = [
    lambda: Not.__new__(Not).holds(1), lambda: SetColumns.__new__(SetColumns).fill(10, 100), lambda: index.check(None),
    lambda: list(index.everything()), lambda: index.find_member("s", 1, "k"), lambda: index.owner_of("s", 1),
    lambda: rows.text("t"), lambda: rows.text(None),
]
for call in CALLS:
    try:
        call()
    except Exception:
        pass
"""


@pytest.mark.compiled
def test_internal_objects_that_python_makes_are_harmless() -> None:
    status, _, errors = run_script(UNMADE)
    assert status == 0, errors[-500:]


def test_the_state_of_a_ctrie_that_is_there_is_not_set() -> None:
    ctrie = Ctrie({1: 2})
    with pytest.raises(TypeError, match="being unpickled"):
        ctrie.__setstate__(([], True, None))  # type: ignore[attr-defined]
    assert dict(ctrie.items()) == {1: 2}
    ctrie.check()


@pytest.mark.freethreaded
def test_a_thread_that_goes_on_alone_releases_what_ended_threads_replaced() -> None:
    assert run_script("""
import threading, weakref
from ctrie import Ctrie, drain

class Value:
    pass

ctrie, references = Ctrie(), []

def replace():
    for _ in range(40):
        value = Value()
        references.append(weakref.ref(value))
        ctrie["key"] = value

reading = threading.Event()
over = threading.Event()
other = threading.Thread(target=lambda: (ctrie.get("key"), reading.set(), over.wait()))
other.start()
reading.wait()
writer = threading.Thread(target=replace)
writer.start()
writer.join()
over.set()
other.join()
del ctrie["key"]
for number in range(1000):
    ctrie[number % 10] = number
assert not any(reference() for reference in references)
drain()
""") == (0, "", "")


DEEP = """
import dataclasses, pickle, threading
from ctrie import twin
from subtrie import MQTT, SubscriptionTrie

MANY = 1_000 if twin == "compiled" else 300
rows = [("/".join("a" * words), "ann") for words in range(1, MANY + 1)]
dialect = dataclasses.replace(MQTT, max_words=MANY)
ended = []

def change_many():
    trie = SubscriptionTrie(dialect)
    assert trie.subscribe_many(rows) == MANY
    assert trie.subscribe_many([(filter, "bob") for filter, _ in rows]) == MANY
    copy = pickle.loads(pickle.dumps(trie))
    assert trie.unsubscribe_many(rows[1:]) == MANY - 1
    trie.check()
    copy.check()
    assert len(trie) == MANY + 1 and len(copy) == 2 * MANY
    ended.append(True)

threading.stack_size(256 * 1024)
thread = threading.Thread(target=change_many)
thread.start()
thread.join()
assert ended
"""


def test_many_changes_of_long_filters_fit_into_a_small_stack() -> None:
    status, output, errors = run_script(DEEP)
    assert (status, output) == (0, ""), errors
