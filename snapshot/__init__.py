"""Views of one instant of a subscription trie: Arrow, pandas, Parquet and Spark. A package of the subtrie distribution;
`subtrie.snapshot` is the same, also where another `snapshot` is found first.

Every function takes a `SubscriptionTrie` or a snapshot of one. A live trie is snapshotted first, in constant time;
threads may write to it while the view is made. Importing this package is cheap: the functions that need Arrow, pandas
or Spark import them (``pip install subtrie[arrow]`` or ``subtrie[spark]``).

=================== ================================================================================
`to_arrow`          the subscription set as a ``pyarrow.Table``
`to_reader`         the same as a stream of record batches, of bounded memory
`to_pandas`         the same as a ``pandas.DataFrame``
`to_spark`          the same as a Spark ``DataFrame``
`fields_to_arrow`   subscriptions by fields as a ``pyarrow.Table``, one row each
`diff_to_arrow`     what changed between two snapshots, as a ``pyarrow.Table``
`diff_to_spark`     the same as a Spark ``DataFrame``
`match_spark`       a ``DataFrame`` of messages joined with the subscriptions that match each one
`match_stream`      a stream of messages joined with a published set
`read`              a version of a published set as a ``DataFrame``, by Spark's own reader
`register`          a data source and a SQL function for a Spark session
`write`, `load`     the set as a Parquet file, and a trie rebuilt from one
`from_arrow`        a trie built from columns
`from_spark`        a trie built from the rows of a Spark ``DataFrame``
`Publisher`         publishes instants of a trie in a directory, and the changes between them
`versions`          the versions that a directory holds
`changes`           the changes between two versions: each one, or what they come to
`check_storable`    whether a subscription could be published, before it is made
`compact`           a full instant, written beside the publisher
`to_delta`          Delta tables of the newest version and of the changes, made of the files that lie there
`restore`           a trie rebuilt as it was when a version was published
`take_over`         a published trie restored and continued, whoever published it before
`follow`            a live copy of a published trie, in another process
=================== ================================================================================

`snapshot.questions` answers common questions about a set: `busiest_filters`, `dead_filters`, `overlaps`, `growth` and
`topics_per_subscriber`. `snapshot.columns` describes the columns.
"""

from __future__ import annotations

from snapshot.arrow import diff_to_arrow, diff_to_spark, to_arrow, to_pandas, to_reader, to_spark
from snapshot.build import from_arrow, from_spark
from snapshot.environment import WorkersError
from snapshot.fields import fields_to_arrow
from snapshot.matching import match_spark
from snapshot.parquet import load, write
from snapshot.published import (
    DamagedError,
    FencedError,
    Follower,
    HistoryError,
    NotPublishedError,
    OutdatedError,
    Publisher,
    Refused,
    Version,
    changes,
    compact,
    follow,
    restore,
    take_over,
    to_delta,
    versions,
)
from snapshot.questions import busiest_filters, dead_filters, growth, overlaps, topics_per_subscriber
from snapshot.sets import read
from snapshot.sparks import UnsupportedError
from snapshot.sql import register
from snapshot.storing import check_storable
from snapshot.streaming import match_stream

__all__ = [
    "DamagedError",
    "FencedError",
    "Follower",
    "HistoryError",
    "NotPublishedError",
    "OutdatedError",
    "Publisher",
    "Refused",
    "UnsupportedError",
    "Version",
    "WorkersError",
    "busiest_filters",
    "changes",
    "check_storable",
    "compact",
    "dead_filters",
    "diff_to_arrow",
    "diff_to_spark",
    "fields_to_arrow",
    "follow",
    "from_arrow",
    "from_spark",
    "growth",
    "load",
    "match_spark",
    "match_stream",
    "overlaps",
    "read",
    "register",
    "restore",
    "take_over",
    "to_arrow",
    "to_delta",
    "to_pandas",
    "to_reader",
    "to_spark",
    "topics_per_subscriber",
    "versions",
    "write",
]
