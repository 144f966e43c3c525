"""Objects that others know while `__init__` fills them, though it never names them to anybody."""

# mypy: ignore-errors

from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any

from tests.stress.in_bad_faith.cases import Locked, is_right, is_wrong


class Shared:
    """Others read the latest node."""

    node: Any

    def __init__(self) -> None:
        self.node = None

    def put(self, x: int) -> None:
        self.Node(self, x)

    def read(self) -> Any:
        node = self.node
        return (0, 0) if node is None else (node.a, node.b)


@is_wrong
class OfPublishingProperty(Shared):
    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.of = of
            self.a = self.b = 0
            self.publish  # noqa: B018
            self.a = x
            self.b = x

        @property
        def publish(self) -> None:
            self.of.node = self


@is_wrong
class OfPublishingSetter(Shared):
    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            self.of = of
            self.a = x
            self.b = x

        of = property(None, lambda self, of: setattr(of, "node", self))


@is_wrong
class OfPublishingDescriptor(Shared):
    class Publishes:
        def __set__(self, node: Any, of: Shared) -> None:
            of.node = node

    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            self.of = of
            self.a = x
            self.b = x

    Node.of = Publishes()


@is_wrong
class OfPublishingSetattr(Shared):
    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            self.of = of
            self.a = x
            self.b = x

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "of":
                value.node = self
            else:
                object.__setattr__(self, name, value)


@is_wrong
class OfPublishingDelattr(Shared):
    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            self.of = of
            del self.nothing
            self.a = x
            self.b = x

        def __delattr__(self, _: str) -> None:
            self.of.node = self


@is_wrong
class OfPublishingGetattr(Shared):
    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            self.of = of
            self.nothing  # noqa: B018
            self.a = x
            self.b = x

        def __getattr__(self, _: str) -> None:
            self.of.node = self


class Registers:
    def register(self, of: Shared) -> None:
        of.node = self

    @property
    def registered(self) -> None:
        self.of.node = self


@is_wrong
class OfPublishingBase(Shared):
    """A method of a base class, by `super`."""

    class Node(Registers):
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            super().register(of)
            self.a = x
            self.b = x


@is_wrong
class OfPublishingPropertyOfBase(Shared):
    class Node(Registers):
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            self.of = of
            super().registered  # noqa: B018
            self.a = x
            self.b = x


class WithLambda:
    def __init__(self, of: Shared) -> None:
        self.a = self.b = 0
        self.me = lambda: self
        of.node = self


@is_wrong
class OfPublishingInitOfBase(Shared):
    """Inner functions of the base's `__init__` have the object."""

    class Node(WithLambda):
        def __init__(self, of: Shared, x: int) -> None:
            super().__init__(of)
            self.a = x
            self.b = x


class WithAll:
    def __init__(*given: Any) -> None:
        given[0].a = given[0].b = 0
        given[1].node = given[0]


@is_wrong
class OfPublishingInitWithAll(Shared):
    class Node(WithAll):
        def __init__(self, of: Shared, x: int) -> None:
            super().__init__(of)
            self.a = x
            self.b = x


def tells(init: Any) -> Any:
    @functools.wraps(init)
    def filled(*given: Any) -> None:
        init(*given)
        given[1].node = given[0]

    return filled


class Decorated:
    @tells
    def __init__(self, _: Shared) -> None:
        self.a = self.b = 0


@is_wrong
class OfPublishingDecorator(Shared):
    class Node(Decorated):
        def __init__(self, of: Shared, x: int) -> None:
            super().__init__(of)
            self.a = x
            self.b = x


@is_wrong
class OfPublishingLocals(Shared):
    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            of.node = locals()["self"]
            self.a = x
            self.b = x


@is_wrong
class OfFilledAgain(Shared):
    """`__new__` gives the older one, which `__init__` fills again."""

    def __init__(self) -> None:
        super().__init__()
        self.first()

    def first(self) -> None:
        outer = self

        class Node:
            def __new__(cls, _: int) -> Any:
                if outer.node is None:
                    outer.node = object.__new__(cls)
                return outer.node

            def __init__(self, x: int) -> None:
                self.a = x
                self.b = x

        self.Node = Node

    def put(self, x: int) -> None:
        self.Node(0)
        self.Node(x)

    def read(self) -> Any:
        node = self.node
        return (0, 0) if node is None else (getattr(node, "a", 0), getattr(node, "b", 0))


@is_right
class OfPublishingLast(Shared):
    class Node(Registers):
        def __init__(self, of: Shared, x: int) -> None:
            super().__init__()
            self.a = x
            self.b = x
            super().register(of)


@is_right
class OfPublishingUnderLock(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.node = None

    def put(self, x: int) -> None:
        with self.lock:
            OfPublishingProperty.Node(self, x)

    def read(self) -> Any:
        with self.lock:
            node = self.node
            return (0, 0) if node is None else (node.a, node.b)


@is_wrong
class OfPublishedDictionary(Shared):
    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            of.node = self.__dict__
            self.a = x
            self.b = x

    def read(self) -> Any:
        node = self.node
        return (0, 0) if node is None else (node["a"], node["b"])


@is_wrong
class OfPublishedMethod(Shared):
    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            of.node = self.both
            self.a = x
            self.b = x

        def both(self) -> Any:
            return self.a, self.b

    def read(self) -> Any:
        return (0, 0) if self.node is None else self.node()


@is_wrong
class OfFrameOfTraceback(Shared):
    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            try:
                raise KeyError
            except KeyError as error:
                of.node = error.__traceback__.tb_frame.f_locals["self"]
            self.a = x
            self.b = x


def publish_caller(of: Any) -> None:
    of.node = sys._getframe(1).f_locals["self"]


@is_wrong
class OfFrameOfCaller(Shared):
    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            publish_caller(of)
            self.a = x
            self.b = x


@is_wrong
class OfFailedMaking(Shared):
    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            self.of = of
            self.x = x
            raise KeyError

        def __del__(self) -> None:
            self.of.node = self
            self.a = self.x
            self.b = self.x

    def put(self, x: int) -> None:
        with contextlib.suppress(KeyError):
            self.Node(self, x)


@is_wrong
class OfOneFromNew(Shared):
    class Node:
        a = b = 0

        def __new__(cls, of: Shared, x: int) -> Any:
            return of.node

        def __init__(self, of: Shared, x: int) -> None:
            self.a = x
            self.b = x

    def put(self, x: int) -> None:
        if self.node is None:
            self.node = object.__new__(self.Node)
        self.Node(self, x)


@is_right
class OfKeptMethod(Shared):
    """The method leads to the object, and nobody else has it."""

    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.both = self.get
            self.a = x
            self.b = x
            of.node = self

        def get(self) -> Any:
            return self.a, self.b

    def read(self) -> Any:
        return (0, 0) if self.node is None else self.node.both()


@is_wrong
class OfFailedCallBefore(Shared):
    class Node:
        a = b = 0

        def __init__(self, x: int) -> None:
            self.a = x
            self.b = x

    def put(self, x: int) -> None:
        node = self.node = object.__new__(self.Node)
        fills = map(self.Node.__init__, [node], [x])
        with contextlib.suppress(TypeError):
            self.Node()
        for _ in fills:
            pass


@is_wrong
class OfFailedCallJustBefore(Shared):
    class Node(OfFailedCallBefore.Node):
        pass

    def put(self, x: int) -> None:
        node = self.node = object.__new__(self.Node)
        fills = map(self.Node.__init__, [node], [x])
        try:  # noqa: SIM105 - it leaves fewer instructions between
            self.Node()
        except TypeError:
            pass
        for _ in fills:
            pass


@is_wrong
class OfDictionaryByName(OfPublishedDictionary):
    class Node:
        def __init__(self, of: Shared, x: int) -> None:
            self.a = self.b = 0
            of.node = super().__getattribute__("__dict__")
            self.a = x
            self.b = x
