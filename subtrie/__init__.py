"""Topic matching for brokers and event buses: a subscription trie that threads share without locks.

`SubscriptionTrie` holds topic filters with their subscribers and finds those that a topic reaches, under the rules of
a `Dialect` (`AMQP`, `MQTT`, `NATS`, or one of your own). What a dialect refuses raises `TopicError`.
"""

from ctrie import __version__ as __version__
from ctrie import _build_choice

_build_choice.choose(__path__)

# ruff: isort: split
from subtrie._ours import tell as _tell
from subtrie._trie.match.deliveries import Delivery, Subscription
from subtrie._trie.queries.listing import Change
from subtrie._trie.topic_store import TopicStore
from subtrie._trie.trie import SubscriptionTrie
from subtrie.dialects import AMQP, MQTT, NATS, Dialect
from subtrie.errors import TopicError

_tell()

__all__ = [
    "AMQP",
    "MQTT",
    "NATS",
    "Change",
    "Delivery",
    "Dialect",
    "Subscription",
    "SubscriptionTrie",
    "TopicError",
    "TopicStore",
]
