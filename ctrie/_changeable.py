"""A map as it is changed: the edits of one key, those of many, and what each does to the count of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index, is_
from typing import Any, Self

import cython

from ctrie._creation import Creation
from ctrie._subclasses import not_to_be_changed
from ctrie._views import NoDefault, not_a_pair, pairs_of

if not cython.compiled:
    from ctrie._bulk import fill_root
    from ctrie._descent import (
        ADDED,
        THERE,
        UNDONE,
        NoValue,
        find,
        find_value,
        put_quickly,
    )
    from ctrie._edits import edit_trie
    from ctrie._machine import EVERY, check_signals, check_stack, release
    from ctrie._nodes import (
        Edit,
        Pair,
        Root,
        Rooted,
        SNode,
        clear_root,
        empty_root,
        first_snode,
        freeze_root,
        is_empty,
        mix,
        new_pair,
        root_of,
    )
    from ctrie._slot import Slot, compare_and_set, initialise, load
    from ctrie._tally import Tally, begin_change, begin_clear, end_change, end_clear, end_in_doubt

from ctrie._nodes import NODES

PUT = 0
PUT_IF_ABSENT = 1
REPLACE = 2
REPLACE_SAME = 3
REMOVE = 4
REMOVE_SAME = 5

_ABSENT: Any = NoDefault()
_AT_ONCE = (dict, list, tuple)  # `update` reads these without running users' code, which could read the trie meanwhile
_MASK64 = 0xFFFFFFFFFFFFFFFF
MOST_ATTEMPTS = 10_000  # of an operation that calls users' code: that may change the key itself, each time

# The root of a Ctrie between __new__ and __init__. It is read-only, so nothing can be stored in it and lost.
_UNMADE: Root = freeze_root(empty_root())


class MapEdit(Edit):
    """One change of the S-node of one key. The modes ..._SAME act only if the S-node is still `expected`, the one whose
    value the caller has compared. So no value is compared twice, and none is compared under contention."""

    __slots__ = ("equal", "expected", "key", "mode", "value")
    key: Any
    value: Any
    mode: int
    expected: SNode | None
    equal: Callable[[Any, Any], Any] | None

    def same(self, sn: SNode) -> bool:
        if self.settled:
            return False  # only tombs are left to clear away: do not call the user's __eq__ again
        pair: Pair = sn  # type: ignore[assignment]
        return pair.key is self.key or self.agree(pair.key, self.key, self.equal)

    def create(self) -> SNode | None:
        return new_pair(self.key, self.hash, self.value) if self.mode <= PUT_IF_ABSENT else None

    def change(self, sn: SNode) -> SNode | None:
        mode = self.mode
        if mode in (PUT, REPLACE) or (mode == REPLACE_SAME and sn is self.expected):
            pair: Pair = sn  # type: ignore[assignment]
            return new_pair(pair.key, self.hash, self.value)  # as in a dict, the first key object stays
        if mode == REMOVE or (mode == REMOVE_SAME and sn is self.expected):
            return None
        return sn


class ChangeableMap(Rooted):
    """What a Ctrie consists of, and its changes."""

    __slots__ = ("__weakref__", "_creations", "_equal", "_hash")
    _hash: Callable[[Any], int] | None
    _equal: Callable[[Any, Any], Any] | None
    _creations: Slot  # for get_or_create: None, or the Root of a trie of key -> Creation

    if cython.compiled:

        def __cinit__(self, *_: object, **__: object) -> None:
            self._root = _UNMADE
            self._tally = Tally()
            self._creations = Slot.__new__(Slot)
    else:

        def __new__(cls, *_: object, **__: object) -> Self:
            self = object.__new__(cls)
            self._root = _UNMADE
            self._tally = Tally()
            self._creations = Slot.__new__(Slot)
            initialise(self._creations, None)
            self._hash = self._equal = None
            return self

    # ----------------------------------------------------------------------------------------------- one key: write

    def __setitem__(self, key: Any, value: Any) -> None:
        self._writable()
        self._put(key, value)

    def __delitem__(self, key: Any) -> None:
        if self._edit(REMOVE, key, None, None) is None:
            raise KeyError(key)

    @cython.binding(True)  # type: ignore[untyped-decorator]  # for its signature: that default has no text
    def compute(self, key: Any, fn: Callable[[Any], Any], default: Any = None, *, absent: Any = _ABSENT) -> Any:
        """Replace the value of `key` by `fn(value)` (`fn(default)` if there is none) and return the new value.

        If `fn` returns the very object that is given as `absent`, `key` has no value afterwards.

        Atomic: the value does not change between the one that `fn` got and the one that it returned. `fn` may be called
        again if another thread was faster, so it should have no side effects. An exception from `fn` reaches the
        caller, and nothing is changed.

        Lock-free: an attempt fails only if `key` has changed meanwhile, so another change has succeeded.

        Raises:
            RuntimeError: Each of 10,000 attempts has failed: `fn` itself changes `key`, or other threads do, and are
                faster each time. Nothing is changed then.

        >>> from ctrie import Ctrie
        >>> m = Ctrie()
        >>> m.compute("hits", lambda n: n + 1, default=0), m.compute("hits", lambda n: n + 1, default=0)
        (1, 2)
        >>> m.compute("hits", lambda n: n - 2 or None, absent=None), "hits" in m
        (None, False)
        """
        self._writable()
        if not callable(fn):
            raise TypeError(f"compute() takes a function of the present value, not {type(fn).__name__}")
        hash = self._hash_of(key)
        for _ in range(MOST_ATTEMPTS):
            sn = find(self, key, hash, self._equal)
            value = fn(default if sn is None else sn.value)
            if value is absent:
                if sn is None or self._edit_hashed(REMOVE_SAME, key, hash, None, sn) is sn:
                    return value
            elif self._edit_hashed(PUT_IF_ABSENT if sn is None else REPLACE_SAME, key, hash, value, sn) is sn:
                return value
        raise _overtaken("compute", key)

    def get_or_create(self, key: Any, factory: Callable[[], Any]) -> Any:
        """Return the value of `key`, calling `factory()` to make it if there is none; at most once per key.

        A thread that asks for a key whose value is being made waits for it, so this one method is not lock-free. If
        `factory` raises, its caller gets the exception, the map is unchanged, and one of the waiting threads tries its
        own. If `factory` stores a value for its key, that value stays.

        Raises:
            RuntimeError: A `factory` that asks for its own key gets it instead of a deadlock. If factories in several
                threads ask for one another's keys, one of them gets it.

        >>> from ctrie import Ctrie
        >>> m = Ctrie()
        >>> m.get_or_create("k", list) is m.get_or_create("k", list)
        True
        """
        self._writable()
        if not callable(factory):
            raise TypeError(f"get_or_create() takes a function that makes the value, not {type(factory).__name__}")
        hash = self._hash_of(key)
        while True:
            sn = find(self, key, hash, self._equal)
            if sn is not None:
                return sn.value
            mine = Creation()
            making = self._creations_root()
            announced = edit_trie(making, self._map_edit(PUT_IF_ABSENT, key, hash, mine, None))
            if announced is not None:
                pair: Pair = announced  # type: ignore[assignment]
                pair.value.wait(key)
                self._take_back(making, REMOVE_SAME, pair.key, hash, pair)  # its maker may not exist any more
                continue
            try:
                # An earlier creation may have ended between the lookup and the announcement.
                sn = find(self, key, hash, self._equal)
                if sn is not None:
                    return sn.value
                value = factory()
                sn = self._edit_hashed(PUT_IF_ABSENT, key, hash, value, None)
                return value if sn is None else sn.value
            finally:
                try:
                    self._take_back(making, REMOVE, key, hash, None)
                except MemoryError:
                    pass  # the next thread that finds it, ended, takes it back
                finally:
                    mine.finish()

    # ------------------------------------------------------------------------------------------------ many keys: write

    def update(self, mapping_or_pairs: Any = (), /, **more: Any) -> None:
        """Store every pair, each by a separate atomic change. If the Ctrie is empty, a dict, list or tuple is stored at
        one instant, in a fraction of the time."""
        self._writable()
        pairs = pairs_of(mapping_or_pairs)
        if type(mapping_or_pairs) not in _AT_ONCE or not self._fill(mapping_or_pairs):
            for number, pair in enumerate(pairs):
                if number % EVERY == 0:
                    check_signals()
                try:
                    key, value = pair
                except (TypeError, ValueError) as refusal:
                    raise not_a_pair(pair, number, refusal) from None
                self._put(key, value)
        for name, value in more.items():
            self._put(name, value)

    def popitem(self) -> tuple[Any, Any]:
        """Remove some (key, value) pair and return it. Lock-free.

        Raises:
            KeyError: There is none.
        """
        self._writable()
        # Progress: a round that does not return found that another thread has changed or removed this key.
        while True:
            sn = first_snode(self._root)
            if sn is None:
                raise KeyError("popitem(): the Ctrie is empty")
            pair: Pair = sn  # type: ignore[assignment]
            if self._edit_hashed(REMOVE_SAME, pair.key, pair.hash, None, pair) is pair:
                return pair.key, pair.value

    def clear(self) -> None:
        """Remove everything, at one instant. Lock-free. O(1), and O(n) to free what nothing else needs."""
        self._writable()
        before = begin_clear(self._tally)
        cleared = False
        try:
            dropped = clear_root(self._root)
            cleared = True
        finally:
            end_clear(self._tally, before, cleared)
        release(dropped, NODES)

    # ------------------------------------------------------------------------------------------------------- internals

    def _hash_of(self, key: Any) -> int:
        check_stack()
        return mix(hash(key)) if self._hash is None else self._own_hash_of(key)

    def _own_hash_of(self, key: Any) -> int:
        """Return the mixed hash by the function that this map was given."""
        raw = self._hash(key)  # type: ignore[misc]
        if not hasattr(raw, "__index__"):
            raise TypeError(
                f"hash({key!r}) returned {type(raw).__name__}, not int: the `hash` that this Ctrie was given"
            )
        return mix(index(raw) & _MASK64)

    def _is_made(self) -> bool:
        """Return whether `__init__` has run."""
        return self._root is not _UNMADE

    def _writable(self) -> None:
        if self._root.readonly:
            raise not_to_be_changed("Ctrie", self._is_made(), "take .snapshot() of it for a copy that can be changed")

    def _fill(self, given: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> bool:
        """Store all pairs at once if the trie is empty; return whether they are stored."""
        if not is_empty(self._root):
            return False
        found: list[Any] = []
        if type(given) is dict:
            mapping: dict[Any, Any] = given
            for key, value in mapping.items():
                if len(found) % EVERY == 0:
                    check_signals()
                found.append(new_pair(key, self._hash_of(key), value))
        else:
            for number, pair in enumerate(given):
                if number % EVERY == 0:
                    check_signals()
                try:
                    key, value = pair
                except (TypeError, ValueError) as refusal:
                    raise not_a_pair(pair, number, refusal) from None
                found.append(new_pair(key, self._hash_of(key), value))
        return not found or self._fill_root(found)

    def _add_keys(self, keys: Iterable[Any]) -> None:
        """Store None for each key of a new set, which no other thread sees yet."""
        found: list[Any] = []
        for key in keys:
            if len(found) % EVERY == 0:
                check_signals()
            found.append(new_pair(key, self._hash_of(key), None))
        if found:
            self._fill_root(found)

    def _fill_root(self, pairs: list[Any]) -> bool:
        """Store these pairs, some, at once if the trie is empty; return whether they are stored."""
        begin_change(self._tally)
        number, in_doubt = -1, True
        try:
            number, in_doubt = fill_root(self._root, pairs, self._equal), False
        finally:
            if in_doubt:
                end_in_doubt(self._tally)
            else:
                end_change(self._tally, max(number, 0), 0)
        return number >= 0

    def _put(self, key: Any, value: Any) -> None:
        hash = self._hash_of(key)
        if put_quickly(self, key, hash, self._equal, value, False) == UNDONE:
            self._edit_hashed(PUT, key, hash, value, None)

    def _put_if_absent(self, key: Any, value: Any, default: Any) -> Any:
        self._writable()
        hash = self._hash_of(key)
        outcome = put_quickly(self, key, hash, self._equal, value, True)
        if outcome == ADDED:
            return default
        if outcome == THERE:
            present = find_value(self, key, hash, self._equal, NoValue)
            if present is not NoValue:  # it was not removed in between
                return present
        found = self._edit_hashed(PUT_IF_ABSENT, key, hash, value, None)
        return default if found is None else found.value

    def _edit(self, mode: int, key: Any, value: Any, expected: SNode | None) -> SNode | None:
        self._writable()
        return self._edit_hashed(mode, key, self._hash_of(key), value, expected)

    def _edit_hashed(self, mode: int, key: Any, hash: int, value: Any, expected: SNode | None) -> SNode | None:
        edit = self._map_edit(mode, key, hash, value, expected)
        more, in_doubt = 0, True
        begin_change(self._tally)
        try:
            found = edit_trie(cython.cast(Root, root_of(self)), edit)
            more, in_doubt = _more(mode, found, expected), False
        finally:
            if in_doubt:
                end_in_doubt(self._tally)
            else:
                end_change(self._tally, more, 0)
        return found

    def _map_edit(self, mode: int, key: Any, hash: int, value: Any, expected: SNode | None) -> MapEdit:
        edit: MapEdit = MapEdit.__new__(MapEdit)
        edit.mode = mode
        edit.key = key
        edit.hash = hash
        edit.value = value
        edit.expected = expected
        edit.equal = self._equal
        return edit

    def _edit_if(self, mode: int, key: Any, old: Any, new: Any) -> bool:
        self._writable()
        hash = self._hash_of(key)
        # Progress: as in `compute`.
        for _ in range(MOST_ATTEMPTS):
            sn = find(self, key, hash, self._equal)
            if sn is None or not (sn.value is old or sn.value == old):
                return False
            if self._edit_hashed(mode, key, hash, new, sn) is sn:
                return True
        raise _overtaken("replace_if" if mode == REPLACE_SAME else "remove_if", key)

    def _creations_root(self) -> Root:
        root = load(self._creations)
        if root is None:
            # Success: announcements go into this trie. Failure: another thread has just made one.
            compare_and_set(self._creations, None, empty_root())
            root = load(self._creations)
        return root  # type: ignore[no-any-return]

    def _take_back(self, making: Root, mode: int, key: Any, hash: int, announced: SNode | None) -> None:
        """Remove the announcement that was made with this very key object. Keys are compared by identity: a key's
        `__eq__` may raise, and then the announcement would stay."""
        edit = self._map_edit(mode, key, hash, None, announced)
        edit.equal = is_
        edit_trie(making, edit)


def _overtaken(operation: str, key: Any) -> RuntimeError:
    return RuntimeError(
        f"{operation}: {key!r} has changed during each of {MOST_ATTEMPTS:,} attempts, by what they called or by other "
        "threads, which were faster each time"
    )


def _more(mode: int, found: SNode | None, expected: SNode | None) -> int:
    """Return how many more keys there are after an edit that found `found`."""
    if found is None:
        return 1 if mode in (PUT, PUT_IF_ABSENT) else 0
    return -1 if mode == REMOVE or (mode == REMOVE_SAME and found is expected) else 0
