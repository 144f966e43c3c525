"""Histories as JSON Lines: this package's own format.

The first line is an object, the header; every other line is an array, one operation: ``[id, thread, call,
return or null, op, [args...], result]``. A pending operation has null for its return. A value that JSON does not have
is written as an object with one key: ``{"list": [...]}`` (an array is a tuple), ``{"dict": [[key, value], ...]}``,
``{"set": [...]}``, ``{"raised": "KeyError"}``, ``{"unseen": true}`` (an answer
that was not recorded), ``{"bytes": "00ff"}``, ``{"repr": "..."}`` (an object of a user's class, of which only the
`repr` is kept).
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

from stress.frozen_states import Frozen
from stress.history import (
    NAN,
    UNSEEN,
    Frames,
    History,
    HistoryError,
    Opaque,
    Operation,
    Raised,
    refuse_two_at_once,
    renumbered,
    show,
)
from stress.values import FrozenDict, FrozenList

FORMAT: Final = 1
DEEPEST: Final = 100
"""The most levels of lists and sets in a value: code that compares, sorts or prints values recurses into each level."""


def encode(value: Any) -> Any:
    """`value` in JSON terms. Values of unknown classes become their `repr`."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is Frozen:
        return encode(value.thaw())
    if type(value) is FrozenDict:
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if type(value) is FrozenList:
        return {"list": [encode(item) for item in value]}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return {"set": sorted((encode(item) for item in value), key=repr)}
    if isinstance(value, Mapping):
        return {"set": sorted(([encode(key), encode(item)] for key, item in value.items()), key=repr)}
    if isinstance(value, Raised):
        told = {"raised": value.type, "message": value.message}
        told |= {"class": value.home} if value.home not in ("", f"builtins.{value.type}") else {}
        return told | ({"at": [list(frame) for frame in value.frames]} if value.frames else {})
    if value is UNSEEN:
        return {"unseen": True}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    return {"repr": value.text if isinstance(value, Opaque) else show(value)}


def decode(value: Any, levels: int = DEEPEST) -> Hashable:
    """The value that `encode` has encoded as `value`.

    >>> decode(encode((1, frozenset({2}), Raised("KeyError"))))
    (1, frozenset({2}), raised KeyError)
    """
    if levels < 0:
        raise ValueError(f"a value is nested more than {DEEPEST} levels deep")
    if isinstance(value, list):
        return tuple([decode(item, levels - 1) for item in value])
    match value:
        case {"list": items}:
            return FrozenList([decode(item, levels - 1) for item in items])
        case {"dict": items}:
            return FrozenDict([(decode(key, levels - 1), decode(item, levels - 1)) for key, item in items])
        case {"set": items}:
            return frozenset([decode(item, levels - 1) for item in items])
        case {"raised": name}:
            return Raised(
                str(name), str(value.get("message", "")), str(value.get("class", "")), _frames(value.get("at", []))
            )
        case {"unseen": _}:
            return UNSEEN
        case {"bytes": text}:
            return bytes.fromhex(text)
        case {"repr": text}:
            return Opaque(str(text))
        case dict():
            raise ValueError(
                f"an object of one of the keys list, dict, set, raised, unseen, bytes, repr is expected, not {value!r}"
            )
    return value  # type: ignore[no-any-return]


def _frames(found: Any) -> Frames:
    """The frames of an exception."""
    if not isinstance(found, list) or not all(
        isinstance(frame, list) and list(map(type, frame)) == [str, int, str] for frame in found
    ):
        raise ValueError(f"where an exception was raised must be arrays of file, line and function, not {found!r}")
    return tuple([(file, line, function) for file, line, function in found])


def dump(history: History, file: TextIO) -> None:
    """Write `history` to `file`."""
    header = {"stress": FORMAT, **{key: encode(value) for key, value in history.header.items()}}
    file.write(json.dumps(header) + "\n")
    for operation in history:
        *row, args, result = operation
        file.write(json.dumps([*row, encode(args), encode(result)]) + "\n")


def parse(text: str, source: str = "<text>") -> History:
    """The history in `text`.

    Raises:
        HistoryError: there is none; the message names `source`, the line and what is wrong there.
    """
    lines = _lines(text, source)
    first, header = next(lines, (1, None))
    if not isinstance(header, dict) or "stress" not in header:
        raise HistoryError(
            'the first line must be the header: {"stress": 1, "spec": "map", ...}', source=source, line=first
        )
    if header["stress"] != FORMAT:
        raise HistoryError(f"format {header['stress']!r} is not known, only {FORMAT}", source=source, line=first)
    operations, ids = [], set()
    for number, row in lines:
        try:
            operation = _operation(row)
        except (ValueError, TypeError, RecursionError) as error:
            raise HistoryError(f"no operation: {error}", source=source, line=number) from None
        if operation.id in ids:
            raise HistoryError(f"a second operation of id {operation.id}", source=source, line=number)
        ids.add(operation.id)
        operations.append(operation)
    refuse_two_at_once(operations, source)
    return History(renumbered(operations), {**_decoded(header, source, first), "source": source})


def _decoded(header: dict[str, Any], source: str, line: int) -> dict[str, Any]:
    try:
        found = {key: decode(value) for key, value in header.items() if key != "stress"}
        if not isinstance(found.get("trouble", ""), str):
            raise ValueError("'trouble' must be a string")
    except (ValueError, TypeError, RecursionError) as error:
        raise HistoryError(f"no header: {error}", source=source, line=line) from None
    return found


def _lines(text: str, source: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line, parse_constant=lambda word: _CONSTANTS[word])
            except (ValueError, RecursionError) as error:
                raise HistoryError(f"not JSON: {error}", source=source, line=number) from None


_CONSTANTS: Final = {"NaN": NAN, "Infinity": math.inf, "-Infinity": -math.inf}


def _operation(row: Any) -> Operation:
    if not isinstance(row, list) or len(row) != 7:
        raise ValueError("it must be an array [id, thread, call, return or null, op, [args], result]")
    number, thread, call, returned, op, args, result = row
    times = [each for each in (call, returned) if each is not None]
    are_numbers = call is not None and all(type(each) in (int, float) for each in times)
    demands = (
        (type(number) is int, f"the id must be an integer, not {number!r}"),
        (type(thread) in (int, str), f"the thread must be an integer or a string, not {thread!r}"),
        (are_numbers, f"call and return must be numbers (return may be null), not {call!r} and {returned!r}"),
        (
            not any(isinstance(each, float) and not math.isfinite(each) for each in times),
            f"call and return must be finite, not {call!r} and {returned!r}",
        ),
        (
            not are_numbers or times == sorted(times),
            f"it returns at {returned}, before it is called at {call}",
        ),
        (
            isinstance(op, str) and isinstance(args, list),
            f"op must be a string and args an array, not {op!r} and {args!r}",
        ),
    )
    if wrong := next((told for is_met, told in demands if not is_met), None):
        raise ValueError(wrong)
    answer = UNSEEN if returned is None else decode(result)
    return Operation(number, thread, call, returned, op, tuple([decode(each) for each in args]), answer)


def save(history: History, path: str | Path) -> None:
    """Write `history` to a new file at `path`."""
    with Path(path).open("w", encoding="utf-8") as file:
        dump(history, file)
