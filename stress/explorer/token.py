"""Replay tokens: an execution as a short text, for `stress.explore` with the arguments of the original call, or for
`python -m stress replay` alone.

Arguments may be anything, so a token holds the numbers of the calls that are left, in the order of the list of threads,
and the threads that made the steps. If the object and its specification have names, and the arguments have a notation,
it holds these too (`Origin`). There is none if the object is made by a function within a function, if an argument has
no Python notation, or if there is a check that has no name.
"""

from __future__ import annotations

import ast
import base64
import json
import os
import sys
import sysconfig
import zlib
from collections.abc import Callable, Sequence
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from stress.explorer.experiment import Finding
from stress.explorer.scenario import Program
from stress.frozen_states import class_of
from stress.history import Call
from stress.reference import is_as_made
from stress.source import short_path
from stress.spec import Spec
from stress.specs import SPECS

__all__ = [
    "DAMAGED", "OBJECT_PREFIX", "Calls", "Origin", "Token", "TokenError", "encode", "order_of", "origin_of", "pack",
    "read", "runs_of", "unpack",
]  # fmt: skip

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
        raise TokenError(f"neither a file nor a token of the explorer, which begins with {OBJECT_PREFIX}")
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


Calls = tuple[tuple[Call, ...], ...]


class Origin(NamedTuple):
    """The object, as `module:attribute` or the like, its specification, and the calls: those at the start, those of
    each thread, and those at the end.
    """

    target: str
    spec: str
    calls: str

    def read(self) -> Calls:
        """The calls.

        Raises:
            ValueError: the texts are not calls.
        """
        try:
            found: Calls = ast.literal_eval(self.calls)
        except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise ValueError(str(error)) from None
        return found


def origin_of(factory: Callable[[], Any], spec: Spec | None, target: str, check: object, calls: Calls) -> Origin | None:
    """The origin of a scenario, or None if it has none. `target` is the caller's name for the object. Without a
    specification, its name is empty.
    """
    judge = "" if spec is None else _reference_of(spec)
    named = Origin(target or ("" if check else _reference(factory)), judge, repr(calls))
    try:
        return named if named.target and (judge or spec is None) and named.read() == calls else None
    except ValueError:
        return None


def _reference(thing: Any) -> str:
    """The name by which another process, started from here, finds a class or a function; empty if there is none. An
    object of a script has none, since the script would have to run again.
    """
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    if module is None or module.__name__ == "__main__" or not isinstance(getattr(module, "__file__", None), str):
        return ""
    try:
        if attrgetter(thing.__qualname__)(module) is not thing:
            return ""
    except AttributeError:
        return ""
    file, by_name = Path(str(module.__file__)), Path(*module.__name__.split("."))
    is_at_hand = any(
        file in (Path(place, by_name, "__init__.py"), Path(place, by_name).with_suffix(".py")) for place in _places()
    )
    return f"{module.__name__ if is_at_hand else short_path(str(file))}:{thing.__qualname__}"


def _places() -> tuple[str, ...]:
    """The places where another process finds modules, too: not those added to this process alone."""
    paths = sysconfig.get_paths()
    return os.getcwd(), paths["stdlib"], paths["purelib"], paths["platlib"], str(Path(__file__).parents[2])


def _reference_of(spec: Spec) -> str:
    """The same for a class or factory that makes an equal specification."""
    kind = class_of(spec)
    name = spec.name if SPECS.get(spec.name) is kind else _reference(kind)
    return name if is_as_made(spec) else ""
