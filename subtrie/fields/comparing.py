"""How values compare that messages have and subscribers ask for.

One value of a message is compared with what many subscribers named, and some values compare with some others only: a
NumPy integer with no Decimal, pandas' NA with nothing, a Decimal with no float under decimal's trap `FloatOperation`.
If that ended the match, one subscriber could keep a message from all others. So a comparison that raises is one that
does not hold; only want of memory, or of stack, is an error.

What a value is comes first, and that is asked here, too. Numbers of other libraries become Python's own, which compare
exactly with one another; a text is its characters, whatever its class says of it, and so are bytes and numbers of
classes derived from Python's own, NumPy's `float64` among them. A value of an event that raises when it is read is
none: nobody else's message ends by it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal, getcontext, setcontext
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

import cython

_KNOWN = frozenset(
    (str, int, float, bool, type(None), bytes, tuple, Decimal, Fraction, date, datetime, timedelta, list, dict)
)
_OWN: tuple[tuple[type, Callable[[Any], Any]], ...] = (  # what an object of a derived class is
    (str, str.__str__),
    (float, float.__float__),
    (int, int.__int__),
    (bytes, lambda value: bytes.__getitem__(value, slice(None))),
)
_OPERATORS = (operator.lt, operator.le, operator.eq)  # by the numbers that C has for them


def tried(call: Callable[..., Any], otherwise: Any, *given: Any) -> Any:
    """Return what a call of users' code gives, and something else if it raises."""
    try:
        found = call(*given)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 (users' code may raise anything)
        found = otherwise
    return found


def _compare(one: Any, other: Any, how: int) -> bool:
    return bool(_OPERATORS[how](one, other))


if not cython.compiled:  # the C bodies are in comparing.pxd
    LESS, UP_TO, EQUAL = range(3)
    LIST, OBJECT, VALUE, NOTHING = range(4)

    def compared(one: Any, other: Any, how: int) -> bool:
        """Return whether two values compare so; False if they do not compare."""
        try:
            return _compare(one, other, how)
        except (MemoryError, RecursionError):  # to ask again would take twice the time at each level of a recursion
            raise
        except Exception:  # noqa: BLE001
            return compared_again(one, other, how)

    def is_among(value: Any, values: frozenset[Any]) -> bool:
        """Return whether a value equals one of several."""
        try:
            return value in values
        except (MemoryError, RecursionError):
            raise
        except Exception:  # noqa: BLE001
            return equals_one(value, values)


def compared_again(one: Any, other: Any, how: int) -> bool:
    """As `compared`, for values whose comparison has raised: as numbers of Python's own, where no trap of decimal's is
    set."""
    before = getcontext()
    setcontext(before.copy())  # no `with`: without memory, Cython's can end the process
    try:
        getcontext().clear_traps()
        return tried(_compare, False, number_of(one), number_of(other), how)  # type: ignore[no-any-return]
    finally:
        setcontext(before)


def equals_one(value: Any, values: frozenset[Any]) -> bool:
    """As `is_among`, where a comparison has raised."""
    for one in values:  # noqa: SIM110 - a compiled function has no generators
        if compared(value, one, EQUAL):
            return True
    return False


def is_up_to(one: Any, other: Any, strictly: bool) -> bool:
    """Return whether two values compare and the first is not the larger one, or `strictly` the smaller one."""
    return compared(one, other, LESS if strictly else UP_TO) != 0


def is_equal_to_itself(value: Any) -> bool:
    """Return whether a value is equal to itself, as NaN is not."""
    if type(value) is int or (type(value) is float and value == value):  # without a call that counts what threads share
        return True
    return tried(_compare, False, value, value, EQUAL)  # type: ignore[no-any-return]


def number_of(value: Any) -> Any:
    """Return a number or a text of another class as one of Python's own, and anything else as it is."""
    return value if type(value) in _KNOWN else tried(_own_of, value, value)


def _own_of(value: Any) -> Any:
    for kind, own in _OWN:
        if isinstance(value, kind):
            return own(value)
    if not isinstance(value, Real) or value != value:
        return value
    if isinstance(value, Rational):
        return int(value) if isinstance(value, Integral) else Fraction(value)
    near = float(value)
    return near if near == value else Fraction(*value.as_integer_ratio())  # type: ignore[attr-defined]


def kind_of(value: Any) -> int:
    """Return what a value in an event is: a LIST, an OBJECT, a VALUE, or NOTHING, as what has no hash is."""
    if type(value) is dict or type(value) is list:
        return OBJECT if type(value) is dict else LIST
    return tried(_kind_of, NOTHING, value)  # type: ignore[no-any-return]


def _kind_of(value: Any) -> int:
    if isinstance(value, list):
        return LIST
    if isinstance(value, Mapping):  # by itself: of several classes at once, Cython loses what the question raises
        return OBJECT
    hash(value)
    return VALUE


def contents_of(value: Any) -> list[Any]:
    """Return the elements of a list, or the names and values of an object."""
    if type(value) is dict:
        return list(value.items())
    return list(value) if type(value) is list else tried(_contents_of, [], value)


def _contents_of(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else list(dict(value.items()).items())


if not cython.compiled:  # the compiled one looks at plain values itself
    as_value = number_of
