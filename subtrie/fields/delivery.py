"""Deliveries by fields: one for each subscription, made when somebody subscribes.

To make a delivery for each answer takes longer than to find it. Nothing of a delivery changes as long as its
subscription has the same options, so all answers have the same one. Where subscribers are weakly held, the one that is
kept has the reference instead of the subscriber, and each answer gets a delivery of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import cython

if not cython.compiled:
    from ctrie._machine import untrack_constant

from subtrie._trie.weak_subscribers import Held

NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class FieldDelivery(NamedTuple):
    """That a message goes to `subscriber`, with the options of the subscription that wanted it, and its `criteria`, all
    of which the message meets. `group` is always None: subscriptions by fields have no groups."""

    subscriber: Any
    options: Mapping[str, Any]
    group: None = None
    criteria: tuple[Any, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return remade, (type(self), self.subscriber, dict(self.options), None, self.criteria)


def remade(kind: type[Any], *parts: Any) -> Any:
    """Unpickle, or copy, what has options: a mapping proxy can do neither. No other part is a dict."""
    return kind(*[MappingProxyType(part) if type(part) is dict else part for part in parts])


_DELIVERY, _HELD = FieldDelivery, Held  # for delivery.pxd, which knows no classes of Python


if not cython.compiled:  # the C body, which fills a tuple without a call of Python, is in delivery.pxd

    def deliveries_are(kind: type[FieldDelivery]) -> None:
        """Say of which class deliveries are. For the compiled twin."""

    def new_delivery(subscriber: Any, options: Any, criteria: tuple[Any, ...], leads_nowhere: bool) -> FieldDelivery:
        """Return a delivery. The collector need not look at it if `leads_nowhere`: if nothing in it can be part of a
        cycle."""
        return FieldDelivery(subscriber, options, None, criteria)

    def referred_by(reference: Any) -> Any:
        """Return what a reference refers to, None if it is gone."""
        return reference()

    def is_tracked(thing: Any) -> bool:
        """Return whether the collector looks at an object. For the compiled twin."""
        return True


deliveries_are(_DELIVERY)


def delivery_for(subscriber: Any, options: dict[str, Any] | None, view: Mapping[str, Any]) -> FieldDelivery:
    """Return the delivery of a subscription, given its options and a view of them; its criteria are to come."""
    if type(subscriber) is tuple or type(subscriber) is frozenset:
        # The collector would do so, too, when it next meets the tuple, but not for the delivery.
        untrack_constant(subscriber)
    leads_nowhere = not is_tracked(subscriber) and (options is None or not is_tracked(options))
    return new_delivery(subscriber, view, (), leads_nowhere)


def completed(delivery: FieldDelivery, subscriber: Any, criteria: tuple[Any, ...]) -> FieldDelivery:
    """Return a delivery with these criteria, to an object which equals the one it goes to."""
    leads_nowhere = not is_tracked(delivery) and not is_tracked(subscriber) and not is_tracked(criteria)
    return new_delivery(subscriber, delivery[1], criteria, leads_nowhere)


def living(found: tuple[Any, ...], delivers: bool) -> tuple[Any, ...]:
    """Return answers, references to subscribers or deliveries that have such, with what is alive in their places."""
    alive: list[Any] = []
    for one in found:
        subscriber = referred_by(one[0] if delivers else one)
        if subscriber is not None:  # nobody refers weakly to None
            alive.append(new_delivery(subscriber, one[1], one[3], False) if delivers else subscriber)
    return tuple(alive)
