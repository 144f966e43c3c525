"""Frozen dataclasses without the module `dataclasses`, which would take a fifth of the instructions of an import of
`subtrie`: it loads `inspect`, and with it Python's parser and disassembler.

`dataclass(frozen=True)` makes of a class what that of the standard library makes of it, the same to whoever looks: to
`replace`, to `fields`, to `match` and to a dataclass that derives from it. What only `dataclasses` itself reads from a
class is made when it is first read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Literal, TypeVar

T = TypeVar("T")


def dataclass(*, frozen: Literal[True]) -> Callable[[type[T]], type[T]]:
    """Give a class what a frozen dataclass has. It annotates all of its fields, two at least, and inherits none."""

    def made(cls: type[T]) -> type[T]:
        names = tuple(cls.__annotations__)
        for method in (_init(cls, names), *_comparison(names), *_refusals(cls, names), _replacement(cls, names)):
            method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
            setattr(cls, method.__name__, method)
        for name, value in (
            ("__match_args__", names),
            ("__dataclass_fields__", _AskedForLater(cls, "__dataclass_fields__")),
            ("__dataclass_params__", _AskedForLater(cls, "__dataclass_params__")),
        ):
            setattr(cls, name, value)
        return cls

    return made


def replaced(record: T, /, **changes: Any) -> T:
    """Return what `dataclasses.replace` would."""
    return record.__replace__(**changes)  # type: ignore[attr-defined, no-any-return]


class _AskedForLater:
    """What `dataclasses` reads from a class, put into the class when it is first read. Two threads that are first may
    both make it: what they make is alike, and the later one stays."""

    def __init__(self, cls: type, name: str) -> None:
        self._cls = cls
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        from dataclasses import make_dataclass

        own = vars(self._cls)
        fields = [(name, kind, *_default(own, name)) for name, kind in self._cls.__annotations__.items()]
        value = getattr(make_dataclass(self._cls.__name__, fields, frozen=True), self._name)
        setattr(self._cls, self._name, value)
        return value

    def __getattr__(self, name: str) -> Any:  # of one that was taken from the class's dictionary
        return getattr(self.__get__(None, self._cls), name)


def _init(cls: Any, names: tuple[str, ...]) -> Any:
    """Compile `__init__`, so that Python checks its arguments, and says what is wrong in its own words."""
    body = "".join(f"\n    put(self, {name!r}, {name})" for name in names)
    after = "\n    self.__post_init__()" if hasattr(cls, "__post_init__") else ""
    made: dict[str, Any] = {}
    exec(f"def __init__(self, {', '.join(names)}):{body}{after}", {"put": object.__setattr__}, made)
    init = made["__init__"]
    init.__defaults__ = tuple(default for name in names for default in _default(vars(cls), name))
    init.__annotations__ = {**cls.__annotations__, "return": None}
    return init


def _default(own: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    return (own[name],) if name in own else ()


def _comparison(names: tuple[str, ...]) -> tuple[Any, ...]:
    values = attrgetter(*names)

    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __eq__, __hash__


def _refusals(cls: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """Make the methods that refuse changes. An object of a derived class may have attributes of its own."""

    def refuse(self: Any, name: str, what: str) -> None:
        if type(self) is cls or name in names:
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot {what} field {name!r}")

    def __setattr__(self: Any, name: str, value: Any) -> None:
        refuse(self, name, "assign to")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        refuse(self, name, "delete")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _replacement(cls: type, names: tuple[str, ...]) -> Any:
    def __replace__(self: Any, /, **changes: Any) -> Any:
        if type(self) is cls:
            return cls(**{name: getattr(self, name) for name in names} | changes)
        from dataclasses import replace  # it knows the fields that a derived class has besides

        return replace(self, **changes)

    return __replace__
