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

from ctrie import Ctrie, twin
from tests.scripts import run_script
from tests.threads import LIMIT, finish, meanwhile, run_together, start

THREADS = 8

# Every operation that looks for a key. Those that write have an effect of their own on a map of {key: "old"}.
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "getitem": lambda m, k: m[k],
    "get": lambda m, k: m.get(k),
    "in": lambda m, k: k in m,
    "set": lambda m, k: m.__setitem__(k, "new"),
    "put_if_absent": lambda m, k: m.put_if_absent(k, "new"),
    "setdefault": lambda m, k: m.setdefault(k, "new"),
    "replace": lambda m, k: m.replace(k, "new"),
    "replace_if": lambda m, k: m.replace_if(k, "old", "new"),
    "remove_if": lambda m, k: m.remove_if(k, "old"),
    "pop": lambda m, k: m.pop(k, None),
    "compute": lambda m, k: m.compute(k, lambda value: "new"),
    "get_or_create": lambda m, k: m.get_or_create(k, lambda: "new"),
    "update": lambda m, k: m.update([(k, "new")]),
}


class Meddling:
    """A value equal to any other, which calls a function when it is compared."""

    def __init__(self, meddle: Callable[[], None]) -> None:
        self.meddle = meddle

    def __eq__(self, other: object) -> bool:
        self.meddle()
        return True

    __hash__ = None  # type: ignore[assignment]


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


@pytest.fixture(params=["alone", "in a collision", "beside another"])
def place(request: pytest.FixtureRequest) -> tuple[Any, Hooked]:
    """A map, and a key that is in it with the value "old"."""
    k = Hooked("k")
    others = {"alone": [], "in a collision": [Hooked("x"), Hooked("y")], "beside another": [Hooked("z", 6)]}
    trie: Any = Ctrie({k: "old", **dict.fromkeys(others[request.param], "other")})
    return trie, k


def at_rest(trie: Any, k: Hooked) -> None:
    for stored in (k, *trie):
        stored.on_eq = stored.on_hash = lambda: None
    trie.check()


def once(action: Callable[[], object]) -> Callable[[], object]:
    """Return a function that calls `action` the first time only."""
    calls = itertools.count()
    return lambda: action() if next(calls) == 0 else None


class TestRaising:
    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_what_eq_raises_reaches_the_caller_and_nothing_is_changed(self, place: Any, operation: str) -> None:
        trie, k = place
        before = {(stored.name, value) for stored, value in trie.items()}
        k.on_eq = lambda: 1 // 0
        with pytest.raises(ZeroDivisionError):
            OPERATIONS[operation](trie, Hooked("k"))
        assert {(stored.name, value) for stored, value in trie.items()} == before
        at_rest(trie, k)
        assert trie[Hooked("k")] == "old"

    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_what_hash_raises_reaches_the_caller_and_nothing_is_changed(self, place: Any, operation: str) -> None:
        trie, k = place
        before = len(trie)
        failing = Hooked("k")
        failing.on_hash = lambda: 1 // 0
        with pytest.raises(ZeroDivisionError):
            OPERATIONS[operation](trie, failing)
        assert len(trie) == before
        assert trie[k] == "old"
        at_rest(trie, k)

    @pytest.mark.parametrize("keyword", ["hash", "equal"])
    def test_what_the_tries_own_functions_raise_reaches_the_caller(self, keyword: str) -> None:
        failing = False

        def function(*keys: Any) -> int:
            return 1 // (not failing)

        trie: Any = Ctrie({"a": 1}, **{"hash": lambda k: 0, keyword: function})  # type: ignore[arg-type]
        failing = True
        for operation in OPERATIONS.values():
            with pytest.raises(ZeroDivisionError):
                operation(trie, "b")
        failing = False
        assert dict(trie.items()) == {"a": 1}
        trie.check()

    @pytest.mark.parametrize("operation", ["replace_if", "remove_if"])
    def test_what_the_values_eq_raises_reaches_the_caller(self, operation: str) -> None:
        class Failing:
            def __eq__(self, other: object) -> bool:
                raise ZeroDivisionError

            __hash__ = None  # type: ignore[assignment]

        value = Failing()
        trie: Any = Ctrie({"k": value})
        with pytest.raises(ZeroDivisionError):
            OPERATIONS[operation](trie, "k")
        assert trie["k"] is value
        trie.check()


class TestReentry:
    """A key's `__eq__` or `__hash__` uses the map in the middle of an operation on it."""

    ACTIONS: dict[str, Callable[[Any, Any], Any]] = {
        "removes it": lambda m, k: m.pop(k, None),
        "replaces it": lambda m, k: m.__setitem__(k, "meddled"),
        "adds beside it": lambda m, k: m.__setitem__(Hooked("w"), "meddled"),
        "clears": lambda m, k: m.clear(),
        "clears and refills": lambda m, k: (m.clear(), m.update({k: "meddled"})),
        "takes a snapshot": lambda m, k: m.snapshot(),
        "iterates": lambda m, k: list(m),
        "counts": lambda m, k: len(m),
    }

    @pytest.mark.parametrize("hook", ["on_eq", "on_hash"])
    @pytest.mark.parametrize("action", ACTIONS)
    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_the_map_stays_sound(self, place: Any, operation: str, action: str, hook: str) -> None:
        trie, k = place
        frozen = trie.readonly_snapshot()
        names = sorted(stored.name for stored in trie)
        looked_up = Hooked("k")
        meddling = k if hook == "on_eq" else looked_up
        setattr(meddling, hook, once(lambda: self.ACTIONS[action](trie, k)))
        try:
            OPERATIONS[operation](trie, looked_up)
        except KeyError:
            assert operation == "getitem"
        at_rest(trie, k)
        assert sorted(stored.name for stored in frozen) == names
        frozen.check()

    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_a_comparison_that_always_writes_is_not_in_its_own_operations_way_for_ever(
        self, place: Any, operation: str
    ) -> None:
        trie, k = place
        writes = itertools.count()

        def write_beside() -> None:
            trie[Hooked("beside", 6)] = next(writes)

        k.on_eq = write_beside
        OPERATIONS[operation](trie, Hooked("k"))
        at_rest(trie, k)
        assert trie[Hooked("beside", 6)] == next(writes) - 1

    def test_an_operation_that_was_overtaken_by_its_own_comparison_takes_that_into_account(self) -> None:
        k = Hooked("k")
        trie: Any = Ctrie({k: 1})
        k.on_eq = once(lambda: trie.__setitem__(k, 10))
        assert trie.compute(Hooked("k"), lambda value: value + 1) == 11
        k.on_eq = once(lambda: trie.pop(k))
        assert trie.replace(Hooked("k"), 2) is False
        assert Hooked("k") not in trie
        trie.check()

    @pytest.mark.parametrize("operation", ["replace_if", "remove_if"])
    def test_a_value_that_is_newer_than_the_one_that_was_compared_survives(self, operation: str) -> None:
        class Slow:
            def __eq__(self, other: object) -> bool:
                trie["k"] = "newer"
                return other == "old"

            __hash__ = None  # type: ignore[assignment]

        trie: Any = Ctrie({"k": Slow()})
        assert OPERATIONS[operation](trie, "k") is False
        assert trie["k"] == "newer"
        trie.check()

    @pytest.mark.parametrize("operation", ["replace_if", "remove_if"])
    def test_a_value_whose_comparison_changes_its_key_each_time_is_told(self, operation: str) -> None:
        asked = []

        class Meddling:
            def __eq__(self, other: object) -> bool:
                asked.append(other)
                trie["k"] = Meddling()
                return True

            __hash__ = None  # type: ignore[assignment]

        trie: Any = Ctrie({"k": Meddling()})
        with pytest.raises(RuntimeError, match=f"{operation}: 'k' has changed during each of 10,000 attempts"):
            OPERATIONS[operation](trie, "k")
        assert len(asked) == 10_000
        trie["k"] = "old"
        assert OPERATIONS[operation](trie, "k") is True
        trie.check()

    def test_a_map_that_is_its_own_key_function(self) -> None:
        numbers: Any = Ctrie()

        def number(k: str) -> int:
            return numbers.setdefault(k, len(numbers))  # type: ignore[no-any-return]

        trie: Any = Ctrie(hash=number)
        for k in ("a", "b", "a", "c"):
            trie[k] = k
        assert sorted(trie) == sorted(numbers) == ["a", "b", "c"]
        trie.check()


class TestUnstableHash:
    def test_a_key_whose_hash_changes_is_lost_but_harms_no_other(self) -> None:
        hashes = itertools.count()

        class Unstable:
            def __hash__(self) -> int:
                return next(hashes)

        k = Unstable()
        trie: Any = Ctrie(dict.fromkeys(range(100, 200)))
        for _ in range(50):
            trie[k] = None
        assert len(trie) == 150  # like a dict, it takes each one for a different key
        assert all(number in trie for number in range(100, 200))
        for _ in range(20):
            trie.pop(k, None)
        assert list(trie).count(k) == 50
        for number in range(100, 200):
            del trie[number]
        while trie:
            assert trie.popitem()[0] is k
        assert trie._shape() == ("C",)
        trie.check()

    def test_equal_keys_with_different_hashes_harm_nobody(self) -> None:
        trie: Any = Ctrie(hash=lambda k: k, equal=lambda one, other: True)
        for number in range(100):
            trie[number] = number
        assert sorted(trie) == list(range(100))
        del trie[50]
        assert trie.popitem()
        assert len(trie) == 98
        trie.check()


class TestWaiting:
    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_nobody_waits_for_a_thread_that_is_held_in_a_comparison(self, place: Any, operation: str) -> None:
        trie, k = place
        entered, go = threading.Event(), threading.Event()
        holding = threading.local()

        def hold() -> None:
            if getattr(holding, "here", False):
                entered.set()
                assert go.wait(LIMIT)

        def held_operation() -> None:
            holding.here = True
            try:
                OPERATIONS[operation](trie, Hooked("k"))
            except KeyError:
                assert operation == "getitem"

        k.on_eq = hold
        held = start([held_operation])
        assert entered.wait(LIMIT)
        for other in OPERATIONS.values():  # each runs to its end in this thread
            for k2 in (Hooked("k2"), Hooked("k", 6)):
                trie[k2] = "old"
                other(trie, k2)
        trie[Hooked("k")] = "overtaken"
        assert len(trie.snapshot()) == len(trie)
        trie.clear()
        go.set()
        finish(held)
        at_rest(trie, k)


class TestCompute:
    def test_no_increment_is_lost(self) -> None:
        trie: Any = Ctrie()

        def count_up() -> None:
            for number in range(200):
                trie.compute(number % 5, lambda count: count + 1, 0)

        with meanwhile(lambda: len(trie)):
            run_together([count_up] * THREADS)
        assert trie == dict.fromkeys(range(5), THREADS * 40)
        trie.check()

    def test_what_the_function_raises_reaches_the_caller(self) -> None:
        trie: Any = Ctrie({1: 0})
        for k in (1, 2):
            with pytest.raises(ZeroDivisionError):
                trie.compute(k, lambda value: 1 // 0)
        assert trie == {1: 0}
        trie.check()

    def test_the_function_is_called_again_when_another_was_faster(self) -> None:
        trie: Any = Ctrie({"k": 1})
        seen = []

        def double(value: int) -> int:
            seen.append(value)
            if len(seen) == 1:
                trie["k"] = 5
            if len(seen) == 2:
                del trie["k"]
            return 2 * value

        assert trie.compute("k", double, 100) == 200
        assert seen == [1, 5, 100]
        assert trie == {"k": 200}
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
    def test_a_function_that_changes_its_own_key_each_time_is_told(self, change: str) -> None:
        trie: Any = Ctrie({"k": 1, "other": 2})
        calls = []

        def meddle(value: Any) -> Any:
            calls.append(value)
            self.OWN_CHANGES[change](trie)
            return "done"

        with pytest.raises(RuntimeError, match="compute: 'k' has changed during each of 10,000 attempts"):
            trie.compute("k", meddle)
        assert len(calls) == 10_000
        assert trie["k"] != "done"
        assert trie.compute("k", lambda value: 2) == 2
        trie.check()

    def test_a_function_that_others_overtake_is_called_again(self) -> None:
        trie: Any = Ctrie({"k": 0})
        calls = []

        def look(value: int) -> int:
            calls.append(value)
            assert trie.setdefault("k", -1) == value
            assert not trie.replace_if("k", -1, -2)
            if len(calls) < 30:
                run_together([lambda: trie.__setitem__("k", len(calls))])
            return -value

        assert trie.compute("k", look) == -29
        trie.check()

    EACH_OTHERS: dict[str, Callable[[Any, Any, Callable[[], None]], object]] = {
        "compute": lambda m, own, meddle: m.compute(own, lambda value: (meddle(), "done")[1]),
        "replace_if": lambda m, own, meddle: m.replace_if(own, Meddling(meddle), "done"),
        "remove_if": lambda m, own, meddle: m.remove_if(own, Meddling(meddle)),
    }

    @pytest.mark.parametrize("operation", EACH_OTHERS)
    @pytest.mark.parametrize("threads", [2, 3])
    def test_threads_that_change_one_anothers_keys_each_time_end(self, operation: str, threads: int) -> None:
        """In step: all threads read, then each changes the key of the next thread, then all try to store, and fail."""
        trie: Any = Ctrie(dict.fromkeys(range(threads), 0))
        barrier = threading.Barrier(threads)
        told: list[str] = []

        def work(me: int) -> None:
            def meddle() -> None:
                with contextlib.suppress(threading.BrokenBarrierError):  # one got an error, and the others continue
                    barrier.wait(LIMIT)
                    trie[(me + 1) % threads] = object()
                    barrier.wait(LIMIT)

            try:
                self.EACH_OTHERS[operation](trie, me, meddle)
            except RuntimeError as error:
                told.append(str(error))
                barrier.abort()

        with pytest.MonkeyPatch.context() as patched:
            if twin == "interpreted":  # in step, an attempt takes some tenths of a millisecond
                patched.setattr("ctrie._ctrie.MOST_ATTEMPTS", 100)
            run_together([partial(work, me) for me in range(threads)])
        assert told
        assert f"{operation}: " in told[0]
        trie.check()

    def test_a_key_with_the_same_hash_is_another_key(self) -> None:
        trie: Any = Ctrie(hash=lambda k: 1)
        calls = []

        def beside(value: Any) -> str:
            calls.append(value)
            trie["other"] = len(calls)
            if len(calls) < 30:
                run_together([lambda: trie.__setitem__("k", len(calls))])
            return "done"

        assert trie.compute("k", beside) == "done"
        assert len(calls) == 30
        trie.check()

    def test_the_function_may_use_other_keys(self) -> None:
        trie: Any = Ctrie({number: 1 for number in range(5)})
        assert trie.compute("sum", lambda none: sum(trie.values())) == 5
        assert trie.compute("nested", lambda none: trie.compute("inner", lambda none: 7) + 1) == 8
        assert trie["inner"] == 7
        trie.check()

    def test_none_may_be_stored(self) -> None:
        trie: Any = Ctrie({1: 1})
        assert trie.compute(1, lambda value: None) is None
        assert trie.compute(1, lambda value: value is None) is True


class TestGetOrCreate:
    def test_one_value_for_each_key_made_once_and_returned_to_all(self) -> None:
        trie: Any = Ctrie()
        made: list[int] = []

        def ask() -> list[object]:
            return [trie.get_or_create(k, lambda k=k: made.append(k) or object()) for k in range(100)]

        answers = run_together([ask] * THREADS)
        assert sorted(made) == list(range(100))
        for k, values in enumerate(zip(*answers, strict=True)):
            assert {id(value) for value in values} == {id(trie[k])}
        trie.check()

    def test_those_who_come_while_the_factory_runs_wait_for_its_value(self) -> None:
        trie: Any = Ctrie()
        running, go = threading.Event(), threading.Event()

        def slow() -> list[int]:
            running.set()
            assert go.wait(LIMIT)
            return [1]

        first = start([lambda: trie.get_or_create("k", slow)])
        assert running.wait(LIMIT)
        others = start([lambda: trie.get_or_create("k", lambda: [2])] * 3)
        assert trie.get("k", "not yet") == "not yet"  # reading does not wait
        assert trie.get_or_create("another", lambda: 3) == 3  # and another key does not wait
        assert len(trie) == 1
        go.set()
        values = [*finish(first), *finish(others)]
        assert values == [[1]] * 4
        assert {id(value) for value in values} == {id(trie["k"])}
        trie.check()

    def test_if_the_factory_raises_one_of_those_who_wait_takes_over(self) -> None:
        trie: Any = Ctrie()
        running, go = threading.Event(), threading.Event()

        def failing() -> None:
            running.set()
            assert go.wait(LIMIT)
            raise ZeroDivisionError

        def fail() -> None:
            with pytest.raises(ZeroDivisionError):
                trie.get_or_create("k", failing)
            assert trie.get("k") in (None, [2])

        first = start([fail])
        assert running.wait(LIMIT)
        made: list[None] = []
        others = start([lambda: trie.get_or_create("k", lambda: made.append(None) or [2])] * 3)
        go.set()
        finish(first)
        assert finish(others) == [[2]] * 3
        assert len(made) == 1
        trie.check()

    def test_if_the_factory_raises_the_map_is_unchanged(self) -> None:
        trie: Any = Ctrie()
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                trie.get_or_create("k", lambda: 1 // 0)
        assert trie == {}
        assert trie.get_or_create("k", lambda: 1) == 1
        trie.check()

    def test_a_factory_that_asks_for_its_own_key_is_told(self) -> None:
        trie: Any = Ctrie()
        with pytest.raises(RuntimeError, match="the factory for 'k' asked for that same key"):
            trie.get_or_create("k", lambda: trie.get_or_create("k", list))
        with pytest.raises(RuntimeError):
            trie.get_or_create("a", lambda: trie.get_or_create("b", lambda: trie.get_or_create("a", list)))
        assert trie == {}
        assert trie.get_or_create("k", lambda: 1) == 1
        trie.check()

    def test_a_key_that_cannot_be_compared_keeps_nobody_waiting(self) -> None:
        trie: Any = Ctrie()
        one, other = Hooked("one"), Hooked("other")  # they have the same hash, and both are being made
        running, go = threading.Event(), threading.Event()
        first = start([lambda: trie.get_or_create(other, lambda: running.set() or go.wait(LIMIT))])
        assert running.wait(LIMIT)

        def sore() -> None:
            raise ZeroDivisionError

        def factory() -> int:
            one.on_eq = other.on_eq = sore
            return 1

        assert trie.get_or_create(one, factory) == 1
        one.on_eq = other.on_eq = lambda: None
        go.set()
        finish(first)
        trie.pop(one, None)
        assert run_together([lambda: trie.get_or_create(one, lambda: 2)]) == [2]
        trie.check()

    def test_a_child_forked_while_a_value_is_made_makes_its_own(self) -> None:
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

    def test_a_factory_may_ask_for_other_keys(self) -> None:
        trie: Any = Ctrie()

        def fibonacci(n: int) -> int:
            return trie.get_or_create(n, lambda: n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2))  # type: ignore[no-any-return]

        assert run_together([lambda: fibonacci(20)]) == [6765]
        assert len(trie) == 21
        trie.check()

    def test_a_value_that_the_factory_stored_is_kept(self) -> None:
        trie: Any = Ctrie()

        def storing() -> str:
            trie["k"] = "stored"
            return "returned"

        assert trie.get_or_create("k", storing) == "stored"
        assert trie == {"k": "stored"}

    def test_a_value_that_another_thread_stored_meanwhile_is_kept(self) -> None:
        trie: Any = Ctrie()

        def overtaken() -> str:
            run_together([lambda: trie.put_if_absent("k", "first")])
            return "second"

        assert trie.get_or_create("k", overtaken) == "first"
        assert trie == {"k": "first"}
        trie.check()

    def test_after_a_removal_the_value_is_made_anew(self) -> None:
        trie: Any = Ctrie()
        numbers = itertools.count()
        assert trie.get_or_create("k", lambda: next(numbers)) == 0
        del trie["k"]
        assert trie.get_or_create("k", lambda: next(numbers)) == 1

    def test_a_snapshot_taken_while_a_value_is_made_does_not_wait_for_it(self) -> None:
        trie: Any = Ctrie()

        def make() -> str:
            fork = trie.snapshot()
            assert fork.get_or_create("k", lambda: "fork's") == "fork's"
            return "source's"

        assert trie.get_or_create("k", make) == "source's"

    def test_none_is_a_value_and_is_made_once(self) -> None:
        trie: Any = Ctrie()
        made: list[None] = []
        for _ in range(3):
            assert trie.get_or_create(None, lambda: made.append(None)) is None
        assert len(made) == 1

    def test_it_keeps_the_tries_own_equality(self) -> None:
        trie: Any = Ctrie(hash=len, equal=lambda one, other: one.lower() == other.lower())
        assert trie.get_or_create("Ab", lambda: 1) == 1
        assert trie.get_or_create("aB", lambda: 2) == 1
        trie.check()
