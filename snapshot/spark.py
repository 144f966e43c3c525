"""The subscription set, and what changed in it, as Spark data frames; messages matched by a Spark cluster.

Rows travel as Arrow batches all the way: no row becomes a Python object in Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapshot._extras import extra
from snapshot.arrow import diff_to_arrow, to_arrow
from snapshot.environment import require_session
from snapshot.sparks import frame_of
from snapshot.texts import Key
from subtrie import SubscriptionTrie

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def to_spark(source: SubscriptionTrie, spark: SparkSession, *, key: Key | None = None) -> DataFrame:
    """All subscriptions of one instant as a Spark data frame.

    :param source: a subscription trie, or a snapshot of one
    :param spark: the session
    :param key: turns a subscriber into a string; needed unless all subscribers are strings or integers
    :returns: a data frame with the columns of `snapshot.columns`, one row for each subscription
    :raises ImportError: pyarrow or pyspark is not installed
    :raises TypeError: ``source`` is not a subscription trie, or a subscriber is neither a string nor an integer
        and there is no ``key``
    :raises ValueError: two subscribers have the same key

    O(n). This process holds the whole set once as Arrow, and Spark's driver holds it once more. `write` a set that is
    too large for that, and let Spark read the file. The linearization point is that of `to_arrow`.
    """
    extra("pyspark.sql")
    require_session(spark)
    return frame_of(spark, to_arrow(source, key=key))


def diff_to_spark(
    newer: SubscriptionTrie, older: SubscriptionTrie, spark: SparkSession, *, key: Key | None = None
) -> DataFrame:
    """What changed between two snapshots, as a Spark data frame.

    :param newer: the later snapshot, or the trie itself
    :param older: the earlier snapshot, or any trie with the same dialect, such as one from `load`
    :param spark: the session
    :param key: as for `to_spark`
    :returns: the columns of `to_spark`, and ``old_options``, ``new_options`` and ``change`` (see `snapshot.columns`)
    :raises ImportError: pyarrow or pyspark is not installed
    :raises TypeError: one of the two is not a subscription trie, or a subscriber is neither a string nor an integer
        and there is no ``key``
    :raises ValueError: the two have different dialects, or two subscribers have the same key

    Time and memory are proportional to the changes if both are snapshots of one trie, otherwise to the two sizes.
    """
    extra("pyspark.sql")
    require_session(spark)
    return frame_of(spark, diff_to_arrow(newer, older, key=key))
