"""Replay tokens: an execution as a short text, to be given to `python -m stress replay`.

A token holds the scenario, the threads that made the steps (as run lengths), the name of the mutant that was run, if
any, and a digest of the source. Where the source has changed since, the steps may mean something else, and whoever
replays is told.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, Final

from stress.explorer.private import PACKAGES, source_of
from stress.explorer.scenario import STARTS, Scenario

__all__ = [
    "DAMAGED",
    "OWN_PREFIX",
    "Token",
    "TokenError",
    "decode",
    "encode",
    "order_of",
    "pack",
    "runs_of",
    "source_digest",
    "unpack",
]

_PREFIX: Final = "x1."
OWN_PREFIX: Final = "o1."
"""Of the tokens of objects of somebody else's."""
DAMAGED: Final = "the token is damaged: it must be copied as a whole"


class TokenError(ValueError):
    """A text that is no token."""


@dataclass(frozen=True)
class Token:
    """What a token says."""

    scenario: Scenario
    order: tuple[int, ...]
    mutant: str = ""
    digest: str = ""


def encode(token: Token) -> str:
    """The token as text."""
    scenario = token.scenario
    said = [scenario.target, scenario.start, scenario.threads, runs_of(token.order), token.mutant, source_digest()]
    return pack(_PREFIX, said)


def decode(text: str) -> Token:
    """The token that `text` is.

    Raises:
        TokenError: it is none.
    """
    if text.startswith(OWN_PREFIX):
        raise TokenError("the object that this token is of is not known here: give it to stress.explore as `replay`")
    if not text.startswith(_PREFIX):
        raise TokenError(f"neither a file nor a token of the explorer, which begins with {_PREFIX}")
    try:
        target, start, threads, runs, mutant, digest = unpack(_PREFIX, text)
        order = order_of(runs)
        scenario = Scenario(target, start, _tuples(threads))
        known = start in STARTS[target]
    except (ValueError, TypeError, LookupError):
        raise TokenError(DAMAGED) from None
    if not known:
        raise TokenError(f"the token is of a start that there is no more: {start!r}")
    return Token(scenario, order, mutant, digest)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, Sequence) and not isinstance(value, str) else value


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


@cache
def source_digest() -> str:
    """A digest of the sources that are explored."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted(source_of(package).parent.glob("_*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]
