"""`dataclass`: a frozen dataclass without the module `dataclasses`, which would take a fifth of the time of
`import subtrie`. It loads `inspect`, and with it Python's tokenizer and disassembler.

To whoever looks, the class is what `dataclasses` would have made: to `replace` and `fields`, to `match`, and to a
dataclass that derives from it. What only `dataclasses` reads from a class is made when it is first read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Literal, TypeVar

C = TypeVar("C", bound=type[Any])


def dataclass(*, frozen: Literal[True], repr: Literal[False]) -> Callable[[C], C]:
    """Make of a class what that of `dataclasses` does, if it has `__post_init__`, and inherits no fields."""
    return _made


def _made(cls: C) -> C:
    names = tuple(cls.__annotations__)
    defaults = {name: (vars(cls)[name],) for name in names if name in vars(cls)}
    fields = [(name, kind, *defaults.get(name, ())) for name, kind in cls.__annotations__.items()]
    values = attrgetter(*names)

    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    def __replace__(self: Any, /, **changes: Any) -> Any:
        if type(self) is cls:
            return cls(**dict(zip(names, values(self), strict=True)) | changes)
        from dataclasses import replace  # it knows the fields that a derived class has besides

        return replace(self, **changes)

    def refusing(what: str, change: Callable[..., None]) -> Callable[..., None]:
        def refuse(self: Any, name: str, *value: Any) -> None:
            if type(self) is cls or name in names:  # an object of a derived class may have attributes of its own
                from dataclasses import FrozenInstanceError

                raise FrozenInstanceError(f"cannot {what} field {name!r}")
            change(self, name, *value)

        return refuse

    made = {
        "__init__": _init(cls, fields),
        "__eq__": __eq__,
        "__hash__": __hash__,
        "__replace__": __replace__,
        "__setattr__": refusing("assign to", object.__setattr__),
        "__delattr__": refusing("delete", object.__delattr__),
        "__match_args__": names,
        "__dataclass_fields__": _AskedForLater(cls, "__dataclass_fields__", fields),
        "__dataclass_params__": _AskedForLater(cls, "__dataclass_params__", fields),
    }
    for name, value in made.items():
        setattr(cls, name, value)
    return cls


def _init(cls: type, fields: list[tuple[Any, ...]]) -> Any:
    """Compile `__init__`, so that Python itself checks the arguments, in its own words."""
    made: dict[str, Any] = {}
    names = ", ".join(name for name, *_ in fields)
    body = "".join(f"\n  put(self, {name!r}, {name})" for name, *_ in fields)
    text = f"def make(put):\n def __init__(self, {names}):{body}\n  self.__post_init__()\n return __init__"
    exec(text, vars(sys.modules[cls.__module__]), made)  # whoever reads the annotations looks there
    init = made["make"](object.__setattr__)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__defaults__ = tuple(default for _, _, *given in fields for default in given)
    init.__annotations__ = {name: kind for name, kind, *_ in fields} | {"return": None}
    return init


class _AskedForLater:
    """What `dataclasses` reads from a class. Two threads that ask first may both make it: they make the same."""

    def __init__(self, cls: type, name: str, fields: list[tuple[Any, ...]]) -> None:
        self._asked = cls, name, fields

    def __get__(self, instance: object, owner: type) -> Any:
        from dataclasses import make_dataclass

        cls, name, fields = self._asked
        value = getattr(make_dataclass(cls.__name__, fields, frozen=True, repr=False), name)
        setattr(cls, name, value)
        return value
