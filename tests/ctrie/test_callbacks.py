"""Users' code inside the map: `__eq__`, `__hash__`, `hash=`, `equal=`, functions and factories that raise, wait, or use
the map that called them. Exceptions reach the caller, no thread waits unnecessarily, and the structure stays sound."""

from __future__ import annotations

import contextlib
import itertools
import textwrap
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctrie import Ctrie, twin
from tests.ctrie.oracle import OPERATIONS, outcome
from tests.scripts import run_script
from tests.threads import LIMIT, finish, run_together, start


def operate(name: str, trie: Any, k: Any) -> Any:
    return outcome(OPERATIONS[name].call, trie, k, "old", "new")


class Hooked:
    """A key equal to others of its name. Its `__eq__` and `__hash__` call what `on_eq` and `on_hash` say."""

    def __init__(self, name: str, hash: int = 5) -> None:
        self.name = name
        self._hash = hash
        self.on_eq: Callable[[], object] = lambda: None
        self.on_hash: Callable[[], object] = lambda: None

    def __hash__(self) -> int:
        self.on_hash()
        return self._hash

    def __eq__(self, other: object) -> bool:
        self.on_eq()
        return isinstance(other, Hooked) and self.name == other.name

    def __repr__(self) -> str:
        return f"Hooked({self.name!r})"


class Asked:
    """A value that answers a comparison with what a function returns."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer

    def __eq__(self, other: object) -> Any:
        return self.answer()


PLACES = {"alone": [], "in a collision": [("x", 5), ("y", 5)], "beside another": [("z", 6)]}


def placed(place: str) -> tuple[Any, Hooked]:
    """A map, and a key that is in it with the value "old"."""
    k = Hooked("k")
    return Ctrie({k: "old", **{Hooked(*other): "other" for other in PLACES[place]}}), k


def at_rest(trie: Any, k: Hooked) -> None:
    for stored in (k, *trie):
        stored.on_eq = stored.on_hash = lambda: None
    trie.check()


def once(action: Callable[[], object]) -> Callable[[], object]:
    """Return a function that calls `action` the first time only."""
    calls = itertools.count()
    return lambda: action() if next(calls) == 0 else None


def told(trie: Any) -> list[tuple[str, Any]]:
    return sorted((stored.name, value) for stored, value in trie.items())


# ------------------------------------------------------------------------------------ a key in the middle of an operation

ACTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "raises": lambda m, k: 1 // 0,
    "removes it": lambda m, k: m.pop(k, None),
    "replaces it": lambda m, k: m.__setitem__(k, "meddled"),
    "adds beside it": lambda m, k: m.__setitem__(Hooked("w"), "meddled"),
    "always adds elsewhere": lambda m, k: m.__setitem__(Hooked("w", 6), object()),  # it is not in its own way for ever
    "clears": lambda m, k: m.clear(),
    "clears and refills": lambda m, k: (m.clear(), m.update({k: "meddled"})),
    "takes a snapshot": lambda m, k: m.snapshot(),
    "iterates": lambda m, k: list(m),
    "counts": lambda m, k: len(m),
}


@given(
    name=st.sampled_from(sorted(OPERATIONS)),
    place=st.sampled_from(sorted(PLACES)),
    action=st.sampled_from(sorted(ACTIONS)),
    hook=st.sampled_from(["key stored", "key looked up", "value"]),
)
def test_users_code_that_meddles_leaves_the_map_sound(name: str, place: str, action: str, hook: str) -> None:
    trie, k = placed(place)
    looked_up, calls = Hooked("k"), itertools.count()

    def meddle() -> str | None:
        if next(calls) == 0 or "always" in action:
            ACTIONS[action](trie, k)
        return None

    if hook == "value":
        trie[k] = Asked(meddle)
    before, frozen = told(trie), trie.readonly_snapshot()
    if hook == "key stored":
        k.on_eq = meddle
    if hook == "key looked up":
        looked_up.on_hash = meddle
    raised = False
    try:
        operate(name, trie, looked_up)
    except ZeroDivisionError:
        raised = True
    at_rest(trie, k)
    assert raised == (action == "raises" and next(calls) > 0)
    assert told(frozen) == before
    assert not raised or told(trie) == before
    frozen.check()


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_the_tries_own_functions_raise_reaches_the_caller(name: str) -> None:
    def function(*keys: Any) -> int:
        return 1 // (not failing)

    for keyword in ("hash", "equal"):
        failing = False
        trie: Any = Ctrie({"a": 1}, **{"hash": lambda k: 0, keyword: function})  # type: ignore[arg-type]
        failing = True
        with pytest.raises(ZeroDivisionError):
            operate(name, trie, "b")
        failing = False
        assert trie.items() == {("a", 1)}
        trie.check()


def test_an_operation_that_was_overtaken_by_its_own_comparison_takes_that_into_account() -> None:
    k = Hooked("k")
    trie: Any = Ctrie({k: 1})
    k.on_eq = once(lambda: trie.__setitem__(k, 10))
    assert trie.compute(Hooked("k"), lambda value: value + 1) == 11
    k.on_eq = once(lambda: trie.pop(k))
    assert trie.replace(Hooked("k"), 2) is False
    assert Hooked("k") not in trie
    for name in ("replace_if", "remove_if"):  # a value that is newer than the one that was compared survives
        trie["k"] = Asked(lambda: trie.__setitem__("k", "newer"))
        assert operate(name, trie, "k") is False
        assert trie["k"] == "newer"
    trie.check()


def test_a_key_whose_hash_changes_is_lost_but_harms_no_other() -> None:
    hashes = itertools.count()

    class Unstable:
        def __hash__(self) -> int:
            return next(hashes)

    k, trie = Unstable(), Ctrie[Any, Any](dict.fromkeys(range(100, 200)))
    for _ in range(50):
        trie[k] = None
        trie.pop(k, None)
    assert len(trie) == 150  # like a dict, it takes each one for a different key
    assert all(trie.pop(number, "gone") is None for number in range(100, 200))
    assert [trie.popitem()[0] for _ in range(50)] == [k] * 50
    assert trie._shape() == ("C",)  # type: ignore[attr-defined]
    trie.check()


@pytest.mark.parametrize("name", OPERATIONS)
def test_nobody_waits_for_a_thread_that_is_held_in_a_comparison(name: str) -> None:
    for place in PLACES:
        trie, k = placed(place)
        entered, go, holding = threading.Event(), threading.Event(), threading.local()

        def hold(holding: Any = holding, entered: Any = entered, go: Any = go) -> None:
            if getattr(holding, "here", False):
                entered.set()
                assert go.wait(LIMIT)

        def held_operation(holding: Any = holding, trie: Any = trie) -> None:
            holding.here = True
            operate(name, trie, Hooked("k"))

        k.on_eq = hold
        held = start([held_operation])
        assert entered.wait(LIMIT)
        for other in OPERATIONS:  # each runs to its end in this thread
            for k2 in (Hooked("k2"), Hooked("k", 6)):
                trie[k2] = "old"
                operate(other, trie, k2)
        trie[Hooked("k")] = "overtaken"
        assert len(trie.snapshot()) == len(trie)
        trie.clear()
        go.set()
        finish(held)
        at_rest(trie, k)


# ----------------------------------------------------------------------------------- what is called again, and how often


def test_a_function_is_called_again_when_others_were_faster() -> None:
    trie: Any = Ctrie({"k": 1, "j": 0})
    seen = []

    def double(value: int) -> int:
        seen.append(value)
        if len(seen) == 1:
            trie["k"] = 5
        if len(seen) == 2:
            run_together([lambda: trie.pop("k")])
        if len(seen) == 3:
            assert trie.setdefault("j", -1) == 0  # what changes nothing, or another key, is no reason
            trie["l"] = trie.compute("j", lambda value: value + 1)
            assert not trie.replace_if("j", -1, -2)
        return 2 * value

    assert trie.compute("k", double, 100) == 200
    assert seen == [1, 5, 100]
    assert trie == {"k": 200, "j": 1, "l": 1}
    trie.check()


OWN_CHANGES: dict[str, Callable[[Any], Any]] = {
    "set": lambda m: m.__setitem__("k", object()),
    "update": lambda m: m.update({"k": object()}),
    "replace": lambda m: m.replace("k", object()),
    "compute": lambda m: m.compute("k", lambda value: object()),
    "in a compute of another key": lambda m: m.compute("j", lambda value: m.__setitem__("k", object())),
    "pop and put_if_absent": lambda m: (m.pop("k", None), m.put_if_absent("k", object())),
    "replace_if": lambda m: m.replace_if("k", m["k"], object()),
}


@pytest.mark.parametrize("change", OWN_CHANGES)
def test_a_function_that_changes_its_own_key_each_time_is_told(change: str) -> None:
    trie: Any = Ctrie({"k": 1, "other": 2})
    calls = itertools.count()

    def meddle(value: Any) -> Any:
        next(calls)
        OWN_CHANGES[change](trie)
        return "done"

    with pytest.raises(RuntimeError, match="compute: 'k' has changed during each of 10,000 attempts"):
        trie.compute("k", meddle)
    assert next(calls) == 10_000
    assert trie["k"] != "done"
    assert trie.compute("k", lambda value: 2) == 2
    trie.check()


@pytest.mark.parametrize("name", ["replace_if", "remove_if"])
def test_a_value_whose_comparison_changes_its_key_each_time_is_told(name: str) -> None:
    calls = itertools.count()

    def meddle() -> bool:
        next(calls)
        trie["k"] = Asked(meddle)
        return True

    trie: Any = Ctrie({"k": Asked(meddle)})
    with pytest.raises(RuntimeError, match=f"{name}: 'k' has changed during each of 10,000 attempts"):
        operate(name, trie, "k")
    assert next(calls) == 10_000
    trie["k"] = "old"
    assert operate(name, trie, "k") is True
    trie.check()


EACH_OTHERS: dict[str, Callable[[Any, Any, Callable[[], Any]], object]] = {
    "compute": lambda m, own, meddle: m.compute(own, lambda value: (meddle(), "done")[1]),
    "replace_if": lambda m, own, meddle: m.replace_if(own, Asked(meddle), "done"),
    "remove_if": lambda m, own, meddle: m.remove_if(own, Asked(meddle)),
}


LONG = pytest.mark.slow("threads make 10,000 attempts in step; those of compute tell of the same loop")


@pytest.mark.parametrize(
    ("operation", "threads"),
    [("compute", 2), pytest.param("replace_if", 3, marks=LONG), pytest.param("remove_if", 2, marks=LONG)],
)
def test_threads_that_change_one_anothers_keys_each_time_end(operation: str, threads: int) -> None:
    """In step: all threads read, then each changes the key of the next thread, then all try to store, and fail."""
    trie: Any = Ctrie(dict.fromkeys(range(threads), 0))
    barrier = threading.Barrier(threads)
    refused: list[str] = []

    def work(me: int) -> None:
        def meddle() -> bool:
            with contextlib.suppress(threading.BrokenBarrierError):  # one got an error, and the others continue
                barrier.wait(LIMIT)
                trie[(me + 1) % threads] = object()
                barrier.wait(LIMIT)
            return True

        try:
            EACH_OTHERS[operation](trie, me, meddle)
        except RuntimeError as error:
            refused.append(str(error))
            barrier.abort()

    with pytest.MonkeyPatch.context() as patched:
        if twin == "interpreted":  # in step, an attempt takes some tenths of a millisecond
            patched.setattr("ctrie._ctrie.MOST_ATTEMPTS", 100)
        run_together([partial(work, me) for me in range(threads)])
    assert f"{operation}: " in refused[0]
    trie.check()


# ------------------------------------------------------------------------------------------------------------- factories


def test_one_value_for_each_key_made_once_and_returned_to_all() -> None:
    trie: Any = Ctrie()
    made: list[int] = []

    def ask() -> list[object]:
        return [trie.get_or_create(k, lambda k=k: made.append(k) or object()) for k in range(100)]

    answers = run_together([ask] * 8)
    assert sorted(made) == list(range(100))
    for k, values in enumerate(zip(*answers, strict=True)):
        assert {id(value) for value in values} == {id(trie[k])}
    trie.check()


@pytest.mark.parametrize("fails", [False, True])
def test_those_who_come_while_the_factory_runs_wait_for_its_value(fails: bool) -> None:
    """If it raises, one of them takes over."""
    trie: Any = Ctrie()
    running, go = threading.Event(), threading.Event()
    made: list[None] = []

    def slow() -> list[int]:
        running.set()
        assert go.wait(LIMIT)
        return [1 // (not fails)]

    def first() -> list[int]:
        with contextlib.suppress(ZeroDivisionError):
            return trie.get_or_create("k", slow)  # type: ignore[no-any-return]
        return [2]

    everybody = start([first])
    assert running.wait(LIMIT)
    everybody += start([lambda: trie.get_or_create("k", lambda: made.append(None) or [2])] * 3)
    assert trie.get("k", "not yet") == "not yet"  # reading does not wait
    assert trie.get_or_create("another", lambda: 3) == 3  # and another key does not wait
    go.set()
    assert finish(everybody) == [[2] if fails else [1]] * 4
    assert len(made) == fails
    trie.check()


def test_what_a_factory_stores_or_others_stored_meanwhile_is_kept() -> None:
    trie: Any = Ctrie()
    for k, store in enumerate(
        (trie.__setitem__, trie.put_if_absent, lambda k, v: run_together([partial(trie.setdefault, k, v)]))
    ):
        assert trie.get_or_create(k, lambda k=k, store=store: store(k, "stored") and None) == "stored"
        assert trie.pop(k) == "stored"
        assert trie.get_or_create(k, lambda: None) is None  # None is a value, too
        assert trie.get_or_create(k, lambda: "again") is None

    def beside() -> str:
        fork = trie.snapshot()  # it does not wait
        assert fork.get_or_create("k", lambda: "fork's") == "fork's"
        return trie.get_or_create("j", lambda: "other") + "'s"  # type: ignore[no-any-return]

    assert trie.get_or_create("k", beside) == "other's"
    trie.check()


def test_factories_that_raise_or_ask_for_their_own_key_are_told() -> None:
    trie: Any = Ctrie()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            trie.get_or_create("k", lambda: 1 // 0)
    with pytest.raises(RuntimeError, match="the factory for 'k' asked for that same key"):
        trie.get_or_create("k", lambda: trie.get_or_create("k", list))
    with pytest.raises(RuntimeError):
        trie.get_or_create("a", lambda: trie.get_or_create("b", lambda: trie.get_or_create("a", list)))
    assert trie == {}
    assert trie.get_or_create("k", lambda: 1) == 1
    trie.check()


@pytest.mark.parametrize("threads", [2, 3])
def test_factories_that_ask_for_one_anothers_keys_are_told(threads: int) -> None:
    trie: Any = Ctrie()
    all_began = threading.Barrier(threads)
    refused: list[int] = []

    def make(number: int) -> None:
        def factory() -> str:
            all_began.wait()
            try:
                trie.get_or_create((number + 1) % threads, lambda: "made by another")
            except RuntimeError:
                refused.append(number)
            return f"made by {number}"

        trie.get_or_create(number, factory)

    run_together([partial(make, number) for number in range(threads)])
    assert refused
    assert trie == {number: f"made by {number}" for number in range(threads)}
    trie.check()


def test_a_key_that_cannot_be_compared_keeps_nobody_waiting() -> None:
    trie: Any = Ctrie()
    one, other = Hooked("one"), Hooked("other")  # they have the same hash, and both are being made
    running, go = threading.Event(), threading.Event()
    first = start([lambda: trie.get_or_create(other, lambda: running.set() or go.wait(LIMIT))])
    assert running.wait(LIMIT)

    def factory() -> int:
        one.on_eq = other.on_eq = lambda: 1 // 0
        return 1

    assert trie.get_or_create(one, factory) == 1
    one.on_eq = other.on_eq = lambda: None
    go.set()
    finish(first)
    trie.pop(one, None)
    assert run_together([lambda: trie.get_or_create(one, lambda: 2)]) == [2]
    trie.check()


def test_a_child_forked_while_a_value_is_made_makes_its_own() -> None:
    script = """
        import os, threading
        from ctrie import Ctrie
        trie, running, go = Ctrie(), threading.Event(), threading.Event()
        maker = threading.Thread(target=trie.get_or_create, args=("k", lambda: running.set() or go.wait() and "old"))
        maker.start()
        running.wait()
        child = os.fork()
        if not child:
            print(trie.get_or_create("k", lambda: "new"), flush=True)
            trie.check()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        go.set()
        maker.join()
        print(trie["k"])
    """
    assert run_script(textwrap.dedent(script)) == (0, "new\nold\n", "")
