"""A dialect as fields that JSON can express, and back."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Final, get_type_hints

from subtrie import Dialect

_TYPES: Final = {kind.__name__: kind for kind in (bool, bytes, dict, float, int, list, str, tuple)}


def fields_of(dialect: Dialect) -> dict[str, Any]:
    """The fields of a dialect. Each known option comes with its type, its range or its values.

    :raises TypeError: an option has a type without a name in JSON

    >>> from subtrie import MQTT, NATS
    >>> fields_of(NATS)["options"], fields_of(MQTT)["options"][0]
    ([['queue', {'type': 'str'}], ['weight', {'range': [1, 1001, 1]}]], ['qos', {'range': [0, 3, 1]}])
    >>> all(dialect_of(fields_of(dialect)) == dialect for dialect in (MQTT, NATS))
    True
    """
    fields = {field.name: getattr(dialect, field.name) for field in dataclasses.fields(dialect)}
    return {**fields, "options": [[name, _allowed(name, allowed)] for name, allowed in dialect.options]}


def dialect_of(fields: Any) -> Dialect:
    """The dialect with these fields. Their types are checked here: `Dialect` leaves that to type checkers.

    :raises ValueError: or KeyError, TypeError, AttributeError: these are not the fields of a dialect
    """
    fields = {**fields, "options": tuple((name, _read(allowed)) for name, allowed in fields.get("options", []))}
    hints = _hints()
    for name, value in fields.items():
        if name != "options" and not isinstance(value, int if hints[name] is bool else hints[name]):  # 1 may be True
            raise TypeError(f"{name} must not be {value!r}")
    return Dialect(**fields)


@functools.cache
def _hints() -> dict[str, Any]:
    """The types of a dialect's fields. Finding them takes longer than reading the rest of a manifest."""
    return get_type_hints(Dialect)


def _allowed(name: str, allowed: type | range | tuple[Any, ...]) -> dict[str, Any]:
    if isinstance(allowed, range):
        return {"range": [allowed.start, allowed.stop, allowed.step]}
    if isinstance(allowed, tuple):
        return {"values": list(allowed)}
    if _TYPES.get(allowed.__name__) is not allowed:
        raise TypeError(f"the option {name} of the dialect is of the type {allowed!r}, which cannot be written down")
    return {"type": allowed.__name__}


def _read(allowed: dict[str, Any]) -> Any:
    ((kind, what),) = allowed.items()
    if kind == "type":
        return _TYPES[what]
    return range(*what) if kind == "range" else tuple(what)
