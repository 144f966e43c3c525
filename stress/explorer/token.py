"""Replay tokens: an execution as a short text, for `stress.explore` with the arguments of the original call, or for
`python -m stress replay` alone.

Arguments may be anything, so a token holds the numbers of the calls that are left, in the order of the list of threads,
and the threads that made the steps. If the object and its specification have names, and the arguments have a notation,
it holds these too (`origin`).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from itertools import chain, groupby
from typing import Any, Final

from stress.explorer.experiment import Finding
from stress.explorer.origin import Origin
from stress.explorer.scenario import Program
from stress.source import changed

__all__ = [
    "DAMAGED",
    "OBJECT_PREFIX",
    "TokenError",
    "decode",
    "encode",
    "known_in",
    "object_in",
    "order_of",
    "origin_in",
    "pack",
    "runs_of",
    "unpack",
    "with_order",
]

OBJECT_PREFIX: Final = "o1."
DAMAGED: Final = "the token is damaged: it must be copied as a whole"


class TokenError(ValueError):
    """A text that is not a token."""


def encode(
    threads: Program,
    finding: Finding,
    code: Sequence[Sequence[str]] = (),
    origin: Origin | None = None,
    known: Sequence[Sequence[str]] = (),
) -> str:
    """A token for a finding in some of the calls of `threads`. It holds the object's name, digests of the `code` of the
    object and its specification (`stress.source.digests`), its origin, if it has one, and what was `known` of the
    program (`plain_state.Knowledge`), on which it depends what is a step.
    """
    calls = list(chain.from_iterable(threads))
    kept = [
        [next(number for number, each in enumerate(calls) if each is call) for call in left]
        for left in finding.scenario.threads
    ]
    about = [finding.scenario.target, [list(each) for each in code], list(origin or ()), [list(each) for each in known]]
    return pack(OBJECT_PREFIX, [len(calls), kept, runs_of(finding.order), *about])


def decode(threads: Program, text: str, name: str) -> tuple[Program, tuple[int, ...], list[str]]:
    """The calls of each thread and the order of steps in the token `text`; and, in a few words each, what has changed
    since then: the object's name, and the code.

    Raises:
        TokenError: it is not a token, or not one of these threads.
    """
    if not text.startswith(OBJECT_PREFIX):
        raise TokenError(f"no token of an object of one's own, which begins with {OBJECT_PREFIX}: {text!r}")
    calls = list(chain.from_iterable(threads))
    try:
        size, kept, runs, of, code, *_ = unpack(OBJECT_PREFIX, text)
        order = order_of(runs)
        left = tuple(tuple(calls[number] for number in numbers) for numbers in kept) if size == len(calls) else ()
    except (ValueError, TypeError, LookupError):
        raise TokenError(DAMAGED) from None
    if not left:
        raise TokenError(f"the token is of {size} calls, and these are {len(calls)}: give the threads it was made with")
    return left, order, [f"the token is of {of}"] * (of != name) + changed(code)


def with_order(text: str, order: Sequence[int]) -> str:
    """The token `text` with another order of steps.

    Raises:
        ValueError: it is not a token.
    """
    size, kept, _, *about = unpack(OBJECT_PREFIX, text)
    return pack(OBJECT_PREFIX, [size, kept, runs_of(order), *about])


def origin_in(text: str) -> Origin | None:
    """The origin of the scenario of a token; None if the token has none."""
    if not text.startswith(OBJECT_PREFIX):
        return None
    try:
        told = unpack(OBJECT_PREFIX, text)[5]
    except (ValueError, TypeError, LookupError):
        return None
    return (
        Origin(*told) if isinstance(told, list) and len(told) == 3 and all(type(each) is str for each in told) else None
    )


def known_in(text: str) -> list[list[str]]:
    """What was known of the program when a token was made."""
    try:
        told = unpack(OBJECT_PREFIX, text)[6]
    except (ValueError, TypeError, LookupError):
        return []
    return told if isinstance(told, list) and all(isinstance(each, list) for each in told) else []


def object_in(text: str) -> tuple[str, list[str]]:
    """The name of a token's object, and the changes of its code since then, in a few words each.

    Raises:
        TokenError: it is not a token.
    """
    try:
        told = unpack(OBJECT_PREFIX, text)
        return str(told[3]), changed(told[4])
    except (ValueError, TypeError, LookupError):
        raise TokenError(DAMAGED) from None


def pack(prefix: str, said: Any) -> str:
    """The content of a token as a text that begins with `prefix`."""
    packed = zlib.compress(json.dumps(said, separators=(",", ":")).encode(), 9)
    return prefix + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def unpack(prefix: str, text: str) -> Any:
    """The content that was packed.

    Raises:
        ValueError: the text was not packed, or is not complete.
    """
    packed = text.removeprefix(prefix)
    try:
        return json.loads(zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))))
    except zlib.error as error:
        raise ValueError(str(error)) from None


def runs_of(order: Sequence[int]) -> list[tuple[int, int]]:
    """An order of threads as run lengths."""
    return [(thread, len(list(steps))) for thread, steps in groupby(order)]


def order_of(runs: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The order that the run lengths give."""
    return tuple(thread for thread, length in runs for _ in range(length))
