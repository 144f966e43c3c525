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
from typing import Any, Final, NamedTuple

from stress.explorer.experiment import Finding
from stress.explorer.origin import Origin
from stress.explorer.scenario import Program

__all__ = ["DAMAGED", "OBJECT_PREFIX", "Token", "TokenError", "encode", "order_of", "pack", "read", "runs_of", "unpack"]

OBJECT_PREFIX: Final = "o1."
DAMAGED: Final = "the token is damaged: it must be copied as a whole"


class TokenError(ValueError):
    """A text that is not a token."""


class Token(NamedTuple):
    """What a token holds: how many calls there were, the numbers of those that are left of each thread, the order of
    steps as run lengths, the object's name, digests of the `code` of the object and its specification
    (`stress.source.digests`), its origin, if it has one, and what was `known` of the program (`Knowledge`), on which it
    depends what is a step.
    """

    calls: int
    kept: list[list[int]]
    runs: list[tuple[int, int]]
    target: str
    code: list[list[str]]
    origin: Origin | None
    known: list[list[str]]

    def __str__(self) -> str:
        return pack(OBJECT_PREFIX, [*self[:5], list(self.origin or ()), self.known])

    def program(self, threads: Program) -> Program:
        """The calls that are left of each thread.

        Raises:
            TokenError: the token is not one of these threads.
        """
        calls = list(chain.from_iterable(threads))
        if self.calls != len(calls):
            told = f"the token is of {self.calls} calls, and these are {len(calls)}"
            raise TokenError(f"{told}: give the threads it was made with")
        return tuple(tuple(calls[number] for number in numbers) for numbers in self.kept)


def encode(threads: Program, finding: Finding, code: Any, origin: Origin | None, known: list[list[str]]) -> str:
    """A token for a finding in some of the calls of `threads`."""
    calls = list(chain.from_iterable(threads))
    kept = [
        [next(number for number, each in enumerate(calls) if each is call) for call in left]
        for left in finding.scenario.threads
    ]
    return str(Token(len(calls), kept, runs_of(finding.order), finding.scenario.target, code, origin, known))


def read(text: str) -> Token:
    """The content of a token.

    Raises:
        TokenError: the text is not a token, or is damaged.
    """
    if not text.startswith(OBJECT_PREFIX):
        raise TokenError(f"no token of an object of one's own, which begins with {OBJECT_PREFIX}: {text!r}")
    try:
        found = Token(*unpack(OBJECT_PREFIX, text))
        found = found._replace(origin=Origin(*found.origin) if found.origin else None)
        order_of(found.runs)
        return found
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
