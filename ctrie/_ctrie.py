"""`Ctrie`: the concurrent trie of `_nodes` as a mutable mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from operator import index, is_
from typing import Any, Self

import cython

from ctrie._creation import Creation
from ctrie._subclasses import attributes_of, not_to_be_changed, set_attributes
from ctrie._views import (
    SUBSCRIPTED,
    ItemsView,
    KeysView,
    NoDefault,
    ValuesView,
    mapping_repr,
    not_a_pair,
    pairs_of,
)

if not cython.compiled:
    from ctrie._bulk import fill_root
    from ctrie._descent import (
        ADDED,
        GROUP,
        THERE,
        UNDONE,
        NoValue,
        find,
        find_value,
        is_there,
        prefetch_paths,
        prefetch_text,
        prefetch_walk,
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
        branches,
        clear_root,
        empty_root,
        first_snode,
        fork_root,
        freeze_root,
        is_empty,
        mix,
        new_pair,
        rdcss_read_root,
        root_of,
    )
    from ctrie._slot import Slot, borrow, compare_and_set, initialise, load
    from ctrie._tally import (
        Tally,
        approximate_length,
        begin_change,
        begin_clear,
        end_change,
        end_clear,
        end_in_doubt,
        length,
        read,
        taken_over,
    )

from ctrie._nodes import NODES, check_level, differences, parts, shape

PUT = 0
PUT_IF_ABSENT = 1
REPLACE = 2
REPLACE_SAME = 3
REMOVE = 4
REMOVE_SAME = 5

_AT_ONCE = (dict, list, tuple)  # `update` reads these without running users' code, which could read the trie meanwhile
_MASK64 = 0xFFFFFFFFFFFFFFFF
MOST_ATTEMPTS = 10_000  # of an operation that calls users' code: that may change the key itself, each time

# The root of a Ctrie between __new__ and __init__. It is read-only, so nothing can be stored in it and lost.
_UNMADE: Root = freeze_root(empty_root())

KEYS = 0
VALUES = 1
PAIRS = 2

_ABSENT: Any = NoDefault()
BLOCK = 128  # keys that `get_many` copies at a time: several groups
COMPILED = bool(cython.compiled)


@cython.no_gc
@cython.cclass
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


class Ctrie(Rooted):
    """Ctrie(mapping_or_pairs=(), /, *, hash=None, equal=None)\n--\n
    A concurrent hash map that any number of threads use without locks, with snapshots in constant time.

    It is a `MutableMapping` and behaves as a dict, except that many threads may read and write it at once, and that an
    operation on the whole map (iteration, `len`, `items`, `==`, `copy`, pickling) sees one instant. `None` is an
    ordinary key and value. `hash` (key -> int) and `equal` (key, key -> bool) replace the keys' own; equal keys must
    have equal hashes.

    `dict(m)` and `{**m}` ask for the keys and then for each value, so they raise KeyError for a key that another thread
    has removed meanwhile: `dict(m.items())` is of one instant.

    Operations on one key take O(log n) steps with base 64, are linearizable and lock-free. A snapshot is O(1); the
    first writes after it copy the nodes on their paths. Iteration has no particular order.

    Methods for one key: `get`, `m[k]`, `m[k] = v`, `del m[k]`, `k in m`, `setdefault`, `pop`, `put_if_absent`,
    `replace`, `replace_if`, `remove_if`, `compute`, `get_or_create`
    Methods for many keys: `get_many`, `update`
    Methods for all of it: iteration, `len`, `keys`, `values`, `items`, `clear`, `popitem`, `|`, `==`
    Methods for an instant: `snapshot`, `readonly_snapshot`, `copy`, `diff`, `split`
    Method for tests: `check`

    Source: Prokopec, Bronson, Bagwell, Odersky: Concurrent Tries with Efficient Non-Blocking Snapshots, PPoPP 2012.

    >>> m = Ctrie({"a": 1})
    >>> before = m.readonly_snapshot()
    >>> m["b"] = 2
    >>> m.put_if_absent("a", 3)
    1
    >>> sorted(m.items()), sorted(before.items())
    ([('a', 1), ('b', 2)], [('a', 1)])
    """

    __slots__ = ("__weakref__", "_creations", "_equal", "_hash")
    __class_getitem__ = SUBSCRIPTED
    __hash__ = None  # type: ignore[assignment]
    __reversed__ = None
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

    def __init__(
        self,
        mapping_or_pairs: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (),
        /,
        *,
        hash: Callable[[Any], int] | None = None,
        equal: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        for name, function in (("hash", hash), ("equal", equal)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} must be callable or None, not {type(function).__name__}")
        if not self._is_made():
            self._hash = hash
            self._equal = equal
            self._root = empty_root()
        elif hash is not self._hash or equal is not self._equal:
            raise TypeError("a Ctrie keeps the hash and the equality that it was made with; make another one")
        if isinstance(mapping_or_pairs, Iterator):
            mapping_or_pairs = list(mapping_or_pairs)
        self.update(mapping_or_pairs)

    # ------------------------------------------------------------------------------------------------ one key: read

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of `key`, or `default`. Never blocks, and writes only to help a pending write.

        >>> Ctrie({1: "one"}).get(2, "many")
        'many'
        """
        return find_value(self, key, self._hash_of(key), self._equal, default)

    def get_many(self, keys: Iterable[Any], default: Any = None) -> list[Any]:
        """Return the values of many keys, in their order; `default` for a key without a value.

        Each answer is that of a separate `get`, linearizable by itself: together they are no snapshot. In a trie that
        is larger than the processor's caches this takes a fraction of the time of as many calls of `get`, because it
        waits for the memory of several keys at once. Raises what hashing or comparing a key raises. Lock-free.

        >>> Ctrie({1: "one", 2: "two"}).get_many([2, 3, 1], "many")
        ['two', 'many', 'one']
        """
        return self._get_all(keys if type(keys) is list else list(keys), default)

    def _get_all(self, keys: list[Any], default: Any) -> list[Any]:
        answers: list[Any] = []
        start = 0
        while True:
            # A copy, since a key's `__eq__` may change the caller's list. It is short, so that its keys are still in
            # the cache when they are looked up.
            block = keys[start : start + BLOCK]
            if not block:
                return answers
            check_signals()
            for at in range(0, len(block), GROUP):
                self._get_group(block, at, default, answers)
            start += BLOCK

    def _get_group(self, keys: list[Any], start: int, default: Any, answers: list[Any]) -> None:
        """Append the values of up to GROUP keys from `start` on."""
        if not cython.compiled:
            hashes = [0] * GROUP
        count = min(GROUP, len(keys) - start)
        for i in range(min(2 * GROUP, len(keys) - start)):  # this group and the next one
            prefetch_text(borrow(keys[start + i]))
        for i in range(count):
            hashes[i] = self._hash_of(keys[start + i])
        prefetch_paths(self, hashes, count)
        for i in range(count):
            answers.append(find_value(self, keys[start + i], hashes[i], self._equal, default))

    def __getitem__(self, key: Any) -> Any:
        value = find_value(self, key, self._hash_of(key), self._equal, NoValue)
        if value is not NoValue:
            return value
        if type(self) is not Ctrie and hasattr(type(self), "__missing__"):  # as in a subclass of dict
            return type(self).__missing__(self, key)  # type: ignore[attr-defined]
        raise KeyError(key)

    def __contains__(self, key: Any) -> bool:
        return is_there(self, key, self._hash_of(key), self._equal)

    # ----------------------------------------------------------------------------------------------- one key: write

    def __setitem__(self, key: Any, value: Any) -> None:
        self._writable()
        self._put(key, value)

    def __delitem__(self, key: Any) -> None:
        if self._edit(REMOVE, key, None, None) is None:
            raise KeyError(key)

    def put_if_absent(self, key: Any, value: Any, default: Any = None) -> Any:
        """Store `value` unless `key` has one; return the value already there, else `default`.

        A `default` of your own tells "absent before" from "None before".

        >>> m = Ctrie()
        >>> m.put_if_absent("a", 1), m.put_if_absent("a", 2)
        (None, 1)
        """
        return self._put_if_absent(key, value, default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value of `key`; if there is none, store `default` first. Atomic."""
        return self._put_if_absent(key, default, default)

    def replace(self, key: Any, value: Any) -> bool:
        """Store `value` only if `key` has a value; return whether it had one. O(log n), lock-free.

        >>> m = Ctrie({"a": 1})
        >>> m.replace("a", 2), m.replace("b", 2)
        (True, False)
        """
        return self._edit(REPLACE, key, value, None) is not None

    def replace_if(self, key: Any, old: Any, new: Any) -> bool:
        """Store `new` only if the value of `key` is `old` (identical or equal, as `in` compares); return whether it
        was. O(log n), lock-free.

        Raises:
            RuntimeError: As in `compute`: the value's `__eq__` changes `key` at every attempt, or other threads do.

        >>> m = Ctrie({"a": 1})
        >>> m.replace_if("a", 2, 3), m.replace_if("a", 1, 3), m["a"]
        (False, True, 3)
        """
        return self._edit_if(REPLACE_SAME, key, old, new)

    def remove_if(self, key: Any, old: Any) -> bool:
        """Remove `key` only if its value is `old` (identical or equal, as `in` compares); return whether it was. Errors
        as `replace_if`.

        >>> m = Ctrie({"a": 1})
        >>> m.remove_if("a", 2), m.remove_if("a", 1), len(m)
        (False, True, 0)
        """
        return self._edit_if(REMOVE_SAME, key, old, None)

    @cython.binding(True)  # type: ignore[untyped-decorator]  # for its signature: that default has no text
    def pop(self, key: Any, default: Any = _ABSENT) -> Any:
        """Remove `key` and return its value; without one, return `default`. O(log n), lock-free.

        Raises:
            KeyError: There is no value, and no `default`.
        """
        found = self._edit(REMOVE, key, None, None)
        if found is not None:
            return found.value
        if default is _ABSENT:
            raise KeyError(key)
        return default

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

    # ------------------------------------------------------------------------------------------------------- all keys

    def __len__(self) -> int:
        """The number of keys at one instant. O(1), lock-free; O(n) while another thread changes the map, and for the
        first call after what leaves `approximate_len` O(n). Linearizes between two readings of how many changes have
        begun and ended."""
        return length(self._tally, lambda: _number(self))

    def approximate_len(self) -> int:
        """Return the number of keys without counting them: exact when no change is in progress, otherwise less or more
        by those that are. O(1); O(n) for the first call after a snapshot or `clear` that overlapped another change, or
        after a change that raised.

        >>> Ctrie({"a": 1, "b": 2}).approximate_len()
        2
        """
        return approximate_length(self._tally, False, lambda: _number(self))

    def __bool__(self) -> bool:
        return not is_empty(self._root)

    def __iter__(self) -> Iterator[Any]:
        return self._iter_keys()

    def keys(self) -> KeysView[Any]:
        """Return a set-like view of the present keys. Unlike a dict's, it does not follow later changes."""
        return KeysView(self.readonly_snapshot())

    def values(self) -> ValuesView[Any]:
        """Return a view of the present values."""
        return ValuesView(self.readonly_snapshot())

    def items(self) -> ItemsView[Any, Any]:
        """Return a set-like view of the present (key, value) pairs."""
        return ItemsView(self.readonly_snapshot())

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        union = self.snapshot()
        union.update(other)
        return union

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        union = self._with_root(empty_root())
        union.update(other)
        union.update(self)
        return union

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        mine = self.readonly_snapshot()
        theirs = other.readonly_snapshot() if isinstance(other, Ctrie) else other
        if len(mine) != len(theirs):
            return False
        for key, value in mine.items():
            found = theirs.get(key, _ABSENT)
            if found is _ABSENT or not (found is value or found == value):
                return False
        return True

    def __repr__(self) -> str:
        return mapping_repr(self)

    # ---------------------------------------------------------------------------------------------------- one instant

    def snapshot(self) -> Ctrie:
        """Return a Ctrie with the present content that can be changed independently of this one. O(1), lock-free."""
        before = read(self._tally)
        root = fork_root(self._root)
        return self._with_content(root, taken_over(self._tally, before))

    def readonly_snapshot(self) -> Ctrie:
        """Return a Ctrie with the present content that never changes: its mutators raise TypeError. O(1), lock-free.

        >>> Ctrie().readonly_snapshot()["a"] = 1
        Traceback (most recent call last):
            ...
        TypeError: this Ctrie is a read-only snapshot; take .snapshot() of it for a copy that can be changed
        """
        before = read(self._tally)
        root = freeze_root(self._root)
        return self._with_content(root, taken_over(self._tally, before))

    def diff(self, older: Ctrie, absent: Any = None) -> Iterator[tuple[Any, Any, Any]]:
        """Yield (key, old, new) for every key whose value differs between `older` and this Ctrie.

        `older` is a snapshot of this Ctrie (or of an ancestor); both are read as they are at the call. `absent` stands
        for the value on a side that lacks the key. Values are compared as `in` compares. Takes time proportional to the
        number of changes, since parts that both share are skipped.

        >>> m = Ctrie({"a": 1, "b": 2})
        >>> before = m.readonly_snapshot()
        >>> m["a"] = 3; del m["b"]
        >>> sorted(m.diff(before))
        [('a', 1, 3), ('b', 2, None)]
        """
        if not isinstance(older, Ctrie):
            raise TypeError(f"diff() takes a Ctrie, not {type(older).__name__}")
        if not compares_as(self, older):
            raise ValueError("diff() takes a Ctrie with the same `hash` and `equal`: a snapshot of this one, say")
        before = freeze_root(cython.cast(Ctrie, older)._root)
        return _changes(before, freeze_root(self._root), self._equal, absent)

    def split(self, n: int) -> list[Iterator[tuple[Any, Any]]]:
        """Return up to `n` iterators of (key, value) that together yield one instant's content, each pair once.

        For traversal by several threads, one iterator each.

        Raises:
            ValueError: `n` is less than 1.

        >>> m = Ctrie((i, str(i)) for i in range(1000))
        >>> sum(len(list(part)) for part in m.split(4))
        1000
        """
        if n < 1:
            raise ValueError(f"split() needs at least one part, not {n}")
        root = freeze_root(self._root)
        return [_contents(root, nodes, PAIRS) for nodes in parts(root, n)]

    def copy(self) -> Ctrie:
        """Return a copy: `copy.copy`. O(1).

        >>> m = Ctrie({"a": 1})
        >>> m.copy() == m
        True
        """
        return self.__copy__()

    def __copy__(self) -> Ctrie:
        return self.readonly_snapshot() if self._root.readonly else self.snapshot()

    def __deepcopy__(self, memo: dict[int, Any]) -> Ctrie:
        from copy import deepcopy

        copied = _remade(type(self), self._hash, self._equal)
        memo[id(self)] = copied
        copied.__setstate__(deepcopy(self._state(), memo))
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self._hash, self._equal), self._state()

    def _state(self) -> tuple[Any, ...]:
        """Return keys and values of one instant, whether they are read-only, and attributes."""
        frozen = self.readonly_snapshot()
        keys, values = list(frozen._iter_keys()), list(frozen._iter_values())
        return keys, values, bool(self._root.readonly), attributes_of(self, Ctrie)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Fill in a new copy, which is read-only and empty until then; its content may refer to it.

        Raises:
            TypeError: The Ctrie has been made: operations that are in progress have borrowed its root.
        """
        if self._is_made():
            raise TypeError("__setstate__() is for a Ctrie that is being unpickled; update() changes one that is there")
        keys, values, readonly, attributes = state
        filled = _remade(Ctrie, self._hash, self._equal)
        filled._root = empty_root()
        Ctrie.update(filled, list(zip(keys, values, strict=True)))
        self._tally = filled._tally
        self._root = freeze_root(filled._root) if readonly else filled._root
        set_attributes(self, attributes)

    def check(self) -> None:
        """Raise AssertionError if an invariant of the structure is broken. O(n); at rest only.

        >>> Ctrie({1: 2}).check()
        """
        keys = [sn.key for sn in check_level(self._root)]
        assert len(keys) == len(self), f"{len(keys)} S-nodes, but len() counts {len(self)}"
        for key in keys:
            assert key in self, f"{key!r} is stored but not found"

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

    def _with_content(self, root: Root, tally: Tally) -> Ctrie:
        other = self._with_root(root)
        other._tally = tally
        return other

    def _with_root(self, root: Root) -> Ctrie:
        other: Ctrie = Ctrie.__new__(Ctrie) if type(self) is Ctrie else _of_same_class(self)
        other._root = root
        other._hash = self._hash
        other._equal = self._equal
        return other

    # The iterators read one instant, which is fixed here and not at the first next().

    def _iter_keys(self) -> Iterator[Any]:
        return _contents(freeze_root(self._root), None, KEYS)

    def _iter_values(self) -> Iterator[Any]:
        return _contents(freeze_root(self._root), None, VALUES)

    def _iter_items(self) -> Iterator[tuple[Any, Any]]:
        return _contents(freeze_root(self._root), None, PAIRS)

    def _shape(self) -> tuple[Any, ...]:
        return shape(self._root)


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


def _number(trie: Ctrie) -> int:
    count = 0
    root = freeze_root(trie._root)
    stack: list[Any] = [rdcss_read_root(root)]
    while stack:
        check_signals()
        for node in branches(root, stack.pop()):
            if isinstance(node, SNode):
                count += 1
            else:
                stack.append(node)
    return count


def compares_as(one: Ctrie, other: Ctrie) -> bool:
    return one._hash == other._hash and one._equal == other._equal


def _contents(root: Root, nodes: list[Any] | None, what: int) -> Iterator[Any]:
    """Yield the keys, the values or the pairs of one instant, or those below the nodes in `nodes`."""
    keys, values = what == KEYS, what == VALUES
    stack: list[Any] = [rdcss_read_root(root)] if nodes is None else nodes
    while stack:
        node = stack.pop()
        if isinstance(node, Pair):
            below: tuple[Any, ...] = (node,)
        else:
            check_signals()
            below = branches(root, node)
            prefetch_walk(below, stack)
        for node in below:
            if not isinstance(node, Pair):
                stack.append(node)
            elif keys:
                yield cython.cast(Pair, node).key
            elif values:
                yield cython.cast(Pair, node).value
            else:
                yield cython.cast(Pair, node).key, cython.cast(Pair, node).value


def _changes(older: Root, newer: Root, equal: Any, absent: Any) -> Iterator[tuple[Any, Any, Any]]:
    for old, new in differences(older, newer, equal):
        if new is None:
            yield old.key, old.value, absent
        elif old is None:
            yield new.key, absent, new.value
        elif not (old.value is new.value or old.value == new.value):
            yield new.key, old.value, new.value


def _of_same_class(trie: Ctrie) -> Ctrie:
    """Return a new Ctrie of the same subclass, with the attributes of `trie`."""
    cls = type(trie)
    other = cls.__new__(cls)
    set_attributes(other, attributes_of(trie, Ctrie))
    return other


def _remade(cls: type[Ctrie], hash: Any, equal: Any) -> Ctrie:
    """Begin to unpickle: return a Ctrie that is not made. Its content follows, since it may refer to the Ctrie."""
    remade: Ctrie = cls.__new__(cls)
    remade._hash = hash
    remade._equal = equal
    return remade


MutableMapping.register(Ctrie)
