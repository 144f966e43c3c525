"""Deliveries by fields: one for each subscription, made when somebody subscribes.

To make a delivery for each answer takes five times as long as to find it. Nothing of a delivery changes as long as its
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
    """That a message goes to `subscriber`, with the options of the subscription that wanted it. `group` is always None:
    subscriptions by fields have no groups."""

    subscriber: Any
    options: Mapping[str, Any]
    group: None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.subscriber, dict(self.options))


def _restored(kind: type[FieldDelivery], subscriber: Any, options: dict[str, Any]) -> FieldDelivery:
    """Unpickle, or copy: a mapping proxy can do neither."""
    return kind(subscriber, MappingProxyType(options))


_DELIVERY, _HELD = FieldDelivery, Held  # for delivery.pxd, which knows no classes of Python


if not cython.compiled:  # the C body, which fills a tuple without a call of Python, is in delivery.pxd

    def drop_deliveries_here(kind: type[FieldDelivery]) -> None:
        """Have the compiled twin drop deliveries by itself (delivery.pxd)."""

    def new_delivery(subscriber: Any, options: Mapping[str, Any], leads_nowhere: bool) -> FieldDelivery:
        """Return a delivery. The collector need not look at it if `leads_nowhere`: if neither subscriber nor options
        can be part of a cycle."""
        return FieldDelivery(subscriber, options)

    def referred_by(reference: Any) -> Any:
        """Return what a reference refers to, None if it is gone."""
        return reference()

    def part_of(delivery: Any, i: int) -> Any:
        """Return an item of a delivery, which is a tuple of a class of its own."""
        return delivery[i]

    def changeable(found: tuple[Any, ...]) -> list[Any]:
        """Return answers that were just made, for `put`."""
        return list(found)

    def put(several: list[Any], i: int, thing: Any) -> None:
        """Put something in the place of one of them."""
        several[i] = thing

    def is_tracked(thing: Any) -> bool:
        """Return whether the collector looks at an object. For the compiled twin."""
        return True


drop_deliveries_here(_DELIVERY)


def delivery_for(subscriber: Any, options: dict[str, Any] | None, view: Mapping[str, Any]) -> FieldDelivery:
    """Return the delivery of a subscription, given its options and a view of them."""
    if type(subscriber) is tuple or type(subscriber) is frozenset:
        # The collector would do so, too, when it next meets the tuple, but not for the delivery.
        untrack_constant(subscriber)
    return new_delivery(subscriber, view, not is_tracked(subscriber) and (options is None or not is_tracked(options)))


def with_subscriber(delivery: FieldDelivery, subscriber: Any) -> FieldDelivery:
    """Return a delivery to another object, which equals the one it goes to."""
    return new_delivery(subscriber, delivery[1], not is_tracked(delivery) and not is_tracked(subscriber))


def living(found: tuple[Any, ...], delivers: bool) -> tuple[Any, ...]:
    """Return answers that were just made, references to subscribers or deliveries that have such, with what is alive in
    their places, in the very tuple if it can be."""
    several = changeable(found)
    gone = 0
    for i in range(len(several)):
        subscriber = referred_by(part_of(several[i], 0) if delivers else several[i])
        if subscriber is None:
            gone += 1
            put(several, i, None)  # nobody refers weakly to None
        elif delivers:
            put(several, i, new_delivery(subscriber, part_of(several[i], 1), False))
        else:
            put(several, i, subscriber)
    return tuple([one for one in several if one is not None]) if gone else tuple(several)
