"""The signatures of the compiled classes, as functions that are never called (ctrie/_signatures.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from subtrie.dialects import AMQP, Dialect

if TYPE_CHECKING:
    from subtrie import SubscriptionTrie


def subscription_trie(
    dialect: Dialect = AMQP,
    *,
    index: bool = False,
    cache: int = 0,
    on_interest: Callable[[str, bool], object] | None = None,
    on_group_interest: Callable[[str, str | None, bool], object] | None = None,
    weak: bool = False,
    exact: bool = False,
    storable: bool = False,
) -> None:
    """The signature of `SubscriptionTrie`."""


def topic_store(
    dialect: Dialect = AMQP,
    topics: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
    *,
    max_age: float | None = None,
    max_topics: int | None = None,
) -> None:
    """The signature of `TopicStore`."""


def field_matcher(max_criteria: int = 64, *, max_values: int = 4096, weak: bool = False) -> None:
    """The signature of `FieldMatcher`."""


def routing_matcher(
    dialect: Dialect | SubscriptionTrie = AMQP, *, max_criteria: int = 64, max_values: int = 4096, weak: bool = False
) -> None:
    """The signature of `RoutingMatcher`."""
