"""One allocation fails, whichever it is: the call raises MemoryError and has changed nothing, or it succeeds.

If a removal has been made and only a tomb was still to be cleared, the next change there clears it. There is no such
test of the interpreted twin, since it would test the interpreter.
"""

from __future__ import annotations

import sys
import textwrap

import pytest

from tests.scripts import run_script

GIL = getattr(sys, "_is_gil_enabled", lambda: True)()

pytestmark = pytest.mark.compiled

FAILING = """
import _testcapi

def without_memory(call, most):
    '''Call once for each allocation that fails; yield what it returned, None if it was refused.'''
    refused = 0
    for allowed in range(most):
        answer = None
        try:
            _testcapi.set_nomemory(allowed, allowed + 1)
            answer = call(allowed)
        except MemoryError:
            refused += 1
        finally:
            _testcapi.remove_mem_hooks()
        yield allowed, answer
    assert refused > 0
"""

free_threaded_frees_what_it_never_set = pytest.mark.skipif(
    not GIL, reason="without memory for a list, free-threaded Python 3.13 frees what it never set"
)


def run_failing(script: str) -> None:
    pytest.importorskip("_testcapi")
    assert run_script(FAILING + textwrap.dedent(script)) == (0, "", "")


CHANGES = {
    "one more": "trie[100 + number] = 1",
    "another": "trie[number] = 1",
    "one less": "del trie[number]",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_a_ctrie(change: str) -> None:
    run_failing(f"""
        from ctrie import Ctrie

        def change(trie, number):
            {change}
            return True

        before = {{number: 0 for number in range(40)}}
        for number in before:
            after = dict(before)
            change(after, number)
            tries = [Ctrie(before) for _ in range(30)]
            for allowed, changed in without_memory(lambda allowed: change(tries[allowed], number), 30):
                assert dict(tries[allowed].items()) == (after if changed else before), (number, allowed)
                tries[allowed].check()
    """)


@free_threaded_frees_what_it_never_set
@pytest.mark.parametrize("change", ["subscribe", "unsubscribe"])
def test_a_change_of_a_subscription_trie(change: str) -> None:
    """Chains are split and joined, levels made and rolled up, texts packed."""
    run_failing(f"""
        from subtrie import SubscriptionTrie

        FILTERS = [
            *("a.b.c", "a.b.d", "a.b", "a.*.c", "a.*", "b.c.d.e", "b.c", "b.#", "x.y.z", "x.y.q", "x.y.abcdefghi"),
            *("ab.a", "ab.abcdefghi", "abcdefghi.a", "abcdefghi.b", "l.m.n.o.p", "l.m.n.o.q"),
        ]

        def filled(filter):
            trie = SubscriptionTrie()
            for other in FILTERS:
                if other != filter or "{change}" == "unsubscribe":
                    trie.subscribe(other, 1)
            return trie

        def content(trie):
            return {{found.filter for found in trie.subscriptions()}}

        for filter in FILTERS:
            tries = [filled(filter) for _ in range(60)]
            before = content(tries[0])
            for allowed, changed in without_memory(lambda allowed: tries[allowed].{change}(filter, 1), 60):
                assert content(tries[allowed]) ^ before == ({{filter}} if changed else set()), (filter, allowed)
                tries[allowed].check()
    """)


@free_threaded_frees_what_it_never_set
def test_a_filling() -> None:
    """It adds all of the pairs, or none; afterwards the objects have as many references as before."""
    run_failing("""
        import sys
        from ctrie import Ctrie
        from subtrie import SubscriptionTrie

        values = [object() for _ in range(70)]
        pairs = [(f"key{number}", value) for number, value in enumerate(values)]
        rows = [(f"a{number % 20}.b{number}", value) for number, value in enumerate(values)]
        counts = [sys.getrefcount(value) for value in values]
        ways = [
            (Ctrie, lambda trie: trie.update(pairs), lambda trie: dict(trie.items()) == dict(pairs)),
            (SubscriptionTrie, lambda trie: trie.subscribe_many(rows),
             lambda trie: {(found.filter, found.subscriber) for found in trie.subscriptions()} == set(rows)),
        ]
        for kind, fill, is_filled in ways:
            tries = [kind() for _ in range(150)]
            for allowed, changed in without_memory(lambda allowed: fill(tries[allowed]) or True, 150):
                assert is_filled(tries[allowed]) if changed else len(tries[allowed]) == 0, allowed
                tries[allowed].check()
            del tries
            assert [sys.getrefcount(value) for value in values] == counts
    """)


def test_an_answer() -> None:
    run_failing("""
        from subtrie import SubscriptionTrie

        trie = SubscriptionTrie()
        for number in range(40):
            trie.subscribe_many([("a.*", str(number)), ("a.b", str(number))])
        for _, answer in without_memory(lambda allowed: trie.match("a.b"), 60):
            assert answer is None or len(set(answer)) == len(answer) == 40
        trie.check()
    """)
