"""A dialect as fields that JSON can express, and back; and the dialects that have names everywhere."""

from __future__ import annotations

import dataclasses
from typing import Any, Final, get_type_hints

from subtrie import AMQP, MQTT, NATS, Dialect

KNOWN: Final = {dialect.name: dialect for dialect in (AMQP, MQTT, NATS)}
"""The dialects that a column, a query or a mirror of topics may name."""

_TYPES: Final = {kind.__name__: kind for kind in (bool, bytes, dict, float, int, list, str, tuple)}

_HINTS: Final = get_type_hints(Dialect)
"""The types of a dialect's fields. Finding them takes longer than reading the rest of a manifest."""


def fields_of(dialect: Dialect) -> dict[str, Any]:
    """The fields of a dialect. Each known option comes with its type, its range or its values.

    Raises:
        TypeError: an option has a type without a name in JSON.

    >>> from subtrie import MQTT, NATS
    >>> fields_of(NATS)["options"], fields_of(MQTT)["options"][0]
    ([['queue', {'type': 'str'}], ['weight', {'range': [1, 1001, 1]}]], ['qos', {'range': [0, 3, 1]}])
    >>> all(dialect_of(fields_of(dialect)) == dialect for dialect in (MQTT, NATS))
    True
    """
    options: list[list[Any]] = []
    for name, allowed in dialect.options:
        if isinstance(allowed, range):
            options.append([name, {"range": [allowed.start, allowed.stop, allowed.step]}])
        elif isinstance(allowed, tuple):
            options.append([name, {"values": list(allowed)}])
        elif _TYPES.get(allowed.__name__) is allowed:
            options.append([name, {"type": allowed.__name__}])
        else:
            raise TypeError(
                f"the option {name} of the dialect is of the type {allowed!r}, which cannot be written down"
            )
    fields = {field.name: getattr(dialect, field.name) for field in dataclasses.fields(dialect)}
    return {**fields, "options": options}


def dialect_of(fields: Any) -> Dialect:
    """The dialect with these fields. Their types are checked here: `Dialect` leaves that to type checkers.

    Raises:
        ValueError: or KeyError, TypeError, AttributeError: these are not the fields of a dialect.
    """
    fields = {**fields, "options": tuple((name, _read(allowed)) for name, allowed in fields.get("options", []))}
    for name, value in fields.items():
        if name != "options" and not isinstance(value, int if _HINTS[name] is bool else _HINTS[name]):  # 1 may be True
            raise TypeError(f"{name} must not be {value!r}")
    return Dialect(**fields)


def _read(allowed: dict[str, Any]) -> Any:
    ((kind, what),) = allowed.items()
    if kind == "type":
        return _TYPES[what]
    return range(*what) if kind == "range" else tuple(what)
