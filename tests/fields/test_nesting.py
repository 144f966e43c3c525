"""Questions in questions, through a value's or a subscriber's `__eq__`: they end in RecursionError, however small the
stack of the thread is."""

from __future__ import annotations

import ctrie
from tests.scripts import run_script

# Kilobytes of a thread's stack, 0 for what threads usually have. The interpreted twin has what Python itself has: a plain
# `__eq__` in an `__eq__` ends it on a small stack.
SIZES = (0, 256, 128) if ctrie.twin == "compiled" else (0,)

SCRIPT = """
import sys, threading
from subtrie.fields import *

class Nested:
    def __hash__(self):
        return 1
    def __eq__(self, other):
        return self is other or bool(ask())

fields, routes, kept = FieldMatcher(), RoutingMatcher(), FieldMatcher()
fields.subscribe([Equals("a", Nested())], "ann")
routes.subscribe("x.*", [Equals("a", Nested())], "ann")
kept.subscribe([Equals("a", 1)], Nested())
questions = {
    "match_all": lambda: fields.match_all({"a": Nested()}),
    "match_many": lambda: fields.match_many([{"a": Nested()}]),
    "match_any": lambda: fields.match_any({"a": Nested()}),
    "hits": lambda: fields.hits({"a": Nested()}),
    "deliveries": lambda: fields.deliveries({"a": Nested()}),
    "lists": lambda: fields.match_all({"a": [[Nested()], {"b": 1}]}),
    "subscribe": lambda: fields.subscribe([Equals("a", Nested())], 1),
    "subscribe_many": lambda: fields.subscribe_many([([Equals("a", Nested())], 1)]),
    "unsubscribe": lambda: fields.unsubscribe([Equals("a", Nested())], "ann"),
    "in": lambda: ([Equals("a", Nested())], "ann") in fields,
    "match": lambda: routes.match("x.y", {"a": Nested()}),
    "routes": lambda: routes.match_many([("x.y", {"a": Nested()})]),
    "subscriber": lambda: kept.subscribe([Equals("a", 2)], Nested()),
    "subscriptions": lambda: list(kept.subscriptions(Nested())),
    "unsubscribe_all": lambda: kept.unsubscribe_all(Nested()),
}

def asking():
    try:
        ask()
    except RecursionError:
        print(name, "ends")

for name in sys.argv[1:] or questions:
    ask = questions[name]
    for kilobytes in SIZES:
        threading.stack_size(kilobytes * 1024)
        thread = threading.Thread(target=asking)
        thread.start()
        thread.join()
"""


def test_questions_in_questions_end_on_any_stack() -> None:
    status, told, errors = run_script(f"SIZES = {SIZES}\n{SCRIPT}")
    assert status == 0, errors
    lines = told.splitlines()
    assert len(lines) == len(SIZES) * 15, lines


IN_ITSELF = """
import threading
from subtrie.fields import *

def asking():
    own = Equals("a", 1)
    own.__init__("a", own)
    for one in (own, AnyOf(own, Present("b"))):
        try:
            hash(one)
        except RecursionError:
            print("ends")

for kilobytes in SIZES:
    threading.stack_size(kilobytes * 1024)
    thread = threading.Thread(target=asking)
    thread.start()
    thread.join()
"""


def test_the_hash_of_a_criterion_in_itself_ends_on_any_stack() -> None:
    status, told, errors = run_script(f"SIZES = {SIZES}\n{IN_ITSELF}")
    assert (status, told.split()) == (0, ["ends"] * 2 * len(SIZES)), errors
