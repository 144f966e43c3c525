"""The signatures of the compiled classes, which `inspect` cannot read off them.

A default that is an object of ours, such as a dialect, has no text that `inspect` would evaluate. So the signatures are
those of the functions below, which are never called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from subtrie.dialects import AMQP, Dialect

if TYPE_CHECKING:
    from inspect import Signature


def subscription_trie(
    dialect: Dialect = AMQP,
    *,
    index: bool = False,
    cache: int = 0,
    on_interest: Callable[[str, bool], object] | None = None,
    weak: bool = False,
    exact: bool = False,
) -> None:
    """That of `SubscriptionTrie`."""


def topic_store(dialect: Dialect = AMQP, topics: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
    """That of `TopicStore`."""


class LazySignature:
    """A class attribute that becomes the signature of a function when it is asked for: `inspect` is not loaded before
    somebody uses it."""

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function

    def __get__(self, instance: object, owner: type) -> Signature:
        if instance is not None or "inspect" not in sys.modules:
            raise AttributeError("__signature__")
        from inspect import signature

        return signature(self._function).replace(return_annotation=owner)
