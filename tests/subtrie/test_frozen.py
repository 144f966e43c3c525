"""Frozen dataclasses of our own are what those of the standard library are, to whoever looks."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest

from subtrie import AMQP, Dialect
from subtrie._frozen import dataclass, replaced

pytestmark = pytest.mark.once  # Python code, the same everywhere


class Body:
    """A point."""

    x: int
    y: int
    name: str = "point"
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("left of all")


def a_class(make: Callable[[type], type]) -> Any:
    given = {name: value for name, value in vars(Body).items() if name not in ("__dict__", "__weakref__")}
    return make(type("Point", (), {**given, "__module__": __name__, "__qualname__": "Point"}))


OURS = a_class(dataclass(frozen=True))
THEIRS = a_class(dataclasses.dataclass(frozen=True, repr=False))
KINDS = pytest.mark.parametrize("kind", [OURS, THEIRS], ids=["ours", "theirs"])


def said(act: Callable[[], object]) -> tuple[type, str]:
    with pytest.raises(Exception) as raised:  # noqa: B017, PT011 - which one is compared
        act()
    return raised.type, str(raised.value)


def test_it_has_what_dataclasses_give() -> None:
    new = {"__replace__"} if sys.version_info < (3, 13) else set()
    assert set(vars(OURS)) == set(vars(THEIRS)) | new
    assert inspect.signature(OURS) == inspect.signature(THEIRS)
    assert OURS.__match_args__ == THEIRS.__match_args__
    assert OURS.__doc__ == THEIRS.__doc__
    for name in ("__init__", "__eq__", "__hash__", "__setattr__", "__delattr__"):
        assert getattr(OURS, name).__qualname__ == getattr(THEIRS, name).__qualname__
    assert repr(OURS.__dataclass_params__) == repr(THEIRS.__dataclass_params__).replace("repr=False", "repr=True")
    for mine, other in zip(dataclasses.fields(OURS), dataclasses.fields(THEIRS), strict=True):
        assert repr(mine) == repr(other)
    assert dataclasses.asdict(OURS(1, 2)) == {"x": 1, "y": 2, "name": "point", "tags": ()}
    assert dataclasses.fields(OURS) == dataclasses.fields(OURS(1, 2)), "made once"


def test_it_refuses_what_dataclasses_refuse_in_the_same_words() -> None:
    for wrong in (
        lambda kind: kind(),
        lambda kind: kind(1),
        lambda kind: kind(1, 2, colour="red"),
        lambda kind: kind(1, 2, "a", (), 5),
        lambda kind: kind(-1, 2),
        lambda kind: setattr(kind(1, 2), "x", 3),
        lambda kind: setattr(kind(1, 2), "colour", 3),
        lambda kind: delattr(kind(1, 2), "x"),
        lambda kind: hash(kind(1, 2, tags=[])),
        lambda kind: dataclasses.replace(kind(1, 2), colour="red"),
        lambda kind: dataclasses.replace(kind(1, 2), x=-1),
        lambda kind: kind(1, 2) < kind(1, 3),
        lambda kind: setattr(type("Derived", (kind,), {})(1, 2), "x", 3),
    ):
        assert said(lambda wrong=wrong: wrong(OURS)) == said(lambda wrong=wrong: wrong(THEIRS))  # type: ignore[misc]


def test_what_is_read_from_the_dictionary_of_a_class_is_there_too() -> None:
    ours, theirs = vars(a_class(dataclass(frozen=True))), vars(THEIRS)
    assert ours["__dataclass_params__"].frozen is theirs["__dataclass_params__"].frozen is True
    assert list(ours["__dataclass_fields__"].keys()) == list(theirs["__dataclass_fields__"].keys())


@KINDS
def test_values_are_equal_and_hashed_by_their_fields(kind: Any) -> None:
    one = kind(1, 2)
    assert one == kind(1, y=2, name="point") and one != kind(1, 3)
    assert hash(one) == hash(kind(1, 2)) == hash((1, 2, "point", ()))
    assert one != type("Derived", (kind,), {})(1, 2)
    assert copy.copy(one) == one == copy.deepcopy(one)


@KINDS
def test_changed_copies(kind: Any) -> None:
    one = kind(1, 2)
    assert dataclasses.replace(one, y=3) == kind(1, 3)
    if sys.version_info >= (3, 13):
        assert copy.replace(one, y=3) == kind(1, 3)
    match one:
        case kind(x, y):
            assert (x, y) == (1, 2)
        case _:
            raise AssertionError("no match")


@KINDS
def test_classes_may_derive_from_it(kind: Any) -> None:
    plain = type("Plain", (kind,), {})
    of_plain = plain(1, 2)
    of_plain.colour = "red"
    del of_plain.colour
    assert dataclasses.replace(of_plain, x=5) == plain(5, 2)

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Coloured(kind):  # type: ignore[misc]
        colour: str

    one: Any = Coloured(1, 2, colour="red")
    assert [each.name for each in dataclasses.fields(one)] == ["x", "y", "name", "tags", "colour"]
    assert dataclasses.replace(one, x=3) == Coloured(3, 2, colour="red")
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        dataclasses.dataclass(type("Thawed", (kind,), {"__annotations__": {"z": "int"}}))


def test_what_this_package_replaces_is_what_dataclasses_replace() -> None:
    @dataclasses.dataclass(frozen=True)
    class Versioned(Dialect):
        version: int = 5

    for dialect in (
        AMQP,
        Versioned("five", ".", "*", "#", version=6),
        type("Plain", (Dialect,), {})("p", ".", "*", "#"),
    ):
        changed = replaced(dialect, max_words=7)
        assert changed == dataclasses.replace(dialect, max_words=7) and type(changed) is type(dialect)
    assert pickle.loads(pickle.dumps(AMQP)) == AMQP
