"""Replay tokens for objects of somebody else's, to be given to `stress.explore` together with what it was called with.

Arguments may be anything, so a token does not hold them: it holds the numbers of the calls that are left, as they stand
in the list of threads, and the threads that made the steps.
"""

from __future__ import annotations

from itertools import chain

from stress.explorer.explorable import Finding
from stress.explorer.scenario import Program
from stress.explorer.token import DAMAGED, OWN_PREFIX, TokenError, order_of, pack, runs_of, unpack

__all__ = ["decode", "encode"]


def encode(threads: Program, finding: Finding) -> str:
    """A token for a finding in some of the calls of `threads`."""
    calls = list(chain.from_iterable(threads))
    kept = [
        [next(number for number, each in enumerate(calls) if each is call) for call in left]
        for left in finding.scenario.threads
    ]
    return pack(OWN_PREFIX, [len(calls), kept, runs_of(finding.order)])


def decode(threads: Program, text: str) -> tuple[Program, tuple[int, ...]]:
    """The calls of each thread, and the order of steps, that `text` says.

    Raises:
        TokenError: it is no token, or not one of these threads.
    """
    if not text.startswith(OWN_PREFIX):
        raise TokenError(f"no token of an object of one's own, which begins with {OWN_PREFIX}: {text!r}")
    calls = list(chain.from_iterable(threads))
    try:
        size, kept, runs = unpack(OWN_PREFIX, text)
        order = order_of(runs)
        left = tuple(tuple(calls[number] for number in numbers) for numbers in kept) if size == len(calls) else ()
    except (ValueError, TypeError, LookupError):
        raise TokenError(DAMAGED) from None
    if not left:
        raise TokenError(f"the token is of {size} calls, and these are {len(calls)}: give the threads it was made with")
    return left, order
