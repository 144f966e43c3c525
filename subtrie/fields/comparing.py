"""How values compare that messages have and subscribers ask for.

One value of a message is compared with what many subscribers named, and some values compare with some others only: a
NumPy integer with no Decimal, pandas' NA with nothing, a Decimal with no float under decimal's trap `FloatOperation`.
If that ended the match, one subscriber could keep a message from all others. So a comparison that raises is one that
does not hold; only want of memory, or of stack, is an error.

Numbers of other libraries become Python's own first, which compare exactly with one another.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal, getcontext, setcontext
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

import cython

_KNOWN = frozenset((str, int, float, bool, type(None), bytes, tuple, Decimal, Fraction, date, datetime, timedelta))
_COMPARES = (int, float, Fraction)  # exactly, with one another
_OPERATORS = (operator.lt, operator.le, operator.eq)  # by the numbers that C has for them


def answer(question: Callable[..., Any], *asked: Any) -> bool:
    """Return whether the answer to a question is yes; False if there is none."""
    try:
        holds = bool(question(*asked))
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 (users' code may raise anything)
        holds = False
    return holds


if not cython.compiled:  # the C bodies are in comparing.pxd
    LESS, UP_TO, EQUAL = range(3)

    def compared(one: Any, other: Any, how: int) -> bool:
        """Return whether two values compare so; False if they do not compare."""
        try:
            return bool(_OPERATORS[how](one, other))
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

    def has_hash(value: Any) -> bool:
        """Return whether a value can be looked up. One without a hash counts as none."""
        try:
            hash(value)
        except (MemoryError, RecursionError):
            raise
        except Exception:  # noqa: BLE001
            return False
        return True


def compared_again(one: Any, other: Any, how: int) -> bool:
    """As `compared`, for values whose comparison has raised: as numbers of Python's own, where no trap of decimal's is
    set."""
    before = getcontext()
    setcontext(before.copy())  # no `with`: without memory, Cython's can end the process
    try:
        getcontext().clear_traps()
        return answer(_OPERATORS[how], number_of(one), number_of(other))
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
    return answer(operator.eq, value, value)


def number_of(value: Any) -> Any:
    """Return a number of another library as one of Python's own, and anything else as it is."""
    if type(value) in _KNOWN or not isinstance(value, Real) or isinstance(value, _COMPARES):
        return value
    number: Any = value
    try:
        if isinstance(value, Rational):
            number = int(value) if isinstance(value, Integral) else Fraction(value)
        else:
            near = float(value)
            number = near if near == value or value != value else Fraction(*value.as_integer_ratio())  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 (users' own types may do as they like)
        number = value
    return number


if not cython.compiled:  # the compiled one looks at plain values itself
    as_value = number_of
