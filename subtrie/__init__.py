"""Topic matching for brokers and event buses: a subscription trie that threads share without locks.

`SubscriptionTrie` holds topic filters with their subscribers and finds those that a topic reaches, under the rules of
a `Dialect` (`AMQP`, `MQTT`, `NATS`, or one of your own). What a dialect refuses raises `TopicError`.
"""

import ctrie  # noqa: F401  first: it chooses the twin for both packages
from subtrie._trie.queries.listing import Change, Subscription
from subtrie._trie.trie import SubscriptionTrie
from subtrie.dialects import AMQP, MQTT, NATS, Dialect
from subtrie.errors import TopicError

__all__ = ["AMQP", "MQTT", "NATS", "Change", "Dialect", "Subscription", "SubscriptionTrie", "TopicError"]
