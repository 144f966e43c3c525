"""Replay tokens: an execution as a short text, to be given to `stress.explore` together with what it was called with.

Arguments may be anything, so a token does not hold them: it holds the numbers of the calls that are left, as they stand
in the list of threads, and the threads that made the steps.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from itertools import chain, groupby
from typing import Any, Final

from stress.explorer.experiment import Finding
from stress.explorer.scenario import Program
from stress.source import changed

__all__ = [
    "DAMAGED",
    "OBJECT_PREFIX",
    "TokenError",
    "decode",
    "encode",
    "order_of",
    "pack",
    "runs_of",
    "target_of",
    "unpack",
]

OBJECT_PREFIX: Final = "o1."
DAMAGED: Final = "the token is damaged: it must be copied as a whole"


class TokenError(ValueError):
    """A text that is no token."""


def encode(threads: Program, finding: Finding, code: Sequence[Sequence[str]] = (), target: str = "") -> str:
    """A token for a finding in some of the calls of `threads`. It knows the object by name, the `code` that it and its
    specification are written in (`stress.source.digests`), and what `python -m stress explore` finds it by, if that is
    known.
    """
    calls = list(chain.from_iterable(threads))
    kept = [
        [next(number for number, each in enumerate(calls) if each is call) for call in left]
        for left in finding.scenario.threads
    ]
    about = [finding.scenario.target, [list(each) for each in code], target]
    return pack(OBJECT_PREFIX, [len(calls), kept, runs_of(finding.order), *about])


def decode(threads: Program, text: str, name: str) -> tuple[Program, tuple[int, ...], list[str]]:
    """The calls of each thread, and the order of steps, that `text` says; and what is not as it was then, in a few
    words each: the object's name, and the code.

    Raises:
        TokenError: it is no token, or not one of these threads.
    """
    if not text.startswith(OBJECT_PREFIX):
        raise TokenError(f"no token of an object of one's own, which begins with {OBJECT_PREFIX}: {text!r}")
    calls = list(chain.from_iterable(threads))
    try:
        size, kept, runs, of, code, _ = unpack(OBJECT_PREFIX, text)
        order = order_of(runs)
        left = tuple(tuple(calls[number] for number in numbers) for numbers in kept) if size == len(calls) else ()
    except (ValueError, TypeError, LookupError):
        raise TokenError(DAMAGED) from None
    if not left:
        raise TokenError(f"the token is of {size} calls, and these are {len(calls)}: give the threads it was made with")
    return left, order, [f"the token is of {of}"] * (of != name) + changed(code)


def target_of(text: str) -> str:
    """What `python -m stress explore` finds the object of a token by; empty if the token does not say."""
    if not text.startswith(OBJECT_PREFIX):
        return ""
    try:
        target = unpack(OBJECT_PREFIX, text)[5]
    except (ValueError, TypeError, LookupError):
        return ""
    return target if isinstance(target, str) else ""


def pack(prefix: str, said: Any) -> str:
    """What a token says, as a text that begins with `prefix`."""
    packed = zlib.compress(json.dumps(said, separators=(",", ":")).encode(), 9)
    return prefix + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def unpack(prefix: str, text: str) -> Any:
    """What was packed.

    Raises:
        ValueError: nothing was, or not all of it is there.
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
