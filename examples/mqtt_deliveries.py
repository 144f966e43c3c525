"""MQTT's rules of delivery in forty lines: quality of service, no-local, identifiers,
shared subscriptions.

    python examples/mqtt_deliveries.py

`deliveries` tells which subscribers get a message, and with which options. The packets
to send follow from these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from subtrie import MQTT, SubscriptionTrie


class Send(NamedTuple):
    """A message to a client."""

    client: str
    qos: int
    identifiers: tuple[int, ...]
    group: str | None


def sends(
    routes: SubscriptionTrie[str], topic: str, qos: int, sender: str | None = None
) -> list[Send]:
    """What to send for a message of `sender` on `topic`, published with `qos`."""
    found: dict[str, Send] = {}
    shared = []
    for one in routes.deliveries(topic):
        if one.options.get("no_local") and one.subscriber == sender:
            continue
        identifier = one.options.get("subscription_identifier")
        granted = min(qos, one.options.get("qos", 0))
        send = Send(
            one.subscriber,
            granted,
            () if identifier is None else (identifier,),
            one.group,
        )
        # each shared subscription of a client gives a message of its own (MQTT 5,
        # 4.8.2)
        if one.group is not None:
            shared.append(send)
        elif (other := found.get(one.subscriber)) is None:
            found[one.subscriber] = send
        else:  # all its other filters together give one (3.3.4)
            found[one.subscriber] = send._replace(
                qos=max(send.qos, other.qos),
                identifiers=other.identifiers + send.identifiers,
            )
    return [*found.values(), *shared]


def show(
    routes: SubscriptionTrie[str], topic: str, qos: int, sender: str | None = None
) -> None:
    print(f"{topic}, qos {qos}:")
    for send in sorted(
        sends(routes, topic, qos, sender),
        key=lambda send: (send.client, send.group or ""),
    ):
        client = (
            send.client if send.group is None else "a member of the group " + send.group
        )
        named = (
            f", subscriptions {sorted(send.identifiers)}" if send.identifiers else ""
        )
        print(f"  to {client} with qos {send.qos}{named}")


def main() -> None:
    routes: SubscriptionTrie[str] = SubscriptionTrie(MQTT)
    wanted: list[tuple[str, str, dict[str, Any]]] = [
        ("sensors/+/heat", "ann", {"qos": 1, "subscription_identifier": 1}),
        ("sensors/#", "ann", {"qos": 2, "subscription_identifier": 2}),
        ("sensors/#", "bob", {"qos": 0}),
        ("sensors/#", "gateway", {"qos": 1, "no_local": True}),
        ("$share/store/sensors/#", "store 1", {"qos": 1}),
        ("$share/store/sensors/#", "store 2", {"qos": 1}),
    ]
    routes.subscribe_many(wanted)
    show(routes, "sensors/attic/heat", qos=1, sender="gateway")
    show(routes, "sensors/attic/heat", qos=2)


if __name__ == "__main__":
    main()
