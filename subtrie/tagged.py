"""Values as texts that tell their types: the faithful form of what the typed text of a row cannot express.

A tagged text is JSON. What JSON has no form for is an object with one name: ``{"~tuple": [1, 2]}``.

============================ =========================================================================================
value                        tagged text
============================ =========================================================================================
None, True, 5, 0.5, "x"      ``null``, ``true``, ``5``, ``0.5``, ``"x"``
list, dict with texts        ``[1, "x"]``, ``{"a": 1}``
other dict                   ``{"~dict": [[1, "x"]]}``
tuple, set, frozenset        ``{"~tuple": [1, 2]}``, ``{"~set": [1, 2]}``, ``{"~frozenset": [1, 2]}``
bytes                        ``{"~bytes": "00ff"}``, in hexadecimal digits
NaN, infinities              ``{"~float": "nan"}``
integers beyond 64 bits      ``{"~int": "0x10000000000000000"}``
a text with lone surrogates  ``{"~text": "eda080"}``, its bytes as ``surrogatepass`` makes them
Decimal, UUID                ``{"~decimal": "1.50"}``, ``{"~uuid": "..."}``
datetime, date               ``{"~datetime": "2026-11-24T12:00:00+00:00"}``, ``{"~date": "2026-11-24"}``
============================ =========================================================================================

Reading one makes these values and nothing else. A subscription can be stored (`require_storable`) if its subscriber and
its options have such forms, or are equal to what JSON gives back.
"""

from __future__ import annotations

import datetime
import json
import math
import uuid
from collections.abc import Callable, Hashable, Mapping
from decimal import Decimal
from typing import Any, Final

MARK: Final = "~"


def tagged(value: object) -> str:
    """The tagged text of a value.

    Raises:
        TypeError: a type has no form.
        ValueError: it contains itself, or is nested too deeply.

    >>> tagged((1, b"x")), untagged(tagged((1, b"x")))
    ('{"~tuple": [1, {"~bytes": "78"}]}', (1, b'x'))
    """
    try:
        return json.dumps(_form(value))
    except RecursionError as error:
        raise ValueError("it contains itself, or is nested too deeply") from error


def untagged(text: str) -> Any:
    """The value of a tagged text.

    Raises:
        ValueError: it is none.
    """
    try:
        return _value(json.loads(text))
    except (TypeError, KeyError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{text!r} is no tagged text: {error}") from error


def form_of(value: object) -> str:
    """The tagged text of a value; or, if its type has none, of the equal value without a type of its own: the string of
    a subclass of ``str``, and what JSON gives back of an ``IntEnum``, say.

    Raises:
        TypeError: there is neither.
        ValueError: it contains itself, or is nested too deeply.
    """
    try:
        return tagged(value)
    except TypeError:
        if isinstance(value, str):
            return tagged(str.__str__(value))
        if rebuilds(value):
            return tagged(json.loads(json_or_str(value)))
        raise


def have_same_form(one: object, other: object) -> bool:
    """Whether equal values have the same tagged text, or one of them has none.

    >>> have_same_form([1], [1]), have_same_form([1], [True]), have_same_form(0.0, -0.0), have_same_form(Decimal(1), 1)
    (True, False, False, False)
    """
    try:
        return form_of(one) == form_of(other)
    except Exception:  # noqa: BLE001 (of the values' own methods, too, which must not stop others)
        return True


def json_or_str(value: object) -> str:
    """The JSON of a value, or its ``str`` if JSON cannot express it."""
    try:
        return int.__repr__(value) if type(value) is int else json.dumps(value)  # which takes ten times as long
    except (TypeError, ValueError, RecursionError):
        return str.__str__(str(value))  # it may be of a subclass


def rebuilds(value: object) -> bool:
    """Whether JSON gives ``value`` back from its text. It is neither a string nor None.

    >>> rebuilds(1), rebuilds({"a": [1.5]}), rebuilds((1, 2)), rebuilds(Decimal("1.5")), rebuilds(object())
    (True, True, False, False, False)
    """
    try:
        is_equal = json.loads(json_or_str(value)) == value
        # What answers for each element, as an array does, is no number, even if it has one element.
        return type(value) not in _OWN and not hasattr(is_equal, "__len__") and bool(is_equal)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 (of the value's own methods, too, which must not stop others)
        return False


def require_storable(filter: object, subscriber: Hashable, options: Mapping[str, Any]) -> None:
    """Require that a subscription can be stored as texts, and rebuilt from them.

    Raises:
        TypeError: the subscriber or an option has no form.
        ValueError: the filter cannot be encoded as UTF-8; or a value contains itself, or is nested too deeply.
    """
    if isinstance(filter, str) and has_surrogates(filter):
        raise ValueError(f"the filter cannot be stored, since it cannot be encoded as UTF-8: {filter!r}")
    _require_form("the subscriber", subscriber)
    for name, value in options.items():
        _require_form(f"option {name!r}", value)


def _require_form(what: str, value: object) -> None:
    if type(value) in _PLAIN:
        return
    try:
        form_of(value)
    except TypeError as error:
        raise TypeError(f"{what} cannot be stored: {error}") from None
    except ValueError as error:
        raise ValueError(f"{what} cannot be stored: {error}") from None


def has_surrogates(text: str) -> bool:
    """Whether a text cannot be encoded as UTF-8."""
    try:
        str.encode(text)  # a subclass may have another encode
    except UnicodeEncodeError:
        return True
    return False


def _form(value: object) -> object:
    """What JSON expresses of a value. The type must be exact: a subclass would come back as its base."""
    form = _FORMS.get(type(value))
    if form is None:
        raise TypeError(f"{type(value).__name__} has no form as text")
    return form(value)


def _value(form: Any) -> Any:
    if isinstance(form, list):
        return [_value(each) for each in form]
    if not isinstance(form, dict):
        return form
    if len(form) == 1:
        ((name, content),) = form.items()
        if name in _VALUES:
            return _VALUES[name](content)
        if name.startswith(MARK):
            raise ValueError(f"unknown form {name!r}")
    return {name: _value(each) for name, each in form.items()}


def _same(value: Any) -> Any:
    return value


def _text(value: str) -> Any:
    return {"~text": value.encode("utf-8", "surrogatepass").hex()} if has_surrogates(value) else value


def _integer(value: int) -> Any:
    return value if -(2**63) <= value < 2**64 else {"~int": hex(value)}


def _float(value: float) -> Any:
    return value if math.isfinite(value) else {"~float": repr(value)}


def _sorted(values: Any) -> list[Any]:
    """In one order for equal sets, since the text of a subscriber names it."""
    return sorted((_form(each) for each in values), key=json.dumps)


def _dict(value: dict[Any, Any]) -> Any:
    if all(type(name) is str and not name.startswith(MARK) and not has_surrogates(name) for name in value):
        return {name: _form(each) for name, each in value.items()}
    return {"~dict": [[_form(name), _form(each)] for name, each in value.items()]}


def _datetime(value: datetime.datetime) -> Any:
    if value.fold or type(value.tzinfo) not in (type(None), datetime.timezone):
        raise TypeError("a datetime has a form only without a zone, or with a fixed offset (datetime.timezone)")
    return {"~datetime": value.isoformat()}


_FORMS: Final[dict[type, Callable[[Any], Any]]] = {
    type(None): _same,
    bool: _same,
    str: _text,
    int: _integer,
    float: _float,
    list: lambda value: [_form(each) for each in value],
    dict: _dict,
    tuple: lambda value: {"~tuple": [_form(each) for each in value]},
    set: lambda value: {"~set": _sorted(value)},
    frozenset: lambda value: {"~frozenset": _sorted(value)},
    bytes: lambda value: {"~bytes": value.hex()},
    Decimal: lambda value: {"~decimal": str(value)},
    uuid.UUID: lambda value: {"~uuid": str(value)},
    datetime.datetime: _datetime,
    datetime.date: lambda value: {"~date": value.isoformat()},
}

_PLAIN: Final = frozenset({type(None), bool, str, int, float})
"""Types whose values all have a form."""

_OWN: Final = frozenset({Decimal})
"""Types with a form of their own whose ``str`` JSON would take for another type's."""

_VALUES: Final[dict[str, Callable[[Any], Any]]] = {
    "~text": lambda content: bytes.fromhex(content).decode("utf-8", "surrogatepass"),
    "~int": lambda content: int(content, 16),
    "~float": float,
    "~dict": lambda content: {_value(name): _value(each) for name, each in content},
    "~tuple": lambda content: tuple(map(_value, content)),
    "~set": lambda content: set(map(_value, content)),
    "~frozenset": lambda content: frozenset(map(_value, content)),
    "~bytes": bytes.fromhex,
    "~decimal": Decimal,
    "~uuid": uuid.UUID,
    "~datetime": datetime.datetime.fromisoformat,
    "~date": datetime.date.fromisoformat,
}
