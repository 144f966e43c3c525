"""Subscriptions by fields as an Arrow table, one row each, with the criteria as a JSON pattern.

============== ======================= ===================================================================
column         type                    content
============== ======================= ===================================================================
`pattern`      string                  the criteria (see `subtrie.fields.to_pattern`)
`subscriber`   string                  the subscriber's key (see `snapshot.texts`)
`options`      map<string, string>     the subscription's options as texts (see `snapshot.texts`)
============== ======================= ===================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapshot._extras import extra
from snapshot.columns import in_batches
from snapshot.texts import Key, SubscriberKeys, option_texts
from subtrie.fields import FieldMatcher, pattern_rows

if TYPE_CHECKING:
    import pyarrow as pa


def fields_to_arrow(source: FieldMatcher, *, key: Key | None = None) -> pa.Table:
    """All subscriptions by fields of one instant as an Arrow table.

    Args:
        source: a field matcher, or a snapshot of one.
        key: turns a subscriber into a string; needed unless all subscribers are strings or integers.

    Returns:
        A table with the columns of `snapshot.fields`, one row for each subscription, in no particular order.

    Raises:
        ImportError: pyarrow is not installed.
        TypeError: ``source`` is not a field matcher, or a subscriber is neither a string nor an integer and there is no
            ``key``.
        ValueError: criteria have no JSON pattern, or two subscribers have the same key.

    O(n). The load of the matcher's state is the linearization point.

    >>> from subtrie.fields import Equals
    >>> matcher = FieldMatcher()
    >>> matcher.subscribe([Equals("currency", "USD")], "ann", qos=1)
    True
    >>> fields_to_arrow(matcher).to_pylist()
    [{'pattern': '{"currency": ["USD"]}', 'subscriber': 'ann', 'options': [('qos', '1')]}]
    """
    if not isinstance(source, FieldMatcher):
        raise TypeError(f"the source must be a FieldMatcher or a snapshot of one, not {type(source).__name__}")
    pa, keys = extra("pyarrow"), SubscriberKeys(key)
    schema = pa.schema(
        [("pattern", pa.string()), ("subscriber", pa.string()), ("options", pa.map_(pa.string(), pa.string()))]
    )
    rows = (
        {"pattern": pattern, "subscriber": keys.subscriber(subscriber), "options": list(option_texts(options).items())}
        for pattern, subscriber, options in pattern_rows(source)
    )
    return pa.Table.from_batches((pa.RecordBatch.from_pylist(some, schema) for some in in_batches(rows)), schema)
