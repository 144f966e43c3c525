"""`Ctrie`: the concurrent trie of `_nodes` as a mutable mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

import cython

from ctrie._subclasses import attributes_of, set_attributes
from ctrie._views import SUBSCRIPTED, ItemsView, KeysView, NoDefault, ValuesView, mapping_repr

if not cython.compiled:
    from ctrie._changeable import REMOVE, REMOVE_SAME, REPLACE, REPLACE_SAME, ChangeableMap
    from ctrie._descent import (
        GROUP,
        NoValue,
        find_value,
        is_there,
        prefetch_text,
        warm,
        warm_walk,
    )
    from ctrie._machine import check_signals, own_methods
    from ctrie._nodes import (
        Pair,
        Root,
        SNode,
        branches,
        empty_root,
        fork_root,
        freeze_root,
        is_empty,
        rdcss_read_root,
    )
    from ctrie._slot import borrow
    from ctrie._tally import Tally, exact, known, read, taken_over

from ctrie._nodes import check_level, differences, parts, shape

KEYS = 0
VALUES = 1
PAIRS = 2

_ABSENT: Any = NoDefault()
BLOCK = 128  # keys that `get_many` copies at a time: several groups
COMPILED = bool(cython.compiled)


class Ctrie(ChangeableMap):
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

    __slots__ = ()
    __class_getitem__ = SUBSCRIPTED
    __hash__ = None  # type: ignore[assignment]
    __reversed__ = None

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
        warm(self, hashes, count)
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

    # ------------------------------------------------------------------------------------------------------- all keys

    def __len__(self) -> int:
        """The number of keys at one instant. O(1), lock-free; O(n) while another thread changes the map, and for the
        first call after what leaves `approximate_len` O(n). Linearizes between two readings of how many changes have
        begun and ended."""
        return exact(self._tally, lambda: _number(self))

    def approximate_len(self) -> int:
        """Return the number of keys without counting them: exact when no change is in progress, otherwise less or more
        by those that are. O(1); O(n) for the first call after a snapshot or `clear` that overlapped another change, or
        after a change that raised.

        >>> Ctrie({"a": 1, "b": 2}).approximate_len()
        2
        """
        return known(self._tally, False, lambda: _number(self))

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
        return self._iter_diff(_frozen(older), _frozen(self), absent)

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

    def _iter_diff(self, older: Root, newer: Root, absent: Any) -> Iterator[tuple[Any, Any, Any]]:
        return _changes(older, newer, self._equal, absent)

    def _shape(self) -> tuple[Any, ...]:
        return shape(self._root)


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


def _frozen(trie: Ctrie) -> Root:
    return freeze_root(trie._root)


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
            warm_walk(below, stack)
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


own_methods(Ctrie)
MutableMapping.register(Ctrie)
