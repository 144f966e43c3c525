"""State in containers of the standard library."""

# mypy: ignore-errors

from __future__ import annotations

import array
import collections
import copy
import heapq
import io
import struct
import types
import weakref
from typing import Any

from tests.stress.in_bad_faith.cases import Locked, TwoValues, is_right, is_wrong


@is_wrong
class OfHeap:
    def __init__(self) -> None:
        self.heap = [1]

    def take(self) -> int:
        return heapq.heappop(self.heap) if self.heap else 0


@is_wrong
class OfDeque:
    def __init__(self) -> None:
        self.left = collections.deque([1])

    def take(self) -> int:
        return self.left.popleft() if self.left else 0


@is_right
class OfDequeAtOnce(OfDeque):
    def take(self) -> int:
        try:
            return self.left.popleft()
        except IndexError:
            return 0


@is_wrong
class OfOrderedDict:
    def __init__(self) -> None:
        self.kept = collections.OrderedDict(a=0, b=0)

    def put(self, x: int) -> None:
        for key in ("a", "b"):
            self.kept[key] = x
            self.kept.move_to_end(key)

    def read(self) -> Any:
        return tuple(self.kept[key] for key in ("a", "b"))


@is_wrong
class OfBag:
    def __init__(self) -> None:
        self.bag: Any = collections.Counter()

    def increment(self) -> int:
        self.bag["n"] += 1
        return self.bag["n"]


@is_wrong
class OfBagUpdate(OfBag):
    def increment(self) -> int:
        self.bag.update(["n"])
        return self.bag.total()


@is_wrong
class OfDefaultDict:
    def __init__(self) -> None:
        self.of: Any = collections.defaultdict(list)

    def increment(self) -> int:
        self.of["n"].append(1)
        return len(self.of["n"])


@is_wrong
class OfArray:
    def __init__(self) -> None:
        self.numbers = array.array("q", [0])

    def increment(self) -> int:
        self.numbers[0] += 1
        return self.numbers[0]


@is_wrong
class OfStruct:
    def __init__(self) -> None:
        self.bytes = bytearray(8)

    def increment(self) -> int:
        (n,) = struct.unpack_from("q", self.bytes)
        struct.pack_into("q", self.bytes, 0, n + 1)
        return n + 1


@is_wrong
class OfMemoryView:
    def __init__(self) -> None:
        self.view = memoryview(bytearray(2))

    def put(self, x: int) -> None:
        self.view[0] = x
        self.view[1] = x

    def read(self) -> Any:
        return tuple(self.view)


@is_wrong
class OfBytesIO:
    def __init__(self) -> None:
        self.file = io.BytesIO(b"\0")

    def increment(self) -> int:
        self.file.seek(0)
        n = self.file.read(1)[0]
        self.file.seek(0)
        self.file.write(bytes([n + 1]))
        return n + 1


@is_wrong
class OfSet:
    def __init__(self) -> None:
        self.taken: set[int] = set()

    def take(self) -> int:
        if 1 in self.taken:
            return 0
        self.taken |= {1}
        return 1


@is_wrong
class OfStarred(TwoValues):
    def put(self, x: int) -> None:
        self.d |= {"a": x}
        self.d |= {"b": x}

    def read(self) -> Any:
        return tuple({**self.d}.values())


@is_wrong
class OfCopy:
    def __init__(self) -> None:
        self.state = {"pair": [0, 0]}

    def put(self, x: int) -> None:
        new = copy.copy(self.state)
        new["pair"][0] = x
        new["pair"][1] = x

    def read(self) -> Any:
        return tuple(copy.deepcopy(self.state)["pair"])


@is_right
class OfCopyOnWrite(OfCopy):
    def put(self, x: int) -> None:
        new = copy.deepcopy(self.state)
        new["pair"][:] = [x, x]
        self.state = new

    def read(self) -> Any:
        return tuple(self.state["pair"])


@is_wrong
class OfWeakReference:
    class Box:
        def __init__(self) -> None:
            self.n = 0

    def __init__(self) -> None:
        self.box = self.Box()
        self.weak = weakref.ref(self.box)
        self.proxy = weakref.proxy(self.box)

    def increment(self) -> int:
        n = self.proxy.n
        self.weak().n = n + 1
        return n + 1


@is_wrong
class OfMappingProxy(TwoValues):
    def __init__(self) -> None:
        super().__init__()
        self.shown = types.MappingProxyType(self.d)

    def read(self) -> Any:
        return self.shown["a"], self.shown["b"]


@is_wrong
class OfUserList(collections.UserList[int]):
    def __init__(self) -> None:
        super().__init__([1])

    def take(self) -> int:
        return self.pop() if len(self) else 0


@is_wrong
class OfListThatGrows:
    """An item is changed before and after the list."""

    def __init__(self):
        self.items = [0]

    def increment(self):
        self.items[0] = self.items[0]
        self.items.append(0)
        n = self.items[0]
        self.items[0] = n + 1
        return n + 1


@is_wrong
class OfIndexThatCounts:
    """An index is an object of its own, and counts."""

    def __init__(self):
        self.items, self.n = [0], 0

    def __index__(self):
        self.n += 1
        return 0

    def increment(self):
        self.items[0] = 0
        self.items[self] = 0
        return self.n


@is_wrong
class OfViewInACall:
    """Each call makes a view of its own of the same bytes."""

    def __init__(self) -> None:
        self.bytes = bytearray(1)

    def take(self) -> int:
        view = memoryview(self.bytes)
        if view[0] == 0:
            view[0] = 1
            return 1
        return 0


@is_right
class OfBufferInACall(Locked):
    """Each call has bytes of its own."""

    def increment(self) -> int:
        view = memoryview(bytearray(2))
        with self.lock:
            self.n += 1
            view[0] = self.n
        return view[0]
